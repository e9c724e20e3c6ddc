import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

@Suite struct CrawlTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
    }

    private var folder: StoreFolder { StoreFolder(scratch.path) }

    private func crawl(_ interruption: Interruption = Interruption()) throws -> CrawlReport {
        let start = try #require(WebURL(origin.url("/")))
        let plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        return try Crawl(plan, interruption: interruption).run()
    }

    private func text(_ target: String) throws -> String? {
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: origin.url(target))?.body else { return nil }
        return String(decoding: try #require(try reader.content(of: body)).load(), as: UTF8.self)
    }

    @Test func `pages, their assets and the assets of these are stored byte for byte`()
        throws
    {
        let page = """
            <!doctype html><link rel=stylesheet href=style.css><img src="a b.png?x=1&amp;y=2">\
            <a href="/two#part">two</a><a href=http://elsewhere.test/>elsewhere</a><script src=/app.js></script>
            """
        origin.on("/", .file(Array(page.utf8), type: "text/html"))
        origin.on(
            "/style.css",
            .file(Array("@import 'more.css'; b { background: url(dot.gif) }".utf8), type: "text/css"))
        origin.on("/more.css", .file(Array("i { color: red }".utf8), type: "text/css"))
        origin.on("/dot.gif", .file([71, 73, 70], type: "image/gif"))
        origin.on("/a%20b.png?x=1&y=2", .file([137, 80], type: "image/png"))
        origin.on("/app.js", .file(Array("1".utf8), type: "text/javascript"))
        origin.on("/two", .page("<a href=/>back</a>"))

        let report = try crawl()
        #expect(report.pages == 2)
        #expect(report.assets == 5)
        #expect(report.missing.isEmpty)
        #expect(report.skipped.map(\.url) == ["http://elsewhere.test/"])
        #expect(report.isPublished)
        #expect(try text("/") == page)
        #expect(try text("/a%20b.png?x=1&y=2") != nil)
        #expect(Set(origin.requests.map(\.target)).count == origin.requests.count)
    }

    @Test func `a large video is stored byte for byte, without links of the previous page`()
        throws
    {
        let film = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        let links = (0..<50).map { "<a href=/\($0)>x</a>" }.joined()
        origin.on("/", .page("<a href=/film>film</a><a href=/last>last</a>" + links))
        origin.on("/film", .file(film, type: "video/mp4"))
        origin.on("/last", .page("last"))
        _ = try crawl()
        let reader = try StoreReader(folder)
        let response = try #require(try reader.response(for: origin.url("/film")))
        let body = try #require(response.body)
        #expect(try #require(try reader.content(of: body)).load() == film)
        #expect(body.form == "opaque")
        #expect(try reader.linkIDs(of: response)?.pages.isEmpty == true)
        #expect(scratch.names(in: "bodies").count == 1)
        #expect(scratch.names(in: "incoming").isEmpty)
    }

    @Test func `a missing URL is reported with its chain of referrers`() throws {
        origin.on("/", .page("<a href=/two>two</a>"))
        origin.on("/two", .page("<img src=/gone.png><a href=/dead>dead</a>"))
        let report = try crawl()
        let missing = report.missing.sorted { $0.url < $1.url }
        #expect(missing.map(\.address.path) == ["/dead", "/gone.png"])
        #expect(missing.map(\.isAsset) == [false, true])
        #expect(missing.allSatisfy { $0.failure.isGone })
        #expect(missing[1].referrers.map(\.path) == ["/", "/two"])
        #expect(try StoreReader(folder).summary().tombstones == 2)
    }

    @Test(arguments: [HostLookup.Answer.isUnknown, .noAnswer, .hasAddress])
    func
        `URLs of another site are broken if its host has no address, and failed if the resolver does not answer`(
            answer: HostLookup.Answer
        ) throws
    {
        origin.on("/", .page("<img src=http://gone.test/a.png><a href=/dead>dead</a>"))
        let start = try #require(WebURL(origin.url("/")))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        plan.hostLookup = { $0 == "gone.test" ? answer : .isUnknown }
        let counts = try Crawl(plan, interruption: Interruption()).run().missingURLs
        #expect(counts.broken == (answer == .isUnknown ? 2 : 1))
        #expect(counts.failed == (answer == .isUnknown ? 0 : 1))
        #expect(counts.unknownHosts == (answer == .isUnknown ? ["gone.test"] : []))
    }

    @Test func `a URL with a placeholder of a template is not requested, unless another link leads to it`()
        throws
    {
        origin.on(
            "/",
            .page(
                """
                <meta property=og:url content="{url}"><a href="{{ page.url }}">a</a><a href="/items/{id}">b</a>
                <img src="{picture}.png" srcset="/{size}.png 2x"><iframe src="<%= frame %>"></iframe>
                <a href="/{real}">c</a><a href=/two>d</a>
                """))
        origin.on("/two", .page("<a href=/%7Breal%7D>c</a>"))
        origin.on("/%7Breal%7D", .page("a page with braces"))
        let report = try crawl()
        let targets = origin.requests.map(\.target)
        #expect(
            targets.filter { $0.contains("{") || $0.contains("%7B") || $0.contains("%3C") } == ["/%7Breal%7D"]
        )
        #expect(report.missing.isEmpty)
        #expect(report.pages == 3)
        #expect(report.skipped.count == 6 && report.skipped.allSatisfy { $0.cause == .guess })
    }

    @Test func `modules and chunks of scripts are fetched, and a wrong guess is not missing`() throws {
        origin.on("/", .page("<script type=module src=/js/main.js></script>"))
        origin.on(
            "/js/main.js",
            .file("import './a.js'; import('../b.js'); fetch('/api/maybe.json')", type: "text/javascript"))
        origin.on("/js/a.js", .file("export default 1", type: "text/javascript"))
        origin.on("/b.js", .file("export default 2", type: "text/javascript"))
        let report = try crawl()
        #expect(report.assets == 3)
        #expect(report.missing.isEmpty)
        #expect(report.wrongGuesses == 1)
        #expect(try text("/b.js") == "export default 2")
    }

    @Test func `a redirect is stored as a redirect, and its target is fetched`() throws {
        origin.on("/", .page("<a href=/old>old</a>"))
        origin.on("/old", .redirect(to: "/new?x"))
        origin.on("/new?x", .page("new"))
        let report = try crawl()
        #expect(report.redirects == 1)
        let stored = try #require(try StoreReader(folder).response(for: origin.url("/old")))
        #expect((300..<400).contains(stored.status))
        #expect(stored.fields.contains("/new?x"))
        #expect(try text("/new?x") != nil)
    }

    @Test func `credentials in a link are neither sent nor stored`() throws {
        let link = origin.url("/two").replacing("http://", with: "http://user:secret@")
        origin.on("/", .page("<a href=\(link)>2</a>"))
        origin.on("/two", .page("two"))
        #expect(try crawl().pages == 2)
        #expect(try text("/two") != nil)
        #expect(origin.requests(to: "/two").allSatisfy { $0["Authorization"] == nil })
    }

    @Test func `a temporary failure is retried`() throws {
        origin.on("/", .failure(503), .page("second time lucky"))
        let report = try crawl()
        #expect(report.missing.isEmpty)
        #expect(origin.requests.count == 2)
    }

    @Test func `the run after an interruption requests only the rest`() throws {
        let interruption = Interruption()
        origin.on("/", .page("<a href=/one>1</a><a href=/two>2</a>"))
        origin.on("/one", .page("one"))
        origin.on("/two") { _ in
            interruption.request()
            return .failure(503)
        }
        let first = try crawl(interruption)
        #expect(first.isInterrupted)
        #expect(!first.isPublished)

        origin.forgetRequests()
        origin.on("/two", .page("two"))
        let second = try crawl()
        #expect(second.isContinued)
        #expect(second.snapshot == first.snapshot)
        #expect(second.isPublished)
        #expect(second.pages == 3)
        #expect(!origin.requests.map(\.target).contains("/"))
        #expect(origin.requests.map(\.target).contains("/two"))
        #expect(try text("/two") != nil)
    }

    @Test func `a failed update keeps the stored responses`() throws {
        origin.on("/", .page("<a href=/two>2</a>"))
        origin.on("/two", .page("two"))
        _ = try crawl()
        origin.on("/two", .failure(500))
        let second = try crawl()
        #expect(second.missing.map(\.address.path) == ["/two"])
        #expect(second.isPublished)
        #expect(try text("/two") != nil)
    }

    @Test func `a redirect without a target is reported, and does not replace a stored response`() throws {
        origin.on("/", .page("<img src=/loop><img src=/a><img src=/ok>"))
        origin.on("/loop", .redirect(to: "/loop"))
        origin.on("/a", .redirect(to: "/b"))
        origin.on("/b", .redirect(to: "/a"))
        origin.on("/ok", .file([1], type: "image/png"))
        let first = try crawl()
        #expect(Set(first.missing.map(\.address.path)) == ["/loop", "/b"])
        #expect(try text("/ok") != nil)
        origin.on("/ok", OriginAnswer(status: 302, fields: [], body: []))
        let second = try crawl()
        #expect(second.missing.map(\.address.path).contains("/ok"))
        #expect(try text("/ok") != nil)
    }

    @Test func `a start URL that is gone leaves the stored site unchanged`() throws {
        origin.on("/", .page("good"))
        _ = try crawl()
        origin.on("/", .failure(404))
        let second = try crawl()
        #expect(!second.isPublished)
        #expect(try text("/")?.contains("good") == true)
        origin.on("/", .page("new"))
        let third = try crawl()
        #expect(!third.isContinued)
        #expect(try text("/")?.contains("new") == true)
    }

    @Test func `a URL that was gone in an interrupted run is requested again`() throws {
        let interruption = Interruption()
        origin.on("/", .page("<img src=/dot.png><a href=/last>last</a>"))
        origin.on("/dot.png", .failure(404))
        origin.on("/last") { _ in
            interruption.request()
            return .failure(503)
        }
        #expect(try crawl(interruption).isInterrupted)
        let second = try crawl()
        #expect(second.isContinued)
        #expect(second.missing.map(\.address.path).contains("/dot.png"))
    }

    @Test func `a body that cannot be written ends the crawl, and stored responses stay`() throws {
        origin.on("/", .page("<img src=/large.png>"))
        _ = try crawl()
        let folder = scratch
        origin.on("/large.png") { _ in
            folder.remove("incoming")
            return .file([UInt8](repeating: 1, count: 3_000_000), type: "image/png")
        }
        #expect(throws: CrawlError.self) { try crawl() }
        #expect(try text("/") != nil)
    }

    @Test func `an unreachable site leaves no snapshot`() throws {
        let closed = try TestOrigin()
        let start = try #require(WebURL(closed.url("/")))
        closed.stop()
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        plan.sitePlan.connectionsPerHost = 1
        let report = try Crawl(plan, interruption: Interruption()).run()
        #expect(!report.isPublished)
        #expect(report.missing.count == 1)
        #expect(try StoreReader(folder).sites().isEmpty)
    }

    @Test func `an error of the store ends the crawl with its reason`() throws {
        try scratch.write("in the way", to: "bodies")
        origin.on("/", .page("x"))
        #expect(throws: CrawlError.self) { try crawl() }
    }
}

