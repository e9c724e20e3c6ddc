import Fetch
import Glibc
import System
import TestOrigin
import Testing
import Web

/// Plain requests that go past libcurl to a server that it has found.
@Suite struct ShortWayTests {
    private let origin: TestOrigin
    private let fetching: Fetching

    init() throws {
        origin = try TestOrigin()
        fetching = try Fetching { options in
            options.shortWay = .half
            options.stallTimeout = .seconds(60)
        }
    }

    /// The connection that each target came by, when they are asked for one after the other.
    private func connections(_ targets: [String], in loop: FetchLoop) throws -> [Int] {
        for target in targets { _ = try fetching.result(origin.url(target), in: loop) }
        return targets.compactMap { origin.requests(to: $0).last?.connection }
    }

    @Test func `what is asked again goes by a connection of its own, and what is not plain by libcurl's`()
        throws
    {
        origin.otherwise { .file($0.target, type: "text/plain") }
        let loop = try fetching.loop()
        #expect(try connections(["/1", "/2", "/3?q=1", "/4"], in: loop) == [1, 2, 2, 2])
        let post = try Fetching.request(origin.url("/5")) { $0.method = "POST" }
        _ = try fetching.result(of: post, in: loop)
        #expect(origin.requests(to: "/5").map(\.connection) == [1])
    }

