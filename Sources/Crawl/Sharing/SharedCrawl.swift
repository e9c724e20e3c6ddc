internal import Cluster
internal import Fetch
internal import Glibc
internal import Store
package import System
internal import Web

/// One worker of a snapshot that several workers fetch together, with a store in PostgreSQL.
///
/// A worker goes through these states:
///
/// 1. It joins the shared snapshot, or begins one, and crawls the hosts that it leases (`Crawl.work`).
/// 2. When all workers are idle, the database chooses one of them as the finisher. It counts the stored responses,
///    fetches missing URLs, and publishes the snapshot (`finish`). The others wait until the snapshot is over.
/// 3. A worker that loses its lease, because it did not renew it in time, joins again as a new one. Nothing that it
///    did after the loss is committed.
package struct SharedCrawl: Sendable {
    /// The result of one worker.
    package struct Ending: Sendable {
        package var report: CrawlReport
        package var worker: Int64
        /// Whether this worker finished the snapshot, so that its report covers all of it.
        package var isLast: Bool
        /// How often other workers took over its hosts, because it did not renew its lease.
        package var lostLeases: Int
    }

    private let plan: CrawlPlan
    private let interruption: Interruption

    package init(_ plan: CrawlPlan, interruption: Interruption) {
        self.plan = plan
        self.interruption = interruption
    }

    /// Joins the shared snapshot of the site, or begins one. Blocks until the snapshot is over or the worker
    /// is interrupted.
    package func run() throws(CrawlError) -> Ending {
        let began = ContinuousClock.now
        var report: CrawlReport?
        var lostLeases = 0
        while true {
            let frontier = try storing { () throws(StoreError) in try SharedFrontier(plan.folder) }
            let shared = try findOrBeginSnapshot(in: frontier)
            let (name, snapshot) = (Self.name, shared.snapshot)
            let worker = try storing { () throws(StoreError) in
                try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.join(snapshot, named: name)
                }
            }
            let sync = try storing { () throws(StoreError) in
                try WorkerSync(SharedFrontier(plan.folder), worker: worker, snapshot: shared.snapshot)
            }
            var part = plan
            part.rendering = nil
            let crawl: Crawl
            do throws(CrawlError) {
                crawl = try Crawl(part, .share(shared, sync), interruption)
            } catch {
                sync.close()
                try leave(worker, snapshot, frontier)
                throw error
            }
            let work = crawl.work(sync)
            report = report.map { $0.adding(work.report) } ?? work.report
            var ending = work.ending
            if ending == nil, let failure = work.failure {
                guard try !hasLease(worker, frontier) else {
                    sync.close()
                    try leave(worker, snapshot, frontier)
                    throw failure
                }
                ending = .leaseLost
            }
            if ending == .leaseLost, try !isShared(snapshot, frontier) { ending = .snapshotEnded }
            switch ending {
            case .leaseLost?:
                sync.close()
                lostLeases += 1
                if interruption.isRequested { break }
                continue
            case .chosenToFinish?:
                guard let all = try finish(shared, worker, sync, frontier) else {
                    guard try isShared(snapshot, frontier) else { break }
                    continue
                }
                return Ending(report: all, worker: worker, isLast: true, lostLeases: lostLeases)
            case .snapshotEnded?: sync.close()
            case nil:
                sync.close()
                try leave(worker, snapshot, frontier)
            }
            guard var report else { throw .store(Self.takenOverError(plan)) }
            report.elapsed = .now - began
            report.isPublished = try storing { () throws(StoreError) in
                try frontier.retrying { (frontier) throws(StoreError) in
                    try frontier.isPublished(snapshot: snapshot)
                }
            }
            return Ending(report: report, worker: worker, isLast: false, lostLeases: lostLeases)
        }
    }

    private static func takenOverError(_ plan: CrawlPlan) -> StoreError {
        StoreError(
            .busy, doing: "work on", path: plan.site,
            detail: "other workers took over its snapshot before this one began",
            advice: "run the same command again")
    }

    /// The shared snapshot of the site that other workers fetch; else a new one, or one that an earlier run
    /// left unfinished.
    private func findOrBeginSnapshot(in frontier: SharedFrontier) throws(CrawlError)
        -> SharedFrontier.SharedSnapshot
    {
        try storing { () throws(StoreError) in
            // Creates the store if it does not exist.
            let writer = try StoreWriter(plan.folder)
            try frontier.setUpTables()
            try frontier.removeEndedSnapshots()
            for _ in 0..<50 {
                if let known = try frontier.sharedSnapshots().first(where: { $0.name == plan.site }) {
                    return known
                }
                do throws(StoreError) {
                    let snapshot = try plan.begin(by: writer)
                    _ = try frontier.share(
                        snapshot, named: plan.site, maxPages: plan.limits.pages,
                        maxBytes: plan.limits.byteCount,
                        milliseconds: plan.limits.time.map { Int($0 / .milliseconds(1)) }, starts: plan.starts
                    )
                    try writer.end(snapshot, .keepOpen)
                } catch  where error.reason == .busy {
                    // Another worker is about to begin it.
                    usleep(100_000)
                }
            }
            throw StoreError(
                .busy, doing: "work on", path: plan.site, detail: "a prefetch of this site is running")
        }
    }

    /// Counts the stored responses, fetches missing URLs, and publishes the snapshot. Returns nil if another
    /// worker has to do so, because this one lost its lease.
    private func finish(
        _ shared: SharedFrontier.SharedSnapshot, _ worker: Int64, _ sync: WorkerSync,
        _ frontier: SharedFrontier
    ) throws(CrawlError) -> CrawlReport? {
        let snapshot = shared.snapshot
        var report: CrawlReport
        do throws(CrawlError) {
            let (knownOutcomes, starts, tallies) = try storing { () throws(StoreError) in
                try frontier.retrying { (frontier) throws(StoreError) in
                    var knownOutcomes = KnownOutcomes()
                    knownOutcomes.add(
                        try frontier.outcomes(in: snapshot), try frontier.hostResponses(in: snapshot))
                    let limits = try frontier.limits(of: snapshot)
                    if limits.isLimitReached {
                        knownOutcomes.limit =
                            if let maxBytes = shared.maxBytes, limits.bytes >= maxBytes {
                                .byteCount(maxBytes)
                            } else {
                                .time(plan.limits.time ?? .zero)
                            }
                    }
                    if let left = limits.pagesLeft, let maxPages = shared.maxPages {
                        knownOutcomes.setPageLimit(pagesLeft: left, of: maxPages)
                    }
                    return (
                        knownOutcomes, try frontier.starts(of: snapshot), try frontier.tallies(of: snapshot)
                    )
                }
            }
            report = try Crawl(
                plan, .finish(shared, worker: worker, knownOutcomes, starts), interruption
            ).run()
            report.add(tallies)
        } catch {
            sync.close()
            guard try !hasLease(worker, frontier) else {
                try leave(worker, snapshot, frontier)
                throw error
            }
            return nil
        }
        sync.close()
        report.elapsed = try storing { () throws(StoreError) in
            try frontier.retrying { (frontier) throws(StoreError) in try frontier.age(of: snapshot) }
        }
        try storing { () throws(StoreError) in
            try frontier.retrying { (frontier) throws(StoreError) in
                if report.isInterrupted {
                    try frontier.leave(worker, of: snapshot)
                } else {
                    try frontier.remove(snapshot: snapshot)
                }
            }
        }
        return report
    }

    private func hasLease(_ worker: Int64, _ frontier: SharedFrontier) throws(CrawlError) -> Bool {
        try storing { () throws(StoreError) in
            try frontier.retrying { (frontier) throws(StoreError) in try frontier.hasLease(worker) }
        }
    }

    private func isShared(_ snapshot: Int64, _ frontier: SharedFrontier) throws(CrawlError) -> Bool {
        try storing { () throws(StoreError) in
            try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.isShared(snapshot: snapshot)
            }
        }
    }

    private func leave(_ worker: Int64, _ snapshot: Int64, _ frontier: SharedFrontier) throws(CrawlError) {
        try storing { () throws(StoreError) in
            try frontier.retrying { (frontier) throws(StoreError) in
                try frontier.leave(worker, of: snapshot)
            }
        }
    }

    private func storing<Value>(_ body: () throws(StoreError) -> Value) throws(CrawlError) -> Value {
        do throws(StoreError) { return try body() } catch { throw .store(error) }
    }

    /// The name of the worker for people who look at the tables: the host name and the process.
    private static var name: String {
        var name = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&name, name.count - 1) == 0
        let host =
            isKnown
            ? String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
        return "\(host):\(getpid())"
    }
}

