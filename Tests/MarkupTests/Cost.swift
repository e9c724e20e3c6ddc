import Glibc

/// Measures the CPU time of a thread, which does not depend on what else the machine is doing.
enum Cost {
    /// Whether four times the size costs less than ten times as much. Linear work costs four times, quadratic work
    /// sixteen times as much.
    ///
    /// Other processes affect the processor's caches, so that a bad measurement is repeated.
    static func isLinear(upTo size: Int, _ work: (Int) -> Void) -> Bool {
        (0..<5).contains { _ in
            let part = time { work(size / 4) }
            let whole = time { work(size) }
            return whole < max(part * 10, .milliseconds(5))
        }
    }

    private static func time(_ work: () -> Void) -> Duration {
        let start = now()
        work()
        return now() - start
    }

    private static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
