import Glibc
import TestOrigin
import Testing

@testable import Store
@testable import StoreFaults

/// What is left of a store when its writer is killed. So many kills make the long test:
///
///     LARDER_KILLS=200 scripts/test --filter KillTests
@Suite struct KillTests {
    private static let kills = getenv("LARDER_KILLS").flatMap { Int(String(cString: $0)) } ?? 25

    @Test
    func `a writer that is killed at any moment loses nothing that was committed, and the next one goes on`()
        throws
    {
        let store = try StockedFolder()
        let stock = Stock(site: "s")
        let clock = ContinuousClock()
        let started = clock.now
        let undisturbed = try Child("stock", store.place, stock.site, "4").wait()
        #expect(undisturbed.status == 0, "\(undisturbed.errors)")
        let stepTime = min((clock.now - started) / undisturbed.output.utf8.count, .milliseconds(5))
        var random = TestRandom(seed: 1)
        var killedAfter: [Character: Int] = [:]
        for number in 0..<Self.kills {
            // The moments lie all over the run, and anywhere in a step.
            let steps = 1 + number * undisturbed.output.utf8.count / Self.kills
            let child = try Child("stock", store.place, stock.site, "4")
            let done = child.read(steps)
            // Some at once: what follows a short step would always be struck in its place.
            let delay =
                number % 3 == 0 ? 0 : Int.random(in: 0...Int(stepTime / .microseconds(1)), using: &random)
            usleep(UInt32(delay))
            child.signal(SIGKILL)
            let ending = child.wait()
            #expect(ending.errors.isEmpty)
            killedAfter[(done + ending.output).last ?? "-", default: 0] += 1
            let note: Comment = "kill \(number), \(delay) µs after \(done)"
            try store.expectWhole(stock, note)
            let open = try store.site(stock.site)?.visits.last { $0.finished == nil }
            if number % 5 == 0 {
                #expect(try Child("stock", store.place, stock.site, "1").wait().status == 0, note)
                try store.expectWhole(stock, note)
                let site = try #require(try store.site(stock.site))
                if let open { #expect(site.published == open.id && site.visits.last?.id == open.id, note) }
                #expect(site.visits.allSatisfy { $0.finished != nil }, note)
            }
        }
        // It was struck between and in all kinds of work.
        #expect(killedAfter.count > 2, "\(killedAfter)")
        if Self.kills >= 100 { #expect(Set(killedAfter.keys).isSuperset(of: "bfapdc"), "\(killedAfter)") }
        let last = try Child("stock", store.place, stock.site, "2").wait()
        #expect(last.status == 0, "\(last.errors)")
        try store.expectWhole(stock, "at the end")
        let findings = try store.inspect()
        #expect(findings.orphanBodies == 0 && findings.orphanFiles.isEmpty)
        #expect(store.scratch.names(in: "store/incoming").isEmpty)
    }

    @Test(.ofFiles)
    func `a collection that is killed at any moment has taken away what it was to take, or nothing`() throws {
        let stocked = try StockedFolder()
        let count = 800
        try stocked.visit(
            (0..<count).map {
                try stocked.response(
                    "/\($0)", String(repeating: "text of \($0) ", count: 60), fetched: Int64($0))
            })
        func copy() throws -> StockedFolder {
            let other = try StockedFolder()
            _ = try StoreCopy.run(from: stocked.folder, to: other.folder) { _ in }
            return other
        }
        let clock = ContinuousClock()
        let first = try copy()
        let limit = first.folder.byteCount / 2
        let undisturbed = try Child("collect", first.place, "\(limit)")
        _ = undisturbed.read(1)
        let started = clock.now
        #expect(undisturbed.wait().status == 0)
        let wholeTime = Int((clock.now - started) / .microseconds(1))
        func held(_ store: StockedFolder) throws -> Int? {
            try store.column("SELECT count(*) FROM response").first.flatMap { Int($0) }
        }
        let left = try #require(try held(first))
        #expect(left < count * 2 / 3)
        // How the pages of a store lie differs from one to the next, and so, by a few, what has to go.
        func isEnd(_ left: Int?, like other: Int) -> Bool {
            left.map { abs($0 - other) < count / 10 } ?? false
        }
        var ends: [Int: Int] = [:]
        let kills = (Self.kills + 2) / 3
        for number in 0..<kills {
            let store = try copy()
            let child = try Child("collect", store.place, "\(limit)")
            _ = child.read(1)
            usleep(UInt32(wholeTime * number / kills))
            child.signal(SIGKILL)
            _ = child.wait()
            #expect(try store.inspect().isSound)
            ends[try held(store) ?? 0, default: 0] += 1
            #expect(try store.text("/\(count - 1)")?.hasPrefix("text of \(count - 1) ") == true)
            // What it left behind is nobody's, and the next one ends what it began.
            let result = try StoreWriter(store.folder).collect(
                CollectionOptions(limit: limit, allowsIncomplete: true))
            #expect(result.excess == nil && result.byteCountAfter <= limit)
            #expect(isEnd(try held(store), like: left))
            #expect(store.scratch.names(in: "store/incoming").isEmpty)
        }
        // Each round is whole, or nothing of it is.
        #expect(ends.keys.allSatisfy { $0 == count || $0 < count * 2 / 3 } && ends[count] != nil, "\(ends)")
    }

    @Test(.ofFiles)
    func `a store that is killed while it is brought up to date is of one version or the other`() throws {
        func makeStore() throws -> StockedFolder {
            let store = try StockedFolder()
            try EarlierStore.makeVersion1(in: store.folder, morePages: 3000)
            return store
        }
        let clock = ContinuousClock()
        let first = try makeStore()
        let undisturbed = try Child("open", first.place)
        _ = undisturbed.read(1)
        let started = clock.now
        #expect(undisturbed.wait().status == 0)
        let wholeTime = Int((clock.now - started) / .microseconds(1))
        #expect(try first.column("PRAGMA user_version") == ["\(Schema.version)"])
        var versions: [String: Int] = [:]
        let count = max(Self.kills / 3, 4)
        for number in 0..<count {
            let store = try makeStore()
            let child = try Child("open", store.place)
            _ = child.read(1)
            usleep(UInt32(wholeTime * number / count))
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
