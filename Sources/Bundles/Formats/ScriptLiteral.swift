internal import Web

/// A JavaScript literal with its offset. Only the values that precache lists contain are distinguished: strings, arrays,
/// objects, and null. JSON is a subset.
struct ScriptLiteral {
    enum Content {
        case text(String)
        case list([ScriptLiteral])
        case object([(key: String, value: ScriptLiteral)])
        /// `null`, `undefined`, `void 0`
        case nothing
        /// A number, a Boolean or a name, such as `1`, `!0` or `self`. Its value is not parsed.
        case other
    }

    let content: Content
    /// The offset of the literal in the source, in bytes.
    let offset: Int

    var text: String? {
        if case .text(let text) = content { text } else { nil }
    }

    var isNothing: Bool {
        if case .nothing = content { true } else { false }
    }

    /// The value of a key in an object. If the key is repeated, the last value counts, as in JavaScript.
    subscript(key: String) -> ScriptLiteral? {
        guard case .object(let members) = content else { return nil }
        return members.last { $0.key == key }?.value
    }
}

// MARK: - ScriptLiteralParser

/// Parses literals in a script, from an offset on. Allows strings in double quotes, single quotes and backticks, comments,
/// and trailing commas. Other expressions, such as calls and placeholders in backticks, are errors.
struct ScriptLiteralParser {
    private let source: ManifestText
    private let bytes: [UInt8]
    /// The offset of the next byte.
    private(set) var offset: Int
    /// The number of lists and objects that contain the next byte.
    private var depth = 0
    private var valuesLeft = ManifestLimits.maxValues

    init(_ source: ManifestText, at offset: Int) {
        self.source = source
        bytes = source.bytes
        self.offset = offset
    }

    /// Parses the next literal, after white space and comments. Afterwards, `offset` is its end.
    mutating func parseLiteral() throws(ManifestError) -> ScriptLiteral {
        skipSpace()
        valuesLeft -= 1
        guard valuesLeft >= 0 else {
            throw syntaxError(expected: "at most \(ManifestLimits.maxValues) values")
        }
        let start = offset
        let content: ScriptLiteral.Content
        switch next {
        case UInt8(ascii: "["): content = .list(try parseList())
        case UInt8(ascii: "{"): content = .object(try parseObject())
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): content = .text(try parseString())
        default: content = try parseWord()
        }
        return ScriptLiteral(content: content, offset: start)
    }

    /// Skips white space and comments.
    mutating func skipSpace() {
        while let byte = next {
            if byte <= 0x20 {
                offset += 1
            } else if byte == UInt8(ascii: "/"), following == UInt8(ascii: "/") {
                offset = bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            } else if byte == UInt8(ascii: "/"), following == UInt8(ascii: "*") {
                offset += 2
                while next != nil, !(next == UInt8(ascii: "*") && following == UInt8(ascii: "/")) {
                    offset += 1
                }
                offset = min(offset + 2, bytes.count)
            } else {
                return
            }
        }
    }

    private mutating func parseList() throws(ManifestError) -> [ScriptLiteral] {
        try enter()
        var elements: [ScriptLiteral] = []
        while !leave(at: UInt8(ascii: "]")) {
            elements.append(try parseLiteral())
            try skipComma(before: UInt8(ascii: "]"), "']'")
        }
        return elements
    }

    private mutating func parseObject() throws(ManifestError) -> [(key: String, value: ScriptLiteral)] {
        try enter()
        var members: [(key: String, value: ScriptLiteral)] = []
        while !leave(at: UInt8(ascii: "}")) {
            let key = try parseKey()
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw syntaxError(expected: "':' after the key") }
            offset += 1
            members.append((key, try parseLiteral()))
            try skipComma(before: UInt8(ascii: "}"), "'}'")
        }
        return members
    }

    /// Parses the key of a member: a string or a name.
    private mutating func parseKey() throws(ManifestError) -> String {
        if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") { return try parseString() }
        let start = offset
        while let byte = next, byte.isASCIIAlphanumeric || Self.nameBytes.contains(byte) { offset += 1 }
        guard offset > start else { throw syntaxError(expected: "a key") }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    /// Parses a value without quotes or brackets: `null`, `undefined`, `void 0`, a number, or a name.
    private mutating func parseWord() throws(ManifestError) -> ScriptLiteral.Content {
        let start = offset
        while let byte = next, byte.isASCIIAlphanumeric || Self.wordBytes.contains(byte) { offset += 1 }
        let word = bytes[start..<offset]
        guard !word.isEmpty else { throw syntaxError(expected: "a value") }
        guard word.elementsEqual("void".utf8) else {
            let isNothing = word.elementsEqual("null".utf8) || word.elementsEqual("undefined".utf8)
            return isNothing ? .nothing : .other
        }
        skipSpace()
        guard next?.isASCIIDigit == true else { throw syntaxError(expected: "a number after void") }
        offset += 1
        return .nothing
    }

    /// The bytes in names besides letters and digits.
    private static let nameBytes = Set("_$".utf8)
    /// The bytes in names, numbers and `!0` besides letters and digits.
    private static let wordBytes = Set("_$.!+-".utf8)

    /// Skips the opening bracket of a list or an object. Throws if it is nested too deeply, since each level uses stack.
    private mutating func enter() throws(ManifestError) {
        depth += 1
        guard depth <= ManifestLimits.maxDepth else {
            throw syntaxError(expected: "at most \(ManifestLimits.maxDepth) levels of nesting")
        }
        offset += 1
    }

    /// Skips the closing bracket of a list or an object. Returns false if another element follows.
    private mutating func leave(at bracket: UInt8) -> Bool {
        skipSpace()
        guard next == bracket else { return false }
        offset += 1
        depth -= 1
        return true
    }

    /// Skips the comma after an element. It may only be missing before the closing bracket.
    ///
    /// - Parameter name: The bracket in quotes, for the error.
    private mutating func skipComma(before bracket: UInt8, _ name: String) throws(ManifestError) {
        skipSpace()
        if next == UInt8(ascii: ",") {
            offset += 1
        } else if next != bracket {
            throw syntaxError(expected: "',' or \(name)")
        }
    }

    /// Makes an error at the next byte, which the error names.
    func syntaxError(expected what: String) -> ManifestError {
        let found =
            next.map { $0 > 0x20 && $0 < 0x7F ? "'\(Unicode.Scalar($0))'" : "byte \($0)" } ?? "the end"
        return source.error(at: offset, "expected \(what), found \(found)")
    }

    /// The byte at `offset`; nil at the end.
    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }
    /// The byte after `next`.
    private var following: UInt8? { offset + 1 < bytes.count ? bytes[offset + 1] : nil }
}

