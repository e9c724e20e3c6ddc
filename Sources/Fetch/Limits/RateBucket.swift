/// How many bytes may come: a bucket that fills at a rate. What was on its way already may overdraw it; the debt is
/// waited for, so that in the long run the rate is kept exactly.
struct RateBucket {
    private let bytesPerSecond: Double
    private var level: Double = 0
    private var filled: Duration

    /// What it holds at most: the part of a second that a quiet line may catch up with.
    private static let mostSeconds = 0.25

    init(bytesPerSecond: Int, now: Duration) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        filled = now
    }

    /// How long nothing more may come; zero when something may.
    mutating func wait(now: Duration) -> Duration {
        fill(now)
        return level >= 0 ? .zero : .seconds(-level / bytesPerSecond)
    }

    mutating func take(_ byteCount: Int, now: Duration) {
        fill(now)
        level -= Double(byteCount)
    }

    private mutating func fill(_ now: Duration) {
        level = min(bytesPerSecond * Self.mostSeconds, level + bytesPerSecond * ((now - filled) / .seconds(1)))
        filled = now
    }
}
