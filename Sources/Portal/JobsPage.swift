internal import Reports
internal import Web

/// Running, waiting and finished jobs.
struct JobsPage: PortalPage {
    let jobs: [PortalJob]
    let section = PortalSection.jobs
    private let files: PortalFiles?
    private let now: Int64

    /// - Parameter files: the files that jobs made.
    init(_ jobs: [PortalJob], files: PortalFiles? = nil, now: Int64) {
        (self.jobs, self.files, self.now) = (jobs, files, now)
    }

    var title: String { "Activity" }
    var heading: Sentence? { .activity }
    var script: String? { isActive ? LiveScript.path : nil }
    /// Reloads the page if scripts are disabled.
    var refreshWithoutScript: Int? { isActive ? 3 : nil }
    private var isActive: Bool { jobs.contains { !$0.isOver } }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element(
            "p", ["id": "lost", "class": "notice", "role": "alert", "hidden": ""], say: .connectionLost)
        html.element("div", ["id": "jobs", "data-live": PortalLinks.live]) { html in
            let active = jobs.filter { !$0.isOver }
            html.element("h2", say: .jobsInProgress)
            if active.isEmpty { html.element("p", ["class": "soft"], say: .noJobsInProgress) }
            for job in active { write(job, to: &html, context) }
            let over = jobs.filter(\.isOver).reversed()
            if !over.isEmpty {
                html.element("h2", say: .finishedJobs)
                html.element("ul", ["class": "list"]) { html in
                    for job in over { html.element("li") { writeEnded(job, to: &$0, context) } }
                }
            }
        }
        guard context.token != nil else { return html.explainReadOnly(context) }
        html.storeOrders(context)
        html.element("h2", say: .newSite)
        html.prefetchForm(context)
    }

    private func write(_ job: PortalJob, to html: inout HTMLWriter, _ context: PortalContext) {
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
            html.commandButton(
                "stop", job.isPlanned || job.state == .waiting ? .doCancel : .doStop,
                about: job.command.title.text(in: context.language), context,
                fields: [("job", "\(job.number)")])
        }
    }

    private func writeEnded(_ job: PortalJob, to html: inout HTMLWriter, _ context: PortalContext) {
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
        if job.maybeGoesOn {
            html.commandButton("goon", .doRetry, about: title, context, fields: [("job", "\(job.number)")])
        }
    }

    /// The file that an export made.
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
    /// Whether the job can be retried.
    fileprivate var maybeGoesOn: Bool {
        state == .ended(.interrupted) ? command.canRestart : command.isResumable && !isGood
    }

    var isGood: Bool { state == .ended(.done) || state == .ended(.cancelled) }

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
    /// The `data-figure` names are the member names of the JSON, by which `LiveScript` updates the figures.
    fileprivate func write(to html: inout HTMLWriter) {
        func fact(_ sentence: Sentence, _ name: String, _ value: String, _ html: inout HTMLWriter) {
            html.element("div") { html in
                html.element("dt", say: sentence)
                html.element("dd", ["data-figure": name], text: value)
            }
        }
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
        html.element(
            "div", ["class": "scroll", "role": "region", "tabindex": "0", "aria-label": html.words(.hosts)]
        ) { html in
            html.element("table") { html in
                html.head([
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

extension HTMLWriter {
    /// Writes the commands for the whole store: update all sites, and import an archive.
    mutating func storeOrders(_ context: PortalContext) {
        guard context.token != nil else { return }
        element("div", ["class": "orders"]) { html in
            html.commandButton("update", .doUpdateAll, context)
            if context.hasFiles {
                html.link(PortalLinks.importForm, ["class": "button quiet"], say: .importTitle)
            }
        }
    }

    /// Writes why this visitor can change nothing.
    mutating func explainReadOnly(_ context: PortalContext) {
        guard let reason = context.readOnlyReason else { return }
        element("p", ["class": "soft"], say: reason)
    }
}

/// Updates the page of jobs by server-sent events. Without scripts, the page reloads itself.
enum LiveScript {
    static let path = PortalStyle.path(of: text, "live", "js")

    /// Inserts received values only as text. If the list of jobs or a state changes, fetches that part of the
    /// page again.
    static let text = """
        "use strict";
        (() => {
          const place = document.getElementById("jobs");
          if (!place) return;
          const lost = document.getElementById("lost");
          let source = null, known = null, isLoading = false;
          const key = (jobs) => jobs.map((job) => `${job.job} ${job.state} ${Boolean(job.figures)}`).join();
          const fill = (job) => {
            const card = place.querySelector(`[data-job="${Number(job.job)}"]`);
            if (!card || !job.figures) return;
            for (const part of card.querySelectorAll("[data-figure]")) {
              const value = job.figures[part.dataset.figure];
              if (part.dataset.figure !== "hosts") { part.textContent = String(value ?? ""); continue; }
              part.replaceChildren(...value.map((host) => {
                const row = document.createElement("tr");
                for (const name of ["name", "running", "queued", "perSecond", "paused"]) {
                  const cell = document.createElement(name === "name" ? "th" : "td");
                  if (name === "name") cell.scope = "row"; else cell.className = "number";
                  cell.textContent = String(host[name]);
                  row.append(cell);
                }
                return row;
              }));
            }
          };
          const load = async () => {
            if (isLoading) return;
            isLoading = true;
            try {
              const reply = await fetch(location.pathname, { headers: { Accept: "text/html" } });
              const page = new DOMParser().parseFromString(await reply.text(), "text/html");
              const fresh = page.getElementById("jobs");
              const focused = place.contains(document.activeElement);
              if (fresh) place.replaceChildren(...document.adoptNode(fresh).childNodes);
              if (focused) document.getElementById("content").focus();
            } catch (error) {
              // The connection failed: keep the content.
            }
            isLoading = false;
          };
          const listen = () => {
            if (source) return;
            source = new EventSource(place.dataset.live);
            source.addEventListener("error", () => {
              lost.hidden = false;
              known = null;
              // Browsers do not reconnect after an invalid response.
              if (source && source.readyState === EventSource.CLOSED) { source = null; setTimeout(listen, 3000); }
            });
            source.addEventListener("jobs", async (event) => {
              lost.hidden = true;
              const state = JSON.parse(event.data), next = `${key(state.jobs)} ${state.over}`;
              if (next !== known) { known = next; await load(); }
              state.jobs.forEach(fill);
              if (!state.jobs.length) { source.close(); source = null; }
            });
          };
          document.addEventListener("visibilitychange", () => {
            if (document.hidden) { if (source) source.close(); source = null; } else { known = null; listen(); }
          });
          listen();
        })();

        """
}
