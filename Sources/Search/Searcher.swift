internal import Reports
package import Store
internal import Web

/// Answers queries from the search index and the store. It belongs to one thread.
///
/// A search has three steps:
/// 1. The index (`SearchIndex`, SQLite FTS5) returns the texts that match best by their words. If no text has all words, the
///    query is relaxed (`SearchQuery.Strictness`).
/// 2. The matches are ranked by titles, names and URLs too (`Ranking`). The index does not contain the URLs of a text, and
///    looking them up is slow, so `CandidatePool` does it only for texts that can still be among the best.
/// 3. For each hit that is reported, an excerpt is cut from its text (`Snippet`).
package final class Searcher {
    private let reader: StoreReader
    private var index: SearchIndex?
    /// The id of the snapshot that the current search uses; nil for live snapshots.
    private var snapshot: Int64?
    private let cutter = WordSplitter()
    /// Polled during a search. When it returns false, the search ends early, and its result must be ignored.
    package var isWanted: () -> Bool = { true }

    package init(_ reader: StoreReader) { self.reader = reader }

    /// The minimum number of index matches that are ranked. More are ranked only if more hits are wanted.
    private static let minCandidates = 120
    /// The same if results are filtered by type or snapshot, which the index does not contain.
    private static let minFilteredCandidates = 5000

    /// Returns the index, and reopens it if its file was replaced; nil if nothing was indexed yet.
    private func currentIndex() throws(StoreError) -> SearchIndex? {
        if let index, index.isInPlace { return index }
        index = try SearchIndex.openIfExists(reader.folder)
        return index
    }

    /// The number of pages in snapshots that are complete and not in the index.
    private func newPageCount(_ index: SearchIndex) throws(StoreError) -> Int {
        var count = 0
        for snapshot in try reader.textSnapshots(site: nil) where snapshot.isFinal {
            if try !index.hasIndexed(snapshot) { count += try reader.textBodies(of: snapshot).count }
        }
        return count
    }

    /// Whether there is an index to search.
    package var isReady: Bool { get throws(StoreError) { try currentIndex() != nil } }

    /// Searches the index, strictly first, and less strictly if there are too few matches.
    package func search(_ query: SearchQuery, _ options: SearchOptions) throws(StoreError)
        -> SearchReport
    {
        var report = SearchReport(question: query.text)
        guard let index = try currentIndex() else { return report }
        index.shouldContinue = isWanted
        report.texts = try index.textCount()
        report.unread = max(try index.unreadCount(), try newPageCount(index))
        let site = try options.site.map { (name) throws(StoreError) in
            try SiteName.site(name, in: reader.sites(), acceptsOrigin: true)
        }
        snapshot = try options.snapshot.map { (name) throws(StoreError) in
            try snapshot(name, of: site).id
        }
        var pool = CandidatePool(wanted: options.offset + options.limit)
        var strictness = SearchQuery.Strictness.all
        let statistics = SearchQuery.WordStatistics(
            frequentWords: { word throws(StoreError) in try index.frequentWords(beginning: word) },
            isTooCommonToRank: { phrase throws(StoreError) in try index.isTooCommonToRank(phrase) },
            forms: { word throws(StoreError) in try index.forms(of: word) })
        var forms: [String: [String]] = [:]
        for term in query.significantClauses.flatMap(\.terms) where term.hasForms {
            forms[term.words[0]] = try index.forms(of: term.words[0])
        }
        // A less strict search follows only if nothing was found. The last one also fills up a page that has too few hits.
        for next in SearchQuery.Strictness.allCases
        where pool.found.count < (next == .some ? pool.wanted : 1) {
            let words = QueryWords(
                query, lastWordIsPrefix: next == .lastWordIsPrefix, forms: forms, cutter)
            // A long text with a matching name may not be among the best matches by its words.
            for part in [SearchIndex.Part.all, .names] {
                guard let expression = try query.expression(next, inSite: site?.name, in: part, statistics)
                else { continue }
                if pool.found.isEmpty { strictness = next }
                let matches = try index.best(expression, in: part, atMost: maxMatches(options))
                try add(matches, to: &pool, words, isComplete: next != .some, site: site, options, index)
            }
            try pool.settle { (candidate) throws(StoreError) in
                if let known = candidate.response { return known }
                return try servedResponse(of: candidate.match, site: site, options, index)
            }
        }
        report.isRelaxed = strictness == .some
        report.hasMore = pool.found.count > pool.wanted
        let words = QueryWords(
            query, lastWordIsPrefix: strictness == .lastWordIsPrefix, forms: forms, cutter)
        var completeCount = 0
        var bytesLeft = Snippet.maxSearchedBytes
        for candidate in pool.found.dropFirst(options.offset).prefix(options.limit) where isWanted() {
            let hit = try hit(candidate, words, &bytesLeft, index)
            // The same content is often stored at several URLs.
            if !report.hits.contains(where: { $0.showsSame(as: hit) }) {
                report.hits.append(hit)
                if candidate.isComplete { completeCount += 1 }
            }
        }
        if !report.isRelaxed, completeCount < report.hits.count { report.completeHitCount = completeCount }
        // A proposal is a word of some text, which may be invisible to this reader.
        if !reader.hidesPrivate, pool.found.isEmpty || report.isRelaxed {
            report.proposals = try proposals(for: query, index) { (text) throws(StoreError) in
                try findsAny(text, site: site, options, index, statistics)
            }
        }
        return report
    }

    /// Returns a snapshot of the site, or of the only stored site.
    private func snapshot(_ name: SnapshotName, of site: Site?) throws(StoreError) -> Snapshot {
        if let site { return try site.snapshot(name) }
        let sites = try reader.sites()
        guard let only = sites.first, sites.count == 1 else {
            throw StoreError(
                .request, doing: "find snapshot", path: "\(name)",
                detail: "several sites are stored, and each has snapshots of its own",
                advice: "name the site too")
        }
        return try only.snapshot(name)
    }

    /// Returns the maximum number of matches to take from the index.
    private func maxMatches(_ options: SearchOptions) -> Int {
        let maxCount = max(Self.minCandidates, 2 * (options.offset + options.limit))
        return options.isFiltering ? max(Self.minFilteredCandidates, maxCount) : maxCount
    }

    /// Adds matches that the pool does not have yet, with the facts that `Ranking` uses.
    ///
    /// - Parameter isComplete: whether the texts satisfy all conditions of the query.
    private func add(
        _ matches: [TextMatch], to pool: inout CandidatePool, _ words: QueryWords, isComplete: Bool,
        site: Site?,
        _ options: SearchOptions, _ index: SearchIndex
    ) throws(StoreError) {
        let maxCount = max(Self.minCandidates, 2 * pool.wanted)
        var count = 0
        for match in matches where !pool.known.contains(match.id) {
            var shown: ResponseWithText?
            if options.isFiltering {
                shown = try servedResponse(of: match, site: site, options, index)
                guard shown != nil else { continue }
            }
            guard let facts = try index.facts(of: match.id) else { continue }
            pool.known.insert(match.id)
            pool.open.append(
                Candidate(
                    match: match, facts: facts,
                    ranking: Ranking(match.score, facts, words, isComplete: isComplete),
                    isComplete: isComplete, response: shown))
            count += 1
            if count >= maxCount { break }
        }
    }

    /// A text that matches the query.
    private struct Candidate {
        let match: TextMatch
        let facts: TextFacts
        let ranking: Ranking
        /// Whether the text satisfies all conditions of the query.
        let isComplete: Bool
        /// The response with the text; nil until it was looked up.
        var response: ResponseWithText?
        var score = 0.0
    }

    /// The candidates of a search. Finds the best ones while looking up the stored responses of few of them.
    ///
    /// Candidates in `open` have only an upper bound of their score, and move to `found` when their response was looked up.
    /// `settle` takes them in descending order of the bound, until no other one can be among the best. Example: three hits
    /// are wanted, and the scores in `found` are 9, 8 and 7. A candidate in `open` with the bound 6 cannot be among the best,
    /// nor can those after it, so they are not looked up.
    private struct CandidatePool {
        let wanted: Int
        var known: Set<Int64> = []
        /// Candidates whose stored response was not looked up yet.
        var open: [Candidate] = []
        /// Candidates with a final score, the best first.
        private(set) var found: [Candidate] = []

        init(wanted: Int) { self.wanted = wanted }

        /// Moves candidates to `found` until it has the best ones, and one more if there is one, which shows
        /// that there are further results.
        mutating func settle(
            _ response: (Candidate) throws(StoreError) -> ResponseWithText?
        ) throws(StoreError) {
            open.sort { $0.ranking.maxScore > $1.ranking.maxScore }
            var count = 0
            while count < open.count,
                found.count <= wanted || found[wanted].score < open[count].ranking.maxScore
            {
                var candidate = open[count]
                count += 1
                // There is no response that the reader may see and that passes the filter.
                guard let shown = try response(candidate) else { continue }
                candidate.response = shown
                candidate.score = candidate.ranking.score(shown)
                let place = found.firstIndex { $0.score < candidate.score } ?? found.count
                found.insert(candidate, at: place)
            }
            open.removeFirst(count)
        }
    }

    /// The maximum number of responses with one body that are compared with the filter. Further ones cannot be hits.
    private static let maxResponsesPerBody = 4

    /// Returns a response with the text that the reader may see and that passes the filter; nil if there is
    /// none.
    private func servedResponse(
        of match: TextMatch, site: Site?, _ options: SearchOptions, _ index: SearchIndex
    ) throws(StoreError) -> ResponseWithText? {
        for body in try index.bodies(of: match.id) {
            let responses = try reader.responsesWithText(
                body.sha256, form: body.form, site: site?.id, snapshot: snapshot,
                limit: Self.maxResponsesPerBody)
            for response in responses
            where options.type?.matches(response.type) ?? true
                && response.fetched >= options.fetchedSince?.secondsSinceEpoch ?? .min
            {
                return response
            }
        }
        return nil
    }

    /// Returns a candidate as it is reported, with an excerpt and the section of the first match.
    private func hit(
        _ candidate: Candidate, _ words: QueryWords, _ bytesLeft: inout Int, _ index: SearchIndex
    ) throws(StoreError) -> SearchReport.Hit {
        let id = candidate.match.id
        var snippet = Snippet(
            of: try index.body(of: id, maxBytes: max(bytesLeft, Snippet.minLoadedBytes)), words,
            bytesLeft: &bytesLeft)
        var section: DocumentText.Section?
        if let place = snippet.place {
            section = try index.sections(of: id).last { $0.start <= place }
        } else if !candidate.facts.description.isEmpty {
            snippet = Snippet(plain: candidate.facts.description)
        }
        let (facts, response) = (candidate.facts, candidate.response)
        return SearchReport.Hit(
            url: response?.href ?? "", title: facts.title, heading: section?.title ?? "",
            anchor: section?.anchor ?? "", snippet: snippet, site: response?.site ?? "",
            snapshot: response?.snapshot ?? 0, type: response?.type, language: facts.language,
            fetched: Timestamp(secondsSinceEpoch: response?.fetched ?? 0), score: candidate.score)
    }

    // MARK: - Typing errors

    /// The maximum number of proposed queries. Further ones are left out.
    private static let maxProposals = 3
    /// The maximum number of unknown words for which similar words are looked up, since each has hundreds. The others are
    /// kept as they were typed.
    private static let maxUnknownWords = 2

    /// Returns a phrase of one word, which has only letters and digits and needs no escaping.
    private static func quoted(_ word: String) -> String { "\"\(word)\"" }

    /// The maximum number of matches of a proposal that are checked for a stored response.
    private static let maxCheckedMatches = 20

    /// Whether a query finds a text that is stored and passes the filter.
    private func findsAny(
        _ text: String, site: Site?, _ options: SearchOptions, _ index: SearchIndex,
        _ statistics: SearchQuery.WordStatistics
    ) throws(StoreError) -> Bool {
        guard let query = try? SearchQuery(text) else { return false }
        for strictness in SearchQuery.Strictness.allCases {
            for part in [SearchIndex.Part.all, .names] {
                guard
                    let expression = try query.expression(
                        strictness, inSite: site?.name, in: part, statistics)
                else { continue }
                for match in try index.best(expression, in: part, atMost: Self.maxCheckedMatches) {
                    if try servedResponse(of: match, site: site, options, index) != nil { return true }
                }
            }
        }
        return false
    }

    /// Returns queries in which a word that no text has is replaced by a similar one. Returns only queries
    /// with results.
    private func proposals(
        for query: SearchQuery, _ index: SearchIndex,
        findsAny: (String) throws(StoreError) -> Bool
    ) throws(StoreError) -> [String] {
        var proposals: [String] = []
        var lookedUp = 0
        for term in query.significantClauses.flatMap(\.terms) where !term.isPrefix {
            for word in term.words
            where lookedUp < Self.maxUnknownWords && proposals.count < Self.maxProposals && isWanted() {
                guard try index.textCount(of: Self.quoted(word)) == 0 else { continue }
                lookedUp += 1
                var known: [(word: String, count: Int)] = []
                for other in TypingErrors.of(word) {
                    let count = try index.textCount(of: Self.quoted(other))
                    if count > 0 { known.append((other, count)) }
                }
                for other in known.sorted(by: { $0.count > $1.count }).prefix(Self.maxProposals) {
                    let proposal = query.replacing(word, with: other.word)
                    if try findsAny(proposal) { proposals.append(proposal) }
                }
            }
        }
        return Array(proposals.prefix(Self.maxProposals))
    }
}

/// The words that differ from another one by a single typing error: a letter that is missing, added or wrong,
/// or two that are swapped.
enum TypingErrors {
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
    /// The maximum length of a word. Longer ones have no proposals, because the number of similar words grows with it.
    private static let maxWordBytes = 24

    /// Returns the words; none if the word is not ASCII or has fewer than 3 or more than 24 letters.
    static func of(_ word: String) -> [String] {
        let bytes = Array(word.utf8)
        guard (3...maxWordBytes).contains(bytes.count), bytes.allSatisfy({ $0 < 0x80 }) else { return [] }
        var found: Set<[UInt8]> = []
        for index in bytes.indices {
            found.insert(Array(bytes[..<index] + bytes[(index + 1)...]))
            if index + 1 < bytes.count {
                var swapped = bytes
                swapped.swapAt(index, index + 1)
                found.insert(swapped)
            }
            for letter in letters {
                var changed = bytes
                changed[index] = letter
                found.insert(changed)
            }
        }
        for index in 0...bytes.count {
            for letter in letters { found.insert(Array(bytes[..<index] + [letter] + bytes[index...])) }
        }
        found.remove(bytes)
        return found.map { String(decoding: $0, as: UTF8.self) }
    }
}
