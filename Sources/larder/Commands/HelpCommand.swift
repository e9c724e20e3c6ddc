internal import LarderKit

/// `larder help [COMMAND [SUBCOMMAND]|TOPIC]`: prints a topic, the help of a command, or the overview. Exit status 0:
/// printed. 2: an unknown name; a similar one is suggested.
enum HelpCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else {
            terminal.sayStyled(HelpText.forStandardOutput.overview)
            return .done
        }
        let help = HelpText.forStandardOutput
        if let topic = HelpTopic.topic(named: name) {
            terminal.sayStyled(help.text(of: topic))
        } else if let entry = CommandEntry.command(named: name) {
            let word = arguments.operands.dropFirst().first
            guard let shown = word.map(entry.subcommand(named:)) ?? entry else {
                terminal.fail("larder \(name) has no command \"\(word ?? "")\"; see: larder \(name) --help")
                return .usage
            }
            terminal.sayStyled(help.text(of: shown))
        } else {
            terminal.fail(CommandEntry.unknownCommandMessage(name))
            return .usage
        }
        return .done
    }
}

/// Formats the help for a screen: wrapped to its width, with bold headings if it has colours. All texts
/// come from `CommandEntry`, `Option` and `HelpTopic`; this type adds only the layout.
struct HelpText {
    private let width: Int
    private let isColored: Bool

    /// The maximum width in columns, because longer lines are hard to read.
    private static let maxWidth = 100
    /// The minimum width in columns. Narrower terminals wrap the lines themselves.
    private static let minWidth = 40

    init(width: Int, isColored: Bool) {
        self.width = min(max(width, Self.minWidth), Self.maxWidth)
        self.isColored = isColored
    }

    /// The help for standard output, with the width and colours of its terminal.
    static var forStandardOutput: HelpText {
        HelpText(width: Output.standard.columns ?? 80, isColored: Screen.ofStandardOutput().isColored)
    }

    static let promise = "Download websites before you go offline, and serve them as they were"

    static let exitStatus = """
        Exit status: 0 success; 1 something is missing, failed or differs; 2 wrong command line or manifest; 3 the machine or
        the network failed, or the report could not be written; 130 interrupted (the same command continues).
        """

    /// `larder --help`
    var overview: String {
        let groups = CommandEntry.Group.allCases.map { group in
            ([heading(group.rawValue)] + rows(group.members.map { ($0.name, $0.summary) })).joined(
                separator: "\n")
        }
        let topics = rows(HelpTopic.all.map { ("help \($0.name)", $0.summary) })
        return """
            \(wrap("larder \(Larder.version): \(Self.promise)"))

            \(groups.joined(separator: "\n\n"))

            \(heading("Topics"))
            \(topics.joined(separator: "\n"))

            \(wrap("Other commands: \(CommandEntry.ungroupedNames.joined(separator: ", "))."))
            \(wrap("larder COMMAND -h shows a short help, larder COMMAND --help everything."))

            \(wrap(Self.exitStatus))
            """
    }

    /// `larder -h`
    var briefOverview: String {
        let members =
            CommandEntry.Group.start.members
            + ["search", "snapshots", "check"].compactMap(CommandEntry.command(named:))
        return """
            \(wrap(Self.promise + "."))

            \(heading("Examples"))
              larder prefetch https://example.com/
              larder serve
              larder open example.com

            \(heading("Commands"))
            \(rows(members.map { ($0.name, $0.summary) }).joined(separator: "\n"))

            \(wrap("All commands: larder help"))
            """
    }

    /// `larder COMMAND --help`
    func text(of entry: CommandEntry) -> String {
        var lines = [wrap(entry.summary + "."), "", heading("Usage"), usage(of: entry)]
        if !entry.aliases.isEmpty {
            lines += ["", wrap("Also: \(entry.aliases.map { "larder \($0)" }.joined(separator: ", "))")]
        }
        if !entry.subcommands.isEmpty {
            lines += ["", heading("Commands")] + subcommandRows(of: entry)
            lines += ["", wrap("Options of a command: larder \(entry.name) COMMAND --help")]
        }
        lines += ["", heading("Examples")] + entry.examples.map { command("  " + $0) }
        for group in Option.Group.allCases where entry.subcommands.isEmpty {
            let members = entry.options.filter { $0.group == group }
            if !members.isEmpty { lines += ["", heading(group.rawValue)] + optionRows(members, of: entry) }
        }
        for note in entry.notes { lines += ["", wrap(note)] }
        return lines.joined(separator: "\n")
    }

