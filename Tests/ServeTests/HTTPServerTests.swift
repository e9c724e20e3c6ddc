import Glibc
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror

@Suite struct HTTPServerTests {
    private let server: FilesServer

    init() throws {
        server = try FilesServer(port: 0) { path in
            path == "/" ? ("text/plain", Array("hello".utf8)) : nil
        }
    }

    private var port: Int { Int(server.port) }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200, false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200, true),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", 200, true),
        ("HEAD / HTTP/1.0\r\nHost: a\r\n\r\n", 200, true),
        ("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404, true),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, true),
    ])
    func `the response names the connection as closing exactly if the server closes it`(
        request: String, status: Int, isClosing: Bool
    ) throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        try client.send(request)
        let answer = try client.response(toHead: request.hasPrefix("HEAD"))
        #expect(answer.status == status)
        #expect(answer["Connection"] == (isClosing ? "close" : nil))
        if status == 200, !request.hasPrefix("HEAD") { #expect(answer.text == "hello") }
        if isClosing { #expect(try client.readToEnd().isEmpty) }
        // The shared answer was not changed for the next client.
        #expect(try RawClient(port: port).get("/")["Connection"] == nil)
    }

    @Test func `a client that connects while the server starts is answered`() throws {
        server.stop()
        let store = try StockedStore([.init(href: "https://example.test/", text: "hello")])
        func start(_ port: Int) throws(ServerError) -> MirrorServer {
            try MirrorServer(store.folder, port: UInt16(port), threadCount: 2, memoryLimit: 1_000_000)
        }
        let port = try FreePort.draw()
        for round in 0..<40 {
            let outcome = Mutex<String?>(nil)
            let client = try NamedThread.start("early") { [port] in
                while true {
                    guard let client = try? RawClient(port: port) else { continue }
                    let answer = try? client.get("/", host: "example-test.localhost:\(port)")
                    return outcome.withLock { $0 = answer?.text ?? "cut off" }
                }
            }
            let mirror = try start(port)
            client.join()
            mirror.stop()
            #expect(outcome.withLock { $0 } == "hello", "round \(round)")
        }
    }

    @Test
    func
        `incomplete bodies beyond the memory limit of a thread get a 503, and completed or aborted ones free their memory`()
        throws
    {
        defer { server.stop() }
        var limits = ServerLimits()
        (limits.maxBufferedBodyBytes, limits.maxBufferedUploadBytes) = (1000, 2000)
        let script = try HTTPScript(limits) { Reply(answer: .text(200, "\($0.body.count)")) }
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
        /// Returns when the server's only thread has read what the other clients sent before, since it serves them in order.
        func waitUntilRead() throws { #expect(try script.client().get("/").text == "0") }
        func begin(_ count: Int) throws -> RawClient {
            let client = try script.client()
            try client.send(head + String(repeating: "a", count: count))
            return client
        }
        var waiting = [try begin(900), try begin(900)]
        try waitUntilRead()
        #expect(try begin(900).response().status == 503)
        for client in waiting {
            try client.send(String(repeating: "a", count: 100))
            #expect(try client.response().text == "1000")
        }
        for _ in 0..<3 {
            waiting = [try begin(900), try begin(900)]
            try waitUntilRead()
            waiting = []
            try waitUntilRead()
        }
        let last = try begin(900)
        try last.send(String(repeating: "a", count: 100))
        #expect(try last.response().status == 200)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\nX: ", 431),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3000000\r\n\r\n", 413),
        ("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 900000\r\n\r\n", 405),
        ("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 900000\r\n\r\n", 405),
    ])
    func `a client that reads only after it has sent everything receives the error response, not a reset`(
        request: String, status: Int
    ) throws {
        defer { server.stop() }
        let script = try HTTPScript { request in
            guard request.head.method != .other else { return Reply(answer: .text(405, "no")) }
            return Reply(answer: .text(200, "hello"))
        }
        let client = try script.client()
        try client.send(request)
        for _ in 0..<30 { try client.send([UInt8](repeating: UInt8(ascii: "a"), count: 100_000)) }
        #expect(try client.response().status == status)
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `a client that never closes its connection is disconnected, and does not delay a stop`() throws
    {
        let client = try RawClient(port: port)
        try client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        #expect(try client.response().status == 200)
        #expect(throws: TestError.self) {
            for _ in 0..<1000 { try client.send([UInt8](repeating: 0, count: 100_000)) }
        }
        let lingering = try RawClient(port: port)
        try lingering.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        #expect(try lingering.readToEnd().isEmpty == false)
        server.stop()
    }

    @Test(arguments: [Loopback.ipv4, .ipv6])
    func `a port that another server uses on either loopback address is reported as in use`(
        loopback: Loopback
    ) throws {
        defer { server.stop() }
        let other = try TestOrigin(loopback)
        defer { other.stop() }
        let error = #expect(throws: ServerError.self) {
            try FilesServer(port: UInt16(other.port)) { _ in nil }
        }
        #expect(error?.description.contains("port \(other.port) is in use") == true)
    }

    @Test func `a server with one thread shares its port with no other socket`() throws {
        defer { server.stop() }
        let error = #expect(throws: ServerError.self) {
            _ = try ListeningSocket.open(on: .loopback, port: server.port, isShared: true)
        }
        #expect(error?.code == EADDRINUSE)
    }

    @Test func `a server can be stopped repeatedly, from several threads`() async throws {
        self.server.stop()
        // No other process gets this port after the server has released it.
        let port = try FreePort.draw()
        let server = try FilesServer(port: UInt16(port)) { _ in nil }
        #expect(try RawClient(port: port).get("/").status == 404)
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { server.stop() } }
        }
        server.stop()
        #expect(throws: TestError.self) { try RawClient(port: port) }
    }

    @Test
    func
        `a server without free descriptors waits without using CPU time, and serves again when some are free`()
        async
    {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            let isLimited = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
            try #require(isLimited)
            let server = try FilesServer(port: 0) { _ in ("text/plain", Array("hello".utf8)) }
            // After the first answer, only clients change the number of open descriptors.
            let first = try RawClient(port: Int(server.port))
            #expect(try first.get("/").text == "hello")
            var taken: [Int32] = []
            while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
            // One descriptor for the client, and none for the server's side.
            close(taken.removeLast())
            let client = try RawClient(port: Int(server.port))
            try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let before = clock()
            // The request cannot be answered while no descriptor is free. A loop that spins would use all the CPU
            // time that it can get.
            #expect(throws: TestError.self) { try client.response(within: .seconds(2)) }
            #expect(Double(clock() - before) / Double(CLOCKS_PER_SEC) < 0.5)
            #expect(try first.get("/").text == "hello")
            for descriptor in taken { close(descriptor) }
            #expect(try client.response().text == "hello")
            server.stop()
        }
    }
}

