internal import Store
internal import System

/// Threads that scan. Jobs go in, results wait in an inbox, and `wake` tells the owner that some are there.
final class ScanPool: Sendable {
    private let jobs = Inbox<ScanJob>()
    private let results: Inbox<ScanResult>
    private let threads: [NamedThread]

    init(
        count: Int, worker: @escaping @Sendable () -> ScanWorker, wake: @escaping @Sendable () -> Void
    ) throws(StoreError) {
        let jobs = jobs
        let results = Inbox<ScanResult>(wake: wake)
        self.results = results
        var threads: [NamedThread] = []
        do throws(SystemError) {
            for number in 1...max(1, count) {
                threads.append(
                    try NamedThread.start("larder-scan-\(number)") {
                        let worker = worker()
                        while let job = jobs.next() { results.put(worker.run(job)) }
                    })
            }
        } catch {
            jobs.close()
            throw StoreError(error)
        }
        self.threads = threads
    }

    func add(_ job: ScanJob) {
        jobs.put(job)
    }

    func takeResults() -> [ScanResult] {
        results.takeAll()
    }

    /// Returns when every job is done and every thread has ended.
    func finish() {
        jobs.close()
        for thread in threads { thread.join() }
    }
}
