import Codings
import Mirror
import Store
import TestOrigin
import Testing

@testable import HTTPServer

@Suite struct MirrorServerTests {
    private let store: StockedStore
    private let server: MirrorServer

    private static let page = """
        <!doctype html><title>T</title><link rel=stylesheet href="https://cdn.test/s.css?a&amp;b">\
        <a href="/local">local</a> <a href='//other.test:81/x'>other</a> <a href=https://example.test/y#z>same</a>
        """

    init() throws {
        let own =
            "Set-Cookie: a=b\r\nStrict-Transport-Security: max-age=1\r\nAccess-Control-Allow-Origin: *\r\n"
        store = try StockedStore([
            .init(href: "https://example.test/", text: Self.page, extra: own),
            .init(
                href: "https://example.test/big?x=1", text: String(repeating: "b", count: 200_000),
                type: "image/png"),
            .init(href: "https://example.test/w.js", text: "postMessage(1)", type: "text/javascript"),
            .init(
                href: "https://example.test/moved", status: 301,
                extra: "Location: https://example.test/big?x=1\r\n"),
            .init(href: "https://example.test/gone", status: 404),
            .init(href: "http://example.test:8080/", text: "plain", type: "text/plain"),
            .init(href: "https://example.test/a|b?c=|", text: "bar", type: "text/plain"),
            // http and https URLs of a host have the same local name.
            .init(
                href: "http://example.test/up", status: 301,
                extra: "Location: https://example.test/up#there\r\n"),
            .init(
                href: "https://example.test/down", status: 302,
                extra: "Location: http://example.test/down\r\n"),
            .init(href: "http://example.test/down", text: "held below", type: "text/plain"),
            .init(
                href: "https://example.test/self", text: "<p>here", status: 302,
                extra: "Location: /self\r\nContent-Location: /self\r\n"),
        ])
        server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
    }

    private var port: Int { Int(server.port) }

    private func get(
        _ target: String, host: String = "example-test.localhost", method: String = "GET",
        fields: [(String, String)] = []
    ) throws -> RawResponse {
        defer { server.stop() }
        return try RawClient(port: port).get(target, method: method, host: "\(host):\(port)", fields: fields)
    }

    @Test
    func `absolute links in a page are rewritten to the mirror, and every other byte is unchanged`()
        throws
    {
        let answer = try get("/")
        #expect(answer.status == 200)
        let expected = Self.page
            .replacing(
                "https://cdn.test/s.css?a&amp;b", with: "http://cdn-test.localhost:\(port)/s.css?a&amp;b"
            )
            .replacing("//other.test:81/x", with: "http://port-81.other-test.localhost:\(port)/x")
            .replacing("https://example.test/y#z", with: "http://example-test.localhost:\(port)/y#z")
        #expect(answer.text == expected)
        #expect(answer["Content-Type"] == "text/html")
        #expect(answer["Larder"] == "hit")
        #expect(answer["Content-Security-Policy"]?.contains("http://*.localhost:\(port)") == true)
        #expect(answer["Set-Cookie"] == nil)
        #expect(answer["Strict-Transport-Security"] == nil)
    }

    /// Rewriting changes a body, so that a correct `integrity` would block it. A wrong one must still block it.
    @Test func `an integrity attribute is disabled if it matched the stored script, and stays if it did not`()
        throws
    {
        let right = "sha384-S+21mtgUQpSDxPonp6I139TAZI8Y+XOkdNjchO97+EOML2V+7HWnp7mlcxPNyIzM"
        let stored = try StockedStore([
            .init(
                href: "https://example.test/",
                text:
                    "<script src=/good.js integrity=\(right)></script><script src=/bad.js integrity=\(right)></script>"
            ),
            .init(
                href: "https://example.test/good.js", text: "import(\"https://cdn.test/x.js\")",
                type: "text/javascript"),
            .init(
                href: "https://example.test/bad.js", text: "import(\"https://evil.test/x.js\")",
                type: "text/javascript"),
        ])
        let server = try MirrorServer(stored.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        defer { server.stop() }
        let page = try RawClient(port: Int(server.port)).get(
            "/", host: "example-test.localhost:\(server.port)"
        ).text
        #expect(
            page.contains("good.js data-hash=\(right)") && page.contains("bad.js integrity=\(right)"),
            "\(page)")
    }

