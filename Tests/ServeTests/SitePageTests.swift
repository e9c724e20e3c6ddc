import Reports
import Search
import System
import Testing
import Web

@testable import Mirror
@testable import Portal
@testable import Store

@Suite struct SitePageTests {
    private static let start = "https://example.test/"

    @Test func `the timeline says what changed in each snapshot`() throws {
        let shelf = try PortalShelf([
            .init(href: Self.start, text: "one"), .init(href: Self.start + "a", text: "a"),
        ])
        #expect(!(try shelf.get("/-/sites/1").body.contains("1 changed")))
        try shelf.snapshot([
            .init(href: Self.start, text: "two"), .init(href: Self.start + "b", text: "b"),
            .init(href: Self.start + "a", text: nil, status: 404),
        ])
        let page = try shelf.get("/-/sites/1").body
        for words in [">1 added<", ">1 changed<", ">1 gone<", "/-/sites/1/changes?from=1&amp;to=2"] {
            #expect(page.contains(words), "\(words)")
        }
    }

    @Test func `the history of a URL links to the comparison with each earlier version that differs`() throws
    {
        let shelf = try PortalShelf([.init(href: Self.start, text: "one")])
        #expect(!(try shelf.get("/-/page?url=\(Self.start)").body.contains("/compare?")))
        for text in ["two", "one"] { try shelf.snapshot([.init(href: Self.start, text: text)]) }
        let page = try shelf.get("/-/page?url=\(Self.start)").body
        #expect(page.count(of: "/-/sites/1/compare?") == 1)
        #expect(page.contains("/-/sites/1/compare?url=\(Self.start)&amp;from=2&amp;to=3"), "\(page)")
        #expect(page.contains("same content"))
    }

    @Test func `an update that changes nothing changes no time of the history, and all pages agree`() throws {
        let shelf = try PortalShelf()
        let (first, second) = (PortalShelf.now - 3 * 3600, PortalShelf.now - 300)
        let entries = [PortalShelf.Entry(href: Self.start, title: "Front", text: "one")]
        try shelf.snapshot(entries, started: first, ending: .publish(now: first + 60))
        let fetched = "<time datetime=\"\(Wording.date(first))\""
        let checked = "<time datetime=\"\(Wording.date(second))\""
        let pages = ["/-/page?url=\(Self.start)", "/-/sites/1", "/"]
        for page in pages {
            let before = try shelf.get(page).body
            #expect(before.contains(fetched) && !before.contains(checked), "\(page)")
        }
        try shelf.snapshot(
            entries, started: second, ending: .publishIfChanged(now: second + 60),
            settings: "{\"confirmed\":[{\"snapshot\":1,\"date\":\(second)}]}")
        for page in pages {
            let after = try shelf.get(page).body
            #expect(after.contains(fetched) && after.contains(checked), "\(page): \(after)")
            #expect(after.contains("3 hours ago") && after.contains("hecked "), "\(page)")
        }
        let site = try shelf.get("/-/sites/1").body
        #expect(site.contains("3 hours ago</time>, checked <time"), "\(site)")
        #expect(try shelf.get("/-/page?url=\(Self.start)").body.contains("Unchanged when checked "))
        let row = try shelf.get("/-/page?url=\(Self.start)&format=json").json()["rows"]?[0]
        #expect(row?["fetched"]?.string == Wording.date(first))
        #expect(row?["checked"]?.string == Wording.date(second))
        let hit = try shelf.get("/-/search?q=front&format=json").json()["results"]?[0]
        #expect(hit?["fetched"]?.string == Wording.date(first))
    }

