/// Finds the links of a script: the URLs in its imports, workers and loading calls.
///
/// The scanner does not parse the script. ``ScriptLexer`` splits it into tokens and remembers the last eight. When a
/// string comes, the tokens before it determine its meaning: in `new Worker("a.js")`, the token before the string is `(`, the
/// one before that is `Worker`, and the third is `new`. Most tokens are rejected by one byte, so a scan costs little
/// more than the lexer.
///
/// The base of a link depends on the call:
/// - Imports of a module and URLs that are resolved against `import.meta.url` are relative to the script.
///   They are certain.
/// - Arguments of `fetch`, `Worker` and similar calls are relative to the document that runs the script. For
///   an inline script that is the base of the document's other links, too. An external script does not know
///   its document, and several documents often share it. There, an absolute URL is a link, a path that starts
///   with a slash is a guess (the document may have another origin), and other relative URLs become notes
///   (``LoaderNote``) that are resolved per page.
/// - Arguments of `importScripts` are relative to the worker, which is the script.
struct ScriptScanner {
    let text: SourceText
    let sink: LinkSink
    var lexer: ScriptLexer
    /// Whether the script is part of a document. An external script starts at the first byte of its body.
    let isInline: Bool
    /// The range of the URL in the last `import()`.
    var lastImport: Range<Int>?
    var list = ScriptList(meaning: .own, last: -1)
    /// The start of the token before the last object that was an entry of a precache list; negative if there
    /// was none.
    var lastPrecacheEntry = -1
    var loader = ChunkLoader()
    /// The number of lookaheads in the script so far. They are limited, since a bundle has one loader.
    var lookaheads = 0
    /// Links to URLs that the script does not contain in one piece.
    var implied: [ImpliedLink] = []
    /// The start of the last literal that was added as a link.
    private var lastAdded = -1
    /// The start of the last call of `importScripts`; negative if there was none.
    var importScripts = -1
    /// Whether the script uses `importScripts`, so that it is probably a worker's and its URLs are relative
    /// to itself.
    var isWorker = false
    /// The script's settings for module loaders and its requests to them.
    var modules = ModuleCalls()
    /// The facts that the script contains about the framework that generated the page.
    var framework = FrameworkFacts()
    var reasons: RenderReasons = []
    /// Variables that were assigned a path ending in a folder of `buildFolders`, each with that folder.
    var foldersByName: [(name: [UInt8], folder: StaticString)] = []

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
        if !scanner.isInline { scanner.framework.addNextJSPages(text.bytes) }
        sink.addImplied(scanner.implied)
        sink.addImplied(scanner.loader.links())
        sink.addImplied(scanner.framework.links(isInline: scanner.isInline))
        scanner.finishModules()
        if scanner.loader.isUninterpreted { scanner.reasons.insert(.uninterpretedLoader) }
        sink.table.renderReasons.formUnion(scanner.reasons)
    }

    private mutating func scan() {
        while true {
            let token = lexer.next()
            switch token.kind {
            case .end: return
            case .string, .template: handleLiteral(ScriptLiteral(token))
            case .sourceMap: sink.add(token.range, in: text, .sourceMap, .line)
            case .name: handleName(token.range)
            case .number: handleChunkLoad(token.range)
            case .templatePart: handleTemplatePart(token.range)
            case .templateEnd: handleTemplateEnd(token.range)
            case .punctuator, .regex, .badString: break
            }
        }
    }

    /// Handles a name that may begin a call or an assignment. Most names are rejected by their length and first byte.
    @inline(__always)
    private mutating func handleName(_ range: Range<Int>) {
        switch range.count {
        case 1: handleLoaderProperty(range)
        case 8:
            handleLoaderProperty(range)
            if lexer.bytes[range.lowerBound] == UInt8(ascii: "S") { handleModuleCall(range) }
        case 5:
            if lexer.bytes[range.lowerBound] == UInt8(ascii: "f") {
                handleFetchOfVariable()
                noteSender(["fetch"])
            }
        case 6:
            let first = lexer.bytes[range.lowerBound]
            if first == UInt8(ascii: "d") || first == UInt8(ascii: "a") || first == UInt8(ascii: "i")
                || first == UInt8(ascii: "S")
            {
                handleModuleCall(range)
            }
        case 7:
            handleLoaderProperty(range)
            if lexer.bytes[range.lowerBound] == UInt8(ascii: "r") { handleModuleCall(range) }
        case 9:
            handleModuleCall(range)
            noteSender(["WebSocket", "getScript"])
        case 13, 16: handleModuleCall(range)
        case 3:
            if lexer.isProperty(0), lexer.isName("src", before: 0), isAssigned() {
                reasons.insert(.sendsRequests)
            }
        case 4: if lexer.isProperty(0) { noteSender(["ajax"]) }
        case 11: noteSender(["EventSource"])
        case 14: noteSender(["XMLHttpRequest"])
        default: break
        }
    }

    /// Notes that the script can send requests, if the last name is one of these.
    private mutating func noteSender(_ names: [StaticString]) {
        guard !reasons.contains(.sendsRequests) else { return }
        if names.contains(where: { lexer.isName($0, before: 0) }) { reasons.insert(.sendsRequests) }
    }

    /// Whether an assignment follows.
    private func isAssigned() -> Bool {
        let next = lexer.skipTrivia(from: lexer.index)
        return next + 1 < lexer.count && lexer.bytes[next] == UInt8(ascii: "=")
            && lexer.bytes[next + 1] != UInt8(ascii: "=")
    }

    /// Handles a string or a template without substitutions. The tokens before it determine whether it is a
    /// link.
    private mutating func handleLiteral(_ literal: ScriptLiteral) {
        guard !literal.range.isEmpty else { return }
        switch lexer.firstByte(before: 1) {
        case UInt8(ascii: "("): handleFirstArgument(literal)
        case UInt8(ascii: ","): handleLaterArgument(literal)
        case UInt8(ascii: ":"): handlePropertyValue(literal)
        case UInt8(ascii: "["): handleFirstElement(literal)
        case UInt8(ascii: "f"):
            // A string can follow this name only in imports and exports.
            if lexer.isName("from", before: 1), !lexer.isProperty(1) { handleImport(literal) }
        case UInt8(ascii: "i"):
            if lexer.isName("import", before: 1), !lexer.isProperty(1) { handleImport(literal) }
        case UInt8(ascii: "+"): handleSummand(literal)
        case UInt8(ascii: "="): if isInline { handleConstant(literal) }
        default: break
        }
        if let call = lexer.openings.last, call.bracket == .parenthesis, isDocumentWrite(call.before) {
            scanWrittenMarkup(literal)
        }
        if mayBeContinued { noteComposedSource(literal.range) }
        if mayBeAsset(literal.range), lastAdded != literal.range.lowerBound { handleAssetPath(literal) }
    }

    /// Whether `+` follows the literal that was just read, perhaps after one space, or the end of a statement, such as
    /// `html += "…";`.
    private var mayBeContinued: Bool {
        let next = lexer.index
        guard next + 1 < lexer.count else { return false }
        let byte = lexer.bytes[next]
        return byte == UInt8(ascii: "+") || byte == UInt8(ascii: ";")
            || byte == UInt8(ascii: " ") && lexer.bytes[next + 1] == UInt8(ascii: "+")
    }

    /// Whether a string may be the URL of an asset. Most strings are rejected by their first and last byte.
    private func mayBeAsset(_ range: Range<Int>) -> Bool {
        switch lexer.bytes[range.lowerBound] {
        case UInt8(ascii: "/"): true
        case UInt8(ascii: "s"): range.count > 7 && lexer.bytes[range.lowerBound + 6] == UInt8(ascii: "/")
        default:
            switch lexer.bytes[range.upperBound - 1] {
            case UInt8(ascii: "m"): ScriptScanner.isProgram(text.bytes.part(range))
            case UInt8(ascii: "n"): isWorker && ScriptScanner.isData(text.bytes.part(range))
            case UInt8(ascii: "g"), UInt8(ascii: "f"), UInt8(ascii: "p"), UInt8(ascii: "3"),
                UInt8(ascii: "4"),
                UInt8(ascii: "b"):
                looksLikeFileName(range)
            default: false
            }
        }
    }

    /// Whether the string ends like a file name: `gallery/a.jpg`.
    private func looksLikeFileName(_ range: Range<Int>) -> Bool {
        let name = text.bytes.part(range)
        return name.count > 5 && name.suffix(5).contains(UInt8(ascii: "."))
    }

    mutating func add(_ literal: ScriptLiteral, _ kind: LinkKind, _ flags: LinkFlags = []) {
        lastAdded = literal.range.lowerBound
        sink.add(literal.range, in: text, kind, literal.isTemplate ? .scriptTemplate : .scriptString, flags)
    }

    /// Adds a URL that is relative to the document that runs the script; see ``ScriptScanner``.
    mutating func add(ofDocument literal: ScriptLiteral, _ kind: LinkKind, _ flags: LinkFlags = []) {
        if isInline {
            add(literal, kind, flags)
            return
        }
        switch urlForm(of: literal) {
        case .absolute: add(literal, kind, flags)
        case .rooted: add(literal, kind, flags.union(.isGuess))
        case .dotted, .bare: modules.addURL(value(of: literal), kind)
        }
    }

    /// Whether the literal that was just read is the whole argument rather than the start of an expression.
    var isWholeArgument: Bool {
        let next = lexer.skipTrivia(from: lexer.index)
        guard next < lexer.count else { return false }
        return lexer.bytes[next] == UInt8(ascii: ")") || lexer.bytes[next] == UInt8(ascii: ",")
    }
}

