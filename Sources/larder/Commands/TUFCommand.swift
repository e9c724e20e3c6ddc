internal import LarderKit

/// `larder tuf download`: works with repositories of The Update Framework (TUF).
enum TUFCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let word = arguments.operands[0]
            switch word {
            case "download": return try await TUFDownloadCommand.run(arguments, terminal)
            default:
                throw UsageError(
                    "unknown command \"tuf \(word)\"; use download; see: \(CommandLine.shellCommand(["help", "tuf"]))"
                )
            }
        }
    }
}
