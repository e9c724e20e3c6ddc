internal import Check
internal import Crawl
public import Prefetch
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

extension Larder {
    /// Prefetches a site: the pages on the hosts of the URLs, and everything that they need from any host.
    ///
    /// The first URL names the site. When the task is cancelled, the prefetch stops soon and returns its report; the
    /// responses that it received are stored, and the next prefetch of the same site continues it.
    ///
    /// ```swift
    /// var options = PrefetchOptions()
    /// options.plan.maxPages = 500
    /// let report = try await larder.prefetch(["https://example.com/docs/"], options: options)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if a URL is not http or https, `.machine` if the store or the network
    ///   library fails. URLs that a server does not deliver are results in the report.
    public func prefetch(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        try await prefetch(urls, options: options, by: .localUser)
    }

    /// Prefetches a site for a principal that is not the user of this machine.
    func prefetch(
        _ urls: [String], options: PrefetchOptions, by principal: Principal
    ) async throws(LarderError) -> PrefetchReport {
        let (first, start) = try WebURL.starts(urls)
        var options = options
        if !options.followsLinks {
            try await throwIfSite(first.href)
            options.plan.scope.depth = 0
        }
        return try await runWithRehearsal(options) { (run, options) throws(LarderError) in
            try run.prefetch(first, start: start, options: options, by: principal)
        }
    }

    /// Throws if the name is that of a stored site that has more than one page: a prefetch of its start page alone would
    /// replace all of them.
    private func throwIfSite(_ name: String) async throws(LarderError) {
        guard folder.exists else { return }
        let site = try await readStore("larder-look") { (reader) throws(StoreError) in
            try reader.sites().first { $0.name == name }
        }
        guard let site, SitePlan(text: site.settings).scope.depth != 0 else { return }
        throw LarderError(
            .input,
            "\(name) is stored as a site with all its pages, which one page would replace; update it with: larder update \(name)"
        )
    }

    /// Prefetches the site that a manifest describes, and publishes the snapshot only if its required bundles verify;
    /// else the last good snapshot stays live. The manifest stays with the site: later prefetches and updates are
    /// verified against it too.
    ///
    /// - Parameters:
    ///   - manifest: a file or a URL. If it does not name a start page, only its bundles and the assets that they
    ///     need are prefetched.
    ///   - base: the URL of the manifest's site; nil takes it from the manifest, or uses the manifest's own URL.
    ///   - options: everything that the manifest does not define.
    /// - Throws: The same errors as `prefetch`, and `LarderError` of kind `.input` if the manifest is invalid.
    public func prefetch(
        manifest: String, base: String? = nil, options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        return try await runWithRehearsal(options) { (run, options) throws(LarderError) in
            try run.prefetch(
                ManifestPlan(place: ManifestPlan.absoluteLocation(of: manifest), base: base),
                options: options,
                by: .localUser)
        }
    }

