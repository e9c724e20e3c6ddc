package import Database
internal import Web

/// Records of what happened to a store while it was used:
///
/// - when each URL was last served, for eviction;
/// - the pages that people read last, and their snapshots;
/// - misses, which the next prefetch fetches;
/// - bodies that were found damaged, which the next prefetch replaces;
/// - the results of bundle checks;
/// - the scheduled updates that were begun;
/// - figures of snapshots, which take long to compute (`SnapshotFigure`).
///
/// The records of a local store are in a database of their own, `notes.db`. Servers therefore never wait for
/// writers of the store, nor writers for servers, and readers of the store see no change. In PostgreSQL they
/// are tables of the store, so that the next prefetch on any machine fetches the misses of all servers.
///
/// The store works without these records: a damaged `notes.db` is replaced by an empty one. A connection
/// belongs to one thread.
package final class ActivityDatabase {
    let connection: Connection
    private let addServed: Statement

    /// Opens the database, and creates it if there is none. Throws if this user cannot write to it.
    package init(_ folder: StoreFolder) throws(StoreError) {
        do throws(StoreError) {
            connection = try Self.connect(folder)
        } catch  where error.reason == .unusable && folder.server == nil {
            // Damaged records must not prevent new ones.
            folder.removeActivityDatabase()
            connection = try Self.connect(folder)
        }
        addServed = try connection.prepare(
            """
            INSERT INTO served (url, at) \(connection.isPostgreSQL ? "SELECT * FROM unnest(?, ?)" : "VALUES (?, ?)")
            ON CONFLICT (url) DO UPDATE SET at = \(Self.greater("at", in: "served"))
            """)
    }

    /// An SQL expression for the greater of the stored and the new value of a column.
    private static func greater(_ column: String, in table: String) -> String {
        "iif(\(table).\(column) > excluded.\(column), \(table).\(column), excluded.\(column))"
    }

    /// Opens the database; nil if there is none.
    package static func openIfExists(_ folder: StoreFolder) throws(StoreError) -> ActivityDatabase? {
        folder.hasActivityDatabase ? try ActivityDatabase(folder) : nil
    }

    private static func connect(_ folder: StoreFolder) throws(StoreError) -> Connection {
        if folder.server != nil { return try PostgreSQLSchema.connect(to: folder, .readWrite) }
        let locks = try StoreLocks(folder)
        let connection = try Connection(folder.activityDatabase, access: .readWrite, modeOf: folder.locks)
        // SQLite does not wait for locks when it changes the journal mode.
        let mode = try connection.prepare("PRAGMA journal_mode").first { $0.text(0) }
        if mode != "wal" {
            try locks.withTaskLock(.settingUp) { () throws(StoreError) in
                try connection.execute("PRAGMA journal_mode = WAL", doing: "set up")
            }
        }
        try connection.execute(
            """
            PRAGMA synchronous = OFF;
            CREATE TABLE IF NOT EXISTS served (url INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
            \(missTable)\(verdictTable)\(damageTable)\(attemptTable)\(SnapshotFigure.table)
            """, doing: "set up")
        try addMissingColumns(connection)
        try addMissingReadings(connection)
        return connection
    }

    /// Records when URLs were served.
    ///
    /// - Parameter served: The ids of the URLs in the store, and the times in seconds since 1970.
    package func recordServed(_ served: [(url: Int64, at: Int64)]) throws(StoreError) {
        guard !served.isEmpty else { return }
        try withTransaction { () throws(StoreError) in
            guard connection.isPostgreSQL else {
                for (url, at) in served { try addServed.run(.integer(url), .integer(at)) }
                return
            }
            let latest = Dictionary(served.map { ($0.url, $0.at) }, uniquingKeysWith: max)
            // All servers use the same order, so that no two of them wait for each other (a deadlock).
            let rows = latest.sorted { $0.key < $1.key }
            try addServed.run(.integers(rows.map(\.key)), .integers(rows.map(\.value)))
        }
    }

    /// Runs `body` in a transaction (`Connection.inRepeatedTransaction`).
    func withTransaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try connection.inRepeatedTransaction(body)
    }

    /// The time when each URL was last served, by its id.
    package func servedTimes() throws(StoreError) -> [Int64: Int64] {
        var times: [Int64: Int64] = [:]
        try connection.prepare("SELECT url, at FROM served").each { times[$0.integer(0)] = $0.integer(1) }
        return times
    }

    /// Removes the served times and readings of URLs that the store no longer has, because their ids may be reused.
    func deleteServedTimes(ofURLs urls: [Int64]) throws(StoreError) {
        let deletions = try ["served", "reading"].map { (table) throws(StoreError) in
            try connection.prepare("DELETE FROM \(table) WHERE url = ?")
        }
        try withTransaction { () throws(StoreError) in
            for url in urls { for delete in deletions { try delete.run(.integer(url)) } }
        }
    }

    /// Replaces the served times, readings, misses, check results and damage marks with those of another store.
    func replace(by other: ActivityDatabase) throws(StoreError) {
        try withTransaction { () throws(StoreError) in
            for table in ["served", "reading", "miss", "verdict", "damage"] {
                try connection.prepare("DELETE FROM \(table)").run()
            }
        }
        var verdicts: [BundleVerdict] = []
        try other.connection.prepare("SELECT href, sha256, name, detail, good FROM verdict ORDER BY id").each
        {
            verdicts.append(
                BundleVerdict(
                    href: $0.text(0), sha256: $0.blob(1), name: $0.text(2), detail: $0.optionalText(3),
                    isGood: $0.integer(4) != 0))
        }
        try recordServed(other.servedTimes().map { ($0.key, $0.value) })
        try recordReadings(other.lastReadings(atMost: Self.maxReadings))
        try recordMisses(other.misses())
        try recordVerdicts(verdicts)
        try markDamaged(Array(other.damagedBodies()))
    }

    /// Creates the same tables in PostgreSQL. A URL may be longer than a B-tree index allows, so the indexes
    /// use hashes.
    static let postgreSQLStep = PostgreSQLMigration.Step(
        name: "notes of all servers in the database",
        sql: """
            CREATE TABLE served (url bigint PRIMARY KEY, at bigint NOT NULL);
            CREATE TABLE miss (
                href text COLLATE "C" NOT NULL,
                method text COLLATE "C" NOT NULL,
                referrer text COLLATE "C",
                page bigint NOT NULL,
                count bigint NOT NULL,
                first bigint NOT NULL,
                last bigint NOT NULL,
                reach bigint NOT NULL DEFAULT 0,
                origin text COLLATE "C"
            );
            CREATE UNIQUE INDEX miss_key ON miss (md5(href), method);
            CREATE INDEX miss_href ON miss USING hash (href);
            CREATE TABLE verdict (
                id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
                href text COLLATE "C" NOT NULL,
                sha256 bytea NOT NULL,
                name text COLLATE "C" NOT NULL,
                detail text COLLATE "C",
                good bigint NOT NULL
            );
            CREATE INDEX verdict_href ON verdict USING hash (href);
            CREATE TABLE damage (sha256 bytea PRIMARY KEY);

            """)
}

