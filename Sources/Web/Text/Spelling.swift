/// Suggests corrections for mistyped words.
package enum Spelling {
    /// Returns the candidate with the smallest edit distance; nil if none is close.
    package static func closest(to word: String, among candidates: [String]) -> String? {
        let bytes = Array(word.utf8)
        // Longer texts are not typing errors, and the time is quadratic.
        guard bytes.count <= 64 else { return nil }
        let distances = candidates.map { (distance: distance(bytes, Array($0.utf8)), text: $0) }
        guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, bytes.count / 4) ? best.text : nil
    }

    /// The edit distance in bytes, where swapping two adjacent bytes counts as one edit.
    private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for (row, byte) in first.enumerated() {
            var current = [row + 1]
            for (column, other) in second.enumerated() {
                let changed = previous[column] + (byte == other ? 0 : 1)
                var least = min(changed, previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, byte == second[column - 1], first[row - 1] == other {
                    least = min(least, beforePrevious[column - 1] + 1)
                }
                current.append(least)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[second.count]
    }
}
