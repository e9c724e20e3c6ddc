internal import Reports
package import Store
internal import Web

/// The stored URLs in one folder of a site.
struct FolderPage: PortalPage {
    let site: Site
    let walk: FolderWalk
    let section = PortalSection.sites

    init(_ site: Site, under prefix: String, from start: String?, _ reader: StoreReader) throws(StoreError) {
        self.site = site
        walk = try FolderWalk.list(
            prefix, site: site.id, from: start, limit: PortalLimits.maxListItems * 4, reader)
    }

    var title: String { walk.prefix.isEmpty ? "Hosts" : walk.prefix }
    var heading: Sentence? { walk.prefix.isEmpty ? .hosts : nil }

    /// The site, its hosts, and every folder above this one.
    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        var trail = [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
        guard !walk.prefix.isEmpty else { return trail }
        trail.append((context.words(.hosts), context.links.folder("", of: site.id)))
        var above = ""
        while let folder = FolderWalk.folder(of: walk.prefix, below: above), folder != walk.prefix {
            trail.append(
                (String(folder.dropFirst(above.utf8.count)), context.links.folder(folder, of: site.id)))
            above = folder
        }
        return trail
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !walk.items.isEmpty else {
            html.element("p", say: .folderEmpty)
            return
        }
        html.element("ul", ["class": "list"]) { html in
            for item in walk.items { html.item(item, context, of: site.id, below: walk.prefix) }
        }
        if walk.rest != nil {
            html.next(
                context.links.folder(walk.prefix, of: site.id, after: walk.rest), html.words(.moreOfFolder))
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["site": site.name, "folder": walk.members(context)]
    }
}

/// Builds the list of one folder from slices of all stored URLs below it, in URL order. With an empty prefix,
/// the folders are hosts.
package struct FolderWalk {
    /// An item of the list: a subfolder or a stored URL.
    package enum Item: Equatable {
        /// A subfolder, with the number of URLs that were counted in it. `isMore` if counting stopped early.
        case folder(prefix: String, count: Int, isMore: Bool)
        case entry(VisibleEntry)
    }

    let prefix: String
    let limit: Int
    private(set) var items: [Item] = []
    /// The key where the next page of the list starts; nil if the list is not full.
    private(set) var rest: String?

    init(prefix: String, limit: Int) {
        self.prefix = prefix
        self.limit = limit
    }

    /// Returns a key that sorts after every URL with the prefix. URLs are ASCII.
    static func end(of prefix: String) -> String { prefix + "\u{7f}" }

    /// Adds the next slice and returns the start of the one after it; nil if there is none or the list is
    /// full. With `inHurry`, counts a folder only to the end of its slice.
    mutating func take(_ slice: VisibleSlice, inHurry: Bool = false) -> String? {
        for entry in slice.entries {
            guard add(entry) else { return nil }
        }
        guard let next = slice.next else { return nil }
        // Counting stops early in large folders.
        guard case .folder(let folder, let count, _) = items.last, next.hasPrefix(folder),
            inHurry || count >= Self.counted
        else { return next }
        items[items.count - 1] = .folder(prefix: folder, count: count, isMore: true)
        return Self.end(of: folder)
    }

    /// Ends the list at the URL where the next slice would begin.
    mutating func stop(before next: String) {
        rest = next
        guard case .folder(let folder, let count, _) = items.last, next.hasPrefix(folder) else { return }
        items[items.count - 1] = .folder(prefix: folder, count: count, isMore: true)
        rest = Self.end(of: folder)
    }

    /// Adds an entry. Returns false if the list is full.
    private mutating func add(_ entry: VisibleEntry) -> Bool {
        let folder = Self.folder(of: entry.href, below: prefix)
        if let folder, case .folder(folder, let count, let isMore) = items.last {
            items[items.count - 1] = .folder(prefix: folder, count: count + 1, isMore: isMore)
            return true
        }
        guard items.count < limit else {
            rest = folder ?? entry.href
            return false
        }
        items.append(folder.map { .folder(prefix: $0, count: 1, isMore: false) } ?? .entry(entry))
        return true
    }

    private static let counted = 1_000

    /// Returns the prefix and the next path component with its slash; nil for a URL in the folder itself.
    static func folder(of href: String, below prefix: String) -> String? {
        let bytes = href.utf8
        var place =
            bytes.index(bytes.startIndex, offsetBy: prefix.utf8.count, limitedBy: bytes.endIndex)
            ?? bytes.endIndex
        if prefix.isEmpty {
            guard let authority = href.firstRange(of: "://") else { return nil }
            place = authority.upperBound
        }
        while place < bytes.endIndex {
            switch bytes[place] {
            case UInt8(ascii: "/"): return String(href[...place])
            // A slash in the query separates nothing.
            case UInt8(ascii: "?"): return nil
            default: place = bytes.index(after: place)
            }
        }
        return nil
    }

    /// Lists a folder from `start`, or from its beginning.
    static func list(
        _ prefix: String, site: Int64, from start: String?, limit: Int, _ reader: StoreReader
    ) throws(StoreError) -> FolderWalk {
        var walk = FolderWalk(prefix: prefix, limit: limit)
        var next: String? = start.flatMap { $0.hasPrefix(prefix) ? $0 : nil } ?? prefix
        var walked = 0
        while let position = next {
            guard walked < PortalLimits.maxFolderURLs else {
                walk.stop(before: position)
                break
            }
            let inHurry = walked >= PortalLimits.maxFolderURLs / 2
            let length = inHurry ? PortalLimits.shortFolderSliceURLs : PortalLimits.folderSliceURLs
            let slice = try reader.slice(
                from: position, before: end(of: prefix), site: site, urlCount: length)
            walked += length
            next = walk.take(slice, inHurry: inHurry)
        }
        return walk
    }
}

extension HTMLWriter {
    /// Writes one stored URL as a list item: title, URL, status, type and size.
    package mutating func entry(
        _ entry: VisibleEntry, _ context: PortalContext, below prefix: String = "", site: String? = nil
    ) {
        element("li", ["class": "entry"]) { html in
            let address = entry.href.dropFirst(prefix.utf8.count)
            let shown =
                prefix.isEmpty ? entry.href : address.isEmpty ? html.words(.folderIndexPage) : String(address)
            let title = entry.body?.title.flatMap { $0.isEmpty ? nil : $0 }
            html.link(context.links.details(entry.href), ["class": "name"]) { html in
                html.isolatedText(Wording.cut(title ?? shown, to: 200))
            }
            if title != nil { html.element("span", ["class": "url"]) { $0.url(shown) } }
            html.element("span", ["class": "soft"], text: html.words(entry, site))
        }
    }

