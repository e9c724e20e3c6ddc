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
    /// Nil when the store has nothing that could be recalled.
    private let recall: Recall?
    /// What is held of the URLs whose servers are being asked whether it still holds.
    private var asked: [UInt32: StoredResponse] = [:]
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
            recall = try Recall(plan.folder, visit: visit, policy: plan.policy, rules: plan.rules)
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
        while mayScanMore, let number = frontier.next(now: now) { try start(number) }
    }

    /// Fetches what is due, unless it is held and need not be.
    private func start(_ number: UInt32) throws(CrawlError) {
        let url = frontier.entries[Int(number)].url
        switch try storing({ () throws(StoreError) in try recall?.answer(for: url, now: Self.httpNow()) }) {
        case nil:
            loop.start(FetchRequest(number: number, url: url))
        case .load(let fields)?:
            loop.start(FetchRequest(number: number, url: url, fields: fields))
        case .validate(let held, let fields)?:
            asked[number] = held
            loop.start(FetchRequest(number: number, url: url, fields: fields))
        case .done(let held)?:
            try recalled(number, held)
        case .reuse(let held)?:
            if try recalled(number, held) { try keep(number, held, fields: held.fields, fetched: held.fetched) }
        }
    }

    /// Goes on from what is held without asking for it. False for a redirect that leads nowhere.
    @discardableResult
    private func recalled(_ number: UInt32, _ held: StoredResponse) throws(CrawlError) -> Bool {
        let url = frontier.entries[Int(number)].url
        if let redirect = Redirect(held.status, HTTPFields(block: held.fields.utf8.span), from: url) {
            return frontier.redirected(number, to: redirect.url)
        }
        frontier.recalled(number)
        try follow(number, held)
        return true
    }

    private func fetched(_ result: FetchResult) throws(CrawlError) {
        report.requests += 1
        report.wireByteCount += result.wireByteCount
        let held = asked.removeValue(forKey: result.number)
        switch result.outcome {
        case .response(let response):
            if response.status == 304, let held {
                try confirmed(result, response, held)
            } else {
                try answered(result.number, response)
            }
        case .failure(let failure) where failure.kind == .machine:
            // A full disk or no memory: going on would only lose more.
            throw .fetch(failure)
        case .failure(let failure):
            frontier.failed(result.number, .fetch(failure), now: now)
        }
    }

    /// What is held is what the server has.
    private func confirmed(
        _ result: FetchResult, _ response: FetchedResponse, _ held: StoredResponse
    ) throws(CrawlError) {
        response.body.discard()
        guard let fields = recall?.confirmed(held, by: response.fields, now: Self.httpNow()) else {
            // It speaks of another version than the one that is held.
            loop.start(FetchRequest(number: result.number, url: result.url))
            return
        }
        frontier.succeeded(result.number)
        report.confirmed += 1
        try keep(result.number, held, fields: fields.block, fetched: Self.secondsSinceEpoch())
        try follow(result.number, held)
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

    /// The links of what is held, out of their lists: its body is looked into only where there are none.
    private func follow(_ number: UInt32, _ held: StoredResponse) throws(CrawlError) {
        guard let recall else { return }
        let isListed = try storing { () throws(StoreError) in
            try recall.eachLink(of: held) { heard, kind in
                frontier.foundAgain(heard, role: kind.role, isGuess: kind == .guess)
            } new: { link in
                frontier.found(link, by: number)
            }
        }
        if !isListed { scan(number, .held(held)) }
    }

    /// Keeps in this visit what an earlier one has.
    private func keep(
        _ number: UInt32, _ held: StoredResponse, fields: String, fetched: Int64
    ) throws(CrawlError) {
        let entry = frontier.entries[Int(number)]
        var new = NewResponse(
            href: held.href, referrer: referrer(of: entry)?.href, status: held.status, role: entry.role.rawValue,
            fields: fields, fetched: fetched, body: held.body.map(NewResponse.Body.held) ?? .none)
        new.number = number
        new.variant = held.variant
        new.type = held.type
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(new) }
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
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(links) }
    }

    private func target(_ number: UInt32) -> NewLinks.Target {
        NewLinks.Target(href: frontier.entries[Int(number)].url.href, number: number)
    }

    /// Keeps a response that needs no body: a redirect, or a tombstone.
    private func keepHead(_ number: UInt32, _ response: FetchedResponse) throws(CrawlError) {
        let entry = frontier.entries[Int(number)]
        var head = NewResponse(
            href: entry.url.href, referrer: referrer(of: entry)?.href, status: response.status,
            role: entry.role.rawValue, fields: response.fields.block, fetched: Self.secondsSinceEpoch(), body: .none)
        head.number = number
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(head) }
    }

    private func storing<Value>(_ body: () throws(StoreError) -> Value) throws(CrawlError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw .store(error)
        }
    }

    private func referrer(of entry: Frontier.Entry) -> WebURL? {
        entry.referrer.map { frontier.entries[Int($0)].url }
    }

    private var now: Duration { clock.now - started }

    private static func secondsSinceEpoch() -> Int64 { Int64(time(nil)) }

    private static func httpNow() -> HTTPDate { HTTPDate(secondsSinceEpoch: secondsSinceEpoch()) }
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
