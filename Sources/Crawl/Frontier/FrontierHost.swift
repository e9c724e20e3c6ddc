internal import Fetch
internal import Web

extension FrontierCore {
    /// One origin, and what waits for it.
    struct Host: Sendable {
        /// Where the frontier looks for it, so that what cannot start now costs nothing.
        enum Place: Sendable {
            /// Nothing is queued, or an answer has to come first.
            case aside
            /// In the line of those that may start something.
            case inLine
            /// Until a pause of it is over.
            case paused
        }

        var pace: HostPace
        /// Nil where nobody asks for a robots.txt.
        var gate: RobotsGate?
        var place = Place.aside
        private var assets = WorkQueue()
        private var pages = FairQueue()
        private var guides = WorkQueue()
        private var isGuidesTurn = false
        private var slowPages = WorkQueue()
        /// Pages that wait for what robots.txt says.
        var atGate: [UInt32] = []
        /// It is known when its robots.txt is to be asked for.
        var isGateDue = false
        /// The nearest zone of the pages that link to this host: the limit for a request for its robots.txt.
        var nearestZone = NetworkZone.publicNetwork
        /// How many entries are queued; one that became an asset stands in both queues and counts once.
        var queuedCount = 0
        var softNotFound = SoftNotFoundWatch()
        /// The network zone of the page that gave the reason for the probe, which limits the probe.
        var probeZone = NetworkZone.publicNetwork
        /// What was no sure link, and was there or not.
        var guesses = (right: 0, wrong: 0)
        /// Of what its scripts seem to name hardly anything is there.
        var isGuessedInVain: Bool { guesses.wrong >= 64 && guesses.wrong > 4 * guesses.right }
        var faults = HostFaults()
        var session = SessionWatch()
        /// Nothing more is asked of it, since the session has ended.
        var isClosed = false
        /// Set if the host asked for a longer pause than a run waits. The run sends it no more requests.
        var deferral: Failure?
        /// URLs that it answered in that way since its last other answer.
        var longWaits = 0
        /// When something was first asked of it, and whether it has ever answered.
        var firstStart: Duration?
        var hasAnswered = false
        /// Something was given up as nobody was reached.
        var isUnreachable: Bool { unreached != nil }
        /// How.
        var unreached: Failure?
        /// Nobody was ever reached: nothing more is asked of it.
        var isLost: Bool { isUnreachable && !hasAnswered }
        /// How often nobody was reached, and when last; what was under way together counts once.
        private var vainRounds = 0
        private var lastVain: Duration?
        /// Its name was not found: when it is looked up once more, for all that wait for it.
        var nextLookup: Duration?
        /// Whether it counts among the hosts of its domain; nil until something is to be asked of it.
        var isTooMany: Bool?

        /// Another worker asks it, or nobody yet.
        var isElsewhere = false

        init(pace: HostPace, gate: RobotsGate?) {
            self.pace = pace
            self.gate = gate
        }

        /// A start is there.
        var isOwn = false
        /// Its robots.txt is being asked for.
        var isAskingGate = false

        /// How much is under way.
        var runningCount: Int { pace.runningCount + (isAskingGate ? 1 : 0) }

        /// - Parameter kin: only asked for where it matters.
        mutating func append(_ number: UInt32, _ record: Record, kin: @autoclosure () -> UInt64) {
            switch record.role {
            case .asset: assets.append(number)
            case .page where record.flags.contains(.isSlow): slowPages.append(number)
            case .page: pages.append(number, kin: kin())
            case .guide: guides.append(number)
            }
        }

        /// Along with what pages need, before all other pages.
        mutating func appendAtOnce(_ number: UInt32) { assets.append(number) }

        /// Nobody was reached. Gives how often that was so, whatever was asked for.
        mutating func isInVain(at now: Duration) -> Int {
            if lastVain.map({ now - $0 >= Self.vainRound }) ?? true {
                vainRounds += 1
                lastVain = now
            }
            return vainRounds
        }

        private static let vainRound = Duration.milliseconds(200)

        /// Of what is queued, what pages need.
        var queuedAssetCount: Int { min(assets.count, queuedCount) }

        /// What a page needs goes first, so that a crawl that is stopped leaves whole pages.
        mutating func popFirst() -> UInt32? {
            assets.popFirst() ?? popPage() ?? slowPages.popFirst()
        }

        /// Pages and the lists of them take turns.
        private mutating func popPage() -> UInt32? {
            isGuidesTurn.toggle()
            return isGuidesTurn
                ? guides.popFirst() ?? pages.popFirst() : pages.popFirst() ?? guides.popFirst()
        }

