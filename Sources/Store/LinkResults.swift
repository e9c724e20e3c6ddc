internal import Database

/// The result of a check of a link to another site.
package struct LinkResult: Sendable, Equatable {
    /// The URL with its fragment.
    package let href: String
    /// The time of the check, in seconds since 1970.
    package let at: Int64
    /// The verdict in a word, such as "dead".
    package let verdict: String
    package let detail: String

    package init(href: String, at: Int64, verdict: String, detail: String) {
        (self.href, self.at, self.verdict, self.detail) = (href, at, verdict, detail)
    }
}

/// Results of link checks, which later checks use again instead of requests. The table is created with the first results.
extension ActivityDatabase {
    private static let linkResultTable = """
        CREATE TABLE IF NOT EXISTS link_result (
            href TEXT PRIMARY KEY, at INTEGER NOT NULL, verdict TEXT NOT NULL, detail TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// A URL may be longer than a B-tree index allows, so the index uses hashes.
    private static let postgreSQLLinkResultTable = """
        CREATE TABLE IF NOT EXISTS link_result (
            href text COLLATE "C" NOT NULL, at bigint NOT NULL, verdict text COLLATE "C" NOT NULL,
            detail text COLLATE "C" NOT NULL
        );
        CREATE UNIQUE INDEX IF NOT EXISTS link_result_key ON link_result (md5(href));
        """

    /// The key of the advisory lock for creating the table. Each table has its own.
    private static let linkResultTableCreationLock: Int64 = 0x4000_0000_0000_0201

    /// Returns the results of the URLs that are no older than a time, by URL.
    ///
    /// - Parameters:
    ///   - time: The time in seconds since 1970.
    ///   - now: The current time. Results from the future are those of a wrong clock.
    package func linkResults(of hrefs: some Sequence<String>, since time: Int64, until now: Int64 = .max)
        throws(StoreError)
        -> [String: LinkResult]
    {
        guard try hasLinkResults else { return [:] }
        let find = try connection.prepare(
            """
            SELECT at, verdict, detail FROM link_result
            WHERE \(connection.indexKey("href")) = \(connection.indexKey("?"))
            """)
        var results: [String: LinkResult] = [:]
        for href in hrefs {
            let result = try find.first(.text(href)) { row in
                LinkResult(href: href, at: row.integer(0), verdict: row.text(1), detail: row.text(2))
            }
            if let result, result.at >= time, result.at <= now { results[href] = result }
        }
        return results
    }

    /// Records results, replacing earlier ones of the same URLs.
    ///
    /// - Parameter oldest: The time in seconds since 1970 before which results are removed.
    package func recordLinkResults(_ results: [LinkResult], removingOlderThan oldest: Int64)
        throws(StoreError)
    {
        guard !results.isEmpty else { return }
        try connection.createTable(
            "link_result", sqlite: Self.linkResultTable, postgreSQL: Self.postgreSQLLinkResultTable,
            lock: Self.linkResultTableCreationLock)
        let deleteOld = try connection.prepare("DELETE FROM link_result WHERE at < ?")
        let add = try connection.prepare(
            """
            INSERT INTO link_result (href, at, verdict, detail) VALUES (?, ?, ?, ?)
            ON CONFLICT (\(connection.indexKey("href"))) DO UPDATE SET
                at = excluded.at, verdict = excluded.verdict, detail = excluded.detail
            """)
        try withTransaction { () throws(StoreError) in
            try deleteOld.run(.integer(oldest))
            // All processes use the same order, so that no two of them wait for each other (a deadlock).
            for result in results.sorted(by: { $0.href < $1.href }) {
                try add.run(
                    .text(result.href), .integer(result.at), .text(result.verdict), .text(result.detail))
            }
        }
    }

    private var hasLinkResults: Bool {
        get throws(StoreError) { try connection.hasTable("link_result") }
    }

}

// MARK: - LinkCheckRecord

/// The result of the last check of a site's links.
package struct LinkCheckRecord: Sendable, Equatable {
    /// The time of the check, in seconds since 1970.
    package let at: Int64
    /// The id of the checked snapshot.
    package let snapshot: Int64
    /// The counts and findings as JSON. The store does not read it.
    package let summary: String

    package init(at: Int64, snapshot: Int64, summary: String) {
        (self.at, self.snapshot, self.summary) = (at, snapshot, summary)
    }
}

/// One record for each site, and another of its last check without private responses. The table is created with the first
/// record.
extension ActivityDatabase {
    private static let linkCheckTable = """
        CREATE TABLE IF NOT EXISTS link_check (
            site TEXT NOT NULL, hides_private INTEGER NOT NULL, at INTEGER NOT NULL,
            snapshot INTEGER NOT NULL, summary TEXT NOT NULL, PRIMARY KEY (site, hides_private)
        ) STRICT, WITHOUT ROWID;
        """

    private static let postgreSQLLinkCheckTable = """
        CREATE TABLE IF NOT EXISTS link_check (
            site text COLLATE "C" NOT NULL, hides_private bigint NOT NULL, at bigint NOT NULL,
            snapshot bigint NOT NULL, summary text COLLATE "C" NOT NULL
        );
        CREATE UNIQUE INDEX IF NOT EXISTS link_check_key ON link_check (md5(site), hides_private);
        """

    private static let linkCheckTableCreationLock: Int64 = 0x4000_0000_0000_0202

    /// Records the last check of a site's links, and removes the records of sites that are no longer stored.
    ///
    /// - Parameters:
    ///   - hidesPrivate: whether the check left out private responses, so that every visitor may see its result.
    ///   - sites: the names of all stored sites; nil to remove no records.
    package func recordLinkCheck(
        _ record: LinkCheckRecord, ofSite site: String, hidesPrivate: Bool, among sites: Set<String>?
    ) throws(StoreError) {
        try connection.createTable(
            "link_check", sqlite: Self.linkCheckTable, postgreSQL: Self.postgreSQLLinkCheckTable,
            lock: Self.linkCheckTableCreationLock)
        var removed: Set<String> = []
        if let sites {
            try connection.prepare("SELECT site FROM link_check").each { row in
                if !sites.contains(row.text(0)) { removed.insert(row.text(0)) }
            }
        }
        let delete = try connection.prepare("DELETE FROM link_check WHERE site = ?")
        let add = try connection.prepare(
            """
            INSERT INTO link_check (site, hides_private, at, snapshot, summary) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (\(connection.indexKey("site")), hides_private) DO UPDATE SET
                at = excluded.at, snapshot = excluded.snapshot, summary = excluded.summary
            """)
        try withTransaction { () throws(StoreError) in
            for name in removed.sorted() { try delete.run(.text(name)) }
            try add.run(
                .text(site), .integer(hidesPrivate ? 1 : 0), .integer(record.at), .integer(record.snapshot),
                .text(record.summary))
        }
    }

    /// The record of a site's last check; nil if there is none.
    ///
    /// - Parameter hidesPrivate: whether only a check that left out private responses counts.
    package func linkCheck(ofSite site: String, hidesPrivate: Bool) throws(StoreError) -> LinkCheckRecord? {
        guard try connection.hasTable("link_check") else { return nil }
        let statement = try connection.prepare(
            """
            SELECT at, snapshot, summary FROM link_check WHERE site = ? AND hides_private >= ?
            ORDER BY at DESC LIMIT 1
            """)
        return try statement.first(.text(site), .integer(hidesPrivate ? 1 : 0)) { row in
            LinkCheckRecord(at: row.integer(0), snapshot: row.integer(1), summary: row.text(2))
        }
    }
}

extension StoreReader {
    /// The record of the last check of a site's links that this reader may see; nil if there is none, or this user cannot
    /// read the records.
    package func linkCheckRecord(ofSite site: String) throws(StoreError) -> LinkCheckRecord? {
        do throws(StoreError) {
            return try ActivityDatabase.openIfExists(folder)?.linkCheck(
                ofSite: site, hidesPrivate: hidesPrivate)
        } catch  where error.reason == .denied || error.reason == .busy {
            return nil
        }
    }
}
