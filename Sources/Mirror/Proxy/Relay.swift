internal import CLinux
internal import Glibc
internal import HTTPServer
internal import Portal
internal import System
internal import TLS
package import Web

/// A non-blocking connection to a host, with or without TLS, over which a relay sends and receives the bytes of another
/// protocol. Only one thread uses it. Releasing it closes the connection.
///
/// `send` and `receive` return like the system calls `send` and `recv`: the number of bytes, or -1 with the reason in
/// `errno`. If `receive` returns 0, the host has ended its side.
package protocol ByteChannel: AnyObject {
    /// The file descriptor to poll.
    var descriptor: Int32 { get }
    func send(_ bytes: UnsafeRawBufferPointer) -> Int
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int
}

/// Connects to the host of a URL, with TLS for https. Blocks until the connection is established. Returns nil if that
/// fails.
///
/// - Parameter nearestZone: the nearest network zone that the host may be in.
package typealias Connect = @Sendable (_ url: WebURL, _ nearestZone: NetworkZone) -> (any ByteChannel)?

/// Copies bytes between a client and a host, in both directions at once. Each relay has its own thread, which closes both
/// connections at the end: when the client has received everything that the host sent before it ended, when a connection
/// fails, or when no bytes have moved for `idleMilliseconds`.
///
/// Each direction is a `Flow`. It reads only while it has fewer than `maxUnsentBytes` unsent bytes, so that a slow reader
/// slows down the sender instead of filling memory.
///
/// The relay serves three purposes, which differ in the first bytes (`Opening`): tunnels (CONNECT), upgrades to other
/// protocols such as WebSocket, and uploads that are too long for memory. The bytes of a tunnel are not interpreted. For
/// the other two, the heads of the host's responses pass through a `ResponseHeadFilter`.
enum Relay {
    /// The bytes that are sent before those of the client and the host.
    enum Opening: Sendable {
        /// No further bytes: both directions are copied from the beginning. Only tests use it.
        case nothing
        /// A tunnel: the client is sent a 200, then bytes are copied.
        case tunnel
        /// An upgrade: the host is sent this request head. The client's further bytes wait until the host has agreed with
        /// a 101.
        case upgrade(head: [UInt8], method: String)
        /// An upload: the host is sent this request head and the body, but nothing after the end of the body.
        case upload(head: [UInt8], method: String, LongUpload)
    }

    /// The result of a relayed connection.
    struct Outcome: Sendable {
        /// The number of bytes from the host that were sent to the client.
        var byteCount = 0
        /// For an upload, the status of the host's final response; nil if there was none.
        var status: Int?
    }

    /// Starts a thread that connects to the host of `url` and relays bytes. Returns at once, and may be called on the
    /// event loop's thread. If the host cannot be reached, the client is sent a 502.
    ///
    /// - Parameter done: called once, after the client's connection was closed: on the relay's thread, or on the caller's
    ///   if no thread could be started.
    static func start(
        _ client: DetachedConnection, to url: WebURL, nearestZone: NetworkZone,
        by connect: @escaping Connect, opening: Opening,
        done: @escaping @Sendable (Outcome) -> Void
    ) {
        do throws(SystemError) {
            try NamedThread.start("larder-relay") {
                done(run(client, connect(url, nearestZone), opening))
            }
        } catch {
            close(client.descriptor)
            done(Outcome())
        }
    }

