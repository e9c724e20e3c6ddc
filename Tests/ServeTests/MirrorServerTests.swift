import Markup
import Serve
import Store
import TestOrigin
import Testing

@Suite struct MirrorServerTests {
    private let scratch: TemporaryFolder
    private let server: MirrorServer

    private static let page = """
        <!doctype html><title>T</title><link rel=stylesheet href="https://cdn.test/s.css?a&amp;b">\
        <a href="/local">local</a> <a href='//other.test:81/x'>other</a> <a href=https://example.test/y#z>same</a>
        """

    init() throws {
        scratch = try TemporaryFolder()
        let folder = StoreFolder(scratch.path)
        let writer = try StoreWriter(folder)
        let visit = try writer.begin(site: "https://example.test/", start: ["https://example.test/"], now: 1)
        func response(
            _ href: String, _ text: String?, _ type: String = "text/html", status: Int = 200, extra: String = ""
        ) throws -> NewResponse {
            let format: BodyFormat = type == "text/html" ? .html : .opaque
            let table = LinkScanner().scan((text ?? "").utf8.span, as: format, charset: "utf-8") { _, _ in }
            return NewResponse(
                href: href, referrer: nil, status: status, role: 0,
                fields: "Content-Type: \(type)\r\nSet-Cookie: a=b\r\nStrict-Transport-Security: max-age=1\r\n\(extra)",
                fetched: 1,
                body: try text.map {
                    try NewBody(
                        .bytes(Array($0.utf8)), form: "\(format.name);utf-8", links: table.encoded(), in: folder)
                })
        }
        try writer.add(
            [
                response("https://example.test/", Self.page),
                response("https://example.test/big?x=1", String(repeating: "b", count: 200_000), "image/png"),
                response(
                    "https://example.test/moved", nil, status: 301,
                    extra: "Location: https://example.test/big?x=1\r\n"),
                response("https://example.test/gone", nil, status: 404),
                response("http://example.test:8080/", "plain", "text/plain"),
            ], to: visit)
        try writer.end(visit, .publish(now: 2))
        server = try MirrorServer(folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
    }

    private var port: Int { Int(server.port) }

    private func get(
        _ target: String, host: String = "example.test.localhost", method: String = "GET",
        fields: [(String, String)] = []
    ) throws -> RawResponse {
        defer { server.stop() }
        return try RawClient(port: port).get(target, method: method, host: "\(host):\(port)", fields: fields)
    }

    @Test func `a page comes with links that name an origin led to the larder, and every other byte as it was`() throws
    {
        let answer = try get("/")
        #expect(answer.status == 200)
        let expected = Self.page
            .replacing("https://cdn.test/s.css?a&amp;b", with: "http://cdn.test.localhost:\(port)/s.css?a&amp;b")
            .replacing("//other.test:81/x", with: "http://other.test--81.localhost:\(port)/x")
            .replacing("https://example.test/y#z", with: "http://example.test.localhost:\(port)/y#z")
        #expect(answer.text == expected)
        #expect(answer["Content-Type"] == "text/html")
        #expect(answer["Larder"] == "hit")
        #expect(answer["Content-Security-Policy"]?.contains("http://*.localhost:\(port)") == true)
        #expect(answer["Set-Cookie"] == nil)
        #expect(answer["Strict-Transport-Security"] == nil)
    }

    @Test func `a second request on the connection is answered from memory, the same`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example.test.localhost:\(port)"
        let first = try client.get("/", host: host)
        let second = try client.get("/", host: host)
        #expect(first.body == second.body)
        let tag = try #require(first["ETag"])
        let third = try client.get("/", host: host, fields: [("If-None-Match", "W/\"x\", \(tag)")])
        #expect(third.status == 304)
        #expect(third.body.isEmpty)
        #expect(try client.get("/", method: "HEAD", host: host)["Content-Length"] == "\(first.body.count)")
        #expect(try client.get("/", host: host).body == first.body)
    }

