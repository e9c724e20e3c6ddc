internal import Cluster
internal import Fetch
internal import Markup
internal import Store
internal import Web

/// The state machine of a crawl: the URLs that it has discovered, and the order of its requests. A pure value
/// without I/O or clock: events and the time go in, actions and tasks come out.
///
/// The caller passes each event to `apply` and carries out the returned actions, and calls `next` until it
/// returns nil. The state is in a `FrontierCore`, whose extensions are in several files; `core` is private to
/// this file, so that only `Frontier` can change it. The type is noncopyable because after a copy, the next
/// change would copy all arrays of the state.
///
/// Each URL becomes an entry with a number, in the order of discovery; numbers are never reused. A new entry
/// is `skipped`, `queued`, `waiting` (for robots.txt), `elsewhere`, or `failed` if its host has been given
/// up. `next` turns a queued entry into `running`, and the event that reports its response turns it into
/// `done`, `redirected`, `failed` or `skipped`, or back into `waiting` or `queued` for another attempt. A
/// later link, redirect or lease may queue a skipped, failed or `elsewhere` entry after all.
///
/// Two invariants hold between events: `HostState.queuedCount` is the number of queued entries of the host,
/// and each running entry is ended by exactly one event (`succeeded`, `reused`, `redirected`, `failed`,
/// `endless`, `unstored` or `outcomeKnown`).
struct Frontier: ~Copyable, Sendable {
    private var core: FrontierCore

    init(scope: Scope, options: Options = Options()) {
        core = FrontierCore(scope: scope, options: options)
    }

    /// Returns the next request or rendering to start, and counts it as running. Nil if all hosts are busy,
    /// the maximum number of requests is running, or nothing is left to start.
    mutating func next(now: Duration) -> Task? { core.next(now: now) }

    /// Applies an event and returns the actions that the caller must carry out now, in this order. All links
    /// of one document are reported in one event.
    ///
    /// - Parameter now: the time since the crawl started. A time before that of an earlier event is replaced
    ///   by the earlier event's.
    @discardableResult
    mutating func apply(_ event: Event, now: Duration) -> [Action] {
        core.now = max(core.now, now)
        var actions = take(event)
        // If the number of pages is limited, the links of a page wait for its turn (`PageOrder`).
        if core.order.isOn { actions = core.takeDeferredActions() + actions + core.endDueTurns() }
        guard !core.failedWithHost.isEmpty else { return actions }
        defer { core.failedWithHost = [] }
        return actions + core.failedWithHost.map(Action.failedWithHost)
    }

