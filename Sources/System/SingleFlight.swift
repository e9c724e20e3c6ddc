internal import Synchronization

/// Combines simultaneous loads of the same key into one. All callers receive its outcome, be it a success or a
/// failure. Any thread may use it; no call blocks.
///
/// For example, three clients request an image that the store does not have: the first call starts a load from the
/// origin, the others wait for its outcome. Once a load is complete, the next call starts another one.
package final class SingleFlight<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
    package typealias Completion = @Sendable (Outcome) -> Void

    /// The callers of each load in progress. A key is present exactly while its load is in progress.
    private let waiting = Mutex<[Key: [Completion]]>([:])

    package init() {}

    /// The number of loads in progress.
    package var count: Int { waiting.withLock { $0.count } }

    /// Starts a load of the key by calling `load`, unless one is in progress.
    ///
    /// - Parameters:
    ///   - done: called once with the outcome, on the thread that completes the load.
    ///   - load: starts the load, and passes the outcome to its argument on any thread. Only the first
    ///     outcome counts.
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
            let completions = self.waiting.withLock { $0.removeValue(forKey: key) ?? [] }
            for done in completions { done(outcome) }
        }
    }

    /// Detects a second completion of a load, which would otherwise complete the next load of the same key.
    private final class Once: Sendable {
        private let isDone = Atomic(false)

        /// Returns true on the first call only.
        func isFirst() -> Bool { !isDone.exchange(true, ordering: .acquiringAndReleasing) }
    }
}
