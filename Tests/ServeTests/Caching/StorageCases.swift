import TestOrigin
import Testing

/// RFC 9111, section 3: what is kept.
@Suite struct StorageCases {
    @Test(arguments: [
        200, 201, 202, 203, 204, 299, 300, 301, 302, 303, 305, 307, 308, 400, 401, 403, 404, 405, 406, 408,
        409, 410,
        413, 414, 415, 417, 418, 421, 422, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 511, 599,
    ])
    func `a status that says how long it lasts is kept`(status: Int) throws {
        try CacheProxy().run([
            .load("Cache-Control: max-age=60", status: status), .held(59, status: status),
            .asks(60, status: status),
        ])
    }

    @Test(arguments: [304, 412, 416]) func `what has nothing of its own is not kept`(status: Int) throws {
        let first = CacheCase.Step.load("Cache-Control: max-age=60", status: status).with(
            "If-None-Match: \"x\"")
        var step = first
        step.shows = .anything
        try CacheProxy().run([step, .asks(1)])
    }

    @Test(arguments: [
        CacheCase("no-store", .load("Cache-Control: no-store"), .asks()),
        CacheCase("no-store, in other letters", .load("Cache-Control: No-StOrE, max-age=60"), .asks()),
        CacheCase("no-store behind max-age", .load("Cache-Control: max-age=60, no-store"), .asks()),
        CacheCase("no-store and Expires", .load("Cache-Control: no-store", "Expires: @+60"), .asks()),
        CacheCase("private", .load("Cache-Control: private, max-age=60"), .asks()),
        CacheCase("private and s-maxage", .load("Cache-Control: private, s-maxage=60"), .asks()),
        CacheCase(
            "private for a field drops the field",
            .load("Cache-Control: max-age=60, private=\"x-me\"", "X-Me: 1", "X-All: 2").getting("X-Me: 1"),
            .held(1).getting("!X-Me", "X-All: 2")),
        CacheCase(
            "no-cache is kept and asked about", .load("Cache-Control: no-cache, max-age=60", "ETag: \"1\""),
            .confirmed(1).sending("If-None-Match: \"1\"")),
        CacheCase("no-cache, in other letters", .load("Cache-Control: No-Cache, max-age=60"), .asks()),
        CacheCase(
            "no-cache for a field drops the field",
            .load("Cache-Control: max-age=60, no-cache=\"x-me\"", "X-Me: 1"),
            .held(1).getting("!X-Me")),
        CacheCase(
            "must-understand lifts no-store from what is understood",
            .load("Cache-Control: must-understand, no-store, max-age=60"), .held(1)),
        CacheCase(
            "must-understand refuses what is not",
            .load("Cache-Control: must-understand, max-age=60", status: 299),
            .asks(1, status: 299)),
        CacheCase(
            "directives nobody knows change nothing",
            .load("Cache-Control: foo, max-age=60, bar=\"no-store\""),
            .held(1)),
        CacheCase(
            "Pragma of an answer does not outweigh Cache-Control",
            .load("Cache-Control: max-age=60", "Pragma: no-cache"), .held(1)),
        CacheCase("a method nobody knows", .load("Cache-Control: max-age=60").by("FOO"), .asks(1).by("FOO")),
        CacheCase(
            "POST is not answered by what GET got", .load("Cache-Control: max-age=60"), .asks(1).by("POST")),
        CacheCase(
            "GET is not answered by what POST got", .load("Cache-Control: max-age=60").by("POST"), .asks(1)),
        CacheCase(
            "GET is answered by what POST got, where it says so",
            .load("Cache-Control: max-age=60", "Content-Location: /a").by("POST"), .held(1)),
        CacheCase(
            "OPTIONS is not kept", .load("Cache-Control: max-age=60").by("OPTIONS"), .asks(1).by("OPTIONS")),
        CacheCase(
            "an empty body is a body", .load("Cache-Control: max-age=60").saying("").showing(""),
            .held(1).showing("")),
        CacheCase(
            "fields nobody knows are kept", .load("Cache-Control: max-age=60", "X-Foo: 1", "X-Foo: 2"),
            .held(1).getting("X-Foo: 1", "X-Foo: 2")),
        CacheCase(
            "what Connection names is not kept",
            .load("Cache-Control: max-age=60", "Connection: x-hop", "X-Hop: 1"),
            .held(1).getting("!X-Hop")),
        CacheCase(
            "fields of the connection are not kept",
            .load("Cache-Control: max-age=60", "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic"),
            .held(1).getting("!Keep-Alive", "!Proxy-Authenticate")),
        CacheCase(
            "a cookie is for who asked",
            .load("Cache-Control: max-age=60", "Set-Cookie: a=b; Path=/").getting("Set-Cookie: a=b; Path=/"),
            .held(1).getting("!Set-Cookie")),
        CacheCase(
            "Content-Type and its like come back",
            .load("Cache-Control: max-age=60", "Content-Type: application/x-foo", "Content-Language: de"),
            .held(1).getting("Content-Type: application/x-foo", "Content-Language: de")),
    ])
    func kept(_ scene: CacheCase) throws { try CacheProxy().run(scene.steps) }

