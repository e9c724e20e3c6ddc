internal import Check
internal import Digest
internal import Glibc
internal import System
internal import TUF
internal import Web

/// The files of a repository: `metadata` and `targets`, which a web server serves, and `draft`, which it need not
/// serve.
///
/// Each file is written beside its place, synced and renamed, so that a reader never sees a part of it. It holds the
/// lock of the repository while it exists, unless it only reads.
struct TUFRepositoryFiles: ~Copyable {
    let path: String
    private let lock: RepositoryLock?

    var metadata: String { path + "/metadata" }
    var targets: String { path + "/targets" }
    private var draft: String { path + "/draft" }

    /// The names of the drafts.
    private static let rootName = "root.json"
    private static let targetsName = "targets.json"

    /// Opens a repository to read it.
    init(reading path: String) throws(LarderError) {
        try Self.requirePresent(path)
        self.path = path
        lock = nil
    }

    /// Opens a repository to change it.
    ///
    /// - Parameter creates: whether it must not exist yet. Else it must exist.
    init(changing path: String, creates: Bool = false) throws(LarderError) {
        if creates { try Self.requireAbsent(path) } else { try Self.requirePresent(path) }
        lock = try Self.lock(path)
        self.path = path
    }

    /// Creates missing folders of a repository, and locks it.
    private static func lock(_ path: String) throws(LarderError) -> RepositoryLock {
        do throws(SystemError) {
            for folder in ["", "/metadata", "/targets", "/draft"] { try makeFolder(path + folder) }
            return try RepositoryLock.take(path + "/draft/lock")
        } catch { throw LarderError(error) }
    }

    private static func requirePresent(_ path: String) throws(LarderError) {
        guard Folder.exists(path + "/metadata") || Folder.exists(path + "/draft") else {
            throw LarderError(
                .input, "there is no TUF repository in \(path); create one with: larder tuf init")
        }
    }

    static func requireAbsent(_ path: String) throws(LarderError) {
        guard !Folder.exists(path + "/metadata"), !Folder.exists(path + "/draft") else {
            throw LarderError(.input, "there is a TUF repository in \(path) already; name another folder")
        }
    }

    // MARK: - Reading

    /// The repository with its drafts.
    func repository() throws(LarderError) -> Repository {
        let published = try publishedVersions()
        let draftTargets: SignedMetadata<TargetsMetadata>? = try draftFile(Self.targetsName)
        var draftDelegated: [String: SignedMetadata<TargetsMetadata>] = [:]
        for name in Self.delegatedNames(in: [published?.targets, draftTargets]) {
            draftDelegated[name] = try draftFile(name + ".json")
        }
        return Repository(
            published: published, draftRoot: try draftFile(Self.rootName), draftTargets: draftTargets,
            draftDelegated: draftDelegated, usedVersions: metadataVersions().compactMapValues { $0.max() })
    }

    /// The names of the roles that targets delegate to.
    private static func delegatedNames(in targets: [SignedMetadata<TargetsMetadata>?]) -> Set<String> {
        Set(targets.flatMap { $0?.role.delegations?.listed ?? [] }.map(\.name).filter(Repository.isPlainName))
    }

    /// The versions in the folder of metadata, by the names of their roles.
    func metadataVersions() -> [String: [Int]] {
        var versions: [String: [Int]] = [:]
        for bytes in Folder.names(in: metadata) ?? [] {
            let parts = String(decoding: bytes, as: UTF8.self).split(separator: ".", maxSplits: 1)
            guard parts.count == 2, let version = Int(parts[0]), version > 0, parts[1].hasSuffix(".json")
            else {
                continue
            }
            versions[String(parts[1].dropLast(5)), default: []].append(version)
        }
        return versions
    }

