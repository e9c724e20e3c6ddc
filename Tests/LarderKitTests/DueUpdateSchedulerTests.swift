import Reports
import System
import TestOrigin
import Testing

@testable import LarderKit
@testable import Store

@Suite struct DueUpdateSchedulerTests {
    private let home: TemporaryFolder
    private let folder: StoreFolder
    private static let site = "https://example.com/"

    init() throws {
        home = try TemporaryFolder()
        folder = StoreFolder(home.file("larder"))
    }

    /// Stores a site that is updated every day, and whose snapshot was completed long ago.
    private func storeSite() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: Self.site, start: [Self.site], now: 1_700_000_000)
        try writer.end(snapshot, .publish(now: 1_700_000_100))
        try writer.storeSchedule(.daily, ofSite: Self.site)
    }

    @Test func `if several processes find a site due at once, only one updates it`() throws {
        try storeSite()
        let begun = Monitor(0)
        let threads = try (0..<8).map { _ in
            try NamedThread.start("begin") { [folder] in
                if (try? Larder.beginScheduledUpdate(Self.site, folder)) == true { begun.change { $0 += 1 } }
            }
        }
        for thread in threads { thread.join() }
        #expect(begun.change { $0 } == 1)
    }

    @Test func `an update that is running is not started again, however long it takes`() throws {
        try storeSite()
        let start: Int64 = 1_800_000_000
        #expect(try Larder.beginScheduledUpdate(Self.site, folder, now: start))
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: Self.site, start: [Self.site], now: start)
        for hours in [1, 5, 30] as [Int64] {
            #expect(try !Larder.beginScheduledUpdate(Self.site, folder, now: start + hours * 3600))
        }
        try writer.end(snapshot, .publish(now: start + 40 * 3600))
        #expect(try Larder.beginScheduledUpdate(Self.site, folder, now: start + 41 * 3600))
    }

    @Test func `schedules are read again after a change, when one is due, and after ten minutes`() {
        let (first, second) = (StoreStamp(figures: [1]), StoreStamp(figures: [2]))
        var clock = ScheduleRereadPolicy()
        #expect(clock.needsReread(at: 0, first))
        clock.didRead(at: 0, first, next: 100)
        let expected: [(at: Int64, stamp: StoreStamp?, isTime: Bool)] = [
            (20, first, false), (20, second, true), (20, nil, true), (99, first, false), (100, first, true),
            (500, first, true), (-1, first, true),
        ]
        for (at, stamp, isTime) in expected { #expect(clock.needsReread(at: at, stamp) == isTime, "\(at)") }
        // Without a schedule, nothing is ever due.
        clock.didRead(at: 100, first, next: nil)
        #expect(!clock.needsReread(at: 699, first))
        #expect(clock.needsReread(at: 100 + ScheduleRereadPolicy.maxAgeSeconds, first))
        clock.didFail()
        #expect(clock.needsReread(at: 101, first))
        // A store without a file, such as one in PostgreSQL, is always read.
        clock.didRead(at: 100, nil, next: nil)
        #expect(clock.needsReread(at: 101, nil))
    }

    @Test func `writing to the database changes its stamp, and reading does not`() throws {
        #expect(folder.stamp == nil)
        try storeSite()
        let before = try #require(folder.stamp)
        _ = try Larder.schedules([], nil, StoreReader(folder))
        #expect(folder.stamp == before)
        try StoreWriter(folder).storeSchedule(nil, ofSite: Self.site)
        #expect(folder.stamp != before)
    }
}