    @Test(arguments: [(0, false), (1, true)])
    func `links that were not fetched are not reported for a site that is one page`(
        depth: Int, isReported: Bool
    ) throws {
        let settings =
            "{\"depth\":\(depth),\"missing\":[{\"snapshot\":1,\"broken\":0,\"failed\":0,\"notFetched\":36}]}"
        let shelf = try PortalShelf()
        try shelf.snapshot([.init(href: Self.start, title: "One")], settings: settings)
        for (page, words) in [("/", "36 links not fetched"), ("/-/sites/1", "Not fetched")] {
            let text = try shelf.get(page).body
            #expect(text.contains("Complete"), "\(page)")
            #expect(text.contains("within its limits") == isReported, "\(page)")
            #expect(text.contains(words) == isReported, "\(page)")
        }
    }

    @Test func `an earlier snapshot can be searched, and its results open that snapshot`() throws {
        let shelf = try PortalShelf()
        func publish(_ fare: String) throws {
            try shelf.snapshot([
                .init(href: Self.start, text: "<title>Market Ferry</title>A ticket costs \(fare) euros.")
            ])
        }
        try publish("four")
        try shelf.snapshot(
            [.init(href: "https://other.test/", text: "<title>Other</title>four")],
            site: "https://other.test/")
        let choice = "<select id=\"snapshot\""
        #expect(!(try shelf.get("/-/sites/1/search?q=four").body.contains(choice)))
        try publish("five")
        #expect(try IndexRun(shelf.folder, Interruption()).run().texts == 3)

        let form = try shelf.get("/-/sites/1/search").body
        #expect(form.contains(choice) && form.contains("<option value=\"1\">1, "), "\(form)")
        #expect(!form.contains("<option value=\"2\""), "the live snapshot is the first option")
        #expect(try shelf.get("/-/sites/1").body.contains("/-/sites/1/search?snapshot=1"))
        // Without scripts, the list of snapshots appears with the results of the chosen site.
        for (target, isHidden) in [("q=four", true), ("q=four&site=1", false), ("q=four&site=2", true)] {
            let page = try shelf.get("/-/search?\(target)").body
            #expect(
                page.contains("<div class=\"field\" hidden=\"\"><label for=\"snapshot\"") == isHidden,
                "\(page)")
            #expect(page.contains("choose its site first") == isHidden, "\(page)")
        }

