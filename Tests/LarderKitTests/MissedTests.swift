import LarderKit
import TestOrigin
import Testing

@Suite struct MissedTests {
    @Test func `what was looked for and not held is fetched at the next prefetch, and then forgotten`() async throws {
        let origin = try TestOrigin()
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.path + "/store")
        origin.on("/", .page("front"))
        origin.on("/hidden", .page("hidden"))
        #expect(try await larder.prefetch([origin.url("/")]).isPublished)
        let service = try larder.serve(port: 0)
        for path in ["/hidden", "/nowhere"] {
            await #expect(throws: LarderError.self) { _ = try await service.visit(origin.url(path)) }
        }
        service.stop()
        #expect(try await larder.misses().misses.count == 2)
        let report = try await larder.prefetch([origin.url("/")])
        #expect(origin.requests(to: "/hidden").count == 1)
        #expect(report.missing.isEmpty, "nobody is sure that there is such a thing")
        #expect(try await larder.explain(origin.url("/hidden")).heldStatus == 200)
        #expect(try await larder.misses().misses.isEmpty)
    }
}
