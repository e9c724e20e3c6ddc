package import Database
internal import Glibc
package import Store

/// The state that workers of a shared snapshot have in common, in the PostgreSQL database of the store: which
/// worker has leased which host, which URLs were found, and how much of its limits the snapshot has left.
///
/// The number of a worker is its lease and is never used again. When a lease expires, the worker's row is
/// deleted, its hosts become free, and writes under its number are rejected. Only the server's clock counts.
/// Each instance has its own session and belongs to one thread.
package final class SharedFrontier {
    package let connection: Connection
    private let folder: StoreFolder

    /// The time after a worker's last sign of life when its lease expires.
    package static let lease: Duration = .seconds(12)
    /// The time after which the server ends an idle transaction, so that a worker that hangs in the middle of
    /// one does not block others.
    static let idleTransactionTimeout: Duration = .seconds(8)

    /// Opens a session for one thread. Throws if the store is a folder.
    package init(_ folder: StoreFolder) throws(StoreError) {
        guard folder.server != nil else {
            throw StoreError(
                .request, doing: "share work on", path: folder.name, detail: "it is a folder",
                advice: "name a store in PostgreSQL, postgres://USER@HOST/DATABASE,",
                remedy: .store)
        }
        self.folder = folder
        connection = try folder.connect(.readWrite)
        try connection.session?.endWhenIdle(Self.idleTransactionTimeout)
        try connection.session?.useIndexScansOnly()
    }

    /// Creates the tables, or changes those of an earlier version. Their version is separate from that of the
    /// store.
    package func prepare() throws(StoreError) {
        let isThere = try connection.prepare(
            "SELECT to_regclass(?) IS NOT NULL"
        ).first(.text("\(folder.server?.database.quotedSchema ?? "").work_url_waiting")) {
            $0.integer(0) != 0
        }
        guard isThere != true else { return }
        try transaction { () throws(StoreError) in
            try lockExclusively()
            try connection.execute(Self.tables, doing: "set up")
        }
    }

    /// Takes a lock until the transaction ends, so that only one session at a time creates, begins or removes
    /// a shared snapshot. Waits if another session has it.
    func lockExclusively() throws(StoreError) {
        let key = folder.server?.database.key(Self.beginning) ?? 0
        _ = try connection.prepare("SELECT pg_advisory_xact_lock(?)").first(.integer(key)) { _ in true }
    }

    private static let beginning: Int64 = 0x4000_0000_0000_0100

    /// The tables that are partitioned by snapshot. The partitions of a snapshot are dropped when it is
    /// removed.
    private static let parts = ["work_host", "work_url", "work_outcome", "work_answer"]

    /// The unique index of found URLs is per snapshot and contains only their 64-bit keys, so that it stays
    /// in memory. The index of waiting URLs contains only the host. The last statements change the tables of
    /// earlier versions.
    private static let tables = """
        CREATE SEQUENCE IF NOT EXISTS work_number;
        CREATE TABLE IF NOT EXISTS work_snapshot (
            snapshot bigint PRIMARY KEY,
            site bigint NOT NULL,
            name text COLLATE "C" NOT NULL,
            started timestamptz NOT NULL DEFAULT now(),
            max_pages bigint,
            max_bytes bigint,
            max_milliseconds bigint,
            pages bigint NOT NULL DEFAULT 0,
            bytes bigint NOT NULL DEFAULT 0,
            is_cut boolean NOT NULL DEFAULT false,
            was_empty boolean NOT NULL,
            finisher bigint
        );
        CREATE TABLE IF NOT EXISTS work_worker (
            id bigint PRIMARY KEY DEFAULT nextval('work_number'),
            snapshot bigint NOT NULL,
            name text COLLATE "C" NOT NULL,
            until timestamptz NOT NULL,
            is_idle boolean NOT NULL DEFAULT true,
            is_hungry boolean NOT NULL DEFAULT true,
            is_starved boolean NOT NULL DEFAULT false,
            hosts bigint NOT NULL DEFAULT 0,
            share bigint NOT NULL DEFAULT 0,
            granted bigint NOT NULL DEFAULT 0,
            heard bigint NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50);
        ALTER TABLE work_worker ADD COLUMN IF NOT EXISTS kept bigint NOT NULL DEFAULT 0;
        CREATE TABLE IF NOT EXISTS work_move (
            number bigint PRIMARY KEY DEFAULT nextval('work_number'),
            snapshot bigint NOT NULL,
            source text COLLATE "C" NOT NULL,
            target text COLLATE "C" NOT NULL
        );
        CREATE TABLE IF NOT EXISTS work_tally (
            snapshot bigint NOT NULL,
            worker bigint NOT NULL,
            name text COLLATE "C" NOT NULL,
            requests bigint NOT NULL,
            failures bigint NOT NULL,
            bytes bigint NOT NULL,
            version text COLLATE "C",
            PRIMARY KEY (snapshot, worker, name)
        );
        CREATE TABLE IF NOT EXISTS work_host (
            snapshot bigint NOT NULL,
            id bigint NOT NULL DEFAULT nextval('work_number'),
            origin text COLLATE "C" NOT NULL,
            worker bigint,
            left_by bigint NOT NULL DEFAULT 0,
            next timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (snapshot, origin)
        ) PARTITION BY LIST (snapshot);
        CREATE INDEX IF NOT EXISTS work_host_id ON work_host (id);
        CREATE INDEX IF NOT EXISTS work_host_free ON work_host (next, id) WHERE worker IS NULL;
        CREATE TABLE IF NOT EXISTS work_url (
            snapshot bigint NOT NULL,
            key bigint NOT NULL,
            number bigint NOT NULL DEFAULT nextval('work_number'),
            host bigint NOT NULL,
            href text COLLATE "C" NOT NULL,
            referrer text COLLATE "C",
            facts bigint NOT NULL,
            is_read boolean NOT NULL DEFAULT false
        ) PARTITION BY LIST (snapshot);
        CREATE INDEX IF NOT EXISTS work_url_waiting ON work_url (host) WHERE NOT is_read;
        CREATE TABLE IF NOT EXISTS work_outcome (
            snapshot bigint NOT NULL,
            origin text COLLATE "C" NOT NULL,
            href text COLLATE "C" NOT NULL,
            outcome text COLLATE "C" NOT NULL
        ) PARTITION BY LIST (snapshot);
        CREATE INDEX IF NOT EXISTS work_outcome_origin ON work_outcome (origin);
        CREATE TABLE IF NOT EXISTS work_answer (
            snapshot bigint NOT NULL,
            origin text COLLATE "C" NOT NULL,
            href text COLLATE "C" NOT NULL,
            status bigint NOT NULL,
            location text COLLATE "C",
            reach bigint NOT NULL,
            failure text COLLATE "C",
            body bytea NOT NULL
        ) PARTITION BY LIST (snapshot);
        CREATE INDEX IF NOT EXISTS work_answer_origin ON work_answer (origin);
        ALTER TABLE work_url DROP CONSTRAINT IF EXISTS work_url_pkey;
        DROP INDEX IF EXISTS work_url_unread;
        DO $$ DECLARE snapshot bigint; BEGIN
            FOR snapshot IN SELECT work_snapshot.snapshot FROM work_snapshot LOOP
                EXECUTE format('CREATE UNIQUE INDEX IF NOT EXISTS work_url_%1$s_key ON work_url_%1$s (key)', snapshot);
            END LOOP;
        END $$;

        """

    // MARK: Lost sessions

    /// Runs `body`, and repeats it if the server was unreachable or another session was in the way. Changes
    /// that were not committed are lost in between.
    package func retrying<Value>(_ body: (SharedFrontier) throws(StoreError) -> Value) throws(StoreError)
        -> Value
    {
        var attempt = 0
        while true {
            attempt += 1
            do throws(StoreError) {
                return try body(self)
            } catch {
                guard attempt < Self.attempts else { throw error }
                switch error.reason {
                case .busy: usleep(UInt32.random(in: 1000...50_000))
                case .unreachable:
                    do throws(StoreError) {
                        try connection.session?.renew()
                    } catch  where error.reason == .unreachable && connection.session?.isStopped != true {
                        continue
                    }
                case .request, .missing, .full, .denied, .unusable, .failed: throw error
                }
            }
        }
    }

    /// The number of attempts. Each waits up to ten seconds for a server that is unreachable.
    private static let attempts = 12

    package func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.begin()
        do throws(StoreError) {
            let value = try body()
            // Readers do not use these tables, so they need no notification.
            try connection.commit(hasChanged: false)
            return value
        } catch {
            // Throw the first error, which explains the failure.
            try? connection.rollBack()
            throw error
        }
    }

    /// Changes rows and returns their number, without notifying other sessions.
    package func change(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> Int64 {
        try connection.prepare("WITH changed AS (\(sql) RETURNING 1) SELECT count(*) FROM changed").first(
            values
        ) {
            $0.integer(0)
        } ?? 0
    }
}

