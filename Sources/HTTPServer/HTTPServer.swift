internal import CLinux
internal import Glibc
internal import System
package import TLS

/// An HTTP/1.1 server. Each of its threads has its own event loop, listeners, clients and responder.
package final class HTTPServer: Sendable {
    package let port: UInt16
    private let stop: StopSignal
    private let threads: [NamedThread]

    /// Starts to listen. Port 0 lets the kernel choose a port. `responder` is called once per thread, with
    /// the port.
    ///
    /// - Parameter security: The TLS configuration for all clients; nil for plain http.
    package init(
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

    /// Stops accepting clients, ends requests in progress, and returns when every thread has ended. Any
    /// thread may call this, repeatedly.
    package func stopAndWait() {
        beginStop()
        for thread in threads { thread.join() }
    }

    /// Starts to stop, and returns at once.
    func beginStop() { stop.give() }

    /// Makes the listeners of each thread, all on one port.
    private static func listeners(
        on address: ListenAddress, port: UInt16, threadCount: Int
    ) throws(ServerError) -> [[ListeningSocket]] {
        // The port that the kernel chooses on one address may be taken on the other: then it chooses again.
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
        // Listeners that share a port would also share it with another server of this user. So a listener
        // that does not share checks first that the port is free.
        let chosen = try ListeningSocket.all(on: address, port: port, isShared: false, listens: false)[0].port
        var listeners: [[ListeningSocket]] = []
        for _ in 0..<threadCount {
            listeners.append(try ListeningSocket.all(on: address, port: chosen, isShared: true))
        }
        return listeners
    }

    /// Moves a loop to its thread, which is the only one that uses it.
    private struct Lent: @unchecked Sendable {
        let loop: EventLoop
    }
}

/// The listeners of one event loop, which are watched all together or not at all.
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

    /// Registers the listeners for events. Returns false if that fails; `errno` has the reason.
    func watch() -> Bool {
        areWatched = listeners.allSatisfy { listener in
            larder_epoll_add(epoll, listener.descriptor, EPOLLIN.rawValue, UInt64(listener.descriptor)) == 0
                || errno == EEXIST
        }
        return areWatched
    }

    /// Leaves new clients in the kernel's accept queue.
    func ignore() {
        areWatched = false
        // The only ways to fail are to be out of the queue already.
        for listener in listeners { epoll_ctl(epoll, EPOLL_CTL_DEL, listener.descriptor, nil) }
    }

    /// Closes the listeners, so that new clients are refused.
    func close() {
        ignore()
        listeners = []
    }
}

/// All limits on what clients may do.
package struct ServerLimits: Sendable {
    package static let standard = ServerLimits()

    /// The limits of a proxy. Programs send larger bodies to origins than pages do to a mirror.
    package static let proxy: ServerLimits = {
        var limits = ServerLimits()
        limits.bodyByteCount = 64 * 1024 * 1024
        limits.passedByteCount = 1 << 50
        return limits
    }()

    /// The limits of a mirror. The portal accepts archives, which are written to disk while they arrive.
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
    /// The maximum of all incomplete bodies of one thread's clients, in bytes. Beyond it, a client gets a
    /// 503.
    package var uploadsByteCount = 256 * 1024 * 1024
    /// The maximum size of a body that is longer than `bodyByteCount`. Such a body is passed on while it
    /// arrives, if the responder accepts it; otherwise the client gets a 413.
    package var passedByteCount = 0
    /// The maximum size of chunk extensions and trailer fields of a chunked body.
    package var trailerByteCount = 16 * 1024

    // MARK: How many there are

    var connectionsPerThread = 8_000
    /// The number of clients above `connectionsPerThread` that are refused with a 503. Any further
    /// connections are closed without an answer.
    var refusedConnections = 64
    /// The maximum number of queued answers to pipelined requests before they are sent.
    var queuedAnswerCount = 32
    /// The maximum number of bytes that are read from one client in its turn.
    var readSize = 64 * 1024
    /// The maximum number of file bytes that are sent to one client in its turn.
    var turnByteCount = 4 * 1024 * 1024

    // MARK: How long it may take, in milliseconds

    /// The maximum time from the first byte of a head to its last.
    var headTime: Int64 = 20_000
    /// The maximum time without progress in receiving a body or sending an answer.
    var stallTime: Int64 = 60_000
    /// The minimum average rate, in bytes per second, at which a client must send or receive once `stallTime`
    /// has passed.
    var leastRate: Int64 = 500
    /// The time after which a client without a request is disconnected.
    var idleTime: Int64 = 60_000
    /// The same while the thread has reached its maximum number of connections.
    var crowdedIdleTime: Int64 = 2_000
    /// The maximum time, and the maximum number of bytes, for which a connection lingers after this side has
    /// ended it.
    var lingerTime: Int64 = 5_000
    var lingerByteCount = 16 * 1024 * 1024
    /// The maximum time that a stop waits for answers in progress.
    var stopTime: Int64 = 5_000
    /// The time that a stop waits for another request of a client that has sent one before. It is long enough
    /// for a request that was sent when the stop began.
    var stopIdleTime: Int64 = 50
    /// The time that a stop waits for the first request of a client that has connected.
    var stopConnectTime: Int64 = 1_000

    /// The interval at which the time limits are checked.
    var lookInterval: Int64 {
        let shortest = min(headTime, stallTime, idleTime, lingerTime, stopTime)
        return min(max(shortest / 4, 10), 1000)
    }
}
