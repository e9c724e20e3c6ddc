internal import Glibc

/// Another program, started and left alone.
enum Program {
    /// False when it cannot be started.
    static func start(_ name: String, _ operands: [String]) -> Bool {
        var words = ([name] + operands).map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return false }
        defer { posix_spawn_file_actions_destroy(&actions) }
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            guard posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0) == 0 else { return false }
        }
        var child = pid_t()
        return posix_spawnp(&child, name, &actions, nil, words, environ) == 0
    }
}
