/// How fast a host answers lately, beside the best that it did.
struct Latency: Sendable, Equatable {
    enum Judgement {
        case low, raised, high
    }

    /// A mean in which the latest answers count most; nil before the first one.
    private(set) var recent: Duration?
    /// The lowest that the mean has been.
    private(set) var best: Duration?
    private var answers = 0

    /// Faster is never slow: on the machine itself latencies are all noise.
    static let negligible: Duration = .milliseconds(50)
    private static let answersToTell = 16
    /// The mean is over about so many answers.
    private static let memory = 32
    /// One answer that takes for ever is no trend: it counts as so many times the mean at most.
    private static let outlier = 4

    /// Twice the best is high, half as much again is raised.
    var judgement: Judgement {
        guard let recent, let best, answers >= Self.answersToTell, recent > Self.negligible else { return .low }
        if recent > best * 2 { return .high }
        return recent * 2 > best * 3 ? .raised : .low
    }

    mutating func add(_ latency: Duration) {
        answers = min(answers + 1, Self.memory)
        let mean = recent ?? latency
        let counted = min(latency, max(mean, Self.negligible) * Self.outlier)
        let next = mean + (counted - mean) / answers
        recent = next
        if answers >= Self.answersToTell { best = min(best ?? next, next) }
    }

    /// The pace changed: what was measured before does not tell about it.
    mutating func forgetRecent() {
        recent = nil
        answers = 0
    }

    /// The best is from now on what is.
    mutating func accept() {
        best = recent
    }
}
