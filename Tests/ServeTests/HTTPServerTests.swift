import Glibc
import Serve
import TestOrigin
import Testing

@Suite struct HTTPServerTests {
    private let server: FilesServer

    init() throws {
        server = try FilesServer(port: 0) { path in
            path == "/" ? ("text/plain", Array("hello".utf8)) : nil
        }
    }

    private var port: Int { Int(server.port) }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200, false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200, true),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", 200, true),
        ("HEAD / HTTP/1.0\r\nHost: a\r\n\r\n", 200, true),
        ("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404, true),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, true),
    ])
    func `who ends the connection says so`(request: String, status: Int, isClosing: Bool) throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        try client.send(request)
        let answer = try client.response(toHead: request.hasPrefix("HEAD"))
        #expect(answer.status == status)
        #expect(answer["Connection"] == (isClosing ? "close" : nil))
        if status == 200, !request.hasPrefix("HEAD") { #expect(answer.text == "hello") }
        if isClosing { #expect(try client.readToEnd().isEmpty) }
        // The one that was kept is not spoilt for the next client.
        #expect(try RawClient(port: port).get("/")["Connection"] == nil)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\nX: ", 431),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3000000\r\n\r\n", 413),
        ("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 900000\r\n\r\n", 405),
        ("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 900000\r\n\r\n", 405),
    ])
    func `a client that reads only when it has sent everything gets its refusal, not a reset`(
        request: String, status: Int
    ) throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        try client.send(request)
        for _ in 0..<30 { try client.send([UInt8](repeating: UInt8(ascii: "a"), count: 100_000)) }
        #expect(try client.response().status == status)
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `a client that never ends is not listened to for ever, nor waited for by a stop`() throws {
        let client = try RawClient(port: port)
        try client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        #expect(try client.response().status == 200)
        #expect(throws: TestError.self) {
            for _ in 0..<1000 { try client.send([UInt8](repeating: 0, count: 100_000)) }
        }
        let lingering = try RawClient(port: port)
        try lingering.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        #expect(try lingering.readToEnd().isEmpty == false)
        server.stop()
    }

    @Test(arguments: [Loopback.ipv4, .ipv6])
    func `a port that another server has on either address is in use`(loopback: Loopback) throws {
        defer { server.stop() }
        let other = try TestOrigin(loopback)
        defer { other.stop() }
        let error = #expect(throws: ServerError.self) {
            try FilesServer(port: UInt16(other.port)) { _ in nil }
        }
        #expect(error?.description.contains("port \(other.port) is in use") == true)
    }

    @Test func `it may be stopped again, from several threads`() async throws {
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { server.stop() } }
        }
        server.stop()
        #expect(throws: TestError.self) { try RawClient(port: port) }
    }

    @Test func `without descriptors it waits instead of spinning, and serves again once there are some`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            let isLimited = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
            try #require(isLimited)
            let server = try FilesServer(port: 0) { _ in ("text/plain", Array("hello".utf8)) }
            // Once it has answered, nothing but clients changes how many descriptors it has.
            let first = try RawClient(port: Int(server.port))
            #expect(try first.get("/").text == "hello")
            var taken: [Int32] = []
            while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
            // One for the client, and none for the server's end.
            close(taken.removeLast())
            let client = try RawClient(port: Int(server.port))
            try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let before = clock()
            #expect(throws: TestError.self) { try client.response(within: .seconds(2)) }
            // A loop that spins takes all of a core.
            #expect(Double(clock() - before) / Double(CLOCKS_PER_SEC) < 0.5)
            #expect(try first.get("/").text == "hello")
            for descriptor in taken { close(descriptor) }
            #expect(try client.response().text == "hello")
            server.stop()
        }
    }
}
