import Database
import Digest
import Glibc
import TestOrigin
import Testing

@testable import LarderKit
@testable import Store

@Suite struct PreloadTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    private static let md5 = [
        "a": "0cc175b9c0f1b6a831c399e269772661", "b": "92eb5ffee6ae2fec3ad71c777531578f",
        "c": "4a8a08f09d37b73795649038408b5f33", "d": "8277e0910d750195b448797616e091ad",
    ]

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        origin.on("/one.js", .file("a", type: "text/javascript"))
        origin.on("/two.js", .file("b", type: "text/javascript"))
        publish("a", "b")
    }

    /// Publishes a checksum list at a URL whose name does not reveal the format.
    private func publish(_ one: String, _ two: String) {
        origin.on(
            "/current",
            .file("\(Self.md5[one] ?? "")  one.js\n\(Self.md5[two] ?? "")  two.js\n", type: "text/plain"))
    }

    private func serve(_ one: String, _ two: String) {
        origin.on("/one.js", .file(one, type: "text/javascript"))
        origin.on("/two.js", .file(two, type: "text/javascript"))
    }

    private var manifest: String { origin.url("/current") }

    /// Returns the served bodies of both bundles.
    private func servedBodies() throws -> [String] {
        let reader = try StoreReader(StoreFolder(larder.path))
        return try ["/one.js", "/two.js"].map { target in
            let body = try reader.response(for: origin.url(target))?.body
            let bytes = try body.flatMap { try reader.content(of: $0) }?.load()
            return bytes.map { String(decoding: $0, as: UTF8.self) } ?? "-"
        }
    }

    @Test func `matching bundles are not requested, and changed ones go live together`() async throws {
        let first = try await larder.preload(manifest)
        #expect(first.outcome == .changed)
        #expect((first.bundles, first.reused, first.fetched, first.requests) == (2, 0, 2, 3))
        #expect(first.snapshot != nil && first.since != nil)
        #expect(try servedBodies() == ["a", "b"])

        origin.forgetRequests()
        let second = try await larder.preload(manifest)
        #expect(second.outcome == .current)
        #expect((second.reused, second.fetched, second.requests, second.byteCount) == (2, 0, 1, 0))
        #expect(second.snapshot == first.snapshot)
        #expect(origin.requests.map(\.target) == ["/current"])

        publish("a", "c")
        serve("x", "c")
        origin.forgetRequests()
        let third = try await larder.preload(manifest)
        #expect(third.outcome == .changed)
        #expect((third.reused, third.fetched, third.requests) == (1, 1, 2))
        #expect(origin.requests.map(\.target) == ["/current", "/two.js"])
        #expect(try servedBodies() == ["a", "c"])
        #expect(try await larder.preload(manifest).outcome == .current)

        // Bundles of an earlier snapshot are not requested either.
        publish("a", "b")
        origin.forgetRequests()
        let back = try await larder.preload(manifest)
        #expect(back.outcome == .changed)
        #expect((back.reused, back.fetched, back.requests) == (2, 0, 1))
        #expect(try servedBodies() == ["a", "b"])
    }

    @Test func `if one bundle does not verify, the last good set stays live`() async throws {
        let first = try await larder.preload(manifest)
        publish("c", "d")
        serve("c", "x")
        let bad = try await larder.preload(manifest)
        #expect(bad.outcome == .refused)
        #expect(bad.refused.map(\.url) == [origin.url("/two.js")])
        #expect(bad.refused.first?.isRequired == true)
        #expect(bad.snapshot == first.snapshot)
        #expect(try servedBodies() == ["a", "b"])

        // The failed attempt does not affect a return to the first set.
        publish("a", "b")
        #expect(try await larder.preload(manifest).snapshot == first.snapshot)
        #expect(try servedBodies() == ["a", "b"])
        publish("a", "c")
        serve("a", "c")
        #expect(try await larder.preload(manifest).outcome == .changed)
        #expect(try servedBodies() == ["a", "c"])

        publish("c", "d")
        serve("c", "d")
        origin.forgetRequests()
        #expect(try await larder.preload(manifest).outcome == .changed)
        // The verified bundle of the rejected set was stored.
        #expect(origin.requests.map(\.target) == ["/current", "/two.js"])
        #expect(try servedBodies() == ["c", "d"])
    }

    /// The reason why the second set cannot be loaded.
    enum Trouble: CaseIterable {
        case noServer, manifestFails, bundleFails, bundleGone, notAManifest
    }

    @Test(arguments: Trouble.allCases)
    func `if the manifest or a bundle cannot be loaded, the last good set stays live`(trouble: Trouble)
        async throws
    {
        let first = try await larder.preload(manifest)
        publish("c", "b")
        var outcome = PreloadReport.Outcome.unreachable
        switch trouble {
        case .noServer: origin.stop()
        case .manifestFails: origin.on("/current", .failure(404))
        case .bundleFails: origin.on("/one.js", .failure(501))
        case .bundleGone:
            origin.on("/one.js", .failure(404))
            outcome = .refused
        case .notAManifest:
            origin.on("/current", .page("<h1>Log in</h1>"))
            outcome = .refused
        }
        let report = try await larder.preload(manifest)
        #expect(report.outcome == outcome)
        #expect(report.snapshot == first.snapshot && report.since == first.since)
        #expect(try servedBodies() == ["a", "b"])
        // A preload without stored bundles serves nothing.
        let empty = Larder(at: scratch.file("empty"))
        if let report = try? await empty.preload(manifest) {
            #expect(report.snapshot == nil && !report.isServed)
        }
    }

    @Test func `bundles whose stored bytes changed or are gone are fetched again`() async throws {
        let large = String(repeating: "z", count: 5000)
        origin.on("/one.js", .file(large, type: "text/javascript"))
        origin.on("/current", .file("\(md5(of: large))  one.js\n", type: "text/plain"))
        #expect(try await larder.preload(manifest).outcome == .changed)

        let pack = try #require(scratch.names(in: "store/packs").first)
        let file = open(scratch.file("store/packs/\(pack)"), O_WRONLY)
        #expect(pwrite(file, "!", 1, 100) == 1)
        close(file)
        // A quick preload does not read the stored bytes, so it does not notice the damage.
        #expect(try await larder.preload(manifest).outcome == .current)
        var proving = PreloadOptions()
        proving.rehashesStoredBundles = true
        let repaired = try await larder.preload(manifest, options: proving)
        #expect(repaired.outcome == .changed && repaired.fetched == 1)
        #expect(try await larder.inspect().damaged.isEmpty)
        #expect(try await larder.preload(manifest, options: proving).outcome == .current)

        for name in scratch.names(in: "store/packs") { unlink(scratch.file("store/packs/\(name)")) }
        let fetched = try await larder.preload(manifest)
        #expect(fetched.outcome == .changed && fetched.fetched == 1)
        #expect(try await larder.inspect().damaged.isEmpty)
    }

    @Test(arguments: [
        "DELETE FROM content", "UPDATE content SET bytes = NULL", "UPDATE body SET md5 = zeroblob(16)",
        "UPDATE content SET bytes = x'00'; UPDATE body SET md5 = zeroblob(16)",
    ])
    func `a wrong digest in the database is found, and corrected by the next preload`(damage: String)
        async throws
    {
        #expect(try await larder.preload(manifest).outcome == .changed)
        try Connection(StoreFolder(larder.path).database, access: .readWrite).execute(damage)
        var proving = PreloadOptions()
        proving.rehashesStoredBundles = true
        _ = try await larder.preload(manifest, options: proving)
        #expect(try await larder.preload(manifest, options: proving).outcome == .current)
        #expect(try servedBodies() == ["a", "b"])
        var options = CheckOptions()
        options.places = [.stored]
        #expect(try await larder.check(manifest, options: options).isClean)
        #expect(try await larder.inspect().isSound)
    }

    @Test func `a wrong stored digest neither rejects correct bytes nor accepts others`()
        async throws
    {
        #expect(try await larder.preload(manifest).outcome == .changed)
        var options = CheckOptions()
        options.places = [.stored]
        let database = StoreFolder(larder.path).database
        try Connection(database, access: .readWrite).execute("UPDATE body SET md5 = zeroblob(16)")
        #expect(try await larder.check(manifest, options: options).isClean)
        try Connection(database, access: .readWrite).execute(
            "UPDATE body SET md5 = x'\(Self.md5["c"] ?? "")'")
        let later = try scratch.write("\(Self.md5["c"] ?? "")  one.js\n", to: "later.md5")
        options.bases = [origin.url("/")]
        #expect(try await larder.check(later, options: options).items.map(\.verdict) == [.mismatch])
    }

    /// The command that finds the damage.
    enum Finder: CaseIterable {
        case inspection, offlineCheck, reading
    }

    @Test(arguments: Finder.allCases)
    func `damage found by any command is repaired by the next preload`(finder: Finder) async throws {
        let large = String(repeating: "z", count: 5000)
        origin.on("/one.js", .file(large, type: "text/javascript"))
        origin.on("/current", .file("\(md5(of: large))  one.js\n", type: "text/plain"))
        _ = try await larder.preload(manifest)
        let pack = try #require(scratch.names(in: "store/packs").first)
        let file = open(scratch.file("store/packs/\(pack)"), O_WRONLY)
        #expect(pwrite(file, "!", 1, 100) == 1)
        close(file)
        switch finder {
        case .inspection: #expect(try await !larder.inspect().isSound)
        case .offlineCheck: #expect(try await !larder.checkOffline(manifest).isClean)
        case .reading: _ = try await larder.read(origin.url("/one.js")) { _ in true }
        }
        let repaired = try await larder.preload(manifest)
        #expect(repaired.outcome == .changed && repaired.fetched == 1)
        #expect(try await larder.inspect().isSound)
        #expect(try await larder.checkOffline(manifest).isClean)
    }

    @Test func `assets of bundles are fetched if the options say so`() async throws {
        let script = """
            var a = "\(origin.url("/images/absolute.png"))", b = "//127.0.0.1:\(origin.port)/images/relative.png",
                c = "/images/rooted.png", d = "\(origin.url("/api/list.json"))", e = "/api/more.json?page=1";
            """
        origin.on("/one.js", .file(script, type: "text/javascript"))
        origin.on(
            "/current",
            .file("{\"url\": \"one.js\", \"md5\": \"\(md5(of: script))\"}", type: "application/json"))
        for name in ["absolute", "relative", "rooted"] {
            origin.on("/images/\(name).png", .file("p", type: "image/png"))
        }
        for name in ["list", "more"] { origin.on("/api/\(name).json", .file("[]", type: "application/json")) }
        var alone = PreloadOptions()
        alone.includesAssets = false
        let first = try await larder.preload(manifest, options: alone)
        #expect((first.outcome, first.fetched, first.assets) == (.changed, 1, 0))
        #expect(origin.requests.count == 2)

        let second = try await larder.preload(manifest)
        #expect((second.outcome, second.fetched) == (.changed, 0))
        #expect(
            Set(origin.requests.dropFirst(2).map(\.target)) == [
                "/current", "/images/absolute.png", "/images/relative.png", "/images/rooted.png",
                "/api/list.json",
                "/api/more.json?page=1",
            ])
        #expect(second.assets == 5)
        #expect(try await larder.preload(manifest).outcome == .current)
    }

    private func md5(of text: String) -> String { DigestStream.digest(.md5, of: Array(text.utf8).span).hex }

    @Test func `an update of a preloaded site requests the manifest and changed bundles`() async throws {
        _ = try await larder.preload(manifest)
        publish("c", "b")
        serve("c", "x")
        origin.forgetRequests()
        let report = try await larder.update()[0]
        #expect(report.isPublished)
        #expect(origin.requests.map(\.target) == ["/current", "/one.js"])
        #expect(try servedBodies() == ["c", "b"])
    }

    @Test func `a prefetched site keeps its pages, and is verified against the manifest from then on`()
        async throws
    {
        origin.on("/", .page("<script src=/one.js></script>"))
        _ = try await larder.prefetch([origin.url("/")])
        let list = try scratch.write("\(Self.md5["a"] ?? "")  one.js\n", to: "sums")
        var options = PreloadOptions()
        options.base = origin.url("/")
        origin.forgetRequests()
        let report = try await larder.preload(list, options: options)
        #expect(report.site == origin.url("/"))
        #expect(report.requests == 0 && report.reused == 1)
        #expect(try await larder.status().sites.map(\.name) == [origin.url("/")])
        origin.on("/", .page("<script src=/one.js></script>two"))
        serve("x", "b")
        #expect(try await larder.update()[0].pages == 1)
        #expect(try servedBodies()[0] == "a")
    }

    @Test func `bundles behind redirects are verified too`() async throws {
        origin.on("/one.js", .redirect(to: "/cdn/one.js"))
        origin.on("/cdn/one.js", .file("x", type: "text/javascript"))
        #expect(try await larder.preload(manifest).outcome == .refused)
        origin.on("/cdn/one.js", .file("a", type: "text/javascript"))
        #expect(try await larder.preload(manifest).outcome == .changed)
        origin.forgetRequests()
        #expect(try await larder.preload(manifest).outcome == .current)
        #expect(origin.requests.map(\.target) == ["/current"])
    }

    @Test func `a bundle without a digest is revalidated by each preload`() async throws {
        origin.on(
            "/current",
            .file(
                "{\"files\": {\"main.js\": \"/one.js\"}, \"entrypoints\": [\"one.js\"]}",
                type: "application/json"))
        origin.on("/one.js", OriginAnswer.file("a", type: "text/javascript").validated(entityTag: "\"1\""))
        #expect(try await larder.preload(manifest).outcome == .changed)
        let again = try await larder.preload(manifest)
        #expect(again.outcome == .changed || again.outcome == .current)
        #expect(origin.requests(to: "/one.js").count == 2)
    }
}
