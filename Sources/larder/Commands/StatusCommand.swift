internal import LarderKit

/// `larder status`
enum StatusCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.status()
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            return .done
        }
    }

    private static func text(of report: StatusReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(report.path): \(Quantities.count(report.sites.count, "site")), "
                + "\(Quantities.count(report.responses, "response")) "
                + "(\(Quantities.count(report.pages, "page")), \(Quantities.count(report.requisites, "requisite"))), "
                + "\(Quantities.count(report.bodies, "body", plural: "bodies")), \(Quantities.bytes(report.byteCount))"
        ]
        for site in report.sites {
            let visits = Quantities.count(site.visits.count, "visit")
            lines.append("  \(site.name): \(visits), \(state(of: site, arguments))")
        }
        return lines.joined(separator: "\n")
    }

    private static func state(of site: StatusReport.Site, _ arguments: Arguments) -> String {
        guard let published = site.published else {
            return "none complete yet; to go on: \(arguments.command("prefetch", site.start))"
        }
        return "visit \(published) is served"
    }
}
