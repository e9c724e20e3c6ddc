internal import LarderKit
internal import Reports
internal import System

/// `larder prefetch URL...`
enum PrefetchCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let watch = try Watch(arguments, terminal)
            let options = try options(arguments, watch)
            let larder = try arguments.larder
            let manifest = try manifest(arguments)
            if manifest != nil, !options.followsLinks {
                throw UsageError("--page needs the URL of a page, not a manifest; name the page")
            }
            let report = try await watch.during(again: arguments.again) {
                if let manifest {
                    try await larder.prefetch(
                        manifest: manifest, base: arguments.text(.base), options: options)
                } else {
                    try await larder.prefetch(arguments.operands, options: options)
                }
            }
            terminal.report(arguments.has(.json) ? report.json : PrefetchSummary.text(of: report, arguments))
            let status = status(of: report, isStrict: arguments.has(.strict), terminal)
            return worse(status, try await collect(arguments, terminal))
        }
    }

    static func options(_ arguments: Arguments, _ watch: Watch) throws(UsageError) -> PrefetchOptions {
        var options = try arguments.prefetchOptions()
        _ = try arguments.size(.maxSize)
        watch.watch(&options)
        return options
    }

    /// The manifest that is named instead of URLs: the path of an existing file, a name that ends with
    /// `.json`, or the argument of `--manifest`; nil if URLs are named.
    private static func manifest(_ arguments: Arguments) throws(UsageError) -> String? {
        let manifests =
            arguments.has(.manifest)
            ? arguments.operands
            : arguments.operands.filter { $0.hasSuffix(".json") || WholeFile.exists($0) }
        guard let manifest = manifests.first else { return nil }
        guard arguments.operands.count == 1 else {
            throw UsageError(
                "larder prefetch accepts either one manifest or URLs; run it once for each")
        }
        return manifest
    }

    /// Prints what went wrong, and returns the exit status.
    ///
    /// - Parameter isUpdate: whether the site was stored before.
    static func status(
        of report: PrefetchReport, isStrict: Bool, isUpdate: Bool = false, _ terminal: Terminal
    ) -> ExitStatus {
        if report.isInterrupted { return .interrupted }
        if report.hasShrunk {
            terminal.fail(
                "\(report.site): the new snapshot is rejected, because it has less than half of the previous pages; if a login "
                    + "page or captive portal came instead, log in (larder login URL, --cookies FILE, --user) and run the same "
                    + "command again, else accept the snapshot with --allow-shrink")
            return .incomplete
        }
        if let wall = report.loginPage {
            terminal.fail(
                "\(report.site): the new snapshot is rejected: \(wall); log in (larder login URL, --cookies FILE, --user) and run "
                    + "the same command again, or accept the snapshot with --allow-shrink")
            return .incomplete
        }
        if report.isRejected {
            terminal.fail(
                "\(report.site): the new snapshot is rejected, because bundles do not match the manifest; "
                    + "correct them at the origin, then run the same command again")
            return .incomplete
        }
        let known = report.manifestFailure.map { "\($0); the last known manifest of \(report.site) applies" }
        if let good = report.lastGood {
            let failed = report.missing.first { !$0.isBroken }.map { "\($0.url): \($0.reason)" }
            let reasons = [known, failed].compactMap { $0 }
            let reason = reasons.isEmpty ? "a required response is missing" : reasons.joined(separator: "; ")
            terminal.fail("\(reason); snapshot \(good.snapshot), fetched \(good.date), stays live")
            return isStrict ? .incomplete : .done
        }
        if let known { terminal.fail(known) }
        guard report.isPublished else {
            let first =
                report.missing.first.map { ($0.url, $0.reason) }
                ?? report.skipped.first.map { ($0.url, $0.reason) }
            let reason =
                first.map { $0.0 == report.site ? $0.1 : "\($0.0): \($0.1)" } ?? "no start URL was reached"
            let kept =
                report.missing.contains(where: \.isKeptFromBefore) ? "; its stored copy stays" : ""
            let advice =
                report.challengedHosts.isEmpty
                ? "check the URL and the network, then try again" : PrefetchSummary.challengeAdvice
            let what = isUpdate ? "not updated" : "nothing was prefetched"
            terminal.fail("\(report.site): \(what): \(reason)\(kept); \(advice)")
            return .unable
        }
        if report.rendering.mode == .always, let failure = report.rendering.failure {
            terminal.fail(
                "\(report.site): no page was rendered: \(failure); name another browser with --browser, or use "
                    + "--render never")
            return .incomplete
        }
        for session in report.lostSessions {
            terminal.fail(
                "\(report.site): the session with \(session.origin) ended during the run; log in again "
                    + "(larder login URL, --cookies FILE, --user) and run the same command again")
        }
        if report.hasSucceeded {
            let isWhole =
                report.isComplete && report.manifestFailure == nil
                && !report.missing.contains { $0.isAsset && $0.isBroken }
            return isStrict && !isWhole ? .incomplete : .done
        }
        // With --quiet, the report is not printed.
        if terminal.isQuiet, !report.isInterrupted, let first = firstMissing(of: report) {
            terminal.fail(
                "\(report.site): \(first); see what is missing with: larder check \(report.site)")
        }
        return .incomplete
    }

    private static func firstMissing(of report: PrefetchReport) -> String? {
        if let reason = report.reasonForOnePage { return "it has only one page: \(reason)" }
        let failed = report.missing.filter { !$0.isBroken && !$0.isNoted }
        return failed.first.map { first in
            "\(Wording.count(failed.count, "URL")) failed, the first: \(first.url) (\(first.reason))"
        }
    }

    /// Reduces the store to `--max-size`, if it is given.
    static func collect(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard let limit = try arguments.size(.maxSize) else { return .done }
        let report = try await arguments.larder.collectGarbage(limit: limit)
        guard !report.isWithinLimit else { return .done }
        let size = arguments.text(.maxSize) ?? ""
        terminal.fail(
            "the store is larger than --max-size \(size), and everything left is live or pinned; to see what could be removed: "
                + arguments.command("gc", ["--max-size", size, "--allow-incomplete", "--dry-run"]))
        return .incomplete
    }

    /// The first exit status that is not `done`.
    static func worse(_ first: ExitStatus, _ second: ExitStatus) -> ExitStatus {
        first == .done ? second : first
    }
}

