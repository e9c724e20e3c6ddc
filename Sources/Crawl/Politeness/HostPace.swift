internal import Fetch

/// Congestion control for the requests to one host: how many may run in parallel, and when the next one may
/// start.
///
/// The algorithm is TCP's slow start and congestion avoidance, with requests in place of segments. `limit`
/// starts low and doubles with each round of responses, as long as the host does not object and its latency
/// does not rise. An *objection* is a 429, a 503, a broken connection or no response. It halves `limit`, and
/// sets `threshold` to three quarters of the limit that was too high. Above the threshold, `limit` grows in
/// steps of one, and each further reduction doubles the number of rounds before a step (`patience`), so that
/// a host is not repeatedly sent more than it accepts.
///
/// For example, a host that accepts 10 requests at a time sees the limits 4, 8, 16 (an objection), 8, 12 (an
/// objection), 6, 9, 10, 11 (an objection), 5, 8, and then 9 and 10 after more and more rounds.
///
/// A round is as many responses as `limit`. Responses to requests that were sent before the last reduction
/// do not show the effect of the current limit, so they are ignored. After three objections in a row, the
/// host is paused, each time twice as long.
///
/// `didStart` begins a request. Each request is ended by exactly one of `didRespond`, `didReuse`, `didEnd`
/// and `didObject`, so that `runningCount` is the number of requests in progress.
struct HostPace: Sendable, Equatable {
    /// The current maximum number of parallel requests, from 1 to `maxLimit`.
    private(set) var limit: Int
    private(set) var runningCount = 0
    private(set) var maxLimit: Int
    /// Below the threshold the limit doubles; from there on it grows in steps of one.
    private var threshold: Int
    private var latency = Latency()
    /// The number of responses in this round.
    private var responseCount = 0
    /// The number of rounds without an objection or raised latency since the last change of `limit`.
    private var cleanRounds = 0
    /// The number of clean rounds that raise `limit` by one.
    private var patience = 1
    /// The number of objections in a row of which the host is the cause (`HostFaults`), without those to requests
    /// that were sent before the last reduction.
    private(set) var objectionsInARow = 0
    /// The time of the last reduction of `limit`; nil if there was none.
    private var lastCut: Duration?
    private var lastStart: Duration?
    /// The value of `lastStart` before the latest request, which `didReuse` restores.
    private var previousStart: Duration?
    private var pausedUntil: Duration?
    /// The minimum time between two starts, from robots.txt (`Crawl-delay`); zero for none.
    private var minInterval: Duration = .zero

    /// The maximum pause after a response with Retry-After. The frontier gives up URLs for which a host asks to
    /// wait longer.
    static let maxPause: Duration = .seconds(300)
    /// The first pause after objections in a row; each further one doubles it, up to `maxBackoff`.
    private static let firstPause: Duration = .milliseconds(250)
    private static let maxBackoff: Duration = .seconds(30)
    /// The number of objections in a row that cause no pause, because a host may fail once in a while.
    private static let objectionsWithoutPause = 2
    /// After this number of objections in a row, which take about three minutes, the host is given up.
    private static let objectionsUntilHopeless = 14
    /// A Retry-After above `maxPause` counts as this number of objections.
    private static let objectionsPerLongWait = 4
    /// High latency does not reduce the limit below this number.
    private static let minLimitForLatency = 2
    /// Further reductions do not make the growth slower than this.
    private static let maxPatience = 64
    /// The limit to which `raiseMaxLimit` raises a lower one at once. Growing to it round by round would take time
    /// without need, because further requests on one connection cost the host little.
    private static let firstMultiplexedLimit = 32

    init(initial: Int = 4, maxLimit: Int) {
        self.maxLimit = max(1, maxLimit)
        limit = min(max(1, initial), self.maxLimit)
        threshold = self.maxLimit
    }

    /// Whether the host has only objected for about three minutes. The frontier then gives it up.
    var isHopeless: Bool { objectionsInARow >= Self.objectionsUntilHopeless }

    /// The number of requests that may start now.
    func startableCount(now: Duration) -> Int {
        guard runningCount < limit else { return 0 }
        if let pausedUntil, now < pausedUntil { return 0 }
        guard minInterval > .zero else { return limit - runningCount }
        if let lastStart, now < lastStart + minInterval { return 0 }
        return runningCount == 0 ? 1 : 0
    }

