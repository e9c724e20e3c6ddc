internal import Glibc
package import System

/// What of a call would be changed to get further, where a message says so: the command has an option for
/// each, which it names behind the message.
///
/// ```swift
/// do { try await larder.status() } catch where error.remedy == .larder { print("is there a larder elsewhere?") }
/// ```
public enum Remedy: Sendable, Equatable {
    /// Another larder.
    case larder
    /// Another larder, or `ServeOptions.mayBeEmpty`.
    case newLarder
    /// `Larder.inspect`, which repairs.
    case repair
    /// `CheckOptions.bases`, or the base of a manifest that is prefetched.
    case base
    /// `CheckOptions.format`: the form that it most likely has.
    case format(String)
    /// `ServeOptions.root`.
    case root
    /// The port that is listened at.
    case port
    /// `ServeOptions.address`.
    case address
    /// `ProxyOptions.login`.
    case proxyLogin
    /// To say what the name is that was given, one of two or more.
    case pinKind([PinKind])
    /// `SitePlan.maxPages`.
    case maxPages
    /// `CrawlLimits.byteCount`.
    case maxBytes
    /// `CrawlLimits.time`.
    case maxTime
    /// `ScopeOptions.depth`.
    case depth
    /// `SitePlan.nofollow`.
    case nofollow
    /// `PrefetchOptions.patience`.
    case patience
    /// `PrefetchOptions.browser`.
    case browser
    /// `ExportOptions.hasPrivate`.
    case privateToo
    /// `Larder.takeIn(_:into:at:)`.
    case folderAddress
    /// The site of `Larder.takeIn(_:into:)`: this stored one, or a new one.
    case siteName(String)
}

/// What stopped the store: what was being done, to what, why it failed and what to try next.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        /// What was asked for is not there, or cannot be done: whoever asked can mend it.
        case request
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
        /// The PostgreSQL does not answer, or has hung up.
        case unreachable
        /// The disk or SQLite failed in another way.
        case failed
    }

    package let reason: Reason
    package let doing: String
    package let path: String
    package let detail: String
    package let advice: String
    /// With what the advice ends.
    package let remedy: Remedy?

    package init(
        _ reason: Reason, doing: String, path: String, detail: String, advice: String? = nil,
        remedy: Remedy? = nil
    ) {
        self.reason = reason
        self.doing = doing
        self.path = path
        self.detail = detail
        self.advice = advice ?? Self.usualAdvice(for: reason)
        self.remedy = advice == nil ? Self.usualRemedy(for: reason) : remedy
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
        let isOfFiles = code == EMFILE || code == ENFILE
        self.init(
            reason, doing: doing, path: path, detail: SystemError.text(of: code),
            advice: isOfFiles ? "allow more open files (ulimit -n), then run the same command again" : nil)
    }

    package init(_ error: SystemError) {
        let told = StoreError(error.code, doing: error.doing, path: error.subject)
        self.init(
            told.reason, doing: error.doing, path: error.subject, detail: error.reason, advice: error.advice)
    }

    /// What the system refuses, as the store's error.
    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(StoreError) -> Value {
        do throws(SystemError) { return try body() } catch { throw StoreError(error) }
    }

    package var description: String { "\(problem); \(advice)" }

    /// Without what to try next.
    package var problem: String { "cannot \(doing) \(path): \(detail)" }

    private static func usualAdvice(for reason: Reason) -> String {
        switch reason {
        case .request: "name another one"
        case .missing: "prefetch a site into it first, or name another store"
        case .busy: "wait for the other process to end, then try again"
        case .full: "free some space, then run the same command again"
        case .denied: "check the folder's owner and permissions, or name another store"
        case .unusable: "restore this one from a copy, or name another store"
        case .unreachable: "see that the server runs, then run the same command again"
        case .failed: "check the disk, then run the same command again"
        }
    }

    private static func usualRemedy(for reason: Reason) -> Remedy? {
        switch reason {
        case .missing, .denied, .unusable: .larder
        case .request, .busy, .full, .unreachable, .failed: nil
        }
    }
}

/// Every bound of the store, in one place.
package enum Limits {
    /// Bodies up to here live inside the database.
    package static let inlineBody = 1024
    /// Bodies up to here live in packs, larger ones are files.
    package static let packedBody = 1024 * 1024
    /// Texts up to here live there as well where zstd makes so little of them.
    static let framedBody = 16 * 1024 * 1024
    /// Smaller ones stay as they are: a page of the disk is as much.
    static let leastFramed = 2 * 1024
    /// Larger ones that a PostgreSQL keeps are there in pieces of this size.
    static let serverPiece = 2 * 1024 * 1024
    /// Bodies up to here stay in rows where larger ones are in a folder or a bucket, unless the address says
    /// otherwise: of 36,093 files of documentation, 5 in 100 are larger and have 65 % of the bytes, and each costs a
    /// request.
    static let rowBody = 64 * 1024
    /// What no row names and came there lately may be about to be named.
    static let secondsOfStrays: Int64 = 60 * 60
    /// Files there that no writer has ended by then are nobody's.
    static let secondsOfDrafts: Int64 = 24 * 60 * 60
    /// So many bytes of copies of them are kept at most.
    static let serverCopies: Int64 = 4 * 1024 * 1024 * 1024
    /// A pack of this size is not appended to any more.
    static let packSize: Int64 = 256 * 1024 * 1024
    /// A transaction is committed when so many bytes of bodies, or so many rows and links, are in it, or
    /// after this time.
    static let openBodyBytes = 32 * 1024 * 1024
    static let openRowBytes = 1024 * 1024
    /// What a writer keeps of the database in memory: what does not fit is written more than once in a
    /// transaction.
    static let writerCacheKiB = 8 * 1024
    /// The same as `writerCacheKiB` while rows are taken away by the million.
    static let collectorCacheKiB = 48 * 1024
    /// So many bodies a reader counts itself: by then they are kept as a sum.
    static let uncountedBodies = 4096
    /// What a reader keeps at most. With SQLite's own 2 MB a list of 10,000 URLs reads each page 40 times.
    static let readerCacheKiB = 8 * 1024
    /// The same where a site is gone through to and fro: with less, each page of lists of links is read twice.
    static let walkCacheKiB = 32 * 1024
    /// How often a transaction is tried that fails because of another session. PostgreSQL ends one of those that wait for
    /// each other, and the others go on: among several writers it may be the same one many times.
    static let attempts = 32
    /// Rewrites the journal above twice its size after the last rewrite plus this number of bytes.
    static let journalSlack: Int64 = 256 * 1024
    static let openTime = Duration.milliseconds(250)
    /// How much may wait for the writer before those who add have to wait.
    static let queuedBytes = 2 * 1024 * 1024
    /// An interrupted visit is gone on with for so long; afterwards its site is visited anew.
    static let secondsToContinue: Int64 = 24 * 60 * 60
    /// The same of one that ended by a limit, and is served as far as it came: a large site may take some
    /// nights.
    static let secondsToGoBeyond: Int64 = 14 * 24 * 60 * 60
    /// How long a connection waits for another process to let go of the database.
    static let busyMilliseconds = 10_000
}
