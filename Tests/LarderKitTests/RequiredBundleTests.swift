import Bundles
import Crawl
import Digest
import Glibc
import Prefetch
import Synchronization
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Store

/// The digests of a manifest apply to all later responses, whatever command fetches them and with whatever policy.
@Suite struct RequiredBundleTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    private static let md5 = [
        "a": "0cc175b9c0f1b6a831c399e269772661", "b": "92eb5ffee6ae2fec3ad71c777531578f",
        "c": "4a8a08f09d37b73795649038408b5f33",
    ]

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        origin.on("/", .page("<script src=/app.js></script>"))
        origin.on("/app.js", .file("a", type: "text/javascript"))
    }

    /// Publishes a manifest in Larder's own format at the origin.
    private func publish(_ body: String, start: Bool = true) {
        let begin = start ? "\"start\": [\"\(origin.url("/"))\"], " : ""
        origin.on(
            "/site.json",
            .file(
                "{\(begin)\"bundles\": [{\"url\": \"/app.js\", \"md5\": \"\(Self.md5[body] ?? "")\"}]}",
                type: "application/json"))
    }

    private var manifest: String { origin.url("/site.json") }

    /// The served body of a URL, or the reason why there is none.
    private func servedText(_ target: String = "/app.js") async throws -> String {
        let text = Gathered()
        let report = try await larder.read(origin.url(target)) { piece in
            text.add(piece)
            return true
        }
        guard report.outcome == .complete else { return "\(report.outcome)" }
        return text.text
    }

    /// Whether the stored bundles match their manifest.
    private func isStoredVerified() async throws -> Bool {
        var options = CheckOptions()
        options.places = [.stored]
        return try await larder.check(manifest, options: options).isClean
    }

    /// Writes a HAR with these bodies, and with Larder's own members of an entry if they are given.
    private func archive(_ entries: [(url: String, text: String, notes: String?)]) throws -> String {
        let list = entries.map { entry in
            """
            {"startedDateTime": "2040-01-01T00:00:00Z", "request": {"method": "GET", "url": "\(entry.url)", "headers": []},
             "response": {"status": 200, "headers": [{"name": "Content-Location", "value": "\(manifest)"}],
              "content": {"mimeType": "text/html", "text": "\(entry.text)"}}\(entry.notes.map { ", \"_larder\": \($0)" } ?? "")}
            """
        }
        return try scratch.write(#"{"log": {"entries": ["# + list.joined(separator: ",") + "]}}", to: "a.har")
    }

    @Test(arguments: [true, false])
    func `an archive provides no manifest, and no body that a manifest forbids`(isOfSite: Bool) async throws {
        publish("a")
        let site = try await larder.preload(manifest).site
        let elsewhere: (String, String, String?) = ("http://elsewhere.test/", "a page", nil)
        let path = try archive(
            (isOfSite ? [] : [elsewhere]) + [
                (origin.url("/page"), "a page", nil), (origin.url("/app.js"), "b", nil),
                (
                    site, #"{\"bundles\": [{\"url\": \"/app.js\", \"md5\": \"\#(Self.md5["b"] ?? "")\"}]}"#,
                    #"{"role": 1, "request": "manifest"}"#
                ),
            ])
        let report = try await larder.importArchive(path, into: isOfSite ? site : nil)
        // If the user does not name the stored site, the archive adds nothing to it.
        #expect(report.responses == 1, "\(report)")
        #expect(
            report.refusedCount == (isOfSite ? 2 : 1) && report.leftOutCount == (isOfSite ? 0 : 2),
            "\(report)")
        #expect(try await servedText() == "a")
        #expect(try await (servedText("/page") == "a page") == isOfSite)
        #expect(try await isStoredVerified())
    }

    @Test func `a manifest of another origin neither overrides an origin's own manifest nor takes its site`()
        async throws
    {
        publish("a")
        let site = try await larder.preload(manifest).site
        let other = try TestOrigin()
        let list =
            #"[{"url": "\#(origin.url("/app.js"))", "md5": "\#(Self.md5["b"] ?? "")", "required": false}]"#
        other.on("/m.json", .file(#"{"bundles": \#(list)}"#, type: "application/json"))
        other.on(
            "/taken.json", .file(#"{"site": "\#(site)", "bundles": \#(list)}"#, type: "application/json"))
        await #expect(throws: LarderError.self) { try await larder.preload(other.url("/taken.json")) }
        origin.on("/app.js", .file("b", type: "text/javascript"))
        for _ in 0..<2 {
            _ = try await larder.preload(other.url("/m.json"))
            #expect(try await servedText() == "a")
        }
        #expect(try await isStoredVerified())
        // URLs that only the other manifest lists are verified against that manifest.
        let required = try CurrentRequirements.all(in: StoreFolder(scratch.file("store")))
        #expect(required.hrefs == [origin.url("/app.js")])
    }

    @Test func `the redirect target of a bundle must match the bundle`() async throws {
        publish("a")
        origin.on("/app.js", .redirect(to: "/v/app.js"))
        origin.on("/v/app.js", .redirect(to: "/v/v/app.js"))
        origin.on("/v/v/app.js", .file("a", type: "text/javascript"))
        _ = try await larder.preload(manifest)
        let folder = StoreFolder(scratch.file("store"))
        let required = try CurrentRequirements.all(in: folder)
        #expect(Set(required.hrefs) == Set(["/app.js", "/v/app.js", "/v/v/app.js"].map { origin.url($0) }))
        // A missing bundle may redirect to the site's start page, which is not a bundle.
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "other", start: ["other"], now: 1)
        let home = try NewBody(.bytes(Array("home".utf8)), form: "html;utf-8", links: [], in: folder)
        try writer.add(
            [
                NewResponse(
                    href: origin.url("/app.js"), referrer: nil, status: 302, role: 1,
                    fields: "Location: /home\r\n", fetched: 1,
                    body: .none),
                NewResponse(
                    href: origin.url("/home"), referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                    body: .new(home)),
            ], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let less = try CurrentRequirements.all(in: folder).hrefs
        #expect(less == [origin.url("/app.js")], "\(less)")
    }

    /// URLs on this machine in a public server's manifest are requested only if the user gives that base.
    @Test func `a manifest cannot name URLs in a nearer network zone than its own`() async throws {
        publish("a")
        let site = try await larder.preload(manifest).site
        let connection = try StoreFolder(scratch.file("store")).connect(.readWrite)
        try connection.execute(
            "UPDATE response SET fields = replace(fields, 'Larder-Reach: 2', 'Larder-Reach: 0') WHERE request = 'manifest'"
        )
        origin.on("/site.json", .failure(503))
        origin.on("/app.js", .file("b", type: "text/javascript"))
        try connection.execute("DELETE FROM response WHERE request = ''")
        let count = origin.requests.count { $0.target == "/app.js" }
        let report = try await larder.preload(manifest)
        #expect(report.site == site && !report.missing.isEmpty || report.outcome == .unreachable, "\(report)")
        #expect(origin.requests.count { $0.target == "/app.js" } == count)
        var options = PreloadOptions()
        options.network.mayReachPrivate = true
        _ = try? await larder.preload(manifest, options: options)
    }

    @Test func `loaded responses replace no bundle and no manifest`() async throws {
        publish("a")
        _ = try await larder.preload(manifest)
        for number in 0..<40 {
            origin.on(
                "/\(number).bin", .file(String(repeating: "\(number % 10)", count: 20_000), type: "image/png")
            )
        }
        origin.on("/all", .page((0..<40).map { "<img src=/\($0).bin>" }.joined()))
        _ = try await larder.prefetch([origin.url("/all")])
        let folder = StoreFolder(scratch.file("store"))
        var options = CollectionOptions(limit: 0, allowsIncomplete: true)
        options.requiredBundles = [origin.url("/app.js")]
        let result = try StoreWriter(folder).collect(options)
        #expect(result.evictedURLs > 40)
        #expect(try await isStoredVerified())
        #expect(try await larder.preload(manifest).outcome == .current)
    }

    @Test func `an archive imported as a new site adds no responses of a stored site`() async throws {
        origin.on("/", .page("home"))
        let site = try await larder.prefetch([origin.url("/")]).site
        let path = try archive([
            ("http://elsewhere.test/", "elsewhere", nil), (origin.url("/"), "false", nil),
            (origin.url("/new"), "false", nil),
            ("https" + origin.url("/").dropFirst("http".utf8.count), "false", nil),
        ])
        let report = try await larder.importArchive(path)
        #expect(
            report.site == "http://elsewhere.test/" && report.responses == 1 && report.leftOutCount == 3,
            "\(report)")
        #expect(try await servedText("/").contains("home"))
        #expect(try await larder.importArchive(path, into: site).leftOutCount == 1)
        #expect(try await servedText("/") == "false")
    }

    @Test func `an update loads the manifest again, and rejects a snapshot that does not verify`()
        async throws
    {
        publish("a")
        let first = try await larder.prefetch(manifest: manifest)
        #expect(first.isPublished)
        publish("c")
        origin.on("/", .page("two"))
        origin.on("/app.js", .file("b", type: "text/javascript"))
        let bad = try await larder.update()
        #expect(bad.count == 1 && bad[0].isRejected && !bad[0].isPublished)
        #expect(bad[0].check?.items.map(\.verdict) == [.mismatch])
        #expect(bad[0].check?.items.first?.detail?.contains("the server sent a different one") == true)
        #expect(try await servedText() == "a")
        #expect(try await larder.status().sites[0].live == first.snapshot)

        origin.on("/app.js", .file("c", type: "text/javascript"))
        let good = try await larder.update()
        #expect(good[0].isPublished)
        #expect(try await servedText() == "c")
        // With the snapshot, its manifest is rolled back too.
        try await larder.rollBack(origin.url("/"), to: first.snapshot)
        #expect(try await servedText() == "a")
        let url = try #require(WebURL(origin.url("/app.js")))
        let required = try CurrentRequirements.all(in: larder.folder)
        #expect(required[url]?.digests.map(\.hex) == ["0cc175b9c0f1b6a831c399e269772661"])
    }

    @Test(arguments: [false, true])
    func `a missing optional bundle is accepted, unless a page needs it`(isNeeded: Bool)
        async throws
    {
        let bundles =
            "{\"url\": \"/app.js\", \"md5\": \"\(Self.md5["a"] ?? "")\"}, "
            + "{\"url\": \"/opt.js\", \"md5\": \"\(Self.md5["b"] ?? "")\", \"required\": false}"
        let text = "{\"start\": [\"\(origin.url("/"))\"], \"bundles\": [\(bundles)]}"
        origin.on("/site.json", .file(text, type: "application/json"))
        if isNeeded { origin.on("/", .page("<script src=/app.js></script><script src=/opt.js></script>")) }
        for report in [try await larder.prefetch(manifest: manifest), try await larder.update()[0]] {
            #expect(report.isPublished)
            #expect(report.isComplete != isNeeded)
            #expect(report.missing.map(\.url) == (isNeeded ? [origin.url("/opt.js")] : []))
            #expect(report.check?.items.map(\.verdict) == [.verified, .missing])
        }
    }

    @Test func `a rollback to a snapshot without stored responses is rejected`() async throws {
        publish("a")
        let first = try await larder.prefetch(manifest: manifest)
        _ = try await larder.prune(limit: ByteSize(0), allowsIncomplete: true)
        let second = try await larder.prefetch(manifest: manifest)
        await #expect(throws: LarderError.self) {
            try await larder.rollBack(origin.url("/"), to: first.snapshot)
        }
        #expect(try await larder.status().sites[0].live == second.snapshot)
    }

    @Test func `if the manifest cannot be loaded, its stored version applies`() async throws {
        publish("a")
        _ = try await larder.prefetch(manifest: manifest)
        origin.on("/site.json", .failure(404))
        origin.on("/app.js", .file("b", type: "text/javascript"))
        origin.on("/", .page("two"))
        let report = try await larder.update()[0]
        #expect(report.isPublished)
        #expect(report.manifestFailure?.contains("404") == true)
        #expect(try await servedText() == "a")
        #expect(try await servedText("/") == "two")
        // Without a stored version, the prefetch is an error.
        let other = Larder(at: scratch.file("other"))
        await #expect(throws: LarderError.self) { try await other.prefetch(manifest: manifest) }
    }

    @Test(arguments: [true, false])
    func
        `if the server is unreachable, the last good set stays live, and the report contains its date`(
            isOfURL: Bool
        ) async throws
    {
        publish("a")
        let text = """
            {"start": ["\(origin.url("/"))"], "bundles": [{"url": "/app.js", "md5": "\(Self.md5["a"] ?? "")"}]}
            """
        let named = isOfURL ? manifest : try scratch.write(text, to: "site.json")
        let first = try await larder.prefetch(manifest: named)
        #expect(first.isPublished && first.lastGood == nil)
        origin.stop()
        let report = try await larder.prefetch(manifest: named)
        #expect(!report.isPublished && !report.isRejected)
        #expect((report.manifestFailure != nil) == isOfURL)
        let snapshots = try await larder.status().sites.first?.snapshots ?? []
        let since = try #require(snapshots.first { $0.name.number == first.snapshot }?.started)
        #expect(report.lastGood?.snapshot == first.snapshot)
        #expect(report.lastGood?.since == since)
        #expect(try await servedText("/") != "")
        #expect(try await larder.update()[0].lastGood?.snapshot == first.snapshot)
    }

    @Test func `two manifests with the same base are two sites`() async throws {
        for folder in ["one", "two"] { #expect(mkdir(scratch.file(folder), 0o700) == 0) }
        let one = try scratch.write("\(Self.md5["a"] ?? "")  one.js\n", to: "one/SUMS")
        let two = try scratch.write("\(Self.md5["b"] ?? "")  two.js\n", to: "two/SUMS")
        origin.on("/one.js", .file("a", type: "text/javascript"))
        origin.on("/two.js", .file("b", type: "text/javascript"))
        var options = PreloadOptions()
        options.base = origin.url("/")
        #expect(try await larder.preload(one, options: options).site == origin.url("/"))
        let second = try await larder.preload(two, options: options)
        #expect(second.outcome == .changed && second.site == origin.url("/SUMS"))
        origin.forgetRequests()
        for manifest in [one, two] {
            #expect(try await larder.preload(manifest, options: options).outcome == .current)
        }
        #expect(origin.requests.isEmpty)
        // Both sites are still verified against their own manifests.
        origin.on("/one.js", .file("x", type: "text/javascript"))
        #expect(try await larder.update().count == 2)
        #expect(try await servedText("/one.js") == "a")
        #expect(try await servedText("/two.js") == "b")
        // A file under another name with the same content is the same manifest.
        let moved = Larder(at: scratch.file("moved"))
        let before = try scratch.write("\(Self.md5["b"] ?? "")  two.js\n", to: "before")
        #expect(try await moved.preload(before, options: options).site == origin.url("/"))
        unlink(before)
        let after = try scratch.write("\(Self.md5["b"] ?? "")  two.js\n", to: "after")
        #expect(try await moved.preload(after, options: options).site == origin.url("/"))
    }

    @Test func `a prefetch by the site's URL is verified against its manifest too`() async throws {
        publish("a")
        _ = try await larder.prefetch(manifest: manifest)
        publish("c")
        origin.on("/app.js", .file("b", type: "text/javascript"))
        #expect(try await larder.prefetch([origin.url("/")]).isRejected)
        #expect(try await servedText() == "a")
    }

    @Test func `responses fetched for another site are verified against the manifest that requires them`()
        async throws
    {
        publish("a")
        _ = try await larder.prefetch(manifest: manifest)
        origin.on("/app.js", .file("b", type: "text/javascript"))
        origin.on("/other", .page("<script src=/app.js></script><script src=/else.js></script>"))
        origin.on("/else.js", .file("e", type: "text/javascript"))
        var options = PrefetchOptions()
        options.policy = .reload
        origin.forgetRequests()
        let report = try await larder.prefetch([origin.url("/other")], options: options)
        #expect(report.isPublished)
        #expect(origin.requests(to: "/app.js").isEmpty)
        #expect(origin.requests(to: "/else.js").count == 1)
        #expect(try await servedText() == "a")
    }

    @Test(arguments: [CachePolicy.revalidate, .protocol, .preferCache, .reload, .reloadEndToEnd])
    func `a bundle stored with its digest is not requested, and one that differs is loaded`(
        policy: CachePolicy
    )
        async throws
    {
        publish("a")
        _ = try await larder.prefetch(manifest: manifest)
        origin.forgetRequests()
        var options = PrefetchOptions()
        options.policy = policy
        #expect(try await larder.prefetch(manifest: manifest, options: options).isPublished)
        #expect(origin.requests(to: "/app.js").isEmpty)

        publish("b")
        origin.on("/app.js", .file("b", type: "text/javascript"))
        #expect(try await larder.prefetch(manifest: manifest, options: options).isPublished)
        #expect(origin.requests(to: "/app.js").count == 1)
        #expect(try await servedText() == "b")
        #expect(try await isStoredVerified())
    }

    @Test func `a manifest without start URLs is prefetched with its bundles alone`()
        async throws
    {
        origin.on(
            "/weex",
            .file(
                """
                {"md5": "\(Self.md5["c"] ?? "")", "version": "7", "pages": [
                    {"page": "one", "h5": "", "js": "bundles/one.js", "md5": "\(Self.md5["a"] ?? "")"},
                    {"page": "two", "h5": "", "js": "/bundles/two.js", "md5": "\(Self.md5["b"] ?? "")"}]}
                """, type: "text/plain"))
        origin.on("/bundles/one.js", .file("a", type: "text/javascript"))
        origin.on("/bundles/two.js", .file("b", type: "text/javascript"))
        let weex = origin.url("/weex")
        let report = try await larder.prefetch(manifest: weex)
        #expect(report.site == weex && report.isPublished && report.isComplete)
        #expect(report.assets == 2)
        #expect(Set(origin.requests.map(\.target)) == ["/weex", "/bundles/one.js", "/bundles/two.js"])

        // The manifest is stored too, so that it can be checked without network requests.
        origin.stop()
        var options = CheckOptions()
        options.places = [.stored]
        #expect(try await larder.check(weex, options: options).isClean)
        #expect(try await larder.update()[0].manifestFailure != nil)
        #expect(try await servedText("/bundles/one.js") == "a")
    }

    @Test func `a manifest file belongs to the site of its base, whatever the current folder is`()
        async throws
    {
        let file = try scratch.write("\(Self.md5["a"] ?? "")  app.js\n", to: "MD5SUMS")
        let report = try await larder.prefetch(manifest: file, base: origin.url("/"))
        #expect(report.site == origin.url("/") && report.isPublished)
        #expect(try await servedText() == "a")
        try scratch.write("\(Self.md5["c"] ?? "")  app.js\n", to: "MD5SUMS")
        #expect(try await larder.update()[0].isRejected)
        #expect(try await servedText() == "a")
    }

    @Test func `the options of a prefetch apply to updates too`() async throws {
        origin.on(
            "/list.xml",
            .file("<urlset><url><loc>\(origin.url("/lonely"))</loc></url></urlset>", type: "text/xml"))
        origin.on("/lonely", .page("one"))
        var options = PrefetchOptions()
        options.plan.sitemaps = [origin.url("/list.xml")]
        options.plan.connectionsPerHost = 3
        _ = try await larder.prefetch([origin.url("/")], options: options)
        #expect(try await servedText("/lonely") == "one")
        origin.on("/lonely", .page("two"))
        _ = try await larder.update()
        #expect(try await servedText("/lonely") == "two")
        var plan = options.plan
        plan.scope = ScopeOptions(extent: .path, include: ["/a/**"], exclude: ["*.pdf"], depth: 3)
        (plan.robots, plan.nofollow, plan.noindex) = (.ignore, .obey, .obey)
        (plan.rules, plan.guesses, plan.maxPages) = (["/api/** max-age=600"], false, 7)
        #expect(SitePlan(text: plan.text) == plan)
        plan.manifest = ManifestPlan(place: "/m.json", base: "https://a.test/", format: "weex")
        plan.manifest?.isAlone = true
        plan.manifest?.hasAssets = false
        #expect(SitePlan(text: plan.text) == plan)
    }

    /// A body in a database row, one in a pack and one in a file: its size and the SHA-256 of that many `x`. Damage to a body in
    /// a row is damage to a page of the database, which must be repaired first.
    @Test(arguments: [
        (10, "fc11d6f28e59d3cc33c0b14ceb644bf0902ebd63d61218dffe9e7dac7c254542"),
        (4000, "91c9568c40c8d8d1f7a1bd029d124994b3c2a8750c4e4b328ee9b1cf81151d85"),
        (1_500_000, "090ed0fd008b4645311999f03ee2867f4b79a0cba06dfa87258a328a315643f7"),
    ])
    func
        `damage on the disk is repaired by the next correct response, and is not reported as a server's fault`(
            size: Int, sha256: String
        ) async throws
    {
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        let text =
            "{\"start\": [\"\(origin.url("/"))\"], \"bundles\": [{\"url\": \"/app.js\", \"sha256\": \"\(sha256)\"}]}"
        origin.on("/app.js", .file(body, type: "text/javascript"))
        let file = try scratch.write(text, to: "m.json")
        _ = try await larder.prefetch(manifest: file)
        let isInRow = size == 10
        try flip(body)
        #expect(try await larder.inspect().isSound == false)
        if isInRow { _ = try await larder.inspect(repair: true) }
        var options = PrefetchOptions()
        options.policy = .reload
        let report = try await larder.prefetch(manifest: file, options: options)
        #expect(report.isPublished)
        #expect(try await larder.inspect().isSound)

        // An inspection has marked the body as damaged, so every policy requests it again.
        try flip(body)
        #expect(try await larder.inspect().isSound == false)
        if isInRow { _ = try await larder.inspect(repair: true) }
        origin.forgetRequests()
        #expect(try await larder.update()[0].isPublished)
        // The repair has restored the body in the row from the journal.
        #expect(origin.requests(to: "/app.js").count == (isInRow ? 0 : 1))
        #expect(try await larder.inspect().isSound)
    }

    /// Changes one byte of a stored body.
    private func flip(_ body: [UInt8]) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            // The body must be in the database, not in its log. The last connection with write access moves the log into
            // the database when it is closed, and a call may close its connection after it has returned.
            _ = try StoreWriter(larder.folder)
            if try flipped(body) { return }
            usleep(10_000)
        }
        Issue.record("the body is nowhere")
    }

    private func flipped(_ body: [UInt8]) throws -> Bool {
        let needle = Array(body.prefix(10))
        let places =
            ["store/larder.db"] + scratch.names(in: "store/packs").map { "store/packs/" + $0 }
            + scratch.names(in: "store/bodies").map { "store/bodies/" + $0 }
        for name in places {
            let file = open(scratch.file(name), O_RDWR)
            defer { close(file) }
            var bytes = [UInt8](repeating: 0, count: Int(lseek(file, 0, SEEK_END)))
            guard pread(file, &bytes, bytes.count, 0) == bytes.count,
                // Takes the last place, because earlier ones may be damaged remains that are no longer in use.
                let place = bytes.indices.reversed().first(where: { bytes[$0...].starts(with: needle) })
            else { continue }
            var changed = bytes[place] ^ 1
            #expect(pwrite(file, &changed, 1, off_t(place)) == 1)
            return true
        }
        return false
    }

    /// Collects the pieces of a body.
    private final class Gathered: Sendable {
        private let bytes = Mutex<[UInt8]>([])

        func add(_ piece: Span<UInt8>) {
            bytes.withLock { bytes in piece.withUnsafeBufferPointer { bytes.append(contentsOf: $0) } }
        }

        var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    }
}
