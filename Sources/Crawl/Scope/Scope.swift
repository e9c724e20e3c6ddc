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
    func pageVerdict(on url: WebURL, depth: Int) -> ScopeVerdict {
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
    func assetVerdict(on url: WebURL) -> ScopeVerdict {
        reasonToRefuse(url).map(ScopeVerdict.skipped) ?? .followed(by: .asset)
    }

    var includesViews: Bool { options.includesViews }

    /// Whether the scope limits the depth of pages.
    var limitsDepth: Bool { options.depth != nil }

    /// The maximum number of links from a start URL to a page; nil for any number.
    package var maxDepth: Int? { options.depth }

    /// Whether a start URL is followed. Exclude patterns do not apply to URLs that the user named, only the
    /// scheme counts.
    func startVerdict(on url: WebURL) -> ScopeVerdict {
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
            switch pattern.subject(matching: url) {
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

/// The settings that decide which pages belong to a site. The assets of pages are fetched from any host.
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

extension SitePlan {
    /// Whether the scope of a site leaves out a URL that a reader requested, so that no update fetches it.
    ///
    /// - Parameters:
    ///   - start: the start URLs of the site.
    ///   - isPage: whether it was requested as a page, not as a part of one.
    package func excludes(_ url: WebURL, start: [String], isPage: Bool) -> Bool {
        guard !start.contains(url.href),
            let scope = try? Scope(start: start.compactMap { WebURL($0) }, options: self.scope)
        else { return false }
        return !scope.verdict(on: url, as: isPage ? .page(depth: 0) : .asset).isFollowed
    }
}