    private mutating func take(_ event: Event) -> [Action] {
        switch event {
        case .start(let url, let nearestZone): core.addStart(url, nearestZone: nearestZone)
        case .guide(let url, let nearestZone): core.addGuide(url, nearestZone: nearestZone)
        case .asset(let url, let isStart, let nearestZone):
            core.addAsset(url, isStart: isStart, nearestZone: nearestZone)
        case .miss(let url, let isPage, let nearestZone, let origin):
            core.addMiss(url, isPage: isPage, nearestZone: nearestZone, origin: origin)
        case .received(let byteCount): core.didReceive(byteCount)
        case .connected(let number, let zone, let multiplexes):
            core.records[Int(number)].zone = zone
            if let multiplexes { core.fitPace(for: number, multiplexes: multiplexes) }
        case .succeeded(let number, let latency): core.didSucceed(number, after: latency)
        case .reused(let number): core.didReuse(number)
        case .redirected(let number, let redirection): return core.didRedirect(number, redirection)
        case .failed(let number, let failure, let latency, let retryAfter, let hadBegun):
            core.didFail(number, failure, after: latency, retryAfter: retryAfter, hadBegun: hadBegun)
        case .endless(let number, let failure): core.skipEndless(number, failure)
        case .unstored(let number, let rule):
            core.didReuse(number)
            core.drop(number, for: .unstored(rule))
        case .usesStored(let number, let format, let isSoftNotFound):
            if isSoftNotFound { core.markAsSoftNotFound(number) }
            core.noteFormat(format, of: number)
        case .sentRequestsBefore(let number): core.renderScheduler.noteSender(number)
        case .openedInSession(let number): core.didOpenInSession(number)
        case .requestedWithCORS(let number): core.markAsCORS(number)
        case .scanning(let number): core.records[Int(number)].flags.insert(.isBeingScanned)
        case .scanned(let result, let wasStored): return core.didScan(result, wasStored: wasStored)
        case .linked(
            let number, let known, let new, let isLeftOut, let isNofollow, let reasons, let isOfThisSnapshot):
            return core.addInOrder(
                .linked(
                    number,
                    PageOrder.StoredLinks(
                        known: known, new: new, isLeftOut: isLeftOut, isNofollow: isNofollow,
                        reasons: reasons,
                        isOfThisSnapshot: isOfThisSnapshot)))
        case .robots(let host, let answer):
            if core.order.isOn { core.startTurns() }
            return core.didFetchRobots(host: host, answer)
        case .probed(let host, let answer): core.didProbe(host: host, answer)
        case .sessionChecked(let host, let asksForLogin):
            core.didCheckSession(host: host, asksForLogin: asksForLogin)
        case .discoveredRemotely(let arrival): core.addRemoteDiscovery(arrival)
        case .leaseGranted(let origins): core.didLeaseHosts(origins)
        case .leaseReleased(let origin): core.didReleaseHost(origin)
        case .moved(let from, let to): core.applyStartRedirect(from: from, to: to)
        case .pagesGranted(let count): core.grantPages(count)
        case .pagesEnded: core.dropWaitingPages()
        case .othersReceived(let byteCount): core.updateOthersByteCount(byteCount)
        case .outcomeKnown(let number, let outcome): core.applyKnownOutcome(number, outcome)
        case .counted(let number): core.uncountPage(number)
        case .processingDelayed(let time): core.extendPatience(by: time)
        case .patienceEnded: return core.failSilentHosts()
        case .settled: return core.settle()
        case .requestedByPage(let url, let page, let isPage, let isCORS, let readsStatus):
            core.addPageRequest(url, by: page, isPage: isPage, isCORS: isCORS, readsStatus: readsStatus)
        case .rendered(let number, let rendered): return core.didRender(number, rendered)
        case .renderingUnavailable: core.renderScheduler.end()
        case .ended: return core.endTurns() + core.settleRemainingRedirects()
        }
        return []
    }
}

extension Frontier {
    /// An event that the driver of a crawl reports. Numbers are those of entries.
    enum Event: Sendable {
        /// A start URL of the site.
        ///
        /// - Parameter nearestZone: in this event and the next three, the nearest network zone that a request
        ///   for the URL may connect to. It has no default value, so that every caller decides on whose
        ///   behalf the URL is requested.
        case start(WebURL, nearestZone: NetworkZone)
        /// A sitemap that the user named.
        case guide(WebURL, nearestZone: NetworkZone)
        /// An asset that the user or a manifest names.
        case asset(WebURL, isStart: Bool, nearestZone: NetworkZone)
        /// A URL that a client requested and the store did not have. A failure to fetch it does not count in
        /// `CrawlReport.missingURLs`: a final response such as 404 is a wrong guess, and without one the miss stays
        /// recorded, unless the network guard blocks it. `origin` is that of the requesting document if the request used CORS.
        case miss(WebURL, isPage: Bool, nearestZone: NetworkZone, origin: String? = nil)

