internal import Glibc
internal import LarderKit

/// `larder schedule`
enum ScheduleCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let hour = try arguments.number(.hour, in: 0...23)
            let command = CommandLine.shown(
                ["update"] + arguments.operands + (arguments.text(.store).map { ["--store", whole($0)] } ?? []),
                program: CommandLine.ownPath)
            terminal.say(text(hour: hour, command))
            return .done
        }
    }

    /// A job starts in a folder of its own.
    private static func whole(_ path: String) -> String {
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
    private static func text(hour: Int, _ command: String) -> String {
        let minute = command.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % 60
        let time = "\(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)"
        return """
            # As a timer of systemd: ~/.config/systemd/user/larder-update.service
            [Unit]
            Description=Fetch what has changed of the sites in the larder

            [Service]
            Type=oneshot
            ExecStart=/bin/sh -c "exec \(forSystemd(command))"

            # ~/.config/systemd/user/larder-update.timer
            [Unit]
            Description=Every day at \(time)

            [Timer]
            OnCalendar=*-*-* \(time):00
            RandomizedDelaySec=600
            Persistent=true

            [Install]
            WantedBy=timers.target

            # then: systemctl --user enable --now larder-update.timer

            # Or as a line of crontab -e:
            \(minute) \(hour) * * * \(command.replacing("%", with: "\\%")) --quiet
            """
    }
}
