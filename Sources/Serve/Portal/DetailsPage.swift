internal import Reports
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
    let rows: [HoldingReport.Row]
    /// What readers get; nil when nothing is shown.
    let shown: HoldingReport.Row?
    let links: [Links]
    /// Those that have it.
    let sites: [Site]
    /// By its name, the one that fetches what was missed there.
    let bringer: String?
    let linkers: (hrefs: [String], next: Int64?)
    let isContinued: Bool
    /// What there is instead; nil when it is held.
    let absence: Absence?
    let section = PortalSection.none

    init(
        _ href: String, allOf wanted: LinkList?, after place: Int64?, _ reader: StoreReader,
        _ memory: PortalMemory
    )
        throws(StoreError)
    {
        self.href = href
        let held = try reader.rows(of: href)
        let shownRow =
            held.first { $0.isShown && $0.response.request == .get } ?? held.first { $0.isShown } ?? held.first
        var md5s = KnownMD5s(reader, upTo: PortalLimits.digestedBytes)
        // What is shown comes first, lest others take its room.
        var shown: HoldingReport.Row?
        if let shownRow { shown = try HoldingReport.Row(shownRow, links: nil, reader, &md5s) }
        self.shown = shown
        var rows: [HoldingReport.Row] = []
        for row in held { rows.append(try HoldingReport.Row(row, links: nil, reader, &md5s)) }
        self.rows = rows
        let known = try memory.sites(reader).map { ($0.name, $0.start, $0.settings) }
        bringer = SiteRules(known).site(bringing: href, askedBy: nil, isPage: true)
        let names = Set(rows.map(\.site))
        sites = try memory.sites(reader).filter { names.contains($0.name) }
        var links: [Links] = []
        if let shownRow, let numbers = try reader.linkNumbers(of: shownRow.response) {
            for list in LinkList.allCases {
                let all = Self.unique(list == .pages ? numbers.pages : numbers.requisites)
                let limit = wanted == list ? Self.mostLinks : PortalLimits.lines
                links.append(
                    Links(list: list, targets: try reader.targets(all, limit: limit), count: all.count))
            }
        }
        self.links = links
        isContinued = place != nil
        linkers = try reader.linkers(
            to: href, after: place ?? 0, count: PortalLimits.linkers, limit: PortalLimits.lines)
        absence =
            try rows.isEmpty ? WebURL(href).map { (url) throws(StoreError) in try Absence(of: url, in: reader) } : nil
    }

    private static let mostLinks = 2_000

    /// A page may link to another more than once.
    private static func unique(_ numbers: [Int64]) -> [Int64] {
        var seen: Set<Int64> = []
        return numbers.filter { seen.insert($0).inserted }
    }

    var status: Int { rows.isEmpty ? 404 : 200 }

    var title: String {
        let title = shown?.body?.title
        return title.flatMap { $0.isEmpty ? nil : $0 } ?? href
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        let site = sites.first { $0.name == shown?.site }
        return [("Sites", context.links.home)] + (site.map { [($0.name, context.links.site($0.id))] } ?? [])
    }

    // MARK: - HTML

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "url soft"]) { $0.address(href) }
        guard let shown else {
            writeAbsence(to: &html, context)
            return writeLinkers(to: &html, context)
        }
        writeActions(to: &html, context)
        writeSheet(shown, to: &html, context)
        writeRows(to: &html, context)
        writeHeaders(shown, to: &html)
        for links in links { write(links, to: &html, context) }
        writeLinkers(to: &html, context)
    }

    private func writeAbsence(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p") { html in
            html.element("span", ["class": "badge warn"], text: "Not held")
            html.text(" The larder has nothing of this address. To have it")
            if bringer != nil, let address = context.mirrored(href) {
                html.text(", ")
                html.link(address, text: "ask for it once")
                html.text(", so that it is noted, and run")
            }
            html.text(":")
        }
        html.element("pre", text: MissPage.command(for: href, site: bringer))
        guard let absence else { return }
        if let standIn = absence.standIn {
            html.element("p") { html in
                html.text("Offline, \(standIn.reason): ")
                html.target(standIn.url, context)
            }
        }
        guard !absence.nearby.isEmpty else { return }
        html.element("h2", text: "Held nearby")
        html.element("ul", ["class": "links"]) { html in
            for neighbour in absence.nearby { html.element("li") { $0.target(neighbour, context) } }
        }
    }

    private func writeActions(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "actions"]) { html in
            if let address = context.mirrored(href) {
                html.link(address, ["class": "button"], text: "Open the copy")
            }
            html.link(
                href, ["class": "button quiet", "rel": "noreferrer external"], text: "Open at the origin")
        }
    }

    private func writeSheet(_ row: HoldingReport.Row, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("dl", ["class": "sheet"]) { html in
            html.line("Status", "\(row.status)\(row.isRedirect ? ", a redirect" : "")")
            html.line("Kind", row.isRequisite ? "file that pages need" : "page")
            html.line("Media type", row.type ?? "none given")
            html.line("Fetched") { html in
                html.moment(row.fetched)
                html.text(" (\(Wording.age(context.now - row.fetched))), visit \(row.visit) of ")
                html.foreign(row.site)
            }
            if let referrer = row.referrer {
                html.line("First asked for by") { $0.target(referrer, context) }
            }
            for state in row.states { html.line("State", state) }
            if let body = row.body { writeBody(body, to: &html) }
        }
    }

    private func writeBody(_ body: HoldingReport.Body, to html: inout HTMLWriter) {
        html.line("Size", Self.size(body.byteCount))
        html.line("Read as", body.readAs)
        html.line("SHA-256") { $0.element("code", text: body.sha256) }
        html.line("MD5") { html in
            if let md5 = body.md5 {
                html.element("code", text: md5)
            } else {
                html.element("span", ["class": "soft"], text: "not computed for so large a body: ")
                html.element("code", text: "larder show")
                html.element("span", ["class": "soft"], text: " does it")
            }
        }
        html.line("Kept in") { html in
            if let place = body.place {
                html.element("code", text: place)
            } else {
                html.element("span", ["class": "badge warn"], text: "Damaged")
                html.text(" Its bytes are gone or cut short; prefetch it again.")
            }
        }
    }

    private static func size(_ count: Int) -> String {
        let bytes = Wording.count(count, "byte")
        return count < 1000 ? bytes : "\(Wording.bytes(count)) (\(bytes))"
    }

    private func writeRows(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", ["id": "rows"], text: "Over the visits")
        html.element(
            "div", ["class": "scroll", "role": "region", "aria-labelledby": "rows", "tabindex": "0"]
        ) { html in
            html.element("table") { html in
                html.head([
                    ("Visit", false), ("Fetched", false), ("Status", true), ("Size", true),
                    ("SHA-256", false),
                    ("State", false),
                ])
                html.element("tbody") { html in
                    for row in rows.prefix(PortalLimits.lines) { write(row, to: &html) }
                }
            }
        }
        html.remainder(of: rows.count)
    }

    private func write(_ row: HoldingReport.Row, to html: inout HTMLWriter) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"], text: "\(row.visit)")
            html.element("td") { $0.moment(row.fetched) }
            html.element("td", ["class": "number"], text: "\(row.status)")
            html.element(
                "td", ["class": "number"], text: row.body.map { Wording.bytes($0.byteCount) } ?? "none")
            html.element("td") { html in
                if let body = row.body { html.element("code", text: String(body.sha256.prefix(12))) }
            }
            html.element("td") { html in
                if row.isShown { html.element("span", ["class": "badge"], text: "Served") }
                if let request = row.request { html.text(" \(Wording.cut(request, to: 60))") }
                guard let variant = row.variant else { return }
                html.text(" for ")
                html.foreign(Wording.cut(variant.replacing("\n", with: "; "), to: 120))
            }
        }
    }

    private func writeHeaders(_ row: HoldingReport.Row, to html: inout HTMLWriter) {
        guard !row.headers.isEmpty else { return }
        html.element("h2", text: "Headers")
        html.element("dl", ["class": "sheet"]) { html in
            for header in row.headers {
                html.element("dt") { $0.foreign(header.name) }
                html.element("dd", ["class": "url"]) { $0.foreign(header.value) }
            }
        }
    }

    private func write(_ links: Links, to html: inout HTMLWriter, _ context: PortalContext) {
        let name = links.list == .pages ? "Links to" : "Needs"
        html.element("h2", text: "\(name): \(Wording.grouped(links.count))")
        guard links.count > 0 else { return }
        html.element("ul", ["class": "links"]) { html in
            for link in links.targets {
                html.element("li") { html in
                    html.target(link.href, context, from: WebURL(href)?.origin)
                    guard !link.isHeld else { return }
                    html.text(" ")
                    html.element("span", ["class": "badge warn"], text: "not held")
                }
            }
        }
        guard links.targets.count < links.count else { return }
        if links.targets.count <= PortalLimits.lines {
            html.next(context.links.details(href, links: links.list.rawValue), "More of them")
        } else {
            html.remainder(of: links.count, shown: links.targets.count)
        }
    }

    private func writeLinkers(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", text: "Linked from")
        if linkers.hrefs.isEmpty {
            let words = isContinued ? "Nothing more was found" : "Nothing that is held links here"
            html.element(
                "p", ["class": "soft"], text: linkers.next == nil ? "\(words)." : "\(words), so far.")
        }
        html.element("ul", ["class": "links"]) { html in
            for linker in linkers.hrefs {
                html.element("li") { $0.target(linker, context, from: WebURL(href)?.origin) }
            }
        }
        if let next = linkers.next { html.next(context.links.details(href, after: next), "Look further") }
    }
}

