import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Hosts that never respond do not delay the end of a crawl.
@Suite struct PatienceTests {
    private let bench: CrawlBench
    private let silent: TestOrigin

    init() throws {
        bench = try CrawlBench()
        silent = try TestOrigin()
        silent.hold("/ad.js")
        silent.on("/ad.js", .file("1", type: "text/javascript"))
        silent.on("/logo.png", .file([1], type: "image/png"))
        bench.origin.on("/", .page("<script src=\(silent.url("/ad.js"))></script><a href=/two>2</a>"))
        bench.origin.on("/two", .page("two"))
    }

    /// Crawls with this patience. If the machine is so busy that the site itself does not respond in time, the crawl is
    /// repeated with a longer patience and an empty store.
    ///
    /// - Parameter prepare: is called before each of these crawls.
    private func crawl(
        _ patience: Duration, _ prepare: (CrawlBench, Duration) throws -> Void = { _, _ in }
    ) throws -> CrawlReport {
        defer { silent.release("/ad.js") }
        return try CrawlBench.retrying(from: patience) { patience, isLast in
            let bench = try CrawlBench(emptied: bench)
            try prepare(bench, patience)
            let report = try crawl(bench, patience)
            let isTooSlow = report.missing.contains { $0.url.hasPrefix(bench.origin.base + "/") }
            return isTooSlow && !isLast ? nil : report
        }
    }

    private func crawl(_ bench: CrawlBench, _ patience: Duration?) throws -> CrawlReport {
        try bench.crawl { plan in
            plan.patience = patience
            plan.allowedZone = .thisMachine
        }
    }

    @Test func `a host that has never responded is given up once everything else is done`() throws {
        let report = try crawl(.milliseconds(600))
        #expect(report.isPublished && !report.isInterrupted)
        #expect(report.pages == 2)
        #expect(report.missing.map(\.url) == [silent.url("/ad.js")])
        #expect(report.misses.first?.contains("everything else was done") == true, "\(report.misses)")
        #expect(report.missing.first?.remedy == .patience)
    }

    @Test func `an unreachable start URL is not waited for longer if other URLs of its host are queued`()
        throws
    {
        bench.origin.stop()
        let report = try bench.crawl { plan in
            plan.recordedMisses = (1...8).compactMap {
                CrawlPlan.RecordedMiss(
                    Miss(
                        href: bench.origin.url("/\($0)"), isPage: false, from: .fromThisMachine, first: 0,
                        last: 0))
            }
        }
        #expect(!report.isPublished && report.missing.count == 9)
        #expect(report.missing.allSatisfy { $0.reason.contains("cannot connect") }, "\(report.misses)")
        #expect(report.elapsed < .seconds(60), "\(report.elapsed): each would be a minute and more")
        // Four requests at first, then one at a time.
        #expect(report.requests <= 4 + 3 + 1)
    }

    @Test func `a host that has responded before is waited for`() throws {
        bench.origin.on("/", .page("<img src=\(silent.url("/logo.png"))><a href=/two>2</a>"))
        bench.origin.on("/two", .page("<script src=\(silent.url("/ad.js"))></script>"))
        silent.release("/ad.js")
        let report = try CrawlBench.retrying(from: .milliseconds(300)) { patience, isLast in
            // Everything else is done long before this response is sent.
            silent.on("/ad.js", .file("1", type: "text/javascript").delayed(patience * 4))
            let report = try crawl(CrawlBench(emptied: bench), patience)
            // The machine was too slow if the patience ended before the host had sent the logo.
            let isTooSlow = report.missing.contains { !$0.url.hasSuffix("/ad.js") }
            return isTooSlow && !isLast ? nil : report
        }
        #expect(report.missing.isEmpty, "\(report.misses)")
    }

    @Test func `stored responses of a given-up host stay`() throws {
        let report = try crawl(.milliseconds(300)) { bench, _ in
            silent.release("/ad.js")
            let earlier = try crawl(bench, nil)
            #expect(earlier.missing.isEmpty)
            silent.hold("/ad.js")
        }
        #expect(report.missing.map(\.isKeptFromBefore) == [true])
        #expect(report.isPublished)
    }

    /// Time that the driver needs before it starts the request is not time spent waiting for the host.
    @Test func `a delayed check does not shorten the patience`() throws {
        let start = try #require(WebURL("http://site.test/"))
        let frontier = TestFrontier(
            scope: try Scope(start: [start], options: ScopeOptions()),
            options: Frontier.Options(patience: .seconds(10)))
        frontier.start(start)
        let task = frontier.next(now: .zero)
        #expect(task == .fetch(0))
        // The driver checks only after it has worked on the task for this time.
        for late in [1, 250, 300, 60_000] {
            let isOver = frontier.isOutOfPatience(now: .milliseconds(late))
            #expect(!isOver, "\(late) ms")
        }
    }

