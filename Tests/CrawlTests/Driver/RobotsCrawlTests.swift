import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Cluster
@testable import Crawl

/// robots.txt in a crawl.
@Suite struct RobotsCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws {
        bench = try CrawlBench()
        bench.origin.on("/", .page("<a href=/open>o</a><a href=/closed/a>c</a><img src=/closed/dot.gif>"))
        bench.origin.on("/open", .page("open"))
        bench.origin.on("/closed/a", .page("closed"))
        bench.origin.on("/closed/dot.gif", .file([71, 73, 70], type: "image/gif"))
    }

    private static let rules = OriginAnswer.file("User-agent: *\nDisallow: /closed/\n", type: "text/plain")

    @Test func `robots.txt applies to pages, not to assets`() throws {
        origin.on("/robots.txt", Self.rules)
        let report = try bench.politeCrawl()
        #expect(report.pages == 2)
        #expect(report.assets == 1)
        #expect(report.skips == ["/closed/a: disallowed by robots.txt: Disallow: /closed/ (line 2)"])
        #expect(bench.count("/closed/a") == 0)
        #expect(bench.count("/robots.txt") == 1)
        #expect(report.isPublished)
    }

    @Test func `robots.txt is stored as a guide, neither page nor asset`() throws {
        origin.on("/robots.txt", Self.rules)
        _ = try bench.politeCrawl()
        let stored = try #require(try bench.stored("/robots.txt"))
        #expect(stored.role == 2)
        #expect(try bench.text("/robots.txt") == "User-agent: *\nDisallow: /closed/\n")
    }

    /// RFC 9309, section 2.5. The rule beyond the limit is ignored, and so is the line that the limit cuts.
    @Test(arguments: [false, true]) func `the first 500 KiB of robots.txt are fetched, parsed and stored`(
        isEndless: Bool
    )
        throws
    {
        let rules = "User-agent: *\nDisallow: /closed/\n"
        let line = "# " + String(repeating: "a", count: 97) + "\n"
        let comments = String(repeating: line, count: 20_000)
        let answer = OriginAnswer.file(rules + comments + "Disallow: /open\n", type: "text/plain")
        origin.on("/robots.txt", isEndless ? .endless(rules + comments, type: "text/plain") : answer)
        let report = try bench.politeCrawl()
        #expect(report.pages == 2)
        #expect(report.skips == ["/closed/a: disallowed by robots.txt: Disallow: /closed/ (line 2)"])
        #expect(report.wireByteCount < 1 << 20)
        let stored = try #require(try bench.bytes("/robots.txt"))
        #expect(stored.count <= 500 * 1024 && stored.count > 500 * 1024 - 100)
        #expect(stored.last == UInt8(ascii: "\n"))
        #expect(try bench.stored("/robots.txt")?.fields.contains("Content-Length") == false)
    }

    @Test func `a crawl that ignores robots.txt does not wait for it, and still reads its sitemaps`() throws {
        origin.on("/robots.txt", .file("User-agent: *\nDisallow: /\nSitemap: /map.txt", type: "text/plain"))
        origin.on("/map.txt", .file(origin.url("/listed"), type: "text/plain"))
        origin.on("/listed", .page("listed"))
        let report = try bench.politeCrawl { $0.sitePlan.robots = .ignore }
        #expect(report.skips == [])
        #expect(report.pages == 4)
        #expect(try bench.text("/listed") == "listed")
    }

    @Test(arguments: [404, 403, 410]) func `a host without robots.txt allows everything`(status: Int) throws {
        origin.on("/robots.txt", .failure(status))
        #expect(try bench.politeCrawl().pages == 3)
    }

    @Test func `up to five redirects of robots.txt are followed`() throws {
        origin.on("/robots.txt", .redirect(to: "/one"))
        for (from, to) in [("/one", "/two"), ("/two", "/rules")] { origin.on(from, .redirect(to: to)) }
        origin.on("/rules", Self.rules)
        let report = try bench.politeCrawl()
        #expect(bench.count("/closed/a") == 0)
        #expect(report.skipped.count == 1)
        #expect(try bench.stored("/robots.txt")?.status == 302)
        #expect(try bench.stored("/robots.txt")?.role == 2)
    }

    /// Each known response leads at once to the next one. The last redirect is the fifth.
    @Test func `known responses to robots.txt and its redirects are used without a request`() throws {
        let targets = ["/robots.txt", "/1", "/2", "/3", "/4", "/rules"]
        func response(_ target: String, _ status: Int, _ location: String?, _ body: String = "")
            -> SharedFrontier.HostResponse
        {
            SharedFrontier.HostResponse(
                origin: origin.url(""), href: origin.url(target), status: status,
                location: location.map(origin.url), zone: 2, failure: nil, body: Array(body.utf8))
        }
        let crawl = try Crawl(
            try bench.plan { $0.productToken = "larder" }, interruption: Interruption())
        crawl.knownOutcomes.add(
            [],
            zip(targets, targets.dropFirst()).map { response($0, 302, $1) }
                + [response("/rules", 200, nil, "User-agent: *\nDisallow: /closed/\n")])
        let report = try crawl.run()
        #expect(report.pages == 2)
        #expect(report.skips == ["/closed/a: disallowed by robots.txt: Disallow: /closed/ (line 2)"])
        #expect(targets.map(bench.count) == [0, 0, 0, 0, 0, 0])
    }

    @Test func `a redirect loop counts as no robots.txt`() throws {
        origin.on("/robots.txt", .redirect(to: "/robots.txt"))
        #expect(try bench.politeCrawl().pages == 3)
        #expect(bench.count("/robots.txt") == 6)
    }

    @Test func `pages wait while robots.txt answers 503`() throws {
        origin.on("/robots.txt", .failure(503), Self.rules)
        let report = try bench.politeCrawl()
        #expect(report.pages == 2)
        #expect(report.skipped.count == 1)
        #expect(bench.count("/robots.txt") == 2)
    }

    @Test func `a start URL without further pages does not wait for robots.txt`() throws {
        origin.on("/", .page("nothing further"))
        origin.on("/robots.txt", .failure(500))
        #expect(try bench.politeCrawl().isPublished)
        // A crawl that had waited for robots.txt would have requested it again.
        #expect(bench.count("/robots.txt") == 1)
    }

    @Test func `Crawl-delay is obeyed`() throws {
        origin.on("/robots.txt", .file("User-agent: *\nCrawl-delay: 0.2\n", type: "text/plain"))
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try bench.politeCrawl().pages == 3)
        // The start page may be requested before robots.txt is received. The three later requests are 0.2 s apart.
        #expect(clock.now - start >= .milliseconds(400))
    }

    @Test func `Crawl-delay does not delay reused responses`() throws {
        origin.on("/", .page((1...9).map { "<a href=/p\($0)>\($0)</a>" }.joined()))
        for page in 1...9 { origin.on("/p\(page)", .page("page \(page)")) }
        #expect(try bench.politeCrawl().pages == 10)
        origin.on("/robots.txt", .file("User-agent: *\nCrawl-delay: 60\n", type: "text/plain"))
        // Nine requests with this delay would take at least eight minutes.
        let report = try bench.politeCrawl { $0.policy = .preferCache }
        #expect(report.pages == 10)
        #expect(report.elapsed < .seconds(240))
    }
}

