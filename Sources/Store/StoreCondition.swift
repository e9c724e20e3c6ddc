package import Database
internal import Glibc
internal import System

/// The state of a store: its version, its size, and its current writers.
package struct StoreCondition: Sendable, Equatable {
    /// The version of the PostgreSQL server, or nil for a folder.
    package var serverVersion: String?
    /// Whether the server is a standby.
    package var isStandby = false
    /// The version of the tables, and the version to which this version of Larder migrates them.
    package var version: Int64 = 0
    package var newestVersion: Int64 = 0
    /// Whether a copy into this store is unfinished.
    package var isCopying = false
    package var sites = 0
    package var snapshots = 0
    /// The sizes of the store's files and folders, or of its tables.
    package var parts: [Part] = []
    package var writers: [Writer] = []

    /// A file, folder or table of the store, with its size on the disk.
    package struct Part: Sendable, Equatable {
        package let name: String
        package let byteCount: Int64
    }

    /// A process that may be writing to the store.
    package struct Writer: Sendable, Equatable {
        /// The names of the sites whose locks the writer has. In a folder, those of all writers are reported
        /// as one writer's.
        package var sites: [String] = []
        /// Whether the writer has excluded other writers.
        package var isExclusive = false
        /// The process ID of the session on the PostgreSQL server, or nil for a folder.
        package var session: Int64?
        package var address: String?
        /// The start of the session in seconds since 1970.
        package var since: Int64?
    }

    package var byteCount: Int64 { parts.reduce(0) { $0 + $1.byteCount } }
    package var needsMigration: Bool { version < newestVersion }
}

extension StoreFolder {
    /// Returns the state of the store without changing it: it is not migrated. Throws `.missing` if the store
    /// does not exist.
    package func condition() throws(StoreError) -> StoreCondition {
        guard server == nil else { return try postgreSQLCondition() }
        guard exists else {
            throw StoreError(.missing, doing: "open", path: name, detail: "the store does not exist")
        }
        let connection = try read(database)
        var condition = StoreCondition(newestVersion: Schema.version)
        condition.version = try Schema.checkVersion(connection)
        condition.isCopying = try CopyMark(in: self, connection) != nil
        try condition.count(connection)
        for (name, paths) in [
            ("larder.db", ["", "-wal"].map { database + $0 }), ("packs", packList.map(\.path)),
            ("bodies", bodyFileNames.map { bodies + "/" + $0 }), ("journal", journalFiles),
            ("notes.db", ["", "-wal"].map { activityDatabase + $0 }),
            ("channels.db", ["", "-wal"].map { channelDatabase + $0 }),
            ("search.db", ["", "-wal"].map { searchIndex + $0 }),
        ] {
            condition.parts.append(
                StoreCondition.Part(name: name, byteCount: paths.reduce(0) { $0 + Self.byteCount(of: $1) }))
        }
        var names: [Int64: String] = [:]
        try connection.prepare("SELECT id, name FROM site").each { names[$0.integer(0)] = $0.text(1) }
        condition.writers = StoreLocks.writers(self, names)
        return condition
    }

    private func postgreSQLCondition() throws(StoreError) -> StoreCondition {
        let connection = try connect(.readOnly)
        guard let server, try PostgreSQLSchema.exists(connection) else {
            throw StoreError(.missing, doing: "open", path: name, detail: "the store does not exist")
        }
        var condition = StoreCondition(newestVersion: PostgreSQLSchema.version)
        condition.version = try PostgreSQLSchema.supportedVersion(connection)
        condition.isCopying = try CopyMark(in: self, connection) != nil
        condition.serverVersion = try connection.prepare("SHOW server_version").first { $0.text(0) }
        condition.isStandby =
            try connection.prepare("SELECT pg_is_in_recovery()").first { $0.integer(0) != 0 } ?? false
        try condition.count(connection)
        try connection.prepare(
            """
            SELECT relname, pg_total_relation_size(oid) FROM pg_class
            WHERE relnamespace = to_regnamespace(?) AND relkind = 'r' ORDER BY relname
            """
        ).each(.text(server.database.quotedSchema)) { row in
            condition.parts.append(StoreCondition.Part(name: row.text(0), byteCount: row.integer(1)))
        }
        if condition.version == condition.newestVersion, let storage = try BodyStorageRecord(connection) {
            let byteCount = try connection.integer(
                """
                SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM (
                    SELECT DISTINCT sha256, size FROM body JOIN content ON content.body = body.id
                    WHERE content.bytes IS NULL) AS outside
                """)
            condition.parts.append(StoreCondition.Part(name: storage.location, byteCount: byteCount))
        }
        condition.parts.append(StoreCondition.Part(name: "copies in the folder", byteCount: copiesByteCount))
        condition.parts.append(
            StoreCondition.Part(name: "search.db in the folder", byteCount: searchIndexByteCount))
        condition.writers = try connection.writers(server)
        return condition
    }
}

