/// A JSON text as a tree in which each node knows where it stands in the source.
///
/// Two values are equal when they say the same, wherever they stand; members of objects are compared in order.
package struct JSONValue: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case null
        case bool(Bool)
        case number(JSONNumber)
        case string(String)
        case array([JSONValue])
        case object([Member])
    }

    /// One `"key": value` of an object.
    package struct Member: Sendable, Equatable {
        package let key: String
        package let value: JSONValue
        private let keyStart: UInt32

        init(key: String, keyStart: Int, value: JSONValue) {
            self.key = key
            self.keyStart = UInt32(truncatingIfNeeded: keyStart)
            self.value = value
        }

        /// Where the key's opening quote stands.
        package var keyOffset: Int { Int(keyStart) }

        package static func == (left: Member, right: Member) -> Bool {
            left.key == right.key && left.value == right.value
        }
    }

    package let content: Content
    private let start: UInt32
    private let end: UInt32

    init(_ content: Content, range: Range<Int>) {
        self.content = content
        start = UInt32(truncatingIfNeeded: range.lowerBound)
        end = UInt32(truncatingIfNeeded: range.upperBound)
    }

    /// The bytes of this node in the source; a string's range includes its quotes.
    package var range: Range<Int> { Int(start)..<Int(end) }

    /// Between the quotes of a string: what a splice would replace. Nil for what is no string.
    package var stringRange: Range<Int>? {
        guard case .string = content else { return nil }
        return Int(start) + 1..<Int(end) - 1
    }

    package static func == (left: JSONValue, right: JSONValue) -> Bool { left.content == right.content }

    /// Reads one JSON text (RFC 8259), a byte order mark allowed before it. A lone surrogate escape and malformed UTF-8
    /// inside a string become U+FFFD. Takes time linear in the text.
    package static func parse(
        _ source: Span<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        try source.withUnsafeBufferPointer { bytes throws(JSONError) in
            var parser = JSONParser(bytes, limits: limits)
            return try parser.parseText()
        }
    }
}
