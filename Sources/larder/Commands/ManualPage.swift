internal import LarderKit

/// Generates manual pages from the table of commands (`CommandEntry`), in the format of `man`: roff with the macros of
/// man(7). `larder manual` prints them.
enum ManualPage {
    /// The text of `larder(1)`, which lists all commands, environment variables and files.
    static var overview: String {
        var lines = [
            heading("LARDER"), ".SH NAME", "larder \\- \(escaped(HelpText.promise))", ".SH SYNOPSIS",
        ]
        lines += [".B larder", "COMMAND [OPTIONS]", ".SH COMMANDS"]
        for group in CommandEntry.Group.allCases {
            lines.append(".SS " + escaped(group.rawValue))
            for entry in group.members {
                lines += [
                    ".TP", "\\fB\(escaped(entry.name))\\fR \(escaped(entry.operands))",
                    escaped(entry.summary),
                ]
            }
        }
        lines += [".SH EXIT STATUS", escaped(HelpText.exitStatus), ".SH ENVIRONMENT"]
        for (name, meaning) in environment { lines += [".TP", "\\fB\(name)\\fR", escaped(meaning)] }
        lines += [".SH FILES"]
        for (name, meaning) in files { lines += [".TP", "\\fI\(escaped(name))\\fR", escaped(meaning)] }
        lines += [".SH SEE ALSO"]
        lines.append(CommandEntry.all.map { ".BR larder\\-\(escaped($0.name)) (1)" }.joined(separator: ",\n"))
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the text of the manual page of a command, `larder-COMMAND(1)`.
    static func text(of entry: CommandEntry) -> String {
        var lines = [
            heading("LARDER-\(entry.name.uppercased())"), ".SH NAME",
            "larder\\-\(escaped(entry.name)) \\- \(escaped(entry.summary))", ".SH SYNOPSIS",
            ".B larder \(escaped(entry.name))", "\(escaped(entry.operands)) [OPTIONS]", ".SH EXAMPLES",
        ]
        for example in entry.examples { lines += [".EX", escaped(example), ".EE"] }
        if !entry.subcommands.isEmpty { lines.append(".SH COMMANDS") }
        for own in entry.subcommands {
            let options = own.options.filter { $0.group == .general }.map(\.name).joined(separator: ", ")
            lines += [
                ".TP", "\\fB\(escaped(own.name))\\fR \(escaped(own.operands))",
                escaped("\(own.summary). Options: \(options)"),
            ]
        }
        for group in Option.Group.allCases {
            let options = entry.options.filter { $0.group == group }
            if options.isEmpty { continue }
            lines.append(".SH \(group.rawValue.uppercased())")
            for option in options {
                let value = option.placeholder.map { " \\fI\(escaped($0))\\fR" } ?? ""
                lines += [
                    ".TP",
                    (option.short.map { "\\fB\(escaped($0))\\fR, " } ?? "")
                        + "\\fB\(escaped(option.name))\\fR\(value)",
                    escaped(help(of: option, in: entry)),
                ]
            }
        }
        if !entry.notes.isEmpty { lines.append(".SH NOTES") }
        for note in entry.notes { lines += [".PP", escaped(note)] }
        lines += [".SH EXIT STATUS", escaped(HelpText.exitStatus), ".SH SEE ALSO", ".BR larder (1)"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the help of an option, and whether it can be repeated and what its default is.
    private static func help(of option: Option, in entry: CommandEntry) -> String {
        entry.help(of: option) + (option.isRepeatable ? " (repeatable)" : "")
            + (option.defaultValue.map { " [default: \($0)]" } ?? "")
    }

    /// The environment variables with their meaning. A test checks that those of all options are listed.
    private static let environment = [
        ("LARDER_STORE", "Folder or PostgreSQL address of the store, unless --store is given"),
        ("LARDER_PORT, LARDER_PROGRESS, LARDER_USER_AGENT", "Values of --port, --progress and --user-agent"),
        (
            "LARDER_KEY_PASSPHRASE",
            "Passphrase of the secret key that signs manifests, unless --passphrase-file is given"
        ),
        ("SSL_CERT_FILE", "PEM file with the trusted authorities, in place of the system's"),
        ("LARDER_CHROMIUM", "Path of Chromium or Chrome; empty to use none"),
        ("LARDER_CONFIG", "The user's configuration file, in place of ~/.config/larder/config.json"),
        ("NO_COLOR", "Disables colours if it is set and not empty"),
        ("BROWSER", "The browser that larder open starts, in place of the desktop's"),
        ("XDG_DATA_HOME", "Folder of larder/, the default store; ~/.local/share if it is not set"),
        (
            "http_proxy, https_proxy, no_proxy",
            "Proxies for requests, and hosts that are requested without them"
        ),
    ]

    /// The files that users may meet, with their meaning.
    private static let files = [
        (".larder.json", "Options, for the commands that are run in its folder; see larder-config(1)"),
        ("~/.config/larder/config.json", "Options for all commands of the user"),
        ("larder.db", "The database of the store, with views for sqlite3 -readonly"),
        ("packs/", "Most bodies, many in each file"),
        ("bodies/", "Large bodies, each named after its SHA-256"),
        ("partial/", "Interrupted downloads that can be resumed"),
        ("quarantine/", "Damaged bodies that larder fsck --repair took out of service"),
    ]

    /// Returns the title line of a page: the section is 1, and there is no date, so that the text changes only with
    /// Larder.
    private static func heading(_ title: String) -> String {
        ".TH \(title) 1 \"\" \"larder \(Larder.version)\" \"Larder\""
    }

    /// Escapes text for roff. A period or an apostrophe at the start of a line would begin a request, and a hyphen
    /// would become a typographic one that cannot be copied into a shell.
    private static func escaped(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let escaped = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : String(escaped)
        }
        return lines.joined(separator: "\n")
    }
}
