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

/// Connects to the host of an URL, by TLS when its scheme is https; waits until that stands. Nil when it cannot be had.
///
/// - Parameter mayReach: how near to this machine the host may be.
package typealias Connect = @Sendable (_ url: WebURL, _ mayReach: ResponseFlags) -> (any ByteChannel)?

/// Leads a client's bytes to a host and back, as they are, on a thread of its own: what nobody here looks into.
enum Relay {
    /// What goes out first.
    enum Greeting: Sendable {
        /// To the client: it is connected.
        case connected
        /// To the host: the client's request.
        case request([UInt8])
    }

    /// - Parameter done: told how many bytes the host sent.
    static func start(
        _ client: HandedOver, to url: WebURL, mayReach: ResponseFlags = .fromThisMachine,
        by connect: @escaping Connect, greeting: Greeting,
        done: @escaping @Sendable (_ byteCount: Int) -> Void
    ) {
        do throws(SystemError) {
            try NamedThread.start("larder-relay") {
                done(run(client, connect(url, mayReach), greeting))
            }
        } catch {
            close(client.descriptor)
            done(0)
        }
    }

    private static func run(_ client: HandedOver, _ host: (any ByteChannel)?, _ greeting: Greeting) -> Int {
        defer { close(client.descriptor) }
        let side = ClientSide(client)
        guard let host else {
            side.sendAll(Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
            return 0
        }
        var (toHost, toClient) = (Flow(), Flow())
        switch greeting {
        case .connected: toClient.bytes = Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)
        case .request(let bytes): toHost.bytes = bytes
        }
        toHost.bytes += client.received
        let greetingCount = toClient.bytes.count
        while !(toHost.isOver && toClient.isOver) {
            toHost.move(from: side.receive, to: host.send)
            toClient.move(from: host.receive, to: side.send)
            if toHost.isBroken || toClient.isBroken || toClient.isOver { break }
            if toHost.isOver { shutdown(host.descriptor, Int32(SHUT_WR)) }
            guard wait(side.descriptor, host.descriptor, toHost, toClient) else { break }
        }
        side.end()
        return toClient.byteCount - greetingCount
    }

    /// Until something can move; false when nothing has for too long.
    private static func wait(_ client: Int32, _ host: Int32, _ toHost: Flow, _ toClient: Flow) -> Bool {
        var polls = [pollfd(fd: client, events: 0, revents: 0), pollfd(fd: host, events: 0, revents: 0)]
        if toHost.wantsBytes { polls[0].events |= Int16(POLLIN) }
        if !toHost.bytes.isEmpty { polls[1].events |= Int16(POLLOUT) }
        if toClient.wantsBytes { polls[1].events |= Int16(POLLIN) }
        if !toClient.bytes.isEmpty { polls[0].events |= Int16(POLLOUT) }
        // Nothing is to be done about a host that has gone before the client has taken what it said.
        if polls[1].events == 0 { polls[1].fd = -1 }
        let count = poll(&polls, 2, toHost.isOver ? lingerMilliseconds : idleMilliseconds)
        let hasLeft = polls[0].revents & Int16(POLLERR | POLLHUP) != 0
        return count > 0 && !hasLeft || count < 0 && errno == EINTR
    }

    /// An open socket on which nobody says anything for so long is given up.
    private static let idleMilliseconds: Int32 = 15 * 60 * 1000
    /// And one whose client has said its last.
    private static let lingerMilliseconds: Int32 = 60 * 1000

    /// One way, of the two.
    private struct Flow {
        var bytes: [UInt8] = []
        var hasEnded = false
        var isBroken = false
        var byteCount = 0
        private static let mostBytes = 256 * 1024

        var wantsBytes: Bool { !hasEnded && bytes.count < Self.mostBytes }
        var isOver: Bool { hasEnded && bytes.isEmpty }

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
                        bytes += piece
                        moved = true
                    } else if count == 0 {
                        hasEnded = true
                    } else if errno != EAGAIN, errno != EINTR {
                        isBroken = true
                    }
                }
                if !bytes.isEmpty {
                    let count = bytes.withUnsafeBytes(send)
                    if count > 0 {
                        byteCount += count
                        bytes.removeFirst(count)
                        moved = true
                    } else if errno != EAGAIN, errno != EINTR {
                        isBroken = true
                    }
                }
                if !moved || isBroken { return }
            }
        }
    }

    /// The client's socket, with or without TLS.
    private final class ClientSide {
        let descriptor: Int32
        private let session: TLSSession?
        private let piece = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)

        init(_ client: HandedOver) {
            descriptor = client.descriptor
            session = client.session
        }

        deinit { piece.deallocate() }

        func send(_ bytes: UnsafeRawBufferPointer) -> Int {
            session?.write(bytes) ?? Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }

        func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            guard let session else { return recv(descriptor, buffer.baseAddress, buffer.count, 0) }
            while true {
                switch session.read(into: buffer.assumingMemoryBound(to: UInt8.self)) {
                case .bytes(let count): return count
                case .ended: return 0
                case .nothing:
                    let count = recv(descriptor, piece.baseAddress, piece.count, 0)
                    guard count > 0 else { return count }
                    session.take(UnsafeBufferPointer(rebasing: piece[..<count]))
                }
            }
        }

        func sendAll(_ bytes: [UInt8]) {
            _ = bytes.withUnsafeBytes(send)
            end()
        }

        func end() {
            session?.end()
            shutdown(descriptor, Int32(SHUT_WR))
        }
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
        var head = "\(method) \(url.target) HTTP/1.1\r\nHost: \(url.origin.drop { $0 != ":" }.dropFirst(3))\r\n"
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
            return Reply(answer: .text(504, text, fields: [("Larder", "miss"), ("Cache-Control", "no-store")]))
        }
        var reply = Reply(answer: .text(502, ""))
        reply.takeover = { client in
            Relay.start(client, to: url, mayReach: mayReach, by: connect, greeting: .request(head)) { byteCount in
                log.noteTunnel(method, url.href, byteCount, since: start)
            }
        }
        return reply
    }
}
