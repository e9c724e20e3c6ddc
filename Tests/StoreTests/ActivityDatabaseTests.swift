import Database
import System
import TestOrigin
import Testing

@testable import Store

@Suite struct ActivityDatabaseTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
        try store.folder.create()
        if TestStore.isPostgreSQL { _ = try StoreWriter(store.folder) }
    }

    @Test func `the latest use counts, in whatever order uses are recorded`() throws {
        let activity = try ActivityDatabase(store.folder)
        try activity.recordServed([(1, 10), (2, 20), (1, 5)])
        try activity.recordServed([(2, 30), (3, 1)])
        try activity.recordServed([(2, 25)])
        #expect(try activity.servedTimes() == [1: 10, 2: 30, 3: 1])
        try activity.deleteServedTimes(ofURLs: [2, 7])
        #expect(try ActivityDatabase(store.folder).servedTimes() == [1: 10, 3: 1])
    }

    @Test func `a page that was read has the snapshot and the time of the last reading`() throws {
        let activity = try ActivityDatabase(store.folder)
        func reading(_ url: Int64, _ snapshot: Int64?, _ at: Int64) -> Reading {
            Reading(url: url, snapshot: snapshot, at: at)
        }
        try activity.recordReadings([reading(1, nil, 10), reading(2, 5, 20)])
        try activity.recordReadings([reading(1, 6, 30), reading(2, nil, 15), reading(3, nil, 25)])
        let last = [reading(1, 6, 30), reading(3, nil, 25), reading(2, 5, 20)]
        #expect(try activity.lastReadings(atMost: 9) == last)
        #expect(try activity.lastReadings(atMost: 2) == Array(last.prefix(2)))
        try activity.deleteServedTimes(ofURLs: [3])
        #expect(try ActivityDatabase(store.folder).lastReadings(atMost: 9).map(\.url) == [1, 2])
        let many = (1...Int64(ActivityDatabase.maxReadings)).map { reading(100 + $0, nil, 100 + $0) }
        try activity.recordReadings(many)
        let kept = try activity.lastReadings(atMost: 9_999)
        #expect(kept.count == ActivityDatabase.maxReadings && kept.map(\.url).min() == 101)
    }

    @Test(.requiresFolderStore)
    func `URLs that an earlier version served count once as read`() throws {
        let earlier = try Connection(store.folder.activityDatabase, access: .readWrite)
        try earlier.execute(
            """
            CREATE TABLE served (url INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
            INSERT INTO served VALUES (1, 10), (2, 20);
            """)
        let activity = try ActivityDatabase(store.folder)
        let last = [Reading(url: 2, snapshot: nil, at: 20), Reading(url: 1, snapshot: nil, at: 10)]
        #expect(try activity.lastReadings(atMost: 9) == last)
        try activity.recordServed([(3, 30)])
        #expect(try ActivityDatabase(store.folder).lastReadings(atMost: 9) == last)
    }

    @Test func `figures of removed snapshots are removed when others are stored`() throws {
        _ = try StoreWriter(store.folder)
        func figure(_ snapshot: Int64, _ value: String) -> SnapshotFigure {
            SnapshotFigure(of: snapshot, kind: "tally", key: "1 2", value: value)
        }
        ActivityDatabase.store([figure(1, "a"), figure(2, "b")], keepingOnly: [1, 2], in: store.folder)
        ActivityDatabase.store([figure(2, "c"), figure(3, "d")], keepingOnly: [2, 3], in: store.folder)
        let expected = TestStore.isPostgreSQL ? [] : [figure(2, "c"), figure(3, "d")]
        #expect(ActivityDatabase.figures(in: store.folder) == expected)
    }

    @Test func `threads and processes record uses at the same time, from the creation of the database on`()
        throws
    {
        let folder = store.folder
        let failures = Monitor<[String]>([])
        let children = try (0..<3).map { try Child("note", store.place, "\(100 + $0)") }
        let threads = try (0..<5).map { number in
            try NamedThread.start("notes-\(number)") {
                do throws(StoreError) {
                    let activity = try ActivityDatabase(folder)
                    for round in 0..<20 as Range<Int64> {
                        try activity.recordServed(
                            (0..<10).map { ($0, Int64(number) + round) } + [
                                (Int64(number + 50), round)
                            ])
                    }
                } catch {
                    failures.change { $0.append(error.description) }
                }
            }
        }
        for thread in threads { thread.join() }
        for child in children {
            let ending = child.wait()
            #expect(ending.status == 0, "\(ending.errors)")
        }
        #expect(failures.change { $0 } == [])
        var expected: [Int64: Int64] = [:]
        for url in 0..<10 as Range<Int64> { expected[url] = 23 }
        for number in 0..<5 as Range<Int64> { expected[number + 50] = 19 }
        for number in 100..<103 as Range<Int64> { expected[number] = 19 }
        #expect(try ActivityDatabase(folder).servedTimes() == expected)
    }

    private static func miss(_ href: String, from: ResponseFlags = [], origin: String? = nil) -> Miss {
        Miss(href: href, isPage: false, from: from, origin: origin, first: 1, last: 1)
    }

    /// The misses are recorded in one call or one after the other.
    @Test(
        arguments: [
            ([], [.fromThisMachine], .fromThisMachine), ([.fromThisMachine], [], .fromThisMachine),
            ([.fromPrivateNetwork], [.fromThisMachine], .fromThisMachine),
            ([.fromPrivateNetwork], [], .fromPrivateNetwork), ([], [.isPart], []),
        ] as [(ResponseFlags, ResponseFlags, ResponseFlags)], [true, false])
    func `a URL missed by several requesters is fetched with the widest permission among them`(
        case: (first: ResponseFlags, second: ResponseFlags, expected: ResponseFlags), isAtOnce: Bool
    ) throws {
        let activity = try ActivityDatabase(store.folder)
        let misses = [
            Self.miss("http://a/", from: `case`.first), Self.miss("http://a/", from: `case`.second),
        ]
        if isAtOnce {
            try activity.recordMisses(misses)
        } else {
            for miss in misses { try activity.recordMisses([miss]) }
        }
        #expect(try activity.misses().map(\.from) == [`case`.expected])
        #expect(try activity.misses().map(\.count) == [2])
        var joined = misses[0]
        joined.add(misses[1])
        #expect(try activity.misses() == [joined])
    }

    @Test func `the last origin that sent a CORS request is stored`() throws {
        let activity = try ActivityDatabase(store.folder)
        for origin in [nil, "https://a.test", "https://b.test", nil] {
            try activity.recordMisses([Self.miss("http://a/", origin: origin)])
        }
        #expect(try activity.misses().map(\.origin) == ["https://b.test"])
    }

    @Test(.requiresFolderStore)
    func `a miss recorded by an earlier version counts as a request from a public page`()
        throws
    {
        let earlier = try Connection(store.folder.activityDatabase, access: .readWrite)
        try earlier.execute(
            """
            CREATE TABLE miss (
                href TEXT NOT NULL, method TEXT NOT NULL, referrer TEXT, page INTEGER NOT NULL, count INTEGER NOT NULL,
                first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (href, method)
            ) STRICT, WITHOUT ROWID;
            INSERT INTO miss VALUES ('http://127.0.0.1/x', 'GET', 'http://a/', 1, 3, 4, 5);
            """)
        let activity = try ActivityDatabase(store.folder)
        let noted = Miss(
            href: "http://127.0.0.1/x", referrer: "http://a/", isPage: true, from: [], count: 3, first: 4,
            last: 5)
        #expect(try activity.misses() == [noted])
        try activity.recordMisses([
            Self.miss("http://127.0.0.1/x", from: .fromThisMachine, origin: "http://a")
        ])
        #expect(try ActivityDatabase(store.folder).misses().map(\.from) == [.fromThisMachine])
    }

    @Test func `readers do not see the recording of uses as a change of the store`() throws {
        try store.snapshot([store.response("/a")])
        let reader = try store.reader()
        let version = try reader.dataVersion()
        try ActivityDatabase(store.folder).recordServed([(1, 10)])
        #expect(try reader.dataVersion() == version)
    }
}
