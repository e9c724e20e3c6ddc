package import Store
package import Web

/// What a crawl is to do.
package struct CrawlPlan: Sendable {
    package var site: String
    package var start: [WebURL]
    package var folder: StoreFolder
    package var userAgent: String
    package var connectionsPerHost = 16
    package var scanThreads = 2
    /// What becomes of what is held of the site already.
    package var policy = CachePolicy.revalidate
    package var rules = CacheRules()
    /// Told of the counts now and then, on the crawl's thread.
    package var progress: (@Sendable (CrawlProgress) -> Void)?

    package init(site: String, start: [WebURL], folder: StoreFolder, userAgent: String) {
        self.site = site
        self.start = start
        self.folder = folder
        self.userAgent = userAgent
    }
}

/// How far a crawl is.
package struct CrawlProgress: Sendable, Equatable {
    package var done = 0
    package var known = 0
    package var running = 0
    package var byteCount = 0
}
