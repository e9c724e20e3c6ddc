package import Database
internal import Digest

extension SharedFrontier {
    /// A URL that one worker discovered, for the worker that has leased its host.
    package struct DiscoveredURL: Sendable {
        package var origin: String
        package var href: String
        /// The URL that links to it; nil for start URLs, sitemaps and other URLs that the plan lists.
        package var referrer: String?
        /// The facts about the URL in the encoding of the crawl, which this module does not interpret.
        package var facts: Int64
        /// The part of the facts that makes two discoveries of one URL different. Only `key` needs it, so it is 0 in
        /// URLs that come from the database.
        package var identity: Int64

        package init(origin: String, href: String, referrer: String?, facts: Int64, identity: Int64) {
            self.origin = origin
            self.href = href
            self.referrer = referrer
            self.facts = facts
            self.identity = identity
        }

        /// A 64-bit hash of the URL and its identity. The table has one row for each key, so each worker can
        /// insert a URL without knowing whether another one has inserted it.
        package var key: Int64 {
            let digest = DigestStream.digest(.sha256, of: "\(identity) \(href)".utf8.span)
            return digest.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
        }
    }

    /// A host that was leased to a worker.
    package struct LeasedHost: Sendable {
        package let origin: String
        /// Whether the host has been leased before, usually to another worker. Then the new worker reads the stored
        /// responses of the host again, and gets all URLs of the host again from `takeURLs`.
        package let wasLeasedBefore: Bool
    }

    /// Adds URLs that a worker discovered, in one transaction. Known URLs are ignored. Returns false, and adds
    /// nothing, if the worker's lease has expired.
    package func addURLs(_ found: [DiscoveredURL], by worker: Int64, of snapshot: Int64) throws(StoreError)
        -> Bool
    {
        guard !found.isEmpty else { return true }
        return try transaction { () throws(StoreError) in
            guard try lockLease(of: worker) else { return false }
            try insertURLs(found, to: snapshot)
            return true
        }
    }

    /// Locks the lease of a worker until the open transaction ends, so that no other worker can end it before the
    /// changes of this transaction are committed. Returns false if the lease has expired; the caller must then
    /// change nothing.
    func lockLease(of worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare(Self.lockLeaseSQL).first(.integer(worker)) { _ in true } ?? false
    }

    /// The statement that locks the row of a worker; it finds no row after the lease has expired. `FOR KEY SHARE`
    /// allows updates of the row, such as renewals of the lease by the worker's other session, but blocks the
    /// deletion by which another worker ends the lease.
    static let lockLeaseSQL = "SELECT id FROM work_worker WHERE id = ? FOR KEY SHARE"

    /// Inserts URLs and their hosts, unless the tables have them, in the open transaction. All workers insert rows
    /// in the same order, that of the keys, so that two of them cannot wait for each other (deadlock).
    func insertURLs(_ found: [DiscoveredURL], to snapshot: Int64) throws(StoreError) {
        let origins = Set(found.map(\.origin)).sorted()
        _ = try change(
            """
            INSERT INTO work_host (snapshot, origin) SELECT ?, given FROM unnest(?) AS given ORDER BY given
            ON CONFLICT DO NOTHING
            """, [.integer(snapshot), .texts(origins)])
        var known: Set<Int64> = []
        let rows = found.map { (key: $0.key, found: $0) }.filter { known.insert($0.key).inserted }
        _ = try change(
            """
            INSERT INTO work_url (snapshot, key, host, href, referrer, facts)
            SELECT ?1, given.key, work_host.id, given.address, given.referrer, given.facts
            FROM unnest(?2, ?3, ?4, ?5, ?6) AS given(origin, key, address, referrer, facts)
            JOIN work_host ON work_host.snapshot = ?1 AND work_host.origin = given.origin
            ORDER BY given.key ON CONFLICT DO NOTHING
            """,
            [
                .integer(snapshot), .texts(rows.map(\.found.origin)), .integers(rows.map(\.key)),
                .texts(rows.map(\.found.href)), .texts(rows.map(\.found.referrer)),
                .integers(rows.map(\.found.facts)),
            ])
    }

    /// Returns the SQL of a subquery for URLs that their host's worker has not read yet.
    ///
    /// The order and the range that contains only one host make the planner use the index. Otherwise it may scan
    /// the whole table for each host, because it expects to find a row soon.
    ///
    /// - Parameters:
    ///   - columns: the columns of `work_url` that the subquery returns.
    ///   - host: an SQL expression for the id of a host; nil for all hosts.
    ///   - snapshot: an SQL expression for the id of the snapshot.
    ///   - count: an SQL expression for the maximum number of rows.
    static func waitingURLsSQL(
        _ columns: String, for host: String? = nil, of snapshot: String, atMost count: String = "1"
    ) -> String {
        let range = host.map { "AND work_url.host BETWEEN \($0) AND \($0)" } ?? ""
        return """
            (SELECT \(columns) FROM work_url WHERE work_url.snapshot = \(snapshot) AND NOT is_read \(range)
                ORDER BY work_url.host LIMIT \(count))
            """
    }

