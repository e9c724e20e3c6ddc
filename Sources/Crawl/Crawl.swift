internal import Bundles
internal import Cluster
internal import Fetch
internal import Markup
internal import Store
package import System
internal import Web

/// One run of a site: sends the requests that the frontier asks for, reports their results to it, and stores
/// the responses.
///
/// The frontier decides; this class is its driver, and makes no decisions about URLs. Its loop
/// (`runToEnd`) repeats these steps:
///
/// 1. Starts every task that the frontier has (`startDue`). A stored response that the cache policy allows is
///    used at once; everything else becomes a request of the fetch loop.
/// 2. Waits for results of requests, scans and rendered pages (`waitForResults`).
/// 3. Handles each result (`didFetch`, `didScan`, `didRender`), reports it to the frontier as an event, and
///    carries out the actions that the frontier returns (`carryOut`).
///
/// All state belongs to the thread that calls `run` or `work`, which also runs the libcurl loop. Scans
/// (`ScanPool`) and writes (`WriteQueue`) have threads of their own; the results of scans arrive in an inbox that
/// wakes the loop. Most dictionaries here are keyed by the frontier's number of the URL, its *entry*.
package final class Crawl {
    let plan: CrawlPlan
    let interruption: Interruption
    private let stopwatch = Stopwatch()
    let loop: FetchLoop
    let writes: WriteQueue
    let pool: ScanPool
    var frontier: Frontier
    /// Tasks of the frontier's actions (`Frontier.Action.startTask`), which `startDue` starts before others. `carryOut`
    /// only adds to it: if it started them itself, a task with a known result would call `carryOut` again.
    private var tasksToStart: [Frontier.Task] = []
    var report: CrawlReport
    /// Nil if the store is empty, so that no stored response could be reused.
    let cacheLookup: CacheLookup?
    /// The running requests of entries, by the frontier's number of the URL.
    var openRequests: [UInt32: OpenRequest] = [:]
    /// Recognises pages that list the earlier requests of the crawl, such as a trail of viewed pages.
    var cookieTraces = CookieTraces()
    /// Recognises hosts that refuse requests without `Referer`.
    var referrerHosts = ReferrerHosts()
    /// The digests that bodies must have. If a URL with a required digest redirects, its target gets the same
    /// requirement.
    var required: Requirements
    /// `Snapshot.id` of the snapshot that this run makes.
    private let snapshotID: Int64
    /// Nil if every new response replaces the stored one.
    let replacements: ReplacementGuard?
    /// URLs whose new responses were rejected, some of them only after they had been stored.
    var rejectedReasons: [UInt32: ReplacementCheck.Reason] = [:]
    var partials: PartialBodies
    /// Redirects that wait until the frontier decides whether they are stored (`storeRedirect`) or not
    /// (`discardRedirect`).
    var redirects: [UInt32: NewResponse] = [:]
    /// The number of bodies in the scan pool, and their size in memory.
    var scanning = 0
    var scanningByteCount = 0
    /// Entries that are being scanned. The frontier counts them as done, but they are not stored yet.
    var beingScanned: Set<UInt32> = []
    /// Header fields that the script of a page adds to its request for an entry, by the number of the entry.
    /// The page is the first one to request it, in this run or when the response was stored.
    var scriptFields: [UInt32: HTTPFields] = [:]
    /// The signatures that pages demand of their assets.
    var signatureRequests = SignatureRequests()
    /// Nil when no program downloads videos.
    let mediaCommand: MediaCommandRunner?
    /// Nil when no page is rendered.
    var rendering: Rendering?
    /// This worker's view of a snapshot that is shared with other workers; nil for a snapshot of its own.
    var workerState: WorkerState?
    /// Outcomes that other workers of a shared snapshot found.
    var knownOutcomes = KnownOutcomes()
    private let part: SnapshotPart
    var lastProgress: Duration = .zero
    /// The time when the fetch loop last returned.
    private var lastTurn: Duration = .zero
    var meter: ProgressMeter

    /// Pauses fetching above this many bytes of bodies that wait for a scan.
    private static let maxQueuedScanBytes = 2 * 1024 * 1024
    /// Pauses fetching above this many bodies that wait for a scan.
    private static let maxQueuedScans = 64

    /// The part of a snapshot that a run works on.
    enum SnapshotPart {
        case all
        /// The hosts that this worker leases.
        case share(SharedFrontier.SharedSnapshot, WorkerSync)
        /// The end of a shared snapshot, by one worker: it counts the stored responses, fetches missing URLs, and
        /// publishes the snapshot.
        case finish(
            SharedFrontier.SharedSnapshot, worker: Int64, KnownOutcomes, [SharedFrontier.DiscoveredURL])

        var isShared: Bool {
            switch self {
            case .all: false
            case .share, .finish: true
            }
        }

        /// Removes the limits that the workers of a shared snapshot apply together.
        fileprivate func changeLimits(_ options: inout Frontier.Options) {
            switch self {
            case .all: break
            case .share(let shared, _):
                options.isShared = true
                options.limits.pages = nil
                options.limits.time = shared.millisecondsLeft.map { .milliseconds(max(1, $0)) }
            // If a worker was lost, pages may be left; `knownOutcomes` has their limit.
            case .finish: options.limits = CrawlLimits()
            }
        }
    }

    /// Opens the store, begins the site's snapshot or continues an interrupted one, and starts the threads.
    package convenience init(_ plan: CrawlPlan, interruption: Interruption) throws(CrawlError) {
        try self.init(plan, .all, interruption)
    }

    init(_ plan: CrawlPlan, _ part: SnapshotPart, _ interruption: Interruption) throws(CrawlError) {
        self.plan = plan
        self.part = part
        meter = ProgressMeter(site: plan.site)
        required = plan.required
        self.interruption = interruption
        let scope: Scope
        do throws(PatternMistake) {
            scope = try Scope(start: plan.start, options: plan.scope)
        } catch {
            throw .pattern(error)
        }
        var options = plan.frontierOptions
        part.changeLimits(&options)
        if case .finish(_, _, let knownOutcomes, _) = part { self.knownOutcomes = knownOutcomes }
        let linkNumbers = LinkNumberCache()
        options.memory = linkNumbers
        frontier = Frontier(scope: scope, options: options)
        do throws(FetchFailure) {
            loop = try FetchLoop(plan.fetchOfSnapshot)
        } catch {
            throw .fetch(error)
        }
        do throws(StoreError) {
            let writer = try StoreWriter(plan.folder)
            let snapshot: OpenSnapshot
            switch part {
            case .all: snapshot = try plan.begin(by: writer)
            case .share(let shared, let sync):
                snapshot = try writer.join(shared, as: sync.worker)
                workerState = WorkerState(sync, shared)
            case .finish(let shared, let worker, _, _): snapshot = try writer.join(shared, as: worker)
            }
            snapshotID = snapshot.id
            report = CrawlReport(
                site: plan.site, snapshot: snapshot.number, isContinued: snapshot.isContinued)
            cacheLookup = try CacheLookup(
                plan.folder, snapshot: snapshot, policy: plan.policy, rules: plan.rules,
                isShared: part.isShared)
            partials = try PartialBodies(plan.folder)
            let writes = try WriteQueue(writer, snapshot: snapshot)
            self.writes = writes
            let folder = plan.folder
            rendering = plan.rendering.map { [waker = loop.waker, hasSession = plan.hasSession] plan in
                Rendering(
                    channel: RenderChannel(
                        folder, snapshot: snapshot.id, hasSession: hasSession
                    ) { waker.wake() }, plan: plan)
            }
            let maxMediaBytes = plan.fetch.maxBodyBytes
            mediaCommand = plan.mediaCommand.map { [waker = loop.waker] command in
                MediaCommandRunner(
                    command, in: "\(folder.incoming)/media-\(snapshot.id)", maxBytes: maxMediaBytes
                ) { waker.wake() }
            }
            let replacements =
                plan.checksReplacements || plan.keepsPrivate
                ? ReplacementGuard(doubts: plan.sitePlan.doubts, keepsPrivate: plan.keepsPrivate) : nil
            self.replacements = replacements
            pool = try ScanPool(plan, writes, linkNumbers, replacements, loop.waker)
        } catch {
            throw .store(error)
        }
    }

    /// Runs the crawl to its end and returns its report. Blocks.
    package consuming func run() throws(CrawlError) -> CrawlReport {
        interruption.addWaker(loop.waker)
        defer { interruption.removeWaker(loop.waker) }
        var failure: CrawlError?
        do throws(CrawlError) {
            try addPlannedURLs()
            try runToEnd()
        } catch {
            failure = error
        }
        reportProgress(isEnding: true)
        endRendering()
        mediaCommand?.stop()
        pool.finish()
        do throws(CrawlError) {
            try finishPendingWork()
        } catch {
            failure = failure ?? error
        }
        completeReport()
        do throws(StoreError) {
            for missing in report.missing where missing.failure == .softNotFound {
                try writes.markSoftNotFound(missing.url)
            }
            let ending = CrawlEnding(
                plan: plan, snapshot: snapshotID, writes: writes, cacheLookup: cacheLookup)
            try ending.end(&report, hasFailed: failure != nil, now: Self.secondsSinceEpoch())
        } catch {
            // The first error explains the others.
            failure = failure ?? .store(error)
        }
        if let failure { throw failure }
        do throws(FetchFailure) {
            try loop.saveCookies()
        } catch {
            throw .fetch(error)
        }
        report.elapsed = stopwatch.elapsed
        return report
    }

    /// Passes the URLs of the plan to the frontier, and stores its documents.
    private func addPlannedURLs() throws(CrawlError) {
        if case .finish(_, _, _, let starts) = part {
            for start in starts {
                if let start = Frontier.RemoteDiscovery(start) { try apply(.discoveredRemotely(start)) }
            }
        }
        if !plan.startsAtAssets {
            for url in plan.start { try apply(.start(url, nearestZone: plan.nearestStartZone(of: url))) }
        }
        for url in plan.sitemaps { try apply(.guide(url, nearestZone: plan.startZone)) }
        for url in plan.assets {
            try apply(
                .asset(url, isStart: plan.startsAtAssets, nearestZone: plan.nearestZone(ofNamed: url)))
        }
        for miss in plan.recordedMisses {
            try apply(
                .miss(miss.url, isPage: miss.isPage, nearestZone: miss.nearestZone, origin: miss.origin))
        }
        for document in plan.documents { try store(document) }
    }

    /// Handles the results that are left when the loop has ended, and keeps the bodies of cancelled requests.
    private func finishPendingWork() throws(CrawlError) {
        for result in pool.takeResults() { try didScan(result) }
        for result in loop.cancelAll() { try keepPartial(of: result) }
        try apply(.ended)
        if let replacements {
            try restore(replacements.finish(), isEnding: true)
            report.doubts = replacements.doubts
        }
        try noteKeptResponses()
        try storing { () throws(StoreError) in try cacheLookup?.endTransaction() }
    }

    /// Adds to the report what the frontier and the plan say about the whole run.
    private func completeReport() {
        report.complete(
            from: frontier, rejected: rejectedReasons, isInterrupted: interruption.isRequested,
            limit: knownOutcomes.limit ?? knownOutcomes.pagesReached)
        report.traps = report.traps.isEmpty ? knownOutcomes.traps : report.traps
        report.rendering.count(frontier.renderScheduler)
        report.checkUnresolvedHosts(except: Set(plan.start.map(\.host)), lookUp: plan.hostLookup)
        report.noteErrorAnswers(Set((rendering?.errorAnswers ?? []).map { frontier.url($0) }))
        // Without assets there is nothing to fetch, so the snapshot is complete.
        if plan.startsAtAssets, plan.assets.isEmpty { report.isPublished = !report.isInterrupted }
        if plan.requiresRequestToPublish, report.requests == 0 { report.isPublished = false }
        report.isInsecure = report.isInsecure || plan.fetch.isInsecure
    }

    /// Runs the crawl's loop until the frontier has nothing left to do, a time limit is reached, or the user
    /// interrupts.
    private func runToEnd() throws(CrawlError) {
        while !interruption.isRequested {
            try startDue()
            if frontier.isOutOfTime { return }
            if frontier.isDone, scanning == 0 {
                guard frontier.waitsToSettle else { return }
                try apply(.settled)
                continue
            }
            if scanning == 0, frontier.isOutOfPatience(now: now) {
                try apply(.patienceEnded)
                if frontier.isDone { continue }
            }
            for result in try waitForResults() { try didFetch(result) }
            for result in mediaCommand?.takeResults() ?? [] { try didFetch(result) }
            for result in pool.takeResults() { try didScan(result) }
            try processPageMessages()
            reportProgress()
        }
    }

    /// Starts all tasks that are due. Stored responses that can be reused are processed at once, without a
    /// request. There may be many of these, so the loop checks for interruption and reports progress.
    func startDue() throws(CrawlError) {
        while canScanMore, !interruption.isRequested, let task = nextTask() {
            if let cacheLookup, cacheLookup.looksUpAhead {
                var tasks = [task]
                while tasks.count < Frontier.maxRunningRequests, let next = nextTask() {
                    tasks.append(next)
                }
                let hrefs = tasks.compactMap(hrefToLookUp)
                try storing { () throws(StoreError) in try cacheLookup.lookAhead(hrefs) }
                for task in tasks { try start(task) }
            } else {
                try start(task)
            }
            reportProgress()
        }
    }

    private func nextTask() -> Frontier.Task? {
        tasksToStart.isEmpty ? frontier.next(now: now) : tasksToStart.removeFirst()
    }

    /// The URL of a task if the store may have a response for it; nil for other tasks.
    private func hrefToLookUp(_ task: Frontier.Task) -> String? {
        guard case .fetch(let number) = task else { return nil }
        let url = frontier.url(number)
        return canReuse(url) ? url.href : nil
    }

    /// Whether the store can have a response for the URL.
    private func canReuse(_ url: WebURL) -> Bool {
        workerState.map { $0.canHaveStored(from: url.origin) } ?? true
    }

    /// Waits until a request ends, something is due, or another thread wakes the loop. Returns some of the ended
    /// requests.
    func waitForResults(atMost maxWait: Duration = .seconds(60)) throws(CrawlError) -> [FetchResult] {
        try storing { () throws(StoreError) in try cacheLookup?.endTransaction() }
        // With too many scans queued nothing may start, whatever is due. Results of scans wake the loop.
        let due = canScanMore ? frontier.nextDue : nil
        let wait = min(maxWait, due.map { max(.zero, $0 - now) } ?? .seconds(60))
        let turnWait = plan.progress == nil ? wait : min(wait, Self.progressInterval)
        defer { lastTurn = now }
        let results: [FetchResult]
        do throws(FetchFailure) {
            results = try loop.turn(waitingAtMost: turnWait, maxResults: Self.maxResultsPerTurn)
        } catch {
            throw .fetch(error)
        }
        let away = now - lastTurn - turnWait
        // A delay of this process does not count as silence of the hosts.
        if away > Self.maxTurnDelay { try apply(.processingDelayed(away)) }
        return results
    }

    /// With HTTP/2, a hundred responses may arrive at once. Requests that follow from the first of them are sent
    /// before the others are processed, so that the host is not idle meanwhile.
    private static let maxResultsPerTurn = 16

    /// A longer delay between two turns means that the store blocked or the machine was busy.
    private static let maxTurnDelay = Duration.milliseconds(500)

    /// Whether the queue of the scan pool has room. Without this limit, fast hosts would fill the memory with
    /// bodies that wait for a scan.
    var canScanMore: Bool {
        scanning < Self.maxQueuedScans && scanningByteCount < Self.maxQueuedScanBytes
    }

    /// Runs `body` and converts its store error to a crawl error.
    func storing<Value>(_ body: () throws(StoreError) -> Value) throws(CrawlError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw .store(error)
        }
    }

    var now: Duration { stopwatch.elapsed }

    static func secondsSinceEpoch() -> Int64 { SystemClock.secondsSinceEpoch() }

    static func httpNow() -> HTTPDate { HTTPDate(secondsSinceEpoch: secondsSinceEpoch()) }
}

