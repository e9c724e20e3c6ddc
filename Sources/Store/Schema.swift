internal import Database
internal import Web

/// The tables of `larder.db`, and the functions that create and check them.
enum Schema {
    /// "lrdr" in ASCII, by which Larder and `file` recognise the database.
    static let applicationID: Int64 = 0x6c72_6472
    static let version: Int64 = 10

    /// Creates the tables in an empty database, or checks that the database is a store and not newer than
    /// this version. Does not migrate an older one: `Migration` needs exclusive access.
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
        try checkOurs(connection)
        try connection.execute(
            """
            PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -\(Limits.writerCacheKiB);
            """, doing: "set up")
    }

    /// Whether the database has no tables: its creation has only begun, or was interrupted.
    static func isEmpty(_ connection: Connection) throws(StoreError) -> Bool {
        try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    /// Returns the version of a store's database. Throws if it is not one or if this version of Larder cannot
    /// read it.
    @discardableResult
    static func checkOurs(_ connection: Connection) throws(StoreError) -> Int64 {
        guard try connection.integer("PRAGMA application_id") == applicationID else {
            let folder = StoreFolder(ofDatabase: connection.path)
            if !folder.journalFiles.isEmpty {
                throw folder.lostDatabase("it does not begin like the database of a store")
            }
            throw StoreError(
                .unusable, doing: "open", path: connection.path, detail: "it is not the database of a store")
        }
        let found = try connection.integer("PRAGMA user_version")
        guard (1...version).contains(found) else {
            throw StoreError(
                .unusable, doing: "open", path: connection.path,
                detail: "it has version \(found), and this version of Larder reads versions 1 to \(version)",
                advice: "use the version of Larder that wrote it, or name another store", remedy: .store)
        }
        return found
    }

    /// The tables of a new database.
    ///
    /// Readers of a site see its snapshots up to the live one (`published`) and, on top of it, the overlay:
    /// the responses that servers and proxies loaded since. An overlay is a row of `snapshot` with a `base`.
    ///
    /// A row of `response` is the response of a URL in a snapshot: to a plain GET, or to another request,
    /// which `request` identifies. If the response varies, `variant` has the header fields of the request
    /// that select it. A row of `body` is content in the form in which it is read (`form`: format and
    /// character set), shared by all responses that have it. Its bytes are in a pack, from `start` on; if
    /// `frame` is set, as a zstd frame of this size. Otherwise they are in `content`, which is a table of its
    /// own so that counting bodies does not read them, or in a file.
    ///
    /// A response that a later snapshot received unchanged is not stored again: `confirmed` in its row is the
    /// last such snapshot, whose times and headers the row has; that snapshot counts it. A snapshot has the
    /// rows that it received, and earlier ones that it confirmed (`isOf`, `rows(ofSnapshot:)`).
    ///
    /// `id` numbers the snapshots of all sites in the order in which they began. `number` counts those of one
    /// site, from 1, and is the one that users see; `site.snapshots` is the highest that was given. An
    /// overlay has the number of its base.
    ///
    /// The flags of a response say how it came into the store (`Provenance`). The snapshot of an import has
    /// the paths of its archives in `archive`, one per line.
    ///
    /// The links of a body at a URL are lists of URL numbers with a comma before and after each, so that a
    /// number can be found without parsing the list. `sum` is the checksum of the three lists; it is null in
    /// rows of an earlier version.
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

        """ + sinceVersion2 + sinceVersion3 + StoredCounts.table + StoredCounts.nothing

    static let sinceVersion2 = """
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

    /// The committed size of each pack.
    static let sinceVersion3 = """
        CREATE TABLE pack (
            number INTEGER PRIMARY KEY,
            size INTEGER NOT NULL
        ) STRICT;

        """

    /// Returns an SQL condition: whether readers may see a response. It needs the response's `site` row in
    /// the query. If a site has no live snapshot yet, the responses of its first snapshot are visible.
    static func isVisible(_ response: String) -> String {
        "(site.published IS NULL OR \(response).snapshot <= site.published OR \(response).snapshot = site.overlay)"
    }

    /// Returns an SQL condition: whether a response belongs to a snapshot. It does if the snapshot received
    /// it, or if it is from an earlier snapshot of the site and was confirmed by this snapshot or a later
    /// one.
    static func isOf(_ snapshot: String, _ response: String = "response") -> String {
        """
        (\(response).snapshot = \(snapshot) OR \(response).snapshot < \(snapshot) AND \(response).confirmed >= \(snapshot)
            AND (SELECT site FROM snapshot WHERE id = \(response).snapshot) = (SELECT site FROM snapshot WHERE id = \(snapshot)))
        """
    }

    /// Returns an SQL subquery for all responses that belong to a snapshot.
    static func rows(ofSnapshot snapshot: String) -> String {
        """
        (SELECT * FROM response WHERE response.snapshot = \(snapshot)
            UNION ALL SELECT kept.* FROM snapshot AS earlier JOIN response AS kept ON kept.snapshot = earlier.id
            WHERE (SELECT confirmed FROM snapshot WHERE id = \(snapshot)) > 0
                AND earlier.site = (SELECT site FROM snapshot WHERE id = \(snapshot)) AND earlier.id < \(snapshot)
                AND kept.confirmed >= \(snapshot))
        """
    }

    /// Numbers the snapshots of each site from 1, in a database that had no such numbers.
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

    /// The views for users of `sqlite3`. They stay the same when the tables change.
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
                        AND \(isVisible("newer"))) AS shown
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
    static func isNeeded(_ connection: Connection) throws(StoreError) -> Bool {
        // A PostgreSQL server is migrated by `PostgreSQLMigration`.
        if connection.isPostgreSQL { return false }
        return try Schema.checkOurs(connection) < Schema.version
    }

    /// Runs all steps from the database's version on.
    ///
    /// - Parameter beforeCommit: is called when all tables have their final form.
    static func run(
        _ connection: Connection, beforeCommit: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        // SQLite would follow foreign keys while tables are replaced.
        try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;", doing: "migrate")
        do {
            let version = try Schema.checkOurs(connection)
            try renameTables(ofVersion: version, connection)
            for step in version..<Schema.version { try run(step, connection) }
            try connection.execute("PRAGMA user_version = \(Schema.version)", doing: "migrate")
            try beforeCommit()
            try connection.execute("COMMIT", doing: "migrate")
        } catch {
            // Throw the first error, which explains the failure.
            try? connection.execute("ROLLBACK")
            throw error
        }
        try connection.execute("PRAGMA foreign_keys = ON", doing: "migrate")
    }

    private static func run(_ step: Int64, _ connection: Connection) throws(StoreError) {
        switch step {
        case 1: try from1(connection)
        case 2: try from2(connection)
        case 3: try from3(connection)
        case 4: try from4(connection)
        case 5: try from5(connection)
        case 6: try from6(connection)
        case 7: try from7(connection)
        case 8: try from8(connection)
        case 9: try from9(connection)
        default: break
        }
    }

    /// Adds variants, other requests, media types, lists of links, pins and views. The lists of links of
    /// stored bodies are made by the next prefetch.
    private static func from1(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            ALTER TABLE site ADD COLUMN settings TEXT NOT NULL DEFAULT '';
            ALTER TABLE body ADD COLUMN md5 BLOB;
            ALTER TABLE body ADD COLUMN title TEXT;
            ALTER TABLE response RENAME TO earlier;
            \(Schema.sinceVersion2)
            INSERT INTO response
                (url, snapshot, request, variant, status, role, flags, requested, fetched, referrer, body, fields)
                SELECT url, snapshot, '', '', status, role, 0, fetched, fetched, referrer, body, fields FROM earlier;
            DROP TABLE earlier;
            """, doing: "migrate")
        try fillTypes(connection)
    }

    /// Adds packs. Stored bodies are not moved.
    private static func from2(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE body ADD COLUMN pack INTEGER;
            ALTER TABLE body ADD COLUMN start INTEGER;
            \(Schema.sinceVersion3)
            """, doing: "migrate")
    }

    /// Adds overlays.
    private static func from3(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE site ADD COLUMN overlay INTEGER REFERENCES snapshot(id);
            ALTER TABLE snapshot ADD COLUMN base INTEGER;
            """, doing: "migrate")
    }

    /// Adds compressed bodies. Stored bodies are not changed.
    private static func from4(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE body ADD COLUMN frame INTEGER;
            """, doing: "migrate")
    }

    /// Adds counts. The next writer counts the existing rows.
    private static func from5(_ connection: Connection) throws(StoreError) {
        try connection.execute(StoredCounts.table, doing: "migrate")
    }

    /// Adds the last snapshot that confirmed a response. Existing responses have none, since each snapshot
    /// had rows of its own.
    private static func from6(_ connection: Connection) throws(StoreError) {
        try add("confirmed", "INTEGER NOT NULL DEFAULT 0", to: "response", connection)
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE snapshot ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;
            """, doing: "migrate")
    }

    /// Adds provenance. Responses count as fetched unless their snapshot can be recognised as an import.
    private static func from7(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE snapshot ADD COLUMN archive TEXT;
            \(Provenance.markEarlierImports)
            """, doing: "migrate")
    }

    /// Adds checksums of lists of links. Earlier lists get theirs when they are next written.
    private static func from8(_ connection: Connection) throws(StoreError) {
        try add("sum", "INTEGER", to: "link", connection)
    }

    /// Numbers the snapshots of each site, and creates the views again, with the new names of their columns.
    private static func from9(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE site ADD COLUMN snapshots INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE snapshot ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
            \(Schema.numberSnapshots)
            \(Schema.views)
            """, doing: "migrate")
    }

    /// Renames tables and columns that had other names before version 10. It runs before all other steps, so
    /// that these use only one set of names.
    private static func renameTables(
        ofVersion version: Int64, _ connection: Connection
    ) throws(StoreError) {
        guard version < 10 else { return }
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

    /// Adds a column, unless an earlier step of this migration created the table with it.
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

    /// Fills the media types of all responses, in batches, so that memory use stays constant.
    private static func fillTypes(_ connection: Connection) throws(StoreError) {
        let find = try connection.prepare(
            """
            SELECT url, snapshot, fields FROM response WHERE (url, snapshot) > (?, ?) ORDER BY url, snapshot LIMIT 4096
            """)
        let update = try connection.prepare("UPDATE response SET type = ? WHERE url = ? AND snapshot = ?")
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
