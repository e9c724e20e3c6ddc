internal import Markup
internal import Web

/// The JavaScript modules and workers of an exported folder. Browsers do not load them from files, but they load
/// any file as a script, import a module from a `blob:` URL, and run a worker from one. So each module has a twin: a
/// script file that contains the text of the module as a string. Pages load the twins of the modules that they use,
/// and an import map resolves the names of modules to their `blob:` URLs. ``FolderScript`` has the code.
///
/// For example, `app.js` with `import "./a.js"` has the twin `~modules/app.js.js`, which is
/// `larder$module("app.js", "text/javascript", ["a.js"], [], "import \"~larder/a.js\"")`.
///
/// The files of the modules themselves are unchanged: if a web server serves the folder, the import map resolves to
/// them.
struct FolderModules {
    /// The folder of the twins. The paths of the modules follow it.
    static let twinFolder = "~modules/"
    /// The beginning of module specifiers in twins. The file name follows.
    static let specifierPrefix = "~larder/"
    /// The maximum size in bytes of a module with a twin.
    static let maxModuleBytes = 64 << 20

    /// All modules in the order in which they were added. Those from index `next` on have no twin yet.
    private var modules: [(file: String, url: WebURL)] = []
    private var known: Set<String> = []
    private var next = 0
    /// The prefixes of specifiers in the import maps of pages, with the URLs that replace them.
    private var prefixes: [String: Set<String>] = [:]

    /// Further prefixes are ignored. Imports that need them fail when the page is opened as a file.
    private static let maxPrefixes = 1000

    /// Records a module that a page, a script or another module imports.
    mutating func add(_ file: String, _ url: WebURL) {
        if known.insert(file).inserted { modules.append((file, url)) }
    }

    /// Returns the next module without a twin. Writing a twin can add further modules.
    mutating func takeNext() -> (file: String, url: WebURL)? {
        guard next < modules.count else { return nil }
        defer { next += 1 }
        return modules[next]
    }

    /// Records the prefixes in a page's import map.
    mutating func addPrefixes(_ table: LinkTable, base: WebURL) {
        for note in table.notes where note.kind == .prefix && prefixes.count < Self.maxPrefixes {
            guard let url = WebURL(note.value, base: base), url.isHTTP else { continue }
            prefixes[note.name, default: []].insert(url.href)
        }
    }

    /// Returns the URLs of the specifiers in a module that begin with a prefix of an import map.
    func targets(ofSpecifiersIn table: LinkTable) -> [WebURL] {
        var targets: [WebURL] = []
        for note in table.notes where note.kind == .specifier {
            for (prefix, bases) in prefixes where note.value.hasPrefix(prefix) {
                let rest = String(note.value.dropFirst(prefix.count))
                for base in bases.sorted() {
                    if let base = WebURL(base), let url = WebURL(rest, base: base) { targets.append(url) }
                }
            }
        }
        return targets.sorted { $0.href < $1.href }
    }

    /// The modules that a module imports.
    struct Imports {
        /// The files of its `import` statements, which it cannot start without.
        private(set) var required: [String] = []
        /// The files of its `import()` calls and workers, which it loads while it runs.
        private(set) var onDemand: [String] = []

        mutating func add(_ file: String, isOnDemand: Bool) {
            if isOnDemand {
                if !onDemand.contains(file) { onDemand.append(file) }
            } else if !required.contains(file) {
                required.append(file)
            }
        }
    }

    /// Returns the file name of a twin. As in ``FolderScript/twin(of:)``, its folders get another suffix.
    static func twin(of name: String) -> String { "\(twinFolder)\(name.replacing("/", with: "~/")).js" }

    /// Returns the text of the twin of a module.
    static func twinText(of name: String, _ body: [UInt8], _ type: String, _ imports: Imports) -> String {
        // Browsers read modules as UTF-8 in any case, without a byte order mark.
        let hasByteOrderMark = body.starts(with: [0xEF, 0xBB, 0xBF])
        let text = String(decoding: hasByteOrderMark ? body[3...] : body[...], as: UTF8.self)
        func list(_ names: [String]) -> String {
            "[\(names.map(JSONText.quoted).joined(separator: ","))]"
        }
        return "larder$module(\(JSONText.quoted(name)),\(JSONText.quoted(type)),"
            + "\(list(imports.required)),\(list(imports.onDemand)),\(JSONText.quoted(text)))\n"
    }

