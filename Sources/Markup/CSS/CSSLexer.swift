/// Cuts a stylesheet into those tokens of CSS Syntax 3 that can matter for a link. All others are passed over, which is
/// why it is fast: between two marks it only looks bytes up in a table.
struct CSSLexer {
    enum Token: Equatable {
        /// Inside of the quotes.
        case string(Range<Int>)
        case badString
        /// Inside of `url(` and `)`, without white space at the ends.
        case url(Range<Int>)
        case badURL
        /// The name in front of `(`.
        case function(Range<Int>)
        /// The name behind `@`.
        case atKeyword(Range<Int>)
        /// `(`, `[` or `{`.
        case open(UInt8)
        /// `)`, `]` or `}`.
        case close(UInt8)
        case semicolon
        /// Inside of `/*` and `*/`.
        case comment(Range<Int>)
    }

    let bytes: Bytes
    var index = 0
    /// Where the last mark ended: a name does not reach further back.
    var lastEnd = 0
    /// Where the last token starts, with the name in front of its `(`.
    private(set) var tokenStart = 0

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    /// The next token, or nil at the end.
    mutating func next() -> Token? {
        let count = bytes.count
        lastEnd = index
        while true {
            while index < count, !Self.isMark(bytes[index]) { index &+= 1 }
            guard index < count else { return nil }
            let mark = bytes[index]
            tokenStart = index
            switch mark {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                return string(mark)
            case UInt8(ascii: "("):
                let name = nameBefore(index)
                index &+= 1
                return name.isEmpty ? .open(mark) : function(name)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                index &+= 1
                return .open(mark)
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                index &+= 1
                return .close(mark)
            case UInt8(ascii: ";"):
                index &+= 1
                return .semicolon
            case UInt8(ascii: "/"):
                index &+= 1
                if index < count, bytes[index] == UInt8(ascii: "*") { return comment() }
            case UInt8(ascii: "@"):
                index &+= 1
                let start = index
                if startsName(at: index) {
                    skipName()
                    return .atKeyword(start..<index)
                }
                lastEnd = index
            case UInt8(ascii: "#"):
                index &+= 1
                skipName()
                lastEnd = index
            default:
                if let name = escapedName() { return function(name) }
            }
        }
    }

    /// One of `"'()[]{};/@#\`.
    @inline(__always)
    private static func isMark(_ byte: UInt8) -> Bool {
        let low: UInt64 = 1 << 34 | 1 << 35 | 1 << 39 | 1 << 40 | 1 << 41 | 1 << 47 | 1 << 59
        let high: UInt64 = 1 << 0 | 1 << 27 | 1 << 28 | 1 << 29 | 1 << 59 | 1 << 61
        return byte < 128 && (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 != 0
    }

    private mutating func comment() -> Token {
        let start = index + 1
        var end = start
        while end < bytes.count {
            if bytes[end] == UInt8(ascii: "*"), end + 1 < bytes.count, bytes[end + 1] == UInt8(ascii: "/") {
                index = end + 2
                return .comment(start..<end)
            }
            end += 1
        }
        index = bytes.count
        return .comment(min(start, bytes.count)..<bytes.count)
    }

    private mutating func string(_ quote: UInt8) -> Token {
        index += 1
        let start = index
        while index < bytes.count {
            let byte = bytes[index]
            if byte == quote {
                index += 1
                return .string(start..<index - 1)
            }
            if byte == 0x0A || byte == 0x0D || byte == 0x0C { return .badString }
            // A backslash takes the next byte with it; of a line end of two bytes both.
            if byte == UInt8(ascii: "\\"), index + 1 < bytes.count {
                index += 1
                if bytes[index] == 0x0D, index + 1 < bytes.count, bytes[index + 1] == 0x0A { index += 1 }
            }
            index += 1
        }
        return .string(start..<bytes.count)
    }

    /// Behind the `(` of a function. `url(` without a quote takes everything up to its `)`.
    private mutating func function(_ name: Range<Int>) -> Token {
        tokenStart = name.lowerBound
        guard CSSText.name(bytes.part(name), equals: "url") else { return .function(name) }
        var start = index
        while start < bytes.count, bytes[start].isSpace { start += 1 }
        if start < bytes.count, bytes[start] == UInt8(ascii: "\"") || bytes[start] == UInt8(ascii: "'") {
            return .function(name)
        }
        index = start
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: ")"):
                index += 1
                return .url(start..<index - 1)
            case 0x20, 0x0A, 0x09, 0x0D, 0x0C:
                let end = index
                while index < bytes.count, bytes[index].isSpace { index += 1 }
                if index == bytes.count { return .url(start..<end) }
                guard bytes[index] == UInt8(ascii: ")") else { return badURL() }
                index += 1
                return .url(start..<end)
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "("), 0x01...0x08, 0x0B, 0x0E...0x1F, 0x7F:
                return badURL()
            case UInt8(ascii: "\\"):
                guard skipEscape() else { return badURL() }
            default:
                index += 1
            }
        }
        return .url(start..<bytes.count)
    }

    /// Up to the next `)` that is not escaped.
    private mutating func badURL() -> Token {
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: ")") {
                index += 1
                break
            }
            if bytes[index] != UInt8(ascii: "\\") || !skipEscape() { index += 1 }
        }
        return .badURL
    }
}
