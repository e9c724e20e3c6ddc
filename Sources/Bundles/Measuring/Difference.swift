/// Where two bodies first differ.
package struct Difference: Sendable, Equatable, CustomStringConvertible {
    /// How many bytes are the same.
    package let offset: Int
    /// Both count from 1, a column is one Unicode scalar; nil for bodies that are no text.
    package let line: Int?
    package let column: Int?
    /// Nil where the expected body has ended.
    package let expected: UInt8?
    /// Nil where the body that was found has ended.
    package let found: UInt8?

    package var description: String {
        let place =
            if let line, let column { "line \(line), column \(column), byte \(offset)" } else { "byte \(offset)" }
        switch (expected, found) {
        case (nil, _): return "it goes on behind the end of the right one, at \(place)"
        case (_, nil): return "it ends early, at \(place)"
        case (.some, .some): return "it first differs at \(place)"
        }
    }
}

extension Difference {
    /// Compares two bodies that are both in memory; nil when they are the same.
    package static func first(expected: [UInt8], found: [UInt8]) -> Difference? {
        first(expected: pieces(expected), found: pieces(found))
    }

    /// Compares two bodies as their pieces come, in the memory of one piece each; nil when they are the same.
    ///
    /// Either closure gives the next piece each time, of any size, and nil at the end, after which it is not called
    /// again.
    package static func first<Failure: Error>(
        expected: () throws(Failure) -> [UInt8]?, found: () throws(Failure) -> [UInt8]?
    ) throws(Failure) -> Difference? {
        var left = PieceReader()
        var right = PieceReader()
        var place = TextPlace()
        while true {
            try left.fill(expected)
            try right.fill(found)
            let count = min(left.rest.count, right.rest.count)
            guard count > 0 else {
                guard left.rest.first != nil || right.rest.first != nil else { return nil }
                return place.difference(expected: left.rest, found: right.rest)
            }
            let same = Self.commonCount(left.rest, right.rest, count)
            place.pass(left.rest.prefix(same))
            left.rest = left.rest.dropFirst(same)
            right.rest = right.rest.dropFirst(same)
            if same < count { return place.difference(expected: left.rest, found: right.rest) }
        }
    }

    private static func pieces(_ body: [UInt8]) -> () -> [UInt8]? {
        var rest: [UInt8]? = body
        return { rest.take() }
    }

    private static func commonCount(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>, _ count: Int) -> Int {
        left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in
                var at = 0
                while at < count, left[at] == right[at] { at += 1 }
                return at
            }
        }
    }
}

/// The piece that is being compared, and whether there are more.
private struct PieceReader {
    var rest: ArraySlice<UInt8> = []
    private var hasEnded = false

    mutating func fill<Failure: Error>(_ next: () throws(Failure) -> [UInt8]?) throws(Failure) {
        while rest.isEmpty, !hasEnded {
            if let piece = try next() { rest = piece[...] } else { hasEnded = true }
        }
    }
}
