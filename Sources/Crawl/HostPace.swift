internal import Fetch

/// The number of parallel requests to one host, and the time of the next one.
///
/// The limit starts low and doubles with each round of responses while the host does not object and latency
/// does not rise. It is halved when the host refuses or fails. After such a reduction it grows in steps of
/// one, more slowly after each further reduction, so that a host is not repeatedly sent more than it accepts.
/// A host that does not respond at all is paused, for longer each time.
///
/// A round is as many responses as `limit`. Responses to requests that were sent before the last reduction
/// say nothing about the current limit, and are ignored.
///
/// `started` begins a request. Each request is ended by exactly one of `answered`, `recalled`, `ended` and
/// `objected`.
struct HostPace: Sendable, Equatable {
    private(set) var limit: Int
    private(set) var runningCount = 0
    private(set) var highest: Int
    /// Below the threshold the limit doubles; from there on it grows in steps of one.
    private var threshold: Int
    private var latency = Latency()
    /// The number of responses in this round.
    private var answers = 0
    /// The number of rounds without an objection since the last change, and the number that allow a step.
    private var cleanRounds = 0
    private var patience = 1
    /// The number of objections in a row that count against the host. Those to requests sent before the last
    /// reduction are ignored.
    private(set) var objectionsInARow = 0
    private var lastCut: Duration?
    private var lastStart: Duration?
    private var startBefore: Duration?
    private var pausedUntil: Duration?
    /// The minimum time between two starts, from robots.txt; zero for none.
    private var distance: Duration = .zero

    /// The maximum pause after a response with Retry-After.
    static let longestPause: Duration = .seconds(300)
    private static let firstPause: Duration = .milliseconds(250)
    private static let longestOwnPause: Duration = .seconds(30)
    /// The number of objections in a row that cause no pause, because a host may fail once in a while.
    private static let objectionsWithoutPause = 2
    private static let objectionsUntilHopeless = 14
    /// The number of objections for which a Retry-After above `longestPause` counts.
    private static let objectionsOfLongWait = 4
    /// The minimum to which high latency reduces the limit.
    private static let leastForLatency = 2
    private static let mostPatience = 64
    /// The limit after a host turns out to accept parallel requests on one connection. With fewer, round
    /// trips would be lost.
    private static let firstStreams = 32

    init(initial: Int = 4, highest: Int) {
        self.highest = max(1, highest)
        limit = min(max(1, initial), self.highest)
        threshold = self.highest
    }

    /// Whether the host has only objected for about three minutes.
    var isHopeless: Bool { objectionsInARow >= Self.objectionsUntilHopeless }

    /// The number of requests that may start now.
    func mayStart(now: Duration) -> Int {
        guard runningCount < limit else { return 0 }
        if let pausedUntil, now < pausedUntil { return 0 }
        guard distance > .zero else { return limit - runningCount }
        if let lastStart, now < lastStart + distance { return 0 }
        return runningCount == 0 ? 1 : 0
    }

    /// The earliest time for the next request, possibly in the past; nil if a response has to come first.
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

    /// Notes a response of the host, which may be an error such as 404.
    ///
    /// - Parameter latency: the time from the request to the first byte of the response; nil if it was not
    ///   measured.
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

    /// Notes that the response was taken from elsewhere, so that no request was sent and no pause is needed.
    mutating func recalled() {
        runningCount -= 1
        lastStart = startBefore
    }

    /// Notes that a request ended without a response that says anything about the host's pace.
    mutating func ended() {
        runningCount -= 1
    }

