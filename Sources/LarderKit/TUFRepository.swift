public import Check
internal import Digest
internal import Glibc
internal import System
internal import TUF
package import Web

/// A folder with a repository of The Update Framework (TUF), from which clients fetch files that they can trust.
///
/// A web server serves its folders `metadata` and `targets`. Changes are drafts until `publish`; several people can
/// sign them on different machines. All methods block.
///
///     let repository = TUFRepository(at: "repo")
///     let keys = try TUFRepository.createKeys(for: TUFRole.allCases, in: "keys") { _ in nil }
///     _ = try repository.create(keys: keys)
///     _ = try repository.add(["dist"])
///     let report = try repository.publish(signingKeys)
public struct TUFRepository: Sendable {
    /// The folder.
    public let path: String
    /// The time for which new metadata is valid, by roles.
    public var periods: [TUFRole: Duration] = [:]
    /// The time; the system's clock if nil. Tests set it.
    package var now: HTTPDate?

    /// A repository in a folder, which need not exist yet.
    public init(at path: String) {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    private var time: HTTPDate { now ?? HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()) }

    private var repositoryPeriods: RepositoryPeriods {
        var seconds: [RepositoryRole: Int64] = [:]
        for (role, period) in periods { seconds[role.role] = period.components.seconds }
        return RepositoryPeriods(seconds: seconds)
    }

    // MARK: - Creating

    /// Drafts the first version of a repository without targets. Clients can use it once it is published.
    ///
    /// - Parameters:
    ///   - keys: the public keys of each role.
    ///   - thresholds: the number of signatures that each role needs; 1 if not listed.
    /// - Throws: `LarderError` of kind `.input` for an existing repository, a missing key or an impossible threshold.
    public func create(
        keys: [TUFRole: [TUFPublicKey]], thresholds: [TUFRole: Int] = [:]
    ) throws(LarderError) -> TUFRepositoryReport {
        var roles: [RepositoryRole: NewRoleKeys] = [:]
        for role in TUFRole.allCases {
            let (own, threshold) = (keys[role] ?? [], thresholds[role] ?? 1)
            let distinct = Set(own.map(\.id)).count
            guard threshold > 0, distinct >= threshold else {
                throw LarderError(
                    .input,
                    "the role \(role.rawValue) would have \(distinct) keys, fewer than its threshold of \(threshold); "
                        + "add keys, or set another threshold")
            }
            var seen: Set<String> = []
            roles[role.role] = NewRoleKeys(
                own.map(\.key).filter { seen.insert($0.id).inserted }, threshold: threshold)
        }
        let files = try TUFRepositoryFiles(changing: path, creates: true)
        let repository = Repository(keys: roles, periods: repositoryPeriods, now: time)
        try files.writeDrafts(repository)
        return TUFRepositoryReport(repository, path, now: time)
    }

    /// Throws if there is a repository already, before keys are made for it.
    public func requireAbsent() throws(LarderError) { try TUFRepositoryFiles.requireAbsent(path) }

    // MARK: - Targets