        /// Bytes were received over the network.
        case received(byteCount: Int)
        /// A response was received from a network zone, which limits where the links of its body may lead.
        /// `multiplexes` says whether the host accepts parallel requests on one connection; nil if that is
        /// not known.
        case connected(UInt32, from: NetworkZone, multiplexes: Bool? = nil)
        /// The response was successful, with a body.
        case succeeded(UInt32, after: Duration? = nil)
        /// The response was taken from the store, without a request.
        case reused(UInt32)
        /// The response was a redirect. Returns `storeRedirect` or `discardRedirect`, or neither until it is known whether the
        /// target is a login page.
        case redirected(UInt32, Redirection)
        /// The request failed.
        ///
        /// - Parameter hadBegun: whether part of a response was received, which shows that the host is up.
        case failed(
            UInt32, Failure, after: Duration? = nil, retryAfter: Duration? = nil, hadBegun: Bool = false)
        /// The response was cut off because it had no end, and is not stored.
        case endless(UInt32, FetchFailure)
        /// The URL was not requested, because a rule of the user forbids storing it.
        case unstored(UInt32, rule: String)

        /// The stored response is used, because it is still valid or because the request failed.
        case usesStored(UInt32, format: BodyFormat?, isSoftNotFound: Bool)
        /// An earlier snapshot rendered the page, and its scripts sent a request then. The response may differ now.
        case sentRequestsBefore(UInt32)
        /// The page was not modified since an earlier snapshot, and so is not a login page.
        case openedInSession(UInt32)
        /// The URL is requested with CORS.
        case requestedWithCORS(UInt32)
        /// The page is being checked for a login form.
        case scanning(UInt32)
        /// The body was scanned. Returns `storeLinks` for its links, and `storeRedirect` or `discardRedirect` for redirects that
        /// waited for it.
        ///
        /// - Parameter wasStored: whether an earlier snapshot has a page at this URL. Matters only if the new
        ///   response is a login page.
        case scanned(ScanResult, wasStored: Bool = false)
        /// The links of a stored response, taken from its link table: first those to known entries, then the
        /// others. Returns `assignNumbers` with the numbers of the latter, unless the page waits for its turn.
        ///
        /// - Parameters:
        ///   - isLeftOut: whether the page asks not to be stored (`noindex`).
        ///   - isOfThisSnapshot: whether the response was stored by an earlier run of this snapshot, instead of by an
        ///     earlier snapshot.
        case linked(
            UInt32, known: [KnownLink], new: [FoundLink], isLeftOut: Bool, isNofollow: Bool = false,
            renderReasons: RenderReasons = [], isOfThisSnapshot: Bool = false)

        /// The request for the robots.txt of a host ended. Returns `startTask` if the response was a redirect to be
        /// followed.
        case robots(host: Int, RobotsAnswer)
        /// The soft-404 probe of a host ended. The answer is nil if there was no response.
        case probed(host: Int, SoftNotFound.Answer?)
        /// A page was requested again to check whether the session goes on. Nil if the response does not
        /// tell.
        case sessionChecked(host: Int, asksForLogin: Bool?)

        /// Another worker discovered a URL of a host that this worker has leased.
        case discoveredRemotely(RemoteDiscovery)
        /// This worker leased these origins: only it sends requests to them.
        case leaseGranted([String])
        /// The lease of an origin went to another worker. This one sends no further requests there.
        case leaseReleased(String)
        /// A start URL that another worker fetched redirects to another URL.
        case moved(from: WebURL, to: WebURL)
        /// The worker was assigned more pages from the page limit of the snapshot.
        case pagesGranted(Int)
        /// The page limit of the snapshot is used up.
        case pagesEnded
        /// The total number of bytes that the other workers have received.
        case othersReceived(byteCount: Int)
        /// Another worker has found out the outcome of this entry.
        case outcomeKnown(UInt32, KnownOutcome)
        /// The page has been counted towards the page limit already, by another worker or an earlier run, and is not
        /// counted twice.
        case counted(UInt32)

