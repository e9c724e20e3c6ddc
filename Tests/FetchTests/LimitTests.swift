import Fetch
import TestOrigin
import Testing
import Web

@Suite struct LimitTests {
    private let origin: TestOrigin

    init() throws { origin = try TestOrigin() }

    @Test func `a URL over the length limit is not requested`() throws {
        let fetching = try TestFetcher()
        let failure = try fetching.failure(origin.url("/" + String(repeating: "a", count: 65_536)))
        #expect(failure == FetchFailure(.tooLarge, "the URL is over 65536 bytes"))
        #expect(origin.requests.isEmpty)
    }

    @Test func `a body with a declared length over the limit fails at once`() throws {
        origin.on("/", OriginAnswer.file("12345", type: "text/plain").dripping(every: .seconds(60)))
        let failure = try TestFetcher { $0.maxBodyBytes = 4 }.failure(origin.url("/"))
        #expect(failure == FetchFailure(.tooLarge, "the body is over 4 bytes"))
    }

    /// libcurl reports a line over its own limit as out of memory, which would end a whole crawl.
    @Test(arguments: [150_000, 250_000, 400_000])
    func `an endless header line fails as too large, not as a failure of this machine`(count: Int) throws {
        origin.on("/", .garbage("HTTP/1.1 200 OK\r\nX-A: \(String(repeating: "a", count: count))\r\n\r\n"))
        #expect(try TestFetcher().failure(origin.url("/")).kind == .tooLarge)
    }

    @Test func `a header with too many lines fails as too large`() throws {
        let lines = String(repeating: "X-A: \(String(repeating: "a", count: 1000))\r\n", count: 290)
        origin.on("/", .garbage("HTTP/1.1 200 OK\r\n\(lines)\r\n"))
        #expect(try TestFetcher().failure(origin.url("/")).kind == .tooLarge)
    }

    @Test(arguments: [(999, true), (1000, false), (1001, false)], [false, true])
    func `a transfer ends at the request's byte limit, and the response has the beginning of the body`(
        limit: (maxBytes: Int, isCut: Bool), chunked: Bool
    ) throws {
        let body = (0..<1000).map { UInt8($0 % 251) }
        let answer = OriginAnswer.file(body, type: "text/plain")
        origin.on("/", chunked ? answer.chunked(10) : answer)
        let result = try TestFetcher().result(
            of: try TestFetcher.request(origin.url("/")) { $0.maxBytes = limit.maxBytes })
        guard case .response(let response) = result.outcome, case .bytes(let bytes) = response.body else {
            Issue.record("\(result.outcome)")
            return
        }
        #expect(response.isCut == limit.isCut)
        #expect(bytes == Array(body.prefix(limit.maxBytes)))
    }

    @Test func `the request's byte limit also applies to compressed and endless bodies`() throws {
        let zeros = Zeros.gzip(matches: 20_000)
        origin.on("/coded", .file(zeros, type: "text/csv").adding("Content-Encoding", "gzip"))
        origin.on("/endless", .endless("0"))
        for path in ["/coded", "/endless"] {
            let result = try TestFetcher().result(
                of: try TestFetcher.request(origin.url(path)) { $0.maxBytes = 300_000 })
            guard case .response(let response) = result.outcome else {
                Issue.record("\(result.outcome)")
                continue
            }
            #expect(response.isCut && response.body.byteCount == 300_000)
            #expect(result.partial == nil && !response.isCoded)
            response.body.discard()
        }
    }

