import Bundles
import Codings
import Digest
import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror

/// A mirror offers scripts and bundles as compression dictionaries, and sends later versions as differences (RFC 9842).
@Suite struct DictionaryServingTests {
    private static let url = "https://example.test/app.js"
    /// The header fields with which Chromium requests the script of a page.
    private static let ofPage = [
        ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script"),
        ("Accept-Encoding", "gzip, deflate, br, zstd, dcb, dcz"),
    ]
    /// The same without `Accept-Encoding`.
    private static let withoutCodings: [(String, String)] = Array(ofPage.dropLast())
    private static let ofProgram = [("Accept-Encoding", "dcz, gzip")]

    /// A script of some kilobytes, in which one line differs by version.
    private static func script(_ version: Int, linking: Bool = false) -> String {
        var lines = (0..<400).map { "function f\($0)() { return \($0 &* 2_654_435_761 % 1_000_003) }" }
        lines[200] = "const version = \(version)"
        if linking { lines[0] = "import('https://cdn.test/part.js')" }
        return lines.joined(separator: "\n")
    }

    private static func entry(
        _ text: String, _ href: String = url, type: String = "text/javascript", extra: String = "",
        flags: ResponseFlags = []
    ) -> StockedStore.Entry {
        .init(href: href, text: text, type: type, extra: extra, flags: flags)
    }

    private static let start = StockedStore.Entry(href: "https://example.test/", text: "start")

    /// A server of a store. Checks the store before each request.
    private final class Serving {
        let store: StockedStore
        private let server: MirrorServer
        private let client: RawClient
        private var host: String { "example-test.localhost:\(server.port)" }

        init(_ entries: [StockedStore.Entry], requiring bundle: String? = nil, compresses: Bool = false)
            throws
        {
            store = try StockedStore([DictionaryServingTests.start] + entries, compresses: compresses)
            var options = MirrorOptions()
            options.requirements = { _ throws(StoreError) in
                var requirements = Requirements()
                if let bundle, let url = WebURL(DictionaryServingTests.url) {
                    let digest = DigestStream.digest(.sha256, of: bundle.utf8.span)
                    requirements.require(Bundle(reference: url.href, digests: [digest]), at: url)
                }
                return requirements
            }
            server = try MirrorServer(
                store.folder, port: 0, threadCount: 1, memoryLimit: 10_000_000, secondsBetweenChecks: 0,
                options: options)
            client = try RawClient(port: Int(server.port))
        }

        deinit { server.stop() }

        func get(
            _ target: String = "/app.js", _ fields: [(String, String)] = DictionaryServingTests.ofPage,
            method: String = "GET",
            host: String? = nil
        ) throws -> RawResponse {
            try client.get(target, method: method, host: host ?? self.host, fields: fields)
        }
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        DigestStream.digest(.sha256, of: bytes.span).bytes
    }

    private static func fields(of offer: DictionaryOffer) -> [(String, String)] {
        offer.fields.list.map { ($0.name, $0.value) }
    }

    /// The fields that offer a received body, with the id that the server gave it.
    private static func offer(_ response: RawResponse, hasID: Bool = true) throws -> [(String, String)] {
        let rule = try #require(StructuredDictionary(response["Use-As-Dictionary"] ?? ""))
        guard case .item(.string(let id))? = rule["id"] else { return [] }
        let offer = DictionaryOffer(sha256: sha256(response.body), id: hasID ? id : "")
        return fields(of: offer)
    }

