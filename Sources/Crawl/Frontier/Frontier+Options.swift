extension Frontier {
    /// What a crawl does and how gently.
    struct Options: Sendable {
        var connectionsPerHost = 16
        var retryPlan = RetryPlan()
        var limits = CrawlLimits()
        var obeysRobots = true
        /// The name by which robots.txt speaks to us; nil asks for no robots.txt at all.
        var productToken: String?
        /// The user is logged in somewhere, and wants to stay so.
        var hasSession = false
        /// Strings of scripts that may be links are tried.
        var followsGuesses = true
        /// How long hosts that have never answered are waited for when all else is done; nil for as long as it takes.
        var patience: Duration?
    }
}
