internal import CLinux
internal import Glibc
internal import Synchronization
package import TLS
package import Web

/// Answers requests. Each server thread has its own responder, and only that thread calls it.
package protocol Responder: AnyObject {
    /// Returns the reply, or nil if it took a slot from `later`, which gets the reply later from any thread.
    /// A reply that has to wait for something must use a slot, because the other clients of this thread wait
    /// until this call returns. The request's bytes are invalid after that.
    func respond(to request: Request, orLater later: Later) -> Reply?

    /// The answer to a CORS preflight: whether a page of another origin may send a request. Nil if `respond`
    /// handles it like any other method.
    func preflight(_ request: Request) -> Reply?

    /// Whether the responder is a proxy, and thus answers for other hosts too.
    var isProxy: Bool { get }

    /// Work that this thread does beside its clients; nil if there is none.
    var sideWork: (any SideWork)? { get }

    /// Decides what happens to a CONNECT request, which only proxies receive.
    func connect(_ request: Request) -> Connecting

    /// The reply to a request whose body is too long to be buffered: it takes the client over, or refuses the
    /// request. Nil if this responder does not accept such bodies.
    func pass(_ upload: LongUpload, of request: Request) -> Reply?
}

extension Responder {
    package func preflight(_ request: Request) -> Reply? { nil }
    package var isProxy: Bool { false }
    package var sideWork: (any SideWork)? { nil }
    package func connect(_ request: Request) -> Connecting {
        .refused(Reply(answer: .text(501, "This is no proxy.\n")))
    }
    package func pass(_ upload: LongUpload, of request: Request) -> Reply? { nil }
}

/// Work that a server's thread does beside its clients: it calls `turn` when `descriptor` is readable and when
/// `patience` has passed.
package protocol SideWork: AnyObject {
    var descriptor: Int32 { get }
    var patience: Duration { get }
    /// - Parameter isReadable: Whether the descriptor is readable. If not, only due timers are handled.
    func turn(isReadable: Bool)
    /// Ends all work in progress.
    func stop()
}

/// The decision about a client's CONNECT request (RFC 9110 §9.3.6).
package enum Connecting {
    case refused(Reply)
    /// The client's next requests are for the host of the tunnel. This server answers them like all others.
    case answered(Tunnel)
    /// The takeover relays all further bytes between the client and the host.
    case passed(Takeover)
}

/// The received part of a request body that is too long to be buffered.
package struct LongUpload: Sendable {
    /// Finds the end of the body in the bytes that follow `beginning`.
    package let reader: BodyReader
    /// The received bytes, including chunk framing.
    package var beginning: [UInt8] = []
}

/// Handles a client whose socket left the event loop, on a thread of its own.
package typealias Takeover = @Sendable (HandedOver) -> Void

