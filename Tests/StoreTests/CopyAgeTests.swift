import Testing
import Web

@testable import Store

@Suite struct CopyAgeTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    private func age(of href: String) throws -> CopyAge? { try store.reader().versions(of: href).first?.age }

    /// The dates that lists show, which are computed in SQL.
    private func listed(_ href: String) throws -> [Int64] {
        var dates: [Int64] = []
        try store.reader().eachListedResponse { response in
            if response.href == href { dates.append(response.fetched) }
            return true
        }
        let slice = try store.reader().slice(from: href, before: href + "0", site: nil, urlCount: 1)
        return dates + slice.entries.map(\.fetched)
    }

    @Test
    func
        `an update that finds a response unchanged leaves when it was fetched, and says when it was checked`()
        throws
    {
        try store.snapshot([store.response("/a", "a", fetched: 12)], now: 10, ending: .publish(now: 20))
        #expect(try age(of: "/a") == CopyAge(fetched: 10, checked: nil))
        #expect(try listed("/a") == [10, 10])
        for start: Int64 in [50, 90] {
            try store.snapshot(
                [store.response("/a", "a", fetched: start + 2)], now: start,
                ending: .publishIfChanged(now: start + 5))
            #expect(try age(of: "/a") == CopyAge(fetched: 10, checked: start + 2))
            #expect(try listed("/a") == [10, 10])
        }
        #expect(try store.site()?.snapshots.count == 1)
    }

    @Test func `a changed response was fetched by the run that received it`() throws {
        try store.snapshot([store.response("/a", "a", fetched: 12)], now: 10, ending: .publish(now: 20))
        try store.snapshot([store.response("/a", "b", fetched: 52)], now: 50, ending: .publish(now: 60))
        let ages = try store.reader().versions(of: "/a").map(\.age)
        #expect(ages == [CopyAge(fetched: 50, checked: nil), CopyAge(fetched: 10, checked: nil)])
        #expect(try listed("/a") == [50, 50])
    }

    @Test(arguments: [ResponseFlags.isLoaded, .isRecorded, .isImported])
    func `a response that no run fetched has its own time`(flag: ResponseFlags) throws {
        var response = try store.response("/a", "a", fetched: 33)
        response.flags.insert(flag)
        try store.snapshot([response], now: 10, ending: .publish(now: 20))
        #expect(try age(of: "/a") == CopyAge(fetched: 33, checked: nil))
        #expect(try listed("/a") == [33, 33])
    }

    @Test(arguments: [Int64(3), 33])
    func `a response that is older than its snapshot, or whose run has not ended, has its own time`(
        fetched: Int64
    ) throws {
        try store.snapshot(
            [store.response("/a", "a", fetched: fetched)], now: 10,
            ending: fetched < 10 ? .publish(now: 20) : .keepOpen)
        #expect(try age(of: "/a") == CopyAge(fetched: fetched, checked: nil))
        #expect(try listed("/a") == [fetched, fetched])
    }

    @Test func `a snapshot was fetched when its run began, and checked when an update found it unchanged`()
        throws
    {
        let snapshot = Snapshot(id: 7, number: 2, started: 10, finished: 20, responseCount: 1)
        func age(_ settings: String) -> CopyAge {
            let site = Site(
                id: 1, name: "s", start: ["s"], snapshots: [snapshot], published: 7, settings: settings)
            return CopyAge(of: snapshot, in: site)
        }
        #expect(age("") == CopyAge(fetched: 10, checked: nil))
        #expect(
            age(#"{"confirmed":[{"snapshot":2,"date":90}]}"#) == CopyAge(fetched: 10, checked: 90))
        #expect(age(#"{"confirmed":[{"snapshot":1,"date":90}]}"#) == CopyAge(fetched: 10, checked: nil))
    }
}
