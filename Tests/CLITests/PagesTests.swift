import TestOrigin
import Testing

@testable import larder

/// Help, manual pages and completions come out of the table that the parser reads.
@Suite struct PagesTests {
    /// What has no default that could be told: nothing is there until somebody says it.
    private static let without: Set<String> = [
        "--user", "--bearer", "--cert", "--cookies", "--save-cookies", "--header", "--include", "--exclude",
        "--rule",
        "--dir", "--base",
    ]

    @Test(arguments: CommandEntry.all.map(\.name))
    func `every option of a command is on its pages, with what holds otherwise`(name: String) throws {
        let entry = try #require(CommandEntry.named(name))
        let help = HelpCommand.text(of: entry)
        let manual = ManualPage.text(of: entry)
        for option in entry.options {
            #expect(help.contains("  \(option.title)"), "\(option.name)")
            #expect(manual.contains(option.name.replacing("-", with: "\\-")))
            guard option.value != nil else { continue }
            #expect(
                option.standard != nil || Self.without.contains(option.name),
                "\(option.name) tells no default")
        }
        // Examples come first.
        let lines = help.split(separator: "\n")
        #expect(lines.prefix(3).contains("Examples"))
        for shell in Completions.Shell.allCases {
            let text = Completions.text(for: shell)
            for option in entry.options {
                #expect(
                    text.contains(shell == .fish ? "-l \(option.key)" : option.name),
                    "\(shell) \(option.name)")
            }
        }
    }

    @Test func `every command stands in one group, the six that everyone needs in the first`() {
        let grouped = CommandEntry.Group.allCases.flatMap(\.members).map(\.name)
        #expect(grouped.sorted() == CommandEntry.all.map(\.name).sorted())
        #expect(CommandEntry.Group.first.members.count == 6)
        for group in CommandEntry.Group.allCases {
            #expect(HelpCommand.overview.contains("\n\(group.rawValue)\n  \(group.members[0].name)"))
        }
    }

    @Test func `the lists of variables and files are complete`() {
        let manual = ManualPage.overview
        for variable in Option.all.compactMap(\.variable) + ["LARDER_CONFIG", "NO_COLOR", "BROWSER"] {
            #expect(manual.contains(variable))
        }
        #expect(manual.contains("larder.json"))
        #expect(manual.contains("config.json"))
    }

    @Test(arguments: ["-q", "-v", "-h"])
    func `short names are names`(name: String) throws {
        let arguments = try Arguments(
            ["https://a.test/", name], for: try #require(CommandEntry.named("prefetch")))
        #expect([Option.quiet, .verbose, .help].contains { $0.short == name && arguments.has($0) })
    }

    @Test(arguments: [
        (["hlep"], "there is no command \"hlep\"; did you mean help?"),
        (["help", "prefetsch"], "there is no command \"prefetsch\"; did you mean prefetch?"),
        (["manual", "fsk"], "there is no command \"fsk\"; did you mean fsck?"),
        (["config", "serv"], "there is no command \"serv\"; did you mean serve?"),
        (
            ["prefetch", "a.test", "--exlude", "x"],
            "larder prefetch has no option --exlude; did you mean --exclude?"
        ),
        (
            ["prefetch", "a.test", "--scope", "hots"],
            "--scope wants one of host, path, domain, not \"hots\"; did you mean host?"
        ),
        (
            ["prefetch", "a.test", "--progress", "jsno"],
            "--progress wants one of block, json, none, not \"jsno\"; did you mean json?"
        ),
    ])
    func `what is mistyped is told with what was meant`(words: [String], message: String) throws {
        let home = try HomeFolder()
        let ending = try Command(words, home: home).wait()
        #expect(ending.status == 2)
        #expect(ending.errors == "larder: \(message)\n")
    }

    @Test func `a shell takes the completions, and they complete`() throws {
        let home = try HomeFolder()
        let script = """
            eval "$("$0" completions bash)"; COMP_WORDS=(larder prefetch --prog); COMP_CWORD=2; _larder; echo "${COMPREPLY[@]}"
            """
        let ending = try Command([], home: home, shell: "exec bash -c '\(script)' \"$0\"").wait()
        #expect(ending.output == "--progress\n", "\(ending)")
    }
}
