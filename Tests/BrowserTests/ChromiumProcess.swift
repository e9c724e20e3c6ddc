import Glibc
import TestOrigin

/// A Chromium in a process group and a profile folder of its own; both end with this value.
final class ChromiumProcess {
    /// Our end of the socket whose other end the browser has as its descriptors 3 and 4.
    let descriptor: Int32
    private let identifier: pid_t
    private let folder: TemporaryFolder

    /// Where the browser is installed; nil when it is not.
    static let executable: String? = {
        let search = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":") + ["/usr/bin"]
        let candidates = search.flatMap { ["\($0)/chromium", "\($0)/chromium-browser", "\($0)/google-chrome"] }
        return candidates.first { access($0, X_OK) == 0 }
    }()

    init(arguments: [String]) throws(ChromiumError) {
        guard let executable = Self.executable else {
            throw ChromiumError("starting chromium", "it is not installed; scripts/test installs it")
        }
        do throws(TestError) {
            folder = try TemporaryFolder("larder-chromium")
            // A fresh context is a private window, which would keep cookies from all frames and requests of other sites.
            for name in ["profile", "profile/Default"] { mkdir(folder.file(name), 0o700) }
            try folder.write(#"{"profile":{"cookie_controls_mode":0}}"#, to: "profile/Default/Preferences")
        } catch {
            throw ChromiumError(error.doing, error.why)
        }
        (descriptor, identifier) = try Self.spawn(
            executable, ["--user-data-dir=\(folder.file("profile"))"] + arguments, in: folder)
    }

    deinit {
        kill(-identifier, SIGKILL)
        close(descriptor)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
    }

    private static func spawn(
        _ executable: String, _ arguments: [String], in folder: TemporaryFolder
    ) throws(ChromiumError) -> (descriptor: Int32, identifier: pid_t) {
        var ends: [Int32] = [-1, -1]
        // A socket and not two pipes: writing to a browser that is gone must not raise SIGPIPE.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ChromiumError("making a socket for chromium", errno: errno)
        }
        // Above 3 and 4, which the child overwrites.
        let theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10)
        close(ends[1])
        guard theirs >= 0 else {
            close(ends[0])
            throw ChromiumError("making a socket for chromium", errno: errno)
        }
        defer { close(theirs) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, folder.file("log"), O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&actions, theirs, 3)
        posix_spawn_file_actions_adddup2(&actions, theirs, 4)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))

        // Chromium leaves folders in TMPDIR.
        var surroundings = ["TMPDIR=\(folder.path)"]
        var variable = environ
        while let text = variable.pointee {
            let text = String(cString: text)
            if !text.hasPrefix("TMPDIR=") { surroundings.append(text) }
            variable += 1
        }
        var identifier = pid_t()
        let status = withCStrings([executable] + arguments) { words in
            withCStrings(surroundings) { surroundings in
                posix_spawn(&identifier, executable, &actions, &attributes, words, surroundings)
            }
        }
        guard status == 0 else {
            close(ends[0])
            throw ChromiumError("starting \(executable)", errno: status)
        }
        return (ends[0], identifier)
    }

    /// Lends the texts as C takes the arguments of a program: pointers, closed by a null.
    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
