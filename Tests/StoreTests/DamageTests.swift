import Glibc
import System
import TestOrigin
import Testing

@testable import Store

/// Stores whose files other programs or the disk have changed. Damaged content must be found, never be served as if it
/// were correct, and be fetched again.
@Suite struct DamageTests {
    private let store: StockedFolder
    private static let large = [UInt8](repeating: 7, count: Limits.maxPackedBodyBytes + 1)
    /// A text that occurs only once in the database file, so that tests can find and damage it.
    private static let needle = "the quick brown needle"

    init() throws {
        store = try StockedFolder()
        try snapshot()
    }

    private func snapshot() throws {
        try store.snapshot([
            store.response("/small", Self.needle), store.response("/same", Self.needle),
            store.response("/other", "other"), store.response("/large", bytes: Self.large),
            store.response("/gone", nil, status: 404),
        ])
    }

    private var bodyFile: String { "store/bodies/" + (store.scratch.names(in: "store/bodies").first ?? "") }

    private func repair() throws { try StoreWriter(store.folder).repair(store.inspect()) }

    /// The URLs, out of four, whose bodies readers get.
    private func readableURLs() throws -> [String] {
        try ["/small", "/same", "/other", "/large"].filter { href in
            let reader = try store.reader()
            return try reader.response(for: href)?.body.flatMap(reader.content) != nil
        }
    }

    /// Changes the bits of one byte of a file.
    private static func flip(_ path: String, at place: Int, bits: UInt8) throws {
        let file = open(path, O_RDWR | O_CLOEXEC)
        defer { close(file) }
        var byte: UInt8 = 0
        guard pread(file, &byte, 1, off_t(place)) == 1 else { throw TestError("reading \(path)") }
        byte ^= bits
        guard pwrite(file, &byte, 1, off_t(place)) == 1 else { throw TestError("writing \(path)") }
    }

    private static func bytes(of path: String) throws -> [UInt8] { try BodyContent.file(path: path).load() }

    /// The journal contains the bytes of small bodies, so that a rebuild restores them.
    @Test(.requiresFolderStore, arguments: [true, false])
    func `a changed byte of a body in the database is found, and repaired as far as possible`(
        hasJournal: Bool
    ) throws {
        let database = try Self.bytes(of: store.folder.database)
        let needle = Array(Self.needle.utf8)
        let place = try #require(database.indices.first { database[$0...].starts(with: needle) })
        try Self.flip(store.folder.database, at: place + 5, bits: 0x20)
        if !hasJournal { for file in store.folder.journalFiles { unlink(file) } }
        let findings = try store.inspect()
        #expect(!findings.databaseFaults.isEmpty && findings.isRebuildNeeded == hasJournal)
        #expect(findings.damagedBodies.map(\.hrefs) == [["/same", "/small"]])
        #expect(findings.damagedBodies.map(\.fault) == ["its bytes have changed"])
        #expect(try StoreRebuild.run(store.folder).lostBodies == (hasJournal ? 0 : 1))
        #expect(try store.inspect().isSound)
        let others = ["/other", "/large"]
        #expect(try readableURLs() == (hasJournal ? ["/small", "/same"] + others : others))
        // The next prefetch restores it.
        try snapshot()
        #expect(try store.text("/small") == Self.needle)
        #expect(try store.inspect().isSound)
    }

    @Test(.requiresFolderStore) func `a missing journal is noticed and rewritten`() throws {
        for file in store.folder.journalFiles { unlink(file) }
        let findings = try store.inspect()
        #expect(!findings.isSound && findings.journalFaults.count == 2 && findings.databaseFaults == [])
        try repair()
        #expect(try store.inspect().isSound)
        for suffix in ["", "-wal", "-shm"] { unlink(store.folder.database + suffix) }
        _ = try StoreRebuild.run(store.folder)
        #expect(try readableURLs() == ["/small", "/same", "/other", "/large"])
    }

