internal import Reports
internal import Web

/// What is answered when the larder does not hold what was asked for: at once, and with a reason.
struct MissPage {
    let url: String
    /// The larder notes it, so that the next prefetch fetches it.
    let isNoted: Bool
    /// Where it is linked from, as original URLs.
    var referrers: [String] = []
    /// What is held next to it.
    var neighbours: [String] = []
    /// The site whose next visit brings it; nil where none would.
    var site: String?
    /// The earlier visit that lacks it, and where it is as of now.
    var visit: Int64?
    var present: String?
    /// The portal takes orders.
    var hasOrders = false

    /// What is not asked for by a person is answered in a word.
    func answer(isNavigation: Bool, layout: OriginLayout) -> Answer {
        let fields =
            [("Larder", AnswerSource.miss.text), ("Cache-Control", "no-store")] + layout.commonFields
        // Who links to it is for a person to read, not for the scripts of its origin.
        let policy = ("Content-Security-Policy", OriginLayout.sandbox)
        let sharing = WebURL(url).map { Sharing(missing: $0) } ?? .portal
        guard isNavigation else {
            return .text(504, "Not in the larder: \(url)\n", fields: fields, sharing: sharing)
        }
        let page = HTMLPage(
            title: "Not in the larder",
            body: """
                <h1>Not in the larder</h1>
                <p class="url">\(HTMLPage.escape(url))</p>
                \(reason)
                \(fetchNow(layout))\(search(layout))\
                \(list("Linked from", referrers, layout))\
                \(list("Held nearby", neighbours, layout))\
                <p><a href="\(HTMLPage.escape(url))" rel="noreferrer">Open it on the network</a>, out of the larder: its
                server learns that you ask.</p>
                \(layout.portal.map { "<p><a href=\"\($0)\">What the larder holds</a></p>" } ?? "")
                """)
        return .html(504, page.text, fields: fields + [policy], sharing: sharing)
    }

    private var reason: String {
        if let visit {
            let now = present.map { " <a href=\"\(HTMLPage.escape($0))\">As it is held now</a>." } ?? ""
            return "<p>Visit \(visit) does not have it.\(now)</p>"
        }
        return """
            <p>This page was not prefetched, and the larder asks nothing of the network.
            \(isNoted && site != nil ? "It is noted, and fetched at the next prefetch of its site." : "")
            To have it next time, run</p>
            <pre>\(Self.command(for: url, site: isNoted ? site : nil, HTMLPage.escape))</pre>
            """
    }

    /// What fetches the URL: into the site that it belongs to, where what was missed is noted, else as a site
    /// of its own. It is meant to be pasted into a shell, where only a quote could end the quotation.
    ///
    /// - Parameter escape: how the URL is written where the command stands.
    static func command(for url: String, site: String?, _ escape: (String) -> String = { $0 }) -> String {
        let (name, operand) = site.map { ("update", $0) } ?? ("prefetch", url)
        return "larder \(name) '\(escape(operand.replacing("'", with: "%27")))'"
    }

    /// The portal's page of the address has what fetches it: no other page may.
    private func fetchNow(_ layout: OriginLayout) -> String {
        guard hasOrders, visit == nil, let portal = layout.portal else { return "" }
        let address = portal.dropLast() + PortalLinks().details(url)
        return "<p><a href=\"\(HTMLPage.escape(String(address)))\">Fetch it now, by the portal</a></p>\n"
    }

    /// Where a site's own search is not held, what is held can be searched for the same words.
    private func search(_ layout: OriginLayout) -> String {
        guard let portal = layout.portal, let query = WebURL(url)?.query else { return "" }
        let names = ["q", "query", "search", "s", "keywords", "term", "text", "wd"]
        let asked = PortalRequest(target: "/?\(query)")
        guard let words = names.lazy.compactMap({ asked[$0] }).first else { return "" }
        let address = portal.dropLast() + PortalLinks().search(words, in: nil)
        return """
            <p><a href="\(HTMLPage.escape(String(address)))">Search what is held for
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
