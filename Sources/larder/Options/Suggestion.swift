/// What a mistyped word probably meant.
enum Suggestion {
    /// Nil when nothing is close.
    static func closest(to word: String, among candidates: [String]) -> String? {
        let distances = candidates.map { (distance(Array(word.utf8), Array($0.utf8)), $0) }
        guard let best = distances.min(by: { $0.0 < $1.0 }), best.0 <= max(2, word.utf8.count / 3) else { return nil }
        return best.1
    }

    /// How many bytes must be put in, left out or changed (Levenshtein).
    private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var previous = Array(0...second.count)
        for (row, byte) in first.enumerated() {
            var current = [row + 1]
            for (column, other) in second.enumerated() {
                let changed = previous[column] + (byte == other ? 0 : 1)
                current.append(min(changed, previous[column + 1] + 1, current[column] + 1))
            }
            previous = current
        }
        return previous[second.count]
    }
}
