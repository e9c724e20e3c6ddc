internal import Markup
internal import Store
internal import Web

/// What stands in the way of a whole site, so that what came is not the site.
package enum SiteWall: Sendable, Equatable, CustomStringConvertible {
    /// Whoever asks for the start gets to a login: where that is.
    case login(String)
    /// So many addresses answered with one form to be sent, as the portal of a network does.
    case portal(pages: Int)

    package var description: String {
        switch self {
        case .login(let place): "the start leads to a login, \(place), and not to the site"
        case .portal(let pages): "\(pages) pages are one and the same form, as from the portal of a network"
        }
    }

    /// Looks at a visit all of which is stored. Nil where nothing stands in the way.
    ///
    /// It takes much to be called one: a site may have a login on every page, be a single page, or show one
    /// page at all of its addresses and leave the rest to its scripts.
    static func found(
        in visit: Int64, start: [WebURL], wasOfSession: Bool = false, _ reader: StoreReader
    ) throws(StoreError) -> SiteWall? {
        // Of most sites the start says enough.
        if let wall = try loginWall(before: start, visit, wasOfSession: wasOfSession, reader) { return wall }
        guard let first = start.first, let found = try page(at: first, visit, reader) else { return nil }
        if try isShown(found, besides: visit, reader) { return nil }
        let bytes = try reader.content(of: found.body)?.load() ?? []
        guard LoginWords.isForm(bytes.span) else { return nil }
        let pages = try pages(of: visit, reader)
        let isAlike = pages.allSatisfy { $0.body?.id == found.body.id }
        return isAlike && pages.count >= fewestAlike ? .portal(pages: pages.count) : nil
    }

    /// As many pages as a login leads to: terms, help, other languages.
    private static let fewPages = 5
    private static let fewestAlike = 4

    private static func pages(of visit: Int64, _ reader: StoreReader) throws(StoreError) -> [StoredResponse] {
        var pages: [StoredResponse] = []
        try reader.eachResponse(ofVisit: visit) { response in
            if response.role == 0, response.status < 300, response.request == .get, response.body != nil {
                pages.append(response)
            }
        }
        return pages
    }

    private static func loginWall(
        before start: [WebURL], _ visit: Int64, wasOfSession: Bool, _ reader: StoreReader
    ) throws(StoreError) -> SiteWall? {
        var places: [String] = []
        for url in start {
            guard let place = try loginPlace(of: url, visit, reader) else { return nil }
            places.append(place)
        }
        guard let place = places.first else { return nil }
        // Whatever else it leads to is not what somebody who is known had.
        if wasOfSession { return .login(place) }
        let others = try pages(of: visit, reader).count { !isLogin($0) }
        return others <= fewPages ? .login(place) : nil
    }

    private static func isLogin(_ page: StoredResponse) -> Bool {
        if let title = page.body?.title, LoginWords.areSaid(in: title) { return true }
        return WebURL(page.href).map { LoginWords.areSaid(by: $0) } ?? false
    }

    /// What readers see already, somebody has said to be right.
    private static func isShown(
        _ page: Page, besides visit: Int64, _ reader: StoreReader
    ) throws(StoreError) -> Bool {
        guard let shown = try reader.response(for: page.url.href), shown.visit != visit else { return false }
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
        at start: WebURL, _ visit: Int64, _ reader: StoreReader
    ) throws(StoreError) -> Page? {
        var url = start
        var isElsewhere = false
        for _ in 0...20 {
            guard let response = try reader.response(for: url.href, ofVisit: visit) else { return nil }
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
        of start: WebURL, _ visit: Int64, _ reader: StoreReader
    ) throws(StoreError) -> String? {
        if LoginWords.areSaid(by: start) { return nil }
        guard let found = try page(at: start, visit, reader) else { return nil }
        let isTitled = found.body.title.map(LoginWords.areSaid) ?? false
        let isNamed = found.isElsewhere && LoginWords.areSaid(by: found.url)
        guard isTitled || isNamed else { return nil }
        if try isShown(found, besides: visit, reader) { return nil }
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

/// Words by which pages and addresses say that they ask who is there.
enum LoginWords {
    private static let phrases = [
        "log in", "login", "log-in", "logon", "sign in", "signin", "sign-in", "sign on", "authentication",
        "anmelden", "anmeldung", "einloggen", "connexion", "se connecter", "identification", "iniciar sesión",
        "inicio de sesión", "accedi", "accesso", "iniciar sessão", "inloggen", "logga in", "log ind",
        "kirjaudu",
        "zaloguj", "přihlášení", "вход", "войти", "giriş yap", "登录", "登入", "ログイン", "로그인",
    ].map { Array($0.utf8) }

    /// Parts of a path, without an ending, or the first part of a host's name.
    private static let names: Set<String> = [
        "login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "sign-on", "auth",
        "authenticate",
        "authorize", "authentication", "sso", "saml", "saml2", "oauth", "oauth2", "oidc", "cas", "idp",
        "wp-login",
        "user_session", "users_sign_in",
    ]

    private static let longestTitle = 512

    static func areSaid(in title: String) -> Bool {
        let bytes = title.utf8.prefix(longestTitle).map(\.lowercasedASCII)
        return phrases.contains { isFound($0, in: bytes) }
    }

    static func areSaid(by url: WebURL) -> Bool {
        let parts = url.path.utf8.split(separator: UInt8(ascii: "/")).map { part in
            HTTPGrammar.lowercased(part.prefix { $0 != UInt8(ascii: ".") })
        }
        let label = HTTPGrammar.lowercased(url.host.utf8.prefix { $0 != UInt8(ascii: ".") })
        return names.contains(label) || parts.contains { names.contains($0) }
    }

    /// Whether there is a field for a password in the page.
    static func isAsked(in page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("input", in: page) { tag in isFound(Array("password".utf8), in: tag) }
        }
    }

    /// Whether there is a field for anything.
    static func hasField(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in hasTag("input", in: page) { _ in true } }
    }

    /// Whether the page is nothing but a form to be sent: it has one, and no script.
    static func isForm(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("form", in: page) { tag in isFound(Array("post".utf8), in: tag) }
                && !hasTag("script", in: page) { _ in true }
        }
    }

    /// Whether a form of the page is sent to where logins are.
    static func areSentTo(by page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("form", in: page) { tag in forms.contains { isFound($0, in: tag) } }
        }
    }

    private static let forms = [
        "login", "log-in", "logon", "signin", "sign-in", "sign_in", "session", "auth",
    ]
    .map { Array($0.utf8) }

    /// Whether it is so of some tag; the tag's bytes are given in lower case, without its name.
    private static func hasTag(
        _ name: String, in page: UnsafeBufferPointer<UInt8>, isSo: ([UInt8]) -> Bool
    ) -> Bool {
        let name = Array(name.utf8)
        var rest = page[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            guard rest.count > name.count,
                zip(rest, name).allSatisfy({ $0.lowercasedASCII == $1 }),
                !rest[rest.startIndex + name.count].isASCIIAlphanumeric
            else { continue }
            let tag = rest.dropFirst(name.count).prefix(longestTag).prefix { $0 != UInt8(ascii: ">") }
            if isSo(tag.map(\.lowercasedASCII)) { return true }
        }
        return false
    }

    private static let longestTag = 2048

    private static func isFound(_ phrase: [UInt8], in bytes: [UInt8]) -> Bool {
        guard bytes.count >= phrase.count else { return false }
        return (0...bytes.count - phrase.count).contains { bytes[$0...].starts(with: phrase) }
    }
}
