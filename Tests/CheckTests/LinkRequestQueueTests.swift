import Reports
import Testing

@testable import Check

@Suite struct LinkRequestQueueTests {
    /// The requests that may start at a time.
    private func startable(_ queue: inout LinkRequestQueue, now: Duration = .zero) -> [UInt32] {
        var numbers: [UInt32] = []
        while let number = queue.next(now: now) { numbers.append(number) }
        return numbers
    }

    @Test func `hosts take turns, with two requests each`() {
        var queue = LinkRequestQueue()
        for number in 0..<4 as Range<UInt32> { queue.add(number, to: "a", interval: .zero) }
        for number in 10..<13 as Range<UInt32> { queue.add(number, to: "b", interval: .zero) }
        #expect(startable(&queue) == [0, 10, 1, 11])
        #expect(queue.nextStart == nil)
        queue.didEnd(at: "b")
        #expect(queue.nextStart == .zero)
        #expect(startable(&queue) == [12])
        queue.didEnd(at: "a")
        queue.didEnd(at: "a")
        #expect(startable(&queue) == [2, 3])
        #expect(queue.runningCount == 4)
    }

    @Test func `the number of requests at once is limited`() {
        var queue = LinkRequestQueue()
        for number in 0..<40 as Range<UInt32> { queue.add(number, to: "\(number)", interval: .zero) }
        #expect(startable(&queue).count == LinkRequestQueue.maxRunning)
        #expect(queue.nextStart == nil)
        queue.didEnd(at: "0")
        #expect(startable(&queue) == [32])
    }

    @Test func `requests to one host have a distance`() {
        var queue = LinkRequestQueue()
        queue.add(1, to: "a", interval: .milliseconds(100))
        queue.add(2, to: "a", interval: .milliseconds(100))
        queue.add(3, to: "b", interval: .milliseconds(100))
        #expect(startable(&queue, now: .seconds(1)) == [1, 3])
        #expect(queue.nextStart == .milliseconds(1100))
        #expect(startable(&queue, now: .milliseconds(1099)) == [])
        #expect(startable(&queue, now: .milliseconds(1100)) == [2])
    }

    @Test func `the longest interval counts, from the next start on`() {
        var queue = LinkRequestQueue()
        queue.setInterval(.seconds(5), of: "a")
        for number in 1...3 as ClosedRange<UInt32> {
            queue.add(number, to: "a", interval: .milliseconds(100))
        }
        #expect(startable(&queue) == [1])
        #expect(startable(&queue, now: .seconds(4)) == [])
        #expect(startable(&queue, now: .seconds(5)) == [2])
    }

    @Test func `a pause of a host does not hold up others`() {
        var queue = LinkRequestQueue()
        queue.add(1, to: "a", interval: .zero)
        queue.add(2, to: "b", interval: .zero)
        queue.pause("a", until: .seconds(30))
        queue.pause("a", until: .seconds(20))
        #expect(startable(&queue) == [2])
        #expect(queue.nextStart == .seconds(30))
        #expect(startable(&queue, now: .seconds(30)) == [1])
    }

    @Test func `tens of thousands of hosts all get their turns`() {
        var queue = LinkRequestQueue()
        let count: UInt32 = 20_000
        for number in 0..<count { queue.add(number, to: "\(number)", interval: .milliseconds(100)) }
        var started: [UInt32] = []
        while let number = queue.next(now: .zero) {
            started.append(number)
            queue.didEnd(at: "\(number)")
        }
        #expect(started == Array(0..<count))
        #expect(queue.nextStart == nil)
    }

    @Test func `paused hosts start in the order of the ends of their pauses`() {
        var queue = LinkRequestQueue()
        for number in 0..<100 as Range<UInt32> {
            queue.add(number, to: "\(number)", interval: .zero)
            queue.pause("\(number)", until: .seconds(Int(number * 37 % 101)))
        }
        var started: [UInt32] = []
        for second in 0...101 {
            while let number = queue.next(now: .seconds(second)) {
                started.append(number)
                queue.didEnd(at: "\(number)")
            }
        }
        #expect(started == (0..<100 as Range<UInt32>).sorted { $0 * 37 % 101 < $1 * 37 % 101 })
        #expect(queue.runningCount == 0)
    }
}