/// Links in response headers.
@Suite struct HeadLinkTests {
    @Test func `a link in the response headers is followed like one in the page`() throws {
        let bench = try CrawlBench()
        let origin = bench.origin
        origin.on("/", .page("<a href=/old>old</a><a href=/plain>plain</a>"))
        origin.on("/old", .page("moved").adding("Refresh", "0; url=/new"))
        origin.on("/new", .page("new"))
        let links = [
            "</pre.css>; rel=preload; as=style, </m.js>; rel=modulepreload", "</s.css>; rel=\"stylesheet\"",
            "</elsewhere.css>; rel=stylesheet; anchor=\"/other\", </api>; rel=\"https://api.w.org/\"",
            "</next>; rel=next",
        ]
        origin.on("/plain") { _ in
            links.reduce(OriginAnswer.page("plain")) { $0.adding("Link", $1) }
        }
        for (target, type) in [("/pre.css", "css"), ("/s.css", "css"), ("/m.js", "javascript")] {
            origin.on(target, .file("x{}", type: "text/" + type))
        }
        origin.on("/next", .page("next"))
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(report.pages == 5 && report.assets == 3)
        for target in ["/elsewhere.css", "/api"] { #expect(bench.count(target) == 0) }
        // The second run finds the links in the stored header fields.
        origin.forgetRequests()
        #expect(try bench.crawl().pages == 5)
        #expect(try bench.stored("/new")?.status == 200)
    }
}
