internal import Glibc
internal import HTTPServer
internal import Origins
internal import Portal
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Loads responses from origins and stores them. Any thread may use it.
///
/// A load passes through these steps:
///
/// 1. `load` joins it with a running load of the same request (`SingleFlight`), or sends a request.
/// 2. When the response arrives, `start` decides whether its client needs to wait for the store. If not
///    (`EarlyReply`), the client gets its reply at once, and the response is stored in the background.
/// 3. Otherwise the thread `larder-load` verifies, stores and renders the response (`LoadedResponseHandler`), and the
///    client gets its reply after the commit. Only this thread writes.
///
/// The thread commits responses in batches: those that arrive within a short time share one commit.
final class OriginLoader: Sendable {
    /// The default policy, if neither the request nor a rule sets one.
    let policy: CachePolicy
    let profile: CacheProfile
    let reachability = OriginReachability()
    let memoryCache: MemoryResponseCache
    let uncommitted: UncommittedResponses
    /// Hashes the secrets of requests that responses vary by.
    let secrets: SecretHasher
    let freshAnswers: FreshAnswerCache
    private let sendRequest: Load
    private let clock: @Sendable () -> HTTPDate
    private let changes = ChangedURLs()
    /// Requests in progress. The result is nil for requesters who must load for themselves.
    private let flights = SingleFlight<String, LoadedReply?>()
    private let queue = Inbox<Message>()
    private let thread: NamedThread
    private let timer: LoadTimer?

    private enum Message: Sendable {
        case work(Work)
        /// `uncommitted` is not empty.
        case uncommitted
    }

    /// Returns nil if the work continues elsewhere; else the closure to call once its changes are stored or
    /// lost.
    private typealias Work = @Sendable (LoadedResponseHandler) -> Finish?
    private typealias Finish = (StoreError?) -> Void

    /// - Parameter memoryOnlyByteLimit: The maximum size, in bytes, of responses that are stored only in memory.
    init(
        _ folder: StoreFolder, _ options: MirrorOptions, tier: MemoryTier<Answer>, memoryOnlyByteLimit: Int,
        recording: RecordingHealth, rejectedResponses: RejectedResponses, load: @escaping Load
    ) throws(ServerError) {
        policy = options.policy
        profile = options.profile
        clock = options.clock
        sendRequest = load
        timer = try options.patience.map { (time) throws(ServerError) in try LoadTimer(time) }
        let secrets = folder.secretHasher(createsKey: true)
        self.secrets = secrets
        let memoryCache = MemoryResponseCache(byteLimit: memoryOnlyByteLimit, secrets)
        self.memoryCache = memoryCache
        uncommitted = UncommittedResponses(secrets)
        let freshAnswers = FreshAnswerCache(tier)
        self.freshAnswers = freshAnswers
        let isOpen = Monitor(false)
        let (queue, uncommitted) = (queue, uncommitted)
        do throws(SystemError) {
            let (profile, site, sizeLimit) = (options.profile, options.site, options.sizeLimit)
            let requirements = options.requirements
            thread = try NamedThread.start("larder-load") {
                let handler = LoadedResponseHandler(
                    folder, profile: profile, memoryCache: memoryCache, uncommitted: uncommitted, site: site,
                    sizeLimit: sizeLimit, recording: recording,
                    rejectedResponses: rejectedResponses, requirements: requirements)
                handler.open()
                isOpen.change { $0 = true }
                while let first = queue.next() {
                    Self.processMessages(first, queue, uncommitted, handler, freshAnswers)
                }
                Self.runAndCommit(
                    uncommitted.takeAll(isLast: true).map { work in { work($0) } }, handler, freshAnswers)
            }
            isOpen.wait { $0 ? () : nil }
        } catch {
            throw ServerError(error)
        }
    }

