import Glibc
import TestOrigin
import Testing

@testable import Store
@testable import StoreFaults

/// Stores whose writer is killed. The environment variable sets the number of kills:
///
///     LARDER_KILLS=200 scripts/test --filter KillTests
@Suite struct KillTests {
    private static let kills = getenv("LARDER_KILLS").flatMap { Int(String(cString: $0)) } ?? 25

    /// The letters that `StoreFaults stock` prints, each with the minimum number of times in a run of four snapshots, whatever
    /// the store contains already.
    private static let steps: [(letter: Character, count: Int)] = [
        ("b", 4), ("f", 16), ("a", 16), ("p", 4), ("d", 2), ("c", 2),
    ]

    @Test
    func `a writer killed at any moment loses nothing committed, and the next one continues`()
        throws
    {
        let store = try StockedFolder()
        let stock = Stock(site: "s")
        let undisturbed = try Child("stock", store.place, stock.site, "4").wait()
        #expect(undisturbed.status == 0, "\(undisturbed.errors)")
        var random = TestRandom(seed: 1)
        for number in 0..<Self.kills {
            // Each step in turn, at a random one of its occurrences.
            let step = Self.steps[number % Self.steps.count]
            let time = Int.random(in: 1...step.count, using: &random)
            // First the writer is killed directly after the step, where it has stopped itself, and then while it works on.
            let isBetweenSteps = number / Self.steps.count % 2 == 0
            let mark = isBetweenSteps ? "@\(step.letter)\(time)" : "@"
            let child = try Child("stock", store.place, stock.site, "4", mark)
            let done = child.read(until: step.letter, times: time)
            let delay = isBetweenSteps ? 0 : Int.random(in: 0...5000, using: &random)
            // The expectations hold however far the writer gets in this time.
            usleep(UInt32(delay))
            child.signal(SIGKILL)
            let ending = child.wait()
            let note: Comment = "kill \(number), \(delay) µs after \(done)"
            #expect(ending.errors.isEmpty, note)
            #expect(done.last == step.letter, note)
            if isBetweenSteps { #expect(ending.status == -SIGKILL && ending.output.isEmpty, note) }
            try store.expectWhole(stock, note)
            let open = try store.site(stock.site)?.snapshots.last { $0.finished == nil }
            if number % 5 == 0 {
                #expect(try Child("stock", store.place, stock.site, "1").wait().status == 0, note)
                try store.expectWhole(stock, note)
                let site = try #require(try store.site(stock.site))
                if let open { #expect(site.published == open.id && site.snapshots.last?.id == open.id, note) }
                #expect(site.snapshots.allSatisfy { $0.finished != nil }, note)
            }
        }
        let last = try Child("stock", store.place, stock.site, "2").wait()
        #expect(last.status == 0, "\(last.errors)")
        try store.expectWhole(stock, "at the end")
        let findings = try store.inspect()
        #expect(findings.orphanBodyCount == 0 && findings.orphanFiles.isEmpty)
        #expect(store.scratch.names(in: "store/incoming").isEmpty)
    }

    @Test(.requiresFolderStore)
    func `a collection killed at any moment has removed everything that it should, or nothing`() throws {
        let stocked = try StockedFolder()
        let count = 800
        try stocked.snapshot(
            (0..<count).map {
                try stocked.response(
                    "/\($0)", String(repeating: "text of \($0) ", count: 60), fetched: Int64($0))
            })
        func copy() throws -> StockedFolder {
            let other = try StockedFolder()
            _ = try StoreCopy.run(from: stocked.folder, to: other.folder) { _ in }
            return other
        }
        let first = try copy()
        let limit = first.folder.byteCount / 2
        let undisturbed = try Child("collect", first.place, "\(limit)").wait()
        #expect(undisturbed.status == 0, "\(undisturbed.errors)")
        // The child prints `s` before it begins, and `r` for each progress report.
        let reports = undisturbed.output.count { $0 == "r" }
        #expect(undisturbed.output.hasPrefix("s") && reports > 1, "\(undisturbed.output)")
        func responseCount(_ store: StockedFolder) throws -> Int? {
            try store.column("SELECT count(*) FROM response").first.flatMap { Int($0) }
        }
        let left = try #require(try responseCount(first))
        #expect(left < count * 2 / 3)
        // The layout of the database differs slightly between copies, and so does the number of evicted pages.
        func isEnd(_ left: Int?, like other: Int) -> Bool {
            left.map { abs($0 - other) < count / 10 } ?? false
        }
        var ends: [Int: Int] = [:]
        let kills = (Self.kills + 2) / 3
        for number in 0..<kills {
            let store = try copy()
            // The first child is killed before it begins, and the others at evenly distributed reports.
            let time = number * reports / kills
            let mark = number == 0 ? "@s1" : "@r\(max(1, time))"
            let child = try Child("collect", store.place, "\(limit)", mark)
            child.waitUntilStopped()
            if number % 2 == 1 {
                // The child continues for a moment. The expectations hold however far it gets.
                child.signal(SIGCONT)
                usleep(UInt32(500 * number))
            }
            child.signal(SIGKILL)
            _ = child.wait()
            #expect(try store.inspect().isSound)
            ends[try responseCount(store) ?? 0, default: 0] += 1
            #expect(try store.text("/\(count - 1)")?.hasPrefix("text of \(count - 1) ") == true)
            // The next collection completes the killed one, and removes its temporary files.
            let result = try StoreWriter(store.folder).collect(
                CollectionOptions(limit: limit, allowsIncomplete: true))
            #expect(result.excess == nil && result.byteCountAfter <= limit)
            #expect(isEnd(try responseCount(store), like: left))
            #expect(store.scratch.names(in: "store/incoming").isEmpty)
        }
        // Each eviction happened completely or not at all.
        #expect(ends.keys.allSatisfy { $0 == count || $0 < count * 2 / 3 } && ends[count] != nil, "\(ends)")
    }

    @Test(.requiresFolderStore)
    func `a migration killed at any moment leaves the old version or the new one`() throws {
        func makeStore() throws -> StockedFolder {
            let store = try StockedFolder()
            try EarlierStore.makeVersion1(in: store.folder, morePages: 3000)
            return store
        }
        let first = try makeStore()
        let undisturbed = try Child("open", first.place, "@s1")
        undisturbed.waitUntilStopped()
        let clock = ContinuousClock()
        let started = clock.now
        undisturbed.signal(SIGCONT)
        #expect(undisturbed.wait().status == 0)
        // The others are killed at evenly distributed times. The expectations do not depend on them.
        let wholeTime = min(Int((clock.now - started) / .microseconds(1)), 2_000_000)
        #expect(try first.column("PRAGMA user_version") == ["\(Schema.version)"])
        var versions: [String: Int] = [:]
        let count = max(Self.kills / 3, 4)
        for number in 0..<count {
            let store = try makeStore()
            let child = try Child("open", store.place, "@s1")
            child.waitUntilStopped()
            // The first child is killed before it begins.
            if number > 0 {
                child.signal(SIGCONT)
                usleep(UInt32(wholeTime * number / count))
            }
            child.signal(SIGKILL)
            _ = child.wait()
            let version = try store.column("PRAGMA user_version").first ?? ""
            versions[version, default: 0] += 1
            #expect(try store.column("SELECT count(*) FROM response") == ["3007"])
            #expect(try store.text("http://a/") == "second")
            #expect(try store.inspect().isSound)
            #expect(try store.column("SELECT count(*) FROM larder_response WHERE type IS NULL") == ["3"])
        }
        #expect(
            versions["1"] != nil && Set(versions.keys).isSubset(of: ["1", "\(Schema.version)"]), "\(versions)"
        )
    }
}
