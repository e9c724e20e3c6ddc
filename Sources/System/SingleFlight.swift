internal import Synchronization

/// One load per key at a time, whoever asks: those who ask while it is under way share its outcome, be it an
/// answer or a failure. May be used from any thread; nobody waits.
package final class SingleFlight<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
    package typealias Completion = @Sendable (Outcome) -> Void

    private let waiting = Mutex<[Key: [Completion]]>([:])

    package init() {}

    /// How many loads are under way.
    package var count: Int { waiting.withLock { $0.count } }

    /// Calls `done` once with the outcome of the load that is under way, on the thread that completes it.
    /// When none is, `load` is called at once; it completes on whichever thread, and further completions
    /// count for nothing.
    package func load(_ key: Key, done: @escaping Completion, by load: (@escaping Completion) -> Void) {
        let isFirst = waiting.withLock { waiting in
            var isFirst = false
            func begin() -> [Completion] {
                isFirst = true
                return []
            }
            waiting[key, default: begin()].append(done)
            return isFirst
        }
        guard isFirst else { return }
        let once = Once()
        load { outcome in
            guard once.isFirst() else { return }
            let sharers = self.waiting.withLock { $0.removeValue(forKey: key) ?? [] }
            for done in sharers { done(outcome) }
        }
    }

    /// A load that completes twice must not complete the next one of its key.
    private final class Once: Sendable {
        private let isSpent = Atomic(false)

        func isFirst() -> Bool { !isSpent.exchange(true, ordering: .acquiringAndReleasing) }
    }
}
