internal import Check
public import Crawl
package import Web

/// What a prefetch did, and everything that it did not get: the figures of the crawl, such as `pages` and `wireByteCount`, and
/// what became of the visit.
@dynamicMemberLookup
public struct PrefetchReport: Sendable, Equatable {
    private let crawl: CrawlReport
    /// How the site was prefetched.
    public let plan: SitePlan
    /// In the order of their names.
    public let hosts: [Host]
    /// Which limit ended the run, or kept pages out of it.
    public let limit: String?
    /// The number of pages that it is, where it is one.
    public let maxPages: Int?
    /// Patterns of pages that were stopped, since they lead nowhere new.
    public let traps: [String]
    /// It was held back since a login, or a portal, answered in place of the site: what stands in its way.
    public let wall: String?
    /// What a manifest's bundles are in the visit; nil where no manifest was given.
    public internal(set) var check: CheckReport?
    /// Why the site's manifest could not be had, so that the last known one held; nil where it could, or there is none.
    public internal(set) var manifestFailure: String?
    /// The last good visit of a manifest's site: it goes on being served, since not enough could be had. Nil otherwise.
    public internal(set) var lastGood: LastGood?
    /// How many of those that a server missed and noted nobody answered: they stay noted for the next run.
    public internal(set) var unansweredMisses = 0
    public let missing: [Missing]
    public let skipped: [Skipped]

    public struct LastGood: Sendable, Equatable {
        public let visit: Int64
        /// When it began, in seconds since 1970.
        public let since: Int64

        /// The same in universal time: `2026-01-31T12:00:00Z`.
        public var date: String { HTTPDate(secondsSinceEpoch: since).iso8601 }
    }

    /// Asked for, and not got.
    public struct Missing: Sendable, Equatable {
        public let url: String
        /// A page needs it to look and work as it did.
        public let isRequisite: Bool
        public let reason: String
        /// The server says that there is no such thing.
        public let isGone: Bool
        /// From a start URL to the page that asked for it.
        public let chain: [String]
        /// An earlier visit has it, and that goes on being served.
        public let isKeptFromBefore: Bool
        /// Something came, and was not what a manifest requires.
        let isAltered: Bool
    }

    public struct Host: Sendable, Equatable {
        public let name: String
        public let requests: Int
        /// Of them, those that got no answer, or one that the server is to blame for.
        public let failures: Int
        public let byteCount: Int
        /// `HTTP/1.1`, `HTTP/2`; nil when it never answered.
        public let version: String?
    }

    /// Linked, and not asked for.
    public struct Skipped: Sendable, Equatable {
        public let url: String
        public let reason: String
        public let referrer: String?
        /// A page that is held needs it.
        public let isRequisite: Bool
        /// It would have been fetched, had the run been allowed more.
        public let isOverLimit: Bool
    }

    /// Nothing that a page needs is missing and nothing failed. A page that the site itself says is gone is no failure.
    public var isComplete: Bool {
        !crawl.isInterrupted && crawl.isPublished && missing.allSatisfy { $0.isGone && !$0.isRequisite }
            && !skipped.contains { $0.isRequisite && $0.isOverLimit }
    }

    public subscript<Value>(dynamicMember figure: KeyPath<CrawlReport, Value>) -> Value { crawl[keyPath: figure] }

    init(_ report: CrawlReport, _ plan: SitePlan) {
        var figures = report
        // They are told below.
        (figures.missing, figures.skipped) = ([], [])
        crawl = figures
        self.plan = plan
        hosts = report.hosts.sorted { $0.key < $1.key }.map { name, tally in
            Host(
                name: name, requests: tally.requests, failures: tally.failures, byteCount: tally.byteCount,
                version: tally.version)
        }
        limit = report.limit?.description
        maxPages = if case .pages(let count) = report.limit { count } else { nil }
        traps = report.traps.map(\.description)
        wall = report.wall?.description
        missing = report.missing.map { missing in
            Missing(
                url: missing.url.href, isRequisite: missing.isRequisite, reason: missing.failure.description,
                isGone: missing.failure.isGone, chain: missing.chain.map(\.href),
                isKeptFromBefore: missing.isKeptFromBefore, isAltered: missing.failure.isAltered)
        }
        skipped = report.skipped.map { skipped in
            Skipped(
                url: skipped.url.href, reason: skipped.reason.name, referrer: skipped.referrer?.href,
                isRequisite: skipped.isRequisite, isOverLimit: skipped.reason.isOfLimit)
        }
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension PrefetchReport: JSONObject {
    package var members: JSONMembers { runMembers + visitMembers + listMembers }

    private var runMembers: JSONMembers {
        [
            "site": crawl.site, "visit": crawl.visit, "continued": crawl.isContinued,
            "interrupted": crawl.isInterrupted, "published": crawl.isPublished, "complete": isComplete,
            "pages": crawl.pages, "requisites": crawl.requisites, "redirects": crawl.redirects,
            "wrongGuesses": crawl.wrongGuesses, "requests": crawl.requests, "wireBytes": crawl.wireByteCount,
            "bodyBytes": crawl.bodyByteCount, "confirmed": crawl.confirmed, "savedBytes": crawl.savedByteCount,
            "insecure": crawl.isInsecure, "robots": (plan.robots ?? .obey).rawValue,
            "nofollow": plan.manners.nofollow.rawValue, "noindex": plan.manners.noindex.rawValue,
        ]
    }

    /// What became of the visit.
    private var visitMembers: JSONMembers {
        [
            "heldBack": crawl.isHeldBack, "shrunk": crawl.hasShrunk, "wall": IfAny(wall),
            "lostSessions": crawl.lostSessions.map { ["origin": $0.origin, "login": $0.login] as JSONMembers },
            "manifestFailure": IfAny(manifestFailure),
            "unansweredMisses": IfAny(unansweredMisses > 0 ? unansweredMisses : nil),
            "served": IfAny(lastGood?.visit), "since": IfAny(lastGood?.since), "limit": IfAny(limit),
        ]
    }

    private var listMembers: JSONMembers {
        [
            "traps": traps, "hosts": hosts, "seconds": crawl.elapsed / .seconds(1), "missing": missing,
            "skipped": skipped,
        ]
    }
}

extension PrefetchReport.Missing: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "requisite": isRequisite, "reason": reason, "gone": isGone, "chain": chain,
            "keptFromBefore": isKeptFromBefore,
        ]
    }
}

extension PrefetchReport.Host: JSONObject {
    package var members: JSONMembers {
        [
            "name": name, "requests": requests, "failures": failures, "bytes": byteCount,
            "version": IfAny(version),
        ]
    }
}

extension PrefetchReport.Skipped: JSONObject {
    package var members: JSONMembers {
        ["url": url, "reason": reason, "requisite": isRequisite, "referrer": IfAny(referrer)]
    }
}
