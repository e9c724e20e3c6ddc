import Testing
import Web

@testable import Store

/// Lookups of URLs that are not stored in exactly the requested form.
@Suite struct LookupTests {
    private let store: StockedFolder
    private static let dropsQuery = "/** no-query"

    init() throws { store = try StockedFolder() }

    /// `302 /a > /b` is a redirect from /a to /b; any other text is the URL of a page.
    private func responses(_ texts: [String]) throws -> [NewResponse] {
        try texts.map { text in
            let words = text.split(separator: " ").map(String.init)
            guard words.count == 4 else { return try store.response(text) }
            return try store.response(words[1], nil, status: 302, fields: "Location: \(words[3])\r\n")
        }
    }

    private func find(_ href: String, rules: String = "") throws -> String? {
        let url = try #require(WebURL(href))
        let rules = rules.isEmpty ? CacheRules() : CacheRules([try CacheRules.Rule(rules)])
        return try store.reader().lookUp(url, rules: rules).map { "\($0.change) \($0.response.href)" }
    }

    /// All stored URLs that may answer a request for https://x.test/a?v=1&b, best first, with the expected name of the match.
    private static let candidates = [
        "exact https://x.test/a?v=1&b", "scheme http://x.test/a?v=1&b", "cache-busters https://x.test/a?b",
        "scheme+cache-busters http://x.test/a?b", "query https://x.test/a", "scheme+query http://x.test/a",
    ]

    @Test(arguments: candidates.indices)
    func `lookups are tried in their order, and the result says which one matched`(first: Int) throws {
        // Stored in reverse order, so that a match by the order of storage would fail.
        try store.snapshot(
            responses(Self.candidates[first...].reversed().map { String($0.drop { $0 != " " }.dropFirst()) }))
        #expect(try find("https://x.test/a?v=1&b#part", rules: Self.dropsQuery) == Self.candidates[first])
    }

    @Test(arguments: [
        ("http://x.test/a", "exact http://x.test/a", true),
        ("https://x.test/a", "scheme http://x.test/a", true),
        ("http://x.test/a?q", nil, false), ("http://x.test/a?q", "query http://x.test/a", true),
        ("https://x.test/a?q", "scheme+query http://x.test/a", true), ("http://x.test/a/", nil, true),
        ("http://x.test/a?1700000000", "cache-busters http://x.test/a", false),
        ("http://x.test:81/a", nil, true),
        ("http://y.test/a", nil, true), ("http://x.test/A", nil, true),
    ])
    func `one page answers for several forms of its URL`(
        requested: String, expected: String?, dropsQuery: Bool
    )
        throws
    {
        try store.snapshot(responses(["http://x.test/a"]))
        #expect(try find(requested, rules: dropsQuery ? Self.dropsQuery : "") == expected)
    }

    /// The redirect counts although readers do not see it, because its snapshot was rolled back.
    @Test(arguments: [
        ("302 http://x.test/a > /a/", "http://x.test/a", "slash http://x.test/a/"),
        ("302 http://x.test/a > http://x.test/a/#top", "http://x.test/a", "slash http://x.test/a/"),
        ("302 https://x.test/a > https://x.test/a/", "http://x.test/a", "slash http://x.test/a/"),
        ("302 http://x.test/a > https://x.test/a/", "https://x.test/a", "scheme+slash http://x.test/a/"),
        ("302 http://x.test/a > /b/", "http://x.test/a", nil),
        ("302 http://x.test/a > http://y.test/a/", "http://x.test/a", nil),
        ("302 http://x.test/a > http://x.test:81/a/", "http://x.test/a", nil),
        ("302 http://x.test/a > /a/?q", "http://x.test/a", nil),
        ("302 http://x.test/b > /a/", "http://x.test/a", nil), ("http://x.test/c", "http://x.test/a", nil),
    ])
    func `a trailing slash makes no difference if a redirect says so`(
        stored: String, requested: String, expected: String?
    ) throws {
        let shown = try store.snapshot(responses(["http://x.test/a/"]))
        try store.snapshot(responses([stored]))
        let site = try #require(try store.site())
        try StoreWriter(store.folder).publish(snapshot: shown, of: site)
        #expect(try find(requested) == expected)
    }

