import Store
import Testing
import Web

@testable import Cluster
@testable import Crawl
@testable import Fetch

/// The frontier of one of several workers, which share a crawl.
@Suite struct FrontierSharingTests {
    private var frontier: TestFrontier
    private var options = Frontier.Options()

    init() throws {
        let start = try #require(WebURL("http://a.test/"))
        options.isShared = true
        let scope = ScopeOptions(extent: .domain)
        frontier = TestFrontier(scope: try Scope(start: [start], options: scope), options: options)
    }

    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    private func link(_ text: String, _ role: Frontier.Role = .page) throws -> FoundLink {
        FoundLink(url: try url(text), role: role, isGuess: false)
    }

    /// Another worker discovers a URL.
    private mutating func discoverRemotely(
        _ text: String, from referrer: String? = nil, _ facts: Frontier.RemoteDiscovery.Facts = .init()
    ) throws {
        frontier.apply(
            .discoveredRemotely(.init(url: try url(text), referrer: try referrer.map(url), facts: facts)),
            now: .zero)
    }

    private mutating func fetchNext() -> UInt32? {
        if case .fetch(let number)? = frontier.next(now: .zero) { number } else { nil }
    }

    /// Fetches all URLs that can be fetched, successfully, and returns them in order.
    private mutating func drain() -> [String] {
        var fetched: [String] = []
        while let number = fetchNext() {
            fetched.append(frontier.url(number).href)
            frontier.apply(.succeeded(number), now: .zero)
        }
        return fetched
    }

    private mutating func start() throws {
        frontier.apply(.leaseGranted(["http://a.test"]), now: .zero)
        var facts = Frontier.RemoteDiscovery.Facts()
        facts.isStart = true
        facts.nearestZone = .thisMachine
        try discoverRemotely("http://a.test/", facts)
    }

    private mutating func discoverRemotely(_ text: String, _ facts: Frontier.RemoteDiscovery.Facts) throws {
        try discoverRemotely(text, from: nil, facts)
    }

    @Test mutating func `only leased hosts are requested, and discoveries for other hosts are sent out`()
        throws
    {
        try start()
        #expect(drain() == ["http://a.test/"])
        frontier.addLink(try link("http://www.a.test/x"), from: 0)
        frontier.addLink(try link("http://a.test/y"), from: 0)
        #expect(drain() == ["http://a.test/y"])
        #expect(frontier.isDone)
        let found = frontier.takeOutgoing()
        #expect(found.map(\.href) == ["http://www.a.test/x"])
        #expect(found.map(\.referrer) == ["http://a.test/"])
        #expect(found.map(\.origin) == ["http://www.a.test"])
        #expect(frontier.takeOutgoing().isEmpty)
    }

    @Test mutating func `a discovery is sent again when more is known of it`() throws {
        try start()
        _ = drain()
        frontier.addLink(try link("http://b.a.test/x"), from: 0)
        let first = try #require(frontier.takeOutgoing().first)
        frontier.addLink(try link("http://b.a.test/x"), from: 0)
        #expect(frontier.takeOutgoing().isEmpty)
        frontier.addLink(try link("http://b.a.test/x", .asset), from: 0)
        let second = try #require(frontier.takeOutgoing().first)
        #expect(first.identity != second.identity)
        #expect(Frontier.RemoteDiscovery.Facts(packed: second.facts).role == .asset)
    }

    @Test mutating func `leasing a host queues its earlier discoveries`() throws {
        try start()
        _ = drain()
        frontier.addLink(try link("http://b.a.test/x"), from: 0)
        frontier.apply(.leaseGranted(["http://b.a.test"]), now: .zero)
        try discoverRemotely("http://b.a.test/x", from: "http://a.test/")
        #expect(drain() == ["http://b.a.test/x"])
    }

    @Test mutating func `a released host gets no more requests`() throws {
        try start()
        _ = drain()
        for number in 0..<5 { frontier.addLink(try link("http://a.test/\(number)"), from: 0) }
        frontier.apply(.leaseReleased("http://a.test"), now: .zero)
        #expect(drain().isEmpty)
        #expect(frontier.isDone)
        frontier.apply(.leaseGranted(["http://a.test"]), now: .zero)
        #expect(drain().count == 5)
    }

