package import Store
public import Web

/// What belongs to a site: which pages are followed, and what is left out.
///
/// - Pages are followed as far as the extent reaches, and where an include pattern matches. A pattern without
///   a host (`/blog/**`, `*.pdf`) includes pages on the site's own hosts only; one that names a host leads
///   there.
/// - What a page needs is followed wherever it is and however deep: neither the extent nor the depth is
///   asked.
/// - An exclude pattern holds for pages and for what they need: it names URLs, and whoever writes
///   `ads.example.com` wants nothing from there. What it leaves out is skipped, not missing.
package struct Scope: Sendable {
    /// Where a page that asks for longer ones has lost its way.
    package static let longestURL = 16 * 1024

    private let options: ScopeOptions
    private let include: [URLPattern]
    private let exclude: [URLPattern]
    /// Folders of the site by host; each begins and ends with a slash.
    private var folders: [String: [String]] = [:]
    private var domains: Set<String> = []
    /// Nil where no domain is asked for: the list takes time to read.
    private let suffixes: PublicSuffixes?

    /// Every page on the hosts of the start URLs, whatever their port or scheme.
    init(start: [WebURL]) {
        options = ScopeOptions()
        include = []
        exclude = []
        suffixes = nil
        for url in start { add(url) }
    }

    /// Throws when a pattern cannot be read; the error names it.
    package init(
        start: [WebURL], options: ScopeOptions, suffixes: @autoclosure () -> PublicSuffixes = .system
    ) throws(PatternMistake) {
        self.options = options
        include = try Self.patterns(options.include)
        exclude = try Self.patterns(options.exclude)
        self.suffixes = options.extent == .domain ? suffixes() : nil
        for url in start { add(url) }
    }

    private static func patterns(_ texts: [String]) throws(PatternMistake) -> [URLPattern] {
        var patterns: [URLPattern] = []
        for text in texts { patterns.append(try URLPattern(text)) }
        return patterns
    }

    /// A start URL that leads elsewhere takes its site along: `example.com` that is `www.example.com`. True
    /// when that is news, by which pages that were skipped may be of the site after all.
    package mutating func startMoved(from: WebURL, to: WebURL) -> Bool {
        // `/docs` is the folder `/docs/` and not the whole host; only now is that known.
        if options.extent == .path, to.path == from.path + "/" {
            folders[from.host] = folders[from.host]?.filter { $0 != Self.folder(of: from) } ?? []
            folders[from.host]?.append(to.path)
        }
        return add(to)
    }

    /// True when that is news.
    @discardableResult
    private mutating func add(_ url: WebURL) -> Bool {
        var isNews = false
        if let domain = suffixes?.registrableDomain(of: url.host) { isNews = domains.insert(domain).inserted }
        let folder = options.extent == .path ? Self.folder(of: url) : "/"
        guard folders[url.host]?.contains(folder) != true else { return isNews }
        folders[url.host, default: []].append(folder)
        return true
    }

    private static func folder(of url: WebURL) -> String {
        guard let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "/" }
        return String(url.path[...slash])
    }
}

extension Scope {
    /// As what an URL is wanted.
    package enum Want: Sendable {
        case start
        case page(depth: Int)
        case asset
    }

    /// Whether an URL is followed, and why. A crawl and whoever walks what is held go by the same rules.
    package func verdict(on url: WebURL, as want: Want) -> ScopeVerdict {
        switch want {
        case .start: verdict(onStart: url)
        case .page(let depth): verdict(onPage: url, depth: depth)
        case .asset: verdict(onAsset: url)
        }
    }

    /// Whether a page so many links away from the start is followed, and why.
    package func verdict(onPage url: WebURL, depth: Int) -> ScopeVerdict {
        if let reason = reasonToRefuse(url) { return .skipped(reason) }
        guard let rule = extentRule(for: url) ?? inclusion(of: url) else { return .skipped(tooFar) }
        if let deepest = options.depth, depth > deepest { return .skipped(.tooDeep(deepest)) }
        return .followed(by: rule)
    }

    package func verdict(onAsset url: WebURL) -> ScopeVerdict {
        reasonToRefuse(url).map(ScopeVerdict.skipped) ?? .followed(by: .asset)
    }

    /// Whether it matters how many links away from the start a page is.
    var limitsDepth: Bool { options.depth != nil }

    var deepest: Int? { options.depth }

    /// A start URL is what the user asked for: only what cannot be fetched at all is refused.
    package func verdict(onStart url: WebURL) -> ScopeVerdict {
        url.isHTTP ? .followed(by: .start) : .skipped(.scheme)
    }

    /// What holds for pages and for what they need.
    private func reasonToRefuse(_ url: WebURL) -> SkipReason? {
        guard url.isHTTP else { return .scheme }
        guard url.href.utf8.count <= Self.longestURL else { return .longURL }
        return exclude.first { $0.matches(url) }.map { .excluded($0.text) }
    }

