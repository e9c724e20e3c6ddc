import Store
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins
@testable import Portal

@Suite struct PortalValuesTests {
    @Test(arguments: [
        ("/a?q=x+y%20z", "/a", "x y z"), ("/a", "/a", nil), ("/a?", "/a", nil), ("/a?q", "/a", nil),
        ("/a?q=", "/a", nil),
        ("/a?q=1&q=2", "/a", "1"), ("/?q=%", "/", "%"), ("/?q=%4", "/", "%4"), ("/?q=%zz", "/", "%zz"),
        ("/?q=%FF", "/", "\u{FFFD}"), ("/?q=a=b", "/", "a=b"), ("/?%71=x", "/", "x"), ("/?x&&q=1", "/", "1"),
        ("", "", nil),
    ])
    func `the path and fields of a target are parsed`(target: String, path: String, words: String?) {
        let request = PortalRequest(target: target)
        #expect(request.path == path)
        #expect(request["q"] == words)
    }

    @Test func `long fields are truncated, and surplus fields ignored`() {
        let long = PortalRequest(target: "/?q=" + String(repeating: "%41", count: 100_000))
        #expect(long["q"]?.count == PortalRequest.maxFieldBytes)
        let many = PortalRequest(target: "/?" + String(repeating: "a=1&", count: 1000) + "q=1")
        #expect(many["q"] == nil)
    }

    @Test(arguments: [
        "plain", "a b", "a&b=c", "50%", "ä☕", "'\"<>", "https://e.test/?a=b&c#d", "+", "\u{0}",
    ])
    func `a field of a generated link is parsed back unchanged`(words: String) {
        let links = PortalLinks()
        #expect(PortalRequest(target: links.search(words, in: nil))["q"] == words)
        #expect(PortalRequest(target: links.details(words))["url"] == words)
        #expect(PortalRequest(target: links.folder(words, of: 1, after: words))["after"] == words)
    }

    @Test(arguments: [
        ("https://a.test/b/c", "https://a.test/", "https://a.test/b/"),
        ("https://a.test/b", "https://a.test/", nil),
        ("https://a.test/?x=/b/", "https://a.test/", nil), ("https://a.test/b", "", "https://a.test/"),
        ("https://a.test/b/", "https://a.test/b/", nil),
        ("https://a.test//c", "https://a.test/", "https://a.test//"),
        ("odd", "", nil), ("", "longer", nil),
    ])
    func `the folder of a URL below a prefix ends after one more path component`(
        href: String, prefix: String, folder: String?
    ) {
        #expect(FolderListing.folder(of: href, below: prefix) == folder)
    }

    @Test(arguments: [
        (sites: 60, content: 100, removed: 0, [60, 40, 30, 70], false),
        (60, 100, 15, [60, 25, 15, 30, 70], false),
        (100, 100, 0, [100, 30, 70], false),
        // Sites share files, so that their sizes add up to more than the content.
        (150, 100, 0, [100, 30, 70], true),
        (90, 100, 20, [80, 20, 30, 70], true),
    ])
    func `the parts of the disk space add up to the size of the store`(
        sites: Int64, content: Int64, removed: Int64, expected: [Int64], areFilesShared: Bool
    ) throws {
        let parts = try #require(
            StoragePage.Parts(
                of: 200, sites: sites, content: content, removed: removed, index: 30))
        #expect(parts.list.map(\.byteCount) == expected)
        #expect(parts.areFilesShared == areFilesShared)
    }

    @Test func `names with numbers are sorted by value`() {
        let sorted = [
            "", "a", "a-2", "a-02", "a-9b", "a-10", "a-10/x", "a-100000000000000000000000", "b", "b1",
        ]
        #expect(
            sorted.reversed().sorted(by: NaturalOrder.precedes).map { $0 } == [
                "", "a", "a-02", "a-2", "a-9b", "a-10", "a-10/x", "a-100000000000000000000000", "b", "b1",
            ])
    }

    @Test func `a store whose content is elsewhere has no list of parts`() {
        #expect(StoragePage.Parts(of: 100, sites: 50, content: 100, index: 1) == nil)
    }

    @Test(arguments: ["t.1.2", "a.https://a.test/?x", "a.", "t.0.0"])
    func `a search position is parsed back from its text`(text: String) {
        #expect(SearchPosition(text: text)?.text == text)
    }

    @Test(arguments: ["", "t", "t.", "t.1", "t.1.2.3", "t.-1.2", "t.9223372036854775807.1", "x.1.2", "t.a.b"])
    func `an invalid search position is rejected`(text: String) {
        #expect(SearchPosition(text: text) == nil)
    }
}

