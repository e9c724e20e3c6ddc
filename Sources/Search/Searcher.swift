internal import Reports
package import Store
internal import Web

/// Answers questions from an index and the store that it is of. It belongs to one thread.
package final class Searcher {
    private let reader: StoreReader
    private var index: SearchIndex?

    package init(_ reader: StoreReader) { self.reader = reader }

    /// So many of the best by words alone are looked at.
    private static let pool = 120
    /// With a type or a visit wanted, which the index knows nothing of, so many.
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
        report.texts = try index.textCount()
        report.unread = try index.unreadCount()
        let site = try options.site.map { (name) throws(StoreError) in
            try SiteName.site(name, in: reader.sites())
        }
        var found: [Candidate] = []
        var strictness = SearchQuestion.Strictness.all
        let wanted = options.offset + options.limit
        for next in SearchQuestion.Strictness.allCases where found.count < (next == .some ? wanted : 1) {
            let words = SoughtWords(question, lastBegins: next == .lastBegins)
            // What is called so may be too long a text to be among the best by its words.
            for isNamed in [false, true] {
                guard let expression = question.expression(next, inSite: site?.name, isNamed: isNamed) else {
                    continue
                }
                if found.isEmpty { strictness = next }
                let known = Set(found.map(\.match.id))
                found += try candidates(
                    expression, words, isComplete: next != .some, site: site, options, besides: known, index)
            }
        }
        report.isRelaxed = strictness == .some
        found.sort { $0.score > $1.score }
        report.hasMore = found.count > wanted
        let words = SoughtWords(question, lastBegins: strictness == .lastBegins)
        for candidate in found.dropFirst(options.offset).prefix(options.limit) {
            report.hits.append(try hit(candidate, words, index))
        }
        if found.isEmpty || report.isRelaxed { report.proposals = try proposals(for: question, index) }
        return report
    }

    // MARK: - Ranking

    private struct Candidate {
        let match: TextMatch
        let facts: TextFacts
        let holding: TextHolding
        var score: Double
    }

    private func candidates(
        _ expression: String, _ words: SoughtWords, isComplete: Bool, site: Site?, _ options: SearchOptions,
        besides known: Set<Int64>, _ index: SearchIndex
    ) throws(StoreError) -> [Candidate] {
        var found: [Candidate] = []
        let isFiltering = options.type != nil || options.visit != nil
        let most = max(Self.pool, 2 * (options.offset + options.limit))
        try index.eachMatch(of: expression, atMost: isFiltering ? max(Self.widePool, most) : most) {
            (match) throws(StoreError) -> Bool in
            guard !known.contains(match.id), let holding = try holding(of: match, site: site, options, index),
                let facts = try index.facts(of: match.id)
            else { return true }
            let score = Ranking.score(
                words: match.score, facts, words, address: holding.href, isPage: holding.role == 0,
                type: holding.type,
                isComplete: isComplete)
            found.append(Candidate(match: match, facts: facts, holding: holding, score: score))
            return found.count < most
        }
        return found
    }

    /// Where a text is shown; nil where nobody gets it any more, or it is not of the kind that is wanted.
    private func holding(
        of match: TextMatch, site: Site?, _ options: SearchOptions, _ index: SearchIndex
    ) throws(StoreError) -> TextHolding? {
        for body in try index.bodies(of: match.id) {
            let holdings = try reader.holdings(
                ofText: body.sha256, form: body.form, site: site?.id, visit: options.visit, limit: 4)
            for holding in holdings where options.type?.matches(holding.type) ?? true { return holding }
        }
        return nil
    }

    private func hit(
        _ candidate: Candidate, _ words: SoughtWords, _ index: SearchIndex
    ) throws(StoreError) -> SearchReport.Hit {
        let id = candidate.match.id
        var snippet = Snippet(of: try index.body(of: id, atMost: Snippet.reach), words)
        var section: DocumentText.Section?
        if let place = snippet.place {
            section = try index.sections(of: id).last { $0.start <= place }
        } else if !candidate.facts.description.isEmpty {
            snippet = Snippet(plain: candidate.facts.description)
        }
        let (facts, holding) = (candidate.facts, candidate.holding)
        return SearchReport.Hit(
            url: holding.href, title: facts.title, heading: section?.title ?? "",
            anchor: section?.anchor ?? "",
            snippet: snippet, site: holding.site, visit: holding.visit, type: holding.type,
            language: facts.language,
            fetched: holding.fetched, score: candidate.score)
    }

    // MARK: - Typing errors

    private static let mostProposals = 3

    /// The question with another word in place of one that no text has.
    private func proposals(for question: SearchQuestion, _ index: SearchIndex) throws(StoreError) -> [String]
    {
        var proposals: [String] = []
        for term in question.counted.flatMap(\.terms) where !term.isPrefix {
            for word in term.words where try index.textCount(of: word) == 0 {
                var known: [(word: String, count: Int)] = []
                for other in Slips.of(word) {
                    let count = try index.textCount(of: other)
                    if count > 0 { known.append((other, count)) }
                }
                for other in known.sorted(by: { $0.count > $1.count }).prefix(Self.mostProposals) {
                    proposals.append(question.replacing(word, with: other.word))
                }
            }
        }
        return Array(proposals.prefix(Self.mostProposals))
    }
}

/// What speaks for a text beside its words.
enum Ranking {
    static func score(
        words score: Double, _ facts: TextFacts, _ words: SoughtWords, address: String, isPage: Bool,
        type: String?,
        isComplete: Bool
    ) -> Double {
        var score = score
        let count = Double(max(words.count, 1))
        let title = words.share(of: facts.title)
        if title.found > 0, title.total > 0 {
            // A title that says what was asked, and little else, is what was looked for.
            let asked = title.found / count
            let told = title.found / title.total
            score *= 1 + 0.8 * asked * asked + 0.6 * asked * told
        }
        let name = words.share(of: lastName(of: address))
        if name.found > 0, name.total > 0 {
            score *= 1 + 0.4 * name.found / count * name.found / name.total
        }
        score *= 1 + 0.06 * facts.prior
        score *= 1 - 0.02 * Double(min(depth(of: address), 8))
        if !isPage { score *= 0.7 }
        if let type, type != "text/html", type != "application/xhtml+xml" { score *= 0.6 }
        return isComplete ? score * 1.5 : score
    }

    /// The last part of the path.
    private static func lastName(of address: String) -> String {
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
