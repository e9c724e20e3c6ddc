internal import Fetch
internal import Glibc
internal import Store
internal import Web

/// Drives one prefetch: carries out what the frontier says, on the thread that calls `run`, which is libcurl's too.
package final class Crawl {
    private let plan: CrawlPlan
    private let interruption: Interruption
    private let clock = ContinuousClock()
    private let started: ContinuousClock.Instant
    private let loop: FetchLoop
    private let writes: WriteQueue
    private let pool: ScanPool
    private var frontier: Frontier
    private var report: CrawlReport
    /// What an interrupted run of the same visit stored, by URL.
    private var held: [String: StoredResponse] = [:]
    private var scanning = 0
    private var scanningByteCount = 0
    private var lastProgress: Duration = .zero

    /// Bodies that wait for a scan may fill so much memory before no further ones are asked for.
    private static let mostScanningBytes = 2 * 1024 * 1024
    private static let mostScanning = 64

    /// Opens the store, holds the site, and starts the threads. A visit that was interrupted is gone on with.
    package init(_ plan: CrawlPlan, interruption: Interruption) throws(CrawlError) {
        self.plan = plan
        self.interruption = interruption
        started = clock.now
        frontier = Frontier(scope: Scope(start: plan.start), connectionsPerHost: plan.connectionsPerHost)
        do throws(FetchFailure) {
            loop = try FetchLoop(FetchOptions(userAgent: plan.userAgent, spoolFolder: plan.folder.incoming))
        } catch {
            throw .fetch(error)
        }
        do throws(StoreError) {
            let writer = try StoreWriter(plan.folder)
            let visit = try writer.begin(
                site: plan.site, start: plan.start.map(\.href), now: Self.secondsSinceEpoch())
            report = CrawlReport(site: plan.site, visit: visit.id, isContinued: visit.isContinued)
            if visit.isContinued {
                var held: [String: StoredResponse] = [:]
                try StoreReader(plan.folder).eachResponse(ofVisit: visit.id) { held[$0.href] = $0 }
                self.held = held
            }
            let writes = try WriteQueue(writer, visit: visit)
            self.writes = writes
            let folder = plan.folder
            let waker = loop.waker
            pool = try ScanPool(count: plan.scanThreads) {
                ScanWorker(folder, writes: writes)
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
        defer { interruption.wakes(nil) }
        for url in plan.start { frontier.start(url) }
        do throws(CrawlError) {
            try go()
        } catch {
            pool.finish()
            // The first error is the one that tells; what the queue can still keep, it keeps.
            try? writes.finish(.keepOpen)
            throw error
        }
        return report
    }

    private func go() throws(CrawlError) {
        while !interruption.isRequested {
            startWhatMayStart()
            guard !frontier.isDone || scanning > 0 else { break }
            for result in try turn() { try fetched(result) }
            for result in pool.takeResults() { try scanned(result) }
            tellProgress()
        }
        pool.finish()
        for result in pool.takeResults() { try scanned(result) }
        tell(frontier)
        do throws(StoreError) {
            try writes.finish(report.ending(now: Self.secondsSinceEpoch()))
        } catch {
            throw .store(error)
        }
        report.elapsed = clock.now - started
    }

    private func turn() throws(CrawlError) -> [FetchResult] {
        do throws(FetchFailure) {
            let wait = frontier.nextRetry.map { max(.zero, $0 - now) } ?? .seconds(60)
            return try loop.turn(waitingAtMost: plan.progress == nil ? wait : min(wait, .milliseconds(250)))
        } catch {
            throw .fetch(error)
        }
    }

    private func startWhatMayStart() {
        while scanning < Self.mostScanning, scanningByteCount < Self.mostScanningBytes,
            let number = frontier.next(now: now)
        {
            let url = frontier.entries[Int(number)].url
            if let response = held.removeValue(forKey: url.href) {
                frontier.succeeded(number)
                scan(number, .held(response))
            } else {
                loop.start(FetchRequest(number: number, url: url))
            }
        }
    }

    private func fetched(_ result: FetchResult) throws(CrawlError) {
        report.requests += 1
        report.wireByteCount += result.wireByteCount
        switch result.outcome {
        case .response(let response) where response.status < 400:
            frontier.succeeded(result.number)
            report.bodyByteCount += response.body.byteCount
            scan(result.number, .fetched(response))
        case .response(let response):
            response.body.discard()
            let failure = Failure.status(response.status)
            frontier.failed(result.number, failure, now: now)
            if failure.isGone { try keepTombstone(result.number, response) }
        case .failure(let failure):
            frontier.failed(result.number, .fetch(failure), now: now)
        }
    }

    private func scan(_ number: UInt32, _ source: ScanJob.Source) {
        let entry = frontier.entries[Int(number)]
        let job = ScanJob(
            number: number, url: entry.url, role: entry.role, referrer: referrer(of: entry)?.href, source: source,
            time: Self.secondsSinceEpoch())
        scanning += 1
        scanningByteCount += job.byteCount
        pool.add(job)
    }

    private func scanned(_ result: ScanResult) throws(CrawlError) {
        scanning -= 1
        scanningByteCount -= result.byteCount
        if let failure = result.failure { throw .store(failure) }
        for link in result.links { frontier.found(link, by: result.number) }
        switch result.redirect {
        case .to(let target): frontier.redirected(result.number, to: target)
        case .nowhere: frontier.ledNowhere(result.number)
        case nil: break
        }
    }

    private func keepTombstone(_ number: UInt32, _ response: FetchedResponse) throws(CrawlError) {
        let entry = frontier.entries[Int(number)]
        do throws(StoreError) {
            try writes.add(
                NewResponse(
                    href: entry.url.href, referrer: referrer(of: entry)?.href, status: response.status,
                    role: entry.role.rawValue, fields: response.fields.block, fetched: Self.secondsSinceEpoch(),
                    body: nil))
        } catch {
            throw .store(error)
        }
    }

    private func referrer(of entry: Frontier.Entry) -> WebURL? {
        entry.referrer.map { frontier.entries[Int($0)].url }
    }

    private var now: Duration { clock.now - started }

    private static func secondsSinceEpoch() -> Int64 { Int64(time(nil)) }
}

extension Crawl {
    private func tellProgress() {
        guard let progress = plan.progress, now - lastProgress > .milliseconds(200) else { return }
        lastProgress = now
        progress(
            CrawlProgress(
                done: frontier.doneCount, known: frontier.entries.count, running: frontier.runningCount,
                byteCount: report.wireByteCount))
    }

    /// Counts what the frontier knows at the end.
    private func tell(_ frontier: Frontier) {
        var isAnyStartHeld = false
        for (number, entry) in frontier.entries.enumerated() {
            switch entry.state {
            case .done:
                isAnyStartHeld = isAnyStartHeld || entry.isStart
                switch entry.role {
                case .page: report.pages += 1
                case .requisite: report.requisites += 1
                }
            case .redirected:
                report.redirects += 1
            case .failed where entry.isGuess:
                report.wrongGuesses += 1
            case .failed(let failure):
                report.missing.append(
                    CrawlReport.Missing(
                        url: entry.url, isRequisite: entry.role == .requisite, failure: failure,
                        chain: frontier.chain(to: UInt32(number)).dropLast()))
            case .skipped(let reason):
                report.skipped.append(
                    CrawlReport.Skipped(url: entry.url, reason: reason, referrer: referrer(of: entry)))
            case .queued, .running, .waiting:
                report.isInterrupted = true
            }
        }
        report.isInterrupted = report.isInterrupted || interruption.isRequested
        // A visit of which not even the start was reached says nothing about the site.
        report.isPublished = !report.isInterrupted && isAnyStartHeld
    }
}

extension CrawlReport {
    fileprivate func ending(now: Int64) -> VisitEnding {
        if isPublished { return .publish(now: now) }
        return isInterrupted ? .keepOpen : .forgetIfEmpty
    }
}
