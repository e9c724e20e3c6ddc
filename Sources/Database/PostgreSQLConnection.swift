internal import CLinux
internal import CPQ
internal import Glibc
internal import System

/// A connection of libpq to a PostgreSQL server, which sends requests and waits for their results. Like the session that
/// owns it, it belongs to one thread.
///
/// A statement may take long, so the connection waits without a limit for a server that has acknowledged the request.
/// If the server's machine sends no acknowledgements, the connection reports this to the watch, and gives up after
/// `patience`, or after one second once an interruption was requested. An abandoned connection returns no more results
/// and cannot be used again.
final class PostgreSQLConnection {
    private let address: PostgreSQLAddress
    private let library: LibPQ
    private let watch: PostgreSQLWatch?
    private let handle: OpaquePointer
    /// How long the network may be silent before the connection is given up.
    private let patience: Duration
    /// Whether the connection was given up because the network was silent.
    private var isAbandoned = false
    /// Whether an error showed that the connection is lost: the server ended it or cannot be reached.
    private(set) var isConnectionLost = false

    /// How often the silence of the network is measured.
    private static let silenceCheckInterval = Duration.milliseconds(250)
    /// The minimum value of `patience`, and the silence after which a connection is given up once an interruption
    /// was requested.
    private static let minSilenceBeforeGivingUp = Duration.seconds(1)

    /// Connects. Blocks for up to the `connect_timeout` of the connection string for each machine that does not respond;
    /// with a watch, for one second after an interruption.
    init(
        _ connectionString: String, _ address: PostgreSQLAddress, patience: Duration,
        _ watch: PostgreSQLWatch?
    ) throws(StoreError) {
        guard let library = LibPQ.library else {
            throw StoreError(
                .failed, doing: "open", path: address.shown, detail: "libpq.so.5 is not installed",
                advice: "install it: apt install libpq5")
        }
        self.library = library
        self.address = address
        self.watch = watch
        self.patience = max(patience, Self.minSilenceBeforeGivingUp)
        let connected =
            if let watch {
                try Self.connectUnlessStopped(connectionString, address, library, unlessStopped: watch)
            } else {
                library.connect(connectionString)
            }
        guard let connected else {
            throw StoreError(.failed, doing: "open", path: address.shown, detail: "out of memory")
        }
        handle = connected
        // 0 is CONNECTION_OK.
        guard library.status(handle) == 0, library.setNonblocking(handle, 1) == 0 else {
            throw Self.connectError(library.errorMessage(handle).map { String(cString: $0) } ?? "", address)
        }
        // Ignore notices of the server, which libpq otherwise prints.
        _ = library.setNoticeProcessor(handle, { _, _ in }, nil)
    }

    deinit {
        library.finish(handle)
    }

