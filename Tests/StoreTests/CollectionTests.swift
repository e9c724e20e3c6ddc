import Glibc
import System
import TestOrigin
import Testing

@testable import Database
@testable import Store

/// Collections: which content they remove, in which order, and whether the disk space becomes free.
@Suite struct CollectionTests {
    private let store: StockedFolder
    /// The size of an empty store.
    private let emptySize: Int64

    init() throws {
        store = try StockedFolder()
        _ = try StoreWriter(store.folder)
        emptySize = store.folder.byteCount
    }

    /// A page whose body is like that of no other page and is stored in a pack.
    private func page(_ href: String, byteCount: Int = 40_000, edition: Int = 0, fetched: Int64 = 1) throws
        -> NewResponse
    {
        // `hashValue` would differ in each process.
        let seed = href.utf8.reduce(UInt64(truncatingIfNeeded: edition)) { $0 &* 31 &+ UInt64($1) }
        var random = TestRandom(seed: seed)
        let bytes = (0..<byteCount / 8).flatMap { _ in
            withUnsafeBytes(of: random.next()) { Array($0) }
        }
        return try store.response(href, bytes: bytes, fetched: fetched)
    }

    private func collect(_ limit: Int64?) throws -> CollectionResult {
        let result = try StoreWriter(store.folder).collect(
            CollectionOptions(limit: limit, allowsIncomplete: true))
        #expect(result.shrinkFailure == nil)
        #expect(result.byteCountAfter == store.folder.byteCount)
        let findings = try store.inspect()
        #expect(findings.isSound && findings.orphanBodyCount == 0 && findings.orphanFiles.isEmpty)
        return result
    }

    /// The stored URLs, sorted.
    private func storedURLs() throws -> [String] {
        try store.column("SELECT DISTINCT url FROM larder_response ORDER BY 1")
    }

