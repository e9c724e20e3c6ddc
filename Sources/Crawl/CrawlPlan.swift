package import Bundles
package import Fetch
package import Store
package import Web

/// What a crawl is to do.
package struct CrawlPlan: Sendable {
    package var site: String
    package var start: [WebURL]
    /// The nearest network zone that requests for the start URLs and for `sitemaps` may connect to.
    package var startZone: NetworkZone
    /// The network zones of URLs that a manifest names: the assets, and the start URLs if it names those.
    package var named: Named
    /// Lists of pages that the user names.
    package var sitemaps: [WebURL] = []
    /// What the site needs, whether a page says so or not.
    package var assets: [WebURL] = []
    /// The number of pages by which the last snapshot may have ended, where this one may have more.
    package var beyond: Int?
    /// What was looked for in the larder and not held.
    package var missed: [Missed] = []
    /// The site is its assets, with what they need; the start URLs only say where it is.
    package var startsAtAssets = false
    /// What assets and pages link to is fetched as well.
    package var followsLinks = true
    /// What bodies have to be. What is held so is not asked for, whatever the policy, and what does not match
    /// is not kept.
    package var required = Requirements()
    /// What is kept with the snapshot without being asked for: it was had before the crawl began.
    package var documents: [Document] = []
    /// A snapshot with fewer pages is not published; nil where any number will do.
    package var fewestPages: Int?
    /// The site was fetched by somebody who is known: a login that comes in the place of what is held is not the site.
    package var wasOfSession = false
    /// A snapshot that has a login in place of the site is not published.
    package var refusesWalls = false
    /// Stored responses are kept where the new ones look like those of a captive portal or a broken server.
    package var checksReplacements = true
    /// Stored responses that were fetched with credentials are kept, since this run does not have the credentials.
    package var keepsPrivate = false
    /// Asked whether a complete snapshot, all of which is stored, may be published; with what came and was not
    /// as it is required, by URL.
    package var gate: (@Sendable (_ snapshot: Int64, _ refused: [String: String]) throws(StoreError) -> Bool)?
    package var folder: StoreFolder
    package var fetch: FetchOptions
    /// What the store keeps of how the site is prefetched.
    package var sitePlan = SitePlan()
    package var limits = CrawlLimits()
    /// How long hosts that have never answered are waited for when all else is done; nil for as long as it
    /// takes.
    package var patience: Duration? = .seconds(10)
    /// Nil renders no page.
    package var rendering: RenderPlan?
    /// The most links of each role that are followed from one document. A document with more is listed in
    /// `CrawlReport.overlong`.
    package var maxLinksPerDocument = Self.defaultMaxLinks
    package var scanThreads = 2
    /// The snapshot is shared with other workers, if there are any.
    package var isShared = false
    /// The name by which robots.txt speaks to us; nil asks for none.
    package var productToken: String?
    /// Origins whose robots.txt the run before could not have.
    package var doubted: Set<String> = []
    /// The zone that every request may connect to, whatever response names its URL. The option of the user of
    /// this machine that allows private addresses makes it nearer.
    package var allowedZone = NetworkZone.publicNetwork
    /// What becomes of what is held of the site already.
    package var policy = CachePolicy.revalidate
    package var rules = CacheRules()
    /// Asked before a body is stored, on a thread that scans: gives what is stored in its place, nil for
    /// nothing.
    package var willStore: WillStore?
    /// Where nobody was asked for anything, what is served stays the snapshot that it is.
    package var publishesNewsAlone = false
    /// Told of the figures about ten times a second, on the crawl's thread.
    package var progress: (@Sendable (PrefetchProgress) -> Void)?
    /// Told of every answer, on the crawl's thread.
    package var fetched: (@Sendable (PrefetchedURL) -> Void)?

    /// By their protocol, sitemaps list up to 50,000 URLs; a document with millions of links would take
    /// gigabytes of memory.
    package static let defaultMaxLinks = 100_000

    package struct Missed: Sendable {
        package var url: WebURL
        /// Whether a person went there.
        package var isPage: Bool
        /// The nearest network zone that the requester was allowed to connect to.
        package var nearestZone: NetworkZone
        /// The origin of the page that asked by CORS.
        package var origin: String?

        /// Nil for what is no URL. The name of a mirror does not tell http from https: where the site starts
        /// does.
        package init?(_ miss: Miss, start: [WebURL] = []) {
            guard var url = WebURL(miss.href) else { return nil }
            if url.scheme == "https", case let own = start.filter({ $0.host == url.host }), !own.isEmpty,
                own.allSatisfy({ $0.scheme == "http" }),
                let plain = WebURL("http" + url.href.dropFirst("https".count))
            {
                url = plain
            }
            self.url = url
            isPage = miss.isPage
            nearestZone = miss.from.zone
            origin = miss.origin
        }
    }

    /// The network zones of URLs that a manifest names.
    package struct Named: Sendable {
        /// The zone that the manifest came from.
        package var nearestZone: NetworkZone
        /// The manifest names the start URLs.
        package var isStart = false
        /// Origins that the user named as the base of the manifest: they have the zone of start URLs.
        package var givenOrigins: Set<String> = []

        package init(nearestZone: NetworkZone) { self.nearestZone = nearestZone }
    }

    /// A response that was fetched before the crawl began.
    package struct Document: Sendable {
        package var href: String
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
        named = Named(nearestZone: startZone)
        self.folder = folder
        fetch = FetchOptions(userAgent: userAgent, spoolFolder: folder.incoming)
    }

    /// Around bundles there are no pages.
    var scope: ScopeOptions {
        var scope = sitePlan.scope
        if startsAtAssets { scope.depth = 0 }
        return scope
    }

    /// Requests to one host at once.
    package var connectionsPerHost: Int { sitePlan.connectionsPerHost ?? 16 }

    /// A snapshot has a jar of its own while it runs: some servers hand out a cookie, and lead back to where
    /// they look for it.
    var fetchOfSnapshot: FetchOptions {
        var options = fetch
        options.connectionsPerHost = connectionsPerHost
        options.describesParts = true
        guard options.cookies == nil else { return options }
        var cookies = CookieOptions()
        cookies.areNobodys = true
        options.cookies = cookies
        return options
    }

    /// The snapshot to write to, with what the store keeps of how the site is prefetched.
    func begin(by writer: StoreWriter) throws(StoreError) -> OpenSnapshot {
        let snapshot = try writer.begin(
            site: site, start: start.map(\.href), now: Crawl.secondsSinceEpoch(), beyond: beyond,
            isGated: gate != nil)
        try writer.keep(settings: sitePlan.text, of: snapshot)
        return snapshot
    }

    var hasSession: Bool { fetch.hasSession || wasOfSession }

    /// The nearest network zone that a request for a start URL may connect to.
    func nearestStartZone(of url: WebURL) -> NetworkZone {
        named.isStart ? nearestZone(ofNamed: url) : startZone
    }

    /// The nearest network zone that a request for a URL of the manifest may connect to.
    func nearestZone(ofNamed url: WebURL) -> NetworkZone {
        named.givenOrigins.contains(url.origin) ? startZone : min(named.nearestZone, startZone)
    }

    var frontierOptions: Frontier.Options {
        Frontier.Options(
            connectionsPerHost: connectionsPerHost, limits: limits, obeysRobots: sitePlan.obeysRobots,
            productToken: productToken, doubted: doubted, hasSession: hasSession,
            followsLinks: followsLinks,
            followsGuesses: sitePlan.guesses, patience: patience,
            rendering: rendering.map {
                RenderBook(
                    mode: $0.mode, tabs: $0.tabs, known: sitePlan.rendered, lookedAt: sitePlan.lookedAt)
            }
                ?? RenderBook())
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
        package var byteCount = 0
        package var elapsed: Duration = .zero

        package init(pages: Int = 0, byteCount: Int = 0, elapsed: Duration = .zero) {
            self.pages = pages
            self.byteCount = byteCount
            self.elapsed = elapsed
        }
    }

    /// The limit that was reached.
    package enum Reached: Sendable, Hashable, CustomStringConvertible {
        case pages(Int)
        case byteCount(Int)
        case time(Duration)

        package var description: String {
            switch self {
            case .pages(1): "the limit of 1 page was reached"
            case .pages(let count): "the limit of \(count) pages was reached"
            case .byteCount(let count): "the limit of \(count) bytes was reached"
            case .time(let time): "the limit of \(time.components.seconds) s was reached"
            }
        }

        package var remedy: Remedy {
            switch self {
            case .pages: .maxPages
            case .byteCount: .maxBytes
            case .time: .maxTime
            }
        }
    }

    /// Why nothing further may start; nil while something may. The number of pages is no such reason: what
    /// the pages need that are there is still fetched, so that they are whole.
    package func reasonToStop(_ usage: Usage) -> Reached? {
        if let time, usage.elapsed >= time { return .time(time) }
        if let byteCount, usage.byteCount >= byteCount { return .byteCount(byteCount) }
        return nil
    }

    /// Why no further page may start; nil while one may.
    package func reasonToStopPages(_ usage: Usage) -> Reached? {
        if let reason = reasonToStop(usage) { return reason }
        if let pages, usage.pages >= pages { return .pages(pages) }
        return nil
    }
}

/// The error that ended a crawl early. Everything stored until then is kept.
package enum CrawlError: Error, Sendable, CustomStringConvertible {
    case store(StoreError)
    case fetch(FetchFailure)
    case pattern(PatternMistake)

    package var description: String {
        switch self {
        case .store(let error): error.description
        case .pattern(let mistake): mistake.description
        case .fetch(let failure): "cannot fetch: \(failure); run the same command again"
        }
    }
}