extension CrawlPlan {
    /// The URLs with which the workers begin.
    fileprivate var starts: [SharedFrontier.DiscoveredURL] {
        var starts: [SharedFrontier.DiscoveredURL] = []
        func add(
            _ url: WebURL, _ role: Frontier.Role, isStart: Bool = false, isGuess: Bool = false,
            depth: UInt16 = 0, _ nearestZone: NetworkZone
        ) {
            var facts = Frontier.RemoteDiscovery.Facts()
            facts.role = role
            facts.isStart = isStart
            facts.isGuess = isGuess
            facts.depth = depth
            facts.nearestZone = nearestZone
            let url = url.withoutFragment
            starts.append(
                SharedFrontier.DiscoveredURL(
                    origin: url.origin, href: url.href, referrer: nil, facts: facts.packed,
                    identity: facts.identity(withDepth: false)))
        }
        if !startsAtAssets {
            for url in start { add(url, .page, isStart: true, nearestStartZone(of: url)) }
        }
        for url in sitemaps { add(url, .guide, startZone) }
        for url in assets {
            add(url, .asset, isStart: startsAtAssets, nearestZone(ofNamed: url))
        }
        for miss in recordedMisses {
            // Its pages are not followed, as in `Frontier.addMiss`.
            add(
                miss.url.key, miss.isPage ? .page : .asset, isGuess: true,
                depth: UInt16(clamping: scope.depth ?? 0), miss.nearestZone)
        }
        return starts
    }
}

extension CrawlReport {
    /// Adds what this worker requested before it lost its lease to a later report.
    fileprivate func adding(_ later: CrawlReport) -> CrawlReport {
        var all = later
        all.add(workTallies)
        return all
    }
}
