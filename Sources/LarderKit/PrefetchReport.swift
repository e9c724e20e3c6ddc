internal import Check
public import Crawl
internal import Web

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
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("site", crawl.site)
            object.member("visit", crawl.visit)
            object.member("continued", crawl.isContinued)
            object.member("interrupted", crawl.isInterrupted)
            object.member("published", crawl.isPublished)
            object.member("complete", isComplete)
            object.member("pages", crawl.pages)
            object.member("requisites", crawl.requisites)
            object.member("redirects", crawl.redirects)
            object.member("wrongGuesses", crawl.wrongGuesses)
            object.member("requests", crawl.requests)
            object.member("wireBytes", crawl.wireByteCount)
            object.member("bodyBytes", crawl.bodyByteCount)
            object.member("confirmed", crawl.confirmed)
            object.member("savedBytes", crawl.savedByteCount)
            object.member("insecure", crawl.isInsecure)
            object.member("robots", (plan.robots ?? .obey).rawValue)
            object.member("nofollow", plan.manners.nofollow.rawValue)
            object.member("noindex", plan.manners.noindex.rawValue)
            object.member("heldBack", crawl.isHeldBack)
            object.member("shrunk", crawl.hasShrunk)
            object.memberIfPresent("wall", wall)
            object.member("lostSessions") { list in
                list.array { array in
                    for session in crawl.lostSessions {
                        array.object { object in
                            object.member("origin", session.origin)
                            object.member("login", session.login)
                        }
                    }
                }
            }
            object.memberIfPresent("manifestFailure", manifestFailure)
            object.memberIfPresent("unansweredMisses", unansweredMisses > 0 ? unansweredMisses : nil)
            object.memberIfPresent("served", lastGood?.visit)
            object.memberIfPresent("since", lastGood?.since)
            object.memberIfPresent("limit", limit)
            object.member("traps", traps)
            object.member("hosts") { list in
                list.array { array in for host in hosts { host.write(to: &array) } }
            }
            object.member("seconds", crawl.elapsed / .seconds(1))
            object.member("missing") { list in
                list.array { array in for item in missing { item.write(to: &array) } }
            }
            object.member("skipped") { list in
                list.array { array in for item in skipped { item.write(to: &array) } }
            }
        }
        return writer.text
    }
}

extension PrefetchReport.Missing {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("url", url)
            object.member("requisite", isRequisite)
            object.member("reason", reason)
            object.member("gone", isGone)
            object.member("chain", chain)
            object.member("keptFromBefore", isKeptFromBefore)
        }
    }
}

extension PrefetchReport.Host {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("name", name)
            object.member("requests", requests)
            object.member("failures", failures)
            object.member("bytes", byteCount)
            object.memberIfPresent("version", version)
        }
    }
}

extension PrefetchReport.Skipped {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("url", url)
            object.member("reason", reason)
            object.member("requisite", isRequisite)
            object.memberIfPresent("referrer", referrer)
        }
    }
}
