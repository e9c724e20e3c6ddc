/// The dictionary that a request offers: the values of `Available-Dictionary` and `Dictionary-ID` (RFC 9842, sections
/// 2.2 and 2.3).
package struct DictionaryOffer: Sendable, Equatable {
    package let sha256: [UInt8]
    /// The name that the server gave the dictionary; empty if it gave none. Only a hint: the digest decides.
    package let id: String

    package init(sha256: [UInt8], id: String) { (self.sha256, self.id) = (sha256, id) }

    /// Reads the fields of a request. Returns nil if it offers no dictionary, or more than one.
    package init?(_ fields: HTTPFields) {
        guard case .bytes(let digest)? = Self.item("Available-Dictionary", fields), digest.count == 32 else {
            return nil
        }
        sha256 = digest
        if case .string(let text)? = Self.item("Dictionary-ID", fields),
            text.utf8.count <= DictionaryRule.maxIDCharacters
        {
            id = text
        } else {
            id = ""
        }
    }

    /// The fields of a request.
    package var fields: HTTPFields {
        var fields: HTTPFields = ["Available-Dictionary": StructuredDictionary.Item.bytes(sha256).text]
        if !id.isEmpty { fields.append("Dictionary-ID", StructuredDictionary.Item.string(id).text) }
        return fields
    }

    /// The names of these fields. They are about one request: they are not forwarded, and do not select variants.
    package static let fieldNames = ["Available-Dictionary", "Dictionary-ID"]

    /// The item that is the whole value of a field. An item is the value of a member of a structured dictionary.
    private static func item(_ name: String, _ fields: HTTPFields) -> StructuredDictionary.Item? {
        guard let value = fields.joinedValues(name),
            let members = StructuredDictionary("item=" + value)?.members,
            members.count == 1, case .item(let item)? = members.first?.value
        else { return nil }
        return item
    }
}
