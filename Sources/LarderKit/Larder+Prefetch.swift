internal import Check
internal import Crawl
public import Prefetch
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

extension Larder {
    /// Prefetches a site: the pages that the scope in `options` includes, by default those on the hosts of the URLs, and
    /// the assets that these pages need from any host.
    ///
    /// When the task is cancelled, the prefetch stops soon and returns its report. The responses that it received are
    /// stored, and the next prefetch of the same site continues it.
    ///
    /// ```swift
    /// var options = PrefetchOptions()
    /// options.plan.maxPages = 500
    /// let report = try await larder.prefetch(["https://example.com/docs/"], options: options)
    /// ```
    ///
    /// - Parameters:
    ///   - urls: the start URLs. The first one is the name of the site.
    ///   - options: scope, limits, network, cache policy and progress.
    /// - Throws: `LarderError` of kind `.input` if a URL is not http or https, or if `options.followsLinks` is false but the
    ///   stored site has more than its start pages; `.machine` if the store or the network library fails. A URL that
    ///   cannot be fetched is not an error: the report lists it as missing.
    public func prefetch(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        try await prefetch(urls, options: options, by: .localUser)
    }

    /// Prefetches a site on behalf of a principal, such as a user of the web interface.
    func prefetch(
        _ urls: [String], options: PrefetchOptions, by principal: Principal
    ) async throws(LarderError) -> PrefetchReport {
        let (first, start) = try WebURL.starts(urls)
        var options = options
        if !options.followsLinks {
            try await ensureSinglePage(first.href)
            options.plan.scope.depth = 0
        }
        return try await runWithRehearsal(options) { (run, options) throws(LarderError) in
            try run.prefetch(first, start: start, options: options, by: principal)
        }
    }

    /// Throws if there is a stored site of this name that may have more pages than the start pages. A prefetch without
    /// links would replace its snapshot by one that has lost all other pages.
    private func ensureSinglePage(_ name: String) async throws(LarderError) {
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

    /// Prefetches the site that a manifest describes. Publishes the snapshot only if all bundles that the manifest requires
    /// are verified; else rejects the snapshot, and the last published one stays live.
    ///
    /// The manifest is stored with the site: later prefetches and updates verify the bundles again.
    ///
    /// - Parameters:
    ///   - manifest: the path or URL of the manifest. If it names no start page, only its bundles and the assets that
    ///     they need are prefetched.
    ///   - base: the URL against which the manifest's URLs are resolved. If nil, they are resolved against the base that the
    ///     manifest names; if it names none, against the manifest's own URL.
    ///   - options: the options of the prefetch. The manifest's settings override them, except for headers.
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

    /// Updates stored sites one after another, each with the scope and settings of its last prefetch.
    ///
    /// Each stored response is revalidated: if it has not changed, the server sends no body. A site's manifest is requested
    /// again; if it cannot be loaded, the stored one applies. Sites without a URL, such as imported archives, are skipped.
    /// Without names, those that are updated by update files are skipped too, with a notice.
    ///
    /// - Parameters:
    ///   - sites: names, URLs or hosts of sites; empty for all sites.
    ///   - options: network, limits, cache policy and progress. The scope is that of each site.
    /// - Returns: A report for each site, in order. If the task is cancelled, only for the sites that were begun.
    /// - Throws: `LarderError` of kind `.input` if there is no such site. A site that cannot be updated does not stop the
    ///   others: the first such error is thrown after all sites have been tried, and no reports are returned. Use
    ///   `updateEach` to get the reports of the other sites.
    public func update(
        _ sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [PrefetchReport] {
        try await update(sites, options: options, by: .localUser)
    }

    /// Updates sites on behalf of a principal, such as a user of the web interface.
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

    /// Updates stored sites like `update`, but returns the error of a site that fails with the other results.
    ///
    /// - Returns: A result for each site, in order. If the task is cancelled, only for the sites that were begun.
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
            if !sites.isEmpty, AppURL.app(ofSite: site.name) != nil {
                options.notice?(
                    "\(site.name) has nothing to fetch: its releases are stored by larder publish DIR")
            }
            // A site without a URL, such as an imported archive, has nothing to update from.
            guard WebURL(site.name) != nil || !site.start.isEmpty else { continue }
            if sites.isEmpty, SitePlan(text: site.settings).manifest?.isUpdateFile == true {
                options.notice?(SiteRun.updateFilesText(site.name))
                continue
            }
            do throws(LarderError) {
                let report = try await runWithRehearsal(options) { (run, options) throws(LarderError) in
                    try run.update(site, options: options, by: principal)
                }
                // The next sites do not wait long for an origin whose robots.txt could not be loaded for this one.
                options.failedRobotsOrigins.formUnion(report.failedRobotsOrigins)
                updates.append(SiteUpdate(site: site.name, result: .success(report)))
                if report.isInterrupted || report.isRehearsalInterrupted { break }
            } catch {
                updates.append(SiteUpdate(site: site.name, result: .failure(error)))
                if error.kind == .interrupted { break }
            }
        }
        return updates
    }