    private func words(_ entry: VisibleEntry, _ site: String?) -> String {
        var words: [String] = []
        switch entry.status {
        case 300..<400: words.append(self.words(.redirect))
        case 404, 410: words.append(self.words(.notFoundStatus, "\(entry.status)"))
        case 200: break
        default: words.append(self.words(.statusIs, "\(entry.status)"))
        }
        if let type = entry.type, entry.body != nil { words.append(Wording.cut(type, to: 60)) }
        if let body = entry.body { words.append(Wording.bytes(body.byteCount)) }
        if let site { words.append(self.words(.inSite, Wording.cut(site, to: 80))) }
        return words.joined(separator: self.words(.comma))
    }

    package mutating func item(
        _ item: FolderWalk.Item, _ context: PortalContext, of site: Int64, below prefix: String
    ) {
        switch item {
        case .entry(let entry):
            self.entry(entry, context, below: prefix)
        case .folder(let folder, let count, let isMore):
            element("li", ["class": "entry"]) { html in
                html.link(context.links.folder(folder, of: site), ["class": "name folder"]) { html in
                    html.isolatedText(Wording.cut(String(folder.dropFirst(prefix.utf8.count)), to: 200))
                }
                let number = html.count(count, .oneAddress, .manyAddresses)
                html.element("span", ["class": "soft"], text: isMore ? html.words(.moreThan, number) : number)
            }
        }
    }

    /// Writes a search form.
    mutating func searchForm(_ action: String, label: String, words: String = "") {
        element("form", ["class": "find", "role": "search", "method": "get", "action": action]) { html in
            html.element("label", ["for": "q"], text: label)
            html.void(
                "input",
                [
                    "id": "q", "name": "q", "type": "search", "value": words,
                    "maxlength": "\(PortalLimits.maxSearchTextBytes)",
                    "autocomplete": "off", "spellcheck": "false",
                ])
            html.element("button", ["type": "submit"], say: .search)
        }
    }

    mutating func fact(_ name: String, _ value: String, note: String? = nil) {
        element("div") { html in
            html.element("dt", text: name)
            html.element("dd", text: value)
            if let note { html.element("dd", ["class": "note"], text: note) }
        }
    }

    package mutating func next(_ address: String, _ text: String) {
        element("p", ["class": "next"]) {
            $0.link(address, ["class": "button quiet", "rel": "next"], text: text)
        }
    }
}

extension FolderWalk {
    func members(_ context: PortalContext) -> JSONMembers {
        ["under": prefix, "items": items.map { $0.members(context) }, "after": rest]
    }
}

extension FolderWalk.Item {
    func members(_ context: PortalContext) -> JSONMembers {
        switch self {
        case .entry(let entry): entry.members(context)
        case .folder(let prefix, let count, let isMore):
            ["folder": prefix, "addresses": count, "more": isMore]
        }
    }
}

extension VisibleEntry {
    func members(_ context: PortalContext) -> JSONMembers {
        ListedURL(self).members + ["title": body?.title, "mirror": context.mirrorAddress(of: href)]
    }
}