@Suite struct HTTPListenTests {
    @Test(arguments: [
        ("localhost", "localhost", true, false), ("127.0.0.1", "127.0.0.1", true, false),
        ("127.1.2.3", "127.1.2.3", true, false), ("::1", "::1", true, false), ("[::1]", "::1", true, false),
        ("192.0.2.7", "192.0.2.7", false, false), ("[2001:db8::1]", "2001:db8::1", false, false),
        ("0.0.0.0", "0.0.0.0", false, true), ("::", "::", false, true), ("*", "*", false, true),
        ("fe80::1%eth0", "fe80::1%eth0", false, false),
    ])
    func `an address is parsed, and reports whether other machines can reach it`(
        text: String, shown: String, isLoopback: Bool, isEverywhere: Bool
    )
        throws
    {
        let address = try #require(ListenAddress(text))
        #expect(address.description == shown)
        #expect(address.isLoopback == isLoopback)
        #expect(address.isEverywhere == isEverywhere)
        if !isEverywhere {
            #expect(address.reachableHosts.allSatisfy { !$0.contains(":") || $0.hasPrefix("[") })
        }
        #expect(address.reachableHosts.allSatisfy { !isEverywhere || !$0.hasPrefix("127.") && $0 != "[::1]" })
    }

    @Test(arguments: [
        "", "example.test", "127.1", "1.2.3", "1.2.3.4.5", "[127.0.0.1]", "::1:80:", "1.2.3.4:80",
    ])
    func `a host name or an invalid address is rejected without a DNS lookup`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1", [Loopback.ipv4]), ("::1", [.ipv6]), ("localhost", [.ipv4, .ipv6]),
        ("*", [.ipv4, .ipv6]),
        ("0.0.0.0", [.ipv4]),
    ])
    func `a server listens on the given addresses and on no others`(text: String, reached: [Loopback]) throws
    {
        // Another process may use the same port on the other address.
        let name = "\(text) \(UInt64.random(in: 1...UInt64.max))"
        let script = try HTTPScript(address: try #require(ListenAddress(text))) { _ in
            Reply(answer: .text(200, name))
        }
        for loopback in [Loopback.ipv4, .ipv6] {
            if reached.contains(loopback) {
                #expect(try RawClient(port: script.port, on: loopback).get("/").text == name)
            } else {
                #expect((try? RawClient(port: script.port, on: loopback).get("/").text) != name)
            }
        }
    }

    @Test func `an error of listening names the reason and what to try next`() throws {
        let taken = try HTTPScript { _ in Reply(answer: .text(200, "x")) }
        func failure(_ text: String, _ port: UInt16) -> ServerError? {
            let address = ListenAddress(text) ?? .loopback
            return #expect(throws: ServerError.self) {
                try HTTPServer(port: port, threadCount: 1, address: address) { (_) throws(ServerError) in
                    throw ServerError("respond", 0)
                }
            }
        }
        let used = failure("127.0.0.1", taken.server.port)
        #expect(used?.description.contains("port \(taken.port) is in use") == true)
        #expect(used?.remedy == .port)
        #expect(failure("*", taken.server.port)?.remedy == .port)
        let foreign = failure("192.0.2.7", 0)
        #expect(
            foreign?.description.contains("listen on 192.0.2.7: this machine does not have that address")
                == true)
        #expect(foreign?.remedy == .address)
    }
}

