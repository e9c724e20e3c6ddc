/// A script's settings for module loaders and its requests to them, collected during the scan.
struct ModuleCalls {
    private(set) var notes: [LoaderNote] = []
    /// Whether the script is a SystemJS module, whose own `import` function may have any name.
    var isSystem = false
    /// Whether the script has AMD modules in CommonJS style: `define(function (require) {…})`.
    var isCommonJS = false
    /// The number of tokens that may still be read ahead in the script.
    var budget = 1_000_000

    mutating func add(_ note: LoaderNote) {
        guard notes.count < LoaderNote.maxCount, !note.value.isEmpty || note.kind == .loader,
            note.value.utf8.count <= LoaderNote.maxBytes,
            note.name.utf8.count <= LoaderNote.maxBytes
        else { return }
        notes.append(note)
    }

    /// Adds a string that looks like a URL relative to the document, or to the folder in the variable
    /// `folder`.
    mutating func addURL(_ address: String, in folder: StaticString? = nil, _ kind: LinkKind) {
        var hasDotOrSlash = false
        for byte in address.utf8 {
            switch byte {
            case 0...0x20, UInt8(ascii: "<"), UInt8(ascii: "{"): return
            case UInt8(ascii: "."), UInt8(ascii: "/"): hasDotOrSlash = true
            default: break
            }
        }
        // A plain word is more often some identifier than the URL of a file.
        guard hasDotOrSlash, address.utf8.first != UInt8(ascii: "#") else { return }
        add(LoaderNote(.address, (folder.map { "${\($0)}" } ?? "") + address, link: kind))
    }

    /// Adds a module specifier that is not a URL. An import map or a loader's configuration may resolve it.
    mutating func addSpecifier(_ specifier: String, isSystem: Bool = false) {
        if isSystem {
            add(LoaderNote(.dependency, specifier))
        } else if specifier.utf8.contains(UInt8(ascii: "/")) {
            add(LoaderNote(.specifier, specifier))
        }
    }

    /// `require("…")`
    mutating func addRequired(_ name: String) {
        if isCommonJS { add(LoaderNote(.dependency, name)) }
    }

    /// Removes the notes of URLs and returns those without a variable, which become links of the script
    /// itself.
    mutating func takeAddresses() -> [LoaderNote] {
        let addresses = notes.filter { $0.kind == .address && !$0.value.contains("${") }
        notes.removeAll { $0.kind == .address }
        return addresses
    }
}

extension ScriptScanner {
    /// Passes the notes on to the sink at the end of the script. The URLs of a worker become links relative
    /// to it.
    mutating func finishModules() {
        if isWorker {
            sink.addImplied(modules.takeAddresses().map { ImpliedLink($0.value, $0.link, .isGuess) })
        }
        sink.addNotes(modules.notes)
    }

    /// Handles a name that may start a call to a loader. Not inlined, since few names get here and the main
    /// loop stays small without it.
    @inline(never)
    mutating func handleModuleCall(_ range: Range<Int>) {
        switch lexer.bytes[range.lowerBound] {
        case UInt8(ascii: "r"):
            guard lexer.isName("require", before: 0) || lexer.isName("requirejs", before: 0), isGlobal(0)
            else { return }
            handleRequire()
        case UInt8(ascii: "S"):
            guard lexer.isName("System", before: 0) || lexer.isName("SystemJS", before: 0), isGlobal(0),
                let inside = configuration(after: lexer.skipTrivia(from: lexer.index)),
                byte(at: inside) == UInt8(ascii: "{")
            else { return }
            readSystemJSConfiguration(from: inside)
        case UInt8(ascii: "d"):
            if lexer.isName("define", before: 0), isGlobal(0) { handleDefine() }
        case UInt8(ascii: "i"):
            if lexer.isName("importScripts", before: 0) {
                isWorker = isWorker || isGlobal(0)
            } else if lexer.isName("import", before: 0) {
                handleImportOfVariable()
            }
        case UInt8(ascii: "a"):
            if lexer.isName("addAll", before: 0), lexer.isProperty(0) { handlePrecacheOfVariable() }
        case UInt8(ascii: "p"):
            if lexer.isName("precacheAndRoute", before: 0) { handlePrecacheOfVariable() }
        default: break
        }
    }

    private func byte(at offset: Int) -> UInt8 { offset < lexer.count ? lexer.bytes[offset] : 0 }

    // MARK: - AMD

