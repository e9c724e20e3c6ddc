import Testing

@testable import Web

struct ByteRangesTests {
    @Test(
        arguments: [
            ("bytes=0-4", [0..<5]), ("bytes=5-", [5..<10]), ("bytes=-3", [7..<10]), ("bytes=0-0", [0..<1]),
            ("bytes=9-9", [9..<10]), ("bytes=9-99", [9..<10]), ("bytes=-99", [0..<10]),
            ("BYTES=0-4", [0..<5]),
            ("bytes=0-1, 4-5,-1", [0..<2, 4..<6, 9..<10]), ("bytes=8-9,0-1", [8..<10, 0..<2]),
            ("bytes=,0-1,,", [0..<2]),
            ("bytes=0-5,3-7", [0..<8]), ("bytes=0-9,0-9,0-9", [0..<10]), ("bytes=10-", []), ("bytes=-0", []),
            ("bytes=10-20,0-0", [0..<1]), ("bytes=0-99999999999999999999", [0..<10]),
            ("bytes=99999999999999999999-", []), ("bytes=-99999999999999999999", [0..<10]),
            ("bytes=9223372036854775807-9223372036854775807", []),
        ] as [(String, [Range<Int>])])
    func `ranges are clamped to the length of the body`(text: String, expected: [Range<Int>]) throws {
        #expect(try #require(ByteRanges(text)).resolved(in: 10) == expected)
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=-", "bytes=5-3", "bytes=a-b", "bytes=0-1;2", "bytes 0-1", "items=0-1",
        "bytes=0 -1",
        "bytes=0-1 2-3", "bytes=+0-1", "bytes=0--1", "bytes=" + String(repeating: "0-0,", count: 33),
    ]) func `a malformed Range field requests the whole body`(text: String) {
        #expect(ByteRanges(text) == nil)
    }

    @Test func `an empty body has no ranges`() throws {
        #expect(try #require(ByteRanges("bytes=0-,-5")).resolved(in: 0).isEmpty)
    }
}

struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-99/1234", 0..<100, 1234), ("Bytes  5-5/6", 5..<6, 6), ("bytes 0-99/*", 0..<100, nil),
            ("bytes */1234", nil, 1234),
        ] as [(String, Range<Int>?, Int?)]) func `a Content-Range is parsed`(
            text: String, range: Range<Int>?, total: Int?
        ) throws
    {
        let found = try #require(ContentRange(text))
        #expect(found.range == range)
        #expect(found.total == total)
        #expect(ContentRange(found.text) == found)
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-99", "bytes 5-4/10", "bytes 0-10/10", "bytes */*", "items 0-1/2", "bytes a-b/c",
        "bytes 0-9223372036854775807/*", "bytes 0-99999999999999999999/*", "bytes 0-1/2x", "bytes -1/2",
        "bytes 0-/2",
    ]) func `a contradictory Content-Range is rejected`(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