    @Test func `the URL without the trailing slash answers for the one with it if a redirect says so`() throws
    {
        let shown = try store.snapshot(responses(["http://x.test/a?q"]))
        #expect(try find("http://x.test/a/?q") == nil)
        try store.snapshot(responses(["302 http://x.test/a/?q > /a?q"]))
        try StoreWriter(store.folder).publish(snapshot: shown, of: #require(try store.site()))
        #expect(try find("http://x.test/a/?q") == "slash http://x.test/a?q")
    }

    @Test func `a redirect and a tombstone are responses themselves`() throws {
        try store.snapshot(
            responses(["302 http://x.test/a > /a/", "http://x.test/a/"]) + [
                store.response("http://x.test/b", nil, status: 404)
            ])
        #expect(try find("http://x.test/a") == "exact http://x.test/a")
        #expect(try find("https://x.test/b") == "scheme http://x.test/b")
    }

    @Test func `the variant is selected at whichever URL matched`() throws {
        var german = try store.response("http://x.test/a", "Hallo", fields: "Vary: Accept-Language\r\n")
        german.variant = "accept-language: de"
        var english = german
        english = try store.response(
            "http://x.test/a", "hello", fields: "Vary: Accept-Language\r\n", fetched: 2)
        english.variant = "accept-language: en"
        try store.snapshot([german, english])
        let url = try #require(WebURL("https://x.test/a?_=7"))
        let found = try store.reader().lookUp(url, fields: ["Accept-Language": "de"])
        #expect(found?.response.variant == german.variant)
        #expect(found?.change == [.scheme, .busters])
    }

    private static let reading = "<script>run(location.search)</script>"
    private static let searching = "new URLSearchParams(window.location.search).get('q')"

    /// Stored responses are given as `URL: text`. `search.html` needs all stored scripts.
    @Test(
        arguments: [
            // A script of the page reads the query: an inline script, or a file.
            (["/a/search.html: \(reading)"], "/a/search.html?q=x", "search /a/search.html"),
            (
                ["/a/search.html: text", "/s.js: \(searching)"], "/a/search.html?q=x&a=b#c",
                "search /a/search.html"
            ),
            (["/a/search/: \(reading)"], "/a/search/?q=x", "search /a/search/"),
            (["/a/search.html: text", "/s.js: run()"], "/a/search.html?q=x", nil),
            // A server may respond with another page to another query.
            (["/view.php: \(reading)"], "/view.php?id=1", nil), (["/: \(reading)"], "/?p=1", nil),
            (["/list: \(reading)"], "/list?page=2", nil),
            // The stored response to another query has the same body, or another one.
            (["/list: text", "/list?page=2: text"], "/list?page=3", "search /list"),
            (["/list: text", "/list?page=2: other"], "/list?page=3", nil),
            (["/a.html: \(reading)", "/a.html?b: other"], "/a.html?c", nil),
            (["/list: text", "/list?a: text", "/list?b: other"], "/list?page=3", nil),
            (["/: text", "/?a: text"], "/?b", nil),
            (["/a.html: \(reading)"], "/a.html?", "query /a.html"),
            (["/a.html: \(reading)"], "/b.html?c", nil),
        ] as [([String], String, String?)])
    func `a static search page answers for any query`(
        stored: [String], requested: String, expected: String?
    ) throws {
        var numbering: [String] = []
        var responses: [NewResponse] = []
        for text in stored {
            let parts = text.ranges(of: ": ").first.map { (text[..<$0.lowerBound], text[$0.upperBound...]) }
            let (path, body) = try #require(parts)
            guard path.hasSuffix(".js") else {
                responses.append(try store.response("https://x.test\(path)", String(body)))
                continue
            }
            let script = try NewBody(
                .bytes(Array(body.utf8)), form: "javaScript;utf-8", links: [], in: store.folder)
            responses.append(
                NewResponse(
                    href: "https://x.test\(path)", referrer: nil, status: 200, role: 1, fields: "",
                    fetched: 1,
                    body: .new(script)))
        }
        let links = NewLinks(
            from: "https://x.test/a/search.html", assets: ["https://x.test/s.js"], numbering: &numbering)
        try store.snapshot(responses, links: stored.count > 1 && stored[1].hasPrefix("/s.js") ? [links] : [])
        let found = try find("https://x.test\(requested)").map { $0.replacing("https://x.test", with: "") }
        #expect(found == expected)
        let byHTTP = try find("http://x.test\(requested)").map { $0.replacing("https://x.test", with: "") }
        #expect(byHTTP == expected.map { "scheme+\($0)" })
    }
}

/// Responses to requests other than a plain GET.
@Suite struct RequestKeyTests {
    private static func key(_ method: String, _ body: String = "") -> RequestKey {
        RequestKey(method: method, body: Array(body.utf8).span)
    }

