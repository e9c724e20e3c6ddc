internal import Check
internal import Glibc
internal import System
internal import TUF
internal import Web

/// The files of a TUF repository that no client needs any more.
///
/// A client reads the timestamp, then the snapshot that it names, the versions that this lists, and files of targets. So a
/// version is needed from its publication until some time after its snapshot was replaced. A snapshot was replaced when the
/// file of the next one was written.
struct TUFCleaning {
    /// The names of files below the folder of metadata.
    private(set) var metadata: [String] = []
    /// The paths of files below the folder of targets.
    private(set) var targets: [String] = []
    private(set) var byteCount = 0

    /// - Parameter time: snapshots that were replaced before it are not needed, in seconds since 1970.
    init(
        _ files: borrowing TUFRepositoryFiles, _ repository: Repository, replacedBefore time: Int64
    ) throws(LarderError) {
        guard let published = repository.published else { return }
        let versions = files.metadataVersions()
        let current = published.snapshot.version
        /// The versions that stay, by the names of their roles.
        var kept: [String: Set<Int>] = ["snapshot": [current]]
        var keptTargets: Set<String> = []
        for (name, file) in published.snapshot.role.files {
            kept[Self.role(name), default: []].insert(file.version)
        }
        func keepTargets(_ role: SignedMetadata<TargetsMetadata>) {
            keptTargets.formUnion(role.role.targets.compactMap { TUFRepositoryFiles.storedPath($0, $1) })
        }
        let drafts = [repository.draftTargets].compactMap { $0 } + repository.draftDelegated.values
        for role in drafts + [published.targets] + published.delegated.values { keepTargets(role) }
        let older = (versions["snapshot"] ?? []).filter { $0 <= current }.sorted()
        for (version, next) in zip(older, older.dropFirst())
        where files.modificationTime(ofMetadata: "\(next).snapshot.json").map({ $0 > time }) ?? true {
            kept["snapshot"]?.insert(version)
            let snapshot: SignedMetadata<SnapshotMetadata> = try files.file(.snapshot, version)
            for (name, file) in snapshot.role.files {
                kept[Self.role(name), default: []].insert(file.version)
            }
            let top: SignedMetadata<TargetsMetadata> = try files.file(
                .targets, snapshot.role.files["targets.json"]?.version ?? 0)
            keepTargets(top)
            for role in try files.delegatedRoles(of: top, snapshot).values { keepTargets(role) }
        }
        // Newer versions are those of an interrupted publication. Their numbers must not be used again.
        var newest = ["snapshot": current]
        for (name, file) in published.snapshot.role.files { newest[Self.role(name)] = file.version }
        for (role, newest) in newest {
            for version in versions[role] ?? []
            where version < newest && kept[role]?.contains(version) != true {
                metadata.append("\(version).\(role).json")
            }
        }
        // Snapshots are removed first. If the removal is interrupted, each remaining snapshot still has the files that it lists.
        let isSnapshot: (String) -> Bool = { $0.hasSuffix(".snapshot.json") }
        metadata.sort { (isSnapshot($0) ? 0 : 1, $0) < (isSnapshot($1) ? 0 : 1, $1) }
        let plainNames = Set(published.targetFiles.keys.compactMap { try? TargetPath($0).filePath })
        targets = try files.storedTargets().filter { !keptTargets.contains($0) && !plainNames.contains($0) }
            .sorted()
        byteCount = files.byteCount(metadata: metadata, targets: targets)
    }

    /// The role of a file that a snapshot lists: `targets` for `targets.json`.
    private static func role(_ name: String) -> String {
        name.hasSuffix(".json") ? String(name.dropLast(5)) : name
    }
}

extension TUFRepositoryFiles {
    /// The time of the last change of a file of metadata in seconds since 1970; nil if there is none.
    fileprivate func modificationTime(ofMetadata name: String) -> Int64? {
        var status = stat()
        return lstat(metadata + "/" + name, &status) == 0 ? Int64(status.st_mtim.tv_sec) : nil
    }

    /// The paths of the files in the folder of targets whose names begin with a SHA-256. `add` has put them there.
    fileprivate func storedTargets() throws(LarderError) -> [String] {
        guard Folder.exists(targets) else { return [] }
        return try FolderFiles(targets).paths.filter { path in
            let name = Array(
                (path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]).utf8)
            return name.count > 65 && name[64] == UInt8(ascii: ".")
                && name[..<64].allSatisfy { $0.isASCIIDigit || (0x61...0x66).contains($0) }
        }
    }

    fileprivate func byteCount(metadata names: [String], targets paths: [String]) -> Int {
        (names.map { metadata + "/" + $0 } + paths.map { targets + "/" + $0 }).reduce(0) { sum, path in
            var status = stat()
            return lstat(path, &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }

    /// Removes files, and folders of targets that become empty. Files that are gone are not an error.
    func remove(metadata names: [String], targets paths: [String]) throws(LarderError) {
        for path in names.map({ metadata + "/" + $0 }) + paths.map({ targets + "/" + $0 }) {
            guard unlink(path) == 0 || errno == ENOENT else {
                throw LarderError(SystemError(errno, doing: "remove", path))
            }
        }
        for path in paths {
            var folder = path[...]
            while let slash = folder.lastIndex(of: "/") {
                folder = folder[..<slash]
                guard rmdir(targets + "/" + folder) == 0 else { break }
            }
        }
    }
}

/// The result of cleaning a TUF repository.
public struct TUFCleanReport: Sendable, Equatable {
    /// The folder.
    public let path: String
    /// Whether the files were only listed.
    public let isDryRun: Bool
    /// The names of removed files in the folder `metadata`.
    public let metadata: [String]
    /// The paths of removed files in the folder `targets`.
    public let targets: [String]
    /// Their size in bytes.
    public let byteCount: Int

    /// The report as JSON.
    public var json: String {
        let members: JSONMembers = [
            "repository": path, "dryRun": isDryRun, "metadata": metadata, "targets": targets,
            "bytes": byteCount,
        ]
        return members.text()
    }
}
