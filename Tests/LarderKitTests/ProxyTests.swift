import Glibc
import System
import TestOrigin
import Testing

@testable import LarderKit

/// Tests of the forward proxy with a test origin and a client that sends raw bytes.
@Suite struct ProxyTests {
    let folder: TemporaryFolder
    let origin: TestOrigin
    let larder: Larder

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
    }

    /// Starts a proxy with these options, and calls `use` with a client of it.
    func withProxy(
        _ policy: CachePolicy = .protocol, login: String? = nil, untouched: [String] = [],
        isExposed: Bool = false, _ change: (inout ServeOptions) -> Void = { _ in },
        _ use: (RawClient, MirrorService) throws -> Void
    ) throws {
        var options = ServeOptions()
        options.policy = policy
        // With a limit, a loaded machine might serve a stored response before the server answers.
        options.patience = nil
        change(&options)
        if isExposed { options.address = "*" }
        var proxy = ProxyOptions()
        proxy.port = 0
        proxy.connectPorts = [origin.port]
        (proxy.login, proxy.passthroughHosts) = (login, untouched)
        let service = try larder.proxy(proxy, serving: options, threads: 1)
        defer { service.stop() }
        try use(RawClient(port: Int(try #require(service.proxyPort))), service)
    }

    var host: String { "127.0.0.1:\(origin.port)" }

    /// Opens a tunnel with CONNECT.
    func openTunnel(_ client: RawClient, to host: String? = nil) throws {
        let host = host ?? self.host
        try client.send("CONNECT \(host) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(try client.response(toHead: true).status == 200)
    }

    @Test func `bodies and header fields pass unchanged, in tunnels too`() throws {
        let page =
            "<base href=http://elsewhere.test/><link rel=stylesheet href=\"http://elsewhere.test/a.css\">"
        origin.on(
            "/page",
            .page(page).adding("Content-Security-Policy", "default-src 'self'").adding("X-Own", "as it is")
                .adding("Strict-Transport-Security", "max-age=1").adding("Set-Cookie", "a=b; Path=/; Secure"))
        try withProxy { (client, _) throws in
            for isTunnel in [false, true] {
                if isTunnel { try openTunnel(client) }
                let answer = try client.get(isTunnel ? "/page" : origin.url("/page"), host: host)
                #expect(answer.status == 200)
                #expect(answer.text == page)
                #expect(answer["Content-Security-Policy"] == "default-src 'self'")
                #expect(answer["X-Own"] == "as it is")
                #expect(answer["Strict-Transport-Security"] == "max-age=1")
                #expect(answer["Larder"] == nil)
                #expect(answer["Server-Timing"] == nil)
                #expect(answer["X-DNS-Prefetch-Control"] == nil)
            }
        }
    }

    @Test func `the server receives the client's header fields without hop-by-hop fields`() throws {
        origin.on("/a", .page("a"))
        try withProxy(.reload) { (client, _) throws in
            let fields = [
                ("User-Agent", "jam/1"), ("Cookie", "a=b"), ("Authorization", "Bearer x"),
                ("Proxy-Connection", "close"),
                ("Connection", "keep-alive, X-Hop"), ("X-Hop", "1"), ("X-End", "2"),
                ("Proxy-Authorization", "Basic x"),
            ]
            _ = try client.get(origin.url("/a"), host: host, fields: fields)
            let asked = try #require(origin.requests.last)
            #expect(asked["User-Agent"] == "jam/1")
            #expect(asked["Cookie"] == "a=b")
            #expect(asked["Authorization"] == "Bearer x")
            #expect(asked["X-End"] == "2")
            #expect(asked["X-Hop"] == nil)
            #expect(asked["Proxy-Connection"] == nil)
            #expect(asked["Proxy-Authorization"] == nil)
            // The proxy adds no header field that would identify a client.
            _ = try client.get(origin.url("/a"), host: host)
            #expect(origin.requests.last?["User-Agent"] == nil)
            #expect(origin.requests.last?["Accept"] == nil)
            #expect(origin.requests.last?["Accept-Encoding"] == "identity")
        }
    }

    @Test func `OPTIONS is answered by the server, and by the proxy for the proxy itself`() throws {
        origin.on("*", OriginAnswer(status: 204, fields: [("Allow", "GET, JAM")]))
        try withProxy { (client, _) throws in
            #expect(try client.get("*", method: "OPTIONS", host: host)["Allow"]?.contains("CONNECT") == true)
            #expect(try client.get("http://\(host)", method: "OPTIONS", host: host)["Allow"] == "GET, JAM")
            try openTunnel(client)
            #expect(try client.get("*", method: "OPTIONS", host: host)["Allow"] == "GET, JAM")
            #expect(origin.requests.map(\.target) == ["*", "*"])
        }
    }

    @Test func `a tunnel accepts only requests for its own host`() throws {
        origin.on("/a", .page("a"))
        try withProxy { (client, _) throws in
            try openTunnel(client)
            #expect(try client.get("/a", host: "other.test").status == 421)
            #expect(try client.get("/a", host: host).text == "a")
        }
    }

    @Test(arguments: [
        ("CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: 127.0.0.1:25\r\n\r\n", 403),
        ("CONNECT 127.0.0.1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
        ("CONNECT user@127.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1:443\r\n\r\n", 400),
        ("CONNECT http://127.0.0.1:443/ HTTP/1.1\r\nHost: 127.0.0.1:443\r\n\r\n", 400),
        ("CONNECT [::1]:99999 HTTP/1.1\r\nHost: [::1]\r\n\r\n", 400),
        ("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nContent-Length: 3\r\n\r\nabc", 400),
        (
            "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400
        ),
        ("GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("GET ftp://a.test/a HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("GET http://user:pass@a.test/a HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("GET http://a.test/a HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", 400),
        (
            "POST http://a.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400
        ),
        ("POST http://a.test/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        ("POST http://a.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400),
    ])
    func `ambiguous requests and requests to forbidden targets are rejected`(
        request: String, status: Int
    )
        throws
    {
        try withProxy { (client, _) throws in
            try client.send(request)
            #expect(try client.response().status == status)
        }
    }

    @Test func `offline, stored responses are served, and other requests are recorded as misses`() throws {
        origin.on("/a", .page("kept"))
        try withProxy { (client, _) throws in _ = try client.get(origin.url("/a"), host: host) }
        origin.stop()
        try withProxy(.offline) { (client, service) throws in
            #expect(try client.get(origin.url("/a"), host: host).text == "kept")
            #expect(try client.get(origin.url("/a?_=1795365914693"), host: host).text == "kept")
            let missed = try client.get(origin.url("/b"), host: host)
            #expect(missed.status == 504)
            #expect(missed["Larder"] == "miss")
            let head = try client.get(origin.url("/a"), method: "HEAD", host: host)
            #expect(head["Content-Length"] == "4")
            let part = try client.get(origin.url("/a"), host: host, fields: [("Range", "bytes=1-2")])
            #expect(part.status == 206)
            #expect(part.text == "ep")
            #expect(service.traffic?.missedURLs == [origin.url("/b")])
            #expect(service.traffic?.answeredFromStore == 4)
        }
    }

    @Test func `a proxy with a login rejects clients without it`() throws {
        origin.on("/a", .page("a"))
        try withProxy(.protocol, login: "jam:pot") { (client, _) throws in
            #expect(try client.get(origin.url("/a"), host: host).status == 407)
            let right = ("Proxy-Authorization", "Basic amFtOnBvdA==")
            #expect(try client.get(origin.url("/a"), host: host, fields: [right]).text == "a")
            try client.send("CONNECT \(host) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(try client.response().status == 407)
        }
    }

    @Test func `an endless response is streamed, and ends when the client disconnects`() throws {
        origin.on(
            "/events",
            .endless("data: jam\n\n", type: "text/event-stream").dripping(11, every: .milliseconds(5)))
        try withProxy { (client, _) throws in
            try client.send("GET \(origin.url("/events")) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            let head = try client.response(toHead: true)
            #expect(head.status == 200)
            #expect(head["Transfer-Encoding"] == "chunked")
        }
    }

    @Test func `a response that is cut off is not completed for the client`() throws {
        origin.on(
            "/cut",
            .file([UInt8](repeating: 7, count: 600_000), type: "application/x-jam").truncated(after: 400_000))
        try withProxy { (client, _) throws in
            try client.send("GET \(origin.url("/cut")) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            let whole = try? client.response()
            #expect(whole == nil)
        }
        try withProxy(.offline) { (client, _) throws in
            let missed = try client.get(origin.url("/cut"), host: host)
            #expect(missed.status == 504)
        }
    }

    @Test func `a long response body is stored while it is sent`() throws {
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        origin.on("/long", .file(body, type: "application/x-jam"))
        origin.on("/chunked", .file(body, type: "application/x-jam").chunked())
        for policy in [CachePolicy.protocol, .offline] {
            try withProxy(policy) { (client, _) throws in
                for path in ["/long", "/chunked"] {
                    let answer = try client.get(origin.url(path), host: host)
                    #expect(answer.body == body)
                }
            }
        }
    }

    @Test func `long bodies are stored one after the other, and short ones at the same time`() throws {
        let bodies = (0..<4).map { number in
            [UInt8](repeating: UInt8(ascii: "a") + UInt8(number), count: number == 2 ? 900 : 700_000)
        }
        for (number, body) in bodies.enumerated() {
            origin.on(
                "/\(number)", .file(body, type: "application/x-jam").adding("Cache-Control", "max-age=60"))
        }
        for policy in [CachePolicy.protocol, .protocol, .offline] {
            try withProxy(policy) { (client, service) throws in
                for (number, body) in bodies.enumerated() {
                    #expect(try client.get(origin.url("/\(number)"), host: host).body == body)
                }
                #expect(service.traffic?.notStored == 0)
            }
        }
        #expect(origin.requests.count == bodies.count)
    }

    /// `v=1.3` and `v=1.2` may be different resources for a program; only a parameter with the time is ignored.
    @Test(arguments: [
        ("/a?v=1.2", "/a?v=1.3", false), ("/a?t=1", "/a?t=2", false), ("/a?5", "/a?6", false),
        ("/a", "/a/", false),
        ("/a?b=1", "/a?b=1&utm_source=x", false), ("/a?b=1&c=2", "/a?c=2&b=1", false),
        ("/a?_=1700000000000", "/a?_=1700000000999", true), ("/a?1700000000", "/a?1700009999", true),
        ("/a?cb=0.8371625341", "/a?cb=0.1928374655", true), ("/a?v=1700000000", "/a?v=1700000001", true),
    ])
    func `a proxy client gets only the exact URL, not a similar one`(
        recorded: String, asked: String, isFound: Bool
    ) throws {
        origin.on("/a") { _ in .file("jam", type: "text/plain") }
        try withProxy { (client, _) throws in
            #expect(try client.get(origin.url(recorded), host: host).text == "jam")
        }
        try withProxy(.offline) { (client, _) throws in
            #expect(try client.get(origin.url(recorded), host: host).status == 200)
            #expect(try client.get(origin.url(asked), host: host).status == (isFound ? 200 : 504))
        }
    }

    @Test func `the proxy's own pages need its login`() throws {
        try withProxy(login: "jam:plum") { (client, service) throws in
            let own = "localhost:\(try #require(service.proxyPort))"
            for path in ["/", "/passes.json", "http://\(own)/passes.json"] {
                #expect(try client.get(path, host: own).status == 401)
            }
            let login = [("Authorization", "Basic amFtOnBsdW0=")]
            #expect(try client.get("/passes.json", host: own, fields: login).status == 200)
        }
    }

    @Test
    func
        `a page cannot reach another network zone by a stored response, a changed DNS name or another protocol`()
        throws
    {
        origin.on("/a", .page("a").adding("Cache-Control", "max-age=60"))
        origin.on("/ws", .raw(Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: jam\r\n\r\n".utf8)))
        try withProxy { (client, _) throws in
            #expect(try client.get(origin.url("/a"), host: host).text == "a")
            let evil = [("Origin", "http://evil.test"), ("Sec-Fetch-Site", "cross-site")]
            #expect(try client.get(origin.url("/a"), host: host, fields: evil).status == 403)
            #expect(try client.get(origin.url("/a"), host: host).text == "a")
            #expect(origin.requests.count == 1)
            let upgrade = [("Connection", "Upgrade"), ("Upgrade", "jam")]
            #expect(try client.get(origin.url("/ws"), host: host, fields: evil + upgrade).status == 502)
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `header fields about the body are passed on only if they are still correct`() throws {
        origin.on("/coded") { _ in
            .file(CodedText.gzip.bytes, type: "text/plain").adding("Content-Encoding", "gzip")
                .adding("Content-Digest", "sha-256=:AAAA:").adding("Content-MD5", "AAAA")
        }
        origin.on(
            "/odd",
            .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Odd: a\rSet-Cookie: b=c\r\n\r\nx".utf8)))
        origin.on("/tag") { request in
            let answer = OriginAnswer.file("jam", type: "text/plain").adding("ETag", "\"1\"")
                .adding("Cache-Control", "no-cache").adding("Set-Cookie", "a=b")
            guard request["If-None-Match"] != nil else { return answer }
            return OriginAnswer(status: 304, fields: [("ETag", "\"1\""), ("Set-Cookie", "c=d")], text: "")
        }
        try withProxy { (client, _) throws in
            let coding = [("Accept-Encoding", "gzip")]
            let head = try client.get(origin.url("/coded"), method: "HEAD", host: host, fields: coding)
            #expect(head["Content-Length"] == nil)
            let body = try client.get(origin.url("/coded"), host: host, fields: coding)
            #expect(body["Content-Digest"] == nil && body["Content-MD5"] == nil)
            #expect(try client.get(origin.url("/odd"), host: host)["X-Odd"] == "a Set-Cookie: b=c")
            #expect(try client.get(origin.url("/tag"), host: host)["Set-Cookie"] == "a=b")
            #expect(try client.get(origin.url("/tag"), host: host)["Set-Cookie"] == "c=d")
        }
    }

    @Test func `a tunnel to a host with a star is rejected`() throws {
        try withProxy { (client, _) throws in
            try client.send("CONNECT *:\(origin.port) HTTP/1.1\r\nHost: *:\(origin.port)\r\n\r\n")
            #expect(try client.response().status == 400)
        }
    }

    @Test func `a client that offers HTTP-2 upgrade gets an HTTP-1.1 response`() throws {
        origin.on("/a", .page("a").adding("Cache-Control", "max-age=60"))
        try withProxy { (client, service) throws in
            let fields = [
                ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABk"),
            ]
            for _ in 0..<2 {
                #expect(try client.get(origin.url("/a"), host: host, fields: fields).text == "a")
            }
            #expect(origin.requests.count == 1)
            #expect(service.traffic?.stored == 1)
        }
    }

    @Test func `the proxy's own pages cannot be read by pages of other origins`() throws {
        try withProxy { (client, service) throws in
            let own = "localhost:\(try #require(service.proxyPort))"
            #expect(try client.get("/", host: own).text.contains("Larder proxy"))
            #expect(try client.get("http://\(own)/passes.json", host: own).text.contains("\"passes\": []"))
            let certificate = try client.get("/larder-ca.pem", host: own).text
            #expect(certificate == (try larder.authority().certificate))
            for fields in [[("Origin", "http://evil.test")], [("Sec-Fetch-Site", "cross-site")]] {
                #expect(try client.get("/passes.json", host: own, fields: fields).status == 403)
            }
            // Another name may be made to resolve to this machine (DNS rebinding).
            #expect(
                try client.get("/passes.json", host: "rebound.test:\(service.proxyPort ?? 0)").status == 400)
        }
    }

    @Test func `the portal shows the proxy's traffic only to its own pages`() throws {
        origin.on("/jam", .page("jam"))
        origin.on("/plum", .page("plum"))
        var options = ServeOptions()
        options.policy = .protocol
        var proxy = ProxyOptions()
        (proxy.port, proxy.connectPorts) = (0, [origin.port])
        options.proxy = proxy
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let client = try RawClient(port: Int(try #require(service.proxyPort)))
        for path in ["/jam", "/plum"] { _ = try client.get(origin.url(path), host: host) }
        let portal = try RawClient(port: Int(service.port))
        let own = "localhost:\(service.port)"
        #expect(try portal.get("/", host: own).text.contains("href=\"/-/proxy\""))
        let page = try portal.get("/-/proxy", host: own).text
        #expect(page.contains("jam<") && page.contains("plum<"))
        let found = try portal.get("/-/proxy?q=plum", host: own).text
        #expect(!found.contains("jam<") && found.contains("plum<"))
        #expect(try portal.get("/-/proxy?live=1", host: own).text.contains("http-equiv=\"refresh\""))
        let fields = [
            ("Sec-Fetch-Site", "same-site"), ("Origin", "http://evil-test.localhost:\(service.port)"),
        ]
        #expect(try portal.get("/-/proxy?format=json", host: own, fields: fields).status == 403)

        let alone = try larder.serve(port: 0)
        defer { alone.stop() }
        #expect(
            try RawClient(port: Int(alone.port)).get("/-/proxy", host: "localhost:\(alone.port)").status
                == 404)
    }

    /// The rules of RFC 9111 for shared caches are not enough: policies such as `prefer-cache` use stored responses whatever
    /// their headers say.
    @Test(arguments: ["Cookie", "X-Api-Key"])
    func `a response fetched with one client's credentials is not served to another`(name: String) throws {
        let heads: [[(String, String)]] = [
            [], [("Vary", name)], [("Vary", "*")], [("Cache-Control", "no-cache")],
            [("Cache-Control", "max-age=0, must-revalidate")], [("Cache-Control", "max-age=600")],
            [("Cache-Control", "max-age=600, must-revalidate")],
        ]
        for policy in [CachePolicy.protocol, .preferCache, .auto] {
            for (number, head) in heads.enumerated() {
                origin.on("/\(policy)/\(number)") { request in
                    let who = request.fields.first { $0.name == name }?.value ?? "nobody"
                    return head.reduce(OriginAnswer.page("of \(who)")) { $0.adding($1.0, $1.1) }
                }
            }
            try withProxy(policy, login: "team:pw", isExposed: true) { (client, _) throws in
                let own = ("Proxy-Authorization", "Basic dGVhbTpwdw==")
                for number in heads.indices {
                    let url = origin.url("/\(policy)/\(number)")
                    #expect(
                        try client.get(url, host: host, fields: [own, (name, "a=1")]).text == "of a=1")
                    for fields in [
                        [], [("Larder-Policy", "offline")], [("Larder-Policy", "prefer-cache")],
                        [("Cache-Control", "only-if-cached, max-stale")],
                    ] {
                        let other = try client.get(url, host: host, fields: [own] + fields)
                        #expect(!other.text.contains("a=1"), "\(policy) \(heads[number]) \(fields)")
                    }
                }
            }
        }
    }

    private static let login = ("Proxy-Authorization", "Basic dGVhbTpwdw==")

    @Test(arguments: [CachePolicy.protocol, .preferCache, .auto, .offline])
    func `a response fetched with the user's credentials is not served to clients of a shared proxy`(
        policy: CachePolicy
    ) async throws {
        origin.on("/mine") { request in
            OriginAnswer.page("of \(request["X-Api-Key"] ?? "nobody")").adding("Cache-Control", "max-age=600")
        }
        let url = origin.url("/mine")
        var options = PrefetchOptions()
        options.network.headers = ["X-Api-Key: hunter2"]
        #expect(try await larder.prefetch([url], options: options).isPublished)
        try withProxy(policy, login: "team:pw", isExposed: true) {
            $0.network.headers = ["X-Api-Key: hunter2"]
        } _: { (client, _) throws in
            for fields in [[], [("Cache-Control", "only-if-cached, max-stale")], [("X-Api-Key", "other")]] {
                let text = try client.get(url, host: host, fields: [Self.login] + fields).text
                #expect(!text.contains("hunter2"), "\(text)")
            }
        }
        #expect(origin.requests(to: "/mine").dropFirst().allSatisfy { $0["X-Api-Key"] != "hunter2" })
        // The user still gets the response.
        origin.stop()
        try withProxy(.preferCache) { (client, _) throws in
            #expect(try client.get(url, host: host).text == "of hunter2")
        }
    }

    @Test(arguments: [false, true])
    func `another machine cannot reach this machine's services through a shared proxy`(mayReachPrivate: Bool)
        throws
    {
        let hello = OriginAnswer.page("hello").adding("Cache-Control", "max-age=600")
        for path in ["/a", "/b"] { origin.on(path, hello) }
        // The field of another proxy makes the client's address unknown.
        let fields = [Self.login, ("Via", "1.1 elsewhere")]
        try withProxy(login: "team:pw", isExposed: true) {
            $0.network.mayReachPrivate = mayReachPrivate
        } _: { (client, _) throws in
            for name in ["127.0.0.1", "localhost", "[::1]"] {
                let address = "\(name):\(origin.port)"
                let answer = try client.get("http://\(address)/a", host: address, fields: fields)
                #expect([502, 504].contains(answer.status) && answer.text != "hello", "\(answer.status)")
            }
            #expect(origin.requests.isEmpty)
            // A response loaded for a client on this machine is not served to others.
            for _ in 0..<3 {
                #expect(try client.get(origin.url("/b"), host: host, fields: [Self.login]).text == "hello")
            }
            let answer = try client.get(origin.url("/b"), host: host, fields: fields)
            #expect(answer.status != 200 && answer.text != "hello")
            #expect(origin.requests.count == 1)
        }
        try withProxy(.offline, login: "team:pw", isExposed: true) { (client, _) throws in
            #expect(try client.get(origin.url("/b"), host: host, fields: [Self.login]).text == "hello")
            #expect(try client.get(origin.url("/b"), host: host, fields: fields).status == 504)
        }
    }

    @Test func `the traffic of a shared proxy is shown only on its own machine`() throws {
        try withProxy(login: "team:pw", isExposed: true) { (client, service) throws in
            let own = "127.0.0.1:\(try #require(service.proxyPort))"
            for path in ["/", "/passes.json"] {
                #expect(try client.get(path, host: own, fields: [Self.login]).status == 200)
                let fields = [Self.login, ("Via", "1.1 elsewhere")]
                #expect(try client.get(path, host: own, fields: fields).status == 403)
                #expect(try client.get("/larder-ca.pem", host: own, fields: fields).status == 200)
            }
        }
    }

    @Test(arguments: ["Via", nil] as [String?])
    func `another machine cannot open a tunnel to this machine through a shared proxy`(
        field: String?
    ) throws {
        origin.on("/a", .page("a"))
        try withProxy(login: "team:pw", untouched: ["127.0.0.1"], isExposed: true) { (client, _) throws in
            let line = field.map { "\($0): 1.1 elsewhere\r\n" } ?? ""
            try client.send(
                "CONNECT \(host) HTTP/1.1\r\nHost: \(host)\r\n\(Self.login.0): \(Self.login.1)\r\n\(line)\r\n"
            )
            #expect(try client.response(toHead: true).status == (field == nil ? 200 : 502))
        }
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: [CachePolicy.protocol, .preferCache])
    func `an API key is in no file of the store, and marks the response as private`(
        policy: CachePolicy
    ) async throws {
        origin.on("/data") { request in
            OriginAnswer.page("of \(request["X-Api-Key"] ?? "nobody")").adding("Vary", "X-Api-Key")
                .adding("Cache-Control", "max-age=600")
        }
        let url = origin.url("/data")
        let secret = "hunter2-\(origin.port)"
        try withProxy(policy) { (client, _) throws in
            for _ in 1...2 {
                let answer = try client.get(url, host: host, fields: [("X-Api-Key", secret)])
                #expect(answer.text == "of \(secret)")
            }
            #expect(origin.requests(to: "/data").count == 1)
            #expect(try client.get(url, host: host, fields: [("X-Api-Key", "other")]).text == "of other")
            #expect(try client.get(url, host: host).text == "of nobody")
        }
        // The secret is only in the body, which the server wrote.
        let path = folder.file("larder")
        for name in ["larder.db", "larder.db-wal", "notes.db"]
            + (Folder.names(in: path + "/journal") ?? []).map({
                "journal/" + String(decoding: $0, as: UTF8.self)
            })
        {
            let bytes = (try? WholeFile.read(path + "/" + name, atMost: 1 << 24)) ?? []
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("x-api-key: \(secret)"), "\(name)")
        }
        let rows = try await larder.describe(url).responses
        #expect(rows.count == 3)
        #expect(rows.filter(\.isPrivate).count == 2)
        #expect(Set(rows.map(\.variant)) == ["x-api-key: (withheld)", "x-api-key"])
    }

    @Test func `the response to TRACE omits header fields that may be secret`() throws {
        try withProxy { (client, _) throws in
            let fields = [
                ("Max-Forwards", "0"), ("X-Api-Key", "hunter2"), ("Cookie", "hunter2"), ("DNT", "1"),
            ]
            let answer = try client.get(origin.url("/"), method: "TRACE", host: host, fields: fields)
            #expect(answer.text.contains("DNT: 1") && !answer.text.contains("hunter2"))
        }
    }

    @Test func `a page of another host cannot reach this machine through the proxy`() throws {
        origin.on("/a", .page("a"))
        try withProxy { (client, _) throws in
            let fields = [("Origin", "http://evil.test"), ("Sec-Fetch-Site", "cross-site")]
            #expect(try client.get(origin.url("/a"), host: host, fields: fields).status == 502)
            #expect(origin.requests.isEmpty)
            #expect(try client.get(origin.url("/a"), host: host).text == "a")
        }
    }

    @Test func `a protocol other than HTTP passes through a tunnel, and is rejected offline`() throws {
        origin.on(
            "/ws",
            .raw(
                Array(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: jam\r\nConnection: Upgrade\r\n\r\nhi".utf8))
        )
        let fields = [("Connection", "Upgrade"), ("Upgrade", "jam")]
        try withProxy { (client, _) throws in
            let answer = try client.get(origin.url("/ws"), host: host, fields: fields)
            #expect(answer.status == 101)
            #expect(answer["Upgrade"] == "jam")
            #expect(origin.requests.last?["Upgrade"] == "jam")
        }
        try withProxy(.offline) { (client, _) throws in
            let refused = try client.get(origin.url("/ws"), host: host, fields: fields)
            #expect(refused.status == 504)
        }
    }

    @Test func `requests in a passthrough tunnel are not read`()
        throws
    {
        origin.on("/a", .page("a"))
        try withProxy(.protocol, untouched: ["127.0.0.1"]) { (client, service) throws in
            try openTunnel(client)
            #expect(try client.get("/a", host: "whatever.test").text == "a")
            #expect(origin.requests.last?["Host"] == "whatever.test")
        }
        try withProxy(.offline, untouched: ["127.0.0.1"]) { (client, _) throws in
            try client.send("CONNECT \(host) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(try client.response().status == 504)
        }
    }
}
