internal import Glibc
internal import Synchronization
package import System

/// One session of a PostgreSQL. It belongs to one thread at a time, as the connection does that has it.
final class ServerSession {
    let address: ServerAddress
    private let isReader: Bool
    /// Queries that take the place of tables in all statements, if there are any; see `replaceTables`.
    private var replacements: [ServerDialect.Replacement] = []
    private var link: ServerLink
    /// How often each statement has been run; one that comes again is prepared.
    private var names: [String: String] = [:]
    private var seen: Set<String> = []
    /// What statements are in the server's words.
    private var translations: [String: String] = [:]
    /// Whose rows are being read, each while the one before is.
    private var streams: [Stream] = []
    private var isListening = false
    private var changes: Int64 = 0
    /// In an open transaction nothing can be done anew.
    private var isInTransaction: Bool { depth > 0 }
    /// How many transactions are open, each within the one before.
    private var depth = 0
    /// Nobody has looked yet at what was answered to that.
    private var isMomentEnding = false

    private var stillness: Duration?
    private var looksUpAlone = false

    private static let mostPrepared = 400

    /// How long one that reads waits for a server that has gone, in milliseconds.
    private let patience: Int
    private let watch: ServerWatch?

    init(
        _ address: ServerAddress, isReader: Bool, patience: Int = Limits.busyMilliseconds,
        _ watch: ServerWatch? = nil
    ) throws(StoreError) {
        self.patience = patience
        self.watch = watch
        try address.check()
        self.address = address
        self.isReader = isReader
        let words = isReader ? address.words : address.writerWords
        // Nobody waits for one that was never there.
        link = try Self.whileAway(watch?.hasConnected ?? false ? patience : 0, watch) {
            () throws(StoreError) in
            try ServerLink(words, address, patience: .milliseconds(patience), watch)
        }
        try setUp()
        watch?.isThere(address.shown)
    }

    /// The server has ended it, or is not there.
    var isCut: Bool { link.isCut }

    /// Nobody wants to wait any more.
    var isStopped: Bool { watch?.isStopped ?? false }

