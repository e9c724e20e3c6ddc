internal import Database
internal import Web

/// The tables and views of `larder.db`, the SQLite database of a store in a folder, with SQL conditions that many
/// statements share. `PostgreSQLSchema` has the tables of a store on a PostgreSQL server; the conditions work on both.
enum Schema {
    /// "lrdr" in ASCII, by which Larder and `file` recognise the database.
    static let applicationID: Int64 = 0x6c72_6472
    /// The version of the tables, which increases by one with each change. `Migration` has a step from each earlier
    /// version.
    static let version: Int64 = 10

    /// Prepares a connection for writing. Creates the tables if the database is empty, or else checks that it belongs
    /// to a store of this or an earlier version. Does not migrate it, because `Migration` needs exclusive access.
    ///
    /// - Throws: `StoreError` of reason `unusable` if the database does not belong to a store or is newer.
    static func prepare(_ connection: Connection) throws(StoreError) {
        if try isEmpty(connection) {
            // The page size can be set only while the file is empty and not in WAL mode.
            try connection.addPageChecksums(doing: "set up")
            try connection.execute("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;", doing: "set up")
            try connection.execute("BEGIN IMMEDIATE", doing: "set up")
            // Another process may have created the tables in the meantime.
            if try connection.integer("PRAGMA user_version") == 0 {
                try connection.execute(
                    tables + views
                        + "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version);",
                    doing: "set up")
            }
            try connection.execute("COMMIT", doing: "set up")
        }
        try checkVersion(connection)
        try connection.execute(
            """
            PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -\(Limits.writerCacheKiB);
            """, doing: "set up")
    }

