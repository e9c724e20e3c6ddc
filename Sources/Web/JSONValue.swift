// Converting a Double to an integer calls functions of libm, which the linker adds only because of this import.
internal import Glibc

/// A JSON value whose nodes know their positions in the source.
///
/// Two values are equal if their contents are, wherever they are in the source. Members of objects are
/// compared in order, and numbers as text: `1` and `1.0` are not equal.
package struct JSONValue: Sendable, Equatable {
    /// The content of a value, without its position.
    package enum Content: Sendable, Equatable {
        case null
        case bool(Bool)
        case number(JSONNumber)
        case string(String)
        case array([JSONValue])
        case object([Member])
    }

    /// A member `"key": value` of an object.
    package struct Member: Sendable, Equatable {
        package let key: String
        package let value: JSONValue
        private let keyStart: UInt32

        init(key: String, keyStart: Int, value: JSONValue) {
            self.key = key
            self.keyStart = UInt32(truncatingIfNeeded: keyStart)
            self.value = value
        }

        /// The offset of the key's opening quote in the source.
        package var keyOffset: Int { Int(keyStart) }

        package static func == (left: Member, right: Member) -> Bool {
            left.key == right.key && left.value == right.value
        }
    }

    package let content: Content
    // 32 bits are enough, because `JSONLimits.byteCount` is at most `UInt32.max`.
    private let start: UInt32
    private let end: UInt32

    init(_ content: Content, range: Range<Int>) {
        self.content = content
        start = UInt32(truncatingIfNeeded: range.lowerBound)
        end = UInt32(truncatingIfNeeded: range.upperBound)
    }

    /// The range of this node in the source, in bytes. The range of a string includes its quotes.
    package var range: Range<Int> { Int(start)..<Int(end) }

    /// The range between the quotes of a string, to replace its text; nil for other values.
    package var stringRange: Range<Int>? {
        guard case .string = content else { return nil }
        return Int(start) + 1..<Int(end) - 1
    }

    package static func == (left: JSONValue, right: JSONValue) -> Bool { left.content == right.content }

    /// Parses a JSON text (RFC 8259). Allows a byte order mark. A lone surrogate escape and malformed UTF-8
    /// in a string become U+FFFD. Takes linear time.
    package static func parse(
        _ source: Span<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        try source.withUnsafeBufferPointer { bytes throws(JSONError) in
            var parser = JSONParser(bytes, limits: limits)
            return try parser.parseText()
        }
    }
}

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

    /// The members of an object in the order of the source, including repeated keys.
    package var members: [Member]? {
        if case .object(let value) = content { value } else { nil }
    }

    /// The value of a key; for a repeated key the last one, as in JavaScript. Takes time linear in the number
    /// of members.
    package subscript(key: String) -> JSONValue? {
        members?.last { $0.key == key }?.value
    }

    /// The element of an array; nil if there is none.
    package subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }

    /// The members of this object whose key also occurs earlier, in order.
    package var duplicateMembers: [Member] {
        var seen: Set<String> = []
        return (members ?? []).filter { !seen.insert($0.key).inserted }
    }

    /// The type for a sentence such as "expected a string, found an array", with an article except for null.
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

/// A JSON number as it was written. It is rounded only when it is converted to a `Double`.
package struct JSONNumber: Sendable, Hashable {
    package let text: String

    init(text: String) { self.text = text }

    /// The exact integer, also for `2.0` and `1e3`; nil if there is a fraction or an overflow.
    package var int: Int? {
        if let exact = Int(text) { return exact }
        // Above 2^53, a Double cannot distinguish adjacent integers.
        guard let double, abs(double) <= 9_007_199_254_740_992 else { return nil }
        return Int(exactly: double)
    }

    /// The nearest `Double`; nil if the number is outside its range.
    package var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }
}
