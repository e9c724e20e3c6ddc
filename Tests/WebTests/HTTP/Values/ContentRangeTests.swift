import Testing

@testable import Web

struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-99/1234", 0..<100, 1234), ("Bytes  5-5/6", 5..<6, 6), ("bytes 0-99/*", 0..<100, nil),
            ("bytes */1234", nil, 1234),
        ] as [(String, Range<Int>?, Int?)]) func `a range is read`(text: String, range: Range<Int>?, total: Int?) throws
    {
        let found = try #require(ContentRange(text))
        #expect(found.range == range)
        #expect(found.total == total)
        #expect(ContentRange(found.text) == found)
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-99", "bytes 5-4/10", "bytes 0-10/10", "bytes */*", "items 0-1/2", "bytes a-b/c",
        "bytes 0-9223372036854775807/*", "bytes 0-99999999999999999999/*", "bytes 0-1/2x", "bytes -1/2", "bytes 0-/2",
    ]) func `what makes no sense is refused`(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
