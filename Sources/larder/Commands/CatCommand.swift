internal import LarderKit

/// `larder cat URL`
enum CatCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let visit = try arguments.numberIfGiven(.visit, in: 1...Int.max).map(Int64.init)
            let report = try await arguments.larder.read(arguments.operands[0], visit: visit) { terminal.put($0) }
            guard let refusal = refusal(report, visit, arguments) else { return .done }
            terminal.fail(refusal)
            return .incomplete
        }
    }

    /// Nil when there was something to print, and it was right.
    private static func refusal(_ report: BodyReport, _ visit: Int64?, _ arguments: Arguments) -> String? {
        let url = report.url
        switch report.outcome {
        case .whole, .cut:
            return nil
        case .damaged(let fault):
            let repair = arguments.command("fsck", ["--repair"])
            return "\(url) is damaged: \(fault); take it out of service with: \(repair)"
        case .redirect(let status, let target?):
            return "\(url) is a redirect (\(status)); what it leads to: \(arguments.command("cat", [target]))"
        case .redirect(let status, nil):
            return "\(url) is a redirect (\(status)) that leads nowhere; see: \(arguments.command("show", [url]))"
        case .empty(let status):
            return "\(url) has no body: the server answered \(status); see: \(arguments.command("show", [url]))"
        case .notInVisit(let visits):
            let last = visits.last.map { "\($0)" } ?? ""
            return "visit \(visit ?? 0) does not show \(url); the last that has it: "
                + arguments.command("cat", [url, "--visit", last])
        case .notHeld(let absence):
            if let standIn = absence.standIn {
                return "\(url) is not held; \(AbsenceText.reason(standIn)): \(arguments.command("cat", [standIn.url]))"
            }
            return "\(url) is not held; see what is near it with: \(arguments.command("show", [url]))"
        }
    }
}
