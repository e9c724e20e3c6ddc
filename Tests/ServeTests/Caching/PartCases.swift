import TestOrigin
import Testing

/// RFC 9110, section 14, and RFC 9111, sections 3.3 and 3.4: parts of bodies.
@Suite struct PartCases {
    private static let whole = CacheCase.Step.load("Cache-Control: max-age=600", "ETag: \"1\"").saying(
        "0123456789"
    )
    .showing("0123456789")

    private static func part(
        _ time: Int64, _ range: String, _ body: String, _ lines: String..., asked: String? = nil
    ) -> CacheCase.Step {
        var step = CacheCase.Step.asks(time, "Content-Range: bytes \(range)", status: 206).saying(body)
            .showing(body)
            .getting("Content-Range: bytes \(range)")
        step.originResponse?.lines += lines.isEmpty ? ["Cache-Control: max-age=600", "ETag: \"1\""] : lines
        if let asked { return step.with("Range: bytes=\(asked)").sending("Range: bytes=\(asked)") }
        return step
    }

    private static func cut(_ time: Int64, _ range: String, _ body: String, _ content: String)
        -> CacheCase.Step
    {
        CacheCase.Step.held(time, status: 206).with("Range: bytes=\(range)").showing(body)
            .getting("Content-Range: bytes \(content)", "ETag: \"1\"")
    }

    private static func full(_ time: Int64) -> CacheCase.Step { .held(time).showing("0123456789") }

    @Test(arguments: [
        CacheCase("a first part", whole, cut(1, "0-3", "0123", "0-3/10")),
        CacheCase("a last part", whole, cut(1, "-3", "789", "7-9/10")),
        CacheCase("a part to the end", whole, cut(1, "6-", "6789", "6-9/10")),
        CacheCase("a part beyond the end", whole, cut(1, "6-99", "6789", "6-9/10")),
        CacheCase(
            "a range beyond the end gets a 416", whole,
            .held(1, status: 416).with("Range: bytes=10-").showing("").getting("Content-Range: bytes */10")),
        CacheCase("an unknown range unit gets the whole body", whole, full(1).with("Range: pages=1-2")),
        CacheCase("an invalid range gets the whole body", whole, full(1).with("Range: bytes=3-1")),
        CacheCase("If-Range of this version", whole, cut(1, "0-3", "0123", "0-3/10").with("If-Range: \"1\"")),
        CacheCase("If-Range of another", whole, full(1).with("Range: bytes=0-3", "If-Range: \"2\"")),
        CacheCase(
            "HEAD ignores ranges", whole,
            .held(1).by("HEAD").with("Range: bytes=0-3").getting("Content-Length: 10")),
        CacheCase(
            "a stale body is validated, and then the range is served", whole,
            cut(600, "0-3", "0123", "0-3/10").confirmedByOrigin),
    ])
    func `a range of a stored body is served from the store`(_ example: CacheCase) throws {
        try CacheProxy().run(example.steps)
    }

