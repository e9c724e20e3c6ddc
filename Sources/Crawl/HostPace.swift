internal import Fetch

/// How many requests one host gets at once, and when.
///
/// It starts gently, doubles with each round of answers while nothing objects and the latency holds, and
/// halves when the host refuses or fails. Where it had to give way it comes back step by step, more slowly
/// each time, so that a host is not asked again and again for more than it wants to give. A host that does
/// not answer at all is asked once in a while.
///
/// A round is as many answers as run at once. What was asked before the last change for the worse says
/// nothing about what holds since, and counts for nothing.
struct HostPace: Sendable, Equatable {
    private(set) var limit: Int
    private(set) var runningCount = 0
    private(set) var highest: Int
    /// Below it the limit doubles, from there on it takes steps.
    private var threshold: Int
    private var latency = Latency()
    /// Answers of this round.
    private var answers = 0
    /// Rounds without an objection since the last change, and how many of them allow a step.
    private var cleanRounds = 0
    private var patience = 1
    /// Objections to what was asked after the last one was heeded, without an answer between.
    private(set) var objectionsInARow = 0
    private var lastCut: Duration?
    private var lastStart: Duration?
    private var startBefore: Duration?
    private var pausedUntil: Duration?
    /// Between two starts, as robots.txt asks for; zero for none.
    private var distance: Duration = .zero

    /// No host is waited for longer than this, whatever its Retry-After says.
    static let longestPause: Duration = .seconds(300)
    private static let firstPause: Duration = .milliseconds(250)
    private static let longestOwnPause: Duration = .seconds(30)
    /// A host that fails once in a while is not paused for that; one that fails again at half the pace is.
    private static let objectionsWithoutPause = 2
    private static let objectionsUntilHopeless = 14
    /// Whoever asks for a longer pause than it gets counts as so many that fail.
    private static let objectionsOfLongWait = 4
    /// Latency is no reason to ask for less than this at once.
    private static let leastForLatency = 2
    private static let mostPatience = 64
    /// On one connection that takes many, where each round trip of fewer would be for nothing.
    private static let firstStreams = 32

    init(initial: Int = 4, highest: Int) {
        self.highest = max(1, highest)
        limit = min(max(1, initial), self.highest)
        threshold = self.highest
    }

    /// It has objected for about three minutes, and answered nothing.
    var isHopeless: Bool { objectionsInARow >= Self.objectionsUntilHopeless }

    /// How many may start now.
    func mayStart(now: Duration) -> Int {
        guard runningCount < limit else { return 0 }
        if let pausedUntil, now < pausedUntil { return 0 }
        guard distance > .zero else { return limit - runningCount }
        if let lastStart, now < lastStart + distance { return 0 }
        return runningCount == 0 ? 1 : 0
    }

    /// When the next may start, which may be past already; nil when an answer has to come first.
    var nextStart: Duration? {
        guard runningCount < limit, distance == .zero || runningCount == 0 else { return nil }
        let spaced = distance > .zero ? lastStart.map { $0 + distance } : nil
        return max(pausedUntil ?? .zero, spaced ?? .zero)
    }

    mutating func started(now: Duration) {
        runningCount += 1
        startBefore = lastStart
        lastStart = now
    }

    /// The host answered, be it that there is no such thing. `latency` is the time from the start to the
    /// answer's first byte; nil when nobody measured it.
    mutating func answered(after latency: Duration?, now: Duration) {
        runningCount -= 1
        guard isOfThisRound(latency, now: now) else { return }
        objectionsInARow = 0
        if let latency { self.latency.add(latency) }
        answers += 1
        guard answers >= limit else { return }
        answers = 0
        endRound(now: now)
    }

    /// Another source answered in place of the host, which says nothing of its pace; and need not be left alone for
    /// that.
    mutating func recalled() {
        runningCount -= 1
        lastStart = startBefore
    }

