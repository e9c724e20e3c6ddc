import Digest
import TUF
import Testing
import Web

/// A repository in memory, whose metadata can be changed in any way, also wrong ones.
struct TestRepository {
    /// The private keys of each role. The first ones of all roles differ.
    var keys: [String: [Ed25519PrivateKey]] = [:]
    /// The files that the server has, by their names.
    var files: [String: [UInt8]] = [:]
    var root: RootMetadata
    var targets: TargetsMetadata
    var snapshot: SnapshotMetadata
    var timestamp: TimestampMetadata
    /// Delegated roles by their names.
    var delegated: [String: TargetsMetadata] = [:]
    /// Whether snapshot and timestamp contain lengths and digests.
    var hasHashes = false

    /// The time at which all updates start, unless a test names another one.
    static let now: Int64 = 1_800_000_000
    static let later = now + 1_000_000

    static func key(_ number: UInt8) throws -> Ed25519PrivateKey {
        try #require(Ed25519PrivateKey(seed: [UInt8](repeating: number, count: 32)))
    }

    init() throws {
        var roles: [String: RoleKeys] = [:]
        var table = KeyTable()
        for (number, role) in ["root", "timestamp", "snapshot", "targets"].enumerated() {
            let key = try Self.key(UInt8(number + 1))
            keys[role] = [key]
            table.insert(TUFKey(key.publicKey))
            roles[role] = RoleKeys(keyIDs: [TUFKey(key.publicKey).id], threshold: 1)
        }
        let header = MetadataHeader(version: 1, expires: Self.later)
        root = RootMetadata(header: header, keys: table, roles: roles)
        targets = TargetsMetadata(header: header)
        snapshot = SnapshotMetadata(header: header, files: ["targets.json": MetaFile(version: 1)])
        timestamp = TimestampMetadata(header: header, snapshot: MetaFile(version: 1))
        publishRoot()
        publish()
    }

    /// The file of metadata, signed by the keys of a role.
    func signed<Role: RoleMetadata>(_ role: Role, by names: [String]) -> [UInt8] {
        var metadata = SignedMetadata(role)
        for name in names { for key in keys[name] ?? [] { metadata.sign(with: key) } }
        return metadata.fileBytes()
    }

    /// Publishes the root under its version.
    mutating func publishRoot(by names: [String] = ["root"]) {
        files["\(root.version).root.json"] = signed(root, by: names)
    }

    /// Gives a role other keys in the next version of the root, signed by the old and new keys.
    mutating func rotate(_ role: String, to numbers: [UInt8], threshold: Int = 1) throws {
        let old = keys[role] ?? []
        keys[role] = try numbers.map { try Self.key($0) }
        for key in keys[role] ?? [] { root.keys.insert(TUFKey(key.publicKey)) }
        root.roles[role] = RoleKeys(
            keyIDs: (keys[role] ?? []).map { TUFKey($0.publicKey).id }, threshold: threshold)
        root.header.version += 1
        keys["old"] = old
        publishRoot(by: role == "root" ? ["root", "old"] : ["root"])
    }

    /// Publishes all other metadata, with the versions and digests that belong together.
    mutating func publish() {
        for (name, role) in delegated {
            let bytes = signed(role, by: [name])
            snapshot.files["\(name).json"] = metaFile(role.version, bytes)
            put(bytes, name, role.version)
        }
        let targetsBytes = signed(targets, by: ["targets"])
        snapshot.files["targets.json"] = metaFile(targets.version, targetsBytes)
        put(targetsBytes, "targets", targets.version)
        publishSnapshot()
    }

    mutating func publishSnapshot() {
        let bytes = signed(snapshot, by: ["snapshot"])
        timestamp.snapshot = metaFile(snapshot.version, bytes)
        put(bytes, "snapshot", snapshot.version)
        publishTimestamp()
    }

    mutating func publishTimestamp() { files["timestamp.json"] = signed(timestamp, by: ["timestamp"]) }

    private func metaFile(_ version: Int, _ bytes: [UInt8]) -> MetaFile {
        guard hasHashes else { return MetaFile(version: version) }
        return MetaFile(
            version: version, byteCount: bytes.count,
            hashes: FileHashes([DigestStream.digest(.sha256, of: bytes.span)]))
    }

