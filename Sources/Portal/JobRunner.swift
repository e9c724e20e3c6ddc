package import HTTPServer
internal import Store
internal import Synchronization
internal import System
package import Web

/// Carries out the commands of the portal in this process, and reports progress to watching clients.
///
/// A command becomes a job of the `JobQueue`. Each lane has one thread, which waits for the lane's next job and passes
/// it to the worker; the threads are started with the first command. Another thread saves the list of jobs after each
/// change, and another one sends events to the clients of `/-/jobs/live`.
///
/// Any thread may use it. A monitor protects the state; the worker and all callbacks are called without holding it.
package final class JobRunner: Sendable {
    /// Carries out a command on a thread of the runner.
    package typealias Worker = @Sendable (PortalCommand, JobRun) -> (end: JobEnd, outcome: [Phrase])

    /// The state that the monitor protects.
    private struct RunnerState {
        var queue = JobQueue()
        /// The running jobs, by number.
        var runs: [Int: JobRun] = [:]
        /// Callbacks for the end of a job. Each is removed before it is called, so that it is called once.
        var waiters: [(number: Int, onEnd: @Sendable () -> Void)] = []
        var watchers: [Watcher] = []
        /// Watchers that have not received an event yet.
        var newWatchers: [Watcher] = []
        /// All started threads; `close` waits for them.
        var threads: [NamedThread] = []
        /// Whether the threads of the lanes were started.
        var hasLaneThreads = false
        /// Whether the thread that sends events was started.
        var hasEventThread = false
        var isClosed = false
        /// The `revision` of the queue that was saved last.
        var savedListRevision = 0
    }

    /// A client that receives progress events.
    private struct Watcher {
        let stream: ReplyStream
        /// Whether its events leave out private responses.
        let hidesPrivate: Bool
    }

    private let state: Monitor<RunnerState>
    private let worker: Worker
    private let jobList: JobListFile?
    /// The files of imports and exports; nil if another server owns the folder.
    package let files: PortalFiles?

    /// The maximum number of watching clients. Beyond it, further ones get no events.
    static let maxWatchers = 500

    /// - Parameter jobList: saves the list of jobs across server runs; nil to forget it.
    package init(jobList: JobListFile? = nil, files: PortalFiles? = nil, _ worker: @escaping Worker) {
        self.worker = worker
        self.files = files
        self.jobList = jobList
        var state = RunnerState()
        state.queue = JobQueue(jobList?.saved.map(JobListCoding.decode) ?? [])
        state.savedListRevision = state.queue.listRevision
        self.state = Monitor(state)
        removeUnusedFiles()
    }

    /// All jobs in the list, the oldest first.
    package var jobs: [PortalJob] { state.change { $0.queue.jobs } }

    /// The jobs that a user may see.
    ///
    /// - Parameter hidesPrivate: whether to hide jobs that may name private responses, for users of other
    ///   machines.
    package func jobs(hidesPrivate: Bool) -> [PortalJob] {
        state.change { (hidesPrivate ? $0.queue.withoutPrivate : $0.queue).jobs }
    }

    /// Milliseconds of the monotonic clock.
    package static var now: Int64 { SystemClock.milliseconds() }

    // MARK: - Commands

    /// Adds a job and returns its number; nil if too many jobs wait or the server is closing.
    ///
    /// - Parameters:
    ///   - principal: the principal that gives the command.
    ///   - onEnd: called once, after the job has ended.
    package func add(
        _ command: PortalCommand, by principal: Principal, onEnd: (@Sendable () -> Void)? = nil
    ) -> Int? {
        let number = state.change { state -> Int? in
            guard !state.isClosed, startThreads(&state) else { return nil }
            let number = state.queue.add(
                command, by: principal, now: Self.now, date: SystemClock.secondsSinceEpoch())
            if let number, let onEnd { state.waiters.append((number, onEnd)) }
            return number
        }
        return number
    }

    /// Cancels a waiting job, or asks a running one to stop. Returns before a running job has stopped.
    package func stop(_ number: Int) {
        let run = state.change { state in state.queue.stop(number) ? state.runs[number] : nil }
        run?.cancel()
        notifyWaiters()
    }

    /// Adds the command of an ended job again. Returns the number of the new job; nil if the job is not in the list, has
    /// not ended, or too many jobs wait.
    ///
    /// - Parameter principal: the principal that repeats it. The new job gets at most the rights of the first principal:
    ///   the user who presses the button may not know which URLs a job of another user requests.
    func restart(_ number: Int, by principal: Principal) -> Int? {
        guard let job = state.change({ $0.queue[number] }), job.isOver else { return nil }
        let hasMoreRights = principal.nearestZone > job.principal.nearestZone
        return add(job.command, by: hasMoreRights ? job.principal : principal)
    }

    /// Removes a finished job from the list, with the file that it made.
    package func forget(_ number: Int) {
        state.change { $0.queue.forget(number) }
        removeUnusedFiles()
    }

    /// Removes the files of jobs that are no longer in the list.
    private func removeUnusedFiles() {
        files?.removeUnusedFiles({ jobs }, now: SystemClock.secondsSinceEpoch())
    }

    /// Calls the waiters whose jobs are over.
    private func notifyWaiters() {
        removeUnusedFiles()
        let onEnd = state.change { state in
            let (queue, waiters) = (state.queue, state.waiters)
            state.waiters = waiters.filter { queue[$0.number]?.isOver == false }
            return waiters.filter { queue[$0.number]?.isOver != false }.map(\.onEnd)
        }
        for call in onEnd { call() }
    }

    /// Starts the threads of the lanes, if they are not running. Returns false if that fails.
    private func startThreads(_ state: inout RunnerState) -> Bool {
        guard !state.hasLaneThreads else { return true }
        do throws(SystemError) {
            state.threads.append(try NamedThread.start("larder-jobs") { [self] in runJobs(of: .network) })
            state.threads.append(try NamedThread.start("larder-deeds") { [self] in runJobs(of: .store) })
            state.threads.append(
                try NamedThread.start("larder-archives") { [self] in runJobs(of: .archives) })
            if jobList != nil {
                state.threads.append(try NamedThread.start("larder-kept") { [self] in saveChanges() })
            }
        } catch {
            return false
        }
        state.hasLaneThreads = true
        return true
    }

    /// Runs the jobs of a lane until the runner closes. This is the body of the lane's thread.
    private func runJobs(of lane: PortalCommand.Lane) {
        while let (job, run) = waitForJob(of: lane) {
            let (end, outcome) = worker(job.command, run)
            state.change { state in
                state.queue.end(job.number, end, outcome, isServerClosing: state.isClosed)
                state.runs[job.number] = nil
            }
            notifyWaiters()
        }
    }

    /// Waits for the next job of the lane; nil when the runner closes.
    ///
    /// A planned job becomes due without any change of the state, so the wait ends at its time. Before each wait the time
    /// of the next planned job is read again, since it changes when a job is planned or cancelled.
    private func waitForJob(of lane: PortalCommand.Lane) -> (PortalJob, JobRun)? {
        /// The result of a wait: the next job, the end of the thread, or another wait with a new deadline.
        enum LaneTurn {
            case end, again
            case job(PortalJob, JobRun)
        }
        while true {
            let time = state.change { $0.queue.nextPlannedTime(lane) }
            let wait: (inout RunnerState) -> LaneTurn? = { [self] state in
                if state.isClosed { return .end }
                guard let job = state.queue.startNext(lane, now: Self.now) else {
                    return state.queue.nextPlannedTime(lane) == time ? nil : .again
                }
                let run = JobRun(job.number, by: job.principal, files: files) { [self] progress in
                    self.state.change { $0.queue.setProgress(progress, ofJob: job.number) }
                }
                state.runs[job.number] = run
                return .job(job, run)
            }
            let turn =
                time.map { time in
                    state.wait(atMost: .milliseconds(max(1, time - Self.now)), wait) ?? .again
                } ?? state.wait(wait)
            switch turn {
            case .end: return nil
            case .again: continue
            case .job(let job, let run): return (job, run)
            }
        }
    }

    // MARK: - Saving

    /// The next step of the saving thread.
    private enum SaveTurn {
        case end
        case to(JobQueue)
    }

    /// Saves the list of jobs whenever it changes, until the runner closes. `close` saves the last change. This is the body
    /// of a thread, because writing a file may take long.
    private func saveChanges() {
        while case .to(let queue) = state.wait({ state -> SaveTurn? in
            state.isClosed ? .end : Self.unsavedChange(&state)
        }) { jobList?.save(JobListCoding.encode(queue.jobs)) }
    }

    /// Returns the queue if it changed since it was saved, and counts it as saved.
    private static func unsavedChange(_ state: inout RunnerState) -> SaveTurn? {
        guard state.queue.listRevision != state.savedListRevision else { return nil }
        state.savedListRevision = state.queue.listRevision
        return .to(state.queue)
    }

    // MARK: - Watching

    /// Sends the state of the jobs now and after every change. Returns false if there are too many watchers.
    ///
    /// - Parameter hidesPrivate: whether to leave out private responses.
    package func watch(_ stream: ReplyStream, hidesPrivate: Bool = false) -> Bool {
        let isWatching = state.change { state -> Bool in
            guard !state.isClosed, state.watchers.count + state.newWatchers.count < Self.maxWatchers else {
                return false
            }
            if !state.hasEventThread {
                guard let thread = try? NamedThread.start("larder-live", body: { [self] in sendEvents() })
                else {
                    return false
                }
                state.threads.append(thread)
                state.hasEventThread = true
            }
            state.newWatchers.append(Watcher(stream: stream, hidesPrivate: hidesPrivate))
            return true
        }
        return isWatching
    }

    /// The minimum interval between events, however fast the progress changes.
    private static let tick = Duration.milliseconds(500)
    /// The interval of comment lines. Writing to a closed connection fails, which reveals clients that are gone.
    private static let heartbeat = Duration.seconds(15)

    /// Sends events to the watchers until the runner closes. This is the body of a thread.
    ///
    /// New watchers get the current state at once, all watchers every change. Each state is encoded once with and once
    /// without private responses, however many watchers there are.
    private func sendEvents() {
        var version = 0
        var (text, publicText): ([UInt8], [UInt8]) = ([], [])
        while true {
            /// The result of a wait: events to send, the end of the thread, or no news.
            enum EventTurn {
                case end, none
                case some([Watcher], new: [Watcher], JobQueue)
            }
            let turn: EventTurn? = state.wait(atMost: Self.heartbeat) { state in
                if state.isClosed { return .end }
                let new = state.newWatchers
                guard !new.isEmpty || !state.watchers.isEmpty && state.queue.version != version else {
                    return nil
                }
                state.newWatchers = []
                state.watchers = state.watchers.filter { !$0.stream.isGone } + new
                return .some(state.watchers, new: new, state.queue)
            }
            switch turn {
            case .end?:
                let all = state.change { state in
                    defer { (state.watchers, state.newWatchers) = ([], []) }
                    return state.watchers + state.newWatchers
                }
                for watcher in all {
                    watcher.stream.end(isWhole: true)
                    watcher.stream.didStoreResponse()
                }
                return
            case .none?, nil:
                let watchers = state.change { state in
                    state.watchers = state.watchers.filter { !$0.stream.isGone }
                    return state.watchers
                }
                for watcher in watchers { Self.send(Array(": still here\n\n".utf8), to: watcher.stream) }
            case .some(let all, let new, let queue)?:
                let hasChanged = queue.version != version
                if hasChanged || text.isEmpty {
                    version = queue.version
                    text = Self.event(queue)
                    publicText = Self.event(queue.withoutPrivate)
                }
                for watcher in hasChanged ? all : new {
                    Self.send(watcher.hidesPrivate ? publicText : text, to: watcher.stream)
                }
                // Changes during this pause are part of the next event.
                let isClosed: Bool? = state.wait(atMost: Self.tick) { $0.isClosed ? true : nil }
                if isClosed == true { continue }
            }
        }
    }

    /// Sends bytes to a watcher. A client that reads too slowly misses events. It loses nothing, because each event contains
    /// the state of all jobs.
    private static func send(_ bytes: [UInt8], to stream: ReplyStream) {
        guard stream.hasRoom else { return }
        bytes.withUnsafeBytes { stream.take($0) }
    }

    /// Encodes the jobs as an event of a `text/event-stream`.
    package static func event(_ queue: JobQueue) -> [UInt8] {
        let members: JSONMembers = [
            "version": queue.version, "jobs": queue.jobs.filter { !$0.isOver },
            "over": queue.jobs.count(where: \.isOver),
        ]
        return Array("event: jobs\ndata: \(members.text(.compact))\n\n".utf8)
    }

    /// Stops running jobs and returns when they have ended. Jobs that did not finish are interrupted, so that the next run
    /// of the server offers to continue them. Further jobs are refused.
    package func close() {
        let (runs, threads) = state.change { state in
            state.isClosed = true
            defer { state.threads = [] }
            return (Array(state.runs.values), state.threads)
        }
        for run in runs { run.cancel() }
        for thread in threads { thread.join() }
        if case .to(let queue)? = state.change({ Self.unsavedChange(&$0) }) {
            jobList?.save(JobListCoding.encode(queue.jobs))
        }
        let onEnd = state.change { state in
            defer { state.waiters = [] }
            return state.waiters.map(\.onEnd)
        }
        for call in onEnd { call() }
    }
}

