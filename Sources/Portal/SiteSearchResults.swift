internal import Reports
internal import Search
package import Store
internal import Web

/// The stored pages of one site that have the words of the site's own search. The page for a missing URL shows them in
/// place of the site's results, which only its server can make.
package struct SiteSearchResults: Sendable {
    private let page: SearchPage

    /// - Parameters:
    ///   - site: the name of the site.
    ///   - snapshot: the id of the snapshot to search; nil for the live snapshot.
    ///   - reader: the reader of the portal's thread.
    /// - Returns: nil if there is no such site or snapshot.
    package init?(
        for words: String, site: String, snapshot: Int64?, _ portal: Portal, _ reader: StoreReader
    ) throws(StoreError) {
        let sites = try portal.sites(reader)
        guard let snapshot else {
            guard let site = sites.first(where: { $0.name == site }) else { return nil }
            page = try SearchPage(words, in: site, from: nil, now: 0, reader, portal.cache)
            return
        }
        let owner = sites.first { $0.snapshots.contains { $0.id == snapshot } }
        guard let owner, let name = owner.snapshots.first(where: { $0.id == snapshot })?.name else {
            return nil
        }
        var facets = SearchFacets()
        facets.snapshot = name
        page = try SearchPage(words, in: owner, facets, from: nil, now: 0, reader, portal.cache)
    }

    /// Writes whose results these are, and the pages with links to their copies, or that there are none.
    ///
    /// - Parameter address: returns the address of the copy of a URL; nil if the reader cannot open one.
    package func write(to html: inout HTMLWriter, address: (String) -> String?) {
        let hits = (page.report?.hits ?? []).compactMap { hit in
            address(hit.address).map { (hit: hit, address: hit.addingTextFragment(to: $0)) }
        }
        let entries = page.entries.compactMap { entry in
            entry.role == 0 && entry.status == 200 ? address(entry.href).map { (entry, $0) } : nil
        }
        guard !hits.isEmpty || !entries.isEmpty else {
            html.element("p", ["role": "status"], say: .siteSearchEmpty)
            return
        }
        html.element("h2") { $0.isolatedText($0.words(.siteSearchResults, page.words)) }
        html.element("p", ["role": "status"], say: .siteSearchLead)
        html.element("ol", ["class": "list hits"]) { html in
            for (hit, address) in hits {
                html.element("li") { html in
                    html.hit(hit, address: address)
                    html.element("div", ["class": "url"]) { $0.url(hit.url) }
                }
            }
            for (entry, address) in entries {
                html.element("li") { html in
                    let title = entry.body?.title.flatMap { $0.isEmpty ? nil : $0 } ?? entry.href
                    html.link(address, ["class": "name"]) { $0.isolatedText(Wording.cut(title, to: 200)) }
                    html.element("div", ["class": "url"]) { $0.url(entry.href) }
                }
            }
        }
    }
}
