/// The tables of `larder.db`, and the steps that lead from each earlier version to this one.
enum Schema {
    /// "lrdr", so that `file` and we know our own.
    static let applicationID: Int64 = 0x6c72_6472
    static let version: Int64 = 1

    /// Makes an empty database ours, or checks that it is ours and not newer than we are.
    static func prepare(_ connection: Connection) throws(StoreError) {
        if try isEmpty(connection) {
            // The page size only takes while the file is empty, and before it goes to WAL.
            try connection.execute("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;", doing: "set up")
            try connection.execute("BEGIN IMMEDIATE", doing: "set up")
            // Another process may have set it up since we looked.
            if try connection.integer("PRAGMA user_version") == 0 {
                try connection.execute(
                    tables + "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version);",
                    doing: "set up")
            }
            try connection.execute("COMMIT", doing: "set up")
        }
        try check(connection)
        try connection.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;", doing: "set up")
    }

    /// A database that somebody has begun to create, or that a killed run left so.
    static func isEmpty(_ connection: Connection) throws(StoreError) -> Bool {
        try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
    }

    static func check(_ connection: Connection) throws(StoreError) {
        guard try connection.integer("PRAGMA application_id") == applicationID else {
            throw StoreError(.unusable, doing: "open", path: connection.path, detail: "it is not a larder")
        }
        let found = try connection.integer("PRAGMA user_version")
        guard found == version else {
            throw StoreError(
                .unusable, doing: "open", path: connection.path,
                detail: "it has version \(found), this larder reads version \(version)",
                advice: "use the larder that wrote it, or name another store with --store")
        }
    }

    /// A response is what an URL answered in a visit. A body is content as it is read (`form`: format and character
    /// set), shared by every response that has it; its bytes stand apart so that counting bodies does not read them.
    private static let tables = """
        CREATE TABLE site (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            start TEXT NOT NULL,
            published INTEGER REFERENCES visit(id)
        ) STRICT;
        CREATE TABLE visit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            site INTEGER NOT NULL REFERENCES site(id),
            started INTEGER NOT NULL,
            finished INTEGER
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
            UNIQUE (sha256, form)
        ) STRICT;
        CREATE TABLE content (
            body INTEGER PRIMARY KEY REFERENCES body(id),
            links BLOB NOT NULL,
            bytes BLOB
        ) STRICT;
        CREATE TABLE response (
            url INTEGER NOT NULL REFERENCES url(id),
            visit INTEGER NOT NULL REFERENCES visit(id),
            status INTEGER NOT NULL,
            role INTEGER NOT NULL,
            fetched INTEGER NOT NULL,
            referrer INTEGER REFERENCES url(id),
            body INTEGER REFERENCES body(id),
            fields TEXT NOT NULL,
            PRIMARY KEY (url, visit)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX response_visit ON response(visit);

        """
}
