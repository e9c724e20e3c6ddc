internal import Crawl
internal import Web

/// What a prefetch did, and everything that it did not get.
public struct PrefetchReport: Sendable, Equatable {
    public let site: String
    public let visit: Int64
    /// It went on with what an interrupted run had.
    public let isContinued: Bool
    public let isInterrupted: Bool
    /// What was fetched is what the larder shows from now on.
    public let isPublished: Bool
    public let pages: Int
    public let requisites: Int
    public let redirects: Int
    /// What looked like a link in a script and led to nothing. Nothing is missing for it.
    public let wrongGuesses: Int
    public let requests: Int
    /// What came over the network.
    public let wireByteCount: Int
    /// The bodies that came, without content coding.
    public let bodyByteCount: Int
    /// What the servers said is still as it is held, and the bodies that were therefore not sent.
    public let confirmed: Int
    public let savedByteCount: Int
    public let elapsed: Duration
    /// In the order of their names.
    public let hosts: [Host]
    /// Which limit ended the run, or kept pages out of it.
    public let limit: String?
    /// The number of pages that it is, where it is one.
    public let maxPages: Int?
    /// Patterns of pages that were stopped, since they lead nowhere new.
    public let traps: [String]
    /// Certificates were not looked at.
    public let isInsecure: Bool
    /// Whether robots.txt was obeyed, and what was made of `nofollow` and `noindex`.
    public let robots: RobotsPolicy
    public let nofollow: NofollowPolicy
    public let noindex: RobotsPolicy
    /// It is complete, and not as it has to be, by its manifest or by what came: the visit before goes on being served.
    public let isHeldBack: Bool
    /// That is so since less than half of the pages of the visit before came: something else may have answered for the site.
    public let hasShrunk: Bool
    /// That is so since a login, or a portal, answered in place of the site: what stands in its way.
    public let wall: String?
    /// Hosts that knew the user and ceased to on the way: their pages began to lead to a login, and they were asked no more.
    public let lostSessions: [LostSession]
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

    public struct LostSession: Sendable, Equatable {
        /// `https://example.com`
        public let origin: String
        /// Where its pages led.
        public let login: String
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
        !isInterrupted && isPublished && missing.allSatisfy { $0.isGone && !$0.isRequisite }
            && !skipped.contains { $0.isRequisite && $0.isOverLimit }
    }

    init(_ report: CrawlReport, _ plan: CrawlPlan) {
        site = report.site
        visit = report.visit
        isContinued = report.isContinued
        isInterrupted = report.isInterrupted
        isPublished = report.isPublished
        pages = report.pages
        requisites = report.requisites
        redirects = report.redirects
        wrongGuesses = report.wrongGuesses
        requests = report.requests
        wireByteCount = report.wireByteCount
        bodyByteCount = report.bodyByteCount
        confirmed = report.confirmed
        savedByteCount = report.savedByteCount
        elapsed = report.elapsed
        hosts = report.hosts.sorted { $0.key < $1.key }.map { name, tally in
            Host(
                name: name, requests: tally.requests, failures: tally.failures, byteCount: tally.byteCount,
                version: tally.version)
        }
        limit = report.limit?.description
        maxPages = if case .pages(let count) = report.limit { count } else { nil }
        traps = report.traps.map(\.description)
        isInsecure = report.isInsecure
        robots = plan.obeysRobots ? .obey : .ignore
        nofollow = NofollowPolicy(rawValue: plan.manners.nofollow.rawValue) ?? .pages
        noindex = plan.manners.obeysNoindex ? .obey : .ignore
        isHeldBack = report.isHeldBack
        hasShrunk = report.hasShrunk
        wall = report.wall?.description
        lostSessions = report.lostSessions.map { LostSession(origin: $0.origin, login: $0.place) }
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
            object.member("site", site)
            object.member("visit", visit)
            object.member("continued", isContinued)
            object.member("interrupted", isInterrupted)
            object.member("published", isPublished)
            object.member("complete", isComplete)
            object.member("pages", pages)
            object.member("requisites", requisites)
            object.member("redirects", redirects)
            object.member("wrongGuesses", wrongGuesses)
            object.member("requests", requests)
            object.member("wireBytes", wireByteCount)
            object.member("bodyBytes", bodyByteCount)
            object.member("confirmed", confirmed)
            object.member("savedBytes", savedByteCount)
            object.member("insecure", isInsecure)
            object.member("robots", robots.rawValue)
            object.member("nofollow", nofollow.rawValue)
            object.member("noindex", noindex.rawValue)
            object.member("heldBack", isHeldBack)
            object.member("shrunk", hasShrunk)
            object.memberIfPresent("wall", wall)
            object.member("lostSessions") { list in
                list.array { array in
                    for session in lostSessions {
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
            object.member("seconds", elapsed / .seconds(1))
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
