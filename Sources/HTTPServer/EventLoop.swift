internal import CLinux
internal import Glibc
internal import System
internal import TLS

/// The event loop of one server thread, with its own listeners, clients and responder.
///
/// One turn of the loop: wait in `epoll_wait`; read from the clients that have sent something and answer their
/// complete requests; let the side work (a proxy's or mirror's own requests) make progress; deliver the
/// replies that other threads put into the mailbox; check the time limits. `RequestHandler` parses requests
/// and queues answers; this class owns the connections and registers the events that each of them needs.
///
/// All of it belongs to the thread that calls `run`; other threads reach it only through the mailbox and the
/// stop signal. After the stop signal, the loop answers the requests that were already sent. It ends when all
/// connections are lingering or closed, or when `ServerLimits.stopTimeoutMilliseconds` is over.
final class EventLoop {
    private let epoll: Int32
    private let listeners: ListenerSet
    private let stop: StopSignal
    private let mailbox: ReplyMailbox
    private let handler: RequestHandler
    /// The work that shares this thread, such as sending requests to origins.
    private let sideWork: (any SideWork)?
    private var isSideWorkReadable = false
    private let limits: ServerLimits
    private let security: TLSServer?
    private var clients = ClientTable()
    /// The number of the last accepted connection. It tells connections apart that got the same descriptor.
    private var generation: UInt32 = 0
    /// The time in milliseconds, read once per turn.
    private var now = SystemClock.milliseconds()
    /// When the stop signal was received; nil while the server runs.
    private var stopStart: Int64?
    private var lastTimeoutCheck: Int64 = 0
    private var lastIdleDrop: Int64 = 0
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
        sideWork = responder.sideWork
        handler = RequestHandler(responder, mailbox: mailbox, limits: limits, now: now)
        guard self.listeners.startWatching(), watchForReading(stop.descriptor),
            watchForReading(mailbox.descriptor),
            sideWork.map({ watchForReading($0.descriptor) }) ?? true
        else {
            throw ServerError("watch a socket", errno)
        }
    }

    deinit {
        close(epoll)
    }

    /// Serves clients until the stop signal is given and the answers in progress are sent.
    func run() {
        Self.blockSIGPIPE()
        defer { sideWork?.stop() }
        while !isFinished {
            let count = epoll_wait(
                epoll, &events, Int32(events.count), mailbox.prepareToSleep() ? waitMilliseconds : 0)
            mailbox.markRunning()
            now = SystemClock.milliseconds()
            handler.now = now
            guard count >= 0 else {
                if errno == EINTR { continue }
                return
            }
            for index in 0..<Int(count) { dispatch(events[index]) }
            runSideWork()
            deliverReplies()
            if let stopStart { closeIdleClients(since: stopStart) }
            if now - lastTimeoutCheck >= limits.timeoutCheckIntervalMilliseconds { enforceTimeouts() }
        }
    }

    /// Gives the side work its turn if its descriptor is readable or one of its timers is due.
    private func runSideWork() {
        guard let sideWork, isSideWorkReadable || sideWork.timeUntilDue == .zero else { return }
        sideWork.turn(isReadable: isSideWorkReadable)
        isSideWorkReadable = false
    }

    /// The maximum time to wait for events.
    private var waitMilliseconds: Int32 {
        let interval =
            stopStart == nil ? limits.timeoutCheckIntervalMilliseconds : Self.stopCheckIntervalMilliseconds
        guard let sideWork else { return Int32(interval) }
        return Int32(min(Double(interval), (sideWork.timeUntilDue / .milliseconds(1)).rounded(.up)))
    }

    /// Blocks SIGPIPE for the thread, because `sendfile` has no flag against it.
    private static func blockSIGPIPE() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Whether a stop is complete, or has taken as long as it may.
    private var isFinished: Bool {
        guard let stopStart else { return false }
        return now >= stopStart + limits.stopTimeoutMilliseconds || clients.all.allSatisfy(\.isLingering)
    }

    /// The interval, in milliseconds, at which a stop checks whether it is complete.
    private static let stopCheckIntervalMilliseconds: Int64 = 10

    /// Finds the connection or descriptor that an event is for. Events of a connection that was dropped earlier
    /// in this turn have an outdated generation in their token, and are ignored.
    private func dispatch(_ event: epoll_event) {
        var event = event
        let token = larder_epoll_token(&event)
        if let client = clients[token: token] {
            handleEvents(client, larder_epoll_flags(&event))
            return
        }
        switch Int32(truncatingIfNeeded: token) {
        case stop.descriptor: beginStopping()
        case sideWork?.descriptor: isSideWorkReadable = true
        case let descriptor where listeners.areWatched && listeners.contains(descriptor): accept(descriptor)
        default: break
        }
    }

    /// Accepts clients. The number per call is limited, so that connected clients get their turn.
    ///
    /// - Returns: Whether more clients may be waiting.
    @discardableResult
    private func accept(_ listener: Int32) -> Bool {
        for _ in 0..<64 {
            let descriptor = larder_accept_nonblocking(listener)
            guard descriptor >= 0 else {
                // Out of descriptors or memory: the client stays in the accept queue, and the loop would spin,
                // because epoll reports the listener as readable each time. The next closed connection or
                // time check starts watching again.
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { listeners.stopWatching() }
                return false
            }
            if clients.count >= limits.maxConnectionsPerThread { dropIdleClients() }
            guard clients.count < limits.maxConnectionsPerThread + limits.maxRefusedConnections else {
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
            if clients.count > limits.maxConnectionsPerThread {
                // An answer cannot be sent before the TLS handshake.
                guard security == nil else {
                    drop(client)
                    continue
                }
                handler.refuse(client, 503)
                finishTurn(of: client)
            }
        }
        return true
    }

    /// Sends, reads and answers, as far as the client's events allow.
    private func handleEvents(_ client: ClientConnection, _ flags: UInt32) {
        if client.isLingering {
            // Reads to the end, even if that end was already reported.
            if !handler.discardInput(from: client) { drop(client) }
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
        if flags & EPOLLIN.rawValue != 0, !client.isBlocked, client.pendingRequest == nil {
            guard handler.receive(from: client) else { return drop(client) }
            return finishTurn(of: client)
        }
        finishTurn(of: client, hadOtherEvent: true)
    }

    /// Ends the processing of a client in this turn: sends its queue, hands its socket to another thread or
    /// ends the connection if that is due, and registers the events that the client waits for next.
    ///
    /// - Parameter hadOtherEvent: Whether an event was reported that no request was read for. While a reply is
    ///   pending, nothing should be read from the client; but its registration for reading is removed only
    ///   when such an event arrives, which is rare. This saves two system calls per request.
    private func finishTurn(of client: ClientConnection, hadOtherEvent: Bool = false) {
        if !client.queue.isEmpty, !client.isBlocked, !client.flush(now: now, limits) { return drop(client) }
        if client.isTruncated, client.queue.isEmpty { return drop(client) }
        if let takeover = client.takeover, client.queue.isEmpty {
            detach(client, takeover)
            return
        }
        if client.queue.isEmpty, client.isClosing || handler.isStopping && client.isIdle {
            guard client.linger(now: now) else { return drop(client) }
        } else {
            client.timer.enter(client.phase, now: now)
        }
        // Backpressure: a client that does not receive its answers cannot send further requests.
        let wanted =
            client.isBlocked
            ? EPOLLOUT.rawValue
            : client.pendingRequest == nil ? EPOLLIN.rawValue : eventsWhileReplyIsPending(client)
        guard client.interest != wanted,
            hadOtherEvent || client.pendingRequest == nil || client.isBlocked
                || client.interest != EPOLLIN.rawValue
        else { return }
        client.interest = wanted
        if larder_epoll_change(epoll, client.descriptor, wanted, client.token) != 0 { drop(client) }
    }

    /// The events to watch while a reply is pending. A client that has ended its side has usually gone: a proxy can
    /// end its request to the origin, and a responder with a handler can end its work for the client.
    private func eventsWhileReplyIsPending(_ client: ClientConnection) -> UInt32 {
        handler.isProxy || client.stream != nil || client.disconnectFlag.hasHandler ? EPOLLRDHUP.rawValue : 0
    }

    /// Removes the connection from this loop, and passes its socket to the takeover's thread.
    private func detach(_ client: ClientConnection, _ takeover: Takeover) {
        clients.remove(client)
        epoll_ctl(epoll, EPOLL_CTL_DEL, client.descriptor, nil)
        takeover(client.detach())
        watchListeners()
    }

    /// Delivers the replies that other threads have given. Replies to clients that have disconnected are
    /// discarded.
    private func deliverReplies() {
        for (token, delivery) in mailbox.takeAll() {
            guard let client = clients[token: token] else {
                if case .start(let stream, _, _) = delivery { stream.didDisconnect() }
                continue
            }
            var isUsable = true
            switch delivery {
            case .reply(let reply): isUsable = handler.deliver(reply, to: client)
            case .interim(let head): handler.deliverInterim(head, to: client)
            case .start(let stream, let head, let closes):
                handler.startStream(stream, head, closes: closes, to: client)
            case .part(let bytes, let byteCount): handler.deliverPart(bytes, byteCount, to: client)
            case .end(let bytes, let isWhole):
                isUsable = handler.endStream(bytes, isWhole: isWhole, to: client)
            }
            if isUsable { finishTurn(of: client) } else { drop(client) }
        }
    }

    /// Stops accepting clients, after all that connected before the stop signal were accepted.
    private func beginStopping() {
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
            if !client.isIdle { finishTurn(of: client) }
        }
    }

    /// During a stop: closes the connections of clients that send no more requests.
    private func closeIdleClients(since stopStart: Int64) {
        for client in clients.all where client.isIdle && !client.isLingering {
            let isNew = !client.hasSent || client.isShakingHands
            let wait = isNew ? limits.stopFirstRequestTimeoutMilliseconds : limits.stopIdleTimeoutMilliseconds
            if now - stopStart >= wait { drop(client) }
        }
    }

    /// Applies the time limits. Runs at most once per `ServerLimits.timeoutCheckIntervalMilliseconds`.
    private func enforceTimeouts() {
        lastTimeoutCheck = now
        watchListeners()
        for client in clients.all where client.timer.hasExpired(now: now, limits) {
            switch client.timer.phase {
            // An answer cannot be sent before the TLS handshake.
            case .head where client.isShakingHands: drop(client)
            case .head, .body:
                handler.refuse(client, 408)
                finishTurn(of: client)
            case .idle, .reply, .sending, .lingering:
                drop(client)
            }
        }
    }

    /// Disconnects clients that have been idle for longer than `ServerLimits.crowdedIdleTimeoutMilliseconds`.
    private func dropIdleClients() {
        guard now - lastIdleDrop >= limits.timeoutCheckIntervalMilliseconds else { return }
        lastIdleDrop = now
        for client in clients.all
        where client.isIdle && client.timer.hasExpired(now: now, limits, isCrowded: true) {
            drop(client)
        }
    }

    /// Removes a client. The descriptor closes with the last reference, which also removes it from epoll.
    private func drop(_ client: ClientConnection) {
        clients.remove(client)
        client.stream?.didDisconnect()
        watchListeners()
    }

    /// Watches the listeners again, if that was stopped for lack of descriptors. Failures are retried at the
    /// next look.
    private func watchListeners() {
        guard !listeners.areWatched, stopStart == nil else { return }
        _ = listeners.startWatching()
    }

    /// Registers a descriptor for `EPOLLIN`, with the descriptor as the token. Client tokens are larger, since
    /// generations start at 1.
    private func watchForReading(_ descriptor: Int32) -> Bool {
        larder_epoll_add(epoll, descriptor, EPOLLIN.rawValue, UInt64(descriptor)) == 0
    }
}

