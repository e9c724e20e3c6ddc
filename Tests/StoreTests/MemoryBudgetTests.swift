import Synchronization
import Testing

@testable import Store

@Suite struct MemoryBudgetTests {
    @Test(arguments: [
        // The limit without the memory of the rest of the process.
        (limit: 64, used: 40, cached: 10, allowance: 34),
        (limit: 64, used: 64, cached: 20, allowance: 20),
        // The process uses more than the limit, so that the caches shrink.
        (limit: 64, used: 90, cached: 50, allowance: 24),
        // The caches get at least an eighth of the limit.
        (limit: 64, used: 200, cached: 50, allowance: 8),
        // The two sizes are measured at different times, so that the cache may seem larger than the process.
        (limit: 64, used: 10, cached: 30, allowance: 64),
        (limit: 0, used: 10, cached: 0, allowance: 0),
    ])
    func `caches get what the rest of the process leaves of the limit`(
        limit: Int, used: Int, cached: Int, allowance: Int
    ) {
        #expect(MemoryBudget.allowance(limit: limit, used: used, cached: cached) == allowance)
    }

    private final class Value: Sendable {}

    @Test func `a tier shrinks when the process takes more than the limit, and grows again afterwards`() {
        let tier = MemoryTier<Value>(byteLimit: 100_000, shardCount: 1)
        func keep(_ count: Int) {
            for number in 0..<count {
                let key = Array("\(number)".utf8)
                tier.insert(
                    Value(), byteCount: 1000, id: 1, for: key.span, derivedIn: tier.generation,
                    now: Int64(number))
            }
        }
        let others = Atomic(0)
        let budget = MemoryBudget(limit: 100_000) { tier.byteCount + others.load(ordering: .relaxed) }
        keep(200)
        budget.check(tier)
        #expect(tier.byteCount > 90_000)
        others.store(60_000, ordering: .relaxed)
        budget.check(tier)
        #expect(tier.byteCount <= 40_000)
        keep(200)
        #expect(tier.byteCount <= 40_000)
        others.store(0, ordering: .relaxed)
        budget.check(tier)
        keep(200)
        #expect(tier.byteCount > 90_000)
    }
}
