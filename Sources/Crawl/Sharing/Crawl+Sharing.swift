internal import Cluster
internal import Fetch
internal import Store
internal import System
internal import Web

/// The crawl as one of several workers of a shared snapshot.
extension Crawl {
    private static let reportInterval = Duration.milliseconds(50)
    private static let giveAwayInterval = Duration.seconds(2)

    /// The result of one worker.
    struct Work {
        var report: CrawlReport
        /// Nil if the worker was interrupted or failed.
        var ending: WorkerSync.WorkEnding?
        var failure: CrawlError?
    }

    /// Works until the snapshot is over, this worker is the one to finish it, or the run is interrupted.
    /// Blocks.
    consuming func work(_ sync: WorkerSync) -> Work {
        interruption.addWaker(loop.waker)
        let waker = loop.waker
        sync.setWakeHandler { waker.wake() }
        defer {
            interruption.removeWaker(loop.waker)
            sync.setWakeHandler(nil)
        }
        var failure: CrawlError?
        var ending: WorkerSync.WorkEnding?
        do throws(CrawlError) {
            if workerState?.countsPages == true { try apply(.pagesGranted(0)) }
            ending = try runAsWorker(sync)
        } catch {
            failure = error
        }
        reportProgress(isEnding: true)
        pool.finish()
        do throws(CrawlError) {
            for result in pool.takeResults() { try didScan(result) }
            for result in loop.cancelAll() { try keepPartial(of: result) }
            try apply(.ended)
            try sendReport(sync, isQuiet: false, isEnding: true)
        } catch {
            failure = failure ?? error
        }
        report.complete(from: frontier, isInterrupted: interruption.isRequested)
        report.isPublished = false
        sync.reportTallies(report.workTallies)
        do throws(StoreError) {
            try writes.finish(.keepOpen)
        } catch {
            failure = failure ?? .store(error)
        }
        do throws(FetchFailure) {
            try loop.saveCookies()
        } catch {
            failure = failure ?? .fetch(error)
        }
        report.elapsed = now
        // The last writes may have been refused, because another worker has taken the lease.
        return Work(
            report: report, ending: failure == nil || ending != .chosenToFinish ? ending : nil,
            failure: failure)
    }

    private func runAsWorker(_ sync: WorkerSync) throws(CrawlError) -> WorkerSync.WorkEnding? {
        while !interruption.isRequested {
            let (incoming, ending) = try storing { () throws(StoreError) in try sync.collect() }
            if let ending { return ending }
            try apply(incoming)
            try startDue()
            let isQuiet = frontier.isDone && scanning == 0 || frontier.isOutOfTime
            if isQuiet, frontier.waitsToSettle, !frontier.limits.isStopped {
                try apply(.settled)
                continue
            }
            // A silent host keeps its chance for as long as any worker has something to do.
            if !isQuiet, scanning == 0, frontier.isOutOfPatience(now: now),
                workerState?.status.hosts ?? 0 <= frontier.activeHostCount
            {
                try apply(.patienceEnded)
                if frontier.isDone { continue }
            }
            try giveAwayHosts(sync)
            try sendReport(sync, isQuiet: isQuiet)
            for result in try waitForResults(atMost: isQuiet ? .seconds(1) : Self.reportInterval) {
                try didFetch(result)
            }
            for result in pool.takeResults() { try didScan(result) }
            reportProgress()
        }
        return nil
    }