    @Test mutating func `entries of a released host that pages of other hosts link to are sent`() throws {
        try start()
        _ = drain()
        frontier.apply(.leaseGranted(["http://b.a.test"]), now: .zero)
        let urls = ["http://b.a.test/x", "http://b.a.test/y"]
        for url in urls { frontier.addLink(try link(url), from: 0) }
        let next = fetchNext()
        let number = try #require(next)
        let running = frontier.url(number).href
        #expect(frontier.takeOutgoing().isEmpty)
        frontier.apply(.leaseReleased("http://b.a.test"), now: .zero)
        #expect(frontier.takeOutgoing().map(\.href) == urls.filter { $0 != running })
        // The request that was running fails, and is not repeated by this worker.
        frontier.fail(number, .fetch(FetchFailure(.broken, "")), now: .zero)
        while let due = frontier.nextDue { #expect(frontier.fetchNext(now: due) == nil) }
        #expect(frontier.takeOutgoing().map(\.href) == [running])
        #expect(frontier.isDone)
    }

    @Test mutating func `entries that the next worker finds in stored responses of its host are not sent`()
        throws
    {
        try start()
        _ = drain()
        frontier.apply(.leaseGranted(["http://b.a.test"]), now: .zero)
        frontier.addLink(try link("http://b.a.test/first"), from: 0)
        let next = fetchNext()
        let first = try #require(next)
        frontier.apply(.succeeded(first), now: .zero)
        for name in ["x", "y"] { frontier.addLink(try link("http://b.a.test/\(name)"), from: first) }
        frontier.apply(.leaseReleased("http://b.a.test"), now: .zero)
        #expect(frontier.takeOutgoing().map(\.href) == ["http://b.a.test/first"])
    }

    @Test mutating func `referrer chains through other workers contain no cycle`() throws {
        frontier.apply(.leaseGranted(["http://a.test"]), now: .zero)
        // The referrer is on another worker's host, and the URL links back to it.
        try discoverRemotely("http://a.test/x", from: "http://b.a.test/up")
        #expect(drain() == ["http://a.test/x"])
        let number = try #require(frontier.number(of: try url("http://a.test/x")))
        frontier.addLink(try link("http://b.a.test/up"), from: number)
        #expect(frontier.chain(to: number).count == 2)
        #expect(frontier.takeOutgoing().map(\.href) == ["http://b.a.test/up"])
    }

    @Test mutating func `pages wait for granted pages, and never exceed the grant`()
        throws
    {
        frontier.apply(.pagesGranted(0), now: .zero)
        try start()
        #expect(drain().isEmpty)
        #expect(frontier.isStarved)
        frontier.apply(.pagesGranted(2), now: .zero)
        #expect(drain() == ["http://a.test/"])
        for number in 0..<4 { frontier.addLink(try link("http://a.test/\(number)"), from: 0) }
        #expect(drain() == ["http://a.test/0"])
        #expect(frontier.pagesLeft == 0)
        frontier.apply(.pagesEnded, now: .zero)
        #expect(!frontier.isStarved && frontier.isDone)
    }

    @Test func `a worker is idle once everything is committed and all deliveries are processed`() {
        var detector = IdleDetector()
        #expect(!detector.isIdle)
        detector.didReport(1)
        #expect(!detector.isIdle)
        detector.didCommit(1)
        #expect(detector.isIdle)
        detector.didDeliver()
        #expect(!detector.isIdle)
        // The crawl has collected the delivery, but has not reported whether it has something to do.
        detector.didCollect()
        #expect(!detector.isIdle)
        detector.didReport(nil)
        #expect(!detector.isIdle)
        detector.didReport(2)
        #expect(!detector.isIdle)
        detector.didCommit(2)
        #expect(detector.isIdle)
        // A delivery after the collection that the report is about.
        detector.didCollect()
        detector.didDeliver()
        detector.didReport(2)
        #expect(!detector.isIdle)
        detector.didCollect()
        detector.didReport(2)
        #expect(detector.isIdle)
    }

    @Test func `the finisher requests no more pages than the limit leaves`() {
        var memory = KnownOutcomes()
        #expect(memory.takePage() == nil && memory.pagesReached == nil)
        memory.setPageLimit(pagesLeft: 2, of: 40)
        #expect(memory.takePage() == nil && memory.takePage() == nil)
        #expect(memory.pagesReached == nil)
        for _ in 1...2 { #expect(memory.takePage() == .pages(40)) }
        #expect(memory.pagesReached == .pages(40))
    }

    @Test mutating func `a URL with an outcome from another worker is not requested`() throws {
        try start()
        let next = fetchNext()
        let number = try #require(next)
        frontier.apply(.outcomeKnown(number, .failed(.status(410))), now: .zero)
        #expect(frontier.failures[number] == .status(410))
        #expect(frontier.isDone)
        // The outcome is not sent back to the other workers.
        #expect(frontier.takeOutcomes().isEmpty)
    }

    @Test(arguments: [
        Frontier.KnownOutcome.failed(.status(404)), .failed(.fetch(FetchFailure(.broken, "a\tb"))),
        .failed(.hostSilent(FetchFailure(.timeout, ""))), .failed(.redirects),
        .failed(.redirectWithoutTarget),
        .failed(.htmlInstead), .failed(.rejectedByRule("/x no-store")), .failed(.declinedByApp),
        .failed(.digestMismatch("md5 \t differs")), .failed(.softNotFound), .failed(.login("http://a/login")),
        .failed(.sessionEnded("http://a/login")),
        .failed(.notRequested(.fetch(FetchFailure(.unreachable, "x")))),
        .skipped(.endless("no length")), .skipped(.unstored("/x")),
        .skipped(.trap(TrapReason(kind: .calendar, pattern: "/a/\t*", pages: 24, alike: 20))),
    ])
    func `outcomes survive encoding and decoding`(_ outcome: Frontier.KnownOutcome) throws {
        let text = try #require(outcome.text)
        #expect(Frontier.KnownOutcome(text: text) == outcome)
    }

    @Test(arguments: ["", "status", "status\tx", "fetch\tno kind", "trap\t1\t2", "trap\t99\t1\t1\tx", "else"])
    func `an invalid outcome text is rejected`(_ text: String) {
        #expect(Frontier.KnownOutcome(text: text) == nil)
    }

    @Test func `facts survive packing and unpacking`() {
        var facts = Frontier.RemoteDiscovery.Facts()
        facts.role = .guide
        facts.isStart = true
        facts.isCORS = true
        facts.nearestZone = .thisMachine
        facts.referrerZone = .privateNetwork
        facts.redirects = 20
        facts.chain = 255
        facts.depth = 65_535
        #expect(Frontier.RemoteDiscovery.Facts(packed: facts.packed) == facts)
        #expect(Frontier.RemoteDiscovery.Facts(packed: -1).role == .page)
        var further = facts
        further.depth = 1
        #expect(further.identity(withDepth: false) == facts.identity(withDepth: false))
        #expect(further.identity(withDepth: true) != facts.identity(withDepth: true))
    }
}

/// The distribution of hosts among workers.
@Suite struct HostShareTests {
    private static func status(
        workers: Int, hosts: Int, fewest: Int = 0, free: Int = 0, hungry: Int = 0, workless: Int = 0
    ) -> SharedFrontier.WorkStatus {
        var status = SharedFrontier.WorkStatus()
        (status.workers, status.hosts) = (workers, hosts)
        (status.minHostsOfOthers, status.freeHosts) = (fewest, free)
        (status.hungryWorkers, status.worklessWorkers) = (hungry, workless)
        return status
    }

    @Test(arguments: [
        // A single worker takes all hosts, up to one for each running request.
        (status(workers: 1, hosts: 10), active: 10, running: 128, wanted: 8),
        (status(workers: 1, hosts: 128), active: 128, running: 128, wanted: 0),
        (status(workers: 1, hosts: 128), active: 128, running: 20, wanted: 8),
        // While another worker is hungry, it takes only its share.
        (status(workers: 2, hosts: 10, hungry: 1), active: 10, running: 40, wanted: 0),
        (status(workers: 2, hosts: 10, hungry: 1), active: 2, running: 40, wanted: 3),
        (status(workers: 4, hosts: 3, hungry: 3, workless: 1), active: 0, running: 0, wanted: 1),
        // Free hosts increase the share; a worker with more than its share takes none.
        (status(workers: 4, hosts: 56, fewest: 11, free: 8), active: 11, running: 128, wanted: 5),
        (status(workers: 4, hosts: 56, fewest: 11, free: 8), active: 18, running: 128, wanted: 0),
        // A new host is taken by a worker with the fewest hosts, and by no other.
        (status(workers: 4, hosts: 64, fewest: 16), active: 16, running: 128, wanted: 1),
        (status(workers: 4, hosts: 64, fewest: 15), active: 16, running: 128, wanted: 0),
    ])
    fileprivate func `a worker leases its fair share of the free hosts`(
        _ status: SharedFrontier.WorkStatus, active: Int, running: Int, wanted: Int
    ) {
        #expect(status.wantedHosts(active: active, running: running) == wanted)
    }

    @Test(arguments: [
        (status(workers: 2, hosts: 38), active: 3, running: 24, true),
        (status(workers: 2, hosts: 38), active: 3, running: 120, false),
        (status(workers: 2, hosts: 38), active: 19, running: 24, false),
        (status(workers: 1, hosts: 5), active: 5, running: 10, false),
        (status(workers: 2, hosts: 0), active: 0, running: 0, true),
    ])
    fileprivate func `a worker with less than its share and spare capacity is hungry`(
        _ status: SharedFrontier.WorkStatus, active: Int, running: Int, isHungry: Bool
    ) {
        #expect(status.isHungry(active: active, running: running) == isHungry)
    }

    @Test(arguments: [
        (status(workers: 2, hosts: 38, hungry: 1), active: 35, running: 128, given: 16),
        // The hosts, not the worker's capacity, limit the speed: moving them would not help.
        (status(workers: 2, hosts: 6, hungry: 1), active: 5, running: 40, given: 0),
        (status(workers: 2, hosts: 6, hungry: 1, workless: 1), active: 6, running: 40, given: 3),
        // No worker is hungry, but the one with the fewest hosts would be done long before the others.
        (status(workers: 2, hosts: 38, fewest: 3), active: 35, running: 128, given: 16),
        (status(workers: 2, hosts: 38, fewest: 3), active: 35, running: 40, given: 0),
        (status(workers: 2, hosts: 38, fewest: 16), active: 22, running: 128, given: 0),
        (status(workers: 4, hosts: 1, hungry: 3, workless: 3), active: 1, running: 128, given: 0),
    ])
    fileprivate func `a busy worker gives hosts away down to its share, others give none`(
        _ status: SharedFrontier.WorkStatus, active: Int, running: Int, given: Int
    ) {
        #expect(status.hostsToGiveAway(active: active, running: running) == given)
    }
}
