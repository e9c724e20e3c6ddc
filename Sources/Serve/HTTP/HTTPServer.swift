internal import Glibc
internal import System

/// A server whose threads each have listeners, clients and a responder of their own.
final class HTTPServer: Sendable {
    let port: UInt16
    private let stop: StopSignal
    private let threads: [NamedThread]

    /// Listens from here on. Port 0 lets the kernel choose; `responder` is told which it is.
    init(
        port: UInt16, threadCount: Int, address: ListenAddress = .loopback, limits: ServerLimits = .standard,
        responder: (UInt16) throws(ServerError) -> any Responder
    ) throws(ServerError) {
        let listeners = try Self.listeners(on: address, port: port, threadCount: max(1, threadCount))
        let chosen = listeners[0][0].port
        let stop: StopSignal
        do throws(SystemError) { stop = try StopSignal() } catch { throw ServerError(error) }
        var loops: [Lent] = []
        for group in listeners {
            loops.append(Lent(loop: try EventLoop(group, stop: stop, limits: limits, responder: try responder(chosen))))
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

    /// Stops taking clients, ends what is under way, and returns when every thread is done. From any thread, and as
    /// often as one likes.
    func stopAndWait() {
        stop.give()
        for thread in threads { thread.join() }
    }

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
        // Listeners that share a port would also share it with another server of this user, so the first ask alone.
        let chosen = try ListeningSocket.all(on: address, port: port, isShared: false)[0].port
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
