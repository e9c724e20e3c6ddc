internal import Store
package import Web

/// A piece of a text around what was looked for, in parts of which some are it.
public struct Snippet: Sendable, Equatable {
    public struct Part: Sendable, Equatable {
        public let text: String
        /// It is what was looked for.
        public let isMarked: Bool
    }

    public package(set) var parts: [Part] = []
    /// Where in the text the first of it stands.
    package private(set) var place: Int?

    public var text: String { parts.map(\.text).joined() }

    /// About so many bytes are shown.
    private static let length = 220
    /// So far the texts of one answer are looked through, all together.
    static let reach = 2 << 20
    /// And at least so far each of them.
    static let leastReach = 32 << 10
    /// Behind a piece that has all the words, so far for a better one.
    private static let further = 8 << 10
    private static let mostHits = 2000

    private struct Hit {
        let place: Range<Int>
        let word: Int
    }

    /// The piece with the most different words of the question, and of those the one that has them closest
    /// together: of the beginning of the text, where that has one with all of them.
    ///
    /// - Parameter reach: Takes from it what was looked through.
    package init(of body: [UInt8], _ words: SoughtWords, reach: inout Int) {
        var hits: [Hit] = []
        // Of each word where it stood last.
        var last: [Int: Int] = [:]
        let wordCount = words.count
        var end = body.count
        words.cutter.cut(body.span, for: .index) { word, place, isColocated in
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
            return hits.count < Self.mostHits
        }
        reach -= min(end, body.count)
        let best = Self.best(hits)
        let start = best.first.map { hits[$0].place.lowerBound } ?? 0
        place = best.isEmpty ? nil : start
        let shown = Self.window(body, around: start, to: best.last.map { hits[$0].place.upperBound } ?? 0)
        fill(
            body, shown,
            best.isEmpty
                ? []
                : hits.filter {
                    shown.contains($0.place.lowerBound) && $0.place.upperBound <= shown.upperBound
                })
    }

    /// A sentence in place of a piece of text.
    package init(plain text: String) {
        if !text.isEmpty { parts = [Part(text: text, isMarked: false)] }
    }

    /// Which of the hits are in the best piece.
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

    /// Whole words around a place, of the lines there.
    private static func window(_ body: [UInt8], around start: Int, to end: Int) -> Range<Int> {
        let spare = max(0, length - (end - start))
        var lower = max(0, start - spare / 3)
        // Not into the line before, where it is another block far away.
        if let line = body[lower..<min(start, body.count)].lastIndex(of: 0x0A) { lower = line + 1 }
        while lower > 0, lower < start, body[lower - 1] != 0x20, body[lower - 1] != 0x0A { lower += 1 }
        var upper = min(body.count, lower + length)
        while upper < body.count, upper > end, body[upper] != 0x20, body[upper] != 0x0A { upper -= 1 }
        if upper <= max(end, lower) { upper = min(body.count, lower + length) }
        while lower < upper, body[lower] & 0xC0 == 0x80 { lower += 1 }
        while upper < body.count, upper > lower, body[upper] & 0xC0 == 0x80 { upper -= 1 }
        return lower..<upper
    }

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
            parts[0] = Part(text: "…" + first.text, isMarked: first.isMarked)
        }
        if shown.upperBound < body.count, !parts.isEmpty { parts.append(Part(text: "…", isMarked: false)) }
    }
}

/// The words of a question, as they are looked for in a text. It belongs to one thread.
package final class SoughtWords {
    let cutter: WordCutter
    private var numbers: [[UInt8]: Int] = [:]
    private var prefixes: [(bytes: [UInt8], number: Int)] = []
    /// How many different words there are.
    let count: Int
    /// All of them as one word, as names of files write them; nil where there is but one.
    private let together: [UInt8]?
    /// Whether one of them begins with a byte: by far the most words of a text are told by that.
    private var beginnings = [Bool](repeating: false, count: 256)

    /// - Parameter cutter: to be used again and again: it learns how characters are folded.
    package init(_ question: SearchQuestion, lastBegins: Bool, _ cutter: WordCutter = WordCutter()) {
        self.cutter = cutter
        var number = 0
        var all: [UInt8] = []
        let terms = question.counted.flatMap(\.terms)
        for (index, term) in terms.enumerated() {
            let isPrefix = term.isPrefix || lastBegins && index == terms.count - 1 && term.words.count == 1
            for word in term.words {
                let bytes = Array(word.utf8)
                all += bytes
                if isPrefix { prefixes.append((bytes, number)) } else { numbers[bytes] = number }
                if !term.isQuoted, term.words.count == 1 {
                    for other in Inflections.of(bytes.span) where numbers[other] == nil {
                        numbers[other] = number
                    }
                }
                number += 1
            }
        }
        count = Set(numbers.values).union(prefixes.map(\.number)).count
        together = number > 1 ? all : nil
        for word in Array(numbers.keys) + prefixes.map(\.bytes) {
            if let first = word.first { beginnings[Int(first)] = true }
        }
    }

    func number(of word: Span<UInt8>) -> Int? {
        guard word.count > 0, beginnings[Int(word[0])] else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(word.count)
        for index in word.indices { bytes.append(word[index]) }
        return numbers[bytes] ?? prefixes.first { bytes.starts(with: $0.bytes) }?.number
    }

    /// What a short text, such as a title, has of the words.
    struct Share {
        /// How many of them. A word that is only a part of one, as in an identifier, counts half.
        var found = 0.0
        /// How many words it has itself.
        var total = 0.0
        /// It has all of them, one behind the other.
        var isInOrder = false
        /// It has nothing else.
        var isAll = true
    }

    func share(of text: String) -> Share {
        var found: [Int: Double] = [:]
        var share = Share()
        // So many of the words stand right before.
        var run = 0
        cutter.cut(Array(text.utf8).span, for: .index) { word, _, isColocated in
            let number = number(of: word)
            if !isColocated { share.total += 1 }
            if let number { found[number] = max(found[number] ?? 0, isColocated ? 0.5 : 1) }
            if let together, word.count == together.count,
                together.indices.allSatisfy({ word[$0] == together[$0] })
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
