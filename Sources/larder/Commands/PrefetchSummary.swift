internal import LarderKit
internal import Reports

/// The text of the report of `prefetch`, `update` and `work`.
///
/// The first line has the counts. Indented lines follow for everything that a user may have to act on:
/// failures, limits, logins, traps. The last lines name commands to run next. A report without problems has
/// few lines; each list ends after `maxListedItems` and refers to `--json`.
///
/// Some texts contain limits of other modules: `LinkScanner.maxBytes` (64 MB), `CrawlPlan.defaultMaxLinks` (100,000),
/// `SocketRecorder.maxTime` and `SocketRecording.maxBytes` (10 seconds and 1 MiB), and `PageOutcome.maxRequests` and
/// `Rendering.maxRequestBodyBytes` (5,000 requests of 4 MiB).
enum PrefetchSummary {
    /// The maximum number of items in each list. The others are counted.
    private static let maxListedItems = 5
    /// The maximum number of URLs in the line that names those that are still broken after an update without changes.
    private static let maxUnchangedItems = 2
    /// Advice for sites that send bot challenges, which Larder does not solve.
    static let challengeAdvice =
        "open the site in a browser and pass its cookies (larder login URL, or --cookies FILE), or try later, with --per-host 1"

    static let loginAdvice = "larder login URL, or --cookies FILE"

    /// The advice for a login page or a server that refuses access.
    static let sessionAdvice =
        "log in (larder login URL, --cookies FILE, --user) and run the same command again"

    /// The advice if a site could not be fetched at all.
    ///
    /// - Parameters:
    ///   - status: the status that the server answered with; nil if there was no answer.
    ///   - isOfTLS: whether the server's certificate was not accepted.
    ///   - login: the login that the user named.
    ///   - address: an address that the user typed without a scheme, so that https was tried; nil if there is none.
    static func advice(
        afterStatus status: Int?, isOfTLS: Bool, login: NetworkOptions.Login?,
        addressWithoutScheme address: String? = nil
    ) -> String {
        if isOfTLS { return "if you trust the server, accept its certificate with --ca FILE or --insecure" }
        return switch (status, login) {
        case (403, .digest?):
            "the server did not ask for the login of --user; --user NAME:PASSWORD sends it unasked"
        case (401, .basic?), (403, .basic?), (401, .digest?):
            "the server refused the login of --user; correct it, or if only the login page accepts it, start there: larder "
                + "prefetch LOGIN-PAGE --user NAME:PASSWORD"
        case (401, .bearer?), (403, .bearer?): "the server refused the token of --bearer; use another one"
        case (401, nil), (403, nil): sessionAdvice
        case (404, _), (410, _): "check the URL"
        case (429, _), (.some(500...), _): "the server has a fault or too much to do; try again later"
        default:
            "check the URL and the network, then try again"
                + (address.map { "; if the site has no https, name it as http://\($0)" } ?? "")
        }
    }

    /// Whether the summary says more than the error line that `PrefetchCommand.status` prints for a site that could not be
    /// reached.
    static func hasContent(_ report: PrefetchReport) -> Bool {
        report.isPublished || report.isInterrupted || report.hosts.contains { $0.byteCount > 0 }
    }

