import Glibc
import LarderKit
import TestOrigin
import Testing

/// Tests `larder serve --updates` as a process.
@Suite struct UpdateServerCommandTests {
    private let home: TemporaryFolder
    private let larder: Larder

    init() throws {
        home = try TemporaryFolder()
        larder = Larder(at: home.file("store"))
    }

    private func publish(_ text: String, haltAt: String? = nil) async throws -> PublishReport {
        let dist = try TemporaryFolder()
        try dist.write(text, to: "main.js")
        var options = PublishOptions()
        (options.app, options.haltAt) = ("shop", haltAt)
        return try await larder.publish(dist.path, options: options)
    }

    private func serve(_ words: String...) throws -> (Command, port: Int) {
        let server = try Command(
            ["serve", "--port", "0", "--updates", "--store", home.file("store")] + words, home: home)
        let line = server.read(until: "\n")
        let port = line.split(separator: "localhost:").last?.prefix { $0.isNumber }
        return (server, try #require(port.flatMap { Int($0) }, "\(line)"))
    }

    private func report(_ state: String, _ update: String, of device: String, at port: Int) throws -> Int {
        let body = #"{"device": "\#(device)", "update": "\#(update)", "state": "\#(state)"}"#
        let client = try RawClient(port: port)
        try client.send(
            "POST /-/updates/shop/report HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body)
        return try client.response().status
    }

    private func newest(at port: Int) throws -> String? {
        try RawClient(port: port).get("/-/updates/shop/manifest?device=new")["Larder-Release"]
    }

    @Test func `after kill -9, the next server has every report that was answered, and the halt`()
        async throws
    {
        let first = try await publish("one")
        let second = try await publish("two", haltAt: "3%")
        let update = second.channel.updates[0].id
        let (server, port) = try serve()
        for number in 0..<49 {
            #expect(try report("installed", update, of: "good-\(number)", at: port) == 204)
        }
        #expect(try report("failed", update, of: "bad-0", at: port) == 204)
        #expect(try newest(at: port) == second.release)
        server.signal(SIGKILL)
        #expect(server.wait().status == -SIGKILL)
        let (next, nextPort) = try serve()
        // The same device does not count again; another one does.
        #expect(try report("failed", update, of: "bad-0", at: nextPort) == 204)
        #expect(try newest(at: nextPort) == second.release)
        #expect(try report("failed", update, of: "bad-1", at: nextPort) == 204)
        next.signal(SIGKILL)
        #expect(next.wait().status == -SIGKILL)
        let updates = try await larder.channels()[0].updates
        #expect(updates[0].installed == 49 && updates[0].failed == 2)
        let (last, lastPort) = try serve()
        #expect(try newest(at: lastPort) == first.release)
        last.signal(SIGTERM)
        #expect(last.wait().status == 0)
    }

    @Test func `a preload keeps a halted release, and follows a roll-back`() async throws {
        let first = try await publish("one")
        _ = try await publish("two")
        let (server, port) = try serve()
        let device = Larder(at: home.file("device"))
        let manifest = "http://localhost:\(port)/-/updates/shop/manifest?device=7f3a"
        #expect(try await device.preload(manifest).outcome == .changed)
        var options = PublishOptions()
        options.app = "shop"
        _ = try await larder.change(.halt, options: options)
        #expect(try newest(at: port) == first.release)
        let halted = try await device.preload(manifest)
        #expect(halted.outcome == .current && halted.manifestFailure == nil, "\(halted)")
        _ = try await larder.change(.rollBack, options: options)
        #expect(try await device.preload(manifest).outcome == .changed)
        server.signal(SIGTERM)
        #expect(server.wait().status == 0)
    }

    @Test func `options for updates need --updates`() throws {
        for words in [["--updates-url", "https://a.example"], ["--updates-sign", "key.pem"]] {
            let ending = try Command(["serve"] + words, home: home).wait()
            #expect(ending.status == 2 && ending.errors.contains("needs --updates"), "\(ending)")
        }
    }
}
