import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Servers that set a cookie and require it in the next request.
@Suite struct CookieCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws { bench = try CrawlBench() }

    @Test func `a page that sets a cookie and redirects to itself is requested again`() throws {
        origin.otherwise { request in
            request["Cookie"]?.contains("seen=1") == true
                ? .page(request.path == "/" ? "<a href=/two>2</a>" : "two")
                : OriginAnswer.redirect(to: request.target).adding("Set-Cookie", "seen=1; Path=/")
        }
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(report.pages == 2)
        #expect(try bench.text("/two") == "two")
        #expect(try bench.stored("/")?.flags.contains(.isPrivate) == false)
    }

    @Test func `a redirect loop over another URL that sets a cookie is requested again`() throws {
        origin.on("/") { $0["Cookie"] == nil ? .redirect(to: "/check?back=/") : .page("in") }
        origin.on("/check") { _ in OriginAnswer.redirect(to: "/").adding("Set-Cookie", "ok=1; Path=/") }
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(report.pages == 1)
        #expect(try bench.text("/") == "in")
    }

    @Test func `a loop that sets a new cookie each time fails`() throws {
        origin.on("/two") { _ in OriginAnswer.redirect(to: "/two").adding("Set-Cookie", "n=1; Path=/") }
        origin.on("/three", .redirect(to: "/three"))
        origin.on("/", .page("<a href=/two>2</a><a href=/three>3</a>"))
        let report = try bench.crawl()
        #expect(report.misses == ["/three: too many redirects", "/two: too many redirects"])
        #expect(bench.count("/two") <= 5)
        #expect(bench.count("/three") == 1)
    }

    @Test func `each snapshot has its own cookie jar`() throws {
        origin.on("/") { request in
            OriginAnswer.page(request["Cookie"] ?? "none").adding("Set-Cookie", "n=1; Path=/")
        }
        for _ in 1...2 {
            _ = try bench.crawl()
            #expect(try bench.text("/") == "none")
        }
    }
}