    /// The published version of each role; nil if nothing is published.
    private func publishedVersions() throws(LarderError) -> Repository.Published? {
        guard WholeFile.exists(metadata + "/timestamp.json") else { return nil }
        guard let rootVersion = metadataVersions()["root"]?.max() else {
            throw LarderError(.input, "\(metadata) has a timestamp, but no root; restore it from a backup")
        }
        let timestamp: SignedMetadata<TimestampMetadata> = try file(.timestamp, 0)
        let snapshot: SignedMetadata<SnapshotMetadata> = try file(
            .snapshot, timestamp.role.snapshot.version)
        let targets: SignedMetadata<TargetsMetadata> = try file(
            .targets, snapshot.role.files["targets.json"]?.version ?? 0)
        return .init(
            root: try file(.root, rootVersion), targets: targets, snapshot: snapshot, timestamp: timestamp,
            delegated: try delegatedRoles(of: targets, snapshot))
    }

    /// The published versions of the roles that targets delegate to.
    func delegatedRoles(
        of targets: SignedMetadata<TargetsMetadata>, _ snapshot: SignedMetadata<SnapshotMetadata>
    ) throws(LarderError) -> [String: SignedMetadata<TargetsMetadata>] {
        var delegated: [String: SignedMetadata<TargetsMetadata>] = [:]
        for role in targets.role.delegations?.listed ?? [] {
            guard Repository.isPlainName(role.name),
                let version = snapshot.role.files["\(role.name).json"]?.version
            else {
                throw LarderError(
                    .input,
                    "\(metadata): the snapshot does not list the delegated role \"\(role.name)\", or its name cannot be "
                        + "that of a file; restore the folder from a backup")
            }
            let name = "\(version).\(role.name).json"
            delegated[role.name] = try Self.parse(try bytes(metadata + "/" + name), name)
        }
        return delegated
    }

    func file<Role: RoleMetadata>(
        _ role: RepositoryRole, _ version: Int
    ) throws(LarderError) -> SignedMetadata<Role> {
        let name = role.fileName(version: version)
        return try Self.parse(try bytes(metadata + "/" + name), name)
    }

    private func draftFile<Role: RoleMetadata>(_ name: String) throws(LarderError) -> SignedMetadata<Role>? {
        let file = draft + "/" + name
        return WholeFile.exists(file) ? try Self.parse(try bytes(file), "draft/" + name) : nil
    }

    private func bytes(_ file: String) throws(LarderError) -> [UInt8] {
        do throws(SystemError) {
            return try WholeFile.read(file, atMost: TUFLimits().maxTargetsBytes)
        } catch { throw LarderError(error) }
    }

    private static func parse<Role: RoleMetadata>(
        _ bytes: [UInt8], _ name: String
    ) throws(LarderError) -> SignedMetadata<Role> {
        do throws(TUFError) { return try SignedMetadata(bytes, file: name) } catch {
            throw LarderError(.input, "\(error.file): \(error.detail); restore the file from a backup")
        }
    }

    /// The contents of a file of metadata; nil if there is none.
    func metadataBytes(_ name: String) -> [UInt8]? {
        try? WholeFile.read(metadata + "/" + name, atMost: TUFLimits().maxTargetsBytes)
    }

    // MARK: - Writing

    /// Writes drafts, and removes those that are nil or not listed.
    ///
    /// - Parameter published: the published targets, which may delegate to more roles than their draft.
    func writeDrafts(
        root: SignedMetadata<RootMetadata>?, targets: SignedMetadata<TargetsMetadata>?,
        delegated: [String: SignedMetadata<TargetsMetadata>], published: SignedMetadata<TargetsMetadata>?
    ) throws(LarderError) {
        // The drafted targets go last: a role is only known by a delegation to it.
        for name in Self.delegatedNames(in: [targets, published]).union(delegated.keys) {
            try writeDraft(delegated[name]?.fileBytes(.pretty), name + ".json")
        }
        try writeDraft(root?.fileBytes(.pretty), Self.rootName)
        try writeDraft(targets?.fileBytes(.pretty), Self.targetsName)
    }

