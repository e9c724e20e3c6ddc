import Database
import Glibc
import TestOrigin
import Testing

@testable import Store

/// SQLite itself takes no path that is longer than 512 bytes.
@Suite struct LongPathTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder

    init() throws {
        scratch = try TemporaryFolder()
        let names = (0..<12).map { "\($0)" + String(repeating: "d", count: 200) }
        folder = StoreFolder(scratch.file(names.joined(separator: "/") + "/store"))
    }

    @Test func `a store in a folder with a long path is written, read and searched`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let body = try NewBody(.bytes(Array("body".utf8)), form: "opaque", links: [], in: folder)
        try writer.add(
            [
                NewResponse(
                    href: "/1", referrer: nil, status: 200, role: 0, fields: "", fetched: 1, body: .new(body))
            ], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        _ = try SearchIndex.openOrCreate(folder)
        try ActivityDatabase(folder).recordMisses([Miss(href: "/2", isPage: false, first: 1, last: 1)])
        let reader = try StoreReader(folder)
        #expect(try reader.response(for: "/1")?.body != nil)
        #expect(try reader.inspect().isSound)
        #expect(try SearchIndex.openIfExists(folder) != nil)
        #expect(try ActivityDatabase.misses(in: folder).count == 1)
        // SQLite writes the log of the database into the same folder.
        #expect(Glibc.access(folder.database + "-wal", F_OK) == 0)
    }

    @Test func `connections by a long path and by a short link to it lock each other out`() throws {
        _ = try StoreWriter(folder)
        let link = scratch.file("link")
        #expect(symlink(folder.path, link) == 0)
        let one = try Connection(folder.database, access: .readWrite)
        let other = try Connection(link + "/larder.db", access: .readWrite)
        other.setBusyTimeout(milliseconds: 1)
        try one.begin()
        let error = #expect(throws: StoreError.self) { try other.begin() }
        #expect(error?.reason == .busy)
        try one.rollBack()
    }
}
