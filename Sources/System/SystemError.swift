internal import Glibc

/// An error of a system call. Its message says which operation failed, why, and how to resolve it.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The verb of the failed operation, such as "open".
    package let doing: String
    /// The object of the failed operation, usually a path.
    package let subject: String
    /// The error number (`errno`).
    package let code: Int32
    /// The reason; the system's text for `code` by default.
    package let reason: String
    /// Advice for the user; nil if only the caller can give it.
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

    /// The system's text for an error number.
    package static func text(of code: Int32) -> String { String(cString: strerror(code)) }

    /// The system's text for the last error of this thread (`errno`).
    package static var lastText: String { text(of: errno) }
}