// MARK: - Strings

extension ScriptLiteralParser {
    /// Parses a string. The next byte is its opening quote.
    private mutating func parseString() throws(ManifestError) -> String {
        let quote = bytes[offset]
        let isTemplate = quote == UInt8(ascii: "`")
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case quote: return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try parseEscape(into: &text)
            case UInt8(ascii: "\n") where !isTemplate, UInt8(ascii: "\r") where !isTemplate:
                // The error is at the line end.
                offset -= 1
                throw syntaxError(expected: "the end of the string")
            case UInt8(ascii: "$") where isTemplate && next == UInt8(ascii: "{"):
                throw syntaxError(expected: "a string without placeholders")
            default: text.append(byte)
            }
        }
        throw syntaxError(expected: "the end of the string")
    }

    /// Parses the rest of an escape sequence after the backslash.
    private mutating func parseEscape(into text: inout [UInt8]) throws(ManifestError) {
        guard let byte = next else { throw syntaxError(expected: "a character after '\\'") }
        offset += 1
        switch byte {
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "v"): text.append(0x0B)
        case UInt8(ascii: "0"): text.append(0)
        // A backslash before a line end continues the string in the next line.
        case UInt8(ascii: "\n"): break
        case UInt8(ascii: "x"): append(try parseHexDigits(2), to: &text)
        case UInt8(ascii: "u"): append(try parseUnicodeEscape(), to: &text)
        default: text.append(byte)
        }
    }

    /// Parses the rest of a `\u` escape, and returns the code point: any number of digits in braces, or four digits. A
    /// pair of escapes for a high and a low surrogate is one code point. Other surrogates are returned as they are.
    private mutating func parseUnicodeEscape() throws(ManifestError) -> UInt32 {
        if next == UInt8(ascii: "{") {
            offset += 1
            var value: UInt32 = 0
            while let digit = next?.hexDigitValue, value <= 0x10FFFF {
                value = value << 4 | UInt32(digit)
                offset += 1
            }
            guard next == UInt8(ascii: "}") else {
                throw syntaxError(expected: "'}' after hexadecimal digits")
            }
            offset += 1
            return value
        }
        let unit = try parseHexDigits(4)
        guard unit & 0xFC00 == 0xD800, next == UInt8(ascii: "\\"), following == UInt8(ascii: "u") else {
            return unit
        }
        let rewind = offset
        offset += 2
        let second = try parseHexDigits(4)
        if second & 0xFC00 == 0xDC00 { return 0x10000 + ((unit & 0x3FF) << 10) + (second & 0x3FF) }
        offset = rewind
        return unit
    }

    /// Parses exactly `count` hexadecimal digits.
    private mutating func parseHexDigits(_ count: Int) throws(ManifestError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let digit = next?.hexDigitValue else {
                throw syntaxError(expected: "\(count) hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        return value
    }

    /// Appends a code point in UTF-8, or U+FFFD in place of a surrogate or a number above U+10FFFF.
    private func append(_ scalar: UInt32, to text: inout [UInt8]) {
        text += UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
    }
}
