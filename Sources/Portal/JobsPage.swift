internal import Reports
internal import Store
internal import Web

/// The page of running, waiting and finished jobs, with the forms that start new ones.
struct JobsPage: PortalPage {
    /// The jobs that the visitor may see, in the order in which they were added.
    let jobs: [PortalJob]
    let section = PortalSection.jobs
    /// The files that exports made; nil if exports are not available.
    private let files: PortalFiles?
    private let now: Int64
    /// All sites of the store, to which finished jobs link.
    private let sites: [Site]

    /// - Parameters:
    ///   - files: the files that exports made.
    ///   - now: the time in seconds since 1970.
    init(_ jobs: [PortalJob], files: PortalFiles? = nil, sites: [Site] = [], now: Int64) {
        (self.jobs, self.files, self.sites, self.now) = (jobs, files, sites, now)
    }

    var title: String { "Activity" }
    var heading: Sentence? { .activity }
    var scripts: [String] { isActive ? [JobsScript.path] : [] }
    /// Three seconds while a job is unfinished: without scripts, the page shows the progress by reloading.
    var refreshWithoutScript: Int? { isActive ? 3 : nil }
    /// Whether a job is unfinished, so that the page has to be updated.
    private var isActive: Bool { jobs.contains { !$0.isOver } }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        // `JobsScript` shows this line when the connection is lost, and replaces the content of `jobs`.
        html.element(
            "p", ["id": "lost", "class": "notice", "role": "alert", "hidden": ""], say: .connectionLost)
        // `JobsScript` shows the button if the browser has notifications.
        if isActive {
            html.element(
                "button",
                [
                    "id": "notify", "type": "button", "class": "quiet", "hidden": "",
                    "data-off": html.words(.notifyOff),
                ], say: .notifyOn)
        }
        html.element("div", ["id": "jobs", "data-live": PortalLinks.live]) { html in
            let active = jobs.filter { !$0.isOver }
            html.element("h2", say: .jobsInProgress)
            if active.isEmpty { html.element("p", ["class": "soft"], say: .noJobsInProgress) }
            for job in active { writeUnfinishedJob(job, to: &html, context) }
            let over = jobs.filter { $0.isOver && !isReplacedPreview($0) }.reversed()
            if !over.isEmpty {
                html.element("h2", say: .finishedJobs)
                html.element("ul", ["class": "list"]) { html in
                    for job in over { html.element("li") { writeEndedJob(job, to: &$0, context) } }
                }
            }
        }
        guard context.token != nil else { return html.explainReadOnly(context) }
        html.storeCommands(context)
        html.element("h2", say: .newSite)
        html.prefetchForm(context)
    }

    /// Writes a waiting or running job: title, state, figures, and the button that stops it.
    private func writeUnfinishedJob(_ job: PortalJob, to html: inout HTMLWriter, _ context: PortalContext) {
        html.element(
            "section",
            ["class": "card job", "data-job": "\(job.number)", "aria-labelledby": "job-\(job.number)"]
        ) { html in
            html.element("h3", ["id": "job-\(job.number)"]) {
                $0.isolatedText(Wording.cut(job.command.title.text(in: context.language), to: 160))
            }
            html.element("p") { html in
                html.element("span", ["class": "badge"], say: job.stateSentence)
                if job.state == .running, let phase = job.progress?.phase {
                    html.text(" ")
                    html.say(phase.sentence)
                }
            }
            if job.state == .running, let progress = job.progress { html.progressBar(progress) }
            if let progress = job.progress { progress.write(to: &html) }
            // A job that has not started is cancelled, and leaves nothing behind.
            html.commandButton(
                "stop", job.isPlanned || job.state == .waiting ? .doCancel : .doStop,
                about: job.command.title.text(in: context.language), context,
                fields: [("job", "\(job.number)")])
        }
    }

    /// Writes a finished job: title, state, outcome, the exported file if there is one, and the button that runs it again.
    private func writeEndedJob(_ job: PortalJob, to html: inout HTMLWriter, _ context: PortalContext) {
        let title = job.command.title.text(in: context.language)
        html.element("span", ["class": "name"]) { $0.isolatedText(Wording.cut(title, to: 160)) }
        // Nothing was done if a cleanup was only previewed.
        if !job.isPreview {
            html.text(" ")
            html.element("span", ["class": job.isGood ? "badge" : "badge warn"], say: job.stateSentence)
        }
        let isOutdated = isOutdatedPreview(job)
        let note: Sentence = isCarriedOutPreview(job) ? .previewCarriedOut : .previewOutdated
        let lines = isOutdated ? [Phrase(note)] : job.outcome.prefix(60)
        var openLines = maxOpenLines(of: job)
        if lines.count - openLines < Self.minFoldedLines { openLines = lines.count }
        for line in lines.prefix(openLines) { html.outcomeLine(line) }
        if lines.count > openLines {
            html.element("details") { html in
                html.element("summary", say: .jobLog)
                for line in lines.dropFirst(openLines) { html.outcomeLine(line) }
            }
        }
        if let site = workedSite(of: job),
            let interval = SiteSettingsForm(settings: site.settings).interval(in: context.language)
        {
            html.outcomeLine(Phrase(.nameAndCount, context.words(.formEvery), interval))
        }
        html.element("span", ["class": "soft"]) { $0.time(job.addedAt, now: now) }
        if let result = result(of: job) {
            html.element("div", ["class": "orders"]) { html in
                html.link(
                    PortalLinks.file(of: job.number, named: result.name), ["class": "button", "download": ""]
                ) { html in
                    // One element, because the parts of a flex container are separate blocks of text.
                    html.element("span") { html in
                        html.say(.doDownload)
                        html.text(" ")
                        html.isolatedText(
                            html.words(
                                .withNote, Wording.cut(result.name, to: 120), Wording.bytes(result.byteCount))
                        )
                    }
                }
                html.commandButton(
                    "forget", .doDeleteFile, about: result.name, context, fields: [("job", "\(job.number)")],
                    warns: true)
            }
        }
        let links = self.links(of: job, context)
        let canUndo = job.isOver && job.number == jobs.removalToUndo?.number
        let cleanup = context.token == nil ? nil : self.cleanup(previewedBy: job)
        let plainCommand = job.plainCommand
        let canPreviewAgain = isOutdated && context.token != nil
        let changedSite = context.token == nil ? nil : self.siteToUpdate(after: job)
        guard
            job.canRetry || canUndo || changedSite != nil || canPreviewAgain || cleanup != nil
                || plainCommand != nil
                || !links.isEmpty
        else { return }
        html.element("div", ["class": "orders small"]) { html in
            for (address, phrase) in links {
                html.link(address, ["class": "button quiet"]) { html in
                    html.say(phrase)
                    html.element("span", ["class": "hidden"], text: " \(Wording.cut(title, to: 80))")
                }
            }
            if let cleanup {
                if jobs.removalToUndo != nil { html.element("p", say: .storageUndo) }
                html.commandForm("collect", context, fields: cleanup.fields) { html in
                    html.element(
                        "button", ["type": "submit", "class": cleanup.warns ? "warn" : "quiet"],
                        say: cleanup.label)
                }
            }
            if canPreviewAgain {
                html.commandButton(
                    "forecast", .doPreviewAgain, about: title, context, fields: job.command.form.fields)
            }
            if let changedSite {
                html.commandButton(
                    "update", .doUpdate, about: changedSite, context, fields: [("site", changedSite)])
            }
            if canUndo { html.commandButton("undo", .doUndo, about: title, context) }
            if let form = plainCommand?.form {
                html.commandButton(form.name, .doTryHTTP, about: title, context, fields: form.fields)
            }
            if job.canRetry {
                html.commandButton(
                    "goon", .doRetry, about: title, context, fields: [("job", "\(job.number)")])
            }
        }
    }

    /// The site whose settings the job has changed, unless a later job updates it; nil for other jobs.
    private func siteToUpdate(after job: PortalJob) -> String? {
        guard case .changeSettings(let site, _) = job.command, job.isGood else { return nil }
        let isUpdatedLater = jobs.contains { later in
            guard later.number > job.number, case .update(let name) = later.command else { return false }
            return name == nil || name == site
        }
        return isUpdatedLater ? nil : site
    }

    /// The minimum number of lines that a click opens. Fewer are shown at once.
    private static let minFoldedLines = 6

    /// The number of lines of a long outcome that are shown at once; a click opens the others. A preview and a cleanup show
    /// all of them.
    private func maxOpenLines(of job: PortalJob) -> Int {
        switch job.command {
        case .forecast, .collect: .max
        default: job.isGood ? 3 : 6
        }
    }

    /// Whether the job is a preview, and a later job may have changed what its cleanup would do.
    private func isOutdatedPreview(_ job: PortalJob) -> Bool {
        job.isPreview && jobs.last(where: { $0.command.changesCleanup })?.number != job.number
    }

    /// Whether the cleanup that the job previews is the last command that changed anything.
    private func isCarriedOutPreview(_ job: PortalJob) -> Bool {
        guard case .forecast(let limit) = job.command,
            case .collect(let other) = jobs.last(where: { $0.command.changesCleanup })?.command
        else { return false }
        return limit == other
    }

    /// Whether the job is a preview with a later one, which is shown instead.
    private func isReplacedPreview(_ job: PortalJob) -> Bool {
        job.isPreview && jobs.contains { $0.isPreview && $0.number > job.number }
    }

    /// The command that carries out a previewed cleanup, and the text of its button, which says how many snapshots it
    /// removes. Nil if the job is no preview, if a later job may have changed the result, or if nothing would change.
    private func cleanup(previewedBy job: PortalJob) -> (
        fields: [(name: String, value: String)], label: Phrase, warns: Bool
    )? {
        guard case .forecast(let limit) = job.command, job.isPreview, !isOutdatedPreview(job)
        else { return nil }
        let sizes = job.outcome.first { $0.sentence == .cleanupPreview }?.parts
        let removesNothing = job.outcome.contains { $0.sentence == .cleanupNothing }
        if removesNothing, let sizes, sizes.count == 2, sizes[0] == sizes[1] { return nil }
        let label = job.outcome.lazy.compactMap { line -> Phrase? in
            switch line.sentence {
            case .cleanupOneSnapshot: Phrase(.doCleanUpOneSnapshot)
            case .cleanupSnapshots: line.parts.first.map { Phrase(.doCleanUpSnapshots, $0) }
            default: nil
            }
        }.first
        return (
            PortalCommand.collect(limit: limit).form.fields, label ?? Phrase(.doCleanUp), !removesNothing
        )
    }

    /// The links to the results of an ended job: the copy of the site, and its problems. After a preview or a cleanup with
    /// a limit, the link to the form with that limit.
    private func links(of job: PortalJob, _ context: PortalContext) -> [(address: String, text: Phrase)] {
        let form = job.command.form
        if ["forecast", "collect"].contains(form.name) {
            guard !form.fields.isEmpty else { return [] }
            let address = PortalLinks.path(PortalLinks.storage, form.fields.map { ($0.name, $0.value) })
            return [(address, Phrase(.doChangeLimit))]
        }
        if case .fetch(let url) = job.command, job.isOver, !job.isGood {
            return [(context.links.details(url), Phrase(.toTheURL))]
        }
        if case .fetch(let url) = job.command, job.isGood {
            var links = context.mirrorAddress(of: url).map { [($0, Phrase(.doOpen))] } ?? []
            let names = job.outcome.compactMap { line in
                [.siteCompleteNow, .siteCompleteWithinLimitsNow, .siteStillMissing].contains(line.sentence)
                    ? line.parts.first : nil
            }
            for site in sites where names.contains(site.name) {
                links.append((context.links.site(site.id), Phrase(.toTheSite)))
            }
            return links
        }
        if case .export(let name, _, _) = job.command,
            job.outcome.contains(where: {
                [.exportFailed, .exportMissing, .endedBroken].contains($0.sentence)
            }),
            let site = sites.first(where: { $0.name == name })
        {
            return [(context.links.missing(of: site.id), Phrase(.missingURLs))]
        }
        guard let site = workedSite(of: job) else { return [] }
        var links: [(address: String, text: Phrase)] = []
        if site.published != nil, let address = context.mirrorAddress(of: site.start.first ?? site.name) {
            links.append((address, Phrase(.doOpen)))
        }
        let count = job.outcome.lazy.compactMap { line in
            line.sentence == .endedFailed || line.sentence == .checkFailed ? line.parts.first : nil
        }.first
        if let count {
            let sentence: Sentence = count == "1" ? .viewProblem : .viewProblems
            links.append((context.links.missing(of: site.id), Phrase(sentence, count)))
        } else if job.outcome.contains(where: { $0.sentence == .endedBroken }) {
            links.append((context.links.missing(of: site.id), Phrase(.missingURLs)))
        }
        links.append((context.links.site(site.id), Phrase(.toTheSite)))
        return links
    }

    /// The stored site that the job fetched or checked; nil if there is none.
    private func workedSite(of job: PortalJob) -> Site? {
        job.command.workedSite.flatMap { name in sites.first { $0.name == name || $0.start.contains(name) } }
    }

    /// The file that an export made; nil if it was deleted or has expired.
    private func result(of job: PortalJob) -> PortalFiles.ResultFile? {
        guard case .export = job.command, job.isOver else { return nil }
        return files?.resultFile(ofJob: job.number)
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "jobs": jobs.map { job -> JSONMembers in
                let file = result(of: job)
                return job.members(in: context.language) + [
                    "file": file.map { PortalLinks.file(of: job.number, named: $0.name) },
                    "bytes": file?.byteCount,
                ]
            }
        ]
    }
}

