internal import Origins
internal import Reports
internal import Store
internal import Web

/// The home page: the form that adds a site, the pages that were read last, and the stored sites as cards.
struct HomePage: PortalPage {
    /// All sites, in the order of the store.
    private let cards: [SiteCard]
    private let filter: SiteFilter
    /// The cards that this page shows, and whether further ones follow.
    private let shown: [SiteCard]
    private let hasMore: Bool
    /// The number of the page of the list, from 0.
    private let page: Int
    /// The pages that were read last, the latest first. Empty for visitors of other machines.
    private let recent: [StoreReader.ReadPage]
    /// The last removal of a site, planned, running or done, as long as it can be undone; nil if there is none.
    private let removal: PortalJob?
    /// The size of the store. If private responses are hidden from the visitor, the sum of the sizes of the shown sites, since
    /// the size of the store includes them.
    private let byteCount: Int64
    /// The identity of the store.
    private let storeIdentity: String
    let title = "Larder"
    let section = PortalSection.sites
    let isWide = true

    /// - Parameters:
    ///   - jobs: the jobs that the visitor may see.
    ///   - showsReading: whether the visitor may see which pages were read.
    init(
        _ reader: StoreReader, _ cache: PortalCache, _ request: PortalRequest, jobs: [PortalJob] = [],
        showsReading: Bool, now: Int64
    ) throws(StoreError) {
        var cards: [SiteCard] = []
        // Sites without stored counts share one budget for finding missing URLs. Of the sites beyond it, those are not
        // counted.
        var limit = PortalLimits.maxHomeWalkURLs
        let sites = try cache.sites(reader)
        for site in sites {
            let hasCounts = site.overlay == nil && MissingURLCounts(of: site) != nil
            let report = try cache.report(on: site, limit: hasCounts ? 0 : limit, reader)
            if !hasCounts { limit -= report.needs?.walked ?? limit }
            cards.append(SiteCard(site, report, jobs: jobs))
        }
        self.cards = cards
        filter = SiteFilter(request)
        page = Int(max(0, min(request.number("page") ?? 0, 1_000_000)))
        let rest = filter.apply(to: cards).dropFirst(page * PortalLimits.maxSiteCards)
        hasMore = rest.count > PortalLimits.maxSiteCards
        var shown = Array(rest.prefix(PortalLimits.maxSiteCards))
        for index in shown.indices {
            guard let site = sites.first(where: { $0.id == shown[index].report.id }) else { continue }
            try shown[index].findImages(of: site, reader, cache)
        }
        self.shown = shown
        recent = showsReading ? try cache.lastReadPages(now: now, reader) : []
        let removal = jobs.removalToUndo
        if let removal, case .remove = removal.command, now - removal.addedAt < Self.maxRemovalAge {
            self.removal = removal
        } else {
            self.removal = nil
        }
        byteCount =
            reader.hidesPrivate
            ? cards.reduce(0) { $0 + $1.report.tally.byteCount } : reader.folder.byteCount
        storeIdentity = reader.folder.identity
    }

    /// A removal is shown for this number of seconds. The page of jobs shows it as long as it can be undone.
    private static let maxRemovalAge: Int64 = 86_400

    var scripts: [String] {
        let isBusy = cards.contains { $0.job != nil } || removal?.isOver == false
        return [OfflineWorker.Registration.path] + (isBusy ? [JobsScript.path] : [])
    }