    private func writeDraft(_ bytes: [UInt8]?, _ name: String) throws(LarderError) {
        if let bytes { return try write(bytes, name, in: draft) }
        unlink(draft + "/" + name)
    }

    /// Publishes files, one after the other.
    func publish(_ files: [Publication.File]) throws(LarderError) {
        for file in files { try write(file.bytes, file.name, in: metadata) }
    }

    private func write(_ bytes: [UInt8], _ name: String, in folder: String) throws(LarderError) {
        // The lock makes sure that no other process writes this file. One that was left by a killed process is
        // replaced.
        let part = "\(folder)/.\(name).part"
        do throws(SystemError) {
            let file = try Self.newFile(part)
            try file.write(bytes)
            try file.sync()
            try file.close()
            try Self.place(part, at: "\(folder)/\(name)")
        } catch {
            unlink(part)
            throw LarderError(error)
        }
    }

    /// Creates a file that everybody may read. A symbolic link in its place is not followed.
    private static func newFile(_ path: String) throws(SystemError) -> File {
        unlink(path)
        return try File(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o644, doing: "write")
    }

    /// Renames a complete file, and makes its name survive a power cut.
    private static func place(_ part: String, at path: String) throws(SystemError) {
        guard rename(part, path) == 0 else { throw SystemError(errno, doing: "write", path) }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        try WholeFile.sync(folder)
    }

    /// Creates a folder and its missing parents, which everybody may read.
    private static func makeFolder(_ path: String) throws(SystemError) {
        var end = path.startIndex
        repeat {
            end = path[end...].dropFirst().firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            guard mkdir(part, 0o755) != 0, errno != EEXIST, errno != EISDIR else { continue }
            throw SystemError(errno, doing: "create the folder", part)
        } while end != path.endIndex
    }

    // MARK: - Targets

    /// Copies a file into the folder of targets under the name that contains its digest, unless it is there already.
    ///
    /// - Parameter target: its path in the repository.
    func storeTarget(_ source: String, as target: TargetPath) throws(SystemError) -> TargetFile {
        let found = try Self.digest(of: source)
        guard let digest = found.file.hashes.strongest else { return found.file }
        let place = targets + "/" + target.storedPath(digest: digest.hex)
        var status = stat()
        if lstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            Int(status.st_size) == found.file.byteCount, try Self.digest(of: place).file == found.file
        {
            return found.file
        }
        if let slash = place.lastIndex(of: "/") { try Self.makeFolder(String(place[..<slash])) }
        let part = targets + "/.part"
        do throws(SystemError) {
            guard try Self.copy(source, to: part) == digest else {
                throw SystemError(EBUSY, doing: "read", source, reason: "it was changed meanwhile; try again")
            }
            try Self.place(part, at: place)
        } catch {
            unlink(part)
            throw error
        }
        return found.file
    }

    /// Copies a file, syncs the copy, and returns the digest of the copied bytes.
    private static func copy(_ source: String, to part: String) throws(SystemError) -> Digest {
        let input = try File(source, O_RDONLY | O_NOFOLLOW, doing: "read")
        let output = try newFile(part)
        var digest = DigestStream(.sha256)
        var failure: SystemError?
        try input.eachPiece { piece in
            digest.update(piece)
            do throws(SystemError) {
                try piece.withUnsafeBytes { (bytes) throws(SystemError) in try output.write(bytes) }
            } catch { failure = error }
            return failure == nil
        }
        if let failure { throw failure }
        try output.sync()
        try output.close()
        return digest.finish()
    }

    private static func digest(of path: String) throws(SystemError) -> (file: TargetFile, isComplete: Bool) {
        let file = try File(path, O_RDONLY | O_NOFOLLOW, doing: "read")
        var digest = DigestStream(.sha256)
        var count = 0
        let isComplete = try file.eachPiece { piece in
            digest.update(piece)
            count += piece.count
            return true
        }
        return (TargetFile(byteCount: count, hashes: FileHashes([digest.finish()])), isComplete)
    }

