internal import LarderKit

/// `larder diff SITE [A] [B]`
enum DiffCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.difference(
                of: arguments.operands[0], from: try arguments.visit(1), to: try arguments.visit(2))
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

    private static func text(of report: DifferenceReport) -> String {
        var lines = report.added.map { "added   \($0)" }
        lines += report.changed.map { "changed \($0)" }
        lines += report.gone.map { "gone    \($0)" }
        lines += report.moved.map { "moved   \($0.from) to \($0.to)" }
        lines.append(
            "\(report.site), visit \(report.from) to \(report.to): "
                + (report.isEmpty
                    ? "no difference"
                    : "\(report.added.count) added, \(report.changed.count) changed, "
                        + "\(report.gone.count) gone, \(report.moved.count) moved"))
        return lines.joined(separator: "\n")
    }
}
