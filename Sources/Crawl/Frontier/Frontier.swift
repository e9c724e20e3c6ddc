internal import Web

/// Everything that a crawl has heard of, and what it does next. A pure value: what happened and the time go in, what
/// to fetch comes out.
struct Frontier: Sendable {
    /// Whether a person goes there or a page needs it. A page that something also needs becomes a requisite.
    enum Role: UInt8, Sendable {
        case page = 0
        case requisite = 1
    }

    enum State: Sendable, Equatable {
        case skipped(SkipReason)
        case queued
        case running
        /// Not queued yet: just heard of, or failed and to be tried again.
        case waiting
        case done
        /// Its answer led elsewhere.
        case redirected
        case failed(Failure)
    }

    struct Entry: Sendable {
        let url: WebURL
        let host: Int
        /// Who asked for it first; nil for a start URL.
        let referrer: UInt32?
        /// A start URL, or where one was redirected to.
        let isStart: Bool
        var role: Role
        /// Nobody is sure that it is a link; if it fails, nothing is missing.
        var isGuess: Bool
        var state: State
        var attempts: UInt8 = 0
        /// How many redirects led here.
        let redirects: UInt8
    }

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
    private var scope: Scope
    private let retryPlan: RetryPlan
    private let connectionsPerHost: Int

    static let mostRedirects: UInt8 = 20

    init(scope: Scope, retryPlan: RetryPlan = RetryPlan(), connectionsPerHost: Int) {
        self.scope = scope
        self.retryPlan = retryPlan
        self.connectionsPerHost = connectionsPerHost
    }

    /// Nothing runs and nothing will.
    var isDone: Bool { runningCount == 0 && active.isEmpty && retries.isEmpty }

    /// When something that waits is due; nil when nothing waits.
    var nextRetry: Duration? { retries.last?.time }

    mutating func start(_ url: WebURL) {
        hear(of: url.withoutFragment, role: .page, from: nil, redirects: 0, isStart: true)
    }

    mutating func found(_ link: FoundLink, by number: UInt32) {
        hear(of: link.url, role: link.role, from: number, redirects: 0, isGuess: link.isGuess)
    }

    /// Its answer was a redirect that does not say where.
    mutating func ledNowhere(_ number: UInt32) {
        entries[Int(number)].state = .failed(.nowhere)
    }

    /// The target takes the place of what was asked for; too long a chain is the fault of its last link.
    mutating func redirected(_ number: UInt32, to target: WebURL) {
        let entry = entries[Int(number)]
        guard entry.redirects < Self.mostRedirects else {
            entries[Int(number)].state = .failed(.redirects)
            return
        }
        entries[Int(number)].state = .redirected
        if entry.isStart, target.isHTTP { scope.include(hostOf: target) }
        hear(
            of: target, role: entry.role, from: number, redirects: entry.redirects + 1, isStart: entry.isStart,
            isGuess: entry.isGuess)
    }

    /// What to fetch now; nil when every host is busy or nothing is left.
    mutating func next(now: Duration) -> UInt32? {
        while let retry = retries.last, retry.time <= now {
            retries.removeLast()
            enqueue(retry.number)
        }
        for _ in 0..<active.count {
            turn = turn < active.count ? turn : 0
            let host = active[turn]
            guard hosts[host].pace.mayStart else {
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
            hosts[host].pace.started()
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

    /// It was answered, or an earlier run has it.
    mutating func succeeded(_ number: UInt32) {
        runningCount -= 1
        hosts[entries[Int(number)].host].pace.answered()
        entries[Int(number)].state = .done
        doneCount += 1
    }

    mutating func failed(_ number: UInt32, _ failure: Failure, now: Duration) {
        runningCount -= 1
        let entry = entries[Int(number)]
        if failure.isObjection {
            hosts[entry.host].pace.objected()
        } else {
            hosts[entry.host].pace.answered()
        }
        guard failure.mayPass, let delay = retryPlan.delay(afterAttempt: Int(entry.attempts)) else {
            entries[Int(number)].state = .failed(failure)
            return
        }
        entries[Int(number)].state = .waiting
        let time = now + delay
        let place = retries.firstIndex { $0.time <= time } ?? retries.endIndex
        retries.insert((time, number), at: place)
    }

    /// From a start URL to the entry.
    func chain(to number: UInt32) -> [WebURL] {
        var chain: [WebURL] = []
        var next: UInt32? = number
        while let number = next {
            chain.append(entries[Int(number)].url)
            next = entries[Int(number)].referrer
        }
        return chain.reversed()
    }

    private mutating func hear(
        of url: WebURL, role: Role, from referrer: UInt32?, redirects: UInt8, isStart: Bool = false,
        isGuess: Bool = false
    ) {
        if let known = numbers[url] {
            if !isGuess { entries[Int(known)].isGuess = false }
            guard role == .requisite, entries[Int(known)].role == .page else { return }
            entries[Int(known)].role = .requisite
            switch entries[Int(known)].state {
            case .skipped where url.isHTTP, .queued: enqueue(known)
            case .skipped, .running, .waiting, .done, .redirected, .failed: break
            }
            return
        }
        let number = UInt32(entries.count)
        let skip: SkipReason? = url.isHTTP ? (role == .page && !isStart ? scope.reasonToSkip(url) : nil) : .scheme
        entries.append(
            Entry(
                url: url, host: hostNumber(of: url), referrer: referrer, isStart: isStart, role: role, isGuess: isGuess,
                state: skip.map(State.skipped) ?? .waiting, redirects: redirects))
        numbers[url] = number
        if skip == nil { enqueue(number) }
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
