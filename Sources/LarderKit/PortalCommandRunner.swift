internal import Archives
internal import Check
internal import Crawl
internal import Fetch
internal import Mirror
internal import Portal
internal import Prefetch
internal import Reports
internal import Store
internal import System
internal import Web

/// Carries out the commands that users give in the portal, through the public API, so that all of its checks apply.
///
/// Each command is a job of the portal (`JobRun`), on a thread of the portal, which blocks until the command has ended.
/// Users of other machines get the same commands with fewer rights: their requests never use the credentials of this
/// machine's user, and results leave out facts that only private responses contain.
struct PortalCommandRunner: Sendable {
    let larder: Larder
    /// The network options of the server.
    let network: NetworkOptions
    /// The command of the timer for due updates; nil if none can be installed.
    var updateCommand: String?
    /// Whether private responses are hidden from users of other machines.
    var hidesPrivate = false

    /// Carries out a command. Returns how it ended, with the lines that the portal shows as its result.
    func run(_ command: PortalCommand, _ run: JobRun) -> (end: JobEnd, outcome: [Phrase]) {
        do throws(LarderError) {
            let (end, outcome) = try outcome(of: command, run)
            return (end, filter(outcome, of: command, run))
        } catch {
            guard error.kind != .interrupted else { return (.stopped, [Phrase(.endedInterrupted)]) }
            let repair = error.remedy == .repair ? " (larder fsck)" : ""
            let cause = Self.cause(of: error).map { Phrase($0) }
            let details = Phrase(cause == nil ? .untranslated : .errorDetails, error.description + repair)
            return (.failed, filter([cause, details].compactMap { $0 }, of: command, run))
        }
    }

    /// The cause of an error in the language of the user, who may not understand the message. Nil if the message alone says it.
    static func cause(of error: LarderError) -> Sentence? {
        switch error.storeReason {
        case .busy: .errorStoreBusy
        case .full: .errorDiskFull
        case .denied: .errorNoPermission
        case .unusable: .errorStoreDamaged
        case .unreachable: .errorStoreUnreachable
        case .failed: .errorStoreFailed
        case .request, .missing: nil
        case nil: error.isServerFailure ? .errorServerFailed : nil
        }
    }

    /// Whether the report for this job must not mention private responses.
    private func hidesPrivate(from run: JobRun) -> Bool { hidesPrivate && !run.principal.actsForLocalUser }

    /// The network options for a job. The local user's credentials are used only for that user's commands and for scheduled
    /// updates.
    private func network(for run: JobRun) -> NetworkOptions {
        run.principal.actsForLocalUser ? network : network.withoutIdentity
    }

    /// Returns the lines of a result; for commands from other machines, without lines that name URLs which only private
    /// responses mention.
    private func filter(_ outcome: [Phrase], of command: PortalCommand, _ run: JobRun) -> [Phrase] {
        guard hidesPrivate(from: run) else { return outcome }
        guard let reader = try? StoreReader(larder.folder, hidesPrivate: true) else { return [] }
        let sites = (try? reader.sites()) ?? []
        let known = Set(sites.flatMap { [$0.name] + $0.start } + command.addresses)
        return outcome.filter { line in
            line.addresses.allSatisfy { known.contains($0) || (try? reader.canReveal($0)) ?? false }
        }
    }

