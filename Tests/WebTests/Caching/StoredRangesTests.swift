import Testing

@testable import Web

struct StoredRangesTests {
    private static func part(_ range: String, _ count: Int, tag: String = "\"1\"") -> StoredRanges? {
        StoredRanges(partial: head("Content-Range: bytes \(range)", "ETag: \(tag)"), byteCount: count)
    }

    @Test func `parts of the same version are merged until the body is complete`() throws {
        let first = try #require(Self.part("0-3/10", 4))
        let last = try #require(Self.part("8-9/*", 2))
        let both = try #require(last.merging(first))
        #expect(both.ranges == [0..<4, 8..<10])
        #expect(both.total == 10)
        #expect(!both.isComplete)
        #expect(both.completionRequest == ["Range": "bytes=4-7", "If-Range": "\"1\""])
        #expect(last.completionRequest == ["Range": "bytes=0-7", "If-Range": "\"1\""])
        #expect(first.completionRequest == ["Range": "bytes=4-", "If-Range": "\"1\""])
        let middle = try #require(Self.part("3-8/10", 6))
        let all = try #require(both.merging(middle))
        #expect(all.isComplete)
        #expect(all.ranges == [0..<10])
        #expect(all.completionRequest == nil)
    }

    @Test(
        arguments: [
            ("0-3/10", 4, "\"2\""), ("0-3/10", 4, "W/\"1\""), ("0-3/11", 4, "\"1\""), ("8-11/12", 4, "\"1\""),
        ]) func `parts that may be of different versions are not merged`(
            range: String, count: Int, tag: String
        )
        throws
    {
        let stored = try #require(Self.part("5-9/10", 5))
        let other = try #require(Self.part(range, count, tag: tag))
        #expect(stored.merging(other) == nil)
        #expect(other.merging(stored) == nil)
    }

    @Test func `a body without a strong entity tag cannot be completed`() throws {
        let weak = try #require(Self.part("0-3/10", 4, tag: "W/\"1\""))
        #expect(weak.merging(weak) == nil)
        #expect(weak.completionRequest == nil)
    }

    @Test(arguments: [("0-3/10", 5), ("*/10", 4), ("3-0/10", 4), ("0-3/2", 4), ("x", 1)])
    func `a part without a valid Content-Range or of another length is rejected`(range: String, count: Int) {
        #expect(Self.part(range, count) == nil)
    }

    @Test(
        arguments: [
            ("bytes=4-9", true), ("bytes=6-8", true), ("bytes=6-", true), ("bytes=-1", true),
            ("bytes=-7", false),
            ("bytes=3-5", false), ("bytes=0-", false), ("bytes=4-5,8-9", true), ("bytes=4-5,0-0", false),
            ("bytes=10-", false),
        ]) func `stored ranges contain a requested range only completely`(text: String, isStored: Bool) throws
    {
        let stored = try #require(Self.part("4-9/10", 6))
        #expect(stored.contains(try #require(ByteRanges(text))) == isStored)
    }
}