/// The clients of one event loop, indexed by their descriptors. An array is enough, since descriptors are small
/// numbers.
struct ClientTable {
    private var slots: [ClientConnection?] = []
    private(set) var count = 0

    subscript(descriptor: Int32) -> ClientConnection? {
        let index = Int(descriptor)
        return slots.indices.contains(index) ? slots[index] : nil
    }

    /// The client with this token; nil if it has gone.
    subscript(token token: UInt64) -> ClientConnection? {
        let client = self[Int32(truncatingIfNeeded: token)]
        return client?.token == token ? client : nil
    }

    var all: [ClientConnection] { slots.compactMap(\.self) }

    mutating func insert(_ client: ClientConnection) {
        let index = Int(client.descriptor)
        // The kernel gives out the smallest free descriptor, so the table is no larger than the maximum
        // number of clients so far.
        if index >= slots.count { slots += Array(repeating: nil, count: index + 1 - slots.count) }
        if slots[index] == nil { count += 1 }
        slots[index] = client
    }

    mutating func remove(_ client: ClientConnection) {
        guard self[client.descriptor] === client else { return }
        slots[Int(client.descriptor)] = nil
        count -= 1
    }
}

/// The event that a client's connection waits for. It selects the time limit.
enum ConnectionPhase: Equatable {
    /// The client has no request in progress.
    case idle
    /// A request head is incomplete.
    case head
    /// A request body is incomplete.
    case body
    /// The responder has not given its reply. It has time limits of its own.
    case reply
    /// The client has not received all queued bytes.
    case sending
    /// This side has ended the connection; the client has not.
    case lingering
}

