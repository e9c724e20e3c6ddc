internal import CLinux
internal import Glibc
internal import System
package import TLS

/// An HTTP/1.1 server, with or without TLS.
///
/// Each of its threads has its own event loop, listeners, clients and responder, so threads share nothing while they
/// serve. The listeners of all threads use the same port (`SO_REUSEPORT`), and the kernel distributes new clients
/// among them. The server stops when `stopAndWait` is called; its owner must do that before releasing it.
///
///     let server = try HTTPServer(port: 8080, threadCount: 2) { port in MyResponder(port) }
///     server.stopAndWait()
package final class HTTPServer: Sendable {
    package let port: UInt16
    private let stop: StopSignal
    private let threads: [NamedThread]

    /// Starts the threads, which accept clients at once.
    ///
    /// - Parameters:
    ///   - port: The port; 0 lets the kernel choose one.
    ///   - security: The TLS configuration for all clients; nil for plain http.
    ///   - responder: Makes the responder of each thread. It is called once per thread, with the port.
    /// - Throws: `ServerError` if the port cannot be used or a thread cannot be started.
    package init(
        port: UInt16, threadCount: Int, address: ListenAddress = .loopback, limits: ServerLimits = .standard,
        security: TLSServer? = nil,
        responder: (UInt16) throws(ServerError) -> any Responder
    ) throws(ServerError) {
        let listeners = try Self.makeListeners(on: address, port: port, threadCount: max(1, threadCount))
        let chosen = listeners[0][0].port
        let stop: StopSignal
        do throws(SystemError) { stop = try StopSignal() } catch { throw ServerError(error) }
        var loops: [LoopTransfer] = []
        for group in listeners {
            loops.append(
                LoopTransfer(
                    loop: try EventLoop(
                        group, stop: stop, limits: limits, security: security,
                        responder: try responder(chosen)))
            )
        }
        var threads: [NamedThread] = []
        for (number, transfer) in loops.enumerated() {
            do throws(SystemError) {
                threads.append(try NamedThread.start("larder-serve-\(number + 1)") { transfer.loop.run() })
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

    /// Gives the stop signal, and returns at once.
    func beginStop() { stop.give() }

    /// Makes the listeners of each thread, all on one port. Port 0 lets the kernel choose.
    private static func makeListeners(
        on address: ListenAddress, port: UInt16, threadCount: Int
    ) throws(ServerError) -> [[ListeningSocket]] {
        // The port that the kernel chooses for the IPv4 address may be in use on the IPv6 address. Then another
        // one is chosen; 16 attempts are more than enough.
        for _ in 0..<(port == 0 ? 16 : 0) {
            do throws(ServerError) {
                return try openListeners(on: address, port: 0, threadCount: threadCount)
            } catch {
                guard error.code == EADDRINUSE else { throw error }
            }
        }
        return try openListeners(on: address, port: port, threadCount: threadCount)
    }

    /// Makes the listeners of each thread on the port that was given, or on one that the kernel chooses once.
    private static func openListeners(
        on address: ListenAddress, port: UInt16, threadCount: Int
    ) throws(ServerError) -> [[ListeningSocket]] {
        // `SO_REUSEPORT` would also let this server share the port with another server of this user. So the sockets of the
        // first thread listen without that option, which only one program can do on a port. They get the option
        // afterwards, for the sockets of the other threads.
        let first = try ListeningSocket.open(on: address, port: port, isShared: false)
        guard threadCount > 1 else { return [first] }
        for listener in first { try listener.share() }
        var listeners = [first]
        for _ in 1..<threadCount {
            listeners.append(try ListeningSocket.open(on: address, port: first[0].port, isShared: true))
        }
        return listeners
    }

    /// Moves a loop to its thread. Safe, because that thread is the only one that uses the loop from then on.
    private struct LoopTransfer: @unchecked Sendable {
        let loop: EventLoop
    }
}

/// The listeners of one event loop, which are watched all together or not at all. Only the loop's thread uses it.
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
    func startWatching() -> Bool {
        areWatched = listeners.allSatisfy { listener in
            larder_epoll_add(epoll, listener.descriptor, EPOLLIN.rawValue, UInt64(listener.descriptor)) == 0
                || errno == EEXIST
        }
        return areWatched
    }

    /// Leaves new clients in the kernel's accept queue.
    func stopWatching() {
        areWatched = false
        // Fails only for a listener that is not being watched.
        for listener in listeners { epoll_ctl(epoll, EPOLL_CTL_DEL, listener.descriptor, nil) }
    }

    /// Closes the listeners, so that new clients are refused.
    func close() {
        stopWatching()
        listeners = []
    }
}

/// The limits on what clients may send, how many may connect, and how long they may take.
package struct ServerLimits: Sendable {
    package static let standard = ServerLimits()

    /// The limits of a proxy. Programs send larger bodies to origins than pages do to a mirror.
    package static let proxy: ServerLimits = {
        var limits = ServerLimits()
        limits.maxBufferedBodyBytes = 64 * 1024 * 1024
        limits.maxStreamedBodyBytes = 1 << 50
        return limits
    }()

    /// The limits of a mirror. The portal accepts archives, which are written to disk while they arrive.
    package static let mirror: ServerLimits = {
        var limits = ServerLimits()
        limits.maxStreamedBodyBytes = 1 << 50
        return limits
    }()

    // MARK: Sizes of requests

    /// The maximum size of a head. A longer one gets a 431.
    package var maxHeadBytes = 64 * 1024
    /// The maximum number of header fields. More of them get a 431.
    package var maxFields = 200
    /// The maximum length of a request target. A longer one gets a 414.
    var maxTargetBytes = 32 * 1024
    /// The maximum size of a body that is buffered until it is complete. A longer one is passed on while it
    /// arrives, if `maxStreamedBodyBytes` and the responder allow that.
    package var maxBufferedBodyBytes = 1024 * 1024
    /// The maximum size of all incomplete bodies of one thread's clients together. Beyond it, a client gets a
    /// 503.
    var maxBufferedUploadBytes = 256 * 1024 * 1024
    /// The maximum size of a body that is passed on while it arrives. A longer one gets a 413; 0 refuses all
    /// bodies that are longer than `maxBufferedBodyBytes`.
    var maxStreamedBodyBytes = 0
    /// The maximum size of the chunk extensions and trailer fields of a chunked body. More of them get a 431.
    var maxTrailerBytes = 16 * 1024

    // MARK: Clients, and their share of a thread

    /// The maximum number of connections of a thread. Beyond it, idle clients are disconnected sooner; if that
    /// does not suffice, new clients get a 503.
    var maxConnectionsPerThread = 8_000
    /// The maximum number of clients above `maxConnectionsPerThread` that get a 503. Further connections are
    /// closed without an answer.
    var maxRefusedConnections = 64
    /// The maximum number of answers to pipelined requests that are queued. Beyond it, they are sent before
    /// the next request is parsed.
    var maxQueuedAnswers = 32
    /// The maximum number of bytes that are read from one client in its turn.
    var maxBytesPerRead = 64 * 1024
    /// The maximum number of file bytes that are sent to one client in its turn. Then the other clients come
    /// first.
    var maxFileBytesPerTurn = 4 * 1024 * 1024

    // MARK: Times

    /// The maximum time from the first byte of a head to its last. Then the client gets a 408.
    var headTimeoutMilliseconds: Int64 = 20_000
    /// The maximum time without progress in receiving a body or sending an answer. Then the client gets a 408,
    /// or is disconnected.
    var stallTimeoutMilliseconds: Int64 = 60_000
    /// The minimum average rate at which a client must send or receive, after a grace period of
    /// `stallTimeoutMilliseconds`. Slower clients are treated like stalled ones.
    var minBytesPerSecond: Int64 = 500
    /// The time after which a client without a request is disconnected.
    var idleTimeoutMilliseconds: Int64 = 60_000
    /// The same while the thread has reached its maximum number of connections.
    var crowdedIdleTimeoutMilliseconds: Int64 = 2_000
    /// The maximum time for which a connection lingers after this side has ended it.
    var lingerTimeoutMilliseconds: Int64 = 5_000
    /// The maximum number of bytes that a lingering client may send. Then it is disconnected.
    var maxLingerBytes = 16 * 1024 * 1024
    /// The maximum time that a stop waits for answers in progress.
    var stopTimeoutMilliseconds: Int64 = 5_000
    /// The time that a stop waits for another request of a client that has sent one before. It is long enough
    /// for a request that was sent when the stop began.
    var stopIdleTimeoutMilliseconds: Int64 = 50
    /// The time that a stop waits for the first request of a client that has connected.
    var stopFirstRequestTimeoutMilliseconds: Int64 = 1_000

    /// The interval at which the time limits are checked: often enough for the shortest of them.
    var timeoutCheckIntervalMilliseconds: Int64 {
        let shortest = min(
            headTimeoutMilliseconds, stallTimeoutMilliseconds, idleTimeoutMilliseconds,
            lingerTimeoutMilliseconds,
            stopTimeoutMilliseconds)
        return min(max(shortest / 4, 10), 1000)
    }
}
