internal import CLinux
internal import CPQ
internal import Glibc
internal import System

/// A connection of libpq to a PostgreSQL server, which sends requests and waits for their results. It belongs to the thread
/// of its `PostgreSQLSession`, which opens a new connection if this one is lost.
///
/// A statement may take long, so the connection waits without a limit for a server whose machine has acknowledged the
/// request (TCP). While acknowledgements are missing, the connection reports this to the `PostgreSQLWatch` of the run,
/// which notifies the user. After `patience` without an acknowledgement, the connection is abandoned; after one second, if
/// an interruption was requested. An abandoned connection returns no more results and cannot be used again.
final class PostgreSQLConnection {
    private let address: PostgreSQLAddress
    private let library: LibPQ
    private let watch: PostgreSQLWatch?
    private let handle: OpaquePointer
    /// How long acknowledgements may be missing before the connection is abandoned.
    private let patience: Duration
    /// Whether the connection was abandoned because acknowledgements were missing.
    private var isAbandoned = false
    /// Whether an error showed that the connection is lost: the server ended it or cannot be reached.
    private(set) var isConnectionLost = false

    /// How often the silence, the time without an acknowledgement, is measured.
    private static let silenceCheckInterval = Duration.milliseconds(250)
    /// The minimum value of `patience`, which is also its value after an interruption.
    private static let minPatience = Duration.seconds(1)