    @Test func `requests in one packet are answered in their order`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let request = "Host: example.test.localhost:\(port)\r\n\r\n"
        try client.send(
            "GET / HTTP/1.1\r\n\(request)GET /gone HTTP/1.1\r\n\(request)GET /big?x=1 HTTP/1.1\r\n\(request)")
        #expect(try client.response().status == 200)
        #expect(try client.response().status == 404)
        #expect(try client.response().body.count == 200_000)
    }

    @Test func `a large body comes whole from its file`() throws {
        let answer = try get("/big?x=1")
        #expect(answer.body == [UInt8](repeating: UInt8(ascii: "b"), count: 200_000))
    }

    @Test func `a redirect leads to the copy`() throws {
        let answer = try get("/moved")
        #expect(answer.status == 301)
        #expect(answer["Location"] == "http://example.test.localhost:\(port)/big?x=1")
    }

    @Test func `a port is part of the name`() throws {
        #expect(try get("/", host: "example.test--8080.localhost").text == "plain")
    }

    @Test func `what is not held is a miss at once, as a page for people`() throws {
        let answer = try get("/unknown?<b>", fields: [("Accept", "text/html,*/*")])
        #expect(answer.status == 504)
        #expect(answer["Larder"] == "miss")
        #expect(answer.text.contains("https://example.test/unknown?&lt;b&gt;"))
    }

    @Test(arguments: ["example.test", "evil.test", "localhost.evil.test", "example.test.localhost:1", "a b"])
    func `a host that is not ours is refused`(host: String) throws {
        defer { server.stop() }
        #expect(try RawClient(port: port).get("/", host: host).status == 421)
    }

    @Test func `the portal lists the site and leads from an original address to its copy`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "localhost:\(port)"
        #expect(try client.get("/", host: host).text.contains("http://example.test.localhost:\(port)/"))
        let answer = try client.get("/https://example.test/big?x=1", host: host)
        #expect(answer.status == 302)
        #expect(answer["Location"] == "http://example.test.localhost:\(port)/big?x=1")
        #expect(try client.get("/favicon.ico", host: host).status == 404)
    }

    @Test func `other methods are refused, and their body does not become a request`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example.test.localhost:\(port)"
        let smuggled = "GET /gone HTTP/1.1\r\nHost: \(host)\r\n\r\n"
        try client.send("POST / HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)")
        #expect(try client.response().status == 405)
        #expect(try client.get("/", host: host).status == 200)
    }

    @Test func `a malformed request gets its status and the end of the connection`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        try client.send("GET / HTTP/1.1\r\nHost : a\r\n\r\n")
        #expect(try client.response().status == 400)
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `a port that is taken is refused by name`() throws {
        defer { server.stop() }
        let error = #expect(throws: ServerError.self) {
            try MirrorServer(StoreFolder(scratch.path), port: server.port, threadCount: 1, memoryLimit: 0)
        }
        #expect(error?.description.contains("port \(server.port) is in use") == true)
    }

    @Test func `a new visit shows within a second or two`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example.test--8080.localhost:\(port)"
        #expect(try client.get("/", host: host).text == "plain")
        let folder = StoreFolder(scratch.path)
        let writer = try StoreWriter(folder)
        let visit = try writer.begin(site: "https://example.test/", start: ["https://example.test/"], now: 3)
        let body = try NewBody(.bytes(Array("newer".utf8)), form: "opaque", links: LinkTable().encoded(), in: folder)
        try writer.add(
            [
                NewResponse(
                    href: "http://example.test:8080/", referrer: nil, status: 200, role: 0, fields: "", fetched: 3,
                    body: body)
            ], to: visit)
        try writer.end(visit, .publish(now: 4))
        let deadline = ContinuousClock.now + .seconds(10)
        while try client.get("/", host: host).text != "newer" {
            try #require(ContinuousClock.now < deadline)
        }
    }
}