/// The form of the beginning of a URL in a script, which determines its base.
enum ScriptURLForm {
    /// `http:`, `https:` or two slashes.
    case absolute
    /// One slash.
    case rooted
    /// `./` or `../`.
    case dotted
    /// Anything else: a package name, a word, or a relative URL without a leading dot.
    case bare

    init(_ bytes: Bytes) {
        if bytes.starts(with: "//") || bytes.starts(with: "https://") || bytes.starts(with: "http://") {
            self = .absolute
        } else if bytes.first == UInt8(ascii: "/") {
            self = .rooted
        } else if bytes.starts(with: "./") || bytes.starts(with: "../") {
            self = .dotted
        } else {
            self = .bare
        }
    }
}

// MARK: - Calls and assignments

extension ScriptScanner {
    /// Handles the source of a static import or of an export. A package name is not a URL; only an import map
    /// resolves it to one.
    mutating func handleImport(_ literal: ScriptLiteral) {
        guard urlForm(of: literal) != .bare else { return modules.addSpecifier(value(of: literal)) }
        add(literal, importKind(lexer.skipTrivia(from: lexer.index)))
    }

    /// Handles a literal after an opening parenthesis, usually the first argument of a call.
    mutating func handleFirstArgument(_ literal: ScriptLiteral) {
        guard isWholeArgument else { return noteComposedURL(before: 1) }
        if mayBeAngularWorker(literal.range) { handleAngularWorker(literal) }
        switch lexer.firstByte(before: 2) {
        case UInt8(ascii: "i"):
            if lexer.isName("import", before: 2),
                !lexer.isProperty(2) || modules.isSystem || lexer.isName("System", before: 4)
                    || lexer.isName("SystemJS", before: 4)
            {
                guard urlForm(of: literal) != .bare else {
                    return modules.addSpecifier(value(of: literal), isSystem: lexer.isProperty(2))
                }
                lastImport = literal.range.count <= ChunkNameExpression.maxBytes ? literal.range : nil
                if isInline, lastImport != nil { framework.addSvelteKitImport(value(of: literal)) }
                add(literal, importKind(offsetAfterComma()))
            } else if lexer.isName("importScripts", before: 2) {
                importScripts = lexer.tokenStart(before: 2)
                add(literal, .script)
            }
        case UInt8(ascii: "e"): handleChunkLoad(literal.range)
        case UInt8(ascii: "U"):
            if lexer.isName("URL", before: 2), isConstructed(2) { handleNewURL(literal) }
        case UInt8(ascii: "W"):
            if lexer.isName("Worker", before: 2), isConstructed(2) { add(ofDocument: literal, .worker) }
        case UInt8(ascii: "S"):
            if lexer.isName("SharedWorker", before: 2), isConstructed(2) {
                add(ofDocument: literal, .worker)
            }
        case UInt8(ascii: "r"):
            if lexer.isName("require", before: 2) {
                if !lexer.isProperty(2) { modules.addRequired(value(of: literal)) }
            } else if lexer.isName("register", before: 2), lexer.isProperty(2),
                lexer.isName("serviceWorker", before: 4)
            {
                add(ofDocument: literal, .worker)
            } else if lexer.isName("resolve", before: 2), lexer.isProperty(2),
                lexer.isName("meta", before: 4),
                lexer.isName("import", before: 6), urlForm(of: literal) != .bare
            {
                add(literal, .module, .isGuess)
            }
        case UInt8(ascii: "p"):
            if lexer.isName("parse", before: 2), lexer.isName("JSON", before: 4) {
                handleJSONParse(literal)
            }
        case UInt8(ascii: "t"):
            if lexer.isName("toUrl", before: 2), lexer.isName("require", before: 4) {
                modules.add(LoaderNote(.resource, value(of: literal)))
            }
        case UInt8(ascii: "a"):
            // Worklets.
            if lexer.isName("addModule", before: 2), lexer.isProperty(2) {
                add(ofDocument: literal, .worker)
            }
        case UInt8(ascii: "f"):
            if lexer.isName("fetch", before: 2), isGlobal(2), !sendsData() {
                add(ofDocument: literal, .data, .isGuess)
            }
        case UInt8(ascii: "o"):
            if lexer.isName("open", before: 2), lexer.isProperty(2), isGlobal(2) {
                handleWindowOpen(literal)
            }
        case UInt8(ascii: "g"):
            if lexer.isName("getJSON", before: 2) { add(ofDocument: literal, .data, .isGuess) }
            if lexer.isName("getScript", before: 2) { add(ofDocument: literal, .script, .isGuess) }
        default: break
        }
    }

