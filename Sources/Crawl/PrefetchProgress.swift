package import Web

/// The progress of a prefetch.
public struct PrefetchProgress: Sendable, Equatable {
    /// The name of the site.
    public let site: String
    /// The time since the run began.
    public let elapsed: Duration
    public package(set) var phase: Phase
    /// The number of finished and queued pages.
    public let pages: Count
    /// The number of finished and queued assets.
    public let assets: Count
    /// The number of URLs that could not be loaded so far. URLs that do not exist on the live site do not count.
    public let failed: Int
    /// The number of running requests.
    public let running: Int
    /// The number of discovered URLs, including those that are not fetched.
    public let known: Int
    /// The number of finished requests.
    public let requests: Int
    /// The number of bytes received from the network.
    public let byteCount: Int
    /// The current rate.
    public let bytesPerSecond: Int
    /// The number of stored responses that servers confirmed.
    public let confirmed: Int
    /// The size of the bodies that were therefore not sent.
    public let savedByteCount: Int
    /// The hosts that have running or queued requests, the busiest first. The list is limited in length.
    public let hosts: [Host]
    /// The number of all such hosts.
    public let hostCount: Int
    /// The work that has to be done first.
    public let waiting: Waiting
    /// The estimated remaining time; nil while it is unknown, for example while more URLs are found than
    /// fetched.
    public package(set) var remaining: Duration?
    /// The number of pages that were added to the search index.
    public package(set) var indexed = 0

    /// A phase of a prefetch.
    public enum Phase: String, Sendable, CaseIterable {
        /// Responses are being fetched.
        case fetching
        /// All requests have ended, and the last responses are being stored.
        case storing
        /// The stored pages are being added to the search index.
        case indexing
    }

    /// The number of finished and queued URLs.
    public struct Count: Sendable, Equatable {
        public let done: Int
        public let queued: Int
    }

    /// A host with running or queued requests.
    public struct Host: Sendable, Equatable {
        public let name: String
        public let running: Int
        public let queued: Int
        /// The maximum number of concurrent requests.
        public let limit: Int
        public let requestsPerSecond: Double
        /// The time until the next request may be made; nil if one may be made now.
        public let pause: Duration?
    }

    /// Work that has to be done first.
    public struct Waiting: Sendable, Equatable {
        /// The number of pages that wait for a robots.txt.
        public let robots: Int
        /// The number of failed requests that will be retried.
        public let retries: Int
        /// The number of bodies that are being scanned for links.
        public let scans: Int
    }

    /// The progress as JSON, on one line.
    public var json: String { members.text(.compact) }

    /// Seconds, rounded to milliseconds.
    static func seconds(_ duration: Duration) -> Double { ((duration / .seconds(1)) * 1000).rounded() / 1000 }
}

/// A finished request of a prefetch.
public struct PrefetchedURL: Sendable, Equatable {
    /// The kind of a URL.
    public enum Kind: String, Sendable, CaseIterable {
        case page, asset
        /// A list of URLs, such as a sitemap.
        case guide
        /// A robots.txt.
        case robots
        /// A URL that does not exist, requested to learn how the server reports that.
        case probe
    }

    public let url: String
    public let kind: Kind
    /// The status of the response; nil if there was none.
    public let status: Int?
    /// Why there was no response; nil if there was one.
    public let failure: String?
    /// The number of bytes received from the network.
    public let byteCount: Int
    /// The duration of the request.
    public let elapsed: Duration

    /// The request as JSON, on one line.
    public var json: String { members.text(.compact) }
}

extension PrefetchProgress: JSONObject {
    package var members: JSONMembers {
        [
            "event": "progress", "site": site, "seconds": Self.seconds(elapsed), "phase": phase.rawValue,
            "pages": pages, "assets": assets, "failed": failed, "running": running, "known": known,
            "requests": requests, "bytes": byteCount, "bytesPerSecond": bytesPerSecond,
            "confirmed": confirmed,
            "savedBytes": savedByteCount, "hosts": hosts, "hostCount": hostCount, "waiting": waiting,
            "secondsLeft": remaining.map(Self.seconds), "indexed": indexed,
        ]
    }
}

extension PrefetchProgress.Count: JSONObject {
    package var members: JSONMembers { ["done": done, "queued": queued] }
}

extension PrefetchProgress.Host: JSONObject {
    package var members: JSONMembers {
        [
            "name": name, "running": running, "queued": queued, "limit": limit,
            "requestsPerSecond": (requestsPerSecond * 10).rounded() / 10,
            "pausedSeconds": pause.map(PrefetchProgress.seconds),
        ]
    }
}

extension PrefetchProgress.Waiting: JSONObject {
    package var members: JSONMembers { ["robots": robots, "retries": retries, "scans": scans] }
}

extension PrefetchedURL: JSONObject {
    package var members: JSONMembers {
        [
            "event": "fetched", "url": url, "kind": kind.rawValue, "status": status,
            "failure": IfAny(failure),
            "bytes": byteCount, "seconds": PrefetchProgress.seconds(elapsed),
        ]
    }
}

