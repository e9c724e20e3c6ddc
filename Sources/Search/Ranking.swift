internal import Store
internal import Web

/// Ranks a text by its score in the index and by other properties: titles and file names that match the
/// query, pages rather than assets, and URLs near the root of the site.
///
/// The URL of a text is expensive to look up. Without it only an upper bound of the score, `maxScore`, is known.
struct Ranking {
    /// The factor for a title that contains all words of the query in their order.
    private static let titlePhraseFactor = 1.2
    /// The factor for a name that consists of the words of the query, in any order.
    private static let exactNameFactor = 1.3

    /// The upper bound of the score at any URL.
    let maxScore: Double
    private let score: Double
    private let words: QueryWords

    /// - Parameters:
    ///   - score: the score in the index.
    ///   - isComplete: whether the text has all words of the query.
    init(_ score: Double, _ facts: TextFacts, _ words: QueryWords, isComplete: Bool) {
        var score = score
        let count = Double(max(words.count, 1))
        let title = words.share(of: facts.title)
        if title.found > 0, title.total > 0 {
            // A title that contains the query and little else is most likely wanted.
            let shareOfQuery = title.found / count
            let shareOfTitle = title.found / title.total
            score *= 1 + 0.8 * shareOfQuery * shareOfQuery + 0.6 * shareOfQuery * shareOfTitle
            if title.isInOrder, words.count > 1 { score *= Self.titlePhraseFactor }
        }
        self.score = isComplete ? score * 1.5 : score
        self.words = words
        let names = facts.address.split(separator: "\n").map { Self.weight(ofName: Self.name(of: $0), words) }
        maxScore = self.score * (names.max() ?? 1)
    }

    /// Returns the score of the text at one of its URLs.
    func score(_ response: ResponseWithText) -> Double {
        let address = String(
            decoding: [UInt8](percentDecoding: Array(response.href.utf8).span), as: UTF8.self)
        var score = min(score * Self.weight(ofName: Self.name(of: address[...]), words), maxScore)
        score *= 1 - 0.02 * Double(min(Self.depth(of: response.href), 8))
        if response.role != 0 { score *= 0.7 }
        if let type = response.type, type != "text/html", type != "application/xhtml+xml" { score *= 0.6 }
        return score
    }

    /// Returns the factor for a name that matches the query; 1 if it does not.
    private static func weight(ofName name: String, _ words: QueryWords) -> Double {
        let share = words.share(of: name)
        guard share.found > 0, share.total > 0 else { return 1 }
        let weight = 1 + 0.4 * share.found / Double(max(words.count, 1)) * share.found / share.total
        // The name consists of the query.
        return share.found == Double(words.count) && share.isAll ? weight * Self.exactNameFactor : weight
    }

    /// Returns the last path component of a URL without the suffix of HTML files.
    private static func name(of address: Substring) -> String {
        let path = address.utf8.prefix { $0 != UInt8(ascii: "?") }
        let name = path.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        for suffix in [".html", ".htm", ".xhtml"] where name.hasSuffix(suffix) {
            return String(name.dropLast(suffix.count))
        }
        return name
    }

    private static func depth(of address: String) -> Int {
        max(0, address.utf8.count { $0 == UInt8(ascii: "/") } - 3)
    }
}
