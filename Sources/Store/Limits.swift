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
}
