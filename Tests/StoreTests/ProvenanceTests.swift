import TestOrigin
import Testing
import Web

@testable import Store

/// The provenance of responses: readers prefer responses from origins to imported ones.
@Suite struct ProvenanceTests {
    private let store: StockedFolder

    private static let url = "http://cdn.test/lib.js"
    private static let tagged =
        "Content-Type: text/javascript\r\nETag: \"1\"\r\nLast-Modified: Mon, 16 Nov 2026 12:00:00 GMT\r\nCache-Control: max-age=600\r\n"

    init() throws { store = try StockedFolder() }

    /// Adds a snapshot with one response.
    @discardableResult
    private func add(
        _ text: String, _ flags: ResponseFlags = [], site: String, fetched: Int64 = 100,
        variant: String = "", ending: SnapshotEnding = .publish(now: 200)
    ) throws -> Int64 {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(
            site: site, start: [site], now: 150, importing: flags.contains(.isImported) ? ["/a.har"] : nil)
        var response = try store.response(Self.url, text, fields: Self.tagged, fetched: fetched)
        (response.flags, response.variant) = (flags, variant)
        try writer.add([response], to: snapshot)
        try writer.end(snapshot, ending)
        return snapshot.id
    }

    private func servedText() throws -> String? { try store.text(Self.url) }

    private static let ofNamedSite: ResponseFlags = [.isImported, .isOfNamedSite]

    struct Order: Sendable, CustomTestStringConvertible {
        /// The responses, in the order of their snapshots.
        let responses: [(site: String, flags: ResponseFlags)]
        /// The index of the response that readers see.
        let shown: Int
        var testDescription: String {
            responses.map { "\($0.site): \($0.flags.provenance.kind)" }.joined(separator: ", ")
        }
    }

    static let orders: [Order] = [
        Order(responses: [("a", []), ("b", .isImported)], shown: 0),
        Order(responses: [("a", .isImported), ("b", [])], shown: 1),
        Order(responses: [("a", .isImported), ("b", .isImported)], shown: 1),
        Order(responses: [("a", .isLoaded), ("b", .isImported)], shown: 0),
        Order(responses: [("a", .isRecorded), ("b", .isImported)], shown: 0),
        // An import into the same site, whose host is not that of the URL.
        Order(responses: [("a", []), ("a", .isImported)], shown: 0),
        // The user named the site of the import, and the URL is on the site's host.
        Order(responses: [("a", []), ("a", ofNamedSite)], shown: 1),
        Order(responses: [("a", []), ("a", ofNamedSite), ("a", [])], shown: 2),
        // Such an import replaces the earlier response of this site, but no later one of another site.
        Order(responses: [("a", []), ("b", []), ("a", ofNamedSite)], shown: 1),
        Order(responses: [("b", []), ("a", []), ("a", ofNamedSite)], shown: 2),
        Order(responses: [("b", []), ("a", ofNamedSite)], shown: 0),
        Order(responses: [("a", ofNamedSite), ("a", .isImported)], shown: 1),
    ]

