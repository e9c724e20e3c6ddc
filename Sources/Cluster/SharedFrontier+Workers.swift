package import Database

extension SharedFrontier {
    /// Adds a worker and returns its number. Writes under this number are accepted as long as its lease is
    /// valid.
    package func join(_ snapshot: Int64, named name: String) throws(StoreError) -> Int64 {
        try connection.prepare(
            """
            INSERT INTO work_worker (snapshot, name, until) SELECT snapshot, ?, now() + \(Self.interval)
            FROM work_snapshot WHERE snapshot = ? RETURNING id
            """
        ).first(.text(name), .integer(snapshot)) { $0.integer(0) } ?? 0
    }

    private static let interval = "interval '\(lease.components.seconds) seconds'"

    /// The figures of a worker, which it reports with each renewal of its lease.
    package struct WorkerReport: Sendable {
        package var isIdle = false
        /// Whether the worker could send more requests than it has work for.
        package var isHungry = true
        /// Whether pages wait because the worker has used up its share of the page limit.
        package var isStarved = false
        /// The number of hosts for which the worker has work.
        package var hosts = 0
        /// The number of pages of its share that the worker has not requested yet.
        package var share = 0
        /// The number of the last move that the worker has read.
        package var heard: Int64 = 0
        /// The bytes received over the network since the last renewal.
        package var bytes = 0

        package init() {}
    }

    /// The state of a shared snapshot as seen by one worker.
    package struct WorkStatus: Sendable {
        package var workers = 1
        /// The number of other workers that could send more requests, and the number of these that have no
        /// work.
        package var hungry = 0
        package var workless = 0
        /// The number of hosts for which workers have work, and the lowest such number among the other
        /// workers.
        package var hosts = 0
        package var minHostsOfOthers = 0
        /// The number of hosts that can be leased, counted up to 1,000.
        package var freeHosts = 0
        /// The number of pages that other workers may still request from their shares.
        package var shares = 0
        /// The number of pages that are not in any share yet, or nil without a limit.
        package var pagesLeft: Int?
        package var bytes = 0
        package var finisher: Int64?
        package var moves: [StartRedirect] = []
        /// Whether the snapshot has ended.
        package var isOver = false

        package init() {}
    }

    /// A redirect of a start URL to another host, which then belongs to the site.
    package struct StartRedirect: Sendable {
        package var number: Int64
        package var source: String
        package var target: String
    }

    /// Renews the lease of a worker. Returns nil if the lease has expired. The worker is recorded as idle
    /// only if no URL waits for its hosts.
    package func renewLease(of worker: Int64, in snapshot: Int64, _ workerReport: WorkerReport)
        throws(StoreError)
        -> WorkStatus?
    {
        let isThere = try connection.prepare(
            """
            UPDATE work_worker SET until = now() + \(Self.interval), is_hungry = ? <> 0, is_starved = ? <> 0, hosts = ?,
                share = ?, heard = ?, is_idle = ? <> 0 AND NOT EXISTS (
                    SELECT 1 FROM work_host
                    WHERE work_host.snapshot = work_worker.snapshot AND work_host.worker = work_worker.id
                        AND \(Self.waiting("1", for: "work_host.id", of: "work_worker.snapshot")) IS NOT NULL)
            WHERE id = ? RETURNING id
            """
        ).first(
            .integer(workerReport.isHungry ? 1 : 0), .integer(workerReport.isStarved ? 1 : 0),
            .integer(Int64(workerReport.hosts)),
            .integer(Int64(workerReport.share)), .integer(workerReport.heard),
            .integer(workerReport.isIdle ? 1 : 0), .integer(worker)
        ) { $0.integer(0) }
        guard isThere != nil else { return nil }
        if workerReport.bytes > 0 {
            _ = try change(
                "UPDATE work_snapshot SET bytes = bytes + ? WHERE snapshot = ?",
                [.integer(Int64(workerReport.bytes)), .integer(snapshot)])
        }
        return try status(worker, of: snapshot, after: workerReport.heard)
    }