/// The progress of a crawl, as its parts count it.
struct CrawlProgress: Sendable, Equatable {
    var elapsed: Duration = .zero
    /// Whether all requests have ended, and the last responses are being stored.
    var isEnding = false
    var done = 0
    /// The number of assets among them.
    var doneAssets = 0
    var failed = 0
    var queuedPages = 0
    var queuedAssets = 0
    var known = 0
    var running = 0
    /// The number of pages that wait for a robots.txt.
    var awaitingRobots = 0
    /// The number of failed requests that will be retried.
    var toRetry = 0
    var scanning = 0
    var requests = 0
    var confirmed = 0
    var savedByteCount = 0
    var byteCount = 0
    /// The hosts that have running or queued requests, the busiest first. The list is limited in length.
    var hosts: [Host] = []
    var hostCount = 0

    /// A host with running or queued requests.
    struct Host: Sendable, Equatable {
        var name: String
        var running = 0
        var queued = 0
        /// The maximum number of concurrent requests.
        var limit = 0
        var requests = 0
        /// The time until the next request may be made; nil if one may be made now.
        var pause: Duration?
    }
}

/// Computes rates and the remaining time from the figures of a crawl. The time comes with the figures.
struct ProgressMeter: Sendable {
    private struct Sample {
        let elapsed: Duration
        let byteCount: Int
        let left: Int
        let requests: [String: Int]
    }

    private let site: String
    /// The recent samples, at least `distance` apart.
    private var samples: [Sample] = []

    /// The time span over which rates are averaged.
    private static let paceSpan: Duration = .seconds(4)
    /// The time span over which the remaining time is estimated, and the shortest one that suffices.
    private static let span: Duration = .seconds(20)
    private static let minSpan: Duration = .seconds(3)
    /// An estimate is given only if the speeds of the earlier and the later half of the span differ at most by this factor.
    private static let maxSpeedRatio = 2.0
    private static let distance: Duration = .milliseconds(250)
    /// The longest remaining time that is reported.
    private static let maxRemaining: Duration = .seconds(100 * 3600)

    init(site: String) {
        self.site = site
    }

    mutating func measure(_ figures: CrawlProgress) -> PrefetchProgress {
        let left =
            figures.queuedPages + figures.queuedAssets + figures.running + figures.awaitingRobots
            + figures.toRetry
        let sample = Sample(
            elapsed: figures.elapsed, byteCount: figures.byteCount, left: left,
            requests: figures.hosts.reduce(into: [:]) { $0[$1.name] = $1.requests })
        let recent = samples.first { sample.elapsed - $0.elapsed <= Self.paceSpan }
        let seconds = recent.map { max(0.1, (sample.elapsed - $0.elapsed) / .seconds(1)) }
        let progress = PrefetchProgress(
            site: site, elapsed: figures.elapsed, phase: figures.isEnding ? .storing : .fetching,
            pages: PrefetchProgress.Count(
                done: figures.done - figures.doneAssets, queued: figures.queuedPages + figures.awaitingRobots),
            assets: PrefetchProgress.Count(
                done: figures.doneAssets, queued: figures.queuedAssets),
            failed: figures.failed, running: figures.running, known: figures.known,
            requests: figures.requests,
            byteCount: figures.byteCount,
            bytesPerSecond: Self.rate(from: recent?.byteCount, to: figures.byteCount, seconds).map { Int($0) }
                ?? 0,
            confirmed: figures.confirmed, savedByteCount: figures.savedByteCount,
            hosts: figures.hosts.map { host in
                PrefetchProgress.Host(
                    name: host.name, running: host.running, queued: host.queued, limit: host.limit,
                    requestsPerSecond: Self.rate(
                        from: recent?.requests[host.name], to: host.requests, seconds) ?? 0,
                    pause: host.pause)
            },
            hostCount: figures.hostCount,
            waiting: PrefetchProgress.Waiting(
                robots: figures.awaitingRobots, retries: figures.toRetry, scans: figures.scanning),
            remaining: figures.isEnding ? nil : remaining(sample))
        keep(sample)
        return progress
    }

    private static func rate(from: Int?, to: Int, _ seconds: Double?) -> Double? {
        guard let from, let seconds else { return nil }
        return max(0, Double(to - from) / seconds)
    }

    /// The estimated remaining time, measured from the sample with the most open work; nil while the open
    /// work does not decrease, or not steadily.
    private func remaining(_ now: Sample) -> Duration? {
        guard now.left > 0, let peak = samples.max(by: { $0.left <= $1.left }), peak.left > now.left,
            now.elapsed - peak.elapsed >= Self.minSpan
        else { return nil }
        let time = (now.elapsed - peak.elapsed) * now.left / (peak.left - now.left)
        return time > Self.maxRemaining || !isSteady(from: peak, to: now) ? nil : time
    }

    private func isSteady(from start: Sample, to end: Sample) -> Bool {
        let middle = start.elapsed + (end.elapsed - start.elapsed) / 2
        guard let between = samples.last(where: { $0.elapsed <= middle }), between.elapsed > start.elapsed
        else { return false }
        func rate(_ start: Sample, _ end: Sample) -> Double {
            Double(start.left - end.left) / ((end.elapsed - start.elapsed) / .seconds(1))
        }
        let (earlier, later) = (rate(start, between), rate(between, end))
        return earlier > 0 && later > 0 && max(earlier, later) <= Self.maxSpeedRatio * min(earlier, later)
    }

    private mutating func keep(_ sample: Sample) {
        if let last = samples.last, sample.elapsed - last.elapsed < Self.distance { return }
        samples.append(sample)
        let old = samples.prefix { sample.elapsed - $0.elapsed > Self.span }
        samples.removeFirst(old.count)
    }
}