    @Test(arguments: orders, [nil, HTTPFields()])
    func `readers see an imported response only where no origin has sent one`(
        order: Order, fields: HTTPFields?
    ) throws {
        for (place, response) in order.responses.enumerated() {
            try add("\(place)", response.flags, site: response.site, fetched: Int64(1000 + place))
        }
        let reader = try store.reader()
        let found = try #require(try reader.response(for: Self.url, fields: fields)?.body)
        #expect(try reader.content(of: found)?.load() == Array("\(order.shown)".utf8))
        // Lists, searches and exports choose the same response.
        let rows = try reader.versions(of: Self.url)
        #expect(rows.filter(\.isVisible).map(\.response.body?.id) == [found.id])
        #expect(
            try reader.slice(from: "http", before: "i", site: nil, urlCount: 9).entries.map(\.body?.id) == [
                found.id
            ])
        #expect(try reader.availability(of: [Self.url])[Self.url]?.body?.id == found.id)
        var listed: [[UInt8]?] = []
        try reader.eachListedResponse { row in
            listed.append(row.body?.sha256)
            return true
        }
        #expect(listed == [found.sha256])
        var exported: [Int64?] = []
        for site in try reader.sites() where site.name == order.responses[order.shown].site {
            try reader.eachVisibleResponse(ofSite: site.id, asOf: nil) { row in
                exported.append(row.response.body?.id)
                return true
            }
        }
        #expect(exported == [found.id])
        // A search examines bodies, and takes the first one that is visible in a site.
        let sites = Set(order.responses.filter { $0.flags.isDisjoint(with: .isImported) }.map(\.site))
        if sites.count == 1, order.responses.allSatisfy({ $0.flags != Self.ofNamedSite }) {
            let searched = try reader.findByBody(.format("html"), site: nil, bodyCount: 100, limit: 9)
            #expect(searched.entries.map(\.body?.id) == [found.id])
        }
    }

    @Test
    func
        `a response from an origin precedes an imported one, even if only the imported one matches the request`()
        throws
    {
        let vary = VaryKey(
            decoded: ["Vary": "Origin"], request: ["Origin": "http://a.test"], secrets: .none)?.text
        let other = VaryKey(
            decoded: ["Vary": "Origin"], request: ["Origin": "http://b.test"], secrets: .none)?.text
        try add("origin", site: "a", variant: try #require(other))
        try add("archive", .isImported, site: "b", variant: try #require(vary))
        let reader = try store.reader()
        let found = try reader.response(for: Self.url, fields: ["Origin": "http://a.test"])
        #expect(found?.isImported == false)
    }

    @Test func `a reader that asks for an imported snapshot gets what the snapshot has`() throws {
        let first = try add("fetched", site: "a")
        let second = try add("imported", .isImported, site: "a")
        let third = try add("elsewhere", site: "b")
        let reader = try store.reader()
        func text(_ snapshot: Int64) throws -> String? {
            try reader.asOf(snapshot) { () throws(StoreError) in
                guard let body = try reader.response(for: Self.url)?.body else { return nil }
                return String(decoding: try reader.content(of: body)?.load() ?? [], as: UTF8.self)
            }
        }
        #expect(try text(first) == "fetched")
        #expect(try text(second) == "imported")
        #expect(try text(third) == "elsewhere")
        var exported: [Bool] = []
        let site = try #require(try reader.sites().first { $0.name == "a" })
        try reader.eachVisibleResponse(ofSite: site.id, asOf: second) { row in
            exported.append(row.response.isImported)
            return true
        }
        #expect(exported == [true])
        #expect(try reader.archives(ofSnapshot: second) == ["/a.har"])
        #expect(try reader.archives(ofSnapshot: first) == nil)
    }

    @Test func `an import under the other scheme does not answer in place of a response from the origin`()
        throws
    {
        try add("origin", site: "a")
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "b", start: ["b"], now: 150, importing: ["/a.har"])
        var response = try store.response("https://cdn.test/lib.js", "imported")
        response.flags = .isImported
        try writer.add([response], to: snapshot)
        try writer.end(snapshot, .publish(now: 200))
        let reader = try store.reader()
        let asked = try #require(WebURL("https://cdn.test/lib.js"))
        #expect(try reader.lookUp(asked)?.response.isImported == false)
        let other = try reader.asOf(snapshot.id) { () throws(StoreError) in try reader.lookUp(asked)?.response
        }
        #expect(other?.isImported == true)
    }

    @Test func `an imported response is never fresh and has no validators`() throws {
        try add("imported", .isImported, site: "a")
        let stored = try #require(try store.reader().response(for: Self.url))
        let entry = stored.cacheEntry(profile: .private, rules: CacheRules())
        let now = HTTPDate(secondsSinceEpoch: stored.fetched + 1)
        #expect(entry.hit(at: now) == .stale)
        #expect(entry.validator.conditions.isEmpty)
        let request = CacheRequest(url: try #require(WebURL(Self.url)))
        for policy in [CachePolicy.protocol, .auto] {
            #expect(policy.action(for: request, entry: entry, now: now) == .load(adding: [:]))
        }
        guard case .load = CachePolicy.revalidate.action(for: request, entry: entry, now: now) else {
            Issue.record("an imported response was validated")
            return
        }
        #expect(
            CachePolicy.refreshBehind.action(for: request, entry: entry, now: now)
                == .serveAndRefresh(.stale, with: [:]))
    }

    @Test func `a snapshot that repeats an imported response has a row of its own`() throws {
        try add("same", .isImported, site: "a")
        let second = try add("same", site: "a")
        let found = try #require(try store.reader().response(for: Self.url))
        #expect(found.snapshot == second && !found.isImported)
    }

    @Test func `an import begins a snapshot of its own beside one that was interrupted`() throws {
        let open = try add("crawled", site: "a", ending: .keepOpen)
        let snapshot = try add("imported", .isImported, site: "a")
        #expect(snapshot != open)
        let next = try StoreWriter(store.folder).begin(site: "a", start: ["a"], now: 160)
        #expect(next.id != snapshot && !next.isContinued)
    }

    /// How a response is loaded, and the expected kind of its provenance: `site` is a site that the user named, and `stored`
    /// has the flags of the response that is replaced or confirmed.
    static let loads: [(site: String?, stored: ResponseFlags?, isConfirmed: Bool, kind: Provenance.Kind)] = [
        (nil, nil, false, .loaded), (nil, [], false, .loaded), ("named", nil, false, .recorded),
        (nil, .isImported, false, .loaded), (nil, .isImported, true, .imported), (nil, [], true, .loaded),
    ]

    @Test(arguments: loads)
    func `a response that a server loaded has that provenance`(
        load: (site: String?, stored: ResponseFlags?, isConfirmed: Bool, kind: Provenance.Kind)
    ) throws {
        if let flags = load.stored { try add("stored", flags, site: "http://cdn.test/") }
        if let name = load.site { try store.snapshot([try store.response("http://n.test/")], site: name) }
        let stored = try load.stored == nil ? nil : store.reader().response(for: Self.url)
        let writer = try StoreWriter(store.folder)
        var new = try store.response(Self.url, "new", fetched: 300)
        new.flags = [.isImported, .fromPrivateNetwork]
        if load.isConfirmed { new.body = .stored(try #require(stored?.body)) }
        try writer.putIntoOverlay(
            new, replacing: stored, origin: "http://cdn.test", host: "cdn.test", site: load.site, now: 300)
        try writer.commit()
        let found = try #require(try store.reader().response(for: Self.url))
        #expect(found.provenance.kind == load.kind)
        #expect(found.provenance.zone == .fromPrivateNetwork)
        #expect(found.fetched == 300)
    }

    @Test(.requiresFolderStore) func `a rebuilt database keeps provenance and the names of archives`() throws
    {
        try add("fetched", site: "a")
        let snapshot = try add("imported", .isImported, site: "b")
        try add("recorded", .isRecorded, site: "c")
        let before = try store.column(
            "SELECT site || provenance || coalesce(archive, '-') FROM larder_response ORDER BY 1")
        #expect(before == ["afetched-", "bimported/a.har", "crecorded-"])
        for suffix in ["", "-wal", "-shm"] { store.scratch.remove("store/larder.db" + suffix) }
        _ = try StoreRebuild.run(store.folder)
        #expect(
            try store.column(
                "SELECT site || provenance || coalesce(archive, '-') FROM larder_response ORDER BY 1")
                == before)
        #expect(try store.reader().archives(ofSnapshot: snapshot) == ["/a.har"])
        #expect(try servedText() == "recorded")
    }

    @Test(.requiresFolderStore) func `the imports of a store of version 7 are recognised, and nothing else`()
        throws
    {
        // Responses of an archive are older than their snapshot. A prefetch fetches responses after its snapshot has begun.
        try add("imported", site: "http://i.test/", fetched: 100)
        try add("fetched", site: "http://f.test/", fetched: 150)
        // A later snapshot of a prefetch that only reused responses.
        try store.execute("UPDATE site SET settings = 'x' WHERE name = 'http://f.test/'")
        try add("reused", site: "http://f.test/", fetched: 149)
        try store.execute("\(EarlierStore.ofVersion7) PRAGMA user_version = 7")
        _ = try store.reader()
        #expect(
            try store.column("SELECT site || ' ' || provenance FROM larder_response ORDER BY snapshot") == [
                "http://i.test/ imported", "http://f.test/ fetched", "http://f.test/ fetched",
            ])
        // The migration also updates the journal.
        for suffix in ["", "-wal", "-shm"] { store.scratch.remove("store/larder.db" + suffix) }
        _ = try StoreRebuild.run(store.folder)
        #expect(
            try store.column("SELECT count(*) FROM larder_response WHERE provenance = 'imported'") == ["1"])
    }

    @Test(arguments: [
        ("http://a.test/x", true), ("https://a.test/x", true), ("https://a.test:8443/x", true),
        ("http://a.test.evil.test/x", false), ("http://b.a.test/x", false), ("http://a.testing/", false),
    ])
    func `a site has pages on a host, whatever the scheme and the port`(href: String, isOnHost: Bool) throws {
        try store.snapshot([try store.response(href)], site: "own")
        let reader = try store.reader()
        #expect(try reader.site(withPagesOn: "a.test", besides: "other") == (isOnHost ? "own" : nil))
        #expect(try reader.site(withPagesOn: "a.test", besides: "own") == nil)
    }

    @Test func `the flags of provenance determine one kind`() {
        #expect(Provenance([]).kind == .fetched)
        #expect(Provenance(.isLoaded).kind == .loaded)
        #expect(Provenance(.isRecorded).kind == .recorded)
        let imported = Provenance([.isImported, .isLoaded, .isPrivate, .fromThisMachine])
        #expect(imported.kind == .imported && imported.usedCredentials)
        #expect(imported.zone == .fromThisMachine)
    }
}
