/// How to prefetch.
public struct PrefetchOptions: Sendable {
    public var scope = PrefetchScope()
    /// Lists of pages beside those that robots.txt names.
    public var sitemaps: [String] = []
    public var limits = PrefetchLimits()
    /// What becomes of what is held of the site already. `offline` and `refresh-behind` have no meaning here.
    public var policy = Policy.revalidate
    /// What the user wants otherwise than servers say, a rule each: `https://api.example.com/** max-age=600`.
    public var rules: [String] = []
    /// Nil for `obey`; in an update, for what held the last time, as with the two below.
    public var robots: RobotsPolicy?
    /// What `nofollow` keeps from being followed; nil for `pages`, or for `ignore` where robots.txt is ignored.
    public var nofollow: NofollowPolicy?
    /// Whether pages that say `noindex` are read for their links alone: words to search engines. Nil for `ignore`.
    public var noindex: RobotsPolicy?
    public var network = NetworkOptions()
    /// Scripts' strings that may be links are tried.
    public var guesses = true
    /// The most connections that one host gets at once; nil for 16 or, in an update, for what held the last time.
    public var connectionsPerHost: Int?
    /// How long hosts are waited for that have never answered, when all else is done.
    public var patience = Duration.seconds(10)
    /// A visit with less than half of the pages that the one before has is published all the same, and so is one that has a
    /// login in place of the site.
    public var allowsShrinking = false
    /// Asked before a response with a body is stored. Redirects, robots.txt, sitemaps and what is confirmed are stored without.
    public var willStore: WillStore?
    /// Threads that scan what was fetched; at first one a core.
    public var scanThreads = Machine.coreCount
    /// Told of the figures about ten times a second, on a thread of the crawl's, which waits meanwhile.
    public var progress: (@Sendable (PrefetchProgress) -> Void)?
    /// Told of every request that ended, on the same thread.
    public var fetched: (@Sendable (PrefetchedURL) -> Void)?

    public init() {}
}

/// Which pages belong to a site. What they need is fetched from wherever it is.
public struct PrefetchScope: Sendable, Equatable {
    public enum Extent: String, Sendable, CaseIterable {
        /// The hosts of the start URLs.
        case host
        /// The folders of the start URLs.
        case path
        /// The registrable domains of the start URLs: from `www.example.co.uk`, everything at `example.co.uk`.
        case domain
    }

    public var extent = Extent.host
    /// Patterns of pages that are followed as well: `/blog/**`, `*.pdf`, `docs.example.com`, `regex:[0-9]{4}$`.
    public var include: [String] = []
    /// Patterns of what is never asked for, pages or not.
    public var exclude: [String] = []
    /// How many links away from a start URL a page may be; nil for any number.
    public var depth: Int?

    public init() {}
}

/// What a prefetch ends at, with what it has; nil for what is not limited.
public struct PrefetchLimits: Sendable, Equatable {
    /// So many pages are wanted of the site, now and by updates; a prefetch with a higher number, or none, goes on beyond.
    public var pages: Int?
    /// What one run may take over the network, and how long; the next one goes on where it ended.
    public var byteCount: Int?
    public var time: Duration?

    public init() {}
}

/// Whether pages that robots.txt forbids are fetched all the same.
public enum RobotsPolicy: String, Sendable, CaseIterable {
    case obey, ignore
}

/// What `nofollow` keeps from being followed as a page. What a page needs is never affected.
public enum NofollowPolicy: String, Sendable, CaseIterable {
    case ignore
    /// The links of pages that say it in their head or their `X-Robots-Tag`.
    case pages
    /// Single links too: `rel=nofollow`, `ugc`, `sponsored`.
    case links
}

/// How what is held and the network share the work; see `larder help policies`.
public enum Policy: String, Sendable, CaseIterable {
    case `protocol`
    case preferCache = "prefer-cache"
    case offline
    case reload
    case reloadEndToEnd = "reload-end-to-end"
    case revalidate
    case refreshBehind = "refresh-behind"
    case auto
}
