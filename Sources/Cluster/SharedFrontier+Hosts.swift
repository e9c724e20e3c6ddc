package import Database
internal import Digest

extension SharedFrontier {
    /// A URL that a worker found, for whichever worker has its host.
    package struct DiscoveredURL: Sendable {
        package var origin: String
        package var href: String
        package var referrer: String?
        /// The facts about the URL in the encoding of the crawl, which this module does not interpret.
        package var facts: Int64
        /// The part of the facts that makes two finds of one URL different.
        package var identity: Int64

        package init(origin: String, href: String, referrer: String?, facts: Int64, identity: Int64) {
            self.origin = origin
            self.href = href
            self.referrer = referrer
            self.facts = facts
            self.identity = identity
        }

        /// A 64-bit hash of the URL and its identity. The table has one row for each key.
        package var key: Int64 {
            let digest = DigestStream.digest(.sha256, of: "\(identity) \(href)".utf8.span)
            return digest.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
        }
    }

    /// A host that was leased to a worker.
    package struct LeasedHost: Sendable {
        package let origin: String
        /// Whether another worker had the host before, so that the responses stored by that worker have to be
        /// read again.
        package let wasLeft: Bool
    }

    /// Adds URLs that a worker found. Known URLs are ignored. Returns false if the worker's lease has
    /// expired.
    package func addURLs(_ found: [DiscoveredURL], by worker: Int64, of snapshot: Int64) throws(StoreError)
        -> Bool
    {
        guard !found.isEmpty else { return true }
        return try transaction { () throws(StoreError) in
            guard try holdsLease(worker) else { return false }
            try insertURLs(found, to: snapshot)
            return true
        }
    }

    /// Whether the worker has its lease. If so, the lease cannot be taken away until the transaction ends.
    func holdsLease(_ worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare(Self.fence).first(.integer(worker)) { _ in true } ?? false
    }

    /// Locks the worker's row until the transaction ends, if its lease is valid. `FOR KEY SHARE` lets the worker's
    /// own updates pass, but not the deletion by which another worker ends the lease.
    static let fence = "SELECT id FROM work_worker WHERE id = ? FOR KEY SHARE"

    /// Inserts URLs and the hosts that are new. Rows are inserted in the order of their keys, so that two workers
    /// do not wait for each other (deadlock).
    package func insertURLs(_ found: [DiscoveredURL], to snapshot: Int64) throws(StoreError) {
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

    /// The SQL of a subquery for up to `count` URLs that wait and have not been read, for one host or for
    /// any. Ordering by a range of hosts makes the planner use the index. Without that, it may scan the whole
    /// table for each host, because it expects to find a row soon.
    package static func waiting(
        _ columns: String, for host: String? = nil, of snapshot: String, atMost count: String = "1"
    ) -> String {
        let range = host.map { "AND work_url.host BETWEEN \($0) AND \($0)" } ?? ""
        return """
            (SELECT \(columns) FROM work_url WHERE work_url.snapshot = \(snapshot) AND NOT is_read \(range)
                ORDER BY work_url.host LIMIT \(count))
            """
    }

    /// Leases up to `count` hosts with waiting URLs to a worker.
    package func leaseHosts(_ count: Int, for worker: Int64, of snapshot: Int64) throws(StoreError)
        -> [LeasedHost]
    {
        guard count > 0 else { return [] }
        return try transaction { () throws(StoreError) in
            guard try holdsLease(worker) else { return [] }
            var hosts: [LeasedHost] = []
            var left: [Int64] = []
            try connection.prepare(
                """
                WITH free AS MATERIALIZED (
                    SELECT id, left_by FROM work_host
                    WHERE snapshot = ?1 AND worker IS NULL AND next <= now()
                        AND (left_by > 0 OR \(Self.waiting("1", for: "work_host.id", of: "?1")) IS NOT NULL)
                    ORDER BY next, id LIMIT ?3 FOR NO KEY UPDATE SKIP LOCKED)
                UPDATE work_host SET worker = ?2, left_by = 0 FROM free
                WHERE work_host.snapshot = ?1 AND work_host.id = free.id
                RETURNING work_host.id, work_host.origin, free.left_by
                """
            ).each(.integer(snapshot), .integer(worker), .integer(Int64(count))) { row in
                let wasLeft = row.integer(2) > 0
                if wasLeft { left.append(row.integer(0)) }
                hosts.append(LeasedHost(origin: row.text(1), wasLeft: wasLeft))
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

    /// Returns hosts that the worker no longer sends requests to. Other workers may lease each after its
    /// pause.
    package func releaseHosts(
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

    /// Returns URLs that were found for the hosts of a worker, and marks them as read. If more than `count`
    /// wait for a host, those that come first in the table are returned; these are mostly the oldest.
    package func takeURLs(atMost count: Int, for worker: Int64, of snapshot: Int64) throws(StoreError)
        -> [DiscoveredURL]
    {
        try transaction { () throws(StoreError) in
            guard try holdsLease(worker) else { return [] }
            var found: [(number: Int64, found: DiscoveredURL)] = []
            try connection.prepare(
                """
                WITH mine AS MATERIALIZED (
                    SELECT waiting.key, work_host.origin FROM work_host
                    CROSS JOIN LATERAL \(Self.waiting("key, number", for: "work_host.id", of: "?1", atMost: "?3")) AS waiting
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

    /// Tells all workers that a start URL redirects to another host. A row lock makes the moves visible in
    /// the order of their numbers, so that a worker that has seen a number has also seen the lower ones.
    package func addStartRedirect(
        from source: String, to target: String, by worker: Int64, of snapshot: Int64
    )
        throws(StoreError)
    {
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
