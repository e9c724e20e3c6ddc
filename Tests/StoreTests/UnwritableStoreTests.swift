import Database
import Glibc
import TestOrigin
import Testing

@testable import Store

/// Readers of a store on a disk where SQLite cannot create the files that it needs beside a database.
@Suite(.enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"))
struct UnwritableStoreTests {
    enum Obstacle: CaseIterable {
        case fullDisk, readOnlyDisk
    }

    private let disk: Tmpfs
    private let folder: StoreFolder

    init() throws {
        disk = try Tmpfs(byteCount: 4_000_000)
        folder = StoreFolder(disk.path + "/store")
    }

    private func add(_ number: Int, to writer: StoreWriter) throws(StoreError) {
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let body = try NewBody(.bytes(Array("body \(number)".utf8)), form: "opaque", links: [], in: folder)
        try writer.add(
            [
                NewResponse(
                    href: "/\(number)", referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                    body: .new(body))
            ], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
    }

    @Test func `a write to a read-only disk proposes a copy of the store`() throws {
        try add(1, to: StoreWriter(folder))
        try disk.makeReadOnly()
        let error = #expect(throws: StoreError.self) { _ = try StoreWriter(folder) }
        #expect(error?.advice == "copy the store to a place where you may write, with: larder store copy")
    }

    private func makeUnwritable(_ obstacle: Obstacle) throws {
        switch obstacle {
        case .fullDisk: try disk.fill()
        case .readOnlyDisk: try disk.makeReadOnly()
        }
    }

    private func text(_ number: Int, in folder: StoreFolder) throws -> String? {
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: "/\(number)")?.body else { return nil }
        return try reader.content(of: body).map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    @Test(arguments: Obstacle.allCases)
    func `an unwritable store without an open connection is readable`(obstacle: Obstacle) throws {
        try add(1, to: StoreWriter(folder))
        _ = try SearchIndex.openOrCreate(folder)
        try ChannelDatabase(folder).change(.init(app: "shop", channel: "beta")) { _ in .init("state") }
        try makeUnwritable(obstacle)
        // The second reader may find files that the first one has tried to create.
        for _ in 1...2 {
            #expect(try text(1, in: folder) == "body 1")
            #expect(try folder.condition().version == Schema.version)
            #expect(try SearchIndex.openIfExists(folder) != nil)
            #expect(try ActivityDatabase.misses(in: folder).isEmpty)
            #expect(try ChannelDatabase.openIfExists(folder)?.channels().map(\.state) == ["state"])
        }
    }

    @Test(arguments: Obstacle.allCases)
    func `an unwritable store whose last run was killed is read with its write-ahead log`(
        obstacle: Obstacle
    ) throws {
        try add(1, to: StoreWriter(folder))
        let killed = StoreFolder(disk.path + "/killed")
        try leaveLog(of: folder, in: killed)
        try makeUnwritable(obstacle)
        let log = StoreFolder.byteCount(of: killed.database + "-wal")
        for _ in 1...2 {
            let reader = try StoreReader(killed)
            #expect(try reader.response(for: "/1")?.status == 203)
            #expect(!reader.isOutdated)
        }
        // The log is unchanged, so that a later writer finds all commits.
        #expect(StoreFolder.byteCount(of: killed.database + "-wal") == log)
    }

    /// Copies a store as a crash of the machine leaves it: with a change in the write-ahead log, and without the log's index.
    private func leaveLog(of folder: StoreFolder, in killed: StoreFolder) throws {
        let connection = try Connection(folder.database, access: .readWrite)
        try connection.execute("UPDATE response SET status = 203")
        let copy = try ChildProcess("/bin/cp", ["-a", folder.path, killed.path]).wait()
        #expect(copy.status == 0, "\(copy)")
        #expect(unlink(killed.database + "-shm") == 0)
        #expect(StoreFolder.byteCount(of: killed.database + "-wal") > 0)
    }

    @Test func `a reader knows that it is outdated after a later write`() throws {
        try add(1, to: StoreWriter(folder))
        try disk.fill()
        let reader = try StoreReader(folder)
        #expect(!reader.isOutdated)
        try disk.free()
        let writer = try StoreWriter(folder)
        #expect(reader.isOutdated)
        try add(2, to: writer)
        #expect(try text(2, in: folder) == "body 2")
        #expect(try !StoreReader(folder).isOutdated)
    }

    @Test func `a reader notices a short run that left no files`() throws {
        try add(1, to: StoreWriter(folder))
        try disk.fill()
        let reader = try StoreReader(folder)
        try disk.free()
        try add(2, to: StoreWriter(folder))
        #expect(reader.isOutdated)
    }
}
