public import Check
internal import Crawl
public import Prefetch
internal import Store
internal import System
internal import Web

extension Larder {
    /// Prefetches a site together with other workers, on any machine, that use the same store in PostgreSQL. Each
    /// worker leases hosts, so that only one at a time requests from a host. The last one publishes the snapshot.
    ///
    /// The first worker begins the snapshot, and later ones join it. Limits apply to the whole snapshot. When the
    /// task is cancelled, the other workers take over its hosts.
    ///
    /// ```swift
    /// let larder = Larder(at: "postgres:///larder")
    /// for report in try await larder.runWorker(["https://example.com/"]) where report.work?.isLast == true { print(report.json) }
    /// ```
    ///
    /// - Parameters:
    ///   - urls: the start URLs; empty joins the shared snapshots, one after the other.
    ///   - options: the options of a snapshot that this worker begins; only their network and progress apply to a
    ///     snapshot that it joins.
    ///   - waitsForMore: waits for further shared snapshots, and for a PostgreSQL that does not answer, until the task is
    ///     cancelled.
    /// - Returns: A report for each snapshot that the worker took part in. The last worker's report covers the whole
    ///   snapshot.
    /// - Throws: `LarderError` of kind `.input` if a URL is not http or https, or the store is a folder; `.machine`
    ///   if PostgreSQL cannot be reached.
    public func runWorker(
        _ urls: [String] = [], options: PrefetchOptions = PrefetchOptions(), waitsForMore: Bool = false
    ) async throws(LarderError) -> [PrefetchReport] {
        guard folder.server != nil else {
            let error = StoreError(
                .request, doing: "share work on", path: folder.name, detail: "it is a folder",
                advice: "name a store in PostgreSQL, such as postgres://USER@HOST/DATABASE", remedy: .store)
            throw LarderError(error)
        }
        let browser = SharedBrowser(program: options.browser, authorityFolder: folder.path)
        var options = options.withRenderer(in: browser, authorityFolder: folder.path)
        options.isShared = true
        let (own, interruption) = (options, Interruption())
        let folder = own.watchedStore(folder, until: interruption)
        let named = urls.isEmpty ? nil : try WebURL.starts(urls)
        var reports: [PrefetchReport] = []
        var (isDone, isAway) = (false, false)
        while !isDone, !Task.isCancelled, !(reports.last?.isInterrupted ?? false) {
            let start = reports.isEmpty ? named : nil
            do throws(LarderError) {
                let report = try await Self.runOnThread("larder-crawl", onCancel: interruption.request) {
                    () throws(LarderError) in
                    defer { browser.close() }
                    return try Self.runWorkerOnce(folder, interruption, own, start)
                }
                isAway = false
                if let report { reports.append(report) }
                isDone = !waitsForMore && (report == nil || named != nil)
                if report != nil { continue }
            } catch {
                guard let away = error.unreachableStoreError else { throw error }
                guard waitsForMore || Task.isCancelled else { throw error }
                isAway = true
                folder.watch?.didFailToReach(away)
            }
            // A cancelled task does not sleep.
            if !isDone { try? await Task.sleep(for: .seconds(1)) }
        }
        if isAway, reports.isEmpty { throw .interrupted }
        return reports
    }

    /// Works on one snapshot: of the named site, else the next shared one, if there is any. The last worker adds its
    /// pages to the search index of its machine.
    private static func runWorkerOnce(
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
