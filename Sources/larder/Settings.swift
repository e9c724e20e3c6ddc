internal import Glibc
internal import Synchronization
internal import Web

/// The settings beside the command line: environment variables, then the configuration files in order of
/// precedence. `Arguments` asks for the value of each option that the command line does not have.
///
/// An unknown entry is an error and not ignored, because a misspelled option such as `"exlude"` would
/// otherwise fetch URLs that the user excluded.
struct Settings: Sendable {
    /// The source of the value of an option.
    enum Source: Sendable, Equatable {
        case commandLine
        case variable(String)
        case file(String, line: Int)
        case defaultValue

        /// The source as `larder config` prints it.
        var text: String {
            switch self {
            case .commandLine: "the command line"
            case .variable(let name): "$\(name)"
            case .file(let path, let line): "\(path):\(line)"
            case .defaultValue: "default"
            }
        }
    }

    /// The value of an option; `texts` is nil for a flag that is switched off.
    struct Value: Sendable, Equatable {
        let texts: [String]?
        let source: Source
    }

    var environment: [String: String] = [:]
    /// The files with the highest precedence come first.
    var files: [ConfigFile] = []

    /// The value of an option for a command; nil if neither a variable nor a file sets it. In one file, the
    /// section of the command has precedence over entries for all commands.
    func value(of option: Option, for command: String) -> Value? {
        guard !option.isCommandLineOnly else { return nil }
        if let variable = option.variable, let text = environment[variable], !text.isEmpty {
            return Value(texts: [text], source: .variable(variable))
        }
        for file in files {
            let entries = file.entries.filter { option.keys.contains($0.key) }
            guard
                let entry = entries.last(where: { $0.section == command })
                    ?? entries.last(where: { $0.section == nil })
            else { continue }
            return Value(texts: Self.texts(entry.value), source: .file(file.path, line: entry.line))
        }
        return nil
    }

    /// The value as texts, as on the command line: a flag that is on has one empty text, one that is off
    /// has nil.
    private static func texts(_ value: ConfigFile.Value) -> [String]? {
        switch value {
        case .flag(true): [""]
        case .flag(false): nil
        case .text(let text): [text]
        case .texts(let texts): texts
        }
    }

    /// Checks the entries of all files against the options of the commands, whatever command runs.
    ///
    /// - Throws: `UsageError` for the first wrong entry, with its file and line and the nearest option.
    func check() throws(UsageError) {
        for file in files {
            // A file without any known entry is probably something else, such as a report.
            if let first = file.entries.first, !file.entries.contains(where: Self.isKnown) {
                throw UsageError(
                    "\(file.path):\(first.line): unknown option \"\(first.section ?? first.key)\": this file contains "
                        + "options for larder; see: larder help config")
            }
            for entry in file.entries {
                if let mistake = Self.mistake(in: entry, ofProject: file.isOfProject) {
                    throw UsageError("\(file.path):\(entry.line): \(mistake)")
                }
            }
        }
    }

    /// Whether the entry is an option or command, or similar to one.
    private static func isKnown(_ entry: ConfigFile.OptionEntry) -> Bool {
        if let section = entry.section {
            return suggestion(for: section, CommandEntry.all.map(\.name)) != Self.noSuggestion
        }
        return suggestion(for: entry.key, Option.all.map(\.key)) != Self.noSuggestion
    }

    /// Returns why the entry is wrong, as the end of a message; nil if it is an option that files may set.
    ///
    /// - Parameter ofProject: whether the file is in the current folder.
    private static func mistake(in entry: ConfigFile.OptionEntry, ofProject: Bool) -> String? {
        var known = Option.all
        if let section = entry.section {
            guard let command = CommandEntry.command(named: section) else {
                return "there is no command \"\(section)\""
                    + suggestion(for: section, CommandEntry.all.map(\.name))
            }
            known = command.options
        }
        let named = known.filter { $0.keys.contains(entry.key) }
        guard let option = named.first(where: { !$0.isCommandLineOnly }) ?? named.first else {
            let owner = entry.section.map { "larder \($0) has no" } ?? "there is no"
            let synonym = Option.synonyms["--" + entry.key].flatMap { name in
                known.first { $0.name == name }?.key
            }
            return "\(owner) option \"\(entry.key)\""
                + (synonym.map { "; did you mean \"\($0)\"?" } ?? suggestion(for: entry.key, known.map(\.key)))
        }
        guard !option.isCommandLineOnly else {
            return "\"\(entry.key)\" applies to a single run; use it on the command line, as \(option.name)"
        }
        guard !ofProject || !option.isProgram else {
            let variable = option.variable.map { " or $\($0)" } ?? ""
            return
                "\"\(entry.key)\" names a program to run, and this file may come from another person; use \(option.name)"
                + "\(variable), or set it in your own configuration file, ~/.config/larder/config.json"
        }
        if entry.section == nil, isAmbiguous(option) {
            let owners = CommandEntry.all.filter { $0.options.contains { $0.name == option.name } }.map(
                \.name)
            return
                "\"\(entry.key)\" has different meanings for \(owners.joined(separator: ", ")); set it in a section, such as "
                + "{\"\(owners[0])\": {\"\(entry.key)\": …}}"
        }
        return typeMistake(in: entry.value, of: option)
    }

