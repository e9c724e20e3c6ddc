internal import Markup
internal import Portal
internal import Store
internal import Web

/// The words that a search form of a stored page sends to the site's server, for a URL that is not stored.
struct FormSearch: Sendable, Equatable {
    let words: String

    /// The usual names of the query parameter of a site's search.
    private static let usualNames = [
        "q", "query", "search", "s", "keywords", "keyword", "term", "text", "wd", "searchword",
    ]
    /// The maximum size of a page whose forms are read. The forms of larger pages are ignored.
    private static let maxPageBytes = 8 * 1024 * 1024

    /// The words in the query of a URL that has one of the usual parameters; nil if it has none.
    static func usualWords(of url: WebURL) -> String? {
        let fields = fields(of: url)
        return usualNames.lazy.compactMap { fields[$0] }.first
    }

    /// Recognises a URL to which a form leads. Either a form of the requesting page leads to its path, and the query has a
    /// usual parameter or only one, or the query has a usual parameter, and a page or a link has the path without a query.
    ///
    /// - Parameter page: the URL of the requesting page; nil if that is not known.
    static func find(_ url: WebURL, from page: String?, _ reader: StoreReader) throws(StoreError)
        -> FormSearch?
    {
        guard url.isHTTP, let target = url.withoutFragment.replacingQuery(nil) else { return nil }
        let usual = usualWords(of: url)
        if let usual {
            for target in [target, target.otherScheme] {
                if let target, try reader.isKnown(target.href) { return FormSearch(words: usual) }
            }
        }
        let fields = fields(of: url)
        guard let words = usual ?? (fields.count == 1 ? fields.first?.value : nil),
            let page = page.flatMap({ WebURL($0) }), try hasForm(page, to: target, reader)
        else { return nil }
        return FormSearch(words: words)
    }

    /// The parameters of the query that have a value.
    private static func fields(of url: WebURL) -> [String: String] {
        guard let query = url.query else { return [:] }
        return PortalRequest(target: "/?\(query)").fields.filter { !$0.value.isEmpty }
    }

    /// Whether a form of the page is sent with GET to the URL, which has no query.
    private static func hasForm(
        _ page: WebURL, to target: WebURL, _ reader: StoreReader
    ) throws(StoreError) -> Bool {
        guard let body = try reader.response(for: page.href)?.body, body.byteCount <= maxPageBytes else {
            return false
        }
        let links = try reader.links(of: body)
        guard let table = try? LinkTable(decoding: links.span),
            table.occurrences.contains(where: { $0.kind == .form }),
            let content = try reader.content(of: body)
        else { return false }
        let bytes = try content.load()
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: page) } ?? page
        return table.occurrences.contains { occurrence in
            guard occurrence.kind == .form else { return false }
            let reference = String(decoding: table.reference(occurrence, in: source.span), as: UTF8.self)
            // Browsers replace the query of the form's URL.
            let action = WebURL(reference, base: base)?.withoutFragment.replacingQuery(nil)
            return action == target || action?.otherScheme == target
        }
    }
}
