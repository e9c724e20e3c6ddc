public import Check
internal import Crawl
internal import Store
internal import System
internal import Web

extension Larder {
    /// Stocks a site along with others who do: workers on any machine that the same PostgreSQL keeps a larder for. Each
    /// leases hosts, so that a host is asked by one of them at a time; the last one publishes.
    ///
    /// The first worker begins the visit, and later ones join it. Limits hold for the whole visit. When the task is
    /// cancelled, others go on with what this one had.
    ///
    /// ```swift
    /// let larder = Larder(at: "postgres:///larder")
    /// for report in try await larder.work(["https://example.com/"]) where report.work?.isLast == true { print(report.json) }
    /// ```
    ///
    /// - Parameters:
    ///   - urls: where the site starts; empty to join whatever visits are shared, one after the other.
    ///   - options: how the site is prefetched, for the visit that this begins; network and progress for those that
    ///     it joins.
    ///   - stays: waits for further visits to be shared, until the task is cancelled.
    /// - Returns: A report for each visit that it worked on; the last worker's is of all of the visit.
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, or where the larder is in a folder;
    ///   `.machine` when the PostgreSQL cannot be reached.
    public func work(
        _ urls: [String] = [], options: PrefetchOptions = PrefetchOptions(), stays: Bool = false
    ) async throws(LarderError) -> [PrefetchReport] {
        guard folder.server != nil else {
            throw LarderError(
                StoreError(
                    .request, doing: "share work on", path: folder.name, detail: "it is a folder",
                    advice: "name a larder that a PostgreSQL keeps: postgres://USER@HOST/DATABASE",
                    remedy: .larder))
        }
        var options = options.rendering(by: folder.path)
        options.isShared = true
        var reports: [PrefetchReport] = []
        if !urls.isEmpty {
            let (first, start) = try WebURL.starts(urls)
            let (folder, interruption, own) = (folder, Interruption(), options)
            reports.append(
                try await Self.onThread("larder-crawl", onCancel: interruption.request) {
                    () throws(LarderError) in
                    try Self.worked(folder, interruption, own.indexes) { (run) throws(LarderError) in
                        try run.prefetch(first, start: start, options: own)
                    }
                })
        }
        while urls.isEmpty || stays, !Task.isCancelled, !(reports.last?.isInterrupted ?? false) {
            let (folder, interruption, own) = (folder, Interruption(), options)
            let report = try await Self.onThread("larder-crawl", onCancel: interruption.request) {
                () throws(LarderError) -> PrefetchReport? in
                guard let site = try SiteRun(folder, interruption).nextShared() else {
                    return nil
                }
                return try Self.worked(folder, interruption, own.indexes) { (run) throws(LarderError) in
                    try run.update(site, options: own)
                }
            }
            if let report {
                reports.append(report)
            } else if !stays {
                break
            } else {
                // A task that was cancelled does not sleep.
                try? await Task.sleep(for: .seconds(1))
            }
        }
        return reports
    }

    /// What came is made to be found on the machine of whoever ended the visit.
    private static func worked(
        _ folder: StoreFolder, _ interruption: Interruption, _ indexes: Bool,
        _ body: (SiteRun) throws(LarderError) -> PrefetchReport
    ) throws(LarderError) -> PrefetchReport {
        var report = try body(SiteRun(folder, interruption))
        if indexes, report.work?.isLast == true { report.index(folder, interruption) }
        return report
    }
}
