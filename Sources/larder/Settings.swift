internal import Glibc
internal import Web

/// What holds beside the command line: the environment first, then the files in their order.
struct Settings: Sendable {
    /// Who says what an option is.
    enum Source: Sendable, Equatable {
        case commandLine
        case variable(String)
        case file(String, line: Int)
        case standard

        var text: String {
            switch self {
            case .commandLine: "the command line"
            case .variable(let name): "$\(name)"
            case .file(let path, let line): "\(path):\(line)"
            case .standard: "default"
            }
        }
    }

    /// What an option is; nil texts for a flag that is off.
    struct Value: Sendable, Equatable {
        let texts: [String]?
        let source: Source
    }

    var environment: [String: String] = [:]
    /// The ones that count most come first.
    var files: [ConfigFile] = []

    /// The command's own section counts more than what a file says for all commands.
    func value(of option: Option, for command: String) -> Value? {
        guard option.place == .anywhere else { return nil }
        if let variable = option.variable, let text = environment[variable], !text.isEmpty {
            return Value(texts: [text], source: .variable(variable))
        }
        for file in files {
            let entries = file.entries.filter { $0.key == option.key }
            guard
                let entry = entries.last(where: { $0.section == command })
                    ?? entries.last(where: { $0.section == nil })
            else { continue }
            return Value(texts: Self.texts(entry.value), source: .file(file.path, line: entry.line))
        }
        return nil
    }

    private static func texts(_ value: ConfigFile.Value) -> [String]? {
        switch value {
        case .flag(true): [""]
        case .flag(false): nil
        case .text(let text): [text]
        case .texts(let texts): texts
        }
    }

    /// - Throws: What a file says that no option understands: which file, which line, and the nearest that is
    ///   right.
    func check() throws(UsageError) {
        for file in files {
            // Perhaps somebody's report has that name, or a manifest.
            if let first = file.entries.first, !file.entries.contains(where: Self.isKnown) {
                throw UsageError(
                    "\(file.path):\(first.line): \"\(first.section ?? first.key)\" is nothing that larder can be told here: "
                        + "this file is its configuration; see: larder help config")
            }
            for entry in file.entries {
                if let mistake = Self.mistake(in: entry) {
                    throw UsageError("\(file.path):\(entry.line): \(mistake)")
                }
            }
        }
    }

    private static func isKnown(_ entry: ConfigFile.Entry) -> Bool {
        if let section = entry.section { return near(section, CommandEntry.all.map(\.name)) != Self.unknown }
        return near(entry.key, Option.all.map(\.key)) != Self.unknown
    }

    private static func mistake(in entry: ConfigFile.Entry) -> String? {
        var known = Option.all
        if let section = entry.section {
            guard let command = CommandEntry.named(section) else {
                return "there is no command \"\(section)\"" + near(section, CommandEntry.all.map(\.name))
            }
            known = command.options
        }
        guard let option = known.first(where: { $0.key == entry.key }) else {
            let owner = entry.section.map { "larder \($0) has no" } ?? "there is no"
            return "\(owner) option \"\(entry.key)\"" + near(entry.key, known.map(\.key))
        }
        guard option.place == .anywhere else {
            return "\"\(entry.key)\" is about one run: give it on the command line, as \(option.name)"
        }
        if entry.section == nil, isAmbiguous(option) {
            let owners = CommandEntry.all.filter { $0.options.contains { $0.name == option.name } }.map(
                \.name)
            return
                "\"\(entry.key)\" is not the same for \(owners.joined(separator: ", ")): put it into a section, such as "
                + "{\"\(owners[0])\": {\"\(entry.key)\": …}}"
        }
        return mistake(in: entry.value, of: option)
    }

    private static func mistake(in value: ConfigFile.Value, of option: Option) -> String? {
        switch value {
        case .flag:
            option.value == nil
                ? nil : "\"\(option.key)\" wants \(option.value ?? "a value"), not true or false"
        case .text:
            option.value == nil ? "\"\(option.key)\" wants true or false" : nil
        case .texts where option.value == nil:
            "\"\(option.key)\" wants true or false"
        case .texts:
            option.repeats ? nil : "\"\(option.key)\" wants one \(option.value ?? "value"), not a list"
        }
    }

    /// The same name means different things to commands.
    private static func isAmbiguous(_ option: Option) -> Bool {
        CommandEntry.all.flatMap(\.options).contains { $0.name == option.name && $0.help != option.help }
    }

    private static func near(_ word: String, _ candidates: [String]) -> String {
        Spelling.closest(to: word, among: candidates).map { "; did you mean \"\($0)\"?" } ?? unknown
    }

    private static let unknown = "; see: larder help"
}

extension Settings {
    /// The files that are looked for, the ones that count most first: that of the folder in which larder is
    /// run, and the user's own.
    static func paths(environment: [String: String]) -> [String] {
        var paths = ["larder.json"]
        if let named = environment["LARDER_CONFIG"], !named.isEmpty {
            paths.append(named)
        } else if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            paths.append(folder + "/larder/config.json")
        } else if let home = environment["HOME"], !home.isEmpty {
            paths.append(home + "/.config/larder/config.json")
        }
        return paths
    }

    static func environment() -> [String: String] {
        let names =
            Option.all.compactMap(\.variable) + ["LARDER_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"]
        return names.reduce(into: [:]) { environment, name in
            environment[name] = getenv(name).map { String(cString: $0) }
        }
    }

    /// - Throws: `UsageError` for a file that cannot be read or says what it must not.
    static func load() throws(UsageError) -> (settings: Settings, files: [ConfigReport.File]) {
        var settings = Settings(environment: environment())
        var files: [ConfigReport.File] = []
        for path in paths(environment: settings.environment) {
            switch try ConfigFile.look(at: path) {
            case .read(let file):
                settings.files.append(file)
                files.append(ConfigReport.File(path: path, state: "read"))
            case .absent:
                files.append(ConfigReport.File(path: path, state: "not there"))
            case .foreign:
                files.append(ConfigReport.File(path: path, state: "not read: it belongs to another user"))
            }
        }
        try settings.check()
        return (settings, files)
    }
}