    private func status(
        _ worker: Int64, of snapshot: Int64, after heard: Int64
    ) throws(StoreError) -> WorkStatus? {
        var lastMove: Int64 = 0
        let found = try connection.prepare(
            """
            SELECT (SELECT count(*) FROM work_worker WHERE snapshot = ?1),
                (SELECT count(*) FROM work_worker WHERE snapshot = ?1 AND id <> ?2 AND is_hungry),
                (SELECT count(*) FROM work_worker WHERE snapshot = ?1 AND id <> ?2 AND is_hungry AND hosts = 0),
                (SELECT coalesce(CAST(sum(hosts) AS bigint), 0) FROM work_worker WHERE snapshot = ?1),
                (SELECT coalesce(CAST(sum(share) AS bigint), 0) FROM work_worker WHERE snapshot = ?1 AND id <> ?2),
                max_pages - pages, bytes, finisher,
                (SELECT coalesce(max(number), 0) FROM work_move WHERE snapshot = ?1),
                (SELECT coalesce(min(hosts), 0) FROM work_worker WHERE snapshot = ?1 AND id <> ?2),
                (SELECT count(*) FROM (
                    SELECT 1 FROM work_host WHERE snapshot = ?1 AND worker IS NULL AND next <= now() LIMIT 1000) AS free)
            FROM work_snapshot WHERE snapshot = ?1
            """
        ).first(.integer(snapshot), .integer(worker)) { row in
            var status = WorkStatus()
            status.workers = max(1, Int(row.integer(0)))
            status.hungry = Int(row.integer(1))
            status.workless = Int(row.integer(2))
            status.hosts = Int(row.integer(3))
            status.shares = Int(row.integer(4))
            status.pagesLeft = row.optionalInteger(5).map { Int($0) }
            status.bytes = Int(row.integer(6))
            status.finisher = row.optionalInteger(7)
            lastMove = row.integer(8)
            status.minHostsOfOthers = Int(row.integer(9))
            status.freeHosts = Int(row.integer(10))
            return status
        }
        guard var status = found else {
            var status = WorkStatus()
            status.isOver = true
            return status
        }
        if lastMove > heard {
            try connection.prepare(
                "SELECT number, source, target FROM work_move WHERE snapshot = ? AND number > ? ORDER BY number"
            ).each(.integer(snapshot), .integer(heard)) {
                status.moves.append(
                    StartRedirect(number: $0.integer(0), source: $0.text(1), target: $0.text(2)))
            }
        }
        return status
    }

    /// Ends expired leases and returns their number. Leases are not ended shortly after a restart of the
    /// server, because workers could not renew them. A lease whose row is locked by a transaction is skipped.
    package func endExpiredLeases(of snapshot: Int64) throws(StoreError) -> Int {
        let late = """
            FROM work_worker
            WHERE snapshot = ? AND until < now() AND pg_postmaster_start_time() < now() - \(Self.interval)
            """
        // There are almost never any.
        let isAnyLate = try connection.prepare("SELECT EXISTS (SELECT 1 \(late))").first(.integer(snapshot)) {
            $0.integer(0) != 0
        }
        guard isAnyLate == true else { return 0 }
        return try transaction { () throws(StoreError) in
            try end(snapshot, "SELECT id \(late) ORDER BY id FOR UPDATE SKIP LOCKED", .integer(snapshot))
        }
    }

    /// Ends the lease of a worker that stops. Other workers may lease its hosts at once.
    package func leave(_ worker: Int64, of snapshot: Int64) throws(StoreError) {
        _ = try transaction { () throws(StoreError) in
            try end(snapshot, "SELECT id FROM work_worker WHERE id = ? FOR UPDATE", .integer(worker))
        }
    }

    /// Ends the leases whose rows the query `locked` locks, in the open transaction. This takes separate
    /// statements, because only a later statement sees what these workers committed before their rows were
    /// locked. Granted pages that were not counted with `countPages` return to the page limit. Counted pages are
    /// read again, but not counted again.
    private func end(_ snapshot: Int64, _ locked: String, _ value: SQLValue) throws(StoreError) -> Int {
        var workers: [Int64] = []
        try connection.prepare(locked).each(value) { workers.append($0.integer(0)) }
        guard !workers.isEmpty else { return 0 }
        _ = try change(
            "UPDATE work_host SET worker = NULL, left_by = 1 WHERE snapshot = ? AND worker = ANY(?)",
            [.integer(snapshot), .integers(workers)])
        _ = try connection.prepare(
            """
            WITH ended AS (DELETE FROM work_worker WHERE id = ANY(?2) RETURNING granted - kept AS unused),
            pages AS (UPDATE work_snapshot SET pages = pages - (SELECT CAST(sum(unused) AS bigint) FROM ended)
                WHERE snapshot = ?1 AND EXISTS (SELECT 1 FROM ended))
            SELECT count(*) FROM ended
            """
        ).first(.integer(snapshot), .integers(workers)) { $0.integer(0) }
        return workers.count
    }

