import Testing

/// RFC 9111, sections 4.2.4 and 5.2.1, and RFC 5861: directives of requests, and stale responses.
@Suite struct RequestCases {
    private static let minute = CacheCase.Step.load("Cache-Control: max-age=60", "ETag: \"1\"")
    private static func wish(_ step: CacheCase.Step, _ wish: String) -> CacheCase.Step {
        step.with("Cache-Control: \(wish)")
    }

    @Test(arguments: [
        CacheCase(
            "no-cache validates", minute, wish(.confirmed(1), "no-cache").sending("Cache-Control: no-cache")),
        CacheCase("no-cache in mixed case", minute, wish(.confirmed(1), "No-Cache")),
        CacheCase("Pragma: no-cache validates", minute, .confirmed(1).with("Pragma: no-cache")),
        CacheCase(
            "Pragma is ignored beside Cache-Control", minute,
            .held(1).with("Pragma: no-cache", "Cache-Control: max-age=50")),
        CacheCase("max-age=0 validates", minute, wish(.confirmed(1), "max-age=0")),
        CacheCase("max-age above the age", minute, wish(.held(20), "max-age=30")),
        CacheCase("max-age below the age", minute, wish(.confirmed(40), "max-age=30")),
        CacheCase(
            "max-age counts the Age of the response",
            .load("Cache-Control: max-age=60", "Age: 30", "ETag: \"1\""),
            wish(.confirmed(5), "max-age=30")),
        CacheCase("max-age does not extend the lifetime", minute, wish(.confirmed(60), "max-age=600")),
        CacheCase("an invalid max-age validates", minute, wish(.confirmed(1), "max-age=x")),
        CacheCase(
            "a reload does not validate an immutable response", .load("Cache-Control: max-age=60, immutable"),
            wish(.held(1), "max-age=0")),
        CacheCase("min-fresh that is met", minute, wish(.held(20), "min-fresh=40")),
        CacheCase("min-fresh that is not met", minute, wish(.confirmed(21), "min-fresh=40")),
        CacheCase(
            "min-fresh counts the Age of the response",
            .load("Cache-Control: max-age=60", "Age: 30", "ETag: \"1\""),
            wish(.confirmed(0), "min-fresh=40")),
        CacheCase("max-stale without a value accepts any staleness", minute, wish(.held(1000), "max-stale")),
        CacheCase("max-stale above the staleness", minute, wish(.held(100), "max-stale=40")),
        CacheCase("max-stale below the staleness", minute, wish(.confirmed(101), "max-stale=40")),
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
        CacheCase("no-store prevents storing", wish(minute, "no-store"), .asks(1)),
        CacheCase("no-store keeps the stored response", minute, wish(.held(1), "no-store"), .held(2)),
        CacheCase("only-if-cached with a fresh response", minute, wish(.held(1), "only-if-cached")),
        CacheCase("only-if-cached without a stored response", wish(.refused(0, 504), "only-if-cached")),
        CacheCase("only-if-cached with a stale response", minute, wish(.refused(60, 504), "only-if-cached")),
        CacheCase("only-if-cached with max-stale", minute, wish(.held(70), "only-if-cached, max-stale")),
        CacheCase("unknown request directives are ignored", minute, wish(.held(1), "foo, bar=baz")),
        CacheCase(
            "request directives are forwarded to the origin",
            wish(minute, "max-age=5, foo").sending("Cache-Control: max-age=5, foo")),
    ])
    func requestDirectives(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }

    @Test(arguments: [500, 502, 503, 504])
    func `a 5xx response is answered with the stale stored response, unless a directive forbids it`(
        status: Int
    )
        throws
    {
        try CacheProxy().run([Self.minute, .stale(60, status: status).getting("Age: 60", "Larder: stale")])
        for directive in ["must-revalidate", "proxy-revalidate", "s-maxage=60", "no-cache"] {
            try CacheProxy().run([
                .load("Cache-Control: max-age=60, \(directive)"), .asks(61, status: status),
            ])
        }
    }

    @Test(arguments: [400, 403, 404, 410, 429, 501]) func `any other error status is forwarded to the client`(
        status: Int
    )
        throws
    {
        try CacheProxy().run([Self.minute, .asks(60, status: status)])
    }

    @Test(arguments: [
        CacheCase("a silent origin", minute, .stale(60).getting("Age: 60", "Larder: stale")),
        CacheCase("a silent origin and no stored response", .refused(0, 504, requestsOrigin: true)),
        CacheCase(
            "a silent origin and must-revalidate", .load("Cache-Control: max-age=60, must-revalidate"),
            .refused(60, 504, requestsOrigin: true)),
        CacheCase(
            "a silent origin and proxy-revalidate", .load("Cache-Control: max-age=60, proxy-revalidate"),
            .refused(60, 504, requestsOrigin: true)),
        CacheCase(
            "a silent origin and s-maxage", .load("Cache-Control: s-maxage=60"),
            .refused(60, 504, requestsOrigin: true)
        ),
        CacheCase(
            "a silent origin and no-cache", .load("Cache-Control: no-cache"),
            .refused(1, 504, requestsOrigin: true)),
        CacheCase(
            "a silent origin and a request's no-cache", minute,
            wish(.refused(1, 504, requestsOrigin: true), "no-cache")
        ),
        CacheCase(
            "stale-if-error within its time", .load("Cache-Control: max-age=60, stale-if-error=60"),
            .stale(119, status: 503)),
        CacheCase(
            "stale-if-error after its time", .load("Cache-Control: max-age=60, stale-if-error=60"),
            .asks(121, status: 503)),
        CacheCase(
            "stale-if-error and s-maxage", .load("Cache-Control: s-maxage=60, stale-if-error=60"),
            .stale(119, status: 503)),
        CacheCase(
            "stale-if-error and must-revalidate",
            .load("Cache-Control: max-age=60, stale-if-error=60, must-revalidate"), .asks(61, status: 503)),
        CacheCase(
            "stale-if-error and a silent origin", .load("Cache-Control: max-age=60, stale-if-error=60"),
            .stale(119),
            .refused(121, 504, requestsOrigin: true)),
        CacheCase(
            "stale-while-revalidate", .load("Cache-Control: max-age=60, stale-while-revalidate=60"),
            .held(61).refreshing("Cache-Control: max-age=60").getting("Larder: stale", "Age: 61"),
            .held(120, of: 1)),
        CacheCase(
            "stale-while-revalidate validates in the background",
            .load("Cache-Control: max-age=60, stale-while-revalidate=60", "ETag: \"1\""),
            .held(61).refreshing("Cache-Control: max-age=90").sending("If-None-Match: \"1\"")),
        CacheCase(
            "stale-while-revalidate after its time",
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
            "an error does not replace a stored success", minute,
            .asks(60, "Cache-Control: max-age=60", status: 429),
            .asks(61)),
    ])
    func staleness(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }
}