    /// Connects on a thread of its own, because libpq blocks for up to `connect_timeout` if a machine does
    /// not respond. After an interruption, the caller stops waiting and throws; the thread then closes the
    /// connection.
    private static func connectUnlessStopped(
        _ connectionString: String, _ address: PostgreSQLAddress, _ library: LibPQ,
        unlessStopped watch: PostgreSQLWatch
    ) throws(StoreError) -> OpaquePointer? {
        let attempt = Monitor(Attempt())
        _ = try StoreError.wrapping { () throws(SystemError) in
            try NamedThread.start("larder-connect") {
                let handle = library.connect(connectionString)
                let isWanted = attempt.change { attempt in
                    attempt.handle = handle
                    attempt.isOver = true
                    return !attempt.isAbandoned
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
            let (handle, isAbandoned) = attempt.change { attempt in
                attempt.isAbandoned = !attempt.isOver
                return (attempt.handle, attempt.isAbandoned)
            }
            guard isAbandoned else { return handle }
            throw error("08006", silenceMessage, doing: "open", address)
        }
    }

    /// A connection attempt on a thread of its own. Its fields are protected by a `Monitor`.
    private struct Attempt {
        var handle: OpaquePointer?
        var isOver = false
        var isAbandoned = false
    }

    /// How often an interruption is checked for, and how long the caller waits for the connection after one.
    private static let stopInterval = Duration.milliseconds(50)
    private static let graceTime = Duration.seconds(1)

    /// Returns a setting that the server reported, such as `server_encoding`.
    func parameter(_ name: String) -> String? {
        library.parameterStatus(handle, name).map { String(cString: $0) }
    }

    // MARK: Sending and receiving

    /// A message to the server, which answers it with results.
    enum Request {
        /// One or more statements without parameters.
        case command(String)
        /// One statement that is parsed, planned and run.
        case statement(String, PostgreSQLValues)
        /// The run of a prepared statement.
        case prepared(name: String, PostgreSQLValues)
        /// The preparation of a statement under a name.
        case preparation(name: String, String, types: [UInt32])
    }

    /// Begins to send a request, and returns false if libpq rejects it. All results of the previous request must have been
    /// received. The rest is sent by `nextResult`.
    func send(_ request: Request) -> Bool {
        let isSent =
            switch request {
            case .command(let sql): library.sendCommand(handle, sql)
            case .statement(let sql, let values):
                values.withCValues { count, types, values, lengths, formats in
                    library.sendValues(handle, sql, count, types, values, lengths, formats, 1)
                }
            case .prepared(let name, let values):
                values.withCValues { count, _, values, lengths, formats in
                    library.sendPrepared(handle, name, count, values, lengths, formats, 1)
                }
            case .preparation(let name, let sql, let types):
                library.sendPreparation(handle, name, sql, Int32(types.count), types)
            }
        return isSent == 1
    }

    /// Makes the statement that was just sent return its rows one by one.
    func useSingleRowMode() { _ = library.setSingleRowMode(handle) }

    /// Waits for the next result of the request and returns it. Returns nil after the last one, or when the connection was
    /// given up; `abandonmentError` tells them apart.
    func nextResult() -> PostgreSQLResult? {
        wait()
        return isAbandoned ? nil : library.nextResult(handle).map { PostgreSQLResult($0, library) }
    }

    /// Returns the error if the connection was given up, so that results are missing; else nil.
    func abandonmentError(doing: String) -> StoreError? { isAbandoned ? error(nil, doing: doing) : nil }

    /// Sends a request and returns its last result. Throws if that is an error, because PostgreSQL sends no results
    /// after an error.
    func result(of request: Request, doing: String) throws(StoreError) -> PostgreSQLResult {
        var last: PostgreSQLResult?
        if send(request) { while let result = nextResult() { last = result } }
        guard let last, last.outcome == .done, !isAbandoned else { throw error(last, doing: doing) }
        return last
    }

    /// Returns the number of notifications (NOTIFY) that have arrived since the last call.
    func notificationCount() -> Int64 {
        _ = library.consumeInput(handle)
        var count: Int64 = 0
        while let notification = library.nextNotification(handle) {
            count += 1
            library.free(UnsafeMutableRawPointer(notification))
        }
        return count
    }

    // MARK: Waiting

    /// Sends the rest of the request, and waits until a result can be read, or the connection is given up or lost.
    private func wait() {
        var began: ContinuousClock.Instant?
        var isSilent = false
        while !isAbandoned {
            let isSending = library.flush(handle) == 1
            guard isSending || library.isBusy(handle) == 1 else { break }
            let start = began ?? .now
            began = start
            var socket = pollfd(
                fd: library.socket(handle), events: Int16(isSending ? POLLIN | POLLOUT : POLLIN), revents: 0)
            if poll(&socket, 1, Int32(Self.silenceCheckInterval / .milliseconds(1))) == 0 {
                let silence = min(.milliseconds(larder_socket_silence(socket.fd)), .now - start)
                if silence >= Self.silenceCheckInterval {
                    isSilent = true
                    didMeasureSilence(silence)
                }
            }
            // TLS may already have read data from the socket, so check again.
            for _ in 0..<2 where library.isBusy(handle) == 1 {
                guard library.consumeInput(handle) == 1 else { return }
            }
        }
        if isSilent, !isAbandoned { watch?.didReach(address.shown) }
    }

    /// Tells the watch that the network is silent, and gives up the connection if it has been for too long.
    private func didMeasureSilence(_ silence: Duration) {
        isAbandoned = silence >= (watch?.isStopped == true ? Self.minSilenceBeforeGivingUp : patience)
        watch?.didFailToReach(Self.error("08006", Self.silenceMessage, doing: "reach", address))
    }

    private static let silenceMessage = "it does not answer"

    // MARK: Errors

    /// Returns the error for a failed result, or for a request without a result. Records whether the connection is lost.
    func error(_ result: PostgreSQLResult?, doing: String) -> StoreError {
        let message = library.errorMessage(handle).map { Self.line(String(cString: $0)) } ?? ""
        let detail = isAbandoned ? Self.silenceMessage : result?.field("M") ?? message
        // A result without a code comes from libpq itself: the connection is lost, although libpq's status
        // may not show it yet.
        let sqlState = library.status(handle) == 0 ? result?.field("C") : nil
        // 57P: an administrator or a crash ends the session. 25P03: a transaction was idle for too long.
        if sqlState?.hasPrefix("57P") ?? true || sqlState == "25P03" { isConnectionLost = true }
        return Self.error(sqlState ?? "08006", detail, doing: doing, address)
    }

    /// Returns the first line of a message. libpq adds guesses about the cause in further lines.
    private static func line(_ text: String) -> String {
        let first = String(text.prefix { !$0.isNewline })
        return first.hasPrefix("FATAL:  ") ? String(first.dropFirst(8)) : first
    }

    /// Returns a message about an address without the parts of the address that libpq quotes. They may contain the
    /// password.
    static func removingQuotedParts(_ message: String) -> String {
        message.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .map { $0.offset % 2 == 0 ? String($0.element) : "(withheld)" }.joined()
    }

    /// Returns the error for a message of libpq about a failed connection. Such a message has no SQLSTATE
    /// code, so it is recognised by its words.
    private static func connectError(_ message: String, _ address: PostgreSQLAddress) -> StoreError {
        if message.contains("certificate") {
            return StoreError(
                .denied, doing: "open", path: address.shown, detail: line(message),
                advice:
                    "name its certificate authority with sslrootcert=FILE, and use the host name in its certificate"
            )
        }
        if ["invalid ", "unexpected "].contains(where: message.hasPrefix) || message.contains(" in URI")
            || message.contains("invalid integer value")
            || message.contains("key/value separator") || message.hasPrefix("could not match")
        {
            return StoreError(
                .request, doing: "open", path: address.shown,
                detail: address.hasSecret ? removingQuotedParts(line(message)) : line(message),
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

    /// Returns the error for an SQLSTATE code. Its first two characters are the class of the error; 08 stands for a
    /// connection that failed.
    private static func error(
        _ code: String, _ detail: String, doing: String, _ address: PostgreSQLAddress
    ) -> StoreError {
        let (reason, advice): (StoreError.Reason, String) =
            switch (code, code.prefix(2)) {
            case ("53100", _), ("53200", _):
                (.full, "free some space on the PostgreSQL server, then run the same command again")
            case ("53300", _):
                (.busy, "raise max_connections of the server, or use it from fewer processes at a time")
            case (_, "08"), (_, "57"), ("25P03", _):
                (
                    .unreachable,
                    "check that the PostgreSQL server is running and reachable, then run the same command again"
                )
            case (_, "28"):
                (.denied, "check the user name, and put its password into a PGPASSFILE")
            case ("3D000", _):
                (.missing, "create it on the PostgreSQL server with createdb, or name another one")
            case ("42501", _):
                (.denied, "ask its owner to GRANT this user the missing privileges, or name another one")
            case ("25006", _):
                (.denied, "name the primary server: this one is read-only")
            case ("40001", _), ("40P01", _), ("55P03", _):
                (.busy, "run the same command again: another session changed the same data")
            case (_, "XX"):
                (.unusable, "check the PostgreSQL log, and restore the database from a backup")
            default:
                (.failed, "check the PostgreSQL log (\(code)), then run the same command again")
            }
        return StoreError(reason, doing: doing, path: address.shown, detail: detail, advice: advice)
    }
}

// MARK: - PostgreSQLValues

/// The parameters of a statement in the form that libpq expects. All values are in one buffer, whose address is valid
/// only within `withCValues`.
struct PostgreSQLValues {
    /// The type of each value.
    private(set) var types: [UInt32] = []
    private var bytes: [UInt8] = []
    /// The start of each value in `bytes`, or nil for NULL.
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    /// 0 for text and 1 for binary, for each value.
    private var formats: [Int32] = []

    /// The numbers (OIDs) of types in PostgreSQL.
    private enum Kind {
        static let bytes: UInt32 = 17
        static let integer: UInt32 = 20
        static let text: UInt32 = 25
        static let real: UInt32 = 701
        static let unknown: UInt32 = 0
    }

    /// Encodes the values. Single numbers are sent as text, all other values in binary format.
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
            case .text(let text): addText(text.utf8)
            case .utf8(let text): addText(String(decoding: text, as: UTF8.self).utf8)
            case .blob(let blob): add(Kind.bytes, 1, blob)
            // 1016, 1009 and 1001 are the types of arrays of integers, texts and byte strings.
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

    /// Adds an array in PostgreSQL's binary format: the number of dimensions, whether there are NULLs, the
    /// element type, then for the dimension the number of elements and the first index, then each element
    /// after its length. The length of NULL is -1.
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

    /// Adds a text. PostgreSQL does not accept NUL in texts, so U+FFFD replaces it.
    private mutating func addText(_ text: String.UTF8View) {
        guard text.contains(0) else { return add(Kind.text, 1, text) }
        add(Kind.text, 1, text.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] })
    }

    /// Adds a value in the text or binary format.
    private mutating func add(_ type: UInt32, _ format: Int32, _ value: some Collection<UInt8>) {
        types.append(type)
        starts.append(bytes.count)
        lengths.append(Int32(truncatingIfNeeded: value.count))
        formats.append(format)
        bytes += value
        // Values in text format end with NUL.
        bytes.append(0)
    }

    /// Calls `body` with the number of values, their types, the values, their lengths and their formats.
    func withCValues<Result>(
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