    static func decode(_ response: RawResponse, from old: [UInt8]? = nil) throws -> String {
        let dictionary = try old.map { try #require(CompressionDictionary($0, sha256: sha256($0))) }
        let coding = response["Content-Encoding"] ?? "identity"
        let decoder = try #require(try BodyDecoder(["Content-Encoding": coding], dictionary: dictionary))
        var output: [UInt8] = []
        try response.body.withUnsafeBytes { body in
            try decoder.decode(body) { (bytes) throws(CodingError) in
                output.append(contentsOf: bytes)
            } wrapping: {
                $0
            }
        }
        #expect(decoder.truncation == nil)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `a script of a page is offered as dictionary, and still validated at each use`() throws {
        let serving = try Serving([Self.entry(Self.script(1))])
        let digest = Hex.encode(Self.sha256(Array(Self.script(1).utf8)))
        for _ in 0..<2 {
            let response = try serving.get()
            #expect(response["Use-As-Dictionary"] == "match=\"/app.js\", id=\"\(digest)\"")
            #expect(response["Cache-Control"]?.hasPrefix("max-age=0, stale-while-revalidate=") == true)
            #expect(response.all("Cache-Control").count == 1)
            // Chromium serves the script once without validation unless `Vary` is exactly this.
            #expect(response.all("Vary") == ["*"])
            #expect(response["Content-Encoding"] == nil)
            #expect(response.text == Self.script(1))
        }
        // A 304 replaces the fields that a browser has stored, so it needs the same ones.
        let tag = try #require(try serving.get()["ETag"])
        let confirmed = try serving.get("/app.js", Self.ofPage + [("If-None-Match", tag)])
        #expect(confirmed.status == 304)
        #expect(confirmed.all("Vary") == ["*"])
        #expect(confirmed["Use-As-Dictionary"] != nil)
    }

    @Test
    func `a program that accepts zstd or dcz gets the offer without the star, which only browsers need`()
        throws
    {
        let serving = try Serving([Self.entry(Self.script(1))])
        for fields in [Self.ofProgram, [("Accept-Encoding", "deflate, gzip, br, zstd")]] {
            let response = try serving.get("/app.js", fields)
            #expect(response["Use-As-Dictionary"] != nil)
            #expect(response["Cache-Control"]?.hasPrefix("max-age=0") == true)
            #expect(response.all("Vary").last == "Accept-Encoding, Available-Dictionary")
            #expect(!response.all("Vary").contains("*"))
        }
        let plain = try serving.get("/app.js", [])
        #expect(plain["Use-As-Dictionary"] == nil)
        #expect(plain["Cache-Control"] == "no-cache")
    }

    @Test(arguments: [false, true], [false, true])
    func `a client with an earlier version gets the difference`(hasID: Bool, linking: Bool) throws {
        let serving = try Serving([Self.entry(Self.script(1, linking: linking))])
        let first = try serving.get()
        try serving.store.publish([Self.start, Self.entry(Self.script(2, linking: linking))])
        let whole = try serving.get()
        // A link to another origin is rewritten, so that clients have another body than the store.
        #expect((first.text == Self.script(1, linking: linking)) == !linking)
        let offer = try Self.offer(first, hasID: hasID)
        for fields in [Self.ofPage, Self.ofProgram] {
            let delta = try serving.get("/app.js", fields + offer)
            #expect(delta.status == 200)
            #expect(delta["Content-Encoding"] == "dcz")
            #expect(delta["Content-Length"] == "\(delta.body.count)")
            #expect(delta["ETag"] == whole["ETag"].map { "W/" + $0 })
            #expect(delta["Accept-Ranges"] == nil)
            #expect(delta["Use-As-Dictionary"] != nil)
            #expect(delta.body.count < whole.body.count / 20)
            #expect(try Self.decode(delta, from: first.body) == whole.text)
        }
        let head = try serving.get("/app.js", Self.ofPage + offer, method: "HEAD")
        #expect(head["Content-Encoding"] == nil)
    }

    @Test func `a body that is stored compressed is compared with its frame`() throws {
        let serving = try Serving([Self.entry(Self.script(1))], compresses: true)
        let offer = try Self.offer(
            try serving.get("/app.js", Self.withoutCodings + [("Accept-Encoding", "br")]))
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let delta = try serving.get("/app.js", Self.ofPage + offer)
        #expect(delta["Content-Encoding"] == "dcz")
        #expect(try serving.get()["Content-Encoding"] == "zstd")
    }

    @Test func `a verified bundle is sent as a difference, with the digest of the decoded body`() throws {
        let (old, new) = (Self.script(1, linking: true), Self.script(2, linking: true))
        let serving = try Serving([Self.entry(old)], requiring: new)
        try serving.store.publish([Self.start, Self.entry(new)])
        let whole = try serving.get()
        #expect(whole.text == new)
        #expect(whole["Larder-Bundle"]?.hasPrefix("verified") == true)
        // The app has the old bundle, byte for byte.
        let offer = DictionaryOffer(sha256: Self.sha256(Array(old.utf8)), id: "")
        let delta = try serving.get("/app.js", Self.ofProgram + Self.fields(of: offer))
        #expect(delta["Content-Encoding"] == "dcz")
        #expect(delta["Larder-Bundle"] == whole["Larder-Bundle"])
        #expect(delta["Repr-Digest"] == nil)
        #expect(delta["Unencoded-Digest"] == whole["Repr-Digest"])
        #expect(try Self.decode(delta, from: Array(old.utf8)) == new)
    }

    @Test func `a version under another hashed name is a dictionary for the next one`() throws {
        let serving = try Serving([Self.entry(Self.script(1), "https://example.test/js/app.3f9c01ab.js")])
        let first = try serving.get("/js/app.3f9c01ab.js")
        #expect(first["Use-As-Dictionary"]?.contains("match=\"/js/app.*.js\"") == true)
        try serving.store.publish([
            Self.start, Self.entry(Self.script(2), "https://example.test/js/app.77d0e1f2.js"),
        ])
        let delta = try serving.get("/js/app.77d0e1f2.js", Self.ofPage + (try Self.offer(first)))
        #expect(delta["Content-Encoding"] == "dcz")
        #expect(try Self.decode(delta, from: first.body) == Self.script(2))
    }

    @Test func `a client without a known dictionary, or whose headers were stripped, gets the whole body`()
        throws
    {
        let serving = try Serving([Self.entry(Self.script(1))])
        let first = try serving.get()
        let offer = try Self.offer(first)
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let unknown = Self.fields(of: DictionaryOffer(sha256: [UInt8](repeating: 1, count: 32), id: "x"))
        let requests: [[(String, String)]] = [
            Self.ofPage, Self.ofPage + unknown,
            // A proxy removed a field, or changed it.
            Self.withoutCodings + [("Accept-Encoding", "gzip")] + offer, Self.withoutCodings + offer,
            Self.ofPage + [("Available-Dictionary", ":AAAA:")], Self.ofPage + [("Available-Dictionary", "x")],
            Self.ofPage + offer + offer,
        ]
        for fields in requests {
            for _ in 0..<2 {
                let response = try serving.get("/app.js", fields)
                #expect(response.text == Self.script(2), "\(fields)")
                #expect(response["Content-Encoding"] == nil)
            }
        }
        let part = try serving.get("/app.js", Self.ofPage + offer + [("Range", "bytes=0-9")])
        #expect(part.status == 206 && part.body.count == 10)
    }

    @Test(arguments: [
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script")],
        [("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script")],
        [
            ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "script"),
            ("Origin", "http://other-test.localhost"),
        ],
    ])
    func `a page that cannot read the script gets neither offer nor difference`(page: [(String, String)])
        throws
    {
        let serving = try Serving([Self.entry(Self.script(1))])
        let offer = try Self.offer(try serving.get())
        let fields = page + [("Accept-Encoding", "dcz"), ("Referer", "http://other-test.localhost/")] + offer
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let response = try serving.get("/app.js", fields)
        #expect(response["Content-Encoding"] == nil)
        #expect(response["Use-As-Dictionary"] == nil)
    }