    /// Handles a literal after a comma: a further argument, or an element of a list.
    private mutating func handleLaterArgument(_ literal: ScriptLiteral) {
        if handleNextElement(literal) || handleJoin(literal) { return }
        if importScripts >= 0, lexer.openings.last?.before == importScripts {
            if isWholeArgument { add(literal, .script) }
            return
        }
        // open("GET", "…")
        guard lexer.firstByte(before: 3) == UInt8(ascii: "("), lexer.isName("open", before: 4),
            lexer.isProperty(4)
        else {
            return
        }
        let method = lexer.tokenStart(before: 2) + 1
        let isReading =
            lexer.bytes[method - 1] == lexer.bytes[method + 3] && text.bytes.starts(with: "get", at: method)
        guard isReading else { return }
        if isWholeArgument { add(ofDocument: literal, .data, .isGuess) } else { noteComposedURL() }
    }

    /// Handles `window.open("…")`, which opens a page. An external script does not know its document, so a
    /// relative URL is a link only if it starts with a slash.
    private mutating func handleWindowOpen(_ literal: ScriptLiteral) {
        switch urlForm(of: literal) {
        case .absolute, .rooted: add(literal, .page)
        case .dotted, .bare: if isInline { add(literal, .page) }
        }
    }

    /// Whether an open call, given by the start of its name, is `document.write` or `document.writeln`.
    private func isDocumentWrite(_ start: Int) -> Bool {
        guard start >= 9, lexer.bytes[start] == UInt8(ascii: "w"),
            lexer.bytes[start - 1] == UInt8(ascii: "."),
            lexer.isName("write", at: start) || lexer.isName("writeln", at: start)
        else { return false }
        return text.bytes.part(start - 9..<start).equals("document.")
    }

