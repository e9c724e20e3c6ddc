internal import Fetch
internal import Web

/// Everything that a crawl has heard of, and what it does next. A pure value: what happened and the time go in, what
/// to fetch comes out.
struct Frontier: Sendable {
    enum Task: Sendable, Equatable {
        case fetch(UInt32)
        /// The robots.txt of a host, or where it was redirected to; the answer goes to `robotsAnswered`.
        case robots(host: Int, WebURL)
    }

    private(set) var runningCount = 0
    private(set) var doneCount = 0
    var records: [Record] = []
    var urls = URLTable()
    var hosts: [Host] = []
    private var hostNumbers: [String: Int] = [:]
    /// Hosts with something queued, asked in turn.
    private var active: [Int] = []
    private var turn = 0
    /// Hosts whose robots.txt pages wait for.
    var gated: [Int] = []
    /// Latest first, so that the next one is at the end.
    private var retries: [(time: Duration, number: UInt32)] = []
    private var failures: [UInt32: Failure] = [:]
    private var reasons: [SkipReason] = []
    /// The latest time that anybody told.
    var now: Duration = .zero
    var scope: Scope
    var traps = Traps()
    private let options: Options
    private var usage = CrawlLimits.Usage()
    /// Why no further page starts, or nothing at all.
    private(set) var limit: CrawlLimits.Reached?

    static let mostRedirects: UInt8 = 20
    /// Over all hosts: a page may need things from thousands of them, and a process has only so many sockets.
    static let mostRunning = 128
    /// A report shows no longer way than this.
    private static let longestChain = 32

    init(scope: Scope, options: Options = Options()) {
        self.scope = scope
        self.options = options
    }

    /// Nothing runs and nothing will.
    var isDone: Bool {
        runningCount == 0 && gated.isEmpty && (isStopped || active.isEmpty && retries.isEmpty)
    }

    /// A limit ends the crawl, whatever is left.
    private var isStopped: Bool {
        switch limit {
        case .byteCount, .time: true
        case .pages, nil: false
        }
    }

    /// When something that waits is due, be it a retry, a host that is given a pause or a robots.txt; nil when nothing waits.
    var nextRetry: Duration? {
        let pauses = active.lazy.compactMap { host in hosts[host].pace.nextStart.flatMap { $0 > now ? $0 : nil } }
        let gates = gated.lazy.compactMap { host in hosts[host].gate?.nextFetch }
        return [retries.last?.time, pauses.min(), gates.min()].lazy.compactMap { $0 }.min()
    }

    mutating func start(_ url: WebURL) {
        hear(of: url.withoutFragment, role: .page, from: nil, redirects: 0, flags: .isStart)
    }

    /// What robots.txt or the user names as a list of pages.
    mutating func startGuide(_ url: WebURL, isGuess: Bool = false) {
        hear(of: url.withoutFragment, role: .guide, from: nil, redirects: 0, flags: isGuess ? .isGuess : [])
    }

    /// The number of what the link leads to.
    @discardableResult
    mutating func found(_ link: FoundLink, by number: UInt32) -> UInt32 {
        hear(of: link.url, role: link.role, from: number, redirects: 0, flags: link.isGuess ? .isGuess : [])
    }

    /// Another link to what has a number.
    mutating func foundAgain(_ number: UInt32, by finder: UInt32?, role: Role, isGuess: Bool) {
        if let finder {
            let reach = records[Int(finder)].reach
            if reach > records[Int(number)].mayReach { records[Int(number)].mayReach = reach }
            shorten(number, by: finder, role)
        }
        if role == .requisite { becomeRequisite(number) }
        if !isGuess { becomeCertain(number) }
    }

    /// What to fetch now; nil when every host is busy, enough runs, or nothing is left.
    mutating func next(now: Duration) -> Task? {
        self.now = now
        usage.elapsed = now
        limit = limit ?? options.limits.reasonToStop(usage)
        while let retry = retries.last, retry.time <= now {
            retries.removeLast()
            enqueue(retry.number)
        }
        guard runningCount < Self.mostRunning, !isStopped else { return nil }
        for host in gated {
            if let url = hosts[host].gate?.next(now: now) {
                runningCount += 1
                return .robots(host: host, url)
            }
        }
        return nextQueued().map(Task.fetch)
    }