    @Test func `fetch in a page gets the difference, and no offer that would break the Cache API`() throws {
        let serving = try Serving([Self.entry(Self.script(1))])
        let offer = try Self.offer(try serving.get())
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let fetch = [
            ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"),
            ("Accept-Encoding", "dcz"),
        ]
        let response = try serving.get("/app.js", fetch + offer)
        #expect(response["Content-Encoding"] == "dcz")
        #expect(response["Use-As-Dictionary"] == nil)
        #expect(response["Cache-Control"] == "no-cache")
        #expect(!response.all("Vary").contains("*"))
        #expect(response.all("Vary").contains("Accept-Encoding, Available-Dictionary"))
    }

    @Test func `a host name that is neither https nor of this machine gets nothing`() throws {
        let serving = try Serving([Self.entry(Self.script(1))])
        let response = try serving.get("/app.js", Self.ofPage, host: "192.168.0.9:8080")
        #expect(response["Use-As-Dictionary"] == nil)
    }

    @Test(arguments: [
        entry(script(1), extra: "Cache-Control: no-transform\r\n"),
        entry(script(1), extra: "Cache-Control: no-store\r\n"),
        entry(script(1), flags: .isPrivate), entry("short"), entry(script(1), type: "text/plain"),
        entry("<p>" + script(1), type: "text/html"), entry(script(1), type: "image/png"),
    ])
    func `private, short and other responses are no dictionaries, nor those that must not be changed`(
        entry: StockedStore.Entry
    ) throws {
        let serving = try Serving([entry])
        #expect(try serving.get()["Use-As-Dictionary"] == nil)
        #expect(try serving.get("/app.js", Self.ofProgram)["Use-As-Dictionary"] == nil)
    }

