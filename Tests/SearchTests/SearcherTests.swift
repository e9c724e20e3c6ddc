import Glibc
import Reports
import System
import TestOrigin
import Testing
import Web

@testable import Search
@testable import Store

@Suite struct SearcherTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(scratch.file("store"))
    }

    /// A page with a title, and a heading with an anchor above its text.
    private static func page(_ title: String, _ text: String) -> String {
        "<!DOCTYPE html><title>\(title)</title><p>Start.</p><h2 id=more>More on it</h2><p>\(text)</p>"
    }

    /// Stores a snapshot of a site, and publishes it.
    @discardableResult
    private func store(
        _ pages: [String: String], gone: [String] = [], site: String = "http://a.test/",
        type: String = "text/html", flags: ResponseFlags = []
    ) throws -> Int64 {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: site, start: [site], now: 1)
        let responses = try pages.sorted { $0.key < $1.key }.map { path, text in
            let body = try NewBody(
                .bytes(Array(text.utf8)), form: type == "text/html" ? "html;utf-8" : "plainText;utf-8",
                links: [], in: folder
            )
            var response = NewResponse(
                href: site + path, referrer: nil, status: 200, role: 0, fields: "Content-Type: \(type)\r\n",
                fetched: 1, body: .new(body))
            response.type = type
            response.flags = flags
            return response
        }
        let tombstones = gone.map { path in
            NewResponse(
                href: site + path, referrer: nil, status: 404, role: 0, fields: "", fetched: 1, body: .none)
        }
        try writer.add(responses + tombstones, links: [], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        return snapshot.id
    }

    @discardableResult
    private func index() throws -> IndexReport { try IndexRun(folder, Interruption()).run() }

    private func search(
        _ question: String, hidesPrivate: Bool = false, _ change: (inout SearchOptions) -> Void = { _ in }
    ) throws -> SearchReport {
        var options = SearchOptions()
        change(&options)
        let searcher = Searcher(try StoreReader(folder, hidesPrivate: hidesPrivate))
        return try searcher.search(try SearchQuery(question), options)
    }

    private func urls(
        _ question: String, _ change: (inout SearchOptions) -> Void = { _ in }
    ) throws -> [String] {
        try search(question, change).hits.map(\.url)
    }

    @Test func `a hit names the page, its title and the section that has the words`() throws {
        try store([
            "plum": Self.page("Plums", "How to make jam of plums."), "pear": Self.page("Pears", "Juice."),
        ])
        try index()
        let report = try search("jam")
        let hit = try #require(report.hits.first)
        #expect(report.hits.count == 1)
        #expect(report.texts == 2)
        #expect((hit.url, hit.title) == ("http://a.test/plum", "Plums"))
        #expect((hit.heading, hit.address) == ("More on it", "http://a.test/plum#more"))
        #expect(hit.snippet.parts.contains { $0.isMarked && $0.text == "jam" })
    }

    @Test func `a German page is found by another form of a word, which is marked`() throws {
        func page(_ text: String) -> String {
            "<!DOCTYPE html><html lang=de><title>Seite</title><p>\(text)</p>"
        }
        try store(["haus": page("Das Haus am See."), "dorf": page("Die Häuser im Dorf.")])
        try index()
        for question in ["Häuser", "Haus", "hauses"] {
            let hits = try search(question).hits
            #expect(Set(hits.map(\.url)) == ["http://a.test/haus", "http://a.test/dorf"])
            let marked = hits.flatMap(\.snippet.parts).filter(\.isMarked).map(\.text)
            #expect(Set(marked) == ["Haus", "Häuser"])
        }
        #expect(try urls("\"Häuser\"") == ["http://a.test/dorf"])
    }

    @Test func `a heading is shown without its colon`() throws {
        try store(["f": "<!DOCTYPE html><title>List</title><p>x</p><h2 id=f>Functions:</h2><p>A jar.</p>"])
        try index()
        let hit = try #require(try search("jar").hits.first)
        #expect((hit.heading, hit.headingAfterTitle) == ("Functions:", "Functions"))
    }

    @Test func `a page whose title is the query comes first`() throws {
        let text = String(repeating: "A shelf is named again and again. Shelf. ", count: 20)
        try store([
            "often": Self.page("Kitchens", text), "shelf.html": Self.page("Shelf", "Boards and brackets."),
        ])
        try index()
        #expect(try urls("shelf") == ["http://a.test/shelf.html", "http://a.test/often"])
    }

    @Test func `without an index there are no hits, and the report says so`() throws {
        try store(["": Self.page("Plums", "jam")])
        #expect(try search("jam").texts == nil)
        #expect(try search("jam").hits.isEmpty)
    }

    @Test func `a removed page is found only in the earlier snapshot`() throws {
        try store(["plum": Self.page("Plums", "jam"), "pear": Self.page("Pears", "jam")])
        try index()
        try store(["pear": Self.page("Pears", "jam")], gone: ["plum"])
        #expect(try urls("jam") == ["http://a.test/pear"])
        #expect(
            try urls("jam") { $0.snapshot = 1 }.sorted() == ["http://a.test/pear", "http://a.test/plum"])
    }

    @Test func `hits can be restricted to responses of a time`() throws {
        try store(["plum": Self.page("Plums", "Jam.")])
        try index()
        #expect(try urls("jam") { $0.fetchedSince = Timestamp(secondsSinceEpoch: 1) }.count == 1)
        #expect(try urls("jam") { $0.fetchedSince = Timestamp(secondsSinceEpoch: 2) } == [])
    }

    @Test func `hits can be restricted to a site or a type`() throws {
        try store(["": Self.page("Plums", "jam")])
        try store(["": Self.page("Pears", "jam")], site: "http://b.test/")
        try store(["notes.txt": "jam of apples"], site: "http://c.test/", type: "text/plain")
        try index()
        #expect(try urls("jam").count == 3)
        #expect(try urls("jam") { $0.site = "b.test" } == ["http://b.test/"])
        #expect(try urls("jam") { $0.type = TypeFilter("text/plain") } == ["http://c.test/notes.txt"])
        #expect(throws: StoreError.self) { try urls("jam") { $0.site = "d.test" } }
        // The number 1 is ambiguous, because each site has a snapshot 1.
        #expect(throws: StoreError.self) { try urls("jam") { $0.snapshot = 1 } }
    }

    @Test func `limit and offset select hits, and the report says whether there are more`() throws {
        let pages = (0..<15).map { ("page\($0)", Self.page("Page \($0)", "jam number \($0)")) }
        try store(Dictionary(uniqueKeysWithValues: pages))
        try index()
        let first = try search("jam")
        let second = try search("jam") { $0.offset = 10 }
        #expect((first.hits.count, first.hasMore) == (10, true))
        #expect((second.hits.count, second.hasMore) == (5, false))
        #expect(Set(first.hits.map(\.url)).union(second.hits.map(\.url)).count == 15)
        #expect(try search("jam") { $0.offset = 15 }.hits.isEmpty)
    }

    @Test func `if no page has all words, pages with some of them are found`() throws {
        try store(["plum": Self.page("Plums", "jam of plums"), "pear": Self.page("Pears", "juice of pears")])
        try index()
        let report = try search("jam juice")
        #expect(report.isRelaxed)
        #expect(Set(report.hits.map(\.url)) == ["http://a.test/plum", "http://a.test/pear"])
        #expect(try !search("jam plums").isRelaxed)
    }

    @Test func `if pages with some of the words fill up the hits, the report counts those with all words`()
        throws
    {
        try store([
            "plum": Self.page("Plums", "jam of plums"), "cake": Self.page("Cakes", "cake of plums"),
            "pear": Self.page("Pears", "juice of pears"),
        ])
        try index()
        let mixed = try search("jam plums")
        #expect(mixed.hits.map(\.url) == ["http://a.test/plum", "http://a.test/cake"])
        #expect(!mixed.isRelaxed && mixed.completeHitCount == 1)
        #expect(try search("jam of plums").completeHitCount == 1)
        #expect(try search("plums").completeHitCount == nil)
        #expect(try search("jam pears").completeHitCount == nil, "no page has both words")
    }

    @Test func `for a mistyped word, the query with a known word is proposed`() throws {
        try store(["": Self.page("Dictionaries", "a dictionary of plums")])
        try index()
        #expect(try search("dictonary").proposals == ["dictionary"])
        #expect(try search("dictionary").proposals.isEmpty)
    }

    @Test func `a query without hits is not proposed`() throws {
        try store(["": Self.page("Dictionaries", "a dictionary of plums")])
        try index()
        #expect(try search("\"dictonary plums\"").proposals.isEmpty)
        #expect(try search("\"dictonary of plums\"").proposals == ["\"dictionary of plums\""])
    }

    @Test func `a reader without private responses finds none of their words, nor proposals from them`()
        throws
    {
        try store(["": Self.page("Account", "balance of the secretword")], flags: .isPrivate)
        try store(["": Self.page("Plums", "balance of jam")], site: "http://b.test/")
        try index()
        #expect(try urls("secretword") == ["http://a.test/"])
        let hidden = try search("secretword", hidesPrivate: true)
        #expect(hidden.hits.isEmpty)
        #expect(try search("secretwodr", hidesPrivate: true).proposals.isEmpty)
        #expect(try search("balance", hidesPrivate: true).hits.map(\.url) == ["http://b.test/"])
    }

    // MARK: - Indexing

    @Test func `a second indexing reads only new texts`() throws {
        try store(["plum": Self.page("Plums", "jam")])
        #expect(try index().texts == 1)
        let again = try index()
        #expect((again.texts, again.known, again.left) == (0, 1, 0))
        try store(["plum": Self.page("Plums", "jam"), "pear": Self.page("Pears", "juice")])
        #expect(try index().texts == 1)
        #expect(try urls("juice") == ["http://a.test/pear"])
    }

    @Test func `an indexing that runs out of time reports how many texts are left for the next one`() throws {
        let pages = (0..<30).map { ("page\($0)", Self.page("Page \($0)", "jam number \($0)")) }
        try store(Dictionary(uniqueKeysWithValues: pages))
        var run = IndexRun(folder, Interruption())
        run.budget = .zero
        let report = try run.run()
        #expect(report.left > 0)
        #expect(try search("jam").unread == report.left)
        #expect(try index().left == 0)
        #expect(try search("jam").unread == 0)
        #expect(try search("jam").texts == 30)
    }

    @Test func `an interrupted indexing keeps the indexed texts, and the next one completes it`() throws {
        let pages = (0..<30).map { ("page\($0)", Self.page("Page \($0)", "jam number \($0)")) }
        try store(Dictionary(uniqueKeysWithValues: pages))
        let interruption = Interruption()
        interruption.request()
        #expect(try IndexRun(folder, interruption).run().isInterrupted)
        let report = try index()
        #expect(!report.isInterrupted)
        #expect(try search("jam").texts == 30)
    }

    @Test func `a damaged index is rebuilt`() throws {
        try store(["plum": Self.page("Plums", "jam")])
        try index()
        let path = folder.path + "/search.db"
        let size = try WholeFile.read(path, atMost: 1 << 26).count
        let file = open(path, O_WRONLY)
        let zeros = [UInt8](repeating: 0x5A, count: size - 200)
        #expect(pwrite(file, zeros, zeros.count, 200) == zeros.count)
        close(file)
        for name in ["search.db-wal", "search.db-shm"] { unlink(folder.path + "/" + name) }
        #expect(try index().texts == 1)
        #expect(try urls("jam") == ["http://a.test/plum"])
    }
}
