internal import Glibc

/// Runs installed programs such as `zimdump` and waits for them to exit.
package enum ExternalProgram {
    /// The result of a program that exited.
    package struct Outcome: Sendable {
        /// The exit status, or the negated number of the signal that killed the program.
        package let status: Int32
        /// The beginning of the standard output, up to the limit given to `run`.
        package let output: [UInt8]
        /// The end of the standard error output, at most `maxErrorBytes`.
        package let errors: String

        /// The last three lines of the error output joined into one line, for use in messages.
        package var errorSummary: String {
            let lines = errors.split(separator: "\n").suffix(3).joined(separator: " ")
            return lines.isEmpty ? "it ended with status \(status)" : String(lines.suffix(500))
        }
    }

    /// Returns only the last bytes of a longer error output, since they name the reason for a failure.
    private static let maxErrorBytes = 64 << 10
    /// Ignores error output beyond this.
    private static let maxReadErrorBytes = 16 << 20

    /// Returns the path of the first executable file with this name on the PATH, in /usr/bin or in
    /// /usr/local/bin; nil if there is none.
    package static func find(_ name: String) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/local/bin"]
        return folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 && WholeFile.exists($0) }
    }

    /// Runs a program and waits until it exits. Blocks the calling thread.
    ///
    /// The program runs in its own process group, so that its own child processes are killed with it, and reads
    /// /dev/null as standard input. From the environment of this process it receives only PATH, LANG, LC_ALL and
    /// the variables in `keeping`. TMPDIR and HOME are `folder` unless `keeping` names them.
    ///
    /// Both output streams are written to files in `folder`. With pipes, a program could block while this
    /// thread waits for it to exit.
    ///
    /// - Parameters:
    ///   - folder: a folder for the program's temporary files and its output.
    ///   - outputLimit: the maximum number of bytes of standard output that are returned. The rest is
    ///     ignored.
    ///   - names: more environment variables that the program receives from this process.
    ///   - isStopped: polled at least every 100 ms. When it returns true, the process group is killed.
    /// - Returns: nil if the program was killed because of `isStopped`.
    package static func run(
        _ program: String, _ arguments: [String], in folder: String, outputLimit: Int = 1 << 20,
        keeping names: [String] = [], isStopped: () -> Bool
    ) throws(SystemError) -> Outcome? {
        let (output, errors) = ("\(folder)/output", "\(folder)/errors")
        let process = try start(program, arguments, in: folder, output, errors, names)
        var status: Int32 = 0
        // Polls at intervals from 1 to 100 ms, so that short programs are noticed soon and long ones cost little CPU.
        var pauseMicroseconds: UInt32 = 1000
        while true {
            let reaped = waitpid(process, &status, WNOHANG)
            if reaped == process { break }
            guard reaped == 0 || errno == EINTR else { throw SystemError(errno, doing: "wait for", program) }
            if isStopped() {
                kill(-process, SIGKILL)
                while waitpid(process, &status, 0) < 0 && errno == EINTR {}
                return nil
            }
            usleep(pauseMicroseconds)
            pauseMicroseconds = min(pauseMicroseconds * 2, 100_000)
        }
        // WIFEXITED, WEXITSTATUS and WTERMSIG, which are C macros that Swift cannot import.
        let code = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
        let errorBytes = try WholeFile.beginning(of: errors, maxReadErrorBytes).suffix(maxErrorBytes)
        return Outcome(
            status: code, output: try WholeFile.beginning(of: output, outputLimit),
            errors: String(decoding: errorBytes, as: UTF8.self))
    }

    private static func start(
        _ program: String, _ arguments: [String], in folder: String, _ output: String, _ errors: String,
        _ inheritedNames: [String]
    ) throws(SystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The program would otherwise inherit this thread's signal mask and this process's ignored signals.
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process = pid_t()
        let names = ["PATH", "LANG", "LC_ALL"] + inheritedNames
        let inherited = names.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        let replaced = ["TMPDIR", "HOME"].filter { !inheritedNames.contains($0) }.map { "\($0)=\(folder)" }
        let status = ([program] + arguments).withCStrings { arguments in
            (inherited + replaced).withCStrings { environment in
                posix_spawn(&process, program, &actions, &attributes, arguments, environment)
            }
        }
        guard status == 0 else { throw SystemError(status, doing: "start", program) }
        return process
    }
}

extension [String] {
    /// Calls `body` with the strings as a null-terminated array of C strings, as `exec` takes arguments. The
    /// pointers are valid only during the call.
    package func withCStrings<Result>(_ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        let pointers = map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
