internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

/// A systemd timer of the user that runs a command regularly, and a line for cron that does the same.
public struct UpdateTimer: Sendable, Equatable {
    /// When the command runs.
    public enum Rhythm: Sendable, Equatable {
        /// Every quarter of an hour, for a command that updates only the sites that are due.
        case everyQuarterHour
        /// Every day at an hour of the clock, from 0 to 23.
        case daily(hour: Int)
    }

    /// The name of both units, without `.service` and `.timer`. Each store has its own.
    public let name: String
    /// The text of the service unit.
    public let service: String
    /// The text of the timer unit.
    public let timer: String
    /// The line for `crontab -e`.
    public let cronLine: String
    private let mark: String
    private let isOfDefaultStore: Bool

    /// - Parameters:
    ///   - larder: the store that the command updates.
    ///   - command: a shell command. systemd and cron run it in another folder, and with few variables.
    ///   - rhythm: when the command runs. The minute depends on the command, so that not all clients send their
    ///     requests at the same time.
    public init(of larder: Larder, command: String, _ rhythm: Rhythm = .everyQuarterHour) {
        name = Self.name(of: larder)
        isOfDefaultStore = Self.isDefaultStore(larder)
        let store = larder.folder.identity.withVisibleControls
        mark = rhythm == .everyQuarterHour ? "# Due updates of \(store)" : "# Updates of \(store)"
        let minute = command.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
        let (title, time, cron): (String, String, String)
        switch rhythm {
        case .everyQuarterHour:
            title = "Every 15 minutes"
            (time, cron) = ("*:\(Self.twoDigits(minute % 15))/15", "\(minute % 15)-59/15 *")
        case .daily(let hour):
            time = "\(Self.twoDigits(hour)):\(Self.twoDigits(minute % 60))"
            (title, cron) = ("Every day at \(time)", "\(minute % 60) \(hour)")
        }
        service = """
            \(mark)
            [Unit]
            Description=Update the sites stored by Larder

            [Service]
            Type=oneshot
            ExecStart=/bin/sh -c "exec \(Self.escapeForSystemd(command))"

            """
        timer = """
            [Unit]
            Description=\(title): run Larder's updates\(rhythm == .everyQuarterHour ? " that are due" : "")

            [Timer]
            OnCalendar=*-*-* \(time):00
            RandomizedDelaySec=\(rhythm == .everyQuarterHour ? 60 : 600)
            Persistent=true

            [Install]
            WantedBy=timers.target

            """
        cronLine = "\(cron) * * * \(command.replacing("%", with: "\\%")) > /dev/null"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Escapes a command for double quotes in a unit file; systemd.service(5) also expands `%` and `$`.
    private static func escapeForSystemd(_ command: String) -> String {
        [("\\", "\\\\"), ("\"", "\\\""), ("%", "%%"), ("$", "$$")].reduce(command) { text, escape in
            text.replacing(escape.0, with: escape.1)
        }
    }

    /// `larder-update`; for another store than the usual one, followed by a hash of its path (FNV-1a).
    private static func name(of larder: Larder) -> String {
        guard !isDefaultStore(larder) else { return "larder-update" }
        let hash = larder.folder.identity.utf8.reduce(0x811c_9dc5 as UInt32) {
            ($0 ^ UInt32($1)) &* 0x0100_0193
        }
        return "larder-update-" + String(hash, radix: 16)
    }

    private static func isDefaultStore(_ larder: Larder) -> Bool {
        guard let home = getenv("HOME").map({ String(cString: $0) }) else { return false }
        return Larder(at: Larder.defaultPath(environment: ["HOME": home])).folder.identity
            == larder.folder.identity
    }

    // MARK: - Installing

    /// The result of `install`.
    public enum Installation: Sendable, Equatable {
        /// systemd runs the timer.
        case started
        /// The units are written, but systemd did not start the timer, for this reason.
        case notStarted(String)
        /// This machine has no systemd; nothing was written.
        case noSystemd
    }

    /// The names of the two unit files.
    public var units: [String] { [name + ".service", name + ".timer"] }

    /// The folder of the user's units: `$XDG_CONFIG_HOME/systemd/user`, or `~/.config/systemd/user`.
    public static var folder: String {
        let config = getenv("XDG_CONFIG_HOME").map { String(cString: $0) } ?? ""
        let home = getenv("HOME").map { String(cString: $0) } ?? ""
        return (config.hasPrefix("/") ? config : home + "/.config") + "/systemd/user"
    }

    /// The command that starts the timer.
    public var startCommand: String {
        "systemctl " + ["--user", "enable", "--now", name + ".timer"].joined(separator: " ")
    }
    /// The command that ends it.
    public var stopCommand: String {
        "systemctl " + ["--user", "disable", "--now", name + ".timer"].joined(separator: " ")
    }

    /// Writes the units, and makes systemd run the timer from now on. Replaces an earlier timer of the same store.
    /// Blocks until systemd has answered.
    ///
    /// - Throws: `LarderError` of kind `.machine` if the units cannot be written.
    public func install() throws(LarderError) -> Installation {
        guard let systemctl = ExternalProgram.find("systemctl") else { return .noSystemd }
        do throws(SystemError) {
            try Folder.make(Self.folder)
            for (name, text) in zip(units, [service, timer]) {
                try WholeFile.replace("\(Self.folder)/\(name)", with: text, mode: 0o644)
            }
            let scratch = try ScratchFolder(named: "larder-timer")
            for words in [["daemon-reload"], ["enable", "--now", name + ".timer"]] {
                let ending = try ExternalProgram.run(
                    systemctl, ["--user"] + words, in: scratch.path,
                    keeping: ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS"]
                ) { false }
                guard let ending, ending.status == 0 else {
                    return .notStarted(ending?.errorSummary ?? "systemctl did not end")
                }
            }
            return .started
        } catch {
            throw LarderError(error)
        }
    }

    /// Whether systemd runs a timer that updates the sites of this store that are due.
    var isEnabled: Bool {
        let wanted = "\(Self.folder)/timers.target.wants/\(name).timer"
        guard access(wanted, F_OK) == 0,
            let bytes = try? WholeFile.beginning(of: "\(Self.folder)/\(name).service", 64 << 10)
        else { return false }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        if lines.first?.hasPrefix("#") == true { return lines.first.map(String.init) == mark }
        // Earlier versions printed units without the first line, for any store.
        let words = lines.first { $0.hasPrefix("ExecStart=") }?.split(separator: " ") ?? []
        return isOfDefaultStore && words.contains { $0.hasPrefix("--due") } && !words.contains("--store")
    }

    /// The name of the timer unit of a store.
    static func unit(of larder: Larder) -> String { name(of: larder) + ".timer" }
}
