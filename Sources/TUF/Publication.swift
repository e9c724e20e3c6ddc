package import Digest
package import Web

/// The files of one publication, and what cannot be published yet.
package struct Publication: Sendable {
    /// A file of the folder of metadata.
    package struct File: Sendable {
        /// The name of a top-level or delegated role.
        package let role: String
        package let name: String
        package let bytes: [UInt8]
        /// Whether it lists targets.
        package let hasTargets: Bool
    }

    /// A draft that has too few signatures.
    package struct Waiting: Sendable, Equatable {
        /// The name of a top-level or delegated role.
        package let role: String
        package let version: Int
        /// 0 if it waits only for drafts of other roles.
        package let missingSignatures: Int
    }

    /// The files in the order in which they must appear. Empty if nothing can be published.
    package fileprivate(set) var files: [File] = []
    /// Whether clients accept the repository after each of the files, so that a publication may be interrupted. It is
    /// false if a role has new keys and the metadata is not signed with enough of the old ones.
    package fileprivate(set) var isInterruptible = true
    package fileprivate(set) var waiting: [Waiting] = []
    /// The drafts that remain, with the new signatures.
    package fileprivate(set) var draftRoot: SignedMetadata<RootMetadata>?
    package fileprivate(set) var draftTargets: SignedMetadata<TargetsMetadata>?
    package fileprivate(set) var draftDelegated: [String: SignedMetadata<TargetsMetadata>] = [:]
    /// The published state afterwards; nil if nothing can be published.
    package fileprivate(set) var result: Repository.Published?
}

extension Repository {
    /// Decides what to publish: drafts with enough signatures, a snapshot if anything changed or it expires soon, and
    /// always a new timestamp.
    ///
    /// - Parameter keys: the available secret keys. Each signs the metadata of the roles that list it.
    /// - Throws: `RepositoryError` if keys are missing without which nothing can be published.
    package func publication(
        keys: [Ed25519PrivateKey], periods: RepositoryPeriods, now: HTTPDate
    ) throws(RepositoryError) -> Publication {
        var signed = self
        signed.renewDrafts(periods, now)
        _ = signed.sign(with: keys)
        var root = signed.draftRoot
        var waiting: [Publication.Waiting] = []
        if let draft = root {
            // TUF 5.3.4: the thresholds of the trusted root and of the new one.
            let authorities = [draft.role] + (published.map { [$0.root.role] } ?? [])
            let missing = authorities.map { draft.missingSignatures(.root, $0) }.max() ?? 0
            if missing > 0 {
                waiting.append(.init(role: "root", version: draft.version, missingSignatures: missing))
                root = nil
            }
        }
        let first = try PublicationStep(signed, nextRoot: root, keys, periods, now).publication(waiting)
        guard first.result == nil, let root, published != nil else { return first }
        // The targets wait for signatures by the keys of the new root. Meanwhile the old root stays.
        waiting.append(.init(role: "root", version: root.version, missingSignatures: 0))
        return try PublicationStep(signed, nextRoot: nil, keys, periods, now).publication(waiting)
    }

    /// The names of the roles whose keys a publication can use now.
    package func rolesToSign(periods: RepositoryPeriods, now: HTTPDate) -> Set<String> {
        var roles: Set<String> = ["snapshot", "timestamp"]
        if draftRoot != nil { roles.insert("root") }
        if draftTargets != nil { roles.insert("targets") }
        roles.formUnion(draftDelegated.keys)
        for (name, file) in published?.delegated ?? [:]
        where periods.isDue(.targets, expires: file.expires, now) {
            roles.insert(name)
        }
        if let published {
            let root = draftRoot?.role ?? published.root.role
            if periods.isDue(.targets, expires: published.targets.expires, now)
                || published.targets.missingSignatures(.targets, root) > 0
            {
                roles.insert("targets")
            }
        }
        return roles
    }
}

/// A publication with a given root.
private struct PublicationStep {
    private let repository: Repository
    private let nextRoot: SignedMetadata<RootMetadata>?
    private let keys: [Ed25519PrivateKey]
    private let periods: RepositoryPeriods
    private let now: HTTPDate

    init(
        _ repository: Repository, nextRoot: SignedMetadata<RootMetadata>?, _ keys: [Ed25519PrivateKey],
        _ periods: RepositoryPeriods, _ now: HTTPDate
    ) {
        (self.repository, self.nextRoot, self.keys) = (repository, nextRoot, keys)
        (self.periods, self.now) = (periods, now)
    }

    /// The root by whose keys clients verify the result, and the one that they have before it.
    private var authorities: [RootMetadata] {
        [nextRoot, repository.published?.root].compactMap { $0?.role }
    }

