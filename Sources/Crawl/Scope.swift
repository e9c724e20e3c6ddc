package import Store
public import Web

/// Decides which URLs belong to a site.
///
/// - Pages are followed within the extent of the site, and where an include pattern matches. A pattern
///   without a host (`/blog/**`, `*.pdf`) includes only pages on the site's own hosts or domain; a pattern
///   with a host includes pages on that host.
/// - Assets of pages are followed on every host and at every depth. The extent does not apply to them.
/// - Exclude patterns apply to pages and assets. URLs that they exclude are skipped, and do not count as
///   missing.
///
/// For example, with the extent `path`, the start URL `https://example.com/docs/` and the include pattern `*.pdf`:
/// `https://example.com/docs/a` is followed (`ScopeRule.folder`), `https://example.com/files/b.pdf` too
/// (`ScopeRule.included`), and `https://example.com/blog/` is not (`SkipReason.otherFolder`). An image on
/// `https://cdn.example.net/` that `/docs/a` shows is an asset, and is followed.
package struct Scope: Sendable {
    /// The maximum length of a URL in bytes. Longer ones are skipped: their server is likely to build them endlessly.
    package static let maxURLBytes = 16 * 1024

    private let options: ScopeOptions
    private let include: [URLPattern]
    private let exclude: [URLPattern]
    private let allowedActions: [URLPattern]
    /// The folders of the site by host. Each begins and ends with a slash.
    private var folders: [String: [String]] = [:]
    /// The registrable domains of the start URLs; empty unless the extent is the domain.
    private var domains: Set<String> = []
    /// Nil unless the extent is the domain, because the list takes time to load.
    private let suffixes: PublicSuffixes?

    /// Creates a scope of all pages on the hosts of the start URLs, with any port or scheme.
    init(start: [WebURL]) {
        options = ScopeOptions()
        include = []
        exclude = []
        allowedActions = []
        suffixes = nil
        for url in start { add(url) }
    }

    /// Creates a scope. Throws an error that names the pattern if a pattern is invalid.
    package init(
        start: [WebURL], options: ScopeOptions, suffixes: @autoclosure () -> PublicSuffixes = .system
    ) throws(PatternMistake) {
        self.options = options
        include = try Self.patterns(options.include)
        exclude = try Self.patterns(options.exclude)
        allowedActions = try Self.patterns(options.allowedActions)
        self.suffixes = options.extent == .domain ? suffixes() : nil
        for url in start { add(url) }
    }

    private static func patterns(_ texts: [String]) throws(PatternMistake) -> [URLPattern] {
        var patterns: [URLPattern] = []
        for text in texts { patterns.append(try URLPattern(text)) }
        return patterns
    }

    /// Adds the target of a redirected start URL to the scope, such as `www.example.com` for `example.com`.
    /// Returns whether the scope has grown; if so, skipped pages may belong to the site after all.
    package mutating func addStartRedirect(from: WebURL, to: WebURL) -> Bool {
        // The redirect shows that `/docs` is the folder `/docs/`, and not a file in the root folder.
        if options.extent == .path, to.path == from.path + "/" {
            folders[from.host] = folders[from.host]?.filter { $0 != Self.folder(of: from) } ?? []
            folders[from.host]?.append(to.path)
        }
        return add(to)
    }

    /// Adds the host, folder or domain of a start URL. Returns whether the scope has grown.
    @discardableResult
    private mutating func add(_ url: WebURL) -> Bool {
        var hasNewDomain = false
        if let domain = suffixes?.registrableDomain(of: url.host) {
            hasNewDomain = domains.insert(domain).inserted
        }
        let folder = options.extent == .path ? Self.folder(of: url) : "/"
        guard folders[url.host]?.contains(folder) != true else { return hasNewDomain }
        folders[url.host, default: []].append(folder)
        return true
    }

    /// Whether a link to this URL is followed although it may change something.
    package func allowsAction(_ url: WebURL) -> Bool { allowedActions.contains { $0.matches(url) } }

    /// The path of the URL up to its last slash.
    private static func folder(of url: WebURL) -> String {
        guard let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "/" }
        return String(url.path[...slash])
    }
}

extension Scope {
    /// The role in which a URL is requested.
    package enum URLRole: Sendable {
        case start
        case page(depth: Int)
        case asset
    }

    /// Whether a URL is followed, and the rule that decides. The crawl and commands that examine the store
    /// use the same rules.
    package func verdict(on url: WebURL, as role: URLRole) -> ScopeVerdict {
        switch role {
        case .start: startVerdict(on: url)
        case .page(let depth): pageVerdict(on: url, depth: depth)
        case .asset: assetVerdict(on: url)
        }
    }