        /// The driver did not process responses for this time, for example because the store was busy. Hosts
        /// that did not seem to respond meanwhile may have done so.
        case processingDelayed(Duration)
        /// The time to wait for hosts that have never responded is over. Returns `failedWithHost` for their
        /// entries, and `cancel` for their running requests.
        case patienceEnded
        /// All requests, scans and renderings have ended, so that open questions about modules and rendering
        /// must be decided now.
        case settled
        /// A page that is being rendered requests the URL.
        ///
        /// - Parameter readsStatus: whether a script of the page can read the status of the response.
        case requestedByPage(WebURL, by: UInt32, isPage: Bool, isCORS: Bool, readsStatus: Bool = false)
        /// The page was rendered. Returns `storeLinks` for the links and assets that rendering found.
        case rendered(UInt32, RenderResult)
        /// No browser is available, or it has failed.
        case renderingUnavailable

        /// The crawl is over. Returns `storeRedirect` or `discardRedirect` for the redirects that still wait.
        case ended
    }

    /// An action that the driver must carry out at once.
    enum Action: Sendable {
        /// Start this task now, without waiting for `next`: the redirect of a robots.txt.
        case startTask(Task)
        /// Store the redirect that this entry received.
        case storeRedirect(UInt32)
        /// Do not store the redirect that this entry received.
        case discardRedirect(UInt32)
        /// Pass the links of a document to the store.
        case storeLinks(NewLinks)
        /// The numbers of the `new` links of the `linked` event, in the same order.
        case assignNumbers([UInt32])
        /// The entry failed together with its host. A copy in an earlier snapshot is kept.
        case failedWithHost(UInt32)
        /// End these requests with the failure. The driver still reports each of them as failed.
        case cancel(Set<UInt32>, FetchFailure)
    }

    /// Work that the driver starts: a request or a rendering.
    enum Task: Sendable, Equatable {
        case fetch(UInt32)
        /// Request the robots.txt of a host, or the URL that it redirects to.
        case robots(host: Int, WebURL, NetworkZone)
        /// Request a made-up URL that the host cannot have, to see how it answers for missing pages.
        case probe(host: Int, WebURL, NetworkZone)
        /// Request a page again to check whether the session goes on.
        case sessionCheck(host: Int, WebURL, NetworkZone)
        /// Render a fetched page in a browser.
        case render(UInt32)
    }

    /// The result of rendering one page.
    struct RenderResult: Sendable {
        /// The links of the document after its scripts have run.
        var links: [WebURL] = []
        /// The entries that the page requested.
        var requested: Set<UInt32> = []
        /// The fingerprint of the text after scripts have run; nil if it is not known.
        var print: ContentPrint?
        /// Whether the page came with 404 or 410, and its scripts show that it is not found.
        var saysNotFound = false
        /// Whether the page became idle before its time was over.
        var isWhole = true
        /// Entries that the page requested and that were not fetched when its time was over.
        var missingEntries: [UInt32] = []
    }

    /// A response that redirects.
    struct Redirection: Sendable {
        /// Nil if the `Location` header is missing or invalid.
        var target: WebURL?
        var latency: Duration?
        /// Whether the redirect was taken from the store, without a request.
        var isReused = false
        /// Whether the response sets a cookie, so that a URL in a redirect loop may answer differently the
        /// next time.
        var setsCookie = false
        /// Whether an earlier snapshot has a page at this URL.
        var wasStored = false
    }

    /// A link to an entry that has a number.
    struct KnownLink: Sendable {
        var number: UInt32
        var role: Role
        var isGuess: Bool
    }

    /// The result of a request for robots.txt.
    enum RobotsAnswer: Sendable {
        /// - Parameters:
        ///   - location: the target of a redirect; nil if the header is missing or invalid.
        ///   - from: the network zone that the response came from, which limits the redirect.
        case answered(status: Int, location: WebURL? = nil, body: [UInt8] = [], from: NetworkZone)
        case failed(FetchFailure)
    }

    /// The purpose of a URL. A page that a document also needs as an asset becomes an asset.
    enum Role: UInt8, Sendable {
        case page = 0
        case asset = 1
        /// A list of pages that people do not navigate to, such as a sitemap.
        case guide = 2
    }

