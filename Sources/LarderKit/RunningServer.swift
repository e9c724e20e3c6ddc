internal import Glibc
internal import Store
internal import System
internal import Web

/// A server of this user that runs on this machine.
///
/// A server records itself in a file that it keeps locked (`ServeOptions.isRecorded`). The kernel releases the lock
/// when the server ends for any reason. Unlike a file with only a process number, a record is never stale.
public struct RunningServer: Sendable, Equatable {
    /// The port on which it listens.
    public let port: UInt16
    /// The number of its process.
    public let processID: Int32
    /// The URL of its portal, or of the site at its root; nil if an earlier version of Larder runs it.
    public let address: String?
    /// The store that it serves; nil if an earlier version of Larder runs it.
    public let store: String?
    /// Whether `Larder.address(of:in:at:)` returns URLs that it serves: it has no site at its root, and uses http.
    public let hasEverySite: Bool
    /// Whether it updates sites when they are due.
    public let isScheduled: Bool

    /// The running servers of all stores, by port.
    public static func all() -> [RunningServer] {
        var servers: [UInt16: RunningServer] = [:]
        for folder in ServerRecord.folders() {
            for port in ServerRecord.ports(in: folder) where servers[port] == nil {
                servers[port] = ServerRecord.read(port, in: folder)
            }
        }
        return servers.values.sorted { $0.port < $1.port }
    }

    /// Stops the server, and waits for its end. Returns false if it has ended before, or cannot be stopped.
    public func stop() -> Bool { ServerRecord.stop(port) }
}

extension Larder {
    /// The running servers of this store, by port.
    public func servers() -> [RunningServer] {
        let identity = folder.identity
        return RunningServer.all().filter { $0.store == identity }
    }

    /// The running server of this store with every site at the addresses that `address(of:in:at:)` returns: the one on
    /// the port if there is one, else the one with the lowest port.
    public func server(preferring port: UInt16) -> RunningServer? {
        let servers = servers().filter(\.hasEverySite)
        return servers.first { $0.port == port } ?? servers.first
    }
}

/// The locked file that records a running server. One byte is locked for as long as the server runs, and a second one
/// when the content of the file is that server's.
final class ServerRecord: Sendable {
    private let file: Int32
    private let path: String

    /// The offset of the byte that is locked while the server runs.
    private static let running: off_t = 0
    /// The offset of the byte that is locked once the file contains the data of that server.
    private static let written: off_t = 1

    /// Records a server of this process. Nil if the file cannot be created, or another server has locked it; a server
    /// works without a record, too.
    init?(_ server: RunningServer) {
        guard let folder = Self.folders(makesFirst: true).first else { return nil }
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
            guard Self.lock(file, Self.running, Self.setLock), fstat(file, &status) == 0 else {
                close(file)
                return nil
            }
            // A server that ended meanwhile has removed the file: create another one.
            guard status.st_nlink > 0 else {
                close(file)
                continue
            }
            guard ftruncate(file, 0) == 0, pwrite(file, text, text.count, 0) == text.count,
                Self.lock(file, Self.written, Self.setLock)
            else {
                close(file)
                return nil
            }
            (self.file, self.path) = (file, path)
            return
        }
    }

    deinit {
        unlink(path)
        // A process that is being started has the same open file until it executes its program, so closing the file
        // may not release the locks.
        var all = flock()
        all.l_type = Int16(F_UNLCK)
        all.l_whence = Int16(SEEK_SET)
        _ = fcntl(file, Self.setLock, &all)
        close(file)
    }

    // MARK: - Reading

    /// The running server on a port; nil if there is none.
    static func read(_ port: UInt16, in folder: String) -> RunningServer? {
        let file = open(path(port, in: folder), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        guard let holder = holder(of: running, file) else { return nil }
        // A lock of an earlier version covers the whole file, which is empty, and belongs to a process.
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = max(0, pread(file, &bytes, bytes.count, 0))
        bytes.removeLast(bytes.count - count)
        let json = try? JSONValue.parse(bytes.span)
        guard Self.holder(of: written, file) != nil else { return nil }
        guard let process = holder > 0 ? Int(holder) : json?["pid"]?.int, process > 0 else { return nil }
        return RunningServer(
            port: port, processID: Int32(clamping: process), address: json?["address"]?.string,
            store: json?["store"]?.string, hasEverySite: json?["everySite"]?.bool ?? true,
            isScheduled: json?["scheduled"]?.bool ?? false)
    }

    /// Stops the server on the port, and waits for its end. Returns false if there is none.
    static func stop(_ port: UInt16) -> Bool {
        for folder in folders() {
            // A server removes its record when it ends, so the record has to be open before.
            let file = open(path(port, in: folder), O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { continue }
            defer { close(file) }
            guard let server = read(port, in: folder), kill(server.processID, SIGTERM) == 0 else { continue }
            return lock(file, running, waitForLock)
        }
        return false
    }

    /// The ports of the files in the folder, which may be those of servers that have ended.
    static func ports(in folder: String) -> [UInt16] {
        (Folder.names(in: folder) ?? []).compactMap { name in
            let name = String(decoding: name, as: UTF8.self)
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            return UInt16(name.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count))
        }
    }

    // MARK: - Locks

    /// Takes a lock on one byte. Returns false if another process has it.
    private static func lock(_ file: Int32, _ byte: off_t, _ command: Int32) -> Bool {
        var range = range(of: byte)
        while fcntl(file, command, &range) != 0 { guard errno == EINTR else { return false } }
        return true
    }

    /// The process that has the lock on a byte, or -1 if it is a lock of an open file; nil if it is free.
    private static func holder(of byte: off_t, _ file: Int32) -> pid_t? {
        var range = range(of: byte)
        guard fcntl(file, getLock, &range) == 0, range.l_type != Int16(F_UNLCK) else { return nil }
        return range.l_pid
    }

    private static func range(of byte: off_t) -> flock {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = byte
        range.l_len = 1
        return range
    }

    /// F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW, which Glibc defines only with _GNU_SOURCE. Unlike locks of a
    /// process, these stay when the process reads its own record and closes it.
    private static let (getLock, setLock, waitForLock): (Int32, Int32, Int32) = (36, 37, 38)

    // MARK: - Paths

    private static let (prefix, suffix) = ("serve-", ".lock")

    private static func path(_ port: UInt16, in folder: String) -> String {
        "\(folder)/\(prefix)\(port)\(suffix)"
    }

    /// The folders that may have records, all of which only this user can write to; a new record goes into the first
    /// one. A job of cron has no XDG_RUNTIME_DIR, so it is not the only one.
    ///
    /// - Parameter makesFirst: whether the first folder is created.
    static func folders(makesFirst: Bool = false) -> [String] {
        let user = geteuid()
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        let own = runtime.hasPrefix("/") ? [runtime + "/larder"] : []
        var folders: [String] = []
        for folder in own + ["/run/user/\(user)/larder", "/tmp/larder-\(user)"]
        where !folders.contains(folder) {
            if makesFirst, folders.isEmpty { mkdir(folder, 0o700) }
            var status = stat()
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == user
            else { continue }
            folders.append(folder)
        }
        return folders
    }
}