extension Crawl {
    /// Reports an event to the frontier, and carries out the actions that it returns.
    func apply(_ event: Frontier.Event) throws(CrawlError) {
        try carryOut(frontier.apply(event, now: now))
    }

    /// Carries out actions of the frontier, in their order. All but the start of a task are complete on return, so that the
    /// caller can report the next event at once.
    func carryOut(_ actions: [Frontier.Action]) throws(CrawlError) {
        for action in actions {
            switch action {
            case .startTask(let task): tasksToStart.append(task)
            case .storeRedirect(let number):
                if let head = redirects.removeValue(forKey: number), rejectedReasons[number] == nil {
                    try store(head)
                }
            case .discardRedirect(let number): redirects[number] = nil
            case .storeLinks(let links):
                try storing { () throws(StoreError) in try writes.addWithoutWaiting(links) }
            case .assignNumbers(let numbers): cacheLookup?.assignNumbers(numbers)
            case .failedWithHost(let number): try noteIfKept(number)
            case .cancel(let numbers, let failure): loop.cancel(numbers, with: failure)
            }
        }
    }

    /// Notes that an earlier snapshot has a response for the URL, which stays in place.
    func noteIfKept(_ number: UInt32) throws(CrawlError) {
        guard let cacheLookup else { return }
        let url = frontier.url(number)
        if try storing({ () throws(StoreError) in try cacheLookup.hasResponse(for: url) }) {
            frontier.noteKept(number)
        }
    }

