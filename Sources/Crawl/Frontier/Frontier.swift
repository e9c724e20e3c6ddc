internal import Fetch
internal import Web

/// The state machine of a crawl: the URLs that it has discovered, and the order of its requests. A pure value
/// without I/O or clock: events and the time go in, actions and tasks come out.
///
/// The driver passes each event to `apply` and carries out the returned actions, and calls `next` until it
/// returns nil. It changes the frontier only by these two functions, by `noteKept` and, as one of several
/// workers, by those named `take`. Other members are internal because the extensions are in several files. The type is
/// noncopyable because after a copy, the next change would copy all arrays of the state. Therefore none of its
/// methods can be passed as a function: Swift 6.3 crashes on `map(url)`, where `map { url($0) }` works.
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
///
/// To find the next request without looking at every host, each host is in one of three states
/// (`HostState.Schedule`): `ready`, in the queue `readyHosts`, if it may start a request now; `paused`, in
/// `pausedHosts`, if it may do so at a known time; or `idle` until a response arrives or something is queued.
/// `reschedule(_:)` moves an idle host to its queue after each change.
///
/// `next` chooses in this order: robots.txt that pages wait for, probes for soft 404s, session checks, queued
/// entries (assets before pages), and renderings. Most methods here are named after the event that they handle.
struct Frontier: ~Copyable, Sendable {
    /// The number of running requests.
    var runningCount = 0
    var doneCount = 0
    /// The number of assets in `doneCount`.
    var doneAssetCount = 0
    /// The number of failed entries that count as failed (`countsAsFailed`).
    var failedCount = 0
    var records: [EntryRecord] = []
    /// The part of the state that few entries have, by number.
    var rareStates: [UInt32: RareState] = [:]
    var urls = URLTable()
    var hosts: [HostState] = []
    private(set) var hostNumbers: [String: Int] = [:]
    private var lastHost: (origin: String, number: Int)?
    /// Hosts that may start a request, in turn.
    private var readyHosts = FIFOQueue()
    /// Paused hosts, by the end of the pause.
    private var pausedHosts = TimedQueue()
    /// The number of hosts with queued entries.
    private var queuedHostCount = 0
    /// Hosts whose robots.txt has to be requested because pages wait for it, by the time to do so.
    var robotsQueue = TimedQueue()
    /// Hosts that have to be probed for soft 404s (`SoftNotFoundDetector`).
    var probeQueue = FIFOQueue()
    /// Hosts whose session may have ended, so that a page is requested again (`SessionLossDetector`).
    var sessionCheckQueue = FIFOQueue()
    /// Redirects from pages whose target is not known yet to be a login page or not, by target.
    var openRedirects: [UInt32: [OpenRedirect]] = [:]
    var retries = TimedQueue()
    /// Entries that failed together with their host and that were not yet reported with `Action.failedWithHost`.
    var failedWithHost: [UInt32] = []
    var skipReasons = ReasonTable<SkipReason>()
    var failureReasons = ReasonTable<Failure>()
    /// The time of the latest event.
    var now: Duration = .zero
    var scope: Scope
    /// Recognises endless URL spaces.
    var traps = Traps()
    var views: QueryViews
    var branches: RepositoryBranches
    let options: Options
    var limits: RunLimits
    /// The state for sharing a snapshot with other workers; nil without sharing.
    var sharing: FrontierSharing?
    /// The links between entries, if the scope limits the depth: when an entry turns out to be nearer to a
    /// start URL, so are the entries that it links to.
    var depthLinks = DepthLinks()
    /// The module loader configurations of pages and scripts.
    var loaders = ModuleLoaders()
    var renderScheduler: RenderScheduler
    /// The requests of pages whose URLs contain the name of the page.
    var templates = PageTemplates()
    /// The lists that pages load piece by piece.
    var series = RequestSeries()
    private var nextEarlyCheck = Duration.zero
    /// Variants, possible side pages and secondary pages that wait until no page is left to render, because rendered pages
    /// may link to pages with other content.
    private var waitingVariants: [UInt32] = []
    var sidePages = SidePageGroups()
    var bounds = AssetBounds()
    var order: PageOrder
    /// Hosts whose name lookup failed once.
    var hostsToLookUpAgain: Set<Int> = []
    var patience: Patience
    /// The number of sitemaps found in other sitemaps, by nesting level.
    var sitemaps: [Int: Int] = [:]

