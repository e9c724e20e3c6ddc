internal import LarderKit

/// `larder visits [SITE]`
enum VisitsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.status()
            let wanted = arguments.operands.first
            for site in try wanted.map({ [try report.site(named: $0)] }) ?? report.sites {
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
