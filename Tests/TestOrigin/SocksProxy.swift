import Glibc

/// A SOCKS5 proxy (RFC 1928) that connects all clients to one loopback port, regardless of their destination.
package final class SocksProxy: Sendable {
    package let port: Int
    private let listener: Socket
    private let target: Int
    private let shared = Monitor(State())

    private struct State {
        var sockets: [Socket] = []
        var threads: [pthread_t] = []
        var destinations: [String] = []
        var isStopping = false
    }

    package init(to target: Int) throws(TestError) {
        (listener, port) = try Socket.listening(on: .ipv4)
        self.target = target
        let (listener, shared) = (listener, shared)
        let acceptor = startThread {
            while let client = listener.accepted() {
                shared.withLock { state in
                    if state.isStopping { return }
                    guard let thread = startThread({ Self.serve(client, to: target, shared) }) else { return }
                    state.sockets.append(client)
                    state.threads.append(thread)
                }
            }
        }
        guard let acceptor else { throw TestError("starting the proxy's thread") }
        shared.withLock { $0.threads.append(acceptor) }
    }

    deinit {
        shared.withLock { $0.isStopping = true }
        listener.shutDown()
        // A thread that has just started may still add its second socket.
        while let thread = nextThread() { pthread_join(thread, nil) }
    }

    private func nextThread() -> pthread_t? {
        shared.withLock { state in
            for socket in state.sockets { socket.shutDown() }
            return state.threads.popLast()
        }
    }

    /// The destinations that clients requested, such as `example.com:80`.
    package var destinations: [String] { shared.withLock { $0.destinations } }

    private static func serve(_ client: Socket, to target: Int, _ shared: Monitor<State>) {
        defer { client.shutDown() }
        var bytes: [UInt8] = []
        func read(_ count: Int) -> [UInt8]? {
            while bytes.count < count { guard case .bytes = client.receive(into: &bytes) else { return nil } }
            defer { bytes.removeFirst(count) }
            return Array(bytes[..<count])
        }
        guard let hello = read(2), hello[0] == 5, read(Int(hello[1])) != nil, client.send([5, 0]),
            let request = read(4), request[1] == 1
        else { return }
        var host: String
        switch request[3] {
        case 1:
            guard let address = read(4) else { return }
            host = address.map { String($0) }.joined(separator: ".")
        case 3:
            guard let length = read(1), let name = read(Int(length[0])) else { return }
            host = String(decoding: name, as: UTF8.self)
        default:
            return
        }
        guard let port = read(2) else { return }
        host += ":\(Int(port[0]) << 8 | Int(port[1]))"
        shared.withLock { $0.destinations.append(host) }
        guard let server = try? Socket.connected(to: .ipv4, port: target) else { return }
        defer { server.shutDown() }
        let isStopping = shared.withLock { state in
            state.sockets.append(server)
            return state.isStopping
        }
        guard !isStopping, client.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]), server.send(bytes[...]) else {
            return
        }
        let back = startThread {
            copy(from: server, to: client)
            client.shutDown()
        }
        copy(from: client, to: server)
        server.shutDown()
        if let back { pthread_join(back, nil) }
    }

    private static func copy(from source: Socket, to sink: Socket) {
        var bytes: [UInt8] = []
        while case .bytes = source.receive(into: &bytes), sink.send(bytes[...]) { bytes = [] }
    }
}
