import Synchronization
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Queries that only show stored content in another way.
@Suite struct QueryViewsTests {
    @Test(arguments: [
        ("sort=a&dir=b", ["dir", "sort"]), ("dir=b&sort=a", ["dir", "sort"]), ("sort=a&page=2", ["sort"]),
        ("_next=a%2C7", []), ("page=about", ["page"]), ("p=3", []), ("a&b=", ["a", "b"]), ("", []),
        ("&&=1", []), ("p=a;sort=b;page=2", ["p", "sort"]), ("action=17&id=1", ["action", "id"]),
        ("p=x;a=blob;f=b.py", ["a=blob", "f", "p"]),
        ("route=product/product&id=4", ["id", "route=product/product"]),
    ])
    func `the names of parameters are sorted, without those of list pages`(query: String, names: [String]) {
        #expect(QueryViews.names(query) == names)
    }

    @Test(arguments: [
        ("sort=a&dir=b", ["?dir=b", "?sort=a"]), ("t=1&start=20", ["?start=20"]), ("id=1", []),
        ("p=a;sort=b", ["?p=a", "?sort=b"]),
        ("123-title&p=4&full=1", ["?123-title", "?123-title&p=4", "?p=4&full=1", "?full=1"]),
        (
            "/topic/1/&do=find&comment=2",
            ["?/topic/1/", "?/topic/1/&comment=2", "?/topic/1/&do=find", "?do=find&comment=2"]
        ),
    ])
    func `a page may be a view of the pages with some of its parameters`(query: String, parents: [String]) {
        #expect(QueryViews.parents(of: query) == parents.sorted())
    }

    // MARK: - In crawls

    private static let columns = ["name", "height", "colour", "place", "age", "owner", "state", "note"]

    private static func text(_ number: Int) -> String {
        var random = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        return (0..<40).map { _ in
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return String(
                decoding: (1...5).map { (place: UInt64) -> UInt8 in
                    let letter: UInt64 = (random >> (8 * place)) % 26
                    return UInt8(ascii: "a") + UInt8(letter)
                }, as: UTF8.self)
        }.joined(separator: " ")
    }

    /// A list of rows in pages of ten, which can be sorted by eight columns and filtered by a word.
    private func list(_ bench: CrawlBench, rows: Int = 30) {
        bench.origin.on("/", .page("<a href=/rows>rows</a>"))
        bench.origin.otherwise { request in
            guard let url = WebURL("http://a.test" + request.target) else { return .failure(404) }
            if url.path != "/rows" {
                guard let number = Int(url.path.dropFirst("/rows/".count)) else { return .failure(404) }
                return .page(
                    "<h1>Row \(number)</h1><a href=/rows>rows</a> \(Self.text(number)) \(Self.text(number + 1000))"
                )
            }
            let query = url.query ?? ""
            let items = query.split(separator: "&").map(String.init)
            let value = { (name: String) in
                items.first { $0.hasPrefix(name + "=") }?.dropFirst(name.count + 1)
            }
            let seed = value("sort").map { $0.utf8.reduce(7) { ($0 * 31 + Int($1)) % 101 } } ?? 0
            var order = (1...rows).sorted { ($0 * seed % 31, $0) < ($1 * seed % 31, $1) }
            if let word = value("kind") { order = order.filter { $0 % 5 == Int(word) } }
            let page = value("page").flatMap { Int($0) } ?? 1
            let shown = order.dropFirst((page - 1) * 10).prefix(10)
            let base = items.filter { !$0.hasPrefix("page=") && !$0.hasPrefix("sort=") }
            let link = { (part: String) in "/rows?" + (base + [part]).joined(separator: "&") }
            let sorts = Self.columns.map { "<th><a href='\(link("sort=" + $0))'>\($0)</a>" }
            let kinds = (0..<5).map { "<a href='/rows?kind=\($0)'>kind \($0)</a>" }
            let cells = shown.map { "<tr><td><a href=/rows/\($0)>\($0)</a><td>\(Self.text($0))" }
            let sort = value("sort").map { "&sort=\($0)" } ?? ""
            let next = order.count > page * 10 ? "<a href='\(link("page=\(page + 1)"))\(sort)'>next</a>" : ""
            return .page("<table>\(sorts.joined())\(cells.joined())</table>\(kinds.joined())\(next)")
        }
    }

    private func rows(_ bench: CrawlBench) -> Set<String> {
        Set(bench.origin.requests.map(\.target).filter { $0.hasPrefix("/rows/") })
    }

