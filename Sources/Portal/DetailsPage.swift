internal import Origins
package import Reports
package import Store
package import Web

/// Everything that the store knows about one URL.
package struct DetailsPage: PortalPage {
    /// A list of links from or to the URL.
    package struct Links {
        let list: LinkList
        let targets: [(href: String, isStored: Bool)]
        let count: Int
    }

    package let href: String
    /// The stored responses, newest snapshot first.
    let rows: [URLReport.Response]
    /// The response that is served; nil if there is none.
    package let shown: URLReport.Response?
    package let links: [Links]
    /// The sites that have a response for the URL.
    package let sites: [Site]
    /// The name of the site whose next prefetch fetches recorded misses of this URL.
    let fetchingSite: String?
    let linkers: (hrefs: [String], next: Int64?)
    let isContinued: Bool
    let isPinned: Bool
    /// The URL that is served instead, and similar stored URLs; nil if the URL is stored.
    let absence: Absence?
    /// Whether a miss of the URL is recorded.
    let isMissRecorded: Bool
    let section = PortalSection.none

    package init(
        _ href: String, allOf wanted: LinkList?, after place: Int64?, _ reader: StoreReader,
        _ cache: PortalCache
    )
        throws(StoreError)
    {
        self.href = href
        let held = try reader.versions(of: href)
        let shownRow =
            held.first { $0.isVisible && $0.response.request == .get } ?? held.first { $0.isVisible }
            ?? held.first
        var md5s = KnownMD5s(reader, upTo: PortalLimits.maxDigestBytes)
        // The MD5 budget is limited: the served response gets its digest first.
        var shown: URLReport.Response?
        let snapshots = try reader.snapshotNames()
        if let shownRow { shown = try URLReport.Response(shownRow, snapshots, links: nil, reader, &md5s) }
        self.shown = shown
        var rows: [URLReport.Response] = []
        for row in held { rows.append(try URLReport.Response(row, snapshots, links: nil, reader, &md5s)) }
        self.rows = rows
        let known = try cache.sites(reader).map { ($0.name, $0.start, $0.settings) }
        fetchingSite = SiteRules(known).site(fetching: href, requestedBy: nil, isPage: true)
        let names = Set(rows.map(\.site))
        sites = try cache.sites(reader).filter { names.contains($0.name) }
        var links: [Links] = []
        if let shownRow, let numbers = try reader.linkIDs(of: shownRow.response) {
            for list in LinkList.allCases {
                let all = Self.unique(list == .pages ? numbers.pages : numbers.assets)
                let limit = wanted == list ? Self.maxLinks : PortalLimits.maxListItems
                links.append(
                    Links(list: list, targets: try reader.targets(all, limit: limit), count: all.count))
            }
        }
        self.links = links
        isContinued = place != nil
        isPinned = try reader.pins().contains(Pin(.url, href))
        linkers = try reader.urlsLinking(
            to: href, after: place ?? 0, count: PortalLimits.maxLinkingBodies,
            limit: PortalLimits.maxListItems)
        absence =
            try rows.isEmpty
            ? WebURL(href).map { (url) throws(StoreError) in try Absence(of: url, in: reader) } : nil
        isMissRecorded = try rows.isEmpty ? Self.hasRecordedMiss(of: href, reader) : false
    }

    private static func hasRecordedMiss(of href: String, _ reader: StoreReader) throws(StoreError) -> Bool {
        for miss in try reader.recordedMisses() where miss.href == href && miss.method == "GET" {
            if try MissingPage.mayShow(miss, reader) { return true }
        }
        return false
    }

    /// The maximum number of links in a list that the visitor opened. Further ones are only counted.
    private static let maxLinks = 2_000

    /// Removes duplicates: a page may link to another more than once.
    private static func unique(_ numbers: [Int64]) -> [Int64] {
        var seen: Set<Int64> = []
        return numbers.filter { seen.insert($0).inserted }
    }

    package var status: Int { rows.isEmpty ? 404 : 200 }

    package var title: String {
        let title = shown?.body?.title
        return title.flatMap { $0.isEmpty ? nil : $0 } ?? href
    }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        let site = sites.first { $0.name == shown?.site }
        return [(context.words(.sites), context.links.home)]
            + (site.map { [($0.name, context.links.site($0.id))] } ?? [])
    }

    // MARK: - HTML

    package func write(to html: inout HTMLWriter, _ context: PortalContext) {
        // The heading shows a long URL only in part.
        if title != href || Wording.cut(href) != href {
            html.element("p", ["class": "url soft"]) { $0.url(href) }
        }
        guard let shown else {
            writeAbsence(to: &html, context)
            return writeLinkers(to: &html, context)
        }
        writeActions(to: &html, context)
        writeOrders(to: &html, context)
        writeSheet(shown, to: &html, context)
        writeRows(to: &html, context)
        writeHeaders(shown, to: &html)
        for links in links { write(links, to: &html, context) }
        writeLinkers(to: &html, context)
    }

    private func writeAbsence(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p") { html in
            html.element("span", ["class": "badge warn"], say: .notStoredBadge)
            html.say(.urlNotStored)
            if let failure = absence?.failure { html.isolatedText(failure) }
        }
        if isMissRecorded, fetchingSite != nil { html.element("p", say: .missNoted) }
        writeOrders(to: &html, context)
        html.element("p", say: context.token == nil ? .toFetchRun : .orInTerminal)
        html.element("pre", text: Self.command(for: href, site: fetchingSite))
        if !isMissRecorded, fetchingSite != nil, let address = context.mirrorAddress(of: href) {
            html.element("p") { html in
                html.say(.beforeYouRun)
                html.link(address, say: .requestOnce)
                html.say(.toRecordMiss)
            }
        }
        guard let absence else { return }
        if let substitute = absence.substitute {
            html.element("p") { html in
                let names = substitute.differences.map { html.words(Self.name($0)) }
                html.say(.servedInstead, names.joined(separator: html.words(.and)))
                html.target(substitute.url, context)
            }
        }
        guard !absence.nearby.isEmpty else { return }
        html.element("h2", say: .similarStoredURLs)
        html.element("ul", ["class": "links"]) { html in
            for neighbour in absence.nearby { html.element("li") { $0.target(neighbour, context) } }
        }
    }

    private static func name(_ difference: Absence.Difference) -> Sentence {
        switch difference {
        case .scheme: .differsInScheme
        case .slash: .differsInSlash
        case .cacheBusters: .differsInCacheBusters
        case .query: .differsInQuery
        case .search: .differsInSearch
        }
    }

    private func writeOrders(to html: inout HTMLWriter, _ context: PortalContext) {
        guard context.token != nil else { return }
        let fields = [("url", href)]
        html.element("div", ["class": "orders"]) { html in
            html.commandButton(
                "fetch", .doFetch, about: title, context, fields: fields, isQuiet: !rows.isEmpty)
            html.commandButton(
                isPinned ? "unpin" : "pin", isPinned ? .doUnpin : .doPin, about: title, context,
                fields: fields)
        }
    }

    private func writeActions(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "actions"]) { html in
            if let address = context.mirrorAddress(of: href) {
                html.link(address, ["class": "button"], say: .openCopy)
            }
            html.link(
                href, ["class": "button quiet", "rel": "noreferrer external"], say: .openOrigin)
        }
    }

    private func writeSheet(_ row: URLReport.Response, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("dl", ["class": "sheet"]) { html in
            html.line(
                .status, row.isRedirect ? html.words(.statusOfRedirect, "\(row.status)") : "\(row.status)")
            html.line(.kind, html.words(row.isAsset ? .kindAsset : .kindPage))
            html.line(.mediaTypeLong, row.type ?? html.words(.notSpecified))
            html.line(.fetched) { html in
                html.moment(row.fetched)
                html.say(
                    .fetchedInSnapshot, context.language.age(context.now - row.fetched), "\(row.snapshot)")
                html.isolatedText(row.site)
            }
            if let referrer = row.referrer {
                html.line(.firstRequestedBy) { $0.target(referrer, context) }
            }
            if row.isInvalidated { html.line(.state, html.words(.stateInvalidated)) }
            if row.isPart { html.line(.state, html.words(.statePart)) }
            if row.isPrivate { html.line(.state, html.words(.statePrivate)) }
            if let body = row.body { writeBody(body, to: &html) }
        }
    }

    private func writeBody(_ body: URLReport.Body, to html: inout HTMLWriter) {
        html.line(.figureSize, Self.size(body.byteCount, html))
        html.line(.parsedAs, body.formDescription)
        html.line(.sha256) { $0.element("code", text: body.sha256) }
        html.line(.md5) { html in
            if let md5 = body.md5 {
                html.element("code", text: md5)
            } else {
                html.element("span", ["class": "soft"], say: .notComputed)
                html.element("code", text: "larder show")
                html.element("span", ["class": "soft"], say: .toComputeIt)
            }
        }
        html.line(.storedIn) { html in
            if let place = body.place {
                html.element("code", text: place)
            } else {
                html.element("span", ["class": "badge warn"], say: .damaged)
                html.say(.damagedHint)
            }
        }
    }

    private static func size(_ count: Int, _ html: HTMLWriter) -> String {
        let bytes = html.count(count, .oneByte, .manyBytes)
        return count < 1000 ? bytes : html.words(.withNote, Wording.bytes(count), bytes)
    }

    private func writeRows(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", ["id": "rows"], say: .history)
        html.element(
            "div", ["class": "scroll", "role": "region", "aria-labelledby": "rows", "tabindex": "0"]
        ) { html in
            html.element("table") { html in
                html.head([
                    (html.words(.snapshot), false), (html.words(.fetched), false),
                    (html.words(.status), true), (html.words(.figureSize), true),
                    (html.words(.sha256), false), (html.words(.state), false),
                ])
                html.element("tbody") { html in
                    for row in rows.prefix(PortalLimits.maxListItems) { write(row, to: &html) }
                }
            }
        }
        html.remainder(of: rows.count)
    }

    private func write(_ row: URLReport.Response, to html: inout HTMLWriter) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"], text: "\(row.snapshot)")
            html.element("td") { $0.moment(row.fetched) }
            html.element("td", ["class": "number"], text: "\(row.status)")
            html.element(
                "td", ["class": "number"],
                text: row.body.map { Wording.bytes($0.byteCount) } ?? html.words(.none))
            html.element("td") { html in
                if let body = row.body { html.element("code", text: String(body.sha256.prefix(12))) }
            }
            html.element("td") { html in
                if row.isServed { html.element("span", ["class": "badge"], say: .liveBadge) }
                if let request = row.request { html.text(" \(Wording.cut(request, to: 60))") }
                guard let variant = row.variant else { return }
                html.say(.forVariant)
                html.isolatedText(Wording.cut(variant.replacing("\n", with: "; "), to: 120))
            }
        }
    }

    private func writeHeaders(_ row: URLReport.Response, to html: inout HTMLWriter) {
        guard !row.headers.isEmpty else { return }
        html.element("h2", say: .headers)
        html.element("dl", ["class": "sheet"]) { html in
            for header in row.headers {
                html.element("dt") { $0.isolatedText(header.name) }
                html.element("dd", ["class": "url"]) { $0.isolatedText(header.value) }
            }
        }
    }

    private func write(_ links: Links, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element(
            "h2", say: Phrase(links.list == .pages ? .linkCount : .assetCount, Wording.number(links.count)))
        guard links.count > 0 else { return }
        html.element("ul", ["class": "links"]) { html in
            for link in links.targets {
                html.element("li") { html in
                    html.target(link.href, context, from: WebURL(href)?.origin)
                    guard !link.isStored else { return }
                    html.text(" ")
                    html.element("span", ["class": "badge warn"], say: .notStored)
                }
            }
        }
        guard links.targets.count < links.count else { return }
        if links.targets.count <= PortalLimits.maxListItems {
            html.next(context.links.details(href, links: links.list.rawValue), html.words(.showMore))
        } else {
            html.remainder(of: links.count, shown: links.targets.count)
        }
    }

    private func writeLinkers(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", say: .linkedFrom)
        if linkers.hrefs.isEmpty {
            let isWhole = linkers.next == nil
            html.element(
                "p", ["class": "soft"],
                say: isContinued
                    ? (isWhole ? .noMoreLinkers : .noMoreLinkersSoFar)
                    : (isWhole ? .noLinkers : .noLinkersSoFar))
        }
        html.element("ul", ["class": "links"]) { html in
            for linker in linkers.hrefs {
                html.element("li") { $0.target(linker, context, from: WebURL(href)?.origin) }
            }
        }
        if let next = linkers.next {
            html.next(context.links.details(href, after: next), html.words(.continueSearching))
        }
    }
}

