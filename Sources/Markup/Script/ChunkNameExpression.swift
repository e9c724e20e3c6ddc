/// The expression with which a bundler's loader computes the name of a chunk's file from the number of the
/// chunk.
///
/// For example, webpack writes `e => "js/" + e + "." + {12: "ab", 34: "cd"}[e] + ".js"`. Evaluating the expression for
/// the chunks 12 and 34, which the table mentions, gives the files `js/12.ab.js` and `js/34.cd.js`.
indirect enum ChunkNameExpression {
    case text([UInt8])
    case chunk
    /// `{1: "a", 2: "b"}[chunk]`
    case table([[UInt8]: [UInt8]])
    case sum([ChunkNameExpression])
    /// `first || second`
    case either(ChunkNameExpression, ChunkNameExpression)
    /// `chunk === 1 ? one : chunk === 2 ? two : otherwise`: some builds have one for each chunk.
    case choices([[UInt8]: ChunkNameExpression], otherwise: ChunkNameExpression)
    /// `void 0`: the chunk has no file.
    case undefined

    /// The maximum length of a name in bytes. Without a limit, a few long texts and many chunks would use
    /// much memory.
    static let maxBytes = 1024

    /// Returns the name of a chunk's file; nil if the loader has none for it.
    func name(of chunk: [UInt8]) -> [UInt8]? {
        switch self {
        case .text(let text): return text
        case .chunk: return chunk
        case .table(let table): return table[chunk]
        case .sum(let parts):
            var name: [UInt8] = []
            for part in parts {
                guard let text = part.name(of: chunk), name.count + text.count <= Self.maxBytes else {
                    return nil
                }
                name.append(contentsOf: text)
            }
            return name
        case .either(let first, let second):
            if let name = first.name(of: chunk), !name.isEmpty { return name }
            return second.name(of: chunk)
        case .choices(let choices, let otherwise): return (choices[chunk] ?? otherwise).name(of: chunk)
        case .undefined: return nil
        }
    }

    /// All chunks that the expression mentions.
    var chunks: Set<[UInt8]> {
        switch self {
        case .text, .chunk, .undefined: return []
        case .table(let table): return Set(table.keys)
        case .sum(let parts): return parts.reduce(into: []) { $0.formUnion($1.chunks) }
        case .either(let first, let second): return first.chunks.union(second.chunks)
        case .choices(let choices, let otherwise):
            return choices.reduce(into: otherwise.chunks) {
                $0.insert($1.key)
                $0.formUnion($1.value.chunks)
            }
        }
    }

    /// The text, if it is the same for every chunk.
    var constant: [UInt8]? {
        switch self {
        case .text(let text): return text
        case .sum(let parts):
            var text: [UInt8] = []
            for part in parts {
                guard let constant = part.constant else { return nil }
                text.append(contentsOf: constant)
            }
            return text
        case .chunk, .table, .either, .choices, .undefined: return nil
        }
    }
}

/// A parser of the small part of JavaScript in which bundlers write the names of chunks: strings, tables,
/// sums and choices.
///
/// It stops at anything else, so it never reads far in a script that is not a bundle.
struct ChunkNameParser {
    private var lexer: ScriptLexer
    private let bytes: Bytes
    private var token: ScriptToken
    private var parameter: [UInt8]?
    private var depth = 0

    private enum Limit {
        static let maxDepth = 32
        /// The maximum number of parts in a sum.
        static let maxParts = 32
        /// The maximum number of chunks, which is more than any build has.
        static let maxChunks = 100_000
    }

    init(_ bytes: Bytes, _ lexer: ScriptLexer) {
        self.bytes = bytes
        self.lexer = lexer
        token = self.lexer.next()
    }