    static let maxCookieRounds: UInt8 = 3

    init(scope: Scope, options: Options = Options()) {
        self.scope = scope
        self.options = options
        limits = RunLimits(options.limits)
        patience = Patience(options.patience)
        renderScheduler = options.rendering
        views = QueryViews(known: options.views)
        branches = RepositoryBranches(known: options.branches)
        sharing = options.isShared ? FrontierSharing() : nil
        order = PageOrder(isOn: options.limits.pages != nil && !options.isShared)
    }

    /// Whether nothing is running or waiting to be started.
    var isDone: Bool {
        runningCount == 0
            && (limits.isStopped
                || queuedHostCount == 0 && retries.isEmpty && robotsQueue.isEmpty && hasNoPendingChecks
                    && order.queue.pageCount == 0 && renderScheduler.isIdle)
    }

    /// Whether no probe or session check of a host is waiting to be started.
    var hasNoPendingChecks: Bool { probeQueue.isEmpty && sessionCheckQueue.isEmpty }

    /// The earliest time at which `next` may have something new: a retry, the end of a host's pause, a
    /// robots.txt, or the end of the crawl. Nil if nothing is scheduled.
    var nextDue: Duration? {
        if limits.isStopped { return limits.end }
        let dues = [
            retries.next, pausedHosts.next, robotsQueue.next, limits.time, patienceEnd(at: now),
        ]
        return dues.lazy.compactMap { $0 }.min()
    }

    mutating func addStart(_ url: WebURL, nearestZone: NetworkZone) {
        discover(
            url.withoutFragment, role: .page, from: nil, redirects: 0, flags: .isStart,
            nearestZone: nearestZone)
    }

    /// Adds a sitemap that robots.txt or the user names.
    mutating func addGuide(_ url: WebURL, nearestZone: NetworkZone) {
        // A run that follows no links follows none of a sitemap either.
        guard scope.maxDepth != 0 else { return }
        discover(url.withoutFragment, role: .guide, from: nil, redirects: 0, nearestZone: nearestZone)
    }

    /// Adds an asset that the user or a manifest names.
    mutating func addAsset(_ url: WebURL, isStart: Bool = false, nearestZone: NetworkZone) {
        discover(
            url.withoutFragment, role: .asset, from: nil, redirects: 0, flags: isStart ? .isStart : [],
            nearestZone: nearestZone)
    }

    /// Adds a URL that a client requested and the store did not have. A failure to fetch it does not count in
    /// `CrawlReport.missingURLs`: a final response such as 404 is a wrong guess, and without one the miss stays recorded,
    /// unless the network guard blocks it. If the depth is limited, an entry that only the miss names has the maximum
    /// depth: it is no start, so that its assets are fetched, but not the pages that it links to.
    ///
    /// - Parameter origin: the origin of the requesting document if the request used CORS.
    mutating func addMiss(
        _ url: WebURL, isPage: Bool, nearestZone: NetworkZone, origin: String? = nil
    ) {
        let count = urls.count
        let number = discover(
            url.key, role: isPage ? .page : .asset, from: nil, redirects: 0,
            flags: origin == nil ? .isGuess : [.isGuess, .isCORS], nearestZone: nearestZone)
        if urls.count > count, let maxDepth = scope.maxDepth {
            records[Int(number)].depth = UInt16(clamping: maxDepth)
        }
        if let origin, records[Int(number)].referrer == EntryRecord.noEntry {
            rareStates[number, default: RareState()].missOrigin = origin
        }
    }

