internal import CSQLite
internal import Glibc

/// Ranks what FTS5 finds while it is found, by BM25 as FTS5 has it, and keeps the best: as a function of
/// FTS5's that is called for each row. How long the texts are stands in memory; FTS5's own function would
/// look that up in a table, for each row again. It belongs to the thread of its connection.
final class TextScorer {
    /// As expressions of SQL call it: true ends the search.
    static let function = "larder_rank"

    /// What a table's columns weigh, in their order.
    private var weights: [Double] = []
    /// How much each phrase of the expression tells; 0 for one that only says where to look.
    private var tellings: [Double] = []
    private var lengths = TextLengths()
    /// What a text's length does to the weight of its words.
    private var norms: [Double] = []
    /// The length of which those are.
    private var normal = 0.0
    private var best = BestMatches(atMost: 0)
    private(set) var rankedCount = 0
    private var mostRanked = 0

    /// BM25's own, as FTS5 has them.
    private static let (k1, b) = (1.2, 0.75)
    /// More of the same word in a text says nothing more.
    private static let mostOccurrences = 400
    /// What speaks for a text whatever the question, for each step of its quality.
    private static let qualityShare = 0.06

    /// Makes the function known to a connection, for as long as this is there.
    func register(with api: UnsafeMutablePointer<fts5_api>) -> Bool {
        let code = api.pointee.xCreateFunction(
            api, Self.function, Unmanaged.passUnretained(self).toOpaque(),
            { api, context, result, _, _ in
                guard let api, let context, let owner = api.pointee.xUserData(context) else { return }
                let scorer = Unmanaged<TextScorer>.fromOpaque(owner).takeUnretainedValue()
                sqlite3_result_int(result, scorer.take(api, context) ? 0 : 1)
            }, nil)
        return code == SQLITE_OK
    }

    /// To be called before a search.
    func begin(
        _ weights: [Double], _ tellings: [Double], _ lengths: TextLengths, keeping most: Int, mostRanked: Int
    ) {
        let average = max(lengths.average, 1)
        if average != normal {
            normal = average
            norms = (0...255).map { size in
                let share = size == 0 ? 1 : TextLengths.length(of: UInt8(size)) / average
                return Self.k1 * (1 - Self.b + Self.b * share)
            }
        }
        (self.weights, self.tellings, self.lengths) = (weights, tellings, lengths)
        best = BestMatches(atMost: most)
        rankedCount = 0
        self.mostRanked = mostRanked
    }

    /// The best of what was found since, the best first.
    func end() -> [TextMatch] { best.sorted() }

    var isFull: Bool { rankedCount >= mostRanked }

    private func take(_ api: UnsafePointer<Fts5ExtensionApi>, _ context: OpaquePointer) -> Bool {
        let id = api.pointee.xRowid(context)
        let norm = norms[Int(lengths.size(of: id))]
        var score = 0.0
        for phrase in tellings.indices where tellings[phrase] > 0 {
            var iterator = Fts5PhraseIter()
            var (column, offset): (Int32, Int32) = (-1, 0)
            guard api.pointee.xPhraseFirst(context, Int32(phrase), &iterator, &column, &offset) == SQLITE_OK
            else { continue }
            var frequency = 0.0
            var count = 0
            while column >= 0, count < Self.mostOccurrences {
                if Int(column) < weights.count { frequency += weights[Int(column)] }
                count += 1
                api.pointee.xPhraseNext(context, &iterator, &column, &offset)
            }
            if frequency > 0 { score += tellings[phrase] * frequency * (Self.k1 + 1) / (frequency + norm) }
        }
        score *= 1 + Self.qualityShare * Double(SearchIndex.quality(of: id))
        best.take(TextMatch(id: id, score: score))
        rankedCount += 1
        return rankedCount < mostRanked
    }
}

/// So many of the best matches: a heap with the worst of them on top.
private struct BestMatches {
    private var matches: [TextMatch] = []
    private let most: Int

    init(atMost most: Int) { self.most = most }

    mutating func take(_ match: TextMatch) {
        if matches.count < most {
            matches.append(match)
            rise()
        } else if let worst = matches.first, Self.isWorse(worst, match) {
            matches[0] = match
            sink()
        }
    }

    func sorted() -> [TextMatch] { matches.sorted { Self.isWorse($1, $0) } }

    /// Of equals the first stays.
    private static func isWorse(_ first: TextMatch, _ second: TextMatch) -> Bool {
        first.score < second.score || first.score == second.score && first.id > second.id
    }

    private mutating func rise() {
        var place = matches.count - 1
        while place > 0, Self.isWorse(matches[place], matches[(place - 1) / 2]) {
            matches.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink() {
        var place = 0
        while true {
            var worst = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < matches.count && Self.isWorse(matches[child], matches[worst]) {
                worst = child
            }
            guard worst != place else { return }
            matches.swapAt(place, worst)
            place = worst
        }
    }
}

/// How long texts are, a byte for each: blocks of it stand in the index, by the numbers of texts.
struct TextLengths {
    static let blockSize: Int64 = 4096
    /// Of the logarithm, so that a byte is enough and off by three hundredths at most.
    private static let steps = 12.0

    private var blocks: [Int64: [UInt8]] = [:]
    /// The blocks' numbers with how many texts are in each, by the numbers.
    private(set) var counts: [(block: Int64, texts: Int)] = []
    private(set) var textCount = 0
    /// In words.
    private(set) var average = 0.0
    private var last: (block: Int64, sizes: [UInt8]) = (.min, [])

    init() {}

    init(_ blocks: [(block: Int64, sizes: [UInt8])]) {
        var sum = 0.0
        for (block, sizes) in blocks {
            var histogram = [Int](repeating: 0, count: 256)
            for size in sizes { histogram[Int(size)] += 1 }
            let texts = sizes.count - histogram[0]
            for size in 1...255 { sum += Double(histogram[size]) * Self.length(of: UInt8(size)) }
            self.blocks[block] = sizes
            counts.append((block, texts))
            textCount += texts
        }
        counts.sort { $0.block < $1.block }
        if textCount > 0 { average = sum / Double(textCount) }
    }

    /// 0 where nobody knows.
    mutating func size(of id: Int64) -> UInt8 {
        let (block, place) = Self.place(of: id)
        if block != last.block { last = (block, blocks[block] ?? []) }
        return place < last.sizes.count ? last.sizes[place] : 0
    }

    /// How many texts have a number among the first of a block.
    func textCount(ofBlock block: Int64, first count: Int) -> Int {
        (blocks[block] ?? []).prefix(count).count { $0 > 0 }
    }

    /// In which block the text is, and where in it.
    static func place(of id: Int64) -> (block: Int64, place: Int) {
        (id >> 12, Int(id & (blockSize - 1)))
    }

    static func size(ofLength words: Int) -> UInt8 {
        UInt8(clamping: Int((steps * log2(Double(max(words, 1)) + 1)).rounded()))
    }

    static func length(of size: UInt8) -> Double { exp2(Double(size) / steps) - 1 }
}
