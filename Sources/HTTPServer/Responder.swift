internal import CLinux
internal import Glibc
internal import Synchronization
package import TLS
package import Web

/// Answers requests. Each server thread has its own responder, and only that thread calls it.
package protocol Responder: AnyObject {
    /// Returns the reply. Returns nil if the reply is deferred: the responder has then made a slot with `later`,
    /// through which any thread sends the reply when it is known.
    ///
    /// A reply that has to wait for the network, a disk or another thread must be deferred, because all other
    /// clients of this thread wait until this call returns. The request's bytes are invalid after that.
    func respond(to request: Request, orDefer later: DeferredReply) -> Reply?

    /// Returns the reply to a CORS preflight, by which browsers ask whether a page of another origin may send a
    /// request. Returns nil if `respond` handles OPTIONS requests like those with any other method.
    func preflight(_ request: Request) -> Reply?

    /// Whether the responder is a proxy, and thus answers for other hosts too.
    var isProxy: Bool { get }

    /// The work that shares the thread with the clients; nil if there is none.
    var sideWork: (any SideWork)? { get }

    /// Decides what happens to a CONNECT request, which only proxies receive.
    func connect(_ request: Request) -> ConnectDecision

    /// Returns the reply to a request whose body is longer than `ServerLimits.maxBufferedBodyBytes`. Either the
    /// reply has a takeover, which receives the body on another thread, or it refuses the request. Nil if this
    /// responder does not accept such bodies: the client then gets a 413.
    func answer(_ upload: LongUpload, of request: Request) -> Reply?
}

extension Responder {
    package func preflight(_ request: Request) -> Reply? { nil }
    package var isProxy: Bool { false }
    package var sideWork: (any SideWork)? { nil }
    package func connect(_ request: Request) -> ConnectDecision {
        .refuse(Reply(answer: .text(501, "This server is not a proxy.\n")))
    }
    package func answer(_ upload: LongUpload, of request: Request) -> Reply? { nil }
}

/// Work that shares a server's thread with the clients, such as sending requests to origins. The event loop
/// calls `turn` when `descriptor` is readable, and when `timeUntilDue` has passed.
package protocol SideWork: AnyObject {
    var descriptor: Int32 { get }
    /// The time until the next timer is due; zero if it is due now.
    var timeUntilDue: Duration { get }
    /// - Parameter isReadable: Whether the descriptor is readable. If not, only due timers are handled.
    func turn(isReadable: Bool)
    /// Ends all work in progress.
    func stop()
}

/// The decision about a client's CONNECT request (RFC 9110 §9.3.6).
package enum ConnectDecision {
    case refuse(Reply)
    /// Answers the requests in the tunnel as if this server were the host, with a certificate of its own.
    case intercept(Tunnel)
    /// Relays all further bytes between the client and the host, without looking into them.
    case relay(Takeover)
}

/// The received part of a request body that is too long to be buffered. The takeover of the connection
/// receives the rest of it.
package struct LongUpload: Sendable {
    /// Finds the end of the body in the bytes that follow `beginning`.
    package let reader: BodyReader
    /// The received bytes, including chunk framing.
    package var beginning: [UInt8] = []
}

/// Receives a connection that leaves the event loop. It is called on the event loop's thread, and must return at
/// once: it starts a thread that serves the client from then on.
package typealias Takeover = @Sendable (DetachedConnection) -> Void

/// A connection that was passed from the event loop to another thread. The new owner must close the socket,
/// which is non-blocking. `DetachedClient` sends and receives on it.
package struct DetachedConnection: @unchecked Sendable {
    // Safe to send, because the event loop keeps no reference to any of this.
    package let descriptor: Int32
    /// The TLS session, if the client uses TLS.
    package let session: TLSSession?
    /// The decrypted bytes that were received but not processed.
    package let received: [UInt8]
}

/// The host that a proxy's client named in a CONNECT request.
package struct Tunnel {
    /// The host as it is written in URLs, in lower case.
    package let host: String
    package let port: Int
    /// Presents a certificate for the host if the client begins with TLS.
    package let security: TLSServer
    /// Whether the client has not sent anything in the tunnel yet, so that it may still begin with TLS.
    var isUndecided = true
    /// Whether the client speaks TLS. `serverName` is then the name that it sent in its handshake.
    package var isSecure = false
    package var serverName: String?
    /// Whether another proxy forwarded the CONNECT request.
    package var isForwarded = false

    package init(host: String, port: Int, security: TLSServer, isForwarded: Bool = false) {
        (self.host, self.port, self.security) = (host, port, security)
        self.isForwarded = isForwarded
    }
}