    /// Whether a page is followed that is `depth` links away from a start URL, and the rule that decides.
    package func pageVerdict(on url: WebURL, depth: Int) -> ScopeVerdict {
        if let reason = reasonToRefuse(url) { return .skipped(reason) }
        guard let rule = extentRule(for: url) ?? includeRule(for: url) else {
            return .skipped(reasonOutsideExtent)
        }
        if let maxDepth = options.depth, depth > maxDepth { return .skipped(.tooDeep(maxDepth)) }
        if let side = SidePage(url), leavesOut(side, at: url) { return .skipped(.sidePage(side)) }
        return .followed(by: rule)
    }

    /// Whether a page that is recognised as a side page is left out: the user did not ask for such pages, nor for this
    /// one by a pattern.
    func leavesOut(_ side: SidePage, at url: WebURL) -> Bool {
        switch side {
        case .history: if options.includesHistory { return false }
        case .form: if options.includesForms { return false }
        }
        return !include.contains { $0.matches(url) }
    }

    /// Whether a page is left out if it only shows stored content in another way.
    func leavesOutViews(at url: WebURL) -> Bool {
        !options.includesViews && !include.contains { $0.matches(url) }
    }

    /// Whether an asset is followed. Neither the extent nor the depth matters: a page is shown only with its assets.
    package func assetVerdict(on url: WebURL) -> ScopeVerdict {
        reasonToRefuse(url).map(ScopeVerdict.skipped) ?? .followed(by: .asset)
    }

    var includesViews: Bool { options.includesViews }

    /// Whether the scope limits the depth of pages.
    var limitsDepth: Bool { options.depth != nil }

    /// The maximum number of links from a start URL to a page; nil for any number.
    var maxDepth: Int? { options.depth }

    /// Whether a start URL is followed. Exclude patterns do not apply to URLs that the user named, only the
    /// scheme counts.
    package func startVerdict(on url: WebURL) -> ScopeVerdict {
        url.isHTTP ? .followed(by: .start) : .skipped(.scheme)
    }

    /// The reasons to skip a URL that apply to pages and assets.
    private func reasonToRefuse(_ url: WebURL) -> SkipReason? {
        guard url.isHTTP else { return .scheme }
        guard url.href.utf8.count <= Self.maxURLBytes else { return .longURL }
        return exclude.first { $0.matches(url) }.map { .excluded($0.text) }
    }

    /// The rule by which the extent includes the URL; nil if it does not.
    private func extentRule(for url: WebURL) -> ScopeRule? {
        switch options.extent {
        case .host: folders[url.host] == nil ? nil : .host(url.host)
        case .path: folder(containing: url).map { .folder(url.host + $0) }
        case .domain:
            domain(of: url).map { .domain($0) } ?? (folders[url.host] == nil ? nil : .host(url.host))
        }
    }

    /// The folder of the site that contains the URL. The URL of the folder without its slash (`/docs`) belongs to it.
    private func folder(containing url: WebURL) -> String? {
        guard let folders = folders[url.host] else { return nil }
        let path = url.path
        return folders.first {
            path.utf8.starts(with: $0.utf8) || $0.utf8.dropLast().elementsEqual(path.utf8)
        }
    }

    /// The domain of the site to which the host belongs.
    private func domain(of url: WebURL) -> String? {
        let host = url.host
        if domains.contains(host) { return host }
        // Most links to other hosts are not on one of the domains, and the lookup in the list is slow.
        guard domains.contains(where: { host.hasSuffix($0) }) else { return nil }
        return suffixes?.registrableDomain(of: host).flatMap { domains.contains($0) ? $0 : nil }
    }

    /// The include pattern that applies to the URL; nil if none does.
    private func includeRule(for url: WebURL) -> ScopeRule? {
        let pattern = include.first { pattern in
            switch pattern.reach(in: url) {
            case .host: true
            case .path: folders[url.host] != nil || domain(of: url) != nil
            case nil: false
            }
        }
        return pattern.map { .included($0.text) }
    }

    /// The reason to skip a page to which neither the extent nor an include pattern applies.
    private var reasonOutsideExtent: SkipReason {
        switch options.extent {
        case .host: .otherHost
        case .path: .otherFolder
        case .domain: .otherDomain
        }
    }
}

