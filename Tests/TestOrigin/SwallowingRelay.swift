import Glibc

/// A TCP relay to a Unix socket that can drop all packets from its clients for a while. It simulates a
/// PostgreSQL server whose machine has failed without closing its connections.
package final class SwallowingRelay: Sendable {
    /// Whether this user may drop packets. Some systems allow it only to root.
    package static let isPossible = (try? Socket.listening(on: .ipv4))?.socket.swallow(true) ?? false

    package let port: Int
    private let listener: Socket
    private let shared = Monitor(State())

    private struct State {
        var sockets: [Socket] = []
        var threads: [pthread_t] = []
        var swallows = false
    }

    /// - Parameter path: the path of the Unix socket.
    package init(to path: String) throws(TestError) {
        (listener, port) = try Socket.listening(on: .ipv4)
        let (listener, shared) = (listener, shared)
        let acceptor = startThread {
            while let client = listener.accepted() {
                guard let server = try? Socket.connected(to: path) else { continue }
                let ways = [(client, server), (server, client)].compactMap { from, to in
                    startThread {
                        var bytes: [UInt8] = []
                        while case .bytes = from.receive(into: &bytes), to.send(bytes[...]) { bytes = [] }
                        to.shutDown()
                    }
                }
                shared.withLock { state in
                    client.swallow(state.swallows)
                    state.sockets += [client, server]
                    state.threads += ways
                }
            }
        }
        guard let acceptor else { throw TestError("starting a relay's thread") }
        shared.withLock { $0.threads.append(acceptor) }
    }

    deinit {
        listener.shutDown()
        let threads = shared.withLock { state in
            for socket in state.sockets { socket.shutDown() }
            return state.threads
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    /// Sets whether packets from clients are dropped without an acknowledgement.
    package func swallow(_ swallows: Bool) {
        shared.withLock { state in
            state.swallows = swallows
            for socket in state.sockets { socket.swallow(swallows) }
        }
    }
}