    /// Notes that the host refused a request (429, 503), failed, or could not be reached.
    ///
    /// - Parameters:
    ///   - retryAfter: the time from the Retry-After header.
    ///   - counts: whether the host, and not the URL, is the cause. If not, the limit is halved without a
    ///     pause.
    mutating func objected(
        after latency: Duration?, retryAfter: Duration? = nil, counts: Bool = true, now: Duration
    ) {
        runningCount -= 1
        if let retryAfter { pause(until: now + min(retryAfter, Self.longestPause)) }
        guard isOfThisRound(latency, now: now) else { return }
        // Only the first objection in a row shows which limit was too high. The others may mean that the host
        // is down.
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

    /// Sets the minimum time between starts. If it is not zero, requests are sent one at a time.
    mutating func keep(distance: Duration) {
        self.distance = max(.zero, distance)
    }

    /// Raises the highest limit, because the host accepts parallel requests on one connection. If it has
    /// never objected, the limit rises at once.
    mutating func widen(to highest: Int) {
        guard highest > self.highest else { return }
        if threshold == self.highest { threshold = highest }
        self.highest = highest
        if lastCut == nil { limit = max(limit, min(highest, Self.firstStreams)) }
    }

    /// Lowers the highest limit.
    mutating func narrow(to highest: Int) {
        guard highest < self.highest else { return }
        self.highest = highest
        limit = min(limit, highest)
        threshold = min(threshold, highest)
    }

    /// Whether the request was sent after the last reduction.
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
            // So few requests are not the cause of the latency. The host is slow, and later latencies are
            // compared with this one.
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

/// Decides whether an objection is caused by the URL, its folder or the host.
///
/// An objection counts against the host if its status is 429, if a response has come from the same folder
/// before, or if the host has not responded at all. Each URL counts once, except if no connection was
/// possible.
struct HostFaults: Sendable {
    /// Folders from which there was a response.
    private var healthy: Set<UInt64> = []
    /// Whether the host has responded.
    var hasAnswers: Bool { !healthy.isEmpty }
    /// Folders with objections since the last response.
    private(set) var suspects: Set<UInt64> = []
    /// URLs that have objected at least once.
    private var objectors: Set<UInt32> = []

    private static let mostHealthy = 4096

    mutating func answered(_ folder: UInt64) {
        if healthy.count < Self.mostHealthy { healthy.insert(folder) }
        if !suspects.isEmpty { suspects.removeAll() }
    }

    /// Notes an objection, and returns whether it counts against the host.
    mutating func objected(_ number: UInt32, _ folder: UInt64, _ failure: Failure) -> Bool {
        suspects.insert(folder)
        let isFirst = objectors.insert(number).inserted
        // Without a connection, the URL cannot be the cause.
        if failure.isOfConnection { return true }
        return isFirst && (failure == .status(429) || healthy.isEmpty || healthy.contains(folder))
    }
}

/// The recent latency of a host, compared with its best.
struct Latency: Sendable, Equatable {
    /// A comparison of the recent latency with the best one.
    enum Judgement {
        case low, raised, high
    }

    /// A moving average of the latency; nil before the first response.
    private(set) var recent: Duration?
    /// The lowest value of the average.
    private(set) var best: Duration?
    private var answers = 0

    /// The latency up to which a host is never slow. On the same machine, differences are only noise.
    static let negligible: Duration = .milliseconds(50)
    private static let answersToTell = 16
    /// The approximate number of responses in the average.
    private static let memory = 32
    /// The maximum multiple of the average for which one response counts, so that an outlier is not a trend.
    private static let outlier = 4

    /// High if it is more than twice the best, raised if it is more than 1.5 times the best.
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

    /// Forgets the recent latency, because it was measured at another limit.
    mutating func forgetRecent() {
        recent = nil
        answers = 0
    }

    /// Makes the recent latency the best.
    mutating func accept() {
        best = recent
    }
}

/// The rules for retries: with growing delays, spread in time, and a limited number of times.
struct RetryPlan: Sendable, Equatable {
    /// The decision after a failed attempt.
    enum Decision: Sendable, Equatable {
        case again(after: Duration)
        case giveUp(Reason)
    }

    /// The reason why there is no further attempt.
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

    /// The maximum number of attempts, including the first one.
    var attempts = 4
    /// The maximum number of attempts if the host name is not found. Usually it does not exist, but the
    /// resolver may have failed.
    var attemptsToFindHost = 2
    var firstDelay: Duration = .milliseconds(500)
    var longestDelay: Duration = .seconds(60)

    /// Returns what to do after a failed attempt.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt, counted from 1.
    ///   - retryAfter: the time from the Retry-After header, which replaces the delay.
    ///   - jitter: a number from 0 up to 1 that spreads the delays: between half of the delay and all of it,
    ///     or up to an eighth more than Retry-After.
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

    /// The maximum number of attempts; 1 if a retry would not help.
    private func mostAttempts(_ failure: Failure) -> Int {
        switch failure {
        case .status(408), .status(425), .status(429): attempts
        case .status(501), .status(505): 1
        case .status(let status): status >= 500 ? attempts : 1
        case .fetch(let failure), .outwaited(let failure):
            failure.kind == .unknownHost ? attemptsToFindHost : failure.mayPass ? attempts : 1
        case .redirects, .nowhere, .standIn, .refused, .unwanted, .altered, .softNotFound, .login,
            .sessionEnded, .unasked, .rejected, .challenged, .deferred:
            1
        }
    }

    /// A number from 0 up to 1 that depends on the entry and the attempt, and is the same in every run.
    static func jitter(of number: UInt32, attempt: Int) -> Double {
        Double(Mixing.mix(UInt64(number) << 8 | UInt64(attempt & 0xFF)) >> 11) / Double(1 << 53)
    }
}
