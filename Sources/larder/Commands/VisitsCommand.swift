internal import LarderKit

/// `larder visits [SITE]`
enum VisitsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.status()
            var sites = report.sites
            if let wanted = arguments.operands.first {
                sites = sites.filter { $0.name == wanted || $0.start.contains(wanted) }
                guard !sites.isEmpty else {
                    throw UsageError("the larder holds no site \(wanted); see: \(arguments.command("status"))")
                }
            }
            for site in sites {
                terminal.say(site.name)
                for visit in site.visits { terminal.say("  " + text(of: visit, in: site)) }
            }
            return .done
        }
    }

    private static func text(of visit: StatusReport.Visit, in site: StatusReport.Site) -> String {
        let responses = Quantities.count(visit.responses, "response")
        let state =
            if site.published == visit.number {
                ", served"
            } else if visit.finished == nil {
                ", not complete"
            } else {
                ""
            }
        return "visit \(visit.number), \(visit.startDate): \(responses)\(state)"
    }
}
