package import Database
internal import Glibc

/// A text that matches a query.
package struct TextMatch: Sendable, Equatable {
    package let id: Int64
    /// The BM25 score, increased by the quality of the text. Higher is better.
    package let score: Double
}

/// A query in the syntax of FTS5.
package struct TextExpression: Sendable, Equatable {
    /// A phrase of the query.
    package struct Phrase: Sendable, Equatable {
        /// The phrase as a query of its own.
        package let text: String
        /// Whether the phrase only restricts the matches, as an exclusion or a site does, and does not count
        /// for the score.
        package let isFilter: Bool

        package init(_ text: String, isFilter: Bool = false) {
            (self.text, self.isFilter) = (text, isFilter)
        }
    }

    package let text: String
    /// All quoted phrases of `text` in the order in which they occur. FTS5 numbers them in this order, and
    /// `TextScorer` refers to them by that number.
    package let phrases: [Phrase]

    package init(_ text: String, _ phrases: [Phrase]) {
        (self.text, self.phrases) = (text, phrases)
    }
}

/// A cache of statistics of an index: the lengths of its texts, the number of texts that contain a word, and the forms of words.
struct IndexStatistics {
    /// The `data_version` of the connection when the statistics were read.
    var version: Int64 = -1
    var lengths = TextLengths()
    var textCounts: [String: Int] = [:]
    /// Inflected forms by the word.
    var forms: [String: [String]] = [:]

    /// The maximum number of words in the cache. It is emptied when it is full.
    static let maxCachedWords = 10_000
}

extension SearchIndex {
    /// A table of the index that can be searched.
    package enum Part: Sendable {
        /// All columns of a text.
        case all
        /// Titles and addresses only, in a small table of their own.
        case names

        fileprivate var table: String {
            switch self {
            case .all: "page"
            case .names: "name"
            }
        }

        /// The BM25 weights of the columns, in the order of the table.
        fileprivate var weights: [Double] {
            switch self {
            case .all: [10, 4, 3, 0, 1, 0.15]
            case .names: [10, 3, 0]
            }
        }

        /// The time after which a search ends with the matches so far. It is needed for queries whose words
        /// are common but rarely occur together. It is the CPU time of the thread, so that other load on the
        /// machine does not change the results.
        fileprivate var timeLimit: Duration {
            switch self {
            case .all: .milliseconds(20)
            case .names: .milliseconds(8)
            }
        }
    }

    /// The maximum number of matches that are ranked. The texts of the highest quality come first. Texts
    /// beyond the limit that have the words in their titles or addresses are found by a search in `names`.
    private static let maxRankedMatches = 50_000
    /// The approximate number of texts that are searched between two checks of the limits.
    private static let sliceSize = 65_536

    /// Returns the best matches of an expression, the best first; at most `maxCount`.
    ///
    /// The search runs FTS5's query on one range of ids after the other, beginning with the texts of the
    /// highest quality, because SQLite cannot end a query in time by itself. After each range it stops if the
    /// maximum number of matches was ranked, the time limit has passed, or `shouldContinue` returns false.
    package func best(
        _ expression: TextExpression, in part: Part, atMost maxCount: Int
    ) throws(StoreError) -> [TextMatch] {
        try refreshStatistics()
        let lengths = statistics.lengths
        let inverseFrequencies = try expression.phrases.map { (phrase) throws(StoreError) in
            phrase.isFilter
                ? 0 : Self.inverseFrequency(try textCount(of: phrase.text, in: part), of: lengths.textCount)
        }
        scorer.begin(
            part.weights, inverseFrequencies, lengths, keeping: maxCount,
            maxRankedCount: Self.maxRankedMatches)
        let search = try statement(
            """
            SELECT 1 FROM \(part.table)
            WHERE \(part.table) MATCH ? AND rowid BETWEEN ? AND ? AND \(TextScorer.function)(\(part.table))
            """)
        let start = Self.threadTime
        let hasPrefix = expression.phrases.contains { Self.isPrefix($0.text) }
        for slice in hasPrefix ? [Self.allIDs] : Self.slices(of: lengths) {
            _ = try search.first(
                .text(expression.text), .integer(slice.lowerBound), .integer(slice.upperBound)
            ) {
                _ in true
            }
            if scorer.isFull || Self.threadTime - start > part.timeLimit || !shouldContinue() { break }
        }
        return scorer.end()
    }

