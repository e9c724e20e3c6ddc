import Mirror
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import HTTPServer

/// A mirror that loads responses from origins. The rules of HTTP caching have their own tests in `Caching`.
@Suite struct MirrorLoadingTests {
    /// Scripted origins without a network. A target without a script gets a 404.
    final class ScriptedServers: Sendable {
        private let script = Mutex<[String: (Int, HTTPFields, String)?]>([:])
        private let received = Mutex<[LoadRequest]>([])
        private let early = Mutex<[String: HTTPFields]>([:])

        /// Sends a 103 with these header fields before each response to `target`.
        func setEarlyHints(_ target: String, _ fields: HTTPFields) { early.withLock { $0[target] = fields } }

        /// Sets the response to requests for `target` from now on.
        func respond(_ target: String, _ status: Int = 200, _ fields: HTTPFields = [:], _ text: String = "") {
            script.withLock { $0[target] = (status, fields, text) }
        }

        /// Makes requests for `target` fail without a response.
        func fallSilent(_ target: String) { script.withLock { $0[target] = .some(nil) } }

        var requests: [LoadRequest] { received.withLock { $0 } }

        func load(_ request: LoadRequest, _ done: (LoadOutcome) -> Void) {
            received.withLock { $0.append(request) }
            if let hints = early.withLock({ $0[request.url.target] }) { request.interim?(103, hints) }
            let known = script.withLock { $0[request.url.target] ?? .some((404, [:], "nothing there")) }
            guard let (status, fields, text) = known else { return done(.failure("it is silent")) }
            let now = HTTPDate(secondsSinceEpoch: 1_900_000_000)
            done(
                .response(
                    LoadedResponse(
                        status: status, fields: fields, body: .bytes(Array(text.utf8)), requestTime: now,
                        responseTime: now)))
        }
    }

    private let store: StockedStore
    private let servers = ScriptedServers()

    init() throws {
        store = try StockedStore([
            .init(
                href: "https://example.test/held", text: "held", type: "text/plain", extra: "ETag: \"v1\"\r\n"
            )
        ])
    }

    private func serving(
        _ policy: CachePolicy, root: Bool = true, rules: [String] = [], isExposed: Bool = false,
        _ use: (_ get: (String, [(String, String)]) throws -> RawResponse) throws -> Void
    ) throws {
        var options = MirrorOptions()
        options.root = root ? WebURL("https://example.test/") : nil
        options.policy = policy
        options.rules = try rules.map { try CacheRules.Rule($0) }
        if isExposed { options.address = ListenAddress("*") ?? .loopback }
        // A fixed clock: a silent origin is not requested again, and no response becomes stale.
        let now = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
        options.clock = { now }
        options.load = { [servers] in servers.load($0, $1) }
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = root ? "localhost:\(server.port)" : "example-test.localhost:\(server.port)"
        let beside = server.address(of: "https://other.test/").flatMap { WebURL($0) }
        let folder = (beside?.target ?? "").replacing("https/other.test/", with: "")
        try use { target, fields in
            let method = fields.first { $0.0 == ":method" }?.1 ?? "GET"
            let sent = fields.filter { $0.0 != ":method" }.map { ($0.0, $0.1.replacing("HERE", with: host)) }
            return try client.get(
                target.replacing("BESIDE/", with: folder), method: method, host: host, fields: sent)
        }
    }

    /// Replaces the stored site with one that was fetched from this machine.
    private func storeSiteOfThisMachine() throws {
        try store.publish([
            .init(
                href: "https://example.test/held", text: "held", type: "text/plain",
                extra: "ETag: \"v1\"\r\n", flags: .fromThisMachine)
        ])
    }

    private typealias Get = (String, [(String, String)]) throws -> RawResponse

