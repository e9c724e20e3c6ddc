internal import CLinux
internal import Glibc
package import Store
internal import System
internal import TLS
package import Web

/// A connection to a host that bytes go through as they are. It belongs to one thread; nothing in it waits.
package protocol ByteChannel: AnyObject {
    /// To be polled.
    var descriptor: Int32 { get }
    /// Like `send` and `recv`: -1 with `errno`, 0 at the end.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int
}

/// Connects to the host of an URL, by TLS when its scheme is https; waits until that stands. Nil when it
/// cannot be had.
///
/// - Parameter mayReach: how near to this machine the host may be.
package typealias Connect = @Sendable (_ url: WebURL, _ mayReach: ResponseFlags) -> (any ByteChannel)?

/// Leads a client's bytes to a host and back, as they are, on a thread of its own: what nobody here looks
/// into.
enum Relay {
    /// What goes out first.
    enum Greeting: Sendable {
        /// To the client: it is connected.
        case connected
        /// To the host: the client's request.
        case request([UInt8])
        /// The same, whose body is still on its way: nothing behind its end goes to the host.
        case upload([UInt8], LongUpload)
    }

    struct Outcome: Sendable {
        /// How much the host sent.
        var byteCount = 0
        /// Of its first answer; nil where there was none.
        var status: Int?
    }

    static func start(
        _ client: HandedOver, to url: WebURL, mayReach: ResponseFlags = .fromThisMachine,
        by connect: @escaping Connect, greeting: Greeting,
        done: @escaping @Sendable (Outcome) -> Void
    ) {
        do throws(SystemError) {
            try NamedThread.start("larder-relay") {
                done(run(client, connect(url, mayReach), greeting))
            }
        } catch {
            close(client.descriptor)
            done(Outcome())
        }
    }

