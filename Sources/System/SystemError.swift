internal import Glibc

/// An error of a system call. Its message says what failed, why, and what to do.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    package let doing: String
    package let subject: String
    /// The error number (`errno`).
    package let code: Int32
    package let reason: String
    /// What to do; nil if only the caller knows.
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

    /// The message without advice, for callers that add their own.
    package var problem: String { "cannot \(doing) \(subject): \(reason)" }

    package var description: String { advice.map { "\(problem); \($0)" } ?? problem }

    /// The text of the system for an error number.
    package static func text(of code: Int32) -> String { String(cString: strerror(code)) }

    /// The text for the last error of this thread.
    package static var lastText: String { text(of: errno) }
}