    /// Carries out a command, and returns its result with all lines.
    private func outcome(
        of command: PortalCommand, _ run: JobRun
    ) throws(LarderError) -> (end: JobEnd, outcome: [Phrase]) {
        let larder = larder
        // A prefetch would create a new store, for example in an unmounted mount point.
        guard larder.folder.exists else {
            throw LarderError(
                .machine,
                "the store at \(larder.shownPath) is missing: check that its disk is mounted, then try again")
        }
        switch command {
        case .prefetch(let address, let form):
            var options = try options(form, run)
            options.followsLinks = !form.isOnlyPage
            let schedule = form.updateInterval.flatMap { UpdateSchedule($0) }
            let other = form.isOnlyPage ? otherSite(with: address, run) : nil
            let (end, outcome) = prefetchOutcome([
                try waitFor(run) { [options] () throws(LarderError) in
                    let report = try await larder.prefetch([address], options: options, by: run.principal)
                    if let schedule {
                        do throws(LarderError) {
                            try await larder.schedule(report.site, schedule)
                        } catch {
                            // A site of which nothing was stored has no schedule. The report says why.
                            guard !report.isPublished else { throw error }
                        }
                    }
                    return report
                }
            ])
            return (end, outcome + (other.map { [Phrase(.pageAlsoStored, $0)] } ?? []))
        case .update(let site):
            let options = try options(SiteSettingsForm(), run)
            return prefetchOutcome(
                try waitFor(run) { () throws(LarderError) in
                    try await larder.update(site.map { [$0] } ?? [], options: options, by: run.principal)
                })
        case .fetch(let url):
            var options = LoadOptions()
            options.network = network(for: run)
            let incompleteSites = sites(missing: url, run)
            let report = try waitFor(run) { [options] () throws(LarderError) in
                let report = try await larder.load(
                    url, policy: .reload, options: options, by: run.principal, storesPages: true)
                // The search finds the page at once. If indexing fails, the next search continues it.
                if report.reasonNotStored == nil {
                    _ = try? await larder.index(onSiteOf: report.response.url)
                }
                return report
            }
            let status = report.response.status
            guard (200..<400).contains(status) else {
                return (.failed, [Phrase(.urlFailed, url, "the server answered \(status)")])
            }
            if let reason = report.reasonNotStored { return (.failed, [Phrase(.urlFailed, url, reason)]) }
            let size = Wording.bytes(report.body.count)
            return (.done, [Phrase(.fetchedStored, url, size)] + completeness(of: incompleteSites, run))
        case .check(let site):
            let hidesPrivate = hidesPrivate(from: run)
            return checkOutcome(
                try waitFor(run) { () throws(LarderError) in
                    try await larder.checkOffline(site, hidesPrivate: hidesPrivate)
                })
        case .checkLinks(let site): return try checkLinks(of: site, run)
        case .pin(let pin):
            let change = try waitFor(run) { () throws(LarderError) in
                try await larder.pin(pin.name, as: pin.isSite ? .site : .url)
            }
            let words = Phrase(.pinned, Wording.number(change.pin.urls), Wording.bytes(change.pin.byteCount))
            // The figures include private responses.
            let figures = hidesPrivate(from: run) ? [] : [words]
            return (.done, change.isNew ? figures : [Phrase(.pinnedBefore)] + figures)
        case .unpin(let pin):
            _ = try waitFor(run) { () throws(LarderError) in
                try await larder.unpin(pin.name, as: pin.isSite ? .site : .url)
            }
            return (.done, [Phrase(.unpinned)])
        case .drop(let snapshot, let site):
            _ = try waitFor(run) { () throws(LarderError) in
                try await larder.removeSnapshots([snapshot], of: site)
            }
            return (.done, [Phrase(.snapshotRemoved, "\(snapshot)"), Phrase(.removedSpace)])
        case .rollBack(let site, let snapshot):
            let served = try waitFor(run) { () throws(LarderError) in
                try await larder.rollBack(site, to: snapshot)
            }
            return (.done, [Phrase(.snapshotMadeLive, "\(served)")])
        case .remove(let site):
            _ = try waitFor(run) { () throws(LarderError) in try await larder.remove(site) }
            return (.done, [Phrase(.siteRemoved, site), Phrase(.removedSpace)])
        case .undo:
            let restored = try waitFor(run) { () throws(LarderError) in try await larder.undoRemoval() }
            guard let restored else { return (.withProblems, [Phrase(.nothingToUndo)]) }
            return (.done, restored.names.prefix(Self.maxListedItems).map { Phrase(.removalUndone, $0) })
        case .forecast(let limit):
            let size = limit.flatMap { ByteSize($0) }
            let forecast = try waitFor(run) { () throws(LarderError) in
                try await larder.previewPruning(limit: size)
            }
            return (.done, forecastOutcome(forecast, hasFigures: !hidesPrivate(from: run)))
        case .collect(let limit):
            let size = limit.flatMap { ByteSize($0) }
            let report = try waitFor(run) { () throws(LarderError) in
                try await larder.prune(limit: size)
            }
            let outcome = Self.outcome(of: report, hasFigures: !hidesPrivate(from: run))
            return (report.isDone ? .done : .withProblems, outcome + problems(of: report))
        case .changeSettings(let site, let form):
            try waitFor(run) { () throws(LarderError) in try await larder.changeSettings(of: site, to: form) }
            return (.done, [Phrase(.settingsSaved)])
        case .installTimer:
            guard run.principal == .localUser, let updateCommand else {
                return (.failed, [Phrase(.refusedTimer)])
            }
            let timer = UpdateTimer(of: larder, command: updateCommand)
            return switch try timer.install() {
            case .started: (.done, [Phrase(.timerStarted, timer.units[1])])
            case .notStarted(let reason):
                (
                    .failed,
                    [
                        Phrase(.timerNotStarted, timer.units[1], reason, timer.startCommand),
                        Phrase(.timerCron, timer.cronLine),
                    ]
                )
            case .noSystemd:
                (.failed, [Phrase(.timerNoSystemd), Phrase(.timerCron, timer.cronLine)])
            }
        case .export(let site, let snapshot, let form):
            return try export(site, snapshot, form, run)
        case .importArchive(let upload, let name, let site, let base):
            return try importArchives(upload, name, site, base, run)
        case .save(let upload, let name):
            return try save(upload, name, run)
        }
    }

