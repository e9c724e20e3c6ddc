/// When something that failed is asked for again: a little later each time, and not for ever.
struct RetryPlan: Sendable, Equatable {
    var attempts = 3
    var firstDelay: Duration = .milliseconds(500)

    /// Nil when enough was tried. `attempt` counts from 1.
    func delay(afterAttempt attempt: Int) -> Duration? {
        attempt < attempts ? firstDelay * (1 << min(attempt - 1, 10)) : nil
    }
}
