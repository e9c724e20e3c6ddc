internal import Origins
package import Reports
package import Store
package import Web

/// The page about one URL: the served response with its body, headers and links, all stored responses, and the pages
/// that link to the URL. If the URL is not stored, the page says why and how to fetch it.
package struct DetailsPage: PortalPage {
    /// The links of one kind in the served response.
    package struct OutgoingLinks {
        let list: LinkList
        /// The linked URLs, cut to the limit of the list, each once.
        let targets: [(href: String, isStored: Bool)]
        /// The number of all linked URLs.
        let count: Int
    }

    package let href: String
    /// The stored responses, newest snapshot first.
    let rows: [URLReport.Response]
    /// The response that is served, or the newest one if none is served; nil if the URL is not stored.
    package let shown: URLReport.Response?
    /// The links of the shown response; empty if its body was never scanned for links.
    package let links: [OutgoingLinks]
    /// The sites that have a response for the URL.
    package let sites: [Site]
    /// The name of the site whose next prefetch fetches recorded misses of this URL.
    let fetchingSite: String?
    /// URLs whose stored responses link to this one. `next` is where the next page continues the search; nil at the end.
    let referrers: (hrefs: [String], next: Int64?)
    /// Whether the page continues the list of referrers.
    let isContinued: Bool
    let isPinned: Bool
    /// The URL that is served instead, and similar stored URLs; nil if the URL is stored.
    let absence: Absence?
    /// The number of the site whose last update could not fetch the URL; nil if there is none.
    let failedSite: Int64?
    /// Whether a miss of the URL is recorded that the visitor may see.
    let isMissRecorded: Bool
    /// The site whose settings exclude the URL, so that no update fetches it; nil if there is none.
    let excludingSite: Site?
    let section = PortalSection.sites

    /// - Parameters:
    ///   - href: a normalized http or https URL.
    ///   - openedList: the kind of links that the visitor opened. Of others, only the beginning is shown.
    ///   - position: the `next` of the page whose list of referrers this page continues.
    package init(
        _ href: String, allOf openedList: LinkList?, after position: Int64?, _ reader: StoreReader,
        _ cache: PortalCache
    )
        throws(StoreError)
    {
        self.href = href
        let versions = try reader.versions(of: href)
        let shownRow =
            versions.first { $0.isVisible && $0.response.request == .get }
            ?? versions.first { $0.isVisible } ?? versions.first
        var md5s = KnownMD5s(reader, upTo: PortalLimits.maxDigestBytes)
        // The budget for computing MD5s is limited: the shown response gets its digest first.
        var shown: URLReport.Response?
        let snapshots = try reader.snapshotNames()
        if let shownRow { shown = try URLReport.Response(shownRow, snapshots, links: nil, reader, &md5s) }
        self.shown = shown
        var rows: [URLReport.Response] = []
        for row in versions { rows.append(try URLReport.Response(row, snapshots, links: nil, reader, &md5s)) }
        self.rows = rows
        let known = try cache.sites(reader).map { ($0.name, $0.start, $0.settings) }
        fetchingSite = SiteRules(known).site(fetching: href, requestedBy: nil, isPage: true)
        let names = Set(rows.map(\.site))
        sites = try cache.sites(reader).filter { names.contains($0.name) }
        var links: [OutgoingLinks] = []
        if let shownRow, let ids = try reader.linkIDs(of: shownRow.response) {
            for list in LinkList.allCases {
                let all = Self.withoutRepetitions(list == .pages ? ids.pages : ids.assets)
                let limit = openedList == list ? Self.maxLinks : PortalLimits.maxListItems
                links.append(
                    OutgoingLinks(
                        list: list, targets: try reader.targets(all, limit: limit), count: all.count))
            }
        }
        self.links = links
        isContinued = position != nil
        isPinned = try reader.pins().contains(Pin(.url, href))
        referrers = try reader.urlsLinking(
            to: href, after: position ?? 0, count: PortalLimits.maxLinkingBodies,
            limit: PortalLimits.maxListItems)
        absence =
            try rows.isEmpty
            ? WebURL(href).map { (url) throws(StoreError) in try Absence(of: url, in: reader) } : nil
        failedSite = try absence?.lastFailure.flatMap { (failure) throws(StoreError) in
            try cache.sites(reader).first { $0.name == failure.site }?.id
        }
        let fetching = fetchingSite
        let site = try cache.sites(reader).first { $0.name == fetching }
        excludingSite =
            rows.isEmpty ? site.flatMap { cache.excludes(href, $0, isPage: true) ? $0 : nil } : nil
        isMissRecorded = try rows.isEmpty ? Self.hasRecordedMiss(of: href, reader) : false
    }

    /// Whether a server could not answer a GET request for the URL, and the visitor may see that. The next prefetch of its
    /// site fetches such a URL.
    private static func hasRecordedMiss(of href: String, _ reader: StoreReader) throws(StoreError) -> Bool {
        for miss in try reader.recordedMisses() where miss.href == href && miss.method == "GET" {
            if try MissingPage.canReveal(miss, reader) { return true }
        }
        return false
    }

    /// The maximum number of links in a list that the visitor opened. Further ones are only counted.
    private static let maxLinks = 2_000

    /// Returns each id once. A page may link to a URL more than once.
    private static func withoutRepetitions(_ ids: [Int64]) -> [Int64] {
        var seen: Set<Int64> = []
        return ids.filter { seen.insert($0).inserted }
    }

    /// 404 if the URL is not stored. The page has content all the same.
    package var status: Int { rows.isEmpty ? 404 : 200 }

    /// The title of the stored page, or the URL.
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
            return writeReferrers(to: &html, context)
        }
        html.element("div", ["class": "orders"]) { html in
            writeLinksToCopies(to: &html, context)
            writeCommands(to: &html, context)
        }
        writeHistory(to: &html, context)
        html.element("details") { html in
            html.element("summary", say: .technicalDetails)
            writeFacts(of: shown, to: &html, context)
            writeHeaders(of: shown, to: &html)
        }
        for links in links { writeOutgoingLinks(links, to: &html, context) }
        writeReferrers(to: &html, context)
    }

    /// Writes the part about a URL that is not stored: why it is missing, how to fetch it, the URL that is served in its
    /// place, and similar URLs.
    private func writeAbsence(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p") { html in
            html.element("span", ["class": "badge warn"], say: .notStoredBadge)
            html.say(.urlNotStored)
        }
        let failure = excludingSite == nil ? absence?.lastFailure : nil
        if let excludingSite {
            html.element("p") { html in
                html.isolatedText(html.words(.excludedBySettings, Wording.cut(excludingSite.name)))
                html.text(" ")
                html.link(context.links.settings(of: excludingSite.id), say: .changeSettings)
                html.say(.fullStop)
            }
        } else if let failure {
            html.element("p") { html in
                let phrase = FailureText.phrase(for: failure, now: context.now, in: html.language)
                html.isolatedText(Wording.cut(phrase.text(in: html.language)))
                html.text(" ")
                html.say(.nextUpdateRetries)
            }
        } else if isMissRecorded, fetchingSite != nil {
            html.element("p", say: .missNoted)
        }
        if context.token != nil {
            html.element("div", ["class": "orders"]) { writeCommands(to: &$0, context) }
        }
        // An update fetches only recorded misses and URLs that failed.
        let updatedSite = failure?.site ?? (isMissRecorded && excludingSite == nil ? fetchingSite : nil)
        if let command = Self.command(for: href, site: updatedSite, isOfStoredHost: fetchingSite != nil) {
            html.element("p", say: context.token == nil ? .toFetchRun : .orInTerminal)
            html.element("pre", text: command)
        }
        guard let absence else { return }
        if let substitute = absence.substitute {
            html.element("p") { html in
                let names = substitute.differences.map { html.words(Self.sentence(for: $0)) }
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

    private static func sentence(for difference: Absence.Difference) -> Sentence {
        switch difference {
        case .scheme: .differsInScheme
        case .slash: .differsInSlash
        case .cacheBusters: .differsInCacheBusters
        case .query: .differsInQuery
        case .search: .differsInSearch
        }
    }

    /// Writes the buttons that fetch the URL and pin it; nothing if the visitor may give no commands.
    private func writeCommands(to html: inout HTMLWriter, _ context: PortalContext) {
        guard context.token != nil else { return }
        let fields = [("url", href)]
        html.commandButton(
            "fetch", .doFetch, about: title, context, fields: fields, isQuiet: !rows.isEmpty)
        html.commandButton(
            isPinned ? "unpin" : "pin", isPinned ? .doUnpin : .doPin, about: title, context, fields: fields)
        if let failedSite {
            html.link(
                context.links.settings(of: failedSite, excluding: href), ["class": "button quiet"],
                say: .doExclude)
        }
    }

    /// Writes the links to the mirrored copy and to the live site.
    private func writeLinksToCopies(to html: inout HTMLWriter, _ context: PortalContext) {
        if let address = context.mirrorAddress(of: href) {
            html.link(address, ["class": "button"], say: .doOpen)
        }
        html.link(href, ["class": "button quiet", "rel": "noreferrer external"], say: .openOrigin)
    }

    /// Writes the facts about a response as a list of names and values.
    private func writeFacts(of row: URLReport.Response, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("dl", ["class": "sheet"]) { html in
            html.sheetRow(
                .status, row.isRedirect ? html.words(.statusOfRedirect, "\(row.status)") : "\(row.status)")
            html.sheetRow(.kind, html.words(row.isAsset ? .kindAsset : .kindPage))
            html.sheetRow(.mediaTypeLong, row.type ?? html.words(.notSpecified))
            html.sheetRow(.fetched) { html in
                html.moment(row.fetched)
                html.say(
                    .fetchedInSnapshot, context.language.age(context.now - row.fetched.secondsSinceEpoch),
                    "\(row.snapshot)")
                html.isolatedText(row.site)
            }
            if let checked = row.checked { html.sheetRow(.checked) { $0.moment(checked) } }
            if let referrer = row.referrer {
                html.sheetRow(.firstRequestedBy) { $0.target(referrer, context) }
            }
            if row.isInvalidated { html.sheetRow(.state, html.words(.stateInvalidated)) }
            if row.isPart { html.sheetRow(.state, html.words(.statePart)) }
            if row.isPrivate { html.sheetRow(.state, html.words(.statePrivate)) }
            if let body = row.body { writeFacts(of: body, to: &html) }
        }
    }

    /// Writes the size, the digests and the place of a body. A missing or truncated body is shown as damaged.
    private func writeFacts(of body: URLReport.Body, to html: inout HTMLWriter) {
        html.sheetRow(.figureSize, Self.size(body.byteCount, html))
        html.sheetRow(.parsedAs, body.formDescription)
        html.sheetRow(.sha256) { $0.element("code", text: body.sha256) }
        html.sheetRow(.md5) { html in
            if let md5 = body.md5 {
                html.element("code", text: md5)
            } else {
                html.element("span", ["class": "soft"], say: .notComputed)
                html.element("code", text: "larder show")
                html.element("span", ["class": "soft"], say: .toComputeIt)
            }
        }
        html.sheetRow(.storedIn) { html in
            if let place = body.place {
                html.element("code", text: place)
            } else {
                html.element("span", ["class": "badge warn"], say: .damaged)
                html.say(.damagedHint)
            }
        }
    }

    /// The size in a short unit with the exact number of bytes behind it: `1.2 MB (1,234,567 bytes)`.
    private static func size(_ count: Int, _ html: HTMLWriter) -> String {
        let bytes = html.count(count, .oneByte, .manyBytes)
        return count < 1000 ? bytes : html.words(.withNote, Wording.bytes(count), bytes)
    }

    /// Writes the stored responses as a table, the newest first.
    private func writeHistory(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", ["id": "rows"], say: .history)
        html.scrollRegion(labelledBy: "rows") { html in
            html.element("table") { html in
                html.tableHead([
                    (html.words(.snapshot), false), (html.words(.fetched), false),
                    (html.words(.status), true), (html.words(.figureSize), true),
                    (html.words(.state), false), (html.words(.differences), false),
                ])
                html.element("tbody") { html in
                    for row in rows.prefix(PortalLimits.maxListItems) {
                        writeHistoryRow(row, to: &html, context)
                    }
                }
            }
        }
        html.leftOutNote(of: rows.count)
    }

    /// Writes one stored response. The last column says whether it is served, and for which request and variant it is.
    private func writeHistoryRow(
        _ row: URLReport.Response, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"]) { html in
                let name = html.words(.snapshotCaption, "\(row.snapshot)")
                if let address = address(of: row, context) {
                    html.link(address, text: name)
                } else {
                    html.text(name)
                }
                // Each site counts its snapshots from 1.
                if rows.contains(where: { $0.site != row.site }) {
                    html.element("div", ["class": "soft url"]) { $0.url(row.site) }
                }
            }
            html.element("td") { html in
                html.moment(row.fetched)
                guard let checked = row.checked else { return }
                html.element("div", ["class": "soft"]) { html in
                    html.say(.confirmedAt)
                    html.moment(checked)
                }
            }
            html.element("td", ["class": "number"], text: "\(row.status)")
            html.element(
                "td", ["class": "number"],
                text: row.body.map { html.language.bytes($0.byteCount) } ?? html.words(.none))
            html.element("td") { html in
                if row.isServed { html.element("span", ["class": "badge"], say: .liveBadge) }
                if let request = row.request {
                    html.text(" ")
                    html.isolatedText(Self.name(ofRequest: request, html))
                }
                guard let variant = row.variant else { return }
                html.say(.forVariant)
                html.isolatedText(Wording.cut(variant.replacing("\n", with: "; "), to: 120))
            }
            html.element("td") { writeComparison(of: row, to: &$0, context) }
        }
    }

    /// The name of a kind of request in the history: a rendering of the page, or the request of a script.
    private static func name(ofRequest request: String, _ html: HTMLWriter) -> String {
        switch request {
        case "frozen": html.words(.requestFrozen)
        case "shown": html.words(.requestShown)
        case "pictured": html.words(.requestPictured)
        default: Wording.cut(request, to: 60)
        }
    }

    /// Writes a link that compares an earlier version with the served one, or that both have the same content; nothing for
    /// the served one, and for versions that cannot be compared with it.
    private func writeComparison(
        of row: URLReport.Response, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        guard row.request == nil, row.variant == nil, !row.isServed, let body = row.body,
            let served = rows.first(where: { $0.isServed && $0.request == nil && $0.site == row.site }),
            let servedBody = served.body, let site = sites.first(where: { $0.name == row.site })
        else { return }
        guard body.sha256 != servedBody.sha256 else { return html.say(.sameContent) }
        let address = context.links.compare(href, of: site.id, from: row.snapshot, to: served.snapshot)
        html.link(address) { html in
            html.say(.compareButton)
            html.element(
                "span", ["class": "hidden"], text: " " + html.words(.snapshotNumber, "\(row.snapshot)"))
        }
    }

    /// The address of the copy in the snapshot of a response; nil if that snapshot cannot be shown.
    private func address(of row: URLReport.Response, _ context: PortalContext) -> String? {
        guard row.request == nil, let url = WebURL(href) else { return nil }
        if row.isServed { return context.mirrorAddress(of: href) }
        let snapshots = sites.first { $0.name == row.site }?.snapshots ?? []
        let snapshot = snapshots.first { $0.name == row.snapshot && $0.finished != nil && $0.base == nil }
        return snapshot.flatMap { context.layout.address(of: url, in: $0.id) }
    }

    private func writeHeaders(of row: URLReport.Response, to html: inout HTMLWriter) {
        guard !row.headers.isEmpty else { return }
        html.element("h2", say: .headers)
        html.element("dl", ["class": "sheet"]) { html in
            for header in row.headers {
                html.element("dt") { $0.isolatedText(header.name) }
                html.element("dd", ["class": "url"]) { $0.isolatedText(header.value) }
            }
        }
    }

    /// Writes the links of one kind. Behind a cut list, links to this page with the whole list, unless that is cut, too.
    private func writeOutgoingLinks(
        _ links: OutgoingLinks, to html: inout HTMLWriter, _ context: PortalContext
    ) {
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
            html.nextLink(context.links.details(href, links: links.list.rawValue), html.words(.showMore))
        } else {
            html.leftOutNote(of: links.count, shown: links.targets.count)
        }
    }

    /// Writes the URLs that link to this one. One page examines a limited number of bodies, so that it may find nothing
    /// although a later page does: the text then says "so far". If no body links to the URL, the page that requested it is
    /// named, because scripts can request URLs that no link contains.
    private func writeReferrers(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", say: .linkedFrom)
        if referrers.hrefs.isEmpty, referrers.next == nil, !isContinued, let requester = shown?.referrer {
            html.element("p", ["class": "soft"]) { html in
                html.say(.requestedNotLinked)
                html.target(requester, context, from: WebURL(href)?.origin)
            }
        } else if referrers.hrefs.isEmpty {
            let sentence: Sentence =
                switch (isContinued, referrers.next == nil) {
                case (true, true): .noMoreLinkers
                case (true, false): .noMoreLinkersSoFar
                case (false, true): .noLinkers
                case (false, false): .noLinkersSoFar
                }
            html.element("p", ["class": "soft"], say: sentence)
        }
        html.element("ul", ["class": "links"]) { html in
            for referrer in referrers.hrefs {
                html.element("li") { $0.target(referrer, context, from: WebURL(href)?.origin) }
            }
        }
        if let next = referrers.next {
            html.nextLink(context.links.details(href, after: next), html.words(.continueSearching))
        }
    }
}

extension HTMLWriter {
    /// Writes a link to the details of another URL. For a URL of the given origin, shows only the path. A URL of another
    /// scheme, such as `mailto:`, has no details and is only text.
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
            "linkedFrom": referrers.hrefs, "after": referrers.next, "instead": IfAny(absence),
        ]
    }
}

extension DetailsPage.OutgoingLinks {
    fileprivate var members: JSONMembers {
        [
            "count": count,
            "targets": targets.map { ["url": $0.href, "held": $0.isStored] as JSONMembers },
        ]
    }
}

extension DetailsPage {
    /// The command that fetches the URL: an update of its site if that fetches it, else a prefetch of the URL. It is meant to
    /// be pasted into a shell, where only a quote could end the quoted argument.
    ///
    /// Nil if a site of the host is stored and its update does not fetch the URL, because a prefetch would store all pages of
    /// the host as another site.
    package static func command(for url: String, site: String?, isOfStoredHost: Bool) -> String? {
        if site == nil, isOfStoredHost { return nil }
        let (name, operand) = site.map { ("update", $0) } ?? ("prefetch", url)
        return "larder \(name) '\(operand.replacing("'", with: "%27"))'"
    }
}