    private static let allIDs = Int64.min...Int64.max

    /// Whether a phrase is a prefix. For a prefix FTS5 builds a list of all matches at each execution, so the
    /// search is not split into slices.
    private static func isPrefix(_ phrase: String) -> Bool { phrase.hasSuffix("*") }

    /// The CPU time that the thread has used.
    private static var threadTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Returns ranges of text ids with about the same number of texts each. The first and the last range are
    /// open, since texts may have been added since the lengths were read.
    private static func slices(of lengths: TextLengths) -> [ClosedRange<Int64>] {
        var slices: [ClosedRange<Int64>] = []
        var (start, count) = (Int64.min, 0)
        for (block, texts) in lengths.counts {
            count += texts
            guard count >= sliceSize else { continue }
            let end = (block + 1) * TextLengths.blockSize - 1
            slices.append(start...end)
            (start, count) = (end + 1, 0)
        }
        return slices + [start...Int64.max]
    }

    /// Returns the inverse document frequency of Robertson and Spärck Jones, as FTS5 computes it.
    /// The minimum keeps the score of a word that is in more than half of the texts from being negative.
    private static func inverseFrequency(_ count: Int, of all: Int) -> Double {
        let (count, all) = (Double(count), Double(max(all, count)))
        return max(log((all - count + 0.5) / (count + 0.5)), 1e-6)
    }

    // MARK: - Counting

    /// Discards the statistics if the index has changed. `data_version` does not change with writes of the
    /// same connection, so one that writes always reads them again.
    func refreshStatistics() throws(StoreError) {
        let version = try statement("PRAGMA data_version").first { $0.integer(0) } ?? 0
        guard version != statistics.version || canWrite else { return }
        var blocks: [(block: Int64, sizes: [UInt8])] = []
        try statement("SELECT block, sizes FROM length").each { blocks.append(($0.integer(0), $0.blob(1))) }
        statistics = IndexStatistics(version: version, lengths: TextLengths(blocks))
    }

    /// The number of matching texts up to which counts are exact. Larger counts are estimates.
    private static let maxExactCount = 4096
    /// The number of samples that an estimate uses, and the number of text ids in each.
    private static let (sampleCount, sampleSize) = (12, 1024)
    /// The maximum number of blocks of an index that is counted completely. Larger ones are sampled.
    private static let maxFullyCountedBlocks = 16

    /// Returns the number of texts that contain a phrase. The number is an estimate if it is large.
    package func textCount(of phrase: String, in part: Part = .all) throws(StoreError) -> Int {
        try refreshStatistics()
        let key = part == .all ? phrase : "\0\(phrase)"
        if let known = statistics.textCounts[key] { return known }
        var (count, last) = try matches(of: phrase, part, within: Self.allIDs, atMost: Self.maxExactCount)
        if count >= Self.maxExactCount {
            let estimate =
                Self.isPrefix(phrase)
                ? extrapolatedCount(count, upTo: last) : try sampledCount(of: phrase, part)
            count = max(count, estimate)
        }
        if statistics.textCounts.count >= IndexStatistics.maxCachedWords { statistics.textCounts = [:] }
        statistics.textCounts[key] = count
        return count
    }