    private func recordServed(_ served: [String: Int64]) throws {
        let reader = try store.reader()
        let times = try served.map { (try #require(try reader.response(for: $0)).url, $1) }
        try ActivityDatabase(store.folder).recordServed(times)
    }

    @Test func `folders of killed processes that unpacked updates are removed, and those in use stay`() throws
    {
        let used = try ScratchFolder(beside: store.folder.updates, mode: 0o700)
        // A process id that no process has.
        let left = store.folder.updates + ".4194305.part"
        try #require(mkdir(left, 0o700) == 0)
        try WholeFile.write("body", to: left + "/0")
        #expect(try store.inspect().isSound)
        _ = try collect(nil)
        #expect(access(left, F_OK) != 0)
        #expect(access(used.path, F_OK) == 0)
        withExtendedLifetime(used) {}
    }

    @Test func `a body is confirmed by its digest, even if its id has changed`() throws {
        try store.snapshot([
            store.response("http://a.test/", "one"), store.response("http://a.test/2", "two"),
        ])
        let reader = try store.reader()
        let one = try #require(try reader.response(for: "http://a.test/")?.body)
        let two = try #require(try reader.response(for: "http://a.test/2")?.body)
        for (href, number) in [
            ("http://a.test/", two.id), ("http://a.test/3", 4711), ("http://a.test/2", one.id),
        ] {
            let body = StoredBody(
                id: number, sha256: one.sha256, form: one.form, byteCount: one.byteCount, title: nil, md5: nil
            )
            try store.snapshot([
                NewResponse(
                    href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 3,
                    body: .stored(body)
                )
            ])
            #expect(try store.text(href) == "one")
        }
        #expect(try store.inspect().isSound)
    }

    @Test(.enabled(if: !TestStore.isPostgreSQL))
    func `a collection leaves no write-ahead log, unless a reader is active`() throws {
        let log = StoreFolder(store.place).database + "-wal"
        func byteCount() -> Int { BodyContent.file(path: log).byteCount ?? 0 }
        let reader = try store.reader()
        try reader.inReadTransaction { () throws(StoreError) in
            _ = try reader.hasResponses()
            // A collection that waited for the reader would take ten seconds each time. On a busy machine one or two may.
            let isPrompt = (0..<5).contains { _ in
                let age = Stopwatch()
                _ = try? store.snapshot([store.response("http://a.test/", "one")])
                return age.elapsed < .seconds(5)
            }
            #expect(isPrompt)
        }
        #expect(byteCount() > 0)
        #expect(try store.text("http://a.test/") == "one")
        try store.snapshot([store.response("http://a.test/2", "two")])
        #expect(byteCount() == 0)
        #expect(try store.text("http://a.test/2") == "two")
    }

    @Test(arguments: [nil, 500_000] as [Int64?]) func `a forecast matches the result of the collection`(
        limit: Int64?
    )
        throws
    {
        try store.snapshot((0..<400).map { try page("/\($0)", byteCount: 1000) })
        try store.snapshot([page("/gone")], site: "other", ending: .forget)
        let folder = StoreFolder(store.scratch.file("rehearsal"))
        let forecast = try StoreWriter(store.folder).forecastCollection(
            CollectionOptions(limit: limit, allowsIncomplete: true), in: folder
        ).result
        // Without a journal, as on PostgreSQL, only the rows differ.
        let journal = store.folder.journalByteCount
        #expect(TestStore.isPostgreSQL ? journal == 0 : journal > 100_000)
        let tolerance = max(journal, 100_000) / 8
        let result = try collect(limit)
        #expect(abs(forecast.byteCountBefore - result.byteCountBefore) < tolerance)
        #expect(
            abs(forecast.byteCountAfter - result.byteCountAfter) < tolerance, "\(forecast), \(result)")
    }

    @Test func `without a limit only unreferenced content is removed`() throws {
        var numbering: [String] = []
        try store.snapshot(
            [page("/a"), page("/large", byteCount: 100_000)],
            links: [NewLinks(from: "/a", pages: ["/linked"], numbering: &numbering)])
        try store.snapshot([page("/b"), page("/file", byteCount: 100_000)], site: "other", ending: .forget)
        try store.scratch.write("stray", to: "store/bodies/stray")
        let result = try collect(nil)
        #expect(result.removedBodies == 2)
        #expect(result.droppedSnapshots == 0 && result.evictedURLs == 0 && result.excess == nil)
        #expect(result.byteCountAfter <= result.byteCountBefore - 130_000)
        #expect(try storedURLs() == ["/a", "/large"])
        #expect(store.scratch.names(in: "store/bodies").isEmpty)
        #expect(store.scratch.names(in: "store/packs").count == (TestStore.isPostgreSQL ? 0 : 1))
        #expect(try store.column("SELECT href FROM url ORDER BY 1") == ["/a", "/large", "/linked"])
        let again = try collect(nil)
        #expect(again.removedBodies == 0 && again.byteCountAfter == again.byteCountBefore)
    }

    @Test func `old snapshots are removed first, in the order of age, and the live one stays`() throws {
        for edition in 1...4 {
            try store.snapshot([
                page("/a", edition: edition), page("/large", byteCount: 100_000, edition: edition),
            ])
        }
        try store.snapshot([page("/only-once")], site: "other")
        let whole = try collect(nil).byteCountAfter
        let result = try collect(whole - 150_000)
        #expect(result.droppedSnapshots == 2)
        #expect(result.evictedURLs == 0 && result.excess == nil && result.removedBodies == 4)
        // The disk keeps a block that a removed body shared with its neighbours.
        #expect(result.byteCountAfter <= whole - 2 * 140_000 + 2 * 4096)
        #expect(try store.site()?.snapshots.map(\.id) == [3, 4])
        #expect(try storedURLs() == ["/a", "/large", "/only-once"])
    }

    @Test(arguments: [0, 10_000] as [Int64])
    func `pages of live snapshots stay without permission, whatever the limit`(limit: Int64) throws {
        try store.snapshot([page("/a", edition: 1), page("/b")])
        try store.snapshot([page("/a", edition: 2)])
        let result = try StoreWriter(store.folder).collect(CollectionOptions(limit: limit))
        #expect(result.droppedSnapshots == 0 && result.evictedURLs == 0 && result.evicted == [])
        #expect(result.excess ?? 0 > 0)
        let attainable = try #require(result.attainableByteCount)
        #expect(attainable > limit && attainable < result.byteCountAfter - 20_000)
        #expect(try storedURLs() == ["/a", "/b"])
        let second = try StoreWriter(store.folder).collect(
            CollectionOptions(limit: limit, allowsIncomplete: true))
        #expect(second.evicted.sorted() == ["/a", "/b"] && second.evictedURLs == 2)
    }

    @Test func `a snapshot is removed for a limit only if that helps to free bodies`() throws {
        // The first two snapshots of the site "s" show the first version of a page; only the last one replaces it.
        try store.snapshot([page("/a", edition: 1)])
        try store.snapshot([page("/b")])
        try store.snapshot([page("/a", edition: 2)])
        // Each snapshot of the other site only adds a page.
        for number in 1...4 { try store.snapshot([page("/other/\(number)")], site: "other") }
        let whole = try collect(nil).byteCountAfter
        let result = try collect(whole - 30_000)
        #expect(result.droppedSnapshots == 2 && result.removedBodies == 1 && result.evictedURLs == 0)
        #expect(try store.site()?.snapshots.map(\.id) == [3])
        #expect(try store.site("other")?.snapshots.count == 4)
    }

    @Test func `a snapshot that shows nothing of what is freed stays beside older ones that do`() throws {
        try store.snapshot([page("/a", edition: 1)])
        try store.snapshot([page("/a", edition: 2)])
        try store.snapshot([page("/b")])
        try store.snapshot([page("/c")])
        // The second snapshot has the same page as the live one. Only the first one has a body of its own.
        let result = try StoreWriter(store.folder).collect(
            CollectionOptions(limit: 1000, enforcesLimit: true))
        #expect(result.droppedSnapshots == 1 && result.removedBodies == 1)
        #expect(try store.site()?.snapshots.map(\.id) == [2, 3, 4])
    }

    @Test func `an enforced limit that cannot be reached leaves one earlier snapshot of each site`() throws {
        for edition in 1...4 { try store.snapshot([page("/a", edition: edition)]) }
        let options = CollectionOptions(limit: 1000, enforcesLimit: true)
        let result = try StoreWriter(store.folder).collect(options)
        #expect(result.droppedSnapshots == 2 && result.evictedURLs == 0 && result.excess ?? 0 > 0)
        #expect(result.attainableByteCount != nil)
        #expect(try store.site()?.snapshots.map(\.id) == [3, 4])
        #expect(try StoreWriter(store.folder).collect(options).droppedSnapshots == 0)
        #expect(try store.inspect().isSound)
    }

    @Test(.requiresFolderStore) func `overlays stay if a limit cannot be reached, unless it is enforced`()
        throws
    {
        let site = "http://a.test/"
        try store.snapshot([page(site)], site: site)
        try StoreWriter(store.folder).addToOverlay(
            page(site + "new", fetched: 20), replacing: nil, origin: "http://a.test", host: "a.test",
            now: 20)
        let result = try StoreWriter(store.folder).collect(CollectionOptions(limit: 1000))
        #expect(result.removedOverlayURLs == 0 && result.attainableByteCount != nil)
        let enforced = try StoreWriter(store.folder).collect(
            CollectionOptions(limit: 1000, enforcesLimit: true))
        #expect(enforced.removedOverlayURLs == 1 && enforced.evictedURLs == 0)
        #expect(try storedURLs() == [site])
    }

    @Test func `a forecast of an unreachable limit names no snapshot and the attainable size`() throws {
        for edition in 1...3 { try store.snapshot([page("/a", edition: edition)]) }
        let folder = StoreFolder(store.scratch.file("rehearsal"))
        let options = CollectionOptions(limit: 1000)
        let forecast = try StoreWriter(store.folder).forecastCollection(options, in: folder)
        #expect(forecast.snapshots.isEmpty && forecast.urls.isEmpty)
        #expect(forecast.result.attainableByteCount ?? 0 > 1000)
        #expect(try StoreWriter(store.folder).collectWithSearchIndex(options).droppedSnapshots == 0)
    }

    @Test func `the last snapshots of each site are kept, and the live one is among them`() throws {
        for edition in 1...5 { try store.snapshot([page("/a", edition: edition)]) }
        try store.snapshot([page("/b", edition: 1)], site: "other")
        let result = try StoreWriter(store.folder).collect(CollectionOptions(keep: KeepRules(last: 2)))
        #expect(result.droppedSnapshots == 3 && result.removedBodies == 3 && result.evictedURLs == 0)
        #expect(try store.site()?.snapshots.map(\.id) == [4, 5])
        // After a roll-back, the live snapshot stays, and so does the newest one that can be published again.
        try StoreWriter(store.folder).publish(snapshot: 4, of: #require(try store.site()))
        try store.snapshot([page("/a", edition: 6)], ending: .reject(now: 3))
        let rest = try StoreWriter(store.folder).collect(CollectionOptions(keep: KeepRules(last: 1)))
        let kept = try store.site()?.snapshots.map(\.id)
        #expect(kept == [4, 5] && rest.droppedSnapshots > 0, "\(kept ?? [])")
        #expect(try store.inspect().isSound)
    }

    @Test(.requiresFolderStore)
    func `updates of few pages do not make the journal much longer than its content requires`()
        throws
    {
        try store.snapshot((0..<300).map { try page("/\($0)", byteCount: 1000) })
        for edition in 1...120 { try store.snapshot([page("/0", byteCount: 1000, edition: edition)]) }
        let journal = store.folder.journalByteCount
        try StoreWriter(store.folder).rewriteJournal()
        #expect(journal <= 2 * store.folder.journalByteCount + Limits.journalSlackBytes)
        #expect(try store.inspect().isSound)
    }

    @Test(.requiresFolderStore) func `old snapshots and a long journal are removed before any live page`()
        throws
    {
        try store.snapshot((0..<60).map { try page("/\($0)", byteCount: 8_000) })
        let whole = try collect(nil).byteCountAfter
        for edition in 1...60 { try store.snapshot([page("/0", byteCount: 8_000, edition: edition)]) }
        let result = try collect(whole * 5 / 4)
        #expect(result.evictedURLs == 0 && result.excess == nil && result.droppedSnapshots > 0)
        #expect(try storedURLs().count == 60)
    }

    @Test(.requiresFolderStore)
    func `overlays are removed before live pages, and the responses below them stay`() throws {
        let site = "http://a.test/"
        try store.snapshot(
            [page(site), page(site + "x", edition: 1), page(site + "y", edition: 1)], site: site)
        let x = try store.reader().response(for: site + "x")
        try StoreWriter(store.folder).addToOverlay(
            page(site + "x", edition: 2, fetched: 10), replacing: x, origin: "http://a.test",
            host: "a.test", now: 10)
        try StoreWriter(store.folder).addToOverlay(
            page(site + "new", fetched: 20), replacing: nil, origin: "http://a.test", host: "a.test",
            now: 20)
        #expect(try store.inspect().isSound)
        let result = try collect(store.folder.byteCount - 30_000)
        #expect(result.removedOverlayURLs == 1 && result.evictedURLs == 0)
        #expect(try store.reader().response(for: site + "x") == x)
        #expect(try store.reader().response(for: site + "new") != nil)
        let rest = try collect(store.folder.byteCount - 30_000)
        #expect(rest.removedOverlayURLs == 1 && rest.evictedURLs == 0)
        #expect(try collect(store.folder.byteCount - 30_000).evictedURLs == 1)
    }

    @Test(.requiresFolderStore) func `a truncated pack does not cause other content to be removed`() throws {
        try store.snapshot((0..<40).map { try page("/\($0)", byteCount: 20_000, fetched: Int64($0)) })
        let pack = "store/packs/" + (store.scratch.names(in: "store/packs").first ?? "")
        truncate(store.scratch.file(pack), 700_000)
        let result = try StoreWriter(store.folder).collect(
            CollectionOptions(limit: 300_000, allowsIncomplete: true))
        #expect(result.excess ?? 0 > 0)
        #expect(result.evictedURLs == 0)
        #expect(try storedURLs().count == 40)
    }

    @Test func `the last earlier snapshot of each site is removed after all others`() throws {
        for edition in 1...3 {
            try store.snapshot([page("/a", edition: edition)])
            try store.snapshot([page("/b", edition: edition)], site: "other")
        }
        func left() throws -> [[Int64]?] {
            try ["s", "other"].map { try store.site($0)?.snapshots.map(\.id) }
        }
        let whole = try collect(nil).byteCountAfter
        #expect(try collect(whole - 60_000).droppedSnapshots == 2)
        #expect(try left() == [[3, 5], [4, 6]])
        #expect(try collect(whole - 100_000).droppedSnapshots == 1)
        #expect(try left() == [[5], [4, 6]])
    }

    @Test(.requiresFolderStore)
    func `a forecast and the collection after it start from the same size of the store`() throws {
        try store.snapshot([page("/a")])
        let writer = try StoreWriter(store.folder)
        // A change whose write-ahead log is not emptied.
        try writer.add(Pin(.site, "s"), now: 3)
        func logByteCount() -> Int64 { StoreFolder.byteCount(of: store.folder.database + "-wal") }
        #expect(logByteCount() > 0)
        let copy = StoreFolder(store.scratch.file("rehearsal"))
        let forecast = try writer.forecastCollection(CollectionOptions(), in: copy)
        #expect(forecast.result.byteCountBefore == store.folder.byteCount)
        try writer.add(Pin(.site, "t"), now: 4)
        #expect(logByteCount() > 0)
        let byteCount = store.folder.byteCount - logByteCount()
        let result = try writer.collectWithSearchIndex(CollectionOptions())
        #expect(result.byteCountBefore == byteCount)
    }

    /// A process that closes any descriptor of a file loses its locks on the file. Other processes would then remove the
    /// write-ahead log that open connections still use.
    @Test(.requiresFolderStore, arguments: ["database", "notes", "index"])
    func `open connections keep their locks during a forecast`(file: String) throws {
        try store.snapshot([page("/a")])
        try ActivityDatabase(store.folder).recordServed([(1, 1)])
        _ = try SearchIndex.openOrCreate(store.folder)
        let path =
            switch file {
            case "database": store.folder.database
            case "notes": store.folder.activityDatabase
            default: store.folder.searchIndex
            }
        let connection = try Connection(path, access: .readOnly)
        _ = try connection.prepare("SELECT count(*) FROM sqlite_schema").first { $0.integer(0) }
        let before = try Self.ownLocks(on: path)
        #expect(!before.isEmpty)
        let copy = StoreFolder(store.scratch.file("rehearsal"))
        _ = try StoreWriter(store.folder).forecastCollection(CollectionOptions(), in: copy)
        #expect(try Self.ownLocks(on: path).isSuperset(of: before))
        #expect(
            try connection.prepare("SELECT count(*) FROM sqlite_schema").first { $0.integer(0) } != nil)
    }

    /// The ranges of a file on which this process has locks.
    private static func ownLocks(on path: String) throws -> Set<String> {
        var status = stat()
        try #require(stat(path, &status) == 0)
        // 1: POSIX  ADVISORY  READ 123 fe:00:456 1073741826 1073742335
        let text = String(decoding: try WholeFile.beginning(of: "/proc/locks", 1 << 20), as: UTF8.self)
        let (process, file) = ("\(getpid())", ":\(status.st_ino)")
        var ranges: Set<String> = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ").map(String.init)
            guard fields.count == 8, fields[4] == process, fields[5].hasSuffix(file) else { continue }
            ranges.insert(fields[6] + "-" + fields[7])
        }
        return ranges
    }

