internal import Store

/// A server on loopback with a thread, a listener and a responder for each core.
final class HTTPServer: Sendable {
    let port: UInt16
    private let stop: StopSignal
    private let threads: [NamedThread]

    /// Listens on both loopback addresses. Port 0 lets the kernel choose; `responder` is told which it is.
    init(
        port: UInt16, threadCount: Int, responder: (UInt16) throws(ServerError) -> any Responder
    ) throws(ServerError) {
        // Listeners that share a port would also share it with another server of this user, so the first one asks alone.
        let chosen = try ListeningSocket(.ipv4, port: port, isShared: false).port
        let stop = try StopSignal()
        var loops: [Lent] = []
        for _ in 0..<max(1, threadCount) {
            var listeners = [try ListeningSocket(.ipv4, port: chosen, isShared: true)]
            // A machine without IPv6 is served on IPv4 alone.
            if let ipv6 = try? ListeningSocket(.ipv6, port: chosen, isShared: true) { listeners.append(ipv6) }
            loops.append(Lent(loop: try EventLoop(listeners, stop: stop, responder: try responder(chosen))))
        }
        var threads: [NamedThread] = []
        for (number, lent) in loops.enumerated() {
            do throws(StoreError) {
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

    /// Stops taking clients, ends what is under way, and returns when every thread is done. To be called once.
    func stopAndWait() {
        stop.give()
        for thread in threads { thread.join() }
    }

    /// Each loop goes to its own thread and to no other.
    private struct Lent: @unchecked Sendable {
        let loop: EventLoop
    }
}
