package import Store
internal import Synchronization
internal import System
internal import Web

/// Decides whether a worker is idle: its crawl has reported that it is quiet, everything from before that is
/// committed, and the crawl has examined everything that was delivered since.
struct WorkRest: Sendable {
    /// The crawl's current quiet period (see `WorkDesk`); nil while it has something to do.
    private var quiet: Int?
    /// The last quiet period before which everything is committed.
    private var committed = 0
    private var delivered = 0
    private var collected = 0
    /// The number of deliveries that the crawl had collected at its last report. Later deliveries may still
    /// give it something to do.
    private var seen = 0

    mutating func deliver() { delivered += 1 }

    mutating func collect() { collected = delivered }

    mutating func say(_ quiet: Int?) {
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
/// `state` is shared by the crawl's thread and the courier's thread, under the lock of the monitor.
package final class WorkCourier: Sendable {
    /// News from other workers.
    package struct Mail: Sendable {
        package var found: [ServerFrontier.Found] = []
        package var hosts: [ServerFrontier.Host] = []
        package var outcomes: [ServerFrontier.Outcome] = []
        package var answers: [ServerFrontier.Answer] = []
        package var moves: [ServerFrontier.Move] = []
        package var grantedPages = 0
        package var standing: ServerFrontier.Standing?
    }

    /// Why the work of this worker is over.
    package enum Ending: Sendable, Equatable {
        /// This worker is the one to finish the snapshot.
        case finishes
        /// Another worker has finished the snapshot.
        case isOver
        /// Other workers have taken over its hosts, because its lease ended.
        case isFenced
    }

    /// The messages in both directions, and why the work is over.
    private struct State {
        // From the crawl.
        var found: [ServerFrontier.Found] = []
        var outcomes: [ServerFrontier.Outcome] = []
        var answers: [ServerFrontier.Answer] = []
        var moves: [(from: String, to: String)] = []
        var released: [(origin: String, pause: Duration)] = []
        var tallies: [ServerFrontier.Tally] = []
        var sign = ServerFrontier.Sign()
        var wantsHosts = 0
        var wantsPages = 0
        var givesPages = 0
        var isCut = false
        var rest = WorkRest()
        var isClosed = false
        // For the crawl.
        var mail = Mail()
        var ending: Ending?
        var failure: StoreError?
    }

    package let worker: Int64
    package let snapshot: Int64
    private let state = Monitor(State())
    private let thread: NamedThread
    private let waker = Wake()

    private static let beatInterval = Duration.milliseconds(500)
    private static let pause = Duration.milliseconds(100)
    private static let longPause = Duration.milliseconds(250)
    private static let mostAtOnce = 5000

    /// Starts the thread, which owns the database session from here on.
    package init(_ frontier: sending ServerFrontier, worker: Int64, snapshot: Int64) throws(StoreError) {
        self.worker = worker
        self.snapshot = snapshot
        let (state, lent) = (state, Lent(frontier: frontier))
        let wake = waker
        do throws(SystemError) {
            thread = try NamedThread.start("larder-work") {
                var round = Round(
                    frontier: lent.frontier, worker: worker, snapshot: snapshot, state: state, wake: wake)
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

    /// Sets the closure that is called, on the courier's thread, when there is news; nil for none.
    package func wakes(_ body: (@Sendable () -> Void)?) { waker.set(body) }

    /// Returns the news since the last call, and why the work is over if it is. Throws the error that ended
    /// the thread.
    package func collect() throws(StoreError) -> (mail: Mail, ending: Ending?) {
        let (mail, ending, failure) = state.change { state in
            state.rest.collect()
            defer { state.mail = Mail() }
            return (state.mail, state.ending, state.failure)
        }
        if let failure { throw failure }
        return (mail, ending)
    }

    /// A report of the crawl to the other workers.
    package struct Outbox {
        package var found: [ServerFrontier.Found] = []
        package var moves: [(from: String, to: String)] = []
        package var sign = ServerFrontier.Sign()
        package var wantsHosts = 0
        package var wantsPages = 0
        package var givesPages = 0
        package var isCut = false
        /// The number of the crawl's quiet period; nil while it has something to do.
        package var quiet: Int?

        package init() {}
    }

    /// Sends a report. It takes everything into account that was collected until now.
    package func send(_ outbox: Outbox) {
        state.change { state in
            state.found += outbox.found
            state.moves += outbox.moves
            let bytes = state.sign.bytes + outbox.sign.bytes
            state.sign = outbox.sign
            state.sign.bytes = bytes
            state.wantsHosts = outbox.wantsHosts
            state.wantsPages = outbox.wantsPages
            state.givesPages += outbox.givesPages
            state.isCut = state.isCut || outbox.isCut
            state.rest.say(outbox.quiet)
        }
    }

    /// Shares outcomes with the other workers, which then do not request these URLs. Their responses must be
    /// committed.
    package func note(_ outcomes: [ServerFrontier.Outcome]) { state.change { $0.outcomes += outcomes } }

    package func note(_ answer: ServerFrontier.Answer) { state.change { $0.answers.append(answer) } }

    package func tell(_ tallies: [ServerFrontier.Tally]) { state.change { $0.tallies = tallies } }

    /// Reports that everything from before this quiet period is committed.
    package func committed(_ quiet: Int) { state.change { $0.rest.commit(quiet) } }

    /// Gives hosts to other workers. Nothing of them may be in progress, and their responses must be
    /// committed.
    package func release(_ hosts: [(origin: String, pause: Duration)]) {
        state.change { $0.released += hosts }
    }

    /// Sends what is left, and ends the thread. Does not end the lease.
    package func close() {
        state.change { $0.isClosed = true }
        thread.join()
    }

    /// Sendable: the session goes only to the courier's thread, and `init` takes it as `sending`.
    private struct Lent: @unchecked Sendable {
        let frontier: ServerFrontier
    }

    // MARK: - Round

    /// The loop of the courier's thread.
    private struct Round {
        let frontier: ServerFrontier
        let worker: Int64
        let snapshot: Int64
        let state: Monitor<State>
        let wake: Wake
        private let clock = ContinuousClock()
        private var lastBeat: ContinuousClock.Instant?
        private var lastLook: ContinuousClock.Instant?
        private var heard: Int64 = 0
        private var wasIdle = false

        init(
            frontier: ServerFrontier, worker: Int64, snapshot: Int64, state: Monitor<State>, wake: Wake
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
                if isClosed || ending == .isFenced || ending == .isOver { return }
                let pause = wasIdle ? WorkCourier.longPause : WorkCourier.pause
                _ = state.wait(atMost: pause) {
                    $0.isClosed || !$0.found.isEmpty && $0.found.count > 2000 ? true : nil
                }
            }
        }

        private mutating func turn(isClosing: Bool) throws(StoreError) {
            let out = state.change { state in
                defer {
                    state.found = []
                    state.outcomes = []
                    state.answers = []
                    state.moves = []
                    state.released = []
                    state.tallies = []
                    state.sign.bytes = 0
                    state.wantsPages = 0
                    state.givesPages = 0
                }
                return state
            }
            let (worker, snapshot) = (worker, snapshot)
            var mail = Mail()
            var isHeld = true
            var place = 0
            while place < out.found.count {
                let part = Array(out.found[place..<min(place + WorkCourier.mostAtOnce, out.found.count)])
                isHeld =
                    try frontier.persisting { (frontier) throws(StoreError) in
                        try frontier.send(part, by: worker, of: snapshot)
                    } && isHeld
                place += part.count
            }
            for move in out.moves {
                try frontier.persisting { (frontier) throws(StoreError) in
                    try frontier.move(from: move.from, to: move.to, by: worker, of: snapshot)
                }
            }
            try frontier.persisting { (frontier) throws(StoreError) in
                try frontier.note(out.outcomes, out.answers, by: worker, of: snapshot)
                try frontier.release(out.released, by: worker, of: snapshot)
                try frontier.tell(out.tallies, by: worker, of: snapshot)
                if out.isCut { try frontier.cut(snapshot) }
            }
            if out.givesPages > 0 {
                try frontier.persisting { (frontier) throws(StoreError) in
                    try frontier.givePages(out.givesPages, by: worker, of: snapshot)
                }
            }
            if isClosing {
                if out.sign.bytes > 0 { _ = try beat(out, isIdle: false) }
                return
            }
            if out.wantsPages > 0 {
                mail.grantedPages = try frontier.persisting { (frontier) throws(StoreError) in
                    try frontier.takePages(out.wantsPages, for: worker, of: snapshot)
                }
            }
            let isIdle = out.rest.isIdle && mail.grantedPages == 0
            if isIdle != wasIdle || lastBeat.map({ clock.now - $0 >= WorkCourier.beatInterval }) ?? true {
                guard isHeld, let standing = try beat(out, isIdle: isIdle) else { return end(.isFenced) }
                if standing.isOver { return end(.isOver) }
                mail.standing = standing
                mail.moves = standing.moves
                heard = standing.moves.last?.number ?? heard
            } else if out.sign.bytes > 0 {
                // The bytes are reported with the next renewal of the lease.
                state.change { $0.sign.bytes += out.sign.bytes }
            }
            if lastLook.map({ clock.now - $0 >= .seconds(1) }) ?? true {
                lastLook = clock.now
                _ = try frontier.persisting { (frontier) throws(StoreError) in
                    try frontier.endLeases(of: snapshot)
                }
            }
            if !out.isCut {
                mail.hosts = try frontier.persisting { (frontier) throws(StoreError) in
                    try frontier.lease(out.wantsHosts, for: worker, of: snapshot)
                }
                let left = mail.hosts.filter(\.wasLeft).map(\.origin)
                if !left.isEmpty {
                    mail.outcomes = try frontier.persisting { (frontier) throws(StoreError) in
                        try frontier.outcomes(of: left, in: snapshot)
                    }
                    mail.answers = try frontier.persisting { (frontier) throws(StoreError) in
                        try frontier.answers(of: left, in: snapshot)
                    }
                }
                mail.found = try frontier.persisting { (frontier) throws(StoreError) in
                    try frontier.take(atMost: WorkCourier.mostAtOnce, for: worker, of: snapshot)
                }
            }
            deliver(mail)
            guard isIdle, mail.found.isEmpty, mail.hosts.isEmpty, mail.moves.isEmpty else { return }
            let finishes = try frontier.persisting { (frontier) throws(StoreError) in
                try frontier.finishes(worker, snapshot)
            }
            if finishes { end(.finishes) }
        }

        private mutating func beat(_ out: State, isIdle: Bool) throws(StoreError) -> ServerFrontier.Standing?
        {
            var sign = out.sign
            sign.isIdle = isIdle
            sign.heard = heard
            let (worker, snapshot) = (worker, snapshot)
            let standing = try frontier.persisting { (frontier) throws(StoreError) in
                try frontier.beat(worker, of: snapshot, sign)
            }
            lastBeat = clock.now
            wasIdle = isIdle
            return standing
        }

        private func deliver(_ mail: Mail) {
            let isNews =
                !mail.found.isEmpty || !mail.hosts.isEmpty || !mail.moves.isEmpty || mail.grantedPages > 0
            guard isNews || mail.standing != nil else { return }
            state.change { state in
                if isNews { state.rest.deliver() }
                state.mail.found += mail.found
                state.mail.hosts += mail.hosts
                state.mail.outcomes += mail.outcomes
                state.mail.answers += mail.answers
                state.mail.moves += mail.moves
                state.mail.grantedPages += mail.grantedPages
                state.mail.standing = mail.standing ?? state.mail.standing
            }
            wake.call()
        }

        private func end(_ ending: Ending) {
            state.change { $0.ending = ending }
            wake.call()
        }
    }
}
