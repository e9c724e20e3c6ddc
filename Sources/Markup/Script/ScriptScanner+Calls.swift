extension ScriptScanner {
    /// The source of a static import or of an export. The name of a package is no address: only an import map makes it one.
    mutating func imported(_ literal: ScriptLiteral) {
        guard address(literal) != .bare else { return }
        add(literal, importedKind(lexer.trivia(from: lexer.index)))
    }

    /// The first argument of a call, or what else stands behind a parenthesis.
    mutating func argument(_ literal: ScriptLiteral) {
        guard isWhole(literal) else { return }
        switch lexer.mark(before: 2) {
        case UInt8(ascii: "i"):
            if lexer.name(before: 2, is: "import"), !lexer.isProperty(2) || lexer.name(before: 4, is: "System") {
                guard address(literal) != .bare else { return }
                imported = literal.range.count <= ChunkNames.maximalLength ? literal.range : nil
                add(literal, importedKind(behindComma()))
            } else if lexer.name(before: 2, is: "importScripts") {
                importScripts = lexer.before(2)
                add(literal, .script)
            }
        case UInt8(ascii: "e"): loaderCall(literal.range)
        case UInt8(ascii: "U"):
            if lexer.name(before: 2, is: "URL"), isConstructed(2) { resolved(literal) }
        case UInt8(ascii: "W"):
            if lexer.name(before: 2, is: "Worker"), isConstructed(2) { add(ofDocument: literal, .worker) }
        case UInt8(ascii: "S"):
            if lexer.name(before: 2, is: "SharedWorker"), isConstructed(2) { add(ofDocument: literal, .worker) }
        case UInt8(ascii: "r"):
            if lexer.name(before: 2, is: "register"), lexer.isProperty(2), lexer.name(before: 4, is: "serviceWorker") {
                add(ofDocument: literal, .worker)
            } else if lexer.name(before: 2, is: "resolve"), lexer.isProperty(2), lexer.name(before: 4, is: "meta"),
                lexer.name(before: 6, is: "import"), address(literal) != .bare
            {
                add(literal, .module, .isGuess)
            }
        case UInt8(ascii: "a"):
            // Worklets.
            if lexer.name(before: 2, is: "addModule"), lexer.isProperty(2) { add(ofDocument: literal, .worker) }
        case UInt8(ascii: "f"):
            if lexer.name(before: 2, is: "fetch"), isGlobal(2), !sendsData() {
                add(ofDocument: literal, .data, .isGuess)
            }
        case UInt8(ascii: "o"):
            if lexer.name(before: 2, is: "open"), lexer.isProperty(2), isGlobal(2) { opened(literal) }
        case UInt8(ascii: "g"):
            if lexer.name(before: 2, is: "getJSON") { add(ofDocument: literal, .data, .isGuess) }
            if lexer.name(before: 2, is: "getScript") { add(ofDocument: literal, .script, .isGuess) }
        default: break
        }
    }

    /// A literal behind a comma: a further argument, or an element of a list.
    mutating func laterArgument(_ literal: ScriptLiteral) {
        if nextElement(literal) { return }
        if importScripts >= 0, lexer.openings.last?.before == importScripts {
            if isWhole(literal) { add(literal, .script) }
            return
        }
        // open("GET", "…")
        guard lexer.mark(before: 3) == UInt8(ascii: "("), lexer.name(before: 4, is: "open"), lexer.isProperty(4) else {
            return
        }
        let method = lexer.before(2) + 1
        let isReading = lexer.bytes[method - 1] == lexer.bytes[method + 3] && text.bytes.starts(with: "get", at: method)
        if isReading, isWhole(literal) { add(ofDocument: literal, .data, .isGuess) }
    }

    /// `window.open("…")`: a page, which a document that nobody knows may name by its root alone.
    private mutating func opened(_ literal: ScriptLiteral) {
        switch address(literal) {
        case .absolute, .rooted: add(literal, .page)
        case .dotted, .bare: if isInline { add(literal, .page) }
        }
    }

    /// Whether a call that is open is `document.write` or `writeln`, by where its name starts.
    func isWriting(_ start: Int) -> Bool {
        guard start >= 9, lexer.bytes[start] == UInt8(ascii: "w"), lexer.bytes[start - 1] == UInt8(ascii: "."),
            lexer.name(at: start, is: "write") || lexer.name(at: start, is: "writeln")
        else { return false }
        return text.bytes.part(start - 9..<start).equals("document.")
    }

    /// The markup in a string that is written into the document, or in a part of it.
    func written(_ literal: ScriptLiteral) {
        guard text.bytes.part(literal.range).contains(UInt8(ascii: "<")) else { return }
        text.withUnescaped(literal.range) { HTMLScanner.scan(written: $0, sink, isInline ? .inside : .elsewhere) }
    }

    // MARK: Details of calls

    /// Not a method of some object, unless it is the global one.
    private func isGlobal(_ distance: Int) -> Bool {
        guard lexer.isProperty(distance) else { return true }
        return ["window", "self", "globalThis"].contains { (name: StaticString) in
            lexer.name(before: distance + 2, is: name)
        }
    }

    /// `new X`, also `new window.X`.
    private func isConstructed(_ distance: Int) -> Bool {
        lexer.name(before: distance + 1, is: "new")
            || lexer.isProperty(distance) && lexer.name(before: distance + 3, is: "new")
    }

    /// `new URL("…", base)`, by itself or as the address of a worker.
    private mutating func resolved(_ literal: ScriptLiteral) {
        guard let base = behindComma() else { return }
        if isPath(["import", "meta", "url"], at: base) {
            // Constructors of workers stand in front of `( new URL (`.
            let isWorker =
                lexer.mark(before: 4) == UInt8(ascii: "(") && lexer.name(before: 3, is: "new")
                && Self.workers.contains { lexer.name(before: 5, is: $0) }
            // `new URL(".", import.meta.url)` asks for a folder, and loads nothing by itself.
            let isFolder = [UInt8(ascii: "/"), UInt8(ascii: ".")].contains(lexer.bytes[literal.range.upperBound - 1])
            add(literal, isWorker ? .worker : kind(ofFile: literal, else: .data), isFolder ? .isGuess : [])
        } else if let kind = Self.kind(ofFile: text.bytes.part(literal.range)) {
            // What bundlers write for it in classic scripts and in classic workers.
            if isPath(["document", "currentScript"], at: base) || isPath(["self", "location"], at: base) {
                add(literal, kind, .isGuess)
            } else if isPath(["document", "baseURI"], at: base) || lexer.name(at: base, is: "location")
                || isPath(["window", "location"], at: base)
            {
                add(ofDocument: literal, kind, .isGuess)
            }
        }
    }

    private static let workers: [StaticString] = ["Worker", "SharedWorker", "register", "addModule"]

    /// Whether these names stand there, with dots between them.
    private func isPath(_ names: [StaticString], at start: Int) -> Bool {
        var place = start
        for (index, name) in names.enumerated() {
            if index > 0 {
                guard place < lexer.count, lexer.bytes[place] == UInt8(ascii: ".") else { return false }
                place = lexer.trivia(from: place + 1)
            }
            guard lexer.name(at: place, is: name) else { return false }
            place = lexer.trivia(from: place + name.utf8CodeUnitCount)
        }
        return true
    }

    /// The place behind the comma that follows the literal.
    private func behindComma() -> Int? {
        let next = lexer.trivia(from: lexer.index)
        guard next < lexer.count, lexer.bytes[next] == UInt8(ascii: ",") else { return nil }
        return lexer.trivia(from: next + 1)
    }

    /// What an import gives, by its attributes at `place`: `with { type: "json" }`.
    private func importedKind(_ place: Int?) -> LinkKind {
        guard var place, place < lexer.count else { return .module }
        let isStatement = lexer.name(at: place, is: "with") || lexer.name(at: place, is: "assert")
        guard isStatement || lexer.bytes[place] == UInt8(ascii: "{") else { return .module }
        let end = min(place + 256, lexer.count)
        while place < end, lexer.bytes[place] != UInt8(ascii: "}") {
            guard isKey("type", at: place) else {
                place += 1
                continue
            }
            while place < end, lexer.bytes[place] != UInt8(ascii: ":") { place += 1 }
            place = lexer.trivia(from: place + 1) + 1
            if lexer.name(at: place, is: "css") { return .style }
            return lexer.name(at: place, is: "json") || lexer.name(at: place, is: "text") ? .data : .module
        }
        return .module
    }

    /// Whether the options of a `fetch` name another method than GET.
    private func sendsData() -> Bool {
        guard var place = behindComma() else { return false }
        let end = min(place + 512, lexer.count)
        while place < end, lexer.bytes[place] != UInt8(ascii: ")") {
            if lexer.bytes[place] == UInt8(ascii: "m"), lexer.name(at: place, is: "method") {
                while place < end, lexer.bytes[place] != UInt8(ascii: ":") { place += 1 }
                place = lexer.trivia(from: place + 1) + 1
                return !text.bytes.starts(with: "get", at: place)
            }
            place += 1
        }
        return false
    }
}
