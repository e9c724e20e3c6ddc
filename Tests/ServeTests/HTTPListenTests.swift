import Serve
import TestOrigin
import Testing

@testable import Serve

@Suite struct HTTPListenTests {
    @Test(arguments: [
        ("localhost", "localhost", true, false), ("127.0.0.1", "127.0.0.1", true, false),
        ("127.1.2.3", "127.1.2.3", true, false), ("::1", "::1", true, false), ("[::1]", "::1", true, false),
        ("192.0.2.7", "192.0.2.7", false, false), ("[2001:db8::1]", "2001:db8::1", false, false),
        ("0.0.0.0", "0.0.0.0", false, true), ("::", "::", false, true), ("*", "*", false, true),
        ("fe80::1%eth0", "fe80::1%eth0", false, false),
    ])
    func `an address says who reaches it`(text: String, shown: String, isLoopback: Bool, isEverywhere: Bool) throws {
        let address = try #require(ListenAddress(text))
        #expect(address.description == shown)
        #expect(address.isLoopback == isLoopback)
        #expect(address.isEverywhere == isEverywhere)
        if !isEverywhere { #expect(address.reachable.allSatisfy { !$0.contains(":") || $0.hasPrefix("[") }) }
        #expect(address.reachable.allSatisfy { !isEverywhere || !$0.hasPrefix("127.") && $0 != "[::1]" })
    }

    @Test(arguments: ["", "example.test", "127.1", "1.2.3", "1.2.3.4.5", "[127.0.0.1]", "::1:80:", "1.2.3.4:80"])
    func `what is no address is not looked up`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1", [Loopback.ipv4]), ("::1", [.ipv6]), ("localhost", [.ipv4, .ipv6]), ("*", [.ipv4, .ipv6]),
        ("0.0.0.0", [.ipv4]),
    ])
    func `a server listens where it is told to, and nowhere else`(text: String, reached: [Loopback]) throws {
        // Who has the same port of the other address is somebody else.
        let name = "\(text) \(UInt64.random(in: 1...UInt64.max))"
        let script = try HTTPScript(address: try #require(ListenAddress(text))) { _ in Reply(answer: .text(200, name)) }
        for loopback in [Loopback.ipv4, .ipv6] {
            if reached.contains(loopback) {
                #expect(try RawClient(port: script.port, on: loopback).get("/").text == name)
            } else {
                #expect((try? RawClient(port: script.port, on: loopback).get("/").text) != name)
            }
        }
    }

    @Test func `why it cannot listen is said with what to do`() throws {
        let taken = try HTTPScript { _ in Reply(answer: .text(200, "x")) }
        func failure(_ text: String, _ port: UInt16) -> String? {
            let address = ListenAddress(text) ?? .loopback
            return #expect(throws: ServerError.self) {
                try HTTPServer(port: port, threadCount: 1, address: address) { (_) throws(ServerError) in
                    throw ServerError("respond", 0)
                }
            }?.description
        }
        #expect(failure("127.0.0.1", taken.server.port)?.contains("port \(taken.port) is in use") == true)
        #expect(failure("*", taken.server.port)?.contains("with --port") == true)
        #expect(failure("192.0.2.7", 0)?.contains("listen on 192.0.2.7: choose an address of this machine") == true)
    }
}
