internal import Glibc

/// A text that a question found.
package struct TextMatch: Sendable, Equatable {
    package let id: Int64
    /// By BM25, and by what speaks for the text whatever the question: the higher, the better.
    package let score: Double
}

/// What is looked for, as FTS5 takes it.
package struct TextExpression: Sendable, Equatable {
    package struct Phrase: Sendable, Equatable {
        /// By itself.
        package let text: String
        /// It only says where to look, or what is not wanted.
        package let isSilent: Bool

        package init(_ text: String, isSilent: Bool = false) {
            (self.text, self.isSilent) = (text, isSilent)
        }
    }

    package let text: String
    /// All that stands between quotes in the text, in its order.
    package let phrases: [Phrase]

    package init(_ text: String, _ phrases: [Phrase]) {
        (self.text, self.phrases) = (text, phrases)
    }
}

/// How often words stand in an index, as far as it was counted, and how long its texts are.
struct CountedWords {
    /// Of the connection, when it was counted.
    var version: Int64 = -1
    var lengths = TextLengths()
    var textCounts: [String: Int] = [:]

    /// Of more words nothing is kept.
    static let mostWords = 10_000
}

extension SearchIndex {
    /// Where words are looked for.
    package enum Part: Sendable {
        case all
        /// Titles and addresses.
        case names

        fileprivate var table: String {
            switch self {
            case .all: "page"
            case .names: "name"
            }
        }

        /// What a text weighs by the part of it that has a word: BM25's weights, in the order of the columns.
        fileprivate var weights: [Double] {
            switch self {
            case .all: [10, 4, 3, 0, 1, 0.15]
            case .names: [10, 3, 0]
            }
        }

        /// For so much of the thread's own time is looked for what hardly any text has, although its words
        /// stand in very many: what others do on the machine changes nothing in what is found.
        fileprivate var patience: Duration {
            switch self {
            case .all: .milliseconds(20)
            case .names: .milliseconds(8)
            }
        }
    }

    /// Of what an expression finds, so many are ranked: those of the most quality. Whoever looks for words
    /// that stand in more texts than that finds what has them in its name by `names`.
    private static let mostRanked = 50_000
    /// As many are looked through before it is asked whether that was enough.
    private static let sliceSize = 65_536

    /// The best texts that an expression finds, the best first.
    package func best(
        _ expression: TextExpression, in part: Part, atMost most: Int
    ) throws(StoreError) -> [TextMatch] {
        try lookAgain()
        let lengths = counted.lengths
        let tellings = try expression.phrases.map { (phrase) throws(StoreError) in
            phrase.isSilent
                ? 0 : Self.telling(try textCount(of: phrase.text, in: part), of: lengths.textCount)
        }
        scorer.begin(part.weights, tellings, lengths, keeping: most, mostRanked: Self.mostRanked)
        let search = try prepared(
            """
            SELECT 1 FROM \(part.table)
            WHERE \(part.table) MATCH ? AND rowid BETWEEN ? AND ? AND \(TextScorer.function)(\(part.table))
            """)
        let start = Self.threadTime
        let isWhole = expression.phrases.contains { Self.isBeginning($0.text) }
        for slice in isWhole ? [Self.allNumbers] : Self.slices(of: lengths) {
            _ = try search.first(
                .text(expression.text), .integer(slice.lowerBound), .integer(slice.upperBound)
            ) {
                _ in true
            }
            if scorer.isFull || Self.threadTime - start > part.patience || !isWanted() { break }
        }
        return scorer.end()
    }

    private static let allNumbers = Int64.min...Int64.max

    /// Of all words that begin so FTS5 makes a list of its own, each time that it is asked.
    private static func isBeginning(_ phrase: String) -> Bool { phrase.hasSuffix("*") }

    /// How long the thread has been computing.
    private static var threadTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// The numbers of texts in ranges with about as many texts. The first begins, and the last ends, with
    /// what numbers there are: some may have come meanwhile.
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

    /// Robertson's and Spärck Jones's inverse document frequency, as FTS5 has it.
    private static func telling(_ count: Int, of all: Int) -> Double {
        let (count, all) = (Double(count), Double(max(all, count)))
        return max(log((all - count + 0.5) / (count + 0.5)), 1e-6)
    }

    // MARK: - Counting

    /// What was counted before the last change is forgotten.
    private func lookAgain() throws(StoreError) {
        let version = try prepared("PRAGMA data_version").first { $0.integer(0) } ?? 0
        guard version != counted.version || isWritten else { return }
        var blocks: [(block: Int64, sizes: [UInt8])] = []
        try prepared("SELECT block, sizes FROM length").each { blocks.append(($0.integer(0), $0.blob(1))) }
        counted = CountedWords(version: version, lengths: TextLengths(blocks))
    }

    /// Of what stands in more texts it is estimated in how many.
    private static let exactCount = 4096
    /// By so many places of the index, of so many texts.
    private static let (sampleCount, sampleSize) = (12, 1024)
    /// An index of no more is looked through.
    private static let fewBlocks = 16