    @Test(arguments: [true, false])
    func `a 103 response is forwarded with its links rewritten`(root: Bool) throws {
        servers.setEarlyHints(
            "/new",
            ["Link": "</a.css>; rel=preload, <https://cdn.test/b.js>; rel=preload", "Set-Cookie": "a=b"])
        servers.respond("/new", 200, ["Content-Type": "text/plain"], "new")
        var options = MirrorOptions()
        options.root = root ? WebURL("https://example.test/") : nil
        options.policy = .protocol
        options.load = { [servers] in servers.load($0, $1) }
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = root ? "localhost:\(server.port)" : "example-test.localhost:\(server.port)"
        let cdn = "http://cdn-test.localhost:\(server.port)"
        let hints = try client.get("/new", host: host)
        #expect(hints.status == 103)
        #expect(hints["Link"] == "</a.css>; rel=preload, <\(cdn)/b.js>; rel=preload")
        #expect(hints["Set-Cookie"] == nil)
        let answer = try client.response()
        #expect(answer.status == 200)
        #expect(answer.text == "new")
        // Clients of HTTP/1.0 get no 103, which they would take for the response. It is not stored either.
        try client.send("GET /new HTTP/1.0\r\nHost: \(host)\r\nCache-Control: no-cache\r\n\r\n")
        #expect(try client.response().status == 200)
    }

    @Test func `a forwarded response gets no Vary header, and no rewritten URL that needs no rewriting`()
        throws
    {
        servers.respond("/plain", 200, ["Content-Type": "text/plain", "Content-Location": "plain.en"], "p")
        servers.respond(
            "/open", 200, ["Content-Type": "text/plain", "Access-Control-Allow-Origin": "*"], "o")
        servers.respond(
            "/named", 200, ["Content-Type": "text/plain", "Access-Control-Allow-Origin": "https://a.test"],
            "n")
        servers.respond("/moved", 302, ["Location": "../new?a=b#c"])
        servers.respond("/away", 302, ["Location": "//cdn.test/x", "Content-Location": "/y"])
        try serving(.protocol, isExposed: true) { (get: Get) throws -> Void in
            for _ in 0..<2 {
                for target in ["/plain", "/open", "/moved", "/away"] {
                    #expect(try get(target, [])["Vary"] == nil, "\(target)")
                }
                #expect(try get("/named", [])["Vary"] == "Origin")
                #expect(try get("/plain", [])["Content-Location"] == "plain.en")
                #expect(try get("/moved", [])["Location"] == "../new?a=b#c")
                #expect(try get("/away", [])["Location"]?.hasSuffix("/https/cdn.test/x") == true)
                #expect(try get("/away", [])["Content-Location"] == "/y")
            }
        }
    }

    @Test func `a missing response is loaded once, stored, and then fresh`() throws {
        servers.respond(
            "/new", 200, ["Content-Type": "text/plain", "Cache-Control": "max-age=600", "ETag": "\"n\""],
            "new")
        try serving(.protocol) { (get: Get) throws -> Void in
            let first = try get("/new", [])
            #expect(first.status == 200)
            #expect(first.text == "new")
            #expect(first["Larder"] == "loaded")
            #expect(first["ETag"] == "\"n\"")
            #expect(first["Cache-Control"] == "no-cache")
            #expect(first["Server-Timing"]?.contains("load;dur=") == true)
            let second = try get("/new", [])
            #expect(second.text == "new")
            #expect(second["Larder"] == "hit")
            #expect(second["Age"] != nil)
            #expect(try get("/new", [("If-None-Match", "\"n\"")]).status == 304)
        }
        #expect(servers.requests.count == 1)
        #expect(try StoreReader(store.folder).response(for: "https://example.test/new")?.status == 200)
    }

    @Test func `a stale response is validated by its tag, and a 304 updates its headers`()
        throws
    {
        servers.respond("/held", 304, ["ETag": "\"v1\"", "Cache-Control": "max-age=60", "X-New": "yes"])
        try serving(.protocol) { (get: Get) throws -> Void in
            let first = try get("/held", [])
            #expect(first.text == "held")
            #expect(first["Larder"] == "validated")
            #expect(first["X-New"] == "yes")
            #expect(try get("/held", [])["Larder"] == "hit")
        }
        #expect(servers.requests.map { $0.fields["If-None-Match"] } == ["\"v1\""])
    }

