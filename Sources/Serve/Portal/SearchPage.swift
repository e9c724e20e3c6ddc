internal import Reports
internal import Store
internal import Web

/// What has some words in its title, then what has them in its address.
struct SearchPage: PortalPage {
    let words: String
    /// Nil for a search over all.
    let site: Site?
    let names: [Int64: String]
    let entries: [HeldEntry]
    /// Nil when all was looked through.
    let next: SearchPlace?
    /// It goes on with one that was begun.
    let isContinued: Bool
    let section = PortalSection.search

    init(
        _ words: String, in site: Site?, from place: SearchPlace?, _ reader: StoreReader,
        _ memory: PortalMemory
    ) throws(StoreError) {
        self.words = Wording.cut(Self.trimmed(words), to: PortalLimits.words)
        self.site = site
        names = Dictionary(uniqueKeysWithValues: try memory.sites(reader).map { ($0.id, $0.name) })
        isContinued = place != nil
        guard !self.words.isEmpty else {
            (entries, next) = ([], nil)
            return
        }
        (entries, next) = try Self.find(self.words, site?.id, from: place ?? .start, reader)
    }

    private static func find(
        _ words: String, _ site: Int64?, from place: SearchPlace, _ reader: StoreReader
    ) throws(StoreError) -> ([HeldEntry], SearchPlace?) {
        var entries: [HeldEntry] = []
        let start: String
        switch place {
        case .addresses(let place):
            start = place
        case .titles(let place):
            let found = try reader.find(
                .title(words), site: site, after: place, bodyCount: PortalLimits.searchedBodies,
                limit: PortalLimits.lines)
            entries = found.entries
            if let next = found.next { return (entries, .titles(next)) }
            start = ""
        }
        let room = PortalLimits.lines - entries.count
        guard room > 0 else { return (entries, .addresses(start)) }
        let found = try reader.find(
            address: address(words), notTitled: words, site: site, after: start,
            urlCount: PortalLimits.searchedURLs,
            limit: room)
        return (entries + found.entries, found.next.map { .addresses($0) })
    }

    /// As an address would write it: without the fragment of an original address, and escaped.
    private static func address(_ words: String) -> String {
        if let url = WebURL(words), url.isHTTP { return url.key.href }
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = words.utf8.flatMap { byte in
            byte > 0x20 && byte < 0x7f
                ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func trimmed(_ words: String) -> String {
        var bytes = Array(words.utf8)[...]
        while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    var title: String { words.isEmpty ? "Search" : "Search: \(words)" }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        site.map { [("Sites", context.links.home), ($0.name, context.links.site($0.id))] } ?? []
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        let action = site.map { "\(context.links.site($0.id))/search" } ?? PortalLinks.search
        let label =
            site == nil ? "Words in a title or an address" : "Words in a title or an address of this site"
        html.searchForm(action, label: label, words: words)
        guard !words.isEmpty else { return }
        html.element("p", ["role": "status"], text: outcome)
        if !entries.isEmpty {
            html.element("h2", ["class": "hidden"], text: "Results")
            html.element("ul", ["class": "list"]) { html in
                for entry in entries {
                    html.entry(entry, context, site: site == nil && names.count > 1 ? names[entry.site] : nil)
                }
            }
        }
        if let next {
            let address = context.links.search(words, in: site?.id, after: next.text)
            html.next(address, entries.count < PortalLimits.lines ? "Look further" : "More results")
        }
        if site != nil {
            html.element("p") { $0.link(context.links.search(words, in: nil), text: "Search all sites") }
        }
    }

    private var outcome: String {
        let number = Wording.count(entries.count, "result")
        switch (entries.isEmpty, next == nil) {
        case (true, true): return isContinued ? "Nothing more was found." : "Nothing was found."
        case (true, false): return "Nothing was found so far."
        case (false, true): return isContinued ? "The last \(number)." : "\(number)."
        case (false, false): return "\(number), and there may be more."
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "words": words, "site": site?.name, "results": entries.map { $0.members(context) },
            "after": next?.text,
        ]
    }
}

/// Where a search is to be gone on with: first through titles, then through addresses.
enum SearchPlace: Equatable {
    case titles(BodyPlace)
    case addresses(String)

    static let start = SearchPlace.titles(.start)

    init?(text: String) {
        let rest = text.dropFirst(2)
        if text.hasPrefix("a.") {
            self = .addresses(String(rest))
            return
        }
        let numbers = rest.split(separator: ".").compactMap { Int64($0) }
        guard text.hasPrefix("t."), numbers.count == 2, numbers.allSatisfy({ $0 >= 0 && $0 < Int64.max / 2 })
        else {
            return nil
        }
        self = .titles(BodyPlace(body: numbers[0], url: numbers[1]))
    }

    var text: String {
        switch self {
        case .titles(let place): "t.\(place.body).\(place.url)"
        case .addresses(let place): "a.\(place)"
        }
    }
}
