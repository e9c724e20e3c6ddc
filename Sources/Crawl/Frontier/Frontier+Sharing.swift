internal import Cluster
internal import Fetch
internal import Store
internal import Web

/// The part of a worker's frontier that concerns other workers. A frontier has it if several workers share a snapshot.
///
/// Each host is leased to one worker, which alone sends requests to it. A worker that discovers a URL of another host
/// sends the URL to the host's worker, through the database. The lists below collect data for the other workers until
/// the crawl's driver takes them (`takeOutgoing` and its siblings) and sends them.
///
/// In this file, a `number` is the index of an entry in `Frontier.records`.
struct FrontierSharing: Sendable {
    /// Entries of other workers' hosts that are new, or whose properties have changed since they were sent. May contain
    /// duplicates.
    var outgoing: [UInt32] = []
    /// Entries that failed, or were skipped because of their response. Other workers need not request them.
    var outcomes: [UInt32] = []
    /// Entries that turned out to be soft 404s. The driver marks them in the store.
    var softNotFound: [UInt32] = []
    /// The redirects of start URLs, which extend the scope of all workers.
    var startRedirects: [(from: WebURL, to: WebURL)] = []
    /// Pages that wait until this worker is assigned more pages.
    var waitingPages: [UInt32] = []
    /// The part of the snapshot's page limit that was assigned to this worker so far; nil without a limit.
    var maxPages: Int?
    /// The number of bytes that all other workers together have received.
    var othersByteCount = 0

    /// Whether a worker that has requested `pageCount` pages may request another one.
    func canRequestPage(after pageCount: Int) -> Bool { maxPages.map { pageCount < $0 } ?? true }
}

extension Frontier {
    /// A URL that another worker discovered for a host of this worker.
    struct RemoteDiscovery: Sendable, Equatable {
        var url: WebURL
        var referrer: WebURL?
        var facts: Facts

        /// The properties of a discovery. In the database they are one number (`packed`).
        struct Facts: Sendable, Equatable {
            var role = Role.page
            var isStart = false
            var isGuess = false
            var isCORS = false
            /// Whether the referrer is a document, on whose behalf the URL is requested.
            var isReferrerDocument = false
            /// The nearest network zone that the request may connect to.
            var nearestZone = NetworkZone.publicNetwork
            /// The network zone that the referrer came from.
            var referrerZone = NetworkZone.publicNetwork
            /// The same as in `Frontier.EntryRecord`, like the next two.
            var redirects: UInt8 = 0
            var chain: UInt8 = 0
            var depth: UInt16 = 0
        }
    }

    /// The outcome of an entry that is known without a request, for example from another worker.
    enum KnownOutcome: Sendable, Equatable {
        case failed(Failure)
        case skipped(SkipReason)
    }
}

extension Frontier.RemoteDiscovery.Facts {
    /// Creates the facts from their packed form. All workers of a snapshot must use the same layout, and unknown values
    /// get defaults.
    init(packed: Int64) {
        func bits(_ from: Int64, _ count: Int64) -> Int64 { packed >> from & (1 << count - 1) }
        role = Frontier.Role(rawValue: UInt8(bits(0, 2))) ?? .page
        isStart = bits(2, 1) == 1
        isGuess = bits(3, 1) == 1
        isCORS = bits(4, 1) == 1
        isReferrerDocument = bits(5, 1) == 1
        nearestZone = Self.zone(bits(6, 2))
        referrerZone = Self.zone(bits(8, 2))
        redirects = UInt8(bits(10, 8))
        chain = UInt8(bits(18, 8))
        depth = UInt16(bits(26, 16))
    }

    /// The facts as one number. From the lowest bit: role (2 bits), four flags (1 each), two zones (2 each), redirects (8),
    /// chain (8), depth (16).
    var packed: Int64 {
        var packed = Int64(role.rawValue)
        if isStart { packed |= 1 << 2 }
        if isGuess { packed |= 1 << 3 }
        if isCORS { packed |= 1 << 4 }
        if isReferrerDocument { packed |= 1 << 5 }
        packed |= Self.number(nearestZone) << 6 | Self.number(referrerZone) << 8
        return packed | Int64(redirects) << 10 | Int64(chain) << 18 | Int64(depth) << 26
    }

