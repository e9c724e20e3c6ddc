/// The metadata that a client trusts during an update, and the rules by which new metadata becomes trusted (section 5 of the
/// TUF specification). It makes no requests and knows no clock: the time is fixed at the start of the update (5.1).
struct TrustedMetadata: Sendable {
    private(set) var root: SignedMetadata<RootMetadata>
    private(set) var timestamp: SignedMetadata<TimestampMetadata>?
    /// The trusted snapshot. It may be older than the timestamp says; its versions then still bound those of the new one.
    private(set) var snapshot: SignedMetadata<SnapshotMetadata>?
    /// The metadata of targets roles that match the snapshot, by role name.
    private var roles: [String: SignedMetadata<TargetsMetadata>] = [:]
    /// The delegations by which a role was verified. Being trusted by one delegator does not make a role trusted by another.
    private var verifiedDelegations: Set<Delegation> = []
    private let now: Int64

    /// A role, and the role whose metadata names its keys.
    struct Delegation: Hashable {
        let role: String
        /// Nil for the top-level targets role, whose keys are in the root.
        let delegator: String?

        static let targets = Delegation(role: "targets", delegator: nil)
    }

    /// Loads the initial trusted root (5.2). Its expiry does not matter yet.
    init(root bytes: [UInt8], now: Int64) throws(TUFError) {
        let file = "root.json"
        root = try SignedMetadata(bytes, file: file)
        try root.requireThreshold(
            of: root.role.keys(of: "root"), in: root.role.keys, authority: "itself", file: file)
        self.now = now
    }

    // MARK: Root

    /// Accepts the root that follows the trusted one (5.3.4 to 5.3.7). Returns whether the trusted timestamp and snapshot were
    /// dropped because their keys have changed (5.3.11).
    mutating func update(root bytes: [UInt8], file: String) throws(TUFError) -> Bool {
        let new = try SignedMetadata<RootMetadata>(bytes, file: file)
        try new.requireThreshold(
            of: root.role.keys(of: "root"), in: root.role.keys,
            authority: "the trusted root \(root.role.version)", file: file)
        try new.requireThreshold(
            of: new.role.keys(of: "root"), in: new.role.keys, authority: "itself", file: file)
        guard new.role.version == root.role.version + 1 else {
            throw TUFError(
                .rollback, file, "is version \(new.role.version), expected \(root.role.version + 1)")
        }
        let hasRotated = ["timestamp", "snapshot"].contains { new.role.hasRotated($0, from: root.role) }
        root = new
        if hasRotated { (timestamp, snapshot) = (nil, nil) }
        return hasRotated
    }

    /// Ends the update of the root (5.3.10).
    func checkRoot() throws(TUFError) {
        try requireFresh(root.role.header, file: "root.json")
    }

    // MARK: Timestamp

    /// Loads the stored timestamp. It only bounds the version of the new one, so that it may have expired. One that the root
    /// does not verify is ignored: its keys were revoked.
    mutating func load(timestamp bytes: [UInt8]) {
        timestamp = try? verified(bytes, role: "timestamp", file: "timestamp.json")
    }

    /// Accepts a timestamp (5.4.2 to 5.4.4). Returns whether it is new.
    mutating func update(timestamp bytes: [UInt8]) throws(TUFError) -> Bool {
        let file = "timestamp.json"
        let new: SignedMetadata<TimestampMetadata> = try verified(bytes, role: "timestamp", file: file)
        if let old = timestamp {
            guard new.role.version >= old.role.version else {
                throw TUFError(
                    .rollback, file,
                    "is version \(new.role.version), version \(old.role.version) was accepted before")
            }
            if new.role.version == old.role.version {
                // The new file is discarded, whatever it says. The trusted one still bounds how long updates can be withheld.
                try requireFresh(old.role.header, file: file)
                return false
            }
            let (newSnapshot, oldSnapshot) = (new.role.snapshot.version, old.role.snapshot.version)
            guard newSnapshot >= oldSnapshot else {
                throw TUFError(
                    .rollback, file,
                    "announces snapshot \(newSnapshot), snapshot \(oldSnapshot) was announced before")
            }
        }
        try requireFresh(new.role.header, file: file)
        timestamp = new
        return true
    }

    /// The description of the snapshot in the trusted timestamp.
    func snapshotFile() throws(TUFError) -> MetaFile {
        guard let timestamp else { throw TUFError(.missing, "timestamp.json", "is not loaded") }
        return timestamp.role.snapshot
    }

    // MARK: Snapshot

