internal import Cluster
internal import Fetch
internal import Store
internal import Web

/// The state of a worker's frontier that is exchanged with other workers.
struct FrontierSharing: Sendable {
    /// Entries for other workers' hosts that are new, or of which more is known than was sent.
    var outgoing: [UInt32] = []
    /// Entries that failed or turned out not to be fetched, for other workers.
    var outcomes: [UInt32] = []
    /// Entries that turned out to be soft 404s.
    var softNotFound: [UInt32] = []
    /// The redirects of start URLs.
    var moves: [(from: WebURL, to: WebURL)] = []
    /// Pages that wait until this worker is assigned more pages.
    var waitingPages: [UInt32] = []
    /// The number of pages assigned to this worker so far; nil without a limit.
    var pages: Int?
    /// The total number of bytes that other workers have received.
    var othersBytes = 0

    func mayAskPage(_ asked: Int) -> Bool { pages.map { asked < $0 } ?? true }
}

extension Frontier {
    /// A URL that another worker discovered for a host of this worker.
    struct RemoteDiscovery: Sendable, Equatable {
        var url: WebURL
        var referrer: WebURL?
        var facts: Facts

        /// The properties of a discovery, which are stored as one number in the database.
        struct Facts: Sendable, Equatable {
            var role = Role.page
            var isStart = false
            var isGuess = false
            var isCORS = false
            /// Whether the referrer is a document, on whose behalf the URL is requested.
            var isOfDocument = false
            /// The nearest network zone that the request may connect to.
            var nearestZone = NetworkZone.publicNetwork
            /// The network zone that the page with the link came from.
            var zone = NetworkZone.publicNetwork
            var redirects: UInt8 = 0
            var chain: UInt8 = 0
            var depth: UInt16 = 0
        }
    }

    /// The outcome of an entry, which other workers need not find out again.
    enum KnownOutcome: Sendable, Equatable {
        case failed(Failure)
        case skipped(SkipReason)
    }
}

extension Frontier.RemoteDiscovery.Facts {
    init(packed: Int64) {
        func bits(_ from: Int64, _ count: Int64) -> Int64 { packed >> from & (1 << count - 1) }
        role = Frontier.Role(rawValue: UInt8(bits(0, 2))) ?? .page
        isStart = bits(2, 1) == 1
        isGuess = bits(3, 1) == 1
        isCORS = bits(4, 1) == 1
        isOfDocument = bits(5, 1) == 1
        nearestZone = Self.zone(bits(6, 2))
        zone = Self.zone(bits(8, 2))
        redirects = UInt8(bits(10, 8))
        chain = UInt8(bits(18, 8))
        depth = UInt16(bits(26, 16))
    }

    var packed: Int64 {
        var packed = Int64(role.rawValue)
        if isStart { packed |= 1 << 2 }
        if isGuess { packed |= 1 << 3 }
        if isCORS { packed |= 1 << 4 }
        if isOfDocument { packed |= 1 << 5 }
        packed |= Self.number(nearestZone) << 6 | Self.number(zone) << 8
        return packed | Int64(redirects) << 10 | Int64(chain) << 18 | Int64(depth) << 26
    }

    /// The properties that make two discoveries of a URL different, as a number. The depth is one of them
    /// only if the scope limits it.
    func identity(withDepth: Bool) -> Int64 {
        var essence = self
        essence.isOfDocument = false
        essence.zone = .publicNetwork
        essence.redirects = 0
        essence.chain = 0
        if !withDepth { essence.depth = 0 }
        return essence.packed
    }

    static func zone(_ number: Int64) -> NetworkZone {
        switch number {
        case 2: .thisMachine
        case 1: .privateNetwork
        default: .publicNetwork
        }
    }

    static func number(_ zone: NetworkZone) -> Int64 {
        switch zone {
        case .publicNetwork: 0
        case .privateNetwork: 1
        case .thisMachine: 2
        }
    }
}

extension SkipReason {
    /// Whether a request was necessary to find the reason.
    var needsRequest: Bool {
        switch self {
        case .trap, .endless, .unstored: true
        case .otherHost, .otherDomain, .otherFolder, .tooDeep, .excluded, .scheme, .longURL, .robots,
            .robotsUnknown, .nofollow, .noindex, .nestedSitemap, .sessionEnd, .action, .sidePage, .view,
            .bound,
            .guess, .refused,
            .limit:
            false
        }
    }
}

/// Hosts that are leased to other workers.
extension FrontierCore {
    /// Passes an entry to the worker that has its host.
    mutating func send(_ number: UInt32) {
        records[Int(number)].state = .elsewhere
        sharing?.outgoing.append(number)
    }

    /// Passes an entry on again, because more is known of it.
    mutating func resend(_ number: UInt32) {
        guard sharing != nil, records[Int(number)].state == .elsewhere,
            !records[Int(number)].flags.contains(.isReferrerOnly)
        else { return }
        sharing?.outgoing.append(number)
    }

