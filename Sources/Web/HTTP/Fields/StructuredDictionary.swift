/// A dictionary of RFC 9651, section 3.2. Parameters are read but not kept.
package struct StructuredDictionary: Sendable, Equatable {
    package enum Item: Sendable, Equatable {
        case integer(Int)
        /// With up to three digits behind the point, as written.
        case decimal(String)
        case string(String)
        case token(String)
        case bytes([UInt8])
        case boolean(Bool)
        case date(Int)
        case displayString(String)
    }

    package enum Value: Sendable, Equatable {
        case item(Item)
        case list([Item])
    }

    package struct Member: Sendable, Equatable {
        package let key: String
        package let value: Value
    }

    /// Each key once, its last value at the place of its first.
    package let members: [Member]

    /// Nil when any part of the text is malformed, as the standard demands. Several fields of one name are joined first.
    package init?(_ text: String) {
        var parser = StructuredFieldParser(text)
        guard let members = parser.dictionary() else { return nil }
        self.members = members
    }

    package subscript(key: String) -> Value? {
        members.first { $0.key == key }?.value
    }
}
