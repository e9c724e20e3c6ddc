import Database
import Glibc
import TestOrigin
import Testing

@testable import Store

/// The creation of a store, which must be complete or have no effect.
@Suite(.requiresFolderStore) struct StoreCreationTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(scratch.file("store"))
    }

    private func expectNew() throws {
        #expect(!folder.exists)
        #expect(throws: StoreError.self) { try StoreReader(folder) }
        _ = try StoreWriter(folder)
        #expect(folder.exists)
        #expect(try StoreReader(folder).inspect().isSound)
        #expect(scratch.names(in: "store/incoming").isEmpty)
    }

    @Test func `an empty file that a killed run left counts as no store`() throws {
        try folder.create()
        try scratch.write("", to: "store/larder.db")
        try expectNew()
    }

    @Test func `a database without tables that a killed run left counts as no store`() throws {
        try folder.create()
        try Connection(folder.database, access: .readWrite).execute(
            "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL")
        #expect(access(folder.database, F_OK) == 0)
        try expectNew()
    }

    @Test func `a database without tables beside bodies counts as lost`() throws {
        _ = try StoreWriter(folder)
        for suffix in ["", "-wal", "-shm"] { unlink(folder.database + suffix) }
        try scratch.write("body", to: "store/bodies/0123")
        try scratch.write("", to: "store/larder.db")
        let error = #expect(throws: StoreError.self) { try StoreWriter(folder) }
        #expect(error?.reason == .unusable && error?.remedy == .repair)
    }
}
