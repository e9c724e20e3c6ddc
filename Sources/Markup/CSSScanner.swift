/// Finds the links of a style sheet, of a style attribute, or of the value of one property.
struct CSSScanner {
    /// An open construct around a token, as far as it affects the meaning of a string or a URL.
    private enum Scope {
        case plain
        /// `@font-face { … }`, where URLs are fonts.
        case font
        /// Inside `url(` or `src(`, where the first string is the URL.
        case address
        /// `image-set(` or `image(`, where every string is a URL.
        case images
        /// An old filter: `AlphaImageLoader(src="…")`.
        case loader
    }

    /// The part of a rule before its block or semicolon.
    private enum Prelude {
        case none
        /// `@import`, followed by only white space and comments up to this offset.
        case importing(Int)
        case fontFace
        /// `@namespace` or `@document`, where what looks like a URL is only a name.
        case naming
    }

    private let text: SourceText
    private let sink: LinkSink
    private let kind: LinkKind
    private var lexer: CSSLexer
    private var scopes: [(closer: UInt8, scope: Scope)] = []
    private var openBlocks = 0
    private var openFonts = 0
    private var prelude = Prelude.none
    /// The start of the last `url(` or `src(`.
    private var functionStart = 0
    /// The start of the current declaration, if there is one.
    private var declarationStart = 0

    private init(_ text: SourceText, _ sink: LinkSink, _ kind: LinkKind) {
        self.text = text
        self.sink = sink
        self.kind = kind
        lexer = CSSLexer(text.bytes)
    }

    /// Scans a text. `kind` is the kind of URLs in properties, unless the rule around them determines it.
    static func scan(_ text: SourceText, _ sink: LinkSink, kind: LinkKind = .image) {
        var scanner = CSSScanner(text, sink, kind)
        scanner.scan()
    }

    private mutating func scan() {
        while let token = lexer.next() {
            switch token {
            case .string(let range): handleString(range)
            case .url(let range): addURL(range, .cssURL, from: lexer.tokenStart)
            case .function(let name): handleFunction(name)
            case .atKeyword(let name): handleAtKeyword(name)
            case .open(let mark): open(mark)
            case .close(let mark): close(mark)
            case .semicolon:
                prelude = .none
                declarationStart = lexer.index
            case .comment(let range): handleComment(range)
            case .badString: if scopes.last?.scope == .address { scopes[scopes.count - 1].scope = .plain }
            case .badURL: break
            }
        }
    }

    private mutating func handleString(_ range: Range<Int>) {
        let scope = scopes.last?.scope
        let start = scope == .address ? functionStart : lexer.tokenStart
        // In an unclosed `url(`, only the first string is a URL.
        if scope == .address { scopes[scopes.count - 1].scope = .plain }
        if case .importing = prelude {
            addURL(range, .cssString, from: start)
            return
        }
        switch scope {
        case .address, .images: addURL(range, .cssString, from: start)
        case .loader: if isSource(range) { addURL(range, .cssString, from: start, isLoader: true) }
        case .plain, .font, nil: break
        }
    }

    /// Whether `src=` precedes the string.
    private func isSource(_ range: Range<Int>) -> Bool {
        var index = range.lowerBound - 1
        while index > 0, text.bytes[index - 1].isSpace { index -= 1 }
        guard index > 0, text.bytes[index - 1] == UInt8(ascii: "=") else { return false }
        index -= 1
        while index > 0, text.bytes[index - 1].isSpace { index -= 1 }
        return index >= 3 && text.bytes.starts(with: "src", at: index - 3)
    }

    /// Adds a URL. `start` is the start of its string or of the function around it.
    private mutating func addURL(
        _ range: Range<Int>, _ inner: LinkContext.Inner, from start: Int, isLoader: Bool = false
    ) {
        let range = inner == .cssString ? trimmed(range) : range
        switch prelude {
        case .naming: return
        case .importing(let end):
            prelude = .none
            guard start >= end, isBlank(end..<start) else { return }
            sink.add(range, in: text, .style, inner)
        case .none, .fontFace:
            let flags: LinkFlags = !isLoader && isForCORSProperty(start) ? .isCORS : []
            sink.add(range, in: text, openFonts > 0 ? .font : kind, inner, flags)
        }
    }

    /// Properties that clip or filter an element with an image. The page could infer the image's content from
    /// the result, so browsers load it in CORS mode (CSS Masking, section 6; Shapes, section 3; Filter
    /// Effects, section 15).
    private static let corsProperties: [StaticString] = [
        "mask", "mask-image", "mask-border", "mask-border-source", "mask-box-image", "mask-box-image-source",
        "clip-path",
        "filter", "backdrop-filter", "shape-outside",
    ]