    /// Returns the next request or rendering to start, and counts it as running. Nil if all hosts are busy,
    /// the maximum number of requests is running, or nothing is left to start.
    mutating func next(now: Duration) -> Task? {
        tick(now)
        if order.isOn {
            order.actions += endDueTurns()
            startTurns()
        }
        guard runningCount < Frontier.maxRunningRequests || options.isUnpaced, !limits.isStopped else {
            return nil
        }
        while let number = robotsQueue.popDue(now: now) {
            let host = Int(number)
            hosts[host].isRobotsDue = false
            guard !hosts[host].isElsewhere, let url = hosts[host].robots?.next(now: now) else { continue }
            runningCount += 1
            hosts[host].isFetchingRobots = true
            patience.didStartRequest(to: &hosts[host], now: now)
            return .robots(host: host, url, hosts[host].nearestZone)
        }
        while let number = probeQueue.popFirst() {
            let host = Int(number)
            guard let url = hosts[host].softNotFound.startProbe() else { continue }
            runningCount += 1
            return .probe(host: host, url, hosts[host].probeZone)
        }
        while let number = sessionCheckQueue.popFirst() {
            let host = Int(number)
            guard let page = hosts[host].session.takePageToCheck() else { continue }
            runningCount += 1
            return .sessionCheck(host: host, url(page), records[Int(page)].zone)
        }
        if let number = nextQueued() { return .fetch(number) }
        if let number = renderScheduler.next(isAvailable) ?? nextEarlyPage() { return .render(number) }
        guard !hostsToLookUpAgain.isEmpty, runningCount == 0 else { return nil }
        retryLookupsNow()
        return nextQueued().map(Task.fetch)
    }

    /// The next page to be rendered while others are still being fetched. Checked at intervals, because it is
    /// expensive.
    private mutating func nextEarlyPage() -> UInt32? {
        guard renderScheduler.waitsForEarly, now >= nextEarlyCheck else { return nil }
        nextEarlyCheck = now + Self.earlyCheckInterval
        return renderScheduler.nextEarly(isAvailable)
    }

    /// A predicate for whether an asset that a page needs was fetched, or will not be waited for.
    private var isAvailable: (UInt32) -> Bool {
        { [records] number in
            let record = records[Int(number)]
            return switch record.state {
            // A page with this flag may itself wait until no page is left to render.
            case .queued, .running, .waiting: !record.flags.isDisjoint(with: [.isGuess, .isParked])
            case .done, .redirected, .failed, .skipped, .elsewhere: true
            }
        }
    }

    private static let earlyCheckInterval = Duration.milliseconds(50)
    /// The number of queries of a page that are treated as variants of it.
    private static let variantLimit: UInt8 = 16

    /// Applies the time: queues due retries, and reschedules hosts whose pause is over.
    private mutating func tick(_ now: Duration) {
        self.now = now
        limits.advance(to: now)
        while let number = retries.popDue(now: now) {
            if records[Int(number)].state == .waiting { enqueue(number) }
        }
        while let host = pausedHosts.popDue(now: now) {
            hosts[Int(host)].schedule = .idle
            reschedule(Int(host))
        }
    }

    /// Removes and returns the next entry of the first host that may start a request. The host goes to the end of
    /// the queue, so that hosts take turns.
    private mutating func nextQueued() -> UInt32? {
        while let number = readyHosts.popFirst() {
            let host = Int(number)
            hosts[host].schedule = .idle
            if mayStart(host), let number = popQueued(of: host) {
                records[Int(number)].state = .running
                records[Int(number)].attempts = min(records[Int(number)].attempts, .max - 1) + 1
                hosts[host].pace.didStart(now: now)
                runningCount += 1
                patience.didStartRequest(to: &hosts[host], now: now)
                reschedule(host)
                return number
            }
            reschedule(host)
        }
        return nil
    }

    private func mayStart(_ host: Int) -> Bool {
        options.isUnpaced || hosts[host].pace.startableCount(now: now) > 0
    }