/// Recognises links that end a session. A crawl that requests one continues without the session of the user, and
/// stores the public pages in place of those of the user.
package enum LogoutLinks {
    /// Whether the last part of the path, or a word of the query, means "log out" in one of the major
    /// languages.
    package static func contain(_ url: WebURL) -> Bool {
        let segments = url.path.utf8.split(separator: UInt8(ascii: "/"))
        if let last = segments.last {
            let name = last.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ";") }
            if isLogoutWord(name) { return true }
        }
        guard let query = url.query else { return false }
        return query.utf8.split {
            $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":")
        }
        .contains { isLogoutWord($0) }
    }

    private static func isLogoutWord(_ word: some Collection<UInt8>) -> Bool {
        let bytes = Array(word.prefix(maxWordBytes + 1))
        guard (3...maxWordBytes).contains(bytes.count) else { return false }
        let plain = [UInt8](percentDecoding: bytes.span).filter { !separators.contains($0) }
        return words.contains(String(decoding: plain, as: UTF8.self).lowercased())
    }

    /// The maximum length of a word, including its percent escapes. Longer ones cannot be one of `words`.
    private static let maxWordBytes = 64
    /// Characters that are ignored within a word, so that `log-out` and `log_out` match.
    private static let separators = "-_+ ".utf8

    private static let words: Set<String> = [
        "logout", "logoff", "logmeout", "signout", "signoff", "userlogout", "endsession", "disconnect",
        "abmelden", "ausloggen", "deconnexion", "déconnexion", "deconnecter", "déconnecter", "sedeconnecter",
        "cerrarsesion", "cerrarsesión", "desconectar", "desconectarse", "sair", "terminarsessao",
        "terminarsessão",
        "esci", "disconnetti", "uitloggen", "afmelden", "wyloguj", "loggaut", "loggut", "logud",
        "kirjauduulos",
        "odhlasit", "odhlásit", "odhlaseni", "odhlášení", "kijelentkezes", "kijelentkezés", "cikis", "çıkış",
        "oturumukapat", "выход", "выйти", "вийти", "exitsession", "退出", "退出登录", "登出", "注销", "ログアウト",
        "로그아웃", "تسجيلالخروج", "keluar", "dangxuat", "đăngxuất",
    ]
}

/// Which pages belong to a site. The assets of pages are fetched from any host.
public struct ScopeOptions: Sendable, Equatable {
    /// The hosts, folders or domains whose pages are followed.
    public var extent = SiteExtent.host
    /// Patterns of further pages to follow: `/blog/**`, `*.pdf`, `docs.example.com`, `regex:[0-9]{4}$`.
    public var include: [String] = []
    /// Patterns of URLs that are never requested, neither as pages nor as assets. They take precedence over
    /// everything else.
    public var exclude: [String] = []
    /// The maximum number of links from a start URL to a page; nil for any number. The start URL has depth 0.
    public var depth: Int?
    /// Whether histories, old versions and comparisons of pages are included.
    public var includesHistory = false
    /// Whether pages for editing, logging in and registering are included.
    public var includesForms = false
    /// Whether pages are included that only show stored content in another way, such as in another order.
    public var includesViews = false
    /// Patterns of links that may change something, such as `/items/*/copy`, and are requested with the user's login
    /// all the same. All others are left out.
    public var allowedActions: [String] = []

    /// Creates a scope; by default, all pages on the hosts of the start URLs.
    public init(
        extent: SiteExtent = .host, include: [String] = [], exclude: [String] = [], depth: Int? = nil
    ) {
        self.extent = extent
        self.include = include
        self.exclude = exclude
        self.depth = depth
    }
}

/// The decision whether a URL is fetched, with the rule that decided.
package enum ScopeVerdict: Sendable, Hashable, CustomStringConvertible {
    /// The URL is fetched, by this rule.
    case followed(by: ScopeRule)
    /// The URL is not fetched, for this reason.
    case skipped(SkipReason)

    package var isFollowed: Bool {
        switch self {
        case .followed: true
        case .skipped: false
        }
    }

    package var description: String {
        switch self {
        case .followed(let rule): "followed: \(rule)"
        case .skipped(let reason): "skipped: \(reason.name)"
        }
    }
}

/// The rule by which a URL is fetched.
package enum ScopeRule: Sendable, Hashable, CustomStringConvertible {
    /// A start URL is always fetched.
    case start
    /// An asset of a page is fetched from any host.
    case asset
    /// A host of a start URL.
    case host(String)
    /// A host and a folder on it, `example.com/docs/`.
    case folder(String)
    /// A registrable domain (public suffix and one label) of a start URL.
    case domain(String)
    /// The pattern that includes it, as the user wrote it.
    case included(String)

    package var description: String {
        switch self {
        case .start: "a start URL"
        case .asset: "needed by a page"
        case .host(let host): "on \(host)"
        case .folder(let folder): "under \(folder)"
        case .domain(let domain): "on the domain \(domain)"
        case .included(let pattern): "included by \(pattern)"
        }
    }
}

