import LarderKit
import TestOrigin
import Testing
import Web

/// `clients/larder-updates.js` in Chromium, with the update server at another origin.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct UpdateServerClientTests {
    private static let clients =
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 } + "/clients"

    private func publish(_ text: String, in larder: Larder) async throws -> PublishReport {
        let dist = try TemporaryFolder()
        try dist.write(text, to: "main.js")
        try dist.write("same", to: "same.txt")
        var options = PublishOptions()
        options.app = "shop"
        return try await larder.publish(dist.path, options: options)
    }

    @Test func `an app updates from the server, reports, falls back, and returns to its own files`()
        async throws
    {
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.file("store"))
        let first = try await publish("one", in: larder)
        var options = ServeOptions()
        options.updates = UpdateServing()
        let server = try larder.serve(port: 0, threads: 1, options: options)
        defer { server.stop() }
        let origin = try TestOrigin()
        origin.serve(folder: Self.clients)
        origin.on(
            "/page",
            .page(
                """
                <!DOCTYPE html><title>App</title><script type=module>
                import {LarderUpdates} from "/larder-updates.js"
                const manifest = "http://localhost:\(server.port)/-/updates/shop/manifest"
                window.make = () => new LarderUpdates({manifest, device: "device-1", startSeconds: 0})
                window.text = async (updates) => (await (await updates.start())?.response("main.js"))?.text()
                window.settled = async (updates) => {
                  // The report of a start is sent in the background, and an update sends it if that has not ended.
                  await updates.update()
                  return updates.status()
                }
                </script>
                """))
        let visit = try Chromium().open(origin.url("/page"), quiet: nil)
        #expect(try visit.evaluate("make().update()")?["outcome"]?.string == "changed")
        let started = try visit.evaluate(
            "(async () => { const app = make(); const read = await text(app); await app.started(); await settled(app); return read })()"
        )
        #expect(started?.string == "one")
        #expect(try await larder.channels()[0].updates[0].installed == 1)
        #expect(try visit.evaluate("make().update()")?["outcome"]?.string == "current")

        let second = try await publish("two", in: larder)
        let changed = try visit.evaluate("make().update()")
        #expect(changed?["outcome"]?.string == "changed")
        // `same.txt` has another URL, and the same bytes.
        #expect(changed?["fetched"]?.int == 1)
        #expect(changed?["reused"]?.int == 1)
        let failed = try visit.evaluate(
            "(async () => { const app = make(); const read = await text(app); await app.fallBack(); await settled(app); return read })()"
        )
        #expect(failed?.string == "two")
        let updates = try await larder.channels()[0].updates
        #expect(updates[0].failed == 1)
        #expect(try visit.evaluate("text(make())")?.string == "one")
        #expect(first.release != second.release)

        // Two roll-backs: to the first release, and to the files that the app was built with.
        var change = PublishOptions()
        change.app = "shop"
        _ = try await larder.change(.rollBack, options: change)
        #expect(try visit.evaluate("make().update()")?["outcome"]?.string == "current")
        #expect(try visit.evaluate("text(make())")?.string == "one")
    }
}
