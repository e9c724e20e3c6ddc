internal import CLinux
internal import CPQ
internal import Glibc
internal import System

/// libpq's connection to a PostgreSQL: what is asked goes out, and what is answered comes in. While a network takes
/// nothing, whoever waits hears of it, and is free to go. It belongs to one thread, as the session does that has it.
///
/// A server that has taken what it was sent may be long at work, and is waited for.
final class ServerLink {
    private let address: ServerAddress
    private let library: PostgreSQL
    private let watch: ServerWatch?
    private let handle: OpaquePointer
    /// How long a network may take nothing.
    private let patience: Duration
    private var isGivenUp = false
    /// The server has ended it, or is not there.
    private(set) var isCut = false

    /// How often the network is looked at, and from when on one that takes nothing is thought to be gone.
    private static let lookInterval = Duration.milliseconds(250)
    private static let leastPatience = Duration.seconds(1)

    init(
        _ words: String, _ address: ServerAddress, patience: Duration, _ watch: ServerWatch?
    ) throws(StoreError) {
        guard let library = PostgreSQL.library else {
            throw StoreError(
                .failed, doing: "open", path: address.shown, detail: "libpq.so.5 is not installed",
                advice: "install it: apt install libpq5")
        }
        self.library = library
        self.address = address
        self.watch = watch
        self.patience = max(patience, Self.leastPatience)
        let connected =
            if let watch {
                try Self.connected(words, address, library, unlessStopped: watch)
            } else {
                library.connect(words)
            }
        guard let connected else {
            throw StoreError(.failed, doing: "open", path: address.shown, detail: "out of memory")
        }
        handle = connected
        guard library.status(handle) == 0, library.setNonblocking(handle, 1) == 0 else {
            throw Self.refusal(library.message(handle).map { String(cString: $0) } ?? "", address)
        }
        // What a server remarks is nobody's business.
        _ = library.setHearing(handle, { _, _ in }, nil)
    }

    deinit {
        library.finish(handle)
    }

    /// A machine that is gone without a word holds libpq for as long as `connect_timeout` says, and nobody
    /// waits for that after an interruption: the thread that asks lets go of what it may get after all.
    private static func connected(
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
            throw error("08006", silent, doing: "open", address)
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

    func parameter(_ name: String) -> String? { library.parameter(handle, name).map { String(cString: $0) } }

    // MARK: Asking

    enum Question {
        /// Statements without values.
        case command(String)
        case statement(String, ServerValues)
        case prepared(name: String, ServerValues)
        case preparation(name: String, String, types: [UInt32])
    }

    /// False where it does not go out.
    func ask(_ question: Question) -> Bool {
        let isSent =
            switch question {
            case .command(let sql): library.sendCommand(handle, sql)
            case .statement(let sql, let values):
                values.lend { count, types, values, lengths, formats in
                    library.sendValues(handle, sql, count, types, values, lengths, formats, 1)
                }
            case .prepared(let name, let values):
                values.lend { count, _, values, lengths, formats in
                    library.sendPrepared(handle, name, count, values, lengths, formats, 1)
                }
            case .preparation(let name, let sql, let types):
                library.sendPreparation(handle, name, sql, Int32(types.count), types)
            }
        return isSent == 1
    }

    /// What is being asked comes row by row.
    func takeSingleRows() { _ = library.setSingleRows(handle) }

    /// The next of what is answered; nil behind the last, and when nobody waits for more.
    func next() -> ServerResult? {
        wait()
        return isGivenUp ? nil : library.next(handle).map { ServerResult($0, library) }
    }

    /// Why more may have been to come; nil where that was all.
    func loss(doing: String) -> StoreError? { isGivenUp ? error(nil, doing: doing) : nil }

    /// The last of what is answered: behind what fails nothing comes.
    func result(of question: Question, doing: String) throws(StoreError) -> ServerResult {
        var last: ServerResult?
        if ask(question) { while let result = next() { last = result } }
        guard let last, last.outcome == .done, !isGivenUp else { throw error(last, doing: doing) }
        return last
    }

    /// How often somebody has said since the last time that something is changed.
    func noticeCount() -> Int64 {
        _ = library.consumeInput(handle)
        var count: Int64 = 0
        while let notice = library.notices(handle) {
            count += 1
            library.free(UnsafeMutableRawPointer(notice))
        }
        return count
    }

    // MARK: Waiting

    /// Returns when something has come, or nothing will.
    private func wait() {
        var began: ContinuousClock.Instant?
        var isSilent = false
        while !isGivenUp {
            let isSending = library.flush(handle) == 1
            guard isSending || library.isBusy(handle) == 1 else { break }
            let start = began ?? .now
            began = start
            var socket = pollfd(
                fd: library.socket(handle), events: Int16(isSending ? POLLIN | POLLOUT : POLLIN), revents: 0)
            if poll(&socket, 1, Int32(Self.lookInterval / .milliseconds(1))) == 0 {
                let silence = min(.milliseconds(larder_socket_silence(socket.fd)), .now - start)
                if silence >= Self.lookInterval {
                    isSilent = true
                    heed(silence)
                }
            }
            // What TLS has taken from the socket already needs a second look.
            for _ in 0..<2 where library.isBusy(handle) == 1 {
                guard library.consumeInput(handle) == 1 else { return }
            }
        }
        if isSilent, !isGivenUp { watch?.isThere(address.shown) }
    }

    private func heed(_ silence: Duration) {
        isGivenUp = silence >= (watch?.isStopped == true ? Self.leastPatience : patience)
        watch?.isAway(Self.error("08006", Self.silent, doing: "reach", address))
    }

    private static let silent = "it does not answer"

    // MARK: Errors

    func error(_ result: ServerResult?, doing: String) -> StoreError {
        let said = library.message(handle).map { Self.line(String(cString: $0)) } ?? ""
        let detail = isGivenUp ? Self.silent : result?.field("M") ?? said
        // What the server did not say, libpq did: nobody is there. It may not know that for good yet.
        let told = library.status(handle) == 0 ? result?.field("C") : nil
        if told?.hasPrefix("57P") ?? true || told == "25P03" { isCut = true }
        return Self.error(told ?? "08006", detail, doing: doing, address)
    }

    /// What libpq guesses behind that is no news.
    private static func line(_ text: String) -> String {
        let first = String(text.prefix { !$0.isNewline })
        return first.hasPrefix("FATAL:  ") ? String(first.dropFirst(8)) : first
    }

    /// A message about an address without the parts of it that libpq quotes.
    static func withoutQuotes(_ message: String) -> String {
        message.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .map { $0.offset % 2 == 0 ? String($0.element) : "(withheld)" }.joined()
    }

    /// What libpq says where no session begins has no code.
    private static func refusal(_ message: String, _ address: ServerAddress) -> StoreError {
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
                detail: address.hasSecret ? withoutQuotes(line(message)) : line(message),
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

// MARK: - ServerValues

/// What a statement's parameters take, as libpq wants it.
struct ServerValues {
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
