internal import Store
internal import Web

/// What speaks for a text beside its words: that its title or its name says what was asked, that it is a
/// page, and near the root of its site.
struct Ranking {
    /// The title has the question as it was asked.
    private static let wholeQuestion = 1.2
    /// The name is the question, in whatever order.
    private static let exactName = 1.3

    /// Of where it is shown nothing is known yet: no more than this can come of it.
    let most: Double
    private let score: Double
    private let words: SoughtWords

    /// - Parameter isComplete: It has all that was asked for.
    init(_ score: Double, _ facts: TextFacts, _ words: SoughtWords, isComplete: Bool) {
        var score = score
        let count = Double(max(words.count, 1))
        let title = words.share(of: facts.title)
        if title.found > 0, title.total > 0 {
            // A title that says what was asked, and little else, is what was looked for.
            let asked = title.found / count
            let told = title.found / title.total
            score *= 1 + 0.8 * asked * asked + 0.6 * asked * told
            if title.isInOrder, words.count > 1 { score *= Self.wholeQuestion }
        }
        self.score = isComplete ? score * 1.5 : score
        self.words = words
        let names = facts.address.split(separator: "\n").map { Self.weight(ofName: Self.name(of: $0), words) }
        most = self.score * (names.max() ?? 1)
    }

    func score(_ holding: TextHolding) -> Double {
        let address = String(decoding: [UInt8](percentDecoding: Array(holding.href.utf8).span), as: UTF8.self)
        var score = min(score * Self.weight(ofName: Self.name(of: address[...]), words), most)
        score *= 1 - 0.02 * Double(min(Self.depth(of: holding.href), 8))
        if holding.role != 0 { score *= 0.7 }
        if let type = holding.type, type != "text/html", type != "application/xhtml+xml" { score *= 0.6 }
        return score
    }

    private static func weight(ofName name: String, _ words: SoughtWords) -> Double {
        let share = words.share(of: name)
        guard share.found > 0, share.total > 0 else { return 1 }
        let weight = 1 + 0.4 * share.found / Double(max(words.count, 1)) * share.found / share.total
        // Nothing else is called so.
        return share.found == Double(words.count) && share.isAll ? weight * Self.exactName : weight
    }

    /// The last part of the path.
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
