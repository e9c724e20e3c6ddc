internal import CCurl
internal import CLinux
internal import Codings
internal import Glibc
internal import System
internal import Web

/// The short way to servers that are asked again and again by plain http: a GET that has nothing particular goes out on a
/// connection that libcurl knows nothing of, and its answer is read by the same `Transfer`. Where a server is, libcurl has
/// found out lately.
///
/// What is odd goes by libcurl: a request before anything of it is sent, and one whose answer is odd while nobody was given
/// anything of that, as a GET may be asked twice (RFC 9110 §9.2.2). So does what has to do with cookies. It belongs to the
/// thread of its loop.
final class ShortWay {
    /// What came of an event.
    enum Progress {
        case more
        case ended(Transfer, FetchFailure?)
        /// It is to be asked by libcurl.
        case odd(Transfer)
    }

    private struct Place {
        var peer: IPAddress
        /// When a name is to be looked up anew.
        var end: Duration
        /// Until then libcurl alone reads its answers.
        var oddEnd = Duration.zero
        var lineCount = 0
        var idle: [ShortLine] = []
    }

    private let options: FetchOptions
    private let sockets: SocketQueue
    /// Nil where none are taken.
    private let jar: CookieJar?
    /// Of libcurl's connections; nil where those are counted apart.
    private let book: ConnectionBook?
    private let age = Stopwatch()
    private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 * 1024)
    private var places: [String: Place] = [:]
    /// Origins that libcurl has found, and to which no short way leads.
    private var others: Set<String> = []
    private var lines: [Int32: ShortLine] = [:]
    /// Those with requests that go out together, when all that has come was looked at.
    private var unsent: [ShortLine] = []
    private var idleCount = 0

    let linesPerHost: Int
    private static let placeTime = Duration.seconds(60)
    private static let oddTime = Duration.seconds(600)
    private static let idleTime = Duration.seconds(60)
    private static let connectTime = Duration.seconds(1)
    private static let mostPlaces = 256
    private static let headByteCount = 16 * 1024

    /// Nil where libcurl puts something into requests that it alone knows, or is slowed down.
    init?(_ setup: TransferSetup, _ sockets: SocketQueue) {
        let options = setup.options
        guard options.shortWay != .never, setup.receiver == nil, !options.hasSession,
            options.hostFields.isEmpty,
            options.proxies.isEmpty, options.bytesPerSecond == nil
        else { return nil }
        self.options = options
        self.sockets = sockets
        (jar, book) = (setup.cookies, setup.book)
        linesPerHost = book == nil ? options.connectionsPerHost / 2 : options.connectionsPerHost
    }

    deinit {
        buffer.deallocate()
        for line in lines.values { line.end() }
    }

    /// Where libcurl has found a server.
    func note(_ result: FetchResult) {
        guard let exchange = result.exchange, exchange.version != nil else { return }
        guard exchange.security == .plain, exchange.version == .http11, !exchange.usesProxy,
            let peer = exchange.peer, peer.kind != .linkLocal
        else {
            if others.count >= Self.mostPlaces { others.removeAll() }
            others.insert(result.url.origin)
            return
        }
        if places.count >= Self.mostPlaces { places = places.filter { $0.value.lineCount > 0 } }
        var place = places[result.url.origin] ?? Place(peer: peer, end: .zero)
        (place.peer, place.end) = (peer, age.elapsed + Self.placeTime)
        places[result.url.origin] = place
    }

    // MARK: - Requests

    /// False where the request is libcurl's.
    ///
    /// - Parameter others: how many requests libcurl has under way to the host.
    func takes(
        _ request: FetchRequest, to origin: String, by transfer: Transfer, beside others: () -> Int
    ) -> Bool {
        let now = age.elapsed
        guard mayTake(request, to: origin, now),
            let message = Message(request, to: origin, options),
            let line = idleLine(to: origin, for: request.reach, now)
                ?? newLine(to: origin, request.url.effectivePort, for: request.reach, now, others)
        else { return false }
        transfer.start(request, on: line, message)
        line.begin(transfer, message.bytes, now)
        if line.isConnected { unsent.append(line) }
        return true
    }

    private func mayTake(_ request: FetchRequest, to origin: String, _ now: Duration) -> Bool {
        isPlain(request) && places[origin].map { $0.oddEnd <= now } ?? false
    }

    private func isPlain(_ request: FetchRequest) -> Bool {
        request.method == "GET" && request.body == nil && request.resume == nil && !request.asksWholeServer
            && request.url.scheme == "http" && request.cookies.isEmpty && jar?.isEmpty ?? true
            && (!options.sendsReferrer || request.referrer == nil)
    }

    var hasUnsent: Bool { !unsent.isEmpty }

    func sendAll() -> [Progress] {
        defer { unsent.removeAll(keepingCapacity: true) }
        return unsent.filter { lines[$0.descriptor] === $0 && !$0.outgoing.isEmpty }.map(send)
    }

    private func idleLine(to origin: String, for reach: Reach, _ now: Duration) -> ShortLine? {
        while let line = places[origin]?.idle.last {
            guard Self.mayReach(line.peer, reach) else { return nil }
            places[origin]?.idle.removeLast()
            idleCount -= 1
            // What it says before it is asked would be taken for the answer.
            if now - line.start < Self.idleTime, line.isSilent { return line }
            drop(line)
        }
        return nil
    }

    private func newLine(
        to origin: String, _ port: Int, for reach: Reach, _ now: Duration, _ others: () -> Int
    ) -> ShortLine? {
        // What libcurl is going to open counts as well.
        guard let place = places[origin], now < place.end,
            place.lineCount + (book.map { max($0.count(of: origin), others()) } ?? 0) < linesPerHost,
            Self.mayReach(place.peer, reach),
            let line = ShortLine(origin, place.peer, port: UInt16(clamping: port))
        else { return nil }
        guard sockets.watch(other: line.descriptor, line.interest) else {
            line.end()
            return nil
        }
        lines[line.descriptor] = line
        places[origin]?.lineCount += 1
        return line
    }

    /// Whether libcurl may have so many requests to the host under way, which costs connections that have nothing to do.
    func makesRoom(at origin: String, _ count: Int) -> Bool {
        guard let book else { return true }
        while let place = places[origin],
            place.lineCount + max(book.count(of: origin), count) > linesPerHost
        {
            guard let line = place.idle.last else { return false }
            forget(idle: line)
            drop(line)
        }
        return true
    }

    /// Whether the next one like it will go the short way, as far as one knows: then libcurl need not keep a connection,
    /// which may be the only one that the server gives.
    func isNext(_ request: FetchRequest, to origin: String) -> Bool {
        isPlain(request)
            && (places[origin].map { $0.oddEnd <= age.elapsed } ?? !others.contains(origin))
    }

    private static func mayReach(_ peer: IPAddress, _ reach: Reach) -> Bool {
        reach == .thisMachine || AddressWall(reach).refusal(of: peer) == nil
    }

    // MARK: - Events

    func turn(_ socket: Int32, _ flags: UInt32) -> Progress {
        guard let line = lines[socket] else { return .more }
        // Nobody has asked: it has ended, or says what would be taken for an answer.
        guard let transfer = line.transfer else {
            forget(idle: line)
            drop(line)
            return .more
        }
        guard transfer.isSent || flags & EPOLLIN.rawValue == 0 else { return cut(line, isEnd: false) }
        if !line.outgoing.isEmpty {
            if !line.isConnected, !line.connect() { return cut(line, isEnd: false) }
            let progress = send(line)
            guard case .more = progress, lines[socket] === line else { return progress }
        }
        return flags & ~EPOLLOUT.rawValue == 0 ? .more : receive(line)
    }

    /// Who takes what comes takes more.
    func goOn(_ line: ShortLine) -> Progress {
        watch(line)
        let kept = line.received
        line.received = []
        return kept.withUnsafeBufferPointer { takeBody($0, line) }
    }

    /// Nil while there is hope for a connection.
    func verdict(_ line: ShortLine) -> Progress? {
        guard !line.isConnected, age.elapsed - line.start > Self.connectTime else { return nil }
        return cut(line, isEnd: false)
    }

    /// What it was asked is of no use any more.
    func drop(_ line: ShortLine) {
        guard lines.removeValue(forKey: line.descriptor) != nil else { return }
        places[line.origin]?.lineCount -= 1
        line.end()
    }

    private func forget(idle line: ShortLine) {
        places[line.origin]?.idle.removeAll { $0 === line }
        idleCount -= 1
    }

    private func watch(_ line: ShortLine) {
        let wanted = EPOLLIN.rawValue | (line.outgoing.isEmpty ? 0 : EPOLLOUT.rawValue)
        guard wanted != line.interest else { return }
        line.interest = wanted
        _ = sockets.watch(other: line.descriptor, wanted)
    }

    private func send(_ line: ShortLine) -> Progress {
        line.transfer?.isSent = true
        let count = line.outgoing.withUnsafeBytes {
            Glibc.send(line.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count >= 0 || errno == EAGAIN || errno == EINTR else { return cut(line, isEnd: false) }
        line.outgoing.removeFirst(max(0, count))
        watch(line)
        return .more
    }

    private func receive(_ line: ShortLine) -> Progress {
        let count = recv(line.descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR { return .more }
            return cut(line, isEnd: count == 0)
        }
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<count])
        guard case .head = line.reading else { return takeBody(bytes, line) }
        guard !line.received.isEmpty else { return takeHead(bytes, line) }
        let received = line.received + bytes
        line.received = []
        return received.withUnsafeBufferPointer { takeHead($0, line) }
    }

    /// The connection is over.
    private func cut(_ line: ShortLine, isEnd: Bool) -> Progress {
        guard let transfer = line.transfer else { return .more }
        drop(line)
        switch line.reading {
        case .rest where isEnd: return .ended(transfer, nil)
        case .head where !line.isConnected:
            places[line.origin]?.end = .zero
            return .odd(transfer)
        // A server may end what it has kept open for a while (RFC 9112 §9.3.1).
        case .head where line.isReused && line.received.isEmpty && transfer.head.byteCount == 0:
            return .odd(transfer)
        case .head: return .ended(transfer, FetchFailure(.broken, "the connection ended before the answer"))
        case .body, .rest:
            return .ended(transfer, FetchFailure(.broken, "the connection ended before the body was whole"))
        }
    }

    // MARK: - Answers

    private func takeHead(_ bytes: UnsafeBufferPointer<UInt8>, _ line: ShortLine) -> Progress {
        guard let transfer = line.transfer else { return .more }
        var rest = bytes
        while true {
            switch AnswerHead.parse(rest) {
            case .incomplete where rest.count <= Self.headByteCount:
                line.received = Array(rest)
                return .more
            case .incomplete, .odd: return odd(line)
            case .head(let head) where head.setsCookie && jar != nil: return odd(line)
            case .head(let head):
                line.begin(head, at: age.elapsed)
                let whole = UnsafeBufferPointer(rebasing: rest[..<head.end])
                guard transfer.take(whole: UnsafeRawBufferPointer(whole)) else { return ended(line) }
                rest = UnsafeBufferPointer(rebasing: rest[head.end...])
                if head.isInterim { continue }
                line.reading =
                    head.body.map {
                        .body(BodyReader($0, bodyLimit: options.maxBody, aroundLimit: options.maxHeader))
                    } ?? .rest
                return takeBody(rest, line)
            }
        }
    }

    private func takeBody(_ bytes: UnsafeBufferPointer<UInt8>, _ line: ShortLine) -> Progress {
        guard let transfer = line.transfer else { return .more }
        guard transfer.mayTake() else {
            line.received = Array(bytes)
            // A connection that is over would be told of again and again.
            line.interest = 0
            sockets.forget(other: line.descriptor)
            return .more
        }
        line.receivedByteCount += bytes.count
        guard case .body(var reader) = line.reading else {
            let isTaken = bytes.isEmpty || transfer.take(body: UnsafeRawBufferPointer(bytes))
            return isTaken ? .more : ended(line)
        }
        var (position, content): (Int, [UInt8]) = (0, [])
        let progress = reader.read(bytes, from: &position, into: &content)
        line.reading = .body(reader)
        if !content.isEmpty, !content.withUnsafeBytes(transfer.take(body:)) { return ended(line) }
        switch progress {
        case .incomplete: return .more
        case .complete: return ended(line, isClean: position == bytes.count)
        case .refused where transfer.isStreamed:
            return ended(line, FetchFailure(.nonsense, "the body's chunks are none"))
        case .refused: return odd(line)
        }
    }

    /// The answer is for libcurl to read, and those that follow, too.
    private func odd(_ line: ShortLine) -> Progress {
        guard let transfer = line.transfer else { return .more }
        drop(line)
        places[line.origin]?.oddEnd = age.elapsed + Self.oddTime
        return .odd(transfer)
    }

    /// - Parameter isClean: nothing but the answer has come.
    private func ended(_ line: ShortLine, _ failure: FetchFailure? = nil, isClean: Bool = false) -> Progress {
        guard let transfer = line.transfer else { return .more }
        line.done = age.elapsed - line.start
        if isClean, !line.isLast, line.outgoing.isEmpty, idleCount < options.keptConnections {
            line.rest(now: age.elapsed)
            places[line.origin]?.idle.append(line)
            idleCount += 1
        } else {
            drop(line)
        }
        return .ended(transfer, failure)
    }

    /// A request as it goes out.
    struct Message {
        let bytes: [UInt8]
        /// Those fields that are no secret.
        let openFields: HTTPFields
        let usesCredentials: Bool

        private static let secret: FieldNames = ["authorization", "cookie", "proxy-authorization"]

        /// Nil for what libcurl may send in a way of its own, or refuse.
        fileprivate init?(_ request: FetchRequest, to origin: String, _ options: FetchOptions) {
            let href = request.url.withoutFragment.href
            let target = href.utf8.dropFirst(origin.utf8.count)
            guard href.utf8.count <= options.maxURL, target.allSatisfy({ (0x21...0x7E).contains($0) }),
                !request.fields.contains("Host")
            else { return nil }
            openFields = request.fields.removing(Self.secret)
            let fields = request.isAnonymous ? openFields : request.fields
            usesCredentials = openFields.list.count < fields.list.count
            var bytes: [UInt8] = []
            bytes.reserveCapacity(1024)
            bytes += "GET ".utf8
            bytes += target
            bytes += " HTTP/1.1\r\nHost: ".utf8
            bytes += origin.utf8.dropFirst("http://".utf8.count)
            bytes += "\r\n".utf8
            func add(_ name: String, _ value: String) {
                bytes += name.utf8
                bytes += ": ".utf8
                HTTPGrammar.append(value, to: &bytes)
                bytes += "\r\n".utf8
            }
            if request.codings == nil {
                if !fields.contains("User-Agent") { add("User-Agent", options.userAgent) }
                if !fields.contains("Accept") { add("Accept", "*/*") }
            }
            for field in fields.list where !Transfer.framing.contains(field.name) {
                guard field.isSendable else { return nil }
                add(field.name, field.value)
            }
            if !fields.contains("Accept-Encoding") {
                add("Accept-Encoding", request.codings.map(ContentCoding.shared) ?? ContentCoding.accepted)
            }
            bytes += "\r\n".utf8
            self.bytes = bytes
        }
    }
}

