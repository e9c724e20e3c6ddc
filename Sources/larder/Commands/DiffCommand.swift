internal import LarderKit
internal import Reports

/// `larder diff SITE [A] [B]`: lists the URLs that differ between two snapshots, by default the last two;
/// with `--pictures`, compares their screenshots.
///
/// Exit status 0, whether they differ or not. 2: no such site or snapshot. 3: the store cannot be read.
enum DiffCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let (site, from, to) = (
                arguments.operands[0], try arguments.snapshot(1), try arguments.snapshot(2)
            )
            if arguments.has(.pictures) {
                let report = try await arguments.larder.screenshotDifferences(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : screenshotText(of: report, arguments))
            } else {
                let report = try await arguments.larder.difference(of: site, from: from, to: to)
                terminal.report(arguments.has(.json) ? report.json : text(of: report))
            }
            return .done
        }
    }

    /// The comparison of screenshots as text: a line for each page that differs, then the counts.
    private static func screenshotText(of report: ScreenshotReport, _ arguments: Arguments) -> String {
        let snapshots = "\(report.site), snapshot \(report.from) to \(report.to)"
        guard !report.pages.isEmpty else {
            let prefetch = arguments.command(
                "prefetch", [report.site, "--render", "always", "--render-pictures"])
            return "\(snapshots): no screenshots are stored; a prefetch stores them with: \(prefetch)"
        }
        var lines = report.differing.map { page in
            let word = page.state.rawValue
            return word + String(repeating: " ", count: max(1, 8 - word.utf8.count)) + page.url
        }
        let counts = ScreenshotReport.Comparison.allCases.map { ($0, report.count($0)) }.filter { $0.1 > 0 }
            .map {
                state, count in
                switch state {
                case .changed, .added, .gone: "\(count) \(state.rawValue)"
                case .same: "\(count) the same"
                case .reused: "\(count) not taken again"
                }
            }
        lines.append(
            "\(snapshots): \(Wording.count(report.pages.count, "picture")), \(counts.joined(separator: ", "))"
        )
        if report.count(.changed) > 0 {
            lines.append("To see them side by side: \(arguments.command("serve"))")
        }
        return lines.joined(separator: "\n")
    }

    /// The differences as text: a line for each URL, then the counts.
    private static func text(of report: DifferenceReport) -> String {
        var lines = report.added.map { "added   \($0)" }
        lines += report.changed.map { "changed \($0)" }
        lines += report.gone.map { "gone    \($0)" }
        lines += report.moved.map { "moved   \($0.from) to \($0.to)" }
        lines.append(
            "\(report.site), snapshot \(report.from) to \(report.to): "
                + (report.isEmpty
                    ? "no difference"
                    : "\(report.added.count) added, \(report.changed.count) changed, "
                        + "\(report.gone.count) gone, \(report.moved.count) moved"))
        return lines.joined(separator: "\n")
    }
}
