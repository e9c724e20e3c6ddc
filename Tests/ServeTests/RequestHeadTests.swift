import Testing
import Web

@testable import HTTPServer
@testable import Mirror

@Suite struct RequestHeadTests {
    private func parse(_ text: String) -> RequestHead.ParseResult {
        Array(text.utf8).withUnsafeBufferPointer { RequestHead.parse($0) }
    }

    private func head(_ text: String) throws -> RequestHead {
        guard case .head(let head) = parse(text) else {
            Issue.record("\(parse(text))")
            throw CancellationError()
        }
        return head
    }

    private func part(_ text: String, _ range: Range<Int>) -> String {
        String(decoding: Array(text.utf8)[range], as: UTF8.self)
    }

    @Test func `a request head is parsed with its target, host and common fields`() throws {
        let text =
            "\r\nGET /a?b HTTP/1.1\r\nHost:  x.localhost:80 \r\nAccept: text/html\r\nIf-None-Match: \"1\"\r\n\r\nrest"
        let head = try head(text)
        #expect(head.method == .get)
        #expect(part(text, head.target) == "/a?b")
        #expect(part(text, head.host) == "x.localhost:80")
        #expect(part(text, try #require(head.accept)) == "text/html")
        #expect(head.isConditional)
        #expect(head.isKeptAlive)
        #expect(part(text, head.end..<text.utf8.count) == "rest")
    }

    @Test(arguments: [
        ("Via", true), ("Forwarded", true), ("X-Forwarded-For", true), ("x-forwarded-port", true),
        ("X-Forwarded", true), ("X-Forwarded-Tls-Client-Cert-Info", true), ("X-Real-IP", true),
        ("X-Forward", false), ("Forwarder", false),
        ("X-Requested-With", false),
    ])
    func `a field that proxies add marks the request as forwarded`(name: String, isForwarded: Bool) throws {
        #expect(try head("GET / HTTP/1.1\r\nHost: a\r\n\(name): b\r\n\r\n").isForwarded == isForwarded)
    }

    @Test func `the host of an absolute target overrides the Host field`() throws {
        let text = "GET http://a.localhost:1/x HTTP/1.1\r\nHost: b\r\n\r\n"
        let head = try head(text)
        #expect(part(text, head.host) == "a.localhost:1")
        #expect(part(text, head.target) == "/x")
    }