    enum EntryState: Sendable, Equatable {
        case skipped(SkipReason)
        case queued
        case running
        /// Not queued yet: just discovered, waiting for robots.txt or for the page limit, or waiting for a
        /// retry.
        case waiting
        case done
        /// The response was a redirect.
        case redirected
        case failed(Failure)
        /// The host is not leased to this worker. The worker that has it is notified of the URL.
        case elsewhere
    }

    /// The public view of one entry.
    struct EntryInfo: Sendable {
        let number: UInt32
        /// The entry that first linked or redirected here; nil for a start URL.
        let referrer: UInt32?
        /// Whether this is a start URL or the target of its redirects.
        let isStart: Bool
        let role: Role
        /// Whether the URL only looked like a link. If so, a failure does not count as missing.
        let isGuess: Bool
        /// Whether the page says "not found" with a status of success (soft 404).
        let isSoftNotFound: Bool
        /// Whether its response was stored as that of a page before the entry became an asset.
        let isStoredAsPage: Bool
        /// Whether a redirect led to this URL.
        let isRedirectTarget: Bool
        let state: EntryState
        let attempts: Int
        /// The number of links from a start URL.
        let depth: Int
    }

    /// The maximum number of running requests over all hosts. A page may need assets from thousands of hosts,
    /// and the number of sockets of a process is limited.
    static let maxRunningRequests = 128
    /// The maximum number of redirects in a row, as in browsers (Fetch, HTTP-redirect fetch). An entry beyond it
    /// fails with `Failure.redirects`.
    static let maxRedirects: UInt8 = 20
}

/// The progress of the crawl.
extension Frontier {
    /// Whether nothing is running or waiting to be started.
    var isDone: Bool { core.isDone }

    /// Whether the driver should send `settled` when nothing is running or being scanned: module names wait
    /// for a loader configuration, pages for the decision which of them to render, or variants until
    /// no page is left to render.
    var waitsToSettle: Bool {
        core.loaders.hasOpenNames || core.renderScheduler.isOn && core.renderScheduler.isUnsettled
            || core.hasWaitingVariants
            || waitsForViews || core.branches.isWaiting
    }

    /// Whether pages wait that may only show stored content in another way.
    var waitsForViews: Bool { core.views.isWaiting }

    /// The URL patterns of pages, with the results of rendering.
    var rendering: RenderScheduler { core.renderScheduler }

    /// Whether some page will most likely be rendered.
    var expectsRendering: Bool { core.renderScheduler.expectsPages }

    /// Whether the driver should stop without waiting for running requests: the time limit is reached, or the
    /// byte limit was reached some seconds ago.
    var isOutOfTime: Bool { core.limits.isOutOfTime(now: core.now) }

    /// The earliest time at which `next` may have something new: a retry, the end of a host's pause, a
    /// robots.txt, or the end of the crawl. Nil if nothing is scheduled.
    var nextDue: Duration? { core.nextDue }

    /// Whether only hosts that have never responded are left, and the time to wait for them is over.
    /// `nextDue` may be earlier than that time.
    func isOutOfPatience(now: Duration) -> Bool { core.patienceEnd(at: now).map { $0 <= now } ?? false }

    /// The limit that ended the crawl, or because of which pages were skipped.
    var limit: CrawlLimits.Reached? { core.limits.reached }

    /// The URL spaces that were recognized as endless.
    var traps: [TrapReason] { core.traps.stopped }

    /// The origins whose session ended during the crawl, sorted by name.
    var lostSessions: [CrawlReport.LostSession] { core.lostSessions }

    /// The names in URLs by which side pages (`SidePage`), such as histories and forms, were recognised.
    var sideNames: [String: SidePage] { core.sidePages.leftOutNames }

    /// The recognised views (`QueryViews`), which show stored content in another way, with the URLs of their fetched pages.
    var views: [String: [String]] { core.views.views(core.urls.href) }

