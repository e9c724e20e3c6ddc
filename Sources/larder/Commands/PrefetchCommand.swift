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

    /// The manifest that is named in place of addresses: a file that is there, what ends as one does, or what
    /// is said to be.
    private static func manifest(_ arguments: Arguments) throws(UsageError) -> String? {
        let manifests =
            arguments.has(.manifest)
            ? arguments.operands
            : arguments.operands.filter { $0.hasSuffix(".json") || WholeFile.isThere($0) }
        guard let manifest = manifests.first else { return nil }
        guard arguments.operands.count == 1 else {
            throw UsageError(
                "larder prefetch takes one manifest, or addresses, not both: run it once for each")
        }
        return manifest
    }

    static func status(of report: PrefetchReport, isStrict: Bool, _ terminal: Terminal) -> ExitStatus {
        if report.isInterrupted { return .interrupted }
        if report.hasShrunk {
            terminal.fail(
                "\(report.site): less than half of its pages came, as when a login or the portal of a network answers, so that "
                    + "the visit is not served; if it takes a login, give it one (larder login URL, --cookies FILE, --user), if the site is that "
                    + "small now, run the same command with --allow-shrink")
            return .incomplete
        }
        if let wall = report.wall {
            terminal.fail(
                "\(report.site): \(wall), so that the visit is not served; give larder what logs in (larder login URL, --cookies FILE, --user) and "
                    + "run the same command again or, if that is the site, run it with --allow-shrink")
            return .incomplete
        }
        if report.isHeldBack {
            terminal.fail(
                "\(report.site): bundles do not verify, so that the visit is not served; "
                    + "put right what is told above at the origin, then run the same command again")
            return .incomplete
        }
        if let failure = report.manifestFailure {
            terminal.fail("\(failure); the last known manifest of \(report.site) holds")
        }
        if let good = report.lastGood {
            let failed = report.missing.first { !$0.isGone }.map { "\($0.url): \($0.reason)" }
            let reason =
                failed
                ?? (report.manifestFailure == nil ? "not enough could be had" : "nothing new could be had")
            terminal.fail("\(reason); visit \(good.visit) of \(good.date) is served as before")
            return isStrict ? .incomplete : .done
        }
        guard report.isPublished else {
            let reason =
                report.missing.first.map { "\($0.url): \($0.reason)" }
                ?? report.skipped.first.map { "\($0.url): \($0.reason)" } ?? "no start URL was reached"
            let kept =
                report.missing.contains(where: \.isKeptFromBefore)
                ? "; what was held before is shown as before" : ""
            terminal.fail(
                "nothing was prefetched: \(reason); check the address and the network, then try again\(kept)")
            return .unable
        }
        if report.rendering.mode == .always, let failure = report.rendering.failure {
            terminal.fail(
                "\(report.site): no page was shown in a browser: \(failure); name another with --browser, or leave that "
                    + "with --render never")
            return .incomplete
        }
        for session in report.lostSessions {
            terminal.fail(
                "\(report.site): the session with \(session.origin) ended on the way; give larder what logs in anew "
                    + "(larder login URL, --cookies FILE, --user) and run the same command again")
        }
        if report.isComplete { return isStrict && report.manifestFailure != nil ? .incomplete : .done }
        // The report, which tells, is not shown.
        if terminal.isQuiet, !report.isInterrupted, let first = firstMissing(of: report) {
            terminal.fail(
                "\(report.site): \(first); see what is missing with: larder check --offline \(report.site)")
        }
        return .incomplete
    }

    private static func firstMissing(of report: PrefetchReport) -> String? {
        let missing = report.missing.filter { ($0.isRequisite || !$0.isGone) && !$0.isNoted }
        if let first = missing.first {
            let count = Wording.count(missing.count, "address", plural: "addresses")
            return "\(count) missing, the first is \(first.url) (\(first.reason))"
        }
        return report.skipped.first { $0.isRequisite && $0.isOverLimit }.map { "\($0.url): \($0.reason)" }
    }

    /// Takes away what goes beyond `--max-size`, if that is given.
    static func collect(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard let limit = try arguments.size(.maxSize) else { return .done }
        let report = try await arguments.larder.collect(limit: limit)
        guard !report.isWithinLimit else { return .done }
        let size = arguments.text(.maxSize) ?? ""
        terminal.fail(
            "the larder is larger than --max-size \(size), and what is left is served or pinned; to see what could go: "
                + arguments.command("gc", ["--max-size", size, "--allow-incomplete", "--dry-run"]))
        return .incomplete
    }

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
                    : try await larder.updates(of: sites, options: options)
            }
            let reports = updates.compactMap { try? $0.result.get() }
            let failed = updates.reduce(ExitStatus.done) { status, update in
                guard case .failure(let error) = update.result else { return status }
                return PrefetchCommand.worse(status, terminal.failed(error, "\(update.site): "))
            }
            if arguments.has(.json) {
                terminal.reportJSON("[" + reports.map(\.json).joined(separator: ",") + "]")
            } else if reports.isEmpty, isDue {
                if failed == .done { terminal.say("Nothing is due") }
            } else if updates.isEmpty {
                terminal.say("The larder holds no site; stock one with: larder prefetch URL")
            } else if !reports.isEmpty {
                terminal.report(
                    reports.map { PrefetchSummary.text(of: $0, arguments) }.joined(separator: "\n"))
            }
            let status = reports.reduce(failed) {
                PrefetchCommand.worse(
                    $0, PrefetchCommand.status(of: $1, isStrict: arguments.has(.strict), terminal))
            }
            return PrefetchCommand.worse(status, try await PrefetchCommand.collect(arguments, terminal))
        }
    }
}

