internal import LarderKit

/// `larder remove SITE|URL|PATTERN`
enum RemoveCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let what =
                switch try await arguments.larder.remove(arguments.operands[0]) {
                case .site(let name): "\(name) is removed"
                case .urls(1): "\(arguments.operands[0]) is removed from all visits"
                case .urls(let count): "\(Quantities.count(count, "URL")) are removed from all visits"
                }
            terminal.say("\(what). The room comes back with: \(arguments.command("gc"))")
            return .done
        }
    }
}