    /// Applies news from other workers to the frontier. Redirects of start URLs come first, since they extend the
    /// scope for the discovered URLs.
    private func apply(_ incoming: WorkerSync.Incoming) throws(CrawlError) {
        if !incoming.discovered.isEmpty || !incoming.hosts.isEmpty || !incoming.startRedirects.isEmpty
            || incoming.grantedPages > 0
        {
            workerState?.endQuietPeriod()
        }
        for redirect in incoming.startRedirects {
            guard let from = WebURL(redirect.source), let to = WebURL(redirect.target) else { continue }
            try apply(.moved(from: from, to: to))
        }
        knownOutcomes.add(incoming.outcomes, incoming.hostResponses)
        if !incoming.hosts.isEmpty {
            workerState?.take(incoming.hosts)
            try apply(.leaseGranted(incoming.hosts.map(\.origin)))
        }
        for found in incoming.discovered {
            if let arrival = Frontier.RemoteDiscovery(found) { try apply(.discoveredRemotely(arrival)) }
        }
        if incoming.grantedPages > 0 { try apply(.pagesGranted(incoming.grantedPages)) }
        if let status = incoming.status {
            workerState?.status = status
            workerState?.hasNewStatus = true
            try apply(.othersReceived(byteCount: status.bytes - (workerState?.reportedBytes ?? 0)))
            if let rate = plan.fetch.bytesPerSecond { loop.change(bytesPerSecond: rate / status.workers) }
        }
    }

    /// Gives hosts to workers that need some, in two steps: the lease of a chosen host ends in the frontier at
    /// once, and in the database when no request, scan or write of the host is in progress any more.
    private func giveAwayHosts(_ sync: WorkerSync) throws(CrawlError) {
        guard let workerState else { return }
        if workerState.hasNewStatus, workerState.originsToRelease.isEmpty, now >= workerState.nextGiveAway {
            let count = workerState.status.hostsToGiveAway(
                active: frontier.activeHostCount, running: frontier.runningCount)
            for origin in frontier.hostsToGiveAway(count) {
                self.workerState?.originsToRelease.insert(origin)
                try apply(.leaseReleased(origin))
            }
        }
        self.workerState?.hasNewStatus = false
        guard let leaving = self.workerState?.originsToRelease, !leaving.isEmpty else { return }
        let scanned = Set(beingScanned.map { frontier.origin(of: $0) })
        let unstored = Set(workerState.unstoredResponses.values.map(\.origin))
        for origin in leaving
        where !frontier.isBusy(origin) && !scanned.contains(origin) && !unstored.contains(origin) {
            self.workerState?.originsToRelease.remove(origin)
            self.workerState?.nextGiveAway = now + Self.giveAwayInterval
            try sendOutcomes(sync)
            let pause = max(.zero, (frontier.nextStart(of: origin) ?? now) - now)
            try storing { () throws(StoreError) in
                try writes.commitSoon { sync.release([(origin, pause)]) }
            }
        }
    }

    /// Reports the outcomes of URLs to the other workers, which then do not request them again. The report
    /// therefore waits until the stored responses have been committed.
    private func sendOutcomes(_ sync: WorkerSync) throws(CrawlError) {
        let outcomes = frontier.takeOutcomes().compactMap { number -> SharedFrontier.Outcome? in
            guard let outcome = frontier.outcome(of: number), let text = outcome.text else { return nil }
            let url = frontier.url(number)
            return SharedFrontier.Outcome(
                origin: url.origin, href: url.href, text: text,
                isPage: frontier.role(of: number) == .page && frontier.entry(number).attempts > 0
                    && outcome.isRequestWithoutStoredResponse)
        }
        guard !outcomes.isEmpty else { return }
        try storing { () throws(StoreError) in try writes.afterNextCommit { sync.shareOutcomes(outcomes) } }
    }