    /// Puts a host with queued entries into `readyHosts` or `pausedHosts`, if it may start one now or at a known
    /// time.
    mutating func reschedule(_ host: Int) {
        guard hosts[host].schedule == .idle, hosts[host].queuedCount > 0 else { return }
        if mayStart(host) {
            hosts[host].schedule = .ready
            readyHosts.append(UInt32(host))
        } else if let time = hosts[host].pace.nextStart {
            hosts[host].schedule = .paused
            pausedHosts.add(UInt32(host), at: max(time, now + .microseconds(1)))
        }
    }

    /// Removes and returns the next entry of a host. Pages over a limit, and pages whose URL pattern has
    /// become a trap since they were queued, are skipped. When the page limit is reached, sitemaps are
    /// skipped as well.
    private mutating func popQueued(of host: Int) -> UInt32? {
        while let number = popFirst(of: host) {
            // A page that became an asset is in two queues, and is fetched once.
            guard records[Int(number)].state == .queued else { continue }
            changeQueued(of: host, by: -1)
            let record = records[Int(number)]
            if record.flags.contains(.isGuess), record.referrer != EntryRecord.noEntry,
                hosts[host].ignoresGuesses
            {
                skip(number, .guess)
                continue
            }
            // With `order.isOn`, the page was counted when it got its turn.
            guard record.role != .asset, record.attempts == 0, !order.isOn else { return number }
            if isSkippedByLimit(number) {
                continue
            } else if record.role == .guide {
                return number
            } else if sharing?.canRequestPage(after: limits.usage.pages) == false {
                waitForPages(number)
            } else if mayBeView(number), !record.flags.contains(.wasPostponed) {
                records[Int(number)].flags.insert(.wasPostponed)
                enqueueAgain(number)
            } else if !isSkippedAsTrap(number), !waitsAsView(number) {
                limits.usage.pages += 1
                return number
            }
        }
        return nil
    }

    /// Queues a page once more, after those that have been queued until now: one of them may have its path.
    private mutating func enqueueAgain(_ number: UInt32) {
        let host = Int(records[Int(number)].host)
        hosts[host].queue.append(
            number, records[Int(number)], isVariant: false, urlKind: urls.urlKind(number))
        changeQueued(of: host, by: 1)
    }

    /// Skips a page or sitemap if a limit is reached.
    mutating func isSkippedByLimit(_ number: UInt32) -> Bool {
        guard let limit = limits.reachedByPages() else { return false }
        skip(number, .limit(limit))
        return true
    }

    /// Skips a page whose URL pattern has become a trap since the page was discovered.
    mutating func isSkippedAsTrap(_ number: UInt32) -> Bool {
        guard !records[Int(number)].flags.contains(.isStart), !traps.isQuiet,
            case .stopped(let reason) = traps.verdict(on: url(number))
        else { return false }
        skip(number, .trap(reason))
        return true
    }

    private mutating func popFirst(of host: Int) -> UInt32? {
        let suspectFolders = hosts[host].faults.suspectFolders
        guard !suspectFolders.isEmpty else { return hosts[host].queue.popFirst() }
        return hosts[host].queue.popDiagnostic { [records, urls] number in
            records[Int(number)].state == .queued
                && suspectFolders.contains(urls.folderHash(number))
        } isFresh: { [records] number in
            records[Int(number)].attempts == 0
        }
    }

    mutating func changeQueued(of host: Int, by change: Int) {
        let before = hosts[host].queuedCount
        hosts[host].queuedCount += change
        if before == 0 { queuedHostCount += 1 }
        if hosts[host].queuedCount == 0 { queuedHostCount -= 1 }
    }