    /// The earliest time for the next request, possibly in the past; nil if a running request has to end first.
    var nextStart: Duration? {
        guard runningCount < limit, minInterval == .zero || runningCount == 0 else { return nil }
        let spaced = minInterval > .zero ? lastStart.map { $0 + minInterval } : nil
        return max(pausedUntil ?? .zero, spaced ?? .zero)
    }

    /// Counts a request that is being sent.
    mutating func didStart(now: Duration) {
        runningCount += 1
        previousStart = lastStart
        lastStart = now
    }

    /// Notes a response of the host, which may be an error such as 404.
    ///
    /// - Parameter latency: the time from the request to the first byte of the response; nil if it was not
    ///   measured.
    mutating func didRespond(after latency: Duration?, now: Duration) {
        runningCount -= 1
        guard isSentAfterLastCut(latency, now: now) else { return }
        objectionsInARow = 0
        if let latency { self.latency.add(latency) }
        responseCount += 1
        guard responseCount >= limit else { return }
        responseCount = 0
        endRound(now: now)
    }

    /// Notes that the response was taken from the store or from another worker, so that no request was sent and
    /// the next one needs no distance from it.
    mutating func didReuse() {
        runningCount -= 1
        lastStart = previousStart
    }

    /// Notes that a request ended without a response that says anything about the host's pace.
    mutating func didEnd() {
        runningCount -= 1
    }

    /// Notes that the host refused a request (429, 503), failed, or could not be reached.
    ///
    /// - Parameters:
    ///   - latency: the time from the request to this failure; nil if it was not measured.
    ///   - retryAfter: the time from the Retry-After header. The host is paused for it in any case.
    ///   - isHostAtFault: whether the host, and not the URL, is the cause. If not, the limit is halved, but the
    ///     objection is not counted, and causes no further pause.
    mutating func didObject(
        after latency: Duration?, retryAfter: Duration? = nil, isHostAtFault: Bool = true,
        now: Duration
    ) {
        runningCount -= 1
        if let retryAfter { pause(until: now + min(retryAfter, Self.maxPause)) }
        guard isSentAfterLastCut(latency, now: now) else { return }
        // Only the first objection in a row shows which limit was too high. The others may mean that the host
        // is down.
        if objectionsInARow == 0 {
            threshold = max(1, limit * 3 / 4)
            patience = min(patience * 2, Self.maxPatience)
        }
        guard isHostAtFault else { return cut(to: limit / 2, now: now) }
        let exceedsMaxPause = retryAfter.map { $0 > Self.maxPause } ?? false
        objectionsInARow += exceedsMaxPause ? Self.objectionsPerLongWait : 1
        cut(to: limit / 2, now: now)
        let pauseNumber = objectionsInARow - Self.objectionsWithoutPause
        if pauseNumber > 0 {
            pause(until: now + min(Self.firstPause * (1 << min(pauseNumber - 1, 16)), Self.maxBackoff))
        }
    }

    /// Sets the minimum time between starts. If it is not zero, requests are sent one at a time.
    mutating func setMinInterval(_ interval: Duration) {
        minInterval = max(.zero, interval)
    }

    /// Raises the maximum, because the host accepts parallel requests on one connection (HTTP/2). If the current
    /// limit was never reduced, it rises at once.
    mutating func raiseMaxLimit(to newLimit: Int) {
        guard newLimit > maxLimit else { return }
        if threshold == maxLimit { threshold = newLimit }
        maxLimit = newLimit
        if lastCut == nil { limit = max(limit, min(maxLimit, Self.firstMultiplexedLimit)) }
    }

    /// Lowers the maximum, because a new connection to the host turned out not to multiplex.
    mutating func lowerMaxLimit(to newLimit: Int) {
        guard newLimit < maxLimit else { return }
        maxLimit = newLimit
        limit = min(limit, maxLimit)
        threshold = min(threshold, maxLimit)
    }

    /// Whether a request that ends now was sent after the last reduction; true if its latency was not measured.
    private func isSentAfterLastCut(_ latency: Duration?, now: Duration) -> Bool {
        guard let lastCut, let latency else { return true }
        return now - latency >= lastCut
    }

    /// Adjusts the limit after a round of responses without an objection.
    private mutating func endRound(now: Duration) {
        switch latency.judgement {
        case .high where limit > Self.minLimitForLatency:
            threshold = max(Self.minLimitForLatency, limit * 3 / 4)
            patience = min(patience * 2, Self.maxPatience)
            cut(to: threshold, now: now)
        case .high:
            // So few requests are not the cause of the latency. The host is slow, and later latencies are
            // compared with this one.
            latency.acceptAsBest()
            threshold = maxLimit
            patience = 1
        case .raised:
            cleanRounds = 0
        case .low:
            cleanRounds += 1
            grow()
        }
    }

