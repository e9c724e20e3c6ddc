internal import Synchronization
internal import Web

/// The progress of a long operation.
public struct WorkProgress: Sendable, Equatable {
    /// The kind of the counted items.
    public enum Unit: String, Sendable, CaseIterable {
        case bodies, bundles, files, pages, responses
        /// No items: `byteCount` is the number of bytes in use.
        case diskSpace = "room"
    }

    /// The kind of the counted items.
    public let unit: Unit
    /// The number of finished items.
    public let done: Int
    /// The number of all items; nil if it is not known.
    public let total: Int?
    /// The number of processed bytes.
    public let byteCount: Int64

    package init(_ unit: Unit, done: Int, of total: Int?, byteCount: Int64 = 0) {
        self.unit = unit
        self.done = done
        self.total = total
        self.byteCount = byteCount
    }

    /// The progress as JSON, on one line.
    public var json: String { json(phase: nil) }

    /// The progress of one step as JSON, on one line.
    ///
    /// - Parameter phase: the name of the step, for work that counts its items once for each; nil for other work.
    public func json(phase: String?) -> String {
        let members: JSONMembers = [
            "event": "work", "phase": IfAny(phase), "unit": unit.rawValue, "done": done, "total": total,
            "bytes": byteCount,
        ]
        return members.text(.compact)
    }
}

/// Counts the finished work of several threads, and calls a progress function with the sums. May be used from any thread;
/// a lock protects the counts. The function is called outside the lock, so that a smaller count may arrive later.
package final class ProgressCounter: Sendable {
    private let unit: WorkProgress.Unit
    private let total: Int
    private let progress: (@Sendable (WorkProgress) -> Void)?
    private let state = Mutex((done: 0, byteCount: Int64(0)))

    package init(_ unit: WorkProgress.Unit, of total: Int, _ progress: (@Sendable (WorkProgress) -> Void)?) {
        self.unit = unit
        self.total = total
        self.progress = progress
    }

    /// Adds finished items and their bytes, and calls the progress function.
    package func add(_ count: Int = 1, byteCount: Int = 0) {
        guard let progress else { return }
        let (done, bytes) = state.withLock { state in
            state.done += count
            state.byteCount += Int64(byteCount)
            return state
        }
        progress(WorkProgress(unit, done: done, of: total, byteCount: bytes))
    }
}
