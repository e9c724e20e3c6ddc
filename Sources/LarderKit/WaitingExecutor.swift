internal import Synchronization
internal import System

/// Runs the jobs of one task on the thread that waits for the task. Otherwise a portal job would block a thread of Swift's
/// pool, which has only one per core, for as long as a prefetch takes.
///
/// Executors are reused and never freed: the runtime holds no reference while it enqueues a job, and may still be in
/// that call when the job has run and its task has ended.
final class WaitingExecutor: TaskExecutor {
    private enum Turn: Sendable {
        case job(UnownedJob)
        case done
    }

    private let turns = Inbox<Turn>()
    private static let idle = Mutex<[WaitingExecutor]>([])

    static func acquire() -> WaitingExecutor { idle.withLock { $0.popLast() } ?? WaitingExecutor() }

    func release() { Self.idle.withLock { $0.append(self) } }

    func enqueue(_ job: consuming ExecutorJob) { turns.put(.job(UnownedJob(job))) }

    /// Runs jobs until `finish` is called.
    func work() {
        while case .job(let job)? = turns.next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Makes `work` return. Called when the task has ended.
    func finish() { turns.put(.done) }
}