extension [PortalJob] {
    /// The last removal, if it is planned, running, or done and can still be undone.
    var removalToUndo: PortalJob? {
        let change = last { $0.command.changesRemovals && (!$0.isOver || $0.state == .ended(.done)) }
        return change?.command.isRemoval == true ? change : nil
    }
}

extension PortalJob {
    /// Whether the page offers to run the job again. A job that the end of the server interrupted is run again from its
    /// start, a job with a bad result only if its command continues the work that was done or fetches a single URL.
    fileprivate var canRetry: Bool {
        if case .fetch = command { return isOver && !isGood }
        return state == .ended(.interrupted) ? command.canRestart : command.isResumable && !isGood
    }

    /// The same prefetch over http, if one over https has stored nothing. A URL that was typed without a scheme is one
    /// with https.
    var plainCommand: PortalCommand? {
        guard isOver, !isGood, (progress?.pages ?? 0) == 0, case .prefetch(let address, let form) = command,
            let url = WebURL(address), url.scheme == "https", let other = url.otherScheme
        else { return nil }
        return .prefetch(address: other.href, form)
    }

    /// Whether the job is the finished preview of a cleanup.
    fileprivate var isPreview: Bool {
        if case .forecast = command { state == .ended(.done) } else { false }
    }

    /// Whether the job is done without problems, or the user cancelled it before it started.
    var isGood: Bool { state == .ended(.done) || state == .ended(.cancelled) }

