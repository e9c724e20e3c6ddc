internal import Fetch
internal import Web

extension Frontier {
    /// An origin, with the entries that wait for it and the state of politeness towards it.
    struct HostState: Sendable {
        /// The queue in which `Frontier` has the host, so that a host that cannot start a request now costs
        /// no time.
        enum Schedule: Sendable {
            /// No entry is queued, or no request may start before a response arrives.
            case idle
            /// The host is in the queue of those that may start a request.
            case ready
            /// The host waits for the end of a pause.
            case paused
        }

        var pace: HostPace
        /// Nil if no robots.txt is requested.
        var robots: OriginRobots?
        var schedule = Schedule.idle
        var queue = EntryQueue()
        /// Pages that wait for robots.txt.
        var awaitingRobots: [UInt32] = []
        /// Whether the request for robots.txt is scheduled.
        var isRobotsDue = false
        /// The nearest zone of the pages that link to this host: the limit for a request for its robots.txt.
        var nearestZone = NetworkZone.publicNetwork
        /// The number of queued entries. A page that became an asset is in two queues and counts once.
        var queuedCount = 0
        var softNotFound = SoftNotFoundDetector()
        /// The network zone of the page that gave the reason for the probe, which limits the probe.
        var probeZone = NetworkZone.publicNetwork
        /// The numbers of guesses (strings that looked like links) that existed and that failed.
        var guesses = (right: 0, wrong: 0)
        /// Whether hardly any of the guesses for this host exist, so that no more are requested.
        var ignoresGuesses: Bool { guesses.wrong >= 64 && guesses.wrong > 4 * guesses.right }
        var faults = HostFaults()
        var errors = ServerErrors()
        var session = SessionLossDetector()
        /// Whether no more requests are sent because the session has ended.
        var hasSessionEnded = false
        /// Set if the host asked for a longer pause than a run waits, or sends bot challenges. The run sends it no
        /// more requests.
        var reasonToStop: Failure?
        /// The number of bot challenges since the last page.
        var challengesInARow = 0
        /// The number of URLs deferred in this way since the last other response.
        var deferralCount = 0
        /// The time of the first request, and whether the host has ever responded.
        var firstStart: Duration?
        var hasResponded = false
        /// Whether an entry was given up because the host could not be reached.
        var isUnreachable: Bool { unreachableFailure != nil }
        /// The failure of the entry that was given up last because the host could not be reached.
        var unreachableFailure: Failure?
        /// Whether no more requests are sent because the host was never reached.
        var isLost: Bool { isUnreachable && !hasResponded }
        /// The number of rounds in which the host could not be reached, and the time of the last one.
        /// Requests that fail within `unreachableRoundLength` of its start count as one round.
        private var unreachableRounds = 0
        private var lastUnreachableRound: Duration?
        /// The time of the second lookup of a host name that was not found, for all entries that wait for it.
        var nextLookup: Duration?
        /// Whether the host exceeds the maximum number of hosts of its domain; nil until a request is due.
        var exceedsDomainLimit: Bool?

        /// Whether the host is not leased to this worker.
        var isElsewhere = false

        init(pace: HostPace, robots: OriginRobots?) {
            self.pace = pace
            self.robots = robots
        }

        /// Whether a start URL, or the target of its redirects, is on this host.
        var isStartHost = false
        /// Whether the request for robots.txt is running.
        var isFetchingRobots = false

        /// The number of running requests, including that for robots.txt.
        var runningCount: Int { pace.runningCount + (isFetchingRobots ? 1 : 0) }

        /// Notes that the host could not be reached, and returns how many rounds of requests that concerns so
        /// far.
        mutating func countUnreachableRound(at now: Duration) -> Int {
            if lastUnreachableRound.map({ now - $0 >= Self.unreachableRoundLength }) ?? true {
                unreachableRounds += 1
                lastUnreachableRound = now
            }
            return unreachableRounds
        }

        private static let unreachableRoundLength = Duration.milliseconds(200)

