import Testing

/// RFC 9111, section 4.2: the lifetime of stored responses, tested over sockets.
@Suite struct FreshnessCases {
    @Test(arguments: [
        CacheCase("fresh until max-age is over", .load("Cache-Control: max-age=60"), .held(59), .asks(60)),
        CacheCase("max-age=0 is stale at once", .load("Cache-Control: max-age=0"), .asks()),
        CacheCase(
            "fresh until Expires is reached", .load("Date: @+0", "Expires: @+60"), .held(59), .asks(60)),
        CacheCase(
            "Expires without Date counts from the response time", .load("Expires: @+60"), .held(59), .asks(60)
        ),
        CacheCase("Expires at the Date", .load("Date: @+0", "Expires: @+0"), .asks()),
        CacheCase("Expires in the past", .load("Date: @+0", "Expires: @-60"), .asks()),
        CacheCase(
            "max-age has precedence over a past Expires", .load("Cache-Control: max-age=60", "Expires: @-60"),
            .held(59),
            .asks(60)),
        CacheCase(
            "max-age=0 has precedence over Expires", .load("Cache-Control: max-age=0", "Expires: @+60"),
            .asks()),
        CacheCase(
            "s-maxage has precedence over a shorter max-age", .load("Cache-Control: max-age=1, s-maxage=60"),
            .held(59)),
        CacheCase(
            "s-maxage has precedence over a longer max-age", .load("Cache-Control: s-maxage=1, max-age=60"),
            .asks(1)),
        CacheCase(
            "s-maxage=0 has precedence over max-age", .load("Cache-Control: max-age=60, s-maxage=0"), .asks()),
        CacheCase(
            "s-maxage has precedence over a past Expires",
            .load("Cache-Control: s-maxage=60", "Expires: @-60"),
            .held(59)),
        CacheCase("Age is subtracted", .load("Cache-Control: max-age=60", "Age: 30"), .held(29), .asks(30)),
        CacheCase("Age beyond max-age", .load("Cache-Control: max-age=60", "Age: 90"), .asks()),
        CacheCase(
            "Age is subtracted from Expires too", .load("Date: @+0", "Expires: @+60", "Age: 30"), .held(29),
            .asks(30)),
        CacheCase(
            "an old Date counts as age", .load("Cache-Control: max-age=60", "Date: @-30"), .held(29),
            .asks(30)),
        CacheCase(
            "the greater age of Date and Age counts",
            .load("Cache-Control: max-age=60", "Date: @-50", "Age: 5"),
            .asks(10)),
        CacheCase(
            "a future Date adds no age", .load("Cache-Control: max-age=60", "Date: @+100"), .held(59),
            .asks(60)),
        CacheCase(
            "Expires counts from a future Date", .load("Date: @+100", "Expires: @+160"), .held(59), .asks(60)
        ),
        CacheCase(
            "an invalid Date is replaced by the response time",
            .load("Cache-Control: max-age=60", "Date: foo"), .held(59),
            .asks(60)),
        CacheCase(
            "Age contains the time in the store", .load("Cache-Control: max-age=60"),
            .held(25).getting("Age: 25")),
        CacheCase(
            "Age adds the time in the store", .load("Cache-Control: max-age=60", "Age: 10"),
            .held(25).getting("Age: 35")),
        CacheCase(
            "a clock set back makes no response younger", .load("Cache-Control: max-age=60", "Age: 50"),
            .held(-5),
            .held(9), .asks(10)),
        CacheCase(
            "a fresh response keeps its Date", .load("Cache-Control: max-age=60", "Date: @-3"),
            .held(5).getting("Date: @-3")),
        CacheCase(
            "a response without Date gets its response time", .load("Cache-Control: max-age=60"),
            .held(5).getting("Date: @+0")),
        CacheCase("without a lifetime and validator it is stale at once", .load(), .asks(1)),
        CacheCase(
            "queries are distinguished", .load("Cache-Control: max-age=60"), .asks(1).at("/a?b"), .held(2)),
    ])
    func lifetime(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }

