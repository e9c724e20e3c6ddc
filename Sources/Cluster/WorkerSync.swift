package import Store
internal import Synchronization
internal import System
internal import Web

/// Decides whether a worker is idle: its crawl has reported that it is quiet, everything from before that is
/// committed, and the crawl has examined everything that was delivered since. When all workers are idle, the
/// snapshot ends, so a worker must not be idle while a message is on its way to it.
///
/// For example: delivery 1 arrives, the crawl collects it and reports quiet period 3. The worker is idle once
/// period 3 is committed, unless delivery 2 arrives first: then only a report after the collection of 2 counts.
struct IdleDetector: Sendable {
    /// The crawl's current quiet period (see `WorkerState`); nil while it has something to do.
    private var quietPeriod: Int?
    /// The last quiet period before which everything is committed.
    private var committed = 0
    /// The number of deliveries from the database, and how many of them the crawl has collected.
    private var delivered = 0
    private var collected = 0
    /// The number of deliveries that the crawl had collected at its last report. Later deliveries may still
    /// give it something to do.
    private var seen = 0

    /// Records that the crawl was sent something that may give it work.
    mutating func didDeliver() { delivered += 1 }

    /// Records that the crawl has collected all deliveries until now.
    mutating func didCollect() { collected = delivered }

    /// Records the report that the crawl makes after it has processed all collected deliveries.
    ///
    /// - Parameter quietPeriod: the number of the current quiet period; nil if the crawl has something to do.
    mutating func didReport(_ quietPeriod: Int?) {
        self.quietPeriod = quietPeriod
        seen = collected
    }

    /// Records that everything from before a quiet period is committed.
    mutating func didCommit(_ quietPeriod: Int) { committed = max(committed, quietPeriod) }

    var isIdle: Bool { quietPeriod.map { committed >= $0 } ?? false && seen == delivered }
}

