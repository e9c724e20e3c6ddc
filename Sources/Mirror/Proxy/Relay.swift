internal import CLinux
internal import Glibc
internal import HTTPServer
internal import Portal
internal import System
internal import TLS
package import Web

/// A non-blocking connection to a host that carries bytes unchanged. It belongs to one thread.
package protocol ByteChannel: AnyObject {
    /// The descriptor to poll.
    var descriptor: Int32 { get }
    /// Like `send` and `recv`: -1 with `errno`, 0 at the end.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int
}

/// Connects to the host of a URL, with TLS for https, and blocks until connected. Nil if that fails.
///
/// - Parameter nearestZone: the nearest network zone that the host may be in.
package typealias Connect = @Sendable (_ url: WebURL, _ nearestZone: NetworkZone) -> (any ByteChannel)?

/// Copies bytes between a client and a host, for connections that the server's event loop hands over: tunnels that are not
/// decrypted, protocol upgrades such as WebSocket, and uploads that are too long for memory.
///
/// Each relay has a thread of its own (`larder-relay`), which owns both connections and polls them. A connection has two
/// `Flow`s, one in each direction. A flow reads only while it has fewer than `maxWaitingBytes` unsent bytes, so that a slow
/// reader slows down the other side instead of filling memory.
///
/// The relay ends when both flows are over, when one is broken, or after `idleMilliseconds` without data. Tunnels are
/// copied unread. In upgrades and uploads, the host's response heads pass through a `ResponseHeadFilter`.
enum Relay {
    /// The first bytes that are sent.
    enum Greeting: Sendable {
        case nothing
        /// To the client: the connection is established.
        case connected
        /// To the host: the client's request.
        case request([UInt8], method: String)
        /// A request whose body is still arriving; nothing after the end of the body is sent to the host.
        case upload([UInt8], method: String, LongUpload)
    }

    /// The result of a relayed connection.
    struct Outcome: Sendable {
        /// Bytes that the host sent.
        var byteCount = 0
        /// The status of the host's first response; nil if there was none.
        var status: Int?
    }

    /// Starts the thread of a relay, which connects to the host and then copies bytes.
    ///
    /// - Parameter done: Called once, on any thread, after the client's connection was closed.
    static func start(
        _ client: DetachedConnection, to url: WebURL, nearestZone: NetworkZone,
        by connect: @escaping Connect, greeting: Greeting,
        done: @escaping @Sendable (Outcome) -> Void
    ) {
        do throws(SystemError) {
            try NamedThread.start("larder-relay") {
                done(run(client, connect(url, nearestZone), greeting))
            }
        } catch {
            close(client.descriptor)
            done(Outcome())
        }
    }

