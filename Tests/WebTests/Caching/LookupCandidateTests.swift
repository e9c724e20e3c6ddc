import Testing

@testable import Web

struct LookupCandidateTests {
    @Test(
        "candidates come in the order in which to try them",
        arguments: [
            (
                "https://x.example/", false,
                [
                    "exact https://x.example/", "scheme http://x.example/", "query https://x.example/?",
                    "scheme+query http://x.example/?",
                ]
            ),
            (
                "http://x.example/#top", false,
                [
                    "exact http://x.example/", "scheme https://x.example/", "query http://x.example/?",
                    "scheme+query https://x.example/?",
                ]
            ),
            (
                "https://x.example/a", false,
                [
                    "exact https://x.example/a", "scheme http://x.example/a", "slash https://x.example/a/",
                    "scheme+slash http://x.example/a/", "query https://x.example/a?",
                    "scheme+query http://x.example/a?",
                ]
            ),
            (
                "https://x.example/a/?v=1&b=2", true,
                [
                    "exact https://x.example/a/?v=1&b=2", "scheme http://x.example/a/?v=1&b=2",
                    "slash https://x.example/a?v=1&b=2", "scheme+slash http://x.example/a?v=1&b=2",
                    "cache-busters https://x.example/a/?b=2", "scheme+cache-busters http://x.example/a/?b=2",
                    "query https://x.example/a/", "scheme+query http://x.example/a/",
                ]
            ),
            // A URL that results from two changes is tried once, under the first.
            (
                "http://x.example:81/?_=1", true,
                ["exact http://x.example:81/?_=1", "cache-busters http://x.example:81/"]
            ),
            (
                "http://x.example:81/a;jsessionid=1?utm_source=m&v=1", false,
                [
                    "exact http://x.example:81/a;jsessionid=1?utm_source=m&v=1",
                    "slash http://x.example:81/a;jsessionid=1/?utm_source=m&v=1",
                    "cache-busters http://x.example:81/a;jsessionid=1?utm_source=m",
                    "cache-busters http://x.example:81/a?v=1", "cache-busters http://x.example:81/a",
                ]
            ),
            ("http://x.example:81/?q", false, ["exact http://x.example:81/?q"]),
            (
                "data:text/plain,x?v=1", false,
                ["exact data:text/plain,x?v=1", "cache-busters data:text/plain,x"]
            ),
        ]) func order(text: String, dropsQuery: Bool, expected: [String])
    {
        let found = LookupCandidate.all(for: webURL(text), dropsQuery: dropsQuery)
        #expect(found.map { "\($0.change) \($0.url)" } == expected)
    }

    @Test(
        arguments: [
            ("?_=1", ""), ("?v=1.2&a=b", "?a=b"), ("?a=b&CB=9", "?a=b"), ("?a=b&cb", "?a=b"),
            ("?1699999999", ""), ("?v1.0", ""), ("?V2", ""), ("?1.0.3&a=b", "?a=b"), ("?v1.0=", nil),
            ("?v", ""), ("?v1.", nil),
            ("?1..2", nil), ("?1.0-beta", nil), ("?.5", nil), ("?vv1", nil),
            ("?a&123&b", "?a&b"), ("?ver=1&&t=2", "?"), ("?a=_", nil), ("?1=2", nil), ("?vv=1", nil),
            ("", nil),
            ("?", nil),
            ("?%76=1", nil), ("?a=1&v", "?a=1"),
        ] as [(String, String?)])
    func `known cache-busting parameters are removed and the others are unchanged`(
        query: String, expected: String?
    ) {
        let found = CacheBusters.known.removing(from: webURL("https://x.example/a\(query)"))
        #expect(found?.href == expected.map { "https://x.example/a\($0)" })
    }

    @Test func `a caller can define its own parameters`() {
        let own = CacheBusters(names: ["z"], includesBareVersions: false)
        #expect(
            own.removing(from: webURL("https://x.example/?z=1&v=2&3"))?.href == "https://x.example/?v=2&3")
        #expect(own.removing(from: webURL("https://x.example/?v=2&3")) == nil)
    }
}

@Suite struct SessionParametersTests {
    @Test(arguments: [
        ("http://a.test/x;jsessionid=0A1B2C3D", "http://a.test/x"),
        ("http://a.test/x;JSESSIONID=0A1B;v=2/y?z", "http://a.test/x;v=2/y?z"),
        ("http://a.test/x?PHPSESSID=4fa8", "http://a.test/x"),
        ("http://a.test/x?a=1&PHPSESSID=4fa8&b=2", "http://a.test/x?a=1&b=2"),
        ("http://a.test/x?utm_source=mail&utm_medium=x", "http://a.test/x"),
        ("http://a.test/x?ASPSESSIONIDQQ=ABC&n=1", "http://a.test/x?n=1"),
        ("http://a.test/x?sid=4fa8b23c4fa8b23c", "http://a.test/x"),
        ("http://a.test/x?fbclid=1&a", "http://a.test/x?a"),
        ("http://a.test/(S(lit3py55t21z5v55vlm25s55))/x.aspx", "http://a.test/x.aspx"),
        ("http://a.test:81/x?gclid=1#y", "http://a.test:81/x"),
        ("http://a.test/x;jsessionid=1?", "http://a.test/x?"),
        ("http://a.test/boat?pk=3&_origin=%2Fboats%3F_origin%3D%252F", "http://a.test/boat?pk=3"),
        ("http://a.test/login?next=/a/b&x=1", "http://a.test/login?x=1"),
        ("http://a.test/in.php?redirect_to=http%3A%2F%2Fa.test%2F", "http://a.test/in.php"),
    ])
    func `session and campaign parameters are removed`(url: String, stripped: String) throws {
        #expect(SessionParameters.removing(from: try #require(WebURL(url)))?.href == stripped)
    }

    @Test(arguments: [
        "http://a.test/", "http://a.test/x?sid=12", "http://a.test/x?s=search+words",
        "http://a.test/x?token=overview",
        "http://a.test/x?utm=1", "http://a.test/x;v=1", "http://a.test/f(x)", "http://a.test/(S(x))/",
        "http://a.test/x?next=2", "http://a.test/x?return=item", "http://a.test/x?url=/a",
        "http://a.test/x?a=1&&b", "http://a.test/x?=PHPSESSID", "http://a.test/jsessionid=1",
    ])
    func `other URLs are unchanged`(url: String) throws {
        #expect(SessionParameters.removing(from: try #require(WebURL(url))) == nil)
    }
}
