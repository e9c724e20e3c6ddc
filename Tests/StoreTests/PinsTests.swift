import Testing

@testable import Store

/// The content that pins protect when all other content is evicted.
@Suite struct PinTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    /// Returns the remaining content of a store after a collection with the limit 0.
    private func left(pinning pins: Pin...) throws -> [String] {
        let writer = try StoreWriter(store.folder)
        for pin in pins { try writer.add(pin, now: 1) }
        _ = try writer.collect(CollectionOptions(limit: 0, allowsIncomplete: true))
        #expect(try store.inspect().isSound)
        return try store.column("SELECT DISTINCT url FROM larder_response ORDER BY 1")
    }

    private func redirect(_ href: String, to location: String, status: Int = 301) throws -> NewResponse {
        try store.response(href, nil, status: status, fields: "Location: \(location)\r\n")
    }

    @Test func `pins are listed in order, stored once, and removed by kind and value`() throws {
        let writer = try StoreWriter(store.folder)
        let pins = [
            Pin(.pattern, "/a*"), Pin(.site, "http://a.test/"), Pin(.url, "http://a.test/"),
            Pin(.url, "http://b.test/"),
        ]
        for pin in (pins + pins).reversed() { try writer.add(pin, now: 1) }
        #expect(try store.reader().pins() == pins)
        #expect(try writer.remove(pins[2]))
        #expect(try !writer.remove(pins[2]))
        #expect(try !writer.remove(Pin(.url, "/a*")))
        #expect(try store.reader().pins() == [pins[0], pins[1], pins[3]])
    }

    @Test
    func `a pinned page is kept with its assets and their assets, but without the pages that it links to`()
        throws
    {
        var numbering: [String] = []
        try store.snapshot(
            ["/page", "/style", "/font", "/image", "/next", "/script"].map { (path: String) in
                try store.response("http://a.test" + path, path)
            },
            links: [
                NewLinks(
                    from: "http://a.test/page", pages: ["http://a.test/next"],
                    assets: ["http://a.test/style", "http://a.test/missing"],
                    guesses: ["http://a.test/script"],
                    numbering: &numbering),
                NewLinks(
                    from: "http://a.test/style", assets: ["http://a.test/font", "http://a.test/page"],
                    numbering: &numbering),
                NewLinks(
                    from: "http://a.test/next", assets: ["http://a.test/image"], numbering: &numbering),
            ])
        #expect(
            try left(pinning: Pin(.url, "http://a.test/page")) == [
                "http://a.test/font", "http://a.test/page", "http://a.test/style",
            ])
    }

    @Test func `a pin follows redirects of the page and of its assets`() throws {
        var numbering: [String] = []
        try store.snapshot(
            [
                redirect("http://a.test/", to: "/home#top"),
                redirect("http://a.test/home", to: "http://b.test/en/"),
                store.response("http://b.test/en/", "page"),
                redirect("http://b.test/logo", to: "//c.test/logo.png"),
                store.response("http://c.test/logo.png", "logo"),
                store.response("http://b.test/de/", "other"),
                redirect("http://d.test/", to: "http://d.test/"), redirect("http://e.test/", to: "http://[/"),
            ],
            links: [
                NewLinks(from: "http://b.test/en/", assets: ["http://b.test/logo"], numbering: &numbering)
            ])
        #expect(
            try left(pinning: Pin(.url, "http://a.test/"), Pin(.url, "http://d.test/")) == [
                "http://a.test/", "http://a.test/home", "http://b.test/en/", "http://b.test/logo",
                "http://c.test/logo.png", "http://d.test/",
            ])
    }

    @Test(arguments: [
        (Pin(.pattern, "http://a.test/docs/**"), ["http://a.test/docs/1", "http://a.test/docs/2/3"]),
        (Pin(.pattern, "/docs/*"), ["http://a.test/docs/1", "http://b.test/docs/1"]),
        (Pin(.pattern, "http://c.test/**"), []),
        (Pin(.site, "one"), ["http://a.test/", "http://a.test/docs/1", "http://a.test/docs/2/3"]),
        (Pin(.site, "On"), []), (Pin(.url, "http://a.test/docs"), []),
        (Pin(.url, "HTTP://A.test:80/docs/1#part"), ["http://a.test/docs/1"]),
    ])
    func `a pin protects its content from eviction`(pin: Pin, expected: [String]) throws {
        try store.snapshot(
            ["", "docs/1", "docs/2/3"].map { (path: String) in
                try store.response("http://a.test/" + path, path)
            },
            site: "one")
        try store.snapshot([store.response("http://b.test/docs/1", "b")], site: "two")
        #expect(try left(pinning: pin) == expected)
    }

    @Test func `all snapshots of a pinned site stay, and a shared body stays only for it`() throws {
        let shared = [UInt8](repeating: 3, count: 100_000)
        for edition in 1...3 {
            try store.snapshot(
                [store.response("/kept", "\(edition)"), store.response("/large", bytes: shared)], site: "one")
            try store.snapshot([store.response("/large-too", bytes: shared)], site: "two")
        }
        #expect(try left(pinning: Pin(.site, "one")) == ["/kept", "/large"])
        #expect(try store.site("one")?.snapshots.count == 3)
        #expect(try store.site("two")?.snapshots.count == 1)
        #expect(
            try store.reader().response(for: "/large")?.body.flatMap(store.reader().content)?.load() == shared
        )
        #expect(try store.reader().covers(of: [[Pin(.site, "one")]]).map(\.urlCount) == [2])
        #expect(try store.reader().covers(of: [[], []]) == [PinCover(), PinCover()])
        #expect(try store.reader().storedURLCount() == 2)
    }

    @Test func `a page that is not stored can be pinned`() throws {
        try store.snapshot([store.response("/a", "a")])
        #expect(try left(pinning: Pin(.url, "/b"), Pin(.pattern, "[")) == [])
    }
}
