package import Web

/// What a crawl did, and everything that it did not get.
package struct CrawlReport: Sendable {
    package var site: String
    package var visit: Int64
    /// It went on with what an interrupted run had.
    package var isContinued: Bool
    package var isInterrupted = false
    /// Readers see this visit from now on.
    package var isPublished = false
    /// It is complete, and the gate did not let it pass.
    package var isHeldBack = false
    /// That is so since it has too few pages.
    package var hasShrunk = false
    /// That is so since this stands in the way of the site.
    package var wall: SiteWall?
    /// Where the session ended on the way, so that no more was asked.
    package var lostSessions: [LostSession] = []
    package var pages = 0
    package var requisites = 0
    package var redirects = 0
    /// What looked like a link in a script and led to nothing.
    package var wrongGuesses = 0
    package var requests = 0
    /// What the servers said is still as it is held.
    package var confirmed = 0
    /// The bodies that were therefore not sent.
    package var savedByteCount = 0
    /// What the crawl had to do with each host, by name.
    package var hosts: [String: HostTally] = [:]
    /// The limit that ended the crawl, or kept pages out.
    package var limit: CrawlLimits.Reached?
    package var traps: [TrapReason] = []
    /// Certificates are not looked at.
    package var isInsecure = false
    /// What came over the network.
    package var wireByteCount = 0
    /// The bodies of this run, without content coding.
    package var bodyByteCount = 0
    package var elapsed: Duration = .zero
    package var missing: [Missing] = []
    /// Of what a server missed, what nobody answered to.
    package var unansweredMisses: Set<String> = []
    package var skipped: [Skipped] = []

    /// A host whose pages began to ask for a login.
    package struct LostSession: Sendable, Equatable {
        package var origin: String
        /// Where that login is.
        package var place: String
    }

    /// Asked for, and not got.
    package struct Missing: Sendable {
        package var url: WebURL
        package var isRequisite: Bool
        package var failure: Failure
        /// From a start URL to the page that asked for it.
        package var chain: [WebURL]
        /// An earlier visit has it, and readers go on seeing that.
        package var isKeptFromBefore: Bool
    }

    /// Linked, and not asked for.
    package struct Skipped: Sendable {
        package var url: WebURL
        package var reason: SkipReason
        package var referrer: WebURL?
        /// Something that is held needs it.
        package var isRequisite: Bool
    }
}