    /// The branches of repositories whose files were fetched, if others were left out (`RepositoryBranches`).
    var branches: [String: [String]] { core.branches.record }

    /// Origins whose robots.txt could not be fetched.
    var failedRobotsOrigins: Set<String> { core.failedRobotsOrigins }

    /// The longest `Crawl-delay` of all hosts, as far as it is obeyed.
    var crawlDelay: Duration? { core.hosts.lazy.compactMap { $0.robots?.crawlDelay?.applied }.max() }

    /// The current progress. Takes time in proportion to the number of hosts, not of entries.
    func progress(now: Duration) -> CrawlProgress { core.progress(now: now) }
}

/// Queries for single entries.
extension Frontier {
    /// The number of entries.
    var count: Int { core.records.count }

    func url(_ number: UInt32) -> WebURL { core.url(number) }

    /// The reason why an asset at this URL would be skipped; nil if it may be requested.
    func refusal(ofAsset url: WebURL) -> SkipReason? {
        if case .skipped(let reason) = core.scope.verdict(on: url, as: .asset) { reason } else { nil }
    }

    /// The number of a URL; nil if it was not discovered.
    func number(of url: WebURL) -> UInt32? { core.urls.find(url.key) }

    /// The URL as text, without the cost of parsing it.
    func href(_ number: UInt32) -> String { core.urls.href(number) }

    func state(_ number: UInt32) -> EntryState { core.state(number) }

    /// Whether the entry waits because its host's name was not found, and is looked up a second time.
    func awaitsLookup(_ number: UInt32) -> Bool { core.awaitsLookup(number) }

    func entry(_ number: UInt32) -> EntryInfo { core.entry(number) }

    /// All entries, in the order of discovery.
    var entries: some RandomAccessCollection<EntryInfo> {
        core.records.indices.lazy.map { [core] in core.entry(UInt32($0)) }
    }

    /// The failed entries with their failures.
    var failures: [UInt32: Failure] { core.failures }

    func role(of number: UInt32) -> Role { core.records[Int(number)].role }

    /// The URL of the entry that first linked or redirected here; nil for a start URL.
    func referrer(of number: UInt32) -> WebURL? {
        let referrer = core.records[Int(number)].referrer
        return referrer == FrontierCore.EntryRecord.noEntry ? nil : url(referrer)
    }

    func referrerNumber(of number: UInt32) -> UInt32? {
        let referrer = core.records[Int(number)].referrer
        return referrer == FrontierCore.EntryRecord.noEntry ? nil : referrer
    }

    /// The same as `referrer(of:)` as text, without the cost of parsing it.
    func referrerText(of number: UInt32) -> String? {
        let referrer = core.records[Int(number)].referrer
        return referrer == FrontierCore.EntryRecord.noEntry ? nil : core.urls.href(referrer)
    }

    /// The target of a redirect.
    func target(of number: UInt32) -> UInt32? { core.target(of: number) }

    /// The nearest network zone that a request for the entry may connect to.
    func nearestZone(_ number: UInt32) -> NetworkZone { core.records[Int(number)].nearestZone }

    /// The network zone that the response came from.
    func zone(of number: UInt32) -> NetworkZone { core.records[Int(number)].zone }

    /// Whether the entry is requested with CORS.
    func isCORS(_ number: UInt32) -> Bool {
        core.records[Int(number)].flags.contains(.isCORS)
    }

    /// The value for the `Origin` header of a CORS request; nil if the header is not sent.
    func corsOrigin(of number: UInt32) -> String? { core.corsOrigin(of: number) }

    /// Whether the entry is skipped if it says `noindex`. A start URL is stored regardless.
    func mayBeLeftOut(_ number: UInt32) -> Bool { core.mayBeLeftOut(number) }

    /// Whether the scan should compute a fingerprint of the page's text: for start URLs, with which others
    /// are compared, for hosts with possible soft 404s, and for URLs that look like those of a trap.
    func wantsWords(of number: UInt32) -> Bool { core.wantsWords(of: number) }

