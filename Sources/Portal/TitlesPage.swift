internal import Reports
internal import Store
internal import Web

/// The pages of a site, sorted by title.
struct TitlesPage: PortalPage {
    let site: Site
    /// The pages; nil if there are too many to sort while a client waits.
    let pages: [TitledPage]?
    /// The last page of this list, if others follow it.
    let lastBeforeNext: TitledPage?
    let title: String
    let section = PortalSection.sites

    /// - Parameter position: the title and the URL of the last page that was shown, separated by a line break; nil for
    ///   the first list.
    init(_ site: Site, after position: String?, _ reader: StoreReader) throws(StoreError) {
        self.site = site
        title = site.name
        guard site.isComparable else {
            (pages, lastBeforeNext) = (nil, nil)
            return
        }
        let start = position.flatMap { text -> TitledPage? in
            // A title may contain line breaks, a URL may not.
            guard let end = text.lastIndex(of: "\n") else { return nil }
            return TitledPage(title: String(text[..<end]), href: String(text[text.index(after: end)...]))
        }
        let limit = PortalLimits.maxTitles
        // One more than shown tells whether there is a next list.
        let found = try reader.titledPages(ofSite: site.id, after: start, limit: limit + 1)
        pages = Array(found.prefix(limit))
        lastBeforeNext = found.count > limit ? found[limit - 1] : nil
    }

    var heading: Sentence? { .pagesByTitle }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard let pages else { return html.element("p", say: .tooManyTitles) }
        html.element("p", ["class": "lead"], say: pages.isEmpty ? .noTitles : .titlesLead)
        html.element("ul", ["class": "list"]) { html in
            for page in pages {
                html.element("li") { html in
                    html.link(
                        context.mirrorAddress(of: page.href) ?? context.links.details(page.href),
                        ["class": "name"]
                    ) { $0.isolatedText(Wording.cut(page.title, to: 200)) }
                    html.link(context.links.details(page.href), ["class": "url soft"]) {
                        $0.url(page.href)
                    }
                }
            }
        }
        if let position {
            html.nextLink(context.links.titles(of: site.id, after: position), html.words(.more))
        }
    }

    /// The position from which the next list continues; see `init`.
    private var position: String? { lastBeforeNext.map { "\($0.title)\n\($0.href)" } }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "site": site.name,
            "pages": (pages ?? []).map { ["title": $0.title, "url": $0.href] as JSONMembers },
            "after": position,
        ]
    }
}