    private mutating func put(_ bytes: [UInt8], _ role: String, _ version: Int) {
        files[root.usesConsistentSnapshots ? "\(version).\(role).json" : "\(role).json"] = bytes
    }

    /// Raises the versions of targets, snapshot and timestamp, and publishes them.
    mutating func publishNext() {
        targets.header.version += 1
        snapshot.header.version += 1
        timestamp.header.version += 1
        publish()
    }

    mutating func add(_ path: String, _ content: String, to role: String = "targets") {
        let bytes = Array(content.utf8)
        let file = TargetFile(
            byteCount: bytes.count, hashes: FileHashes([DigestStream.digest(.sha256, of: bytes.span)]))
        if role == "targets" { targets.targets[path] = file } else { delegated[role]?.targets[path] = file }
    }

    /// Delegates from one role to another, after its other delegations.
    mutating func delegate(
        _ role: String, from delegator: String = "targets", paths: [String] = ["*"],
        isTerminating: Bool = false
    ) throws {
        let key = try keys[role]?.first ?? Self.key(UInt8(100 + delegated.count))
        keys[role] = [key]
        let publicKey = TUFKey(key.publicKey)
        if delegated[role] == nil {
            delegated[role] = TargetsMetadata(header: MetadataHeader(version: 1, expires: Self.later))
        }
        let new = DelegatedRole(
            name: role, keys: RoleKeys(keyIDs: [publicKey.id], threshold: 1), scope: .paths(paths),
            isTerminating: isTerminating)
        change(delegator) { metadata in
            var delegations = metadata.delegations ?? Delegations(keys: KeyTable(), roles: [])
            delegations.keys.insert(publicKey)
            if case .listed(let roles) = delegations.roles { delegations.roles = .listed(roles + [new]) }
            metadata.delegations = delegations
        }
    }

    mutating func change(_ role: String, _ body: (inout TargetsMetadata) -> Void) {
        if role == "targets" {
            body(&targets)
        } else if var metadata = delegated[role] {
            body(&metadata)
            delegated[role] = metadata
        }
    }
}

/// A client with its stored metadata, which it keeps from update to update.
struct TestClient {
    var stored: [String: [UInt8]]
    /// The names of the files that the last update asked the server for.
    private(set) var requests: [String] = []
    var limits = TUFLimits()

    init(_ repository: TestRepository) {
        stored = ["root.json": repository.files["1.root.json"] ?? []]
    }

    /// Updates the metadata.
    @discardableResult
    mutating func refresh(
        _ repository: TestRepository, now: Int64 = TestRepository.now
    ) throws(TUFError) -> TUFClient {
        var client = TUFClient(now: now, limits: limits)
        requests = []
        try run(&client, repository)
        return client
    }

    /// Answers the requests of a client until it has no more.
    mutating func run(_ client: inout TUFClient, _ repository: TestRepository) throws(TUFError) {
        while let request = try client.nextRequest() {
            let bytes: [UInt8]?
            switch request.source {
            case .storage: bytes = stored[request.name]
            case .server:
                requests.append(request.name)
                bytes = repository.files[request.name]
            }
            for change in try client.receive(bytes.map { .bytes($0) } ?? .missing) {
                switch change {
                case .store(let name, let bytes): stored[name] = bytes
                case .remove(let name): stored[name] = nil
                }
            }
        }
    }

    /// Updates the metadata and looks for a target.
    mutating func find(_ path: String, _ repository: TestRepository) throws(TUFError) -> TUFTarget? {
        var client = try refresh(repository)
        client.find(path)
        try run(&client, repository)
        return client.target
    }

    /// The reason for which an update fails; nil if it succeeds.
    mutating func failure(
        _ repository: TestRepository, now: Int64 = TestRepository.now
    ) -> TUFError.Reason? {
        do throws(TUFError) {
            try refresh(repository, now: now)
            return nil
        } catch {
            return error.reason
        }
    }

    /// The version of a stored file; nil if it is not stored.
    func version(_ name: String) -> Int? {
        guard let bytes = stored[name + ".json"],
            case .object(let file)? = try? CanonicalJSON(bytes, file: name),
            case .object(let signed)? = file["signed"], case .integer(let digits)? = signed["version"]
        else { return nil }
        return Int(digits)
    }
}
