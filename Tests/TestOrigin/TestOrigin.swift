/// A scripted web server on loopback, inside the test's own process.
///
///     let origin = try TestOrigin()
///     origin.on("/", .page("<a href=next>next</a>"))
///     origin.on("/next", .failure(503), .page("second time lucky"))
///     origin.on("/echo") { .file($0.body, type: "text/plain") }
///
/// Each connection has a thread. The origin stops and joins all threads on `stop()` or when it is released,
/// so a handler may capture its own origin only weakly.
package final class TestOrigin: Sendable {
    package let port: Int
    package let loopback: Loopback
    private let server: OriginServer

    package init(_ loopback: Loopback = .ipv4) throws(TestError) {
        let (listener, port) = try Socket.listening(on: loopback)
        self.loopback = loopback
        self.port = port
        server = OriginServer(listener)
        try server.start()
    }

    deinit { server.stop() }

    /// Ends all connections and joins all threads. Later connections are refused.
    package func stop() { server.stop() }

    /// The origin as a URL, such as "http://127.0.0.1:49152".
    package var base: String { "http://\(loopback.host):\(port)" }

    package func url(_ target: String) -> String { base + target }

    // MARK: - Script

    /// Responds to `target` with the result of a closure, which runs on the connection's thread.
    ///
    /// A target without a query also matches all queries of its path that have no response of their own.
    package func on(_ target: String, _ handler: @escaping @Sendable (OriginRequest) -> OriginAnswer) {
        server.state.withLock { $0.routes[target] = .handler(handler) }
    }

    /// Responds to `target` with these responses in turn, and then always with the last one.
    package func on(_ target: String, _ answers: OriginAnswer...) {
        server.state.withLock { $0.routes[target] = .turns(answers[...]) }
    }

    /// Responds to requests without a route. If the closure returns nil, the served folders are tried.
    package func otherwise(_ handler: @escaping @Sendable (OriginRequest) -> OriginAnswer?) {
        server.state.withLock { $0.fallback = handler }
    }

    /// Serves the files of a folder below a path, with media types, validators and ranges.
    package func serve(folder: String, at prefix: String = "/", adding fields: [(String, String)] = []) {
        let folder = ServedFolder(
            root: folder, prefix: prefix.hasSuffix("/") ? prefix : prefix + "/", fields: fields)
        server.state.withLock { $0.folders.append(folder) }
    }

    /// Delays the responses to `target` until `release` is called.
    package func hold(_ target: String) {
        server.state.withLock { _ = $0.heldTargets.insert(target) }
    }

    package func release(_ target: String) {
        server.state.withLock { _ = $0.heldTargets.remove(target) }
    }

    // MARK: - Record

    /// All requests so far, in the order in which they were received.
    package var requests: [OriginRequest] { server.state.withLock { $0.requests } }

    package func requests(to target: String) -> [OriginRequest] { requests.filter { $0.target == target } }

    /// The number of connections accepted so far.
    package var connectionCount: Int { server.state.withLock { $0.connectionCount } }

    /// Clears the recorded requests. Connections keep their numbers.
    package func forgetRequests() {
        server.state.withLock { $0.requests = [] }
    }

    /// Waits until `count` requests were received. Returns false if they were not received in time.
    package func waitForRequests(
        _ count: Int, to target: String? = nil, within limit: Duration = .seconds(120)
    ) -> Bool {
        server.state.wait(limit) { state in
            guard let target else { return state.requests.count >= count }
            return state.requests.count { $0.target == target } >= count
        }
    }

    /// Waits until the connection of the first request to `target` is closed. Returns false if that did not happen in time.
    package func waitUntilClosed(_ target: String, within limit: Duration = .seconds(120)) -> Bool {
        server.state.wait(limit) { state in
            guard let request = state.requests.first(where: { $0.target == target }) else { return false }
            return state.connections[request.connection] == nil
        }
    }

    /// Waits until no connection is open. Returns false if that did not happen in time.
    package func waitUntilIdle(within limit: Duration = .seconds(120)) -> Bool {
        server.state.wait(limit) { $0.connections.isEmpty }
    }
}
