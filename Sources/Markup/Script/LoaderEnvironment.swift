package import Web

/// The module loader settings of one page, which resolve module names to URLs.
///
/// A configuration may be in another body than the code that needs it: in the page, in a script of its own,
/// or in the script that `data-main` names. So the caller keeps one environment for each page with scripts,
/// and applies the notes of all its bodies to it.
package struct LoaderEnvironment: Hashable, Sendable {
    /// A URL that a loader may request. It may never do so, or another file may already contain the module.
    package struct Link: Hashable, Sendable {
        package var url: WebURL
        package var kind: LinkKind
        package var isGuess: Bool
    }

    /// The base URL of the document.
    private let document: WebURL
    /// The folder of the modules (`baseUrl`); nil until it is known.
    private var base: WebURL?
    /// The paths of modules and of folders of modules, by the beginning of the module name (`paths`).
    private var paths: [String: String] = [:]
    /// The folders of packages, by their names (`packages`).
    private var packages: [String: String] = [:]
    /// The main modules of packages, by the names of the packages; `main` where there is none.
    private var mains: [String: String] = [:]
    /// Other names of modules (`map`), by the beginning of the name.
    private var aliases: [String: String] = [:]
    /// The modules whose files contain other modules (`bundles`), by the names of these.
    private var bundles: [String: String] = [:]
    /// The values of constants such as `${base}` in paths.
    private var constants: [String: String] = [:]
    /// The folders of an import map, by the beginning of the specifier.
    private var prefixes: [String: WebURL] = [:]
    /// The names of modules that a body defines, which need no request.
    private var definitions: Set<String> = []
    /// The query that is appended to each URL (`urlArgs`).
    private var arguments = ""
    /// Whether the page has a loader of AMD modules.
    package private(set) var hasLoader = false
    /// Whether the page configures where modules are.
    package private(set) var isConfigured = false

    /// The maximum number of settings. Further ones are ignored.
    private static let maxSettings = 65_536

    package init(document: WebURL) {
        self.document = document
    }

    /// Applies the settings of a body of the page. Returns false if none of them is new.
    @discardableResult
    package mutating func apply(_ notes: [LoaderNote]) -> Bool {
        let hadModules = isConfigured || hasLoader
        var isNew = false
        for note in notes where note.kind.isSetting && count < Self.maxSettings {
            if set(note) { isNew = true }
        }
        return isNew || !hadModules && (isConfigured || hasLoader)
    }

    private var count: Int { paths.count + packages.count + definitions.count + prefixes.count }

    /// Applies one setting. Returns whether it is new.
    private mutating func set(_ note: LoaderNote) -> Bool {
        switch note.kind {
        case .base:
            let value = replacingConstants(in: note.value)
            guard let value, let folder = WebURL(value.hasSuffix("/") ? value : value + "/", base: document)
            else { return false }
            let isNew = base != folder
            (base, isConfigured, hasLoader) = (folder, true, true)
            return isNew
        case .main:
            hasLoader = true
            // The folder of the first script is that of all modules, unless another one is configured.
            guard base == nil, let script = WebURL(note.value, base: document),
                let folder = WebURL(".", base: script)
            else { return false }
            base = folder
            isConfigured = true
            return true
        case .loader:
            let isNew = !hasLoader
            hasLoader = true
            return isNew
        case .path: return put(note, into: \.paths)
        case .package: return put(note, into: \.packages)
        case .packageMain: return put(note, into: \.mains)
        case .alias: return put(note, into: \.aliases)
        case .bundle: return put(note, into: \.bundles)
        case .arguments:
            guard let value = replacingConstants(in: note.value), arguments != value else { return false }
            arguments = value
            return true
        case .constant:
            guard constants.count < 64, constants[note.name] == nil else { return false }
            // The relative URL of one folder differs between pages, so the absolute one is stored.
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
        _ note: LoaderNote, into table: WritableKeyPath<LoaderEnvironment, [String: String]>
    ) -> Bool {
        guard let value = replacingConstants(in: note.value) else { return false }
        (isConfigured, hasLoader) = (true, true)
        return self[keyPath: table].updateValue(value, forKey: note.name) != value
    }

    /// Returns the text with its constants replaced by their values; nil if one is unknown.
    private func replacingConstants(in text: String) -> String? {
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
            if filled.count > LoaderNote.maxBytes { return nil }
            index = end + 1
        }
        return String(decoding: filled, as: UTF8.self)
    }

    // MARK: - Requests

    /// Returns the URLs that a body of the page requests, without duplicates.
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
        // Only if there is a loader: many libraries are modules only then.
        case .dependency: return hasLoader ? modules(note.value, url) : []
        case .resource:
            guard hasLoader, let value = replacingConstants(in: note.value) else { return [] }
            return link(address(of: value, url, suffix: ""), FileEndings.kind(ofName: value) ?? .data)
        case .address:
            guard let value = replacingConstants(in: note.value) else { return [] }
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

    /// Returns the script that a loader starts with: `data-main="js/main"`.
    private func main(_ value: String) -> [Link] {
        let name = value.hasSuffix(".js") ? String(value.dropLast(3)) : value
        guard !name.contains("!"), let script = WebURL(name, base: document) else { return [] }
        let file =
            name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[name.index(after: $0)...]) } ?? name
        // If the folder of modules is the script's own, the script is a module itself.
        let isInBase = base.map { $0 == WebURL(".", base: script) } ?? true
        if isInBase, let path = paths[file] {
            return link(address(of: path, document, suffix: ".js"), .script)
        }
        let url = isInBase ? WebURL(name + ".js", base: document) : address(of: name, document, suffix: ".js")
        return link(url.flatMap(withArguments), .script, isGuess: false)
    }

    /// Returns the URL of a module, or those of a plugin and its resource.
    private func modules(_ text: String, _ url: WebURL) -> [Link] {
        guard let name = replacingConstants(in: text) else { return [] }
        guard let separator = name.utf8.firstIndex(of: UInt8(ascii: "!")) else { return module(name, url) }
        let plugin = String(name[..<separator])
        return module(plugin, url) + resource(String(name[name.index(after: separator)...]), plugin, url)
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
            return link(address(of: name, url, suffix: ""), FileEndings.kind(ofName: name) ?? .data)
        case "hbs": return link(address(of: name, url, suffix: name.contains(".") ? "" : ".hbs"), .data)
        default:
            // An unknown plugin may resolve a name in any way, unless the name is that of a file.
            guard let kind = FileEndings.kind(ofName: name), kind.role == .asset else { return [] }
            return link(address(of: name, url, suffix: ""), kind)
        }
    }

    /// Returns the URL of a module's file, with the name resolution of RequireJS.
    private func address(of name: String, _ url: WebURL, suffix: String) -> WebURL? {
        if name.hasPrefix("./") || name.hasPrefix("../") {
            // Relative names are relative to the script; in a page, to the folder of modules.
            return WebURL(name + suffix, base: url == document ? base ?? document : url).flatMap(
                withArguments)
        }
        let isAddress =
            name.hasPrefix("/") || name.contains(":") || name.contains("?")
            || suffix == ".js" && name.hasSuffix(".js")
        if isAddress { return WebURL(name, base: document).flatMap(withArguments) }
        let target = replacingLongestPrefix(of: name, in: aliases) ?? name
        let module = bundles[target] ?? target
        let path = path(ofModule: module)
        let isWhole = path.contains("?") || path.hasSuffix(".js") && suffix == ".js" && path != module
        return WebURL(isWhole ? path : path + suffix, base: base ?? document).flatMap(withArguments)
    }

    /// Returns the path of a module name, by its longest configured prefix.
    private func path(ofModule name: String) -> String {
        if let path = replacingLongestPrefix(of: name, in: paths) { return path }
        if let folder = packages[name] { return folder + "/" + (mains[name] ?? "main") }
        return replacingLongestPrefix(of: name, in: packages) ?? name
    }

    /// Returns the name with its longest prefix of whole segments in the table replaced by the prefix's
    /// value; nil if the table has none.
    private func replacingLongestPrefix(of name: String, in table: [String: String]) -> String? {
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
