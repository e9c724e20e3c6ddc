internal import Glibc
internal import System

/// Another program, started and left alone.
enum Program {
    /// False when it cannot be started.
    static func start(_ name: String, _ operands: [String]) -> Bool {
        spawn(name, [name] + operands, output: nil)
    }

    /// Starts larder once more, in a session of its own, which no Ctrl-C reaches. Returns the first line that it prints, be it
    /// of an error, after which nobody listens to it; nil when it cannot be started or ends without a word.
    static func startDetached(_ operands: [String]) -> String? {
        guard let pipe = try? Pipe() else { return nil }
        defer { close(pipe.reading) }
        let hasStarted = spawn("/proc/self/exe", ["larder"] + operands, output: pipe.writing)
        close(pipe.writing)
        guard hasStarted else { return nil }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(pipe.reading, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    /// `POSIX_SPAWN_SETSID`, which the importer does not see.
    private static let newSession: Int16 = 0x80

    private static func spawn(_ path: String, _ words: [String], output: Int32?) -> Bool {
        var words = words.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return false }
        defer { posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        guard posix_spawnattr_init(&attributes) == 0 else { return false }
        defer { posix_spawnattr_destroy(&attributes) }
        guard posix_spawnattr_setflags(&attributes, Self.newSession) == 0 else { return false }
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            let code =
                if let output, stream != STDIN_FILENO {
                    posix_spawn_file_actions_adddup2(&actions, output, stream)
                } else {
                    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
                }
            guard code == 0 else { return false }
        }
        var child = pid_t()
        return posix_spawnp(&child, path, &actions, &attributes, words, environ) == 0
    }
}
