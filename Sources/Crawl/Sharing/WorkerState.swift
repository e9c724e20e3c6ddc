internal import Cluster

/// The state of one worker of a shared snapshot, beside its frontier: the figures of the other workers, and
/// the reports that it has sent to them. It belongs to the crawl's thread.
///
/// A worker is *quiet* while it has nothing to do. Each quiet period has a number, so that `IdleDetector` can
/// tell whether everything from before this period has been committed.
struct WorkerState {
    let sync: WorkerSync
    private let shared: SharedFrontier.SharedSnapshot
    /// The latest figures about all workers.
    var status = SharedFrontier.WorkStatus()
    /// Origins of leased hosts that another worker had before.
    private var takenOverOrigins: Set<String> = []
    /// Origins of hosts that this worker gives away. They are released once they have no running requests,
    /// scans or unstored responses.
    var originsToRelease: Set<String> = []
    /// The earliest time for giving away more hosts. The figures in `status` lag behind, and do not show
    /// the last ones at their new worker yet.
    var nextGiveAway: Duration = .zero
    /// The number of the current quiet period; nil while there is something to do.
    private(set) var quietPeriod: Int?
    private var quietPeriodCount = 0
    /// The number of received bytes that other workers know of.
    var reportedBytes = 0
    var lastReport: Duration = .zero
    /// Whether `status` has changed since hosts were last considered for giving away.
    var hasNewStatus = false
    /// Responses about hosts, such as robots.txt, that are being scanned and are not stored yet, by the
    /// number of their request.
    var unstoredResponses: [UInt32: SharedFrontier.HostResponse] = [:]

    init(_ sync: WorkerSync, _ shared: SharedFrontier.SharedSnapshot) {
        self.sync = sync
        self.shared = shared
    }

    var countsPages: Bool { shared.maxPages != nil }

    /// Whether the store can have a response from the origin: it was not empty when the snapshot began, or
    /// another worker had the host before.
    func canHaveStored(from origin: String) -> Bool { !shared.wasEmpty || takenOverOrigins.contains(origin) }

    mutating func take(_ hosts: [SharedFrontier.LeasedHost]) {
        for host in hosts where host.wasLeasedBefore { takenOverOrigins.insert(host.origin) }
    }

    /// Begins a quiet period. Returns false if one has begun already.
    mutating func beginQuietPeriod() -> Bool {
        guard quietPeriod == nil else { return false }
        quietPeriodCount += 1
        quietPeriod = quietPeriodCount
        return true
    }

    mutating func endQuietPeriod() { quietPeriod = nil }

    /// How many pages a worker requests from the shared page limit at a time: fewer as the limit approaches.
    var pagesAtOnce: Int { min(1000, max(1, (status.pagesLeft ?? 0) / (2 * status.workers))) }

    /// Whether the page limit is used up: no pages are left, and no other worker has any to give back.
    var isPageLimitUsedUp: Bool {
        status.pagesLeft.map { $0 <= 0 } ?? false && status.unusedPagesOfOthers == 0
    }
}

/// The distribution of hosts to workers.
///
/// The pace of each host is limited, so a crawl is fast if requests to many hosts run at the same time. Workers
/// therefore lease hosts early and evenly: the *fair share* is the number of hosts divided by the number of
/// workers. A worker gives hosts away when it has more than its share and another one is short of work. It does
/// so rarely, because the new worker has to read all stored responses of the host again.
extension SharedFrontier.WorkStatus {
    /// With this many active hosts, a busy worker leases no more.
    private static let maxHosts = Frontier.maxRunningRequests
    /// The maximum number of hosts that are leased in one exchange with the database.
    private static let maxHostsPerLease = 8
    /// A worker with this many running requests is busy enough.
    private static let enoughRunning = Frontier.maxRunningRequests * 3 / 4

    /// The number of hosts per worker if all hosts, including the free ones, were distributed evenly.
    private var fairShare: Int { max(1, (hosts + freeHosts + workers - 1) / workers) }

    /// Whether the worker with the fewest hosts is so far below its share that it should be given some.
    private var isUneven: Bool { workers > 1 && minHostsOfOthers * 4 < fairShare * 3 }

    /// Whether a worker with this number of active hosts and running requests should have more hosts.
    func isHungry(active: Int, running: Int) -> Bool {
        active == 0 || active < fairShare && running < Self.enoughRunning
    }

    /// The number of free hosts that a worker takes: up to its share, and one more if no other worker has
    /// fewer hosts.
    func wantedHosts(active: Int, running: Int) -> Int {
        guard active < Self.maxHosts || running < Self.enoughRunning else { return 0 }
        guard workers > 1 else { return Self.maxHostsPerLease }
        return min(Self.maxHostsPerLease, max(fairShare - active, active <= minHostsOfOthers ? 1 : 0))
    }

    /// The number of hosts that a worker gives away. As long as its hosts, and not its own capacity, limit
    /// its speed, it gives hosts only to workers without any.
    func hostsToGiveAway(active: Int, running: Int) -> Int {
        guard worklessWorkers > 0 || running >= Self.enoughRunning && (hungryWorkers > 0 || isUneven) else {
            return 0
        }
        return max(0, active - fairShare)
    }
}
