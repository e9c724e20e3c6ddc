extension Frontier {
    /// The options of a crawl.
    struct Options: Sendable {
        var connectionsPerHost = 16
        /// Whether `next` ignores the limits per host and in total, because the driver has its own.
        var isUnpaced = false
        var retryPlan = RetryPlan()
        var limits = CrawlLimits()
        var obeysRobots = true
        /// The user-agent name to look for in robots.txt. Nil to request no robots.txt at all.
        var productToken: String?
        /// Origins whose robots.txt could not be fetched by a recent run.
        var failedRobotsOrigins: Set<String> = []
        /// Whether requests are sent with the user's session, so that logout links are skipped and login
        /// pages detected.
        var hasSession = false
        /// Whether links in scanned bodies are followed.
        var followsLinks = true
        /// Whether targets of links are requested. Else links are only returned for the store.
        var requestsLinks = true
        /// The cache in which scanners look up the numbers of links. The frontier adds numbers to it; it does
        /// not change any decision.
        var memory: LinkNumberCache?
        /// Whether strings in scripts that look like URLs are requested.
        var followsGuesses = true
        /// How long a host may take for its first response, counted from its first request, once everything
        /// else is done. Nil to wait until its requests end.
        var patience: Duration?
        /// Whether several workers share the snapshot, each requesting only from hosts that it has leased.
        var isShared = false
        /// The views that an earlier run recognised, with the URLs of their fetched pages (`QueryViews`).
        var views: [String: [String]] = [:]
        /// The branches of repositories whose files an earlier run fetched (`RepositoryBranches`).
        var branches: [String: [String]] = [:]
        /// The initial state of rendering: its mode, and the URL patterns known from earlier snapshots.
        var rendering = RenderScheduler()
    }
}
