internal import CLinux
internal import Glibc
internal import System
internal import TLS

/// One thread's share of the server: its own listeners, its own clients, its own responder.
final class EventLoop {
    private let epoll: Int32
    private let listeners: ListenerSet
    private let stop: StopSignal
    private let mailbox: ReplyMailbox
    private let handler: RequestHandler
    /// Asks servers between two looks at the clients.
    private let loads: (any OwnLoads)?
    private var hasLoads = false
    private let limits: ServerLimits
    private let security: TLSServer?
    private var clients = ClientTable()
    private var generation: UInt32 = 0
    private var now = SystemClock.milliseconds()
    private var stopStart: Int64?
    private var lastLook: Int64 = 0
    private var lastShedding: Int64 = 0
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    init(
        _ listeners: [ListeningSocket], stop: StopSignal, limits: ServerLimits, security: TLSServer? = nil,
        responder: any Responder
    ) throws(ServerError) {
        self.security = security
        let mailbox = try ReplyMailbox()
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw ServerError("create an event queue", errno) }
        self.listeners = ListenerSet(listeners, epoll: epoll)
        self.stop = stop
        self.mailbox = mailbox
        self.limits = limits
        loads = responder.loads
        handler = RequestHandler(responder, mailbox: mailbox, limits: limits, now: now)
        guard self.listeners.watch(), watch(stop.descriptor), watch(mailbox.descriptor),
            loads.map({ watch($0.descriptor) }) ?? true
        else {
            throw ServerError("watch a socket", errno)
        }
    }

    deinit {
        close(epoll)
    }

    /// Serves until the stop signal, then until what is under way is sent.
    func run() {
        Self.ignoreBrokenPipes()
        defer { loads?.stop() }
        while !isFinished {
            let count = epoll_wait(epoll, &events, Int32(events.count), mailbox.mayRest() ? patience : 0)
            mailbox.attend()
            now = SystemClock.milliseconds()
            handler.now = now
            guard count >= 0 else {
                if errno == EINTR { continue }
                return
            }
            for index in 0..<Int(count) { handle(events[index]) }
            ask()
            deliver()
            if let stopStart { closeIdleClients(since: stopStart) }
            if now - lastLook >= limits.lookInterval { look() }
        }
    }

    /// Has servers asked, and what they answered sent.
    private func ask() {
        guard let loads, hasLoads || loads.patience == .zero else { return }
        loads.turn(isReadable: hasLoads)
        hasLoads = false
    }

    /// In milliseconds.
    private var patience: Int32 {
        let interval = stopStart == nil ? limits.lookInterval : Self.stopInterval
        guard let loads else { return Int32(interval) }
        return Int32(min(Double(interval), (loads.patience / .milliseconds(1)).rounded(.up)))
    }

    /// `sendfile` cannot be told not to signal.
    private static func ignoreBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private var isFinished: Bool {
        guard let stopStart else { return false }
        return now >= stopStart + limits.stopTime || clients.all.allSatisfy(\.isLingering)
    }

    /// How often a stop looks whether it is over.
    private static let stopInterval: Int64 = 10

    private func handle(_ event: epoll_event) {
        var event = event
        let token = larder_epoll_token(&event)
        if let client = clients[token: token] {
            serve(client, larder_epoll_flags(&event))
            return
        }
        switch Int32(truncatingIfNeeded: token) {
        case stop.descriptor: beginStop()
        case loads?.descriptor: hasLoads = true
        case let descriptor where listeners.areWatched && listeners.contains(descriptor): accept(descriptor)
        default: break
        }
    }

    /// Takes clients who have connected: a few at a time, so that those who are here already get their turn.
    ///
    /// - Returns: whether more may wait.
    @discardableResult
    private func accept(_ listener: Int32) -> Bool {
        for _ in 0..<64 {
            let descriptor = larder_accept_nonblocking(listener)
            guard descriptor >= 0 else {
                // The client stays in the line, and would be announced again and again.
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { listeners.ignore() }
                return false
            }
            if clients.count >= limits.connectionsPerThread { shed() }
            guard clients.count < limits.connectionsPerThread + limits.refusedConnections else {
                close(descriptor)
                continue
            }
            var on: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            generation &+= 1
            let client = ClientConnection(descriptor, generation: generation, now: now)
            if let security, (try? client.secure(security)) == nil { continue }
            clients.insert(client)
            client.interest = EPOLLIN.rawValue
            guard larder_epoll_add(epoll, descriptor, client.interest, client.token) == 0 else {
                drop(client)
                continue
            }
            if clients.count > limits.connectionsPerThread {
                // Nothing can be said before hands are shaken.
                guard security == nil else {
                    drop(client)
                    continue
                }
                handler.refuse(client, 503)
                settle(client)
            }
        }
        return true
    }

    private func serve(_ client: ClientConnection, _ flags: UInt32) {
        if client.isLingering {
            // To the end of what it sent, even when that end is known already.
            if !handler.throwAway(from: client) { drop(client) }
            return
        }
        if flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return drop(client) }
        if flags & EPOLLRDHUP.rawValue != 0, client.interest & EPOLLRDHUP.rawValue != 0 {
            return drop(client)
        }
        if flags & EPOLLOUT.rawValue != 0 {
            guard client.flush(now: now, limits) else { return drop(client) }
            // What came in while the client did not take its answers.
            guard client.isBlocked || handler.resume(client) else { return drop(client) }
        }
        if flags & EPOLLIN.rawValue != 0, !client.isBlocked, client.awaited == nil {
            guard handler.receive(from: client) else { return drop(client) }
            return settle(client)
        }
        settle(client, isImpatient: true)
    }

    /// Sends what was queued, and sets what is to be waited for.
    ///
    /// - Parameter isImpatient: something came of a client that waits for its answer. Of most clients nothing
    ///   does, and so they are looked for as before until then.
    private func settle(_ client: ClientConnection, isImpatient: Bool = false) {
        if !client.queue.isEmpty, !client.isBlocked, !client.flush(now: now, limits) { return drop(client) }
        if client.isCut, client.queue.isEmpty { return drop(client) }
        if let takeover = client.takeover, client.queue.isEmpty {
            handOver(client, takeover)
            return
        }
        if client.queue.isEmpty, client.isClosing || handler.isStopping && client.isIdle {
            guard client.linger(now: now) else { return drop(client) }
        } else {
            client.patience.wait(for: client.waiting, now: now)
        }
        // Who does not take answers is not read from either.
        let wanted =
            client.isBlocked ? EPOLLOUT.rawValue : client.awaited == nil ? EPOLLIN.rawValue : awaiting(client)
        guard client.interest != wanted,
            isImpatient || client.awaited == nil || client.isBlocked || client.interest != EPOLLIN.rawValue
        else { return }
        client.interest = wanted
        if larder_epoll_change(epoll, client.descriptor, wanted, client.token) != 0 { drop(client) }
    }

    /// What to look for meanwhile. A proxy's client that has ended its side has gone, as a rule, and servers
    /// need not go on for it.
    private func awaiting(_ client: ClientConnection) -> UInt32 {
        handler.isProxy || client.stream != nil ? EPOLLRDHUP.rawValue : 0
    }

    private func handOver(_ client: ClientConnection, _ takeover: Takeover) {
        clients.remove(client)
        epoll_ctl(epoll, EPOLL_CTL_DEL, client.descriptor, nil)
        takeover(client.handOver())
        watchListeners()
    }

    private func deliver() {
        for (token, delivery) in mailbox.takeAll() {
            guard let client = clients[token: token] else {
                if case .start(let stream, _, _) = delivery { stream.leave() }
                continue
            }
            let isOfUse =
                switch delivery {
                case .reply(let reply): handler.deliver(reply, to: client)
                case .interim(let head): handler.deliver(interim: head, to: client)
                case .start(let stream, let head, let closes):
                    handler.start(stream, head, closes: closes, to: client)
                case .part(let bytes, let byteCount): handler.deliver(part: bytes, byteCount, to: client)
                case .end(let bytes, let isWhole): handler.end(bytes, isWhole: isWhole, to: client)
                }
            if isOfUse { settle(client) } else { drop(client) }
        }
    }

    private func beginStop() {
        guard stopStart == nil else { return }
        stopStart = now
        handler.isStopping = true
        epoll_ctl(epoll, EPOLL_CTL_DEL, stop.descriptor, nil)
        // Clients in the kernel's accept queue have connected, and their requests are on the way. The number of
        // rounds is limited, since further clients may connect all the time.
        for listener in listeners.descriptors {
            var rounds = 0
            while rounds < 64, accept(listener) { rounds += 1 }
        }
        listeners.close()
        for client in clients.all where client.isIdle && !client.isLingering {
            // A request that is here already is answered.
            guard handler.receive(from: client) else {
                drop(client)
                continue
            }
            if !client.isIdle { settle(client) }
        }
    }

    /// During a stop: closes the connections of clients that send no more requests.
    private func closeIdleClients(since stopStart: Int64) {
        for client in clients.all where client.isIdle && !client.isLingering {
            let isNew = !client.hasSent || client.isShakingHands
            let wait = isNew ? limits.stopConnectTime : limits.stopIdleTime
            if now - stopStart >= wait { drop(client) }
        }
    }

    /// Once in a while.
    private func look() {
        lastLook = now
        watchListeners()
        for client in clients.all where client.patience.isExhausted(now: now, limits) {
            switch client.patience.waiting {
            // It could not be told why.
            case .head where client.isShakingHands: drop(client)
            case .head, .body:
                handler.refuse(client, 408)
                settle(client)
            case .request, .answer, .taking, .end:
                drop(client)
            }
        }
    }

    /// Makes room where clients have asked for nothing for a while.
    private func shed() {
        guard now - lastShedding >= limits.lookInterval else { return }
        lastShedding = now
        for client in clients.all
        where client.isIdle && client.patience.isExhausted(now: now, limits, isCrowded: true) {
            drop(client)
        }
    }

    /// The descriptor closes with the connection's last reference, which takes it out of the queue too.
    private func drop(_ client: ClientConnection) {
        clients.remove(client)
        client.stream?.leave()
        watchListeners()
    }

    /// Takes new clients again, after there was no descriptor for another one. What fails is tried again at
    /// the next look.
    private func watchListeners() {
        guard !listeners.areWatched, stopStart == nil else { return }
        _ = listeners.watch()
    }

    private func watch(_ descriptor: Int32) -> Bool {
        larder_epoll_add(epoll, descriptor, EPOLLIN.rawValue, UInt64(descriptor)) == 0
    }
}