    /// `larder COMMAND -h`
    func briefText(of entry: CommandEntry) -> String {
        guard entry.subcommands.isEmpty else {
            return
                ([wrap(entry.summary + "."), "", usage(of: entry), ""] + subcommandRows(of: entry)
                + [
                    "", wrap("Options of a command: larder \(entry.name) COMMAND -h"),
                    wrap("Notes and examples: larder \(entry.name) --help"),
                ]).joined(separator: "\n")
        }
        let options = entry.mainOptions.isEmpty ? Array(entry.options.prefix(10)) : entry.mainOptions
        var lines = [wrap(entry.summary + "."), "", usage(of: entry), ""]
        lines += entry.examples.prefix(3).map { command("  " + $0) }
        if !options.isEmpty { lines += [""] + options.map { briefRow(of: $0, in: entry) } }
        lines.append(wrap("All options and notes: larder \(entry.name) --help"))
        return lines.joined(separator: "\n")
    }

    /// The subcommands with their summaries.
    private func subcommandRows(of entry: CommandEntry) -> [String] {
        rows(entry.subcommands.map { (String($0.name.dropFirst(entry.name.count + 1)), $0.summary) })
    }

    /// `larder help TOPIC`
    func text(of topic: HelpTopic) -> String {
        var lines = [wrap("\(topic.summary)."), ""]
        var rows: [(name: String, text: String)] = []
        /// Formats the collected rows as one table, so that all of its names have the same width.
        func endRows() {
            if !rows.isEmpty { lines += self.rows(rows) }
            rows = []
        }
        for block in TopicBlock.blocks(of: topic.text) {
            if case .row(let name, let text) = block {
                rows.append((name, text))
                continue
            }
            endRows()
            switch block {
            case .heading(let text): lines.append(heading(wrap(text)))
            case .paragraph(let text, let indent):
                lines.append(
                    String(repeating: " ", count: indent) + Wrapping.lines(text, indent: indent, width: width)
                )
            case .verbatim(let line): lines.append(command(line))
            case .row: break
            }
        }
        endRows()
        return lines.joined(separator: "\n")
    }

    /// The usage line of a command. Options come after the operands, unless the operands are the command line of
    /// another program.
    private func usage(of entry: CommandEntry) -> String {
        let options = entry.options.isEmpty ? nil : "[OPTIONS]"
        let words = entry.runsOtherProgram ? [options, entry.operands] : [entry.operands, options]
        let usage = (["larder", entry.name] + words.compactMap(\.self)).joined(separator: " ")
        return "  " + Wrapping.lines(usage, indent: 4, width: width)
    }

    /// A command line with its indentation. A long one gets backslashes at the ends of its lines, so that it can
    /// still be pasted.
    private func command(_ line: String) -> String { Wrapping.commandLines(line, width: width) }

    private func heading(_ text: String) -> String { isColored ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

    private func wrap(_ text: String) -> String { Wrapping.lines(text, width: width) }

    /// Two columns: names, and texts that are wrapped beside them, or below them on a narrow screen.
    private func rows(_ rows: [(name: String, text: String)], column: Int? = nil) -> [String] {
        let column = column ?? (rows.map(\.name.utf8.count).max() ?? 0) + 4
        return rows.map { name, text in
            let start = "  " + name
            guard width - column >= 30 else {
                return start + "\n      " + Wrapping.lines(text, indent: 6, width: width)
            }
            let gap =
                start.utf8.count + 1 < column
                ? start.padded(column) : start + "\n" + String(repeating: " ", count: column)
            return gap + Wrapping.lines(text, indent: column, width: width)
        }
    }

    /// The options in two columns, the first at most 28 columns wide.
    private func optionRows(_ options: [Option], of entry: CommandEntry) -> [String] {
        let column = min((options.map(\.title.utf8.count).max() ?? 0) + 4, 28)
        return rows(options.map { ($0.title, Self.description(of: $0, in: entry)) }, column: column)
    }

    /// The full help of an option, with its default, and whether it can be repeated.
    private static func description(of option: Option, in entry: CommandEntry) -> String {
        let repeats = option.isRepeatable ? " (repeatable)" : ""
        return entry.help(of: option) + repeats + (option.defaultValue.map { " [default: \($0)]" } ?? "")
    }

    /// An option with its short text, on one line if the screen has 80 columns.
    private func briefRow(of option: Option, in entry: CommandEntry) -> String {
        let text = option.brief ?? entry.help(of: option)
        let line = "  " + option.title.padded(22) + " " + text
        guard line.unicodeScalars.count > width else { return line }
        return "  \(option.title)\n      " + Wrapping.lines(text, indent: 6, width: width)
    }
}

/// A part of the text of a topic. The source has manual line breaks, and its indentation decides:
///
/// - Without indentation: a paragraph, or a heading if it is short and has no period or colon.
/// - Two spaces and a command: a line that is not wrapped.
/// - Two spaces, a name, and at least two spaces: a row of a table. Lines that are indented further
///   continue it.
/// - Other indented lines: an indented paragraph.
private enum TopicBlock {
    case heading(String)
    case paragraph(String, indent: Int)
    /// A name with its explanation. The line has two spaces before the name and at least two after it;
    /// continuation lines are indented further.
    case row(name: String, text: String)
    /// A command line or an empty line.
    case verbatim(String)