    /// The state in words.
    var stateSentence: Sentence {
        switch state {
        case .waiting: .stateWaiting
        case .planned: .statePlanned
        case .running: .stateRunning
        case .stopping: .stateStopping
        case .ended(.done): .stateDone
        case .ended(.withProblems): .stateDoneWithProblems
        case .ended(.stopped): .stateStopped
        case .ended(.cancelled): .stateCancelled
        case .ended(.failed): .stateFailed
        case .ended(.interrupted): .stateInterrupted
        }
    }
}

extension PortalCommand {
    /// The site whose content the command fetches or checks; nil for other commands.
    fileprivate var workedSite: String? {
        switch self {
        case .prefetch(let address, _): address
        case .update(let site): site
        case .check(let site), .checkLinks(let site): site
        case .fetch, .pin, .unpin, .drop, .rollBack, .remove, .undo, .forecast, .collect, .changeSettings,
            .installTimer, .export, .importArchive, .save:
            nil
        }
    }

    /// Whether the command removes content, reverses a removal, or makes removals final.
    fileprivate var changesRemovals: Bool {
        switch self {
        case .drop, .remove, .undo, .collect: true
        case .prefetch, .update, .fetch, .check, .checkLinks, .pin, .unpin, .rollBack, .forecast,
            .changeSettings, .installTimer, .export, .importArchive, .save:
            false
        }
    }

