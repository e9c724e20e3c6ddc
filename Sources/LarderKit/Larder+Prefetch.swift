internal import Check
internal import Crawl
internal import Reports
internal import Store
internal import System
internal import Web

extension Larder {
    /// Stocks a site: the pages on the hosts of the URLs, and everything that they need from any host.
    ///
    /// The first URL names the site. When the task is cancelled the prefetch stops soon and reports; what it
    /// has is kept, and the next prefetch of the same site goes on with it.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when the store
    ///   or the network library fails. What a server refuses is no error; it is in the report.
    public func prefetch(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        try await prefetch(urls, options: options, by: .localUser)
    }

    /// The same for a principal that is not the user of this machine.
    func prefetch(
        _ urls: [String], options: PrefetchOptions, by principal: Principal
    ) async throws(LarderError) -> PrefetchReport {
        let (first, start) = try WebURL.starts(urls)
        let options = options.rendering(by: folder.path)
        return try await indexing(options) { (run) throws(LarderError) in
            try run.prefetch(first, start: start, options: options, by: principal)
        }
    }

    /// Stocks the site that a manifest describes, and publishes the visit only when the bundles that it
    /// requires verify; until then the last good visit is served. The manifest stays with the site: whatever
    /// is fetched for it later is held against it too.
    ///
    /// - Parameters:
    ///   - manifest: a file, or an URL. One that does not say where its site starts is prefetched with its
    ///     bundles alone, and what they need.
    ///   - base: where the manifest's site is; nil for where the manifest says, or is.
    ///   - options: what the manifest does not say.
    /// - Throws: As `prefetch`; `LarderError` of kind `.input` too for what the manifest must not say.
    public func prefetch(
        manifest: String, base: String? = nil, options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        let options = options.rendering(by: folder.path)
        return try await indexing(options) { (run) throws(LarderError) in
            try run.prefetch(
                ManifestPlan(place: ManifestPlan.fullPlace(manifest), base: base), options: options,
                by: .localUser)
        }
    }

    /// Prefetches again what is held, each site in the way in which it was prefetched last: what is unchanged
    /// costs a request and no body. The manifest of a site is asked for anew; where it cannot be had, the
    /// last known one holds.
    ///
    /// - Parameters:
    ///   - sites: by name, address or host; all of them when there are none.
    ///   - options: what of them does not say how a site is prefetched: network, limits, policy, progress.
    /// - Returns: A report for each site, in order. When the task is cancelled, those that were begun.
    /// - Throws: `LarderError` of kind `.input` when the larder holds no such site; what the first threw that could not
    ///   be updated, when all others are.
    public func update(
        _ sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [PrefetchReport] {
        try await update(sites, options: options, by: .localUser)
    }

    /// The same for a principal that is not the user of this machine.
    func update(
        _ sites: [String], options: PrefetchOptions, by principal: Principal
    ) async throws(LarderError) -> [PrefetchReport] {
        var reports: [PrefetchReport] = []
        for update in try await updates(of: sites, options: options, by: principal) {
            reports.append(try update.result.get())
        }
        return reports
    }

    /// What became of a site that was to be updated.
    public struct SiteUpdate: Sendable {
        public let site: String
        public let result: Result<PrefetchReport, LarderError>
    }

    /// The same, where a site that fails keeps no other one waiting.
    ///
    /// - Throws: `LarderError` of kind `.input` when the larder holds no such site.
    public func updates(
        of sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [SiteUpdate] {
        try await updates(of: sites, options: options, by: .localUser)
    }

    private func updates(
        of sites: [String], options: PrefetchOptions, by principal: Principal
    ) async throws(LarderError) -> [SiteUpdate] {
        let held = try await heldSites(sites)
        var options = options.rendering(by: folder.path)
        var updates: [SiteUpdate] = []
        for site in held {
            guard WebURL(site.name) != nil || !site.start.isEmpty else { continue }
            do throws(LarderError) {
                let report = try await indexing(options) { [options] (run) throws(LarderError) in
                    try run.update(site, options: options, by: principal)
                }
                options.doubted.formUnion(report.doubted)
                updates.append(SiteUpdate(site: site.name, result: .success(report)))
                if report.isInterrupted { break }
            } catch {
                updates.append(SiteUpdate(site: site.name, result: .failure(error)))
                if error.kind == .interrupted { break }
            }
        }
        return updates
    }

    /// On a thread of the run's, which is told when the task is cancelled.
    func running<Report: Sendable>(
        _ body: @escaping @Sendable (SiteRun) throws(LarderError) -> Report
    ) async throws(LarderError) -> Report {
        let (folder, interruption) = (folder, Interruption())
        return try await Self.onThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) in
            try body(SiteRun(folder, interruption))
        }
    }

    /// The same, and what came is made to be found.
    private func indexing(
        _ options: PrefetchOptions,
        _ body: @escaping @Sendable (SiteRun) throws(LarderError) -> PrefetchReport
    ) async throws(LarderError) -> PrefetchReport {
        let (interruption, isWanted) = (Interruption(), options.indexes)
        let folder = options.watching(folder, interruption)
        return try await Self.onThread("larder-crawl", onCancel: interruption.request) {
            () throws(LarderError) -> PrefetchReport in
            var report = try body(SiteRun(folder, interruption))
            if isWanted { report.index(folder, interruption) }
            return report
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
}