    /// While the store is unavailable or the machine is busy, responses are received, but not processed.
    @Test func `time without processing does not count as silence of a host`() throws {
        let start = try #require(WebURL("http://site.test/"))
        let frontier = TestFrontier(
            scope: try Scope(start: [start], options: ScopeOptions()),
            options: Frontier.Options(patience: .seconds(10)))
        frontier.start(start)
        #expect(frontier.fetchNext(now: .zero) == 0)
        frontier.succeed(0)
        let ad = FoundLink(url: try #require(WebURL("http://ad.test/a.js")), role: .asset)
        frontier.addLink(ad, from: 0)
        #expect(frontier.fetchNext(now: .seconds(1)) == 1)
        func isOver(_ seconds: Int) -> Bool { frontier.isOutOfPatience(now: .seconds(seconds)) }
        #expect(isOver(12))
        frontier.apply(.processingDelayed(.seconds(9)), now: .seconds(12))
        #expect(!isOver(12) && !isOver(19) && isOver(20))
        // However long the delay, the patience starts now at the latest.
        frontier.apply(.processingDelayed(.seconds(100)), now: .seconds(20))
        #expect(isOver(30))
    }

    /// The site links to 33 unknown host names. Time is simulated.
    @Test func `unknown host names are looked up at most twice, and take no time`() throws {
        let start = try #require(WebURL("http://site.test/"))
        let frontier = TestFrontier(scope: try Scope(start: [start], options: ScopeOptions()))
        frontier.start(start)
        var (now, lookups): (Duration, [String: Int]) = (.zero, [:])
        while !frontier.isDone {
            switch frontier.next(now: now) {
            case .fetch(let number)?:
                now += .milliseconds(1)
                let url = frontier.url(number)
                guard url.host != "site.test" else {
                    frontier.succeed(number, after: .milliseconds(1))
                    for ad in 0..<33 where url.path == "/" {
                        let target = try #require(WebURL("http://ad\(ad).test/a.js"))
                        frontier.addLink(FoundLink(url: target, role: .asset), from: number)
                        let other = try #require(WebURL("http://ad\(ad).test/b.js"))
                        frontier.addLink(FoundLink(url: other, role: .asset), from: number)
                    }
                    continue
                }
                lookups[url.host, default: 0] += 1
                frontier.fail(number, .fetch(FetchFailure(.unknownHost, "no")), now: now)
            case nil: now = try #require(frontier.nextDue)
            default: Issue.record("unexpected task")
            }
        }
        #expect(lookups.count == 33)
        #expect(lookups.values.allSatisfy { $0 <= 4 }, "\(lookups)")
        #expect(now < .seconds(1), "\(now)")
    }
}

/// The decision alone, without a crawl. The patience is five seconds.
@Suite struct PatienceEndTests {
    private var patience = Patience(.seconds(5))
    private var hosts = [
        Frontier.HostState(pace: HostPace(maxLimit: 4), robots: nil),
        Frontier.HostState(pace: HostPace(maxLimit: 4), robots: nil),
    ]

    private mutating func start(_ host: Int, at time: Duration) {
        hosts[host].pace.didStart(now: time)
        patience.didStartRequest(to: &hosts[host], now: time)
    }

    private func end(at time: Duration, running: Int, hasOtherWork: Bool = false) -> Duration? {
        patience.end(at: time, of: hosts, runningCount: running, hasOtherWork: hasOtherWork)
    }

    @Test mutating func `the waiting ends after the patience with the host that was requested last`() {
        #expect(end(at: .seconds(1), running: 0) == nil)
        start(0, at: .seconds(1))
        start(1, at: .seconds(3))
        #expect(end(at: .seconds(4), running: 2) == .seconds(8))
        patience = Patience(nil)
        #expect(end(at: .seconds(4), running: 2) == nil)
    }

    @Test mutating func `while anything else is running or due, the waiting does not end`() {
        start(0, at: .seconds(1))
        #expect(end(at: .seconds(4), running: 1) == .seconds(6))
        // A probe is running.
        #expect(end(at: .seconds(4), running: 2) == nil)
        #expect(end(at: .seconds(4), running: 1, hasOtherWork: true) == nil)
        start(1, at: .seconds(2))
        patience.didRespond(&hosts[1], now: .seconds(3))
        #expect(end(at: .seconds(4), running: 2) == nil)
        hosts[1].pace.didEnd()
        #expect(end(at: .seconds(4), running: 1) == .seconds(6))
        // For a quarter of a second after a response, nothing is decided.
        #expect(end(at: .milliseconds(3100), running: 1) == .milliseconds(3250))
    }

    @Test mutating func `the host of a start URL is waited for`() {
        start(0, at: .seconds(1))
        hosts[0].isStartHost = true
        #expect(end(at: .seconds(9), running: 1) == nil)
    }
}