    /// Checks the links of a site. Its page shows the stored result.
    private func checkLinks(
        of site: String, _ run: JobRun
    ) throws(LarderError) -> (end: JobEnd, outcome: [Phrase]) {
        var options = LinkCheckOptions()
        options.network = network(for: run)
        // A file in the folder in which the server was started has nothing to do with the site.
        options.readsUsualIgnoreFile = false
        options.nearestZone = run.principal.nearestZone
        options.progress = Self.progressReporter(run)
        let hidesPrivate = hidesPrivate(from: run)
        let report = try waitFor(run) { [larder, options] () throws(LarderError) in
            try await larder.checkLinks(ofSite: site, options, hidesPrivate: hidesPrivate)
        }
        let broken = report.findings.filter(report.fails)
        guard !broken.isEmpty else {
            return (.done, [Phrase(.linksClean, Wording.number(report.linkCount))])
        }
        let first = Phrase(.linksBroken, Wording.number(broken.count), Wording.number(report.linkCount))
        let items = broken.prefix(Self.maxListedItems).map { finding in
            Phrase(.checkItem, finding.verdict.rawValue, "\(finding.target), \(finding.detail)")
        }
        return (.withProblems, [first] + items)
    }

    /// Runs an asynchronous call and waits for its result. The call is cancelled with the job. Its task runs on the waiting
    /// thread, so that jobs do not block Swift's thread pool.
    private func waitFor<Value: Sendable>(
        _ run: JobRun, _ body: @escaping @Sendable () async throws(LarderError) -> Value
    ) throws(LarderError) -> Value {
        let executor = WaitingExecutor.acquire()
        defer { executor.release() }
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

    /// A site that has a page already, which a prefetch of only this page stores once more; nil if there is none.
    private func otherSite(with address: String, _ run: JobRun) -> String? {
        guard let href = (try? WebURL.parseUserInput(address))?.key.href,
            let reader = try? StoreReader(larder.folder, hidesPrivate: hidesPrivate(from: run)),
            let versions = try? reader.versions(of: href)
        else { return nil }
        return versions.first { $0.isVisible && $0.site != href }?.site
    }

    /// The names of the sites that lack a URL, although their pages need it or link to it. Only these can become complete when
    /// the URL is fetched.
    private func sites(missing url: String, _ run: JobRun) -> [String] {
        guard let href = WebURL(url)?.key.href,
            let reader = try? StoreReader(larder.folder, hidesPrivate: hidesPrivate(from: run)),
            let sites = try? reader.sites()
        else { return [] }
        let linking = ((try? reader.referrers(of: href)) ?? []).prefix(Self.maxReferrers)
        let names = Set(([href] + linking).flatMap { (try? reader.versions(of: $0)) ?? [] }.map(\.site))
        return sites.filter { site in
            guard site.published != nil, names.contains(site.name) || site.start.contains(href),
                let needs = try? OfflineCheck.needs(of: site, limit: Self.maxWalkedURLs, reader)
            else { return false }
            return needs.missing.contains { $0.href == href }
        }.map(\.name)
    }

    /// Whether sites that lacked a URL are complete now, after the URL was fetched.
    private func completeness(of names: [String], _ run: JobRun) -> [Phrase] {
        guard !names.isEmpty,
            let reader = try? StoreReader(larder.folder, hidesPrivate: hidesPrivate(from: run)),
            let sites = try? reader.sites()
        else { return [] }
        return sites.filter { names.contains($0.name) }.compactMap { (site) -> Phrase? in
            guard let needs = try? OfflineCheck.needs(of: site, limit: Self.maxWalkedURLs, reader),
                let missing = MissingURLCounts.current(of: site, byStoredLinks: needs.counts)
            else { return nil }
            guard missing.failed == 0 else {
                return Phrase(.siteStillMissing, site.name, Wording.number(missing.failed))
            }
            return switch SiteCompleteness(of: site, missing: missing) {
            case .incomplete: nil
            case .withinLimits: Phrase(.siteCompleteWithinLimitsNow, site.name)
            case .complete, .onlyStartPages: Phrase(.siteCompleteNow, site.name)
            }
        }
    }

    /// The maximum number of URLs that are visited to find out whether a site is complete. Of larger sites, nothing is said.
    private static let maxWalkedURLs = 20_000
    /// The maximum number of documents that link to a URL and whose sites are looked up. The rest are ignored.
    private static let maxReferrers = 100

    // MARK: - Archives

    /// The formats that can be written on this machine; some need external programs.
    static var exportForms: [String] {
        PortalCommand.exportForms.filter { name in
            ArchiveFormat(rawValue: name)?.isWritable == true
        }
    }

    private func export(
        _ site: String, _ snapshot: SnapshotName?, _ name: String, _ run: JobRun
    ) throws(LarderError) -> (end: JobEnd, outcome: [Phrase]) {
        guard let form = ArchiveFormat(rawValue: name), let files = run.files else {
            throw LarderError(.input, "archive format \(name) cannot be written here: choose another")
        }
        let path: String
        do throws(SystemError) {
            path = try files.makeResultPath(ofJob: run.number, named: Self.fileName(of: site, snapshot, form))
        } catch {
            throw LarderError(error)
        }
        var options = ExportOptions()
        (options.format, options.snapshot) = (form, snapshot)
        options.progress = Self.progressReporter(run)
        let report = try waitFor(run) { [larder, options] () throws(LarderError) in
            try await larder.export(site, to: path, options: options)
        }
        let size = report.files.reduce(0) { $0 + $1.byteCount }
        var outcome = [Phrase(.exported, Wording.number(report.responses), Wording.bytes(size))]
        if form == .zip { outcome.append(Phrase(.exportedOpen)) }
        if !report.failed.isEmpty {
            outcome.append(Phrase(.exportFailed, Wording.number(report.failed.count)))
        }
        let broken = report.missing.count(where: \.isBroken)
        let missing = report.missing.count - broken
        if missing > 0 { outcome.append(Phrase(.exportMissing, Wording.number(missing))) }
        if broken > 0 { outcome.append(Phrase(.endedBroken, Wording.number(broken))) }
        if !report.damaged.isEmpty {
            outcome.append(Phrase(.exportDamaged, Wording.number(report.damaged.count)))
        }
        // A site often lacks some files at its origin, which is no problem of the export. One page should be whole.
        let isFine =
            report.damaged.isEmpty && report.failed.isEmpty && (form != .html || report.missing.isEmpty)
        return (isFine ? .done : .withProblems, outcome)
    }

    /// `example.com-snapshot-3.wacz`
    private static func fileName(of site: String, _ snapshot: SnapshotName?, _ form: ArchiveFormat) -> String
    {
        let host = (WebURL(site)?.host ?? site).utf8.prefix(80).map { byte -> UInt8 in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "."): byte
            default: UInt8(ascii: "-")
            }
        }
        let name = String(decoding: host, as: UTF8.self)
        return name + (snapshot.map { "-snapshot-\($0)" } ?? "") + form.suffix
    }

    private func importArchives(
        _ upload: String, _ name: String, _ site: String?, _ base: String?, _ run: JobRun
    ) throws(LarderError) -> (end: JobEnd, outcome: [Phrase]) {
        let (path, report): (String, ImportReport)
        switch try importUpload(upload, name, run, into: site, at: base, isSavedPage: false) {
        case .success(let imported): (path, report) = imported
        case .failure(let failure): return (.failed, [failure.phrase])
        }
        var outcome = [
            Phrase(
                .imported, report.site, Wording.number(report.responses), Wording.number(report.pages),
                Wording.bytes(report.byteCount))
        ]
        if report.refusedCount > 0 {
            outcome.append(Phrase(.importRefused, Wording.number(report.refusedCount)))
            outcome += report.refused.prefix(10).map { fault in
                let words = (fault.url.map { "\($0): " } ?? "") + fault.reason
                return Phrase(.untranslated, words.replacing(path, with: name))
            }
        }
        if report.exceedsExpansionLimit { outcome.append(Phrase(.importMayBeBomb)) }
        return (report.isComplete ? .done : .withProblems, outcome)
    }

    /// Stores a page that a browser extension sent, and adds it to the search index.
    private func save(
        _ upload: String, _ name: String, _ run: JobRun
    ) throws(LarderError) -> (end: JobEnd, outcome: [Phrase]) {
        let report: ImportReport
        switch try importUpload(upload, name, run, into: nil, at: nil, isSavedPage: true) {
        case .success(let imported): report = imported.report
        case .failure(let failure): return (.failed, [failure.phrase])
        }
        guard report.isPublished, let url = report.start else {
            return (.failed, report.refused.prefix(1).map { Phrase(.untranslated, $0.reason) })
        }
        let title = try? StoreReader(larder.folder).response(for: url)?.body?.title
        var outcome = [
            Phrase(
                .savedPage, url, Wording.number(report.responses), Wording.bytes(report.byteCount),
                title ?? url)
        ]
        if report.leftOutCount > 0 {
            outcome.append(Phrase(.saveLeftOut, Wording.number(report.leftOutCount)))
        }
        return (.done, outcome)
    }

    /// The reason why an uploaded file was not imported.
    private struct UploadFailure: Error {
        let phrase: Phrase
    }

    /// Imports an uploaded file and adds its pages to the search index. Also returns the path of the upload, which users
    /// must not see.
    private func importUpload(
        _ upload: String, _ name: String, _ run: JobRun, into site: String?, at base: String?,
        isSavedPage: Bool
    ) throws(LarderError) -> Result<(path: String, report: ImportReport), UploadFailure> {
        guard let path = run.files?.uploadPath(upload, named: name) else {
            return .failure(UploadFailure(phrase: Phrase(.mistakeFileGone)))
        }
        do throws(LarderError) {
            let report = try waitFor(run) { [larder] () throws(LarderError) in
                let report = try await larder.importArchives(
                    [path], into: site, at: base, sizeAllowance: nil, isSavedPage: isSavedPage,
                    progress: Self.progressReporter(run))
                if report.isPublished { _ = try await larder.index(report.site) }
                return report
            }
            return .success((path, report))
        } catch {
            // Users know the file by its original name.
            guard error.kind != .interrupted else { throw error }
            let text = error.description.replacing(path, with: name)
            return .failure(UploadFailure(phrase: Phrase(.untranslated, text)))
        }
    }

    /// A callback that shows the progress of an import or export in the portal.
    private static func progressReporter(_ run: JobRun) -> @Sendable (WorkProgress) -> Void {
        let start = SystemClock.seconds()
        return { progress in
            var jobProgress = JobProgress()
            jobProgress.responses = progress.done
            jobProgress.byteCount = Int(progress.byteCount)
            jobProgress.seconds = Int(SystemClock.seconds() - start)
            run.report(jobProgress)
        }
    }

    /// The options of a prefetch or update, from the form that the user filled in.
    private func options(_ form: SiteSettingsForm, _ run: JobRun) throws(LarderError) -> PrefetchOptions {
        var options = PrefetchOptions()
        options.network = network(for: run)
        form.apply(to: &options.plan)
        options.limits.byteCount = form.maxBytes.flatMap { ByteSize($0) }.map { Int(clamping: $0.byteCount) }
        options.progress = { run.report(JobProgress($0)) }
        return options
    }

    // MARK: - Outcomes

    private func prefetchOutcome(_ reports: [PrefetchReport]) -> (end: JobEnd, outcome: [Phrase]) {
        var end = JobEnd.done
        var outcome: [Phrase] = []
        for report in reports {
            outcome.append(
                Phrase(
                    .endedPages, Wording.number(report.pages), Wording.number(report.assets),
                    Wording.bytes(report.wireByteCount), Wording.time(report.elapsed)))
            let lost = report.missingURLs.failed
            if lost > 0 { outcome.append(Phrase(.endedFailed, Wording.number(lost))) }
            let isIncomplete = !report.isComplete && !report.isInterrupted && report.isPublished
            if isIncomplete { outcome += problems(of: report) }
            let broken = report.missingURLs.broken
            if broken > 0 {
                outcome.append(Phrase(.endedBroken, Wording.number(broken)))
                // With a manifest, `problems` names them.
                let urls = report.check == nil ? report.missing.filter(\.isBroken).map(\.url) : []
                outcome += Self.list(urls)
            }
            if let limit = report.limit { outcome.append(Phrase(.endedLimit, limit)) }
            if report.isInterrupted {
                outcome.append(Phrase(.endedInterrupted))
                end = .stopped
            } else if report.isRehearsalInterrupted {
                outcome.append(Phrase(.endedNotRehearsed))
                end = .stopped
            } else if !report.isPublished {
                let reason =
                    report.missing.first.map { Phrase(.urlFailed, $0.url, $0.reason) }
                    ?? report.skipped.first.map { Phrase(.untranslated, "\($0.url): \($0.reason)") }
                if let reason { outcome.append(reason) }
                if report.lastGood != nil { outcome.append(Phrase(.endedNotPublished)) }
                end = .failed
            }
            if !report.isComplete, end == .done { end = .withProblems }
        }
        return (end, outcome)
    }

    /// Why a snapshot that is live is incomplete: the directive of the site that the run obeyed, and the first URLs that are
    /// missing.
    private func problems(of report: PrefetchReport) -> [Phrase] {
        let unread = report.unread.prefix(Self.maxListedProblems).map { Phrase(.endedUnread, $0) }
        let missing = report.missing.lazy.filter {
            !$0.isRecordedMiss && (!$0.isBroken || report.check != nil)
        }.prefix(Self.maxListedProblems).map {
            Phrase(.urlFailed, $0.url, $0.reason)
        }
        return (report.reasonForOnePage.map { [Phrase(.untranslated, $0)] } ?? []) + unread + missing
    }

    /// The maximum number of problems of each kind that the result of a prefetch names. The page of the site has all.
    private static let maxListedProblems = 5

    /// The first URLs in alphabetical order, so that two results with the same problems are equal, and the number of others.
    private static func list(_ urls: [String]) -> [Phrase] {
        let rest = urls.count - maxListedProblems
        return urls.sorted().prefix(maxListedProblems).map { Phrase(.untranslated, $0) }
            + (rest > 0 ? [Phrase(.andMore, Wording.number(rest))] : [])
    }

    /// The maximum number of items that a result lists. Further items are left out; the first line counts all of them.
    private static let maxListedItems = 50

    private func checkOutcome(_ report: CheckReport) -> (end: JobEnd, outcome: [Phrase]) {
        let failed = report.items.filter { item in item.findings.contains { report.fails($0, of: item) } }
        // The same counts as on the page of missing URLs.
        let (broken, notFetched) = (report.missingURLs?.broken ?? 0, report.missingURLs?.notFetched ?? 0)
        let brokenURLs = report.items.filter { $0.verdict == .broken }.map(\.url)
        let leftOut =
            (broken > 0 ? [Phrase(.endedBroken, Wording.number(broken))] : [])
            + Self.list(brokenURLs)
            + (notFetched > 0 ? [Phrase(.checkNotFetched, Wording.number(notFetched))] : [])
        guard !failed.isEmpty else {
            let count = Wording.number(report.items.count)
            return (.done, [Phrase(broken > 0 ? .checkCleanExcept : .checkClean, count)] + leftOut)
        }
        let first = Phrase(
            .checkFailed, Wording.number(failed.count), Wording.number(report.items.count))
        let items = failed.prefix(Self.maxListedItems).map { item in
            Phrase(
                .checkItem, item.verdict.rawValue, item.url + (item.detail.map { ", \($0)" } ?? ""))
        }
        return (.withProblems, [first] + items + leftOut)
    }

    /// The result of a cleanup in words: sizes, and the numbers of removed snapshots and files.
    ///
    /// - Parameter hasFigures: whether to include sizes and the number of files, which count private responses, too.
    static func outcome(of report: PruningReport, hasFigures: Bool) -> [Phrase] {
        let snapshots =
            report.droppedSnapshots == 0
            ? [] : [Phrase(.cleanedSnapshots, Wording.number(report.droppedSnapshots))]
        guard hasFigures else { return snapshots }
        let sizes = Phrase(
            .cleanedUp, Wording.bytes(report.byteCountBefore), Wording.bytes(report.byteCountAfter))
        let files =
            report.removedBodies == 0 ? [] : [Phrase(.cleanedFiles, Wording.number(report.removedBodies))]
        let index =
            report.freedIndexByteCount == 0
            ? [] : [Phrase(.cleanedIndex, Wording.bytes(report.freedIndexByteCount))]
        let rest = report.byteCountBefore - report.byteCountAfter - report.freedIndexByteCount
        let unused = files.isEmpty && rest > 0 ? [Phrase(.cleanedUnused, Wording.bytes(rest))] : []
        return [sizes] + snapshots + files + index + unused
    }

    /// Why a cleanup does not reach its limit, or leaves unused space in the files; empty if neither is the case.
    ///
    /// - Parameter hasFigures: whether to include the limit.
    private func problems(of report: PruningReport, hasFigures: Bool = true) -> [Phrase] {
        let shrinkFailure = report.shrinkFailure.map { Phrase(.filesNotShrunk, $0) }
        guard let obstacle = report.obstacle, !report.isWithinLimit, let limit = report.limit else {
            return [shrinkFailure].compactMap { $0 }
        }
        let reason: Phrase =
            switch obstacle {
            case .live: Phrase(.limitMissedLive)
            case .pins: Phrase(.limitMissedPins)
            case .empty: Phrase(.limitMissedEmpty)
            case .again: Phrase(.limitMissedAgain)
            case .disk: shrinkFailure ?? Phrase(.limitMissedAgain)
            case .unreachable: Phrase(.limitUnreachable)
            }
        guard hasFigures else { return [reason] }
        let attainable = report.attainableByteCount.map { Phrase(.limitAttainable, Wording.bytes($0)) }
        return [Phrase(.limitMissed, Wording.bytes(limit.byteCount)), attainable, reason].compactMap { $0 }
    }

    /// - Parameter hasFigures: whether to include sizes.
    private func forecastOutcome(_ forecast: PruningPreview, hasFigures: Bool) -> [Phrase] {
        let report = forecast.report
        let first = Phrase(
            .cleanupPreview, Wording.bytes(report.byteCountBefore), Wording.bytes(report.byteCountAfter))
        let snapshots = forecast.snapshots.prefix(Self.maxListedItems).map {
            Phrase(
                $0.isLastEarlier ? .cleanupLastSnapshot : .cleanupSnapshot, "\($0.name)", $0.site,
                String(Wording.date($0.started).prefix(10)), hasFigures ? Wording.bytes($0.byteCount) : "–")
        }
        let urls = forecast.urls.prefix(Self.maxListedItems).map { Phrase(.wouldRemoveURL, $0) }
        let removed =
            forecast.snapshots.isEmpty
            ? urls.isEmpty ? [Phrase(.cleanupNothing)] : []
            : forecast.snapshots.count == 1
                ? [Phrase(.cleanupOneSnapshot)]
                : [Phrase(.cleanupSnapshots, Wording.number(forecast.snapshots.count))]
        let problems = problems(of: report, hasFigures: hasFigures)
        let index =
            hasFigures && report.freedIndexByteCount > 0
            ? [Phrase(.cleanupIndex, Wording.bytes(report.freedIndexByteCount))] : []
        return (hasFigures ? [first] : []) + problems + removed + snapshots + urls + index
    }
}