    /// Whether this worker ends the snapshot. At most one does: no worker has work left, and no other worker
    /// with a valid lease was chosen.
    package func claimFinish(_ worker: Int64, of snapshot: Int64) throws(StoreError) -> Bool {
        let finisher = try connection.prepare(
            """
            UPDATE work_snapshot SET finisher = ?2
            WHERE snapshot = ?1 AND EXISTS (SELECT 1 FROM work_worker WHERE id = ?2)
                AND (finisher IS NULL OR finisher = ?2
                    OR NOT EXISTS (SELECT 1 FROM work_worker WHERE work_worker.id = work_snapshot.finisher))
                AND NOT EXISTS (SELECT 1 FROM work_worker WHERE work_worker.snapshot = ?1 AND (NOT is_idle
                    OR heard < (SELECT coalesce(max(number), 0) FROM work_move WHERE work_move.snapshot = ?1)))
                AND (is_cut
                    OR NOT EXISTS (SELECT 1 FROM work_host WHERE work_host.snapshot = ?1 AND left_by > 0)
                        AND \(Self.waiting("1", of: "?1")) IS NULL)
            RETURNING finisher
            """
        ).first(.integer(snapshot), .integer(worker)) { $0.integer(0) }
        return finisher == worker
    }

    /// Records that a limit was reached. No more requests are sent when the snapshot is ended.
    package func markLimitReached(_ snapshot: Int64) throws(StoreError) {
        _ = try change(
            "UPDATE work_snapshot SET is_cut = true WHERE snapshot = ? AND NOT is_cut", [.integer(snapshot)])
    }

    /// Returns whether a limit was reached, the rest of the page limit, and the number of bytes received.
    package func limits(of snapshot: Int64) throws(StoreError) -> (isCut: Bool, pagesLeft: Int?, bytes: Int) {
        try connection.prepare(
            "SELECT is_cut, max_pages - pages, bytes FROM work_snapshot WHERE snapshot = ?"
        )
        .first(
            .integer(snapshot)
        ) { ($0.integer(0) != 0, $0.optionalInteger(1).map { max(0, Int($0)) }, Int($0.integer(2))) }
            ?? (false, nil, 0)
    }

    /// Returns the time since the snapshot was shared.
    package func age(of snapshot: Int64) throws(StoreError) -> Duration {
        try connection.prepare(
            """
            SELECT CAST(extract(epoch FROM clock_timestamp() - started) * 1000 AS bigint) FROM work_snapshot
            WHERE snapshot = ?
            """
        ).first(.integer(snapshot)) { .milliseconds($0.integer(0)) } ?? .zero
    }

    /// Adds up to `count` pages to the worker's share of the page limit. Returns the number of added pages.
    package func takePages(_ count: Int, for worker: Int64, of snapshot: Int64) throws(StoreError) -> Int {
        let granted = try connection.prepare(
            """
            WITH mine AS MATERIALIZED (SELECT id FROM work_worker WHERE id = ?2 FOR NO KEY UPDATE),
            free AS MATERIALIZED (
                SELECT greatest(0, least(?3, max_pages - pages)) AS pages FROM work_snapshot
                WHERE snapshot = ?1 AND EXISTS (SELECT 1 FROM mine) FOR NO KEY UPDATE),
            taken AS (UPDATE work_snapshot SET pages = work_snapshot.pages + free.pages FROM free WHERE snapshot = ?1),
            noted AS (UPDATE work_worker SET granted = granted + free.pages, share = share + free.pages FROM free
                WHERE id = ?2)
            SELECT pages FROM free
            """
        ).first(.integer(snapshot), .integer(worker), .integer(Int64(count))) { Int($0.integer(0)) }
        return granted ?? 0
    }

    /// Returns unused pages of a worker's share to the page limit.
    package func givePages(_ count: Int, by worker: Int64, of snapshot: Int64) throws(StoreError) {
        _ = try connection.prepare(
            """
            WITH noted AS (UPDATE work_worker SET granted = granted - ?3, share = 0 WHERE id = ?2 RETURNING id),
            given AS (UPDATE work_snapshot SET pages = pages - ?3 WHERE snapshot = ?1 AND EXISTS (SELECT 1 FROM noted))
            SELECT count(*) FROM noted
            """
        ).first(.integer(snapshot), .integer(worker), .integer(Int64(count))) { $0.integer(0) }
    }

    /// Counts pages of a worker as requested: they are stored, or known not to be. The count takes effect
    /// when the open transaction is committed. Until then, the lease cannot be taken away. Returns false if
    /// it has expired.
    @discardableResult
    package func countPages(_ count: Int, by worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare(Self.keeping).first(.integer(worker), .integer(Int64(count))) { _ in true }
            ?? false
    }

    package static let keeping = "UPDATE work_worker SET kept = kept + ?2 WHERE id = ?1 RETURNING id"
}
