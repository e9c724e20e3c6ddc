/// How to prefetch.
public struct PrefetchOptions: Sendable {
    /// Which pages, and how the site is prefetched from now on, by updates too.
    public var plan = SitePlan()
    /// What one run may take; the next one goes on where it ended.
    public var limits = CrawlLimits()
    /// What becomes of what is held of the site already. `offline` and `refresh-behind` have no meaning here.
    public var policy = CachePolicy.revalidate
    public var network = NetworkOptions()
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