    /// Copies bytes until the relay ends. Closes the client's connection.
    private static func run(_ client: DetachedConnection, _ host: (any ByteChannel)?, _ greeting: Greeting)
        -> Outcome
    {
        defer { close(client.descriptor) }
        let side = DetachedClient(client)
        guard let host else {
            side.sendAll(Self.badGateway)
            if case .upload = greeting { side.discardInput() }
            return Outcome()
        }
        var (toHost, toClient) = (Flow(), Flow())
        switch greeting {
        case .nothing: break
        case .connected: toClient.put(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
        case .request(let bytes, _): toHost.put(bytes)
        case .upload(let bytes, _, let upload):
            toHost.put(bytes + upload.beginning)
            toHost.body = upload.reader
        }
        switch greeting {
        case .nothing, .connected: break
        case .request(_, let method):
            toClient.head = ResponseHeadFilter(to: method, canUpgrade: true)
            // Bytes after the request belong to the new protocol. They must not reach the host before it has agreed to it:
            // a host that ignores the upgrade would parse them as another request (request smuggling).
            toHost.isPaused = true
        case .upload(_, let method, _): toClient.head = ResponseHeadFilter(to: method, canUpgrade: false)
        }
        let (isUpload, isAnswered) = (toHost.body != nil, toClient.head != nil)
        var held = client.received
        if !toHost.isPaused { toHost.take(held) }
        let greetingCount = toClient.waitingCount
        var outcome = Outcome()
        while !(toHost.isOver && toClient.isOver) {
            toHost.move(from: side.receive, to: host.send)
            toClient.move(from: host.receive, to: side.send)
            // From here on, the host speaks the protocol that the client requested.
            if toHost.isPaused, toClient.isTunnel {
                toHost.isPaused = false
                toHost.put(held)
                held = []
            }
            if isUpload, outcome.status == nil { outcome.status = toClient.status }
            // A server may answer and close before it has received the whole body.
            if toClient.isOver || toClient.isBroken
                || toHost.isBroken && !(isUpload && toClient.byteCount > 0)
            {
                break
            }
            // Not for uploads: some servers treat a half-closed connection as closed.
            if toHost.isOver, !isUpload { shutdown(host.descriptor, Int32(SHUT_WR)) }
            guard wait(side.descriptor, host.descriptor, toHost, toClient, isUpload: isUpload) else { break }
        }
        if isAnswered, toClient.byteCount == 0 {
            side.sendAll(Self.badGateway)
        } else {
            side.end()
        }
        if isUpload, !toHost.isOver { side.discardInput() }
        outcome.byteCount = toClient.byteCount - greetingCount
        return outcome
    }

    private static var badGateway: [UInt8] {
        Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
    }

    /// Waits until bytes can move; false after the timeout.
    private static func wait(
        _ client: Int32, _ host: Int32, _ toHost: Flow, _ toClient: Flow, isUpload: Bool
    ) -> Bool {
        var polls = [pollfd(fd: client, events: 0, revents: 0), pollfd(fd: host, events: 0, revents: 0)]
        if toHost.wantsBytes { polls[0].events |= Int16(POLLIN) }
        if isUpload, toHost.isOver { polls[0].events |= Int16(EPOLLRDHUP.rawValue) }
        if toHost.waitingCount > 0, !toHost.isBroken { polls[1].events |= Int16(POLLOUT) }
        if toClient.wantsBytes { polls[1].events |= Int16(POLLIN) }
        if toClient.waitingCount > 0 { polls[0].events |= Int16(POLLOUT) }
        // Ignores that the host has closed until the client has received the host's bytes.
        if polls[1].events == 0 { polls[1].fd = -1 }
        let isLingering = toHost.isOver && !(isUpload && toClient.byteCount == 0)
        let count = poll(&polls, 2, isLingering ? lingerMilliseconds : idleMilliseconds)
        // A client that closes after a complete body has disconnected.
        let hasLeft = polls[0].revents & (Int16(POLLERR | POLLHUP) | Int16(EPOLLRDHUP.rawValue)) != 0
        return count > 0 && !hasLeft || count < 0 && errno == EINTR
    }

    /// Milliseconds without data after which an open connection is closed.
    private static let idleMilliseconds: Int32 = 15 * 60 * 1000
    /// The same, after the client has closed its side.
    private static let lingerMilliseconds: Int32 = 60 * 1000

    /// One direction of the relay.
    private struct Flow {
        /// Bytes of `bytes` that were sent.
        /// The number of bytes at the beginning of `bytes` that were sent.
        private var sentCount = 0
        /// Received bytes. They are removed only when all of them were sent.
        private var bytes: [UInt8] = []
        /// Whether the sender will send nothing more.
        private var hasEnded = false
        /// Whether a connection failed, or the message is invalid. Nothing more is read or sent.
        private(set) var isBroken = false
        /// The number of bytes that were sent.
        private(set) var byteCount = 0
        /// Finds the end of the body; nil to copy everything.
        var body: BodyReader?
        /// Parses the response heads; nil to copy everything.
        var head: ResponseHeadFilter?
        /// Whether the host has agreed to switch to another protocol (status 101).
        private(set) var isTunnel = false
        /// Whether reading is paused.
        var isPaused = false
        /// The first bytes, for the status.
        private var beginning: [UInt8] = []
        /// The number of unsent bytes at which reading pauses.
        private static let maxWaitingBytes = 256 * 1024

        var waitingCount: Int { bytes.count - sentCount }
        var wantsBytes: Bool { !hasEnded && !isBroken && !isPaused && waitingCount < Self.maxWaitingBytes }
        var isOver: Bool { hasEnded && waitingCount == 0 }

        /// The status of the first response.
        var status: Int? {
            let digits = beginning.dropFirst(9).prefix(3)
            guard beginning.starts(with: "HTTP/1.".utf8), digits.count == 3 else { return nil }
            return Int(String(decoding: digits, as: UTF8.self))
        }

        /// Adds bytes to send.
        mutating func put(_ more: [UInt8]) {
            if beginning.count < 12 { beginning += more.prefix(12 - beginning.count) }
            bytes += more
        }

        /// Adds received bytes, up to the end of the body.
        mutating func take(_ piece: [UInt8]) {
            if var heads = head.take() {
                let (passed, following) = heads.pass(piece)
                put(passed)
                if heads.isInvalid { isBroken = true }
                switch heads.rest {
                case nil: head = heads
                case .tunnel:
                    isTunnel = true
                    put(following)
                case .untilEnd: put(following)
                case .body(.none), .body(.length(0)): hasEnded = true
                case .body(let framing):
                    body = BodyReader(framing, maxBodyBytes: .max, maxOverheadBytes: .max)
                    take(following)
                }
                return
            }
            guard !piece.isEmpty, var reader = body.take() else { return put(piece) }
            var (position, content): (Int, [UInt8]) = (0, [])
            let progress = piece.withUnsafeBufferPointer { bytes in
                reader.read(bytes, from: &position, into: &content)
            }
            switch progress {
            case .incomplete: break
            case .complete: hasEnded = true
            case .refused: isBroken = true
            }
            body = reader
            put(Array(piece[..<position]))
        }

        /// Receives and sends until neither is possible without waiting.
        mutating func move(
            from receive: (UnsafeMutableRawBufferPointer) -> Int, to send: (UnsafeRawBufferPointer) -> Int
        ) {
            while true {
                var moved = false
                if wantsBytes {
                    var count = 0
                    let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
                        count = receive(UnsafeMutableRawBufferPointer(buffer))
                        filled = max(0, count)
                    }
                    if count > 0 {
                        take(piece)
                        moved = true
                    } else if count == 0 {
                        // The end of the connection delimits a message only if its length is not given.
                        if body == nil { hasEnded = true } else { isBroken = true }
                    } else if errno != EAGAIN, errno != EINTR {
                        isBroken = true
                    }
                }
                if waitingCount > 0, !isBroken {
                    let count = bytes.withUnsafeBytes { bytes in
                        send(UnsafeRawBufferPointer(rebasing: bytes[sentCount...]))
                    }
                    if count > 0 {
                        byteCount += count
                        sentCount += count
                        if sentCount == bytes.count { (sentCount, bytes) = (0, []) }
                        moved = true
                    } else if errno != EAGAIN, errno != EINTR {
                        isBroken = true
                    }
                }
                if !moved || isBroken { return }
            }
        }
    }
}

