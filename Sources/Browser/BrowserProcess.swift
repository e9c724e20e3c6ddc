internal import Glibc
internal import System
internal import Web

/// A browser process in its own process group, with the temporary folder that it may write to. Releasing this
/// object ends both.
///
/// Not thread-safe: use it from one thread.
package final class BrowserProcess {
    /// Our end of the socket pair, non-blocking. The browser has the other end as its descriptors 3 and 4.
    package let descriptor: Int32
    /// The process ID of the browser, which is also the ID of its process group.
    package let identifier: Int32
    /// The temporary folder for everything that the browser writes outside its profile. It also holds the
    /// profile if none was named.
    package let folder: String
    /// The locked file that tells other processes that the folder is in use.
    private let lock: Int32
    private var hasEnded = false
    private var hasRemoved = false

    /// - Parameters:
    ///   - profile: a permanent profile folder; nil for one in the temporary folder.
    ///   - scratch: the parent of the temporary folder; nil for TMPDIR.
    ///   - keepsHome: whether the browser keeps our HOME. A window needs the display settings stored there.
    ///   - niceness: as in ``BrowserOptions``.
    ///   - preferences: the preferences of a new profile.
    ///   - arguments: returns the arguments for the given profile folder.
    package init(
        _ executable: String, profile: String? = nil, scratch: String? = nil, keepsHome: Bool = false,
        niceness: Int32 = 0, preferences: String = BrowserOptions.preferences,
        arguments: (_ profile: String) -> [String]
    ) throws(BrowserError) {
        let doing = "starting \(executable)"
        do throws(SystemError) {
            folder = try Self.makeFolder(in: scratch)
            lock = try Self.lock(folder)
        } catch {
            throw BrowserError(error, doing: doing)
        }
        do throws(SystemError) {
            let profile = profile ?? "\(folder)/profile"
            try Folder.make("\(profile)/Default")
            let files = [
                ("Default/Preferences", preferences),
                ("Local State", BrowserOptions.localState),
            ]
            for (name, text) in files where !WholeFile.exists("\(profile)/\(name)") {
                try WholeFile.replace("\(profile)/\(name)", with: text)
            }
            (descriptor, identifier) = try Self.spawn(
                executable, arguments(profile), in: folder, keepsHome: keepsHome, niceness: niceness)
        } catch {
            Folder.remove(folder)
            close(lock)
            throw BrowserError(error, doing: doing)
        }
    }

    deinit { end(within: .zero) }

    /// The last lines of the browser's log, joined to one line of at most 500 bytes. Empty if there is no log.
    var lastLogLines: String {
        let log = (try? WholeFile.read(folder + "/log", atMost: Self.maxLogBytes * 2)) ?? []
        let lines = log.suffix(2000).split(separator: 0x0A).suffix(3)
        return String(decoding: lines.joined(separator: [0x20]).suffix(500), as: UTF8.self)
    }

    /// Empties the log if it is longer than `maxLogBytes`. Call it from time to time, because pages can write to the log without
    /// end.
    func trimLog() {
        var status = stat()
        guard stat(folder + "/log", &status) == 0, status.st_size > Self.maxLogBytes else { return }
        truncate(folder + "/log", 0)
    }

    /// The size in bytes above which the log is emptied.
    private static let maxLogBytes = 1 << 20

    // MARK: - The end

    /// Waits up to `grace` for the browser to exit, then kills its process group and removes the folder.
    package func end(within grace: Duration) {
        kill(after: grace)
        removeFolder()
    }

    /// Ends the browser like ``end(within:)``, but keeps the folder with the log until this object is released.
    func kill(after grace: Duration) {
        guard !hasEnded else { return }
        hasEnded = true
        let age = Stopwatch()
        while !isDead, age.elapsed < grace { usleep(2000) }
        close(descriptor)
        // Until the browser is reaped by waitpid, its ID, and so that of its group, cannot be reused.
        Glibc.kill(-identifier, SIGKILL)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
        // The other processes are reaped by init, which may take some time. Wait until they have ended.
        for _ in 0..<200 where isGroupAlive { usleep(10_000) }
    }

    /// Whether a process of the group is running. Zombies do not count.
    private var isGroupAlive: Bool {
        guard Glibc.kill(-identifier, 0) == 0 else { return false }
        return (Folder.names(in: "/proc") ?? []).contains { name in
            guard name.allSatisfy(\.isASCIIDigit) else { return false }
            let path = "/proc/" + String(decoding: name, as: UTF8.self) + "/stat"
            // The name of the process, in brackets, may contain anything. After it come state, parent and
            // group.
            guard let text = try? WholeFile.beginning(of: path, 1024),
                let end = text.lastIndex(of: 0x29)
            else { return false }
            let words = String(decoding: text[(end + 1)...], as: UTF8.self).split(separator: " ")
            return words.count > 2 && words[0] != "Z" && words[2] == "\(identifier)"
        }
    }

    private func removeFolder() {
        guard !hasRemoved else { return }
        hasRemoved = true
        // Killed processes may still write for a moment.
        for _ in 0..<100 {
            Folder.remove(folder)
            guard access(folder, F_OK) == 0 else { break }
            usleep(10_000)
        }
        close(lock)
    }

    /// Whether the browser has exited; does not reap it.
    private var isDead: Bool {
        var info = siginfo_t()
        let code = waitid(P_PID, id_t(identifier), &info, WEXITED | WNOHANG | WNOWAIT)
        return code != 0 && errno != EINTR || info.si_signo != 0
    }

    // MARK: - The start

    /// Creates the temporary folder. The path of a socket in it is limited to 107 bytes, so that a `scratch`
    /// path longer than 40 bytes is not used.
    private static func makeFolder(in scratch: String?) throws(SystemError) -> String {
        guard let scratch, scratch.utf8.count <= 40 else {
            let folder = try Folder.makeTemporary(named: "larder-browser")
            sweep(beside: folder)
            return folder
        }
        defer { sweep(beside: scratch + "/") }
        var template = Array("\(scratch)/larder-browser-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SystemError(errno, doing: "create a folder in", scratch)
        }
        return template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    /// Creates and locks the lock file. It gets its final name only when it is locked, so that no other
    /// process takes the folder for an abandoned one.
    private static func lock(_ folder: String) throws(SystemError) -> Int32 {
        let draft = folder + "/lock.part"
        let lock = open(draft, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX) == 0, rename(draft, folder + "/lock") == 0 else {
            let code = errno
            if lock >= 0 { close(lock) }
            Folder.remove(folder)
            throw SystemError(code, doing: "lock", folder)
        }
        return lock
    }

    /// Removes the folders of browsers whose owner was killed, so that nothing locks their lock file any more.
    private static func sweep(beside path: String) {
        let parent = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
        for name in Folder.names(in: parent) ?? [] where name.starts(with: "larder-browser-".utf8) {
            let folder = parent + "/" + String(decoding: name, as: UTF8.self)
            let lock = open(folder + "/lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard lock >= 0 else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { Folder.remove(folder) }
            close(lock)
        }
    }

    /// Starts the browser on a thread that has the wanted niceness, which the browser inherits.
    private static func spawn(
        _ executable: String, _ arguments: [String], in folder: String, keepsHome: Bool, niceness: Int32
    ) throws(SystemError) -> (descriptor: Int32, identifier: Int32) {
        guard niceness > 0 else {
            return try spawn(executable, arguments, in: folder, keepsHome: keepsHome)
        }
        let result = Monitor<Result<(descriptor: Int32, identifier: Int32), SystemError>?>(nil)
        let thread = try NamedThread.start("larder-launch") {
            // On Linux, this concerns the calling thread only.
            setpriority(Int32(PRIO_PROCESS.rawValue), 0, niceness)
            let spawned = Result { () throws(SystemError) in
                try spawn(executable, arguments, in: folder, keepsHome: keepsHome)
            }
            result.change { $0 = spawned }
        }
        defer { thread.join() }
        return try result.wait { $0 }.get()
    }

    private static func spawn(
        _ executable: String, _ arguments: [String], in folder: String, keepsHome: Bool
    ) throws(SystemError) -> (descriptor: Int32, identifier: Int32) {
        var ends: [Int32] = [-1, -1]
        // A socket pair and not two pipes: writing to an ended browser must not raise SIGPIPE.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemError(errno, doing: "create", "a socket")
        }
        // The descriptor must not be 3 or 4, which the child overwrites.
        let theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10)
        let code = errno
        close(ends[1])
        guard theirs >= 0 else {
            close(ends[0])
            throw SystemError(code, doing: "create", "a socket")
        }
        defer { close(theirs) }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        let log = folder + "/log"
        posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, theirs, 3)
        posix_spawn_file_actions_adddup2(&actions, theirs, 4)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The child would inherit our blocked and ignored signals.
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var identifier = pid_t()
        let status = ([executable] + arguments).withCStrings { words in
            environment(in: folder, keepsHome: keepsHome).withCStrings { environment in
                posix_spawn(&identifier, executable, &actions, &attributes, words, environment)
            }
        }
        guard status == 0 else {
            close(ends[0])
            throw SystemError(status, doing: "start", executable)
        }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], identifier)
    }

    /// Our environment, but with the folders for temporary files, settings, cache and data in the browser's
    /// folder. Some builds do not start without the folders for settings and cache.
    private static func environment(in folder: String, keepsHome: Bool) -> [String] {
        var places = [
            "TMPDIR": folder, "XDG_CONFIG_HOME": folder + "/config", "XDG_CACHE_HOME": folder + "/cache",
            "XDG_DATA_HOME": folder + "/data",
        ]
        if !keepsHome { places["HOME"] = folder }
        var texts = places.map { "\($0)=\($1)" }
        var variable = environ
        while let pointer = variable.pointee {
            let text = String(cString: pointer)
            if places[String(text.prefix { $0 != "=" })] == nil { texts.append(text) }
            variable += 1
        }
        return texts
    }
}
