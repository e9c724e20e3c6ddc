import Crawl
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit
@testable import Prefetch
@testable import Store

@Suite struct CheckOfflineTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        origin.on(
            "/",
            .page("<a href=/two>2</a><a href=https://elsewhere.test/>e</a><link rel=stylesheet href=/a.css>"))
        origin.on("/two", .page("<img src=/moved.png><a href=/dead>x</a><a href=/private/x>p</a>"))
        origin.on("/a.css", .file("@font-face { src: url(f.woff2) }", type: "text/css"))
        origin.on("/f.woff2", .file([UInt8](repeating: 7, count: 200_000), type: "font/woff2"))
        origin.on("/moved.png", .redirect(to: "/real.png"))
        origin.on("/real.png", .file([1, 2, 3], type: "image/png"))
        origin.on("/dead", .failure(404))
        origin.on("/robots.txt", .file("User-agent: *\nDisallow: /private/", type: "text/plain"))
    }

    private func verdicts(_ report: CheckReport) -> [String: CheckReport.Verdict] {
        Dictionary(report.items.map { (String($0.name.dropFirst(origin.base.count)), $0.verdict) }) {
            first, _ in first
        }
    }

    @Test func `pages of an interrupted prefetch are not proved, and the check says that it did not end`()
        async throws
    {
        let (requested, didRequest) = AsyncStream.makeStream(of: Void.self)
        origin.on("/", .page("<script src=/a.js></script>"))
        origin.on("/a.js", .file("fetch('/data.json')", type: "text/javascript"))
        // The script and its page have been stored when this is requested.
        origin.on("/data.json") { _ in
            didRequest.yield()
            return .page("1").delayed(.seconds(60))
        }
        let task = Task { try await larder.prefetch([origin.url("/")]) }
        for await _ in requested { break }
        task.cancel()
        #expect(try await task.value.isInterrupted)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.rehearsal?.kinds.map(\.example) == [origin.url("/")])
        #expect(report.rehearsal?.level == .read)
        #expect(report.notes.contains { $0.hasPrefix("no prefetch of this site has ended") })
        origin.on("/data.json", .page("1"))
        _ = try await larder.prefetch([origin.url("/")])
        let later = try await larder.checkOffline(origin.url("/"))
        #expect(!later.notes.contains { $0.hasPrefix("no prefetch of this site has ended") })
    }

    @Test func `a complete site is clean, and its own broken links are reported separately`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        origin.stop()
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean)
        #expect(
            verdicts(report) == [
                "/": .verified, "/two": .verified, "/a.css": .verified, "/f.woff2": .verified,
                "/moved.png": .verified,
                "/real.png": .verified, "/dead": .broken, "/private/x": .notFetched,
            ])
        #expect(
            report.items.first { $0.verdict == .notFetched }?.detail
                == "disallowed by robots.txt: Disallow: /private/")
        #expect(report.items.map(\.name) == report.items.map(\.name).sorted())
        let dead = try #require(report.items.first { $0.verdict == .broken })
        #expect(dead.chain == [origin.url("/"), origin.url("/two")])
        #expect(try await larder.checkOffline("127.0.0.1") == report)
        let ending =
            "all files that its pages are known to need and that its servers have are stored and undamaged"
        #expect(report.text(as: .text).hasSuffix("6 verified, 1 broken, 1 linked URL left out; " + ending))
    }

    @Test func `histories that were left out are named`() async throws {
        origin.on("/", .page((1...5).map { "<a href=/w/index.php?title=A&oldid=\($0)>\($0)</a>" }.joined()))
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean && report.count(.notFetched) == 5)
        let text = report.text(as: .text)
        #expect(text.contains("not-fetched 5 URLs") && text.contains("5 linked URLs left out"), "\(text)")
    }

    /// Only a user who installs the app opens that URL; no page links to it.
    @Test(arguments: [(403, "", true), (404, "", true), (403, "<a href=/app>app</a>", false)])
    func `the start URL of a web app manifest is a link, not an asset`(
        status: Int, link: String, isClean: Bool
    ) async throws {
        origin.on("/", .page("<link rel=manifest href=/m.json>\(link)"))
        origin.on("/m.json", .file(#"{"name":"A","start_url":"/app"}"#, type: "application/json"))
        origin.on("/app", .failure(status))
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean == isClean)
        let told = report.items.first { $0.name == origin.url("/app") }
        #expect(told?.verdict == (status == 404 ? .broken : isClean ? .notFetched : .missing))
        #expect(told?.chain.last == origin.url(isClean ? "/m.json" : "/"))
    }

    /// The walk finds the page through the manifest first, and then through a link.
    @Test(arguments: [("", CheckReport.Verdict.notFetched), ("<a href=/app>app</a>", .missing)])
    func `assets of a web app's start page are missing only if a page links to it`(
        link: String, verdict: CheckReport.Verdict
    ) async throws {
        origin.on("/", .page("<link rel=manifest href=/m.json><a href=/two>2</a>"))
        origin.on("/two", .page("<a href=/three>3</a>"))
        origin.on("/three", .page("three\(link)"))
        origin.on("/m.json", .file(#"{"name":"A","start_url":"/app"}"#, type: "application/json"))
        origin.on("/app", .page("<link rel=stylesheet href=/b.css>"))
        origin.on("/b.css", .file("p { background: url(no.png) }", type: "text/css"))
        origin.on("/no.png", .failure(500))
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean == (verdict == .notFetched))
        #expect(verdicts(report)["/no.png"] == verdict)
        #expect(verdicts(report)["/app"] == .verified)
    }

    /// The report of the prefetch agrees: skipped URLs are not missing.
    @Test(
        arguments: [
            ("/logout", "127.0.0.1 Cookie: session=1", nil, "would end the session"),
            ("/two", nil, "/two not-allowed", "not stored because of the rule"),
        ] as [(String, String?, String?, String)])
    func `URLs that the settings excluded are not fetched, not missing`(
        target: String, header: String?, rule: String?, reason: String
    ) async throws {
        origin.on("/", .page("<a href=\(target)>there</a>"))
        origin.on(target, .page("there"))
        var options = PrefetchOptions()
        options.network.headers = header.map { [$0] } ?? []
        options.plan.rules = rule.map { [$0] } ?? []
        _ = try await larder.prefetch([origin.url("/")], options: options)
        #expect(origin.requests(to: target).isEmpty)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean)
        #expect(verdicts(report) == ["/": .verified, target: .notFetched])
        #expect(report.items.contains { $0.detail?.contains(reason) == true })
    }

    /// The page in the sitemap is one link away from the start, as for the crawl.
    @Test(arguments: [1, 2])
    func `pages beyond the link depth of a page that only a sitemap names are not missing`(
        depth: Int
    ) async throws {
        origin.on("/robots.txt", .file("Sitemap: \(origin.url("/map.txt"))", type: "text/plain"))
        origin.on("/map.txt", .file(origin.url("/listed"), type: "text/plain"))
        origin.on("/", .page("start"))
        origin.on("/listed", .page("<a href=/deep>deep</a>"))
        origin.on("/deep", .failure(500))
        var options = PrefetchOptions()
        options.plan.scope.depth = depth
        _ = try await larder.prefetch([origin.url("/")], options: options)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(verdicts(report)["/listed"] == .verified)
        #expect(verdicts(report)["/deep"] == (depth == 1 ? nil : .missing))
        let site = try #require(try await larder.status().sites.first)
        #expect(site.figures?.missing?.failed == depth - 1)
    }

    @Test func `pages beyond the link depth of a page that a reader had requested are not missing`()
        async throws
    {
        origin.on("/", .page("start"))
        origin.on("/asked", .page("<a href=/deep>deep</a>"))
        var options = PrefetchOptions()
        options.plan.scope.depth = 1
        _ = try await larder.prefetch([origin.url("/")], options: options)
        let miss = Miss(href: origin.url("/asked"), isPage: true, from: .fromThisMachine, first: 1, last: 1)
        try ActivityDatabase(StoreFolder(larder.path)).recordMisses([miss])
        _ = try await larder.prefetch([origin.url("/")], options: options)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(verdicts(report) == ["/": .verified, "/asked": .verified])
        #expect(origin.requests(to: "/deep").isEmpty)
    }

    @Test func `a missing URL is reported with the pages that link to it`() async throws {
        origin.on("/f.woff2", .failure(500))
        origin.on("/real.png", .failure(403))
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(!report.isClean)
        let font = try #require(report.items.first { $0.name == origin.url("/f.woff2") })
        #expect(font.verdict == .missing)
        #expect(font.chain == [origin.url("/"), origin.url("/a.css")])
        let image = try #require(report.items.first { $0.name == origin.url("/real.png") })
        #expect(image.verdict == .missing)
        #expect(image.chain == [origin.url("/"), origin.url("/two"), origin.url("/moved.png")])
    }

    @Test func `a changed byte is found, and a quick check still finds a truncated body`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        let name = try #require(folder.names(in: "larder/packs").first)
        var bytes = [UInt8](repeating: 7, count: 200_000)
        bytes[100_000] = 8
        try folder.write(bytes, to: "larder/packs/" + name)
        var quick = OfflineCheckOptions()
        quick.isQuick = true
        #expect(verdicts(try await larder.checkOffline(origin.url("/")))["/f.woff2"] == .mismatch)
        #expect(try await larder.checkOffline(origin.url("/"), options: quick).isClean)
        try folder.write(Array(bytes.dropLast()), to: "larder/packs/" + name)
        #expect(
            verdicts(try await larder.checkOffline(origin.url("/"), options: quick))["/f.woff2"] == .missing)
        #expect(verdicts(try await larder.checkOffline(origin.url("/")))["/f.woff2"] == .missing)
    }

    @Test func `pages beyond a limit are reported apart from failed ones, and do not fail the check`()
        async throws
    {
        origin.on("/", .page("<a href=/bad>b</a><a href=/two>2</a><a href=/three>3</a><img src=/no.png>"))
        origin.on("/bad", .failure(403))
        origin.on("/two", .page("two"))
        origin.on("/three", .page("three"))
        origin.on("/no.png", .file([1], type: "image/png"))
        var options = PrefetchOptions()
        options.plan.maxPages = 2
        _ = try await larder.prefetch([origin.url("/")], options: options)
        let limited = try await larder.checkOffline(origin.url("/"))
        #expect(
            verdicts(limited) == [
                "/": .verified, "/no.png": .verified, "/bad": .missing, "/two": .notFetched,
                "/three": .notFetched,
            ])
        let page = try #require(limited.items.first { $0.verdict == .notFetched })
        #expect(page.detail == "the limit of 2 pages was reached")
        #expect(page.chain == [origin.url("/")])
        origin.on("/bad", .page("good"))
        _ = try await larder.prefetch([origin.url("/")], options: options)
        var strict = OfflineCheckOptions()
        strict.failsOn = [.notFetched]
        #expect(try await larder.checkOffline(origin.url("/")).isClean)
        #expect(try await !larder.checkOffline(origin.url("/"), options: strict).isClean)
        _ = try await larder.prefetch([origin.url("/")])
        #expect(try await larder.checkOffline(origin.url("/"), options: strict).isClean)
    }

    @Test func `pages of a suspected trap are not fetched, not missing`() throws {
        let page = try #require(WebURL("https://a.test/cal/2024/01/"))
        var out = LeftOut(try JSONValue.parse("{}".utf8.span))
        #expect(out.reason(for: page) == nil)
        out.traps[TrapReason.pattern(of: page)] = "an endless calendar"
        let other = try #require(WebURL("https://a.test/cal/2025/12/"))
        #expect(out.reason(for: other) == "an endless calendar")
        var settings = SitePlan()
        settings.leftOut = out
        #expect(SitePlan(text: settings.text) == settings)
    }

    @Test
    func `pages behind a robots.txt that cannot be read count as not fetched, in the report and the check`()
        async throws
    {
        // The same host with another port.
        let other = try TestOrigin()
        let far = other.url("/far")
        other.stop()
        origin.on("/", .page("<a href=\(far)>f</a>"))
        let prefetched = try await larder.prefetch([origin.url("/")])
        #expect(prefetched.missingURLs.failed == 0 && prefetched.missingURLs.notFetched == 1)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean && report.missingURLs == prefetched.missingURLs)
        let page = try #require(report.items.first { $0.verdict == .notFetched })
        #expect(page.name == far)
        #expect(page.detail?.hasPrefix("robots.txt could not be read: cannot connect") == true)
        #expect(try await larder.status().sites[0].figures?.missing == prefetched.missingURLs)
    }

    /// The first run stops at its limit. The second one continues it, but no longer requests `/old`, which links to `/older`.
    @Test func `stored pages that the last run did not reach require no further pages`() async throws {
        origin.on("/", .page("<a href=/old>o</a><a href=/two>2</a>"))
        origin.on("/old", .page("<a href=/older>o</a>"))
        origin.on("/older", .page("<a href=/oldest>o</a><img src=/real.png>"))
        origin.on("/two", .page("two"))
        var options = PrefetchOptions()
        options.plan.maxPages = 4
        _ = try await larder.prefetch([origin.url("/")], options: options)
        options.plan.scope.exclude = ["/old"]
        options.plan.maxPages = 100
        let prefetched = try await larder.prefetch([origin.url("/")], options: options)
        #expect(prefetched.missingURLs.failed == 0)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean && report.missingURLs?.failed == 0, "\(report.text(as: .text))")
    }

    @Test func `the counts and failures of a snapshot keep to it when it gets another number`() throws {
        var plan = SitePlan()
        plan.recordMissingURLs(MissingURLCounts(broken: 1, failed: 1, notFetched: 1, snapshot: 1))
        plan.recordMissingURLs(MissingURLCounts(broken: 2, failed: 2, notFetched: 2, snapshot: 2))
        plan.recordConfirmation(of: 2, at: 7)
        plan.failures = StoredFailures(snapshot: 2, [(url: "https://a.test/", reason: "timed out")])
        plan.renumberSnapshot(2, as: 1)
        #expect(plan.missing == [MissingURLCounts(broken: 2, failed: 2, notFetched: 2, snapshot: 1)])
        #expect(plan.confirmed == [SnapshotConfirmation(snapshot: 1, date: 7)])
        #expect(
            plan.failures == StoredFailures(snapshot: 1, [(url: "https://a.test/", reason: "timed out")]))
    }

    @Test func `URLs out of scope are not missing`() async throws {
        var options = PrefetchOptions()
        options.plan.scope.exclude = ["/two"]
        _ = try await larder.prefetch([origin.url("/")], options: options)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean)
        #expect(verdicts(report) == ["/": .verified, "/a.css": .verified, "/f.woff2": .verified])
    }

    @Test func `pages beyond the depth are not missing, unless a shorter path reaches them`() async throws {
        origin.on("/", .page("<a href=/one>1</a><a href=/two>2</a>"))
        origin.on("/one", .page("<iframe src=/frame></iframe><a href=/deep>d</a>"))
        origin.on("/frame", .page("<a href=/deep>d</a>"))
        var options = PrefetchOptions()
        options.plan.scope.depth = 1
        _ = try await larder.prefetch([origin.url("/")], options: options)
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean, "\(report.text(as: .text))")
        #expect(verdicts(report)["/frame"] == .verified)
        #expect(verdicts(report)["/deep"] == nil)
    }

    @Test func `a start URL that redirects to another host moves the site there too`() async throws {
        let other = try TestOrigin(.ipv6)
        other.on("/", .page("<a href=/more>m</a>"))
        other.on("/more", .page("more"))
        origin.on("/", .redirect(to: other.url("/")))
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkOffline(origin.url("/"))
        #expect(report.isClean)
        #expect(
            report.items.map(\.name).sorted()
                == [origin.url("/"), other.url("/"), other.url("/more")].sorted())
    }

    @Test func `a prefetch, a check, the status and the portal give the same counts of missing URLs`()
        async throws
    {
        origin.on("/f.woff2", .failure(500))
        origin.on("/real.png", .failure(403))
        var prefetched = try await larder.prefetch([origin.url("/")]).missingURLs
        let service = try larder.serve(port: 0, threads: 1)
        defer { service.stop() }
        let client = try RawClient(port: Int(service.port))
        func get(_ target: String) throws -> String {
            String(decoding: try client.get(target, host: "localhost:\(service.port)").body, as: UTF8.self)
        }
        func expectAgreement(failed missing: [String]) async throws {
            #expect([prefetched.broken, prefetched.failed, prefetched.notFetched] == [1, missing.count, 2])
            let report = try await larder.checkOffline(origin.url("/"))
            #expect(report.items.filter { $0.verdict == .missing }.map(\.name) == missing)
            let facts = try JSONValue.parse(try get("/?format=json").utf8.span)["sites"]?.array?.first
            #expect(facts?["complete"]?.bool == missing.isEmpty)
            let status = try await larder.status().sites[0].figures?.missing
            let page = try JSONValue.parse(try get("/-/sites/1/missing?format=json").utf8.span)
            let json = try JSONValue.parse(report.json.utf8.span)
            #expect(status == prefetched && report.missingURLs == prefetched)
            for object in [facts, page, json] {
                #expect(object?["broken"]?.int == prefetched.broken)
                #expect(object?["failed"]?.int == prefetched.failed)
                #expect(object?["notFetched"]?.int == prefetched.notFetched)
            }
            let list = page["failedURLs"]?.array
            #expect(list?.compactMap { $0["url"]?.string } == missing)
            for page in ["/", "/-/sites/1"] {
                let text = try get(page)
                #expect(text.contains("Complete") == missing.isEmpty)
                #expect(text.contains("\(missing.count) failed") == !missing.isEmpty)
            }
            let missingPage = try get("/-/sites/1/missing")
            #expect(
                missingPage.contains(
                    "Everything that pages need is stored, except 1 URL broken on the live site")
                    == missing.isEmpty)
            // One URL is broken, so that the sentence without an exception would be untrue.
            #expect(!missingPage.contains("Everything that pages need is stored."))
            #expect(missingPage.contains("Checked \(report.items.count) URLs"), "\(missingPage)")
        }
        try await expectAgreement(failed: [origin.url("/f.woff2"), origin.url("/real.png")])
        // The portal translates the reasons of the check.
        let chinese = try client.get(
            "/-/sites/1/missing", host: "localhost:\(service.port)", fields: [("Accept-Language", "zh")])
        let words = String(decoding: chinese.body, as: UTF8.self)
        #expect(words.contains("服务器返回 500") && !words.contains("the server"), "\(words)")
        origin.on("/f.woff2", .file([UInt8](repeating: 7, count: 200), type: "font/woff2"))
        origin.on("/real.png", .file([1, 2, 3], type: "image/png"))
        prefetched = try await larder.prefetch([origin.url("/")]).missingURLs
        try await expectAgreement(failed: [])
    }

    @Test func `an unknown site is an error that lists the stored ones`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        let error = await #expect(throws: LarderError.self) {
            try await larder.checkOffline("https://elsewhere.test/")
        }
        #expect(error?.kind == .input)
        #expect(error?.description.contains(origin.url("/")) == true)
    }
}