    @Test func `a second request on the connection gets the same response from memory`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        let first = try client.get("/", host: host)
        let second = try client.get("/", host: host)
        #expect(first.body == second.body)
        let tag = try #require(first["ETag"])
        let third = try client.get("/", host: host, fields: [("If-None-Match", "W/\"x\", \(tag)")])
        #expect(third.status == 304)
        #expect(third.body.isEmpty)
        #expect(try client.get("/", method: "HEAD", host: host)["Content-Length"] == "\(first.body.count)")
        #expect(try client.get("/", host: host).body == first.body)
    }

    @Test func `pipelined requests are answered in order`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let request = "Host: example-test.localhost:\(port)\r\n\r\n"
        try client.send(
            "GET / HTTP/1.1\r\n\(request)GET /gone HTTP/1.1\r\n\(request)GET /big?x=1 HTTP/1.1\r\n\(request)")
        #expect(try client.response().status == 200)
        #expect(try client.response().status == 404)
        #expect(try client.response().body.count == 200_000)
    }

    @Test
    func `a window at localhost is redirected to the portal's host name, and requests of pages get a 403`()
        throws
    {
        defer { server.stop() }
        let client = try RawClient(port: port)
        for name in ["localhost", "127.0.0.1"] {
            let host = "\(name):\(port)"
            for (fields, status) in [
                ([("Sec-Fetch-Site", "none"), ("Sec-Fetch-Dest", "document")], 302),
                ([("User-Agent", "Mozilla/5.0 X")], 302),
                // A page or service worker that an earlier site left.
                ([("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Dest", "empty")], 403),
                ([("Referer", "http://\(host)/")], 403), ([("Origin", "http://\(host)")], 403),
                // A program other than a browser.
                ([("User-Agent", "curl/8")], 200),
            ] {
                let answer = try client.get("/?a=b", host: host, fields: fields)
                #expect(answer.status == status, "\(fields)")
                if status == 302 {
                    #expect(answer["Location"] == "http://larder.localhost:\(port)/?a=b")
                    #expect(answer["Cache-Control"] == "no-store")
                }
                let clears = fields.contains { $0.1 == "document" }
                #expect((answer["Clear-Site-Data"] != nil) == clears)
            }
        }
        let own = [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://larder.localhost:\(port)")]
        #expect(try client.get("/", host: "larder.localhost:\(port)", fields: own).status == 200)
        let stranger = [("Sec-Fetch-Site", "same-site"), ("Origin", "http://localhost:\(port)")]
        #expect(try client.get("/", host: "larder.localhost:\(port)", fields: stranger).status == 403)
    }

    @Test func `a service worker that an earlier site left at localhost gets a script that unregisters it`()
        throws
    {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let fields = [
            ("Service-Worker", "script"), ("Sec-Fetch-Dest", "serviceworker"),
            ("Sec-Fetch-Site", "same-origin"),
            ("Referer", "http://localhost:\(port)/sw.js"),
        ]
        let answer = try client.get("/sw.js", host: "localhost:\(port)", fields: fields)
        #expect(answer.status == 200 && answer.text.contains("registration.unregister()"))
        #expect(answer["Content-Type"]?.hasPrefix("text/javascript") == true)
        let other = try client.get("/sw.js", host: "example-test.localhost:\(port)", fields: fields)
        #expect(!other.text.contains("unregister"))
    }

    @Test("After a redirect from the portal, a service worker may repeat the navigation once")
    func navigationByServiceWorker() throws {
        server.stop()
        try store.publish([.init(href: "https://example.test/open", text: "o")])
        let server = try MirrorServer(store.folder, port: 0, threadCount: 4, memoryLimit: 1_000_000)
        defer { server.stop() }
        let port = Int(server.port)
        // A new connection for each request, so that any thread may answer it.
        func repeatByServiceWorker() throws -> Int {
            let passed = [
                ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "empty"),
            ]
            return try RawClient(port: port).get(
                "/open", host: "example-test.localhost:\(port)", fields: passed
            ).status
        }
        func open(_ fields: [(String, String)]) throws -> String? {
            let answer = try RawClient(port: port).get(
                "/https://example.test/open", host: "larder.localhost:\(port)",
                fields: fields + [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")])
            return answer["Location"]
        }
        #expect(try repeatByServiceWorker() == 403)
        // A window that a script of another site opens.
        _ = try open([("Sec-Fetch-Site", "cross-site")])
        #expect(try repeatByServiceWorker() == 403)
        for _ in 0..<12 {
            #expect(
                try open([("Sec-Fetch-Site", "none"), ("Sec-Fetch-User", "?1")])
                    == "http://example-test.localhost:\(port)/open")
            #expect(try repeatByServiceWorker() == 200)
            #expect(try repeatByServiceWorker() == 403)
        }
    }

    @Test func `a foreign page learns nothing from a window that its script or the user opens`()
        throws
    {
        defer { server.stop() }
        try store.publish([
            .init(
                href: "https://example.test/open", text: "o",
                extra: "Cross-Origin-Opener-Policy: unsafe-none\r\n"),
            .init(href: "https://example.test/to", status: 302, extra: "Location: /open\r\n"),
        ])
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        let foreign = [
            ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate"),
        ]
        for (target, status) in [("/open", 200), ("/to", 302), ("/missing", 504)] {
            let byScript = try client.get(target, host: host, fields: foreign)
            #expect(byScript.status == 403)
            let byUser = try client.get(target, host: host, fields: foreign + [("Sec-Fetch-User", "?1")])
            #expect(byUser.status == status)
            #expect(byUser.all("Cross-Origin-Opener-Policy") == ["same-origin"], "\(target)")
        }
        let own = try client.get(
            "/open", host: host, fields: [("Sec-Fetch-Site", "none")] + foreign.dropFirst())
        #expect(own.all("Cross-Origin-Opener-Policy") == ["unsafe-none"])
    }

    @Test func `a request of a foreign page is refused before the store is read`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        let fields = [
            ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "image"), ("Origin", "http://evil.test"),
        ]
        for target in ["/", "/missing"] {
            #expect(try client.get(target, host: host, fields: fields).status == 403)
            let preflight = fields + [("Access-Control-Request-Method", "PUT")]
            #expect(try client.get(target, method: "OPTIONS", host: host, fields: preflight).status == 403)
        }
        // A lookup in the store would have counted a miss.
        let figures = try client.get("/-/metrics", host: "localhost:\(port)").text
        #expect(figures.contains("larder_misses_total 0"))
    }

    @Test func `a Referer header alone identifies the requester, also for cached responses`()
        throws
    {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        for _ in 0..<2 {
            #expect(try client.get("/w.js", host: host).status == 200)
            for (referrer, status) in [
                ("https://evil.test/", 403), ("http://\(host).evil.test/", 403), ("http://localhost:1/", 403),
                ("http://\(host)/", 200), ("http://\(host)", 200),
            ] {
                let answer = try client.get("/w.js", host: host, fields: [("Referer", referrer)])
                #expect(answer.status == status, "\(referrer)")
            }
        }
    }

    @Test func `private responses are sent with no-store, and every document with Origin-Agent-Cluster`()
        throws
    {
        defer { server.stop() }
        try store.publish([
            .init(href: "https://example.test/mine", text: "m", flags: .isPrivate),
            .init(href: "https://example.test/all", text: "a", extra: "Origin-Agent-Cluster: ?0\r\n"),
        ])
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        let mine = try client.get("/mine", host: host)
        #expect(mine.status == 200 && mine["Cache-Control"] == "no-store")
        let all = try client.get("/all", host: host)
        #expect(all.status == 200 && all["Cache-Control"] == "no-cache")
        #expect(all.all("Vary").contains("Sec-Fetch-Site"))
        #expect(all.all("Origin-Agent-Cluster") == ["?1"])
    }

    @Test func `a large body is sent completely from its file`() throws {
        let answer = try get("/big?x=1")
        #expect(answer.body == [UInt8](repeating: UInt8(ascii: "b"), count: 200_000))
    }

    @Test func `a redirect is rewritten to the mirror address`() throws {
        let answer = try get("/moved")
        #expect(answer.status == 301)
        #expect(answer["Location"] == "http://example-test.localhost:\(port)/big?x=1")
    }

    @Test func `the port of an origin is part of its host name`() throws {
        #expect(try get("/", host: "port-8080.example-test.localhost").text == "plain")
    }

    @Test func `a stored URL is found in the percent-encoding that browsers send`() throws {
        #expect(try get("/a%7Cb?c=%7C").text == "bar")
    }

    @Test func `a URL that is not stored is a miss, shown as a page in navigations`() throws {
        let answer = try get("/unknown?a&<b>", fields: [("Accept", "text/html,*/*")])
        #expect(answer.status == 504)
        #expect(answer["Larder"] == "miss")
        #expect(answer.text.contains("https://example.test/unknown?a&amp;%3Cb%3E"))
    }

    @Test(arguments: ["example.test", "evil.test", "localhost.evil.test", "example-test.localhost:1", ""])
    func `a request with an unknown Host is refused`(host: String) throws {
        defer { server.stop() }
        #expect(try RawClient(port: port).get("/", host: host).status == 421)
    }

    @Test func `the portal lists the site and redirects from an original URL to its copy`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "localhost:\(port)"
        #expect(try client.get("/", host: host).text.contains("http://example-test.localhost:\(port)/"))
        let answer = try client.get("/https://example.test/big?x=1", host: host)
        #expect(answer.status == 302)
        #expect(answer["Location"] == "http://example-test.localhost:\(port)/big?x=1")
        #expect(try client.get("/favicon.ico", host: host).status == 404)
    }

    @Test func `an unrecorded POST is a miss, and its body is not parsed as another request`()
        throws
    {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        let smuggled = "GET /gone HTTP/1.1\r\nHost: \(host)\r\n\r\n"
        try client.send(
            "POST / HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)")
        #expect(try client.response().status == 504)
        #expect(try client.get("/", host: host).status == 200)
    }

    @Test func `a malformed request gets a 400 and ends the connection`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        try client.send("GET / HTTP/1.1\r\nHost : a\r\n\r\n")
        #expect(try client.response().status == 400)
        #expect(try client.readToEnd().isEmpty)
    }

    @Test func `an error for a port in use names the port`() throws {
        defer { server.stop() }
        let error = #expect(throws: ServerError.self) {
            try MirrorServer(store.folder, port: server.port, threadCount: 1, memoryLimit: 0)
        }
        #expect(error?.description.contains("port \(server.port) is in use") == true)
    }

    @Test(
        arguments: ["/", "/w.js", "/big?x=1", "/moved", "/gone", "/unknown"],
        ["example-test.localhost", "localhost"])
    func `every response, also a script or a miss, has a policy that keeps the browser in the mirror`(
        target: String, host: String
    ) throws {
        let answer = try get(target, host: host)
        let sources = host == "localhost" ? "'none'; " : "http://*.localhost:\(port) "
        #expect(answer["Content-Security-Policy"]?.hasPrefix("default-src \(sources)") == true)
        #expect(answer["Cross-Origin-Resource-Policy"] == (host == "localhost" ? "same-origin" : nil))
        #expect(answer["X-DNS-Prefetch-Control"] == "off")
    }

    @Test func `a mirrored page of another site reads what CORS allowed, and a foreign page reads nothing`()
        throws
    {
        defer { server.stop() }
        try store.publish([
            .init(href: "https://example.test/open", text: "o", extra: "Access-Control-Allow-Origin: *\r\n"),
            .init(
                href: "https://example.test/named", text: "n",
                extra: """
                    Access-Control-Allow-Origin: https://cdn.test\r
                    Access-Control-Allow-Credentials: true\r

                    """),
            .init(href: "https://example.test/closed", text: "c"),
        ])
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        func answer(_ target: String, to origin: String?) throws -> RawResponse {
            try client.get(target, host: host, fields: origin.map { [("Origin", $0)] } ?? [])
        }
        let cdn = "http://cdn-test.localhost:\(port)"
        for (target, origin, allowed, credentials) in [
            ("/open", cdn, "*", nil), ("/named", cdn, cdn, "true"), ("/closed", cdn, nil, nil),
            ("/named", "http://port-81.cdn-test.localhost:\(port)", nil, nil),
            ("/closed", "http://\(host)", nil, nil),
        ] {
            let answer = try answer(target, to: origin)
            #expect(answer.status == 200)
            #expect(answer["Access-Control-Allow-Origin"] == allowed, "\(target)")
            #expect(answer["Access-Control-Allow-Credentials"] == credentials, "\(target)")
            let varies = answer.all("Vary").contains("Origin")
            #expect(varies == (target != "/closed"))
        }
        for origin in [
            "null", "http://evil.test", "http://a.localhost:1", "https://a.localhost:\(port)",
            "http://a.localhost:\(port)/", "http://evillocalhost:\(port)",
            "http://cdn.test.localhost:\(port)",
        ] {
            for target in ["/open", "/closed", "/unknown"] {
                let answer = try answer(target, to: origin)
                #expect(answer.status == 403, "\(origin)")
                #expect(answer["Access-Control-Allow-Origin"] == nil, "\(origin)")
                #expect(answer["Cross-Origin-Resource-Policy"] == "same-origin")
            }
        }
        // The CORS header of one client's response is not sent to the next client.
        #expect(try answer("/open", to: nil)["Access-Control-Allow-Origin"] == nil)
    }

    @Test(arguments: ["/", "/?format=json", "/-/search?q=a"])
    func `mirrored pages cannot read pages or JSON of the portal`(target: String) throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let origin = "http://cdn-test.localhost:\(port)"
        let answer = try client.get(target, host: "localhost:\(port)", fields: [("Origin", origin)])
        #expect(answer.status == 403)
        #expect(answer["Access-Control-Allow-Origin"] == nil)
    }

    @Test func `a 304 for a cross-origin request has the CORS headers of the response`() throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let (host, origin) = ("example-test.localhost:\(port)", "http://cdn-test.localhost:\(port)")
        try store.publish([
            .init(href: "https://example.test/open", text: "o", extra: "Access-Control-Allow-Origin: *\r\n")
        ])
        let tag = try #require(try client.get("/open", host: host)["ETag"])
        let answer = try client.get(
            "/open", host: host, fields: [("If-None-Match", tag), ("Origin", origin)])
        #expect(answer.status == 304)
        #expect(answer["Access-Control-Allow-Origin"] == "*")
        #expect(answer.all("Vary").contains("Origin"))
    }

    @Test(arguments: [("/moved", 301), ("/gone", 404), ("/unknown", 504), ("/up", 504)])
    func `a response other than a success has no ETag and ignores conditions`(target: String, status: Int)
        throws
    {
        let answer = try get(target, fields: [("If-None-Match", "*, \"gone\"")])
        #expect(answer.status == status)
        #expect(answer["ETag"] == nil)
    }

    @Test(arguments: ["/moved", "/gone"])
    func `If-None-Match with an asterisk matches only a successful response`(target: String) throws {
        defer { server.stop() }
        let client = try RawClient(port: port)
        let host = "example-test.localhost:\(port)"
        #expect(try client.get("/", host: host, fields: [("If-None-Match", "*")]).status == 304)
        #expect(try client.get(target, host: host, fields: [("If-None-Match", "*")]).status != 304)
    }

    @Test(arguments: [("/up", 504), ("/down", 200), ("/self", 504)])
    func
        `a redirect between schemes that would loop in the mirror gives the other scheme's response or a miss`(
            target: String, status: Int
        ) throws
    {
        let answer = try get(target)
        #expect(answer.status == status)
        #expect(answer["Location"] == nil)
    }

    @Test(arguments: [
        ("/a';touch${IFS}x;''", "https://other.test/a%27;touch$%7BIFS%7Dx;%27%27"),
        ("/?q='$(id)'`id`", "https://other.test/?q=%27$(id)%27`id`"),
    ])
    func `the command on a miss page quotes the URL safely for a shell`(
        target: String, shown: String
    ) throws {
        let answer = try get(target, host: "other-test.localhost", fields: [("Accept", "text/html")])
        #expect(answer.status == 504)
        #expect(answer.text.contains("<pre>larder prefetch &#39;\(shown)&#39;</pre>"))
    }

    @Test func `a miss page offers the command that fetches the URL into its site`() throws {
        let answer = try get("/far/away", fields: [("Accept", "text/html")])
        #expect(answer.status == 504)
        #expect(answer.text.contains("<pre>larder update &#39;https://example.test/&#39;</pre>"))
        #expect(answer.text.contains("the next update of the site fetches the URL"))
    }

    @Test(arguments: [("zh-CN", "zh-Hans", "未存储"), ("en", "en", "Not stored"), ("fr", "en", "Not stored")])
    func `a miss is answered in the language of the request`(
        wanted: String, language: String, heading: String
    ) throws {
        let answer = try get("/far/away", fields: [("Accept", "text/html"), ("Accept-Language", wanted)])
        #expect(answer.text.contains("<html lang=\"\(language)\">"))
        #expect(answer.text.contains("<h1>\(heading)</h1>"))
        #expect(answer.all("Vary").contains("Accept-Language"))
    }

    @Test func `a server can be stopped twice, from two threads`() async {
        await withTaskGroup { group in
            for _ in 0..<2 { group.addTask { server.stop() } }
        }
        server.stop()
    }
}

