/// The limits of the store. Sizes are in bytes.
package enum Limits {
    /// The maximum size of bodies that are stored in rows of SQLite. Larger ones are stored in packs.
    package static let maxInlineBodyBytes = 1024
    /// The maximum size of bodies in packs. Larger ones are stored in files of their own.
    package static let maxPackedBodyBytes = 1024 * 1024
    /// The maximum size of texts that are stored in packs because zstd compresses them to at most
    /// `maxPackedBodyBytes`. Larger ones are stored in files, uncompressed.
    static let maxCompressedTextBytes = 16 * 1024 * 1024
    /// The minimum size of bodies and journal commits that are compressed. Smaller ones fit into a disk block
    /// anyway.
    static let minCompressedBodyBytes = 2 * 1024
    /// The size of the pieces of large bodies in PostgreSQL.
    static let postgreSQLPieceBytes = 2 * 1024 * 1024
    /// The maximum size of bodies in PostgreSQL, if larger ones are in a folder or bucket. The address of the
    /// store can change it (`bodies-over=`). Of 36,093 files of documentation, 5 % are larger and have 65 % of
    /// the bytes; each of these costs a request.
    static let maxRowBodyBytes = 64 * 1024
    /// The age from which unreferenced bodies in a folder or bucket are removed. A writer may be about to add
    /// the rows of younger ones.
    static let minStrayAgeSeconds: Int64 = 60 * 60
    /// The age at which unfinished files in such a folder count as abandoned.
    static let maxDraftAgeSeconds: Int64 = 24 * 60 * 60
    /// The maximum size of the local copies of bodies from PostgreSQL. Above it, the oldest copies are removed
    /// down to half of it.
    static let maxLocalCopyBytes: Int64 = 4 * 1024 * 1024 * 1024
    /// The size from which a pack is full, so that further bodies go into another one.
    static let fullPackBytes: Int64 = 256 * 1024 * 1024
    /// The size of the bodies in an open transaction above which it is committed.
    static let maxOpenBodyBytes = 32 * 1024 * 1024
    /// The size of the rows and links in an open transaction above which it is committed.
    static let maxOpenRowBytes = 1024 * 1024
    /// The page cache of a writer. Pages that do not fit are written more than once in a transaction.
    static let writerCacheKiB = 8 * 1024
    /// The page cache of a collection, which removes millions of rows.
    static let collectorCacheKiB = 48 * 1024
    /// The maximum number of bodies that a reader counts itself. Beyond it, a writer stores the sum.
    static let maxUncountedBodies = 4096
    /// The page cache of a reader. With SQLite's default of 2 MB, a list of 10,000 URLs reads each page 40
    /// times.
    static let readerCacheKiB = 8 * 1024
    /// The page cache of a walk through a site. With less, each page of link lists is read twice.
    static let walkCacheKiB = 32 * 1024
    /// The number of attempts at a transaction that fails because of another session. PostgreSQL aborts one
    /// of the transactions in a deadlock, and with several writers it may be the same one many times.
    static let maxAttempts = 32
    /// The journal is rewritten above twice its size after the last rewrite plus this number of bytes.
    static let journalSlackBytes: Int64 = 256 * 1024
    /// The time after which an open transaction is committed.
    static let maxOpenTime = Duration.milliseconds(250)
    /// The maximum size of the writer's queue. Beyond it, callers that add to it wait.
    static let maxQueuedBytes = 2 * 1024 * 1024
    /// How long an interrupted snapshot can be continued. Afterwards, the next run starts a new snapshot.
    static let maxSecondsToContinue: Int64 = 24 * 60 * 60
    /// How long a live snapshot that ended at a limit can be continued. A large site may take several nights.
    /// Afterwards, the next run starts a new snapshot.
    static let maxSecondsToExtendLive: Int64 = 14 * 24 * 60 * 60
}
