import Testing

/// RFC 9111, sections 4.2.4 and 5.2.1, and RFC 5861: what clients wish, and what is shown stale.
@Suite struct RequestCases {
    private static let minute = CacheCase.Step.load("Cache-Control: max-age=60", "ETag: \"1\"")
    private static func wish(_ step: CacheCase.Step, _ wish: String) -> CacheCase.Step {
        step.with("Cache-Control: \(wish)")
    }

    @Test(arguments: [
        CacheCase(
            "no-cache asks", minute, wish(.confirmed(1), "no-cache").sending("Cache-Control: no-cache")),
        CacheCase("no-cache in other letters", minute, wish(.confirmed(1), "No-Cache")),
        CacheCase("Pragma: no-cache asks", minute, .confirmed(1).with("Pragma: no-cache")),
        CacheCase(
            "Pragma does not count beside Cache-Control", minute,
            .held(1).with("Pragma: no-cache", "Cache-Control: max-age=50")),
        CacheCase("max-age=0 asks", minute, wish(.confirmed(1), "max-age=0")),
        CacheCase("max-age that is not over", minute, wish(.held(20), "max-age=30")),
        CacheCase("max-age that is over", minute, wish(.confirmed(40), "max-age=30")),
        CacheCase(
            "max-age with the age that it came with",
            .load("Cache-Control: max-age=60", "Age: 30", "ETag: \"1\""),
            wish(.confirmed(5), "max-age=30")),
        CacheCase("max-age makes nothing fresh", minute, wish(.confirmed(60), "max-age=600")),
        CacheCase("max-age that is no number asks", minute, wish(.confirmed(1), "max-age=x")),
        CacheCase(
            "immutable is not asked about by a reload", .load("Cache-Control: max-age=60, immutable"),
            wish(.held(1), "max-age=0")),
        CacheCase("min-fresh that is met", minute, wish(.held(20), "min-fresh=40")),
        CacheCase("min-fresh that is not", minute, wish(.confirmed(21), "min-fresh=40")),
        CacheCase(
            "min-fresh and the age that it came with",
            .load("Cache-Control: max-age=60", "Age: 30", "ETag: \"1\""),
            wish(.confirmed(0), "min-fresh=40")),
        CacheCase("max-stale takes anything", minute, wish(.held(1000), "max-stale")),
        CacheCase("max-stale that is not over", minute, wish(.held(100), "max-stale=40")),
        CacheCase("max-stale that is over", minute, wish(.confirmed(101), "max-stale=40")),
        CacheCase(
            "max-stale and must-revalidate",
            .load("Cache-Control: max-age=60, must-revalidate", "ETag: \"1\""),
            wish(.confirmed(61), "max-stale")),
        CacheCase(
            "max-stale and proxy-revalidate",
            .load("Cache-Control: max-age=60, proxy-revalidate", "ETag: \"1\""),
            wish(.confirmed(61), "max-stale")),
        CacheCase(
            "max-stale and s-maxage", .load("Cache-Control: s-maxage=60", "ETag: \"1\""),
            wish(.confirmed(61), "max-stale")),
        CacheCase(
            "max-stale and no-cache", .load("Cache-Control: no-cache", "ETag: \"1\""),
            wish(.confirmed(1), "max-stale")),
        CacheCase("no-store is not kept", wish(minute, "no-store"), .asks(1)),
        CacheCase("no-store leaves what is held", minute, wish(.held(1), "no-store"), .held(2)),
        CacheCase("only-if-cached of what is held", minute, wish(.held(1), "only-if-cached")),
        CacheCase("only-if-cached of what is not", wish(.refused(0, 504), "only-if-cached")),
        CacheCase("only-if-cached of what is stale", minute, wish(.refused(60, 504), "only-if-cached")),
        CacheCase("only-if-cached with max-stale", minute, wish(.held(70), "only-if-cached, max-stale")),
        CacheCase("wishes nobody knows", minute, wish(.held(1), "foo, bar=baz")),
        CacheCase(
            "wishes go on to the origin",
            wish(minute, "max-age=5, foo").sending("Cache-Control: max-age=5, foo")),
    ])
    func wishes(_ scene: CacheCase) throws { try CacheProxy().run(scene.steps) }