        /// The number of queued assets.
        var queuedAssetCount: Int { min(queue.assetCount, queuedCount) }
    }

    /// Queued entries by kind, in the order in which they are requested.
    struct EntryQueue: Sendable {
        private var assets = FIFOQueue()
        private var pages = FairQueue()
        /// Variants of pages (`Frontier.isVariant`), which go after other pages.
        private var variants = FairQueue()
        private var guides = FIFOQueue()
        private var isGuidesTurn = false
        private var trapPages = FIFOQueue()

        var assetCount: Int { assets.count }

        /// The number of pages and sitemaps.
        var pageCount: Int { pages.count + variants.count + guides.count + trapPages.count }

        /// - Parameters:
        ///   - isVariant: Whether the entry is a variant of another page.
        ///   - urlKind: the hash of similar URLs (`URLKinds.kind`); evaluated only for pages.
        mutating func append(
            _ number: UInt32, _ record: EntryRecord, isVariant: Bool, urlKind: @autoclosure () -> UInt64
        ) {
            switch record.role {
            case .asset: assets.append(number)
            case .page where record.flags.contains(.isPossibleTrap): trapPages.append(number)
            case .page where isVariant: variants.append(number, urlKind: urlKind())
            case .page: pages.append(number, urlKind: urlKind())
            case .guide: guides.append(number)
            }
        }

        /// Queues an entry with the assets, before all other pages.
        mutating func appendAtOnce(_ number: UInt32) { assets.append(number) }

        /// Removes and returns the next entry. Assets go before pages, so that a stopped crawl leaves
        /// complete pages.
        mutating func popFirst() -> UInt32? {
            assets.popFirst() ?? popPage() ?? variants.popFirst() ?? trapPages.popFirst()
        }

        /// Removes and returns the next page or sitemap; they take turns.
        private mutating func popPage() -> UInt32? {
            isGuidesTurn.toggle()
            return isGuidesTurn
                ? guides.popFirst() ?? pages.popFirst() : pages.popFirst() ?? guides.popFirst()
        }

        /// Removes and returns the entry that tells most about whether the host or a single folder fails: one
        /// whose folder is not suspect. Otherwise the entry that was queued last and never requested, since
        /// URLs that fail are often adjacent in the queue.
        mutating func popDiagnostic(isSuspect: (UInt32) -> Bool, isFresh: (UInt32) -> Bool) -> UInt32? {
            if let first = assets.first, !isSuspect(first) { return assets.popFirst() }
            if let first = pages.first, !isSuspect(first) { return pages.popFirst() }
            if let first = guides.first, !isSuspect(first) { return guides.popFirst() }
            if let first = variants.first, !isSuspect(first) { return variants.popFirst() }
            if let first = trapPages.first, !isSuspect(first) { return trapPages.popFirst() }
            isGuidesTurn.toggle()
            if isGuidesTurn, let last = pages.last, isFresh(last) { return pages.popLast() }
            if let last = assets.last, isFresh(last) { return assets.popLast() }
            if let last = pages.last, isFresh(last) { return pages.popLast() }
            return popFirst()
        }
    }
}

/// Detects that the session with a host has ended.
///
/// A login page alone does not show that, because a part of the site may never have been accessible. It does if
/// it replaces a page that was accessible before. The session has therefore ended (`end`) in two cases:
///
/// - Login pages have replaced `loginsOverStoredForEnd` pages that an earlier snapshot has.
/// - A page that this run fetched before is requested again (`pageToCheck`), and is now a login page. Such a check
///   follows a login page, and uses a page with a similar URL if there is one. To limit the requests, a check
///   happens only each time the number of login pages has doubled.
struct SessionLossDetector: Sendable {
    /// The URL of the login page, if the session has ended.
    private(set) var end: String?
    /// The last accessible page for each hash of similar URLs.
    private var openPages: [UInt64: UInt32] = [:]
    /// The keys of `openPages`, in the order of their first page, and the next one to check if no kind is similar.
    private var urlKinds: [UInt64] = []
    private var nextURLKind = 0
    /// The number of pages replaced by a login page, and the number that causes the next check.
    private var logins = 0
    private var nextCheck = 1
    /// The number of these for which an earlier snapshot has a page.
    private var loginsOverStored = 0
    /// The URL of the login page that caused the current check.
    private var place = ""
    /// Whether a check is scheduled or running.
    private var isChecking = false
    private var pageToCheck: UInt32?

