import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror

@Suite struct HTTPRequestsTests {
    private let script: HTTPScript

    /// The server describes the request in its answer.
    init() throws {
        script = try HTTPScript { request in
            let target = String(decoding: request.target, as: UTF8.self)
            let body = String(decoding: request.body, as: UTF8.self)
            let names = request.fields.list.map(\.name).joined(separator: ",")
            let text =
                "\(request.method) \(target) \(String(decoding: request.host, as: UTF8.self)) [\(names)] \(body)"
            return Reply(answer: .text(200, text))
        }
    }

    private func answer(to text: String) throws -> RawResponse {
        let client = try script.client()
        try client.send(text)
        let answer = try client.response()
        // No bytes of the request are left over.
        #expect(try client.get("/next", host: "h").text == "GET /next h [Host] ")
        return answer
    }

    @Test(arguments: [
        (
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            "POST /a h [Host,Content-Length] abc"
        ),
        ("PURGE /a HTTP/1.1\r\nHost: h\r\n\r\n", "PURGE /a h [Host] "),
        (
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\nA: b\r\n\r\n",
            "POST /a h [Host,Transfer-Encoding] abc"
        ),
        ("GET http://x:1/b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /b x:1 [Host] "),
        ("GET http://x HTTP/1.1\r\nHost: h\r\n\r\n", "GET / x [Host] "),
        ("\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n", "GET /a h [Host,X] "),
        ("GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxy", "GET /a h [Host,Content-Length] xy"),
        ("OPTIONS /a HTTP/1.1\r\nHost: h\r\nOrigin: o\r\n\r\n", "OPTIONS /a h [Host,Origin] "),
    ])
    func `the responder receives the method, target, host, fields and body of a request`(
        text: String, shown: String
    ) throws {
        #expect(try answer(to: text).text == shown)
    }

    @Test func `a request that arrives byte by byte is parsed like one that arrives at once`() throws {
        let client = try script.client()
        let body = "2\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n"
        let text = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
        for _ in 0..<2 {
            for byte in text.utf8 { try client.send([byte]) }
            #expect(try client.response().text == "POST /a h [Host,Transfer-Encoding] abc")
        }
    }

    @Test func `pipelined requests with bodies are answered in order`() throws {
        let client = try script.client()
        let requests = (0..<200).map { number in
            number % 2 == 0
                ? "POST /\(number) HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET "
                : "PUT /\(number) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nGET \r\n0\r\n\r\n"
        }
        try client.send(requests.joined())
        for number in 0..<200 {
            #expect(
                try client.response().text.hasPrefix(
                    number % 2 == 0 ? "POST /\(number) h" : "PUT /\(number) h"))
        }
    }

    @Test func `a body of the maximum size is accepted, and one byte more gets a 413`() throws {
        for (count, status) in [(1 << 20, 200), (1 << 20 + 1, 413)] {
            let client = try script.client()
            let field = "Content-Length: \(count)"
            try client.send("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
            if status == 200 { try client.send([UInt8](repeating: 0x61, count: count)) }
            let answer = try client.response()
            #expect(answer.status == status)
            #expect(status != 200 || answer.body.count > count)
        }
    }

    @Test func `a client gets a 100 only if it sends Expect and waits with the body`() throws {
        let client = try script.client()
        let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        try client.send(head)
        #expect(try client.response().status == 100)
        try client.send("abc")
        #expect(try client.response().text == "POST / h [Host,Expect,Content-Length] abc")
        try client.send(head + "abc")
        #expect(try client.response().status == 200)
        try client.send(
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n")
        #expect(try client.response().status == 413)
    }

    @Test(arguments: HostileRequests.hiding)
    func `a request that could smuggle another one gets a 400 and ends the connection`(text: String) throws {
        let client = try script.client()
        try client.send(text + "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n")
        let answer = try client.response()
        #expect(answer.status == 400)
        #expect(answer["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `a connection of an HTTP-1.0 client stays open only if the client sends keep-alive`() throws {
        let client = try script.client()
        for _ in 0..<2 {
            try client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let answer = try client.response()
            #expect(answer.status == 200)
            #expect(answer["Connection"] == "keep-alive")
        }
        try client.send("GET / HTTP/1.0\r\n\r\n")
        #expect(try client.response()["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `OPTIONS for the whole server lists the supported methods`() throws {
        let answer = try script.client().get("*", method: "OPTIONS")
        #expect(answer.status == 204)
        #expect(answer["Allow"] == "GET, HEAD, OPTIONS")
        #expect(answer["Content-Length"] == nil)
    }
}

@Suite struct HTTPBodyReaderTests {
    /// The result, the decoded body, and the number of unread input bytes.
    private struct Reading: Equatable {
        var progress: BodyReader.Progress
        var body = ""
        var left = 0
    }

    private func read(_ text: String, as body: RequestHead.Body, atOnce count: Int = .max) -> Reading {
        var limits = ServerLimits()
        (limits.maxBufferedBodyBytes, limits.maxTrailerBytes) = (20, 40)
        var reader = BodyReader(body, limits: limits)
        var (read, position): ([UInt8], Int) = ([], 0)
        let bytes = Array(text.utf8)
        var progress = BodyReader.Progress.incomplete
        while position < bytes.count, progress == .incomplete {
            let end = count < bytes.count - position ? position + count : bytes.count
            var taken = 0
            progress = bytes[position..<end].withUnsafeBufferPointer {
                reader.read($0, from: &taken, into: &read)
            }
            position += taken
        }
        return Reading(
            progress: progress, body: String(decoding: read, as: UTF8.self), left: bytes.count - position)
    }

    @Test(arguments: [
        ("abcdeGET", RequestHead.Body.length(5), BodyReader.Progress.complete, "abcde", 3),
        ("abc", .length(5), .incomplete, "abc", 0),
        ("5\r\nabcde\r\n0\r\n\r\nGET", .chunked, .complete, "abcde", 3),
        ("2\r\nab\r\nA\r\n0123456789\r\n000\r\n\r\n", .chunked, .complete, "ab0123456789", 0),
        ("1;a=b;c=\"d\"\r\na\r\n0 ; x\r\n\r\n", .chunked, .complete, "a", 0),
        ("1\r\na\r\n0\r\nX: y\r\nZ:\r\n\r\n", .chunked, .complete, "a", 0),
        ("0\r\n\r\n", .chunked, .complete, "", 0),
        ("5\r\nabc", .chunked, .incomplete, "abc", 0),
        ("a\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", .chunked, .complete, "01234567890123456789", 0),
    ])
    func `a body is delimited by its length or chunks, in pieces of any size`(
        text: String, body: RequestHead.Body, progress: BodyReader.Progress, content: String, left: Int
    ) {
        for count in [1, 2, 3, 7, .max] {
            #expect(
                read(text, as: body, atOnce: count) == Reading(progress: progress, body: content, left: left))
        }
    }

    @Test(
        arguments: HostileRequests.ambiguousChunks.map { ($0, 400) } + [
            ("15\r\n", 413), ("ffffffffffffffff\r\n", 413), ("a\r\n0123456789\r\nb\r\n", 413),
            ("1;\(String(repeating: "a", count: 50))\r\n", 431),
            ("0\r\nX: \(String(repeating: "a", count: 50))\r\n", 431),
            ("0\r\n\(String(repeating: "a:\r\n", count: 60))", 431),
        ])
    func `ambiguous or oversized chunks are refused`(text: String, status: Int) {
        for count in [1, 3, .max] {
            #expect(read(text, as: .chunked, atOnce: count).progress == .refused(status))
        }
    }
}