    private func setUp() throws(StoreError) {
        if let encoding = link.parameter("server_encoding"), encoding != "UTF8" {
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
        if let stillness { try endWhenStill(stillness) }
        if looksUpAlone { try lookUpAlone() }
    }

    /// Lets every statement that is prepared from now on read queries in place of tables. Temporary views would do
    /// the same, but a standby can create none.
    func replaceTables(_ replacements: [ServerDialect.Replacement]) {
        self.replacements = replacements
        translations = [:]
    }

    /// Whoever asks for single rows by an index has each of them looked up. Without statistics the planner takes a
    /// column that is the same in all rows for one that tells much, and goes through an index of it each time.
    func lookUpAlone() throws(StoreError) {
        looksUpAlone = true
        try command("SET enable_bitmapscan = off", doing: "open")
    }

    /// The server ends the session when a transaction of it stands still for so long.
    func endWhenStill(_ time: Duration) throws(StoreError) {
        stillness = time
        try command(
            "SET idle_in_transaction_session_timeout = \(Int(time / .milliseconds(1)))", doing: "open")
    }

    func translated(_ sql: String) -> String {
        if let known = translations[sql] { return known }
        let text = ServerDialect.replacing(replacements, in: ServerDialect.translated(sql))
        if translations.count < Self.mostPrepared { translations[sql] = text }
        return text
    }

    /// Statements without values, and without rows that anybody reads.
    func command(_ sql: String, doing: String) throws(StoreError) {
        drain()
        _ = try link.result(of: .command(sql), doing: doing)
    }

    func begin(_ kind: String = "") throws(StoreError) {
        if depth > 0 {
            depth += 1
            return try command("SAVEPOINT s\(depth)", doing: "write to")
        }
        try whileThere { () throws(StoreError) in try command("BEGIN \(kind)", doing: "write to") }
        depth = 1
    }

    /// Others hear of it when they see what is changed.
    func commit(hasChanged: Bool) throws(StoreError) {
        if depth > 1 {
            try command("RELEASE s\(depth)", doing: "write to")
            depth -= 1
            return
        }
        try command((hasChanged ? "NOTIFY \(address.channel);" : "") + "COMMIT", doing: "write to")
        depth = 0
    }

    func rollBack() throws(StoreError) {
        if depth > 1 {
            depth -= 1
            return try command("ROLLBACK TO s\(depth + 1)", doing: "write to")
        }
        depth = 0
        try command("ROLLBACK", doing: "write to")
    }

    /// Gives how many rows it has changed, or found.
    @discardableResult
    func run(_ sql: String, _ values: [SQLValue], doing: String) throws(StoreError) -> Int {
        let result = try result(of: sql, values, doing: doing)
        let isChange = !isInTransaction && ["INSERT", "UPDATE", "DELETE"].contains { sql.hasPrefix($0) }
        if isChange { try command("NOTIFY \(address.channel)", doing: doing) }
        return result.changedRowCount
    }

    func first<Value>(
        _ sql: String, _ values: [SQLValue], doing: String = "read", read: (ServerRow) -> Value?
    ) throws(StoreError) -> Value? {
        let result = try result(of: sql, values, doing: doing)
        for number in 0..<result.rowCount {
            if let value = result.row(number, read) { return value }
        }
        return nil
    }

    /// One row at a time, so that memory stays constant.
    func each(_ sql: String, _ values: [SQLValue], read: (ServerRow) -> Void) throws(StoreError) {
        var failure: StoreError?
        var rowCount = 0
        try whileThere { () throws(StoreError) in
            failure = nil
            try send(sql, values)
            link.takeSingleRows()
            let stream = Stream()
            streams.append(stream)
            defer { streams.removeLast() }
            while let result = next(of: stream) {
                switch result.outcome {
                case .row:
                    rowCount += 1
                    result.row(0, read)
                case .done: break
                case .failure: failure = failure ?? link.error(result, doing: "read")
                }
            }
            failure = failure ?? stream.failure
            // What was handed over cannot be taken back.
            if let failure, rowCount == 0 { throw failure }
        }
        if let failure, rowCount > 0 { throw failure }
    }

    /// Rows that come while they are read, or are here already.
    private final class Stream {
        var waiting: ArraySlice<ServerResult> = []
        var isOver = false
        var failure: StoreError?
    }

    private func next(of stream: Stream) -> ServerResult? {
        if let result = stream.waiting.popFirst() { return result }
        guard !stream.isOver else { return nil }
        let result = link.next()
        if result == nil { end(stream) }
        return result
    }

    private func end(_ stream: Stream) {
        stream.isOver = true
        stream.failure = link.loss(doing: "read")
    }

    /// A session has one thing to do at a time: what somebody is still reading comes before the next
    /// statement.
    private func drain() {
        if isMomentEnding {
            isMomentEnding = false
            while link.next() != nil {}
        }
        guard let stream = streams.last, !stream.isOver else { return }
        while let result = link.next() { stream.waiting.append(result) }
        end(stream)
    }

    /// All that `body` reads is of one moment, and it is given the number of changes until then. What has only
    /// been read is read once more where the session was cut.
    func atOnce<Result>(_ body: (Int64) throws(StoreError) -> Result) throws(StoreError) -> Result {
        var isAgain = false
        while true {
            let changes = try changeCount(beginsMoment: true)
            do throws(StoreError) {
                let result = try body(changes)
                endMoment()
                return result
            } catch {
                endMoment()
                guard link.isCut, !isAgain else { throw error }
                isAgain = true
                try reconnect()
            }
        }
    }

    /// Nobody waits for the answer: that would be a way there and back more for each moment.
    private func endMoment() {
        drain()
        depth = 0
        isMomentEnding = link.ask(.command("COMMIT"))
    }

    /// Another number than before once somebody has changed the store, at the latest a moment later.
    ///
    /// - Parameter beginsMoment: what is read from now on is as it is now.
    func changeCount(beginsMoment: Bool = false) throws(StoreError) -> Int64 {
        let look = beginsMoment ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1" : "SELECT 1"
        if !isListening {
            // A standby sends no word; what has come to it from its primary is counted instead.
            let place = try first(
                "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() - '0/0' END", []
            ) { $0.isNull(0) ? nil : $0.integer(0) }
            if let place {
                if beginsMoment {
                    try whileThere { () throws(StoreError) in try command(look, doing: "read") }
                    depth = 1
                }
                return place
            }
            try whileThere { () throws(StoreError) in
                try command("LISTEN \(address.channel)", doing: "read")
            }
            isListening = true
            changes += 1
        }
        // What was said before an answer comes before it.
        try whileThere { () throws(StoreError) in try command(look, doing: "read") }
        // The session may be another one by now.
        guard isListening else {
            if beginsMoment { endMoment() }
            return try changeCount(beginsMoment: beginsMoment)
        }
        if beginsMoment { depth = 1 }
        changes += link.noticeCount()
        return changes
    }

    private func result(of sql: String, _ values: [SQLValue], doing: String) throws(StoreError)
        -> ServerResult
    {
        drain()
        return try whileThere { () throws(StoreError) in
            try link.result(of: question(sql, values, doing: doing), doing: doing)
        }
    }

    private func send(_ sql: String, _ values: [SQLValue]) throws(StoreError) {
        drain()
        guard link.ask(try question(sql, values, doing: "read")) else {
            throw link.error(nil, doing: "read")
        }
    }

    /// What is run once is sent as it is, and what comes again gets a name: that saves the server reading it.
    private func question(
        _ sql: String, _ values: [SQLValue], doing: String
    ) throws(StoreError) -> ServerLink.Question {
        let values = ServerValues(values)
        if let name = names[sql] { return .prepared(name: name, values) }
        guard !seen.insert(sql).inserted, names.count < Self.mostPrepared else {
            return .statement(sql, values)
        }
        let name = "s\(names.count)"
        _ = try link.result(of: .preparation(name: name, sql, types: values.types), doing: doing)
        names[sql] = name
        return .prepared(name: name, values)
    }

    // MARK: Lost sessions

    /// What only reads is done once more with a new session, where the one that there was is gone.
    private func whileThere<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            guard link.isCut, isReader, !isInTransaction else { throw error }
            try reconnect()
            return try body()
        }
    }

    /// A new session in the place of one that was cut. What was not committed is gone, and so are its locks.
    func renew() throws(StoreError) {
        depth = 0
        try reconnect()
    }

    /// A server that is being started anew is there again soon.
    private func reconnect() throws(StoreError) {
        try Self.whileAway(patience, watch) { () throws(StoreError) in
            let words = isReader ? address.words : address.writerWords
            link = try ServerLink(words, address, patience: .milliseconds(patience), watch)
            names = [:]
            seen = []
            isListening = false
            changes += 1
            try setUp()
        }
        watch?.isThere(address.shown)
    }

    /// Tries again until the server is there, so many milliseconds, or nobody wants to wait any more.
    private static func whileAway<Value>(
        _ patience: Int, _ watch: ServerWatch?, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        var attempt = 0
        while true {
            do throws(StoreError) {
                return try body()
            } catch {
                guard error.reason == .unreachable else { throw error }
                if patience > 0 { watch?.isAway(error) }
                guard attempt < patience / 100, watch?.isStopped != true else { throw error }
                attempt += 1
                usleep(100_000)
            }
        }
    }

    /// Before it ends. Where it fails, the end does the same.
    func letGoOfEverything() {
        try? command("ROLLBACK; SELECT pg_advisory_unlock_all()", doing: "end")
    }

}

