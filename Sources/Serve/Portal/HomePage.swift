internal import Reports
internal import Store
internal import Web

/// What the larder holds, site by site.
struct HomePage: PortalPage {
    let sites: [SiteReport]
    let title = "Larder"
    let section = PortalSection.sites

    init(_ reader: StoreReader, _ memory: PortalMemory) throws(StoreError) {
        var sites: [SiteReport] = []
        var limit = PortalLimits.neededURLs
        for site in try memory.sites(reader) {
            let report = try memory.report(on: site, limit: limit, reader)
            limit -= report.needs?.walked ?? limit
            sites.append(report)
        }
        self.sites = sites
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !sites.isEmpty else { return writeWelcome(to: &html) }
        html.element("p", ["class": "lead"]) { html in
            let bytes = sites.reduce(0) { $0 + $1.tally.byteCount }
            html.text("\(Wording.count(sites.count, "site")) on the shelf, \(Wording.bytes(bytes)).")
        }
        html.searchForm(PortalLinks.search, label: "Search what is held")
        html.element("ul", ["class": "cards"]) { html in
            for site in sites {
                html.element("li", ["class": "card"]) { write(site, to: &$0, context) }
            }
        }
        html.element("h2", text: "Open an original address")
        html.element("p") { html in
            html.text("Put it behind the larder’s own: ")
            html.element("code", ["class": "url"], text: "\(context.layout.home)https://example.com/")
        }
    }

    private func write(_ site: SiteReport, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2") {
            $0.link(context.links.site(site.id)) { $0.foreign(Wording.cut(site.title)) }
        }
        html.element("p", ["class": "url soft"]) { $0.address(site.site.name) }
        site.writeState(to: &html, context)
        site.writeCounts(to: &html)
        html.element("p", ["class": "actions"]) { html in
            if let address = context.mirrored(site.start) {
                html.link(address, ["class": "button"]) { html in
                    html.text("Open")
                    html.element("span", ["class": "hidden"], text: " \(Wording.cut(site.title, to: 80))")
                }
            }
            html.link(context.links.site(site.id), ["class": "button quiet"]) { html in
                html.text("Look inside")
                html.element("span", ["class": "hidden"], text: " \(Wording.cut(site.title, to: 80))")
            }
        }
    }

    private func writeWelcome(to html: inout HTMLWriter) {
        html.element("p", ["class": "lead"], text: "The shelves are empty.")
        html.element("h2", text: "Stock it while you are online")
        html.element("p", text: "Name a site in a terminal; everything its pages need comes with it.")
        html.element("pre", text: "larder prefetch https://example.com/")
        html.element("p", text: "Then load this page again.")
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["sites": sites.map { $0.members(context) }]
    }
}
