import Fetch
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Limits that end a crawl early, and their reports.
@Suite struct LimitCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws {
        bench = try CrawlBench()
        for page in 0..<40 {
            let target = page == 0 ? "/" : "/p\(page)"
            origin.on(target, .page("<a href=/p\(page + 1)>next</a><img src=/i\(page).png>"))
            origin.on("/i\(page).png", .file([UInt8](repeating: 1, count: 1000), type: "image/png"))
        }
    }

    @Test func `a page limit ends the pages, each with its assets`() throws {
        let report = try bench.crawl { $0.limits.pages = 5 }
        #expect(report.pages == 5)
        #expect(report.assets == 5)
        #expect(report.limit == .pages(5))
        #expect(report.skips == ["/p5: the limit of 5 pages was reached"])
        #expect(report.isPublished)
        #expect(!report.isInterrupted)
    }

    /// The pages that a crawl with a limit stores of a site with two sections, if the response of `slow` is late.
    private func pages(ofSections slow: String, _ bench: CrawlBench) throws -> CrawlReport {
        let links = (1...5).map { "<a href=SECTION\($0)>\($0)</a>" }.joined()
        origin.on("/", .page("<a href=/a/>a</a><a href=/b/>b</a>"))
        for section in ["/a/", "/b/"] {
            let page = OriginAnswer.page(links.replacing("SECTION", with: section))
            origin.on(section, section == slow ? page.delayed(.milliseconds(200)) : page)
            for number in 1...5 { origin.on("\(section)\(number)", .page("page \(number) of \(section)")) }
        }
        return try bench.crawl { $0.limits.pages = 6 }
    }

    @Test func `a late response does not change the pages within the limit, nor make an update a change`()
        throws
    {
        let report = try pages(ofSections: "/a/", bench)
        #expect(report.pages == 6)
        let fetched = origin.requests.map(\.target).sorted()
        #expect(fetched == ["/", "/a/", "/a/1", "/a/2", "/a/3", "/b/"])
        origin.forgetRequests()
        let again = try pages(ofSections: "/b/", bench)
        #expect(origin.requests.map(\.target).sorted() == fetched)
        #expect(again.isUnchanged)
        #expect(again.snapshot == report.snapshot)
    }

    @Test
    func
        `an update with the same page limit requests the same pages, and one with a higher limit requests further pages`()
        throws
    {
        #expect(try bench.crawl { $0.limits.pages = 5 }.pages == 5)
        origin.forgetRequests()
        let again = try bench.crawl { $0.limits.pages = 5 }
        #expect(again.pages == 5, "\(again.misses), \(again.skips)")
        #expect(!again.isContinued)
        #expect(origin.requests.count == 10)
        #expect(bench.count("/p5") == 0)
        origin.forgetRequests()
        let more = try bench.crawl {
            $0.limits.pages = 8
            $0.previousMaxPages = 5
        }
        #expect(more.isContinued)
        #expect(more.isPublished)
        #expect(more.snapshot == again.snapshot)
        #expect(more.pages == 8)
        #expect(
            origin.requests.map(\.target).sorted() == ["/i5.png", "/i6.png", "/i7.png", "/p5", "/p6", "/p7"])
    }

    @Test(arguments: [(3, true), (5, false)])
    func `links of a document beyond the maximum are not followed, and the report lists the document`(
        limit: (maxLinks: Int, isOverlong: Bool)
    ) throws {
        let links = (1...5).map { "<a href=/q\($0)>\($0)</a><a href=/q\($0)#x>again</a>" }.joined()
        origin.on("/", .page(links + "<img src=/i0.png>"))
        for number in 1...5 { origin.on("/q\(number)", .page("page \(number)")) }
        let report = try bench.crawl { $0.maxLinksPerDocument = limit.maxLinks }
        #expect(report.overlong == (limit.isOverlong ? [origin.url("/")] : []))
        #expect(report.pages == 1 + limit.maxLinks)
        #expect(report.assets == 1)
        // The limit applies to the links of a stored page as well.
        let again = try bench.crawl {
            $0.maxLinksPerDocument = limit.maxLinks
            $0.policy = .preferCache
        }
        #expect(again.pages == 1 + limit.maxLinks)
        #expect(again.overlong.isEmpty != limit.isOverlong || limit.maxLinks == 5)
    }

    @Test(arguments: [
        ("text/plain", "\n", ""),
        (
            "application/xml", "</loc></url><url><loc>",
            "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        ),
    ])
    func `a sitemap with too many URLs is truncated`(type: String, separator: String, start: String) throws {
        origin.on("/", .page("start"))
        for number in 1...5 { origin.on("/q\(number)", .page("page \(number)")) }
        let urls = (1...5).map { origin.url("/q\($0)") }.joined(separator: separator)
        origin.on(
            "/map", .file(start.isEmpty ? urls : "\(start)<url><loc>\(urls)</loc></url></urlset>", type: type)
        )
        let sitemap = try #require(WebURL(origin.url("/map")))
        let report = try bench.crawl {
            $0.sitemaps = [sitemap]
            $0.maxLinksPerDocument = 3
        }
        #expect(report.overlong == [sitemap.href])
        #expect(report.pages == 4)
    }

    @Test func `slow responses are not waited for once the byte limit is reached`() throws {
        let frontier = TestFrontier(
            scope: Scope(start: [try #require(WebURL("http://a.test/"))]),
            options: Frontier.Options(limits: CrawlLimits(byteCount: 1000)))
        frontier.start(try #require(WebURL("http://a.test/")))
        _ = frontier.next(now: .zero)
        frontier.apply(.received(byteCount: 2000), now: .zero)
        #expect(frontier.next(now: .seconds(1)) == nil)
        #expect(!frontier.isOutOfTime)
        #expect(frontier.nextDue == .seconds(6))
        #expect(frontier.next(now: .seconds(6)) == nil)
        #expect(frontier.isOutOfTime)
    }

    @Test func `a site smaller than the page limit does not count as limited`() throws {
        #expect(try bench.crawl { $0.limits.pages = 50 }.limit == nil)
        #expect(try !bench.crawl { $0.previousMaxPages = 50 }.isContinued)
    }

    @Test func `runs with a byte limit continue each other, request nothing twice, and complete the site`()
        throws
    {
        var runs = 0
        var report: CrawlReport
        repeat {
            report = try bench.crawl { $0.limits.byteCount = 20_000 }
            runs += 1
            #expect(report.isPublished)
            #expect(report.isContinued == (runs > 1))
        } while report.limit != nil && runs < 10
        #expect((2...5).contains(runs))
        #expect(report.pages == 40)
        #expect(report.assets == 40)
        #expect(Set(origin.requests.map(\.target)).count == 81)
        #expect(origin.requests.count == 81)
        // The site is complete, so that the next run is an update.
        #expect(try !bench.crawl().isContinued)
    }

    @Test func `a limit reached with the last response leaves nothing out`() throws {
        origin.on("/", .page("all"))
        let report = try bench.crawl { $0.limits.byteCount = 1 }
        #expect(report.limit == nil)
        #expect(report.skipped.isEmpty)
        #expect(try !bench.crawl().isContinued)
    }

    @Test func `assets left out by a limit are reported as left out`() throws {
        origin.on("/", .page("<img src=/a.png><img src=/b.png><a href=/p1>1</a>"))
        origin.on("/a.png", .file([UInt8](repeating: 1, count: 9000), type: "image/png"))
        let report = try bench.crawl {
            $0.sitePlan.connectionsPerHost = 1
            $0.limits.byteCount = 5000
        }
        #expect(report.skipped.filter(\.isAsset).map(\.address.path) == ["/b.png"])
        #expect(report.skipped.filter { !$0.isAsset }.map(\.address.path) == ["/p1"])
    }

    @Test func `a byte limit ends the crawl, and the report lists what it left out`() throws {
        let report = try bench.crawl { $0.limits.byteCount = 3000 }
        #expect(report.limit == .byteCount(3000))
        #expect(report.pages < 40)
        #expect(!report.skipped.isEmpty)
        #expect(report.skipped.allSatisfy { $0.cause == .limit(.byteCount(3000)) })
        #expect(report.isPublished)
    }

    @Test func `a time limit ends the crawl, whatever still runs or waits`() throws {
        origin.on("/p3") { _ in .page("late").delayed(.seconds(1000)) }
        let report = try CrawlBench.retrying(from: .seconds(1)) { time, _ -> CrawlReport? in
            origin.forgetRequests()
            let report = try CrawlBench(emptied: bench).crawl { plan in
                plan.limits.time = time
                (plan.fetch.stallTimeout, plan.fetch.headerTimeout) = (.seconds(1000), .seconds(1000))
            }
            // On a busy machine the time limit may be reached before /p3 is requested.
            guard bench.count("/p3") == 1 else { return nil }
            #expect(report.limit == .time(time) && report.elapsed < .seconds(500))
            #expect(report.skips.contains("/p3: the limit of \(time.components.seconds) s was reached"))
            return report
        }
        #expect(report.isPublished)
        #expect(!report.isInterrupted)
    }

    @Test func `a depth limit applies to the shortest path, however late it is found`() throws {
        // On the path through /p1, /p5 is too deep. The shorter path through /slow is found last, once /p4 has been scanned
        // and its image is requested.
        origin.on("/", .page("<a href=/p1>1</a><a href=/slow>s</a>"))
        origin.on("/slow") { [weak origin] _ in
            _ = origin?.waitForRequests(1, to: "/i4.png")
            return .page("<a href=/p3>3</a>")
        }
        let report = try bench.crawl { $0.sitePlan.scope.depth = 4 }
        #expect(try bench.text("/p5") != nil)
        #expect(try bench.text("/p6") == nil)
        #expect(report.skips == ["/p6: more than 4 links from the start"])
    }

    @Test func `guesses are not requested if the plan excludes them`() throws {
        origin.on("/", .page("<script src=/a.js></script>"))
        origin.on("/a.js", .file("fetch('/api/maybe.json')", type: "text/javascript"))
        let report = try bench.crawl { $0.sitePlan.guesses = false }
        #expect(report.skips == ["/api/maybe.json: possibly not a link"])
        #expect(bench.count("/api/maybe.json") == 0)
    }
}
