internal import Fetch
internal import Markup
internal import Store
internal import Web

/// The entry point for events.
extension Frontier {
    /// Applies an event and returns the actions that the caller must carry out now, in this order. All links
    /// of one document are reported in one event.
    ///
    /// - Parameter now: the time since the crawl started. A time before that of an earlier event is replaced
    ///   by the earlier event's.
    @discardableResult
    mutating func apply(_ event: Event, now: Duration) -> [Action] {
        self.now = max(self.now, now)
        var actions = take(event)
        // If the number of pages is limited, the links of a page wait for its turn (`PageOrder`).
        if order.isOn { actions = takeDeferredActions() + actions + endDueTurns() }
        guard !failedWithHost.isEmpty else { return actions }
        defer { failedWithHost = [] }
        return actions + failedWithHost.map(Action.failedWithHost)
    }

    private mutating func take(_ event: Event) -> [Action] {
        switch event {
        case .start(let url, let nearestZone): addStart(url, nearestZone: nearestZone)
        case .guide(let url, let nearestZone): addGuide(url, nearestZone: nearestZone)
        case .asset(let url, let isStart, let nearestZone):
            addAsset(url, isStart: isStart, nearestZone: nearestZone)
        case .miss(let url, let isPage, let nearestZone, let origin):
            addMiss(url, isPage: isPage, nearestZone: nearestZone, origin: origin)
        case .received(let byteCount): didReceive(byteCount)
        case .connected(let number, let zone, let multiplexes):
            records[Int(number)].zone = zone
            if let multiplexes { fitPace(for: number, multiplexes: multiplexes) }
        case .succeeded(let number, let latency): didSucceed(number, after: latency)
        case .reused(let number): didReuse(number)
        case .redirected(let number, let redirection): return didRedirect(number, redirection)
        case .failed(let number, let failure, let latency, let retryAfter, let hadBegun):
            didFail(number, failure, after: latency, retryAfter: retryAfter, hadBegun: hadBegun)
        case .endless(let number, let failure): skipEndless(number, failure)
        case .unstored(let number, let rule):
            didReuse(number)
            drop(number, for: .unstored(rule))
        case .usesStored(let number, let format, let isSoftNotFound):
            if isSoftNotFound { markAsSoftNotFound(number) }
            noteFormat(format, of: number)
        case .sentRequestsBefore(let number): renderScheduler.noteSender(number)
        case .openedInSession(let number): didOpenInSession(number)
        case .requestedWithCORS(let number): markAsCORS(number)
        case .scanning(let number): records[Int(number)].flags.insert(.isBeingScanned)
        case .scanned(let result, let wasStored): return didScan(result, wasStored: wasStored)
        case .linked(
            let number, let known, let new, let isLeftOut, let isNofollow, let reasons, let isOfThisSnapshot):
            return addInOrder(
                .linked(
                    number,
                    PageOrder.StoredLinks(
                        known: known, new: new, isLeftOut: isLeftOut, isNofollow: isNofollow,
                        reasons: reasons,
                        isOfThisSnapshot: isOfThisSnapshot)))
        case .robots(let host, let answer):
            if order.isOn { startTurns() }
            return didFetchRobots(host: host, answer)
        case .probed(let host, let answer): didProbe(host: host, answer)
        case .sessionChecked(let host, let asksForLogin):
            didCheckSession(host: host, asksForLogin: asksForLogin)
        case .discoveredRemotely(let arrival): addRemoteDiscovery(arrival)
        case .leaseGranted(let origins): didLeaseHosts(origins)
        case .leaseReleased(let origin): didReleaseHost(origin)
        case .moved(let from, let to): applyStartRedirect(from: from, to: to)
        case .pagesGranted(let count): grantPages(count)
        case .pagesEnded: dropWaitingPages()
        case .othersReceived(let byteCount): updateOthersByteCount(byteCount)
        case .outcomeKnown(let number, let outcome): applyKnownOutcome(number, outcome)
        case .counted(let number): uncountPage(number)
        case .processingDelayed(let time): extendPatience(by: time)
        case .patienceEnded: return failSilentHosts()
        case .settled: return settle()
        case .requestedByPage(let url, let page, let isPage, let isCORS, let readsStatus):
            addPageRequest(url, by: page, isPage: isPage, isCORS: isCORS, readsStatus: readsStatus)
        case .rendered(let number, let rendered): return didRender(number, rendered)
        case .renderingUnavailable: renderScheduler.end()
        case .ended: return endTurns() + settleRemainingRedirects()
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
        /// Whether the page has loaded itself again with cookies that its scripts set, which the crawl has now.
        var wasReloaded = false
        /// The number of POST requests that it sent whose responses differ from all before.
        var newPostCount = 0
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
        /// Whether an earlier snapshot has a response for the entry, which stays in place.
        let isKeptFromBefore: Bool
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
