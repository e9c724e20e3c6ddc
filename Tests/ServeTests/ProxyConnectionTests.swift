import Glibc
import Synchronization
import TLS
import TestOrigin
import Testing

@testable import HTTPServer
@testable import Mirror

/// Hostile, slow and silent clients of a proxy, on its port and inside a CONNECT tunnel.
@Suite struct ProxyConnectionTests {
    private let folder: TemporaryFolder
    private let security: TLSServer
    private let targets = Targets()

    init() throws {
        folder = try TemporaryFolder()
        security = try TLSServer(CertificateAuthority.openOrCreate(in: folder.path))
    }

    /// The destination of a client's requests: the proxy's port, or a tunnel through it.
    enum Way: CaseIterable {
        case port, tunnel
    }

    private final class Targets: Sendable {
        let list = Mutex<[String]>([])
    }

    private func script(_ change: (inout ServerLimits) -> Void = { _ in }) throws -> HTTPScript {
        var limits = ServerLimits.proxy.patient
        change(&limits)
        return try HTTPScript(
            limits,
            responder: ScriptedProxy(security) { [targets] target in
                targets.list.withLock { $0.append(target) }
            })
    }

    private func client(_ script: HTTPScript, by way: Way) throws -> RawClient {
        let client = try script.client()
        guard way == .tunnel else { return client }
        try client.send("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n")
        #expect(try client.response(toHead: true).status == 200)
        return client
    }

    /// A new client of a server with short time limits. Throws if it was disconnected, or if the server is full.
    private func newcomer(_ script: HTTPScript, by way: Way) throws -> RawClient {
        let client = try script.client()
        guard way == .tunnel else { return client }
        try client.send("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n")
        guard try client.response(toHead: true).status == 200 else { throw HangError("a tunnel") }
        return client
    }

    /// The text that a new client receives from a server with short time limits.
    private func getAfter(_ script: HTTPScript, by way: Way) throws -> String {
        try untilNotCutOff { try newcomer(script, by: way).get(url("/after", by: way), host: "h").text }
    }

    private func url(_ path: String, by way: Way) -> String { way == .tunnel ? path : "http://h" + path }

    // MARK: - Request smuggling

