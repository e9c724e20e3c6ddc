/// How many bytes a second all transfers together may take: a bucket of tokens. What came in too fast is waited for
/// afterwards.
struct RateLimit: Sendable, Equatable {
    let bytesPerSecond: Int
    /// Negative when more came than was allowed.
    private var balance: Double
    private var filled: Duration = .zero

    /// What was not used is kept for so many seconds.
    private static let burst = 0.25

    /// At least one byte a second.
    init(bytesPerSecond: Int) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        balance = Double(self.bytesPerSecond) * Self.burst
    }

    mutating func consumed(_ byteCount: Int, now: Duration) {
        fill(now: now)
        balance -= Double(byteCount)
    }

    /// How long nothing more may be read; zero when something may.
    mutating func pause(now: Duration) -> Duration {
        fill(now: now)
        return balance < 0 ? .seconds(-balance / Double(bytesPerSecond)) : .zero
    }

    /// A time before the last one changes nothing.
    private mutating func fill(now: Duration) {
        guard now > filled else { return }
        let capacity = Double(bytesPerSecond) * Self.burst
        balance = min(capacity, balance + Double(bytesPerSecond) * ((now - filled) / .seconds(1)))
        filled = now
    }
}
