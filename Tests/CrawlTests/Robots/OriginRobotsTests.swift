import Testing
import Web

@testable import Crawl

@Suite struct OriginRobotsTests {
    private let page: WebURL
    private var robots: OriginRobots

    init() throws {
        page = try #require(WebURL("https://a.test/private/x?y"))
        robots = OriginRobots(for: page, productToken: "larder")
    }

    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    @discardableResult
    private mutating func answer(
        _ status: Int, _ body: String = "", to location: WebURL? = nil, now: Duration = .zero
    ) -> WebURL? {
        robots.didRespond(
            status: status, location: location, body: Array(body.utf8).span, from: .thisMachine,
            now: now)
    }

    private static let file = "User-agent: *\nDisallow: /private/\nCrawl-delay: 2\nSitemap: /map.xml\n"

    @Test mutating func `pages wait until robots.txt is known`() {
        #expect(robots.verdict(on: page) == .waits)
        #expect(robots.nextFetch == .zero)
        #expect(robots.next(now: .zero)?.href == "https://a.test/robots.txt")
        #expect(robots.next(now: .zero) == nil)
        #expect(robots.verdict(on: page) == .waits)
        #expect(robots.nextFetch == nil)
        answer(200, Self.file)
        #expect(robots.verdict(on: page) == .refused(.robots("Disallow: /private/ (line 2)")))
        #expect(robots.nextFetch == nil)
    }

    @Test mutating func `a page without a matching rule is allowed`() throws {
        _ = robots.next(now: .zero)
        answer(200, Self.file)
        let other = try url("https://a.test/public")
        #expect(robots.verdict(on: other) == .allowed)
    }

    @Test(arguments: [
        (200, OriginRobots.Verdict.allowed), (204, .allowed), (304, .allowed), (401, .allowed),
        (403, .allowed),
        (404, .allowed), (410, .allowed), (301, .allowed), (300, .allowed),
        (429, .waits), (408, .waits), (500, .waits), (503, .waits), (100, .waits), (999, .waits),
    ])
    mutating func `a redirect or a 4xx allows everything, and a 408, 429 or 5xx lets pages wait`(
        status: Int, verdict: OriginRobots.Verdict
    ) {
        _ = robots.next(now: .zero)
        answer(status)
        #expect(robots.verdict(on: page) == verdict)
    }

    @Test mutating func `a robots.txt that failed before is requested once, without retries`()
        throws
    {
        robots = OriginRobots(for: page, productToken: "larder", hasFailedBefore: true)
        #expect(robots.next(now: .zero) != nil)
        #expect(robots.verdict(on: page) == .waits)
        answer(500)
        #expect(robots.verdict(on: page) == .refused(.robotsUnknown("the server answered 500")))
        #expect(robots.isUnreachable)
        robots = OriginRobots(for: page, productToken: "larder", hasFailedBefore: true)
        _ = robots.next(now: .zero)
        answer(200, Self.file)
        #expect(robots.verdict(on: page) == .refused(.robots("Disallow: /private/ (line 2)")))
        #expect(!robots.isUnreachable)
    }

    @Test mutating func `up to five redirects are followed, also to other hosts`() throws {
        _ = robots.next(now: .zero)
        for hop in 1...5 {
            let target = try url("http://h\(hop).test/robots.txt")
            #expect(answer(301, to: target) == target)
        }
        #expect(answer(301, to: try url("http://h6.test/robots.txt")) == nil)
        #expect(robots.verdict(on: page) == .allowed)
    }

    @Test mutating func `the robots.txt at the target of a redirect applies to the origin`() throws {
        _ = robots.next(now: .zero)
        answer(302, to: try url("https://www.b.test/robots.txt"))
        answer(200, Self.file)
        #expect(robots.verdict(on: page) == .refused(.robots("Disallow: /private/ (line 2)")))
        #expect(robots.sitemaps.map(\.href) == ["https://a.test/map.xml"])
    }

    @Test mutating func `a redirect to a scheme other than http is not followed`() throws {
        _ = robots.next(now: .zero)
        #expect(answer(301, to: try url("ftp://a.test/robots.txt")) == nil)
        #expect(robots.verdict(on: page) == .allowed)
    }

