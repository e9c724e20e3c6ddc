internal import CSQLite
internal import Glibc
internal import System

/// One connection to a database: a file of SQLite's, or a PostgreSQL. It belongs to one thread at a time;
/// nothing in it is shared.
///
/// Statements are written for SQLite, and `ServerDialect` has them in the other's words.
final class Connection {
    enum Access {
        case readOnly
        /// Read without locks and without the files that WAL wants beside the database: nobody writes.
        case sealed
        /// Read without locks from a database with a log beside it. The index of the log is in memory.
        case sealedWithLog
        case readWrite

        fileprivate var flags: Int32 {
            switch self {
            // NOMUTEX: the connection never leaves its thread, so SQLite's own locks would only cost.
            case .readOnly, .sealed, .sealedWithLog:
                SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
            case .readWrite:
                SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
            }
        }
    }

    /// For people.
    let path: String
    private let driver: Driver
    /// Nil for a path that SQLite takes.
    private let short: ShortPath?
    /// What was beside a database that was opened sealed; nil for any other.
    private let sealed: LogFiles?

    fileprivate enum Driver {
        case file(OpaquePointer)
        case server(ServerSession)
    }

    /// Where somebody has used SQLite before us it is too late for that, and does no harm.
    private static let setUp = (larder_sqlite_count_no_memory(), larder_sqlite_add_file_systems())