    private mutating func nextQueued() -> UInt32? {
        for _ in 0..<active.count {
            turn = turn < active.count ? turn : 0
            let host = active[turn]
            guard hosts[host].pace.mayStart(now: now) > 0, let number = popQueued(of: host) else {
                // Turned away at the last moment, perhaps all of them.
                if hosts[host].queuedCount == 0 { active.remove(at: turn) } else { turn += 1 }
                continue
            }
            if hosts[host].queuedCount == 0 { active.remove(at: turn) } else { turn += 1 }
            records[Int(number)].state = .running
            records[Int(number)].attempts += 1
            hosts[host].pace.started(now: now)
            runningCount += 1
            return number
        }
        return nil
    }

    /// Pages over a limit, or of a pattern that turned out to be a trap meanwhile, are skipped here.
    private mutating func popQueued(of host: Int) -> UInt32? {
        while let number = hosts[host].popFirst(withPages: true) {
            // One that was queued as a page and again as a requisite is fetched once.
            guard records[Int(number)].state == .queued else { continue }
            hosts[host].queuedCount -= 1
            let record = records[Int(number)]
            guard record.role == .page, record.attempts == 0 else { return number }
            if let reached = options.limits.reasonToStopPages(usage) {
                limit = reached
                skip(number, .limit(reached))
            } else if case .stopped(let reason) = traps.isQuiet ? .fine : traps.verdict(on: url(number)),
                !record.flags.contains(.isStart)
            {
                skip(number, .trap(reason))
            } else {
                usage.pages += 1
                return number
            }
        }
        return nil
    }

    /// From where its answer came, which says where its links may lead.
    mutating func came(_ number: UInt32, from reach: Reach) {
        records[Int(number)].reach = reach
    }

    /// It came, and is not what it claims to be.
    mutating func refused(_ number: UInt32, _ failure: Failure) {
        doneCount -= 1
        fail(number, failure)
    }

    /// A page was read; what was heard of from a number on is what it was the first to link to.
    mutating func read(_ number: UInt32, _ print: ContentPrint, newFrom first: UInt32) {
        let pages = (first..<UInt32(records.count)).filter { records[Int($0)].role == .page }.map { url($0) }
        traps.fetched(url(number), print, newPages: pages)
    }

    mutating func received(_ byteCount: Int) {
        usage.byteCount += byteCount
    }

    /// It was answered with what it is.
    mutating func succeeded(_ number: UInt32, after latency: Duration? = nil) {
        answered(number, after: latency)
        finish(number, .done)
    }

    /// An earlier run has it: its host was not asked.
    mutating func recalled(_ number: UInt32) {
        runningCount -= 1
        hosts[Int(records[Int(number)].host)].pace.recalled()
        finish(number, .done)
    }

    /// Its answer was a redirect, which leads somewhere or fails.
    mutating func ended(_ number: UInt32, after latency: Duration?, failure: Failure?) {
        answered(number, after: latency)
        if let failure { fail(number, failure) } else { finish(number, .redirected) }
    }

    mutating func endedRobots() {
        runningCount -= 1
    }

    private mutating func finish(_ number: UInt32, _ state: Record.State) {
        records[Int(number)].state = state
        doneCount += 1
    }

    private mutating func answered(_ number: UInt32, after latency: Duration?) {
        runningCount -= 1
        hosts[Int(records[Int(number)].host)].pace.answered(after: latency, now: now)
    }

    mutating func failed(
        _ number: UInt32, _ failure: Failure, after latency: Duration? = nil, retryAfter: Duration? = nil, now: Duration
    ) {
        self.now = now
        let record = records[Int(number)]
        let host = Int(record.host)
        if failure.isObjection {
            runningCount -= 1
            hosts[host].pace.objected(after: latency, retryAfter: retryAfter, now: now)
        } else {
            answered(number, after: latency)
        }
        let jitter = RetryPlan.jitter(of: number, attempt: Int(record.attempts))
        let decision = options.retryPlan.decision(
            afterAttempt: Int(record.attempts), of: failure, retryAfter: retryAfter, jitter: jitter)
        guard case .again(let delay) = decision, !hosts[host].pace.isHopeless else {
            fail(number, failure)
            if hosts[host].pace.isHopeless { giveUp(host, failure) }
            return
        }
        records[Int(number)].state = .waiting
        let time = now + delay
        let place = retries.firstIndex { $0.time <= time } ?? retries.endIndex
        retries.insert((time, number), at: place)
    }

