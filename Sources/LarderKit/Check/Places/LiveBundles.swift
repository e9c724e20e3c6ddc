internal import Bundles
internal import Fetch
internal import Store
internal import Synchronization
internal import Web

/// Fetches bundles side by side, and hashes them on threads of its own while others come.
struct LiveBundles {
    private struct Job {
        let number: Int
        let body: FetchedBody
    }

    private struct Queue {
        var jobs: [Job] = []
        var isClosed = false
    }

    private let queue = Gate(Queue())
    private let found: Found
    private let threads: [NamedThread]

    /// Bodies that wait to be hashed; then the network waits.
    private static let mostWaiting = 16

    /// - Parameter good: a body of the bundle with this number that was found to match elsewhere.
    private init(_ targets: [CheckTarget], good: @escaping @Sendable (Int) -> Examination.GoodBody?) throws(StoreError)
    {
        let found = Found(targets.count)
        self.found = found
        var threads: [NamedThread] = []
        for number in 1...max(1, min(Machine.coreCount, targets.count)) {
            threads.append(
                try NamedThread.start("larder-hash-\(number)") { [queue] in
                    while let job = Self.next(queue) {
                        let content = BodyContent(job.body)
                        var examination = Examination(of: content, as: targets[job.number].bundle)
                        if case .mismatch = examination.finding.verdict, let good = good(job.number) {
                            examination.compare(content, with: good)
                        }
                        job.body.discard()
                        found.put(job.number, examination)
                    }
                })
        }
        self.threads = threads
    }

    /// Nil for what an interruption left undone. Blocks.
    ///
    /// - Parameter base: its place in the targets' URLs.
    static func examine(
        _ targets: [CheckTarget], base: Int, _ interruption: Interruption, _ tally: WorkTally,
        good: @escaping @Sendable (Int) -> Examination.GoodBody?
    ) throws(LarderError) -> [Examination?] {
        let team: LiveBundles
        do throws(StoreError) {
            team = try LiveBundles(targets, good: good)
        } catch {
            throw LarderError(error)
        }
        var stopped: LarderError?
        let outcome = Result { () throws(FetchFailure) in
            try FetchBatch.run(
                targets.map { $0.urls[base] }, options: .forReading, interruption: interruption
            ) { number, outcome in
                tally.add()
                switch outcome {
                case .failure(let failure) where failure.kind == .machine:
                    // It says nothing about the bundle, and would go on for all the others.
                    stopped = stopped ?? LarderError(failure, fetching: targets[number].urls[base])
                    interruption.request()
                case .failure(let failure):
                    team.found.put(number, .missing(failure.description))
                case .success(let body):
                    team.add(Job(number: number, body: body))
                }
            }
        }
        team.finish()
        if let stopped { throw stopped }
        if case .failure(let failure) = outcome { throw LarderError(failure) }
        return team.found.all
    }

    private func add(_ job: Job) {
        queue.wait { queue -> Void? in
            guard queue.jobs.count < Self.mostWaiting else { return nil }
            queue.jobs.append(job)
            return ()
        }
    }

    /// Returns when everything is hashed.
    private func finish() {
        queue.change { $0.isClosed = true }
        for thread in threads { thread.join() }
    }

    /// Nil when nothing is left and nothing more comes.
    private static func next(_ queue: Gate<Queue>) -> Job? {
        queue.wait { queue -> Job?? in
            if !queue.jobs.isEmpty { return .some(queue.jobs.removeFirst()) }
            return queue.isClosed ? .some(nil) : nil
        }
    }

    private final class Found: Sendable {
        private let examinations: Mutex<[Examination?]>

        init(_ count: Int) {
            examinations = Mutex([Examination?](repeating: nil, count: count))
        }

        func put(_ number: Int, _ examination: Examination) {
            examinations.withLock { $0[number] = examination }
        }

        var all: [Examination?] { examinations.withLock { $0 } }
    }
}