// MARK: - Snapshots

extension SharedFrontier {
    /// A snapshot that workers share.
    package struct SharedSnapshot: Sendable, Equatable {
        package let snapshot: Int64
        package let site: Int64
        package let name: String
        package var maxPages: Int?
        package var maxBytes: Int?
        /// The rest of the time limit.
        package var millisecondsLeft: Int?
        /// Whether the store had no responses when the snapshot began, so that workers stored all responses
        /// in it.
        package var wasEmpty = false
    }

    /// Returns the shared snapshots that have not ended, the oldest first.
    package func sharedSnapshots() throws(StoreError) -> [SharedSnapshot] {
        var shared: [SharedSnapshot] = []
        try connection.prepare(
            """
            SELECT work_snapshot.snapshot, work_snapshot.site, work_snapshot.name, max_pages, max_bytes,
                max_milliseconds - CAST(extract(epoch FROM now() - work_snapshot.started) * 1000 AS bigint), was_empty
            FROM work_snapshot JOIN snapshot ON snapshot.id = work_snapshot.snapshot
            WHERE snapshot.finished IS NULL ORDER BY work_snapshot.snapshot
            """
        ).each { row in
            shared.append(
                SharedSnapshot(
                    snapshot: row.integer(0), site: row.integer(1), name: row.text(2),
                    maxPages: row.optionalInteger(3).map { Int($0) },
                    maxBytes: row.optionalInteger(4).map { Int($0) },
                    millisecondsLeft: row.optionalInteger(5).map { Int($0) }, wasEmpty: row.integer(6) != 0))
        }
        return shared
    }