    /// Whether the link is the specifier of an import statement or call, whatever the kind of the file.
    static func isImportSpecifier(_ link: Range<Int>, in source: [UInt8]) -> Bool {
        guard let quote = source[..<link.lowerBound].last, "\"'`".utf8.contains(quote) else { return false }
        let before = source[..<(link.lowerBound - 1)]
        guard let last = before.lastIndex(where: { $0 > 0x20 }) else { return false }
        let end = source[last] == UInt8(ascii: "(") ? before[..<last].lastIndex { $0 > 0x20 } : last
        guard let end else { return false }
        return ["from", "import"].contains { word in
            let start = end + 1 - word.utf8.count
            return start >= 0 && source[start...end].elementsEqual(word.utf8)
                && (start == 0 || !(source[start - 1].isWordPart))
        }
    }

    /// Whether the link is the argument of `serviceWorker.register("…")`.
    static func isServiceWorkerRegistration(_ link: Range<Int>, in source: [UInt8]) -> Bool {
        let before = source[..<max(0, link.lowerBound - 1)]
        guard let open = before.lastIndex(where: { $0 > 0x20 }), source[open] == UInt8(ascii: "(") else {
            return false
        }
        return source[..<open].suffix(8).elementsEqual("register".utf8)
    }

    /// Whether an import runs only when its code does: `import("…")`.
    static func isDynamicImport(_ link: Range<Int>, in source: [UInt8]) -> Bool {
        source[..<max(0, link.lowerBound - 1)].last { $0 > 0x20 } == UInt8(ascii: "(")
    }

    // MARK: - Pages

    /// The beginning and end of the URL of a script element that imports a module. The relative path of the
    /// file follows as a comment, for an import of the folder.
    private static let start = "data:text/javascript,import%22\(specifierPrefix)"
    private static let end = "%22//"
    private static let mapCall = "<script>larder$map()</script>"

    /// Returns a URL for the `src` attribute of the script element of a module. Its script imports the module, and so
    /// runs when the module itself would have run.
    static func scriptSource(of file: String, from page: String) -> String {
        "\(start)\(file)\(end)\(FolderNames.reference(from: page, to: file))"
    }

    /// Returns the change that disables a `modulepreload`, which would fail for a file. The new text has the same
    /// length.
    static func disablingPreload(_ tag: EnclosingTag, in source: [UInt8]) -> Patch.Change? {
        guard let relation = tag.attributes.first(where: { $0.name == "rel" })?.valueRange,
            let offset = offset(of: "modulepreload", in: source, relation)
        else { return nil }
        return Patch.Change(at: offset, "larderpreload")
    }

    /// Returns the changes for a page's own import map. Browsers no longer read it, but the inserted script does, and
    /// adds one that resolves to `blob:` URLs.
    static func changes(mapAround link: Range<Int>, in source: [UInt8]) -> [Patch.Change] {
        guard let open = source[..<link.lowerBound].lastIndex(of: UInt8(ascii: "<")),
            let head = source[open...].firstIndex(of: UInt8(ascii: ">")), head < link.lowerBound,
            let type = offset(of: "importmap", in: source, open..<head),
            let close = offset(of: "</script", in: source, link.upperBound..<source.count),
            let end = source[close...].firstIndex(of: UInt8(ascii: ">"))
        else { return [] }
        return [
            Patch.Change(at: type, "lardermap"), Patch.Change(end + 1..<end + 1, Array(mapCall.utf8)),
        ]
    }

    /// Returns the offset of a word, which is in lower case, in a range of text in any case.
    private static func offset(of word: StaticString, in source: [UInt8], _ range: Range<Int>) -> Int? {
        let count = word.utf8CodeUnitCount
        guard range.count >= count else { return nil }
        return (range.lowerBound...(range.upperBound - count)).first { offset in
            word.withUTF8Buffer { word in
                zip(source[offset..<offset + count], word).allSatisfy { $0 == $1 || $0 | 0x20 == $1 }
            }
        }
    }

    /// Returns a page without the changes of this type, for an import.
    static func removingChanges(from page: [UInt8]) -> [UInt8] {
        var page = page.replacingAll(Array("larderpreload".utf8), with: Array("modulepreload".utf8))
        let call = Array("</script>\(mapCall)".utf8)
        if page.firstOffset(of: call, in: page.indices) != nil {
            page = page.replacingAll(call, with: Array("</script>".utf8))
                .replacingAll(Array("lardermap".utf8), with: Array("importmap".utf8))
        }
        let (start, end) = (Array(start.utf8), Array(end.utf8))
        var text: [UInt8] = []
        var position = 0
        while let startOffset = page.firstOffset(of: start, in: position..<page.count),
            let endOffset = page.firstOffset(of: end, in: startOffset + start.count..<page.count)
        {
            text += page[position..<startOffset]
            position = endOffset + end.count
        }
        return text + page[position...]
    }
}

extension UInt8 {
    fileprivate var isWordPart: Bool {
        (0x61...0x7A).contains(self | 0x20) || (0x30...0x39).contains(self) || self == 0x5F || self == 0x24
            || self == 0x2E
    }
}