/// robots.txt in the frontier, without waiting.
@Suite struct FrontierRobotsTests {
    private var frontier: TestFrontier
    private let start: WebURL

    init() throws {
        start = try #require(WebURL("http://a.test/"))
        frontier = TestFrontier(
            scope: Scope(start: [start]), options: Frontier.Options(productToken: "larder"))
        frontier.start(start)
    }

    private mutating func fail(_ kind: FetchFailure.Kind, now: Duration) {
        frontier.failRobots(host: 0, FetchFailure(kind, "no luck"), now: now)
    }

    @Test
    mutating func `pages are skipped with the reason after robots.txt failed three more times`()
        throws
    {
        #expect(
            frontier.next(now: .zero)
                == .robots(host: 0, try #require(WebURL("http://a.test/robots.txt")), .thisMachine))
        #expect(frontier.next(now: .zero) == .fetch(0))
        frontier.succeed(0)
        frontier.addLink(FoundLink(url: try #require(WebURL("http://a.test/b")), role: .page), from: 0)
        var now = Duration.zero
        var attempts = 1
        fail(.timeout, now: now)
        while !frontier.isDone {
            now = try #require(frontier.nextDue)
            #expect(frontier.next(now: now) != nil)
            attempts += 1
            fail(.timeout, now: now)
        }
        #expect(attempts == 4)
        #expect(now == .seconds(42))
        #expect(frontier.state(1) == .skipped(.robotsUnknown("timed out (no luck)")))
    }

    /// Fails every request with `failure`, and returns the simulated time at which the crawl is done.
    private mutating func failAllRequests(
        with failure: FetchFailure, from start: Duration = .zero
    ) throws -> Duration {
        var now = start
        while !frontier.isDone {
            while let task = frontier.next(now: now) {
                switch task {
                case .fetch(let number): frontier.fail(number, .fetch(failure), now: now)
                case .robots(let host, _, _): frontier.failRobots(host: host, failure, now: now)
                case .probe, .sessionCheck, .render: Issue.record("\(task)")
                }
            }
            if !frontier.isDone { now = max(now, try #require(frontier.nextDue)) }
        }
        return now
    }

    /// A page of an earlier snapshot waits for robots.txt. It is added at the beginning, or after the start URL has
    /// been given up.
    @Test(arguments: [FetchFailure.Kind.unreachable, .unknownHost], [true, false])
    mutating func `robots.txt of an unreachable host is not waited for`(
        kind: FetchFailure.Kind, isKnown: Bool
    ) throws {
        let failure = FetchFailure(kind, "no luck")
        let alone = try failAllRequests(with: failure)
        #expect(alone < .seconds(5))
        let page = Frontier.Event.miss(
            try #require(WebURL("http://a.test/b")), isPage: true, nearestZone: .thisMachine)
        frontier = TestFrontier(
            scope: Scope(start: [start]), options: Frontier.Options(productToken: "larder"))
        frontier.start(start)
        if isKnown { frontier.apply(page, now: .zero) }
        var end = try failAllRequests(with: failure)
        if !isKnown {
            frontier.apply(page, now: end)
            end = try failAllRequests(with: failure, from: end)
        }
        // An unknown name is looked up once more after two seconds.
        #expect(end <= alone + .seconds(2))
        #expect(frontier.state(1) == .skipped(.robotsUnknown(failure.description)))
    }

    /// While the frontier waits, `nextDue` must be later than now. Otherwise the driver would poll it.
    @Test mutating func `the host of a start URL is waited for longer than others`() throws {
        var options = Frontier.Options(productToken: "larder")
        options.patience = .seconds(5)
        frontier = TestFrontier(scope: Scope(start: [start]), options: options)
        frontier.start(start)
        frontier.startGuess(
            try #require(WebURL("http://a.test/b")), isPage: true, nearestZone: .thisMachine)
        var now = Duration.zero
        while !frontier.isDone {
            while let task = frontier.next(now: now) {
                if case .fetch(let number) = task {
                    frontier.fail(number, .fetch(FetchFailure(.insecure, "no luck")), now: now)
                }
                if case .robots = task { fail(.timeout, now: now) }
            }
            guard !frontier.isDone else { break }
            let due = try #require(frontier.nextDue)
            #expect(due > now && !frontier.isOutOfPatience(now: now))
            now = max(now + .milliseconds(1), due)
        }
        #expect(now == .seconds(42))
    }

    @Test mutating func `robots.txt of a closed port is requested twice, because another host links there`()
        throws
    {
        frontier = TestFrontier(
            scope: try Scope(start: [start], options: ScopeOptions(include: ["*.test/**"])),
            options: Frontier.Options(productToken: "larder"))
        frontier.start(start)
        _ = frontier.next(now: .zero)
        _ = frontier.next(now: .zero)
        frontier.apply(
            .robots(host: 0, .answered(status: 404, from: .publicNetwork)), now: .zero)
        frontier.succeed(0)
        frontier.addLink(FoundLink(url: try #require(WebURL("http://a.test/a")), role: .page), from: 0)
        #expect(frontier.fetchNext(now: .zero) == 1)
        #expect(frontier.redirect(1, to: WebURL("http://closed.test/b")))
        var (now, count) = (Duration.zero, 0)
        while !frontier.isDone {
            while let task = frontier.next(now: now) {
                guard case .robots(let host, _, _) = task else { continue }
                count += 1
                frontier.failRobots(host: host, FetchFailure(.unreachable, "refused"), now: now)
            }
            if !frontier.isDone { now = max(now, try #require(frontier.nextDue)) }
        }
        #expect(count == 2)
        #expect(now == .seconds(2))
    }

    @Test mutating func `robots.txt is waited for if the host has responded`() throws {
        frontier.startGuess(
            try #require(WebURL("http://a.test/b")), isPage: true, nearestZone: .thisMachine)
        var now = Duration.zero
        while !frontier.isDone {
            while let task = frontier.next(now: now) {
                if case .fetch(let number) = task { frontier.succeed(number) }
                if case .robots = task { fail(.unreachable, now: now) }
            }
            if !frontier.isDone { now = max(now, try #require(frontier.nextDue)) }
        }
        #expect(now == .seconds(42))
    }

    @Test mutating func `a permanent failure of robots.txt is not retried`() throws {
        _ = frontier.next(now: .zero)
        _ = frontier.next(now: .zero)
        frontier.succeed(0)
        frontier.addLink(FoundLink(url: try #require(WebURL("http://a.test/b")), role: .page), from: 0)
        fail(.refused, now: .zero)
        #expect(frontier.isDone)
        #expect(frontier.state(1) == .skipped(.robotsUnknown("no luck")))
    }

    @Test mutating func `a time limit ends pages that wait for robots.txt`() throws {
        frontier = TestFrontier(
            scope: Scope(start: [start]),
            options: Frontier.Options(limits: CrawlLimits(time: .seconds(5)), productToken: "larder"))
        frontier.start(start)
        _ = frontier.next(now: .zero)
        _ = frontier.next(now: .zero)
        frontier.succeed(0)
        frontier.addLink(FoundLink(url: try #require(WebURL("http://a.test/b")), role: .page), from: 0)
        fail(.timeout, now: .seconds(4))
        #expect(frontier.nextDue == .seconds(5))
        #expect(frontier.next(now: .seconds(5)) == nil)
        #expect(frontier.isDone)
        #expect(frontier.isOutOfTime)
    }
}
