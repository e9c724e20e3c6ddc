internal import Search
internal import Store
internal import System

/// Adds stored pages to the search index on a thread of low priority, while a server runs. Prefetches index their own pages;
/// this is for those of interrupted ones, and of `--no-index`.
final class BackgroundIndexing: Sendable {
    private let interruption: Interruption
    private let thread: NamedThread?

    init(_ folder: StoreFolder) {
        let interruption = Interruption()
        self.interruption = interruption
        // Without the thread, the next search indexes the pages.
        thread = try? NamedThread.start("larder-index") {
            NamedThread.lowerPriority()
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
