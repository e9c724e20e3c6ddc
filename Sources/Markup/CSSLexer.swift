/// Splits a style sheet into those tokens of CSS Syntax 3 that matter for links. It skips all others quickly,
/// by looking up bytes in a table.
struct CSSLexer {
    /// A token that matters for links.
    enum Token: Equatable {
        /// The range excludes the quotes.
        case string(Range<Int>)
        /// A string that ends at a line break, before its closing quote.
        case badString
        /// The range between `url(` and `)`, without surrounding white space.
        case url(Range<Int>)
        /// An unquoted `url(` with bytes that it must not contain, up to its `)`.
        case badURL
        /// The name before `(`.
        case function(Range<Int>)
        /// The name after `@`.
        case atKeyword(Range<Int>)
        /// `(`, `[` or `{`.
        case open(UInt8)
        /// `)`, `]` or `}`.
        case close(UInt8)
        case semicolon
        /// The range between `/*` and `*/`.
        case comment(Range<Int>)
    }

    let bytes: Bytes
    private(set) var index = 0
    /// The earliest position where a name may start: after the last token, `#name`, `@` or name with an escape. Names are
    /// read backwards from their `(`, and stop here.
    private var nameLimit = 0
    /// The start of the last token, including the name before its `(`.
    private(set) var tokenStart = 0

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    /// Returns the next token, or nil at the end.
    mutating func next() -> Token? {
        let count = bytes.count
        nameLimit = index
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
                nameLimit = index
            case UInt8(ascii: "#"):
                index &+= 1
                skipName()
                nameLimit = index
            default:
                if let name = escapedName() { return function(name) }
            }
        }
    }

    /// Whether a byte is one of `"'()[]{};/@#\`.
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
            // A backslash escapes the next byte, or both bytes of a CRLF.
            if byte == UInt8(ascii: "\\"), index + 1 < bytes.count {
                index += 1
                if bytes[index] == 0x0D, index + 1 < bytes.count, bytes[index + 1] == 0x0A { index += 1 }
            }
            index += 1
        }
        return .string(start..<bytes.count)
    }

    /// Reads a function after its `(`. An unquoted `url(` includes everything up to its `)`.
    private mutating func function(_ name: Range<Int>) -> Token {
        tokenStart = name.lowerBound
        guard CSSText.isName(bytes.part(name), equalTo: "url") else { return .function(name) }
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
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "("), 0x01...0x08, 0x0B, 0x0E...0x1F,
                0x7F:
                return badURL()
            case UInt8(ascii: "\\"):
                guard skipEscape() else { return badURL() }
            default:
                index += 1
            }
        }
        return .url(start..<bytes.count)
    }

    /// Skips everything up to the next `)` that is not escaped.
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

    /// Whether a byte is part of a name: letters, digits, `-`, `_` and non-ASCII bytes. NUL counts as U+FFFD.
    @inline(__always)
    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            || byte >= 0x80
            || byte == 0
    }

    /// Returns the name that ends here. It is empty if the name cannot be that of a function: a name that
    /// starts like a number is the unit of a dimension.
    private func nameBefore(_ end: Int) -> Range<Int> {
        var start = end
        while start > nameLimit, Self.isNameByte(bytes[start - 1]) { start -= 1 }
        return startsName(at: start) && start < end ? start..<end : end..<end
    }

    /// Whether an identifier starts here.
    private func startsName(at start: Int) -> Bool {
        guard start < bytes.count else { return false }
        let byte = bytes[start]
        if byte == UInt8(ascii: "\\") { return isEscape(at: start) }
        if byte == UInt8(ascii: "-") {
            guard start + 1 < bytes.count else { return false }
            let next = bytes[start + 1]
            if next == UInt8(ascii: "-") { return true }
            return next == UInt8(ascii: "\\")
                ? isEscape(at: start + 1) : Self.isNameByte(next) && !next.isDigit
        }
        return Self.isNameByte(byte) && !byte.isDigit
    }

    /// Whether a backslash starts an escape, which it does not before a line end.
    private func isEscape(at start: Int) -> Bool {
        guard start + 1 < bytes.count else { return true }
        let next = bytes[start + 1]
        return next != 0x0A && next != 0x0D && next != 0x0C
    }

    /// Moves after an escape. Returns false if the backslash does not start one.
    private mutating func skipEscape() -> Bool {
        guard isEscape(at: index) else { return false }
        index += 1
        guard index < bytes.count else { return true }
        guard bytes[index].isHex else {
            index += 1
            return true
        }
        let end = min(index + 6, bytes.count)
        while index < end, bytes[index].isHex { index += 1 }
        if index < bytes.count, bytes[index].isSpace {
            index += bytes[index] == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
        }
        return true
    }

    private mutating func skipName() {
        while index < bytes.count {
            if Self.isNameByte(bytes[index]) {
                index += 1
            } else if bytes[index] != UInt8(ascii: "\\") || !skipEscape() {
                return
            }
        }
    }

    /// Reads a name with an escape; `index` is at its first backslash. Returns the name and moves after its `(` if it is
    /// that of a function.
    private mutating func escapedName() -> Range<Int>? {
        var start = index
        while start > nameLimit, Self.isNameByte(bytes[start - 1]) { start -= 1 }
        let isName = startsName(at: start)
        guard skipEscape() else {
            index += 1
            nameLimit = index
            return nil
        }
        skipName()
        let end = index
        nameLimit = index
        guard isName, index < bytes.count, bytes[index] == UInt8(ascii: "(") else { return nil }
        index += 1
        return start..<end
    }
}