@Suite struct MirrorLookupTests {
    private let store: StockedStore
    private let server: MirrorServer

    init() throws {
        store = try StockedStore(
            [
                .init(href: "https://example.test/app.js", text: "run()", type: "text/javascript"),
                .init(href: "https://example.test/search", text: "all", type: "text/plain"),
                .init(href: "https://example.test/other", text: "all", type: "text/plain"),
                .init(href: "https://example.test/dir/", text: "in the folder"),
                .init(href: "https://example.test/dir", status: 301, extra: "Location: /dir/\r\n"),
                .init(
                    href: "https://example.test/search.html", text: "<script>run(location.search)</script>"),
                .init(href: "https://example.test/loop", status: 302, extra: "Location: /loop?v=2\r\n"),
            ], settings: #"{"rules":["/search no-query"]}"#)
        server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
    }

    @Test(arguments: [
        ("/app.js", 200, "hit"), ("/app.js?v=17", 200, "hit; by=cache-busters"),
        ("/app.js?w=17", 504, "miss"),
        ("/search?q=a", 200, "hit; by=query"), ("/other?q=a", 504, "miss"), ("/loop?v=2", 504, "miss"),
        ("/search.html?q=jam", 200, "hit; by=search"), ("/search.html?q=jam&page=2", 200, "hit; by=search"),
    ])
    func `a response of a similar URL is marked with the rule that found it`(
        target: String, status: Int, source: String
    ) throws {
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        for _ in 0..<2 {
            let answer = try client.get(target, host: "example-test.localhost:\(server.port)")
            #expect(answer.status == status)
            #expect(answer["Larder"] == source)
        }
    }

    @Test(
        "A script with another callback calls the requested function",
        arguments: [
            ("/api?q=a&callback=jq3_9&_=9", "jq3_7=jq3_9;/**/jq3_7({})"),
            ("/api?q=b&callback=jq3_9&_=9", nil),
            ("/api?q=a&callback=alert(1)//&_=9", nil), ("/list?callback=app.b2", "app.a1=app.b2;app.a1([])"),
            ("/text?callback=b", nil),
        ] as [(String, String?)])
    func callbacks(target: String, body: String?) throws {
        defer { server.stop() }
        let store = try StockedStore([
            .init(
                href: "https://api.test/api?q=a&callback=jq3_7&_=8", text: "/**/jq3_7({})",
                type: "text/javascript"),
            .init(href: "https://api.test/list?callback=app.a1", text: "app.a1([])", type: "text/javascript"),
            .init(href: "https://api.test/text?callback=a", text: "a", type: "text/plain"),
        ])
        let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        for _ in 0..<2 {
            let answer = try client.get(target, host: "api-test.localhost:\(server.port)")
            #expect(answer["Larder"] == (body == nil ? "miss" : "hit; by=callback"))
            if let body { #expect(answer.text == body) }
        }
    }

    @Test(
        "A page that is not stored is answered by the shell that its server sends for every URL",
        arguments: [
            // All stored pages of the folder, or all queries of the path, have the same body.
            ("/app/users/7", "<p>shell"), ("/app/", "<p>shell"), ("/app/a/b?c", "<p>shell"),
            ("/stories?id=3", "<p>stories"),
            // The application has many more files than pages.
            ("/files/help", "<p>files"),
            // The page without the query has little text before its scripts run.
            ("/board?dark=1", "<div id=root>"),
            // The server sent the page of the folder with 404, too.
            ("/spa/x/y", "<p>spa"),
            // The pages of the folder differ, or there is only one.
            ("/app/file.pdf", nil), ("/home/x", nil), ("/docs/c", nil), ("/docs/a?page=2", nil),
            ("/single/b", nil), ("/new", nil),
        ] as [(String, String?)])
    func shells(target: String, body: String?) throws {
        defer { server.stop() }
        let pages = [
            ("/app/users", "<p>shell"), ("/app/users/1", "<p>shell"), ("/app/list", "<p>shell"),
            ("/stories?id=1", "<p>stories"),
            ("/board", "<!doctype html><title>b</title><div id=root></div><script src=/b.js></script>"),
            ("/stories?id=2", "<p>stories"), ("/docs/a", "<p>a"), ("/docs/b", "<p>b"), ("/docs/a/x", "<p>a"),
            ("/single/a", "<p>single"), ("/home/", "<p>home"), ("/home/index.html", "<p>home"),
            ("/home/a", "<p>home"), ("/spa/", "<p>spa"),
            ("/files/", "<p>files"), ("/files/users", "<p>files"), ("/files/users/1", "<p>files"),
        ]
        let assets = (10...60).map { number in
            StockedStore.Entry(href: "https://shell.test/files/\(number).json", text: "\(number)", role: 1)
        }
        let known = StockedStore.Entry(href: "https://shell.test/spa/known", text: "<p>spa", status: 404)
        let store = try StockedStore(
            pages.map { StockedStore.Entry(href: "https://shell.test\($0)", text: $1) } + [known] + assets)
        let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = "shell-test.localhost:\(server.port)"
        let answer = try client.get(target, host: host, fields: [("Sec-Fetch-Dest", "document")])
        #expect(answer.status == (body == nil ? 504 : 200))
        #expect(answer["Larder"] == (body == nil ? "miss" : "hit; by=shell"))
        if let body { #expect(answer.text.contains(body)) }
        // A script that requests data does not get a page.
        let data = try client.get(
            target, host: host, fields: [("Sec-Fetch-Dest", "empty"), ("Accept", "application/json")])
        #expect(data.status == 504 && data.text.isEmpty)
        #expect(data["Content-Type"] == "application/json")
    }

    @Test
    func `a URL with or without the trailing slash redirects to the stored one if the origin once did so`()
        throws
    {
        defer { server.stop() }
        try store.publish([
            .init(href: "https://example.test/page/", text: "page"),
            .init(href: "https://example.test/file", text: "f"),
        ])
        try store.addUnpublished([
            .init(href: "https://example.test/page", status: 301, extra: "Location: /page/\r\n"),
            .init(href: "https://example.test/file/", status: 301, extra: "Location: /file\r\n"),
        ])
        let other = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 0)
        defer { other.stop() }
        let client = try RawClient(port: Int(other.port))
        let here = "example-test.localhost:\(other.port)"
        for (requested, stored) in [("/page", "/page/"), ("/file/", "/file")] {
            let answer = try client.get(requested, host: here)
            #expect(answer.status == 302)
            #expect(answer["Location"] == "http://\(here)\(stored)")
            #expect(answer["Larder"] == "hit; by=slash")
        }
        #expect(try client.get("/app.js/", host: here).status == 504)
    }

    @Test(arguments: [false, true])
    func `the content security policy is left out only if the network is allowed`(
        isAllowed: Bool
    ) throws {
        server.stop()
        var options = MirrorOptions()
        options.allowsNetwork = isAllowed
        let other = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 0, options: options)
        defer { other.stop() }
        let client = try RawClient(port: Int(other.port))
        for path in ["/dir/", "/app.js", "/not-held"] {
            let answer = try client.get(path, host: "example-test.localhost:\(other.port)")
            #expect((answer["Content-Security-Policy"] == nil) == isAllowed, "\(path)")
        }
        // Pages of the portal have their own policy in both cases.
        let portal = try client.get("/", host: "localhost:\(other.port)")
        #expect(portal["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
    }
}

/// Bodies that are stored as zstd frames, and sent as such to clients that accept zstd.
@Suite struct FrameServingTests {
    private let store: StockedStore
    private let server: MirrorServer

