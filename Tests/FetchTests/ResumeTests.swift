import Fetch
import Glibc
import TestOrigin
import Testing
import Web

@Suite struct ResumeTests {
    private let origin: TestOrigin
    private let fetching: TestFetcher
    private let body = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

    init() throws {
        origin = try TestOrigin()
        fetching = try TestFetcher()
    }

    private var file: OriginAnswer { .file(body, type: "video/mp4") }

    private var target: String { origin.url("/film") }

    private func bytes(_ body: FetchedBody) throws -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .file(let path, _): return try contents(path)
        }
    }

    private func contents(_ path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
        return bytes
    }

    private func size(_ name: String?) throws -> Int {
        guard let name else { return 0 }
        var status = stat()
        return stat(fetching.scratch.file(name), &status) == 0 ? status.st_size : 0
    }

    /// Fetches the first 300,000 bytes, after which the origin closes the connection.
    private func fetchBeginning(_ validate: (OriginAnswer) -> OriginAnswer) throws -> PartialBody {
        origin.on("/film", validate(file).truncated(after: 300_000))
        let result = try fetching.result(target)
        #expect(try result.failure().kind == .broken)
        let partial = try #require(result.partial)
        #expect(partial.byteCount == 300_000)
        #expect(try contents(partial.path) == Array(body[..<300_000]))
        origin.forgetRequests()
        return partial
    }

    private func fetchRest(_ partial: PartialBody) throws -> FetchResult {
        try fetching.result(of: try TestFetcher.request(target) { $0.resume = partial })
    }

    @Test(
        arguments: [
            (#""one""#, nil), (nil, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (#""one""#, "Sun, 06 Nov 1994 08:49:37 GMT"),
        ] as [(String?, String?)])
    func `a body that broke off is resumed`(tag: String?, date: String?) throws {
        let partial = try fetchBeginning {
            $0.validated(entityTag: tag, lastModified: date).adding("X-Old", "1")
        }
        origin.on("/film", file.validated(entityTag: tag, lastModified: date).adding("X-New", "2"))
        let result = try fetchRest(partial)
        let response = try result.response()
        #expect(response.status == 200)
        #expect(try bytes(response.body) == body)
        #expect(result.partial == nil)
        #expect(result.wireByteCount < 110_000)
        #expect(response.fields["Content-Length"] == "400000")
        #expect(response.fields["Content-Range"] == nil)
        #expect(response.fields.all("Content-Type") == ["video/mp4"])
        #expect(response.fields["X-Old"] == "1" && response.fields["X-New"] == "2")
        let sent = try #require(origin.requests.first)
        #expect(sent["Range"] == "bytes=300000-")
        #expect(sent["If-Range"] == tag ?? date)
        #expect(sent["Accept-Encoding"] == "identity")
        response.body.discard()
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test func `a body that has changed is fetched from the start`() throws {
        let partial = try fetchBeginning { $0.validated(entityTag: #""one""#) }
        origin.on("/film", OriginAnswer.file("another", type: "video/mp4").validated(entityTag: #""two""#))
        let response = try fetchRest(partial).response()
        #expect(try response.text() == "another")
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test(arguments: [
        OriginAnswer(status: 416, fields: [("Content-Range", "bytes */1000")]),
        OriginAnswer(status: 206, text: "no range"),
        OriginAnswer(
            status: 206, fields: [("ETag", #""one""#), ("Content-Range", "bytes 0-3/400000")], text: "from"),
        OriginAnswer(
            status: 206, fields: [("ETag", #""two""#), ("Content-Range", "bytes 300000-399999/400000")],
            text: "other"),
        OriginAnswer(
            status: 206,
            fields: [
                ("ETag", #""one""#), ("Content-Range", "bytes 300000-399999/400000"),
                ("Content-Encoding", "br"),
            ],
            text: "coded"),
    ])
    func `a response that does not continue the part is a mismatch and leaves no file`(answer: OriginAnswer)
        throws
    {
        let partial = try fetchBeginning { $0.validated(entityTag: #""one""#) }
        origin.on("/film", answer)
        let result = try fetchRest(partial)
        #expect(try result.failure().kind == .mismatch)
        #expect(try result.failure().canRetry)
        #expect(result.partial == nil)
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test func `a response with more than the rest is a mismatch`() throws {
        let partial = try fetchBeginning { $0.validated(entityTag: #""one""#) }
        let fields = [("ETag", #""one""#), ("Content-Range", "bytes 300000-300003/400000")]
        origin.on(
            "/film", OriginAnswer(status: 206, fields: fields, body: [UInt8](repeating: 1, count: 200_000)))
        #expect(try fetchRest(partial).failure().kind == .mismatch)
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test func `after a part of the rest, the next request resumes from there`() throws {
        var partial = try fetchBeginning { $0.validated(entityTag: #""one""#) }
        let first = OriginAnswer(
            status: 206, fields: [("ETag", #""one""#), ("Content-Range", "bytes 300000-300009/400000")],
            body: Array(body[300_000..<300_010]))
        origin.on(
            "/film", first, file.validated(entityTag: #""one""#).reset(after: 5000),
            file.validated(entityTag: #""one""#))
        let short = try fetchRest(partial)
        #expect(try short.failure().kind == .broken)
        partial = try #require(short.partial)
        #expect(partial.byteCount == 300_010)
        let broken = try fetchRest(partial)
        #expect(try broken.failure().kind == .broken)
        partial = try #require(broken.partial)
        #expect(partial.byteCount > 300_010)
        #expect(try bytes(try fetchRest(partial).response().body) == body)
    }

    @Test func `an unrelated response leaves the stored part unchanged`() throws {
        let partial = try fetchBeginning { $0.validated(entityTag: #""one""#) }
        origin.on("/film", .failure(503))
        let result = try fetchRest(partial)
        #expect(try result.response().status == 503)
        #expect(try result.response().text() == "503\n")
        #expect(result.partial == partial)
        origin.on("/film", .hangUp)
        #expect(try fetchRest(partial).partial == partial)
        origin.stop()
        #expect(try fetchRest(partial).partial == partial)
        #expect(try contents(partial.path) == Array(body[..<300_000]))
    }

    @Test func `a missing or shorter file is not resumed`() throws {
        let partial = try fetchBeginning { $0.validated(entityTag: #""one""#) }
        truncate(partial.path, 1000)
        origin.on("/film", file.validated(entityTag: #""one""#))
        #expect(try fetchRest(partial).failure().kind == .mismatch)
    }

    @Test func `bytes after the recorded size of the file are cut off`() throws {
        var partial = try fetchBeginning { $0.validated(entityTag: #""one""#) }
        partial.byteCount = 200_000
        origin.on("/film", file.validated(entityTag: #""one""#))
        #expect(try bytes(try fetchRest(partial).response().body) == body)
    }

    @Test(arguments: [
        (OriginAnswer.file([], type: "a/b").adding("X-A", "1"), 300_000),
        (OriginAnswer.file([], type: "a/b").validated(entityTag: #"W/"one""#), 300_000),
        (OriginAnswer.file([], type: "a/b").validated(entityTag: #""one""#), 200_000),
        (
            OriginAnswer.file([], type: "a/b").validated(entityTag: #""one""#).adding(
                "Accept-Ranges", "none"), 300_000
        ),
        (OriginAnswer(status: 404).validated(entityTag: #""one""#), 300_000),
    ])
    func `a body that cannot be resumed is not stored`(answer: OriginAnswer, count: Int) throws {
        var answer = answer
        // The first of two fields counts.
        answer.body = body
        origin.on("/film", answer.truncated(after: count))
        let result = try fetching.result(target)
        #expect(try result.failure().kind == .broken)
        #expect(result.partial == nil)
        #expect(fetching.scratch.names().isEmpty)
    }

    @Test func `a cancelled request can be resumed`() throws {
        origin.on("/film", file.validated(entityTag: #""one""#).dripping(300_000, every: .seconds(60)))
        origin.on("/small", .page("small").delayed(.seconds(60)))
        var fetching = fetching
        fetching.options.spoolThreshold = 1000
        let loop = try fetching.loop()
        loop.start(try TestFetcher.request(target) { $0.number = 1 })
        loop.start(try TestFetcher.request(origin.url("/small")) { $0.number = 2 })
        while try size(fetching.scratch.names().first) < 300_000 {
            #expect(try loop.turn(waitingAtMost: .seconds(10)).isEmpty)
        }
        let results = loop.cancelAll().sorted { $0.number < $1.number }
        #expect(try results.map { try $0.failure().kind } == [.interrupted, .interrupted])
        #expect(results.map { $0.partial?.byteCount } == [300_000, nil])
        #expect(loop.runningCount == 0)
    }
}

@Suite struct PartialBodyTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let later = "Sun, 06 Nov 1994 08:49:38 GMT"

    /// RFC 9110, sections 8.8.2.2 and 13.1.5.
    @Test(
        arguments: [
            (["ETag": #""a""#], #""a""#),
            (["ETag": #"W/"a""#], nil),
            (["ETag": #"W/"a""#, "Last-Modified": date, "Date": later], nil),
            (["ETag": #""a""#, "Last-Modified": date, "Date": later], #""a""#),
            (["Last-Modified": date, "Date": later], date),
            (["Last-Modified": date, "Date": date], nil),
            (["Last-Modified": "yesterday", "Date": later], nil),
            (["Last-Modified": date], nil),
            ([:], nil),
        ] as [([String: String], String?)])
    func `only a strong validator can be used for If-Range`(names: [String: String], condition: String?) {
        let fields = HTTPFields(names.map { HTTPFields.Field(name: $0, value: $1) })
        #expect(PartialBody(path: "", byteCount: 1, fields: fields).ifRangeValidator == condition)
    }
}
