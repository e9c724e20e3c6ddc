internal import Glibc
internal import System

/// The locks of a store, a byte of one file each: byte 0 is shared by everyone who writes, byte N is the site
/// N.
///
/// The kernel lets go of them when the process ends, however it ends, so that no stale lock is ever left.
struct StoreLocks: ~Copyable {
    private let file: File
    private let folder: StoreFolder
    /// Nil where the file tells.
    private let served: ServerLocks?

    init(_ folder: StoreFolder) throws(StoreError) {
        try self.init(folder, served: nil)
    }

    /// Those of a PostgreSQL, by a session of its own that writes too: when that is cut, neither is held, nor
    /// is anything written any more.
    init(_ folder: StoreFolder, of connection: Connection) throws(StoreError) {
        try self.init(folder, served: connection.session.map(ServerLocks.init))
    }

    private init(_ folder: StoreFolder, served: ServerLocks?) throws(StoreError) {
        self.folder = folder
        self.served = served
        file = try StoreError.wrapping { () throws(SystemError) in
            try File(folder.locks, O_RDWR | O_CREAT, doing: "open")
        }
    }

    /// Closes a store to others that an earlier larder made, or that is being made in a folder which was
    /// there. Once, when somebody first opens it to write: its tables tell nothing of modes, and who opens it
    /// to others later means that.
    func tightenOnce() {
        guard file.byteCount == 0 else { return }
        folder.tighten()
        // What stands in the file says that it is done. On a full disk it is done again.
        _ = pwrite(file.descriptor, "1", 1, 0)
    }

    deinit {
        // A process that is just being started has the file open too until it becomes another program.
        var all = flock()
        all.l_type = Int16(F_UNLCK)
        all.l_whence = Int16(SEEK_SET)
        _ = fcntl(file.descriptor, Self.setLockOfDescription, &all)
    }

    /// What only one may do at a time, each at a byte of its own that is no site's.
    enum Task: Int64 {
        case settingUp = 0x4000_0000_0000_0000
        /// Shared by those who read a body out of a pack, from looking up its place on.
        case reading = 0x4000_0000_0000_0001
        /// Held by whoever wants those who write to let go for a while.
        case collecting = 0x4000_0000_0000_0002
        /// Shared by those who have let go, and go on afterwards.
        case pausing = 0x4000_0000_0000_0003
    }

    /// Holds again what was held by a session that is no more. Fails with `.busy` when somebody else has it.
    func renew() throws(StoreError) {
        guard try served?.renew() ?? true else {
            throw StoreError(
                .busy, doing: "continue with", path: folder.name,
                detail: "another process took over the site while the server was unreachable")
        }
    }

    /// Runs `body` when nobody else is at the task; waits until then.
    func whileAlone(_ task: Task, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        _ = try lock(task.rawValue, F_WRLCK, waiting: true)
        let result = Result { () throws(StoreError) in try body() }
        _ = try lock(task.rawValue, F_UNLCK)
        try result.get()
    }

    /// From here on others see that this one writes. Calls `ifAlone` first when nobody else does; whoever
    /// comes meanwhile waits for it.
    func join(ifAlone: () throws(StoreError) -> Void) throws(StoreError) {
        if try lock(Task.pausing.rawValue, F_WRLCK) {
            if try lock(0, F_WRLCK) { try ifAlone() }
            _ = try lock(Task.pausing.rawValue, F_UNLCK)
        }
        _ = try lock(0, F_RDLCK, waiting: true)
    }

    /// Runs `body` while nobody else writes; whoever comes meanwhile waits. Fails with `.busy` when somebody
    /// is at work.
    func alone(doing: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        guard try lockAlone() else {
            throw StoreError(
                .busy, doing: doing, path: folder.name,
                detail: "another command is writing to the store; try again when it has ended")
        }
        let result = Result { () throws(StoreError) in try body() }
        _ = try lock(0, F_RDLCK)
        try result.get()
    }

