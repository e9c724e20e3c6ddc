/// Every command with its options: parsing and help read this table, and nothing else describes a command.
struct CommandEntry: Sendable {
    let name: String
    /// What stands behind the name, for people.
    let operands: String
    let operandCount: ClosedRange<Int>
    let summary: String
    let examples: [String]
    let options: [Option]
    let run: @Sendable (Arguments, Terminal) async -> ExitStatus

    static let all: [CommandEntry] = [
        CommandEntry(
            name: "prefetch", operands: "URL...", operandCount: 1...1000,
            summary: "stock a site: its pages and everything they need",
            examples: ["larder prefetch https://example.com/docs/"],
            options: [.store, .perHost, .json, .quiet], run: PrefetchCommand.run),
        CommandEntry(
            name: "serve", operands: "", operandCount: 0...0,
            summary: "show what is held on http://localhost:8080/, without the network",
            examples: ["larder serve", "larder serve --port 9000"],
            options: [.store, .port, .quiet], run: ServeCommand.run),
        CommandEntry(
            name: "status", operands: "", operandCount: 0...0,
            summary: "say what is held",
            examples: ["larder status", "larder status --json"],
            options: [.store, .json, .quiet], run: StatusCommand.run),
        CommandEntry(
            name: "visits", operands: "[SITE]", operandCount: 0...1,
            summary: "list the visits of the sites, and which is served",
            examples: ["larder visits", "larder visits https://example.com/"],
            options: [.store, .quiet], run: VisitsCommand.run),
        CommandEntry(
            name: "rollback", operands: "SITE [VISIT]", operandCount: 1...2,
            summary: "serve an earlier visit of a site, or the one that is named",
            examples: ["larder rollback https://example.com/", "larder rollback https://example.com/ 3"],
            options: [.store, .quiet], run: RollbackCommand.run),
        CommandEntry(
            name: "diff", operands: "SITE [A] [B]", operandCount: 1...3,
            summary: "say what changed of a site from one visit to another",
            examples: ["larder diff https://example.com/", "larder diff https://example.com/ 3 5 --json"],
            options: [.store, .json, .quiet], run: DiffCommand.run),
        CommandEntry(
            name: "fsck", operands: "", operandCount: 0...0,
            summary: "compare everything that is held with its digest",
            examples: ["larder fsck", "larder fsck --repair"],
            options: [.store, .repair, .json, .quiet], run: FsckCommand.run),
        CommandEntry(
            name: "check", operands: "MANIFEST", operandCount: 1...1,
            summary: "compare bundles with the digests in a manifest (a file or a URL)",
            examples: [
                "larder check manifests/demo.json --base http://localhost:3000/",
                "larder check https://example.com/weex/config.json --held",
            ],
            options: [.store, .held, .base, .json, .quiet], run: CheckCommand.run),
        CommandEntry(
            name: "demo", operands: "", operandCount: 0...0,
            summary: "show the whole product on a small site of its own, without internet",
            examples: ["larder demo", "larder demo --once"],
            options: [.port.otherwise("0"), .once, .quiet], run: DemoCommand.run),
        CommandEntry(
            name: "help", operands: "[COMMAND]", operandCount: 0...1,
            summary: "explain larder or one of its commands",
            examples: ["larder help prefetch"], options: [], run: HelpCommand.run),
    ]

    static func named(_ name: String) -> CommandEntry? {
        all.first { $0.name == name }
    }
}
