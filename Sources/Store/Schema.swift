internal import Web

/// The tables of `larder.db`, and how a database comes to have them.
enum Schema {
    /// "lrdr", so that `file` and we know our own.
    static let applicationID: Int64 = 0x6c72_6472
    static let version: Int64 = 9

    /// Makes an empty database ours, or checks that it is ours and not newer than we are. An older one stays
    /// as it is: `Migration` is for those who hold the store alone.
    static func prepare(_ connection: Connection) throws(StoreError) {
        if try isEmpty(connection) {
            // The page size only takes while the file is empty, and before it goes to WAL.
            try connection.addPageChecksums(doing: "set up")
            try connection.execute("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;", doing: "set up")
            try connection.execute("BEGIN IMMEDIATE", doing: "set up")
            // Another process may have set it up since we looked.
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

    /// A database that somebody has begun to create, or that a killed run left so.
    static func isEmpty(_ connection: Connection) throws(StoreError) -> Bool {
        try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    /// The version of a database that is ours. Fails for one that is not, or that only a newer larder reads.
    @discardableResult
    static func checkOurs(_ connection: Connection) throws(StoreError) -> Int64 {
        guard try connection.integer("PRAGMA application_id") == applicationID else {
            let folder = StoreFolder(ofDatabase: connection.path)
            if !folder.journalFiles.isEmpty {
                throw folder.lostDatabase("its beginning is not that of a larder")
            }
            throw StoreError(.unusable, doing: "open", path: connection.path, detail: "it is not a larder")
        }
        let found = try connection.integer("PRAGMA user_version")
        guard (1...version).contains(found) else {
            throw StoreError(
                .unusable, doing: "open", path: connection.path,
                detail: "it has version \(found), this larder reads versions 1 to \(version)",
                advice: "use the larder that wrote it, or name another store", remedy: .larder)
        }
        return found
    }

    /// What a site shows are its visits up to the published one and, on top of it, the overlay: what servers
    /// loaded since, in a visit that lies over its `base`.
    ///
    /// A response is what an URL answered in a visit: to a plain GET, or to the request that `request` tells
    /// apart; where it varies, to the fields in `variant`. A body is content as it is read (`form`: format
    /// and character set), shared by every response that has it; its bytes are in a pack, from `start` on (a
    /// frame of zstd of so many bytes where `frame` says so), or stand apart, so that counting bodies does not read them: in `content`, or in a file of their own.
    ///
    /// What a later visit got once more is not written once more: the row says in `confirmed` which visit that was last, and has
    /// the times and fields of its answer; the visit counts them. A visit has the rows that came in it, and those of before that it
    /// confirmed (`isOf`, `rows(ofVisit:)`).
    ///
    /// The flags of a response say how it came into the store (`Provenance`). The visit of an import has the paths of
    /// its archives in `archive`, a line each.
    ///
    /// What a body at an URL links to are lists of URLs' numbers with a comma before and after each, so that
    /// a number is found in them without reading them as a list. `sum` is the checksum of the three lists; it is
    /// null in rows that an earlier version wrote.
    static let tables = """
        CREATE TABLE site (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            start TEXT NOT NULL,
            published INTEGER REFERENCES visit(id),
            settings TEXT NOT NULL DEFAULT '',
            overlay INTEGER REFERENCES visit(id)
        ) STRICT;
        CREATE TABLE visit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            site INTEGER NOT NULL REFERENCES site(id),
            started INTEGER NOT NULL,
            finished INTEGER,
            base INTEGER,
            confirmed INTEGER NOT NULL DEFAULT 0,
            archive TEXT
        ) STRICT;
        CREATE INDEX visit_site ON visit(site);
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

        """ + sinceVersion2 + sinceVersion3 + KeptTally.table + KeptTally.nothing

    static let sinceVersion2 = """
        CREATE TABLE response (
            url INTEGER NOT NULL REFERENCES url(id),
            visit INTEGER NOT NULL REFERENCES visit(id),
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
            PRIMARY KEY (url, visit, request, variant)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX response_visit ON response(visit, role, status, body);
        CREATE INDEX response_body ON response(body);
        CREATE TABLE link (
            url INTEGER NOT NULL REFERENCES url(id),
            body INTEGER NOT NULL REFERENCES body(id),
            pages TEXT NOT NULL,
            requisites TEXT NOT NULL,
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

    /// How much of a pack is committed.
    static let sinceVersion3 = """
        CREATE TABLE pack (
            number INTEGER PRIMARY KEY,
            size INTEGER NOT NULL
        ) STRICT;

        """

    /// Whether readers may see a response, with its `site` joined to it. One that was never published shows
    /// what its first visit has so far.
    static func isVisible(_ response: String) -> String {
        "(site.published IS NULL OR \(response).visit <= site.published OR \(response).visit = site.overlay)"
    }

    /// Whether a visit has a response: it came in it, or is of an earlier visit of its site, and this one or a later one
    /// confirmed it.
    static func isOf(_ visit: String, _ response: String = "response") -> String {
        """
        (\(response).visit = \(visit) OR \(response).visit < \(visit) AND \(response).confirmed >= \(visit)
            AND (SELECT site FROM visit WHERE id = \(response).visit) = (SELECT site FROM visit WHERE id = \(visit)))
        """
    }

    /// All that a visit has, to select from.
    static func rows(ofVisit visit: String) -> String {
        """
        (SELECT * FROM response WHERE response.visit = \(visit)
            UNION ALL SELECT kept.* FROM visit AS earlier JOIN response AS kept ON kept.visit = earlier.id
            WHERE (SELECT confirmed FROM visit WHERE id = \(visit)) > 0
                AND earlier.site = (SELECT site FROM visit WHERE id = \(visit)) AND earlier.id < \(visit)
                AND kept.confirmed >= \(visit))
        """
    }

    /// For people with `sqlite3`. They stay when the tables change.
    static let views = """
        CREATE VIEW larder_response AS
            SELECT site.name AS site, response.visit, url.href AS url, response.status,
                iif(response.role = 0, 'page', 'requisite') AS role, response.type,
                response.request, response.variant, datetime(response.fetched, 'unixepoch') AS fetched,
                body.size, lower(hex(body.sha256)) AS sha256, referrer.href AS referrer, response.fields,
                nullif(response.confirmed, 0) AS confirmed,
                \(Provenance.kindName) AS provenance, visit.archive,
                \(isVisible("response")) AND NOT EXISTS (
                    SELECT 1 FROM response AS newer JOIN visit AS later ON later.id = newer.visit
                    WHERE newer.url = response.url AND newer.request = response.request
                        AND newer.variant IN (response.variant, '') AND later.site = site.id
                        AND \(Provenance.isPreferred("newer", to: "response"))
                        AND \(isVisible("newer"))) AS shown
            FROM response
            JOIN url ON url.id = response.url
            JOIN visit ON visit.id = response.visit
            JOIN site ON site.id = visit.site
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
                UNION ALL SELECT url, requisites, 'requisite' FROM link
                UNION ALL SELECT url, guesses, 'guess' FROM link) AS listed
            JOIN url AS source ON source.id = listed.url
            JOIN json_each('[' || trim(listed.targets, ',') || ']') AS number
            JOIN url AS target ON target.id = number.value;

        """
}

// MARK: - Migration

/// Leads a database from each earlier version to the current one, in one transaction.
///
/// Whoever calls holds the store alone: another larder's prepared statements would not know what they find.
enum Migration {
    static func isNeeded(_ connection: Connection) throws(StoreError) -> Bool {
        // The other tables are younger than any change of these.
        if connection.isServed { return false }
        return try Schema.checkOurs(connection) < Schema.version
    }

    /// - Parameter beforeCommit: is run when all tables are as they will be.
    static func run(
        _ connection: Connection, beforeCommit: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        // References would be followed while the tables are exchanged.
        try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;", doing: "bring up to date")
        do {
            for step in try Schema.checkOurs(connection)..<Schema.version { try run(step, connection) }
            try connection.execute("PRAGMA user_version = \(Schema.version)", doing: "bring up to date")
            try beforeCommit()
            try connection.execute("COMMIT", doing: "bring up to date")
        } catch {
            // The first error is the one that tells.
            try? connection.execute("ROLLBACK")
            throw error
        }
        try connection.execute("PRAGMA foreign_keys = ON", doing: "bring up to date")
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
        default: break
        }
    }

    /// Variants, other requests, media types, link lists, pins and views. Link lists of what is held are
    /// made when it is next visited.
    private static func from1(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            ALTER TABLE site ADD COLUMN settings TEXT NOT NULL DEFAULT '';
            ALTER TABLE body ADD COLUMN md5 BLOB;
            ALTER TABLE body ADD COLUMN title TEXT;
            ALTER TABLE response RENAME TO earlier;
            DROP INDEX response_visit;
            \(Schema.sinceVersion2)
            INSERT INTO response
                (url, visit, request, variant, status, role, flags, requested, fetched, referrer, body, fields)
                SELECT url, visit, '', '', status, role, 0, fetched, fetched, referrer, body, fields FROM earlier;
            DROP TABLE earlier;
            """, doing: "bring up to date")
        try fillTypes(connection)
    }

