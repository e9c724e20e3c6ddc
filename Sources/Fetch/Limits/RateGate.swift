/// The rate of a loop, as its transfers meet it: each asks before it takes what libcurl has read, and waits while there
/// is debt. Only the loop's thread uses it.
final class RateGate {
    private let clock = ContinuousClock()
    private let started: ContinuousClock.Instant
    private var bucket: RateBucket

    init(bytesPerSecond: Int) {
        started = clock.now
        bucket = RateBucket(bytesPerSecond: bytesPerSecond, now: .zero)
    }

    /// How long nothing more may be taken; zero when something may.
    var wait: Duration { bucket.wait(now: clock.now - started) }

    var isOpen: Bool { wait == .zero }

    func take(_ byteCount: Int) { bucket.take(byteCount, now: clock.now - started) }
}
