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
    ///   - stays: waits for further visits to be shared, and for a PostgreSQL that is away, until the task is
    ///     cancelled.
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
        let (own, interruption) = (options, Interruption())
        let folder = own.watching(folder, interruption)
        let named = urls.isEmpty ? nil : try WebURL.starts(urls)
        var reports: [PrefetchReport] = []
        var (isDone, isAway) = (false, false)
        while !isDone, !Task.isCancelled, !(reports.last?.isInterrupted ?? false) {
            let start = reports.isEmpty ? named : nil
            do throws(LarderError) {
                let report = try await Self.onThread("larder-crawl", onCancel: interruption.request) {
                    () throws(LarderError) in
                    try Self.worked(folder, interruption, own, start)
                }
                isAway = false
                if let report { reports.append(report) }
                isDone = !stays && (report == nil || named != nil)
                if report != nil { continue }
            } catch {
                guard let away = error.away else { throw error }
                guard stays || Task.isCancelled else { throw error }
                isAway = true
                folder.watch?.isAway(away)
            }
            // A task that was cancelled does not sleep.
            if !isDone { try? await Task.sleep(for: .seconds(1)) }
        }
        if isAway, reports.isEmpty { throw .interrupted }
        return reports
    }

    /// One visit: of the site that is named, else the next one that is shared, if there is one. What came is made to
    /// be found on the machine of whoever ended the visit.
    private static func worked(
        _ folder: StoreFolder, _ interruption: Interruption, _ options: PrefetchOptions,
        _ named: (first: WebURL, all: [WebURL])?
    ) throws(LarderError) -> PrefetchReport? {
        let run = try SiteRun(folder, interruption)
        var report: PrefetchReport
        if let named {
            report = try run.prefetch(
                named.first, start: named.all, options: options, by: .localUser)
        } else {
            guard let site = try run.nextShared() else { return nil }
            report = try SiteRun(folder, interruption).update(
                site, options: options, by: .localUser)
        }
        if options.indexes, report.work?.isLast == true { report.index(folder, interruption) }
        return report
    }
}
