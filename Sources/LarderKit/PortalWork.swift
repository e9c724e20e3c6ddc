internal import Check
internal import Crawl
internal import Digest
internal import Fetch
internal import Reports
internal import Serve
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Carries out what people ask for on a server's portal, by the same calls that programs have: every gate and
/// guard of theirs holds. It runs on threads of the portal's, which wait.
struct PortalWork: Sendable {
    let larder: Larder
    /// How servers are asked, as the server was told.
    let network: NetworkOptions

    func carryOut(_ order: PortalOrder, _ run: JobRun) -> (end: JobEnd, outcome: [Phrase]) {
        do throws(LarderError) {
            return try outcome(of: order, run)
        } catch {
            guard error.kind != .interrupted else { return (.stopped, [Phrase(.endedInterrupted)]) }
            return (.failed, [Phrase(.quoted, error.description)])
        }
    }

    private func outcome(
        of order: PortalOrder, _ run: JobRun
    ) throws(LarderError) -> (end: JobEnd, outcome: [Phrase]) {
        let larder = larder
        // A prefetch would make another one, be it where a disk was mounted.
        guard larder.folder.exists else {
            throw LarderError(
                .machine,
                "the larder is gone from \(larder.shownPath): see that its disk is there, then try again")
        }
        switch order {
        case .prefetch(let address, let form):
            let options = try options(form, run)
            return told([
                try waiting(run) { () throws(LarderError) in
                    try await larder.prefetch([address], options: options)
                }
            ])
        case .update(let site):
            let options = try options(PlanForm(), run)
            return told(
                try waiting(run) { () throws(LarderError) in
                    try await larder.update(site.map { [$0] } ?? [], options: options)
                })
        case .fetch(let url):
            var options = LoadOptions()
            options.network = network
            let report = try waiting(run) { [options] () throws(LarderError) in
                try await larder.load(url, policy: .reload, options: options)
            }
            let status = report.response.status
            let words = report.notStored ?? Wording.bytes(report.body.count)
            return (
                (200..<400).contains(status) && report.notStored == nil ? .done : .lacking,
                [Phrase(.loaded, "\(status)", words)]
            )
        case .check(let site):
            return told(try waiting(run) { () throws(LarderError) in try await larder.checkOffline(site) })
        case .pin(let pin):
            let change = try waiting(run) { () throws(LarderError) in
                try await larder.pin(pin.name, as: pin.isSite ? .site : .url)
            }
            let words = Phrase(.pinned, Wording.grouped(change.pin.urls), Wording.bytes(change.pin.byteCount))
            return (.done, change.isNew ? [words] : [Phrase(.pinnedBefore), words])
        case .unpin(let pin):
            _ = try waiting(run) { () throws(LarderError) in
                try await larder.unpin(pin.name, as: pin.isSite ? .site : .url)
            }
            return (.done, [Phrase(.unpinned)])
        case .drop(let visit, let site):
            _ = try waiting(run) { () throws(LarderError) in try await larder.drop([visit], of: site) }
            return (.done, [Phrase(.dropped, "\(visit)")])
        case .rollBack(let site, let visit):
            let served = try waiting(run) { () throws(LarderError) in
                try await larder.rollBack(site, to: visit)
            }
            return (.done, [Phrase(.nowServed, "\(served)")])
        case .remove(let site):
            _ = try waiting(run) { () throws(LarderError) in try await larder.remove(site) }
            return (.done, [Phrase(.removed, site)])
        case .forecast(let limit):
            let size = limit.flatMap { ByteSize($0) }
            return told(
                try waiting(run) { () throws(LarderError) in
                    try await larder.forecastCollection(limit: size)
                })
        case .collect(let limit):
            let size = limit.flatMap { ByteSize($0) }
            let report = try waiting(run) { () throws(LarderError) in try await larder.collect(limit: size) }
            let words = Phrase(
                .collected, Wording.bytes(report.byteCountBefore), Wording.bytes(report.byteCountAfter),
                Wording.grouped(report.removedBodies))
            return (report.isWithinLimit ? .done : .lacking, [words])
        case .settle(let site, let form):
            try waiting(run) { () throws(LarderError) in try await larder.settle(site, as: form) }
            return (.done, [Phrase(.settled)])
        }
    }

