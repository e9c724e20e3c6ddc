import Glibc

/// A TCP relay to a Unix socket that can drop all packets from its clients for a while, or cut a connection before
/// the answer to a commit. It simulates a PostgreSQL server whose machine has failed.
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
        /// The bytes that a client must have sent before the commit whose answer is cut off.
        var statementBeforeCut: [UInt8]?
    }

    /// - Parameter path: the path of the Unix socket.
    package init(to path: String) throws(TestError) {
        (listener, port) = try Socket.listening(on: .ipv4)
        let (listener, shared) = (listener, shared)
        let acceptor = startThread {
            while let client = listener.accepted() {
                guard let server = try? Socket.connected(to: path) else { continue }
                let isCut = Monitor(false)
                let ways = [
                    startThread {
                        var (bytes, sent): ([UInt8], [UInt8]) = ([], [])
                        while case .bytes = client.receive(into: &bytes) {
                            sent += bytes
                            if Self.takeCut(shared, after: sent) { isCut.withLock { $0 = true } }
                            guard server.send(bytes[...]) else { break }
                            bytes = []
                        }
                        server.shutDown()
                    },
                    startThread {
                        var bytes: [UInt8] = []
                        while case .bytes = server.receive(into: &bytes), !isCut.withLock({ $0 }),
                            client.send(bytes[...])
                        {
                            bytes = []
                        }
                        client.shutDown()
                    },
                ].compactMap { $0 }
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

    /// Cuts the connection of the client that commits after it has sent the statement, when the server has answered the
    /// commit. Later connections work.
    package func cutAnswer(toCommitAfter statement: String) {
        shared.withLock { $0.statementBeforeCut = Array(statement.utf8) }
    }

    /// Whether the bytes that a client has sent end with the commit whose answer is cut off, which happens once.
    private static func takeCut(_ shared: Monitor<State>, after sent: [UInt8]) -> Bool {
        shared.withLock { state in
            guard let statement = state.statementBeforeCut,
                let range = sent.firstRange(of: statement),
                sent[range.upperBound...].firstRange(of: Array("COMMIT".utf8)) != nil
            else { return false }
            state.statementBeforeCut = nil
            return true
        }
    }

    /// Sets whether packets from clients are dropped without an acknowledgement.
    package func swallow(_ swallows: Bool) {
        shared.withLock { state in
            state.swallows = swallows
            for socket in state.sockets { socket.swallow(swallows) }
        }
    }
}
