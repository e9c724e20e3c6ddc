/// How many requests one host gets at once. It starts gently, doubles while nothing objects, and halves when the host
/// refuses or fails.
struct HostPace: Sendable, Equatable {
    private(set) var limit: Int
    private(set) var runningCount = 0
    private let highest: Int
    private var successes = 0

    init(initial: Int = 4, highest: Int) {
        self.highest = max(1, highest)
        limit = min(initial, self.highest)
    }

    var mayStart: Bool { runningCount < limit }

    mutating func started() {
        runningCount += 1
    }

    mutating func answered() {
        runningCount -= 1
        successes += 1
        guard successes >= limit else { return }
        limit = min(highest, limit * 2)
        successes = 0
    }

    /// Another source answered in place of the host, which says nothing of its pace.
    mutating func recalled() {
        runningCount -= 1
    }

    /// The host refused (429, 503), failed, or could not be reached.
    mutating func objected() {
        runningCount -= 1
        limit = max(1, limit / 2)
        successes = 0
    }
}
