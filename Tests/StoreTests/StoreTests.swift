import Store
import TestOrigin
import Testing

@Suite struct StoreTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestStore.place(scratch.path + "/a/b"))
    }

    private func response(
        _ href: String, _ body: [UInt8]? = Array("hello".utf8), status: Int = 200, links: [UInt8] = [1, 2, 3]
    ) throws -> NewResponse {
        NewResponse(
            href: href, referrer: "http://a/", status: status, role: 0, fields: "Content-Type: text/html\r\n",
            fetched: 1_700_000_000,
            body: try body.map { .new(try NewBody(.bytes($0), form: "html;utf-8", links: links, in: folder)) }
                ?? .none)
    }

    @Test func `a response is read back with its headers, body and links`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "http://a/", start: ["http://a/"], now: 1)
        try writer.add([response("http://a/"), response("http://a/b", Array("other".utf8))], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))

        let reader = try StoreReader(folder)
        let stored = try #require(try reader.response(for: "http://a/"))
        #expect(stored.status == 200)
        #expect(stored.fields == "Content-Type: text/html\r\n")
        #expect(stored.fetched == 1_700_000_000)
        let body = try #require(stored.body)
        #expect(try reader.content(of: body) == .bytes(Array("hello".utf8)))
        #expect(try reader.links(of: body) == [1, 2, 3])
        #expect(try reader.response(for: "http://a/c") == nil)
        let site = try #require(try reader.sites().first)
        #expect(site.published == snapshot.id)
        #expect(site.snapshots.map(\.responseCount) == [2])
    }

    /// A shared read keeps its view of the database until a body is read or the read is ended.
    @Test(.enabled(if: !TestStore.isPostgreSQL))
    func `the state of the database is fixed for lookups, but not for bodies`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([response("http://a/")], to: snapshot)
        let reader = try StoreReader(folder)
        func isThere(_ href: String) throws -> Bool {
            try reader.response(for: href, ofSnapshot: snapshot.id) != nil
        }
        for hasEnded in [false, true] {
            try reader.transactions.beginSharedRead()
            #expect(try isThere("http://a/"))
            let new = "http://a/\(hasEnded)"
            try writer.add([response(new)], to: snapshot)
            #expect(try !isThere(new))
            if hasEnded {
                try reader.transactions.endSharedRead()
            } else {
                let body = try #require(try reader.response(for: "http://a/")?.body)
                #expect(try reader.content(of: body) != nil)
            }
            #expect(try isThere(new))
        }
        // A view that is used for a long time is renewed.
        for _ in 0..<2 { try reader.transactions.beginSharedRead() }
        try writer.add([response("http://a/last")], to: snapshot)
        for _ in 0..<1000 where try !isThere("http://a/last") { try reader.transactions.beginSharedRead() }
        #expect(try isThere("http://a/last"))
    }

    @Test(arguments: [
        0, Limits.maxInlineBodyBytes, Limits.maxInlineBodyBytes + 1, Limits.maxPackedBodyBytes,
        Limits.maxPackedBodyBytes + 1, 3_000_000,
    ])
    func `bodies are read back unchanged from the database, a pack or a file`(byteCount: Int) throws {
        let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([response("http://a/", bytes)], to: snapshot)
        let reader = try StoreReader(folder)
        let body = try #require(try reader.response(for: "http://a/")?.body)
        #expect(body.byteCount == byteCount)
        #expect(try #require(try reader.content(of: body)).load() == bytes)
        let isFile = byteCount > Limits.maxPackedBodyBytes && !TestStore.hasBodiesInFolder
        #expect(scratch.names(in: "a/b/bodies").count == (isFile ? 1 : 0))
        let isPacked = (Limits.maxInlineBodyBytes + 1...Limits.maxPackedBodyBytes).contains(byteCount)
        #expect(scratch.names(in: "a/b/packs").count == (isPacked && !TestStore.isPostgreSQL ? 1 : 0))
        #expect(scratch.names(in: "a/b/incoming").isEmpty)
    }

    @Test func `equal bodies are stored once, whatever their URL and snapshot`() throws {
        let large = [UInt8](repeating: 9, count: Limits.maxPackedBodyBytes * 2)
        let writer = try StoreWriter(folder)
        for _ in 1...2 {
            let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
            try writer.add(
                [response("http://a/1"), response("http://a/2"), response("http://a/3", large)], to: snapshot)
            try writer.add([response("http://a/4", large)], to: snapshot)
            try writer.end(snapshot, .publish(now: 2))
        }
        let summary = try StoreReader(folder).summary()
        // Unchanged responses of the second snapshot confirm the existing rows, except on PostgreSQL.
        #expect(summary.responses == (TestStore.isPostgreSQL ? 8 : 4))
        #expect(summary.bodies == 2)
        #expect(summary.bytes == Int64(5 + large.count))
        #expect(scratch.names(in: "a/b/bodies").count == (TestStore.isPostgreSQL ? 0 : 1))
        #expect(scratch.names(in: "a/b/incoming").isEmpty)
    }

    @Test func `a snapshot in progress is invisible after another one was published`() throws {
        let writer = try StoreWriter(folder)
        let first = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([response("http://a/", Array("first".utf8))], to: first)
        let reader = try StoreReader(folder)
        func servedBody() throws -> [UInt8]? {
            try reader.response(for: "http://a/")?.body.flatMap { try reader.content(of: $0)?.load() }
        }
        // Without a published snapshot, readers get the responses of the open one.
        #expect(try servedBody() == Array("first".utf8))
        try writer.end(first, .publish(now: 2))

        let second = try writer.begin(site: "s", start: ["s"], now: 3)
        #expect(!second.isContinued)
        try writer.add([response("http://a/", Array("second".utf8))], to: second)
        #expect(try servedBody() == Array("first".utf8))
        try writer.end(second, .publish(now: 4))
        #expect(try servedBody() == Array("second".utf8))
    }

    @Test func `an interrupted snapshot is continued, and a dropped one leaves no rows`() throws {
        let writer = try StoreWriter(folder)
        let first = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([response("http://a/")], to: first)
        try writer.end(first, .keepOpen)
        let again = try writer.begin(site: "s", start: ["s"], now: 2)
        #expect(again.id == first.id)
        #expect(again.isContinued)
        try writer.end(again, .publish(now: 3))

        let failed = try writer.begin(site: "s", start: ["s"], now: 4)
        try writer.add([response("http://a/", nil, status: 404)], to: failed)
        try writer.end(failed, .forget)
        let other = try writer.begin(site: "other", start: ["other"], now: 5)
        try writer.end(other, .forget)
        let reader = try StoreReader(folder)
        #expect(try reader.sites().map(\.name) == ["s"])
        #expect(try reader.sites()[0].snapshots.map(\.id) == [first.id])
        #expect(try reader.response(for: "http://a/")?.status == 200)
    }

    @Test func `an interrupted snapshot is not continued after a long time`() throws {
        let writer = try StoreWriter(folder)
        let first = try writer.begin(site: "s", start: ["s"], now: 0)
        try writer.end(first, .keepOpen)
        let day: Int64 = 24 * 60 * 60
        let soon = try writer.begin(site: "s", start: ["s"], now: day - 1)
        #expect(soon.id == first.id)
        try writer.end(soon, .keepOpen)
        let late = try writer.begin(site: "s", start: ["s"], now: day)
        #expect(late.id != first.id)
        #expect(!late.isContinued)
    }

    @Test func `an unpublished snapshot of one site does not hide a published one of another`() throws {
        let writer = try StoreWriter(folder)
        let first = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([response("http://a/")], to: first)
        try writer.end(first, .publish(now: 2))
        let second = try writer.begin(site: "other", start: ["other"], now: 3)
        try writer.add([response("http://a/", nil, status: 404), response("http://a/2")], to: second)
        let reader = try StoreReader(folder)
        #expect(try reader.response(for: "http://a/")?.status == 200)
        #expect(try reader.response(for: "http://a/2") != nil)
    }

    @Test func `a store that is still being created does not exist for readers`() throws {
        try folder.create()
        try scratch.write("", to: "a/b/larder.db")
        let error = #expect(throws: StoreError.self) { try StoreReader(folder) }
        #expect(error?.reason == .missing)
    }

    @Test func `a site is locked by one run at a time`() throws {
        let first = try StoreWriter(folder)
        let second = try StoreWriter(folder)
        let snapshot = try first.begin(site: "s", start: ["s"], now: 1)
        let error = #expect(throws: StoreError.self) { try second.begin(site: "s", start: ["s"], now: 1) }
        #expect(error?.reason == .busy)
        _ = try second.begin(site: "another", start: ["another"], now: 1)
        try first.end(snapshot, .keepOpen)
        #expect(try second.begin(site: "s", start: ["s"], now: 1).isContinued)
    }

    @Test func `files of a killed run are removed, unless another run is active`() throws {
        let first = try StoreWriter(folder)
        try scratch.write("half a body", to: "a/b/incoming/fetch-1")
        let second = try StoreWriter(folder)
        #expect(scratch.names(in: "a/b/incoming") == ["fetch-1"])
        _ = (consume first, consume second)
        _ = try StoreWriter(folder)
        #expect(scratch.names(in: "a/b/incoming").isEmpty)
    }

    @Test func `the queue reports the end after it has committed everything`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let queue = try WriteQueue(writer, snapshot: snapshot)
        for number in 0..<500 { try queue.add(response("http://a/\(number)", Array("body \(number)".utf8))) }
        try queue.finish(.publish(now: 2))
        let reader = try StoreReader(folder)
        #expect(try reader.summary().responses == 500)
        #expect(try reader.sites().first?.published == snapshot.id)
    }

    @Test func `a failure of the queue is thrown by the next call`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let queue = try WriteQueue(writer, snapshot: snapshot)
        var lost = try response("http://a/", [UInt8](repeating: 1, count: Limits.maxPackedBodyBytes + 1))
        lost.body = .new(
            try NewBody(.file(path: scratch.write("gone", to: "gone")), form: "opaque", links: [], in: folder)
        )
        try #require(scratch.names().contains("gone"))
        scratch.remove("gone")
        try queue.add(lost)
        #expect(throws: StoreError.self) { try queue.finish(.keepOpen) }
    }

    @Test func `a folder that is not a store is refused with its path`() throws {
        #expect(throws: StoreError.self) { try StoreReader(folder) }
        try scratch.write(
            "not a database, but longer than a header would be: " + String(repeating: "x", count: 4096),
            to: "larder.db"
        )
        let error = #expect(throws: StoreError.self) { try StoreReader(StoreFolder(scratch.path)) }
        #expect(error?.reason == .unusable)
        #expect(error?.description.contains(scratch.path) == true)
    }

    @Test func `the error for a store that cannot be created has its path`() throws {
        try scratch.write("a file", to: "file")
        let error = #expect(throws: StoreError.self) {
            try StoreWriter(StoreFolder(scratch.path + "/file/store"))
        }
        #expect(error?.reason == .denied)
        #expect(error?.path == scratch.path + "/file/store")
    }

    @Test func `readers in other threads see the commits of the writer`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([response("http://a/")], to: snapshot)
        let reader = try StoreReader(folder)
        let before = try reader.dataVersion()
        try writer.add([response("http://a/2")], to: snapshot)
        #expect(try reader.dataVersion() != before)
        #expect(try reader.response(for: "http://a/2") != nil)
    }

    @Test func `a read transaction sees one state, and the next one a later state`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([response("http://a/")], to: snapshot)
        let reader = try StoreReader(folder)
        let before = try reader.dataVersion()
        let second = try response("http://a/2")
        func isThere() throws(StoreError) -> Bool { try reader.response(for: "http://a/2") != nil }
        let within = try reader.withFixedVersion { () throws(StoreError) -> [Int64] in
            let version = try reader.dataVersion()
            _ = try writer.add([second], to: snapshot)
            // A nested call sees the same version.
            let deeper = try reader.withFixedVersion(isThere)
            return [version, try reader.dataVersion(), try isThere() ? 1 : 0, deeper ? 1 : 0]
        }
        #expect(within == [before, before, 0, 0])
        #expect(try reader.response(for: "http://a/2") != nil)
        #expect(try reader.dataVersion() != before)
        #expect(throws: StoreError.self) {
            try reader.withFixedVersion { () throws(StoreError) -> Void in
                throw StoreError(.busy, doing: "read", path: "", detail: "")
            }
        }
        try writer.add([response("http://a/3")], to: snapshot)
        #expect(try reader.response(for: "http://a/3") != nil)
    }
}
