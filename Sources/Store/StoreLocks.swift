internal import Database
internal import Glibc
internal import System

/// The locks of a store. Each is a byte of one lock file: byte 0 for writing to the store, byte N for site N,
/// and the bytes of `Task`. A store on a PostgreSQL server has the same locks as advisory locks of a session.
/// When the process or the session ends, the system releases its locks, so that none is left behind.
///
/// | lock | shared by | exclusive for |
/// | --- | --- | --- |
/// | byte 0 | all writers | work that needs the whole store, such as a repair |
/// | byte N | workers that write to one snapshot of site N | a prefetch or another change of site N |
/// | `settingUp` | | creation of the store |
/// | `reading` | readers while they look up a body and read it | waiting for such readers |
/// | `collecting` | | a process that asks all writers to pause |
/// | `pausing` | paused writers | testing whether a writer is paused |
///
/// A collection can run while others write. It takes `collecting`; each writer looks for that lock between two
/// transactions, and then takes `pausing`, releases byte 0, waits until `collecting` is free, and takes byte 0
/// again. While a writer has `pausing`, byte 0 is free but still belongs to paused writers, so
/// `withExclusiveAccess` fails.
struct StoreLocks: ~Copyable {
    private let file: File
    private let folder: StoreFolder
    /// The locks on the PostgreSQL server, or nil for a folder.
    private let advisoryLocks: AdvisoryLocks?

    init(_ folder: StoreFolder) throws(StoreError) {
        try self.init(folder, advisoryLocks: nil)
    }

    /// Opens the locks of a store on a PostgreSQL server, in the session of a writer. If that session is
    /// lost, both its locks and its open transaction are gone.
    init(_ folder: StoreFolder, of connection: Connection) throws(StoreError) {
        try self.init(folder, advisoryLocks: connection.session.map(AdvisoryLocks.init))
    }

    private init(_ folder: StoreFolder, advisoryLocks: AdvisoryLocks?) throws(StoreError) {
        self.folder = folder
        self.advisoryLocks = advisoryLocks
        file = try StoreError.wrapping { () throws(SystemError) in
            try File(folder.locks, O_RDWR | O_CREAT, doing: "open")
        }
    }

    /// Removes the permissions of other users from a store of an earlier version and from a store in an
    /// existing folder. This happens only once, when the store is first opened for writing, so that its owner
    /// can change the permissions later.
    func restrictPermissionsOnce() {
        guard file.byteCount == 0 else { return }
        folder.restrictPermissions()
        // The content of the file records that this is done. If it cannot be written, it is done again next
        // time.
        _ = pwrite(file.descriptor, "1", 1, 0)
    }

    deinit {
        // A process that is being started has the same open file until it executes its program, so closing
        // the file may not release the locks.
        var all = flock()
        all.l_type = Int16(F_UNLCK)
        all.l_whence = Int16(SEEK_SET)
        _ = fcntl(file.descriptor, Self.setLockOfDescription, &all)
    }

    /// Tasks that only one process may do at a time. The raw value is a byte of the lock file that is no
    /// site's number.
    enum Task: Int64 {
        case settingUp = 0x4000_0000_0000_0000
        /// Shared by readers while they look up a body in a pack and read it.
        case reading = 0x4000_0000_0000_0001
        /// Held by a process that wants all writers to pause.
        case collecting = 0x4000_0000_0000_0002
        /// Shared by writers that are paused and will continue.
        case pausing = 0x4000_0000_0000_0003
    }

    /// Takes all locks again after the session was lost. Throws `.busy` if another process has one of them.
    func renew() throws(StoreError) {
        guard try advisoryLocks?.renew() ?? true else {
            throw StoreError(
                .busy, doing: "continue with", path: folder.name,
                detail: "another process took over the site while the server was unreachable")
        }
    }

    /// Runs `body` while no other process does the task. Waits for others first.
    func withTaskLock(_ task: Task, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        _ = try setLock(task.rawValue, F_WRLCK, waiting: true)
        let result = Result { () throws(StoreError) in try body() }
        _ = try setLock(task.rawValue, F_UNLCK)
        try result.get()
    }

    /// Takes the shared lock for writing. If no other process writes, calls `ifOnlyWriter` first; other writers
    /// wait until it returns.
    func join(ifOnlyWriter: () throws(StoreError) -> Void) throws(StoreError) {
        if try setLock(Task.pausing.rawValue, F_WRLCK) {
            if try setLock(0, F_WRLCK) { try ifOnlyWriter() }
            _ = try setLock(Task.pausing.rawValue, F_UNLCK)
        }
        _ = try setLock(0, F_RDLCK, waiting: true)
    }