    /// Whether the database has no tables, because its creation was interrupted or is still under way.
    static func isEmpty(_ connection: Connection) throws(StoreError) -> Bool {
        try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    /// Returns the version of the database's tables. Throws if the database does not belong to a store, or if it is
    /// newer than this version of Larder.
    @discardableResult
    static func checkVersion(_ connection: Connection) throws(StoreError) -> Int64 {
        guard try connection.integer("PRAGMA application_id") == applicationID else {
            // The journal files show that a store was here, so the database can be rebuilt from them.
            let folder = StoreFolder(ofDatabase: connection.path)
            if !folder.journalFiles.isEmpty {
                throw folder.lostDatabase("it does not begin like the database of a store")
            }
            throw StoreError(
                .unusable, doing: "open", path: connection.path, detail: "it is not the database of a store")
        }
        let foundVersion = try connection.integer("PRAGMA user_version")
        guard (1...version).contains(foundVersion) else {
            throw StoreError(
                .unusable, doing: "open", path: connection.path,
                detail:
                    "it has version \(foundVersion), and this version of Larder reads versions 1 to \(version)",
                advice: "use the version of Larder that wrote it, or name another store", remedy: .store)
        }
        return foundVersion
    }

    /// The tables of a new database. All times are in seconds since 1970, and all sizes in bytes.
    ///
    /// **site**: `start` has the start URLs, one per line, `settings` the site's `SitePlan` as JSON, `published` the
    /// live snapshot, and `overlay` the responses that servers and proxies have loaded since. Readers of a site see
    /// its snapshots up to the live one and, on top of them, the overlay. `snapshots` is the highest `number` so far.
    ///
    /// **snapshot**: The ids of all sites form one sequence, in the order in which the snapshots began. `number`
    /// counts the snapshots of one site from 1; users see this number. An overlay is a row with a `base`, the
    /// snapshot below it, and has the number of its base. `confirmed` is how many responses of earlier snapshots the
    /// snapshot confirmed. `archive` has the paths of imported archives, one per line.
    ///
    /// **response**: A response that a snapshot received for a URL. `request` is the text of a `RequestKey`, and empty for a
    /// plain GET. `variant` is the text of a `VaryKey`, and empty if the response does not vary. `role` is 0 for a page,
    /// 1 for an asset and 2 for a guide. `flags` are `ResponseFlags`, which include the `Provenance`. If a later snapshot
    /// receives the response unchanged, there is no second row: the row gets the id of that snapshot in `confirmed`,
    /// and its times and headers. Therefore a snapshot consists of the rows that it received and of earlier rows that
    /// it confirmed (`isPart(of:_:)`, `rows(ofSnapshot:)`).
    ///
    /// **body**: Content that all responses with the same bytes and `form` share. The form is the format and
    /// character set by which links are read. If `pack` is set, the bytes are in this pack from `start` on, and if
    /// `frame` is set, they are a zstd frame of that size. Otherwise they are in `content`, or in a file if `content`
    /// has none.
    ///
    /// **content**: The link table of a body, and possibly its bytes. It is a table of its own, so that statements that
    /// only count bodies read less.
    ///
    /// **link**: The links of a body at a URL, as three lists of ids of URLs. Each id has a comma before and after
    /// it, so that a statement can search for an id without parsing the list. `sum` is the checksum of the lists; it
    /// is null in rows that were written before version 9.
    static let tables = """
        CREATE TABLE site (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            start TEXT NOT NULL,
            published INTEGER REFERENCES snapshot(id),
            settings TEXT NOT NULL DEFAULT '',
            overlay INTEGER REFERENCES snapshot(id),
            snapshots INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE snapshot (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            site INTEGER NOT NULL REFERENCES site(id),
            started INTEGER NOT NULL,
            finished INTEGER,
            base INTEGER,
            confirmed INTEGER NOT NULL DEFAULT 0,
            archive TEXT,
            number INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX snapshot_site ON snapshot(site);
        CREATE TABLE url (
            id INTEGER PRIMARY KEY,
            href TEXT NOT NULL UNIQUE
        ) STRICT;
        CREATE TABLE body (
            id INTEGER PRIMARY KEY,
            sha256 BLOB NOT NULL,
            form TEXT NOT NULL,
            size INTEGER NOT NULL,
            md5 BLOB,
            title TEXT,
            pack INTEGER,
            start INTEGER,
            frame INTEGER,
            UNIQUE (sha256, form)
        ) STRICT;
        CREATE TABLE content (
            body INTEGER PRIMARY KEY REFERENCES body(id),
            links BLOB NOT NULL,
            bytes BLOB
        ) STRICT;

        """ + tablesSinceVersion2 + packTable + StoredCounts.table + StoredCounts.nothing

    /// The tables that version 2 replaced or added, in their current form.
    static let tablesSinceVersion2 = """
        CREATE TABLE response (
            url INTEGER NOT NULL REFERENCES url(id),
            snapshot INTEGER NOT NULL REFERENCES snapshot(id),
            request TEXT NOT NULL,
            variant TEXT NOT NULL,
            status INTEGER NOT NULL,
            role INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            requested INTEGER NOT NULL,
            fetched INTEGER NOT NULL,
            type TEXT,
            referrer INTEGER REFERENCES url(id),
            body INTEGER REFERENCES body(id),
            fields TEXT NOT NULL,
            confirmed INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (url, snapshot, request, variant)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX response_snapshot ON response(snapshot, role, status, body);
        CREATE INDEX response_body ON response(body);
        CREATE TABLE link (
            url INTEGER NOT NULL REFERENCES url(id),
            body INTEGER NOT NULL REFERENCES body(id),
            pages TEXT NOT NULL,
            assets TEXT NOT NULL,
            guesses TEXT NOT NULL,
            sum INTEGER,
            PRIMARY KEY (url, body)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX link_body ON link(body);
        CREATE TABLE pin (
            kind TEXT NOT NULL,
            value TEXT NOT NULL,
            added INTEGER NOT NULL,
            PRIMARY KEY (kind, value)
        ) STRICT, WITHOUT ROWID;

        """

    /// The committed size of each pack. Bytes after it are from a write that was interrupted.
    static let packTable = """
        CREATE TABLE pack (
            number INTEGER PRIMARY KEY,
            size INTEGER NOT NULL
        ) STRICT;

        """

    /// Returns an SQL condition: readers may see a response, because it is in the live snapshot, in an earlier one that
    /// was not rejected, or in the overlay of its site. A site without a live snapshot shows all of its responses:
    /// those of its first snapshot, which is not complete yet.
    ///
    /// - Parameters:
    ///   - response: The alias of `response` in the statement, which must join it with `site`.
    ///   - snapshot: The alias of `snapshot`, with which the statement joins the response.
    static func isVisible(_ response: String, in snapshot: String = "snapshot") -> String {
        """
        (site.published IS NULL
            OR \(response).snapshot <= site.published
                AND (\(isAccepted(response, in: snapshot)) OR \(response).snapshot = site.published)
            OR \(response).snapshot = site.overlay)
        """
    }

    /// Returns an SQL condition: readers of a snapshot see a response of its site, because it is in this snapshot or in an
    /// earlier one that was not rejected. Readers of an overlay see the snapshots up to its base, too.
    ///
    /// - Parameters:
    ///   - id: An SQL expression for the id of the snapshot, such as `?1`.
    ///   - response: The alias of `response` in the statement.
    ///   - snapshot: The alias of `snapshot`, with which the statement joins the response.
    static func isVisible(
        asOf id: String, _ response: String = "response", in snapshot: String = "snapshot"
    ) -> String {
        let base = "(SELECT base FROM snapshot WHERE id = \(id))"
        return """
            (\(response).snapshot IN (\(id), \(base))
                OR \(response).snapshot <= coalesce(\(base), \(id)) AND \(isAccepted(response, in: snapshot)))
            """
    }

    /// Returns an SQL condition: the snapshot of a response was not rejected. A response of a rejected snapshot, such as a
    /// login page in place of the site's page, must not come up again after the next snapshot is live.
    ///
    /// No snapshot confirms a response of a rejected one, but in earlier versions of Larder some did. Such a response is part
    /// of a snapshot that was not rejected.
    static func isAccepted(_ response: String, in snapshot: String = "snapshot") -> String {
        "(coalesce(\(snapshot).finished, 0) >= 0 OR \(response).confirmed > \(response).snapshot)"
    }

    /// Returns an SQL condition: a response is part of a snapshot. The snapshot received it, or an earlier snapshot
    /// of the site received it and this snapshot or a later one confirmed it.
    ///
    /// - Parameters:
    ///   - snapshot: An SQL expression for the id of the snapshot, such as `?1`.
    ///   - response: The alias of `response` in the statement.
    static func isPart(of snapshot: String, _ response: String = "response") -> String {
        """
        (\(response).snapshot = \(snapshot) OR \(response).snapshot < \(snapshot) AND \(response).confirmed >= \(snapshot)
            AND (SELECT site FROM snapshot WHERE id = \(response).snapshot) = (SELECT site FROM snapshot WHERE id = \(snapshot)))
        """
    }

    /// Returns an SQL subquery for all rows of `response` that are part of a snapshot. It suits statements that start
    /// from a snapshot; `isPart(of:_:)` suits those that start from a URL.
    ///
    /// - Parameters:
    ///   - snapshot: An SQL expression for the id of the snapshot.
    ///   - columns: The columns of the result; none for all. SQLite reads them all for each row, whether the statement
    ///     uses them or not. A statement about a large snapshot should therefore name its columns, so that the index
    ///     `response_snapshot` is enough.
    static func rows(ofSnapshot snapshot: String, _ columns: String...) -> String {
        func list(_ table: String) -> String {
            columns.isEmpty ? "\(table).*" : columns.map { "\(table).\($0)" }.joined(separator: ", ")
        }
        return """
            (SELECT \(list("response")) FROM response WHERE response.snapshot = \(snapshot)
                UNION ALL SELECT \(list("kept")) FROM snapshot AS earlier JOIN response AS kept ON kept.snapshot = earlier.id
                WHERE (SELECT confirmed FROM snapshot WHERE id = \(snapshot)) > 0
                    AND earlier.site = (SELECT site FROM snapshot WHERE id = \(snapshot)) AND earlier.id < \(snapshot)
                    AND kept.confirmed >= \(snapshot))
            """
    }

    /// SQL that numbers the snapshots of each site from 1, for a database from before version 10.
    static let numberSnapshots = """
        UPDATE snapshot SET number = (
            SELECT count(*) FROM snapshot AS earlier
            WHERE earlier.site = snapshot.site AND earlier.base IS NULL AND earlier.id <= snapshot.id)
            WHERE base IS NULL;
        UPDATE snapshot SET number = coalesce(
            (SELECT under.number FROM snapshot AS under WHERE under.id = snapshot.base), 0) WHERE base IS NOT NULL;
        UPDATE site SET snapshots = coalesce(
            (SELECT max(snapshot.number) FROM snapshot WHERE snapshot.site = site.id), 0);

        """

    /// The views for users of `sqlite3`. They are a stable interface: when tables change, the names and meanings of
    /// their columns stay the same.
    static let views = """
        CREATE VIEW larder_response AS
            SELECT site.name AS site, snapshot.number AS snapshot, snapshot.base IS NOT NULL AS overlay, url.href AS url, response.status,
                iif(response.role = 0, 'page', 'asset') AS role, response.type,
                response.request, response.variant, datetime(response.fetched, 'unixepoch') AS fetched,
                body.size, lower(hex(body.sha256)) AS sha256, referrer.href AS referrer, response.fields,
                (SELECT max(last.number) FROM snapshot AS last WHERE last.site = site.id AND last.id <= response.confirmed) AS confirmed,
                \(Provenance.kindName) AS provenance, snapshot.archive,
                \(isVisible("response")) AND NOT EXISTS (
                    SELECT 1 FROM response AS newer JOIN snapshot AS later ON later.id = newer.snapshot
                    WHERE newer.url = response.url AND newer.request = response.request
                        AND newer.variant IN (response.variant, '') AND later.site = site.id
                        AND \(Provenance.isPreferred("newer", to: "response"))
                        AND \(isVisible("newer", in: "later"))) AS shown
            FROM response
            JOIN url ON url.id = response.url
            JOIN snapshot ON snapshot.id = response.snapshot
            JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            LEFT JOIN url AS referrer ON referrer.id = response.referrer;
        CREATE VIEW larder_body AS
            SELECT lower(hex(body.sha256)) AS sha256, lower(hex(body.md5)) AS md5, body.size, body.form, body.title,
                coalesce(body.frame, body.size) AS room,
                CASE
                    WHEN body.pack IS NOT NULL THEN printf('packs/%016x', body.pack)
                    WHEN content.bytes IS NULL THEN 'bodies/' || lower(hex(body.sha256))
                    ELSE 'larder.db'
                END AS place,
                (SELECT count(*) FROM response WHERE response.body = body.id) AS responses
            FROM body JOIN content ON content.body = body.id;
        CREATE VIEW larder_link AS
            SELECT source.href AS source, target.href AS target, listed.role
            FROM (
                SELECT url, pages AS targets, 'page' AS role FROM link
                UNION ALL SELECT url, assets, 'asset' FROM link
                UNION ALL SELECT url, guesses, 'guess' FROM link) AS listed
            JOIN url AS source ON source.id = listed.url
            JOIN json_each('[' || trim(listed.targets, ',') || ']') AS number
            JOIN url AS target ON target.id = number.value;

        """
}

// MARK: - Migration

/// Migrates a database of any earlier version to the current one, in one transaction.
///
/// The caller needs exclusive access to the store, because prepared statements of other processes would not
/// match the new tables.
enum Migration {
    /// Whether the tables are of an earlier version.
    static func isNeeded(_ connection: Connection) throws(StoreError) -> Bool {
        // A PostgreSQL server is migrated by `PostgreSQLMigration`.
        guard connection.backEnd == .folder else { return false }
        return try Schema.checkVersion(connection) < Schema.version
    }

