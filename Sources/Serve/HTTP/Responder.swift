internal import CLinux
internal import Glibc
internal import Synchronization
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
}

extension Responder {
    func preflight(_ request: Request) -> Reply? { nil }
}

/// An answer as one client gets it.
struct Reply: Sendable {
    let answer: Answer
    /// Field lines for this client alone, each with its CRLF. They stay out of the answer, which others
    /// share.
    var ownFields: [UInt8] = []
    /// In whose stead it is given, by which the client's conditions count.
    var role = Preconditions.Role.origin
}

/// How a responder says that its reply comes later: it takes a slot.
struct Later {
    fileprivate let mailbox: ReplyMailbox
    fileprivate let token: UInt64

    init(_ mailbox: ReplyMailbox, token: UInt64) {
        self.mailbox = mailbox
        self.token = token
    }

    /// For one reply, and to be asked for once a request.
    func slot() -> ReplySlot { ReplySlot(mailbox, token: token) }
}

/// Where the reply to one request goes, from any thread. One that is let go without a reply gives the client
/// a 500, so that nobody waits for ever.
final class ReplySlot: Sendable {
    private let mailbox: ReplyMailbox
    private let token: UInt64
    private let isGiven = Atomic(false)

    fileprivate init(_ mailbox: ReplyMailbox, token: UInt64) {
        self.mailbox = mailbox
        self.token = token
    }

    /// Sends the head of an interim answer ahead of the reply. What comes behind that is let go.
    func tell(_ interim: [UInt8]) {
        mailbox.put(.interim(interim), for: token) { isGiven.load(ordering: .acquiring) }
    }

    deinit {
        give(Reply(answer: .text(500, "There is no answer.\n")))
    }

    /// The first counts. A client that has gone meanwhile misses nothing.
    func give(_ reply: Reply) {
        guard !isGiven.exchange(true, ordering: .acquiringAndReleasing) else { return }
        mailbox.put(.reply(reply), for: token)
    }
}

/// The replies that came from other threads for the clients of one event loop.
final class ReplyMailbox: Sendable {
    enum Delivery: Sendable {
        case reply(Reply)
        /// A head without an answer's end: the reply follows.
        case interim([UInt8])
    }

    /// Readable while there is something.
    let descriptor: Int32
    private let deliveries = Mutex<[(token: UInt64, delivery: Delivery)]>([])

    init() throws(ServerError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw ServerError("create a mailbox", errno) }
    }

    deinit {
        close(descriptor)
    }

    /// - Parameter isTooLate: asked while nobody else puts anything.
    fileprivate func put(_ delivery: Delivery, for token: UInt64, unless isTooLate: () -> Bool = { false }) {
        let isPut = deliveries.withLock { deliveries in
            guard !isTooLate() else { return false }
            deliveries.append((token, delivery))
            return true
        }
        if isPut { eventfd_write(descriptor, 1) }
    }

    func takeAll() -> [(token: UInt64, delivery: Delivery)] {
        var count: eventfd_t = 0
        // Before they are taken: one that comes between the two is told again.
        eventfd_read(descriptor, &count)
        return deliveries.withLock { deliveries in
            defer { deliveries = [] }
            return deliveries
        }
    }
}
