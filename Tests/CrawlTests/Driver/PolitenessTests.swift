import Fetch
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Hosts that refuse requests, or ask to wait.
@Suite struct PolitenessTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws { bench = try CrawlBench() }

    @Test(arguments: [429, 503]) func `the crawl waits for Retry-After`(status: Int) throws {
        origin.on("/", .failure(status, fields: [("Retry-After", "1")]), .page("now"))
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try bench.crawl().missing.isEmpty)
        #expect(clock.now - start >= .seconds(1))
        #expect(try bench.text("/") == "now")
    }

    @Test func `a host that asks to wait too long is given up`() throws {
        origin.on("/", .page("<a href=/later>l</a>"))
        origin.on("/later", .failure(503, fields: [("Retry-After", "3600")]))
        let report = try bench.crawl()
        let reason = "the server answered 503 and asked to wait 3600 s, longer than a run waits"
        #expect(report.misses == ["/later: \(reason)"])
        #expect(bench.count("/later") == 1)
    }

    @Test func `a host that refuses parallel requests is fetched completely in the end`() throws {
        let links = (0..<60).map { "<a href=/p\($0)>\($0)</a>" }.joined()
        origin.on("/", .page(links))
        // Every third page is refused once.
        for page in 0..<60 {
            origin.on("/p\(page)", page % 3 == 0 ? .failure(429) : .page("\(page)"), .page("\(page)"))
        }
        let report = try bench.crawl()
        #expect(report.pages == 61)
        #expect(report.misses == [])
        #expect(report.tallies["127.0.0.1"]?.failures == 20)
        #expect(origin.requests.count == 81)
    }

    @Test(arguments: [(500, 2), (502, 4), (504, 4), (408, 4)])
    func `temporary errors have four attempts, and errors of the application two`(status: Int, attempts: Int)
        throws
    {
        origin.on("/", .page("<img src=/x.png>"))
        origin.on("/x.png", .failure(status))
        let report = try bench.crawl()
        #expect(report.misses == ["/x.png: the server answered \(status)"])
        #expect(bench.count("/x.png") == attempts)
    }

    @Test(arguments: [500, 502]) func `a host whose errors do not go away gets few retries`(status: Int)
        throws
    {
        origin.on("/", .page((1...30).map { "<img src=/\($0).png>" }.joined()))
        origin.otherwise { _ in .failure(status) }
        let report = try bench.crawl()
        #expect(report.missing.count == 30)
        // Eight retries in vain are enough; some others are under way by then.
        #expect(origin.requests.count <= 1 + 30 + 20, "\(origin.requests.count)")
    }

    @Test func `an unknown host name is looked up twice`() throws {
        origin.on("/", .page("<img src=http://no-such-host.invalid/x.png>"))
        let report = try bench.crawl()
        #expect(report.missing.count == 1)
        #expect(report.tallies["no-such-host.invalid"]?.requests == 2)
    }

    @Test func `a failed page keeps its stored response, and so do pages that only it links to`() throws {
        origin.on("/", .page("<a href=/two>2</a>"))
        origin.on("/two", OriginAnswer.page("<a href=/three>3</a>").validated(entityTag: "\"2\""))
        origin.on("/three", OriginAnswer.page("three").validated(entityTag: "\"3\""))
        _ = try bench.crawl()
        origin.on("/two", .hangUp)
        let report = try bench.crawl()
        #expect(report.missing.map(\.isKeptFromBefore) == [true])
        #expect(report.confirmed == 1)
        #expect(report.pages == 2)
        #expect(try bench.text("/two") == "<a href=/three>3</a>")
    }

    @Test func `truncated and aborted responses are retried`() throws {
        origin.on("/", .page("<img src=/a><img src=/b><img src=/c>"))
        let image = OriginAnswer.file([UInt8](repeating: 7, count: 5000), type: "image/png")
        origin.on("/a", image.truncated(after: 100), image)
        origin.on("/b", .hangUp, .reset, image)
        origin.on("/c", image.claiming(length: 4000).closing(), image)
        let report = try bench.crawl()
        #expect(report.misses == [])
        for target in ["/a", "/b"] { #expect(try bench.bytes(target)?.count == 5000) }
    }
}