extension StoreCondition {
    fileprivate mutating func count(_ connection: Connection) throws(StoreError) {
        sites = Int(try connection.integer("SELECT count(*) FROM site"))
        do throws(StoreError) {
            snapshots = Int(try connection.integer("SELECT count(*) FROM snapshot"))
        } catch  where version < newestVersion {
            // The name of the table in earlier versions.
            snapshots = Int(try connection.integer("SELECT count(*) FROM visit"))
        }
    }
}

extension Connection {
    /// Returns the writers, which are the sessions with a lock of byte 0, and the sites that they have
    /// locked.
    fileprivate func writers(_ server: PostgreSQLStoreAddress) throws(StoreError) -> [StoreCondition.Writer] {
        var names: [Int64: String] = [:]
        try prepare("SELECT id, name FROM site").each {
            names[server.database.lockKey($0.integer(0))] = $0.text(1)
        }
        var writers: [Int64: StoreCondition.Writer] = [:]
        var sites: [Int64: [String]] = [:]
        try prepare(
            """
            SELECT pid, CAST(classid AS bigint) << 32 | CAST(objid AS bigint), mode = 'ExclusiveLock',
                host(client_addr), CAST(extract(epoch FROM backend_start) AS bigint)
            FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
            WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            ORDER BY pid
            """
        ).each { row in
            let (session, key) = (row.integer(0), row.integer(1))
            if key == server.database.lockKey(0) {
                writers[session] = StoreCondition.Writer(
                    isExclusive: row.integer(2) != 0, session: session, address: row.optionalText(3),
                    since: row.optionalInteger(4))
            } else if let name = names[key] {
                sites[session, default: []].append(name)
            }
        }
        return writers.values.sorted { $0.session ?? 0 < $1.session ?? 0 }.map { writer in
            var writer = writer
            writer.sites = (sites[writer.session ?? 0] ?? []).sorted()
            return writer
        }
    }
}

extension StoreFolder {
    /// Whether a run is prefetching the site now. Does not take its lock, so that no run fails because of this.
    package func isPrefetching(_ site: Site) throws(StoreError) -> Bool {
        guard let server else { return StoreLocks.isLocked(self, site: site.id) }
        return try connect(.readOnly).writers(server).contains { $0.sites.contains(site.name) }
    }

    /// The state of the database file, which differs after each change. Nil for PostgreSQL, and if the file cannot be
    /// read.
    package var stamp: StoreStamp? { server == nil ? StoreStamp(ofDatabase: database) : nil }
}

/// The sizes and times of a database and its log.
package struct StoreStamp: Sendable, Equatable {
    private let figures: [Int64]

    init?(ofDatabase path: String) {
        var figures: [Int64] = []
        for path in [path, path + "-wal"] {
            var status = stat()
            guard stat(path, &status) == 0 else {
                // The log is removed when the last process closes the database.
                guard !figures.isEmpty, errno == ENOENT else { return nil }
                continue
            }
            // A reader creates an empty log.
            if status.st_size == 0 { continue }
            let time = status.st_mtim
            figures += [
                Int64(clamping: status.st_ino), Int64(status.st_size), Int64(time.tv_sec),
                Int64(time.tv_nsec),
            ]
        }
        self.figures = figures
    }

    /// - Parameter figures: any numbers, for tests.
    package init(figures: [Int64]) { self.figures = figures }
}

extension StoreLocks {
    /// Whether another run has the lock of the site.
    fileprivate static func isLocked(_ folder: StoreFolder, site: Int64) -> Bool {
        guard let file = try? File(folder.locks, O_RDONLY) else { return false }
        return lockType(file.descriptor, of: site) != nil
    }

    /// Returns the writers of a folder, as one. The kernel does not report which process has a lock.
    fileprivate static func writers(_ folder: StoreFolder, _ sites: [Int64: String]) -> [StoreCondition
        .Writer]
    {
        guard let file = try? File(folder.locks, O_RDONLY),
            let kind = lockType(file.descriptor, of: 0)
        else { return [] }
        let locked = sites.filter { lockType(file.descriptor, of: $0.key) != nil }
        return [StoreCondition.Writer(sites: locked.values.sorted(), isExclusive: kind == Int16(F_WRLCK))]
    }

    /// Returns the type of another process's lock on the byte, or nil if there is none.
    private static func lockType(_ file: Int32, of byte: Int64) -> Int16? {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = off_t(byte)
        range.l_len = 1
        guard fcntl(file, getLockOfDescription, &range) == 0, range.l_type != Int16(F_UNLCK) else {
            return nil
        }
        return range.l_type
    }

    /// F_OFD_GETLK; see `setLockOfDescription` in `StoreLocks`.
    private static let getLockOfDescription: Int32 = 36
}
