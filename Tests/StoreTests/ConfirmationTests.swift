import Glibc
import TestOrigin
import Testing
import Web

@testable import Store

/// An unchanged response gets no row of its own, but extends the existing row to the new snapshot. Only in a store in
/// a folder: on PostgreSQL, which has several writers, each snapshot has its own rows.
@Suite(.requiresFolderStore) struct ConfirmationTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    private static let type = "Content-Type: text/html\r\n"

    private func rows() throws -> [String] {
        try store.column(
            "SELECT snapshot || ' ' || confirmed || ' ' || request || status FROM response ORDER BY url, snapshot, request"
        )
    }

    private func counts() throws -> [Int] { try store.site()?.snapshots.map(\.responseCount) ?? [] }

    @Test func `an unchanged response confirms the existing row`() throws {
        try store.snapshot([store.response("/a", "a"), store.response("/gone", nil, status: 404)])
        for time: Int64 in [5, 9] {
            try store.snapshot(
                [
                    store.response("/a", "a", fields: Self.type + "Date: \(time)\r\n", fetched: time),
                    store.response("/gone", nil, status: 404, fetched: time),
                ], now: time)
        }
        #expect(try rows() == ["1 3 200", "1 3 404"])
        #expect(try counts() == [2, 2, 2])
        for snapshot: Int64 in 1...3 {
            let stored = try #require(try store.reader().response(for: "/a", ofSnapshot: snapshot))
            #expect(stored.snapshot == 1 && stored.fetched == 9 && stored.fields == Self.type + "Date: 9\r\n")
            #expect(try store.reader().pages(ofSnapshot: snapshot, atMost: 5) == ["/a"])
            #expect(try store.reader().tombstones(ofSnapshot: snapshot, limit: 10).count == 1)
            #expect(try store.reader().types(ofSnapshot: snapshot, limit: 10).map(\.count) == [1])
        }
        #expect(try store.reader().difference(from: 1, to: 3).isEmpty)
        #expect(try store.inspect().isSound)
    }

    @Test func `the counts of a snapshot are read from an index`() throws {
        try store.snapshot([store.response("/a", "a")])
        let rows = Schema.rows(ofSnapshot: "?1", "role", "status", "body")
        var plan: [String] = []
        try store.reader().prepare(
            "EXPLAIN QUERY PLAN SELECT DISTINCT body FROM \(rows) AS response WHERE body IS NOT NULL"
        ).each(.integer(1)) { plan.append($0.text(3)) }
        #expect(plan.contains { $0.contains("SEARCH response USING COVERING INDEX response_snapshot") })
    }

    @Test func `the size of a snapshot counts a shared body once`() throws {
        try store.snapshot([
            store.response("/a", "same"), store.response("/b", "same"), store.response("/c", "other text"),
            store.response("/gone", "not here", status: 404),
        ])
        let reader = try store.reader()
        #expect(try reader.tally(ofSnapshot: 1, limit: 10).byteCount == 22)
        #expect(try reader.types(ofSnapshot: 1, limit: 10).map(\.count).reduce(0, +) == 3)
        #expect(try reader.types(ofSnapshot: 1, limit: 10).map(\.byteCount).reduce(0, +) == 22)
    }

    @Test func `a snapshot of a part of the site takes over the other responses`() throws {
        let texts = ["/bundle", "/image", "/page", "/dropped"]
        try store.snapshot(texts.map { try store.response($0, $0) })
        let writer = try StoreWriter(store.folder)
        var snapshot = try writer.begin(site: "s", start: ["s"], now: 5)
        snapshot.urlsNotTakenOver = ["/dropped"]
        try writer.add([store.response("/bundle", "new", fetched: 5)], to: snapshot)
        try writer.end(snapshot, .publishIfChanged(now: 6))
        #expect(try counts() == [4, 3])
        #expect(try store.reader().tally(ofSnapshot: 2, limit: 10).pages == 3)
        #expect(try store.reader().tally(ofSnapshot: 1, limit: 10).pages == 4)
        let image = try #require(try store.reader().response(for: "/image", ofSnapshot: 2))
        #expect(image.snapshot == 1 && image.fetched == 1)
        #expect(try store.reader().response(for: "/dropped", ofSnapshot: 2) == nil)
        // Readers still see it, until the origin says that it is gone.
        #expect(try store.text("/dropped") == "/dropped")
        #expect(try store.inspect().isSound)
    }

    @Test func `a snapshot of a part of the site takes over what its readers see after a rollback`() throws {
        for text in ["old", "new"] {
            try store.snapshot([store.response("/a", text), store.response("/b", "b")])
        }
        let site = try #require(try store.site())
        try StoreWriter(store.folder).publish(snapshot: 1, of: site)
        let writer = try StoreWriter(store.folder)
        var snapshot = try writer.begin(site: "s", start: ["s"], now: 5)
        snapshot.urlsNotTakenOver = []
        try writer.add([store.response("/c", "c", fetched: 5)], to: snapshot)
        try writer.end(snapshot, .publishIfChanged(now: 6))
        #expect(try store.text("/a") == "new")
        #expect(try counts() == [2, 2, 2])
        #expect(try store.reader().response(for: "/a", ofSnapshot: 3) == nil)
        #expect(try store.inspect().isSound)
    }

    @Test(
        arguments: [
            ("Date: 2\r\nETag: 1\r\n", true), ("ETag: 1\r\nX-Request-Id: 7\r\n", true),
            ("Age: 3\r\nVia: 1.1 a\r\nETag: 1\r\nCF-Ray: 4\r\n", true), ("ETag: 2\r\n", false),
            ("ETag: 1\r\nX-Robots-Tag: noindex\r\n", false), ("ETag: 1\r\nLink: </b>\r\n", false),
            ("", false),
        ])
    func `only header fields of the message may differ in an unchanged response`(fields: String, isSame: Bool)
        throws
    {
        try store.snapshot([store.response("/a", "a", fields: "Date: 1\r\nETag: 1\r\nExpires: 9\r\n")])
        try store.snapshot([store.response("/a", "a", fields: fields)])
        #expect(try rows() == (isSame ? ["1 2 200"] : ["1 0 200", "2 0 200"]))
        #expect(try counts() == [1, 1])
        #expect(try store.reader().response(for: "/a")?.fields == fields)
    }

    @Test func `a response with another body, status or role gets a row of its own`() throws {
        try store.snapshot([store.response("/a", "a")])
        try store.snapshot([store.response("/a", "b")])
        // A response is compared only with the newest one.
        try store.snapshot([store.response("/a", "a")])
        var asset = try store.response("/a", "a")
        asset.role = 1
        try store.snapshot([asset])
        try store.snapshot([store.response("/a", nil, status: 410)])
        #expect(try rows() == (1...5).map { "\($0) 0 \($0 == 5 ? 410 : 200)" })
    }

    @Test func `responses of another site, of overlays or with variants confirm nothing`() throws {
        try store.snapshot([store.response("/a", "a"), store.response("/b", "b")])
        try store.snapshot([store.response("/a", "other")], site: "t")
        var varying = try store.response("/b", "b")
        varying.variant = "Accept: x"
        try store.snapshot([varying])
        try store.snapshot([store.response("/a", "a"), store.response("/b", "b")])
        #expect(try rows() == ["1 0 200", "2 0 200", "4 0 200", "1 0 200", "3 0 200", "4 0 200"])
        #expect(try store.text("/a") == "a")
    }

    @Test func `after a roll-back a response is compared with the newest remaining one`() throws {
        for text in ["a", "b"] { try store.snapshot([store.response("/a", text)]) }
        try StoreWriter(store.folder).publish(snapshot: 1, of: #require(try store.site()))
        try store.snapshot([store.response("/a", "a")])
        #expect(try store.text("/a") == "a")
        #expect(try rows() == ["1 0 200", "2 0 200", "3 0 200"])
    }

    @Test func `a later different response in the same snapshot withdraws the confirmation`() throws {
        try store.snapshot([store.response("/a", "a")])
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 3)
        try writer.add([store.response("/a", "a")], to: snapshot)
        try writer.add([store.response("/a", "a")], to: snapshot)
        #expect(try counts() == [1, 1])
        try writer.add([store.response("/a", nil, status: 404)], to: snapshot)
        #expect(try counts() == [1, 1])
        try writer.end(snapshot, .publish(now: 4))
        #expect(try rows() == ["1 1 200", "2 0 404"])
        #expect(try store.reader().response(for: "/a", ofSnapshot: 2)?.status == 404)
    }

    @Test func `a dropped snapshot leaves the responses that later snapshots confirmed`() throws {
        for _ in 1...3 { try store.snapshot([store.response("/a", "a"), store.response("/b", "b")]) }
        try store.snapshot([store.response("/a", "c")])
        for snapshot: Int64 in [2, 1] {
            try StoreWriter(store.folder).drop(snapshot: snapshot, of: #require(try store.site()))
        }
        #expect(try counts() == [2, 1])
        #expect(try store.reader().difference(from: 3, to: 4).changed == ["/a"])
        #expect(try rows() == ["3 3 200", "4 0 200", "3 3 200"])
        // A snapshot that will be continued keeps the responses that it has confirmed.
        try store.snapshot([store.response("/a", "c")], now: 9, ending: .keepOpen)
        try StoreWriter(store.folder).publish(snapshot: 3, of: #require(try store.site()))
        try StoreWriter(store.folder).drop(snapshot: 4, of: #require(try store.site()))
        #expect(try store.reader().response(for: "/a", ofSnapshot: 5)?.body != nil)
        #expect(try store.inspect().isSound)
    }

    @Test func `a database rebuilt from the journal has the confirmations`() throws {
        for time: Int64 in [1, 5, 9] {
            try store.snapshot([store.response("/a", "a", fetched: time)], now: time)
        }
        for suffix in ["", "-wal", "-shm"] { store.scratch.remove("store/larder.db" + suffix) }
        #expect(try StoreRebuild.run(store.folder).addresses == 1)
        #expect(try rows() == ["1 3 200"])
        #expect(try counts() == [1, 1, 1])
        #expect(try store.reader().response(for: "/a")?.fetched == 9)
    }

    @Test func `the text that a browser showed is stored beside the page`() throws {
        try store.snapshot([store.response("/a", "a")])
        var words = try store.response("/a", "words")
        words.request = .renderedText
        try store.snapshot([store.response("/a", "a"), words])
        #expect(try rows() == ["1 1 200", "2 0 200", "2 0 shown200"])
        #expect(try counts() == [1, 2])
        #expect(try store.reader().response(for: "/a", ofSnapshot: 2)?.snapshot == 2)
        for suffix in ["", "-wal", "-shm"] { store.scratch.remove("store/larder.db" + suffix) }
        _ = try StoreRebuild.run(store.folder)
        #expect(try rows().suffix(2) == ["2 0 200", "2 0 shown200"])
    }

    @Test func `an older response and an overlay response get rows of their own`() throws {
        try store.snapshot([store.response("/a", "a", fetched: 9), store.response("/b", "b")])
        try store.snapshot([store.response("/a", "a", fetched: 5)])
        #expect(try rows() == ["1 0 200", "2 0 200", "1 0 200"])
        try StoreWriter(store.folder).addToOverlay(
            store.response("/b", "b", fetched: 9), replacing: store.reader().response(for: "/b"),
            origin: "http://a.test", host: "a.test", now: 9)
        #expect(try rows().suffix(2) == ["1 0 200", "3 0 200"])
    }

    @Test func `a journal much longer than the database is rewritten when a snapshot ends`() throws {
        try store.snapshot([store.response("/a", "a")])
        let name = try #require(store.scratch.names(in: "store/journal").first)
        let path = store.scratch.file("store/journal/" + name)
        let length = store.folder.databaseByteCount * 2 + Limits.journalSlackBytes
        // Extends the journal with a hole, which uses no disk space and contains no line.
        #expect(truncate(path, off_t(length)) == 0)
        try store.snapshot([store.response("/a", "a")])
        #expect(store.folder.journalByteCount < 10_000)
        for suffix in ["", "-wal", "-shm"] { store.scratch.remove("store/larder.db" + suffix) }
        #expect(try StoreRebuild.run(store.folder).addresses == 1)
        #expect(try rows() == ["1 2 200"])
    }

    @Test func `an update that finds nothing new adds no rows to the database`() throws {
        func pages() throws -> [NewResponse] {
            try (0..<300).map { try store.response("http://a.test/page/\($0)", "page \($0)") }
        }
        try store.snapshot(pages())
        let before = store.folder.databaseByteCount
        let journal = store.folder.journalByteCount
        for _ in 1...20 { try store.snapshot(pages()) }
        #expect(store.folder.databaseByteCount <= before + 16384)
        #expect((store.folder.journalByteCount - journal) / 20 < journal / 2)
        #expect(try counts() == [Int](repeating: 300, count: 21))
    }
}
