internal import Markup
internal import Web

/// The JavaScript modules and workers of an exported folder. Browsers do not load them from files, but they load
/// any file as a script, import a module from a `blob:` URL, and run a worker from one. So each module has a twin: a script that contains
/// the text of the module. Pages load the twins of the modules that they use, and an import map leads from the
/// names of modules to their blobs. ``FolderScript`` has the code.
///
/// The files of the modules stay as they are: if a web server serves the folder, the import map leads to them.
struct FolderModules {
    /// The folder of the twins. The paths of the modules follow it.
    static let twins = "~modules/"
    /// The beginning of module specifiers in twins. The file name follows.
    static let specifier = "~larder/"
    /// The maximum size in bytes of a module with a twin.
    static let largest = 64 << 20

    /// The modules whose twins are not written yet.
    private var waiting: [(file: String, url: WebURL)] = []
    private var known: Set<String> = []
    private var next = 0
    /// The prefixes of specifiers in the import maps of pages, with the URLs that replace them.
    private var prefixes: [String: Set<String>] = [:]

    private static let maxPrefixes = 1000

    /// Records a module that a page, a script or another module imports.
    mutating func add(_ file: String, _ url: WebURL) {
        if known.insert(file).inserted { waiting.append((file, url)) }
    }

    /// Returns the next module without a twin. Writing a twin can add further modules.
    mutating func takeNext() -> (file: String, url: WebURL)? {
        guard next < waiting.count else { return nil }
        defer { next += 1 }
        return waiting[next]
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
    struct Needs {
        /// The files that it cannot start without.
        private(set) var first: [String] = []
        /// The files that it imports while it runs.
        private(set) var later: [String] = []

        mutating func add(_ file: String, isLater: Bool) {
            if isLater {
                if !later.contains(file) { later.append(file) }
            } else if !first.contains(file) {
                first.append(file)
            }
        }
    }

    /// Returns the file name of a twin. As in ``FolderScript/twin(of:)``, its folders get another suffix.
    static func twin(of name: String) -> String { "\(twins)\(name.replacing("/", with: "~/")).js" }

    /// Returns the script that contains the text of a module.
    static func text(of name: String, _ body: [UInt8], _ type: String, _ needs: Needs) -> String {
        // Browsers read modules as UTF-8 in any case, without a byte order mark.
        let isMarked = body.starts(with: [0xEF, 0xBB, 0xBF])
        let text = String(decoding: isMarked ? body[3...] : body[...], as: UTF8.self)
        func list(_ names: [String]) -> String {
            "[\(names.map(JSONText.quoted).joined(separator: ","))]"
        }
        return "larder$module(\(JSONText.quoted(name)),\(JSONText.quoted(type)),"
            + "\(list(needs.first)),\(list(needs.later)),\(JSONText.quoted(text)))\n"
    }

    /// Whether the link is the specifier of an import statement or call, whatever the kind of the file.
    static func isImported(_ link: Range<Int>, in source: [UInt8]) -> Bool {
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
    static func isRegistered(_ link: Range<Int>, in source: [UInt8]) -> Bool {
        let before = source[..<max(0, link.lowerBound - 1)]
        guard let open = before.lastIndex(where: { $0 > 0x20 }), source[open] == UInt8(ascii: "(") else {
            return false
        }
        return source[..<open].suffix(8).elementsEqual("register".utf8)
    }

    /// Whether an import runs only when its code does: `import("…")`.
    static func isCalled(_ link: Range<Int>, in source: [UInt8]) -> Bool {
        source[..<max(0, link.lowerBound - 1)].last { $0 > 0x20 } == UInt8(ascii: "(")
    }

    // MARK: - Pages

    /// The beginning and end of the URL of a script element that imports a module. The relative path of the
    /// file follows as a comment, for an import of the folder.
    private static let start = "data:text/javascript,import%22\(specifier)"
    private static let end = "%22//"
    private static let mapCall = "<script>larder$map()</script>"

    /// Returns a URL for the `src` attribute of a script element. It runs when the module would have run.
    static func source(of file: String, from page: String) -> String {
        "\(start)\(file)\(end)\(FolderNames.reference(from: page, to: file))"
    }

    /// Returns the change that keeps a browser from loading a module in advance, which it may not. The new
    /// text has the same length.
    static func withoutPreload(_ tag: TagAround, in source: [UInt8]) -> Patch.Change? {
        guard let relation = tag.attributes.first(where: { $0.name == "rel" })?.value,
            let place = place(of: "modulepreload", in: source, relation)
        else { return nil }
        return Patch.Change(at: place, "larderpreload")
    }

    /// Returns the changes that let the page's script read an import map, and make its own one.
    static func changes(mapAround link: Range<Int>, in source: [UInt8]) -> [Patch.Change] {
        guard let open = source[..<link.lowerBound].lastIndex(of: UInt8(ascii: "<")),
            let head = source[open...].firstIndex(of: UInt8(ascii: ">")), head < link.lowerBound,
            let type = place(of: "importmap", in: source, open..<head),
            let close = place(of: "</script", in: source, link.upperBound..<source.count),
            let end = source[close...].firstIndex(of: UInt8(ascii: ">"))
        else { return [] }
        return [
            Patch.Change(at: type, "lardermap"), Patch.Change(end + 1..<end + 1, Array(mapCall.utf8)),
        ]
    }

    private static func place(of word: StaticString, in source: [UInt8], _ range: Range<Int>) -> Int? {
        let count = word.utf8CodeUnitCount
        guard range.count >= count else { return nil }
        return (range.lowerBound...(range.upperBound - count)).first { place in
            word.withUTF8Buffer { word in
                zip(source[place..<place + count], word).allSatisfy { $0 == $1 || $0 | 0x20 == $1 }
            }
        }
    }

    /// Returns a page without these changes.
    static func undone(_ page: [UInt8]) -> [UInt8] {
        var page = page.replacing(Array("larderpreload".utf8), with: Array("modulepreload".utf8))
        let call = Array("</script>\(mapCall)".utf8)
        if page.firstRange(of: call) != nil {
            page.replace(call, with: Array("</script>".utf8))
            page.replace(Array("lardermap".utf8), with: Array("importmap".utf8))
        }
        let (start, end) = (Array(start.utf8), Array(end.utf8))
        var text: [UInt8] = []
        var rest = page[...]
        while let found = rest.firstRange(of: start),
            let behind = rest[found.upperBound...].firstRange(of: end)
        {
            text += rest[..<found.lowerBound]
            rest = rest[behind.upperBound...]
        }
        return text + rest
    }
}

extension UInt8 {
    fileprivate var isWordPart: Bool {
        (0x61...0x7A).contains(self | 0x20) || (0x30...0x39).contains(self) || self == 0x5F || self == 0x24
            || self == 0x2E
    }
}
