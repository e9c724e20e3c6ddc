/// Completion scripts for shells, generated from `CommandEntry.all`. To add a shell, add a case to `Shell`
/// and a property that generates its script. Operands such as the names of sites are not completed.
enum Completions {
    /// The supported shells.
    enum Shell: String, CaseIterable {
        case bash, zsh, fish
    }

    /// Returns the completion script for a shell, which the user sources or installs.
    static func text(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private static let commands = CommandEntry.all.map(\.name).joined(separator: " ")

    /// The options of a command that scripts complete. `--help` is in no entry.
    private static func options(of entry: CommandEntry) -> [Option] { entry.options + [.help] }

    /// A function that completes commands, then options of the command; files and folders after options
    /// that need them.
    private static var bash: String {
        var lines = [
            "# bash completion for larder", "_larder() {", "    local current=${COMP_WORDS[COMP_CWORD]}",
            "    local previous=${COMP_WORDS[COMP_CWORD-1]}", "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
            "        mapfile -t COMPREPLY < <(compgen -W '\(commands) --help --version' -- \"$current\")",
            "        return",
            "    fi", "    case $previous in",
        ]
        let files = optionNames { $0 == "FILE" }
        let folders = optionNames { $0 == "DIR" }
        lines.append("        \(files.joined(separator: "|")))")
        lines.append("            mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;")
        lines.append("        \(folders.joined(separator: "|")))")
        lines.append("            mapfile -t COMPREPLY < <(compgen -d -- \"$current\"); return ;;")
        lines += ["    esac", "    local options=", "    case ${COMP_WORDS[1]} in"]
        for entry in CommandEntry.all {
            let names = options(of: entry).flatMap { [$0.name, $0.short].compactMap(\.self) }
            lines.append("        \(entry.name)) options='\(names.joined(separator: " "))' ;;")
        }
        lines += [
            "    esac", "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")", "}",
            "complete -o default -F _larder larder",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The names of all options whose placeholder fulfils the condition.
    private static func optionNames(where isWanted: (String) -> Bool) -> [String] {
        var names: [String] = []
        for option in CommandEntry.all.flatMap(\.options) {
            if let value = option.placeholder, isWanted(value), !names.contains(option.name) {
                names.append(option.name)
            }
        }
        return names.sorted()
    }

    /// A function that calls `_arguments` with the options of the command and their descriptions.
    private static var zsh: String {
        var lines = ["#compdef larder", "_larder() {", "    local -a commands", "    commands=("]
        for entry in CommandEntry.all {
            lines.append("        '\(entry.name):\(quoted(entry.summary, colons: false))'")
        }
        lines += [
            "    )", "    if (( CURRENT == 2 )); then", "        _describe command commands",
            "        return",
            "    fi",
            "    case $words[2] in",
        ]
        for entry in CommandEntry.all {
            lines.append("        \(entry.name))")
            lines.append("            _arguments \\")
            for option in options(of: entry) {
                let repeats = option.isRepeatable ? "\\*" : ""
                let value = option.placeholder.map { ":\(quoted($0)):\(zshAction(for: $0))" } ?? ""
                for name in [option.name, option.short].compactMap(\.self) {
                    lines.append(
                        "                \(repeats)'\(name)[\(quoted(entry.help(of: option)))]\(value)' \\")
                }
            }
            lines.append("                '*:operand:_default' ;;")
        }
        lines += ["    esac", "}", "_larder \"$@\""]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the action with which zsh completes a value, by its placeholder; empty for values that are not
    /// files.
    private static func zshAction(for value: String) -> String {
        switch value {
        case "FILE": "_files"
        case "DIR": "_files -/"
        default: ""
        }
    }

    /// Escapes text for a description in single quotes.
    private static func quoted(_ text: String, colons: Bool = true) -> String {
        let plain = text.replacing("'", with: "'\\''").replacing("[", with: "\\[").replacing("]", with: "\\]")
        return colons ? plain.replacing(":", with: "\\:") : plain
    }

    /// A `complete` line for each command and each of its options.
    private static var fish: String {
        var lines = ["# fish completion for larder", "complete -c larder -f"]
        for entry in CommandEntry.all {
            lines.append(
                "complete -c larder -n __fish_use_subcommand -a \(entry.name) -d '\(fishQuoted(entry.summary))'"
            )
            for option in options(of: entry) {
                let value = option.placeholder.map { ["FILE", "DIR"].contains($0) ? " -r -F" : " -x" } ?? ""
                lines.append(
                    "complete -c larder -n '__fish_seen_subcommand_from \(entry.name)' "
                        + "\(option.short.map { "-s \($0.dropFirst()) " } ?? "")-l \(option.key)\(value) -d '\(fishQuoted(entry.help(of: option)))'"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Escapes text for a description in single quotes of fish.
    private static func fishQuoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
