/// `larder manual [COMMAND]`, `larder completions SHELL`
enum PagesCommand {
    static func manual(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else {
            terminal.say(ManualPage.overview)
            return .done
        }
        guard let entry = CommandEntry.named(name) else {
            terminal.fail(CommandEntry.unknown(name))
            return .usage
        }
        terminal.say(ManualPage.text(of: entry))
        return .done
    }

    static func completions(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let shell = Completions.Shell(rawValue: arguments.operands[0]) else {
            let names = Completions.Shell.allCases.map(\.rawValue).joined(separator: ", ")
            terminal.fail("\"\(arguments.operands[0])\" is no shell that larder knows: there are \(names)")
            return .usage
        }
        terminal.say(Completions.text(for: shell))
        return .done
    }
}
