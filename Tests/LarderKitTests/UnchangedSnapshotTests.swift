import Store
import TestOrigin
import Testing

@testable import LarderKit

@Suite struct UnchangedSnapshotTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder
    private var site: String { origin.url("/") }

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        origin.on("/", .page("<a href=/two>2</a><a href=/old>o</a><a href=/dead>d</a><img src=/a.png>"))
        origin.on("/two", .page("two"))
        origin.on("/old", .redirect(to: "/two"))
        origin.on("/dead", .failure(404))
        origin.on("/a.png", .file([1, 2, 3], type: "image/png"))
    }

    private func update() async throws -> PrefetchReport { try await larder.prefetch([site]) }

    private var snapshots: [StatusReport.Snapshot] {
        get async throws { try await larder.snapshots(of: site).sites[0].snapshots }
    }

    @Test func `an update that changed nothing adds no snapshot, and records when that was confirmed`()
        async throws
    {
        #expect(try await !update().isUnchanged)
        let before = try await snapshots
        #expect(before.count == 1 && before[0].confirmed == nil)
        for _ in 1...2 {
            let report = try await update()
            #expect(report.isUnchanged && report.isPublished && report.isComplete && report.snapshot == 1)
            let after = try await snapshots
            #expect(after.map(\.name) == [1] && after[0].isLive && after[0].started == before[0].started)
            #expect(after[0].responses == before[0].responses)
            #expect(after[0].confirmed != nil)
        }
        #expect(try StoreReader(larder.folder).inspect().isSound)
        #expect(try await larder.checkOffline(site).isClean)
    }

    @Test(arguments: ["body", "status", "redirect", "new page"])
    func `an update that changed something adds a snapshot with the next number`(change: String) async throws
    {
        _ = try await update()
        _ = try await update()
        switch change {
        case "body": origin.on("/two", .page("2"))
        case "status": origin.on("/two", .failure(404))
        case "redirect": origin.on("/old", .redirect(to: "/dead"))
        default: origin.on("/", .page("<a href=/three>3</a>"))
        }
        let report = try await update()
        #expect(!report.isUnchanged && report.snapshot == 2)
        let after = try await snapshots
        #expect(after.map(\.name) == [1, 2] && after.map(\.isLive) == [false, true])
        #expect(after.map { $0.confirmed != nil } == [true, false])
        let difference = try await larder.diff(of: site)
        #expect(!difference.changed.isEmpty || !difference.added.isEmpty || !difference.gone.isEmpty)
        #expect(try StoreReader(larder.folder).inspect().isSound)
    }

    @Test(arguments: [
        ("Refresh", "5; url=/old"), ("Content-Security-Policy", "img-src 'none'"),
        ("Link", "</x.css>; rel=stylesheet"), ("X-Robots-Tag", "noindex"),
    ])
    func
        `a header that changes what a page shows or loads is a change, and the old snapshot keeps its headers`(
            name: String, value: String
        ) async throws
    {
        _ = try await update()
        origin.on("/two", .page("two").adding(name, value))
        let report = try await update()
        #expect(!report.isUnchanged && report.snapshot == 2)
        let rows = try await larder.describe(origin.url("/two")).responses
        #expect(rows.map(\.snapshot) == [2, 1])
        #expect(rows.map { $0.headers.contains { $0.name == name && $0.value == value } } == [true, false])
        #expect(try await update().isUnchanged)
    }

    @Test func `header fields of the message and changed nonces are no change of content`() async throws {
        func serve(_ number: Int) {
            let policy = "script-src 'nonce-\(number)' 'self'"
            origin.on(
                "/two",
                .page("two").adding("Set-Cookie", "id=\(number)").adding("ETag", "\"\(number)\"").adding(
                    "Content-Security-Policy", policy))
        }
        serve(1)
        _ = try await update()
        serve(2)
        #expect(try await update().isUnchanged)
    }

    @Test func `after a rollback, an update that brings back the newer content adds a snapshot`() async throws
    {
        _ = try await update()
        origin.on("/two", .page("2"))
        _ = try await update()
        _ = try await larder.rollBack(site)
        #expect(try await !update().isUnchanged)
        #expect(try await snapshots.map(\.name) == [1, 2, 3])
    }

    @Test func `a store that is rebuilt from its journal has the same snapshots after an unchanged update`()
        async throws
    {
        _ = try await update()
        _ = try await update()
        let before = try await snapshots.map {
            [$0.name.number, Int64($0.responses), $0.started.secondsSinceEpoch]
        }
        folder.remove("larder/larder.db")
        folder.remove("larder/larder.db-wal")
        folder.remove("larder/larder.db-shm")
        _ = try StoreRebuild.run(larder.folder)
        #expect(
            try await snapshots.map { [$0.name.number, Int64($0.responses), $0.started.secondsSinceEpoch] }
                == before)
        #expect(try StoreReader(larder.folder).inspect().isSound)
    }
}
