internal import Reports
internal import Web

/// The page of running, waiting and finished jobs, with the forms that start new ones.
struct JobsPage: PortalPage {
    /// The jobs that the visitor may see, in the order in which they were added.
    let jobs: [PortalJob]
    let section = PortalSection.jobs
    /// The files that exports made; nil if exports are not available.
    private let files: PortalFiles?
    private let now: Int64

    /// - Parameters:
    ///   - files: the files that exports made.
    ///   - now: the time in seconds since 1970.
    init(_ jobs: [PortalJob], files: PortalFiles? = nil, now: Int64) {
        (self.jobs, self.files, self.now) = (jobs, files, now)
    }

    var title: String { "Activity" }
    var heading: Sentence? { .activity }
    var script: String? { isActive ? JobsScript.path : nil }
    /// Three seconds while a job is unfinished: without scripts, the page shows the progress by reloading.
    var refreshWithoutScript: Int? { isActive ? 3 : nil }
    /// Whether a job is unfinished, so that the page has to be updated.
    private var isActive: Bool { jobs.contains { !$0.isOver } }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        // `JobsScript` shows this line when the connection is lost, and replaces the content of `jobs`.
        // `JobsScript` shows this line when the connection is lost, and replaces the content of `jobs`.
        html.element(
            "p", ["id": "lost", "class": "notice", "role": "alert", "hidden": ""], say: .connectionLost)
        html.element("div", ["id": "jobs", "data-live": PortalLinks.live]) { html in
            let active = jobs.filter { !$0.isOver }
            html.element("h2", say: .jobsInProgress)
            if active.isEmpty { html.element("p", ["class": "soft"], say: .noJobsInProgress) }
            for job in active { writeUnfinishedJob(job, to: &html, context) }
            let over = jobs.filter(\.isOver).reversed()
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
            }
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
        html.text(" ")
        html.element("span", ["class": job.isGood ? "badge" : "badge warn"], say: job.stateSentence)
        for line in job.outcome.prefix(60) {
            html.element("span", ["class": "soft"]) {
                $0.isolatedText(Wording.cut(line.text(in: context.language)))
            }
        }
        html.element("span", ["class": "soft"]) { $0.time(job.addedAt, now: now) }
        if let result = result(of: job) {
            html.element("div", ["class": "orders"]) { html in
                html.link(
                    PortalLinks.file(of: job.number, named: result.name), ["class": "button", "download": ""]
                ) {
                    html in
                    html.say(.doDownload)
                    html.text(" ")
                    html.isolatedText(
                        html.words(
                            .withNote, Wording.cut(result.name, to: 120), Wording.bytes(result.byteCount)))
                }
                html.commandButton(
                    "forget", .doDeleteFile, about: result.name, context, fields: [("job", "\(job.number)")],
                    warns: true)
            }
        }
        if job.canRetry {
            html.commandButton("goon", .doRetry, about: title, context, fields: [("job", "\(job.number)")])
        }
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

extension PortalJob {
    /// Whether the page offers to run the job again. A job that the end of the server interrupted is run again from its
    /// start, a job with a bad result only if its command continues the work that was done.
    fileprivate var canRetry: Bool {
        state == .ended(.interrupted) ? command.canRestart : command.isResumable && !isGood
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
                fact(.responses, "responses", Wording.number(responses), &html)
                fact(.figureSize, "size", Wording.bytes(byteCount), &html)
                fact(.figureElapsed, "elapsed", Self.clock(seconds), &html)
            }
        }
        html.element("dl", ["class": "facts"]) { html in
            fact(.figurePages, "pages", Wording.number(pages), &html)
            fact(.figureQueuedPages, "queuedPages", Wording.number(queuedPages), &html)
            fact(.figureAssets, "files", Wording.number(files), &html)
            fact(.figureQueuedAssets, "queuedFiles", Wording.number(queuedFiles), &html)
            fact(.figureFailed, "failed", Wording.number(failed), &html)
            fact(.figureSize, "size", Wording.bytes(byteCount), &html)
            fact(.figureSpeed, "speed", Wording.bytes(bytesPerSecond) + "/s", &html)
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
                            html.element("td", ["class": "number"], text: Wording.number(host.queued))
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
