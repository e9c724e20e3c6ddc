public import Check
public import Crawl
package import Fetch
public import Search
public import Store
public import Web

/// The result of a prefetch or update. The members of `CrawlReport`, such as `pages`, `missing` and
/// `wireByteCount`, are members of this report too.
@dynamicMemberLookup
public struct PrefetchReport: Sendable, Equatable {
    private var crawl: CrawlReport
    /// The plan by which the site was prefetched.
    public let plan: SitePlan
    /// The check of the manifest's bundles in the snapshot; nil if there is no manifest.
    public package(set) var check: CheckReport?
    /// Why the site's manifest could not be loaded, or that it has expired, so that its last version applied; nil if it
    /// was loaded, or there is none.
    public package(set) var manifestFailure: String?
    /// Whether the manifest was not used because it has expired.
    public package(set) var isManifestExpired = false
    /// Why the time of the site's manifest does not fit the clock of this machine; nil if it does.
    public package(set) var manifestWarning: String?
    /// The last good snapshot of a site with a manifest, if it stays live because too little could be loaded;
    /// else nil.
    public package(set) var lastGood: LastGood?
    /// The number of the snapshot that was live before the run; nil if there was none, or if the run added to it.
    package var previousSnapshot: Int64?
    /// The number of recorded misses that no server answered. They stay recorded for the next run.
    public package(set) var unansweredMisses = 0

    /// The result of adding the pages to the search index; nil if that was left out.
    public package(set) var indexing: IndexReport?

    /// The comparison of some pages offline and online; nil if no page was opened.
    public package(set) var rehearsal: Rehearsal?
    /// Whether the user interrupted the rehearsal before every kind of pages was compared. What the prefetch stored is complete.
    public var isRehearsalInterrupted: Bool { rehearsal?.isInterrupted ?? false }

    /// The time that the user waited for the prefetch: that of the crawl, of the rehearsal and of the indexing.
    public package(set) var elapsed: Duration
    /// The part of `elapsed` that the rehearsal took, with the download of missing files; zero if no page was opened.
    public package(set) var rehearsalElapsed: Duration = .zero

    /// How many cookies of the user's files are for the site; nil without such files.
    package var cookies: CookieCounts?

    /// The number of all cookies in the user's files, of the valid ones for the site, and of the expired ones for it;
    /// nil without such files.
    public var cookieCounts: (total: Int, valid: Int, expired: Int)? {
        cookies.map { ($0.total, $0.valid, $0.expired) }
    }

    /// This worker's part in a shared snapshot; nil if no other workers took part.
    public package(set) var work: Work?

    /// A worker's part in a shared snapshot. The last worker's report covers the whole snapshot; the other
    /// reports cover only the worker's own requests.
    public struct Work: Sendable, Equatable {
        /// The unique number of the worker.
        public let worker: Int
        /// Whether this worker ended the snapshot.
        public let isLast: Bool
        /// How often other workers took over its hosts because it did not renew its leases in time.
        public let lostLeases: Int
    }

    /// The last good snapshot of a site with a manifest.
    public struct LastGood: Sendable, Equatable {
        /// The number of the snapshot.
        public let snapshot: Int64
        /// The time at which it began.
        public let since: Timestamp

        /// The time at which it began, in UTC: `2026-01-31T12:00:00Z`.
        public var date: String { since.description }
    }

    /// Whether nothing failed, and no limit cut the run short (`MissingURLCounts.isComplete`). URLs that are broken on the live
    /// site do not count, except bundles that a manifest promises, nor do recorded misses that no page links to.
    public var isComplete: Bool { hasSucceeded && !crawl.isCutShort }

    /// Whether the snapshot is live and nothing failed, so that another run with the same settings would bring nothing more.
    public var hasSucceeded: Bool {
        !crawl.isInterrupted && crawl.isPublished && reasonForOnePage == nil
            && crawl.missing.allSatisfy { $0.isBroken && !($0.isAsset && check != nil) || $0.isRecordedMiss }
            && crawl.unread.isEmpty
    }

    /// Why the snapshot has only one page, although that page links to others of the site: the directive of the
    /// site that the crawl obeyed; nil otherwise.
    public var reasonForOnePage: String? {
        guard crawl.isPublished, crawl.pages == 1, crawl.limit == nil, !crawl.isContinued else { return nil }
        let leftOut = crawl.skipped.filter { !$0.isAsset && $0.cause.isOfSite }
        // A site of one page may well have a link to its administration.
        return leftOut.first { $0.cause == .nofollow }?.reason
            ?? (leftOut.count > 2 ? leftOut[0].reason : nil)
    }

    /// A member of the crawl's report.
    public subscript<Value>(dynamicMember figure: KeyPath<CrawlReport, Value>) -> Value {
        crawl[keyPath: figure]
    }

    init(_ report: CrawlReport, _ plan: SitePlan) {
        crawl = report
        elapsed = report.elapsed
        self.plan = plan
    }

    /// Marks the snapshot as rejected, because all its bundles were.
    mutating func reject() { crawl.isRejected = true }

