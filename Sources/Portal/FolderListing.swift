internal import Reports
internal import Store
internal import Web

/// The list of the subfolders and URLs in one folder, with a count for each subfolder. With an empty prefix, the folders
/// are hosts.
///
/// The store has no folders, only URLs. `list` reads the URLs below the folder in slices, in URL order, in which those
/// of one subfolder follow each other. It counts a subfolder only up to a limit and then continues after it, so that the
/// time does not grow with the number of URLs in the subfolders.
struct FolderListing {
    /// An item of the list: a subfolder or a stored URL.
    enum Item: Equatable {
        /// A subfolder, with the number of URLs that were counted in it. `isMore` if counting stopped early.
        case folder(prefix: String, count: Int, isMore: Bool)
        case entry(VisibleEntry)

        /// The URL, or the prefix of the folder.
        var url: String {
            switch self {
            case .folder(let prefix, _, _): prefix
            case .entry(let entry): entry.href
            }
        }
    }

    /// The URL of the folder, which ends with a slash; empty for the list of hosts.
    let prefix: String
    /// The maximum number of items.
    let limit: Int
    private(set) var items: [Item] = []
    /// The key where the next page of the list starts; nil if the list is complete.
    private(set) var next: String?

    /// Subfolders with more URLs than this are not counted exactly.
    private static let maxExactCount = 1_000

    init(prefix: String, limit: Int) {
        self.prefix = prefix
        self.limit = limit
    }

    /// Lists a folder from `start`, or from its beginning.
    ///
    /// Reads at most `PortalLimits.maxFolderURLs` URLs. In the second half of this budget the slices are shorter, and each
    /// subfolder is counted only in its first slice: the rest of the budget shows many subfolders rather than the exact
    /// sizes of a few.
    static func list(
        _ prefix: String, site: Int64, from start: String?, limit: Int, _ reader: StoreReader
    ) throws(StoreError) -> FolderListing {
        var listing = FolderListing(prefix: prefix, limit: limit)
        var nextStart: String? = start.flatMap { $0.hasPrefix(prefix) ? $0 : nil } ?? prefix
        var readCount = 0
        while let start = nextStart {
            guard readCount < PortalLimits.maxFolderURLs else {
                listing.end(before: start)
                break
            }
            let isHurried = readCount >= PortalLimits.maxFolderURLs / 2
            let length = isHurried ? PortalLimits.shortFolderSliceURLs : PortalLimits.folderSliceURLs
            let slice = try reader.slice(
                from: start, before: keyAfter(prefix), site: site, urlCount: length)
            readCount += length
            nextStart = listing.add(slice, isHurried: isHurried)
        }
        // A list of several pages must be in the order of the URLs, in which the store reads them.
        if start == nil, listing.next == nil {
            listing.items.sort { NaturalOrder.precedes($0.url, $1.url) }
        }
        return listing
    }

    /// Returns a key that sorts after every URL with the prefix. URLs are ASCII.
    static func keyAfter(_ prefix: String) -> String { prefix + "\u{7f}" }

    /// Adds the next slice and returns the start of the one after it; nil if there is none or the list is full.
    ///
    /// - Parameter isHurried: whether to skip the rest of a subfolder that continues after the slice, however few of its
    ///   URLs are counted.
    mutating func add(_ slice: VisibleSlice, isHurried: Bool = false) -> String? {
        for entry in slice.entries {
            guard append(entry) else { return nil }
        }
        guard let next = slice.next else { return nil }
        guard case .folder(let folder, let count, _) = items.last, next.hasPrefix(folder),
            isHurried || count >= Self.maxExactCount
        else { return next }
        items[items.count - 1] = .folder(prefix: folder, count: count, isMore: true)
        return Self.keyAfter(folder)
    }

    /// Ends the list at the URL where the next slice would begin.
    private mutating func end(before start: String) {
        next = start
        guard case .folder(let folder, let count, _) = items.last, start.hasPrefix(folder) else { return }
        // The next page would count the rest of the last subfolder again: it starts after that subfolder.
        items[items.count - 1] = .folder(prefix: folder, count: count, isMore: true)
        next = Self.keyAfter(folder)
    }

    /// Adds a URL to the list or to the count of the last subfolder. Returns false if the list is full.
    private mutating func append(_ entry: VisibleEntry) -> Bool {
        let folder = Self.folder(of: entry.href, below: prefix)
        if let folder, case .folder(folder, let count, let isMore) = items.last {
            items[items.count - 1] = .folder(prefix: folder, count: count + 1, isMore: isMore)
            return true
        }
        guard items.count < limit else {
            next = folder ?? entry.href
            return false
        }
        items.append(folder.map { .folder(prefix: $0, count: 1, isMore: false) } ?? .entry(entry))
        return true
    }

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
}

