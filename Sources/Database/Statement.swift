internal import CSQLite

/// A prepared statement. Its owner keeps it for repeated use. It retains its connection.
package final class Statement {
    /// SQLite's statement. It is nil until it is prepared, and always nil on a PostgreSQL server.
    private var handle: OpaquePointer?
    /// The SQL of a statement that is not prepared yet.
    private var unprepared: String?
    private let connection: Connection
    private let postgreSQL: PostgreSQLStatement?

    /// The session and the translated SQL of a statement for PostgreSQL.
    private struct PostgreSQLStatement {
        let session: PostgreSQLSession
        let sql: String
    }

    /// The SQL of an INSERT that returns the number of the new row.
    private lazy var insertion = postgreSQL.map { $0.sql + " RETURNING id" } ?? ""

    init(_ handle: OpaquePointer, of connection: Connection) {
        self.handle = handle
        postgreSQL = nil
        self.connection = connection
    }

    init(unprepared sql: String, of connection: Connection) {
        unprepared = sql
        postgreSQL = nil
        self.connection = connection
    }

    init(_ sql: String, of session: PostgreSQLSession, by connection: Connection) {
        self.connection = connection
        postgreSQL = PostgreSQLStatement(session: session, sql: session.translate(sql))
    }

    deinit {
        if let handle { sqlite3_finalize(handle) }
    }

    /// Returns SQLite's statement and prepares it if necessary. Returns nil on a PostgreSQL server.
    private func preparedHandle() throws(StoreError) -> OpaquePointer? {
        if let handle { return handle }
        guard let sql = unprepared else { return nil }
        handle = try connection.prepareHandle(sql)
        unprepared = nil
        return handle
    }

    /// Runs the statement and ignores any rows.
    package func run(_ values: SQLValue..., doing: String = "write to") throws(StoreError) {
        try run(values, doing: doing)
    }

    /// Runs the statement with a list of values.
    package func run(_ values: [SQLValue], doing: String) throws(StoreError) {
        guard let file = try preparedHandle() else {
            if let postgreSQL {
                connection.lastChangedRowCount = try postgreSQL.session.run(
                    postgreSQL.sql, values, doing: doing)
            }
            return
        }
        defer { sqlite3_reset(file) }
        try bind(values, to: file, doing: doing)
        while try step(file, doing: doing) {}
    }

    /// Inserts a row into a table whose key is `id`. Returns the key, or nil if the row already existed.
    @discardableResult
    package func insert(_ values: SQLValue...) throws(StoreError) -> Int64? {
        if let postgreSQL {
            return try postgreSQL.session.first(insertion, values, doing: "write to") { $0.integer(0) }
        }
        try run(values, doing: "write to")
        return connection.changedRowCount > 0 ? connection.lastInsertedRow : nil
    }

    /// Returns the first result of `read` that is not nil, or nil if no row gives one.
    @inlinable
    package func first<Result>(_ values: SQLValue..., read: (Row) -> Result?) throws(StoreError) -> Result? {
        try first(values, read: read)
    }

    @inlinable
    package func first<Result>(_ values: [SQLValue], read: (Row) -> Result?) throws(StoreError) -> Result? {
        guard let file = try start(values) else {
            var result: Result?
            try firstPostgreSQLRow(values) { row in
                result = read(row)
                return result != nil
            }
            return result
        }
        defer { end(file) }
        while let row = try next(file) {
            if let result = read(row) { return result }
        }
        return nil
    }

    /// Calls `body` with the first row, or nil if there is none. The statement stays open meanwhile, so all
    /// that `body` reads from a file has the same state. On a PostgreSQL server, `body` gets nil.
    @inlinable
    package func withFirstRowOpen<Result>(
        _ body: (Row?) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        guard let file = try start([]) else { return try body(nil) }
        defer { end(file) }
        return try body(try next(file))
    }

    /// Calls `read` for each row.
    @inlinable
    package func each(_ values: SQLValue..., read: (Row) -> Void) throws(StoreError) {
        try each(values, read: read)
    }

    @inlinable
    package func each(_ values: [SQLValue], read: (Row) -> Void) throws(StoreError) {
        guard let file = try start(values) else { return try eachPostgreSQLRow(values, read: read) }
        defer { end(file) }
        while let row = try next(file) { read(row) }
    }

    // The functions that the inlinable functions above call, since C types are not visible outside of this module.

    /// Prepares SQLite's statement for reading with these parameters. The caller calls `end` when it has read
    /// its rows. Returns nil on a PostgreSQL server.
    @usableFromInline
    func start(_ values: [SQLValue]) throws(StoreError) -> OpaquePointer? {
        guard let file = try preparedHandle() else { return nil }
        do throws(StoreError) {
            try bind(values, to: file, doing: "read")
        } catch {
            sqlite3_reset(file)
            throw error
        }
        return file
    }

    /// Returns the next row of SQLite's statement, or nil after the last one.
    @usableFromInline
    func next(_ file: OpaquePointer) throws(StoreError) -> Row? {
        try step(file, doing: "read") ? Row(file) : nil
    }

    /// Ends reading, so that SQLite's statement holds no lock and can run again.
    @usableFromInline
    func end(_ file: OpaquePointer) { sqlite3_reset(file) }

    /// Runs the statement on the PostgreSQL server, and calls `isWanted` with its rows until it returns true. Does nothing
    /// for a file.
    @usableFromInline
    func firstPostgreSQLRow(_ values: [SQLValue], isWanted: (Row) -> Bool) throws(StoreError) {
        guard let postgreSQL else { return }
        _ = try postgreSQL.session.first(postgreSQL.sql, values) { isWanted(Row($0)) ? true : nil }
    }

    /// Runs the statement on the PostgreSQL server, and calls `read` with each row. Does nothing for a file.
    @usableFromInline
    func eachPostgreSQLRow(_ values: [SQLValue], read: (Row) -> Void) throws(StoreError) {
        if let postgreSQL { try postgreSQL.session.each(postgreSQL.sql, values) { read(Row($0)) } }
    }

    /// Runs SQLite's statement up to its next row. Returns false after the last one.
    private func step(_ handle: OpaquePointer, doing: String) throws(StoreError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        case let code: throw connection.error(code, doing: doing)
        }
    }

    /// Sets the parameters of SQLite's statement. SQLite has no arrays, so they become NULL.
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

