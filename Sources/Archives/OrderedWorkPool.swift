internal import System

/// Runs jobs on several threads and returns their results in the order in which the jobs were added. Each thread has a
/// worker object of its own, such as a compressor, which its jobs reuse.
///
/// The thread that owns the pool calls all methods: it adds jobs until the pool is full, then takes results. Jobs reach
/// the threads through `jobs`, and each result comes back through the monitor of its slot.
final class OrderedWorkPool<Worker, Output: Sendable> {
    private struct Job: Sendable {
        let slot: Monitor<Output?>
        let work: @Sendable (Worker) -> Output
    }

    private let jobs = Inbox<Job>()
    private let threads: [NamedThread]
    /// The slots of all jobs whose results were not taken, from index `head` on.
    private var queue: [(slot: Monitor<Output?>, byteCount: Int)] = []
    private var head = 0
    private var queuedByteCount = 0

    /// The pool is full above this sum of input bytes. Bounds the memory of waiting inputs and results.
    private static var maxQueuedBytes: Int { 16 << 20 }
    /// The pool is full with this number of jobs.
    private static var maxQueuedJobs: Int { 256 }

    /// - Parameters:
    ///   - name: The prefix of the thread names. A number follows it.
    ///   - makeWorker: Creates the worker of a thread, on that thread. A thread without a worker ends. If all did, `next`
    ///     would wait forever, so the caller must have checked that it succeeds.
    init(
        threads count: Int, named name: String, _ makeWorker: @escaping @Sendable () -> Worker?
    ) throws(ArchiveError) {
        let jobs = jobs
        var threads: [NamedThread] = []
        do throws(SystemError) {
            for number in 1...max(1, count) {
                threads.append(
                    try NamedThread.start("\(name)-\(number)") {
                        guard let worker = makeWorker() else { return }
                        while let job = jobs.next() {
                            let output = job.work(worker)
                            job.slot.change { $0 = output }
                        }
                    })
            }
        } catch {
            jobs.close()
            throw ArchiveError(error)
        }
        self.threads = threads
    }

    deinit {
        jobs.close()
        for thread in threads { thread.join() }
    }

    /// Whether results should be taken before more jobs are added.
    var isFull: Bool { queue.count - head >= Self.maxQueuedJobs || queuedByteCount > Self.maxQueuedBytes }

    /// Whether all results were taken.
    var isEmpty: Bool { queue.count == head }

    /// Adds a job. Never blocks, even if the pool is full.
    ///
    /// - Parameter byteCount: The size of the input that `work` holds in memory.
    func add(_ byteCount: Int, _ work: @escaping @Sendable (Worker) -> Output) {
        let slot = Monitor<Output?>(nil)
        queue.append((slot, byteCount))
        queuedByteCount += byteCount
        jobs.put(Job(slot: slot, work: work))
    }

    /// Returns the result of the oldest job, after waiting until it is done. Returns nil if no job is left.
    func next() -> Output? {
        guard head < queue.count else { return nil }
        let (slot, byteCount) = queue[head]
        head += 1
        queuedByteCount -= byteCount
        // Removing the taken slots in batches keeps `next` fast.
        if head > Self.maxQueuedJobs {
            queue.removeFirst(head)
            head = 0
        }
        let output = slot.wait { $0 }
        // The slot stays in `queue` for a while and must not keep the result in memory.
        slot.change { $0 = nil }
        return output
    }
}