    /// Whether a page has the URL of another page and a query, such as `/list?sort=name`. If the number of pages
    /// is limited, such pages go after others, because they often have the same content in another order.
    ///
    /// Only the first few queries of a page count as variants: a page with many, such as `/index.php?id=1`,
    /// shows something else for each.
    mutating func isVariant(_ number: UInt32) -> Bool {
        let record = records[Int(number)]
        guard options.limits.pages != nil, record.role == .page, record.redirects == 0,
            let base = urls.numberWithoutQuery(of: number)
        else { return false }
        switch records[Int(base)].state {
        case .queued, .running, .done: break
        // Whether its response has arrived must not matter.
        case _ where isInOrder(base): break
        case .skipped, .waiting, .redirected, .failed, .elsewhere: return false
        }
        guard records[Int(base)].role == .page, !records[Int(base)].flags.contains(.isSecondary) else {
            return false
        }
        if record.flags.contains(.isParked) { return true }
        guard rareStates[base]?.variantCount ?? 0 < Self.variantLimit else { return false }
        rareStates[base, default: RareState()].variantCount += 1
        return true
    }

    /// Queues a new page, or parks it. A variant of a page is parked until no page is left to render.
    mutating func enqueueOrPark(_ number: UInt32) {
        if records[Int(number)].flags.contains(.isSecondary) { return parkUntilRendered(number) }
        if sharing == nil, records[Int(number)].redirects == 0, isSidePage(number) { return }
        if waitsAsFile(number) { return }
        if waitsAsView(number) { return }
        guard sharing == nil, renderScheduler.isOn, isVariant(number) else { return enqueue(number) }
        parkUntilRendered(number)
    }

    mutating func parkUntilRendered(_ number: UInt32) {
        records[Int(number)].state = .waiting
        records[Int(number)].flags.insert(.isParked)
        waitingVariants.append(number)
    }

    /// Whether a page may only show stored content in another way, if the site has another page with its path.
    private func mayBeView(_ number: UInt32) -> Bool {
        let record = records[Int(number)]
        return sharing == nil && record.role == .page && record.redirects == 0
            && !record.flags.contains(.isStart) && urls.hasQuery(number)
    }

    /// Lets a file of a repository wait or skips it if its branch may not be worth a request. Returns false for other pages.
    private mutating func waitsAsFile(_ number: UInt32) -> Bool {
        guard mayBeView(number) else { return false }
        let url = url(number)
        guard let page = RepositoryPage(url), case .file(let branch) = page.kind,
            scope.leavesOut(.history, at: url)
        else { return false }
        switch branches.admit(number, page.repository, branch: branch) {
        case .fetch: return false
        case .wait:
            records[Int(number)].state = .waiting
            records[Int(number)].flags.insert(.isParked)
        case .leaveOut: skip(number, .sidePage(.history))
        }
        return true
    }

    /// Queues the waiting files of the branches that are fetched, and skips the others.
    mutating func decideBranches() {
        guard branches.isWaiting else { return }
        let decided = branches.decide { [records] in records[Int($0)].state == .done }
        for number in decided.leftOut where records[Int(number)].state == .waiting {
            skip(number, .sidePage(.history))
        }
        for number in decided.fetched { releaseParked(number) }
    }

    /// Lets a page wait or skips it if it may only show stored content in another way. Returns false for other pages.
    /// The page of which it is a view may be discovered after it.
    private mutating func waitsAsView(_ number: UInt32) -> Bool {
        guard mayBeView(number) else { return false }
        let url = url(number)
        guard scope.leavesOutViews(at: url) else { return false }
        switch views.admit(number, url, hasParent: hasParent(number, url)) {
        case .fetch: return false
        case .wait:
            records[Int(number)].state = .waiting
            records[Int(number)].flags.insert(.isParked)
        case .leaveOut: skip(number, .view)
        }
        return true
    }