/// `larder update [SITE...]`
enum UpdateCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let watch = try Watch(arguments, terminal)
            let options = try PrefetchCommand.options(arguments, watch)
            let larder = try arguments.larder
            let (sites, isDue) = (arguments.operands, arguments.has(.due))
            let updates = try await watch.during(again: arguments.again) {
                isDue
                    ? try await larder.updateDue(sites, options: options)
                    : try await larder.updateEach(sites, options: options)
            }
            let reports = updates.compactMap { try? $0.result.get() }
            let failed = updates.reduce(ExitStatus.done) { status, update in
                guard case .failure(let error) = update.result else { return status }
                return PrefetchCommand.worse(status, terminal.failed(error, "\(update.site): "))
            }
            if arguments.has(.json) {
                terminal.reportJSON("[" + reports.map(\.json).joined(separator: ",") + "]")
            } else if reports.isEmpty, isDue {
                if failed == .done { terminal.say("No site is due") }
            } else if updates.isEmpty {
                terminal.say("No site is stored; store one with: larder prefetch URL")
            } else {
                // The error line says what there is to say about a site that could not be reached.
                let told = reports.filter {
                    $0.isPublished || $0.isInterrupted || $0.hosts.contains { $0.byteCount > 0 }
                }
                var texts: [String] = []
                for report in told {
                    let changes =
                        report.isPublished && !report.isUnchanged
                        ? try? await larder.difference(of: report.site) : nil
                    texts.append(PrefetchSummary.text(of: report, changes: changes, arguments))
                }
                if !texts.isEmpty { terminal.report(texts.joined(separator: "\n")) }
            }
            let status = reports.reduce(failed) {
                let own = PrefetchCommand.status(
                    of: $1, isStrict: arguments.has(.strict), isUpdate: true, terminal)
                // The previous copy can still be read, so the status is not that of a broken machine.
                return PrefetchCommand.worse($0, own == .unable ? .incomplete : own)
            }
            let unchanged = updates.filter { !((try? $0.result.get())?.isPublished ?? false) }.map(\.site)
            if updates.count > 1, !unchanged.isEmpty, status != .interrupted {
                terminal.fail(text(of: unchanged, among: updates.count))
            }
            let whole = PrefetchCommand.worse(status, unchanged.isEmpty ? .done : .incomplete)
            return PrefetchCommand.worse(whole, try await PrefetchCommand.collect(arguments, terminal))
        }
    }

    /// The sentence about the sites that could not be updated.
    private static func text(of failed: [String], among count: Int) -> String {
        let updated = "\(count - failed.count) of \(Wording.count(count, "site")) updated"
        let names = failed.prefix(namedSiteLimit).joined(separator: ", ")
        let more = failed.count > namedSiteLimit ? " and \(failed.count - namedSiteLimit) more" : ""
        let copies = failed.count == 1 ? "its previous copy stays" : "their previous copies stay"
        return "\(updated); not updated: \(names)\(more); \(copies)"
    }

    private static let namedSiteLimit = 3
}

