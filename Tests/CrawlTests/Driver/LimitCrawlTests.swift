import Fetch
import TestOrigin
import Testing
import Web

@testable import Crawl

/// What ends a crawl early, and how it is told.
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

    @Test func `so many pages, each with what it needs`() throws {
        let report = try bench.crawl { $0.limits.pages = 5 }
        #expect(report.pages == 5)
        #expect(report.requisites == 5)
        #expect(report.limit == .pages(5))
        #expect(report.skips == ["/p5: --max-pages 5 was reached"])
        #expect(report.isPublished)
        #expect(!report.isInterrupted)
    }

    @Test func `so many bytes, and what was left out is told`() throws {
        let report = try bench.crawl { $0.limits.byteCount = 3000 }
        #expect(report.limit == .byteCount(3000))
        #expect(report.pages < 40)
        #expect(!report.skipped.isEmpty)
        #expect(report.skipped.allSatisfy { $0.reason == .limit(.byteCount(3000)) })
        #expect(report.isPublished)
    }

    @Test func `so much time, whatever still runs or waits`() throws {
        origin.on("/p3") { _ in .page("late").delayed(.seconds(20)) }
        let clock = ContinuousClock()
        let start = clock.now
        let report = try bench.crawl { $0.limits.time = .seconds(1) }
        #expect(clock.now - start < .seconds(10))
        #expect(report.limit == .time(.seconds(1)))
        #expect(report.skips.contains("/p3: --max-time 1s was reached"))
        #expect(report.isPublished)
        #expect(!report.isInterrupted)
    }

    @Test func `so many links away, by the shortest way however late it is found`() throws {
        // By the first way the pages are too deep; the second way is found last.
        origin.on("/", .page("<a href=/p1>1</a><a href=/slow>s</a>"))
        origin.on("/slow") { _ in .page("<a href=/p3>3</a>").delayed(.milliseconds(500)) }
        let report = try bench.crawl { $0.scope.depth = 4 }
        #expect(try bench.text("/p5") != nil)
        #expect(try bench.text("/p6") == nil)
        #expect(report.skips == ["/p6: deeper than --depth 4"])
    }

    @Test func `guesses are left out where they are not wanted`() throws {
        origin.on("/", .page("<script src=/a.js></script>"))
        origin.on("/a.js", .file("fetch('/api/maybe.json')", type: "text/javascript"))
        let report = try bench.crawl { $0.followsGuesses = false }
        #expect(report.skips == ["/api/maybe.json: no sure link"])
        #expect(bench.count("/api/maybe.json") == 0)
    }
}