    /// Connects.
    ///
    /// Blocks for up to the `connect_timeout` of the connection string for each machine that does not respond; the string may
    /// name several. With a watch, an interruption ends the wait after one second.
    ///
    /// - Parameters:
    ///   - connectionString: the address in libpq's format, with the password.
    ///   - address: the address that messages name, without its password.
    ///   - patience: how long acknowledgements may be missing before the connection is abandoned; at least one second.
    ///   - watch: the watch of the run, which knows of interruptions; nil for a use that is not interrupted.
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
        self.patience = max(patience, Self.minPatience)
        let connected =
            if let watch {
                try Self.connectUnlessInterrupted(connectionString, address, library, watch)
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

    /// Connects on a separate thread, because libpq blocks for up to `connect_timeout` if a machine does not respond. After
    /// an interruption, waits for one more second, then throws; the thread closes the connection when libpq returns it.
    ///
    /// - Returns: The handle, also of a failed connection; nil if libpq had no memory.
    private static func connectUnlessInterrupted(
        _ connectionString: String, _ address: PostgreSQLAddress, _ library: LibPQ,
        _ watch: PostgreSQLWatch
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
        var isInterrupted = false
        while true {
            let isOver = attempt.wait(
                atMost: isInterrupted ? maxWaitAfterInterruption : interruptionCheckInterval
            ) { $0.isOver ? true : nil }
            // Keeps waiting until an interruption, and then once more.
            if isOver == nil, !isInterrupted {
                isInterrupted = watch.isInterrupted
                continue
            }
            let (handle, isAbandoned) = attempt.change { attempt in
                attempt.isAbandoned = !attempt.isOver
                return (attempt.handle, attempt.isAbandoned)
            }
            guard isAbandoned else { return handle }
            throw error(sqlState: connectionFailure, silenceMessage, doing: "open", address)
        }
    }

    /// A connection attempt on a separate thread. Its fields are protected by a `Monitor`.
    private struct Attempt {
        var handle: OpaquePointer?
        /// Whether libpq has returned `handle`.
        var isOver = false
        /// Whether the caller no longer waits, so that the thread must close the connection.
        var isAbandoned = false
    }

    /// How often `connectUnlessInterrupted` checks for an interruption.
    private static let interruptionCheckInterval = Duration.milliseconds(50)
    /// How long `connectUnlessInterrupted` waits for the connection after an interruption.
    private static let maxWaitAfterInterruption = Duration.seconds(1)

    /// Returns a setting that the server reported when it accepted the connection, such as `server_encoding`.
    func serverSetting(_ name: String) -> String? {
        library.parameterStatus(handle, name).map { String(cString: $0) }
    }

    // MARK: Sending and receiving

    /// A message to the server, which answers it with results.
    enum Request {
        /// Runs one or more SQL statements without parameters.
        case command(String)
        /// Parses, plans and runs one SQL statement.
        case statement(String, PostgreSQLValues)
        /// Runs a prepared statement.
        case prepared(name: String, PostgreSQLValues)
        /// Prepares a statement, which `prepared` then runs by its name. The types are those of its parameters.
        case preparation(name: String, sql: String, types: [UInt32])
    }

    /// Begins to send a request; `nextResult` sends the rest. All results of the previous request must have been received.
    ///
    /// - Returns: False if libpq rejects the request, for example because the connection is lost.
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

    /// Makes the statement that was just sent return each row as a separate result. libpq refuses this only when no statement
    /// was just sent.
    func useSingleRowMode() { _ = library.setSingleRowMode(handle) }

    /// Waits for the next result of the request. Returns nil after the last one, or if the connection is abandoned; only in
    /// the latter case, `abandonmentError` returns an error.
    func nextResult() -> PostgreSQLResult? {
        wait()
        return isAbandoned ? nil : library.nextResult(handle).map { PostgreSQLResult($0, library) }
    }

    /// Returns the error if the connection is abandoned, so that the results are incomplete; else nil.
    func abandonmentError(doing: String) -> StoreError? { isAbandoned ? error(nil, doing: doing) : nil }

    /// Sends a request, receives all its results and returns the last one. Throws if the request failed: the last result
    /// shows that, because PostgreSQL sends no results after an error.
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

    /// Sends the rest of the request, and waits until a result can be read, or the connection is abandoned or lost.
    private func wait() {
        // The clock is only read when there is something to wait for.
        var waitStart: ContinuousClock.Instant?
        var wasSilent = false
        while !isAbandoned {
            let isSending = library.flush(handle) == 1
            guard isSending || library.isBusy(handle) == 1 else { break }
            let start = waitStart ?? .now
            waitStart = start
            var socket = pollfd(
                fd: library.socket(handle), events: Int16(isSending ? POLLIN | POLLOUT : POLLIN), revents: 0)
            if poll(&socket, 1, Int32(Self.silenceCheckInterval / .milliseconds(1))) == 0 {
                // The silence before this request does not count: there was nothing to acknowledge.
                let silence = min(.milliseconds(larder_socket_silence(socket.fd)), .now - start)
                if silence >= Self.silenceCheckInterval {
                    wasSilent = true
                    handleSilence(silence)
                }
            }
            // With TLS, the data of a result may already be in memory, where `poll` does not see it. So read twice.
            for _ in 0..<2 where library.isBusy(handle) == 1 {
                guard library.consumeInput(handle) == 1 else { return }
            }
        }
        if wasSilent, !isAbandoned { watch?.didReach(address.shown) }
    }

    /// Reports to the watch that acknowledgements are missing, and abandons the connection if that has lasted too long.
    private func handleSilence(_ silence: Duration) {
        isAbandoned = silence >= (watch?.isInterrupted == true ? Self.minPatience : patience)
        watch?.didFailToReach(
            Self.error(sqlState: Self.connectionFailure, Self.silenceMessage, doing: "reach", address))
    }

    private static let silenceMessage = "it does not answer"
    /// The SQLSTATE code `connection_failure`.
    private static let connectionFailure = "08006"

    // MARK: Errors

    /// Returns the error for a failed result, or for a request without a result. Records whether the connection is lost.
    func error(_ result: PostgreSQLResult?, doing: String) -> StoreError {
        let message = library.errorMessage(handle).map { Self.firstLine(of: String(cString: $0)) } ?? ""
        let detail = isAbandoned ? Self.silenceMessage : result?.field("M") ?? message
        // Errors of the server have a code. A result without one comes from libpq itself: the connection is lost, although
        // libpq's status may not show it yet. 0 is CONNECTION_OK.
        let sqlState = library.status(handle) == 0 ? result?.field("C") : nil
        // 57P: an administrator or a crash ends the session. 25P03: a transaction was idle for too long.
        if sqlState == nil || sqlState?.hasPrefix("57P") == true || sqlState == "25P03" {
            isConnectionLost = true
        }
        return Self.error(sqlState: sqlState ?? Self.connectionFailure, detail, doing: doing, address)
    }

    /// Returns the first line of a message, without the word FATAL. In further lines, libpq guesses the cause.
    private static func firstLine(of text: String) -> String {
        let first = String(text.prefix { !$0.isNewline })
        return first.hasPrefix("FATAL:  ") ? String(first.dropFirst(8)) : first
    }

    /// Returns a message of libpq about an invalid address without the quotations, since they may contain the password.
    private static func removingQuotedParts(_ message: String) -> String {
        message.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .map { $0.offset % 2 == 0 ? String($0.element) : "(withheld)" }.joined()
    }

    /// Returns the error for a message of libpq about a failed connection. libpq gives no SQLSTATE code with such a message,
    /// so the words of the message decide.
    private static func connectError(_ message: String, _ address: PostgreSQLAddress) -> StoreError {
        if message.contains("certificate") {
            return StoreError(
                .denied, doing: "open", path: address.shown, detail: firstLine(of: message),
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
                detail: address.hasSecret
                    ? removingQuotedParts(firstLine(of: message)) : firstLine(of: message),
                advice: "write it as postgres://USER@HOST/DATABASE?schema=larder; see: larder help postgres")
        }
        let sqlState =
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
                connectionFailure
            }
        return error(sqlState: sqlState, firstLine(of: message), doing: "open", address)
    }