/// A page that a person opened.
package struct Reading: Sendable, Equatable {
    /// The id of the URL of the page.
    package let url: Int64
    /// The id of the snapshot, if the person opened the page in an earlier one; nil for live snapshots.
    package let snapshot: Int64?
    /// Seconds since 1970.
    package let at: Int64

    package init(url: Int64, snapshot: Int64?, at: Int64) {
        (self.url, self.snapshot, self.at) = (url, snapshot, at)
    }
}

extension ActivityDatabase {
    /// The maximum number of readings. Beyond it, the oldest are removed.
    static let maxReadings = 1000

    /// Creates the table of readings if an earlier version made the database. That version counted each URL that was
    /// served as read in its live snapshot.
    private static func addMissingReadings(_ connection: Connection) throws(StoreError) {
        guard try !connection.hasTable("reading") else { return }
        try connection.transaction { () throws(StoreError) in
            // Another process may have created it meanwhile.
            guard try !connection.hasTable("reading") else { return }
            try connection.execute(
                """
                CREATE TABLE reading (url INTEGER PRIMARY KEY, snapshot INTEGER, at INTEGER NOT NULL) STRICT;
                \(copyOfServedTimes)
                """)
        }
    }

    private static let copyOfServedTimes = """
        INSERT INTO reading (url, at) SELECT url, at FROM served ORDER BY at DESC, url LIMIT \(maxReadings);
        """