    /// Returns the text of the report.
    ///
    /// - Parameter changes: the differences from the snapshot that was live before; nil to leave them out.
    static func text(
        of report: PrefetchReport, changes: DiffReport? = nil, _ arguments: Arguments
    ) -> String {
        let missing = MissingLists(report)
        var lines = headLines(report, changes, arguments) + accessLines(report)
        if !report.isUnchanged {
            lines += hostLines(report)
            lines += renderingLines(report.rendering)
            lines += report.rehearsal?.lines.map { "  \($0)" } ?? []
        }
        if arguments.has(.renderPictures), report.rendering.rendered == 0 {
            lines.append(
                "  no screenshot was taken, because no page was rendered; to render all: --render always")
        }
        if let check = report.check {
            // Without the line that counts the verified bundles, since the summary lists only what needs attention.
            lines += check.text(as: .text, isBrief: true).split(separator: "\n")
                .filter { !$0.hasPrefix("verified ") }.map { "  \(String($0).withShortDigests)" }
        }
        lines += missingList(missing.failed.filter(\.isAsset), "asset", "failed")
        lines += missingList(missing.failed.filter { !$0.isAsset }, "page", "failed")
        lines += missingList(missing.kept, "URL", "failed, stored response kept")
        lines += hostRefusalLines(report)
        if report.isUnchanged, !missing.broken.isEmpty {
            let names = missing.broken.prefix(maxUnchangedItems).map(\.url).joined(separator: ", ")
            let more = missing.broken.count > maxUnchangedItems ? " … (--json lists all)" : ""
            lines.append(
                "  \(Wording.count(missing.broken.count, "URL")) broken on the live site, as before: \(names)\(more)"
            )
        } else {
            lines += missingList(missing.broken, "URL", "broken on the live site")
        }
        lines += incompleteLines(report)
        lines += missingList(
            missing.recorded, "URL", "requested from the server before, and still not stored")
        if !missing.recorded.isEmpty {
            lines.append(
                "    the next run tries them again; to list or clear them: \(arguments.command("misses"))"
            )
        }
        for trap in report.traps.prefix(maxListedItems) { lines.append("  stopped at \(trap)") }
        if report.traps.count > maxListedItems {
            lines.append(
                "  and \(Wording.count(report.traps.count - maxListedItems, "more trap")) (--json lists all)")
        }
        if !report.isUnchanged { lines += skippedLines(report) }
        let hasFailures = !missing.failed.isEmpty || !missing.kept.isEmpty
        lines += nextStepLines(report, hasFailures: hasFailures, isUpdate: changes != nil, arguments)
        return lines.joined(separator: "\n")
    }

    /// The counts, and the differences from the snapshot that was live before.
    private static func headLines(
        _ report: PrefetchReport, _ changes: DiffReport?, _ arguments: Arguments
    ) -> [String] {
        var lines: [String] = []
        if let reason = report.reasonForOnePage {
            lines.append(
                "\(report.site): only one page was stored, and none of those that it links to: \(reason)")
        }
        let traffic =
            "\(Wording.bytes(report.wireByteCount)) downloaded, "
            + totalTime(report.elapsed, ofRehearsal: report.rehearsalElapsed)
        lines.append(
            report.isUnchanged
                ? "\(report.site): nothing has changed (\(Wording.count(report.pages + report.assets, "URL")) checked, "
                    + "\(traffic)); snapshot \(report.snapshot) stays live"
                : "\(report.site): \(Wording.count(report.pages, "page")), \(Wording.count(report.assets, "asset")), \(traffic)"
        )
        if report.isContinued { lines.append("  continued the previous run") }
        if let changes, !report.isUnchanged {
            let counts = [
                (changes.added.count, "added"), (changes.changed.count, "changed"),
                (changes.moved.count, "moved"),
                (changes.gone.count, "gone"),
            ].filter { $0.0 > 0 }.map { "\(Wording.number($0.0)) \($0.1)" }
            // Without numbers, `larder diff` compares the last two snapshots.
            let isNext = changes.to.number == changes.from.number + 1
            let list = [report.site] + (isNext ? [] : ["\(changes.from)", "\(changes.to)"])
            lines.append(
                "  since snapshot \(changes.from): "
                    + (counts.isEmpty
                        ? "no URL changed"
                        : "\(counts.joined(separator: ", ")) (list: \(arguments.command("diff", list)))")
            )
            if changes.unfetchedPages > 0 {
                let pages = Wording.count(changes.unfetchedPages, "page")
                lines.append(
                    "  \(pages) of snapshot \(changes.from) not fetched this time, and still served as before"
                )
            }
            let named =
                changes.added.map { "added \($0)" } + changes.changed.map { "changed \($0)" }
                + changes.moved.map { "moved \($0.from) to \($0.to)" } + changes.gone.map { "gone \($0)" }
            if named.count <= maxNamedChanges { lines += named.map { "    \($0)" } }
        }
        if !report.isUnchanged, report.confirmed > 0 {
            lines.append(
                "  \(Wording.number(report.confirmed)) unchanged, \(Wording.bytes(report.savedByteCount)) not "
                    + "downloaded again")
        }
        return lines
    }

