import Testing

@testable import Crawl

@Suite struct RateLimitTests {
    @Test func `what came in too fast is waited for`() {
        var limit = RateLimit(bytesPerSecond: 1000)
        limit.consumed(250, now: .zero)
        #expect(limit.pause(now: .zero) == .zero)
        limit.consumed(2000, now: .zero)
        #expect(limit.pause(now: .zero) == .seconds(2))
        #expect(limit.pause(now: .seconds(1)) == .seconds(1))
        #expect(limit.pause(now: .seconds(2)) == .zero)
    }

    @Test func `what was not used is not kept for long`() {
        var limit = RateLimit(bytesPerSecond: 1000)
        #expect(limit.pause(now: .seconds(3600)) == .zero)
        limit.consumed(1250, now: .seconds(3600))
        #expect(limit.pause(now: .seconds(3600)) == .seconds(1))
    }

    @Test func `time that goes back changes nothing`() {
        var limit = RateLimit(bytesPerSecond: 1000)
        limit.consumed(1250, now: .seconds(10))
        #expect(limit.pause(now: .seconds(5)) == .seconds(1))
    }

    @Test(arguments: [1, 1000, 1_000_000, 100_000_000])
    func `over many transfers the rate is what was asked for`(bytesPerSecond: Int) {
        var limit = RateLimit(bytesPerSecond: bytesPerSecond)
        var now: Duration = .zero
        var received = 0
        for chunk in 1...1000 {
            let byteCount = chunk % 7 * bytesPerSecond / 100 + 1
            received += byteCount
            limit.consumed(byteCount, now: now)
            now += limit.pause(now: now) + .microseconds(10)
        }
        let seconds = now / .seconds(1)
        #expect(Double(received) / seconds < Double(bytesPerSecond) * 1.02 + Double(bytesPerSecond) * 0.3 / seconds)
        #expect(Double(received) / seconds > Double(bytesPerSecond) * 0.98)
    }
}
