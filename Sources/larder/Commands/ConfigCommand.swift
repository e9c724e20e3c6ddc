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

    /// The options of a command and their values.
    ///
    /// - Parameter isWhole: whether options that are not set are included, with their defaults.
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
            lines.append("Nothing is set; to see the defaults: larder help COMMAND")
        }
        var told: [String] = []
        for setting in report.settings {
            let value =
                setting.values?.joined(separator: ", ") ?? (setting.source == "default" ? "-" : "(not shown)")
            let text = "\(setting.option.padded(18)) \(value)  (\(setting.source))"
            // An option that is set for all commands is shown once.
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
                // The name of a site contains a dot or a scheme; anything else is probably a wrong interval.
                if let last = sites.last, last != "localhost",
                    !last.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") })
                {
                    throw UsageError(
                        "\"\(last)\" is neither a site nor an interval; use hourly, daily, weekly, off, "
                            + "or a time of at least 10m, such as 6h"
                    )
                }
                return try await show(sites, arguments, terminal)
            }
            guard !sites.isEmpty else {
                throw UsageError("no site is named; name one with: larder schedule SITE \(wanted)")
            }
            if arguments.given(.hour) != nil {
                throw UsageError(
                    "\(Option.hour.name) sets the time of the printed timer; leave it out, since the interval of a site counts "
                        + "from its last update")
            }
            let schedule = UpdateSchedule(wanted)
            let larder = try arguments.larder
            for site in sites {
                let known = try await larder.schedule(site, schedule)
                terminal.say(line(of: known))
            }
            if schedule != nil {
                terminal.note("To run the updates that are due, set up the timer printed by: larder schedule")
            }
            return .done
        }
    }

    /// The sites, and the interval: the last word, or the last word after `every`; nil if there is none.
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
            return "\(site.name): no schedule"
        }
        let failures =
            site.failures > 0 ? ", \(Wording.count(site.failures, "failed attempt"))" : ""
        return
            "\(site.name): \(schedule.text), \(next == 0 ? "due now" : "next \(Wording.moment(next))")\(failures)"
    }

    /// Prints the schedules, and a timer that runs the updates.
    private static func show(
        _ sites: [String], _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let hour = try arguments.number(.hour, in: 0...23)
        if arguments.has(.json) {
            terminal.say(try await arguments.larder.schedules(sites).json)
            return .done
        }
        // The timer may be for a store that does not exist yet or cannot be reached now.
        let known = (try? await arguments.larder.schedules(sites))?.sites.filter { $0.schedule != nil } ?? []
        let command = CommandLine.shown(
            ["update"] + (known.isEmpty ? [] : [Option.due.name]) + sites
                + (arguments.namedStore.map { ["--store", whole($0)] } ?? []),
            program: CommandLine.ownPath)
        if !known.isEmpty, arguments.given(.hour) != nil {
            terminal.fail(
                "\(Option.hour.name) is ignored: the timer runs every hour, because a site has a schedule"
            )
        }
        let list = known.map { "# \(line(of: $0))\n" }.joined()
        terminal.say((list.isEmpty ? "" : list + "\n") + text(hour: known.isEmpty ? hour : nil, command))
        return .done
    }

    /// The absolute path of a store, because a job starts in another folder.
    private static func whole(_ path: String) -> String {
        // The password is omitted; it belongs in a PGPASSFILE.
        if path.hasPrefix("postgres") { return Larder(at: path).shownPath }
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    /// Escapes a command for double quotes in a unit file; systemd.service(5) also expands `%` and `$`.
    private static func forSystemd(_ command: String) -> String {
        [("\\", "\\\\"), ("\"", "\\\""), ("%", "%%"), ("$", "$$")].reduce(command) { text, escape in
            text.replacing(escape.0, with: escape.1)
        }
    }

    /// The units of the systemd timer and the cron line. The minute depends on the command, so that not all
    /// clients send their requests at the same time.
    ///
    /// - Parameter hour: the hour of a daily timer; nil for every hour.
    private static func text(hour: Int?, _ command: String) -> String {
        let minute = command.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % 60
        let time =
            (hour.map { $0 < 10 ? "0\($0)" : "\($0)" } ?? "*") + ":"
            + (minute < 10 ? "0\(minute)" : "\(minute)")
        let line = hour.map { "\(minute) \($0)" } ?? "\(minute) *"
        return """
            # systemd timer: ~/.config/systemd/user/larder-update.service
            [Unit]
            Description=Update the sites stored by Larder

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

            # To start it: systemctl --user enable --now larder-update.timer

            # Or a line for crontab -e:
            \(line) * * * \(command.replacing("%", with: "\\%")) --quiet
            """
    }
}
