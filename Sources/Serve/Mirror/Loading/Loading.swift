internal import Glibc
internal import Store
internal import Web

/// Answers from servers, and keeps what they say. Any thread may ask; what comes is read, kept and made ready on a thread
/// of its own, which alone writes.
final class Loading: Sendable {
    /// What holds where neither the request nor a rule says otherwise.
    let policy: CachePolicy
    let profile: CacheProfile
    let reach = OriginReach()
    private let load: Load
    private let flights = SingleFlight<String, Answer>()
    private let queue: Gate<Queue>
    private let thread: Gate<NamedThread?>

    private struct Queue {
        var work: [@Sendable (LoadedKeeper) -> Void] = []
        var isClosed = false
    }

    init(
        _ folder: StoreFolder, policy: CachePolicy, profile: CacheProfile, load: @escaping Load
    ) throws(ServerError) {
        self.policy = policy
        self.profile = profile
        self.load = load
        let queue = Gate(Queue())
        self.queue = queue
        do throws(StoreError) {
            let started = try NamedThread.start("larder-load") {
                let keeper = LoadedKeeper(folder, profile: profile)
                while let work = Self.next(queue) { work(keeper) }
            }
            thread = Gate(started)
        } catch {
            throw ServerError(error)
        }
    }

    static var now: HTTPDate { HTTPDate(secondsSinceEpoch: Int64(time(nil))) }

    /// Calls `done` with the answer, on the thread that made it.
    func run(_ job: LoadJob, done: @escaping @Sendable (Answer) -> Void) {
        guard let key = job.flightKey else { return start(job, done: done) }
        flights.load(key, done: done) { complete in start(job, done: complete) }
    }

    private func start(_ job: LoadJob, done: @escaping @Sendable (Answer) -> Void) {
        let asked = ContinuousClock.now
        load(job.upstream) { outcome in
            let isAdded = self.queue.change { queue in
                guard !queue.isClosed else { return false }
                queue.work.append { keeper in
                    self.conclude(job, outcome, keeper, taking: ContinuousClock.now - asked, done: done)
                }
                return true
            }
            if !isAdded { done(.text(504, "The larder is closing.\n")) }
        }
    }

    private func conclude(
        _ job: LoadJob, _ outcome: LoadOutcome, _ keeper: LoadedKeeper, taking: Duration,
        done: @escaping @Sendable (Answer) -> Void
    ) {
        switch outcome {
        case .response: reach.note(job.request.url.origin, answered: true, now: Self.now)
        case .failure: reach.note(job.request.url.origin, answered: false, now: Self.now)
        }
        if let answer = keeper.conclude(job, outcome, now: Self.now) {
            done(answer)
        } else {
            start(job.unconditional, done: done)
        }
    }

    /// Returns when what has come is kept. From any other thread, and as often as one likes.
    func stop() {
        queue.change { $0.isClosed = true }
        thread.change { thread in
            thread?.join()
            thread = nil
        }
    }

    /// Nil when the queue is closed and empty.
    private static func next(_ queue: Gate<Queue>) -> (@Sendable (LoadedKeeper) -> Void)? {
        queue.wait { queue in
            guard !queue.work.isEmpty else { return queue.isClosed ? .some(nil) : nil }
            return queue.work.removeFirst()
        }
    }
}
