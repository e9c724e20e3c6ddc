internal import CSQLite
internal import Database
internal import Glibc

/// Ranks matches while FTS5 finds them, with the BM25 formula of FTS5, and keeps the best.
///
/// It is an auxiliary function that FTS5 calls for each row. The lengths of texts are in memory, whereas
/// FTS5's own function would look them up in a table for each row. It belongs to the thread of its
/// connection.
final class TextScorer {
    /// The name of the SQL function. It returns 1, which ends the query, when enough matches were ranked.
    static let function = "larder_rank"

    /// The weights of the columns, in the order of the table.
    private var weights: [Double] = []
    /// The inverse document frequency of each phrase; 0 for one that does not count for the score.
    private var inverseFrequencies: [Double] = []
    private var lengths = TextLengths()
    /// The BM25 denominator's part that depends on the length of a text, by its length code.
    private var norms: [Double] = []
    /// The average length of texts for which `norms` was computed.
    private var averageOfNorms = 0.0
    private var best = BestMatches(atMost: 0)
    /// The number of matches since `begin`.
    private(set) var rankedCount = 0
    /// The number of matches after which the search ends.
    private var maxRankedCount = 0

    /// The usual parameters of BM25, as in FTS5.
    private static let (k1, b) = (1.2, 0.75)
    /// The maximum number of occurrences of a phrase in a text that count. Further ones are ignored: by then the
    /// score has nearly reached its upper bound.
    private static let maxCountedOccurrences = 400
    /// The share by which each step of a text's quality increases its score.
    private static let qualityShare = 0.06

    /// Registers the function with a connection. The scorer must live as long as the connection uses it.
    /// Returns whether that succeeded.
    func register(with api: UnsafeMutablePointer<fts5_api>) -> Bool {
        let code = api.pointee.xCreateFunction(
            api, Self.function, Unmanaged.passUnretained(self).toOpaque(),
            { api, context, result, _, _ in
                guard let api, let context, let owner = api.pointee.xUserData(context) else { return }
                let scorer = Unmanaged<TextScorer>.fromOpaque(owner).takeUnretainedValue()
                sqlite3_result_int(result, scorer.scoreRow(api, context) ? 0 : 1)
            }, nil)
        return code == SQLITE_OK
    }

    /// Prepares a search.
    ///
    /// - Parameters:
    ///   - inverseFrequencies: the inverse document frequency of each phrase of the expression.
    ///   - maxCount: the maximum number of matches to keep. Worse ones are discarded.
    ///   - maxRankedCount: the number of matches after which the search ends.
    func begin(
        _ weights: [Double], _ inverseFrequencies: [Double], _ lengths: TextLengths, keeping maxCount: Int,
        maxRankedCount: Int
    ) {
        let average = max(lengths.average, 1)
        if average != averageOfNorms {
            averageOfNorms = average
            norms = (0...255).map { size in
                let share = size == 0 ? 1 : TextLengths.length(ofCode: UInt8(size)) / average
                return Self.k1 * (1 - Self.b + Self.b * share)
            }
        }
        (self.weights, self.inverseFrequencies, self.lengths) = (weights, inverseFrequencies, lengths)
        best = BestMatches(atMost: maxCount)
        rankedCount = 0
        self.maxRankedCount = maxRankedCount
    }

    /// Returns the best matches since `begin`, the best first.
    func end() -> [TextMatch] { best.sorted() }

    /// Whether the maximum number of matches has been ranked.
    var isFull: Bool { rankedCount >= maxRankedCount }

    /// Scores the current row. Returns whether the search continues.
    private func scoreRow(_ api: UnsafePointer<Fts5ExtensionApi>, _ context: OpaquePointer) -> Bool {
        let id = api.pointee.xRowid(context)
        let norm = norms[Int(lengths.code(of: id))]
        var score = 0.0
        // BM25: for each phrase, idf * f * (k1 + 1) / (f + norm), with f the weighted number of occurrences.
        for phrase in inverseFrequencies.indices where inverseFrequencies[phrase] > 0 {
            var iterator = Fts5PhraseIter()
            var (column, offset): (Int32, Int32) = (-1, 0)
            guard api.pointee.xPhraseFirst(context, Int32(phrase), &iterator, &column, &offset) == SQLITE_OK
            else { continue }
            var frequency = 0.0
            var count = 0
            while column >= 0, count < Self.maxCountedOccurrences {
                if Int(column) < weights.count { frequency += weights[Int(column)] }
                count += 1
                api.pointee.xPhraseNext(context, &iterator, &column, &offset)
            }
            if frequency > 0 {
                score += inverseFrequencies[phrase] * frequency * (Self.k1 + 1) / (frequency + norm)
            }
        }
        score *= 1 + Self.qualityShare * Double(SearchIndex.quality(of: id))
        best.insert(TextMatch(id: id, score: score))
        rankedCount += 1
        return rankedCount < maxRankedCount
    }
}