    /// Copies files, or all files of folders, into the repository and drafts targets that list them. Hidden files,
    /// symbolic links and special files of folders are left out and reported.
    ///
    /// - Parameters:
    ///   - sources: files and folders. A file becomes the target of its name, and a file of a folder that of its path
    ///     in it.
    ///   - prefix: precedes the targets' paths.
    ///   - removesOthers: whether all other targets that begin with the prefix are removed.
    ///   - role: the delegated role that lists them; nil for the top-level targets. Files outside its paths are left out,
    ///     and so are targets that an earlier role describes for clients.
    /// - Throws: `LarderError` of kind `.input` for a source that cannot be read, or for no repository.
    public func add(
        _ sources: [String], prefix: String = "", removesOthers: Bool = false, to role: String? = nil
    ) throws(LarderError) -> TUFRepositoryReport {
        let files = try TUFRepositoryFiles(changing: path)
        var repository = try files.repository()
        let present = try Self.targets(of: role, in: repository)
        let folder = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        var (found, skipped): ([String: TargetFile], [TUFRepositoryReport.Skipped]) = ([:], [])
        for source in sources {
            for file in try Self.files(of: source, &skipped) {
                do {
                    let target = try TargetPath(ofFile: folder + file.name)
                    if let role, let reason = repository.reason(against: target.text, in: role) {
                        skipped.append(.init(name: file.name.visible, reason: reason))
                        continue
                    }
                    found[target.text] = try files.storeTarget(file.path, as: target)
                } catch let error as TargetPathError {
                    skipped.append(.init(name: file.name.visible, reason: error.description))
                } catch let error as SystemError {
                    // A full disk is no property of one file.
                    if error.code == ENOSPC || error.code == EDQUOT || error.code == EROFS {
                        throw LarderError(error)
                    }
                    skipped.append(.init(name: file.name.visible, reason: error.problem))
                } catch {
                    skipped.append(.init(name: file.name.visible, reason: "\(error)"))
                }
            }
        }
        guard !found.isEmpty else {
            throw LarderError(
                .input,
                "\(sources.joined(separator: ", ")): no file can be a target"
                    + (skipped.first.map { " (\($0.name): \($0.reason))" } ?? "")
                    + "; name a folder with files")
        }
        // Files that could not be read stay targets: they must not vanish for clients.
        let kept = Set(skipped.compactMap { try? TargetPath(ofFile: folder + $0.name).text })
        let start = (try? TargetPath(ofFile: folder.dropLast().description))?.text ?? ""
        let others =
            removesOthers
            ? present.keys.filter {
                found[$0] == nil && !kept.contains($0) && (start.isEmpty || $0.hasPrefix(start + "/"))
            } : []
        return try change(&repository, files, of: role, adding: found, removing: Set(others), skipped)
    }

    /// Drafts a list of targets that lacks these. Their files stay, for clients that are updating.
    ///
    /// - Parameters:
    ///   - targets: their paths.
    ///   - role: the delegated role that lists them; nil for the top-level targets.
    /// - Throws: `LarderError` of kind `.input` if one is not listed.
    public func remove(_ targets: [String], from role: String? = nil) throws(LarderError)
        -> TUFRepositoryReport
    {
        let files = try TUFRepositoryFiles(changing: path)
        var repository = try files.repository()
        let present = try Self.targets(of: role, in: repository)
        var removed: Set<String> = []
        for name in targets {
            let encoded = (try? TargetPath(ofFile: name))?.text
            guard
                let target = [name, encoded].compactMap({ $0 }).first(where: { present[$0] != nil })
            else {
                let owner =
                    role.map { " of \($0)" } ?? repository.targets[name].map { "; \($0.role) lists it" } ?? ""
                throw LarderError(
                    .input, "\(name) is not a target\(owner); list them with: larder tuf status")
            }
            removed.insert(target)
        }
        return try change(&repository, files, of: role, adding: [:], removing: removed, [])
    }

    private static func targets(
        of role: String?, in repository: Repository
    ) throws(LarderError) -> [String: TargetFile] {
        do throws(RepositoryError) { return try repository.targets(of: role) } catch {
            throw LarderError(error)
        }
    }

    private func change(
        _ repository: inout Repository, _ files: borrowing TUFRepositoryFiles, of role: String?,
        adding new: [String: TargetFile], removing old: Set<String>,
        _ skipped: [TUFRepositoryReport.Skipped]
    ) throws(LarderError) -> TUFRepositoryReport {
        let changes: Repository.TargetChanges
        do throws(RepositoryError) {
            changes = try repository.changeTargets(
                of: role, adding: new, removing: old, periods: repositoryPeriods, now: time)
        } catch { throw LarderError(error) }
        try files.writeDrafts(repository)
        var report = TUFRepositoryReport(repository, path, now: time)
        report.changes = .init(
            added: changes.added, changed: changes.changed, removed: changes.removed,
            unchanged: changes.unchanged)
        report.skipped = skipped.sorted { $0.name < $1.name }
        return report
    }

