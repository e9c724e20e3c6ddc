internal import LarderKit

/// `larder help [COMMAND]`
enum HelpCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else {
            terminal.say(overview)
            return .done
        }
        if let topic = HelpTopic.all.first(where: { $0.name == name }) {
            terminal.say(topic.text)
            return .done
        }
        guard let entry = CommandEntry.named(name) else {
            terminal.fail(CommandEntry.unknown(name))
            return .usage
        }
        terminal.say(text(of: entry))
        return .done
    }

    static var overview: String {
        let width = (CommandEntry.all.map(\.name.utf8.count).max() ?? 0) + 2
        let groups = CommandEntry.Group.allCases.map { group in
            let members = group.members.map { "  " + $0.name.padded(width) + $0.summary }
            return ([group.rawValue] + members).joined(separator: "\n")
        }
        return """
            \(Wrapping.lines("larder \(Larder.version): \(promise)"))

            \(groups.joined(separator: "\n\n"))

            \(Wrapping.lines(more))

            \(Wrapping.lines(exitStatus))
            """
    }

    static let promise = "stocks web pages before you go offline, and serves them back as they were"

    private static let more = """
        larder help COMMAND explains one, larder help rules and larder help policies what options name; larder --version says
        which version this is.
        """

    static let exitStatus = """
        Exit status: 0 done; 1 done, but something is missing, failed or differs; 2 the command line or a manifest is wrong;
        3 the machine or the network would not, or the report could not be written; 130 interrupted: a prefetch keeps
        everything so far, and the same command goes on.
        """

    static func text(of entry: CommandEntry) -> String {
        var lines = [Wrapping.lines("larder \(entry.name): \(entry.summary)"), "", "Examples"]
        lines += entry.examples.map { "  \($0)" }
        lines += ["", "Usage", "  larder \(entry.name)\(entry.operands.isEmpty ? "" : " " + entry.operands) [OPTIONS]"]
        if !entry.options.isEmpty {
            let names = entry.options.map(\.title)
            let width = (names.map(\.utf8.count).max() ?? 0) + 2
            for group in Option.Group.allCases {
                let members = zip(names, entry.options).filter { $0.1.group == group }
                if !members.isEmpty { lines += ["", group.rawValue] }
                for (name, option) in members {
                    let standard = option.standard.map { " (default: \($0))" } ?? ""
                    let repeats = option.repeats ? "; may be given several times" : ""
                    lines.append(
                        "  " + name.padded(width) + Wrapping.lines(option.help + repeats + standard, indent: width + 2))
                }
            }
        }
        for note in entry.notes { lines += ["", Wrapping.lines(note)] }
        return lines.joined(separator: "\n")
    }
}
