internal import CLinux
internal import Glibc
internal import System
internal import TLS

/// The event loop of one server thread, with its own listeners, clients and responder.
///
/// All of it belongs to the thread that calls `run`; other threads reach it only through the mailbox and the
/// stop signal. After the stop signal, the loop answers the requests that were already sent. It ends when all
/// connections are lingering or closed, or when `ServerLimits.stopTime` is over.
final class EventLoop {
    private let epoll: Int32
    private let listeners: ListenerSet
    private let stop: StopSignal
    private let mailbox: ReplyMailbox
    private let handler: RequestHandler
    /// The loader that sends requests to origins on this thread.
    private let loads: (any SideWork)?
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
        loads = responder.sideWork
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

    /// Serves clients until the stop signal is given and the answers in progress are sent.
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

    /// Gives the loader its turn, in which it sends requests and handles responses.
    private func ask() {
        guard let loads, hasLoads || loads.patience == .zero else { return }
        loads.turn(isReadable: hasLoads)
        hasLoads = false
    }

    /// The maximum time to wait for events, in milliseconds.
    private var patience: Int32 {
        let interval = stopStart == nil ? limits.lookInterval : Self.stopInterval
        guard let loads else { return Int32(interval) }
        return Int32(min(Double(interval), (loads.patience / .milliseconds(1)).rounded(.up)))
    }

    /// Blocks SIGPIPE for the thread, because `sendfile` has no flag against it.
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

    /// The interval, in milliseconds, at which a stop checks whether it is complete.
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

    /// Accepts clients. The number is limited, so that connected clients get their turn.
    ///
    /// - Returns: Whether more clients may be waiting.
    @discardableResult
    private func accept(_ listener: Int32) -> Bool {
        for _ in 0..<64 {
            let descriptor = larder_accept_nonblocking(listener)
            guard descriptor >= 0 else {
                // The client stays in the accept queue, and would cause an event again and again.
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
                // An answer cannot be sent before the TLS handshake.
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
            // Reads to the end, even if that end was already reported.
            if !handler.throwAway(from: client) { drop(client) }
            return
        }
        if flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return drop(client) }
        if flags & EPOLLRDHUP.rawValue != 0, client.interest & EPOLLRDHUP.rawValue != 0 {
            return drop(client)
        }
        if flags & EPOLLOUT.rawValue != 0 {
            guard client.flush(now: now, limits) else { return drop(client) }
            // Answers requests that were received while the client was blocked.
            guard client.isBlocked || handler.resume(client) else { return drop(client) }
        }
        if flags & EPOLLIN.rawValue != 0, !client.isBlocked, client.awaited == nil {
            guard handler.receive(from: client) else { return drop(client) }
            return settle(client)
        }
        settle(client, isImpatient: true)
    }

    /// Sends the queue, and registers the events that the client waits for next.
    ///
    /// - Parameter isImpatient: Whether an event arrived from a client whose reply is pending. Such events
    ///   are rare, so that the registration stays unchanged until one arrives; this saves system calls.
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
        // A client that does not receive its answers is not read from.
        let wanted =
            client.isBlocked ? EPOLLOUT.rawValue : client.awaited == nil ? EPOLLIN.rawValue : awaiting(client)
        guard client.interest != wanted,
            isImpatient || client.awaited == nil || client.isBlocked || client.interest != EPOLLIN.rawValue
        else { return }
        client.interest = wanted
        if larder_epoll_change(epoll, client.descriptor, wanted, client.token) != 0 { drop(client) }
    }

    /// The events to watch while a reply is pending. A proxy's client that has ended its side has usually
    /// gone, so that its request to the origin can be ended too.
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
        // Clients in the kernel's accept queue have connected, and their requests are on the way. The number
        // of rounds is limited, since further clients may connect all the time.
        for listener in listeners.descriptors {
            var rounds = 0
            while rounds < 64, accept(listener) { rounds += 1 }
        }
        listeners.close()
        for client in clients.all where client.isIdle && !client.isLingering {
            // Answers a request that has already been received.
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

    /// Applies the time limits. Runs at most once per `ServerLimits.lookInterval`.
    private func look() {
        lastLook = now
        watchListeners()
        for client in clients.all where client.patience.isExhausted(now: now, limits) {
            switch client.patience.waiting {
            // An answer cannot be sent before the TLS handshake.
            case .head where client.isShakingHands: drop(client)
            case .head, .body:
                handler.refuse(client, 408)
                settle(client)
            case .request, .answer, .taking, .end:
                drop(client)
            }
        }
    }

    /// Disconnects clients that have been idle for longer than `ServerLimits.crowdedIdleTime`.
    private func shed() {
        guard now - lastShedding >= limits.lookInterval else { return }
        lastShedding = now
        for client in clients.all
        where client.isIdle && client.patience.isExhausted(now: now, limits, isCrowded: true) {
            drop(client)
        }
    }

    /// Removes a client. The descriptor closes with the last reference, which also removes it from epoll.
    private func drop(_ client: ClientConnection) {
        clients.remove(client)
        client.stream?.leave()
        watchListeners()
    }

    /// Watches the listeners again, if that was stopped for lack of descriptors. Failures are retried at the
    /// next look.
    private func watchListeners() {
        guard !listeners.areWatched, stopStart == nil else { return }
        _ = listeners.watch()
    }

    private func watch(_ descriptor: Int32) -> Bool {
        larder_epoll_add(epoll, descriptor, EPOLLIN.rawValue, UInt64(descriptor)) == 0
    }
}

/// The clients of one event loop, indexed by their descriptors.
struct ClientTable {
    private var places: [ClientConnection?] = []
    private(set) var count = 0

    subscript(descriptor: Int32) -> ClientConnection? {
        let index = Int(descriptor)
        return places.indices.contains(index) ? places[index] : nil
    }

    /// The client with this token; nil if it has gone.
    subscript(token token: UInt64) -> ClientConnection? {
        let client = self[Int32(truncatingIfNeeded: token)]
        return client?.token == token ? client : nil
    }

    var all: [ClientConnection] { places.compactMap(\.self) }

    mutating func insert(_ client: ClientConnection) {
        let index = Int(client.descriptor)
        // The kernel gives out the smallest free descriptor, so the table is no larger than the maximum
        // number of clients so far.
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

/// The time limits of one client. A pure value: events and the time in milliseconds go in.
struct Patience {
    /// The event that a client's connection waits for.
    enum Waiting: Equatable {
        /// For the client's next request.
        case request
        /// For the rest of a request head.
        case head
        /// For the rest of a request body.
        case body
        /// For the answer of this server, which has its own time limits.
        case answer
        /// For the client to receive its answers.
        case taking
        /// For the client to close the connection that this side has ended.
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

    /// Sets what is waited for. The time starts again only if that changes.
    mutating func wait(for waiting: Waiting, now: Int64) {
        guard self.waiting != waiting else { return }
        self.waiting = waiting
        (start, lastProgress, byteCount) = (now, now, 0)
    }

    /// Starts the time of the same wait again.
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
            // No progress, or an average rate below the minimum.
            now - lastProgress > limits.stallTime
                || now - start > limits.stallTime + Int64(byteCount) * 1000 / max(1, limits.leastRate)
        }
    }
}
