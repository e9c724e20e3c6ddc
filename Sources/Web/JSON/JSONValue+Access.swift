extension JSONValue {
    package var isNull: Bool { content == .null }

    package var bool: Bool? {
        if case .bool(let value) = content { value } else { nil }
    }

    package var number: JSONNumber? {
        if case .number(let value) = content { value } else { nil }
    }

    package var int: Int? { number?.int }

    package var double: Double? { number?.double }

    package var string: String? {
        if case .string(let value) = content { value } else { nil }
    }

    package var array: [JSONValue]? {
        if case .array(let value) = content { value } else { nil }
    }

    /// The members of an object in the order of the source, repeated keys included.
    package var members: [Member]? {
        if case .object(let value) = content { value } else { nil }
    }

    /// The value of a key; of a repeated key the last one, as in JavaScript. Looks through the members one by one.
    package subscript(key: String) -> JSONValue? {
        members?.last { $0.key == key }?.value
    }

    /// The element of an array; nil when there is none.
    package subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }

    /// The members of this object whose key stood there already, in order.
    package var duplicateMembers: [Member] {
        var seen: Set<String> = []
        return (members ?? []).filter { !seen.insert($0.key).inserted }
    }

    /// What this is, for a sentence such as "expected a string, found an array".
    package var kindName: String {
        switch content {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
