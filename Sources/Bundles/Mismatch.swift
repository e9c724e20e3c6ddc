/// How a body differs from what was expected of it.
package struct Mismatch: Sendable, Equatable, CustomStringConvertible {
    /// Those that did not hold; the others did, or could not be looked at. Never empty.
    package let failures: [Claim.Failure]
    /// Of the decoded body; nil when nobody said how long it should be.
    package let expectedByteCount: Int?
    /// Nil when nobody counted.
    package let foundByteCount: Int?
    /// Where the body first differs from the right one, for whoever has both.
    package var difference: Difference?

    init(failures: [Claim.Failure], expectedByteCount: Int?, foundByteCount: Int?) {
        self.failures = failures
        self.expectedByteCount = expectedByteCount
        self.foundByteCount = foundByteCount
    }

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
