import Glibc

/// A way to a socket of this machine over the network of which everything can be lost for a while: a PostgreSQL
/// behind it is as one whose machine is gone without a word.
package final class SwallowingRelay: Sendable {
    package let port: Int
    private let listener: Socket
    private let shared = Monitor(State())

    private struct State {
        var sockets: [Socket] = []
        var threads: [pthread_t] = []
        var swallows = false
    }

    /// - Parameter path: of the socket to which it leads.
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

    /// Whether what clients send is lost, before anybody acknowledges it.
    package func swallow(_ swallows: Bool) {
        shared.withLock { state in
            state.swallows = swallows
            for socket in state.sockets { socket.swallow(swallows) }
        }
    }
}
