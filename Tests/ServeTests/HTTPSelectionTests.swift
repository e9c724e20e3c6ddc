import Testing
import Web

@testable import Serve

@Suite struct HTTPSelectionTests {
    private static let tag = "\"v1\""
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let before = "Sat, 05 Nov 1994 08:49:37 GMT"
    private static let after = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let later = HTTPDate(secondsSinceEpoch: 2_000_000_000)

    private func answer(_ status: Int = 200, tag: String? = tag, modified: String? = modified, count: Int = 1000)
        -> Answer
    {
        var fields: [(name: String, value: String)] = [("Content-Type", "text/plain")]
        if let tag { fields.append(("ETag", tag)) }
        if let modified { fields.append(("last-modified", modified)) }
        return Answer(status: status, fields: fields, body: [UInt8](repeating: 0x61, count: count))
    }

    private func select(_ answer: Answer, _ method: String, _ fields: [(String, String)]) -> Selection {
        let fields = HTTPFields(fields.map { HTTPFields.Field(name: $0.0, value: $0.1) })
        return Selection(of: answer, method: method, fields: fields, now: Self.later)
    }

    @Test(arguments: [
        ("If-None-Match", tag, Selection.notModified), ("If-None-Match", "W/\"v1\"", .notModified),
        ("If-None-Match", "\"v0\", \(tag)", .notModified), ("If-None-Match", "*", .notModified),
        ("If-None-Match", "\"v2\"", .whole), ("If-None-Match", "\"xv1\"", .whole),
        ("If-Modified-Since", modified, .notModified), ("If-Modified-Since", before, .whole),
        ("If-Modified-Since", "nonsense", .whole),
        ("If-Match", tag, .whole), ("If-Match", "*", .whole), ("If-Match", "\"v2\"", .failed),
        ("If-Match", "W/\"v1\"", .failed),
        ("If-Unmodified-Since", modified, .whole), ("If-Unmodified-Since", after, .whole),
        ("If-Unmodified-Since", before, .failed),
    ])
    func `a condition is held against the answer's tag and date`(name: String, value: String, expected: Selection) {
        #expect(select(answer(), "GET", [(name, value)]) == expected)
        #expect(select(answer(), "HEAD", [(name, value)]) == expected)
        // A condition counts only for what would be a success without it.
        #expect(select(answer(404), "GET", [(name, value)]) == .whole)
        #expect(select(answer(302), "GET", [(name, value)]) == .whole)
    }

    @Test func `a tag counts for more than a date`() {
        let fields = [("If-None-Match", "\"v2\""), ("If-Modified-Since", Self.modified)]
        #expect(select(answer(), "GET", fields) == .whole)
        #expect(select(answer(), "POST", [("If-None-Match", Self.tag)]) == .failed)
        #expect(select(answer(tag: "W/\"v1\""), "GET", [("If-None-Match", Self.tag)]) == .notModified)
        #expect(select(answer(tag: nil, modified: nil), "GET", [("If-Modified-Since", Self.modified)]) == .whole)
    }

    @Test(arguments: [
        ("bytes=0-99", Selection.parts([0..<100])), ("bytes=900-", .parts([900..<1000])),
        ("bytes=-100", .parts([900..<1000])), ("bytes=-5000", .parts([0..<1000])),
        ("bytes=990-5000", .parts([990..<1000])), ("bytes=0-", .parts([0..<1000])),
        ("bytes=1000-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=5000-6000, 7000-", .unsatisfiable),
        ("bytes=0-0, 500-599", .parts([0..<1, 500..<600])), ("bytes=500-599, 0-0", .parts([500..<600, 0..<1])),
        // Near enough to be one.
        ("bytes=0-9, 20-29", .parts([0..<30])), ("bytes=20-29, 0-9", .parts([0..<30])),
        ("bytes=0-99, 50-149", .parts([0..<150])), ("bytes=0-0, 1000-", .parts([0..<1])),
        // More trouble than the whole.
        ("bytes=0-399, 600-999", .whole),
        ("bytes=\((0..<40).map { "\($0 * 20)-\($0 * 20)" }.joined(separator: ","))", .whole),
        ("items=0-9", .whole), ("bytes=9-0", .whole), ("bytes=", .whole), ("bytes=a-b", .whole),
        ("bytes 0-9", .whole), ("bytes=99999999999999999999-", .unsatisfiable),
    ])
    func `a range is answered with the parts that there are, and with no more than the whole`(
        range: String, expected: Selection
    ) {
        #expect(select(answer(), "GET", [("Range", range)]) == expected)
        #expect(select(answer(), "HEAD", [("Range", range)]) == .whole)
        #expect(select(answer(404), "GET", [("Range", range)]) == .whole)
        #expect(select(answer(206), "GET", [("Range", range)]) == .whole)
        #expect(select(answer(count: 0), "GET", [("Range", range)]) == .whole)
    }

    @Test(arguments: [
        (tag, true), ("\"v2\"", false), ("W/\"v1\"", false), (modified, true), (before, false), (after, false),
    ])
    func `a range is for the version that it was asked of`(version: String, isPart: Bool) {
        let fields = [("Range", "bytes=0-9"), ("If-Range", version)]
        #expect(select(answer(), "GET", fields) == (isPart ? .parts([0..<10]) : .whole))
        // What does not hold is no failure when it is about the part alone.
        #expect(select(answer(tag: nil, modified: nil), "GET", fields) == .whole)
        #expect(select(answer(), "GET", fields + [("If-None-Match", Self.tag)]) == .notModified)
    }
}
