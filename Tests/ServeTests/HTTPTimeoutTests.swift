import Glibc
import Mirror
import Store
import System
import TestOrigin
import Testing

@testable import HTTPServer
@testable import Mirror

@Suite struct HTTPTimeoutTests {
    private static let large = [UInt8](repeating: 0x61, count: 12_000_000)

    private func script(_ change: (inout ServerLimits) -> Void) throws -> HTTPScript {
        var limits = ServerLimits.patient
        change(&limits)
        let large = Answer(status: 200, fields: [], body: Self.large)
        return try HTTPScript(limits) { request in
            request.target.count > 1 ? Reply(answer: large) : Reply(answer: .text(200, "hello"))
        }
    }

    @Test(arguments: [
        "GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc",
    ])
    func `a request that stalls gets a 408`(start: String) throws {
        let script = try script { ($0.headTimeoutMilliseconds, $0.stallTimeoutMilliseconds) = (100, 100) }
        let client = try script.client()
        #expect(try client.get("/").status == 200)
        try client.send(start)
        #expect(try client.response().status == 408)
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `a head that takes too long gets a 408, however steadily it arrives`() throws {
        let script = try script { $0.headTimeoutMilliseconds = 200 }
        let client = try script.client()
        // Ends with the 408, or with a failed write after the server has closed the connection.
        try client.send("GET / HTTP/1.1\r\n")
        let refusal = try script.drip(Array("X: y\r\n".utf8), by: client)
        #expect(refusal == nil || refusal?.status == 408)
    }

    @Test func `an idle client is disconnected without a response`() throws {
        let script = try script { $0.idleTimeoutMilliseconds = 100 }
        let client = try untilNotCutOff {
            let client = try script.client()
            return try client.get("/").status == 200 ? client : nil
        }
        #expect(try client.readToEnd().isEmpty)
        #expect(try script.client().readToEnd().isEmpty)
    }

    @Test
    func `a client that does not receive its response is disconnected, and others are served meanwhile`()
        throws
    {
        let script = try script { ($0.maxConnectionsPerThread, $0.stallTimeoutMilliseconds) = (2, 200) }
        let other = try script.client()
        let client = try script.client()
        try client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try other.get("/").status == 200)
        // A third client can connect as soon as the server has disconnected the one that reads nothing. The third
        // is disconnected too if this machine pauses the test for longer than the limit, so it tries again.
        let body = try untilNotCutOff { () -> [UInt8]? in
            let answer = try script.client().get("/large")
            return answer.status == 200 ? answer.body : nil
        }
        #expect(body == Self.large)
        let bytes = (try? client.readToEnd()) ?? []
        #expect(bytes.count < Self.large.count)
        #expect(try other.get("/").status == 200)
    }

    @Test
    func
        `at the connection limit idle clients are disconnected, and without any the newest client gets a 503`()
        throws
    {
        // A short stop timeout makes the server check its timeouts often.
        let script = try script {
            ($0.maxConnectionsPerThread, $0.crowdedIdleTimeoutMilliseconds, $0.stopTimeoutMilliseconds) = (
                3, 100, 40
            )
        }
        let clients = try (0..<3).map { _ in
            // A client is disconnected if this machine pauses the test before the request begins; then it tries again.
            try untilNotCutOff {
                let client = try script.client()
                try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n")
                return try client.response().status == 200 ? client : nil
            }
        }
        // Each has begun another request, so that none is idle.
        let refused = try script.client()
        #expect(try refused.response().status == 503)
        for client in clients {
            try client.send("Host: a\r\n\r\n")
            #expect(try client.response().status == 200)
        }
        // As soon as one of them has been idle for long enough, it is disconnected. The first one has been for longest.
        let served = try untilNotCutOff { try script.client().get("/").status == 200 ? true : nil }
        #expect(served)
        #expect(try clients[0].readToEnd().isEmpty)
    }

