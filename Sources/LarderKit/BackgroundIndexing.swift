internal import Portal
internal import Search
internal import Store
internal import System

/// Prepares data for the pages of the portal on a thread of low priority while a server runs: counts the snapshots of new
/// sites, and adds stored pages to the search index. Prefetches index their own pages; this is for those of interrupted ones,
/// and of `--no-index`.
final class BackgroundIndexing: Sendable {
    private let interruption: Interruption
    private let thread: NamedThread?

    init(_ folder: StoreFolder) {
        let interruption = Interruption()
        self.interruption = interruption
        // Without the thread, the next search indexes the pages.
        thread = try? NamedThread.start("larder-index") {
            NamedThread.lowerPriority()
            // If this fails, the pages of the portal count the snapshots themselves.
            try? PortalCache.computeFigures(in: folder) { interruption.isRequested }
            var run = IndexRun(folder, interruption)
            run.removesObsoleteTexts = false
            _ = try? run.run()
        }
    }

    /// Returns when all pages are indexed.
    func wait() { thread?.join() }

    /// Stops soon. The next indexing continues.
    func stop() {
        interruption.request()
        thread?.join()
    }
}
