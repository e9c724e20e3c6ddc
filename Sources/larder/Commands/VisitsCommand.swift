internal import LarderKit

/// `larder visits [SITE]`
enum VisitsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.visits(of: arguments.operands.first)
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

    static func text(of report: VisitsReport) -> String {
        guard !report.sites.isEmpty else { return "no site is held" }
        return report.sites.flatMap { site in
            [site.name] + site.visits.map { "  " + text(of: $0, in: site) }
        }.joined(separator: "\n")
    }

    private static func text(of visit: StatusReport.Visit, in site: StatusReport.Site) -> String {
        let responses = Quantities.count(visit.responses, "response")
        let state =
            if let base = visit.base {
                ", loaded by a server over visit \(base)" + (site.overlay == visit.number ? ", served" : "")
            } else if site.published == visit.number {
                ", served"
            } else if visit.finished == nil {
                ", not complete"
            } else {
                ""
            }
        return "visit \(visit.number), \(visit.startDate): \(responses)\(state)"
    }
}
