/// How long one client is waited for. A pure value: what it does goes in, with the time in milliseconds.
struct Patience {
    enum Waiting: Equatable {
        /// For it to ask for something.
        case request
        /// For the rest of a head.
        case head
        /// For the rest of a body.
        case body
        /// For our own answer, which has its own patience.
        case answer
        /// For it to take its answers.
        case taking
        /// For its end, which it was told.
        case end
    }

    private(set) var waiting = Waiting.request
    private var start: Int64
    private var lastProgress: Int64
    private var byteCount = 0

    init(now: Int64) {
        start = now
        lastProgress = now
    }

    /// Goes on with what it waits for, or begins with something else.
    mutating func wait(for waiting: Waiting, now: Int64) {
        guard self.waiting != waiting else { return }
        self.waiting = waiting
        (start, lastProgress, byteCount) = (now, now, 0)
    }

    /// The wait for the same begins anew.
    mutating func restart(now: Int64) {
        (start, lastProgress, byteCount) = (now, now, 0)
    }

    mutating func progressed(by count: Int, now: Int64) {
        guard count > 0 else { return }
        byteCount += count
        lastProgress = now
    }

    func isExhausted(now: Int64, _ limits: ServerLimits, isCrowded: Bool = false) -> Bool {
        switch waiting {
        case .request: now - start > (isCrowded ? limits.crowdedIdleTime : limits.idleTime)
        case .head: now - start > limits.headTime
        case .answer: false
        case .end: now - start > limits.lingerTime
        case .body, .taking:
            // Standing still, or so slow that it is as good as that.
            now - lastProgress > limits.stallTime
                || now - start > limits.stallTime + Int64(byteCount) * 1000 / max(1, limits.leastRate)
        }
    }
}
