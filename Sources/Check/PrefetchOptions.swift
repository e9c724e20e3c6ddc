public import Crawl
public import Fetch
package import Store
package import System
public import Web

/// How to prefetch.
public struct PrefetchOptions: Sendable {
    /// Which pages, and how the site is prefetched from now on, by updates too.
    public var plan = SitePlan()
    /// What one run may take; the next one goes on where it ended.
    public var limits = CrawlLimits()
    /// What becomes of what is held of the site already. `offline` and `refresh-behind` have no meaning here.
    public var policy = CachePolicy.revalidate
    public var network = NetworkOptions()
    /// How long hosts are waited for that have never answered, when all else is done.
    public var patience = Duration.seconds(10)
    /// A visit with less than half of the pages that the one before has is published all the same, and so is
    /// one that has a login in place of the site.
    public var allowsShrinking = false
    /// The Chromium or Chrome that shows pages; nil for the first that is found, empty for none.
    public var browser: String?
    /// How many pages it shows at once; nil for what the machine's cores and memory allow.
    public var renderTabs: Int?
    /// Makes whoever renders pages; nil renders none.
    package var rendering: RenderMaker?
    /// What came is made to be found by its words, within a small share of the run's time.
    public var indexes = true
    /// Asked before a response with a body is stored. Redirects, robots.txt, sitemaps and what is confirmed
    /// are stored without.
    public var willStore: WillStore?
    /// Origins whose robots.txt could not be had a moment ago, by another site's run.
    package var doubted: Set<String> = []
    /// The visit is shared with other workers, if there are any.
    package var isShared = false
    /// Threads that scan what was fetched; at first one a core.
    public var scanThreads = Machine.coreCount
    /// Told of the figures about ten times a second, on a thread of the crawl's, which waits meanwhile.
    public var progress: (@Sendable (PrefetchProgress) -> Void)?
    /// Told of every request that ended, on the same thread.
    public var fetched: (@Sendable (PrefetchedURL) -> Void)?
    /// Told what hinders the run for the time being, in a line for people, on any thread: that the PostgreSQL does
    /// not answer, and that it does again.
    public var notice: (@Sendable (String) -> Void)?

    public init() {}

    /// As `folder`, whose PostgreSQL is waited for until the interruption.
    package func watching(_ folder: StoreFolder, _ interruption: Interruption) -> StoreFolder {
        var folder = folder
        folder.watch = ServerWatch(interruption, tell: notice ?? { _ in })
        return folder
    }
}

/// Makes whoever renders pages of a site that is prefetched as the options and the plan say.
package typealias RenderMaker =
    @Sendable (PrefetchOptions, SitePlan, StoreFolder) throws(LarderError) -> RenderPlan?

extension CrawlPlan {
    /// As the options say.
    ///
    /// - Parameter startZone: the nearest network zone that requests for the start URLs may connect to.
    /// - Throws: `LarderError` of kind `.input` that names what cannot be used.
    package init(
        site: WebURL, start: [WebURL], startZone: NetworkZone, folder: StoreFolder,
        _ options: PrefetchOptions
    ) throws(LarderError) {
        self.init(
            site: site.href, start: start, startZone: startZone, folder: folder,
            userAgent: Product.userAgent)
        fetch = try options.network.options(for: start, spoolFolder: folder.incoming)
        if fetch.cookies == nil, !options.network.isAnonymous {
            fetch.cookies = CookieOptions(login: folder.login(of: StoreFolder.loginName(of: site)))
        }
        sitePlan = options.plan
        sitePlan.zone = startZone
        patience = options.patience
        for sitemap in options.plan.sitemaps { sitemaps.append(try WebURL.start(sitemap)) }
        limits = options.limits
        limits.pages = options.plan.maxPages
        scanThreads = options.scanThreads
        productToken = Product.token
        allowedZone = options.network.allowedZone(startZone)
        rules = try CacheRules(texts: options.plan.rules)
        rules.inspection = .refusingStandIns
        guard options.policy != .offline else {
            throw LarderError(
                .input,
                "the policy \(options.policy.rawValue) asks nothing of the network: choose another to prefetch"
            )
        }
        policy = options.policy
        if options.plan.render?.mode != .never {
            rendering = try options.rendering?(options, options.plan, folder)
        }
        isShared = options.isShared
        doubted = options.doubted
        (progress, fetched, willStore) = (options.progress, options.fetched, options.willStore)
    }
}

extension CookieOptions {
    /// Those of who signed in with a browser, and what they become on the way; nil where nobody did.
    fileprivate init?(login: StoreFolder.Login?) {
        guard let login else { return nil }
        self.init(load: [login.path], save: login.path)
        savesSessionCookies = true
        site = login.site
    }
}

extension CacheRules {
    /// - Throws: `LarderError` of kind `.input` that names the rule and what is wrong with it.
    package init(texts: [String]) throws(LarderError) {
        var rules: [Rule] = []
        for text in texts {
            do throws(Rule.Mistake) {
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
