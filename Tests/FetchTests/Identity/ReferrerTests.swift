import TestOrigin
import Testing
import Web

@testable import Fetch

@Suite struct ReferrerTests {
    @Test(arguments: [
        ("https://u:p@a.test/x?y#z", "https://a.test/", "https://a.test/x?y"),
        ("https://a.test/x", "https://b.test/", "https://a.test/"), ("https://a.test/x", "http://a.test/", nil),
        ("http://a.test:81/x", "https://a.test/", "http://a.test:81/"),
        ("http://a.test/x", "http://a.test/y", "http://a.test/x"),
        ("file:///etc", "http://a.test/", nil),
    ])
    func `strict origin when cross origin`(page: String, target: String, value: String?) throws {
        #expect(Referrer.value(from: try #require(WebURL(page)), to: try #require(WebURL(target))) == value)
    }

    @Test(arguments: [(false, nil), (true, "/page")])
    func `a Referer is sent only where it is wanted`(sends: Bool, path: String?) throws {
        let origin = try TestOrigin()
        let request = try Fetching.request(origin.url("/")) { $0.referrer = WebURL(origin.url("/page")) }
        _ = try Fetching { $0.sendsReferrer = sends }.result(of: request)
        #expect(origin.requests.first?["Referer"] == path.map { origin.url($0) })
    }
}
