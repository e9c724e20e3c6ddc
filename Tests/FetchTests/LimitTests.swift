import Fetch
import TestOrigin
import Testing
import Web

@Suite struct LimitTests {
    private let origin: TestOrigin

    init() throws { origin = try TestOrigin() }

    @Test func `an address that is too long is not asked for`() throws {
        let fetching = try Fetching()
        let failure = try fetching.failure(origin.url("/" + String(repeating: "a", count: 65_536)))
        #expect(failure == FetchFailure(.tooLarge, "the URL is over 65536 bytes"))
        #expect(origin.requests.isEmpty)
    }

    @Test func `a body that is announced too long is not waited for`() throws {
        origin.on("/", OriginAnswer.file("12345", type: "text/plain").dripping(every: .seconds(60)))
        let failure = try Fetching { $0.maxBody = 4 }.failure(origin.url("/"))
        #expect(failure == FetchFailure(.tooLarge, "the body is over 4 bytes"))
    }

    /// libcurl calls a line that is too long for it a lack of memory, which would end a whole crawl.
    @Test(arguments: [150_000, 250_000, 400_000])
    func `a header's endless line is the server's fault, not the machine's`(count: Int) throws {
        origin.on("/", .garbage("HTTP/1.1 200 OK\r\nX-A: \(String(repeating: "a", count: count))\r\n\r\n"))
        #expect(try Fetching().failure(origin.url("/")).kind == .tooLarge)
    }

    @Test func `many lines of header are too many`() throws {
        let lines = String(repeating: "X-A: \(String(repeating: "a", count: 1000))\r\n", count: 290)
        origin.on("/", .garbage("HTTP/1.1 200 OK\r\n\(lines)\r\n"))
        #expect(try Fetching().failure(origin.url("/")).kind == .tooLarge)
    }

    @Test(arguments: [(999, true), (1000, false), (1001, false)], [false, true])
    func `a transfer ends at the limit of its request, and the beginning is the response`(
        limit: (maxBytes: Int, isCut: Bool), chunked: Bool
    ) throws {
        let body = (0..<1000).map { UInt8($0 % 251) }
        let answer = OriginAnswer.file(body, type: "text/plain")
        origin.on("/", chunked ? answer.chunked(10) : answer)
        let result = try Fetching().result(
            of: try Fetching.request(origin.url("/")) { $0.maxBytes = limit.maxBytes })
        guard case .response(let response) = result.outcome, case .bytes(let bytes) = response.body else {
            Issue.record("\(result.outcome)")
            return
        }
        #expect(response.isCut == limit.isCut)
        #expect(bytes == Array(body.prefix(limit.maxBytes)))
    }

    @Test func `a compressed or endless body is cut as well`() throws {
        let zeros = Zeros.gzip(matches: 20_000)
        origin.on("/coded", .file(zeros, type: "text/csv").adding("Content-Encoding", "gzip"))
        origin.on("/endless", .endless("0"))
        for path in ["/coded", "/endless"] {
            let result = try Fetching().result(
                of: try Fetching.request(origin.url(path)) { $0.maxBytes = 300_000 })
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
    func `a body that swells without measure is stopped`(chunked: Bool) throws {
        let bomb = Zeros.zstd(blocks: 1000)
        #expect(bomb.count < 5000)
        let answer = OriginAnswer.file(bomb, type: "text/html").adding("Content-Encoding", "zstd")
        origin.on("/", chunked ? answer.chunked(1000) : answer)
        let fetching = try Fetching()
        let failure = try fetching.failure(origin.url("/"))
        #expect(
            failure == FetchFailure(.tooLarge, "the decoded body is over 200 times the size of what was sent")
        )
        #expect(!failure.mayPass)
        #expect(fetching.scratch.names().isEmpty)
    }

    /// Libcurl counts chunks late: a plain table of zeros must not be taken for a bomb.
    @Test(arguments: [false, true])
    func `a body that swells a hundredfold is taken`(chunked: Bool) throws {
        let zeros = Zeros.gzip(matches: 20_000)
        #expect(Zeros.gzipByteCount(matches: 20_000) > 150 * zeros.count)
        let answer = OriginAnswer.file(zeros, type: "text/csv").adding("Content-Encoding", "gzip")
        origin.on("/", chunked ? answer.chunked(60_000) : answer)
        let response = try Fetching().response(origin.url("/"))
        #expect(response.body.byteCount == Zeros.gzipByteCount(matches: 20_000))
        response.body.discard()
    }

    @Test func `a small body may come from as little as it likes`() throws {
        let answer = OriginAnswer.file(Zeros.zstd(blocks: 8), type: "text/html").adding(
            "Content-Encoding", "zstd")
        origin.on("/", answer)
        let response = try Fetching().response(origin.url("/"))
        #expect(response.body.byteCount == 1024 * 1024)
        response.body.discard()
    }

    @Test(arguments: [("4", "5", false), ("4", "4", true), ("4, 5", nil, false), ("4, 4", nil, true)])
    func `an answer with two lengths is refused`(first: String, second: String?, isTaken: Bool) throws {
        let other = second.map { "Content-Length: \($0)\r\n" } ?? ""
        origin.on("/", .garbage("HTTP/1.1 200 OK\r\nContent-Length: \(first)\r\n\(other)\r\nbody"))
        switch try Fetching().result(origin.url("/")).outcome {
        case .response(let response): #expect(isTaken && response.body.byteCount == 4)
        case .failure(let failure): #expect(!isTaken && failure.kind == .nonsense, "\(failure)")
        }
    }

    @Test func `content codings are undone`() throws {
        origin.on("/", .file("", type: "text/plain"))
        _ = try Fetching().response(origin.url("/"))
        let codings = try #require(origin.requests.first?["Accept-Encoding"]).split(separator: ", ")
        #expect(Set(codings) == ["deflate", "gzip", "br", "zstd"])
    }

    /// `none` and `identity` are the ones that libcurl knows.
    @Test(arguments: ["utf-8", "UTF-8, binary", "none", "identity", ""])
    func `a content coding that is none is passed over, as browsers do`(coding: String) throws {
        origin.on("/", OriginAnswer.file("as it is", type: "text/plain").adding("Content-Encoding", coding))
        let fetching = try Fetching()
        let loop = try fetching.loop()
        for _ in 1...2 {
            let response = try fetching.response(origin.url("/"), in: loop)
            #expect(try response.text() == "as it is")
        }
        // The handle asks for codings again afterwards.
        origin.on("/other", .file("other", type: "text/plain"))
        _ = try fetching.response(origin.url("/other"), in: loop)
        #expect(origin.requests(to: "/other").first?["Accept-Encoding"]?.contains("gzip") == true)
    }

    @Test func `a body that is not in the coding it claims fails, once`() throws {
        origin.on("/", OriginAnswer.file("no gzip", type: "text/plain").adding("Content-Encoding", "gzip"))
        #expect(try Fetching().failure(origin.url("/")).kind == .nonsense)
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [
        ("bytes 0-3/4", true), ("bytes 0-3/100", false), ("bytes 2-5/6", false), ("bytes 0-3/*", false),
        ("bytes */4", false), ("nonsense", false),
    ])
    func `a part is not taken for the whole that was asked for`(range: String, isWhole: Bool) throws {
        var answer = OriginAnswer.file("part", type: "text/plain").adding("Content-Range", range)
        answer.status = 206
        origin.on("/", answer)
        let fetching = try Fetching()
        guard isWhole else {
            let failure = try fetching.failure(origin.url("/"))
            #expect(
                failure == FetchFailure(.nonsense, "the server sent a part, although the whole was requested")
            )
            return
        }
        let response = try fetching.response(origin.url("/"))
        #expect(response.status == 200)
        #expect(response.fields["Content-Range"] == nil)
        #expect(try response.text() == "part")
    }
}