    /// Starts a task of the frontier. A response about a host that another worker has received already is used
    /// without a request.
    private func start(_ task: Frontier.Task) throws(CrawlError) {
        switch task {
        case .fetch(let number): try fetchOrReuse(number)
        case .robots(let host, let url, let nearestZone):
            if let known = knownOutcomes.takeHostResponse(to: url.href) {
                return try applyKnownRobots(known, of: host)
            }
            request(.robots(host), url, nearestZone)
        case .probe(let host, let url, let nearestZone):
            if let known = knownOutcomes.takeHostResponse(to: Self.probeName(url)) {
                return try applyKnownProbe(known, of: host)
            }
            request(.probe(host), url, nearestZone)
        case .sessionCheck(let host, let url, let nearestZone): request(.sessionCheck(host), url, nearestZone)
        case .render(let number): try render(number)
        }
    }

    /// Fetches an entry, unless its stored response can be used without a request.
    private func fetchOrReuse(_ number: UInt32) throws(CrawlError) {
        let url = frontier.url(number)
        if let rule = plan.rules.storageBan(for: url, nil) {
            return try apply(.unstored(number, rule: rule.text))
        }
        let isCORS = frontier.isCORS(number)
        let answer = try storing { () throws(StoreError) -> CacheLookup.Decision? in
            // Such a page is requested for what the server sends now that there are cookies.
            guard canReuse(url), rendering?.reloadedPages.contains(number) != true else { return nil }
            return try cacheLookup?.decision(
                for: url, requiring: required[url], origin: frontier.corsOrigin(of: number),
                isCORS: isCORS,
                now: Self.httpNow())
        }
        if try applyKnownOutcome(number, url, answer) { return }
        if let stored = MediaCommandRunner.madeResponse(answer) {
            return try reuse(number, url, stored, isOfThisSnapshot: false)
        }
        switch answer {
        case nil:
            let origin = isCORS ? frontier.corsOrigin(of: number) : nil
            try sendRequest(number, url, HTTPFields().addingOrigin(origin))
        case .load(let fields, let stored)?:
            repeatFields(of: stored, number)
            try sendRequest(number, url, fields, OpenRequest(storedBefore: replaceable(stored, number)))
        case .validate(let stored, let fields)?:
            repeatFields(of: stored.response, number)
            let open = OpenRequest(
                validatedCopy: stored, storedBefore: replaceable(stored.response, number))
            // A partial body of a newer version is resumed instead. The range request has conditions of its
            // own, which show whether the rest still fits.
            if let part = partials.remove(url.href) {
                try sendRequest(
                    number, url, HTTPFields().addingOrigin(fields["Origin"]), open, resume: PartialBody(part))
            } else {
                try sendRequest(number, url, fields, open)
            }
        case .done(let stored)?:
            try reuse(number, url, stored, isOfThisSnapshot: true)
        // `applyKnownOutcome` has handled it.
        case .failed?: break
        case .reuse(let stored)?:
            try reuse(number, url, stored, isOfThisSnapshot: false)
        }
    }