    /// Has a call done, which is cancelled with the run. Its task runs on the thread that waits for it, so that
    /// no job waits for room on Swift's pool.
    private func waiting<Value: Sendable>(
        _ run: JobRun, _ body: @escaping @Sendable () async throws(LarderError) -> Value
    ) throws(LarderError) -> Value {
        let executor = WaitingExecutor.take()
        defer { executor.giveBack() }
        let outcome = Monitor<Result<Value, LarderError>?>(nil)
        let task = Task(executorPreference: executor) {
            let result: Result<Value, LarderError>
            do throws(LarderError) { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.change { $0 = result }
            executor.finish()
        }
        run.onCancel { task.cancel() }
        executor.work()
        return try outcome.wait { $0 }.get()
    }

    private func options(_ form: PlanForm, _ run: JobRun) throws(LarderError) -> PrefetchOptions {
        var options = PrefetchOptions()
        options.network = network
        form.apply(to: &options.plan)
        options.limits.byteCount = form.maxBytes.flatMap { ByteSize($0) }.map { Int(clamping: $0.byteCount) }
        options.progress = { run.report(JobFigures($0)) }
        return options
    }

    // MARK: - What came of it

    private func told(_ reports: [PrefetchReport]) -> (end: JobEnd, outcome: [Phrase]) {
        var end = JobEnd.done
        var outcome: [Phrase] = []
        for report in reports {
            outcome.append(
                Phrase(
                    .endedPages, Wording.grouped(report.pages), Wording.grouped(report.requisites),
                    Wording.bytes(report.wireByteCount), Wording.time(report.elapsed)))
            let lost = report.missing.count { !$0.isGone || $0.isRequisite }
            if lost > 0 { outcome.append(Phrase(.endedMissing, Wording.grouped(lost))) }
            if let limit = report.limit { outcome.append(Phrase(.endedLimit, limit)) }
            if report.isInterrupted {
                outcome.append(Phrase(.endedInterrupted))
                end = .stopped
            } else if !report.isPublished {
                let reason =
                    report.missing.first.map { "\($0.url): \($0.reason)" }
                    ?? report.skipped.first.map { "\($0.url): \($0.reason)" }
                if let reason { outcome.append(Phrase(.quoted, reason)) }
                if report.lastGood != nil { outcome.append(Phrase(.endedNotPublished)) }
                end = .failed
            }
            if !report.isComplete, end == .done { end = .lacking }
        }
        return (end, outcome)
    }

    private static let mostItems = 50

    private func told(_ report: CheckReport) -> (end: JobEnd, outcome: [Phrase]) {
        let failed = report.items.filter { item in item.findings.contains { report.fails($0, of: item) } }
        guard !failed.isEmpty else {
            return (.done, [Phrase(.checkClean, Wording.grouped(report.items.count))])
        }
        let first = Phrase(
            .checkFailed, Wording.grouped(failed.count), Wording.grouped(report.items.count))
        let items = failed.prefix(Self.mostItems).map { item in
            Phrase(
                .checkItem, item.verdict.rawValue, item.url + (item.detail.map { ", \($0)" } ?? ""))
        }
        return (.lacking, [first] + items)
    }

    private func told(_ forecast: CollectionForecast) -> (end: JobEnd, outcome: [Phrase]) {
        let report = forecast.report
        let first = Phrase(
            .wouldCollect, Wording.bytes(report.byteCountBefore), Wording.bytes(report.byteCountAfter))
        let visits = forecast.visits.prefix(Self.mostItems).map {
            Phrase(.wouldDrop, "\($0.number)", $0.site)
        }
        let urls = forecast.urls.prefix(Self.mostItems).map { Phrase(.wouldEvict, $0) }
        return (.done, [first] + visits + urls)
    }
}

extension Larder {
    /// Keeps how a site is prefetched from its next update on.
    func settle(_ site: String, as form: PlanForm) async throws(LarderError) {
        try await reading("larder-settle") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            var plan = SitePlan(text: held.settings)
            form.apply(to: &plan)
            plan.scope.include = form.include
            plan.scope.exclude = form.exclude
            plan.scope.depth = form.depth
            plan.maxPages = form.maxPages
            plan.connectionsPerHost = form.perHost
            try StoreWriter(reader.folder).keep(settings: plan.text, ofSite: held.name)
        }
    }

