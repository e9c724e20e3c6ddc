import Fetch
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Pages beside the content of a site: histories and forms.
@Suite struct SidePageTests {
    @Test(arguments: [
        ("/w/index.php?title=A&action=edit", SidePage.form),
        ("/w/index.php?title=A&action=history", .history),
        ("/w/index.php?title=A&oldid=17", .history), ("/w/index.php?title=A&diff=prev&oldid=17", .history),
        ("/wiki/A?veaction=edit", .form), ("/wiki/Special:WhatLinksHere/A", .history),
        ("/wiki/Spezial:Anmelden", .form), ("/w/index.php?title=Special:Log", .history),
        ("/wiki/A?action=AttachFile", .form), ("/doku.php?id=a&do=revisions", .history),
        ("/doku.php?id=a&rev=1700000000", .history), ("/doku.php?id=a&do=export_pdf", .history),
        ("/doku.php?id=a&do=login&sectok=", .form), ("/?p=git&a=commitdiff", .history),
        ("/wiki/Special:WhatLinksHere/Talk:A", .history),
        ("/post/1?replytocom=7", .form),
        ("/?p=beans/.git;a=commitdiff;h=0c1d", .history),
        ("/?p=beans/.git;a=blob;f=a.py;hb=0123456789abcdef0123456789abcdef01234567", .history),
        ("/wiki/A?format=txt", .history), ("/report?format=sql&id=1", .history),
        ("/?p=beans/.git;a=atom;f=a.py", .history), ("/?p=beans/.git;a=blame;f=a.py;hb=HEAD", .history),
        ("/?p=beans/.git;a=history;f=a.py;h=0c1d;hb=HEAD", .history),
        ("/?p=beans/.git;a=search;s=Anna;st=author", .history),
        ("/reports/locked/?export=xlsx", .history),
        ("/?p=beans/.git;a=tree;h=refs/tags/v1;hb=refs/tags/v1", .history),
    ])
    func `side pages are recognised by their URL`(target: String, page: SidePage) throws {
        #expect(SidePage(try #require(WebURL("http://a.test" + target))) == page)
    }

    @Test(arguments: [
        "/", "/wiki/A", "/w/index.php?title=A", "/doku.php?id=a", "/doku.php?id=a&do=index",
        "/?action=products",
        "/wiki/Special:AllPages", "/wiki/Talk:A", "/list?diff=red", "/docs?rev=latest", "/wiki/12:30",
        "/?a=1", "/?a=search", "/?p=beans/.git;a=commit;h=0123456789abcdef0123456789abcdef01234567",
        "/wiki/Category:Special", "/login", "/about/history", "/list?action=report", "/?rev=2", "/?a=history",
        "/index.php?curid=42", "/wiki/Special:MyLanguage/Alpha", "/?action=upload",
        "/?p=beans/.git;a=tree;hb=HEAD",
        "/?p=beans/.git;a=blob;f=a.py;hb=refs/heads/0123456789abcdef0123456789abcdef01234567",
        "/list?format=large", "/trade?export=coffee",
    ])
    func `content is not recognised as a side page`(target: String) throws {
        #expect(SidePage(try #require(WebURL("http://a.test" + target))) == nil)
    }

    @Test func `links to log in are requested once, and a login page in place of another page is requested`()
        throws
    {
        let bench = try CrawlBench()
        bench.origin.on("/", .page("<a href=/login?next=/>Log in</a><a href=/private>private</a>"))
        bench.origin.on("/private", .redirect(to: "/login?next=/private"))
        bench.origin.on("/login", .page("<form method=post><input type=password></form>"))
        let report = try bench.crawl()
        let targets = bench.origin.requests.map(\.target)
        #expect(targets.contains("/login?next=/private") && !targets.contains("/login?next=/"), "\(targets)")
        #expect(report.skipped.isEmpty)
    }

    private static let parts = ["history", "edit", "raw"]

    /// Serves pages, each with a history, a form and a source text below its URL.
    private func serveWiki(_ bench: CrawlBench, pages: Int) {
        let links = (1...pages).map { "<a href=/\($0)>\($0)</a>" }.joined()
        bench.origin.on("/", .page(links))
        for number in 1...pages {
            let sides = Self.parts.map { "<a href=/\(number)/\($0)>\($0)</a>" }.joined()
            bench.origin.on("/\(number)", .page("Page \(number). \(sides)"))
            for part in Self.parts { bench.origin.on("/\(number)/\(part)", .page("\(part) of \(number)")) }
        }
    }

    @Test func `the same names in several folders mean side pages`() throws {
        let bench = try CrawlBench()
        serveWiki(bench, pages: 4)
        let report = try bench.crawl()
        #expect(report.pages == 5)
        #expect(bench.origin.requests.count == 5)
        #expect(report.skipped.count == 12)
        #expect(report.sideNames == ["history": .history, "edit": .form, "raw": .history])
        #expect(LeftOut(report)?.reason(for: try #require(WebURL(bench.origin.url("/3/edit")))) != nil)
    }

    @Test func `the same name in two folders may mean content`() throws {
        let bench = try CrawlBench()
        serveWiki(bench, pages: 2)
        let report = try bench.crawl()
        #expect(report.pages == 9)
        #expect(report.skipped.isEmpty)
    }