/// Parses the response heads of a server strictly: ends the relay if they are ambiguous. Removes fields that
/// only Larder itself sends, and adds `Connection: close` unless the connection becomes a tunnel.
struct ResponseHeadFilter {
    /// The kind of bytes after the last head.
    enum Rest: Equatable {
        /// Another protocol than HTTP.
        case tunnel
        case body(BodyFraming)
        case untilEnd
    }

    private let method: String
    private let canUpgrade: Bool
    /// Received bytes that do not form a complete head yet.
    private var waiting: [UInt8] = []
    /// The kind of bytes after the final head; nil until that head has arrived.
    private(set) var rest: Rest?
    private(set) var isInvalid = false
    /// The maximum size of a response head. A longer one ends the relay.
    private static let maxHeadBytes = 256 * 1024
    private static let end = Array("\r\n\r\n".utf8)

    init(to method: String, canUpgrade: Bool) {
        (self.method, self.canUpgrade) = (method, canUpgrade)
    }

    /// Returns the heads to forward, and the bytes after the last one.
    mutating func pass(_ piece: [UInt8]) -> (heads: [UInt8], following: [UInt8]) {
        waiting += piece
        var passed: [UInt8] = []
        while rest == nil, !isInvalid, let end = endOfHead() {
            guard let head = head(waiting[..<end]) else {
                isInvalid = true
                return ([], [])
            }
            passed += head
            waiting.removeFirst(end)
        }
        isInvalid = isInvalid || rest == nil && (waiting.count > Self.maxHeadBytes || !hasValidBeginning)
        guard rest != nil else { return (passed, []) }
        defer { waiting = [] }
        return (passed, waiting)
    }

