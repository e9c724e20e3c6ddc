internal import Glibc
internal import LarderKit
internal import Reports

/// `larder config [COMMAND]`
enum ConfigCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let (settings, files) = try Settings.load()
            let report = ConfigReport(
                files: files,
                settings: try entries(arguments.operands.first).flatMap { entry in
                    self.settings(of: entry, settings, isWhole: !arguments.operands.isEmpty)
                })
            terminal.say(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

    private static func entries(_ name: String?) throws(UsageError) -> [CommandEntry] {
        guard let name else { return CommandEntry.all }
        guard let entry = CommandEntry.named(name) else { throw UsageError(CommandEntry.unknown(name)) }
        return [entry]
    }

    /// - Parameter isWhole: with what nobody set.
    private static func settings(
        of entry: CommandEntry, _ settings: Settings, isWhole: Bool
    ) -> [ConfigReport.Setting] {
        entry.options.compactMap { option in
            if let value = settings.value(of: option, for: entry.name) {
                let texts = option.value == nil ? [value.texts == nil ? "false" : "true"] : value.texts
                return ConfigReport.Setting(
                    command: entry.name, option: option.name, values: texts.flatMap(option.shown),
                    source: value.source.text)
            }
            guard isWhole else { return nil }
            let standard = option.value == nil ? "false" : option.standard
            return ConfigReport.Setting(
                command: entry.name, option: option.name, values: standard.map { [$0] },
                source: Settings.Source.standard.text)
        }
    }

    private static func text(of report: ConfigReport) -> String {
        var lines = report.files.map { "\($0.path): \($0.state)" }
        if report.settings.isEmpty {
            lines.append("Nothing is set: what larder help COMMAND tells as default holds")
        }
        var told: [String] = []
        for setting in report.settings {
            let value =
                setting.values?.joined(separator: ", ") ?? (setting.source == "default" ? "-" : "(not shown)")
            let text = "\(setting.option.padded(18)) \(value)  (\(setting.source))"
            // What is set for all commands is told once.
            let owners = report.settings.filter { $0.option == setting.option && $0.source == setting.source }
            guard !told.contains(text) else { continue }
            told.append(text)
            let names = owners.compactMap(\.command)
            lines.append("  " + text + (names.count > 1 ? "" : names.map { " for \($0)" }.joined()))
        }
        return lines.joined(separator: "\n")
    }
}

/// `larder schedule`
enum ScheduleCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let (sites, wanted) = split(arguments.operands)
            guard let wanted else {
                // A name of a site has a dot or a scheme.
                if let last = sites.last, last != "localhost",
                    !last.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") })
                {
                    throw UsageError(
                        "\"\(last)\" is neither a site nor how often: write hourly, daily, weekly, off, or a time from 10m on, such as 6h"
                    )
                }
                return try await show(sites, arguments, terminal)
            }
            guard !sites.isEmpty else {
                throw UsageError("name the site: larder schedule SITE \(wanted)")
            }
            if arguments.given(.hour) != nil {
                throw UsageError(
                    "\(Option.hour.name) is for the timer that larder schedule prints without \(wanted); a site is updated so "
                        + "long after the last time")
            }
            let schedule = UpdateSchedule(wanted)
            let larder = try arguments.larder
            for site in sites {
                let known = try await larder.schedule(site, schedule)
                terminal.say(line(of: known))
            }
            if schedule != nil { terminal.note("To have it done: larder schedule prints a timer for that") }
            return .done
        }
    }

    /// The sites, and how often they are wanted: the last word, or `every` and the last one.
    private static func split(_ operands: [String]) -> (sites: [String], wanted: String?) {
        guard let last = operands.last, last == off || UpdateSchedule(last) != nil else {
            return (operands, nil)
        }
        let rest = operands.dropLast()
        return rest.last == "every" ? (Array(rest.dropLast()), last) : (Array(rest), last)
    }

    private static let off = "off"

    private static func line(of site: ScheduleReport.Site) -> String {
        guard let schedule = site.schedule, let next = site.next else {
            return "\(site.name): not updated by itself"
        }
        let failures =
            site.failures > 0 ? ", \(Wording.count(site.failures, "attempt")) without an end so far" : ""
        return
            "\(site.name): \(schedule.text), next \(next == 0 ? "at once" : Wording.moment(next))\(failures)"
    }

    /// What is due when, and who could see to it.
    private static func show(
        _ sites: [String], _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let hour = try arguments.number(.hour, in: 0...23)
        if arguments.has(.json) {
            terminal.say(try await arguments.larder.schedules(sites).json)
            return .done
        }
        // A timer may be for a larder that is not there yet, or not to be had now.
        let known = (try? await arguments.larder.schedules(sites))?.sites.filter { $0.schedule != nil } ?? []
        let command = CommandLine.shown(
            ["update"] + (known.isEmpty ? [] : [Option.due.name]) + sites
                + (arguments.namedStore.map { ["--store", whole($0)] } ?? []),
            program: CommandLine.ownPath)
        if !known.isEmpty, arguments.given(.hour) != nil {
            terminal.fail(
                "\(Option.hour.name) counts for nothing: what is due is looked for every hour, where a site has a schedule"
            )
        }
        let list = known.map { "# \(line(of: $0))\n" }.joined()
        terminal.say((list.isEmpty ? "" : list + "\n") + text(hour: known.isEmpty ? hour : nil, command))
        return .done
    }

    /// A job starts in a folder of its own.
    private static func whole(_ path: String) -> String {
        // A password belongs into a PGPASSFILE.
        if path.hasPrefix("postgres") { return Larder(at: path).shownPath }
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    /// Within the quotes of systemd.service(5), where a percent sign and a dollar begin something too.
    private static func forSystemd(_ command: String) -> String {
        [("\\", "\\\\"), ("\"", "\\\""), ("%", "%%"), ("$", "$$")].reduce(command) { text, escape in
            text.replacing(escape.0, with: escape.1)
        }
    }

    /// Some minutes past the hour, so that not everybody asks at once; the same for the same command.
    ///
    /// - Parameter hour: nil for each.
    private static func text(hour: Int?, _ command: String) -> String {
        let minute = command.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % 60
        let time =
            (hour.map { $0 < 10 ? "0\($0)" : "\($0)" } ?? "*") + ":"
            + (minute < 10 ? "0\(minute)" : "\(minute)")
        let line = hour.map { "\(minute) \($0)" } ?? "\(minute) *"
        return """
            # As a timer of systemd: ~/.config/systemd/user/larder-update.service
            [Unit]
            Description=Fetch what has changed of the sites in the larder

            [Service]
            Type=oneshot
            ExecStart=/bin/sh -c "exec \(forSystemd(command))"

            # ~/.config/systemd/user/larder-update.timer
            [Unit]
            Description=\(hour == nil ? "Every hour" : "Every day at \(time)")

            [Timer]
            OnCalendar=*-*-* \(time):00
            RandomizedDelaySec=600
            Persistent=true

            [Install]
            WantedBy=timers.target

            # then: systemctl --user enable --now larder-update.timer

            # Or as a line of crontab -e:
            \(line) * * * \(command.replacing("%", with: "\\%")) --quiet
            """
    }
}