    /// Handles `require([…])`, `require.config({…})` and `var require = {…}`.
    private mutating func handleRequire() {
        let next = lexer.skipTrivia(from: lexer.index)
        switch byte(at: next) {
        case UInt8(ascii: "("):
            let inside = lexer.skipTrivia(from: next + 1)
            if byte(at: inside) == UInt8(ascii: "[") {
                modules.add(LoaderNote(.loader, ""))
                list(from: inside, .request)
            } else if byte(at: inside) == UInt8(ascii: "{") {
                readRequireJSConfiguration(from: inside)
            }
        case UInt8(ascii: "."):
            guard let inside = configuration(after: next) else { return }
            if byte(at: inside) == UInt8(ascii: "{") {
                readRequireJSConfiguration(from: inside)
            } else {
                reasons.insert(.uninterpretedLoader)
            }
        case UInt8(ascii: "="):
            let inside = lexer.skipTrivia(from: next + 1)
            if byte(at: inside) == UInt8(ascii: "{") { readRequireJSConfiguration(from: inside) }
        default: break
        }
    }

    /// Returns the offset of the argument of `.config(`; nil if there is no such call at `next`.
    private func configuration(after next: Int) -> Int? {
        guard byte(at: next) == UInt8(ascii: ".") else { return nil }
        let name = lexer.skipTrivia(from: next + 1)
        guard lexer.isName("config", at: name) else { return nil }
        let call = lexer.skipTrivia(from: name + 6)
        return byte(at: call) == UInt8(ascii: "(") ? lexer.skipTrivia(from: call + 1) : nil
    }

    /// Handles `define([…], …)`, `define("name", […], …)` and `define(function (require) {…})`.
    private mutating func handleDefine() {
        let next = lexer.skipTrivia(from: lexer.index)
        guard byte(at: next) == UInt8(ascii: "("), modules.budget > 0 else { return }
        var parser = ScriptValueParser(
            text.bytes, lexer.ahead(from: next + 1), budget: min(modules.budget, 4))
        var name = ""
        var offset = lexer.skipTrivia(from: next + 1)
        if parser.token.kind == .string {
            guard let text = parser.value().text, parser.nextValue() else { return }
            name = text
            modules.add(LoaderNote(.definition, name))
            offset = parser.token.range.lowerBound
        }
        if parser.isPunctuator("[") {
            list(from: offset, .dependency, of: name)
        } else if parser.isName("function") {
            parser.advance()
            if parser.token.kind == .name { parser.advance() }
            if parser.take("("), parser.isName("require") { modules.isCommonJS = true }
        } else if parser.take("("), parser.isName("require") {
            modules.isCommonJS = true
        }
        modules.budget -= 4
    }

    /// Reads a list ahead and adds a note for each of its names.
    private mutating func list(from start: Int, _ kind: LoaderNote.Kind, of module: String = "") {
        guard let elements = valueAhead(from: start).list else { return }
        for element in elements {
            guard let name = element.text else {
                if kind == .request { reasons.insert(.uninterpretedLoader) }
                continue
            }
            modules.add(LoaderNote(kind, Self.name(name, in: module)))
        }
    }