/// The time limits of one connection. A pure value: events and the time in milliseconds go in.
///
/// `ConnectionPhase` is the event that the connection waits for. Each change of the phase restarts the time. A body in
/// either direction may take any time, as long as it makes progress and its average rate stays above
/// `ServerLimits.minBytesPerSecond`. All other phases have a fixed time.
struct ConnectionTimer {
    private(set) var phase = ConnectionPhase.idle
    /// When the phase began.
    private var start: Int64
    private var lastProgress: Int64
    private var byteCount = 0

    init(now: Int64) {
        start = now
        lastProgress = now
    }

    /// Changes the phase, and restarts the time unless the phase stays the same.
    mutating func enter(_ phase: ConnectionPhase, now: Int64) {
        guard self.phase != phase else { return }
        self.phase = phase
        (start, lastProgress, byteCount) = (now, now, 0)
    }

    /// Restarts the time of the current phase, for the next request of a pipeline.
    mutating func restart(now: Int64) {
        (start, lastProgress, byteCount) = (now, now, 0)
    }

    /// Records bytes that were received or sent.
    mutating func addProgress(byteCount count: Int, now: Int64) {
        guard count > 0 else { return }
        byteCount += count
        lastProgress = now
    }

    /// Whether the time limit of the phase has passed.
    ///
    /// - Parameter isCrowded: Whether the thread has reached its maximum number of connections, so that idle
    ///   clients get less time.
    func hasExpired(now: Int64, _ limits: ServerLimits, isCrowded: Bool = false) -> Bool {
        switch phase {
        case .idle:
            now - start > (isCrowded ? limits.crowdedIdleTimeoutMilliseconds : limits.idleTimeoutMilliseconds)
        case .head: now - start > limits.headTimeoutMilliseconds
        case .reply: false
        case .lingering: now - start > limits.lingerTimeoutMilliseconds
        case .body, .sending:
            // No progress, or an average rate below the minimum.
            now - lastProgress > limits.stallTimeoutMilliseconds
                || now - start > limits.stallTimeoutMilliseconds + Int64(byteCount) * 1000
                    / max(1, limits.minBytesPerSecond)
        }
    }
}
