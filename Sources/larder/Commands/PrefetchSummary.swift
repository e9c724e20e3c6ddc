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
        if report.isContinued { lines.append("  went on with an interrupted run") }
        if report.confirmed > 0 {
            lines.append(
                "  \(Quantities.grouped(report.confirmed)) unchanged, \(Quantities.bytes(report.savedByteCount)) not "
                    + "fetched again")
        }
        if report.isInsecure { lines.append("  INSECURE: certificates were not looked at") }
        if let check = report.check {
            lines += check.text(as: .text).split(separator: "\n").map { "  \($0)" }
        }
        let kept = report.missing.filter(\.isKeptFromBefore)
        let missing = report.missing.filter { !$0.isKeptFromBefore }
        lines += list(missing.filter { $0.isRequisite || !$0.isGone }, "missing")
        lines += list(kept, "not to be had now, kept from an earlier visit")
        lines += list(missing.filter { !$0.isRequisite && $0.isGone }, "dead in the site itself")
        for trap in report.traps.prefix(mostShown) { lines.append("  stopped \(trap)") }
        if report.traps.count > mostShown {
            lines.append("  and \(Quantities.count(report.traps.count - mostShown, "trap")) more (--json lists them)")
        }
        lines += skipped(report)
        if report.isInterrupted {
            lines.append("Interrupted; to go on: \(arguments.again)")
        } else if report.isPublished {
            if let limit = report.limit { lines.append("There is more, but \(limit)") }
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
        if missing.count <= mostShown { return [heading] + missing.map { "    " + text(of: $0) } }
        let groups = MissingGroup.groups(of: missing)
        var lines = [heading]
        for group in groups.prefix(mostShown) {
            let first = group.count == 1 ? "" : "such as "
            lines.append("    \(Quantities.grouped(group.count)) at \(group.host): \(group.reason)")
            lines.append("      \(first)\(text(of: group.first, withReason: false))")
        }
        let rest = groups.dropFirst(mostShown).reduce(0) { $0 + $1.count }
        if rest > 0 { lines.append("    \(Quantities.grouped(rest)) more, elsewhere or for other reasons") }
        lines.append("    (--json lists all of them)")
        return lines
    }

    private static func text(of item: PrefetchReport.Missing, withReason: Bool = true) -> String {
        let referrer = item.chain.last.map { ", asked for by \($0)" } ?? ""
        return item.url + (withReason ? ": \(item.reason)" : "") + referrer
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
