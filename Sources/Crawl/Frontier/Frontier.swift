internal import Web

/// Everything that a crawl has heard of, and what it does next. A pure value: what happened and the time go in, what
/// to fetch comes out.
struct Frontier: Sendable {
    private struct Host: Sendable {
        var pace: HostPace
        var requisites = WorkQueue()
        var pages = WorkQueue()
        /// How many entries are queued; one that became a requisite stands in both queues and counts once.
        var queuedCount = 0
    }

    private(set) var entries: [Entry] = []
    private(set) var runningCount = 0
    private(set) var doneCount = 0
    private var numbers: [WebURL: UInt32] = [:]
    private var hosts: [Host] = []
    private var hostNumbers: [String: Int] = [:]
    /// Hosts with something queued, asked in turn.
    private var active: [Int] = []
    private var turn = 0
    /// Latest first, so that the next one is at the end.
    private var retries: [(time: Duration, number: UInt32)] = []
    /// The latest time that anybody told.
    private var now: Duration = .zero
    private var scope: Scope
    private let retryPlan: RetryPlan
    private let connectionsPerHost: Int

    static let mostRedirects: UInt8 = 20
    /// Over all hosts: a page may need things from thousands of them, and a process has only so many sockets.
    static let mostRunning = 128
    /// A report shows no longer way than this.
    private static let longestChain = 32

    init(scope: Scope, retryPlan: RetryPlan = RetryPlan(), connectionsPerHost: Int) {
        self.scope = scope
        self.retryPlan = retryPlan
        self.connectionsPerHost = connectionsPerHost
    }

    /// Nothing runs and nothing will.
    var isDone: Bool { runningCount == 0 && active.isEmpty && retries.isEmpty }

    /// When something that waits is due, be it a retry or a host that is given a pause; nil when nothing waits.
    var nextRetry: Duration? {
        let pauses = active.lazy.compactMap { host in hosts[host].pace.nextStart.flatMap { $0 > now ? $0 : nil } }
        return [retries.last?.time, pauses.min()].lazy.compactMap { $0 }.min()
    }

    mutating func start(_ url: WebURL) {
        hear(of: url.withoutFragment, role: .page, from: nil, redirects: 0, isStart: true)
    }

    /// The number of what the link leads to.
    @discardableResult
    mutating func found(_ link: FoundLink, by number: UInt32) -> UInt32 {
        hear(of: link.url, role: link.role, from: number, redirects: 0, isGuess: link.isGuess)
    }

    /// Another link to what has a number.
    mutating func foundAgain(_ number: UInt32, role: Role, isGuess: Bool) {
        if role == .requisite { becomeRequisite(number) }
        if !isGuess { becomeCertain(number) }
    }

    /// What to fetch now; nil when every host is busy, enough runs, or nothing is left.
    mutating func next(now: Duration) -> UInt32? {
        self.now = now
        while let retry = retries.last, retry.time <= now {
            retries.removeLast()
            enqueue(retry.number)
        }
        guard runningCount < Self.mostRunning else { return nil }
        for _ in 0..<active.count {
            turn = turn < active.count ? turn : 0
            let host = active[turn]
            guard hosts[host].pace.mayStart(now: now) > 0 else {
                turn += 1
                continue
            }
            guard let number = popQueued(of: host) else {
                turn += 1
                continue
            }
            if hosts[host].queuedCount == 0 { active.remove(at: turn) } else { turn += 1 }
            entries[Int(number)].state = .running
            entries[Int(number)].attempts += 1
            hosts[host].pace.started(now: now)
            runningCount += 1
            return number
        }
        return nil
    }

    /// What a page needs goes first, so that a crawl that is stopped leaves whole pages.
    private mutating func popQueued(of host: Int) -> UInt32? {
        while let number = hosts[host].requisites.popFirst() ?? hosts[host].pages.popFirst() {
            // One that was queued as a page and again as a requisite is fetched once.
            guard entries[Int(number)].state == .queued else { continue }
            hosts[host].queuedCount -= 1
            return number
        }
        return nil
    }

    /// It was answered with what it is.
    mutating func succeeded(_ number: UInt32) {
        answered(number)
        finish(number, .done)
    }

    /// An earlier run has it: its host was not asked.
    mutating func recalled(_ number: UInt32) {
        runningCount -= 1
        hosts[entries[Int(number)].host].pace.recalled()
        finish(number, .done)
    }

    private mutating func finish(_ number: UInt32, _ state: State) {
        entries[Int(number)].state = state
        doneCount += 1
    }

    private mutating func answered(_ number: UInt32) {
        runningCount -= 1
        hosts[entries[Int(number)].host].pace.answered(after: nil, now: now)
    }

    mutating func failed(_ number: UInt32, _ failure: Failure, now: Duration) {
        self.now = now
        let entry = entries[Int(number)]
        if failure.isObjection {
            runningCount -= 1
            hosts[entry.host].pace.objected(after: nil, now: now)
        } else {
            answered(number)
        }
        let jitter = RetryPlan.jitter(of: number, attempt: Int(entry.attempts))
        let decision = retryPlan.decision(afterAttempt: Int(entry.attempts), of: failure, jitter: jitter)
        guard case .again(let delay) = decision else {
            entries[Int(number)].state = .failed(failure)
            return
        }
        entries[Int(number)].state = .waiting
        let time = now + delay
        let place = retries.firstIndex { $0.time <= time } ?? retries.endIndex
        retries.insert((time, number), at: place)
    }