    /// Records pages that people opened. A page that was read before gets the new snapshot and time.
    package func recordReadings(_ readings: [Reading]) throws(StoreError) {
        guard !readings.isEmpty else { return }
        let add = try connection.prepare(
            """
            INSERT INTO reading (url, snapshot, at) VALUES (?, ?, ?)
            ON CONFLICT (url) DO UPDATE SET snapshot = excluded.snapshot, at = excluded.at
            WHERE excluded.at >= reading.at
            """)
        let deleteOldest = try connection.prepare(
            """
            DELETE FROM reading WHERE url IN (
                SELECT url FROM reading ORDER BY at DESC, url
                \(connection.isPostgreSQL ? "" : "LIMIT -1") OFFSET ?)
            """)
        try withTransaction { () throws(StoreError) in
            // All servers use the same order, so that no two of them wait for each other (a deadlock).
            for reading in readings.sorted(by: { ($0.url, $0.at) < ($1.url, $1.at) }) {
                try add.run(.integer(reading.url), .optional(reading.snapshot), .integer(reading.at))
            }
            try deleteOldest.run(.integer(Int64(Self.maxReadings)))
        }
    }

    /// The pages that people read last, the latest first.
    package func lastReadings(atMost count: Int) throws(StoreError) -> [Reading] {
        var readings: [Reading] = []
        try connection.prepare("SELECT url, snapshot, at FROM reading ORDER BY at DESC, url LIMIT ?").each(
            .integer(Int64(count))
        ) {
            readings.append(
                Reading(url: $0.integer(0), snapshot: $0.optionalInteger(1), at: $0.integer(2)))
        }
        return readings
    }

    /// Creates the table of readings in PostgreSQL.
    static let postgreSQLReadings = PostgreSQLMigration.Step(
        name: "pages that were read",
        sql: "CREATE TABLE reading (url bigint PRIMARY KEY, snapshot bigint, at bigint NOT NULL);",
        filling: copyOfServedTimes)
}

extension ActivityDatabase {
    private static let missTable = """
        CREATE TABLE IF NOT EXISTS miss (
            href TEXT NOT NULL,
            method TEXT NOT NULL,
            referrer TEXT,
            page INTEGER NOT NULL,
            count INTEGER NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            \(addedColumns.joined(separator: ", ")),
            PRIMARY KEY (href, method)
        ) STRICT, WITHOUT ROWID;

        """

    /// The columns that describe the page of a request. A miss of an earlier version counts as one of a
    /// public page.
    private static let addedColumns = ["reach INTEGER NOT NULL DEFAULT 0", "origin TEXT"]

    /// Adds the columns that the table of an earlier version lacks.
    private static func addMissingColumns(_ connection: Connection) throws(StoreError) {
        guard try !hasAddedColumns(connection) else { return }
        try connection.transaction { () throws(StoreError) in
            // Another process may have added them meanwhile.
            guard try !hasAddedColumns(connection) else { return }
            for column in addedColumns { try connection.execute("ALTER TABLE miss ADD COLUMN \(column)") }
        }
    }

