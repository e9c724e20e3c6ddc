import Store
import TestOrigin
import Testing

@Suite struct SnapshotTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder
    private let writer: StoreWriter

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestStore.place(scratch.path))
        writer = try StoreWriter(folder)
    }

    /// Publishes a snapshot with these pages, abandoned as URL and text. A page with the text nil is a 404.
    @discardableResult
    private func snapshot(
        _ pages: [String: String?], site: String = "s", form: String = "html;utf-8"
    ) throws -> Int64 {
        let snapshot = try writer.begin(site: site, start: [site], now: 1)
        let responses = try pages.map { href, text in
            NewResponse(
                href: href, referrer: nil, status: text == nil ? 404 : 200, role: 0, fields: "", fetched: 1,
                body: try text.map {
                    .new(try NewBody(.bytes(Array($0.utf8)), form: form, links: [], in: folder))
                }
                    ?? .none)
        }
        try writer.add(responses, to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        return snapshot.id
    }

    private func text(_ href: String) throws -> String? {
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: href)?.body else { return nil }
        return try reader.content(of: body).map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    private func site(_ name: String = "s") throws -> Site {
        try #require(try StoreReader(folder).sites().first { $0.name == name })
    }

    @Test func `the pages of a snapshot are listed up to the limit`() throws {
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        func response(_ href: String, status: Int = 200, role: UInt8 = 0, variant: String = "") -> NewResponse
        {
            var response = NewResponse(
                href: href, referrer: nil, status: status, role: role, fields: "", fetched: 1, body: .none)
            response.variant = variant
            return response
        }
        try writer.add(
            [
                response("/a"), response("/a", variant: "accept: x"), response("/b"),
                response("/gone", status: 404),
                response("/style", role: 1),
            ], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let reader = try StoreReader(folder)
        #expect(try reader.pages(ofSnapshot: snapshot.id, atMost: .max).sorted() == ["/a", "/b"])
        #expect(try reader.pages(ofSnapshot: snapshot.id, atMost: 1).count == 1)
    }

    @Test func `the difference of two snapshots is computed from what readers see`() throws {
        let first = try snapshot([
            "/same": "a", "/changed": "b", "/gone": "c", "/old": "d", "/unreached": "e",
        ])
        let second = try snapshot([
            "/same": "a", "/changed": "B", "/gone": nil, "/old": nil, "/new": "d", "/more": "f",
        ])
        let difference = try StoreReader(folder).difference(from: first, to: second)
        #expect(difference.added == ["/more"])
        #expect(difference.changed == ["/changed"])
        #expect(difference.gone == ["/gone"])
        #expect(difference.moved == [SnapshotDifference.Move(from: "/old", to: "/new")])
        let back = try StoreReader(folder).difference(from: second, to: first)
        #expect(back.added == ["/gone"])
        #expect(back.gone == ["/more"])
        #expect(back.moved == [SnapshotDifference.Move(from: "/new", to: "/old")])
        #expect(try StoreReader(folder).difference(from: first, to: first).isEmpty)
        // The second run did not fetch `/unreached`, which its readers still see.
        #expect(try StoreReader(folder).unfetchedPageCount(from: first, to: second) == 1)
        #expect(try StoreReader(folder).unfetchedPageCount(from: second, to: first) == 0)
    }

    @Test
    func `a redirect with a new target counts as changed, and a page that redirects to its new URL as moved`()
        throws
    {
        let begin = "http://a.test/"
        func response(_ path: String, _ text: String?, to location: String? = nil) throws -> NewResponse {
            NewResponse(
                href: begin + path, referrer: nil, status: location == nil ? 200 : 302, role: 0,
                fields: location.map { "Date: \(Int.random(in: 1...9))\r\nLocation: \($0)\r\n" } ?? "",
                fetched: 1,
                body: try text.map {
                    .new(try NewBody(.bytes(Array($0.utf8)), form: "opaque", links: [], in: folder))
                } ?? .none)
        }
        func snapshot(_ responses: [NewResponse]) throws -> Int64 {
            let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
            try writer.add(responses, to: snapshot)
            try writer.end(snapshot, .publish(now: 2))
            return snapshot.id
        }
        let first = try snapshot([
            response("led", nil, to: "/x"), response("same", nil, to: "/x"), response("page", "p"),
        ])
        let second = try snapshot([
            response("led", nil, to: "/y"), response("same", nil, to: "/x"),
            response("page", nil, to: "/new"),
            response("new", "p"),
        ])
        let difference = try StoreReader(folder).difference(from: first, to: second)
        #expect(difference.changed == [begin + "led"])
        #expect(difference.moved == [SnapshotDifference.Move(from: begin + "page", to: begin + "new")])
        #expect(difference.added == [] && difference.gone == [])
    }

    @Test func `equal bytes are unchanged, whatever their form`() throws {
        let first = try snapshot(["/same": "a", "/old": "d", "/b": "b"], form: "opaque")
        let second = try snapshot(["/same": "a", "/old": nil, "/new": "d", "/b": "c"], form: "opaque;UTF-8")
        let difference = try StoreReader(folder).difference(from: first, to: second)
        #expect(difference.changed == ["/b"] && difference.added == [])
        #expect(difference.moved == [SnapshotDifference.Move(from: "/old", to: "/new")])
    }

    @Test func `a rollback shows the older snapshot, and the next snapshot is newer again`() throws {
        let first = try snapshot(["/": "one"])
        try snapshot(["/": "two", "/new": "x"])
        try writer.publish(snapshot: first, of: site())
        #expect(try text("/") == "one")
        #expect(try text("/new") == nil)
        try snapshot(["/": "three"])
        #expect(try text("/") == "three")
        #expect(try text("/new") == "x")
    }

    @Test
    func `dropping a snapshot does not change later ones, and the live one cannot be dropped`()
        throws
    {
        let first = try snapshot(["/": "one", "/old": "old"])
        let second = try snapshot(["/": "two", "/b": "two"])
        let third = try snapshot(["/b": "three"])
        #expect(throws: StoreError.self) { try writer.drop(snapshot: third, of: site()) }
        #expect(throws: StoreError.self) { try writer.drop(snapshot: 99, of: site()) }
        try writer.drop(snapshot: first, of: site())
        #expect(try text("/old") == "old")
        try writer.drop(snapshot: second, of: site())
        #expect(try text("/") == "two")
        #expect(try text("/b") == "three")
        #expect(try text("/old") == "old")
        #expect(try site().snapshots.map(\.id) == [third])
    }

    @Test func `the last snapshot takes the number of the one before it only if it is asked for`() throws {
        let first = try snapshot(["/": "one"])
        let second = try snapshot(["/": "two"])
        let third = try snapshot(["/": "three"])
        try writer.drop(snapshot: first, of: site(), canBeUndone: false, passesOnNumber: true)
        #expect(try site().snapshots.map(\.number) == [2, 3], "two snapshots follow")
        try writer.drop(snapshot: second, of: site(), canBeUndone: false, passesOnNumber: true)
        #expect(try site().snapshots.map(\.number) == [2])
        #expect(try site().snapshots.map(\.id) == [third])
        try snapshot(["/": "four"])
        #expect(try site().snapshots.map(\.number) == [2, 3], "the number is free for the next one")
        try writer.drop(snapshot: third, of: site())
        #expect(try site().snapshots.map(\.number) == [3])
    }

    @Test func `a snapshot of another site, or one that is not complete, cannot be published`() throws {
        try snapshot(["/": "one"])
        let other = try snapshot(["/": "two"], site: "other")
        let error = #expect(throws: StoreError.self) { try writer.publish(snapshot: other, of: site()) }
        #expect(error?.description.contains("larder snapshots") == true)
        let open = try writer.begin(site: "s", start: ["s"], now: 5)
        try writer.end(open, .keepOpen)
        #expect(throws: StoreError.self) { try writer.publish(snapshot: open.id, of: site()) }
    }

    @Test func `a site cannot be changed while it is prefetched`() throws {
        let first = try snapshot(["/": "one"])
        try snapshot(["/": "two"])
        let busy = try StoreWriter(folder)
        let open = try busy.begin(site: "s", start: ["s"], now: 5)
        let error = #expect(throws: StoreError.self) { try writer.publish(snapshot: first, of: site()) }
        #expect(error?.reason == .busy)
        try busy.end(open, .forget)
        try writer.publish(snapshot: first, of: site())
        #expect(try text("/") == "one")
    }

    @Test func `a snapshot older than a finished one is not continued, whatever the clock says`() throws {
        let abandoned = try writer.begin(site: "s", start: ["s"], now: 100_000)
        try writer.end(abandoned, .keepOpen)
        let later = try writer.begin(site: "s", start: ["s"], now: 200_000)
        try writer.end(later, .publish(now: 200_001))
        let again = try writer.begin(site: "s", start: ["s"], now: 100_001)
        #expect(!again.isContinued)
        #expect(again.id > later.id)
    }

    @Test func `the responses of an abandoned snapshot precede older ones`() throws {
        let first = try snapshot(["/": "one", "/old": "old"])
        let abandoned = try writer.begin(site: "s", start: ["s"], now: 100_000)
        let body = try NewBody(.bytes(Array("two".utf8)), form: "html;utf-8", links: [], in: folder)
        try writer.add(
            [
                NewResponse(
                    href: "/", referrer: nil, status: 200, role: 0, fields: "", fetched: 100_000,
                    body: .new(body))
            ], to: abandoned)
        try writer.end(abandoned, .keepOpen)
        let later = try writer.begin(site: "s", start: ["s"], now: 200_000)
        try writer.end(later, .publish(now: 200_001))
        #expect(try text("/") == "two")
        try writer.drop(snapshot: first, of: site())
        #expect(try text("/") == "two")
        #expect(try text("/old") == "old")
        try writer.drop(snapshot: abandoned.id, of: site())
        #expect(try text("/") == "two")
        #expect(try text("/old") == "old")
    }

    @Test func `changes by a caller with outdated data of a site are checked against the current data`()
        throws
    {
        let first = try snapshot(["/": "one"])
        let second = try snapshot(["/": "two"])
        let before = try site()
        try writer.publish(snapshot: first, of: before)
        let error = #expect(throws: StoreError.self) { try writer.drop(snapshot: first, of: before) }
        #expect(error?.detail == "snapshot \(first) is live")
        try writer.drop(snapshot: second, of: before)
        let missing = #expect(throws: StoreError.self) { try writer.publish(snapshot: second, of: before) }
        #expect(missing?.detail == "it has no complete snapshot \(second)")
        #expect(try text("/") == "one")
    }

    @Test func `a site whose snapshot is open in this process cannot be changed`() throws {
        let first = try snapshot(["/": "one"])
        let open = try writer.begin(site: "s", start: ["s"], now: 5)
        #expect(throws: StoreError.self) { try writer.begin(site: "s", start: ["s"], now: 5) }
        #expect(throws: StoreError.self) { try writer.publish(snapshot: first, of: site()) }
        // The failed calls did not release the lock of the site.
        let other = try StoreWriter(folder)
        #expect(throws: StoreError.self) { try other.begin(site: "s", start: ["s"], now: 5) }
        try writer.end(open, .forget)
        try writer.publish(snapshot: first, of: site())
    }
}

/// An overlay is visible above the published snapshot, which stays unchanged.
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
            body: .new(try NewBody(.bytes(Array(text.utf8)), form: "html;utf-8", links: [], in: store.folder))
        )
    }

    @discardableResult
    private func snapshot(_ pages: [String: String], _ ending: SnapshotEnding = .publish(now: 2)) throws
        -> Int64
    {
        let snapshot = try writer.begin(site: Self.site, start: [Self.site], now: 1)
        try writer.add(try pages.map { try response($0, $1) }, to: snapshot)
        try writer.end(snapshot, ending)
        return snapshot.id
    }

    private func load(_ href: String, _ text: String) throws {
        let stored = try store.reader().response(for: href)
        try writer.addToOverlay(
            response(href, text, fetched: 9), replacing: stored, origin: "http://a.test", host: "a.test",
            now: 9)
    }

    private func site() throws -> Site { try #require(try store.site(Self.site)) }

    @Test func `an overlay is visible above the published snapshot, and survives a roll-back`() throws {
        let first = try snapshot([Self.page: "one"])
        try load(Self.page, "loaded")
        try load(Self.page, "loaded again")
        try load(Self.other, "new")
        #expect(try store.text(Self.page) == "loaded again")
        #expect(try store.text(Self.other) == "new")
        let site = try site()
        #expect(site.published == first)
        #expect(site.snapshots.map(\.base) == [nil, first])
        #expect(try store.reader().response(for: Self.page, ofSnapshot: first)?.fetched == 1)
        #expect(try store.reader().pageCount(of: site) == 1)
        let overlay = try #require(site.overlay)
        let difference = try store.reader().difference(from: first, to: overlay)
        #expect(difference.changed == [Self.page] && difference.added == [Self.other])

        try writer.publish(snapshot: first, of: site)
        #expect(try store.text(Self.page) == "one")
        #expect(try store.text(Self.other) == nil)
        // Responses that are loaded afterwards form an overlay over the older snapshot.
        try load(Self.other, "newer")
        #expect(try self.site().overlay != overlay)
        #expect(try store.text(Self.page) == "one")
        #expect(try store.text(Self.other) == "newer")
        #expect(try store.inspect().isSound)
    }

    @Test func `the next snapshot includes the overlay, and precedes it`() throws {
        try snapshot([Self.page: "one"])
        try load(Self.page, "loaded")
        try load(Self.other, "new")
        let next = try snapshot([Self.page: "two"])
        #expect(try store.text(Self.page) == "two")
        #expect(try store.text(Self.other) == "new")
        #expect(try site().overlay == nil)
        #expect(try site().published == next)
    }

    @Test func `responses loaded during a snapshot are included in it`() throws {
        try snapshot([Self.page: "one"])
        let snapshot = try writer.begin(site: Self.site, start: [Self.site], now: 3)
        try load(Self.page, "loaded")
        try load(Self.other, "new")
        try writer.add([response(Self.page, "two")], to: snapshot)
        #expect(try store.text(Self.page) == "loaded")
        try writer.end(snapshot, .publish(now: 4))
        #expect(try store.text(Self.page) == "two")
        #expect(try store.text(Self.other) == "new")
        #expect(try site().snapshots.map(\.base) == [nil, nil])
        #expect(try store.inspect().isSound)
    }

    @Test func `an overlay reveals nothing of a rejected snapshot`() throws {
        let first = try snapshot([Self.page: "one"])
        let rejected = try snapshot([Self.page: "bad", Self.other: "bad"], .reject(now: 2))
        try load(Self.page + "2", "loaded")
        #expect(try store.text(Self.page) == "one")
        #expect(try store.text(Self.other) == nil)
        #expect(try store.text(Self.page + "2") == "loaded")
        try writer.drop(snapshot: rejected, of: try site())
        #expect(try store.text(Self.other) == nil)
        #expect(try site().published == first)
        #expect(
            try store.column("SELECT url FROM larder_response WHERE shown ORDER BY 1") == [
                Self.page, Self.page + "2",
            ])
    }

    @Test func `a rejected snapshot stays hidden after the next one is live`() throws {
        let first = try snapshot([Self.page: "one", Self.other: "one"])
        let rejected = try snapshot(
            [Self.page: "bad", Self.other: "bad", Self.page + "2": "bad"], .reject(now: 2))
        let live = try snapshot([Self.page: "two"])
        #expect(try store.text(Self.page) == "two")
        #expect(try store.text(Self.other) == "one")
        #expect(try store.text(Self.page + "2") == nil)
        let difference = try store.reader().difference(from: first, to: live)
        #expect(difference.changed == [Self.page] && difference.added == [] && difference.gone == [])
        #expect(try store.reader().difference(from: first, to: rejected).added == [Self.page + "2"])
        #expect(
            try store.column("SELECT url FROM larder_response WHERE shown ORDER BY 1")
                == [
                    Self.page, Self.other,
                ].sorted())
        try writer.drop(snapshot: rejected, of: try site())
        try writer.drop(snapshot: first, of: try site())
        #expect(try store.text(Self.other) == "one")
        #expect(try store.text(Self.page + "2") == nil)
        #expect(try store.inspect().isSound)
    }

    @Test func `a response that the next snapshot receives again stays when the rejected one is dropped`()
        throws
    {
        try snapshot([Self.page: "one"])
        let rejected = try snapshot([Self.page: "two", Self.other: "two"], .reject(now: 2))
        try snapshot([Self.page: "two"])
        #expect(try store.text(Self.page) == "two")
        #expect(try store.text(Self.other) == nil)
        try writer.drop(snapshot: rejected, of: try site())
        #expect(try store.text(Self.page) == "two")
        #expect(try store.text(Self.other) == nil)
        #expect(try store.inspect().isSound)
    }

    @Test func `a rejected snapshot that the user makes live counts from then on`() throws {
        try snapshot([Self.page: "one"])
        let rejected = try snapshot([Self.page: "two", Self.other: "two"], .reject(now: 2))
        try writer.publish(snapshot: rejected, of: try site())
        #expect(try store.text(Self.other) == "two")
        try snapshot([Self.page: "three"])
        #expect(try store.text(Self.page) == "three")
        #expect(try store.text(Self.other) == "two")
        #expect(try site().snapshots.allSatisfy { !$0.isRejected })
    }

    @Test func `an overlay does not prevent an interrupted snapshot from being continued`() throws {
        try snapshot([Self.page: "one"])
        let open = try snapshot([Self.other: "two"], .keepOpen)
        try load(Self.page, "loaded")
        let again = try writer.begin(site: Self.site, start: [Self.site], now: 3)
        #expect(again.id == open && again.isContinued)
        try writer.end(again, .publish(now: 4))
        #expect(try store.text(Self.page) == "loaded")
        #expect(try store.text(Self.other) == "two")
    }

    @Test func `dropping the overlay shows the published snapshot again`() throws {
        try snapshot([Self.page: "one"])
        try load(Self.page, "loaded")
        try writer.drop(snapshot: try #require(try site().overlay), of: site())
        #expect(try store.text(Self.page) == "one")
        #expect(try site().overlay == nil)
    }

    @Test func `a collection with a limit does not remove the overlay first`() throws {
        try snapshot([Self.page: "one"])
        try snapshot([Self.page: "two"])
        try load(Self.page, "loaded")
        let before = store.folder.byteCount
        _ = try writer.collect(CollectionOptions(limit: before - 1, allowsIncomplete: true))
        #expect(try site().overlay != nil)
        #expect(try store.text(Self.page) == "loaded")
    }
}
