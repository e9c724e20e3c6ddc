import Store
import TestOrigin
import Testing
import Web

@testable import Crawl
@testable import Fetch

@Suite struct FrontierTests {
    private var frontier: TestFrontier

    init() throws {
        let start = try #require(WebURL("http://a.test/"))
        frontier = TestFrontier(
            scope: Scope(start: [start]), options: Frontier.Options(connectionsPerHost: 8))
        frontier.start(start)
    }

    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    private func link(_ text: String, _ role: Frontier.Role, isGuess: Bool = false) throws -> FoundLink {
        FoundLink(url: try url(text), role: role, isGuess: isGuess)
    }

    /// Fetches all URLs that can be fetched, successfully, and returns them in order.
    private mutating func drain(now: Duration = .zero) -> [String] {
        var fetched: [String] = []
        while let number = frontier.fetchNext(now: now) {
            fetched.append(frontier.url(number).href)
            frontier.succeed(number)
        }
        return fetched
    }

    @Test mutating func `each URL is fetched once, however many links it has`() throws {
        #expect(drain() == ["http://a.test/"])
        for _ in 1...3 {
            frontier.addLink(try link("http://a.test/b", .page), from: 0)
            frontier.addLink(try link("http://a.test/", .page), from: 0)
        }
        #expect(drain() == ["http://a.test/b"])
        #expect(frontier.isDone)
    }

    /// The frontier passes each URL to the store once, and afterwards only its number.
    @Test
    mutating func `the store receives the URL of a link again if the first page with it was not stored`()
        throws
    {
        _ = drain()
        var result = ScanResult(number: 0, byteCount: 0, links: [try link("http://a.test/b", .page)])
        result.isLeftOut = true
        #expect(frontier.apply(.scanned(result), now: .zero).isEmpty)
        result.isLeftOut = false
        let actions = frontier.apply(.scanned(result), now: .zero)
        guard case .storeLinks(let links)? = actions.first else { throw TestError("no links are stored") }
        #expect(links.pages.map(\.href) == ["http://a.test/b"])
    }

    @Test mutating func `assets go before the next page`() throws {
        _ = drain()
        frontier.addLink(try link("http://a.test/page", .page), from: 0)
        frontier.addLink(try link("http://a.test/style.css", .asset), from: 0)
        #expect(drain() == ["http://a.test/style.css", "http://a.test/page"])
    }

    /// Replaces the frontier with one that has a page limit.
    private mutating func setPageLimit(includesViews: Bool = false) throws {
        let start = try url("http://a.test/")
        var scope = ScopeOptions()
        scope.includesViews = includesViews
        frontier = TestFrontier(
            scope: try Scope(start: [start], options: scope),
            options: Frontier.Options(connectionsPerHost: 8, limits: CrawlLimits(pages: 100)))
        frontier.start(start)
    }