/// Deferred replies and preflights.
@Suite struct HTTPResponderTests {
    private final class DeferringResponder: Responder {
        private var slots: [ReplySlot] = []
        /// The number of clients of `/watched` that disconnected before they had the reply.
        let goneCount = Monitor(0)

        private var atOnce: Reply { Reply(answer: .text(200, "at once")) }

        func respond(to request: Request, orDefer later: DeferredReply) -> Reply? {
            switch String(decoding: request.target, as: UTF8.self) {
            case "/later":
                let slot = later.makeSlot()
                // A thread of its own, since the tests keep Swift's thread pool busy.
                _ = try? NamedThread.start("later") {
                    slot.send(Reply(answer: .text(200, "later", fields: [("ETag", "\"v\"")])))
                }
                return nil
            case "/kept":
                slots.append(later.makeSlot())
                return nil
            case "/watched":
                slots.append(later.makeSlot(didDisconnect: { [goneCount] in goneCount.change { $0 += 1 } }))
                return nil
            case "/release":
                for slot in slots { slot.send(Reply(answer: .text(200, "kept"))) }
                slots = []
                return atOnce
            case "/forgotten":
                _ = later.makeSlot()
                return nil
            default:
                return atOnce
            }
        }

        func preflight(_ request: Request) -> Reply? {
            guard let asked = request.fields["Access-Control-Request-Method"], asked == "PUT" else {
                return nil
            }
            return Reply(
                answer: Answer(status: 204, fields: [("Access-Control-Allow-Methods", "PUT")], body: []))
        }
    }

    private let responder = DeferringResponder()
    private let script: HTTPScript

    init() throws {
        script = try HTTPScript(responder: responder)
    }

    @Test func `deferred replies keep the order of their requests, and honour conditions and ranges`() throws
    {
        let client = try script.client()
        try client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /now HTTP/1.1\r\nHost: a\r\n\r\n")
        try client.send("GET /later HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"v\"\r\n\r\n")
        try client.send("GET /later HTTP/1.1\r\nHost: a\r\nRange: bytes=1-2\r\n\r\n")
        #expect(try client.response().text == "later")
        #expect(try client.response().text == "at once")
        #expect(try client.response().status == 304)
        #expect(try client.response().text == "at")
        #expect(try client.get("/forgotten").status == 500)
        #expect(try client.get("/now").status == 200)
    }

    @Test func `a deferred reply blocks no other client, and one for a disconnected client is dropped`()
        throws
    {
        let (first, second) = (try script.client(), try script.client())
        try first.send("GET /kept HTTP/1.1\r\nHost: a\r\n\r\n")
        do {
            let gone = try script.client()
            try gone.send("GET /kept HTTP/1.1\r\nHost: a\r\n\r\n")
            gone.resetOnClose()
        }
        #expect(try second.get("/now").status == 200)
        #expect(try second.get("/release").status == 200)
        #expect(try first.response().text == "kept")
    }

    @Test(arguments: [false, true])
    func `a client that hangs up before its reply is reported once to a responder that wants to know`(
        isPipelining: Bool
    ) throws {
        do {
            let gone = try script.client()
            try gone.send("GET /watched HTTP/1.1\r\nHost: a\r\n\r\n")
            if isPipelining { try gone.send("GET /now HTTP/1.1\r\nHost: a\r\n\r\n") }
            // The server has read the request when it answers a later one.
            #expect(try script.client().get("/now").status == 200)
        }
        try #require(responder.goneCount.wait(atMost: .hangGuard) { $0 == 1 ? true : nil } == true)
        #expect(try script.client().get("/release").status == 200)
        #expect(responder.goneCount.change { $0 } == 1)
    }

    @Test func `a client that hangs up after its reply is not reported`() throws {
        do {
            let client = try script.client()
            try client.send("GET /watched HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try script.client().get("/release").status == 200)
            #expect(try client.response().text == "kept")
            // The handler of the request before has no meaning for this one.
            try client.send("GET /kept HTTP/1.1\r\nHost: a\r\n\r\n")
            client.closeWriting()
            #expect(try script.client().get("/release").status == 200)
            #expect(try client.response().text == "kept")
        }
        script.server.stopAndWait()
        #expect(responder.goneCount.change { $0 } == 0)
    }

    @Test(arguments: [("PUT", 204), ("POST", 200)])
    func `a CORS preflight is answered by the preflight hook, or by the responder if the hook declines`(
        method: String, status: Int
    )
        throws
    {
        let fields = [("Origin", "http://a"), ("Access-Control-Request-Method", method)]
        let client = try script.client()
        #expect(try client.get("/", method: "OPTIONS", fields: fields).status == status)
        #expect(try client.get("/", method: "OPTIONS").status == 200)
    }
}