    private mutating func fail(_ number: UInt32, _ failure: Failure) {
        records[Int(number)].state = .failed
        failures[number] = failure
    }

    /// What waits for a host that has not answered for minutes fails as the last of its requests did.
    private mutating func giveUp(_ host: Int, _ failure: Failure) {
        for retry in retries where Int(records[Int(retry.number)].host) == host { fail(retry.number, failure) }
        retries.removeAll { records[Int($0.number)].state == .failed }
        while let number = hosts[host].popFirst(withPages: true) {
            if records[Int(number)].state == .queued { fail(number, failure) }
        }
        hosts[host].queuedCount = 0
        active.removeAll { $0 == host }
        turn = 0
    }

    /// From a start URL to the entry; of a very long way its beginning and its end.
    func chain(to number: UInt32) -> [WebURL] {
        var chain: [UInt32] = []
        var next = number
        while next != Record.nobody {
            chain.append(next)
            next = records[Int(next)].referrer
        }
        if chain.count > Self.longestChain { chain.removeSubrange(Self.longestChain - 1..<chain.count - 1) }
        return chain.reversed().map { url($0) }
    }

    /// The number of an URL, which is queued when it is new and wanted.
    @discardableResult
    mutating func hear(
        of url: WebURL, role: Role, from referrer: UInt32?, redirects: UInt8, flags: Record.Flags = []
    ) -> UInt32 {
        let (number, isNew) = urls.number(of: url)
        guard isNew else {
            foundAgain(number, by: redirects == 0 ? referrer : nil, role: role, isGuess: flags.contains(.isGuess))
            return number
        }
        let parent = referrer.map { records[Int($0)] }
        // A redirect, and what a page needs, are as far away as what led there.
        let isFurther = parent != nil && redirects == 0 && role == .page
        records.append(
            Record(
                host: UInt32(hostNumber(of: url)), referrer: referrer ?? Record.nobody,
                depth: min(parent?.depth ?? 0, .max - 1) + (isFurther ? 1 : 0), flags: flags, role: role,
                mayReach: parent?.reach ?? .thisMachine, redirects: redirects))
        admit(number, url)
        return number
    }

    /// Queues an entry, has it wait at the gate, or skips it.
    mutating func admit(_ number: UInt32, _ url: WebURL) {
        let record = records[Int(number)]
        if record.flags.contains(.isGuess), !options.followsGuesses { return skip(number, .guess) }
        switch verdict(on: url, record) {
        case .skipped(let reason): return skip(number, reason)
        case .followed: break
        }
        guard record.role == .page, !record.flags.contains(.isStart) else {
            // The site's robots.txt is asked for along with its start.
            if record.flags.contains(.isStart) { approachGate(of: Int(record.host)) }
            return enqueue(number)
        }
        switch traps.isQuiet ? .fine : traps.verdict(on: url) {
        case .fine: break
        case .slowed: records[Int(number)].flags.insert(.isSlow)
        case .stopped(let reason): return skip(number, .trap(reason))
        }
        switch hosts[Int(record.host)].gate?.verdict(on: url) {
        case .allowed?, nil:
            enqueue(number)
        case .waits?:
            records[Int(number)].state = .waiting
            hosts[Int(record.host)].atGate.append(number)
            approachGate(of: Int(record.host))
        case .refused(let reason)?:
            skip(number, reason)
        }
    }

    private func verdict(on url: WebURL, _ record: Record) -> ScopeVerdict {
        if record.flags.contains(.isStart) { return scope.verdict(onStart: url) }
        switch record.role {
        case .page: return scope.verdict(onPage: url, depth: Int(record.depth))
        case .requisite, .guide: return scope.verdict(onRequisite: url)
        }
    }

