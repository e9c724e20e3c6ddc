import Glibc
import LarderKit
import TestOrigin
import Testing

/// Compiles and runs the Swift examples of the README and the DocC catalogue, with a site and folders of the test.
/// Every line of an example must also be in this file.
@Suite struct ExampleTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        for path in ["/", "/docs/"] {
            origin.on(path, .page("<title>Home</title><script src=/a.js></script>"))
        }
        origin.on("/a.js", .file("a", type: "text/javascript"))
        try folder.write(
            "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "site.json")
    }

    @Test func `every example runs`() async throws {
        let larder = Larder(at: folder.file("larder"))
        let report = try await larder.prefetch([origin.url("/")])
        print(report.pages, report.assets, report.missing.count)
        #expect(report.isComplete)

        try await preloading(larder)
        try await loading(larder)
        try await prefetching(larder)
        try await checking(larder)
        try await keeping(larder)

        let service = try larder.serve(port: 0)
        print(service.address, service.address(of: origin.url("/")) ?? "")
        service.stop()

        try await larder.schedule(origin.url("/"), .daily)
        for due in try await larder.updateDue() { print(due.site) }

        try larder.setPortalPassword("correct horse battery staple")
        var options = ServeOptions()
        options.address = "*"
        #expect(options.address != nil)
        #expect(try larder.forgetPortalPassword())
    }

    private func preloading(_ larder: Larder) async throws {
        var preload = PreloadOptions()
        preload.base = origin.url("/")
        let bundles = try await larder.preload(folder.file("site.json"), options: preload)
        print(bundles.outcome, bundles.reused, bundles.fetched, bundles.sinceDate ?? "nothing is stored")
        #expect(bundles.outcome == .changed && bundles.reused == 1)
        let start = try await larder.beginStart(of: origin.url("/"))
        print(start.snapshot ?? 0, start.failed ?? 0)
        let script = try await larder.load(origin.url("/a.js"), policy: .offline)
        print(script.body.count)
        try await larder.confirmStart(start)
        let next = try await larder.preload(folder.file("site.json"), options: preload)
        print(next.json)
        #expect(next.outcome == .current)
        preload.trustedKeys = ["RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"]
        print(bundles.signer ?? "no signature is required")
        let unsigned = try await larder.preload(folder.file("site.json"), options: preload)
        #expect(unsigned.outcome == .refused)
    }

    private func loading(_ larder: Larder) async throws {
        let answer = try await larder.load(origin.url("/"), policy: .auto)
        print(answer.source, answer.response.status, answer.body.count)
        let bundle = try await larder.bundle(origin.url("/a.js"), md5: "0cc175b9c0f1b6a831c399e269772661")
        print(bundle.source, bundle.body.count)
        #expect(bundle.source == .stored)

        var loading = LoadOptions()
        loading.willStore = { response in
            guard response["Content-Type"] != "video/mp4" else { return nil }
            var edited = response
            edited["Set-Cookie"] = nil
            edited.lifetime = .seconds(3600)
            return edited
        }
        let stored = try await larder.load(origin.url("/"), policy: .reload, options: loading)
        print(stored.reasonNotStored ?? "stored")

        var own = WebResponse(
            url: origin.url("/own.json"), fields: ["Content-Type": "application/json"], body: Array("{}".utf8)
        )
        own.lifetime = .seconds(600)
        try await larder.store(own)
        let wasStored = try await larder.remove(url: origin.url("/own.json"))
        print(wasStored)
        #expect(wasStored)
    }

    private func prefetching(_ larder: Larder) async throws {
        var options = PrefetchOptions()
        options.plan.scope.extent = .path
        options.plan.scope.exclude = ["*.pdf"]
        options.plan.maxPages = 500
        let report = try await larder.prefetch([origin.url("/docs/")], options: options)
        for missing in report.missing { print(missing.url, missing.reason, missing.chain) }

        var watched = PrefetchOptions()
        watched.progress = { now in
            print(
                now.pages.done, now.pages.queued, now.bytesPerSecond,
                now.remaining.map { "\($0)" } ?? "unknown")
        }
        _ = try await larder.prefetch([origin.url("/")], options: watched)

        for try await event in larder.prefetchEvents([origin.url("/")]) {
            switch event {
            case .progress(let now): print(now.pages.done, now.pages.queued)
            case .finished(let report): print(report.pages, report.missing.count)
            }
        }
    }

    private func checking(_ larder: Larder) async throws {
        var check = CheckOptions()
        check.bases = [origin.url("/")]
        check.places = [.stored, .live]
        let checked = try await larder.check(folder.file("site.json"), options: check)
        print(checked.isClean, checked.text(as: .junit))
        #expect(checked.isClean)

        let proof = try await larder.checkOffline(origin.url("/"))
        print(proof.isClean)
        #expect(proof.isClean)
    }

    private func keeping(_ larder: Larder) async throws {
        let status = try await larder.status()
        for site in status.sites { print(site.name, site.snapshots.count, site.live ?? 0) }
        #expect(status.sites.count == 2)

        let preview = try await larder.previewPruning(limit: ByteSize("2G"))
        print(preview.snapshots.count, preview.urls)
        let report = try await larder.prune(limit: ByteSize("2G"))
        print(report.byteCountBefore, report.byteCountAfter)

        let inspection = try await larder.inspect { print($0.done, $0.total ?? 0) }
        print(inspection.isSound)
        #expect(inspection.isSound)
    }

    private static let root = #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
    private static let pages =
        ["README.md"]
        + ["LarderKit", "Preloading", "Apps", "Prefetching", "Serving", "Checking", "Keeping", "Automating"]
        .map {
            "Sources/LarderKit/LarderKit.docc/\($0).md"
        }

    /// The expressions of this file, with the texts that the examples have in place of them.
    private static let replacements = [
        ("origin.url(\"/a.js\")", "\"https://example.com/a.js\""),
        ("origin.url(\"/own.json\")", "\"https://example.com/own.json\""),
        ("origin.url(\"/docs/\")", "\"https://example.com/docs/\""),
        ("origin.url(\"/\")", "\"https://example.com/\""),
        ("folder.file(\"site.json\")", "\"site.json\""), ("folder.file(\"larder\")", "\"/var/lib/larder\""),
    ]

    @Test(arguments: pages)
    func `every example in the documentation is compiled in this file`(page: String) {
        let own = Self.replacements.reduce(Self.text(of: #filePath)) { $0.replacing($1.0, with: $1.1) }
        let known = Set(own.split(separator: "\n").map(Self.trimmed))
        var isSwift = false
        for line in Self.text(of: Self.root + "/" + page).split(separator: "\n") {
            if line.hasPrefix("```") {
                isSwift = line == "```swift"
            } else if isSwift {
                // Ports are left out, because readers choose their own.
                #expect(
                    known.contains(Self.trimmed(line).replacing("port: 8080", with: "port: 0")), "\(line)")
            }
        }
    }

    private static func trimmed(_ line: Substring) -> String { String(line.drop { $0 == " " }) }

    private static func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
