internal import Store
internal import Synchronization

/// Threads that scan. Jobs go in, results wait in a mailbox, and `wake` tells the owner that some are there.
final class ScanPool: Sendable {
    private struct Queue {
        /// Nil where a thread has taken it, so that its body goes when the thread is done with it.
        var jobs: [ScanJob?] = []
        var head = 0
        var isClosed = false
    }

    private let queue = Gate(Queue())
    private let mailbox: Mailbox
    private let threads: [NamedThread]

    init(
        count: Int, worker: @escaping @Sendable () -> ScanWorker, wake: @escaping @Sendable () -> Void
    ) throws(StoreError) {
        let queue = queue
        let mailbox = Mailbox(wake: wake)
        self.mailbox = mailbox
        var threads: [NamedThread] = []
        for number in 1...max(1, count) {
            threads.append(
                try NamedThread.start("larder-scan-\(number)") {
                    let worker = worker()
                    while let job = Self.next(queue) { mailbox.put(worker.run(job)) }
                })
        }
        self.threads = threads
    }

    func add(_ job: ScanJob) {
        queue.change { $0.jobs.append(job) }
    }

    func takeResults() -> [ScanResult] {
        mailbox.takeAll()
    }

    /// Returns when every job is done and every thread has ended.
    func finish() {
        queue.change { $0.isClosed = true }
        for thread in threads { thread.join() }
    }

    /// Nil when the pool is closed and nothing is left.
    private static func next(_ queue: Gate<Queue>) -> ScanJob? {
        queue.wait { queue in
            guard queue.head < queue.jobs.count else {
                queue.jobs.removeAll(keepingCapacity: true)
                queue.head = 0
                return queue.isClosed ? .some(nil) : nil
            }
            defer { queue.head += 1 }
            return .some(queue.jobs[queue.head].take())
        }
    }

    private final class Mailbox: Sendable {
        private let results = Mutex<[ScanResult]>([])
        private let wake: @Sendable () -> Void

        init(wake: @escaping @Sendable () -> Void) {
            self.wake = wake
        }

        /// Only the first result of a batch wakes the owner, who takes them all.
        func put(_ result: ScanResult) {
            let isFirst = results.withLock { results in
                results.append(result)
                return results.count == 1
            }
            if isFirst { wake() }
        }

        func takeAll() -> [ScanResult] {
            results.withLock { results in
                defer { results = [] }
                return results
            }
        }
    }
}