    mutating func skip(_ number: UInt32, _ reason: SkipReason) {
        records[Int(number)].state = .skipped
        let place = reasons.lastIndex(of: reason) ?? reasons.count
        if place == reasons.count, place < Int(UInt16.max) { reasons.append(reason) }
        records[Int(number)].reason = UInt16(min(place, reasons.count - 1))
    }

    /// Something needs it, and so wherever it leads.
    private mutating func becomeRequisite(_ number: UInt32) {
        var next = number
        while next != Record.nobody, records[Int(next)].role == .page {
            records[Int(next)].role = .requisite
            switch records[Int(next)].state {
            case .skipped: admit(next, url(next))
            // Before a gate, which holds back pages alone.
            case .waiting where records[Int(next)].attempts == 0: admit(next, url(next))
            case .queued: enqueue(next)
            case .running, .waiting, .done, .redirected, .failed: break
            }
            next = records[Int(next)].target
        }
    }

    /// A shorter way to a page that was too far away.
    private mutating func shorten(_ number: UInt32, by finder: UInt32, _ role: Role) {
        guard role == .page else { return }
        let depth = min(records[Int(finder)].depth, .max - 1) + 1
        guard depth < records[Int(number)].depth else { return }
        records[Int(number)].depth = depth
        guard records[Int(number)].state == .skipped, case .skipped(.tooDeep) = state(number) else { return }
        admit(number, url(number))
    }

    private mutating func becomeCertain(_ number: UInt32) {
        var next = number
        while next != Record.nobody, records[Int(next)].flags.contains(.isGuess) {
            records[Int(next)].flags.remove(.isGuess)
            if records[Int(next)].state == .skipped { admit(next, url(next)) }
            next = records[Int(next)].target
        }
    }

    mutating func enqueue(_ number: UInt32) {
        let host = Int(records[Int(number)].host)
        if records[Int(number)].state != .queued {
            records[Int(number)].state = .queued
            hosts[host].queuedCount += 1
            if hosts[host].queuedCount == 1 { active.append(host) }
        }
        hosts[host].append(number, records[Int(number)])
    }

    private mutating func hostNumber(of url: WebURL) -> Int {
        let origin = url.origin
        if let known = hostNumbers[origin] { return known }
        let gate = options.productToken.map {
            RobotsGate(for: url, productToken: $0, obeys: options.obeysRobots)
        }
        hosts.append(Host(pace: HostPace(highest: options.connectionsPerHost), gate: url.isHTTP ? gate : nil))
        hostNumbers[origin] = hosts.count - 1
        return hosts.count - 1
    }
}

extension Frontier {
    func url(_ number: UInt32) -> WebURL {
        // Only what was an URL came in.
        urls.url(number) ?? .blank
    }

    func state(_ number: UInt32) -> State {
        let record = records[Int(number)]
        return switch record.state {
        case .skipped: .skipped(reasons[Int(record.reason)])
        case .queued: .queued
        case .running: .running
        case .waiting: .waiting
        case .done: .done
        case .redirected: .redirected
        case .failed: .failed(failures[number] ?? .nowhere)
        }
    }

    func entry(_ number: UInt32) -> Entry {
        let record = records[Int(number)]
        return Entry(
            url: url(number), referrer: record.referrer == Record.nobody ? nil : record.referrer,
            isStart: record.flags.contains(.isStart), role: record.role, isGuess: record.flags.contains(.isGuess),
            state: state(number), attempts: Int(record.attempts), depth: Int(record.depth))
    }

    func role(of number: UInt32) -> Role { records[Int(number)].role }

    /// Nil for a start URL.
    func referrer(of number: UInt32) -> WebURL? {
        let referrer = records[Int(number)].referrer
        return referrer == Record.nobody ? nil : url(referrer)
    }

    /// Where those who link to it may lead.
    func mayReach(_ number: UInt32) -> Reach { records[Int(number)].mayReach }

    func reach(of number: UInt32) -> Reach { records[Int(number)].reach }

    /// True once: the first time that the store hears of it.
    mutating func tell(_ number: UInt32) -> Bool {
        records[Int(number)].flags.insert(.isTold).inserted
    }

    /// In the order in which they were heard of.
    var entries: some RandomAccessCollection<Entry> { records.indices.lazy.map { entry(UInt32($0)) } }
}
