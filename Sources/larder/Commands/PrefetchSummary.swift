internal import LarderKit

/// The end of a prefetch, on one screen.
enum PrefetchSummary {
    private static let mostShown = 5

    static func text(of report: PrefetchReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(report.site): \(Quantities.count(report.pages, "page")), "
                + "\(Quantities.count(report.requisites, "requisite")), "
                + "\(Quantities.bytes(report.wireByteCount)) fetched in \(Quantities.time(report.elapsed))"
        ]
        if report.isContinued { lines.append("  went on where the last run ended") }
        if report.confirmed > 0 {
            lines.append(
                "  \(Quantities.grouped(report.confirmed)) unchanged, \(Quantities.bytes(report.savedByteCount)) not "
                    + "fetched again")
        }
        if report.isInsecure { lines.append("  INSECURE: certificates were not looked at") }
        if !report.plan.obeysRobots { lines.append("  ROBOTS IGNORED: what robots.txt says was not obeyed") }
        lines += hosts(report)
        if let check = report.check {
            lines += check.text(as: .text).split(separator: "\n").map { "  \($0)" }
        }
        let kept = report.missing.filter(\.isKeptFromBefore)
        let missing = report.missing.filter { !$0.isKeptFromBefore }
        lines += list(missing.filter { $0.isRequisite }, "missing that pages need offline")
        lines += list(missing.filter { !$0.isRequisite && !$0.isGone }, "missing, as pages")
        lines += list(kept, "not to be had now, kept from an earlier visit")
        lines += list(missing.filter { !$0.isRequisite && $0.isGone }, "dead in the site itself")
        let needed = report.skipped.count { $0.isRequisite && $0.isOverLimit }
        if needed > 0, let limit = report.limit {
            lines.append("  \(Quantities.grouped(needed)) not fetched that pages need offline: \(limit)")
        }
        for session in report.lostSessions {
            lines.append("  \(session.origin) was asked no more: the session ended, and its pages led to a login:")
            lines.append("    \(session.login)")
        }
        if report.unansweredMisses > 0 {
            let misses = Quantities.count(report.unansweredMisses, "miss", plural: "misses")
            lines.append(
                "  \(misses) that a server noted got no answer and stay noted; to see them: \(arguments.command("misses"))"
            )
        }
        for trap in report.traps.prefix(mostShown) { lines.append("  stopped \(trap)") }
        if report.traps.count > mostShown {
            lines.append("  and \(Quantities.count(report.traps.count - mostShown, "trap")) more (--json lists them)")
        }
        lines += skipped(report)
        if report.isInterrupted {
            lines.append("Interrupted; to go on: \(arguments.again)")
        } else if report.isPublished {
            if let limit = report.limit {
                lines.append("There is more, but \(limit); to go on:")
                let changes = report.maxPages.map { [Option.maxPages.name: "\($0 * 2)"] } ?? [:]
                lines.append("  \(arguments.again(with: changes))")
            }
            if missing.contains(where: { !$0.isGone }) || !kept.isEmpty {
                lines.append("To try again what failed: \(arguments.command("update", [report.site]))")
            }
            lines.append("To look at it: \(arguments.command("serve"))")
        }
        return lines.joined(separator: "\n")
    }

    /// Each by itself where there are few; else by host and reason, the commonest first.
    private static func list(_ missing: [PrefetchReport.Missing], _ word: String) -> [String] {
        guard !missing.isEmpty else { return [] }
        let heading = "  \(Quantities.grouped(missing.count)) \(word):"
        if missing.count <= mostShown { return [heading] + missing.flatMap { text(of: $0) } }
        let groups = MissingGroup.groups(of: missing)
        var lines = [heading]
        for group in groups.prefix(mostShown) {
            let first = group.count == 1 ? "" : "such as "
            lines.append("    \(Quantities.grouped(group.count)) at \(group.host): \(group.reason)")
            lines.append("      \(first)\(group.first.url)")
            if !group.first.chain.isEmpty { lines.append("      by way of \(way(group.first.chain))") }
        }
        let rest = groups.dropFirst(mostShown).reduce(0) { $0 + $1.count }
        if rest > 0 { lines.append("    \(Quantities.grouped(rest)) more, elsewhere or for other reasons") }
        lines.append("    (--json lists all of them)")
        return lines
    }

    private static func text(of item: PrefetchReport.Missing) -> [String] {
        let line = "    \(item.url): \(item.reason)"
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
        var lines = ["  \(Quantities.count(report.hosts.count, "host")):"]
        for host in report.hosts.sorted(by: { $0.byteCount > $1.byteCount }).prefix(mostShown) {
            let failed = host.failures > 0 ? ", \(Quantities.grouped(host.failures)) failed" : ""
            lines.append(
                "    \(host.name): \(Quantities.count(host.requests, "request"))\(failed), "
                    + Quantities.bytes(host.byteCount))
        }
        if report.hosts.count > mostShown {
            lines.append("    and \(Quantities.grouped(report.hosts.count - mostShown)) more (--json lists them)")
        }
        return lines
    }

    /// What was linked and not asked for, by reason, the commonest first.
    private static func skipped(_ report: PrefetchReport) -> [String] {
        guard !report.skipped.isEmpty else { return [] }
        var counts: [String: Int] = [:]
        for skipped in report.skipped { counts[skipped.reason, default: 0] += 1 }
        let reasons = counts.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
        let count = Quantities.count(report.skipped.count, "link")
        if reasons.count == 1 { return ["  \(count) not followed, \(reasons[0].key) (--json lists them)"] }
        var lines = ["  \(count) not followed (--json lists them):"]
        for (reason, count) in reasons.prefix(mostShown) { lines.append("    \(Quantities.grouped(count)) \(reason)") }
        let rest = reasons.dropFirst(mostShown).reduce(0) { $0 + $1.value }
        if rest > 0 { lines.append("    \(Quantities.grouped(rest)) for other reasons") }
        return lines
    }
}