    /// Scans the markup in a string that the script writes into the document or a part of it.
    func scanWrittenMarkup(_ literal: ScriptLiteral) {
        guard text.bytes.part(literal.range).contains(UInt8(ascii: "<")) else { return }
        text.withUnescaped(literal.range) {
            HTMLScanner.scan(written: $0, sink, isInline ? .inside : .elsewhere)
        }
    }

    // MARK: Details of calls

    /// Whether the name is global: not a property, or a property of the global object.
    func isGlobal(_ distance: Int) -> Bool {
        guard lexer.isProperty(distance) else { return true }
        return ["window", "self", "globalThis"].contains { (name: StaticString) in
            lexer.isName(name, before: distance + 2)
        }
    }

    /// Whether the name is constructed: `new X` or `new window.X`.
    func isConstructed(_ distance: Int) -> Bool {
        lexer.isName("new", before: distance + 1)
            || lexer.isProperty(distance) && lexer.isName("new", before: distance + 3)
    }

    /// Handles `new URL("…", base)`, alone or as the URL of a worker.
    private mutating func handleNewURL(_ literal: ScriptLiteral) {
        guard let base = offsetAfterComma() else { return }
        if isPath(["import", "meta", "url"], at: base) {
            // A worker's constructor precedes `( new URL (`.
            let isWorker =
                lexer.firstByte(before: 4) == UInt8(ascii: "(") && lexer.isName("new", before: 3)
                && Self.workers.contains { lexer.isName($0, before: 5) }
            // `new URL(".", import.meta.url)` computes the URL of a folder and loads nothing by itself.
            let isFolder = [UInt8(ascii: "/"), UInt8(ascii: ".")].contains(
                lexer.bytes[literal.range.upperBound - 1])
            add(literal, isWorker ? .worker : kind(ofFile: literal, else: .data), isFolder ? .isGuess : [])
        } else if let kind = FileEndings.kind(ofFile: text.bytes.part(literal.range)) {
            // Bundlers write these bases instead of `import.meta.url` in classic scripts and classic workers.
            if isPath(["document", "currentScript"], at: base) || isPath(["self", "location"], at: base) {
                add(literal, kind, .isGuess)
            } else if isPath(["document", "baseURI"], at: base) || lexer.isName("location", at: base)
                || isPath(["window", "location"], at: base)
            {
                add(ofDocument: literal, kind, .isGuess)
            }
        }
    }