    /// - Parameter other: a file whose mode a new database gets, whatever the umask; what SQLite keeps beside
    ///   it follows.
    init(_ path: String, access: Access, modeOf other: String? = nil) throws(StoreError) {
        _ = Self.setUp
        var opened: OpaquePointer?
        let short = ShortPath(path)
        var words: [String] = []
        switch access {
        case .sealed: words = ["immutable=1"]
        // Without its locks SQLite keeps the index of the log in memory.
        case .sealedWithLog: words = []
        case .readOnly, .readWrite: words = other.map { ["modeof=\(Self.percentEncoded($0))"] } ?? []
        }
        let system = (short == nil ? "larder" : "larder-literal") + (access == .sealedWithLog ? "-none" : "")
        words.append("vfs=\(system)")
        let name = Self.uri(short?.path ?? path) + (words.isEmpty ? "" : "?" + words.joined(separator: "&"))
        let code = sqlite3_open_v2(name, &opened, access.flags, nil)
        guard let opened else {
            throw StoreError(.failed, doing: "open", path: path, detail: "out of memory")
        }
        guard code == SQLITE_OK else {
            let error = Self.error(of: opened, code: code, doing: "open", path: path)
            sqlite3_close_v2(opened)
            // SQLite says only that it cannot.
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
        waitForOthers(milliseconds: Limits.busyMilliseconds)
        if access == .sealedWithLog {
            // Else the log would be written into the database when the connection closes.
            guard larder_sqlite_keep_log(opened) == SQLITE_OK else {
                throw StoreError(
                    .failed, doing: "open", path: path,
                    detail: "this SQLite cannot close a database without changing its log")
            }
            try execute("PRAGMA locking_mode = EXCLUSIVE", doing: "open")
        }
    }

    /// Another path of a database whose own is longer than SQLite takes. The folder is open as long as it is used.
    private final class ShortPath {
        let path: String
        private let folder: Int32

        /// Nil for a path that is short enough, and where the folder cannot be opened.
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

        /// SQLite takes 512, with what it adds to the names of the files beside the database.
        private static let maxByteCount = 480
    }

    /// A connection that reads. SQLite wants to create files beside a database even for that: where it cannot,
    /// on a full disk or in a folder that this user may not write to, the database is read as it stands, provided
    /// that nobody writes to it.
    static func reading(_ path: String) throws(StoreError) -> Connection {
        do throws(StoreError) {
            let connection = try Connection(path, access: .readOnly)
            // The first read opens those files.
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

    /// The files that SQLite keeps beside a database with a log.
    private struct LogFiles: Equatable {
        /// Others share the index of the log. As long as anybody writes, it is there in full.
        let areShared: Bool
        let hasLog: Bool
        private let database: FileStamp?

        init(of path: String) {
            database = FileStamp(path)
            areShared = StoreFolder.byteCount(of: path + "-shm") >= Self.indexByteCount
            hasLog = StoreFolder.byteCount(of: path + "-wal") > 0
        }

        /// The first part of the index, which SQLite creates before anything is read or written.
        private static let indexByteCount: Int64 = 32 * 1024
    }

    /// Whether somebody may have written to the database since this connection was opened for one that nobody
    /// writes to. It sees no changes, and may read wrongly what has changed: it has to be opened again.
    var isOutdated: Bool { sealed.map { $0 != LogFiles(of: path) } ?? false }

    /// A session of a PostgreSQL. One that reads is begun anew when it is cut.
    ///
    /// - Parameter patience: how long that may take, in milliseconds.
    init(
        _ address: ServerAddress, access: Access, patience: Int = Limits.busyMilliseconds,
        _ watch: ServerWatch? = nil
    ) throws(StoreError) {
        path = address.shown
        short = nil
        sealed = nil
        driver = .server(
            try ServerSession(address, isReader: access != .readWrite, patience: patience, watch))
    }

    /// Where the PostgreSQL is; nil for a file.
    var address: ServerAddress? { session?.address }

    var session: ServerSession? {
        switch driver {
        case .file: nil
        case .server(let session): session
        }
    }

    /// Whether the store is a PostgreSQL's.
    var isServed: Bool { session != nil }

    /// How long it waits for its turn to write. It looks again each millisecond: a writer that has much to
    /// write lets go of the database only shortly.
    func waitForOthers(milliseconds: Int) {
        guard case .file(let handle) = driver else { return }
        let most = UnsafeMutableRawPointer(bitPattern: milliseconds)
        _ = sqlite3_busy_handler(
            handle,
            { most, attempts in
                guard Int(attempts) < Int(bitPattern: most) else { return 0 }
                usleep(1000)
                return 1
            }, most)
    }

    deinit {
        if case .file(let handle) = driver { sqlite3_close_v2(handle) }
    }

    static func uri(_ path: String) -> String {
        // With an empty host a path may begin with two slashes.
        "file:\(path.hasPrefix("/") ? "//" : "")\(percentEncoded(path))"
    }

    private static func percentEncoded(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
            .replacing("&", with: "%26")
    }

    /// Runs statements that give no rows.
    func execute(_ sql: String, doing: String = "write to") throws(StoreError) {
        let handle: OpaquePointer
        switch driver {
        case .file(let file): handle = file
        case .server(let session): return try session.command(sql, doing: doing)
        }
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, doing: doing) }
    }

    /// Begins to write; nobody else's writes come between. Of a PostgreSQL, others' may.
    func begin() throws(StoreError) {
        switch driver {
        case .file: try execute("BEGIN IMMEDIATE")
        case .server(let session): try session.begin()
        }
    }

    /// Begins to read what is there at this moment.
    func beginReading() throws(StoreError) {
        switch driver {
        case .file: try execute("BEGIN", doing: "read")
        case .server(let session): try session.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        }
    }

    func commit(hasChanged: Bool = true) throws(StoreError) {
        switch driver {
        case .file: try execute("COMMIT")
        case .server(let session): try session.commit(hasChanged: hasChanged)
        }
    }

    func rollBack() throws(StoreError) {
        switch driver {
        case .file: try execute("ROLLBACK")
        case .server(let session): try session.rollBack()
        }
    }

    /// All that `body` changes or, when it throws, nothing.
    func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try begin()
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            // SQLite may have rolled back by itself already; the first error is the one that tells.
            try? rollBack()
            throw error
        }
    }

    func prepare(_ sql: String) throws(StoreError) -> Statement {
        switch driver {
        case .file: Statement(try prepareHandle(sql), of: self)
        case .server(let session): Statement(sql, of: session, by: self)
        }
    }

    /// A statement that is prepared when it first runs. A reader has eleven of them, and most readers run two or three.
    func prepareLater(_ sql: String) -> Statement {
        switch driver {
        case .file: Statement(unprepared: sql, of: self)
        case .server(let session): Statement(sql, of: session, by: self)
        }
    }

    fileprivate func prepareHandle(_ sql: String) throws(StoreError) -> OpaquePointer {
        guard case .file(let file) = driver else {
            preconditionFailure("PostgreSQL prepares statements itself")
        }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(file, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code, doing: "read") }
        return statement
    }

    /// Full-text search by the words of `SearchTokenizer`, ranked by a scorer that outlives the connection;
    /// false where this SQLite has none.
    func addSearch(_ scorer: TextScorer) -> Bool {
        guard case .file(let handle) = driver, let api = larder_fts5_api(handle) else { return false }
        return SearchTokenizer.register(with: api) && scorer.register(with: api)
    }

    /// The first column of the first row of a query that always gives one.
    func integer(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.first { row in row.integer(0) } ?? 0
    }

    /// How many rows the last statement that writes has changed.
    var changedRowCount: Int {
        guard case .file(let handle) = driver else { return lastChangedRowCount }
        return Int(sqlite3_changes(handle))
    }

    /// Puts a database together in which there is room. What is made of it meanwhile is as large as what is
    /// left, and lies in this folder; in memory, as all else that passes, it would be a gigabyte of a large one.
    func vacuum(in folder: String) throws(StoreError) {
        // VACUUM also gives a database of an earlier version checksums.
        if case .file(let handle) = driver { _ = larder_sqlite_reserve_checksums(handle) }
        let place = folder.replacing("'", with: "''")
        try execute("PRAGMA temp_store_directory = '\(place)'; PRAGMA temp_store = FILE;", doing: "shrink")
        let result = Result { () throws(StoreError) in try execute("VACUUM", doing: "shrink") }
        try execute("PRAGMA temp_store = MEMORY; PRAGMA temp_store_directory = '';", doing: "shrink")
        try result.get()
    }

    /// Gives each page of an empty database a checksum, which is compared when the page is read.
    func addPageChecksums(doing: String) throws(StoreError) {
        guard case .file(let handle) = driver else { return }
        let code = larder_sqlite_add_checksums(handle)
        guard code == SQLITE_OK else { throw error(code, doing: doing) }
    }

    /// Whether damaged pages are read, by a caller that compares their content with something else. Otherwise they are
    /// errors.
    func readDamagedPages(_ isWanted: Bool) {
        guard case .file(let handle) = driver else { return }
        _ = larder_sqlite_ignore_checksums(handle, isWanted ? 1 : 0)
    }

    /// Has what the other one has in place of what it had: all of it in one transaction or, when it throws,
    /// nothing. Both are files of SQLite's.
    func take(_ other: Connection, doing: String) throws(StoreError) {
        guard case .file(let own) = driver, case .file(let source) = other.driver else { return }
        guard let backup = sqlite3_backup_init(own, "main", source, "main") else {
            throw error(sqlite3_errcode(own), doing: doing)
        }
        let step = sqlite3_backup_step(backup, -1)
        let code = sqlite3_backup_finish(backup)
        // Whoever was in the way is not told by the second.
        guard step == SQLITE_DONE, code == SQLITE_OK else {
            throw error(code == SQLITE_OK ? step : code, doing: doing)
        }
    }

    /// A function by which statements ask whether a number is one of these. It may be given another meaning.
    func define(_ name: String, _ numbers: NumberSet) throws(StoreError) {
        guard case .file(let handle) = driver else { return }
        let code = sqlite3_create_function_v2(
            handle, name, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
            Unmanaged.passRetained(AskedNumbers(numbers)).toOpaque(),
            { context, _, values in
                guard let asked = sqlite3_user_data(context), let value = values?[0] else { return }
                let isOne = Unmanaged<AskedNumbers>.fromOpaque(asked)._withUnsafeGuaranteedRef {
                    $0.numbers.contains(sqlite3_value_int64(value))
                }
                sqlite3_result_int(context, isOne ? 1 : 0)
            }, nil, nil,
            // SQLite calls it where it fails, too.
            { asked in
                if let asked { Unmanaged<AskedNumbers>.fromOpaque(asked).release() }
            })
        guard code == SQLITE_OK else { throw error(code, doing: "read") }
    }

    private final class AskedNumbers {
        let numbers: NumberSet

        init(_ numbers: NumberSet) { self.numbers = numbers }
    }

    /// Of a PostgreSQL.
    fileprivate var lastChangedRowCount = 0

    fileprivate var lastInsertedRow: Int64 {
        guard case .file(let handle) = driver else { return 0 }
        return sqlite3_last_insert_rowid(handle)
    }

    /// Another number than before once another connection has changed the store.
    func dataVersion() throws(StoreError) -> Int64 {
        switch driver {
        case .file: try integer("PRAGMA data_version")
        case .server(let session): try session.changeCount()
        }
    }

    func error(_ code: Int32, doing: String) -> StoreError {
        guard case .file(let handle) = driver else {
            return StoreError(.failed, doing: doing, path: path, detail: "\(code)")
        }
        return Self.error(of: handle, code: code, doing: doing, path: path)
    }

    /// Whether the system's own error, of which SQLite made one of its, says that no room is left.
    private static func isDiskFull(_ handle: OpaquePointer) -> Bool {
        let code = sqlite3_system_errno(handle)
        return code == ENOSPC || code == EDQUOT
    }

    private static func error(of handle: OpaquePointer, code: Int32, doing: String, path: String)
        -> StoreError
    {
        let reason: StoreError.Reason =
            switch code & 0xff {
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL: .full
            // A page does not match its checksum.
            case SQLITE_IOERR where code == larder_sqlite_wrong_checksum(): .unusable
            case SQLITE_IOERR where isDiskFull(handle), SQLITE_CANTOPEN where isDiskFull(handle): .full
            case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN: .denied
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .unusable
            default: .failed
            }
        // SQLite often says no more than "disk I/O error".
        let detail =
            reason == .full
            ? "the disk is full"
            : code == larder_sqlite_wrong_checksum()
                ? "a page does not match its checksum" : String(cString: sqlite3_errmsg(handle))
        let folder = StoreFolder(ofDatabase: path)
        guard reason == .unusable, folder.database == path else {
            return StoreError(reason, doing: doing, path: path, detail: detail)
        }
        return StoreError(
            reason, doing: doing, path: path, detail: detail,
            advice: "recover the intact content from it and the files beside it",
            remedy: .repair)
    }
}