    /// Returns the error for an SQLSTATE code (PostgreSQL manual, appendix A). The first two characters of the code are the
    /// class of the error, such as 08 for failed connections.
    private static func error(
        sqlState code: String, _ detail: String, doing: String, _ address: PostgreSQLAddress
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

/// The parameters of a statement in the form that libpq expects. The bytes of all values are in one buffer; `withCValues`
/// passes pointers into it, which are valid only during the call.
struct PostgreSQLValues {
    /// The type of each value, as one of `TypeID`.
    private(set) var types: [UInt32] = []
    private var bytes: [UInt8] = []
    /// The start of each value in `bytes`, or nil for NULL.
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    /// The format of each value: 0 is text, 1 is binary.
    private var formats: [Int32] = []

    /// The numbers (OIDs) of PostgreSQL's types: bytea, int8, text and float8, and arrays of the first three.
    private enum TypeID {
        static let bytes: UInt32 = 17
        static let integer: UInt32 = 20
        static let text: UInt32 = 25
        static let real: UInt32 = 701
        static let bytesArray: UInt32 = 1001
        static let textArray: UInt32 = 1009
        static let integerArray: UInt32 = 1016
        /// The server derives the type from the statement.
        static let unknown: UInt32 = 0
    }

    /// Encodes the values: single numbers in text format, all others in binary format.
    init(_ values: [SQLValue]) {
        for value in values {
            switch value {
            case .null:
                types.append(TypeID.unknown)
                starts.append(nil)
                lengths.append(0)
                formats.append(0)
            case .integer(let integer): add("\(integer)".utf8, type: TypeID.integer, format: 0)
            case .real(let real): add("\(real)".utf8, type: TypeID.real, format: 0)
            case .text(let text): addText(text.utf8)
            case .utf8(let text): addText(String(decoding: text, as: UTF8.self).utf8)
            case .blob(let blob): add(blob, type: TypeID.bytes, format: 1)
            case .integers(let list):
                addList(list, type: TypeID.integerArray, elementType: TypeID.integer) { integer, bytes in
                    withUnsafeBytes(of: integer.bigEndian) { bytes += $0 }
                }
            case .texts(let list):
                addList(list, type: TypeID.textArray, elementType: TypeID.text) { text, bytes in
                    // As in `addText`.
                    if text.utf8.contains(0) {
                        bytes += text.utf8.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] }
                    } else {
                        bytes += text.utf8
                    }
                }
            case .blobs(let list):
                addList(list, type: TypeID.bytesArray, elementType: TypeID.bytes) { blob, bytes in
                    bytes += blob
                }
            }
        }
    }

    /// Adds an array in PostgreSQL's binary format, which consists of 32-bit numbers and the bytes of the elements:
    ///
    /// 1. the number of dimensions, which is 0 for an empty array,
    /// 2. 1 if elements may be NULL, and the type of the elements,
    /// 3. for the dimension, the number of elements and the first index,
    /// 4. for each element its length, which is -1 for NULL, and its bytes.
    ///
    /// - Parameter write: appends the bytes of an element.
    private mutating func addList<Element>(
        _ list: [Element?], type: UInt32, elementType: UInt32, _ write: (Element, inout [UInt8]) -> Void
    ) {
        types.append(type)
        starts.append(bytes.count)
        formats.append(1)
        let start = bytes.count
        func addNumber(_ value: Int32) { withUnsafeBytes(of: value.bigEndian) { bytes += $0 } }
        for value in [list.isEmpty ? 0 : 1, 1, Int32(elementType)] { addNumber(value) }
        if !list.isEmpty { for value in [Int32(truncatingIfNeeded: list.count), 1] { addNumber(value) } }
        for value in list {
            // Replaced below, unless the element is NULL.
            let lengthPosition = bytes.count
            addNumber(-1)
            guard let value else { continue }
            write(value, &bytes)
            let length = Int32(truncatingIfNeeded: bytes.count - lengthPosition - 4)
            withUnsafeBytes(of: length.bigEndian) {
                bytes.replaceSubrange(lengthPosition..<lengthPosition + 4, with: $0)
            }
        }
        lengths.append(Int32(truncatingIfNeeded: bytes.count - start))
    }

    /// Adds a text. U+FFFD replaces the character U+0000, which PostgreSQL does not accept in texts.
    private mutating func addText(_ text: String.UTF8View) {
        guard text.contains(0) else { return add(text, type: TypeID.text, format: 1) }
        add(text.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] }, type: TypeID.text, format: 1)
    }

    /// Adds a value.
    ///
    /// - Parameter format: 0 if the bytes are text, 1 if they are PostgreSQL's binary format of the type.
    private mutating func add(_ value: some Collection<UInt8>, type: UInt32, format: Int32) {
        types.append(type)
        starts.append(bytes.count)
        lengths.append(Int32(truncatingIfNeeded: value.count))
        formats.append(format)
        bytes += value
        // libpq finds the end of a value in text format by this NUL. It ignores it in binary format.
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