    @Test(arguments: ["C", "CON", "CONNECTED", "GETS"])
    func `a method is compared as a whole, not by its beginning`(method: String) throws {
        let text = Array("\(method) /a HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
        for isForProxy in [false, true] {
            let parsing = text.withUnsafeBufferPointer { RequestHead.parse($0, isForProxy: isForProxy) }
            guard case .head(let head) = parsing else { return #expect(Bool(false), "\(parsing)") }
            #expect(head.method == .other)
            #expect(!head.isConnect)
        }
    }

    @Test func `an absolute target without a path means the root path`() throws {
        let text = "GET http://a.localhost:1 HTTP/1.1\r\nHost: b\r\n\r\n"
        let head = try head(text)
        #expect(part(text, head.host) == "a.localhost:1")
        let target = Array(text.utf8).withUnsafeBufferPointer { Array(Request(head: head, bytes: $0).target) }
        #expect(target == Array("/".utf8))
    }

    @Test(arguments: [
        "a", "A.b-c_d:8080", "127.0.0.1:80", "[::1]:8080", "[2001:db8::1]", "xn--bcher-kva.localhost", "",
    ])
    func `a Host field with a name or address, with or without a port, is accepted`(host: String) throws {
        let text = "GET / HTTP/1.1\r\nHost: \(host)\r\nOrigin: http://o\r\n\r\n"
        let head = try head(text)
        #expect(part(text, head.host) == host)
        #expect(part(text, try #require(head.origin)) == "http://o")
    }

    @Test(arguments: [
        "a:1?x", "a?x", "a/", "a:1/x", "a#x", "u@a", "u:p@a", "a:b", "a:1:2", "[::1", "[::1]x", "::1", "a b",
        "a\\b",
        "[a?]", "b\u{fc}cher",
    ])
    func `a Host field that a URL parser would not read as a host and port gets a 400`(host: String) {
        #expect(parse("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") == .refused(400))
    }

    @Test(arguments: [
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", RequestHead.Method.get, true, 0),
        ("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", .head, false, 0),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", .get, false, 0),
        ("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\n", .other, true, 12),
        ("GETTY / HTTP/1.1\r\nHost: a\r\n\r\n", .other, true, 0),
        ("get / HTTP/1.1\r\nHost: a\r\n\r\n", .other, true, 0),
        ("GOT / HTTP/1.1\r\nHost: a\r\n\r\n", .other, true, 0),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", .other, true, 0),
        ("GET / HTTP/1.7\r\nHost: a\r\n\r\n", .get, true, 0),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close ,y\r\n\r\n", .get, false, 0),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed, not-close\r\n\r\n", .get, true, 0),
        ("GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n", .get, true, 0),
        ("GET / HTTP/1.0\r\n\r\n", .get, false, 0),
    ])
    func `the method, version, connection and body length are recognised`(
        text: String, method: RequestHead.Method, isKeptAlive: Bool, bodyCount: Int
    ) throws {
        let head = try head(text)
        #expect(head.method == method)
        #expect(head.isKeptAlive == isKeptAlive)
        #expect(head.bodyCount == bodyCount)
    }

    @Test(arguments: [
        ("", false, RequestHead.Body.none), ("If-Match: *\r\n", true, .none), ("RANGE: x\r\n", true, .none),
        ("If-Unmodified-Since: x\r\n", true, .none), ("If-Range: x\r\n", true, .none),
        ("X-If: x\r\n", false, .none),
        ("Transfer-Encoding: Chunked\r\n", false, .chunked), ("Content-Length: 0\r\n", false, .none),
        ("Content-Length: 007\r\n", false, .length(7)),
    ])
    func `conditions and the framing of the body are recognised`(
        field: String, isConditional: Bool, body: RequestHead.Body
    ) throws {
        let text = "PUT / HTTP/1.1\r\nHost: a\r\n\(field)\r\n"
        let head = try head(text)
        #expect(head.isConditional == isConditional)
        #expect(head.body == body)
        #expect(part(text, head.methodName) == "PUT")
        #expect(part(text, head.fields) == "Host: a\r\n\(field)")
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n", "\r\n"), ("GET / HTTP/1.1\r\nHost: a\r\n\r", "\n"),
        ("GET /\n", "\n"),
        ("GET /", "\r\n\r\nx"),
    ])
    func `a partial head is parsed again only if the new bytes can contain its end`(
        first: String, second: String
    ) {
        let whole = Array((first + second).utf8)
        for count in 1...whole.count {
            let canContainEnd = whole[..<count].withUnsafeBufferPointer {
                RequestHead.canContainEnd($0, after: count - 1)
            }
            let end = whole[..<count].filter { $0 != 13 }.suffix(2)
            let isEnd = whole[count - 1] == 10 && end == [10, 10]
            #expect(canContainEnd == isEnd, "\(count)")
        }
        #expect(whole.withUnsafeBufferPointer { RequestHead.canContainEnd($0, after: first.utf8.count) })
    }

    @Test(arguments: HostileRequests.refusedHeads)
    func `an ambiguous or invalid head is refused with the right status`(text: String, status: Int) {
        #expect(parse(text) == .refused(status))
    }

    @Test func `every proper prefix of a valid request is incomplete`() {
        let text = Array(
            "GET /a?b HTTP/1.1\r\nHost: x.localhost\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n".utf8)
        for count in 0..<text.count {
            let parsing = Array(text[..<count]).withUnsafeBufferPointer { RequestHead.parse($0) }
            #expect(parsing == .incomplete)
        }
    }

    @Test func `mutated requests are parsed within their bounds or refused`() {
        let text = Array(
            "GET http://h/a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nIf-None-Match: \"a\"\r\n\r\nabc"
                .utf8)
        var generator = SeededGenerator(1)
        for _ in 0..<20_000 {
            var mutated = text
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                mutated[Int.random(in: 0..<mutated.count, using: &generator)] = .random(
                    in: 0...255, using: &generator)
            }
            if case .head(let head) = mutated.withUnsafeBufferPointer({ RequestHead.parse($0) }) {
                #expect(head.end <= mutated.count)
                #expect(head.target.upperBound <= head.end)
                #expect(head.host.upperBound <= head.end)
            }
        }
    }
}