    /// It ended without a word of the host.
    mutating func ended() {
        runningCount -= 1
    }

    /// The host refused (429, 503), failed, or could not be reached; `retryAfter` is what its answer asks
    /// for. One that does not count is the fault of an URL: less is asked for at once, and nothing is held
    /// back.
    mutating func objected(
        after latency: Duration?, retryAfter: Duration? = nil, counts: Bool = true, now: Duration
    ) {
        runningCount -= 1
        if let retryAfter { pause(until: now + min(retryAfter, Self.longestPause)) }
        guard isOfThisRound(latency, now: now) else { return }
        // Only the first one of a row tells how much was too much: a host that is gone says nothing about
        // that.
        if objectionsInARow == 0 {
            threshold = max(1, limit * 3 / 4)
            patience = min(patience * 2, Self.mostPatience)
        }
        guard counts else { return cut(to: limit / 2, now: now) }
        let asksForTooLong = retryAfter.map { $0 > Self.longestPause } ?? false
        objectionsInARow += asksForTooLong ? Self.objectionsOfLongWait : 1
        cut(to: limit / 2, now: now)
        let pauses = objectionsInARow - Self.objectionsWithoutPause
        if pauses > 0 {
            pause(until: now + min(Self.firstPause * (1 << min(pauses - 1, 16)), Self.longestOwnPause))
        }
    }

    /// A distance between starts means one request at a time.
    mutating func keep(distance: Duration) {
        self.distance = max(.zero, distance)
    }

    /// The host turned out to bear more at once than was known: it speaks HTTP/2, or answers one behind the other. One that has objected to
    /// nothing is asked for more right away.
    mutating func widen(to highest: Int) {
        guard highest > self.highest else { return }
        if threshold == self.highest { threshold = highest }
        self.highest = highest
        if lastCut == nil { limit = max(limit, min(highest, Self.firstStreams)) }
    }

    /// It bears no more than that after all.
    mutating func narrow(to highest: Int) {
        guard highest < self.highest else { return }
        self.highest = highest
        limit = min(limit, highest)
        threshold = min(threshold, highest)
    }

    /// What was asked before the last cut was asked at another pace.
    private func isOfThisRound(_ latency: Duration?, now: Duration) -> Bool {
        guard let lastCut, let latency else { return true }
        return now - latency >= lastCut
    }

    private mutating func endRound(now: Duration) {
        switch latency.judgement {
        case .high where limit > Self.leastForLatency:
            threshold = max(Self.leastForLatency, limit * 3 / 4)
            patience = min(patience * 2, Self.mostPatience)
            cut(to: threshold, now: now)
        case .high:
            // So little cannot be what makes it slow: it is slow, and that is what to compare with from now
            // on.
            latency.accept()
            threshold = highest
            patience = 1
        case .raised:
            cleanRounds = 0
        case .low:
            cleanRounds += 1
            grow()
        }
    }

    private mutating func grow() {
        guard limit < highest else { return }
        if limit < threshold {
            limit = min(limit * 2, threshold)
            cleanRounds = 0
        } else if cleanRounds >= patience {
            limit += 1
            cleanRounds = 0
        }
    }

    private mutating func cut(to limit: Int, now: Duration) {
        self.limit = max(1, limit)
        lastCut = now
        answers = 0
        cleanRounds = 0
        latency.forgetRecent()
    }

    mutating func endPause() { pausedUntil = nil }

    mutating func pause(until time: Duration) {
        pausedUntil = max(pausedUntil ?? time, time)
    }
}

/// Whose fault it is when a host objects: that of the URL, of its folder, or of the host.
///
/// A fault is taken for the host's when a folder of which something was answered before shows it, or when the
/// host has answered nothing yet; each URL counts once.
struct HostFaults: Sendable {
    /// Folders of which something was answered.
    private var healthy: Set<UInt64> = []
    /// Whether the host has answered anything.
    var hasAnswers: Bool { !healthy.isEmpty }
    /// Folders that have objected since the last answer.
    private(set) var suspects: Set<UInt64> = []
    /// URLs that have, ever.
    private var objectors: Set<UInt32> = []

