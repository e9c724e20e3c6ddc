import Testing

@testable import Web

struct RetryAfterTests {
    @Test(
        arguments: [
            ("120", 120), (" 0 ", 0), ("999999999999999999999", 1 << 31), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sun, 06 Nov 1994 08:48:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 1 << 31), ("-1", nil),
            ("soon", nil),
            ("", nil), ("1.5", nil),
        ] as [(String, Int?)]) func `the delay is counted from now`(text: String, expected: Int?) throws
    {
        let now = try #require(HTTPDate("Sun, 06 Nov 1994 08:49:00 GMT"))
        #expect(RetryAfter(text, now: now)?.delay(now: now) == expected)
    }
}
