import Glibc
import Mirror
import Store
import System
import TestOrigin
import Testing

@testable import HTTPServer
@testable import Mirror

@Suite struct HTTPTimesTests {
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
    func `a request that does not go on is told so`(start: String) throws {
        let script = try script { ($0.headTime, $0.stallTime) = (100, 100) }
        let client = try script.client()
        #expect(try client.get("/").status == 200)
        try client.send(start)
        #expect(try client.response().status == 408)
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `a head that comes too slowly is not waited for, however steadily it comes`() throws {
        let script = try script { $0.headTime = 200 }
        let client = try script.client()
        // Ends by the refusal, or because nobody reads any more.
        try client.send("GET / HTTP/1.1\r\n")
        let refusal = try script.drip(Array("X: y\r\n".utf8), by: client)
        #expect(refusal == nil || refusal?.status == 408)
    }

    @Test func `a client that asks for nothing is let go without a word`() throws {
        let script = try script { $0.idleTime = 100 }
        let client = try untilNotCutOff {
            let client = try script.client()
            return try client.get("/").status == 200 ? client : nil
        }
        #expect(try client.readToEnd().isEmpty)
        #expect(try script.client().readToEnd().isEmpty)
    }

    @Test func `a client that does not take its answer is let go, and others are served meanwhile`() throws {
        let script = try script { ($0.connectionsPerThread, $0.stallTime) = (2, 200) }
        let other = try script.client()
        let client = try script.client()
        try client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try other.get("/").status == 200)
        // There is a place for a third client as soon as the server has let go the one that takes nothing. That one
        // is let go as well where this machine stops it for longer than the limit.
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
    func `at the limit those that ask for nothing make room, and else the newest is told to come again`()
        throws
    {
        // The stop time makes the server look often.
        let script = try script { ($0.connectionsPerThread, $0.crowdedIdleTime, $0.stopTime) = (3, 100, 40) }
        let clients = try (0..<3).map { _ in
            // A client is let go where this machine stops it before it has begun a request.
            try untilNotCutOff {
                let client = try script.client()
                try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n")
                return try client.response().status == 200 ? client : nil
            }
        }
        // Each has begun another request, so that none makes room.
        let refused = try script.client()
        #expect(try refused.response().status == 503)
        for client in clients {
            try client.send("Host: a\r\n\r\n")
            #expect(try client.response().status == 200)
        }
        // As soon as one of them has been idle for long enough, there is room: the first one has been for longest.
        let served = try untilNotCutOff { try script.client().get("/").status == 200 ? true : nil }
        #expect(served)
        #expect(try clients[0].readToEnd().isEmpty)
    }

    @Test func `a stop ends what is under way, answers what is here, and takes nothing new`() throws {
        let script = try script { $0.stopTime = 600_000 }
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

    @Test func `a stop answers a client that connected before it and has not been taken yet`() throws {
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
        // The one thread is busy from here on.
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

    @Test func `a stop answers what a client sends at that moment, and closes its connection`() throws {
        let script = try script { ($0.stopTime, $0.stopIdleTime) = (600_000, 600_000) }
        let client = try script.client()
        #expect(try client.get("/").status == 200)
        let server = script.server
        let stopping = try NamedThread.start("stopping") { server.stopAndWait() }
        // The stop has begun as soon as nobody can connect any more.
        while (try? script.client()) != nil { sched_yield() }
        let answer = try client.get("/")
        #expect(answer.status == 200 && answer["Connection"] == "close")
        #expect(try client.readToEnd().isEmpty)
        stopping.join()
    }

    @Test func `a stop does not wait for ever`() throws {
        let script = try script { $0.stopTime = 100 }
        let client = try script.client()
        try client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.read(1).isEmpty == false)
        script.server.stopAndWait()
        #expect(((try? client.readToEnd()) ?? []).count < Self.large.count)
    }

    // MARK: - By the clock of a table

    @Test(arguments: [
        (Patience.Waiting.request, 60_000, 60_001), (.head, 20_000, 20_001), (.body, 60_000, 60_001),
        (.taking, 60_000, 60_001), (.end, 5_000, 5_001),
    ])
    func `each wait has its bound`(waiting: Patience.Waiting, bearable: Int64, tooLong: Int64) {
        var patience = Patience(now: 1000)
        patience.wait(for: waiting, now: 1000)
        #expect(!patience.isExhausted(now: 1000 + bearable, .standard))
        #expect(patience.isExhausted(now: 1000 + tooLong, .standard))
    }

    @Test func `who asks for nothing is waited for less where others want the place`() {
        let patience = Patience(now: 1000)
        #expect(!patience.isExhausted(now: 3000, .standard, isCrowded: true))
        #expect(patience.isExhausted(now: 3001, .standard, isCrowded: true))
        #expect(!patience.isExhausted(now: 3001, .standard))
    }

    @Test func `who goes on is waited for as long as it is fast enough on the whole`() {
        var slow = Patience(now: 0)
        var fast = Patience(now: 0)
        slow.wait(for: .taking, now: 0)
        fast.wait(for: .taking, now: 0)
        var end: Int64?
        for second in Int64(1)...1000 {
            slow.progressed(by: 400, now: second * 1000)
            fast.progressed(by: 600, now: second * 1000)
            if end == nil, slow.isExhausted(now: second * 1000, .standard) { end = second }
            #expect(!fast.isExhausted(now: second * 1000, .standard))
        }
        #expect(end == 301)
        // Our own answer is never the client's fault, and bytes do not make a head come faster.
        slow.wait(for: .answer, now: 0)
        #expect(!slow.isExhausted(now: 10_000_000, .standard))
        slow.wait(for: .head, now: 0)
        slow.progressed(by: 1000, now: 20_000)
        #expect(slow.isExhausted(now: 20_001, .standard))
    }
}
