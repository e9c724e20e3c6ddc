package import Digest
package import Web

/// The metadata of a repository: the published versions, and drafts of root, targets and delegated roles that wait for
/// signatures.
///
/// Changes go into drafts, since the keys of root and targets may be offline and belong to several people. The targets
/// may delegate paths to other roles; these delegate to no further ones.
/// `publication` decides which drafts can be published. The value does no input or output; `TUFRepository` of LarderKit
/// reads and writes its files.
package struct Repository: Sendable {
    /// One published version of each role.
    package struct Published: Sendable {
        package let root: SignedMetadata<RootMetadata>
        package let targets: SignedMetadata<TargetsMetadata>
        package let snapshot: SignedMetadata<SnapshotMetadata>
        package let timestamp: SignedMetadata<TimestampMetadata>
        /// The metadata of the roles that the targets delegate to, by their names.
        package let delegated: [String: SignedMetadata<TargetsMetadata>]

        package init(
            root: SignedMetadata<RootMetadata>, targets: SignedMetadata<TargetsMetadata>,
            snapshot: SignedMetadata<SnapshotMetadata>, timestamp: SignedMetadata<TimestampMetadata>,
            delegated: [String: SignedMetadata<TargetsMetadata>] = [:]
        ) {
            (self.root, self.targets, self.snapshot, self.timestamp) = (root, targets, snapshot, timestamp)
            self.delegated = delegated
        }

        /// The targets that clients find, by their paths.
        package var foundTargets: [String: TUFTarget] {
            targets.role.targetFiles(with: delegated.mapValues(\.role))
        }

        /// The descriptions of the targets that clients find, by their paths.
        package var targetFiles: [String: TargetFile] { foundTargets.mapValues(\.file) }
    }

    /// The effect of a change of targets.
    package struct TargetChanges: Sendable, Equatable {
        package var added = 0
        package var changed = 0
        package var removed = 0
        package var unchanged = 0
    }

    /// Nil before the first publication.
    package let published: Published?
    package private(set) var draftRoot: SignedMetadata<RootMetadata>?
    package internal(set) var draftTargets: SignedMetadata<TargetsMetadata>?
    /// The drafts of delegated roles, by their names.
    package internal(set) var draftDelegated: [String: SignedMetadata<TargetsMetadata>] = [:]
    /// The highest version that any file has, by the name of its role. A publication that was interrupted leaves files of
    /// which no client has heard. Their versions are not used again.
    private let usedVersions: [String: Int]

    /// Creates a repository without targets. Nothing is published yet.
    package init(keys: [RepositoryRole: NewRoleKeys], periods: RepositoryPeriods, now: HTTPDate) {
        published = nil
        usedVersions = [:]
        var (table, roles): (KeyTable, [String: RoleKeys]) = (KeyTable(), [:])
        for (role, entry) in keys {
            for key in entry.keys { table.insert(key) }
            roles[role.rawValue] = RoleKeys(
                keyIDs: entry.keys.map(\.id).sorted(), threshold: entry.threshold)
        }
        draftRoot = SignedMetadata(
            RootMetadata(
                header: MetadataHeader(expires: periods.expiry(of: .root, now)), keys: table, roles: roles))
        draftTargets = SignedMetadata(
            TargetsMetadata(header: MetadataHeader(expires: periods.expiry(of: .targets, now))))
    }

    /// Restores a repository from its files. A draft that was published already is dropped.
    package init(
        published: Published?, draftRoot: SignedMetadata<RootMetadata>?,
        draftTargets: SignedMetadata<TargetsMetadata>?,
        draftDelegated: [String: SignedMetadata<TargetsMetadata>] = [:], usedVersions: [String: Int] = [:]
    ) {
        self.published = published
        self.usedVersions = usedVersions
        self.draftRoot = draftRoot.flatMap { $0.version > published?.root.version ?? 0 ? $0 : nil }
        self.draftTargets = draftTargets.flatMap { $0.version > published?.targets.version ?? 0 ? $0 : nil }
        let names = Set(
            [self.draftTargets, published?.targets].flatMap { $0?.role.delegations?.listed ?? [] }.map(\.name)
        )
        self.draftDelegated = draftDelegated.filter { name, draft in
            names.contains(name) && draft.version > published?.delegated[name]?.version ?? 0
        }
    }

    /// The top-level targets with all changes that are not published yet.
    var latestTargets: SignedMetadata<TargetsMetadata>? { draftTargets ?? published?.targets }

    /// The targets that clients will find, with all changes that are not published yet, by their paths.
    package var targets: [String: TUFTarget] {
        latestTargets?.role.targetFiles(with: latestDelegated.mapValues(\.role)) ?? [:]
    }

    /// The root with all changes that are not published yet.
    package var latestRoot: RootMetadata? { (draftRoot ?? published?.root)?.role }

    /// The version after the last one that was used.
    func nextVersion(of role: RepositoryRole) -> Int {
        switch role {
        // A root is published as soon as its file exists, and there is only one timestamp.
        case .root: (published?.root.version ?? 0) + 1
        case .timestamp: (published?.timestamp.version ?? 0) + 1
        case .targets: max(published?.targets.version ?? 0, usedVersions[role.rawValue] ?? 0) + 1
        case .snapshot: max(published?.snapshot.version ?? 0, usedVersions[role.rawValue] ?? 0) + 1
        }
    }

    /// The version of a delegated role after the last one that was used, also before the role was removed.
    func nextVersion(ofDelegated name: String) -> Int {
        max(
            published?.snapshot.role.files["\(name).json"]?.version ?? 0, draftDelegated[name]?.version ?? 0,
            usedVersions[TUFPath.escapedName(name)] ?? 0) + 1
    }

    // MARK: - Targets

    /// Adds, changes and removes targets of a role. If anything changes, signatures of an earlier draft are dropped.
    ///
    /// - Parameter role: the name of a delegated role; nil for the top-level targets.
    package mutating func changeTargets(
        of role: String? = nil, adding new: [String: TargetFile], removing old: Set<String>,
        periods: RepositoryPeriods, now: HTTPDate
    ) throws(RepositoryError) -> TargetChanges {
        let base = try latestMetadata(of: role)
        var targets = base.role.targets
        var changes = TargetChanges()
        for path in old where new[path] == nil && targets[path] != nil {
            targets[path] = nil
            changes.removed += 1
        }
        for (path, file) in new {
            guard var entry = targets[path] else {
                targets[path] = file
                changes.added += 1
                continue
            }
            // Other members, such as `custom`, stay.
            (entry.byteCount, entry.hashes) = (file.byteCount, file.hashes)
            if entry == targets[path] { changes.unchanged += 1 } else { changes.changed += 1 }
            targets[path] = entry
        }
        guard changes.added + changes.changed + changes.removed > 0 else { return changes }
        let expires = periods.expiry(of: .targets, now)
        if let role {
            let version = draftDelegated[role]?.version ?? nextVersion(ofDelegated: role)
            draftDelegated[role] = base.withoutSignatures(version: version, expires: expires) {
                $0.targets = targets
            }
        } else {
            let version = draftTargets?.version ?? nextVersion(of: .targets)
            draftTargets = base.withoutSignatures(version: version, expires: expires) { $0.targets = targets }
        }
        return changes
    }

    // MARK: - Keys

    /// Drafts a root with other keys or another threshold for a role, or only with a later date of expiry.
    ///
    /// - Parameter removed: the ids of keys that the role loses.
    package mutating func rotate(
        _ role: RepositoryRole, adding added: [TUFKey], removing removed: Set<String>, threshold: Int?,
        periods: RepositoryPeriods, now: HTTPDate
    ) throws(RepositoryError) {
        guard let base = draftRoot ?? published?.root else { throw .notCreated }
        var keys = base.role.keys(of: role.rawValue)
        for id in removed {
            guard keys.keyIDs.contains(id) else {
                throw .input("the key \(id.prefix(16)) is not a key of the role \(role.rawValue)")
            }
            keys.keyIDs.removeAll { $0 == id }
        }
        for key in added where !keys.keyIDs.contains(key.id) { keys.keyIDs.append(key.id) }
        keys.threshold = threshold ?? keys.threshold
        guard keys.threshold > 0, keys.keyIDs.count >= keys.threshold else {
            throw .input(
                "the role \(role.rawValue) would have \(keys.keyIDs.count) keys, fewer than its threshold of "
                    + "\(keys.threshold); add keys, or set another threshold")
        }
        draftRoot = base.withoutSignatures(
            version: draftRoot?.version ?? nextVersion(of: .root), expires: periods.expiry(of: .root, now)
        ) { root in
            root.roles[role.rawValue] = keys
            for key in added { root.keys.insert(key) }
            let used = Set(root.roles.values.flatMap(\.keyIDs))
            for id in root.keys.ids where !used.contains(id) { root.keys.remove(id) }
        }
        // The holders of the new keys must sign the targets before the new root can be published.
        if let published, draftTargets == nil, let root = latestRoot,
            published.targets.missingSignatures(.targets, root) > 0
        {
            draftTargets = published.targets.withoutSignatures(
                version: nextVersion(of: .targets), expires: periods.expiry(of: .targets, now))
        }
    }

    // MARK: - Signatures

    /// The roots whose keys count for a draft. A new root needs the signatures of both (TUF 5.3.4), and new targets
    /// may be published with either.
    private var authorities: [RootMetadata] { [published?.root, draftRoot].compactMap { $0?.role } }

    /// The keys whose signatures count for the draft of a role, by their ids.
    ///
    /// - Parameter role: the name of a top-level or delegated role.
    package func signers(of role: String) -> [String: TUFKey] {
        guard RepositoryRole(rawValue: role) != nil else { return delegatedSigners(of: role) }
        var keys: [String: TUFKey] = [:]
        for root in authorities {
            for id in root.keys(of: role).keyIDs { keys[id] = root.keys[id] }
        }
        return keys
    }

    /// Signs the drafts with each key that counts for them. Returns the names of the roles that got a signature.
    package mutating func sign(with keys: [Ed25519PrivateKey]) -> Set<String> {
        var signed: Set<String> = []
        for key in keys {
            let id = TUFKey(key.publicKey).id
            if draftRoot != nil, signers(of: "root")[id] != nil {
                draftRoot?.sign(with: key)
                signed.insert("root")
            }
            if draftTargets != nil, signers(of: "targets")[id] != nil {
                draftTargets?.sign(with: key)
                signed.insert("targets")
            }
            for name in draftDelegated.keys where delegatedSigners(of: name)[id] != nil {
                draftDelegated[name]?.sign(with: key)
                signed.insert(name)
            }
        }
        return signed
    }

    /// Gives drafts without signatures the full period until they expire. Signatures of an expired draft are dropped:
    /// clients would reject it.
    mutating func renewDrafts(_ periods: RepositoryPeriods, _ now: HTTPDate) {
        if let root = draftRoot, root.signatures.isEmpty || root.expires <= now.secondsSinceEpoch {
            draftRoot = root.withoutSignatures(version: root.version, expires: periods.expiry(of: .root, now))
        }
        if let targets = draftTargets, targets.signatures.isEmpty || targets.expires <= now.secondsSinceEpoch
        {
            draftTargets = targets.withoutSignatures(
                version: targets.version, expires: periods.expiry(of: .targets, now))
        }
        for (name, draft) in draftDelegated
        where draft.signatures.isEmpty || draft.expires <= now.secondsSinceEpoch {
            draftDelegated[name] = draft.withoutSignatures(
                version: draft.version, expires: periods.expiry(of: .targets, now))
        }
    }

    /// Adds the signatures of another copy of a draft, which another person signed on another machine.
    ///
    /// - Parameter name: the name of the copy for errors.
    /// - Returns: the role, and the number of signatures that the draft did not have.
    package mutating func addSignatures(
        from bytes: [UInt8], name: String
    ) throws(RepositoryError) -> (role: String, count: Int) {
        if let copy = try? SignedMetadata<RootMetadata>(bytes, file: name) {
            let merged = try merge(copy, into: draftRoot, "root", name)
            draftRoot = merged.file
            return ("root", merged.count)
        }
        let copy = try RepositoryError.map { () throws(TUFError) in
            try SignedMetadata<TargetsMetadata>(bytes, file: name)
        }
        // Metadata of targets does not name its role. The first versions of two new roles may be the same, so that the keys
        // decide.
        let ids = Set(copy.signatures.filter { !$0.text.isEmpty }.map(\.keyID))
        let equal = draftDelegated.filter { $0.value.signedBytes == copy.signedBytes }.keys.sorted()
        if let role = equal.first(where: { !ids.isDisjoint(with: delegatedSigners(of: $0).keys) })
            ?? equal.first
        {
            let merged = try merge(copy, into: draftDelegated[role], role, name)
            draftDelegated[role] = merged.file
            return (role, merged.count)
        }
        let merged = try merge(copy, into: draftTargets, "targets", name)
        draftTargets = merged.file
        return ("targets", merged.count)
    }

    /// Returns the draft with the signatures of a copy, and the number of new ones.
    private func merge<Role>(
        _ copy: SignedMetadata<Role>, into draft: SignedMetadata<Role>?, _ role: String, _ name: String
    ) throws(RepositoryError) -> (file: SignedMetadata<Role>, count: Int) {
        guard var file = draft else {
            throw .input("no draft of \(role) waits for signatures, so that \(name) is not needed")
        }
        guard copy.signedBytes == file.signedBytes else {
            throw .input("\(name) is another version than the draft of \(role); sign a new copy of the draft")
        }
        let counting = signers(of: role)
        let present = Set(file.signatures.map(\.keyID))
        var count = 0
        for signature in copy.signatures where !signature.text.isEmpty {
            guard let key = counting[signature.keyID] else {
                let id = signature.keyID.prefix(16)
                throw .input("\(name) has a signature by \(id), which is not a key of \(role)")
            }
            guard let bytes = Hex.decode(signature.text), key.verifies(bytes, of: file.signedBytes) else {
                throw .input("the signature by \(key.id.prefix(16)) in \(name) is not valid; sign again")
            }
            file.add(signature)
            if !present.contains(key.id) { count += 1 }
        }
        return (file, count)
    }
}

