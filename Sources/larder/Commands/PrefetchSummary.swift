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
        lines += missing(report.missing.filter { $0.isRequisite || !$0.isGone }, "missing")
        lines += missing(report.missing.filter { !$0.isRequisite && $0.isGone }, "dead in the site itself")
        if !report.skipped.isEmpty {
            let links = Quantities.count(report.skipped.count, "link", plural: "links")
            lines.append("  \(links) to other sites not followed (--json lists them)")
        }
        if report.isInterrupted {
            lines.append("Interrupted; to go on: \(arguments.command("prefetch", arguments.operands))")
        } else if report.isPublished {
            lines.append("To look at it: \(arguments.command("serve"))")
        }
        return lines.joined(separator: "\n")
    }

    private static func missing(_ list: [PrefetchReport.Missing], _ word: String) -> [String] {
        guard !list.isEmpty else { return [] }
        var lines = ["  \(Quantities.grouped(list.count)) \(word):"]
        for item in list.prefix(mostShown) {
            let referrer = item.chain.last.map { ", asked for by \($0)" } ?? ""
            lines.append("    \(item.url): \(item.reason)\(referrer)")
        }
        if list.count > mostShown { lines.append("    and \(list.count - mostShown) more (--json lists them)") }
        return lines
    }
}
