internal import Fetch
internal import Synchronization

/// Asks a crawl to stop soon, from any thread. It then keeps what it has and reports.
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

    func wakes(_ waker: FetchWaker?) {
        state.withLock { $0.waker = waker }
    }
}
