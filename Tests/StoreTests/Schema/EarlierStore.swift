import Digest

@testable import Store

/// Stores as earlier larders left them. Their tables are written down here as they were, and never change.
enum EarlierStore {
    static let first = Array("first".utf8)
    static let second = Array("second".utf8)
    static let large = (0..<Limits.packedBody + 5).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// Two sites: one with two complete visits, one with a visit that was interrupted after so many more pages.
    static func makeVersion1(in folder: StoreFolder, morePages: Int = 2) throws(StoreError) {
        try folder.create()
        let connection = try Connection(folder.database, access: .readWrite)
        try connection.execute(
            """
            PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; BEGIN;
            \(version1)
            PRAGMA application_id = 1819436146; PRAGMA user_version = 1;
            INSERT INTO site (id, name, start) VALUES
                (1, 'http://a/', 'http://a/' || char(10) || 'http://a/b'), (2, 'http://b/', 'http://b/');
            INSERT INTO visit (id, site, started, finished) VALUES (1, 1, 10, 11), (2, 1, 20, 21), (3, 2, 30, NULL);
            UPDATE site SET published = 2 WHERE id = 1;
            INSERT INTO url (id, href) VALUES
                (1, 'http://a/'), (2, 'http://a/large'), (3, 'http://a/moved'), (4, 'http://a/gone'),
                (5, 'http://b/'), (6, 'http://a/untyped');
            INSERT INTO body (id, sha256, form, size) VALUES
                (1, x'\(sha256(first).hex)', 'html;utf-8', \(first.count)),
                (2, x'\(sha256(large).hex)', 'opaque', \(large.count)),
                (3, x'\(sha256(second).hex)', 'html;utf-8', \(second.count));
            INSERT INTO content (body, links, bytes) VALUES
                (1, x'0102', CAST('first' AS BLOB)), (2, x'03', NULL), (3, x'', CAST('second' AS BLOB));
            INSERT INTO response (url, visit, status, role, fetched, referrer, body, fields) VALUES
                (1, 1, 200, 0, 10, NULL, 1, 'Content-Type: text/html; charset=utf-8' || char(13, 10)),
                (2, 1, 200, 1, 10, 1, 2, 'content-type: Image/PNG' || char(13, 10) || 'ETag: "x"' || char(13, 10)),
                (3, 1, 301, 0, 10, 1, NULL, 'Location: /' || char(13, 10)),
                (6, 1, 200, 0, 10, 1, 1, ''),
                (1, 2, 200, 0, 20, NULL, 3, 'Content-Type: text/html' || char(13, 10)),
                (4, 2, 404, 0, 20, 1, NULL, 'Content-Type: nonsense' || char(13, 10)),
                (5, 3, 200, 0, 30, NULL, 1, 'Content-Type: text/html' || char(13, 10));
            WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < \(morePages))
                INSERT INTO url (id, href) SELECT 100 + n, 'http://b/' || n FROM counted;
            INSERT INTO response (url, visit, status, role, fetched, referrer, body, fields)
                SELECT id, 3, 200, 0, 30, 5, 3, 'Content-Type: text/plain' || char(13, 10) FROM url WHERE id > 100;
            COMMIT;
            """)
        var files = BodyFiles(folder)
        try files.add(BodyFiles.write(large, in: folder), sha256: sha256(large).hex)
        try files.settle()
    }

    private static func sha256(_ bytes: [UInt8]) -> Digest { DigestStream.digest(.sha256, of: bytes.span) }

    private static let version1 = """
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
