internal import Check
public import Reports
internal import Search
internal import Store
internal import System
internal import Web

extension Larder {
    /// Finds pages by the words in them, the best first.
    ///
    /// Words are looked for whatever their case and accents are, and all of them have to be there;
    /// `"phrases"`, `-not`, `title:`, `url:`, `word*`, `a OR b` and `a NEAR b` say more. Where nothing has
    /// all of them, what has some is given, and the report says so.
    ///
    /// ```swift
    /// for hit in try await larder.search("ordered dictionary").hits { print(hit.address, hit.title) }
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for a question without a word, and when there is no such site
    ///   or visit; `.machine` when there is no larder, or it cannot be read. That nothing is found is no
    ///   error.
    public func search(_ words: String, options: SearchOptions = SearchOptions()) async throws(LarderError)
        -> SearchReport
    {
        let folder = folder
        return try await Self.onThread("larder-search") { () throws(LarderError) in
            let question: SearchQuestion
            do throws(QuestionMistake) {
                question = try SearchQuestion(words)
            } catch {
                throw LarderError(.input, error.description)
            }
            return try storing { () throws(StoreError) in
                let reader = try StoreReader(folder)
                if let visit = options.visit {
                    guard try reader.sites().contains(where: { $0.visits.contains { $0.id == visit } }) else {
                        throw StoreError(
                            .request, doing: "find a visit of", path: folder.path,
                            detail: "it has no visit \(visit)",
                            advice: "see which there are")
                    }
                }
                do throws(StoreError) {
                    return try Searcher(reader).search(question, options)
                } catch  where !SearchIndex.isSound(folder, repair: true) {
                    // It is made anew from what is held: as if it had not been made yet.
                    return try Searcher(reader).search(question, options)
                }
            }
        }
    }

    /// Makes what is held to be found by its words, as far as that was not done yet. A prefetch does so by
    /// itself when it ends, within its time.
    ///
    /// When the task is cancelled it stops soon and reports; the next one goes on behind it.
    ///
    /// - Parameters:
    ///   - site: nil for all of them.
    ///   - budget: it ends after so long, with the rest left for the next one.
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when there is no
    ///   larder, or the disk is full.
    public func index(
        _ site: String? = nil, within budget: Duration? = nil,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> IndexReport {
        let (folder, interruption) = (folder, Interruption())
        return try await Self.onThread("larder-index", onCancel: interruption.request) {
            () throws(LarderError) in
            var run = IndexRun(folder, interruption)
            run.site = site
            run.budget = budget
            run.progress = progress
            let wanted = run
            return try storing { () throws(StoreError) in try wanted.run() }
        }
    }
}

extension PrefetchReport {
    /// So much of a crawl's time may be spent on what came of it.
    private static let share = 0.15

    /// Makes what the run brought to be found, within a share of its time.
    mutating func index(_ folder: StoreFolder, _ interruption: Interruption) {
        guard self.isPublished, !self.isInterrupted else { return }
        var run = IndexRun(folder, interruption)
        run.site = self.site
        run.budget = self.elapsed * Self.share
        do throws(StoreError) {
            indexing = try run.run()
        } catch {
            // What was prefetched is there all the same.
            indexing = IndexReport(failure: error.description)
        }
    }
}
