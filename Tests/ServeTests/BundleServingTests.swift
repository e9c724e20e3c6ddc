import Bundles
import Digest
import Glibc
import Store
import Synchronization
import System
import TLS
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Portal

/// A manifest requires a digest for a URL. The server must enforce it for all clients and policies.
@Suite struct BundleServingTests {
    private static let url = "https://example.test/app.js"
    private static let (good, bad) = ("import('https://other.test/x.js')", "import('https://evil.test/x.js')")
    private let servers = MirrorLoadingTests.ScriptedServers()

    private func store(_ text: String?) throws -> StockedStore {
        try StockedStore(
            [.init(href: "https://example.test/", text: "start", type: "text/plain")]
                + (text.map { [.init(href: Self.url, text: $0, type: "text/javascript")] } ?? []))
    }

    private static func md5(_ text: String) -> Digest { DigestStream.digest(.md5, of: Array(text.utf8).span) }

    private static func options(_ policy: CachePolicy, requiring text: String? = good) -> MirrorOptions {
        var options = MirrorOptions()
        options.policy = policy
        options.requirements = { _ throws(StoreError) in
            var requirements = Requirements()
            if let text, let url = WebURL(Self.url) {
                requirements.require(Bundle(reference: Self.url, digests: [Self.md5(text)]), at: url)
            }
            return requirements
        }
        return options
    }

    private func get(
        _ store: StockedStore, _ options: MirrorOptions, _ target: String = "/app.js", method: String = "GET",
        fields: [(String, String)] = [], times: Int = 1
    ) throws -> RawResponse {
        var options = options
        options.load = { [servers] in servers.load($0, $1) }
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let name = options.root == nil ? "example-test.localhost" : "localhost"
        var answer: RawResponse?
        for _ in 0..<times {
            answer = try client.get(target, method: method, host: "\(name):\(server.port)", fields: fields)
        }
        return try #require(answer)
    }

    /// Responses of an origin that are not the bundle.
    private static let otherResponses: [(status: Int, fields: HTTPFields)] = [
        (302, ["Location": "https://evil.test/x.js"]), (404, [:]), (410, [:]), (500, [:]),
        (206, ["Content-Range": "bytes 0-3/9"]),
    ]

    @Test(arguments: otherResponses, [CachePolicy.protocol, .auto, .preferCache, .revalidate, .reload])
    func `a redirect, error or partial response never replaces a bundle`(
        other: (status: Int, fields: HTTPFields), policy: CachePolicy
    ) throws {
        var fields = other.fields
        fields.set("Content-Type", "text/javascript")
        servers.respond("/app.js", other.status, fields, "evil")
        let lacking = try store(nil)
        for asked in [[], [("Range", "bytes=0-3")]] {
            let answer = try get(lacking, Self.options(policy), fields: asked)
            #expect(answer.status == 504 && !answer.text.contains("evil"), "\(answer.status)")
        }
        #expect(try StoreReader(lacking.folder).response(for: Self.url) == nil)
        // A stored response is kept, even if it does not match the digest.
        let differing = try store(Self.bad)
        _ = try get(differing, Self.options(policy))
        let stored = try #require(try StoreReader(differing.folder).response(for: Self.url))
        #expect(stored.status == 200 && stored.body != nil)
    }

    @Test(arguments: [
        CachePolicy.offline, .protocol, .auto, .preferCache, .revalidate, .refreshBehind, .reload,
        .reloadEndToEnd,
    ])
    func `a bundle that matches its manifest is sent unchanged, without a request to the origin`(
        policy: CachePolicy
    )
        throws
    {
        let store = try store(Self.good)
        let answer = try get(store, Self.options(policy), times: 2)
        #expect(answer.text == Self.good)
        #expect(answer["Larder-Bundle"] == "verified; by=md5; md5=\(Self.md5(Self.good).hex)")
        let sha256 = DigestStream.digest(.sha256, of: Array(Self.good.utf8).span)
        #expect(answer["ETag"] == "\"\(sha256.hex)\"")
        let digests = FieldDigest.parseStructured(answer["Repr-Digest"] ?? "")
        #expect(Set(digests.map(\.bytes)) == [sha256.bytes, Self.md5(Self.good).bytes])
        #expect(servers.requests.isEmpty)
        let again = try get(store, Self.options(policy), fields: [("If-None-Match", "\"\(sha256.hex)\"")])
        #expect(again.status == 304)
        // Without a manifest, URLs in the script are rewritten to the mirror.
        #expect(try get(store, Self.options(.offline, requiring: nil)).text.contains(".localhost:"))
    }