/// What a statement's parameters take.
enum SQLValue {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    /// Text that is bytes already.
    case utf8([UInt8])
    case blob([UInt8])
    /// Of a PostgreSQL's statements that have many rows at a time.
    case integers([Int64?])
    case texts([String?])
    case blobs([[UInt8]?])

    static func optional(_ integer: Int64?) -> SQLValue {
        integer.map(SQLValue.integer) ?? .null
    }

    static func optional(_ text: String?) -> SQLValue {
        text.map(SQLValue.text) ?? .null
    }
}

// MARK: - Statement

/// A prepared statement, kept for as long as its owner needs it. The connection outlives it.
final class Statement {
    /// SQLite's statement; nil before it is prepared, and where PostgreSQL runs it.
    private var handle: OpaquePointer?
    /// The SQL of a statement that has not run yet.
    private var unprepared: String?
    private let connection: Connection
    private let server: Served?

    private struct Served {
        let session: ServerSession
        let sql: String
    }

    /// With the number of the row that it adds.
    private lazy var insertion = server.map { $0.sql + " RETURNING id" } ?? ""

    init(_ handle: OpaquePointer, of connection: Connection) {
        self.handle = handle
        server = nil
        self.connection = connection
    }

    init(unprepared sql: String, of connection: Connection) {
        unprepared = sql
        server = nil
        self.connection = connection
    }