/// An answer for one client, with the properties that differ by client.
package struct Reply: Sendable {
    /// The source of a response, for the statistics and the proxy's traffic page. The raw values are part of the
    /// JSON output.
    package enum Source: String, Sendable, CaseIterable {
        /// The store.
        case store = "larder"
        /// The store, after the origin confirmed the response.
        case validated
        case network
        /// Not stored, and the network was not allowed or did not answer.
        case missed
        /// A tunnel whose bytes were relayed unread.
        case tunnel
    }

    package let answer: Answer
    /// Header lines for this client only, each with its CRLF. The answer does not contain them, because it is
    /// shared with other clients.
    package var clientFields: [UInt8] = []
    /// The changes for a client that accepts other codings than those of the answer; nil for other clients.
    package var coded: CodedReply?
    /// The role in which the answer is given. It decides how the client's preconditions are evaluated.
    package var role = Preconditions.Role.origin
    /// The source of the answer, for the statistics.
    package var source = Source.store
    /// Whether the response was stored.
    package var isStored = false
    /// The reason why the response could not be stored.
    package var failure: String?
    /// The status and length of the response that was streamed to the client in place of `answer`.
    package var streamed: (status: Int, byteCount: Int)?
    /// Takes the connection out of the event loop. If it is set, the answer is not sent.
    package var takeover: Takeover?

    package init(
        answer: Answer, clientFields: [UInt8] = [], role: Preconditions.Role = .origin,
        source: Source = .store,
        isStored: Bool = false, failure: String? = nil, takeover: Takeover? = nil
    ) {
        (self.answer, self.clientFields, self.role) = (answer, clientFields, role)
        (self.source, self.isStored, self.failure, self.takeover) = (source, isStored, failure, takeover)
    }
}

/// The means to reply to a request after `Responder.respond` has returned.
package struct DeferredReply {
    fileprivate let mailbox: ReplyMailbox
    fileprivate let token: UInt64
    private let disconnectFlag: DisconnectFlag
    private var observer: (@Sendable (Reply) -> Void)?

    init(_ mailbox: ReplyMailbox, token: UInt64, _ disconnectFlag: DisconnectFlag) {
        self.mailbox = mailbox
        self.token = token
        self.disconnectFlag = disconnectFlag
    }

    /// Makes the slot for the reply. Call it at most once per request, and then return nil from `respond`.
    package func makeSlot() -> ReplySlot { ReplySlot(mailbox, token: token, disconnectFlag, observer) }

    /// Makes the slot for a reply that is discarded if the client ends the connection, or only its sending side. Without
    /// a handler, a client that has ended its sending side still gets the reply.
    ///
    /// - Parameter didDisconnect: called once if the client does so before it has the reply, on the thread of the event loop.
    ///   It must return at once.
    package func makeSlot(didDisconnect: @escaping @Sendable () -> Void) -> ReplySlot {
        disconnectFlag.setHandler(didDisconnect)
        return makeSlot()
    }

    /// Returns a copy that also passes the reply to `observer` when it is sent.
    package func observing(_ observer: @escaping @Sendable (Reply) -> Void) -> DeferredReply {
        var later = self
        later.observer = observer
        return later
    }
}

/// A flag that tells other threads that a client has disconnected.
final class DisconnectFlag: Sendable {
    private let flag = Atomic(false)
    /// Called when the client disconnects; nil if its pending request does not need that.
    private let handler = Mutex<(@Sendable () -> Void)?>(nil)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    var hasHandler: Bool { handler.withLock { $0 != nil } }

    /// - Parameter handler: replaces the handler of the request before.
    func setHandler(_ handler: (@Sendable () -> Void)?) { self.handler.withLock { $0 = handler } }

    func set() {
        flag.store(true, ordering: .releasing)
        let didDisconnect = handler.withLock { $0.take() }
        didDisconnect?()
    }
}

