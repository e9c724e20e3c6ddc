import LarderKit
import TestOrigin
import Testing

/// Starts of an app whose bundles are preloaded.
@Suite struct StartTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    private static let md5 = [
        "a": "0cc175b9c0f1b6a831c399e269772661", "b": "92eb5ffee6ae2fec3ad71c777531578f",
        "c": "4a8a08f09d37b73795649038408b5f33",
    ]

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("store"))
    }

    /// Publishes a release, and preloads it.
    private func preload(_ text: String, retries: Bool = false) async throws -> PreloadReport {
        origin.on("/app.js", .file(text, type: "text/javascript"))
        origin.on(
            "/manifest.json",
            .file(
                #"{"bundles": [{"url": "app.js", "md5": "\#(Self.md5[text] ?? "")"}]}"#,
                type: "application/json"))
        var options = PreloadOptions()
        options.retriesFailedReleases = retries
        return try await larder.preload(origin.url("/manifest.json"), options: options)
    }

    private func script() async throws -> String {
        String(decoding: try await larder.load(origin.url("/app.js"), policy: .offline).body, as: UTF8.self)
    }

    @Test func `a release that was not confirmed is replaced at the next start, and not fetched again`()
        async throws
    {
        let site = try await preload("a").site
        let first = try await larder.beginStart(of: site)
        #expect(first.snapshot == 1)
        try await larder.confirmStart(first)
        #expect(try await preload("b").outcome == .changed)
        #expect(try await larder.beginStart(of: site).snapshot == 2)
        #expect(try await script() == "b")
        let second = try await larder.beginStart(of: site)
        #expect((second.snapshot, second.failed) == (1, 2))
        #expect(try await script() == "a")
        let refused = try await preload("b")
        #expect(refused.outcome == .refused)
        #expect(refused.manifestFailure?.contains("did not start before") == true)
        #expect(try await script() == "a")
        #expect(try await preload("b", retries: true).outcome == .changed)
        #expect(try await script() == "b")
        #expect(try await preload("c").outcome == .changed)
    }

    @Test func `a confirmed release starts again, and falls back when the app says so`() async throws {
        let site = try await preload("a").site
        try await larder.confirmStart(try await larder.beginStart(of: site))
        #expect(try await larder.beginStart(of: site).failed == nil)
        _ = try await preload("b")
        let start = try await larder.beginStart(of: site)
        try await larder.confirmStart(start)
        let next = try await larder.fallBack(from: start)
        #expect((next.snapshot, next.failed) == (1, 2))
        // The report of an earlier start has no effect on another release.
        #expect(try await larder.fallBack(from: start).failed == nil)
        #expect(try await script() == "a")
    }

    @Test func `the first release stays live, since there is none before it`() async throws {
        let site = try await preload("a").site
        _ = try await larder.beginStart(of: site)
        let again = try await larder.beginStart(of: site)
        #expect((again.snapshot, again.failed) == (1, nil))
    }
}