extension HTMLWriter {
    fileprivate mutating func line(_ name: String, _ value: String) {
        line(name) { $0.foreign(value) }
    }

    fileprivate mutating func line(_ name: String, _ value: (inout HTMLWriter) -> Void) {
        element("dt", text: name)
        element("dd") { value(&$0) }
    }

    /// The details of another address; of one that has the origin only its path is shown.
    fileprivate mutating func target(_ href: String, _ context: PortalContext, from origin: String? = nil) {
        guard WebURL(href)?.isHTTP == true else {
            return element("span", ["class": "url"]) { $0.address(href) }
        }
        link(context.links.details(href), ["class": "url"]) { html in
            let isBelow = origin.map { href.hasPrefix("\($0)/") } ?? false
            html.address(isBelow ? String(href.dropFirst(origin?.utf8.count ?? 0)) : href)
        }
    }
}

// MARK: - JSON

extension DetailsPage {
    func members(_ context: PortalContext) -> JSONMembers {
        [
            "url": href, "held": !rows.isEmpty, "mirror": context.mirrored(href),
            "rows": rows.map(\.answerMembers),
            "links": links.reduce(JSONMembers()) { $0 + [$1.list.rawValue: $1.members] },
            "linkedFrom": linkers.hrefs, "after": linkers.next, "instead": IfAny(absence),
        ]
    }
}

extension DetailsPage.Links {
    fileprivate var members: JSONMembers {
        [
            "count": count,
            "targets": targets.map { ["url": $0.href, "held": $0.isHeld] as JSONMembers },
        ]
    }
}
