/// A digest from the header fields of a response. Its algorithm may be one that Larder does not support.
package struct FieldDigest: Sendable, Hashable {
    /// The name in the registry of RFC 9530, in lower case: `sha-256`, `sha-512`, `md5`, `sha`.
    package let algorithm: String
    package let bytes: [UInt8]

    package init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// The members of a `Repr-Digest` or `Content-Digest` (RFC 9530) that are byte sequences. Empty if the
    /// field is not a structured dictionary: RFC 9651, section 4.2, ignores such a field as a whole.
    package static func parseStructured(_ text: String) -> [FieldDigest] {
        guard let members = StructuredDictionary(text)?.members else { return [] }
        return members.compactMap { member in
            guard case .item(.bytes(let bytes)) = member.value else { return nil }
            return FieldDigest(algorithm: member.key, bytes: bytes)
        }
    }

    /// The digests of a `Digest` field (RFC 3230) whose values are base64.
    package static func parseLegacy(_ text: String) -> [FieldDigest] {
        text.utf8.split(separator: 0x2C).compactMap { element in
            let element = HTTPGrammar.trimmed(element)
            guard let equals = element.firstIndex(of: 0x3D) else { return nil }
            let name = element[..<equals]
            let value = element[element.index(after: equals)...]
            guard HTTPGrammar.isToken(name), !value.isEmpty,
                let bytes = Base64.decodeForgiving(value, skippingSpace: false)
            else { return nil }
            return FieldDigest(algorithm: HTTPGrammar.lowercased(name), bytes: bytes)
        }
    }

    /// The digest of a `Content-MD5` field (RFC 1864); nil unless it has 16 bytes.
    package static func parseContentMD5(_ text: String) -> FieldDigest? {
        guard let bytes = Base64.decodeForgiving(text), bytes.count == 16 else { return nil }
        return FieldDigest(algorithm: "md5", bytes: bytes)
    }

    /// The digest as a member of `Repr-Digest`: `sha-256=:…:`.
    package var text: String { "\(algorithm)=:\(Base64.encode(bytes)):" }
}
