internal import Check
internal import Crawl
internal import Fetch
internal import Glibc
internal import Reports
internal import System
package import Web

extension Larder {
    /// Looks at some pages of a site, one after the other, and estimates what a prefetch with these options would fetch.
    /// Nothing is kept.
    ///
    /// - Parameter progress: told how many pages were looked at, on a thread of the call's.
    /// - Throws: As `prefetch`.
    public func plan(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions(), mostPages: Int = 120,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> PlanReport {
        let (first, start) = try Self.startURLs(urls)
        var plan = try plan(site: first, start: start, options)
        plan.fetch.spoolFolder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let wanted = plan
        let interruption = Interruption()
        return try await Self.onThread("larder-plan", onCancel: interruption.request) { () throws(LarderError) in
            do throws(CrawlError) {
                var run = try PlanRun(wanted, mostPages: mostPages)
                return PlanReport(
                    site: first.href, try run.run(interruption) { progress?(WorkProgress(.pages, done: $0, of: nil)) })
            } catch {
                throw LarderError(error)
            }
        }
    }
}

/// What a prefetch of a site would fetch, judged by a look at some of its pages.
public struct PlanReport: Sendable, Equatable {
    /// From what is sure to what may be; nil where the sample shows no end.
    public struct Bounds: Sendable, Equatable {
        public let low: Int
        public let high: Int?
    }

    /// Pages whose addresses look alike.
    public struct Group: Sendable, Equatable {
        public let pattern: String
        public let sampled: Int
        public let pages: Bounds
        public let byteCount: Bounds
    }

    public let site: String
    /// What the look cost.
    public let requests: Int
    public let fetchedByteCount: Int
    public let groups: [Group]
    public let pages: Bounds
    /// Pages and what they need.
    public let byteCount: Bounds
    public let seconds: Bounds
    /// Places without an end.
    public let traps: [String]
    /// Too many lists of pages were not looked at for an upper end to be told: a larger sample would tell more.
    public let isSampleTooSmall: Bool
    public let refusedByRobots: Int
    /// What robots.txt asks to wait between two requests, in seconds.
    public let crawlDelay: Double?
    public let isInterrupted: Bool

    init(site: String, _ outcome: PlanRun.Outcome) {
        self.site = site
        requests = outcome.requests
        fetchedByteCount = outcome.byteCount
        groups = outcome.estimate.groups.map { group in
            Group(
                pattern: group.pattern, sampled: group.sampled, pages: Bounds(group.pages),
                byteCount: Bounds(group.byteCount))
        }
        pages = Bounds(outcome.estimate.pages)
        byteCount = Bounds(outcome.estimate.byteCount)
        seconds = Bounds(outcome.estimate.seconds)
        traps = outcome.estimate.traps.map(\.description)
        isSampleTooSmall = outcome.estimate.isSampleTooSmall
        refusedByRobots = outcome.refusedByRobots
        crawlDelay = outcome.crawlDelay.map { $0 / .seconds(1) }
        isInterrupted = outcome.isInterrupted
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension PlanReport.Bounds {
    init(_ bounds: PlanEstimate.Bounds) {
        low = bounds.low
        high = bounds.high
    }
}

extension PlanReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "interrupted": isInterrupted, "requests": requests, "fetchedBytes": fetchedByteCount,
            "pages": pages, "bytes": byteCount, "seconds": seconds, "sampleTooSmall": isSampleTooSmall,
            "refusedByRobots": refusedByRobots, "crawlDelay": IfAny(crawlDelay), "traps": traps,
            "patterns": groups,
        ]
    }
}

extension PlanReport.Group: JSONObject {
    package var members: JSONMembers {
        ["pattern": pattern, "sampled": sampled, "pages": pages, "bytes": byteCount]
    }
}

extension PlanReport.Bounds: JSONObject {
    package var members: JSONMembers { ["low": low, "high": high] }
}
