/// What a crawl may cost at most; nil for what is not limited.
public struct CrawlLimits: Sendable, Equatable {
    /// As the site's plan says.
    package var pages: Int?
    /// Over the network.
    public var byteCount: Int?
    public var time: Duration?

    public init() {}

    package init(pages: Int? = nil, byteCount: Int? = nil, time: Duration? = nil) {
        self.pages = pages
        self.byteCount = byteCount
        self.time = time
    }

    /// What a crawl has cost so far.
    package struct Usage: Sendable, Equatable {
        /// Those asked for, whatever became of them, each counted once however often it was tried.
        package var pages = 0
        package var byteCount = 0
        package var elapsed: Duration = .zero

        package init(pages: Int = 0, byteCount: Int = 0, elapsed: Duration = .zero) {
            self.pages = pages
            self.byteCount = byteCount
            self.elapsed = elapsed
        }
    }

    /// The limit that was reached.
    package enum Reached: Sendable, Hashable, CustomStringConvertible {
        case pages(Int)
        case byteCount(Int)
        case time(Duration)

        package var description: String {
            switch self {
            case .pages(let count): "--max-pages \(count) was reached"
            case .byteCount(let count): "--max-bytes \(count) was reached"
            case .time(let time): "--max-time \(time.components.seconds)s was reached"
            }
        }
    }

    /// Why nothing further may start; nil while something may. The number of pages is no such reason: what the pages
    /// need that are there is still fetched, so that they are whole.
    package func reasonToStop(_ usage: Usage) -> Reached? {
        if let time, usage.elapsed >= time { return .time(time) }
        if let byteCount, usage.byteCount >= byteCount { return .byteCount(byteCount) }
        return nil
    }

    /// Why no further page may start; nil while one may.
    package func reasonToStopPages(_ usage: Usage) -> Reached? {
        if let reason = reasonToStop(usage) { return reason }
        if let pages, usage.pages >= pages { return .pages(pages) }
        return nil
    }
}