/// The clients of one event loop, by their descriptors.
struct ClientTable {
    private var places: [ClientConnection?] = []
    private(set) var count = 0

    subscript(descriptor: Int32) -> ClientConnection? {
        let index = Int(descriptor)
        return places.indices.contains(index) ? places[index] : nil
    }

    /// The client that a token was made of, unless it has gone.
    subscript(token token: UInt64) -> ClientConnection? {
        let client = self[Int32(truncatingIfNeeded: token)]
        return client?.token == token ? client : nil
    }

    var all: [ClientConnection] { places.compactMap(\.self) }

    mutating func insert(_ client: ClientConnection) {
        let index = Int(client.descriptor)
        // Descriptors are the smallest free numbers, so the table is no larger than the most clients there
        // ever were.
        if index >= places.count { places += Array(repeating: nil, count: index + 1 - places.count) }
        if places[index] == nil { count += 1 }
        places[index] = client
    }

    mutating func remove(_ client: ClientConnection) {
        guard self[client.descriptor] === client else { return }
        places[Int(client.descriptor)] = nil
        count -= 1
    }
}

/// How long one client is waited for. A pure value: what it does goes in, with the time in milliseconds.
struct Patience {
    enum Waiting: Equatable {
        /// For it to ask for something.
        case request
        /// For the rest of a head.
        case head
        /// For the rest of a body.
        case body
        /// For our own answer, which has its own patience.
        case answer
        /// For it to take its answers.
        case taking
        /// For its end, which it was told.
        case end
    }