    @Test func `a forecast names the snapshots that the collection then removes, with dates and sizes`()
        throws
    {
        for edition in 1...3 { try store.snapshot([page("/a", edition: edition)], now: Int64(edition)) }
        let folder = StoreFolder(store.scratch.file("rehearsal"))
        let options = CollectionOptions(limit: try collect(nil).byteCountAfter - 60_000)
        let forecast = try StoreWriter(store.folder).forecastCollection(options, in: folder)
        #expect(forecast.snapshots.map(\.id) == [1, 2])
        #expect(forecast.snapshots.map(\.started) == [1, 2])
        #expect(forecast.snapshots.map(\.byteCount) == [40_000, 40_000])
        #expect(forecast.snapshots.map(\.isLastEarlier) == [false, true])
        let result = try StoreWriter(store.folder).collectWithSearchIndex(options)
        #expect(try store.site()?.snapshots.map(\.id) == [3])
        // A PostgreSQL server returns space later.
        guard !TestStore.isPostgreSQL else { return }
        let error = abs(result.byteCountAfter - forecast.result.byteCountAfter)
        #expect(error < 16_384, "\(forecast.result), \(result)")
    }

    @Test func `a response that only a removed snapshot had is still served`() throws {
        try store.snapshot([page("/once"), page("/a", edition: 1)])
        try store.snapshot([page("/a", edition: 2)])
        let result = try collect(collect(nil).byteCountAfter - 20_000)
        #expect(result.droppedSnapshots == 1 && result.evictedURLs == 0 && result.removedBodies == 1)
        #expect(try store.reader().response(for: "/once")?.snapshot == 2)
        #expect(try store.reader().response(for: "/a")?.snapshot == 2)
    }

