package import Database
internal import Glibc
internal import System

/// The paths of the parts of a store, and the functions that create its folders.
///
/// A store on a PostgreSQL server also has a folder, for data that belongs to this machine.
package struct StoreFolder: Sendable, Equatable {
    package let path: String
    /// The address of the PostgreSQL server, or nil if the store is a folder.
    package let server: PostgreSQLStoreAddress?
    /// Whether bodies and journal lines are compressed with zstd before they are stored. Readers read both
    /// forms.
    package var compresses = false
    /// Opens S3 buckets. Nil if this process uses none.
    package var buckets: BucketOpener?
    /// Receives reports about an unreachable PostgreSQL server. Nil for short uses that do not wait long for
    /// it.
    package var watch: PostgreSQLWatch?

    /// - Parameter location: The path of a folder, or `postgres://...`.
    package init(_ location: String) {
        server = PostgreSQLStoreAddress(location)
        path = server?.folder ?? location
    }

    /// The path or address for messages, without a password.
    package var name: String { server?.shown ?? path }

    init(ofDatabase path: String) {
        self.init(path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".")
    }

    package var database: String { path + "/" + Connection.storeFile }
    /// The folder with most bodies, many in each file.
    var packs: String { path + "/packs" }
    /// Large bodies, each named by its SHA-256.
    package var bodies: String { path + "/bodies" }
    /// The folder for downloads in progress. The files of a killed run are moved to `partials` or removed.
    package var incoming: String { path + "/incoming" }
    /// The name of the folders in which updates are unpacked, without the suffix of `ScratchFolder.draft(of:)`.
    package var updates: String { path + "/update" }
    /// The folder with the first parts of bodies whose download may be continued.
    var partials: String { path + "/partial" }
    var partialNames: [String] { Self.names(in: partials) }
    /// Bodies that an inspection found damaged.
    var quarantine: String { path + "/quarantine" }
    var locks: String { path + "/larder.lock" }
    /// The file of `ActivityDatabase` of a local store. The store works without it.
    var activityDatabase: String { path + "/notes.db" }
    /// The file of `ChannelDatabase` of a local store.
    var channelDatabase: String { path + "/channels.db" }
    /// The folder of the journal, a second copy of the content of the database.
    var journal: String { path + "/journal" }

    /// A name that is the same for all paths of the store, whether they are relative or contain symbolic
    /// links.
    package var identity: String { server?.shown ?? Folder.resolved(path) }

    /// Whether the store exists. A database without tables, which a killed run of an earlier version left,
    /// does not count. A file that cannot be read counts as a store, so that opening it reports the error.
    package var exists: Bool {
        guard let server else {
            var status = stat()
            guard stat(database, &status) == 0 else { return errno == EACCES }
            // The tables take more than the first page.
            return status.st_size > Self.emptyDatabaseSize || hasTables
        }
        do throws(StoreError) {
            return try PostgreSQLSchema.exists(Connection(server.database, access: .readOnly))
        } catch {
            return true
        }
    }

    package var isWritable: Bool {
        access(path, W_OK) == 0 && (server != nil || access(database, W_OK) == 0)
    }

    /// Opens the database, whose tables must exist.
    ///
    /// - Parameter patience: how long a reader waits for a PostgreSQL server that has disappeared, in
    ///   milliseconds.
    package func connect(
        _ access: Connection.Access, patience: Int = Connection.busyMilliseconds
    ) throws(StoreError) -> Connection {
        if let server { return try Connection(server.database, access: access, patience: patience, watch) }
        return try Connection(database, access: access, modeOf: access == .readWrite ? locks : nil)
    }

    /// Opens one of the databases in the folder for reading, even if nothing can be written there.
    func read(_ database: String) throws(StoreError) -> Connection {
        isSealed(database)
            ? try Connection(database, access: .sealed) : try Connection.reading(database)
    }

    /// Whether this user cannot write to a database, and it has no unfinished log.
    private func isSealed(_ database: String) -> Bool {
        guard access(path, W_OK) != 0 else { return false }
        var log = stat()
        return stat(database + "-wal", &log) != 0 || log.st_size == 0
    }

    func bodyFile(sha256 hex: String) -> String { bodies + "/" + hex }

    /// The files of all databases, including those that SQLite keeps beside them.
    private var databaseFiles: [String] {
        [database, activityDatabase, channelDatabase, searchIndex].flatMap { path in
            ["", "-wal", "-shm", "-journal"].map { path + $0 }
        }
    }

    /// Removes the permissions of other users from the files of the store, because it may contain responses
    /// that were fetched with its owner's cookies. Earlier versions created stores that all users could read.
    /// Files of other users are not changed, and no permission is added.
    ///
    /// The folder itself is only changed if it contains nothing but the store.
    func restrictPermissions() {
        let parts =
            [
                packs, bodies, incoming, partials, quarantine, locks, journal, reserve, loginFolder,
                passwordFile,
                secretKeyFile,
                portalFile, portalLock, portalFiles, portalBar, portalLanguageFile, extensionFile, rootFile,
            ] + databaseFiles
        for part in parts { Self.restrictPermissions(of: part) }
        if Self.names(in: path).allSatisfy({ parts.contains(path + "/" + $0) }) {
            Self.restrictPermissions(of: path)
        }
    }

    private static func restrictPermissions(of path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT != S_IFLNK else {
            return
        }
        // An error is ignored: the file system has no permissions.
        if status.st_mode & 0o077 != 0 { chmod(path, status.st_mode & 0o7700) }
    }

    /// Creates the folders of the store. Throws if its address is invalid.
    package func create() throws(StoreError) {
        try server?.database.check()
        try Self.makeFolders(path)
        try Self.makeFolders(bodies)
        try Self.makeFolders(incoming)
    }

    private static let emptyDatabaseSize: off_t = 65_536

    private var hasTables: Bool {
        do throws(StoreError) {
            return try !Schema.isEmpty(read(database))
        } catch {
            return true
        }
    }

    /// Creates the database under another name and then renames it, so that no process ever sees one without
    /// tables. The caller has the lock `settingUp`.
    func createDatabase() throws(StoreError) {
        guard !exists else { return }
        if hasStoreFiles {
            throw lostDatabase("it is empty or missing, but the files of a store are beside it")
        }
        let draft = incoming + "/new-\(getpid()).db"
        func remove(_ path: String) {
            for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
        }
        remove(draft)
        defer { remove(draft) }
        try fillDatabase(draft)
        try BodyFiles.syncFile(draft)
        remove(database)
        guard rename(draft, database) == 0 else {
            throw StoreError(errno, doing: "create", path: database)
        }
        try BodyFiles.syncFile(path)
    }

    /// Creates the tables and closes the file.
    private func fillDatabase(_ path: String) throws(StoreError) {
        let connection = try Connection(path, access: .readWrite, modeOf: locks)
        try Schema.prepare(connection)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)", doing: "create")
    }

    func createPacks() throws(StoreError) {
        try Self.makeFolders(packs)
    }

    /// The packs, sorted by their numbers.
    var packList: [Pack] {
        Self.names(in: packs).compactMap { Pack(named: $0, in: self) }.sorted { $0.number < $1.number }
    }

    /// Empties the folder of downloads in progress. Parts of bodies that can be resumed move to `partials`.
    func clearIncoming() {
        PartialBodies.recoverInterrupted(in: self)
        for name in Self.names(in: incoming) { Folder.remove(incoming + "/" + name) }
    }

    /// Removes the folders that killed processes left while they unpacked updates. Those in use are locked.
    func removeAbandonedUpdates() { ScratchFolder.sweepDrafts(of: updates) }

    /// The size of the store on the disk, without files that may be removed at any time, such as the reserve.
    package var byteCount: Int64 { contentByteCount + searchIndexByteCount }

    /// The size of unfinished downloads and of damaged files in quarantine.
    var temporaryByteCount: Int64 {
        [incoming, partials, quarantine].reduce(0) { sum, folder in
            Self.names(in: folder).reduce(sum) { $0 + Self.byteCount(of: folder + "/" + $1) }
        }
    }

    /// Removes unfinished downloads, which then start again from the beginning, and damaged files. No other
    /// process may be writing.
    func removeTemporaryFiles() {
        for folder in [incoming, partials, quarantine] {
            for name in Self.names(in: folder) { Folder.remove(folder + "/" + name) }
        }
    }

    // MARK: The reserve

    /// A file of zeros whose space lets commands that remove content work when the disk is full.
    var reserve: String { path + "/reserve" }

    /// Frees the space of the reserve for a command that is about to remove content.
    package func releaseReserve() { unlink(reserve) }

    /// Creates the reserve, if there is none, the store is large enough to be worth one, and the disk has
    /// space.
    ///
    /// - Parameter limit: the maximum size of the store including the reserve, in bytes.
    package func createReserve(limit: Int64? = nil) {
        let content = server == nil ? contentByteCount : 0
        let byteCount = min(max(content / 32, Self.minReserve), Self.maxReserve) / 4096 * 4096
        guard content >= Self.minContentWithReserve, access(reserve, F_OK) != 0,
            content + searchIndexByteCount + byteCount <= limit ?? .max
        else { return }
        let file = open(reserve, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        // If the disk has no space for it, a later run tries again.
        if posix_fallocate(file, 0, off_t(byteCount)) != 0 { unlink(reserve) }
    }

    private static let maxReserve: Int64 = 1 << 20
    /// Enough for the log of a transaction that removes one URL, which changes a page of 16 KiB in each table
    /// and index.
    private static let minReserve: Int64 = 256 << 10
    private static let minContentWithReserve: Int64 = 512 << 10

    /// The size of the search index on the disk.
    package var searchIndexByteCount: Int64 {
        Self.byteCount(of: searchIndex) + Self.byteCount(of: searchIndex + "-wal")
    }

    /// The size of the database, the bodies and the journal on the disk.
    var contentByteCount: Int64 {
        if let server { return (try? Connection(server.database, access: .readOnly).byteCount()) ?? 0 }
        return Self.byteCount(of: database) + Self.byteCount(of: database + "-wal") + bodiesByteCount
            + packList.reduce(0) { $0 + $1.byteCountOnDisk }
            + journalByteCount
    }

    var databaseByteCount: Int64 { Self.byteCount(of: database) }

    var journalByteCount: Int64 { journalFiles.reduce(0) { $0 + Self.byteCount(of: $1) } }

    var bodiesByteCount: Int64 { server == nil ? copiesByteCount : 0 }

    /// The size of the files with large bodies. In a store on a PostgreSQL server, these are copies.
    var copiesByteCount: Int64 {
        bodyFileNames.reduce(0) { $0 + Self.byteCount(of: bodies + "/" + $1) }
    }

    /// Whether there is an `ActivityDatabase`. A PostgreSQL server has them in tables.
    var hasActivityDatabase: Bool { server != nil || access(activityDatabase, F_OK) == 0 }

    func removeActivityDatabase() {
        for suffix in ["", "-wal", "-shm"] { unlink(activityDatabase + suffix) }
    }

    static func byteCount(of file: String) -> Int64 {
        var status = stat()
        return stat(file, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The names of the files with large bodies, in no particular order.
    var bodyFileNames: [String] { Self.names(in: bodies) }

    func createQuarantine() throws(StoreError) {
        try Self.makeFolders(quarantine)
    }

    /// Returns the names of the files in a folder, or an empty array if it cannot be opened.
    static func names(in folder: String) -> [String] {
        (Folder.names(in: folder) ?? []).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Creates a folder and its missing parents, without permissions for other users.
    static func makeFolders(_ path: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in try Folder.make(path) }
    }
}
