import Check
import Digest
import Glibc
import Reports
import Store
import Synchronization
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// The author of an archive chooses its URLs, headers and bodies. None of them may affect a site that was fetched.
@Suite struct ImportedResponsesTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        origin.on("/", .page("<script src=\(url("cdn.test", "/lib.js"))></script>"))
        origin.on(
            "/lib.js",
            .file("good", type: "text/javascript").adding("Cache-Control", "max-age=0").validated(
                entityTag: "\"1\""))
    }

    private func url(_ host: String, _ path: String) -> String { "http://\(host):\(origin.port)\(path)" }

    private var victim: String { url("victim.test", "/") }
    private var library: String { url("cdn.test", "/lib.js") }

    private var options: PrefetchOptions {
        var options = PrefetchOptions()
        options.network.resolve = ["victim.test", "cdn.test"].map { "\($0):\(origin.port):127.0.0.1" }
        return options
    }

    /// A HAR with these bodies and hostile headers: validators, a long lifetime and a date in the future.
    private func archive(_ entries: [(url: String, text: String)], _ name: String = "a.har") throws -> String
    {
        let list = entries.map { entry in
            let type = entry.url.hasSuffix(".js") ? "text/javascript" : "text/html"
            return """
                {"startedDateTime": "2040-01-01T00:00:00Z", "request": {"method": "GET", "url": "\(entry.url)", "headers": []},
                 "response": {"status": 200, "headers": [{"name": "Content-Type", "value": "\(type)"},
                  {"name": "ETag", "value": "\\"1\\""}, {"name": "Cache-Control", "value": "max-age=999999999"}],
                  "content": {"mimeType": "\(type)", "text": "\(entry.text)"}}}
                """
        }
        return try scratch.write(#"{"log": {"entries": ["# + list.joined(separator: ",") + "]}}", to: name)
    }

    /// An archive with an own page of the attacker and another body for the library of the stored site.
    private func poison() throws -> String {
        try archive([("http://attacker.test/", "a page"), (library, "evil")])
    }

    private func text(_ url: String) async throws -> String {
        let text = Mutex("")
        _ = try await larder.read(url) { piece in
            text.withLock {
                $0 += String(decoding: piece.withUnsafeBufferPointer { Array($0) }, as: UTF8.self)
            }
            return true
        }
        return text.withLock { $0 }
    }

    @Test(arguments: [true, false])
    func `a script imported from an archive is not served to pages of another site`(isImportedFirst: Bool)
        async throws
    {
        if isImportedFirst { _ = try await larder.importArchive(poison()) }
        let report = try await larder.prefetch([victim], options: options)
        #expect(report.isPublished && report.missing.isEmpty, "\(report)")
        if !isImportedFirst {
            let imported = try await larder.importArchive(poison())
            #expect(imported.responses == 2, "\(imported)")
        }
        #expect(try await text(library) == "good")
        #expect(origin.requests(to: "/lib.js").allSatisfy { $0["If-None-Match"] == nil })
        let rows = try await larder.describe(library).responses
        #expect(Set(rows.map(\.provenance)) == [.fetched, .imported])
        #expect(rows.filter(\.isServed).map(\.provenance) == [.fetched])
        #expect(rows.first { $0.provenance == .imported }?.archives == [scratch.file("a.har")])
        #expect(try await larder.checkOffline(victim).isClean)

        _ = try await larder.update([victim], options: options)
        #expect(try await text(library) == "good")
        _ = try await larder.remove("http://attacker.test/")
        #expect(try await text(library) == "good")
        #expect(try await larder.checkOffline(victim).isClean)
    }

    @Test(arguments: CachePolicy.allCases.filter { $0 != .offline })
    func `a crawl fetches a URL that only an archive has, under every policy`(policy: CachePolicy)
        async throws
    {
        _ = try await larder.importArchive(poison())
        var options = options
        options.policy = policy
        _ = try await larder.prefetch([victim], options: options)
        #expect(origin.requests(to: "/lib.js").map { $0["If-None-Match"] } == [nil])
        #expect(try await text(library) == "good")
    }

    /// A load under a policy, and its expected source.
    struct Load: Sendable, CustomTestStringConvertible {
        let policy: CachePolicy
        var isDown = false
        /// Nil if there is no response.
        let source: LoadReport.Source?
        var testDescription: String { "\(policy.rawValue)\(isDown ? ", down" : "")" }
    }

    static let loads: [Load] = [
        Load(policy: .protocol, source: .loaded), Load(policy: .revalidate, source: .loaded),
        Load(policy: .auto, source: .loaded), Load(policy: .reload, source: .loaded),
        Load(policy: .preferCache, source: .stale), Load(policy: .offline, source: .stale),
        Load(policy: .auto, isDown: true, source: .stale), Load(policy: .protocol, isDown: true, source: nil),
    ]

    @Test(arguments: loads)
    func `a load neither validates an imported response nor treats it as fresh`(load: Load) async throws {
        let place = origin.url("/lib.js")
        _ = try await larder.importArchives([archive([(origin.url("/x"), "a page"), (place, "evil")])])
        if load.isDown { origin.stop() }
        let report = try? await larder.load(place, policy: load.policy)
        #expect(report?.source == load.source)
        if let report {
            #expect(
                String(decoding: report.body, as: UTF8.self) == (load.source == .loaded ? "good" : "evil"))
        }
        #expect(origin.requests.allSatisfy { $0["If-None-Match"] == nil && $0["If-Modified-Since"] == nil })
        if load.source == .loaded {
            #expect(try await text(place) == "good")
            #expect(try await larder.describe(place).responses.first { $0.isServed }?.provenance == .loaded)
        }
    }

    @Test func `a proxy requests a URL from the origin if only an archive has it`() async throws {
        let place = origin.url("/lib.js")
        _ = try await larder.importArchives([archive([(origin.url("/x"), "a page"), (place, "evil")])])
        var proxy = ProxyOptions()
        proxy.port = 0
        proxy.connectPorts = [origin.port]
        var serve = ServeOptions()
        serve.policy = .protocol
        let service = try larder.proxy(proxy, serving: serve, threads: 1)
        defer { service.stop() }
        let client = try RawClient(port: Int(try #require(service.proxyPort)))
        for _ in 0..<2 {
            #expect(try client.get(place, host: "127.0.0.1:\(origin.port)").text == "good")
        }
        #expect(origin.requests(to: "/lib.js").first?["If-None-Match"] == nil)
    }

    @Test func `an update of an imported site replaces the imported responses`() async throws {
        let place = origin.url("/")
        origin.on("/", .page("<script src=/lib.js></script>live").validated(entityTag: "\"1\""))
        let site = try await larder.importArchives([
            archive([(place, "archived"), (origin.url("/lib.js"), "evil")])
        ])
        .site
        #expect(site == place)
        #expect(try await text(place) == "archived")
        _ = try await larder.prefetch([place])
        #expect(origin.requests.allSatisfy { $0["If-None-Match"] == nil })
        #expect(try await text(place).contains("live"))
        #expect(try await text(origin.url("/lib.js")) == "good")
    }

    @Test func `an archive is not imported into a stored site that the user did not name`()
        async throws
    {
        let site = try await larder.prefetch([victim], options: options).site
        let path = try archive([(victim, "replaced"), (library, "evil")])
        let error = await #expect(throws: LarderError.self) { try await larder.importArchive(path) }
        #expect(error?.kind == .input)
        #expect(error?.remedy == .siteName(site) && error?.description.contains(site) == true)
        #expect(error?.description.contains("\n") == false)
        #expect(try await !text(victim).contains("replaced"))

        // The user names the site, so the archive's responses for its host are imported.
        let report = try await larder.importArchive(path, into: site)
        #expect(report.responses == 2 && report.isPublished)
        #expect(try await text(victim) == "replaced")
        #expect(try await text(library) == "good")
        #expect(origin.requests(to: "/").count == 1)
    }

    /// Other pages of the host belong to the stored site too.
    @Test(arguments: ["/phish", "/?a=b"])
    func `an archive cannot start a site on the host of a stored site that the user did not name`(
        path: String
    ) async throws {
        let site = try await larder.prefetch([victim], options: options).site
        let file = try archive([
            (url("victim.test", path), "evil"), ("http://phish.test/", "evil"), (library, "evil"),
        ])
        let error = await #expect(throws: LarderError.self) { try await larder.importArchive(file) }
        #expect(error?.kind == .input && error?.remedy == .siteName(site))
        #expect(try await larder.snapshots().sites.map(\.name) == [site])
        // Under a new name, the import is a separate site.
        #expect(try await larder.importArchive(file, into: "other").isPublished)
        #expect(try await text(library) == "good")
    }

    @Test func `an archive can be imported again into its own site, but no other archive can`() async throws {
        let first = try archive([("http://a.test/", "one")])
        #expect(try await larder.importArchive(first).site == "http://a.test/")
        _ = try archive([("http://a.test/", "two")])
        #expect(try await larder.importArchive(first).site == "http://a.test/")
        #expect(try await text("http://a.test/") == "two")
        let other = try archive([("http://a.test/", "three")], "b.har")
        await #expect(throws: LarderError.self) { try await larder.importArchive(other) }
        #expect(try await text("http://a.test/") == "two")
        // Under a new name, the import is a separate site.
        #expect(try await larder.importArchive(other, into: "other").responses == 1)
        let sites = try StoreReader(StoreFolder(scratch.file("store"))).sites().map(\.name)
        #expect(sites == ["http://a.test/", "other"])
    }

    @Test func `an archive cannot replace responses of another port of a stored site's host`() async throws {
        _ = try await larder.prefetch([victim], options: options)
        let path = try archive([
            ("http://elsewhere.test/", "a page"), ("https://victim.test:8443/", "evil"),
            ("http://victim.test:1/x", "evil"), ("https://victim.test/", "evil"),
        ])
        let report = try await larder.importArchive(path)
        #expect(report.responses == 1 && report.leftOutCount == 3, "\(report)")
    }

    @Test func `a URL that only another site's archive has is missing for a site that needs it`() async throws
    {
        origin.on("/lib.js", .failure(500))
        _ = try await larder.importArchive(poison())
        _ = try await larder.prefetch([victim], options: options)
        let report = try await larder.checkOffline(victim)
        #expect(report.items.first { $0.name == library }?.verdict == .missing, "\(report.items)")
        #expect(!report.isClean)
    }

    @Test(arguments: [true, false])
    func `a check of an imported site hashes its bodies, even a quick check`(isQuick: Bool) async throws {
        let page = String(repeating: "z", count: 5000)
        let site = try await larder.importArchives([archive([("http://a.test/", page)])]).site
        var options = OfflineCheckOptions()
        options.isQuick = isQuick
        #expect(try await larder.checkOffline(site, options: options).isClean)
        try damage()
        #expect(try await !larder.checkOffline(site, options: options).isClean)
    }

    private func damage() throws {
        let pack = try #require(scratch.names(in: "store/packs").first)
        let file = open(scratch.file("store/packs/\(pack)"), O_WRONLY)
        #expect(pwrite(file, "!", 1, 1) == 1)
        close(file)
    }

    @Test func `an imported bundle is verified only by hashing its current bytes`() async throws {
        let bundle = String(repeating: "z", count: 5000)
        _ = try await larder.importArchives([
            archive([("http://a.test/", "a page"), ("http://a.test/app.js", bundle)])
        ])
        let manifest = try scratch.write(
            #"{"bundles": [{"url": "http://a.test/app.js", "sha256": "\#(DigestStream.digest(.sha256, of: Array(bundle.utf8).span).hex)"}]}"#,
            to: "m.json")
        var options = CheckOptions()
        options.places = [.stored]
        #expect(try await larder.check(manifest, options: options).isClean)
        try damage()
        options.isQuick = true
        #expect(try await !larder.check(manifest, options: options).isClean)
    }
}
