internal import Synchronization
package import Web

/// How far some longer work is.
public struct WorkProgress: Sendable, Equatable {
    public enum Unit: String, Sendable, CaseIterable {
        case bodies, bundles, pages, responses
        /// Nothing is counted: the bytes are what is in use by now.
        case room
    }

    public let unit: Unit
    public let done: Int
    /// Nil where nobody knows how much there is.
    public let total: Int?
    public let byteCount: Int64

    package init(_ unit: Unit, done: Int, of total: Int?, byteCount: Int64 = 0) {
        self.unit = unit
        self.done = done
        self.total = total
        self.byteCount = byteCount
    }

    /// One line for programs.
    public var json: String { members.text(.compact) }
}

/// Counts what threads do side by side. Nothing is counted when nobody wants to know.
package final class WorkTally: Sendable {
    private let unit: WorkProgress.Unit
    private let total: Int
    private let progress: (@Sendable (WorkProgress) -> Void)?
    private let state = Mutex((done: 0, byteCount: Int64(0)))

    package init(_ unit: WorkProgress.Unit, of total: Int, _ progress: (@Sendable (WorkProgress) -> Void)?) {
        self.unit = unit
        self.total = total
        self.progress = progress
    }

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

extension WorkProgress: JSONObject {
    package var members: JSONMembers {
        ["event": "work", "unit": unit.rawValue, "done": done, "total": total, "bytes": byteCount]
    }
}