    /// Packs. What is held stays where it is.
    private static func from2(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE body ADD COLUMN pack INTEGER;
            ALTER TABLE body ADD COLUMN start INTEGER;
            \(Schema.sinceVersion3)
            """, doing: "bring up to date")
    }

    /// Overlays.
    private static func from3(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE site ADD COLUMN overlay INTEGER REFERENCES visit(id);
            ALTER TABLE visit ADD COLUMN base INTEGER;
            """, doing: "bring up to date")
    }

    /// Frames. What is held stays as it is.
    private static func from4(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE body ADD COLUMN frame INTEGER;
            """, doing: "bring up to date")
    }

    /// Counts. Whoever opens it to write next counts what there is.
    private static func from5(_ connection: Connection) throws(StoreError) {
        try connection.execute(KeptTally.table, doing: "bring up to date")
    }

    /// Which visit confirmed a response last. Of what is held, none did: each visit has rows of its own.
    private static func from6(_ connection: Connection) throws(StoreError) {
        try add("confirmed", "INTEGER NOT NULL DEFAULT 0", to: "response", connection)
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE visit ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;
            """, doing: "bring up to date")
    }

    /// Adds provenance. Responses count as fetched unless their visit can be recognised as an import.
    private static func from7(_ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            \(dropViews)
            ALTER TABLE visit ADD COLUMN archive TEXT;
            \(Provenance.markEarlierImports)
            \(Schema.views)
            """, doing: "bring up to date")
    }

    /// Adds checksums of lists of links. Earlier lists get theirs when they are next written.
    private static func from8(_ connection: Connection) throws(StoreError) {
        try add("sum", "INTEGER", to: "link", connection)
    }

    /// Adds a column, unless an earlier step of this migration created the table with it.
    private static func add(
        _ column: String, _ type: String, to table: String, _ connection: Connection
    ) throws(StoreError) {
        let find = try connection.prepare(
            "SELECT 1 FROM pragma_table_info('\(table)') WHERE name = '\(column)'")
        guard try find.first(read: { _ in true }) == nil else { return }
        try connection.execute(
            "ALTER TABLE \(table) ADD COLUMN \(column) \(type)", doing: "bring up to date")
    }

    private static let dropViews = """
        DROP VIEW IF EXISTS larder_response; DROP VIEW IF EXISTS larder_body; DROP VIEW IF EXISTS larder_link;
        """

    /// A part at a time, so that memory stays constant.
    private static func fillTypes(_ connection: Connection) throws(StoreError) {
        let find = try connection.prepare(
            """
            SELECT url, visit, fields FROM response WHERE (url, visit) > (?, ?) ORDER BY url, visit LIMIT 4096
            """)
        let update = try connection.prepare("UPDATE response SET type = ? WHERE url = ? AND visit = ?")
        var last: (url: Int64, visit: Int64)? = (0, 0)
        while let start = last {
            last = nil
            var types: [(url: Int64, visit: Int64, type: String)] = []
            try find.each(.integer(start.url), .integer(start.visit)) { row in
                let (url, visit) = (row.integer(0), row.integer(1))
                last = (url, visit)
                let type = HTTPFields(block: row.text(2).utf8.span)["Content-Type"].flatMap { MediaType($0) }
                if let type { types.append((url, visit, type.essence)) }
            }
            for row in types { try update.run(.text(row.type), .integer(row.url), .integer(row.visit)) }
        }
    }
}