    /// Uses a stored response in place of a request. A response of an earlier snapshot is added to this one,
    /// unless the page must not be stored (noindex) or it is a redirect that the frontier discards.
    private func reuse(
        _ number: UInt32, _ url: WebURL, _ stored: StoredResponse, isOfThisSnapshot: Bool
    ) throws(CrawlError) {
        try apply(.connected(number, from: stored.flags.zone))
        if isOfThisSnapshot, workerState != nil { try apply(.counted(number)) }
        if let redirect = Redirect(stored.status, HTTPFields(block: stored.fields.utf8.span), from: url) {
            propagateDigest(from: url, to: redirect.url)
            if !isOfThisSnapshot {
                redirects[number] = response(number, stored, fields: stored.fields, fetched: stored.fetched)
            }
            return try apply(.redirected(number, .init(target: redirect.url, isReused: true)))
        }
        try apply(.reused(number))
        if try followLinks(of: number, stored, isOfThisSnapshot: isOfThisSnapshot), !isOfThisSnapshot {
            try store(response(number, stored, fields: stored.fields, fetched: stored.fetched))
        }
    }

    /// Reports the links of a stored response to the frontier, from its stored list of links. The body is
    /// scanned only if there is no list, or if the list is not sufficient.
    ///
    /// - Parameter mayLeaveOut: Whether a page that says noindex may be left out of the snapshot.
    /// - Returns: Whether the response belongs in this snapshot. False for a page that is left out.
    @discardableResult
    func followLinks(
        of number: UInt32, _ stored: StoredResponse, mayLeaveOut: Bool = true, isOfThisSnapshot: Bool = false
    ) throws(CrawlError) -> Bool {
        guard let cacheLookup else { return true }
        let isLeftOut =
            mayLeaveOut && plan.sitePlan.directivePolicy.noindex == .obey
            && stored.flags.contains(.saysNoindex)
            && frontier.mayBeLeftOut(number)
        try apply(
            .usesStored(
                number, format: stored.body?.format, isSoftNotFound: stored.flags.contains(.isSoftNotFound))
        )
        if frontier.role(of: number) == .page { try applyRenderNotes(of: number) }
        // The lists do not say which links of a sitemap are sitemaps, which are marked with nofollow, nor which may
        // change something.
        guard frontier.role(of: number) != .guide, plan.sitePlan.directivePolicy.nofollow != .obey,
            !plan.hasSession || frontier.role(of: number) != .page
        else {
            try scan(number, frontier.url(number), .stored(stored))
            return !isLeftOut
        }
        let isNofollow =
            plan.sitePlan.directivePolicy.nofollow == .pages && stored.flags.contains(.saysNofollow)
        let links = try storing { () throws(StoreError) in
            try cacheLookup.links(
                of: stored, isNofollow: isNofollow, leavesAssets: isLeftOut,
                leavesMedia: plan.sitePlan.media == MediaChoice.none)
        }
        if let links {
            // The stored list does not say whether it was truncated.
            let pageCount = links.known.count { $0.role == .page } + links.new.count { $0.role == .page }
            if pageCount >= plan.maxLinksPerDocument { report.overlong.append(frontier.url(number).href) }
            try apply(
                .linked(
                    number, known: links.known, new: links.new, isLeftOut: isLeftOut,
                    isNofollow: isNofollow, renderReasons: links.renderReasons,
                    isOfThisSnapshot: isOfThisSnapshot))
        } else {
            try scan(number, frontier.url(number), .stored(stored))
        }
        return !isLeftOut
    }

    /// Makes a response of this snapshot from a stored one of an earlier snapshot. `flags` are those of the
    /// request that confirmed it.
    func response(
        _ number: UInt32, _ stored: StoredResponse, fields: String, fetched: Int64, flags: ResponseFlags = []
    ) -> NewResponse {
        var new = NewResponse(
            href: stored.href, referrer: frontier.referrerText(of: number), status: stored.status,
            role: frontier.role(of: number).rawValue, fields: fields, fetched: fetched,
            body: stored.body.map(NewResponse.Body.stored) ?? .none)
        (new.number, new.row) = (number, stored.url)
        new.referrerNumber = frontier.referrerNumber(of: number)
        new.variant = stored.variant
        new.type = stored.type
        new.flags = ResponseFlags(zone: frontier.zone(of: number)).union(
            stored.flags.intersection(.bodyFlags))
        new.flags.formUnion(flags)
        // A bundle from an archive that has the required digest: its bytes are proven, its headers are not.
        new.flags.formUnion(stored.flags.intersection(.isImported))
        return new
    }

    func store(_ response: NewResponse) throws(CrawlError) {
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(response) }
    }
}
