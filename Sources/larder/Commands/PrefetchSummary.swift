internal import LarderKit

/// The end of a prefetch, on one screen.
enum PrefetchSummary {
    private static let mostShown = 10

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
        for trap in report.traps { lines.append("  stopped \(trap)") }
        lines += skipped(report)
        if report.isInterrupted {
            lines.append("Interrupted; to go on: \(arguments.again)")
        } else if report.isPublished {
            if let limit = report.limit { lines.append("There is more, but \(limit)") }
            lines.append("To look at it: \(arguments.command("serve"))")
        }
        return lines.joined(separator: "\n")
    }

    private static func list(_ missing: [PrefetchReport.Missing], _ word: String) -> [String] {
        guard !missing.isEmpty else { return [] }
        var lines = ["  \(Quantities.grouped(missing.count)) \(word):"]
        for item in missing.prefix(mostShown) {
            let referrer = item.chain.last.map { ", asked for by \($0)" } ?? ""
            lines.append("    \(item.url): \(item.reason)\(referrer)")
        }
        if missing.count > mostShown {
            lines.append("    and \(Quantities.grouped(missing.count - mostShown)) more (--json lists them)")
        }
        return lines
    }

    /// What was linked and not asked for, by reason, the commonest first.
    private static func skipped(_ report: PrefetchReport) -> [String] {
        guard !report.skipped.isEmpty else { return [] }
        var counts: [String: Int] = [:]
        for skipped in report.skipped { counts[skipped.reason, default: 0] += 1 }
        let reasons = counts.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
        var lines = [
            "  \(Quantities.count(report.skipped.count, "link")) not followed (--json lists them):"
        ]
        for (reason, count) in reasons.prefix(mostShown) { lines.append("    \(Quantities.grouped(count)) \(reason)") }
        let rest = reasons.dropFirst(mostShown).reduce(0) { $0 + $1.value }
        if rest > 0 { lines.append("    \(Quantities.grouped(rest)) for other reasons") }
        return lines
    }
}
