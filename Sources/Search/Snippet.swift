internal import Store
package import Web

/// An excerpt of a text around the words of a query, in parts, some of which are these words.
public struct Snippet: Sendable, Equatable {
    /// A part of an excerpt.
    public struct Part: Sendable, Equatable {
        /// The text of the part.
        public let text: String
        /// Whether the part is a word of the query.
        public let isMarked: Bool
    }

    /// The parts in order.
    public package(set) var parts: [Part] = []
    /// The offset of the first match in the text.
    package private(set) var place: Int?
    /// Words around the first match as they are in one block of the page, by which a link finds them. Nil if no word of the
    /// query matches.
    package private(set) var quote: String?

    /// The whole excerpt.
    public var text: String { parts.map(\.text).joined() }

    /// The approximate length of an excerpt in bytes.
    private static let length = 220
    /// The number of bytes by which an excerpt may be longer, so that its last word is whole. Texts without spaces, such as
    /// Chinese ones, are cut.
    private static let maxWordLength = 40
    /// The length in bytes up to which a quote gets further words. A short one may occur earlier in the page, too.
    private static let minQuoteLength = 48
    /// The maximum number of bytes that are searched for all excerpts of one report together. Beyond it, only the first
    /// `minLoadedBytes` of each text are searched.
    static let maxSearchedBytes = 2 << 20
    /// The number of bytes of each text that are loaded even if `maxSearchedBytes` is used up, so that every hit has an
    /// excerpt.
    static let minLoadedBytes = 32 << 10
    /// The number of bytes after a first complete match that are searched for a better one.
    private static let further = 8 << 10
    /// The maximum number of occurrences of query words that are considered. Later ones are ignored.
    private static let maxHits = 2000

    /// An occurrence of a query word in the text.
    private struct Hit {
        let place: Range<Int>
        let word: Int
    }

    /// Creates the excerpt with the most different words of the query. Among those it prefers the one with
    /// the most occurrences, then the first. The search ends early if all words are close together near the
    /// beginning of the text.
    ///
    /// - Parameter bytesLeft: the number of bytes that may be searched for further excerpts; reduced by those
    ///   that were searched.
    package init(of body: [UInt8], _ words: QueryWords, bytesLeft: inout Int) {
        var hits: [Hit] = []
        // The offset of the last occurrence of each word.
        var last: [Int: Int] = [:]
        let wordCount = words.count
        var end = body.count
        words.cutter.split(body.span, for: .index) { word, place, isColocated in
            guard place.lowerBound < end else { return false }
            guard let number = words.number(of: word), !(isColocated && hits.last?.place == place) else {
                return true
            }
            hits.append(Hit(place: place, word: number))
            last[number] = place.lowerBound
            if end == body.count, last.count == wordCount,
                let first = last.values.min(), place.upperBound - first <= Self.length
            {
                end = min(body.count, place.upperBound + Self.further)
            }
            return hits.count < Self.maxHits
        }
        bytesLeft -= min(end, body.count)
        let best = Self.withoutPoorerLines(Self.best(hits), hits, body)
        let start = best.first.map { hits[$0].place.lowerBound } ?? 0
        place = best.isEmpty ? nil : start
        let shown = Self.window(body, around: start, to: best.last.map { hits[$0].place.upperBound } ?? 0)
        quote = best.isEmpty ? nil : Self.quote(body, hits[best].map(\.place), in: shown)
        fill(
            body, shown,
            best.isEmpty
                ? []
                : hits.filter {
                    shown.contains($0.place.lowerBound) && $0.place.upperBound <= shown.upperBound
                })
    }

    /// Creates an excerpt of a whole text without marked words.
    package init(plain text: String) {
        if !text.isEmpty { parts = [Part(text: text, isMarked: false)] }
    }

    /// Returns the indices of the hits in the best excerpt.
    private static func best(_ hits: [Hit]) -> Range<Int> {
        var best = 0..<0
        var bestScore = 0
        var counts: [Int: Int] = [:]
        var start = 0
        for end in hits.indices {
            counts[hits[end].word, default: 0] += 1
            while hits[end].place.upperBound - hits[start].place.lowerBound > length, start < end {
                counts[hits[start].word, default: 1] -= 1
                if counts[hits[start].word] == 0 { counts[hits[start].word] = nil }
                start += 1
            }
            let score = counts.count * 16 + min(end - start, 8)
            if score > bestScore { (best, bestScore) = (start..<end + 1, score) }
        }
        return best
    }

