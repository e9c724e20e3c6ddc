internal import LarderKit

/// `larder sites`
enum SitesCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.visits()
            if arguments.has(.json) {
                terminal.say(report.json)
            } else {
                // Nothing but names, for a shell to go over.
                for site in report.sites { terminal.say(site.name) }
            }
            return .done
        }
    }
}
