package import Bundles
package import Fetch
package import Store
package import System
package import Web

/// The instructions for one run of a site: what to fetch, how, and with which limits. The part that the store
/// keeps with the site is `sitePlan`; everything else applies to this run only.
package struct CrawlPlan: Sendable {
    /// The name of the site.
    package var site: String
    /// The start URLs.
    package var start: [WebURL]
    /// The nearest network zone that requests for the start URLs and for `sitemaps` may connect to.
    package var startZone: NetworkZone
    /// The network zones of URLs that a manifest names: the assets, and the start URLs if it names those.
    package var manifestZones: ManifestZones
    /// Sitemaps that the user names.
    package var sitemaps: [WebURL] = []
    /// Assets that are fetched even if no page links to them.
    package var assets: [WebURL] = []
    /// The page limit of the earlier runs, if this run has a higher one or none. A live snapshot that has
    /// this many pages is continued.
    package var previousMaxPages: Int?
    /// Finds out whether a host has an address.
    var hostLookup: @Sendable (String) -> HostLookup.Answer = HostLookup.answer
    /// Recorded misses, which this run tries to fetch.
    package var recordedMisses: [RecordedMiss] = []
    /// Whether the site consists of assets and their own assets. Pages are not fetched, and the start URLs
    /// only identify the site.
    package var startsAtAssets = false
    /// Whether the links of assets and pages are followed.
    package var followsLinks = true
    /// The digests that bodies must have. A stored body that matches is used without a request under every
    /// policy; a received body that does not match is not stored.
    package var required = Requirements()
    /// Responses that were fetched before the crawl began, such as the manifest. They are stored in the
    /// snapshot.
    package var documents: [Document] = []
    /// Responses in place of those of servers; nil to send requests for all URLs.
    package var supplied: SuppliedResponses?
    /// A snapshot with fewer pages is rejected; nil for no minimum.
    package var minPages: Int?
    /// Whether the stored responses of the start URLs were fetched with credentials. If so, a login page in
    /// place of a stored page is not accepted as the site.
    package var hadSession = false
    /// Whether a snapshot that has a login page or a captive portal in place of the site is rejected.
    package var rejectsInterceptionPages = false
    /// Whether stored responses are kept if the new ones look like those of a captive portal or a broken
    /// server.
    package var checksReplacements = true
    /// Whether stored responses that were fetched with credentials are kept, because this run does not have
    /// the credentials.
    package var keepsPrivate = false
    /// Decides whether a complete and fully stored snapshot may go live. `refused` contains the responses
    /// that did not match their digests: the reasons by URL.
    package var publishCheck:
        (@Sendable (_ snapshot: Int64, _ refused: [String: String]) throws(StoreError) -> Bool)?
    package var folder: StoreFolder
    /// The options of the fetch loop. `fetchOfSnapshot` completes them for a run.
    package var fetch: FetchOptions
    /// Whether all requests have a `Referer`, rather than only those to hosts that refuse requests without it.
    var sendsReferrer = false
    /// The cookie files that the user named.
    package var cookieFiles: [String] = []
    /// Receives messages for the user before the crawl.
    package var notice: (@Sendable (String) -> Void)?
    /// The settings of the site that the store keeps.
    package var sitePlan = SitePlan()
    /// The limits of this run.
    package var limits = CrawlLimits()
    /// The maximum time to wait for hosts that have never responded once everything else is done; nil for no
    /// maximum.
    package var patience: Duration? = .seconds(10)
    /// How pages are rendered; nil if none is.
    package var rendering: RenderPlan?
    /// The URLs of pages that are rendered although automatic mode would not choose them.
    package var alwaysRendered: Set<String> = []
    /// The maximum number of links of each role that are followed from one document. Further links are not followed, and
    /// the document is listed in `CrawlReport.overlong`.
    var maxLinksPerDocument = Self.defaultMaxLinks
    /// The number of threads that scan and store responses.
    package var scanThreads = 2
    /// If not nil, the run requests only a part of the site: the new snapshot takes over the other responses of the live
    /// one, except those of these URLs.
    package var urlsNotTakenOver: Set<String>?
    /// Whether other workers may fetch the same snapshot.
    package var isShared = false
    /// The name of the crawler in robots.txt; nil to ignore robots.txt and not request it.
    package var productToken: String?
    /// Origins whose robots.txt the previous site of the same command could not load. Each is requested once, and
    /// pages do not wait for retries.
    package var failedRobotsOrigins: Set<String> = []
    /// The zone that every request may connect to, whatever response names its URL. The option of the user of
    /// this machine that allows private addresses makes it nearer.
    package var allowedZone = NetworkZone.publicNetwork
    /// The cache policy for stored responses.
    package var policy = CachePolicy.revalidate
    /// The user's rules, which override response headers or forbid storing.
    package var rules = CacheRules()
    /// The program that downloads videos whose players cannot be mirrored; nil if there is none.
    package var mediaCommand: MediaCommand?
    /// Called on a scan thread before a body is stored. Returns the response to store in its place, or nil to
    /// store none.
    package var willStore: WillStore?
    /// Whether a snapshot is published only if the run made a request. Otherwise the live snapshot stays.
    package var requiresRequestToPublish = false
    /// Called with the progress about ten times a second, on the crawl's thread.
    package var progress: (@Sendable (PrefetchProgress) -> Void)?
    /// Called for each result of a request, on the crawl's thread.
    package var fetched: (@Sendable (PrefetchedURL) -> Void)?

    /// The sitemap protocol allows up to 50,000 URLs per file. A document with millions of links would take
    /// gigabytes of memory.
    static let defaultMaxLinks = 100_000

    /// A recorded miss: a request that the store could not answer.
    package struct RecordedMiss: Sendable {
        package var url: WebURL
        /// Whether the request was a navigation.
        package var isPage: Bool
        /// The nearest network zone that the requester was allowed to connect to.
        package var nearestZone: NetworkZone
        /// The origin of the page that sent a CORS request; nil for other requests.
        package var origin: String?

        /// Returns nil if the miss has no valid URL. A mirror's host name does not distinguish http from
        /// https, so an https URL becomes http if all start URLs on its host are http.
        package init?(_ miss: Miss, start: [WebURL] = []) {
            guard var url = WebURL(miss.href) else { return nil }
            if url.scheme == "https", case let startsOnHost = start.filter({ $0.host == url.host }),
                !startsOnHost.isEmpty,
                startsOnHost.allSatisfy({ $0.scheme == "http" }),
                let httpURL = WebURL("http" + url.href.dropFirst("https".count))
            {
                url = httpURL
            }
            self.url = url
            isPage = miss.isPage
            nearestZone = miss.from.zone
            origin = miss.origin
        }
    }

    /// The network zones of URLs that a manifest names.
    package struct ManifestZones: Sendable {
        /// The zone that the manifest came from.
        package var nearestZone: NetworkZone
        /// Whether the manifest names the start URLs.
        package var isStart = false
        /// Origins that the user named as the base of the manifest: they have the zone of start URLs.
        package var givenOrigins: Set<String> = []

        package init(nearestZone: NetworkZone) { self.nearestZone = nearestZone }
    }

    /// A response that was fetched before the crawl began.
    package struct Document: Sendable {
        /// The URL.
        package var href: String
        /// The request to which this is the response.
        package var request: RequestKey
        package var fields: HTTPFields
        package var bytes: [UInt8]

        package init(href: String, request: RequestKey = .get, fields: HTTPFields, bytes: [UInt8]) {
            self.href = href
            self.request = request
            self.fields = fields
            self.bytes = bytes
        }
    }

    /// - Parameter startZone: the nearest network zone that requests for the start URLs may connect to.
    package init(
        site: String, start: [WebURL], startZone: NetworkZone, folder: StoreFolder, userAgent: String
    ) {
        self.site = site
        self.start = start
        self.startZone = startZone
        manifestZones = ManifestZones(nearestZone: startZone)
        self.folder = folder
        fetch = FetchOptions(userAgent: userAgent, spoolFolder: folder.incoming)
    }

    /// The scope of the site. A site of bundles has no pages, so its depth is 0.
    var scope: ScopeOptions {
        var scope = sitePlan.scope
        if startsAtAssets { scope.depth = 0 }
        return scope
    }

    /// The maximum number of concurrent requests to a host.
    package var connectionsPerHost: Int { sitePlan.connectionsPerHost ?? 16 }

    /// The fetch options of the run. Without a cookie jar of the user, the run has a temporary one: some
    /// servers set a cookie and redirect until they receive it.
    var fetchOfSnapshot: FetchOptions {
        var options = fetch
        options.maxConnectionsPerHost = connectionsPerHost
        options.describesParts = true
        guard options.cookies == nil else { return options }
        var cookies = CookieOptions()
        cookies.belongToSnapshot = true
        options.cookies = cookies
        return options
    }

    /// Begins the snapshot, or continues an unfinished one, and stores the settings of the site in it.
    func begin(by writer: StoreWriter) throws(StoreError) -> OpenSnapshot {
        var snapshot = try writer.begin(
            site: site, start: start.map(\.href), now: Crawl.secondsSinceEpoch(), beyond: previousMaxPages,
            isGated: publishCheck != nil)
        snapshot.urlsNotTakenOver = urlsNotTakenOver
        try writer.storeSettings(sitePlan.text, of: snapshot)
        return snapshot
    }

    /// Whether the only cookies are those that servers set during this run, so that requests without them are possible.
    var hasOnlyOwnCookies: Bool { fetch.cookies == nil && !hasSession && fetch.hostFields.isEmpty }

    /// Whether the user has a session with a server, in this run or when the site was stored.
    var hasSession: Bool { fetch.hasSession || hadSession }

    /// The nearest network zone that a request for a start URL may connect to.
    func nearestStartZone(of url: WebURL) -> NetworkZone {
        manifestZones.isStart ? nearestZone(ofNamed: url) : startZone
    }

    /// The nearest network zone that a request for a URL of the manifest may connect to.
    func nearestZone(ofNamed url: WebURL) -> NetworkZone {
        manifestZones.givenOrigins.contains(url.origin)
            ? startZone : min(manifestZones.nearestZone, startZone)
    }

    /// The options of the frontier for this run.
    var frontierOptions: Frontier.Options {
        Frontier.Options(
            connectionsPerHost: connectionsPerHost, limits: limits, obeysRobots: sitePlan.obeysRobots,
            productToken: productToken, failedRobotsOrigins: failedRobotsOrigins, hasSession: hasSession,
            followsLinks: followsLinks, requestsLinks: supplied?.isComplete != true,
            followsGuesses: sitePlan.guesses, patience: patience, views: sitePlan.leftOut?.views ?? [:],
            branches: sitePlan.leftOut?.branches ?? [:],
            rendering: rendering.map {
                RenderScheduler(
                    mode: $0.mode, tabs: $0.tabs, known: sitePlan.rendered,
                    renderedPatterns: sitePlan.renderedPatterns,
                    always: alwaysRendered)
            }
                ?? RenderScheduler())
    }
}