    @Test
    func
        `rolled back and abandoned snapshots are removed before visible responses, and an open snapshot stays`()
        throws
    {
        let first = try store.snapshot([page("/a", edition: 1)])
        try store.snapshot([page("/a", edition: 2)])
        try StoreWriter(store.folder).publish(snapshot: first, of: #require(try store.site()))
        try store.snapshot([page("/a", edition: 3)], ending: .keepOpen)
        let open = try store.snapshot([page("/a", edition: 4)], now: 100_000, ending: .keepOpen)
        // Four bodies of 40,000 bytes. The limit makes the collection remove the two of the removable snapshots.
        let whole = try collect(nil).byteCountAfter
        let result = try collect(whole - 80_000)
        #expect(result.droppedSnapshots == 2 && result.evictedURLs == 0)
        #expect(try store.site()?.snapshots.map(\.id) == [first, open])
        #expect(try store.reader().response(for: "/a")?.snapshot == first)
    }

    @Test func `a site without a published snapshot keeps its visible responses`() throws {
        for now in [1, 200_000] as [Int64] {
            try store.snapshot([page("/\(now)")], now: now, ending: .keepOpen)
        }
        let result = try collect(collect(nil).byteCountAfter - 20_000)
        #expect(result.droppedSnapshots == 0)
        #expect(result.evictedURLs == 1)
        #expect(try storedURLs() == ["/1"])
    }

    @Test
    func `the least recently served responses are removed next, then never served ones by their age`()
        throws
    {
        try store.snapshot([
            page("/old", fetched: 100), page("/served", fetched: 100), page("/newer", fetched: 200),
            page("/large", byteCount: 100_000, fetched: 300), page("/newest", fetched: 400),
        ])
        try recordServed(["/served": 1000, "/old": 50])
        var evicted: [String] = []
        var before = try storedURLs()
        while !before.isEmpty {
            // 30,000 bytes are more than a pack may waste, and less than a body.
            let result = try collect(store.folder.byteCount - 30_000)
            let after = try storedURLs()
            #expect(result.evictedURLs == 1 && after.count == before.count - 1)
            evicted += before.filter { !after.contains($0) }
            before = after
        }
        #expect(evicted == ["/old", "/newer", "/large", "/newest", "/served"])
        #expect(store.folder.byteCount == emptySize || store.folder.byteCount < emptySize + 70_000)
        #expect(store.scratch.names(in: "store/packs").isEmpty)
    }

    /// The start page is the oldest response, and would otherwise be removed first.
    @Test func `the start URL of a site is removed last`() throws {
        let pages = try (0..<9).map { try page("/\($0)", fetched: 100 + Int64($0)) }
        try store.snapshot([page("s", fetched: 1)] + pages)
        for _ in 0..<4 { _ = try collect(store.folder.byteCount - 30_000) }
        let urls = try storedURLs()
        #expect(urls.count == 6 && urls.contains("s"), "\(urls)")
    }

    @Test(arguments: [0.75, 0.5, 0.25])
    func `an eviction ends within the limit, but not far below it`(share: Double) throws {
        try store.snapshot(
            (0..<150).map { number in
                let size = [2_000, 10_000, 30_000, 90_000][number % 4]
                return try page("/\(number)", byteCount: size, fetched: Int64(number * 7919 % 150))
            })
        let limit = emptySize + Int64(Double(store.folder.byteCount - emptySize) * share)
        let result = try collect(limit)
        #expect(result.excess == nil)
        #expect(result.byteCountAfter <= limit)
        #expect(result.byteCountAfter >= limit * 8 / 10, "\(result) of \(limit)")
    }

    /// The journal lines of such pages are as large as the pages.
    @Test(.requiresFolderStore, arguments: [0.75, 0.5, 0.25])
    func `an eviction of tiny pages keeps as many as the limit allows`(share: Double) throws {
        try store.snapshot(
            (0..<4000).map { try page("/\($0)", byteCount: 400, fetched: Int64($0)) })
        let before = try storedURLs().count
        let limit = emptySize + Int64(Double(store.folder.byteCount - emptySize) * share)
        let result = try collect(limit)
        #expect(result.excess == nil)
        #expect(result.byteCountAfter <= limit)
        #expect(result.byteCountAfter >= limit * 8 / 10, "\(result) of \(limit)")
        #expect(Double(before - result.evictedURLs) >= Double(before) * share * 0.8)
    }

    @Test(.requiresFolderStore) func `a collection that removes nothing does not change the journal`() throws
    {
        try store.snapshot([page("/a"), page("/b")])
        let names = store.scratch.names(in: "store/journal")
        #expect(try collect(nil).removedBodies == 0)
        #expect(store.scratch.names(in: "store/journal") == names)
        #expect(try collect(store.folder.byteCount - 30_000).evictedURLs == 1)
        #expect(store.scratch.names(in: "store/journal") != names)
    }

    @Test func `a limit of 0 leaves only pinned content`() throws {
        try store.snapshot([
            page("/a"), page("/b", byteCount: 100_000), store.response("/gone", nil, status: 404),
        ])
        try StoreWriter(store.folder).add(Pin(.url, "/b"), now: 1)
        let result = try collect(0)
        #expect(result.evictedURLs == 2)
        #expect(result.excess.map { $0 > 100_000 } == true)
        #expect(try storedURLs() == ["/b"])
        #expect(try StoreWriter(store.folder).remove(Pin(.url, "/b")))
        let rest = try collect(0)
        #expect(rest.evictedURLs == 1)
        #expect(try storedURLs() == [])
        #expect(try store.column("SELECT href FROM url") == [])
        #expect(store.scratch.names(in: "store/bodies").isEmpty)
        // The site and its snapshot still exist. Evicted responses are missing, and are fetched again.
        #expect(try store.site()?.published == 1)
        try store.snapshot([page("/a")])
        #expect(try storedURLs() == ["/a"])
    }

    @Test func `a body of several URLs is removed with the last of them`() throws {
        let large = [UInt8](repeating: 7, count: 100_000)
        try store.snapshot([
            store.response("/old", bytes: large, fetched: 1),
            store.response("/new", bytes: large, fetched: 3),
            page("/other", fetched: 2),
        ])
        let result = try collect(collect(nil).byteCountAfter - 30_000)
        #expect(result.evictedURLs == 2 && result.removedBodies == 1)
        #expect(try storedURLs() == ["/new"])
        #expect(
            try store.reader().response(for: "/new")?.body.flatMap(store.reader().content)?.load() == large)
        _ = try collect(0)
        #expect(store.scratch.names(in: "store/packs").isEmpty)
    }