    /// Runs the work of a message and of all messages that have arrived since. Called on the thread `larder-load`.
    private static func processMessages(
        _ first: Message, _ queue: Inbox<Message>, _ uncommitted: UncommittedResponses,
        _ handler: LoadedResponseHandler, _ freshAnswers: FreshAnswerCache
    ) {
        var messages = [first]
        // Uncommitted responses have no waiting client, so they can wait for more work.
        if case .uncommitted = first, let next = queue.next(atMost: maxWriteDelay) { messages.append(next) }
        messages += queue.takeAll()
        // Uncommitted responses first, in order: an invalidation must apply to them too.
        let early: [Work] = uncommitted.takeAll().map { work in { work($0) } }
        let awaited: [Work] = messages.compactMap { if case .work(let work) = $0 { work } else { nil } }
        runAndCommit(
            early + awaited, handler, freshAnswers,
            yieldsBetweenWorks: awaited.isEmpty && early.count <= maxYieldingWrites)
    }

    /// The maximum time that an early reply's response waits before it is stored.
    private static let maxWriteDelay = Duration.milliseconds(20)
    /// The number of early replies' responses above which the thread no longer yields to other threads, because the queue would
    /// grow.
    private static let maxYieldingWrites = 128

    /// Runs works and commits their changes together. No waiting client gets a reply before its response is stored.
    ///
    /// - Parameter yieldsBetweenWorks: whether to yield to other threads between works.
    private static func runAndCommit(
        _ works: [Work], _ handler: LoadedResponseHandler, _ freshAnswers: FreshAnswerCache,
        yieldsBetweenWorks: Bool = false
    ) {
        var waiting: [Finish] = []
        var start = ContinuousClock.now
        func settle(_ failure: StoreError?) {
            freshAnswers.forget(handler.takeChanged())
            for finish in waiting { finish(failure) }
            waiting.removeAll()
            start = .now
        }
        for work in works {
            let finish = work(handler)
            if let failure = handler.takeFailure() { settle(failure) }
            if let finish { waiting.append(finish) }
            if yieldsBetweenWorks { sched_yield() }
            if ContinuousClock.now - start > maxCommitWait {
                handler.commit()
                settle(handler.takeFailure())
            }
        }
        handler.commit()
        settle(handler.takeFailure())
    }

    /// The maximum time that the first work of a batch waits for the others. Then the batch is committed.
    private static let maxCommitWait = Duration.milliseconds(10)

    var now: HTTPDate { clock() }

    /// Loads with a timeout. If the origin takes too long, it counts as silent, and `otherwise` is called. The load continues
    /// all the same, and `done` is called at its end.
    func loadWithTimeout(
        _ job: LoadJob, by threadLoader: (any ThreadLoader)?, otherwise: (@Sendable () -> Void)?,
        done: @escaping @Sendable (LoadedReply) -> Void
    ) {
        guard let timer, let otherwise else { return load(job, by: threadLoader, done: done) }
        let wait = timer.wait { [reachability, clock] in
            reachability.record(job.request.url.origin, hasAnswered: false, now: clock())
            otherwise()
        }
        load(job, by: threadLoader) { reply in
            timer.end(wait)
            done(reply)
        }
    }

    /// Loads and calls `done` with the reply, on the thread that made it.
    ///
    /// - Parameter threadLoader: the loader of the calling thread, which is tried first.
    func load(
        _ requestedJob: LoadJob, by threadLoader: (any ThreadLoader)? = nil,
        done: @escaping @Sendable (LoadedReply) -> Void
    ) {
        var job = requestedJob
        job.changeStamp = changes.stamp(at: job.request.url)
        let (fields, shared) = (job.upstreamFields, SharedJob(job))
        guard let key = job.sharingKey(fields) else {
            return start(shared, fields, by: threadLoader, done: done)
        }
        let leader = LeaderFlag()
        flights.load(key) { reply in
            // The leader gets its reply from `start` below.
            if leader.isSet { return }
            guard let reply, reply.isShared else { return self.start(shared, done: done) }
            done(LoadedReply(answer: reply.answer, source: reply.source))
        } by: { complete in
            leader.set()
            // A streamed reply proceeds at its client's pace; others must not wait for it.
            job.stream?.onBegin { complete(nil) }
            start(shared, fields, by: threadLoader) { [stream = job.stream] reply in
                // The flight ends before the reply is sent: a client that repeats its request after that must not join it.
                complete(stream?.isGone == true ? nil : reply)
                done(reply)
            }
        }
    }

