import LarderKit
import TestOrigin
import Testing

@Suite struct GatedPrefetchTests {
    @Test
    func `a snapshot whose required bundles do not verify is rejected, and the last good one stays live`()
        async throws
    {
        let origin = try TestOrigin()
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.path + "/store")
        let manifest = try scratch.write(
            """
            {"start": ["\(origin.url("/"))"],
             "bundles": [{"url": "/app.js", "md5": "0cc175b9c0f1b6a831c399e269772661"}]}
            """, to: "site.json")
        origin.on("/", .page("one"))
        origin.on("/app.js", .file("a", type: "text/javascript"))
        let good = try await larder.prefetch(manifest: manifest)
        #expect(good.isPublished && !good.isRejected)
        #expect(good.check?.isClean == true)

        origin.on("/", .page("two"))
        origin.on("/app.js", .file("b", type: "text/javascript"))
        try scratch.write(
            """
            {"start": ["\(origin.url("/"))"],
             "bundles": [{"url": "/app.js", "md5": "4a8a08f09d37b73795649038408b5f33"}]}
            """, to: "site.json")
        let bad = try await larder.prefetch(manifest: manifest)
        #expect(bad.isRejected && !bad.isPublished && !bad.isComplete)
        #expect(bad.check?.isClean == false)
        #expect(try await larder.status().sites[0].live == good.snapshot)
        // The portal reports the verdict on the live body, and not on the rejected one.
        #expect(try Self.verdicts(larder).contains("\"verdict\": \"verified\""))

        origin.on("/app.js", .file("c", type: "text/javascript"))
        let repaired = try await larder.prefetch(manifest: manifest)
        #expect(try await larder.status().sites[0].live == repaired.snapshot)
    }

    @Test func `the portal shows the last verdict on a bundle until its body changes`() async throws {
        let origin = try TestOrigin()
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.path + "/store")
        origin.on("/", .page("<script src=/app.js></script>"))
        origin.on("/app.js", .file("a", type: "text/javascript"))
        _ = try await larder.prefetch([origin.url("/")])
        #expect(try Self.verdicts(larder).contains("\"verdict\": null"))
        let manifest = try scratch.write(
            """
            {"start": ["\(origin.url("/"))"],
             "bundles": [{"url": "/app.js", "md5": "92eb5ffee6ae2fec3ad71c777531578f"}]}
            """, to: "site.json")
        var options = CheckOptions()
        options.places = [.stored]
        _ = try await larder.check(manifest, options: options)
        #expect(try Self.verdicts(larder).contains("\"verdict\": \"mismatch\""))
        origin.on("/app.js", .file("b", type: "text/javascript"))
        _ = try await larder.prefetch([origin.url("/")])
        #expect(try Self.verdicts(larder).contains("\"verdict\": null"))
    }

    /// The portal's list of bundles with their verdicts, as JSON.
    private static func verdicts(_ larder: Larder) throws -> String {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let client = try RawClient(port: Int(service.port))
        return try client.get("/-/scripts?format=json", host: "localhost:\(service.port)").text
    }
}
