/// A recursive descent parser for JSON. The caller must keep the buffer alive while this value is used.
struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: JSONLimits
    private var at = 0
    private var depth = 0
    private var valuesLeft: Int
    private var scratch: [UInt8] = []

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
        valuesLeft = limits.valueCount
    }

    mutating func parseText() throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.byteCount else {
            throw error("at most \(limits.byteCount) bytes", at: 0, found: "\(bytes.count) bytes")
        }
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { at = 3 }
        skipSpace()
        let value = try parseValue()
        skipSpace()
        guard at == bytes.count else { throw error("the end of the text") }
        return value
    }

    private mutating func parseValue() throws(JSONError) -> JSONValue {
        guard valuesLeft > 0 else {
            throw error("at most \(limits.valueCount) values", at: at, found: "one more")
        }
        valuesLeft -= 1
        let start = at
        let content: JSONValue.Content
        switch peek() {
        case 0x22: content = .string(try parseString())
        case 0x7B: content = .object(try parseObject())
        case 0x5B: content = .array(try parseArray())
        case 0x2D, 0x30...0x39: content = .number(try parseNumber())
        case 0x74: content = try parseWord("true", .bool(true))
        case 0x66: content = try parseWord("false", .bool(false))
        case 0x6E: content = try parseWord("null", .null)
        default: throw error("a value")
        }
        return JSONValue(content, range: start..<at)
    }

    private mutating func parseObject() throws(JSONError) -> [JSONValue.Member] {
        try descend()
        var members: [JSONValue.Member] = []
        skipSpace()
        if peek() == 0x7D {
            ascend()
            return members
        }
        while true {
            guard peek() == 0x22 else {
                throw error(members.isEmpty ? "a key in quotes or '}'" : "a key in quotes after ','")
            }
            let keyStart = at
            let key = try parseString()
            skipSpace()
            guard peek() == 0x3A else { throw error("':' after the key") }
            at += 1
            skipSpace()
            members.append(JSONValue.Member(key: key, keyStart: keyStart, value: try parseValue()))
            skipSpace()
            switch peek() {
            case 0x2C: at += 1
            case 0x7D:
                ascend()
                return members
            default: throw error("',' or '}' after a member")
            }
            skipSpace()
        }
    }

    private mutating func parseArray() throws(JSONError) -> [JSONValue] {
        try descend()
        var elements: [JSONValue] = []
        skipSpace()
        if peek() == 0x5D {
            ascend()
            return elements
        }
        while true {
            elements.append(try parseValue())
            skipSpace()
            switch peek() {
            case 0x2C: at += 1
            case 0x5D:
                ascend()
                return elements
            default: throw error("',' or ']' after an element")
            }
            skipSpace()
        }
    }

    private mutating func descend() throws(JSONError) {
        depth += 1
        guard depth <= limits.depth else {
            throw error("at most \(limits.depth) levels of nesting", at: at, found: "one more")
        }
        at += 1
    }

    private mutating func ascend() {
        depth -= 1
        at += 1
    }

    private mutating func parseWord(
        _ word: StaticString, _ content: JSONValue.Content
    ) throws(JSONError) -> JSONValue.Content {
        let length = word.utf8CodeUnitCount
        let matches =
            bytes.count - at >= length && (0..<length).allSatisfy { word.utf8Start[$0] == bytes[at + $0] }
        guard matches else { throw error("'\(word)'") }
        at += length
        return content
    }

    private mutating func parseNumber() throws(JSONError) -> JSONNumber {
        let start = at
        if peek() == 0x2D { at += 1 }
        if peek() == 0x30 {
            at += 1
            if isDigit(peek()) { throw error("a number without leading zeros") }
        } else {
            try skipDigits()
        }
        if peek() == 0x2E {
            at += 1
            try skipDigits()
        }
        if peek() == 0x65 || peek() == 0x45 {
            at += 1
            if peek() == 0x2B || peek() == 0x2D { at += 1 }
            try skipDigits()
        }
        return JSONNumber(text: text(start..<at))
    }

    private mutating func skipDigits() throws(JSONError) {
        guard isDigit(peek()) else { throw error("a digit") }
        repeat { at += 1 } while isDigit(peek())
    }

    /// Reads a string from its opening to its closing quote. Only strings with escapes need the scratch
    /// buffer.
    private mutating func parseString() throws(JSONError) -> String {
        let opening = at
        at += 1
        let start = at
        while at < bytes.count {
            let byte = bytes[at]
            if byte == 0x22 {
                at += 1
                return text(start..<at - 1)
            }
            if byte == 0x5C || byte < 0x20 { break }
            at += 1
        }
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<at]))
        while at < bytes.count {
            let byte = bytes[at]
            switch byte {
            case 0x22:
                at += 1
                return String(decoding: scratch, as: UTF8.self)
            case 0x5C: try parseEscape()
            case 0..<0x20: throw error("a control character inside a string written as an escape")
            default:
                scratch.append(byte)
                at += 1
            }
        }
        throw error("'\"' to end the string", at: opening, found: "a string without an end")
    }

    private mutating func parseEscape() throws(JSONError) {
        at += 1
        let plain: UInt8
        switch peek() {
        case 0x22, 0x5C, 0x2F: plain = bytes[at]
        case 0x62: plain = 0x08
        case 0x66: plain = 0x0C
        case 0x6E: plain = 0x0A
        case 0x72: plain = 0x0D
        case 0x74: plain = 0x09
        case 0x75:
            at += 1
            try parseUnicodeEscape()
            return
        default: throw error("one of \"\\/bfnrtu after '\\'")
        }
        scratch.append(plain)
        at += 1
    }

    /// Reads the four digits after `\u`, and the second half of a surrogate pair if it follows.
    private mutating func parseUnicodeEscape() throws(JSONError) {
        let unit = try parseFourHexDigits()
        var scalar = Unicode.Scalar(unit)
        if unit & 0xFC00 == 0xD800, peek() == 0x5C, at + 1 < bytes.count, bytes[at + 1] == 0x75 {
            let rewind = at
            at += 2
            let second = try parseFourHexDigits()
            if second & 0xFC00 == 0xDC00 {
                scalar = Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + second & 0x3FF)
            } else {
                at = rewind
            }
        }
        scratch.append(contentsOf: UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
    }

    private mutating func parseFourHexDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let byte = peek()
            let digit: Int
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x37
            case 0x61...0x66: digit = byte - 0x57
            default: throw error("four hexadecimal digits after '\\u'")
            }
            value = value << 4 | UInt32(digit)
            at += 1
        }
        return value
    }

    private mutating func skipSpace() {
        while at < bytes.count {
            switch bytes[at] {
            case 0x20, 0x0A, 0x0D, 0x09: at += 1
            default: return
            }
        }
    }

    /// The next byte, or -1 at the end.
    @inline(__always)
    private func peek() -> Int { at < bytes.count ? Int(bytes[at]) : -1 }

    @inline(__always)
    private func isDigit(_ byte: Int) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
    }

    private func error(_ expected: String) -> JSONError { error(expected, at: at, found: describeNext()) }

    private func error(_ expected: String, at offset: Int, found: String) -> JSONError {
        JSONError(
            offset: offset, position: TextPosition(of: offset, in: bytes.span),
            expected: expected, found: found)
    }

    private func describeNext() -> String {
        let byte = peek()
        switch byte {
        case -1: return "the end of the text"
        case 0x21...0x7E: return "'\(Unicode.Scalar(UInt8(byte)))'"
        case 0x20: return "a space"
        case 0x0A, 0x0D: return "the end of the line"
        case 0x80...0xFF: return "a character outside ASCII"
        default: return "a control character"
        }
    }
}

