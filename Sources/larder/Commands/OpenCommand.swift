internal import Glibc
internal import LarderKit

/// `larder open [SITE|URL]`
enum OpenCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = UInt16(try arguments.number(.port, in: 1...65535))
            let running = try? await arguments.larder.address(of: arguments.operands.first, at: port)
            if let running, await Larder.answers(at: port) { return show(running, terminal) }
            let service = try arguments.larder.serve(port: port)
            defer { service.stop() }
            let address = try await arguments.larder.address(of: arguments.operands.first, at: service.port)
            let stop = Signals.shared.first()
            guard show(address, terminal) == .done else { return .unable }
            terminal.note("The larder is at \(service.address) (Ctrl-C stops)")
            await stop.arrival()
            return .done
        }
    }

    /// The desktop knows the browser; `$BROWSER` says otherwise.
    private static func show(_ address: String, _ terminal: Terminal) -> ExitStatus {
        let browser = getenv("BROWSER").map { String(cString: $0) } ?? "xdg-open"
        guard Program.start(browser, [address]) else {
            terminal.say(address)
            terminal.fail("\(browser) does not start: open the address above yourself, or set BROWSER")
            return .done
        }
        terminal.say(address)
        return .done
    }
}