    /// Leaves out the first lines, such as a heading, if a later one has more of the words, and none of the words is only in
    /// the first lines.
    private static func withoutPoorerLines(
        _ best: Range<Int>, _ hits: [Hit], _ body: [UInt8]
    ) -> Range<Int> {
        // The index of the first hit in each line, and the words of the query in the line.
        var lines: [(first: Int, words: Set<Int>)] = []
        for index in best {
            if let last = lines.indices.last {
                let (before, place) = (hits[index - 1].place.lowerBound, hits[index].place.lowerBound)
                if before >= place || !body[before..<place].contains(0x0A) {
                    lines[last].words.insert(hits[index].word)
                    continue
                }
            }
            lines.append((index, [hits[index].word]))
        }
        let richest = lines.map(\.words.count).max() ?? 0
        guard let first = lines.first(where: { $0.words.count == richest })?.first,
            Set(hits[first..<best.upperBound].map(\.word)) == Set(hits[best].map(\.word))
        else { return best }
        return first..<best.upperBound
    }

    /// Returns the range to show: whole words around a match, beginning in its line.
    private static func window(_ body: [UInt8], around start: Int, to end: Int) -> Range<Int> {
        let spare = max(0, length - (end - start))
        var lower = max(0, start - spare / 3)
        // The preceding line is another block, which may be far away in the page.
        if let line = body[lower..<min(start, body.count)].lastIndex(of: 0x0A) { lower = line + 1 }
        while lower > 0, lower < start, body[lower - 1] != 0x20, body[lower - 1] != 0x0A { lower += 1 }
        var upper = min(body.count, lower + length)
        while upper < body.count, upper > end, body[upper] != 0x20, body[upper] != 0x0A { upper -= 1 }
        if upper <= max(end, lower) {
            // The word with the last match, or the next one, reaches beyond the excerpt.
            let last = max(end, lower)
            let limit = min(body.count, max(last, lower + length) + maxWordLength)
            let wordEnd = body[last..<limit].firstIndex { $0 == 0x20 || $0 == 0x0A }
            upper = wordEnd ?? (limit == body.count ? limit : min(body.count, lower + length))
        }
        while lower < upper, body[lower] & 0xC0 == 0x80 { lower += 1 }
        while upper < body.count, upper > lower, body[upper] & 0xC0 == 0x80 { upper -= 1 }
        return lower..<upper
    }

    /// Returns the words from the first match to the last one in the same block, with some around them.
    private static func quote(_ body: [UInt8], _ matches: [Range<Int>], in shown: Range<Int>) -> String? {
        guard let first = matches.first, shown.contains(first.lowerBound) else { return nil }
        let start = body[..<first.lowerBound].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let end = body[first.upperBound...].firstIndex(of: 0x0A) ?? body.count
        let block = max(start, shown.lowerBound)..<min(end, shown.upperBound)
        var lower = first.lowerBound
        var upper = matches.last { $0.upperBound <= block.upperBound }?.upperBound ?? first.upperBound
        /// The start or the end of the word at an offset. The offset itself if the shown text begins or ends in the word.
        func wordStart(_ offset: Int) -> Int {
            let space = body[block.lowerBound..<offset].lastIndex(of: 0x20)
            if space == nil, block.lowerBound > start, body[block.lowerBound - 1] != 0x20 { return offset }
            return space.map { $0 + 1 } ?? block.lowerBound
        }
        func wordEnd(_ offset: Int) -> Int {
            let space = body[offset..<block.upperBound].firstIndex(of: 0x20)
            if space == nil, block.upperBound < end, body[block.upperBound] != 0x20 { return offset }
            return space ?? block.upperBound
        }
        (lower, upper) = (wordStart(lower), wordEnd(upper))
        while upper - lower < minQuoteLength, upper + 1 < block.upperBound, body[upper] == 0x20 {
            let next = wordEnd(upper + 1)
            if next == upper + 1 { break }
            upper = next
        }
        while upper - lower < minQuoteLength, lower - 1 > block.lowerBound, body[lower - 1] == 0x20 {
            let next = wordStart(lower - 1)
            if next == lower - 1 { break }
            lower = next
        }
        return String(decoding: body[lower..<upper], as: UTF8.self)
    }

