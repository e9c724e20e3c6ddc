/// The first difference between two bodies.
package struct Difference: Sendable, Equatable, CustomStringConvertible {
    /// The number of equal bytes before it.
    package let offset: Int
    /// Counted from 1, in Unicode scalars; nil if the bodies are not text.
    package let line: Int?
    package let column: Int?
    /// Nil if the expected body ends here.
    package let expected: UInt8?
    /// Nil if the found body ends here.
    package let found: UInt8?

    package var description: String {
        let place =
            if let line, let column { "line \(line), column \(column), byte \(offset)" } else {
                "byte \(offset)"
            }
        switch (expected, found) {
        case (nil, _): return "it continues after the end of the expected one, at \(place)"
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
    /// Either closure gives the next piece each time, of any size, and nil at the end, after which it is not
    /// called again.
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

// MARK: - DifferenceMeter

/// Finds where a body first differs from the right one while its pieces come, in the memory of one piece of
/// each.
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
    /// - Parameter expected: gives the next piece of the right one, of any size, and nil at its end, after
    ///   which it is not called again.
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

// MARK: - TextPlace

/// Follows line and column through a body that comes in pieces.
struct TextPlace {
    private var offset = 0
    private var line = 1
    private var column = 1
    /// CR, LF and CRLF end one line each.
    private var isBehindCR = false
    /// No text has a NUL; what is written in UTF-16 has them everywhere, and no columns that anyone could
    /// find again.
    private var isText = true

    mutating func pass(_ bytes: some Collection<UInt8>) {
        for byte in bytes {
            switch byte {
            case 0x0A where isBehindCR: break
            case 0x0A, 0x0D:
                line += 1
                column = 1
            case 0: isText = false
            case 0x80...0xBF: break
            default: column += 1
            }
            isBehindCR = byte == 0x0D
        }
        offset += bytes.count
    }

    /// The difference between what follows here on both sides.
    func difference(expected: ArraySlice<UInt8>, found: ArraySlice<UInt8>) -> Difference {
        let isText =
            isText && !expected.prefix(Self.nearby).contains(0) && !found.prefix(Self.nearby).contains(0)
        // A byte that goes on with a scalar differs within the column of that scalar.
        let isInside = [expected.first, found.first].contains { $0.map { $0 & 0xC0 == 0x80 } ?? false }
        return Difference(
            offset: offset, line: isText ? line : nil,
            column: isText ? max(1, isInside ? column - 1 : column) : nil,
            expected: expected.first, found: found.first)
    }

    /// How far behind the difference a NUL still says that this is no text.
    private static let nearby = 512
}