    /// Whether the command may change what a cleanup removes, or shows it.
    fileprivate var changesCleanup: Bool {
        switch self {
        case .prefetch, .update, .fetch, .pin, .unpin, .drop, .rollBack, .remove, .undo, .forecast, .collect,
            .changeSettings, .importArchive, .save:
            true
        case .check, .checkLinks, .installTimer, .export: false
        }
    }

    /// Whether the command removes content, so that the removal can be undone.
    var isRemoval: Bool {
        switch self {
        case .drop, .remove: true
        case .prefetch, .update, .fetch, .check, .checkLinks, .pin, .unpin, .rollBack, .undo, .forecast,
            .collect, .changeSettings, .installTimer, .export, .importArchive, .save:
            false
        }
    }
}

extension HTMLWriter {
    fileprivate mutating func outcomeLine(_ line: Phrase) {
        element("span", ["class": "soft"]) { $0.isolatedText(Wording.cut(line.text(in: $0.language))) }
    }
}

extension JobProgress.Phase {
    fileprivate var sentence: Sentence {
        switch self {
        case .fetching: .phaseFetching
        case .rendering: .phaseRendering
        case .storing: .phaseStoring
        case .indexing: .phaseIndexing
        }
    }
}

extension JobProgress {
    /// Writes the figures as a list, and those of the hosts as a table.
    ///
    /// The `data-figure` names are the member names of the JSON, by which `JobsScript` updates the figures.
    fileprivate func write(to html: inout HTMLWriter) {
        func fact(_ sentence: Sentence, _ name: String, _ value: String, _ html: inout HTMLWriter) {
            html.element("div") { html in
                html.element("dt", say: sentence)
                html.element("dd", ["data-figure": name], text: value)
            }
        }
        // Imports and exports count only responses.
        if let responses {
            return html.element("dl", ["class": "facts"]) { html in
                fact(.responses, "responses", html.language.number(responses), &html)
                fact(.figureSize, "size", html.language.bytes(byteCount), &html)
                fact(.figureElapsed, "elapsed", Self.clock(seconds), &html)
            }
        }
        html.element("dl", ["class": "facts"]) { html in
            fact(.figurePages, "pages", html.language.number(pages), &html)
            fact(.figureQueuedPages, "queuedPages", html.language.number(queuedPages), &html)
            fact(.figureAssets, "files", html.language.number(files), &html)
            fact(.figureQueuedAssets, "queuedFiles", html.language.number(queuedFiles), &html)
            fact(.figureFailed, "failed", html.language.number(failed), &html)
            fact(.figureSize, "size", html.language.bytes(byteCount), &html)
            fact(.figureSpeed, "speed", html.language.bytes(bytesPerSecond) + "/s", &html)
            fact(.figureElapsed, "elapsed", Self.clock(seconds), &html)
            fact(.figureRemaining, "left", secondsLeft.map(Self.clock) ?? "–", &html)
        }
        guard !hosts.isEmpty else { return }
        html.scrollRegion(label: html.words(.hosts)) { html in
            html.element("table") { html in
                html.tableHead([
                    (html.words(.host), false), (html.words(.hostRunning), true),
                    (html.words(.hostQueued), true), (html.words(.hostRate), true),
                    (html.words(.hostPause), true),
                ])
                html.element("tbody", ["data-figure": "hosts"]) { html in
                    for host in hosts {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { $0.isolatedText(host.name) }
                            html.element("td", ["class": "number"], text: "\(host.running)")
                            html.element("td", ["class": "number"], text: html.language.number(host.queued))
                            html.element(
                                "td", ["class": "number"],
                                text: "\((host.requestsPerSecond * 10).rounded() / 10)")
                            html.element(
                                "td", ["class": "number"], text: host.pausedSeconds.map { "\($0) s" } ?? "")
                        }
                    }
                }
            }
        }
    }
}

extension JobRunner {
    /// The name of the removed site that a URL belonged to, as long as the removal can be undone; nil if there is none.
    ///
    /// - Parameter hidesPrivate: whether to hide removals by the local user.
    package func removedSite(of url: String, hidesPrivate: Bool) -> String? {
        guard let job = jobs(hidesPrivate: hidesPrivate).removalToUndo, job.state == .ended(.done),
            case .remove(let site) = job.command, let start = WebURL(site),
            start.origin == WebURL(url)?.origin
        else { return nil }
        return site
    }
}