/// The limits of one run; nil for no limit.
public struct CrawlLimits: Sendable, Equatable {
    /// The number of pages, from the site's plan.
    package var pages: Int?
    /// The number of bytes received from the network.
    public var byteCount: Int?
    /// The duration of the run.
    public var time: Duration?

    /// Creates limits that allow everything.
    public init() {}

    package init(pages: Int? = nil, byteCount: Int? = nil, time: Duration? = nil) {
        self.pages = pages
        self.byteCount = byteCount
        self.time = time
    }

    /// The resources that a crawl has used so far.
    package struct Usage: Sendable, Equatable {
        /// The number of requested pages, whatever their outcome; retries do not count.
        package var pages = 0
        /// The number of bytes received from the network.
        package var byteCount = 0
        /// The time since the crawl began.
        package var elapsed: Duration = .zero
    }

    /// The limit that was reached.
    package enum Reached: Sendable, Hashable, CustomStringConvertible {
        /// The maximum number of pages.
        case pages(Int)
        /// The maximum number of bytes received from the network.
        case byteCount(Int)
        /// The maximum duration.
        case time(Duration)

        package var description: String {
            switch self {
            case .pages(1): "the limit of 1 page was reached"
            case .pages(let count): "the limit of \(count) pages was reached"
            case .byteCount(let count): "the limit of \(count) bytes was reached"
            case .time(let time): "the limit of \(time.components.seconds) s was reached"
            }
        }

        /// The option with which the next run has a higher limit.
        package var remedy: Remedy {
            switch self {
            case .pages: .maxPages
            case .byteCount: .maxBytes
            case .time: .maxTime
            }
        }
    }

