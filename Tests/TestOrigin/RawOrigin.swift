import Glibc

/// A server whose script sends arbitrary bytes for any request, such as a slow head. It is for responses that
/// `OriginAnswer` does not support.
///
///     let origin = try RawOrigin { client in
///         client.send("HTTP/1.1 200 OK\r\n") && client.pause(.seconds(1)) && client.send("X-A: 1\r\n")
///     }
package final class RawOrigin: Sendable {
    package let port: Int
    private let listener: Socket
    private let shared = Monitor(State())

    fileprivate struct State {
        var sockets: [Socket] = []
        var threads: [pthread_t] = []
        var heads: [[UInt8]] = []
        var isStopping = false
    }

    /// A connection whose first request head was read.
    package struct Client: Sendable {
        fileprivate let socket: Socket
        fileprivate let shared: Monitor<State>
        package let firstHead: String
        /// The bytes received after the last head.
        fileprivate let received: Monitor<[UInt8]>

        /// Sends text. Returns false if the peer has closed the connection.
        package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        package func send(_ bytes: [UInt8]) -> Bool { socket.send(bytes[...]) }

        /// The head of the next request, even if the last one was not answered; nil if none arrives in time
        /// or the peer has closed the connection.
        package func nextHead(within limit: Duration? = nil) -> String? {
            received.withLock { bytes in
                while endOfHead(bytes) == nil {
                    guard case .bytes = socket.receive(into: &bytes, within: limit) else { return nil }
                }
                guard let end = endOfHead(bytes) else { return nil }
                defer { bytes.removeFirst(end.next) }
                return String(decoding: bytes[..<end.head], as: UTF8.self)
            }
        }

        /// Waits. Returns false if the origin stops meanwhile.
        package func pause(_ duration: Duration) -> Bool { !shared.wait(duration) { $0.isStopping } }
    }

    package init(_ script: @escaping @Sendable (Client) -> Bool) throws(TestError) {
        (listener, port) = try Socket.listening(on: .ipv4)
        let (listener, shared) = (listener, shared)
        let acceptor = startThread {
            while let socket = listener.accepted() {
                shared.withLock { state in
                    if state.isStopping { return }
                    let thread = startThread {
                        var head: [UInt8] = []
                        while endOfHead(head) == nil, case .bytes = socket.receive(into: &head) {}
                        shared.withLock { $0.heads.append(head) }
                        let end = endOfHead(head) ?? (head.count, head.count)
                        let client = Client(
                            socket: socket, shared: shared,
                            firstHead: String(decoding: head[..<end.head], as: UTF8.self),
                            received: Monitor(Array(head[end.next...])))
                        _ = script(client)
                        socket.shutDown()
                    }
                    guard let thread else { return }
                    state.sockets.append(socket)
                    state.threads.append(thread)
                }
            }
        }
        guard let acceptor else { throw TestError("starting the origin's thread") }
        shared.withLock { $0.threads.append(acceptor) }
    }

    deinit {
        shared.withLock { $0.isStopping = true }
        listener.shutDown()
        let threads = shared.withLock { state in
            for socket in state.sockets { socket.shutDown() }
            return state.threads
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    package func url(_ target: String) -> String { "http://127.0.0.1:\(port)\(target)" }

    /// The first bytes that each client sent, with the first request head, in the order received.
    package var heads: [String] {
        shared.withLock { state in state.heads.map { String(decoding: $0, as: UTF8.self) } }
    }
}