    /// From a start URL to the entry; of a very long way its beginning and its end.
    func chain(to number: UInt32) -> [WebURL] {
        var chain: [UInt32] = []
        var next: UInt32? = number
        while let number = next {
            chain.append(number)
            next = entries[Int(number)].referrer
        }
        if chain.count > Self.longestChain { chain.removeSubrange(Self.longestChain - 1..<chain.count - 1) }
        return chain.reversed().map { entries[Int($0)].url }
    }

    /// The number of an URL, which is queued when it is new and wanted.
    @discardableResult
    private mutating func hear(
        of url: WebURL, role: Role, from referrer: UInt32?, redirects: UInt8, isStart: Bool = false,
        isGuess: Bool = false
    ) -> UInt32 {
        if let known = numbers[url] {
            foundAgain(known, role: role, isGuess: isGuess)
            return known
        }
        let number = UInt32(entries.count)
        let skip: SkipReason? = url.isHTTP ? (role == .page && !isStart ? reasonToSkip(url) : nil) : .scheme
        entries.append(
            Entry(
                url: url, host: hostNumber(of: url), referrer: referrer, isStart: isStart, role: role, isGuess: isGuess,
                state: skip.map(State.skipped) ?? .waiting, redirects: redirects))
        numbers[url] = number
        if skip == nil { enqueue(number) }
        return number
    }

    /// Something needs it, and so wherever it leads.
    private mutating func becomeRequisite(_ number: UInt32) {
        var next: UInt32? = number
        while let number = next, entries[Int(number)].role == .page {
            entries[Int(number)].role = .requisite
            switch entries[Int(number)].state {
            case .skipped where entries[Int(number)].url.isHTTP, .queued: enqueue(number)
            case .skipped, .running, .waiting, .done, .redirected, .failed: break
            }
            next = entries[Int(number)].target
        }
    }

    private mutating func becomeCertain(_ number: UInt32) {
        var next: UInt32? = number
        while let number = next, entries[Int(number)].isGuess {
            entries[Int(number)].isGuess = false
            next = entries[Int(number)].target
        }
    }

    private mutating func enqueue(_ number: UInt32) {
        let host = entries[Int(number)].host
        if entries[Int(number)].state != .queued {
            entries[Int(number)].state = .queued
            hosts[host].queuedCount += 1
            if hosts[host].queuedCount == 1 { active.append(host) }
        }
        switch entries[Int(number)].role {
        case .page: hosts[host].pages.append(number)
        case .requisite: hosts[host].requisites.append(number)
        }
    }

    private mutating func hostNumber(of url: WebURL) -> Int {
        let origin = url.origin
        if let known = hostNumbers[origin] { return known }
        hosts.append(Host(pace: HostPace(highest: connectionsPerHost)))
        hostNumbers[origin] = hosts.count - 1
        return hosts.count - 1
    }
}

extension Frontier {
    /// Its answer was a redirect; no target means that it does not say where. True when the redirect leads somewhere:
    /// one that does not is a failure, and takes no good copy's place.
    mutating func redirected(_ number: UInt32, to target: WebURL?) -> Bool {
        answered(number)
        let entry = entries[Int(number)]
        guard let target else {
            entries[Int(number)].state = .failed(.nowhere)
            return false
        }
        guard entry.redirects < Self.mostRedirects, !leadsBack(target, to: number) else {
            entries[Int(number)].state = .failed(.redirects)
            return false
        }
        finish(number, .redirected)
        let next = hear(
            of: target, role: entry.role, from: number, redirects: entry.redirects + 1, isStart: entry.isStart,
            isGuess: entry.isGuess)
        entries[Int(number)].target = next
        if entry.isStart, target.isHTTP { takeAlong(next, from: entry.url) }
        return true
    }

    /// Whether following the redirects that are known comes to the entry again, or to no end.
    private func leadsBack(_ target: WebURL, to number: UInt32) -> Bool {
        var next = numbers[target]
        var hops: UInt8 = 0
        while let place = next {
            if place == number || hops > Self.mostRedirects { return true }
            hops += 1
            next = entries[Int(place)].target
        }
        return false
    }

    /// The start leads to another host: the site is there, and pages there that were skipped are of the site after all.
    private mutating func takeAlong(_ number: UInt32, from moved: WebURL) {
        entries[Int(number)].isStart = true
        guard scope.startMoved(from: moved, to: entries[Int(number)].url) else { return }
        for skipped in entries.indices where entries[skipped].state == .skipped(.otherHost) {
            if reasonToSkip(entries[skipped].url) == nil { enqueue(UInt32(skipped)) }
        }
    }

    /// Nil when a page is to be followed.
    private func reasonToSkip(_ page: WebURL) -> SkipReason? {
        switch scope.verdict(onPage: page, depth: 0) {
        case .followed: nil
        case .skipped(let reason): reason
        }
    }
}