/// The keys of a role of a new repository.
package struct NewRoleKeys: Sendable {
    package var keys: [TUFKey]
    package var threshold: Int

    package init(_ keys: [TUFKey], threshold: Int = 1) {
        (self.keys, self.threshold) = (keys, threshold)
    }
}

/// The four roles that every repository has.
package enum RepositoryRole: String, Sendable, CaseIterable {
    case root
    case targets
    case snapshot
    case timestamp

    /// The name of the published file: `3.root.json`, but `timestamp.json` (TUF 6.2.1).
    package func fileName(version: Int) -> String {
        self == .timestamp ? "timestamp.json" : "\(version).\(rawValue).json"
    }
}

/// The time for which new metadata of each role is valid.
package struct RepositoryPeriods: Sendable, Equatable {
    /// In seconds. Roles that are not listed have their default.
    package var seconds: [RepositoryRole: Int64]

    package init(seconds: [RepositoryRole: Int64] = [:]) { self.seconds = seconds }

    func period(of role: RepositoryRole) -> Int64 { seconds[role] ?? Self.days(role) * 86_400 }

    /// The default. The keys of root and targets are used rarely. Timestamps are renewed by a job, which may fail at
    /// a weekend.
    private static func days(_ role: RepositoryRole) -> Int64 {
        switch role {
        case .root: 365
        case .targets: 90
        case .snapshot: 30
        case .timestamp: 7
        }
    }

    func expiry(of role: RepositoryRole, _ now: HTTPDate) -> Int64 {
        now.secondsSinceEpoch + period(of: role)
    }

    /// Whether less than half of the role's period is left.
    func isDue(_ role: RepositoryRole, expires: Int64, _ now: HTTPDate) -> Bool {
        expires < now.secondsSinceEpoch + period(of: role) / 2
    }
}