    private static func run(_ client: HandedOver, _ host: (any ByteChannel)?, _ greeting: Greeting) -> Outcome
    {
        defer { close(client.descriptor) }
        let side = TakenClient(client)
        guard let host else {
            side.sendAll(Self.badGateway)
            if case .upload = greeting { side.throwAway() }
            return Outcome()
        }
        var (toHost, toClient) = (Flow(), Flow())
        switch greeting {
        case .connected: toClient.put(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
        case .request(let bytes): toHost.put(bytes)
        case .upload(let bytes, let upload):
            toHost.put(bytes + upload.beginning)
            toHost.body = upload.reader
        }
        if case .connected = greeting {} else { toClient.head = AnswerHeads() }
        let isUpload = toHost.body != nil
        toHost.take(client.received)
        let greetingCount = toClient.waitingCount
        var outcome = Outcome()
        while !(toHost.isOver && toClient.isOver) {
            toHost.move(from: side.receive, to: host.send)
            toClient.move(from: host.receive, to: side.send)
            if isUpload, outcome.status == nil { outcome.status = toClient.status }
            // A server may answer, and end, before it has the whole of a body.
            if toClient.isOver || toClient.isBroken
                || toHost.isBroken && !(isUpload && toClient.byteCount > 0)
            {
                break
            }
            // Some servers take the end of one side for the end of both.
            if toHost.isOver, !isUpload { shutdown(host.descriptor, Int32(SHUT_WR)) }
            guard wait(side.descriptor, host.descriptor, toHost, toClient, isUpload: isUpload) else { break }
        }
        if isUpload, toClient.byteCount == 0 {
            side.sendAll(Self.badGateway)
        } else {
            side.end()
        }
        if isUpload, !toHost.isOver { side.throwAway() }
        outcome.byteCount = toClient.byteCount - greetingCount
        return outcome
    }

    private static var badGateway: [UInt8] {
        Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
    }

    /// Until something can move; false when nothing has for too long.
    private static func wait(
        _ client: Int32, _ host: Int32, _ toHost: Flow, _ toClient: Flow, isUpload: Bool
    ) -> Bool {
        var polls = [pollfd(fd: client, events: 0, revents: 0), pollfd(fd: host, events: 0, revents: 0)]
        if toHost.wantsBytes { polls[0].events |= Int16(POLLIN) }
        if isUpload, toHost.isOver { polls[0].events |= Int16(EPOLLRDHUP.rawValue) }
        if toHost.waitingCount > 0, !toHost.isBroken { polls[1].events |= Int16(POLLOUT) }
        if toClient.wantsBytes { polls[1].events |= Int16(POLLIN) }
        if toClient.waitingCount > 0 { polls[0].events |= Int16(POLLOUT) }
        // Nothing is to be done about a host that has gone before the client has taken what it said.
        if polls[1].events == 0 { polls[1].fd = -1 }
        let isLingering = toHost.isOver && !(isUpload && toClient.byteCount == 0)
        let count = poll(&polls, 2, isLingering ? lingerMilliseconds : idleMilliseconds)
        // Who has sent a whole body, and ends, has gone.
        let hasLeft = polls[0].revents & (Int16(POLLERR | POLLHUP) | Int16(EPOLLRDHUP.rawValue)) != 0
        return count > 0 && !hasLeft || count < 0 && errno == EINTR
    }

    /// An open socket on which nobody says anything for so long is given up.
    private static let idleMilliseconds: Int32 = 15 * 60 * 1000
    /// And one whose client has said its last.
    private static let lingerMilliseconds: Int32 = 60 * 1000

    /// One way, of the two.
    private struct Flow {
        /// What is sent of the first, and what waits.
        private var sentCount = 0
        private var bytes: [UInt8] = []
        private var hasEnded = false
        private(set) var isBroken = false
        private(set) var byteCount = 0
        /// Where it is to end; nil where nobody looks.
        var body: BodyReader?
        /// What it begins with, where somebody looks.
        var head: AnswerHeads?
        /// What goes out first.
        private var beginning: [UInt8] = []
        private static let mostBytes = 256 * 1024

        var waitingCount: Int { bytes.count - sentCount }
        var wantsBytes: Bool { !hasEnded && !isBroken && waitingCount < Self.mostBytes }
        var isOver: Bool { hasEnded && waitingCount == 0 }

        /// That of the answer that it begins with.
        var status: Int? {
            let digits = beginning.dropFirst(9).prefix(3)
            guard beginning.starts(with: "HTTP/1.".utf8), digits.count == 3 else { return nil }
            return Int(String(decoding: digits, as: UTF8.self))
        }

        mutating func put(_ more: [UInt8]) {
            if beginning.count < 12 { beginning += more.prefix(12 - beginning.count) }
            bytes += more
        }

        /// Puts what has come, as far as it belongs here.
        mutating func take(_ piece: [UInt8]) {
            if var heads = head.take(), !piece.isEmpty {
                let passed = heads.pass(piece)
                isBroken = isBroken || heads.isTooLong
                if !heads.isOver { head = heads }
                return put(passed)
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

/// The heads of the answers that a server begins with, without what only the larder itself says.
struct AnswerHeads {
    private var waiting: [UInt8] = []
    /// The last of them is through.
    private(set) var isOver = false
    private static let mostBytes = 256 * 1024

    var isTooLong: Bool { waiting.count > Self.mostBytes }

    /// What of it can go on.
    mutating func pass(_ piece: [UInt8]) -> [UInt8] {
        waiting += piece
        var passed: [UInt8] = []
        while !isOver, let end = endOfHead() {
            let lines = waiting[..<end].split(separator: 0x0A, omittingEmptySubsequences: false)
            for line in lines.dropLast() where !Self.isOwn(line) { passed += line + [0x0A] }
            isOver = !Self.isInterim(lines.first ?? [])
            waiting.removeFirst(end)
        }
        guard isOver || !waiting.starts(with: "HTTP/".utf8.prefix(waiting.count)) else { return passed }
        isOver = true
        defer { waiting = [] }
        return passed + waiting
    }

    /// Behind the empty line.
    private func endOfHead() -> Int? {
        var isLineEmpty = false
        for (place, byte) in waiting.enumerated() {
            if byte == 0x0A {
                if isLineEmpty { return place + 1 }
                isLineEmpty = true
            } else if byte != 0x0D {
                isLineEmpty = false
            }
        }
        return nil
    }

    private static func isOwn(_ line: ArraySlice<UInt8>) -> Bool {
        let name = line.prefix { $0 != UInt8(ascii: ":") }.map { $0 | 0x20 }
        return name.count < line.count && name.starts(with: "larder".utf8)
    }

    /// 1xx but for 101, behind which no other comes.
    private static func isInterim(_ line: ArraySlice<UInt8>) -> Bool {
        let status = line.split(separator: 0x20).dropFirst().first ?? []
        return status.first == UInt8(ascii: "1") && !status.elementsEqual("101".utf8)
    }
}

/// A request to speak something else on the connection from here on, such as WebSocket (RFC 9110 §7.8).
struct Upgrade {
    private let url: WebURL
    private let mayReach: ResponseFlags
    private let method: String
    private let head: [UInt8]
    private let options: ProxyOptions

    static func isAsked(for request: Request) -> Bool {
        request.head.asksUpgrade && request.head.body == .none
            && request.fields.elements("Connection").contains { HTTPGrammar.matches($0, "upgrade") }
            // That is HTTP, which is answered without it.
            && request.fields.elements("Upgrade").contains { !HTTPGrammar.matches($0, "h2c") }
    }

    init(_ request: Request, _ url: WebURL, mayReach: ResponseFlags, _ options: ProxyOptions) {
        self.url = url
        self.mayReach = mayReach
        self.options = options
        method = request.method
        var head =
            "\(method) \(url.target) HTTP/1.1\r\nHost: \(url.origin.drop { $0 != ":" }.dropFirst(3))\r\n"
        let (protocols, fields) = (request.fields.combined("Upgrade") ?? "", request.fields)
        for field in fields.withoutConnectionFields.list
        where !["host", "larder-policy"].contains(field.name.lowercased()) {
            head += "\(field.name): \(field.value)\r\n"
        }
        head += "Via: \(ProxyHop.via)\r\nConnection: Upgrade\r\nUpgrade: \(protocols)\r\n\r\n"
        self.head = HTTPGrammar.bytes(of: head)
    }

    func reply(_ start: ContinuousClock.Instant) -> Reply {
        let (log, url, method, head, mayReach) = (options.log, url, method, head, mayReach)
        guard let connect = options.connect else {
            log.noteMiss("UPGRADE", url.href, since: start)
            let text = "\(url.href) is to be spoken to in another way than HTTP, which cannot be held.\n"
            return Reply(
                answer: .text(504, text, fields: [("Larder", "miss"), ("Cache-Control", "no-store")]))
        }
        var reply = Reply(answer: .text(502, ""))
        reply.takeover = { client in
            Relay.start(client, to: url, mayReach: mayReach, by: connect, greeting: .request(head)) {
                outcome in
                log.noteTunnel(method, url.href, outcome.byteCount, since: start)
            }
        }
        return reply
    }
}

/// A request whose body is too long to be kept: it goes to its server while it comes, and so does the answer
/// to its client, whose connection ends with it.
struct PassedRequest {
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
        let fields = ProxyHop.forwarded(request.fields.withoutConnectionFields, method: method)
        for field in fields.list
        where !["host", "larder-policy", "content-length", "expect"].contains(field.name.lowercased()) {
            head += "\(field.name): \(field.value)\r\n"
        }
        self.head = HTTPGrammar.bytes(of: head + "\(framing)\r\nConnection: close\r\n\r\n")
    }

    /// - Parameter changed: called when the server may have done what it was asked.
    func takeover(
        by connect: @escaping Connect, mayReach: ResponseFlags, _ log: PassLog,
        since start: ContinuousClock.Instant, changed: @escaping @Sendable (WebURL) -> Void
    ) -> Takeover {
        let (url, method, greeting) = (url, method, Relay.Greeting.upload(head, upload))
        return { client in
            Relay.start(client, to: url, mayReach: mayReach, by: connect, greeting: greeting) { outcome in
                if (100..<400).contains(outcome.status ?? 0) { changed(url) }
                log.notePassed(method, url.href, outcome, since: start)
            }
        }
    }
}