    @Test(arguments: [
        (CachePolicy.offline, "hit", 0), (.preferCache, "stale", 0), (.protocol, "loaded", 1),
        (.revalidate, "loaded", 1),
        (.reload, "loaded", 1), (.reloadEndToEnd, "loaded", 1), (.refreshBehind, "stale", 1),
        (.auto, "loaded", 1),
    ])
    func `each policy sends the requests that it defines`(policy: CachePolicy, source: String, asked: Int)
        throws
    {
        servers.respond("/held", 200, ["Content-Type": "text/plain", "Cache-Control": "max-age=60"], "newer")
        try serving(policy) { (get: Get) throws -> Void in
            let answer = try get("/held", [])
            #expect(answer["Larder"] == source)
            #expect(answer.text == (source == "loaded" ? "newer" : "held"))
        }
        #expect(servers.requests.count == asked)
        let endToEnd = policy == .reloadEndToEnd ? "no-cache" : policy == .revalidate ? "max-age=0" : nil
        #expect(asked == 0 || servers.requests[0].fields["Cache-Control"] == endToEnd)
    }

    @Test func `a response refreshed in the background is served the next time`() throws {
        servers.respond("/held", 200, ["Content-Type": "text/plain"], "newer")
        try serving(.refreshBehind) { (get: Get) throws -> Void in _ = try get("/held", []) }
        try serving(.offline) { (get: Get) throws -> Void in #expect(try get("/held", []).text == "newer") }
    }

    @Test func `a request header or a rule can choose another policy`() throws {
        servers.respond("/held", 200, ["Content-Type": "text/plain"], "newer")
        try serving(.preferCache) { (get: Get) throws -> Void in
            #expect(try get("/held", [("Larder-Policy", "offline")])["Larder"] == "hit")
            #expect(try get("/none", [("Larder-Policy", "offline")]).status == 504)
            #expect(try get("/held", [("Larder-Policy", "nonsense")])["Larder"] == "stale")
            #expect(try get("/held", [("Larder-Policy", "reload")]).text == "newer")
        }
        try store.publish(
            [.init(href: "https://example.test/", text: "")], settings: #"{"rules":["/held policy=reload"]}"#)
        try serving(.preferCache) { (get: Get) throws -> Void in
            #expect(try get("/held", [])["Larder"] == "loaded")
        }
    }

    @Test
    func `under auto, a silent origin is not requested again for a while, and stored responses are served`()
        throws
    {
        servers.fallSilent("/held")
        servers.fallSilent("/none")
        try serving(.auto) { (get: Get) throws -> Void in
            for _ in 0..<3 { #expect(try get("/held", []).text == "held") }
            #expect(try get("/none", []).status == 504)
        }
        #expect(servers.requests.count == 1)
        try serving(.protocol) { (get: Get) throws -> Void in
            let answer = try get("/none", [])
            #expect(answer.status == 504)
            #expect(answer.text.contains("it is silent"))
        }
    }

    @Test func `an unsafe request is forwarded and invalidates the stored response`() throws {
        servers.respond("/fresh", 200, ["Content-Type": "text/plain", "Cache-Control": "max-age=600"], "one")
        try serving(.protocol) { (get: Get) throws -> Void in
            #expect(try get("/fresh", [])["Larder"] == "loaded")
            #expect(try get("/fresh", [])["Larder"] == "hit")
            servers.respond(
                "/fresh", 200, ["Content-Type": "text/plain", "Cache-Control": "no-store"], "done")
            #expect(try get("/fresh", [(":method", "POST")]).text == "done")
            servers.respond(
                "/fresh", 200, ["Content-Type": "text/plain", "Cache-Control": "max-age=600"], "two")
            #expect(try get("/fresh", []).text == "two")
        }
        #expect(servers.requests.map(\.method) == ["GET", "POST", "GET"])
    }

    @Test func `offline forwards nothing and serves recorded responses`() throws {
        servers.respond("/api", 200, ["Content-Type": "text/plain"], "answer")
        try serving(.preferCache, rules: ["/api post"]) { (get: Get) throws -> Void in
            for _ in 0..<2 { #expect(try get("/api", [(":method", "POST")]).text == "answer") }
        }
        #expect(servers.requests.count == 1)
        try serving(.offline) { (get: Get) throws -> Void in
            #expect(try get("/api", [(":method", "POST")]).text == "answer")
            #expect(try get("/api", [(":method", "PUT")]).status == 504)
        }
        #expect(servers.requests.count == 1)
    }

    @Test func `a response that must not be stored is served and not stored`() throws {
        servers.respond(
            "/secret", 200, ["Content-Type": "text/plain", "Cache-Control": "no-store"], "secret")
        try serving(.preferCache) { (get: Get) throws -> Void in
            for _ in 0..<2 { #expect(try get("/secret", [])["Larder"] == "loaded") }
        }
        #expect(try StoreReader(store.folder).response(for: "https://example.test/secret") == nil)
    }

    @Test func `a variant is served for a matching request, and another one is loaded for other requests`()
        throws
    {
        let fields: HTTPFields = [
            "Content-Type": "text/plain", "Cache-Control": "max-age=600", "Vary": "Accept-Language",
        ]
        try serving(.protocol) { (get: Get) throws -> Void in
            servers.respond("/words", 200, fields, "words")
            #expect(try get("/words", [("Accept-Language", "en")]).text == "words")
            servers.respond("/words", 200, fields, "Worte")
            #expect(try get("/words", [("Accept-Language", "de")]).text == "Worte")
            #expect(try get("/words", [("Accept-Language", "en")]).text == "words")
            #expect(try get("/words", [("Accept-Language", "de")])["Larder"] == "hit")
        }
        #expect(servers.requests.count == 2)
    }

    @Test
    func
        `if all origins share one name, an origin gets neither the root's cookies nor the mirror's headers`()
        throws
    {
        let asked: [(String, String)] = [
            ("Cookie", "a=b"), ("X-Own", "y"), ("Larder-Policy", "reload"), ("Accept-Encoding", "br"),
        ]
        let open: HTTPFields = ["Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "X-Own"]
        servers.respond("/b", 200, open, "b")
        try storeSiteOfThisMachine()
        try serving(.protocol, isExposed: true) { (get: Get) throws -> Void in
            let ours = [("Origin", "http://HERE"), ("Referer", "http://HERE/x")]
            _ = try get("/a", asked + ours)
            _ = try get("BESIDE/https/other.test/b", asked.filter { $0.0 != "Larder-Policy" } + ours)
            // A custom header field needs permission by CORS. The origin allows `X-Own`, but not `Larder-Policy`.
            #expect(try get("BESIDE/https/other.test/b", asked + ours).status == 403)
        }
        let preflights = servers.requests.filter { $0.method == "OPTIONS" }
        #expect(
            preflights.map { $0.fields["Access-Control-Request-Headers"] } == [
                "x-own", "larder-policy,x-own",
            ])
        #expect(preflights.map { $0.fields["Cookie"] ?? $0.fields["X-Own"] } == [nil, nil])
        let sent = servers.requests.filter { $0.method != "OPTIONS" }
        #expect(sent.map(\.url.href) == ["https://example.test/a", "https://other.test/b"])
        #expect(sent.map { $0.fields["Cookie"] } == ["a=b", nil])
        #expect(sent.map { $0.fields["Origin"] } == ["https://example.test", "https://example.test"])
        #expect(sent.map { $0.fields["Referer"] } == ["https://example.test/", "https://example.test/"])
        #expect(sent.map(\.nearestZone) == [.thisMachine, .publicNetwork])
        #expect(sent.map(\.isAnonymous) == [true, true])
        for request in sent {
            #expect(request.fields["X-Own"] == "y")
            for name in ["Host", "Larder-Policy", "Accept-Encoding"] {
                #expect(request.fields[name] == nil, "\(name)")
            }
        }
    }

    @Test
    func `other machines cause requests to the root and the public network, without the user's credentials`()
        throws
    {
        let asks: [[(String, String)]] = [
            [], [("Sec-Fetch-Site", "none")], [("Referer", "http://HERE/held")],
            [("Referer", "http://HERE/held"), ("Sec-Fetch-Site", "none")],
        ]
        servers.fallSilent("/a")
        try storeSiteOfThisMachine()
        try serving(.reload, isExposed: true) { (get: Get) throws -> Void in
            for fields in asks {
                _ = try get("/a", fields)
                _ = try get("BESIDE/http/127.0.0.1:3000/admin", fields)
                _ = try get("BESIDE/https/example.test:8443/admin", fields)
            }
        }
        #expect(
            servers.requests.filter { $0.url.path == "/a" }.allSatisfy { $0.nearestZone == .thisMachine })
        #expect(
            servers.requests.filter { $0.url.path == "/admin" }.allSatisfy {
                $0.nearestZone == .publicNetwork
            })
        #expect(servers.requests.count == asks.count * 3 && servers.requests.allSatisfy(\.isAnonymous))
        try serving(.offline, isExposed: true) { (get: Get) throws -> Void in
            for fields in asks {
                _ = try get("/b", fields)
                _ = try get("BESIDE/http/127.0.0.1:3000/b", fields)
            }
        }
        let misses = try ActivityDatabase.openIfExists(store.folder)?.misses() ?? []
        let from = Dictionary(uniqueKeysWithValues: misses.map { ($0.href, $0.from) })
        // Misses in other origins are not recorded: an update would request them with the user's credentials.
        #expect(from == ["https://example.test/b": .fromThisMachine], "\(from)")
    }

    /// - Parameter use: Gets a client, and the mirror's address of an original URL.
    private func namedServing(_ use: (_ client: RawClient, _ local: (String) -> WebURL) throws -> Void) throws
    {
        var options = MirrorOptions()
        options.policy = .reload
        options.load = { [servers] in servers.load($0, $1) }
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options)
        defer { server.stop() }
        let nowhere = try #require(WebURL("http://nowhere.invalid/"))
        try use(RawClient(port: Int(server.port))) { url in
            server.address(of: url).flatMap { WebURL($0) } ?? nowhere
        }
    }

    /// A name may resolve to another address than when the site was fetched.
    @Test(
        arguments: [
            ([], .publicNetwork), (.fromPrivateNetwork, .privateNetwork), (.fromThisMachine, .thisMachine),
            (nil, .thisMachine),
        ] as [(ResponseFlags?, NetworkZone)])
    func `requests to a host of a site reach no nearer network zone than its stored responses came from`(
        flags: ResponseFlags?, zone: NetworkZone
    ) throws {
        let host = "https://named.test"
        try store.publish(
            flags.map { [.init(href: "\(host)/", text: "named", flags: $0)] }
                ?? [.init(href: "https://elsewhere.test/", text: "")], site: "\(host)/")
        // No response, because its zone would replace that of the stored responses.
        servers.fallSilent("/admin")
        try namedServing { (client, local) throws in
            for place in ["\(host)/admin", "\(host):8443/admin", "http://named.test/admin"] {
                for fields in [[], [("Referer", local("\(host)/").href)]] {
                    let target = local(place)
                    _ = try client.get(
                        target.target, host: "\(target.host):\(target.port ?? 0)", fields: fields)
                }
            }
        }
        #expect(Set(servers.requests.map(\.nearestZone)) == [zone], "\(servers.requests.map(\.url.href))")
    }

    @Test func `an IP address as the host of a site keeps its network zone`() throws {
        let place = "http://127.0.0.1:3000/"
        try store.publish([.init(href: place, text: "local")], site: place)
        try namedServing { (client, local) throws in
            let target = local(place)
            _ = try client.get("/a", host: "\(target.host):\(target.port ?? 0)")
        }
        #expect(servers.requests.map(\.nearestZone) == [.thisMachine])
    }

    @Test func `a response to another machine's credentials does not replace the shared response`()
        throws
    {
        servers.respond("/held", 200, ["Content-Type": "text/plain", "ETag": "\"v2\""], "for one")
        try serving(.protocol, isExposed: true) { (get: Get) throws -> Void in
            _ = try get("/held", [("Cookie", "x=y"), ("Cache-Control", "no-cache")])
            servers.fallSilent("/held")
            #expect(try get("/held", []).text == "held")
        }
        let stored = try StoreReader(store.folder).response(for: "https://example.test/held")
        #expect(stored?.flags.contains(.isPrivate) == false)
    }

    @Test(arguments: [true, false])
    func `Cache-Control of an origin is replaced by no-cache or no-store`(root: Bool) throws {
        let lasting: HTTPFields = [
            "Content-Type": "text/plain", "Cache-Control": "public, max-age=9999, immutable",
            "Expires": "Thu, 01 Jan 2099 00:00:00 GMT",
        ]
        servers.respond("/open", 200, lasting, "open")
        servers.respond(
            "/mine", 200, ["Content-Type": "text/plain", "Cache-Control": "max-age=9999"], "mine")
        servers.respond("/never", 200, ["Content-Type": "text/plain", "Cache-Control": "no-store"], "never")
        for policy in [CachePolicy.auto, .protocol, .preferCache] {
            try serving(policy, root: root) { (get: Get) throws -> Void in
                for (target, said) in [("/open", "no-cache"), ("/never", "no-store")] {
                    let answer = try get(target, [])
                    #expect(answer.all("Cache-Control") == [said], "\(target)")
                    #expect(answer["Expires"] == nil)
                }
                let mine = try get("/mine", [("Cookie", "a=b"), ("Cache-Control", "no-cache")])
                #expect(mine.all("Cache-Control") == ["no-store"])
            }
        }
    }

    @Test(arguments: [200, 304])
    func `a response to another site's page does not replace a private response`(status: Int) throws {
        try store.publish([
            .init(
                href: "https://example.test/held", text: "mine", type: "text/plain",
                extra: "ETag: \"v1\"\r\n",
                flags: .isPrivate)
        ])
        servers.respond("/held", status, ["Content-Type": "text/plain", "ETag": "\"v1\""], "everybody's")
        try serving(.auto, root: false) { (get: Get) throws -> Void in
            _ = try get(
                "/held",
                [
                    ("Referer", "http://xHERE/"),
                    ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "image"),
                ])
            // A navigation by the user to a window of its own gets the private response, because no page can read it there.
            let window = try get(
                "/held",
                [
                    ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "document"),
                    ("Sec-Fetch-User", "?1"),
                ])
            #expect(window.text == "mine")
        }
        #expect(!servers.requests.isEmpty && servers.requests.allSatisfy(\.isAnonymous))
        let reader = try StoreReader(store.folder)
        let stored = try #require(try reader.response(for: "https://example.test/held"))
        #expect(stored.flags.contains(.isPrivate))
        let body = try #require(stored.body)
        #expect(try reader.content(of: body)?.load() == Array("mine".utf8))
    }

