import Glibc
import LarderKit
import Reports
import Store
import System
import TestOrigin
import Testing
import Web

@Suite struct ReportServingTests {
    private let app: PublishedApp

    init() throws { app = try PublishedApp() }

    private func newest() async throws -> ChannelReport.Update {
        try await app.larder.channels()[0].updates[0]
    }

    @Test func `reports are counted, each device once`() async throws {
        let update = try await app.publish(["main.js": "one"]).channel.updates[0].id
        try await app.withServer { (server) async throws in
            for _ in 0..<3 { #expect(try server.report("installed", update, of: "d1") == 204) }
            #expect(try server.report("failed", update, of: "d2") == 204)
            #expect(try server.report("failed", update, of: "d1") == 204)
            #expect(try server.report("installed", update, of: "d1") == 204)
        }
        #expect(try await newest().installed == 0)
        #expect(try await newest().failed == 2)
    }

    @Test func `a report about an update of another app, or of none, is refused`() async throws {
        let update = try await app.publish(["main.js": "one"]).channel.updates[0].id
        try await app.publish(["main.js": "other"]) { $0.app = "other" }
        try await app.withServer { (server) async throws in
            let body = #"{"device": "d", "update": "\#(update)", "state": "failed"}"#
            #expect(try server.send("report", method: "POST", body: body, app: "other").status == 404)
            #expect(try server.report("failed", "5b0c6a1e-0000-8000-8000-000000000000", of: "d") == 404)
        }
        #expect(try await app.larder.channels().allSatisfy { $0.updates[0].failed == 0 })
    }

    @Test(arguments: [
        ("", 400), ("{", 400), ("[]", 400), (#"{"device": "d", "update": "u"}"#, 400),
        (#"{"device": "", "update": "u", "state": "failed"}"#, 400),
        (#"{"device": "d", "update": "u", "state": "maybe"}"#, 400),
        (#"{"device": "d", "update": 1, "state": "failed"}"#, 400),
        (#"{"device": "d", "update": "u", "state": "failed"}"#, 404),
        (#"{"device": "\#(String(repeating: "d", count: 300))", "update": "u", "state": "failed"}"#, 400),
        (String(repeating: " ", count: 5000), 413), (String(repeating: " ", count: 100_000), 413),
    ])
    func `a wrong report is refused`(body: String, status: Int) async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            #expect(try server.send("report", method: "POST", body: body).status == status)
        }
    }

    @Test func `a body of several megabytes is not accepted`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let client = try RawClient(port: Int(server.port))
            try client.send(
                "POST /-/updates/shop/report HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n")
            #expect(try client.response().status == 413)
        }
    }

    /// On PostgreSQL, the other server reads the channel again after a quarter of a second.
    @Test(arguments: TestPostgreSQL.isInstalled ? [false, true] : [false])
    func `two servers of one store see the same halt`(isPostgreSQL: Bool) async throws {
        let app = try PublishedApp(isPostgreSQL: isPostgreSQL)
        let first = try await app.publish(["main.js": "one"])
        let second = try await app.publish(["main.js": "two"]) { $0.haltAt = "3%" }
        let update = second.channel.updates[0].id
        let (server, other) = (try app.serve(), try app.serve())
        defer {
            server.stop()
            other.stop()
        }
        func newest(_ server: MirrorService) throws -> String? {
            try server.send("manifest?device=new")["Larder-Update"]
        }
        #expect(try newest(server) == update)
        for number in 0..<48 { _ = try server.report("installed", update, of: "good-\(number)") }
        for number in 0..<2 { _ = try other.report("failed", update, of: "bad-\(number)") }
        #expect(try newest(other) == first.channel.updates[0].id)
        while try newest(server) == update {}
        #expect(try newest(server) == first.channel.updates[0].id)
        // A release that is announced again counts its devices anew.
        _ = try await app.change(.resume)
        while try newest(server) != update {}
        #expect(try server.report("failed", update, of: "bad-1") == 204)
        let channel = try await app.larder.channels()[0]
        #expect(channel.updates[0].failed == 1)
        #expect(channel.updates[0].haltedBy == nil)
    }

    @Test func `a device that waits does not get a release that failures have halted`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let tag = try #require(try server.send("manifest?device=d")["ETag"])
            let second = try await app.publish(["main.js": "two"]) { $0.haltAt = "3%" }
            for number in 0..<50 {
                _ = try server.report("failed", second.channel.updates[0].id, of: "bad-\(number)")
            }
            let answer = try server.send(
                "manifest?device=d", fields: [("If-None-Match", tag), ("Prefer", "wait=1")])
            #expect(answer.status == 304)
        }
    }
}
