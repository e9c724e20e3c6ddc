/// Every bound of the store, in one place.
package enum Limits {
    /// Bodies up to here live inside the database.
    package static let inlineBody = 1024
    /// Bodies up to here live in packs, larger ones are files.
    package static let packedBody = 1024 * 1024
    /// A pack of this size is not appended to any more.
    static let packSize: Int64 = 256 * 1024 * 1024
    /// A transaction is committed when so many bytes of bodies, or so many rows and links, are in it, or after this time.
    static let openBodyBytes = 32 * 1024 * 1024
    static let openRowBytes = 1024 * 1024
    /// What a writer keeps of the database in memory: what does not fit is written more than once in a transaction.
    static let writerCacheKiB = 8 * 1024
    /// What a reader keeps at most. With SQLite's own 2 MB a list of 10,000 URLs reads each page 40 times.
    static let readerCacheKiB = 8 * 1024
    static let openTime = Duration.milliseconds(250)
    /// How much may wait for the writer before those who add have to wait.
    static let queuedBytes = 2 * 1024 * 1024
    /// An interrupted visit is gone on with for so long; afterwards its site is visited anew.
    static let secondsToContinue: Int64 = 24 * 60 * 60
    /// The same of one that ended by a limit, and is served as far as it came: a large site may take some nights.
    static let secondsToGoBeyond: Int64 = 14 * 24 * 60 * 60
    /// How long a connection waits for another process to let go of the database.
    static let busyMilliseconds = 10_000
}