    /// Gives the file of each target its plain name too, as a hard link. Removes the plain names of targets that are
    /// not listed any more.
    func placePlainNames(
        of new: [String: TargetFile], replacing old: [String: TargetFile]
    ) throws(LarderError) {
        let stored = Set(new.merging(old) { one, _ in one }.compactMap { Self.storedPath($0.key, $0.value) })
        do throws(SystemError) {
            for (path, file) in new {
                guard let plain = try? TargetPath(path).filePath, let source = Self.storedPath(path, file),
                    // A target may be called like the file of another one.
                    !stored.contains(plain), !isSameFile(plain, source)
                else { continue }
                let (part, place) = (targets + "/.part", targets + "/" + plain)
                unlink(part)
                // Some file systems have no hard links.
                if link(targets + "/" + source, part) != 0 {
                    _ = try Self.copy(targets + "/" + source, to: part)
                }
                try Self.place(part, at: place)
            }
            for (path, file) in old where new[path] == nil {
                guard let plain = try? TargetPath(path).filePath, let source = Self.storedPath(path, file),
                    isSameFile(plain, source)
                else { continue }
                unlink(targets + "/" + plain)
            }
        } catch { throw LarderError(error) }
    }

    /// Whether an earlier publication gave targets their plain names.
    func hasPlainNames(of targets: [String: TargetFile]) -> Bool {
        let stored = Set(targets.compactMap { Self.storedPath($0.key, $0.value) })
        return targets.keys.contains { path in
            guard let plain = try? TargetPath(path).filePath, !stored.contains(plain) else { return false }
            return access(self.targets + "/" + plain, F_OK) == 0
        }
    }

    /// The path of a target's file in the folder of targets; nil if it can have none.
    static func storedPath(_ path: String, _ file: TargetFile) -> String? {
        file.hashes.strongest.flatMap { try? TargetPath(path).storedPath(digest: $0.hex) }
    }

    /// Whether two files in the folder of targets are hard links to the same one.
    private func isSameFile(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return lstat(targets + "/" + one, &first) == 0 && lstat(targets + "/" + other, &second) == 0
            && first.st_ino == second.st_ino && first.st_dev == second.st_dev
    }

    /// Why the stored file of a target cannot be served; nil if it has the right length and, if `readsBytes`, the
    /// right digest.
    func mistake(of path: String, _ file: TargetFile, readsBytes: Bool) -> String? {
        guard let digest = file.hashes.strongest else { return "it has no SHA-2 digest" }
        let place: String
        do throws(TargetPathError) {
            place = targets + "/" + (try TargetPath(path).storedPath(digest: digest.hex))
        } catch { return error.description }
        var status = stat()
        guard lstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return "its file \(place) is missing"
        }
        guard Int(status.st_size) == file.byteCount else { return "its file \(place) has another size" }
        guard readsBytes else { return nil }
        guard let bytes = try? Self.digest(of: place).file, bytes.hashes.strongest == digest else {
            return "its file \(place) has other bytes"
        }
        return nil
    }
}

/// The lock of a repository, while it exists.
// Not private, because Swift 6.3 then cannot compile TUFRepository.swift without optimisation.
struct RepositoryLock: ~Copyable {
    private let file: File

    private init(_ file: consuming File) { self.file = file }

    static func take(_ path: String) throws(SystemError) -> RepositoryLock {
        let file = try File(path, O_RDWR | O_CREAT)
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw SystemError(
                errno, doing: "lock", path, reason: "another process changes the repository",
                advice: "try again when it is done")
        }
        return RepositoryLock(file)
    }

    deinit {
        // Closing the file would not unlock it while a program that another thread just started still has it open.
        _ = flock(file.descriptor, LOCK_UN)
    }
}
