import Glibc

/// A value protected by a lock, with a function that waits until it satisfies a condition.
///
/// `Mutex` of Synchronization has no condition variable, and tests must not poll.
// @unchecked: `value` is accessed only while `lock` is locked, and the pthread objects are never moved.
final class Monitor<Value>: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    init(_ value: sending Value) {
        self.value = value
        lock = .allocate(capacity: 1)
        changed = .allocate(capacity: 1)
        precondition(pthread_mutex_init(lock, nil) == 0)
        var attributes = pthread_condattr_t()
        precondition(pthread_condattr_init(&attributes) == 0)
        precondition(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0)
        precondition(pthread_cond_init(changed, &attributes) == 0)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(lock)
        changed.deallocate()
        lock.deallocate()
    }

    /// Runs `body` while the lock is locked, and then wakes all waiting threads.
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(lock)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(lock)
        }
        return try body(&value)
    }

    /// Waits until `condition` is true. Returns false if it is not true within `limit`.
    @discardableResult
    func wait(_ limit: Duration, until condition: (Value) -> Bool) -> Bool {
        var deadline = timespec(after: limit)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while !condition(value) {
            if pthread_cond_timedwait(changed, lock, &deadline) == ETIMEDOUT { return condition(value) }
        }
        return true
    }
}

extension timespec {
    /// The time of the monotonic clock after `duration` from now.
    init(after duration: Duration) {
        self.init()
        clock_gettime(CLOCK_MONOTONIC, &self)
        let parts = duration.components
        tv_sec += Int(parts.seconds)
        tv_nsec += Int(parts.attoseconds / 1_000_000_000)
        if tv_nsec >= 1_000_000_000 {
            tv_sec += 1
            tv_nsec -= 1_000_000_000
        }
    }
}
