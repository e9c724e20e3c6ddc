internal import Reports
package import Web

/// A piece of work that was begun on the portal, and how far it is.
package struct PortalJob: Sendable, Equatable {
    let number: Int
    let order: PortalOrder
    /// Who gave the order.
    let principal: Principal
    fileprivate(set) var state: State
    fileprivate(set) var figures: JobFigures?
    /// What came of it, or stands in its way.
    fileprivate(set) var outcome: [Phrase] = []
    /// In seconds since 1970.
    let asked: Int64
    /// An earlier run of the server began it, perhaps with other options.
    private(set) var isOfEarlierRun = false

    fileprivate init(number: Int, order: PortalOrder, principal: Principal, state: State, asked: Int64) {
        (self.number, self.order, self.principal) = (number, order, principal)
        (self.state, self.asked) = (state, asked)
    }

    /// One of an earlier run of the server.
    init(
        number: Int, order: PortalOrder, principal: Principal, end: JobEnd, outcome: [Phrase], asked: Int64
    ) {
        self.init(number: number, order: order, principal: principal, state: .ended(end), asked: asked)
        self.outcome = outcome
        isOfEarlierRun = true
    }

    /// The job as users of other machines see it who are told nothing of private responses; nil for a job of
    /// the user of this machine, whose title and outcome may name them.
    var withoutPrivate: PortalJob? {
        guard principal != .localUser else { return nil }
        var job = self
        if principal != .remoteUser || isOfEarlierRun { job.outcome = [] }
        job.figures?.hosts = []
        return job
    }

    enum State: Sendable, Equatable {
        /// Its turn comes.
        case waiting
        /// It begins then, in milliseconds of the queue's clock, if nobody thinks better of it.
        case planned(Int64)
        case running
        /// It was told to stop.
        case stopping
        case ended(JobEnd)
    }

    var isOver: Bool { if case .ended = state { true } else { false } }
    var isPlanned: Bool { if case .planned = state { true } else { false } }
}

package enum JobEnd: String, Sendable {
    case done
    /// Done, and it lacks something.
    case lacking
    case stopped
    /// Nobody wanted it any more before it began.
    case undone
    case failed
    /// The server ended before it did.
    case interrupted
}

/// How far a prefetch is, in figures.
package struct JobFigures: Sendable, Equatable {
    package var site = ""
    package var isStoring = false
    package var pages = 0
    package var queuedPages = 0
    package var files = 0
    package var queuedFiles = 0
    package var failed = 0
    package var byteCount = 0
    package var bytesPerSecond = 0
    package var seconds = 0
    package var secondsLeft: Int?
    package var hosts: [Host] = []
    package var hostCount = 0
    /// Of work at an archive: how many responses it has by now. There are no pages then.
    package var responses: Int?

    package struct Host: Sendable, Equatable {
        package let name: String
        package let running: Int
        package let queued: Int
        package let requestsPerSecond: Double
        /// Nothing is asked of it for so many seconds.
        package let pausedSeconds: Int?

        package init(name: String, running: Int, queued: Int, requestsPerSecond: Double, pausedSeconds: Int?)
        {
            (self.name, self.running, self.queued) = (name, running, queued)
            (self.requestsPerSecond, self.pausedSeconds) = (requestsPerSecond, pausedSeconds)
        }
    }

    package init() {}
}

/// What is to be done, is being done and was done: one at a time of each lane, in their order. A value; events
/// and the time go in.
struct JobQueue {
    private(set) var jobs: [PortalJob] = []
    /// Another with every change.
    private(set) var version = 1
    /// Another with every change but of figures.
    private(set) var turn = 1
    private var lastNumber = 0

    static let mostWaiting = 100
    static let mostEnded = 40

    /// - Parameter jobs: what an earlier run of the server had, all of it over.
    init(_ jobs: [PortalJob] = []) {
        self.jobs = jobs
        lastNumber = jobs.last?.number ?? 0
        forget()
    }

    /// The number of the job; that of the same one where it waits or runs already, nil where too many wait.
    ///
    /// - Parameters:
    ///   - principal: who gave the order. A job of another principal counts as the same one only if it may do as
    ///     much.
    ///   - now: in milliseconds.
    ///   - date: in seconds since 1970.
    mutating func add(_ order: PortalOrder, by principal: Principal, now: Int64, date: Int64) -> Int? {
        let same = jobs.last {
            $0.order == order && !$0.isOver && $0.state != .stopping
                && $0.principal.nearestZone >= principal.nearestZone
        }
        if let same { return same.number }
        guard jobs.count(where: { !$0.isOver }) < Self.mostWaiting else { return nil }
        // Who wants something of a site wants it to stay.
        if let site = order.wantedSite {
            for job in jobs where job.isPlanned && job.order == .remove(site: site) { _ = stop(job.number) }
        }
        lastNumber += 1
        let delay = Int64(order.delay / .milliseconds(1))
        jobs.append(
            PortalJob(
                number: lastNumber, order: order, principal: principal,
                state: delay > 0 ? .planned(now + delay) : .waiting,
                asked: date))
        forget()
        version += 1
        turn += 1
        return lastNumber
    }

