internal import LarderKit
internal import System

/// This program, if it contains a site (`larder export SITE FILE --self-serving`). Without a command, it
/// serves the site read-only from a temporary folder, until the first signal.
///
/// Prints the address of the site. Exit status 0 after a signal. 2: a wrong option. 3: the file is damaged,
/// or the port or the disk cannot be used.
enum EnclosedSiteCommand {
    /// The path of the running program, which contains the site.
    private static let program = "/proc/self/exe"

    /// The options of the file. The file itself is the command, so this entry is not in the table of commands.
    private static let entry = CommandEntry(
        name: "serve", operands: "", operandCount: 0...0, summary: "Serve the site in this file",
        examples: [],
        options: [.port, .openBrowser, .quiet], run: { _, _ in .usage })

    /// Serves the site if the program contains one and the words name no command. Returns nil if not.
    static func run(_ words: [String], _ terminal: Terminal) async -> ExitStatus? {
        guard words.first?.hasPrefix("-") ?? true, words.first != "--version" else { return nil }
        let name = CommandLine.arguments.first ?? program
        do throws(LarderError) {
            guard try EmbeddedSite.exists(in: program, named: name) else { return nil }
        } catch {
            terminal.fail("\(error)")
            return .unable
        }
        if ["-h", "--help"].contains(words.first) {
            terminal.say(help(name))
            return .done
        }
        return await terminal.attempt {
            let arguments = try Arguments(words[...], for: entry, settings: Settings())
            let port = try arguments.numberIfGiven(.port, in: 0...65_535) ?? 0
            let opening = Task { try await EmbeddedSite.open(in: program, named: name) }
            Signals.shared.onFirst { opening.cancel() }
            let site = try await opening.value
            let stop = Signals.shared.interruption()
            var options = ServeOptions()
            options.isReadOnly = true
            options.notice = { terminal.fail($0) }
            let service = try site.larder.serve(port: UInt16(port), options: options)
            let start = site.start.first ?? site.name
            let address = service.address(of: start) ?? service.address
            let day = site.date.description.prefix(10)
            Terminal(isQuiet: false).say("\(site.name), copied on \(day), is at \(address) (Ctrl-C stops)")
            terminal.say("Search and all pages: \(service.address)")
            if arguments.has(.openBrowser) { OpenCommand.show(address, terminal) }
            // The export has no search index, so the pages are indexed while the server runs.
            let index = Task { _ = try? await site.larder.index(site.name) }
            await stop.waitForRequest()
            index.cancel()
            _ = await index.value
            withExtendedLifetime(site) { service.stop() }
            return .done
        }
    }

    /// The help of the file. It is not in the table of commands, because its command is the file itself.
    private static func help(_ name: String) -> String {
        """
        \(name) serves the website that it contains.

          \(name) [--port N] [--open] [--quiet]

          --port N     Port to listen on (default: a free one)
          --open       Open the site in the browser
          -q, --quiet  Print only the address of the site

        Only this machine can open it. It is unpacked into a temporary folder ($TMPDIR or /tmp), which is removed at the end.
        The file is also the larder command: \(name) help
        """
    }
}
