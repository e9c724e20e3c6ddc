internal import LarderKit

/// `larder remove SITE`
enum RemoveCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let name = try await arguments.larder.remove(arguments.operands[0])
            terminal.say("\(name) is removed. The room comes back with: \(arguments.command("gc"))")
            return .done
        }
    }
}