    /// The same where those who write let go when they are asked to: they do between two transactions, and go
    /// on when `body` is done, of which they know no more than that. `body` is told whether there are such.
    func aloneForAWhile(doing: String, _ body: (_ isBeside: Bool) throws(StoreError) -> Void)
        throws(StoreError)
    {
        if try lockAlone() {
            let result = Result { () throws(StoreError) in try body(false) }
            _ = try lock(0, F_RDLCK)
            return try result.get()
        }
        // Those who write look whether somebody has it, for a moment at a time.
        guard try waits(for: Task.collecting.rawValue) else {
            throw StoreError(.busy, doing: doing, path: folder.name, detail: "another collection is running")
        }
        let result = Result { () throws(StoreError) in
            guard try waits(for: 0) else {
                throw StoreError(
                    .busy, doing: doing, path: folder.name, detail: "another process is writing to it")
            }
            try body(true)
        }
        _ = try lock(0, F_RDLCK, waiting: true)
        _ = try lock(Task.collecting.rawValue, F_UNLCK)
        try result.get()
    }

    /// Holds the store alone; false when somebody writes, or has let go of it and has not come back yet:
    /// between two collections the one who paused may have no lock but that of pausing.
    private func lockAlone() throws(StoreError) -> Bool {
        guard try lock(Task.pausing.rawValue, F_WRLCK) else { return false }
        let isAlone = try lock(0, F_WRLCK)
        _ = try lock(Task.pausing.rawValue, F_UNLCK)
        return isAlone
    }

    /// Holds it alone; false where others have it for four seconds on end.
    private func waits(for byte: Int64) throws(StoreError) -> Bool {
        for _ in 0..<800 {
            if try lock(byte, F_WRLCK) { return true }
            usleep(5000)
        }
        return false
    }

    /// Lets go for somebody who wants to be alone, between two transactions; returns when that is over. False
    /// when nobody does.
    func pauseIfAsked(_ willPause: () -> Void) throws(StoreError) -> Bool {
        if try lock(Task.collecting.rawValue, F_RDLCK) {
            _ = try lock(Task.collecting.rawValue, F_UNLCK)
            return false
        }
        willPause()
        _ = try lock(Task.pausing.rawValue, F_RDLCK, waiting: true)
        _ = try lock(0, F_UNLCK)
        _ = try lock(Task.collecting.rawValue, F_RDLCK, waiting: true)
        _ = try lock(0, F_RDLCK, waiting: true)
        _ = try lock(Task.collecting.rawValue, F_UNLCK)
        _ = try lock(Task.pausing.rawValue, F_UNLCK)
        return true
    }

    /// Whether a run has the site.
    func isHeld(site: Int64) throws(StoreError) -> Bool {
        guard try lock(site, F_WRLCK) else { return true }
        _ = try lock(site, F_UNLCK)
        return false
    }

    /// Waits until everybody who looked up a body's place before has read it; false where that takes more
    /// than a second.
    func waitForReaders() throws(StoreError) -> Bool {
        for _ in 0..<1000 {
            if try lock(Task.reading.rawValue, F_WRLCK) { return try lock(Task.reading.rawValue, F_UNLCK) }
            usleep(1000)
        }
        return false
    }

    /// Holds a site for one prefetch at a time. Fails with `.busy` when another run has it.
    func hold(site: Int64, named name: String) throws(StoreError) {
        var isHeld = try lock(site, F_WRLCK)
        // Of one whose process was killed just now, a server may not know that yet.
        for _ in 0..<20 where served != nil && !isHeld {
            usleep(50_000)
            isHeld = try lock(site, F_WRLCK)
        }
        guard isHeld else {
            throw StoreError(
                .busy, doing: "prefetch", path: name, detail: "another prefetch of this site is running")
        }
    }

    /// Holds a site along with other workers, against those who want it for themselves.
    func share(site: Int64, named name: String) throws(StoreError) {
        var isHeld = try lock(site, F_RDLCK)
        // One that has just begun the snapshot is about to let go of it.
        for _ in 0..<60 where !isHeld {
            usleep(50_000)
            isHeld = try lock(site, F_RDLCK)
        }
        guard isHeld else {
            throw StoreError(
                .busy, doing: "work on", path: name, detail: "a prefetch of this site is running")
        }
    }

    func release(site: Int64) throws(StoreError) {
        _ = try lock(site, F_UNLCK)
    }

