internal import Glibc
internal import Synchronization

/// A lock to be held for some hundred nanoseconds, which who serves a client only tries.
///
/// `Mutex` would do but for this: trying one that is taken costs both threads a call of the kernel.
struct TryLock: ~Copyable {
    private let isHeld = Atomic(false)
    /// Some hundred nanoseconds: a holder that is not done by then has lost its processor.
    private static let looks = 1000

    /// True when the caller holds it from here on. Never sleeps.
    func lockIfFree() -> Bool {
        for _ in 0..<Self.looks where !isHeld.load(ordering: .relaxed) {
            if !isHeld.exchange(true, ordering: .acquiring) { return true }
        }
        return false
    }

    /// For threads that nobody waits for.
    func lock() {
        while !lockIfFree() { sched_yield() }
    }

    func unlock() {
        isHeld.store(false, ordering: .releasing)
    }
}
