import Testing

@testable import Crawl

@Suite struct LatencyTests {
    /// A number of consecutive responses with the same latency.
    typealias Responses = (count: Int, milliseconds: Int)

    @Test(
        arguments: [
            ([], .low),
            ([(1, 100)], .low),
            ([(3, 100), (1, 5000)], .low),
            ([(32, 1), (99, 45)], .low),
            ([(32, 100), (99, 140)], .low),
            ([(32, 100), (99, 180)], .raised),
            ([(32, 100), (99, 250)], .high),
            ([(32, 100), (2, 30_000)], .low),
            ([(32, 100), (16, 30_000)], .high),
        ] as [([Responses], Latency.Judgement)])
    func `latency is high if most responses take twice the best time`(
        responses: [Responses], judgement: Latency.Judgement
    ) {
        var latency = Latency()
        for (count, milliseconds) in responses {
            for _ in 0..<count { latency.add(.milliseconds(milliseconds)) }
        }
        #expect(latency.judgement == judgement)
    }
}
