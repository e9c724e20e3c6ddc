import Testing

@testable import Fetch

@Suite struct TransferWatchTests {
    private let limits = TransferWatch.Limits(
        stall: .seconds(30), header: .seconds(130), total: .seconds(300), bytesPerSecond: 64, window: .seconds(60))

    /// At each second the count of bytes so far; when it is given up, and why.
    @Test(
        arguments: [
            ([(0, 0), (29, 0), (30, 0)], 30, "nothing came for 30 s"),
            ([(0, 0), (29, 1), (58, 1), (59, 1)], 59, "nothing came for 30 s"),
            ([(0, 0), (20, 20), (40, 40), (59, 59), (60, 60)], 60, "under 64 bytes a second for 60 s"),
            (
                [(0, 0), (20, 5000), (60, 5001), (85, 5002), (110, 5003), (120, 5004)], 120,
                "under 64 bytes a second for 60 s"
            ),
            (
                [(0, 0), (20, 5000), (40, 9000), (60, 9999), (80, 20_000), (100, 30_000), (130, 31_000)], 130,
                "the header was not whole after 130 s"
            ),
        ] as [([(Int, Int)], Int, String)])
    func `what gets nowhere is given up`(steps: [(Int, Int)], end: Int, detail: String) {
        var watch = TransferWatch(now: .zero, byteCount: 0)
        for (second, byteCount) in steps {
            let verdict = watch.verdict(now: .seconds(second), byteCount: byteCount, headerIsComplete: false, limits)
            #expect(verdict == (second == end ? FetchFailure(.timeout, detail) : nil), "at \(second) s")
        }
    }

    @Test func `what goes on steadily ends at the total alone`() {
        var watch = TransferWatch(now: .seconds(7), byteCount: 0)
        for second in 8..<307 {
            let now = Duration.seconds(second)
            #expect(watch.verdict(now: now, byteCount: second * 64, headerIsComplete: true, limits) == nil)
        }
        let verdict = watch.verdict(now: .seconds(307), byteCount: 99_999, headerIsComplete: true, limits)
        #expect(verdict?.detail == "not done after 300 s")
        var endless = limits
        endless.total = nil
        #expect(watch.verdict(now: .seconds(308), byteCount: 199_999, headerIsComplete: true, endless) == nil)
    }

    @Test func `time in which larder held back does not count`() {
        var watch = TransferWatch(now: .zero, byteCount: 0)
        for second in stride(from: 10, through: 290, by: 10) {
            watch.wasHeldBack(now: .seconds(second), byteCount: 1)
        }
        #expect(watch.verdict(now: .seconds(299), byteCount: 1, headerIsComplete: true, limits) == nil)
    }

    @Test(arguments: [(30_000, "30 s"), (1500, "1.5 s"), (50, "0.05 s"), (0, "0 s"), (1001, "1.001 s")])
    func `a time is told in seconds`(milliseconds: Int, text: String) {
        #expect(Duration.milliseconds(milliseconds).seconds == text)
    }
}
