import Check
import Digest
import Glibc
import Store
import TestOrigin
import Testing

@testable import LarderKit

/// Tests of an app's cache: loading, storing and removing single URLs.
@Suite struct URLLoaderTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    private static let md5 = [
        "a": "0cc175b9c0f1b6a831c399e269772661", "b": "92eb5ffee6ae2fec3ad71c777531578f",
    ]

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
    }

    /// Serves a text as `/a`.
    private func serve(_ text: String, _ cacheControl: String = "max-age=600", tag: String? = nil) {
        let answer = OriginAnswer.file(text, type: "text/plain").adding("Cache-Control", cacheControl)
        origin.on("/a", tag.map { answer.validated(entityTag: $0) } ?? answer)
    }

    private func load(_ policy: CachePolicy?, _ options: LoadOptions = LoadOptions()) async throws
        -> LoadReport
    {
        try await larder.load(origin.url("/a"), policy: policy, options: options)
    }

    /// Large enough to be stored in a pack.
    private static let large = String(repeating: "z", count: 5000)

    /// Flips one byte, like a faulty disk.
    private func damage() throws {
        let pack = try #require(scratch.names(in: "store/packs").first)
        let file = open(scratch.file("store/packs/\(pack)"), O_WRONLY)
        #expect(pwrite(file, "!", 1, 100) == 1)
        close(file)
    }

    private static func text(_ report: LoadReport) -> String { String(decoding: report.body, as: UTF8.self) }

    /// A load under a policy, and its expected source and body.
    struct Row: Sendable, CustomTestStringConvertible {
        let policy: CachePolicy
        let cacheControl: String
        let source: LoadReport.Source?
        let isNew: Bool
        var isDown = false
        var testDescription: String { "\(policy.rawValue), \(cacheControl), down \(isDown)" }
    }

    /// Loads of a URL whose stored body is "old", with this `Cache-Control`, while its server has "new". The source is nil if
    /// the load fails.
    static let rows: [Row] = [
        Row(policy: .protocol, cacheControl: "max-age=600", source: .stored, isNew: false),
        Row(policy: .protocol, cacheControl: "max-age=0", source: .loaded, isNew: true),
        Row(policy: .preferCache, cacheControl: "max-age=0", source: .stale, isNew: false),
        Row(policy: .offline, cacheControl: "max-age=0", source: .stale, isNew: false),
        Row(policy: .offline, cacheControl: "max-age=600", source: .stored, isNew: false),
        Row(policy: .reload, cacheControl: "max-age=600", source: .loaded, isNew: true),
        Row(policy: .reloadEndToEnd, cacheControl: "max-age=600", source: .loaded, isNew: true),
        Row(policy: .revalidate, cacheControl: "max-age=600", source: .loaded, isNew: true),
        Row(policy: .auto, cacheControl: "max-age=0", source: .loaded, isNew: true),
        Row(policy: .auto, cacheControl: "max-age=600", source: .stored, isNew: false),
        Row(policy: .auto, cacheControl: "max-age=0", source: .stale, isNew: false, isDown: true),
        Row(policy: .refreshBehind, cacheControl: "max-age=0", source: .stale, isNew: false),
        Row(policy: .protocol, cacheControl: "max-age=600", source: .stored, isNew: false, isDown: true),
        Row(policy: .revalidate, cacheControl: "max-age=600", source: nil, isNew: false, isDown: true),
        Row(policy: .reload, cacheControl: "max-age=600", source: nil, isNew: false, isDown: true),
    ]

    @Test(arguments: rows)
    func `each policy uses the store and the server as documented`(row: Row) async throws {
        serve("old", row.cacheControl)
        #expect(try await load(.protocol).source == .loaded)
        serve("new", row.cacheControl)
        if row.isDown { origin.stop() }
        guard let source = row.source else {
            await #expect(throws: LarderError.self) { try await load(row.policy) }
            #expect(Self.text(try await load(.offline)) == "old")
            return
        }
        let report = try await load(row.policy)
        #expect(report.source == source)
        #expect(Self.text(report) == (row.isNew ? "new" : "old"))
        #expect(report.reasonNotStored == nil)
        if row.isNew { #expect(Self.text(try await load(.offline)) == "new") }
        if row.policy == .refreshBehind {
            #expect(origin.waitForRequests(2))
            while Self.text(try await load(.offline)) == "old" { await Task.yield() }
        }
    }

    @Test func `an unchanged response is confirmed and not sent again`() async throws {
        serve("old", "max-age=0", tag: "\"1\"")
        _ = try await load(.protocol)
        let again = try await load(.protocol)
        #expect(again.source == .confirmed)
        #expect(Self.text(again) == "old")
        #expect(origin.requests.last?["If-None-Match"] == "\"1\"")
    }

    @Test func `offline, a missing response is an error that says so`() async throws {
        await #expect(throws: LarderError(.machine, Self.notStoredMessage(origin.url("/a")))) {
            try await load(.offline)
        }
        #expect(origin.requests.isEmpty)
        #expect(!larder.folder.exists)
        serve("x", "no-store")
        #expect(try await load(nil).reasonNotStored != nil)
        await #expect(throws: LarderError.self) { try await load(.offline) }
        await #expect(throws: LarderError.self) { try await larder.load("mailto:x") }
    }

    private static func notStoredMessage(_ url: String) -> String {
        "\(url) is not stored, and the policy offline makes no requests: prefetch it, or choose another policy"
    }

    @Test func `redirects are followed, and stored with their target`() async throws {
        origin.on("/old", .redirect(to: "/a", status: 301))
        serve("x")
        let report = try await larder.load(origin.url("/old"))
        #expect(report.response.url == origin.url("/a") && report.response.status == 200)
        let stored = try await larder.load(origin.url("/old"), policy: .offline)
        #expect(Self.text(stored) == "x" && stored.source == .stored)
        origin.on("/loop", .redirect(to: "/loop"))
        await #expect(throws: LarderError.self) { try await larder.load(origin.url("/loop")) }
    }

    @Test func `a damaged body is marked, and loaded again if the policy allows it`() async throws {
        serve(Self.large)
        _ = try await load(.protocol)
        let body = try #require(try StoreReader(larder.folder).response(for: origin.url("/a"))?.body)
        try damage()
        await #expect(throws: LarderError.self) { try await load(.offline) }
        #expect(try ActivityDatabase(larder.folder).damagedBodies() == [body.sha256])
        #expect(try await load(.preferCache).source == .loaded)
        #expect(try await load(.offline).source == .stored)
    }

    @Test func `rules decide what is stored, and stand-in pages are not stored`() async throws {
        var options = LoadOptions()
        options.rules = ["/a not-allowed"]
        serve("x")
        #expect(try await load(.protocol, options).reasonNotStored != nil)
        options.rules = ["/a refuse text=x"]
        #expect(try await load(.protocol, options).reasonNotStored?.contains("refuse text=x") == true)
        options.rules = ["/a policy=reload"]
        _ = try await load(nil, options)
        #expect(try await load(nil, options).source == .loaded)
        options.rules = ["/a nonsense"]
        await #expect(throws: LarderError.self) { try await load(nil, options) }
        origin.on("/lib.js", .page("<h1>Log in</h1>").adding("Cache-Control", "max-age=600"))
        let portal = try await larder.load(origin.url("/lib.js"))
        #expect(portal.reasonNotStored != nil)
        await #expect(throws: LarderError.self) {
            try await larder.load(origin.url("/lib.js"), policy: .offline)
        }
    }

    // MARK: - Bundles

    /// Loads `/one.js` as a bundle with the digest of the text `name`.
    private func bundle(_ name: String, _ options: LoadOptions = LoadOptions()) async throws -> LoadReport {
        try await larder.bundle(origin.url("/one.js"), md5: Self.md5[name] ?? name, options: options)
    }

    private func serveBundle(_ text: String) {
        origin.on("/one.js", .file(text, type: "text/javascript").adding("Cache-Control", "no-store"))
    }

    @Test func `a bundle stored with its digest is not requested`() async throws {
        serveBundle("a")
        #expect(try await bundle("a").source == .loaded)
        #expect(try await bundle("a").source == .stored)
        #expect(origin.requests.count == 1)
        origin.stop()
        #expect(Self.text(try await bundle("a")) == "a")
        // The other bundle is not stored, and cannot be loaded.
        await #expect(throws: LarderError.self) { try await bundle("b") }
        await #expect(throws: LarderError.self) { try await bundle("none") }
    }

    @Test func `a bundle that does not verify is rejected with both digests, and the stored one stays`()
        async throws
    {
        serveBundle("a")
        _ = try await bundle("a")
        serveBundle("x")
        let error = await #expect(throws: LarderError.self) { try await bundle("b") }
        let text = try #require(error?.description)
        #expect(text.contains(Self.md5["b"] ?? "") && text.contains("9dd4e461268c8034f5c8564e155c67a6"))
        #expect(try await bundle("a").source == .stored)
        serveBundle("b")
        #expect(try await bundle("b").source == .loaded)
        // The newer bundle has replaced the stored response of the URL.
        origin.forgetRequests()
        #expect(try await larder.load(origin.url("/one.js"), policy: .offline).body == Array("b".utf8))
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: ["302", "portal"])
    func `a captive portal's page does not replace a bundle`(kind: String) async throws {
        serveBundle("a")
        _ = try await bundle("a")
        origin.on("/login", .page("<h1>Log in</h1>"))
        origin.on("/one.js", kind == "302" ? .redirect(to: "/login") : .page("<h1>Log in</h1>"))
        await #expect(throws: LarderError.self) { try await bundle("b") }
        #expect(try await larder.load(origin.url("/one.js"), policy: .offline).body == Array("a".utf8))
        #expect(try await bundle("a").source == .stored)
    }

    @Test func `a bundle that is damaged on the disk is fetched again`() async throws {
        serveBundle(Self.large)
        let md5 = DigestStream.digest(.md5, of: Array(Self.large.utf8).span).hex
        _ = try await bundle(md5)
        try damage()
        #expect(try await bundle(md5).source == .loaded)
        #expect(try await bundle(md5).source == .stored)
    }

    @Test func `a manifest's digests apply to loads under every policy`() async throws {
        serveBundle("a")
        origin.on("/list", .file("\(Self.md5["a"] ?? "")  one.js\n", type: "text/plain"))
        #expect(try await larder.preload(origin.url("/list")).outcome == .changed)
        serveBundle("x")
        origin.forgetRequests()
        #expect(try await larder.load(origin.url("/one.js"), policy: .reload).body == Array("a".utf8))
        #expect(origin.requests.isEmpty)
        await #expect(throws: LarderError.self) {
            try await larder.store(WebResponse(url: origin.url("/one.js"), body: Array("x".utf8)))
        }
        // An app may know a newer digest than the manifest: it gets a body that matches its digest, but the stored body
        // stays.
        serveBundle("b")
        let newer = try await bundle("b")
        #expect(Self.text(newer) == "b" && newer.reasonNotStored != nil)
        #expect(try await larder.load(origin.url("/one.js"), policy: .offline).body == Array("a".utf8))
    }

    // MARK: - Responses that an app stores, edits and removes

    @Test func `a response that an app stores is served for its lifetime, until it is removed`() async throws
    {
        var own = WebResponse(
            url: origin.url("/a"), fields: ["Content-Type": "text/plain"], body: Array("own".utf8))
        own.lifetime = .seconds(600)
        try await larder.store(own)
        let stored = try await load(.protocol)
        #expect(
            Self.text(stored) == "own" && stored.source == .stored
                && stored.response["content-type"] == "text/plain")
        own.lifetime = .zero
        own.body = Array("newer".utf8)
        try await larder.store(own)
        #expect(Self.text(try await load(.offline)) == "newer")
        #expect(try await load(.offline).source == .stale)
        #expect(try await larder.remove(url: origin.url("/a")))
        #expect(try await !larder.remove(url: origin.url("/a")))
        await #expect(throws: LarderError.self) { try await load(.offline) }
        await #expect(throws: LarderError.self) {
            try await larder.store(WebResponse(url: origin.url("/a"), status: 500, body: []))
        }
        #expect(origin.requests.isEmpty)
    }

    @Test func `willStore can change a response and its lifetime, or prevent that it is stored`() async throws
    {
        serve("secret", "no-cache")
        var options = LoadOptions()
        options.willStore = { _ in nil }
        #expect(try await load(.protocol, options).reasonNotStored != nil)
        await #expect(throws: LarderError.self) { try await load(.offline) }
        options.willStore = { response in
            var edited = response
            edited.body = Array("***".utf8)
            edited["X-Edited"] = "yes"
            edited.lifetime = .seconds(600)
            return edited
        }
        #expect(Self.text(try await load(.protocol, options)) == "secret")
        let stored = try await load(.protocol)
        #expect(
            Self.text(stored) == "***" && stored.source == .stored && stored.response["X-Edited"] == "yes")

        serveBundle("a")
        let report = try await bundle("a", options)
        #expect(Self.text(report) == "a")
        #expect(report.reasonNotStored?.contains("willStore") == true)
    }

    @Test func `a prefetch calls willStore`() async throws {
        origin.on("/", .page("<title>Home</title><img src=/small.png><img src=/ad.png>"))
        origin.on("/small.png", .file("small", type: "image/png"))
        origin.on("/ad.png", .file("ad", type: "image/png"))
        var options = PrefetchOptions()
        options.willStore = { response in
            if response.url.hasSuffix("/ad.png") { return nil }
            var edited = response
            if response["Content-Type"]?.hasPrefix("text/html") == true {
                edited.body = Array("<title>Mine</title><img src=/small.png>".utf8)
            }
            edited.lifetime = .seconds(3600)
            return edited
        }
        let report = try await larder.prefetch([origin.url("/")], options: options)
        #expect(report.isPublished)
        #expect(report.missing.isEmpty)
        let page = try await larder.load(origin.url("/"), policy: .protocol)
        #expect(Self.text(page).contains("Mine") && page.source == .stored)
        // Only links of the page as it was stored are followed.
        #expect(origin.requests(to: "/ad.png").isEmpty)

        options.willStore = { $0.url.hasSuffix("/small.png") ? nil : $0 }
        options.policy = .reload
        let second = try await larder.prefetch([origin.url("/")], options: options)
        #expect(
            second.missing.contains { $0.url == origin.url("/small.png") && $0.reason.contains("willStore") })
    }

    @Test func `a bundle whose body willStore changed does not verify`() async throws {
        serveBundle("a")
        origin.on("/list", .file("\(Self.md5["a"] ?? "")  one.js\n", type: "text/plain"))
        var options = PreloadOptions()
        options.willStore = { response in
            var edited = response
            edited.body.append(0x20)
            return edited
        }
        let refused = try await larder.preload(origin.url("/list"), options: options)
        #expect(refused.outcome == .refused && refused.snapshot == nil)
        #expect(refused.refused.first?.reason.contains("willStore") == true)
        options.willStore = { response in
            var edited = response
            edited["X-Edited"] = "yes"
            return edited
        }
        #expect(try await larder.preload(origin.url("/list"), options: options).outcome == .changed)
        #expect(try await larder.load(origin.url("/one.js"), policy: .offline).response["X-Edited"] == "yes")
    }
}