    /// The maximum number of changed URLs that the summary of an update names. More are only counted.
    private static let maxNamedChanges = 3

    /// The time that the user waited, and how much of it the rehearsal took, if that was most of it.
    static func totalTime(_ total: Duration, ofRehearsal rehearsal: Duration) -> String {
        let text = "\(Wording.time(total)) in total"
        guard rehearsal * 2 > total else { return text }
        return text + " (\(Wording.time(rehearsal)) to open pages offline and download missing files)"
    }

    /// The lines about certificates, robots.txt, logins and cookies.
    private static func accessLines(_ report: PrefetchReport) -> [String] {
        var lines: [String] = []
        if report.isInsecure { lines.append("  INSECURE: certificates were not verified") }
        if !report.plan.obeysRobots { lines.append("  ROBOTS IGNORED: robots.txt was not obeyed") }
        // The error line about a login page in place of the site says the same.
        if let page = report.passwordPage, !report.isUnchanged, report.loginPage == nil {
            lines.append("  \(page) has a login form; to store what is behind it: \(Self.loginAdvice)")
        }
        if let cookies = report.cookieCounts {
            let expired = cookies.expired > 0 ? "; \(Wording.number(cookies.expired)) expired" : ""
            let files =
                report.plan.cookieFiles.isEmpty
                ? "the cookie file" : report.plan.cookieFiles.joined(separator: ", ")
            let verb = cookies.valid == 1 ? "is" : "are"
            lines.append(
                "  \(Wording.number(cookies.valid)) of \(Wording.count(cookies.total, "cookie")) in \(files) \(verb) for this site\(expired)"
                    + (report.plan.cookieFiles.isEmpty || report.isUnchanged
                        ? "" : "; updates of this site read it too")
            )
        }
        return lines
    }

    /// The missing URLs in the lists of the summary. URLs whose bundle does not match are left out, because the lines of the
    /// check name them.
    private struct MissingLists {
        /// Failed URLs without a stored response.
        let failed: [CrawlReport.Missing]
        /// URLs that the live site does not have either.
        let broken: [CrawlReport.Missing]
        /// Failed URLs whose stored response stays.
        let kept: [CrawlReport.Missing]
        /// URLs that a server recorded as misses.
        let recorded: [CrawlReport.Missing]

        init(_ report: PrefetchReport) {
            let mismatches = Set(report.check?.items.filter { $0.verdict == .mismatch }.map(\.url) ?? [])
            let missing = report.missing.filter { !mismatches.contains($0.url) }
            recorded = missing.filter(\.isRecordedMiss)
            kept = missing.filter { $0.isKeptFromBefore && !$0.isRecordedMiss }
            let others = missing.filter { !$0.isKeptFromBefore && !$0.isRecordedMiss }
            failed = others.filter { !$0.isBroken }
            broken = others.filter(\.isBroken)
        }
    }

    /// The lines about hosts that refused requests, and the stored copies that were kept instead.
    private static func hostRefusalLines(_ report: PrefetchReport) -> [String] {
        var lines: [String] = []
        for stored in report.keptStored {
            lines.append(
                "  \(Wording.count(stored.count, "stored copy", plural: "stored copies")) kept: \(stored.text)"
            )
        }
        for challenged in report.challengedHosts {
            let challenges =
                challenged.service.isEmpty ? "a bot challenge" : "a bot challenge (\(challenged.service))"
            lines.append(
                "  \(challenged.host) sends \(challenges) instead of \(Wording.count(challenged.count, "URL")), and gets no more requests;"
            )
            lines.append("    \(challengeAdvice)")
        }
        for deferral in report.deferrals {
            lines.append(
                "  \(deferral.host) requires a pause of \(Wording.number(Int(deferral.seconds))) s (Retry-After); "
                    + "run the same command after that")
        }
        return lines
    }

