import Testing

@testable import Crawl

@Suite struct RunLimitsTests {
    @Test(
        "each limit stops new requests and running ones at its own time",
        arguments: [
            // Limits, pages, bytes, elapsed seconds; whether requests are stopped, out of time at once and five seconds later.
            (CrawlLimits(), 9, 9, 9, false, false, false),
            (CrawlLimits(pages: 9), 9, 9, 9, false, false, false),
            (CrawlLimits(byteCount: 10), 9, 9, 9, false, false, false),
            (CrawlLimits(byteCount: 9), 9, 9, 9, true, false, true),
            (CrawlLimits(time: .seconds(10)), 9, 9, 9, false, false, false),
            (CrawlLimits(time: .seconds(9)), 9, 9, 9, true, true, true),
        ] as [(CrawlLimits, Int, Int, Int, Bool, Bool, Bool)])
    func stops(
        limits: CrawlLimits, pages: Int, bytes: Int, seconds: Int, isStopped: Bool, isOutOfTime: Bool,
        isOutOfTimeLater: Bool
    ) {
        var run = RunLimits(limits)
        (run.usage.pages, run.usage.byteCount) = (pages, bytes)
        run.advance(to: .seconds(seconds))
        #expect(run.isStopped == isStopped)
        #expect(run.isOutOfTime(now: .seconds(seconds)) == isOutOfTime)
        #expect(run.isOutOfTime(now: .seconds(seconds + 5)) == isOutOfTimeLater)
        #expect((run.end != nil) == isStopped)
    }

    @Test func `the limit of pages is reached after as many pages, and stops nothing else`() {
        var run = RunLimits(CrawlLimits(pages: 1))
        #expect(run.reachedByPages() == nil && run.reached == nil)
        run.usage.pages = 1
        #expect(run.reachedByPages() == .pages(1) && run.reached == .pages(1))
        #expect(!run.isStopped)
    }

    @Test func `the first limit that was reached stays`() {
        var run = RunLimits(CrawlLimits(byteCount: 1, time: .seconds(9)))
        run.usage.byteCount = 1
        run.advance(to: .seconds(1))
        run.advance(to: .seconds(9))
        #expect(run.reached == .byteCount(1) && run.end == .seconds(6))
    }
}