        /// The one that tells most of whose fault it is that others failed: what is no suspect, else what
        /// came last, for what fails often comes together, and what was not tried before.
        mutating func popTelling(isSuspect: (UInt32) -> Bool, isFresh: (UInt32) -> Bool) -> UInt32? {
            if let first = assets.first, !isSuspect(first) { return assets.popFirst() }
            if let first = pages.first, !isSuspect(first) { return pages.popFirst() }
            if let first = guides.first, !isSuspect(first) { return guides.popFirst() }
            if let first = slowPages.first, !isSuspect(first) { return slowPages.popFirst() }
            isGuidesTurn.toggle()
            if isGuidesTurn, let last = pages.last, isFresh(last) { return pages.popLast() }
            if let last = assets.last, isFresh(last) { return assets.popLast() }
            if let last = pages.last, isFresh(last) { return pages.popLast() }
            return popFirst()
        }
    }
}

/// Watches the pages of one host for the end of the session that opened them.
///
/// That a page asks for a login says little: a part of the site may never have been open. That one which came
/// asks for it now says that the session has ended. Pages of an earlier snapshot are such, and of this one those
/// that came are asked for once more, one at a time: a page like the one that asks first.
struct SessionWatch: Sendable {
    /// Where a login was shown when the session had ended.
    private(set) var end: String?
    /// Pages that came and asked for nothing, the last of each kin.
    private var openPages: [UInt64: UInt32] = [:]
    private var kins: [UInt64] = []
    private var nextKin = 0
    /// Pages that asked for a login.
    private var logins = 0
    private var nextDoubt = 1
    /// Of them, those that an earlier snapshot has.
    private var heldLogins = 0
    private var place = ""
    private var isAsking = false
    private var witness: UInt32?

    private static let mostKins = 1024
    private static let heldLoginsForEnd = 3

    mutating func opened(_ number: UInt32, kin: UInt64) {
        guard openPages[kin] != nil || kins.count < Self.mostKins else { return }
        if openPages.updateValue(number, forKey: kin) == nil { kins.append(kin) }
    }

    /// True when a page that came is to be asked for again: so often as the number of logins doubles.
    mutating func askedForLogin(kin: UInt64, at place: String, wasHeld: Bool) -> Bool {
        guard end == nil else { return false }
        if wasHeld { heldLogins += 1 }
        if heldLogins >= Self.heldLoginsForEnd {
            end = place
            return false
        }
        logins += 1
        guard logins >= nextDoubt, !isAsking, !kins.isEmpty else { return false }
        nextDoubt = logins * 2
        if let alike = openPages[kin] {
            witness = alike
        } else {
            witness = openPages[kins[nextKin % kins.count]]
            nextKin += 1
        }
        self.place = place
        isAsking = witness != nil
        return isAsking
    }

    mutating func takeWitness() -> UInt32? {
        defer { witness = nil }
        return witness
    }

    /// - Parameter asksForLogin: nil when no answer came that would tell.
    mutating func witnessed(asksForLogin: Bool?) {
        isAsking = false
        if asksForLogin == true { end = place }
    }
}

/// First in, first out, without moving what is left.
struct WorkQueue: Sendable {
    private var numbers: [UInt32] = []
    private var head = 0

    private static let mostBehind = 1024

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
            numbers.removeAll(keepingCapacity: numbers.count <= Self.mostBehind)
            head = 0
        } else if head > Self.mostBehind, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
        return number
    }
}

/// Numbers with the times at which they are due, the earliest first: a heap.
struct TimedQueue: Sendable {
    private var entries: [(time: Duration, number: UInt32)] = []

    var isEmpty: Bool { entries.isEmpty }

    var count: Int { entries.count }

    func contains(where isWanted: (UInt32) -> Bool) -> Bool { entries.contains { isWanted($0.number) } }

    /// When the first one is due.
    var next: Duration? { entries.first?.time }

    mutating func add(_ number: UInt32, at time: Duration) {
        var place = entries.count
        entries.append((time, number))
        while place > 0, case let parent = (place - 1) / 2, time < entries[parent].time {
            entries.swapAt(place, parent)
            place = parent
        }
    }

    /// Nil when nothing is due yet.
    mutating func popDue(now: Duration) -> UInt32? {
        guard let first = entries.first, first.time <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        sink(0)
        return first.number
    }

    /// Costs as much as there are entries.
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

/// What waits, by kin: first in, first out, until one kin has had many turns; then those that had fewer go
/// first, so that ever new pages of one kind never keep the others waiting.
struct FairQueue: Sendable {
    private struct Group: Sendable {
        var numbers = WorkQueue()
        /// When each came in.
        var turns = WorkQueue()
        var started = 0