/// A connection of the short way, with what is under way on it.
final class ShortLine {
    enum Reading {
        case head
        case body(BodyReader)
        /// All until the connection ends.
        case rest
    }

    let descriptor: Int32
    let origin: String
    let peer: IPAddress
    private(set) var isConnected = false
    /// It has had an answer before.
    private(set) var isReused = false
    private(set) var transfer: Transfer?
    fileprivate var outgoing: ArraySlice<UInt8> = []
    /// A head that is not whole, or what nobody takes yet.
    fileprivate var received: [UInt8] = []
    fileprivate var reading = Reading.head
    /// What the event queue tells of it.
    fileprivate var interest = EPOLLIN.rawValue | EPOLLOUT.rawValue
    /// The server ends it after this answer.
    private(set) var isLast = false
    private(set) var status = 0
    /// Below zero where nobody told it.
    private(set) var contentLength = -1
    fileprivate(set) var receivedByteCount = 0
    /// When it was begun or, idle, since when it has nothing to do.
    private(set) var start = Duration.zero
    private(set) var firstByte = Duration.zero
    fileprivate(set) var done = Duration.zero
    private var isOpen = true

    fileprivate init?(_ origin: String, _ peer: IPAddress, port: UInt16) {
        guard let descriptor = peer.connecting(to: port) else { return nil }
        self.descriptor = descriptor
        self.origin = origin
        self.peer = peer
    }

