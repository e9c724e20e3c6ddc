package import Database

/// The numbers of pages, assets and redirects of a snapshot, and their size.
package struct SnapshotTally: Sendable, Equatable {
    package var pages = 0
    /// Resources that pages need, such as scripts, style sheets and images.
    package var assets = 0
    package var redirects = 0
    /// Whether counting stopped at the limit for at least one kind.
    package var isCapped = false
    /// The size of all bodies, each counted once.
    package var byteCount: Int64 = 0
    /// Whether `byteCount` is estimated from some of the bodies.
    package var isEstimate = false

    package init() {}
}

/// The number and size of responses with one media type.
package struct TypeTally: Sendable, Equatable {
    /// Nil if the responses had no type.
    package let type: String?
    /// The number of pages and assets. It is 0 for the bodies that only other responses have: errors, redirects, and the
    /// texts, pictures and copies of rendered pages.
    package let count: Int
    package let byteCount: Int64

    package init(type: String?, count: Int, byteCount: Int64) {
        (self.type, self.count, self.byteCount) = (type, count, byteCount)
    }
}

extension StoreReader {
    /// Returns the number of responses with each role and status in a snapshot.
    package func statusCounts(
        ofSnapshot snapshot: Int64
    ) throws(StoreError) -> [(role: Int, status: Int, count: Int)] {
        var counts: [(role: Int, status: Int, count: Int)] = []
        try prepare(
            """
            SELECT role, status, count(*) FROM \(Schema.rows(ofSnapshot: "?1", "role", "status")) AS response
            WHERE role IN (0, 1) GROUP BY role, status
            """
        ).each(.integer(snapshot)) { row in
            counts.append((Int(row.integer(0)), Int(row.integer(1)), Int(row.integer(2))))
        }
        return counts
    }

    /// Counts the responses of a snapshot, up to `limit` of each kind. The size is that of at most `limit`
    /// bodies, and is extrapolated from them if there are more.
    package func tally(ofSnapshot snapshot: Int64, limit: Int) throws(StoreError) -> SnapshotTally {
        var tally = SnapshotTally()
        func count(_ rows: String, _ condition: String) throws(StoreError) -> Int {
            let few = "SELECT 1 FROM \(rows) AS response WHERE \(condition) LIMIT ?2"
            let found = try prepare("SELECT count(*) FROM (\(few)) AS few").first(
                .integer(snapshot), .integer(Int64(limit))
            ) { Int($0.integer(0)) }
            if found == limit { tally.isCapped = true }
            return found ?? 0
        }
        let indexed = Schema.rows(ofSnapshot: "?1", "role", "status")
        // A page that says "not found" counts as broken. One with the status 404 is an application.
        tally.pages = try count(
            Schema.rows(ofSnapshot: "?1"),
            """
            role = 0 AND (status < 300 OR status IN (404, 410) AND body IS NOT NULL AND request = ''
                    AND NOT \(Provenance.isImported("response")))
                AND (flags & \(ResponseFlags.isSoftNotFound.rawValue)) = 0
            """)
        tally.assets = try count(indexed, "role = 1 AND status < 300")
        tally.redirects = try count(indexed, "role IN (0, 1) AND status BETWEEN 300 AND 399")
        try measure(snapshot, limit, &tally)
        return tally
    }

    /// Adds the sizes of the bodies of a snapshot, each counted once. If there are more than `limit`, the sum is estimated as
    /// if all responses had bodies of their own, because counting distinct bodies would read all rows.
    private func measure(_ snapshot: Int64, _ limit: Int, _ tally: inout SnapshotTally) throws(StoreError) {
        var (measured, bytes): (Int64, Int64) = (0, 0)
        try eachRow(
            """
            SELECT count(*), coalesce(sum(size), 0)
            FROM (
                SELECT DISTINCT body FROM \(Schema.rows(ofSnapshot: "?1", "body")) AS response
                WHERE body IS NOT NULL LIMIT ?2) AS few
            JOIN body ON body.id = few.body
            """, .integer(snapshot), .integer(Int64(limit))
        ) { (measured, bytes) = ($0.integer(0), $0.integer(1)) }
        guard measured == Int64(limit) else {
            tally.byteCount += bytes
            return
        }
        var all: Int64 = 0
        try eachRow(
            """
            SELECT count(*) FROM \(Schema.rows(ofSnapshot: "?1", "body")) AS response WHERE body IS NOT NULL
            """, .integer(snapshot)
        ) { all = $0.integer(0) }
        tally.isEstimate = true
        tally.byteCount += Int64(Double(bytes) / Double(measured) * Double(all))
    }

    /// Returns the media types of the first `limit` responses with a body in a snapshot, the most frequent
    /// first. The counts are those of pages and assets that were found, as in `tally`. The bodies of other responses have
    /// tallies of their own, with the count 0. A body that several responses of a type share is counted once.
    package func types(ofSnapshot snapshot: Int64, limit: Int) throws(StoreError) -> [TypeTally] {
        var types: [TypeTally] = []
        try eachRow(
            """
            SELECT type, sum(responses), sum(size)
            FROM (
                SELECT type, body, sum(CASE WHEN role IN (0, 1) AND status < 300 THEN 1 ELSE 0 END) AS responses
                FROM (
                    SELECT type, body, role, status FROM \(Schema.rows(ofSnapshot: "?1")) AS response
                    WHERE body IS NOT NULL LIMIT ?2) AS few
                GROUP BY type, body) AS bodies
            JOIN body ON body.id = bodies.body
            GROUP BY type, responses > 0 ORDER BY 2 DESC, 1 NULLS FIRST
            """, .integer(snapshot), .integer(Int64(limit))
        ) { row in
            types.append(
                TypeTally(type: row.optionalText(0), count: Int(row.integer(1)), byteCount: row.integer(2)))
        }
        return types
    }

    /// Returns at most `limit` URLs that have the status 404 or 410 in a snapshot, and the page that first
    /// requested each, in no particular order.
    package func tombstones(
        ofSnapshot snapshot: Int64, limit: Int
    ) throws(StoreError) -> [(href: String, status: Int, referrer: String?)] {
        var tombstones: [(href: String, status: Int, referrer: String?)] = []
        try eachRow(
            """
            SELECT url.href, response.status, referrer.href FROM \(Schema.rows(ofSnapshot: "?1")) AS response
            JOIN url ON url.id = response.url
            LEFT JOIN url AS referrer ON referrer.id = response.referrer
            WHERE response.role IN (0, 1) AND response.status IN (404, 410)
                AND (response.body IS NULL OR \(Provenance.isImported("response"))) LIMIT ?2
            """, .integer(snapshot), .integer(Int64(limit))
        ) { tombstones.append(($0.text(0), Int($0.integer(1)), $0.optionalText(2))) }
        return tombstones
    }
}