extension SignedMetadata {
    package var version: Int { role.version }

    /// The time of expiry in seconds since 1970.
    package var expires: Int64 { role.header.expires }

    /// The number of signatures that are missing for the threshold of a role of the root; 0 if there are enough.
    package func missingSignatures(_ role: RepositoryRole, _ root: RootMetadata) -> Int {
        missingSignatures(of: root.keys(of: role.rawValue), in: root.keys)
    }

    /// The number of signatures that are missing for the threshold of a role.
    func missingSignatures(of keys: RoleKeys, in table: KeyTable) -> Int {
        max(0, keys.threshold - validKeyIDs(of: keys, in: table).count)
    }

    /// Another version of the metadata, without signatures. It keeps members that Larder does not know.
    func withoutSignatures(
        version: Int, expires: Int64, _ edit: (inout Role) -> Void = { _ in }
    ) -> SignedMetadata {
        var new = role
        new.header.version = version
        new.header.expires = expires
        new.header.specVersion = MetadataHeader.currentSpecVersion
        edit(&new)
        return SignedMetadata(new)
    }

    /// Signs with those keys that a root names for the role.
    mutating func sign(
        with keys: [Ed25519PrivateKey], of role: RepositoryRole, _ roots: [RootMetadata]
    ) {
        let ids = Set(roots.flatMap { $0.keys(of: role.rawValue).keyIDs })
        for key in keys where ids.contains(TUFKey(key.publicKey).id) { sign(with: key) }
    }
}
