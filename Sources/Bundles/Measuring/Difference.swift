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
        var meter = DifferenceMeter()
        while meter.difference == nil, let piece = try found() { try meter.update(piece, expected: expected) }
        return try meter.finish(expected: expected)
    }

    /// Seen from the other body.
    package var reversed: Difference {
        Difference(offset: offset, line: line, column: column, expected: found, found: expected)
    }

    private static func pieces(_ body: [UInt8]) -> () -> [UInt8]? {
        var rest: [UInt8]? = body
        return { rest.take() }
    }
}