    private static let script = String(repeating: "var again = 'and again';\n", count: 2000)
    private static let page = """
        <!doctype html><title>T</title><a href="https://other.test/">\(String(repeating: "other ", count: 2000))</a>
        """

    init() throws {
        store = try StockedStore(
            [
                .init(href: "https://example.test/", text: Self.page),
                .init(href: "https://example.test/s.js", text: Self.script, type: "text/javascript"),
                .init(
                    href: "https://example.test/fixed.js", text: Self.script + "fixed()",
                    type: "text/javascript",
                    extra: "Cache-Control: no-transform\r\n"),
                .init(
                    href: "https://example.test/told.js", text: Self.script + "told()",
                    type: "text/javascript",
                    extra: "Content-Digest: sha-256=:AA==:\r\n"),
                .init(href: "https://example.test/small.js", text: "small()", type: "text/javascript"),
            ], compresses: true)
        server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
    }

    private func answers(_ target: String, _ fields: [[(String, String)]], method: String = "GET") throws
        -> [RawResponse]
    {
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        return try fields.map {
            try client.get(target, method: method, host: "example-test.localhost:\(server.port)", fields: $0)
        }
    }

    private static let browser = [("Accept-Encoding", "gzip, deflate, br, zstd")]

    @Test func `clients that accept zstd get the stored frame, and other clients the decompressed text`()
        throws
    {
        let got = try answers("/s.js", [[], Self.browser, [], Self.browser])
        for (number, answer) in got.enumerated() {
            #expect(answer.status == 200 && answer.all("Vary").contains("Accept-Encoding"))
            guard number % 2 == 1 else {
                #expect(answer.text == Self.script && answer["Content-Encoding"] == nil)
                continue
            }
            #expect(answer["Content-Encoding"] == "zstd" && answer.body.count < 1000)
            #expect(
                ZstdFrame.decompress(answer.body, byteCount: Self.script.utf8.count)
                    == Array(Self.script.utf8))
            // Ranges are of the decompressed text, so that they must not be combined with the frame.
            #expect(answer["ETag"] == got[0]["ETag"].map { "W/" + $0 } && answer["Accept-Ranges"] == nil)
        }
    }

