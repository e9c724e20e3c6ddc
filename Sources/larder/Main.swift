internal import Glibc
internal import LarderKit

@main
struct Main {
    static func main() async {
        ProcessLimits.holdStandardStreams()
        ProcessLimits.raiseOpenFiles()
        Signals.shared.catchAll()
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        exit(ending(status).rawValue)
    }

    /// A report that nobody got is no success, as curl and git see it too, whatever it would have said.
    private static func ending(_ status: ExitStatus) -> ExitStatus {
        switch status {
        case .interrupted: status
        case .done, .incomplete, .usage, .unable: Output.standard.hasFailed ? .unable : status
        }
    }

    private static func run(_ words: [String]) async -> ExitStatus {
        let terminal = Terminal(isQuiet: false)
        guard let name = words.first, name != "--help", name != "-h" else {
            terminal.say(HelpCommand.overview)
            return words.isEmpty ? .usage : .done
        }
        if name == "--version" || name == "version" {
            terminal.say("larder \(Larder.version)")
            return .done
        }
        guard let entry = CommandEntry.named(name) else {
            terminal.fail(CommandEntry.unknown(name))
            return .usage
        }
        do throws(UsageError) {
            // Commands without options, such as help, have nothing that could be set.
            let settings = entry.options.isEmpty ? Settings() : try Settings.load().settings
            let arguments = try Arguments(words.dropFirst(), for: entry, settings: settings)
            if arguments.has(.help) {
                terminal.say(HelpCommand.text(of: entry))
                return .done
            }
            return await entry.run(arguments, Terminal(isQuiet: arguments.has(.quiet)))
        } catch {
            terminal.fail(error.message)
            return .usage
        }
    }
}