    @Test func `every row of a list is fetched, but only a few of its sorted and filtered views`() throws {
        let bench = try CrawlBench()
        list(bench)
        let report = try bench.crawl()
        #expect(rows(bench).count == 30)
        let queries = bench.origin.requests.map(\.target).filter { $0.contains("?") }
        #expect(queries.contains("/rows?page=2") && queries.contains("/rows?page=3"))
        #expect(queries.count { $0.contains("sort=") && !$0.contains("page=") } <= 6)
        #expect(queries.count <= 24, "\(queries)")
        #expect(report.skipped.contains { $0.cause == .view })
        #expect(report.skipped.allSatisfy { $0.cause == .view })
        let left = try #require(LeftOut(report))
        let queried = Set(queries)
        for column in Self.columns where !queried.contains("/rows?sort=\(column)") {
            let url = try #require(WebURL(bench.origin.url("/rows?sort=\(column)")))
            #expect(left.reason(for: url) == SkipReason.view.name)
        }
        #expect(left.reason(for: try #require(WebURL(bench.origin.url("/rows?page=2")))) == nil)
        #expect(LeftOut(try JSONValue.parse(Array(left.members.text().utf8).span)) == left)
    }

    @Test func `the next run fetches the same views`() throws {
        let bench = try CrawlBench()
        list(bench)
        let first = try bench.crawl()
        let targets = Set(bench.origin.requests.map(\.target))
        let count = bench.origin.requests.count
        let second = try bench.crawl { $0.sitePlan.leftOut = LeftOut(first) }
        #expect(Set(bench.origin.requests.dropFirst(count).map(\.target)) == targets)
        #expect(second.views.mapValues { $0.sorted() } == first.views.mapValues { $0.sorted() })
    }

    @Test func `views are fetched if the user includes them`() throws {
        let bench = try CrawlBench()
        list(bench)
        let report = try bench.crawl { $0.sitePlan.scope.includesViews = true }
        #expect(report.skipped.isEmpty)
        let queries = Set(bench.origin.requests.map(\.target).filter { $0.contains("?") })
        #expect(Self.columns.allSatisfy { queries.contains("/rows?sort=\($0)") })
        let some = try CrawlBench()
        list(some)
        _ = try some.crawl { $0.sitePlan.scope.include = ["/rows?sort=*"] }
        let wanted = Set(some.origin.requests.map(\.target))
        #expect(Self.columns.allSatisfy { wanted.contains("/rows?sort=\($0)") })
    }

    @Test func `articles that differ in a query parameter are all fetched`() throws {
        let bench = try CrawlBench()
        let links = (1...80).map { "<a href='/index.php?id=\($0)'>\($0)</a>" }.joined()
        bench.origin.on("/", .page(links + "<a href=/index.php>index</a>"))
        bench.origin.otherwise { request in
            guard let query = WebURL("http://a.test" + request.target)?.query else {
                return .page("The index of all articles")
            }
            guard let number = query.split(separator: "&").first.flatMap({ Int($0.dropFirst(3)) }) else {
                return .failure(404)
            }
            let other = "<a href='/index.php?id=\(number)&print=1'>print</a>"
            return .page(
                "<nav>Home News Contact</nav><h1>Article \(number)</h1>\(Self.text(number)) \(other)")
        }
        let report = try bench.crawl()
        let queries = Set(bench.origin.requests.map(\.target))
        #expect((1...80).allSatisfy { queries.contains("/index.php?id=\($0)") })
        let prints = queries.count { $0.contains("print") }
        #expect((1...16).contains(prints), "print views repeat the articles")
        #expect(report.skipped.count == 80 - prints)
    }

    @Test(arguments: [
        "Short words only of one article or product page number", "一篇只有几个汉字的很短的中文文章和另外一些字",
    ])
    func `short pages with the same words in another order are content`(words: String) throws {
        let bench = try CrawlBench()
        let links = (1...60).map { "<a href='/define?word=\($0)'>\($0)</a>" }.joined()
        bench.origin.on("/", .page(links + "<a href=/define>all words</a>"))
        bench.origin.otherwise { request in
            guard let number = Int(request.target.drop { $0 != "=" }.dropFirst()) else {
                return .page("All words")
            }
            // The same words in another order.
            let parts =
                words.contains(" ") ? words.split(separator: " ").map(String.init) : words.map { String($0) }
            let order = parts.indices.sorted { ($0 * number % 61, $0) < ($1 * number % 61, $1) }
            return .page(
                "<nav>Home All words Contact</nav><p>"
                    + order.map { parts[$0] }.joined(separator: words.contains(" ") ? " " : ""))
        }
        _ = try bench.crawl()
        #expect((1...60).allSatisfy { bench.count("/define?word=\($0)") == 1 })
    }