    private static let mostHealthy = 4096

    mutating func answered(_ folder: UInt64) {
        if healthy.count < Self.mostHealthy { healthy.insert(folder) }
        if !suspects.isEmpty { suspects.removeAll() }
    }

    /// Whether it counts against the host.
    mutating func objected(_ number: UInt32, _ folder: UInt64, _ failure: Failure) -> Bool {
        suspects.insert(folder)
        let isFirst = objectors.insert(number).inserted
        // Nobody was reached: of that no URL is to blame.
        if failure.isOfConnection { return true }
        return isFirst && (failure == .status(429) || healthy.isEmpty || healthy.contains(folder))
    }
}

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
        guard let recent, let best, answers >= Self.answersToTell, recent > Self.negligible else {
            return .low
        }
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

/// When something that failed is asked for again: a little later each time, not all at the same moment, and
/// not for ever.
struct RetryPlan: Sendable, Equatable {
    enum Decision: Sendable, Equatable {
        case again(after: Duration)
        case giveUp(Reason)
    }

    enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// The same request would fail in the same way.
        case lasting
        /// This number of attempts failed.
        case attempts(Int)
        /// The server asked to wait longer than the crawl waits.
        case asksToWait(Duration)

        var description: String {
            switch self {
            case .lasting: "a retry would not help"
            case .attempts(let count): "tried \(count) times"
            case .asksToWait(let wait): "the server asked to wait \(wait.components.seconds) s"
            }
        }
    }

    /// The first one included.
    var attempts = 4
    /// A name that cannot be found is looked up so many times: mostly there is no such name, sometimes the
    /// resolver is not well.
    var attemptsToFindHost = 2
    var firstDelay: Duration = .milliseconds(500)
    var longestDelay: Duration = .seconds(60)

    /// What to do after the attempt with this number, counted from 1. `jitter` from 0 up to 1 spreads the
    /// delays: between half of what doubles each time and the whole of it, and up to an eighth more than the
    /// Retry-After that outweighs it.
    func decision(
        afterAttempt attempt: Int, of failure: Failure, retryAfter: Duration? = nil, jitter: Double
    ) -> Decision {
        let most = mostAttempts(failure)
        guard most > 1 else { return .giveUp(.lasting) }
        guard attempt < most else { return .giveUp(.attempts(attempt)) }
        let jitter = min(max(0, jitter), 1)
        let full = min(firstDelay * (1 << min(max(0, attempt - 1), 16)), longestDelay)
        guard let retryAfter, retryAfter > .zero else { return .again(after: full / 2 + full / 2 * jitter) }
        guard retryAfter <= HostPace.longestPause else { return .giveUp(.asksToWait(retryAfter)) }
        return .again(after: retryAfter + retryAfter / 8 * jitter)
    }

    /// 1 for what will not pass.
    private func mostAttempts(_ failure: Failure) -> Int {
        switch failure {
        case .status(408), .status(425), .status(429): attempts
        case .status(501), .status(505): 1
        case .status(let status): status >= 500 ? attempts : 1
        case .fetch(let failure), .outwaited(let failure):
            failure.kind == .unknownHost ? attemptsToFindHost : failure.mayPass ? attempts : 1
        case .redirects, .nowhere, .standIn, .refused, .unwanted, .altered, .softNotFound, .login,
            .sessionEnded, .unasked, .rejected, .deferred:
            1
        }
    }

    /// A number from 0 up to 1 that differs from entry to entry and from attempt to attempt, and is the same
    /// in every run.
    static func jitter(of number: UInt32, attempt: Int) -> Double {
        Double(Mixing.mix(UInt64(number) << 8 | UInt64(attempt & 0xFF)) >> 11) / Double(1 << 53)
    }
}
