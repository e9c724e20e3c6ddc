import TestOrigin
import Testing

/// RFC 9111, section 4.3, and RFC 9110, section 13: conditions of the client and of the cache.
@Suite struct ValidationCases {
    private static let tagged = CacheCase.Step.load("Cache-Control: max-age=60", "ETag: \"1\"", "X-Foo: old")
    private static let weak = CacheCase.Step.load("Cache-Control: max-age=60", "ETag: W/\"1\"")
    private static let dated = CacheCase.Step.load(
        "Cache-Control: max-age=60", "Last-Modified: @-100", "Date: @+0")

    @Test(arguments: [
        CacheCase(
            "the tag", tagged,
            .unchanged(1, "If-None-Match: \"1\"").getting(
                "ETag: \"1\"", "Cache-Control: max-age=60", "Age: 1", "!Content-Length")),
        CacheCase("a weak one of the same", tagged, .unchanged(1, "If-None-Match: W/\"1\"")),
        CacheCase("the weak tag", weak, .unchanged(1, "If-None-Match: W/\"1\"")),
        CacheCase("a strong one of the weak", weak, .unchanged(1, "If-None-Match: \"1\"")),
        CacheCase("among others", tagged, .unchanged(1, "If-None-Match: \"a\", \"b,c\" ,W/\"1\", \"d\"")),
        CacheCase(
            "in a second header", tagged, .unchanged(1, "If-None-Match: \"a\"", "If-None-Match: \"1\"")),
        CacheCase("any", tagged, .unchanged(1, "If-None-Match: *")),
        CacheCase("another tag", tagged, .held(1).with("If-None-Match: \"2\"")),
        CacheCase(
            "ETags are case-sensitive", .load("Cache-Control: max-age=60", "ETag: \"a\""),
            .held(1).with("If-None-Match: \"A\"")),
        CacheCase("no ETag to compare", dated, .held(1).with("If-None-Match: \"1\"")),
        CacheCase(
            "the date", dated, .unchanged(1, "If-Modified-Since: @-100").getting("Last-Modified: @-100")),
        CacheCase("a later date", dated, .unchanged(1, "If-Modified-Since: @-50")),
        CacheCase("an earlier date", dated, .held(1).with("If-Modified-Since: @-101")),
        CacheCase("no date", dated, .held(1).with("If-Modified-Since: foo")),
        CacheCase(
            "a date in the RFC 850 format",
            .load("Cache-Control: max-age=60", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"),
            .unchanged(1, "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT")),
        CacheCase(
            "Date, without Last-Modified", .load("Cache-Control: max-age=60", "Date: @-5"),
            .unchanged(1, "If-Modified-Since: @-5"), .held(1).with("If-Modified-Since: @-6")),
        CacheCase(
            "the ETag has precedence over the date",
            .load("Cache-Control: max-age=60", "ETag: \"1\"", "Last-Modified: @-100"),
            .held(1).with("If-None-Match: \"2\"", "If-Modified-Since: @-100"),
            .unchanged(1, "If-None-Match: \"1\"", "If-Modified-Since: @-999")),
        CacheCase("a HEAD request", tagged, .unchanged(1, "If-None-Match: \"1\"").by("HEAD")),
        CacheCase(
            "not for an error status", .load("Cache-Control: max-age=60", "ETag: \"1\"", status: 404),
            .held(1, status: 404).with("If-None-Match: \"1\"")),
        CacheCase("If-Match is left to the origin", tagged, .held(1).with("If-Match: \"2\"")),
    ])
    func `a fresh stored response evaluates the conditions of the request`(_ example: CacheCase) throws {
        try CacheProxy().run(example.steps)
    }

    @Test(arguments: [
        CacheCase("by its tag", tagged, .confirmed(60).sending("If-None-Match: \"1\"", "!If-Modified-Since")),
        CacheCase("by its weak tag", weak, .confirmed(60).sending("If-None-Match: W/\"1\"")),
        CacheCase("by its date", dated, .confirmed(60).sending("If-Modified-Since: @-100", "!If-None-Match")),
        CacheCase(
            "by both", .load("Cache-Control: max-age=60", "ETag: \"1\"", "Last-Modified: @-100"),
            .confirmed(60).sending("If-None-Match: \"1\"", "If-Modified-Since: @-100")),
        CacheCase(
            "by the date as it was written",
            .load("Cache-Control: max-age=60", "Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT"),
            .confirmed(60).sending("If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT")),
        CacheCase(
            "a tag without quotes as it is", .load("Cache-Control: max-age=60", "ETag: abc"), .asks(60)),
        CacheCase(
            "not without any", .load("Cache-Control: max-age=60"),
            .asks(60).sending("!If-None-Match", "!If-Modified-Since")),
        CacheCase("not while it is fresh", tagged, .held(59)),
        CacheCase(
            "not with the client's condition", tagged,
            .confirmed(60).with("If-None-Match: \"2\"").sending("If-None-Match: \"1\"")),
        CacheCase(
            "and then the client's condition is evaluated", tagged,
            .confirmed(60).with("If-None-Match: \"1\"").answering(304).showing("")),
        CacheCase(
            "and a 200 is served and stored", tagged,
            .asks(60, "Cache-Control: max-age=60", "ETag: \"2\""),
            .held(119, of: 1).getting("ETag: \"2\""), .confirmed(120, of: 1).sending("If-None-Match: \"2\"")),
        CacheCase(
            "a 304 with another ETag confirms nothing", tagged,
            .stale(60, status: 304).sayingTag("2").getting("Larder: stale", "ETag: \"1\"")),
    ])
    func `a stale stored response is validated with its ETag and Last-Modified`(_ example: CacheCase) throws {
        try CacheProxy().run(example.steps)
    }

    @Test(arguments: [
        CacheCase(
            "an ETag without a stored response",
            .load("ETag: \"1\"", status: 304).with("If-None-Match: \"1\"").sending("If-None-Match: \"1\"")
                .showing(""),
            .asks(1)),
        CacheCase(
            "a date without a stored response",
            .load(status: 304).with("If-Modified-Since: @-9").sending("If-Modified-Since: @-9").showing(""),
            .asks(1)),
        CacheCase(
            "a list of tags as it was sent",
            .load().with("If-None-Match: W/\"a\", \"b\"").sending("If-None-Match: W/\"a\", \"b\"")),
        CacheCase(
            "an ETag for a stale response without one", .load("Cache-Control: max-age=60"),
            .asks(60).with("If-None-Match: \"9\"").sending("If-None-Match: \"9\"")),
        CacheCase(
            "and the response is stored",
            .load("Cache-Control: max-age=60", "ETag: \"2\"").with("If-None-Match: \"1\"").sending(
                "If-None-Match: \"1\""), .held(59)),
        CacheCase(
            "conditions of an unsafe request",
            .load().by("PUT").with("If-Match: \"1\"").sending("If-Match: \"1\"")),
        CacheCase(
            "If-Match without a stored response",
            .load(status: 412).with("If-Match: \"1\"").sending("If-Match: \"1\"")),
    ])
    func `conditions of the request are forwarded if no stored response can be validated`(
        _ example: CacheCase
    )
        throws
    {
        try CacheProxy().run(example.steps)
    }

    @Test(arguments: [
        CacheCase(
            "its lifetime", tagged, .confirmed(60, "Cache-Control: max-age=30"),
            .held(89).getting("Cache-Control: max-age=30"), .asks(90)),
        CacheCase(
            "its Expires", .load("Expires: @+60", "ETag: \"1\""), .confirmed(60, "Expires: @+90"),
            .held(89).getting("Expires: @+90"), .asks(90)),
        CacheCase(
            "unknown fields", tagged,
            .confirmed(60, "X-Foo: new", "X-Bar: new").getting("X-Foo: new", "X-Bar: new"),
            .held(61).getting("X-Foo: new", "X-Bar: new")),
        CacheCase(
            "and keeps fields that the 304 does not contain", tagged,
            .confirmed(60).getting("X-Foo: old", "ETag: \"1\""),
            .held(119)),
        CacheCase(
            "not Content-Length", tagged, .confirmed(60, "Content-Length: 999").getting("Content-Length: 6")),
        CacheCase(
            "not Content-Encoding", tagged,
            .confirmed(60, "Content-Encoding: br").getting("!Content-Encoding"),
            .held(61).getting("!Content-Encoding")),
        CacheCase(
            "the Date", tagged, .confirmed(60, "Date: @+60"), .held(65).getting("Date: @+60", "Age: 5")),
        CacheCase(
            "the age restarts", .load("Cache-Control: max-age=60", "ETag: \"1\"", "Age: 50"),
            .confirmed(10),
            .held(69).getting("Age: 59"), .asks(70)),
        CacheCase("no-store ends the storage", tagged, .confirmed(60, "Cache-Control: no-store"), .asks(61)),
        CacheCase("the tag, where it had none", dated, .confirmed(60, "Last-Modified: @-100"), .held(119)),
    ])
    func `a 304 updates the headers of the stored response`(_ example: CacheCase) throws {
        try CacheProxy().run(example.steps)
    }

    private static func head(_ time: Int64, _ lines: String..., status: Int = 200) -> CacheCase.Step {
        var step = CacheCase.Step.asks(time, status: status).by("HEAD")
        step.originResponse?.lines = lines
        return step
    }

    @Test(arguments: [
        CacheCase(
            "is answered by the response to GET", tagged,
            .held(1).by("HEAD").getting("ETag: \"1\"", "Content-Length: 6", "Age: 1")),
        CacheCase("does not answer GET", head(0, "Cache-Control: max-age=60"), .asks(1)),
        CacheCase(
            "does not answer a later HEAD", head(0, "Cache-Control: max-age=60"),
            head(1, "Cache-Control: max-age=60")),
        CacheCase(
            "makes the response fresh again", tagged,
            head(60, "Cache-Control: max-age=60", "ETag: \"1\"", "X-Foo: new", "Content-Length: 6"),
            .held(119).getting("X-Foo: new"), .asks(120)),
        CacheCase(
            "with another ETag invalidates", tagged, head(60, "Cache-Control: max-age=60", "ETag: \"2\""),
            .asks(61)),
        CacheCase(
            "with another date invalidates", dated,
            head(60, "Cache-Control: max-age=60", "Last-Modified: @-9"),
            .asks(61)),
        CacheCase(
            "with another length invalidates", tagged,
            head(60, "Cache-Control: max-age=60", "ETag: \"1\"", "Content-Length: 7").modifyingResponse {
                $0.claiming(length: 7)
            },
            .asks(61)),
        CacheCase("with a 410 invalidates", tagged, head(60, status: 410), .asks(61)),
    ])
    func `a HEAD request uses and updates the stored response of GET`(_ example: CacheCase) throws {
        try CacheProxy().run(example.steps)
    }
}

extension CacheCase.Step {
    fileprivate func sayingTag(_ tag: String) -> Self {
        var step = self
        step.originResponse?.lines.append("ETag: \"\(tag)\"")
        return step
    }
}
