internal import CLinux
internal import Glibc
internal import Synchronization
internal import TLS
internal import Web

/// Answers requests. Each server thread has one of its own, which nobody else touches.
protocol Responder: AnyObject {
    /// The reply, or nil when a slot was taken, to which it will be given from whatever thread: for what has
    /// to be waited for, since the other clients of this thread wait as long as this call takes. The
    /// request's bytes are gone by then.
    func respond(to request: Request, orLater later: Later) -> Reply?

    /// What a browser is told that asks, by OPTIONS, whether a page of another origin may send a request. Nil
    /// leaves it to `respond`, as every other method.
    func preflight(_ request: Request) -> Reply?

    /// Whether it answers for other hosts too, as clients ask a proxy.
    var isProxy: Bool { get }

    /// What asks servers on this thread; nil where nothing does.
    var loads: (any OwnLoads)? { get }

    /// What becomes of a connection that a client wants to a host, which only proxies are asked for.
    func connect(_ request: Request) -> Connecting

    /// The reply to a request whose body is too long to be taken into memory: one that takes its client over,
    /// or that refuses it. Nil where no such thing is led anywhere.
    func pass(_ upload: LongUpload, of request: Request) -> Reply?
}

extension Responder {
    func preflight(_ request: Request) -> Reply? { nil }
    var isProxy: Bool { false }
    var loads: (any OwnLoads)? { nil }
    func connect(_ request: Request) -> Connecting {
        .refused(Reply(answer: .text(501, "This is no proxy.\n")))
    }
    func pass(_ upload: LongUpload, of request: Request) -> Reply? { nil }
}

/// What becomes of a client's CONNECT (RFC 9110 §9.3.6).
enum Connecting {
    case refused(Reply)
    /// What follows are requests to the host, which are answered like all others.
    case answered(Tunnel)
    /// What follows is between the client and the host.
    case passed(Takeover)
}

/// A body that is longer than what is taken into memory, as far as it has come.
struct LongUpload: Sendable {
    /// Finds its end, behind the beginning.
    let reader: BodyReader
    /// With its chunks.
    var beginning: [UInt8] = []
}

/// Leads what a client says from here on to where it belongs, on a thread of its own.
typealias Takeover = @Sendable (HandedOver) -> Void

/// A client that another thread answers from here on. Its socket, which does not wait, is that one's to
/// close.
struct HandedOver: @unchecked Sendable {
    // The event loop lets go of all of it when it hands it over.
    let descriptor: Int32
    let session: TLSSession?
    /// What it has said already.
    let received: [UInt8]
}

/// What a client had itself connected to.
struct Tunnel {
    /// As URLs have it, in lower case.
    let host: String
    let port: Int
    /// Speaks for the host, should the client begin with TLS.
    let security: TLSServer
    /// Nobody knows yet whether the client is going to speak TLS.
    var isUndecided = true
    /// The client speaks TLS, and the name by which it asked then.
    var isSecure = false
    var serverName: String?
    /// A proxy passed on the client's request for the tunnel.
    var isForwarded = false
}

/// An answer as one client gets it.
struct Reply: Sendable {
    let answer: Answer
    /// Field lines for this client alone, each with its CRLF. They stay out of the answer, which others
    /// share.
    var ownFields: [UInt8] = []
    /// In whose stead it is given, by which the client's conditions count.
    var role = Preconditions.Role.origin
    /// Where the answer came from, for those who count.
    var source = PassLog.Source.larder
    /// What came is held from now on.
    var isKept = false
    /// Why what came could not be kept.
    var failure: String?
    /// What went out already, in the answer's place.
    var streamed: (status: Int, byteCount: Int)?
    /// Nothing is sent: somebody else takes the client over.
    var takeover: Takeover?
}

/// How a responder says that its reply comes later: it takes a slot.
struct Later {
    fileprivate let mailbox: ReplyMailbox
    fileprivate let token: UInt64
    private let departure: Departure
    private var observer: (@Sendable (Reply) -> Void)?

    init(_ mailbox: ReplyMailbox, token: UInt64, _ departure: Departure) {
        self.mailbox = mailbox
        self.token = token
        self.departure = departure
    }

    /// For one reply, and to be asked for once a request.
    func slot() -> ReplySlot { ReplySlot(mailbox, token: token, departure, observer) }

    /// The same, which tells of the reply when it is given.
    func observed(_ observer: @escaping @Sendable (Reply) -> Void) -> Later {
        var later = self
        later.observer = observer
        return later
    }
}

/// Tells other threads that a client has gone.
final class Departure: Sendable {
    private let flag = Atomic(false)

    var hasHappened: Bool { flag.load(ordering: .acquiring) }

    func happen() { flag.store(true, ordering: .releasing) }
}

/// Where the reply to one request goes, from any thread. One that is let go without a reply gives the client
/// a 500, so that nobody waits for ever.
final class ReplySlot: Sendable {
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

    /// Nobody waits for the reply any more.
    var hasLeft: Bool { departure.hasHappened }

    /// Sends the head of an interim answer ahead of the reply. What comes behind that is let go.
    func tell(_ interim: [UInt8]) {
        mailbox.put(.interim(interim), for: token) { isGiven.load(ordering: .acquiring) }
    }

    /// A stream takes the reply's place; false when that has been given.
    func begin() -> Bool { !isGiven.exchange(true, ordering: .acquiringAndReleasing) }

    func put(_ delivery: ReplyMailbox.Delivery) { mailbox.put(delivery, for: token) }

    /// What was to be given, where a stream took its place: it counts for those who count.
    func note(_ reply: Reply) { observer?(reply) }

    deinit {
        if isGiven.load(ordering: .acquiring) { return }
        give(Reply(answer: .text(500, "There is no answer.\n")))
    }

    /// The first counts. A client that has gone meanwhile misses nothing.
    func give(_ reply: Reply) {
        guard !isGiven.exchange(true, ordering: .acquiringAndReleasing) else { return }
        observer?(reply)
        mailbox.put(.reply(reply), for: token)
    }
}

/// The replies that came from other threads for the clients of one event loop.
final class ReplyMailbox: Sendable {
    enum Delivery: Sendable {
        case reply(Reply)
        /// A head without an answer's end: the reply follows.
        case interim([UInt8])
        /// A head, whose body follows in parts.
        case start(ReplyStream, [UInt8], closes: Bool)
        case part([UInt8], byteCount: Int)
        case end([UInt8], isWhole: Bool)
    }

    private struct State {
        var deliveries: [(token: UInt64, delivery: Delivery)] = []
        /// The loop looks here before it waits for anything.
        var isAttended = false
        /// The descriptor is readable.
        var isTold = false
    }

    /// Readable while there is something that the loop is to be woken for.
    let descriptor: Int32
    private let state = Mutex(State())

    init() throws(ServerError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw ServerError("create a mailbox", errno) }
    }

    deinit {
        close(descriptor)
    }

    /// - Parameter isTooLate: asked while nobody else puts anything.
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

    /// The loop is at work: nobody needs to wake it until it `mayRest`.
    func attend() { state.withLock { $0.isAttended = true } }

    /// Whether there is nothing to be taken. Then whoever puts something wakes the loop.
    func mayRest() -> Bool {
        state.withLock { state in
            guard state.deliveries.isEmpty else { return false }
            state.isAttended = false
            return true
        }
    }
}
