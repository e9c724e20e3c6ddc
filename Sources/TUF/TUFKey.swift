package import Digest
internal import Web

/// A public key in metadata, with its signature scheme.
///
/// Keys of unknown types and schemes are read and preserved, but verify nothing, so that a repository can introduce new
/// schemes beside those that its clients know.
package struct TUFKey: Sendable, Equatable {
    /// The key as in the metadata, with all members: its id is the digest of all of them.
    package let json: CanonicalJSON
    let keyType: String
    package let scheme: String
    /// The public key in the text form of its type: hexadecimal for Ed25519, else PEM; nil for unknown types without one.
    package let publicText: String?
    /// The key id: the SHA-256 of the canonical form in hexadecimal digits.
    package let id: String
    private let verifier: Verifier

    /// The schemes that section 4.2 of the specification defines.
    private enum Verifier: Sendable {
        case ed25519(Ed25519PublicKey)
        case ecdsa(PEMPublicKey)
        case rsaPSS(PEMPublicKey)
        /// An unknown scheme, or a malformed key.
        case none
    }

    init(_ node: MetadataNode) throws(TUFError) {
        json = node.value
        keyType = try node.member("keytype").string()
        scheme = try node.member("scheme").string()
        let keyValue = try node.member("keyval")
        _ = try keyValue.object()
        publicText = if case .string(let text)? = keyValue["public"]?.value { text } else { nil }
        id = DigestStream.digest(.sha256, of: json.bytes.span).hex
        verifier = Self.verifier(keyType, scheme, publicText ?? "")
    }

    /// Creates the metadata of an Ed25519 key.
    package init(_ key: Ed25519PublicKey) {
        let text = Hex.encode(key.bytes)
        (keyType, scheme, publicText) = ("ed25519", "ed25519", text)
        json = .object([
            "keytype": .string(keyType), "scheme": .string(scheme),
            "keyval": .object(["public": .string(text)]),
        ])
        id = DigestStream.digest(.sha256, of: json.bytes.span).hex
        verifier = .ed25519(key)
    }

    private static func verifier(_ keyType: String, _ scheme: String, _ text: String) -> Verifier {
        switch (keyType, scheme) {
        case ("ed25519", "ed25519"):
            return Hex.decode(text).flatMap { Ed25519PublicKey($0) }.map { .ed25519($0) } ?? .none
        // Earlier versions of the specification used the scheme's name for the type, and published root files still do.
        case ("ecdsa", "ecdsa-sha2-nistp256"), ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"):
            return PEMPublicKey(text).map { .ecdsa($0) } ?? .none
        case ("rsa", "rsassa-pss-sha256"):
            return PEMPublicKey(text).map { .rsaPSS($0) } ?? .none
        default:
            return .none
        }
    }

    /// Whether this client can verify signatures by the key.
    package var isSupported: Bool {
        if case .none = verifier { false } else { true }
    }

    /// Whether the signature is a valid signature of the message by this key.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch verifier {
        case .ed25519(let key): key.verifies(signature, of: message)
        case .ecdsa(let key): key.verifiesECDSAOnP256(signature, of: message)
        case .rsaPSS(let key): key.verifiesRSAPSS(signature, of: message)
        case .none: false
        }
    }

    package static func == (one: TUFKey, other: TUFKey) -> Bool { one.json == other.json }
}

/// The keys of metadata by their ids.
///
/// A key whose id is not the digest of its canonical form never counts (section 4.3: clients must calculate each key id).
/// The metadata is accepted all the same: published root files contain such keys beside enough valid ones.
package struct KeyTable: Sendable, Equatable {
    private var keys: [String: TUFKey] = [:]

    package init(_ keys: [TUFKey] = []) {
        for key in keys { self.keys[key.id] = key }
    }

    init(_ node: MetadataNode) throws(TUFError) {
        let members = try node.members()
        guard members.count <= TUFLimits.maxKeys else {
            throw node.error("over \(TUFLimits.maxKeys) keys")
        }
        for member in members { keys[member.name] = try TUFKey(member.node) }
    }

    /// The key with this id; nil if there is none, or if the id is wrong.
    package subscript(id: String) -> TUFKey? {
        guard let key = keys[id], key.id == id else { return nil }
        return key
    }

    package mutating func insert(_ key: TUFKey) { keys[key.id] = key }

    package mutating func remove(_ id: String) { keys[id] = nil }

    package var ids: [String] { keys.keys.sorted() }

    var json: CanonicalJSON { .object(keys.mapValues(\.json)) }
}

/// The keys that may sign a role's metadata, and how many of them must.
package struct RoleKeys: Sendable, Equatable {
    /// The ids of the keys, without duplicates.
    package var keyIDs: [String]
    /// The minimum number of different keys with a valid signature.
    package var threshold: Int
    private var others: [String: CanonicalJSON] = [:]

    package init(keyIDs: [String], threshold: Int) {
        self.keyIDs = keyIDs
        self.threshold = threshold
    }

    /// - Parameter known: further names of members that the caller reads.
    init(_ node: MetadataNode, known: Set<String> = []) throws(TUFError) {
        let ids = try node.member("keyids").strings()
        guard ids.count <= TUFLimits.maxKeys else { throw node.error("over \(TUFLimits.maxKeys) keys") }
        var seen: Set<String> = []
        keyIDs = ids.filter { seen.insert($0).inserted }
        threshold = try node.member("threshold").integer(atLeast: 1)
        others = try node.others(than: "keyids", "threshold").filter { !known.contains($0.key) }
    }

    var members: [String: CanonicalJSON] {
        others.merging(["keyids": .strings(keyIDs), "threshold": .integer(threshold)]) { $1 }
    }
}
