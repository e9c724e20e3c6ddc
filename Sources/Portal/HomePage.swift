internal import Origins
internal import Reports
internal import Store
internal import Web

/// The home page: the stored sites with their state, and the forms that search them and add new ones.
struct HomePage: PortalPage {
    let sites: [SiteReport]
    /// The identity of the store.
    private let storeIdentity: String
    let title = "Larder"
    let section = PortalSection.sites

    init(_ reader: StoreReader, _ cache: PortalCache) throws(StoreError) {
        var sites: [SiteReport] = []
        // All sites of the page share one budget for finding missing URLs. Of the sites beyond it, those are not counted.
        var limit = PortalLimits.maxMissingWalkURLs
        for site in try cache.sites(reader) {
            let report = try cache.report(on: site, limit: limit, reader)
            limit -= report.needs?.walked ?? limit
            sites.append(report)
        }
        self.sites = sites
        storeIdentity = reader.folder.identity
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !sites.isEmpty else { return writeWelcome(to: &html, context) }
        html.element("p", ["class": "lead"]) { html in
            let bytes = sites.reduce(0) { $0 + $1.tally.byteCount }
            html.say(.homeLead, html.count(sites.count, .oneSite, .manySites), Wording.bytes(bytes))
        }
        html.idleScheduleNotice(context, isScheduled: sites.contains { $0.site.schedule != nil })
        html.searchForm(PortalLinks.search, label: html.words(.searchStoredPages))
        html.element("ul", ["class": "cards"]) { html in
            for site in sites {
                html.element("li", ["class": "card"]) { writeCard(of: site, to: &$0, context) }
            }
        }
        if context.token != nil {
            html.storeCommands(context)
            html.element("h2", say: .newSite)
            html.prefetchForm(context)
            html.nextLink(PortalLinks.save, html.words(.saveTitle))
        }
        html.explainReadOnly(context)
        html.element("h2", say: .openOriginal)
        html.element("p") { html in
            html.say(.openOriginalHint)
            html.element("code", ["class": "url"], text: "\(context.layout.home)https://example.com/")
        }
        if context.hasBar { html.element("p") { $0.link(PortalLinks.bar, say: .barTitle) } }
    }

    /// Writes the card of a site: its state, its counts, and links to its copy and its page.
    private func writeCard(of site: SiteReport, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2") {
            $0.link(context.links.site(site.id)) { $0.isolatedText(Wording.cut(site.title)) }
        }
        html.element("p", ["class": "url soft"]) { $0.url(site.site.name) }
        site.writeState(to: &html, context)
        site.writeCounts(to: &html)
        html.element("p", ["class": "actions"]) { html in
            if let address = context.mirrorAddress(of: site.start) {
                html.link(address, ["class": "button"]) { html in
                    html.say(.doOpen)
                    // The name of the site tells the links of the cards apart in a screen reader's list of links.
                    html.element("span", ["class": "hidden"], text: " \(Wording.cut(site.title, to: 80))")
                }
            }
            html.link(context.links.site(site.id), ["class": "button quiet"]) { html in
                html.say(.viewDetails)
                html.element("span", ["class": "hidden"], text: " \(Wording.cut(site.title, to: 80))")
            }
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
        // Tells commands on this machine which store the server serves.
        ["store": context.layout.isExposed ? nil : storeIdentity, "sites": sites.map { $0.members(context) }]
    }
}