/// The queries of the store that the pages of the portal use.
@Suite struct PortalReadersTests {
    private static func shelf(_ count: Int) throws -> PortalShelf {
        try PortalShelf(
            (0..<count).map { number in
                .init(
                    href: "https://example.test/f\(number % 7)/p\(1000 + number)",
                    title: number.isMultiple(of: 3) ? "Jam 100%_\(number)" : nil, text: "\(number)")
            })
    }

    @Test(arguments: [1, 2, 7, 50, 1000])
    func `a search continued page by page finds every entry once`(limit: Int) throws {
        let reader = try Self.shelf(100).reader()
        var found: [String] = []
        var place: BodyCursor? = .start
        while let from = place {
            let step = try reader.findByBody(
                .title("jam 100%_"), site: nil, after: from, bodyCount: 9, limit: limit)
            found += step.entries.map(\.href)
            place = step.next
        }
        #expect(found.count == 34)
        #expect(Set(found).count == 34)
        var addresses: [String] = []
        var after: String? = ""
        while let from = after {
            let step = try reader.findByURL(
                containing: "/P1", notTitled: "jam", site: 1, after: from, urlCount: 11, limit: limit)
            addresses += step.entries.map(\.href)
            after = step.next
        }
        #expect(addresses.count == 66)
        #expect(addresses == addresses.sorted())
    }

    @Test func `percent signs, underscores and backslashes in a search are literal`() throws {
        let shelf = try PortalShelf([
            .init(href: "https://example.test/a", title: "100% a_b c\\d", text: "1"),
            .init(href: "https://example.test/b", title: "100x aab cd", text: "2"),
        ])
        for words in ["100%", "a_b", "c\\d"] {
            let found = try shelf.reader().findByBody(.title(words), site: nil, bodyCount: 100, limit: 10)
            #expect(found.entries.map(\.href) == ["https://example.test/a"], "\(words)")
        }
    }