    @Test func `an origin's own rule is not sent by a mirror`() throws {
        let serving = try Serving([
            Self.entry("short", extra: "Use-As-Dictionary: match=\"/*\", id=\"origin\"\r\n"),
            Self.entry(
                Self.script(1), "https://example.test/b.js", extra: "Use-As-Dictionary: match=\"/*\"\r\n"),
        ])
        #expect(try serving.get()["Use-As-Dictionary"] == nil)
        #expect(try serving.get("/b.js").all("Use-As-Dictionary").count == 1)
    }

    @Test func `a private response never is the dictionary for another one`() throws {
        let old = Self.entry(Self.script(1), flags: .isPrivate)
        let serving = try Serving([old])
        let body = Array(Self.script(1).utf8)
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let offer = DictionaryOffer(sha256: Self.sha256(body), id: Hex.encode(Self.sha256(body)))
        let response = try serving.get("/app.js", Self.ofPage + Self.fields(of: offer))
        #expect(response["Content-Encoding"] == nil)
    }

    @Test func `a private response stays private, and is no dictionary for one that shared caches may store`()
        throws
    {
        let isPrivate = "Cache-Control: max-age=60, private\r\n"
        let serving = try Serving([Self.entry(Self.script(1), extra: isPrivate)])
        let first = try serving.get()
        #expect(first["Cache-Control"]?.hasPrefix("private, max-age=0, stale-while-revalidate=") == true)
        #expect(try serving.get("/app.js", [])["Cache-Control"] == "private, no-cache")
        let offer = try Self.offer(first)
        try serving.store.publish([Self.start, Self.entry(Self.script(2), extra: isPrivate)])
        let delta = try serving.get("/app.js", Self.ofPage + offer)
        #expect(delta["Content-Encoding"] == "dcz")
        #expect(delta["Cache-Control"]?.hasPrefix("private, ") == true)
        // The same body, which its server now permits to share.
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let whole = try serving.get("/app.js", Self.ofPage + offer)
        #expect(whole["Content-Encoding"] == nil)
        #expect(whole["Cache-Control"]?.contains("private") == false)
    }

    @Test func `a version that must not be stored is no dictionary`() throws {
        let serving = try Serving([Self.entry(Self.script(1), extra: "Cache-Control: no-store\r\n")])
        let offer = DictionaryOffer(sha256: Self.sha256(Array(Self.script(1).utf8)), id: "")
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let whole = try serving.get("/app.js", Self.ofPage + Self.fields(of: offer))
        #expect(whole["Content-Encoding"] == nil)
    }

    @Test func `a response of another origin or another site never is the dictionary`() throws {
        let body = Array(Self.script(1).utf8)
        let offer = DictionaryOffer(sha256: Self.sha256(body), id: Hex.encode(Self.sha256(body)))
        let fields = Self.ofPage + Self.fields(of: offer)
        let serving = try Serving([
            Self.entry(Self.script(2)), Self.entry(Self.script(1), "https://cdn.test/app.js"),
        ])
        #expect(try serving.get("/app.js", fields)["Content-Encoding"] == nil)
        try serving.store.publish([Self.entry(Self.script(1))], site: "https://other.test/")
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        #expect(try serving.get("/app.js", fields)["Content-Encoding"] == nil)
    }

