internal import Glibc
package import System

/// An error of the store. Its message says what failed, why, and what to do: "cannot DOING PATH: DETAIL;
/// ADVICE".
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of an error, for callers that react to it.
    package enum Reason: Sendable, Equatable {
        /// The request is wrong: something does not exist or is not possible.
        case request
        /// The store does not exist.
        case missing
        /// Another process has locked the site, or the database for too long.
        case busy
        /// The disk is full.
        case full
        /// This user may not read or write the path.
        case denied
        /// The data is not a store, was written by a newer version, or is damaged.
        case unusable
        /// The PostgreSQL server does not answer or has closed the connection.
        case unreachable
        /// Any other failure of the disk or the database.
        case failed
    }

    package let reason: Reason
    /// The operation that failed, as an infinitive such as "open" or "write to".
    package let doing: String
    /// The path, address or name of the operation's object.
    package let path: String
    /// Why the operation failed.
    package let detail: String
    /// The advice for the user: what to do next.
    package let advice: String
    /// The option that completes the advice.
    package let remedy: Remedy?

    /// - Parameters:
    ///   - advice: nil for the usual advice for errors of this reason, with its remedy.
    ///   - remedy: ignored if `advice` is nil.
    package init(
        _ reason: Reason, doing: String, path: String, detail: String, advice: String? = nil,
        remedy: Remedy? = nil
    ) {
        self.reason = reason
        self.doing = doing
        self.path = path
        self.detail = detail
        self.advice = advice ?? Self.defaultAdvice(for: reason)
        self.remedy = advice == nil ? Self.defaultRemedy(for: reason) : remedy
    }

    /// The error for an `errno` of a system call.
    package init(_ code: Int32, doing: String, path: String) {
        let reason: Reason =
            switch code {
            case EACCES, EPERM, EROFS, ENOTDIR: .denied
            case ENOSPC, EDQUOT: .full
            case ENOENT: .missing
            default: .failed
            }
        self.init(
            reason, doing: doing, path: path, detail: SystemError.text(of: code),
            advice: Self.advice(afterErrno: code))
    }

    /// The error for a failed system call, with its own message and advice.
    package init(_ error: SystemError) {
        let classified = StoreError(error.code, doing: error.doing, path: error.subject)
        self.init(
            classified.reason, doing: error.doing, path: error.subject, detail: error.reason,
            advice: error.advice ?? Self.advice(afterErrno: error.code))
    }

    /// Runs `body` and turns its `SystemError` into a `StoreError`.
    package static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(StoreError) -> Value {
        do throws(SystemError) { return try body() } catch { throw StoreError(error) }
    }

    package var description: String { "\(problem); \(advice)" }

    /// The message without the advice.
    package var problem: String { "cannot \(doing) \(path): \(detail)" }

    /// The advice for values of `errno` to which that for the reason does not fit; nil for others.
    private static func advice(afterErrno code: Int32) -> String? {
        switch code {
        case EMFILE, ENFILE: "allow more open files (ulimit -n), then run the same command again"
        case EROFS: "copy the store to a place where you may write, with: larder store copy"
        default: nil
        }
    }

    private static func defaultAdvice(for reason: Reason) -> String {
        switch reason {
        case .request: "name another one"
        case .missing: "prefetch a site into it first (larder prefetch URL), or name another store"
        case .busy: "wait for the other process to end, then try again"
        case .full: "free some space, then run the same command again"
        case .denied: "check the folder's owner and permissions, or name another store"
        case .unusable: "restore it from a backup, or name another store"
        case .unreachable: "check that the server is running, then run the same command again"
        case .failed: "check the disk, then run the same command again"
        }
    }

    private static func defaultRemedy(for reason: Reason) -> Remedy? {
        switch reason {
        case .missing, .denied, .unusable: .store
        case .request, .busy, .full, .unreachable, .failed: nil
        }
    }
}