        /// It rises each time that as many again had their turn.
        var level: Int { Int.bitWidth - (started / FairQueue.turnsInOrder).leadingZeroBitCount }
    }

    /// The first one is of those whose kin is small: thousands of kins with a page each are no more than one
    /// with thousands.
    private var groups = [Group()]
    private var places: [UInt64: Int] = [:]
    /// How many of a kin came that has no group yet.
    private var small: [UInt64: Int] = [:]
    private var clock: UInt32 = 0
    private(set) var count = 0

    private static let mostGroups = 64
    private static let mostSmall = 4096
    private static let leastOfGroup = 16
    private static let turnsInOrder = 64

    mutating func append(_ number: UInt32, kin: UInt64) {
        let place = place(of: kin)
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

    private mutating func place(of kin: UInt64) -> Int {
        if let place = places[kin] { return place }
        guard groups.count < Self.mostGroups else { return 0 }
        if small.count >= Self.mostSmall { small.removeAll(keepingCapacity: true) }
        let known = small[kin, default: 0] + 1
        guard known >= Self.leastOfGroup else {
            small[kin] = known
            return 0
        }
        small[kin] = nil
        groups.append(Group())
        places[kin] = groups.count - 1
        return groups.count - 1
    }
}

/// Gates: what robots.txt says is waited for, host by host.
extension FrontierCore {
    /// Origins whose robots.txt could not be had.
    var doubted: Set<String> {
        Set(hostNumbers.filter { hosts[$1].gate?.isUnreachable ?? false }.map(\.key))
    }

    /// Pages wait for the robots.txt of the host, or soon will.
    mutating func approachGate(of host: Int) {
        guard !hosts[host].isGateDue, let time = hosts[host].gate?.nextFetch else { return }
        hosts[host].isGateDue = true
        gates.add(UInt32(host), at: time)
    }

    /// What came of asking for a host's robots.txt; of a redirect, where to ask instead.
    mutating func robotsAnswered(host: Int, _ answer: Frontier.RobotsAnswer) -> [Action] {
        switch answer {
        case .answered(let status, let location, let body, let zone):
            noteAnswer(of: host)
            if let target = hosts[host].gate?.answered(
                status: status, location: location, body: body.span, from: zone, now: now)
            {
                return [.ask(.robots(host: host, target, hosts[host].gate?.chainZone ?? .publicNetwork))]
            }
        case .failed(let failure):
            let mayPass = failure.mayPass || failure.kind == .unknownHost
            let isLost = Failure.fetch(failure).isSilence && isGivenUp(host)
            hosts[host].gate?.failed(failure.description, mayPass: mayPass && !isLost, now: now)
        }
        passGate(of: host)
        return []
    }

    /// Whether all that was asked of the host failed as often as it is tried, and nobody was reached: its
    /// robots.txt has the same door.
    private func isGivenUp(_ host: Int) -> Bool {
        hosts[host].isUnreachable && !hosts[host].hasAnswered && hosts[host].queuedCount == 0
            && hosts[host].pace.runningCount == 0
            && !retries.contains { Int(records[Int($0)].host) == host }
    }

    /// Nothing of the host is left but what waits at its gate: it is knocked at once more, and not waited for.
    mutating func hurryGate(of host: Int) {
        guard !hosts[host].atGate.isEmpty, let due = hosts[host].gate?.nextFetch, due > now, isGivenUp(host)
        else { return }
        hosts[host].gate?.hurry(now: now)
        gates.removeAll { Int($0) == host }
        hosts[host].isGateDue = false
        approachGate(of: host)
    }

    /// Those who wait at a gate go on, or away, once it is known what robots.txt says.
    private mutating func passGate(of host: Int) {
        runningCount -= 1
        hosts[host].isAskingGate = false
        if hosts[host].gate?.nextFetch != nil {
            // Who comes later asks again; for nobody it is not asked for.
            if !hosts[host].atGate.isEmpty { approachGate(of: host) }
            return
        }
        if let delay = hosts[host].gate?.crawlDelay { hosts[host].pace.keep(distance: delay.kept) }
        let waiting = hosts[host].atGate
        hosts[host].atGate = []
        for number in waiting where records[Int(number)].state == .waiting { admit(number, url(number)) }
        // Only robots.txt names them: where the host may be requested from says nothing about them.
        let zone = hosts[host].gate?.zone ?? .publicNetwork
        for sitemap in hosts[host].gate?.sitemaps ?? [] { startGuide(sitemap, nearestZone: zone) }
    }
}