    deinit { end() }

    fileprivate func end() {
        transfer = nil
        if isOpen { close(descriptor) }
        isOpen = false
    }

    /// Whether it is connected, as it has been told.
    fileprivate func connect() -> Bool {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        isConnected = getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0
        return isConnected
    }

    /// Neither has it ended, nor has it anything to say.
    fileprivate var isSilent: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }

    fileprivate func begin(_ transfer: Transfer, _ message: [UInt8], _ now: Duration) {
        self.transfer = transfer
        outgoing = message[...]
        start = now
        (status, contentLength, receivedByteCount) = (0, -1, 0)
    }

    fileprivate func begin(_ head: AnswerHead, at now: Duration) {
        status = head.status
        contentLength =
            switch head.body {
            case .none?: 0
            case .length(let count)?: count
            case .chunked?, nil: -1
            }
        isLast = head.isLast
        firstByte = now - start
    }

    fileprivate func rest(now: Duration) {
        transfer = nil
        (outgoing, reading, isReused, start) = ([], .head, true, now)
    }
}

extension IPAddress {
    /// A socket on its way there, which does not wait. Nil where there is no way.
    fileprivate func connecting(to port: UInt16) -> Int32? {
        let family = if case .v4 = self { AF_INET } else { AF_INET6 }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { return nil }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard withSocketAddress(port, { connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private func withSocketAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        switch self {
        case .v4(let value):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = value.bigEndian
            return withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .v6(let high, let low):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
                bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
                bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }
}