    /// Returns the properties that make two discoveries of one URL different, as a number. The database stores a URL once
    /// for each identity, so that the host's worker learns of changes, such as a lower depth, but not of every link.
    ///
    /// - Parameter withDepth: whether the depth is one of these properties: only if the scope limits it.
    func identity(withDepth: Bool) -> Int64 {
        var distinctive = self
        distinctive.isReferrerDocument = false
        distinctive.referrerZone = .publicNetwork
        distinctive.redirects = 0
        distinctive.chain = 0
        if !withDepth { distinctive.depth = 0 }
        return distinctive.packed
    }

    /// Returns the zone for its number in the database.
    static func zone(_ number: Int64) -> NetworkZone {
        switch number {
        case 2: .thisMachine
        case 1: .privateNetwork
        default: .publicNetwork
        }
    }

    /// Returns the number of the zone in the database.
    static func number(_ zone: NetworkZone) -> Int64 {
        switch zone {
        case .publicNetwork: 0
        case .privateNetwork: 1
        case .thisMachine: 2
        }
    }
}

extension SkipReason {
    /// Whether the reason is found only by a request. Such reasons are sent to the other workers, so that none of them
    /// repeats the request.
    var needsRequest: Bool {
        switch self {
        case .trap, .endless, .unstored: true
        case .otherHost, .otherDomain, .otherFolder, .tooDeep, .excluded, .scheme, .longURL, .robots,
            .robotsUnknown, .nofollow, .noindex, .nestedSitemap, .sessionEnd, .action, .sidePage, .view,
            .rendition, .bound, .guess, .refused, .notSupplied, .limit:
            false
        }
    }
}

/// Hosts, each of which is leased to one worker. The entries of hosts that are leased to other workers have the state
/// `elsewhere`.
extension Frontier {
    /// Sends an entry to the worker that has leased its host.
    mutating func send(_ number: UInt32) {
        records[Int(number)].state = .elsewhere
        sharing?.outgoing.append(number)
    }

    /// Sends an entry again after its properties have changed. Does nothing for entries of this worker's own hosts.
    mutating func resend(_ number: UInt32) {
        guard sharing != nil, records[Int(number)].state == .elsewhere,
            !records[Int(number)].flags.contains(.isReferrerOnly)
        else { return }
        sharing?.outgoing.append(number)
    }

    /// Replaces the record of an entry that was known only as a referrer, because its URL has now been discovered by a
    /// link. If the chain of its new referrers would contain the entry itself, its referrer is removed.
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
    mutating func addRemoteDiscovery(_ discovery: Frontier.RemoteDiscovery) {
        let facts = discovery.facts
        var flags: EntryRecord.Flags = []
        if facts.isStart { flags.insert(.isStart) }
        if facts.isGuess { flags.insert(.isGuess) }
        if facts.isCORS { flags.insert(.isCORS) }
        let referrer = discovery.referrer.map { referrerNumber(of: $0, facts) }
        let known = urls.find(discovery.url)
        let number = discover(
            discovery.url, role: facts.role, from: referrer, redirects: facts.redirects, flags: flags,
            nearestZone: facts.nearestZone, chain: facts.chain)
        // An entry that was already known becomes a start URL.
        guard known != nil, facts.isStart, !records[Int(number)].flags.contains(.isStart) else { return }
        records[Int(number)].flags.insert(.isStart)
        hosts[Int(records[Int(number)].host)].isStartHost = true
        if records[Int(number)].state == .skipped { admit(number, discovery.url) }
    }

    /// Returns the number of the referrer of a remote discovery. An unknown referrer gets a record that only serves as a
    /// link of the referrer chain: it is never requested, whichever worker has its host.
    private mutating func referrerNumber(of url: WebURL, _ facts: Frontier.RemoteDiscovery.Facts) -> UInt32 {
        let (number, isNew) = urls.insert(url)
        guard isNew else { return number }
        // A page is one link further from the start than its referrer; a redirect target or an asset is not.
        let isOneLinkFurther = facts.redirects == 0 && facts.role == .page
        var record = EntryRecord(
            host: UInt32(hostNumber(of: url)), referrer: EntryRecord.noEntry,
            depth: isOneLinkFurther && facts.depth > 0 ? facts.depth - 1 : facts.depth,
            flags: facts.isReferrerDocument ? [.isReferrerOnly, .isDocument] : .isReferrerOnly, role: .page,
            nearestZone: facts.referrerZone, redirects: 0)
        record.state = .elsewhere
        record.zone = facts.referrerZone
        records.append(record)
        return number
    }

