package import Database

extension SharedFrontier {
    /// Adds a worker with a new lease and returns its number, or 0 if the snapshot is no longer shared. Writes
    /// under this number are accepted as long as its lease is valid.
    ///
    /// - Parameter name: a name for people who look at the table; it need not be unique.
    package func join(_ snapshot: Int64, named name: String) throws(StoreError) -> Int64 {
        try connection.prepare(
            """
            INSERT INTO work_worker (snapshot, name, until) SELECT snapshot, ?, now() + \(Self.leaseInterval)
            FROM work_snapshot WHERE snapshot = ? RETURNING id
            """
        ).first(.text(name), .integer(snapshot)) { $0.integer(0) } ?? 0
    }

    /// The SQL of the interval for which a lease is valid.
    private static let leaseInterval = "interval '\(lease.components.seconds) seconds'"

    /// The figures of a worker, which it reports with each renewal of its lease. The other workers decide by them
    /// which hosts to give away, and whether the snapshot can be finished.
    package struct WorkerReport: Sendable {
        /// Whether the worker has nothing to do, and has committed everything (`IdleDetector`).
        package var isIdle = false
        /// Whether the worker could send more requests than it has work for.
        package var isHungry = true
        /// Whether pages wait because the worker has used up its share of the page limit.
        package var isStarved = false
        /// The number of hosts for which the worker has work.
        package var hosts = 0
        /// The number of pages in the worker's share of the page limit that it has not requested yet.
        package var unusedPages = 0
        /// The number of the last redirect of a start URL that the worker has read.
        package var lastStartRedirect: Int64 = 0
        /// The bytes received over the network since the last renewal.
        package var bytes = 0

        package init() {}
    }

    /// The state of a shared snapshot for one worker, from the last reports of all workers. It is up to half a
    /// second old, so a worker must not rely on its figures to agree with each other.
    package struct WorkStatus: Sendable {
        package var workers = 1
        /// The number of other workers that could send more requests.
        package var hungryWorkers = 0
        /// The number of other workers that could send more requests and have no host with work.
        package var worklessWorkers = 0
        /// The number of hosts for which workers have work.
        package var hosts = 0
        /// The number of hosts with work of the other worker that has the fewest; 0 without other workers.
        package var minHostsOfOthers = 0
        /// The number of hosts that can be leased, counted up to 1,000.
        package var freeHosts = 0
        /// The number of pages in the shares of other workers that these have not requested yet.
        package var unusedPagesOfOthers = 0
        /// The number of pages that are not in any share yet, or nil without a limit.
        package var pagesLeft: Int?
        /// The bytes that all workers have received over the network.
        package var bytes = 0
        /// The redirects of start URLs that this worker has not read yet, in the order of their numbers.
        package var startRedirects: [StartRedirect] = []
        /// Whether the snapshot is no longer shared, because it was finished or removed.
        package var hasEnded = false

        package init() {}
    }

    /// A redirect of a start URL to another host, which then belongs to the site.
    package struct StartRedirect: Sendable {
        /// A number that increases with each redirect.
        package var number: Int64
        package var source: String
        package var target: String
    }

    /// Renews the lease of a worker, stores its report, and returns the state of the snapshot. Returns nil if the
    /// lease has expired.
    ///
    /// The worker is recorded as idle only if no unread URL waits for its hosts, because another worker may have
    /// added one after the worker decided that it is idle.
    func renewLease(of worker: Int64, in snapshot: Int64, _ workerReport: WorkerReport)
        throws(StoreError)
        -> WorkStatus?
    {
        let renewed = try connection.prepare(
            """
            UPDATE work_worker SET until = now() + \(Self.leaseInterval), is_hungry = ? <> 0, is_starved = ? <> 0, hosts = ?,
                share = ?, heard = ?, is_idle = ? <> 0 AND NOT EXISTS (
                    SELECT 1 FROM work_host
                    WHERE work_host.snapshot = work_worker.snapshot AND work_host.worker = work_worker.id
                        AND \(Self.waitingURLsSQL("1", for: "work_host.id", of: "work_worker.snapshot")) IS NOT NULL)
            WHERE id = ? RETURNING id
            """
        ).first(
            .integer(workerReport.isHungry ? 1 : 0), .integer(workerReport.isStarved ? 1 : 0),
            .integer(Int64(workerReport.hosts)),
            .integer(Int64(workerReport.unusedPages)), .integer(workerReport.lastStartRedirect),
            .integer(workerReport.isIdle ? 1 : 0), .integer(worker)
        ) { $0.integer(0) }
        guard renewed != nil else { return nil }
        if workerReport.bytes > 0 {
            _ = try change(
                "UPDATE work_snapshot SET bytes = bytes + ? WHERE snapshot = ?",
                [.integer(Int64(workerReport.bytes)), .integer(snapshot)])
        }
        return try status(for: worker, of: snapshot, after: workerReport.lastStartRedirect)
    }

