import Testing

@testable import Crawl

@Suite struct TimedQueueTests {
    @Test func `numbers are returned in the order of their times, and none early`() {
        var queue = TimedQueue()
        var random = SeededRandom(seed: 1)
        var expected: [Int] = []
        for number in 0..<2000 {
            let time = Int(random.next() % 500)
            queue.add(UInt32(number), at: .milliseconds(time))
            expected.append(time)
        }
        let times = expected
        expected.sort()
        var popped: [Int] = []
        while let next = queue.next {
            #expect(queue.popDue(now: next - .microseconds(1)) == nil)
            while let number = queue.popDue(now: next) { popped.append(times[Int(number)]) }
        }
        #expect(popped == expected)
        #expect(queue.isEmpty)
    }

    @Test func `after removeAll the remaining numbers are in order`() {
        var queue = TimedQueue()
        for number in 0..<300 { queue.add(UInt32(number), at: .milliseconds(number * 7919 % 300)) }
        queue.removeAll { $0 % 3 != 0 }
        var times: [Int] = []
        while let number = queue.popDue(now: .seconds(1)) { times.append(Int(number) * 7919 % 300) }
        #expect(times.count == 100)
        #expect(times == times.sorted())
    }
}

/// The same numbers in every run.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 1
        return Mixing.mix(state)
    }
}
