internal import Glibc
package import System

/// The option of a call that resolves an error. The command appends the name of its own option to the
/// message.
///
/// ```swift
/// do { try await larder.status() } catch where error.remedy == .larder { print("name another store") }
/// ```
public enum Remedy: Sendable, Equatable {
    /// Another store.
    case larder
    /// Another store, or `ServeOptions.mayBeEmpty`.
    case newLarder
    /// `Larder.inspect`, to repair the store.
    case repair
    /// `CheckOptions.bases`, or the base of the manifest to prefetch.
    case base
    /// `CheckOptions.format`, with the most likely format.
    case format(String)
    /// `ServeOptions.root`.
    case root
    /// The port to listen on.
    case port
    /// `ServeOptions.address`.
    case address
    /// `ProxyOptions.login`.
    case proxyLogin
    /// The kind of pin, if a name fits several.
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
    /// `ScopeOptions.allowedActions`.
    case allowActions
    /// `ScopeOptions.includesHistory`.
    case includeHistory
    /// `ScopeOptions.includesForms`.
    case includeForms
    /// `ScopeOptions.includesViews`.
    case includeViews
    /// `PrefetchOptions.patience`.
    case patience
    /// `PrefetchOptions.browser`.
    case browser
    /// `ExportOptions.hasPrivate`.
    case privateToo
    /// `ExportOptions.replacesFile`.
    case replaceFile
    /// `Larder.takeIn(_:into:at:)`.
    case folderAddress
    /// The site of `Larder.takeIn(_:into:)`: this stored site or a new one.
    case siteName(String)
}

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
    package let doing: String
    package let path: String
    package let detail: String
    package let advice: String
    /// The option that completes the advice.
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

    /// The error for an `errno` of a system call.
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

    /// The error for a failed system call, with its own message and advice.
    package init(_ error: SystemError) {
        let told = StoreError(error.code, doing: error.doing, path: error.subject)
        self.init(
            told.reason, doing: error.doing, path: error.subject, detail: error.reason, advice: error.advice)
    }

    /// Runs `body` and turns its `SystemError` into a `StoreError`.
    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(StoreError) -> Value {
        do throws(SystemError) { return try body() } catch { throw StoreError(error) }
    }

    package var description: String { "\(problem); \(advice)" }

    /// The message without the advice.
    package var problem: String { "cannot \(doing) \(path): \(detail)" }

    private static func usualAdvice(for reason: Reason) -> String {
        switch reason {
        case .request: "name another one"
        case .missing: "prefetch a site into it first, or name another store"
        case .busy: "wait for the other process to end, then try again"
        case .full: "free some space, then run the same command again"
        case .denied: "check the folder's owner and permissions, or name another store"
        case .unusable: "restore it from a backup, or name another store"
        case .unreachable: "check that the server is running, then run the same command again"
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

/// The limits of the store.
package enum Limits {
    /// The maximum size of bodies in the database, in bytes.
    package static let inlineBody = 1024
    /// The maximum size of bodies in packs, in bytes. Larger ones are stored in files of their own.
    package static let packedBody = 1024 * 1024
    /// The maximum size of texts in packs, in bytes, if zstd compresses them to at most `packedBody` bytes.
    static let framedBody = 16 * 1024 * 1024
    /// The minimum size of bodies that are compressed, in bytes. Smaller ones fit into a disk block anyway.
    static let leastFramed = 2 * 1024
    /// The size of the pieces of large bodies in PostgreSQL, in bytes.
    static let serverPiece = 2 * 1024 * 1024
    /// The maximum size of bodies in PostgreSQL, in bytes, if larger ones are in a folder or bucket. The
    /// address of the store can change it. Of 36,093 files of documentation, 5 % are larger and have 65 % of
    /// the bytes; each of these costs a request.
    static let rowBody = 64 * 1024
    /// How long unreferenced bodies in a folder or bucket are kept, since a writer may be about to add their
    /// rows.
    static let secondsOfStrays: Int64 = 60 * 60
    /// The age at which unfinished files in such a folder count as abandoned.
    static let secondsOfDrafts: Int64 = 24 * 60 * 60
    /// The maximum size of the local copies of bodies from a server, in bytes.
    static let serverCopies: Int64 = 4 * 1024 * 1024 * 1024
    /// The size at which a pack is complete, in bytes.
    static let packSize: Int64 = 256 * 1024 * 1024
    /// The sizes of bodies, and of rows and links, at which a transaction is committed, in bytes. It is
    /// committed after `openTime` in any case.
    static let openBodyBytes = 32 * 1024 * 1024
    static let openRowBytes = 1024 * 1024
    /// The page cache of a writer. Pages that do not fit are written more than once in a transaction.
    static let writerCacheKiB = 8 * 1024
    /// The page cache of a collection, which removes millions of rows.
    static let collectorCacheKiB = 48 * 1024
    /// The maximum number of bodies that a reader counts itself. Beyond it, the sum is stored.
    static let uncountedBodies = 4096
    /// The page cache of a reader. With SQLite's default of 2 MB, a list of 10,000 URLs reads each page 40
    /// times.
    static let readerCacheKiB = 8 * 1024
    /// The page cache of a walk through a site. With less, each page of link lists is read twice.
    static let walkCacheKiB = 32 * 1024
    /// The number of attempts at a transaction that fails because of another session. PostgreSQL aborts one
    /// of the transactions in a deadlock, and with several writers it may be the same one many times.
    static let attempts = 32
    /// The journal is rewritten above twice its size after the last rewrite plus this number of bytes.
    static let journalSlack: Int64 = 256 * 1024
    /// The time after which an open transaction is committed.
    static let openTime = Duration.milliseconds(250)
    /// The maximum queue of the writer, in bytes. Beyond it, callers that add to it wait.
    static let queuedBytes = 2 * 1024 * 1024
    /// How long an interrupted snapshot can be continued. Afterwards, the next run starts a new snapshot.
    static let secondsToContinue: Int64 = 24 * 60 * 60
    /// How long a live snapshot that ended at a limit can be continued. A large site may take several nights.
    static let secondsToGoBeyond: Int64 = 14 * 24 * 60 * 60
    /// How long a connection waits for a lock of the database or for an unreachable server.
    static let busyMilliseconds = 10_000
}
