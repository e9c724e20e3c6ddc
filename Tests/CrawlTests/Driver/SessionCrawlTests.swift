import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// URLs with session or campaign parameters.
@Suite struct SessionCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws { bench = try CrawlBench() }

    @Test func `a page is fetched once for all session parameters, and found under each URL`()
        throws
    {
        origin.on(
            "/",
            .page(
                "<a href='/a;jsessionid=1F00'>1</a><a href='/a?utm_source=x&amp;utm_medium=y'>2</a><a href=/a>3</a>"
            ))
        origin.on("/a", .page("<a href='/;jsessionid=2F00'>home</a>"))
        let report = try bench.crawl()
        #expect(report.pages == 2)
        #expect(origin.requests.map(\.target) == ["/", "/a"])
        let reader = try StoreReader(bench.folder)
        for target in ["/a;jsessionid=1F00", "/a?utm_source=x&utm_medium=y", "/a?v=3&utm_source=mail"] {
            let found = try reader.lookUp(try #require(WebURL(origin.url(target))))
            #expect(found?.response.href == origin.url("/a"))
            #expect(found?.change == .busters)
        }
    }

    @Test func `a redirect target keeps its session parameter`() throws {
        origin.on("/", .page("<a href='/a;jsessionid=1F00'>a</a>"))
        origin.on("/a", .redirect(to: "/a;jsessionid=2F00"))
        origin.on("/a;jsessionid=2F00", .page("a"))
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(try bench.text("/a;jsessionid=2F00") == "a")
    }

    @Test func `a page that needs the parameter is requested with it`() throws {
        let key = "/show?token=4fa8b23c4fa8b23c"
        origin.on("/", .page("<a href='\(key)'>a</a>"))
        origin.on("/show") { $0.query == nil ? .failure(403) : .page("shown") }
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(report.wrongGuesses == 1)
        #expect(try bench.text(key) == "shown")
    }

    @Test func `a start URL is requested unchanged`() throws {
        origin.on("/?utm_source=x", .page("start"))
        _ = try bench.crawl { $0.start = [try #require(WebURL(origin.url("/?utm_source=x")))] }
        #expect(origin.requests.map(\.target) == ["/?utm_source=x"])
    }
}
