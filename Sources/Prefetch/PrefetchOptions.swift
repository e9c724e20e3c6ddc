package import Check
public import Crawl
internal import Database
public import Fetch
package import Store
package import System
public import Web

/// Options of a prefetch or update.
public struct PrefetchOptions: Sendable {
    /// The scope of the site and how it is prefetched. Stored with the site, and used by updates.
    public var plan = SitePlan()
    /// The limits of this run. The next run continues where this one ended.
    public var limits = CrawlLimits()
    /// False fetches only the start pages with everything that they need, and follows none of their links. A stored
    /// site that has more pages is not reduced to one: that is an error.
    public var followsLinks = true
    /// How stored responses of the site are used. `offline` is not allowed. `refresh-behind` uses stored responses
    /// without refreshing them, because a run has nothing in the background.
    public var policy = CachePolicy.revalidate
    /// The keys that may sign the manifest of the site, if it has one: minisign's text (`RW…`), the path of a `.pub` file,
    /// or `first-use` for the key that the manifest names. Any one of them suffices. They are stored with the site in place
    /// of its earlier keys; if this is empty, the stored ones apply. `none` accepts every manifest.
    public var trustedKeys: [String] = []
    /// Accepts a manifest that is older than the one accepted last. Later runs compare with this one.
    public var allowsRollback = false
    /// The clock that decides whether a manifest has expired: seconds since 1970.
    package var secondsSinceEpoch = ManifestAgeRules.systemClock
    /// Refuses a manifest with a required bundle that has only an MD5 or SHA-1, or no digest.
    public var requiresStrongDigests = false
    /// The options of the network.
    public var network = NetworkOptions()
    /// The time to wait, when everything else is done, for hosts that have never answered.
    public var patience = Duration.seconds(10)
    /// Publishes a snapshot even if it has less than half of the pages of the previous one, or a login page
    /// in place of the site.
    public var allowsShrinking = false
    /// The path of the Chromium or Chrome that renders pages; nil for the first one that is found, empty for
    /// none.
    public var browser: String?
    /// The number of pages to render at once; nil for as many as the cores and the memory of the machine allow.
    public var renderTabs: Int?
    /// Creates the renderer of pages; nil renders none.
    package var rendering: RenderMaker?
    /// The URLs of pages that are rendered although automatic mode would not choose them.
    package var alwaysRendered: Set<String> = []
    /// Whether the run only completes the previous one, as a part of the same prefetch.
    package var isRepeat = false
    /// Adds the pages to the search index, within a small share of the run's time.
    public var indexes = true
    /// Called before a response with a body is stored; can change it, or keep it from being stored. Not
    /// called for redirects, robots.txt, sitemaps and confirmed responses.
    public var willStore: WillStore?
    /// The program that downloads videos whose players cannot be mirrored; nil if there is none. It is not stored with the
    /// site.
    public var mediaCommand: MediaCommand?
    /// Origins whose robots.txt another site's run could not load a moment ago.
    package var failedRobotsOrigins: Set<String> = []
    /// Whether other workers may share the snapshot.
    package var isShared = false
    /// The number of threads that scan responses for links; by default one per core.
    public var scanThreads = Machine.coreCount
    /// Receives the progress about ten times a second, on a thread of the crawl, which waits for the call to
    /// return.
    public var progress: (@Sendable (PrefetchProgress) -> Void)?
    /// Called for every request that ended, on the same thread.
    public var fetched: (@Sendable (PrefetchedURL) -> Void)?
    /// Receives messages for the user about temporary problems, such as that PostgreSQL does not answer, and
    /// that it answers again. Called on any thread.
    public var notice: (@Sendable (String) -> Void)?

    /// Creates options for the hosts of the start URLs.
    public init() {}

    /// How the age of a manifest is judged.
    var manifestAgeRules: ManifestAgeRules {
        ManifestAgeRules(allowsRollback: allowsRollback, secondsSinceEpoch: secondsSinceEpoch)
    }

    /// Returns a copy of the store with a watch: if PostgreSQL becomes unreachable, `notice` receives a message, and the
    /// sessions stop waiting for it when the interruption is requested.
    package func watchedStore(_ folder: StoreFolder, until interruption: Interruption) -> StoreFolder {
        var folder = folder
        folder.watch = PostgreSQLWatch(interruption, notifyUser: notice ?? { _ in })
        return folder
    }
}

/// Creates the renderer for a site from the options and the plan.
package typealias RenderMaker =
    @Sendable (PrefetchOptions, SitePlan, StoreFolder) throws(LarderError) -> RenderPlan?

extension CrawlPlan {
    /// Creates the plan of a crawl from options.
    ///
    /// - Parameter startZone: the nearest network zone that requests for the start URLs may connect to.
    /// - Throws: `LarderError` of kind `.input` that names the option that cannot be used.
    package init(
        site: WebURL, start: [WebURL], startZone: NetworkZone, folder: StoreFolder,
        _ options: PrefetchOptions
    ) throws(LarderError) {
        self.init(
            site: site.href, start: start, startZone: startZone, folder: folder,
            userAgent: Product.userAgent)
        fetch = try options.network.options(for: start, spoolFolder: folder.incoming)
        if fetch.cookies == nil, !options.network.isAnonymous {
            fetch.cookies = CookieOptions(login: folder.login(for: site))
        }
        if !options.network.isAnonymous { cookieFiles = options.network.cookies }
        if !options.isRepeat { notice = options.notice }
        sitePlan = options.plan
        sitePlan.zone = startZone
        // A pipe could not be read again.
        sitePlan.cookieFiles = cookieFiles.filter(WholeFile.exists).map(ManifestPlan.absoluteLocation(of:))
        patience = options.patience
        for sitemap in options.plan.sitemaps { sitemaps.append(try WebURL.start(sitemap)) }
        limits = options.limits
        limits.pages = options.plan.maxPages
        scanThreads = options.scanThreads
        productToken = Product.token
        allowedZone = options.network.allowedZone(startZone)
        rules = try CacheRules(texts: options.plan.rules)
        rules.inspection = .rejectingHTMLStandIns
        guard options.policy.allowsNetwork else {
            throw LarderError(
                .input,
                "the policy \(options.policy.rawValue) makes no requests: choose another policy to prefetch"
            )
        }
        policy = options.policy
        if options.plan.render?.mode != .never {
            rendering = try options.rendering?(options, options.plan, folder)
        }
        alwaysRendered = options.alwaysRendered
        isShared = options.isShared
        failedRobotsOrigins = options.failedRobotsOrigins
        mediaCommand = options.mediaCommand
        (progress, fetched, willStore) = (options.progress, options.fetched, options.willStore)
    }
}

extension CookieOptions {
    /// The cookies of a stored login, which are stored again when they change; nil if there is no login.
    fileprivate init?(login: StoreFolder.Login?) {
        guard let login else { return nil }
        self.init(load: [login.path], save: login.path)
        savesSessionCookies = true
        site = login.site
    }
}

extension CacheRules {
    /// - Throws: `LarderError` of kind `.input` that names an invalid rule and its fault.
    package init(texts: [String]) throws(LarderError) {
        var rules: [Rule] = []
        for text in texts {
            do throws(Rule.ParseError) {
                rules.append(try Rule(text))
            } catch {
                throw LarderError(
                    .input,
                    "the rule \"\(text)\" cannot be used: \(error); write it like \"/api/** max-age=600\"")
            }
        }
        self.init(rules)
    }
}
