/// The parts of a bundle's loader, collected while the bundle is scanned: the folder of its files and their
/// names.
struct ChunkLoader {
    /// The folder from which the files of the bundle are loaded.
    enum PublicPath {
        case unknown
        /// The bundle contains the folder as a literal.
        case written([UInt8])
        /// The folder is computed at run time from the script's own URL, plus this relative path.
        case script([UInt8])
    }

    /// Beyond these limits, further names, calls and links are ignored.
    private enum Limit {
        static let maxNames = 4096
        static let maxCalls = 65_536
        static let maxLinks = 65_536
        /// The maximum number of loaders whose chunks may be known from calls alone.
        static let maxCallers = 16
    }

    var publicPath = PublicPath.unknown
    private var names: [ChunkNameExpression] = []
    /// The chunks that have a style sheet.
    var chunksWithStyle: Set<[UInt8]> = []
    /// The chunks that the bundle loads by their number or name.
    private var calls: Set<[UInt8]> = []

    /// Whether there was a function that seems to name chunks but could not be interpreted.
    var hasUninterpretedNames = false

    /// Whether the bundle loads chunks whose file names are unknown.
    var isUninterpreted: Bool { hasUninterpretedNames && names.isEmpty && !calls.isEmpty }

    mutating func add(_ name: ChunkNameExpression) {
        if names.count < Limit.maxNames { names.append(name) }
    }

    mutating func add(call chunk: [UInt8]) {
        if calls.count < Limit.maxCalls { calls.insert(chunk) }
    }

    /// Returns the files that the loader can request, sorted.
    func links() -> [ImpliedLink] {
        var links: Set<ImpliedLink> = []
        var callers = 0
        for names in names {
            if let constant = names.constant {
                if let link = link(constant) { links.insert(link) }
                continue
            }
            let chunks = names.chunks
            if chunks.isEmpty {
                for chunk in chunksWithStyle where links.count < Limit.maxLinks {
                    if let name = names.name(of: chunk), let link = link(name), link.kind == .style {
                        links.insert(link)
                    }
                }
            }
            for chunk in chunks where links.count < Limit.maxLinks {
                if let name = names.name(of: chunk), let link = link(name) { links.insert(link) }
            }
            callers += 1
            guard callers <= Limit.maxCallers else { continue }
            // Only calls mention chunks without a name or a hash of their own.
            for chunk in calls where links.count < Limit.maxLinks && !chunks.contains(chunk) {
                guard let name = names.name(of: chunk), let link = link(name), link.kind != .style else {
                    continue
                }
                links.insert(ImpliedLink(link.reference, link.kind, .isGuess, from: link.base))
            }
        }
        return links.sorted { $0.reference < $1.reference }
    }

    private func link(_ name: [UInt8]) -> ImpliedLink? {
        // There is no such file if a template has no value, or the hash is that of empty content.
        let text = String(decoding: name, as: UTF8.self)
        guard !name.contains(where: \.isSpace), !text.contains("31d6cfe0d16ae931"),
            !text.contains("undefined"),
            let kind = name.withUnsafeBufferPointer({ FileEndings.kind(ofFile: $0) })
        else { return nil }
        switch publicPath {
        case .script(let up):
            return ImpliedLink(String(decoding: up, as: UTF8.self) + text, kind)
        case .written(let path):
            let prefix = String(decoding: path, as: UTF8.self)
            switch path.withUnsafeBufferPointer({ ScriptURLForm($0) }) {
            case .absolute, .rooted: return ImpliedLink(prefix + text, kind)
            // The path is relative to the page, which the script does not know. It is almost always that of
            // the build.
            case .dotted: return ImpliedLink(prefix + text, kind, .isGuess, from: .build)
            case .bare: break
            }
            let isPlaceholder = path.contains {
                $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "%")
            }
            return ImpliedLink(isPlaceholder ? text : prefix + text, kind, .isGuess, from: .build)
        case .unknown:
            return ImpliedLink(text, kind, .isGuess, from: .build)
        }
    }
}

// Webpack and Rspack keep the parts of their loader as properties of one function, whose name varies: `p` is
// the public path, `u` returns the name of a chunk's script, `miniCssF` and `k` return that of its style
// sheet, and `e` loads a chunk. Webpack 4 has no `u`: it composes `p + "js/" + …` where it loads. `p +
// "media/a.png"` is a file that a module imports.
extension ScriptScanner {
    /// Handles a property name that may be one of those.
    mutating func handleLoaderProperty(_ range: Range<Int>) {
        guard lexer.isProperty(0) else { return }
        switch range.count {
        case 1:
            switch lexer.bytes[range.lowerBound] {
            case UInt8(ascii: "p"): handlePublicPath()
            case UInt8(ascii: "u"), UInt8(ascii: "k"): handleChunkNameFunction()
            default: break
            }
        case 7:
            if lexer.isName("miniCss", before: 0), loader.chunksWithStyle.isEmpty { handleStyledChunks() }
        case 8: if lexer.isName("miniCssF", before: 0) { handleChunkNameFunction() }
        default: break
        }
    }

