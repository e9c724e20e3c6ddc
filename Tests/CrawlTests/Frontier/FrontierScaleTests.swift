import Glibc
import Testing
import Web

@testable import Crawl
@testable import Fetch

/// Crawls of many hosts in simulated time, which print the memory and CPU time per URL. The default is small; for the
/// figures in docs/scale.md:
///
///     LARDER_FRONTIER_URLS=1000000 scripts/test --filter FrontierScaleTests
@Suite struct FrontierScaleTests {
    private static let urlCount = getenv("LARDER_FRONTIER_URLS").flatMap { Int(String(cString: $0)) } ?? 5000

    @Test func `a crawl of many hosts with failures fetches every page of the working hosts`() throws {
        let web = SimulatedWeb(urlCount: Self.urlCount, hostCount: max(1, Self.urlCount / 100))
        let memoryBefore = try Self.memory()
        let timeBefore = Self.cpuSeconds()
        var crawl = try SimulatedCrawl(of: web)
        try crawl.run()
        #expect(crawl.fetchedCount == web.expectedFetches)
        #expect(crawl.frontier.runningCount == 0)
        guard getenv("LARDER_FRONTIER_URLS") != nil else { return }
        let memory = try Self.memory()
        let seconds = Self.cpuSeconds() - timeBefore
        let count = Double(crawl.frontier.progress(now: crawl.now).known)
        print(
            """
            \(Int(count)) URLs on \(web.hostCount) hosts, \(crawl.requestCount) requests: \
            \(Int(crawl.now / .seconds(1))) s of simulated time, \(Int(seconds * 10) / 10) s of CPU time \
            (\(Int(seconds / count * 1e6)) µs per URL), peak memory \(memory.peak / 1_000_000) MB \
            (\(Int(Double(memory.peak - memoryBefore.current) / count)) bytes per URL), \
            at most \(crawl.maxQueued) URLs queued
            """)
    }

    /// The resident memory of this process in bytes.
    private static func memory() throws -> (current: Int, peak: Int) {
        let file = try #require(fopen("/proc/self/status", "r"))
        defer { fclose(file) }
        var found: [String: Int] = [:]
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                .split { $0 == ":" || $0 == " " || $0 == "\t" }
            if words.count > 1, let kilobytes = Int(words[1]) { found[String(words[0])] = kilobytes * 1024 }
        }
        return (try #require(found["VmRSS"]), try #require(found["VmHWM"]))
    }

    private static func cpuSeconds() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) / 1e6
    }
}

/// Hosts whose numbers of pages follow a power law. The pages of a host form a tree with eight children per page, with
/// links across. The root pages of the hosts form such a tree too.
private struct SimulatedWeb {
    let pageCounts: [Int]

    private static let children = 8

    var hostCount: Int { pageCounts.count }

    /// - Parameter urlCount: the approximate number of pages of all hosts.
    init(urlCount: Int, hostCount: Int) {
        let weights = (1...hostCount).map { pow(Double($0), -0.9) }
        let scale = Double(urlCount - hostCount) / weights.reduce(0, +)
        pageCounts = weights.map { 1 + Int($0 * scale) }
    }

    /// The pages of the working hosts, without missing ones.
    var expectedFetches: Int {
        (0..<hostCount).filter { !isDead($0) }.reduce(0) { count, host in
            count + (0..<pageCounts[host]).count { !isMissing(host, $0) }
        }
    }

    func url(_ host: Int, _ page: Int) throws -> WebURL {
        try #require(
            WebURL("https://h\(host).test/\(page == 0 ? "" : "section-\(page % 97)/page-\(page).html")"))
    }

    func location(of url: WebURL) -> (host: Int, page: Int) {
        let host = url.host.utf8.dropFirst().prefix { $0 != UInt8(ascii: ".") }
        let page = url.path.utf8.dropLast(".html".utf8.count).reversed().prefix { $0 != UInt8(ascii: "-") }
        return (Self.number(host), Self.number(page.reversed()))
    }

    private static func number(_ digits: some Sequence<UInt8>) -> Int {
        digits.reduce(0) { $0 * 10 + Int($1 & 0xF) }
    }

    func links(_ host: Int, _ page: Int) throws -> [WebURL] {
        let count = pageCounts[host]
        var links = try (page * Self.children + 1...page * Self.children + Self.children).filter {
            $0 < count
        }
        .map { try url(host, $0) }
        links += try [page / 2, page / 3, page * 7 % count].map { try url(host, $0) }
        if page == 0 {
            links += try (host * Self.children + 1...host * Self.children + Self.children)
                .filter { $0 < hostCount }.map { try url($0, 0) }
        } else {
            links.append(try url(Int(hash(host, page) % UInt64(hostCount)), 0))
        }
        return links
    }

    /// Whether the host never responds. Only hosts whose root pages lead to no other host are dead.
    func isDead(_ host: Int) -> Bool { host * Self.children + 1 >= hostCount && hash(host, 0) % 50 == 7 }

    /// Whether the page does not exist. Only pages without children are missing.
    func isMissing(_ host: Int, _ page: Int) -> Bool {
        page > 0 && page * Self.children + 1 >= pageCounts[host] && hash(host, page) % 50 == 3
    }

    /// Whether the first request for the page fails.
    func isBusy(_ host: Int, _ page: Int) -> Bool { page > 0 && hash(host, page) % 97 == 5 }

    /// Between 10 ms and 2 s, mostly similar for the pages of a host.
    func latency(_ host: Int, _ page: Int) -> Duration {
        Duration.milliseconds(10 << Int(hash(host, 0) % 8)) * (1 + Double(hash(host, page) % 64) / 128)
    }

    func multiplexes(_ host: Int) -> Bool { !hash(host, 1).isMultiple(of: 3) }

    private func hash(_ host: Int, _ page: Int) -> UInt64 {
        Mixing.mix(UInt64(host) << 32 | UInt64(page))
    }
}

