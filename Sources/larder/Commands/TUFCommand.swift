internal import LarderKit

/// `larder tuf`: works with repositories of The Update Framework (TUF).
enum TUFCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let word = arguments.operands[0]
            guard entry.subcommand(named: word) != nil else {
                let names = subcommands.map { String($0.name.dropFirst("tuf ".utf8.count)) }
                throw UsageError(
                    "unknown command \"tuf \(word)\"; use \(names.joined(separator: ", ")); see: "
                        + CommandLine.shellCommand(["help", "tuf"]))
            }
            if word == "download" { return try await TUFDownloadCommand.run(arguments, terminal) }
            return try TUFRepositoryCommand.run(arguments, terminal)
        }
    }

    /// The command in the table of commands.
    static let entry = CommandEntry(
        name: "tuf", operands: "COMMAND ...", operandCount: 1...10_000,
        summary: "Publish files in a signed TUF repository, or download them",
        examples: [
            "larder tuf init repo --keys keys", "larder tuf add repo dist --delete",
            "larder tuf publish repo --keys keys",
            "larder tuf download --metadata-url https://example.com/metadata/ --metadata-dir tuf --trust root.json",
        ],
        options: options,
        notes: [
            """
            REPO is a folder. A web server serves its folders metadata and targets; clients of The Update Framework, such as
            larder preload tuf+https://..., fetch from there. They need metadata/1.root.json as their trusted root.
            """,
            """
            Changes are drafts until publish, which makes everything public that has enough signatures; run it daily, so that
            the timestamp does not expire.
            """,
            """
            Exit status 1: files were left out, drafts wait for signatures, published metadata has expired (status), or
            downloaded metadata is not trusted. If clients would reject the result, nothing is published.
            """,
        ], subcommands: subcommands, run: run)

    /// The options of all subcommands, one for each name. That of two `--key` is the one of `download`, which files can set.
    private static let options: [Option] = {
        var (options, names): ([Option], Set<String>) = ([], [])
        for option in subcommands.flatMap(\.options)
        where option != .roleKey && names.insert(option.name).inserted {
            options.append(option)
        }
        return options
    }()

    private static func subcommand(
        _ name: String, _ operands: String, _ count: ClosedRange<Int>, _ summary: String,
        _ examples: [String],
        _ options: [Option], notes: [String] = []
    ) -> CommandEntry {
        CommandEntry(
            name: "tuf \(name)", operands: operands, operandCount: count, summary: summary,
            examples: examples,
            options: options + [.json, .quiet], notes: notes, run: run)
    }

    /// In the order in which a publisher needs them. The first operand is the name of the subcommand.
    private static let subcommands: [CommandEntry] = [
        subcommand(
            "init", "REPO", 2...2, "Make keys and an empty repository",
            [
                "larder tuf init repo --keys keys",
                "larder tuf init repo --keys keys --root-key ann.pub --root-key bob.pub --threshold 2",
            ],
            [
                .secretKeys, .rootKey, .signatureThreshold, .noPassphrase, .passphraseFile, .metadataExpiry,
            ],
            notes: [
                """
                A key for each role is made in the folder --keys; keys that are there are used. The keys of root and targets
                have a passphrase, those of snapshot and timestamp have none, so that a job can sign with them.
                """
            ]),
        subcommand(
            "add", "REPO DIR|FILE...", 3...10_000, "Copy files into the repository, and list them",
            [
                "larder tuf add repo dist --delete", "larder tuf add repo app.js --prefix releases",
                "larder tuf add repo site --role docs-team --prefix docs",
            ],
            [.targetPrefix, .deleteTargets, .targetRole, .metadataExpiry],
            notes: [
                """
                Hidden files and symbolic links are left out. With --role, files outside the paths of the role are left out,
                too. Clients see the change when it is published.
                """
            ]),
        subcommand(
            "remove", "REPO TARGET...", 3...10_000, "Remove targets from the list",
            ["larder tuf remove repo app.js", "larder tuf remove repo docs/a.html --role docs-team"],
            [.targetRole, .metadataExpiry],
            notes: ["Their files stay, for clients that are updating, until larder tuf clean removes them."]),
        subcommand(
            "delegate", "REPO ROLE", 3...3, "Let another role list the files below some paths",
            [
                "larder tuf delegate repo docs-team --key team.pub --paths docs/",
                "larder tuf delegate repo qa --key ann.pub --key bob.pub --threshold 2 --paths 'beta/*.js'",
            ],
            [
                .roleKey, .delegatedPaths, .signatureThreshold, .isTerminating, .secretKeys, .passphraseFile,
                .metadataExpiry,
            ],
            notes: [
                """
                A team publishes with its own key, and without that of the targets: larder tuf add REPO DIR --role ROLE. A role
                of this name is changed: name all its keys and paths again. Its first version, and the last one after its keys
                have changed, is signed with its keys before the delegation can be published.
                """,
                """
                --paths docs/ stands for all files below docs, up to 16 folders deep. In patterns, * and ? do not match a
                slash. Top-level targets count first, then the roles in the order in which they were added.
                """,
            ]),
        subcommand(
            "undelegate", "REPO ROLE", 3...3, "Remove a delegation",
            ["larder tuf undelegate repo docs-team --keys targets.key"],
            [.secretKeys, .passphraseFile, .metadataExpiry],
            notes: ["When this is published, the targets of the role no longer count for clients."]),
        subcommand(
            "sign", "REPO", 2...2, "Sign drafts, or add signatures of others",
            ["larder tuf sign repo --keys ann.key", "larder tuf sign repo --signed copy/draft/root.json"],
            [.secretKeys, .signedCopy, .passphraseFile],
            notes: [
                """
                People who keep their keys on other machines sign a copy of the folders metadata and draft. --signed adds the
                signatures of their copy of a draft.
                """
            ]),
        subcommand(
            "rotate", "REPO", 2...2, "Change the keys of a role, or renew the root",
            [
                "larder tuf rotate repo --role timestamp --add new.pub --remove keys/timestamp.pub --keys keys",
                "larder tuf rotate repo --keys keys",
            ],
            [
                .tufRole, .addKey, .removeKey, .signatureThreshold, .secretKeys, .passphraseFile,
                .metadataExpiry,
            ],
            notes: [
                """
                A new root needs the signatures of the old and of the new threshold of the root. Without other options, the
                root is only renewed. The keys of delegated roles are changed with larder tuf delegate.
                """
            ]),
        subcommand(
            "publish", "REPO", 2...2, "Sign, and make the changes public",
            ["larder tuf publish repo --keys keys", "larder tuf publish repo --keys keys --plain-names"],
            [.secretKeys, .plainNames, .passphraseFile, .metadataExpiry],
            notes: ["Without changes, the timestamp is renewed, and other metadata that expires soon."]),
        subcommand(
            "clean", "REPO", 2...2, "Remove old versions and unlisted files",
            ["larder tuf clean repo --dry-run", "larder tuf clean repo --replaced-before 7d"],
            [.replacedBefore, .dryRun],
            notes: [
                """
                A client that began its update before a publication still needs the version before it, and so does one behind a
                cache that stores timestamp.json for a while. All roots and drafts stay.
                """
            ]),
        subcommand(
            "status", "REPO", 2...2, "Show versions, expiry, keys, drafts and targets",
            ["larder tuf status repo"],
            [], notes: ["Exit status 1: nothing is published, or something has expired."]),
        subcommand(
            "download", "", 1...1, "Download targets from a repository, and verify them",
            [
                "larder tuf download --metadata-url https://example.com/metadata/ --metadata-dir tuf --trust root.json",
                "larder tuf download --metadata-url https://example.com/metadata/ --metadata-dir tuf --target app.js",
            ],
            Option.tufDownload,
            notes: [
                """
                Updates the trusted metadata, and downloads targets to their paths below --target-dir. The first time, --trust
                names the root.json that the publisher gave you. Metadata that is not signed as the root demands, that is older
                than the trusted metadata, or that has expired is refused (exit status 1), and the trusted metadata stays.
                """
            ]),
    ]
}