    /// Handles `.u = chunk => …`.
    private mutating func handleChunkNameFunction() {
        guard let start = offsetAfterEquals() else { return }
        var parser = ChunkNameParser(text.bytes, lexer.ahead(from: start))
        if let names = parser.function() {
            loader.add(names)
        } else if lexer.isName("function", at: lexer.skipTrivia(from: start))
            || lexer.firstByte(before: 0) != 0
        {
            loader.hasUninterpretedNames = true
        }
    }

    /// Handles `.miniCss = (chunk, promises) => { … {12: 1, 34: 1}[chunk] … }`, which lists the chunks with a
    /// style sheet.
    private mutating func handleStyledChunks() {
        guard let start = offsetAfterEquals(), lookaheads < 8 else { return }
        lookaheads += 1
        var ahead = lexer.ahead(from: start)
        var chunks: Set<[UInt8]> = []
        var key: [UInt8]?
        for _ in 0..<400 {
            let token = ahead.next()
            switch token.kind {
            case .number, .name, .string:
                let text = ChunkNameParser.number(text.bytes.part(token.range))
                if text == [UInt8(ascii: "1")], let chunk = key,
                    ahead.firstByte(before: 1) == UInt8(ascii: ":")
                {
                    chunks.insert(chunk)
                } else {
                    key = text
                }
            case .punctuator:
                switch lexer.bytes[token.range.lowerBound] {
                case UInt8(ascii: "}"):
                    guard chunks.isEmpty else {
                        loader.chunksWithStyle = chunks
                        return
                    }
                case UInt8(ascii: ":"), UInt8(ascii: ","): break
                default: chunks = []
                }
            case .end: return
            case .template, .templatePart, .templateEnd, .regex, .badString, .sourceMap: chunks = []
            }
        }
    }

    private mutating func handlePublicPath() {
        let next = lexer.skipTrivia(from: lexer.index)
        guard next < lexer.count else { return }
        if lexer.bytes[next] == UInt8(ascii: "+") {
            guard next + 1 < lexer.count, lexer.bytes[next + 1] != UInt8(ascii: "+"),
                lexer.bytes[next + 1] != UInt8(ascii: "=")
            else { return }
            var parser = ChunkNameParser(text.bytes, lexer.ahead(from: next + 1))
            if let names = parser.expression() { loader.add(names) }
        } else if let start = offsetAfterEquals() {
            if case .written = loader.publicPath { return }
            var parser = ChunkNameParser(text.bytes, lexer.ahead(from: start))
            guard let value = parser.expression() else { return }
            if let written = value.constant, written.first.map({ !$0.isDigit }) ?? true {
                loader.publicPath = .written(written)
            } else if isOwnFolder {
                loader.publicPath = .script(Self.suffix(value))
            }
        }
    }

    /// Whether `.replace(/…/, "/")` precedes the assignment, which removes the file name from the script's
    /// own URL.
    private var isOwnFolder: Bool {
        let text = lexer.tokenStart(before: 5)
        guard lexer.firstByte(before: 4) == UInt8(ascii: ")"), text >= 0, text + 2 < lexer.count else {
            return false
        }
        return lexer.bytes[text + 1] == UInt8(ascii: "/") && lexer.bytes[text + 2] == lexer.bytes[text]
    }

    /// Returns the relative path in `folder + "../"`.
    private static func suffix(_ names: ChunkNameExpression) -> [UInt8] {
        guard case .sum(let parts) = names, let last = parts.last?.constant else { return [] }
        return last
    }

    /// Handles `.e(12)` and `.e("name")`.
    mutating func handleChunkLoad(_ chunk: Range<Int>) {
        guard lexer.firstByte(before: 1) == UInt8(ascii: "("), lexer.isName("e", before: 2),
            lexer.isProperty(2)
        else {
            return
        }
        loader.add(call: ChunkNameParser.number(text.bytes.part(chunk)))
    }

    /// Returns the offset after an `=` that assigns; nil if the next token is something else.
    private func offsetAfterEquals() -> Int? {
        let next = lexer.skipTrivia(from: lexer.index)
        guard next + 1 < lexer.count, lexer.bytes[next] == UInt8(ascii: "="),
            lexer.bytes[next + 1] != UInt8(ascii: "=")
        else {
            return nil
        }
        return next + 1
    }
}