    /// Makes a snapshot shared, with `starts` as its first URLs. Returns false if it is already shared.
    package func share(
        _ snapshot: OpenSnapshot, named name: String, maxPages: Int?, maxBytes: Int?, milliseconds: Int?,
        starts: [DiscoveredURL]
    ) throws(StoreError) -> Bool {
        try transaction { () throws(StoreError) in
            try lockExclusively()
            let isNew = try change(
                """
                INSERT INTO work_snapshot (snapshot, site, name, max_pages, max_bytes, max_milliseconds, was_empty)
                VALUES (?, ?, ?, ?, ?, ?, NOT EXISTS (SELECT 1 FROM response)) ON CONFLICT DO NOTHING
                """,
                [
                    .integer(snapshot.id), .integer(snapshot.site), .text(name),
                    .optional(maxPages.map { Int64($0) }),
                    .optional(maxBytes.map { Int64($0) }), .optional(milliseconds.map { Int64($0) }),
                ])
            guard isNew == 1 else { return false }
            for part in Self.parts {
                try connection.execute(
                    """
                    CREATE TABLE IF NOT EXISTS \(part)_\(snapshot.id) PARTITION OF \(part) FOR VALUES IN (\(snapshot.id))
                    WITH (autovacuum_vacuum_scale_factor = 0.05, fillfactor = 80)
                    """, doing: "set up")
            }
            try connection.execute(
                "CREATE UNIQUE INDEX IF NOT EXISTS work_url_\(snapshot.id)_key ON work_url_\(snapshot.id) (key)",
                doing: "set up")
            try insertURLs(starts, to: snapshot.id)
            return true
        }
    }

    /// Returns the start URLs of a snapshot: those without a referrer.
    package func starts(of snapshot: Int64) throws(StoreError) -> [DiscoveredURL] {
        var starts: [DiscoveredURL] = []
        try connection.prepare(
            """
            SELECT work_url.href AS address, facts FROM work_url WHERE snapshot = ? AND referrer IS NULL ORDER BY number
            """
        ).each(.integer(snapshot)) {
            starts.append(
                DiscoveredURL(origin: "", href: $0.text(0), referrer: nil, facts: $0.integer(1), identity: 0))
        }
        return starts
    }

    /// Whether the worker's lease has not expired.
    package func isAlive(_ worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM work_worker WHERE id = ?)").first(
            .integer(worker)
        ) {
            $0.integer(0) != 0
        } ?? false
    }

    /// Removes the data of all shared snapshots that have ended or no longer exist.
    package func removeEnded() throws(StoreError) {
        var over: [Int64] = []
        try connection.prepare(
            """
            SELECT work_snapshot.snapshot FROM work_snapshot LEFT JOIN snapshot ON snapshot.id = work_snapshot.snapshot
            WHERE snapshot.id IS NULL OR snapshot.finished IS NOT NULL
            """
        ).each { over.append($0.integer(0)) }
        for snapshot in over { try remove(snapshot: snapshot) }
    }

    /// Deletes the data that workers stored for a snapshot in these tables.
    package func remove(snapshot: Int64) throws(StoreError) {
        try transaction { () throws(StoreError) in
            try lockExclusively()
            for part in Self.parts {
                try connection.execute("DROP TABLE IF EXISTS \(part)_\(snapshot)", doing: "end")
            }
            for table in ["work_move", "work_tally", "work_worker", "work_snapshot"] {
                _ = try change("DELETE FROM \(table) WHERE snapshot = ?", [.integer(snapshot)])
            }
        }
    }

    /// Whether the snapshot is still shared: workers are working on it or waiting for its end.
    package func isShared(snapshot: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM work_snapshot WHERE snapshot = ?)").first(
            .integer(snapshot)
        ) {
            $0.integer(0) != 0
        } ?? false
    }

    /// Whether the snapshot is the live one of its site.
    package func isPublished(snapshot: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM site WHERE published = ?)").first(
            .integer(snapshot)
        ) {
            $0.integer(0) != 0
        } ?? false
    }
}

extension StoreWriter {
    /// Joins a snapshot that several workers write to, on behalf of one of them. Commits fail after the lease
    /// of the worker has expired. Throws `.busy` if a prefetch has locked the site exclusively.
    package func join(_ shared: SharedFrontier.SharedSnapshot, as worker: Int64) throws(StoreError)
        -> OpenSnapshot
    {
        try join(
            shared.snapshot, of: shared.site, named: shared.name, as: worker,
            checkingLease: SharedFrontier.fence,
            addingPages: shared.maxPages == nil ? nil : SharedFrontier.keeping,
            maxIdle: SharedFrontier.idleTransactionTimeout)
    }
}