    @Test(arguments: [false, true])
    func `a body that expands beyond the limit when decoded fails`(chunked: Bool) throws {
        let bomb = Zeros.zstd(blocks: 1000)
        #expect(bomb.count < 5000)
        let answer = OriginAnswer.file(bomb, type: "text/html").adding("Content-Encoding", "zstd")
        origin.on("/", chunked ? answer.chunked(1000) : answer)
        let fetching = try TestFetcher()
        let failure = try fetching.failure(origin.url("/"))
        #expect(
            failure
                == FetchFailure(.tooLarge, "the decoded body is over 200 times the size of the encoded one")
        )
        #expect(!failure.canRetry)
        #expect(fetching.scratch.names().isEmpty)
    }

    /// libcurl counts chunks late: a plain table of zeros must not count as a decompression bomb.
    @Test(arguments: [false, true])
    func `a body that expands a hundredfold when decoded is accepted`(chunked: Bool) throws {
        let zeros = Zeros.gzip(matches: 20_000)
        #expect(Zeros.gzipByteCount(matches: 20_000) > 150 * zeros.count)
        let answer = OriginAnswer.file(zeros, type: "text/csv").adding("Content-Encoding", "gzip")
        origin.on("/", chunked ? answer.chunked(60_000) : answer)
        let response = try TestFetcher().response(origin.url("/"))
        #expect(response.body.byteCount == Zeros.gzipByteCount(matches: 20_000))
        response.body.discard()
    }

    @Test func `a small body may expand by any factor`() throws {
        let answer = OriginAnswer.file(Zeros.zstd(blocks: 8), type: "text/html").adding(
            "Content-Encoding", "zstd")
        origin.on("/", answer)
        let response = try TestFetcher().response(origin.url("/"))
        #expect(response.body.byteCount == 1024 * 1024)
        response.body.discard()
    }

    @Test(arguments: [("4", "5", false), ("4", "4", true), ("4, 5", nil, false), ("4, 4", nil, true)])
    func `a response with two different lengths fails`(first: String, second: String?, isAccepted: Bool)
        throws
    {
        let other = second.map { "Content-Length: \($0)\r\n" } ?? ""
        origin.on("/", .garbage("HTTP/1.1 200 OK\r\nContent-Length: \(first)\r\n\(other)\r\nbody"))
        switch try TestFetcher().result(origin.url("/")).outcome {
        case .response(let response): #expect(isAccepted && response.body.byteCount == 4)
        case .failure(let failure): #expect(!isAccepted && failure.kind == .invalidResponse, "\(failure)")
        }
    }

    @Test func `content codings are decoded`() throws {
        origin.on("/", .file("", type: "text/plain"))
        _ = try TestFetcher().response(origin.url("/"))
        let codings = try #require(origin.requests.first?["Accept-Encoding"]).split(separator: ", ")
        #expect(Set(codings) == ["deflate", "gzip", "br", "zstd"])
    }

    /// `none` and `identity` are the ones that libcurl knows.
    @Test(arguments: ["utf-8", "UTF-8, binary", "none", "identity", ""])
    func `an unknown name that is not a content coding is ignored, as in browsers`(coding: String) throws {
        origin.on("/", OriginAnswer.file("as it is", type: "text/plain").adding("Content-Encoding", coding))
        let fetching = try TestFetcher()
        let loop = try fetching.loop()
        for _ in 1...2 {
            let response = try fetching.response(origin.url("/"), in: loop)
            #expect(try response.text() == "as it is")
        }
        // The next request on the same libcurl handle accepts codings again.
        origin.on("/other", .file("other", type: "text/plain"))
        _ = try fetching.response(origin.url("/other"), in: loop)
        #expect(origin.requests(to: "/other").first?["Accept-Encoding"]?.contains("gzip") == true)
    }

    @Test func `a body that is not in its declared coding fails`() throws {
        origin.on("/", OriginAnswer.file("no gzip", type: "text/plain").adding("Content-Encoding", "gzip"))
        #expect(try TestFetcher().failure(origin.url("/")).kind == .invalidResponse)
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [
        ("bytes 0-3/4", true), ("bytes 0-3/100", false), ("bytes 2-5/6", false), ("bytes 0-3/*", false),
        ("bytes */4", false), ("nonsense", false),
    ])
    func `a 206 response to a request for the whole body is accepted only if it has the whole body`(
        range: String, isWhole: Bool
    ) throws {
        var answer = OriginAnswer.file("part", type: "text/plain").adding("Content-Range", range)
        answer.status = 206
        origin.on("/", answer)
        let fetching = try TestFetcher()
        guard isWhole else {
            let failure = try fetching.failure(origin.url("/"))
            #expect(
                failure
                    == FetchFailure(
                        .invalidResponse, "the server sent a part, although the whole was requested")
            )
            return
        }
        let response = try fetching.response(origin.url("/"))
        #expect(response.status == 200)
        #expect(response.fields["Content-Range"] == nil)
        #expect(try response.text() == "part")
    }
}

/// Servers that keep a client waiting in different ways.
@Suite struct TimeLimitTests {
    private func failure(_ url: String, _ change: (inout FetchOptions) -> Void) throws -> FetchFailure {
        let failure = try TestFetcher(change).failure(url)
        #expect(failure.kind == .timeout)
        #expect(failure.canRetry)
        return failure
    }

