internal import CPQ
internal import Glibc
internal import Synchronization
package import System

/// One session of a PostgreSQL. It belongs to one thread at a time, as the connection does that has it.
final class ServerSession {
    let address: ServerAddress
    private let library: PostgreSQL
    private let isReader: Bool
    private var handle: OpaquePointer
    /// How often each statement has been run; one that comes again is prepared.
    private var names: [String: String] = [:]
    private var seen: Set<String> = []
    /// What statements are in the server's words.
    private var translations: [String: String] = [:]
    /// Whose rows are being read, each while the one before is.
    private var streams: [Stream] = []
    private var isListening = false
    /// The server has ended it, or is not there.
    private(set) var isCut = false
    private var changes: Int64 = 0
    /// In an open transaction nothing can be done anew.
    private var isInTransaction: Bool { depth > 0 }
    /// How many transactions are open, each within the one before.
    private var depth = 0

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
        if let fault = address.fault {
            throw StoreError(
                .request, doing: "open", path: address.shown, detail: fault,
                advice: "write it as postgres://USER@HOST/DATABASE?schema=larder")
        }
        guard let library = PostgreSQL.library else {
            throw StoreError(
                .failed, doing: "open", path: address.shown, detail: "libpq.so.5 is not installed",
                advice: "install it: apt install libpq5")
        }
        self.library = library
        self.address = address
        self.isReader = isReader
        let words = isReader ? address.words : address.writerWords
        // Nobody waits for one that was never there.
        handle = try Self.whileAway(watch?.hasConnected ?? false ? patience : 0, watch) {
            () throws(StoreError) in
            try Self.connect(words, address, library, watch)
        }
        try setUp()
        watch?.isThere(address.shown)
    }

    deinit {
        library.finish(handle)
    }

    private static func connect(
        _ words: String, _ address: ServerAddress, _ library: PostgreSQL, _ watch: ServerWatch?
    ) throws(StoreError) -> OpaquePointer {
        let connected =
            if let watch {
                try connect(words, address, library, unlessStopped: watch)
            } else {
                library.connect(words)
            }
        guard let handle = connected else {
            throw StoreError(.failed, doing: "open", path: address.shown, detail: "no memory is left")
        }
        guard library.status(handle) == 0 else {
            let error = Self.refusal(library.message(handle).map { String(cString: $0) } ?? "", address)
            library.finish(handle)
            throw error
        }
        // What a server remarks is nobody's business.
        _ = library.setHearing(handle, { _, _ in }, nil)
        return handle
    }

    /// A machine that is gone without a word holds libpq for as long as `connect_timeout` says, and nobody
    /// waits for that after an interruption: the thread that asks lets go of what it may get after all.
    private static func connect(
        _ words: String, _ address: ServerAddress, _ library: PostgreSQL, unlessStopped watch: ServerWatch
    ) throws(StoreError) -> OpaquePointer? {
        let attempt = Monitor(Attempt())
        _ = try StoreError.wrapping { () throws(SystemError) in
            try NamedThread.start("larder-connect") {
                let handle = library.connect(words)
                let isWanted = attempt.change { attempt in
                    attempt.handle = handle
                    attempt.isOver = true
                    return !attempt.isGivenUp
                }
                if !isWanted, let handle { library.finish(handle) }
            }
        }
        var isStopped = false
        while true {
            let isOver = attempt.wait(atMost: isStopped ? graceTime : stopInterval) { $0.isOver ? true : nil }
            if isOver == nil, !isStopped {
                isStopped = watch.isStopped
                continue
            }
            let (handle, isGivenUp) = attempt.change { attempt in
                attempt.isGivenUp = !attempt.isOver
                return (attempt.handle, attempt.isGivenUp)
            }
            guard isGivenUp else { return handle }
            throw error("08006", "it does not answer", doing: "open", address)
        }
    }

    private struct Attempt {
        var handle: OpaquePointer?
        var isOver = false
        var isGivenUp = false
    }

    /// How often an interruption is looked for, and how long a server that is well takes at most.
    private static let stopInterval = Duration.milliseconds(50)
    private static let graceTime = Duration.seconds(1)

    /// Nobody wants to wait any more.
    var isStopped: Bool { watch?.isStopped ?? false }

    private func setUp() throws(StoreError) {
        if let encoding = library.parameter(handle, "server_encoding").map({ String(cString: $0) }),
            encoding != "UTF8"
        {
            throw StoreError(
                .unusable, doing: "open", path: address.shown,
                detail: "its texts are in \(encoding), and addresses and titles may have any letter",
                advice: "create a database whose encoding is UTF8, and name that")
        }
        try command(
            """
            SET search_path = \(address.quotedSchema), pg_catalog; SET client_encoding = UTF8; SET jit = off;
            SET application_name = 'larder \(address.schema)'; SET plan_cache_mode = \(isReader ? "auto" : "force_custom_plan"); SET default_transaction_read_only = \(isReader ? "on" : "off");
            """, doing: "open")
        if let stillness { try endWhenStill(stillness) }
        if looksUpAlone { try lookUpAlone() }
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
        let text = ServerDialect.translated(sql)
        if translations.count < Self.mostPrepared { translations[sql] = text }
        return text
    }

    /// Statements without values, and without rows that anybody reads.
    func command(_ sql: String, doing: String) throws(StoreError) {
        drain()
        let result = library.execute(handle, sql)
        defer { library.clear(result) }
        try check(result, doing: doing)
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
        defer { library.clear(result) }
        let isChange = !isInTransaction && ["INSERT", "UPDATE", "DELETE"].contains { sql.hasPrefix($0) }
        if isChange { try command("NOTIFY \(address.channel)", doing: doing) }
        return library.changed(result).map { Int(atoi($0)) } ?? 0
    }

    func first<Value>(
        _ sql: String, _ values: [SQLValue], doing: String = "read", read: (ServerRow) -> Value?
    ) throws(StoreError) -> Value? {
        let result = try result(of: sql, values, doing: doing)
        defer { library.clear(result) }
        guard let result else { return nil }
        for number in 0..<max(0, library.rowCount(result)) {
            if let value = read(ServerRow(result: result, number: number)) { return value }
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
            _ = library.setSingleRows(handle)
            let stream = Stream()
            streams.append(stream)
            defer { streams.removeLast() }
            while let result = next(of: stream) {
                defer { library.clear(result) }
                switch library.outcome(result) {
                case Outcome.row:
                    rowCount += 1
                    read(ServerRow(result: result, number: 0))
                case Outcome.rows, Outcome.done: break
                default: failure = failure ?? error(result, doing: "read")
                }
            }
            // What was handed over cannot be taken back.
            if let failure, rowCount == 0 { throw failure }
        }
        if let failure, rowCount > 0 { throw failure }
    }

    /// Rows that come while they are read, or are here already.
    private final class Stream {
        var waiting: ArraySlice<OpaquePointer> = []
        var isOver = false
    }

    private func next(of stream: Stream) -> OpaquePointer? {
        if let result = stream.waiting.popFirst() { return result }
        guard !stream.isOver else { return nil }
        let result = library.next(handle)
        stream.isOver = result == nil
        return result
    }

    /// A session has one thing to do at a time: what somebody is still reading comes before the next
    /// statement.
    private func drain() {
        guard let stream = streams.last, !stream.isOver else { return }
        while let result = library.next(handle) { stream.waiting.append(result) }
        stream.isOver = true
    }

    /// Another number than before once somebody has changed the store, at the latest a moment later.
    func changeCount() throws(StoreError) -> Int64 {
        if !isListening {
            // A standby sends no word; what has come to it from its primary is counted instead.
            let place = try first(
                "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() - '0/0' END", []
            ) { $0.isNull(0) ? nil : $0.integer(0) }
            if let place { return place }
            try whileThere { () throws(StoreError) in
                try command("LISTEN \(address.channel)", doing: "read")
            }
            isListening = true
            changes += 1
        }
        // What was said before an answer comes before it.
        _ = try first("SELECT 1", []) { _ in true }
        // The session may be another one by now.
        guard isListening else { return try changeCount() }
        _ = library.consumeInput(handle)
        while let notice = library.notices(handle) {
            changes += 1
            library.free(UnsafeMutableRawPointer(notice))
        }
        return changes
    }

    private enum Outcome {
        static let done: Int32 = 1
        static let rows: Int32 = 2
        static let row: Int32 = 9
    }

    private func result(of sql: String, _ values: [SQLValue], doing: String) throws(StoreError)
        -> OpaquePointer?
    {
        drain()
        return try whileThere { () throws(StoreError) in
            let parameters = ServerValues(values)
            let result: OpaquePointer?
            if let name = try prepared(sql, parameters.types, doing: doing) {
                result = parameters.lend { count, _, values, lengths, formats in
                    library.executePrepared(handle, name, count, values, lengths, formats, 1)
                }
            } else {
                result = parameters.lend { count, types, values, lengths, formats in
                    library.executeValues(handle, sql, count, types, values, lengths, formats, 1)
                }
            }
            do throws(StoreError) {
                try check(result, doing: doing)
            } catch {
                library.clear(result)
                throw error
            }
            return result
        }
    }

    private func send(_ sql: String, _ values: [SQLValue]) throws(StoreError) {
        drain()
        let parameters = ServerValues(values)
        let isSent: Int32
        if let name = try prepared(sql, parameters.types, doing: "read") {
            isSent = parameters.lend { count, _, values, lengths, formats in
                library.sendPrepared(handle, name, count, values, lengths, formats, 1)
            }
        } else {
            isSent = parameters.lend { count, types, values, lengths, formats in
                library.sendValues(handle, sql, count, types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw error(nil, doing: "read") }
    }

    /// What is run once is sent as it is, and what comes again gets a name: that saves the server reading it.
    private func prepared(_ sql: String, _ types: [UInt32], doing: String) throws(StoreError) -> String? {
        if let name = names[sql] { return name }
        guard !seen.insert(sql).inserted, names.count < Self.mostPrepared else { return nil }
        let name = "s\(names.count)"
        let result = library.prepare(handle, name, sql, Int32(types.count), types)
        defer { library.clear(result) }
        try check(result, doing: doing)
        names[sql] = name
        return name
    }

    private func check(_ result: OpaquePointer?, doing: String) throws(StoreError) {
        guard let result, [Outcome.done, Outcome.rows].contains(library.outcome(result)) else {
            throw error(result, doing: doing)
        }
    }

    // MARK: Lost sessions

    /// What only reads is done once more with a new session, where the one that there was is gone.
    private func whileThere<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            guard isCut, isReader, !isInTransaction else { throw error }
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
            let new = try Self.connect(words, address, library, watch)
            library.finish(handle)
            handle = new
            isCut = false
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

    // MARK: Errors

    private func error(_ result: OpaquePointer?, doing: String) -> StoreError {
        func field(_ code: Character) -> String? {
            guard let result, let code = code.asciiValue else { return nil }
            return library.field(result, Int32(code)).map { String(cString: $0) }
        }
        let detail = field("M") ?? library.message(handle).map { Self.line(String(cString: $0)) } ?? ""
        // What the server did not say, libpq did: nobody is there. It may not know that for good yet.
        let told = library.status(handle) == 0 ? field("C") : nil
        if told?.hasPrefix("57P") ?? true || told == "25P03" { isCut = true }
        let code = told ?? "08006"
        return Self.error(code, detail, doing: doing, address)
    }

    /// What libpq guesses behind that is no news.
    private static func line(_ text: String) -> String {
        let first = String(text.prefix { !$0.isNewline })
        return first.hasPrefix("FATAL:  ") ? String(first.dropFirst(8)) : first
    }

    /// What libpq says where no session begins has no code.
    private static func refusal(_ message: String, _ address: ServerAddress) -> StoreError {
        if message.contains("certificate") {
            return StoreError(
                .denied, doing: "open", path: address.shown, detail: line(message),
                advice: "name its authority with sslrootcert=FILE, and the server as its certificate does")
        }
        if ["invalid ", "unexpected "].contains(where: message.hasPrefix) || message.contains(" in URI")
            || message.contains("invalid integer value")
            || message.contains("key/value separator") || message.hasPrefix("could not match")
        {
            return StoreError(
                .request, doing: "open", path: address.shown, detail: line(message),
                advice: "write it as postgres://USER@HOST/DATABASE?schema=larder; see: larder help postgres")
        }
        let code =
            if message.contains("authentication") || message.contains("password")
                || message.contains("pg_hba.conf") || message.contains("role ")
            {
                "28000"
            } else if message.contains("database \"") && message.contains("does not exist") {
                "3D000"
            } else if message.contains("session is read-only") || message.contains("is in hot standby") {
                "25006"
            } else if message.contains("too many") || message.contains("remaining connection slots") {
                "53300"
            } else {
                "08006"
            }
        return error(code, line(message), doing: "open", address)
    }

    private static func error(
        _ code: String, _ detail: String, doing: String, _ address: ServerAddress
    ) -> StoreError {
        let (reason, advice): (StoreError.Reason, String) =
            switch (code, code.prefix(2)) {
            case ("53100", _), ("53200", _):
                (.full, "free some space on the PostgreSQL's machine, then run the same command again")
            case ("53300", _):
                (.busy, "raise its max_connections, or have fewer processes work on it at a time")
            case (_, "08"), (_, "57"), ("25P03", _):
                (
                    .unreachable,
                    "see that the PostgreSQL runs and can be reached, then run the same command again"
                )
            case (_, "28"):
                (.denied, "check the user's name, and keep its password in a PGPASSFILE")
            case ("3D000", _):
                (.missing, "create it on the PostgreSQL's machine with createdb, or name another one")
            case ("42501", _):
                (.denied, "have its owner GRANT this user what it needs, or name another one")
            case ("25006", _):
                (.denied, "name the server that may be written to: this one only reads")
            case ("40001", _), ("40P01", _), ("55P03", _):
                (.busy, "run the same command again: others changed the same at that moment")
            case (_, "XX"):
                (.unusable, "see the PostgreSQL's log, and restore the database from a copy")
            default:
                (.failed, "see the PostgreSQL's log (\(code)), then run the same command again")
            }
        return StoreError(reason, doing: doing, path: address.shown, detail: detail, advice: advice)
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
        if isNews { tell("\(error.problem); waiting until it is there again") }
    }

    func isThere(_ name: String) {
        let isNews = state.withLock { state in
            defer { state = State(hasConnected: true) }
            return state.isTold
        }
        if isNews { tell("\(name) is there again, and the work goes on") }
    }
}

// MARK: - ServerValues

/// What a statement's parameters take, as libpq wants it.
private struct ServerValues {
    private(set) var types: [UInt32] = []
    private var bytes: [UInt8] = []
    /// Nil for NULL.
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    private enum Kind {
        static let bytes: UInt32 = 17
        static let integer: UInt32 = 20
        static let text: UInt32 = 25
        static let real: UInt32 = 701
        static let unknown: UInt32 = 0
    }

    init(_ values: [SQLValue]) {
        for value in values {
            switch value {
            case .null:
                types.append(Kind.unknown)
                starts.append(nil)
                lengths.append(0)
                formats.append(0)
            case .integer(let integer): add(Kind.integer, 0, "\(integer)".utf8)
            case .real(let real): add(Kind.real, 0, "\(real)".utf8)
            case .text(let text): add(text: text.utf8)
            case .utf8(let text): add(text: String(decoding: text, as: UTF8.self).utf8)
            case .blob(let blob): add(Kind.bytes, 1, blob)
            case .integers(let list):
                addList(1016, Kind.integer, list) { integer, bytes in
                    withUnsafeBytes(of: integer.bigEndian) { bytes += $0 }
                }
            case .texts(let list):
                addList(1009, Kind.text, list) { text, bytes in
                    if text.utf8.contains(0) {
                        bytes += text.utf8.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] }
                    } else {
                        bytes += text.utf8
                    }
                }
            case .blobs(let list): addList(1001, Kind.bytes, list) { blob, bytes in bytes += blob }
            }
        }
    }

    /// One dimension, whether there are NULLs, what the elements are, how many and from which number on; then
    /// each behind its length, which is -1 for NULL.
    private mutating func addList<Element>(
        _ type: UInt32, _ element: UInt32, _ list: [Element?], _ write: (Element, inout [UInt8]) -> Void
    ) {
        types.append(type)
        starts.append(bytes.count)
        formats.append(1)
        let start = bytes.count
        func number(_ value: Int32) { withUnsafeBytes(of: value.bigEndian) { bytes += $0 } }
        for value in [list.isEmpty ? 0 : 1, 1, Int32(element)] { number(value) }
        if !list.isEmpty { for value in [Int32(truncatingIfNeeded: list.count), 1] { number(value) } }
        for value in list {
            let place = bytes.count
            number(-1)
            guard let value else { continue }
            write(value, &bytes)
            let length = Int32(truncatingIfNeeded: bytes.count - place - 4)
            withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
        }
        lengths.append(Int32(truncatingIfNeeded: bytes.count - start))
    }

    /// Its texts have no NUL.
    private mutating func add(text: String.UTF8View) {
        guard text.contains(0) else { return add(Kind.text, 1, text) }
        add(Kind.text, 1, text.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] })
    }

    private mutating func add(_ type: UInt32, _ format: Int32, _ value: some Collection<UInt8>) {
        types.append(type)
        starts.append(bytes.count)
        lengths.append(Int32(truncatingIfNeeded: value.count))
        formats.append(format)
        bytes += value
        // What is not in binary ends by it.
        bytes.append(0)
    }

    func lend<Result>(
        _ body: (
            Int32, UnsafePointer<UInt32>?, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers = starts.map { start in start.flatMap { start in base.map { $0 + start } } }
            return body(Int32(starts.count), types, pointers, lengths, formats)
        }
    }
}