    /// The lines about content that was not fetched, or not scanned, because of a limit or the end of a session.
    private static func incompleteLines(_ report: PrefetchReport) -> [String] {
        var lines: [String] = []
        if let first = report.unread.first {
            lines.append(
                "  \(Wording.count(report.unread.count, "file")) over 64 MB stored, but not scanned for links, the first:"
            )
            lines.append("    \(first)")
        }
        if let first = report.overlong.first {
            let documents = Wording.count(report.overlong.count, "document")
            lines.append("  only the first 100,000 links followed of \(documents), the first:")
            lines.append("    \(first)")
        }
        let skippedAssets = report.skipped.count { $0.isAsset && $0.isOverLimit }
        if skippedAssets > 0, let limit = report.limit {
            let hint = Remedy.hint(report.remedy)
            lines.append(
                "  \(Wording.count(skippedAssets, "asset")) of stored pages not fetched: \(limit)\(hint)")
        }
        for session in report.lostSessions {
            lines.append(
                "  no further requests to \(session.origin): the session ended, and a login page came instead:"
            )
            lines.append("    \(session.login)")
        }
        return lines
    }

    /// The commands to run next.
    private static func nextStepLines(
        _ report: PrefetchReport, hasFailures: Bool, isUpdate: Bool, _ arguments: Arguments
    ) -> [String] {
        var lines: [String] = []
        if report.isInterrupted {
            lines.append("Interrupted; to continue: \(arguments.commandLine)")
        } else if report.isPublished {
            if let limit = report.limit {
                let state = report.isCutShort ? "Not complete" : "Limited as requested"
                // The limit counts requested pages. Those that do not exist are not in the number of pages.
                let note =
                    (report.maxPages.map { report.pages < $0 } ?? false)
                        && report.missing.contains { $0.isBroken }
                    ? ", with pages that do not exist" : ""
                lines.append("\(state): \(limit)\(note)\(Remedy.hint(report.remedy)); to continue:")
                // The suggested command doubles the limit of pages; the same limit would end the run at
                // once.
                let changes = report.maxPages.map { [Option.maxPages.name: "\($0 * 2)"] } ?? [:]
                lines.append("  \(arguments.commandLine(changing: changes))")
            }
            if hasFailures {
                lines.append("To repeat failed requests: \(arguments.command("update", [report.site]))")
            }
            if report.isRehearsalInterrupted {
                let check = arguments.command("check", ["--offline", report.site])
                lines.append("Not rehearsed: interrupted; to open the pages offline: \(check)")
            }
            lines += indexingLines(report, arguments)
            if !report.isUnchanged, !isUpdate {
                lines.append("To read it: \(arguments.command("open", [report.site]))")
            }
        }
        return lines
    }

    /// The state of the search index, unless it is complete.
    private static func indexingLines(_ report: PrefetchReport, _ arguments: Arguments) -> [String] {
        guard let indexing = report.indexing else { return [] }
        let index = arguments.command("index")
        if let failure = indexing.failure {
            return ["  the search index was not updated: \(failure); to try again: \(index)"]
        }
        guard indexing.left > 0 else { return [] }
        let left = Wording.count(indexing.left, "page")
        return ["\(left) not indexed yet; the next search does that, or now: \(index)"]
    }

    /// The results of rendering; empty if no page had to be rendered.
    private static func renderingLines(_ report: RenderReport) -> [String] {
        var lines: [String] = []
        if let failure = report.failure {
            let why = report.mode == .always ? "" : ", although some scripts could not be analysed"
            lines.append("  pages were not rendered\(why): \(failure)")
        }
        guard report.rendered > 0, report.failure == nil || report.browser != nil else { return lines }
        let found = report.patterns.reduce((0, 0)) { ($0.0 + $1.foundAssets, $0.1 + $1.foundPages) }
        var results = [(found.0, "more asset"), (found.1, "more page")].filter { $0.0 > 0 }.map {
            Wording.count($0.0, $0.1)
        }
        if report.recorded > 0 { results.append("\(Wording.count(report.recorded, "response")) to POST") }
        lines.append(
            "  \(Wording.count(report.rendered, "page")) rendered\(report.browser.map { " by \($0)" } ?? ""): "
                + (results.isEmpty ? "nothing more found" : "\(results.joined(separator: ", ")) found"))
        let notable = report.patterns.filter { $0.foundAssets + $0.foundPages + $0.unfinished > 0 }
        for pattern in notable.count > 1 ? notable.prefix(maxListedItems) : [] {
            lines.append(
                "    \(pattern.pattern): \(Wording.number(pattern.rendered)) of \(Wording.count(pattern.pages, "page")) rendered, "
                    + "\(Wording.number(pattern.foundAssets + pattern.foundPages)) found"
                    + (pattern.unfinished > 0
                        ? ", \(Wording.number(pattern.unfinished)) not finished" : ""))
        }
        // Patterns that this run or an earlier one has rendered.
        let everRendered = Set(report.renderedPatternTexts)
        let left = report.patterns.count { $0.rendered == 0 && !everRendered.contains($0.pattern) }
        if left > 0 {
            lines.append(
                "    \(Wording.count(left, "kind")) of pages not rendered, because rendering others found hardly anything; to render all: --render always"
            )
        }
        for page in report.unfinished.prefix(maxListedItems) {
            lines.append("    \(page.url): \(page.ending.words)\(page.detail.map { " (\($0))" } ?? "")")
        }
        if report.unfinished.contains(where: { $0.ending == .outOfTime }) {
            lines.append(
                "    more time per page or fewer pages at once may help: --render-time, --render-tabs")
        }
        for (notice, count) in report.notices.sorted(by: { $0.key < $1.key }) {
            lines.append("    \(noticeText(of: notice, count))")
        }
        return lines
    }