/// The reason why a linked URL was skipped.
package enum SkipReason: Sendable, Hashable {
    /// A page on a host outside the scope.
    case otherHost
    /// A page on a domain outside the scope.
    case otherDomain
    /// A page outside the folders of the start URLs.
    case otherFolder
    /// A page that is more than this number of links away from the start.
    case tooDeep(Int)
    /// The pattern that excludes it, as the user wrote it.
    case excluded(String)
    /// A URL whose scheme is neither http nor https.
    case scheme
    /// A URL longer than `Scope.maxURLBytes`.
    case longURL
    /// Disallowed by robots.txt: the rule with its line number.
    case robots(String)
    /// robots.txt could not be read: the reason.
    case robotsUnknown(String)
    /// The link, or the page that contains it, is marked as nofollow.
    case nofollow
    /// A page marked as noindex, which was read only for its links.
    case noindex
    /// A rule of the user, given here, forbids storing it.
    case unstored(String)
    /// A sitemap that is nested more deeply than the standard allows, or beyond the limit.
    case nestedSitemap
    /// A link that logs the user out (`LogoutLinks`). A request would end the session that the user provided.
    case sessionEnd
    /// A request with the user's session may change something.
    case action
    /// A history or a form, beside the content of the site.
    case sidePage(SidePage)
    /// A page that only shows stored content in another way (`QueryViews`).
    case view
    /// A bound that protects the crawl from endless sites.
    case bound(CrawlBound)
    /// A text that may not be a link, if such guesses are not tried.
    case guess
    /// A live stream or an endless response: the reason.
    case endless(String)
    /// A recorded miss that the network guard blocks for its requester: the reason.
    case refused(String)
    /// A limit of the run was reached before.
    indirect case limit(CrawlLimits.Reached)
    /// The pages of its pattern are a trap (`Traps`).
    indirect case trap(TrapReason)

    /// Whether the URL may be reachable by a shorter path.
    var isOfDepth: Bool {
        if case .tooDeep = self { true } else { false }
    }

    /// Whether the URL was skipped because of a limit of the run.
    package var isOfLimit: Bool {
        if case .limit = self { true } else { false }
    }

    /// Whether the page is left out because it is not content, whatever the limits of the run.
    var isNoContent: Bool {
        switch self {
        case .action, .sidePage, .view: true
        default: false
        }
    }

    /// Whether the crawl obeyed a directive of the site.
    package var isOfSite: Bool {
        switch self {
        case .robots, .robotsUnknown, .nofollow: true
        default: false
        }
    }

    /// The option that would make the crawl fetch the URL, if there is one.
    package var remedy: Remedy? {
        switch self {
        case .tooDeep: .depth
        case .nofollow: .nofollow
        case .limit(let reached): reached.remedy
        case .otherHost, .otherDomain, .otherFolder, .excluded, .scheme, .longURL, .robots, .robotsUnknown,
            .noindex,
            .unstored, .nestedSitemap, .sessionEnd, .bound, .guess, .endless, .refused, .trap:
            nil
        case .action: .allowActions
        case .sidePage(.history): .includeHistory
        case .sidePage(.form): .includeForms
        case .view: .includeViews
        }
    }

    /// The reason in words, for reports.
    package var name: String {
        switch self {
        case .otherHost: "on another host"
        case .otherDomain: "on another domain"
        case .otherFolder: "outside the start's folder"
        case .tooDeep(0): "a link of the one page that was asked for"
        case .tooDeep(let depth): "more than \(depth) \(depth == 1 ? "link" : "links") from the start"
        case .excluded(let pattern): "excluded by \(pattern)"
        case .scheme: "not http or https"
        case .longURL: "a URL longer than \(Scope.maxURLBytes) bytes"
        case .robots(let rule): "disallowed by robots.txt: \(rule)"
        case .robotsUnknown(let trouble): "robots.txt could not be read: \(trouble)"
        case .nofollow: "its link is marked as nofollow"
        case .noindex: "marked as noindex: read for its links, but not stored"
        case .unstored(let rule): "not stored because of the rule \"\(rule)\""
        case .nestedSitemap: "a sitemap that is nested too deeply, or one of too many"
        case .sidePage(.history): "a history, an old version, a comparison or another format of a page"
        case .sidePage(.form): "a form, such as to edit, log in or register"
        case .view: "stored content, only sorted, filtered or in another format"
        case .action: "it may change something with your login"
        case .sessionEnd: "it would end the session; name it as a start URL to fetch it anyway"
        case .bound(let bound): bound.description
        case .guess: "possibly not a link"
        case .endless(let reason): reason
        case .refused(let refusal): refusal
        case .limit(let reached): reached.description
        case .trap(let reason): reason.description
        }
    }
}