    /// A CONNECT inside a tunnel, and a CONNECT whose body hides a request, are refused.
    private static let hidingTunnels = [
        "CONNECT g:443 HTTP/1.1\r\nHost: g:443\r\nContent-Length: 40\r\n\r\n",
        "CONNECT g:443 HTTP/1.1\r\nHost: g:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ]

    @Test(arguments: HostileRequests.hiding + hidingTunnels, Way.allCases)
    func `a request that could smuggle another one gets a 400 and ends the connection`(text: String, way: Way)
        throws
    {
        let script = try script()
        let client = try client(script, by: way)
        let text = way == .tunnel ? text : text.replacing(" /a ", with: " http://h/a ")
        try client.send(text + "GET \(url("/hidden", by: way)) HTTP/1.1\r\nHost: h\r\n\r\n")
        let answer = try client.response()
        #expect(answer.status == (way == .tunnel && text.hasPrefix("CONNECT") ? 501 : 400))
        #expect(answer["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
        #expect(targets.list.withLock { $0.isEmpty })
    }

    @Test(arguments: HostileRequests.refusedHeads, Way.allCases)
    func `an ambiguous request head gets a 400 and ends the connection`(
        head: (text: String, status: Int), way: Way
    ) throws {
        // The port of a proxy accepts CONNECT and absolute URLs.
        let isForPort = head.text.hasPrefix("CONNECT ") || head.text.hasPrefix("GET http://a?b ")
        guard way == .tunnel || !isForPort else { return }
        let script = try script()
        let client = try client(script, by: way)
        try client.send(head.text)
        #expect(try client.response().status == head.status)
        #expect(try client.readToEnd().isEmpty)
        #expect(targets.list.withLock { $0.isEmpty })
    }

    @Test(arguments: HostileRequests.ambiguousChunks, Way.allCases)
    func `ambiguous chunks get a 400 and end the connection`(chunks: String, way: Way) throws {
        let script = try script()
        let client = try client(script, by: way)
        let line = "POST \(url("/a", by: way)) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        try client.send(line + chunks)
        #expect(try client.response().status == 400)
        #expect(try client.readToEnd().isEmpty)
        #expect(targets.list.withLock { $0.isEmpty })
    }

    @Test(arguments: Way.allCases)
    func `a request that arrives byte by byte is parsed like one that arrives at once`(way: Way) throws {
        let script = try script()
        let client = try client(script, by: way)
        let line = "POST \(url("/a", by: way)) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        for byte in "\(line)2\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n".utf8 { try client.send([byte]) }
        #expect(try client.response().text == "/a")
    }

    @Test(arguments: Way.allCases)
    func `pipelined requests with and without bodies are answered in order`(way: Way) throws {
        let script = try script()
        let client = try client(script, by: way)
        let requests = (0..<100).map { number in
            number % 2 == 0
                ? "POST \(url("/\(number)", by: way)) HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET "
                : "GET \(url("/\(number)", by: way)) HTTP/1.1\r\nHost: h\r\n\r\n"
        }
        try client.send(requests.joined())
        for number in 0..<100 { #expect(try client.response().text == "/\(number)") }
    }

    @Test func `requests sent right after CONNECT are answered inside the tunnel`() throws {
        let script = try script()
        let client = try script.client()
        try client.send(
            "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        )
        #expect(try client.response(toHead: true).status == 200)
        #expect(try client.response().text == "/a")
        #expect(try client.response().text == "/b")
    }

    // MARK: - Slow clients

    @Test(
        arguments: [
            "GET / HT", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc",
        ], Way.allCases)
    func `a request that stalls gets a 408`(start: String, way: Way) throws {
        let script = try script { ($0.headTimeoutMilliseconds, $0.stallTimeoutMilliseconds) = (100, 100) }
        let client = try client(script, by: way)
        try client.send(start)
        #expect(try client.response().status == 408)
        #expect(try client.readToEnd().isEmpty)
    }

    @Test(arguments: Way.allCases)
    func `a head that takes too long gets a 408, however steadily it arrives`(way: Way) throws {
        let script = try script { $0.headTimeoutMilliseconds = 200 }
        let client = try client(script, by: way)
        // Ends with the 408, or with a failed write after the proxy has closed the connection.
        try client.send("GET \(url("/", by: way)) HTTP/1.1\r\n")
        let refusal = try script.drip(Array("X: y\r\n".utf8), by: client)
        #expect(refusal == nil || refusal?.status == 408)
    }

    @Test(arguments: Way.allCases)
    func `a client that does not receive its response is disconnected, and others are served meanwhile`(
        way: Way
    ) throws {
        let script = try script { ($0.maxConnectionsPerThread, $0.stallTimeoutMilliseconds) = (2, 200) }
        let other = try client(script, by: way)
        let client = try client(script, by: way)
        try client.send("GET \(url("/large", by: way)) HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try other.get(url("/after", by: way), host: "h").text == "/after")
        // A third client can connect as soon as the proxy has disconnected the one that reads nothing. The third
        // is disconnected too if this machine pauses the test for longer than the limit, so it tries again.
        let body = try untilNotCutOff { () -> [UInt8]? in
            let answer = try newcomer(script, by: way).get(url("/large", by: way), host: "h")
            return answer.status == 200 ? answer.body : nil
        }
        #expect(body == ScriptedProxy.large)
        let bytes = (try? client.readToEnd()) ?? []
        #expect(bytes.count < ScriptedProxy.large.count)
        #expect(try other.get(url("/after", by: way), host: "h").text == "/after")
    }

    @Test(arguments: Way.allCases)
    func
        `at the connection limit idle clients are disconnected, and without any the newest client gets a 503`(
            way: Way
        ) throws
    {
        let script = try script {
            ($0.maxConnectionsPerThread, $0.crowdedIdleTimeoutMilliseconds, $0.stopTimeoutMilliseconds) = (
                3, 100, 40
            )
        }
        let line = "GET \(url("/a", by: way)) HTTP/1.1\r\n"
        let clients = try (0..<3).map { _ in
            // A client is disconnected if this machine pauses the test before the request begins; then it tries again.
            try untilNotCutOff {
                let client = try newcomer(script, by: way)
                try client.send("\(line)Host: h\r\n\r\n\(line)")
                return try client.response().text == "/a" ? client : nil
            }
        }
        // Each has begun another request, so that none is idle.
        let refused = try script.client()
        #expect(try refused.response().status == 503)
        for client in clients {
            try client.send("Host: h\r\n\r\n")
            #expect(try client.response().text == "/a")
        }
        // As soon as one of them has been idle for long enough, it is disconnected. The first one has been for longest.
        let text = try untilNotCutOff {
            let answer = try newcomer(script, by: way).get(url("/after", by: way), host: "h")
            return answer.status == 200 ? answer.text : nil
        }
        #expect(text == "/after")
        #expect(try clients[0].readToEnd().isEmpty)
    }

    /// Incomplete and invalid ClientHello messages.
    @Test(
        arguments: [
            [0x16], [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00],
            [0x16, 0x47, 0x45, 0x54, 0x20, 0x2f, 0x0d, 0x0a],
        ] as [[UInt8]])
    func `a connection without a complete TLS handshake is closed`(bytes: [UInt8]) throws {
        let script = try script {
            ($0.headTimeoutMilliseconds, $0.stallTimeoutMilliseconds, $0.idleTimeoutMilliseconds) = (
                100, 100, 100
            )
        }
        // If this machine pauses the test, the client is disconnected before it has sent the bytes; then it tries again.
        try untilNotCutOff {
            let client = try newcomer(script, by: .tunnel)
            try client.send(bytes)
            _ = try client.readToEnd()
        }
        #expect(try getAfter(script, by: .tunnel) == "/after")
    }

    @Test func `a ClientHello that takes too long ends the connection, however steadily it arrives`() throws {
        let script = try script { ($0.headTimeoutMilliseconds, $0.stallTimeoutMilliseconds) = (200, 200) }
        let client = try client(script, by: .tunnel)
        // A record of 16,000 bytes, which never ends.
        try client.send([0x16, 0x03, 0x01, 0x3e, 0x80, 0x01, 0x00, 0x3e, 0x7c])
        #expect(try script.drip([0], by: client) == nil)
    }

    @Test(arguments: Way.allCases)
    func `silent clients are disconnected, and do not keep others out`(way: Way) throws {
        let script = try script {
            ($0.idleTimeoutMilliseconds, $0.maxConnectionsPerThread, $0.crowdedIdleTimeoutMilliseconds) = (
                100, 3, 50
            )
        }
        let silent = try (0..<3).map { _ in try untilNotCutOff { try newcomer(script, by: way) } }
        for client in silent { #expect(try client.readToEnd().isEmpty) }
        #expect(try getAfter(script, by: way) == "/after")
    }

    // MARK: - Random bytes

    @Test(arguments: Way.allCases)
    func `random bytes end only their own connection`(way: Way) throws {
        let script = try script {
            ($0.headTimeoutMilliseconds, $0.stallTimeoutMilliseconds, $0.idleTimeoutMilliseconds) = (
                100, 100, 100
            )
        }
        var generator = SeededGenerator(way == .port ? 1 : 2)
        for turn in 0..<60 {
            let client = try untilNotCutOff { try newcomer(script, by: way) }
            var bytes = (0..<Int.random(in: 1...4000, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            // Some begin like TLS, and some like a request.
            if turn % 3 == 0 { bytes = [0x16, 0x03, 0x01] + bytes }
            if turn % 3 == 1 { bytes = Array("GET /".utf8) + bytes }
            // The client may have been disconnected already.
            _ = try? client.send(bytes)
            client.closeWriting()
            _ = try? client.readToEnd()
        }
        #expect(try getAfter(script, by: way) == "/after")
    }
}

/// A proxy that responds with the target of the request.
private final class ScriptedProxy: Responder {
    private let security: TLSServer
    private let note: (String) -> Void

    init(_ security: TLSServer, note: @escaping (String) -> Void) {
        self.security = security
        self.note = note
    }

    var isProxy: Bool { true }

    private static let largeAnswer = Answer(status: 200, fields: [], body: large)
    static let large = [UInt8](repeating: 0x61, count: 12_000_000)

    func respond(to request: Request, orDefer _: DeferredReply) -> Reply? {
        note(request.targetText)
        if request.targetText == "/large" { return Reply(answer: Self.largeAnswer) }
        return Reply(answer: .text(200, request.targetText))
    }

    func connect(_: Request) -> ConnectDecision {
        .intercept(Tunnel(host: "h", port: 443, security: security))
    }
}
