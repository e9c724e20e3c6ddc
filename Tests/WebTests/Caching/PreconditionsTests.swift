import Testing

@testable import Web

struct PreconditionsTests {
    private static let current = Validator(head("ETag: \"1\"", "Last-Modified: @-100"))

    @Test(
        "conditions are evaluated in the order of RFC 9110, section 13.2.2",
        arguments: [
            // Conditions, result for GET, result for PUT
            (head(), .proceed, .proceed), (head("If-Match: \"1\""), .proceed, .proceed),
            (head("If-Match: \"2\", \"1\""), .proceed, .proceed), (head("If-Match: *"), .proceed, .proceed),
            (head("If-Match: \"2\""), .failed, .failed), (head("If-Match: W/\"1\""), .failed, .failed),
            (head("If-Match:"), .failed, .failed), (head("If-None-Match: \"1\""), .notModified, .failed),
            (head("If-None-Match: W/\"1\""), .notModified, .failed),
            (head("If-None-Match: \"2\", \"1\", \"3\""), .notModified, .failed),
            (head("If-None-Match: \"2\"", "If-None-Match: \"1\""), .notModified, .failed),
            (head("If-None-Match: *"), .notModified, .failed),
            (head("If-None-Match: \"2\""), .proceed, .proceed),
            (head("If-None-Match: 1"), .notModified, .failed),
            (head("If-Modified-Since: @-100"), .notModified, .proceed),
            (head("If-Modified-Since: @-101"), .proceed, .proceed),
            (head("If-Modified-Since: @-99"), .proceed, .proceed),
            (head("If-Modified-Since: soon"), .proceed, .proceed),
            (head("If-None-Match: \"2\"", "If-Modified-Since: @-100"), .proceed, .proceed),
            (head("If-None-Match: \"1\"", "If-Modified-Since: @-999"), .notModified, .failed),
            (head("If-Unmodified-Since: @-100"), .proceed, .proceed),
            (head("If-Unmodified-Since: @-101"), .failed, .failed),
            (head("If-Unmodified-Since: soon"), .proceed, .proceed),
            (head("If-Match: \"1\"", "If-Unmodified-Since: @-101"), .proceed, .proceed),
            (head("If-Match: \"2\"", "If-None-Match: \"1\""), .failed, .failed),
            (head("If-Match: \"1\"", "If-None-Match: \"1\""), .notModified, .failed),
            (head("If-Unmodified-Since: @-100", "If-Modified-Since: @-100"), .notModified, .proceed),
        ] as [(HTTPFields, Preconditions.Result, Preconditions.Result)])
    func order(request: HTTPFields, byGet: Preconditions.Result, byPut: Preconditions.Result) {
        let conditions = Preconditions(request)
        #expect(conditions.evaluate(Self.current) == byGet)
        #expect(conditions.evaluate(Self.current, method: .head) == byGet)
        #expect(conditions.evaluate(Self.current, method: .unsafe) == byPut)
        #expect(conditions.isEmpty == request.isEmpty)
    }

    @Test func `a response without validators meets only the condition for any version`() {
        let nothing = Validator([:])
        #expect(Preconditions(head("If-Match: \"1\"")).evaluate(nothing) == .failed)
        #expect(Preconditions(head("If-Match: *")).evaluate(nothing) == .proceed)
        #expect(Preconditions(head("If-None-Match: \"1\"")).evaluate(nothing) == .proceed)
        #expect(Preconditions(head("If-None-Match: *")).evaluate(nothing) == .notModified)
        #expect(Preconditions(head("If-Modified-Since: @-100")).evaluate(nothing) == .proceed)
        #expect(Preconditions(head("If-Unmodified-Since: @-100")).evaluate(nothing) == .proceed)
    }

    @Test func `a cache leaves If-Match and If-Unmodified-Since to the origin`() {
        let conditions = Preconditions(head("If-Match: \"2\"", "If-None-Match: \"1\""))
        #expect(conditions.evaluate(Self.current, as: .cache) == .notModified)
        #expect(
            Preconditions(head("If-Unmodified-Since: @-999")).evaluate(Self.current, as: .cache) == .proceed)
    }

    @Test(
        arguments: [
            (head(), true), (head("If-Range: \"1\""), true), (head("If-Range: \"2\""), false),
            (head("If-Range: W/\"1\""), false), (head("If-Range: @-100"), true),
            (head("If-Range: @-99"), false),
            (head("If-Range: @-101"), false), (head("If-Range: ???"), false), (head("If-Range:"), false),
        ]) func `a range is served only if If-Range names the current version`(
            request: HTTPFields, isAllowed: Bool
        )
    {
        #expect(Preconditions(request).allowsRange(of: Self.current, date: noon) == isAllowed)
    }

    @Test func `a date is a strong validator only if it is older than the response`() {
        let conditions = Preconditions(head("If-Range: @-100"))
        #expect(!conditions.allowsRange(of: Self.current, date: noon.adding(seconds: -100)))
        #expect(conditions.allowsRange(of: Self.current, date: noon.adding(seconds: -99)))
        #expect(!conditions.allowsRange(of: Self.current, date: nil))
        let weak = Validator(head("ETag: W/\"1\""))
        #expect(!Preconditions(head("If-Range: W/\"1\"")).allowsRange(of: weak, date: noon))
    }
}

