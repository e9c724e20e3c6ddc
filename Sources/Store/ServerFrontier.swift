internal import Glibc

/// What the workers of a shared snapshot have in common, in the PostgreSQL that keeps the larder: who has which host,
/// what was found for hosts of others, and what the snapshot may still cost.
///
/// A worker's number is its lease, and comes once: when its row goes, so do its hosts, and every write in its name is
/// refused from then on. The server's clock alone counts. It has a session of its own, and belongs to one thread.
package final class ServerFrontier {
    let connection: Connection
    private let folder: StoreFolder

    /// From the last sign of a worker to the moment when others take its hosts.
    package static let lease: Duration = .seconds(12)
    /// A transaction in which nothing has happened for so long is ended by the server: a worker that stands still
    /// in the middle of one holds nobody up.
    static let stillness: Duration = .seconds(8)

    package init(_ folder: StoreFolder) throws(StoreError) {
        guard folder.server != nil else {
            throw StoreError(
                .request, doing: "share work on", path: folder.name, detail: "it is a folder",
                advice: "name a store in PostgreSQL, postgres://USER@HOST/DATABASE,",
                remedy: .larder)
        }
        self.folder = folder
        connection = try folder.connect(.readWrite)
        try connection.session?.endWhenStill(Self.stillness)
        try connection.session?.lookUpAlone()
    }

    /// Makes the tables where there are none yet, or those of an earlier larder. The larder has its own.
    package func prepare() throws(StoreError) {
        let isThere = try connection.prepare(
            "SELECT to_regclass(?) IS NOT NULL"
        ).first(.text("\(folder.server?.quotedSchema ?? "").work_url_waiting")) { $0.integer(0) != 0 }
        guard isThere != true else { return }
        try transaction { () throws(StoreError) in
            try holdAlone()
            try connection.execute(Self.tables, doing: "set up")
        }
    }

    /// One at a time begins a snapshot, or ends one; until the transaction ends.
    func holdAlone() throws(StoreError) {
        let key = folder.server?.key(Self.beginning) ?? 0
        _ = try connection.prepare("SELECT pg_advisory_xact_lock(?)").first(.integer(key)) { _ in true }
    }

    private static let beginning: Int64 = 0x4000_0000_0000_0100

    /// What the snapshot's rows are in goes as a whole.
    private static let parts = ["work_host", "work_url", "work_outcome", "work_answer"]

    /// What is known is told by an index that no larger frontier makes slow as long as it lies in memory: each snapshot's has
    /// the keys alone, and what waits for a host is a list of places behind its number. Those of an earlier larder become so.
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

    // MARK: Sessions that are cut

    /// Does it once more where the PostgreSQL was away, or others were in the way; what was not committed is gone.
    package func persisting<Value>(_ body: (ServerFrontier) throws(StoreError) -> Value) throws(StoreError)
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

    /// Each waits ten seconds for a server that is not there.
    private static let attempts = 12

    func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.begin()
        do throws(StoreError) {
            let value = try body()
            // What only workers see is no news to readers.
            try connection.commit(hasChanged: false)
            return value
        } catch {
            // The first error is the one that tells.
            try? connection.rollBack()
            throw error
        }
    }

    /// A change of rows that nobody else hears of.
    func change(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> Int64 {
        try connection.prepare("WITH changed AS (\(sql) RETURNING 1) SELECT count(*) FROM changed").first(
            values
        ) {
            $0.integer(0)
        } ?? 0
    }
}

// MARK: - Snapshots

extension ServerFrontier {
    /// A snapshot that workers share.
    package struct Shared: Sendable, Equatable {
        package let snapshot: Int64
        package let site: Int64
        package let name: String
        package var maxPages: Int?
        package var maxBytes: Int?
        /// Of the time that it may take.
        package var millisecondsLeft: Int?
        /// When it began, the larder held nothing: what there is, workers brought.
        package var wasEmpty = false
    }

    /// Those that are not over, the oldest first.
    package func shared() throws(StoreError) -> [Shared] {
        var shared: [Shared] = []
        try connection.prepare(
            """
            SELECT work_snapshot.snapshot, work_snapshot.site, work_snapshot.name, max_pages, max_bytes,
                max_milliseconds - CAST(extract(epoch FROM now() - work_snapshot.started) * 1000 AS bigint), was_empty
            FROM work_snapshot JOIN snapshot ON snapshot.id = work_snapshot.snapshot
            WHERE snapshot.finished IS NULL ORDER BY work_snapshot.snapshot
            """
        ).each { row in
            shared.append(
                Shared(
                    snapshot: row.integer(0), site: row.integer(1), name: row.text(2),
                    maxPages: row.optionalInteger(3).map { Int($0) },
                    maxBytes: row.optionalInteger(4).map { Int($0) },
                    millisecondsLeft: row.optionalInteger(5).map { Int($0) }, wasEmpty: row.integer(6) != 0))
        }
        return shared
    }

    /// Has the snapshot shared from here on, beginning at these; false where it is already.
    package func share(
        _ snapshot: OpenSnapshot, named name: String, maxPages: Int?, maxBytes: Int?, milliseconds: Int?,
        starts: [Found]
    ) throws(StoreError) -> Bool {
        try transaction { () throws(StoreError) in
            try holdAlone()
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
            try add(starts, to: snapshot.id)
            return true
        }
    }

    /// At what it began: what nobody led to.
    package func starts(of snapshot: Int64) throws(StoreError) -> [Found] {
        var starts: [Found] = []
        try connection.prepare(
            """
            SELECT work_url.href AS address, facts FROM work_url WHERE snapshot = ? AND referrer IS NULL ORDER BY number
            """
        ).each(.integer(snapshot)) {
            starts.append(
                Found(origin: "", href: $0.text(0), referrer: nil, facts: $0.integer(1), identity: 0))
        }
        return starts
    }

    /// Whether the worker's lease is its own.
    package func isAlive(_ worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM work_worker WHERE id = ?)").first(
            .integer(worker)
        ) {
            $0.integer(0) != 0
        } ?? false
    }

    /// What stands in the way of a new shared snapshot of the site: one of which nothing is left but its rows.
    package func clear() throws(StoreError) {
        var over: [Int64] = []
        try connection.prepare(
            """
            SELECT work_snapshot.snapshot FROM work_snapshot LEFT JOIN snapshot ON snapshot.id = work_snapshot.snapshot
            WHERE snapshot.id IS NULL OR snapshot.finished IS NOT NULL
            """
        ).each { over.append($0.integer(0)) }
        for snapshot in over { try remove(snapshot: snapshot) }
    }

    /// Deletes everything that workers stored for a snapshot that has ended.
    package func remove(snapshot: Int64) throws(StoreError) {
        try transaction { () throws(StoreError) in
            try holdAlone()
            for part in Self.parts {
                try connection.execute("DROP TABLE IF EXISTS \(part)_\(snapshot)", doing: "end")
            }
            for table in ["work_move", "work_tally", "work_worker", "work_snapshot"] {
                _ = try change("DELETE FROM \(table) WHERE snapshot = ?", [.integer(snapshot)])
            }
        }
    }

    /// Whether anybody still works on it, or waits for its end.
    package func isShared(snapshot: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM work_snapshot WHERE snapshot = ?)").first(
            .integer(snapshot)
        ) {
            $0.integer(0) != 0
        } ?? false
    }

    /// Whether readers see it, and it is complete.
    package func isPublished(snapshot: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM site WHERE published = ?)").first(
            .integer(snapshot)
        ) {
            $0.integer(0) != 0
        } ?? false
    }
}