    init(_ sql: String, of session: ServerSession, by connection: Connection) {
        self.connection = connection
        server = Served(session: session, sql: session.translated(sql))
    }

    deinit {
        if let handle { sqlite3_finalize(handle) }
    }

    /// SQLite's statement, prepared if it was not yet; nil where PostgreSQL runs it.
    private func prepared() throws(StoreError) -> OpaquePointer? {
        if let handle { return handle }
        guard let sql = unprepared else { return nil }
        handle = try connection.prepareHandle(sql)
        unprepared = nil
        return handle
    }

    /// Runs the statement to its end.
    func run(_ values: SQLValue..., doing: String = "write to") throws(StoreError) {
        try run(values, doing: doing)
    }

    func run(_ values: [SQLValue], doing: String) throws(StoreError) {
        guard let file = try prepared() else {
            if let server {
                connection.lastChangedRowCount = try server.session.run(server.sql, values, doing: doing)
            }
            return
        }
        defer { sqlite3_reset(file) }
        try bind(values, to: file, doing: doing)
        while try step(file, doing: doing) {}
    }

    /// Runs what adds a row to a table whose key is `id`, and gives that; nil where the row was there.
    @discardableResult
    func insert(_ values: SQLValue..., doing: String = "write to") throws(StoreError) -> Int64? {
        if let server {
            return try server.session.first(insertion, values, doing: doing) { $0.integer(0) }
        }
        try run(values, doing: doing)
        return connection.changedRowCount > 0 ? connection.lastInsertedRow : nil
    }

    /// What `read` makes of the first row of which it makes anything, nil when there is none.
    func first<Result>(_ values: SQLValue..., read: (Row) -> Result?) throws(StoreError) -> Result? {
        try first(values, read: read)
    }

