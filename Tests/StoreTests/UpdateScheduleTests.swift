import System
import TestOrigin
import Testing

@testable import Store

@Suite struct UpdateScheduleTests {
    @Test(
        arguments: [
            ("hourly", 3600, "hourly"), ("daily", 86_400, "daily"), ("weekly", 604_800, "weekly"),
            ("6h", 21_600, "6h"), ("every 6h", 21_600, "6h"), ("every day", 86_400, "daily"),
            ("24h", 86_400, "daily"),
            ("90m", 5400, "90m"), ("10m", 600, "10m"), ("2w", 1_209_600, "2w"), ("3d", 259_200, "3d"),
            ("Daily", 86_400, "daily"), ("601s", 601, "601s"), ("365d", 31_536_000, "365d"),
            ("9m", nil, ""), ("0h", nil, ""), ("-1h", nil, ""), ("400d", nil, ""), ("off", nil, ""),
            ("", nil, ""),
            ("every", nil, ""), ("h", nil, ""), ("6 h", nil, ""), ("6hours", nil, ""),
            ("9223372036854775807w", nil, ""),
            ("1.5h", nil, ""), ("example.com", nil, ""), ("+6h", nil, ""),
        ] as [(String, Int64?, String)])
    func `an interval is parsed from words or a duration`(text: String, seconds: Int64?, written: String) {
        let schedule = UpdateSchedule(text)
        #expect(schedule?.seconds == seconds)
        if let schedule {
            #expect(schedule.text == written)
            #expect(UpdateSchedule(schedule.text) == schedule)
        }
    }

    @Test(
        arguments: [
            ("", .daily, #"{"schedule":"daily"}"#), ("{}", nil, "{}"), ("", nil, ""),
            (#"{"scope":"path","depth":2}"#, .weekly, #"{"scope":"path","depth":2,"schedule":"weekly"}"#),
            (
                #"{"schedule":"daily","x":{"schedule":"a"}}"#, .hourly,
                #"{"x":{"schedule":"a"},"schedule":"hourly"}"#
            ),
            (#"{"scope":"path","schedule":"daily"}"#, nil, #"{"scope":"path"}"#),
            ("nonsense", .daily, "nonsense"),
        ] as [(String, UpdateSchedule?, String)])
    func `the schedule is stored in the settings of a site, and other settings stay`(
        settings: String, schedule: UpdateSchedule?, expected: String
    ) {
        #expect(UpdateSchedule.settings(settings, with: schedule) == expected)
    }

    @Test func `an update is due about once per interval, at varying times for each site`() {
        var offsets: Set<Int64> = []
        for site in 0..<20 {
            for began in [0, 86_400] as [Int64] {
                let next = UpdateSchedule.daily.next(of: "\(site)", since: (began, began + 500), nil)
                #expect(abs(next - began - 86_400) <= 900)
                #expect(next == UpdateSchedule.daily.next(of: "\(site)", since: (began, began + 500), nil))
                offsets.insert(next - began)
            }
        }
        #expect(offsets.count > 30)
        #expect(UpdateSchedule.daily.next(of: "a", since: nil, nil) == 0)
    }

    @Test
    func `a failed update is retried after ten minutes, then with doubled delays, never later than due`() {
        let waits: [Int64] = (1...12).map { count in
            UpdateSchedule.daily.next(
                of: "a", since: (0, 500), UpdateAttempt(at: 1_000_000, count: Int64(count))) - 1_000_000
        }
        for (wait, expected) in zip(
            waits, [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 86_400, 86_400])
        {
            #expect(abs(wait - Int64(expected)) <= Int64(expected) / 10, "\(waits)")
        }
        // After a completed update, the interval counts from its beginning.
        let next = UpdateSchedule.daily.next(
            of: "a", since: (1_000_001, 1_000_100), UpdateAttempt(at: 1_000_000, count: 3))
        #expect(abs(next - 1_086_401) <= 900)
        #expect(UpdateSchedule.hourly.next(of: "a", since: nil, UpdateAttempt(at: 0, count: .max)) <= 3960)
    }

    @Test func `a run keeps the schedule that was set while it ran`() throws {
        let store = try StockedFolder()
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "https://a.test/", start: ["https://a.test/"], now: 10)
        try writer.storeSettings(#"{"scope":"path"}"#, of: snapshot)
        try StoreWriter(store.folder).storeSchedule(.weekly, ofSite: "https://a.test/")
        try writer.storeSettings(#"{"depth":3}"#, of: snapshot)
        try writer.end(snapshot, .publish(now: 20))
        try writer.storeSettings(#"{"depth":4}"#, ofSite: "https://a.test/")
        func site() throws -> Site { try #require(try StoreReader(store.folder).sites().first) }
        #expect(try site().schedule == .weekly)
        #expect(try site().settings == #"{"depth":4,"schedule":"weekly"}"#)
        #expect(try abs(site().nextUpdate(after: nil) ?? 0 - 604_810) <= 604_810 + 900)
        try writer.storeSchedule(nil, ofSite: "https://a.test/")
        #expect(try site().settings == #"{"depth":4}"#)
        #expect(try site().nextUpdate(after: nil) == nil)
    }

    @Test func `only one of several processes that find a site due begins an update`() throws {
        let store = try StockedFolder()
        let folder = store.folder
        _ = try StoreWriter(folder)
        let winners = Monitor(0)
        for (round, known) in [nil, UpdateAttempt(at: 100, count: 1)].enumerated() {
            let threads = try (0..<6).map { number in
                try NamedThread.start("due-\(number)") {
                    let attempt = UpdateAttempt(at: Int64(100 * (round + 1)), count: Int64(round + 1))
                    if (try? ActivityDatabase(folder).begin(attempt, of: "a", after: known)) == true {
                        winners.change { $0 += 1 }
                    }
                }
            }
            for thread in threads { thread.join() }
            #expect(winners.change { $0 } == round + 1)
        }
        #expect(try ActivityDatabase(folder).attempts() == ["a": UpdateAttempt(at: 200, count: 2)])
        #expect(try !ActivityDatabase(folder).begin(UpdateAttempt(at: 300, count: 1), of: "a", after: nil))
    }
}
