internal import Reports
package import Web

/// A command that was accepted, with its progress and result. Only the `JobQueue` changes jobs.
package struct PortalJob: Sendable, Equatable {
    /// The number of the job, which no other job in the list has.
    package let number: Int
    package let command: PortalCommand
    /// The principal that started the job.
    package let principal: Principal
    fileprivate(set) var state: JobState
    /// The last reported progress; nil before the first report, and for jobs that report none.
    fileprivate(set) var progress: JobProgress?
    /// The result, or the reason of a failure.
    fileprivate(set) var outcome: [Phrase] = []
    /// The time when the job was added, in seconds since 1970.
    package let addedAt: Int64
    /// Whether an earlier run of the server started the job. Its outcome may then name private responses, since that
    /// server may have had other options.
    private(set) var isOfEarlierRun = false

    fileprivate init(
        number: Int, command: PortalCommand, principal: Principal, state: JobState, addedAt: Int64
    ) {
        (self.number, self.command, self.principal) = (number, command, principal)
        (self.state, self.addedAt) = (state, addedAt)
    }

    /// Creates a job of an earlier run of the server.
    init(
        number: Int, command: PortalCommand, principal: Principal, end: JobEnd, outcome: [Phrase],
        addedAt: Int64
    ) {
        self.init(
            number: number, command: command, principal: principal, state: .ended(end), addedAt: addedAt)
        self.outcome = outcome
        isOfEarlierRun = true
    }

    /// The job as users of other machines see it if private responses are hidden from them.
    ///
    /// Nil for jobs of the local user, whose title and outcome may name private responses. Other jobs lose the names of
    /// hosts, and their outcome unless a remote user of this server run started them: only then does the worker leave
    /// private responses out of it.
    var withoutPrivate: PortalJob? {
        guard principal != .localUser else { return nil }
        var job = self
        if principal != .remoteUser || isOfEarlierRun { job.outcome = [] }
        job.progress?.hosts = []
        return job
    }

    /// The state of a job.
    ///
    /// A new job is `waiting`, or `planned` if its command has a delay; then it is `running`, then `ended`. A running job
    /// that the user stops is `stopping` until the worker returns. A job that is stopped before it starts ends at once.
    /// `ended` is final: to repeat a command, `JobRunner.restart` adds a new job.
    package enum JobState: Sendable, Equatable {
        /// The job waits for its turn.
        case waiting
        /// The job starts at this time, in milliseconds of the queue's clock, unless it is cancelled.
        case planned(Int64)
        case running
        /// The job runs and was asked to stop.
        case stopping
        case ended(JobEnd)
    }

    package var isOver: Bool { if case .ended = state { true } else { false } }
    var isPlanned: Bool { if case .planned = state { true } else { false } }
}

/// The way in which a job ended. The raw values are saved in the list of jobs and sent to scripts.
package enum JobEnd: String, Sendable {
    case done
    /// The job finished, but something was missing or wrong.
    case withProblems = "lacking"
    case stopped
    /// The job was cancelled before it started.
    case cancelled = "undone"
    case failed
    /// The server stopped before the job ended.
    case interrupted
}

/// The progress of a job, as the worker reports it. Counts are totals of the job so far.
package struct JobProgress: Sendable, Equatable {
    /// The site that the job works on; empty if there is none.
    package var site = ""
    /// The phase of a running prefetch; nil for other jobs.
    package var phase: Phase?

    /// A phase of a prefetch. The raw value is in JSON.
    package enum Phase: String, Sendable {
        case fetching
        /// No URL is queued: pages are being rendered, or the last responses are awaited.
        case rendering
        /// All requests have ended, and the last responses are being stored.
        case storing
        /// Pages are being added to the search index.
        case indexing
    }

    /// The number of fetched pages.
    package var pages = 0
    /// The number of pages that wait to be fetched.
    package var queuedPages = 0
    /// The number of fetched assets.
    package var files = 0
    /// The number of assets that wait to be fetched.
    package var queuedFiles = 0
    /// The number of URLs that could not be loaded. URLs that do not exist on the live site do not count.
    package var failed = 0
    /// The number of received bytes; for imports and exports, of processed ones.
    package var byteCount = 0
    package var bytesPerSecond = 0
    /// The time since the start.
    package var seconds = 0
    /// The estimated time until the end; nil if it is unknown.
    package var secondsLeft: Int?
    /// The progress on some hosts. There can be more: see `hostCount`.
    package var hosts: [Host] = []
    /// The number of hosts that the job sends requests to.
    package var hostCount = 0
    /// The number of responses so far, for imports and exports, which do not count pages.
    package var responses: Int?

    /// The part of the known work that is done, from 0 to 1; nil while too little is known.
    package var share: Double? {
        let (done, queued) = (pages + files, queuedPages + queuedFiles)
        guard done + queued >= 5, phase != .rendering else { return nil }
        return (Double(done) / Double(done + queued) * 100).rounded() / 100
    }

    /// The progress on one host.
    package struct Host: Sendable, Equatable {
        package let name: String
        package let running: Int
        package let queued: Int
        package let requestsPerSecond: Double
        /// The number of seconds until the next request to the host.
        package let pausedSeconds: Int?

        package init(name: String, running: Int, queued: Int, requestsPerSecond: Double, pausedSeconds: Int?)
        {
            (self.name, self.running, self.queued) = (name, running, queued)
            (self.requestsPerSecond, self.pausedSeconds) = (requestsPerSecond, pausedSeconds)
        }
    }

    package init() {}
}

