import Testing

@testable import Crawl

@Suite struct HostPaceTests {
    @Test func `the limit doubles with each round without objections, up to the maximum`() {
        var pace = HostPace(initial: 2, maxLimit: 16)
        var limits: [Int] = []
        for _ in 1...30 {
            pace.didStart(now: .zero)
            pace.didRespond(after: .milliseconds(1), now: .zero)
            if limits.last != pace.limit { limits.append(pace.limit) }
        }
        #expect(limits == [2, 4, 8, 16])
    }

    @Test func `an objection halves the limit, and parallel objections count once`() {
        var pace = HostPace(initial: 16, maxLimit: 16)
        for _ in 1...16 { pace.didStart(now: .zero) }
        for _ in 1...16 { pace.didObject(after: .seconds(1), now: .seconds(1)) }
        #expect(pace.limit == 8)
        #expect(pace.runningCount == 0)
        #expect(pace.startableCount(now: .seconds(1)) == 8)
        pace.didStart(now: .seconds(2))
        pace.didObject(after: .seconds(1), now: .seconds(3))
        #expect(pace.limit == 4)
    }

    @Test func `responses to requests sent before an objection do not raise the limit`() {
        var pace = HostPace(initial: 4, maxLimit: 16)
        for _ in 1...4 { pace.didStart(now: .zero) }
        pace.didObject(after: .seconds(1), now: .seconds(1))
        for _ in 1...3 { pace.didRespond(after: .seconds(2), now: .seconds(2)) }
        #expect(pace.limit == 2)
    }

    @Test(arguments: [
        (Duration.seconds(7), Duration.seconds(8)), (.seconds(300), .seconds(301)),
        (.seconds(4000), .seconds(301)),
    ])
    func `Retry-After pauses the host, for at most the maximum`(asked: Duration, start: Duration) {
        var pace = HostPace(maxLimit: 16)
        pace.didStart(now: .zero)
        pace.didObject(after: .seconds(1), retryAfter: asked, now: .seconds(1))
        #expect(pace.startableCount(now: .seconds(1)) == 0)
        #expect(pace.nextStart == start)
        #expect(pace.startableCount(now: start) == 2)
    }

    @Test func `a minimum interval allows one request at a time`() {
        var pace = HostPace(maxLimit: 16)
        pace.setMinInterval(.seconds(2))
        #expect(pace.startableCount(now: .zero) == 1)
        pace.didStart(now: .zero)
        #expect(pace.startableCount(now: .seconds(5)) == 0)
        #expect(pace.nextStart == nil)
        pace.didRespond(after: .milliseconds(100), now: .milliseconds(100))
        #expect(pace.startableCount(now: .seconds(1)) == 0)
        #expect(pace.nextStart == .seconds(2))
        #expect(pace.startableCount(now: .seconds(2)) == 1)
        // A reused response is no request to the host, so that the next request need not wait.
        for _ in 1...3 {
            pace.didStart(now: .seconds(2))
            #expect(pace.startableCount(now: .seconds(2)) == 0)
            pace.didReuse()
            #expect(pace.startableCount(now: .seconds(2)) == 1)
        }
        pace.didStart(now: .seconds(2))
        pace.didRespond(after: .milliseconds(100), now: .seconds(3))
        #expect(pace.startableCount(now: .seconds(3)) == 0)
    }

    @Test func `reused responses do not change the pace`() {
        var pace = HostPace(maxLimit: 16)
        for _ in 1...20 {
            pace.didStart(now: .zero)
            pace.didReuse()
        }
        #expect(pace.startableCount(now: .zero) == 4)
        #expect(pace.nextStart == .zero)
    }

    @Test func `raising the maximum lets the limit grow`() {
        var pace = HostPace(initial: 4, maxLimit: 4)
        pace.raiseMaxLimit(to: 32)
        for _ in 1...100 {
            pace.didStart(now: .zero)
            pace.didRespond(after: .milliseconds(1), now: .zero)
        }
        #expect(pace.limit == 32)
    }

    @Test func `a multiplexing host gets many requests at once, unless it objected`() {
        var pace = HostPace(maxLimit: 16)
        pace.raiseMaxLimit(to: 96)
        #expect(pace.startableCount(now: .zero) == 32)
        pace = HostPace(maxLimit: 16)
        pace.didStart(now: .zero)
        pace.didObject(after: .zero, now: .zero)
        pace.raiseMaxLimit(to: 96)
        #expect(pace.limit == 2)
        pace = HostPace(maxLimit: 2)
        pace.raiseMaxLimit(to: 12)
        #expect(pace.limit == 12)
        pace.lowerMaxLimit(to: 2)
        #expect(pace.limit == 2)
        for _ in 1...100 {
            pace.didStart(now: .zero)
            pace.didRespond(after: .milliseconds(1), now: .zero)
        }
        #expect(pace.limit == 2)
        pace.raiseMaxLimit(to: 12)
        #expect(pace.limit == 12)
    }

