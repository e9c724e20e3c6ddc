import Serve
import Store
import TestOrigin
import Testing
import Web

/// The portal of a server that other machines reach, and responses that were fetched with credentials.
@Suite struct PrivatePortalTests {
    private let store: StockedStore

    init() throws {
        store = try StockedStore([
            .init(
                href: "https://example.test/", text: "<title>Home</title><a href=/open>open</a>",
                title: "Home"),
            .init(href: "https://example.test/open", text: "<title>Open page</title>", title: "Open page"),
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
        // A page repeats the address that the request names, and nothing else of the private responses.
        let lists = Self.targets.filter { !$0.contains("secret") }
        #expect(try !texts(lists, showsPrivate: false, listens: true).contains("secret"))
    }

    @Test(arguments: [(true, true), (false, false)])
    func `the user of this machine, and other machines if the user says so, find private responses`(
        showsPrivate: Bool, listens: Bool
    ) throws {
        let text = try texts(["/-/sites/1/titles"], showsPrivate: showsPrivate, listens: listens)
        #expect(text.contains("Secret plan"))
    }

    @Test func `a reader that hides private responses has no trace of them`() throws {
        let all = try StoreReader(impatiently: store.folder)
        let open = try StoreReader(impatiently: store.folder, hidesPrivate: true)
        for (href, isOpen) in [
            ("https://example.test/open", true), ("https://example.test/secret/plan", false),
        ] {
            #expect(try all.response(for: href) != nil)
            #expect(try (open.response(for: href) != nil) == isOpen)
            #expect(try open.rows(of: href).isEmpty == !isOpen)
        }
    }
}