    /// A line about other effects of rendered pages, such as dialogs and downloads. The names of notices
    /// are those of the report.
    private static func noticeText(of notice: String, _ count: Int) -> String {
        switch notice {
        case "web-socket": "\(Wording.count(count, "WebSocket")) opened"
        case "messages-recorded":
            "\(Wording.count(count, "page")) whose live messages of the first seconds were recorded"
        case "messages-not-recorded":
            "\(Wording.count(count, "page")) whose live messages were recorded only in part; 10 seconds and 1 MiB are recorded"
        case "consent": "\(Wording.count(count, "cookie banner")) answered (--consent)"
        case "not-sent":
            "\(Wording.count(count, "request")) not sent, because a page may send 5,000 requests of at most 4 MiB"
        case "not-sent-by-control":
            "\(Wording.count(count, "request")) by buttons not sent, because they might change something on the server"
        case "view-not-shown":
            "\(Wording.count(count, "view")) not shown, because of --max-pages or --render-time"
        case "view-like-others":
            "\(Wording.count(count, "view")) not shown, because views like them needed nothing new (--render-deep)"
        case "dialog": "\(Wording.count(count, "dialog")) closed"
        case "window": "\(Wording.count(count, "window")) of pages not opened"
        case "download": "\(Wording.count(count, "download")) of pages not started"
        case "permission": "\(Wording.count(count, "request")) for a permission denied"
        case "crash": "\(Wording.count(count, "crash", plural: "crashes")) of pages"
        case "too-many-requests": "\(Wording.count(count, "page")) stopped, because of too many requests"
        case "script-error": "\(Wording.count(count, "error")) in scripts"
        default: "\(notice): \(Wording.number(count))"
        }
    }

    /// The lines about missing URLs: one by one if they are few, else grouped by host and reason, the
    /// largest group first.
    ///
    /// - Parameters:
    ///   - noun: the kind of the URLs, in the singular.
    ///   - state: the predicate of the heading, such as `failed`.
    private static func missingList(_ missing: [CrawlReport.Missing], _ noun: String, _ state: String)
        -> [String]
    {
        guard !missing.isEmpty else { return [] }
        let heading = "  \(Wording.count(missing.count, noun)) \(state):"
        if missing.count <= maxListedItems { return [heading] + missing.flatMap { missingLines(of: $0) } }
        let groups = MissingGroup.groups(of: missing)
        var lines = [heading]
        for group in groups.prefix(maxListedItems) {
            let first = group.count == 1 ? "" : "such as "
            let reason = group.reason.withShortDigests + Remedy.hint(group.first.remedy)
            lines.append("    \(Wording.number(group.count)) at \(group.host): \(reason)")
            lines.append("      \(first)\(group.first.url)")
            if !group.first.chain.isEmpty {
                lines.append("      found through \(chainText(group.first.chain))")
            }
        }
        let rest = groups.dropFirst(maxListedItems).reduce(0) { $0 + $1.count }
        if rest > 0 { lines.append("    \(Wording.number(rest)) more on other hosts or for other reasons") }
        lines.append("    (--json lists all)")
        return lines
    }

