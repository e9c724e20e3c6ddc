import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Recorded misses, which the next crawl requests.
@Suite struct MissCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws {
        bench = try CrawlBench()
        bench.origin.on("/", .page("start"))
    }

    private func miss(_ href: String) -> Miss {
        Miss(href: href, isPage: true, from: .fromThisMachine, first: 0, last: 0)
    }

    private var https: String { "https" + origin.base.dropFirst("http".count) }

    @Test func `a miss on a site with http only is requested over http`() throws {
        origin.on("/missed", .page("here"))
        let report = try bench.crawl { plan in
            plan.recordedMisses = [
                try #require(CrawlPlan.RecordedMiss(miss("\(https)/missed"), start: plan.start))
            ]
        }
        #expect(report.missing.isEmpty)
        #expect(try bench.text("/missed") == "here")
        let secure = try #require(WebURL("https://a.test/"))
        let missed = try #require(CrawlPlan.RecordedMiss(miss("https://a.test/x"), start: [secure]))
        #expect(missed.url.href == "https://a.test/x")
    }

    @Test func `a miss that no server answers is reported, and stays recorded`() throws {
        let missed = "\(https)/missed"
        let report = try bench.crawl {
            $0.recordedMisses = [try #require(CrawlPlan.RecordedMiss(miss(missed)))]
        }
        #expect(report.isPublished)
        #expect(report.missing.map(\.url) == [missed])
        #expect(report.unansweredMisses == [missed])
    }

    @Test func `a miss that the server answers with 404 is not missing`() throws {
        origin.on("/missed", .failure(404))
        let report = try bench.crawl {
            $0.recordedMisses = [try #require(CrawlPlan.RecordedMiss(miss(origin.url("/missed"))))]
        }
        #expect(report.missing.isEmpty)
        #expect(report.unansweredMisses.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a missed URL does not extend the link depth`(isPage: Bool) throws {
        origin.on("/", .page("<a href=/one>1</a>"))
        origin.on("/one", .page("<a href=/two>2</a>"))
        origin.on("/missed", .page("<a href=/three>3</a><img src=/dot.png>"))
        origin.on("/dot.png", .file([1], type: "image/png"))
        for path in ["/two", "/three"] { origin.on(path, .page("too deep")) }
        let report = try bench.crawl { plan in
            plan.sitePlan.scope.depth = 1
            let missed = Miss(
                href: origin.url("/missed"), isPage: isPage, from: .fromThisMachine, first: 0, last: 0)
            plan.recordedMisses = [try #require(CrawlPlan.RecordedMiss(missed))]
        }
        #expect(try bench.stored("/missed") != nil && bench.stored("/dot.png") != nil)
        #expect(origin.requests(to: "/two").isEmpty && origin.requests(to: "/three").isEmpty)
        #expect(report.missingURLs.notFetched == 2 && report.missingURLs.failed == 0)
    }

    @Test func `a missed page that pages link to has the depth of the links`() throws {
        origin.on("/", .page("<a href=/missed>1</a>"))
        origin.on("/missed", .page("<a href=/two>2</a>"))
        origin.on("/two", .page("near enough"))
        _ = try bench.crawl { plan in
            plan.sitePlan.scope.depth = 2
            plan.recordedMisses = [try #require(CrawlPlan.RecordedMiss(miss(origin.url("/missed"))))]
        }
        #expect(try bench.text("/two") == "near enough")
    }
}
