import LarderKit
import Testing

@testable import Crawl
@testable import larder

@Suite struct ProgressBlockTests {
    static func progress(
        site: String = "https://example.com/docs/", elapsed: Duration = .seconds(64),
        phase: PrefetchProgress.Phase = .fetching, failed: Int = 0, running: Int = 9,
        hosts: [PrefetchProgress.Host]? = nil, hostCount: Int? = nil,
        waiting: PrefetchProgress.Waiting = PrefetchProgress.Waiting(robots: 3, retries: 1, scans: 0),
        remaining: Duration? = nil
    ) -> PrefetchProgress {
        let hosts =
            hosts ?? [
                host("example.com", running: 8, queued: 310, limit: 16, rate: 12.04),
                host("cdn.example.net", running: 1, queued: 12, limit: 4, rate: 3),
            ]
        return PrefetchProgress(
            site: site, elapsed: elapsed, phase: phase,
            pages: PrefetchProgress.Count(done: 1234, queued: 310),
            assets: PrefetchProgress.Count(done: 5678, queued: 12), failed: failed, running: running,
            known: 9000,
            requests: 7000, byteCount: 123_400_000, bytesPerSecond: 2_100_000, confirmed: 5930,
            savedByteCount: 33_000_000, hosts: hosts, hostCount: hostCount ?? hosts.count, waiting: waiting,
            remaining: remaining)
    }

    static func host(
        _ name: String, running: Int, queued: Int, limit: Int, rate: Double, pause: Duration? = nil
    ) -> PrefetchProgress.Host {
        PrefetchProgress.Host(
            name: name, running: running, queued: queued, limit: limit, requestsPerSecond: rate, pause: pause)
    }

    private func lines(
        _ progress: PrefetchProgress, width: Int, height: Int = 24, age: Duration = .zero,
        notice: String? = nil
    ) -> [String] {
        ProgressBlock.prefetch(progress).lines(
            width: width, height: height, age: age, isColored: false, notice: notice)
    }

    @Test func `at 80 columns, every line has its label`() {
        let shown = lines(Self.progress(failed: 2, remaining: .seconds(170)), width: 80, age: .seconds(2))
        #expect(
            shown == [
                "Prefetching https://example.com/docs/                                 1 min 6 s",
                "  pages       1,234 done, 310 queued",
                "  assets      5,678 done, 12 queued",
                "  received    123.4 MB at 2.1 MB/s, 5,930 unchanged, 33.0 MB not sent again",
                "  failed      2 so far",
                "  hosts       example.com     12.0/s, 8 of 16 open, 310 queued",
                "              cdn.example.net 3.0/s, 1 of 4 open, 12 queued",
                "  waiting for 9 responses, robots.txt (3 pages), 1 retry",
                "  time left   about 3 min",
            ])
    }

    @Test func `a host with more open connections than its limit is shown without the limit`() {
        let host = Self.host("example.com", running: 13, queued: 310, limit: 12, rate: 12)
        #expect(
            lines(Self.progress(hosts: [host]), width: 40).contains {
                $0.hasPrefix("example.com 12.0/s, 13 open")
            })
    }

    @Test func `at 40 columns, labels are short and texts without space are left out`() {
        let shown = lines(Self.progress(), width: 40)
        #expect(
            shown == [
                "https://example.com/docs/     1 min 4 s",
                "pages 1,234 done, 310 queued",
                "assets 5,678 done, 12 queued",
                "123.4 MB at 2.1 MB/s, 5,930 unchanged",
                "example.com 12.0/s, 8 of 16 open",
                "waiting: 9 responses",
                "left: unknown (more may be found)",
            ])
    }

    @Test(arguments: 1...210)
    func `no line is as wide as the terminal`(width: Int) {
        let name = String(repeating: "long.", count: 40) + "test"
        let hosts = (0..<40).map {
            Self.host("\($0).\(name)", running: 1, queued: 99_999, limit: 64, rate: 12345)
        }
        let progress = Self.progress(
            site: "https://\(name)/\u{1b}[31m", failed: 1_000_000, hosts: hosts, hostCount: 4000,
            waiting: PrefetchProgress.Waiting(robots: 10_000, retries: 100_000, scans: 64))
        for height in [1, 2, 5, 24] {
            let shown = lines(
                progress, width: width, height: height, notice: String(repeating: "x", count: 300))
            #expect(shown.allSatisfy { $0.unicodeScalars.count < max(2, width) }, "\(shown)")
            #expect(shown.count <= max(1, height - 1))
            #expect(shown.allSatisfy { !$0.utf8.contains(0x1b) })
        }
    }

    @Test(arguments: [
        (Duration?.none, "unknown (more may be found)"),
        (.milliseconds(200), "about 1 s"),
        (.seconds(7), "about 7 s"),
        (.seconds(41), "about 45 s"),
        (.seconds(89), "about 1 min"),
        (.seconds(91), "about 2 min"),
        (.seconds(4000), "about 1 h 6 min"),
    ])
    func `the time left is as precise as the estimate`(remaining: Duration?, text: String) {
        #expect(lines(Self.progress(remaining: remaining), width: 80).last == "  time left   " + text)
    }

    @Test func `a paused host, storing and stopping are shown`() {
        let paused = Self.host("example.com", running: 0, queued: 310, limit: 4, rate: 0, pause: .seconds(12))
        let none = PrefetchProgress.Waiting(robots: 0, retries: 0, scans: 0)
        let shown = lines(
            Self.progress(phase: .storing, running: 0, hosts: [paused], hostCount: 5, waiting: none),
            width: 80,
            notice: "Stopping.")
        #expect(
            shown.contains("  hosts       example.com 0.0/s, paused for 12 s, 310 queued, and 4 more hosts"))
        #expect(
            shown.suffix(3) == [
                "  waiting for the store", "  time left   almost done", "Stopping.",
            ])
    }

    @Test(arguments: [
        (
            WorkProgress(.bodies, done: 256, of: 1024, byteCount: 2_500_000),
            "Comparing, 256 of 1,024 bodies, 25 %, 2.5 MB"
        ),
        (WorkProgress(.bundles, done: 3, of: 4), "Comparing, 3 of 4 bundles, 75 %"),
        (WorkProgress(.pages, done: 12, of: nil), "Comparing, 12 pages"),
        (WorkProgress(.diskSpace, done: 0, of: nil, byteCount: 1000), "Comparing, 1.0 kB in use"),
        (WorkProgress(.bodies, done: 0, of: 0), "Comparing, 0 of 0 bodies"),
    ])
    func `other work has one line`(work: WorkProgress, line: String) {
        let shown = ProgressBlock.work("Comparing", work).lines(
            width: 80, height: 24, age: .zero, isColored: false)
        #expect(shown == [line])
    }

    @Test func `colours are used only on a terminal with colours`() {
        let block = ProgressBlock.prefetch(Self.progress(failed: 1))
        let plain = block.lines(width: 80, height: 24, age: .zero, isColored: false)
        let colored = block.lines(width: 80, height: 24, age: .zero, isColored: true)
        #expect(colored.contains { $0.contains("\u{1b}[") })
        let stripped = colored.map { line in
            ["0", "1", "2", "33"].reduce(line) { $0.replacing("\u{1b}[\($1)m", with: "") }
        }
        #expect(stripped == plain)
    }
}