/// A running job, from the view of its worker: the worker reports progress through it and learns of cancellation.
///
/// Any thread may use it. A mutex protects the state; the cancellation handler is called without holding it.
package final class JobRun: Sendable {
    private struct JobRunState {
        var isCancelled = false
        /// The handler that `onCancel` has set.
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(JobRunState())
    /// Reports progress. May be called on any thread.
    package let report: @Sendable (JobProgress) -> Void

    /// The number of the job.
    package let number: Int
    /// The principal that gave the command.
    package let principal: Principal
    /// The files of imports and exports; nil if this server may not use them.
    package let files: PortalFiles?

    package init(
        _ number: Int, by principal: Principal, files: PortalFiles? = nil,
        report: @escaping @Sendable (JobProgress) -> Void
    ) {
        (self.number, self.principal, self.files, self.report) = (number, principal, files, report)
    }

    /// Whether the worker should stop.
    package var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Sets the handler for cancellation, in place of an earlier one.
    ///
    /// - Parameter body: called on the thread that cancels; at once if the job is already cancelled.
    package func onCancel(_ body: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.cancel = body
            return state.isCancelled
        }
        if isCancelled { body() }
    }

    /// Cancels the job. The worker decides when it stops.
    package func cancel() {
        let body = state.withLock { state in
            state.isCancelled = true
            return state.cancel
        }
        body?()
    }
}
