import Testing
import Web

@Suite struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2026-01-31T12:00:00Z", 1_769_860_800), ("1969-12-31T23:59:59Z", -1),
    ])
    func `a point in time has a text in ISO 8601, from which it can be created`(text: String, seconds: Int64)
    {
        #expect(Timestamp(secondsSinceEpoch: seconds).description == text)
        #expect(Timestamp(text) == Timestamp(secondsSinceEpoch: seconds))
    }

    @Test(arguments: [
        ("2026-01-31", "2026-01-31T00:00:00Z"), ("2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00Z"),
    ])
    func `a text without a time or in another zone is accepted`(text: String, date: String) {
        #expect(Timestamp(text)?.description == date)
    }

    @Test(arguments: ["", "today", "2026-13-01", "1769860800s"])
    func `a text that is no date is rejected`(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test(arguments: [(Int64.min, "0001-01-01T00:00:00Z"), (.max, "9999-12-31T23:59:59Z")])
    func `every point in time has a text`(seconds: Int64, text: String) {
        #expect(Timestamp(secondsSinceEpoch: seconds).description == text)
    }

    @Test func `points in time are ordered`() {
        #expect(Timestamp(secondsSinceEpoch: 1) < Timestamp(secondsSinceEpoch: 2))
        #expect(!(Timestamp(secondsSinceEpoch: 2) < Timestamp(secondsSinceEpoch: 2)))
    }
}
