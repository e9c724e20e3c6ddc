internal import LarderKit

/// `larder tuf`: works with repositories of The Update Framework (TUF).
enum TUFCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let word = arguments.operands[0]
            if word == "download" { return try await TUFDownloadCommand.run(arguments, terminal) }
            let names = TUFRepositoryCommand.names
            guard names.contains(word) else {
                throw UsageError(
                    "unknown command \"tuf \(word)\"; use \(names.joined(separator: ", ")) or download; see: "
                        + CommandLine.shellCommand(["help", "tuf"]))
            }
            return try TUFRepositoryCommand.run(arguments, terminal)
        }
    }
}