/// The summary of a prefetch for people.
enum PrefetchSummary {
    private static let mostShown = 5
    /// Advice for sites that send bot challenges. Larder does not solve them.
    static let challengeAdvice =
        "open the site in a browser and pass its cookies (larder login URL, or --cookies FILE), or try later, with --per-host 1"

    private static let loginAdvice = "larder login URL, or --cookies FILE"

    /// - Parameter changes: the differences from the snapshot before; nil to leave them out.
    static func text(
        of report: PrefetchReport, changes: DifferenceReport? = nil, _ arguments: Arguments
    ) -> String {
        var lines = [
            "\(report.site): \(Wording.count(report.pages, "page")), "
                + "\(Wording.count(report.assets, "asset")), "
                + "\(Wording.bytes(report.wireByteCount)) downloaded in \(Wording.time(report.elapsed))"
        ]
        if let reason = report.reasonForOnePage {
            lines.insert(
                "\(report.site): only one page was stored, and none of those that it links to: \(reason)",
                at: 0)
        }
        if report.isContinued { lines.append("  continued the previous run") }
        if report.isUnchanged {
            lines[lines.count - 1] =
                "\(report.site): nothing has changed (\(Wording.count(report.pages + report.assets, "URL")) checked, "
                + "\(Wording.bytes(report.wireByteCount)) downloaded in \(Wording.time(report.elapsed))); "
                + "snapshot \(report.snapshot) stays live"
        } else if let changes {
            let counts = [
                (changes.added.count, "added"), (changes.changed.count, "changed"),
                (changes.moved.count, "moved"),
                (changes.gone.count, "gone"),
            ].filter { $0.0 > 0 }.map { "\(Wording.number($0.0)) \($0.1)" }
            lines.append(
                "  since snapshot \(changes.from): "
                    + (counts.isEmpty
                        ? "no URL changed"
                        : "\(counts.joined(separator: ", ")) (list: \(arguments.command("diff", [report.site])))")
            )
        }
        if !report.isUnchanged, report.confirmed > 0 {
            lines.append(
                "  \(Wording.number(report.confirmed)) unchanged, \(Wording.bytes(report.savedByteCount)) not "
                    + "downloaded again")
        }
        if report.isInsecure { lines.append("  INSECURE: certificates were not verified") }
        if !report.plan.obeysRobots { lines.append("  ROBOTS IGNORED: robots.txt was not obeyed") }
        if let page = report.passwordPage, !report.isUnchanged {
            lines.append("  \(page) has a login form; to store what is behind it: \(Self.loginAdvice)")
        }
        if let cookies = report.cookieCounts {
            let expired = cookies.expired > 0 ? ", and \(Wording.number(cookies.expired)) have expired" : ""
            let files =
                report.plan.cookieFiles.isEmpty
                ? "the cookie file" : report.plan.cookieFiles.joined(separator: ", ")
            lines.append(
                "  \(Wording.number(cookies.valid)) of the \(Wording.count(cookies.total, "cookie")) in \(files) are for this site\(expired)"
            )
        }
        lines += hosts(report)
        if !report.isUnchanged {
            lines += rendering(report.rendering)
            lines += report.rehearsal?.lines.map { "  \($0)" } ?? []
        }
        if arguments.has(.renderPictures), report.rendering.rendered == 0 {
            lines.append(
                "  no screenshot was taken, because no page was rendered (all pages: --render always)")
        }
        if let check = report.check {
            lines += check.text(as: .text, isBrief: true).split(separator: "\n").map { "  \($0)" }
        }
        let noted = report.missing.filter(\.isNoted)
        let kept = report.missing.filter { $0.isKeptFromBefore && !$0.isNoted }
        let missing = report.missing.filter { !$0.isKeptFromBefore && !$0.isNoted }
        lines += list(missing.filter { $0.isAsset && !$0.isBroken }, "asset", "failed")
        lines += list(missing.filter { !$0.isAsset && !$0.isBroken }, "page", "failed")
        lines += list(kept, "URL", "failed, stored response kept")
        for stored in report.keptStored {
            lines.append(
                "  \(Wording.count(stored.count, "stored copy", plural: "stored copies")) kept: \(stored.text)"
            )
        }
        for challenged in report.challengedHosts {
            let challenges =
                challenged.service.isEmpty ? "a bot challenge" : "a bot challenge (\(challenged.service))"
            lines.append(
                "  \(challenged.host) sends \(challenges) instead of \(Wording.count(challenged.count, "URL")), and is not asked any more;"
            )
            lines.append("    \(challengeAdvice)")
        }
        for deferral in report.deferrals {
            lines.append(
                "  \(deferral.host) requires a pause of \(Wording.number(Int(deferral.seconds))) s (Retry-After); "
                    + "run the same command after that")
        }
        let broken = missing.filter(\.isBroken)
        if report.isUnchanged, !broken.isEmpty {
            lines.append(
                "  \(Wording.count(broken.count, "URL")) broken on the live site, as before (list: --json)")
        } else {
            lines += list(broken, "URL", "broken on the live site")
        }
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
        let needed = report.skipped.count { $0.isAsset && $0.isOverLimit }
        if needed > 0, let limit = report.limit {
            let hint = Remedy.hint(report.remedy)
            lines.append("  \(Wording.count(needed, "asset")) of stored pages not fetched: \(limit)\(hint)")
        }
        for session in report.lostSessions {
            lines.append(
                "  no further requests to \(session.origin): the session ended, and a login page came instead:"
            )
            lines.append("    \(session.login)")
        }
        lines += list(noted, "URL", "missed by the server and still not fetched")
        if !noted.isEmpty {
            lines.append(
                "    the next run tries them again; to list or clear them: \(arguments.command("misses"))"
            )
        }
        for trap in report.traps.prefix(mostShown) { lines.append("  stopped at \(trap)") }
        if report.traps.count > mostShown {
            lines.append(
                "  and \(Wording.count(report.traps.count - mostShown, "more trap")) (list: --json)")
        }
        if !report.isUnchanged { lines += skipped(report) }
        if report.isInterrupted {
            lines.append("Interrupted; to continue: \(arguments.again)")
        } else if report.isPublished {
            if let limit = report.limit {
                let state = report.isCutShort ? "Not complete" : "Limited as requested"
                lines.append("\(state): \(limit)\(Remedy.hint(report.remedy)); to continue:")
                let changes = report.maxPages.map { [Option.maxPages.name: "\($0 * 2)"] } ?? [:]
                lines.append("  \(arguments.again(with: changes))")
            }
            if missing.contains(where: { !$0.isBroken }) || !kept.isEmpty {
                lines.append("To repeat failed requests: \(arguments.command("update", [report.site]))")
            }
            lines += indexing(report, arguments)
            if !report.isUnchanged {
                lines.append("To read it: \(arguments.command("open", [report.site]))")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// The state of the search index, unless it is complete.
    private static func indexing(_ report: PrefetchReport, _ arguments: Arguments) -> [String] {
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
    private static func rendering(_ report: RenderReport) -> [String] {
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
        for pattern in notable.count > 1 ? notable.prefix(mostShown) : [] {
            lines.append(
                "    \(pattern.pattern): \(Wording.number(pattern.rendered)) of \(Wording.count(pattern.pages, "page")) rendered, "
                    + "\(Wording.number(pattern.foundAssets + pattern.foundPages)) found"
                    + (pattern.unfinished > 0
                        ? ", \(Wording.number(pattern.unfinished)) not finished" : ""))
        }
        let lookedAt = Set(report.lookedAtPatterns)
        let left = report.patterns.count { $0.rendered == 0 && !lookedAt.contains($0.pattern) }
        if left > 0 {
            lines.append(
                "    \(Wording.count(left, "kind")) of pages not rendered, since others brought so little; to render all: --render always"
            )
        }
        for page in report.unfinished.prefix(mostShown) {
            lines.append("    \(page.url): \(page.ending.words)\(page.detail.map { " (\($0))" } ?? "")")
        }
        if report.unfinished.contains(where: { $0.ending == .outOfTime }) {
            lines.append(
                "    more time per page or fewer pages at once may help: --render-time, --render-tabs")
        }
        for (notice, count) in report.notices.sorted(by: { $0.key < $1.key }) {
            lines.append("    \(text(of: notice, count))")
        }
        return lines
    }

    /// A sentence about what pages did besides loading.
    private static func text(of notice: String, _ count: Int) -> String {
        switch notice {
        case "web-socket": "\(Wording.count(count, "WebSocket")) opened, whose messages are not stored"
        case "consent": "\(Wording.count(count, "cookie banner")) answered (--consent)"
        case "not-sent":
            "\(Wording.count(count, "request")) not sent, because a page may send 5,000 requests of at most 4 MiB"
        case "not-sent-by-control":
            "\(Wording.count(count, "request")) by buttons not sent, because they might change something on the server"
        case "view-not-shown":
            "\(Wording.count(count, "view")) not shown, because of --max-pages or --render-time"
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

    /// A few missing URLs one by one, many grouped by host and reason, the largest group first.
    private static func list(_ missing: [CrawlReport.Missing], _ noun: String, _ state: String) -> [String] {
        guard !missing.isEmpty else { return [] }
        let heading = "  \(Wording.count(missing.count, noun)) \(state):"
        if missing.count <= mostShown { return [heading] + missing.flatMap { text(of: $0) } }
        let groups = MissingGroup.groups(of: missing)
        var lines = [heading]
        for group in groups.prefix(mostShown) {
            let first = group.count == 1 ? "" : "such as "
            let hint = Remedy.hint(group.first.remedy)
            lines.append("    \(Wording.number(group.count)) at \(group.host): \(group.reason)\(hint)")
            lines.append("      \(first)\(group.first.url)")
            if !group.first.chain.isEmpty { lines.append("      found through \(way(group.first.chain))") }
        }
        let rest = groups.dropFirst(mostShown).reduce(0) { $0 + $1.count }
        if rest > 0 { lines.append("    \(Wording.number(rest)) more on other hosts or for other reasons") }
        lines.append("    (list: --json)")
        return lines
    }

    private static func text(of item: CrawlReport.Missing) -> [String] {
        let line = "    \(item.url): \(item.reason)\(Remedy.hint(item.remedy))"
        return item.chain.isEmpty ? [line] : [line, "      found through \(way(item.chain))"]
    }

    /// The pages from the start URL to the one that links to a URL; only the start and the end of a long
    /// path.
    private static func way(_ chain: [String]) -> String {
        guard chain.count > longestWay else { return chain.joined(separator: " > ") }
        return ([chain[0], "..."] + chain.suffix(longestWay - 1)).joined(separator: " > ")
    }

    private static let longestWay = 4

    /// The figures of each host; empty for a single host without failures, since the first line contains its
    /// figures.
    private static func hosts(_ report: PrefetchReport) -> [String] {
        let failures = report.hosts.reduce(0) { $0 + $1.failures }
        guard report.hosts.count > 1 || failures > 0 else { return [] }
        var lines = ["  \(Wording.count(report.hosts.count, "host")):"]
        for host in report.hosts.sorted(by: { $0.byteCount > $1.byteCount }).prefix(mostShown) {
            let failed = host.failures > 0 ? ", \(Wording.number(host.failures)) failed" : ""
            lines.append(
                "    \(host.name): \(Wording.count(host.requests, "request"))\(failed), "
                    + Wording.bytes(host.byteCount))
        }
        if report.hosts.count > mostShown {
            lines.append(
                "    and \(Wording.number(report.hosts.count - mostShown)) more (list: --json)")
        }
        return lines
    }

    /// The URLs that were not requested, by reason, the most frequent first.
    private static func skipped(_ report: PrefetchReport) -> [String] {
        guard !report.skipped.isEmpty else { return [] }
        var counts: [String: Int] = [:]
        for skipped in report.skipped {
            counts[skipped.reason + Remedy.hint(skipped.remedy), default: 0] += 1
        }
        let reasons = counts.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
        let count = Wording.count(report.skipped.count, "URL")
        if reasons.count == 1 { return ["  \(count) not fetched: \(reasons[0].key) (list: --json)"] }
        var lines = ["  \(count) not fetched (list: --json):"]
        for (reason, count) in reasons.prefix(mostShown) {
            lines.append("    \(Wording.number(count)): \(reason)")
        }
        let rest = reasons.dropFirst(mostShown).reduce(0) { $0 + $1.value }
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
        var places: [String: Int] = [:]
        for item in missing {
            let host = host(of: item.url)
            if let place = places[host + "\n" + item.reason] {
                groups[place].count += 1
            } else {
                places[host + "\n" + item.reason] = groups.count
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
