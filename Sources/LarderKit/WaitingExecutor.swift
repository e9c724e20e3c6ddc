internal import Synchronization
internal import System

/// Runs the jobs of one task on the thread that waits for it.
///
/// Whoever enqueues a job holds no reference, and may still be about it when the job has run and its task has
/// ended: none is ever let go, and each is used again.
final class WaitingExecutor: TaskExecutor {
    private enum Turn: Sendable {
        case job(UnownedJob)
        case done
    }

    private let turns = Inbox<Turn>()
    private static let idle = Mutex<[WaitingExecutor]>([])

    static func take() -> WaitingExecutor { idle.withLock { $0.popLast() } ?? WaitingExecutor() }

    func giveBack() { Self.idle.withLock { $0.append(self) } }

    func enqueue(_ job: consuming ExecutorJob) { turns.put(.job(UnownedJob(job))) }

    /// Returns when the task has said that it is done.
    func work() {
        while case .job(let job)? = turns.next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    func finish() { turns.put(.done) }
}
