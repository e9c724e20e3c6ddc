internal import Glibc
internal import LarderKit
internal import Reports

/// `larder schedule`: lists schedules, sets the interval of sites, or prints or installs a systemd timer.
///
/// The operands decide: `SITE... daily` and `SITE... every 6h` set an interval, `off` removes it, anything
/// else is a list of sites. A schedule alone runs nothing: a server or a timer runs `larder update --due`,
/// and the last line of the list says which one.
///
/// Exit status 0: done. 2: an unknown site or interval. 3: the timer could not be installed; a line for
/// cron is printed instead.
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
            let schedule = UpdateSchedule(interval)
            let larder = try arguments.larder
            for site in sites {
                let changed = try await larder.schedule(site, schedule)
                terminal.say(line(of: changed))
            }
            if arguments.has(.install) { return try await install([], arguments, terminal) }
            if schedule != nil { terminal.note(runnerText(larder.scheduleRunner, arguments)) }
            return .done
        }
    }

    /// The sites, and the interval: the last word, or the last word after `every`; nil if there is none.
    private static func splitInterval(_ operands: [String]) -> (sites: [String], interval: String?) {
        guard let last = operands.last, last == off || UpdateSchedule(last) != nil else {
            return (operands, nil)
        }
        let rest = operands.dropLast()
        return rest.last == "every" ? (Array(rest.dropLast()), last) : (Array(rest), last)
    }

    private static let off = "off"

    /// The line about a site whose schedule was changed.
    private static func line(of site: ScheduleReport.Site) -> String {
        guard let schedule = site.schedule, let next = site.next else {
            return "\(site.name): no schedule"
        }
        let failures =
            site.failures > 0 ? ", \(Wording.count(site.failures, "failed attempt"))" : ""
        return
            "\(site.name): \(schedule.text), \(next == 0 ? "due now" : "next \(Wording.moment(next))")\(failures)"
    }

    // MARK: - The list

    /// Prints the named sites, or all sites with a schedule.
    private static func list(
        _ sites: [String], _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let report = try await arguments.larder.schedules(sites)
        guard !arguments.has(.json) else {
            terminal.say(report.json)
            return .done
        }
        let scheduled = report.sites.filter { $0.schedule != nil }
        let known = sites.isEmpty ? scheduled : report.sites
        guard !known.isEmpty else {
            terminal.say(
                "No site has a schedule; set one with: \(arguments.command("schedule", ["SITE", "daily"]))")
            return .done
        }
        var table = TextTable([
            ("Site", .left), ("Every", .left), ("Next update", .left), ("Failed attempts", .right),
        ])
        for site in known {
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

    /// Says which server or timer runs the updates that are due, or how to start one.
    static func runnerText(_ runner: ScheduleRunner?, _ arguments: Arguments) -> String {
        guard let runner else {
            return
                "Nothing runs the scheduled updates: start a server with \(arguments.command("open")), or install a systemd timer with "
                + arguments.command("schedule", [Option.install.name])
        }
        return "The scheduled updates are run by \(runner)"
    }

    // MARK: - The timer

    /// The command that updates the sites of the store that are due, for a job that starts in another folder and
    /// without the variables of this shell.
    static func dueCommand(_ arguments: Arguments) -> String { updateCommand([Option.due.name], arguments) }

    /// An update with an absolute path of the program and of the store.
    private static func updateCommand(_ words: [String], _ arguments: Arguments) -> String {
        CommandLine.shellCommand(
            ["update"] + words + (arguments.namedStore.map { ["--store", absolutePath($0)] } ?? []),
            program: CommandLine.ownPath)
    }

    /// Prints the units of a timer and a line for cron.
    private static func printTimer(
        _ sites: [String], _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        let larder = try arguments.larder
        let hour = try arguments.number(.hour, in: 0...23)
        // The timer may be for a store that does not exist yet or cannot be reached now.
        let known = (try? await larder.schedules(sites))?.sites.filter { $0.schedule != nil } ?? []
        if !known.isEmpty, arguments.commandLineValue(of: .hour) != nil {
            terminal.fail(
                "\(Option.hour.name) is ignored: the timer runs every 15 minutes, because a site has a schedule"
            )
        }
        let timer =
            known.isEmpty
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

    /// Installs the timer that runs the updates that are due.
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

    /// The absolute path of a store, because a job starts in another folder.
    private static func absolutePath(_ path: String) -> String {
        // The password is omitted; it belongs in a PGPASSFILE.
        if path.hasPrefix("postgres") { return Larder(at: path).shownPath }
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
