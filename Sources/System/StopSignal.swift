internal import Glibc
internal import Synchronization

/// Tells all who wait for descriptors to stop, from any thread.
package final class StopSignal: Sendable {
    /// Readable once the signal is given; nobody reads it, so that each who waits sees it.
    package var descriptor: Int32 { pipe.reading }
    private let pipe: Pipe
    private let isGiven = Atomic(false)

    package init() throws(SystemError) {
        pipe = try Pipe(doing: "create", "a stop signal")
    }

    deinit {
        close(pipe.reading)
        close(pipe.writing)
    }

    package func give() {
        guard !isGiven.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // An empty pipe whose other end is open takes a byte.
        _ = write(pipe.writing, "!", 1)
    }

    /// Waits for it, but not longer than this. Whether it was given; an interrupted wait ends early.
    package func wait(milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, milliseconds) > 0
    }
}

/// Ends somebody's wait, from any thread.
package protocol Waker: AnyObject, Sendable {
    func wake()
}

/// Asks all who are at some work to stop soon, from any thread. They look between two steps, or are woken.
package final class Interruption: Sendable {
    private struct State {
        var isRequested = false
        var wakers: [any Waker] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isRequested: Bool { state.withLock { $0.isRequested } }

    package func request() {
        let (wakers, waiting) = state.withLock { state in
            state.isRequested = true
            defer { state.waiting = [] }
            return (state.wakers, state.waiting)
        }
        for waker in wakers { waker.wake() }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when it was requested, without holding a thread meanwhile.
    package func requested() async {
        await withCheckedContinuation { continuation in
            let isRequested = state.withLock { state in
                if !state.isRequested { state.waiting.append(continuation) }
                return state.isRequested
            }
            if isRequested { continuation.resume() }
        }
    }

    /// A request ends the wait of this one too.
    package func wakes(_ waker: any Waker) {
        state.withLock { $0.wakers.append(waker) }
    }

    /// Nobody waits there any more.
    package func forgets(_ waker: any Waker) {
        state.withLock { state in state.wakers.removeAll { $0 === waker } }
    }
}