    /// Whether scans should compute the pieces of texts, by which views are recognised. They do this only for pages with
    /// queries in their own URL or in links to themselves.
    var wantsPieces: Bool { core.sharing == nil && !core.scope.includesViews }

    /// Whether a link to the page with a query is known.
    func hasKnownQueries(_ number: UInt32) -> Bool { core.views.hasQueries(of: core.url(number)) }

    /// Whether a login page at this URL means a lost session. Start URLs are exempt: the user may
    /// want their login page.
    func needsSession(_ number: UInt32) -> Bool { core.needsSession(number) }

    /// Whether the entry, or the one that redirected here, was recorded as a miss of a server, and no page of
    /// the crawl links to it.
    func isMiss(_ number: UInt32) -> Bool { core.isMiss(number) }

    /// The URLs from a start URL to the entry. The middle of a very long chain is left out.
    func chain(to number: UInt32) -> [WebURL] {
        var chain: [UInt32] = []
        var next = number
        while next != FrontierCore.EntryRecord.noEntry {
            chain.append(next)
            next = core.records[Int(next)].referrer
        }
        if chain.count > Self.maxChainURLs { chain.removeSubrange(Self.maxChainURLs - 1..<chain.count - 1) }
        return chain.reversed().map { url($0) }
    }

    /// The maximum number of URLs of a chain in a report; the middle of a longer one is left out.
    private static let maxChainURLs = 32
}

/// State that workers exchange when they share a snapshot.
extension Frontier {
    /// Removes and returns the discoveries for other workers, without duplicates.
    mutating func takeOutgoing() -> [SharedFrontier.DiscoveredURL] { core.takeOutgoing() }

    /// Removes and returns the entries whose outcome other workers should know.
    mutating func takeOutcomes() -> [UInt32] { core.takeOutcomes() }

    /// Removes and returns the entries that turned out to be soft 404s.
    mutating func takeSoftNotFound() -> [UInt32] { core.takeSoftNotFound() }

    /// Removes and returns the redirects of start URLs.
    mutating func takeStartRedirects() -> [(from: WebURL, to: WebURL)] { core.takeStartRedirects() }

    /// Whether pages wait because the pages assigned to this worker are used up.
    var isStarved: Bool { core.sharing?.waitingPages.isEmpty == false }

    /// The number of assigned pages that this worker has not requested yet; nil without a page limit.
    var pagesLeft: Int? { core.sharing?.maxPages.map { max(0, $0 - core.limits.usage.pages) } }

    /// The number of leased hosts with entries that are queued, running or waiting for robots.txt.
    var activeHostCount: Int { core.activeHostCount }

    /// Up to `count` origins that have enough queued entries to be worth giving to another worker.
    func hostsToGiveAway(_ count: Int) -> [String] {
        count > 0 ? Array(core.originsWorthGivingAway.prefix(count)) : []
    }

    /// The outcome that saves other workers a request; nil unless the entry failed or was skipped.
    func outcome(of number: UInt32) -> KnownOutcome? {
        switch core.state(number) {
        case .failed(let failure): .failed(failure)
        case .skipped(let reason): .skipped(reason)
        case .queued, .running, .waiting, .done, .redirected, .elsewhere: nil
        }
    }

    /// Whether requests to the origin are running.
    func isBusy(_ origin: String) -> Bool {
        core.hostNumbers[origin].map { core.hosts[$0].runningCount > 0 } ?? false
    }

    /// The earliest time for the next request to the origin; nil if it is not limited.
    func nextStart(of origin: String) -> Duration? {
        core.hostNumbers[origin].flatMap { core.hosts[$0].pace.nextStart }
    }

    func origin(of number: UInt32) -> String { core.url(number).origin }

    /// Whether a time or byte limit prevents new requests.
    var isStopped: Bool { core.limits.isStopped }

    /// The number of running requests.
    var runningCount: Int { core.runningCount }
}
