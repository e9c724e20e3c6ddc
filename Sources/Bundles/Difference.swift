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
    /// Returns the first difference between two bodies in memory; nil if they are equal.
    package static func first(expected: [UInt8], found: [UInt8]) -> Difference? {
        first(expected: pieces(expected), found: pieces(found))
    }

    /// Returns the first difference between two bodies that arrive in pieces; nil if they are equal. Keeps
    /// only one piece of each in memory.
    ///
    /// Both closures return the next piece, of any size, or nil at the end. They are not called again after
    /// that.
    package static func first<Failure: Error>(
        expected: () throws(Failure) -> [UInt8]?, found: () throws(Failure) -> [UInt8]?
    ) throws(Failure) -> Difference? {
        var meter = DifferenceMeter()
        while meter.difference == nil, let piece = try found() { try meter.update(piece, expected: expected) }
        return try meter.finish(expected: expected)
    }

    /// The difference with the two bodies exchanged.
    package var reversed: Difference {
        Difference(offset: offset, line: line, column: column, expected: found, found: expected)
    }

    private static func pieces(_ body: [UInt8]) -> () -> [UInt8]? {
        var rest: [UInt8]? = body
        return { rest.take() }
    }
}

// MARK: - DifferenceMeter

/// Finds the first difference between a body that arrives in pieces and the expected body. Keeps only one
/// piece of each in memory.
package struct DifferenceMeter {
    /// Nil as long as the bodies are equal.
    package private(set) var difference: Difference?
    private var place = TextPositionCounter()
    /// The rest of the current piece of the expected body.
    private var rest: ArraySlice<UInt8> = []
    private var hasEnded = false

    package init() {}

    /// Compares the next piece of the found body.
    ///
    /// - Parameter expected: returns the next piece of the expected body, of any size, or nil at its end. It
    ///   is not called again after that.
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

    /// Returns the difference after the end of the found body. Call it once.
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

// MARK: - TextPositionCounter

/// Counts lines and columns in a body that arrives in pieces.
struct TextPositionCounter {
    private var offset = 0
    private var line = 1
    private var column = 1
    /// CR, LF and CRLF each end one line.
    private var isAfterCR = false
    /// False after a NUL. Text contains none, and the columns of UTF-16 text would not help a reader.
    private var isText = true

    mutating func pass(_ bytes: some Collection<UInt8>) {
        for byte in bytes {
            switch byte {
            case 0x0A where isAfterCR: break
            case 0x0A, 0x0D:
                line += 1
                column = 1
            case 0: isText = false
            case 0x80...0xBF: break
            default: column += 1
            }
            isAfterCR = byte == 0x0D
        }
        offset += bytes.count
    }

    /// Returns the difference at this place, given the bytes that follow on both sides.
    func difference(expected: ArraySlice<UInt8>, found: ArraySlice<UInt8>) -> Difference {
        let isText =
            isText && !expected.prefix(Self.nearby).contains(0) && !found.prefix(Self.nearby).contains(0)
        // A continuation byte of UTF-8 belongs to the column of its scalar, which was counted already.
        let isInside = [expected.first, found.first].contains { $0.map { $0 & 0xC0 == 0x80 } ?? false }
        return Difference(
            offset: offset, line: isText ? line : nil,
            column: isText ? max(1, isInside ? column - 1 : column) : nil,
            expected: expected.first, found: found.first)
    }

    /// The number of bytes after the difference in which a NUL still means that the body is not text.
    private static let nearby = 512
}
