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
    public let elapsed: Duration
    public let missing: [Missing]
    public let skipped: [Skipped]

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
    }

    /// Linked, and not asked for.
    public struct Skipped: Sendable, Equatable {
        public let url: String
        public let reason: String
        public let referrer: String?
    }

    /// Nothing that a page needs is missing and nothing failed. A page that the site itself says is gone is no failure.
    public var isComplete: Bool {
        !isInterrupted && isPublished && missing.allSatisfy { $0.isGone && !$0.isRequisite }
    }

    init(_ report: CrawlReport) {
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
        elapsed = report.elapsed
        missing = report.missing.map { missing in
            Missing(
                url: missing.url.href, isRequisite: missing.isRequisite, reason: missing.failure.description,
                isGone: missing.failure.isGone, chain: missing.chain.map(\.href))
        }
        skipped = report.skipped.map { skipped in
            Skipped(url: skipped.url.href, reason: skipped.reason.name, referrer: skipped.referrer?.href)
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
        }
    }
}

extension PrefetchReport.Skipped {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("url", url)
            object.member("reason", reason)
            object.memberIfPresent("referrer", referrer)
        }
    }
}
