import Synchronization
import System
import Testing

@testable import Store

@Suite struct MemoryTierTests {
    private final class Page: Sendable {
        let name: String

        init(_ name: String) { self.name = name }
    }

    /// A tier for 10 entries of 1,000 bytes. With one shard, the order of eviction is exact.
    private let tier = MemoryTier<Page>(byteLimit: 10_000, shardCount: 1)

    /// Inserts a page that counts as `total` bytes, including its key.
    @discardableResult private func insert(
        _ name: String, in tier: MemoryTier<Page>? = nil, total: Int = 1000, id: Int64 = 0, now: Int64 = 0
    ) -> Bool {
        let tier = tier ?? self.tier
        let key = Array(name.utf8)
        return tier.insert(
            Page(name), byteCount: total - key.count - 200, id: id, for: key.span, derivedIn: tier.generation,
            now: now)
    }

    /// Whether the tier has the page. Looking it up counts as a use.
    @discardableResult private func hasPage(_ name: String, in tier: MemoryTier<Page>? = nil, now: Int64 = 0)
        -> Bool
    {
        let key = Array(name.utf8)
        let page = (tier ?? self.tier).value(for: key.span, now: now)
        #expect(page == nil || page?.name == name)
        return page != nil
    }

    /// The ids of the cached values in the order of eviction.
    private func evictionOrder() -> [Int64] {
        var order: [Int64] = []
        var left = Set(tier.uses(since: 0).map(\.id))
        while !left.isEmpty {
            tier.shrink(to: tier.byteCount - 1)
            let rest = Set(tier.uses(since: 0).map(\.id))
            order += left.subtracting(rest).sorted()
            left = rest
        }
        return order
    }