    /// Pages of further kinds are not remembered.
    private static let maxURLKinds = 1024
    private static let loginsOverStoredForEnd = 3

    /// Notes a page that is not a login page.
    mutating func didOpen(_ number: UInt32, urlKind: UInt64) {
        guard openPages[urlKind] != nil || urlKinds.count < Self.maxURLKinds else { return }
        if openPages.updateValue(number, forKey: urlKind) == nil { urlKinds.append(urlKind) }
    }

    /// Notes a login page. Returns true if a page has to be requested again: `takePageToCheck` returns it.
    mutating func didAskForLogin(urlKind: UInt64, at place: String, wasStored: Bool) -> Bool {
        guard end == nil else { return false }
        if wasStored { loginsOverStored += 1 }
        if loginsOverStored >= Self.loginsOverStoredForEnd {
            end = place
            return false
        }
        logins += 1
        guard logins >= nextCheck, !isChecking, !urlKinds.isEmpty else { return false }
        nextCheck = logins * 2
        if let alike = openPages[urlKind] {
            pageToCheck = alike
        } else {
            pageToCheck = openPages[urlKinds[nextURLKind % urlKinds.count]]
            nextURLKind += 1
        }
        self.place = place
        isChecking = pageToCheck != nil
        return isChecking
    }

    mutating func takePageToCheck() -> UInt32? {
        defer { pageToCheck = nil }
        return pageToCheck
    }

    /// Handles the response to the request for the page to check.
    ///
    /// - Parameter asksForLogin: nil if there was no response, or one that does not tell.
    mutating func didCheckSession(asksForLogin: Bool?) {
        isChecking = false
        if asksForLogin == true { end = place }
    }
}

/// A first-in, first-out queue with a pop in amortized constant time.
struct FIFOQueue: Sendable {
    private var numbers: [UInt32] = []
    /// The index of the first number. Those before it have been removed, and are released in batches.
    private var head = 0

    /// With more removed numbers than this, and more than half of all, the array is compacted.
    private static let maxConsumed = 1024

    var isEmpty: Bool { head == numbers.count }

    var count: Int { numbers.count - head }

    var first: UInt32? { isEmpty ? nil : numbers[head] }

    mutating func append(_ number: UInt32) {
        numbers.append(number)
    }

    var last: UInt32? { isEmpty ? nil : numbers.last }

    mutating func popLast() -> UInt32? { isEmpty ? nil : numbers.removeLast() }

    mutating func popFirst() -> UInt32? {
        guard head < numbers.count else { return nil }
        let number = numbers[head]
        head += 1
        if head == numbers.count {
            numbers.removeAll(keepingCapacity: numbers.count <= Self.maxConsumed)
            head = 0
        } else if head > Self.maxConsumed, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
        return number
    }
}

/// A heap of numbers by the time at which they are due.
struct TimedQueue: Sendable {
    private var entries: [(time: Duration, number: UInt32)] = []

    var isEmpty: Bool { entries.isEmpty }

    var count: Int { entries.count }

    func contains(where isWanted: (UInt32) -> Bool) -> Bool { entries.contains { isWanted($0.number) } }

    /// The time when the first number is due.
    var next: Duration? { entries.first?.time }

    mutating func add(_ number: UInt32, at time: Duration) {
        var place = entries.count
        entries.append((time, number))
        while place > 0, case let parent = (place - 1) / 2, time < entries[parent].time {
            entries.swapAt(place, parent)
            place = parent
        }
    }

    /// Removes and returns the earliest number; nil if none is due yet.
    mutating func popDue(now: Duration) -> UInt32? {
        guard let first = entries.first, first.time <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        sink(0)
        return first.number
    }

