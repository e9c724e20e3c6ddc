import Store
import Testing

@testable import LarderKit

@Suite struct SnapshotVersionTests {
    /// 2026-11-30, 11:00 in UTC, which is the same day in the time zones from -11 to +12.
    private static let now: Int64 = 1_796_036_400

    @Test(arguments: [("3", SnapshotName(3)), ("3+", SnapshotName(3, isOverlay: true))])
    func `a number is the name of a snapshot`(word: String, name: SnapshotName) {
        #expect(SnapshotVersion(word, now: Self.now) == .name(name))
    }

    @Test func `a day means its end in local time, and a time means itself`() {
        #expect(
            SnapshotVersion("yesterday", now: Self.now) == SnapshotVersion("2026-11-29", now: Self.now))
        #expect(SnapshotVersion("today", now: Self.now) == SnapshotVersion("2026-11-30", now: Self.now))
        guard case .atOrBefore(let end) = SnapshotVersion("2026-11-30", now: Self.now) else {
            Issue.record("no day")
            return
        }
        #expect(end >= Self.now && end < Self.now + 86_400)
        #expect(SnapshotVersion("2026-11-30T11:00:00Z", now: 0) == .atOrBefore(Self.now))
        #expect(SnapshotVersion("latest", now: Self.now) == .live)
        // A year alone is the number of a snapshot.
        #expect(SnapshotVersion("2026", now: Self.now) == SnapshotName("2026").map(SnapshotVersion.name))
    }

    @Test(arguments: [
        "", "0", "-1", "x", "2026-11", "2026-13-40", "29.11.2026", "tomorrow", "Yesterday",
    ])
    func `other words are no version`(word: String) {
        #expect(SnapshotVersion(word, now: Self.now) == nil)
    }
}