    var refreshWithoutScript: Int? { removal?.isOver == false ? 5 : nil }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        // At the top, so that the button that reverses the removal is visible without scrolling.
        html.element("div", ["id": "removal", "data-renew": ""]) { html in
            if let removal { PortalFrame.writeNotice(removal, to: &html, context) }
        }
        guard !cards.isEmpty else {
            html.element("div", ["id": "jobs", "data-live": PortalLinks.live]) { _ in }
            return writeWelcome(to: &html, context)
        }
        if context.token != nil {
            html.element("details", ["class": "adder"]) { html in
                html.element("summary", ["class": "button"], say: .addSite)
                html.prefetchForm(context)
            }
        }
        html.element("p", ["class": "lead", "id": "sums", "data-renew": ""]) { html in
            html.say(.homeLead, html.count(cards.count, .oneSite, .manySites), Wording.bytes(byteCount))
        }
        html.idleScheduleNotice(context, isScheduled: cards.contains { $0.report.site.schedule != nil })
        html.searchForm(PortalLinks.search, label: html.words(.searchStoredPages))
        html.element("div", ["id": "recent", "data-renew": ""]) { writeRecent(to: &$0, context) }
        writeFilter(to: &html)
        if shown.isEmpty { html.element("p", ["class": "soft", "role": "status"], say: .noMatchingSites) }
        // `JobsScript` replaces the cards when a job starts or ends.
        html.element("div", ["id": "jobs", "data-live": PortalLinks.live]) { html in
            guard !shown.isEmpty else { return }
            html.element("ul", ["class": "cards"]) { html in
                for card in shown { card.write(to: &html, context) }
            }
        }
        if hasMore { html.nextLink(filter.address(page: page + 1), html.words(.more)) }
        html.storeCommands(context)
        html.explainReadOnly(context)
        html.openForm()
        html.element("p", ["class": "soft"]) { html in
            html.say(.openOriginalHint)
            html.element("code", ["class": "url"], text: "\(context.layout.home)https://example.com/")
        }
        if context.token != nil { html.element("p") { $0.link(PortalLinks.save, say: .saveTitle) } }
        if context.hasBar { html.element("p") { $0.link(PortalLinks.barSwitch, say: .barTitle) } }
    }

    /// Writes the pages that were read last, and the link to a page by chance.
    private func writeRecent(to html: inout HTMLWriter, _ context: PortalContext) {
        if !recent.isEmpty {
            html.element("h2", say: .continueReading)
            html.element("ul", ["class": "recent"]) { html in
                for read in recent {
                    html.element("li") { html in
                        html.link(Self.address(of: read, context), ["class": "name"]) {
                            $0.isolatedText(Wording.cut(read.page.body?.title ?? read.page.href, to: 120))
                        }
                        html.element("span", ["class": "soft"]) { html in
                            // Pages can have the same title.
                            html.isolatedText(
                                WebURL(read.page.href).map { Wording.cut($0.host + $0.path, to: 60) } ?? "")
                            if let snapshot = read.snapshot {
                                html.say(.comma)
                                html.text(
                                    html.words(
                                        .withNote, html.words(.snapshotNumber, "\(snapshot.name)"),
                                        html.language.moment(snapshot.started)))
                            }
                            html.say(.comma)
                            html.time(read.at, now: context.now)
                        }
                    }
                }
            }
        }
        html.element("p") { $0.link(PortalLinks.random, say: .randomPage) }
    }

    /// The address of the copy that was read, else that of the page about its URL.
    private static func address(of read: StoreReader.ReadPage, _ context: PortalContext) -> String {
        let mirrored =
            if let snapshot = read.snapshot {
                WebURL(read.page.href).flatMap { context.layout.address(of: $0, in: snapshot.id) }
            } else {
                context.mirrorAddress(of: read.page.href)
            }
        return mirrored ?? context.links.details(read.page.href)
    }

    /// Writes the form that filters and sorts the sites, once there are enough of them.
    private func writeFilter(to html: inout HTMLWriter) {
        let tags = Set(cards.flatMap(\.tags)).sorted()
        guard cards.count > Self.maxUnfilteredSites || filter.isFiltering || !tags.isEmpty else { return }
        html.element("form", ["class": "find compare", "method": "get", "action": "/"]) { html in
            html.element("div", ["class": "field"]) { html in
                html.element("label", ["for": "find"], say: .filterSites)
                html.void(
                    "input", ["id": "find", "name": "find", "type": "search", "value": filter.text ?? ""])
            }
            if !tags.isEmpty {
                html.selectField(
                    "tag", .tag, [("", html.words(.allTags))] + tags.map { ($0, $0) }, filter.tag)
            }
            html.selectField(
                "sort", .sortBy,
                SiteFilter.Order.allCases.map { ($0.rawValue, html.words(Self.sentence(for: $0))) },
                filter.order.rawValue)
            html.element("button", ["type": "submit", "class": "quiet"], say: .doFilter)
            if filter.isFiltering { html.link("/", ["class": "button quiet"], say: .allSites) }
        }
    }

    /// Up to this number of sites, the page shows no filter.
    private static let maxUnfilteredSites = 4

    private static func sentence(for order: SiteFilter.Order) -> Sentence {
        switch order {
        case .name: .sortName
        case .newest: .sortNewest
        case .oldest: .sortOldest
        case .largest: .sortLargest
        case .state: .state
        }
    }

    /// Writes the page of an empty store: how to add the first site.
    private func writeWelcome(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .homeEmpty)
        html.element("h2", say: .homeNewSite)
        html.prefetchForm(context)
        if context.token != nil { html.nextLink(PortalLinks.save, html.words(.saveTitle)) }
        if context.hasFiles, context.token != nil {
            html.nextLink(PortalLinks.importForm, html.words(.importTitle))
        }
        html.element("p", say: .homeInTerminal)
        html.element("pre", text: "larder prefetch https://example.com/")
        html.element("p", say: .homeReload)
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            // Tells commands on this machine which store the server serves.
            "store": context.layout.isExposed ? nil : storeIdentity,
            "sites": cards.map { card in
                card.report.members(context)
                    + ["state": card.state.rawValue, "tags": card.tags, "note": card.note]
            },
            "recent": recent.map { read -> JSONMembers in
                [
                    "url": read.page.href, "title": read.page.body?.title,
                    "snapshot": read.snapshot.map { "\($0.name)" }, "at": Wording.date(read.at),
                ]
            },
        ]
    }
}
