package import Web

/// What belongs to a site: which pages are followed, and what is left out.
///
/// - Pages are followed as far as the extent reaches, and where an include pattern matches. A pattern without a host
///   (`/blog/**`, `*.pdf`) includes pages on the site's own hosts only; one that names a host leads there.
/// - What a page needs is followed wherever it is and however deep: neither the extent nor the depth is asked.
/// - An exclude pattern holds for pages and for what they need: it names URLs, and whoever writes `ads.example.com`
///   wants nothing from there. What it leaves out is skipped, not missing.
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

    /// A start URL that leads elsewhere takes its site along: `example.com` that is `www.example.com`. True when that
    /// is news, by which pages that were skipped may be of the site after all.
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
    /// Whether a page so many links away from the start is followed, and why.
    package func verdict(onPage url: WebURL, depth: Int) -> ScopeVerdict {
        if let reason = reasonToRefuse(url) { return .skipped(reason) }
        guard let rule = extentRule(for: url) ?? inclusion(of: url) else { return .skipped(tooFar) }
        if let deepest = options.depth, depth > deepest { return .skipped(.tooDeep(deepest)) }
        return .followed(by: rule)
    }

    package func verdict(onRequisite url: WebURL) -> ScopeVerdict {
        reasonToRefuse(url).map(ScopeVerdict.skipped) ?? .followed(by: .requisite)
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
        case .domain: domain(of: url).map { .domain($0) } ?? (folders[url.host] == nil ? nil : .host(url.host))
        }
    }

    private func folder(holding url: WebURL) -> String? {
        guard let folders = folders[url.host] else { return nil }
        let path = url.path
        return folders.first { path.utf8.starts(with: $0.utf8) || $0.utf8.dropLast().elementsEqual(path.utf8) }
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
enum SessionEnd {
    /// Whether the last word of the path, or a word of the query, says so in one of the great languages.
    static func isAt(_ url: WebURL) -> Bool {
        let segments = url.path.utf8.split(separator: UInt8(ascii: "/"))
        if let last = segments.last {
            let name = last.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ";") }
            if isEnd(name) { return true }
        }
        guard let query = url.query else { return false }
        return query.utf8.split { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }
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
        "cerrarsesion", "cerrarsesión", "desconectar", "desconectarse", "sair", "terminarsessao", "terminarsessão",
        "esci", "disconnetti", "uitloggen", "afmelden", "wyloguj", "loggaut", "loggut", "logud", "kirjauduulos",
        "odhlasit", "odhlásit", "odhlaseni", "odhlášení", "kijelentkezes", "kijelentkezés", "cikis", "çıkış",
        "oturumukapat", "выход", "выйти", "вийти", "exitsession", "退出", "退出登录", "登出", "注销", "ログアウト",
        "로그아웃", "تسجيلالخروج", "keluar", "dangxuat", "đăngxuất",
    ]
}