    /// Relays bytes until the end, and closes the client's connection.
    ///
    /// - Parameter host: nil if the host could not be reached.
    private static func run(_ connection: DetachedConnection, _ host: (any ByteChannel)?, _ opening: Opening)
        -> Outcome
    {
        defer { close(connection.descriptor) }
        let client = DetachedClient(connection)
        guard let host else {
            client.sendAll(Self.badGateway)
            if case .upload = opening { client.discardInput() }
            return Outcome()
        }
        var (toHost, toClient) = (Flow(), Flow())
        switch opening {
        case .nothing: break
        case .tunnel: toClient.queue(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
        case .upgrade(let head, let method):
            toHost.queue(head)
            // Bytes after the head belong to the new protocol. They must not reach the host before it has agreed to it: a
            // host that ignores the upgrade would parse them as another request (request smuggling).
            toHost.isPaused = true
            toClient.headFilter = ResponseHeadFilter(to: method, canUpgrade: true)
        case .upload(let head, let method, let upload):
            toHost.queue(head + upload.beginning)
            toHost.bodyReader = upload.reader
            toClient.headFilter = ResponseHeadFilter(to: method, canUpgrade: false)
        }
        let (isUpload, awaitsResponse) = (toHost.bodyReader != nil, toClient.headFilter != nil)
        // Bytes that the event loop had received after the request's head.
        var early = connection.received
        if !toHost.isPaused { toHost.take(early) }
        let openingByteCount = toClient.unsentCount
        var outcome = Outcome()
        while !(toHost.isOver && toClient.isOver) {
            toHost.move(from: client.receive, to: host.send)
            toClient.move(from: host.receive, to: client.send)
            // The host has agreed to the upgrade, so the client's bytes of the new protocol may follow.
            if toHost.isPaused, toClient.isTunnel {
                toHost.isPaused = false
                toHost.queue(early)
                early = []
            }
            if isUpload, outcome.status == nil { outcome.status = toClient.status }
            // A host may respond and close before it has received the whole body. Its response still goes to the client.
            if toClient.isOver || toClient.isBroken
                || toHost.isBroken && !(isUpload && toClient.sentByteCount > 0)
            {
                break
            }
            // Passes on that the client has ended its side. Not for uploads: some servers treat a half-closed connection
            // as closed.
            if toHost.isOver, !isUpload { shutdown(host.descriptor, Int32(SHUT_WR)) }
            guard wait(client.descriptor, host.descriptor, toHost, toClient, isUpload: isUpload) else {
                break
            }
        }
        if awaitsResponse, toClient.sentByteCount == 0 {
            client.sendAll(Self.badGateway)
        } else {
            client.end()
        }
        if isUpload, !toHost.isOver { client.discardInput() }
        // A client may disconnect before it has received the opening.
        outcome.byteCount = max(0, toClient.sentByteCount - openingByteCount)
        return outcome
    }

    private static var badGateway: [UInt8] {
        Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
    }

    /// Waits until bytes can be received or sent. Returns false if the relay must end: after the timeout, or because the
    /// client has disconnected.
    private static func wait(
        _ client: Int32, _ host: Int32, _ toHost: Flow, _ toClient: Flow, isUpload: Bool
    ) -> Bool {
        var polls = [pollfd(fd: client, events: 0, revents: 0), pollfd(fd: host, events: 0, revents: 0)]
        if toHost.wantsBytes { polls[0].events |= Int16(POLLIN) }
        if isUpload, toHost.isOver { polls[0].events |= Int16(EPOLLRDHUP.rawValue) }
        if toHost.unsentCount > 0, !toHost.isBroken { polls[1].events |= Int16(POLLOUT) }
        if toClient.wantsBytes { polls[1].events |= Int16(POLLIN) }
        if toClient.unsentCount > 0 { polls[0].events |= Int16(POLLOUT) }
        // poll reports a closed connection even without events. If the relay waits for nothing from the host, it must not
        // wake up for that: the client has not received all of the host's bytes yet.
        if polls[1].events == 0 { polls[1].fd = -1 }
        let isLingering = toHost.isOver && !(isUpload && toClient.sentByteCount == 0)
        let count = poll(&polls, 2, isLingering ? lingerMilliseconds : idleMilliseconds)
        // EPOLLRDHUP is polled only for a client whose upload is complete. If it then closes its side, it does not want
        // the response any more.
        let hasDisconnected = polls[0].revents & (Int16(POLLERR | POLLHUP) | Int16(EPOLLRDHUP.rawValue)) != 0
        return count > 0 && !hasDisconnected || count < 0 && errno == EINTR
    }

    /// The maximum time in which no bytes move. Then the relay ends.
    private static let idleMilliseconds: Int32 = 15 * 60 * 1000
    /// The maximum time in which no bytes move after the client has ended its side. Then the relay ends.
    private static let lingerMilliseconds: Int32 = 60 * 1000

    /// One direction of the relay: reads from the source, and queues and sends the bytes to the destination.
    private struct Flow {
        /// The queued bytes, the first `sentCount` of which have been sent.
        private var bytes: [UInt8] = []
        private var sentCount = 0
        /// Whether nothing more comes from the source.
        private var hasEnded = false
        /// Whether a connection failed, the body was cut off or the bytes are not valid HTTP.
        private(set) var isBroken = false
        /// The number of bytes that were sent so far.
        private(set) var sentByteCount = 0
        /// Finds the end of the body, where the flow ends; nil to copy everything until the source ends.
        var bodyReader: BodyReader?
        /// Parses and filters the response heads; nil after the last one, or if there are none.
        var headFilter: ResponseHeadFilter?
        /// Whether the host has switched to another protocol.
        private(set) var isTunnel = false
        /// Whether nothing is read from the source for now.
        var isPaused = false
        /// The status of the final response, once its head was queued.
        private(set) var status: Int?
        /// The number of unsent bytes at which reading pauses.
        private static let maxUnsentBytes = 256 * 1024

        var unsentCount: Int { bytes.count - sentCount }
        var wantsBytes: Bool { !hasEnded && !isBroken && !isPaused && unsentCount < Self.maxUnsentBytes }
        var isOver: Bool { hasEnded && unsentCount == 0 }

        /// Queues bytes for the destination as they are.
        mutating func queue(_ more: [UInt8]) { bytes += more }

        /// Takes bytes from the source: filters the heads, and queues the bytes up to the end of the body.
        mutating func take(_ piece: [UInt8]) {
            if var filter = headFilter.take() {
                let (heads, following) = filter.filter(piece)
                queue(heads)
                status = filter.status
                if filter.isInvalid { isBroken = true }
                switch filter.continuation {
                case nil: headFilter = filter
                case .tunnel:
                    isTunnel = true
                    queue(following)
                case .untilEnd: queue(following)
                case .body(.none), .body(.length(0)): hasEnded = true
                case .body(let framing):
                    bodyReader = BodyReader(framing, maxBodyBytes: .max, maxOverheadBytes: .max)
                    take(following)
                }
                return
            }
            guard !piece.isEmpty, var reader = bodyReader.take() else { return queue(piece) }
            var (position, content): (Int, [UInt8]) = (0, [])
            let progress = piece.withUnsafeBufferPointer { bytes in
                reader.read(bytes, from: &position, into: &content)
            }
            switch progress {
            case .incomplete: break
            case .complete: hasEnded = true
            case .refused: isBroken = true
            }
            bodyReader = reader
            queue(Array(piece[..<position]))
        }

        /// Receives and sends bytes until neither is possible without blocking.
        mutating func move(
            from receive: (UnsafeMutableRawBufferPointer) -> Int, to send: (UnsafeRawBufferPointer) -> Int
        ) {
            while true {
                var hasMoved = false
                if wantsBytes {
                    var count = 0
                    let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
                        count = receive(UnsafeMutableRawBufferPointer(buffer))
                        filled = max(0, count)
                    }
                    if count > 0 {
                        take(piece)
                        hasMoved = true
                    } else if count == 0 {
                        // The end of the connection is the end of a message only if its length is not declared.
                        if bodyReader == nil { hasEnded = true } else { isBroken = true }
                    } else if errno != EAGAIN, errno != EINTR {
                        isBroken = true
                    }
                }
                if unsentCount > 0, !isBroken {
                    let count = bytes.withUnsafeBytes { bytes in
                        send(UnsafeRawBufferPointer(rebasing: bytes[sentCount...]))
                    }
                    if count > 0 {
                        sentByteCount += count
                        sentCount += count
                        if sentCount == bytes.count { (sentCount, bytes) = (0, []) }
                        hasMoved = true
                    } else if errno != EAGAIN, errno != EINTR {
                        isBroken = true
                    }
                }
                if !hasMoved || isBroken { return }
            }
        }
    }
}

