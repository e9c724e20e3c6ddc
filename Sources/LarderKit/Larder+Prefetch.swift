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
    /// - Throws: `LarderError` of kind `.input` if a URL is not http or https, or if `options` prefetches a single page in
    ///   place of a stored site with many; `.machine` if the store or the network library fails. A URL that cannot be
    ///   fetched is not an error: the report lists it as missing.
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
            try await rejectReplacingSite(first.href)
            options.plan.scope.depth = 0
        }
        return try await runWithRehearsal(options) { (run, options) throws(LarderError) in
            try run.prefetch(first, start: start, options: options, by: principal)
        }
    }

    /// Throws if a stored site of this name may have more than one page: a prefetch of its start page alone would replace
    /// them all.
    private func rejectReplacingSite(_ name: String) async throws(LarderError) {
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
    /// verify; else the snapshot is rejected, and the last good one stays live.
    ///
    /// The site keeps the manifest: later prefetches and updates verify against it too.
    ///
    /// - Parameters:
    ///   - manifest: the path or URL of the manifest. If it names no start page, only its bundles and the assets that
    ///     they need are prefetched.
    ///   - base: the URL against which the manifest's URLs are resolved; nil for the base that the manifest names, else
    ///     the manifest's own URL.
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
    /// Each response is validated: if it has not changed, the server sends no body. A site's manifest is requested again;
    /// if it cannot be loaded, the stored one applies. Sites without a URL, such as imported archives, are skipped.
    ///
    /// - Parameters:
    ///   - sites: names, URLs or hosts of sites; empty for all sites.
    ///   - options: network, limits, policy and progress. The scope is that of each site.
    /// - Returns: A report for each site, in order. If the task is cancelled, only for the sites that were begun.
    /// - Throws: `LarderError` of kind `.input` if there is no such site. If sites cannot be updated, the error of the
    ///   first one, after the others have been updated; the reports are lost then. `updateEach` returns them.
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

    /// Updates stored sites like `update`, but returns the error of a site that fails instead of throwing it.
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
            // A site without a URL, such as an imported archive, has nothing to update from.
            guard WebURL(site.name) != nil || !site.start.isEmpty else { continue }
            do throws(LarderError) {
                let report = try await runWithRehearsal(options) { (run, options) throws(LarderError) in
                    try run.update(site, options: options, by: principal)
                }
                // Origins whose robots.txt could not be loaded for this site; the next sites do not wait long for them.
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

    /// Runs blocking work on a site on a thread of its own, and interrupts it when the task is cancelled. Unlike
    /// `runWithRehearsal`, it starts no browser and does not index.
    func runSite<Report: Sendable>(
        _ body: @escaping @Sendable (SiteRun) throws(LarderError) -> Report
    ) async throws(LarderError) -> Report {
        let (folder, interruption) = (folder, Interruption())
        return try await Self.runOnThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) in
            try body(SiteRun(folder, interruption))
        }
    }

    /// Runs a prefetch or update on a thread of its own, and interrupts it when the task is cancelled. Then rehearses it:
    /// opens a sample of the stored pages offline in a browser. Finally indexes the pages for the search, if the options
    /// want it.
    ///
    /// - Parameter body: the prefetch or update. It may be called again with other options, when the rehearsal shows that
    ///   pages have to be fetched differently.
    private func runWithRehearsal(
        _ options: PrefetchOptions,
        _ body: @escaping @Sendable (SiteRun, PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) async throws(LarderError) -> PrefetchReport {
        let (interruption, wantsIndex) = (Interruption(), options.indexes)
        let folder = options.watching(folder, interruption)
        return try await Self.runOnThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) -> PrefetchReport in
            let browser = SharedBrowser(
                program: options.browser, authorityFolder: self.folder.path)
            defer { browser.close() }
            var options = options.rendering(by: self.folder.path, in: browser)
            let progress = options.progress.map(CombinedProgress.init)
            if let progress { options.progress = progress.reportCrawl }
            var report = try body(SiteRun(folder, interruption), options)
            rehearse(&report, options, in: browser, interruption) { (options) throws(LarderError) in
                try body(SiteRun(folder, interruption), options)
            }
            browser.close()
            if wantsIndex { report.index(folder, interruption, progress: progress?.reportIndexing) }
            return report
        }
    }

    /// Returns the stored sites that the user named, in the same order; all sites if no names are given.
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

/// Combines the progress of a crawl and of the indexing after it, which knows only its own counts, into one sequence:
/// reports of the indexing repeat the final figures of the crawl.
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
