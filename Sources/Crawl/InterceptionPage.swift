internal import Markup
internal import Store
internal import Web

/// A login page or captive portal that was fetched in place of a whole site.
package enum InterceptionPage: Sendable, Equatable, CustomStringConvertible {
    /// The start URL redirects to, or shows, a login page: its URL.
    case login(String)
    /// This number of URLs returned the same form, as a captive portal does.
    case portal(pages: Int)

    package var description: String {
        switch self {
        case .login(let place): "the start URL shows a login page, \(place), instead of the site"
        case .portal(let pages): "\(pages) pages show the same form, as from a captive portal"
        }
    }

    /// Returns the login page or captive portal that a fully stored snapshot contains in place of the site;
    /// nil if there is none.
    ///
    /// The conditions are strict, because a site may have a login on every page, consist of a single page, or
    /// return the same document for all URLs and leave the rest to its scripts.
    static func find(
        in snapshot: Int64, start: [WebURL], hadSession: Bool = false, _ reader: StoreReader
    ) throws(StoreError) -> InterceptionPage? {
        // The start URLs are enough to decide for most sites.
        if let interception = try loginInterception(
            before: start, snapshot, hadSession: hadSession, reader)
        {
            return interception
        }
        guard let first = start.first, let found = try page(at: first, snapshot, reader) else { return nil }
        if try isShown(found, besides: snapshot, reader) { return nil }
        let bytes = try reader.content(of: found.body)?.load() ?? []
        guard LoginPageSigns.isFormWithoutScript(bytes.span) else { return nil }
        let pages = try pages(of: snapshot, reader)
        let isAlike = pages.allSatisfy { $0.body?.id == found.body.id }
        return isAlike && pages.count >= minAlikePages ? .portal(pages: pages.count) : nil
    }

    /// Returns the URL of the first start page that has a field for a password; nil if none has one.
    static func passwordPage(
        among start: [WebURL], in snapshot: Int64, _ reader: StoreReader
    ) throws(StoreError) -> String? {
        for url in start {
            guard let found = try page(at: url, snapshot, reader) else { continue }
            let bytes = try reader.content(of: found.body)?.load() ?? []
            if LoginPageSigns.hasPasswordField(bytes.span) { return found.url.href }
        }
        return nil
    }

    /// The maximum number of other pages next to a login page, such as terms, help and other languages.
    private static let fewPages = 5
    /// The minimum number of pages with the same form in a captive portal.
    private static let minAlikePages = 4

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

    /// Returns a login page if all start URLs have one in their place, and the snapshot has few other pages.
    private static func loginInterception(
        before start: [WebURL], _ snapshot: Int64, hadSession: Bool, _ reader: StoreReader
    ) throws(StoreError) -> InterceptionPage? {
        var places: [String] = []
        for url in start {
            guard let place = try loginPlace(of: url, snapshot, reader) else { return nil }
            places.append(place)
        }
        guard let place = places.first else { return nil }
        // The stored snapshot has the pages of a logged-in user, so the other pages are no substitute.
        if hadSession { return .login(place) }
        let others = try pages(of: snapshot, reader).count { !isLogin($0) }
        return others <= fewPages ? .login(place) : nil
    }

    private static func isLogin(_ page: StoredResponse) -> Bool {
        if let title = page.body?.title, LoginPageSigns.isLoginTitle(title) { return true }
        return WebURL(page.href).map { LoginPageSigns.isLoginURL($0) } ?? false
    }

    /// Whether another snapshot has the same body for the URL. The user has then accepted it already.
    private static func isShown(
        _ page: Page, besides snapshot: Int64, _ reader: StoreReader
    ) throws(StoreError) -> Bool {
        guard let shown = try reader.response(for: page.url.href), shown.snapshot != snapshot else {
            return false
        }
        return shown.body?.id == page.body.id
    }

    /// The page of a start URL, after redirects.
    private struct Page {
        let url: WebURL
        let body: StoredBody
        /// Whether a redirect changed the path or the host, other than by `www.`.
        let isElsewhere: Bool
    }

    /// Returns the HTML page at a URL, after redirects; nil if there is none.
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

    /// Returns the URL of the login page in place of a start URL; nil if there is none, or if the start URL
    /// itself names a login page.
    private static func loginPlace(
        of start: WebURL, _ snapshot: Int64, _ reader: StoreReader
    ) throws(StoreError) -> String? {
        if LoginPageSigns.isLoginURL(start) { return nil }
        guard let found = try page(at: start, snapshot, reader) else { return nil }
        let isTitled = found.body.title.map(LoginPageSigns.isLoginTitle) ?? false
        let isNamed = found.isElsewhere && LoginPageSigns.isLoginURL(found.url)
        guard isTitled || isNamed else { return nil }
        if try isShown(found, besides: snapshot, reader) { return nil }
        let bytes = try reader.content(of: found.body)?.load() ?? []
        // A login on another page may have several steps, with the password in the last one.
        let asks =
            isNamed ? LoginPageSigns.hasInputField(bytes.span) : LoginPageSigns.hasPasswordField(bytes.span)
        return asks ? found.url.href : nil
    }
}

extension WebURL {
    /// Whether the hosts are the same apart from `www.`.
    fileprivate func isSameSiteName(as other: WebURL) -> Bool {
        func bare(_ host: String) -> Substring { host.hasPrefix("www.") ? host.dropFirst(4) : host[...] }
        return bare(host) == bare(other.host)
    }
}
