internal import CSQLite
internal import Glibc
internal import System

/// A connection to a database: an SQLite file or a PostgreSQL server. One thread at a time may use it.
///
/// Statements are written in SQLite's SQL; `PostgreSQLDialect` translates them for PostgreSQL. Errors are
/// `StoreError`s whose reason tells a caller how to react: `.busy` after waiting for a lock, `.full` for a full
/// disk, `.denied` for missing permissions, `.unusable` for a damaged database.
///
///     let find = try connection.prepare("SELECT id FROM url WHERE href = ?")
///     let id = try find.first(.text(href)) { row in row.integer(0) }
package final class Connection {
    /// The way in which a database is opened. It has no effect on PostgreSQL except that `readWrite` opens a
    /// writing session.
    package enum Access {
        case readOnly
        /// Reads without locks and without WAL files beside the database. Only allowed while no process
        /// writes.
        case sealed
        /// Reads without locks from a database that has a WAL file. The index of the log is in memory.
        case sealedWithLog
        case readWrite

        fileprivate var flags: Int32 {
            switch self {
            // NOMUTEX: only one thread at a time uses a connection, so SQLite's own locks would only cost
            // time.
            case .readOnly, .sealed, .sealedWithLog:
                SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
            case .readWrite:
                SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
            }
        }
    }

    /// The name of a store's database. Only that can be rebuilt from the files beside it, so only errors of
    /// that suggest it.
    package static let storeFile = "larder.db"
    /// How long a connection waits for a lock of the database or for an unreachable server.
    package static let busyMilliseconds = 10_000

    /// The path or address that error messages show.
    package let path: String
    private let driver: Driver
    /// A short path to the database, or nil if SQLite accepts the path as it is.
    private let short: ShortPath?
    /// The state of the database's files when it was opened with `sealed` or `sealedWithLog`; else nil.
    private let sealed: LogFiles?

    /// The database behind the connection. Each method of `Connection` and `Statement` chooses by it.
    fileprivate enum Driver {
        case file(OpaquePointer)
        case server(PostgreSQLSession)
    }

    /// Turns off SQLite's memory statistics and registers Larder's file systems, once per process. If SQLite
    /// was already initialized, the statistics stay on, which is harmless.
    private static let setUp = (larder_sqlite_count_no_memory(), larder_sqlite_add_file_systems())

    /// - Parameter other: a file whose mode a new database gets, regardless of the umask. SQLite gives the
    ///   files beside the database the same mode.
    package init(_ path: String, access: Access, modeOf other: String? = nil) throws(StoreError) {
        _ = Self.setUp
        var opened: OpaquePointer?
        let short = ShortPath(path)
        var parameters: [String] =
            switch access {
            case .sealed: ["immutable=1"]
            // Without locks, SQLite keeps the index of the log in memory.
            case .sealedWithLog: []
            case .readOnly, .readWrite: other.map { ["modeof=\(Self.percentEncoded($0))"] } ?? []
            }
        let system = (short == nil ? "larder" : "larder-literal") + (access == .sealedWithLog ? "-none" : "")
        parameters.append("vfs=\(system)")
        let name = "\(Self.uri(short?.path ?? path))?\(parameters.joined(separator: "&"))"
        let code = sqlite3_open_v2(name, &opened, access.flags, nil)
        guard let opened else {
            throw StoreError(.failed, doing: "open", path: path, detail: "out of memory")
        }
        guard code == SQLITE_OK else {
            let error = Self.sqliteError(of: opened, code: code, doing: "open", path: path)
            sqlite3_close_v2(opened)
            // SQLite's message does not mention missing permissions.
            if Glibc.access(path, R_OK) != 0, errno == EACCES {
                throw StoreError(EACCES, doing: "open", path: path)
            }
            throw error
        }
        self.path = path
        self.short = short
        sealed = access == .sealed || access == .sealedWithLog ? LogFiles(of: path) : nil
        driver = .file(opened)
        sqlite3_extended_result_codes(opened, 1)
        setBusyTimeout(milliseconds: Connection.busyMilliseconds)
        if access == .sealedWithLog {
            // Otherwise SQLite would write the log into the database when the connection closes.
            guard larder_sqlite_keep_log(opened) == SQLITE_OK else {
                throw StoreError(
                    .failed, doing: "open", path: path,
                    detail: "this SQLite cannot close a database without changing its log")
            }
            try execute("PRAGMA locking_mode = EXCLUSIVE", doing: "open")
        }
    }

    /// A second path for a database whose own path is too long for SQLite. It goes through a file descriptor
    /// of the folder, which stays open as long as this object.
    private final class ShortPath {
        let path: String
        private let folder: Int32

        /// Returns nil if the path is short enough or the folder cannot be opened.
        init?(_ path: String) {
            let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            let name = path.split(separator: "/").last ?? ""
            guard Folder.resolved(parent).utf8.count + name.utf8.count > Self.maxByteCount
            else { return nil }
            folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard folder >= 0 else { return nil }
            self.path = "/proc/self/fd/\(folder)/\(name)"
        }

        deinit { close(folder) }

        /// The maximum length of a path that SQLite is given. Longer ones are replaced by a `ShortPath`. SQLite accepts
        /// 512 bytes, including the suffixes of the files beside the database.
        private static let maxByteCount = 480
    }

    /// Opens a connection for reading. Even a reader makes SQLite create files beside the database. If that
    /// fails, because the disk is full or the user may not write to the folder, and no process is writing,
    /// the database is opened without these files.
    package static func reading(_ path: String) throws(StoreError) -> Connection {
        do throws(StoreError) {
            let connection = try Connection(path, access: .readOnly)
            // The first read creates or opens the files beside the database.
            _ = try connection.integer("PRAGMA schema_version")
            return connection
        } catch {
            let files = LogFiles(of: path)
            guard [.full, .denied, .failed].contains(error.reason), !files.areShared else { throw error }
            let access: Access = files.hasLog ? .sealedWithLog : .sealed
            guard let sealed = try? Connection(path, access: access),
                (try? sealed.integer("PRAGMA schema_version")) != nil
            else { throw error }
            return sealed
        }
    }

    /// The state of the files that SQLite keeps beside a database in WAL mode.
    private struct LogFiles: Equatable {
        /// Whether the complete index of the log exists, which processes share. It does as long as a process
        /// writes.
        let areShared: Bool
        let hasLog: Bool
        private let database: FileStamp?

        init(of path: String) {
            database = FileStamp(path)
            areShared = FileStamp(path + "-shm")?.byteCount ?? 0 >= Self.indexByteCount
            hasLog = FileStamp(path + "-wal")?.byteCount ?? 0 > 0
        }

        /// The size of the first part of the index, which SQLite creates before the first read or write.
        private static let indexByteCount: Int64 = 32 * 1024
    }

    /// Whether the files of a database that was opened with `sealed` or `sealedWithLog` have changed since.
    /// Such a connection does not see changes and may return wrong data, so the caller must open a new one.
    package var isOutdated: Bool { sealed.map { $0 != LogFiles(of: path) } ?? false }

    /// Opens a session with a PostgreSQL server. A reader's session is opened again if the connection is
    /// lost.
    ///
    /// - Parameter patience: how long reconnecting may take, in milliseconds.
    package init(
        _ address: PostgreSQLAddress, access: Access, patience: Int = Connection.busyMilliseconds,
        _ watch: PostgreSQLWatch? = nil
    ) throws(StoreError) {
        path = address.shown
        short = nil
        sealed = nil
        driver = .server(
            try PostgreSQLSession(address, isReader: access != .readWrite, patience: patience, watch))
    }

    /// The address of the PostgreSQL server, or nil for a file.
    package var address: PostgreSQLAddress? { session?.address }

    /// The session with the PostgreSQL server, or nil for a file.
    package var session: PostgreSQLSession? {
        switch driver {
        case .file: nil
        case .server(let session): session
        }
    }

    /// Whether the database is on a PostgreSQL server.
    package var isPostgreSQL: Bool { session != nil }

    /// Sets how long a write waits for other writers. SQLite checks again every millisecond, because a busy
    /// writer releases the database only briefly.
    package func setBusyTimeout(milliseconds: Int) {
        guard case .file(let handle) = driver else { return }
        // The limit is passed as the context pointer of the C callback: one attempt is one millisecond.
        let maxAttempts = UnsafeMutableRawPointer(bitPattern: milliseconds)
        _ = sqlite3_busy_handler(
            handle,
            { maxAttempts, attempts in
                guard Int(attempts) < Int(bitPattern: maxAttempts) else { return 0 }
                usleep(1000)
                return 1
            }, maxAttempts)
    }

    deinit {
        if case .file(let handle) = driver { sqlite3_close_v2(handle) }
    }

    /// Returns the URI by which SQLite opens a path.
    package static func uri(_ path: String) -> String {
        // With an empty host, the path may begin with two slashes.
        "file:\(path.hasPrefix("/") ? "//" : "")\(percentEncoded(path))"
    }

    /// Encodes the characters that have a meaning in SQLite's URIs.
    private static func percentEncoded(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
            .replacing("&", with: "%26")
    }

    /// Runs SQL statements that return no rows.
    package func execute(_ sql: String, doing: String = "write to") throws(StoreError) {
        let handle: OpaquePointer
        switch driver {
        case .file(let file): handle = file
        case .server(let session): return try session.command(sql, doing: doing)
        }
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, doing: doing) }
    }

    /// Runs statements that only SQLite has and needs, such as a `PRAGMA`. Has no effect in PostgreSQL.
    package func executeInSQLite(_ sql: String, doing: String) throws(StoreError) {
        if !isPostgreSQL { try execute(sql, doing: doing) }
    }

    /// Whether there is a table with this name.
    package func hasTable(_ name: String) throws(StoreError) -> Bool {
        let sql =
            isPostgreSQL
            ? "SELECT 1 WHERE to_regclass('\(name)') IS NOT NULL"
            : "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '\(name)'"
        return try prepare(sql).first { _ in true } ?? false
    }

    /// Creates a table, unless it exists.
    ///
    /// - Parameters:
    ///   - sqlite: The definition for SQLite.
    ///   - postgreSQL: The definition for PostgreSQL.
    ///   - lock: The key of an advisory lock. In PostgreSQL, creating a table in two sessions at once fails, even with
    ///     `IF NOT EXISTS`.
    package func createTable(
        _ name: String, sqlite: String, postgreSQL: String, lock: Int64
    ) throws(StoreError) {
        guard try !hasTable(name) else { return }
        guard isPostgreSQL else { return try execute(sqlite, doing: "set up") }
        try transaction { () throws(StoreError) in
            _ = try prepare("SELECT pg_advisory_xact_lock(?)").first(.integer(lock)) { _ in true }
            try execute(postgreSQL, doing: "set up")
        }
    }

    /// The SQL expression by which a text of any length has a unique index. Entries of a PostgreSQL index are limited to 2,700
    /// bytes, so that they are digests.
    package func indexKey(_ column: String) -> String { isPostgreSQL ? "md5(\(column))" : column }

    /// The clause that keeps other transactions from changing the selected rows. In SQLite there is only one transaction that
    /// changes rows.
    package var rowLock: String { isPostgreSQL ? " FOR UPDATE" : "" }

    /// Begins a transaction for writing. In a file, no other connection can write until it ends; on a
    /// PostgreSQL server, others can.
    package func begin() throws(StoreError) {
        switch driver {
        case .file: try execute("BEGIN IMMEDIATE")
        case .server(let session): try session.begin()
        }
    }

    /// Begins a transaction in which all reads see the same state of the database.
    package func beginReading() throws(StoreError) {
        switch driver {
        case .file: try execute("BEGIN", doing: "read")
        case .server(let session): try session.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        }
    }

    /// Commits the open transaction.
    ///
    /// - Parameter hasChanged: whether a PostgreSQL server notifies other sessions of a change. SQLite notices
    ///   changes itself.
    package func commit(hasChanged: Bool = true) throws(StoreError) {
        switch driver {
        case .file: try execute("COMMIT")
        case .server(let session): try session.commit(hasChanged: hasChanged)
        }
    }

    /// Rolls back the open transaction. Throws if none is open, for example because SQLite has rolled it back after
    /// an error.
    package func rollBack() throws(StoreError) {
        switch driver {
        case .file: try execute("ROLLBACK")
        case .server(let session): try session.rollBack()
        }
    }

    /// Runs `body` in a transaction, which is rolled back if `body` throws.
    @inlinable
    package func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try begin()
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            // SQLite may already have rolled back. The first error is the one that explains the failure.
            try? rollBack()
            throw error
        }
    }

    /// Compiles a statement, which can then run repeatedly with different values. Throws if the SQL is wrong; on a
    /// PostgreSQL server, only when it runs.
    package func prepare(_ sql: String) throws(StoreError) -> Statement {
        switch driver {
        case .file: Statement(try prepareHandle(sql), of: self)
        case .server(let session): Statement(sql, of: session, by: self)
        }
    }

    /// Returns a statement that is prepared when it first runs. A reader has eleven statements, and most
    /// readers run only two or three.
    package func prepareLater(_ sql: String) -> Statement {
        switch driver {
        case .file: Statement(unprepared: sql, of: self)
        case .server(let session): Statement(sql, of: session, by: self)
        }
    }

    /// Compiles a statement of SQLite. It is an error of this module to call it for a PostgreSQL server.
    func prepareHandle(_ sql: String) throws(StoreError) -> OpaquePointer {
        guard case .file(let file) = driver else {
            preconditionFailure("PostgreSQL prepares statements itself")
        }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(file, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code, doing: "read") }
        return statement
    }

    /// SQLite's `fts5_api`, with which tokenizers and ranking functions are registered. Nil on a PostgreSQL
    /// server, and if this SQLite has no full-text search.
    package var fullTextAPI: UnsafeMutableRawPointer? {
        guard case .file(let handle) = driver else { return nil }
        return larder_fts5_api(handle).map { UnsafeMutableRawPointer($0) }
    }

    /// Returns the first column of the first row of a query, or 0 if there is no row.
    package func integer(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.first { row in row.integer(0) } ?? 0
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    package var changedRowCount: Int {
        guard case .file(let handle) = driver else { return lastChangedRowCount }
        return Int(sqlite3_changes(handle))
    }

    /// Compacts the database with VACUUM. The temporary copy is as large as the compacted database; it is
    /// written to `folder`, because in memory, as other temporary data, it could take a gigabyte.
    package func vacuum(in folder: String) throws(StoreError) {
        // VACUUM also adds page checksums to a database of an earlier version.
        if case .file(let handle) = driver { _ = larder_sqlite_reserve_checksums(handle) }
        let quoted = folder.replacing("'", with: "''")
        try execute("PRAGMA temp_store_directory = '\(quoted)'; PRAGMA temp_store = FILE;", doing: "shrink")
        let result = Result { () throws(StoreError) in try execute("VACUUM", doing: "shrink") }
        try execute("PRAGMA temp_store = MEMORY; PRAGMA temp_store_directory = '';", doing: "shrink")
        try result.get()
    }

    /// Adds a checksum to each page of an empty database. SQLite compares it whenever it reads the page.
    package func addPageChecksums(doing: String) throws(StoreError) {
        guard case .file(let handle) = driver else { return }
        let code = larder_sqlite_add_checksums(handle)
        guard code == SQLITE_OK else { throw error(code, doing: doing) }
    }

    /// Sets whether pages with wrong checksums are read instead of reported as errors, for a caller that
    /// compares their content in another way.
    package func readDamagedPages(_ isWanted: Bool) {
        guard case .file(let handle) = driver else { return }
        _ = larder_sqlite_ignore_checksums(handle, isWanted ? 1 : 0)
    }

    /// Replaces the content of this database with that of `other`, in one transaction. Does nothing unless
    /// both are files.
    package func replaceContent(with other: Connection, doing: String) throws(StoreError) {
        guard case .file(let own) = driver, case .file(let source) = other.driver else { return }
        guard let backup = sqlite3_backup_init(own, "main", source, "main") else {
            throw error(sqlite3_errcode(own), doing: doing)
        }
        let step = sqlite3_backup_step(backup, -1)
        let code = sqlite3_backup_finish(backup)
        // `sqlite3_backup_finish` does not report a lock of another connection; `sqlite3_backup_step` does.
        guard step == SQLITE_DONE, code == SQLITE_OK else {
            throw error(code == SQLITE_OK ? step : code, doing: doing)
        }
    }

    /// Defines an SQL function that returns whether a number is in a set. A later call with the same name
    /// replaces the set. Does nothing on a PostgreSQL server.
    package func define(_ name: String, _ numbers: NumberSet) throws(StoreError) {
        guard case .file(let handle) = driver else { return }
        let code = sqlite3_create_function_v2(
            handle, name, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
            Unmanaged.passRetained(NumberSetBox(numbers)).toOpaque(),
            { context, _, values in
                guard let box = sqlite3_user_data(context), let value = values?[0] else { return }
                let isMember = Unmanaged<NumberSetBox>.fromOpaque(box)._withUnsafeGuaranteedRef {
                    $0.numbers.contains(sqlite3_value_int64(value))
                }
                sqlite3_result_int(context, isMember ? 1 : 0)
            }, nil, nil,
            // SQLite also calls this if it cannot create the function.
            { box in
                if let box { Unmanaged<NumberSetBox>.fromOpaque(box).release() }
            })
        guard code == SQLITE_OK else { throw error(code, doing: "read") }
    }

    /// Keeps a set of numbers alive as long as SQLite may call the function.
    private final class NumberSetBox {
        let numbers: NumberSet

        init(_ numbers: NumberSet) { self.numbers = numbers }
    }

    /// The number of rows that the last statement changed, on a PostgreSQL server.
    var lastChangedRowCount = 0

    /// The id of the row that the last INSERT added to a file.
    var lastInsertedRow: Int64 {
        guard case .file(let handle) = driver else { return 0 }
        return sqlite3_last_insert_rowid(handle)
    }

    /// Returns a number that differs from the previous one if another connection has changed the database.
    package func dataVersion() throws(StoreError) -> Int64 {
        switch driver {
        case .file: try integer("PRAGMA data_version")
        case .server(let session): try session.changeCount()
        }
    }

    /// Returns the error for a result code of SQLite.
    package func error(_ code: Int32, doing: String) -> StoreError {
        guard case .file(let handle) = driver else {
            return StoreError(.failed, doing: doing, path: path, detail: "\(code)")
        }
        return Self.sqliteError(of: handle, code: code, doing: doing, path: path)
    }

    /// Whether the system error behind an SQLite error means that the disk is full.
    private static func isDiskFull(_ handle: OpaquePointer) -> Bool {
        let code = sqlite3_system_errno(handle)
        return code == ENOSPC || code == EDQUOT
    }

    /// Converts a result code and SQLite's message. Errors of a damaged store database suggest a repair.
    private static func sqliteError(of handle: OpaquePointer, code: Int32, doing: String, path: String)
        -> StoreError
    {
        let reason: StoreError.Reason =
            switch code & 0xff {
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL: .full
            case SQLITE_IOERR where code == larder_sqlite_wrong_checksum(): .unusable
            case SQLITE_IOERR where isDiskFull(handle), SQLITE_CANTOPEN where isDiskFull(handle): .full
            case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN: .denied
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .unusable
            default: .failed
            }
        // SQLite often says only "disk I/O error".
        let detail =
            reason == .full
            ? "the disk is full"
            : code == larder_sqlite_wrong_checksum()
                ? "a page does not match its checksum" : String(cString: sqlite3_errmsg(handle))
        guard reason == .unusable, path.hasSuffix("/" + storeFile) else {
            return StoreError(reason, doing: doing, path: path, detail: detail)
        }
        return StoreError(
            reason, doing: doing, path: path, detail: detail,
            advice: "check it with: larder fsck; if it is damaged, recover the intact content",
            remedy: .repair)
    }
}