    /// Handles that this worker has leased the origins: queues their entries.
    mutating func didLeaseHosts(_ origins: [String]) {
        var leased: Set<UInt32> = []
        for origin in origins {
            guard let url = WebURL(origin + "/") else { continue }
            let host = hostNumber(of: url)
            hosts[host].isElsewhere = false
            leased.insert(UInt32(host))
        }
        // Entries that this worker found for these hosts before it leased them.
        for number in records.indices
        where records[number].state == .elsewhere && leased.contains(records[number].host)
            && !records[number].flags.contains(.isReferrerOnly)
        {
            admit(UInt32(number), url(UInt32(number)))
        }
    }

    /// Handles that this worker gives the lease of an origin back. The entries that have not been requested become
    /// `elsewhere`. Requests that are running continue; the driver ends the lease in the database after them.
    mutating func didReleaseHost(_ origin: String) {
        guard let host = hostNumbers[origin] else { return }
        hosts[host].isElsewhere = true
        var released: [UInt32] = []
        while let number = hosts[host].queue.popFirst() {
            guard records[Int(number)].state == .queued else { continue }
            changeQueued(of: host, by: -1)
            records[Int(number)].state = .elsewhere
            released.append(number)
        }
        released += hosts[host].awaitingRobots.filter { records[Int($0)].state == .waiting }
        hosts[host].awaitingRobots = []
        retries.removeAll { number in
            let isOfHost = Int(records[Int(number)].host) == host
            if isOfHost { released.append(number) }
            return isOfHost
        }
        released += (sharing?.waitingPages ?? []).filter { Int(records[Int($0)].host) == host }
        for number in released { records[Int(number)].state = .elsewhere }
        sharing?.waitingPages.removeAll { records[Int($0)].state == .elsewhere }
        sendUnreachable(from: released)
    }

    /// Sends the entries of a released host that its next worker cannot find in the store. That worker reads the stored
    /// responses of the host again, and so finds the links in them. But entries that were found on other hosts while this
    /// worker had the lease are not in the database. So for each entry, its nearest referrer that must be sent is sent, or
    /// the entry itself.
    private mutating func sendUnreachable(from released: [UInt32]) {
        var checked: Set<UInt32> = []
        for number in released {
            var first = number
            while checked.insert(first).inserted {
                guard let referrer = referrerWithStoredLinks(of: first) else {
                    sharing?.outgoing.append(first)
                    break
                }
                first = referrer
            }
        }
    }

    /// The referrer of an entry if it is on the same host, and its stored response has the link; else nil.
    private func referrerWithStoredLinks(of number: UInt32) -> UInt32? {
        let record = records[Int(number)]
        guard record.referrer != EntryRecord.noEntry, case let referrer = records[Int(record.referrer)],
            referrer.host == record.host, referrer.flags.isDisjoint(with: [.isReferrerOnly, .isSoftNotFound])
        else { return nil }
        switch referrer.state {
        case .done, .redirected: return record.referrer
        case .skipped, .queued, .running, .waiting, .failed, .elsewhere: return nil
        }
    }

    /// Extends the scope to the target of a start URL's redirect that another worker followed.
    mutating func applyStartRedirect(from: WebURL, to: WebURL) {
        if let number = urls.find(to), !records[Int(number)].flags.contains(.isReferrerOnly) {
            records[Int(number)].flags.insert(.isStart)
        }
        extendScope(from: from, to: to)
    }

    /// Updates the number of bytes that all other workers together have received. They count towards the limit of the
    /// snapshot.
    ///
    /// - Parameter byteCount: the total of the snapshot without the bytes that this worker has reported. A number lower
    ///   than the last one is ignored: its total was read before this worker's last report.
    mutating func updateOthersByteCount(_ byteCount: Int) {
        guard let before = sharing?.othersByteCount else { return }
        limits.usage.byteCount += max(0, byteCount - before)
        sharing?.othersByteCount = max(before, byteCount)
    }
}

/// The page limit of the snapshot, of which each worker is assigned a part after another, as it needs them.
extension Frontier {
    /// Makes a page wait until more pages are assigned to this worker.
    mutating func waitForPages(_ number: UInt32) {
        records[Int(number)].state = .waiting
        sharing?.waitingPages.append(number)
    }

    /// Assigns more pages to this worker, and queues the waiting ones.
    ///
    /// - Parameter count: negative to give back pages that this worker does not need.
    mutating func grantPages(_ count: Int) {
        let granted = sharing?.maxPages ?? 0
        sharing?.maxPages = granted + count
        let waiting = sharing?.waitingPages ?? []
        sharing?.waitingPages = []
        for number in waiting where records[Int(number)].state == .waiting { enqueue(number) }
    }

