import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror

@Suite struct OutgoingResponseTests {
    private static let size = 300_000
    private static let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    private static let fields = [
        (name: "Content-Type", value: "text/plain"), (name: "ETag", value: "\"v1\""),
        (name: "X-Own", value: "kept"),
        (name: "Last-Modified", value: "Sun, 06 Nov 1994 08:49:37 GMT"),
    ]

    private let script: HTTPScript
    private let folder: TemporaryFolder

    init() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Self.body, to: "body")
        let inMemory = Answer(status: 200, fields: Self.fields, body: Self.body)
        self.folder = folder
        script = try HTTPScript { request in
            switch String(decoding: request.target, as: UTF8.self) {
            case "/file":
                Reply(
                    answer: Answer(
                        status: 200, fields: Self.fields, file: .init(path: path, byteCount: Self.size)))
            case "/gone":
                Reply(
                    answer: Answer(
                        status: 200, fields: Self.fields, file: .init(path: path + "x", byteCount: 1)))
            case "/short":
                Reply(
                    answer: Answer(
                        status: 200, fields: Self.fields, file: .init(path: path, byteCount: 1 << 20)))
            default:
                Reply(answer: inMemory, clientFields: Array("X-Client: one\r\n".utf8))
            }
        }
    }

    private func get(_ target: String, _ method: String = "GET", _ fields: (String, String)...) throws
        -> RawResponse
    {
        let client = try script.client()
        let answer = try client.get(target, method: method, fields: fields)
        // The connection is usable after the response.
        #expect(try client.get("/memory", fields: [("Range", "bytes=0-0")]).body == [Self.body[0]])
        return answer
    }

    @Test(arguments: ["/memory", "/file"]) func `a whole response announces that ranges are supported`(
        target: String
    )
        throws
    {
        let whole = try get(target)
        #expect(whole.status == 200)
        #expect(whole.body == Self.body)
        #expect(whole["Accept-Ranges"] == "bytes")
        #expect(whole["Date"]?.hasSuffix("GMT") == true)
        let head = try get(target, "HEAD", ("Range", "bytes=0-9"))
        #expect(head.status == 200)
        #expect(head["Content-Length"] == "\(Self.size)")
    }

    @Test(arguments: ["/memory", "/file"]) func `a single range is answered with a 206 and Content-Range`(
        target: String
    ) throws {
        let part = try get(target, "GET", ("Range", "bytes=100000-250000"), ("If-Range", "\"v1\""))
        #expect(part.status == 206)
        #expect(part["Content-Range"] == "bytes 100000-250000/\(Self.size)")
        #expect(part["Content-Length"] == "150001")
        #expect(part["Content-Type"] == "text/plain")
        #expect(part["ETag"] == "\"v1\"")
        #expect(part["X-Own"] == "kept")
        #expect(part["X-Client"] == (target == "/memory" ? "one" : nil))
        #expect(part.body == Array(Self.body[100_000...250_000]))
        #expect(try get(target, "GET", ("Range", "bytes=5-"), ("If-Range", "\"v2\"")).status == 200)
    }

    @Test(arguments: ["/memory", "/file"]) func `several ranges are answered with a multipart message`(
        target: String
    )
        throws
    {
        let answer = try get(target, "GET", ("Range", "bytes=299000-, 0-9, 5000-5009"))
        #expect(answer.status == 206)
        #expect(answer["Content-Range"] == nil)
        let type = try #require(answer["Content-Type"])
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        let boundary = type.dropFirst("multipart/byteranges; boundary=".count)
        var expected: [UInt8] = []
        for part in [299_000..<Self.size, 0..<10, 5000..<5010] {
            expected += "\(expected.isEmpty ? "" : "\r\n")--\(boundary)\r\nContent-Type: text/plain\r\n".utf8
            expected +=
                "Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(Self.size)\r\n\r\n".utf8
            expected += Self.body[part]
        }
        expected += "\r\n--\(boundary)--\r\n".utf8
        #expect(answer.body == expected)
    }

    @Test(arguments: ["/memory", "/file"])
    func `a range beyond the body gets a 416 with the length of the body`(
        target: String
    ) throws {
        let answer = try get(target, "GET", ("Range", "bytes=300000-"))
        #expect(answer.status == 416)
        #expect(answer["Content-Range"] == "bytes */\(Self.size)")
        #expect(answer["Content-Length"] == "0")
        #expect(answer["ETag"] == nil)
        #expect(answer["X-Own"] == "kept")
    }

    @Test(arguments: ["/memory", "/file"], ["GET", "HEAD"])
    func `a matching If-None-Match gets a 304 without body fields, and a failed If-Match a 412`(
        target: String, method: String
    ) throws {
        let answer = try get(target, method, ("If-None-Match", "W/\"v1\""))
        #expect(answer.status == 304)
        #expect(answer.body.isEmpty)
        #expect(answer["ETag"] == "\"v1\"")
        #expect(answer["X-Own"] == "kept")
        #expect(answer["Date"] != nil)
        for name in ["Content-Length", "Content-Type", "Last-Modified", "Accept-Ranges"] {
            #expect(answer[name] == nil)
        }
        let failed = try get(target, method, ("If-Match", "\"v2\""))
        #expect(failed.status == 412)
        #expect(failed["Content-Length"] == "0")
    }

    @Test(arguments: ["/gone", "/short"])
    func `a file that is missing or shorter than announced gets a 500`(
        target: String
    ) throws {
        let client = try script.client()
        let answer = try client.get(target)
        #expect(answer.status == 500)
        #expect(answer["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
        #expect(try script.client().get(target, method: "HEAD").status == 200)
    }

    @Test func `pipelined responses from files and memory keep the order of their requests`() throws {
        let client = try script.client()
        let targets = ["/file", "/memory", "/file", "/memory", "/file"]
        for target in targets {
            try client.send("GET \(target) HTTP/1.1\r\nHost: a\r\nRange: bytes=7-270000\r\n\r\n")
        }
        try client.send(
            String(repeating: "GET /memory HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n", count: 500))
        for _ in targets { #expect(try client.response().body == Array(Self.body[7...270_000])) }
        for _ in 0..<500 { #expect(try client.response().status == 304) }
    }
}

@Suite struct ResponseSelectionTests {
    private static let tag = "\"v1\""
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let before = "Sat, 05 Nov 1994 08:49:37 GMT"
    private static let after = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let later = HTTPDate(secondsSinceEpoch: 2_000_000_000)

    private func answer(
        _ status: Int = 200, tag: String? = tag, modified: String? = modified, count: Int = 1000
    )
        -> Answer
    {
        var fields: [(name: String, value: String)] = [("Content-Type", "text/plain")]
        if let tag { fields.append(("ETag", tag)) }
        if let modified { fields.append(("last-modified", modified)) }
        return Answer(status: status, fields: fields, body: [UInt8](repeating: 0x61, count: count))
    }

    private func select(_ answer: Answer, _ method: String, _ fields: [(String, String)]) -> ResponseSelection
    {
        let fields = HTTPFields(fields.map { HTTPFields.Field(name: $0.0, value: $0.1) })
        return ResponseSelection(of: answer, method: method, fields: fields, now: Self.later)
    }

    @Test(arguments: [
        ("If-None-Match", tag, ResponseSelection.notModified), ("If-None-Match", "W/\"v1\"", .notModified),
        ("If-None-Match", "\"v0\", \(tag)", .notModified), ("If-None-Match", "*", .notModified),
        ("If-None-Match", "\"v2\"", .whole), ("If-None-Match", "\"xv1\"", .whole),
        ("If-Modified-Since", modified, .notModified), ("If-Modified-Since", before, .whole),
        ("If-Modified-Since", "nonsense", .whole),
        ("If-Match", tag, .whole), ("If-Match", "*", .whole), ("If-Match", "\"v2\"", .failed),
        ("If-Match", "W/\"v1\"", .failed),
        ("If-Unmodified-Since", modified, .whole), ("If-Unmodified-Since", after, .whole),
        ("If-Unmodified-Since", before, .failed),
    ])
    func `a precondition is compared with the answer's ETag and Last-Modified`(
        name: String, value: String, expected: ResponseSelection
    ) {
        #expect(select(answer(), "GET", [(name, value)]) == expected)
        #expect(select(answer(), "HEAD", [(name, value)]) == expected)
        // A condition applies only to answers that would be successful without it.
        #expect(select(answer(404), "GET", [(name, value)]) == .whole)
        #expect(select(answer(302), "GET", [(name, value)]) == .whole)
    }

    @Test func `an ETag takes precedence over a date`() {
        let fields = [("If-None-Match", "\"v2\""), ("If-Modified-Since", Self.modified)]
        #expect(select(answer(), "GET", fields) == .whole)
        #expect(select(answer(), "POST", [("If-None-Match", Self.tag)]) == .failed)
        #expect(select(answer(tag: "W/\"v1\""), "GET", [("If-None-Match", Self.tag)]) == .notModified)
        #expect(
            select(answer(tag: nil, modified: nil), "GET", [("If-Modified-Since", Self.modified)]) == .whole)
    }

    @Test(arguments: [
        ("bytes=0-99", ResponseSelection.parts([0..<100])), ("bytes=900-", .parts([900..<1000])),
        ("bytes=-100", .parts([900..<1000])), ("bytes=-5000", .parts([0..<1000])),
        ("bytes=990-5000", .parts([990..<1000])), ("bytes=0-", .parts([0..<1000])),
        ("bytes=1000-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
        ("bytes=5000-6000, 7000-", .unsatisfiable),
        ("bytes=0-0, 500-599", .parts([0..<1, 500..<600])),
        ("bytes=500-599, 0-0", .parts([500..<600, 0..<1])),
        // Near ranges are joined.
        ("bytes=0-9, 20-29", .parts([0..<30])), ("bytes=20-29, 0-9", .parts([0..<30])),
        ("bytes=0-99, 50-149", .parts([0..<150])), ("bytes=0-0, 1000-", .parts([0..<1])),
        // The multipart message would be longer than the whole body.
        ("bytes=0-399, 600-999", .whole),
        ("bytes=\((0..<40).map { "\($0 * 20)-\($0 * 20)" }.joined(separator: ","))", .whole),
        ("items=0-9", .whole), ("bytes=9-0", .whole), ("bytes=", .whole), ("bytes=a-b", .whole),
        ("bytes 0-9", .whole), ("bytes=99999999999999999999-", .unsatisfiable),
    ])
    func `a range selects the existing parts, joined where near, or the whole body where that is shorter`(
        range: String, expected: ResponseSelection
    ) {
        #expect(select(answer(), "GET", [("Range", range)]) == expected)
        #expect(select(answer(), "HEAD", [("Range", range)]) == .whole)
        #expect(select(answer(404), "GET", [("Range", range)]) == .whole)
        #expect(select(answer(206), "GET", [("Range", range)]) == .whole)
        #expect(select(answer(count: 0), "GET", [("Range", range)]) == .whole)
    }

    @Test(arguments: [
        (tag, true), ("\"v2\"", false), ("W/\"v1\"", false), (modified, true), (before, false),
        (after, false),
    ])
    func `a range applies only if If-Range matches the answer`(version: String, isPart: Bool) {
        let fields = [("Range", "bytes=0-9"), ("If-Range", version)]
        #expect(select(answer(), "GET", fields) == (isPart ? .parts([0..<10]) : .whole))
        // An If-Range that does not match is not an error: the whole body is sent.
        #expect(select(answer(tag: nil, modified: nil), "GET", fields) == .whole)
        #expect(select(answer(), "GET", fields + [("If-None-Match", Self.tag)]) == .notModified)
    }
}
