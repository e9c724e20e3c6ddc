import Synchronization
import System
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct MemoryTierThreadsTests {
    private final class Tally: Sendable {
        private let value = Atomic(0)

        var count: Int { value.load(ordering: .sequentiallyConsistent) }

        /// What it has counted to.
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
    func `whatever four threads do, the limit holds, each key has its own value, and every byte is accounted for`(
        shardCount: Int
    ) throws {
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
                    // Up to a quarter of the limit, and a little more.
                    let size = chance.next() % 20 == 0 ? 51_000 : 1200
                    tier.keep(
                        Page(number, living: living), byteCount: Int(chance.next() % UInt64(size)), id: Int64(number),
                        for: key.span, madeIn: tier.generation, now: Int64(step))
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
    func `nobody is given what was made from an older look once anybody has seen a newer one`(shardCount: Int) throws {
        let tier = MemoryTier<Page>(byteLimit: 1_000_000, shardCount: shardCount)
        let (stale, hits, living) = (Tally(), Tally(), Tally())
        let stored = Tally()
        // One thread changes what is stored, so that its versions and the tier's generations have the same numbers.
        @Sendable func ask(_ number: Int, notOlderThan version: Int) {
            guard let page = tier.value(for: Self.key(number).span, now: 0) else { return }
            hits.add()
            stale.add(if: page.version < version)
        }
        try run(threads: 4) { thread in
            var chance = SplitMix(seed: UInt64(thread))
            // Until every thread has had its part in it.
            while stored.count < 5000 || hits.count < 1000 {
                let number = Int(chance.next() % 16)
                switch thread {
                case 0:
                    let version = stored.add()
                    tier.advance()
                    for number in 0..<16 { ask(number, notOlderThan: version) }
                case 1, 2:
                    // Looks, and may take its time until it keeps what it has seen.
                    let generation = tier.generation
                    let page = Page(number, version: stored.count, living: living)
                    for _ in 0..<max(0, Int(chance.next() % 200) - 100) { _ = tier.byteCount }
                    tier.keep(
                        page, byteCount: 10, id: 0, for: Self.key(number).span, madeIn: generation, now: 0)
                default:
                    ask(number, notOlderThan: tier.generation.number)
                }
            }
        }
        #expect(stale.count == 0)
        #expect(hits.count > 0)
    }

    /// Steele, Lea and Flood's generator: the same numbers in every run.
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