    private var hasValidBeginning: Bool { waiting.starts(with: "HTTP/1.".utf8.prefix(waiting.count)) }

    private func endOfHead() -> Int? {
        waiting.firstRange(of: Self.end)?.upperBound
    }

    /// Nil if the head is invalid.
    private mutating func head(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let lines = bytes.dropLast(4).split(separator: 0x0A, omittingEmptySubsequences: false)
        var (passed, fields): ([UInt8], HTTPFields) = ([], HTTPFields())
        var status = 0
        for (number, line) in lines.enumerated() {
            let isLast = number == lines.count - 1
            guard isLast || line.last == 0x0D else { return nil }
            let text = isLast ? line : line.dropLast()
            guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return nil }
            if number == 0 {
                guard let told = Self.status(text) else { return nil }
                status = told
            } else {
                guard let colon = text.firstIndex(of: 0x3A), colon > text.startIndex,
                    text[..<colon].allSatisfy({ HTTPGrammar.isToken($0) })
                else { return nil }
                let name = HTTPGrammar.lowercased(text[..<colon])
                fields.append(name, String(decoding: text[(colon + 1)...], as: UTF8.self))
                // In a 101 response, `Connection` names the upgrade, and the client needs it.
                let isHops = status != 101 && ["connection", "keep-alive", "proxy-connection"].contains(name)
                if name.hasPrefix("larder") || isHops { continue }
            }
            passed += text + [0x0D, 0x0A]
        }
        if status >= 200 || status == 101 {
            guard let rest = Self.rest(status, fields, method, canUpgrade: canUpgrade) else { return nil }
            self.rest = rest
            if rest != .tunnel { passed += "Connection: close\r\n".utf8 }
        }
        return passed + [0x0D, 0x0A]
    }

    private static func status(_ line: ArraySlice<UInt8>) -> Int? {
        let bytes = Array(line)
        guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8), bytes[7].isASCIIDigit, bytes[8] == 0x20,
            bytes.count == 12 || bytes[12] == 0x20, bytes[9..<12].allSatisfy({ $0.isASCIIDigit })
        else { return nil }
        return Int(String(decoding: bytes[9..<12], as: UTF8.self)).flatMap { $0 >= 100 ? $0 : nil }
    }

    /// The kind of bytes after the head, by RFC 9112 §6.3; nil if their length is ambiguous. A browser and Larder could then
    /// disagree about the end of the response.
    private static func rest(_ status: Int, _ fields: HTTPFields, _ method: String, canUpgrade: Bool) -> Rest?
    {
        if status == 101 { return canUpgrade ? .tunnel : nil }
        if status == 204 || status == 304 || method == "HEAD" { return .body(.none) }
        let (lengths, codings) = (fields.all("content-length"), fields.elements("transfer-encoding"))
        guard lengths.count <= 1, lengths.isEmpty || codings.isEmpty else { return nil }
        if !codings.isEmpty { return codings.map { $0.lowercased() } == ["chunked"] ? .body(.chunked) : nil }
        guard let length = lengths.first.map({ $0.filter { $0 != " " && $0 != "\t" } }) else {
            return .untilEnd
        }
        guard length.utf8.allSatisfy({ $0.isASCIIDigit }), let count = Int(length) else { return nil }
        return .body(.length(count))
    }
}

/// A request to switch the connection to another protocol, such as WebSocket (RFC 9110 §7.8).
struct Upgrade {
    private let url: WebURL
    private let method: String
    private let head: [UInt8]

    /// Whether a request asks for an upgrade that the relay can carry out.
    static func isAsked(for request: Request) -> Bool {
        request.head.hasUpgrade && request.head.body == .none
            && request.fields.elements("Connection").contains { HTTPGrammar.matches($0, "upgrade") }
            // h2c is HTTP; the request is answered without the upgrade.
            && request.fields.elements("Upgrade").contains { !HTTPGrammar.matches($0, "h2c") }
    }