    /// Why no further request may start; nil while one may. The limit of pages does not count here: assets of
    /// the pages before the limit are still fetched, so that these pages are complete.
    func reasonToStop(_ usage: Usage) -> Reached? {
        if let time, usage.elapsed >= time { return .time(time) }
        if let byteCount, usage.byteCount >= byteCount { return .byteCount(byteCount) }
        return nil
    }

    /// Why no further page may start; nil while one may.
    func reasonToStopPages(_ usage: Usage) -> Reached? {
        if let reason = reasonToStop(usage) { return reason }
        if let pages, usage.pages >= pages { return .pages(pages) }
        return nil
    }
}

/// The error that ended a crawl early. Everything stored until then is kept.
package enum CrawlError: Error, Sendable, CustomStringConvertible {
    /// The store could not be read or written.
    case store(StoreError)
    /// This machine could not make requests at all, such as without free file descriptors. Failures of single URLs do not
    /// end a crawl.
    case fetch(FetchFailure)
    /// A pattern of the scope is invalid. Thrown before the crawl begins.
    case pattern(PatternMistake)

    package var description: String {
        switch self {
        case .store(let error): error.description
        case .pattern(let mistake): mistake.description
        case .fetch(let failure): "cannot fetch: \(failure); run the same command again"
        }
    }
}