    /// Loads the stored snapshot. Returns whether it is the current one, so that no request is needed. An older or expired one
    /// only bounds the versions of the new one.
    mutating func load(snapshot bytes: [UInt8]) throws(TUFError) -> Bool {
        let expected = try snapshotFile()
        snapshot = try? verified(bytes, role: "snapshot", file: "snapshot.json")
        guard let snapshot, snapshot.role.version == expected.version,
            snapshot.role.header.expires > now
        else { return false }
        do throws(TUFError) { try expected.require(bytes, file: "snapshot.json") } catch { return false }
        return true
    }

    /// Accepts a snapshot (5.5.2 to 5.5.6).
    mutating func update(snapshot bytes: [UInt8], file: String) throws(TUFError) {
        let expected = try snapshotFile()
        try expected.require(bytes, file: file)
        let new: SignedMetadata<SnapshotMetadata> = try verified(bytes, role: "snapshot", file: file)
        try requireVersion(new.role.header, expected.version, file: file, announcedBy: "timestamp")
        for (name, old) in snapshot?.role.files ?? [:] {
            guard let now = new.role.files[name] else {
                throw TUFError(.rollback, file, "no longer lists \(name)")
            }
            guard now.version >= old.version else {
                throw TUFError(
                    .rollback, file,
                    "lists version \(now.version) of \(name), version \(old.version) was accepted before")
            }
        }
        try requireFresh(new.role.header, file: file)
        snapshot = new
    }

    /// Returns the description of a role's metadata in the trusted snapshot.
    func file(of role: String) throws(TUFError) -> MetaFile {
        guard let file = snapshot?.role.files["\(role).json"] else {
            throw TUFError(.missing, "\(role).json", "is not listed in the snapshot")
        }
        return file
    }

    // MARK: Targets

    /// The metadata of a role that was loaded and that this delegator trusts; nil if it was not loaded yet.
    mutating func metadata(of delegation: Delegation) throws(TUFError) -> TargetsMetadata? {
        guard let metadata = roles[delegation.role] else { return nil }
        if !verifiedDelegations.contains(delegation) {
            try requireThreshold(metadata, delegation, file: "\(delegation.role).json")
            verifiedDelegations.insert(delegation)
        }
        return metadata.role
    }

    /// Loads stored metadata of a targets role. Returns whether it is current, so that no request is needed.
    mutating func load(_ bytes: [UInt8], of delegation: Delegation) -> Bool {
        do throws(TUFError) {
            try update(bytes, of: delegation, file: "\(delegation.role).json")
            return true
        } catch {
            return false
        }
    }

    /// Accepts metadata of a targets role (5.6.2 to 5.6.5).
    mutating func update(_ bytes: [UInt8], of delegation: Delegation, file: String) throws(TUFError) {
        let expected = try self.file(of: delegation.role)
        try expected.require(bytes, file: file)
        let new = try SignedMetadata<TargetsMetadata>(bytes, file: file)
        try requireThreshold(new, delegation, file: file)
        try requireVersion(new.role.header, expected.version, file: file, announcedBy: "snapshot")
        try requireFresh(new.role.header, file: file)
        roles[delegation.role] = new
        verifiedDelegations.insert(delegation)
    }

    private func requireThreshold(
        _ metadata: SignedMetadata<TargetsMetadata>, _ delegation: Delegation, file: String
    ) throws(TUFError) {
        guard let delegator = delegation.delegator else {
            return try metadata.requireThreshold(
                of: root.role.keys(of: delegation.role), in: root.role.keys,
                authority: "root \(root.role.version)", file: file)
        }
        guard let delegations = roles[delegator]?.role.delegations,
            let keys = delegations.keys(of: delegation.role)
        else { throw TUFError(.unsigned, file, "\(delegator) does not delegate to it") }
        try metadata.requireThreshold(of: keys, in: delegations.keys, authority: delegator, file: file)
    }

    // MARK: Checks

    /// Reads metadata of a top-level role, signed as the root demands.
    private func verified<Role>(
        _ bytes: [UInt8], role: String, file: String
    ) throws(TUFError) -> SignedMetadata<Role> {
        let metadata = try SignedMetadata<Role>(bytes, file: file)
        try metadata.requireThreshold(
            of: root.role.keys(of: role), in: root.role.keys, authority: "root \(root.role.version)",
            file: file)
        return metadata
    }

    private func requireVersion(
        _ header: MetadataHeader, _ version: Int, file: String, announcedBy role: String
    ) throws(TUFError) {
        guard header.version == version else {
            throw TUFError(
                .mismatch, file, "is version \(header.version), but the \(role) announces \(version)")
        }
    }

    private func requireFresh(_ header: MetadataHeader, file: String) throws(TUFError) {
        guard header.expires > now else {
            throw TUFError(.expired, file, "version \(header.version) expired at \(header.expiryText)")
        }
    }
}