    @Test func `pages that differ only in numbers are content`() throws {
        let bench = try CrawlBench()
        let links = (1980...2020).map { "<a href='/table?year=\($0)'>\($0)</a>" }.joined()
        bench.origin.on("/", .page(links + "<a href=/table>all years</a>"))
        bench.origin.otherwise { request in
            guard let year = Int(request.target.drop { $0 != "=" }.dropFirst()) else {
                return .page("All years")
            }
            return .page(
                "<table>" + (0..<30).map { "<tr><td>Region<td>\(year * 7919 + $0 * 104_729)" }.joined())
        }
        _ = try bench.crawl()
        #expect((1980...2020).allSatisfy { bench.count("/table?year=\($0)") == 1 })
    }

    @Test func `a URL with only some parameters of a page may be a view of it`() throws {
        let bench = try CrawlBench()
        let links = (1...40).map { "<a href='/index.php?action=view&id=\($0)'>\($0)</a>" }.joined()
        bench.origin.on("/", .page(links + "<a href=/index.php>home</a>"))
        bench.origin.otherwise { request in
            guard let number = Int(request.target.drop { $0 != "=" }.drop { !$0.isNumber }) else {
                return .page("The front page")
            }
            return .page("\(Self.text(number)) <a href='/index.php?id=\(number)'>permalink</a>")
        }
        let first = try bench.crawl()
        #expect((1...40).allSatisfy { bench.count("/index.php?action=view&id=\($0)") == 1 })
        #expect(bench.origin.requests.count < 60, "the permalinks repeat the articles")
        _ = try bench.crawl { $0.sitePlan.leftOut = LeftOut(first) }
        #expect((1...40).allSatisfy { bench.count("/index.php?action=view&id=\($0)") == 2 })
    }

    @Test func `each kind of page that a parameter selects is judged by itself`() throws {
        let bench = try CrawlBench()
        let links = (1...40).map { "<a href='/index.php?action=view&id=\($0)'>\($0)</a>" }.joined()
        bench.origin.on("/", .page(links + "<a href=/index.php>home</a>"))
        bench.origin.otherwise { request in
            guard let number = Int(request.target.drop { $0 != "&" }.drop { !$0.isNumber }) else {
                return .page("The front page")
            }
            return .page("\(Self.text(number)) <a href='/index.php?action=large&id=\(number)'>large</a>")
        }
        _ = try bench.crawl()
        #expect((1...40).allSatisfy { bench.count("/index.php?action=view&id=\($0)") == 1 })
        let targets = bench.origin.requests.map(\.target)
        #expect(targets.count { $0.contains("action=large") } <= 8, "the large pages repeat the articles")
    }

    @Test func `a line that a parameter adds to each page is no content`() throws {
        let bench = try CrawlBench()
        bench.origin.on("/", .page((1...60).map { "<a href=/a/\($0)>\($0)</a>" }.joined()))
        bench.origin.otherwise { request in
            guard let url = WebURL("http://a.test" + request.target), let number = Int(url.path.dropFirst(3))
            else {
                return .failure(404)
            }
            let line = "This version was made by its author when the site began, and others came later."
            return .page(
                "<h1>Article \(number)</h1>\(url.query == nil ? "" : line)<p>\(Self.text(number))"
                    + "<a href='/a/\(number)?version=1'>first version</a>")
        }
        _ = try bench.crawl()
        let targets = bench.origin.requests.map(\.target)
        #expect((1...60).allSatisfy { targets.contains("/a/\($0)") })
        #expect(targets.count { $0.contains("?") } <= 28)
    }

    @Test func `a page with a query is a view of a page that is discovered after it`() throws {
        let bench = try CrawlBench()
        let latest = (1...80).map { "<a href=/a/\($0)?last=\($0)>last post</a>" }.joined()
        bench.origin.on("/", .page(latest + "<a href=/list>list</a>"))
        bench.origin.on("/list", .page((1...80).map { "<a href=/a/\($0)>\($0)</a>" }.joined()))
        bench.origin.otherwise { request in
            guard let url = WebURL("http://a.test" + request.target), let number = Int(url.path.dropFirst(3))
            else {
                return .failure(404)
            }
            return .page("<h1>Article \(number)</h1>\(Self.text(number))")
        }
        _ = try bench.crawl()
        let targets = bench.origin.requests.map(\.target)
        #expect((1...80).allSatisfy { targets.contains("/a/\($0)") })
        // Besides the samples, some are under way when the list arrives.
        #expect(targets.count { $0.contains("?") } <= 40)
    }

