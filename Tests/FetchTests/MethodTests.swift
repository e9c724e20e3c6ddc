import Fetch
import TestOrigin
import Testing
import Web

@Suite struct MethodTests {
    private let origin: TestOrigin
    private let fetching: TestFetcher

    init() throws {
        origin = try TestOrigin()
        fetching = try TestFetcher()
        origin.otherwise {
            .file("\($0.method) \(String(decoding: $0.body, as: UTF8.self))", type: "text/plain")
        }
    }

    @Test(
        arguments: [
            ("POST", "a=1", "POST a=1", "3"), ("POST", "", "POST ", "0"), ("POST", nil, "POST ", "0"),
            ("PUT", "text", "PUT text", "4"), ("GET", "q", "GET q", "1"), ("OPTIONS", nil, "OPTIONS ", nil),
            ("DELETE", nil, "DELETE ", nil), ("QUERY", "x", "QUERY x", "1"),
        ] as [(String, String?, String, String?)])
    func `a method is sent with its body`(method: String, body: String?, answer: String, length: String?)
        throws
    {
        let result = try fetching.result(
            of: try TestFetcher.request(origin.url("/")) { request in
                request.method = method
                request.body = body.map { Array($0.utf8) }
                request.fields = ["Content-Length": "77", "Transfer-Encoding": "chunked", "X-Empty": ""]
            })
        #expect(try result.response().text() == answer)
        let sent = try #require(origin.requests.first)
        #expect(sent["Content-Length"] == length)
        #expect(sent["Transfer-Encoding"] == nil)
        #expect(sent["Content-Type"] == nil)
        #expect(sent["X-Empty"] == "")
        #expect(sent["Referer"] == nil)
    }

    @Test func `a large request body is sent without waiting for a 100 response`() throws {
        let body = [UInt8](repeating: 0x61, count: 3_000_000)
        let result = try fetching.result(
            of: try TestFetcher.request(origin.url("/")) { request in
                request.method = "POST"
                request.body = body
                request.fields = ["Content-Type": "text/plain"]
            })
        #expect(try result.response().body.byteCount == body.count + 5)
        #expect(origin.requests.first?["Expect"] == nil)
        #expect(origin.requests.first?["Content-Type"] == "text/plain")
    }

    @Test func `the response to HEAD has the fields and no body, whatever length is declared`() throws {
        origin.on("/", OriginAnswer.file("1234567", type: "text/plain"))
        var small = fetching
        small.options.maxBodyBytes = 3
        let response = try small.result(of: try TestFetcher.request(origin.url("/")) { $0.method = "HEAD" })
            .response()
        #expect(response.fields["Content-Length"] == "7")
        #expect(response.body.byteCount == 0)
    }

    @Test func `a method does not affect later requests on the same handle`() throws {
        let loop = try fetching.loop()
        for (method, body) in [
            ("POST", "1"), ("GET", nil), ("HEAD", nil), ("GET", nil), ("DELETE", nil), ("GET", nil),
        ] {
            let result = try fetching.result(
                of: try TestFetcher.request(origin.url("/")) { request in
                    request.method = method
                    request.body = body.map { Array($0.utf8) }
                }, in: loop)
            #expect(try result.response().text() == (method == "HEAD" ? "" : "\(method) \(body ?? "")"))
        }
        #expect(origin.connectionCount == 1)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nX: ", "X-A", "1"), ("", "X-A", "1"), ("GET", "X-A", "1\r\nX-B: 2"),
        ("GET", "X-A\r\nX-B", "1"),
        ("GET", "X A", "1"), ("GET", "X-A", "1\n2"), ("GET", "X-A", "\0"), ("GET", "", "1"),
    ])
    func `methods and fields with line breaks or invalid characters are not sent`(
        method: String, name: String, value: String
    ) throws {
        let result = try fetching.result(
            of: try TestFetcher.request(origin.url("/")) { request in
                request.method = method
                request.fields = HTTPFields([HTTPFields.Field(name: name, value: value)])
            })
        #expect(try result.failure().kind == .refused)
        #expect(result.exchange == nil)
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: ["ftp://127.0.0.1/a", "file:///etc/hostname", "gopher://127.0.0.1/1", "data:,a"])
    func `only http and https are fetched`(url: String) throws {
        #expect(try fetching.failure(url).kind == .refused)
    }

    @Test func `a result describes its exchange`() throws {
        let loop = try fetching.loop()
        let first = try #require(try fetching.result(origin.url("/"), in: loop).exchange)
        #expect(first.version == .http11)
        #expect(first.security == .plain)
        #expect(first.peer == IPAddress("127.0.0.1"))
        #expect(first.zone == .thisMachine)
        #expect(!first.isReused && !first.usesProxy)
        #expect(first.timings.connected <= first.timings.requestSent)
        #expect(first.timings.requestSent <= first.timings.firstByte)
        #expect(first.timings.firstByte <= first.timings.done)
        #expect(first.timings.secured == .zero)
        #expect(first.timings.latency > .zero)
        let second = try #require(try fetching.result(origin.url("/"), in: loop).exchange)
        #expect(second.isReused)
    }
}