    @Test func `a fast host with varying latency reaches the maximum`() {
        var host = SimulatedHost()
        var noise = Noise()
        host.fetch(2000) { _, _ in (.microseconds(100 + Int(noise.next() * 20_000)), .page) }
        #expect(host.pace.limit == 16)
        // 10 ms per response on average, 16 requests at once.
        #expect(host.now < .seconds(2000 * 0.01 / 16 * 1.1))
    }

    @Test func `rare slow responses do not reduce the limit`() {
        var host = SimulatedHost()
        var noise = Noise()
        host.fetch(2000) { _, _ in
            let isSlow = noise.next() < 0.02
            return (.milliseconds(isSlow ? 3000 : 80 + Int(noise.next() * 40)), .page)
        }
        #expect(host.pace.limit == 16)
    }

    @Test func `responses of very different duration do not reduce the limit`() {
        var host = SimulatedHost()
        var noise = Noise()
        host.fetch(5000) { _, _ in
            // Durations from 1 to 1,000 ms, most of them short.
            (.microseconds(Int(1000.0 / max(0.001, noise.next()))), .page)
        }
        #expect(host.pace.limit >= 12)
    }

    @Test func `rising latency keeps the limit near the host's capacity`() {
        var host = SimulatedHost(pace: HostPace(maxLimit: 64))
        var free = [Duration](repeating: .zero, count: 6)
        var noise = Noise()
        host.fetch(3000) { now, _ in
            let worker = free.indices.min { free[$0] < free[$1] } ?? 0
            let end = max(now, free[worker]) + .milliseconds(90 + Int(noise.next() * 20))
            free[worker] = end
            return (end - now, .page)
        }
        #expect(host.objections == 0)
        #expect(host.now < .seconds(3000 * 0.1 / 6 * 1.1))
        #expect(host.pace.limit >= 6 && host.pace.limit <= 16)
        let late = host.latencies.suffix(1000).reduce(.zero, +) / 1000
        #expect(late < .milliseconds(250))
    }

    @Test func `a permanently slower site regains the full limit`() {
        var host = SimulatedHost()
        var noise = Noise()
        host.fetch(500) { _, _ in (.milliseconds(60 + Int(noise.next() * 20)), .page) }
        host.fetch(3000) { _, _ in (.milliseconds(300 + Int(noise.next() * 100)), .page) }
        #expect(host.pace.limit == 16)
    }

    @Test(arguments: [nil, Duration.seconds(1)])
    func `a host with a concurrency limit refuses few requests`(retryAfter: Duration?) {
        var host = SimulatedHost()
        host.fetch(5000) { _, running in
            running < 6 ? (.milliseconds(100), .page) : (.milliseconds(5), .refusal(retryAfter: retryAfter))
        }
        #expect(host.objections < 50)
        #expect(host.now < .seconds(5000 * 0.1 / 6 * 1.4))
    }

    @Test func `a host with a rate limit is used at that rate`() {
        var host = SimulatedHost()
        var second: Int64 = 0
        var granted = 0
        host.fetch(1000) { now, _ in
            if now.components.seconds != second {
                second = now.components.seconds
                granted = 0
            }
            granted += 1
            return granted <= 20
                ? (.milliseconds(10), .page) : (.milliseconds(2), .refusal(retryAfter: .seconds(1)))
        }
        // In each second, at least one refusal is needed to find the limit.
        #expect(host.objections < 1000 / 20 * 2)
        #expect(host.now < .seconds(1000 / 20 * 2))
    }

    @Test func `a host that is down gets few requests, and many again when it is back`() {
        var host = SimulatedHost()
        let outage = Duration.seconds(10)..<Duration.seconds(70)
        host.fetch(5000) { now, _ in
            outage.contains(now) ? (.milliseconds(1), .refusal(retryAfter: nil)) : (.milliseconds(100), .page)
        }
        #expect(!host.pace.isHopeless)
        // 16 + 8 + 4 + 2 + 1 refusals until the limit is one request; then one for each pause.
        #expect(host.objections < 42)
        #expect(host.pace.limit == 16)
        // 31 s for the pages, 60 s of outage, and at most one more pause of 30 s.
        #expect(host.now < .seconds(31 + 60 + 30 + 5))
    }

    @Test func `a host that stays down is given up`() {
        var host = SimulatedHost()
        host.fetch(100) { _, _ in (.milliseconds(1), .refusal(retryAfter: nil)) }
        #expect(host.pace.isHopeless)
        #expect(host.objections < 20)
        #expect(host.now > .seconds(120) && host.now < .seconds(300))
    }

    @Test func `Crawl-delay is the exact minimum between starts`() {
        var pace = HostPace(maxLimit: 16)
        pace.setMinInterval(.milliseconds(500))
        var host = SimulatedHost(pace: pace)
        host.fetch(20) { now, _ in (.milliseconds(now < .seconds(5) ? 20 : 700), .page) }
        #expect(host.maxRunningRequests == 1)
        #expect(zip(host.starts, host.starts.dropFirst()).allSatisfy { $1 - $0 >= .milliseconds(500) })
        #expect(host.starts[10] == .seconds(5))
    }
}
