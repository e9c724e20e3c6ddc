import Digest
import LarderKit
import System
import TestOrigin
import Testing
import Web

@testable import Mirror

@Suite struct ManifestServingTests {
    private let app: PublishedApp

    init() throws { app = try PublishedApp() }

    // MARK: Manifests

    @Test func `a device gets the manifest of the release, and then 304`() async throws {
        let report = try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let answer = try server.send("manifest?device=d1")
            #expect(answer.status == 200)
            #expect(answer["Content-Type"] == "application/json")
            #expect(answer["Larder-Release"] == report.release)
            #expect(answer["Larder-Update"] == report.channel.updates[0].id)
            #expect(answer["Access-Control-Allow-Origin"] == "*")
            #expect(answer["Set-Cookie"] == nil)
            let json = try JSONValue.parse(answer.body.span)
            #expect(json["base"]?.string == "/-/updates/shop/files/\(report.release ?? "")/")
            let tag = try #require(answer["ETag"])
            let second = try server.send("manifest?device=d1", fields: [("If-None-Match", tag)])
            #expect(second.status == 304)
            #expect(second["ETag"] == tag)
        }
    }

    @Test func `a signed manifest is served byte for byte`() async throws {
        let key = try ManifestKey.new()
        try await app.publish(["main.js": "one"]) { $0.key = key }
        try await app.withServer { (server) async throws in
            let answer = try server.send("manifest")
            let release = try #require(answer["Larder-Release"])
            let file = try server.send("files/\(release)/.larder-manifest.json")
            #expect(file.status == 200)
            #expect(file.body == answer.body)
            #expect(answer.text.contains("\"signature\""))
        }
    }

    @Test func `a release for a share of the devices goes to these, and all have it at 100 per cent`()
        async throws
    {
        try await app.publish(["main.js": "one"])
        let report = try await app.publish(["main.js": "two"]) { $0.share = "50%" }
        let update = report.channel.updates[0].id
        try await app.withServer { (server) async throws in
            let devices = (0..<60).map { "device-\($0)" }
            func haveIt() throws -> Set<String> {
                Set(
                    try devices.filter {
                        try server.send("manifest?device=\($0)")["Larder-Update"] == update
                    })
            }
            let first = try haveIt()
            #expect((10...50).contains(first.count), "\(first.count)")
            // A device without an ID gets the release before.
            #expect(try server.send("manifest")["Larder-Update"] == report.channel.updates[1].id)
            _ = try await app.change(.update) { $0.share = "75%" }
            #expect(try haveIt().isSuperset(of: first))
            _ = try await app.change(.update) { $0.share = "100%" }
            #expect(try haveIt().count == devices.count)
        }
    }

    @Test func `the release of another channel, runtime version or platform is not served`() async throws {
        try await app.publish(["main.js": "one"]) {
            $0.channel = "beta"
            $0.runtimeVersions = ["1"]
        }
        try await app.withServer { (server) async throws in
            #expect(try server.send("manifest?channel=beta&runtime=1").status == 200)
            #expect(try server.send("manifest?channel=beta&runtime=2").status == 204)
            #expect(try server.send("manifest?channel=beta").status == 204)
            #expect(try server.send("manifest?channel=beta&runtime=1&platform=ios").status == 204)
            #expect(try server.send("manifest").status == 404)
            #expect(try server.send("manifest?channel=beta", app: "other").status == 404)
        }
    }

    @Test(arguments: [
        ("manifest?platform=windows", 400), ("manifest?runtime=" + String(repeating: "1", count: 101), 400),
        ("manifest?device=" + String(repeating: "d", count: 257), 400), ("manifest?channel=UPPER", 404),
        ("manifest/more", 404), ("", 404), ("unknown", 404), ("report", 405),
        ("/-/updates/", 404), ("/-/updates/shop", 404), ("/-/updates/UPPER/manifest", 404),
        ("/-/updates/../../manifest", 404),
    ])
    func `a wrong request is refused`(path: String, status: Int) async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in #expect(try server.send(path).status == status) }
    }

    @Test func `after a roll-back to the code that the app was built with, devices get 410 once`()
        async throws
    {
        let first = try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let tag = try #require(try server.send("manifest?device=d")["ETag"])
            #expect(tag.contains(first.channel.updates[0].id))
            _ = try await app.change(.rollBack)
            let gone = try server.send("manifest?device=d", fields: [("If-None-Match", tag)])
            #expect(gone.status == 410)
            let second = try #require(gone["ETag"])
            #expect(try server.send("manifest", fields: [("If-None-Match", second)]).status == 304)
        }
    }

    @Test func `a device that has a halted release is not sent back to the one before`() async throws {
        let first = try await app.publish(["main.js": "one"])
        try await app.publish(["main.js": "two"])
        try await app.withServer { (server) async throws in
            let tag = try #require(try server.send("manifest?device=d")["ETag"])
            _ = try await app.change(.halt)
            let same = try server.send("manifest?device=d", fields: [("If-None-Match", tag)])
            #expect(same.status == 304)
            #expect(same["ETag"] == tag)
            // Other devices get the release before.
            #expect(try server.send("manifest?device=e")["Larder-Release"] == first.release)
        }
    }

    @Test func `without the option there are no updates`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer(
            { $0.updates = nil },
            { (server) async throws in
                #expect(try server.send("manifest").status >= 300)
                #expect(try server.send("manifest", method: "POST", body: "{}").status >= 300)
            })
    }

    @Test func `a server that starts before anything is published finds the first release`() async throws {
        try await app.withServer(
            { $0.createsStore = true },
            { (server) async throws in
                #expect(try server.send("manifest").status == 404)
                try await app.publish(["main.js": "one"])
                // It looks for the database once a second.
                while try server.send("manifest").status == 404 {}
                #expect(try server.send("manifest").status == 200)
            })
    }

    // MARK: Waiting

    @Test func `a device that waits gets a new release when it is published`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let tag = try #require(try server.send("manifest?device=d")["ETag"])
            let client = try RawClient(port: Int(server.port))
            try client.send(
                "GET /-/updates/shop/manifest?device=d HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(tag)\r\nPrefer: wait=60\r\n\r\n"
            )
            // The server answers others meanwhile.
            #expect(try server.send("manifest").status == 200)
            let report = try await app.publish(["main.js": "two"])
            let answer = try client.response()
            #expect(answer.status == 200)
            #expect(answer["Larder-Release"] == report.release)
            #expect(answer["Preference-Applied"] == "wait=60")
        }
    }

    @Test func `a device that hangs up while it waits makes room for another one`() async throws {
        try await app.publish(["main.js": "one"])
        // The time of the device is never over.
        let server = try app.serve(at: UpdateClock())
        defer { server.stop() }
        let tag = try #require(try server.send("manifest?device=d")["ETag"])
        func waitingCount() throws -> String? {
            let metrics = try server.send("/-/metrics").text
            return metrics.split(separator: "\n").last { $0.hasPrefix("larder_updates_waiting ") }.map(
                String.init)
        }
        do {
            let client = try RawClient(port: Int(server.port))
            try client.send(
                "GET /-/updates/shop/manifest?device=d HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(tag)\r\nPrefer: wait=60\r\n\r\n"
            )
            while try waitingCount() == "larder_updates_waiting 0" {}
            #expect(try waitingCount() == "larder_updates_waiting 1")
        }
        while try waitingCount() == "larder_updates_waiting 1" {}
        #expect(try waitingCount() == "larder_updates_waiting 0")
    }

    @Test func `a device that waits gets 304 when its time is over`() async throws {
        try await app.publish(["main.js": "one"])
        let clock = UpdateClock()
        let server = try app.serve(at: clock)
        defer { server.stop() }
        let tag = try #require(try server.send("manifest?device=d")["ETag"])
        let client = try RawClient(port: Int(server.port))
        try client.send(
            "GET /-/updates/shop/manifest?device=d HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(tag)\r\nPrefer: wait=30\r\n\r\n"
        )
        // Another device shows that the server has read the request.
        #expect(try server.send("manifest").status == 200)
        clock.advance(seconds: 31)
        #expect(try client.response().status == 304)
    }

    @Test func `devices that wait are answered when their channel is removed`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let tag = try #require(try server.send("manifest?device=d")["ETag"])
            let client = try RawClient(port: Int(server.port))
            try client.send(
                "GET /-/updates/shop/manifest?device=d HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(tag)\r\nPrefer: wait=60\r\n\r\n"
            )
            #expect(try server.send("manifest").status == 200)
            try await app.larder.removeChannel("production")
            #expect(try client.response().status == 404)
        }
    }

    @Test(arguments: [";", "=", ";wait=5", ";;", "wait", "wait=", "wait=a", "wait=99999999999999999999"])
    func `a malformed preference does not make a device wait`(preference: String) async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let answer = try server.send("manifest?device=d", fields: [("Prefer", preference)])
            #expect(answer.status == 200)
            #expect(answer["Preference-Applied"] == nil)
        }
    }

    @Test func `devices that wait get their answer when the server stops`() async throws {
        try await app.publish(["main.js": "one"])
        let server = try app.serve()
        let tag = try #require(try server.send("manifest?device=d")["ETag"])
        let client = try RawClient(port: Int(server.port))
        try client.send(
            "GET /-/updates/shop/manifest?device=d HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(tag)\r\nPrefer: wait=60\r\n\r\n"
        )
        #expect(try server.send("manifest").status == 200)
        server.stop()
        #expect(try client.response().status == 304)
    }

    // MARK: Other origins

    @Test func `pages of other origins may ask for manifests and send reports`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let page = [("Origin", "https://app.example"), ("Sec-Fetch-Site", "cross-site")]
            #expect(try server.send("manifest", fields: page).status == 200)
            let preflight = try server.send(
                "manifest", method: "OPTIONS",
                fields: page + [
                    ("Access-Control-Request-Method", "GET"),
                    ("Access-Control-Request-Headers", "if-none-match"),
                ])
            #expect(preflight.status == 204)
            #expect(preflight["Access-Control-Allow-Origin"] == "*")
            #expect(preflight["Access-Control-Allow-Headers"]?.contains("If-None-Match") == true)
        }
    }

    @Test func `requests that a proxy forwarded are answered, and the portal still refuses them`()
        async throws
    {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let forwarded = [("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-Proto", "https")]
            let host = "updates.example.com"
            #expect(try server.send("manifest", host: host, fields: forwarded).status == 200)
            #expect(try server.send("/", host: host, fields: forwarded).status == 403)
        }
    }

    @Test func `the names of mirrored origins have no updates`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let host = "example-test.localhost:\(server.port)"
            #expect(try server.send("manifest", host: host).status != 200)
            #expect(try server.send("manifest", host: "larder.localhost:\(server.port)").status == 200)
        }
    }

    @Test func `a client behind a proxy that sends too many requests gets 429`() async throws {
        try await app.publish(["main.js": "one"])
        try await app.withServer { (server) async throws in
            let client = try RawClient(port: Int(server.port))
            func status(_ address: String) throws -> RawResponse {
                try client.get(
                    "/-/updates/shop/manifest", method: "HEAD",
                    fields: [("X-Forwarded-For", "203.0.113.1, \(address)")])
            }
            var answer = try status("192.0.2.7")
            for _ in 0..<1000 where answer.status == 200 { answer = try status("192.0.2.7") }
            #expect(answer.status == 429)
            #expect(answer["Retry-After"] != nil)
            #expect(try status("192.0.2.8").status == 200)
        }
    }
}
