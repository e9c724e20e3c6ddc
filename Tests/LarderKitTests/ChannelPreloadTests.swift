import Store
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// Preloads of a channel of `larder serve --updates`, whose answers differ by device and over time.
@Suite(.serialized) struct ChannelPreloadTests {
    private let scratch: TemporaryFolder
    private let publisher: Larder
    private let larder: Larder

    init() throws {
        scratch = try TemporaryFolder()
        publisher = Larder(at: scratch.file("published"))
        larder = Larder(at: scratch.file("store"))
    }

    private func publish(_ text: String, runtime: String = "1") async throws {
        let dist = try TemporaryFolder()
        _ = try dist.write(text, to: "main.js")
        var options = PublishOptions()
        options.app = "shop"
        options.runtimeVersions = [runtime]
        _ = try await publisher.publish(dist.path, options: options)
    }

    private func change(_ change: ReleaseChange) async throws {
        var options = PublishOptions()
        options.app = "shop"
        _ = try await publisher.change(change, options: options)
    }

    /// Serves the releases, and passes the address of the manifest for devices with the runtime version 1.
    private func withServer(_ body: (String) async throws -> Void) async throws {
        var options = ServeOptions()
        options.updates = UpdateServing()
        let server = try publisher.serve(port: 0, threads: 1, options: options)
        defer { server.stop() }
        try await body("http://localhost:\(server.port)/-/updates/shop/manifest?runtime=1&device=d")
    }

    /// The text of the file in the live release, which the stored manifest names; nil if there is none.
    private func liveText(_ manifest: String, file: String = "main.js") throws -> String? {
        let reader = try StoreReader(larder.folder)
        func bytes(_ url: String) throws -> [UInt8]? {
            let body = try reader.response(for: url)?.body
            return try body.flatMap { try reader.content(of: $0) }?.load()
        }
        guard let text = try bytes(manifest), let base = try JSONValue.parse(text.span)["base"]?.string,
            let url = WebURL(base + file, base: WebURL(manifest))
        else { return nil }
        return try bytes(url.href).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Each release has URLs of its own.
    @Test func `files that are equal to those of the release before are not requested again`() async throws {
        func publish(_ files: [String: String]) async throws {
            let dist = try TemporaryFolder()
            for (name, text) in files { _ = try dist.write(text, to: name) }
            var options = PublishOptions()
            options.app = "shop"
            _ = try await publisher.publish(dist.path, options: options)
        }
        let large = String(repeating: "larder ", count: 400_000)
        let files = ["main.js": "one", "same.css": "a {}", "large.js": large]
        try await publish(files)
        try await withServer { (manifest) async throws in
            let first = try await larder.preload(manifest)
            #expect((first.bundles, first.reused, first.fetched, first.requests) == (3, 0, 3, 4))
            try await publish(files.merging(["main.js": "two"]) { $1 })
            let second = try await larder.preload(manifest)
            #expect(second.outcome == .changed)
            #expect((second.bundles, second.reused, second.fetched, second.requests) == (3, 2, 1, 2))
            #expect(second.byteCount < 10_000)
            #expect(try liveText(manifest) == "two")
            #expect(try liveText(manifest, file: "same.css") == "a {}")
            #expect(try liveText(manifest, file: "large.js") == large)
            // A body of another type of file is requested.
            try await publish(["main.js": "a {}", "large.js": large])
            let third = try await larder.preload(manifest)
            #expect((third.reused, third.fetched, third.requests) == (1, 1, 2))
        }
    }

    @Test func `a channel without a release for the device is an error that says what to check`() async throws
    {
        try await publish("one", runtime: "2")
        try await withServer { (manifest) async throws in
            let error = await #expect(throws: LarderError.self) { try await larder.preload(manifest) }
            #expect(error?.kind == .input)
            #expect(error?.description.contains("offers no update: check the platform") == true)
        }
    }

    @Test func `while the channel has nothing for the device, its stored release is current`() async throws {
        try await publish("one")
        try await withServer { (manifest) async throws in
            #expect(try await larder.preload(manifest).outcome == .changed)
            try await change(.halt)
            let report = try await larder.preload(manifest)
            #expect(report.outcome == .current && report.manifestFailure == nil)
            #expect(report.snapshot == 1)
            #expect(try liveText(manifest) == "one")
        }
    }

    @Test func `after a roll-back to the built-in code the preload is refused, and the release stays`()
        async throws
    {
        try await publish("one")
        try await withServer { (manifest) async throws in
            #expect(try await larder.preload(manifest).outcome == .changed)
            try await change(.rollBack)
            for _ in 0..<2 {
                let report = try await larder.preload(manifest)
                #expect(report.outcome == .refused && report.snapshot == 1)
                #expect(report.manifestFailure?.contains("is withdrawn: its server answered 410") == true)
                #expect(try liveText(manifest) == "one")
            }
            // A new release ends that.
            try await publish("two")
            #expect(try await larder.preload(manifest).outcome == .changed)
            #expect(try liveText(manifest) == "two")
        }
    }

    @Test func `after a channel was removed the stored release stays live, and the report names the status`()
        async throws
    {
        try await publish("one")
        try await withServer { (manifest) async throws in
            #expect(try await larder.preload(manifest).outcome == .changed)
            try await publisher.removeChannel("production")
            let report = try await larder.preload(manifest)
            #expect(report.outcome == .unreachable && report.snapshot == 1)
            #expect(report.manifestFailure?.contains("404") == true)
            #expect(try liveText(manifest) == "one")
        }
    }
}