    private func extentRule(for url: WebURL) -> ScopeRule? {
        switch options.extent {
        case .host: folders[url.host] == nil ? nil : .host(url.host)
        case .path: folder(holding: url).map { .folder(url.host + $0) }
        case .domain:
            domain(of: url).map { .domain($0) } ?? (folders[url.host] == nil ? nil : .host(url.host))
        }
    }

    private func folder(holding url: WebURL) -> String? {
        guard let folders = folders[url.host] else { return nil }
        let path = url.path
        return folders.first {
            path.utf8.starts(with: $0.utf8) || $0.utf8.dropLast().elementsEqual(path.utf8)
        }
    }

    /// The site's domain that the host belongs to.
    private func domain(of url: WebURL) -> String? {
        let host = url.host
        if domains.contains(host) { return host }
        // The list is only asked about a host that may be one of ours: most links elsewhere are not.
        guard domains.contains(where: { host.hasSuffix($0) }) else { return nil }
        return suffixes?.registrableDomain(of: host).flatMap { domains.contains($0) ? $0 : nil }
    }

    private func inclusion(of url: WebURL) -> ScopeRule? {
        let pattern = include.first { pattern in
            switch pattern.reach(in: url) {
            case .host: true
            case .path: folders[url.host] != nil || domain(of: url) != nil
            case nil: false
            }
        }
        return pattern.map { .included($0.text) }
    }

    private var tooFar: SkipReason {
        switch options.extent {
        case .host: .otherHost
        case .path: .otherFolder
        case .domain: .otherDomain
        }
    }
}

/// Links that end a session: whoever follows one goes on as nobody, and hears so of every page after.
package enum SessionEnd {
    /// Whether the last word of the path, or a word of the query, says so in one of the great languages.
    package static func isAt(_ url: WebURL) -> Bool {
        let segments = url.path.utf8.split(separator: UInt8(ascii: "/"))
        if let last = segments.last {
            let name = last.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ";") }
            if isEnd(name) { return true }
        }
        guard let query = url.query else { return false }
        return query.utf8.split {
            $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":")
        }
        .contains { isEnd($0) }
    }

    private static func isEnd(_ word: some Collection<UInt8>) -> Bool {
        let bytes = Array(word.prefix(longest + 1))
        guard (3...longest).contains(bytes.count) else { return false }
        let plain = [UInt8](percentDecoding: bytes.span).filter { !separators.contains($0) }
        return words.contains(String(decoding: plain, as: UTF8.self).lowercased())
    }

    private static let longest = 64
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
    case followed(by: ScopeRule)
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
    case start
    /// An asset of a page is fetched from any host.
    case asset
    case host(String)
    /// A host and a folder on it, `example.com/docs/`.
    case folder(String)
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
    case otherDomain
    case otherFolder
    /// A page that is more than this number of links away from the start.
    case tooDeep(Int)
    /// The pattern that excludes it, as the user wrote it.
    case excluded(String)
    /// Neither http nor https.
    case scheme
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
    /// A request would end the session that the user provided.
    case sessionEnd
    /// A bound that protects the crawl from endless sites.
    case bound(CrawlBound)
    /// A text that may not be a link, if such guesses are not tried.
    case guess
    /// A live stream or an endless response: the reason.
    case endless(String)
    /// A recorded miss that the network guard blocks for its requester: the reason.
    case refused(String)
    indirect case limit(CrawlLimits.Reached)
    indirect case trap(TrapReason)

    /// Whether the URL may be reachable by a shorter path.
    var isOfDepth: Bool {
        if case .tooDeep = self { true } else { false }
    }

    /// Whether the URL was skipped because of a limit of the run.
    package var isOfLimit: Bool {
        if case .limit = self { true } else { false }
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
        }
    }

    package var name: String {
        switch self {
        case .otherHost: "on another host"
        case .otherDomain: "on another domain"
        case .otherFolder: "outside the start's folder"
        case .tooDeep(let depth): "more than \(depth) \(depth == 1 ? "link" : "links") from the start"
        case .excluded(let pattern): "excluded by \(pattern)"
        case .scheme: "not http or https"
        case .longURL: "a URL longer than \(Scope.longestURL) bytes"
        case .robots(let rule): "disallowed by robots.txt: \(rule)"
        case .robotsUnknown(let trouble): "robots.txt could not be read: \(trouble)"
        case .nofollow: "its link is marked as nofollow"
        case .noindex: "marked as noindex: read for its links, but not stored"
        case .unstored(let rule): "not stored because of the rule \"\(rule)\""
        case .nestedSitemap: "a sitemap that is nested too deeply, or one of too many"
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
