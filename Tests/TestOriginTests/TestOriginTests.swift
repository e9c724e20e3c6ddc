import Glibc
import TestOrigin
import Testing

@Suite struct TestOriginTests {
    @Test(arguments: [Loopback.ipv4, .ipv6])
    func `a path gets its response and an unknown path a 404, on one connection`(_ loopback: Loopback) throws
    {
        let origin = try TestOrigin(loopback)
        origin.on("/a", .page("<p>hello"))
        let client = try RawClient(port: origin.port, on: loopback)
        let first = try client.get("/a")
        #expect(first.status == 200)
        #expect(first["content-type"] == "text/html; charset=utf-8")
        #expect(first.text == "<p>hello")
        #expect(try client.get("/b?c=d").status == 404)
        #expect(origin.requests.map(\.target) == ["/a", "/b?c=d"])
        #expect(origin.requests.map(\.connection) == [1, 1])
        #expect(origin.requests.map { $0["host"] } == ["localhost", "localhost"])
        #expect(origin.connectionCount == 1)
    }

    @Test func `responses are sent in turn, and the last one is repeated`() throws {
        let origin = try TestOrigin()
        origin.on("/", .failure(503, fields: [("Retry-After", "1")]), .page("well"))
        let client = try RawClient(port: origin.port)
        #expect(try client.get("/")["retry-after"] == "1")
        #expect(try client.get("/").text == "well")
        #expect(try client.get("/").text == "well")
    }

    @Test func `a route for a target with a query precedes the route for its path`() throws {
        let origin = try TestOrigin()
        origin.on("/q", .page("any"))
        origin.on("/q?x=1", .page("one"))
        let client = try RawClient(port: origin.port)
        #expect(try client.get("/q?x=1").text == "one")
        #expect(try client.get("/q?x=2").text == "any")
        #expect(try client.get("/q").text == "any")
    }

