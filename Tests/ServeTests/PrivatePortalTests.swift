import Mirror
import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer

/// The portal of a server that other machines reach, and responses that were fetched with credentials.
@Suite struct PrivatePortalTests {
    private let store: StockedStore

    init() throws {
        store = try StockedStore([
            .init(
                href: "https://example.test/", text: "<title>Home</title><a href=/open>open</a>",
                title: "Home"),
            .init(
                href: "https://example.test/open", text: "<title>Open page</title>", title: "Open page",
                referrer: "https://example.test/secret/plan"),
            .init(
                href: "https://example.test/secret/plan",
                text: "<title>Secret plan</title><a href=/secret/step>step</a>", title: "Secret plan",
                flags: .isPrivate),
        ])
    }

    private func texts(_ targets: [String], showsPrivate: Bool, listens: Bool) throws -> String {
        var options = MirrorOptions()
        if listens { options.address = ListenAddress("*") ?? .loopback }
        options.showsPrivate = showsPrivate
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        return try targets.map { target in
            let answer = try client.get(target, host: "localhost:\(server.port)")
            return "\(target): \(answer.status) \(answer.text)\n"
        }.joined()
    }

    private static let targets = [
        "/", "/-/sites/1", "/-/sites/1/pages", "/-/sites/1/pages?under=https://example.test/secret/",
        "/-/sites/1/titles", "/-/sites/1/missing", "/-/page?url=https://example.test/secret/plan",
        "/-/page?url=https://example.test/open", "/-/page?url=https://example.test/secret/step",
    ]

    @Test func `other machines find no title, path or link of a private response in the portal`() throws {
        let targets = Self.targets + Self.targets.map { $0 + ($0.contains("?") ? "&" : "?") + "format=json" }
        let text = try texts(targets, showsPrivate: false, listens: true)
        #expect(text.contains("Open page"))
        #expect(!text.contains("Secret plan"))
        // Only pages whose own URL contains "secret" may contain that word.
        let lists = Self.targets.filter { !$0.contains("secret") }
        #expect(try !texts(lists, showsPrivate: false, listens: true).contains("secret"))
    }

    @Test func `other machines find no count of private responses, and no size of the store`() throws {
        let paths = [
            "/?format=json", "/-/sites/1?format=json", "/-/room?format=json", "/-/room", "/-/metrics",
        ]
        let own = try texts(paths, showsPrivate: false, listens: false)
        let open = try texts(paths, showsPrivate: false, listens: true)
        #expect(own.contains("\"responses\": 3") && !own.contains("\"responses\": 2"), "\(own)")
        #expect(open.contains("\"responses\": 2") && !open.contains("\"responses\": 3"), "\(open)")
        #expect(own.contains("The store uses") != open.contains("The store uses"))
        #expect(own.contains("noted_misses") && !open.contains("noted_misses"))
    }

    @Test func `other machines see no recorded miss of a private page or URL`() throws {
        let site = "https://example.test/"
        try ActivityDatabase(store.folder).recordMisses([
            Miss(href: site + "shown.css", referrer: site + "open", isPage: false, first: 1, last: 1),
            Miss(
                href: site + "hidden-1.css", referrer: site + "secret/plan", isPage: false, first: 1, last: 1),
            Miss(href: site + "hidden-2.css", isPage: false, first: 1, last: 1),
            Miss(href: site + "secret/plan", referrer: site + "open", isPage: true, first: 1, last: 1),
            Miss(href: site + "hidden-3.css", referrer: site + "gone", isPage: false, first: 1, last: 1),
        ])
        let paths = ["/-/sites/1/missing", "/-/sites/1/missing?format=json"]
        let open = try texts(paths, showsPrivate: false, listens: true)
        #expect(
            open.contains("shown.css") && !open.contains("hidden-") && !open.contains("secret"), "\(open)")
        #expect(try texts(paths, showsPrivate: false, listens: false).contains("hidden-1.css"))
    }

    @Test(arguments: [(true, true), (false, false)])
    func `the user of this machine, and other machines if the user says so, find private responses`(
        showsPrivate: Bool, listens: Bool
    ) throws {
        let text = try texts(["/-/sites/1/titles"], showsPrivate: showsPrivate, listens: listens)
        #expect(text.contains("Secret plan"))
    }

    @Test func `a reader that hides private responses has no trace of them`() throws {
        let all = try StoreReader(failingFast: store.folder)
        let open = try StoreReader(failingFast: store.folder, hidesPrivate: true)
        for (href, isOpen) in [
            ("https://example.test/open", true), ("https://example.test/secret/plan", false),
        ] {
            #expect(try all.response(for: href) != nil)
            #expect(try (open.response(for: href) != nil) == isOpen)
            #expect(try open.versions(of: href).isEmpty == !isOpen)
            #expect(try open.hidesResponse(for: href) == !isOpen && !all.hidesResponse(for: href))
            #expect(try open.canReveal(href) == isOpen && all.canReveal(href))
        }
        let page = "https://example.test/open"
        #expect(try all.versions(of: page).map(\.referrer) == ["https://example.test/secret/plan"])
        #expect(try open.versions(of: page).map(\.referrer) == [nil])
        let site = try #require(try open.sites().first)
        #expect(site.snapshots.map(\.responseCount) == [2])
        #expect(try all.sites().first?.snapshots.map(\.responseCount) == [3])
        #expect(try open.summary().responses == 2 && all.summary().responses == 3)
        #expect(try open.hasAnythingFromOrigin(site: site.id) && open.importedSites().isEmpty)
    }

    /// Otherwise an archive would be served as a site whose own responses are all private.
    @Test func `a site whose only responses from its origin are private does not count as imported`() throws {
        let store = try StockedStore([
            .init(href: "https://example.test/", text: "mine", flags: .isPrivate),
            .init(href: "https://example.test/b", text: "b", flags: .isImported),
        ])
        for hidesPrivate in [false, true] {
            let reader = try StoreReader(store.folder, hidesPrivate: hidesPrivate)
            #expect(try reader.importedSites().isEmpty)
            #expect(try reader.hasAnythingFromOrigin(site: try #require(try reader.sites().first).id))
        }
    }
}