    /// Resolves a relative module name: `./b` in the module `a/c` is `a/b`.
    private static func name(_ name: String, in module: String) -> String {
        guard !module.isEmpty, name.hasPrefix("./") || name.hasPrefix("../") else { return name }
        var folder = module.utf8.split(separator: UInt8(ascii: "/")).dropLast()
        var rest = Substring(name)
        while true {
            if rest.hasPrefix("./") {
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("../"), !folder.isEmpty {
                rest = rest.dropFirst(3)
                folder.removeLast()
            } else {
                break
            }
        }
        return folder.map { String(Substring($0)) + "/" }.joined() + rest
    }

    private mutating func valueAhead(from start: Int) -> ScriptValue {
        guard modules.budget > 0 else { return .unknown }
        let budget = modules.budget
        var parser = ScriptValueParser(text.bytes, lexer.ahead(from: start), budget: budget)
        let value = parser.value()
        modules.budget -= budget - parser.budget + 1
        return value
    }

    /// Reads the configuration of RequireJS.
    private mutating func readRequireJSConfiguration(from start: Int) {
        guard let members = valueAhead(from: start).members else { return }
        for member in members {
            switch member.key {
            case "baseUrl": set(.base, "", member.value)
            case "urlArgs": set(.arguments, "", member.value)
            case "paths":
                for path in member.value.members ?? [] {
                    // RequireJS loads the first path and uses the others only as fallbacks.
                    set(.path, path.key, path.value.list?.first ?? path.value)
                }
            case "packages": for package in member.value.list ?? [] { addPackage(package) }
            case "bundles":
                for bundle in member.value.members ?? [] {
                    for id in bundle.value.list ?? [] {
                        if let name = id.text { modules.add(LoaderNote(.bundle, bundle.key, name: name)) }
                    }
                }
            case "map":
                for alias in member.value["*"]?.members ?? [] { set(.alias, alias.key, alias.value) }
            case "deps": for module in member.value.list ?? [] { set(.request, "", module) }
            case "shim":
                modules.add(LoaderNote(.loader, ""))
                for module in member.value.members ?? [] {
                    let needed = module.value.list ?? module.value["deps"]?.list ?? []
                    for name in needed { set(.dependency, "", name) }
                }
            default: break
            }
        }
    }

    /// Reads the configuration of SystemJS up to 0.21. The folder of a path prefix replaces the prefix in
    /// names; `map` determines the folders of packages.
    private mutating func readSystemJSConfiguration(from start: Int) {
        guard let members = valueAhead(from: start).members else { return }
        func all(_ key: String) -> [(key: String, value: ScriptValue)] {
            members.filter { $0.key == key }.flatMap { $0.value.members ?? [] }.map { ($0.key, $0.value) }
        }
        var prefixes: [(name: String, folder: String)] = []
        for (key, value) in all("paths") {
            guard let folder = value.text else { continue }
            if key.hasSuffix(":") || key.hasSuffix("/") {
                prefixes.append((key, folder))
            } else if key.hasSuffix("/*"), let star = folder.firstIndex(of: "*") {
                set(.path, String(key.dropLast(2)), .text(String(folder[..<star].dropLast())))
            } else if !key.contains("*") {
                set(.path, key, value)
            }
        }
        func applyPrefix(to name: String) -> String {
            guard let prefix = prefixes.first(where: { name.hasPrefix($0.name) }) else { return name }
            return prefix.folder + name.dropFirst(prefix.name.count)
        }
        let (packages, map) = (all("packages"), all("map"))
        let names = Set(packages.map(\.key))
        for (key, value) in map {
            // Values that are objects depend on the importing module.
            guard let path = value.text else { continue }
            set(names.contains(key) ? .package : .path, key, .text(applyPrefix(to: path)))
        }
        for (key, value) in packages {
            if !map.contains(where: { $0.key == key }) { set(.package, key, .text(applyPrefix(to: key))) }
            guard let main = value["main"]?.text else { continue }
            let file = main.hasPrefix("./") ? String(main.dropFirst(2)) : main
            set(.packageMain, key, .text(file.hasSuffix(".js") ? String(file.dropLast(3)) : file))
        }
        for member in members where member.key == "baseURL" { set(.base, "", member.value) }
        for (bundle, names) in all("bundles") {
            for name in names.list ?? [] {
                let file = bundle.hasSuffix(".js") ? String(bundle.dropLast(3)) : bundle
                if let name = name.text { modules.add(LoaderNote(.bundle, file, name: name)) }
            }
        }
        modules.add(LoaderNote(.loader, ""))
    }

    private mutating func set(_ kind: LoaderNote.Kind, _ name: String, _ value: ScriptValue) {
        if let text = value.text {
            modules.add(LoaderNote(kind, text, name: name))
        } else {
            reasons.insert(.uninterpretedLoader)
        }
    }

    /// Adds a package: `"name"`, or `{name: "name", location: "folder", main: "main"}`.
    private mutating func addPackage(_ value: ScriptValue) {
        guard let name = value.text ?? value["name"]?.text else { return }
        modules.add(LoaderNote(.package, value["location"]?.text ?? name, name: name))
        guard let main = value["main"]?.text else { return }
        let file = main.hasPrefix("./") ? String(main.dropFirst(2)) : main
        modules.add(
            LoaderNote(.packageMain, file.hasSuffix(".js") ? String(file.dropLast(3)) : file, name: name))
    }

    // MARK: - Composed URLs

    /// Names of variables that usually contain the URL of a folder.
    private static let folders: [StaticString] = [
        "base_url", "baseUrl", "baseURL", "BASE_URL", "base_path", "basePath", "root_url", "rootUrl",
        "root_path",
        "static_url", "staticUrl", "STATIC_URL", "site_root",
    ]

    private func folder(before distance: Int) -> StaticString? {
        guard lexer.firstByte(before: distance).isLetter else { return nil }
        return Self.folders.first { lexer.isName($0, before: distance) }
    }

    /// Handles `var base_url = ".."`.
    mutating func handleConstant(_ literal: ScriptLiteral) {
        guard let name = folder(before: 2), literal.range.count <= 256 else { return }
        modules.add(LoaderNote(.constant, value(of: literal), name: "\(name)"))
    }

    /// Handles a literal after a plus sign: `fetch(base_url + "/a.json")`, and other URLs that a script
    /// composes in the argument of a loading call.
    mutating func handleSummand(_ literal: ScriptLiteral) {
        let next = lexer.skipTrivia(from: lexer.index)
        if byte(at: next) != UInt8(ascii: "+") || byte(at: next + 1) == UInt8(ascii: "+") {
            handleBuildFile(literal.range, before: 2)
        }
        guard lexer.firstByte(before: 3) == UInt8(ascii: "(") else { return }
        guard let name = folder(before: 2), isWholeArgument, let kind = loadedKind(before: 4) else {
            return noteComposedURL(before: 3)
        }
        modules.addURL(value(of: literal), in: name, kind)
    }

    /// Handles `join(base_url, "a.json")`. Returns false if the literal is not part of such a call.
    mutating func handleJoin(_ literal: ScriptLiteral) -> Bool {
        guard lexer.firstByte(before: 3) == UInt8(ascii: "("), isWholeArgument, let name = folder(before: 2),
            let kind = FileEndings.kind(ofFile: text.bytes.part(literal.range)), kind.role == .asset
        else { return false }
        let path = value(of: literal)
        let isWorker =
            kind == .script && lexer.firstByte(before: 5) == UInt8(ascii: "(")
            && lexer.isName("Worker", before: 6)
        let slash = path.hasPrefix("/") ? "" : "/"
        modules.addURL(slash + path, in: name, isWorker ? .worker : kind)
        return true
    }

    /// Returns the kind of resource that a call loads, given the distance of its name in tokens; nil if it
    /// loads nothing.
    private func loadedKind(before distance: Int) -> LinkKind? {
        switch lexer.firstByte(before: distance) {
        case UInt8(ascii: "f"):
            return lexer.isName("fetch", before: distance) && isGlobal(distance) && !sendsData()
                ? .data : nil
        case UInt8(ascii: "g"): return lexer.isName("getJSON", before: distance) ? .data : nil
        case UInt8(ascii: "i"): return lexer.isName("import", before: distance) ? .module : nil
        case UInt8(ascii: "W"), UInt8(ascii: "S"):
            let isWorker =
                lexer.isName("Worker", before: distance) || lexer.isName("SharedWorker", before: distance)
            return isWorker && isConstructed(distance) ? .worker : nil
        default: return nil
        }
    }

    /// Records that a script composes a URL, if the call with the parenthesis at that distance loads
    /// something.
    mutating func noteComposedURL(before distance: Int) {
        if loadedKind(before: distance + 1) != nil { noteComposedURL() }
    }

    mutating func noteComposedURL() { reasons.insert(.composedURL) }

    /// Handles a literal that another value may follow: `"<img src='pictures/" + name`. If it ends in the source of an
    /// element or in the URL of a style, the script composes a URL. In a file, which is often a library, the reason is weak.
    @inline(never)
    mutating func noteComposedSource(_ range: Range<Int>) {
        guard endsInSource(range) else { return }
        reasons.insert(isInline ? .composedURL : .sendsRequests)
    }

    /// Whether markup or a style ends within the value of `src`, `srcset`, `poster` or `url()`.
    private func endsInSource(_ range: Range<Int>) -> Bool {
        var start = range.upperBound
        let limit = max(range.lowerBound, start - Self.maxFileNameBytes)
        func byte(_ offset: Int) -> UInt8 { offset > limit ? lexer.bytes[offset - 1] : 0 }
        func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }
        while start > limit, !isQuote(byte(start)), !byte(start).isSpace, byte(start) != UInt8(ascii: ">") {
            start -= 1
        }
        let openings: [StaticString] = ["src=", "srcset=", "poster=", "url("]
        func endsInOpening(_ bytes: Bytes) -> Bool {
            openings.contains {
                let place = bytes.count - $0.utf8CodeUnitCount
                return place >= 0 && bytes.starts(with: $0, at: place)
            }
        }
        guard isQuote(byte(start)) else {
            // `src=pictures/` without a quote.
            let word = text.bytes.part(start..<range.upperBound)
            return endsInOpening(word) || openings.contains { word.starts(with: $0) }
        }
        start -= byte(start - 1) == UInt8(ascii: "\\") ? 2 : 1
        return endsInOpening(text.bytes.part(limit..<start))
    }