    @Test(arguments: [
        ("0", 0), ("-1", 0), ("", 0), ("soon", 0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 18 Aug 2050 02:01:18 GMT", 60), ("thu, 18 aug 2050 02:01:18 gMT", 60),
        ("Thursday, 18-Aug-50 02:01:18 GMT", 60), ("Thu Aug 18 02:01:18 2050", 60),
        ("Thu, 18 Aug 2050 02:01:18 UTC", 0), ("Thu, 18 Aug 2050 02:01:18 +0100", 0),
        ("Thu, 18 Aug 2050 02:01:18", 0),
        ("Thu, 18  Aug  2050  02:01:18  GMT", 0), ("Thu, 18-Aug-2050 02:01:18 GMT", 0),
        ("Thu 18 Aug 2050 02:01:18 GMT", 0), ("Thu, 18 Aug 50 02:01:18 GMT", 0),
        ("Thu, 18 Aug 2050 2:01:18 GMT", 0), ("Thu, 18 Aug 2050 02.01.18 GMT", 0),
        ("Thu, 99 Aug 2050 02:01:18 GMT", 0),
        ("18 Aug 2050 02:01:18 GMT", 0), ("Thu, 18 Aug 2050", 0), ("2050-08-18T02:01:18Z", 0),
        ("Sun, 21 Nov 9999 04:46:39 GMT", 60),
    ])
    func `an Expires that is not an HTTP date counts as past`(value: String, lasts: Int64) throws {
        try CacheProxy().run([.load("Expires: \(value)"), lasts > 0 ? .held(lasts) : .asks(1)])
    }

    @Test func `several Expires headers count as past`() throws {
        try CacheProxy().run([.load("Expires: @+60", "Expires: @+90"), .asks(1)])
    }

    @Test(arguments: [
        ("0", true), ("59", true), ("60", false), ("0060", false), ("7200", false), ("2147483647", false),
        ("2147483648", false), ("99999999999999999999", false), ("foo", true), ("-7200", true),
        ("7200.5", true),
        ("7200s", true), ("", true), ("7200;foo=bar", true), ("7200, 0", false), ("0, 7200", true),
        ("foo, 7200", true),
    ])
    func `an invalid Age is ignored, and of several values the first counts`(age: String, isFresh: Bool)
        throws
    {
        try CacheProxy().run([.load("Cache-Control: max-age=60", "Age: \(age)"), isFresh ? .held() : .asks()])
    }

    @Test func `the first of two Age headers counts`() throws {
        try CacheProxy().run([.load("Cache-Control: max-age=60", "Age: 0", "Age: 7200"), .held()])
        try CacheProxy().run([.load("Cache-Control: max-age=60", "Age: 7200", "Age: 0"), .asks()])
    }

    @Test(arguments: [
        ("max-age=60", 60), ("MAX-AGE=60", 60), ("MaX-aGe=60", 60), ("max-age=\"60\"", 60),
        ("max-age='60'", 0),
        ("max-age=0060", 60), ("max-age=-60", 0), ("max-age=60.5", 0), ("max-age=a60", 0), ("max-age=60a", 0),
        ("max-age", 0), ("max-age=", 0), ("max-age=2147483648", 1_000_000),
        ("max-age=99999999999999999999", 1_000_000),
        ("max-age=60, max-age=1", 60), ("max-age=1, max-age=60", 1), ("foo, max-age=60", 60),
        ("max-age=60, foo", 60),
        ("foo=bar, max-age=60", 60), ("foo=\"bar, max-age=1\", max-age=60", 60), ("foo=\"max-age=60\"", 0),
        ("foo=\"a\\\", max-age=90, \", max-age=60", 60), (", ,max-age=60, ,", 60),
        ("\tmax-age=60 ,\tpublic", 60),
        ("xmax-age=60", 0), ("max-age=60;foo", 0), ("s-maxage=\"60\", max-age=1", 60),
        ("s-maxage=x, max-age=60", 0),
    ])
    func `directives are parsed by the grammar of Cache-Control`(text: String, lifetime: Int64) throws {
        var steps: [CacheCase.Step] = [.load("Cache-Control: \(text)")]
        if lifetime > 0 { steps.append(.held(lifetime - 1)) }
        if lifetime < 1_000_000 { steps.append(.asks(lifetime)) }
        try CacheProxy().run(steps)
    }

    @Test func `directives of several headers form one list`() throws {
        try CacheProxy().run([
            .load("Cache-Control: public", "Cache-Control: max-age=60"), .held(59), .asks(60),
        ])
        try CacheProxy().run([.load("Cache-Control: max-age=60", "Cache-Control: no-store"), .asks()])
    }

    @Test(arguments: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
    func `a heuristic lifetime is a tenth of the time since the last modification`(status: Int) throws {
        try CacheProxy().run([
            .load("Last-Modified: @-1000", status: status), .held(99, status: status),
            .asks(100, status: status),
        ])
    }

    @Test(arguments: [201, 202, 299, 302, 303, 307, 400, 403, 451, 499, 500, 502, 503, 504, 599])
    func `a status that is not heuristically cacheable gets no heuristic lifetime`(status: Int) throws {
        try CacheProxy().run([.load("Last-Modified: @-1000", status: status), .asks(1, status: status)])
    }

    @Test(arguments: [
        CacheCase(
            "public permits a heuristic lifetime",
            .load("Last-Modified: @-1000", "Cache-Control: public", status: 201),
            .held(99, status: 201)),
        CacheCase(
            "max-age prevents a heuristic lifetime",
            .load("Last-Modified: @-1000", "Cache-Control: max-age=1"), .asks(1)),
        CacheCase(
            "Expires prevents a heuristic lifetime", .load("Last-Modified: @-1000", "Expires: 0"), .asks(1)),
        CacheCase(
            "a future Last-Modified gives no heuristic lifetime", .load("Last-Modified: @+1000"), .asks(1)),
        CacheCase(
            "an invalid Last-Modified gives no heuristic lifetime", .load("Last-Modified: yesterday"),
            .asks(1)),
        CacheCase(
            "a heuristic lifetime is a day at most", .load("Last-Modified: @-10000000"), .held(86_399),
            .asks(86_400)),
    ])
    func heuristics(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }
}
