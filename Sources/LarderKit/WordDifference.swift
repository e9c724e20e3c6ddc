/// The difference between two texts of a page: how alike they are, and the first line that differs.
struct WordDifference: CustomStringConvertible {
    /// The first line that differs, for messages.
    let description: String
    /// The share of words that both texts have, from 0 to 1. Words with digits, such as times, do not count.
    let likeness: Double
    /// The share of the words of the first text that the second one has too, from 0 to 1.
    let sharedPart: Double

    /// Compares two texts of a page; nil if they are equal.
    init?(_ then: String, _ now: String) {
        guard then != now else { return nil }
        (likeness, sharedPart) = Self.likeness(then, now)
        let (before, after) = (Self.lines(then), Self.lines(now))
        let change = after.difference(from: before)
        let gone = change.removals.first.flatMap { Self.line(of: $0) }
        let new = change.insertions.first.flatMap { Self.line(of: $0) }
        description =
            switch (gone, new) {
            case (let gone?, let new?): "\"\(new)\" instead of \"\(gone)\""
            case (let gone?, nil): "without \"\(gone)\""
            case (nil, let new?): "with \"\(new)\" in addition"
            case (nil, nil): "in white space only"
            }
    }

    private static func lines(_ text: String) -> [String] {
        text.utf8.split(separator: 0x0A).prefix(maxLines).map { line in
            line.split(separator: 0x20).map { String(Substring($0)) }.joined(separator: " ")
        }.filter { !$0.isEmpty }
    }

    /// The maximum number of lines that are compared. Later ones are ignored.
    private static let maxLines = 2000

    private static func likeness(_ then: String, _ now: String) -> (both: Double, first: Double) {
        let (before, after) = (counts(then), counts(now))
        let total = before.values.reduce(0, +) + after.values.reduce(0, +)
        guard total > 0 else { return then.isEmpty == now.isEmpty ? (1, 1) : (0, 0) }
        let common = before.reduce(0) { $0 + min($1.value, after[$1.key] ?? 0) }
        let first = before.values.reduce(0, +)
        return (Double(2 * common) / Double(total), first == 0 ? 1 : Double(common) / Double(first))
    }

    /// How often each word occurs. In Thai, Lao, Chinese and similar scripts, which have no spaces between words, each
    /// character counts as a word.
    private static func counts(_ text: String) -> [Substring: Int] {
        var counts: [Substring: Int] = [:]
        for word in text.split(whereSeparator: \.isWhitespace) {
            if word.unicodeScalars.contains(where: { $0.value >= 0x2E80 || 0x0E00...0x0EFF ~= $0.value }) {
                for place in word.indices { counts[word[place...place], default: 0] += 1 }
            } else if !word.utf8.contains(where: \.isASCIIDigit) {
                counts[word, default: 0] += 1
            }
        }
        return counts
    }

    private static func line(of change: CollectionDifference<String>.Change) -> String? {
        let line =
            switch change {
            case .insert(_, let line, _), .remove(_, let line, _): line
            }
        return line.unicodeScalars.count > 60 ? String(line.prefix(60)) + "…" : line
    }
}
