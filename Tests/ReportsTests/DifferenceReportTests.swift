import Reports
import Store
import Testing

@Suite struct DifferenceReportTests {
    /// Visits 1 to 5: two that are complete, one that a server loaded over the second, one of a later run
    /// that was interrupted, and one that is held back.
    private static let visits = [
        Visit(id: 1, started: 10, finished: 11, responseCount: 1),
        Visit(id: 2, started: 20, finished: 21, responseCount: 1),
        Visit(id: 3, started: 30, finished: 31, base: 2, responseCount: 1),
        Visit(id: 4, started: 40, finished: nil, responseCount: 1),
        Visit(id: 5, started: 50, finished: 51, responseCount: 1),
    ]

    private static func site(published: Int64?, overlay: Int64? = nil) -> Site {
        Site(
            id: 1, name: "https://a.test/", start: ["https://a.test/"], visits: visits, published: published,
            overlay: overlay)
    }

    @Test(
        arguments: [
            (2, nil, nil, nil, [1, 2]), (2, 3, nil, nil, [2, 3]), (5, nil, nil, nil, [2, 5]),
            (nil, nil, nil, nil, [2, 5]),
            (2, nil, 4, 1, [4, 1]), (2, nil, nil, 4, [2, 4]), (2, 3, 1, nil, [1, 3]),
        ] as [(Int64?, Int64?, Int64?, Int64?, [Int64])])
    func `as a rule what is served is compared with the complete visit before it`(
        published: Int64?, overlay: Int64?, from: Int64?, to: Int64?, compared: [Int64]
    ) throws {
        let pair = try Self.site(published: published, overlay: overlay).visitsToCompare(from: from, to: to)
        #expect([pair.from.id, pair.to.id] == compared)
    }

    @Test(arguments: [(1, nil, nil), (2, 9, nil), (2, nil, 9)] as [(Int64, Int64?, Int64?)])
    func `a visit that is not there is the asker's mistake`(published: Int64, from: Int64?, to: Int64?) {
        let error = #expect(throws: StoreError.self) {
            try Self.site(published: published).visitsToCompare(from: from, to: to)
        }
        #expect(error?.reason == .request)
    }
}
