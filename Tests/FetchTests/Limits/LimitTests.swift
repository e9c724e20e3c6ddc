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

    @Test(arguments: [false, true])
    func `a body that swells without measure is stopped`(chunked: Bool) throws {
        let bomb = Zeros.zstd(blocks: 1000)
        #expect(bomb.count < 5000)
        let answer = OriginAnswer.file(bomb, type: "text/html").adding("Content-Encoding", "zstd")
        origin.on("/", chunked ? answer.chunked(1000) : answer)
        let fetching = try Fetching()
        let failure = try fetching.failure(origin.url("/"))
        #expect(failure == FetchFailure(.tooLarge, "the body is over 200 times what was sent"))
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
        let answer = OriginAnswer.file(Zeros.zstd(blocks: 8), type: "text/html").adding("Content-Encoding", "zstd")
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
            #expect(failure == FetchFailure(.nonsense, "the server sent a part of what was asked for"))
            return
        }
        let response = try fetching.response(origin.url("/"))
        #expect(response.status == 200)
        #expect(response.fields["Content-Range"] == nil)
        #expect(try response.text() == "part")
    }
}