    @Test func `headers of other machines cannot choose a policy or the host of a request`() throws {
        let claims = [
            ("X-Forwarded-Host", "evil.test"), ("X-Forwarded-Proto", "http"), ("Forwarded", "host=evil.test"),
            ("X-Original-URL", "/admin"), ("X-Rewrite-URL", "/admin"),
        ]
        servers.respond("/a", 200, ["Content-Type": "text/plain"], "a")
        servers.respond("/held", 200, ["Content-Type": "text/plain"], "newer")
        try serving(.preferCache, isExposed: true) { (get: Get) throws -> Void in
            #expect(try get("/a", claims).text == "a")
            let asked = [("Larder-Policy", "reload")]
            #expect(try get("/held", asked + claims)["Larder"] == "stale")
            #expect(try get("/held", asked)["Larder"] == "loaded")
        }
        for request in servers.requests {
            for (name, _) in claims { #expect(request.fields[name] == nil, "\(name)") }
        }
    }

    @Test func `session cookies of the portal are not sent to origins`() throws {
        try serving(.reload) { (get: Get) throws -> Void in
            _ = try get("/a", [("Cookie", "larder-8080=secret; own=1; larder-x=2; larder-9=s")])
            _ = try get("/b", [("Cookie", "larder-8080=secret")])
        }
        #expect(servers.requests.map { $0.fields["Cookie"] } == ["own=1; larder-x=2", nil])
    }

    @Test func `a foreign page causes no request, no miss and no change`() throws {
        let foreign = ("Sec-Fetch-Site", "cross-site")
        try serving(.protocol, root: false) { (get: Get) throws -> Void in
            #expect(try get("/none", [foreign]).status == 403)
            #expect(try get("/held", [foreign]).status == 403)
            #expect(try get("/held", [(":method", "POST"), ("Origin", "https://evil.test")]).status == 403)
        }
        try serving(.protocol) { (get: Get) throws -> Void in
            #expect(try get("/none", [foreign]).status == 403)
            #expect(try get("/held", [foreign]).status == 403)
            #expect(try get("/held", [(":method", "POST"), ("Origin", "https://evil.test")]).status == 403)
            #expect(servers.requests.isEmpty)
        }
        try serving(.protocol, isExposed: true) { (get: Get) throws -> Void in
            #expect(try get("/-/web/https/other.test/b", [foreign]).status == 403)
            #expect(try get("/held", [(":method", "POST"), ("Origin", "https://evil.test")]).status == 403)
            #expect(servers.requests.isEmpty)
            // Pages anywhere may embed the site that a server shows to other machines.
            #expect(try get("/none", [foreign]).status == 404)
        }
        #expect(try ActivityDatabase.openIfExists(store.folder)?.misses().isEmpty ?? true)
    }
}
