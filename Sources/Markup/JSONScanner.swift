internal import Web

/// Finds the links in JSON documents whose members are known.
struct JSONScanner {
    private let text: SourceText
    private let sink: LinkSink
    private var found: [(range: Range<Int>, kind: LinkKind, flags: LinkFlags)] = []

    /// Larger texts are data rather than descriptions and are not scanned.
    private static let limits = JSONLimits(depth: 64, byteCount: 16 << 20, valueCount: 1_000_000)

    /// Parses the text and calls `body`, which adds the links in any order. A text that is not valid JSON has
    /// none.
    static func scan(_ text: SourceText, _ sink: LinkSink, _ body: (JSONValue, inout JSONScanner) -> Void) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(Span(_unsafeElements: text.bytes), limits: limits)
        } catch {
            // A browser ignores such a document, too.
            return
        }
        var scanner = JSONScanner(text: text, sink: sink)
        body(value, &scanner)
        scanner.finish()
    }

    private init(text: SourceText, sink: LinkSink) {
        self.text = text
        self.sink = sink
    }

    /// Adds a string as a link. Other values are ignored.
    mutating func add(_ value: JSONValue?, _ kind: LinkKind, _ flags: LinkFlags = []) {
        guard let range = value?.stringRange else { return }
        found.append((range, kind, flags))
    }

    /// Adds the key of a member as a link.
    mutating func add(keyOf member: JSONValue.Member, _ kind: LinkKind) {
        let start = member.keyOffset + 1
        var end = start
        while end < text.bytes.count, text.bytes[end] != UInt8(ascii: "\"") {
            end += text.bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        if end < text.bytes.count { found.append((start..<end, kind, [])) }
    }

    private mutating func finish() {
        found.sort { $0.range.lowerBound < $1.range.lowerBound }
        for link in found { sink.add(text.bytes.trimmed(link.range), in: text, link.kind, .json, link.flags) }
    }

    /// Scans a JSON text of unknown type. Manifests, import maps and some other
    /// kinds are recognized by their members.
    static func document(_ text: SourceText, _ sink: LinkSink) {
        let head = text.bytes.part(0..<min(text.bytes.count, 1 << 16))
        let marks: [StaticString] = [
            "\"icons\"", "\"start_url\"", "\"imports\"", "\"prefetch\"", "\"prerender\"",
            "\"assetgroups\"", "\"componentchunkname\"", "\"page_count\"",
        ]
        guard marks.contains(where: { head.firstIndex(of: $0) != nil }) else { return }
        scan(text, sink) { value, scanner in
            if value["imports"]?.members != nil {
                scanner.importMap(value)
            } else if value["assetGroups"]?.array != nil {
                scanner.angularWorker(value)
            } else if value["componentChunkName"]?.string != nil {
                sink.addImplied(queries(value))
            } else if value["prefetch"]?.array != nil || value["prerender"]?.array != nil {
                scanner.speculationRules(value)
            } else if value["icons"]?.array != nil || value["start_url"]?.string != nil {
                scanner.webManifest(value)
            } else if PagefindIndex.isEntry(value) {
                sink.addImplied(PagefindIndex.languages(value))
            }
        }
    }

    /// Adds the links of a web app manifest. Its URLs of pages are pages, its images are assets.
    mutating func webManifest(_ manifest: JSONValue) {
        pictures(manifest["icons"], .icon)
        pictures(manifest["screenshots"], .image)
        add(manifest["start_url"], .page)
        add(manifest["id"], .name)
        add(manifest["scope"], .name)
        for shortcut in manifest["shortcuts"]?.array ?? [] {
            add(shortcut["url"], .page)
            pictures(shortcut["icons"], .icon)
        }
        if let target = manifest["share_target"] {
            add(target["action"], target["method"]?.string?.lowercased() == "post" ? .submission : .form)
        }
        for handler in manifest["file_handlers"]?.array ?? [] {
            add(handler["action"], .page)
            pictures(handler["icons"], .icon)
        }
        add(manifest["note_taking"]?["new_note_url"], .page)
        add(manifest["serviceworker"]?["src"], .worker)
        for handler in manifest["protocol_handlers"]?.array ?? [] { add(handler["url"], .parameter) }
        for application in manifest["related_applications"]?.array ?? [] {
            add(application["url"], .metadata)
        }
        for widget in manifest["widgets"]?.array ?? [] {
            add(widget["ms_ac_template"], .data)
            add(widget["data"], .data)
            pictures(widget["icons"], .icon)
            pictures(widget["screenshots"], .image)
        }
    }

    private mutating func pictures(_ list: JSONValue?, _ kind: LinkKind) {
        for picture in list?.array ?? [] { add(picture["src"], kind) }
    }

    /// Adds the links of an import map. Values of prefixes are not files, and keys are only names: both are
    /// rewritten but never fetched.
    mutating func importMap(_ map: JSONValue) {
        specifiers(map["imports"])
        for scope in map["scopes"]?.members ?? [] {
            add(keyOf: scope, .name)
            specifiers(scope.value)
        }
        for entry in map["integrity"]?.members ?? [] where Self.isAddress(entry.key) {
            add(keyOf: entry, .name)
        }
    }

    private mutating func specifiers(_ map: JSONValue?) {
        for entry in map?.members ?? [] {
            if Self.isAddress(entry.key) { add(keyOf: entry, .name) }
            guard let address = entry.value.string, Self.isAddress(address) else { continue }
            let isPrefix = address.hasSuffix("/")
            add(entry.value, isPrefix ? .name : .module)
            if isPrefix, max(entry.key.utf8.count, address.utf8.count) <= LoaderNote.maxBytes {
                sink.addNotes([LoaderNote(.prefix, address, name: entry.key)])
            }
        }
    }

    /// Adds the files that Angular's service worker stores, which are all files of its groups.
    private mutating func angularWorker(_ list: JSONValue) {
        for group in list["assetGroups"]?.array ?? [] {
            for url in group["urls"]?.array ?? [] {
                guard let name = url.string else { continue }
                add(url, FileEndings.kind(ofName: name) ?? .data)
            }
        }
    }

    /// Returns the data that a Gatsby page shares with other pages.
    private static func queries(_ page: JSONValue) -> [ImpliedLink] {
        (page["staticQueryHashes"]?.array ?? []).prefix(1024).compactMap { hash in
            guard let hash = hash.string, hash.utf8.count <= 64 else { return nil }
            return ImpliedLink("page-data/sq/d/\(hash).json", .data, from: .build)
        }
    }

    /// Whether a string in an import map is a URL, which starts with a slash, with dots and a slash, or with
    /// a scheme.
    private static func isAddress(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBufferPointer { ScriptURLForm($0) != .bare }
    }

    /// Adds the URLs in speculation rules. Rules that select links of the document contain none.
    mutating func speculationRules(_ rules: JSONValue) {
        for action in ["prefetch", "prerender", "prerender_until_script"] {
            for rule in rules[action]?.array ?? [] {
                for address in rule["urls"]?.array ?? [] { add(address, .speculation) }
            }
        }
    }

    /// Adds the absolute URLs in linked data. They are rewritten but not fetched.
    mutating func linkedData(_ value: JSONValue, key: String = "") {
        switch value.content {
        case .null, .bool, .number: break
        case .string(let text):
            let isAbsolute = Array(text.utf8).withUnsafeBufferPointer { ScriptURLForm($0) == .absolute }
            if isAbsolute { add(value, key == "@context" || key == "@type" ? .name : .metadata) }
        case .array(let elements): for element in elements { linkedData(element, key: key) }
        case .object(let members): for member in members { linkedData(member.value, key: member.key) }
        }
    }
}
