internal import Web

/// A JavaScript literal, limited to what lists of files contain. JSON is a subset.
struct ScriptLiteral {
    /// The value of a literal.
    enum Content {
        case text(String)
        case list([ScriptLiteral])
        case object([(key: String, value: ScriptLiteral)])
        /// `null`, `undefined`, `void 0`
        case nothing
        /// Numbers, Booleans and other values that are not text.
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

    /// The value of a key, the last one if the key is repeated.
    subscript(key: String) -> ScriptLiteral? {
        guard case .object(let members) = content else { return nil }
        return members.last { $0.key == key }?.value
    }
}

// MARK: - ScriptLiteralParser

/// Parses one literal of a script. Allows all quotes, comments, and trailing commas.
struct ScriptLiteralParser {
    private let source: SourceText
    private let bytes: [UInt8]
    private(set) var offset: Int
    private var depth = 0
    private var valuesLeft = ManifestLimits.maxValues

    init(_ source: SourceText, at offset: Int) {
        self.source = source
        bytes = source.bytes
        self.offset = offset
    }

    /// Parses the next literal, after white space and comments.
    mutating func literal() throws(ManifestError) -> ScriptLiteral {
        skipSpace()
        valuesLeft -= 1
        guard valuesLeft >= 0 else { throw typeError(expected: "at most \(ManifestLimits.maxValues) values") }
        let start = offset
        let content: ScriptLiteral.Content
        switch next {
        case 0x5B: content = .list(try list())
        case 0x7B: content = .object(try object())
        case 0x22, 0x27, 0x60: content = .text(try text())
        default: content = try word()
        }
        return ScriptLiteral(content: content, offset: start)
    }

    /// Skips white space and comments.
    mutating func skipSpace() {
        while let byte = next {
            if byte <= 0x20 {
                offset += 1
            } else if byte == 0x2F, following == 0x2F {
                offset = bytes[offset...].firstIndex(of: 0x0A) ?? bytes.count
            } else if byte == 0x2F, following == 0x2A {
                offset += 2
                while next != nil, !(next == 0x2A && following == 0x2F) { offset += 1 }
                offset = min(offset + 2, bytes.count)
            } else {
                return
            }
        }
    }

    private mutating func list() throws(ManifestError) -> [ScriptLiteral] {
        try descend()
        var elements: [ScriptLiteral] = []
        while !close(0x5D) {
            elements.append(try literal())
            try separator(0x5D, "']'")
        }
        return elements
    }

    private mutating func object() throws(ManifestError) -> [(key: String, value: ScriptLiteral)] {
        try descend()
        var members: [(key: String, value: ScriptLiteral)] = []
        while !close(0x7D) {
            let key = try key()
            skipSpace()
            guard next == 0x3A else { throw typeError(expected: "':' after the key") }
            offset += 1
            members.append((key, try literal()))
            try separator(0x7D, "'}'")
        }
        return members
    }

