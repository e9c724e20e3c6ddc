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

    /// What is not asked for by a person is answered in a word.
    func answer(isNavigation: Bool, layout: OriginLayout) -> Answer {
        let fields = [("Larder", AnswerSource.miss.text), ("Cache-Control", "no-store")] + layout.commonFields
        // Who links to it is for a person to read, not for the scripts of its origin.
        let policy = ("Content-Security-Policy", OriginLayout.sandbox)
        let sharing = WebURL(url).map { Sharing(missing: $0) } ?? .own
        guard isNavigation else {
            return .text(504, "Not in the larder: \(url)\n", fields: fields, sharing: sharing)
        }
        let page = HTMLPage(
            title: "Not in the larder",
            body: """
                <h1>Not in the larder</h1>
                <p class="url">\(HTMLPage.escape(url))</p>
                <p>This page was not prefetched, and the larder asks nothing of the network.
                \(isNoted ? "It is noted, and fetched at the next prefetch of its site." : "")
                To have it next time, run</p>
                <pre>larder prefetch '\(HTMLPage.escape(quoted))'</pre>
                \(list("Linked from", referrers, layout))\
                \(list("Held nearby", neighbours, layout))\
                <p><a href="\(HTMLPage.escape(url))" rel="noreferrer">Open it on the network</a>, out of the larder: its
                server learns that you ask.</p>
                \(layout.portal.map { "<p><a href=\"\($0)\">What the larder holds</a></p>" } ?? "")
                """)
        return .html(504, page.text, fields: fields + [policy], sharing: sharing)
    }

    /// It is meant to be pasted into a shell, where only a quote could end the quotation.
    private var quoted: String { url.replacing("'", with: "%27") }

    private func list(_ title: String, _ urls: [String], _ layout: OriginLayout) -> String {
        guard !urls.isEmpty else { return "" }
        let items = urls.map { url in
            let address = WebURL(url).flatMap(layout.address) ?? url
            return "<li class=\"url\"><a href=\"\(HTMLPage.escape(address))\">\(HTMLPage.escape(url))</a></li>\n"
        }
        return "<h2>\(title)</h2>\n<ul>\n\(items.joined())</ul>\n"
    }
}
