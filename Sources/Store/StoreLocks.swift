internal import Database
internal import Glibc
internal import System

/// The locks of a store. Each is a byte of one lock file: byte 0 for writing to the store, byte N for site N,
/// and the bytes of `Task`. A store on a PostgreSQL server has the same locks as advisory locks of a session.
/// When the process or the session ends, the system releases its locks, so that none is left behind.
///
/// All writers share byte 0; exclusive work takes it alone. A process that wants that while others write
/// takes `collecting` alone. Each writer looks for this between transactions. It then takes `pausing` as a
/// shared lock, releases byte 0, and continues when `collecting` is free. `pausing` shows that paused writers
/// will continue.
struct StoreLocks: ~Copyable {
    private let file: File
    private let folder: StoreFolder
    /// The locks on the PostgreSQL server, or nil for a folder.
    private let served: ServerLocks?

    init(_ folder: StoreFolder) throws(StoreError) {
        try self.init(folder, served: nil)
    }

    /// Opens the locks of a store on a PostgreSQL server, in the session of a writer. If that session is
    /// lost, both its locks and its open transaction are gone.
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

    /// Removes the permissions of other users from a store of an earlier version and from a store in an
    /// existing folder. This happens only once, when the store is first opened for writing, so that its owner
    /// can change the permissions later.
    func tightenOnce() {
        guard file.byteCount == 0 else { return }
        folder.tighten()
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
        guard try served?.renew() ?? true else {
            throw StoreError(
                .busy, doing: "continue with", path: folder.name,
                detail: "another process took over the site while the server was unreachable")
        }
    }

    /// Runs `body` while no other process does the task. Waits for others first.
    func whileAlone(_ task: Task, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        _ = try lock(task.rawValue, F_WRLCK, waiting: true)
        let result = Result { () throws(StoreError) in try body() }
        _ = try lock(task.rawValue, F_UNLCK)
        try result.get()
    }

    /// Takes the shared lock for writing. If no other process writes, calls `ifAlone` first; other writers
    /// wait until it returns.
    func join(ifAlone: () throws(StoreError) -> Void) throws(StoreError) {
        if try lock(Task.pausing.rawValue, F_WRLCK) {
            if try lock(0, F_WRLCK) { try ifAlone() }
            _ = try lock(Task.pausing.rawValue, F_UNLCK)
        }
        _ = try lock(0, F_RDLCK, waiting: true)
    }

    /// Runs `body` while no other process writes. Other writers wait until it returns. Throws `.busy` if a
    /// process is writing.
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

    /// Runs `body` while no other process writes, and asks other writers to pause meanwhile. They pause
    /// between two transactions and continue when `body` returns. The parameter of `body` is whether there
    /// are other writers. Throws `.busy` if they do not pause within four seconds.
    func aloneForAWhile(doing: String, _ body: (_ isBeside: Bool) throws(StoreError) -> Void)
        throws(StoreError)
    {
        if try lockAlone() {
            let result = Result { () throws(StoreError) in try body(false) }
            _ = try lock(0, F_RDLCK)
            return try result.get()
        }
        // Writers briefly take the shared lock to see whether another process has it, so one attempt is not
        // enough.
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

    /// Takes the exclusive lock for writing. Returns false if a process is writing or paused. Between two
    /// collections, a paused writer may have only the lock `pausing`.
    private func lockAlone() throws(StoreError) -> Bool {
        guard try lock(Task.pausing.rawValue, F_WRLCK) else { return false }
        let isAlone = try lock(0, F_WRLCK)
        _ = try lock(Task.pausing.rawValue, F_UNLCK)
        return isAlone
    }

    /// Takes an exclusive lock. Returns false if others have it for four seconds.
    private func waits(for byte: Int64) throws(StoreError) -> Bool {
        for _ in 0..<800 {
            if try lock(byte, F_WRLCK) { return true }
            usleep(5000)
        }
        return false
    }

    /// Pauses if another process wants to be alone with the store, and returns true when that process has
    /// finished. Returns false if none does. Call this only between two transactions.
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

    /// Whether a run has the lock of a site.
    func isHeld(site: Int64) throws(StoreError) -> Bool {
        guard try lock(site, F_WRLCK) else { return true }
        _ = try lock(site, F_UNLCK)
        return false
    }

    /// Waits for all readers that looked up the place of a body before. Returns false after a second.
    func waitForReaders() throws(StoreError) -> Bool {
        for _ in 0..<1000 {
            if try lock(Task.reading.rawValue, F_WRLCK) { return try lock(Task.reading.rawValue, F_UNLCK) }
            usleep(1000)
        }
        return false
    }

    /// Takes the lock of a site for one prefetch, or for another change of it. Throws `.busy` if a run has it.
    func hold(site: Int64, named name: String, doing: String = "prefetch") throws(StoreError) {
        var isHeld = try lock(site, F_WRLCK)
        // After a process was killed, the server may take a moment to notice that its session has ended.
        for _ in 0..<20 where served != nil && !isHeld {
            usleep(50_000)
            isHeld = try lock(site, F_WRLCK)
        }
        guard isHeld else {
            throw StoreError(
                .busy, doing: doing, path: name,
                detail: doing == "prefetch"
                    ? "another prefetch of this site is running" : "a prefetch of this site is running")
        }
    }

    /// Takes the lock of a site as a shared lock, together with other workers. Throws `.busy` if a run has it
    /// alone.
    func share(site: Int64, named name: String) throws(StoreError) {
        var isHeld = try lock(site, F_RDLCK)
        // The process that began the snapshot is about to release the lock.
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

    /// Returns false if another process has the lock.
    private func lock(_ byte: Int64, _ type: Int32, waiting: Bool = false) throws(StoreError) -> Bool {
        if let served { return try served.lock(byte, type, waiting: waiting) }
        return try Self.lock(file.descriptor, of: folder, byte, type, waiting: waiting)
    }

    /// Takes or releases a lock with another descriptor of the lock file.
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

    /// F_OFD_SETLK and F_OFD_SETLKW, which Glibc defines only with _GNU_SOURCE. Unlike F_SETLK, they also
    /// work between two runs in one process.
    private static let setLockOfDescription: Int32 = 37
    private static let waitForLockOfDescription: Int32 = 38
}

// MARK: - ServerLocks

/// The locks of a store on a PostgreSQL server: advisory locks of a session, which the server releases when
/// the session ends.
private final class ServerLocks {
    private let session: PostgreSQLSession
    /// The locks that this session has, and whether each is shared.
    private var held: [Int64: Bool] = [:]

    init(_ session: PostgreSQLSession) {
        self.session = session
    }

    /// Releases the locks explicitly, because the server notices the end of a session only a moment later.
    deinit {
        if !held.isEmpty { session.letGoOfEverything() }
    }

    /// Takes all locks again in a new session. Returns false if another session has one of them.
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

    func whileReading<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard file != nil else { return try body() }
        try lock(F_RDLCK)
        let result: Result
        do throws(StoreError) {
            result = try body()
        } catch {
            // Throw the first error, which explains the failure.
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