@Suite struct UnresponsiveHostTests {
    @Test func `a host that never responds is given up with its URLs, and other hosts are not`()
        throws
    {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        for image in 0..<100 {
            for host in ["a", "dead"] {
                let url = try #require(WebURL("http://\(host).test/\(image).png"))
                frontier.addLink(FoundLink(url: url, role: .asset), from: 0)
            }
        }
        let failure = Failure.fetch(FetchFailure(.unreachable, "refused"))
        var now = Duration.zero
        var attempts = 0
        while !frontier.isDone {
            guard case .fetch(let number)? = frontier.next(now: now) else {
                now = try #require(frontier.nextDue)
                continue
            }
            if frontier.url(number).host == "dead.test" {
                attempts += 1
                frontier.fail(number, failure, now: now)
            } else {
                frontier.succeed(number, after: .milliseconds(1))
            }
        }
        #expect(attempts == 14)
        let dead = frontier.entries.filter { frontier.url($0.number).host == "dead.test" }
        #expect(dead.count == 100)
        #expect(dead.allSatisfy { $0.state == .failed(failure) })
        #expect(frontier.doneCount == 101)
    }
}

extension UnresponsiveHostTests {
    /// The start URL and the images that it links to are stored. Once the host has failed, the images are not tried
    /// one after the other, also if the host accepts connections but sends nothing.
    @Test(arguments: [FetchFailure.Kind.unreachable, .broken, .timeout])
    func `an unreachable host gets no more requests, and its URLs are reported`(
        kind: FetchFailure.Kind
    ) throws {
        let start = try #require(WebURL("http://dead.test/"))
        let frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        let failure = Failure.fetch(FetchFailure(kind, "refused"))
        var now = Duration.zero
        var (attempts, lost) = (0, 0)
        func images(_ range: Range<Int>) throws -> [FoundLink] {
            try range.map { number in
                FoundLink(url: try #require(WebURL("http://dead.test/\(number).png")), role: .asset)
            }
        }
        while !frontier.isDone {
            guard case .fetch(let number)? = frontier.next(now: now) else {
                now = try #require(frontier.nextDue)
                continue
            }
            attempts += 1
            _ = frontier.apply(.failed(number, failure), now: now)
            guard case .failed = frontier.state(number) else { continue }
            let linked = Frontier.Event.linked(
                number, known: [], new: try images(0..<50), isLeftOut: false)
            for case .failedWithHost in frontier.apply(linked, now: now) { lost += 1 }
        }
        #expect(attempts == 4)
        #expect(lost == 50)
        #expect(now < .seconds(10))
        #expect(frontier.failures.count == 51)
        #expect(frontier.failures.values.allSatisfy { $0 == failure })
    }
}

@Suite struct FailingURLTests {
    /// Fetches all targets in simulated time. A request fails with `failure` if its path contains `bad`, or if the host
    /// is not healthy.
    private func run(
        _ targets: [(String, Frontier.Role)], _ failure: Failure, hadBegun: Bool = false, bad: String = "bad",
        healthy: Bool = true
    ) throws -> (frontier: TestFrontier, elapsed: Duration) {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        for (target, role) in targets {
            frontier.addLink(
                FoundLink(url: try #require(WebURL("http://a.test" + target)), role: role), from: 0)
        }
        var now = Duration.zero
        while !frontier.isDone {
            var running: [UInt32] = []
            while case .fetch(let number)? = frontier.next(now: now) { running.append(number) }
            guard !running.isEmpty else {
                now = try #require(frontier.nextDue)
                continue
            }
            now += .milliseconds(5)
            _ = frontier.next(now: now)
            for number in running {
                if frontier.url(number).path.contains(bad) || !healthy {
                    frontier.fail(number, failure, after: .milliseconds(5), hadBegun: hadBegun, now: now)
                } else {
                    frontier.succeed(number, after: .milliseconds(5))
                }
            }
        }
        return (frontier, now)
    }

    private static let objections: [(Failure, Bool)] = [
        (.status(503), false), (.status(429), false), (.fetch(FetchFailure(.broken, "cut")), true),
        (.fetch(FetchFailure(.timeout, "hung")), false),
    ]

    @Test(arguments: objections, ["/img/bad%.png", "/bad%.png", "/bad%"])
    func `failing images do not delay pages`(objection: (Failure, Bool), image: String)
        throws
    {
        let images = (0..<24).map { (image.replacing("%", with: "\($0)"), Frontier.Role.asset) }
        let pages = (0..<30).map { ("/page\($0)", Frontier.Role.page) }
        let (frontier, elapsed) = try run(images + pages, objection.0, hadBegun: objection.1)
        #expect(frontier.doneCount == 31)
        #expect(frontier.failures.count == 24)
        #expect(frontier.failures.values.allSatisfy { $0 == objection.0 })
        #expect(elapsed < .seconds(30), "\(elapsed)")
    }

    @Test(arguments: objections)
    func `failing pages do not delay later pages`(objection: (Failure, Bool)) throws {
        let pages =
            (0..<40).map { ("/p/bad\($0)", Frontier.Role.page) } + (0..<40).map { ("/p/\($0)", .page) }
        let (frontier, elapsed) = try run(pages, objection.0, hadBegun: objection.1)
        #expect(frontier.doneCount == 41)
        #expect(frontier.failures.values.allSatisfy { $0 == objection.0 })
        #expect(elapsed < .seconds(60), "\(elapsed)")
    }

    @Test(arguments: objections)
    func `six failing files take only seconds`(objection: (Failure, Bool)) throws {
        let files = (0..<6).map { ("/files/bad\($0).zip", Frontier.Role.page) } + [("/files/1.zip", .page)]
        let (frontier, elapsed) = try run(files, objection.0, hadBegun: objection.1)
        #expect(frontier.failures.count == 6)
        #expect(elapsed < .seconds(15), "\(elapsed)")
    }

    @Test func `a URL that was never requested is reported as not requested`() throws {
        let pages = (0..<100).map { ("/p/\($0)", Frontier.Role.page) }
        let (frontier, _) = try run(pages, .status(503), healthy: false)
        let notRequested = frontier.entries.filter { $0.attempts == 0 }
        #expect(!notRequested.isEmpty)
        #expect(notRequested.allSatisfy { $0.state == .failed(.notRequested(.status(503))) })
        let requested = frontier.entries.dropFirst().filter { $0.attempts > 0 }
        #expect(requested.allSatisfy { $0.state == .failed(.status(503)) })
    }

    @Test func `a host that fails for a minute loses no URL`() throws {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        for page in 0..<400 {
            frontier.addLink(
                FoundLink(url: try #require(WebURL("http://a.test/p/\(page)")), role: .page), from: 0)
        }
        var now = Duration.zero
        while !frontier.isDone {
            guard case .fetch(let number)? = frontier.next(now: now) else {
                now = try #require(frontier.nextDue)
                continue
            }
            now += .milliseconds(20)
            if (.seconds(1)..<(.seconds(60))).contains(now) {
                frontier.fail(number, .status(503), after: .milliseconds(20), now: now)
            } else {
                frontier.succeed(number, after: .milliseconds(20))
            }
        }
        #expect(frontier.failures.count < 8, "\(frontier.failures.count)")
    }
}

@Suite struct UnknownHostTests {
    /// Crawls a site that links to three images on each of 33 unknown hosts, in simulated time. A lookup takes five
    /// seconds.
    private func run(pages: Int) throws -> (
        frontier: TestFrontier, elapsed: Duration, lookups: Int
    ) {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        for page in 0..<pages {
            frontier.addLink(
                FoundLink(url: try #require(WebURL("http://a.test/\(page)")), role: .page), from: 0)
        }
        for image in 0..<99 {
            let url = try #require(WebURL("http://unknown\(image % 33).test/\(image)"))
            frontier.addLink(FoundLink(url: url, role: .asset), from: 0)
        }
        var (now, lookups) = (Duration.zero, 0)
        var running: [(number: UInt32, end: Duration)] = []
        while !frontier.isDone {
            while case .fetch(let number)? = frontier.next(now: now) {
                let isUnknown = frontier.url(number).host != "a.test"
                if isUnknown { lookups += 1 }
                running.append((number, now + (isUnknown ? .seconds(5) : .milliseconds(10))))
            }
            if frontier.isDone { break }
            now = try #require((running.map(\.end) + [frontier.nextDue].compactMap { $0 }).min())
            _ = frontier.next(now: now).map { task in
                if case .fetch(let number) = task { running.append((number, now)) }
            }
            for transfer in running where transfer.end <= now {
                if frontier.url(transfer.number).host == "a.test" {
                    frontier.succeed(transfer.number, after: .milliseconds(10))
                } else {
                    let failure = Failure.fetch(FetchFailure(.unknownHost, "no such name"))
                    frontier.fail(transfer.number, failure, now: now)
                }
            }
            running.removeAll { $0.end <= now }
        }
        return (frontier, now, lookups)
    }

    @Test func `unknown host names are looked up again at the same time`() throws {
        let (frontier, elapsed, lookups) = try run(pages: 10)
        #expect(frontier.doneCount == 11)
        #expect(frontier.failures.count == 99)
        #expect(elapsed <= .seconds(16), "\(elapsed)")
        #expect(lookups <= 198)
    }
}

@Suite struct SecondLookupTests {
    private let frontier: TestFrontier

    init() throws {
        let start = try #require(WebURL("http://a.test/"))
        frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        #expect(frontier.fetchNext(now: .zero) == 0)
        frontier.succeed(0)
    }

    private func addImage(_ url: String) throws -> UInt32 {
        frontier.addLink(FoundLink(url: try #require(WebURL(url)), role: .asset), from: 0)
    }

    @Test func `all URLs of a host wait for the second lookup of its name`() throws {
        let image = try addImage("http://unknown.test/1")
        let other = try addImage("http://other.test/1")
        _ = [frontier.fetchNext(now: .zero), frontier.fetchNext(now: .zero)]
        #expect(!frontier.awaitsLookup(image))
        frontier.fail(image, .fetch(FetchFailure(.unknownHost, "no such name")), now: .seconds(5))
        #expect(frontier.awaitsLookup(image) && !frontier.awaitsLookup(other))
        #expect(frontier.awaitsLookup(try addImage("http://unknown.test/2")))
        // The name is being looked up.
        #expect(frontier.fetchNext(now: .seconds(60)) != nil)
        #expect(!frontier.awaitsLookup(image))
    }
}

@Suite struct StreamTests {
    @Test func `an HTTP/2 host gets more parallel requests than an HTTP/1 host`() throws {
        let start = try #require(WebURL("https://a.test/"))
        let frontier = TestFrontier(
            scope: Scope(start: [start]), options: Frontier.Options(connectionsPerHost: 4))
        frontier.start(start)
        _ = frontier.next(now: .zero)
        frontier.apply(.connected(0, from: .publicNetwork, multiplexes: true), now: .zero)
        frontier.succeed(0, after: .milliseconds(1))
        for page in 0..<500 {
            frontier.addLink(
                FoundLink(url: try #require(WebURL("https://a.test/\(page)")), role: .page), from: 0)
        }
        var most = 0
        var now = Duration.zero
        while !frontier.isDone {
            var running: [UInt32] = []
            while case .fetch(let number)? = frontier.next(now: now) { running.append(number) }
            most = max(most, running.count)
            now += .milliseconds(10)
            _ = frontier.next(now: now)
            for number in running { frontier.succeed(number, after: .milliseconds(1)) }
        }
        #expect(most == 24)
    }
}
