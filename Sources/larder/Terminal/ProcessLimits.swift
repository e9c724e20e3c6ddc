internal import Glibc

/// What a process starts with, put in order before anything is opened.
enum ProcessLimits {
    /// Takes the place of standard streams that are closed, so that no database or socket gets their numbers and is
    /// written to for them. Opened the wrong way round, they still refuse to be used.
    static func holdStandardStreams() {
        for file in STDIN_FILENO...STDERR_FILENO where fcntl(file, F_GETFD) < 0 {
            // The lowest free number is this one.
            _ = open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// As many open files as we may have: the soft limit is 1,024 on most systems, for programs that use `select`.
    static func raiseOpenFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