        func addresses(_ target: String) throws -> [String] {
            let hits = try shelf.get("\(target)&format=json").json()["hits"]?.array ?? []
            return hits.compactMap { $0["address"]?.string?.split(separator: "/")[1] }.map(String.init)
        }
        #expect(try addresses("/-/search?q=four&site=1") == [])
        for search in ["/-/search?q=four&site=1&snapshot=1", "/-/sites/1/search?q=four&snapshot=1"] {
            #expect(try addresses(search) == ["past-1-example-test.localhost:8080"])
            #expect(try shelf.get(search).body.contains("<option value=\"1\" selected=\"\">"))
        }
        #expect(try addresses("/-/sites/1/search?q=five&snapshot=1") == [])
        #expect(try addresses("/-/sites/1/search?q=five") == ["example-test.localhost:8080"])
        // A number of another site's snapshot is ignored.
        #expect(try addresses("/-/search?q=four&site=2&snapshot=1") == ["other-test.localhost:8080"])
    }

    @Test func `a search of an earlier snapshot says that nothing is indexed`() throws {
        let shelf = try PortalShelf()
        for text in ["four", "five"] {
            try shelf.snapshot([.init(href: Self.start, title: text, text: text)])
        }
        #expect(try shelf.get("/-/sites/1/search?q=five&snapshot=1").body.contains("larder index"))
        #expect(!(try shelf.get("/-/sites/1/search?q=five").body.contains("larder index")))
    }

    @Test func `the list of broken URLs has as many URLs as the count says`() throws {
        let (gone, guess) = (Self.start + "gone.png", Self.start + "guess.js")
        let shelf = try PortalShelf([
            .init(href: Self.start, assets: [gone]), .init(href: gone, text: nil, status: 404, role: 1),
            .init(href: guess, text: nil, status: 404, role: 1),
        ])
        var needs = SiteNeeds()
        needs.counts = MissingURLCounts(broken: 1, failed: 0, notFetched: 0)
        needs.broken = [
            .init(
                href: gone, reason: .other("the server answered 404"), isAsset: true, referrer: Self.start)
        ]
        let (heading, other) = ("<h2>Broken on the live site</h2>", "<h2>Answered with 404 or 410</h2>")
        let page = try shelf.get("/-/sites/1/missing", needs: needs).body
        #expect(page.contains("<dt>Broken on the live site</dt><dd>1</dd>"), "\(page)")
        #expect(page.contains(heading) && !page.contains(other) && !page.contains(guess), "\(page)")
        let json = try shelf.get("/-/sites/1/missing?format=json", needs: needs).json()
        #expect(json["brokenURLs"]?.array?.count == json["broken"]?.int && json["notFoundURLs"] == nil)

        // Without a walk it is not known which of these URLs are broken.
        let list = try shelf.get("/-/sites/1/missing").body
        #expect(!list.contains(heading) && list.contains(other) && list.contains(guess), "\(list)")
        let listJSON = try shelf.get("/-/sites/1/missing?format=json").json()
        #expect(listJSON["brokenURLs"]?.array == nil && listJSON["notFoundURLs"]?.array?.count == 2)
    }

    @Test func `each snapshot has the numbers of its pages and assets, as on the rest of the page`() throws {
        let shelf = try PortalShelf([.init(href: Self.start, text: "one")])
        #expect(try shelf.get("/-/sites/1").body.contains(">1 page, 0 assets<"))
        #expect(try shelf.get("/-/sites/1", in: .german).body.contains(">1 Seite, 0 Ressourcen<"))
        try shelf.snapshot([
            .init(href: Self.start, text: "one"), .init(href: Self.start + "a", text: "two"),
            .init(href: Self.start + "a.png", text: "png", role: 1, type: "image/png"),
            .init(href: Self.start + "gone", text: nil, status: 404),
            .init(href: Self.start + "robots.txt", text: "", role: 3, type: "text/plain"),
        ])
        let page = try shelf.get("/-/sites/1").body
        #expect(page.contains(">1 page, 0 assets<") && page.contains(">2 pages, 1 asset<"), "\(page)")
        #expect(page.contains("<dt>Pages</dt><dd>2</dd>") && page.contains("<dt>Assets</dt><dd>1</dd>"))
    }

    @Test func `all pages show one size of a site, and name the part beside its pages and assets`() throws {
        let shelf = try PortalShelf()
        let (page, copy) = (String(repeating: "p", count: 40_000), String(repeating: "c", count: 300_000))
        try shelf.snapshot([
            .init(href: Self.start, text: page),
            .init(href: Self.start, text: copy, request: .frozen, role: 2, type: "text/plain"),
            // The same bytes under two types are stored once.
            .init(href: Self.start + "a.css", text: "same", role: 1, type: "text/css", form: "css"),
            .init(href: Self.start + "b.css", text: "same", role: 1, type: "text/plain", form: "css"),
        ])
        let snapshot = try #require(try shelf.reader().sites()[0].snapshots.first)
        // A server of an earlier version counted less.
        ActivityDatabase.store(
            [
                SnapshotFigure(
                    of: snapshot.id, kind: "tally-20000", key: try #require(snapshot.figureKey),
                    value:
                        "{\"pages\":1,\"assets\":2,\"redirects\":0,\"isCapped\":false,\"bytes\":7,\"isEstimate\":false}"
                )
            ], keepingOnly: [snapshot.id], in: shelf.folder)
        let byteCount = 340_004
        #expect(try shelf.get("/?format=json").json()["sites"]?[0]?["bytes"]?.int == byteCount)
        #expect(try shelf.get("/-/room?format=json").json()["sites"]?[0]?["bytes"]?.int == byteCount)
        let site = try shelf.get("/-/sites/1?format=json").json()
        #expect(site["bytes"]?.int == byteCount && site["additionalBytes"]?.int == 300_000)
        #expect(site["types"]?.array?.allSatisfy { $0["responses"]?.int ?? 0 > 0 } == true)
        for target in ["/", "/-/sites/1", "/-/room"] {
            #expect(try shelf.get(target).body.contains("340.0 kB"), "\(target)")
        }
        let table = try shelf.get("/-/sites/1").body
        #expect(!table.contains("<td class=\"number\">0</td>"), "\(table)")
        #expect(table.contains("texts and copies of rendered pages"), "\(table)")
    }

    @Test func `sizes in German have one decimal comma`() throws {
        let shelf = try PortalShelf([.init(href: Self.start, text: String(repeating: "text ", count: 2500))])
        let page = try shelf.get("/-/room", in: .german).body
        let size = page.split(separator: "belegt ").dropFirst().first?.prefix { $0 != "B" }
        #expect(size?.contains(".") == false, "\(page)")
    }

    @Test func `large snapshots and single ones are not compared`() {
        func site(_ counts: [Int]) -> Site {
            let snapshots = counts.enumerated().map { index, count in
                Snapshot(
                    id: Int64(index + 1), number: Int64(index + 1), started: 1, finished: 2,
                    responseCount: count)
            }
            return Site(id: 1, name: Self.start, start: [Self.start], snapshots: snapshots, published: 1)
        }
        func pairs(_ counts: [Int]) -> [[Int64]] {
            SnapshotTimeline.pairs(of: site(counts)).map { [$0.from.id, $0.to.id] }
        }
        #expect(pairs([1]) == [])
        #expect(pairs([1, 1, 1]) == [[2, 3], [1, 2]])
        #expect(pairs([1, SnapshotTimeline.maxComparedResponses + 1, 1, 1]) == [[3, 4]])
        #expect(pairs(Array(repeating: 1, count: 20)).count == SnapshotTimeline.maxComparisons)
    }

    @Test(arguments: [
        (SiteNeeds.UnmetNeed.Reason.answered(status: 503), ProblemsSection.Cause.serverError),
        (.answered(status: 403), .refused), (.answered(status: 302), .other), (.notStored, .notStored),
        (.part, .part), (.other("its host has no address"), .noAddress),
        (.other("the server answered 500"), .serverError), (.other("the server answered "), .other),
        (.other(""), .other),
    ])
    func `a problem has a cause`(reason: SiteNeeds.UnmetNeed.Reason, cause: ProblemsSection.Cause) {
        #expect(ProblemsSection.Cause(reason) == cause)
    }

    @Test(arguments: [
        ("text/html", StorageByKind.Kind.pages), ("application/xhtml+xml", .pages),
        ("image/svg+xml", .images),
        ("text/javascript", .scripts), ("text/css", .styles), ("font/woff2", .fonts), ("video/mp4", .media),
        ("application/pdf", .documents), ("application/json", .data), ("application/zip", .other),
        ("", .other),
    ])
    func `a media type belongs to a kind of content`(type: String, kind: StorageByKind.Kind) {
        #expect(StorageByKind.Kind(type) == kind)
    }

    @Test func `kinds are listed by size`() {
        let tallies = [
            TypeTally(type: "image/png", count: 1, byteCount: 5),
            TypeTally(type: "text/html", count: 2, byteCount: 7),
            TypeTally(type: "image/gif", count: 1, byteCount: 5),
            TypeTally(type: nil, count: 1, byteCount: 0),
            TypeTally(type: "text/html", count: 0, byteCount: 9),
        ]
        let kinds = StorageByKind(tallies).kinds
        #expect(kinds.map(\.kind) == [.images, .additional, .pages, .other])
        #expect(kinds.map(\.count) == [2, 0, 2, 1])
    }

    @Test(arguments: [
        ("", 2), ("&type=html", 2), ("&type=pdf", 0), ("&age=day", 2), ("&site=1", 2), ("&site=7", 0),
        ("&type=x&age=x&site=x", 2),
    ])
    func `a search filters by site, type and age`(filters: String, count: Int) throws {
        let shelf = try PortalShelf([
            .init(href: Self.start + "jam/plum", title: "Plum jam"),
            .init(href: Self.start + "jam/pear", title: "Pear jam"),
        ])
        let found = try shelf.get("/-/search?q=jam\(filters)&format=json").json()
        #expect(found["results"]?.array?.count == count)
    }

    @Test(arguments: [
        (1, "The first one contains all words, the rest only some of them."),
        (2, "The first 2 contain all words, the rest only some of them."),
    ])
    func `a search says how many results contain all words`(count: Int, words: String) throws {
        func page(_ name: String, _ text: String) -> PortalShelf.Entry {
            .init(href: Self.start + name, title: name, text: "<title>\(name)</title><p>\(text)</p>")
        }
        let complete = (0..<count).map { page("both\($0)", "jam of plums, kind \($0)") }
        let shelf = try PortalShelf(complete + [page("cake", "cake of plums")])
        _ = try IndexRun(shelf.folder, Interruption()).run()
        let result = try shelf.get("/-/search?q=jam+plums").body
        #expect(result.contains("\(count + 1) results. \(words)"), "\(result)")
    }

    @Test func `the filters of a search stay selected`() throws {
        let page = try PortalShelf([.init(href: Self.start)]).get("/-/search?q=jam&type=pdf&age=week").body
        #expect(page.contains("<option value=\"pdf\" selected=\"\">"))
        #expect(page.contains("<option value=\"week\" selected=\"\">"))
    }

    @Test func `a changed page is compared by its text`() throws {
        let shelf = try PortalShelf([
            .init(href: Self.start, text: "<p>first<p>old words<p>last"),
            .init(href: Self.start + "a", text: "a"),
        ])
        let target = "/-/sites/1/compare?url=\(Self.start)"
        #expect(try shelf.get(target).status == 404)
        try shelf.snapshot([
            .init(href: Self.start, text: "<p>first<p>new &lt;words&gt;<p>last"),
            .init(href: Self.start + "a", text: "a"),
        ])
        #expect(try shelf.get("/-/sites/1/changes").body.contains("/compare?url="))
        let page = try shelf.get(target).body
        for words in ["old words", "new &lt;words&gt;", "<del>", "<ins>", "the descriptions of its images"] {
            #expect(page.contains(words), "\(words)")
        }
        let lines = try shelf.get(target + "&format=json").json()["lines"]?.array
        let added = lines?.filter { $0["kind"]?.string == "added" }
        #expect(added?.compactMap { $0["text"]?.string } == ["new <words>"])
        for other in ["?url=\(Self.start)none", "", "?url=\(Self.start)&from=9&to=8x"] {
            let status = try shelf.get("/-/sites/1/compare\(other)").status
            #expect(status == (other.hasSuffix("8x") ? 200 : 404), "\(other)")
        }
    }

    @Test(arguments: [
        ("a b c", "a b c", ""), ("a", "b", "-a +b"), ("a b", "b", "-a =b"), ("b", "b c", "=b +c"),
        ("1 2 3 4 x 5 6 7 8", "1 2 3 4 y 5 6 7 8", "~2 =3 =4 -x +y =5 =6 ~2"), ("a", "", "-a"),
    ])
    func `equal lines far from a difference are left out`(old: String, new: String, expected: String) {
        func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
        let lines = TextDifference(from: words(old), to: words(new))?.lines.map { line in
            switch line {
            case .same(let text): "=\(text)"
            case .removed(let text): "-\(text)"
            case .added(let text): "+\(text)"
            case .gap(let count): "~\(count)"
            }
        }
        #expect(lines?.joined(separator: " ") == expected)
    }

    @Test func `texts with too many different lines are not compared`() {
        let many = (0...TextDifference.maxComparedLines).map { "\($0)" }
        #expect(TextDifference(from: many, to: []) == nil)
        #expect(TextDifference(from: many, to: many)?.isEmpty == true)
    }
}
