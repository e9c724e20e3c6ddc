internal import LarderKit

/// `larder drop SITE VISIT...`
enum DropCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let visits = try arguments.operands.indices.dropFirst().compactMap { try arguments.visit($0) }
            let report = try await arguments.larder.drop(visits, of: arguments.operands[0])
            terminal.report(arguments.has(.json) ? report.json : text(of: report, visits.count, arguments))
            return .done
        }
    }

    private static func text(of report: VisitsReport, _ count: Int, _ arguments: Arguments) -> String {
        """
        \(Quantities.count(count, "visit")) dropped; to have the room back: \(arguments.command("gc"))
        \(VisitsCommand.text(of: report))
        """
    }
}
