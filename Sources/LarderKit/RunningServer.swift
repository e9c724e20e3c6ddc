internal import Glibc
internal import Store
internal import System
internal import Web

/// A Larder server that this user runs on this machine.
///
/// A server stores these values in a file, its record, and keeps the file locked (`ServeOptions.isListed`). The
/// kernel releases the lock when the process ends for any reason, and records without a lock are ignored.
public struct RunningServer: Sendable, Equatable {
    /// The port on which it listens.
    public let port: UInt16
    /// The process ID.
    public let processID: Int32
    /// The URL to open in a browser: the portal, or the site at the root. Nil for a server of an earlier version of
    /// Larder, which did not record it.
    public let address: String?
    /// The absolute path of the store that it serves, or its address without a password. Nil for a server of an earlier
    /// version.
    public let store: String?
    /// Whether the server serves the URLs that `Larder.address(of:in:at:)` returns. It does not if it has a site at its
    /// root, uses https, or can be reached from other machines.
    public let hasEverySite: Bool
    /// Whether it updates sites when they are due.
    public let isScheduled: Bool

    /// The running servers of all stores, sorted by port.
    public static func all() -> [RunningServer] {
        var servers: [UInt16: RunningServer] = [:]
        for folder in ServerRecord.folders() {
            for port in ServerRecord.ports(in: folder) where servers[port] == nil {
                servers[port] = ServerRecord.read(port, in: folder)
            }
        }
        return servers.values.sorted { $0.port < $1.port }
    }

    /// Stops the server that runs on `port` now, and waits until it has stopped, without a time limit. Returns false if
    /// there is none, or the signal cannot be sent.
    public func stop() -> Bool { ServerRecord.stop(port) }
}

extension Larder {
    /// The running servers of this store, sorted by port.
    public func servers() -> [RunningServer] {
        let identity = folder.identity
        return RunningServer.all().filter { $0.store == identity }
    }

    /// Returns a running server of this store that serves the URLs that `address(of:in:at:)` returns: the one on `port`
    /// if there is one, else the one with the lowest port. Returns nil if there is none.
    public func server(preferring port: UInt16) -> RunningServer? {
        let servers = servers().filter(\.hasEverySite)
        return servers.first { $0.port == port } ?? servers.first
    }
}

/// The record of a running server: a locked JSON file with the values of `RunningServer`, named after the port.
///
/// The server locks a first byte as long as it runs, and a second one as soon as it has written the file. In between,
/// the file may have the content of an earlier server that was killed. `deinit` removes the file and releases the locks.
final class ServerRecord: Sendable {
    private let file: Int32
    private let path: String

    /// The offset of the byte that is locked while the server runs.
    private static let runningByte: off_t = 0
    /// The offset of the byte that is locked once the file contains the values of that server.
    private static let writtenByte: off_t = 1

    /// Records a server of this process. Returns nil if the file cannot be written, or another server has locked it.
    /// The server works without a record too, but is not found.
    init?(_ server: RunningServer) {
        guard let folder = Self.folders(createsFirst: true).first else { return nil }
        let members: JSONMembers = [
            "pid": Int(server.processID), "address": server.address, "store": server.store,
            "everySite": server.hasEverySite, "scheduled": server.isScheduled,
        ]
        let text = Array((members.text(.compact) + "\n").utf8)
        let path = Self.path(server.port, in: folder)
        var status = stat()
        while true {
            let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard file >= 0 else { return nil }
            guard Self.lock(Self.runningByte, of: file, Self.setLock), fstat(file, &status) == 0 else {
                close(file)
                return nil
            }
            // An ending server removed the file after it was opened here: create a new one.
            guard status.st_nlink > 0 else {
                close(file)
                continue
            }
            guard ftruncate(file, 0) == 0, pwrite(file, text, text.count, 0) == text.count,
                Self.lock(Self.writtenByte, of: file, Self.setLock)
            else {
                close(file)
                return nil
            }
            (self.file, self.path) = (file, path)
            return
        }
    }

    deinit {
        // Removed before it is unlocked, so that a server that locks it then knows that it has to create a new file.
        unlink(path)
        // Another thread may be starting a process. Until that executes its program, it shares the open file, and
        // closing the file would not release the locks.
        var all = flock()
        all.l_type = Int16(F_UNLCK)
        all.l_whence = Int16(SEEK_SET)
        _ = fcntl(file, Self.setLock, &all)
        close(file)
    }