// MARK: - ServerWatch

/// What the sessions of a run know together of a PostgreSQL that is away: it is told once, whichever of them finds out,
/// and once more when it is there again. Nobody waits for it after an interruption.
package final class ServerWatch: Sendable, Equatable {
    private struct State {
        var since: ContinuousClock.Instant?
        var isTold = false
        var hasConnected = false
    }

    private let state = Mutex(State())
    private let interruption: Interruption
    private let tell: @Sendable (String) -> Void

    /// A restart is over by then, and nobody has to hear of it.
    private static let patience = Duration.seconds(1)

    /// - Parameter tell: is told a line for people, on any thread.
    package init(_ interruption: Interruption, tell: @escaping @Sendable (String) -> Void) {
        self.interruption = interruption
        self.tell = tell
    }

    /// Where a larder is does not depend on who hears of it.
    package static func == (left: ServerWatch, right: ServerWatch) -> Bool { true }

    var isStopped: Bool { interruption.isRequested }

    var hasConnected: Bool { state.withLock { $0.hasConnected } }

    package func isAway(_ error: StoreError) {
        let isNews = state.withLock { state in
            let since = state.since ?? .now
            state.since = since
            guard !state.isTold, .now - since >= Self.patience else { return false }
            state.isTold = true
            return true
        }
        if isNews { tell("\(error.problem); waiting for it to come back") }
    }

    func isThere(_ name: String) {
        let isNews = state.withLock { state in
            defer { state = State(hasConnected: true) }
            return state.isTold
        }
        if isNews { tell("\(name) is back; continuing") }
    }
}