@Suite struct CanvasTests {
    @Test func `new lines replace the old ones, and text is written above them`() {
        var canvas = Canvas()
        #expect(canvas.draw(["a", "b"], width: 80) == "a\u{1b}[K\nb\u{1b}[K\n")
        #expect(canvas.draw(["c"], width: 80) == "\r\u{1b}[2Ac\u{1b}[K\n\u{1b}[J")
        #expect(
            canvas.draw(["d"], above: "text\n", width: 80) == "\r\u{1b}[1A\u{1b}[Jtext\nd\u{1b}[K\n\u{1b}[J")
        #expect(canvas.draw([], width: 80) == "\r\u{1b}[1A\u{1b}[J")
        #expect(canvas.draw([], width: 80) == "")
        #expect(canvas.draw([], above: "more\n", width: 80) == "more\n")
    }

    @Test(arguments: [(80, 2), (40, 3), (20, 5), (19, 6), (1, 81)])
    func `lines that a narrower terminal has wrapped are removed completely`(width: Int, rows: Int) {
        var canvas = Canvas()
        _ = canvas.draw([String(repeating: "x", count: 79), "\u{1b}[1my\u{1b}[0m"], width: 80)
        let rows = rows == 81 ? 80 : rows
        #expect(canvas.draw([], width: width) == "\r\u{1b}[\(rows)A\u{1b}[J")
    }

    @Test(arguments: [
        (true, ["TERM": "xterm"], true, true),
        (true, ["TERM": "xterm", "NO_COLOR": "1"], true, false),
        (true, ["TERM": "xterm", "NO_COLOR": ""], true, true),
        (true, ["TERM": "dumb"], false, false),
        (true, [:], false, false),
        (false, ["TERM": "xterm"], false, false),
    ])
    func `only a terminal with a movable cursor gets a block`(
        isTerminal: Bool, environment: [String: String], isDrawable: Bool, isColored: Bool
    ) {
        let screen = Screen(isTerminal: isTerminal) { environment[$0] }
        #expect(screen.isDrawable == isDrawable)
        #expect(screen.isColored == isColored)
    }
}
