import Glibc
import TestOrigin

/// A program of the system, which a test needs beside it.
final class Program: Sendable {
    private let process: pid_t

    /// - Parameter log: a file that gets what it prints.
    init(_ words: [String], log: String) throws(SystemError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // A test's thread holds signals off, and a program would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let arguments = words.map { strdup($0) } + [nil]
        let environment = [strdup("PATH=/usr/sbin:/usr/bin:/sbin:/bin"), nil]
        defer { for text in arguments + environment { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, words[0], &actions, &attributes, arguments, environment)
        guard code == 0 else { throw SystemError("starting \(words[0])", errno: code) }
        self.process = process
    }

    /// Runs it to its end; throws when that was not a good one.
    static func run(_ words: [String], log: String) throws(SystemError) {
        let program = try Program(words, log: log)
        guard program.wait() == 0 else { throw SystemError("running \(words.joined(separator: " "))", errno: EINVAL) }
    }

    func stop() {
        kill(process, SIGTERM)
        _ = wait()
    }

    private func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    static func isThere(_ path: String) -> Bool { access(path, X_OK) == 0 }
}