/// Servers that keep a client waiting, each in its own way.
@Suite struct TimeLimitTests {
    private func failure(_ url: String, _ change: (inout FetchOptions) -> Void) throws -> FetchFailure {
        let failure = try Fetching(change).failure(url)
        #expect(failure.kind == .timeout)
        #expect(failure.mayPass)
        return failure
    }

    @Test func `a silent server is given up`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("late").delayed(.seconds(60)))
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(100) }
        #expect(failure.detail == "nothing was received for 0.1 s")
    }

    @Test func `a body that stops is given up`() throws {
        let origin = try TestOrigin()
        origin.on("/", OriginAnswer.page("12345678").dripping(4, every: .seconds(60)))
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(100) }
        #expect(failure.detail == "nothing was received for 0.1 s")
    }

    @Test func `a body that drips for ever is given up`() throws {
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

    @Test func `a header that drips for ever is given up`() throws {
        let origin = try RawOrigin { client in
            _ = client.send("HTTP/1.1 200 OK\r\n")
            while client.send("X-A: 1\r\n"), client.pause(.milliseconds(5)) {}
            return true
        }
        let failure = try failure(origin.url("/")) { $0.headerTimeout = .milliseconds(200) }
        #expect(failure.detail == "the headers were not complete after 0.2 s")
    }

    @Test func `a line of the header without an end is given up`() throws {
        let origin = try RawOrigin { client in
            _ = client.send("HTTP/1.1 200 OK\r\nX-A: ")
            while client.send("a"), client.pause(.milliseconds(5)) {}
            return true
        }
        // libcurl shows a line when it is whole: until then nothing has come.
        let failure = try failure(origin.url("/")) { $0.stallTimeout = .milliseconds(200) }
        #expect(failure.detail == "nothing was received for 0.2 s")
    }

    @Test func `a transfer may have so long and no longer`() throws {
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

    /// A server that takes the connection and never shakes hands, whatever a client's hello looks like.
    private static func speechless() throws -> RawOrigin {
        try RawOrigin { client in client.pause(.seconds(3600)) }
    }

    @Test func `a connection that is never made is given up`() throws {
        let origin = try Self.speechless()
        let url = "https://127.0.0.1:\(origin.port)/"
        let failure = try failure(url) { $0.connectTimeout = .milliseconds(200) }
        #expect(failure.detail == "no connection within 0.2 s")
    }

    @Test func `those who wait for the same connection share its fate`() throws {
        let origin = try Self.speechless()
        let requests = try (0..<60).map { number in
            try Fetching.request("https://127.0.0.1:\(origin.port)/\(number)") { $0.number = UInt32(number) }
        }
        let loop = try Fetching { $0.connectTimeout = .milliseconds(500) }.loop()
        for result in try Fetching.results(of: requests, in: loop).values {
            #expect(try result.failure().kind == .timeout)
        }
        // One after the other would have had a connection each. The server sees the end of each a moment later.
        #expect(origin.heads.count < 30)
    }

    @Test func `what is given up leaves the others alone`() throws {
        let origin = try TestOrigin()
        origin.otherwise { .page($0.target) }
        let requests = try (0..<20).map { number in
            try Fetching.request(origin.url(number % 5 == 0 ? "/slow" : "/\(number)")) {
                $0.number = UInt32(number)
            }
        }
        try Fetching.withLimits(from: .milliseconds(100)) { limit in
            origin.on("/slow", .page("late").delayed(limit + .seconds(60)))
            let loop = try Fetching { $0.stallTimeout = limit }.loop()
            var ended: [UInt32] = []
            for (number, result) in try Fetching.results(of: requests, in: loop) {
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