    @Test
    mutating func
        `an unreachable robots.txt is retried, then refuses pages, and is requested again ten minutes later`()
    {
        var tries: [Duration] = []
        var now: Duration = .zero
        while robots.verdict(on: page) == .waits {
            now = robots.nextFetch ?? now
            if robots.next(now: now) != nil {
                tries.append(now)
                robots.didFail("cannot connect", now: now)
            }
        }
        #expect(tries == [.zero, .seconds(2), .seconds(12), .seconds(42)])
        #expect(robots.verdict(on: page) == .refused(.robotsUnknown("cannot connect")))
        #expect(robots.unreachableSince == .zero)
        #expect(robots.next(now: .seconds(100)) == nil)
        #expect(robots.next(now: .seconds(642)) != nil)
        answer(200, Self.file, now: .seconds(642))
        #expect(robots.verdict(on: page) == .refused(.robots("Disallow: /private/ (line 2)")))
        #expect(robots.unreachableSince == nil)
    }

    @Test mutating func `an error in place of robots.txt is retried twice`() {
        var tries: [Duration] = []
        while robots.verdict(on: page) == .waits, let now = robots.nextFetch, robots.next(now: now) != nil {
            tries.append(now)
            answer(500, now: now)
        }
        #expect(tries == [.zero, .seconds(2), .seconds(12)])
        #expect(robots.verdict(on: page) == .refused(.robotsUnknown("the server answered 500")))
    }

    @Test mutating func `an error in place of robots.txt of a host that only fails is not retried`() {
        _ = robots.next(now: .zero)
        robots.skipRetries()
        answer(500)
        #expect(robots.verdict(on: page) == .refused(.robotsUnknown("the server answered 500")))
    }

    @Test mutating func `after 30 days without a response everything is allowed`() {
        robots = OriginRobots(for: page, productToken: "larder", unreachableSince: .seconds(-29 * 86_400))
        _ = robots.next(now: .zero)
        robots.didFail("cannot connect", now: .zero)
        #expect(robots.verdict(on: page) == .waits)
        robots = OriginRobots(for: page, productToken: "larder", unreachableSince: .seconds(-31 * 86_400))
        _ = robots.next(now: .zero)
        robots.didFail("cannot connect", now: .zero)
        #expect(robots.verdict(on: page) == .allowed)
    }

    @Test mutating func `rules are valid for a day, and longer while they cannot be renewed`() {
        _ = robots.next(now: .zero)
        answer(200, Self.file)
        #expect(robots.next(now: .seconds(86_399)) == nil)
        #expect(robots.next(now: .seconds(86_400)) != nil)
        robots.didFail("timed out", now: .seconds(86_400))
        #expect(robots.verdict(on: page) == .refused(.robots("Disallow: /private/ (line 2)")))
        #expect(robots.next(now: .seconds(86_402)) != nil)
        answer(304, now: .seconds(86_402))
        #expect(robots.verdict(on: page) == .refused(.robots("Disallow: /private/ (line 2)")))
        #expect(robots.next(now: .seconds(100_000)) == nil)
    }

    @Test mutating func `a response of an earlier run expires by its age`() {
        answer(200, Self.file, now: .seconds(-3600))
        #expect(robots.verdict(on: page) != .waits)
        #expect(robots.next(now: .zero) == nil)
        answer(200, Self.file, now: .seconds(-90_000))
        #expect(robots.verdict(on: page) != .waits)
        #expect(robots.next(now: .zero) != nil)
    }

    @Test(
        arguments: [
            ("0", nil, false), ("2", Duration.seconds(2), false), ("0.5", .milliseconds(500), false),
            ("60", .seconds(60), false), ("86400", .seconds(60), true), ("x", nil, false),
        ] as [(String, Duration?, Bool)])
    mutating func `a Crawl-delay is applied up to one minute`(
        delay: String, applied: Duration?, isCapped: Bool
    ) {
        _ = robots.next(now: .zero)
        answer(200, "User-agent: *\nCrawl-delay: \(delay)\n")
        #expect(robots.crawlDelay?.applied == applied)
        #expect(robots.crawlDelay?.isCapped ?? false == isCapped)
    }

    @Test mutating func `if robots.txt is ignored, everything is allowed, and sitemaps are still read`() {
        robots = OriginRobots(for: page, productToken: "larder", obeys: false)
        #expect(robots.verdict(on: page) == .allowed)
        #expect(robots.next(now: .zero) != nil)
        answer(200, Self.file)
        #expect(robots.verdict(on: page) == .allowed)
        #expect(robots.crawlDelay == nil)
        #expect(robots.sitemaps.map(\.href) == ["https://a.test/map.xml"])
    }

    @Test mutating func `the group of the product token takes precedence over the group for all`() {
        _ = robots.next(now: .zero)
        answer(200, "User-agent: Larder\nDisallow: /secret\n\nUser-agent: *\nDisallow: /\n")
        #expect(robots.verdict(on: page) == .allowed)
    }
}