/// The end of a prefetch, on one screen.
enum PrefetchSummary {
    private static let mostShown = 5

    static func text(of report: PrefetchReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(report.site): \(Wording.count(report.pages, "page")), "
                + "\(Wording.count(report.requisites, "requisite")), "
                + "\(Wording.bytes(report.wireByteCount)) fetched in \(Wording.time(report.elapsed))"
        ]
        if report.isContinued { lines.append("  went on where the last run ended") }
        if report.confirmed > 0 {
            lines.append(
                "  \(Wording.grouped(report.confirmed)) unchanged, \(Wording.bytes(report.savedByteCount)) not "
                    + "fetched again")
        }
        if report.isInsecure { lines.append("  INSECURE: certificates were not looked at") }
        if !report.plan.obeysRobots { lines.append("  ROBOTS IGNORED: what robots.txt says was not obeyed") }
        lines += hosts(report)
        lines += rendering(report.rendering)
        if arguments.has(.renderPictures), report.rendering.rendered == 0 {
            lines.append("  no picture was taken: no page was shown in a browser (--render always shows all)")
        }
        if let check = report.check {
            lines += check.text(as: .text).split(separator: "\n").map { "  \($0)" }
        }
        let noted = report.missing.filter(\.isNoted)
        let kept = report.missing.filter { $0.isKeptFromBefore && !$0.isNoted }
        let missing = report.missing.filter { !$0.isKeptFromBefore && !$0.isNoted }
        lines += list(missing.filter { $0.isRequisite }, "missing that pages need offline")
        lines += list(missing.filter { !$0.isRequisite && !$0.isGone }, "missing, as pages")
        lines += list(kept, "not to be had now, kept from an earlier visit")
        for stored in report.keptStored {
            lines.append(
                "  \(Wording.count(stored.count, "stored copy", plural: "stored copies")) kept: \(stored.text)"
            )
        }
        for deferral in report.deferrals {
            lines.append(
                "  \(deferral.host) asks to wait \(Wording.grouped(Int(deferral.seconds))) s (Retry-After), and was not asked "
                    + "again; run the same command after that")
        }
        lines += list(missing.filter { !$0.isRequisite && $0.isGone }, "dead in the site itself")
        if let first = report.unread.first {
            lines.append(
                "  \(Wording.count(report.unread.count, "file")) over 64 MB kept without a look at what is needed there:"
            )
            lines.append("    \(first)")
        }
        if let first = report.overlong.first {
            let documents = Wording.count(report.overlong.count, "document")
            lines.append("  only the first 100,000 links followed of \(documents):")
            lines.append("    \(first)")
        }
        let needed = report.skipped.count { $0.isRequisite && $0.isOverLimit }
        if needed > 0, let limit = report.limit {
            let hint = Remedy.hint(report.remedy)
            lines.append("  \(Wording.grouped(needed)) not fetched that pages need offline: \(limit)\(hint)")
        }
        for session in report.lostSessions {
            lines.append(
                "  \(session.origin) was asked no more: the session ended, and its pages led to a login:")
            lines.append("    \(session.login)")
        }
        lines += list(noted, "noted as asked for while it was shown, and not to be had now")
        if !noted.isEmpty {
            lines.append(
                "    they are looked for again next time; to see or forget them: \(arguments.command("misses"))"
            )
        }
        for trap in report.traps.prefix(mostShown) { lines.append("  stopped \(trap)") }
        if report.traps.count > mostShown {
            lines.append(
                "  and \(Wording.count(report.traps.count - mostShown, "trap")) more (--json lists them)")
        }
        lines += skipped(report)
        if report.isInterrupted {
            lines.append("Interrupted; to go on: \(arguments.again)")
        } else if report.isPublished {
            if let limit = report.limit {
                lines.append("There is more, but \(limit)\(Remedy.hint(report.remedy)); to go on:")
                let changes = report.maxPages.map { [Option.maxPages.name: "\($0 * 2)"] } ?? [:]
                lines.append("  \(arguments.again(with: changes))")
            }
            if missing.contains(where: { !$0.isGone }) || !kept.isEmpty {
                lines.append("To try again what failed: \(arguments.command("update", [report.site]))")
            }
            lines += indexing(report, arguments)
            lines.append("To look at it: \(arguments.command("serve"))")
        }
        return lines.joined(separator: "\n")
    }

    /// What can be found by its words by now, where that is not all.
    private static func indexing(_ report: PrefetchReport, _ arguments: Arguments) -> [String] {
        guard let indexing = report.indexing else { return [] }
        let index = arguments.command("index")
        if let failure = indexing.failure {
            return ["  its words cannot be searched: \(failure); to try again: \(index)"]
        }
        guard indexing.left > 0 else { return [] }
        let left = Wording.count(indexing.left, "page")
        return ["The words of \(left) are read by the first search, or now by: \(index)"]
    }

    /// Nothing where no page had a reason.
    private static func rendering(_ report: RenderReport) -> [String] {
        var lines: [String] = []
        if let failure = report.failure {
            let why = report.mode == .always ? "" : ", though scripts ask for more than can be read"
            lines.append("  pages are not shown in a browser\(why): \(failure)")
        }
        guard report.rendered > 0, report.failure == nil || report.browser != nil else { return lines }
        let found = report.patterns.reduce((0, 0)) { ($0.0 + $1.foundRequisites, $0.1 + $1.foundPages) }
        lines.append(
            "  \(Wording.count(report.rendered, "page")) rendered\(report.browser.map { " by \($0)" } ?? ""): found "
                + "\(Wording.count(found.0, "further requisite")), \(Wording.count(found.1, "further page"))"
                + (report.recorded > 0 ? ", \(Wording.count(report.recorded, "answer")) to POST" : ""))
        for pattern in report.patterns.prefix(mostShown) where pattern.rendered > 0 {
            let found = pattern.foundRequisites + pattern.foundPages
            lines.append(
                "    \(pattern.pattern): \(Wording.grouped(pattern.rendered)) of \(Wording.count(pattern.pages, "page")), "
                    + (found > 0 ? "\(Wording.grouped(found)) found" : "nothing found")
                    + (pattern.unfinished > 0
                        ? ", \(Wording.grouped(pattern.unfinished)) did not come to rest" : ""))
        }
        let lookedAt = Set(report.lookedAtPatterns)
        let left = report.patterns.count { $0.rendered == 0 && !lookedAt.contains($0.pattern) }
        if left > 0 {
            lines.append(
                "    \(Wording.count(left, "kind")) of pages not looked at, as the others brought so little: --render always shows every page"
            )
        }
        for page in report.unfinished.prefix(mostShown) {
            lines.append("    \(page.url): \(page.ending.words)\(page.detail.map { " (\($0))" } ?? "")")
        }
        if report.unfinished.contains(where: { $0.ending == .outOfTime }) {
            lines.append("    more time for each, or fewer at once, may help: --render-time, --render-tabs")
        }
        for (notice, count) in report.notices.sorted(by: { $0.key < $1.key }) {
            let meaning =
                switch notice {
                case "web-socket": ", and nothing that comes over it is kept"
                case "not-sent": ", as a page may send 5,000 requests, each of 4 MiB"
                case "view-not-shown": ", beyond what --max-pages and --render-time allow"
                default: ""
                }
            lines.append("    \(notice): \(Wording.grouped(count))\(meaning)")
        }
        return lines
    }

    /// Each by itself where there are few; else by host and reason, the commonest first.
    private static func list(_ missing: [CrawlReport.Missing], _ word: String) -> [String] {
        guard !missing.isEmpty else { return [] }
        let heading = "  \(Wording.grouped(missing.count)) \(word):"
        if missing.count <= mostShown { return [heading] + missing.flatMap { text(of: $0) } }
        let groups = MissingGroup.groups(of: missing)
        var lines = [heading]
        for group in groups.prefix(mostShown) {
            let first = group.count == 1 ? "" : "such as "
            let hint = Remedy.hint(group.first.remedy)
            lines.append("    \(Wording.grouped(group.count)) at \(group.host): \(group.reason)\(hint)")
            lines.append("      \(first)\(group.first.url)")
            if !group.first.chain.isEmpty { lines.append("      by way of \(way(group.first.chain))") }
        }
        let rest = groups.dropFirst(mostShown).reduce(0) { $0 + $1.count }
        if rest > 0 { lines.append("    \(Wording.grouped(rest)) more, elsewhere or for other reasons") }
        lines.append("    (--json lists all of them)")
        return lines
    }

    private static func text(of item: CrawlReport.Missing) -> [String] {
        let line = "    \(item.url): \(item.reason)\(Remedy.hint(item.remedy))"
        return item.chain.isEmpty ? [line] : [line, "      by way of \(way(item.chain))"]
    }

    /// From the start to who asked for it; of a long way the start and the end.
    private static func way(_ chain: [String]) -> String {
        guard chain.count > longestWay else { return chain.joined(separator: " > ") }
        return ([chain[0], "..."] + chain.suffix(longestWay - 1)).joined(separator: " > ")
    }

    private static let longestWay = 4

    /// A single host that always answered is the site's own, of which the first line tells.
    private static func hosts(_ report: PrefetchReport) -> [String] {
        let failures = report.hosts.reduce(0) { $0 + $1.failures }
        guard report.hosts.count > 1 || failures > 0 else { return [] }
        var lines = ["  \(Wording.count(report.hosts.count, "host")):"]
        for host in report.hosts.sorted(by: { $0.byteCount > $1.byteCount }).prefix(mostShown) {
            let failed = host.failures > 0 ? ", \(Wording.grouped(host.failures)) failed" : ""
            lines.append(
                "    \(host.name): \(Wording.count(host.requests, "request"))\(failed), "
                    + Wording.bytes(host.byteCount))
        }
        if report.hosts.count > mostShown {
            lines.append(
                "    and \(Wording.grouped(report.hosts.count - mostShown)) more (--json lists them)")
        }
        return lines
    }

    /// What was linked and not asked for, by reason, the commonest first.
    private static func skipped(_ report: PrefetchReport) -> [String] {
        guard !report.skipped.isEmpty else { return [] }
        var counts: [String: Int] = [:]
        for skipped in report.skipped {
            counts[skipped.reason + Remedy.hint(skipped.remedy), default: 0] += 1
        }
        let reasons = counts.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
        let count = Wording.count(report.skipped.count, "link")
        if reasons.count == 1 { return ["  \(count) not followed, \(reasons[0].key) (--json lists them)"] }
        var lines = ["  \(count) not followed (--json lists them):"]
        for (reason, count) in reasons.prefix(mostShown) {
            lines.append("    \(Wording.grouped(count)) \(reason)")
        }
        let rest = reasons.dropFirst(mostShown).reduce(0) { $0 + $1.value }
        if rest > 0 { lines.append("    \(Wording.grouped(rest)) for other reasons") }
        return lines
    }
}

/// What is missing at one host for one reason.
struct MissingGroup: Equatable {
    let host: String
    let reason: String
    let first: CrawlReport.Missing
    var count: Int

    /// The commonest first.
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

    /// What stands between the scheme and the path.
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
        case .complete: "came to rest"
        case .outOfTime: "did not come to rest in its time"
        case .hung: "its scripts never paused"
        case .crashed: "crashed"
        case .download: "is a file"
        case .failed: "could not be shown"
        }
    }
}
