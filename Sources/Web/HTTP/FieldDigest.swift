/// One digest that a response carries in its fields. Whether the algorithm is known is the reader's to say.
package struct FieldDigest: Sendable, Hashable {
    /// As the registry of RFC 9530 has it, in lower case: `sha-256`, `sha-512`, `md5`, `sha`.
    package let algorithm: String
    package let bytes: [UInt8]

    package init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// The members of a `Repr-Digest` or `Content-Digest` (RFC 9530) that are byte sequences. Empty when the
    /// field is no structured dictionary: such a field is ignored as a whole (RFC 9651, section 4.2).
    package static func structured(_ text: String) -> [FieldDigest] {
        guard let members = StructuredDictionary(text)?.members else { return [] }
        return members.compactMap { member in
            guard case .item(.bytes(let bytes)) = member.value else { return nil }
            return FieldDigest(algorithm: member.key, bytes: bytes)
        }
    }

    /// The instances of RFC 3230's `Digest` whose value is base64.
    package static func legacy(_ text: String) -> [FieldDigest] {
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

    /// RFC 1864's `Content-MD5`; nil unless it holds sixteen bytes.
    package static func contentMD5(_ text: String) -> FieldDigest? {
        guard let bytes = Base64.decodeForgiving(text), bytes.count == 16 else { return nil }
        return FieldDigest(algorithm: "md5", bytes: bytes)
    }

    /// `sha-256=:…:`, one member of a `Repr-Digest`.
    package var text: String { "\(algorithm)=:\(Base64.encode(bytes)):" }
}
