import Store
import TestOrigin
import Testing
import Web

@testable import Crawl
@testable import Fetch

/// Pages with endless streams, and a body that is too large.
@Suite struct EndlessCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws {
        bench = try CrawlBench()
        bench.origin.on("/", .page("<audio src=live.mp3></audio><img src=a.png><a href=two>2</a>"))
        bench.origin.on("/a.png", .file("png", type: "image/png"))
        bench.origin.on("/two", .page("two"))
    }

    @Test func `an endless stream blocks neither the page nor the run`() throws {
        origin.on(
            "/live.mp3", OriginAnswer.endless("mp3", type: "audio/mpeg").dripping(3, every: .milliseconds(5)))
        let report = try bench.crawl { $0.fetch.slowMediaTimeout = .milliseconds(200) }
        #expect(report.pages == 2)
        #expect(report.missing.isEmpty)
        #expect(report.isPublished)
        #expect(report.skips.map { $0.split(separator: "(")[0] } == ["/live.mp3: endless response "])
        #expect(try bench.stored("/live.mp3") == nil)
    }

    @Test func `a body that is too large is missing, and everything else is stored`() throws {
        origin.on(
            "/live.mp3", OriginAnswer.endless(String(repeating: "m", count: 100_000), type: "audio/mpeg"))
        let report = try bench.crawl { $0.fetch.freeSpace = { _ in 3_000_000 } }
        #expect(report.pages == 2)
        #expect(report.isPublished)
        #expect(report.missing.map(\.address.path) == ["/live.mp3"])
        #expect(report.misses.first?.contains("disk full") == true)
    }
}