    @Test func `beside a site at the root a cookie is the root's, by http`() throws {
        try CacheProxy(hasProxy: false).run([
            .load("Cache-Control: max-age=60", "Set-Cookie: a=b; Domain=127.0.0.1; Secure; Path=/").getting(
                "Set-Cookie: a=b; Path=/"),
            .held(1).getting("!Set-Cookie"),
        ])
    }

    @Test(arguments: [
        CacheCase(
            "what broke off",
            .load("Cache-Control: max-age=60").bent { $0.truncated(after: 3) }.answering(504),
            .asks(1)),
        CacheCase(
            "a chunk that broke off",
            .load("Cache-Control: max-age=60").bent { $0.brokenChunk(after: 3) }.answering(504), .asks(1)),
        CacheCase(
            "what was chunked", .load("Cache-Control: max-age=60").bent { $0.chunked(2) },
            .held(1).getting("Content-Length: 6")),
        CacheCase(
            "what ended with the connection", .load("Cache-Control: max-age=60").bent { $0.untilClose() },
            .held(1)),
    ])
    func framing(_ scene: CacheCase) throws {
        var steps = scene.steps
        // Of what breaks off a proxy's client has got the beginning.
        let isBroken = steps[0].status == 504
        if isBroken { steps[0].shows = .anything }
        try CacheProxy(hasProxy: !isBroken).run(steps)
    }

    @Test(arguments: [100, 102, 103]) func `what is interim is neither kept nor in the way`(status: Int)
        throws
    {
        try CacheProxy().run([
            .load("Cache-Control: max-age=60").bent {
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
            "what was asked for with Authorization",
            .load("Cache-Control: max-age=60").with("Authorization: x"),
            .asks(1)),
        CacheCase(
            "and not even for the same", .load("Cache-Control: max-age=60").with("Authorization: x"),
            .asks(1).with("Authorization: x")),
        CacheCase("public", .load("Cache-Control: max-age=60, public").with("Authorization: x"), .held(1)),
        CacheCase(
            "must-revalidate", .load("Cache-Control: max-age=60, must-revalidate").with("Authorization: x"),
            .held(1)),
        CacheCase("s-maxage", .load("Cache-Control: s-maxage=60").with("Authorization: x"), .held(1)),
        CacheCase(
            "what was asked for without it is for all", .load("Cache-Control: max-age=60"),
            .held(1).with("Authorization: x")),
        CacheCase("the origin gets it", .load().with("Authorization: x").sending("Authorization: x")),
        CacheCase(
            "401 is the client's",
            .load("WWW-Authenticate: Basic realm=a", status: 401).getting("WWW-Authenticate: Basic realm=a"),
            .asks(1)),
    ])
    func authorization(_ scene: CacheCase) throws { try CacheProxy().run(scene.steps) }

    @Test func `what a rule keeps in memory is held there`() throws {
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
    func `CDN-Cache-Control outweighs Cache-Control`(targeted: String, other: String, lifetime: Int64) throws
    {
        var steps: [CacheCase.Step] = [.load("CDN-Cache-Control: \(targeted)", "Cache-Control: \(other)")]
        if lifetime > 0 { steps.append(.held(lifetime - 1)) }
        if lifetime < 1_000_000 { steps.append(.asks(lifetime)) }
        try CacheProxy(hasProxy: false).run(steps)
    }

    @Test(arguments: [
        CacheCase(
            "and Expires", .load("CDN-Cache-Control: max-age=60", "Expires: @-60"), .held(59), .asks(60)),
        CacheCase(
            "and Age is taken off", .load("CDN-Cache-Control: max-age=60", "Age: 50"), .held(9), .asks(10)),
        CacheCase(
            "two lines are one", .load("CDN-Cache-Control: foo", "CDN-Cache-Control: max-age=60"), .held(59)),
        CacheCase(
            "without a lifetime Expires does not count", .load("CDN-Cache-Control: public", "Expires: @+60"),
            .asks(1)),
        CacheCase(
            "s-maxage of Cache-Control does not count beside it",
            .load("CDN-Cache-Control: max-age=60", "Cache-Control: s-maxage=1"), .held(59)),
        CacheCase(
            "must-revalidate of it counts", .load("CDN-Cache-Control: max-age=60, must-revalidate"),
            .refused(60, 504, asks: true)),
    ])
    func targeted(_ scene: CacheCase) throws { try CacheProxy(hasProxy: false).run(scene.steps) }
}
