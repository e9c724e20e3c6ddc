internal import Glibc

/// A value behind a lock, with the ability to wait until the value satisfies a condition.
///
/// `Mutex` of the standard library has no condition variable, so threads cannot wait for a change with it. All
/// closures run under the lock: they must be short and must not use the same monitor.
///
///     let queue = Monitor<[Job]>([])
///     queue.change { $0.append(job) }               // on one thread
///     let job = queue.wait { $0.popLast() }         // on another thread: blocks until there is a job
package final class Monitor<State>: @unchecked Sendable {
    // Every access to `state` holds `mutex`, which makes the class Sendable. Both C objects keep their
    // addresses for the lifetime of the class, as pthreads requires.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    package init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        // The monotonic clock: changes of the date must not affect timeouts.
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Calls `body` with the state and wakes all waiting threads.
    package func change<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&state)
    }

    /// Calls `body` now and after each change, until it returns a value. Returns nil if it returns none
    /// within `time`. Since `body` may change the state too, other waiting threads are woken afterwards.
    package func wait<Result>(atMost time: Duration, _ body: (inout State) -> Result?) -> Result? {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let (seconds, attoseconds) = time.components
        deadline.tv_sec += Int(seconds)
        deadline.tv_nsec += Int(attoseconds / 1_000_000_000)
        if deadline.tv_nsec >= 1_000_000_000 {
            deadline.tv_nsec -= 1_000_000_000
            deadline.tv_sec += 1
        }
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        while true {
            if let result = body(&state) { return result }
            if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT { return body(&state) }
        }
    }

    /// Calls `body` now and after each change, until it returns a value. Since `body` may change the state too,
    /// other waiting threads are woken afterwards.
    package func wait<Result>(_ body: (inout State) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }
}