    /// Sends a preflight, and calls `done` with whether the origin allows the request that follows the preflight.
    func send(_ preflight: Preflight, done: @escaping @Sendable (Bool) -> Void) {
        sendRequest(preflight.request) { outcome in done(preflight.isPassed(by: outcome)) }
    }

    /// A job behind a reference: it has many parts, and closures copy it.
    private final class SharedJob: Sendable {
        let job: LoadJob

        init(_ job: LoadJob) { self.job = job }
    }

    /// Whether the request of this caller is the one that is sent to the origin, for all who request the same.
    private final class LeaderFlag: Sendable {
        private let flag = Atomic(false)

        var isSet: Bool { flag.load(ordering: .acquiring) }

        func set() { flag.store(true, ordering: .releasing) }
    }

    /// Sends the request of a job, and handles its outcome.
    ///
    /// - Parameter fields: the upstream fields of the job, if they are already known.
    private func start(
        _ shared: SharedJob, _ fields: HTTPFields? = nil, by threadLoader: (any ThreadLoader)? = nil,
        done: @escaping @Sendable (LoadedReply) -> Void
    ) {
        let conclude: @Sendable (LoadOutcome) -> Void = { outcome in
            let (origin, now) = (shared.job.request.url.origin, self.now)
            switch outcome {
            case .response(let response):
                self.reachability.record(origin, hasAnswered: true, now: now)
                if shared.job.layout.isTransparent {
                    self.reachability.recordZone(of: origin, response.flags.zone)
                }
            case .failure: self.reachability.record(origin, hasAnswered: false, now: now)
            case .passedOn(let why):
                self.reachability.record(origin, hasAnswered: true, now: now)
                return done(.alreadyStreamed(shared.job, why))
            }
            if case .response(let response) = outcome {
                self.changes.note(
                    Invalidation.targets(
                        of: shared.job.request, status: response.status, fields: response.fields))
            }
            if let early = EarlyReply(shared.job, outcome, self.profile, now: now),
                let reply = self.replyBeforeStoring(early, of: shared)
            {
                return done(reply)
            }
            let isAdded = self.queue.put(
                .work { handler in self.conclude(shared.job, outcome, handler, done: done) })
            if !isAdded {
                done(LoadedReply(answer: .text(504, "The server is shutting down.\n"), source: .missed))
            }
        }
        let request = shared.job.upstream(fields ?? shared.job.upstreamFields)
        // The calling server thread loads by itself if it can, which avoids a switch to the thread that loads for all.
        if let threadLoader {
            threadLoader.load(request, done: conclude)
        } else {
            sendRequest(request, conclude)
        }
    }

    /// Marks stored responses of the URL as outdated by a change.
    func invalidate(_ url: WebURL) {
        changes.note([url])
        freshAnswers.forget(url)
        queue.put(
            .work { handler in
                handler.invalidate(url)
                return nil
            })
    }

    /// Returns the reply for the client, and stores the response in the background. Returns nil if the reply must wait until
    /// the response is stored.
    private func replyBeforeStoring(_ early: EarlyReply, of shared: SharedJob) -> LoadedReply? {
        guard let unnumbered = early.copy else { return early.reply }
        guard let copy = uncommitted.add(unnumbered) else { return nil }
        freshAnswers.forget(shared.job.request.url)
        let now = now
        let isFirst = uncommitted.put { [uncommitted] handler in
            let failure = handler.keep(early, of: shared.job, now: now)
            return { lost in
                uncommitted.removeIfCurrent(copy)
                if let why = failure ?? lost { shared.job.isLost?("\(why)") }
            }
        }
        switch isFirst {
        case true?: queue.put(.uncommitted)
        case false?: break
        case nil: shared.job.isLost?("the server is shutting down")
        }
        return early.reply
    }