    // MARK: - Reading

    /// Returns the running server on a port; nil if the record is missing or not locked.
    static func read(_ port: UInt16, in folder: String) -> RunningServer? {
        let file = open(path(port, in: folder), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // The server locks the second byte after it has written the record. Until then, the record may be that of a
        // server that was killed.
        guard let holder = lockHolder(of: runningByte, in: file), lockHolder(of: writtenByte, in: file) != nil
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = max(0, pread(file, &bytes, bytes.count, 0))
        bytes.removeLast(bytes.count - count)
        let json = try? JSONValue.parse(bytes.span)
        // Earlier versions of Larder lock a whole empty file for the process, so the kernel reports its process ID. Now
        // the ID is in the file.
        guard let process = holder > 0 ? Int(holder) : json?["pid"]?.int, process > 0 else { return nil }
        return RunningServer(
            port: port, processID: Int32(clamping: process), address: json?["address"]?.string,
            store: json?["store"]?.string, hasEverySite: json?["everySite"]?.bool ?? true,
            isScheduled: json?["scheduled"]?.bool ?? false)
    }

    /// Sends a signal to the server on the port, and waits until it has stopped. Returns false if there is none, or the
    /// signal cannot be sent.
    static func stop(_ port: UInt16) -> Bool {
        for folder in folders() {
            // Opened before the signal is sent, because the server removes the file when it stops.
            let file = open(path(port, in: folder), O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { continue }
            defer { close(file) }
            guard let server = read(port, in: folder), kill(server.processID, SIGTERM) == 0 else { continue }
            // The server holds this lock until it has stopped.
            return lock(runningByte, of: file, waitForLock)
        }
        return false
    }

    /// The ports in the names of the record files in the folder. Some may be left from servers that were killed.
    static func ports(in folder: String) -> [UInt16] {
        (Folder.names(in: folder) ?? []).compactMap { name in
            let name = String(decoding: name, as: UTF8.self)
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            return UInt16(name.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count))
        }
    }

    // MARK: - Locks

    /// Locks one byte of the file. Returns false if that fails, or the byte is locked and `command` does not wait.
    ///
    /// - Parameter command: `setLock` or `waitForLock`.
    private static func lock(_ byte: off_t, of file: Int32, _ command: Int32) -> Bool {
        var range = lockRange(of: byte)
        while fcntl(file, command, &range) != 0 { guard errno == EINTR else { return false } }
        return true
    }

    /// Returns the ID of the process that has locked a byte, or -1 if the lock belongs to an open file; nil if the byte
    /// is not locked.
    private static func lockHolder(of byte: off_t, in file: Int32) -> pid_t? {
        var range = lockRange(of: byte)
        guard fcntl(file, getLock, &range) == 0, range.l_type != Int16(F_UNLCK) else { return nil }
        return range.l_pid
    }

    private static func lockRange(of byte: off_t) -> flock {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = byte
        range.l_len = 1
        return range
    }

    /// F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW, which Glibc defines only with _GNU_SOURCE. These locks belong to an
    /// open file. Locks of a process would end when the process opens its own record to read it, and closes it again.
    private static let (getLock, setLock, waitForLock): (Int32, Int32, Int32) = (36, 37, 38)

    // MARK: - Paths

    private static let (prefix, suffix) = ("serve-", ".lock")

    private static func path(_ port: UInt16, in folder: String) -> String {
        "\(folder)/\(prefix)\(port)\(suffix)"
    }

    /// The existing folders for records, which belong to this user. A new record goes into the first one. There are
    /// several, because XDG_RUNTIME_DIR is not set for cron jobs, and /run/user may be missing.
    ///
    /// - Parameter createsFirst: whether to create the first folder that can be created.
    static func folders(createsFirst: Bool = false) -> [String] {
        let user = geteuid()
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        let runtimeFolder = runtime.hasPrefix("/") ? [runtime + "/larder"] : []
        var folders: [String] = []
        for folder in runtimeFolder + ["/run/user/\(user)/larder", "/tmp/larder-\(user)"]
        where !folders.contains(folder) {
            if createsFirst, folders.isEmpty { mkdir(folder, 0o700) }
            var status = stat()
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == user
            else { continue }
            folders.append(folder)
        }
        return folders
    }
}
