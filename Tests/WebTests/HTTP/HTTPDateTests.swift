import Testing

@testable import Web

struct HTTPDateTests {
    private static let sunday: Int64 = 784_111_777

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
        "Mon, 06 Nov 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 gmt", "Sun, 06 November 1994 8:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37", "  Sun , 06 Nov 1994 08:49:37  GMT ", "Sun, 06 Nov 1994 09:49:37 +0100",
        "Sun, 06 Nov 1994 00:49:37 PST", "Nov 6 1994 08:49:37",
        "Sun, 06 Nov 1994 03:49:37 -0500 (UTC, they say)",
        "Sun Nov 06 1994 09:49:37 GMT+0100 (CET)",
    ]) func `all date formats in use are parsed to the same time`(text: String) {
        #expect(HTTPDate(text)?.secondsSinceEpoch == Self.sunday)
    }

    @Test(arguments: [
        "", "0", "-1", "now", "Sun, 06 Nov 1994", "08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 00:00:00 GMT", "06 Nov 1994 08:49:37 08:49:37",
        "06 07 08 Nov 1994 08:49:37", "Nov Nov 6 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 +9999",
        "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 (GMT",
        "Sun; 06 Nov 1994 08:49:37 GMT",
        String(repeating: " ", count: 200) + "Sun, 06 Nov 1994 08:49:37 GMT",
    ]) func `a text that is no date is rejected`(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test(
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
            (sunday, "Sun, 06 Nov 1994 08:49:37 GMT"),
        ] as [(Int64, String)]) func `a time survives a round trip through its text`(
            seconds: Int64, text: String
        )
    {
        #expect(HTTPDate(secondsSinceEpoch: seconds).text == text)
        #expect(HTTPDate(text)?.secondsSinceEpoch == seconds)
    }

    /// The preferred format has a fast path.
    @Test func `a text similar to the preferred format is parsed by the general parser`() {
        var generator = TestRandom(seed: 1)
        let usual = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)
        let likely = Array("0123456789 ,:-GMTSunMonNovJanFeb".utf8)
        for _ in 0..<50_000 {
            var bytes = usual
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[index] = likely.randomElement(using: &generator) ?? 0
            }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(HTTPDate(text) == HTTPDate(utf8: bytes, now: nil), "\(text)")
        }
    }

    @Test func `consecutive days of two thousand years have consecutive numbers`() {
        var civil = CivilDate(year: 1000, month: 1, day: 1)
        var number = civil.daysSinceEpoch
        while civil.year < 3000 {
            civil.day += 1
            if civil.day > CivilDate.days(in: civil.month, of: civil.year) {
                (civil.month, civil.day) = (civil.month + 1, 1)
            }
            if civil.month > 12 { (civil.year, civil.month) = (civil.year + 1, 1) }
            number += 1
            let back = CivilDate(secondsSinceEpoch: Int64(number) * 86_400)
            if civil.daysSinceEpoch != number
                || (back.year, back.month, back.day) != (civil.year, civil.month, civil.day)
            {
                Issue.record("\(civil)")
            }
        }
    }

    @Test func `days of four centuries survive a round trip through their text`() {
        for day in stride(from: Int64(-60_000), to: 90_000, by: 11) {
            let date = HTTPDate(secondsSinceEpoch: day * 86_400 + 3_599)
            if HTTPDate(date.text) != date || HTTPDate(iso8601: date.iso8601) != date {
                Issue.record("\(date)")
            }
        }
    }

    @Test(
        arguments: [
            (94, nil, 1994), (69, nil, 2069), (70, nil, 1970), (94, 2026, 1994), (75, 2026, 2075),
            (77, 2026, 1977),
            (26, 2026, 2026), (0, 1999, 2000), (49, 1999, 1949), (48, 1999, 2048), (50, 1999, 1950),
            (30, 2090, 2130),
        ] as [(Int, Int?, Int)]) func `a year with two digits is at most fifty years ahead`(
            digits: Int, now: Int?, year: Int
        ) throws
    {
        let today = now.flatMap { HTTPDate("Sun, 01 Jul \($0) 00:00:00 GMT") }
        let date = try #require(
            HTTPDate("Sunday, 06-Nov-\(CivilDate.padded(digits, 2)) 08:49:37 GMT", now: today))
        #expect(CivilDate(secondsSinceEpoch: date.secondsSinceEpoch).year == year)
    }

    @Test func `a date exactly fifty years ahead is in the future`() {
        let now = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT")
        let later = HTTPDate("Sunday, 06-Nov-44 08:49:37 GMT", now: now)
        #expect(later?.text == "Sun, 06 Nov 2044 08:49:37 GMT")
        #expect(HTTPDate("Sunday, 06-Nov-44 08:49:38 GMT", now: now)?.text == "Mon, 06 Nov 1944 08:49:38 GMT")
    }

    @Test(
        arguments: [
            ("1994-11-06T08:49:37Z", sunday), ("1994-11-06T08:49:37.123+00:00", sunday),
            ("1994-11-06T09:49:37+01:00", sunday), ("1994-11-06 03:49:37-0500", sunday),
            ("1994-11-06T08:49:37", sunday),
            ("1994-11-06T08:49Z", sunday - 37), ("1994-11-06", 784_080_000), ("1994-11", 783_648_000),
            ("1994", 757_382_400),
            ("", nil), ("94-11-06", nil), ("1994-13-06", nil), ("1994-11-06T", nil), ("1994-11-06T08", nil),
            ("1994-11-06T08:49:37X", nil), ("1994-11-06T08:49:37+1", nil), ("1994-11-06T08:49:37.", nil),
        ] as [(String, Int64?)]) func `ISO 8601 dates are parsed`(text: String, seconds: Int64?)
    {
        #expect(HTTPDate(iso8601: text)?.secondsSinceEpoch == seconds)
    }

    @Test(
        arguments: [
            ("1994-11-06T08:49:37Z", sunday), ("1994-11-06t08:49:37z", sunday),
            ("1994-11-06T08:49:37.123456+00:00", sunday), ("1994-11-06T09:49:37+01:00", sunday),
            ("1994-11-06T08:49:37-00:00", sunday),
            ("", nil), ("1994-11-06", nil), ("1994-11-06T08:49:37", nil), ("1994-11-06T08:49Z", nil),
            ("1994-11-06 08:49:37Z", nil), ("1994-11-06T08:49:37.Z", nil), ("1994-11-06T08:49:37,5Z", nil),
            ("1994-11-06T08:49:37,12345", nil), ("1994-11-06T08:49:37+0100", nil),
            ("1994-11-06T08:49:37+01", nil), ("1994-11-06T08:49:37ZZ", nil), ("1994-13-06T08:49:37Z", nil),
            ("1994-11-06T24:49:37Z", nil), ("1994-11-06T08:49:37+01:0x", nil), ("01994-11-06T08:49:37Z", nil),
            (" 1994-11-06T08:49:37Z", nil),
        ] as [(String, Int64?)]) func `only whole times of RFC 3339 with a zone are parsed`(
            text: String, seconds: Int64?
        )
    {
        #expect(HTTPDate(rfc3339: text)?.secondsSinceEpoch == seconds)
    }

    @Test func `times are clamped to the years 1 to 9999`() {
        #expect(HTTPDate(secondsSinceEpoch: .max).text == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(
            HTTPDate(secondsSinceEpoch: 0).adding(seconds: .max).text == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate(secondsSinceEpoch: -5).adding(seconds: .min) < HTTPDate(secondsSinceEpoch: -5))
    }
}

struct RetryAfterTests {
    @Test(
        arguments: [
            ("120", 120), (" 0 ", 0), ("999999999999999999999", 1 << 31),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sun, 06 Nov 1994 08:48:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 1 << 31), ("-1", nil),
            ("soon", nil),
            ("", nil), ("1.5", nil),
        ] as [(String, Int?)]) func `Retry-After is converted to a delay from now`(
            text: String, expected: Int?
        ) throws
    {
        let now = try #require(HTTPDate("Sun, 06 Nov 1994 08:49:00 GMT"))
        let fields: HTTPFields = ["Retry-After": text]
        #expect(RetryAfter(fields, now: now)?.delay(now: now) == expected.map { .seconds($0) })
        #expect(RetryAfter([:], now: now) == nil)
    }
}