    /// Handles the outcome of a load on the thread `larder-load`. Loads again without conditions if the handler asks for it.
    private func conclude(
        _ job: LoadJob, _ outcome: LoadOutcome, _ handler: LoadedResponseHandler,
        done: @escaping @Sendable (LoadedReply) -> Void
    ) -> Finish? {
        guard let reply = handler.conclude(job, outcome, now: now) else {
            start(SharedJob(job.unconditional), done: done)
            return nil
        }
        return { failure in done(failure.map(reply.notStored) ?? reply) }
    }

    /// Returns when all responses are stored. May be called from any other thread, and repeatedly.
    func stop() {
        queue.close()
        thread.join()
        timer?.stop()
    }
}

/// Answers for the proxy's clients, kept in the memory tier by URL until they are stale or the stored
/// response changes. Any thread may use it.
final class FreshAnswerCache: Sendable {
    private let tier: MemoryTier<Answer>
    private let changes = Atomic(0)

    init(_ tier: MemoryTier<Answer>) { self.tier = tier }

    /// The number of changes of stored responses so far. Read it before a lookup in the store, and pass it to `keep` with the
    /// answer.
    var changeCount: Int { changes.load(ordering: .acquiring) }

    /// Caches the answer with a stored response, unless a response has changed since the lookup.
    ///
    /// - Parameter changeCount: the value of `changeCount` before the lookup.
    func keep(
        _ answer: Answer, of copy: FoundResponse, _ view: MirrorResponder.StoreView, notedAt changeCount: Int
    ) {
        let (origin, target) = Self.key(copy.url)
        tier.insert(
            answer, byteCount: answer.memoryByteCount, id: copy.response.url, for: origin.span, target.span,
            derivedIn: view.generation, now: view.time)
        // If a response changed in the meantime, `forget` may have run before the insertion.
        if changeCount != self.changeCount { tier.remove(origin.span, target.span) }
    }

    /// Removes the answer for a URL whose stored response has changed or will change.
    func forget(_ url: WebURL) {
        changes.add(1, ordering: .acquiringAndReleasing)
        let key = Self.key(url)
        tier.remove(key.origin.span, key.target.span)
    }

    /// Removes the answers for URLs whose stored responses have changed.
    func forget(_ hrefs: [String]) {
        guard !hrefs.isEmpty else { return }
        changes.add(1, ordering: .acquiringAndReleasing)
        for (origin, target) in hrefs.compactMap({ WebURL($0).map(Self.key) }) {
            tier.remove(origin.span, target.span)
        }
    }

    /// The origin of a URL, and the rest of it, as in a request.
    private static func key(_ url: WebURL) -> (origin: [UInt8], target: [UInt8]) {
        let origin = Array(url.origin.utf8)
        return (origin, Array(url.withoutFragment.href.utf8.dropFirst(origin.count)))
    }
}

/// The result of a load.
struct LoadedReply: Sendable {
    let answer: Answer
    /// Field lines only for the client whose request was sent to the origin: its cookies.
    var clientFields: [UInt8] = []
    /// Whether clients that sent the same request in the meantime get this reply, too. A response that may not be stored is
    /// for one client only.
    var isShared = true
    var source = ProxyLog.Source.network
    /// The reason why the response was not stored; nil if it was.
    var failure: String?

    /// The reply if the response could not be stored.
    static func storeFailure(_ job: LoadJob, _ error: StoreError) -> LoadedReply {
        LoadedReply(
            answer: .text(
                500, "\(error)\n", fields: job.layout.fields(of: job.request.url),
                sharing: Sharing(missing: job.request.url)),
            isShared: false, failure: "\(error)")
    }

    /// The same reply for a response that could not be stored. The client gets it all the same.
    func notStored(_ error: StoreError) -> LoadedReply {
        var reply = self
        reply.isShared = false
        reply.failure = failure ?? "\(error)"
        return reply
    }

    /// The reply if the client has already received the whole response.
    static func alreadyStreamed(_ job: LoadJob, _ why: String) -> LoadedReply {
        LoadedReply(
            answer: .text(502, "\(why)\n", fields: job.layout.fields(of: job.request.url)), isShared: false,
            failure: why)
    }
}

