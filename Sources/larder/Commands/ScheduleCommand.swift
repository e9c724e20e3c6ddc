internal import Glibc
internal import LarderKit
internal import Reports
internal import System

/// `larder schedule`: lists the schedules of sites, changes them, or prints or installs a systemd timer.
///
/// If the last operand is an interval, as in `SITE... daily` and `SITE... every 6h`, the sites get that schedule; `off`
/// removes their schedules. Without an interval, all operands are sites: the command lists their schedules, or prints or
/// installs a timer. A schedule has no effect until a server is running or a timer is installed, which update the sites
/// that are due. The last line of the list says which of them does.
///
/// Exit status 0: done. 2: an unknown site or interval. 3: the timer could not be installed or started; a line for cron is
/// printed instead.
enum ScheduleCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let (sites, interval) = splitInterval(arguments.operands)
            guard let interval else {
                // The name of a site contains a dot or a scheme; anything else is probably a wrong interval.
                if let last = sites.last, last != "localhost",
                    !last.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") })
                {
                    throw UsageError(
                        "\"\(last)\" is neither a site nor an interval; use hourly, daily, weekly, off, "
                            + "or a time of at least 10m, such as 6h"
                    )
                }
                if arguments.has(.install) { return try await install(sites, arguments, terminal) }
                if arguments.has(.printTimer) || arguments.commandLineValue(of: .hour) != nil {
                    return try await printTimer(sites, arguments, terminal)
                }
                return try await list(sites, arguments, terminal)
            }
            guard !sites.isEmpty else {
                throw UsageError("no site is named; name one with: larder schedule SITE \(interval)")
            }
            if arguments.commandLineValue(of: .hour) != nil {
                throw UsageError(
                    "\(Option.hour.name) sets the time of the printed timer; leave it out, since the interval of a site counts "
                        + "from its last update")
            }
            // Nil for `off`, which removes the schedules.
            let schedule = UpdateSchedule(interval)
            let larder = try arguments.larder
            for site in sites {
                let changed = try await larder.schedule(site, schedule)
                // The units of a timer are often written to a file.
                if arguments.has(.printTimer) {
                    terminal.note(changeLine(of: changed))
                } else {
                    terminal.say(changeLine(of: changed))
                }
            }
            if arguments.has(.printTimer) { return try await printTimer([], arguments, terminal) }
            if arguments.has(.install) { return try await install([], arguments, terminal) }
            if schedule != nil { terminal.note(runnerText(larder.scheduleRunner, arguments)) }
            return .done
        }
    }

    /// Splits the operands into sites and an interval, which is nil if the last operand is not one. Drops the word `every`
    /// before the interval.
    private static func splitInterval(_ operands: [String]) -> (sites: [String], interval: String?) {
        guard let last = operands.last, last == "off" || UpdateSchedule(last) != nil else {
            return (operands, nil)
        }
        let rest = operands.dropLast()
        return rest.last == "every" ? (Array(rest.dropLast()), last) : (Array(rest), last)
    }

    /// Returns the line about a site whose schedule was changed.
    private static func changeLine(of site: ScheduleReport.Site) -> String {
        guard let schedule = site.schedule, let next = site.next else {
            return "\(site.name): no schedule"
        }
        let failures =
            site.failures > 0 ? ", \(Wording.count(site.failures, "failed attempt"))" : ""
        return
            "\(site.name): \(schedule.text), \(next <= SystemClock.secondsSinceEpoch() ? "due now" : "next \(LocalTime.minute(next))")"
            + failures
    }

    // MARK: - The list

    /// Prints the named sites, or all sites with a schedule.
    private static func list(
        _ sites: [String], _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let report = try await arguments.larder.schedules(sites)
        guard !arguments.has(.json) else {
            terminal.reportJSON(report.json)
            return .done
        }
        let scheduled = report.sites.filter { $0.schedule != nil }
        let listed = sites.isEmpty ? scheduled : report.sites
        guard !listed.isEmpty else {
            terminal.say(
                "No site has a schedule; set one with: \(arguments.command("schedule", ["SITE", "daily"]))")
            return .done
        }
        var table = TextTable([
            ("Site", .left), ("Every", .left), ("Next update", .left), ("Failed attempts", .right),
        ])
        for site in listed {
            table.add([
                site.name, site.schedule?.text ?? "-",
                site.next.map { $0 == 0 ? "now" : LocalTime.wait(until: $0) } ?? "-",
                site.schedule == nil ? "-" : "\(site.failures)",
            ])
        }
        terminal.say(table.lines.joined(separator: "\n"))
        if !scheduled.isEmpty { terminal.say(runnerText(report.runner, arguments)) }
        return .done
    }

    /// Returns the line that says which server or timer updates the sites that are due, or how to start one if `runner` is
    /// nil.
    static func runnerText(_ runner: ScheduleRunner?, _ arguments: Arguments) -> String {
        guard let runner else {
            return
                "Nothing runs the scheduled updates: start a server with \(arguments.command("open")), or install a systemd timer with "
                + arguments.command("schedule", [Option.install.name])
        }
        return "The scheduled updates are run by \(runner)"
    }

    // MARK: - The timer

    /// The shell command that updates the sites that are due. It also works in a job of systemd or cron, which runs in
    /// another folder and without the variables of this shell.
    static func dueCommand(_ arguments: Arguments) -> String { updateCommand([Option.due.name], arguments) }

    /// Returns the shell command of `larder update` for a job, with absolute paths of the program and the store.
    ///
    /// - Parameter words: the options and operands of the command.
    private static func updateCommand(_ words: [String], _ arguments: Arguments) -> String {
        CommandLine.shellCommand(
            ["update"] + words + (arguments.namedStore.map { ["--store", storeForJob($0)] } ?? []),
            program: CommandLine.ownPath)
    }

    /// Prints the two units of a systemd timer, and a line for cron that does the same. If a site has a schedule, the timer
    /// updates the sites that are due every 15 minutes; else it updates the sites once a day.
    private static func printTimer(
        _ sites: [String], _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let larder = try arguments.larder
        let hour = try arguments.number(.hour, in: 0...23)
        // The timer may be for a store that does not exist yet or cannot be reached now.
        let scheduled = (try? await larder.schedules(sites))?.sites.filter { $0.schedule != nil } ?? []
        if !scheduled.isEmpty, arguments.commandLineValue(of: .hour) != nil {
            terminal.fail(
                "\(Option.hour.name) is ignored: the timer runs every 15 minutes, because a site has a schedule"
            )
        }
        let timer =
            scheduled.isEmpty
            ? UpdateTimer(of: larder, command: updateCommand(sites, arguments), .daily(hour: hour))
            : UpdateTimer(of: larder, command: updateCommand([Option.due.name] + sites, arguments))
        terminal.say(
            """
            # \(UpdateTimer.folder)/\(timer.units[0])
            \(timer.service)
            # \(UpdateTimer.folder)/\(timer.units[1])
            \(timer.timer)
            # To start it: \(timer.startCommand)

            # Or a line for crontab -e:
            \(timer.cronLine)
            """)
        return .done
    }

    /// Installs and starts a systemd timer that updates the sites that are due. If that fails, prints a line for cron.
    private static func install(
        _ sites: [String], _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        guard sites.isEmpty, arguments.commandLineValue(of: .hour) == nil else {
            throw UsageError(
                "\(Option.install.name) installs a timer for all sites that have a schedule; for another one, see: "
                    + "larder schedule SITE \(Option.printTimer.name)")
        }
        let larder = try arguments.larder
        let timer = UpdateTimer(of: larder, command: dueCommand(arguments))
        switch try timer.install() {
        case .started:
            terminal.say("The timer \(timer.units[1]) updates due sites every 15 minutes")
            terminal.note("It runs while you are logged in; to run it always: loginctl enable-linger")
            terminal.note("To remove it: \(timer.stopCommand)")
        case .notStarted(let reason):
            terminal.fail(
                "\(timer.units[1]) is written to \(UpdateTimer.folder), but systemd did not start it: \(reason); start it with: "
                    + timer.startCommand)
            terminal.say("To use cron instead, add this line with crontab -e:\n\(timer.cronLine)")
            return .unable
        case .noSystemd:
            terminal.fail("this machine has no systemd; to use cron, add the line below with: crontab -e")
            terminal.say(timer.cronLine)
            return .unable
        }
        if (try? await larder.schedules())?.sites.contains(where: { $0.schedule != nil }) != true {
            terminal.say(
                "No site has a schedule yet; set one with: \(arguments.command("schedule", ["SITE", "daily"]))"
            )
        }
        return .done
    }

    /// Returns the absolute path of a store, because a job starts in another folder. Returns the address of a PostgreSQL
    /// store without its password, which belongs in a PGPASSFILE.
    private static func storeForJob(_ path: String) -> String {
        let larder = Larder(at: path)
        if larder.isInPostgreSQL { return larder.shownPath }
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
