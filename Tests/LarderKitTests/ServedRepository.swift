import Digest
import System
import TUF
import TestOrigin
import Testing

/// A TUF repository on a test origin, with the metadata below `/metadata/` and the targets below `/targets/`.
final class ServedRepository {
    let origin: TestOrigin
    private let keys: [Ed25519PrivateKey]
    private(set) var root: RootMetadata
    private var targets: TargetsMetadata
    private var snapshot: SnapshotMetadata
    private var timestamp: TimestampMetadata
    /// Whether the targets are also served under their plain names.
    var servesPlainNames = false
    private var contents: [String: String] = [:]

    init(_ origin: TestOrigin) throws {
        self.origin = origin
        keys = try (1...4).map { number in
            try #require(Ed25519PrivateKey(seed: [UInt8](repeating: UInt8(number), count: 32)))
        }
        let header = MetadataHeader(version: 1, expires: SystemClock.secondsSinceEpoch() + 86_400)
        let publicKeys = keys.map { TUFKey($0.publicKey) }
        var roles: [String: RoleKeys] = [:]
        for (name, key) in zip(["root", "timestamp", "snapshot", "targets"], publicKeys) {
            roles[name] = RoleKeys(keyIDs: [key.id], threshold: 1)
        }
        root = RootMetadata(header: header, keys: KeyTable(publicKeys), roles: roles)
        targets = TargetsMetadata(header: header)
        snapshot = SnapshotMetadata(header: header, files: ["targets.json": MetaFile(version: 1)])
        timestamp = TimestampMetadata(header: header, snapshot: MetaFile(version: 1))
    }

    /// The location for `preload`.
    var location: String { "tuf+" + origin.url("/metadata/") }

    /// The trusted root for clients.
    var rootText: String { String(decoding: signed(root, by: 0), as: UTF8.self) }

    /// Publishes new versions with these targets.
    func publish(_ contents: [String: String], expires: Int64? = nil) {
        self.contents = contents
        targets.targets = [:]
        for (path, content) in contents {
            let bytes = Array(content.utf8)
            let digest = DigestStream.digest(.sha256, of: bytes.span)
            let file = TargetFile(byteCount: bytes.count, hashes: FileHashes([digest]))
            targets.targets[path] = file
            let target = TUFTarget(path: path, file: file, role: "targets")
            serve(content, of: target, hasDigest: true)
            if servesPlainNames { serve(content, of: target, hasDigest: false) }
        }
        targets.header.version += 1
        snapshot.header.version += 1
        timestamp.header.version += 1
        if let expires { timestamp.header.expires = expires }
        snapshot.files["targets.json"] = MetaFile(version: targets.version)
        timestamp.snapshot = MetaFile(version: snapshot.version)
        put("\(targets.version).targets.json", signed(targets, by: 3))
        put("\(snapshot.version).snapshot.json", signed(snapshot, by: 2))
        put("timestamp.json", signed(timestamp, by: 1))
    }

    /// Publishes the next root, signed by the key of a role: 0 is the root itself.
    func publishNextRoot(signedBy key: Int = 0) {
        root.header.version += 1
        put("\(root.version).root.json", signed(root, by: key))
    }

    /// The published timestamp, to serve it again later.
    var timestampText: String { String(decoding: signed(timestamp, by: 1), as: UTF8.self) }

    func serveTimestamp(_ text: String) { put("timestamp.json", Array(text.utf8)) }

    /// Serves other content for a target than the metadata says.
    func spoil(_ path: String) {
        guard let file = targets.targets[path] else { return }
        serve("spoiled", of: TUFTarget(path: path, file: file, role: "targets"), hasDigest: true)
    }

    private func serve(_ content: String, of target: TUFTarget, hasDigest: Bool) {
        guard let reference = target.reference(hasDigest: hasDigest) else { return }
        origin.on("/targets/\(reference)", .file(content, type: "text/javascript"))
    }

    private func put(_ name: String, _ bytes: [UInt8]) {
        origin.on(
            "/metadata/\(name)", .file(String(decoding: bytes, as: UTF8.self), type: "application/json"))
    }

    private func signed<Role: RoleMetadata>(_ role: Role, by key: Int) -> [UInt8] {
        var metadata = SignedMetadata(role)
        metadata.sign(with: keys[key])
        return metadata.fileBytes()
    }
}
