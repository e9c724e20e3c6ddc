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

    /// The key of the advisory lock for creating the table.
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
        let key = connection.isPostgreSQL ? "md5(href) = md5(?)" : "href = ?"
        let find = try connection.prepare("SELECT at, verdict, detail FROM link_result WHERE \(key)")
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
        try createLinkResultTable()
        let key = connection.isPostgreSQL ? "md5(href)" : "href"
        let deleteOld = try connection.prepare("DELETE FROM link_result WHERE at < ?")
        let add = try connection.prepare(
            """
            INSERT INTO link_result (href, at, verdict, detail) VALUES (?, ?, ?, ?)
            ON CONFLICT (\(key)) DO UPDATE SET
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
        get throws(StoreError) {
            guard connection.isPostgreSQL else {
                return try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'link_result'")
                    > 0
            }
            return try connection.prepare("SELECT (to_regclass('link_result') IS NOT NULL)::int").first {
                $0.integer(0) != 0
            } ?? false
        }
    }

    private func createLinkResultTable() throws(StoreError) {
        guard try !hasLinkResults else { return }
        guard connection.isPostgreSQL else {
            return try connection.execute(Self.linkResultTable, doing: "set up")
        }
        // In PostgreSQL, creating a table in two sessions at once fails, even with IF NOT EXISTS.
        try connection.transaction { () throws(StoreError) in
            _ = try connection.prepare("SELECT pg_advisory_xact_lock(?)").first(
                .integer(Self.linkResultTableCreationLock)
            ) {
                _ in true
            }
            try connection.execute(Self.postgreSQLLinkResultTable, doing: "set up")
        }
    }
}
