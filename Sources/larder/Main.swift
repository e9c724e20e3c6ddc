internal import Glibc
internal import LarderKit

/// The entry point of the program. It prepares the process, finds the command in `CommandEntry.all`, parses
/// its arguments, runs it, and exits with its status.
///
/// Order matters in `main`: closed standard streams are replaced before anything opens a file, and signal
/// handlers are installed before any work that a signal could interrupt.
@main
struct Main {
    /// Prepares the process, runs the command, and ends the process. Does not return.
    static func main() async {
        ProcessLimits.reopenClosedStandardStreams()
        ProcessLimits.raiseOpenFiles()
        if let reason = ProcessLimits.memoryLimitError() {
            Terminal(isQuiet: false).fail(reason)
            _exit(ExitStatus.unable.rawValue)
        }
        ProcessLimits.exitWhenMemoryRunsOut()
        Larder.returnFreedMemoryToSystem()
        Signals.shared.installHandlers()
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        // `_exit`, because `exit` runs destructors of libraries while threads may still use them.
        fflush(nil)
        _exit(exitStatus(afterWriting: status).rawValue)
    }

    /// The exit status of the process: 3 if the report could not be written, as in curl and git.
    private static func exitStatus(afterWriting status: ExitStatus) -> ExitStatus {
        switch status {
        case .interrupted: status
        case .done, .incomplete, .usage, .unable: Output.standard.hasFailed ? .unable : status
        }
    }

    /// Runs the command that the words name, or prints the overview, the version or an error.
    private static func run(_ words: [String]) async -> ExitStatus {
        let terminal = Terminal(isQuiet: false)
        // A file of `larder export --self-serving` contains this program and a site.
        if let status = await EnclosedSiteCommand.run(words, terminal) { return status }
        guard let name = words.first, name != "-h" else {
            terminal.sayStyled(HelpText.forStandardOutput.briefOverview)
            return words.isEmpty ? .usage : .done
        }
        if name == "--help" {
            terminal.sayStyled(HelpText.forStandardOutput.overview)
            return .done
        }
        if name == "--version" || name == "version" {
            terminal.say("larder \(Larder.version)")
            return .done
        }
        guard var entry = CommandEntry.command(named: name) else {
            terminal.fail(CommandEntry.unknownCommandMessage(name))
            return .usage
        }
        do throws(UsageError) {
            // Commands without options, such as help, work even with a broken configuration file.
            let settings = entry.options.isEmpty ? Settings() : try Settings.load().settings
            let operands = words.dropFirst()
            if let own = try Self.subcommand(of: entry, operands, settings) { entry = own }
            let arguments = try Arguments(operands, for: entry, settings: settings)
            if arguments.has(.help) || arguments.has(.briefHelp) {
                let help = HelpText.forStandardOutput
                terminal.sayStyled(arguments.has(.help) ? help.text(of: entry) : help.briefText(of: entry))
                return .done
            }
            return await entry.run(arguments, Terminal(isQuiet: arguments.has(.quiet)))
        } catch {
            terminal.fail(error.message)
            return .usage
        }
    }

    /// The subcommand that the words select; nil if the command has none, or if it is unknown.
    private static func subcommand(
        of entry: CommandEntry, _ words: ArraySlice<String>, _ settings: Settings
    ) throws(UsageError) -> CommandEntry? {
        guard !entry.subcommands.isEmpty, let first = words.first else { return nil }
        if let own = entry.subcommand(named: first) { return own }
        // Options may come first.
        return try Arguments(words, for: entry, settings: settings).operands.first.flatMap(entry.subcommand)
    }
}

/// The exit statuses of all commands, also listed in `HelpText.exitStatus`. Scripts and CI depend on them.
enum ExitStatus: Int32 {
    /// Everything that was asked for is done.
    case done = 0
    /// Finished, but something is missing, failed or differs.
    case incomplete = 1
    /// The command line or a manifest is wrong.
    case usage = 2
    /// The machine or the network prevented the work.
    case unable = 3
    /// Stopped by a signal; everything stored is kept.
    case interrupted = 130
}

/// The resources of the process, set up before any file is opened.
enum ProcessLimits {
    /// Replaces closed standard streams by `/dev/null`, so that no database or socket gets their numbers and
    /// receives their output. They are opened in the wrong direction, so that using them still fails.
    static func reopenClosedStandardStreams() {
        for file in STDIN_FILENO...STDERR_FILENO where fcntl(file, F_GETFD) < 0 {
            // `open` returns the lowest free number, which is this one.
            _ = open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// The error if too little memory is allowed to start; nil if there is enough. With too little memory,
    /// libraries wait for a thread for ever, or crash.
    static func memoryLimitError() -> String? {
        guard let allowed = addressSpace, allowed < minAddressSpace else { return nil }
        return
            "the memory limit of \(allowed >> 20) MiB is too low, larder needs at least \(minAddressSpace >> 20) MiB; "
            + "raise it with ulimit -v"
    }

    /// Ends the process with a message when limited memory is used up. Does nothing if memory is not limited.
    static func exitWhenMemoryRunsOut() {
        guard addressSpace != nil else { return }
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT] {
            var action = sigaction()
            action.sa_flags = Int32(bitPattern: SA_RESETHAND) | SA_NODEFER
            action.__sigaction_handler.sa_handler = { _ in
                // Only async-signal-safe calls. After a crash for another reason, the handler returns and the
                // crash happens again, without the handler.
                let probe = mmap(nil, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                guard probe == MAP_FAILED else { return }
                let message: StaticString =
                    "larder: the memory limit is reached; raise it with ulimit -v\n"
                _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
                _exit(ExitStatus.unable.rawValue)
            }
            sigaction(number, &action, nil)
        }
    }

    static var isMemoryLimited: Bool { addressSpace != nil }

    /// The limit of the address space in bytes; nil if it is not limited.
    private static var addressSpace: UInt? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur < 1 << 62 else {
            return nil
        }
        return limit.rlim_cur
    }

    /// The minimum address space in bytes: the program and its libraries take half of it, and the stacks of
    /// its threads most of the rest.
    private static let minAddressSpace: UInt = 192 << 20

    /// Raises the limit of open files to the maximum. The soft limit is 1,024 on most systems, for programs
    /// that use `select`.
    static func raiseOpenFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