    /// Whether the site has a page of which this one may be a view. A page that a sitemap lists is not a view, nor is a file of
    /// a repository.
    private func hasParent(_ number: UInt32, _ url: WebURL) -> Bool {
        let referrer = records[Int(number)].referrer
        if referrer != EntryRecord.noEntry, records[Int(referrer)].role == .guide { return false }
        if RepositoryPage(url)?.isContent ?? false { return false }
        func isPage(_ parent: UInt32?) -> Bool {
            guard let parent, parent != number, records[Int(parent)].role == .page else { return false }
            return records[Int(parent)].state != .skipped
                && !records[Int(parent)].flags.contains(.isSecondary)
                && (records[Int(parent)].state != .failed || isInOrder(parent))
        }
        if isPage(urls.numberWithoutQuery(of: number)) { return true }
        return QueryViews.parents(of: url.query ?? "").contains { reference in
            WebURL(reference, base: url).map { isPage(urls.find($0.key)) } ?? false
        }
    }

    /// Queues the views that are worth a request, and skips those that are not.
    mutating func releaseViews() {
        guard views.isWaiting else { return }
        let released = views.release(pageCount: limits.usage.pages, urls.href)
        for number in released.leftOut where records[Int(number)].state == .waiting { skip(number, .view) }
        for number in released.fetched { releaseParked(number) }
    }

    var hasWaitingVariants: Bool { !waitingVariants.isEmpty }

    mutating func releaseVariants() {
        let held = order.isOn ? inStableOrder(waitingVariants) : waitingVariants
        waitingVariants = []
        for number in held { releaseParked(number) }
    }

    /// Queues a page that is parked; does nothing for others.
    mutating func releaseParked(_ number: UInt32) {
        guard records[Int(number)].state == .waiting, records[Int(number)].flags.contains(.isParked)
        else {
            return
        }
        enqueue(number)
        records[Int(number)].flags.remove(.isParked)
    }

    /// Queues an entry for its host, unless the host has been given up, or its session has ended. Entries of hosts that
    /// are leased elsewhere are sent to their worker.
    mutating func enqueue(_ number: UInt32) {
        let host = Int(records[Int(number)].host)
        if hosts[host].isElsewhere { return send(number) }
        if hosts[host].isLost, let failure = hosts[host].unreachableFailure {
            failedWithHost.append(number)
            return fail(number, failure)
        }
        if let reason = hosts[host].reasonToStop {
            failedWithHost.append(number)
            return fail(number, reason)
        }
        if hosts[host].hasSessionEnded, let place = hosts[host].session.end {
            return fail(number, .sessionEnded(place))
        }
        if order.isOn, waitsForTurn(number) { return }
        let isNew = records[Int(number)].state != .queued
        records[Int(number)].state = .queued
        if options.hasSession, records[Int(number)].redirects > 0 {
            // Whether the target is a login page decides what to do with the redirect.
            hosts[host].queue.appendAtOnce(number)
        } else {
            let isVariant = !order.isOn && isVariant(number)
            hosts[host].queue.append(
                number, records[Int(number)], isVariant: isVariant, urlKind: urls.urlKind(number))
        }
        guard isNew else { return }
        changeQueued(of: host, by: 1)
        reschedule(host)
    }

    mutating func didReceive(_ byteCount: Int) {
        limits.usage.byteCount += byteCount
    }

    /// Returns the index of the URL's origin in `hosts`. A new origin gets a new host.
    mutating func hostNumber(of url: WebURL) -> Int {
        // URLs come in runs with the same origin.
        if let last = lastHost, url.begins(withOrigin: last.origin) { return last.number }
        let origin = url.origin
        if let known = hostNumbers[origin] {
            lastHost = (origin, known)
            return known
        }
        let robots = options.productToken.map {
            OriginRobots(
                for: url, productToken: $0, obeys: options.obeysRobots,
                hasFailedBefore: options.failedRobotsOrigins.contains(origin))
        }
        hosts.append(
            HostState(pace: HostPace(maxLimit: options.connectionsPerHost), robots: url.isHTTP ? robots : nil)
        )
        hosts[hosts.count - 1].isElsewhere = sharing != nil
        hostNumbers[origin] = hosts.count - 1
        return hosts.count - 1
    }
}
