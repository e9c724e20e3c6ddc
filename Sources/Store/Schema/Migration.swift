internal import Web

/// Leads a database from each earlier version to the current one, in one transaction.
///
/// Whoever calls holds the store alone: another larder's prepared statements would not know what they find.
enum Migration {
    static func isNeeded(_ connection: Connection) throws(StoreError) -> Bool {
        try Schema.checkOurs(connection) < Schema.version
    }

    static func run(_ connection: Connection) throws(StoreError) {
        // References would be followed while the tables are exchanged.
        try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;", doing: "bring up to date")
        do {
            for step in try Schema.checkOurs(connection)..<Schema.version { try run(step, connection) }
            try connection.execute("PRAGMA user_version = \(Schema.version); COMMIT;", doing: "bring up to date")
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
            \(Schema.views)
            """, doing: "bring up to date")
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