    /// Sends discoveries, outcomes and figures to the other workers, at most once per `reportInterval` unless
    /// the worker becomes quiet or ends.
    private func sendReport(_ sync: WorkerSync, isQuiet: Bool, isEnding: Bool = false) throws(CrawlError) {
        guard let workerState else { return }
        let isStarved = frontier.isStarved && !isEnding
        if isStarved, workerState.isPageLimitUsedUp { return try apply(.pagesEnded) }
        let isResting = isQuiet && !isStarved && workerState.originsToRelease.isEmpty
        guard
            isEnding || isResting && workerState.quietPeriod == nil
                || now - workerState.lastReport >= Self.reportInterval
        else {
            return
        }
        self.workerState?.lastReport = now
        var out = WorkerSync.Outgoing()
        out.discovered = frontier.takeOutgoing()
        try sendOutcomes(sync)
        for number in frontier.takeSoftNotFound() {
            let href = frontier.url(number).href
            try storing { () throws(StoreError) in try writes.markSoftNotFound(href) }
        }
        out.startRedirects = frontier.takeStartRedirects().map { ($0.from.href, $0.to.href) }
        let active = frontier.activeHostCount
        out.workerReport.hosts = active + workerState.originsToRelease.count
        out.workerReport.isHungry =
            !isStarved && workerState.status.isHungry(active: active, running: frontier.runningCount)
        out.workerReport.isStarved = isStarved
        out.workerReport.bytes = report.wireByteCount - workerState.reportedBytes
        self.workerState?.reportedBytes = report.wireByteCount
        out.isLimitReached = frontier.limits.isStopped
        if !frontier.limits.isStopped, !isEnding {
            out.hostsToLease = workerState.status.wantedHosts(active: active, running: frontier.runningCount)
        }
        if isStarved {
            out.pagesToTake = workerState.pagesAtOnce
        } else if isResting, let left = frontier.pagesLeft, left > 0 {
            try apply(.pagesGranted(-left))
            out.pagesToReturn = left
        }
        out.workerReport.unusedPages = frontier.pagesLeft ?? 0
        if isResting {
            if self.workerState?.beginQuietPeriod() == true, let quiet = self.workerState?.quietPeriod {
                sync.reportTallies(report.workTallies)
                try storing { () throws(StoreError) in try writes.commitSoon { sync.didCommit(quiet) } }
            }
            out.quietPeriod = self.workerState?.quietPeriod
        } else {
            self.workerState?.endQuietPeriod()
        }
        sync.send(out)
    }
}

/// Outcomes and responses that are already known from other workers.
extension Crawl {
    /// Reports the outcome of a URL to the frontier if it is known without a request, or if a limit forbids the
    /// request. Returns whether it did.
    func applyKnownOutcome(_ number: UInt32, _ url: WebURL, _ answer: CacheLookup.Decision?)
        throws(CrawlError) -> Bool
    {
        if case .done? = answer { return false }
        let isPage = frontier.role(of: number) == .page
        let outcome: Frontier.KnownOutcome
        if case .failed(let status)? = answer {
            outcome = .failed(.status(status))
        } else if let known = knownOutcomes.outcome(of: url) {
            outcome = known
        } else if let limit = knownOutcomes.limit {
            outcome = .skipped(.limit(limit))
        } else if isPage, frontier.entry(number).attempts == 1, let limit = knownOutcomes.takePage() {
            outcome = .skipped(.limit(limit))
        } else {
            return false
        }
        try apply(.outcomeKnown(number, outcome))
        // The worker that found the outcome has counted the URL.
        if workerState != nil { try apply(.counted(number)) }
        if case .validate(let stored, _)? = answer { try fallBack(number, to: stored.response) }
        return true
    }

    /// The name under which workers share the response to a host's probe.
    static func probeName(_ url: WebURL) -> String { "probe " + url.origin }

    /// Shares a response about a host with the other workers.
    ///
    /// - Parameter number: The number of the request if the response will be stored; it is shared only then,
    ///   because workers that receive it do not store it.
    func shareResponse(
        to name: String, of url: WebURL, _ response: FetchedResponse, location: String?, zone: NetworkZone,
        _ body: [UInt8], storedBy number: UInt32? = nil
    ) throws(CrawlError) {
        let hostResponse = SharedFrontier.HostResponse(
            origin: url.origin, href: name, status: response.status, location: location,
            zone: Int(Frontier.RemoteDiscovery.Facts.number(zone)), failure: nil, body: body)
        if let number {
            workerState?.unstoredResponses[number] = hostResponse
        } else {
            try share(hostResponse)
        }
    }

