internal import Synchronization

/// Asks whoever turns a loop to stop soon, from any thread.
package final class Interruption: Sendable {
    private struct State {
        var isRequested = false
        var waker: FetchWaker?
    }

    private let state = Mutex(State())

    package init() {}

    package var isRequested: Bool { state.withLock { $0.isRequested } }

    package func request() {
        let waker = state.withLock { state in
            state.isRequested = true
            return state.waker
        }
        waker?.wake()
    }

    /// Whose wait a request ends; nil when nobody turns any more.
    package func wakes(_ waker: FetchWaker?) {
        state.withLock { $0.waker = waker }
    }
}
