internal import Markup
internal import Store
internal import Web

/// A login page or captive portal that was fetched in place of a whole site.
package enum SiteWall: Sendable, Equatable, CustomStringConvertible {
    /// The start URL leads to a login page: its URL.
    case login(String)
    /// This number of URLs returned the same form, as a captive portal does.
    case portal(pages: Int)

    package var description: String {
        switch self {
        case .login(let place): "the start URL leads to a login page, \(place), instead of the site"
        case .portal(let pages): "\(pages) pages show the same form, as from a captive portal"
        }
    }

    /// Looks at a snapshot all of which is stored. Nil where nothing stands in the way.
    ///
    /// It takes much to be called one: a site may have a login on every page, be a single page, or show one
    /// page at all of its addresses and leave the rest to its scripts.
    static func found(
        in snapshot: Int64, start: [WebURL], wasOfSession: Bool = false, _ reader: StoreReader
    ) throws(StoreError) -> SiteWall? {
        // Of most sites the start says enough.
        if let wall = try loginWall(before: start, snapshot, wasOfSession: wasOfSession, reader) {
            return wall
        }
        guard let first = start.first, let found = try page(at: first, snapshot, reader) else { return nil }
        if try isShown(found, besides: snapshot, reader) { return nil }
        let bytes = try reader.content(of: found.body)?.load() ?? []
        guard LoginWords.isForm(bytes.span) else { return nil }
        let pages = try pages(of: snapshot, reader)
        let isAlike = pages.allSatisfy { $0.body?.id == found.body.id }
        return isAlike && pages.count >= fewestAlike ? .portal(pages: pages.count) : nil
    }

    /// As many pages as a login leads to: terms, help, other languages.
    private static let fewPages = 5
    private static let fewestAlike = 4

    private static func pages(of snapshot: Int64, _ reader: StoreReader) throws(StoreError)
        -> [StoredResponse]
    {
        var pages: [StoredResponse] = []
        try reader.eachResponse(ofSnapshot: snapshot) { response in
            if response.role == 0, response.status < 300, response.request == .get, response.body != nil {
                pages.append(response)
            }
        }
        return pages
    }

    private static func loginWall(
        before start: [WebURL], _ snapshot: Int64, wasOfSession: Bool, _ reader: StoreReader
    ) throws(StoreError) -> SiteWall? {
        var places: [String] = []
        for url in start {
            guard let place = try loginPlace(of: url, snapshot, reader) else { return nil }
            places.append(place)
        }
        guard let place = places.first else { return nil }
        // Whatever else it leads to is not what somebody who is known had.
        if wasOfSession { return .login(place) }
        let others = try pages(of: snapshot, reader).count { !isLogin($0) }
        return others <= fewPages ? .login(place) : nil
    }

    private static func isLogin(_ page: StoredResponse) -> Bool {
        if let title = page.body?.title, LoginWords.areSaid(in: title) { return true }
        return WebURL(page.href).map { LoginWords.areSaid(by: $0) } ?? false
    }

    /// What readers see already, somebody has said to be right.
    private static func isShown(
        _ page: Page, besides snapshot: Int64, _ reader: StoreReader
    ) throws(StoreError) -> Bool {
        guard let shown = try reader.response(for: page.url.href), shown.snapshot != snapshot else {
            return false
        }
        return shown.body?.id == page.body.id
    }

    private struct Page {
        let url: WebURL
        let body: StoredBody
        /// A redirect leads there, and not only to another way of writing the address.
        let isElsewhere: Bool
    }

    /// The page of HTML that the address leads to.
    private static func page(
        at start: WebURL, _ snapshot: Int64, _ reader: StoreReader
    ) throws(StoreError) -> Page? {
        var url = start
        var isElsewhere = false
        for _ in 0...20 {
            guard let response = try reader.response(for: url.href, ofSnapshot: snapshot) else { return nil }
            let redirect = Redirect(response.status, HTTPFields(block: response.fields.utf8.span), from: url)
            if redirect == nil {
                guard let body = response.body, body.format == .html else { return nil }
                return Page(url: url, body: body, isElsewhere: isElsewhere)
            }
            guard let target = redirect?.url else { return nil }
            isElsewhere = isElsewhere || target.path != url.path || !target.isSameSiteName(as: url)
            url = target
        }
        return nil
    }

    /// Where the address leads to, when that is a login and not what was asked for.
    private static func loginPlace(
        of start: WebURL, _ snapshot: Int64, _ reader: StoreReader
    ) throws(StoreError) -> String? {
        if LoginWords.areSaid(by: start) { return nil }
        guard let found = try page(at: start, snapshot, reader) else { return nil }
        let isTitled = found.body.title.map(LoginWords.areSaid) ?? false
        let isNamed = found.isElsewhere && LoginWords.areSaid(by: found.url)
        guard isTitled || isNamed else { return nil }
        if try isShown(found, besides: snapshot, reader) { return nil }
        let bytes = try reader.content(of: found.body)?.load() ?? []
        // Who leads elsewhere to ask may do it in several steps, the password last.
        let asks = isNamed ? LoginWords.hasField(bytes.span) : LoginWords.isAsked(in: bytes.span)
        return asks ? found.url.href : nil
    }
}

extension WebURL {
    /// The same host but for `www.`.
    fileprivate func isSameSiteName(as other: WebURL) -> Bool {
        func bare(_ host: String) -> Substring { host.hasPrefix("www.") ? host.dropFirst(4) : host[...] }
        return bare(host) == bare(other.host)
    }
}
