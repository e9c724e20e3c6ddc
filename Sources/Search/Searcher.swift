internal import Reports
package import Store
internal import Web

/// Answers questions from an index and the store that it is of. It belongs to one thread.
package final class Searcher {
    private let reader: StoreReader
    private var index: SearchIndex?
    /// `Snapshot.id` of the snapshot that the current search is about; nil for live snapshots.
    private var snapshot: Int64?
    private let cutter = WordCutter()
    /// Asked now and then; where it says false, what comes of the search is of no use to anybody.
    package var isWanted: () -> Bool = { true }

    package init(_ reader: StoreReader) { self.reader = reader }

    /// So many of the best by words alone are looked at.
    private static let pool = 120
    /// With a type or a snapshot wanted, which the index knows nothing of, so many.
    private static let widePool = 5000

    /// Nil where nothing was indexed yet.
    private func current() throws(StoreError) -> SearchIndex? {
        if let index, index.isInPlace { return index }
        index = try SearchIndex.ifAny(reader.folder)
        return index
    }

    package var isReady: Bool { get throws(StoreError) { try current() != nil } }

    package func search(_ question: SearchQuestion, _ options: SearchOptions) throws(StoreError)
        -> SearchReport
    {
        var report = SearchReport(question: question.text)
        guard let index = try current() else { return report }
        index.isWanted = isWanted
        report.texts = try index.textCount()
        report.unread = try index.unreadCount()
        let site = try options.site.map { (name) throws(StoreError) in
            try SiteName.site(name, in: reader.sites(), acceptsOrigin: true)
        }
        snapshot = try options.snapshot.map { (name) throws(StoreError) in
            try snapshot(name, of: site).id
        }
        var pool = Pool(wanted: options.offset + options.limit)
        var strictness = SearchQuestion.Strictness.all
        let knowledge = SearchQuestion.Knowledge(
            frequentWords: { word throws(StoreError) in try index.frequentWords(beginning: word) },
            isEverywhere: { phrase throws(StoreError) in try index.isEverywhere(phrase) })
        for next in SearchQuestion.Strictness.allCases
        where pool.found.count < (next == .some ? pool.wanted : 1) {
            let words = SoughtWords(question, lastBegins: next == .lastBegins, cutter)
            // What is called so may be too long a text to be among the best by its words.
            for part in [SearchIndex.Part.all, .names] {
                guard let expression = try question.expression(next, inSite: site?.name, in: part, knowledge)
                else { continue }
                if pool.found.isEmpty { strictness = next }
                let matches = try index.best(expression, in: part, atMost: most(options))
                try add(matches, to: &pool, words, isComplete: next != .some, site: site, options, index)
            }
            try pool.settle { (candidate) throws(StoreError) in
                if let known = candidate.holding { return known }
                return try holding(of: candidate.match, site: site, options, index)
            }
        }
        report.isRelaxed = strictness == .some
        report.hasMore = pool.found.count > pool.wanted
        let words = SoughtWords(question, lastBegins: strictness == .lastBegins, cutter)
        var reach = Snippet.reach
        for candidate in pool.found.dropFirst(options.offset).prefix(options.limit) where isWanted() {
            report.hits.append(try hit(candidate, words, &reach, index))
        }
        // A proposal is a word of some text, which this reader may have to hide.
        if !reader.hidesPrivate, pool.found.isEmpty || report.isRelaxed {
            report.proposals = try proposals(for: question, index) { (text) throws(StoreError) in
                try findsAny(text, site: site, options, index, knowledge)
            }
        }
        return report
    }

    /// The snapshot of the site, or of the only site.
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

    /// So many are ranked by more than their words.
    private func most(_ options: SearchOptions) -> Int {
        let most = max(Self.pool, 2 * (options.offset + options.limit))
        return options.isFiltering ? max(Self.widePool, most) : most
    }

    /// What was found by words, with what speaks for it beside those.
    private func add(
        _ matches: [TextMatch], to pool: inout Pool, _ words: SoughtWords, isComplete: Bool, site: Site?,
        _ options: SearchOptions, _ index: SearchIndex
    ) throws(StoreError) {
        let most = max(Self.pool, 2 * pool.wanted)
        var count = 0
        for match in matches where !pool.known.contains(match.id) {
            var shown: TextHolding?
            if options.isFiltering {
                shown = try holding(of: match, site: site, options, index)
                guard shown != nil else { continue }
            }
            guard let facts = try index.facts(of: match.id) else { continue }
            pool.known.insert(match.id)
            pool.open.append(
                Candidate(
                    match: match, facts: facts,
                    ranking: Ranking(match.score, facts, words, isComplete: isComplete),
                    holding: shown))
            count += 1
            if count >= most { break }
        }
    }

    private struct Candidate {
        let match: TextMatch
        let facts: TextFacts
        let ranking: Ranking
        /// Once it is known.
        var holding: TextHolding?
        var score = 0.0
    }

    /// What was found. Where a text is shown is looked up only for those that may be among the best.
    private struct Pool {
        let wanted: Int
        var known: Set<Int64> = []
        /// Nobody knows yet where they are shown.
        var open: [Candidate] = []
        /// The best first.
        private(set) var found: [Candidate] = []

        init(wanted: Int) { self.wanted = wanted }

        /// Finds out the best, and one more.
        mutating func settle(
            _ holding: (Candidate) throws(StoreError) -> TextHolding?
        ) throws(StoreError) {
            open.sort { $0.ranking.most > $1.ranking.most }
            var count = 0
            while count < open.count, found.count <= wanted || found[wanted].score < open[count].ranking.most
            {
                var candidate = open[count]
                count += 1
                // Nobody gets it any more, or it is not of the kind that is wanted.
                guard let shown = try holding(candidate) else { continue }
                candidate.holding = shown
                candidate.score = candidate.ranking.score(shown)
                let place = found.firstIndex { $0.score < candidate.score } ?? found.count
                found.insert(candidate, at: place)
            }
            open.removeFirst(count)
        }
    }

    /// Where a text is shown; nil where nobody gets it any more, or it is not of the kind that is wanted.
    private func holding(
        of match: TextMatch, site: Site?, _ options: SearchOptions, _ index: SearchIndex
    ) throws(StoreError) -> TextHolding? {
        for body in try index.bodies(of: match.id) {
            let holdings = try reader.holdings(
                ofText: body.sha256, form: body.form, site: site?.id, snapshot: snapshot, limit: 4)
            for holding in holdings where options.type?.matches(holding.type) ?? true { return holding }
        }
        return nil
    }

    private func hit(
        _ candidate: Candidate, _ words: SoughtWords, _ reach: inout Int, _ index: SearchIndex
    ) throws(StoreError) -> SearchReport.Hit {
        let id = candidate.match.id
        var snippet = Snippet(
            of: try index.body(of: id, atMost: max(reach, Snippet.leastReach)), words, reach: &reach)
        var section: DocumentText.Section?
        if let place = snippet.place {
            section = try index.sections(of: id).last { $0.start <= place }
        } else if !candidate.facts.description.isEmpty {
            snippet = Snippet(plain: candidate.facts.description)
        }
        let (facts, holding) = (candidate.facts, candidate.holding)
        return SearchReport.Hit(
            url: holding?.href ?? "", title: facts.title, heading: section?.title ?? "",
            anchor: section?.anchor ?? "", snippet: snippet, site: holding?.site ?? "",
            snapshot: holding?.snapshot ?? 0, type: holding?.type, language: facts.language,
            fetched: holding?.fetched ?? 0, score: candidate.score)
    }

    // MARK: - Typing errors

    private static let mostProposals = 3
    /// Of so many words what they may have meant is looked up: each is hundreds of others.
    private static let mostUnknown = 2

    /// A word is of letters and digits.
    private static func quoted(_ word: String) -> String { "\"\(word)\"" }

    /// The number of matches of a proposal that are looked up, to find one that is stored.
    private static let maxCheckedMatches = 20

    /// Whether a query finds a stored text.
    private func findsAny(
        _ text: String, site: Site?, _ options: SearchOptions, _ index: SearchIndex,
        _ knowledge: SearchQuestion.Knowledge
    ) throws(StoreError) -> Bool {
        guard let question = try? SearchQuestion(text) else { return false }
        for strictness in SearchQuestion.Strictness.allCases {
            for part in [SearchIndex.Part.all, .names] {
                guard
                    let expression = try question.expression(
                        strictness, inSite: site?.name, in: part, knowledge)
                else { continue }
                for match in try index.best(expression, in: part, atMost: Self.maxCheckedMatches) {
                    if try holding(of: match, site: site, options, index) != nil { return true }
                }
            }
        }
        return false
    }

    /// The question with another word in place of one that no text has. Only questions that find something.
    private func proposals(
        for question: SearchQuestion, _ index: SearchIndex,
        findsAny: (String) throws(StoreError) -> Bool
    ) throws(StoreError) -> [String] {
        var proposals: [String] = []
        var lookedUp = 0
        for term in question.counted.flatMap(\.terms) where !term.isPrefix {
            for word in term.words
            where lookedUp < Self.mostUnknown && proposals.count < Self.mostProposals && isWanted() {
                guard try index.textCount(of: Self.quoted(word)) == 0 else { continue }
                lookedUp += 1
                var known: [(word: String, count: Int)] = []
                for other in Slips.of(word) {
                    let count = try index.textCount(of: Self.quoted(other))
                    if count > 0 { known.append((other, count)) }
                }
                for other in known.sorted(by: { $0.count > $1.count }).prefix(Self.mostProposals) {
                    let proposal = question.replacing(word, with: other.word)
                    if try findsAny(proposal) { proposals.append(proposal) }
                }
            }
        }
        return Array(proposals.prefix(Self.mostProposals))
    }
}

/// Words that differ from one by a slip of the finger: a letter too many, too few, another, or two that
/// changed places.
enum Slips {
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let longestWord = 24

    static func of(_ word: String) -> [String] {
        let bytes = Array(word.utf8)
        guard (3...longestWord).contains(bytes.count), bytes.allSatisfy({ $0 < 0x80 }) else { return [] }
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