    func first<Result>(_ values: [SQLValue], read: (Row) -> Result?) throws(StoreError) -> Result? {
        guard let file = try prepared() else {
            return try server?.session.first(server?.sql ?? "", values) { read(Row($0)) }
        }
        defer { sqlite3_reset(file) }
        try bind(values, to: file, doing: "read")
        while try step(file, doing: "read") {
            if let result = read(Row(file)) { return result }
        }
        return nil
    }

    /// Runs `body` while the first row stands: what it reads of a file is of the same moment.
    func holdingFirst<Result>(_ body: (Row?) throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard let file = try prepared() else { return try body(nil) }
        defer { sqlite3_reset(file) }
        return try body(try step(file, doing: "read") ? Row(file) : nil)
    }

    /// Calls `read` for each row.
    func each(_ values: SQLValue..., read: (Row) -> Void) throws(StoreError) {
        try each(values, read: read)
    }

    func each(_ values: [SQLValue], read: (Row) -> Void) throws(StoreError) {
        guard let file = try prepared() else {
            if let server { try server.session.each(server.sql, values) { read(Row($0)) } }
            return
        }
        defer { sqlite3_reset(file) }
        try bind(values, to: file, doing: "read")
        while try step(file, doing: "read") { read(Row(file)) }
    }

    private func step(_ handle: OpaquePointer, doing: String) throws(StoreError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        case let code: throw connection.error(code, doing: doing)
        }
    }

    private func bind(
        _ values: [SQLValue], to handle: OpaquePointer, doing: String
    ) throws(StoreError) {
        for (offset, value) in values.enumerated() {
            let index = Int32(offset + 1)
            let code: Int32
            switch value {
            case .null, .integers, .texts, .blobs:
                code = sqlite3_bind_null(handle, index)
            case .integer(let integer):
                code = sqlite3_bind_int64(handle, index, integer)
            case .real(let real):
                code = sqlite3_bind_double(handle, index, real)
            case .utf8(let text):
                code = text.withUnsafeBytes { bytes in
                    larder_sqlite_bind_text(
                        handle, index, bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                        UInt64(bytes.count))
                }
            case .text(var text):
                code = text.withUTF8 { bytes in
                    bytes.withMemoryRebound(to: CChar.self) { bytes in
                        larder_sqlite_bind_text(handle, index, bytes.baseAddress, UInt64(bytes.count))
                    }
                }
            case .blob(let blob):
                code = blob.withUnsafeBytes { bytes in
                    larder_sqlite_bind_blob(handle, index, bytes.baseAddress, UInt64(bytes.count))
                }
            }
            guard code == SQLITE_OK else { throw connection.error(code, doing: doing) }
        }
    }
}

/// The row a statement stands on; good only inside the closure that was handed it.
struct Row {
    /// Of SQLite's statement, or of a result of libpq's.
    private let handle: OpaquePointer
    /// Of a result's row; -1 for SQLite, which stands on one.
    private let number: Int32

    fileprivate init(_ statement: OpaquePointer) {
        handle = statement
        number = -1
    }

    fileprivate init(_ row: ServerRow) {
        handle = row.result
        number = row.number
    }

    /// Nil for SQLite's.
    @inline(__always) private var served: ServerRow? {
        number < 0 ? nil : ServerRow(result: handle, number: number)
    }

    func isNull(_ column: Int32) -> Bool {
        if let served { return served.isNull(column) }
        return sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    func integer(_ column: Int32) -> Int64 {
        if let served { return served.integer(column) }
        return sqlite3_column_int64(handle, column)
    }

    func real(_ column: Int32) -> Double {
        if let served { return served.real(column) }
        return sqlite3_column_double(handle, column)
    }

    /// Text as bytes, no more than so many.
    func utf8(_ column: Int32, atMost most: Int = .max) -> [UInt8] {
        if let served { return served.bytes(column) { [UInt8]($0.prefix(most)) } }
        guard let bytes = sqlite3_column_text(handle, column) else { return [] }
        let count = min(Int(sqlite3_column_bytes(handle, column)), most)
        return [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    }

    /// Text or a blob, without a copy.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let served { return served.bytes(column, body) }
        let bytes = sqlite3_column_blob(handle, column)?.assumingMemoryBound(to: UInt8.self)
        return body(UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    func text(_ column: Int32) -> String {
        if let served { return served.bytes(column) { String(decoding: $0, as: UTF8.self) } }
        guard let bytes = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func optionalBlob(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }

    func blob(_ column: Int32) -> [UInt8] {
        if let served { return served.bytes(column) { [UInt8]($0) } }
        guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
