/// A scripted web server on loopback, inside the test's own process.
///
///     let origin = try TestOrigin()
///     origin.on("/", .page("<a href=next>next</a>"))
///     origin.on("/next", .failure(503), .page("second time lucky"))
///     origin.on("/echo") { .file($0.body, type: "text/plain") }
///
/// One thread a connection. It stops, with all its threads joined, at `stop()` or when the last reference
/// goes; a handler must therefore not capture its own origin, except weakly.
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

    /// Ends every connection and joins every thread. Whoever connects afterwards is refused.
    package func stop() { server.stop() }

    /// "http://127.0.0.1:49152"
    package var base: String { "http://\(loopback.host):\(port)" }

    package func url(_ target: String) -> String { base + target }

    // MARK: - Script

    /// Answers `target` by a closure, which runs on the connection's thread.
    ///
    /// A target with a query is that one only; one without stands for every query of its path that has no own
    /// answer.
    package func on(_ target: String, _ handler: @escaping @Sendable (OriginRequest) -> OriginAnswer) {
        server.state.withLock { $0.routes[target] = .handler(handler) }
    }

    /// Answers `target` by these in turn, and then again and again by the last.
    package func on(_ target: String, _ answers: OriginAnswer...) {
        server.state.withLock { $0.routes[target] = .turns(answers[...]) }
    }

    /// Answers what no route is for, before the folders are asked; nil goes on to them.
    package func otherwise(_ handler: @escaping @Sendable (OriginRequest) -> OriginAnswer?) {
        server.state.withLock { $0.fallback = handler }
    }

    /// Serves the files of a folder below a path, with types by extension, validators and ranges.
    package func serve(folder: String, at prefix: String = "/", adding fields: [(String, String)] = []) {
        let folder = ServedFolder(
            root: folder, prefix: prefix.hasSuffix("/") ? prefix : prefix + "/", fields: fields)
        server.state.withLock { $0.folders.append(folder) }
    }

    /// Keeps the answers to `target` back until `release` lets them go.
    package func hold(_ target: String) {
        server.state.withLock { _ = $0.held.insert(target) }
    }

    package func release(_ target: String) {
        server.state.withLock { _ = $0.held.remove(target) }
    }

    // MARK: - Record

    /// Everything asked so far, in the order in which the heads were complete.
    package var requests: [OriginRequest] { server.state.withLock { $0.requests } }

    package func requests(to target: String) -> [OriginRequest] { requests.filter { $0.target == target } }

    /// How many connections were ever taken.
    package var connectionCount: Int { server.state.withLock { $0.connectionCount } }

    /// How many connections are open now.
    package var openConnectionCount: Int { server.state.withLock { $0.connections.count } }

    /// Starts the record anew; connections keep their numbers.
    package func forgetRequests() {
        server.state.withLock { $0.requests = [] }
    }

    /// Waits until `count` requests have come, and says whether they did in time.
    package func waitForRequests(
        _ count: Int, to target: String? = nil, within limit: Duration = .seconds(120)
    ) -> Bool {
        server.state.wait(limit) { state in
            guard let target else { return state.requests.count >= count }
            return state.requests.count { $0.target == target } >= count
        }
    }

    /// Waits until no connection is open, and says whether it came to that in time.
    package func waitUntilIdle(within limit: Duration = .seconds(120)) -> Bool {
        server.state.wait(limit) { $0.connections.isEmpty }
    }
}
