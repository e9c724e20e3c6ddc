import Glibc
import Synchronization
import TLS
import TestOrigin
import Testing

@testable import Serve

/// What clients may do to a server, done to a proxy's port and inside of CONNECT.
@Suite struct ProxyConnectionTests {
    private let folder: TemporaryFolder
    private let security: TLSServer
    private let targets = Targets()

    init() throws {
        folder = try TemporaryFolder()
        security = try TLSServer(Authority.open(in: folder.path))
    }

    /// How a client's words get to where requests are answered.
    enum Way: CaseIterable {
        case port, tunnel
    }

    private final class Targets: Sendable {
        let list = Mutex<[String]>([])
    }

    private func script(_ change: (inout ServerLimits) -> Void = { _ in }) throws -> HTTPScript {
        var limits = ServerLimits.proxy
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

    private func url(_ path: String, by way: Way) -> String { way == .tunnel ? path : "http://h" + path }

    // MARK: - What hides

    @Test(
        arguments: [
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nX: y\rContent-Length: 3\r\n\r\n",
            "POST /a HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\nHost: g\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
            "CONNECT g:443 HTTP/1.1\r\nHost: g:443\r\nContent-Length: 40\r\n\r\n",
            "CONNECT g:443 HTTP/1.1\r\nHost: g:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ], Way.allCases)
    func `what hides a request in another ends the connection`(text: String, way: Way) throws {
        let script = try script()
        let client = try client(script, by: way)
        let text = way == .tunnel ? text : text.replacing(" /a ", with: " http://h/a ")
        try client.send(text + "GET \(url("/hidden", by: way)) HTTP/1.1\r\nHost: h\r\n\r\n")
        let answer = try client.response()
        // In a tunnel there is no other to be had.
        #expect(answer.status == (way == .tunnel && text.hasPrefix("CONNECT") ? 501 : 400))
        #expect(answer["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
        #expect(targets.list.withLock { $0.isEmpty })
    }

    @Test(arguments: Way.allCases)
    func `requests in one packet are answered in their order, with bodies and without`(way: Way) throws {
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

    @Test func `what was said before a tunnel stands is said in it`() throws {
        let script = try script()
        let client = try script.client()
        try client.send(
            "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        )
        #expect(try client.response(toHead: true).status == 200)
        #expect(try client.response().text == "/a")
        #expect(try client.response().text == "/b")
    }

    // MARK: - Who takes time

    @Test(
        arguments: [
            "GET / HT", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc",
        ])
    func `a request that does not go on in a tunnel is told so`(start: String) throws {
        let script = try script { ($0.headTime, $0.stallTime) = (100, 100) }
        let client = try client(script, by: .tunnel)
        try client.send(start)
        #expect(try client.response().status == 408)
        #expect(try client.readToEnd().isEmpty)
    }

    /// The beginning of a client's hello, of which the rest does not come, and what is none.
    @Test(
        arguments: [
            [0x16], [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00],
            [0x16, 0x47, 0x45, 0x54, 0x20, 0x2f, 0x0d, 0x0a],
        ] as [[UInt8]])
    func `hands that are not shaken are let go`(bytes: [UInt8]) throws {
        let script = try script { ($0.headTime, $0.stallTime, $0.idleTime) = (100, 100, 100) }
        let client = try client(script, by: .tunnel)
        try client.send(bytes)
        _ = try client.readToEnd()
        #expect(try self.client(script, by: .tunnel).get("/after", host: "h").text == "/after")
    }

    @Test func `a hello that comes slowly is not waited for, however steadily it comes`() throws {
        let script = try script { ($0.headTime, $0.stallTime) = (200, 200) }
        let client = try client(script, by: .tunnel)
        // A record of 16,000 bytes, which never comes to its end.
        try client.send([0x16, 0x03, 0x01, 0x3e, 0x80, 0x01, 0x00, 0x3e, 0x7c])
        var count = 0
        while count < 1000, (try? client.response(within: .milliseconds(10))) == nil {
            count += 1
            guard (try? client.send([0])) != nil else { break }
        }
        #expect(count < 1000)
    }

    @Test func `tunnels in which nothing is said are let go, and do not keep others out`() throws {
        let script = try script { ($0.idleTime, $0.connectionsPerThread, $0.crowdedIdleTime) = (100, 3, 50) }
        let silent = try (0..<3).map { _ in try client(script, by: .tunnel) }
        for client in silent { #expect(try client.readToEnd().isEmpty) }
        #expect(try client(script, by: .tunnel).get("/after", host: "h").text == "/after")
    }

    // MARK: - Noise

    @Test func `noise in a tunnel ends it, and nothing else`() throws {
        let script = try script { ($0.headTime, $0.stallTime, $0.idleTime) = (100, 100, 100) }
        var generator = SystemRandomNumberGenerator()
        for turn in 0..<60 {
            let client = try client(script, by: .tunnel)
            var bytes = (0..<Int.random(in: 1...4000, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            // As TLS begins, or as a request does.
            if turn % 3 == 0 { bytes = [0x16, 0x03, 0x01] + bytes }
            if turn % 3 == 1 { bytes = Array("GET /".utf8) + bytes }
            try client.send(bytes)
            client.closeWriting()
            _ = try? client.readToEnd()
        }
        #expect(try client(script, by: .tunnel).get("/after", host: "h").text == "/after")
    }
}

/// A proxy that says which target it was asked for.
private final class ScriptedProxy: Responder {
    private let security: TLSServer
    private let note: (String) -> Void

    init(_ security: TLSServer, note: @escaping (String) -> Void) {
        self.security = security
        self.note = note
    }

    var isProxy: Bool { true }

    func respond(to request: Request, orLater _: Later) -> Reply? {
        note(request.targetText)
        return Reply(answer: .text(200, request.targetText))
    }

    func connect(_: Request) -> Connecting { .answered(Tunnel(host: "h", port: 443, security: security)) }
}