extension HTMLWriter {
    fileprivate mutating func line(_ name: Sentence, _ value: String) {
        line(name) { $0.isolatedText(value) }
    }

    fileprivate mutating func line(_ name: Sentence, _ value: (inout HTMLWriter) -> Void) {
        element("dt", say: name)
        element("dd") { value(&$0) }
    }

    /// Writes a link to the details of another URL. For a URL of the given origin, shows only the path.
    fileprivate mutating func target(_ href: String, _ context: PortalContext, from origin: String? = nil) {
        guard WebURL(href)?.isHTTP == true else {
            return element("span", ["class": "url"]) { $0.url(href) }
        }
        link(context.links.details(href), ["class": "url"]) { html in
            let isBelow = origin.map { href.hasPrefix("\($0)/") } ?? false
            html.url(isBelow ? String(href.dropFirst(origin?.utf8.count ?? 0)) : href)
        }
    }
}

// MARK: - JSON

extension DetailsPage {
    package func members(_ context: PortalContext) -> JSONMembers {
        [
            "url": href, "held": !rows.isEmpty, "mirror": context.mirrorAddress(of: href),
            "rows": rows.map(\.membersWithoutLinks),
            "links": links.reduce(JSONMembers()) { $0 + [$1.list.rawValue: $1.members] },
            "linkedFrom": linkers.hrefs, "after": linkers.next, "instead": IfAny(absence),
        ]
    }
}

extension DetailsPage.Links {
    fileprivate var members: JSONMembers {
        [
            "count": count,
            "targets": targets.map { ["url": $0.href, "held": $0.isStored] as JSONMembers },
        ]
    }
}

extension DetailsPage {
    /// The command that fetches the URL: an update of its site if the miss is recorded, else a prefetch of
    /// the URL. It is meant to be pasted into a shell, where only a quote could end the quoted argument.
    package static func command(for url: String, site: String?) -> String {
        let (name, operand) = site.map { ("update", $0) } ?? ("prefetch", url)
        return "larder \(name) '\(operand.replacing("'", with: "%27"))'"
    }
}
