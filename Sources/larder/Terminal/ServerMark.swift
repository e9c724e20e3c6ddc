internal import Glibc

/// By which a server of this user's is found by its port: a lock on a file, which the kernel lets go of when the server ends,
/// however it ends. Nothing has to be cleaned up, and no number of a process is written down that another may have by then.
final class ServerMark: Sendable {
    private let file: Int32

    /// Nil when there is no place for it, or another server holds it: serving needs no mark.
    init?(port: UInt16) {
        guard let path = Self.path(port: port, makesFolder: true) else { return nil }
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return nil }
        var lock = Self.lock()
        guard fcntl(file, F_SETLK, &lock) == 0 else {
            close(file)
            return nil
        }
        self.file = file
    }

    deinit { close(file) }

    /// Asks the server on the port to end, and returns when it has. False when there is none.
    static func stopServer(port: UInt16) -> Bool {
        guard let path = path(port: port, makesFolder: false) else { return false }
        let file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return false }
        defer { close(file) }
        var lock = Self.lock()
        guard fcntl(file, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK), lock.l_pid > 0,
            kill(lock.l_pid, SIGTERM) == 0
        else { return false }
        var own = Self.lock()
        while fcntl(file, F_SETLKW, &own) != 0 { guard errno == EINTR else { return false } }
        return true
    }

    private static func lock() -> flock {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return lock
    }

    /// In a folder that only this user writes to.
    private static func path(port: UInt16, makesFolder: Bool) -> String? {
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        let folder = runtime.hasPrefix("/") ? runtime + "/larder" : "/tmp/larder-\(geteuid())"
        if makesFolder { mkdir(folder, 0o700) }
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
            return nil
        }
        return folder + "/serve-\(port).lock"
    }
}
