// Webpack and Rspack keep what their loader needs as properties of one function, whatever it is called: `p` is the public
// path, `u` makes the name of a chunk's script, `miniCssF` and `k` that of its stylesheet, `e` loads a chunk. Webpack 4 has
// no `u`: it puts `p + "js/" + …` together where it loads. `p + "media/a.png"` is a file that a module imports.
extension ScriptScanner {
    /// A name behind a dot that may be one of those.
    mutating func loaderProperty(_ range: Range<Int>) {
        guard lexer.isProperty(0) else { return }
        switch range.count {
        case 1:
            switch lexer.bytes[range.lowerBound] {
            case UInt8(ascii: "p"): publicPath()
            case UInt8(ascii: "u"), UInt8(ascii: "k"): fileNames()
            default: break
            }
        case 7: if lexer.name(before: 0, is: "miniCss"), loader.styled.isEmpty { styledChunks() }
        case 8: if lexer.name(before: 0, is: "miniCssF") { fileNames() }
        default: break
        }
    }

    /// `.u = chunk => …`
    private mutating func fileNames() {
        guard let start = behindEquals() else { return }
        var parser = ChunkNamesParser(text.bytes, lexer.ahead(from: start))
        if let names = parser.function() { loader.add(names) }
    }

    /// `.miniCss = (chunk, promises) => { … {12: 1, 34: 1}[chunk] … }`: the chunks that have a stylesheet.
    private mutating func styledChunks() {
        guard let start = behindEquals(), lookaheads < 8 else { return }
        lookaheads += 1
        var ahead = lexer.ahead(from: start)
        var chunks: Set<[UInt8]> = []
        var key: [UInt8]?
        for _ in 0..<400 {
            let token = ahead.next()
            switch token.kind {
            case .number, .name, .string:
                let text = ChunkNamesParser.number(text.bytes.part(token.range))
                if text == [UInt8(ascii: "1")], let chunk = key, ahead.mark(before: 1) == UInt8(ascii: ":") {
                    chunks.insert(chunk)
                } else {
                    key = text
                }
            case .mark:
                switch lexer.bytes[token.range.lowerBound] {
                case UInt8(ascii: "}"):
                    guard chunks.isEmpty else {
                        loader.styled = chunks
                        return
                    }
                case UInt8(ascii: ":"), UInt8(ascii: ","): break
                default: chunks = []
                }
            case .end: return
            case .template, .templatePart, .templateEnd, .expression, .badString, .sourceMap: chunks = []
            }
        }
    }

    private mutating func publicPath() {
        let next = lexer.trivia(from: lexer.index)
        guard next < lexer.count else { return }
        if lexer.bytes[next] == UInt8(ascii: "+") {
            guard next + 1 < lexer.count, lexer.bytes[next + 1] != UInt8(ascii: "+"),
                lexer.bytes[next + 1] != UInt8(ascii: "=")
            else { return }
            var parser = ChunkNamesParser(text.bytes, lexer.ahead(from: next + 1))
            if let names = parser.expression() { loader.add(names) }
        } else if let start = behindEquals() {
            if case .written = loader.publicPath { return }
            var parser = ChunkNamesParser(text.bytes, lexer.ahead(from: start))
            guard let value = parser.expression() else { return }
            if let written = value.constant, written.first.map({ !$0.isDigit }) ?? true {
                loader.publicPath = .written(written)
            } else if isOwnFolder {
                loader.publicPath = .script(Self.suffix(value))
            }
        }
    }

    /// `.replace(/…/, "/")` in front of the assignment: what cuts the file from the script's own address.
    private var isOwnFolder: Bool {
        let text = lexer.before(5)
        guard lexer.mark(before: 4) == UInt8(ascii: ")"), text >= 0, text + 2 < lexer.count else { return false }
        return lexer.bytes[text + 1] == UInt8(ascii: "/") && lexer.bytes[text + 2] == lexer.bytes[text]
    }

    /// `folder + "../"`
    private static func suffix(_ names: ChunkNames) -> [UInt8] {
        guard case .sum(let parts) = names, let last = parts.last?.constant else { return [] }
        return last
    }

    /// `.e(12)`, `.e("name")`
    mutating func loaderCall(_ chunk: Range<Int>) {
        guard lexer.mark(before: 1) == UInt8(ascii: "("), lexer.name(before: 2, is: "e"), lexer.isProperty(2) else {
            return
        }
        loader.add(call: ChunkNamesParser.number(text.bytes.part(chunk)))
    }

    /// The place behind an `=` that assigns.
    private func behindEquals() -> Int? {
        let next = lexer.trivia(from: lexer.index)
        guard next + 1 < lexer.count, lexer.bytes[next] == UInt8(ascii: "="), lexer.bytes[next + 1] != UInt8(ascii: "=")
        else {
            return nil
        }
        return next + 1
    }
}
