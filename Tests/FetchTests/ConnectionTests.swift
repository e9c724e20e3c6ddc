import Fetch
import TestOrigin
import Testing
import Web

/// Several requests to one server over HTTP/1.1, which share connections.
@Suite struct ConnectionTests {
    private let origin: TestOrigin
    private let fetching: TestFetcher

    init() throws {
        origin = try TestOrigin()
        fetching = try TestFetcher { $0.stallTimeout = .seconds(60) }
    }

    @Test(arguments: [
        OriginAnswer.file("jam", type: "text/plain"), .file("jam", type: "text/plain").chunked(1),
        .file("jam", type: "text/plain").untilClose(), .file("jam", type: "text/plain").closing(),
        .file("jam", type: "text/plain").preceded(by: 103, [("Link", "</a>; rel=preload")]),
        .file("jam", type: "text/plain").dripping(1, every: .milliseconds(2)),
        .raw(Array("HTTP/1.1 200\nContent-Length: 3\n\njam".utf8)),
        .raw(Array("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\njam".utf8)),
        .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\njam".utf8)),
    ])
    func `the body is complete whichever way the response marks its end`(answer: OriginAnswer) throws {
        origin.on("/a", answer)
        let loop = try fetching.loop()
        for _ in 0..<3 { #expect(try fetching.response(origin.url("/a"), in: loop).text() == "jam") }
    }

    @Test func `a response that breaks off is a failure, and the next request succeeds`() throws {
        origin.on("/whole", .file("x", type: "text/plain"))
        origin.on("/cut", .file("jam and plums", type: "text/plain").truncated(after: 3))
        origin.on("/chunks", .file("jam and plums", type: "text/plain").brokenChunk(after: 3))
        origin.on("/gone", .hangUp)
        let loop = try fetching.loop()
        for target in ["/cut", "/chunks", "/gone"] {
            _ = try fetching.response(origin.url("/whole"), in: loop)
            _ = try fetching.failure(origin.url(target), in: loop)
        }
        #expect(try fetching.response(origin.url("/whole"), in: loop).text() == "x")
    }

    @Test func `requests succeed although the server closes each connection after its response`() throws {
        origin.otherwise { .file($0.target, type: "text/plain").closing() }
        let loop = try fetching.loop()
        for number in 0..<20 {
            #expect(try fetching.response(origin.url("/\(number)"), in: loop).text() == "/\(number)")
        }
        #expect(origin.requests.count == 20)
    }

    @Test func `bytes after a response are not read as the next response`() throws {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\njam"
        let bad = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"
        let origin = try RawOrigin { client in client.send(good + bad) }
        let loop = try fetching.loop()
        for number in 0..<6 {
            #expect(try fetching.response(origin.url("/\(number)"), in: loop).text() == "jam")
        }
    }

    /// Each response but the first of a connection follows bytes that belong to none.
    @Test(arguments: ["\r\n", "and plums\n", "\0"])
    func `a request is repeated if late bytes of the response before it take its place`(late: String) throws {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\njam"
        let origin = try RawOrigin { client in
            var isAnswered = client.send(good)
            while isAnswered, client.nextHead() != nil { isAnswered = client.send(late + good) }
            return isAnswered
        }
        let loop = try fetching.loop()
        for number in 0..<6 {
            #expect(try fetching.response(origin.url("/\(number)"), in: loop).text() == "jam")
        }
    }

    @Test func `a POST is not repeated`() throws {
        let origin = try RawOrigin { client in
            var isAnswered = client.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\njam")
            while isAnswered, client.nextHead() != nil {
                isAnswered = client.send("plums and pears and figs\r\n")
            }
            return isAnswered
        }
        let loop = try fetching.loop()
        #expect(try fetching.response(origin.url("/first"), in: loop).text() == "jam")
        let post = try TestFetcher.request(origin.url("/post")) { $0.method = "POST" }
        #expect(try fetching.result(of: post, in: loop).failure().kind == .invalidResponse)
        #expect(origin.heads.count == 1)
    }

    @Test(arguments: [1, 4])
    func `a host gets no more connections than the limit`(limit: Int) throws {
        origin.otherwise { .file($0.target, type: "text/plain").delayed(.milliseconds($0.target.utf8.count)) }
        var options = fetching.options
        options.maxConnectionsPerHost = limit
        let loop = try FetchLoop(options)
        let requests = try (0..<60).map { number in
            try TestFetcher.request(origin.url("/\(number)")) { request in
                request.number = UInt32(number)
                if number % 7 == 1 { request.method = "POST" }
            }
        }
        #expect(try TestFetcher.results(of: requests, in: loop).count == 60)
        #expect(origin.connectionCount <= limit)
    }
}
