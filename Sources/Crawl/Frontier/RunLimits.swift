/// The limits of a run, how much of them is used, and the limit that was reached.
struct RunLimits: Sendable {
    private let limits: CrawlLimits
    var usage = CrawlLimits.Usage()
    /// The limit because of which no further page, or nothing at all, is started.
    private(set) var reached: CrawlLimits.Reached?
    /// The time when a limit stopped the crawl.
    private var stopped: Duration?

    /// The time for running requests to end after a limit is reached. Then they are cancelled.
    private static let maxEndingTime: Duration = .seconds(5)

    init(_ limits: CrawlLimits) { self.limits = limits }

    /// The maximum duration of the run; nil for no limit.
    var time: Duration? { limits.time }

    /// Whether a time or byte limit prevents new requests.
    var isStopped: Bool {
        switch reached {
        case .byteCount, .time: true
        case .pages, nil: false
        }
    }

    /// When the driver stops waiting for running requests. Nil if no limit has stopped the crawl.
    var end: Duration? { stopped.map { $0 + Self.maxEndingTime } }

    /// Whether the driver should stop without waiting for running requests: the time limit is reached, or the
    /// byte limit was reached `maxEndingTime` ago.
    func isOutOfTime(now: Duration) -> Bool {
        switch reached {
        case .time: true
        case .byteCount: stopped.map { now - $0 >= Self.maxEndingTime } ?? false
        case .pages, nil: false
        }
    }

    /// Applies the time: notes when a limit stops the crawl.
    mutating func advance(to now: Duration) {
        usage.elapsed = now
        reached = reached ?? limits.reasonToStop(usage)
        if isStopped { stopped = stopped ?? now }
    }

    /// Returns the limit because of which no further page is started; nil while one may be.
    mutating func reachedByPages() -> CrawlLimits.Reached? {
        guard let limit = limits.reasonToStopPages(usage) else { return nil }
        reached = limit
        return limit
    }
}