    private static func hasAddedColumns(_ connection: Connection) throws(StoreError) -> Bool {
        try connection.integer("SELECT count(*) FROM pragma_table_info('miss') WHERE name = 'reach'") > 0
    }

    /// The maximum number of misses. Beyond it, the misses whose last request is oldest are removed. There is a
    /// limit because a page can make a browser request any number of URLs.
    package static let maxMisses = 10_000

    /// Adds misses to those that were recorded for the same URLs and methods.
    package func recordMisses(_ misses: [Miss]) throws(StoreError) {
        guard !misses.isEmpty else { return }
        try withTransaction { () throws(StoreError) in
            let add = try connection.prepare(
                """
                INSERT INTO miss (href, method, referrer, page, reach, origin, count, first, last)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (\(connection.indexKey("href")), method) DO UPDATE SET
                    referrer = coalesce(excluded.referrer, miss.referrer),
                    page = \(Self.greater("page", in: "miss")), reach = \(Self.greater("reach", in: "miss")),
                    origin = coalesce(excluded.origin, miss.origin), count = miss.count + excluded.count,
                    first = iif(miss.first < excluded.first, miss.first, excluded.first),
                    last = \(Self.greater("last", in: "miss"))
                """)
            // All servers use the same order, so that no two of them wait for each other (a deadlock).
            for miss in misses.sorted(by: { ($0.href, $0.method) < ($1.href, $1.method) }) {
                try add.run(
                    .text(miss.href), .text(miss.method), .optional(miss.referrer),
                    .integer(miss.isPage ? 1 : 0),
                    .integer(Int64(miss.from.rawValue)), .optional(miss.origin), .integer(Int64(miss.count)),
                    .integer(miss.first), .integer(miss.last))
            }
            try connection.prepare(
                """
                DELETE FROM miss WHERE (href, method) IN (
                    SELECT href, method FROM miss ORDER BY last DESC, href
                    \(connection.isPostgreSQL ? "" : "LIMIT -1") OFFSET ?)
                """
            ).run(.integer(Int64(Self.maxMisses)))
        }
    }

    /// Returns all misses in the order of their URLs.
    package func misses() throws(StoreError) -> [Miss] {
        try Self.readMisses(connection)
    }

    /// Returns all misses of a store that may be read-only. Empty if there are no records.
    package static func misses(in folder: StoreFolder) throws(StoreError) -> [Miss] {
        guard folder.hasActivityDatabase else { return [] }
        if folder.server != nil { return try readMisses(folder.connect(.readOnly)) }
        let connection = try folder.read(folder.activityDatabase)
        return try connection.hasTable("miss") ? readMisses(connection) : []
    }

    private static func readMisses(_ connection: Connection) throws(StoreError) -> [Miss] {
        var misses: [Miss] = []
        // The table of an earlier version may lack columns: a read-only store is not migrated.
        let hasAllColumns = connection.isPostgreSQL ? true : try hasAddedColumns(connection)
        let zoneColumns = hasAllColumns ? "reach, origin" : "0, NULL"
        try connection.prepare(
            "SELECT href, method, referrer, page, \(zoneColumns), count, first, last FROM miss ORDER BY href, method"
        )
        .each { row in
            misses.append(
                Miss(
                    href: row.text(0), method: row.text(1), referrer: row.optionalText(2),
                    isPage: row.integer(3) != 0,
                    from: ResponseFlags(rawValue: UInt16(truncatingIfNeeded: row.integer(4))),
                    origin: row.optionalText(5), count: Int(row.integer(6)), first: row.integer(7),
                    last: row.integer(8)))
        }
        return misses
    }

    /// Returns the misses that a prefetch of sites on these hosts should fetch: those on these hosts, and
    /// those of assets that pages on these hosts requested from other hosts.
    package func missesToFetch(forHosts hosts: Set<String>) throws(StoreError) -> [Miss] {
        func isOnHosts(_ href: String) -> Bool { WebURL(href).map { hosts.contains($0.host) } ?? false }
        return try misses().filter { miss in
            miss.method == "GET"
                && (isOnHosts(miss.href) || !miss.isPage && miss.referrer.map(isOnHosts) ?? false)
        }
    }

