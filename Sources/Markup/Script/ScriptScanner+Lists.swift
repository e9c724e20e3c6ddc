extension ScriptScanner {
    /// The first element of a list.
    mutating func firstElement(_ literal: ScriptLiteral) {
        guard let meaning = meaning(literal) else { return }
        list = ScriptList(meaning: meaning, last: lexer.before(0))
        add(literal, listedAs: meaning)
    }

    /// A further element; false when the literal belongs to no list that is known.
    mutating func nextElement(_ literal: ScriptLiteral) -> Bool {
        let isNext = list.last >= 0 && lexer.before(2) == list.last
        let isBehindEntry =
            precached >= 0 && lexer.mark(before: 2) == UInt8(ascii: "}") && lexer.closed.before == precached
        guard isNext || isBehindEntry else { return false }
        if isBehindEntry { list.meaning = .precached }
        list.last = lexer.before(0)
        add(literal, listedAs: list.meaning)
        return true
    }

    /// What stands in front of the bracket.
    private mutating func meaning(_ literal: ScriptLiteral) -> ScriptList.Meaning? {
        switch lexer.mark(before: 2) {
        case UInt8(ascii: "="):
            // Vite: `m.f = […]`, before 5.1 `__vite__mapDeps.viteFileDeps = […]`. Workbox:
            // `self.__WB_MANIFEST = […]`.
            if lexer.name(before: 3, is: "f"), lexer.name(before: 5, is: "m"), lexer.isProperty(3) {
                return .build
            }
            if lexer.name(before: 3, is: "viteFileDeps") { return .build }
            if lexer.name(before: 3, is: "__WB_MANIFEST") || lexer.name(before: 3, is: "__precacheManifest") {
                return .precached
            }
        case UInt8(ascii: ","):
            // Vite before 5: `preload(() => import("./a.js"), ["assets/a.js", "assets/a.css"])`.
            if let imported, isSameFile(literal.range, imported) { return .build }
        case UInt8(ascii: "("):
            if lexer.name(before: 3, is: "register"), lexer.name(before: 5, is: "System") {
                modules.isSystem = true
                return .own
            }
            if lexer.name(before: 3, is: "define") { workboxRuntime(literal) }
            if lexer.name(before: 3, is: "precacheAndRoute") || lexer.name(before: 3, is: "addAll") {
                return .precached
            }
        default: break
        }
        return nil
    }

    private mutating func add(_ literal: ScriptLiteral, listedAs meaning: ScriptList.Meaning) {
        let address = address(literal)
        let kind = kind(ofFile: literal, else: meaning == .own ? .script : .data)
        switch meaning {
        case .own:
            if address != .bare {
                add(literal, kind)
            } else {
                modules.add(specifier: value(of: literal), isSystem: true)
            }
        case .precached: add(literal, kind)
        case .build:
            let module = kind == .script ? .module : kind
            if address != .bare {
                add(literal, module)
            } else {
                imply(literal, module)
            }
        }
    }

    /// `define(["./workbox-1d305bb8"], …)`: a service worker made by Workbox loads its runtime by that name
    /// and `.js`.
    private mutating func workboxRuntime(_ literal: ScriptLiteral) {
        let name = text.bytes.part(literal.range)
        guard name.starts(with: "./workbox-"), name.count <= ChunkNames.maximalLength,
            !name.contains(UInt8(ascii: "\\"))
        else { return }
        implied.append(ImpliedLink(String(decoding: name, as: UTF8.self) + ".js", .script))
    }

    /// Whether two addresses end with the same file.
    private func isSameFile(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        let slash = UInt8(ascii: "/")
        let one = text.bytes.part(one)
        let other = text.bytes.part(other)
        return one.suffix(from: (one.lastIndex(of: slash) ?? -1) + 1)
            .elementsEqual(other.suffix(from: (other.lastIndex(of: slash) ?? -1) + 1))
    }

    /// `{url: "…", revision: "…"}`, in any order: an entry of a service worker's precache list, relative to
    /// the worker.
    mutating func property(_ literal: ScriptLiteral) {
        let key = lexer.before(2)
        guard key >= 0 else { return }
        frameworkProperty(literal, key)
        guard isKey("url", at: key), let object = lexer.openings.last, object.mark == .brace else { return }
        let isEntry =
            isRevision(from: lexer.index, to: lexer.count)
            || isRevision(from: max(object.before, key - 256, 0), to: key)
        guard isEntry else { return }
        precached = object.before
        add(literal, kind(ofFile: literal, else: .data))
    }

    /// Whether there is a key `revision` in the next few bytes of a flat object.
    private func isRevision(from start: Int, to end: Int) -> Bool {
        var place = start
        var isFound = false
        let end = min(start + 256, end)
        while place < end {
            switch lexer.bytes[place] {
            case UInt8(ascii: "}"): return isFound
            case UInt8(ascii: "{"): isFound = false
            case UInt8(ascii: "r"): isFound = isFound || lexer.name(at: place, is: "revision")
            default: break
            }
            place += 1
        }
        return isFound
    }

    /// A key of an object, with quotes or without.
    func isKey(_ name: StaticString, at start: Int) -> Bool {
        guard start < lexer.count else { return false }
        let isQuoted = lexer.bytes[start] == UInt8(ascii: "\"") || lexer.bytes[start] == UInt8(ascii: "'")
        return lexer.name(at: isQuoted ? start + 1 : start, is: name)
    }
}

/// A list of literals whose first element stood behind something that says what it lists.
struct ScriptList {
    enum Meaning {
        /// Addresses relative to the script.
        case own
        /// Files of a bundler's output, from its folder, unless a dot or a slash says otherwise.
        case build
        /// What a service worker stores before it is needed.
        case precached
    }

    var meaning: Meaning
    /// Where the last element starts.
    var last: Int
}
