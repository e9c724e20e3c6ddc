internal import Bundles
internal import Fetch
internal import Store
internal import Synchronization
package import System
internal import Web

/// Drives one prefetch: carries out what the frontier says, on the thread that calls `run`, which is libcurl's too.
package final class Crawl {
    let plan: CrawlPlan
    private let interruption: Interruption
    private let age = Stopwatch()
    let loop: FetchLoop
    let writes: WriteQueue
    let pool: ScanPool
    var frontier: Frontier
    var report: CrawlReport
    /// Nil when the store has nothing that could be recalled.
    let recall: Recall?
    /// What is held of the URLs whose servers are being asked whether it still holds.
    var asked: [UInt32: StoredResponse] = [:]
    /// How much was there of what is being resumed.
    var resumed: [UInt32: Int] = [:]
    /// What bodies have to be; of what redirects, at its target too.
    var required: Requirements
    /// What failed, while an earlier visit has it.
    var keptFromBefore: Set<UInt32> = []
    var partials: PartialShelf
    /// Redirects of pages that wait for what is there, by where they lead; see `keepRedirect`.
    var openRedirects: [UInt32: [(number: UInt32, head: NewResponse)]] = [:]
    /// Pages that are being looked into.
    var inScan: Set<UInt32> = []
    var scanning = 0
    var scanningByteCount = 0
    var lastProgress: Duration = .zero

    /// Bodies that wait for a scan may fill so much memory before no further ones are asked for.
    private static let mostScanningBytes = 2 * 1024 * 1024
    private static let mostScanning = 64

    /// Opens the store, holds the site, and starts the threads. A visit that was interrupted is gone on with.
    package init(_ plan: CrawlPlan, interruption: Interruption) throws(CrawlError) {
        self.plan = plan
        required = plan.required
        self.interruption = interruption
        let scope: Scope
        do throws(PatternMistake) {
            scope = try Scope(start: plan.start, options: plan.scope)
        } catch {
            throw .pattern(error)
        }
        frontier = Frontier(scope: scope, options: plan.frontierOptions)
        do throws(FetchFailure) {
            loop = try FetchLoop(plan.fetchOfVisit)
        } catch {
            throw .fetch(error)
        }
        do throws(StoreError) {
            let writer = try StoreWriter(plan.folder)
            let visit = try writer.begin(
                site: plan.site, start: plan.start.map(\.href), now: Self.secondsSinceEpoch(),
                beyond: plan.beyond, isGated: plan.gate != nil)
            try writer.keep(settings: plan.settings, of: visit)
            report = CrawlReport(site: plan.site, visit: visit.id, isContinued: visit.isContinued)
            recall = try Recall(plan.folder, visit: visit, policy: plan.policy, rules: plan.rules)
            partials = try PartialShelf(plan.folder)
            let writes = try WriteQueue(writer, visit: visit)
            self.writes = writes
            let folder = plan.folder
            let rules = plan.rules
            let (manners, productToken, willStore) = (plan.manners, plan.productToken, plan.willStore)
            let waker = loop.waker
            pool = try ScanPool(count: plan.scanThreads) {
                ScanWorker(
                    folder, writes: writes, rules: rules, manners: manners, productToken: productToken,
                    willStore: willStore)
            } wake: {
                waker.wake()
            }
        } catch {
            throw .store(error)
        }
    }

    /// Runs to the end. Blocks.
    package consuming func run() throws(CrawlError) -> CrawlReport {
        interruption.wakes(loop.waker)
        defer { interruption.forgets(loop.waker) }
        if !plan.startsAtRequisites { for url in plan.start { frontier.start(url) } }
        for url in plan.sitemaps { frontier.startGuide(url) }
        for url in plan.requisites { frontier.startRequisite(url, isStart: plan.startsAtRequisites) }
        for miss in plan.missed {
            frontier.startGuess(miss.url, isPage: miss.isPage, mayReach: miss.mayReach, origin: miss.origin)
        }
        var failure: CrawlError?
        do throws(CrawlError) {
            for document in plan.documents { try keep(document) }
            try go()
        } catch {
            failure = error
        }
        tellProgress(isEnding: true)
        pool.finish()
        do throws(CrawlError) {
            for result in pool.takeResults() { try scanned(result) }
            for result in loop.abandon() { try keepPartial(of: result) }
            try closeAll()
            try findKept()
        } catch {
            failure = failure ?? error
        }
        report.tell(frontier, keptFromBefore, isInterrupted: interruption.isRequested)
        // There was nothing to ask for: what is held is what is wanted.
        if plan.startsAtRequisites, plan.requisites.isEmpty { report.isPublished = !report.isInterrupted }
        report.isInsecure = report.isInsecure || plan.fetch.isInsecure
        do throws(StoreError) {
            for missing in report.missing where missing.failure == .softNotFound {
                try writes.addWithoutWaiting(softNotFound: missing.url.href)
            }
            try end(hasFailed: failure != nil)
        } catch {
            // The first error is the one that tells.
            failure = failure ?? .store(error)
        }
        if let failure { throw failure }
        do throws(FetchFailure) {
            try loop.saveCookies()
        } catch {
            throw .fetch(error)
        }
        report.elapsed = age.elapsed
        return report
    }

    /// A visit that would be published has to pass the gate, once all of it is stored.
    private func end(hasFailed: Bool) throws(StoreError) {
        let now = Self.secondsSinceEpoch()
        var ending = hasFailed ? VisitEnding.keepOpen : report.ending(now: now)
        if ending.isPublishing, let fewest = plan.fewestPages, report.limit == nil {
            // What failed is shown as it was before: it is not lost.
            let failed = report.missing.count {
                !$0.isRequisite && !$0.failure.isGone && $0.failure != .softNotFound
            }
            let held = report.pages + failed
            if held < fewest {
                // What answers is perhaps not the site.
                ending = .holdBack(now: now)
                report.hasShrunk = true
                report.isHeldBack = true
                report.isPublished = false
            }
        }
        guard ending.isPublishing, plan.gate != nil || plan.refusesWalls else { return try writes.finish(ending) }
        let (visit, refused, plan) = (report.visit, report.refused, plan)
        // A gated run adds nothing to what is served, so that this one ends here.
        let passing = plan.gate == nil ? ending : .publish(now: now)
        let found = Mutex<(isHeldBack: Bool, wall: SiteWall?)>((false, nil))
        try writes.finish { () throws(StoreError) in
            let wall =
                plan.refusesWalls
                ? try SiteWall.found(in: visit, start: plan.start, StoreReader(plan.folder)) : nil
            if wall == nil, try plan.gate?(visit, refused) ?? true { return passing }
            found.withLock { $0 = (true, wall) }
            return .holdBack(now: now)
        }
        (report.isHeldBack, report.wall) = found.withLock { $0 }
        report.isPublished = !report.isHeldBack
    }

    private func go() throws(CrawlError) {
        while !interruption.isRequested {
            // What is held already is done at once: of that there may be much.
            while mayScanMore, !interruption.isRequested, let task = frontier.next(now: now) {
                try start(task)
                tellProgress()
            }
            if frontier.isOutOfTime || frontier.isDone && scanning == 0 { return }
            if scanning == 0, let end = frontier.endOfPatience, end <= now { return try loseSilentHosts() }
            for result in try turn() { try fetched(result) }
            for result in pool.takeResults() { try scanned(result) }
            tellProgress()
        }
    }

    /// What an earlier visit has of them stays.
    private func loseSilentHosts() throws(CrawlError) {
        for number in frontier.loseSilentHosts() {
            guard let recall else { continue }
            if try storing({ () throws(StoreError) in try recall.holds(frontier.url(number)) }) {
                keptFromBefore.insert(number)
            }
        }
    }

    private func turn() throws(CrawlError) -> [FetchResult] {
        do throws(FetchFailure) {
            // With the scans backed up nothing may start, whatever is due; their results end the wait.
            let due = mayScanMore ? frontier.nextRetry : nil
            let wait = due.map { max(.zero, $0 - now) } ?? .seconds(60)
            return try loop.turn(waitingAtMost: plan.progress == nil ? wait : min(wait, Self.progressInterval))
        } catch {
            throw .fetch(error)
        }
    }

    private var mayScanMore: Bool {
        scanning < Self.mostScanning && scanningByteCount < Self.mostScanningBytes
    }

    func storing<Value>(_ body: () throws(StoreError) -> Value) throws(CrawlError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw .store(error)
        }
    }

    var now: Duration { age.elapsed }

    static func secondsSinceEpoch() -> Int64 { SystemClock.secondsSinceEpoch() }

    static func httpNow() -> HTTPDate { HTTPDate(secondsSinceEpoch: secondsSinceEpoch()) }
}
