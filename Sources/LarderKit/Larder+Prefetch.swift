internal import Check
internal import Crawl
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

extension Larder {
    /// Stocks a site: the pages on the hosts of the URLs, and everything that they need from any host.
    ///
    /// The first URL names the site. When the task is cancelled the prefetch stops soon and reports; what it has is kept,
    /// and the next prefetch of the same site goes on with it.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when the store or the
    ///   network library fails. What a server refuses is no error; it is in the report.
    public func prefetch(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        let (first, start) = try Self.startURLs(urls)
        return try await running { (run) throws(LarderError) in
            try run.prefetch(first, start: start, options: options)
        }
    }

    /// Stocks the site that a manifest describes, and publishes the visit only when the bundles that it requires verify;
    /// until then the last good visit is served. The manifest stays with the site: whatever is fetched for it later is held
    /// against it too.
    ///
    /// - Parameters:
    ///   - manifest: a file, or an URL. One that does not say where its site starts is prefetched with its bundles alone, and
    ///     what they need.
    ///   - base: where the manifest's site is; nil for where the manifest says, or is.
    ///   - options: what the manifest does not say.
    /// - Throws: As `prefetch`; `LarderError` of kind `.input` too for what the manifest must not say.
    public func prefetch(
        manifest: String, base: String? = nil, options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        try await running { (run) throws(LarderError) in
            try run.prefetch(ManifestPlan(place: ManifestPlan.fullPlace(manifest), base: base), options: options)
        }
    }

    /// Prefetches again what is held, each site in the way in which it was prefetched last: what is unchanged costs a
    /// request and no body. The manifest of a site is asked for anew; where it cannot be had, the last known one holds.
    ///
    /// - Parameters:
    ///   - sites: by name, address or host; all of them when there are none.
    ///   - options: what of them does not say how a site is prefetched: network, limits, policy, progress.
    /// - Returns: A report for each site, in order. When the task is cancelled, those that were begun.
    /// - Throws: `LarderError` of kind `.input` when the larder holds no such site.
    public func update(
        _ sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [PrefetchReport] {
        let held = try await heldSites(sites)
        var reports: [PrefetchReport] = []
        for site in held {
            guard WebURL(site.name) != nil || !site.start.isEmpty else { continue }
            let report = try await running { (run) throws(LarderError) in try run.update(site, options: options) }
            reports.append(report)
            if report.isInterrupted { break }
        }
        return reports
    }

    /// On a thread of the run's, which is told when the task is cancelled.
    func running<Report: Sendable>(
        _ body: @escaping @Sendable (SiteRun) throws(LarderError) -> Report
    ) async throws(LarderError) -> Report {
        let interruption = Interruption()
        return try await Self.onThread("larder-crawl", onCancel: interruption.request) { () throws(LarderError) in
            try body(SiteRun(self, interruption))
        }
    }

    private func heldSites(_ names: [String]) async throws(LarderError) -> [Site] {
        try await reading("larder-sites") { (reader) throws(StoreError) in
            let sites = try reader.sites()
            guard !names.isEmpty else { return sites }
            var wanted: [Site] = []
            for name in names { wanted.append(try SiteName.site(name, in: sites)) }
            return wanted
        }
    }

    /// All of them, and the first, which names the site.
    static func startURLs(_ urls: [String]) throws(LarderError) -> (first: WebURL, all: [WebURL]) {
        var start: [WebURL] = []
        for url in urls { start.append(try startURL(url)) }
        guard let first = start.first else {
            throw LarderError(.input, "there is no URL: name one, such as https://example.com/")
        }
        return (first, start)
    }

    func plan(site: WebURL, start: [WebURL], _ options: PrefetchOptions) throws(LarderError) -> CrawlPlan {
        var plan = CrawlPlan(site: site.href, start: start, folder: folder, userAgent: Product.userAgent)
        plan.fetch = try options.network.options(for: start, spoolFolder: folder.incoming)
        plan.sitePlan = options.plan
        plan.patience = options.patience
        for sitemap in options.plan.sitemaps { plan.sitemaps.append(try Self.startURL(sitemap)) }
        plan.limits = options.limits
        plan.limits.pages = options.plan.maxPages
        plan.scanThreads = options.scanThreads
        plan.productToken = Product.token
        plan.mayReachPrivate = options.network.mayReachPrivate
        plan.rules = try CacheRules(texts: options.plan.rules)
        plan.rules.inspection = .refusingStandIns
        guard options.policy != .offline else {
            throw LarderError(
                .input, "the policy \(options.policy.rawValue) asks nothing of the network: choose another to prefetch")
        }
        plan.policy = options.policy
        if let progress = options.progress {
            let meter = Mutex(ProgressMeter(site: site.href))
            plan.progress = { figures in progress(meter.withLock { $0.measure(figures) }) }
        }
        if let willStore = options.willStore { plan.willStore = { $0.edited(by: willStore) } }
        if let fetched = options.fetched { plan.answered = { fetched(PrefetchedURL($0)) } }
        return plan
    }

    /// As a person writes it; see `WebURL.typed`.
    static func startURL(_ text: String) throws(LarderError) -> WebURL {
        do throws(URLMistake) { return try WebURL.typed(text) } catch { throw LarderError(error) }
    }
}

extension CrawlPlan.Answer {
    /// Nil for what is not to be stored.
    fileprivate func edited(by willStore: WillStore) -> CrawlPlan.Answer? {
        guard let edited = willStore(WebResponse(url.href, status, fields, bytes)) else { return nil }
        var answer = self
        answer.fields = edited.storedFields(now: HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()))
        answer.bytes = edited.body
        return answer
    }
}

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

extension CacheRules {
    /// - Throws: `LarderError` of kind `.input` that names the rule and what is wrong with it.
    init(texts: [String]) throws(LarderError) {
        var rules: [Rule] = []
        for text in texts {
            do throws(Rule.Mistake) {
                rules.append(try Rule(text))
            } catch {
                throw LarderError(
                    .input, "the rule \"\(text)\" cannot be used: \(error); write it like \"/api/** max-age=600\"")
            }
        }
        self.init(rules)
    }
}
