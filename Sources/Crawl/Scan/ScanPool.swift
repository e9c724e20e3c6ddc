internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import System
internal import Web

/// A pool of threads that scan responses. Jobs are taken in order, results wait in an inbox, and `wake` is
/// called on a pool thread when the inbox is no longer empty. All methods may be called on any thread.
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

    /// Starts the threads for a crawl.
    convenience init(
        _ plan: CrawlPlan, _ writes: WriteQueue, _ linkNumbers: LinkNumberCache,
        _ replacements: ReplacementGuard?, _ waker: FetchWaker
    ) throws(StoreError) {
        let (folder, rules, directivePolicy) = (plan.folder, plan.rules, plan.sitePlan.directivePolicy)
        let (productToken, willStore) = (plan.productToken, plan.willStore)
        let (findsActions, maxLinks) = (plan.hasSession, plan.maxLinksPerDocument)
        let steadySince = plan.sitePlan.render?.steadySince
        let media = plan.sitePlan.media ?? .standard
        try self.init(count: plan.scanThreads) {
            ScanWorker(
                folder, writes: writes, rules: rules, directivePolicy: directivePolicy, memory: linkNumbers,
                productToken: productToken, findsActions: findsActions, media: media, willStore: willStore,
                steadySince: steadySince, maxLinks: maxLinks, replacements: replacements)
        } wake: {
            waker.wake()
        }
    }

    /// Queues a job.
    func add(_ job: ScanJob) {
        jobs.put(job)
    }

    /// Removes and returns the results so far. Does not block.
    func takeResults() -> [ScanResult] {
        results.takeAll()
    }

    /// Waits until all jobs are done and all threads have ended. No job may be added afterwards.
    func finish() {
        jobs.close()
        for thread in threads { thread.join() }
    }
}
