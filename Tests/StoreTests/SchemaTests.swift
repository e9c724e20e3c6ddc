import Database
import Digest
import System
import TestOrigin
import Testing
import Web

@testable import Store

@Suite(.requiresFolderStore) struct MigrationTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
        try EarlierStore.makeVersion1(in: store.folder)
    }

    /// The two kinds of callers that open, and thereby migrate, a store.
    enum Opener: CaseIterable {
        case reader
        case writer

        func open(_ folder: StoreFolder) throws {
            switch self {
            case .reader: _ = try StoreReader(folder)
            case .writer: _ = try StoreWriter(folder)
            }
        }
    }

    private func version() throws -> [String] { try store.column("PRAGMA user_version") }

    /// The schema of a database as text. It must be the same for a new and a migrated database.
    private static func schema(of database: String) throws -> [String] {
        try StockedFolder.column(
            """
            SELECT type || ' ' || name || ' of ' || tbl_name || iif(type = 'view', ': ' || sql, '')
            FROM sqlite_schema ORDER BY 1
            """, in: database)
            + StockedFolder.column(
                """
                SELECT parts.name || ': ' || string_agg FROM (
                    SELECT tables.name, group_concat(columns.cid || columns.name || ' ' || columns.type || ' '
                        || columns."notnull" || ' ' || coalesce(columns.dflt_value, '-') || ' ' || columns.pk)
                        AS string_agg
                    FROM pragma_table_list AS tables JOIN pragma_table_xinfo(tables.name) AS columns
                    GROUP BY tables.name) AS parts ORDER BY 1
                """, in: database)
            + StockedFolder.column(
                """
                SELECT name || ' ' || strict || wr FROM pragma_table_list ORDER BY 1
                """, in: database)
            + StockedFolder.column(
                """
                SELECT tables.name || ' ' || indexes.name || ' ' || indexes."unique" || indexes.origin || ': '
                    || (SELECT group_concat(seqno || coalesce(name, '-') || key) FROM pragma_index_xinfo(indexes.name))
                FROM pragma_table_list AS tables JOIN pragma_index_list(tables.name) AS indexes ORDER BY 1
                """, in: database)
            + StockedFolder.column(
                """
                SELECT tables.name || '.' || keys."from" || ' -> ' || keys."table" || '.' || coalesce(keys."to", '-')
                FROM pragma_table_list AS tables JOIN pragma_foreign_key_list(tables.name) AS keys ORDER BY 1
                """, in: database)
    }

    @Test(arguments: Opener.allCases)
    func `a migrated store of version 1 has the schema of a new one`(opener: Opener) throws {
        try opener.open(store.folder)
        #expect(try version() == ["\(Schema.version)"])
        let fresh = try StockedFolder()
        _ = try StoreWriter(fresh.folder)
        let expected = try Self.schema(of: fresh.folder.database)
        #expect(try Self.schema(of: store.folder.database) == expected)
        #expect(expected.count > 40)
    }

    @Test(arguments: Opener.allCases)
    func `a migrated store of version 2 keeps its bodies in place, and has the schema of a new one`(
        opener: Opener
    )
        throws
    {
        let store = try StockedFolder()
        let inline = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 3) }
        try store.snapshot([
            store.response("/inline", bytes: inline), store.response("/large", bytes: EarlierStore.large),
        ])
        // The content of a store of version 2, which has no packs, so that all but large bodies are in the database.
        try store.execute(
            """
            UPDATE content SET bytes = x'\(inline.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'
                WHERE body = (SELECT id FROM body WHERE size = 40000);
            \(EarlierStore.ofVersion6)
            ALTER TABLE site DROP COLUMN overlay; ALTER TABLE visit DROP COLUMN base;
            ALTER TABLE body DROP COLUMN pack; ALTER TABLE body DROP COLUMN start;
            ALTER TABLE body DROP COLUMN frame; DROP TABLE pack; DROP TABLE tally;
            CREATE VIEW larder_body AS SELECT 1; PRAGMA user_version = 2;
            """)
        for name in store.scratch.names(in: "store/packs") { store.scratch.remove("store/packs/" + name) }
        try opener.open(store.folder)
        let fresh = try StockedFolder()
        _ = try StoreWriter(fresh.folder)
        #expect(try Self.schema(of: store.folder.database) == Self.schema(of: fresh.folder.database))
        #expect(try store.inspect().isSound)
        let reader = try store.reader()
        let body = try #require(try reader.response(for: "/inline")?.body)
        #expect(try reader.content(of: body) == .bytes(inline))
        #expect(
            try store.column("SELECT DISTINCT substr(place, 1, 6) FROM larder_body ORDER BY 1") == [
                "bodies", "larder",
            ])
        try store.snapshot([
            store.response("/inline", bytes: inline), store.response("/new", bytes: inline + [1]),
        ])
        #expect(store.scratch.names(in: "store/packs").count == 1)
        #expect(try store.inspect().isSound)
    }

    @Test(arguments: Opener.allCases)
    func `the migration of a store of version 1 loses nothing`(opener: Opener) throws {
        try opener.open(store.folder)
        let findings = try store.inspect()
        #expect(findings.isSound)
        #expect(findings.bodiesChecked == 3)
        #expect(findings.orphanBodyCount == 0 && findings.orphanFiles.isEmpty)

        let sites = try store.reader().sites()
        #expect(sites.map(\.name) == ["http://a/", "http://b/"])
        #expect(sites.map(\.start) == [["http://a/", "http://a/b"], ["http://b/"]])
        #expect(sites.map(\.published) == [2, nil])
        #expect(sites.map(\.settings) == ["", ""])
        #expect(sites[0].snapshots.map(\.responseCount) == [4, 2])
        #expect(
            sites[1].snapshots == [Snapshot(id: 3, number: 1, started: 30, finished: nil, responseCount: 3)])

        let reader = try store.reader()
        #expect(try store.text("http://a/") == "second")
        #expect(try store.text("http://a/untyped") == "first")
        #expect(try store.text("http://b/2") == "second")
        let large = try #require(try reader.response(for: "http://a/large"))
        #expect(large.status == 200 && large.role == 1 && large.snapshot == 1 && large.variant.isEmpty)
        #expect(large.request == .get && large.flags.isEmpty && large.requested == 10 && large.fetched == 10)
        #expect(large.fields == "content-type: Image/PNG\r\nETag: \"x\"\r\n")
        let body = try #require(large.body)
        #expect(try reader.content(of: body)?.load() == EarlierStore.large)
        #expect(try reader.links(of: body) == [3])
        #expect(body.md5 == nil && body.title == nil)
        #expect(try reader.response(for: "http://a/gone")?.status == 404)
        #expect(try reader.response(for: "http://a/moved")?.isRedirect == true)
        #expect(
            try store.column("SELECT referrer FROM larder_response WHERE url = 'http://a/gone'") == [
                "http://a/"
            ])
    }

    @Test func `media types are derived from the header fields`() throws {
        _ = try StoreReader(store.folder)
        let types = try store.column(
            "SELECT snapshot || ' ' || url || ' ' || coalesce(type, '-') FROM larder_response ORDER BY 1")
        #expect(
            types == [
                "1 http://a/ text/html", "1 http://a/large image/png", "1 http://a/moved -",
                "1 http://a/untyped -",
                "1 http://b/ text/html", "1 http://b/1 text/plain", "1 http://b/2 text/plain",
                "2 http://a/ text/html", "2 http://a/gone -",
            ])
    }

    @Test func `an interrupted snapshot of version 1 is continued`() throws {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "http://b/", start: ["http://b/"], now: 40)
        #expect(snapshot.id == 3)
        #expect(snapshot.isContinued)
        try writer.add([store.response("http://b/3")], to: snapshot)
        try writer.end(snapshot, .publish(now: 50))
        #expect(try store.site("http://b/")?.snapshots.first?.responseCount == 4)
    }

    @Test func `concurrent readers migrate a store only once`() throws {
        let folder = store.folder
        let failures = Monitor<[String]>([])
        let threads = try (0..<8).map { number in
            try NamedThread.start("reader-\(number)") {
                do throws(StoreError) {
                    let isThere = try StoreReader(folder).response(for: "http://a/") != nil
                    if !isThere { failures.change { $0.append("nothing is there") } }
                } catch {
                    failures.change { $0.append(error.description) }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.change { $0 } == [])
        #expect(try store.inspect().isSound)
    }

    @Test(arguments: Opener.allCases)
    func `a store of version 1 is not migrated while an earlier version writes to it`(opener: Opener) throws {
        let locks = try StoreLocks(store.folder)
        try locks.join {}
        let error = #expect(throws: StoreError.self) { try opener.open(store.folder) }
        #expect(error?.reason == .busy)
        #expect(error?.description.contains("an earlier version of Larder is writing") == true)
        #expect(try version() == ["1"])
        _ = consume locks
        try opener.open(store.folder)
        #expect(try version() == ["\(Schema.version)"])
    }

    @Test(arguments: Opener.allCases)
    func `a store of a newer version is refused with its version`(opener: Opener) throws {
        try store.execute("PRAGMA user_version = \(Schema.version + 1)")
        let before = try Self.schema(of: store.folder.database)
        let error = #expect(throws: StoreError.self) { try opener.open(store.folder) }
        #expect(error?.reason == .unusable)
        #expect(error?.detail.contains("version \(Schema.version + 1)") == true)
        #expect(error?.advice.contains("version of Larder that wrote it") == true)
        #expect(try Self.schema(of: store.folder.database) == before)
    }

    /// Obstacles that make an early and a late step of the migration fail.
    @Test(
        arguments: [
            "CREATE TABLE link (a)", "CREATE TABLE pin (a)", "CREATE TABLE larder_link (a)",
            "CREATE TABLE earlier (a)",
        ], Opener.allCases)
    func `a failed migration leaves version 1 unchanged`(obstacle: String, opener: Opener) throws {
        try store.execute(obstacle)
        let before = try Self.schema(of: store.folder.database)
        let rows = try store.column("SELECT url || visit || status || fields FROM response ORDER BY 1")
        #expect(throws: StoreError.self) { try opener.open(store.folder) }
        #expect(try version() == ["1"])
        #expect(try Self.schema(of: store.folder.database) == before)
        #expect(try store.column("SELECT url || visit || status || fields FROM response ORDER BY 1") == rows)
        #expect(try store.column("PRAGMA integrity_check") == ["ok"])

        let words = obstacle.split(separator: " ")
        try store.execute("DROP \(words[1]) \(words[2])")
        try opener.open(store.folder)
        #expect(try version() == ["\(Schema.version)"])
        #expect(try store.text("http://a/") == "second")
    }
}

/// Stores of earlier versions. The SQL of their tables is a historical record and must never change.
enum EarlierStore {
    /// Statements that turn the current schema back into that of version 9.
    static let ofVersion9 = """
        DROP VIEW IF EXISTS larder_response; DROP VIEW IF EXISTS larder_body; DROP VIEW IF EXISTS larder_link;
        ALTER TABLE site DROP COLUMN snapshots; ALTER TABLE snapshot DROP COLUMN number;
        ALTER TABLE snapshot RENAME TO visit; DROP INDEX snapshot_site; CREATE INDEX visit_site ON visit(site);
        ALTER TABLE response RENAME COLUMN snapshot TO visit; DROP INDEX response_snapshot;
        CREATE INDEX response_visit ON response(visit, role, status, body);
        ALTER TABLE link RENAME COLUMN assets TO requisites;
        ALTER TABLE tally RENAME COLUMN snapshot TO visit; ALTER TABLE tally RENAME COLUMN assets TO requisites;
        """

    /// Statements that also remove the additions of version 9.
    static let ofVersion8 = "\(ofVersion9) ALTER TABLE link DROP COLUMN sum;"

    /// Statements that also remove the additions of version 8.
    static let ofVersion7 = "\(ofVersion8) ALTER TABLE visit DROP COLUMN archive;"

    /// Statements that also remove the additions of version 7.
    static let ofVersion6 = """
        \(ofVersion7) ALTER TABLE response DROP COLUMN confirmed;
        ALTER TABLE visit DROP COLUMN confirmed;
        """

    static let first = Array("first".utf8)
    static let second = Array("second".utf8)
    static let large = (0..<Limits.maxPackedBodyBytes + 5).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// Creates a store with two sites: one with two complete snapshots, and one with a snapshot that was interrupted after
    /// `morePages` pages.
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
        try files.sync()
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
