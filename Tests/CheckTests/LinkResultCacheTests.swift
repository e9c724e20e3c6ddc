import Fetch
import Reports
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Check

@Suite struct LinkResultCacheTests {
    private let home: TemporaryFolder
    private let store: StoreFolder
    private let href = "https://a.test/#x"

    init() throws {
        home = try TemporaryFolder()
        store = StoreFolder(try TestStore.place(home.file("larder")))
    }

    private func options(_ change: (inout NetworkOptions) -> Void) -> LinkCheckOptions {
        var (options, network) = (LinkCheckOptions(), NetworkOptions())
        change(&network)
        options.network = network
        return options
    }

    private func identity(_ zone: NetworkZone = .thisMachine, _ change: (inout NetworkOptions) -> Void)
        -> String?
    {
        LinkResultCache.requestIdentity(options(change), zone)
    }

    private func cache(
        file: String? = nil, now: Int64 = 1_000_000, for identity: String? = ""
    ) throws -> LinkResultCache {
        try LinkResultCache(
            store, file: file.map(home.file), maxAge: .seconds(3600), now: now, for: identity)
    }

    private func results(_ cache: LinkResultCache) throws -> [String: ExternalLinks.Result] {
        cache.results(of: [try #require(WebURL(href))])
    }

    private let dead = ExternalLinks.Result(verdict: .dead, detail: "the server answered 404")

    @Test func `options that may change answers have identities of their own`() {
        #expect(identity { _ in } == "")
        #expect(identity { $0.timeout = .seconds(1) } == "")
        let others = [
            identity { $0.resolve = ["a.test:443:127.0.0.1"] }, identity { $0.isInsecure = true },
            identity { $0.userAgent = "x" }, identity { $0.proxy = "http://localhost:1" },
            identity { $0.authorities = "a.pem" }, identity { $0.family = .ipv4 },
            identity { $0.family = .ipv6 },
            identity { $0.mayReachPrivate = true }, identity(.publicNetwork) { _ in },
            identity(.privateNetwork) { _ in },
        ]
        #expect(Set(others).count == others.count)
        #expect(!others.contains("") && !others.contains(nil))
    }

    @Test func `requests with secrets have no cached results`() throws {
        #expect(identity { $0.headers = ["a.test Authorization: x"] } == nil)
        #expect(identity { $0.cookies = ["cookies.txt"] } == nil)
        #expect(identity { $0.netrc = "netrc" } == nil)
        #expect(identity { $0.certificate = "c.pem" } == nil)
        _ = try StoreWriter(store)
        try cache(for: nil).store([href: dead])
        #expect(try results(cache(for: nil)) == [:])
        #expect(try results(cache()) == [:])
    }

    @Test(arguments: [nil, "cache.json"] as [String?])
    func `results are used by checks with the same identity`(file: String?) throws {
        if file == nil { _ = try StoreWriter(store) }
        try cache(file: file).store([href: dead])
        try cache(file: file, for: "insecure").store([href: .init(verdict: .verified, detail: "")])
        #expect(try results(cache(file: file)) == [href: dead])
        #expect(
            try results(cache(file: file, for: "insecure")) == [href: .init(verdict: .verified, detail: "")])
        #expect(try results(cache(file: file, for: "other")) == [:])
        #expect(try results(cache(file: file, now: 1_003_601)) == [:])
        #expect(try results(cache(file: file, now: 999_999)) == [:])
    }

    @Test func `a file keeps earlier results, but not those of a month ago`() throws {
        try cache(file: "c.json").store([href: dead])
        try cache(file: "c.json", now: 1_000_060).store(["https://b.test/": dead])
        #expect(try results(cache(file: "c.json", now: 1_000_060)) == [href: dead])
        try cache(file: "c.json", now: 1_000_000 + 31 * 86400).store(["https://c.test/": dead])
        let bytes = try WholeFile.read(home.file("c.json"), atMost: 1 << 20)
        let value = try JSONValue.parse(bytes.span)
        #expect(value["linkResults"]?.array?.compactMap { $0["url"]?.string } == ["https://c.test/"])
        #expect(!store.exists)
    }

    @Test func `results that may pass are not stored`() throws {
        try cache(file: "c.json").store([href: .init(verdict: .blocked, detail: "x")])
        #expect(home.names() == [])
    }

    @Test(arguments: ["", "x", "[]", "{}", "{\"linkResults\": 1}", "{\"links\": []}"])
    func `another file is not a cache`(text: String) throws {
        try home.write(text, to: "c.json")
        let error = #expect(throws: LarderError.self) { try cache(file: "c.json") }
        #expect(error?.kind == .input)
        #expect(error?.description.contains("is not a cache of links") == true)
    }

    @Test func `damaged entries of a file are left out`() throws {
        try home.write(
            """
            {"linkResults": [{"url": 1}, 5, {"url": "\(href)", "at": "x", "verdict": "dead"},
              {"url": "\(href)", "at": 1000000, "verdict": "unheard-of"}]}
            """, to: "c.json")
        #expect(try results(cache(file: "c.json")) == [:])
    }

    @Test func `a file that cannot be written is an error`() throws {
        let error = #expect(throws: LarderError.self) { try cache(file: "none/c.json") }
        #expect(error?.kind == .input)
    }
}