extension PortalCommand {
    /// The URLs that the command itself contains, as the user wrote them and in full.
    fileprivate var addresses: [String] {
        func spellings(_ address: String) -> [String] {
            [address, WebURL(address)?.href].compactMap { $0 }
        }
        return switch self {
        case .prefetch(let address, _): spellings(address)
        case .fetch(let url): spellings(url)
        case .pin(let pin), .unpin(let pin): spellings(pin.name)
        case .update, .check, .checkLinks, .drop, .rollBack, .remove, .undo, .forecast, .collect,
            .changeSettings, .installTimer, .export, .importArchive, .save:
            []
        }
    }
}

extension Phrase {
    /// The http and https URLs that the phrase names.
    fileprivate var addresses: [String] {
        var addresses: [String] = []
        let (delimiters, punctuation) = (Array(" \n\"'()<>".utf8), Array(",;:.".utf8))
        for word in parts.joined(separator: " ").utf8.split(whereSeparator: delimiters.contains) {
            var word = word
            while let last = word.last, punctuation.contains(last) { word = word.dropLast() }
            let address = String(decoding: word, as: UTF8.self)
            guard address.utf8.contains("://".utf8) else { continue }
            addresses.append(WebURL(address)?.withoutFragment.href ?? address)
        }
        return addresses
    }
}