/// The order in which people sort names with numbers: `story-2` comes before `story-10`.
enum NaturalOrder {
    /// Whether the first text comes before the second one. Numbers are compared by value, everything else by bytes.
    static func precedes(_ first: String, _ second: String) -> Bool {
        var (a, b) = (Array(first.utf8)[...], Array(second.utf8)[...])
        while let x = a.first, let y = b.first {
            if isDigit(x), isDigit(y) {
                let (left, right) = (number(&a), number(&b))
                if left.count != right.count { return left.count < right.count }
                if left != right { return left.lexicographicallyPrecedes(right) }
            } else {
                if x != y { return x < y }
                a.removeFirst()
                b.removeFirst()
            }
        }
        // Texts that differ only in leading zeros keep a fixed order.
        return a.isEmpty && b.isEmpty ? first < second : a.isEmpty
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Removes the digits at the beginning, and returns them without leading zeros.
    private static func number(_ text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = text.prefix(while: isDigit)
        text = text.dropFirst(digits.count)
        return digits.drop { $0 == 0x30 }
    }
}

extension HTMLWriter {
    /// Writes an item of a folder as a list item.
    ///
    /// - Parameter prefix: the URL of the folder, which is left out of the shown URLs.
    mutating func folderItem(
        _ item: FolderListing.Item, _ context: PortalContext, of site: Int64, below prefix: String
    ) {
        switch item {
        case .entry(let entry):
            urlItem(entry, context, below: prefix)
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

    /// Writes one stored URL as a list item: title, URL, status, type and size.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the URL that is left out; the URL itself if nothing else would be left.
    ///   - site: the name of its site, for lists with URLs of several sites.
    mutating func urlItem(
        _ entry: VisibleEntry, _ context: PortalContext, below prefix: String = "", site: String? = nil
    ) {
        element("li", ["class": "entry"]) { html in
            let address = entry.href.dropFirst(prefix.utf8.count)
            let shown =
                prefix.isEmpty ? entry.href : address.isEmpty ? html.words(.folderIndexPage) : String(address)
            let title = entry.body?.title.flatMap { $0.isEmpty ? nil : $0 }
            // A URL that the server does not have has no copy to open.
            let isMissing = entry.body == nil && [404, 410].contains(entry.status)
            let details = context.links.details(entry.href)
            html.link(
                isMissing ? details : context.mirrorAddress(of: entry.href) ?? details, ["class": "name"]
            ) { html in
                html.isolatedText(Wording.cut(title ?? shown, to: 200))
            }
            if isMissing {
                html.element(
                    "span", ["class": "badge warn"], say: Phrase(.statusIs, "\(entry.status)"))
            }
            if title != nil { html.element("span", ["class": "url"]) { $0.url(shown) } }
            html.element("span", ["class": "soft"]) { html in
                let facts = html.facts(about: entry, site: site)
                html.text(facts.isEmpty ? "" : facts + html.words(.comma))
                html.link(details) { html in
                    html.say(.details)
                    // The name tells the links of the list apart in a screen reader's list of links.
                    html.element(
                        "span", ["class": "hidden"], text: " \(Wording.cut(title ?? shown, to: 80))")
                }
            }
        }
    }

    /// The status if it is not 200, the media type, the size and the site: `text/html, 12 kB`.
    private func facts(about entry: VisibleEntry, site: String?) -> String {
        var facts: [String] = []
        switch entry.status {
        case 300..<400: facts.append(words(.redirect))
        case 404, 410:
            if entry.body != nil { facts.append(words(.statusIs, "\(entry.status)")) }
        case 200: break
        default: facts.append(words(.statusIs, "\(entry.status)"))
        }
        if let type = entry.type, entry.body != nil { facts.append(Wording.cut(type, to: 60)) }
        if let body = entry.body { facts.append(language.bytes(body.byteCount)) }
        if let site { facts.append(words(.inSite, Wording.cut(site, to: 80))) }
        return facts.joined(separator: words(.comma))
    }
}

// MARK: - JSON

extension FolderListing {
    func members(_ context: PortalContext) -> JSONMembers {
        ["under": prefix, "items": items.map { $0.members(context) }, "after": next]
    }
}

extension FolderListing.Item {
    func members(_ context: PortalContext) -> JSONMembers {
        switch self {
        case .entry(let entry): entry.members(context)
        case .folder(let prefix, let count, let isMore):
            ["folder": prefix, "addresses": count, "more": isMore]
        }
    }
}

extension VisibleEntry {
    /// The stored URL as JSON, for the lists of folders and of search results.
    func members(_ context: PortalContext) -> JSONMembers {
        ListedURL(self).members + ["title": body?.title, "mirror": context.mirrorAddress(of: href)]
    }
}
