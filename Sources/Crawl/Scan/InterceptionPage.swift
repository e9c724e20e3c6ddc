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
    }

    /// Returns the HTML page at a URL, after redirects; nil if there is none.
    private static func page(
        at start: WebURL, _ snapshot: Int64, _ reader: StoreReader
    ) throws(StoreError) -> Page? {
        var url = start
        for _ in 0...20 {
            guard let response = try reader.response(for: url.href, ofSnapshot: snapshot) else { return nil }
            let fields = HTTPFields(block: response.fields.utf8.span)
            let redirect = Redirect(response.status, fields, from: url)
            if redirect == nil {
                guard let body = response.body else { return nil }
                // A login page that was first sent in place of robots.txt was not scanned.
                let isUnscanned = body.format == .opaque && fields.contentType?.isHTML == true
                return body.format == .html || isUnscanned ? Page(url: url, body: body) : nil
            }
            guard let target = redirect?.url else { return nil }
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
        guard let found = try page(at: start, snapshot, reader),
            isLogin(start, shows: found.url, titled: found.body.title),
            try !isShown(found, besides: snapshot, reader)
        else { return nil }
        let bytes = try reader.content(of: found.body)?.load() ?? []
        return asksForLogin(bytes.span, at: found.url, for: start) ? found.url.href : nil
    }

    /// The login page in place of a start URL, from the HTML that was found at `url` after redirects; nil if it is another
    /// page, or if the start URL itself names a login page.
    static func login(
        from start: WebURL, at url: WebURL, titled title: String?, _ html: Span<UInt8>
    ) -> InterceptionPage? {
        guard !LoginPageSigns.isLoginURL(start), isLogin(start, shows: url, titled: title),
            asksForLogin(html, at: url, for: start)
        else { return nil }
        return .login(url.href)
    }

    /// Whether the title, or the URL that a start URL redirects to, is that of a login page.
    private static func isLogin(_ start: WebURL, shows url: WebURL, titled title: String?) -> Bool {
        title.map(LoginPageSigns.isLoginTitle) ?? false || isNamedLogin(url, for: start)
    }

    /// Whether a start URL redirects to a login URL, on another path or another host.
    private static func isNamedLogin(_ url: WebURL, for start: WebURL) -> Bool {
        (url.path != start.path || !url.isSameSiteName(as: start)) && LoginPageSigns.isLoginURL(url)
    }

    /// Whether the page has the input field of a login. A login on another page may have several steps, with the password in
    /// the last one.
    private static func asksForLogin(_ html: Span<UInt8>, at url: WebURL, for start: WebURL) -> Bool {
        isNamedLogin(url, for: start)
            ? LoginPageSigns.hasInputField(html) : LoginPageSigns.hasPasswordField(html)
    }
}

extension WebURL {
    /// Whether the hosts are the same apart from `www.`.
    fileprivate func isSameSiteName(as other: WebURL) -> Bool {
        func bare(_ host: String) -> Substring { host.hasPrefix("www.") ? host.dropFirst(4) : host[...] }
        return bare(host) == bare(other.host)
    }
}