    /// Splits the shown range into marked and other parts, and adds ellipses.
    private mutating func fill(_ body: [UInt8], _ shown: Range<Int>, _ hits: [Hit]) {
        func text(_ range: Range<Int>) -> String {
            String(decoding: body[range].map { $0 == 0x0A ? 0x20 : $0 }, as: UTF8.self)
        }
        var start = shown.lowerBound
        for hit in hits where hit.place.lowerBound >= start {
            if hit.place.lowerBound > start {
                parts.append(Part(text: text(start..<hit.place.lowerBound), isMarked: false))
            }
            parts.append(Part(text: text(hit.place), isMarked: true))
            start = hit.place.upperBound
        }
        if start < shown.upperBound {
            parts.append(Part(text: text(start..<shown.upperBound), isMarked: false))
        }
        if shown.lowerBound > 0, let first = parts.first {
            // The ellipsis is not part of a marked word.
            if first.isMarked {
                parts.insert(Part(text: "…", isMarked: false), at: 0)
            } else {
                parts[0] = Part(text: "…" + first.text, isMarked: false)
            }
        }
        if shown.upperBound < body.count, !parts.isEmpty { parts.append(Part(text: "…", isMarked: false)) }
    }
}

/// The words of a query, prepared to be found in texts. It belongs to one thread.
package final class QueryWords {
    let cutter: WordSplitter
    private var numbers: [[UInt8]: Int] = [:]
    private var prefixes: [(bytes: [UInt8], number: Int)] = []
    /// The number of different words.
    let count: Int
    /// All words joined into one, as in file names; nil if there is only one word.
    private let joinedWords: [UInt8]?
    /// Whether a word of the query begins with the byte. Excludes most words of a text quickly.
    private var beginnings = [Bool](repeating: false, count: 256)

    /// - Parameters:
    ///   - lastWordIsPrefix: whether the last word matches all words that begin with it.
    ///   - forms: the other inflected forms of words, which match too, by the word.
    ///   - cutter: can be shared by many instances, since it caches how characters are folded.
    package init(
        _ question: SearchQuery, lastWordIsPrefix: Bool, forms: [String: [String]] = [:],
        _ cutter: WordSplitter = WordSplitter()
    ) {
        self.cutter = cutter
        var number = 0
        var all: [UInt8] = []
        let terms = question.significantClauses.flatMap(\.terms)
        for (index, term) in terms.enumerated() {
            let isPrefix =
                term.isPrefix || lastWordIsPrefix && index == terms.count - 1 && term.words.count == 1
            for word in term.words {
                let bytes = Array(word.utf8)
                all += bytes
                if isPrefix { prefixes.append((bytes, number)) } else { numbers[bytes] = number }
                if term.hasForms {
                    for form in forms[word] ?? [] where numbers[Array(form.utf8)] == nil {
                        numbers[Array(form.utf8)] = number
                    }
                }
                number += 1
            }
        }
        count = Set(numbers.values).union(prefixes.map(\.number)).count
        joinedWords = number > 1 ? all : nil
        for word in Array(numbers.keys) + prefixes.map(\.bytes) {
            if let first = word.first { beginnings[Int(first)] = true }
        }
    }

    /// Returns the number of the query word that a word of a text matches; nil if there is none.
    func number(of word: Span<UInt8>) -> Int? {
        guard word.count > 0, beginnings[Int(word[0])] else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(word.count)
        for index in word.indices { bytes.append(word[index]) }
        return numbers[bytes] ?? prefixes.first { bytes.starts(with: $0.bytes) }?.number
    }

    /// The degree to which a short text, such as a title, matches the query.
    struct Share {
        /// The number of matching query words. One that matches only a part of a word, as in an identifier,
        /// counts half.
        var found = 0.0
        /// The number of words in the text.
        var total = 0.0
        /// Whether the text contains all query words in their order, without other words between them.
        var isInOrder = false
        /// Whether the text contains no other words.
        var isAll = true
    }

    /// Compares a short text with the query. Considers about the first 200 words.
    func share(of text: String) -> Share {
        var found: [Int: Double] = [:]
        var share = Share()
        // The number of consecutive query words, from the first one, that end here.
        var run = 0
        cutter.split(Array(text.utf8).span, for: .index) { word, _, isColocated in
            let number = number(of: word)
            if !isColocated { share.total += 1 }
            if let number { found[number] = max(found[number] ?? 0, isColocated ? 0.5 : 1) }
            if let joinedWords, word.count == joinedWords.count,
                joinedWords.indices.allSatisfy({ word[$0] == joinedWords[$0] })
            {
                for number in 0..<count { found[number] = 1 }
                share.isInOrder = true
            } else if !isColocated {
                if number == nil { share.isAll = false }
                run = number == run ? run + 1 : number == 0 ? 1 : 0
                if run == count { share.isInOrder = true }
            }
            return share.total < 200
        }
        share.found = found.values.reduce(0, +)
        return share
    }
}
