internal import Glibc

/// What the system refused: what was being done, to what, why it failed and what to try next.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    package let doing: String
    package let subject: String
    /// The number that the call gave (`errno`).
    package let code: Int32
    package let reason: String
    /// Nil where it is for the caller to know.
    package let advice: String?

    package init(
        _ code: Int32, doing: String, _ subject: String, reason: String? = nil, advice: String? = nil
    ) {
        self.code = code
        self.doing = doing
        self.subject = subject
        self.reason = reason ?? Self.text(of: code)
        self.advice = advice
    }

    /// Without the advice, for those who have one of their own.
    package var problem: String { "cannot \(doing) \(subject): \(reason)" }

    package var description: String { advice.map { "\(problem); \($0)" } ?? problem }

    /// The system's words for the number of an error.
    package static func text(of code: Int32) -> String { String(cString: strerror(code)) }

    /// The last one's, on this thread.
    package static var lastText: String { text(of: errno) }
}
