internal import Store
internal import Web

/// Everything that is known of one URL.
struct DetailsPage: PortalPage {
    struct Links {
        let list: LinkList
        let targets: [(href: String, isHeld: Bool)]
        let count: Int
    }

    let href: String
    /// The newest visit first.
    let rows: [HeldRow]
    /// What readers get; nil when nothing is shown.
    let shown: HeldRow?
    /// Where the shown body's bytes are; nil without a body, and when they are gone.
    /// From the store's folder on; nil when the bytes are not whole.
    let keptIn: String?
    /// Of the shown body, as far as it is known or quickly had.
    let md5: [UInt8]?
    let links: [Links]
    /// Those that have it.
    let sites: [Site]
    /// By its name, the one that fetches what was missed there.
    let bringer: String?
    let linkers: (hrefs: [String], next: Int64?)
    let isContinued: Bool
    let neighbours: [String]
    let section = PortalSection.none

    init(_ href: String, allOf wanted: LinkList?, after place: Int64?, _ reader: StoreReader, _ memory: PortalMemory)
        throws(StoreError)
    {
        self.href = href
        rows = try reader.rows(of: href)
        shown = rows.first { $0.isShown && $0.response.request == .get } ?? rows.first { $0.isShown } ?? rows.first
        keptIn =
            try shown?.response.body.flatMap { (body) throws(StoreError) in
                try reader.content(of: body) == nil ? nil : try reader.placeName(of: body)
            }
        md5 =
            try keptIn == nil
            ? nil
            : shown?.response.body.flatMap { (body) throws(StoreError) in
                try reader.md5(of: body, upTo: PortalLimits.digestedBytes)
            }
        let known = try memory.sites(reader).map { ($0.name, $0.start, $0.settings) }
        bringer = SiteRules(known).site(bringing: href, askedBy: nil, isPage: true)
        let names = Set(rows.map(\.site))
        sites = try memory.sites(reader).filter { names.contains($0.name) }
        var links: [Links] = []
        if let shown, let numbers = try reader.linkNumbers(of: shown.response) {
            for list in LinkList.allCases {
                let all = Self.unique(list == .pages ? numbers.pages : numbers.requisites)
                let limit = wanted == list ? Self.mostLinks : PortalLimits.lines
                links.append(Links(list: list, targets: try reader.targets(all, limit: limit), count: all.count))
            }
        }
        self.links = links
        isContinued = place != nil
        linkers = try reader.linkers(
            to: href, after: place ?? 0, count: PortalLimits.linkers, limit: PortalLimits.lines)
        neighbours = try rows.isEmpty ? Self.neighbours(of: href, reader) : []
    }

    private static let mostLinks = 2_000

    /// A page may link to another more than once.
    private static func unique(_ numbers: [Int64]) -> [Int64] {
        var seen: Set<Int64> = []
        return numbers.filter { seen.insert($0).inserted }
    }

    private static func neighbours(of href: String, _ reader: StoreReader) throws(StoreError) -> [String] {
        guard let url = WebURL(href), url.isHTTP else { return [] }
        for prefix in [SitePage.folder(of: href), url.origin + "/"] {
            let found = try reader.neighbours(of: href, below: prefix, count: 5)
            if !found.isEmpty { return found }
        }
        return []
    }

    var status: Int { rows.isEmpty ? 404 : 200 }

    var title: String {
        let title = shown?.response.body?.title
        return title.flatMap { $0.isEmpty ? nil : $0 } ?? href
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        let site = sites.first { $0.name == shown?.site }
        return [("Sites", context.links.home)] + (site.map { [($0.name, context.links.site($0.id))] } ?? [])
    }
}