/// Connects the crawl of one worker with the other workers, through the database, and renews the worker's lease. It has
/// a thread and a database session of its own, so that the crawl never waits for the exchange, and a crawl that is busy
/// for seconds does not lose its lease.
///
/// The crawl calls `send` and the other reporting functions, which only queue their data, and `collect`, which returns
/// the data that has arrived. The loop of the thread is `SyncLoop`: each turn writes the queued data to the database, leases
/// hosts, reads the URLs that others discovered for them, and wakes the crawl. Twice a second, it also renews the lease.
///
/// `state` is shared by the threads of the crawl, of its writer and of this class, under the lock of the monitor. All
/// functions but `init` and `close` return at once. After an error, or when the work is over, the thread ends;
/// `collect` reports why.
package final class WorkerSync: Sendable {
    /// Data that arrived from other workers since the crawl's last `collect`.
    package struct Incoming: Sendable {
        package var discovered: [SharedFrontier.DiscoveredURL] = []
        /// Hosts that were leased to this worker, with the outcomes and responses of those that were leased before.
        package var hosts: [SharedFrontier.LeasedHost] = []
        package var outcomes: [SharedFrontier.Outcome] = []
        package var hostResponses: [SharedFrontier.HostResponse] = []
        package var startRedirects: [SharedFrontier.StartRedirect] = []
        /// The number of pages that were added to this worker's share of the page limit.
        package var grantedPages = 0
        /// The state of the snapshot; nil if it has not arrived again.
        package var status: SharedFrontier.WorkStatus?
    }

    /// Why the crawl of this worker must stop.
    package enum WorkEnding: Sendable, Equatable {
        /// All workers are idle, and this one was chosen to finish the snapshot. It keeps its lease, which this class
        /// continues to renew.
        case chosenToFinish
        /// Another worker has finished the snapshot.
        case snapshotEnded
        /// The lease has expired, so other workers take over its hosts.
        case leaseLost
    }

    /// The messages in both directions, and why the work is over.
    private struct SharedState {
        // From the crawl. Each turn of the loop takes most of it.
        var discovered: [SharedFrontier.DiscoveredURL] = []
        var outcomes: [SharedFrontier.Outcome] = []
        var hostResponses: [SharedFrontier.HostResponse] = []
        var startRedirects: [(from: String, to: String)] = []
        var released: [(origin: String, pause: Duration)] = []
        var tallies: [SharedFrontier.Tally] = []
        var workerReport = SharedFrontier.WorkerReport()
        var hostsToLease = 0
        var pagesToTake = 0
        var pagesToReturn = 0
        var isLimitReached = false
        var idleDetector = IdleDetector()
        var isClosed = false
        // For the crawl.
        var incoming = Incoming()
        var ending: WorkEnding?
        var failure: StoreError?
    }

    package let worker: Int64
    package let snapshot: Int64
    private let state = Monitor(SharedState())
    private let thread: NamedThread
    private let wakeHandler = WakeHandler()

    /// The interval of lease renewals: a small part of `SharedFrontier.lease`, so that many may fail before the lease
    /// expires.
    private static let renewalInterval = Duration.milliseconds(500)
    /// The time between two turns of the loop.
    private static let pause = Duration.milliseconds(100)
    /// The time between two turns of the loop while the worker is idle.
    private static let idlePause = Duration.milliseconds(250)
    /// The maximum number of discovered URLs that wait for the end of a pause. More end it early.
    private static let maxWaitingURLs = 2000
    private static let maxURLsPerQuery = 5000

    /// Starts the thread, which owns the database session from here on.
    package init(_ frontier: sending SharedFrontier, worker: Int64, snapshot: Int64) throws(StoreError) {
        self.worker = worker
        self.snapshot = snapshot
        let (state, sendable) = (state, SendableFrontier(frontier: frontier))
        let wakeHandler = wakeHandler
        do throws(SystemError) {
            thread = try NamedThread.start("larder-work") {
                var loop = SyncLoop(
                    frontier: sendable.frontier, worker: worker, snapshot: snapshot, state: state,
                    wakeHandler: wakeHandler)
                do throws(StoreError) {
                    try loop.run()
                } catch {
                    state.change { $0.failure = error }
                    wakeHandler.call()
                }
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// The closure that wakes the crawl when data has arrived. The crawl sets it, and the thread of this class calls it.
    private final class WakeHandler: Sendable {
        private let body = Mutex<(@Sendable () -> Void)?>(nil)

        /// Calls the closure, if it is set, after releasing the lock.
        func call() { body.withLock { $0 }?() }

        func set(_ body: (@Sendable () -> Void)?) { self.body.withLock { $0 = body } }
    }

    /// Sets the closure that is called, on the thread of this class, when `collect` has something new; nil for none.
    package func setWakeHandler(_ body: (@Sendable () -> Void)?) { wakeHandler.set(body) }

    /// Returns the data that arrived since the last call, and why the work is over; nil as long as it is not. The crawl
    /// must process the data before its next `send`, because that may report it as idle.
    ///
    /// - Throws: the error that ended the thread.
    package func collect() throws(StoreError) -> (incoming: Incoming, ending: WorkEnding?) {
        let (incoming, ending, failure) = state.change { state in
            state.idleDetector.didCollect()
            defer { state.incoming = Incoming() }
            return (state.incoming, state.ending, state.failure)
        }
        if let failure { throw failure }
        return (incoming, ending)
    }

    /// A report of the crawl to the other workers.
    package struct Outgoing {
        /// URLs of other workers' hosts.
        package var discovered: [SharedFrontier.DiscoveredURL] = []
        package var startRedirects: [(from: String, to: String)] = []
        package var workerReport = SharedFrontier.WorkerReport()
        /// The number of free hosts that this worker wants to lease.
        package var hostsToLease = 0
        /// The number of pages that this worker wants to add to its share of the page limit.
        package var pagesToTake = 0
        /// The number of unused pages of its share that this worker gives back.
        package var pagesToReturn = 0
        /// Whether the limit of time or bytes is reached.
        package var isLimitReached = false
        /// The number of the crawl's quiet period; nil while it has something to do.
        package var quietPeriod: Int?

        package init() {}
    }

    /// Sends a report. The crawl must have processed everything that it has collected until now.
    package func send(_ outgoing: Outgoing) {
        state.change { state in
            state.discovered += outgoing.discovered
            state.startRedirects += outgoing.startRedirects
            let bytes = state.workerReport.bytes + outgoing.workerReport.bytes
            state.workerReport = outgoing.workerReport
            state.workerReport.bytes = bytes
            state.hostsToLease = outgoing.hostsToLease
            state.pagesToTake = outgoing.pagesToTake
            state.pagesToReturn += outgoing.pagesToReturn
            state.isLimitReached = state.isLimitReached || outgoing.isLimitReached
            state.idleDetector.didReport(outgoing.quietPeriod)
        }
    }

    /// Shares outcomes with the other workers, which then do not request these URLs. Call it only after everything that
    /// the crawl stored for these URLs, such as tombstones, is committed: workers that receive an outcome store nothing
    /// for it.
    package func shareOutcomes(_ outcomes: [SharedFrontier.Outcome]) {
        state.change { $0.outcomes += outcomes }
    }

    /// Shares a response about a host with the other workers, after it is committed.
    package func shareResponse(_ response: SharedFrontier.HostResponse) {
        state.change { $0.hostResponses.append(response) }
    }

    /// Replaces the tallies of this worker.
    package func reportTallies(_ tallies: [SharedFrontier.Tally]) { state.change { $0.tallies = tallies } }

    /// Reports that everything from before this quiet period is committed.
    package func didCommit(_ quietPeriod: Int) { state.change { $0.idleDetector.didCommit(quietPeriod) } }

    /// Gives hosts to other workers, each of which may be requested again after its pause. No request, scan or write of
    /// these hosts may be in progress, because the next worker reads their state from the database.
    package func release(_ hosts: [(origin: String, pause: Duration)]) {
        state.change { $0.released += hosts }
    }

    /// Writes the queued data, ends the thread, and waits for its end. Does not end the lease
    /// (`SharedFrontier.leave`).
    package func close() {
        state.change { $0.isClosed = true }
        thread.join()
    }

    /// Passes the session to the thread. Sendable: only that thread uses it, and `init` takes it as `sending`.
    private struct SendableFrontier: @unchecked Sendable {
        let frontier: SharedFrontier
    }

    // MARK: - SyncLoop

    /// The loop of the thread, which owns the database session.
    private struct SyncLoop {
        let frontier: SharedFrontier
        let worker: Int64
        let snapshot: Int64
        let state: Monitor<SharedState>
        let wakeHandler: WakeHandler
        private let clock = ContinuousClock()
        private var lastRenewal: ContinuousClock.Instant?
        private var lastExpiryCheck: ContinuousClock.Instant?
        /// The number of the last redirect of a start URL that this worker has read.
        private var lastStartRedirect: Int64 = 0
        /// Whether the last renewal of the lease reported the worker as idle.
        private var wasIdle = false

        init(
            frontier: SharedFrontier, worker: Int64, snapshot: Int64, state: Monitor<SharedState>,
            wakeHandler: WakeHandler
        ) {
            self.frontier = frontier
            self.worker = worker
            self.snapshot = snapshot
            self.state = state
            self.wakeHandler = wakeHandler
        }

        /// Runs turns until `close` is called or the work is over. A finisher's loop continues until `close`, to renew
        /// the lease.
        mutating func run() throws(StoreError) {
            while true {
                let isClosed = state.change { $0.isClosed }
                try turn(isClosing: isClosed)
                let ending = state.change { $0.ending }
                if isClosed || ending == .leaseLost || ending == .snapshotEnded { return }
                let pause = wasIdle ? WorkerSync.idlePause : WorkerSync.pause
                _ = state.wait(atMost: pause) {
                    $0.isClosed || $0.discovered.count > WorkerSync.maxWaitingURLs ? true : nil
                }
            }
        }

        /// Exchanges data with the database once.
        ///
        /// The order of the steps matters. The idle state is taken together with the queued data, which is written before
        /// the worker is recorded as idle; so no data is on its way when all workers are idle. Outcomes are stored before
        /// hosts are released, so the next worker of a host sees them. Outcomes of a leased host are read before
        /// its URLs are.
        ///
        /// - Parameter isClosing: whether this is the last turn, which only writes.
        private mutating func turn(isClosing: Bool) throws(StoreError) {
            let outgoing = takeOutgoing()
            let hasLease = try write(outgoing)
            if isClosing {
                if outgoing.workerReport.bytes > 0 { _ = try renewLease(outgoing, isIdle: false) }
                return
            }
            frontier.hasLostCommitAnswer = false
            let (worker, snapshot) = (worker, snapshot)
            var incoming = Incoming()
            if outgoing.pagesToTake > 0 {
                incoming.grantedPages = try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.takePages(outgoing.pagesToTake, for: worker, of: snapshot)
                }
            }
            let isIdle = outgoing.idleDetector.isIdle && incoming.grantedPages == 0
            if isIdle != wasIdle || lastRenewal.map({ clock.now - $0 >= WorkerSync.renewalInterval }) ?? true
            {
                guard hasLease, let status = try renewLease(outgoing, isIdle: isIdle) else {
                    return end(.leaseLost)
                }
                if status.hasEnded { return end(.snapshotEnded) }
                incoming.status = status
                incoming.startRedirects = status.startRedirects
                lastStartRedirect = status.startRedirects.last?.number ?? lastStartRedirect
            } else if outgoing.workerReport.bytes > 0 {
                // The bytes are reported with the next renewal of the lease.
                state.change { $0.workerReport.bytes += outgoing.workerReport.bytes }
            }
            if lastExpiryCheck.map({ clock.now - $0 >= .seconds(1) }) ?? true {
                lastExpiryCheck = clock.now
                _ = try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.endExpiredLeases(of: snapshot)
                }
            }
            if !outgoing.isLimitReached { try receiveWork(atMost: outgoing.hostsToLease, into: &incoming) }
            // This worker may now have hosts, URLs or pages in the database that it does not know. Other workers take them
            // over when the lease expires, and this one joins again.
            guard !frontier.hasLostCommitAnswer else { return end(.leaseLost) }
            deliver(incoming)
            guard isIdle, incoming.discovered.isEmpty, incoming.hosts.isEmpty, incoming.startRedirects.isEmpty
            else {
                return
            }
            let isFinisher = try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.claimFinish(worker, of: snapshot)
            }
            if isFinisher { end(.chosenToFinish) }
        }

        /// Takes the queued data, and resets the queues and the counts that belong to it. The rest of the state stays.
        private func takeOutgoing() -> SharedState {
            state.change { state in
                defer {
                    state.discovered = []
                    state.outcomes = []
                    state.hostResponses = []
                    state.startRedirects = []
                    state.released = []
                    state.tallies = []
                    state.workerReport.bytes = 0
                    state.pagesToTake = 0
                    state.pagesToReturn = 0
                }
                return state
            }
        }

        /// Writes the data for the other workers. Returns false if the lease has expired.
        private mutating func write(_ outgoing: SharedState) throws(StoreError) -> Bool {
            let (worker, snapshot) = (worker, snapshot)
            var hasLease = true
            // In parts, so that the size of a statement is limited.
            var place = 0
            while place < outgoing.discovered.count {
                let part = Array(
                    outgoing.discovered[
                        place..<min(place + WorkerSync.maxURLsPerQuery, outgoing.discovered.count)])
                hasLease =
                    try frontier.retrying { (frontier) throws(StoreError) in
                        try frontier.addURLs(part, by: worker, of: snapshot)
                    } && hasLease
                place += part.count
            }
            for redirect in outgoing.startRedirects {
                try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.addStartRedirect(from: redirect.from, to: redirect.to, of: snapshot)
                }
            }
            try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.store(outgoing.outcomes, outgoing.hostResponses, by: worker, of: snapshot)
                try frontier.releaseHosts(outgoing.released, by: worker, of: snapshot)
                try frontier.storeTallies(outgoing.tallies, by: worker, of: snapshot)
                if outgoing.isLimitReached { try frontier.markLimitReached(snapshot) }
            }
            if outgoing.pagesToReturn > 0 {
                try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.returnPages(outgoing.pagesToReturn, by: worker, of: snapshot)
                }
            }
            return hasLease
        }

        /// Leases hosts, and reads the outcomes and URLs of the leased ones.
        private mutating func receiveWork(
            atMost maxHosts: Int, into incoming: inout Incoming
        ) throws(StoreError) {
            let (worker, snapshot) = (worker, snapshot)
            incoming.hosts = try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.leaseHosts(maxHosts, for: worker, of: snapshot)
            }
            let left = incoming.hosts.filter(\.wasLeasedBefore).map(\.origin)
            if !left.isEmpty {
                incoming.outcomes = try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.outcomes(of: left, in: snapshot)
                }
                incoming.hostResponses = try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.hostResponses(of: left, in: snapshot)
                }
            }
            incoming.discovered = try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.takeURLs(atMost: WorkerSync.maxURLsPerQuery, for: worker, of: snapshot)
            }
        }

        /// Renews the lease, with the report of the crawl. Returns nil if the lease has expired.
        private mutating func renewLease(_ outgoing: SharedState, isIdle: Bool) throws(StoreError)
            -> SharedFrontier.WorkStatus?
        {
            var workerReport = outgoing.workerReport
            workerReport.isIdle = isIdle
            workerReport.lastStartRedirect = lastStartRedirect
            let (worker, snapshot) = (worker, snapshot)
            let status = try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.renewLease(of: worker, in: snapshot, workerReport)
            }
            lastRenewal = clock.now
            wasIdle = isIdle
            return status
        }

        /// Adds data for the crawl and wakes it. A status alone does not count as a delivery: it gives the crawl no work,
        /// and would make an idle worker busy twice a second.
        private func deliver(_ incoming: Incoming) {
            let hasNews =
                !incoming.discovered.isEmpty || !incoming.hosts.isEmpty || !incoming.startRedirects.isEmpty
                || incoming.grantedPages > 0
            guard hasNews || incoming.status != nil else { return }
            state.change { state in
                if hasNews { state.idleDetector.didDeliver() }
                state.incoming.discovered += incoming.discovered
                state.incoming.hosts += incoming.hosts
                state.incoming.outcomes += incoming.outcomes
                state.incoming.hostResponses += incoming.hostResponses
                state.incoming.startRedirects += incoming.startRedirects
                state.incoming.grantedPages += incoming.grantedPages
                state.incoming.status = incoming.status ?? state.incoming.status
            }
            wakeHandler.call()
        }

        /// Tells the crawl that its work is over.
        private func end(_ ending: WorkEnding) {
            state.change { $0.ending = ending }
            wakeHandler.call()
        }
    }
}
