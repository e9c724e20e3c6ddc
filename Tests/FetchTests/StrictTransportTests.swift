import TestOrigin
import Testing
import Web

@testable import Fetch

@Suite struct StrictTransportTests {
    private let now = HTTPDate(secondsSinceEpoch: 1_000_000_000)

    /// RFC 6797, sections 6.1 and 8.1.
    @Test(arguments: [
        ("max-age=31536000", true, false), ("max-age=31536000; includeSubDomains", true, true),
        ("MAX-AGE=\"1000\" ; INCLUDESUBDOMAINS;preload", true, true), (" ; max-age = 5 ;; ", true, false),
        ("max-age=99999999999999999999", true, false), ("max-age=0", false, false), ("", false, false),
        ("includeSubDomains", false, false), ("max-age=-1", false, false), ("max-age", false, false),
        ("max-age=1; max-age=2", false, false), ("max-age=1; includeSubDomains=x", false, false),
        ("max-age=1s", false, false),
    ])
    func `a host says how it wants to be asked`(value: String, host: Bool, subdomains: Bool) throws {
        var strict = StrictTransport()
        strict.note(value, from: try #require(WebURL("https://a.test/")), now: now)
        #expect((strict.upgraded(try #require(WebURL("http://a.test/")), now: now) != nil) == host)
        #expect((strict.upgraded(try #require(WebURL("http://b.a.test/")), now: now) != nil) == subdomains)
        #expect(strict.upgraded(try #require(WebURL("http://ba.test/")), now: now) == nil)
        #expect(strict.upgraded(try #require(WebURL("http://test/")), now: now) == nil)
    }

    @Test(arguments: [
        ("http://a.test/x?y#z", "https://a.test/x?y#z"), ("http://a.test:80/", "https://a.test/"),
        ("http://a.test:8080/", "https://a.test:8080/"), ("http://a.test:443/", "https://a.test/"),
        ("http://A.test./", "https://a.test./"), ("https://a.test/", nil), ("ftp://a.test/", nil),
    ])
    func `an address is upgraded`(url: String, upgraded: String?) throws {
        var strict = StrictTransport()
        strict.note("max-age=10", from: try #require(WebURL("https://a.test/")), now: now)
        #expect(strict.upgraded(try #require(WebURL(url)), now: now)?.href == upgraded)
        #expect(strict.upgraded(try #require(WebURL(url)), now: now.adding(seconds: 10)) == nil)
    }

    @Test(arguments: ["http://a.test/", "https://127.0.0.1/", "https://[::1]/"])
    func `not everybody can say so`(url: String) throws {
        var strict = StrictTransport()
        strict.note("max-age=10", from: try #require(WebURL(url)), now: now)
        #expect(strict == StrictTransport())
    }

    @Test func `a host takes its word back`() throws {
        var strict = StrictTransport()
        let url = try #require(WebURL("https://a.test/"))
        strict.note("max-age=10", from: url, now: now)
        strict.note("max-age=0", from: url, now: now)
        #expect(strict == StrictTransport())
    }

    @Test func `curl's file is read and written`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(
            """
            # Your HSTS cache. https://curl.se/docs/hsts.html
            .a.test "20310102 03:04:05"
            b.test "unlimited"
            broken
            c.test "never"

            """, to: "hsts")
        var strict = StrictTransport()
        try strict.load(path)
        #expect(strict.upgraded(try #require(WebURL("http://x.a.test/")), now: now) != nil)
        #expect(strict.upgraded(try #require(WebURL("http://x.b.test/")), now: now) == nil)
        #expect(
            strict.upgraded(try #require(WebURL("http://b.test/")), now: HTTPDate(secondsSinceEpoch: .max))
                != nil)
        let end = try #require(HTTPDate(iso8601: "2031-01-02T03:04:05Z"))
        #expect(strict.upgraded(try #require(WebURL("http://a.test/")), now: end) == nil)
        try strict.save(folder.file("copy"))
        var copy = StrictTransport()
        try copy.load(folder.file("copy"))
        #expect(copy == strict)
        #expect(copy.rules.count == 2)
        #expect(throws: FetchFailure.self) { try strict.load(folder.file("missing")) }
    }

    @Test func `the loop answers in the host's place`() throws {
        let fetching = try Fetching { options in
            options.strictTransport?.add("a.test \"unlimited\"")
        }
        let result = try fetching.result("http://a.test/x")
        #expect(try result.response().status == 307)
        #expect(try result.response().fields["Location"] == "https://a.test/x")
        #expect(result.exchange == nil)
        #expect(result.wireByteCount == 0)
    }
}
