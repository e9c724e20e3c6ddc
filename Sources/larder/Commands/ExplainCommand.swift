internal import LarderKit

/// `larder explain URL`
enum ExplainCommand {
    private static let mostShown = 10

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.explain(arguments.operands[0])
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return .done
        }
    }

    private static func text(of report: ExplainReport, _ arguments: Arguments) -> String {
        var lines = [report.url]
        lines.append(report.heldStatus.map { "  held, with status \($0)" } ?? "  not held")
        for site in report.sites {
            lines.append("  in \(site.name)")
            lines.append("    as a page: \(site.asPage)")
            if site.isPageFollowed, let robots = site.robots { lines.append("    robots.txt: \(robots)") }
            lines.append("    as what a page needs: \(site.asRequisite)")
        }
        if report.sites.isEmpty {
            lines.append("  the larder holds no site; what would be fetched is told by: \(arguments.command("plan"))")
        }
        if !report.chain.isEmpty { lines.append("  found by way of") }
        for (depth, href) in report.chain.enumerated() {
            lines.append("    " + String(repeating: "  ", count: min(depth, 8)) + href)
        }
        if !report.linkedFrom.isEmpty {
            lines.append("  linked from \(Quantities.count(report.linkedFrom.count, "address", plural: "addresses"))")
            lines += report.linkedFrom.prefix(mostShown).map { "    \($0)" }
            if report.linkedFrom.count > mostShown {
                lines.append(
                    "    and \(Quantities.grouped(report.linkedFrom.count - mostShown)) more (--json lists them)")
            }
        }
        return lines.joined(separator: "\n")
    }
}
