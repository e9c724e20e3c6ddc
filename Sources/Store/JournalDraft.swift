internal import Database
internal import Glibc
internal import Synchronization
internal import System

/// A new journal that a separate thread writes while the database is compacted.
final class JournalDraft {
    private let thread: NamedThread
    private let output: Output
    private var isFinished = false

    /// The path of the file, or the error that prevented it. The thread sets it once.
    private final class Output: Sendable {
        let result = Mutex<Result<String, StoreError>?>(nil)
    }

    init(
        of folder: StoreFolder, _ write: @escaping @Sendable (Journal) throws(StoreError) -> Void
    ) throws(StoreError) {
        let output = Output()
        self.output = output
        thread = try StoreError.wrapping { () throws(SystemError) in
            try NamedThread.start("larder-journal") {
                let result = Result { () throws(StoreError) in try Journal.draft(in: folder, write) }
                output.result.withLock { $0 = result }
            }
        }
    }

    /// Waits until the file is complete or has failed.
    func finish() {
        if !isFinished { thread.join() }
        isFinished = true
    }

    /// Waits until the file is complete, and returns its path.
    func wait() throws(StoreError) -> String? {
        finish()
        return try output.result.withLock { $0 }?.get()
    }

    /// Waits until the file is complete, and removes it.
    func discard() {
        finish()
        if case .success(let path) = output.result.withLock({ $0 }) { unlink(path) }
    }
}