/// Remembers origins that did not answer recently, so that `auto` does not wait for them each time, and the
/// network zones that responses came from. Any thread may use it.
final class OriginReachability: Sendable {
    /// The origins that did not answer, with the times until which they count as unreachable.
    private let silent = Mutex<[String: HTTPDate]>([:])
    private let zones = Mutex<[String: NetworkZone]>([:])

    /// The most public zone that the origin has answered from, although its name may resolve to a nearer one now. Nil for an
    /// unknown origin. But when the table is full, unknown origins count as public: otherwise a page could fill the table to
    /// keep its own origin out of it.
    func zone(of origin: String) -> NetworkZone? {
        zones.withLock { $0[origin] ?? ($0.count < Self.maxZones ? nil : .publicNetwork) }
    }

    /// Records the network zone that an origin has answered from. A more public one replaces a nearer one.
    func recordZone(of origin: String, _ zone: NetworkZone) {
        zones.withLock { zones in
            let known = zones[origin]
            guard zones.count < Self.maxZones || known != nil else { return }
            if known.map({ zone < $0 }) ?? true { zones[origin] = zone }
        }
    }

    /// The seconds for which an origin that did not answer counts as unreachable.
    private static let silenceSeconds: Int64 = 30
    /// The maximum number of silent origins. Further ones get a request each time.
    private static let maxSilentOrigins = 1000
    /// The maximum number of origins whose zones are remembered.
    private static let maxZones = 50_000

    /// Whether an origin did not answer a moment ago. `auto` serves stored responses meanwhile.
    func isSilent(_ origin: String, now: HTTPDate) -> Bool {
        silent.withLock { silent in
            guard !silent.isEmpty, let until = silent[origin] else { return false }
            if now < until { return true }
            silent[origin] = nil
            return false
        }
    }

    /// Records whether an origin has answered a request.
    func record(_ origin: String, hasAnswered answered: Bool, now: HTTPDate) {
        silent.withLock { silent in
            if answered {
                if !silent.isEmpty { silent[origin] = nil }
            } else if silent.count < Self.maxSilentOrigins {
                silent[origin] = now.adding(seconds: Self.silenceSeconds)
            }
        }
    }
}

/// Timers of the same duration, on one thread. Any thread may use them.
final class LoadTimer: Sendable {
    private struct Wait {
        let number: Int
        let end: ContinuousClock.Instant
        let body: @Sendable () -> Void
    }

    private struct State {
        /// Ordered by number, which is also the order of their ends.
        var waits: [Wait] = []
        /// The number of the last wait.
        var last = 0
        var isStopped = false
    }

    private let state = Monitor(State())
    private let time: Duration
    private let thread: NamedThread

    init(_ time: Duration) throws(ServerError) {
        self.time = time
        let state = state
        do throws(SystemError) {
            thread = try NamedThread.start("larder-wait") { Self.fireTimers(state) }
        } catch {
            throw ServerError(error)
        }
    }

    /// Calls `body` on the timer's thread after the time, unless `end` is called before with the returned number.
    func wait(_ body: @escaping @Sendable () -> Void) -> Int {
        state.change { state in
            state.last += 1
            state.waits.append(Wait(number: state.last, end: .now + time, body: body))
            return state.last
        }
    }

    func end(_ number: Int) {
        state.change { state in state.waits.removeAll { $0.number == number } }
    }

    func stop() {
        state.change { $0.isStopped = true }
        thread.join()
    }

    /// Waits for the first timer, calls its body, and then waits for the next one.
    private static func fireTimers(_ state: Monitor<State>) {
        while true {
            // The inner nil means that the timers are stopped, the outer one that an hour has passed without a wait.
            let first: Wait?? = state.wait(atMost: .seconds(3600)) { state -> Wait?? in
                state.isStopped ? .some(.none) : state.waits.first.map { .some($0) }
            }
            guard let first else { continue }
            guard let next = first else { return }
            // Waits until its end, or until it is removed.
            let due = state.wait(atMost: next.end - .now) { state -> Bool? in
                if state.isStopped || state.waits.first?.number != next.number { return false }
                guard next.end <= .now else { return nil }
                state.waits.removeFirst()
                return true
            }
            if due == true { next.body() }
        }
    }
}