    @Test func `a reader never gets another body under the id of a removed one`() throws {
        try store.snapshot([page("/a")])
        let reader = try store.reader()
        let gone = try #require(try reader.response(for: "/a")?.body)
        _ = try collect(0)
        try store.snapshot([page("/b")])
        // SQLite reuses the id of the removed body; PostgreSQL does not.
        #expect(try (reader.response(for: "/b")?.body?.id == gone.id) != TestStore.isPostgreSQL)
        #expect(try reader.content(of: gone) == nil)
        #expect(try reader.links(of: gone) == [])
        var confirmed = try store.response("/a", nil)
        confirmed.body = .stored(gone)
        #expect(throws: StoreError.self) { try store.snapshot([confirmed]) }
        #expect(try store.reader().response(for: "/a") == nil)
    }

    @Test func `the uses of an evicted URL are removed from the activity database`() throws {
        try store.snapshot([page("/a", fetched: 1), page("/b", fetched: 2)])
        try recordServed(["/a": 10, "/b": 20])
        let urls = try ["/a", "/b"].map { try store.reader().response(for: $0)?.url }
        #expect(try ActivityDatabase(store.folder).servedTimes() == [urls[0]: 10, urls[1]: 20])
        let result = try collect(collect(nil).byteCountAfter - 20_000)
        #expect(result.evictedURLs == 1)
        #expect(try ActivityDatabase(store.folder).servedTimes() == [urls[1]: 20])
    }