    @Test func `a handler receives the request with its body`() throws {
        let origin = try TestOrigin()
        origin.on("/echo") { request in
            .file(Array("\(request.method) ".utf8) + request.body, type: "text/plain")
        }
        let client = try RawClient(port: origin.port)
        try client.send("POST /echo HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.response().status == 100)
        try client.send("hello")
        #expect(try client.response().text == "POST hello")
    }

    @Test func `the response to HEAD has the header fields and no body`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("12345"))
        let client = try RawClient(port: origin.port)
        let head = try client.get("/", method: "HEAD")
        #expect(head["content-length"] == "5")
        #expect(head.body.isEmpty)
        #expect(try client.get("/").text == "12345")
    }

    @Test func `pipelined requests are answered in order`() throws {
        let origin = try TestOrigin()
        origin.otherwise { .page($0.path) }
        let client = try RawClient(port: origin.port)
        try client.send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n")
        #expect(try client.response().text == "/1")
        #expect(try client.response().text == "/2")
    }

    @Test func `chunked bodies and bodies without a length arrive completely`() throws {
        let origin = try TestOrigin()
        let text = String(repeating: "0123456789", count: 1000)
        origin.on("/chunked", .file(text, type: "text/plain").chunked(777))
        origin.on("/close", .file(text, type: "text/plain").untilClose())
        let client = try RawClient(port: origin.port)
        #expect(try client.get("/chunked").text == text)
        let response = try client.get("/close")
        #expect(response["content-length"] == nil)
        #expect(response.text == text)
    }

    @Test(arguments: [
        ("/hang-up", "the connection ended after 0 bytes"),
        ("/garbage", "this is none: garbage"),
        ("/truncated", "the connection ended 7 bytes too early"),
        ("/chunk", "'no number' is none"),
        ("/reset", "Connection reset by peer"),
        ("/reset-later", "Connection reset by peer"),
    ])
    func `each fault makes the client fail with the expected error`(target: String, why: String) throws {
        let origin = try TestOrigin()
        origin.on("/hang-up", .hangUp)
        origin.on("/garbage", .garbage("garbage\r\n\r\n"))
        origin.on("/truncated", .page("0123456789").truncated(after: 3))
        origin.on("/chunk", .page("0123456789").brokenChunk(after: 3))
        origin.on("/reset", .reset)
        origin.on("/reset-later", .page("0123456789").reset(after: 3))
        let client = try RawClient(port: origin.port)
        let failure = #expect(throws: TestError.self) { try client.get(target) }
        #expect(failure?.why.hasPrefix(why) == true, "\(failure as Any)")
    }

    @Test func `bytes beyond a wrong Content-Length stay on the connection`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("0123456789").claiming(length: 4))
        let client = try RawClient(port: origin.port)
        #expect(try client.get("/").text == "0123")
        #expect(try client.read(6) == Array("456789".utf8))
    }

    @Test func `an endless body ends when the client disconnects`() throws {
        let origin = try TestOrigin()
        origin.on("/", .endless("<a href=x>"))
        do {
            let client = try RawClient(port: origin.port)
            try client.send("GET / HTTP/1.1\r\n\r\n")
            #expect(try client.read(1_000_000).count >= 1_000_000)
        }
        #expect(origin.waitUntilIdle())
    }

    @Test func `a held response is sent after its release`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("late"))
        origin.hold("/")
        let client = try RawClient(port: origin.port)
        try client.send("GET / HTTP/1.1\r\n\r\n")
        #expect(origin.waitForRequests(1, to: "/"))
        #expect(throws: TestError.self) { try client.response(within: .milliseconds(20)) }
        origin.release("/")
        #expect(try client.response().text == "late")
    }

    @Test func `waiting for a request that is never sent ends after the limit`() throws {
        let origin = try TestOrigin()
        #expect(!origin.waitForRequests(1, within: .milliseconds(10)))
    }

    @Test func `delayed and dripping bodies arrive completely`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("0123456789").delayed(.milliseconds(5)).dripping(3, every: .milliseconds(1)))
        origin.on("/chunked", .page("0123456789").dripping(3, every: .milliseconds(1)).chunked())
        let client = try RawClient(port: origin.port)
        #expect(try client.get("/").text == "0123456789")
        #expect(try client.get("/chunked").text == "0123456789")
    }

    @Test func `a stop ends held, dripping and endless responses, and refuses new clients`() throws {
        let origin = try TestOrigin()
        origin.on("/held", .page("x"))
        origin.hold("/held")
        origin.on("/drip", .page("0123456789").dripping(1, every: .seconds(3600)))
        origin.on("/endless", .endless("x"))
        let clients = try ["/held", "/drip", "/endless", "/idle"].map { target in
            let client = try RawClient(port: origin.port)
            try client.send("GET \(target) HTTP/1.1\r\n\r\n")
            return client
        }
        #expect(origin.waitForRequests(4))
        origin.stop()
        origin.stop()
        #expect(clients.count == 4)
        #expect(throws: TestError.self) { try RawClient(port: origin.port) }
    }

    /// Otherwise another server might get the port, and clients would take it for the origin.
    @Test func `the port of a stopped origin stays reserved`() throws {
        let origin = try TestOrigin()
        origin.stop()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(origin.port).bigEndian
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(bound == -1 && errno == EADDRINUSE)
    }

    @Test func `a drawn port refuses clients, and is not drawn again`() throws {
        let ports = try (0..<20).map { _ in try FreePort.draw() }
        #expect(Set(ports).count == ports.count)
        for port in ports { #expect(throws: TestError.self) { try RawClient(port: port) } }
    }

    /// `nohup` starts the tests with SIGHUP ignored.
    @Test func `a child process does not inherit ignored signals`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            let ending = try ChildProcess("/bin/sh", ["-c", "kill -HUP $$; echo ignored"]).wait()
            try #require(ending.status == -SIGHUP && ending.output.isEmpty)
        }
    }

    @Test(arguments: [
        ("Range", "bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("Range", "bytes=7-", 206, "789", "bytes 7-9/10"),
        ("Range", "bytes=-2", 206, "89", "bytes 8-9/10"),
        ("Range", "bytes=8-99", 206, "89", "bytes 8-9/10"),
        ("Range", "bytes=10-", 416, "", "bytes */10"),
        ("Range", "bytes=-0", 416, "", "bytes */10"),
        ("Range", "bytes=4-2", 200, "0123456789", nil),
        ("Range", "lines=1-2", 200, "0123456789", nil),
        ("If-None-Match", "\"v1\"", 304, "", nil),
        ("If-None-Match", "\"v0\", W/\"v1\"", 304, "", nil),
        ("If-None-Match", "\"v2\"", 200, "0123456789", nil),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", 304, "", nil),
    ])
    func `validators and ranges are evaluated`(
        field: String, value: String, status: Int, body: String, range: String?
    ) throws {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .file("0123456789", type: "text/plain")
                .validated(entityTag: "\"v1\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"))
        let client = try RawClient(port: origin.port)
        let response = try client.get("/", fields: [(field, value)])
        #expect(response.status == status)
        #expect(response.text == body)
        #expect(response["content-range"] == range)
        #expect(response["etag"] == "\"v1\"")
        #expect(try client.get("/").text == "0123456789")
    }

    @Test(arguments: [("\"v1\"", 206), ("\"v0\"", 200)])
    func `If-Range selects the part only if the version matches`(tag: String, status: Int) throws {
        let origin = try TestOrigin()
        origin.on("/", .file("0123456789", type: "text/plain").validated(entityTag: "\"v1\""))
        let client = try RawClient(port: origin.port)
        #expect(try client.get("/", fields: [("Range", "bytes=5-"), ("If-Range", tag)]).status == status)
    }

    @Test func `a folder is served with media types and an index, and no file outside of it`() throws {
        let origin = try TestOrigin()
        let here = String(#filePath.prefix(upTo: #filePath.lastIndex(of: "/") ?? #filePath.endIndex))
        origin.serve(folder: here, at: "/tests")
        let client = try RawClient(port: origin.port)
        let file = try client.get("/tests/%54estOriginTests.swift")
        #expect(file.status == 200)
        #expect(file.text.hasPrefix("import Glibc"))
        #expect(file["content-type"] == "application/octet-stream")
        let again = try client.get(
            "/tests/TestOriginTests.swift", fields: [("If-None-Match", file["etag"] ?? "")])
        #expect(again.status == 304)
        #expect(try client.get("/tests/../TestOrigin/OriginAnswer.swift").status == 404)
        #expect(try client.get("/tests/%2e%2e/TestOrigin/OriginAnswer.swift").status == 404)
        #expect(try client.get("/tests").status == 404)
        #expect(mediaType(ofFile: "a/b.c/d.Woff2") == "font/woff2")
        #expect(mediaType(ofFile: "a.b/c") == "application/octet-stream")
    }

    @Test func `many origins answer many clients at the same time`() async throws {
        let origins = try (0..<8).map { _ in try TestOrigin() }
        for (number, origin) in origins.enumerated() { origin.on("/", .page("\(number)")) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for turn in 0..<64 {
                let origin = origins[turn % 8]
                group.addTask { try RawClient(port: origin.port).get("/").text == "\(turn % 8)" }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(origins.map(\.connectionCount) == Array(repeating: 8, count: 8))
    }
}
