internal import Crawl

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
            figures.queuedPages + figures.queuedRequisites + figures.running + figures.atGate + figures.toRetry
        let sample = Sample(
            elapsed: figures.elapsed, byteCount: figures.byteCount, left: left,
            requests: figures.hosts.reduce(into: [:]) { $0[$1.name] = $1.requests })
        let recent = samples.first { sample.elapsed - $0.elapsed <= Self.paceSpan }
        let seconds = recent.map { max(0.1, (sample.elapsed - $0.elapsed) / .seconds(1)) }
        let progress = PrefetchProgress(
            site: site, elapsed: figures.elapsed, phase: figures.isEnding ? .storing : .fetching,
            pages: PrefetchProgress.Count(
                done: figures.done - figures.doneRequisites, queued: figures.queuedPages + figures.atGate),
            requisites: PrefetchProgress.Count(done: figures.doneRequisites, queued: figures.queuedRequisites),
            failed: figures.failed, running: figures.running, known: figures.known, requests: figures.requests,
            byteCount: figures.byteCount,
            bytesPerSecond: Self.rate(from: recent?.byteCount, to: figures.byteCount, seconds).map { Int($0) } ?? 0,
            confirmed: figures.confirmed, savedByteCount: figures.savedByteCount,
            hosts: figures.hosts.map { host in
                PrefetchProgress.Host(
                    name: host.name, running: host.running, queued: host.queued, limit: host.limit,
                    requestsPerSecond: Self.rate(from: recent?.requests[host.name], to: host.requests, seconds) ?? 0,
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

    /// Nil while the end does not come nearer: pages lead to pages, and nobody knows to how many. It is judged since there
    /// was most to do.
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

extension PrefetchedURL {
    init(_ answer: CrawlAnswer) {
        self.init(
            url: answer.url, kind: answer.kind.rawValue, status: answer.status, failure: answer.failure,
            byteCount: answer.byteCount, elapsed: answer.elapsed)
    }
}