    @Test func `the ETag of a zstd response matches If-None-Match, and never If-Range`() throws {
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        func get(_ fields: (String, String)...) throws -> RawResponse {
            try client.get(
                "/s.js", host: "example-test.localhost:\(server.port)", fields: Self.browser + fields)
        }
        let tag = try #require(try get()["ETag"])
        let known = try get(("If-None-Match", tag))
        #expect(known.status == 304 && known["ETag"] == tag)
        #expect(try get(("If-Range", tag), ("Range", "bytes=0-9"))["Content-Encoding"] == "zstd")
        let part = try get(("Range", "bytes=0-9"))
        #expect(part.status == 206 && part.text == Self.script.prefix(10) && part["Content-Encoding"] == nil)
    }

    @Test func `a HEAD request gets the same Content-Encoding as a GET`() throws {
        let head = try #require(try answers("/s.js", [Self.browser], method: "HEAD").first)
        #expect(head.body.isEmpty && head["Content-Encoding"] == "zstd")
    }

    @Test(arguments: ["/", "/fixed.js", "/told.js", "/small.js"])
    func `a rewritten, untransformable or uncompressed body is sent without Content-Encoding`(target: String)
        throws
    {
        let answer = try #require(try answers(target, [Self.browser]).first)
        #expect(answer.status == 200 && answer["Content-Encoding"] == nil)
    }

    @Test(arguments: ["zstd;q=0", "gzip", "zstdx", "*"])
    func `clients that do not accept zstd get no zstd frame`(codings: String)
        throws
    {
        let answer = try #require(try answers("/s.js", [[("Accept-Encoding", codings)]]).first)
        #expect(answer["Content-Encoding"] == nil && answer.text == Self.script)
    }
}
