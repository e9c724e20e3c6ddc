import Testing

@testable import Store

@Suite struct KeepRulesTests {
    /// The days of the snapshots, counted from Thursday, 1 January 1970; the last one is a Monday. Snapshots begin at noon.
    private static let days: [Int64] = [0, 3, 4, 5, 10, 11, 11, 17, 18]

    private func kept(_ rules: KeepRules, live: Int = 8, utcOffset: Int64 = 0) -> [Int] {
        let candidates = Self.days.enumerated().map { number, day in
            KeepRules.Candidate(
                id: Int64(number), began: day * 86_400 + 43_200 + Int64(number), isLive: number == live)
        }
        return rules.snapshotsToKeep(of: candidates, now: 18 * 86_400 + 50_000, utcOffset: utcOffset).map(
            Int.init
        )
        .sorted()
    }

    @Test(
        arguments: [
            (KeepRules(), [0, 1, 2, 3, 4, 5, 6, 7, 8]),
            (KeepRules(last: 1), [8]), (KeepRules(last: 3), [6, 7, 8]),
            (KeepRules(last: 99), [0, 1, 2, 3, 4, 5, 6, 7, 8]),
            (KeepRules(daily: 1), [8]), (KeepRules(daily: 4), [4, 6, 7, 8]),
            (KeepRules(weekly: 2), [7, 8]), (KeepRules(weekly: 3), [4, 7, 8]),
            (KeepRules(weekly: 9), [1, 4, 7, 8]),
            (KeepRules(seconds: 7 * 86_400), [7, 8]), (KeepRules(seconds: 1), [8]),
            (KeepRules(last: 2, weekly: 3), [4, 7, 8]),
        ] as [(KeepRules, [Int])])
    func `a snapshot is kept if a rule matches it`(rules: KeepRules, expected: [Int]) {
        #expect(kept(rules) == expected)
    }

    @Test func `a snapshot that an update found unchanged within the time stays`() {
        let day: Int64 = 86_400
        let candidates = [
            KeepRules.Candidate(id: 0, began: day),
            KeepRules.Candidate(id: 1, began: day, confirmed: 25 * day),
            KeepRules.Candidate(id: 2, began: 29 * day, isLive: true),
        ]
        let kept = KeepRules(seconds: 10 * day).snapshotsToKeep(of: candidates, now: 30 * day, utcOffset: 0)
        #expect(kept == [1, 2])
    }

    @Test func `the live snapshot stays in addition if it is not one of the last ones`() {
        #expect(kept(KeepRules(last: 1), live: 2) == [2, 8])
        #expect(kept(KeepRules(last: 2), live: 2) == [2, 7, 8])
        #expect(kept(KeepRules(daily: 1), live: 2) == [2, 8])
    }

    @Test(
        arguments: [
            KeepRules(last: 0), KeepRules(last: -1), KeepRules(last: .min), KeepRules(daily: -1),
            KeepRules(weekly: -1),
            KeepRules(seconds: -1), KeepRules(seconds: .min),
        ])
    func `with a zero or negative rule only the live snapshot stays`(rules: KeepRules) {
        #expect(kept(rules, live: 2) == [2])
    }

    @Test func `days begin at local midnight`() {
        // With 13 hours more, noon is on the next day. Only weeks change: a snapshot of a Sunday belongs to the next week.
        #expect(kept(KeepRules(weekly: 2), utcOffset: 13 * 3600) == [6, 8])
    }
}
