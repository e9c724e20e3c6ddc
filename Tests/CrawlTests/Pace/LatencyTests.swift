import Testing

@testable import Crawl

@Suite struct LatencyTests {
    private func judged(_ milliseconds: [Int]) -> Latency.Judgement {
        var latency = Latency()
        for number in milliseconds { latency.add(.milliseconds(number)) }
        return latency.judgement
    }

    @Test(arguments: [
        ([], Latency.Judgement.low),
        ([100], .low),
        ([100, 100, 100, 5000], .low),
        (Array(repeating: 1, count: 32) + Array(repeating: 45, count: 99), .low),
        (Array(repeating: 100, count: 32) + Array(repeating: 140, count: 99), .low),
        (Array(repeating: 100, count: 32) + Array(repeating: 180, count: 99), .raised),
        (Array(repeating: 100, count: 32) + Array(repeating: 250, count: 99), .high),
        (Array(repeating: 100, count: 32) + Array(repeating: 30_000, count: 2), .low),
        (Array(repeating: 100, count: 32) + Array(repeating: 30_000, count: 16), .high),
    ])
    func `it is high when most answers take twice as long as they could`(
        milliseconds: [Int], judgement: Latency.Judgement
    ) {
        #expect(judged(milliseconds) == judgement)
    }
}
