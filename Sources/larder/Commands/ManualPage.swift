internal import LarderKit

/// Manual pages, out of the table that the parser reads.
enum ManualPage {
    /// `larder(1)`.
    static var overview: String {
        var lines = [
            heading("LARDER"), ".SH NAME", "larder \\- \(escaped(HelpCommand.promise))", ".SH SYNOPSIS",
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
        lines += [".SH EXIT STATUS", escaped(HelpCommand.exitStatus), ".SH ENVIRONMENT"]
        for (name, text) in environment { lines += [".TP", "\\fB\(name)\\fR", escaped(text)] }
        lines += [".SH FILES"]
        for (name, text) in files { lines += [".TP", "\\fI\(escaped(name))\\fR", escaped(text)] }
        lines += [".SH SEE ALSO"]
        lines.append(CommandEntry.all.map { ".BR larder\\-\(escaped($0.name)) (1)" }.joined(separator: ",\n"))
        return lines.joined(separator: "\n") + "\n"
    }

    /// `larder-COMMAND(1)`.
    static func text(of entry: CommandEntry) -> String {
        var lines = [
            heading("LARDER-\(entry.name.uppercased())"), ".SH NAME",
            "larder\\-\(escaped(entry.name)) \\- \(escaped(entry.summary))", ".SH SYNOPSIS",
            ".B larder \(escaped(entry.name))", "\(escaped(entry.operands)) [OPTIONS]", ".SH EXAMPLES",
        ]
        for example in entry.examples { lines += [".EX", escaped(example), ".EE"] }
        for group in Option.Group.allCases {
            let members = entry.options.filter { $0.group == group }
            if members.isEmpty { continue }
            lines.append(".SH \(group.rawValue.uppercased())")
            for option in members {
                let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
                lines += [
                    ".TP",
                    (option.short.map { "\\fB\(escaped($0))\\fR, " } ?? "")
                        + "\\fB\(escaped(option.name))\\fR\(value)",
                    escaped(help(of: option)),
                ]
            }
        }
        if !entry.notes.isEmpty { lines.append(".SH NOTES") }
        for note in entry.notes { lines += [".PP", escaped(note)] }
        lines += [".SH EXIT STATUS", escaped(HelpCommand.exitStatus), ".SH SEE ALSO", ".BR larder (1)"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func help(of option: Option) -> String {
        option.help + (option.repeats ? "; may be given several times" : "")
            + (option.standard.map { " (default: \($0))" } ?? "")
    }

    static let environment = [
        ("LARDER_STORE", "the folder or the PostgreSQL that holds the larder, where --store does not say"),
        ("LARDER_PORT, LARDER_PROGRESS, LARDER_USER_AGENT", "what the options say, where neither is given"),
        ("LARDER_CHROMIUM", "the Chromium or Chrome that shows pages; empty for none"),
        ("LARDER_CONFIG", "the user's configuration file, in place of ~/.config/larder/config.json"),
        ("NO_COLOR", "no colours, where it is set and not empty"),
        ("BROWSER", "what larder open shows a site with, in place of the desktop's browser"),
        ("XDG_DATA_HOME", "where larder/ is looked for otherwise; ~/.local/share when it is not set"),
        (
            "http_proxy, https_proxy, no_proxy",
            "the proxies that are gone through, and the hosts that are not"
        ),
    ]

    static let files = [
        ("larder.json", "in the current folder: options for the command; see larder-config(1)"),
        ("~/.config/larder/config.json", "the same for everything that the user does"),
        ("larder.db", "what is held, with views for sqlite3"),
        ("packs/", "most bodies, many in each file"),
        ("bodies/", "large bodies, each named by its SHA-256"),
        ("partial/", "beginnings of bodies that wait to be gone on with"),
        ("quarantine/", "damaged bodies that larder fsck --repair took out of service"),
    ]

    private static func heading(_ title: String) -> String {
        ".TH \(title) 1 \"\" \"larder \(Larder.version)\" \"Larder\""
    }

    /// A backslash begins a request, as do a period and an apostrophe at a line's start; a minus would be a
    /// hyphen.
    private static func escaped(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let plain = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : String(plain)
        }
        return lines.joined(separator: "\n")
    }
}
