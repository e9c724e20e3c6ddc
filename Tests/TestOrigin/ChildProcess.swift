import Glibc

/// A running program, with functions to read its output, send it signals and wait for its end.
///
///     let child = try ChildProcess("/bin/echo", ["hello"])
///     #expect(child.wait().output == "hello\n")
package struct ChildProcess: Sendable {
    /// The result of a program that has ended.
    package struct Ending: Sendable {
        /// The exit status, or the negated number of the signal that ended the program.
        package let status: Int32
        package let output: String
        package let errors: String
        /// The maximum resident memory in KiB.
        package let mostKilobytes: Int
    }

    /// The destination of an output stream.
    package enum Output {
        /// Captured in a pipe, for `read` and `wait`.
        case kept
        /// Inherited from this process.
        case shared
        case file(String)
    }

    package let process: Int32
    /// The reading ends of the pipes for captured output; -1 if it is not captured.
    private let output: Int32
    private let errors: Int32

    /// - Parameters:
    ///   - words: the arguments after the program's name.
    ///   - environment: the whole environment; nothing is inherited.
    ///   - blocksOutput: false makes standard output a non-blocking pipe.
    package init(
        _ program: String, _ words: [String] = [], environment: [String: String] = [:],
        output: Output = .kept,
        errors: Output = .kept, blocksOutput: Bool = true
    ) throws(TestError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        var starts: [Int32] = []
        defer { for start in starts { close(start) } }
        var ends: [Int32] = []
        for (descriptor, output) in [(1, output), (2, errors)] as [(Int32, Output)] {
            switch output {
            case .kept:
                let (end, start) = try Self.pipe()
                if descriptor == 1, !blocksOutput { _ = fcntl(start, F_SETFL, O_NONBLOCK) }
                posix_spawn_file_actions_adddup2(&actions, start, descriptor)
                starts.append(start)
                ends.append(end)
            case .shared:
                ends.append(-1)
            case .file(let path):
                posix_spawn_file_actions_addopen(
                    &actions, descriptor, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                ends.append(-1)
            }
        }
        // A program inherits which signals are blocked and which are ignored. A thread of a test blocks some,
        // and `nohup` ignores SIGHUP.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let arguments = ([program] + words).map { strdup($0) } + [nil]
        let settings = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + settings { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, program, &actions, &attributes, arguments, settings)
        guard code == 0 else {
            for end in ends where end >= 0 { close(end) }
            throw TestError("starting \(program)", errno: code)
        }
        self.process = process
        (self.output, self.errors) = (ends[0], ends[1])
    }

    package func signal(_ number: Int32) {
        kill(process, number)
    }

    /// Whether the program has ended. Does not reap it, so `wait` still works.
    package var hasEnded: Bool {
        var information = siginfo_t()
        return waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
            && information.si_signo == SIGCHLD
    }

    /// Reads standard output up to `byteCount` bytes; fewer if it ends or hangs before.
    package func read(_ byteCount: Int) -> String {
        var bytes: [UInt8] = []
        while bytes.count < byteCount, let byte = readByte() { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads standard output until it contains `text`, or until it ends or hangs.
    package func read(until text: String) -> String {
        var bytes: [UInt8] = []
        while !String(decoding: bytes, as: UTF8.self).contains(text), let byte = readByte() {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil at the end of the output, or if the program prints nothing for `hangMilliseconds`.
    private func readByte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let ready = poll(&waiting, 1, Self.hangMilliseconds)
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { return nil }
            let count = Glibc.read(output, &byte, 1)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }

    private static let hangMilliseconds: Int32 = 600_000

    /// Closes the reading end of standard output, so that the program's next write to it fails with EPIPE.
    package func stopReading() {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        dup2(nothing, output)
        close(nothing)
    }

    /// Waits for the end of the program. For small outputs only: standard error is read after standard output
    /// has ended, so that a full pipe would block the program.
    package func wait() -> Ending {
        let text = Self.readAll(output)
        let complaints = Self.readAll(errors)
        var status: Int32 = 0
        var usage = rusage()
        while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return Ending(
            status: signal == 0 ? status >> 8 & 0xFF : -signal, output: text, errors: complaints,
            mostKilobytes: usage.ru_maxrss)
    }

    /// The path of a program of this package, in the build folder of the running program.
    package static func built(_ name: String) -> String {
        let own = realpath("/proc/self/exe", nil)
        defer { free(own) }
        let path = own.map { String(cString: $0) } ?? ""
        return path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) + "/" + name
    }

    private static func readAll(_ descriptor: Int32) -> String {
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }

    private static func pipe() throws(TestError) -> (end: Int32, start: Int32) {
        var ends: [Int32] = [0, 0]
        // Closed on exec from the start: a program that another thread starts at this moment would hold it
        // open.
        guard CloseOnExec.pipe(&ends, O_CLOEXEC) == 0 else { throw TestError("making a pipe") }
        return (ends[0], ends[1])
    }
}