/// A value for a parameter of an SQL statement, on both kinds of database.
package enum SQLValue {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    /// Text as UTF-8 bytes.
    case utf8([UInt8])
    case blob([UInt8])
    /// Arrays, for PostgreSQL statements that take many rows at a time (`unnest`).
    case integers([Int64?])
    case texts([String?])
    case blobs([[UInt8]?])

    /// An integer, or NULL for nil.
    package static func optional(_ integer: Int64?) -> SQLValue {
        integer.map(SQLValue.integer) ?? .null
    }

    /// A text, or NULL for nil.
    package static func optional(_ text: String?) -> SQLValue {
        text.map(SQLValue.text) ?? .null
    }
}

/// The current row of a statement. It is valid only inside the closure that received it.
package struct Row {
    /// A statement of SQLite or a result of libpq.
    private let handle: OpaquePointer
    /// The index of the row in a libpq result, or -1 for SQLite.
    private let number: Int32

    fileprivate init(_ statement: OpaquePointer) {
        handle = statement
        number = -1
    }

    fileprivate init(_ row: PostgreSQLRow) {
        handle = row.result
        number = row.number
    }

    /// The row of a PostgreSQL result, or nil for SQLite.
    @inline(__always) private var postgreSQLRow: PostgreSQLRow? {
        number < 0 ? nil : PostgreSQLRow(result: handle, number: number)
    }

    /// Whether a column is NULL. The other functions return 0 or an empty value for NULL.
    package func isNull(_ column: Int32) -> Bool {
        if let postgreSQLRow { return postgreSQLRow.isNull(column) }
        return sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    package func integer(_ column: Int32) -> Int64 {
        if let postgreSQLRow { return postgreSQLRow.integer(column) }
        return sqlite3_column_int64(handle, column)
    }

    package func real(_ column: Int32) -> Double {
        if let postgreSQLRow { return postgreSQLRow.real(column) }
        return sqlite3_column_double(handle, column)
    }

    /// Returns the column's text as UTF-8, truncated to `maxBytes` bytes.
    package func utf8(_ column: Int32, atMost maxBytes: Int = .max) -> [UInt8] {
        if let postgreSQLRow { return postgreSQLRow.bytes(column) { [UInt8]($0.prefix(maxBytes)) } }
        guard let bytes = sqlite3_column_text(handle, column) else { return [] }
        let count = min(Int(sqlite3_column_bytes(handle, column)), maxBytes)
        return [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    }

    /// Calls `body` with the bytes of a text or blob, without copying them.
    @inlinable
    package func withBytes<Result>(
        _ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        body(bytes(column))
    }

    /// The bytes of a text or blob, which are valid as long as the row is.
    @usableFromInline
    func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        if let postgreSQLRow { return postgreSQLRow.bytes(column) { $0 } }
        let bytes = sqlite3_column_blob(handle, column)?.assumingMemoryBound(to: UInt8.self)
        return UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column)))
    }

    package func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// Returns a text. Invalid UTF-8 is replaced by U+FFFD.
    package func text(_ column: Int32) -> String {
        if let postgreSQLRow { return postgreSQLRow.bytes(column) { String(decoding: $0, as: UTF8.self) } }
        guard let bytes = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    package func optionalBlob(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }

    package func blob(_ column: Int32) -> [UInt8] {
        if let postgreSQLRow { return postgreSQLRow.bytes(column) { [UInt8]($0) } }
        guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