    @Test func `a difference is made once, and not used when the snapshot of its dictionary is removed`()
        throws
    {
        let serving = try Serving([Self.entry(Self.script(1))])
        let offer = try Self.offer(try serving.get())
        try serving.store.publish([Self.start, Self.entry(Self.script(2))])
        let first = try serving.get("/app.js", Self.ofPage + offer)
        #expect(first["Content-Encoding"] == "dcz")
        // A change of the store that keeps the snapshot.
        try serving.store.addUnpublished([Self.entry("x", "https://example.test/x")])
        #expect(try serving.get("/app.js", Self.ofPage + offer).body == first.body)
        let site = try #require(try StoreReader(serving.store.folder).sites().first)
        let snapshot = try #require(site.snapshots.map(\.id).min())
        try StoreWriter(serving.store.folder).drop(snapshot: snapshot, of: site)
        let whole = try serving.get("/app.js", Self.ofPage + offer)
        #expect(whole["Content-Encoding"] == nil)
        #expect(whole.text == Self.script(2))
    }
}

/// The cache of deltas, without a server.
@Suite struct DeltaCacheTests {
    private static func key(_ number: Int) -> DeltaCache.Key {
        .init(
            dictionarySHA256: [UInt8(number & 0xFF), UInt8(number >> 8)], href: "a", storedSHA256: [],
            rendering: "")
    }

    private static func find(_ cache: DeltaCache, _ number: Int, generation: Int = 1, isStored: Bool = true)
        -> String
    {
        switch cache.find(key(number), generation: generation, isStored: { (_) throws(Never) in isStored }) {
        case .known(let delta): delta.map { "\($0.count)" } ?? "whole"
        case .pending: "pending"
        case .missing: "missing"
        }
    }

    @Test func `one caller makes a delta, and others do not wait`() {
        let cache = DeltaCache()
        #expect(Self.find(cache, 1) == "missing")
        #expect(Self.find(cache, 1) == "pending")
        cache.finish(Self.key(1), delta: [1, 2, 3], source: [7], generation: 1)
        #expect(Self.find(cache, 1) == "3")
        #expect(Self.find(cache, 2) == "missing")
        cache.abandon(Self.key(2))
        #expect(Self.find(cache, 2) == "missing")
        cache.finish(Self.key(2), delta: nil, source: nil, generation: 1)
        #expect(Self.find(cache, 2) == "whole")
    }

    @Test
    func
        `after a change of the store, a delta is used if its source is stored, and other results are forgotten`()
    {
        let cache = DeltaCache()
        for number in 1...3 { #expect(Self.find(cache, number) == "missing") }
        cache.finish(Self.key(1), delta: [1], source: [7], generation: 1)
        cache.finish(Self.key(2), delta: [1], source: [7], generation: 1)
        cache.finish(Self.key(3), delta: nil, source: nil, generation: 1)
        #expect(Self.find(cache, 1, generation: 2) == "1")
        #expect(Self.find(cache, 1, generation: 2, isStored: false) == "1", "checked once for a generation")
        #expect(Self.find(cache, 2, generation: 2, isStored: false) == "missing")
        #expect(Self.find(cache, 3, generation: 2) == "missing")
    }

    @Test func `the least recently used entries are removed beyond the limit`() {
        let cache = DeltaCache(maxBytes: 100_000)
        for number in 0..<100 {
            _ = Self.find(cache, number)
            cache.finish(
                Self.key(number), delta: [UInt8](repeating: 0, count: 1000), source: [7], generation: 1)
            _ = Self.find(cache, 0)
        }
        #expect(cache.byteCount <= 100_000)
        #expect(Self.find(cache, 0) == "1000")
        #expect(Self.find(cache, 1) == "missing")
        cache.finish(Self.key(200), delta: [UInt8](repeating: 0, count: 30_000), source: [7], generation: 1)
        #expect(Self.find(cache, 200) == "missing", "too large to be kept")
    }
}