    /// Runs `body` while no other process writes. Other writers wait until it returns. Throws `.busy` if a
    /// process is writing.
    func withExclusiveAccess(doing: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        guard try tryExclusiveLock() else {
            throw StoreError(
                .busy, doing: doing, path: folder.name,
                detail: "another command is writing to the store; try again when it has ended")
        }
        let result = Result { () throws(StoreError) in try body() }
        _ = try setLock(0, F_RDLCK)
        try result.get()
    }

    /// Runs `body` while no other process writes, and asks other writers to pause meanwhile. They pause
    /// between two transactions and continue when `body` returns. The parameter of `body` is whether there
    /// are other writers. Throws `.busy` if they do not pause within four seconds.
    func whileOthersPause(doing: String, _ body: (_ hasPausedWriters: Bool) throws(StoreError) -> Void)
        throws(StoreError)
    {
        if try tryExclusiveLock() {
            let result = Result { () throws(StoreError) in try body(false) }
            _ = try setLock(0, F_RDLCK)
            return try result.get()
        }
        // Writers briefly take the shared lock to see whether another process has it, so one attempt is not
        // enough.
        guard try waitForLock(Task.collecting.rawValue) else {
            throw StoreError(.busy, doing: doing, path: folder.name, detail: "another larder gc is running")
        }
        let result = Result { () throws(StoreError) in
            guard try waitForLock(0) else {
                throw StoreError(
                    .busy, doing: doing, path: folder.name, detail: "another process is writing to it")
            }
            try body(true)
        }
        _ = try setLock(0, F_RDLCK, waiting: true)
        _ = try setLock(Task.collecting.rawValue, F_UNLCK)
        try result.get()
    }

    /// Takes the exclusive lock for writing. Returns false if a process is writing or paused. Between two
    /// collections, a paused writer may have only the lock `pausing`.
    private func tryExclusiveLock() throws(StoreError) -> Bool {
        guard try setLock(Task.pausing.rawValue, F_WRLCK) else { return false }
        let isLocked = try setLock(0, F_WRLCK)
        _ = try setLock(Task.pausing.rawValue, F_UNLCK)
        return isLocked
    }

    /// Takes an exclusive lock. Returns false if others have it for four seconds.
    private func waitForLock(_ byte: Int64) throws(StoreError) -> Bool {
        for _ in 0..<800 {
            if try setLock(byte, F_WRLCK) { return true }
            usleep(5000)
        }
        return false
    }

    /// Pauses if another process wants to be alone with the store, and returns true when that process has
    /// finished. Returns false if none does. Call this only between two transactions.
    func pauseIfRequested(_ willPause: () -> Void) throws(StoreError) -> Bool {
        if try setLock(Task.collecting.rawValue, F_RDLCK) {
            _ = try setLock(Task.collecting.rawValue, F_UNLCK)
            return false
        }
        willPause()
        _ = try setLock(Task.pausing.rawValue, F_RDLCK, waiting: true)
        _ = try setLock(0, F_UNLCK)
        _ = try setLock(Task.collecting.rawValue, F_RDLCK, waiting: true)
        _ = try setLock(0, F_RDLCK, waiting: true)
        _ = try setLock(Task.collecting.rawValue, F_UNLCK)
        _ = try setLock(Task.pausing.rawValue, F_UNLCK)
        return true
    }

    /// Whether a run has the lock of a site.
    func isLocked(site: Int64) throws(StoreError) -> Bool {
        guard try setLock(site, F_WRLCK) else { return true }
        _ = try setLock(site, F_UNLCK)
        return false
    }

    /// Waits for all readers that looked up the place of a body before. Returns false after a second.
    func waitForReaders() throws(StoreError) -> Bool {
        for _ in 0..<1000 {
            if try setLock(Task.reading.rawValue, F_WRLCK) {
                return try setLock(Task.reading.rawValue, F_UNLCK)
            }
            usleep(1000)
        }
        return false
    }

    /// Takes the lock of a site for one prefetch, or for another change of it. Throws `.busy` if a run has it.
    func lock(site: Int64, named name: String, doing: String = "prefetch") throws(StoreError) {
        var isLocked = try setLock(site, F_WRLCK)
        // After a process was killed, the server may take a moment to notice that its session has ended.
        for _ in 0..<20 where advisoryLocks != nil && !isLocked {
            usleep(50_000)
            isLocked = try setLock(site, F_WRLCK)
        }
        guard isLocked else {
            throw StoreError(
                .busy, doing: doing, path: name,
                detail: doing == "prefetch"
                    ? "another prefetch of this site is running" : "a prefetch of this site is running")
        }
    }