    /// Estimates the number of texts that contain a phrase, from samples in the whole range of ids.
    private func sampledCount(of phrase: String, _ part: Part) throws(StoreError) -> Int {
        let lengths = statistics.lengths
        let blocks = lengths.counts
        let step = max(1, Double(blocks.count) / Double(Self.sampleCount))
        let isWhole = blocks.count <= Self.maxFullyCountedBlocks
        let size = isWhole ? Int(TextLengths.blockSize) : Self.sampleSize
        var (seen, found) = (0, 0)
        var position = 0.0
        while Int(position) < blocks.count {
            let block = blocks[Int(position)].block
            let first = block * TextLengths.blockSize
            seen += lengths.textCount(ofBlock: block, first: size)
            found += try matches(of: phrase, part, within: first...first + Int64(size) - 1, atMost: .max)
                .count
            position += isWhole ? 1 : step
        }
        return Self.scaledCount(found, among: seen, of: lengths)
    }

    /// Extrapolates the number of matches among the texts up to an id to all texts.
    private func extrapolatedCount(_ count: Int, upTo last: Int64) -> Int {
        let block = TextLengths.position(of: last).block
        let seen = statistics.lengths.counts.lazy.filter { $0.block <= block }.reduce(0) { $0 + $1.texts }
        return Self.scaledCount(count, among: seen, of: statistics.lengths)
    }

    /// Scales the matches among a part of the texts up to all texts.
    private static func scaledCount(_ found: Int, among seen: Int, of lengths: TextLengths) -> Int {
        seen == 0 ? found : Int(Double(found) * Double(lengths.textCount) / Double(seen))
    }

    /// Returns how many texts in a range contain a phrase, at most `maxCount`, and the id of the last one
    /// counted.
    private func matches(
        of phrase: String, _ part: Part, within ids: ClosedRange<Int64>, atMost maxCount: Int
    ) throws(StoreError) -> (count: Int, last: Int64) {
        let table = part.table
        return try statement(
            """
            SELECT count(*), max(rowid) FROM (
                SELECT rowid FROM \(table) WHERE \(table) MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?)
            """
        ).first(
            .text(phrase), .integer(ids.lowerBound), .integer(ids.upperBound), .integer(Int64(maxCount))
        ) { (Int($0.integer(0)), $0.optionalInteger(1) ?? 0) } ?? (0, 0)
    }

    /// Returns the number of texts in the index.
    package func textCount() throws(StoreError) -> Int {
        try refreshStatistics()
        return statistics.lengths.textCount
    }

    /// Returns whether a phrase is in more texts than can be ranked.
    package func isTooCommonToRank(_ phrase: String) throws(StoreError) -> Bool {
        try textCount(of: phrase) > Self.maxRankedMatches
    }

    // MARK: - Prefixes

    /// Limits for the words with a prefix that are read: their number, and the sum of their text counts. At
    /// either limit the prefix counts as common, and the most frequent of these words replace it.
    private static let (maxPrefixWords, maxPrefixTexts) = (2000, 100_000)
    /// The maximum number of words that replace a prefix. Rarer words are not searched for.
    private static let maxReplacementWords = 64

    /// Returns words to search for in place of a prefix: the most frequent ones among the first in
    /// alphabetical order. Returns nil if the prefix has so few words that FTS5 can search for it itself.
    package func frequentWords(beginning: String) throws(StoreError) -> [String]? {
        var words: [(word: String, count: Int)] = []
        var count = 0
        let isTooCommon =
            try statement("SELECT term, doc FROM word WHERE term >= ? AND term < ?").first(
                .text(beginning), .text(beginning + "\u{10FFFF}")
            ) { row -> Bool? in
                words.append((row.text(0), Int(row.integer(1))))
                count += words[words.count - 1].count
                return words.count >= Self.maxPrefixWords || count >= Self.maxPrefixTexts ? true : nil
            } ?? false
        guard isTooCommon else { return nil }
        return words.sorted { ($1.count, $0.word) < ($0.count, $1.word) }.prefix(Self.maxReplacementWords)
            .map(\.word)
    }

    // MARK: - Expressions

    /// Returns the part of an expression that restricts it to the texts of a site.
    package static func expression(ofSite name: String) -> String { "place : \(word(ofSite: name))" }

    /// Marks words in an expression so that any one of them matches.
    package static func oneOf(_ words: [String]) -> String {
        SearchTokenizer.alternativesMark + words.joined(separator: " ")
    }
}