    /// Takes time in proportion to the number of entries.
    mutating func removeAll(where isUnwanted: (UInt32) -> Bool) {
        entries.removeAll { isUnwanted($0.number) }
        for place in stride(from: entries.count / 2 - 1, through: 0, by: -1) { sink(place) }
    }

    private mutating func sink(_ start: Int) {
        var place = start
        while case let left = place * 2 + 1, left < entries.count {
            let right = left + 1
            let least = right < entries.count && entries[right].time < entries[left].time ? right : left
            guard entries[least].time < entries[place].time else { return }
            entries.swapAt(place, least)
            place = least
        }
    }
}

/// A queue that is fair between kinds of URLs, so that the endless pages of one kind do not delay all others.
///
/// URLs leave in the order in which they came until a kind (`URLKinds.kind`) has had `turnsInOrder` turns; then
/// kinds that had far fewer turns go first. The kinds with few URLs share one group, and a kind gets its own
/// group with its `minURLsOfGroup`th URL.
struct FairQueue: Sendable {
    private struct Group: Sendable {
        var numbers = FIFOQueue()
        /// The value of `clock` at the time each number was added.
        var turns = FIFOQueue()
        var started = 0

        /// The priority, where lower goes first. It is 0 at first, and rises each time the number of turns
        /// doubles.
        var level: Int { Int.bitWidth - (started / FairQueue.turnsInOrder).leadingZeroBitCount }
    }

    /// The groups, of which the first is shared by all kinds with few URLs, because thousands of kinds with
    /// one page each are no better than one kind with thousands.
    private var groups = [Group()]
    private var places: [UInt64: Int] = [:]
    /// The number of URLs of each kind without its own group.
    private var small: [UInt64: Int] = [:]
    private var clock: UInt32 = 0
    private(set) var count = 0

    private static let maxGroups = 64
    private static let maxSmallKinds = 4096
    private static let minURLsOfGroup = 16
    private static let turnsInOrder = 64

    mutating func append(_ number: UInt32, urlKind: UInt64) {
        let place = place(of: urlKind)
        groups[place].numbers.append(number)
        groups[place].turns.append(clock)
        clock &+= 1
        count += 1
    }

    var first: UInt32? { count == 0 ? nil : groups[next].numbers.first }

    mutating func popFirst() -> UInt32? {
        guard count > 0 else { return nil }
        let place = next
        count -= 1
        groups[place].started += 1
        _ = groups[place].turns.popFirst()
        return groups[place].numbers.popFirst()
    }

    var last: UInt32? { groups.last { !$0.numbers.isEmpty }?.numbers.last }

    mutating func popLast() -> UInt32? {
        guard let place = groups.lastIndex(where: { !$0.numbers.isEmpty }) else { return nil }
        count -= 1
        _ = groups[place].turns.popLast()
        return groups[place].numbers.popLast()
    }

    private var next: Int {
        if groups.count == 1 { return 0 }
        var best = 0
        var (bestLevel, bestTurn) = (Int.max, UInt32.max)
        for place in groups.indices {
            guard let turn = groups[place].turns.first else { continue }
            let level = groups[place].level
            if level < bestLevel || level == bestLevel && turn < bestTurn {
                (best, bestLevel, bestTurn) = (place, level, turn)
            }
        }
        return best
    }

    private mutating func place(of urlKind: UInt64) -> Int {
        if let place = places[urlKind] { return place }
        guard groups.count < Self.maxGroups else { return 0 }
        if small.count >= Self.maxSmallKinds { small.removeAll(keepingCapacity: true) }
        let known = small[urlKind, default: 0] + 1
        guard known >= Self.minURLsOfGroup else {
            small[urlKind] = known
            return 0
        }
        small[urlKind] = nil
        groups.append(Group())
        places[urlKind] = groups.count - 1
        return groups.count - 1
    }
}

