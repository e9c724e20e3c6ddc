internal import LarderKit

/// `larder update [SITE...]`
enum UpdateCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let watch = try Watch(arguments, terminal)
            let options = try PrefetchCommand.options(arguments, watch)
            let larder = try arguments.larder
            let reports = try await watch.during(again: arguments.again) {
                try await larder.update(arguments.operands, options: options)
            }
            if arguments.has(.json) {
                terminal.say("[" + reports.map(\.json).joined(separator: ",") + "]")
            } else if reports.isEmpty {
                terminal.say("The larder holds no site; stock one with: larder prefetch URL")
            } else {
                terminal.report(reports.map { PrefetchSummary.text(of: $0, arguments) }.joined(separator: "\n"))
            }
            let status = reports.reduce(ExitStatus.done) {
                PrefetchCommand.worse(
                    $0, PrefetchCommand.status(of: $1, isStrict: arguments.has(.strict), terminal))
            }
            return PrefetchCommand.worse(status, try await PrefetchCommand.collect(arguments, terminal))
        }
    }
}