    /// False when another process has it.
    private func lock(_ byte: Int64, _ type: Int32, waiting: Bool = false) throws(StoreError) -> Bool {
        if let served { return try served.lock(byte, type, waiting: waiting) }
        return try Self.lock(file.descriptor, of: folder, byte, type, waiting: waiting)
    }

    /// The same with another descriptor of the file.
    static func lock(
        _ file: Int32, of folder: StoreFolder, _ byte: Int64, _ type: Int32, waiting: Bool
    ) throws(StoreError) -> Bool {
        var range = flock()
        range.l_type = Int16(type)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = off_t(byte)
        range.l_len = 1
        while fcntl(file, waiting ? waitForLockOfDescription : setLockOfDescription, &range) != 0 {
            switch errno {
            case EINTR: continue
            case EAGAIN, EACCES: return false
            default: throw StoreError(errno, doing: "lock", path: folder.locks)
            }
        }
        return true
    }

    /// F_OFD_SETLK and F_OFD_SETLKW, which Glibc hides behind _GNU_SOURCE: unlike F_SETLK they also keep two
    /// runs in one process apart.
    private static let setLockOfDescription: Int32 = 37
    private static let waitForLockOfDescription: Int32 = 38
}

// MARK: - ServerLocks

/// The same locks among the sessions of a PostgreSQL, which lets go of them when a session ends.
private final class ServerLocks {
    private let session: ServerSession
    /// Of what is held, whether others may share it.
    private var held: [Int64: Bool] = [:]

    init(_ session: ServerSession) {
        self.session = session
    }

    /// The server hears a moment later that a session is over.
    deinit {
        if !held.isEmpty { session.letGoOfEverything() }
    }

    /// False when somebody else has one of them.
    func renew() throws(StoreError) -> Bool {
        for (byte, isShared) in held {
            guard try take(session.address.key(byte), isShared ? "_shared" : "", false) else { return false }
        }
        return true
    }

    func lock(_ byte: Int64, _ type: Int32, waiting: Bool) throws(StoreError) -> Bool {
        let key = session.address.key(byte)
        let before = held[byte]
        switch type {
        case Int32(F_UNLCK):
            try letGo(key, before)
            held[byte] = nil
            return true
        case Int32(F_RDLCK):
            if before == true { return true }
            guard try take(key, "_shared", waiting) else { return false }
            try letGo(key, before)
            held[byte] = true
        default:
            if before == false { return true }
            guard try take(key, "", waiting) else { return false }
            try letGo(key, before)
            held[byte] = false
        }
        return true
    }

    private func take(_ key: Int64, _ kind: String, _ waiting: Bool) throws(StoreError) -> Bool {
        let call = waiting ? "pg_advisory_lock\(kind)" : "pg_try_advisory_lock\(kind)"
        return try session.first("SELECT \(call)($1)", [.integer(key)], doing: "lock") {
            waiting || $0.integer(0) != 0
        } ?? false
    }

    private func letGo(_ key: Int64, _ isShared: Bool?) throws(StoreError) {
        guard let isShared else { return }
        let call = isShared ? "pg_advisory_unlock_shared" : "pg_advisory_unlock"
        _ = try session.first("SELECT \(call)($1)", [.integer(key)], doing: "lock") { _ in true }
    }
}

// MARK: - ReadersLock

/// Keeps the places of bodies as they are while somebody reads from there: who moves bodies, or gives their
/// room back, waits for those who may still know them by their earlier places.
struct ReadersLock: ~Copyable {
    private let file: File?
    private let folder: StoreFolder

    /// Without a file to lock nobody has ever written.
    init(_ folder: StoreFolder) {
        self.folder = folder
        file = try? File(folder.locks, O_RDONLY)
    }

    func whileReading<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard file != nil else { return try body() }
        try lock(F_RDLCK)
        let result: Result
        do throws(StoreError) {
            result = try body()
        } catch {
            // The first error is the one that tells.
            try? lock(F_UNLCK)
            throw error
        }
        try lock(F_UNLCK)
        return result
    }

    private func lock(_ type: Int32) throws(StoreError) {
        switch file {
        case .some(let file):
            let byte = StoreLocks.Task.reading.rawValue
            _ = try StoreLocks.lock(file.descriptor, of: folder, byte, type, waiting: true)
        case nil: break
        }
    }
}