    /// A digest covers only the body, so that no header field can be trusted.
    @Test func `a bundle gets the media type of its file extension, and no header that could load something`()
        throws
    {
        let store = try StockedStore([
            .init(href: "https://example.test/", text: "start", type: "text/plain"),
            .init(
                href: Self.url, text: Self.good, type: "text/html",
                extra: "Refresh: 0;url=/x\r\nLink: </y>; rel=preload\r\nService-Worker-Allowed: /\r\n"
                    + "Content-Disposition: attachment\r\nX-Own: 1\r\n"),
        ])
        let answer = try get(store, Self.options(.offline))
        #expect(answer["Larder-Bundle"]?.hasPrefix("verified") == true)
        #expect(answer["Content-Type"] == "text/javascript" && answer["X-Own"] == "1")
        for name in ["Refresh", "Link", "Service-Worker-Allowed", "Content-Disposition"] {
            #expect(answer[name] == nil, "\(name)")
        }
    }

    @Test(arguments: [DigestAlgorithm.md5, .sha1, .sha256, .sha512], [false, true])
    func `the header of a bundle names the digest that verified it, and --strong requires SHA-256 or better`(
        algorithm: DigestAlgorithm, isStrong: Bool
    ) throws {
        let digest = DigestStream.digest(algorithm, of: Array(Self.good.utf8).span)
        var options = MirrorOptions()
        options.requirements = { _ throws(StoreError) in
            var requirements = Requirements()
            if let url = WebURL(Self.url) {
                requirements.require(Bundle(reference: Self.url, digests: [digest]), at: url)
            }
            return isStrong ? requirements.requiringStrongDigests : requirements
        }
        let answer = try get(try store(Self.good), options)
        let word = isStrong && !algorithm.isStrong ? "unverified" : "verified"
        #expect(
            answer["Larder-Bundle"] == "\(word); by=\(algorithm.rawValue); md5=\(Self.md5(Self.good).hex)")
        #expect(answer.status == 200)
    }

    @Test func `the header of a bundle names the key that signed its manifest`() throws {
        var options = MirrorOptions()
        options.requirements = { _ throws(StoreError) in
            var requirements = Requirements()
            var bundle = Bundle(
                reference: Self.url,
                digests: [DigestStream.digest(.sha256, of: Array(Self.good.utf8).span)])
            bundle.signer = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
            if let url = WebURL(Self.url) { requirements.require(bundle, at: url) }
            return requirements
        }
        let signer = "signer=RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
        #expect(
            try get(try store(Self.good), options)["Larder-Bundle"]
                == "verified; by=sha256; \(signer); md5=\(Self.md5(Self.good).hex)")
        // The key did not sign this body.
        #expect(
            try get(try store(Self.bad), options)["Larder-Bundle"]
                == "differs; md5=\(Self.md5(Self.bad).hex)")
    }

    @Test(arguments: [CachePolicy.offline, .protocol])
    func `a proxy sends no header with a bundle that its digest does not prove`(policy: CachePolicy) throws {
        let extra: HTTPFields = [
            "Refresh": "0;url=/x", "Link": "</y>; rel=preload", "Service-Worker-Allowed": "/",
            "Content-Disposition": "attachment", "X-Own": "1",
        ]
        // Under the policy offline the bundle comes from the store; under protocol it has just been loaded.
        let url = Self.url.replacing("https:", with: "http:")
        let pages: [StockedStore.Entry] = [
            .init(href: "http://example.test/", text: "start", type: "text/plain")
        ]
        let store = try StockedStore(
            policy == .offline
                ? pages + [.init(href: url, text: Self.good, type: "text/html", extra: extra.block)] : pages)
        var fields = extra
        fields.set("Content-Type", "text/html")
        servers.respond("/app.js", 200, fields, Self.good)
        var options = MirrorOptions()
        options.policy = policy
        options.requirements = { _ throws(StoreError) in
            var requirements = Requirements()
            if let key = WebURL(url) {
                requirements.require(Bundle(reference: url, digests: [Self.md5(Self.good)]), at: key)
            }
            return requirements
        }
        options.load = { [servers] in servers.load($0, $1) }
        let authority = try CertificateAuthority.openOrCreate(in: store.scratch.path)
        let proxy = ProxySettings(
            security: try TLSServer(authority), certificate: authority.certificate, log: ProxyLog())
        let server = try MirrorServer(
            store.folder, port: nil, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options, proxy: (0, proxy))
        defer { server.stop() }
        let client = try RawClient(port: Int(try #require(server.proxyPort)))
        for _ in 1...2 {
            let answer = try client.get(url, host: "example.test")
            #expect(answer.text == Self.good)
            #expect(answer["Content-Type"] == "text/javascript" && answer["X-Own"] == "1")
            for name in ["Refresh", "Link", "Service-Worker-Allowed", "Content-Disposition"] {
                #expect(answer[name] == nil, "\(name)")
            }
        }
    }

    @Test(arguments: [CachePolicy.protocol, .auto, .preferCache, .revalidate, .reload])
    func `the response to a POST never replaces a bundle`(policy: CachePolicy) throws {
        servers.respond(
            "/app.js", 200,
            [
                "Content-Type": "text/javascript", "Content-Location": "/app.js",
                "Cache-Control": "max-age=600",
            ], "evil")
        let store = try store(Self.good)
        let options = Self.options(policy)
        #expect(try get(store, options, method: "POST").text == "evil")
        #expect(try get(store, options).text == Self.good)
        #expect(try get(store, Self.options(.offline)).text == Self.good)
    }

    /// The filtered response and what follows its head, received byte by byte, in pieces of 7 bytes, and at once.
    private func heads(_ raw: String, to method: String = "POST", canUpgrade: Bool = false) -> [String] {
        [1, 7, 100_000].map { size in
            var filter = ResponseHeadFilter(to: method, canUpgrade: canUpgrade)
            var forwarded: [UInt8] = []
            var rest = Array(raw.utf8)[...]
            while !rest.isEmpty, filter.continuation == nil, !filter.isInvalid {
                let (heads, following) = filter.filter(Array(rest.prefix(size)))
                forwarded += heads + following
                rest = rest.dropFirst(size)
            }
            let result = filter.isInvalid ? "odd" : filter.continuation.map { "\($0)" } ?? "nothing"
            return String(decoding: forwarded + rest, as: UTF8.self) + "|" + result
        }
    }

    @Test
    func
        `a forwarded response head loses headers named Larder, and gets Connection close`()
    {
        let filtered = heads(
            "HTTP/1.1 100 Continue\r\nLarder: x\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nlArDer-Bundle: verified\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc"
        )
        let head =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        for one in filtered { #expect(one == head + "|body(Web.BodyFraming.length(3))") }
        let tunnel = "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nLarder: y"
        for one in heads(tunnel, to: "GET", canUpgrade: true) { #expect(one == tunnel + "|tunnel") }
        #expect(heads("HTTP/1.0 200\r\n\r\nx")[2] == "HTTP/1.0 200\r\nConnection: close\r\n\r\nx|untilEnd")
        #expect(heads("HTTP/1.1 200 OK\r\n\r\n", to: "HEAD")[2].hasSuffix("|body(Web.BodyFraming.none)"))
    }

    @Test(arguments: [
        "http/1.1 200 OK\r\n\r\n", "ab\r\nHTTP/1.1 200 OK\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\rLarder: x\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\rLarder: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n Larder: x\r\n\r\n", "HTTP/1.1 200 OK\r\n\0Larder: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nLarder : x\r\n\r\n", "HTTP/1.1 101 X\r\n\r\n", "HTTP/1.1\t100 X\r\n\r\n",
        "HTTP/1.1 0100 X\r\n\r\n", "HTTP/1.1 200 OK\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "SSH-2.0\r\n",
    ]) func `an ambiguous response head is not forwarded`(raw: String) {
        for one in heads(raw) { #expect(one.hasSuffix("|odd"), "\(one)") }
    }

    @Test(arguments: [Verification.never, .once, .always])
    func `a bundle that was damaged on the disk gets a 500, or is loaded again if the policy allows it`(
        verification: Verification
    ) throws {
        let text = String(repeating: "a", count: Limits.maxPackedBodyBytes + 1)
        let store = try store(text)
        let body = try #require(try StoreReader(store.folder).response(for: Self.url)?.body)
        guard case .file(let path) = try #require(try StoreReader(store.folder).content(of: body)) else {
            throw TestError("it is no file")
        }
        var options = Self.options(.offline, requiring: text)
        options.verification = verification
        #expect(try get(store, options)["Larder-Bundle"]?.hasPrefix("verified") == true)
        #expect(chmod(path, 0o600) == 0)
        let file = open(path, O_WRONLY)
        #expect(pwrite(file, "b", 1, 100) == 1)
        close(file)
        let answer = try get(store, options)
        #expect(answer.status == 500)
        #expect(answer["Larder-Bundle"] == nil)
        // If the policy allows it, the bundle is loaded from the origin, which repairs the store.
        servers.respond("/app.js", 200, ["Content-Type": "text/javascript"], text)
        options.policy = .protocol
        let loaded = try get(store, options)
        #expect(loaded.status == 200)
        #expect(loaded["Larder-Bundle"]?.hasPrefix("verified") == true)
        options.policy = .offline
        #expect(try get(store, options).text == text)
    }

    @Test func `headers named Larder in an origin's response are removed`() throws {
        let store = try StockedStore([
            .init(
                href: Self.url, text: Self.good, type: "text/javascript",
                extra: "Larder-Bundle: verified; md5=d4\r\nLARDER: miss\r\nLarder-Other: x\r\nLarderer: y\r\n"
            )
        ])
        let answer = try get(store, Self.options(.offline, requiring: nil))
        #expect(answer["Larder-Bundle"] == nil && answer["Larder-Other"] == nil)
        #expect(answer["Larder"] == "hit" && answer["Larderer"] == "y")
    }

    @Test(arguments: [CachePolicy.protocol, .auto, .preferCache, .revalidate, .refreshBehind, .reload])
    func `a response that does not match the manifest is neither served nor stored`(policy: CachePolicy)
        throws
    {
        servers.respond("/app.js", 200, ["Content-Type": "text/javascript"], Self.bad)
        let store = try store(Self.good)
        let stored = try get(store, Self.options(policy), fields: [("Cache-Control", "no-cache")])
        #expect(stored.text != Self.bad)
        let fresh = try self.store(nil)
        let answer = try get(fresh, Self.options(policy))
        #expect(answer.status == 504)
        #expect(answer.text.contains("the response does not match its manifest: expected MD5"))
        #expect(try StoreReader(fresh.folder).response(for: Self.url) == nil)
        #expect(try StoreReader(store.folder).sites().allSatisfy { $0.overlay == nil })
    }

    @Test(arguments: [CachePolicy.protocol, .auto, .preferCache, .revalidate, .refreshBehind])
    func `a newly required release is loaded, and until then the previous one is served`(
        policy: CachePolicy
    ) throws {
        let store = try store(Self.bad)
        let old = try get(store, Self.options(.offline))
        #expect(old["Larder-Bundle"] == "differs; md5=\(Self.md5(Self.bad).hex)")
        servers.respond("/app.js", 200, ["Content-Type": "text/javascript"], Self.good)
        let answer = try get(store, Self.options(policy))
        #expect(answer.text == Self.good)
        #expect(answer["Larder-Bundle"]?.hasPrefix("verified") == true)
        #expect(servers.requests.count == 1)
        // The loaded release is in the overlay; the snapshot is unchanged.
        let site = try #require(try StoreReader(store.folder).sites().first)
        let reader = try StoreReader(store.folder)
        let snapshot = try #require(site.published)
        let published = try #require(try reader.response(for: Self.url, ofSnapshot: snapshot)?.body)
        #expect(try reader.content(of: published)?.load() == Array(Self.bad.utf8))
        #expect(site.overlay != nil)
    }

    @Test func `a search page is not served for a URL whose digest it does not match`() throws {
        let page = "<script>run(location.search)</script>"
        let store = try StockedStore([.init(href: "https://example.test/search.html", text: page)])
        var options = Self.options(.offline)
        #expect(try get(store, options, "/search.html?q=x")["Larder"] == "hit; by=search")
        func require(_ text: String) {
            options.requirements = { _ throws(StoreError) in
                var requirements = Requirements()
                if let url = WebURL("https://example.test/search.html?q=x") {
                    requirements.require(Bundle(reference: url.href, digests: [Self.md5(text)]), at: url)
                }
                return requirements
            }
        }
        require("another")
        #expect(try get(store, options, "/search.html?q=x").status == 504)
        #expect(try get(store, options, "/search.html?q=y").status == 200)
        require(page)
        #expect(try get(store, options, "/search.html?q=x").status == 200)
    }

    @Test func `a verified style sheet is rewritten for pages, and sent unchanged to scripts`() throws {
        let css = "@import 'https://other.test/x.css';"
        let store = try StockedStore([.init(href: Self.url, text: css, type: "text/css")])
        let options = Self.options(.offline, requiring: css)
        #expect(try get(store, options).text == css)
        #expect(try get(store, options, fields: [("Sec-Fetch-Dest", "style")]).text.contains(".localhost:"))
        #expect(try get(store, options, fields: [("Sec-Fetch-Dest", "empty")]).text == css)
    }

    @Test func `while an origin hangs, the stored response is served, and the late one is stored`() throws {
        let store = try store(Self.good)
        var options = Self.options(.auto, requiring: nil)
        options.patience = .seconds(1)
        // A fixed clock, so that the time during which the silent origin is not requested again does not end.
        let start = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
        options.clock = { start }
        let waiting = Mutex<[@Sendable (LoadOutcome) -> Void]>([])
        options.load = { request, done in waiting.withLock { $0.append(done) } }
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
            options: options)
        let client = try RawClient(port: Int(server.port))
        let host = "example-test.localhost:\(server.port)"
        let clock = ContinuousClock()
        var answer: RawResponse?
        // The patience counts from the arrival of the request, which is later than the start of this measurement.
        let time = try clock.measure { answer = try client.get("/", host: host) }
        #expect(answer?.text == "start")
        #expect(answer?["Larder"] == "stale")
        #expect(time > .milliseconds(990))
        // Later clients do not wait for the origin. If they did, each of these requests would take at least as long as the
        // patience. On a busy machine, some requests may take longer for other reasons.
        var isQuick = false
        for _ in 0..<60 where !isQuick {
            isQuick = try clock.measure { _ = try client.get("/", host: host) } < .milliseconds(990)
        }
        #expect(isQuick)
        // The late response is stored.
        let now = HTTPDate(secondsSinceEpoch: 1_900_000_000)
        for done in waiting.withLock({ $0 }) {
            done(
                .response(
                    LoadedResponse(
                        status: 200, fields: ["Content-Type": "text/plain"],
                        body: .bytes(Array("newer".utf8)),
                        requestTime: now, responseTime: now)))
        }
        server.stop()
        let body = try #require(try StoreReader(store.folder).response(for: "https://example.test/")?.body)
        #expect(try StoreReader(store.folder).content(of: body)?.load() == Array("newer".utf8))
    }

    @Test func `an unsafe request gets a stored response only if a rule allows it`() throws {
        let store = try store(nil)
        var options = Self.options(.preferCache, requiring: nil)
        let fields: HTTPFields = ["Content-Type": "text/plain"]
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            servers.respond("/api", 200, fields, method)
            for _ in 1...2 { #expect(try get(store, options, "/api", method: method).text == method) }
        }
        #expect(servers.requests.count == 8)
        options.rules = [try CacheRules.Rule("/api post")]
        servers.respond("/api", 200, fields, "kept")
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            for _ in 1...2 { #expect(try get(store, options, "/api", method: method).text == "kept") }
        }
        #expect(
            servers.requests.map(\.method).suffix(5) == ["DELETE", "POST", "PUT", "PATCH", "DELETE"])
        // Where all origins share one name, a response to a request with a cookie is not served to other clients.
        options.root = WebURL("https://example.test/")
        options.address = ListenAddress("*") ?? .loopback
        options.rules = [try CacheRules.Rule("/own post")]
        servers.respond("/own", 200, fields, "own")
        for _ in 1...2 { _ = try get(store, options, "/own", method: "POST", fields: [("Cookie", "a=b")]) }
        #expect(servers.requests.suffix(2).map(\.method) == ["POST", "POST"])
    }

    @Test(
        arguments: [
            ("/v.js?v=1", "/v.js?v=2", [], true), ("/v.js?_=111", "/v.js?_=222", [], true),
            ("/v.js?a=1&v=1", "/v.js?a=1&v=2", [], true), ("/v.js?a=1&v=1", "/v.js?a=2&v=2", [], false),
            ("/v.js?rev=1", "/v.js?rev=2", [], false),
            ("/v.js?rev=1", "/v.js?rev=2", ["/v.js version=rev,build"], true),
            ("/v.js?q=1", "/v.js?q=2", ["/v.js no-query"], true),
            ("/v.js?q=1", "/v.js", ["/v.js no-query"], true),
            ("/v.js?v=1", "/w.js?v=1", [], false), ("/v.js?1234", "/v.js?5678", [], true),
        ] as [(String, String, [String], Bool)])
    func `a response of another version of the URL is served if the rules allow it`(
        stored: String, asked: String, rules: [String], isFound: Bool
    )
        throws
    {
        let store = try StockedStore([
            .init(href: "https://example.test" + stored, text: "stored", type: "text/javascript")
        ])
        var options = Self.options(.offline, requiring: nil)
        options.rules = try rules.map { try CacheRules.Rule($0) }
        let answer = try get(store, options, asked)
        #expect(answer.status == (isFound ? 200 : 504))
        if isFound { #expect(answer["Larder"]?.hasPrefix("hit; by=") == true) }
    }

    @Test func `another version is not served for a URL whose digest it does not match`() throws {
        let store = try StockedStore([
            .init(href: Self.url + "?v=1", text: Self.bad, type: "text/javascript")
        ])
        var options = Self.options(.offline, requiring: nil)
        options.requirements = { _ throws(StoreError) in
            var requirements = Requirements()
            if let url = WebURL(Self.url + "?v=2") {
                requirements.require(Bundle(reference: Self.url, digests: [Self.md5(Self.good)]), at: url)
            }
            return requirements
        }
        #expect(try get(store, options, "/app.js?v=2").status == 504)
        #expect(try get(store, options, "/app.js?v=3").status == 200)
    }

    @Test func `a response of the wrong type, or one that a rule refuses, is not stored`() throws {
        let store = try store(nil)
        servers.respond("/lib.js", 200, ["Content-Type": "text/html"], "<form>log in</form>")
        servers.respond("/big", 200, ["Content-Type": "text/plain"], String(repeating: "x", count: 3000))
        var options = Self.options(.preferCache, requiring: nil)
        options.rules = [try CacheRules.Rule("** refuse larger-than=2k")]
        for target in ["/lib.js", "/big"] {
            _ = try get(store, options, target)
            #expect(try StoreReader(store.folder).response(for: "https://example.test" + target) == nil)
        }
    }
}
