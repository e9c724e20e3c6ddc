/// A set of row ids, most of which are small and close together: a bit set for small ids, and a hash set for the
/// rest. SQL functions look up millions of ids in it (`Connection.define`).
package struct NumberSet: Sendable {
    private var words: [UInt64] = []
    /// Ids that are too large for the bit set.
    private var others: Set<Int64> = []

    package init(_ numbers: [Int64] = []) {
        for number in numbers { insert(number) }
    }

    /// Adds a number. The bit set at least doubles when it grows, so that many insertions take linear time.
    package mutating func insert(_ number: Int64) {
        guard Self.smallIDs.contains(number) else {
            others.insert(number)
            return
        }
        let word = Int(number >> 6)
        if word >= words.count {
            words.append(contentsOf: repeatElement(0, count: max(word + 1, words.count * 2) - words.count))
        }
        words[word] |= 1 << UInt64(number & 63)
    }

    package func contains(_ number: Int64) -> Bool {
        guard Self.smallIDs.contains(number) else { return others.contains(number) }
        let word = Int(number >> 6)
        return word < words.count && words[word] & 1 << UInt64(number & 63) != 0
    }

    /// The ids in the bit set, which takes at most 16 MB for them. A damaged database may have any other ids.
    private static let smallIDs: Range<Int64> = 0..<1 << 27
}
