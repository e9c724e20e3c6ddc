import LarderKit
import TestOrigin
import Testing

@Suite struct GatedPrefetchTests {
    @Test func `a visit whose required bundles do not verify is not served, and the last good one is`() async throws {
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
        #expect(good.isPublished && !good.isHeldBack)
        #expect(good.check?.isClean == true)

        origin.on("/", .page("two"))
        origin.on("/app.js", .file("b", type: "text/javascript"))
        let bad = try await larder.prefetch(manifest: manifest)
        #expect(bad.isHeldBack && !bad.isPublished && !bad.isComplete)
        #expect(bad.check?.isClean == false)
        #expect(try await larder.status().sites[0].published == good.visit)

        origin.on("/app.js", .file("a", type: "text/javascript"))
        let mended = try await larder.prefetch(manifest: manifest)
        #expect(try await larder.status().sites[0].published == mended.visit)
    }
}
