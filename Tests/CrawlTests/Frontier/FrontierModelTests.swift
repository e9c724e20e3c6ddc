import Testing
import Web

@testable import Crawl
@testable import Fetch

/// Crawls of random sites with failures and redirects, whose responses and links arrive in random order. They must
/// fetch the same URLs as a plain search for shortest paths.
@Suite struct FrontierModelTests {
    /// A crawl that counts the fetches of each URL. The response of a page depends only on its number.
    private struct Walk {
        var frontier: TestFrontier
        var fetches: [String: Int] = [:]
        var running: [UInt32] = []
        var now = Duration.zero
        var random: SeededRandom
        let pageCount: Int
        let hostCount: Int
        /// Links that were found before are reported as numbers from this cache.
        let memory: LinkNumberCache?

        init(
            seed: UInt64, pageCount: Int, hostCount: Int, depth: Int?, memory: LinkNumberCache? = nil
        ) throws {
            self.memory = memory
            random = SeededRandom(seed: seed)
            self.pageCount = pageCount
            self.hostCount = hostCount
            let start = try #require(WebURL("http://h0.test/0"))
            var options = ScopeOptions(include: ["*.test/**"])
            options.depth = depth
            frontier = TestFrontier(
                scope: try Scope(start: [start], options: options), options: Frontier.Options(memory: memory))
            frontier.start(start)
        }

        func url(_ page: Int) throws -> WebURL {
            try #require(WebURL("http://h\(page % hostCount).test/\(page)"))
        }

        static func targets(_ page: Int, of pageCount: Int) -> [Int] {
            (0..<4).map { Int(Mixing.mix(UInt64(page * 4 + $0)) % UInt64(pageCount)) }
        }

        static func isGone(_ page: Int) -> Bool { page % 11 == 5 }
        static func isMoved(_ page: Int) -> Bool { page % 13 == 6 && !isGone(page) }
        /// Whether the page responds with 503 once or twice before it succeeds.
        static func isShaky(_ page: Int) -> Bool { page % 5 == 2 }

        mutating func run() throws {
            var idle = 0
            while !frontier.isDone {
                while case .fetch(let number)? = frontier.next(now: now) {
                    running.append(number)
                    fetches[frontier.url(number).href, default: 0] += 1
                }
                if running.isEmpty {
                    now = try #require(frontier.nextDue)
                    idle += 1
                    try #require(idle < 100_000)
                } else {
                    now += .milliseconds(1)
                    let place = Int(random.next() % UInt64(running.count))
                    try answer(running.remove(at: place))
                }
            }
        }

        private mutating func answer(_ number: UInt32) throws {
            let url = frontier.url(number)
            let page = Int(url.path.dropFirst()) ?? 0
            if Self.isShaky(page), frontier.entry(number).attempts < 2 + page % 2 {
                return frontier.fail(number, .status(503), after: .milliseconds(1), now: now)
            }
            if Self.isGone(page) { return frontier.fail(number, .status(404), now: now) }
            if Self.isMoved(page) {
                _ = frontier.redirect(number, to: try self.url(Self.targets(page, of: pageCount)[0]))
                return
            }
            frontier.succeed(number, after: .milliseconds(1))
            let links = try Self.targets(page, of: pageCount).shuffled(using: &random).map { target in
                let key = Mixing.mix(UInt64(target) &+ 1)
                let known = memory?.number(key).map { FoundLink.Target.number($0) }
                return FoundLink(target: try known ?? .url(self.url(target), remember: key), role: .page)
            }
            frontier.apply(.scanned(ScanResult(number: number, byteCount: 0, links: links)), now: now)
        }

        /// The number of links on the shortest path from the start to each page. Redirects do not count.
        func depths() -> [Int: Int] {
            var depths = [0: 0]
            var queue = [(0, 0)]
            while !queue.isEmpty {
                let (page, depth) = queue.removeFirst()
                guard depths[page] == depth, !Self.isGone(page) else { continue }
                let targets = Self.targets(page, of: pageCount)
                let isMoved = Self.isMoved(page)
                for target in isMoved ? Array(targets.prefix(1)) : targets {
                    let further = depth + (isMoved ? 0 : 1)
                    guard further < depths[target] ?? .max else { continue }
                    depths[target] = further
                    // The queue stays sorted by depth: a redirect does not add to the depth.
                    if isMoved {
                        queue.insert((target, further), at: 0)
                    } else {
                        queue.append((target, further))
                    }
                }
            }
            return depths
        }
    }

    @Test(arguments: [(1, 1), (2, 3), (3, 49), (4, 400)], [false, true])
    func `every reachable URL is fetched, with retries where needed`(
        run: (seed: UInt64, hosts: Int), remembers: Bool
    ) throws {
        var walk = try Walk(
            seed: run.seed, pageCount: 400, hostCount: run.hosts, depth: nil,
            memory: remembers ? LinkNumberCache() : nil)
        try walk.run()
        let reached = walk.depths().keys
        #expect(Set(walk.fetches.keys) == Set(try reached.map { try walk.url($0).href }))
        for (href, count) in walk.fetches {
            let page = Int(href.split(separator: "/").last ?? "") ?? 0
            #expect(count == (Walk.isShaky(page) ? 2 + page % 2 : 1), "\(href)")
        }
        #expect(walk.frontier.runningCount == 0)
        #expect(
            walk.frontier.entries.allSatisfy {
                $0.state != .queued && $0.state != .running && $0.state != .waiting
            })
    }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5], [false, true])
    func `the depth is that of the shortest path, whatever the order of responses`(
        seed: UInt64, remembers: Bool
    ) throws {
        var walk = try Walk(
            seed: seed, pageCount: 400, hostCount: 7, depth: 4, memory: remembers ? LinkNumberCache() : nil)
        try walk.run()
        let near = walk.depths().filter { $0.value <= 4 }.keys
        #expect(Set(walk.fetches.keys) == Set(try near.map { try walk.url($0).href }))
    }

    @Test func `10,000 hosts that cannot start a request take no time in next`() throws {
        let start = try #require(WebURL("http://h.test/"))
        let options = Frontier.Options(connectionsPerHost: 1, productToken: "larder")
        let frontier = TestFrontier(
            scope: try Scope(start: [start], options: ScopeOptions(include: ["*.test/**"])), options: options)
        frontier.start(start)
        let hosts = 10_000
        for host in 0..<hosts {
            for page in 0..<3 {
                frontier.addLink(
                    FoundLink(url: try #require(WebURL("http://h\(host).test/\(page)")), role: .page), from: 0
                )
            }
        }
        var now = Duration.zero
        var steps = 0
        var robots = 0
        while !frontier.isDone {
            switch frontier.next(now: now) {
            case .fetch(let number)?:
                steps += 1
                // Every third request fails with Retry-After, which pauses its host for a second.
                if steps % 3 == 0, frontier.entry(number).attempts == 1 {
                    frontier.fail(number, .status(503), after: .zero, retryAfter: .seconds(1), now: now)
                } else {
                    frontier.succeed(number, after: .zero)
                }
            case .robots(let host, _, _)?:
                robots += 1
                frontier.apply(.robots(host: host, .answered(status: 404, from: .thisMachine)), now: now)
            case .probe?, .sessionCheck?, .render?:
                Issue.record("unexpected task")
            case nil:
                now = max(now + .microseconds(10), frontier.nextDue ?? now)
            }
        }
        #expect(robots == hosts + 1)
        #expect(frontier.doneCount == hosts * 3 + 1)
    }
}
