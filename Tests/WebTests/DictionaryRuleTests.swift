import Testing

@testable import Web

/// Compression Dictionary Transport (RFC 9842): its header fields, and the choice of a dictionary.
@Suite struct DictionaryRuleTests {
    private static let base = "https://a.test/app/v1/main.js?x=1"

    private static let matches: [(pattern: String, target: String, matches: Bool)] = [
        ("/app/v1/main.js", "/app/v1/main.js", true), ("/app/v1/main.js", "/app/v1/main.js?v=2", true),
        ("/app/v1/main.js", "/app/v1/main.jsx", false), ("/app/*/main.js", "/app/v2/main.js", true),
        ("/app/*/main.js", "/app/v2/b/main.js", true), ("/app/:version/main.js", "/app/v2/main.js", true),
        ("/app/:version/main.js", "/app/v2/b/main.js", false),
        ("/app/:version/main.js", "/app//main.js", false),
        ("/main.*.js", "/main.3f.js", true), ("/*", "/anything/at/all?q", true),
        ("*", "/app/v1/other.js", true),
        ("*", "/other.js", false), ("other.js", "/app/v1/other.js", true), ("other.js", "/other.js", false),
        ("https://a.test/b.js", "/b.js", true), ("https://a.test", "/", true),
        (#"/b.js\?v=*"#, "/b.js?v=3", true), (#"/b.js\?v=*"#, "/b.js?w=3", false),
        ("/b.js?v=*", "/b.js?v=3", true),
        ("/b.js?", "/b.js", true), ("/b.js?", "/b.js?v", false), ("?v=*", "/app/v1/main.js?v=1", true),
        ("?v=*", "/b.js?v=1", false), (#"/a\+b.js"#, "/a+b.js", true), ("/{a}b.js", "/ab.js", true),
        ("/**.js", "/a/b.js", true),
    ]

    @Test(arguments: matches)
    func `a pattern matches the URLs that the standard says`(pattern: String, target: String, matches: Bool)
        throws
    {
        let base = try #require(WebURL(Self.base))
        let parsed = try #require(DictionaryPattern(pattern, base: base))
        #expect(parsed.matches(try #require(WebURL("https://a.test" + target))) == matches)
    }

    @Test(arguments: [
        "/(.*)", "/a(b|c)", "https://b.test/x", "http://a.test/x", "https://a.test.evil/", "//a.test/x",
        "/a+", "/*?",
        "/:a?", "/:a*", "/{a}?", "/{a", "/a}", "/:", "/:1", "/a#b", #"/a\"#, #"/a\*"#, "/?a=b?", "/?:name",
        "/" + String(repeating: "a", count: 1024),
    ])
    func `a pattern with regular expressions, another origin or unsupported parts is not used`(
        pattern: String
    )
        throws
    {
        #expect(DictionaryPattern(pattern, base: try #require(WebURL(Self.base))) == nil)
    }

    @Test(arguments: ["/a.js", "/a+b(1).js", "/{x}:y.js"])
    func `an escaped path matches itself`(path: String) throws {
        let url = try #require(WebURL("https://a.test" + path))
        let pattern = try #require(DictionaryPattern(DictionaryPattern.escaping(url.path), base: url))
        #expect(pattern.matches(url))
        #expect(!pattern.matches(try #require(WebURL("https://a.test/other"))))
    }

    @Test(arguments: [
        (#"match="/a*""#, ""), (#"match="/a*", id="x y", type=raw, match-dest=("script" "style")"#, "x y"),
        (#"id="q\"\\", match="/""#, #"q"\"#),
    ])
    func `a rule has a pattern and an id`(value: String, id: String) throws {
        let url = try #require(WebURL(Self.base))
        let rule = try #require(DictionaryRule(["Use-As-Dictionary": value], of: url))
        #expect(rule.id == id)
    }

    @Test(arguments: [
        "", #"id="x""#, "match=/a", #"match=("/a")"#, #"match="/a", type=zstd"#, #"match="/a", type="raw""#,
        #"match="/a", match-dest="script""#, #"match="/a", match-dest=(script)"#, #"match="/a", id=x"#,
        #"match="/(a)""#, #"match="/a"; "#, #"match="/a", id=""# + String(repeating: "x", count: 1025) + "\"",
    ])
    func `an invalid rule is not used`(value: String) throws {
        #expect(DictionaryRule(["Use-As-Dictionary": value], of: try #require(WebURL(Self.base))) == nil)
    }

    @Test func `the value that is sent is the rule that is read`() throws {
        let value = DictionaryRule.value(match: #"/a\+"*.js"#, id: #"0"\"#)
        let url = try #require(WebURL(Self.base))
        let rule = try #require(DictionaryRule(["Use-As-Dictionary": value], of: url))
        #expect(rule.pattern.text == #"/a\+"*.js"#)
        #expect(rule.id == #"0"\"#)
    }

    @Test func `an offer is read as it was sent`() throws {
        let digest = [UInt8](0..<32)
        for id in ["", #"main "1" \"#] {
            let offer = DictionaryOffer(sha256: digest, id: id)
            #expect(offer.fields.contains("Dictionary-ID") == !id.isEmpty)
            #expect(DictionaryOffer(offer.fields) == offer)
        }
        // The example of section 2.2.
        let example = DictionaryOffer([
            "Available-Dictionary": ":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:"
        ])
        #expect(example?.sha256.first == 0xA5)
    }

    @Test(arguments: [
        "", "x", ":YQ==:",
        ":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:, :pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:",
        ":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=", "\"pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=\"",
        ":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:, b",
    ])
    func `an offer of none, several or no digest is ignored`(value: String) {
        #expect(DictionaryOffer(["Available-Dictionary": value]) == nil)
    }

    // MARK: - Choice

    private static func entry(
        _ match: String, _ href: String = "https://a.test/app/v1/main.js", digit: UInt8,
        fetched: Int64 = 1000,
        cacheControl: String = "max-age=1000"
    ) throws -> DictionaryEntry {
        let url = try #require(WebURL(href))
        let fields: HTTPFields = [
            "Use-As-Dictionary": DictionaryRule.value(match: match, id: ""), "Cache-Control": cacheControl,
        ]
        let time = HTTPDate(secondsSinceEpoch: fetched)
        return DictionaryEntry(
            url: url, rule: try #require(DictionaryRule(fields, of: url)), sha256: [digit], fetched: fetched,
            freshness: Freshness(
                status: 200, fields: fields, requestTime: time, responseTime: time, profile: .private))
    }

    private static func best(_ target: String, _ entries: [DictionaryEntry], now: Int64 = 1500) throws
        -> UInt8?
    {
        let url = try #require(WebURL(target))
        return DictionaryEntry.best(for: url, among: entries, now: HTTPDate(secondsSinceEpoch: now))?.sha256
            .first
    }

    @Test func `the longest pattern is chosen, then the response that was fetched last`() throws {
        let entries = [
            try Self.entry("/*", digit: 1, fetched: 1200), try Self.entry("/app/*", digit: 2),
            try Self.entry("/app/*", digit: 3, fetched: 1100), try Self.entry("/other/longest/*", digit: 4),
        ]
        #expect(try Self.best("https://a.test/app/x.js", entries) == 3)
        #expect(try Self.best("https://a.test/x.js", entries) == 1)
    }

    @Test(arguments: [
        "https://b.test/app/x.js", "http://a.test/app/x.js", "https://a.test:8443/app/x.js",
        "https://www.a.test/app/x",
    ])
    func `a dictionary is for its own origin only`(target: String) throws {
        #expect(try Self.best(target, [try Self.entry("/app/*", digit: 1)]) == nil)
    }

    @Test(arguments: [
        ("https://a.test", true), ("http://a.test", false), ("http://localhost:8080", true),
        ("http://a-test.localhost", true), ("http://127.0.0.1:1", true), ("http://[::1]:1", true),
        ("http://127.evil.test", false), ("http://localhost.test", false), ("http://192.168.0.1", false),
    ])
    func `dictionaries are used with https, and with this machine`(origin: String, isUsed: Bool) throws {
        let entry = try Self.entry("/*", origin + "/a.js", digit: 1)
        #expect(try Self.best(origin + "/a.js", [entry]) == (isUsed ? 1 : nil))
    }

    @Test(arguments: [
        ("max-age=1000", 1999, true), ("max-age=1000", 2001, false), ("no-cache, max-age=1000", 1001, false),
        ("max-age=0, stale-while-revalidate=500", 1400, true),
        ("max-age=0, stale-while-revalidate=500", 1501, false),
        ("max-age=0, must-revalidate, stale-while-revalidate=500", 1400, false), ("", 1001, false),
    ])
    func `a dictionary must be fresh or allowed to be stale`(cacheControl: String, now: Int64, isUsed: Bool)
        throws
    {
        let entry = try Self.entry("/*", digit: 1, cacheControl: cacheControl)
        #expect(try Self.best("https://a.test/x", [entry], now: now) == (isUsed ? 1 : nil))
    }

    @Test(
        arguments: [
            ([:], nil, true), (["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors"], nil, true),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"], "*", false),
            (["Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"], nil, false),
            (["Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"], nil, true),
            (
                ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "https://b.test"], nil,
                false
            ),
            (
                ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "https://b.test"], "*",
                true
            ),
            (
                ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "https://b.test"],
                "https://b.test", true
            ),
            (
                ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "https://b.test"],
                "https://c.test", false
            ),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"], "*", false),
            (["Sec-Fetch-Site": "cross-site"], "*", false), (["Sec-Fetch-Mode": "websocket"], nil, false),
        ] as [(HTTPFields, String?, Bool)])
    func `a page gets differences only to responses that it can read`(
        request: HTTPFields, allowedOrigin: String?, isReadable: Bool
    ) {
        #expect(DictionaryReadability.isReadable(request, allowedOrigin: allowedOrigin) == isReadable)
    }
}
