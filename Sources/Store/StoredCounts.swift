internal import Database

/// Stored counts of each snapshot's responses and of all bodies, so that reports need not scan millions of
/// rows. Only folders use them: versions of Larder that do not know the table may write to a PostgreSQL
/// store, so its rows are counted each time.
///
/// A snapshot without a row in the table is uncounted, and readers count its responses. Every transaction
/// that adds, moves or removes a response deletes the row of its snapshot. Uncounted snapshots are counted
/// when a snapshot ends and when a writer opens the store. Of the bodies, those with ids up to `last` are
/// counted, and readers count the later ones. Removing a body deletes the row of the bodies.
enum StoredCounts {
    static let table = """
        CREATE TABLE tally (
            snapshot INTEGER PRIMARY KEY,
            responses INTEGER NOT NULL DEFAULT 0,
            pages INTEGER NOT NULL DEFAULT 0,
            assets INTEGER NOT NULL DEFAULT 0,
            tombstones INTEGER NOT NULL DEFAULT 0,
            bodies INTEGER NOT NULL DEFAULT 0,
            bytes INTEGER NOT NULL DEFAULT 0,
            last INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        """

    /// The row for bodies, which belong to no snapshot. No snapshot has this id.
    static let bodies: Int64 = 0

    /// Adds the row for the bodies, with none of them counted.
    static let nothing = "INSERT OR IGNORE INTO tally (snapshot) VALUES (\(bodies));\n"

    private static let ofResponses = """
        count(response.url), coalesce(sum(iif(response.role = 0 AND response.body IS NOT NULL, 1, 0)), 0),
        coalesce(sum(iif(response.role = 1 AND response.body IS NOT NULL, 1, 0)), 0),
        coalesce(sum(iif(response.status IN (404, 410), 1, 0)), 0)
        """

    /// The responses of earlier snapshots that a snapshot confirmed, counted one by one.
    static let countedConfirmed = """
        (SELECT count(*) FROM snapshot AS earlier JOIN response AS kept ON kept.snapshot = earlier.id
            WHERE earlier.site = snapshot.site AND kept.confirmed >= snapshot.id AND kept.snapshot < snapshot.id)
        """

    private static let lastBody = "coalesce((SELECT last FROM tally WHERE snapshot = \(bodies)), 0)"

    /// All rows, counted one by one.
    static let countedRows = """
        SELECT \(ofResponses), (SELECT count(*) FROM body), (SELECT coalesce(sum(size), 0) FROM body) FROM response
        """

    /// The sums of the stored counts and of everything that is not counted yet, as one row.
    static let summary = """
        SELECT sum(responses), sum(pages), sum(assets), sum(tombstones), sum(bodies), sum(bytes) FROM (
            SELECT responses, pages, assets, tombstones, bodies, bytes FROM tally
            UNION ALL SELECT \(ofResponses), 0, 0 FROM response
                WHERE snapshot IN (SELECT id FROM snapshot WHERE id NOT IN (SELECT snapshot FROM tally))
            UNION ALL SELECT 0, 0, 0, 0, count(*), coalesce(sum(size), 0) FROM body WHERE id > \(lastBody))
        """

    /// The number of a snapshot's responses.
    static let responsesOfSnapshot = """
        coalesce((SELECT responses FROM tally WHERE tally.snapshot = snapshot.id),
            (SELECT count(*) FROM response WHERE response.snapshot = snapshot.id))
        """

    /// Whether a snapshot is uncounted, or more bodies than can be counted in no time
    /// (`Limits.maxUncountedBodies`).
    static let isLacking = """
        SELECT EXISTS (SELECT 1 FROM snapshot WHERE id NOT IN (SELECT snapshot FROM tally))
            OR coalesce((SELECT max(id) FROM body), 0) > \(lastBody) + \(Limits.maxUncountedBodies)
        """

    /// Counts everything that is uncounted.
    static let count = """
        INSERT INTO tally (snapshot, responses, pages, assets, tombstones)
            SELECT snapshot.id, \(ofResponses) FROM snapshot LEFT JOIN response ON response.snapshot = snapshot.id
            WHERE snapshot.id NOT IN (SELECT snapshot FROM tally) GROUP BY snapshot.id;
        \(nothing)
        UPDATE tally SET (bodies, bytes, last) = (
                SELECT tally.bodies + count(*), tally.bytes + coalesce(sum(size), 0), coalesce(max(id), tally.last)
                FROM body WHERE id > tally.last)
            WHERE snapshot = \(bodies);
        """

    /// Counts again how many responses of earlier snapshots each snapshot confirms, because rows were removed
    /// or moved.
    static let confirmed = """
        WITH span AS MATERIALIZED (
            SELECT earlier.site, kept.snapshot, kept.confirmed, count(*) AS count
            FROM snapshot AS earlier JOIN response AS kept ON kept.snapshot = earlier.id
            WHERE kept.confirmed > 0 GROUP BY earlier.site, kept.snapshot, kept.confirmed)
        UPDATE snapshot SET confirmed = coalesce((
            SELECT sum(span.count) FROM span
            WHERE span.site = snapshot.site AND span.snapshot < snapshot.id AND span.confirmed >= snapshot.id), 0)
        """

    static let remove = "DELETE FROM tally WHERE snapshot = ?"

    /// The number of stored counts that differ from the rows. It is one statement, so that it sees one
    /// moment.
    static let wrongCount = """
        SELECT count(*) FROM (
            SELECT snapshot FROM (
                SELECT snapshot, responses, pages, assets, tombstones, bodies, bytes FROM tally
                UNION ALL SELECT snapshot, -count(*), -sum(iif(role = 0 AND body IS NOT NULL, 1, 0)),
                    -sum(iif(role = 1 AND body IS NOT NULL, 1, 0)), -sum(iif(status IN (404, 410), 1, 0)), 0, 0
                    FROM response WHERE snapshot IN (SELECT snapshot FROM tally) GROUP BY snapshot
                UNION ALL SELECT \(bodies), 0, 0, 0, 0, -count(*), -coalesce(sum(size), 0) FROM body
                    WHERE id <= \(lastBody))
            GROUP BY snapshot HAVING sum(responses) <> 0 OR sum(pages) <> 0 OR sum(assets) <> 0
                OR sum(tombstones) <> 0 OR sum(bodies) <> 0 OR sum(bytes) <> 0)
        """
}

extension StoreSummary {
    init(_ row: Row) {
        responses = Int(row.integer(0))
        pages = Int(row.integer(1))
        assets = Int(row.integer(2))
        tombstones = Int(row.integer(3))
        bodies = Int(row.integer(4))
        bytes = row.integer(5)
    }
}

extension StoreWriter {
    /// Deletes all stored counts, because rows of any snapshots, or bodies, were removed in the open
    /// transaction.
    func deleteCounts() throws(StoreError) {
        try recountConfirmed()
        guard backEnd.hasStoredCounts else { return }
        try run("DELETE FROM tally")
    }

    func recountConfirmed() throws(StoreError) {
        guard
            try prepare("SELECT EXISTS (SELECT 1 FROM snapshot WHERE confirmed > 0)").first(read: {
                $0.integer(0)
            }) == 1
        else { return }
        try run(StoredCounts.confirmed + " WHERE confirmed > 0")
    }

    /// Counts everything that is uncounted, in a transaction of its own.
    func updateStoredCounts() throws(StoreError) {
        guard backEnd.hasStoredCounts,
            try prepare(StoredCounts.isLacking).first(read: { $0.integer(0) }) == 1
        else { return }
        try transaction { () throws(StoreError) in try execute(StoredCounts.count, doing: "count") }
    }
}
