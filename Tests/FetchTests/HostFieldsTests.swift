import TestOrigin
import Testing
import Web

@testable import Fetch

@Suite struct HostFieldsTests {
    private func fields(_ url: String) throws -> HTTPFields {
        var fields = HostFields()
        try fields.add("Accept-Language", "de")
        try fields.add("X-Who", "everybody")
        try fields.add("X-Who", "host", host: "a.test")
        try fields.add("X-Key", "1", host: "a.test")
        try fields.add("x-who", "origin", host: "https://a.test:8443")
        try fields.add("X-Six", "6", host: "[::1]")
        return fields.fields(for: try #require(WebURL(url)))
    }

    @Test(arguments: [
        ("http://b.test/", ["de"], ["everybody"], []), ("http://a.test/", ["de"], ["host"], ["1"]),
        ("https://a.test:1/", ["de"], ["host"], ["1"]), ("https://a.test:8443/", ["de"], ["origin"], ["1"]),
        ("http://www.a.test/", ["de"], ["everybody"], []), ("http://[::1]:80/", ["de"], ["everybody"], []),
    ])
    func `a field for an origin overrides that for its host, which overrides that for all hosts`(
        url: String, language: [String], who: [String], key: [String]
    ) throws {
        let fields = try fields(url)
        #expect(fields.all("Accept-Language") == language)
        #expect(fields.all("X-Who") == who)
        #expect(fields.all("X-Key") == key)
        #expect(fields.contains("X-Six") == url.contains("[::1]"))
    }

    @Test(arguments: ["Authorization", "cookie", "Proxy-Authorization"])
    func `fields with credentials cannot be added for all hosts`(name: String) throws {
        var fields = HostFields()
        #expect(throws: FetchFailure.self) { try fields.add(name, "a") }
        try fields.add(name, "a", host: "a.test")
        #expect(fields.fields(for: try #require(WebURL("http://a.test/"))).contains(name))
    }

    @Test(arguments: [
        ("X A", "1", "a.test"), ("X-A", "1\r\nX-B: 2", "a.test"), ("X-A", "1", ""), ("X-A", "1", "data:,x"),
    ])
    func `an invalid field or host is refused when it is added`(name: String, value: String, host: String) {
        var fields = HostFields()
        #expect(throws: FetchFailure.self) { try fields.add(name, value, host: host) }
    }

    @Test func `fields of the request override those for the host`() throws {
        let origin = try TestOrigin()
        let fetching = try TestFetcher { options in
            try options.hostFields.add("X-A", "host", host: "127.0.0.1")
            try options.hostFields.add("User-Agent", "other")
        }
        _ = try fetching.response(origin.url("/"))
        _ = try fetching.result(
            of: try TestFetcher.request(origin.url("/")) { $0.fields = ["x-a": "request"] })
        _ = try fetching.response("http://localhost:\(origin.port)/")
        #expect(origin.requests.map { $0["X-A"] } == ["host", "request", nil])
        #expect(origin.requests.map { $0["User-Agent"] } == ["other", "other", "other"])
    }
}

@Suite struct ReferrerTests {
    @Test(arguments: [
        ("https://u:p@a.test/x?y#z", "https://a.test/", "https://a.test/x?y"),
        ("https://a.test/x", "https://b.test/", "https://a.test/"),
        ("https://a.test/x", "http://a.test/", nil),
        ("http://a.test:81/x", "https://a.test/", "http://a.test:81/"),
        ("http://a.test/x", "http://a.test/y", "http://a.test/x"),
        ("file:///etc", "http://a.test/", nil),
    ])
    func `Referer is the URL within an origin and the origin across origins`(
        page: String, target: String, value: String?
    ) throws {
        #expect(Referrer.value(from: try #require(WebURL(page)), to: try #require(WebURL(target))) == value)
    }

    @Test(arguments: [nil, "/page"])
    func `Referer is sent if the request has a referrer`(path: String?) throws {
        let origin = try TestOrigin()
        let page = path.map { origin.url($0) }
        let request = try TestFetcher.request(origin.url("/")) { $0.referrer = page.flatMap { WebURL($0) } }
        _ = try TestFetcher().result(of: request)
        #expect(origin.requests.first?["Referer"] == page)
    }
}
