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

    @Test func `an app with LarderKit preloads from an update server, and reports its starts`() async throws {
        let publisher = Larder(at: folder.file("publisher"))
        func publish(_ text: String) async throws -> PublishReport {
            let dist = try TemporaryFolder()
            try dist.write(text, to: "app.js")
            var options = PublishOptions()
            options.app = "shop"
            return try await publisher.publish(dist.path, options: options)
        }
        _ = try await publish("a")
        var options = ServeOptions()
        options.updates = UpdateServing()
        let server = try publisher.serve(port: 0, threads: 1, options: options)
        defer { server.stop() }
        let manifest = "http://localhost:\(server.port)/-/updates/shop/manifest?device=device-1"
        let site = try await larder.preload(manifest).site
        let first = try await larder.beginStart(of: site)
        #expect(try await larder.reportStart(first) == false)
        try await larder.confirmStart(first)
        #expect(try await larder.reportStart(first))
        _ = try await publish("b")
        #expect(try await larder.preload(manifest).outcome == .changed)
        _ = try await larder.beginStart(of: site)
        let second = try await larder.beginStart(of: site)
        #expect((second.snapshot, second.failed) == (1, 2))
        #expect(try await larder.reportStart(second))
        let updates = try await publisher.channels()[0].updates
        #expect(updates.map(\.installed) == [0, 1])
        #expect(updates.map(\.failed) == [1, 0])
    }
}
