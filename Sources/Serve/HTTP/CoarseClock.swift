// Both modules read the header that has `timespec`, and which of them it counts to depends on the order of the build.
internal import CLinux
internal import Glibc

/// The kernel's cheap clock, right to a few milliseconds: enough for timeouts.
enum CoarseClock {
    /// Seconds since the machine started.
    static func seconds() -> Int64 { milliseconds() / 1000 }

    /// Milliseconds since the machine started.
    static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Seconds since 1970.
    static func secondsSinceEpoch() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Int64(time.tv_sec)
    }
}