    @Test(.requiresFolderStore) func `a flipped bit of the journal is noticed, unless it affects no data`()
        throws
    {
        let file = try #require(store.folder.journalFiles.first)
        let bytes = try Self.bytes(of: file)
        let copy = StoreFolder(store.scratch.file("copy"))
        var random = TestRandom(seed: 42)
        for _ in 0..<40 {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            try Self.flip(file, at: place, bits: 1 << UInt8.random(in: 0..<8, using: &random))
            if try store.inspect().isSound {
                // A database that is rebuilt from the journal alone has all responses.
                Folder.remove(copy.path)
                #expect(
                    system("cp -r '\(store.folder.path)' '\(copy.path)'; rm -f '\(copy.path)'/larder.db*")
                        == 0)
                _ = try StoreRebuild.run(copy)
                #expect(try StoreReader(copy).summary().responses == 5, "byte \(place)")
            }
            try store.scratch.write(bytes, to: "store/journal/" + String(file.suffix(16)))
        }
        #expect(try store.inspect().isSound)
    }

    @Test(
        .requiresFolderStore,
        arguments: [
            "UPDATE response SET fields = 'Content-Type: text/plaim' WHERE status = 200",
            "UPDATE response SET status = 204 WHERE status = 200",
            "UPDATE url SET href = '/othes' WHERE href = '/other'",
            "UPDATE body SET form = 'html;utf-9'",
            "DELETE FROM response WHERE status = 404; INSERT INTO response SELECT url, 7, 'x', '', 404, 0, 0, 1, 1, NULL, NULL, NULL, '', 0 FROM response WHERE status = 200 LIMIT 1",
        ])
    func `a row that differs from the journal is noticed and restored`(change: String) throws {
        let rows =
            "SELECT href || status || fields || form FROM response JOIN url ON url.id = url LEFT JOIN body ON body.id = body WHERE href <> '/othes' ORDER BY 1"
        let before = try store.column(rows)
        try store.execute(change)
        let findings = try store.inspect()
        #expect(
            !findings.databaseFaults.isEmpty && findings.isRebuildNeeded || change.hasPrefix("DELETE"),
            "\(findings)")
        _ = try StoreRebuild.run(store.folder)
        #expect(Set(try store.column(rows)).isSuperset(of: before))
    }

    enum FileDamage: CaseIterable {
        case truncated, removed, emptied, longer
    }

    @Test(.requiresFolderStore, arguments: FileDamage.allCases)
    func `a truncated body file is not served, even before an inspection`(damage: FileDamage) throws {
        switch damage {
        case .truncated: try store.scratch.write(Array(Self.large.dropLast()), to: bodyFile)
        case .removed: store.scratch.remove(bodyFile)
        case .emptied: try store.scratch.write([], to: bodyFile)
        case .longer: try store.scratch.write(Self.large + [7], to: bodyFile)
        }
        #expect(try readableURLs() == ["/small", "/same", "/other"])
        #expect(try store.inspect().damagedBodies.map(\.hrefs) == [["/large"]])
        // A prefetch that fetches the same body restores it without a repair.
        try snapshot()
        #expect(try readableURLs().contains("/large"))
        #expect(try store.inspect().isSound)
    }

    @Test(.requiresFolderStore) func `a damaged file is quarantined, and its responses are fetched again`()
        throws
    {
        try Self.flip(store.scratch.file(bodyFile), at: 100, bits: 1)
        let damaged = try Self.bytes(of: store.scratch.file(bodyFile))
        #expect(try store.inspect().damagedBodies.map(\.fault) == ["its bytes have changed"])
        try repair()
        #expect(store.scratch.names(in: "store/bodies").isEmpty)
        let kept = try #require(store.scratch.names(in: "store/quarantine").first)
        #expect(try Self.bytes(of: store.scratch.file("store/quarantine/" + kept)) == damaged)
        #expect(try store.reader().response(for: "/large") == nil)
        try snapshot()
        #expect(try readableURLs().contains("/large"))
        #expect(try store.inspect().isSound)
        // The same body, damaged again, replaces the file in quarantine.
        try Self.flip(store.scratch.file(bodyFile), at: 200, bits: 1)
        try repair()
        #expect(store.scratch.names(in: "store/quarantine") == [kept])
    }

    @Test(.requiresFolderStore)
    func `an inspection repairs nothing and removes no orphan while another process writes`()
        throws
    {
        try store.scratch.write("stray", to: "store/bodies/stray")
        store.scratch.remove(bodyFile == "store/bodies/stray" ? bodyFile : "nothing")
        let findings = try store.inspect()
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "other", start: ["other"], now: 1)
        let error = #expect(throws: StoreError.self) { try StoreWriter(store.folder).repair(findings) }
        #expect(error?.reason == .busy)
        // The body file is written before its row, so that a repair would take it for an orphan.
        try writer.add([store.response("/new", bytes: Self.large.map { $0 ^ 1 })], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        _ = consume writer
        try StoreWriter(store.folder).repair(findings)
        #expect(try store.inspect().orphanFiles.isEmpty)
        #expect(try store.inspect().isSound)
        #expect(try store.reader().response(for: "/new") != nil)
    }

    @Test(
        arguments: [
            ("DELETE FROM body WHERE size = 5", ["/small", "/same", "/large"]),
            (
                "DELETE FROM content WHERE body = (SELECT id FROM body WHERE size = 5)",
                ["/small", "/same", "/large"]
            ),
            ("DELETE FROM url WHERE href = '/other'", ["/small", "/same", "/large"]),
            ("DELETE FROM snapshot", []),
            ("DELETE FROM site", []),
            ("UPDATE site SET published = 99", ["/small", "/same", "/other", "/large"]),
            ("UPDATE response SET referrer = 99", ["/small", "/same", "/other", "/large"]),
            (
                "INSERT INTO link VALUES (1, 99, '', '', '', NULL), (99, 1, '', '', '', NULL)",
                ["/small", "/same", "/other", "/large"]
            ),
            ("INSERT INTO content VALUES (99, x'', x'')", ["/small", "/same", "/other", "/large"]),
            ("UPDATE body SET sha256 = x'00' WHERE size = 5", ["/small", "/same", "/large"]),
            ("UPDATE body SET size = 6 WHERE size = 5", ["/small", "/same", "/large"]),
        ])
    func `rows that refer to missing rows are found and removed`(damage: String, left: [String]) throws {
        try store.execute(damage)
        #expect(try !store.inspect().isSound)
        try repair()
        let findings = try store.inspect()
        #expect(findings.isSound, "\(findings)")
        #expect(try readableURLs() == left)
        try snapshot()
        #expect(try readableURLs() == ["/small", "/same", "/other", "/large"])
    }

    @Test(.requiresFolderStore) func `an index that lacks an entry is found and rebuilt`() throws {
        // Restores the index as it was before the last row, as a lost write would leave it.
        try store.execute(
            """
            PRAGMA writable_schema = ON;
            CREATE TABLE aside (sql TEXT, root INTEGER);
            INSERT INTO aside SELECT sql, rootpage FROM sqlite_schema WHERE name = 'response_body';
            DELETE FROM sqlite_schema WHERE name = 'response_body';
            """)
        try store.execute("DELETE FROM response WHERE status = 404")
        try store.execute(
            """
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_schema SELECT 'index', 'response_body', 'response', root, sql FROM aside;
            DELETE FROM aside;
            """)
        #expect(try store.inspect().databaseFaults.count > 0)
        try repair()
        #expect(try store.inspect().isSound)
        #expect(try readableURLs() == ["/small", "/same", "/other", "/large"])
    }

    @Test(.requiresFolderStore, arguments: 0..<6)
    func
        `after a change of any byte of the database, readers see correct content or an inspection reports damage`(
            seed: UInt64
        ) throws
    {
        let whole = try Self.bytes(of: store.folder.database)
        var random = TestRandom(seed: seed)
        for _ in 0..<25 {
            let place = Int.random(in: whole.indices, using: &random)
            var changed = whole
            changed[place] ^= UInt8.random(in: 1...255, using: &random)
            try store.scratch.write(changed, to: "store/larder.db")
            do throws(StoreError) {
                let reader = try StoreReader(store.folder)
                let isSound = try reader.inspect().isSound
                guard isSound else { continue }
                for (href, text) in [("/small", Self.needle), ("/other", "other")] {
                    guard let body = try reader.response(for: href)?.body,
                        let content = try reader.content(of: body)
                    else { continue }
                    #expect(String(decoding: try content.load(), as: UTF8.self) == text, "byte \(place)")
                }
            } catch {
                #expect(
                    [.unusable, .missing, .failed, .denied].contains(error.reason), "byte \(place): \(error)")
            }
        }
    }
}
