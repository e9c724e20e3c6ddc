package import Web

/// How far a prefetch is.
public struct PrefetchProgress: Sendable, Equatable {
    public let site: String
    public let elapsed: Duration
    public let phase: Phase
    public let pages: Count
    public let requisites: Count
    /// Asked for, and not got.
    public let failed: Int
    public let running: Int
    /// Everything that the site was found to link, wanted or not.
    public let known: Int
    public let requests: Int
    /// What came over the network.
    public let byteCount: Int
    public let bytesPerSecond: Int
    /// What servers said is still as it is held, and what was therefore not sent.
    public let confirmed: Int
    public let savedByteCount: Int
    /// Those of which something is asked, or is to be; the busiest first, and not all of very many.
    public let hosts: [Host]
    public let hostCount: Int
    public let waiting: Waiting
    /// How long it still takes; nil while that is not known, as it is while more is found than is fetched.
    public let remaining: Duration?

    public enum Phase: String, Sendable, CaseIterable {
        case fetching
        /// Nothing is asked for any more: what came is being stored.
        case storing
    }

    public struct Count: Sendable, Equatable {
        public let done: Int
        public let queued: Int
    }

    public struct Host: Sendable, Equatable {
        public let name: String
        public let running: Int
        public let queued: Int
        /// How many requests it gets at once.
        public let limit: Int
        public let requestsPerSecond: Double
        /// For how long nothing is asked of it; nil while something may be.
        public let pause: Duration?
    }

    /// What else has to come first.
    public struct Waiting: Sendable, Equatable {
        /// Pages that wait for what robots.txt says.
        public let robots: Int
        /// What failed, and is to be tried again.
        public let retries: Int
        /// Bodies that are being looked into for links.
        public let scans: Int
    }

    /// One line for programs.
    public var json: String { members.text(.compact) }

    /// Milliseconds are enough for anybody.
    static func seconds(_ duration: Duration) -> Double { ((duration / .seconds(1)) * 1000).rounded() / 1000 }
}

/// A request that ended.
public struct PrefetchedURL: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case page, requisite
        /// A sitemap, say.
        case guide
        /// A robots.txt.
        case robots
        /// Something that no server can have, to learn how it says so.
        case probe
    }

    public let url: String
    public let kind: Kind
    /// Nil when there was no answer.
    public let status: Int?
    /// Why there was none.
    public let failure: String?
    /// What came over the network.
    public let byteCount: Int
    public let elapsed: Duration

    /// One line for programs.
    public var json: String { members.text(.compact) }
}

extension PrefetchProgress: JSONObject {
    package var members: JSONMembers {
        [
            "event": "progress", "site": site, "seconds": Self.seconds(elapsed), "phase": phase.rawValue,
            "pages": pages, "requisites": requisites, "failed": failed, "running": running, "known": known,
            "requests": requests, "bytes": byteCount, "bytesPerSecond": bytesPerSecond,
            "confirmed": confirmed,
            "savedBytes": savedByteCount, "hosts": hosts, "hostCount": hostCount, "waiting": waiting,
            "secondsLeft": remaining.map(Self.seconds),
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

/// How far a crawl is, as its parts count it.
struct CrawlProgress: Sendable, Equatable {
    var elapsed: Duration = .zero
    /// Nothing is asked for any more: what came is being stored.
    var isEnding = false
    var done = 0
    /// Of them, what pages need.
    var doneRequisites = 0
    var failed = 0
    var queuedPages = 0
    var queuedRequisites = 0
    var known = 0
    var running = 0
    /// Pages that wait for what robots.txt says.
    var atGate = 0
    /// What failed, and is to be tried again.
    var toRetry = 0
    var scanning = 0
    var requests = 0
    var confirmed = 0
    var savedByteCount = 0
    var byteCount = 0
    /// Those that something is asked of, or is to be; the busiest first, and not all of very many.
    var hosts: [Host] = []
    var hostCount = 0

    struct Host: Sendable, Equatable {
        var name: String
        var running = 0
        var queued = 0
        /// How many requests it gets at once.
        var limit = 0
        var requests = 0
        /// For how long nothing is asked of it; nil while something may be.
        var pause: Duration?
    }
}

/// Figures in, figures with their pace and an estimate out. A pure value: the time is in the figures.
struct ProgressMeter: Sendable {
    private struct Sample {
        let elapsed: Duration
        let byteCount: Int
        let left: Int
        let requests: [String: Int]
    }

    private let site: String
    /// Those of the last while, some apart from each other.
    private var samples: [Sample] = []

    /// Bytes and requests a second are those of so long.
    private static let paceSpan: Duration = .seconds(4)
    /// Whether the end comes nearer is judged by at most so long, and by no less than that.
    private static let span: Duration = .seconds(20)
    private static let leastSpan: Duration = .seconds(3)
    private static let distance: Duration = .milliseconds(250)
    /// What takes longer than that is anybody's guess.
    private static let longest: Duration = .seconds(100 * 3600)

    init(site: String) {
        self.site = site
    }

    mutating func measure(_ figures: CrawlProgress) -> PrefetchProgress {
        let left =
            figures.queuedPages + figures.queuedRequisites + figures.running + figures.atGate
            + figures.toRetry
        let sample = Sample(
            elapsed: figures.elapsed, byteCount: figures.byteCount, left: left,
            requests: figures.hosts.reduce(into: [:]) { $0[$1.name] = $1.requests })
        let recent = samples.first { sample.elapsed - $0.elapsed <= Self.paceSpan }
        let seconds = recent.map { max(0.1, (sample.elapsed - $0.elapsed) / .seconds(1)) }
        let progress = PrefetchProgress(
            site: site, elapsed: figures.elapsed, phase: figures.isEnding ? .storing : .fetching,
            pages: PrefetchProgress.Count(
                done: figures.done - figures.doneRequisites, queued: figures.queuedPages + figures.atGate),
            requisites: PrefetchProgress.Count(
                done: figures.doneRequisites, queued: figures.queuedRequisites),
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
                robots: figures.atGate, retries: figures.toRetry, scans: figures.scanning),
            remaining: figures.isEnding ? nil : remaining(sample))
        keep(sample)
        return progress
    }

    private static func rate(from: Int?, to: Int, _ seconds: Double?) -> Double? {
        guard let from, let seconds else { return nil }
        return max(0, Double(to - from) / seconds)
    }

    /// Nil while the end does not come nearer: pages lead to pages, and nobody knows to how many. It is
    /// judged since there was most to do.
    private func remaining(_ now: Sample) -> Duration? {
        guard now.left > 0, let peak = samples.max(by: { $0.left <= $1.left }), peak.left > now.left,
            now.elapsed - peak.elapsed >= Self.leastSpan
        else { return nil }
        let time = (now.elapsed - peak.elapsed) * now.left / (peak.left - now.left)
        return time > Self.longest ? nil : time
    }

    private mutating func keep(_ sample: Sample) {
        if let last = samples.last, sample.elapsed - last.elapsed < Self.distance { return }
        samples.append(sample)
        let old = samples.prefix { sample.elapsed - $0.elapsed > Self.span }
        samples.removeFirst(old.count)
    }
}
