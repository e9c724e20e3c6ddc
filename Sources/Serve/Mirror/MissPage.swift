internal import Reports
internal import Web

/// The answer to a request for a URL that is not stored.
struct MissPage {
    let url: String
    /// Whether the miss is recorded, so that the next prefetch fetches the URL.
    let isNoted: Bool
    /// Original URLs of the pages that link to it.
    var referrers: [String] = []
    /// Stored URLs of the same folder or host.
    var neighbours: [String] = []
    /// The site whose next prefetch fetches the URL; nil if there is none.
    var site: String?
    /// The earlier snapshot that lacks the URL, and the address of the URL in the live snapshot.
    var snapshot: Int64?
    var present: String?
    /// Whether the portal takes orders.
    var hasOrders = false

    /// Answers navigations with a page, and other requests with one line.
    func answer(isNavigation: Bool, layout: OriginLayout) -> Answer {
        let fields =
            [("Larder", AnswerSource.miss.text), ("Cache-Control", "no-store")] + layout.commonFields
        // The list of linking pages is for people; scripts of the origin must not read it.
        let policy = ("Content-Security-Policy", OriginLayout.sandbox)
        let sharing = WebURL(url).map { Sharing(missing: $0) } ?? .portal
        guard isNavigation else {
            return .text(504, "Not stored: \(url)\n", fields: fields, sharing: sharing)
        }
        let page = HTMLPage(
            title: "Not stored",
            body: """
                <h1>Not stored</h1>
                <p class="url">\(HTMLPage.escape(url))</p>
                \(reason)
                \(fetchNow(layout))\(search(layout))\
                \(list("Linked from", referrers, layout))\
                \(list("Stored nearby", neighbours, layout))\
                <p><a href="\(HTMLPage.escape(url))" rel="noreferrer">Open on the web</a> (sends a request to the origin).</p>
                \(layout.portal.map { "<p><a href=\"\($0)\">All stored sites</a></p>" } ?? "")
                """)
        return .html(504, page.text, fields: fields + [policy], sharing: sharing)
    }

    private var reason: String {
        if snapshot != nil {
            let now =
                present.map { " <a href=\"\(HTMLPage.escape($0))\">Open it in the live snapshot</a>." } ?? ""
            return "<p>This earlier snapshot does not contain this URL.\(now)</p>"
        }
        return """
            <p>This URL is not stored, and the server did not request it from the network.
            \(isNoted && site != nil ? "The miss is recorded; the next prefetch of the site fetches the URL." : "")
            To fetch it, run:</p>
            <pre>\(Self.command(for: url, site: isNoted ? site : nil, HTMLPage.escape))</pre>
            """
    }

    /// The command that fetches the URL: an update of its site if the miss is recorded, else a prefetch of
    /// the URL. It is meant to be pasted into a shell, where only a quote could end the quoted argument.
    ///
    /// - Parameter escape: escapes the URL for the place where the command is shown.
    static func command(for url: String, site: String?, _ escape: (String) -> String = { $0 }) -> String {
        let (name, operand) = site.map { ("update", $0) } ?? ("prefetch", url)
        return "larder \(name) '\(escape(operand.replacing("'", with: "%27")))'"
    }

    /// A link to the details of the URL, since only pages of the portal can give orders.
    private func fetchNow(_ layout: OriginLayout) -> String {
        guard hasOrders, snapshot == nil, let portal = layout.portal else { return "" }
        let address = portal.dropLast() + PortalLinks().details(url)
        return "<p><a href=\"\(HTMLPage.escape(String(address)))\">Fetch it now in the portal</a></p>\n"
    }

    /// A link that searches the stored pages for the words of a site's own search.
    private func search(_ layout: OriginLayout) -> String {
        guard let portal = layout.portal, let query = WebURL(url)?.query else { return "" }
        let names = ["q", "query", "search", "s", "keywords", "term", "text", "wd"]
        let asked = PortalRequest(target: "/?\(query)")
        guard let words = names.lazy.compactMap({ asked[$0] }).first else { return "" }
        let address = portal.dropLast() + PortalLinks().search(words, in: nil)
        return """
            <p><a href="\(HTMLPage.escape(String(address)))">Search stored pages for
            “<bdi>\(HTMLPage.escape(Wording.cut(words, to: PortalLimits.words)))</bdi>”</a></p>

            """
    }

    private func list(_ title: String, _ urls: [String], _ layout: OriginLayout) -> String {
        guard !urls.isEmpty else { return "" }
        let items = urls.map { url in
            let address = WebURL(url).flatMap(layout.address) ?? url
            return
                "<li class=\"url\"><a href=\"\(HTMLPage.escape(address))\">\(HTMLPage.escape(url))</a></li>\n"
        }
        return "<h2>\(title)</h2>\n<ul>\n\(items.joined())</ul>\n"
    }
}