    /// Turns an entry that was known only as a referrer into a discovered one. If its new referrer chain
    /// would lead back to itself, it loses its referrer.
    mutating func replaceReferrer(_ number: UInt32, by record: EntryRecord) {
        let before = records[Int(number)]
        records[Int(number)] = record
        records[Int(number)].zone = before.zone
        var next = record.referrer
        while next != EntryRecord.noEntry, next != number { next = records[Int(next)].referrer }
        if next == number { records[Int(number)].referrer = EntryRecord.noEntry }
        if before.flags.contains(.isDocument) { records[Int(number)].flags.insert(.isDocument) }
    }

    /// Adds a URL that another worker discovered for a host of this worker.
    mutating func addRemoteDiscovery(_ arrival: Frontier.RemoteDiscovery) {
        let facts = arrival.facts
        var flags: EntryRecord.Flags = []
        if facts.isStart { flags.insert(.isStart) }
        if facts.isGuess { flags.insert(.isGuess) }
        if facts.isCORS { flags.insert(.isCORS) }
        let referrer = arrival.referrer.map { referrerNumber(of: $0, facts) }
        let known = urls.find(arrival.url)
        let number = discover(
            arrival.url, role: facts.role, from: referrer, redirects: facts.redirects, flags: flags,
            nearestZone: facts.nearestZone, chain: facts.chain)
        guard known != nil, facts.isStart, !records[Int(number)].flags.contains(.isStart) else { return }
        records[Int(number)].flags.insert(.isStart)
        hosts[Int(records[Int(number)].host)].isStartHost = true
        if records[Int(number)].state == .skipped { admit(number, arrival.url) }
    }

    /// Returns the number of the referrer of an arrived URL, on whatever host it is.
    private mutating func referrerNumber(of url: WebURL, _ facts: Frontier.RemoteDiscovery.Facts) -> UInt32 {
        let (number, isNew) = urls.number(of: url)
        guard isNew else { return number }
        let isFurther = facts.redirects == 0 && facts.role == .page
        var record = EntryRecord(
            host: UInt32(hostNumber(of: url)), referrer: EntryRecord.noEntry,
            depth: isFurther && facts.depth > 0 ? facts.depth - 1 : facts.depth,
            flags: facts.isOfDocument ? [.isReferrerOnly, .isDocument] : .isReferrerOnly, role: .page,
            nearestZone: facts.zone, redirects: 0)
        record.state = .elsewhere
        record.zone = facts.zone
        records.append(record)
        return number
    }

    /// Notes that this worker has leased the origins, and queues their entries.
    mutating func leaseHosts(_ origins: [String]) {
        var taken: Set<UInt32> = []
        for origin in origins {
            guard let url = WebURL(origin + "/") else { continue }
            let host = hostNumber(of: url)
            hosts[host].isElsewhere = false
            taken.insert(UInt32(host))
        }
        // Entries that this worker found for these hosts before it leased them.
        for number in records.indices
        where records[number].state == .elsewhere && taken.contains(records[number].host)
            && !records[number].flags.contains(.isReferrerOnly)
        {
            admit(UInt32(number), url(UInt32(number)))
        }
    }

    /// Notes that the lease of an origin has ended. Its unfinished entries, none of which may be running,
    /// become `elsewhere`.
    mutating func releaseHost(_ origin: String) {
        guard let host = hostNumbers[origin] else { return }
        hosts[host].isElsewhere = true
        while let number = hosts[host].queue.popFirst() {
            guard records[Int(number)].state == .queued else { continue }
            changeQueued(of: host, by: -1)
            records[Int(number)].state = .elsewhere
        }
        for number in hosts[host].awaitingRobots where records[Int(number)].state == .waiting {
            records[Int(number)].state = .elsewhere
        }
        hosts[host].awaitingRobots = []
        var left: [UInt32] = []
        retries.removeAll { number in
            let isOfHost = Int(records[Int(number)].host) == host
            if isOfHost { left.append(number) }
            return isOfHost
        }
        for number in left { records[Int(number)].state = .elsewhere }
        let held = sharing?.waitingPages ?? []
        for number in held where Int(records[Int(number)].host) == host {
            records[Int(number)].state = .elsewhere
        }
        sharing?.waitingPages = held.filter { records[Int($0)].state != .elsewhere }
    }

    /// Extends the scope to the target of a start URL's redirect that another worker followed.
    mutating func applyStartRedirect(from: WebURL, to: WebURL) {
        if let number = urls.find(to), !records[Int(number)].flags.contains(.isReferrerOnly) {
            records[Int(number)].flags.insert(.isStart)
        }
        extendScope(from: from, to: to)
    }

