internal import Glibc
internal import LarderKit

/// `larder open [SITE|URL]`: shows the portal, a site or a page in the browser, and starts a server in the
/// background if none runs. `--stop` stops it.
///
/// Prints the URL, so that it can be opened without a browser. Exit status 0: shown. 1: the site is not
/// stored. 2: a wrong name. 3: no server could be started, the named port belongs to another store, or with
/// `--stop` no server runs there.
enum OpenCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let wanted = UInt16(try arguments.number(.port, in: 1...65535))
            var port = wanted
            let larder = try arguments.larder
            if arguments.has(.stop) { return try await stop(port, larder, arguments, terminal) }
            var (name, snapshot, owner) = (arguments.operands.first, SnapshotName?.none, String?.none)
            if let text = name {
                let parts = try await larder.splitSnapshotName(text)
                (name, snapshot, owner) = (parts.site, parts.snapshot, parts.owner)
            }
            // Finds mistakes before a server starts.
            if name != nil { _ = try await larder.address(of: name, in: snapshot, of: owner, at: port) }
            if let name, snapshot == nil, try await !larder.hasContent(for: name) {
                let command = try await arguments.storingCommand(for: name, larder)
                terminal.fail("\(name) is not stored; store it with: \(command)")
                return .incomplete
            }
            let running = larder.server(preferring: port)
            var isStarted = false
            if let running, running.port == port || !arguments.namesPort {
                port = running.port
            } else {
                // Only a server of an earlier version has a record without its store. Other programs on the usual port
                // might not answer, and do not have to: there are other ports.
                let isOfEarlierVersion = RunningServer.all().contains { $0.port == port && $0.store == nil }
                let served =
                    arguments.namesPort || isOfEarlierVersion
                    ? await larder.identifyServer(at: port) : .noServer
                if case .otherStore(let store) = served, arguments.namesPort {
                    terminal.fail(
                        "port \(port) serves another store (\(store)); name a free port with \(Option.port.name)"
                    )
                    return .unable
                }
                if served != .thisStore {
                    if let failure = start(larder, arguments.namesPort ? port : nil, arguments) {
                        terminal.fail(failure)
                        return .unable
                    }
                    port = larder.server(preferring: port)?.port ?? port
                    isStarted = true
                }
            }
            show(try await larder.address(of: name, in: snapshot, of: owner, at: port), terminal)
            if isStarted {
                if port != wanted { terminal.say(ServeCommand.otherPortText(port, insteadOf: wanted)) }
                terminal.say(
                    "The server keeps running in the background; to stop it: \(stopCommand(arguments))")
            }
            return .done
        }
    }

    /// Starts a server that keeps running after this command ends. Returns the error, or nil if the server is
    /// ready.
    ///
    /// - Parameter port: nil for the usual port, or the next one that is free.
    private static func start(_ larder: Larder, _ port: UInt16?, _ arguments: Arguments) -> String? {
        let words =
            ["serve", "--store", larder.path] + (port.map { ["--port", "\($0)"] } ?? [])
            + (arguments.has(.noSchedule) ? [Option.noSchedule.name] : [])
        let mark = "larder: "
        guard let line = Program.startDetached(words) else {
            return "the server does not start; to see why: \(CommandLine.shellCommand(["serve"]))"
        }
        return line.hasPrefix(mark) ? String(line.dropFirst(mark.count)) : nil
    }

    /// Stops the server on the named port, or the one of this store. Refuses to stop a server of another
    /// store.
    private static func stop(
        _ port: UInt16, _ larder: Larder, _ arguments: Arguments, _ terminal: Terminal
    ) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("--stop accepts no site or URL; see: larder help open")
        }
        var server = larder.server(preferring: port) ?? larder.servers().first
        if arguments.namesPort || server == nil {
            server = RunningServer.all().first { $0.port == port }
            let isOurs = server.map { larder.servers().contains($0) } ?? false
            var other = isOurs ? nil : server?.store
            // A server of an earlier version has not recorded its store, but reports it.
            if !isOurs, other == nil, server != nil || arguments.namesPort,
                case .otherStore(let store) = await larder.identifyServer(at: port)
            {
                other = store
            }
            if let store = other {
                terminal.fail(
                    "port \(port) serves another store; stop that server with: "
                        + CommandLine.shellCommand(["open", "--stop", "--port", "\(port)", "--store", store]))
                return .unable
            }
        }
        guard let server, server.stop() else {
            terminal.fail(
                arguments.namesPort
                    ? "no server of yours runs on port \(port)"
                    : "no server of yours runs on this store, nor on port \(port); name another port with --port"
            )
            return .unable
        }
        terminal.say("The server on port \(server.port) has stopped")
        return .done
    }

    /// The command line that stops the server that these arguments mean.
    static func stopCommand(_ arguments: Arguments) -> String {
        CommandLine.shellCommand(
            ["open", "--stop"] + (arguments.commandLineValue(of: .port).map { ["--port", $0] } ?? [])
                + (arguments.commandLineValue(of: .store).map { ["--store", Larder(at: $0).shownPath] } ?? [])
        )
    }

    /// Opens a URL in `$BROWSER`, else in the browser of the desktop.
    static func show(_ address: String, _ terminal: Terminal) {
        terminal.say(address)
        guard let named = getenv("BROWSER").map({ String(cString: $0) }), !named.isEmpty else {
            // Without a desktop, `xdg-open` may start and then fail, or wait for a terminal.
            let hasDesktop = getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil
            guard hasDesktop, Program.start("xdg-open", [address]) else {
                return terminal.fail("there is no desktop here; open the URL above yourself, or set BROWSER")
            }
            return
        }
        guard !Program.start(named, [address]) else { return }
        terminal.fail("cannot start \(named); open the URL above yourself, or set BROWSER")
    }
}