/// The waiting, running and finished jobs. Each lane runs one job at a time, in order.
///
/// This is a pure value: the caller passes events and the time. `JobRunner` owns it, and carries the jobs out. Two
/// invariants: `jobs` is sorted by number, and in each lane at most one job is running or stopping. Numbers continue
/// after the last job of an earlier server run. `PortalJob.JobState` describes the states of a job.
package struct JobQueue {
    /// All jobs, the oldest first.
    private(set) var jobs: [PortalJob] = []
    /// A counter that increases with every change. Watching clients receive an event when it changes.
    private(set) var version = 1
    /// A counter that increases with every change except those of the progress of jobs, which is not saved.
    private(set) var listRevision = 1
    /// The number of the job that was added last.
    private var lastNumber = 0

    /// The maximum number of jobs that wait or run. Beyond it, commands are refused.
    static let maxUnfinishedJobs = 100
    /// The maximum number of ended jobs in the list. Beyond it, the oldest are removed.
    static let maxEndedJobs = 40

    /// Creates a queue without unfinished jobs.
    ///
    /// - Parameter jobs: the finished jobs of an earlier run of the server.
    init(_ jobs: [PortalJob] = []) {
        self.jobs = jobs
        lastNumber = jobs.last?.number ?? 0
        removeOldJobs()
    }

    /// Adds a job and returns its number. If the same job waits or runs already, returns the number of that
    /// one; nil if too many jobs wait or run.
    ///
    /// A command that needs a site cancels the planned removal of that site.
    ///
    /// - Parameters:
    ///   - principal: the principal that starts the job. A job of another principal counts as the same only
    ///     if it may do as much.
    ///   - now: in milliseconds.
    ///   - date: in seconds since 1970.
    mutating func add(_ command: PortalCommand, by principal: Principal, now: Int64, date: Int64) -> Int? {
        let same = jobs.last {
            $0.command == command && !$0.isOver && $0.state != .stopping
                && $0.principal.nearestZone >= principal.nearestZone
        }
        if let same { return same.number }
        guard jobs.count(where: { !$0.isOver }) < Self.maxUnfinishedJobs else { return nil }
        if let site = command.wantedSite {
            for job in jobs where job.isPlanned && job.command == .remove(site: site) { _ = stop(job.number) }
        }
        lastNumber += 1
        let delay = Int64(command.delay / .milliseconds(1))
        jobs.append(
            PortalJob(
                number: lastNumber, command: command, principal: principal,
                state: delay > 0 ? .planned(now + delay) : .waiting,
                addedAt: date))
        removeOldJobs()
        version += 1
        listRevision += 1
        return lastNumber
    }

    /// The queue as users of other machines see it; see `PortalJob.withoutPrivate`.
    var withoutPrivate: JobQueue {
        var queue = self
        queue.jobs = jobs.compactMap(\.withoutPrivate)
        return queue
    }

    /// The job with the number; nil if it is not in the list.
    subscript(number: Int) -> PortalJob? { jobs.last { $0.number == number } }

    /// Starts and returns the next job of the lane; nil if one is running or none is due.
    mutating func startNext(_ lane: PortalCommand.Lane, now: Int64) -> PortalJob? {
        let laneJobs = jobs.indices.filter { jobs[$0].command.lane == lane }
        guard !laneJobs.contains(where: { jobs[$0].state == .running || jobs[$0].state == .stopping }) else {
            return nil
        }
        let due = laneJobs.first { index in
            switch jobs[index].state {
            case .waiting: true
            case .planned(let time): time <= now
            case .running, .stopping, .ended: false
            }
        }
        guard let due else { return nil }
        jobs[due].state = .running
        version += 1
        listRevision += 1
        return jobs[due]
    }

    /// Returns the time when the next planned job of the lane is due, in milliseconds; nil if there is none.
    func nextPlannedTime(_ lane: PortalCommand.Lane) -> Int64? {
        jobs.compactMap { job in
            if job.command.lane == lane, case .planned(let time) = job.state { time } else { nil }
        }.min()
    }

    /// Stores the progress of a job. Ignores numbers that are not in the list.
    mutating func setProgress(_ progress: JobProgress, ofJob number: Int) {
        change(number) { $0.progress = progress }
    }

    /// Ends a job. A job that fails while it is stopping counts as stopped, because the cancellation caused the failure.
    ///
    /// - Parameter isServerClosing: whether the server is closing. Running jobs that stop or fail are then interrupted.
    mutating func end(_ number: Int, _ end: JobEnd, _ outcome: [Phrase], isServerClosing: Bool = false) {
        change(number) { job in
            if isServerClosing, job.state == .running, end == .stopped || end == .failed {
                job.state = .ended(.interrupted)
            } else {
                job.state = .ended(job.state == .stopping && end == .failed ? .stopped : end)
            }
            job.outcome = outcome
        }
    }

    /// Stops a job: one that has not started ends, one that runs is `stopping`. Returns whether the caller must now cancel
    /// the running job.
    mutating func stop(_ number: Int) -> Bool {
        var mustCancel = false
        change(number) { job in
            switch job.state {
            case .waiting, .planned: job.state = .ended(.cancelled)
            case .running:
                job.state = .stopping
                mustCancel = true
            case .stopping, .ended: break
            }
        }
        return mustCancel
    }

    /// Removes a finished job from the list.
    mutating func forget(_ number: Int) {
        guard self[number]?.isOver == true else { return }
        jobs.removeAll { $0.number == number }
        version += 1
        listRevision += 1
    }

    /// Changes a job, and increases the counters if that makes a difference. So reports without news cause no events.
    private mutating func change(_ number: Int, _ body: (inout PortalJob) -> Void) {
        guard let index = jobs.lastIndex(where: { $0.number == number }) else { return }
        let before = jobs[index]
        body(&jobs[index])
        if jobs[index] != before { version += 1 }
        if jobs[index].state != before.state { listRevision += 1 }
    }

    /// Removes the oldest ended jobs above the limit.
    private mutating func removeOldJobs() {
        let surplus = jobs.count(where: \.isOver) - Self.maxEndedJobs
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

    /// The job as JSON, with texts in a language.
    func members(in language: PortalLanguage) -> JSONMembers {
        [
            "job": number, "state": stateName, "title": command.title.text(in: language),
            "outcome": outcome.map { $0.text(in: language) },
            "figures": progress.map { $0.members(in: language) },
        ]
    }

    /// The name of the state in JSON and in the saved list of jobs.
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

extension JobProgress: JSONObject {
    package var members: JSONMembers { members(in: .english) }

    /// The figures as `JobsScript` shows them, in a language.
    func members(in language: PortalLanguage) -> JSONMembers {
        [
            "site": site, "phase": phase?.rawValue, "storing": phase == .storing,
            "pages": language.number(pages),
            "queuedPages": language.number(queuedPages), "files": language.number(files),
            "queuedFiles": language.number(queuedFiles), "failed": language.number(failed),
            "size": language.bytes(Int64(byteCount)), "speed": language.bytes(Int64(bytesPerSecond)) + "/s",
            "elapsed": Self.clock(seconds), "left": secondsLeft.map(Self.clock) ?? "–",
            "share": share, "hosts": hosts.map { $0.members(in: language) }, "hostCount": hostCount,
            "responses": responses.map(language.number),
        ]
    }

    /// Formats a duration as `1:02` or `1:02:03`.
    package static func clock(_ seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = seconds / 60 % 60
        return seconds < 3600
            ? "\(minutes):\(two(seconds % 60))" : "\(seconds / 3600):\(two(minutes)):\(two(seconds % 60))"
    }
}

extension JobProgress.Host {
    func members(in language: PortalLanguage) -> JSONMembers {
        [
            "name": name, "running": running, "queued": language.number(queued),
            "perSecond": "\((requestsPerSecond * 10).rounded() / 10)",
            "paused": pausedSeconds.map { "\($0) s" } ?? "",
        ]
    }
}