struct ValidatorTests {
    @Test(
        arguments: [
            (
                head("ETag: \"1\"", "Last-Modified: @-9"),
                head("If-None-Match: \"1\"", "If-Modified-Since: @-9")
            ),
            (head("ETag: W/\"1\""), head("If-None-Match: W/\"1\"")),
            (head("ETag: bare"), head("If-None-Match: bare")),
            (
                head("Last-Modified: Thursday, 01-Jan-70 00:00:00 GMT"),
                head("If-Modified-Since: Thursday, 01-Jan-70 00:00:00 GMT")
            ),
            (head("ETag: \"broken"), head()), (head("ETag:", "Last-Modified:"), head()),
            (head("X: 1"), head()),
        ] as [(HTTPFields, HTTPFields)])
    func `the conditions for a stored response contain its validators`(
        stored: HTTPFields, conditions: HTTPFields
    ) {
        #expect(Validator(stored).conditions == conditions)
    }
}

struct EntityTagTests {
    @Test(
        arguments: [
            ("\"1\"", "\"1\"", true, true), ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false), ("abc", "\"abc\"", true, true),
            ("\"\"", "\"\"", true, true),
        ] as [(String, String, Bool, Bool)]) func `entity tags are compared strongly and weakly`(
            left: String, right: String, strongly: Bool, weakly: Bool
        ) throws
    {
        let (left, right) = (try #require(EntityTag(left)), try #require(EntityTag(right)))
        #expect(left.matchesStrongly(right) == strongly)
        #expect(left.matchesWeakly(right) == weakly)
        #expect(right.matchesStrongly(left) == strongly)
    }

    @Test(arguments: ["", " ", "\"", "\"a", "a\"", "W/", "\"a\" b", "\"a\u{1}\"", "a b"])
    func `a malformed entity tag is rejected`(text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test func `an entity tag is sent back unchanged`() {
        #expect(EntityTag(" W/\"a b,c\" ")?.text == "W/\"a b,c\"")
        #expect(EntityTag("abc-1")?.text == "abc-1")
    }

    @Test func `a condition lists entity tags or matches any`() throws {
        let tag = try #require(EntityTag("\"b,c\""))
        #expect(EntityTagCondition("*") == .any)
        #expect(EntityTagCondition("*").includesStrongly(tag))
        #expect(EntityTagCondition("\"a\", W/\"b,c\" ,").includesWeakly(tag))
        #expect(!EntityTagCondition("\"a\", W/\"b,c\"").includesStrongly(tag))
        #expect(!EntityTagCondition("").includesWeakly(tag))
        #expect(EntityTagCondition("\"broken, \"a\"") == .tags([try #require(EntityTag("\"broken, \""))]))
    }
}

struct InvalidationTests {
    @Test(
        arguments: [
            ("POST", 200, head(), ["/a?b"]), ("PUT", 201, head(), ["/a?b"]),
            ("DELETE", 204, head(), ["/a?b"]),
            ("M-SEARCH", 200, head(), ["/a?b"]), ("PATCH", 303, head(), ["/a?b"]), ("GET", 200, head(), []),
            ("HEAD", 200, head(), []), ("OPTIONS", 200, head(), []), ("PROPFIND", 207, head(), []),
            ("POST", 404, head(), []), ("POST", 500, head(), []), ("POST", 100, head(), []),
            ("POST", 201, head("Location: c", "Content-Location: /d#x"), ["/a?b", "/c", "/d"]),
            ("POST", 201, head("Location: https://example.com:443/c"), ["/a?b", "/c"]),
            ("POST", 201, head("Location: /a?b"), ["/a?b"]),
            ("POST", 201, head("Location: //evil.example/c"), ["/a?b"]),
            ("POST", 201, head("Location: http://example.com/c"), ["/a?b"]),
            ("POST", 201, head("Location: https://example.com:8443/c"), ["/a?b"]),
            ("POST", 201, head("Location: https://[/", "Content-Location: data:,x"), ["/a?b"]),
        ] as [(String, Int, HTTPFields, [String])])
    func `a successful unsafe request invalidates its URL and those it names on the same origin`(
        method: String, status: Int, fields: HTTPFields, expected: [String]
    ) {
        let request = CacheRequest(method: method, url: webURL("https://example.com/a?b#c"))
        let found = Invalidation.targets(of: request, status: status, fields: fields)
        #expect(found.map(\.href) == expected.map { "https://example.com\($0)" })
    }
}