/// Filters the heads of the interim responses (1xx) and of the final response to one request: removes `Connection` and
/// the fields that only Larder itself sends, and adds `Connection: close` unless the connection becomes a tunnel.
///
/// Pass received bytes to `filter` until `continuation` is known or `isInvalid` is true. The parser is strict: if client
/// and Larder could disagree about where a response ends, bytes of one response could be taken for another.
struct ResponseHeadFilter {
    /// The kind of bytes that follow the last head.
    enum Continuation: Equatable {
        /// Bytes of another protocol than HTTP.
        case tunnel
        /// A body whose end is known from its framing.
        case body(BodyFraming)
        /// A body that ends when the server closes the connection.
        case untilEnd
    }

    private let method: String
    private let canUpgrade: Bool
    /// The received beginning of an incomplete head.
    private var incomplete: [UInt8] = []
    /// Nil until the head of the final response, or of a 101, is complete.
    private(set) var continuation: Continuation?
    /// The status of the final response, or 101; nil until its head is complete.
    private(set) var status: Int?
    /// Whether the heads are malformed, ambiguous or too long. The relay must end then.
    private(set) var isInvalid = false
    /// The maximum size of a response head. A longer one ends the relay.
    private static let maxHeadBytes = 256 * 1024
    private static let endOfHead = Array("\r\n\r\n".utf8)

