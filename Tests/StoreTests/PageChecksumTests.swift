import Glibc
import TestOrigin
import Testing

@testable import Store

/// SQLite does not notice a flipped bit in a row, but the checksums of database pages reveal it.
@Suite struct PageChecksumTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
        try store.snapshot((0..<200).map { try store.response("http://a.test/\($0)", "page \($0)") })
    }

    private static let pageSize = 16384

    private static func bytes(of path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = pread(file, buffer.baseAddress, size, 0)
            try #require(count == size)
        }
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws {
        let file = open(store.folder.database, O_WRONLY)
        defer { close(file) }
        try #require(pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count)
    }

    /// The texts that readers get for all URLs, with nil for a URL that cannot be read.
    private func texts() -> [String?] {
        (0..<200).map { number in try? store.text("http://a.test/\(number)") }
    }

    @Test(.requiresFolderStore)
    func `a flipped bit in any database page is found, and no wrong content is served`()
        throws
    {
        let sound = try Self.bytes(of: store.folder.database)
        #expect(sound[20] == 8)
        #expect(sound.count > 8 * Self.pageSize)
        let expected = texts()
        #expect(!expected.contains(nil))
        for page in 0..<sound.count / Self.pageSize {
            // A byte in the second half of the page, which contains the rows.
            let offset = page * Self.pageSize + Self.pageSize / 2 + (page &* 7919) % (Self.pageSize / 2 - 8)
            try write([sound[offset] ^ 1], at: offset)
            for (text, expected) in zip(texts(), expected) { #expect(text == nil || text == expected) }
            let findings = try? store.reader().inspect()
            #expect(findings?.isSound != true, "page \(page)")
            try write([sound[offset]], at: offset)
        }
        #expect(texts() == expected)
    }

    @Test(.requiresFolderStore)
    func `a store of an earlier version gets checksums when its database is rewritten`()
        throws
    {
        let old = try StockedFolder()
        try EarlierStore.makeVersion1(in: old.folder, morePages: 500)
        let writer = try StoreWriter(old.folder)
        #expect(try Self.bytes(of: old.folder.database)[20] == 0)
        let before = try old.reader()
        try writer.vacuum()
        #expect(try writer.tryTruncateLog())
        #expect(try Self.bytes(of: old.folder.database)[20] == 8)
        #expect(try before.response(for: "http://a/") != nil)
        #expect(try old.text("http://a/") == "second")
        // A connection that was opened before the vacuum writes checksums too.
        let snapshot = try writer.begin(site: "new", start: ["new"], now: 1)
        try writer.add([old.response("http://new.test/", "new")], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        #expect(try old.text("http://new.test/") == "new")
        #expect(try old.reader().inspect().databaseFaults.isEmpty)
    }

    @Test(.requiresFolderStore) func `a database rewritten by an eviction has checksums`() throws {
        let result = try StoreWriter(store.folder).collect(
            CollectionOptions(limit: store.folder.byteCount / 2, allowsIncomplete: true))
        #expect(result.evictedURLs > 0)
        #expect(try Self.bytes(of: store.folder.database)[20] == 8)
        #expect(try store.reader().inspect().isSound)
    }

    /// Without `-readonly`, `sqlite3` moves the pages of the write-ahead log into the database when it closes it. The log of
    /// a killed run still has pages, and so has a copy of a store that was open.
    @Test(
        .requiresFolderStore, .enabled(if: access("/usr/bin/python3", X_OK) == 0, "python3 is not installed"))
    func `reading by another program does not damage the database`() throws {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 3)
        try writer.add((0..<100).map { try store.response("http://a.test/\($0)", "new \($0)") }, to: snapshot)
        let copy = StoreFolder(store.scratch.file("copy"))
        #expect(try ChildProcess("/bin/cp", ["-a", store.folder.path, copy.path]).wait().status == 0)
        try writer.end(snapshot, .publish(now: 4))
        let before = try Self.bytes(of: copy.database)
        let count = try ChildProcess(
            "/usr/bin/python3",
            [
                "-c",
                """
                import sqlite3, sys
                database = sqlite3.connect(sys.argv[1])
                print(database.execute("SELECT count(*) FROM larder_response").fetchone()[0])
                database.close()
                """, copy.database,
            ]
        ).wait()
        #expect(count.status == 0 && count.output == "300\n", "\(count)")
        #expect(try Self.bytes(of: copy.database) != before)
        #expect(access(copy.database + "-wal", F_OK) != 0)

        #expect(try StoreReader(copy).inspect().isSound)
        // The pages get checksums when they are next written.
        try StoreWriter(copy).vacuum()
        #expect(try StoreReader(copy).inspect().isSound)
    }
}
