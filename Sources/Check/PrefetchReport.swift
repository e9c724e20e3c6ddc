public import Crawl
public import Search
public import Store
package import Web

/// What a prefetch did, and everything that it did not get: the figures of the crawl, such as `pages`,
/// `missing` and `wireByteCount`, and what became of the visit.
@dynamicMemberLookup
public struct PrefetchReport: Sendable, Equatable {
    private var crawl: CrawlReport
    /// How the site was prefetched.
    public let plan: SitePlan
    /// What a manifest's bundles are in the visit; nil where no manifest was given.
    public package(set) var check: CheckReport?
    /// Why the site's manifest could not be had, so that the last known one held; nil where it could, or
    /// there is none.
    public package(set) var manifestFailure: String?
    /// The last good visit of a manifest's site: it goes on being served, since not enough could be had. Nil
    /// otherwise.
    public package(set) var lastGood: LastGood?
    /// How many of those that a server missed and noted nobody answered: they stay noted for the next run.
    public package(set) var unansweredMisses = 0

    /// What became of the words that came, by which pages are found; nil where that was left out.
    public package(set) var indexing: IndexReport?

    /// What part of a visit that several workers share this is; nil where one had it alone.
    public package(set) var work: Work?

    /// A worker's part. What the last one reports is all of the visit; the others report what they asked for.
    public struct Work: Sendable, Equatable {
        /// The worker's number, which nobody else gets.
        public let worker: Int
        /// It ended the visit.
        public let isLast: Bool
        /// How often others went on with what it had, as it was not heard of for too long.
        public let lostLeases: Int
    }

    public struct LastGood: Sendable, Equatable {
        public let visit: Int64
        /// When it began, in seconds since 1970.
        public let since: Int64

        /// The same in universal time: `2026-01-31T12:00:00Z`.
        public var date: String { HTTPDate(secondsSinceEpoch: since).iso8601 }
    }

    /// Nothing that a page needs is missing and nothing failed. A page that the site itself says is gone is
    /// no failure, nor is what somebody asked a server for and no page leads to.
    public var isComplete: Bool {
        !crawl.isInterrupted && crawl.isPublished
            && crawl.missing.allSatisfy { $0.isGone && !$0.isRequisite || $0.isNoted }
            && !crawl.skipped.contains { $0.isRequisite && $0.isOverLimit } && crawl.unread.isEmpty
    }

    public subscript<Value>(dynamicMember figure: KeyPath<CrawlReport, Value>) -> Value {
        crawl[keyPath: figure]
    }

    init(_ report: CrawlReport, _ plan: SitePlan) {
        crawl = report
        self.plan = plan
    }

    /// All that came was refused: there is no more of a visit to be served than of one that the gate stops.
    mutating func holdBack() { crawl.isHeldBack = true }

    /// These are no losses.
    mutating func forgive(_ urls: Set<String>) { crawl.missing.removeAll { urls.contains($0.url) } }

    /// Which limit ended the run, or kept pages out of it.
    public var limit: String? { crawl.limit?.description }
    /// What would have the next run go further.
    public var remedy: Remedy? { crawl.limit?.remedy }
    /// The number of pages that it is, where it is one.
    public var maxPages: Int? { if case .pages(let count)? = crawl.limit { count } else { nil } }
    /// Patterns of pages that were stopped, since they lead nowhere new.
    public var traps: [String] { crawl.traps.map(\.description) }
    /// It was held back since a login, or a portal, answered in place of the site: what stands in its way.
    public var wall: String? { crawl.wall?.description }

    /// The report for programs.
    public var json: String { members.text() }
}

extension PrefetchReport: JSONObject {
    package var members: JSONMembers {
        runMembers + workMembers + visitMembers + [
            "rendering": crawl.rendering, "index": IfAny(indexing?.members),
        ]
            + listMembers
    }

    private var runMembers: JSONMembers {
        [
            "site": crawl.site, "visit": crawl.visit, "continued": crawl.isContinued,
            "interrupted": crawl.isInterrupted, "published": crawl.isPublished, "complete": isComplete,
            "pages": crawl.pages, "requisites": crawl.requisites, "redirects": crawl.redirects,
            "wrongGuesses": crawl.wrongGuesses, "requests": crawl.requests, "wireBytes": crawl.wireByteCount,
            "bodyBytes": crawl.bodyByteCount, "confirmed": crawl.confirmed,
            "savedBytes": crawl.savedByteCount,
            "insecure": crawl.isInsecure, "robots": (plan.robots ?? .obey).rawValue,
            "nofollow": plan.manners.nofollow.rawValue, "noindex": plan.manners.noindex.rawValue,
        ]
    }

    private var workMembers: JSONMembers {
        let members: JSONMembers? = work.map {
            ["worker": $0.worker, "last": $0.isLast, "lostLeases": $0.lostLeases]
        }
        return ["work": IfAny(members)]
    }

    /// What became of the visit.
    private var visitMembers: JSONMembers {
        [
            "heldBack": crawl.isHeldBack, "shrunk": crawl.hasShrunk, "wall": IfAny(wall),
            "lostSessions": crawl.lostSessions.map {
                ["origin": $0.origin, "login": $0.login] as JSONMembers
            },
            "keptStored": IfAny(
                crawl.keptStored.map { ["reason": $0.reason, "count": $0.count] as JSONMembers }),
            "deferrals": IfAny(
                crawl.deferrals.map { ["host": $0.host, "seconds": $0.seconds] as JSONMembers }),
            "manifestFailure": IfAny(manifestFailure),
            "unansweredMisses": IfAny(unansweredMisses > 0 ? unansweredMisses : nil),
            "served": IfAny(lastGood?.visit), "since": IfAny(lastGood?.since), "limit": IfAny(limit),
        ]
    }

    private var listMembers: JSONMembers {
        [
            "traps": traps, "hosts": crawl.hosts, "seconds": crawl.elapsed / .seconds(1),
            "missing": crawl.missing,
            "skipped": crawl.skipped, "unread": IfAny(crawl.unread), "overlong": IfAny(crawl.overlong),
        ]
    }
}