    /// The queue as users of other machines see it; see `PortalJob.withoutPrivate`.
    var withoutPrivate: JobQueue {
        var queue = self
        queue.jobs = jobs.compactMap(\.withoutPrivate)
        return queue
    }

    subscript(number: Int) -> PortalJob? { jobs.last { $0.number == number } }

    /// The next one of the lane, which runs from here on; nil while another one does, or none is due.
    mutating func begin(_ lane: PortalOrder.Lane, now: Int64) -> PortalJob? {
        let ofLane = jobs.indices.filter { jobs[$0].order.lane == lane }
        guard !ofLane.contains(where: { jobs[$0].state == .running || jobs[$0].state == .stopping }) else {
            return nil
        }
        let due = ofLane.first { place in
            switch jobs[place].state {
            case .waiting: true
            case .planned(let time): time <= now
            case .running, .stopping, .ended: false
            }
        }
        guard let due else { return nil }
        jobs[due].state = .running
        version += 1
        turn += 1
        return jobs[due]
    }

    /// When the next planned one of the lane is due, in milliseconds.
    func nextTime(_ lane: PortalOrder.Lane) -> Int64? {
        jobs.compactMap { job in
            if job.order.lane == lane, case .planned(let time) = job.state { time } else { nil }
        }.min()
    }

    mutating func note(_ figures: JobFigures, of number: Int) {
        change(number) { $0.figures = figures }
    }

    /// - Parameter isCut: the server ends, and with it what is under way.
    mutating func end(_ number: Int, _ end: JobEnd, _ outcome: [Phrase], isCut: Bool = false) {
        change(number) { job in
            if isCut, job.state == .running, end == .stopped || end == .failed {
                job.state = .ended(.interrupted)
            } else {
                job.state = .ended(job.state == .stopping && end == .failed ? .stopped : end)
            }
            job.outcome = outcome
        }
    }

    /// What has not begun does not begin; what runs is to be cancelled, which is then true.
    mutating func stop(_ number: Int) -> Bool {
        var isToCancel = false
        change(number) { job in
            switch job.state {
            case .waiting, .planned: job.state = .ended(.undone)
            case .running:
                job.state = .stopping
                isToCancel = true
            case .stopping, .ended: break
            }
        }
        return isToCancel
    }

    /// It is listed no more, with whatever it made.
    mutating func forget(_ number: Int) {
        guard self[number]?.isOver == true else { return }
        jobs.removeAll { $0.number == number }
        version += 1
        turn += 1
    }

    private mutating func change(_ number: Int, _ body: (inout PortalJob) -> Void) {
        guard let place = jobs.lastIndex(where: { $0.number == number }) else { return }
        let before = jobs[place]
        body(&jobs[place])
        if jobs[place] != before { version += 1 }
        if jobs[place].state != before.state { turn += 1 }
    }

    private mutating func forget() {
        let surplus = jobs.count(where: \.isOver) - Self.mostEnded
        guard surplus > 0 else { return }
        var left = surplus
        jobs.removeAll { job in
            guard left > 0, job.isOver else { return false }
            left -= 1
            return true
        }
    }
}

extension PortalJob: JSONObject {
    package var members: JSONMembers { members(in: .english) }

    func members(in language: PortalLanguage) -> JSONMembers {
        [
            "job": number, "state": stateName, "title": order.title.text(in: language),
            "outcome": outcome.map { $0.text(in: language) }, "figures": figures,
        ]
    }

    var stateName: String {
        switch state {
        case .waiting: "waiting"
        case .planned: "planned"
        case .running: "running"
        case .stopping: "stopping"
        case .ended(let end): end.rawValue
        }
    }
}

extension JobFigures: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "storing": isStoring, "pages": Wording.grouped(pages),
            "queuedPages": Wording.grouped(queuedPages), "files": Wording.grouped(files),
            "queuedFiles": Wording.grouped(queuedFiles), "failed": Wording.grouped(failed),
            "size": Wording.bytes(Int64(byteCount)), "speed": Wording.bytes(Int64(bytesPerSecond)) + "/s",
            "elapsed": Self.clock(seconds), "left": secondsLeft.map(Self.clock) ?? "–",
            "hosts": hosts, "hostCount": hostCount, "responses": responses.map(Wording.grouped),
        ]
    }

    /// `1:02`, `1:02:03`
    static func clock(_ seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = seconds / 60 % 60
        return seconds < 3600
            ? "\(minutes):\(two(seconds % 60))" : "\(seconds / 3600):\(two(minutes)):\(two(seconds % 60))"
    }
}

extension JobFigures.Host: JSONObject {
    package var members: JSONMembers {
        [
            "name": name, "running": running, "queued": Wording.grouped(queued),
            "perSecond": "\((requestsPerSecond * 10).rounded() / 10)",
            "paused": pausedSeconds.map { "\($0) s" } ?? "",
        ]
    }
}