    @Test func `a request says the same by either way`() throws {
        origin.otherwise { .file($0.target, type: "text/plain") }
        let loop = try fetching.loop()
        let request = try Fetching.request(origin.url("/a?b=c%20d")) { request in
            request.fields = ["X-Empty": "", "X-Jam": "plum", "Connection": "close", "Content-Length": "9"]
        }
        for _ in 0..<2 { _ = try fetching.result(of: request, in: loop) }
        let asked = origin.requests
        #expect(asked.map(\.connection) == [1, 2])
        #expect(asked.map(\.target) == ["/a?b=c%20d", "/a?b=c%20d"])
        let fields = asked.map { $0.fields.map { "\($0.name): \($0.value)" }.sorted() }
        #expect(fields[0] == fields[1])
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
    func `what an answer is does not depend on the way`(answer: OriginAnswer) throws {
        origin.on("/found", .file("x", type: "text/plain"))
        origin.on("/a", answer)
        let loop = try fetching.loop()
        _ = try fetching.response(origin.url("/found"), in: loop)
        for _ in 0..<3 { #expect(try fetching.response(origin.url("/a"), in: loop).text() == "jam") }
    }

    @Test(arguments: CodedText.allCases)
    func `codings are undone by the short way too`(text: CodedText) throws {
        origin.on("/found", .file("x", type: "text/plain"))
        origin.on(
            "/a", .file(text.bytes, type: "text/plain").adding("Content-Encoding", text.coding).chunked(7))
        let loop = try fetching.loop()
        _ = try fetching.response(origin.url("/found"), in: loop)
        let response = try fetching.response(origin.url("/a"), in: loop)
        #expect(try response.text().hasPrefix(CodedText.beginning))
        #expect(response.body.byteCount == CodedText.byteCount)
    }

    @Test func `an answer that breaks off is a failure, and one to come is waited for`() throws {
        origin.on("/found", .file("x", type: "text/plain"))
        origin.on("/cut", .file("jam and plums", type: "text/plain").truncated(after: 3))
        origin.on("/chunks", .file("jam and plums", type: "text/plain").brokenChunk(after: 3))
        origin.on("/gone", .hangUp)
        let loop = try fetching.loop()
        for target in ["/cut", "/chunks", "/gone"] {
            _ = try fetching.response(origin.url("/found"), in: loop)
            _ = try fetching.failure(origin.url(target), in: loop)
        }
    }

    @Test func `a connection that its server has ended is not the request's fault`() throws {
        origin.otherwise { .file($0.target, type: "text/plain").closing() }
        let loop = try fetching.loop()
        for number in 0..<20 {
            #expect(try fetching.response(origin.url("/\(number)"), in: loop).text() == "/\(number)")
        }
        #expect(origin.requests.count == 20)
    }

    /// What came behind an answer would be taken for the next one.
    @Test func `nothing that comes behind an answer answers another request`() throws {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\njam"
        let bad = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"
        let origin = try RawOrigin { client in
            client.send(good + bad) && client.pause(.milliseconds(20)) && client.send(bad)
        }
        let loop = try fetching.loop()
        for number in 0..<6 {
            #expect(try fetching.response(origin.url("/\(number)"), in: loop).text() == "jam")
        }
    }

    @Test func `walls stand by the short way too`() throws {
        origin.otherwise { .file($0.target, type: "text/plain") }
        let loop = try fetching.loop()
        #expect(try connections(["/1", "/2"], in: loop) == [1, 2])
        let asked = try Fetching.request(origin.url("/3")) { $0.nearestZone = .publicNetwork }
        #expect(try fetching.result(of: asked, in: loop).failure().kind == .refused)
        #expect(origin.requests(to: "/3").isEmpty)
    }

    @Test func `no host has more connections than it may have`() throws {
        origin.otherwise { .file($0.target, type: "text/plain").delayed(.milliseconds(20)) }
        var options = fetching.options
        options.connectionsPerHost = 4
        let loop = try FetchLoop(options)
        _ = try fetching.response(origin.url("/found"), in: loop)
        let requests = try (0..<24).map { number in
            try Fetching.request(origin.url("/\(number)")) { $0.number = UInt32(number) }
        }
        #expect(try Fetching.results(of: requests, in: loop).count == 24)
        #expect(origin.connectionCount <= 4)
    }

    /// What is asked by libcurl meanwhile counts, and what it keeps open.
    @Test(arguments: [(1, 0), (4, 0), (1, 3), (4, 7)])
    func `either way takes all connections of a host, and both together no more`(
        count: Int, excess: Int
    ) throws {
        origin.otherwise { .file($0.target, type: "text/plain").delayed(.milliseconds($0.target.utf8.count)) }
        var options = fetching.options
        options.shortWay = .all
        options.connectionsPerHost = count
        let loop = try FetchLoop(options)
        var (next, done): (UInt32, Int) = (0, 0)
        while done < 120 {
            while next < 120, loop.runningCount < count + excess {
                let request = try Fetching.request(origin.url("/\(next)")) { request in
                    request.number = next
                    // Of those from the 40th to the 79th every second, and of the others hardly any.
                    if next % ((40..<80).contains(next) ? 2 : 19) == 1 { request.method = "POST" }
                }
                loop.start(request)
                next += 1
            }
            for result in try loop.turn(waitingAtMost: .seconds(20)) {
                #expect(try result.response().status == 200)
                done += 1
            }
            // The origin may accept a new connection before it notices that an old one was closed. The count is read
            // once each time: between two readings it may grow.
            let deadline = ContinuousClock.now + .seconds(60)
            var openCount = origin.openConnectionCount
            while openCount > count, ContinuousClock.now < deadline {
                usleep(100)
                openCount = origin.openConnectionCount
            }
            #expect(openCount <= count)
        }
        if count > 1 { #expect(origin.connectionCount > 1) }
    }

    /// It may be the only one that the server gives.
    @Test(arguments: [("GET", [2, 2]), ("POST", [1, 2])])
    func `libcurl keeps no connection where the short way is next`(method: String, then: [Int]) throws {
        origin.otherwise { .file($0.target, type: "text/plain") }
        var options = fetching.options
        options.shortWay = .all
        options.connectionsPerHost = 1
        let loop = try FetchLoop(options)
        _ = try fetching.result(of: Fetching.request(origin.url("/1")) { $0.method = method }, in: loop)
        if method == "GET" {
            #expect(origin.waitUntilIdle(within: .seconds(60)))
        }
        #expect(try connections(["/2", "/3"], in: loop) == then)
    }

    /// libcurl keeps them.
    @Test func `what has to do with cookies goes by libcurl`() throws {
        origin.otherwise { .file($0["Cookie"] ?? "none", type: "text/plain") }
        origin.on("/sets") { request in
            .file(request["Cookie"] ?? "none", type: "text/plain").adding("Set-Cookie", "jam=plum")
        }
        var options = fetching.options
        options.cookies = CookieOptions()
        options.cookies?.areNobodys = true
        let loop = try FetchLoop(options)
        func text(_ target: String) throws -> String {
            try fetching.response(origin.url(target), in: loop).text()
        }
        #expect(try text("/1") == "none")
        #expect(try text("/2") == "none")
        #expect(origin.requests.last?.connection == 2)
        #expect(try text("/sets") == "none")
        #expect(origin.requests(to: "/sets").map(\.connection) == [2, 1])
        #expect(try text("/3") == "jam=plum")
        options.cookies?.areNobodys = false
        let own = try FetchLoop(options)
        let first = origin.connectionCount
        for target in ["/4", "/5", "/6"] { _ = try fetching.response(origin.url(target), in: own) }
        #expect(origin.connectionCount == first + 1)
    }

    @Test func `what is under way is ended when nobody waits for it`() throws {
        origin.on("/found", .file("x", type: "text/plain"))
        origin.on("/a", .file("jam", type: "text/plain"))
        origin.hold("/a")
        let loop = try fetching.loop()
        _ = try fetching.response(origin.url("/found"), in: loop)
        loop.start(try Fetching.request(origin.url("/a")))
        while !origin.requests.contains(where: { $0.target == "/a" }) {
            _ = try loop.turn(waitingAtMost: .milliseconds(5))
        }
        #expect(try loop.abandon().map { try $0.failure().kind } == [.interrupted])
        #expect(loop.runningCount == 0)
    }
}

/// What is asked whether it still holds goes out behind others where a server confirms one after the other.
@Suite struct AskedBehindTests {
    private let fetching: Fetching

    /// How a server answers what it was asked on one connection.
    enum Manner: CaseIterable {
        case atOnce, inPieces, oneChanged, endingEarly, endingWithWords, sayingTooMuch
        case ignoring, hinting, outOfOrder, objecting, oneTag, holding
    }

    /// What was asked on the connections of a server.
    private final class Server: Sendable {
        private let counts = Monitor((answered: 0, open: 0, mostOpen: 0, most: 0, holds: true))

        static let firstCount = 12

        var mostOpen: Int { counts.change { $0.mostOpen } }

        /// Waits until the server has seen the end of all connections but one: it learns of an end a moment later.
        func waitForEnds() -> Bool { counts.wait(atMost: .seconds(60)) { $0.open > 1 ? nil : true } ?? false }

        /// The most that it had before it answered any of it.
        var most: Int { counts.change { $0.most } }

        func goOn() { counts.change { $0.holds = false } }

        func serve(_ client: RawOrigin.Client, _ manner: Manner) -> Bool {
            counts.change {
                $0.open += 1
                $0.mostOpen = max($0.mostOpen, $0.open)
            }
            defer { counts.change { $0.open -= 1 } }
            var targets = [Self.target(client.firstHead)]
            while answer(targets, client, manner), let head = client.nextHead() {
                targets = [Self.target(head)]
                // What one has sent together comes together.
                while targets.count < 8, let head = client.nextHead(within: .milliseconds(2)) {
                    targets.append(Self.target(head))
                }
                counts.change { $0.most = max($0.most, targets.count) }
            }
            return true
        }

        private func answer(_ targets: [String], _ client: RawOrigin.Client, _ manner: Manner) -> Bool {
            let isFirst = counts.change { counts in
                defer { counts.answered += targets.count }
                return counts.answered < Self.firstCount
            }
            guard !isFirst || manner == .oneTag else {
                return client.send(targets.map(Self.confirmation).joined())
            }
            switch manner {
            case .atOnce: return client.send(targets.map(Self.confirmation).joined())
            case .inPieces:
                let bytes = Array(targets.map(Self.confirmation).joined().utf8)
                for start in stride(from: 0, to: bytes.count, by: 97)
                where !client.send(Array(bytes[start..<min(start + 97, bytes.count)])) { return false }
                return true
            case .oneChanged:
                return targets.allSatisfy { target in
                    client.send(target.hasSuffix("7") ? Self.news(target) : Self.confirmation(target))
                }
            case .endingEarly:
                _ = client.send(targets.prefix(max(1, targets.count / 2)).map(Self.confirmation).joined())
                return targets.count == 1
            case .endingWithWords:
                let last = Self.confirmation(targets[0]).replacing(
                    "\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
                _ = client.send(targets.count == 1 ? Self.confirmation(targets[0]) : last)
                return targets.count == 1
            case .holding:
                _ = counts.wait(atMost: .seconds(60)) { $0.holds ? nil : true }
                return client.send(targets.map(Self.confirmation).joined())
            case .ignoring: return client.send(Self.confirmation(targets[0]))
            case .objecting:
                return targets.allSatisfy { target in
                    client.send(target.hasSuffix("7") ? Self.objection : Self.confirmation(target))
                }
            case .oneTag:
                return client.send(
                    String(
                        repeating: "HTTP/1.1 304 Not Modified\r\nETag: \"one\"\r\n\r\n", count: targets.count)
                )
            case .hinting:
                let hint = targets.count > 1 ? "HTTP/1.1 103 Early Hints\r\n\r\n" : ""
                return client.send(Self.confirmation(targets[0]) + hint)
            case .outOfOrder:
                return targets.reversed().allSatisfy { target in
                    client.send(target.hasSuffix("7") ? Self.news(target) : Self.confirmation(target))
                }
            case .sayingTooMuch:
                return client.send(targets.map(Self.confirmation).joined() + Self.confirmation("/spare"))
            }
        }

        static func target(_ head: String) -> String { String(head.split(separator: " ")[1]) }

        private static func confirmation(_ target: String) -> String {
            "HTTP/1.1 304 Not Modified\r\nETag: \"\(target)\"\r\n\r\n"
        }

        private static let objection = "HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"

        private static func news(_ target: String) -> String {
            "HTTP/1.1 200 OK\r\nETag: \"\(target)\"\r\nContent-Length: \(target.utf8.count)\r\n\r\n\(target)"
        }
    }

    init() throws {
        fetching = try Fetching { options in
            options.shortWay = .all
            options.connectionsPerHost = 2
            options.stallTimeout = .seconds(60)
        }
    }

    private func question(_ number: Int, at origin: RawOrigin) throws -> FetchRequest {
        try Fetching.request(origin.url("/\(number)")) { request in
            request.number = UInt32(number)
            request.fields = ["If-None-Match": "\"/\(number)\""]
        }
    }

    /// A server that does not keep the order would not be found out.
    @Test func `what has the same tag is not asked behind one another`() throws {
        let server = Server()
        let origin = try RawOrigin { client in server.serve(client, .oneTag) }
        let loop = try fetching.loop()
        let requests = try (0..<60).map { number in
            try Fetching.request(origin.url("/\(number)")) { request in
                request.number = UInt32(number)
                request.fields = ["If-None-Match": "\"one\""]
            }
        }
        for request in requests[..<20] { _ = try fetching.result(of: request, in: loop) }
        #expect(try Fetching.results(of: Array(requests[20...]), in: loop).count == 40)
        #expect(server.most == 1)
    }

    @Test func `what is given up takes nobody's answer with it`() throws {
        let server = Server()
        let origin = try RawOrigin { client in server.serve(client, .holding) }
        let loop = try fetching.loop()
        for number in 0..<Server.firstCount {
            _ = try fetching.result(of: question(number, at: origin), in: loop)
        }
        let numbers = Server.firstCount..<44
        for number in numbers { loop.start(try question(number, at: origin)) }
        while server.most < 2 { _ = try loop.turn(waitingAtMost: .milliseconds(5)) }
        loop.end([12, 15, 30], with: FetchFailure(.interrupted, "nobody waits"))
        server.goOn()
        var results: [UInt32: FetchResult] = [:]
        while results.count < numbers.count {
            for result in try loop.turn(waitingAtMost: .seconds(20)) { results[result.number] = result }
        }
        for (number, result) in results {
            if [12, 15, 30].contains(number) {
                #expect(try result.failure().kind == .interrupted)
            } else {
                #expect(try result.response().fields["ETag"] == "\"/\(number)\"")
            }
        }
    }

    @Test(arguments: Manner.allCases.filter { ![.oneTag, .holding].contains($0) })
    func `each gets its own answer, whatever the server does`(manner: Manner) throws {
        let server = Server()
        let origin = try RawOrigin { client in server.serve(client, manner) }
        let loop = try fetching.loop()
        for number in 0..<Server.firstCount {
            let result = try fetching.result(of: question(number, at: origin), in: loop)
            #expect(try result.response().status == 304)
        }
        #expect(server.waitForEnds())
        let numbers = Server.firstCount..<160
        let results = try Fetching.results(of: numbers.map { try question($0, at: origin) }, in: loop)
        for number in numbers {
            let response = try #require(results[UInt32(number)]).response()
            if manner == .objecting, number % 10 == 7 {
                #expect(response.status == 503)
                continue
            }
            let isNews = [.oneChanged, .outOfOrder].contains(manner) && number % 10 == 7
            #expect(response.status == (isNews ? 200 : 304))
            #expect(response.fields["ETag"] == "\"/\(number)\"")
            if isNews { #expect(try response.text() == "/\(number)") }
        }
        // The other manners end connections, of which the server learns a moment later.
        if [.atOnce, .inPieces].contains(manner) { #expect(server.mostOpen <= 2) }
        #expect(server.most > 1)
        #expect(loop.runningCount == 0)
    }
}

@Suite struct AnswerHeadTests {
    private func parse(_ text: String) -> AnswerHead.Parsing {
        Array(text.utf8).withUnsafeBufferPointer { AnswerHead.parse($0) }
    }

    @Test(arguments: [
        ("200 OK\r\nContent-Length: 3\r\n", BodyFraming.length(3), false),
        ("200\r\nCONTENT-LENGTH:\t03 \r\nConnection: Keep-Alive\r\n", .length(3), false),
        ("404 \r\nTransfer-Encoding: Chunked\r\nConnection: close\r\n", .chunked, true),
        ("200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 0\r\n", .length(0), true),
        ("200 OK\r\nX-A: b\r\n", nil, true), ("204 No\r\nContent-Length: 9\r\n", BodyFraming.none, false),
        ("304 No\r\nTransfer-Encoding: chunked\r\n", BodyFraming.none, false),
        ("103 Early\r\nLink: a\r\n", BodyFraming.none, false),
    ])
    func `a head says how its body ends`(text: String, body: BodyFraming?, isLast: Bool) throws {
        let whole = "HTTP/1.1 \(text)\r\n"
        guard case .head(let head) = parse(whole + "HTTP/1.1 200 OK\r\n\r\n") else {
            Issue.record("\(parse(whole))")
            return
        }
        #expect(head.body == body)
        #expect(head.isLast == isLast)
        #expect(head.end == whole.utf8.count)
        for count in 0..<whole.utf8.count {
            #expect(parse(String(decoding: Array(whole.utf8)[..<count], as: UTF8.self)) == .incomplete)
        }
    }

    @Test(arguments: [
        "HTTP/1.0 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n", "ICY 200 OK\r\n\r\n", "<html>",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1 099 A\r\n\r\n", "HTTP/1.1 600 A\r\n\r\n", "HTTP/1.1 101 A\r\n\r\n",
        "HTTP/1.1 +20 A\r\n\r\n", "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\r\nA: b\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n a: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1 200 OK\r\nA\r\n\r\n", "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding:\u{b}chunked\r\n\r\n",
    ])
    func `what two readers might take in two ways is odd`(text: String) {
        #expect(parse(text) == .odd)
    }
}