    init(_ request: Request, _ url: WebURL) {
        self.url = url
        method = request.method
        var head =
            "\(method) \(url.target) HTTP/1.1\r\nHost: \(url.origin.drop { $0 != ":" }.dropFirst(3))\r\n"
        let (protocols, fields) = (request.fields.joinedValues("Upgrade") ?? "", request.fields)
        for field in fields.withoutConnectionFields.list
        where !["host", "larder-policy"].contains(field.name.lowercased()) {
            head += "\(field.name): \(field.value)\r\n"
        }
        head += "Via: \(ProxyHop.via)\r\nConnection: Upgrade\r\nUpgrade: \(protocols)\r\n\r\n"
        self.head = HTTPGrammar.bytes(of: head)
    }

    /// The reply to the request: a relay, or a 504 if the policy allows no network requests.
    func reply(
        nearestZone: NetworkZone, _ options: ProxySettings, _ start: ContinuousClock.Instant
    ) -> Reply {
        let (log, url, method) = (options.log, url, method)
        guard let connect = options.connect else {
            log.noteMiss("UPGRADE", url.href, since: start)
            let text = "\(url.href): upgrades to other protocols cannot be answered from the store.\n"
            return Reply(
                answer: .text(504, text, fields: [("Larder", "miss"), ("Cache-Control", "no-store")]))
        }
        return relay(by: connect, nearestZone: nearestZone) { byteCount in
            log.noteTunnel(method, url.href, byteCount, since: start)
        }
    }

    /// The reply that connects the client with the origin.
    ///
    /// - Parameter ended: called with the number of relayed bytes.
    func relay(
        by connect: @escaping Connect, nearestZone: NetworkZone,
        ended: @escaping @Sendable (Int) -> Void
    ) -> Reply {
        let (url, method, head) = (url, method, head)
        var reply = Reply(answer: .text(502, ""))
        reply.takeover = { client in
            Relay.start(
                client, to: url, nearestZone: nearestZone, by: connect,
                greeting: .request(head, method: method)
            ) { ended($0.byteCount) }
        }
        return reply
    }
}

/// A request whose body is too long for memory. It is streamed to the origin, and the response to the client;
/// then the connection is closed.
struct StreamedUpload {
    private let url: WebURL
    private let method: String
    private let head: [UInt8]
    private let upload: LongUpload

    init(_ request: Request, _ upload: LongUpload, to url: WebURL) {
        self.url = url
        self.upload = upload
        method = request.method
        let framing =
            if case .length(let count) = request.head.body {
                "Content-Length: \(count)"
            } else {
                "Transfer-Encoding: chunked"
            }
        var head =
            "\(method) \(url.target) HTTP/1.1\r\nHost: \(url.origin.drop { $0 != ":" }.dropFirst(3))\r\n"
        let fields = ProxyHop.forwardedFields(request.fields.withoutConnectionFields, method: method)
        for field in fields.list
        where !["host", "larder-policy", "content-length", "expect"].contains(field.name.lowercased()) {
            head += "\(field.name): \(field.value)\r\n"
        }
        self.head = HTTPGrammar.bytes(of: head + "\(framing)\r\nConnection: close\r\n\r\n")
    }

    /// - Parameter changed: called if the origin may have carried out the request.
    func takeover(
        by connect: @escaping Connect, nearestZone: NetworkZone, _ log: ProxyLog,
        since start: ContinuousClock.Instant, changed: @escaping @Sendable (WebURL) -> Void
    ) -> Takeover {
        let (url, method) = (url, method)
        let greeting = Relay.Greeting.upload(head, method: method, upload)
        return { client in
            Relay.start(client, to: url, nearestZone: nearestZone, by: connect, greeting: greeting) {
                outcome in
                if (100..<400).contains(outcome.status ?? 0) { changed(url) }
                log.notePassed(method, url.href, outcome, since: start)
            }
        }
    }
}

extension ProxyLog {
    /// Records a request that was streamed to its origin.
    func notePassed(
        _ method: String, _ url: String, _ outcome: Relay.Outcome, since start: ContinuousClock.Instant
    ) {
        // No status means that the origin could not be reached, or closed without a response.
        let source: Source = outcome.status == nil ? .missed : .tunnel
        note(method, url, outcome.status ?? 502, source, outcome.byteCount, isStored: false, since: start)
    }
}