    @Test func `a server that sends nothing is a timeout`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("late").delayed(.seconds(60)))
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(100) }
        #expect(failure.detail == "nothing was received for 0.1 s")
    }

    @Test func `a body that stops arriving is a timeout`() throws {
        let origin = try TestOrigin()
        origin.on("/", OriginAnswer.page("12345678").dripping(4, every: .seconds(60)))
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(100) }
        #expect(failure.detail == "nothing was received for 0.1 s")
    }

    @Test func `a body that arrives too slowly is a timeout`() throws {
        let origin = try TestOrigin()
        origin.on(
            "/", OriginAnswer.page(String(repeating: "a", count: 10_000)).dripping(1, every: .milliseconds(5))
        )
        let failure = try failure(origin.url("/")) { options in
            options.minBytesPerSecond = 10_000
            options.speedWindow = .milliseconds(200)
        }
        #expect(failure.detail == "under 10000 bytes per second for 0.2 s")
    }

    @Test func `a header that arrives too slowly is a timeout`() throws {
        let origin = try RawOrigin { client in
            _ = client.send("HTTP/1.1 200 OK\r\n")
            while client.send("X-A: 1\r\n"), client.pause(.milliseconds(5)) {}
            return true
        }
        let failure = try failure(origin.url("/")) { $0.headerTimeout = .milliseconds(200) }
        #expect(failure.detail == "the headers were not complete after 0.2 s")
    }

    @Test func `a header line that never ends is a timeout`() throws {
        let origin = try RawOrigin { client in
            _ = client.send("HTTP/1.1 200 OK\r\nX-A: ")
            while client.send("a"), client.pause(.milliseconds(5)) {}
            return true
        }
        // libcurl delivers only whole lines, so that this counts as no bytes at all.
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(200) }
        #expect(failure.detail == "nothing was received for 0.2 s")
    }

    @Test func `a transfer that exceeds the total time limit is a timeout`() throws {
        let origin = try TestOrigin()
        origin.on(
            "/",
            OriginAnswer.page(String(repeating: "a", count: 100_000)).dripping(1, every: .milliseconds(5)))
        let failure = try failure(origin.url("/")) { options in
            options.totalTimeout = .milliseconds(200)
            options.minBytesPerSecond = 1
        }
        #expect(failure.detail == "not done after 0.2 s")
    }

    /// A server that accepts the connection and never answers the TLS handshake.
    private static func silentOrigin() throws -> RawOrigin {
        try RawOrigin { client in client.pause(.seconds(3600)) }
    }

    @Test func `a connection that is not established in time is a timeout`() throws {
        let origin = try Self.silentOrigin()
        let url = "https://127.0.0.1:\(origin.port)/"
        let failure = try failure(url) { $0.connectTimeout = .milliseconds(200) }
        #expect(failure.detail == "no connection within 0.2 s")
    }

    @Test func `requests that wait for the same connection fail together with it`() throws {
        let origin = try Self.silentOrigin()
        let requests = try (0..<60).map { number in
            try TestFetcher.request("https://127.0.0.1:\(origin.port)/\(number)") {
                $0.number = UInt32(number)
            }
        }
        let loop = try TestFetcher { $0.connectTimeout = .milliseconds(500) }.loop()
        for result in try TestFetcher.results(of: requests, in: loop).values {
            #expect(try result.failure().kind == .timeout)
        }
        // If the requests failed one after the other, each would open a connection of its own.
        #expect(origin.heads.count < 30)
    }

    @Test func `a request that timed out does not affect the others`() throws {
        let origin = try TestOrigin()
        origin.otherwise { .page($0.target) }
        let requests = try (0..<20).map { number in
            try TestFetcher.request(origin.url(number % 5 == 0 ? "/slow" : "/\(number)")) {
                $0.number = UInt32(number)
            }
        }
        try TestFetcher.withLimits(from: .milliseconds(100)) { limit in
            origin.on("/slow", .page("late").delayed(limit + .seconds(60)))
            let loop = try TestFetcher { $0.stallTimeout = limit }.loop()
            var ended: [UInt32] = []
            for (number, result) in try TestFetcher.results(of: requests, in: loop) {
                if number % 5 == 0 {
                    #expect(try result.failure().kind == .timeout)
                } else if case .failure(let failure) = result.outcome, failure.kind == .timeout {
                    ended.append(number)
                } else {
                    #expect(try result.response().text() == "/\(number)")
                }
            }
            return ended
        }
    }
}
