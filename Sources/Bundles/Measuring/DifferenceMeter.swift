/// Finds where a body first differs from the right one while its pieces come, in the memory of one piece of each.
package struct DifferenceMeter {
    /// Nil as long as everything is the same.
    package private(set) var difference: Difference?
    private var place = TextPlace()
    /// What is left of the right body's piece.
    private var rest: ArraySlice<UInt8> = []
    private var hasEnded = false

    package init() {}

    /// Takes the next piece of the body that was found.
    ///
    /// - Parameter expected: gives the next piece of the right one, of any size, and nil at its end, after which it is not called
    ///   again.
    package mutating func update<Failure: Error>(
        _ piece: [UInt8], expected: () throws(Failure) -> [UInt8]?
    ) throws(Failure) {
        var found = piece[...]
        while difference == nil, !found.isEmpty {
            try fill(expected)
            let same = Self.commonCount(rest, found)
            place.pass(found.prefix(same))
            let isDifferent = same < found.count && (same < rest.count || hasEnded)
            rest = rest.dropFirst(same)
            found = found.dropFirst(same)
            if isDifferent { difference = place.difference(expected: rest, found: found) }
        }
    }

    /// The body that was found has ended. To be called once.
    package mutating func finish<Failure: Error>(
        expected: () throws(Failure) -> [UInt8]?
    ) throws(Failure) -> Difference? {
        if difference == nil {
            try fill(expected)
            if !rest.isEmpty { difference = place.difference(expected: rest, found: []) }
        }
        return difference
    }

    private mutating func fill<Failure: Error>(_ next: () throws(Failure) -> [UInt8]?) throws(Failure) {
        while rest.isEmpty, !hasEnded {
            if let piece = try next() { rest = piece[...] } else { hasEnded = true }
        }
    }

    private static func commonCount(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Int {
        left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in
                let count = min(left.count, right.count)
                var at = 0
                while at < count, left[at] == right[at] { at += 1 }
                return at
            }
        }
    }
}