    /// Whether the declaration around a URL at `start` is for one of those properties.
    private func isForCORSProperty(_ start: Int) -> Bool {
        var begin = declarationStart
        while begin < start, text.bytes[begin].isSpace { begin += 1 }
        // An unclosed `url(` may start before the declaration.
        guard begin < start else { return false }
        let head = text.bytes.part(begin..<min(start, begin + 64))
        guard let colon = head.firstIndex(of: UInt8(ascii: ":")) else { return false }
        var name = head.part(head.trimmed(0..<colon))
        if name.starts(with: "-webkit-") { name = name.part(8..<name.count) }
        return Self.corsProperties.contains { CSSText.isName(name, equalTo: $0) }
    }

    /// Returns the range without surrounding white space, except for white space that is part of an escape.
    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        let inside = text.bytes.trimmed(range)
        let endsInEscape = !inside.isEmpty && text.bytes[inside.upperBound - 1] == UInt8(ascii: "\\")
        return inside.lowerBound..<(endsInEscape ? range.upperBound : inside.upperBound)
    }

    private mutating func handleFunction(_ range: Range<Int>) {
        let name = text.bytes.part(range)
        var scope = Scope.plain
        if CSSText.isName(name, equalTo: "url") || CSSText.isName(name, equalTo: "src") {
            scope = .address
            functionStart = range.lowerBound
        } else {
            if case .importing = prelude { prelude = .none }
            if CSSText.isName(name, equalTo: "image-set")
                || CSSText.isName(name, equalTo: "-webkit-image-set")
                || CSSText.isName(name, equalTo: "image")
            {
                scope = .images
            } else if name.count >= 16, name.part(name.count - 16..<name.count).equals("alphaimageloader") {
                scope = .loader
            }
        }
        scopes.append((UInt8(ascii: ")"), scope))
    }

    private mutating func handleAtKeyword(_ range: Range<Int>) {
        let name = text.bytes.part(range)
        if CSSText.isName(name, equalTo: "import") {
            prelude = .importing(range.upperBound)
        } else if CSSText.isName(name, equalTo: "font-face") {
            prelude = .fontFace
        } else if CSSText.isName(name, equalTo: "namespace") || CSSText.isName(name, equalTo: "document")
            || CSSText.isName(name, equalTo: "-moz-document")
        {
            prelude = .naming
        } else {
            prelude = .none
        }
    }

    private mutating func open(_ mark: UInt8) {
        switch mark {
        case UInt8(ascii: "{"):
            openBlocks += 1
            if case .fontFace = prelude {
                openFonts += 1
                scopes.append((UInt8(ascii: "}"), .font))
            } else {
                scopes.append((UInt8(ascii: "}"), .plain))
            }
            prelude = .none
        case UInt8(ascii: "["): scopes.append((UInt8(ascii: "]"), .plain))
        default: scopes.append((UInt8(ascii: ")"), .plain))
        }
        if mark == UInt8(ascii: "{") { declarationStart = lexer.index }
    }

    /// Closes the innermost construct. A `}` also closes everything that is still open in its block.
    private mutating func close(_ mark: UInt8) {
        let isBlock = mark == UInt8(ascii: "}")
        if isBlock { declarationStart = lexer.index }
        guard scopes.last?.closer == mark || (isBlock && openBlocks > 0) else { return }
        while let last = scopes.popLast() {
            if last.scope == .font { openFonts -= 1 }
            if last.closer == mark { break }
        }
        if isBlock { openBlocks -= 1 }
    }

    private func isBlank(_ range: Range<Int>) -> Bool {
        text.bytes[range].allSatisfy(\.isSpace)
    }

    /// Handles `/*# sourceMappingURL=… */`.
    private mutating func handleComment(_ range: Range<Int>) {
        if case .importing(let end) = prelude, isBlank(end..<lexer.tokenStart) {
            prelude = .importing(lexer.index)
        }
        if isBlank(declarationStart..<lexer.tokenStart) { declarationStart = lexer.index }
        let bytes = text.bytes.part(range)
        guard bytes.starts(with: "# sourcemappingurl=") || bytes.starts(with: "@ sourcemappingurl=") else {
            return
        }
        let rest = text.bytes.trimmed(range.lowerBound + 19..<range.upperBound)
        let end = text.bytes[rest].firstIndex(where: \.isSpace) ?? rest.upperBound
        sink.add(rest.lowerBound..<end, in: text, .sourceMap, .line)
    }
}
