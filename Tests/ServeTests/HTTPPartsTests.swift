import Serve
import TestOrigin
import Testing

@testable import Serve

@Suite struct HTTPPartsTests {
    private static let size = 300_000
    private static let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    private static let fields = [
        (name: "Content-Type", value: "text/plain"), (name: "ETag", value: "\"v1\""), (name: "X-Own", value: "kept"),
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
                Reply(answer: Answer(status: 200, fields: Self.fields, file: .init(path: path, byteCount: Self.size)))
            case "/gone":
                Reply(answer: Answer(status: 200, fields: Self.fields, file: .init(path: path + "x", byteCount: 1)))
            case "/short":
                Reply(answer: Answer(status: 200, fields: Self.fields, file: .init(path: path, byteCount: 1 << 20)))
            default:
                Reply(answer: inMemory, ownFields: Array("X-Client: one\r\n".utf8))
            }
        }
    }

    private func get(_ target: String, _ method: String = "GET", _ fields: (String, String)...) throws -> RawResponse {
        let client = try script.client()
        let answer = try client.get(target, method: method, fields: fields)
        // The connection goes on where the answer ends.
        #expect(try client.get("/memory", fields: [("Range", "bytes=0-0")]).body == [Self.body[0]])
        return answer
    }

    @Test(arguments: ["/memory", "/file"]) func `a whole answer says that parts can be had`(target: String) throws {
        let whole = try get(target)
        #expect(whole.status == 200)
        #expect(whole.body == Self.body)
        #expect(whole["Accept-Ranges"] == "bytes")
        #expect(whole["Date"]?.hasSuffix("GMT") == true)
        let head = try get(target, "HEAD", ("Range", "bytes=0-9"))
        #expect(head.status == 200)
        #expect(head["Content-Length"] == "\(Self.size)")
    }

    @Test(arguments: ["/memory", "/file"]) func `one part comes with its place`(target: String) throws {
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

    @Test(arguments: ["/memory", "/file"]) func `several parts come as a message of their own`(target: String) throws {
        let answer = try get(target, "GET", ("Range", "bytes=299000-, 0-9, 5000-5009"))
        #expect(answer.status == 206)
        #expect(answer["Content-Range"] == nil)
        let type = try #require(answer["Content-Type"])
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        let boundary = type.dropFirst("multipart/byteranges; boundary=".count)
        var expected: [UInt8] = []
        for part in [299_000..<Self.size, 0..<10, 5000..<5010] {
            expected += "\(expected.isEmpty ? "" : "\r\n")--\(boundary)\r\nContent-Type: text/plain\r\n".utf8
            expected += "Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(Self.size)\r\n\r\n".utf8
            expected += Self.body[part]
        }
        expected += "\r\n--\(boundary)--\r\n".utf8
        #expect(answer.body == expected)
    }

    @Test(arguments: ["/memory", "/file"]) func `what does not exist is refused with the length`(target: String) throws
    {
        let answer = try get(target, "GET", ("Range", "bytes=300000-"))
        #expect(answer.status == 416)
        #expect(answer["Content-Range"] == "bytes */\(Self.size)")
        #expect(answer["Content-Length"] == "0")
        #expect(answer["ETag"] == nil)
        #expect(answer["X-Own"] == "kept")
    }

    @Test(arguments: ["/memory", "/file"], ["GET", "HEAD"])
    func `who has it already is told so, in few words`(target: String, method: String) throws {
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

    @Test(arguments: ["/gone", "/short"]) func `a file that is not what its answer says is an error`(
        target: String
    ) throws {
        let client = try script.client()
        let answer = try client.get(target)
        #expect(answer.status == 500)
        #expect(answer["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
        #expect(try script.client().get(target, method: "HEAD").status == 200)
    }

    @Test func `files and memory come in the order in which they were asked for`() throws {
        let client = try script.client()
        let targets = ["/file", "/memory", "/file", "/memory", "/file"]
        for target in targets {
            try client.send("GET \(target) HTTP/1.1\r\nHost: a\r\nRange: bytes=7-270000\r\n\r\n")
        }
        try client.send(String(repeating: "GET /memory HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n", count: 500))
        for _ in targets { #expect(try client.response().body == Array(Self.body[7...270_000])) }
        for _ in 0..<500 { #expect(try client.response().status == 304) }
    }
}
