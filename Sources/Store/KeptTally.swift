/// How much each visit has, and how much the bodies are, in a table beside the rows: to tell it, nobody goes through
/// millions of them. Of a folder; a PostgreSQL may be written to by larders that know nothing of the table, and has
/// its rows counted.
///
/// A visit that has no row in the table is not counted, and whoever asks goes through its responses. Whoever adds,
/// moves or removes a response takes the row of its visit away in the same transaction; visits are counted when one
/// ends, and by whoever opens the store to write. Of the bodies those up to `last` are counted, and whoever asks
/// counts those that came since; whoever removes one takes the row away.
enum KeptTally {
    static let table = """
        CREATE TABLE tally (
            visit INTEGER PRIMARY KEY,
            responses INTEGER NOT NULL DEFAULT 0,
            pages INTEGER NOT NULL DEFAULT 0,
            requisites INTEGER NOT NULL DEFAULT 0,
            tombstones INTEGER NOT NULL DEFAULT 0,
            bodies INTEGER NOT NULL DEFAULT 0,
            bytes INTEGER NOT NULL DEFAULT 0,
            last INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        """

    /// In the place of a visit: the bodies, which are no visit's. No visit has this number.
    static let bodies: Int64 = 0

    /// None of the bodies is counted.
    static let nothing = "INSERT OR IGNORE INTO tally (visit) VALUES (\(bodies));\n"

    private static let ofResponses = """
        count(response.url), coalesce(sum(iif(response.role = 0 AND response.body IS NOT NULL, 1, 0)), 0),
        coalesce(sum(iif(response.role = 1 AND response.body IS NOT NULL, 1, 0)), 0),
        coalesce(sum(iif(response.status IN (404, 410), 1, 0)), 0)
        """

    /// The responses of earlier visits that a visit confirmed, counted one by one.
    static let countedConfirmed = """
        (SELECT count(*) FROM visit AS earlier JOIN response AS kept ON kept.visit = earlier.id
            WHERE earlier.site = visit.site AND kept.confirmed >= visit.id AND kept.visit < visit.id)
        """

    private static let lastBody = "coalesce((SELECT last FROM tally WHERE visit = \(bodies)), 0)"

    /// All rows, counted one by one.
    static let countedRows = """
        SELECT \(ofResponses), (SELECT count(*) FROM body), (SELECT coalesce(sum(size), 0) FROM body) FROM response
        """

    /// What is kept, and what is not counted yet, as one row.
    static let summary = """
        SELECT sum(responses), sum(pages), sum(requisites), sum(tombstones), sum(bodies), sum(bytes) FROM (
            SELECT responses, pages, requisites, tombstones, bodies, bytes FROM tally
            UNION ALL SELECT \(ofResponses), 0, 0 FROM response
                WHERE visit IN (SELECT id FROM visit WHERE id NOT IN (SELECT visit FROM tally))
            UNION ALL SELECT 0, 0, 0, 0, count(*), coalesce(sum(size), 0) FROM body WHERE id > \(lastBody))
        """

    /// The responses of a visit.
    static let responsesOfVisit = """
        coalesce((SELECT responses FROM tally WHERE tally.visit = visit.id),
            (SELECT count(*) FROM response WHERE response.visit = visit.id))
        """

    /// Whether a visit is not counted, or more bodies than are counted in no time.
    static let isLacking = """
        SELECT EXISTS (SELECT 1 FROM visit WHERE id NOT IN (SELECT visit FROM tally))
            OR coalesce((SELECT max(id) FROM body), 0) > \(lastBody) + \(Limits.uncountedBodies)
        """

    /// Counts what is not counted.
    static let count = """
        INSERT INTO tally (visit, responses, pages, requisites, tombstones)
            SELECT visit.id, \(ofResponses) FROM visit LEFT JOIN response ON response.visit = visit.id
            WHERE visit.id NOT IN (SELECT visit FROM tally) GROUP BY visit.id;
        \(nothing)
        UPDATE tally SET (bodies, bytes, last) = (
                SELECT tally.bodies + count(*), tally.bytes + coalesce(sum(size), 0), coalesce(max(id), tally.last)
                FROM body WHERE id > tally.last)
            WHERE visit = \(bodies);
        """

    /// Counts once more what visits have of earlier ones: rows have gone or moved.
    static let confirmed = """
        WITH span AS MATERIALIZED (
            SELECT earlier.site, kept.visit, kept.confirmed, count(*) AS count
            FROM visit AS earlier JOIN response AS kept ON kept.visit = earlier.id
            WHERE kept.confirmed > 0 GROUP BY earlier.site, kept.visit, kept.confirmed)
        UPDATE visit SET confirmed = coalesce((
            SELECT sum(span.count) FROM span
            WHERE span.site = visit.site AND span.visit < visit.id AND span.confirmed >= visit.id), 0)
        """

    static let remove = "DELETE FROM tally WHERE visit = ?"

    /// How many of the counts are not what there is; one statement, so that it is of one moment.
    static let wrongCount = """
        SELECT count(*) FROM (
            SELECT visit FROM (
                SELECT visit, responses, pages, requisites, tombstones, bodies, bytes FROM tally
                UNION ALL SELECT visit, -count(*), -sum(iif(role = 0 AND body IS NOT NULL, 1, 0)),
                    -sum(iif(role = 1 AND body IS NOT NULL, 1, 0)), -sum(iif(status IN (404, 410), 1, 0)), 0, 0
                    FROM response WHERE visit IN (SELECT visit FROM tally) GROUP BY visit
                UNION ALL SELECT \(bodies), 0, 0, 0, 0, -count(*), -coalesce(sum(size), 0) FROM body
                    WHERE id <= \(lastBody))
            GROUP BY visit HAVING sum(responses) <> 0 OR sum(pages) <> 0 OR sum(requisites) <> 0
                OR sum(tombstones) <> 0 OR sum(bodies) <> 0 OR sum(bytes) <> 0)
        """
}

extension StoreSummary {
    init(_ row: Row) {
        responses = Int(row.integer(0))
        pages = Int(row.integer(1))
        requisites = Int(row.integer(2))
        tombstones = Int(row.integer(3))
        bodies = Int(row.integer(4))
        bytes = row.integer(5)
    }
}

extension StoreWriter {
    /// Rows of whichever visits, or bodies, have gone in the transaction that is open.
    func forgetCounts() throws(StoreError) {
        try countConfirmedAgain()
        guard !isServed else { return }
        try run("DELETE FROM tally")
    }

    func countConfirmedAgain() throws(StoreError) {
        guard
            try prepare("SELECT EXISTS (SELECT 1 FROM visit WHERE confirmed > 0)").first(read: {
                $0.integer(0)
            }) == 1
        else { return }
        try run(KeptTally.confirmed + " WHERE confirmed > 0")
    }

    /// Counts what is not counted, in a transaction of its own.
    func countAgain() throws(StoreError) {
        guard !isServed, try prepare(KeptTally.isLacking).first(read: { $0.integer(0) }) == 1 else { return }
        try transaction { () throws(StoreError) in try execute(KeptTally.count, doing: "count") }
    }
}