    /// Parses a function of one parameter: `function (a) { return … }`, `a => …`, `(a) => { … }`.
    mutating func function() -> ChunkNameExpression? {
        let isArrow = !takeName("function")
        if !isArrow, token.kind == .name { advance() }
        let isBare = isArrow && token.kind == .name
        if !isBare { guard take("(") else { return nil } }
        guard token.kind == .name else { return nil }
        parameter = Array(bytes[token.range])
        advance()
        if !isBare { guard take(")") else { return nil } }
        if isArrow { guard take("="), take(">") else { return nil } }
        return take("{") ? statements() : expression()
    }

    /// Parses `if (…) return …; return …`.
    private mutating func statements() -> ChunkNameExpression? {
        var choices: [[UInt8]: ChunkNameExpression] = [:]
        while choices.count < Limit.maxChunks {
            if takeName("return") { return expression().map { Self.choice(of: choices, otherwise: $0) } }
            guard takeName("if"), take("("), let id = comparison(), take(")") else { return nil }
            let isBlock = take("{")
            guard takeName("return"), let then = expression() else { return nil }
            _ = take(";")
            if isBlock { guard take("}") else { return nil } }
            if choices[id] == nil { choices[id] = then }
        }
        return nil
    }

    /// Parses a sum, or a choice between sums.
    mutating func expression() -> ChunkNameExpression? {
        withNesting { parser in
            var choices: [[UInt8]: ChunkNameExpression] = [:]
            while choices.count < Limit.maxChunks, let first = parser.operand() {
                guard parser.isComparison else {
                    return parser.sum(from: first).map { Self.choice(of: choices, otherwise: $0) }
                }
                guard let id = parser.identifier(of: first) else { return nil }
                parser.advance()
                while parser.isComparison { parser.advance() }
                guard let other = parser.operand(), let chunk = id ?? parser.identifier(of: other) ?? nil,
                    parser.take("?"), let then = parser.expression(), parser.take(":")
                else { return nil }
                if choices[chunk] == nil { choices[chunk] = then }
            }
            return nil
        }
    }

    private static func choice(of choices: [[UInt8]: ChunkNameExpression], otherwise: ChunkNameExpression)
        -> ChunkNameExpression
    {
        choices.isEmpty ? otherwise : .choices(choices, otherwise: otherwise)
    }

    private mutating func sum(from first: ChunkNameExpression) -> ChunkNameExpression? {
        var parts = [first]
        while take("+") {
            guard parts.count < Limit.maxParts, let part = operand() else { return nil }
            parts.append(part)
        }
        let sum = parts.count == 1 ? first : .sum(parts)
        guard isPunctuator("|") else { return sum }
        advance()
        guard take("|"), let second = expression() else { return nil }
        return .either(sum, second)
    }

    /// Parses the comparison in the parentheses of an `if`.
    private mutating func comparison() -> [UInt8]? {
        guard let first = operand(), let id = identifier(of: first), isComparison else { return nil }
        while isComparison { advance() }
        guard let second = operand() else { return nil }
        return id ?? identifier(of: second) ?? nil
    }

    /// Returns the value that the parameter is compared with; an inner nil for the parameter itself.
    private func identifier(of operand: ChunkNameExpression) -> [UInt8]?? {
        switch operand {
        case .chunk: .some(nil)
        case .text(let text): text
        case .table, .sum, .either, .choices, .undefined: nil
        }
    }

    private mutating func operand() -> ChunkNameExpression? {
        switch token.kind {
        case .string, .template:
            guard token.range.count <= ChunkNameExpression.maxBytes else { return nil }
            var text: [UInt8] = []
            ScriptText.unescape(bytes.part(token.range), into: &text)
            advance()
            return .text(text)
        case .number:
            let text = Self.number(bytes.part(token.range))
            advance()
            return .text(text)
        case .name:
            if takeName("void") {
                guard token.kind == .number else { return nil }
                advance()
                return .undefined
            }
            if takeName("undefined") || takeName("null") { return .undefined }
            let name = Array(bytes[token.range])
            if parameter == nil { parameter = name }
            guard name == parameter else { return nil }
            advance()
            // Bundlers do not write a property or a call of the parameter.
            return isPunctuator(".") || isPunctuator("(") || isPunctuator("[") ? nil : .chunk
        case .templatePart: return substitutions()
        case .punctuator: break
        case .badString, .templateEnd, .regex, .sourceMap, .end: return nil
        }
        if take("(") {
            guard let inside = expression(), take(")") else { return nil }
            // `({1: "a"})[chunk]`
            if case .table(let table) = inside, isPunctuator("[") { return lookup(table) }
            return inside
        }
        guard take("{"), let table = table() else { return nil }
        return isPunctuator("[") ? lookup(table) : .table(table)
    }