    /// Splits the text of a topic into blocks.
    static func blocks(of text: String) -> [TopicBlock] {
        var blocks: [TopicBlock] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        for (number, line) in lines.enumerated() {
            let indent = line.prefix { $0 == " " }.utf8.count
            let words = line.dropFirst(indent)
            let next = number + 1 < lines.count ? lines[number + 1] : ""
            if words.isEmpty {
                blocks.append(.verbatim(""))
            } else if indent == 2, isCommand(words) {
                blocks.append(.verbatim(line))
            } else if indent == 2, let gap = words.firstRange(of: "  ") {
                let text = words[gap.upperBound...].drop { $0 == " " }
                blocks.append(.row(name: String(words[..<gap.lowerBound]), text: String(text)))
            } else if indent == 2, next.hasPrefix("        ") {
                blocks.append(.row(name: String(words), text: ""))
            } else if indent == 0, next.hasPrefix("  ") || isHeading(words) {
                blocks.append(isHeading(words) ? .heading(line) : .paragraph(line, indent: 0))
            } else if let last = blocks.last?.appendLine(String(words), indent: indent) {
                blocks[blocks.count - 1] = last
            } else {
                blocks.append(.paragraph(String(words), indent: indent))
            }
        }
        return blocks
    }

    /// Whether a line without indentation is a heading.
    private static func isHeading(_ words: Substring) -> Bool {
        words.utf8.count < 60 && !words.contains(".") && !words.contains(":")
    }

    /// Whether an indented line is a command or a value to paste.
    private static func isCommand(_ words: Substring) -> Bool {
        ["larder ", "--rule ", "createdb ", "LARDER_STORE="].contains { words.hasPrefix($0) }
    }

    /// Returns this block with another line of the source; nil if the line begins a new block.
    private func appendLine(_ words: String, indent: Int) -> TopicBlock? {
        switch self {
        case .paragraph(let text, indent): .paragraph(text + " " + words, indent: indent)
        case .row(let name, "") where indent > 2: .row(name: name, text: words)
        case .row(let name, let text) where indent > 2: .row(name: name, text: text + " " + words)
        case .heading, .paragraph, .row, .verbatim: nil
        }
    }
}

/// `larder manual [COMMAND]` and `larder completions SHELL`: print a manual page or a completion script.
/// Exit status 0: printed. 2: an unknown command or shell.
enum PagesCommand {
    static func manual(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else {
            terminal.say(ManualPage.overview)
            return .done
        }
        guard let entry = CommandEntry.command(named: name) else {
            terminal.fail(CommandEntry.unknownCommandMessage(name))
            return .usage
        }
        terminal.say(ManualPage.text(of: entry))
        return .done
    }

    static func completions(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let shell = Completions.Shell(rawValue: arguments.operands[0]) else {
            let names = Completions.Shell.allCases.map(\.rawValue).joined(separator: ", ")
            terminal.fail(
                "there are no completions for \"\(arguments.operands[0])\"; choose one of: \(names)")
            return .usage
        }
        terminal.say(Completions.text(for: shell))
        return .done
    }
}
