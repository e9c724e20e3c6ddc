import Testing

@testable import Crawl

@Suite struct CrawlLimitsTests {
    private static let limits = CrawlLimits(pages: 10, byteCount: 1000, time: .seconds(60))

    @Test(
        arguments: [
            (0, 0, 0, nil, nil), (9, 999, 59, nil, nil), (10, 0, 0, nil, .pages(10)),
            (11, 0, 0, nil, .pages(10)),
            (0, 1000, 0, .byteCount(1000), .byteCount(1000)),
            (0, 0, 60, .time(.seconds(60)), .time(.seconds(60))),
            (10, 1000, 60, .time(.seconds(60)), .time(.seconds(60))),
        ] as [(Int, Int, Int, CrawlLimits.Reached?, CrawlLimits.Reached?)])
    func `a page limit stops pages, a byte or time limit stops everything`(
        pages: Int, byteCount: Int, seconds: Int, all: CrawlLimits.Reached?, further: CrawlLimits.Reached?
    ) {
        let usage = CrawlLimits.Usage(pages: pages, byteCount: byteCount, elapsed: .seconds(seconds))
        #expect(Self.limits.reasonToStop(usage) == all)
        #expect(Self.limits.reasonToStopPages(usage) == further)
        #expect(CrawlLimits().reasonToStopPages(usage) == nil)
    }

    @Test func `the reason has the option that raises the limit`() {
        let reasons: [CrawlLimits.Reached] = [.pages(5), .byteCount(6), .time(.seconds(7))]
        #expect(
            reasons.map(\.description) == [
                "the limit of 5 pages was reached", "the limit of 6 bytes was reached",
                "the limit of 7 s was reached",
            ])
    }
}
