internal import Glibc

/// The kernel's clocks: those that tell the date, and a cheap one that nobody sets.
package enum SystemClock {
    /// Since 1970, right to a few milliseconds.
    package static func secondsSinceEpoch() -> Int64 { Int64(read(CLOCK_REALTIME_COARSE).tv_sec) }

    /// Since 1970, as exact as it gets.
    package static func microsecondsSinceEpoch() -> Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Since the machine started, right to a few milliseconds: enough for timeouts.
    package static func milliseconds() -> Int64 {
        let time = read(CLOCK_MONOTONIC_COARSE)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The same in seconds.
    package static func seconds() -> Int64 { milliseconds() / 1000 }

    /// Another one with each start of the machine; empty where it has none.
    package static let boot: String = {
        let file = try? File("/proc/sys/kernel/random/boot_id", O_RDONLY)
        let bytes = (try? file?.read(atMost: 64)) ?? []
        return String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }()

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}

/// The time since it was made.
package struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    package init() {}

    package var elapsed: Duration { ContinuousClock.now - start }
}