    /// Sets the password by which other machines get at the portal of a server that listens beyond loopback.
    /// What is kept of it is a scrypt, in a file of the larder's that nobody else may read.
    ///
    /// ```swift
    /// try larder.setPortalPassword("correct horse battery staple")
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for one of fewer than eight characters, `.machine` where it
    ///   cannot be kept.
    public func setPortalPassword(_ password: String) throws(LarderError) {
        guard password.unicodeScalars.count >= 8, password.utf8.count <= 1024 else {
            throw LarderError(.input, "the password is too short: use eight characters or more")
        }
        guard let hash = PasswordHash(password) else {
            throw LarderError(
                .machine, "there is no memory to hash the password: end other programs, then try again")
        }
        try storing { () throws(StoreError) in try folder.keep(portalPassword: hash.text) }
    }

    /// Takes the password away: other machines do not get at the portal any more.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: `LarderError` of kind `.machine` where it cannot be removed.
    @discardableResult
    public func forgetPortalPassword() throws(LarderError) -> Bool {
        try storing { () throws(StoreError) in try folder.forgetPortalPassword() }
    }
}

extension PlanForm {
    /// What it says, over what is there.
    fileprivate func apply(to plan: inout SitePlan) {
        if let extent = scope.flatMap(SiteExtent.init) { plan.scope.extent = extent }
        if let depth { plan.scope.depth = depth }
        if let maxPages { plan.maxPages = maxPages }
        if let perHost { plan.connectionsPerHost = perHost }
        if let robots = robots.flatMap(RobotsPolicy.init) { plan.robots = robots }
        if let mode = render.flatMap(RenderMode.init) {
            var settings = plan.render ?? RenderSettings()
            settings.mode = mode
            plan.render = settings
        }
        if !include.isEmpty { plan.scope.include = include }
        if !exclude.isEmpty { plan.scope.exclude = exclude }
    }
}

extension JobFigures {
    fileprivate init(_ progress: PrefetchProgress) {
        self.init()
        site = progress.site
        isStoring = progress.phase == .storing
        (pages, queuedPages) = (progress.pages.done, progress.pages.queued)
        (files, queuedFiles) = (progress.requisites.done, progress.requisites.queued)
        failed = progress.failed
        (byteCount, bytesPerSecond) = (progress.byteCount, progress.bytesPerSecond)
        seconds = Int(progress.elapsed / .seconds(1))
        secondsLeft = progress.remaining.map { Int(($0 / .seconds(1)).rounded(.up)) }
        hostCount = progress.hostCount
        hosts = progress.hosts.prefix(Self.mostHosts).map { host in
            Host(
                name: host.name, running: host.running, queued: host.queued,
                requestsPerSecond: host.requestsPerSecond,
                pausedSeconds: host.pause.map { Int(($0 / .seconds(1)).rounded(.up)) })
        }
    }

    private static let mostHosts = 10
}

/// Runs the jobs of one task on the thread that waits for it.
///
/// Whoever enqueues a job holds no reference, and may still be about it when the job has run and its task has
/// ended: none is ever let go, and each is used again.
private final class WaitingExecutor: TaskExecutor {
    private enum Turn: Sendable {
        case job(UnownedJob)
        case done
    }

    private let turns = Inbox<Turn>()
    private static let idle = Mutex<[WaitingExecutor]>([])

    static func take() -> WaitingExecutor { idle.withLock { $0.popLast() } ?? WaitingExecutor() }

    func giveBack() { Self.idle.withLock { $0.append(self) } }

    func enqueue(_ job: consuming ExecutorJob) { turns.put(.job(UnownedJob(job))) }

    /// Returns when the task has said that it is done.
    func work() {
        while case .job(let job)? = turns.next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    func finish() { turns.put(.done) }
}