/// The robots.txt of each host, for which its pages wait.
extension Frontier {
    /// Origins whose robots.txt could not be fetched.
    var failedRobotsOrigins: Set<String> {
        Set(hostNumbers.filter { hosts[$1].robots?.isUnreachable ?? false }.map(\.key))
    }

    /// Schedules the request for the robots.txt of a host, because a page needs it or soon will.
    mutating func scheduleRobots(of host: Int) {
        guard !hosts[host].isRobotsDue, let time = hosts[host].robots?.nextFetch else { return }
        hosts[host].isRobotsDue = true
        robotsQueue.add(UInt32(host), at: time)
    }

    /// Handles the end of a request for robots.txt. Returns `startTask` if a redirect has to be followed.
    mutating func didFetchRobots(host: Int, _ answer: Frontier.RobotsAnswer) -> [Action] {
        switch answer {
        case .answered(let status, let location, let body, let zone):
            patience.didRespond(&hosts[host], now: now)
            if status >= 500, hosts[host].errors.isFailing { hosts[host].robots?.skipRetries() }
            if let target = hosts[host].robots?.didRespond(
                status: status, location: location, body: body.span, from: zone, now: now)
            {
                return [
                    .startTask(.robots(host: host, target, hosts[host].robots?.chainZone ?? .publicNetwork))
                ]
            }
        case .failed(let failure):
            let isTemporary = failure.canRetry || failure.kind == .unknownHost
            let isLost =
                Failure.fetch(failure).isNoResponse && isGivenUp(host) || isRefusingConnections(host, failure)
            hosts[host].robots?.didFail(failure.description, isTemporary: isTemporary && !isLost, now: now)
        }
        admitAwaitingRobots(of: host)
        return []
    }

    /// Whether the host has never responded, and refused the connection for the second time. Usually nothing listens
    /// on the port, and only links of other hosts lead there.
    private func isRefusingConnections(_ host: Int, _ failure: FetchFailure) -> Bool {
        failure.kind == .unreachable && !hosts[host].isStartHost && !hosts[host].hasResponded
            && hosts[host].robots?.hasFailed == true
    }

    /// Whether all requests to the host have failed without reaching it. Then its robots.txt cannot be
    /// reached either, and is not retried.
    private func isGivenUp(_ host: Int) -> Bool {
        hosts[host].isUnreachable && !hosts[host].hasResponded && hosts[host].queuedCount == 0
            && hosts[host].pace.runningCount == 0
            && !retries.contains { Int(records[Int($0)].host) == host }
    }

    /// Requests robots.txt at once, instead of after a delay, if only the gated pages of an unreachable host
    /// are left, or if the host answers everything with an error.
    mutating func expediteRobots(of host: Int) {
        guard !hosts[host].awaitingRobots.isEmpty, let due = hosts[host].robots?.nextFetch, due > now,
            hosts[host].errors.isFailing || isGivenUp(host)
        else { return }
        hosts[host].robots?.hurry(now: now)
        robotsQueue.removeAll { Int($0) == host }
        hosts[host].isRobotsDue = false
        scheduleRobots(of: host)
    }

    /// Queues or skips the pages that wait at a gate, once the rules are known.
    private mutating func admitAwaitingRobots(of host: Int) {
        runningCount -= 1
        hosts[host].isFetchingRobots = false
        if hosts[host].robots?.nextFetch != nil {
            // robots.txt is requested again only if pages wait for it.
            if !hosts[host].awaitingRobots.isEmpty { scheduleRobots(of: host) }
            return
        }
        if let delay = hosts[host].robots?.crawlDelay { hosts[host].pace.setMinInterval(delay.applied) }
        let waiting = hosts[host].awaitingRobots
        hosts[host].awaitingRobots = []
        for number in waiting where records[Int(number)].state == .waiting { admit(number, url(number)) }
        // Sitemaps are limited by the zone of robots.txt alone, whatever zones the host's pages are linked
        // from.
        let zone = hosts[host].robots?.zone ?? .publicNetwork
        for sitemap in hosts[host].robots?.sitemaps ?? [] { addGuide(sitemap, nearestZone: zone) }
    }
}