    /// Returns why the value has the wrong type for the option; nil if it does not. `Arguments` checks the value
    /// itself when it is read.
    private static func typeMistake(in value: ConfigFile.Value, of option: Option) -> String? {
        switch value {
        case .flag:
            option.isFlag
                ? nil : "\"\(option.key)\" must have a value (\(option.placeholder ?? "")), not true or false"
        case .text:
            option.isFlag ? "\"\(option.key)\" must be true or false" : nil
        case .texts where option.isFlag:
            "\"\(option.key)\" must be true or false"
        case .texts:
            option.isRepeatable
                ? nil : "\"\(option.key)\" must have one value (\(option.placeholder ?? "")), not a list"
        }
    }

    /// Whether commands have different options of this name that files may set. Such an option may only be set in a
    /// section.
    static func isAmbiguous(_ option: Option) -> Bool {
        CommandEntry.all.flatMap(\.options).contains {
            $0.name == option.name && $0.help != option.help && !$0.isCommandLineOnly
        }
    }

    /// The end of a message about an unknown word: the most similar candidate, or `noSuggestion`.
    private static func suggestion(for word: String, _ candidates: [String]) -> String {
        Spelling.closest(to: word, among: candidates).map { "; did you mean \"\($0)\"?" } ?? noSuggestion
    }

    private static let noSuggestion = "; see: larder help"
}

extension Settings {
    /// The paths of the configuration files, in order of precedence: the one in the current folder, then the
    /// user's own.
    static func paths(environment: [String: String]) -> [String] {
        var paths = [projectFile]
        if let named = environment["LARDER_CONFIG"], !named.isEmpty {
            paths.append(named)
        } else if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            paths.append(folder + "/larder/config.json")
        } else if let home = environment["HOME"], !home.isEmpty {
            paths.append(home + "/.config/larder/config.json")
        }
        return paths
    }

    /// The configuration file in the current folder.
    private static let projectFile = ".larder.json"
    /// The names that the configuration file in the current folder may have.
    static let projectFiles: Set<String> = [projectFile, earlierName]
    /// The name of `.larder.json` in version 0.1. A manifest may have the same name.
    private static let earlierName = "larder.json"
    /// Whether the warning about the earlier name has been printed in this process.
    private static let hasWarned = Atomic(false)

    /// The variables that Larder reads, from the environment of the process.
    static func environment() -> [String: String] {
        let names =
            Option.all.compactMap(\.variable) + [
                "LARDER_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", Arguments.sourceDateVariable,
            ]
        return names.reduce(into: [:]) { environment, name in
            environment[name] = getenv(name).map { String(cString: $0) }
        }
    }

    /// Reads the environment and the configuration files.
    ///
    /// - Throws: `UsageError` for a file that cannot be read, and for entries that are not options.
    static func load() throws(UsageError) -> (settings: Settings, files: [ConfigReport.File]) {
        var settings = Settings(environment: environment())
        var files: [ConfigReport.File] = []
        for path in paths(environment: settings.environment) {
            switch try ConfigFile.read(at: path) {
            case .read(let file):
                settings.files.append(file)
                files.append(ConfigReport.File(path: path, state: "read"))
            case .absent:
                files.append(ConfigReport.File(path: path, state: ConfigReport.File.absent))
            case .ownedByOtherUser:
                files.append(ConfigReport.File(path: path, state: "ignored: owned by another user"))
            }
        }
        if files.first?.isAbsent == true, let earlier = earlierFile() {
            settings.files.insert(earlier, at: 0)
            files.insert(ConfigReport.File(path: earlier.path, state: "read"), at: 0)
            // larder config loads the files once more.
            if !hasWarned.exchange(true, ordering: .relaxed) {
                Terminal(isQuiet: false).fail(
                    "\(earlierName) is used as configuration; rename it to .larder.json")
            }
        }
        try settings.check()
        return (settings, files)
    }

    /// The file in the current folder under its earlier name; nil if it does not exist or is something else,
    /// such as a manifest.
    private static func earlierFile() -> ConfigFile? {
        guard case .read(let file)? = try? ConfigFile.read(at: earlierName) else { return nil }
        let isConfiguration = file.entries.contains { entry in
            entry.section.map { CommandEntry.command(named: $0) != nil }
                ?? Option.all.contains { $0.keys.contains(entry.key) }
        }
        return isConfiguration ? file : nil
    }
}
