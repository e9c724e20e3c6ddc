import System
import TestOrigin
import Testing

@testable import Store

/// Channels of apps and the reports of devices, in a folder and in PostgreSQL.
@Suite struct ChannelDatabaseTests {
    private static let key = ChannelDatabase.Key(app: "shop", channel: "production")
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
        try store.folder.create()
        if TestStore.isPostgreSQL { _ = try StoreWriter(store.folder) }
    }

    @Test func `a change increases the version, and other connections see it`() throws {
        let (one, two) = (try ChannelDatabase(store.folder), try ChannelDatabase(store.folder))
        #expect(try one.version(of: Self.key) == nil && one.channel(Self.key) == nil)
        try one.change(Self.key) { state in .init(state == nil ? "a" : "wrong") }
        try two.change(Self.key) { state in .init((state ?? "") + "b") }
        try two.change(Self.key) { _ in nil }
        try two.change(Self.key) { state in state.map { .init($0) } }
        #expect(try one.channel(Self.key) == ChannelDatabase.Row(key: Self.key, version: 2, state: "ab"))
        let other = ChannelDatabase.Key(app: "shop", channel: "beta")
        try one.change(other) { _ in .init("c") }
        #expect(try two.channels().map(\.key) == [other, Self.key])
        #expect(try two.version(of: Self.key) == 2)
    }

    @Test func `several threads change a channel one after the other`() throws {
        try ChannelDatabase(store.folder).change(Self.key) { _ in .init(" ") }
        let folder = store.folder
        let failures = Monitor<[String]>([])
        let threads = try (0..<4).map { number in
            try NamedThread.start("channel-\(number)") {
                do throws(StoreError) {
                    let database = try ChannelDatabase(folder)
                    for _ in 0..<10 { try database.change(Self.key) { .init(($0 ?? "") + "\(number)") } }
                } catch {
                    failures.change { $0.append(error.description) }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.change { $0 } == [])
        let row = try #require(try ChannelDatabase(folder).channel(Self.key))
        #expect(row.state.utf8.count == 41 && row.version == 41)
    }

    @Test func `each device counts once, and a failure replaces a success`() throws {
        let database = try ChannelDatabase(store.folder)
        try database.change(Self.key) { _ in .init("state") }
        func report(_ device: Int64, failed: Bool) throws -> Bool {
            try database.report("u1", of: Self.key, device: device, hasFailed: failed) { _, _ in nil }
        }
        #expect(try report(1, failed: false))
        #expect(try !report(1, failed: false))
        #expect(try report(-2, failed: true))
        #expect(try !report(-2, failed: false))
        #expect(try report(1, failed: true))
        #expect(try !report(1, failed: true))
        #expect(try report(3, failed: false))
        #expect(try database.outcomes() == ["u1": ChannelDatabase.Outcome(succeeded: 1, failed: 2)])
    }

    @Test func `a failure may change the channel in the same transaction`() throws {
        let database = try ChannelDatabase(store.folder)
        try database.change(Self.key) { _ in .init("live") }
        for device in 0..<10 as Range<Int64> {
            try database.report("u1", of: Self.key, device: device, hasFailed: device % 5 == 4) {
                state, outcome in
                state == "live" && outcome.failed == 2 ? "halted at \(outcome.count)" : nil
            }
        }
        #expect(try database.channel(Self.key)?.state == "halted at 10")
        #expect(try database.version(of: Self.key) == 2)
    }

    @Test func `the state is read only for counts that may halt the update`() throws {
        let database = try ChannelDatabase(store.folder)
        try database.change(Self.key) { _ in .init("live") }
        var states: [String] = []
        for device in 0..<4 as Range<Int64> {
            let report = ChannelDatabase.Report(Self.key, rollout: "u1", device: device, hasFailed: true)
            let new = try database.record(
                [report], mayHalt: { $1.failed > 2 },
                halt: { _, state, outcome in
                    states.append("\(state) \(outcome.failed)")
                    return nil
                })
            #expect(new == [report])
        }
        #expect(states == ["live 3", "live 4"])
    }

    @Test func `devices beyond the limit of an app are not counted`() throws {
        let database = try ChannelDatabase(store.folder, maxReports: 3)
        try database.change(Self.key) { _ in .init("state") }
        func report(_ rollout: String, _ device: Int64, failed: Bool = false) throws -> Bool {
            try database.report(rollout, of: Self.key, device: device, hasFailed: failed) { _, _ in nil }
        }
        for device in 1...2 as ClosedRange<Int64> { #expect(try report("u1", device)) }
        #expect(try report("u2", 1))
        #expect(try !report("u2", 2))
        // A device that is known may still fail.
        #expect(try report("u1", 1, failed: true))
        try database.change(Self.key) { $0.map { .init($0, openUpdates: ["u2"]) } }
        #expect(try report("u2", 2))
        // The counts of the earlier update stay, and no longer change.
        #expect(try !report("u1", 7))
        #expect(try database.outcomes()["u1"] == ChannelDatabase.Outcome(succeeded: 1, failed: 1))
        try database.change(Self.key) { $0.map { .init($0, resetUpdates: ["u1"]) } }
        #expect(try report("u1", 7))
    }

    @Test func `one change stores the state and forgets reports`() throws {
        let database = try ChannelDatabase(store.folder)
        try database.change(Self.key) { _ in .init("before") }
        try database.report("u1", of: Self.key, device: 1, hasFailed: false) { _, _ in nil }
        try database.change(Self.key) { _ in .init("after", resetUpdates: ["u1"], openUpdates: []) }
        #expect(try database.channel(Self.key)?.state == "after")
        #expect(try database.outcomes().isEmpty)
        // The update is new to the database again.
        #expect(try database.report("u1", of: Self.key, device: 1, hasFailed: false) { _, _ in nil })
    }

    @Test func `a removed channel is gone with its reports, and a new one does not repeat its versions`()
        throws
    {
        let database = try ChannelDatabase(store.folder)
        #expect(try !database.remove(Self.key))
        try database.change(Self.key) { _ in .init("a") }
        try database.report("u1", of: Self.key, device: 1, hasFailed: true) { _, _ in nil }
        #expect(try database.remove(Self.key))
        #expect(try !database.remove(Self.key))
        #expect(try database.channel(Self.key) == nil && database.channels().isEmpty)
        #expect(try database.outcomes().isEmpty)
        try database.change(Self.key) { state in .init(state == nil ? "b" : "wrong") }
        #expect(try database.channel(Self.key) == ChannelDatabase.Row(key: Self.key, version: 3, state: "b"))
    }

    @Test func `channels and counts are copied with the store`() throws {
        try store.snapshot([store.response("/", "page")])
        let database = try ChannelDatabase(store.folder)
        try database.change(Self.key) { _ in .init("state") }
        try database.report("u1", of: Self.key, device: 1, hasFailed: false) { _, _ in nil }
        let copy = StoreFolder(store.scratch.file("copy"))
        try copy.create()
        try ChannelDatabase(copy).replace(by: database)
        let copied = try ChannelDatabase(copy)
        #expect(try copied.channel(Self.key)?.state == "state")
        #expect(try copied.outcomes() == database.outcomes())
    }

    @Test func `a store without channels has no database of them`() throws {
        guard !TestStore.isPostgreSQL else { return }
        let database = try ChannelDatabase.openIfExists(store.folder)
        #expect(database == nil)
    }
}