    /// Runs all steps from the database's version on. If one fails, rolls all of them back and throws; the connection
    /// must then be closed, because it no longer checks foreign keys.
    ///
    /// - Parameter beforeCommit: Called when all tables have their final form. If it throws, the migration is rolled back.
    static func run(
        _ connection: Connection, beforeCommit: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        // With foreign keys, dropping a table would first delete its rows and check all references to them. The setting
        // cannot be changed within a transaction.
        try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;", doing: "migrate")
        do {
            let version = try Schema.checkVersion(connection)
            try renameTables(ofVersion: version, connection)
            for earlier in version..<Schema.version { try migrate(from: earlier, connection) }
            try connection.execute("PRAGMA user_version = \(Schema.version)", doing: "migrate")
            try beforeCommit()
            try connection.execute("COMMIT", doing: "migrate")
        } catch {
            // An error of the rollback would hide the reason of the failure.
            try? connection.execute("ROLLBACK")
            throw error
        }
        try connection.execute("PRAGMA foreign_keys = ON", doing: "migrate")
    }

    /// Migrates from a version to the next one.
    private static func migrate(from version: Int64, _ connection: Connection) throws(StoreError) {
        switch version {
        case 1: try migrateFromVersion1(connection)
        case 2: try migrateFromVersion2(connection)
        case 3: try migrateFromVersion3(connection)
        case 4: try migrateFromVersion4(connection)
        case 5: try migrateFromVersion5(connection)
        case 6: try migrateFromVersion6(connection)
        case 7: try migrateFromVersion7(connection)
        case 8: try migrateFromVersion8(connection)
        case 9: try migrateFromVersion9(connection)
        default: break
        }
    }

