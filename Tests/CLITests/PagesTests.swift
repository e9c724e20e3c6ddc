import Glibc
import LarderKit
import TestOrigin
import Testing

@testable import larder

/// Tests the help, the manual pages and the completions, which are made from the table of commands.
@Suite struct PagesTests {
    /// Options with a value and without a default: they have no effect unless they are given.
    private static let without: Set<String> = [
        "--user", "--bearer", "--cert", "--cookies", "--save-cookies", "--header", "--include", "--exclude",
        "--rule", "--dir", "--base", "--target", "--render-script", "--netrc", "--preload", "--proxy-port",
        "--no-intercept", "--known", "--evidence", "--release", "--sign", "--keys", "--prefix", "--add",
        "--remove", "--threshold", "--signed", "--root-key", "--metadata-url", "--metadata-dir", "--trust",
        "--key", "--patch", "--paths", "--from-release", "--media-command", "--media-for", "--runtime",
        "--ramp", "--allow", "--updates-sign", "--device",
    ]

    @Test(arguments: CommandEntry.all.map(\.name))
    func `every option of a command is in its help, manual page and completions, with its default`(
        name: String
    ) throws {
        let entry = try #require(CommandEntry.command(named: name))
        let entries = [entry] + entry.subcommands
        let help = entries.map(HelpText(width: 80, isColored: false).text(of:)).joined(separator: "\n")
        let manual = ManualPage.text(of: entry)
        for option in entries.flatMap(\.options) {
            #expect(help.contains("  \(option.title)"), "\(option.name)")
            #expect(manual.contains(option.name.replacing("-", with: "\\-")))
            guard !option.isFlag else { continue }
            #expect(
                option.defaultValue != nil || Self.without.contains(option.name),
                "\(option.name) has no default")
        }
        #expect(help.contains("\nExamples\n  \(entry.examples[0])"))
        for shell in Completions.Shell.allCases {
            let text = Completions.text(for: shell)
            for option in entry.options {
                #expect(
                    text.contains(shell == .fish ? "-l \(option.key)" : option.name),
                    "\(shell) \(option.name)")
            }
        }
    }

    @Test(arguments: CommandEntry.all.filter(\.subcommands.isEmpty).map(\.name))
    func `the help of --quiet mentions --json only if the command has it`(name: String) throws {
        let entry = try #require(CommandEntry.command(named: name))
        guard entry.options.contains(.quiet) else { return }
        let texts = [
            HelpText(width: 80, isColored: false).text(of: entry),
            ManualPage.text(of: entry).replacing("\\-", with: "-"),
        ]
        for text in texts {
            #expect(text.contains("Print errors only; with --json") == entry.options.contains(.json))
        }
    }

    @Test func `every command is in one group of the help, or among the others`() {
        let grouped = CommandEntry.Group.allCases.flatMap(\.members).map(\.name)
        #expect(
            (grouped + CommandEntry.ungroupedNames + CommandEntry.earlierNames).sorted()
                == CommandEntry.all.map(\.name).sorted())
        let overview = HelpText(width: 80, isColored: false).overview
        for group in CommandEntry.Group.allCases {
            #expect(overview.contains("\n\(group.rawValue)\n  \(group.members[0].name)"))
        }
    }

    @Test func `names, aliases and synonyms of commands are unambiguous`() {
        let names = CommandEntry.all.flatMap { [$0.name] + $0.aliases + $0.hiddenAliases + $0.synonyms }
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: [
        ("ls", "list"), ("rm", "remove"), ("get", "prefetch"), ("add", "prefetch"), ("info", "show"),
        ("history", "snapshots"), ("visits", "snapshots"), ("prune", "gc"), ("find", "search"),
        ("verify", "check"),
    ])
    func `an alias runs its command`(alias: String, name: String) {
        #expect(CommandEntry.command(named: alias)?.name == name)
    }

    @Test(arguments: CommandEntry.all.flatMap { [$0] + $0.subcommands }.map(\.name))
    func `the short help has at most 20 lines of 80 columns`(name: String) throws {
        let words = name.split(separator: " ").map { String($0) }
        let command = try #require(CommandEntry.command(named: words[0]))
        let entry = words.count == 1 ? command : try #require(command.subcommand(named: words[1]))
        let lines = HelpText(width: 80, isColored: false).briefText(of: entry).split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 20)
        for line in lines { #expect(line.unicodeScalars.count <= 80, "\(line)") }
        // Each option has one line with its complete text.
        #expect(lines.allSatisfy { !$0.hasSuffix("…") && !$0.hasPrefix("      ") }, "\(lines)")
    }

    @Test(arguments: [40, 80, 120])
    func `the help fits the width of the terminal`(width: Int) {
        let help = HelpText(width: width, isColored: false)
        let texts =
            [help.overview, help.briefOverview]
            + CommandEntry.all.flatMap { [$0] + $0.subcommands }.map { help.text(of: $0) }
            + HelpTopic.all.map { help.text(of: $0) }
        for line in texts.joined(separator: "\n").split(separator: "\n") {
            // Quoted arguments are not broken, and a word may be longer than a line.
            let isVerbatim = line.contains("  --rule ")
            let longest = line.split(separator: " ").map(\.unicodeScalars.count).max() ?? 0
            #expect(isVerbatim || longest > width / 2 || line.unicodeScalars.count <= width, "\(line)")
        }
    }

    @Test(arguments: [
        ("  larder list", "  larder list"),
        (
            "  larder prefetch https://example.com/docs/ --scope path --exclude '*.pdf'",
            "  larder prefetch \\\n    https://example.com/docs/ \\\n    --scope path --exclude '*.pdf'"
        ),
        (
            "  larder search '\"exit status\" or more words in quotes' -windows",
            "  larder search \\\n    '\"exit status\" or more words in quotes' \\\n    -windows"
        ),
    ])
    func `a long command is broken between its arguments by backslashes`(command: String, lines: String) {
        #expect(Wrapping.commandLines(command, width: 40) == lines)
    }

    @Test(arguments: [
        ("fetch", "prefetch"), ("pull", "update"), ("stat", "status"), ("purge", "remove"), ("lint", "check"),
        ("read", "open"),
    ])
    func `a command of another program is answered with the name of Larder's own`(word: String, name: String)
    {
        #expect(CommandEntry.unknownCommandMessage(word).hasSuffix("; did you mean larder \(name)?"))
    }

    @Test func `a digest in a text is shortened, and other words stay`() {
        let digest = String(repeating: "0a1b2c3d", count: 8)
        #expect(
            "expected SHA-256 \(digest), found MD5 \(digest.prefix(32)): added  cafe".withShortDigests
                == "expected SHA-256 0a1b2c3d…, found MD5 0a1b2c3d…: added  cafe")
    }

    @Test func `headings are bold only on a terminal with colours`() {
        #expect(HelpText(width: 80, isColored: true).overview.contains("\u{1B}[1mGet started\u{1B}[0m"))
        #expect(!HelpText(width: 80, isColored: false).overview.contains("\u{1B}"))
    }

    /// `docs/commands.md` is written by this test if `LARDER_WRITE_DOCUMENTS` is set.
    @Test func `docs/commands.md has the help of all commands`() throws {
        let help = HelpText(width: 100, isColored: false)
        var lines = [
            "# Commands", "",
            "The help of all commands, as `larder COMMAND --help` prints it. Do not edit this file; a test compares it",
            "with the program (see CONTRIBUTING.md).", "", "```text", help.overview, "```",
        ]
        for entry in CommandEntry.all.sorted(by: { $0.name < $1.name }) {
            lines += ["", "## larder \(entry.name)", "", "```text", help.text(of: entry), "```"]
            for own in entry.subcommands {
                lines += ["", "### larder \(own.name)", "", "```text", help.text(of: own), "```"]
            }
        }
        for topic in HelpTopic.all {
            lines += ["", "## larder help \(topic.name)", "", "```text", help.text(of: topic), "```"]
        }
        let text = lines.joined(separator: "\n") + "\n"
        let path = SourceText.root + "/docs/commands.md"
        if getenv("LARDER_WRITE_DOCUMENTS") != nil {
            let file = fopen(path, "w")
            fputs(text, file)
            fclose(file)
        }
        let isCurrent = SourceText.read(path) == text
        #expect(isCurrent, "run LARDER_WRITE_DOCUMENTS=1 scripts/test --filter PagesTests")
    }

    @Test(arguments: ["/docs/guide.md", "/Sources/LarderKit/LarderKit.docc/Apps.md"])
    func `the table of cache policies in a document has each policy`(document: String) {
        let text = SourceText.read(SourceText.root + document)
        let cells = text.split(separator: "\n").filter { $0.hasPrefix("|") }.flatMap {
            $0.dropFirst().prefix { $0 != "|" }.split(separator: ",")
        }
        for policy in CachePolicy.allCases {
            #expect(cells.contains { $0.contains("`\(policy.rawValue)`") }, "\(policy)")
        }
    }

    @Test func `replay has no options for network requests, which it never sends`() throws {
        let entry = try #require(CommandEntry.command(named: "replay"))
        let names = Set(entry.options.map(\.name))
        #expect(names.isDisjoint(with: (Option.networkOptions + Option.identityOptions).map(\.name)))
    }

    @Test func `the lists of variables and files are complete`() {
        let manual = ManualPage.overview
        for variable in Option.all.compactMap(\.variable) + ["LARDER_CONFIG", "NO_COLOR", "BROWSER"] {
            #expect(manual.contains(variable))
        }
        #expect(manual.contains(".larder.json"))
        #expect(manual.contains("config.json"))
    }

    @Test(arguments: ["-q", "-v", "-h"])
    func `short names of options work`(name: String) throws {
        let arguments = try Arguments(
            ["https://a.test/", name], for: try #require(CommandEntry.command(named: "prefetch")))
        #expect(
            [Option.quiet, .verbose, .briefHelp].contains {
                ($0.short ?? $0.name) == name && arguments.has($0)
            })
    }

    @Test(arguments: [
        (["hlep"], "unknown command \"hlep\"; did you mean larder help?"),
        (["help", "prefetsch"], "unknown command \"prefetsch\"; did you mean larder prefetch?"),
        (["manual", "fsk"], "unknown command \"fsk\"; did you mean larder fsck?"),
        (["config", "serv"], "unknown command \"serv\"; did you mean larder serve?"),
        (["download", "a.test"], "unknown command \"download\"; did you mean larder prefetch?"),
        (["revert"], "unknown command \"revert\"; did you mean larder rollback?"),
        (["stop"], "unknown command \"stop\"; did you mean larder open --stop?"),
        (
            ["serve", "--stop"],
            "larder serve has no option --stop, but larder open has it; see: larder open --help"
        ),
        (
            ["prefetch", "a.test", "--cacert", "a.pem"],
            "larder prefetch has no option --cacert; did you mean --ca?"
        ),
        (
            ["--store", "s", "status"],
            "\"--store\" is an option, and options follow the command; list all commands with: larder help"
        ),
        (["xyzzy"], "unknown command \"xyzzy\"; list all commands with: larder help"),
        (
            ["prefetch", "a.test", "--level", "3"],
            "larder prefetch has no option --level; did you mean --depth?"
        ),
        (["prefetch", "a.test", "-k"], "larder prefetch has no option -k; did you mean --insecure?"),
        (
            ["prefetch", "a.test", "--exlude", "x"],
            "larder prefetch has no option --exlude; did you mean --exclude?"
        ),
        (
            ["prefetch", "a.test", "--scope", "hots"],
            "--scope must be one of host, path, domain, not \"hots\"; did you mean host?"
        ),
        (
            ["serve", "--policy", "online"],
            "--policy must be one of protocol, prefer-cache, offline, reload, reload-end-to-end, revalidate, "
                + "refresh-behind, auto, not \"online\""
        ),
        (
            ["prefetch", "a.test", "--port", "1"],
            "larder prefetch has no option --port; see: larder prefetch --help"
        ),
        (["status", "-x"], "larder status has no option -x; see: larder status --help"),
        (
            ["prefetch", "a.test", "--progress", "jsno"],
            "--progress must be one of block, json, none, not \"jsno\"; did you mean json?"
        ),
    ])
    func `a mistyped word gets the right one suggested`(words: [String], message: String) throws {
        let home = try HomeFolder()
        let ending = try Command(words, home: home).wait()
        #expect(ending.status == 2)
        #expect(ending.errors == "larder: \(message)\n")
    }

    @Test func `the completions work in their shell`() throws {
        let home = try HomeFolder()
        let script = """
            eval "$("$0" completions bash)"; COMP_WORDS=(larder prefetch --prog); COMP_CWORD=2; _larder; echo "${COMPREPLY[@]}"
            """
        let ending = try Command([], home: home, shell: "exec bash -c '\(script)' \"$0\"").wait()
        #expect(ending.output == "--progress\n", "\(ending)")
    }
}
