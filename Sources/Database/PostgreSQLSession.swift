internal import Glibc
internal import System

/// A session with a PostgreSQL server: its connection, settings, prepared statements and transactions. Like the
/// `Connection` that owns it, it belongs to one thread at a time.
///
/// A session runs one statement at a time. If a caller is still reading rows of an earlier statement, the
/// remaining rows are loaded into memory before the next statement is sent (`readPendingResults`).
///
/// **Lost connections.** Outside of a transaction, a reader opens a new connection and repeats the statement. In all other
/// cases the error is thrown, because uncommitted changes and locks are lost: a writer then calls `renew`, takes its
/// locks again and repeats the transaction (`StoreWriter`, `SharedFrontier.retrying`).
///
/// **Transactions.** The first `begin` begins a transaction, and further ones create savepoints in it.
package final class PostgreSQLSession {
    package let address: PostgreSQLAddress
    private let isReader: Bool
    private let connectionString: String
    /// Queries that all statements read in place of tables; see `replaceTables`.
    private var replacements: [PostgreSQLDialect.Replacement] = []
    private var connection: PostgreSQLConnection
    /// The names of prepared statements by their SQL. A statement is prepared when it runs for the second time.
    private var preparedNames: [String: String] = [:]
    /// The statements that have run at least once.
    private var executedSQL: Set<String> = []
    /// Statements translated for PostgreSQL, by their SQL for SQLite.
    private var translations: [String: String] = [:]
    /// Statements whose rows are being read, the innermost last.
    private var rowStreams: [RowStream] = []
    /// Whether the session receives notifications of changes (LISTEN).
    private var isListening = false
    /// The number of changes of the store that this session noticed. A new connection counts as a change, because the
    /// session may have missed notifications.
    private var changes: Int64 = 0
    /// Whether a transaction is open. If so, nothing can be repeated with a new connection.
    private var isInTransaction: Bool { depth > 0 }
    /// The number of nested transactions that are open. All but the first are savepoints.
    private var depth = 0
    /// Whether a COMMIT was sent whose result has not been read yet.
    private var isCommitPending = false

    /// The time of `endWhenIdle`, which a new connection needs again.
    private var maxIdleTime: Duration?
    /// Whether `useIndexScansOnly` was called, which a new connection needs again.
    private var usesIndexScansOnly = false

    /// The maximum number of statements that are prepared or whose translation is stored. Further ones are
    /// translated each time and sent with their text.
    private static let maxPreparedStatements = 400

    /// The time in milliseconds for which the session waits for a server that is unreachable, each time it connects.
    private let patience: Int
    private let watch: PostgreSQLWatch?

    /// Connects to the server and configures the session. If a session of this run has reached the server before, waits up
    /// to `patience` milliseconds for a server that is unreachable; else throws at once, because the address may be wrong.
    init(
        _ address: PostgreSQLAddress, isReader: Bool, patience: Int = Connection.busyMilliseconds,
        _ watch: PostgreSQLWatch? = nil
    ) throws(StoreError) {
        self.patience = patience
        self.watch = watch
        try address.check()
        self.address = address
        self.isReader = isReader
        let connectionString = isReader ? address.connectionString : address.writerConnectionString
        self.connectionString = connectionString
        connection = try Self.retryingWhileUnreachable(watch?.hasConnected ?? false ? patience : 0, watch) {
            () throws(StoreError) in
            try PostgreSQLConnection(connectionString, address, patience: .milliseconds(patience), watch)
        }
        try setUp()
        watch?.didReach(address.shown)
    }

    /// Whether the connection is lost: the server ended it or cannot be reached.
    package var isConnectionLost: Bool { connection.isConnectionLost }

    /// Whether an interruption was requested, so that waiting for the server ends.
    package var isInterrupted: Bool { watch?.isInterrupted ?? false }

    /// Configures a new connection. A replaced connection needs the same settings again.
    private func setUp() throws(StoreError) {
        if let encoding = connection.serverSetting("server_encoding"), encoding != "UTF8" {
            throw StoreError(
                .unusable, doing: "open", path: address.shown,
                detail: "its encoding is \(encoding), but URLs and titles need UTF8",
                advice: "create a database with the encoding UTF8, and name that one")
        }
        try command(
            """
            SET search_path = \(address.quotedSchema), pg_catalog; SET client_encoding = UTF8; SET jit = off;
            SET application_name = 'larder \(address.schema)'; SET plan_cache_mode = \(isReader ? "auto" : "force_custom_plan"); SET default_transaction_read_only = \(isReader ? "on" : "off");
            """, doing: "open")
        if let maxIdleTime { try endWhenIdle(maxIdleTime) }
        if usesIndexScansOnly { try useIndexScansOnly() }
    }

    /// Makes every statement that is translated from now on read queries in place of tables. Temporary views
    /// would do the same, but a standby cannot create them.
    package func replaceTables(_ replacements: [PostgreSQLDialect.Replacement]) {
        self.replacements = replacements
        translations = [:]
    }

    /// Disables bitmap scans, for a session that looks up single rows by an index. Without statistics, the
    /// planner overestimates how selective a column with a single value is, and scans an index of it each
    /// time.
    package func useIndexScansOnly() throws(StoreError) {
        usesIndexScansOnly = true
        try command("SET enable_bitmapscan = off", doing: "open")
    }

    /// Makes the server end the session if a transaction is idle for this long.
    package func endWhenIdle(_ time: Duration) throws(StoreError) {
        maxIdleTime = time
        try command(
            "SET idle_in_transaction_session_timeout = \(Int(time / .milliseconds(1)))", doing: "open")
    }

    /// Returns the SQL for PostgreSQL of a statement for SQLite, with replaced tables.
    func translate(_ sql: String) -> String {
        if let known = translations[sql] { return known }
        let text = PostgreSQLDialect.replacing(replacements, in: PostgreSQLDialect.translate(sql))
        if translations.count < Self.maxPreparedStatements { translations[sql] = text }
        return text
    }

    /// Runs statements that have no parameters and whose rows are not needed.
    func command(_ sql: String, doing: String) throws(StoreError) {
        readPendingResults()
        _ = try connection.result(of: .command(sql), doing: doing)
    }

    /// Begins a transaction, or a savepoint if one is open.
    ///
    /// - Parameter kind: the SQL after BEGIN, such as an isolation level. Ignored for a savepoint.
    func begin(_ kind: String = "") throws(StoreError) {
        if depth > 0 {
            depth += 1
            return try command("SAVEPOINT s\(depth)", doing: "write to")
        }
        try retryingOnce { () throws(StoreError) in try command("BEGIN \(kind)", doing: "write to") }
        depth = 1
    }

    /// Commits the innermost transaction.
    ///
    /// - Parameter hasChanged: whether to notify other sessions of a change. Ignored for nested transactions.
    func commit(hasChanged: Bool) throws(StoreError) {
        if depth > 1 {
            try command("RELEASE s\(depth)", doing: "write to")
            depth -= 1
            return
        }
        try command((hasChanged ? "NOTIFY \(address.channel);" : "") + "COMMIT", doing: "write to")
        depth = 0
    }

    /// Rolls back the innermost transaction.
    func rollBack() throws(StoreError) {
        if depth > 1 {
            depth -= 1
            return try command("ROLLBACK TO s\(depth + 1)", doing: "write to")
        }
        depth = 0
        try command("ROLLBACK", doing: "write to")
    }

    /// Runs a statement and returns the number of rows that it changed or found. Outside of a transaction, notifies other
    /// sessions if the statement changes rows.
    @discardableResult
    func run(_ sql: String, _ values: [SQLValue], doing: String) throws(StoreError) -> Int {
        let result = try result(of: sql, values, doing: doing)
        let isChange = !isInTransaction && ["INSERT", "UPDATE", "DELETE"].contains { sql.hasPrefix($0) }
        if isChange { try command("NOTIFY \(address.channel)", doing: doing) }
        return result.changedRowCount
    }

    /// Runs a statement, and returns the first result of `read` that is not nil, or nil if no row gives one. All rows are
    /// loaded into memory.
    package func first<Value>(
        _ sql: String, _ values: [SQLValue], doing: String = "read", read: (PostgreSQLRow) -> Value?
    ) throws(StoreError) -> Value? {
        let result = try result(of: sql, values, doing: doing)
        for number in 0..<result.rowCount {
            if let value = result.row(number, read) { return value }
        }
        return nil
    }

    /// Runs a statement and calls `read` for each row. Rows are read from the network one by one, so that memory use
    /// stays constant. `read` may run other statements of this session; the remaining rows are then loaded into memory.
    func each(_ sql: String, _ values: [SQLValue], read: (PostgreSQLRow) -> Void) throws(StoreError) {
        var failure: StoreError?
        var rowCount = 0
        try retryingOnce { () throws(StoreError) in
            failure = nil
            try send(sql, values)
            connection.useSingleRowMode()
            let stream = RowStream()
            rowStreams.append(stream)
            defer { rowStreams.removeLast() }
            while let result = next(of: stream) {
                switch result.outcome {
                case .row:
                    rowCount += 1
                    result.row(0, read)
                case .done: break
                case .failure: failure = failure ?? connection.error(result, doing: "read")
                }
            }
            failure = failure ?? stream.failure
            // Rows that were already passed to `read` cannot be taken back, so do not repeat the query.
            if let failure, rowCount == 0 { throw failure }
        }
        if let failure, rowCount > 0 { throw failure }
    }

    /// The remaining rows of a statement, in memory or still on the network.
    private final class RowStream {
        /// The results that were received before another statement was sent.
        var loaded: ArraySlice<PostgreSQLResult> = []
        /// Whether the last result was received.
        var isOver = false
        var failure: StoreError?
    }

    /// Returns the next result of a stream, from memory or from the network; nil after the last one.
    private func next(of stream: RowStream) -> PostgreSQLResult? {
        if let result = stream.loaded.popFirst() { return result }
        guard !stream.isOver else { return nil }
        let result = connection.nextResult()
        if result == nil { endStream(stream) }
        return result
    }

    /// Marks a stream whose last result was received. Sets its failure if the connection is abandoned instead.
    private func endStream(_ stream: RowStream) {
        stream.isOver = true
        stream.failure = connection.abandonmentError(doing: "read")
    }

    /// Receives all results that the server has not delivered yet: of a COMMIT, and of the innermost statement whose rows
    /// are being read. A connection can run the next statement only after that.
    private func readPendingResults() {
        if isCommitPending {
            isCommitPending = false
            while connection.nextResult() != nil {}
        }
        guard let stream = rowStreams.last, !stream.isOver else { return }
        while let result = connection.nextResult() { stream.loaded.append(result) }
        endStream(stream)
    }

    /// Runs `body` in a transaction in which all reads see the same state of the database, and passes it the number of
    /// changes until then (`changeCount`). If the connection is lost, `body` runs once more, with a new transaction.
    package func withFixedVersion<Result>(_ body: (Int64) throws(StoreError) -> Result) throws(StoreError)
        -> Result
    {
        var isRetry = false
        while true {
            let changes = try changeCount(beginsTransaction: true)
            do throws(StoreError) {
                let result = try body(changes)
                sendCommit()
                return result
            } catch {
                sendCommit()
                guard connection.isConnectionLost, !isRetry else { throw error }
                isRetry = true
                try reconnect()
            }
        }
    }

    /// Ends a read-only transaction without waiting for the result, which would cost another round trip.
    /// `readPendingResults` receives it before the next statement. Nothing depends on the result, because the transaction
    /// changed nothing.
    private func sendCommit() {
        readPendingResults()
        depth = 0
        isCommitPending = connection.send(.command("COMMIT"))
    }

    /// Returns a number that differs from the previous one if another session has changed the store. It is the number of
    /// notifications of writers, or on a standby, which receives none, the position of its replication. A change may
    /// show with a short delay.
    ///
    /// - Parameter beginsTransaction: whether to begin a transaction in which all reads see the same state.
    func changeCount(beginsTransaction: Bool = false) throws(StoreError) -> Int64 {
        let query =
            beginsTransaction ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1" : "SELECT 1"
        if !isListening {
            let position = try first(
                "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() - '0/0' END", []
            ) { $0.isNull(0) ? nil : $0.integer(0) }
            if let position {
                if beginsTransaction {
                    try retryingOnce { () throws(StoreError) in try command(query, doing: "read") }
                    depth = 1
                }
                return position
            }
            try retryingOnce { () throws(StoreError) in
                try command("LISTEN \(address.channel)", doing: "read")
            }
            isListening = true
            changes += 1
        }
        // The server sends pending notifications before it answers.
        try retryingOnce { () throws(StoreError) in try command(query, doing: "read") }
        // `retryingOnce` may have opened a new session, which does not listen yet.
        guard isListening else {
            if beginsTransaction { sendCommit() }
            return try changeCount(beginsTransaction: beginsTransaction)
        }
        if beginsTransaction { depth = 1 }
        changes += connection.notificationCount()
        return changes
    }

    /// Runs a statement and returns its result, with all rows.
    private func result(of sql: String, _ values: [SQLValue], doing: String) throws(StoreError)
        -> PostgreSQLResult
    {
        readPendingResults()
        return try retryingOnce { () throws(StoreError) in
            try connection.result(of: request(for: sql, values, doing: doing), doing: doing)
        }
    }

    /// Sends a statement whose results the caller then receives.
    private func send(_ sql: String, _ values: [SQLValue]) throws(StoreError) {
        readPendingResults()
        guard connection.send(try request(for: sql, values, doing: "read")) else {
            throw connection.error(nil, doing: "read")
        }
    }

    /// Returns the request that runs a statement. When a statement runs for the second time, prepares it first, so that
    /// the server does not parse it again; preparing a statement that runs once would cost a round trip for nothing.
    private func request(
        for sql: String, _ values: [SQLValue], doing: String
    ) throws(StoreError) -> PostgreSQLConnection.Request {
        let values = PostgreSQLValues(values)
        if let name = preparedNames[sql] { return .prepared(name: name, values) }
        guard !executedSQL.insert(sql).inserted, preparedNames.count < Self.maxPreparedStatements else {
            return .statement(sql, values)
        }
        let name = "s\(preparedNames.count)"
        _ = try connection.result(of: .preparation(name: name, sql: sql, types: values.types), doing: doing)
        preparedNames[sql] = name
        return .prepared(name: name, values)
    }

    // MARK: Lost sessions

    /// Runs `body`. If that fails because the connection is lost, and this is a reader outside of a
    /// transaction, opens a new connection and runs `body` once more.
    private func retryingOnce<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            guard connection.isConnectionLost, isReader, !isInTransaction else { throw error }
            try reconnect()
            return try body()
        }
    }

    /// Replaces a lost connection by a new one. Uncommitted changes and locks are lost.
    package func renew() throws(StoreError) {
        depth = 0
        try reconnect()
    }

    /// Opens a new connection with the same settings. Retries for `patience`, because a server that is restarting is soon
    /// back.
    private func reconnect() throws(StoreError) {
        try Self.retryingWhileUnreachable(patience, watch) { () throws(StoreError) in
            connection = try PostgreSQLConnection(
                connectionString, address, patience: .milliseconds(patience), watch)
            preparedNames = [:]
            executedSQL = []
            isListening = false
            changes += 1
            try setUp()
        }
        watch?.didReach(address.shown)
    }

    /// Repeats `body` while the server is unreachable, every 100 ms, for about `patience` milliseconds or
    /// until an interruption.
    private static func retryingWhileUnreachable<Value>(
        _ patience: Int, _ watch: PostgreSQLWatch?, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        var attempt = 0
        while true {
            do throws(StoreError) {
                return try body()
            } catch {
                guard error.reason == .unreachable else { throw error }
                if patience > 0 { watch?.didFailToReach(error) }
                guard attempt < patience / 100, watch?.isInterrupted != true else { throw error }
                attempt += 1
                usleep(100_000)
            }
        }
    }

    /// Rolls back the transaction and releases all advisory locks before the session ends. An error is ignored, because
    /// the end of the session also releases them.
    package func unlockAll() {
        try? command("ROLLBACK; SELECT pg_advisory_unlock_all()", doing: "end")
    }
}
