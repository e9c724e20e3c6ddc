import TestOrigin
import Testing

/// RFC 9111, section 3: which responses are stored.
@Suite struct StorageCases {
    @Test(arguments: [
        200, 201, 202, 203, 204, 299, 300, 301, 302, 303, 305, 307, 308, 400, 401, 403, 404, 405, 406, 408,
        409, 410,
        413, 414, 415, 417, 418, 421, 422, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 511, 599,
    ])
    func `a response with a lifetime is stored, whatever its status`(status: Int) throws {
        try CacheProxy().run([
            .load("Cache-Control: max-age=60", status: status), .held(59, status: status),
            .asks(60, status: status),
        ])
    }

    @Test(arguments: [304, 412, 416]) func `a response that is only about a condition or range is not stored`(
        status: Int
    ) throws {
        let first = CacheCase.Step.load("Cache-Control: max-age=60", status: status).with(
            "If-None-Match: \"x\"")
        var step = first
        step.shows = .anything
        try CacheProxy().run([step, .asks(1)])
    }

    @Test(arguments: [
        CacheCase("no-store", .load("Cache-Control: no-store"), .asks()),
        CacheCase("no-store in mixed case", .load("Cache-Control: No-StOrE, max-age=60"), .asks()),
        CacheCase("no-store after max-age", .load("Cache-Control: max-age=60, no-store"), .asks()),
        CacheCase("no-store and Expires", .load("Cache-Control: no-store", "Expires: @+60"), .asks()),
        CacheCase("private", .load("Cache-Control: private, max-age=60"), .asks()),
        CacheCase("private and s-maxage", .load("Cache-Control: private, s-maxage=60"), .asks()),
        CacheCase(
            "private for a field drops the field",
            .load("Cache-Control: max-age=60, private=\"x-me\"", "X-Me: 1", "X-All: 2").getting("X-Me: 1"),
            .held(1).getting("!X-Me", "X-All: 2")),
        CacheCase(
            "no-cache is stored and validated", .load("Cache-Control: no-cache, max-age=60", "ETag: \"1\""),
            .confirmed(1).sending("If-None-Match: \"1\"")),
        CacheCase("no-cache in mixed case", .load("Cache-Control: No-Cache, max-age=60"), .asks()),
        CacheCase(
            "no-cache for a field drops the field",
            .load("Cache-Control: max-age=60, no-cache=\"x-me\"", "X-Me: 1"),
            .held(1).getting("!X-Me")),
        CacheCase(
            "must-understand overrides no-store for a known status",
            .load("Cache-Control: must-understand, no-store, max-age=60"), .held(1)),
        CacheCase(
            "must-understand prevents storing an unknown status",
            .load("Cache-Control: must-understand, max-age=60", status: 299),
            .asks(1, status: 299)),
        CacheCase(
            "unknown directives are ignored",
            .load("Cache-Control: foo, max-age=60, bar=\"no-store\""),
            .held(1)),
        CacheCase(
            "Pragma in a response does not override Cache-Control",
            .load("Cache-Control: max-age=60", "Pragma: no-cache"), .held(1)),
        CacheCase(
            "an unknown method is not stored", .load("Cache-Control: max-age=60").by("FOO"),
            .asks(1).by("FOO")),
        CacheCase(
            "a response to GET does not answer POST", .load("Cache-Control: max-age=60"), .asks(1).by("POST")),
        CacheCase(
            "a response to POST does not answer GET", .load("Cache-Control: max-age=60").by("POST"), .asks(1)),
        CacheCase(
            "a response to POST with Content-Location answers GET",
            .load("Cache-Control: max-age=60", "Content-Location: /a").by("POST"), .held(1)),
        CacheCase(
            "a response to OPTIONS is not stored", .load("Cache-Control: max-age=60").by("OPTIONS"),
            .asks(1).by("OPTIONS")),
        CacheCase(
            "an empty body is stored", .load("Cache-Control: max-age=60").saying("").showing(""),
            .held(1).showing("")),
        CacheCase(
            "unknown fields are stored", .load("Cache-Control: max-age=60", "X-Foo: 1", "X-Foo: 2"),
            .held(1).getting("X-Foo: 1", "X-Foo: 2")),
        CacheCase(
            "fields that Connection names are not stored",
            .load("Cache-Control: max-age=60", "Connection: x-hop", "X-Hop: 1"),
            .held(1).getting("!X-Hop")),
        CacheCase(
            "connection fields are not stored",
            .load("Cache-Control: max-age=60", "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic"),
            .held(1).getting("!Keep-Alive", "!Proxy-Authenticate")),
        CacheCase(
            "a cookie is sent only to the first client",
            .load("Cache-Control: max-age=60", "Set-Cookie: a=b; Path=/").getting("Set-Cookie: a=b; Path=/"),
            .held(1).getting("!Set-Cookie")),
        CacheCase(
            "Content-Type and Content-Language are stored",
            .load("Cache-Control: max-age=60", "Content-Type: application/x-foo", "Content-Language: de"),
            .held(1).getting("Content-Type: application/x-foo", "Content-Language: de")),
    ])
    func storage(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }

    @Test func `with a site at the root, a cookie is set for the client's host without Domain and Secure`()
        throws
    {
        try CacheProxy(hasProxy: false).run([
            .load("Cache-Control: max-age=60", "Set-Cookie: a=b; Domain=127.0.0.1; Secure; Path=/").getting(
                "Set-Cookie: a=b; Path=/"),
            .held(1).getting("!Set-Cookie"),
        ])
    }

    @Test(arguments: [
        CacheCase(
            "a truncated body is not stored",
            .load("Cache-Control: max-age=60").modifyingResponse { $0.truncated(after: 3) }.answering(504),
            .asks(1)),
        CacheCase(
            "a truncated chunk is not stored",
            .load("Cache-Control: max-age=60").modifyingResponse { $0.brokenChunk(after: 3) }.answering(504),
            .asks(1)),
        CacheCase(
            "a chunked body is stored",
            .load("Cache-Control: max-age=60").modifyingResponse { $0.chunked(2) },
            .held(1).getting("Content-Length: 6")),
        CacheCase(
            "a body delimited by the end of the connection is stored",
            .load("Cache-Control: max-age=60").modifyingResponse { $0.untilClose() },
            .held(1)),
    ])
    func framing(_ example: CacheCase) throws {
        var steps = example.steps
        // A proxy has already sent the beginning of a response that breaks off.
        let isBroken = steps[0].status == 504
        if isBroken { steps[0].shows = .anything }
        try CacheProxy(hasProxy: !isBroken).run(steps)
    }

    @Test(arguments: [100, 102, 103])
    func `an interim response is not stored and does not affect the final one`(status: Int)
        throws
    {
        try CacheProxy().run([
            .load("Cache-Control: max-age=60").modifyingResponse {
                $0.preceded(
                    by: status,
                    [("Cache-Control", "no-store"), ("X-Early", "1"), ("Link", "</s.css>; rel=preload")])
            },
            .held(59).getting("!X-Early", "!Link"), .asks(60),
        ])
    }

    /// The proxy is a shared cache (RFC 9111, section 3.5).
    @Test(arguments: [
        CacheCase(
            "a response to a request with Authorization is not stored",
            .load("Cache-Control: max-age=60").with("Authorization: x"),
            .asks(1)),
        CacheCase(
            "nor for a request with the same Authorization",
            .load("Cache-Control: max-age=60").with("Authorization: x"),
            .asks(1).with("Authorization: x")),
        CacheCase("public", .load("Cache-Control: max-age=60, public").with("Authorization: x"), .held(1)),
        CacheCase(
            "must-revalidate", .load("Cache-Control: max-age=60, must-revalidate").with("Authorization: x"),
            .held(1)),
        CacheCase("s-maxage", .load("Cache-Control: s-maxage=60").with("Authorization: x"), .held(1)),
        CacheCase(
            "a response to a request without Authorization is served to all",
            .load("Cache-Control: max-age=60"),
            .held(1).with("Authorization: x")),
        CacheCase(
            "Authorization is forwarded to the origin",
            .load().with("Authorization: x").sending("Authorization: x")),
        CacheCase(
            "a 401 is forwarded to the client",
            .load("WWW-Authenticate: Basic realm=a", status: 401).getting("WWW-Authenticate: Basic realm=a"),
            .asks(1)),
    ])
    func authorization(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }

