internal import Web

extension JSONScanner {
    /// A web application's manifest. The pages it leads to are pages, its pictures are requisites.
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
        for application in manifest["related_applications"]?.array ?? [] { add(application["url"], .metadata) }
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

    /// An import map. What a prefix leads to is no file, and a key is only a name: both are rewritten, never fetched.
    mutating func importMap(_ map: JSONValue) {
        specifiers(map["imports"])
        for scope in map["scopes"]?.members ?? [] {
            add(keyOf: scope, .name)
            specifiers(scope.value)
        }
        for entry in map["integrity"]?.members ?? [] where Self.isAddress(entry.key) { add(keyOf: entry, .name) }
    }

    private mutating func specifiers(_ map: JSONValue?) {
        for entry in map?.members ?? [] {
            if Self.isAddress(entry.key) { add(keyOf: entry, .name) }
            guard let address = entry.value.string, Self.isAddress(address) else { continue }
            add(entry.value, address.hasSuffix("/") ? .name : .module)
        }
    }

    /// The addresses in an import map start with a slash, with dots and a slash, or with a scheme.
    private static func isAddress(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBufferPointer { ScriptAddress($0) != .bare }
    }

    /// Speculation rules: lists of addresses. Rules about a document's own links name none.
    mutating func speculationRules(_ rules: JSONValue) {
        for action in ["prefetch", "prerender", "prerender_until_script"] {
            for rule in rules[action]?.array ?? [] {
                for address in rule["urls"]?.array ?? [] { add(address, .speculation) }
            }
        }
    }

    /// Linked data: nothing is fetched, but what names an origin is rewritten.
    mutating func linkedData(_ value: JSONValue, key: String = "") {
        switch value.content {
        case .null, .bool, .number: break
        case .string(let text):
            let isAbsolute = Array(text.utf8).withUnsafeBufferPointer { ScriptAddress($0) == .absolute }
            if isAbsolute { add(value, key == "@context" || key == "@type" ? .name : .metadata) }
        case .array(let elements): for element in elements { linkedData(element, key: key) }
        case .object(let members): for member in members { linkedData(member.value, key: member.key) }
        }
    }
}