    @Test mutating func `new pages go before other queries of a known page`() throws {
        try setPageLimit()
        _ = drain()
        for link in ["list", "list?sort=name", "list?sort=date", "item?id=1", "about"] {
            frontier.addLink(try self.link("http://a.test/\(link)", .page), from: 0)
        }
        #expect(
            drain() == [
                "http://a.test/list", "http://a.test/item?id=1", "http://a.test/about",
                "http://a.test/list?sort=date", "http://a.test/list?sort=name",
            ])
    }

    @Test mutating func `all queries of a known page go after other pages, because they may be views of it`()
        throws
    {
        try setPageLimit()
        _ = drain()
        let links = ["topic"] + (1...20).map { "topic?id=\($0)" } + ["other"]
        for link in links { frontier.addLink(try self.link("http://a.test/\(link)", .page), from: 0) }
        let fetched = drain()
        #expect(fetched.prefix(2) == ["http://a.test/topic", "http://a.test/other"])
        #expect(fetched.count == links.count)
    }

    @Test mutating func `if views are wanted, only the first queries of a page go after other pages`() throws
    {
        try setPageLimit(includesViews: true)
        _ = drain()
        let links = ["topic"] + (1...20).map { "topic?id=\($0)" } + ["other"]
        for link in links { frontier.addLink(try self.link("http://a.test/\(link)", .page), from: 0) }
        let fetched = drain()
        #expect(
            fetched.prefix(6).map { $0.dropFirst("http://a.test/".count) } == [
                "topic", "topic?id=17", "topic?id=18", "topic?id=19", "topic?id=20", "other",
            ])
        #expect(fetched.count == links.count)
    }

    @Test mutating func `pages outside the scope are skipped with a reason, assets are not`() throws {
        _ = drain()
        frontier.addLink(try link("http://b.test/page", .page), from: 0)
        frontier.addLink(try link("http://b.test/image", .asset), from: 0)
        frontier.addLink(try link("ftp://a.test/file", .page), from: 0)
        #expect(drain() == ["http://b.test/image"])
        #expect(frontier.entries.map(\.state) == [.done, .skipped(.otherHost), .done, .skipped(.scheme)])
    }

    @Test mutating func `a page that a document needs becomes an asset, and is fetched once`() throws {
        _ = drain()
        frontier.addLink(try link("http://b.test/frame", .page), from: 0)
        #expect(drain() == [])
        frontier.addLink(try link("http://b.test/frame", .asset), from: 0)
        frontier.addLink(try link("http://a.test/frame", .page), from: 0)
        frontier.addLink(try link("http://a.test/frame", .asset), from: 0)
        #expect(drain() == ["http://b.test/frame", "http://a.test/frame"])
    }

    @Test mutating func `the pace of a host limits its requests, and other hosts do not wait`()
        throws
    {
        _ = drain()
        for number in 0..<10 { frontier.addLink(try link("http://a.test/\(number)", .page), from: 0) }
        frontier.addLink(try link("http://b.test/image", .asset), from: 0)
        var hosts: [String] = []
        while let number = frontier.fetchNext(now: .zero) { hosts.append(frontier.url(number).host) }
        #expect(hosts.count { $0 == "a.test" } == 4)
        #expect(hosts.contains("b.test"))
        #expect(!frontier.isDone)
    }

    @Test mutating func `the total number of running requests is limited`() throws {
        _ = drain()
        for number in 0..<500 { frontier.addLink(try link("http://h\(number).test/", .asset), from: 0) }
        var running: [UInt32] = []
        while let number = frontier.fetchNext(now: .zero) { running.append(number) }
        #expect(running.count == Frontier.maxRunningRequests)
        frontier.succeed(running[0])
        #expect(frontier.fetchNext(now: .zero) != nil)
    }

    @Test mutating func `a URL blocked for one referrer is fetched when an allowed referrer links to it`()
        throws
    {
        frontier.startGuess(try url("http://127.0.0.1/a.png"), isPage: false, nearestZone: .publicNetwork)
        let refusal = Failure.fetch(FetchFailure(.refused, "a public page may not request it"))
        let (start, refused): (UInt32, UInt32) = (0, 1)
        while let number = frontier.fetchNext(now: .zero) {
            if number == refused {
                frontier.fail(number, refusal, now: .zero)
            } else {
                frontier.connect(number, in: .thisMachine)
                frontier.succeed(number)
            }
        }
        #expect(frontier.isDone)
        #expect(frontier.progress(now: .zero).failed == 0)
        frontier.addLink(try link("http://127.0.0.1/a.png", .asset), from: start)
        #expect(frontier.fetchNext(now: .zero) == refused)
        #expect(frontier.nearestZone(refused) == .thisMachine)
        frontier.fail(refused, .status(403), now: .zero)
        frontier.addLink(try link("http://127.0.0.1/a.png", .asset), from: start)
        #expect(frontier.isDone)
        #expect(frontier.progress(now: .zero).failed == 1)
    }

    @Test(
        arguments: [
            (.status(404), 0), (.status(410), 0), (.softNotFound, 0), (.status(403), 1), (.redirects, 1),
        ] as [(Failure, Int)])
    mutating func `URLs that the live site does not have do not count as failed during a run`(
        failure: Failure, count: Int
    ) throws {
        _ = drain()
        func progress() -> Int { frontier.progress(now: .zero).failed }
        frontier.addLink(try link("http://a.test/b", .asset, isGuess: true), from: 0)
        let number = try #require(frontier.fetchNext(now: .zero))
        frontier.fail(number, failure, now: .zero)
        #expect(progress() == 0, "a guess need not exist")
        frontier.addLink(try link("http://a.test/b", .asset), from: 0)
        #expect(progress() == count)
        frontier.addLink(try link("http://a.test/c", .page), from: 0)
        let other = try #require(frontier.fetchNext(now: .zero))
        frontier.fail(other, failure, now: .zero)
        #expect(progress() == 2 * count)
    }

    @Test
    mutating func `a link from a nearer zone counts while the request is running, also through a redirect`()
        throws
    {
        let refusal = Failure.fetch(FetchFailure(.refused, "a public page may not request it"))
        #expect(frontier.fetchNext(now: .zero) == 0)
        for name in ["a", "b"] {
            frontier.startGuess(
                try url("http://127.0.0.1/\(name)"), isPage: false, nearestZone: .publicNetwork)
            #expect(frontier.fetchNext(now: .zero) != nil)
        }
        frontier.fail(2, refusal, now: .zero)
        frontier.connect(0, in: .thisMachine)
        frontier.addLink(try link("http://127.0.0.1/a", .asset), from: 0)
        #expect(frontier.redirect(0, to: try url("http://127.0.0.1/b")))
        #expect(frontier.fetchNext(now: .zero) == 2)
        frontier.succeed(2)
        for _ in 0..<2 {
            frontier.fail(1, refusal, now: .zero)
            guard frontier.fetchNext(now: .zero) != nil else { break }
        }
        #expect(frontier.isDone)
        #expect(frontier.entries.map(\.state) == [.redirected, .failed(refusal), .done])
        #expect(frontier.entry(1).attempts == 2)
    }

    /// `chain` has the network zone of each response in a chain of redirects.
    @Test(
        arguments: [
            ([.publicNetwork], .publicNetwork), ([.thisMachine], .thisMachine),
            ([.privateNetwork, .publicNetwork], .publicNetwork),
            ([.privateNetwork, .thisMachine], .privateNetwork),
        ] as [([NetworkZone], NetworkZone)])
    mutating func `a sitemap is requested only from the most public zone of the chain of its robots.txt`(
        chain: [NetworkZone], expected: NetworkZone
    ) throws {
        frontier = TestFrontier(
            scope: Scope(start: [try url("http://a.test/")]),
            options: Frontier.Options(productToken: "larder"))
        frontier.start(try url("http://a.test/"))
        guard case .robots(let host, _, .thisMachine)? = frontier.next(now: .zero) else {
            Issue.record("a start allows its robots.txt")
            return
        }
        for (place, zone) in chain.dropLast().enumerated() {
            let target = try url("http://a.test/robots\(place).txt")
            let actions = frontier.apply(
                .robots(host: host, .answered(status: 301, location: target, from: zone)), now: .zero)
            guard case .startTask(.robots(host, target, zone))? = actions.first else {
                Issue.record("\(actions)")
                return
            }
        }
        let body = Array("Sitemap: http://127.0.0.1:8099/x".utf8)
        frontier.apply(
            .robots(host: host, .answered(status: 200, body: body, from: try #require(chain.last))),
            now: .zero)
        let sitemap = try #require(frontier.number(of: try url("http://127.0.0.1:8099/x")))
        #expect(frontier.nearestZone(sitemap) == expected)
    }

    @Test mutating func `the probe of a host is limited by the zone of the page that gave the reason`() throws
    {
        #expect(frontier.fetchNext(now: .zero) == 0)
        frontier.connect(0, in: .publicNetwork)
        frontier.succeed(0)
        frontier.addLink(try link("http://a.test/gone", .page), from: 0)
        #expect(frontier.fetchNext(now: .zero) == 1)
        frontier.connect(1, in: .publicNetwork)
        frontier.succeed(1)
        var scan = ScanResult(number: 1, byteCount: 0)
        scan.print = ContentPrint(text: "There is no such page".utf8.span)
        scan.saysNotFound = true
        frontier.apply(.scanned(scan), now: .zero)
        guard case .probe(_, _, let zone)? = frontier.next(now: .zero) else {
            Issue.record("no probe")
            return
        }
        #expect(zone == .publicNetwork, "the start URL was allowed on this machine")
    }

    @Test mutating func `reused responses do not change the host's pace`() throws {
        _ = drain()
        for number in 0..<50 { frontier.addLink(try link("http://a.test/\(number)", .page), from: 0) }
        for _ in 0..<20 {
            let number = frontier.fetchNext(now: .zero)
            frontier.reuse(try #require(number))
        }
        var running = 0
        while frontier.fetchNext(now: .zero) != nil { running += 1 }
        #expect(running == 4)
    }

    @Test mutating func `a temporary failure is retried a limited number of times`() throws {
        let failure = Failure.status(503)
        var now: Duration = .zero
        var attempts = 0
        while !frontier.isDone {
            if let number = frontier.fetchNext(now: now) {
                attempts += 1
                frontier.fail(number, failure, now: now)
                #expect(frontier.fetchNext(now: now) == nil)
            } else {
                now = try #require(frontier.nextDue)
            }
        }
        #expect(attempts == 4)
        #expect(now >= .milliseconds(1750) && now < .milliseconds(3500))
        #expect(frontier.state(0) == .failed(failure))
    }

    @Test(arguments: [Failure.status(404), .status(410), .status(403), .fetch(FetchFailure(.insecure, ""))])
    mutating func `a permanent failure is not retried`(failure: Failure) throws {
        let number = frontier.fetchNext(now: .zero)
        frontier.fail(try #require(number), failure, now: .zero)
        #expect(frontier.isDone)
        #expect(frontier.state(0) == .failed(failure))
    }

    /// Redirects the next request. Returns false if there is none, or if the redirect is not followed.
    private mutating func redirectNext(to target: String?) throws -> Bool {
        guard let number = frontier.fetchNext(now: .zero) else { return false }
        return frontier.redirect(number, to: try target.map(url))
    }

    @Test mutating func `redirects are followed, and a chain that is too long fails`() throws {
        var hops = 0
        while try redirectNext(to: "http://a.test/\(hops)") { hops += 1 }
        #expect(hops == 20)
        #expect(frontier.isDone)
        #expect(frontier.state(0) == .redirected)
        #expect(frontier.entries.last?.state == .failed(.redirects))
    }

    @Test mutating func `a redirect loop, or a redirect without a target, fails`() throws {
        #expect(try redirectNext(to: "http://a.test/b"))
        #expect(try redirectNext(to: "http://a.test/c"))
        #expect(try !redirectNext(to: "http://a.test/b"))
        #expect(frontier.entries.map(\.state) == [.redirected, .redirected, .failed(.redirects)])
        frontier.addLink(try link("http://a.test/self", .page), from: 0)
        #expect(try !redirectNext(to: "http://a.test/self"))
        frontier.addLink(try link("http://a.test/nowhere", .page), from: 0)
        #expect(try !redirectNext(to: nil))
        #expect(
            frontier.entries.map(\.state).suffix(2) == [.failed(.redirects), .failed(.redirectWithoutTarget)])
        #expect(frontier.isDone)
    }

    @Test mutating func `the redirect target of an asset is an asset`() throws {
        _ = drain()
        frontier.addLink(try link("http://a.test/image", .page), from: 0)
        #expect(try redirectNext(to: "http://cdn.test/image"))
        #expect(drain() == [])
        #expect(frontier.state(2) == .skipped(.otherHost))
        frontier.addLink(try link("http://a.test/image", .asset), from: 0)
        #expect(drain() == ["http://cdn.test/image"])
    }

    @Test mutating func `a start URL that redirects to another host extends the site`() throws {
        frontier.addLink(try link("http://www.a.test/a", .page), from: 0)
        #expect(frontier.state(1) == .skipped(.otherHost))
        #expect(try redirectNext(to: "http://www.a.test/"))
        #expect(Set(drain()) == ["http://www.a.test/", "http://www.a.test/a"])
        frontier.addLink(try link("http://www.a.test/b", .page), from: 1)
        #expect(try redirectNext(to: "http://c.test/"))
        #expect(frontier.entries.last?.state == .skipped(.otherHost))
    }

    @Test mutating func `a guess that a document links to is no longer a guess`() throws {
        _ = drain()
        frontier.addLink(try link("http://a.test/a", .asset, isGuess: true), from: 0)
        frontier.addLink(try link("http://a.test/b", .asset, isGuess: true), from: 0)
        frontier.addLink(try link("http://a.test/b", .asset), from: 0)
        frontier.addLink(try link("http://a.test/b", .asset, isGuess: true), from: 0)
        #expect(frontier.entries.map(\.isGuess) == [false, true, false])
    }

    @Test mutating func `the chain contains the URLs from the start URL to the referrer`() throws {
        _ = drain()
        frontier.addLink(try link("http://a.test/b", .page), from: 0)
        frontier.addLink(try link("http://a.test/c", .asset), from: 1)
        #expect(frontier.chain(to: 2).map(\.path) == ["/", "/b", "/c"])
        for number in 3..<100 {
            frontier.addLink(try link("http://a.test/\(number)", .page), from: UInt32(number - 1))
        }
        let chain = frontier.chain(to: 99).map(\.path)
        #expect(chain.count == 32)
        #expect([chain[0], chain[1], chain[31]] == ["/", "/69", "/99"])
    }
}

/// With a session, a redirect may go to a login page in place of the page. The frontier stores it only after its
/// target has been scanned.
@Suite struct FrontierRedirectTests {
    private var frontier: TestFrontier

    init() throws {
        let start = try #require(WebURL("http://a.test/"))
        frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options(hasSession: true))
        frontier.start(start)
        #expect(frontier.next(now: .zero) == .fetch(0))
        frontier.succeed(0)
        let page = try #require(WebURL("http://a.test/page"))
        #expect(frontier.addLink(FoundLink(url: page, role: .page), from: 0) == 1)
        #expect(frontier.next(now: .zero) == .fetch(1))
    }

    private mutating func redirect(_ number: UInt32, to text: String, isReused: Bool = false) -> [String] {
        let redirection = Frontier.Redirection(target: WebURL(text), isReused: isReused)
        return describe(frontier.apply(.redirected(number, redirection), now: .zero))
    }

    /// The actions as text, without `storeLinks`.
    private func describe(_ actions: [Frontier.Action]) -> [String] {
        actions.compactMap { action in
            switch action {
            case .storeRedirect(let number): "keep \(number)"
            case .discardRedirect(let number): "discard \(number)"
            case .storeLinks: nil
            case .startTask, .assignNumbers, .failedWithHost, .cancel: "\(action)"
            }
        }
    }

    @Test(arguments: [
        (
            ScanResult.Login?.none, ["keep 1", "keep 2"],
            [Frontier.EntryState.redirected, .redirected, .done]
        ),
        (.atLoginURL, ["discard 1", "discard 2"], [.failed(.login("http://a.test/c")), .done]),
        (.inPlaceOfPage, ["discard 1", "discard 2"], [.failed(.login("http://a.test/c"))]),
    ])
    mutating func `a redirect is stored once its target is known not to be a login page`(
        login: ScanResult.Login?, expected: [String], states: [Frontier.EntryState]
    ) throws {
        #expect(redirect(1, to: "http://a.test/b") == [])
        #expect(frontier.next(now: .zero) == .fetch(2))
        #expect(redirect(2, to: "http://a.test/c") == [])
        #expect(frontier.next(now: .zero) == .fetch(3))
        frontier.succeed(3)
        frontier.apply(.scanning(3), now: .zero)
        var result = ScanResult(number: 3, byteCount: 0)
        result.login = login
        let actions = describe(frontier.apply(.scanned(result), now: .zero))
        #expect(actions.sorted() == expected)
        #expect(Set(frontier.entries.dropFirst().map { "\($0.state)" }) == Set(states.map { "\($0)" }))
        #expect(describe(frontier.apply(.ended, now: .zero)) == [])
    }

    @Test mutating func `redirects with unknown targets are stored at the end, and reused ones at once`()
        throws
    {
        #expect(redirect(1, to: "http://a.test/b") == [])
        #expect(frontier.next(now: .zero) == .fetch(2))
        #expect(redirect(2, to: "http://a.test/c", isReused: true) == ["keep 2"])
        #expect(describe(frontier.apply(.ended, now: .zero)) == ["keep 1"])
    }

    @Test mutating func `a redirect without a target does not replace a stored response`() throws {
        #expect(describe(frontier.apply(.redirected(1, .init(target: nil)), now: .zero)) == ["discard 1"])
        #expect(frontier.state(1) == .failed(.redirectWithoutTarget))
    }

    @Test mutating func `a login page at a start URL does not mean a lost session`() throws {
        let start = try #require(WebURL("http://a.test/start"))
        frontier.start(start)
        #expect(frontier.next(now: .zero) == .fetch(2))
        #expect(redirect(2, to: "http://a.test/b") == ["keep 2"])
    }
}

@Suite struct FrontierTimeTests {
    @Test func `a time before the latest one is replaced by the latest`() throws {
        let frontier = TestFrontier(scope: Scope(start: []))
        frontier.start(try #require(WebURL("http://a.test/")))
        #expect(frontier.next(now: .seconds(5)) == .fetch(0))
        frontier.fail(0, .status(503), now: .zero)
        let due = try #require(frontier.nextDue)
        #expect(due > .seconds(5))
        #expect(frontier.next(now: due) == .fetch(0))
    }
}
