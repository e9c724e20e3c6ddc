/// Finds the links of a script: what its imports, workers and loading calls name.
///
/// Which base applies:
/// - What a module imports and what is resolved against `import.meta.url` is relative to the script, and certain.
/// - What `fetch`, `Worker` and their like name is relative to the document that runs the script. In a script inside a
///   document that is the base of its other links too. A script of its own does not know the document, and often several
///   use it: there only what starts with a slash (a guess, as the document may be of another origin) or names an origin is
///   a link, the rest is left out.
/// - What `importScripts` names is relative to the worker, which is the script.
struct ScriptScanner {
    let text: SourceText
    let sink: LinkSink
    var lexer: ScriptLexer
    /// Whether the script stands inside a document. A script of its own starts where its body does.
    let isInline: Bool
    /// The address in the last `import()`.
    var imported: Range<Int>?
    var list = ScriptList(meaning: .own, last: -1)
    /// The token in front of the last object that was an entry of a precache list; negative before the first.
    var precached = -1
    var loader = ChunkLoader()
    /// How often the script was looked through ahead: a bundle has one loader.
    var lookaheads = 0
    /// What the script names without writing it in one piece.
    var implied: [ImpliedLink] = []
    /// Where the last literal starts that is a link.
    private var lastAdded = -1
    /// Where the last call of `importScripts` stands; negative before the first.
    var importScripts = -1

    private init(_ text: SourceText, _ sink: LinkSink, base: UnsafePointer<UInt8>) {
        self.text = text
        self.sink = sink
        lexer = ScriptLexer(text.bytes, base: base)
        isInline = text.map(0) > 0 || text.context.levels > 0
    }

    static func scan(_ text: SourceText, _ sink: LinkSink) {
        guard let base = text.bytes.baseAddress else { return }
        var scanner = ScriptScanner(text, sink, base: base)
        scanner.scan()
        sink.imply(scanner.implied)
        sink.imply(scanner.loader.links())
    }

    private mutating func scan() {
        while true {
            let token = lexer.next()
            switch token.kind {
            case .end: return
            case .string, .template: literal(ScriptLiteral(token))
            case .sourceMap: sink.add(token.range, in: text, .sourceMap, .line)
            case .name: if Self.isLoaderLength(token.range.count) { loaderProperty(token.range) }
            case .number: loaderCall(token.range)
            case .mark, .expression, .badString, .templatePart, .templateEnd: break
            }
        }
    }

    /// How long the names of a loader's properties are.
    @inline(__always)
    private static func isLoaderLength(_ length: Int) -> Bool {
        length == 1 || length == 7 || length == 8
    }

    /// A string or a template without substitutions: what stands in front of it says whether it is a link.
    private mutating func literal(_ literal: ScriptLiteral) {
        guard !literal.range.isEmpty else { return }
        switch lexer.mark(before: 1) {
        case UInt8(ascii: "("): argument(literal)
        case UInt8(ascii: ","): laterArgument(literal)
        case UInt8(ascii: ":"): property(literal)
        case UInt8(ascii: "["): firstElement(literal)
        case UInt8(ascii: "f"):
            // Only in imports and exports a string can follow this name.
            if lexer.name(before: 1, is: "from"), !lexer.isProperty(1) { imported(literal) }
        case UInt8(ascii: "i"):
            if lexer.name(before: 1, is: "import"), !lexer.isProperty(1) { imported(literal) }
        default: break
        }
        if let call = lexer.openings.last, call.mark == .parenthesis, isWriting(call.before) { written(literal) }
        if mayBeAsset(literal.range), lastAdded != literal.range.lowerBound { asset(literal) }
    }

    /// Most strings are dismissed by their first and last byte.
    private func mayBeAsset(_ range: Range<Int>) -> Bool {
        switch lexer.bytes[range.lowerBound] {
        case UInt8(ascii: "/"): true
        case UInt8(ascii: "s"): range.count > 7 && lexer.bytes[range.lowerBound + 6] == UInt8(ascii: "/")
        default:
            lexer.bytes[range.upperBound - 1] == UInt8(ascii: "m") && ScriptScanner.isProgram(text.bytes.part(range))
        }
    }

    mutating func add(_ literal: ScriptLiteral, _ kind: LinkKind, _ flags: LinkFlags = []) {
        lastAdded = literal.range.lowerBound
        sink.add(literal.range, in: text, kind, literal.isTemplate ? .scriptTemplate : .scriptString, flags)
    }

    /// Adds what is relative to the document that runs the script; see above.
    mutating func add(ofDocument literal: ScriptLiteral, _ kind: LinkKind, _ flags: LinkFlags = []) {
        if isInline {
            add(literal, kind, flags)
            return
        }
        switch address(literal) {
        case .absolute: add(literal, kind, flags)
        case .rooted: add(literal, kind, flags.union(.isGuess))
        case .dotted, .bare: break
        }
    }

    /// Whether the literal is the whole argument, not the start of an expression.
    func isWhole(_ literal: ScriptLiteral) -> Bool {
        let next = lexer.trivia(from: lexer.index)
        guard next < lexer.count else { return false }
        return lexer.bytes[next] == UInt8(ascii: ")") || lexer.bytes[next] == UInt8(ascii: ",")
    }
}
