internal import Glibc
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Answers from servers, and keeps what they say. Any thread may ask; what comes is read, kept and made ready on a thread
/// of its own, which alone writes.
final class Loading: Sendable {
    /// What holds where neither the request nor a rule says otherwise.
    let policy: CachePolicy
    let profile: CacheProfile
    let reach = OriginReach()
    let shelf: BodyShelf
    private let load: Load
    private let clock: @Sendable () -> HTTPDate
    private let flights = SingleFlight<String, LoadedReply>()
    private let queue = Inbox<Work>()
    private let thread: NamedThread
    private let timer: LoadTimer?

    private typealias Work = @Sendable (LoadedKeeper) -> Void

    /// - Parameter shelfByteLimit: how much is held in memory alone.
    init(
        _ folder: StoreFolder, _ options: MirrorOptions, shelfByteLimit: Int, load: @escaping Load
    ) throws(ServerError) {
        policy = options.policy
        profile = options.profile
        clock = options.clock
        self.load = load
        timer = try options.patience.map { (time) throws(ServerError) in try LoadTimer(time) }
        let shelf = BodyShelf(byteLimit: shelfByteLimit)
        self.shelf = shelf
        let isOpen = Monitor(false)
        let queue = queue
        do throws(SystemError) {
            let (profile, sizeLimit) = (options.profile, options.sizeLimit)
            thread = try NamedThread.start("larder-load") {
                let keeper = LoadedKeeper(folder, profile: profile, shelf: shelf, sizeLimit: sizeLimit)
                keeper.open()
                isOpen.change { $0 = true }
                while let work = queue.next() { work(keeper) }
            }
            isOpen.wait { $0 ? () : nil }
        } catch {
            throw ServerError(error)
        }
    }

    var now: HTTPDate { clock() }

    /// The same. Where the server takes too long, it is taken for silent, and `otherwise` is called meanwhile.
    func run(
        _ job: LoadJob, otherwise: (@Sendable () -> Void)?, done: @escaping @Sendable (LoadedReply) -> Void
    ) {
        guard let timer, let otherwise else { return run(job, done: done) }
        let wait = timer.wait { [reach, clock] in
            reach.note(job.request.url.origin, answered: false, now: clock())
            otherwise()
        }
        run(job) { reply in
            timer.end(wait)
            done(reply)
        }
    }

    /// Calls `done` with what came of it, on the thread that made it.
    func run(_ job: LoadJob, done: @escaping @Sendable (LoadedReply) -> Void) {
        guard let key = job.flightKey else { return start(job, done: done) }
        let lead = Lead()
        flights.load(key) { reply in
            if lead.isTaken { return done(reply) }
            guard reply.isShared else { return self.start(job, done: done) }
            done(LoadedReply(answer: reply.answer))
        } by: { complete in
            lead.take()
            start(job, done: complete)
        }
    }

    /// Calls `done` with whether the server takes what is to follow.
    func ask(_ preflight: Preflight, done: @escaping @Sendable (Bool) -> Void) {
        load(preflight.request) { outcome in done(preflight.isPassed(by: outcome)) }
    }

    /// Whether somebody's own request is the one that the server is asked.
    private final class Lead: Sendable {
        private let flag = Atomic(false)

        var isTaken: Bool { flag.load(ordering: .acquiring) }

        func take() { flag.store(true, ordering: .releasing) }
    }

    private func start(_ job: LoadJob, done: @escaping @Sendable (LoadedReply) -> Void) {
        load(job.upstream) { outcome in
            let isAdded = self.queue.put { keeper in self.conclude(job, outcome, keeper, done: done) }
            if !isAdded { done(LoadedReply(answer: .text(504, "The larder is closing.\n"))) }
        }
    }

    private func conclude(
        _ job: LoadJob, _ outcome: LoadOutcome, _ keeper: LoadedKeeper,
        done: @escaping @Sendable (LoadedReply) -> Void
    ) {
        switch outcome {
        case .response: reach.note(job.request.url.origin, answered: true, now: now)
        case .failure: reach.note(job.request.url.origin, answered: false, now: now)
        }
        if let reply = keeper.conclude(job, outcome, now: now) {
            done(reply)
        } else {
            start(job.unconditional, done: done)
        }
    }

    /// Returns when what has come is kept. From any other thread, and as often as one likes.
    func stop() {
        queue.close()
        thread.join()
        timer?.stop()
    }
}