    @Test(arguments: [
        ("GET", "", ""), ("HEAD", "", ""), ("POST", "", "POST d41d8cd98f00b204e9800998ecf8427e"),
        ("POST", "a", "POST 0cc175b9c0f1b6a831c399e269772661"),
        ("PUT", "a", "PUT 0cc175b9c0f1b6a831c399e269772661"),
        ("GET", "a", "GET 0cc175b9c0f1b6a831c399e269772661"),
        ("get", "", "get d41d8cd98f00b204e9800998ecf8427e"),
    ])
    func `a key is the method and the MD5 of the body, and empty for a plain GET`(
        method: String, body: String, expected: String
    ) {
        #expect(Self.key(method, body).text == expected)
        #expect((Self.key(method, body) == .get) == expected.isEmpty)
    }

    private static func json(_ body: String) -> RequestKey {
        RequestKey(
            method: "POST", body: Array(body.utf8).span, type: MediaType("application/json"))
    }

    @Test("JSON that is sent as text is compared like JSON with its own type")
    func jsonAsText() {
        func key(_ body: String) -> RequestKey {
            RequestKey(
                method: "POST", body: Array(body.utf8).span, type: MediaType("text/plain;charset=UTF-8"))
        }
        #expect(key(#"{"b":1, "a":[2]}"#) == Self.json(#"{"a":[2],"b":1}"#))
        #expect(
            key(#"{"q":"a","r":0.7310558578630049}"#).differsOnlyInTimes(
                from: key(#"{"q":"a","r":0.1234567890123456}"#)))
        #expect(key("{b:  1}") != key("{b: 1}"))
    }

    /// The request is repeated 25 hours after the stored one.
    @Test(arguments: [
        (#"{"from":1700090000123,"to":1700093600123}"#, "an hour"),
        (#"{"to":1700093601999, "from":1700090000123}"#, "an hour"),
        (#"{"from":1700007200123,"to":1700093600123}"#, "a day"),
        (#"{"from":1700000000000,"to":1700003600000}"#, "an hour"),
        (#"{"now":"2023-11-15T23:13:20.250Z","since":1600000000}"#, "a date"),
        (#"{"now":"2023-11-15","since":1600000000}"#, "a date"),
        (#"{"filter":"a.timestamp_ms > 1700090000123 AND at < '2023-11-15T23:13:20Z'"}"#, "a filter"),
        // Requests with other fields, another form of the times, or other times.
        (#"{"from":1700090000123,"to":1700093600123,"of":1}"#, nil),
        (#"{"from":1700090000123}"#, nil), (#"{"from":5,"to":1700093600123}"#, nil),
        (#"{"id":1700090000000}"#, nil), (#"{"now":"of 2023-11-15","since":1600000000}"#, nil),
        (#"{"now":"2023-10-15","since":1600000000}"#, nil),
        (#"{"now":"2023-11-15T23:13:20Z","since":1600300000}"#, nil),
        (#"{"filter":"a.timestamp_ms < 1700090000123 AND at < '2023-11-15T23:13:20Z'"}"#, nil),
        (#"{"filter":"id > 1700090000123"}"#, nil),
        (#"{"q":"a","nonce":"b7d01f22a9","r":0.7310558578630049}"#, "random values"),
        (#"{"q":"b","nonce":"b7d01f22a9","r":0.7310558578630049}"#, nil),
        (#"{"q":"a","pageToken":"b7d01f22a9"}"#, nil),
    ])
    func `a form sent at another time is answered by the most similar request`(
        sent: String, expected: String?
    ) throws {
        let store = try StockedFolder()
        let href = "http://a.test/api"
        let stored = [
            (#"{"from":1700000000000,"to":1700003600000}"#, "an hour"),
            (#"{"from":1699917200000,"to":1700003600000}"#, "a day"),
            (#"{"id":1700000000000}"#, "a number"),
            (#"{"now":"2023-11-14T22:13:20Z","since":1600000000}"#, "a date"),
            (#"{"filter":"a.timestamp_ms > 1700000000123 AND at < '2023-11-14T22:13:20Z'"}"#, "a filter"),
            (#"{"filter":"id > 1700000000123"}"#, "an id"),
            (#"{"q":"a","nonce":"9f2c41d08b","r":0.1234567890123456}"#, "random values"),
            (#"{"q":"a","pageToken":"9f2c41d08b"}"#, "a page"),
        ]
        try store.snapshot(
            stored.map { body, text in
                var response = try store.response(href, text, fetched: 1_700_003_600)
                response.request = Self.json(body)
                return response
            })
        let (reader, url, key) = (try store.reader(), try #require(WebURL(href)), Self.json(sent))
        let found = try reader.lookUp(url, request: key, now: 1_700_003_600 + 90_000)
        let body = try found?.response.body.flatMap { try reader.content(of: $0)?.load() }
        #expect(body.map { String(decoding: $0, as: UTF8.self) } == expected)
        // A strict lookup, and one without a time, find only a response to the same request.
        let exact = try reader.lookUp(url, request: key)
        #expect(exact == (found?.change == [] ? found : nil))
        #expect(try reader.lookUp(url, request: key, isStrict: true, now: 1_700_093_600) == exact)
    }

    /// The URL is requested 25 hours after the stored one.
    @Test(arguments: [
        ("from=1700090000123&to=1700093600123", "an hour"),
        ("from=1700007200123&to=1700093600123", "a day"),
        ("from=1700090000123&to=1700093600123&_=77", "an hour"),
        ("at=2023-11-15T23%3A13%3A20.250Z&step=5", "a date"), ("at=2023-11-15&step=5", "a date"),
        ("q=a&start=1700093600.25", "a start"),
        ("from=1700090000123&to=1700093600123&of=1", nil), ("to=1700093600123&from=1700090000123", nil),
        ("at=2023-10-15T23:13:20Z&step=5", nil), ("at=2023-11-15T23:13:20Z&step=6", nil),
        ("id=1700090000000", nil), ("from=1700090000123", nil), ("", nil),
        ("sid=0f8fad5b-d9cb-469f-a165-70867728950e&page=1", "a session"),
        ("sid=0f8fad5b-d9cb-469f-a165-70867728950e&page=2", nil),
        ("id=0f8fad5b-d9cb-469f-a165-70867728950e&page=1", nil), ("seed=0.7310558578630049", "a number"),
        ("seed=0.5", nil),
    ])
    func `a query with times is answered by the most similar request`(
        query: String, expected: String?
    ) throws {
        let store = try StockedFolder()
        let stored = [
            ("from=1700000000000&to=1700003600000", "an hour"),
            ("from=1699917200000&to=1700003600000", "a day"),
            ("id=1700000000000", "a number"), ("at=2023-11-14T22%3A13%3A20Z&step=5", "a date"),
            ("q=a&start=1700003600.75", "a start"), ("seed=0.1234567890123456", "a number"),
            ("sid=7c9e6679-7425-40de-944b-e07fc1f90ae7&page=1", "a session"),
            ("id=7c9e6679-7425-40de-944b-e07fc1f90ae7&page=1", "an item"),
        ]
        try store.snapshot(
            stored.map { try store.response("http://a.test/api?\($0)", $1, fetched: 1_700_003_600) })
        let (reader, url) = (try store.reader(), try #require(WebURL("http://a.test/api?\(query)")))
        let found = try reader.lookUp(url, now: 1_700_003_600 + 90_000)
        let body = try found?.response.body.flatMap { try reader.content(of: $0)?.load() }
        #expect(body.map { String(decoding: $0, as: UTF8.self) } == expected)
        #expect(found?.change == (expected == nil ? nil : .time))
        // A strict lookup, and one without a time, find only a response to the same URL.
        #expect(try reader.lookUp(url) == nil)
        #expect(try reader.lookUp(url, isStrict: true, now: 1_700_093_600) == nil)
    }

    /// The URL is requested 25 hours after the stored one.
    @Test(
        arguments: [
            ("/feed/2023/11/15/list.json", "/feed/2023/11/14/list.json"),
            ("/feed/2023/11/15.json", "/feed/2023/11/14.json"),
            ("/day/2023-11-15.json", "/day/2023-11-14.json"),
            ("/day/20231115?q=a", "/day/20231114?q=a"), ("/t/1700090000123/data", "/t/1700000000123/data"),
            // Another day, another kind of number, another path, and another query.
            ("/feed/2023/11/19/list.json", nil), ("/t/170009/data", nil),
            ("/feeds/2023/11/15/list.json", nil),
            ("/day/20231115?q=b", nil), ("/day/20239915?q=a", nil), ("/feed/2023/11", nil),
        ] as [(String, String?)])
    func `a path with times is answered by the most similar request`(path: String, expected: String?) throws {
        let store = try StockedFolder()
        let stored = [
            "/feed/2023/11/14/list.json", "/feed/2023/11/12/list.json", "/feed/2023/11/14.json",
            "/day/2023-11-14.json", "/day/20231114?q=a", "/t/1700000000123/data", "/t/170000/data",
        ]
        try store.snapshot(
            stored.map { try store.response("http://a.test\($0)", $0, fetched: 1_700_003_600) })
        let (reader, url) = (try store.reader(), try #require(WebURL("http://a.test\(path)")))
        let found = try reader.lookUp(url, now: 1_700_003_600 + 90_000)
        #expect(found?.response.href == expected.map { "http://a.test\($0)" })
        #expect(try reader.lookUp(url) == nil)
    }

    /// An update on 20 November 2023 confirmed the responses. It is now 21 November.
    @Test(
        arguments: [
            ("/day/2023-11-21.json", "/day/2023-11-14.json"),
            ("/day/2023-11-20.json", "/day/2023-11-14.json"),
            ("/data?from=2023-11-20&to=2023-11-21", "/data?from=2023-11-13&to=2023-11-14"),
            // No day of the present, and another span of time.
            ("/day/2023-11-18.json", nil), ("/day/2023-11-24.json", nil),
            ("/data?from=2023-11-11&to=2023-11-21", nil),
            // Only days in the future are stored.
            ("/plan/2023-11-21.json", nil),
        ] as [(String, String?)])
    func `a request for the present is answered by the latest of those for earlier presents`(
        path: String, expected: String?
    ) throws {
        let store = try StockedFolder()
        let stored = [
            "/day/2023-11-12.json", "/day/2023-11-14.json", "/data?from=2023-11-13&to=2023-11-14",
            "/plan/2023-11-27.json",
        ]
        try store.snapshot(
            stored.map { try store.response("http://a.test\($0)", $0, fetched: 1_700_481_600) })
        let (reader, url) = (try store.reader(), try #require(WebURL("http://a.test\(path)")))
        let found = try reader.lookUp(url, now: 1_700_568_000)
        #expect(found?.response.href == expected.map { "http://a.test\($0)" })
    }

    @Test(arguments: [
        ("from=1700000000&to=1700003600&q=a", "1700000000,1700003600"),
        ("a&at=2023-11-14T22%3A13%3A20%2B00%3A00", "1700000000"),
        ("q=1700000000", nil), ("from=17000000001", nil), ("from=1100000000x", nil), ("", nil),
        ("=&from", nil),
    ])
    func `times in a form are recognised by the names of its fields`(body: String, moments: String?) {
        let key = RequestKey(
            method: "POST", body: Array(body.utf8).span,
            type: MediaType("application/x-www-form-urlencoded"))
        #expect(key.containsTimes == (moments != nil))
        #expect(key.text.split(separator: " ").dropFirst(3).first.map(String.init) == moments)
    }

    @Test(
        "A picture or data for another device is found if nothing else is, and one other language is stored",
        arguments: [
            ("?id=7&w=1300&dpr=1", "1280"), ("?id=7&w=500px&dpr=2", "400"), ("?id=7&w=1280&dpr=1", "1280"),
            ("?id=8&w=1300&dpr=1", nil), ("?id=7&w=1300", nil), ("?id=7&w=wide&dpr=1", nil),
            ("?week=1&w=3", nil), ("?s=1280x720", "screen"), ("?s=9", nil),
            ("?ua=Mozilla%2F5.0%20(X11)&p=Win32&cores=4", "agent"), ("?ua=curl%2F8&p=Win32&cores=4", nil),
            ("?app=1&lang=de-AT&tz=Europe/Vienna&w=1300", "english"), ("?app=2&lang=de", nil),
            ("?two=1&lang=it&w=1300", nil), ("?two=1&lang=fr&w=1300", "french"),
            ("?word=1&lang=a%20word", nil),
        ] as [(String, String?)])
    func otherDevice(query: String, expected: String?) throws {
        let store = try StockedFolder()
        let base = "http://a.test/picture"
        let stored = [
            ("?id=7&w=400&dpr=1", "400"), ("?id=7&w=1280&dpr=1", "1280"), ("?week=1&w=4", "week"),
            ("?s=1280x900", "screen"), ("?s=8", "season"),
            ("?ua=Mozilla%2F5.0%20(Linux)%20Chrome&p=Linux%20x86_64&cores=2", "agent"),
            ("?app=1&lang=en&tz=UTC&w=1280", "english"), ("?two=1&lang=en&w=1280", "second"),
            ("?two=1&lang=fr&w=1280", "french"), ("?word=1&lang=other%20words", "words"),
        ]
        try store.snapshot(stored.map { try store.response(base + $0.0, $0.1) })
        let (reader, url) = (try store.reader(), try #require(WebURL(base + query)))
        let found = try reader.lookUp(url, now: 1_700_000_000)
        let body = try found?.response.body.flatMap { try reader.content(of: $0)?.load() }
        #expect(body.map { String(decoding: $0, as: UTF8.self) } == expected)
        // A check does not take one device for another.
        if query != "?id=7&w=1280&dpr=1" { #expect(try reader.lookUp(url) == nil) }
    }

    @Test func `each request has a separate response in each snapshot`() throws {
        let store = try StockedFolder()
        let href = "http://a.test/api"
        let requests = [RequestKey.get, Self.key("POST", "a"), Self.key("POST", "b"), Self.key("PUT", "a")]
        func answers(_ edition: String) throws -> [NewResponse] {
            try requests.map { request in
                var response = try store.response(href, edition + request.text)
                response.request = request
                return response
            }
        }
        let first = try store.snapshot(answers("1 "))
        let second = try store.snapshot([answers("2 ")[1]])
        let reader = try store.reader()
        for (place, request) in requests.enumerated() {
            let body = try #require(try reader.response(for: href, request: request)?.body)
            let text = try #require(try reader.content(of: body)?.load())
            #expect(String(decoding: text, as: UTF8.self) == (place == 1 ? "2 " : "1 ") + request.text)
        }
        #expect(try reader.response(for: href, request: Self.key("POST", "c")) == nil)
        #expect(try reader.response(for: href, request: Self.key("POST")) == nil)
        let url = try #require(WebURL("https://a.test/api?_=1"))
        let found = try #require(try reader.lookUp(url, request: requests[2]))
        #expect(found.response.request == requests[2])
        #expect(found.change == [.scheme, .busters])
        // The changed response to a POST is reported with its request, and the page as unchanged.
        #expect(try reader.difference(from: first, to: second).changed == ["\(href) (\(requests[1].text))"])
    }

    @Test("Request keys of imported archives may contain any times")
    func timesAtTheLimits() {
        func key(_ times: String) -> RequestKey { RequestKey(stored: "POST a b \(times)") }
        #expect(key("\(Int64.max)").distance(to: key("\(Int64.min)"), sentBefore: 0) == nil)
        #expect(key("\(Int64.min)").distance(to: key("0"), sentBefore: .max) == nil)
        #expect(key("\(Int64.min)").distance(to: key("0"), sentBefore: 0) == nil)
        #expect(key("1764003600").distance(to: key("1764000000"), sentBefore: 3600) == 0)
    }
}
