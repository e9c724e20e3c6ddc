internal import Glibc
internal import Synchronization

/// A stop signal for threads that wait on descriptors with `poll` or `epoll`. Any thread may give the signal, and
/// nothing resets it.
package final class StopSignal: Sendable {
    /// A descriptor that becomes readable when the signal is given. The byte is never read, so that all
    /// waiting threads see it.
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

    /// Gives the signal. Further calls have no effect.
    package func give() {
        guard !isGiven.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // This cannot block: the pipe is empty and its reading end is open.
        _ = write(pipe.writing, "!", 1)
    }

    /// Waits for the signal for a limited time, or forever if the time is negative. Returns whether it was given.
    /// A POSIX signal can end the wait early.
    package func wait(milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, milliseconds) > 0
    }
}

/// Wakes a waiting thread. Any thread may call it.
package protocol Waker: AnyObject, Sendable {
    func wake()
}

/// A request to stop a piece of work, such as a crawl after Ctrl-C. Any thread may make the request, and nothing
/// resets it.
///
/// The work polls `isRequested` between its steps. Threads that block, for example in `epoll_wait`, register a
/// `Waker`, and tasks await `waitForRequest()`.
package final class Interruption: Sendable {
    /// The state under the lock. No waker is called and no task is resumed under the lock.
    private struct State {
        var isRequested = false
        var wakers: [any Waker] = []
        /// Tasks in `waitForRequest()`; empty once the request is made.
        var waitingTasks: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isRequested: Bool { state.withLock { $0.isRequested } }

    /// Makes the request and wakes all registered wakers and awaiting tasks.
    package func request() {
        let (wakers, waitingTasks) = state.withLock { state in
            state.isRequested = true
            defer { state.waitingTasks = [] }
            return (state.wakers, state.waitingTasks)
        }
        for waker in wakers { waker.wake() }
        for task in waitingTasks { task.resume() }
    }

    /// Suspends the current task until the request is made. Does not block a thread.
    package func waitForRequest() async {
        await withCheckedContinuation { continuation in
            let isRequested = state.withLock { state in
                if !state.isRequested { state.waitingTasks.append(continuation) }
                return state.isRequested
            }
            if isRequested { continuation.resume() }
        }
    }

    /// Registers an object to be woken by a later request, and retains it until `removeWaker` is called. If the
    /// request has already been made, the object is not woken, so callers check `isRequested` afterwards.
    package func addWaker(_ waker: any Waker) {
        state.withLock { $0.wakers.append(waker) }
    }

    /// Removes a registered waker.
    package func removeWaker(_ waker: any Waker) {
        state.withLock { state in state.wakers.removeAll { $0 === waker } }
    }
}