    /// Handles the part of a template before a substitution.
    mutating func handleTemplatePart(_ range: Range<Int>) {
        noteComposedSource(range)
        let start = lexer.tokenStart(before: 0)
        guard start >= 0 else { return }
        if lexer.bytes[start] != UInt8(ascii: "`") {
            // A part between two substitutions contains a whole path only if the path ends in it.
            if let end = endOfAddress(range) { handleBuildFile(range.lowerBound..<end, before: 1) }
        } else if lexer.firstByte(before: 1) == UInt8(ascii: "(") {
            noteComposedURL(before: 1)
        }
    }

    /// Handles the part of a template after its last substitution.
    mutating func handleTemplateEnd(_ range: Range<Int>) {
        let end = endOfAddress(range) ?? range.upperBound
        handleBuildFile(range.lowerBound..<end, before: 1)
        handlePagefindFile(range.lowerBound..<end)
    }

    /// Handles `${folder}pagefind.js` and other files of Pagefind, which are in the folder of the script. If a
    /// bundler has moved the script to another folder, `pagefind.js` is most often in `/pagefind/`.
    private mutating func handlePagefindFile(_ range: Range<Int>) {
        let name = text.bytes.part(range)
        guard name.starts(with: "pagefind"), name.count < 32, implied.count + 1 < Self.maxImplied,
            let kind = FileEndings.kind(ofFile: name) ?? (name.equals("pagefind-entry.json") ? .data : nil)
        else { return }
        let file = String(decoding: name, as: UTF8.self)
        implied.append(ImpliedLink(file, kind, .isGuess))
        if name.equals("pagefind.js") { implied.append(ImpliedLink("/pagefind/\(file)", kind, .isGuess)) }
    }