    @Test
    func `with one shard the least recently used value is evicted first, whatever the order of insertion`() {
        for id in 1...10 { #expect(insert("\(id)", id: Int64(id))) }
        #expect(tier.byteCount == 10_000)
        for name in ["3", "1", "10", "3", "7"] { #expect(hasPage(name)) }
        // Replacing a value is a use too.
        insert("5", id: 5)
        #expect(evictionOrder() == [2, 4, 6, 8, 9, 1, 10, 3, 7, 5])
        #expect(tier.byteCount == 0)
    }

    @Test func `a new entry evicts the oldest ones, and no more than it needs`() {
        for name in 1...10 { insert("\(name)") }
        hasPage("1")
        insert("new", total: 1500)
        #expect(["2", "3"].allSatisfy { !hasPage($0) })
        #expect(["1", "4", "10", "new"].allSatisfy { hasPage($0) })
        #expect(tier.byteCount == 9500)
    }

    @Test func `replacing a value evicts no other value`() {
        for name in 1...10 { insert("\(name)") }
        for _ in 0..<20 { #expect(insert("10")) }
        #expect((1...10).allSatisfy { hasPage("\($0)") })
        #expect(tier.byteCount == 10_000)
    }

    @Test func `keys differ if either of their parts differs`() {
        let generation = tier.generation
        func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
        func name(_ first: String, _ second: String) -> String? {
            tier.value(for: bytes(first).span, bytes(second).span, now: 0)?.name
        }
        for (first, second) in [("a", "/bc"), ("b", "/bc"), ("", "a/bc"), ("", "")] {
            let page = Page(first + "+" + second)
            tier.insert(
                page, byteCount: 0, id: 0, for: bytes(first).span, bytes(second).span, derivedIn: generation,
                now: 0)
        }
        #expect(name("a", "/bc") == "a+/bc")
        #expect(name("b", "/bc") == "b+/bc")
        #expect(name("", "a/bc") == "+a/bc")
        #expect(name("", "") == "+")
        #expect(name("a/", "bc") == nil)
        #expect(name("a/bc", "") == nil)
        #expect(name("a", "/b") == nil)
    }

    @Test(arguments: [1, 16]) func `a limit of 0 turns the cache off`(shardCount: Int) {
        let tier = MemoryTier<Page>(byteLimit: 0, shardCount: shardCount)
        #expect(!insert("a", in: tier, total: 201))
        #expect(!hasPage("a", in: tier))
        #expect(tier.byteCount == 0)
        tier.shrink(to: 0)
        tier.advance()
        #expect(tier.uses(since: 0).isEmpty)
    }

    @Test(arguments: [1, 2, 16])
    func `an entry may use a quarter of the limit, whatever the number of shards`(
        shardCount: Int
    ) {
        let tier = MemoryTier<Page>(byteLimit: 1_000_000, shardCount: shardCount)
        for number in 0..<1000 { insert("small \(number)", in: tier) }
        #expect(tier.byteCount == 1_000_000)
        #expect(insert("large", in: tier, total: 250_000))
        #expect(hasPage("large", in: tier))
        #expect(tier.byteCount == 1_000_000)
        #expect((0..<1000).count { hasPage("small \($0)", in: tier) } == 750)
        #expect(!insert("too large", in: tier, total: 250_001))
        #expect(hasPage("large", in: tier))
    }

    @Test func `with several shards approximately the oldest values are evicted, from all shards`() {
        let tier = MemoryTier<Page>(byteLimit: 1_000_000, shardCount: 16)
        for number in 0..<1000 { insert("\(number)", in: tier) }
        for number in 0..<500 { hasPage("\(number)", in: tier) }
        for number in 1000..<1300 { insert("\(number)", in: tier) }
        #expect(tier.byteCount == 1_000_000)
        // An exact order would keep all 500 pages that were used again. A shard may get more new pages than it has old
        // ones: in 20,000 random simulations, that evicted 19 used pages at most. Random eviction would evict about 115.
        #expect((0..<500).count { hasPage("\($0)", in: tier) } > 460)
        #expect((1000..<1300).allSatisfy { hasPage("\($0)", in: tier) })
    }

    @Test(arguments: [1, 16]) func `the cache shrinks on request, and grows again by use`(shardCount: Int) {
        let tier = MemoryTier<Page>(byteLimit: 100_000, shardCount: shardCount)
        for number in 0..<100 { insert("\(number)", in: tier) }
        tier.shrink(to: 200_000)
        #expect(tier.byteCount == 100_000)
        tier.shrink(to: 50_500)
        #expect(tier.byteCount == 50_000)
        #expect((0..<100).count { hasPage("\($0)", in: tier) } == 50)
        tier.shrink(to: 0)
        #expect(tier.byteCount == 0)
        for number in 0..<100 { insert("\(number)", in: tier) }
        #expect(tier.byteCount == 100_000)
    }

    @Test func `values of an earlier generation are removed, and refused when inserted late`() {
        let older = tier.generation
        insert("kept")
        let newer = tier.advance()
        #expect(newer != older)
        #expect(newer == tier.generation)
        #expect(!hasPage("kept"))
        #expect(tier.byteCount == 0)
        let key = Array("late".utf8)
        let isLateKept = tier.insert(
            Page("late"), byteCount: 10, id: 0, for: key.span, derivedIn: older, now: 0)
        #expect(!isLateKept)
        #expect(!hasPage("late"))
        let isKept = tier.insert(Page("late"), byteCount: 10, id: 0, for: key.span, derivedIn: newer, now: 0)
        #expect(isKept)
        #expect(hasPage("late"))
    }

    @Test(arguments: [1, 16]) func `the uses since a time contain each value once`(shardCount: Int) {
        let tier = MemoryTier<Page>(byteLimit: 1_000_000, shardCount: shardCount)
        for number in 1...300 { insert("\(number)", in: tier, id: Int64(number), now: 10) }
        #expect(tier.uses(since: 11).isEmpty)
        #expect(Set(tier.uses(since: 10).map(\.id)) == Set(1...300))
        #expect(tier.uses(since: 10).count == 300)
        hasPage("7", in: tier, now: 20)
        hasPage("8", in: tier, now: 21)
        hasPage("7", in: tier, now: 22)
        let uses = tier.uses(since: 11).sorted { $0.id < $1.id }
        #expect(uses.map(\.id) == [7, 8])
        #expect(uses.map(\.lastUse) == [22, 21])
    }

    @Test func `only the removed value is gone`() {
        for name in ["a", "b", "c"] { insert(name) }
        let key = Array("b".utf8)
        tier.remove(key.span)
        tier.remove(key.span)
        #expect(["a", "b", "c"].map { hasPage($0) } == [true, false, true])
        #expect(tier.byteCount == 2000)
    }

    @Test func `an evicted value is freed with its last user`() {
        weak var weakly: Page?
        do {
            let page = Page("a")
            weakly = page
            let key = Array("a".utf8)
            tier.insert(page, byteCount: 1, id: 0, for: key.span, derivedIn: tier.generation, now: 0)
            let given = tier.value(for: key.span, now: 0)
            tier.advance()
            #expect(given === page)
        }
        #expect(weakly == nil)
    }
}

@Suite struct MemoryTierThreadsTests {
    private final class Tally: Sendable {
        private let value = Atomic(0)

        var count: Int { value.load(ordering: .sequentiallyConsistent) }

        /// Returns the new count.
        @discardableResult func add(_ number: Int = 1) -> Int {
            value.add(number, ordering: .sequentiallyConsistent).newValue
        }

        func add(if isOne: Bool) {
            if isOne { add() }
        }
    }

    private final class Page: Sendable {
        let number: Int
        let version: Int
        private let living: Tally

        init(_ number: Int, version: Int = 0, living: Tally) {
            self.number = number
            self.version = version
            self.living = living
            living.add()
        }

        deinit { living.add(-1) }
    }

    private func run(threads: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
        let running = try (0..<threads).map { number in
            try NamedThread.start("hammer-\(number)") { body(number) }
        }
        for thread in running { thread.join() }
    }

    private static func key(_ number: Int) -> [UInt8] {
        Array("/page/\(number)".utf8)
    }

    @Test(arguments: [1, 4, 16])
    func
        `with four threads the limit holds, each key has its own value, and all values are freed`(
            shardCount: Int
        ) throws
    {
        let limit = 200_000
        let tier = MemoryTier<Page>(byteLimit: limit, shardCount: shardCount)
        let (excesses, mistakes, hits, living) = (Tally(), Tally(), Tally(), Tally())
        try run(threads: 4) { thread in
            var chance = SplitMix(seed: UInt64(thread))
            for step in 0..<5_000 {
                let number = Int(chance.next() % 400)
                let key = Self.key(number)
                switch chance.next() % 1000 {
                case 0: tier.shrink(to: limit / 2)
                case 1: tier.advance()
                case 2: mistakes.add(if: tier.uses(since: 0).contains { $0.lastUse < 0 })
                case 3..<50: tier.remove(key.span)
                case 50..<400:
                    // Up to slightly more than a quarter of the limit, which is the maximum for one entry.
                    let size = chance.next() % 20 == 0 ? 51_000 : 1200
                    tier.insert(
                        Page(number, living: living), byteCount: Int(chance.next() % UInt64(size)),
                        id: Int64(number),
                        for: key.span, derivedIn: tier.generation, now: Int64(step))
                default:
                    let page = tier.value(for: key.span, now: Int64(step))
                    hits.add(if: page != nil)
                    mistakes.add(if: page != nil && page?.number != number)
                }
                excesses.add(if: !(0...limit).contains(tier.byteCount))
            }
        }
        #expect(excesses.count == 0)
        #expect(mistakes.count == 0)
        #expect(hits.count > 0)
        #expect(living.count == tier.uses(since: 0).count)
        tier.shrink(to: 0)
        #expect(tier.byteCount == 0)
        #expect(living.count == 0)
    }

    @Test(arguments: [1, 16])
    func `no thread gets a value of an older generation after any thread has seen a newer one`(
        shardCount: Int
    )
        throws
    {
        let tier = MemoryTier<Page>(byteLimit: 1_000_000, shardCount: shardCount)
        let (stale, hits, living) = (Tally(), Tally(), Tally())
        let stored = Tally()
        // Only one thread advances the stored version and the tier's generation, so that their numbers are equal.
        @Sendable func lookUp(_ number: Int, notOlderThan version: Int) {
            guard let page = tier.value(for: Self.key(number).span, now: 0) else { return }
            hits.add()
            stale.add(if: page.version < version)
        }
        try run(threads: 4) { thread in
            var chance = SplitMix(seed: UInt64(thread))
            // Continues until there were enough versions and hits.
            while stored.count < 5000 || hits.count < 1000 {
                let number = Int(chance.next() % 16)
                switch thread {
                case 0:
                    let version = stored.add()
                    tier.advance()
                    for number in 0..<16 { lookUp(number, notOlderThan: version) }
                case 1, 2:
                    // Reads the stored version, and inserts it after a random delay.
                    let generation = tier.generation
                    let page = Page(number, version: stored.count, living: living)
                    for _ in 0..<max(0, Int(chance.next() % 200) - 100) { _ = tier.byteCount }
                    tier.insert(
                        page, byteCount: 10, id: 0, for: Self.key(number).span, derivedIn: generation, now: 0)
                default:
                    lookUp(number, notOlderThan: tier.generation.number)
                }
            }
        }
        #expect(stale.count == 0)
        #expect(hits.count > 0)
    }

    /// The SplitMix64 generator, which returns the same numbers in every run.
    private struct SplitMix {
        private var state: UInt64

        init(seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }
}