/// Limits on the resources that a JSON text may take. A text that exceeds one is rejected with a `JSONError`.
package struct JSONLimits: Sendable, Equatable {
    /// The maximum depth of nested arrays and objects. At most 4096, since parsing, comparing and freeing a
    /// tree are recursive.
    package var depth: Int
    /// The maximum length in bytes. At most `UInt32.max`, since the ranges of nodes have 32 bits.
    package var byteCount: Int
    /// The maximum number of values of all kinds. The tree of `[[],[],…]` takes many times the memory of its
    /// text.
    package var valueCount: Int

    package init(depth: Int = 512, byteCount: Int = 64 << 20, valueCount: Int = 4_000_000) {
        self.depth = min(depth, 4096)
        self.byteCount = min(byteCount, Int(UInt32.max))
        self.valueCount = valueCount
    }
}

/// The reason why a text is not valid JSON, with the position as a line and column.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The offset of the byte at which parsing stopped.
    package let offset: Int
    package let position: TextPosition
    /// The valid continuation, such as `"',' or '}' after a member"`.
    package let expected: String
    /// A description of the text at that offset.
    package let found: String

    package var line: Int { position.line }
    package var column: Int { position.column }

    package var description: String {
        "line \(position.line), column \(position.column): expected \(expected), found \(found)"
    }
}