    /// The files; none and a waiting draft if the targets cannot be published yet.
    ///
    /// - Parameter waiting: drafts that wait already.
    func publication(_ waiting: [Publication.Waiting]) throws(RepositoryError) -> Publication {
        var publication = Publication()
        publication.waiting = waiting
        (publication.draftRoot, publication.draftTargets) = (repository.draftRoot, repository.draftTargets)
        publication.draftDelegated = repository.draftDelegated
        guard let root = nextRoot ?? repository.published?.root else {
            if let draft = repository.draftTargets, let root = repository.draftRoot {
                let missing = draft.missingSignatures(.targets, root.role)
                if missing > 0 { publication.wait(for: draft, missing) }
            }
            return publication
        }
        guard root.expires > now.secondsSinceEpoch else {
            throw .input("the root expired on \(Self.date(root)); renew it first, by rotating it")
        }
        guard let targets = try nextTargets(root.role, &publication.waiting) else { return publication }
        let snapshot = try nextSnapshot(root.role, targets)
        let delegated = targets.delegated.sorted { $0.key < $1.key }
        let timestamp = try nextTimestamp(root.role, snapshot)
        publication.result = .init(
            root: root, targets: targets.file, snapshot: snapshot.file, timestamp: timestamp,
            delegated: targets.delegated.mapValues(\.file))
        for (name, next) in delegated where next.isNew {
            publication.files.append(
                .init(
                    role: name, name: "\(next.file.version).\(TUFPath.escapedName(name)).json",
                    bytes: next.file.fileBytes(.compact), hasTargets: true))
        }
        if targets.isNew { publication.add(targets.file, .targets) }
        if snapshot.isNew { publication.add(snapshot.file, .snapshot) }
        publication.add(timestamp, .timestamp)
        if let nextRoot { place(nextRoot, in: &publication) }
        if nextRoot != nil { publication.draftRoot = nil }
        if targets.isNew {
            publication.draftTargets = nil
            // The root that waits has other keys for the targets, whose holders sign this version again.
            if let waiting = publication.draftRoot?.role,
                targets.file.missingSignatures(.targets, waiting) > 0
            {
                publication.draftTargets = targets.file.withoutSignatures(
                    version: targets.file.version + 1, expires: targets.file.expires)
            }
        }
        updateDrafts(of: targets, in: &publication)
        return publication
    }

    /// Removes the drafts of delegated roles that are published. If the targets that wait delegate to other keys, the holders
    /// of these sign the published version again.
    private func updateDrafts(of targets: NextTargets, in publication: inout Publication) {
        let waiting = publication.draftTargets?.role.delegations
        for (name, next) in targets.delegated where next.isNew {
            publication.draftDelegated[name] = nil
            guard let waiting, let keys = waiting.keys(of: name),
                next.file.missingSignatures(of: keys, in: waiting.keys) > 0
            else { continue }
            publication.draftDelegated[name] = next.file.withoutSignatures(
                version: next.file.version + 1, expires: next.file.expires)
        }
    }

    /// Adds the new root.
    ///
    /// Clients load the root first and then verify everything else with it. If the other files are signed with enough
    /// keys of both roots, the root goes last: then clients accept the repository at any moment. Else it goes first,
    /// and between the root and the timestamp clients fail, until the publication is complete.
    private func place(_ root: SignedMetadata<RootMetadata>, in publication: inout Publication) {
        let file = Publication.File(
            role: "root", name: RepositoryRole.root.fileName(version: root.version),
            bytes: root.fileBytes(.compact), hasTargets: false)
        guard let published = repository.published else {
            // Nothing is there that a client could fetch before the timestamp.
            publication.files.insert(file, at: 0)
            return
        }
        let old = published.root.role
        let isSignedByBoth =
            publication.result.map { result in
                result.targets.missingSignatures(.targets, old) == 0
                    && result.snapshot.missingSignatures(.snapshot, old) == 0
                    && result.timestamp.missingSignatures(.timestamp, old) == 0
            } ?? false
        publication.isInterruptible = isSignedByBoth
        publication.files.insert(file, at: isSignedByBoth ? publication.files.count : 0)
    }

    /// A file with the mark whether it is a new version.
    private typealias Next<Role: RoleMetadata> = (file: SignedMetadata<Role>, isNew: Bool)

    /// The top-level targets with the roles that they delegate to.
    private struct NextTargets {
        let file: SignedMetadata<TargetsMetadata>
        let isNew: Bool
        let delegated: [String: Next<TargetsMetadata>]
    }

