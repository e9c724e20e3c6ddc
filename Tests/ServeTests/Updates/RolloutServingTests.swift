import LarderKit
import TestOrigin
import Testing

@testable import Mirror

/// Roll-outs over time, as devices see them. The tests move the clocks of the server.
@Suite struct RolloutServingTests {
    private static let devices = (0..<40).map { "device-\($0)" }

    /// The devices that get an update.
    private func devices(with update: String, _ server: some UpdateTestServer) throws -> Set<String> {
        Set(
            try Self.devices.filter {
                try server.send("manifest?device=\($0)")["Larder-Update"] == update
            })
    }

    private func send(
        _ server: some UpdateTestServer, _ device: String, having tag: String
    ) throws -> RawResponse {
        try server.send("manifest?device=\(device)", fields: [("If-None-Match", tag)])
    }

    // MARK: Ramps

    @Test func `a ramp gives the release to more devices over time, and takes it from none`() async throws {
        let app = try PublishedApp()
        try await app.publish(["main.js": "one"])
        let update = try await app.publish(["main.js": "two"]) { $0.ramp = "25%/1h" }.channel.updates[0].id
        let clock = UpdateClock()
        let server = try app.serve(at: clock)
        defer { server.stop() }
        var before: Set<String> = []
        var counts: [Int] = []
        for _ in 0..<4 {
            let now = try devices(with: update, server)
            #expect(now.isSuperset(of: before))
            counts.append(now.count)
            before = now
            clock.advance(seconds: 3600)
        }
        #expect(counts.last == Self.devices.count && counts[0] < Self.devices.count)
        #expect(Set(counts).count > 2, "\(counts)")
    }

    @Test func `a device that waits gets the release when the ramp reaches it`() async throws {
        let app = try PublishedApp()
        try await app.publish(["main.js": "one"])
        let update = try await app.publish(["main.js": "two"]) { $0.ramp = "1%/1h" }.channel.updates[0].id
        let clock = UpdateClock()
        let server = try app.serve(at: clock)
        defer { server.stop() }
        let early = try devices(with: update, server)
        let device = try #require(Self.devices.first { !early.contains($0) })
        let tag = try #require(try server.send("manifest?device=\(device)")["ETag"])
        let client = try RawClient(port: Int(server.port))
        try client.send(
            "GET /-/updates/shop/manifest?device=\(device) HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(tag)\r\nPrefer: wait=60\r\n\r\n"
        )
        // The server has read the request when it answers a later one.
        #expect(try server.send("manifest").status == 200)
        clock.setDate(forward: 100 * 3600)
        let answer = try client.response()
        #expect(answer.status == 200 && answer["Larder-Update"] == update)
    }

    @Test func `when the clock is set back, devices that have the release keep it`() async throws {
        let app = try PublishedApp()
        let first = try await app.publish(["main.js": "one"]).channel.updates[0].id
        let update = try await app.publish(["main.js": "two"]) { $0.ramp = "5%/1h" }.channel.updates[0].id
        let clock = UpdateClock()
        let server = try app.serve(at: clock)
        defer { server.stop() }
        let early = try devices(with: update, server)
        let device = try #require(Self.devices.first { !early.contains($0) })
        clock.setDate(forward: 100 * 3600)
        #expect(try devices(with: update, server).count == Self.devices.count)
        let tag = try #require(try server.send("manifest?device=\(device)")["ETag"])
        clock.setDate(forward: -200 * 3600)
        #expect(try send(server, device, having: tag).status == 304)
        // Others get the release when its time comes again.
        #expect(try server.send("manifest?device=\(device)")["Larder-Update"] == first)
        clock.setDate(forward: 200 * 3600)
        #expect(try server.send("manifest?device=\(device)")["Larder-Update"] == update)
    }

    // MARK: Shares

    @Test func `a release for no device goes only to those that are named, until its share grows`()
        async throws
    {
        let app = try PublishedApp()
        let update = try await app.publish(["main.js": "one"]) {
            $0.share = "0%"
            $0.allowedDevices = ["tester"]
        }.channel.updates[0].id
        let server = try app.serve(at: UpdateClock())
        defer { server.stop() }
        #expect(try devices(with: update, server).isEmpty)
        #expect(try server.send("manifest?device=device-0").status == 204)
        #expect(try server.send("manifest").status == 204)
        #expect(try server.send("manifest?device=tester")["Larder-Update"] == update)
        _ = try await app.change(.update) { $0.share = "100%" }
        #expect(try devices(with: update, server).count == Self.devices.count)
        // A share that is reduced again takes the release from none of them.
        let tag = try #require(try server.send("manifest?device=device-0")["ETag"])
        _ = try await app.change(.update) { $0.share = "0%" }
        #expect(try send(server, "device-0", having: tag).status == 304)
        #expect(try server.send("manifest?device=device-0").status == 204)
    }

    // MARK: Reading channels again

    /// On PostgreSQL, a channel is used for a quarter of a second without reading its version.
    @Test(arguments: TestPostgreSQL.isInstalled ? [false, true] : [false])
    func `a server sees a new release after the interval at which it reads channels`(isPostgreSQL: Bool)
        async throws
    {
        let app = try PublishedApp(isPostgreSQL: isPostgreSQL)
        let first = try await app.publish(["main.js": "one"]).channel.updates[0].id
        let clock = UpdateClock()
        let server = try app.serve(at: clock)
        defer { server.stop() }
        #expect(try server.send("manifest")["Larder-Update"] == first)
        let second = try await app.publish(["main.js": "two"]).channel.updates[0].id
        #expect(try server.send("manifest")["Larder-Update"] == (isPostgreSQL ? first : second))
        clock.advance(seconds: 1)
        #expect(try server.send("manifest")["Larder-Update"] == second)
    }

    // MARK: Undo

    @Test func `after a publish is undone, devices get the release before, and later the next one`()
        async throws
    {
        let app = try PublishedApp()
        let one = try await app.publish(["main.js": "one"])
        let two = try await app.publish(["main.js": "two"])
        let server = try app.serve(at: UpdateClock())
        defer { server.stop() }
        var tag = try #require(try server.send("manifest?device=d")["ETag"])
        let updates = [one, two].map { $0.channel.updates[0].id }
        // A device that has the release, and one that has not fetched it yet.
        _ = try await app.change(.rollBack)
        for fields in [[("If-None-Match", tag)], []] {
            let undone = try server.send("manifest?device=d", fields: fields)
            #expect(undone.status == 200 && undone["Larder-Release"] == one.release)
            #expect(undone["Larder-Update"].map { !updates.contains($0) } == true)
            tag = try #require(undone["ETag"])
        }
        #expect(try send(server, "d", having: tag).status == 304)
        // The same files can be published again.
        let again = try await app.publish(["main.js": "two"])
        #expect(again.isChanged && again.release == two.release)
        let answer = try send(server, "d", having: tag)
        #expect(answer.status == 200 && answer["Larder-Release"] == two.release)
        // Undone twice: to the release before the last, which was itself the result of an undo.
        _ = try await app.change(.rollBack)
        #expect(try server.send("manifest?device=d")["Larder-Release"] == one.release)
    }
}