extension JobProgress {
    fileprivate init(_ progress: PrefetchProgress) {
        self.init()
        site = progress.site
        switch progress.phase {
        case .fetching:
            let isIdle = progress.pages.queued + progress.assets.queued == 0 && progress.bytesPerSecond == 0
            phase = isIdle && progress.pages.done > 0 ? .rendering : .fetching
        case .storing: phase = .storing
        case .indexing: phase = .indexing
        }
        (pages, queuedPages) = (progress.pages.done, progress.pages.queued)
        (files, queuedFiles) = (progress.assets.done, progress.assets.queued)
        failed = progress.failed
        (byteCount, bytesPerSecond) = (progress.byteCount, progress.bytesPerSecond)
        seconds = Int(progress.elapsed / .seconds(1))
        secondsLeft = progress.remaining.map { Int(($0 / .seconds(1)).rounded(.up)) }
        hostCount = progress.hostCount
        hosts = progress.hosts.prefix(Self.maxListedHosts).map { host in
            Host(
                name: host.name, running: host.running, queued: host.queued,
                requestsPerSecond: host.requestsPerSecond,
                pausedSeconds: host.pause.map { Int(($0 / .seconds(1)).rounded(.up)) })
        }
    }

    /// The maximum number of hosts whose progress the portal shows. Further ones are left out.
    private static let maxListedHosts = 10
}

extension PruningReport {
    /// Whether a cleanup did all that it could. A limit that what must stay exceeds is a note, not a problem.
    fileprivate var isDone: Bool {
        guard shrinkFailure == nil else { return false }
        guard let obstacle, !isWithinLimit, limit != nil else { return true }
        return switch obstacle {
        case .live, .pins, .empty, .unreachable: true
        case .again, .disk: false
        }
    }
}