    /// Continues with the report of a later run that fetched missing responses.
    package mutating func `continue`(with further: PrefetchReport) {
        var next = further.crawl
        next.include(crawl)
        crawl = next
        elapsed += further.elapsed
        check = further.check ?? check
        unansweredMisses = further.unansweredMisses
    }

    /// Sets the number of the snapshot, which has taken the place of an earlier one of the same run.
    package mutating func renumberSnapshot(as number: Int64) { crawl.snapshot = number }

    /// Removes URLs from the missing ones.
    mutating func removeMissing(_ urls: Set<String>) { crawl.missing.removeAll { urls.contains($0.url) } }

    /// The limit that ended the run, or left pages out.
    public var limit: String? { crawl.limit?.description }
    /// The option that lets the next run continue beyond the limit.
    public var remedy: Remedy? { crawl.limit?.remedy }
    /// The limit, if it is one of the number of pages.
    public var maxPages: Int? { if case .pages(let count)? = crawl.limit { count } else { nil } }
    /// URL patterns of pages that were no longer followed, because they link only to ever more pages of the
    /// same kind.
    public var traps: [String] { crawl.traps.map(\.description) }
    /// The login page or captive portal that answered in place of the site, so that the snapshot was rejected; nil if
    /// there was none.
    public var loginPage: String? { crawl.interceptionPage?.description }
    /// The URL of a start page that has a field for a password, if the run was not logged in. Pages behind the
    /// login are then not stored. Nil if no start page has such a field.
    public var passwordPage: String? { crawl.passwordPage }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension PrefetchReport: JSONObject {
    package var members: JSONMembers {
        runMembers + workMembers + snapshotMembers + [
            "rendering": crawl.rendering, "rehearsal": IfAny(rehearsal), "index": IfAny(indexing?.members),
        ]
            + listMembers
    }

    private var runMembers: JSONMembers {
        [
            "site": crawl.site, "snapshot": crawl.snapshot, "continued": crawl.isContinued,
            "interrupted": crawl.isInterrupted, "live": crawl.isPublished, "unchanged": crawl.isUnchanged,
            "complete": isComplete,
            "pages": crawl.pages, "assets": crawl.assets, "redirects": crawl.redirects,
            "broken": crawl.missingURLs.broken, "failed": crawl.missingURLs.failed,
            "notFetched": crawl.missingURLs.notFetched,
            "wrongGuesses": crawl.wrongGuesses, "requests": crawl.requests, "wireBytes": crawl.wireByteCount,
            "bodyBytes": crawl.bodyByteCount, "confirmed": crawl.confirmed,
            "savedBytes": crawl.savedByteCount,
            "insecure": crawl.isInsecure, "robots": (plan.robots ?? .obey).rawValue,
            "nofollow": plan.directivePolicy.nofollow.rawValue,
            "noindex": plan.directivePolicy.noindex.rawValue,
        ]
    }

    private var workMembers: JSONMembers {
        let members: JSONMembers? = work.map {
            ["worker": $0.worker, "last": $0.isLast, "lostLeases": $0.lostLeases]
        }
        return ["work": IfAny(members)]
    }

    /// The members about the state of the snapshot.
    private var snapshotMembers: JSONMembers {
        [
            "rejected": crawl.isRejected, "shrunk": crawl.hasShrunk, "replacedBy": IfAny(loginPage),
            "passwordPage": IfAny(passwordPage),
            "lostSessions": crawl.lostSessions.map {
                ["origin": $0.origin, "login": $0.login] as JSONMembers
            },
            "keptStored": IfAny(
                crawl.keptStored.map { ["reason": $0.reason, "count": $0.count] as JSONMembers }),
            "deferrals": IfAny(
                crawl.deferrals.map { ["host": $0.host, "seconds": $0.seconds] as JSONMembers }),
            "challenges": IfAny(
                crawl.challengedHosts.map {
                    ["host": $0.host, "service": $0.service, "count": $0.count] as JSONMembers
                }),
            "cookies": IfAny(
                cookies.map {
                    ["total": $0.total, "valid": $0.valid, "expired": $0.expired] as JSONMembers
                }),
            "manifestFailure": IfAny(manifestFailure), "manifestWarning": IfAny(manifestWarning),
            "unansweredMisses": IfAny(unansweredMisses > 0 ? unansweredMisses : nil),
            "liveSnapshot": IfAny(lastGood?.snapshot), "liveSince": IfAny(lastGood?.date),
            "limit": IfAny(limit),
        ]
    }

    private var listMembers: JSONMembers {
        [
            "traps": traps, "hosts": crawl.hosts, "seconds": elapsed / .seconds(1),
            "rehearsalSeconds": IfAny(rehearsalElapsed > .zero ? rehearsalElapsed / .seconds(1) : nil),
            "missing": crawl.missing,
            "skipped": crawl.skipped, "unread": IfAny(crawl.unread), "overlong": IfAny(crawl.overlong),
        ]
    }
}