    /// Parses a template with substitutions: `${a}…`.
    private mutating func substitutions() -> ChunkNameExpression? {
        var parts: [ChunkNameExpression] = []
        while parts.count < Limit.maxParts {
            var text: [UInt8] = []
            ScriptText.unescape(bytes.part(token.range), into: &text)
            if text.count > ChunkNameExpression.maxBytes { return nil }
            parts.append(.text(text))
            if token.kind == .templateEnd {
                advance()
                return .sum(parts)
            }
            guard token.kind == .templatePart else { return nil }
            advance()
            guard let part = expression() else { return nil }
            parts.append(part)
        }
        return nil
    }

    private mutating func lookup(_ table: [[UInt8]: [UInt8]]) -> ChunkNameExpression? {
        guard take("["), token.kind == .name else { return nil }
        let name = Array(bytes[token.range])
        if parameter == nil { parameter = name }
        guard name == parameter else { return nil }
        advance()
        return take("]") ? .table(table) : nil
    }

    private mutating func table() -> [[UInt8]: [UInt8]]? {
        var table: [[UInt8]: [UInt8]] = [:]
        while !take("}") {
            guard table.count < Limit.maxChunks else { return nil }
            var key: [UInt8] = []
            switch token.kind {
            case .name: key = Array(bytes[token.range])
            case .number: key = Self.number(bytes.part(token.range))
            case .string: ScriptText.unescape(bytes.part(token.range), into: &key)
            case .punctuator, .badString, .template, .templatePart, .templateEnd, .regex, .sourceMap,
                .end:
                return nil
            }
            advance()
            guard take(":"), token.kind == .string || token.kind == .template || token.kind == .number else {
                return nil
            }
            var value: [UInt8] = []
            ScriptText.unescape(bytes.part(token.range), into: &value)
            if key.count > ChunkNameExpression.maxBytes || value.count > ChunkNameExpression.maxBytes {
                return nil
            }
            table[key] = value
            advance()
            if !take(","), !isPunctuator("}") { return nil }
        }
        return table
    }

    /// Returns a number in the form of a key, since minifiers write 1000 as `1e3`.
    static func number(_ written: Bytes) -> [UInt8] {
        let digits = written.prefix(while: \.isDigit)
        guard !digits.isEmpty, digits.count < written.count, written[digits.count] == UInt8(ascii: "e"),
            let zeros = Int(String(decoding: written[(digits.count + 1)...], as: UTF8.self)), 0..<16 ~= zeros
        else { return Array(written) }
        return digits + [UInt8](repeating: UInt8(ascii: "0"), count: zeros)
    }

    // MARK: Tokens

    private var isComparison: Bool { isPunctuator("=") }

    private mutating func withNesting(_ body: (inout ChunkNameParser) -> ChunkNameExpression?)
        -> ChunkNameExpression?
    {
        guard depth < Limit.maxDepth else { return nil }
        depth += 1
        defer { depth -= 1 }
        return body(&self)
    }

    private func isPunctuator(_ character: Unicode.Scalar) -> Bool {
        token.kind == .punctuator && bytes[token.range.lowerBound] == UInt8(ascii: character)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard isPunctuator(character) else { return false }
        advance()
        return true
    }

    private mutating func takeName(_ name: StaticString) -> Bool {
        guard token.kind == .name, lexer.isName(name, at: token.range.lowerBound) else { return false }
        advance()
        return true
    }

    private mutating func advance() {
        token = lexer.next()
    }
}