    @Test(arguments: [500, 502, 503, 504]) func `a server that fails is as one that is silent`(status: Int)
        throws
    {
        try CacheProxy().run([Self.minute, .stale(60, status: status).getting("Age: 60", "Larder: stale")])
        for directive in ["must-revalidate", "proxy-revalidate", "s-maxage=60", "no-cache"] {
            try CacheProxy().run([
                .load("Cache-Control: max-age=60, \(directive)"), .asks(61, status: status),
            ])
        }
    }

    @Test(arguments: [400, 403, 404, 410, 429, 501]) func `any other answer is the client's`(status: Int)
        throws
    {
        try CacheProxy().run([Self.minute, .asks(60, status: status)])
    }

    @Test(arguments: [
        CacheCase("silence", minute, .stale(60).getting("Age: 60", "Larder: stale")),
        CacheCase("silence about what is not held", .refused(0, 504, asks: true)),
        CacheCase(
            "silence and must-revalidate", .load("Cache-Control: max-age=60, must-revalidate"),
            .refused(60, 504, asks: true)),
        CacheCase(
            "silence and proxy-revalidate", .load("Cache-Control: max-age=60, proxy-revalidate"),
            .refused(60, 504, asks: true)),
        CacheCase("silence and s-maxage", .load("Cache-Control: s-maxage=60"), .refused(60, 504, asks: true)),
        CacheCase("silence and no-cache", .load("Cache-Control: no-cache"), .refused(1, 504, asks: true)),
        CacheCase("silence and a request's no-cache", minute, wish(.refused(1, 504, asks: true), "no-cache")),
        CacheCase(
            "stale-if-error that is not over", .load("Cache-Control: max-age=60, stale-if-error=60"),
            .stale(119, status: 503)),
        CacheCase(
            "stale-if-error that is over", .load("Cache-Control: max-age=60, stale-if-error=60"),
            .asks(121, status: 503)),
        CacheCase(
            "stale-if-error and s-maxage", .load("Cache-Control: s-maxage=60, stale-if-error=60"),
            .stale(119, status: 503)),
        CacheCase(
            "stale-if-error and must-revalidate",
            .load("Cache-Control: max-age=60, stale-if-error=60, must-revalidate"), .asks(61, status: 503)),
        CacheCase(
            "stale-if-error and silence", .load("Cache-Control: max-age=60, stale-if-error=60"), .stale(119),
            .refused(121, 504, asks: true)),
        CacheCase(
            "stale-while-revalidate", .load("Cache-Control: max-age=60, stale-while-revalidate=60"),
            .held(61).refreshing("Cache-Control: max-age=60").getting("Larder: stale", "Age: 61"),
            .held(120, of: 1)),
        CacheCase(
            "stale-while-revalidate confirms",
            .load("Cache-Control: max-age=60, stale-while-revalidate=60", "ETag: \"1\""),
            .held(61).refreshing("Cache-Control: max-age=90").sending("If-None-Match: \"1\"")),
        CacheCase(
            "stale-while-revalidate that is over",
            .load("Cache-Control: max-age=60, stale-while-revalidate=60"),
            .asks(121)),
        CacheCase(
            "stale-while-revalidate and must-revalidate",
            .load("Cache-Control: max-age=60, stale-while-revalidate=60, must-revalidate"), .asks(61)),
        CacheCase(
            "stale-while-revalidate and no-cache",
            .load("Cache-Control: no-cache, stale-while-revalidate=60"), .asks(1)
        ),
        CacheCase(
            "an error does not take a good copy's place", minute,
            .asks(60, "Cache-Control: max-age=60", status: 429),
            .asks(61)),
    ])
    func staleness(_ scene: CacheCase) throws { try CacheProxy().run(scene.steps) }
}
