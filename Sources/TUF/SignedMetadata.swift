package import Digest
internal import Web

/// The signed part of a metadata file.
package protocol RoleMetadata: Sendable, Equatable {
    /// The value of `_type`.
    static var type: String { get }
    var header: MetadataHeader { get set }

    /// Reads the members of the role except those of the header.
    init(_ node: MetadataNode, header: MetadataHeader) throws(TUFError)

    /// The members except those of the header.
    var roleMembers: [String: CanonicalJSON] { get }
    /// The names of `roleMembers`.
    static var memberNames: Set<String> { get }
}

extension RoleMetadata {
    /// The version, at least 1.
    package var version: Int { header.version }

    package var json: CanonicalJSON {
        .object(header.members(type: Self.type).merging(roleMembers) { $1 })
    }
}

/// The members that all roles have.
package struct MetadataHeader: Sendable, Equatable {
    /// The version of the specification that new metadata is written for.
    static let currentSpecVersion = "1.0.37"
    /// Larger integers are not exact in JavaScript, and one more than the version must still be a version.
    private static let maxVersion = 1 << 53 - 1

    var specVersion: String
    package var version: Int
    /// The time of expiry in seconds since 1970.
    package var expires: Int64
    /// Unknown members.
    var others: [String: CanonicalJSON] = [:]

    package init(version: Int = 1, expires: Int64) {
        specVersion = Self.currentSpecVersion
        self.version = version
        self.expires = expires
    }

    init(_ node: MetadataNode, type: String, memberNames: Set<String>) throws(TUFError) {
        let foundType = try node.member("_type").string()
        // Otherwise keys of two roles could pass one role's metadata off as the other's.
        guard foundType == type else {
            throw node.error("is \"\(foundType)\" metadata, expected \"\(type)\"")
        }
        specVersion = try node.member("spec_version").string()
        // Section 4.3 leaves the comparison to the client. Versions with the same first number are compatible.
        guard specVersion.hasPrefix("1.") else {
            throw node.error("follows version \(specVersion) of the specification, expected 1.x")
        }
        let versionNode = try node.member("version")
        version = try versionNode.integer(atLeast: 1)
        guard version <= Self.maxVersion else { throw versionNode.error("is over \(Self.maxVersion)") }
        expires = try Self.time(node.member("expires"))
        others = try node.others(than: "_type", "spec_version", "version", "expires")
            .filter { !memberNames.contains($0.key) }
    }

    /// Reads `YYYY-MM-DDTHH:MM:SSZ`, the only format of section 4.2.3.
    private static func time(_ node: MetadataNode) throws(TUFError) -> Int64 {
        let text = try node.string()
        guard text.utf8.count == "1985-10-21T01:21:00Z".utf8.count, let date = HTTPDate(iso8601: text),
            date.iso8601 == text
        else { throw node.error("expected a time such as 1985-10-21T01:21:00Z") }
        return date.secondsSinceEpoch
    }

    /// The time of expiry: `1985-10-21T01:21:00Z`.
    var expiryText: String { HTTPDate(secondsSinceEpoch: expires).iso8601 }

    func members(type: String) -> [String: CanonicalJSON] {
        others.merging([
            "_type": .string(type), "spec_version": .string(specVersion), "version": .integer(version),
            "expires": .string(expiryText),
        ]) { $1 }
    }
}

/// A signature in a metadata file.
package struct TUFSignature: Sendable, Equatable {
    package let keyID: String
    /// The signature in hexadecimal digits. Repositories also leave it empty for a key that has not signed yet.
    package let text: String

    package init(keyID: String, bytes: [UInt8]) {
        self.keyID = keyID
        text = Hex.encode(bytes)
    }

    init(_ node: MetadataNode) throws(TUFError) {
        keyID = try node.member("keyid").string()
        text = try node.member("sig").string()
    }
}

/// A metadata file: a role with its signatures. Reading one verifies nothing; see `requireThreshold`.
package struct SignedMetadata<Role: RoleMetadata>: Sendable, Equatable {
    package let role: Role
    package private(set) var signatures: [TUFSignature]
    /// The bytes that are signed: the canonical form of the role, with all members.
    package let signedBytes: [UInt8]

    /// Creates metadata without signatures.
    package init(_ role: Role) {
        self.role = role
        signatures = []
        signedBytes = role.json.bytes
    }

    /// Reads a metadata file.
    ///
    /// - Parameter file: the name for errors.
    package init(_ bytes: [UInt8], file: String) throws(TUFError) {
        let root = MetadataNode(try CanonicalJSON(bytes, file: file), file: file, path: "the file")
        let signed = MetadataNode(try root.member("signed").value, file: file)
        let list = try root.member("signatures").elements()
        guard list.count <= TUFLimits.maxSignatures else {
            throw root.error("over \(TUFLimits.maxSignatures) signatures")
        }
        signatures = []
        var seen: Set<String> = []
        for node in list {
            let signature = try TUFSignature(node)
            // Section 4.2.1: the key id must be unique in the array.
            guard seen.insert(signature.keyID).inserted else {
                throw node.error("has a second signature by key \(signature.keyID)")
            }
            signatures.append(signature)
        }
        let header = try MetadataHeader(signed, type: Role.type, memberNames: Role.memberNames)
        role = try Role(signed, header: header)
        signedBytes = signed.value.bytes
    }

    /// Adds a signature, in place of an earlier one by the same key.
    package mutating func add(_ signature: TUFSignature) {
        signatures.removeAll { $0.keyID == signature.keyID }
        signatures.append(signature)
    }

    /// Signs with an Ed25519 key.
    package mutating func sign(with key: Ed25519PrivateKey) {
        add(TUFSignature(keyID: TUFKey(key.publicKey).id, bytes: key.sign(signedBytes)))
    }

    /// The metadata file.
    package func fileBytes(_ style: FileStyle = .pretty) -> [UInt8] {
        let list = signatures.map { signature -> CanonicalJSON in
            .object(["keyid": .string(signature.keyID), "sig": .string(signature.text)])
        }
        var writer = JSONWriter(style == .pretty ? .pretty : .compact)
        writer.value(CanonicalJSON.object(["signatures": .array(list), "signed": role.json]))
        return writer.bytes + [0x0A]
    }

    /// The layout of a file.
    package enum FileStyle: Sendable { case pretty, compact }

    /// The ids of the role's keys with a valid signature.
    ///
    /// The same public key counts once, even if it has several ids because of other members: a threshold is a number of
    /// people who agree, not of names for their keys.
    func validKeyIDs(of keys: RoleKeys, in table: KeyTable) -> [String] {
        var valid: [String] = []
        var publicTexts: Set<String> = []
        for signature in signatures where keys.keyIDs.contains(signature.keyID) {
            guard let key = table[signature.keyID], let text = key.publicText,
                let bytes = Hex.decode(signature.text), !bytes.isEmpty,
                key.verifies(bytes, of: signedBytes), publicTexts.insert(text).inserted
            else { continue }
            valid.append(signature.keyID)
        }
        return valid
    }

    /// Throws unless at least the threshold of the role's keys signed the metadata.
    ///
    /// - Parameter authority: the metadata that names the keys, for the error: "the trusted root".
    func requireThreshold(
        of keys: RoleKeys, in table: KeyTable, authority: String, file: String
    ) throws(TUFError) {
        let count = validKeyIDs(of: keys, in: table).count
        guard count >= keys.threshold else {
            throw TUFError(
                .unsigned, file,
                "has \(count) valid signatures by the keys of \(authority), which requires \(keys.threshold)")
        }
    }
}