    @Test func `a response with the rule memory-only is cached and validated like a stored one`() throws {
        let rules = #"{"rules":["/** memory-only"]}"#
        try CacheProxy(rules: rules).run([
            .load("Cache-Control: max-age=60", "ETag: \"1\""), .held(59),
            .confirmed(60, "Cache-Control: max-age=60"),
            .held(119),
            .confirmed(120, "Cache-Control: max-age=60"), .asks(130).by("POST"), .asks(131),
        ])
    }

    /// RFC 9213.
    @Test(arguments: [
        ("max-age=60", "max-age=1", 60), ("max-age=1", "max-age=60", 1), ("max-age=60", "no-store", 60),
        ("no-store", "max-age=60", 0), ("private", "max-age=60", 0), ("no-cache", "max-age=60", 0),
        ("max-age=0", "max-age=60", 0),
        ("", "max-age=60", 60), ("&&&&&", "max-age=60", 60), ("max-age=\"60\"", "max-age=30", 30),
        ("max-age=60.5", "max-age=30", 30),
        ("max-age=60, max-age=20", "max-age=30", 20), ("max-age=60;foo=bar", "max-age=30", 60),
        ("MAX-AGE=60", "max-age=30", 30),
        ("max-age=60, foo=bar", "max-age=30", 60), ("max-age =60", "max-age=30", 30),
        ("max-age=60 , foo", "max-age=30", 60),
        ("s-maxage=60", "max-age=30", 60), ("max-age=60, s-maxage=20", "max-age=30", 20),
        ("max-age=-1", "max-age=60", 0),
        ("max-age=99999999999999", "max-age=30", 1_000_000),
    ])
    func `CDN-Cache-Control has precedence over Cache-Control`(
        targeted: String, other: String, lifetime: Int64
    ) throws {
        var steps: [CacheCase.Step] = [.load("CDN-Cache-Control: \(targeted)", "Cache-Control: \(other)")]
        if lifetime > 0 { steps.append(.held(lifetime - 1)) }
        if lifetime < 1_000_000 { steps.append(.asks(lifetime)) }
        try CacheProxy(hasProxy: false).run(steps)
    }

    @Test(arguments: [
        CacheCase(
            "a past Expires is ignored", .load("CDN-Cache-Control: max-age=60", "Expires: @-60"), .held(59),
            .asks(60)),
        CacheCase(
            "Age is subtracted", .load("CDN-Cache-Control: max-age=60", "Age: 50"), .held(9), .asks(10)),
        CacheCase(
            "two lines are joined", .load("CDN-Cache-Control: foo", "CDN-Cache-Control: max-age=60"),
            .held(59)),
        CacheCase(
            "without a lifetime, Expires is ignored", .load("CDN-Cache-Control: public", "Expires: @+60"),
            .asks(1)),
        CacheCase(
            "s-maxage of Cache-Control is ignored",
            .load("CDN-Cache-Control: max-age=60", "Cache-Control: s-maxage=1"), .held(59)),
        CacheCase(
            "must-revalidate in CDN-Cache-Control is honoured",
            .load("CDN-Cache-Control: max-age=60, must-revalidate"),
            .refused(60, 504, requestsOrigin: true)),
    ])
    func targeted(_ example: CacheCase) throws { try CacheProxy(hasProxy: false).run(example.steps) }
}
