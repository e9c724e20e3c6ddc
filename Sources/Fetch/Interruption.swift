internal import Synchronization

/// Asks all who turn a loop to stop soon, from any thread.
package final class Interruption: Sendable {
    private struct State {
        var isRequested = false
        var wakers: [FetchWaker] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isRequested: Bool { state.withLock { $0.isRequested } }

    package func request() {
        let wakers = state.withLock { state in
            state.isRequested = true
            return state.wakers
        }
        for waker in wakers { waker.wake() }
    }

    /// A request ends the wait of this one too.
    package func wakes(_ waker: FetchWaker) {
        state.withLock { $0.wakers.append(waker) }
    }

    /// Nobody turns its loop any more.
    package func forgets(_ waker: FetchWaker) {
        state.withLock { state in state.wakers.removeAll { $0 === waker } }
    }
}
