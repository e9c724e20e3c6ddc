/// A value in a script, as far as it is known without running the script.
indirect enum ScriptValue: Equatable {
    /// A string, or a concatenation of several. `${name}` represents the value of a variable.
    case text(String)
    case list([ScriptValue])
    case object([Member])
    case bool(Bool)
    /// Any value that only running the script determines.
    case unknown

    /// A member of an object.
    struct Member: Equatable {
        var key: String
        var value: ScriptValue
    }

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    var list: [ScriptValue]? {
        if case .list(let list) = self { list } else { nil }
    }

    var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    subscript(key: String) -> ScriptValue? {
        members?.last { $0.key == key }?.value
    }
}

/// A parser of literals in scripts: strings, sums of strings and names, lists, and objects.
///
/// It skips other values up to their ends. The caller's budget of tokens limits the total work, so that a
/// script with many unfinished literals costs no more than any other.
struct ScriptValueParser {
    private var lexer: ScriptLexer
    private let bytes: Bytes
    private(set) var token: ScriptToken
    /// The number of tokens that may still be read. A long token counts as several.
    private(set) var budget: Int
    private var depth = 0

    private static let maxDepth = 16

    init(_ bytes: Bytes, _ lexer: ScriptLexer, budget: Int) {
        self.bytes = bytes
        self.lexer = lexer
        self.budget = budget
        token = self.lexer.next()
    }

    /// Parses the value that starts at the current token, and nothing after it.
    mutating func value() -> ScriptValue {
        guard depth < Self.maxDepth else {
            skip()
            return .unknown
        }
        depth += 1
        defer { depth -= 1 }
        var value = operand()
        while isPunctuator("+") {
            advance()
            let next = operand()
            if case .text(let one) = value, case .text(let other) = next,
                one.utf8.count + other.utf8.count <= LoaderNote.maxBytes
            {
                value = .text(one + other)
            } else {
                value = .unknown
            }
        }
        guard !isEnd else { return value }
        skip()
        return .unknown
    }

    /// Moves after a comma. Returns false if the current token is not one, because the values end here.
    mutating func nextValue() -> Bool {
        guard isPunctuator(",") else { return false }
        advance()
        return true
    }

    /// Moves after the given punctuator. Returns false if the current token is another one.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard isPunctuator(character) else { return false }
        advance()
        return true
    }

    func isPunctuator(_ character: Unicode.Scalar) -> Bool {
        token.kind == .punctuator && bytes[token.range.lowerBound] == UInt8(ascii: character)
    }

    func isName(_ name: StaticString) -> Bool {
        token.kind == .name && lexer.isName(name, at: token.range.lowerBound)
    }

    mutating func advance() {
        guard budget > 0 else {
            token = ScriptToken(kind: .end, range: bytes.count..<bytes.count)
            return
        }
        let start = lexer.index
        token = lexer.next()
        budget -= 1 + (lexer.index - start) / 16
    }

    // MARK: - Parts

    private mutating func operand() -> ScriptValue {
        switch token.kind {
        case .string, .template:
            let text = unescaped(token.range)
            advance()
            return text.map(ScriptValue.text) ?? .unknown
        case .templatePart: return substitutions()
        case .name: return variable()
        case .punctuator:
            if take("[") { return list() }
            if take("{") { return object() }
            if take("(") {
                let inside = value()
                return take(")") ? inside : .unknown
            }
            // Minifiers write `!0` for true.
            if take("!") {
                guard token.kind == .number else { return .unknown }
                let isZero = bytes.part(token.range).equals("0")
                advance()
                return .bool(isZero)
            }
            return .unknown
        case .number, .regex:
            advance()
            return .unknown
        case .badString, .templateEnd, .sourceMap, .end: return .unknown
        }
    }

    /// Parses `a`, `a.b` or `window.a`, if it is neither called nor indexed.
    private mutating func variable() -> ScriptValue {
        let isTrue = isName("true")
        let isGlobal = isName("window") || isName("self") || isName("globalThis")
        var name = isGlobal ? "" : String(decoding: bytes[token.range], as: UTF8.self)
        if isTrue || isName("false") {
            advance()
            return .bool(isTrue)
        }
        if isName("function") || isName("async") || isName("new") || isName("class") { return .unknown }
        advance()
        while isPunctuator(".") {
            advance()
            guard token.kind == .name, name.utf8.count < 128 else { return .unknown }
            name += (name.isEmpty ? "" : ".") + String(decoding: bytes[token.range], as: UTF8.self)
            advance()
        }
        return name.isEmpty || name.utf8.count > 256 ? .unknown : .text("${\(name)}")
    }

    /// Parses a template with substitutions: `${a}…`.
    private mutating func substitutions() -> ScriptValue {
        var text = ""
        while text.utf8.count <= LoaderNote.maxBytes, let part = unescaped(token.range) {
            text += part
            if token.kind == .templateEnd {
                advance()
                return .text(text)
            }
            advance()
            guard token.kind == .name, case .text(let name) = variable() else { break }
            text += name
            guard token.kind == .templatePart || token.kind == .templateEnd else { break }
        }
        return .unknown
    }

    private mutating func list() -> ScriptValue {
        var elements: [ScriptValue] = []
        while budget > 0, token.kind != .end, elements.count < LoaderNote.maxCount {
            if take("]") { return .list(elements) }
            elements.append(value())
            if !take(","), !isPunctuator("]") { break }
        }
        return .unknown
    }

    private mutating func object() -> ScriptValue {
        var members: [ScriptValue.Member] = []
        while budget > 0, token.kind != .end, members.count < LoaderNote.maxCount {
            if take("}") { return .object(members) }
            var key: String?
            switch token.kind {
            case .name, .number: key = String(decoding: bytes[token.range].prefix(256), as: UTF8.self)
            case .string: key = unescaped(token.range)
            case .punctuator, .badString, .template, .templatePart, .templateEnd, .regex, .sourceMap,
                .end:
                break
            }
            if let key {
                advance()
                if take(":") {
                    members.append(ScriptValue.Member(key: key, value: value()))
                } else {
                    // A method, or a shorthand property.
                    skip()
                }
            } else {
                skip()
            }
            if !take(","), !isPunctuator("}") { break }
        }
        return .unknown
    }

    private func unescaped(_ range: Range<Int>) -> String? {
        guard range.count <= LoaderNote.maxBytes else { return nil }
        var text: [UInt8] = []
        ScriptText.unescape(bytes.part(range), into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether the current token ends a value.
    private var isEnd: Bool {
        isPunctuator(",") || isPunctuator("]") || isPunctuator("}") || isPunctuator(")") || isPunctuator(";")
            || token.kind == .end
    }

    /// Skips to the end of the value.
    private mutating func skip() {
        var open = 0
        while token.kind != .end {
            if token.kind == .punctuator {
                switch bytes[token.range.lowerBound] {
                case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): open += 1
                case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                    if open == 0 { return }
                    open -= 1
                case UInt8(ascii: ","), UInt8(ascii: ";"): if open == 0 { return }
                default: break
                }
            }
            advance()
        }
    }
}
