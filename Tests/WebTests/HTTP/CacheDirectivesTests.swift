import Testing

@testable import Web

struct CacheDirectivesTests {
    @Test(
        arguments: [
            ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age=\"6\\0\"", 60),
            ("max-age=60, max-age=5", 60), ("public,,max-age=60,", 60),
            ("foo=\"max-age=1, b\", max-age=60", 60),
            ("max-age=0060", 60), ("max-age=2147483648", 1 << 31),
            ("max-age=99999999999999999999999", 1 << 31),
            ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age=abc", 0), ("max-age=", 0), ("max-age", 0),
            ("max-age=10 20", 0), ("max-age= 60", 60), ("max-age =60", 60), ("", nil), ("x-max-age=5", nil),
            ("max-agent=5", nil), ("=5, max-age=60", 60), ("\"max-age=1\"", nil), ("max-age=\"60", 60),
        ] as [(String, Int?)]) func `max-age is parsed, and a malformed one counts as 0`(
            text: String, expected: Int?
        )
    {
        #expect(CacheDirectives(text).maxAge == expected)
    }

    @Test func `all response directives are parsed`() {
        let found = CacheDirectives(
            "s-maxage=1, stale-while-revalidate=2, stale-if-error=3, public, no-store, no-transform, "
                + "must-revalidate, proxy-revalidate, must-understand, immutable, community=\"UCI\"")
        var expected = CacheDirectives()
        expected.sharedMaxAge = 1
        expected.staleWhileRevalidate = 2
        expected.staleIfError = 3
        expected.isPublic = true
        expected.noStore = true
        expected.noTransform = true
        expected.mustRevalidate = true
        expected.proxyRevalidate = true
        expected.mustUnderstand = true
        expected.isImmutable = true
        #expect(found == expected)
    }

    @Test func `all request directives are parsed`() {
        let found = CacheDirectives("min-fresh=4, max-stale, only-if-cached, no-cache, max-age=0")
        #expect(found.minFresh == 4)
        #expect(found.maxStale == .any)
        #expect(found.onlyIfCached)
        #expect(found.noCache == .wholeResponse)
        #expect(found.maxAge == 0)
        #expect(CacheDirectives("max-stale=10").maxStale == .seconds(10))
        #expect(CacheDirectives("max-stale=x").maxStale == nil)
        #expect(CacheDirectives("min-fresh=x, stale-if-error=-1").minFresh == nil)
    }

    @Test(
        arguments: [
            ("no-cache", CacheDirectives.Scope.wholeResponse), ("no-cache=\"\"", .wholeResponse),
            ("no-cache=\" , \"", .wholeResponse),
            ("no-cache=\"Set-Cookie, X-A\"", .fields(["set-cookie", "x-a"])),
            ("no-cache=Set-Cookie", .fields(["set-cookie"])),
            ("no-cache=\"a\", no-cache=\"b\"", .fields(["a", "b"])),
            ("no-cache=\"a\", no-cache", .wholeResponse),
            ("no-cache, no-cache=\"a\"", .wholeResponse), ("private", nil),
        ] as [(String, CacheDirectives.Scope?)])
    func `no-cache with field names applies only to these fields`(
        text: String, expected: CacheDirectives.Scope?
    ) {
        #expect(CacheDirectives(text).noCache == expected)
    }

    @Test func `no-cache with too many names applies to the whole response`() {
        #expect(CacheDirectives(String(repeating: "no-cache=a,", count: 50_000)).noCache == .wholeResponse)
        #expect(
            CacheDirectives("no-cache=\"" + String(repeating: "a,", count: 50_000) + "\"").noCache
                == .wholeResponse)
    }

    @Test func `several Cache-Control fields are joined, and Pragma counts only without them`() {
        let both = CacheDirectives([
            "Cache-Control": "max-age=5", "cache-control": "private=\"x\"", "Pragma": "no-cache",
        ])
        #expect(both.maxAge == 5)
        #expect(both.isPrivate == .fields(["x"]))
        #expect(both.noCache == nil)
        #expect(CacheDirectives(["Pragma": "x, no-cache"]).noCache == .wholeResponse)
        #expect(CacheDirectives([:]) == CacheDirectives())
    }
}
