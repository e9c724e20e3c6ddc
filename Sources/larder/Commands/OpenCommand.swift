internal import Glibc
internal import LarderKit

/// `larder open [SITE|URL]`
enum OpenCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = UInt16(try arguments.number(.port, in: 1...65535))
            if arguments.has(.stop) { return try stop(port, arguments, terminal) }
            let larder = try arguments.larder
            let address = try await larder.address(of: arguments.operands.first, at: port)
            let isRunning = await Larder.answers(at: port)
            if !isRunning, let failure = start(larder, port) {
                terminal.fail(failure)
                return .unable
            }
            show(address, terminal)
            if !isRunning {
                terminal.say("The server goes on in the background; to stop it: \(stopCommand(arguments))")
            }
            return .done
        }
    }

    /// What went wrong; nil when the server is there. It outlives this command, so that nobody has to keep a terminal for it.
    private static func start(_ larder: Larder, _ port: UInt16) -> String? {
        let line = Program.startDetached(["serve", "--port", "\(port)", "--store", larder.path])
        let mark = "larder: "
        guard let line else { return "the server does not start; to see why: \(CommandLine.shown(["serve"]))" }
        return line.hasPrefix(mark) ? String(line.dropFirst(mark.count)) : nil
    }

    private static func stop(
        _ port: UInt16, _ arguments: Arguments, _ terminal: Terminal
    ) throws(UsageError) -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("--stop stops the server, whatever it shows; see: larder help open")
        }
        guard ServerMark.stopServer(port: port) else {
            terminal.fail(
                "no larder of yours serves on port \(port); if it is on another, name that with --port")
            return .unable
        }
        terminal.say("The server on port \(port) has stopped")
        return .done
    }

    private static func stopCommand(_ arguments: Arguments) -> String {
        CommandLine.shown(["open", "--stop"] + (arguments.given(.port).map { ["--port", $0] } ?? []))
    }

    /// The desktop knows the browser; `$BROWSER` says otherwise.
    private static func show(_ address: String, _ terminal: Terminal) {
        let browser = getenv("BROWSER").map { String(cString: $0) } ?? "xdg-open"
        terminal.say(address)
        guard !Program.start(browser, [address]) else { return }
        terminal.fail("\(browser) does not start: open the address above yourself, or set BROWSER")
    }
}
