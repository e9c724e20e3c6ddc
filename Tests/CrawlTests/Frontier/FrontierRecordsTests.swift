import Testing

@testable import Crawl

@Suite struct FrontierRecordsTests {
    /// A crawl may discover millions of URLs. The record is part of the 149 bytes per URL of docs/scale.md.
    @Test func `the record of a URL takes 28 bytes, and the state that few URLs have 40`() {
        #expect(MemoryLayout<Frontier.EntryRecord>.stride == 28)
        #expect(MemoryLayout<Frontier.RareState>.stride == 40)
    }

    @Test func `a table stores each reason once, and reasons beyond its capacity by entry`() {
        var table = ReasonTable<Failure>()
        let count = 70_000
        let places = (0..<count).map { table.insert(.status($0), for: UInt32($0)) }
        #expect(places.count { $0 == .max } == count - Int(UInt16.max))
        #expect((0..<count).allSatisfy { table.reason(places[$0], of: UInt32($0)) == .status($0) })
        let last = UInt32(count - 1)
        #expect(table.insert(.status(7), for: last) == places[7])
        #expect(table.reason(.max, of: last) == nil)
    }
}
