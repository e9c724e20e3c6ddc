internal import Check
internal import Prefetch
public import Reports
internal import Search
internal import Store
internal import System
internal import Web

extension Larder {
    /// Searches pages for words, and returns the best matches first.
    ///
    /// Case and accents do not matter, and a page must have all words. `"phrases"`, `-not`, `title:`, `url:`,
    /// `word*`, `a OR b` and `a NEAR b` refine the search. If no page has all words, the report contains pages with
    /// some of them, and says so.
    ///
    /// ```swift
    /// for hit in try await larder.search("ordered dictionary").hits { print(hit.address, hit.title) }
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if the query has no word, or there is no such site or snapshot;
    ///   `.machine` if there is no store, or it cannot be read.
    public func search(_ words: String, options: SearchOptions = SearchOptions()) async throws(LarderError)
        -> SearchReport
    {
        let folder = folder
        return try await Self.runOnThread("larder-search") { () throws(LarderError) in
            let question: SearchQuery
            do throws(SearchQueryError) {
                question = try SearchQuery(words)
            } catch {
                throw LarderError(.input, error.description)
            }
            return try mapStoreError { () throws(StoreError) in
                let reader = try StoreReader(folder)
                do throws(StoreError) {
                    return try Searcher(reader).search(question, options)
                } catch  where !SearchIndex.isSound(folder, repair: true) {
                    // The index was damaged and has been removed; search as before the first indexing.
                    return try Searcher(reader).search(question, options)
                }
            }
        }
    }

    /// Adds stored pages to the search index that are not in it yet. A prefetch does that before it ends.
    ///
    /// When the task is cancelled, the indexing stops soon and returns its report; the next one continues it.
    ///
    /// - Parameters:
    ///   - site: nil for all sites.
    ///   - budget: the time after which the indexing ends and leaves the rest to the next one; nil for no limit.
    ///   - progress: receives the progress now and then, on a thread of the indexing.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if there is no store, or the
    ///   disk is full.
    public func index(
        _ site: String? = nil, within budget: Duration? = nil,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> IndexReport {
        let (folder, interruption) = (folder, Interruption())
        return try await Self.runOnThread("larder-index", onCancel: interruption.request) {
            () throws(LarderError) in
            var run = IndexRun(folder, interruption)
            run.site = site
            run.budget = budget
            run.progress = progress
            let wanted = run
            return try mapStoreError { () throws(StoreError) in try wanted.run() }
        }
    }
}

extension Larder {
    /// Adds the pages of the site that shows a URL to the search index.
    func index(onSiteOf href: String) async throws(LarderError) {
        let key = WebURL(href)?.key.href ?? href
        let site = try await readStore("larder-look") { (reader) throws(StoreError) in
            try reader.versions(of: key).first(where: \.isVisible)?.site
        }
        guard let site else { return }
        _ = try await index(site)
    }
}

extension PrefetchReport {
    /// Indexes the pages of the run. If it is interrupted, the next search or prefetch continues.
    mutating func index(
        _ folder: StoreFolder, _ interruption: Interruption,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) {
        guard self.isPublished, !self.isInterrupted else { return }
        var run = IndexRun(folder, interruption)
        run.site = self.site
        run.removesObsoleteTexts = false
        run.progress = progress
        do throws(StoreError) {
            indexing = try run.run()
        } catch {
            // A failed indexing does not make the prefetch fail.
            indexing = IndexReport(failure: error.description)
        }
    }
}
