/// A value as it is written in a script, as far as it can be known without running it.
indirect enum ScriptValue: Equatable {
    /// A string, or several put together; `${name}` stands for a variable in it.
    case text(String)
    case list([ScriptValue])
    case object([Member])
    case truth(Bool)
    /// Whatever has to be run.
    case unknown

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

/// Reads literals of scripts: texts, sums of texts and names, lists, objects.
///
/// What is none of these is passed over up to where the value ends. How far it goes altogether is the
/// caller's budget of tokens, so that a script full of beginnings costs no more than one of any other kind.
struct ScriptValueParser {
    private var lexer: ScriptLexer
    private let bytes: Bytes
    private(set) var token: ScriptToken
    /// How many more tokens it may read; a long one counts as several.
    private(set) var budget: Int
    private var depth = 0

    private static let maximalDepth = 16

    init(_ bytes: Bytes, _ lexer: ScriptLexer, budget: Int) {
        self.bytes = bytes
        self.lexer = lexer
        self.budget = budget
        token = self.lexer.next()
    }

    /// The value that starts at the token, and nothing behind it.
    mutating func value() -> ScriptValue {
        guard depth < Self.maximalDepth else {
            skip()
            return .unknown
        }
        depth += 1
        defer { depth -= 1 }
        var value = operand()
        while isMark("+") {
            advance()
            let next = operand()
            if case .text(let one) = value, case .text(let other) = next,
                one.utf8.count + other.utf8.count <= LoaderNote.maximalLength
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

    /// Goes behind a comma that stands there; false where the values end.
    mutating func nextValue() -> Bool {
        guard isMark(",") else { return false }
        advance()
        return true
    }

    /// Goes behind this mark, if it stands there.
    mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard isMark(mark) else { return false }
        advance()
        return true
    }

    func isMark(_ mark: Unicode.Scalar) -> Bool {
        token.kind == .mark && bytes[token.range.lowerBound] == UInt8(ascii: mark)
    }

    func isName(_ name: StaticString) -> Bool {
        token.kind == .name && lexer.name(at: token.range.lowerBound, is: name)
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
        case .name: return named()
        case .mark:
            if take("[") { return list() }
            if take("{") { return object() }
            if take("(") {
                let inside = value()
                return take(")") ? inside : .unknown
            }
            // `!0` is true where a minifier was.
            if take("!") {
                guard token.kind == .number else { return .unknown }
                let isZero = bytes.part(token.range).equals("0")
                advance()
                return .truth(isZero)
            }
            return .unknown
        case .number, .expression:
            advance()
            return .unknown
        case .badString, .templateEnd, .sourceMap, .end: return .unknown
        }
    }

    /// `a`, `a.b`, `window.a`: not what is called or indexed.
    private mutating func named() -> ScriptValue {
        let isTrue = isName("true")
        let isGlobal = isName("window") || isName("self") || isName("globalThis")
        var name = isGlobal ? "" : String(decoding: bytes[token.range], as: UTF8.self)
        if isTrue || isName("false") {
            advance()
            return .truth(isTrue)
        }
        if isName("function") || isName("async") || isName("new") || isName("class") { return .unknown }
        advance()
        while isMark(".") {
            advance()
            guard token.kind == .name, name.utf8.count < 128 else { return .unknown }
            name += (name.isEmpty ? "" : ".") + String(decoding: bytes[token.range], as: UTF8.self)
            advance()
        }
        return name.isEmpty || name.utf8.count > 256 ? .unknown : .text("${\(name)}")
    }

    /// `${a}…`
    private mutating func substitutions() -> ScriptValue {
        var text = ""
        while text.utf8.count <= LoaderNote.maximalLength, let part = unescaped(token.range) {
            text += part
            if token.kind == .templateEnd {
                advance()
                return .text(text)
            }
            advance()
            guard token.kind == .name, case .text(let name) = named() else { break }
            text += name
            guard token.kind == .templatePart || token.kind == .templateEnd else { break }
        }
        return .unknown
    }

    private mutating func list() -> ScriptValue {
        var elements: [ScriptValue] = []
        while budget > 0, token.kind != .end, elements.count < LoaderNote.maximalCount {
            if take("]") { return .list(elements) }
            elements.append(value())
            if !take(","), !isMark("]") { break }
        }
        return .unknown
    }

    private mutating func object() -> ScriptValue {
        var members: [ScriptValue.Member] = []
        while budget > 0, token.kind != .end, members.count < LoaderNote.maximalCount {
            if take("}") { return .object(members) }
            var key: String?
            switch token.kind {
            case .name, .number: key = String(decoding: bytes[token.range].prefix(256), as: UTF8.self)
            case .string: key = unescaped(token.range)
            case .mark, .badString, .template, .templatePart, .templateEnd, .expression, .sourceMap, .end:
                break
            }
            if let key {
                advance()
                if take(":") {
                    members.append(ScriptValue.Member(key: key, value: value()))
                } else {
                    // A method, or a name that stands for its own value.
                    skip()
                }
            } else {
                skip()
            }
            if !take(","), !isMark("}") { break }
        }
        return .unknown
    }

    private func unescaped(_ range: Range<Int>) -> String? {
        guard range.count <= LoaderNote.maximalLength else { return nil }
        var text: [UInt8] = []
        ScriptText.unescape(bytes.part(range), into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether a value cannot go on here.
    private var isEnd: Bool {
        isMark(",") || isMark("]") || isMark("}") || isMark(")") || isMark(";") || token.kind == .end
    }

    /// Goes to where the value ends.
    private mutating func skip() {
        var open = 0
        while token.kind != .end {
            if token.kind == .mark {
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