    /// Leases up to `count` free hosts to a worker: hosts with waiting URLs, and hosts that were leased before,
    /// whose stored responses may contain links that no worker has followed yet. Returns an empty list if the
    /// worker's lease has expired.
    ///
    /// Hosts whose rows other workers have locked are skipped, so that workers do not wait for each other.
    package func leaseHosts(_ count: Int, for worker: Int64, of snapshot: Int64) throws(StoreError)
        -> [LeasedHost]
    {
        guard count > 0 else { return [] }
        return try transaction { () throws(StoreError) in
            guard try lockLease(of: worker) else { return [] }
            var hosts: [LeasedHost] = []
            var left: [Int64] = []
            try connection.prepare(
                """
                WITH free AS MATERIALIZED (
                    SELECT id, left_by FROM work_host
                    WHERE snapshot = ?1 AND worker IS NULL AND next <= now()
                        AND (left_by > 0 OR \(Self.waitingURLsSQL("1", for: "work_host.id", of: "?1")) IS NOT NULL)
                    ORDER BY next, id LIMIT ?3 FOR NO KEY UPDATE SKIP LOCKED)
                UPDATE work_host SET worker = ?2, left_by = 0 FROM free
                WHERE work_host.snapshot = ?1 AND work_host.id = free.id
                RETURNING work_host.id, work_host.origin, free.left_by
                """
            ).each(.integer(snapshot), .integer(worker), .integer(Int64(count))) { row in
                let wasLeasedBefore = row.integer(2) > 0
                if wasLeasedBefore { left.append(row.integer(0)) }
                hosts.append(LeasedHost(origin: row.text(1), wasLeasedBefore: wasLeasedBefore))
            }
            guard !hosts.isEmpty else { return [] }
            if !left.isEmpty {
                _ = try change(
                    "UPDATE work_url SET is_read = false WHERE snapshot = ? AND host = ANY(?) AND is_read",
                    [.integer(snapshot), .integers(left)])
            }
            _ = try change("UPDATE work_worker SET is_idle = false WHERE id = ?", [.integer(worker)])
            return hosts
        }
    }

    /// Makes hosts free to which the worker no longer sends requests. Other workers may lease each of them after
    /// its pause, which is the rest of the host's delay between requests. Hosts of other workers are not changed.
    func releaseHosts(
        _ hosts: [(origin: String, pause: Duration)], by worker: Int64, of snapshot: Int64
    )
        throws(StoreError)
    {
        guard !hosts.isEmpty else { return }
        _ = try change(
            """
            UPDATE work_host
            SET worker = NULL, left_by = 1, next = now() + given.pause * interval '1 millisecond'
            FROM unnest(?, ?) AS given(origin, pause)
            WHERE work_host.snapshot = ? AND work_host.origin = given.origin AND work_host.worker = ?
            """,
            [
                .texts(hosts.map(\.origin)), .integers(hosts.map { Int64($0.pause / .milliseconds(1)) }),
                .integer(snapshot), .integer(worker),
            ])
    }

    /// Returns up to `count` unread URLs of the hosts of a worker, and marks them as read. Returns an empty list if
    /// the worker's lease has expired. If more URLs wait, those that the index lists first are returned; these are
    /// mostly the oldest.
    package func takeURLs(atMost count: Int, for worker: Int64, of snapshot: Int64) throws(StoreError)
        -> [DiscoveredURL]
    {
        try transaction { () throws(StoreError) in
            guard try lockLease(of: worker) else { return [] }
            var found: [(number: Int64, found: DiscoveredURL)] = []
            try connection.prepare(
                """
                WITH mine AS MATERIALIZED (
                    SELECT waiting.key, work_host.origin FROM work_host
                    CROSS JOIN LATERAL \(Self.waitingURLsSQL("key, number", for: "work_host.id", of: "?1", atMost: "?3")) AS waiting
                    WHERE work_host.snapshot = ?1 AND work_host.worker = ?2
                    ORDER BY waiting.number LIMIT ?3)
                UPDATE work_url SET is_read = true FROM mine WHERE work_url.snapshot = ?1 AND work_url.key = mine.key
                RETURNING work_url.number, mine.origin, work_url.href AS address, work_url.referrer, work_url.facts
                """
            ).each(.integer(snapshot), .integer(worker), .integer(Int64(count))) { row in
                let one = DiscoveredURL(
                    origin: row.text(1), href: row.text(2), referrer: row.optionalText(3),
                    facts: row.integer(4),
                    identity: 0)
                found.append((row.integer(0), one))
            }
            if !found.isEmpty {
                _ = try change("UPDATE work_worker SET is_idle = false WHERE id = ?", [.integer(worker)])
            }
            return found.sorted { $0.number < $1.number }.map(\.found)
        }
    }

    /// Records that a start URL redirects to another host. All workers read it when they renew their leases
    /// (`WorkStatus.startRedirects`).
    ///
    /// The statement locks the row of the snapshot before it takes a number. Therefore redirects become visible in the
    /// order of their numbers, and a worker that has read a number has also read all lower ones.
    package func addStartRedirect(
        from source: String, to target: String, of snapshot: Int64
    ) throws(StoreError) {
        _ = try connection.prepare(
            """
            WITH alone AS MATERIALIZED (SELECT snapshot FROM work_snapshot WHERE snapshot = ?1 FOR NO KEY UPDATE),
            added AS (INSERT INTO work_move (snapshot, source, target) SELECT alone.snapshot, ?2, ?3 FROM alone
                WHERE NOT EXISTS (
                    SELECT 1 FROM work_move WHERE work_move.snapshot = ?1 AND source = ?2 AND target = ?3)
                RETURNING number)
            SELECT count(*) FROM added
            """
        ).first(.integer(snapshot), .text(source), .text(target)) { $0.integer(0) }
    }
}
