internal import CLinux
internal import Glibc

/// One thread's share of the server: its own listeners, its own clients, its own responder.
final class EventLoop {
    private let epoll: Int32
    private let listeners: ListenerSet
    private let stop: StopSignal
    private let responder: any Responder
    private var clients: [Int32: ClientConnection] = [:]
    private var generation: UInt32 = 0
    private var now = CoarseClock.seconds()
    private var stopDeadline: Int64?
    private var lastSweep: Int64 = 0
    private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: ServerLimits.readSize)
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    init(_ listeners: [ListeningSocket], stop: StopSignal, responder: any Responder) throws(ServerError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw ServerError("create an event queue", errno) }
        self.listeners = ListenerSet(listeners, epoll: epoll)
        self.stop = stop
        self.responder = responder
        guard self.listeners.watch(),
            larder_epoll_add(epoll, stop.descriptor, EPOLLIN.rawValue, UInt64(stop.descriptor)) == 0
        else { throw ServerError("watch a socket", errno) }
    }

    deinit {
        close(epoll)
        buffer.deallocate()
    }

    /// Serves until the stop signal, then until what is under way is sent.
    func run() {
        while !isFinished {
            let count = epoll_wait(epoll, &events, Int32(events.count), 1000)
            now = CoarseClock.seconds()
            guard count >= 0 else {
                if errno == EINTR { continue }
                return
            }
            for index in 0..<Int(count) { handle(events[index]) }
            if now > lastSweep { sweep() }
        }
    }

    private var isFinished: Bool {
        guard let stopDeadline else { return false }
        return now >= stopDeadline || clients.values.allSatisfy(\.isLingering)
    }

    private func handle(_ event: epoll_event) {
        var event = event
        let token = larder_epoll_token(&event)
        let flags = larder_epoll_flags(&event)
        let descriptor = Int32(truncatingIfNeeded: token & 0xffff_ffff)
        if descriptor == stop.descriptor {
            beginStop()
        } else if let client = clients[descriptor] {
            guard client.generation == UInt32(truncatingIfNeeded: token >> 32) else { return }
            serve(client, flags)
        } else if listeners.areWatched, listeners.contains(descriptor) {
            accept(descriptor)
        }
    }

    private func accept(_ listener: Int32) {
        // A few at a time, so that clients who are here already get their turn.
        for _ in 0..<64 {
            let descriptor = larder_accept_nonblocking(listener)
            guard descriptor >= 0 else {
                // The client stays in the line, and would be announced again and again.
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { listeners.ignore() }
                return
            }
            guard clients.count < ServerLimits.connectionsPerThread else {
                close(descriptor)
                continue
            }
            var on: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            generation &+= 1
            let client = ClientConnection(descriptor, generation: generation, now: now)
            clients[descriptor] = client
            if larder_epoll_add(epoll, descriptor, EPOLLIN.rawValue, token(of: client)) != 0 { drop(client) }
        }
    }

    private func serve(_ client: ClientConnection, _ flags: UInt32) {
        if client.isLingering {
            // To the end of what it sent, even when that end is known already.
            if !client.discard(by: buffer) { drop(client) }
            return
        }
        if flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return drop(client) }
        client.lastActive = now
        let wasBlocked = client.isBlocked
        if flags & EPOLLOUT.rawValue != 0 {
            guard client.flush() else { return drop(client) }
            // What came in while the client did not take its answers.
            guard client.isBlocked || advance(client) else { return drop(client) }
        }
        if flags & EPOLLIN.rawValue != 0, !client.isBlocked {
            guard receive(client) else { return drop(client) }
        }
        if client.isClosing, !client.hasUnsent, !client.linger() { return drop(client) }
        guard client.isBlocked != wasBlocked else { return }
        // Who does not take answers is not read from either.
        let wanted = client.isBlocked ? EPOLLOUT.rawValue : EPOLLIN.rawValue
        if larder_epoll_change(epoll, client.descriptor, wanted, token(of: client)) != 0 { drop(client) }
    }

    /// Reads once and answers what is complete. False when the connection is to be dropped.
    private func receive(_ client: ClientConnection) -> Bool {
        let count = recv(client.descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<count])
        guard client.received.isEmpty else {
            client.received.append(contentsOf: bytes)
            return advance(client)
        }
        guard let used = answer(bytes, to: client) else { return false }
        client.received.append(contentsOf: bytes[used...])
        return true
    }

    /// Answers what is complete of what was kept. False when the connection is to be dropped.
    private func advance(_ client: ClientConnection) -> Bool {
        guard !client.received.isEmpty else { return true }
        let received = client.received
        guard let used = received.withUnsafeBufferPointer({ answer($0, to: client) }) else { return false }
        client.received.removeFirst(used)
        return true
    }

    /// Answers the requests in `bytes` and says how many bytes they took; nil when the connection is to be dropped.
    private func answer(_ bytes: UnsafeBufferPointer<UInt8>, to client: ClientConnection) -> Int? {
        var used = 0
        while used < bytes.count, !client.isBlocked, !client.isClosing {
            let skipped = min(client.bodyToSkip, bytes.count - used)
            client.bodyToSkip -= skipped
            used += skipped
            guard used < bytes.count else { break }
            let rest = UnsafeBufferPointer(rebasing: bytes[used...])
            switch RequestHead.parse(rest) {
            case .incomplete:
                return used
            case .refused(let status):
                client.isClosing = true
                let refusal = Reply(answer: .text(status, "The request was refused.\n"))
                return client.send(refusal, withBody: true) ? bytes.count : nil
            case .head(let head):
                used += head.end
                client.bodyToSkip = head.bodyCount
                client.isClosing = !head.isKeptAlive || stopDeadline != nil
                let reply = responder.respond(to: Request(head: head, bytes: rest))
                guard client.send(reply, withBody: head.method != .head) else { return nil }
            }
        }
        return used
    }

    private func beginStop() {
        guard stopDeadline == nil else { return }
        stopDeadline = now + ServerLimits.stopSeconds
        listeners.ignore()
        epoll_ctl(epoll, EPOLL_CTL_DEL, stop.descriptor, nil)
        for client in Array(clients.values) {
            client.isClosing = true
            if !client.hasUnsent { drop(client) }
        }
    }

    /// Once a second.
    private func sweep() {
        lastSweep = now
        watchListeners()
        for client in Array(clients.values) {
            let limit = client.isLingering ? ServerLimits.lingerSeconds : ServerLimits.idleSeconds
            if now - client.lastActive > limit { drop(client) }
        }
    }

    /// The descriptor closes with the connection's last reference, which takes it out of the queue too.
    private func drop(_ client: ClientConnection) {
        clients[client.descriptor] = nil
        watchListeners()
    }

    /// Takes new clients again, after there was no descriptor for another one. What fails is tried again within a second.
    private func watchListeners() {
        guard !listeners.areWatched, stopDeadline == nil else { return }
        _ = listeners.watch()
    }

    private func token(of client: ClientConnection) -> UInt64 {
        UInt64(client.generation) << 32 | UInt64(UInt32(bitPattern: client.descriptor))
    }
}
