import Glibc

/// The part of an origin that its threads share. They must not retain the `TestOrigin`, whose deinitializer
/// stops them.
final class OriginServer: Sendable {
    /// The responses to a target: from a closure, or from a list in turn.
    enum Route {
        case handler(@Sendable (OriginRequest) -> OriginAnswer)
        case turns(ArraySlice<OriginAnswer>)
    }

    /// The state that the threads share, protected by a monitor.
    struct State {
        var routes: [String: Route] = [:]
        var fallback: (@Sendable (OriginRequest) -> OriginAnswer?)?
        var folders: [ServedFolder] = []
        var heldTargets: Set<String> = []
        var requests: [OriginRequest] = []
        var connectionCount = 0
        var connections: [Int: Socket] = [:]
        var threads: [Int: pthread_t] = [:]
        /// The numbers of connections whose threads are about to end, so that they can be joined without
        /// waiting long.
        var ended: [Int] = []
        var acceptor: pthread_t?
        var isStopping = false
    }

    let state = Monitor(State())
    private let listener: Socket

    init(_ listener: Socket) {
        self.listener = listener
    }

    func start() throws(TestError) {
        guard let acceptor = startThread({ self.acceptConnections() }) else {
            throw TestError("starting the origin's thread")
        }
        state.withLock { $0.acceptor = acceptor }
    }

    func stop() {
        let acceptor = state.withLock { state in
            state.isStopping = true
            defer { state.acceptor = nil }
            return state.acceptor
        }
        guard let acceptor else { return }
        listener.shutDown()
        pthread_join(acceptor, nil)
        let threads = state.withLock { state in
            for socket in state.connections.values { socket.shutDown() }
            defer { state.threads = [:] }
            return state.threads.values.map { $0 }
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    private func acceptConnections() {
        while let socket = listener.accepted() {
            joinEnded()
            state.withLock { state in
                if state.isStopping { return }
                state.connectionCount += 1
                let number = state.connectionCount
                let connection = OriginConnection(server: self, socket: socket, number: number)
                // Started under the lock, so that the thread cannot report its end before it is in the table.
                state.threads[number] = startThread {
                    connection.run()
                    self.state.withLock { state in
                        state.connections[number] = nil
                        state.ended.append(number)
                    }
                }
                if state.threads[number] != nil { state.connections[number] = socket }
            }
        }
    }

    private func joinEnded() {
        let threads = state.withLock { state in
            defer { state.ended = [] }
            return state.ended.compactMap { state.threads.removeValue(forKey: $0) }
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    /// Records the request and returns the response; nil if the origin stops meanwhile. Blocks until the
    /// target is released.
    func answer(to request: OriginRequest) -> OriginAnswer? {
        let path = request.path
        typealias Found = (handler: (@Sendable (OriginRequest) -> OriginAnswer)?, turn: OriginAnswer?)
        state.withLock { $0.requests.append(request) }
        state.wait(.seconds(3600)) {
            $0.isStopping || !($0.heldTargets.contains(request.target) || $0.heldTargets.contains(path))
        }
        let (found, fallback, folders, isStopping) = state.withLock { state in
            let key = state.routes[request.target] == nil ? path : request.target
            var found: Found = (nil, nil)
            switch state.routes[key] {
            case .handler(let handler): found.handler = handler
            case .turns(let turns):
                found.turn = turns.first
                if turns.count > 1 { state.routes[key] = .turns(turns.dropFirst()) }
            case nil: break
            }
            return (found, state.fallback, state.folders, state.isStopping)
        }
        if isStopping { return nil }
        if let answer = found.turn ?? found.handler?(request) ?? fallback?(request) { return answer }
        for folder in folders {
            if let answer = folder.answer(to: request) { return answer }
        }
        return .failure(404)
    }
}