    /// Removes the misses of these URLs, whatever their methods.
    package func deleteMisses(at hrefs: some Sequence<String>) throws(StoreError) {
        let delete = try connection.prepare("DELETE FROM miss WHERE href = ?")
        try withTransaction { () throws(StoreError) in
            for href in hrefs { try delete.run(.text(href)) }
        }
    }

    /// Removes all misses.
    package func deleteAllMisses() throws(StoreError) {
        try connection.execute("DELETE FROM miss")
    }
}

// MARK: - Miss

/// A request to a server that the store could not answer.
package struct Miss: Sendable, Equatable {
    package let href: String
    /// The method of the request. Only misses of GET requests are fetched, because others might have effects.
    package let method: String
    /// The URL of the page that sent the request, if its browser revealed it.
    package var referrer: String?
    /// Whether a person navigated to the URL; otherwise it is an asset of a page.
    package var isPage: Bool
    /// The network zone of the page that sent the request, as in `ResponseFlags.zoneFlags`, so that a miss is
    /// fetched only from zones that the page's links may request. `.fromThisMachine` if a person navigated to
    /// the URL.
    package var from: ResponseFlags
    /// The original origin of the page, if it sent a CORS request.
    package var origin: String?
    /// The number of requests.
    package var count: Int
    /// The time of the first request, in seconds since 1970.
    package var first: Int64
    /// The time of the last request, in seconds since 1970.
    package var last: Int64

    package init(
        href: String, method: String = "GET", referrer: String? = nil, isPage: Bool, from: ResponseFlags = [],
        origin: String? = nil, count: Int = 1, first: Int64, last: Int64
    ) {
        self.href = href
        self.method = method
        self.referrer = referrer
        self.isPage = isPage
        self.from = from.intersection(.zoneFlags)
        self.origin = origin
        self.count = count
        self.first = first
        self.last = last
    }

    /// Merges a later miss of the same URL. The less public network zone wins.
    package mutating func add(_ later: Miss) {
        referrer = later.referrer ?? referrer
        isPage = isPage || later.isPage
        if later.from.rawValue > from.rawValue { from = later.from }
        origin = later.origin ?? origin
        count += later.count
        first = min(first, later.first)
        last = max(last, later.last)
    }
}

/// The result of checking a stored bundle.
package struct BundleVerdict: Sendable, Equatable {
    package let href: String
    /// The digest of the body that was checked; empty if there was none.
    package let sha256: [UInt8]
    /// The result in a word, such as "verified".
    package let name: String
    package let detail: String?
    package let isGood: Bool

    package init(href: String, sha256: [UInt8], name: String, detail: String?, isGood: Bool) {
        self.href = href
        self.sha256 = sha256
        self.name = name
        self.detail = detail
        self.isGood = isGood
    }
}

extension ActivityDatabase {
    private static let verdictTable = """
        CREATE TABLE IF NOT EXISTS verdict (
            id INTEGER PRIMARY KEY,
            href TEXT NOT NULL,
            sha256 BLOB NOT NULL,
            name TEXT NOT NULL,
            detail TEXT,
            good INTEGER NOT NULL,
            UNIQUE (href, sha256)
        ) STRICT;

        """

    /// The maximum number of bodies per URL whose results are stored. Beyond it, the oldest results are removed.
    private static let maxVerdictsPerURL = 8

