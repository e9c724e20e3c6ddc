internal import Web

/// A command with its options and help, as data. The parser, the help, the manual pages, the completions
/// and the JSON Schema read `CommandEntry.all`.
///
/// To add a command:
/// 1. Write an enum with `static func run(_ arguments: Arguments, _ terminal: Terminal) async ->
///   ExitStatus` in `Commands/`. Its body is one call of `terminal.attempt`, which prints errors and
///   returns their exit status.
/// 2. Add an entry to `CommandEntry.all`, with at least one example. `HelpExampleTests` parses every
///   example.
/// 3. Add its name to a `Group`, or to `ungroupedNames`.
///
/// `docs/commands.md` and `docs/json.md` are compared with these entries by tests; CONTRIBUTING.md says how
/// to write them again.
struct CommandEntry: Sendable {
    /// The word after `larder`. It is also the section in configuration files.
    let name: String
    /// The operands, as the help shows them.
    let operands: String
    /// The allowed numbers of operands. The parser rejects any other number with exit status 2, so `run`
    /// can index up to the lower bound.
    let operandCount: ClosedRange<Int>
    /// One line for the list of commands, an imperative without a period.
    let summary: String
    /// Complete command lines. The first one is quoted if operands are missing; the short help shows three.
    let examples: [String]
    /// The options in the order of the help. `--help` and `-h` are implied. A command without options is
    /// run even if a configuration file is invalid.
    let options: [Option]
    /// Other names of the command.
    var aliases: [String] = []
    /// Earlier names, which the help does not show.
    var hiddenAliases: [String] = []
    /// Words of other programs for this command. They are not accepted, only used for suggestions.
    var synonyms: [String] = []
    /// The options that the short help (`-h`) shows; the first ten if none are named.
    var mainOptions: [Option] = []
    /// Whether a word such as `-word` is an operand unless it is one of the options. `search` uses it: a
    /// minus sign excludes a word.
    var acceptsDashedOperands = false
    /// Whether the command runs another program. The first operand is then its name, and everything after
    /// it belongs to its command line.
    var runsOtherProgram = false
    /// Notes below the options, one paragraph each.
    var notes: [String] = []
    /// The commands that the first operand selects, with names such as `tuf add`. Each has its own options and help. The
    /// options of this entry are those of all of them: files set them in one section.
    var subcommands: [CommandEntry] = []
    /// Runs the command. Results are printed through the terminal; the caller exits with the returned
    /// status.
    let run: @Sendable (Arguments, Terminal) async -> ExitStatus

    /// Returns the command with this name or alias; nil if there is none.
    static func command(named name: String) -> CommandEntry? {
        all.first { $0.name == name || ($0.aliases + $0.hiddenAliases).contains(name) }
    }

    /// The subcommand that a word selects; nil if there is none.
    func subcommand(named word: String) -> CommandEntry? {
        subcommands.first { $0.name == "\(name) \(word)" }
    }

    /// The section of the command in configuration files: a subcommand has that of its command.
    var section: String { name.split(separator: " ").first.map { String($0) } ?? name }

    /// The message about an unknown command; it suggests a similar one.
    static func unknownCommandMessage(_ name: String) -> String {
        if name == Option.stop.key {
            return "unknown command \"\(name)\"; did you mean larder open \(Option.stop.name)?"
        }
        if name.hasPrefix("-") {
            return
                "\"\(name)\" is an option, and options follow the command; list all commands with: larder help"
        }
        let known = all.flatMap { [$0.name] + $0.aliases + $0.hiddenAliases + $0.synonyms }
        let close = Spelling.closest(to: name, among: known)
        let entry = close.flatMap { close in
            all.first { ([$0.name] + $0.aliases + $0.hiddenAliases + $0.synonyms).contains(close) }
        }
        return "unknown command \"\(name)\"; "
            + (entry.map { "did you mean larder \($0.name)?" } ?? "list all commands with: larder help")
    }
}

extension CommandEntry {
    /// The headings under which `larder help` lists commands, in the order in which a new user needs them.
    /// A test checks that each command is in exactly one group, in `ungroupedNames` or in `earlierNames`.
    enum Group: String, CaseIterable {
        case start = "Get started"
        case look = "Look inside"
        case snapshots = "Snapshots"
        case bundles = "Bundles and CI"
        case archives = "Archives"
        case proxy = "Any program, through a proxy"
        case care = "Maintenance"
        case more = "Plan, log in, share the work"

        /// The commands below the heading.
        var members: [CommandEntry] { names.compactMap(CommandEntry.command(named:)) }

        private var names: [String] {
            switch self {
            case .start: ["prefetch", "update", "serve", "open", "status"]
            case .look: ["search", "list", "show", "cat", "misses"]
            case .snapshots: ["snapshots", "diff", "rollback", "remove", "undo"]
            case .bundles: ["check", "preload", "manifest", "key", "tuf", "publish"]
            case .archives: ["export", "import"]
            case .proxy: ["record", "replay", "proxy"]
            case .care: ["schedule", "gc", "pin", "unpin", "fsck", "store"]
            case .more: ["plan", "explain", "login", "work"]
            }
        }
    }

    /// Commands that `larder help` lists by name only, in one line.
    static let ungroupedNames = [
        "ca", "completions", "config", "demo", "help", "index", "manual", "password",
    ]

    /// Commands that `larder help` does not list, because options and operands of others took their place:
    /// `remove SITE@N`, `login --forget`, `pin` and `list --sites`.
    static let earlierNames = ["drop", "logout", "pins", "sites"]
}
