import Testing

@testable import Crawl

@Suite struct ProgressMeterTests {
    /// The remaining time after measurements of these numbers of queued pages, two per second.
    private func remaining(_ left: [Int]) -> Duration? {
        var meter = ProgressMeter(site: "https://a.test/")
        var progress: PrefetchProgress?
        for (place, count) in left.enumerated() {
            var figures = CrawlProgress()
            figures.elapsed = .milliseconds(500 * place)
            figures.queuedPages = count
            progress = meter.measure(figures)
        }
        return progress?.remaining
    }

    private static let shrinking = Array(stride(from: 100, through: 0, by: -10))
    private static let growing = Array(stride(from: 10, through: 100, by: 10))

    @Test(
        arguments: [
            // Too few measurements.
            (Array(shrinking.prefix(5)), nil),
            // 40 pages are left, and 20 are fetched per second.
            (Array(shrinking.prefix(7)), .seconds(2)),
            // The second half was ten times as fast as the first, a fifth as fast, and three fifths as fast.
            ([1000, 999, 998, 997, 996, 986, 976, 966, 956], nil),
            ([1000, 900, 800, 700, 600, 580, 560, 540, 520], nil),
            ([1000, 900, 800, 700, 600, 540, 480, 420, 360], .milliseconds(2250)),
            // More pages are found than are fetched.
            (Array(stride(from: 100, through: 200, by: 10)), nil),
            (Array(repeating: 50, count: 20), nil),
            // The queue grew at first, and shrinks now.
            (growing + shrinking[1...7], .milliseconds(1500)),
            // No page is left, or the rest would take years.
            (shrinking, nil),
            ([1_000_000_000] + Array(repeating: 999_999_999, count: 10), nil),
        ] as [([Int], Duration?)])
    func `the remaining time is reported only while the open work decreases`(left: [Int], expected: Duration?)
    {
        #expect(remaining(left) == expected)
    }

    @Test func `rates are those of the last seconds`() {
        var meter = ProgressMeter(site: "https://a.test/")
        var figures = CrawlProgress()
        figures.hosts = [CrawlProgress.Host(name: "a.test", running: 1, queued: 1, limit: 4)]
        #expect(meter.measure(figures).bytesPerSecond == 0)
        for second in 1...10 {
            figures.elapsed = .seconds(second)
            figures.byteCount += second > 5 ? 1000 : 1_000_000
            figures.hosts[0].requests += second > 5 ? 2 : 100
            let progress = meter.measure(figures)
            if second == 5 { #expect(progress.bytesPerSecond == 1_000_000) }
            if second == 10 {
                #expect(progress.bytesPerSecond == 1000)
                #expect(progress.hosts[0].requestsPerSecond == 2)
            }
        }
    }

    @Test func `pages that wait for robots.txt count as queued`() {
        var meter = ProgressMeter(site: "https://a.test/")
        var figures = CrawlProgress()
        figures.done = 10
        figures.doneAssets = 6
        figures.queuedPages = 3
        figures.awaitingRobots = 4
        let progress = meter.measure(figures)
        #expect(progress.pages == PrefetchProgress.Count(done: 4, queued: 7))
        #expect(progress.assets == PrefetchProgress.Count(done: 6, queued: 0))
        figures.isEnding = true
        #expect(meter.measure(figures).phase == .storing)
    }
}
