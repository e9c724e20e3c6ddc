internal import CLinux
internal import Glibc
internal import System
internal import TLS

/// A server whose threads each have listeners, clients and a responder of their own.
final class HTTPServer: Sendable {
    let port: UInt16
    private let stop: StopSignal
    private let threads: [NamedThread]

    /// Listens from here on. Port 0 lets the kernel choose; `responder` is told which it is.
    ///
    /// - Parameter security: has clients speak TLS; nil for none.
    init(
        port: UInt16, threadCount: Int, address: ListenAddress = .loopback, limits: ServerLimits = .standard,
        security: TLSServer? = nil,
        responder: (UInt16) throws(ServerError) -> any Responder
    ) throws(ServerError) {
        let listeners = try Self.listeners(on: address, port: port, threadCount: max(1, threadCount))
        let chosen = listeners[0][0].port
        let stop: StopSignal
        do throws(SystemError) { stop = try StopSignal() } catch { throw ServerError(error) }
        var loops: [Lent] = []
        for group in listeners {
            loops.append(
                Lent(
                    loop: try EventLoop(
                        group, stop: stop, limits: limits, security: security,
                        responder: try responder(chosen)))
            )
        }
        var threads: [NamedThread] = []
        for (number, lent) in loops.enumerated() {
            do throws(SystemError) {
                threads.append(try NamedThread.start("larder-serve-\(number + 1)") { lent.loop.run() })
            } catch {
                stop.give()
                for thread in threads { thread.join() }
                throw ServerError(error)
            }
        }
        self.port = chosen
        self.stop = stop
        self.threads = threads
    }

    /// Stops taking clients, ends what is under way, and returns when every thread is done. From any thread,
    /// and as often as one likes.
    func stopAndWait() {
        beginStop()
        for thread in threads { thread.join() }
    }

    /// Begins to stop, and returns at once.
    func beginStop() { stop.give() }

    /// The listeners of each thread, all on one port.
    private static func listeners(
        on address: ListenAddress, port: UInt16, threadCount: Int
    ) throws(ServerError) -> [[ListeningSocket]] {
        // What the kernel chooses on the one address may be taken on the other: then it chooses again.
        for _ in 0..<(port == 0 ? 16 : 0) {
            do throws(ServerError) {
                return try listeners(on: address, chosen: 0, threadCount: threadCount)
            } catch {
                guard error.code == EADDRINUSE else { throw error }
            }
        }
        return try listeners(on: address, chosen: port, threadCount: threadCount)
    }

    private static func listeners(
        on address: ListenAddress, chosen port: UInt16, threadCount: Int
    ) throws(ServerError) -> [[ListeningSocket]] {
        // Listeners that share a port would also share it with another server of this user, so the first ask
        // alone.
        let chosen = try ListeningSocket.all(on: address, port: port, isShared: false, listens: false)[0].port
        var listeners: [[ListeningSocket]] = []
        for _ in 0..<threadCount {
            listeners.append(try ListeningSocket.all(on: address, port: chosen, isShared: true))
        }
        return listeners
    }

    /// Each loop goes to its own thread and to no other.
    private struct Lent: @unchecked Sendable {
        let loop: EventLoop
    }
}

/// The listeners of one event loop, which are in its queue or out of it together.
final class ListenerSet {
    private var listeners: [ListeningSocket]
    private let epoll: Int32
    private(set) var areWatched = false

    var descriptors: [Int32] { listeners.map(\.descriptor) }

    init(_ listeners: [ListeningSocket], epoll: Int32) {
        self.listeners = listeners
        self.epoll = epoll
    }

    func contains(_ descriptor: Int32) -> Bool {
        listeners.contains { $0.descriptor == descriptor }
    }

    /// Has the queue tell of new clients; `errno` says why it is false.
    func watch() -> Bool {
        areWatched = listeners.allSatisfy { listener in
            larder_epoll_add(epoll, listener.descriptor, EPOLLIN.rawValue, UInt64(listener.descriptor)) == 0
                || errno == EEXIST
        }
        return areWatched
    }

    /// New clients wait in the kernel's line from here on.
    func ignore() {
        areWatched = false
        // The only ways to fail are to be out of the queue already.
        for listener in listeners { epoll_ctl(epoll, EPOLL_CTL_DEL, listener.descriptor, nil) }
    }

    /// New clients are refused from here on.
    func close() {
        ignore()
        listeners = []
    }
}

/// Every bound on what a client may do, in one place.
package struct ServerLimits: Sendable {
    package static let standard = ServerLimits()

    /// What programs send to servers elsewhere is larger than what pages send to a mirror.
    package static let proxy: ServerLimits = {
        var limits = ServerLimits()
        limits.bodyByteCount = 64 * 1024 * 1024
        limits.passedByteCount = 1 << 50
        return limits
    }()

    /// A mirror's portal takes archives, which are led to the disk while they come.
    package static let mirror: ServerLimits = {
        var limits = ServerLimits()
        limits.passedByteCount = 1 << 50
        return limits
    }()

    // MARK: What it sends

    package var headByteCount = 64 * 1024
    package var fieldCount = 200
    package var targetByteCount = 32 * 1024
    package var bodyByteCount = 1024 * 1024
    /// All that have not come whole together, of one thread's clients: who goes beyond that is told to come again.
    package var uploadsByteCount = 256 * 1024 * 1024
    /// Longer bodies, up to so many bytes, go to their server while they come, where the responder leads
    /// them there.
    package var passedByteCount = 0
    /// Of what stands around a chunked body: extensions of its chunks, and fields behind it.
    package var trailerByteCount = 16 * 1024

    // MARK: How many there are

    var connectionsPerThread = 8_000
    /// Who comes when there are as many is told so; beyond so many of them, nobody is told anything.
    var refusedConnections = 64
    /// Answers to requests that came at once are sent together, up to so many.
    var queuedAnswerCount = 32
    /// How much is read from one client before the others get their turn.
    var readSize = 64 * 1024
    /// How much of files is sent to one client before the others get their turn.
    var turnByteCount = 4 * 1024 * 1024

    // MARK: How long it may take, in milliseconds

    /// A head must be whole so long after its first byte.
    var headTime: Int64 = 20_000
    /// Neither a body may stand still for so long, nor the taking of an answer.
    var stallTime: Int64 = 60_000
    /// Bytes a second that a client must send or take on average, once `stallTime` has passed.
    var leastRate: Int64 = 500
    /// A client that asks for nothing is kept for so long.
    var idleTime: Int64 = 60_000
    /// And for so long when others wait for a place.
    var crowdedIdleTime: Int64 = 2_000
    /// How long, and for how many bytes, a client that was told the end is listened to.
    var lingerTime: Int64 = 5_000
    var lingerByteCount = 16 * 1024 * 1024
    /// How long a stop waits for answers that are under way.
    var stopTime: Int64 = 5_000
    /// And for another request of a client that has asked for something before: long enough for one that was sent
    /// when the stop began.
    var stopIdleTime: Int64 = 50
    /// And for the first request of a client that has connected.
    var stopConnectTime: Int64 = 1_000

    /// How often the times are looked at: often enough for the shortest.
    var lookInterval: Int64 {
        let shortest = min(headTime, stallTime, idleTime, lingerTime, stopTime)
        return min(max(shortest / 4, 10), 1000)
    }
}