    /// Records results, replacing those of the same bodies at the same URLs.
    package func recordVerdicts(_ verdicts: [BundleVerdict]) throws(StoreError) {
        let replace = try connection.prepare("DELETE FROM verdict WHERE href = ? AND sha256 = ?")
        let add = try connection.prepare(
            "INSERT INTO verdict (href, sha256, name, detail, good) VALUES (?, ?, ?, ?, ?)")
        let deleteOldest = try connection.prepare(
            """
            DELETE FROM verdict WHERE href = ?1 AND id NOT IN (
                SELECT id FROM verdict WHERE href = ?1 ORDER BY id DESC LIMIT ?2)
            """)
        try withTransaction { () throws(StoreError) in
            for verdict in verdicts {
                try replace.run(.text(verdict.href), .blob(verdict.sha256))
                try add.run(
                    .text(verdict.href), .blob(verdict.sha256), .text(verdict.name),
                    .optional(verdict.detail),
                    .integer(verdict.isGood ? 1 : 0))
                try deleteOldest.run(.text(verdict.href), .integer(Int64(Self.maxVerdictsPerURL)))
            }
        }
    }

    /// Returns the results for all bodies that the URL had, the oldest first.
    package func verdicts(of href: String) throws(StoreError) -> [BundleVerdict] {
        var verdicts: [BundleVerdict] = []
        try connection.prepare("SELECT sha256, name, detail, good FROM verdict WHERE href = ? ORDER BY id")
            .each(.text(href)) { row in
                verdicts.append(
                    BundleVerdict(
                        href: href, sha256: row.blob(0), name: row.text(1), detail: row.optionalText(2),
                        isGood: row.integer(3) != 0))
            }
        return verdicts
    }
}

/// Marks of bodies that were found damaged on the disk. The next prefetch of such a body loads it again.
extension ActivityDatabase {
    private static let damageTable = """
        CREATE TABLE IF NOT EXISTS damage (sha256 BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;

        """

    /// Marks bodies as damaged by their SHA-256.
    package func markDamaged(_ bodies: [[UInt8]]) throws(StoreError) {
        let add = try connection.prepare("INSERT OR IGNORE INTO damage (sha256) VALUES (?)")
        try withTransaction { () throws(StoreError) in
            for sha256 in bodies.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                try add.run(.blob(sha256))
            }
        }
    }

    /// The digests of the marked bodies.
    package func damagedBodies() throws(StoreError) -> Set<[UInt8]> {
        var bodies: Set<[UInt8]> = []
        try connection.prepare("SELECT sha256 FROM damage").each { bodies.insert($0.blob(0)) }
        return bodies
    }

    /// Removes the mark of a body, because its stored bytes are intact again.
    func unmarkDamaged(_ sha256: [UInt8]) throws(StoreError) {
        let delete = try connection.prepare("DELETE FROM damage WHERE sha256 = ?")
        try withTransaction { () throws(StoreError) in try delete.run(.blob(sha256)) }
    }

    /// Marks bodies as damaged, so that they are loaded again. Does nothing if the database is not writable,
    /// busy or full, because damage is also found at the next use of a body.
    package static func markDamagedIfWritable(_ bodies: [[UInt8]], in folder: StoreFolder) throws(StoreError)
    {
        guard !bodies.isEmpty else { return }
        do throws(StoreError) {
            try ActivityDatabase(folder).markDamaged(bodies)
        } catch {
            switch error.reason {
            case .denied, .busy, .full: return
            case .request, .missing, .unusable, .unreachable, .failed: throw error
            }
        }
    }
}

// MARK: - DamageMarks

/// The bodies that are marked as damaged. Each is verified before it is reported as damaged, because it may
/// have been repaired since.
package struct DamageMarks {
    private let folder: StoreFolder
    private var marked: Set<[UInt8]>

    package init(_ folder: StoreFolder) throws(StoreError) {
        self.folder = folder
        do throws(StoreError) {
            marked = try ActivityDatabase.openIfExists(folder)?.damagedBodies() ?? []
        } catch  where error.reason == .denied || error.reason == .busy {
            // A user who cannot write these records cannot repair bodies either.
            marked = []
        }
    }

    /// Marks a body as damaged.
    package mutating func mark(_ body: StoredBody) throws(StoreError) {
        marked.insert(body.sha256)
        try ActivityDatabase(folder).markDamaged([body.sha256])
    }

    /// Whether the body is marked and its stored bytes are still damaged. Removes the mark of an intact body.
    package mutating func isDamaged(_ body: StoredBody, _ reader: StoreReader) throws(StoreError) -> Bool {
        guard marked.contains(body.sha256) else { return false }
        if let content = try reader.content(of: body), try body.isIntact(content) {
            marked.remove(body.sha256)
            try ActivityDatabase.openIfExists(folder)?.unmarkDamaged(body.sha256)
            return false
        }
        return true
    }
}

