import Testing

@testable import Crawl

@Suite struct FairQueueTests {
    private static func drain(_ queue: inout FairQueue, _ count: Int = .max) -> [UInt32] {
        var numbers: [UInt32] = []
        while numbers.count < count, let number = queue.popFirst() { numbers.append(number) }
        return numbers
    }

    @Test func `a small site is fetched in the order of discovery`() {
        var queue = FairQueue()
        for number in 0..<60 { queue.append(UInt32(number), urlKind: UInt64(number % 3)) }
        #expect(Self.drain(&queue) == (0..<60).map(UInt32.init))
        #expect(queue.popFirst() == nil)
        #expect(queue.count == 0)
    }

    @Test func `a late URL does not wait behind thousands of one kind`() {
        var queue = FairQueue()
        for number in 0..<10_000 { queue.append(UInt32(number), urlKind: 1) }
        _ = Self.drain(&queue, 5000)
        for number in 10_000..<10_100 { queue.append(UInt32(number), urlKind: 2) }
        let next = Self.drain(&queue, 250)
        #expect(next.count { $0 >= 10_000 } == 100)
    }

    @Test func `kinds with few URLs share the turns of one group`() {
        var queue = FairQueue()
        for number in 0..<20_000 { queue.append(UInt32(number), urlKind: UInt64(1000 + number)) }
        for number in 20_000..<22_000 { queue.append(UInt32(number), urlKind: 7) }
        #expect(Self.drain(&queue, 5000).count { $0 >= 20_000 } >= 1900)
    }

    @Test func `two kinds take turns, each in its own order`() {
        var queue = FairQueue()
        for number in 0..<4000 { queue.append(UInt32(number), urlKind: UInt64(number % 2)) }
        let order = Self.drain(&queue, 2000)
        #expect((900...1100).contains(order.count { $0 % 2 == 0 }))
        let even = order.filter { $0 % 2 == 0 }.dropFirst(100)
        #expect(even.elementsEqual(even.sorted()))
    }

    @Test func `popLast returns the latest URL`() {
        var queue = FairQueue()
        for number in 0..<100 { queue.append(UInt32(number), urlKind: 1) }
        #expect(queue.popLast() == 99)
        #expect(queue.count == 99)
        #expect(queue.popFirst() == 0)
    }

    @Test(arguments: [
        ("http://a.test/p/1", "http://a.test/p/20", true), ("http://a.test/p/1", "http://a.test/q/1", false),
        ("http://a.test/p/1.html", "http://a.test/p/2.html", true),
        ("http://a.test/p/1", "http://a.test/p/1.html", false),
        ("http://a.test/2024/1/x", "http://a.test/2031/12/y", true),
        ("http://a.test/s?q=a&p=1", "http://a.test/s?q=b&p=22", true),
        ("http://a.test/s?q=a", "http://a.test/s?p=a", false),
        ("http://a.test/p/", "http://b.test/p/", false),
    ])
    func `URLs of one folder, type and parameters are of one kind`(one: String, other: String, isKin: Bool) {
        func urlKind(_ text: String) -> UInt64 { Array(text.utf8).withUnsafeBufferPointer(URLKinds.kind) }
        #expect((urlKind(one) == urlKind(other)) == isKin)
    }
}