    /// Returns the state of the snapshot for a worker.
    ///
    /// - Parameter lastRead: the number of the last redirect of a start URL that the worker has read.
    private func status(
        for worker: Int64, of snapshot: Int64, after lastRead: Int64
    ) throws(StoreError) -> WorkStatus {
        var lastAdded: Int64 = 0
        let found = try connection.prepare(
            """
            SELECT (SELECT count(*) FROM work_worker WHERE snapshot = ?1),
                (SELECT count(*) FROM work_worker WHERE snapshot = ?1 AND id <> ?2 AND is_hungry),
                (SELECT count(*) FROM work_worker WHERE snapshot = ?1 AND id <> ?2 AND is_hungry AND hosts = 0),
                (SELECT coalesce(CAST(sum(hosts) AS bigint), 0) FROM work_worker WHERE snapshot = ?1),
                (SELECT coalesce(CAST(sum(share) AS bigint), 0) FROM work_worker WHERE snapshot = ?1 AND id <> ?2),
                max_pages - pages, bytes,
                (SELECT coalesce(max(number), 0) FROM work_move WHERE snapshot = ?1),
                (SELECT coalesce(min(hosts), 0) FROM work_worker WHERE snapshot = ?1 AND id <> ?2),
                (SELECT count(*) FROM (
                    SELECT 1 FROM work_host WHERE snapshot = ?1 AND worker IS NULL AND next <= now() LIMIT 1000) AS free)
            FROM work_snapshot WHERE snapshot = ?1
            """
        ).first(.integer(snapshot), .integer(worker)) { row in
            var status = WorkStatus()
            status.workers = max(1, Int(row.integer(0)))
            status.hungryWorkers = Int(row.integer(1))
            status.worklessWorkers = Int(row.integer(2))
            status.hosts = Int(row.integer(3))
            status.unusedPagesOfOthers = Int(row.integer(4))
            status.pagesLeft = row.optionalInteger(5).map { Int($0) }
            status.bytes = Int(row.integer(6))
            lastAdded = row.integer(7)
            status.minHostsOfOthers = Int(row.integer(8))
            status.freeHosts = Int(row.integer(9))
            return status
        }
        guard var status = found else {
            var status = WorkStatus()
            status.hasEnded = true
            return status
        }
        if lastAdded > lastRead {
            try connection.prepare(
                "SELECT number, source, target FROM work_move WHERE snapshot = ? AND number > ? ORDER BY number"
            ).each(.integer(snapshot), .integer(lastRead)) {
                status.startRedirects.append(
                    StartRedirect(number: $0.integer(0), source: $0.text(1), target: $0.text(2)))
            }
        }
        return status
    }

    /// Ends expired leases and returns their number. Every worker calls this regularly, so that the hosts of a
    /// worker that was killed become free without a coordinator.
    ///
    /// No lease is ended until the server has run for the duration of a lease, because workers could not renew
    /// theirs while it was down. A worker in the middle of a transaction has locked its row; its lease is skipped.
    func endExpiredLeases(of snapshot: Int64) throws(StoreError) -> Int {
        let late = """
            FROM work_worker
            WHERE snapshot = ? AND until < now() AND pg_postmaster_start_time() < now() - \(Self.leaseInterval)
            """
        // Leases rarely expire, so a query without locks comes first.
        let isAnyLate = try connection.prepare("SELECT EXISTS (SELECT 1 \(late))").first(.integer(snapshot)) {
            $0.integer(0) != 0
        }
        guard isAnyLate == true else { return 0 }
        return try transaction { () throws(StoreError) in
            try endLeases(
                of: snapshot, lockedBy: "SELECT id \(late) ORDER BY id FOR UPDATE SKIP LOCKED",
                .integer(snapshot))
        }
    }

