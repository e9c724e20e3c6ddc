internal import Glibc
package import System

/// What stopped the store: what was being done, to what, why it failed and what to try next.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        /// There is no store at the path.
        case missing
        /// Another process holds the site, or the database for longer than we wait.
        case busy
        /// The disk is full.
        case full
        /// The path cannot be read or written by this user.
        case denied
        /// What is there is not ours, newer than we are, or damaged.
        case unusable
        /// The disk or SQLite failed in another way.
        case failed
    }

    package let reason: Reason
    package let doing: String
    package let path: String
    package let detail: String
    package let advice: String

    package init(_ reason: Reason, doing: String, path: String, detail: String, advice: String? = nil) {
        self.reason = reason
        self.doing = doing
        self.path = path
        self.detail = detail
        self.advice = advice ?? Self.usualAdvice(for: reason)
    }

    /// What a call of the system gave.
    init(_ code: Int32, doing: String, path: String) {
        let reason: Reason =
            switch code {
            case EACCES, EPERM, EROFS, ENOTDIR: .denied
            case ENOSPC, EDQUOT: .full
            case ENOENT: .missing
            default: .failed
            }
        self.init(reason, doing: doing, path: path, detail: SystemError.text(of: code))
    }

    package init(_ error: SystemError) {
        let told = StoreError(error.code, doing: error.doing, path: error.subject)
        self.init(told.reason, doing: error.doing, path: error.subject, detail: error.reason, advice: error.advice)
    }

    /// What the system refuses, as the store's error.
    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(StoreError) -> Value {
        do throws(SystemError) { return try body() } catch { throw StoreError(error) }
    }

    package var description: String { "cannot \(doing) \(path): \(detail); \(advice)" }

    private static func usualAdvice(for reason: Reason) -> String {
        switch reason {
        case .missing: "prefetch a site into it first, or name another store with --store"
        case .busy: "wait for the other process to end, then try again"
        case .full: "free some space, then run the same command again"
        case .denied: "check the folder's owner and permissions, or name another store with --store"
        case .unusable: "name another store with --store, or restore this one from a copy"
        case .failed: "check the disk, then run the same command again"
        }
    }
}
