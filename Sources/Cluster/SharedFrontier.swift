package import Database
internal import Glibc
package import Store

/// The state that the workers of a shared snapshot have in common, in the PostgreSQL database of the store. Workers
/// communicate only through these tables. No process coordinates them.
///
/// **Leases.** A worker is a row of `work_worker`, whose number is never used again. The worker renews its lease by
/// setting the time `until` which it is valid (`renewLease`). Only the server's clock counts. When a lease has expired,
/// any other worker may delete the row (`endExpiredLeases`), which also makes its hosts free.
///
/// **Fencing.** A worker that was suspended may continue after its lease has ended. Therefore the transactions that
/// store responses, URLs and outcomes for a worker lock its row before they commit (`lockLease`), and are given up if
/// there is no row. While the row is locked, no other worker can delete it, so the changes are committed under a
/// valid lease.
///
/// **Hosts.** Each host, a row of `work_host`, is leased to at most one worker, and only this worker requests its URLs.
/// Other workers add the URLs that they discover to `work_url`, which the host's worker reads.
///
/// **Page limit.** `work_snapshot.pages` counts the pages in the shares of all workers. A worker takes pages into its
/// share before it requests them (`takePages`), counts those that it has stored (`countPages`), and gives back the
/// rest. When its lease ends, its uncounted pages return to the limit.
///
/// **End.** When all workers are idle, one of them becomes the finisher (`claimFinish`).
///
/// Each instance has its own session and belongs to one thread.
package final class SharedFrontier {
    package let connection: Connection
    private let folder: StoreFolder
    /// Whether the server became unreachable during a commit, which may have succeeded. The caller resets it.
    var hasLostCommitAnswer = false

    /// How long a lease is valid after its last renewal.
    package static let lease: Duration = .seconds(12)
    /// How long a transaction may be idle before the server ends its session, so that a worker that hangs in the
    /// middle of one does not block others. It is shorter than a lease.
    static let idleTransactionTimeout: Duration = .seconds(8)

    /// Opens a session for one thread. Throws an error of reason `.request` if the store is a folder.
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

    /// Creates the tables, or changes those of an earlier version. They are not part of the store's schema, and the
    /// version of the store does not count their changes: the index `work_url_waiting` marks the current form.
    package func setUpTables() throws(StoreError) {
        let isThere = try connection.prepare(
            "SELECT to_regclass(?) IS NOT NULL"
        ).first(.text("\(folder.server?.database.quotedSchema ?? "").work_url_waiting")) {
            $0.integer(0) != 0
        }
        guard isThere != true else { return }
        try transaction { () throws(StoreError) in
            try lockExclusively()
            try connection.execute(Self.tableDefinitions, doing: "set up")
        }
    }

    /// Takes a lock until the open transaction ends, so that only one session at a time creates the tables, or shares or
    /// removes a snapshot. Waits if another session has it.
    func lockExclusively() throws(StoreError) {
        let key = folder.server?.database.lockKey(Self.sharingLockNumber) ?? 0
        _ = try connection.prepare("SELECT pg_advisory_xact_lock(?)").first(.integer(key)) { _ in true }
    }

    /// The number of the advisory lock, before `PostgreSQLAddress.lockKey` makes it specific to this store.
    private static let sharingLockNumber: Int64 = 0x4000_0000_0000_0100

    /// The tables that are partitioned by snapshot. Dropping the partitions of a snapshot is much faster than deleting
    /// their rows.
    private static let partitionedTables = ["work_host", "work_url", "work_outcome", "work_answer"]

    /// The SQL that creates the tables. It can run again on existing tables; its last statements change those of
    /// earlier versions.
    ///
    /// **work_snapshot**: a shared snapshot, with its limits and how much of them is used. `is_cut` is set when
    /// the limit of time or bytes was reached, `was_empty` if the store had no responses when the snapshot was shared,
    /// and `finisher` to the worker that finishes it.
    ///
    /// **work_worker**: a worker and its lease, which is valid until `until`. `granted` is the number of pages that the
    /// worker took from the page limit, `kept` is how many of them it has counted as requested, and `heard` is the last
    /// row of `work_move` that it has read. The other columns are from its `WorkerReport`. Half of each page stays
    /// empty (`fillfactor`), because the rows are updated twice a second.
    ///
    /// **work_move**: a start URL that redirects to another host.
    ///
    /// **work_tally**: the requests of a worker, by host.
    ///
    /// **work_host**: a host. It is free if `worker` is null, and can be leased from the time `next` on. `left_by` is 1
    /// if a worker had the host before and no worker has leased it since; else 0.
    ///
    /// **work_url**: a URL that was discovered for a host. `is_read` is set when the host's worker reads it, and reset
    /// when another worker leases the host. The unique index is per snapshot and contains only the 64-bit keys, so that
    /// it stays in memory. The index of waiting URLs contains only the host.
    ///
    /// **work_outcome**, **work_answer**: rows of `Outcome` and `HostResponse`. `reach` is the network zone.
    private static let tableDefinitions = """
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

    /// Runs `body`, and repeats it if the server is unreachable, or after a conflict with another session such as a
    /// deadlock. Every function of this class throws in these cases, so callers wrap each call, or several that can be
    /// repeated together, in `retrying`. Do not call it in an open transaction: a new session has lost its changes.
    ///
    /// If only the server's answer to a commit was lost, the repeated `body` finds its changes already made. The
    /// result of the first attempt, such as the leased hosts, is lost then, and `hasLostCommitAnswer` is true.
    package func retrying<Value>(_ body: (SharedFrontier) throws(StoreError) -> Value) throws(StoreError)
        -> Value
    {
        var attempt = 0
        while true {
            attempt += 1
            do throws(StoreError) {
                return try body(self)
            } catch {
                guard attempt < Self.maxAttempts else { throw error }
                switch error.reason {
                case .busy: usleep(UInt32.random(in: 1000...50_000))
                case .unreachable:
                    do throws(StoreError) {
                        try connection.session?.renew()
                    } catch  where error.reason == .unreachable && connection.session?.isInterrupted != true {
                        // The next attempt fails at once, and tries to renew the session again.
                        continue
                    }
                case .request, .missing, .full, .denied, .unusable, .failed: throw error
                }
            }
        }
    }

    /// The maximum number of attempts. Each waits up to ten seconds for a server that is unreachable.
    private static let maxAttempts = 12

    /// Runs `body` in a transaction, which is rolled back if `body` throws. In an open transaction, it is a savepoint.
    package func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.begin()
        do throws(StoreError) {
            let value = try body()
            do throws(StoreError) {
                // Readers do not use these tables, so they need no notification.
                try connection.commit(hasChanged: false)
            } catch {
                if error.reason == .unreachable { hasLostCommitAnswer = true }
                throw error
            }
            return value
        } catch {
            // The first error explains the failure. After a lost connection, the rollback may fail too.
            try? connection.rollBack()
            throw error
        }
    }

    /// Runs an INSERT, UPDATE or DELETE, and returns the number of changed rows. As part of a SELECT, the statement does
    /// not notify the readers of the store, which do not use these tables.
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
    /// A snapshot that workers fetch together, with the limits of the run that shared it.
    package struct SharedSnapshot: Sendable, Equatable {
        package let snapshot: Int64
        package let site: Int64
        /// The name of the site.
        package let name: String
        package var maxPages: Int?
        package var maxBytes: Int?
        /// The rest of the time limit when this value was read, which may be negative; nil without a limit.
        package var millisecondsLeft: Int?
        /// Whether the store had no responses when the snapshot was shared. Then only hosts that were leased before
        /// can have stored responses, and a worker looks up no others.
        package var wasEmpty = false
    }

    /// Returns the shared snapshots that are not finished, the oldest first.
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

    /// Makes a snapshot shared, so that workers can join it, with `starts` as its first URLs. Returns false, and
    /// changes nothing, if it is already shared.
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
            for part in Self.partitionedTables {
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

    /// Returns the URLs with which the snapshot was shared: those without a referrer. Only their `href` and `facts` are
    /// set.
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

    /// Whether the worker has its lease. Without a lock, the lease may end right after the answer.
    package func hasLease(_ worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM work_worker WHERE id = ?)").first(
            .integer(worker)
        ) {
            $0.integer(0) != 0
        } ?? false
    }

    /// Removes the data of all shared snapshots that are finished or no longer exist in the store. They remain if the
    /// finisher was killed after it published.
    package func removeEndedSnapshots() throws(StoreError) {
        var ended: [Int64] = []
        try connection.prepare(
            """
            SELECT work_snapshot.snapshot FROM work_snapshot LEFT JOIN snapshot ON snapshot.id = work_snapshot.snapshot
            WHERE snapshot.id IS NULL OR snapshot.finished IS NOT NULL
            """
        ).each { ended.append($0.integer(0)) }
        for snapshot in ended { try remove(snapshot: snapshot) }
    }

    /// Deletes all rows of a shared snapshot from these tables, including the leases of its workers. These
    /// learn it from their next renewal, and from `isShared` that the snapshot has ended. The snapshot in the store does
    /// not change.
    package func remove(snapshot: Int64) throws(StoreError) {
        try transaction { () throws(StoreError) in
            try lockExclusively()
            for part in Self.partitionedTables {
                try connection.execute("DROP TABLE IF EXISTS \(part)_\(snapshot)", doing: "end")
            }
            for table in ["work_move", "work_tally", "work_worker", "work_snapshot"] {
                _ = try change("DELETE FROM \(table) WHERE snapshot = ?", [.integer(snapshot)])
            }
        }
    }

    /// Whether the snapshot is still shared: it was not finished or removed.
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
    /// Joins a shared snapshot on behalf of a worker, which must have joined it with `SharedFrontier.join`. From then on,
    /// each commit of this writer checks the worker's lease, and throws after it has expired. If the snapshot has a page
    /// limit, the commit also counts the stored pages.
    ///
    /// - Throws: `StoreError` of reason `busy` if a prefetch has locked the site exclusively.
    package func join(_ shared: SharedFrontier.SharedSnapshot, as worker: Int64) throws(StoreError)
        -> OpenSnapshot
    {
        try join(
            shared.snapshot, of: shared.site, named: shared.name, as: worker,
            checkingLease: SharedFrontier.lockLeaseSQL,
            addingPages: shared.maxPages == nil ? nil : SharedFrontier.countPagesSQL,
            maxIdle: SharedFrontier.idleTransactionTimeout)
    }
}