    /// The line of one missing URL, and the pages through which it was found.
    private static func missingLines(of item: CrawlReport.Missing) -> [String] {
        let line = "    \(item.url): \(item.reason.withShortDigests)\(Remedy.hint(item.remedy))"
        return item.chain.isEmpty ? [line] : [line, "      found through \(chainText(item.chain))"]
    }

    /// The chain of pages from the start URL to the one that links to a URL. The middle of a long chain is
    /// left out.
    private static func chainText(_ chain: [String]) -> String {
        guard chain.count > maxChainURLs else { return chain.joined(separator: " > ") }
        return ([chain[0], "..."] + chain.suffix(maxChainURLs - 1)).joined(separator: " > ")
    }

    /// The maximum number of URLs of a chain that are shown in full.
    private static let maxChainURLs = 4

    /// The figures of each host; empty for a single host without failures, since the first line contains its
    /// figures.
    private static func hostLines(_ report: PrefetchReport) -> [String] {
        let failures = report.hosts.reduce(0) { $0 + $1.failures }
        guard report.hosts.count > 1 || failures > 0 else { return [] }
        var lines = ["  \(Wording.count(report.hosts.count, "host")):"]
        for host in report.hosts.sorted(by: { $0.byteCount > $1.byteCount }).prefix(maxListedItems) {
            let failed = host.failures > 0 ? ", \(Wording.number(host.failures)) failed" : ""
            lines.append(
                "    \(host.name): \(Wording.count(host.requests, "request"))\(failed), "
                    + Wording.bytes(host.byteCount))
        }
        if report.hosts.count > maxListedItems {
            lines.append(
                "    and \(Wording.number(report.hosts.count - maxListedItems)) more (--json lists all)")
        }
        return lines
    }

    /// The URLs that were not requested, by reason, the most frequent first.
    private static func skippedLines(_ report: PrefetchReport) -> [String] {
        guard !report.skipped.isEmpty else { return [] }
        var counts: [String: Int] = [:]
        for skipped in report.skipped {
            counts[skipped.reason + Remedy.hint(skipped.remedy), default: 0] += 1
        }
        let reasons = counts.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
        let count = Wording.count(report.skipped.count, "URL")
        if reasons.count == 1 { return ["  \(count) not fetched: \(reasons[0].key) (--json lists all)"] }
        var lines = ["  \(count) not fetched (--json lists all):"]
        for (reason, count) in reasons.prefix(maxListedItems) {
            lines.append("    \(Wording.number(count)): \(reason)")
        }
        let rest = reasons.dropFirst(maxListedItems).reduce(0) { $0 + $1.value }
        if rest > 0 { lines.append("    \(Wording.number(rest)): other reasons") }
        return lines
    }
}

/// URLs of one host that are missing for the same reason.
struct MissingGroup: Equatable {
    let host: String
    let reason: String
    let first: CrawlReport.Missing
    var count: Int

    /// The groups, the largest first.
    static func groups(of missing: [CrawlReport.Missing]) -> [MissingGroup] {
        var groups: [MissingGroup] = []
        var indices: [String: Int] = [:]
        for item in missing {
            let host = host(of: item.url)
            if let index = indices[host + "\n" + item.reason] {
                groups[index].count += 1
            } else {
                indices[host + "\n" + item.reason] = groups.count
                groups.append(MissingGroup(host: host, reason: item.reason, first: item, count: 1))
            }
        }
        return groups.enumerated().sorted { left, right in
            left.element.count != right.element.count
                ? left.element.count > right.element.count : left.offset < right.offset
        }.map(\.element)
    }

    /// The part of a URL between the scheme and the path.
    private static func host(of url: String) -> String {
        let bytes = Array(url.utf8)
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        return String(
            decoding: bytes[start...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") },
            as: UTF8.self)
    }
}

extension RenderEnding {
    fileprivate var words: String {
        switch self {
        case .complete: "finished"
        case .outOfTime: "not finished in time"
        case .hung: "its scripts never paused"
        case .crashed: "crashed"
        case .download: "is a download"
        case .failed: "could not be rendered"
        }
    }
}