    /// Doubles the limit up to the threshold; from there on, adds one after `patience` clean rounds.
    private mutating func grow() {
        guard limit < maxLimit else { return }
        if limit < threshold {
            limit = min(limit * 2, threshold)
            cleanRounds = 0
        } else if cleanRounds >= patience {
            limit += 1
            cleanRounds = 0
        }
    }

    /// Reduces the limit and begins a new round.
    private mutating func cut(to limit: Int, now: Duration) {
        self.limit = max(1, limit)
        lastCut = now
        responseCount = 0
        cleanRounds = 0
        latency.forgetRecent()
    }

    /// Ends all pauses, so that a request may start at once.
    mutating func endPause() { pausedUntil = nil }

    /// Pauses the host until this time, or longer if a longer pause has begun already.
    mutating func pause(until time: Duration) {
        pausedUntil = max(pausedUntil ?? time, time)
    }
}

/// Decides whether an objection is caused by the host, or only by the URL or its folder.
///
/// The host is the cause if no connection was possible. Otherwise, it is if the URL objects for the first time, and the
/// status is 429, a response has come from the same folder before, or the host has not responded at all.
struct HostFaults: Sendable {
    /// Hashes of the folders from which there was a response.
    private var healthyFolders: Set<UInt64> = []
    /// Whether the host has ever responded.
    var hasResponses: Bool { !healthyFolders.isEmpty }
    /// Hashes of the folders with objections since the last response of the host. While there are any, the frontier
    /// prefers URLs in other folders, whose outcome shows whether the host is the cause.
    private(set) var suspectFolders: Set<UInt64> = []
    /// The numbers of the entries that have objected at least once.
    private var objectedEntries: Set<UInt32> = []

    /// Further healthy folders are not recorded, so that their first objections do not count against the host.
    private static let maxHealthyFolders = 4096

    /// Notes a response from a folder.
    mutating func didRespond(in folder: UInt64) {
        if healthyFolders.count < Self.maxHealthyFolders { healthyFolders.insert(folder) }
        if !suspectFolders.isEmpty { suspectFolders.removeAll() }
    }

    /// Notes an objection to the entry `number`. Returns whether the host is the cause.
    mutating func didObject(_ number: UInt32, in folder: UInt64, _ failure: Failure) -> Bool {
        suspectFolders.insert(folder)
        let isFirst = objectedEntries.insert(number).inserted
        // Without a connection, the URL cannot be the cause.
        if failure.isConnectionFailure { return true }
        return isFirst
            && (failure == .status(429) || healthyFolders.isEmpty || healthyFolders.contains(folder))
    }
}

/// The errors of a host (5xx and 408, except 503), which show whether it helps to request a URL again.
struct ServerErrors: Sendable {
    /// The number of retries after such an error that ended with such an error again, and the number of the others.
    private var retries = (vain: 0, useful: 0)
    /// The status of the latest responses, if all of them had the same error, and their number.
    private var latest = (status: 0, count: 0)
    /// The entries that wait for a retry after such an error.
    private var waiting: [UInt32: Failure] = [:]

    private static let maxVainRetries = 8
    private static let minErrorsInARow = 8

    /// Whether further retries are not worth their requests.
    var areRetriesVain: Bool { retries.vain >= Self.maxVainRetries && retries.vain > 4 * retries.useful }

    /// Whether the host answers all requests with the same error.
    var isFailing: Bool { latest.count >= Self.minErrorsInARow }

    /// Whether a failure is such an error. Those of load concern the pace of the host (`HostPace`).
    static func contains(_ failure: Failure) -> Bool {
        guard let status = failure.errorStatus, !failure.shouldSlowDownHost else { return false }
        return status >= 500 || status == 408
    }

    /// Notes an error in response to the request of an entry, the `attempt`th one.
    mutating func didFail(_ number: UInt32, _ failure: Failure, attempt: Int) {
        waiting[number] = nil
        if attempt > 1 { retries.vain += 1 }
        let status = failure.errorStatus ?? 0
        latest = (status, status == latest.status ? latest.count + 1 : 1)
    }

    /// Notes a response that was stored.
    mutating func didSucceed(_ number: UInt32, attempt: Int) {
        waiting[number] = nil
        if attempt > 1 { retries.useful += 1 }
        latest = (0, 0)
    }