    /// In how many texts a phrase stands; about, where it stands in many.
    package func textCount(of phrase: String, in part: Part = .all) throws(StoreError) -> Int {
        try lookAgain()
        let key = part == .all ? phrase : "\0\(phrase)"
        if let known = counted.textCounts[key] { return known }
        var (count, last) = try matches(of: phrase, part, within: Self.allNumbers, atMost: Self.exactCount)
        if count >= Self.exactCount {
            let estimate =
                Self.isBeginning(phrase)
                ? estimatedCount(count, upTo: last) : try estimatedCount(of: phrase, part)
            count = max(count, estimate)
        }
        if counted.textCounts.count >= CountedWords.mostWords { counted.textCounts = [:] }
        counted.textCounts[key] = count
        return count
    }

    private func estimatedCount(of phrase: String, _ part: Part) throws(StoreError) -> Int {
        let lengths = counted.lengths
        let blocks = lengths.counts
        let step = max(1, Double(blocks.count) / Double(Self.sampleCount))
        let isWhole = blocks.count <= Self.fewBlocks
        let size = isWhole ? Int(TextLengths.blockSize) : Self.sampleSize
        var (seen, found) = (0, 0)
        var place = 0.0
        while Int(place) < blocks.count {
            let block = blocks[Int(place)].block
            let first = block * TextLengths.blockSize
            seen += lengths.textCount(ofBlock: block, first: size)
            found += try matches(of: phrase, part, within: first...first + Int64(size) - 1, atMost: .max)
                .count
            place += isWhole ? 1 : step
        }
        return Self.estimatedCount(found, among: seen, of: lengths)
    }

    /// Where so many stand in the texts up to one.
    private func estimatedCount(_ count: Int, upTo last: Int64) -> Int {
        let block = TextLengths.place(of: last).block
        let seen = counted.lengths.counts.lazy.filter { $0.block <= block }.reduce(0) { $0 + $1.texts }
        return Self.estimatedCount(count, among: seen, of: counted.lengths)
    }

    private static func estimatedCount(_ found: Int, among seen: Int, of lengths: TextLengths) -> Int {
        seen == 0 ? found : Int(Double(found) * Double(lengths.textCount) / Double(seen))
    }

    /// How many texts have a phrase, of a range and at most so many, and which is the last of those.
    private func matches(
        of phrase: String, _ part: Part, within numbers: ClosedRange<Int64>, atMost most: Int
    ) throws(StoreError) -> (count: Int, last: Int64) {
        let table = part.table
        return try prepared(
            """
            SELECT count(*), max(rowid) FROM (
                SELECT rowid FROM \(table) WHERE \(table) MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?)
            """
        ).first(
            .text(phrase), .integer(numbers.lowerBound), .integer(numbers.upperBound), .integer(Int64(most))
        ) { (Int($0.integer(0)), $0.optionalInteger(1) ?? 0) } ?? (0, 0)
    }

    /// How many texts there are.
    package func textCount() throws(StoreError) -> Int {
        try lookAgain()
        return counted.lengths.textCount
    }

    /// Whether a phrase stands in more texts than are ranked.
    package func isEverywhere(_ phrase: String) throws(StoreError) -> Bool {
        try textCount(of: phrase) > Self.mostRanked
    }

    // MARK: - Words that begin so

    /// Of a beginning so many words are looked at, and so many occurrences of them counted.
    private static let (mostWords, mostOccurrences) = (2000, 100_000)
    /// So many of them are looked for where that are not all.
    private static let mostChosen = 64

    /// Words that begin so; nil where they are few, or stand in few texts, so that FTS5 may look for them
    /// by itself. Else those that stand in the most texts, of the first in the order of the alphabet.
    package func frequentWords(beginning: String) throws(StoreError) -> [String]? {
        var words: [(word: String, count: Int)] = []
        var count = 0
        let isCut =
            try prepared("SELECT term, doc FROM word WHERE term >= ? AND term < ?").first(
                .text(beginning), .text(beginning + "\u{10FFFF}")
            ) { row -> Bool? in
                words.append((row.text(0), Int(row.integer(1))))
                count += words[words.count - 1].count
                return words.count >= Self.mostWords || count >= Self.mostOccurrences ? true : nil
            } ?? false
        guard isCut else { return nil }
        return words.sorted { ($1.count, $0.word) < ($0.count, $1.word) }.prefix(Self.mostChosen).map(\.word)
    }

    // MARK: - Expressions

    /// What limits a question to the texts of a site; part of an expression.
    package static func expression(ofSite name: String) -> String { "place : \(word(ofSite: name))" }

    /// A word in an expression whose inflections are looked for as well.
    package static func inflecting(_ word: String) -> String { SearchTokenizer.inflecting + word }

    /// Words in an expression of which one is enough.
    package static func oneOf(_ words: [String]) -> String {
        SearchTokenizer.oneOf + words.joined(separator: " ")
    }
}
