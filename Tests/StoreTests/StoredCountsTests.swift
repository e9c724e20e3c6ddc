import Glibc
import TestOrigin
import Testing

@testable import Store

/// The stored counts of responses and bodies, which each change of the store must update.
@Suite struct StoredCountsTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    /// Expects that the stored counts equal the counted rows and, if no writer is open (`isAtRest`), that none are missing.
    private func expectCounts(
        _ folder: StoreFolder? = nil, isAtRest: Bool = true, location: SourceLocation = #_sourceLocation
    ) throws {
        let folder = folder ?? store.folder
        let reader = try StoreReader(folder)
        let counted = try reader.prepare(StoredCounts.countedRows).first(read: StoreSummary.init)
        #expect(try reader.summary() == counted, sourceLocation: location)
        for snapshot in try reader.sites().flatMap(\.snapshots) {
            let rows = try reader.prepare("SELECT count(*) FROM \(Schema.rows(ofSnapshot: "?1")) AS response")
                .first(.integer(snapshot.id)) { Int($0.integer(0)) }
            #expect(snapshot.responseCount == rows, sourceLocation: location)
        }
        #expect(try reader.databaseFaults().isEmpty, sourceLocation: location)
        guard isAtRest, folder.server == nil else { return }
        let isLacking = try reader.prepare(StoredCounts.isLacking).first { $0.integer(0) }
        #expect(isLacking == 0, sourceLocation: location)
    }

    private func page(_ name: String, edition: Int = 0, role: UInt8 = 0) throws -> NewResponse {
        var page = try store.response("http://a/\(name)", "\(name), edition \(edition)")
        page.role = role
        return page
    }

    private func pages(edition: Int = 0) throws -> [NewResponse] {
        [
            try page("1", edition: edition), try page("2", edition: edition), try page("same"),
            try page("needed", role: 1), try store.response("http://a/gone", nil, status: 404),
            try store.response("http://a/moved", nil, status: 301),
        ]
    }

    private func onlySite() throws -> Site { try #require(try store.site()) }

    @Test func `the counts of an empty store and of one with a snapshot are correct`() throws {
        _ = try StoreWriter(store.folder)
        try expectCounts()
        try store.snapshot(pages())
        try expectCounts()
        var expected = StoreSummary()
        (expected.responses, expected.pages, expected.assets, expected.tombstones) = (6, 3, 1, 1)
        (expected.bodies, expected.bytes) = (4, 56)
        #expect(try store.reader().summary() == expected)
    }

    @Test func `a URL stored twice in a snapshot counts once`() throws {
        try store.snapshot(pages(), ending: .keepOpen)
        try store.snapshot([
            page("1", edition: 2), page("needed"), store.response("http://a/2", nil, status: 410),
        ])
        try expectCounts()
        #expect(try store.reader().summary().tombstones == 2)
    }

    @Test func `many bodies are counted in steps`() throws {
        for part in 0..<3 {
            try store.snapshot(
                (0..<Limits.maxUncountedBodies * 2 / 3).map { try page("\(part) \($0)") }, ending: .keepOpen)
            try expectCounts()
        }
        #expect(try store.reader().summary().bodies == Limits.maxUncountedBodies * 2 / 3 * 3)
    }

    @Test func `a snapshot is counted correctly during writing`() throws {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        for part in 1...3 {
            try writer.add([page("\(part)")], to: snapshot)
            _ = try StoreWriter(store.folder)
            try expectCounts()
        }
        try writer.end(snapshot, .publish(now: 2))
        try expectCounts()
    }

    @Test func `a rolled back transaction does not change the counts`() throws {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add(pages(), to: snapshot)
        var bad = try page("bad")
        bad.body = .stored(
            StoredBody(
                id: 77, sha256: [UInt8](repeating: 7, count: 32), form: "x", byteCount: 1, title: nil,
                md5: nil))
        #expect(throws: StoreError.self) { try writer.add([try page("3"), bad], to: snapshot) }
        try writer.add([page("4")], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        try expectCounts()
        #expect(try store.reader().summary().responses == 7)
    }

    @Test(arguments: ["forgotten", "rejected", "so far", "kept open"])
    func `counts are correct after a second snapshot, however it ends`(ending: String) throws {
        try store.snapshot(pages())
        let endings: [String: SnapshotEnding] = [
            "forgotten": .forget, "rejected": .reject(now: 4), "so far": .publishSoFar,
            "kept open": .keepOpen,
        ]
        try store.snapshot(pages(edition: 1), now: 3, ending: try #require(endings[ending]))
        try expectCounts()
    }

    @Test func `counts are correct after an overlay, and after the snapshot that includes it`() throws {
        try store.snapshot(pages())
        let writer = try StoreWriter(store.folder)
        for number in 1...3 {
            let stored = try store.reader().response(for: "http://a/1")
            try writer.addToOverlay(
                page("1", edition: number), replacing: stored, origin: "http://a", host: "a", now: 5)
            try writer.addToOverlay(
                page("new\(number)"), replacing: nil, origin: "http://b", host: "b", now: 5)
            try expectCounts(isAtRest: false)
        }
        #expect(try onlySite().overlay != nil)
        // The next snapshot includes the overlay.
        try store.snapshot(pages(edition: 9), now: 6)
        try expectCounts()
        let open = try writer.begin(site: "s", start: ["s"], now: 10)
        try writer.add([page("2", edition: 10)], to: open)
        let other = try StoreWriter(store.folder)
        try other.addToOverlay(
            page("late"), replacing: try store.reader().response(for: "http://a/1"), origin: "http://a",
            host: "a", now: 11)
        try expectCounts(isAtRest: false)
        try writer.end(open, .publish(now: 12))
        try expectCounts()
        #expect(try store.text("http://a/late") != nil)
    }

    @Test func `counts are correct after dropping a snapshot and after a roll-back`() throws {
        for edition in 1...4 { try store.snapshot(pages(edition: edition), now: Int64(edition * 10)) }
        let snapshots = try onlySite().snapshots.map(\.id)
        let writer = try StoreWriter(store.folder)
        try writer.drop(snapshot: snapshots[0], of: onlySite())
        try expectCounts()
        try writer.publish(snapshot: snapshots[2], of: onlySite())
        try writer.drop(snapshot: snapshots[3], of: onlySite())
        try expectCounts()
    }

    @Test func `counts are correct after URLs and sites were removed`() throws {
        try store.snapshot(pages())
        try store.snapshot(pages(edition: 1), site: "other")
        let writer = try StoreWriter(store.folder)
        #expect(try writer.remove(urlsNamed: "http://a/1") { $0 == "http://a/1" } == 1)
        try expectCounts()
        try writer.remove(onlySite())
        try expectCounts()
        #expect(try writer.collect(CollectionOptions()).removedBodies > 0)
        try expectCounts()
    }

    @Test(arguments: [1.0, 0.6, 0])
    func `counts are correct after a collection with pins, and beside a writer`(share: Double) throws {
        for edition in 1...3 { try store.snapshot(pages(edition: edition), now: Int64(edition * 10)) }
        try store.snapshot((0..<200).map { try page("many\($0)") }, site: "other")
        let writer = try StoreWriter(store.folder)
        try writer.add(Pin(.site, "s"), now: 3)
        let limit = Int64(Double(store.folder.byteCount) * share)
        _ = try writer.collect(
            CollectionOptions(limit: share == 1 ? nil : limit, allowsIncomplete: true))
        try expectCounts()
        try store.snapshot(pages(edition: 5), now: 50)
        try expectCounts()
    }

    @Test(.requiresFolderStore) func `counts are correct after a repair of damaged bodies or rows`() throws {
        try store.snapshot(pages())
        try store.execute(
            "UPDATE content SET bytes = x'00' WHERE body = 1; DELETE FROM url WHERE href = 'http://a/2'")
        let findings = try store.inspect()
        #expect(!findings.isSound)
        try StoreWriter(store.folder).repair(findings)
        try expectCounts()
    }

    @Test(
        .requiresFolderStore,
        arguments: [
            "UPDATE tally SET responses = responses + 1 WHERE snapshot > 0",
            "UPDATE tally SET bytes = 1 WHERE snapshot = 0",
            "INSERT INTO tally (snapshot, pages) VALUES (99, 3)", "DELETE FROM response WHERE status = 404",
            "UPDATE response SET role = 1",
        ])
    func `wrong counts are reported, and corrected by a repair`(damage: String) throws {
        try store.snapshot(pages())
        try store.execute(damage)
        let findings = try store.inspect()
        #expect(findings.databaseFaults.count == 1 && findings.damagedBodies.isEmpty)
        #expect(findings.databaseFaults.first?.hasPrefix("stored counts") == true)
        try StoreWriter(store.folder).repair(findings)
        try expectCounts()
    }

    @Test(.requiresFolderStore, arguments: ["", " WHERE snapshot = 0", " WHERE snapshot > 0"])
    func `missing counts are computed by readers, and stored by the next writer`(which: String)
        throws
    {
        try store.snapshot(pages())
        let before = try store.reader().summary()
        try store.execute("DELETE FROM tally\(which)")
        #expect(try store.reader().summary() == before)
        #expect(try store.site()?.snapshots.map(\.responseCount) == [6])
        #expect(try store.inspect().isSound)
        _ = try StoreWriter(store.folder)
        try expectCounts()
    }

    @Test(.requiresFolderStore) func `counts are correct after a rebuild from the journal`() throws {
        for edition in 1...2 { try store.snapshot(pages(edition: edition), now: Int64(edition * 10)) }
        try store.scratch.write([], to: "store/larder.db")
        for suffix in ["-wal", "-shm"] { store.scratch.remove("store/larder.db" + suffix) }
        #expect(try StoreRebuild.run(store.folder).addresses == 6)
        try expectCounts()
    }

    @Test(.requiresFolderStore, arguments: [false, true])
    func `counts are correct after a copy, to an empty store or a new one`(isThere: Bool) throws {
        for edition in 1...2 { try store.snapshot(pages(edition: edition), now: Int64(edition * 10)) }
        let copy = StoreFolder(store.scratch.file("copy"))
        if isThere { _ = try StoreWriter(copy) }
        _ = try StoreCopy.run(from: store.folder, to: copy)
        try expectCounts(copy)
        #expect(try StoreReader(copy).summary() == store.reader().summary())
    }

    @Test(.requiresFolderStore) func `counts are correct after the migration of a store of version 5`() throws
    {
        try store.snapshot(pages())
        let before = try store.reader().summary()
        try store.execute("\(EarlierStore.ofVersion6) DROP TABLE tally; PRAGMA user_version = 5")
        #expect(try store.reader().summary() == before)
        try expectCounts()
    }
}