    /// Adds variants, requests other than GET, media types, the lists of links, and pins. The next prefetch fills the
    /// lists of links of stored bodies.
    private static func migrateFromVersion1(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            ALTER TABLE site ADD COLUMN settings TEXT NOT NULL DEFAULT '';
            ALTER TABLE body ADD COLUMN md5 BLOB;
            ALTER TABLE body ADD COLUMN title TEXT;
            ALTER TABLE response RENAME TO earlier;
            \(Schema.tablesSinceVersion2)
            INSERT INTO response
                (url, snapshot, request, variant, status, role, flags, requested, fetched, referrer, body, fields)
                SELECT url, snapshot, '', '', status, role, 0, fetched, fetched, referrer, body, fields FROM earlier;
            DROP TABLE earlier;
            """, doing: "migrate")
        try fillTypes(connection)
    }

    /// Adds packs. Stored bodies are not moved.
    private static func migrateFromVersion2(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE body ADD COLUMN pack INTEGER;
            ALTER TABLE body ADD COLUMN start INTEGER;
            \(Schema.packTable)
            """, doing: "migrate")
    }

    /// Adds overlays.
    private static func migrateFromVersion3(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE site ADD COLUMN overlay INTEGER REFERENCES snapshot(id);
            ALTER TABLE snapshot ADD COLUMN base INTEGER;
            """, doing: "migrate")
    }

    /// Adds compressed bodies. Stored bodies are not changed.
    private static func migrateFromVersion4(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE body ADD COLUMN frame INTEGER;
            """, doing: "migrate")
    }

    /// Adds the table with counts of rows (`StoredCounts`). The next writer counts the existing rows.
    private static func migrateFromVersion5(_ connection: Connection) throws(StoreError) {
        try connection.execute(StoredCounts.table, doing: "migrate")
    }

    /// Adds confirmations. Existing responses have none, because each snapshot stored a row for each of its responses.
    private static func migrateFromVersion6(_ connection: Connection) throws(StoreError) {
        try add("confirmed", "INTEGER NOT NULL DEFAULT 0", to: "response", connection)
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE snapshot ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;
            """, doing: "migrate")
    }

    /// Adds provenance. Responses count as fetched unless their snapshot can be recognised as an import.
    private static func migrateFromVersion7(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE snapshot ADD COLUMN archive TEXT;
            \(Provenance.markEarlierImports)
            """, doing: "migrate")
    }

    /// Adds checksums of lists of links. Earlier lists get theirs when they are next written.
    private static func migrateFromVersion8(_ connection: Connection) throws(StoreError) {
        try add("sum", "INTEGER", to: "link", connection)
    }

    /// Numbers the snapshots of each site. Creates the views, which `renameTables` and earlier steps dropped.
    private static func migrateFromVersion9(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE site ADD COLUMN snapshots INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE snapshot ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
            \(Schema.numberSnapshots)
            \(Schema.views)
            """, doing: "migrate")
    }

    /// Renames tables and columns that had other names before version 10. It runs before all other steps, so that the
    /// steps for earlier versions can use the new names.
    private static func renameTables(
        ofVersion version: Int64, _ connection: Connection
    ) throws(StoreError) {
        guard version < 10 else { return }
        // SQLite also renames a table in the foreign keys of other tables. It does not rename indexes.
        var sql = """
            \(dropViews)
            ALTER TABLE visit RENAME TO snapshot;
            DROP INDEX visit_site;
            CREATE INDEX snapshot_site ON snapshot(site);
            ALTER TABLE response RENAME COLUMN visit TO snapshot;
            DROP INDEX response_visit;

            """
        if version >= 2 {
            sql += """
                CREATE INDEX response_snapshot ON response(snapshot, role, status, body);
                ALTER TABLE link RENAME COLUMN requisites TO assets;

                """
        }
        if version >= 6 {
            sql += """
                ALTER TABLE tally RENAME COLUMN visit TO snapshot;
                ALTER TABLE tally RENAME COLUMN requisites TO assets;
                """
        }
        try connection.execute(sql, doing: "migrate")
    }

    /// Adds a column, unless the table has it: `migrateFromVersion1` creates tables in their current form.
    private static func add(
        _ column: String, _ type: String, to table: String, _ connection: Connection
    ) throws(StoreError) {
        let find = try connection.prepare(
            "SELECT 1 FROM pragma_table_info('\(table)') WHERE name = '\(column)'")
        guard try find.first(read: { _ in true }) == nil else { return }
        try connection.execute(
            "ALTER TABLE \(table) ADD COLUMN \(column) \(type)", doing: "migrate")
    }

    private static let dropViews = """
        DROP VIEW IF EXISTS larder_response; DROP VIEW IF EXISTS larder_body; DROP VIEW IF EXISTS larder_link;
        """

    /// Sets the media types of all responses by their headers, in batches of 4096, so that memory use stays constant.
    private static func fillTypes(_ connection: Connection) throws(StoreError) {
        let find = try connection.prepare(
            """
            SELECT url, snapshot, fields FROM response WHERE (url, snapshot) > (?, ?) ORDER BY url, snapshot LIMIT 4096
            """)
        let update = try connection.prepare("UPDATE response SET type = ? WHERE url = ? AND snapshot = ?")
        /// The key of the last row of the batch before; nil after an empty batch.
        var last: (url: Int64, snapshot: Int64)? = (0, 0)
        while let start = last {
            last = nil
            var types: [(url: Int64, snapshot: Int64, type: String)] = []
            try find.each(.integer(start.url), .integer(start.snapshot)) { row in
                let (url, snapshot) = (row.integer(0), row.integer(1))
                last = (url, snapshot)
                let type = HTTPFields(block: row.text(2).utf8.span)["Content-Type"].flatMap { MediaType($0) }
                if let type { types.append((url, snapshot, type.essence)) }
            }
            for row in types { try update.run(.text(row.type), .integer(row.url), .integer(row.snapshot)) }
        }
    }
}