    private func endOfAddress(_ range: Range<Int>) -> Int? {
        range.prefix(Self.maxFileNameBytes).first {
            let byte = lexer.bytes[$0]
            return byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte.isSpace
        }
    }

    private static var maxFileNameBytes: Int { 256 }

    /// Folders in which documentation generators and builds put their files, below any root.
    private static let buildFolders: [StaticString] = ["_static/", "_next/static/"]

    /// Handles `root + "/_next/static/media/a.svg"` and `${root}_static/a.png`. If the script itself is in
    /// that folder, its own URL determines the root. The same applies to `variable + "a.png"` if the variable
    /// is `root + "_static/"`.
    private mutating func handleBuildFile(_ range: Range<Int>, before distance: Int) {
        guard !isInline, !range.isEmpty, range.count <= Self.maxFileNameBytes else { return }
        let hasSlash = lexer.bytes[range.lowerBound] == UInt8(ascii: "/")
        let path = text.bytes.part((hasSlash ? range.lowerBound + 1 : range.lowerBound)..<range.upperBound)
        if let folder = Self.buildFolders.first(where: { path.starts(with: $0) }) {
            guard path.count > folder.utf8CodeUnitCount else {
                return recordFolderVariable(folder, before: distance)
            }
            implyFile(path)
        } else if !foldersByName.isEmpty, let name = name(before: distance),
            let known = foldersByName.first(where: { $0.name.elementsEqual(name) })
        {
            implyFile(path, in: "\(known.folder)")
        }
    }

    /// Records the variable that is assigned a path ending in the folder.
    private mutating func recordFolderVariable(_ folder: StaticString, before distance: Int) {
        // `a = root + "…"`, and `a = options.root + "…"`.
        let isTemplate = distance == 1
        let equals = [distance + 1, distance + 3].first {
            let offset = isTemplate ? $0 + 1 : $0
            return lexer.firstByte(before: offset) == UInt8(ascii: "=")
        }
        guard let equals, foldersByName.count < 8,
            let name = name(before: isTemplate ? equals + 2 : equals + 1)
        else { return }
        foldersByName.append((Array(name), folder))
    }