    @Test func `a search finds only the responses that readers get`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/a", title: "Old jam", text: "1")])
        try shelf.snapshot([.init(href: "https://example.test/a", title: "New jam", text: "2")])
        try shelf.snapshot(
            [.init(href: "https://example.test/a", title: "Open jam", text: "3")], isComplete: false)
        let found = try shelf.reader().findByBody(.title("jam"), site: nil, bodyCount: 100, limit: 10)
        #expect(found.entries.map(\.body?.title) == ["New jam"])
        #expect(found.next == nil)
    }

    @Test(arguments: [1, 3, 100])
    func `a folder listed page by page contains every entry once`(limit: Int) throws {
        let reader = try Self.shelf(700).reader()
        var folders: [String] = []
        var entries = 0
        var start: String? = "https://example.test/"
        while let from = start {
            let listing = try FolderListing.list(
                "https://example.test/", site: 1, from: from, limit: limit, reader)
            for item in listing.items {
                switch item {
                case .folder(let prefix, let count, _):
                    folders.append(prefix)
                    #expect(count == 100)
                case .entry: entries += 1
                }
            }
            start = listing.next
        }
        #expect(folders == (0..<7).map { "https://example.test/f\($0)/" })
        #expect(entries == 0)
    }

    @Test func `a folder with too many URLs to count is listed with a lower bound`() throws {
        let many = (0..<1_700).map {
            PortalShelf.Entry(href: "https://example.test/a/\(10_000 + $0)", text: nil, status: 301)
        }
        let shelf = try PortalShelf(many + [.init(href: "https://example.test/z", title: "Last")])
        let listing = try FolderListing.list(
            "https://example.test/", site: 1, from: nil, limit: 10, shelf.reader())
        #expect(listing.items.count == 2)
        guard case .folder(_, let count, true) = listing.items[0] else {
            Issue.record("\(listing.items[0])")
            return
        }
        #expect(count >= 1_000)
        #expect(listing.next == nil)
    }

    @Test func `many large folders are listed on one page`() throws {
        let many = (0..<9_000).map { number in
            PortalShelf.Entry(
                href: "https://example.test/f\(10 + number / 150)/\(10_000 + number)", text: nil, status: 301)
        }
        let listing = try FolderListing.list(
            "https://example.test/", site: 1, from: nil, limit: 100, PortalShelf(many).reader())
        #expect(listing.items.count == 60)
        #expect(
            listing.items.first == .folder(prefix: "https://example.test/f10/", count: 150, isMore: false))
        guard case .folder(_, let count, true) = listing.items[59] else {
            Issue.record("\(listing.items[59])")
            return
        }
        #expect(count <= 150)
        #expect(listing.next == nil)
    }

    @Test func `missing URLs and their referrers are listed completely, a step at a time`() throws {
        let shelf = try PortalShelf(
            (0..<10).map { number in
                .init(
                    href: "https://example.test/\(number)", text: "\(number)",
                    assets: ["https://example.test/0", "https://cdn.test/a.js", "https://cdn.test/a.js"])
            })
        let reader = try shelf.reader()
        let whole = try reader.missingTargets(.assets, site: 1, count: 100, limit: 9)
        #expect(whole.targets.map(\.href) == ["https://cdn.test/a.js"])
        #expect(whole.targets.first?.referrerCount == 10)
        #expect(whole.next == nil)
        var askers = 0
        var place: Int64? = 0
        while let after = place {
            let step = try reader.missingTargets(.assets, site: 1, after: after, count: 3, limit: 9)
            askers += step.targets.first?.referrerCount ?? 0
            place = step.next
        }
        #expect(askers == 10)
        var linkers: [String] = []
        place = 0
        while let after = place {
            let step = try reader.urlsLinking(to: "https://cdn.test/a.js", after: after, count: 4, limit: 3)
            linkers += step.hrefs
            place = step.next
        }
        #expect(linkers.sorted() == (0..<10).map { "https://example.test/\($0)" })
    }

    @Test func `counts beyond the limit are marked as capped, and sizes as estimates`() throws {
        let reader = try Self.shelf(100).reader()
        let all = try reader.tally(ofSnapshot: 1, limit: 1000)
        #expect(all.pages == 100)
        #expect(all.byteCount == 190)
        #expect(!all.isCapped && !all.isEstimate)
        let some = try reader.tally(ofSnapshot: 1, limit: 10)
        #expect(some.pages == 10)
        #expect(some.isCapped && some.isEstimate)
        #expect((100...200).contains(some.byteCount))
    }

    @Test func `a figure of a snapshot is stored for the next server, and computed again for another state`()
        throws
    {
        let shelf = try Self.shelf(20)
        func pages() throws -> Int? { try shelf.get("/?format=json").json()["sites"]?[0]?["pages"]?.int }
        #expect(try pages() == 20)
        let stored = ActivityDatabase.figures(in: shelf.folder)
        #expect(Set(stored.map(\.kind)) == [SnapshotTally.kind, IconURL.kind])
        let tally = try #require(stored.first { $0.kind == SnapshotTally.kind })
        func record(_ value: String, _ key: String) {
            ActivityDatabase.store(
                [SnapshotFigure(of: tally.snapshot, kind: tally.kind, key: key, value: value)],
                keepingOnly: [tally.snapshot], in: shelf.folder)
        }
        record(tally.value.replacing("\"pages\":20", with: "\"pages\":7"), tally.key)
        #expect(try pages() == 7)
        record("damaged", tally.key)
        #expect(try pages() == 20)
        record(tally.value.replacing("\"pages\":20", with: "\"pages\":7"), "another state")
        #expect(try pages() == 20)
    }

    @Test func `figures of media types survive being stored`() throws {
        let types = TypeTallies([
            TypeTally(type: nil, count: 1, byteCount: 2),
            TypeTally(type: "text/\"html\"", count: 3, byteCount: 4_000_000_000),
        ])
        let read = TypeTallies(try JSONValue.parse(types.members.text(.compact).utf8.span))
        #expect(read?.types == types.types)
    }

    @Test func `cached counts are dropped when the store changes`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "A")])
        let portal = Portal(layout: OriginLayout(port: 8080), now: { PortalShelf.now })
        let reader = try shelf.reader()
        let before = try portal.answer("/?format=json", reader: reader)
        try shelf.snapshot([
            .init(href: "https://example.test/", title: "B"),
            .init(href: "https://example.test/2", text: "2"),
        ])
        let after = try portal.answer("/?format=json", reader: reader)
        #expect(before.bytes != after.bytes)
        #expect(String(decoding: after.bytes, as: UTF8.self).contains("\"pages\": 2"))
    }
}