    /// Shares the failure of a request about a host with the other workers.
    func shareFailure(to name: String, of url: WebURL, failure: FetchFailure) throws(CrawlError) {
        // Another machine may be able to resolve the name.
        guard failure.kind != .unknownHost else { return }
        try share(
            SharedFrontier.HostResponse(
                origin: url.origin, href: name, status: 0, location: nil, zone: 0,
                failure: Frontier.KnownOutcome.failed(.fetch(failure)).text, body: []))
    }

    /// Shares the response about a host whose body has now been handed to the writer.
    func didStoreHostResponse(_ number: UInt32) throws(CrawlError) {
        if let response = workerState?.unstoredResponses.removeValue(forKey: number) { try share(response) }
    }

    /// Sends the response to the other workers once everything that belongs to it has been committed.
    private func share(_ response: SharedFrontier.HostResponse) throws(CrawlError) {
        guard let sync = workerState?.sync else { return }
        try storing { () throws(StoreError) in try writes.afterNextCommit { sync.shareResponse(response) } }
    }

    /// Reports a robots.txt response that another worker received.
    func applyKnownRobots(_ known: SharedFrontier.HostResponse, of host: Int) throws(CrawlError) {
        if let failure = known.failure {
            guard case .failed(.fetch(let reason))? = Frontier.KnownOutcome(text: failure) else {
                return try apply(.robots(host: host, .failed(FetchFailure(.broken, failure))))
            }
            return try apply(.robots(host: host, .failed(reason)))
        }
        try apply(
            .robots(
                host: host,
                .answered(
                    status: known.status, location: known.location.flatMap { WebURL($0) }, body: known.body,
                    from: Frontier.RemoteDiscovery.Facts.zone(Int64(known.zone)))))
    }

    /// Reports the response to a probe that another worker received.
    func applyKnownProbe(_ known: SharedFrontier.HostResponse, of host: Int) throws(CrawlError) {
        guard known.failure == nil else { return try apply(.probed(host: host, nil)) }
        try apply(
            .probed(
                host: host,
                SoftNotFound.Answer(
                    status: known.status, target: known.location.flatMap { WebURL($0) },
                    content: ContentPrint(text: known.body.span))))
    }
}

extension Frontier.RemoteDiscovery {
    /// Returns nil if the text is not a valid URL.
    init?(_ found: SharedFrontier.DiscoveredURL) {
        guard let url = WebURL(found.href) else { return nil }
        self.init(
            url: url, referrer: found.referrer.flatMap { WebURL($0) }, facts: Facts(packed: found.facts))
    }
}

extension CrawlReport {
    /// The figures of this worker: one tally per host, and two for the totals, under the names "" and " ",
    /// which no host has.
    var workTallies: [SharedFrontier.Tally] {
        tallies.values.map {
            SharedFrontier.Tally(
                name: $0.name, requests: $0.requests, failures: $0.failures, bytes: $0.byteCount,
                version: $0.version)
        } + [
            SharedFrontier.Tally(
                name: "", requests: requests, failures: confirmed, bytes: wireByteCount, version: nil),
            SharedFrontier.Tally(
                name: " ", requests: 0, failures: savedByteCount, bytes: bodyByteCount, version: nil),
        ]
    }

    /// Adds the tallies of all workers.
    mutating func add(_ all: [SharedFrontier.Tally]) {
        for tally in all {
            switch tally.name {
            case "":
                requests += tally.requests
                confirmed += tally.failures
                wireByteCount += tally.bytes
            case " ":
                savedByteCount += tally.failures
                bodyByteCount += tally.bytes
            default:
                var host = tallies[tally.name] ?? Host(name: tally.name)
                host.requests += tally.requests
                host.failures += tally.failures
                host.byteCount += tally.bytes
                host.version = host.version ?? tally.version
                tallies[tally.name] = host
            }
        }
    }
}