    /// The files of a source, with their names in the repository.
    private static func files(
        of source: String, _ skipped: inout [TUFRepositoryReport.Skipped]
    ) throws(LarderError) -> [(path: String, name: String)] {
        var status = stat()
        guard lstat(source, &status) == 0 else {
            throw LarderError(.input, "cannot read \(source): \(SystemError.lastText); name a file or folder")
        }
        guard status.st_mode & S_IFMT == S_IFDIR || Folder.exists(source) else {
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw LarderError(
                    .input, "\(source) is a symbolic link or not a file; name the file that it leads to")
            }
            let name = source.lastIndex(of: "/").map { String(source[source.index(after: $0)...]) } ?? source
            return [(source, name)]
        }
        let files = try FolderFiles(source)
        skipped += files.skipped.map { .init(name: $0.name, reason: $0.reason) }
        return files.paths.filter { !isHidden($0) }.map { (source + "/" + $0, $0) }
    }

    /// Whether a file or one of its folders has a name that begins with a dot.
    private static func isHidden(_ path: String) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/")).contains { $0.first == UInt8(ascii: ".") }
    }

    // MARK: - Keys and signatures

    /// A file with a secret key that counts for a repository.
    public struct KeyFile: Sendable {
        public let path: String
        /// Whether its signature is needed now. Others could only renew metadata that is still valid.
        public let isRequired: Bool
    }

    /// The files with secret keys whose signatures a call needs, so that others need not be unlocked.
    ///
    /// - Parameters:
    ///   - place: a folder with files `NAME.key` and `NAME.pub`, or one file with a secret key.
    ///   - isPublishing: whether the keys are for `publish`, or for `sign`.
    /// - Throws: `LarderError` of kind `.input` if there is no repository, or the place cannot be read.
    public func keyFiles(at place: String, isPublishing: Bool) throws(LarderError) -> [KeyFile] {
        let repository = try TUFRepositoryFiles(reading: path).repository()
        var required: Set<String> = isPublishing ? ["snapshot", "timestamp"] : []
        if repository.draftRoot != nil { required.insert("root") }
        if repository.draftTargets != nil { required.insert("targets") }
        required.formUnion(repository.draftDelegated.keys)
        let usable =
            isPublishing ? repository.rolesToSign(periods: repositoryPeriods, now: time) : required
        func ids(_ roles: Set<String>) -> Set<String> {
            Set(roles.flatMap { repository.signers(of: $0).keys })
        }
        let (requiredIDs, usableIDs) = (ids(required), ids(usable))
        var found: [KeyFile] = []
        for file in try Self.keyPaths(at: place) {
            let publicFile = (file.hasSuffix(".key") ? String(file.dropLast(4)) : file) + ".pub"
            // Without its public key, only unlocking the file shows which key it is.
            let id = WholeFile.exists(publicFile) ? try TUFPublicKey(file: publicFile).id : nil
            guard id.map({ usableIDs.contains($0) }) ?? true else { continue }
            found.append(KeyFile(path: file, isRequired: id.map { requiredIDs.contains($0) } ?? true))
        }
        return found
    }

    private static func keyPaths(at place: String) throws(LarderError) -> [String] {
        guard Folder.exists(place) else { return [place] }
        guard let names = Folder.names(in: place) else {
            throw LarderError(
                .input, "cannot open the folder of keys \(place): \(SystemError.lastText); name another one")
        }
        return names.map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasSuffix(".key") }.sorted()
            .map { place + "/" + $0 }
    }

    /// Signs the drafts with each key that counts for them, and adds the signatures of other copies of the drafts.
    ///
    /// - Parameter copies: files of drafts that others have signed.
    /// - Throws: `LarderError` of kind `.input` if nothing waits for these keys, or a signature is not valid.
    public func sign(
        _ keys: [ManifestKey], copies: [String] = []
    ) throws(LarderError) -> TUFRepositoryReport {
        let files = try TUFRepositoryFiles(changing: path)
        var repository = try files.repository()
        guard repository.hasDrafts else {
            throw LarderError(.input, "nothing in \(path) waits for signatures; change something first")
        }
        for copy in copies {
            do {
                let bytes = try WholeFile.read(copy, atMost: TUFLimits().maxTargetsBytes)
                _ = try repository.addSignatures(from: bytes, name: copy)
            } catch let error as SystemError {
                throw LarderError(.input, "\(error.problem); name a copy of a draft")
            } catch let error as RepositoryError {
                throw LarderError(error)
            } catch { throw LarderError(.machine, "\(error)") }
        }
        guard !repository.sign(with: keys.map(\.key.key)).isEmpty || keys.isEmpty else {
            throw LarderError(
                .input,
                "none of these keys belongs to a role that waits for signatures; give a key of "
                    + repository.draftNames.joined(separator: ", "))
        }
        try files.writeDrafts(repository)
        return TUFRepositoryReport(repository, path, now: time)
    }

    /// Drafts a root with other keys or another threshold for a role. Without any change, the new root only expires
    /// later.
    ///
    /// - Parameters:
    ///   - added: keys that the role gets.
    ///   - removed: keys that it loses: their ids or the beginnings of them, at least 8 characters.
    ///   - threshold: the number of signatures that the role needs; nil leaves it as it is.
    /// - Throws: `LarderError` of kind `.input` for a key that the role does not have, or an impossible threshold.
    public func rotate(
        _ role: TUFRole, adding added: [TUFPublicKey] = [], removing removed: [String] = [],
        threshold: Int? = nil
    ) throws(LarderError) -> TUFRepositoryReport {
        let files = try TUFRepositoryFiles(changing: path)
        var repository = try files.repository()
        let present = repository.latestRoot?.roles[role.rawValue]?.keyIDs ?? []
        var ids: Set<String> = []
        for text in removed { ids.insert(try Self.keyID(text, among: present, role)) }
        do throws(RepositoryError) {
            try repository.rotate(
                role.role, adding: added.map(\.key), removing: ids, threshold: threshold,
                periods: repositoryPeriods, now: time)
        } catch { throw LarderError(error) }
        try files.writeDrafts(repository)
        return TUFRepositoryReport(repository, path, now: time)
    }

    /// The id of a key that a user names by its id, by the file of its public key, or by the key as text.
    private static func keyID(
        _ text: String, among ids: [String], _ role: TUFRole
    ) throws(LarderError) -> String {
        if text.utf8.count >= 8, text.utf8.allSatisfy({ $0.hexDigitValue != nil }) {
            let matching = ids.filter { $0.hasPrefix(text.lowercased()) }
            if matching.count == 1 { return matching[0] }
            if matching.count > 1 {
                throw LarderError(.input, "several keys of the role begin with \(text); write more of the id")
            }
        }
        if let key = try? TUFPublicKey(text), ids.contains(key.id) { return key.id }
        let list = ids.map { String($0.prefix(16)) }.joined(separator: ", ")
        throw LarderError(
            .input, "\(text) is not a key of the role \(role.rawValue); its keys are \(list)")
    }

    // MARK: - Delegations

    /// Drafts targets that let another role list the files below some paths, or changes this delegation. The role's first
    /// version is drafted too, which its keys must sign before the delegation can be published.
    ///
    /// - Parameters:
    ///   - name: the name of the role, such as that of a team.
    ///   - keys: its keys. They replace all earlier ones.
    ///   - paths: the paths of targets that it may list: `docs/` for everything below a folder, or patterns such as
    ///     `docs/*.js`, in which an asterisk does not match a slash.
    ///   - isTerminating: whether later delegations are ignored for these paths.
    /// - Throws: `LarderError` of kind `.input` for a name or path that cannot be used, or an impossible threshold.
    public func delegate(
        to name: String, keys: [TUFPublicKey], threshold: Int = 1, paths: [String],
        isTerminating: Bool = false
    ) throws(LarderError) -> TUFRepositoryReport {
        try changeDelegations { (repository) throws(RepositoryError) in
            var patterns: [String] = []
            for path in paths { patterns += try Repository.patterns(for: path) }
            try repository.delegate(
                to: name, keys: keys.map(\.key), threshold: threshold, patterns: patterns,
                isTerminating: isTerminating, periods: repositoryPeriods, now: time)
        }
    }

    /// Drafts targets that do not delegate to a role any more. Clients then ignore its metadata.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such delegation.
    public func removeDelegation(to name: String) throws(LarderError) -> TUFRepositoryReport {
        try changeDelegations { (repository) throws(RepositoryError) in
            try repository.removeDelegation(to: name, periods: repositoryPeriods, now: time)
        }
    }

    private func changeDelegations(
        _ change: (inout Repository) throws(RepositoryError) -> Void
    ) throws(LarderError) -> TUFRepositoryReport {
        let files = try TUFRepositoryFiles(changing: path)
        var repository = try files.repository()
        do throws(RepositoryError) { try change(&repository) } catch { throw LarderError(error) }
        try files.writeDrafts(repository)
        return TUFRepositoryReport(repository, path, now: time)
    }

    // MARK: - Publishing

    /// Publishes the drafts that have enough signatures, with a new snapshot and timestamp. Clients find either the
    /// old or the new version, also if the process is killed.
    ///
    /// - Parameters:
    ///   - keys: the available secret keys. Each signs the metadata of the roles that list it.
    ///   - hasPlainNames: whether each target gets a second file without the digest in its name, for web pages that
    ///     link to it. Later publications do the same.
    /// - Throws: `LarderError` of kind `.input` if a key is missing or clients would reject the result. Nothing is then
    ///   published.
    public func publish(
        _ keys: [ManifestKey], hasPlainNames: Bool = false
    ) throws(LarderError) -> TUFRepositoryReport {
        let files = try TUFRepositoryFiles(changing: path)
        let repository = try files.repository()
        let publication: Publication
        do throws(RepositoryError) {
            publication = try repository.publication(
                keys: keys.map(\.key.key), periods: repositoryPeriods, now: time)
            try publication.check(repository, now: time) { files.metadataBytes($0) }
        } catch { throw LarderError(error) }
        if let result = publication.result {
            let isNew = publication.files.contains { $0.hasTargets }
            for (path, file) in result.targetFiles.sorted(by: { $0.key < $1.key }) {
                if let mistake = files.mistake(of: path, file, readsBytes: isNew) {
                    throw LarderError(
                        .input,
                        "the target \(path) cannot be published: \(mistake); add it again, or remove it")
                }
            }
        }
        let old = repository.published?.targetFiles ?? [:]
        // Existing plain names are replaced as well: they would still name the old files.
        let placesPlainNames = hasPlainNames || files.hasPlainNames(of: old)
        try files.publish(publication.files)
        if placesPlainNames, let result = publication.result {
            try files.placePlainNames(of: result.targetFiles, replacing: old)
        }
        try files.writeDrafts(
            root: publication.draftRoot, targets: publication.draftTargets,
            delegated: publication.draftDelegated,
            published: (publication.result ?? repository.published)?.targets)
        var report = TUFRepositoryReport(try files.repository(), path, now: time)
        report.written = publication.files.map(\.name)
        report.waiting = publication.waiting.map {
            .init(role: $0.role, version: $0.version, missingSignatures: $0.missingSignatures)
        }
        return report
    }

    // MARK: - Cleaning

    /// Removes what no client needs any more: older versions of snapshot, targets and delegated roles, and files of targets
    /// that none of the remaining versions lists. All roots stay, since clients follow them one by one, and so do drafts, the
    /// files that they list, and files that do not belong to the repository.
    ///
    /// - Parameters:
    ///   - period: how long a version stays after it was replaced. A client that began its update before still needs it,
    ///     and so does one behind a cache that stores `timestamp.json` for a while.
    ///   - isDryRun: whether nothing is removed.
    /// - Throws: `LarderError` of kind `.input` if metadata that stays cannot be read; nothing is removed then.
    public func clean(
        keepingFor period: Duration = .seconds(86_400), isDryRun: Bool = false
    ) throws(LarderError) -> TUFCleanReport {
        let files = try TUFRepositoryFiles(changing: path)
        let repository = try files.repository()
        let cleaning = try TUFCleaning(
            files, repository, replacedBefore: time.secondsSinceEpoch - period.components.seconds)
        if !isDryRun { try files.remove(metadata: cleaning.metadata, targets: cleaning.targets) }
        return TUFCleanReport(
            path: path, isDryRun: isDryRun, metadata: cleaning.metadata, targets: cleaning.targets,
            byteCount: cleaning.byteCount)
    }

    /// The published versions, their expiry and keys, and the drafts.
    public func status() throws(LarderError) -> TUFRepositoryReport {
        TUFRepositoryReport(try TUFRepositoryFiles(reading: path).repository(), path, now: time)
    }
}

extension TUFRepositoryFiles {
    /// Writes the drafts of a repository.
    borrowing func writeDrafts(_ repository: Repository) throws(LarderError) {
        try writeDrafts(
            root: repository.draftRoot, targets: repository.draftTargets,
            delegated: repository.draftDelegated,
            published: repository.published?.targets)
    }
}

extension LarderError {
    fileprivate init(_ error: RepositoryError) {
        self.init(.input, error.description)
    }
}