    /// - Parameters:
    ///   - method: the method of the request, because a response to HEAD has no body.
    ///   - canUpgrade: whether the request asked for an upgrade. Otherwise a 101 is invalid.
    init(to method: String, canUpgrade: Bool) {
        (self.method, self.canUpgrade) = (method, canUpgrade)
    }

    /// Takes received bytes. Returns the complete heads to forward, and the bytes after the last one.
    mutating func filter(_ piece: [UInt8]) -> (heads: [UInt8], following: [UInt8]) {
        incomplete += piece
        var heads: [UInt8] = []
        while continuation == nil, !isInvalid, let end = incomplete.firstRange(of: Self.endOfHead)?.upperBound
        {
            guard let head = filteredHead(incomplete[..<end]) else {
                isInvalid = true
                return ([], [])
            }
            heads += head
            incomplete.removeFirst(end)
        }
        isInvalid =
            isInvalid || continuation == nil && (incomplete.count > Self.maxHeadBytes || !hasValidBeginning)
        guard continuation != nil else { return (heads, []) }
        defer { incomplete = [] }
        return (heads, incomplete)
    }

    private var hasValidBeginning: Bool {
        incomplete.starts(with: "HTTP/1.".utf8.prefix(incomplete.count))
    }

    /// Returns the head as it is forwarded, and sets `continuation` if it is the last one. Nil if the head is invalid.
    private mutating func filteredHead(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let lines = bytes.dropLast(4).split(separator: 0x0A, omittingEmptySubsequences: false)
        var (filtered, fields): ([UInt8], HTTPFields) = ([], HTTPFields())
        var status = 0
        for (number, line) in lines.enumerated() {
            let isLast = number == lines.count - 1
            guard isLast || line.last == 0x0D else { return nil }
            let text = isLast ? line : line.dropLast()
            guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return nil }
            if number == 0 {
                guard let parsed = Self.status(text) else { return nil }
                status = parsed
            } else {
                guard let colon = text.firstIndex(of: 0x3A), colon > text.startIndex,
                    text[..<colon].allSatisfy({ HTTPGrammar.isToken($0) })
                else { return nil }
                let name = HTTPGrammar.lowercased(text[..<colon])
                fields.append(name, String(decoding: text[(colon + 1)...], as: UTF8.self))
                // A 101 needs its `Connection: Upgrade`.
                let isHopByHop =
                    status != 101 && ["connection", "keep-alive", "proxy-connection"].contains(name)
                if name.hasPrefix("larder") || isHopByHop { continue }
            }
            filtered += text + [0x0D, 0x0A]
        }
        if status >= 200 || status == 101 {
            guard let next = Self.continuation(status, fields, method, canUpgrade: canUpgrade) else {
                return nil
            }
            continuation = next
            self.status = status
            if next != .tunnel { filtered += "Connection: close\r\n".utf8 }
        }
        return filtered + [0x0D, 0x0A]
    }

    /// Returns the status of a status line such as `HTTP/1.1 200 OK`; nil if the line is invalid.
    private static func status(_ line: ArraySlice<UInt8>) -> Int? {
        let bytes = Array(line)
        guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8), bytes[7].isASCIIDigit, bytes[8] == 0x20,
            bytes.count == 12 || bytes[12] == 0x20, bytes[9..<12].allSatisfy({ $0.isASCIIDigit })
        else { return nil }
        return Int(String(decoding: bytes[9..<12], as: UTF8.self)).flatMap { $0 >= 100 ? $0 : nil }
    }

    /// Returns the kind of bytes after the head of the final response (RFC 9112 §6.3); nil if the length of its body is
    /// ambiguous.
    private static func continuation(
        _ status: Int, _ fields: HTTPFields, _ method: String, canUpgrade: Bool
    ) -> Continuation? {
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

/// A client's request to switch the connection to another protocol, such as WebSocket (RFC 9110 §7.8). It is forwarded to
/// the origin; if that agrees, a relay copies the bytes of the other protocol. Requests for event streams are relayed in
/// the same way, without a switch.
struct UpgradeRequest {
    private let url: WebURL
    private let method: String
    private let head: [UInt8]

    /// Whether the request asks for an upgrade to a protocol other than HTTP/2.
    static func isUpgrade(_ request: Request) -> Bool {
        request.head.hasUpgrade && request.head.body == .none
            && request.fields.elements("Connection").contains { HTTPGrammar.matches($0, "upgrade") }
            // h2c is HTTP/2 without TLS. A server may answer such a request over HTTP/1.1.
            && request.fields.elements("Upgrade").contains { !HTTPGrammar.matches($0, "h2c") }
    }

    /// Whether the request is that of an `EventSource`, which accepts nothing else.
    static func isForEventStream(_ request: Request) -> Bool {
        request.method == "GET" && request.fields["Accept"] == "text/event-stream"
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
        let connection = protocols.isEmpty ? "close" : "Upgrade\r\nUpgrade: \(protocols)"
        head += "Via: \(ProxyHop.via)\r\nConnection: \(connection)\r\n\r\n"
        self.head = HTTPGrammar.bytes(of: head)
    }

    /// Returns the proxy's reply: a takeover by a relay, or a 504 if the policy allows no network requests. Notes either in
    /// the log.
    func reply(
        nearestZone: NetworkZone, _ options: ProxySettings, _ start: ContinuousClock.Instant
    ) -> Reply {
        let (log, url, method) = (options.log, url, method)
        guard let connect = options.connect else {
            log.recordMiss("UPGRADE", url.href, since: start)
            let text = "\(url.href): upgrades to other protocols cannot be answered from the store.\n"
            return Reply(
                answer: .text(504, text, fields: [("Larder", "miss"), ("Cache-Control", "no-store")]))
        }
        return relay(by: connect, nearestZone: nearestZone) { byteCount in
            log.recordTunnel(method, url.href, byteCount, since: start)
        }
    }

    /// Returns a reply whose takeover connects the client with the origin.
    ///
    /// - Parameter ended: called at the end of the relay, with the number of bytes that were sent to the client.
    func relay(
        by connect: @escaping Connect, nearestZone: NetworkZone,
        ended: @escaping @Sendable (Int) -> Void
    ) -> Reply {
        let (url, method, head) = (url, method, head)
        // The answer is not sent, because the reply has a takeover.
        var reply = Reply(answer: .text(502, ""))
        reply.takeover = { client in
            Relay.start(
                client, to: url, nearestZone: nearestZone, by: connect,
                opening: .upgrade(head: head, method: method)
            ) { ended($0.byteCount) }
        }
        return reply
    }
}

/// A request whose body is too long for memory. A relay streams the body to the origin and the response to the client, and
/// closes both connections. Neither is stored.
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

    /// Returns the takeover that starts the relay, and records the result in the log.
    ///
    /// - Parameter changed: called if the origin did not respond with an error, and so may have changed the resource:
    ///   stored responses of the URL are then outdated.
    func takeover(
        by connect: @escaping Connect, nearestZone: NetworkZone, _ log: ProxyLog,
        since start: ContinuousClock.Instant, changed: @escaping @Sendable (WebURL) -> Void
    ) -> Takeover {
        let (url, method) = (url, method)
        let opening = Relay.Opening.upload(head: head, method: method, upload)
        return { client in
            Relay.start(client, to: url, nearestZone: nearestZone, by: connect, opening: opening) {
                outcome in
                if (100..<400).contains(outcome.status ?? 0) { changed(url) }
                log.recordRelayed(method, url.href, outcome, since: start)
            }
        }
    }
}

extension ProxyLog {
    /// Records a request that was streamed to its origin.
    func recordRelayed(
        _ method: String, _ url: String, _ outcome: Relay.Outcome, since start: ContinuousClock.Instant
    ) {
        // Without a status, the host could not be reached, or closed the connection without a response.
        let source: Source = outcome.status == nil ? .missed : .tunnel
        append(method, url, outcome.status ?? 502, source, outcome.byteCount, isStored: false, since: start)
    }
}
