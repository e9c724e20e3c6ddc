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
    func `the header applies to its host, and to subdomains only with includeSubDomains`(
        value: String, host: Bool, subdomains: Bool
    ) throws {
        var strict = StrictTransport()
        strict.applyHeader(value, from: try #require(WebURL("https://a.test/")), now: now)
        #expect((strict.httpsURL(for: try #require(WebURL("http://a.test/")), now: now) != nil) == host)
        #expect(
            (strict.httpsURL(for: try #require(WebURL("http://b.a.test/")), now: now) != nil) == subdomains)
        #expect(strict.httpsURL(for: try #require(WebURL("http://ba.test/")), now: now) == nil)
        #expect(strict.httpsURL(for: try #require(WebURL("http://test/")), now: now) == nil)
    }

    @Test(arguments: [
        ("http://a.test/x?y#z", "https://a.test/x?y#z"), ("http://a.test:80/", "https://a.test/"),
        ("http://a.test:8080/", "https://a.test:8080/"), ("http://a.test:443/", "https://a.test/"),
        ("http://A.test./", "https://a.test./"), ("https://a.test/", nil), ("ftp://a.test/", nil),
    ])
    func `an http URL of a host with a rule becomes https until the rule expires`(
        url: String, upgraded: String?
    ) throws {
        var strict = StrictTransport()
        strict.applyHeader("max-age=10", from: try #require(WebURL("https://a.test/")), now: now)
        #expect(strict.httpsURL(for: try #require(WebURL(url)), now: now)?.href == upgraded)
        #expect(strict.httpsURL(for: try #require(WebURL(url)), now: now.adding(seconds: 10)) == nil)
    }

    @Test(arguments: ["http://a.test/", "https://127.0.0.1/", "https://[::1]/"])
    func `the header is ignored over http and for IP addresses`(url: String) throws {
        var strict = StrictTransport()
        strict.applyHeader("max-age=10", from: try #require(WebURL(url)), now: now)
        #expect(strict == StrictTransport())
    }

    @Test func `max-age=0 removes the rule of a host`() throws {
        var strict = StrictTransport()
        let url = try #require(WebURL("https://a.test/"))
        strict.applyHeader("max-age=10", from: url, now: now)
        strict.applyHeader("max-age=0", from: url, now: now)
        #expect(strict == StrictTransport())
    }

    @Test func `the loop redirects to https itself without a request`() throws {
        let fetching = try TestFetcher { options in
            options.strictTransport?.rules["a.test"] = StrictTransport.Rule(
                includesSubdomains: false, end: HTTPDate(secondsSinceEpoch: .max))
        }
        let result = try fetching.result("http://a.test/x")
        #expect(try result.response().status == 307)
        #expect(try result.response().fields["Location"] == "https://a.test/x")
        #expect(result.exchange == nil)
        #expect(result.wireByteCount == 0)
    }
}