    /// The drafted targets if they have enough signatures; else the published ones, if necessary with a later expiry.
    private func nextTargets(
        _ root: RootMetadata, _ waiting: inout [Publication.Waiting]
    ) throws(RepositoryError) -> NextTargets? {
        if let draft = repository.draftTargets {
            let heldFor = isHeld(draft) ? repository.draftRoot?.role : nil
            let missing = draft.missingSignatures(.targets, heldFor ?? root)
            let isWaiting = missing > 0 || heldFor != nil
            let delegated = nextDelegated(of: draft.role, isDraft: true, isWaiting: isWaiting, &waiting)
            if missing == 0, heldFor == nil, let delegated {
                return NextTargets(file: draft, isNew: true, delegated: delegated)
            }
            if missing > 0 || delegated == nil {
                waiting.append(.init(role: "targets", version: draft.version, missingSignatures: missing))
            }
        }
        guard let next = try renewedTargets(root) else { return nil }
        guard
            let delegated = nextDelegated(of: next.file.role, isDraft: false, isWaiting: false, &waiting)
        else {
            throw .input(
                "a delegated role has no metadata that is signed as the published targets demand; restore the folder "
                    + "metadata from a backup")
        }
        return NextTargets(file: next.file, isNew: next.isNew, delegated: delegated)
    }

    /// The metadata of the roles that targets delegate to: drafts that have enough signatures, else the published versions, if
    /// necessary and possible with a later expiry. Nil if a role has neither.
    ///
    /// - Parameters:
    ///   - isDraft: whether the targets are the draft.
    ///   - isWaiting: whether they cannot be published, so that the result only says what waits.
    private func nextDelegated(
        of targets: TargetsMetadata, isDraft: Bool, isWaiting: Bool, _ waiting: inout [Publication.Waiting]
    ) -> [String: Next<TargetsMetadata>]? {
        var chosen: [String: Next<TargetsMetadata>] = [:]
        var isComplete = true
        let drafted = repository.draftTargets?.role.delegations
        for role in targets.delegations?.listed ?? [] {
            guard let table = targets.delegations?.keys else { continue }
            let draft = repository.draftDelegated[role.name]
            if let draft {
                let missing = draft.missingSignatures(of: role.keys, in: table)
                if missing == 0, isDraft || !isHeld(draft, of: role.name) {
                    chosen[role.name] = (draft, true)
                    continue
                }
                // Signatures that the drafted targets demand have been reported already.
                let isReported = !isDraft && drafted?.keys(of: role.name) != nil
                if missing > 0, !isReported {
                    waiting.append(
                        .init(role: role.name, version: draft.version, missingSignatures: missing))
                }
            }
            guard let current = repository.published?.delegated[role.name],
                current.missingSignatures(of: role.keys, in: table) == 0
            else {
                isComplete = false
                continue
            }
            chosen[role.name] = (current, false)
            guard draft == nil, !isWaiting, periods.isDue(.targets, expires: current.expires, now) else {
                continue
            }
            var renewed = current.withoutSignatures(
                version: repository.nextVersion(ofDelegated: role.name),
                expires: periods.expiry(of: .targets, now))
            let counting = repository.delegatedSigners(of: role.name)
            for key in keys where counting[TUFKey(key.publicKey).id] != nil { renewed.sign(with: key) }
            if renewed.missingSignatures(of: role.keys, in: table) == 0 {
                chosen[role.name] = (renewed, true)
            }
        }
        return isComplete ? chosen : nil
    }

    /// Whether a draft of a delegated role only repeats the published version, for the keys that the drafted targets name. With
    /// the published targets it would change nothing, and the signatures by the new keys would be lost.
    private func isHeld(_ draft: SignedMetadata<TargetsMetadata>, of name: String) -> Bool {
        guard repository.draftTargets != nil, let published = repository.published?.delegated[name] else {
            return false
        }
        return draft.role.targets == published.role.targets
    }

    /// The published targets, if necessary with a later expiry; nil if they cannot be used, so that the draft must be.
    private func renewedTargets(_ root: RootMetadata) throws(RepositoryError) -> Next<TargetsMetadata>? {
        guard let current = repository.published?.targets else { return nil }
        let isValid =
            current.missingSignatures(.targets, root) == 0 && current.expires > now.secondsSinceEpoch
        if isValid, !periods.isDue(.targets, expires: current.expires, now) { return (current, false) }
        // The draft would have the same version as a renewed one.
        if repository.draftTargets == nil {
            var renewed = current.withoutSignatures(
                version: repository.nextVersion(of: .targets), expires: periods.expiry(of: .targets, now))
            renewed.sign(with: keys, of: .targets, authorities)
            let missing = renewed.missingSignatures(.targets, root)
            if missing == 0 { return (renewed, true) }
            guard isValid else { throw .missingSignatures(.targets, missing) }
        }
        if isValid { return (current, false) }
        guard nextRoot != nil else {
            throw .input(
                "the published targets expired on \(Self.date(current)), and the draft has too few signatures"
            )
        }
        return nil
    }