    @Test func `a view that has become content is content in the next run`() throws {
        let bench = try CrawlBench()
        bench.origin.on("/", .page((1...30).map { "<a href=/a/\($0)>\($0)</a>" }.joined()))
        let isTranslated = Mutex(false)
        bench.origin.otherwise { request in
            guard let url = WebURL("http://a.test" + request.target), let number = Int(url.path.dropFirst(3))
            else {
                return .failure(404)
            }
            let isOther = isTranslated.withLock { $0 } && url.query != nil
            return .page(
                "\(Self.text(isOther ? number + 500 : number)) <a href='/a/\(number)?lang=de'>Deutsch</a>")
        }
        let first = try bench.crawl()
        #expect(first.skipped.contains { $0.cause == .view })
        isTranslated.withLock { $0 = true }
        _ = try bench.crawl { $0.sitePlan.leftOut = LeftOut(first) }
        #expect((1...30).allSatisfy { bench.count("/a/\($0)?lang=de") >= 1 })
    }

    @Test func `a parameter that changes nothing on several paths is left out on all others`() throws {
        let bench = try CrawlBench()
        bench.origin.on("/", .page((1...40).map { "<a href=/a/\($0)>\($0)</a>" }.joined()))
        bench.origin.otherwise { request in
            guard let url = WebURL("http://a.test" + request.target), let number = Int(url.path.dropFirst(3))
            else {
                return .failure(404)
            }
            let shares = ["mail", "chat"].map { "<a href='/a/\(number)?share=\($0)'>\($0)</a>" }
            return .page("<h1>Article \(number)</h1>\(Self.text(number)) \(shares.joined())")
        }
        _ = try bench.crawl()
        let targets = bench.origin.requests.map(\.target)
        #expect((1...40).allSatisfy { targets.contains("/a/\($0)") })
        #expect(targets.count { $0.contains("?") } <= 16, "the samples of the first paths are enough")
    }

    @Test func `a parameter that only a list adds to its links is recognised too`() throws {
        let bench = try CrawlBench()
        let links = (1...40).map { "<a href=/a/\($0)>\($0)</a> <a href=/a/\($0)?last=\($0)>last post</a>" }
        bench.origin.on("/", .page(links.joined()))
        bench.origin.otherwise { request in
            guard let url = WebURL("http://a.test" + request.target), let number = Int(url.path.dropFirst(3))
            else {
                return .failure(404)
            }
            return .page("<h1>Article \(number)</h1>\(Self.text(number))")
        }
        _ = try bench.crawl()
        let targets = bench.origin.requests.map(\.target)
        #expect((1...40).allSatisfy { targets.contains("/a/\($0)") })
        #expect(targets.count { $0.contains("?") } <= 16, "the samples of the first paths are enough")
    }

    @Test func `files that differ in a query parameter are all fetched`() throws {
        let bench = try CrawlBench()
        let links = (1...20).map { "<a href='/get?file=\($0)'>\($0)</a>" }.joined()
        bench.origin.on("/", .page(links + "<a href=/get>all files</a>"))
        bench.origin.otherwise { request in
            request.target == "/get" ? .page("All files") : .file(request.target, type: "application/pdf")
        }
        let report = try bench.crawl()
        #expect(report.skipped.isEmpty)
        #expect((1...20).allSatisfy { bench.count("/get?file=\($0)") == 1 })
    }

    @Test func `versions of pages in a format for programs are left out`() throws {
        let bench = try CrawlBench()
        bench.origin.on(
            "/", .page((1...6).map { "<a href=/a/\($0)>\($0)</a>" }.joined() + "<a href=/data.json>d</a>"))
        bench.origin.on("/data.json", .file("{}", type: "application/json"))
        for number in 1...6 {
            bench.origin.on(
                "/a/\(number)",
                .page("<h1>\(number)</h1>\(Self.text(number)) <a href=/a/\(number).json>data</a>"))
            bench.origin.on("/a/\(number).json", .file("{}", type: "application/json"))
        }
        let report = try bench.crawl()
        #expect((1...6).allSatisfy { bench.count("/a/\($0)") == 1 && bench.count("/a/\($0).json") == 0 })
        #expect(report.sideNames == [".json": .history])
        #expect(LeftOut(report)?.reason(for: try #require(WebURL(bench.origin.url("/a/3.json")))) != nil)
        let all = try CrawlBench()
        all.origin.on("/", .page((1...6).map { "<a href=/a/\($0)>\($0)</a>" }.joined()))
        for number in 1...6 {
            all.origin.on(
                "/a/\(number)",
                .page("<h1>\(number)</h1>\(Self.text(number)) <a href=/a/\(number).json>data</a>"))
            all.origin.on("/a/\(number).json", .file("{}", type: "application/json"))
        }
        _ = try all.crawl { $0.sitePlan.scope.includesHistory = true }
        #expect((1...6).allSatisfy { all.count("/a/\($0).json") == 1 })
    }
}