    @Test func `a damaged activity database loses only its own records`() throws {
        try store.snapshot([page("/a", fetched: 1), page("/b", fetched: 2)])
        try store.scratch.write(String(repeating: "not a database ", count: 400), to: "store/notes.db")
        let result = try collect(collect(nil).byteCountAfter - 20_000)
        #expect(result.evictedURLs == 1)
        #expect(try storedURLs() == ["/b"])
        try recordServed(["/b": 20])
        #expect(try ActivityDatabase(store.folder).servedTimes().count == 1)
    }

    @Test func `a collection is refused while another process writes, which is not disturbed`() throws {
        try store.snapshot([page("/a")])
        let other = try StoreWriter(store.folder)
        let collector = try StoreWriter(store.folder)
        let error = #expect(throws: StoreError.self) {
            try collector.collect(CollectionOptions(limit: 0, allowsIncomplete: true))
        }
        #expect(error?.reason == .busy)
        let snapshot = try other.begin(site: "s", start: ["s"], now: 1)
        try other.add([page("/b")], to: snapshot)
        #expect(try storedURLs() == ["/a", "/b"])
        // A writer with an open snapshot cannot collect either.
        _ = consume collector
        let own = #expect(throws: StoreError.self) {
            try other.collect(CollectionOptions(limit: 0, allowsIncomplete: true))
        }
        #expect(own?.reason == .busy)
        try other.end(snapshot, .publish(now: 2))
        let result = try other.collect(CollectionOptions(limit: 0, allowsIncomplete: true))
        #expect(result.evictedURLs == 2, "\(result)")
    }

    @Test(.requiresFolderStore) func `a constant reader keeps the file large, and the result says so`() throws
    {
        try store.snapshot([page("/a", byteCount: 60_000)])
        try store.snapshot([page("/b", byteCount: 60_000)], site: "other")
        let reader = try store.reader()
        var result: CollectionResult?
        try reader.inReadTransaction { () throws(StoreError) in
            _ = try reader.sites()
            result = try StoreWriter(store.folder).collect(
                CollectionOptions(limit: 0, allowsIncomplete: true))
        }
        #expect(result?.evictedURLs == 2)
        #expect(result?.shrinkFailure?.reason == .busy)
        #expect(try collect(nil).byteCountAfter < emptySize + 70_000)
    }

    /// An eviction copies the remaining rows to a new database, which must also have the tables of the user.
    @Test(.requiresFolderStore)
    func `an eviction preserves the remaining content and tables that a user added`() throws {
        var numbering: [String] = []
        try store.snapshot(
            [page("/a", fetched: 1), page("/b", fetched: 2), page("/tiny", byteCount: 400, fetched: 3)],
            links: [
                NewLinks(from: "/a", pages: ["/only-a"], numbering: &numbering),
                NewLinks(from: "/b", pages: ["/a", "/ahead"], assets: ["/tiny"], numbering: &numbering),
            ])
        try StoreWriter(store.folder).add(Pin(.url, "/tiny"), now: 1)
        try store.execute(
            """
            CREATE TABLE "a ""note" (text TEXT, seen INTEGER DEFAULT 3); INSERT INTO "a ""note" VALUES ('own', 4);
            CREATE INDEX own_index ON url(length(href));
            CREATE VIEW own_view AS SELECT text FROM "a ""note" JOIN site ON true;
            CREATE TRIGGER own_trigger AFTER INSERT ON "a ""note" BEGIN DELETE FROM "a ""note" WHERE text = 'x'; END;
            CREATE VIRTUAL TABLE own_words USING fts5(text); INSERT INTO own_words VALUES ('some words');
            """)
        let schema = "SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1"
        let known = try store.column(schema)
        let reader = try store.reader()
        let rows = try ["site", "snapshot", "pin", "pack", "sqlite_sequence"].map {
            try store.column("SELECT * FROM \($0)")
        }
        let bodies = try store.column("SELECT id || hex(sha256) || form FROM body WHERE id > 1 ORDER BY id")
        let result = try collect(collect(nil).byteCountAfter - 20_000)
        #expect(result.evictedURLs == 1 && result.removedBodies == 1)
        #expect(try store.column(schema) == known)
        #expect(
            try ["site", "snapshot", "pin", "pack", "sqlite_sequence"].map {
                try store.column("SELECT * FROM \($0)")
            } == rows)
        #expect(try store.column("SELECT id || hex(sha256) || form FROM body ORDER BY id") == bodies)
        #expect(try store.column("SELECT href FROM url ORDER BY 1") == ["/a", "/ahead", "/b", "/tiny"])
        #expect(try store.column("SELECT text FROM own_view") == ["own"])
        #expect(
            try store.column("SELECT text FROM own_words WHERE own_words MATCH 'words'") == ["some words"])
        #expect(try store.column("PRAGMA user_version") == ["\(Schema.version)"])
        #expect(try store.column("PRAGMA journal_mode") == ["wal"])
        // A reader that was open before the eviction sees the change.
        #expect(try reader.response(for: "/a") == nil)
        let left = try #require(try reader.response(for: "/b"))
        #expect(try reader.storedLinks(of: left)?.pages == ["/a", "/ahead"])
        #expect(try reader.summary().responses == 2)
        #expect(store.scratch.names(in: "store/incoming").isEmpty)
        try store.snapshot([page("/c")])
        #expect(try storedURLs() == ["/b", "/c", "/tiny"])
    }

    @Test(.requiresFolderStore) func `a collection leaves a journal of the remaining content`() throws {
        try store.snapshot((0..<20).map { try page("/\($0)", byteCount: 600, fetched: Int64($0)) })
        #expect(try collect(store.folder.byteCount - 10_000).evictedURLs > 0)
        let left = try storedURLs()
        for name in store.scratch.names(in: "store") where name.hasPrefix("larder.db") {
            store.scratch.remove("store/" + name)
        }
        #expect(try StoreRebuild.run(store.folder).lostBodies == 0)
        #expect(try storedURLs() == left)
    }

    @Test(.requiresFolderStore) func `foreign keys are enforced again after a failed collection`() throws {
        try store.snapshot([page("/a")])
        let writer = try StoreWriter(store.folder)
        try store.execute("DROP VIEW larder_link; ALTER TABLE link RENAME TO elsewhere")
        #expect(throws: StoreError.self) { try writer.collect(CollectionOptions()) }
        #expect(throws: StoreError.self) { try writer.run("UPDATE site SET published = 99") }
    }
}