    /// Updates the total number of bytes that other workers have received.
    mutating func updateOthersByteCount(_ byteCount: Int) {
        guard let before = sharing?.othersBytes else { return }
        usage.byteCount += max(0, byteCount - before)
        sharing?.othersBytes = max(before, byteCount)
    }
}

/// The page limit of the snapshot, of which each worker is assigned a part.
extension FrontierCore {
    /// Lets a page wait until more pages are assigned to this worker.
    mutating func holdForPageLimit(_ number: UInt32) {
        records[Int(number)].state = .waiting
        sharing?.waitingPages.append(number)
    }

    /// Assigns more pages to this worker, and queues those that wait.
    mutating func grantPages(_ count: Int) {
        let granted = sharing?.pages ?? 0
        sharing?.pages = granted + count
        let held = sharing?.waitingPages ?? []
        sharing?.waitingPages = []
        for number in held where records[Int(number)].state == .waiting { enqueue(number) }
    }

    /// Leaves the waiting pages, because the page limit of the snapshot is used up.
    mutating func dropWaitingPages() {
        for number in sharing?.waitingPages ?? [] where records[Int(number)].state == .waiting {
            records[Int(number)].state = .elsewhere
        }
        sharing?.waitingPages = []
    }

    /// Corrects the count for a page that the snapshot had counted before.
    mutating func uncountPage(_ number: UInt32) {
        if records[Int(number)].role == .page { usage.pages = max(0, usage.pages - 1) }
    }

    /// Ends a running entry with an outcome that another worker has found out.
    mutating func applyKnownOutcome(_ number: UInt32, _ outcome: Frontier.KnownOutcome) {
        endWithoutRequest(number)
        let count = sharing?.outcomes.count ?? 0
        switch outcome {
        case .failed(let failure): fail(number, failure)
        case .skipped(let reason): skip(number, reason)
        }
        let all = sharing?.outcomes.count ?? 0
        sharing?.outcomes.removeLast(all - count)
    }
}

/// Discoveries and outcomes for other workers.
extension FrontierCore {
    mutating func takeOutgoing() -> [SharedFrontier.DiscoveredURL] {
        guard let outgoing = sharing?.outgoing, !outgoing.isEmpty else { return [] }
        sharing?.outgoing = []
        var known: Set<UInt32> = []
        return outgoing.filter { known.insert($0).inserted }.map(discoveredURL)
    }

    private func discoveredURL(_ number: UInt32) -> SharedFrontier.DiscoveredURL {
        let record = records[Int(number)]
        let referrer = record.referrer == EntryRecord.noEntry ? nil : record.referrer
        var facts = Frontier.RemoteDiscovery.Facts()
        facts.role = record.role
        facts.isStart = record.flags.contains(.isStart)
        facts.isGuess = record.flags.contains(.isGuess)
        facts.isCORS = record.flags.contains(.isCORS)
        facts.isOfDocument = referrer.map { records[Int($0)].flags.contains(.isDocument) } ?? false
        facts.nearestZone = record.nearestZone
        facts.zone = referrer.map { records[Int($0)].zone } ?? .publicNetwork
        facts.redirects = record.redirects
        facts.chain = record.chain
        facts.depth = record.depth
        let url = url(number)
        return SharedFrontier.DiscoveredURL(
            origin: url.origin, href: url.href, referrer: referrer.map { self.url($0).href },
            facts: facts.packed, identity: facts.identity(withDepth: scope.limitsDepth))
    }

    mutating func takeOutcomes() -> [UInt32] {
        defer { sharing?.outcomes.removeAll() }
        return sharing?.outcomes ?? []
    }

    mutating func takeSoftNotFound() -> [UInt32] {
        defer { sharing?.softNotFound.removeAll() }
        return sharing?.softNotFound ?? []
    }

    mutating func takeMoves() -> [(from: WebURL, to: WebURL)] {
        defer { sharing?.moves.removeAll() }
        return sharing?.moves ?? []
    }

    var activeHostCount: Int {
        hosts.count {
            !$0.isElsewhere && ($0.queuedCount > 0 || $0.runningCount > 0 || !$0.awaitingRobots.isEmpty)
        }
    }

    /// Origins with enough queued entries to be given to another worker, those with most first. A host that
    /// is nearly done is not worth it, because its new worker has to read all its stored responses.
    var hostsToGiveAway: [String] {
        var hosts: [(origin: String, queued: Int)] = []
        for (origin, number) in hostNumbers where !self.hosts[number].isElsewhere {
            let host = self.hosts[number]
            guard
                host.queuedCount >= Self.minQueuedToRelease || host.firstStart == nil && host.queuedCount > 0
            else { continue }
            hosts.append((origin, host.queuedCount))
        }
        return hosts.sorted { $0.queued != $1.queued ? $0.queued > $1.queued : $0.origin < $1.origin }.map(
            \.origin)
    }

    private static let minQueuedToRelease = 20
}