/// The escapes of CSS Syntax 3.
enum CSSText {
    /// Decodes the escapes in the content of a string or of an unquoted `url()`.
    static func unescape(_ bytes: Bytes, isURL: Bool = false, into output: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 0 {
                output.append(codePoint: 0xFFFD)
            } else if byte != UInt8(ascii: "\\") || index == bytes.count {
                // A backslash at the end is ignored in a string and is U+FFFD elsewhere.
                if byte != UInt8(ascii: "\\") {
                    output.append(byte)
                } else if isURL {
                    output.append(codePoint: 0xFFFD)
                }
            } else if bytes[index] == 0x0A || bytes[index] == 0x0C {
                index += 1
            } else if bytes[index] == 0x0D {
                index += index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
            } else if bytes[index].isHex {
                output.append(codePoint: hexEscape(bytes, &index))
            } else if bytes[index] == 0 {
                output.append(codePoint: 0xFFFD)
                index += 1
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
    }

    /// Reads up to six hexadecimal digits and one white space after them.
    private static func hexEscape(_ bytes: Bytes, _ index: inout Int) -> UInt32 {
        let end = min(index + 6, bytes.count)
        var value: UInt32 = 0
        while index < end, bytes[index].isHex {
            value = value << 4 | bytes[index].hexValue
            index += 1
        }
        if index < bytes.count, bytes[index].isSpace {
            index += bytes[index] == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
        }
        return value == 0 ? 0xFFFD : value
    }

    /// Appends one byte of a link, escaped if necessary. `isURL` is true for a link in an unquoted `url()`, and false for
    /// one in quotes.
    static func escape(_ byte: UInt8, isURL: Bool, into output: inout [UInt8]) {
        switch byte {
        case 0..<0x20, 0x7F, UInt8(ascii: "<"):
            output.append(contentsOf: "\\\(String(byte, radix: 16)) ".utf8)
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"):
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        case UInt8(ascii: "("), UInt8(ascii: ")"), 0x20:
            if isURL { output.append(UInt8(ascii: "\\")) }
            output.append(byte)
        default:
            output.append(byte)
        }
    }

    /// Compares a name, which may contain escapes, ignoring ASCII case. `expected` is in lower case.
    static func isName(_ bytes: Bytes, equalTo expected: StaticString) -> Bool {
        guard bytes.contains(UInt8(ascii: "\\")) else { return bytes.equals(expected) }
        var name: [UInt8] = []
        unescape(bytes, into: &name)
        return name.withUnsafeBufferPointer { $0.equals(expected) }
    }
}
