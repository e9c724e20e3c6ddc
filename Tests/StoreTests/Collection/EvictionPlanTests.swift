import Testing

@testable import Store

@Suite struct EvictionPlanTests {
    /// `url@lastUse+byteCount:bodies`, pinned with an exclamation mark behind the URL.
    private static func holding(_ text: String) -> EvictionPlan.Holding {
        let parts = text.split { "@+:".contains($0) }.map(String.init)
        let bodies = parts.count > 3 ? parts[3].split(separator: ",").compactMap { Int64($0) } : []
        return EvictionPlan.Holding(
            url: Int64(parts[0].filter { $0 != "!" }) ?? 0, lastUse: Int64(parts[1]) ?? 0,
            isPinned: parts[0].contains("!"), byteCount: Int(parts[2]) ?? 0, bodies: Set(bodies))
    }

    private static let sizes: [Int64: Int] = [1: 100, 2: 200, 3: 300]

    @Test(
        arguments: [
            // Least recently used first, and no more than is needed.
            (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 1, [2]), (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 200, [2]),
            (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 201, [2, 3]),
            (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 9999, [2, 3, 1]), (["1@30+0:1", "2@10+0:2"], 0, []),
            (["1@30+0:1"], -5, []), ([], 10, []),
            // Of equals the one that was found last.
            (["1@5+0:1", "3@5+0:3", "2@5+0:2"], 301, [3, 2]),
            // Never what is pinned, however old and however much is wanted.
            (["1!@1+0:1", "2@10+0:2", "3!@2+0:3"], 9999, [2]), (["1!@1+5:1"], 1, []),
            // A body counts when its last holder goes; one that a pinned URL has never counts.
            (["1@1+0:3", "2@2+0:3", "3@3+0:1"], 1, [1, 2]), (["1!@1+0:3", "2@2+0:3", "3@3+0:1"], 1, [2, 3]),
            (["1@1+10:3", "2@2+0:3"], 10, [1]), (["1@1+0:1,2", "2@2+0:2"], 100, [1]),
            (["1@1+0:1,2", "2@2+0:2"], 101, [1, 2]),
            // What has no body takes room too; a body of unknown size takes none.
            (["1@1+40", "2@2+40", "3@3+40"], 80, [1, 2]), (["1@1+0:9", "2@2+1"], 1, [1, 2]),
        ] as [([String], Int64, [Int64])])
    func `it takes`(holdings: [String], wanted: Int64, expected: [Int64]) {
        let plan = EvictionPlan(holdings.map(Self.holding), sizes: Self.sizes)
        #expect(plan.urls(toFree: wanted) == expected)
    }
}