    private static let workers: [StaticString] = ["Worker", "SharedWorker", "register", "addModule"]

    /// Whether the given names, separated by dots, begin at an offset.
    private func isPath(_ names: [StaticString], at start: Int) -> Bool {
        var offset = start
        for (index, name) in names.enumerated() {
            if index > 0 {
                guard offset < lexer.count, lexer.bytes[offset] == UInt8(ascii: ".") else { return false }
                offset = lexer.skipTrivia(from: offset + 1)
            }
            guard lexer.isName(name, at: offset) else { return false }
            offset = lexer.skipTrivia(from: offset + name.utf8CodeUnitCount)
        }
        return true
    }

    /// Returns the offset of the argument after the comma that follows the literal, or nil if there is no
    /// comma.
    private func offsetAfterComma() -> Int? {
        let next = lexer.skipTrivia(from: lexer.index)
        guard next < lexer.count, lexer.bytes[next] == UInt8(ascii: ",") else { return nil }
        return lexer.skipTrivia(from: next + 1)
    }

    /// Returns the kind of an imported file by the import attributes at `offset`: `with { type: "json" }`.
    private func importKind(_ offset: Int?) -> LinkKind {
        guard var offset, offset < lexer.count else { return .module }
        let isStatement = lexer.isName("with", at: offset) || lexer.isName("assert", at: offset)
        guard isStatement || lexer.bytes[offset] == UInt8(ascii: "{") else { return .module }
        let end = min(offset + 256, lexer.count)
        while offset < end, lexer.bytes[offset] != UInt8(ascii: "}") {
            guard isKey("type", at: offset) else {
                offset += 1
                continue
            }
            while offset < end, lexer.bytes[offset] != UInt8(ascii: ":") { offset += 1 }
            offset = lexer.skipTrivia(from: offset + 1) + 1
            if lexer.isName("css", at: offset) { return .style }
            return lexer.isName("json", at: offset) || lexer.isName("text", at: offset) ? .data : .module
        }
        return .module
    }

    /// Whether the options of a `fetch` name a method other than GET.
    func sendsData() -> Bool {
        guard var offset = offsetAfterComma() else { return false }
        let end = min(offset + 512, lexer.count)
        while offset < end, lexer.bytes[offset] != UInt8(ascii: ")") {
            if lexer.bytes[offset] == UInt8(ascii: "m"), lexer.isName("method", at: offset) {
                while offset < end, lexer.bytes[offset] != UInt8(ascii: ":") { offset += 1 }
                offset = lexer.skipTrivia(from: offset + 1) + 1
                return !text.bytes.starts(with: "get", at: offset)
            }
            offset += 1
        }
        return false
    }

    // MARK: - Files and assets

    /// Handles a string that looks like the path of a file, independent of its call:
    /// - `logo = "/assets/logo-1a2b.svg"`: images that a module imports, if the bundler knows the site's
    ///   root;
    /// - `"static/chunks/12-ab.js"`: files of a Next.js or webpack build, relative to its output folder;
    /// - `"app.wasm"`: a file that a compiled program loads from the folder of its script;
    /// - `"gallery/a.jpg"`: a file that a script shows or plays, relative to the document that runs it.
    mutating func handleAssetPath(_ literal: ScriptLiteral) {
        let address = text.bytes.part(literal.range)
        guard address.count > 5, address.count <= ChunkNameExpression.maxBytes else { return }
        switch address[0] {
        case UInt8(ascii: "/"):
            guard address[1] != UInt8(ascii: "/"), let kind = fileKind(address) else { return }
            add(literal, kind, .isGuess)
        case UInt8(ascii: "s"):
            // After a question mark, the loader builds the string from a chunk name.
            guard address.starts(with: "static/"), lexer.firstByte(before: 1) != UInt8(ascii: "?"),
                let kind = fileKind(address)
            else { return }
            addImplied(literal, kind, .isGuess)
        default:
            guard let kind = fileKind(address, mayBeArgument: true) else { return }
            if Self.isProgram(address) || isWorker && Self.isData(address) {
                if isValue() { add(literal, .data, .isGuess) }
            } else if [.image, .media, .model].contains(kind) {
                add(ofDocument: literal, kind, .isGuess)
            }
        }
    }