    /// Ends the lease of a worker that stops. Waits for transactions of the worker. Other workers may then lease its
    /// hosts at once.
    package func leave(_ worker: Int64, of snapshot: Int64) throws(StoreError) {
        _ = try transaction { () throws(StoreError) in
            try endLeases(
                of: snapshot, lockedBy: "SELECT id FROM work_worker WHERE id = ? FOR UPDATE", .integer(worker)
            )
        }
    }

    /// Ends the leases whose rows `query` locks, in the open transaction, and returns their number. Frees the hosts
    /// of these workers.
    ///
    /// The query is a statement of its own, because only a later statement sees the changes that the workers
    /// committed before their rows were locked. Pages that a worker took and did not count with `countPages` return
    /// to the page limit. Counted pages are read again by the next worker, but not counted again.
    private func endLeases(
        of snapshot: Int64, lockedBy query: String, _ value: SQLValue
    ) throws(StoreError) -> Int {
        var workers: [Int64] = []
        try connection.prepare(query).each(value) { workers.append($0.integer(0)) }
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

    /// Tries to make this worker the one that finishes the snapshot, and returns whether it is.
    ///
    /// Succeeds only if all workers are idle and have read all redirects of start URLs, no URL waits to be read, no host
    /// waits for a new worker, and no other worker with a lease was chosen before. After a limit was reached,
    /// waiting URLs and hosts do not count. One statement checks all of this and locks the row of the snapshot,
    /// so at most one worker is chosen at a time. If the finisher loses its lease, another worker can be chosen.
    func claimFinish(_ worker: Int64, of snapshot: Int64) throws(StoreError) -> Bool {
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
                        AND \(Self.waitingURLsSQL("1", of: "?1")) IS NULL)
            RETURNING finisher
            """
        ).first(.integer(snapshot), .integer(worker)) { $0.integer(0) }
        return finisher == worker
    }

    /// Records that the limit of time or bytes was reached. The finisher then requests nothing more, and does
    /// not wait for URLs that workers have not read.
    func markLimitReached(_ snapshot: Int64) throws(StoreError) {
        _ = try change(
            "UPDATE work_snapshot SET is_cut = true WHERE snapshot = ? AND NOT is_cut", [.integer(snapshot)])
    }

    /// Returns whether the limit of time or bytes was reached, how many pages of the page limit are left (nil without
    /// a limit), and the bytes that all workers have received.
    package func limits(of snapshot: Int64) throws(StoreError) -> (
        isLimitReached: Bool, pagesLeft: Int?, bytes: Int
    ) {
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

    /// Moves up to `count` pages from the page limit to the worker's share, and returns their number: 0 if the limit
    /// is used up or the worker's lease has expired. The worker may request as many pages as its share has.
    func takePages(_ count: Int, for worker: Int64, of snapshot: Int64) throws(StoreError) -> Int {
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

    /// Moves unused pages of a worker's share back to the page limit.
    func returnPages(_ count: Int, by worker: Int64, of snapshot: Int64) throws(StoreError) {
        _ = try connection.prepare(
            """
            WITH noted AS (UPDATE work_worker SET granted = granted - ?3, share = 0 WHERE id = ?2 RETURNING id),
            given AS (UPDATE work_snapshot SET pages = pages - ?3 WHERE snapshot = ?1 AND EXISTS (SELECT 1 FROM noted))
            SELECT count(*) FROM noted
            """
        ).first(.integer(snapshot), .integer(worker), .integer(Int64(count))) { $0.integer(0) }
    }

    /// Counts pages of a worker as requested, in the open transaction, which also stores their responses or outcomes.
    /// Until the transaction ends, no other worker can end the lease. Returns false if it has expired.
    @discardableResult
    func countPages(_ count: Int, by worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare(Self.countPagesSQL).first(.integer(worker), .integer(Int64(count))) { _ in true
        }
            ?? false
    }

    /// The statement of `countPages`. `StoreWriter` runs it in place of `lockLeaseSQL` before a commit that contains
    /// pages.
    static let countPagesSQL = "UPDATE work_worker SET kept = kept + ?2 WHERE id = ?1 RETURNING id"
}
