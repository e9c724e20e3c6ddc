internal import System

/// The rate of a loop, as its transfers meet it: each asks before it takes what libcurl has read, and waits while there
/// is debt. Only the loop's thread uses it.
final class RateGate {
    private let age = Stopwatch()
    private var bucket: RateBucket

    init(bytesPerSecond: Int) {
        bucket = RateBucket(bytesPerSecond: bytesPerSecond, now: .zero)
    }

    /// How long nothing more may be taken; zero when something may.
    var wait: Duration { bucket.wait(now: age.elapsed) }

    var isOpen: Bool { wait == .zero }

    func take(_ byteCount: Int) { bucket.take(byteCount, now: age.elapsed) }
}