    /// Notes that the entry waits for a retry.
    mutating func wait(_ number: UInt32, _ failure: Failure) { waiting[number] = failure }

    /// Returns the entries that wait for a retry, and forgets them.
    mutating func takeWaiting() -> [UInt32: Failure] {
        defer { waiting = [:] }
        return waiting
    }
}

/// The recent latency of a host, compared with its best. A rise shows that the host is overloaded even before
/// it objects.
struct Latency: Sendable, Equatable {
    /// A comparison of the recent latency with the best one.
    enum Judgement {
        case low, raised, high
    }

    /// A moving average of the latency; nil before the first response.
    private(set) var recent: Duration?
    /// The lowest value of the average so far, from `minResponses` on.
    private(set) var best: Duration?
    /// The number of responses in the average, up to `maxWeight`.
    private var weight = 0

    /// The latency up to which a host is never slow. On the same machine, differences are only noise.
    static let negligible: Duration = .milliseconds(50)
    /// With fewer responses, the average is not judged.
    private static let minResponses = 16
    /// The approximate maximum number of responses in the average.
    private static let maxWeight = 32
    /// A response counts as at most this multiple of the average, so that an outlier does not look like a trend.
    private static let maxOutlierFactor = 4

    /// High if the recent latency is more than twice the best, raised if it is more than 1.5 times the best.
    var judgement: Judgement {
        guard let recent, let best, weight >= Self.minResponses, recent > Self.negligible else {
            return .low
        }
        if recent > best * 2 { return .high }
        return recent * 2 > best * 3 ? .raised : .low
    }

    mutating func add(_ latency: Duration) {
        weight = min(weight + 1, Self.maxWeight)
        let mean = recent ?? latency
        let counted = min(latency, max(mean, Self.negligible) * Self.maxOutlierFactor)
        let next = mean + (counted - mean) / weight
        recent = next
        if weight >= Self.minResponses { best = min(best ?? next, next) }
    }

    /// Forgets the recent latency, because it was measured at another limit.
    mutating func forgetRecent() {
        recent = nil
        weight = 0
    }

    /// Makes the recent latency the best, although it is higher.
    mutating func acceptAsBest() {
        best = recent
    }
}

/// Exponential backoff for retries: decides after each failed attempt whether and when an entry is requested
/// again.
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
    var maxAttempts = 4
    /// The maximum number of attempts if the server answers 500. The application failed, and usually does so again.
    var maxAttemptsAfterError = 2
    /// The maximum number of attempts if the host name is not found. Usually it does not exist, but the
    /// resolver may have failed.
    var maxLookupAttempts = 2
    /// The delay before the first retry; it doubles with each attempt up to `maxDelay`.
    var firstDelay: Duration = .milliseconds(500)
    var maxDelay: Duration = .seconds(60)

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
        let maxCount = attemptLimit(for: failure)
        guard maxCount > 1 else { return .giveUp(.lasting) }
        guard attempt < maxCount else { return .giveUp(.attempts(attempt)) }
        let jitter = min(max(0, jitter), 1)
        let full = min(firstDelay * (1 << min(max(0, attempt - 1), 16)), maxDelay)
        guard let retryAfter, retryAfter > .zero else { return .again(after: full / 2 + full / 2 * jitter) }
        guard retryAfter <= HostPace.maxPause else { return .giveUp(.asksToWait(retryAfter)) }
        return .again(after: retryAfter + retryAfter / 8 * jitter)
    }

    /// The maximum number of attempts; 1 if a retry would not help.
    private func attemptLimit(for failure: Failure) -> Int {
        switch failure {
        case .status(408), .status(425), .status(429): maxAttempts
        case .status(500): maxAttemptsAfterError
        case .status(501), .status(505): 1
        case .status(let status): status >= 500 ? maxAttempts : 1
        case .fetch(let failure), .hostSilent(let failure):
            failure.kind == .unknownHost ? maxLookupAttempts : failure.canRetry ? maxAttempts : 1
        case .redirects, .redirectWithoutTarget, .htmlInstead, .rejectedByRule, .declinedByApp,
            .digestMismatch, .softNotFound, .login, .sessionEnded, .notRequested, .rejected, .challenged,
            .deferred:
            1
        }
    }

    /// A number from 0 up to 1 that depends on the entry and the attempt, and is the same in every run.
    static func jitter(of number: UInt32, attempt: Int) -> Double {
        Double(Mixing.mix(UInt64(number) << 8 | UInt64(attempt & 0xFF)) >> 11) / Double(1 << 53)
    }
}