    private mutating func key() throws(ManifestError) -> String {
        if next == 0x22 || next == 0x27 { return try text() }
        let start = offset
        while let byte = next, byte.isASCIIAlphanumeric || byte == 0x5F || byte == 0x24 { offset += 1 }
        guard offset > start else { throw typeError(expected: "a key") }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    /// Parses a value without quotes or brackets: `null`, `undefined`, `void 0`, a number, or a name.
    private mutating func word() throws(ManifestError) -> ScriptLiteral.Content {
        let start = offset
        while let byte = next, byte.isASCIIAlphanumeric || Self.wordBytes.contains(byte) { offset += 1 }
        let word = bytes[start..<offset]
        guard !word.isEmpty else { throw typeError(expected: "a value") }
        guard word.elementsEqual("void".utf8) else {
            let isNothing = word.elementsEqual("null".utf8) || word.elementsEqual("undefined".utf8)
            return isNothing ? .nothing : .other
        }
        skipSpace()
        guard next?.isASCIIDigit == true else { throw typeError(expected: "a number after void") }
        offset += 1
        return .nothing
    }

    private static let wordBytes = Set("_$.!+-".utf8)

    /// Enters a list or an object. Lists nested too deeply are errors, since each level uses stack.
    private mutating func descend() throws(ManifestError) {
        depth += 1
        guard depth <= ManifestLimits.maxDepth else {
            throw typeError(expected: "at most \(ManifestLimits.maxDepth) levels of nesting")
        }
        offset += 1
    }

    /// Leaves a list or an object if the closing bracket follows.
    private mutating func close(_ bracket: UInt8) -> Bool {
        skipSpace()
        guard next == bracket else { return false }
        offset += 1
        depth -= 1
        return true
    }

    /// Skips the comma after an element. It may only be missing before the closing bracket.
    private mutating func separator(_ bracket: UInt8, _ name: String) throws(ManifestError) {
        skipSpace()
        if next == 0x2C {
            offset += 1
        } else if next != bracket {
            throw typeError(expected: "',' or \(name)")
        }
    }

    func typeError(expected what: String) -> ManifestError {
        let found =
            next.map { $0 > 0x20 && $0 < 0x7F ? "'\(Unicode.Scalar($0))'" : "byte \($0)" } ?? "the end"
        return source.error(at: offset, "expected \(what), found \(found)")
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }
    private var following: UInt8? { offset + 1 < bytes.count ? bytes[offset + 1] : nil }
}

extension ScriptLiteralParser {
    private mutating func text() throws(ManifestError) -> String {
        let quote = bytes[offset]
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            offset += 1
            switch byte {
            case quote: return String(decoding: text, as: UTF8.self)
            case 0x5C: try escape(into: &text)
            case 0x0A where quote != 0x60, 0x0D where quote != 0x60:
                offset -= 1
                throw typeError(expected: "the end of the string")
            case 0x24 where quote == 0x60 && next == 0x7B:
                throw typeError(expected: "a string without placeholders")
            default: text.append(byte)
            }
        }
        throw typeError(expected: "the end of the string")
    }

    /// Parses the rest of an escape sequence after the backslash.
    private mutating func escape(into text: inout [UInt8]) throws(ManifestError) {
        guard let byte = next else { throw typeError(expected: "a character after '\\'") }
        offset += 1
        switch byte {
        case 0x6E: text.append(0x0A)
        case 0x72: text.append(0x0D)
        case 0x74: text.append(0x09)
        case 0x62: text.append(0x08)
        case 0x66: text.append(0x0C)
        case 0x76: text.append(0x0B)
        case 0x30: text.append(0)
        case 0x0A: break
        case 0x78: append(try hex(2), to: &text)
        case 0x75: append(try unicode(), to: &text)
        default: text.append(byte)
        }
    }

    /// Parses the rest of a `\u` escape: four digits, with a second escape if they are a high surrogate, or
    /// any number of digits in braces.
    private mutating func unicode() throws(ManifestError) -> UInt32 {
        if next == 0x7B {
            offset += 1
            var value: UInt32 = 0
            while let digit = next?.hexDigitValue, value <= 0x10FFFF {
                value = value << 4 | UInt32(digit)
                offset += 1
            }
            guard next == 0x7D else { throw typeError(expected: "'}' after hexadecimal digits") }
            offset += 1
            return value
        }
        let unit = try hex(4)
        guard unit & 0xFC00 == 0xD800, next == 0x5C, following == 0x75 else { return unit }
        let rewind = offset
        offset += 2
        let second = try hex(4)
        if second & 0xFC00 == 0xDC00 { return 0x10000 + (unit & 0x3FF) << 10 + second & 0x3FF }
        offset = rewind
        return unit
    }

    private mutating func hex(_ count: Int) throws(ManifestError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let digit = next?.hexDigitValue else {
                throw typeError(expected: "\(count) hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        return value
    }

    private func append(_ scalar: UInt32, to text: inout [UInt8]) {
        text += UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
    }
}