    /// Takes the lock of a site as a shared lock, together with other workers. Throws `.busy` if a run has it
    /// alone.
    func lockShared(site: Int64, named name: String) throws(StoreError) {
        var isLocked = try setLock(site, F_RDLCK)
        // The process that began the snapshot is about to release the lock.
        for _ in 0..<60 where !isLocked {
            usleep(50_000)
            isLocked = try setLock(site, F_RDLCK)
        }
        guard isLocked else {
            throw StoreError(
                .busy, doing: "work on", path: name, detail: "a prefetch of this site is running")
        }
    }

    func unlock(site: Int64) throws(StoreError) {
        _ = try setLock(site, F_UNLCK)
    }

    /// Takes or releases a lock: `F_RDLCK` takes it shared, `F_WRLCK` exclusive, and `F_UNLCK` releases it. Returns
    /// false if another process has it.
    private func setLock(_ byte: Int64, _ type: Int32, waiting: Bool = false) throws(StoreError) -> Bool {
        if let advisoryLocks { return try advisoryLocks.setLock(byte, type, waiting: waiting) }
        return try Self.setLock(file.descriptor, of: folder, byte, type, waiting: waiting)
    }

    /// Takes or releases a lock with another descriptor of the lock file.
    static func setLock(
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

    /// F_OFD_SETLK and F_OFD_SETLKW, which Glibc defines only with _GNU_SOURCE. Unlike F_SETLK, they also
    /// work between two runs in one process.
    private static let setLockOfDescription: Int32 = 37
    private static let waitForLockOfDescription: Int32 = 38
}

// MARK: - AdvisoryLocks

/// The locks of a store on a PostgreSQL server: advisory locks of a session, which the server releases when
/// the session ends.
private final class AdvisoryLocks {
    private let session: PostgreSQLSession
    /// The locks that this session has, and whether each is shared.
    private var isShared: [Int64: Bool] = [:]

    init(_ session: PostgreSQLSession) {
        self.session = session
    }

    /// Releases the locks explicitly, because the server notices the end of a session only a moment later.
    deinit {
        if !isShared.isEmpty { session.unlockAll() }
    }

    /// Takes all locks again in a new session. Returns false if another session has one of them.
    func renew() throws(StoreError) -> Bool {
        for (byte, isShared) in isShared {
            guard try acquire(session.address.lockKey(byte), isShared ? "_shared" : "", false) else {
                return false
            }
        }
        return true
    }

    func setLock(_ byte: Int64, _ type: Int32, waiting: Bool) throws(StoreError) -> Bool {
        let key = session.address.lockKey(byte)
        let before = isShared[byte]
        switch type {
        case Int32(F_UNLCK):
            try unlock(key, before)
            isShared[byte] = nil
            return true
        case Int32(F_RDLCK):
            if before == true { return true }
            guard try acquire(key, "_shared", waiting) else { return false }
            try unlock(key, before)
            isShared[byte] = true
        default:
            if before == false { return true }
            guard try acquire(key, "", waiting) else { return false }
            try unlock(key, before)
            isShared[byte] = false
        }
        return true
    }

    private func acquire(_ key: Int64, _ kind: String, _ waiting: Bool) throws(StoreError) -> Bool {
        let call = waiting ? "pg_advisory_lock\(kind)" : "pg_try_advisory_lock\(kind)"
        return try session.first("SELECT \(call)($1)", [.integer(key)], doing: "lock") {
            waiting || $0.integer(0) != 0
        } ?? false
    }

    private func unlock(_ key: Int64, _ isShared: Bool?) throws(StoreError) {
        guard let isShared else { return }
        let call = isShared ? "pg_advisory_unlock_shared" : "pg_advisory_unlock"
        _ = try session.first("SELECT \(call)($1)", [.integer(key)], doing: "lock") { _ in true }
    }
}

// MARK: - ReadersLock

/// A lock for reading bodies. Processes that move bodies or reuse their space wait for readers that may still
/// know the earlier places.
struct ReadersLock: ~Copyable {
    private let file: File?
    private let folder: StoreFolder

    /// Opens the lock file. If there is none, the store has never been written to, and reading needs no lock.
    init(_ folder: StoreFolder) {
        self.folder = folder
        file = try? File(folder.locks, O_RDONLY)
    }

    /// Runs `body` with the shared lock.
    func withLock<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard file != nil else { return try body() }
        try setLock(F_RDLCK)
        let result: Result
        do throws(StoreError) {
            result = try body()
        } catch {
            // Throw the first error, which explains the failure.
            try? setLock(F_UNLCK)
            throw error
        }
        try setLock(F_UNLCK)
        return result
    }

    private func setLock(_ type: Int32) throws(StoreError) {
        switch file {
        case .some(let file):
            let byte = StoreLocks.Task.reading.rawValue
            _ = try StoreLocks.setLock(file.descriptor, of: folder, byte, type, waiting: true)
        case nil: break
        }
    }
}
