internal import Glibc

/// The kernel's clocks. Methods in seconds and milliseconds use its coarse clocks, which are cheap to read.
package enum SystemClock {
    /// The time since 1970 in seconds, which may lag by a few milliseconds.
    package static func secondsSinceEpoch() -> Int64 { Int64(read(CLOCK_REALTIME_COARSE).tv_sec) }

    /// The time since 1970 in microseconds, with the full precision of the clock.
    package static func microsecondsSinceEpoch() -> Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The time since the machine started, which may lag by a few milliseconds. Changes of the date do not
    /// affect it, so it is suitable for timeouts.
    package static func milliseconds() -> Int64 {
        let time = read(CLOCK_MONOTONIC_COARSE)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The time since the machine started, in seconds.
    package static func seconds() -> Int64 { milliseconds() / 1000 }

    /// A random ID that changes each time the machine starts; empty if the kernel does not provide it. Times of
    /// the monotonic clock are comparable only within one boot.
    package static let bootID: String = {
        let file = try? File("/proc/sys/kernel/random/boot_id", O_RDONLY)
        let bytes = (try? file?.read(atMost: 64)) ?? []
        return String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }()

    /// The difference between local time and UTC at a time, in seconds.
    package static func utcOffset(at secondsSinceEpoch: Int64) -> Int64 {
        var time = time_t(secondsSinceEpoch)
        var local = tm()
        return localtime_r(&time, &local) == nil ? 0 : Int64(local.tm_gmtoff)
    }

    /// The last second of a day in local time.
    ///
    /// - Parameter midnight: the time at which the day begins in UTC.
    package static func endOfDay(from midnight: Int64) -> Int64 {
        let end = midnight + 86_399
        // The difference to UTC may change during the day.
        return end - utcOffset(at: end - utcOffset(at: end))
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}

/// Measures the time since its creation.
package struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    package init() {}

    package var elapsed: Duration { ContinuousClock.now - start }
}
