package import Web

/// What a crawl did, and everything that it did not get.
public struct CrawlReport: Sendable, Equatable {
    public package(set) var site: String
    public package(set) var visit: Int64
    /// It went on with what an interrupted run had.
    public package(set) var isContinued: Bool
    public package(set) var isInterrupted = false
    /// Readers see this visit from now on.
    public package(set) var isPublished = false
    /// It is complete, and the gate did not let it pass.
    public package(set) var isHeldBack = false
    /// That is so since it has too few pages.
    public package(set) var hasShrunk = false
    /// That is so since this stands in the way of the site.
    package var wall: SiteWall?
    /// Where the session ended on the way, so that no more was asked.
    public package(set) var lostSessions: [LostSession] = []
    public package(set) var pages = 0
    public package(set) var requisites = 0
    public package(set) var redirects = 0
    /// What looked like a link in a script and led to nothing.
    public package(set) var wrongGuesses = 0
    public package(set) var requests = 0
    /// What the servers said is still as it is held.
    public package(set) var confirmed = 0
    /// The bodies that were therefore not sent.
    public package(set) var savedByteCount = 0
    /// What the crawl had to do with each host, by name.
    package var hosts: [String: HostTally] = [:]
    /// The limit that ended the crawl, or kept pages out.
    package var limit: CrawlLimits.Reached?
    package var traps: [TrapReason] = []
    /// Certificates are not looked at.
    public package(set) var isInsecure = false
    /// What came over the network.
    public package(set) var wireByteCount = 0
    /// The bodies of this run, without content coding.
    public package(set) var bodyByteCount = 0
    public package(set) var elapsed: Duration = .zero
    package var missing: [Missing] = []
    /// Of what a server missed, what nobody answered to.
    package var unansweredMisses: Set<String> = []
    package var skipped: [Skipped] = []

    /// A host whose pages began to ask for a login.
    public struct LostSession: Sendable, Equatable {
        /// `https://example.com`
        public let origin: String
        /// Where its pages led.
        public let login: String
    }

    /// Asked for, and not got.
    package struct Missing: Sendable, Equatable {
        package var url: WebURL
        package var isRequisite: Bool
        package var failure: Failure
        /// From a start URL to the page that asked for it.
        package var chain: [WebURL]
        /// An earlier visit has it, and readers go on seeing that.
        package var isKeptFromBefore: Bool
    }

    /// Linked, and not asked for.
    package struct Skipped: Sendable, Equatable {
        package var url: WebURL
        package var reason: SkipReason
        package var referrer: WebURL?
        /// Something that is held needs it.
        package var isRequisite: Bool
    }
}
