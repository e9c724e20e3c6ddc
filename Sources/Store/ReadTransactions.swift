internal import Database

/// The transactions in which a `StoreReader` reads, and its reading lock. They belong to the reader's thread.
///
/// Without a transaction, each statement sees the newest state of the store. At most one transaction is open: that of
/// `inTransaction`, or one that many look-ups share, from `beginSharedRead` to `endSharedRead`.
package final class ReadTransactions {
    private let connection: Connection
    private let readingLock: ReadersLock
    /// Whether this reader has the reading lock now.
    private var isLocked = false
    /// The number of calls of `beginSharedRead` that share the open transaction; nil if there is none.
    private var lookupsInSharedRead: Int?
    /// Reads SQLite's `data_version`; nil if the store is in PostgreSQL.
    private let findVersion: Statement?
    /// The version that `dataVersion()` returns while `withFixedVersion` runs; nil otherwise.
    private var fixedVersion: Int64?

    /// The number of look-ups after which a new transaction begins, so that readers see new commits and the
    /// write-ahead log can be truncated.
    private static let maxLookupsPerSharedRead = 256

    init(_ folder: StoreFolder, _ connection: Connection) {
        self.connection = connection
        readingLock = ReadersLock(folder)
        findVersion = connection.isPostgreSQL ? nil : connection.prepareLater("PRAGMA data_version")
    }

    /// Runs `body` under the shared reading lock, so that no other process moves the bodies that it looks up,
    /// or reuses their space. Ends the transaction of `beginSharedRead`.
    func withReadingLock<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        // PostgreSQL shows the old place of a body that is moved for as long as a transaction reads it.
        guard !isLocked, !connection.isPostgreSQL else { return try body() }
        // The reading lock does not protect a transaction that began before the lock was taken.
        try endSharedRead()
        isLocked = true
        defer { isLocked = false }
        return try readingLock.withLock(body)
    }

    /// Runs `body` in the open transaction, or else in one of its own.
    func inTransaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard lookupsInSharedRead == nil else { return try body() }
        try connection.beginReading()
        do {
            let result = try body()
            try connection.commit(hasChanged: false)
            return result
        } catch {
            // The first error is the one that matters.
            try? connection.rollBack()
            throw error
        }
    }

    /// Begins a read transaction for the look-ups that follow, or continues the one that is open, so that SQLite
    /// locks its file once for many look-ups. It lasts until `endSharedRead`, or for
    /// `maxLookupsPerSharedRead` calls of this function. Does nothing for PostgreSQL.
    package func beginSharedRead() throws(StoreError) {
        guard !connection.isPostgreSQL else { return }
        if let lookups = lookupsInSharedRead {
            guard lookups >= Self.maxLookupsPerSharedRead else {
                lookupsInSharedRead = lookups + 1
                return
            }
            try endSharedRead()
        }
        try connection.beginReading()
        lookupsInSharedRead = 1
    }

    /// Ends the read transaction of `beginSharedRead`, if there is one.
    package func endSharedRead() throws(StoreError) {
        guard lookupsInSharedRead != nil else { return }
        lookupsInSharedRead = nil
        try connection.commit(hasChanged: false)
    }

    /// A number that changes when another connection changes the store.
    func dataVersion() throws(StoreError) -> Int64 {
        if let fixedVersion { return fixedVersion }
        if let version = try findVersion?.first(read: { $0.integer(0) }) { return version }
        return try connection.dataVersion()
    }

    /// Runs `body` while the reader sees one version of the store. Nested calls join the outer one.
    func withFixedVersion<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard fixedVersion == nil else { return try body() }
        func run(at version: Int64?) throws(StoreError) -> Result {
            fixedVersion = version
            defer { fixedVersion = nil }
            return try body()
        }
        if let session = connection.session { return try session.withFixedVersion(run) }
        guard let findVersion else { return try body() }
        return try findVersion.withFirstRowOpen { (row) throws(StoreError) in try run(at: row?.integer(0)) }
    }
}