@Suite struct EvictionPlanTests {
    /// A plan for URLs in the form `url@lastUse+byteCount:bodies`. `!` after the number of the URL means that it is pinned.
    private static func plan(_ urls: [String]) -> EvictionPlan {
        var plan = EvictionPlan()
        for (body, byteCount) in [(1, 100), (2, 200), (3, 300)] as [(Int64, Int)] {
            plan.add(body: body, byteCount: byteCount)
        }
        for text in urls {
            let parts = text.split { "@+:".contains($0) }.map(String.init)
            let bodies = parts.count > 3 ? parts[3].split(separator: ",").compactMap { Int64($0) } : []
            for body in bodies { plan.addUse(of: body) }
            plan.add(
                EvictionPlan.Holding(
                    url: Int64(parts[0].filter { $0 != "!" }) ?? 0, lastUse: Int64(parts[1]) ?? 0,
                    isPinned: parts[0].contains("!"), byteCount: Int(parts[2]) ?? 0))
        }
        return plan
    }

    @Test(
        arguments: [
            // Least recently used first, and no more than needed.
            (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 1, [2]), (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 200, [2]),
            (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 201, [2, 3]),
            (["1@30+0:1", "2@10+0:2", "3@20+0:3"], 9999, [2, 3, 1]), (["1@30+0:1", "2@10+0:2"], 0, []),
            (["1@30+0:1"], -5, []), ([], 10, []),
            // Of URLs with equal use, the one that was found last.
            (["1@5+0:1", "3@5+0:3", "2@5+0:2"], 301, [3, 2]),
            // Never a pinned URL, however old it is and however much space is needed.
            (["1!@1+0:1", "2@10+0:2", "3!@2+0:3"], 9999, [2]), (["1!@1+5:1"], 1, []),
            // The size of a body counts with its last URL, and never if one of its URLs is pinned.
            (["1@1+0:3", "2@2+0:3", "3@3+0:1"], 1, [1, 2]), (["1!@1+0:3", "2@2+0:3", "3@3+0:1"], 1, [2, 3]),
            (["1@1+10:3", "2@2+0:3"], 10, [1]), (["1@1+0:1,2", "2@2+0:2"], 100, [1]),
            (["1@1+0:1,2", "2@2+0:2"], 101, [1, 2]),
            // URLs without a body need space too; a body of unknown size counts as 0 bytes.
            (["1@1+40", "2@2+40", "3@3+40"], 80, [1, 2]), (["1@1+0:9", "2@2+1"], 1, [1, 2]),
        ] as [([String], Int64, [Int64])])
    func `the plan evicts the least recently used URLs that free the wanted bytes`(
        urls: [String], wanted: Int64, expected: [Int64]
    ) {
        #expect(Self.plan(urls).urls(toFree: wanted) == expected)
    }
}
