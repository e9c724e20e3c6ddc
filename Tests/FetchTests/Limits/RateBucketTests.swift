import Testing

@testable import Fetch

@Suite struct RateBucketTests {
    @Test func `debt is waited for exactly`() {
        var bucket = RateBucket(bytesPerSecond: 1000, now: .zero)
        #expect(bucket.wait(now: .zero) == .zero)
        bucket.take(500, now: .zero)
        #expect(bucket.wait(now: .zero) == .milliseconds(500))
        #expect(bucket.wait(now: .milliseconds(400)) == .milliseconds(100))
        bucket.take(100, now: .milliseconds(400))
        #expect(bucket.wait(now: .milliseconds(600)) == .zero)
    }

    @Test func `a quiet line may catch up with a quarter of a second only`() {
        var bucket = RateBucket(bytesPerSecond: 1000, now: .zero)
        bucket.take(250, now: .seconds(100))
        #expect(bucket.wait(now: .seconds(100)) == .zero)
        bucket.take(1, now: .seconds(100))
        #expect(bucket.wait(now: .seconds(100)) == .milliseconds(1))
    }

    /// Whatever comes at once when it is let come, over a minute the rate is kept.
    @Test(arguments: [100, 5000, 64_000, 1_000_000])
    func `the rate is kept in the long run`(gulp: Int) {
        var bucket = RateBucket(bytesPerSecond: 50_000, now: .zero)
        var now = Duration.zero
        var total = 0
        while now < .seconds(600) {
            let wait = bucket.wait(now: now)
            if wait == .zero {
                bucket.take(gulp, now: now)
                total += gulp
            }
            now += max(wait, .milliseconds(1))
        }
        let most = 50_000 * 600 + 12_500 + gulp
        #expect(total <= most)
        #expect(gulp < 5000 || total >= 50_000 * 600 * 95 / 100)
    }
}
