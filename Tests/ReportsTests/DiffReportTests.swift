import Reports
import Store
import Testing

@Suite struct DiffReportTests {
    /// Snapshots 1, 2, 2+ (the overlay on 2), 3 (interrupted) and 4.
    private static let snapshots = [
        Snapshot(id: 1, number: 1, started: 10, finished: 11, responseCount: 1),
        Snapshot(id: 2, number: 2, started: 20, finished: 21, responseCount: 1),
        Snapshot(id: 3, number: 2, started: 30, finished: 31, base: 2, responseCount: 1),
        Snapshot(id: 4, number: 3, started: 40, finished: nil, responseCount: 1),
        Snapshot(id: 5, number: 4, started: 50, finished: 51, responseCount: 1),
    ]

    private static func site(published: Int64?, overlay: Int64? = nil) -> Site {
        Site(
            id: 1, name: "https://a.test/", start: ["https://a.test/"], snapshots: snapshots,
            published: published,
            overlay: overlay)
    }

    @Test(
        arguments: [
            (2, nil, nil, nil, [1, 2]), (2, 3, nil, nil, [2, 3]), (5, nil, nil, nil, [2, 5]),
            (nil, nil, nil, nil, [2, 5]),
            (2, nil, 3, 1, [4, 1]), (2, nil, nil, 3, [2, 4]), (2, 3, 1, nil, [1, 3]),
        ] as [(Int64?, Int64?, SnapshotName?, SnapshotName?, [Int64])])
    func `by default the live snapshot is compared with the complete snapshot before it`(
        published: Int64?, overlay: Int64?, from: SnapshotName?, to: SnapshotName?, compared: [Int64]
    ) throws {
        let pair = try Self.site(published: published, overlay: overlay).snapshotsToCompare(
            from: from, to: to)
        #expect([pair.from.id, pair.to.id] == compared)
    }

    @Test(
        arguments: [(1, nil, nil), (2, 9, nil), (2, nil, 9), (2, nil, SnapshotName(1, isOverlay: true))]
            as [(Int64, SnapshotName?, SnapshotName?)])
    func `comparing a snapshot that does not exist is a request error`(
        published: Int64, from: SnapshotName?, to: SnapshotName?
    ) {
        let error = #expect(throws: StoreError.self) {
            try Self.site(published: published).snapshotsToCompare(from: from, to: to)
        }
        #expect(error?.reason == .request)
    }
}
