package import Fetch
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
                try StoreReader(plan.folder).eachResponse(ofVisit: visit.id) { response in
                    // What was gone is asked for again: it may be there by now.
                    if response.status < 400 { held[response.href] = response }
                }
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
        var failure: CrawlError?
        do throws(CrawlError) {
            try go()
        } catch {
            failure = error
        }
        pool.finish()
        do throws(CrawlError) {
            for result in pool.takeResults() { try scanned(result) }
        } catch {
            failure = failure ?? error
        }
        tell(frontier)
        do throws(StoreError) {
            try writes.finish(failure == nil ? report.ending(now: Self.secondsSinceEpoch()) : .keepOpen)
        } catch {
            // The first error is the one that tells.
            failure = failure ?? .store(error)
        }
        if let failure { throw failure }
        report.elapsed = clock.now - started
        return report
    }

    private func go() throws(CrawlError) {
        while !interruption.isRequested {
            try startWhatMayStart()
            guard !frontier.isDone || scanning > 0 else { return }
            for result in try turn() { try fetched(result) }
            for result in pool.takeResults() { try scanned(result) }
            tellProgress()
        }
    }

    private func turn() throws(CrawlError) -> [FetchResult] {
        do throws(FetchFailure) {
            // With the scans backed up nothing may start, whatever is due; their results end the wait.
            let due = mayScanMore ? frontier.nextRetry : nil
            let wait = due.map { max(.zero, $0 - now) } ?? .seconds(60)
            return try loop.turn(waitingAtMost: plan.progress == nil ? wait : min(wait, .milliseconds(250)))
        } catch {
            throw .fetch(error)
        }
    }

    private var mayScanMore: Bool {
        scanning < Self.mostScanning && scanningByteCount < Self.mostScanningBytes
    }

    private func startWhatMayStart() throws(CrawlError) {
        while mayScanMore, let number = frontier.next(now: now) {
            let url = frontier.entries[Int(number)].url
            guard let response = held.removeValue(forKey: url.href) else {
                loop.start(FetchRequest(number: number, url: url))
                continue
            }
            if let target = Redirect(response.status, HTTPFields(block: response.fields.utf8.span), from: url) {
                _ = frontier.redirected(number, to: target.url)
            } else {
                frontier.recalled(number)
                scan(number, .held(response))
            }
        }
    }

    private func fetched(_ result: FetchResult) throws(CrawlError) {
        report.requests += 1
        report.wireByteCount += result.wireByteCount
        switch result.outcome {
        case .response(let response):
            try answered(result.number, response)
        case .failure(let failure) where failure.kind == .machine:
            // A full disk or no memory: going on would only lose more.
            throw .fetch(failure)
        case .failure(let failure):
            frontier.failed(result.number, .fetch(failure), now: now)
        }
    }

    private func answered(_ number: UInt32, _ response: FetchedResponse) throws(CrawlError) {
        if (200..<300).contains(response.status) {
            frontier.succeeded(number)
            report.bodyByteCount += response.body.byteCount
            return scan(number, .fetched(response))
        }
        response.body.discard()
        let url = frontier.entries[Int(number)].url
        if let redirect = Redirect(response.status, response.fields, from: url) {
            if frontier.redirected(number, to: redirect.url) { try keepHead(number, response) }
        } else {
            let failure = Failure.status(response.status)
            frontier.failed(number, failure, now: now)
            if failure.isGone { try keepHead(number, response) }
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
        var links = NewLinks(from: target(result.number))
        for link in result.links {
            let target = target(frontier.found(link, by: result.number))
            if link.isGuess {
                links.guesses.append(target)
            } else {
                switch link.role {
                case .page: links.pages.append(target)
                case .requisite: links.requisites.append(target)
                }
            }
        }
        do throws(StoreError) {
            try writes.addWithoutWaiting(links)
        } catch {
            throw .store(error)
        }
    }

    private func target(_ number: UInt32) -> NewLinks.Target {
        NewLinks.Target(href: frontier.entries[Int(number)].url.href, number: number)
    }

    /// Keeps a response that needs no body: a redirect, or a tombstone.
    private func keepHead(_ number: UInt32, _ response: FetchedResponse) throws(CrawlError) {
        let entry = frontier.entries[Int(number)]
        do throws(StoreError) {
            var head = NewResponse(
                href: entry.url.href, referrer: referrer(of: entry)?.href, status: response.status,
                role: entry.role.rawValue, fields: response.fields.block, fetched: Self.secondsSinceEpoch(),
                body: .none)
            head.number = number
            try writes.addWithoutWaiting(head)
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
        return isInterrupted ? .keepOpen : .forget
    }
}