    private(set) var waiting = Waiting.request
    private var start: Int64
    private var lastProgress: Int64
    private var byteCount = 0

    init(now: Int64) {
        start = now
        lastProgress = now
    }

    /// Goes on with what it waits for, or begins with something else.
    mutating func wait(for waiting: Waiting, now: Int64) {
        guard self.waiting != waiting else { return }
        self.waiting = waiting
        (start, lastProgress, byteCount) = (now, now, 0)
    }

    /// The wait for the same begins anew.
    mutating func restart(now: Int64) {
        (start, lastProgress, byteCount) = (now, now, 0)
    }

    mutating func progressed(by count: Int, now: Int64) {
        guard count > 0 else { return }
        byteCount += count
        lastProgress = now
    }

    func isExhausted(now: Int64, _ limits: ServerLimits, isCrowded: Bool = false) -> Bool {
        switch waiting {
        case .request: now - start > (isCrowded ? limits.crowdedIdleTime : limits.idleTime)
        case .head: now - start > limits.headTime
        case .answer: false
        case .end: now - start > limits.lingerTime
        case .body, .taking:
            // Standing still, or so slow that it is as good as that.
            now - lastProgress > limits.stallTime
                || now - start > limits.stallTime + Int64(byteCount) * 1000 / max(1, limits.leastRate)
        }
    }
}