/// A crawl of a simulated web. Responses arrive after their latency, and the time jumps to the next event.
private struct SimulatedCrawl {
    let web: SimulatedWeb
    let frontier: TestFrontier
    private(set) var now = Duration.zero
    private(set) var fetchedCount = 0
    private(set) var requestCount = 0
    private(set) var maxQueued = 0
    /// The running requests, by the time of their response.
    private var responses = TimedQueue()
    private var robots = TimedQueue()
    private var robotsHosts: [Int: Int] = [:]

    init(of web: SimulatedWeb) throws {
        self.web = web
        let start = try web.url(0, 0)
        var options = Frontier.Options()
        options.productToken = "larder"
        frontier = TestFrontier(
            scope: try Scope(start: [start], options: ScopeOptions(include: ["*.test/**"])), options: options)
        frontier.start(start)
    }

    mutating func run() throws {
        while !frontier.isDone {
            while let task = frontier.next(now: now) { try start(task) }
            // `nextDue` may be over if the maximum number of requests is running.
            let due = frontier.nextDue.flatMap { $0 > now ? $0 : nil }
            let times = [responses.next, robots.next, due].compactMap { $0 }
            now = try #require(times.min(), "the crawl is not done, but nothing is due")
            while let host = robots.popDue(now: now) { endRobots(Int(host)) }
            while let number = responses.popDue(now: now) { try end(number) }
            // The progress takes time in proportion to the number of hosts.
            if requestCount.isMultiple(of: max(64, web.hostCount)) {
                maxQueued = max(maxQueued, frontier.progress(now: now).queuedPages)
            }
        }
    }

    private mutating func start(_ task: Frontier.Task) throws {
        switch task {
        case .fetch(let number):
            let (host, page) = web.location(of: frontier.url(number))
            requestCount += 1
            responses.add(number, at: now + web.latency(host, page))
        case .robots(let number, let url, _):
            let host = web.location(of: url).host
            robotsHosts[number] = host
            robots.add(UInt32(number), at: now + web.latency(host, 0))
        case .probe(let host, _, _): frontier.apply(.probed(host: host, nil), now: now)
        case .sessionCheck, .render: Issue.record("unexpected task \(task)")
        }
    }

    private mutating func endRobots(_ number: Int) {
        let isDead = robotsHosts.removeValue(forKey: number).map(web.isDead) ?? true
        let failure = FetchFailure(.unreachable, "no route")
        frontier.apply(
            .robots(host: number, isDead ? .failed(failure) : .answered(status: 404, from: .publicNetwork)),
            now: now)
    }

    private mutating func end(_ number: UInt32) throws {
        let (host, page) = web.location(of: frontier.url(number))
        let latency = web.latency(host, page)
        func fail(_ failure: Failure) { frontier.fail(number, failure, after: latency, now: now) }
        if web.isDead(host) { return fail(.fetch(FetchFailure(.unreachable, "no route"))) }
        if web.isMissing(host, page) { return fail(.status(404)) }
        if web.isBusy(host, page), frontier.entry(number).attempts < 2 { return fail(.status(503)) }
        fetchedCount += 1
        let multiplexes = web.multiplexes(host)
        frontier.apply(.connected(number, from: .publicNetwork, multiplexes: multiplexes), now: now)
        frontier.apply(.succeeded(number, after: latency), now: now)
        let links = try web.links(host, page).map { FoundLink(url: $0, role: .page) }
        frontier.apply(.scanned(ScanResult(number: number, byteCount: 0, links: links)), now: now)
    }
}