    @Test func `pages that differ from others in a part of the path show these in another way`() throws {
        let bench = try CrawlBench()
        let hashes = (10...15).map { "0123456789\($0)" }
        let files = (1...5).map { "<a href=/r/blob/main/\($0)>\($0)</a>" }.joined()
        let commits = hashes.map { "<a href=/r/tree/\($0)>\($0)</a>" }.joined()
        bench.origin.on("/", .page("<a href=/r/tree/main>files</a>" + commits))
        bench.origin.on("/r/tree/main", .page("The files of the repository: " + files))
        for number in 1...5 {
            bench.origin.on(
                "/r/blob/main/\(number)", .page("File \(number) <a href=/r/raw/main/\(number)>raw</a>"))
            bench.origin.on("/r/raw/main/\(number)", .file("File \(number)", type: "text/plain"))
        }
        for hash in hashes { bench.origin.on("/r/tree/\(hash)", .page("The files of \(hash)")) }
        let report = try bench.crawl()
        #expect(report.pages == 7 && report.sideNames == ["/raw/": .history, "/commit/": .history])
        let left = try #require(WebURL(bench.origin.url("/r/raw/main/3")))
        #expect(LeftOut(report)?.reason(for: left) != nil)
    }

    @Test func `pages whose paths only look like those of a repository browser are content`() throws {
        let bench = try CrawlBench()
        let targets = (1...5).flatMap { ["/raw/vegetables/\($0)", "/file/0123456789a\($0)/picture"] }
        bench.origin.on("/", .page(targets.map { "<a href=\($0)>\($0)</a>" }.joined()))
        for target in targets { bench.origin.on(target, .page("Words of \(target)")) }
        let report = try bench.crawl()
        #expect(report.pages == 11 && report.sideNames.isEmpty)
    }

    @Test(arguments: [("edit", false), ("posts/new", true), ("17/post/update", true)])
    func `forms below several pages are left out, with a login only nested ones`(form: String, isNested: Bool)
        throws
    {
        let bench = try CrawlBench()
        bench.origin.on("/", .page((1...4).map { "<a href=/topics/\($0)>\($0)</a>" }.joined()))
        for number in 1...4 {
            bench.origin.on(
                "/topics/\(number)", .page("Topic \(number) <a href=/topics/\(number)/\(form)>write</a>"))
            bench.origin.on("/topics/\(number)/\(form)", .page("<form method=post>\(number)</form>"))
        }
        let report = try bench.crawl()
        #expect(report.pages == 5 && report.sideNames.keys.allSatisfy { form.hasSuffix($0) })
        #expect(
            LeftOut(report)?.reason(for: try #require(WebURL(bench.origin.url("/topics/3/\(form)")))) != nil)
        let withLogin = try bench.crawl {
            try $0.fetch.hostFields.add("Cookie", "session=1", host: "127.0.0.1")
        }
        #expect(withLogin.pages == (isNested ? 5 : 9))
    }

    @Test(arguments: [
        ["create", "list", "get", "delete", "update"], ["attach", "create", "diff", "exec", "ls", "rename"],
        ["clone", "create", "edit", "list", "view"],
    ])
    func `pages of a reference are content, whatever the functions are called`(names: [String]) throws {
        let bench = try CrawlBench()
        let resources = ["users", "groups", "files", "roles"]
        bench.origin.on("/", .page(resources.map { "<a href=/api/\($0)/>\($0)</a>" }.joined()))
        for resource in resources {
            let links = names.map { "<a href=/api/\(resource)/\($0)/>\($0)</a>" }.joined()
            bench.origin.on("/api/\(resource)/", .page("The functions for \(resource) \(links)"))
            for name in names {
                bench.origin.on(
                    "/api/\(resource)/\(name)/", .page("The function \(name) of \(resource) \(links)"))
            }
        }
        let report = try bench.crawl()
        #expect(report.pages == 1 + resources.count * (1 + names.count))
        #expect(report.skipped.isEmpty && report.sideNames.isEmpty)
    }

    @Test func `the same functions in several versions of a reference are content`() throws {
        let bench = try CrawlBench()
        let versions = ["v1", "v2", "v3", "v4"]
        bench.origin.on("/", .page(versions.map { "<a href=/\($0)>\($0)</a>" }.joined()))
        for version in versions {
            let links = ["create", "list", "update"].map { "<a href=/\(version)/users/\($0)>\($0)</a>" }
                .joined()
            bench.origin.on("/\(version)", .page("Version \(version) \(links)"))
            for name in ["create", "list", "update"] {
                bench.origin.on("/\(version)/users/\(name)", .page("\(name) in \(version)"))
            }
        }
        let report = try bench.crawl()
        #expect(report.pages == 17 && report.skipped.isEmpty)
    }

    @Test func `a name that is also a page of the site means content in all folders`() throws {
        let bench = try CrawlBench()
        let links = ["france", "italy", "spain", "peru"].map { "<a href=/\($0)>\($0)</a>" }.joined()
        bench.origin.on("/", .page("<a href=/history>h</a>" + links))
        bench.origin.on("/history", .page("Our history"))
        for land in ["france", "italy", "spain", "peru"] {
            bench.origin.on("/\(land)", .page("\(land) <a href=/\(land)/history>history</a>"))
            bench.origin.on("/\(land)/history", .page("The history of \(land)"))
        }
        let report = try bench.crawl()
        #expect(report.pages == 10)
        #expect(report.skipped.isEmpty)
    }

    @Test func `side pages are fetched if the user includes them`() throws {
        let bench = try CrawlBench()
        serveWiki(bench, pages: 4)
        #expect(try bench.crawl { $0.sitePlan.scope.includesHistory = true }.pages == 13)
        let all = try bench.crawl { $0.sitePlan.scope = ScopeOptions(include: ["**"]) }
        #expect(all.pages == 17)
    }
}