    /// Returns the kind of asset that a file of that name is; nil if the string is not a plain file name or
    /// is not used as one.
    private func fileKind(_ address: Bytes, mayBeArgument: Bool = false) -> LinkKind? {
        guard let kind = FileEndings.kind(ofFile: address), kind.role == .asset,
            isValue(orArgument: mayBeArgument),
            address.allSatisfy(Self.isPathByte)
        else { return nil }
        return kind
    }

    /// `….wasm`
    private static func isProgram(_ address: Bytes) -> Bool {
        address.count > 5 && address.starts(with: ".wasm", at: address.count - 5)
    }

    /// `….json`: data that a worker reads from its own folder.
    private static func isData(_ address: Bytes) -> Bool {
        address.count > 5 && address.starts(with: ".json", at: address.count - 5)
    }

    /// Adds the literal's value as the path of a file in the bundler's output.
    mutating func addImplied(_ literal: ScriptLiteral, _ kind: LinkKind, _ flags: LinkFlags = []) {
        guard implied.count < Self.maxImplied else { return }
        implied.append(ImpliedLink(value(of: literal), kind, flags, from: .build))
    }

    /// Returns the literal's value with its escapes decoded.
    func value(of literal: ScriptLiteral) -> String {
        var value: [UInt8] = []
        ScriptText.unescape(text.bytes.part(literal.range), into: &value)
        return String(decoding: value, as: UTF8.self)
    }

    static var maxImplied: Int { 65_536 }

    /// Whether the literal is assigned, listed or returned as a whole, rather than being an operand or a
    /// search pattern.
    private func isValue(orArgument mayBeArgument: Bool = false) -> Bool {
        switch lexer.firstByte(before: 1) {
        case UInt8(ascii: "="):
            let previous = lexer.tokenStart(before: 2)
            guard previous >= 0, previous + 1 == lexer.tokenStart(before: 1) else { break }
            if [UInt8(ascii: "="), UInt8(ascii: "!"), UInt8(ascii: "+")].contains(lexer.bytes[previous]) {
                return false
            }
        case UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "?"), UInt8(ascii: "|"):
            break
        case UInt8(ascii: "("):
            // An argument of an immediately invoked function, or of `locateFile`, which finds a file in the
            // script's folder.
            if !mayBeArgument, lexer.firstByte(before: 2) != UInt8(ascii: "}"),
                !lexer.isName("locateFile", before: 2)
            {
                return false
            }
        case UInt8(ascii: "r"): if !lexer.isName("return", before: 1) { return false }
        default: return false
        }
        let next = lexer.skipTrivia(from: lexer.index)
        guard next < lexer.count else { return true }
        switch lexer.bytes[next] {
        case UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "="), UInt8(ascii: "["): return false
        default: return true
        }
    }

    static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"),
            UInt8(ascii: "@"), UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "="),
            UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "("), UInt8(ascii: ")"), 0x80...:
            true
        default: byte.isLetter || byte.isDigit
        }
    }

    /// Returns the kind of the file that a literal names; `kind` if its ending is not known.
    func kind(ofFile literal: ScriptLiteral, else kind: LinkKind) -> LinkKind {
        FileEndings.kind(ofFile: text.bytes.part(literal.range)) ?? kind
    }

    func urlForm(of literal: ScriptLiteral) -> ScriptURLForm {
        head(literal).withUnsafeBufferPointer { ScriptURLForm($0) }
    }

    /// Returns the first bytes of the literal's value.
    private func head(_ literal: ScriptLiteral) -> [UInt8] {
        var head: [UInt8] = []
        let written = text.bytes.part(
            literal.range.lowerBound..<min(literal.range.upperBound, literal.range.lowerBound + 64))
        if written.contains(UInt8(ascii: "\\")) {
            ScriptText.unescape(written, into: &head)
        } else {
            head.append(contentsOf: written.prefix(8))
        }
        return head
    }
}