extension StoreReader {
    /// The settings of each site and its start URLs. Cheaper than `sites`, because nothing is counted.
    package func siteSettings() throws(StoreError) -> [(name: String, start: [String], settings: String)] {
        try settings(prepare("SELECT start, settings, name FROM site ORDER BY name"))
    }

    /// The settings of sites that have a manifest. The statement is prepared once, because this is read after
    /// each change of the store.
    package func settingsWithManifest() throws(StoreError) -> [(
        name: String, start: [String], settings: String
    )] {
        try settings(findManifests)
    }

    private func settings(
        _ statement: Statement
    ) throws(StoreError) -> [(name: String, start: [String], settings: String)] {
        var settings: [(name: String, start: [String], settings: String)] = []
        try statement.each { row in
            let start = row.text(0).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            settings.append((row.text(2), start, row.text(1)))
        }
        return settings
    }
}

extension StoreReader {
    /// Whether the store has a response for the URL, or a stored body links to it.
    package func isKnown(_ href: String) throws(StoreError) -> Bool {
        try prepare("SELECT 1 FROM url WHERE href = ?").first(.text(href)) { _ in true } ?? false
    }

    /// Whether the store has a response for any URL of an origin such as `https://example.com`, or a stored body
    /// links to one.
    package func isKnown(origin: String) throws(StoreError) -> Bool {
        try prepare("SELECT 1 FROM url WHERE href >= ? AND href < ? LIMIT 1")
            .first(.text(origin + "/"), .text(origin + Self.afterSlash)) { _ in true } ?? false
    }

    /// Returns the URLs of at most eight bodies that link to this URL. Searches only 5000 link lists, because
    /// there is no index of link targets and a search of all lists takes seconds.
    package func sampleReferrers(of href: String) throws(StoreError) -> [String] {
        let number = try prepare("SELECT id FROM url WHERE href = ?").first(.text(href)) { $0.integer(0) }
        guard let number else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE id IN (
                SELECT url FROM (SELECT url, pages, assets FROM link LIMIT 5000)
                WHERE instr(pages, ?1) OR instr(assets, ?1) LIMIT 8) ORDER BY href
            """, .text(LinkLists.text([number]))
        ) { referrers.append($0.text(0)) }
        return referrers
    }
}

extension StoreReader {
    /// Returns the misses of all servers of this store, in the order of their URLs. Empty if this user cannot
    /// read them.
    package func recordedMisses() throws(StoreError) -> [Miss] {
        do throws(StoreError) {
            return try ActivityDatabase.openIfExists(folder)?.misses() ?? []
        } catch  where error.reason == .denied {
            return []
        }
    }
}

extension Connection {
    /// Runs `body` in a transaction. Readers of the store see no change. In PostgreSQL, it is repeated up to
    /// `Limits.maxAttempts` times if the server was busy or the connection was lost.
    func inRepeatedTransaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) {
                try begin()
                try body()
                return try commit(hasChanged: false)
            } catch {
                // SQLite may have rolled back already, and the first error is the one that matters.
                try? rollBack()
                guard isPostgreSQL, attempt < Limits.maxAttempts else { throw error }
                switch error.reason {
                case .busy: continue
                case .unreachable: try session?.renew()
                case .request, .missing, .full, .denied, .unusable, .failed: throw error
                }
            }
        }
    }
}