    @Test func `a stop completes running responses and accepts no new clients`() throws {
        let script = try script { $0.stopTimeoutMilliseconds = 600_000 }
        let (idle, slow) = (try script.client(), try script.client())
        #expect(try idle.get("/").status == 200)
        try slow.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try slow.read(1).isEmpty == false)
        let server = script.server
        let stopping = try NamedThread.start("stopping") { server.stopAndWait() }
        #expect(try idle.readToEnd().isEmpty)
        #expect(throws: TestError.self) {
            let late = try script.client()
            try late.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try late.response(within: .seconds(2))
        }
        #expect(try slow.readToEnd().count > Self.large.count - 1_000_000)
        stopping.join()
    }

    @Test func `a stop answers a client that was still in the accept queue`() throws {
        let (isAsked, mayAnswer) = (Monitor(false), Monitor(false))
        let script = try HTTPScript { request in
            if request.target.elementsEqual("/slow".utf8) {
                isAsked.change { $0 = true }
                mayAnswer.wait { $0 ? () : nil }
            }
            return Reply(answer: .text(200, "answered"))
        }
        let slow = try script.client()
        try slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        // The server's only thread is busy from here on.
        isAsked.wait { $0 ? () : nil }
        let server = script.server
        server.beginStop()
        let waiting = try script.client()
        try waiting.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        mayAnswer.change { $0 = true }
        #expect(try slow.response().text == "answered")
        let answer = try waiting.response()
        #expect(answer.text == "answered" && answer["Connection"] == "close")
        server.stopAndWait()
    }

    @Test func `a stop answers a request that arrives during the stop, and closes the connection`() throws {
        let script = try script {
            ($0.stopTimeoutMilliseconds, $0.stopIdleTimeoutMilliseconds) = (600_000, 600_000)
        }
        let client = try script.client()
        #expect(try client.get("/").status == 200)
        let server = script.server
        let stopping = try NamedThread.start("stopping") { server.stopAndWait() }
        // The stop has begun when connecting fails.
        while (try? script.client()) != nil { sched_yield() }
        let answer = try client.get("/")
        #expect(answer.status == 200 && answer["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
        stopping.join()
    }

    @Test func `a stop ends after its timeout although a client does not read`() throws {
        let script = try script { $0.stopTimeoutMilliseconds = 100 }
        let client = try script.client()
        try client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.read(1).isEmpty == false)
        script.server.stopAndWait()
        #expect(((try? client.readToEnd()) ?? []).count < Self.large.count)
    }

    // MARK: - ConnectionTimer

    @Test(arguments: [
        (ConnectionPhase.idle, 60_000, 60_001), (.head, 20_000, 20_001), (.body, 60_000, 60_001),
        (.sending, 60_000, 60_001), (.lingering, 5_000, 5_001),
    ])
    func `each phase of a connection has a time limit`(phase: ConnectionPhase, allowed: Int64, tooLong: Int64)
    {
        var timer = ConnectionTimer(now: 1000)
        timer.enter(phase, now: 1000)
        #expect(!timer.hasExpired(now: 1000 + allowed, .standard))
        #expect(timer.hasExpired(now: 1000 + tooLong, .standard))
    }

    @Test func `idle clients have less time while the server is at its connection limit`() {
        let timer = ConnectionTimer(now: 1000)
        #expect(!timer.hasExpired(now: 3000, .standard, isCrowded: true))
        #expect(timer.hasExpired(now: 3001, .standard, isCrowded: true))
        #expect(!timer.hasExpired(now: 3001, .standard))
    }

    @Test func `a transfer may continue as long as its average rate is above the minimum`() {
        var slow = ConnectionTimer(now: 0)
        var fast = ConnectionTimer(now: 0)
        slow.enter(.sending, now: 0)
        fast.enter(.sending, now: 0)
        var end: Int64?
        for second in Int64(1)...1000 {
            slow.addProgress(byteCount: 400, now: second * 1000)
            fast.addProgress(byteCount: 600, now: second * 1000)
            if end == nil, slow.hasExpired(now: second * 1000, .standard) { end = second }
            #expect(!fast.hasExpired(now: second * 1000, .standard))
        }
        #expect(end == 301)
        // Waiting for a reply has no limit here, and received bytes do not extend the time for a head.
        slow.enter(.reply, now: 0)
        #expect(!slow.hasExpired(now: 10_000_000, .standard))
        slow.enter(.head, now: 0)
        slow.addProgress(byteCount: 1000, now: 20_000)
        #expect(slow.hasExpired(now: 20_001, .standard))
    }
}