    /// Gives up the waiting pages, because all pages of the snapshot's limit are assigned.
    mutating func dropWaitingPages() {
        for number in sharing?.waitingPages ?? [] where records[Int(number)].state == .waiting {
            records[Int(number)].state = .elsewhere
        }
        sharing?.waitingPages = []
    }

    /// Subtracts a page from the pages of this worker, because another worker, or an earlier run, has already counted it.
    mutating func uncountPage(_ number: UInt32) {
        if records[Int(number)].role == .page { limits.usage.pages = max(0, limits.usage.pages - 1) }
    }

    /// Ends a running entry with a known outcome, without a request.
    mutating func applyKnownOutcome(_ number: UInt32, _ outcome: Frontier.KnownOutcome) {
        endWithoutRequest(number)
        let countBefore = sharing?.outcomes.count ?? 0
        switch outcome {
        case .failed(let failure): fail(number, failure)
        case .skipped(let reason): skip(number, reason)
        }
        // The outcome is known to the other workers, so it is not sent to them.
        let count = sharing?.outcomes.count ?? 0
        sharing?.outcomes.removeLast(count - countBefore)
    }
}

/// Data for the other workers. Each `take` function removes and returns one list.
extension Frontier {
    /// The discoveries for other workers, without duplicates.
    mutating func takeOutgoing() -> [SharedFrontier.DiscoveredURL] {
        guard let outgoing = sharing?.outgoing, !outgoing.isEmpty else { return [] }
        sharing?.outgoing = []
        var seen: Set<UInt32> = []
        return outgoing.filter { seen.insert($0).inserted }.map { discoveredURL($0) }
    }

    private func discoveredURL(_ number: UInt32) -> SharedFrontier.DiscoveredURL {
        let record = records[Int(number)]
        let referrer = record.referrer == EntryRecord.noEntry ? nil : record.referrer
        var facts = Frontier.RemoteDiscovery.Facts()
        facts.role = record.role
        facts.isStart = record.flags.contains(.isStart)
        facts.isGuess = record.flags.contains(.isGuess)
        facts.isCORS = record.flags.contains(.isCORS)
        facts.isReferrerDocument = referrer.map { records[Int($0)].flags.contains(.isDocument) } ?? false
        facts.nearestZone = record.nearestZone
        facts.referrerZone = referrer.map { records[Int($0)].zone } ?? .publicNetwork
        facts.redirects = record.redirects
        facts.chain = record.chain
        facts.depth = record.depth
        let url = url(number)
        return SharedFrontier.DiscoveredURL(
            origin: url.origin, href: url.href, referrer: referrer.map { self.url($0).href },
            facts: facts.packed, identity: facts.identity(withDepth: scope.limitsDepth))
    }

    /// The entries whose outcome other workers should know.
    mutating func takeOutcomes() -> [UInt32] {
        defer { sharing?.outcomes.removeAll() }
        return sharing?.outcomes ?? []
    }

    /// The entries that turned out to be soft 404s.
    mutating func takeSoftNotFound() -> [UInt32] {
        defer { sharing?.softNotFound.removeAll() }
        return sharing?.softNotFound ?? []
    }

    /// The redirects of start URLs.
    mutating func takeStartRedirects() -> [(from: WebURL, to: WebURL)] {
        defer { sharing?.startRedirects.removeAll() }
        return sharing?.startRedirects ?? []
    }

    /// The number of leased hosts with entries that are queued, running or waiting for robots.txt.
    var activeHostCount: Int {
        hosts.count {
            !$0.isElsewhere && ($0.queuedCount > 0 || $0.runningCount > 0 || !$0.awaitingRobots.isEmpty)
        }
    }

    /// The origins that are worth giving to another worker, those with the most queued entries first: those that have not
    /// been requested yet, and those with at least `minQueuedToGiveAway` queued entries.
    var originsWorthGivingAway: [String] {
        var hosts: [(origin: String, queued: Int)] = []
        for (origin, number) in hostNumbers where !self.hosts[number].isElsewhere {
            let host = self.hosts[number]
            guard
                host.queuedCount >= Self.minQueuedToGiveAway || host.firstStart == nil && host.queuedCount > 0
            else { continue }
            hosts.append((origin, host.queuedCount))
        }
        return hosts.sorted { $0.queued != $1.queued ? $0.queued > $1.queued : $0.origin < $1.origin }.map(
            \.origin)
    }

    /// The minimum number of queued entries with which a host that has been requested is given away. With fewer, it is not
    /// worth it: the new worker has to read all stored responses of the host first.
    private static let minQueuedToGiveAway = 20
}
