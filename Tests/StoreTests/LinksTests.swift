import Testing

@testable import Store

/// The links of bodies, as runs store them and readers find them.
@Suite struct LinkTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    private func links(of href: String) throws -> StoredLinks? {
        let reader = try store.reader()
        return try reader.response(for: href).flatMap(reader.storedLinks)
    }

    private func inspect() throws -> StoreFindings { try store.reader().inspect() }

    @Test func `links are read by URL, in their original order and kinds`() throws {
        var numbering: [String] = []
        try store.snapshot(
            [
                store.response("/a", "a"), store.response("/b", "b"),
                store.response("/gone", nil, status: 404),
            ],
            links: [
                NewLinks(
                    from: "/a", pages: ["/b", "/a", "/b"], assets: ["/style", "/a"], guesses: ["/guess"],
                    numbering: &numbering),
                NewLinks(from: "/gone", pages: ["/a"], numbering: &numbering),
            ])
        let links = try #require(try links(of: "/a"))
        #expect(links.pages == ["/b", "/a", "/b"])
        #expect(links.assets == ["/style", "/a"])
        #expect(links.guesses == ["/guess"])
        // No links were recorded for /b. A body that was scanned and has no links has empty lists instead.
        #expect(try self.links(of: "/b") == nil)
        #expect(try self.links(of: "/gone") == nil)
        try store.snapshot([store.response("/b", "b")], links: [NewLinks(from: "/b", numbering: &numbering)])
        #expect(try self.links(of: "/b") == StoredLinks())
    }

    /// Each statement damages a list as a disk would: the result is still a list of numbers, but of other URLs.
    @Test(
        .requiresFolderStore,
        arguments: [
            "pages = replace(pages, '2', '1')", "assets = ',1,'", "guesses = ''", "sum = sum + 1",
        ])
    func `damaged lists of links are found, never used, and written again`(damage: String) throws {
        var numbering: [String] = []
        let all = NewLinks(
            from: "/a", pages: ["/b"], assets: ["/style"], guesses: ["/guess"], numbering: &numbering)
        let responses = [try store.response("/a", "a"), try store.response("/b", "b")]
        try store.snapshot(responses, links: [all])
        let sound = try links(of: "/a")
        try #expect(inspect().isSound)
        try store.execute("UPDATE link SET \(damage)")
        #expect(try links(of: "/a") == nil)
        let findings = try inspect()
        #expect(findings.hrefsWithDamagedLinks == ["/a"])
        #expect(!findings.isSound)
        try StoreWriter(store.folder).repair(findings)
        try #expect(inspect().isSound)
        #expect(try links(of: "/a") == nil)
        try store.snapshot(responses, links: [all])
        #expect(try links(of: "/a") == sound)
    }

    @Test(.requiresFolderStore) func `damaged lists of links are replaced by the next scan of the same body`()
        throws
    {
        var numbering: [String] = []
        let all = NewLinks(from: "/a", pages: ["/b"], numbering: &numbering)
        try store.snapshot([store.response("/a", "a")], links: [all])
        try store.execute("UPDATE link SET sum = sum + 1")
        try store.snapshot([store.response("/a", "a")], links: [all])
        #expect(try links(of: "/a")?.pages == ["/b"])
        try #expect(inspect().isSound)
    }

    @Test(.requiresFolderStore)
    func `lists of links of a store of version 8 are read, and get checksums when they are written`() throws {
        var numbering: [String] = []
        let all = NewLinks(from: "/a", pages: ["/b"], numbering: &numbering)
        try store.snapshot([store.response("/a", "a")], links: [all])
        try store.execute("\(EarlierStore.ofVersion8) PRAGMA user_version = 8")
        #expect(try links(of: "/a")?.pages == ["/b"])
        #expect(try store.column("SELECT count(*) FROM link WHERE sum IS NULL") == ["1"])
        try store.snapshot([store.response("/a", "a")], links: [all])
        #expect(try store.column("SELECT count(*) FROM link WHERE sum IS NULL") == ["0"])
    }

    @Test func `pages that link to a URL are found by its whole id, not by digits of it`() throws {
        var numbering: [String] = []
        // Ids with one, two and three digits, some of which begin or end with another one.
        let targets = (1...120).map { "/\($0)" }
        try store.snapshot(
            [store.response("/one", "1"), store.response("/many", "2"), store.response("/needs", "3")],
            links: [
                NewLinks(from: "/many", pages: targets, numbering: &numbering),
                NewLinks(from: "/one", pages: ["/11"], numbering: &numbering),
                NewLinks(from: "/needs", assets: ["/1"], guesses: ["/11"], numbering: &numbering),
            ])
        let reader = try store.reader()
        #expect(try reader.referrers(of: "/1") == ["/many", "/needs"])
        #expect(try reader.referrers(of: "/11") == ["/many", "/one"])
        #expect(try reader.referrers(of: "/111") == ["/many"])
        #expect(try reader.referrers(of: "/one") == [])
        #expect(try reader.referrers(of: "/unknown") == [])
    }

    @Test func `the view for sqlite3 has a row for each link`() throws {
        var numbering: [String] = []
        try store.snapshot(
            [store.response("/a", "a"), store.response("/b", "b"), store.response("/c", "c")],
            links: [
                NewLinks(
                    from: "/a", pages: ["/b", "/c"], assets: ["/style"], guesses: ["/guess"],
                    numbering: &numbering),
                NewLinks(from: "/b", assets: ["/style"], numbering: &numbering),
                NewLinks(from: "/c", numbering: &numbering),
            ])
        #expect(
            try store.column("SELECT source || ' ' || role || ' ' || target FROM larder_link ORDER BY 1") == [
                "/a asset /style", "/a guess /guess", "/a page /b", "/a page /c", "/b asset /style",
            ])
        #expect(
            try store.column("SELECT source FROM larder_link WHERE target = '/style' ORDER BY 1") == [
                "/a", "/b",
            ])
    }

    @Test func `a body that a later snapshot confirmed keeps its links`() throws {
        var numbering: [String] = []
        try store.snapshot(
            [store.response("/a", "a")], links: [NewLinks(from: "/a", pages: ["/b"], numbering: &numbering)])
        var confirmed = try store.response("/a", nil)
        confirmed.body = .stored(try #require(try store.reader().response(for: "/a")?.body))
        let second = try store.snapshot([confirmed])
        #expect(try store.reader().response(for: "/a")?.snapshot == second - 1)
        #expect(try store.reader().response(for: "/a", ofSnapshot: second)?.snapshot == second - 1)
        #expect(try links(of: "/a")?.pages == ["/b"])
        try StoreWriter(store.folder).drop(snapshot: second - 1, of: #require(try store.site()))
        _ = try StoreWriter(store.folder).collect(CollectionOptions())
        #expect(try store.reader().response(for: "/a")?.snapshot == second)
        #expect(try links(of: "/a")?.pages == ["/b"])
    }

    @Test func `a body at two URLs has separate links for each`() throws {
        var numbering: [String] = []
        try store.snapshot(
            [store.response("/a/", "same"), store.response("/b/", "same")],
            links: [
                NewLinks(from: "/a/", pages: ["/a/next"], numbering: &numbering),
                NewLinks(from: "/b/", pages: ["/b/next"], numbering: &numbering),
            ])
        #expect(try links(of: "/a/")?.pages == ["/a/next"])
        #expect(try links(of: "/b/")?.pages == ["/b/next"])
        #expect(try store.reader().summary().bodies == 1)
    }

    @Test func `a URL whose body changed has the links of the visible body`() throws {
        var numbering: [String] = []
        let first = try store.snapshot(
            [store.response("/a", "old")],
            links: [NewLinks(from: "/a", pages: ["/old"], numbering: &numbering)])
        try store.snapshot(
            [store.response("/a", "new")],
            links: [NewLinks(from: "/a", pages: ["/new"], numbering: &numbering)])
        #expect(try links(of: "/a")?.pages == ["/new"])
        #expect(try store.reader().visibleReferrers(of: "/new") == ["/a"])
        #expect(try store.reader().visibleReferrers(of: "/old") == [])
        try StoreWriter(store.folder).publish(snapshot: first, of: #require(try store.site()))
        #expect(try links(of: "/a")?.pages == ["/old"])
        #expect(try store.reader().referrers(of: "/new") == ["/a"])
        #expect(try store.reader().visibleReferrers(of: "/new") == [])
        #expect(try store.reader().visibleReferrers(of: "/old") == ["/a"])
    }

    @Test func `numbers of URLs are those of the run, although another run assigned them to other URLs`()
        throws
    {
        var first: [String] = []
        try store.snapshot(
            [store.response("/a", "a")],
            links: [NewLinks(from: "/a", pages: ["/b", "/c"], numbering: &first)],
            ending: .keepOpen)
        var second = ["/c", "/z"]
        try store.snapshot(
            [store.response("/z", "z")],
            links: [NewLinks(from: "/z", pages: ["/a", "/c"], numbering: &second)])
        #expect(try links(of: "/a")?.pages == ["/b", "/c"])
        #expect(try links(of: "/z")?.pages == ["/a", "/c"])
    }

    @Test func `one writer serves several runs, each with its own numbers`() throws {
        let writer = try StoreWriter(store.folder)
        for hrefs in [["/a", "/b"], ["/c", "/d"]] {
            let snapshot = try writer.begin(site: hrefs[0], start: hrefs, now: 1)
            var numbering: [String] = []
            let links = NewLinks(from: hrefs[0], pages: [hrefs[1]], numbering: &numbering)
            var response = try store.response(hrefs[0], hrefs[0])
            response.number = links.source.number
            try writer.add([response], links: [links], to: snapshot)
            try writer.end(snapshot, .publish(now: 2))
        }
        #expect(try links(of: "/a")?.pages == ["/b"])
        #expect(try links(of: "/c")?.pages == ["/d"])
        // A number that a run assigned to a URL is not valid any more once a collection has removed the URL.
        let snapshot = try writer.begin(site: "/e", start: ["/e"], now: 1)
        var numbering = ["/e", "/f"]
        try writer.add(
            [store.response("/e", "e")], links: [NewLinks(from: "/e", pages: ["/f"], numbering: &numbering)],
            to: snapshot)
        try writer.end(snapshot, .forget)
        _ = try writer.collect(CollectionOptions())
        let again = try writer.begin(site: "/e", start: ["/e"], now: 1)
        try writer.add(
            [store.response("/g", "g"), store.response("/e", "e")],
            links: [NewLinks(from: "/e", pages: ["/f"], numbering: &numbering)], to: again)
        try writer.end(again, .publish(now: 2))
        #expect(try links(of: "/e")?.pages == ["/f"])
        #expect(try store.inspect().isSound)
    }

    @Test func `a failed batch leaves no links and no URLs, and the next one is stored`() throws {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        var numbering: [String] = []
        let links = NewLinks(from: "/a", pages: ["/b"], numbering: &numbering)
        var impossible = try store.response("/c", nil)
        impossible.body = .stored(
            StoredBody(id: 99, sha256: [1], form: "html", byteCount: 1, title: nil, md5: nil))
        let batch = try [store.response("/a", "a"), impossible]
        #expect(throws: StoreError.self) { try writer.add(batch, links: [links], to: snapshot) }
        #expect(try store.column("SELECT href FROM url") == [])
        try writer.add([batch[0]], links: [links], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        #expect(try self.links(of: "/a")?.pages == ["/b"])
        #expect(try store.inspect().isSound)
    }
}

@Suite struct LinkListsTests {
    @Test(
        arguments: [
            ([], ""), ([1], ",1,"), ([0, 10, 9_223_372_036_854_775_807], ",0,10,9223372036854775807,"),
            ([3, 3], ",3,3,"),
        ] as [([Int64], String)])
    func `numbers are written with a comma before and after each, and read again`(
        numbers: [Int64], text: String
    ) {
        #expect(LinkLists.text(numbers) == text)
        #expect(LinkLists.numbers(text) == numbers)
    }

    @Test(
        arguments: [
            ("1", []), (",", []), (",,1,,2,,", [1, 2]), (",a,1,", [1]), (",1", []),
            (",99999999999999999999,5,", [5]),
            (",9223372036854775808,5,", [5]), (",-1,2,", [2]), ("\u{0},1,é,2,1 ,", [1, 2]),
        ] as [(String, [Int64])])
    func `parts of a list that are not numbers are ignored`(text: String, expected: [Int64]) {
        #expect(LinkLists.numbers(text) == expected)
    }
}
