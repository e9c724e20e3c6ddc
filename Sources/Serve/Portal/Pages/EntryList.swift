internal import Store
internal import Web

extension HTMLWriter {
    /// What is held, a line each: its title, its address and what it is.
    mutating func entry(_ entry: HeldEntry, _ context: PortalContext, below prefix: String = "", site: String? = nil) {
        element("li", ["class": "entry"]) { html in
            let address = entry.href.dropFirst(prefix.utf8.count)
            let shown = prefix.isEmpty ? entry.href : address.isEmpty ? "(this folder’s own page)" : String(address)
            let title = entry.body?.title.flatMap { $0.isEmpty ? nil : $0 }
            html.link(context.links.details(entry.href), ["class": "name"]) { html in
                html.foreign(Wording.cut(title ?? shown, to: 200))
            }
            if title != nil { html.element("span", ["class": "url"]) { $0.address(shown) } }
            html.element("span", ["class": "soft"], text: Self.words(entry, site))
        }
    }

    private static func words(_ entry: HeldEntry, _ site: String?) -> String {
        var words: [String] = []
        switch entry.status {
        case 300..<400: words.append("redirect")
        case 404, 410: words.append("gone at the origin (\(entry.status))")
        case 200: break
        default: words.append("status \(entry.status)")
        }
        if let type = entry.type, entry.body != nil { words.append(Wording.cut(type, to: 60)) }
        if let body = entry.body { words.append(Wording.bytes(Int64(body.byteCount))) }
        if let site { words.append("in \(Wording.cut(site, to: 80))") }
        return words.joined(separator: ", ")
    }

    mutating func item(_ item: FolderWalk.Item, _ context: PortalContext, of site: Int64, below prefix: String) {
        switch item {
        case .entry(let entry):
            self.entry(entry, context, below: prefix)
        case .folder(let folder, let count, let isMore):
            element("li", ["class": "entry"]) { html in
                html.link(context.links.folder(folder, of: site), ["class": "name folder"]) { html in
                    html.foreign(Wording.cut(String(folder.dropFirst(prefix.utf8.count)), to: 200))
                }
                let number = Wording.count(count, "address", plural: "addresses")
                html.element("span", ["class": "soft"], text: isMore ? "more than \(number)" : number)
            }
        }
    }

    /// A form that asks for words in titles and addresses.
    mutating func searchForm(_ action: String, label: String, words: String = "") {
        element("form", ["class": "find", "role": "search", "method": "get", "action": action]) { html in
            html.element("label", ["for": "q"], text: label)
            html.void(
                "input",
                [
                    "id": "q", "name": "q", "type": "search", "value": words, "maxlength": "\(PortalLimits.words)",
                    "autocomplete": "off", "spellcheck": "false",
                ])
            html.element("button", ["type": "submit"], text: "Search")
        }
    }

    mutating func fact(_ name: String, _ value: String, note: String? = nil) {
        element("div") { html in
            html.element("dt", text: name)
            html.element("dd", text: value)
            if let note { html.element("dd", ["class": "note"], text: note) }
        }
    }

    mutating func next(_ address: String, _ text: String) {
        element("p", ["class": "next"]) { $0.link(address, ["class": "button quiet", "rel": "next"], text: text) }
    }
}

extension HeldEntry {
    func write(to writer: inout JSONWriter, _ context: PortalContext) {
        writer.object { object in
            object.member("url", href)
            object.member("title", body?.title)
            object.member("status", status)
            object.member("role", role == 0 ? "page" : "requisite")
            object.member("type", type)
            object.member("bytes", body?.byteCount)
            object.member("visit", visit)
            object.member("fetched", fetched)
            object.member("mirror", context.mirrored(href))
        }
    }
}