    @Test(arguments: [
        CacheCase(
            "the same part", part(0, "0-4/10", "01234", asked: "0-4"),
            cut(1, "0-4", "01234", "0-4/10").getting("Age: 1")),
        CacheCase(
            "a part of the part", part(0, "2-6/10", "23456", asked: "2-6"), cut(1, "3-4", "34", "3-4/10")),
        CacheCase(
            "the last part, by its length", part(0, "5-9/10", "56789", asked: "5-9"),
            cut(1, "-5", "56789", "5-9/10")),
        CacheCase(
            "from a byte to the end", part(0, "5-9/10", "56789", asked: "5-"), cut(1, "7-", "789", "7-9/10")),
        CacheCase(
            "another range is loaded", part(0, "0-4/10", "01234", asked: "0-4"),
            part(1, "5-6/10", "56", asked: "5-6")
        ),
        CacheCase(
            "a stored range does not answer a request for the whole body",
            part(0, "0-4/10", "01234", asked: "0-4"),
            .asks(1, "Cache-Control: max-age=600").saying("0123456789").showing("0123456789"), full(2)),
        CacheCase(
            "two ranges are combined into the whole body", part(0, "0-4/10", "01234", asked: "0-4"),
            part(1, "5-9/10", "56789", asked: "5-9"), full(2).getting("Content-Length: 10", "!Content-Range")),
        CacheCase(
            "only the missing range is loaded", part(0, "0-4/10", "01234", asked: "0-4"),
            part(1, "5-9/10", "56789").sending("Range: bytes=5-", "If-Range: \"1\"").completing, full(2)),
        CacheCase(
            "a new version is loaded completely", part(0, "0-4/10", "01234", asked: "0-4"),
            .asks(1, "Cache-Control: max-age=600", "ETag: \"2\"").saying("abc").showing("abc").sending(
                "If-Range: \"1\""),
            .held(2).showing("abc")),
        CacheCase(
            "overlapping ranges are combined", part(0, "0-6/10", "0123456", asked: "0-6"),
            part(1, "4-9/10", "456789", asked: "4-9"),
            full(2)),
        CacheCase(
            "ranges of two versions are not combined", part(0, "0-4/10", "01234", asked: "0-4"),
            part(1, "5-9/10", "vwxyz", "Cache-Control: max-age=600", "ETag: \"2\"", asked: "5-9"), cut2(2)),
        CacheCase(
            "ranges without an ETag are not combined",
            part(0, "0-4/10", "01234", "Cache-Control: max-age=600", asked: "0-4"),
            part(1, "5-9/10", "56789", "Cache-Control: max-age=600", asked: "5-9"), .asks(2)),
        CacheCase(
            "no-store", part(0, "0-4/10", "01234", "Cache-Control: no-store", asked: "0-4"),
            part(1, "0-4/10", "01234", asked: "0-4")),
        CacheCase(
            "a stale range is validated",
            part(0, "0-4/10", "01234", "Cache-Control: max-age=60", "ETag: \"1\"", asked: "0-4"),
            cut(60, "0-4", "01234", "0-4/10").confirmedByOrigin, cut(119, "0-4", "01234", "0-4/10")),
        CacheCase(
            "a whole body replaces a stored range", part(0, "0-4/10", "01234", asked: "0-4"),
            .asks(1, "Cache-Control: max-age=600", "ETag: \"1\"").with("Cache-Control: no-cache").saying(
                "0123456789"
            )
            .showing("0123456789"), cut(2, "5-6", "56", "5-6/10")),
        CacheCase(
            "a range does not replace a stored whole body", whole,
            // The client did not request a range, so that a 206 is not a valid response.
            .asks(1, "Content-Range: bytes 0-4/10", status: 206).saying("01234").with(
                "Cache-Control: no-cache"
            )
            .answering(504).showingAnything.sending("!Range"), full(2)),
        CacheCase(
            "a 206 without Content-Range is not stored",
            part(0, "0-4/10", "01234", asked: "0-4").withoutContentRange,
            .asks(1)),
        CacheCase(
            "a 416 is forwarded to the client",
            .asks(0, "Content-Range: bytes */10", status: 416).with("Range: bytes=50-").saying("").showing("")
                .getting(
                    "Content-Range: bytes */10"), .asks(1)),
        CacheCase(
            "a 200 to a range request is stored, and the range is served",
            .asks(0, "Cache-Control: max-age=600", "ETag: \"1\"").saying("0123456789").with(
                "Range: bytes=0-3"
            )
            .answering(206).showing("0123"), full(1)),
        CacheCase(
            "an unsafe request invalidates stored ranges",
            part(0, "0-4/10", "01234", "Cache-Control: max-age=600", asked: "0-4"),
            .asks(1).by("POST"), part(2, "0-4/10", "01234", asked: "0-4")),
    ])
    func `a loaded range is stored, served and combined with others`(_ example: CacheCase) throws {
        try CacheProxy().run(example.steps)
    }

    private static func cut2(_ time: Int64) -> CacheCase.Step {
        CacheCase.Step.held(time, status: 206).with("Range: bytes=5-9").showing("vwxyz").getting(
            "ETag: \"2\"")
    }

    @Test func `a body that is rewritten is loaded completely for a range request`() throws {
        try CacheProxy().run([
            CacheCase.Step.asks(0, "Content-Type: text/html", "Cache-Control: max-age=600").saying(
                "<p>one</p>"
            )
            .with("Range: bytes=0-2").answering(206).showing("<p>").modifyingResponse { $0 }
        ])
    }
}

extension CacheCase.Step {
    fileprivate var confirmedByOrigin: Self {
        var step = self
        step.requestsOrigin = true
        step.originResponse = .init(status: 304, lines: ["ETag: \"1\""])
        step.expectedByOrigin.append("If-None-Match: \"1\"")
        return step
    }

    /// The client requested the whole body and receives it.
    fileprivate var completing: Self {
        var step = self
        step.status = 200
        step.shows = .text("0123456789")
        step.expectedByClient = ["Content-Length: 10", "!Content-Range"]
        return step
    }

    fileprivate var withoutContentRange: Self {
        var step = self
        step.originResponse?.lines.removeAll { $0.hasPrefix("Content-Range") }
        step.expectedByClient = []
        return step
    }
}