    /// Calls `body` on a separate thread, on which it may block, with a `SiteRun` that is interrupted when the task is
    /// cancelled. Unlike `runWithRehearsal`, starts no browser and does not index.
    func runSite<Report: Sendable>(
        _ body: @escaping @Sendable (SiteRun) throws(LarderError) -> Report
    ) async throws(LarderError) -> Report {
        let (folder, interruption) = (folder, Interruption())
        return try await Self.runOnThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) in
            try body(SiteRun(folder, interruption))
        }
    }

    /// Runs a prefetch or update on a separate thread, which is interrupted when the task is cancelled.
    ///
    /// Then rehearses it, if it rendered pages: opens a sample of them offline in a browser (see `rehearse`). Finally adds the
    /// pages to the search index, if the options say so.
    ///
    /// - Parameter body: the prefetch or update. The rehearsal calls it again, with other options, if the sample lacks
    ///   responses or pages have to be rendered.
    private func runWithRehearsal(
        _ options: PrefetchOptions,
        _ body: @escaping @Sendable (SiteRun, PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) async throws(LarderError) -> PrefetchReport {
        let (interruption, wantsIndex) = (Interruption(), options.indexes)
        let folder = options.watchedStore(folder, until: interruption)
        return try await Self.runOnThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) -> PrefetchReport in
            let stopwatch = Stopwatch()
            let browser = SharedBrowser(
                program: options.browser, authorityFolder: folder.path)
            defer { browser.close() }
            var options = options.withRenderer(in: browser, authorityFolder: folder.path)
            let progress = options.progress.map(CombinedProgress.init)
            if let progress { options.progress = progress.reportCrawl }
            var report = try body(SiteRun(folder, interruption), options)
            let endOfCrawl = stopwatch.elapsed
            rehearse(&report, options, in: browser, interruption) { (options) throws(LarderError) in
                try body(SiteRun(folder, interruption), options)
            }
            if report.rehearsal != nil { report.rehearsalElapsed = stopwatch.elapsed - endOfCrawl }
            // The indexing needs no browser.
            browser.close()
            if wantsIndex { report.index(folder, interruption, progress: progress?.reportIndexing) }
            report.elapsed = stopwatch.elapsed
            return report
        }
    }

    /// Returns the stored sites with these names, URLs or hosts, in the same order. Returns all sites if there are no names.
    private func storedSites(_ names: [String]) async throws(LarderError) -> [Site] {
        try await readStore("larder-sites") { (reader) throws(StoreError) in
            let sites = try reader.sites()
            guard !names.isEmpty else { return sites }
            var named: [Site] = []
            for name in names { named.append(try SiteName.site(name, in: sites)) }
            return named
        }
    }
}

/// Passes the progress of a crawl, and then of the indexing after it, to one receiver.
///
/// The indexing reports only its own counts, but each `PrefetchProgress` has the figures of the crawl too. So each report
/// of the indexing is sent as a copy of the crawl's last report, with the counts of the indexing.
///
/// May be used from any thread; a mutex protects its state.
private final class CombinedProgress: Sendable {
    private let receiver: @Sendable (PrefetchProgress) -> Void
    /// The last report of the crawl.
    private let lastCrawl = Mutex<PrefetchProgress?>(nil)

    init(_ receiver: @escaping @Sendable (PrefetchProgress) -> Void) {
        self.receiver = receiver
    }

    @Sendable func reportCrawl(_ progress: PrefetchProgress) {
        lastCrawl.withLock { $0 = progress }
        receiver(progress)
    }

    @Sendable func reportIndexing(_ indexing: WorkProgress) {
        guard var progress = lastCrawl.withLock({ $0 }) else { return }
        (progress.phase, progress.indexed, progress.remaining) = (.indexing, indexing.done, nil)
        receiver(progress)
    }
}