/// A client whose connection was passed from the event loop to another thread. The new owner must close the
/// socket, which is non-blocking.
package struct HandedOver: @unchecked Sendable {
    // The event loop keeps no reference to any of this after the handover.
    package let descriptor: Int32
    package let session: TLSSession?
    /// The bytes that were received but not yet processed.
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

/// An answer for one client.
package struct Reply: Sendable {
    /// The source of a response.
    package enum Source: String, Sendable, CaseIterable {
        /// The store.
        case larder
        /// The store, after the origin confirmed the response.
        case validated
        case network
        /// Not stored, and the network was not allowed or did not answer.
        case missed
        /// A tunnel, without looking into it.
        case tunnel
    }

    package let answer: Answer
    /// Header lines for this client only, each with its CRLF. The answer does not contain them, because it is
    /// shared with other clients.
    package var ownFields: [UInt8] = []
    /// The role in which the answer is given. It decides how the client's preconditions are evaluated.
    package var role = Preconditions.Role.origin
    /// The source of the answer, for the statistics.
    package var source = Source.larder
    /// Whether the response was stored.
    package var isKept = false
    /// The reason why the response could not be stored.
    package var failure: String?
    /// The status and length of the response that was streamed to the client in place of `answer`.
    package var streamed: (status: Int, byteCount: Int)?
    /// Takes over the connection. If it is set, the answer is not sent.
    package var takeover: Takeover?

    package init(
        answer: Answer, ownFields: [UInt8] = [], role: Preconditions.Role = .origin, source: Source = .larder,
        isKept: Bool = false, failure: String? = nil, takeover: Takeover? = nil
    ) {
        (self.answer, self.ownFields, self.role) = (answer, ownFields, role)
        (self.source, self.isKept, self.failure, self.takeover) = (source, isKept, failure, takeover)
    }
}

/// Lets a responder give its reply later: it takes a slot.
package struct Later {
    fileprivate let mailbox: ReplyMailbox
    fileprivate let token: UInt64
    private let departure: Departure
    private var observer: (@Sendable (Reply) -> Void)?

    init(_ mailbox: ReplyMailbox, token: UInt64, _ departure: Departure) {
        self.mailbox = mailbox
        self.token = token
        self.departure = departure
    }

    /// Returns the slot for the reply. Call it at most once per request.
    package func slot() -> ReplySlot { ReplySlot(mailbox, token: token, departure, observer) }

    /// Returns a copy that calls `observer` with the reply when it is given.
    package func observed(_ observer: @escaping @Sendable (Reply) -> Void) -> Later {
        var later = self
        later.observer = observer
        return later
    }
}

/// A flag by which other threads learn that a client has disconnected.
final class Departure: Sendable {
    private let flag = Atomic(false)

    var hasHappened: Bool { flag.load(ordering: .acquiring) }

    func happen() { flag.store(true, ordering: .releasing) }
}

/// Receives the reply to one request, from any thread. If it is released without a reply, the client gets a
/// 500, so that it does not wait forever.
package final class ReplySlot: Sendable {
    private let mailbox: ReplyMailbox
    private let token: UInt64
    private let departure: Departure
    private let observer: (@Sendable (Reply) -> Void)?
    private let isGiven = Atomic(false)

    fileprivate init(
        _ mailbox: ReplyMailbox, token: UInt64, _ departure: Departure,
        _ observer: (@Sendable (Reply) -> Void)?
    ) {
        self.mailbox = mailbox
        self.token = token
        self.departure = departure
        self.observer = observer
    }

    /// Whether the client has disconnected.
    package var hasLeft: Bool { departure.hasHappened }

    /// Sends the head of an interim response. It is discarded if the reply was already given.
    package func tell(_ interim: [UInt8]) {
        mailbox.put(.interim(interim), for: token) { isGiven.load(ordering: .acquiring) }
    }

    /// Lets a stream take the place of the reply. Returns false if the reply was already given.
    package func begin() -> Bool { !isGiven.exchange(true, ordering: .acquiringAndReleasing) }

    func put(_ delivery: ReplyMailbox.Delivery) { mailbox.put(delivery, for: token) }

    /// Reports the reply in whose place a response was streamed to the observer.
    package func note(_ reply: Reply) { observer?(reply) }

    deinit {
        if isGiven.load(ordering: .acquiring) { return }
        give(Reply(answer: .text(500, "There is no answer.\n")))
    }

    /// Gives the reply. Only the first call has an effect; it is harmless if the client has disconnected.
    package func give(_ reply: Reply) {
        guard !isGiven.exchange(true, ordering: .acquiringAndReleasing) else { return }
        observer?(reply)
        mailbox.put(.reply(reply), for: token)
    }
}

/// The replies that other threads give to the clients of one event loop.
///
/// While the loop is attending, it checks the mailbox before it waits, so that no wake-up is needed.
/// Otherwise, the first delivery makes `descriptor` readable.
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
        /// Whether the loop will check the mailbox before it waits for events.
        var isAttended = false
        /// Whether `descriptor` was made readable.
        var isTold = false
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

    /// - Parameter isTooLate: Called while the mailbox is locked. If it returns true, the delivery is
    ///   discarded.
    func put(_ delivery: Delivery, for token: UInt64, unless isTooLate: () -> Bool = { false }) {
        state.withLock { state in
            guard !isTooLate() else { return }
            state.deliveries.append((token, delivery))
            guard !state.isAttended, !state.isTold else { return }
            state.isTold = true
            eventfd_write(descriptor, 1)
        }
    }

    func takeAll() -> [(token: UInt64, delivery: Delivery)] {
        state.withLock { state in
            if state.isTold {
                var count: eventfd_t = 0
                eventfd_read(descriptor, &count)
                state.isTold = false
            }
            defer { state.deliveries = [] }
            return state.deliveries
        }
    }

    /// Marks the loop as running, so that deliveries do not wake it until `mayRest` returns true.
    func attend() { state.withLock { $0.isAttended = true } }

    /// Whether the mailbox is empty. If so, the next delivery wakes the loop.
    func mayRest() -> Bool {
        state.withLock { state in
            guard state.deliveries.isEmpty else { return false }
            state.isAttended = false
            return true
        }
    }
}
