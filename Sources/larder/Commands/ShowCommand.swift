internal import LarderKit

/// `larder show URL`
enum ShowCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.show(arguments.operands[0])
            terminal.say(arguments.has(.json) ? report.json : HoldingText.text(of: report, arguments))
            return report.isHeld ? .done : .incomplete
        }
    }
}
