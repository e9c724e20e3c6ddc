internal import Glibc
internal import LarderKit

@main
struct Main {
    static func main() async {
        ProcessLimits.holdStandardStreams()
        ProcessLimits.raiseOpenFiles()
        if let reason = ProcessLimits.lacksMemory() {
            Terminal(isQuiet: false).fail(reason)
            _exit(ExitStatus.unable.rawValue)
        }
        ProcessLimits.endWithoutMemory()
        Larder.givesMemoryBack()
        Signals.shared.catchAll()
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        // Without what runs at `exit`: libraries would take down what threads that are just ending still use.
        fflush(nil)
        _exit(ending(status).rawValue)
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

/// How the command ends.
enum ExitStatus: Int32 {
    case done = 0
    /// Done, but something is missing, failed or differs.
    case incomplete = 1
    /// The command line or a manifest is wrong.
    case usage = 2
    /// The machine or the network would not.
    case unable = 3
    /// Stopped by a signal, with everything so far kept.
    case interrupted = 130
}

/// What a process starts with, put in order before anything is opened.
enum ProcessLimits {
    /// Takes the place of standard streams that are closed, so that no database or socket gets their numbers
    /// and is written to for them. Opened the wrong way round, they still refuse to be used.
    static func holdStandardStreams() {
        for file in STDIN_FILENO...STDERR_FILENO where fcntl(file, F_GETFD) < 0 {
            // The lowest free number is this one.
            _ = open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// What to tell whoever allows too little memory to begin; nil where there is enough. Without it libraries wait
    /// for ever for a thread, or crash.
    static func lacksMemory() -> String? {
        guard let allowed = addressSpace, allowed < minAddressSpace else { return nil }
        return
            "\(allowed >> 20) MiB of memory are allowed here, and larder needs at least \(minAddressSpace >> 20): "
            + "raise the limit (ulimit -v)"
    }

    /// Where memory is limited, has the process end with a message when it is used up. Without a limit nothing is
    /// changed.
    static func endWithoutMemory() {
        guard addressSpace != nil else { return }
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT] {
            var action = sigaction()
            action.sa_flags = Int32(bitPattern: SA_RESETHAND) | SA_NODEFER
            action.__sigaction_handler.sa_handler = { _ in
                // Only what is safe inside a signal handler. A crash for another reason comes again when this returns.
                let probe = mmap(nil, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                guard probe == MAP_FAILED else { return }
                let message: StaticString =
                    "larder: the memory that is allowed here is used up: raise the limit (ulimit -v)\n"
                _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
                _exit(ExitStatus.unable.rawValue)
            }
            sigaction(number, &action, nil)
        }
    }

    static var isMemoryLimited: Bool { addressSpace != nil }

    /// In bytes; nil where it is not limited.
    private static var addressSpace: UInt? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur < 1 << 62 else {
            return nil
        }
        return limit.rlim_cur
    }

    /// The program and its libraries take half of it, and the stacks of its threads most of the rest.
    private static let minAddressSpace: UInt = 192 << 20

    /// As many open files as we may have: the soft limit is 1,024 on most systems, for programs that use
    /// `select`.
    static func raiseOpenFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
