internal import LarderKit
internal import Reports

/// `larder config [COMMAND]`: prints the configuration files and the options that are set, with their
/// sources; for one command also the defaults. `--schema` prints the JSON Schema of the files.
///
/// Exit status 0: printed. 2: an unknown command, or a file with a mistake. Secret values are never
/// printed.
enum ConfigCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            if arguments.has(.schema) {
                terminal.say(ConfigSchema.text)
                return .done
            }
            let (settings, files) = try Settings.load()
            let report = ConfigReport(
                files: files,
                settings: try entries(arguments.operands.first).flatMap { entry in
                    self.settings(of: entry, settings, isWhole: !arguments.operands.isEmpty)
                })
            if arguments.has(.json) {
                terminal.reportJSON(report.json)
            } else {
                terminal.say(text(of: report))
            }
            return .done
        }
    }

    /// The entry of the named command, or all entries.
    private static func entries(_ name: String?) throws(UsageError) -> [CommandEntry] {
        guard let name else { return CommandEntry.all }
        guard let entry = CommandEntry.command(named: name) else {
            throw UsageError(CommandEntry.unknownCommandMessage(name))
        }
        return [entry]
    }

    /// The options of a command and their values.
    ///
    /// - Parameter isWhole: whether options that are not set are included, with their defaults.
    private static func settings(
        of entry: CommandEntry, _ settings: Settings, isWhole: Bool
    ) -> [ConfigReport.Setting] {
        entry.options.compactMap { option in
            if let value = settings.value(of: option, for: entry.name) {
                let texts = option.isFlag ? [value.texts == nil ? "false" : "true"] : value.texts
                return ConfigReport.Setting(
                    command: entry.name, option: option.name, values: texts.flatMap(option.printableValues),
                    source: value.source.text)
            }
            guard isWhole else { return nil }
            let standard = option.isFlag ? "false" : option.defaultValue
            return ConfigReport.Setting(
                command: entry.name, option: option.name, values: standard.map { [$0] },
                source: Settings.Source.defaultValue.text)
        }
    }

    /// The report as text: a line for each file, then one for each setting. A setting of several commands is
    /// shown once.
    private static func text(of report: ConfigReport) -> String {
        var lines = report.files.map { "\($0.path): \($0.state)" }
        if report.settings.isEmpty {
            lines.append("Nothing is set; to see the defaults: larder help COMMAND")
        }
        var shownTexts: [String] = []
        for setting in report.settings {
            let value =
                setting.values?.joined(separator: ", ") ?? (setting.source == "default" ? "-" : "(not shown)")
            let text = "\(setting.option.padded(18)) \(value)  (\(setting.source))"
            // An option that is set for all commands is shown once.
            let owners = report.settings.filter { $0.option == setting.option && $0.source == setting.source }
            guard !shownTexts.contains(text) else { continue }
            shownTexts.append(text)
            let names = owners.compactMap(\.command)
            lines.append("  " + text + (names.count > 1 ? "" : names.map { " for \($0)" }.joined()))
        }
        return lines.joined(separator: "\n")
    }
}
