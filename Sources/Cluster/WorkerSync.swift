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
    private var quiet: Int?
    /// The last quiet period before which everything is committed.
    private var committed = 0
    /// The number of deliveries from the database, and how many of them the crawl has collected.
    private var delivered = 0
    private var collected = 0
    /// The number of deliveries that the crawl had collected at its last report. Later deliveries may still
    /// give it something to do.
    private var seen = 0

    mutating func deliver() { delivered += 1 }

    mutating func collect() { collected = delivered }

    mutating func didReport(_ quiet: Int?) {
        self.quiet = quiet
        seen = collected
    }

    mutating func commit(_ quiet: Int) { committed = max(committed, quiet) }

    var isIdle: Bool { quiet.map { committed >= $0 } ?? false && seen == delivered }
}

/// Exchanges messages between one worker and the database, which connects it with the other workers, and
/// renews its lease. It has a thread and a database session of its own, so that the crawl never waits for the
/// database.
///
/// `state` is shared by the crawl's thread and the thread of this class, under the lock of the monitor. The
/// loop of that thread is `SyncLoop`: each turn writes the outgoing messages to the database, renews the lease twice a
/// second, leases hosts, reads the URLs that others discovered for them, and wakes the crawl.
package final class WorkerSync: Sendable {
    /// News from other workers.
    package struct Incoming: Sendable {
        package var discovered: [SharedFrontier.DiscoveredURL] = []
        package var hosts: [SharedFrontier.LeasedHost] = []
        package var outcomes: [SharedFrontier.Outcome] = []
        package var hostResponses: [SharedFrontier.HostResponse] = []
        package var moves: [SharedFrontier.StartRedirect] = []
        package var grantedPages = 0
        package var status: SharedFrontier.WorkStatus?
    }

    /// Why the work of this worker is over.
    package enum WorkEnding: Sendable, Equatable {
        /// This worker is the one to finish the snapshot.
        case isFinisher
        /// Another worker has finished the snapshot.
        case isOver
        /// Other workers have taken over its hosts, because its lease ended.
        case leaseLost
    }

    /// The messages in both directions, and why the work is over.
    private struct SharedState {
        // From the crawl.
        var discovered: [SharedFrontier.DiscoveredURL] = []
        var outcomes: [SharedFrontier.Outcome] = []
        var hostResponses: [SharedFrontier.HostResponse] = []
        var moves: [(from: String, to: String)] = []
        var released: [(origin: String, pause: Duration)] = []
        var tallies: [SharedFrontier.Tally] = []
        var workerReport = SharedFrontier.WorkerReport()
        var wantsHosts = 0
        var wantsPages = 0
        var givesPages = 0
        var isCut = false
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
    private let waker = Wake()

    /// The interval of lease renewals, far below `SharedFrontier.lease`.
    private static let beatInterval = Duration.milliseconds(500)
    private static let pause = Duration.milliseconds(100)
    private static let longPause = Duration.milliseconds(250)
    private static let maxURLsPerQuery = 5000

    /// Starts the thread, which owns the database session from here on.
    package init(_ frontier: sending SharedFrontier, worker: Int64, snapshot: Int64) throws(StoreError) {
        self.worker = worker
        self.snapshot = snapshot
        let (state, sendable) = (state, SendableFrontier(frontier: frontier))
        let wake = waker
        do throws(SystemError) {
            thread = try NamedThread.start("larder-work") {
                var round = SyncLoop(
                    frontier: sendable.frontier, worker: worker, snapshot: snapshot, state: state, wake: wake)
                do throws(StoreError) {
                    try round.go()
                } catch {
                    state.change { $0.failure = error }
                    wake.call()
                }
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// The closure that wakes the crawl when there is news.
    private final class Wake: Sendable {
        private let body = Mutex<(@Sendable () -> Void)?>(nil)

        func call() { body.withLock { $0 }?() }

        func set(_ body: (@Sendable () -> Void)?) { self.body.withLock { $0 = body } }
    }

    /// Sets the closure that is called, on the thread of this class, when there is news; nil for none.
    package func setWakeHandler(_ body: (@Sendable () -> Void)?) { waker.set(body) }

    /// Returns the news since the last call, and why the work is over if it is. Throws the error that ended
    /// the thread.
    package func collect() throws(StoreError) -> (incoming: Incoming, ending: WorkEnding?) {
        let (incoming, ending, failure) = state.change { state in
            state.idleDetector.collect()
            defer { state.incoming = Incoming() }
            return (state.incoming, state.ending, state.failure)
        }
        if let failure { throw failure }
        return (incoming, ending)
    }

    /// A report of the crawl to the other workers.
    package struct Outgoing {
        package var discovered: [SharedFrontier.DiscoveredURL] = []
        package var moves: [(from: String, to: String)] = []
        package var workerReport = SharedFrontier.WorkerReport()
        package var wantsHosts = 0
        package var wantsPages = 0
        package var givesPages = 0
        package var isCut = false
        /// The number of the crawl's quiet period; nil while it has something to do.
        package var quiet: Int?

        package init() {}
    }

    /// Sends a report. It takes everything into account that was collected until now.
    package func send(_ outgoing: Outgoing) {
        state.change { state in
            state.discovered += outgoing.discovered
            state.moves += outgoing.moves
            let bytes = state.workerReport.bytes + outgoing.workerReport.bytes
            state.workerReport = outgoing.workerReport
            state.workerReport.bytes = bytes
            state.wantsHosts = outgoing.wantsHosts
            state.wantsPages = outgoing.wantsPages
            state.givesPages += outgoing.givesPages
            state.isCut = state.isCut || outgoing.isCut
            state.idleDetector.didReport(outgoing.quiet)
        }
    }

    /// Shares outcomes with the other workers, which then do not request these URLs. Their responses must be
    /// committed.
    package func shareOutcomes(_ outcomes: [SharedFrontier.Outcome]) {
        state.change { $0.outcomes += outcomes }
    }

    package func shareResponse(_ answer: SharedFrontier.HostResponse) {
        state.change { $0.hostResponses.append(answer) }
    }

    package func reportTallies(_ tallies: [SharedFrontier.Tally]) { state.change { $0.tallies = tallies } }

    /// Reports that everything from before this quiet period is committed.
    package func didCommit(_ quiet: Int) { state.change { $0.idleDetector.commit(quiet) } }

    /// Gives hosts to other workers. Nothing of them may be in progress, and their responses must be
    /// committed.
    package func release(_ hosts: [(origin: String, pause: Duration)]) {
        state.change { $0.released += hosts }
    }

    /// Sends the remaining messages, and ends the thread. Does not end the lease.
    package func close() {
        state.change { $0.isClosed = true }
        thread.join()
    }

    /// Sendable: the session goes only to the thread of this class, and `init` takes it as `sending`.
    private struct SendableFrontier: @unchecked Sendable {
        let frontier: SharedFrontier
    }

    // MARK: - SyncLoop

    /// The loop of the thread.
    private struct SyncLoop {
        let frontier: SharedFrontier
        let worker: Int64
        let snapshot: Int64
        let state: Monitor<SharedState>
        let wake: Wake
        private let clock = ContinuousClock()
        private var lastBeat: ContinuousClock.Instant?
        private var lastLook: ContinuousClock.Instant?
        private var heard: Int64 = 0
        private var wasIdle = false

        init(
            frontier: SharedFrontier, worker: Int64, snapshot: Int64, state: Monitor<SharedState>, wake: Wake
        ) {
            self.frontier = frontier
            self.worker = worker
            self.snapshot = snapshot
            self.state = state
            self.wake = wake
        }

        mutating func go() throws(StoreError) {
            while true {
                let isClosed = state.change { $0.isClosed }
                try turn(isClosing: isClosed)
                let ending = state.change { $0.ending }
                if isClosed || ending == .leaseLost || ending == .isOver { return }
                let pause = wasIdle ? WorkerSync.longPause : WorkerSync.pause
                _ = state.wait(atMost: pause) {
                    $0.isClosed || !$0.discovered.isEmpty && $0.discovered.count > 2000 ? true : nil
                }
            }
        }

        private mutating func turn(isClosing: Bool) throws(StoreError) {
            let out = state.change { state in
                defer {
                    state.discovered = []
                    state.outcomes = []
                    state.hostResponses = []
                    state.moves = []
                    state.released = []
                    state.tallies = []
                    state.workerReport.bytes = 0
                    state.wantsPages = 0
                    state.givesPages = 0
                }
                return state
            }
            let (worker, snapshot) = (worker, snapshot)
            var incoming = Incoming()
            var isHeld = true
            var place = 0
            while place < out.discovered.count {
                let part = Array(
                    out.discovered[place..<min(place + WorkerSync.maxURLsPerQuery, out.discovered.count)])
                isHeld =
                    try frontier.retrying { (frontier) throws(StoreError) in
                        try frontier.addURLs(part, by: worker, of: snapshot)
                    } && isHeld
                place += part.count
            }
            for move in out.moves {
                try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.addStartRedirect(from: move.from, to: move.to, by: worker, of: snapshot)
                }
            }
            try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.store(out.outcomes, out.hostResponses, by: worker, of: snapshot)
                try frontier.releaseHosts(out.released, by: worker, of: snapshot)
                try frontier.storeTallies(out.tallies, by: worker, of: snapshot)
                if out.isCut { try frontier.markLimitReached(snapshot) }
            }
            if out.givesPages > 0 {
                try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.givePages(out.givesPages, by: worker, of: snapshot)
                }
            }
            if isClosing {
                if out.workerReport.bytes > 0 { _ = try renewLease(out, isIdle: false) }
                return
            }
            if out.wantsPages > 0 {
                incoming.grantedPages = try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.takePages(out.wantsPages, for: worker, of: snapshot)
                }
            }
            let isIdle = out.idleDetector.isIdle && incoming.grantedPages == 0
            if isIdle != wasIdle || lastBeat.map({ clock.now - $0 >= WorkerSync.beatInterval }) ?? true {
                guard isHeld, let status = try renewLease(out, isIdle: isIdle) else { return end(.leaseLost) }
                if status.isOver { return end(.isOver) }
                incoming.status = status
                incoming.moves = status.moves
                heard = status.moves.last?.number ?? heard
            } else if out.workerReport.bytes > 0 {
                // The bytes are reported with the next renewal of the lease.
                state.change { $0.workerReport.bytes += out.workerReport.bytes }
            }
            if lastLook.map({ clock.now - $0 >= .seconds(1) }) ?? true {
                lastLook = clock.now
                _ = try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.endExpiredLeases(of: snapshot)
                }
            }
            if !out.isCut {
                incoming.hosts = try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.leaseHosts(out.wantsHosts, for: worker, of: snapshot)
                }
                let left = incoming.hosts.filter(\.wasLeft).map(\.origin)
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
            deliver(incoming)
            guard isIdle, incoming.discovered.isEmpty, incoming.hosts.isEmpty, incoming.moves.isEmpty else {
                return
            }
            let finishes = try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.claimFinish(worker, of: snapshot)
            }
            if finishes { end(.isFinisher) }
        }

        private mutating func renewLease(_ out: SharedState, isIdle: Bool) throws(StoreError)
            -> SharedFrontier.WorkStatus?
        {
            var workerReport = out.workerReport
            workerReport.isIdle = isIdle
            workerReport.heard = heard
            let (worker, snapshot) = (worker, snapshot)
            let status = try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.renewLease(of: worker, in: snapshot, workerReport)
            }
            lastBeat = clock.now
            wasIdle = isIdle
            return status
        }

        private func deliver(_ incoming: Incoming) {
            let isNews =
                !incoming.discovered.isEmpty || !incoming.hosts.isEmpty || !incoming.moves.isEmpty
                || incoming.grantedPages > 0
            guard isNews || incoming.status != nil else { return }
            state.change { state in
                if isNews { state.idleDetector.deliver() }
                state.incoming.discovered += incoming.discovered
                state.incoming.hosts += incoming.hosts
                state.incoming.outcomes += incoming.outcomes
                state.incoming.hostResponses += incoming.hostResponses
                state.incoming.moves += incoming.moves
                state.incoming.grantedPages += incoming.grantedPages
                state.incoming.status = incoming.status ?? state.incoming.status
            }
            wake.call()
        }

        private func end(_ ending: WorkEnding) {
            state.change { $0.ending = ending }
            wake.call()
        }
    }
}
