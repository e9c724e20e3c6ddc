internal import Store
internal import Web

/// The pages at `http://localhost:PORT/`: what is held, and the way from an original URL to its copy.
struct Portal {
    private let layout: OriginLayout

    init(layout: OriginLayout) {
        self.layout = layout
    }

    static func isName(_ name: String) -> Bool {
        name == "localhost" || name == "127.0.0.1" || name == "[::1]"
    }

    func answer(_ target: String, reader: StoreReader) throws(StoreError) -> Answer {
        if target == "/" {
            return .html(200, try list(reader), fields: [("Cache-Control", "no-store")] + layout.commonFields)
        }
        // An original URL, pasted behind the address.
        if let url = WebURL(String(target.dropFirst())), let address = layout.address(of: url) {
            return .redirect(to: address, fields: layout.commonFields)
        }
        let page = HTMLPage(
            title: "Nothing here",
            body: """
                <h1>Nothing here</h1>
                <p>Put an original address behind the larder's, such as
                <span class="url">\(layout.portal)https://example.com/</span>,
                or see <a href="/">what the larder holds</a>.</p>
                """)
        return .html(404, page.text, fields: layout.commonFields)
    }

    private func list(_ reader: StoreReader) throws(StoreError) -> String {
        var rows = ""
        for site in try reader.sites() {
            let visit = site.visits.last { site.published == nil || $0.id == site.published }
            for start in site.start {
                let address = WebURL(start).flatMap(layout.address) ?? start
                rows += """
                    <tr><td class="url"><a href="\(HTMLPage.escape(address))">\(HTMLPage.escape(start))</a></td>
                    <td class="number">\(visit?.responseCount ?? 0)</td>
                    <td>\(visit.map { HTTPDate(secondsSinceEpoch: $0.started).text } ?? "")</td>
                    <td>\(site.published == nil ? "incomplete" : "complete")</td></tr>

                    """
            }
        }
        let table = """
            <table>
            <thead><tr><th>Site</th><th class="number">Responses</th><th>Fetched</th><th>Visit</th></tr></thead>
            <tbody>
            \(rows)</tbody>
            </table>
            """
        let empty = "<p>Nothing yet. Stock it with <code>larder prefetch URL</code>.</p>"
        return HTMLPage(title: "Larder", body: "<h1>Larder</h1>\n\(rows.isEmpty ? empty : table)").text
    }
}