    private func name(before distance: Int) -> Bytes? {
        let start = lexer.tokenStart(before: distance)
        guard start >= 0, lexer.alphabet.name[Int(lexer.bytes[start])] else { return nil }
        return text.bytes.part(start..<lexer.skip(lexer.alphabet.name, from: start))
    }

    private mutating func implyFile(_ path: Bytes, in folder: String = "") {
        guard let kind = FileEndings.kind(ofFile: path), kind.role == .asset,
            path.allSatisfy(Self.isPathByte),
            path.firstIndex(of: "..") == nil, implied.count < Self.maxImplied
        else { return }
        implied.append(
            ImpliedLink(folder + String(decoding: path, as: UTF8.self), kind, .isGuess, from: .build))
    }

    /// Handles `fetch(a.b)`, whose URL is defined elsewhere. A simple name is most often the parameter of a
    /// general fetching function, so it counts only in an inline script.
    @inline(never)
    mutating func handleFetchOfVariable() {
        guard lexer.isName("fetch", before: 0), isGlobal(0) else { return }
        let next = lexer.skipTrivia(from: lexer.index)
        guard byte(at: next) == UInt8(ascii: "(") else { return }
        let start = lexer.skipTrivia(from: next + 1)
        guard byte(at: start).isLetter || byte(at: start) == UInt8(ascii: "_") else { return }
        let end = lexer.skipTrivia(from: lexer.skip(lexer.alphabet.name, from: start))
        switch byte(at: end) {
        case UInt8(ascii: "."), UInt8(ascii: "("), UInt8(ascii: "["): reasons.insert(.indirectFetch)
        case UInt8(ascii: "+"): reasons.insert(.composedURL)
        case UInt8(ascii: ")"), UInt8(ascii: ","): if isInline { reasons.insert(.indirectFetch) }
        default: break
        }
    }

    /// Handles `import(a)`.
    private mutating func handleImportOfVariable() {
        let next = lexer.skipTrivia(from: lexer.index)
        guard byte(at: next) == UInt8(ascii: "("), isGlobal(0) else { return }
        let start = lexer.skipTrivia(from: next + 1)
        if byte(at: start).isLetter { reasons.insert(.uninterpretedLoader) }
    }

    // MARK: - Named lists

    /// Handles `addAll(URLS)`, where the list is assigned to a variable before the call.
    private mutating func handlePrecacheOfVariable() {
        let next = lexer.skipTrivia(from: lexer.index)
        guard byte(at: next) == UInt8(ascii: "("), lookaheads < 8 else { return }
        let start = lexer.skipTrivia(from: next + 1)
        let end = lexer.skip(lexer.alphabet.name, from: start)
        guard end > start, end - start < 64, byte(at: lexer.skipTrivia(from: end)) == UInt8(ascii: ")") else {
            return
        }
        lookaheads += 1
        guard let list = listStart(of: start..<end), let elements = valueAhead(from: list).list else {
            return
        }
        for element in elements {
            let reference = element.text ?? element["url"]?.text
            guard let reference, !reference.contains("${"), implied.count < Self.maxImplied else {
                continue
            }
            implied.append(ImpliedLink(reference, FileEndings.kind(ofName: reference) ?? .data))
        }
    }

    /// Returns the start of the list that is assigned to this name before its use; nil if there is none in
    /// the preceding 1 MiB.
    private func listStart(of name: Range<Int>) -> Int? {
        let bytes = text.bytes
        var index = max(0, name.lowerBound - (1 << 20))
        while true {
            index =
                bytes.baseAddress?.find(bytes[name.lowerBound], from: index, to: name.lowerBound)
                ?? name.lowerBound
            let end = index + name.count
            guard end < name.lowerBound else { return nil }
            defer { index += 1 }
            guard bytes.part(index..<end).isEqual(to: bytes.part(name)),
                !lexer.alphabet.name[Int(bytes[end])],
                index == 0 || !lexer.alphabet.name[Int(bytes[index - 1])]
            else { continue }
            let equals = offsetAfterSpace(end)
            guard byte(at: equals) == UInt8(ascii: "=") else { continue }
            let list = offsetAfterSpace(equals + 1)
            if byte(at: list) == UInt8(ascii: "[") { return list }
        }
    }

    /// Skips at most 64 bytes of white space and no comments: this runs at many places and must be fast.
    private func offsetAfterSpace(_ offset: Int) -> Int {
        var index = offset
        while index < offset + 64, byte(at: index).isSpace { index += 1 }
        return index
    }
}