extension Connection {
    /// Adds full-text search with `SearchTokenizer` as its tokenizer and `scorer` for ranking. The scorer
    /// must outlive the connection. Returns false if this SQLite has no full-text search.
    func addSearch(_ scorer: TextScorer) -> Bool {
        guard let api = fullTextAPI?.assumingMemoryBound(to: fts5_api.self) else { return false }
        return SearchTokenizer.register(with: api) && scorer.register(with: api)
    }
}

/// A limited number of the best matches, as a heap with the worst of them at the root.
private struct BestMatches {
    private var matches: [TextMatch] = []
    private let maxCount: Int

    init(atMost maxCount: Int) { self.maxCount = maxCount }

    /// Adds a match if it is among the best.
    mutating func insert(_ match: TextMatch) {
        if matches.count < maxCount {
            matches.append(match)
            siftUp()
        } else if let worst = matches.first, Self.isWorse(worst, match) {
            matches[0] = match
            siftDown()
        }
    }

    func sorted() -> [TextMatch] { matches.sorted { Self.isWorse($1, $0) } }

    /// For equal scores, the match with the lower id is better.
    private static func isWorse(_ first: TextMatch, _ second: TextMatch) -> Bool {
        first.score < second.score || first.score == second.score && first.id > second.id
    }

    /// Moves the last match up to its place in the heap.
    private mutating func siftUp() {
        var index = matches.count - 1
        while index > 0, Self.isWorse(matches[index], matches[(index - 1) / 2]) {
            matches.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Moves the root down to its place in the heap.
    private mutating func siftDown() {
        var index = 0
        while true {
            var worst = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < matches.count && Self.isWorse(matches[child], matches[worst]) {
                worst = child
            }
            guard worst != index else { return }
            matches.swapAt(index, worst)
            index = worst
        }
    }
}

/// The lengths of texts in words, as one byte each on a logarithmic scale.
///
/// The index stores them in blocks of 4096 consecutive text ids. The code 0 means that there is no such text.
struct TextLengths {
    static let blockSize: Int64 = 4096
    /// The number of codes per power of two: a byte is enough, and the error is at most 3 %.
    private static let codesPerDoubling = 12.0

    private var blocks: [Int64: [UInt8]] = [:]
    /// The numbers of the blocks in ascending order, with the number of texts in each.
    private(set) var counts: [(block: Int64, texts: Int)] = []
    private(set) var textCount = 0
    /// The average length in words.
    private(set) var average = 0.0
    /// The block that was used last, because FTS5 finds texts in the order of their ids.
    private var last: (block: Int64, sizes: [UInt8]) = (.min, [])

    init() {}

    init(_ blocks: [(block: Int64, sizes: [UInt8])]) {
        var sum = 0.0
        for (block, sizes) in blocks {
            var histogram = [Int](repeating: 0, count: 256)
            for size in sizes { histogram[Int(size)] += 1 }
            let texts = sizes.count - histogram[0]
            for size in 1...255 { sum += Double(histogram[size]) * Self.length(ofCode: UInt8(size)) }
            self.blocks[block] = sizes
            counts.append((block, texts))
            textCount += texts
        }
        counts.sort { $0.block < $1.block }
        if textCount > 0 { average = sum / Double(textCount) }
    }

    /// Returns the length code of a text; 0 if it is unknown.
    mutating func code(of id: Int64) -> UInt8 {
        let (block, index) = Self.position(of: id)
        if block != last.block { last = (block, blocks[block] ?? []) }
        return index < last.sizes.count ? last.sizes[index] : 0
    }

    /// Returns the number of texts among the first ids of a block.
    func textCount(ofBlock block: Int64, first count: Int) -> Int {
        (blocks[block] ?? []).prefix(count).count { $0 > 0 }
    }

    /// Returns the block of a text, and its position in the block.
    static func position(of id: Int64) -> (block: Int64, index: Int) {
        // 4096 is 2^12. Shifting rounds negative ids down, as the order of the blocks requires.
        (id >> 12, Int(id & (blockSize - 1)))
    }

    /// Returns the code of a length in words.
    static func code(ofLength words: Int) -> UInt8 {
        UInt8(clamping: Int((codesPerDoubling * log2(Double(max(words, 1)) + 1)).rounded()))
    }

    /// Returns the approximate length in words of a code.
    static func length(ofCode code: UInt8) -> Double { exp2(Double(code) / codesPerDoubling) - 1 }
}