    /// Whether a draft only repeats the published targets, for the keys of a root that is not complete yet. With the
    /// current root it would change nothing, and the signatures by the new keys would be lost.
    private func isHeld(_ draft: SignedMetadata<TargetsMetadata>) -> Bool {
        guard nextRoot == nil, repository.draftRoot != nil, let published = repository.published else {
            return false
        }
        return draft.role.targets == published.targets.role.targets
            && draft.role.delegations == published.targets.role.delegations
    }

    private func nextSnapshot(
        _ root: RootMetadata, _ targets: NextTargets
    ) throws(RepositoryError) -> Next<SnapshotMetadata> {
        let current = repository.published?.snapshot
        let isChanged = targets.isNew || targets.delegated.values.contains(where: \.isNew)
        let isValid =
            current.map {
                !isChanged && $0.missingSignatures(.snapshot, root) == 0
                    && $0.expires > now.secondsSinceEpoch
            } ?? false
        if let current, isValid, !periods.isDue(.snapshot, expires: current.expires, now) {
            return (current, false)
        }
        // Roles stay listed, also if nothing delegates to them any more (TUF 5.5.5).
        var files = current?.role.files ?? [:]
        if targets.isNew { files["targets.json"] = Self.entry(targets.file) }
        for (name, next) in targets.delegated where next.isNew {
            files["\(name).json"] = Self.entry(next.file)
        }
        let version = repository.nextVersion(of: .snapshot)
        let expires = periods.expiry(of: .snapshot, now)
        var new =
            current?.withoutSignatures(version: version, expires: expires) { $0.files = files }
            ?? SignedMetadata(
                SnapshotMetadata(header: MetadataHeader(version: version, expires: expires), files: files))
        new.sign(with: keys, of: .snapshot, authorities)
        let missing = new.missingSignatures(.snapshot, root)
        if missing == 0 { return (new, true) }
        guard let current, isValid else { throw .missingSignatures(.snapshot, missing) }
        return (current, false)
    }

    private func nextTimestamp(
        _ root: RootMetadata, _ snapshot: Next<SnapshotMetadata>
    ) throws(RepositoryError) -> SignedMetadata<TimestampMetadata> {
        let version = repository.nextVersion(of: .timestamp)
        let expires = periods.expiry(of: .timestamp, now)
        let current = repository.published?.timestamp
        let entry = snapshot.isNew ? Self.entry(snapshot.file) : current?.role.snapshot
        var new =
            current?.withoutSignatures(version: version, expires: expires) { timestamp in
                if let entry { timestamp.snapshot = entry }
            }
            ?? SignedMetadata(
                TimestampMetadata(
                    header: MetadataHeader(version: version, expires: expires),
                    snapshot: entry ?? Self.entry(snapshot.file)))
        new.sign(with: keys, of: .timestamp, authorities)
        let missing = new.missingSignatures(.timestamp, root)
        guard missing == 0 else { throw .missingSignatures(.timestamp, missing) }
        return new
    }

    /// The entry of a new file in other metadata. Length and digest bind the file more closely than its version
    /// alone, and clients then know how much to read.
    private static func entry(_ file: SignedMetadata<some RoleMetadata>) -> MetaFile {
        let bytes = file.fileBytes(.compact)
        return MetaFile(
            version: file.version, byteCount: bytes.count,
            hashes: FileHashes([DigestStream.digest(.sha256, of: bytes.span)]))
    }

    private static func date(_ file: SignedMetadata<some RoleMetadata>) -> String {
        HTTPDate(secondsSinceEpoch: file.expires).iso8601
    }
}

extension Publication {
    fileprivate mutating func wait(for file: SignedMetadata<TargetsMetadata>, _ missing: Int) {
        waiting.append(Waiting(role: "targets", version: file.version, missingSignatures: missing))
    }

    fileprivate mutating func add(_ file: SignedMetadata<some RoleMetadata>, _ role: RepositoryRole) {
        files.append(
            File(
                role: role.rawValue, name: role.fileName(version: file.version),
                bytes: file.fileBytes(.compact), hasTargets: role == .targets))
    }
}
