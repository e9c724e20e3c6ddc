/// How a body differs from what was expected of it.
package struct Mismatch: Sendable, Equatable, CustomStringConvertible {
    /// Those that did not hold; the others did, or could not be looked at. Never empty.
    package let failures: [Claim.Failure]
    /// Of the decoded body; nil when nobody said how long it should be.
    package private(set) var expectedByteCount: Int?
    /// Nil when nobody counted.
    package let foundByteCount: Int?
    /// Where the body first differs from the right one, for whoever has both.
    package private(set) var difference: Difference?

    init(failures: [Claim.Failure], expectedByteCount: Int?, foundByteCount: Int?) {
        self.failures = failures
        self.expectedByteCount = expectedByteCount
        self.foundByteCount = foundByteCount
    }

    /// - Parameter byteCount: the right body's, of which nobody may have said how long it is.
    package mutating func add(_ difference: Difference, from byteCount: Int?) {
        self.difference = difference
        expectedByteCount = expectedByteCount ?? byteCount
    }

    /// The sizes are among what does not agree.
    package var isOfSizes: Bool { failures.contains { $0.source == Claim.sizeSource } }

    package var description: String {
        var parts = failures.map { failure in
            let source = failures.count > 1 ? "\(failure.source): " : ""
            let hint = failure.hint.map { " (\($0))" } ?? ""
            return "\(source)expected \(failure.expected), found \(failure.found)\(hint)"
        }
        if let difference { parts.append(difference.description) }
        return parts.joined(separator: "; ")
    }
}