    /// Updates stored sites, each with the options of its last prefetch. An unchanged response costs a request and no
    /// body. A site's manifest is requested again; if it cannot be loaded, its last version applies.
    ///
    /// - Parameters:
    ///   - sites: names, URLs or hosts of sites; empty for all sites.
    ///   - options: network, limits, policy and progress. The scope of each site is its own.
    /// - Returns: A report for each site, in order. When the task is cancelled, only for those that were begun.
    /// - Throws: `LarderError` of kind `.input` if there is no such site; the error of the first site that cannot be
    ///   updated, after all others are updated.
    public func update(
        _ sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [PrefetchReport] {
        try await update(sites, options: options, by: .localUser)
    }

    /// Updates sites for a principal that is not the user of this machine.
    func update(
        _ sites: [String], options: PrefetchOptions, by principal: Principal
    ) async throws(LarderError) -> [PrefetchReport] {
        var reports: [PrefetchReport] = []
        for update in try await updateEach(sites, options: options, by: principal) {
            reports.append(try update.result.get())
        }
        return reports
    }

    /// The result of updating one site.
    public struct SiteUpdate: Sendable {
        /// The name of the site.
        public let site: String
        /// The report, or the error that ended the update.
        public let result: Result<PrefetchReport, LarderError>
    }

    /// Updates stored sites like `update`, but returns the error of a site that fails instead of throwing it.
    ///
    /// - Returns: A result for each site, in order. When the task is cancelled, only for those that were begun.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site.
    public func updateEach(
        _ sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [SiteUpdate] {
        try await updateEach(sites, options: options, by: .localUser)
    }

    private func updateEach(
        _ sites: [String], options: PrefetchOptions, by principal: Principal
    ) async throws(LarderError) -> [SiteUpdate] {
        let chosenSites = try await storedSites(sites)
        var options = options
        var updates: [SiteUpdate] = []
        for site in chosenSites {
            guard WebURL(site.name) != nil || !site.start.isEmpty else { continue }
            do throws(LarderError) {
                let report = try await runWithRehearsal(options) { (run, options) throws(LarderError) in
                    try run.update(site, options: options, by: principal)
                }
                options.failedRobotsOrigins.formUnion(report.failedRobotsOrigins)
                updates.append(SiteUpdate(site: site.name, result: .success(report)))
                if report.isInterrupted { break }
            } catch {
                updates.append(SiteUpdate(site: site.name, result: .failure(error)))
                if error.kind == .interrupted { break }
            }
        }
        return updates
    }

    /// Runs a site's work on a separate thread, and interrupts it when the task is cancelled.
    func runSite<Report: Sendable>(
        _ body: @escaping @Sendable (SiteRun) throws(LarderError) -> Report
    ) async throws(LarderError) -> Report {
        let (folder, interruption) = (folder, Interruption())
        return try await Self.runOnThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) in
            try body(SiteRun(folder, interruption))
        }
    }

    /// Runs a prefetch like `running`, then opens a sample of its pages offline, and indexes them for the search.
    private func runWithRehearsal(
        _ options: PrefetchOptions,
        _ body: @escaping @Sendable (SiteRun, PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) async throws(LarderError) -> PrefetchReport {
        let (interruption, isWanted) = (Interruption(), options.indexes)
        let folder = options.watching(folder, interruption)
        return try await Self.runOnThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) -> PrefetchReport in
            let browser = SharedBrowser(
                program: options.browser, authorityFolder: self.folder.path)
            defer { browser.close() }
            var options = options.rendering(by: self.folder.path, in: browser)
            let progress = options.progress.map(IndexingProgressRelay.init)
            if let progress { options.progress = progress.reportCrawl }
            var report = try body(SiteRun(folder, interruption), options)
            rehearse(&report, options, in: browser, interruption) { (options) throws(LarderError) in
                try body(SiteRun(folder, interruption), options)
            }
            browser.close()
            if isWanted { report.index(folder, interruption, progress: progress?.reportIndexing) }
            return report
        }
    }

    /// The stored sites that the texts name, in the same order; all sites if there are no texts.
    private func storedSites(_ names: [String]) async throws(LarderError) -> [Site] {
        try await readStore("larder-sites") { (reader) throws(StoreError) in
            let sites = try reader.sites()
            guard !names.isEmpty else { return sites }
            var wanted: [Site] = []
            for name in names { wanted.append(try SiteName.site(name, in: sites)) }
            return wanted
        }
    }
}

/// Continues the progress of a crawl with that of indexing its pages, which reports only its own counts. May be called from
/// any thread.
private final class IndexingProgressRelay: Sendable {
    private let receiver: @Sendable (PrefetchProgress) -> Void
    private let last = Mutex<PrefetchProgress?>(nil)

    init(_ receiver: @escaping @Sendable (PrefetchProgress) -> Void) {
        self.receiver = receiver
    }

    @Sendable func reportCrawl(_ progress: PrefetchProgress) {
        last.withLock { $0 = progress }
        receiver(progress)
    }

    @Sendable func reportIndexing(_ indexing: WorkProgress) {
        guard var progress = last.withLock({ $0 }) else { return }
        (progress.phase, progress.indexed, progress.remaining) = (.indexing, indexing.done, nil)
        receiver(progress)
    }
}
