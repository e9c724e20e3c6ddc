/// What is answered when the larder does not hold what was asked for: at once, and with a reason.
enum MissPage {
    static func answer(_ url: String, accept: String?, layout: OriginLayout) -> Answer {
        let fields = [("Larder", "miss"), ("Cache-Control", "no-store")] + layout.commonFields
        guard let accept, accept.utf8.contains("text/html".utf8) else {
            return .text(504, "Not in the larder: \(url)\n", fields: fields)
        }
        // It is meant to be pasted into a shell, where only a quote could end the quotation.
        let quoted = url.replacing("'", with: "%27")
        let page = HTMLPage(
            title: "Not in the larder",
            body: """
                <h1>Not in the larder</h1>
                <p class="url">\(HTMLPage.escape(url))</p>
                <p>This page was not prefetched, and the larder asks nothing of the network.
                To have it next time, run</p>
                <pre>larder prefetch '\(HTMLPage.escape(quoted))'</pre>
                <p><a href="\(layout.portal)">What the larder holds</a></p>
                """)
        return .html(504, page.text, fields: fields)
    }
}
