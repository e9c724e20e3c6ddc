package import Web

/// What a page has told its loaders of modules, and the addresses that names have by that.
///
/// A configuration may stand in another body than what needs it: in the page, in a script of its own, or in
/// the script that `data-main` names. So whoever reads bodies keeps one environment for each page that led to
/// scripts, and gives it the notes of all of them.
package struct LoaderEnvironment: Hashable, Sendable {
    /// An address that a loader asks for. It may never do so, or a file that was asked for may hold it.
    package struct Link: Hashable, Sendable {
        package var url: WebURL
        package var kind: LinkKind
        package var isGuess: Bool
    }

    /// The document's base.
    private let document: WebURL
    private var base: WebURL?
    private var paths: [String: String] = [:]
    private var packages: [String: String] = [:]
    private var mains: [String: String] = [:]
    private var aliases: [String: String] = [:]
    private var bundles: [String: String] = [:]
    private var constants: [String: String] = [:]
    private var prefixes: [String: WebURL] = [:]
    private var definitions: Set<String> = []
    private var arguments = ""
    /// A page has a loader that reads AMD modules.
    package private(set) var hasLoader = false
    /// It was told where modules are.
    package private(set) var isConfigured = false

    /// More settings than a page has.
    private static let maximalCount = 65_536

    package init(document: WebURL) {
        self.document = document
    }

    /// Takes in what a body of the page sets; false where that is nothing new.
    ///
    /// - Parameter url: where the body is.
    @discardableResult
    package mutating func apply(_ notes: [LoaderNote], of url: WebURL) -> Bool {
        let before = isConfigured || hasLoader ? nil : (isConfigured, hasLoader)
        var isNew = false
        for note in notes where note.kind.isSetting && count < Self.maximalCount {
            if set(note, url) { isNew = true }
        }
        return isNew || before.map { $0 != (isConfigured, hasLoader) } ?? false
    }

    private var count: Int { paths.count + packages.count + definitions.count + prefixes.count }

    private mutating func set(_ note: LoaderNote, _ url: WebURL) -> Bool {
        switch note.kind {
        case .base:
            let value = filled(note.value)
            guard let value, let folder = WebURL(value.hasSuffix("/") ? value : value + "/", base: document)
            else { return false }
            defer { base = folder }
            (isConfigured, hasLoader) = (true, true)
            return base != folder
        case .main:
            hasLoader = true
            // The folder of the first script is that of all modules, unless another one is named.
            guard base == nil, let script = WebURL(note.value, base: document),
                let folder = WebURL(".", base: script)
            else { return false }
            base = folder
            isConfigured = true
            return true
        case .loader:
            defer { hasLoader = true }
            return !hasLoader
        case .path: return put(note, into: \.paths)
        case .package: return put(note, into: \.packages)
        case .packageMain: return put(note, into: \.mains)
        case .alias: return put(note, into: \.aliases)
        case .bundle: return put(note, into: \.bundles)
        case .arguments:
            guard let value = filled(note.value), arguments != value else { return false }
            arguments = value
            return true
        case .constant:
            guard constants.count < 64, constants[note.name] == nil else { return false }
            // The same folder has another relative address on each page, and one absolute one.
            var value = note.value
            if value.hasPrefix("."), let folder = WebURL(value + "/", base: document) {
                value = String(folder.href.dropLast())
            }
            constants[note.name] = value
            return true
        case .prefix:
            guard let folder = WebURL(note.value, base: document) else { return false }
            return prefixes.updateValue(folder, forKey: note.name) != folder
        case .definition: return definitions.insert(note.value).inserted
        case .request, .dependency, .resource, .address, .specifier: return false
        }
    }

    private mutating func put(
        _ note: LoaderNote, into place: WritableKeyPath<LoaderEnvironment, [String: String]>
    ) -> Bool {
        guard let value = filled(note.value) else { return false }
        (isConfigured, hasLoader) = (true, true)
        return self[keyPath: place].updateValue(value, forKey: note.name) != value
    }

    /// The text with the values of its constants; nil where one is not known.
    private func filled(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        var filled: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index...].starts(with: "${".utf8) else {
                filled.append(bytes[index])
                index += 1
                continue
            }
            guard let end = bytes[index...].firstIndex(of: UInt8(ascii: "}")),
                let value = constants[String(decoding: bytes[index + 2..<end], as: UTF8.self)]
            else { return nil }
            filled.append(contentsOf: value.utf8)
            if filled.count > LoaderNote.maximalLength { return nil }
            index = end + 1
        }
        return String(decoding: filled, as: UTF8.self)
    }

    // MARK: - What is asked for

    /// The addresses that a body of the page asks for.
    package func links(of notes: [LoaderNote], in url: WebURL) -> [Link] {
        var links: [Link] = []
        var seen: Set<WebURL> = []
        for note in notes {
            for link in self.links(of: note, in: url) where seen.insert(link.url).inserted {
                links.append(link)
            }
        }
        return links
    }

    private func links(of note: LoaderNote, in url: WebURL) -> [Link] {
        switch note.kind {
        case .main: return self.main(note.value)
        case .request: return hasLoader ? modules(note.value, url) : []
        // Only where a loader is there: many libraries would be modules if there were one.
        case .dependency: return hasLoader ? modules(note.value, url) : []
        case .resource:
            guard hasLoader, let value = filled(note.value) else { return [] }
            return link(address(of: value, url, suffix: ""), ScriptScanner.kind(ofName: value) ?? .data)
        case .address:
            guard let value = filled(note.value) else { return [] }
            return link(WebURL(value, base: document), note.link)
        case .specifier:
            let longest = prefixes.keys.filter { note.value.hasPrefix($0) }.max {
                $0.utf8.count < $1.utf8.count
            }
            guard let longest, let folder = prefixes[longest] else { return [] }
            return link(WebURL(String(note.value.dropFirst(longest.count)), base: folder), .module)
        case .base, .path, .package, .packageMain, .alias, .bundle, .arguments, .constant, .prefix,
            .definition,
            .loader:
            return []
        }
    }

    private func link(_ url: WebURL?, _ kind: LinkKind, isGuess: Bool = true) -> [Link] {
        guard let url, url.isHTTP else { return [] }
        return [Link(url: url, kind: kind, isGuess: isGuess)]
    }

    /// `data-main="js/main"`: the script that a loader starts with.
    private func main(_ value: String) -> [Link] {
        let name = value.hasSuffix(".js") ? String(value.dropLast(3)) : value
        guard !name.contains("!"), let script = WebURL(name, base: document) else { return [] }
        let file =
            name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[name.index(after: $0)...]) } ?? name
        // With a folder of its own for modules, it is one of them.
        let isInBase = base.map { $0 == WebURL(".", base: script) } ?? true
        if isInBase, let path = paths[file] {
            return link(address(of: path, document, suffix: ".js"), .script)
        }
        let url = isInBase ? WebURL(name + ".js", base: document) : address(of: name, document, suffix: ".js")
        return link(url.flatMap(withArguments), .script, isGuess: false)
    }

    /// A module, or a plugin and its resource.
    private func modules(_ text: String, _ url: WebURL) -> [Link] {
        guard let name = filled(text) else { return [] }
        guard let mark = name.utf8.firstIndex(of: UInt8(ascii: "!")) else { return module(name, url) }
        let plugin = String(name[..<mark])
        return module(plugin, url) + resource(String(name[name.index(after: mark)...]), plugin, url)
    }

    private func module(_ name: String, _ url: WebURL) -> [Link] {
        let ids = [name, aliases[name]].compactMap(\.self)
        let isOwn = ["", "require", "exports", "module"].contains(name) || name.hasPrefix("empty:")
        guard !isOwn, !ids.contains(where: definitions.contains) else { return [] }
        return link(address(of: name, url, suffix: ".js"), .script)
    }

    private func resource(_ text: String, _ plugin: String, _ url: WebURL) -> [Link] {
        let name = text.hasSuffix("!strip") ? String(text.dropLast(6)) : text
        guard !name.isEmpty else { return [] }
        let word = plugin.utf8.lastIndex(of: UInt8(ascii: "/")).map {
            String(plugin[plugin.index(after: $0)...])
        }
        switch word ?? plugin {
        case "i18n", "order": return module(name, url)
        case "domReady", "ready", "font", "goog", "propertyParser", "has", "require", "exports": return []
        case "async": return link(WebURL(name, base: document), .script)
        case "css":
            let isNamed = name.hasSuffix(".css") || name.contains("?")
            return link(address(of: name, url, suffix: isNamed ? "" : ".css"), .style)
        case "text", "json", "image", "img", "html", "raw", "template", "noext":
            return link(address(of: name, url, suffix: ""), ScriptScanner.kind(ofName: name) ?? .data)
        case "hbs": return link(address(of: name, url, suffix: name.contains(".") ? "" : ".hbs"), .data)
        default:
            // Of another plugin nobody knows what it makes of a name, unless that is the name of a file.
            guard let kind = ScriptScanner.kind(ofName: name), kind.role == .asset else { return [] }
            return link(address(of: name, url, suffix: ""), kind)
        }
    }

    /// Where the file of a module is: RequireJS's way from a name to an address.
    private func address(of name: String, _ url: WebURL, suffix: String) -> WebURL? {
        if name.hasPrefix("./") || name.hasPrefix("../") {
            // In a script of a module's own, names are relative to it; in a page, to the folder of modules.
            return WebURL(name + suffix, base: url == document ? base ?? document : url).flatMap(
                withArguments)
        }
        let isAddress =
            name.hasPrefix("/") || name.contains(":") || name.contains("?")
            || suffix == ".js" && name.hasSuffix(".js")
        if isAddress { return WebURL(name, base: document).flatMap(withArguments) }
        let meant = longest(name, in: aliases) ?? name
        let module = bundles[meant] ?? meant
        let path = placed(module)
        let isWhole = path.contains("?") || path.hasSuffix(".js") && suffix == ".js" && path != module
        return WebURL(isWhole ? path : path + suffix, base: base ?? document).flatMap(withArguments)
    }

    /// The path of a module's name, by the longest beginning of it that is configured.
    private func placed(_ name: String) -> String {
        if let path = longest(name, in: paths) { return path }
        if let folder = packages[name] { return folder + "/" + (mains[name] ?? "main") }
        return longest(name, in: packages) ?? name
    }

    /// The name with its longest beginning, of whole segments, replaced by what stands for that.
    private func longest(_ name: String, in table: [String: String]) -> String? {
        guard !table.isEmpty else { return nil }
        var head = Substring(name)
        while true {
            if let value = table[String(head)] { return value + name[head.endIndex...] }
            guard let slash = head.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            head = head[..<slash]
        }
    }

    private func withArguments(_ url: WebURL) -> WebURL? {
        guard !arguments.isEmpty else { return url }
        let href = url.withoutFragment.href
        return WebURL(href + (url.query == nil ? "?" : "&") + arguments)
    }
}
