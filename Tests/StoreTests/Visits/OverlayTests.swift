import Store
import TestOrigin
import Testing

/// What servers load lies on top of what was published, which stays as it is.
@Suite struct OverlayTests {
    private let store: StockedFolder
    private let writer: StoreWriter
    private static let site = "http://a.test/"
    private static let (page, other) = ("http://a.test/page", "http://a.test/other")

    init() throws {
        store = try StockedFolder()
        writer = try StoreWriter(store.folder)
    }

    private func response(_ href: String, _ text: String, fetched: Int64 = 1) throws -> NewResponse {
        NewResponse(
            href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: fetched,
            body: .new(try NewBody(.bytes(Array(text.utf8)), form: "html;utf-8", links: [], in: store.folder)))
    }

    @discardableResult
    private func visit(_ pages: [String: String], _ ending: VisitEnding = .publish(now: 2)) throws -> Int64 {
        let visit = try writer.begin(site: Self.site, start: [Self.site], now: 1)
        try writer.add(try pages.map { try response($0, $1) }, to: visit)
        try writer.end(visit, ending)
        return visit.id
    }

    private func load(_ href: String, _ text: String) throws {
        let held = try store.reader().response(for: href)
        try writer.add(
            loaded: response(href, text, fetched: 9), over: held, origin: "http://a.test", host: "a.test", now: 9)
    }

    private func site() throws -> Site { try #require(try store.site(Self.site)) }

    @Test func `what is loaded shows over what was published, and a roll-back leaves it`() throws {
        let first = try visit([Self.page: "one"])
        try load(Self.page, "loaded")
        try load(Self.page, "loaded again")
        try load(Self.other, "new")
        #expect(try store.text(Self.page) == "loaded again")
        #expect(try store.text(Self.other) == "new")
        let site = try site()
        #expect(site.published == first)
        #expect(site.visits.map(\.base) == [nil, first])
        #expect(try store.reader().response(for: Self.page, ofVisit: first)?.fetched == 1)
        #expect(try store.reader().pageCount(of: site) == 1)
        let overlay = try #require(site.overlay)
        let difference = try store.reader().difference(from: first, to: overlay)
        #expect(difference.changed == [Self.page] && difference.added == [Self.other])

        try writer.publish(visit: first, of: site)
        #expect(try store.text(Self.page) == "one")
        #expect(try store.text(Self.other) == nil)
        // What is loaded then lies over that.
        try load(Self.other, "newer")
        #expect(try self.site().overlay != overlay)
        #expect(try store.text(Self.page) == "one")
        #expect(try store.text(Self.other) == "newer")
        #expect(try store.inspect().isSound)
    }

    @Test func `the next visit takes it in, and goes before it`() throws {
        try visit([Self.page: "one"])
        try load(Self.page, "loaded")
        try load(Self.other, "new")
        let next = try visit([Self.page: "two"])
        #expect(try store.text(Self.page) == "two")
        #expect(try store.text(Self.other) == "new")
        #expect(try site().overlay == nil)
        #expect(try site().published == next)
    }

    @Test func `what is loaded while a visit is under way is taken in by it`() throws {
        try visit([Self.page: "one"])
        let visit = try writer.begin(site: Self.site, start: [Self.site], now: 3)
        try load(Self.page, "loaded")
        try load(Self.other, "new")
        try writer.add([response(Self.page, "two")], to: visit)
        #expect(try store.text(Self.page) == "loaded")
        try writer.end(visit, .publish(now: 4))
        #expect(try store.text(Self.page) == "two")
        #expect(try store.text(Self.other) == "new")
        #expect(try site().visits.map(\.base) == [nil, nil])
        #expect(try store.inspect().isSound)
    }

    @Test func `nothing of a visit that was held back shows through it`() throws {
        let first = try visit([Self.page: "one"])
        let held = try visit([Self.page: "bad", Self.other: "bad"], .holdBack(now: 2))
        try load(Self.page + "2", "loaded")
        #expect(try store.text(Self.page) == "one")
        #expect(try store.text(Self.other) == nil)
        #expect(try store.text(Self.page + "2") == "loaded")
        try writer.drop(visit: held, of: try site())
        #expect(try store.text(Self.other) == nil)
        #expect(try site().published == first)
        #expect(
            try store.column("SELECT url FROM larder_response WHERE shown ORDER BY 1") == [Self.page, Self.page + "2"])
    }

    @Test func `a visit that is gone on with is not kept from it by an overlay`() throws {
        try visit([Self.page: "one"])
        let open = try visit([Self.other: "two"], .keepOpen)
        try load(Self.page, "loaded")
        let again = try writer.begin(site: Self.site, start: [Self.site], now: 3)
        #expect(again.id == open && again.isContinued)
        try writer.end(again, .publish(now: 4))
        #expect(try store.text(Self.page) == "loaded")
        #expect(try store.text(Self.other) == "two")
    }

    @Test func `dropping it shows what was published`() throws {
        try visit([Self.page: "one"])
        try load(Self.page, "loaded")
        try writer.drop(visit: try #require(try site().overlay), of: site())
        #expect(try store.text(Self.page) == "one")
        #expect(try site().overlay == nil)
    }

    @Test func `a collection with a limit does not begin with it`() throws {
        try visit([Self.page: "one"])
        try visit([Self.page: "two"])
        try load(Self.page, "loaded")
        let before = store.folder.byteCount
        _ = try writer.collect(limit: before - 1)
        #expect(try site().overlay != nil)
        #expect(try store.text(Self.page) == "loaded")
    }
}