/// The way to send the reply to one request, from any thread.
///
/// Exactly one of these happens: `send` sends the reply, `claim` replaces it by a stream, or the slot is
/// released without either. In the last case the client gets a 500, so that it does not wait forever.
package final class ReplySlot: Sendable {
    private let mailbox: ReplyMailbox
    private let token: UInt64
    private let disconnectFlag: DisconnectFlag
    private let observer: (@Sendable (Reply) -> Void)?
    private let isSent = Atomic(false)

    fileprivate init(
        _ mailbox: ReplyMailbox, token: UInt64, _ disconnectFlag: DisconnectFlag,
        _ observer: (@Sendable (Reply) -> Void)?
    ) {
        self.mailbox = mailbox
        self.token = token
        self.disconnectFlag = disconnectFlag
        self.observer = observer
    }

    /// Whether the client has disconnected.
    package var isClientGone: Bool { disconnectFlag.isSet }

    /// Sends the head of an interim response (1xx). It is discarded if the reply was already sent.
    package func sendInterim(_ interim: [UInt8]) {
        mailbox.put(.interim(interim), for: token) { isSent.load(ordering: .acquiring) }
    }

    /// Reserves the reply for a stream. Returns false if the reply was already sent.
    package func claim() -> Bool { !isSent.exchange(true, ordering: .acquiringAndReleasing) }

    func put(_ delivery: ReplyMailbox.Delivery) { mailbox.put(delivery, for: token) }

    /// Reports a reply to the observer after a stream was sent in its place.
    package func reportStreamed(_ reply: Reply) { observer?(reply) }

    deinit {
        if isSent.load(ordering: .acquiring) { return }
        send(Reply(answer: .text(500, "The server produced no response.\n")))
    }

    /// Sends the reply. Only the first call has an effect; it is harmless if the client has disconnected.
    package func send(_ reply: Reply) {
        guard !isSent.exchange(true, ordering: .acquiringAndReleasing) else { return }
        observer?(reply)
        mailbox.put(.reply(reply), for: token)
    }
}

/// The replies that other threads send to the clients of one event loop. The mutex protects all of it.
///
/// Waking a loop costs two system calls, so a delivery does it only if the loop may be asleep. While the loop
/// runs (`markRunning`), deliveries are just queued, and `prepareToSleep` reports whether any are left. Once
/// that has returned true, the first delivery makes `descriptor` readable.
final class ReplyMailbox: Sendable {
    /// One delivery for a client.
    enum Delivery: Sendable {
        case reply(Reply)
        /// The head of an interim response; the reply follows.
        case interim([UInt8])
        /// The head of a response whose body follows in parts.
        case start(ReplyStream, [UInt8], closes: Bool)
        case part([UInt8], byteCount: Int)
        case end([UInt8], isWhole: Bool)
    }

    private struct State {
        var deliveries: [(token: UInt64, delivery: Delivery)] = []
        /// Whether the loop will call `prepareToSleep` before it waits for events.
        var isLoopRunning = false
        /// Whether `descriptor` was made readable.
        var isSignaled = false
    }

    /// An eventfd that is readable while there are deliveries for which the loop must wake up.
    let descriptor: Int32
    private let state = Mutex(State())

    init() throws(ServerError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw ServerError("create a mailbox", errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Adds a delivery, and wakes the loop if necessary.
    ///
    /// - Parameter isTooLate: Called while the mailbox is locked. If it returns true, the delivery is
    ///   discarded.
    func put(_ delivery: Delivery, for token: UInt64, unless isTooLate: () -> Bool = { false }) {
        state.withLock { state in
            guard !isTooLate() else { return }
            state.deliveries.append((token, delivery))
            guard !state.isLoopRunning, !state.isSignaled else { return }
            state.isSignaled = true
            eventfd_write(descriptor, 1)
        }
    }

    /// Removes and returns all deliveries, in their order.
    func takeAll() -> [(token: UInt64, delivery: Delivery)] {
        state.withLock { state in
            if state.isSignaled {
                var count: eventfd_t = 0
                eventfd_read(descriptor, &count)
                state.isSignaled = false
            }
            defer { state.deliveries = [] }
            return state.deliveries
        }
    }

    /// Records that the loop runs, so that deliveries do not wake it until `prepareToSleep` returns true.
    func markRunning() { state.withLock { $0.isLoopRunning = true } }

    /// Returns whether the mailbox is empty. If so, the next delivery wakes the loop, which may thus wait for
    /// events.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            guard state.deliveries.isEmpty else { return false }
            state.isLoopRunning = false
            return true
        }
    }
}
