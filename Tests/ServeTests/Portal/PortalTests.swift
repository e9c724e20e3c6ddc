import Store
import Testing
import Web

@testable import Serve

@Suite struct PortalTests {
    private let shelf: PortalShelf

    init() throws {
        shelf = try PortalShelf([
            .init(
                href: "https://example.test/", title: "Recipes", text: "start", fields: "Server: jar\r\n",
                pages: ["https://example.test/jam/plum", "https://example.test/lost", "https://far.test/"],
                requisites: ["https://example.test/app.js", "https://example.test/lost.css"]),
            .init(href: "https://example.test/jam/plum", title: "Plum jam", text: "plum"),
            .init(href: "https://example.test/jam/pear?a=1&b=2", title: "Pear jam", text: "pear"),
            .init(
                href: "https://example.test/app.js", text: "run()", role: 1, type: "text/javascript",
                form: "javaScript;utf-8"),
            .init(href: "https://example.test/old", text: nil, status: 410),
        ])
    }

    private static let pages = [
        "/", "/-/", "/-/sites/1", "/-/sites/1/pages", "/-/sites/1/pages?under=https://example.test/jam/",
        "/-/sites/1/missing", "/-/sites/1/missing?kind=pages", "/-/sites/1/changes", "/-/sites/1/search?q=jam",
        "/-/search", "/-/search?q=jam", "/-/scripts", "/-/page?url=https://example.test/",
    ]

    @Test(arguments: pages)
    func `every page is there for people and for programs`(target: String) throws {
        let page = try shelf.get(target)
        #expect(page.status == 200)
        #expect(page.fields("Content-Type") == ["text/html; charset=utf-8"])
        #expect(page.fields("Cache-Control") == ["no-store"])
        #expect(page.body.components(of: "<h1>") == 1)
        #expect(page.body.components(of: "<main ") == 1)
        let separator = target.contains("?") ? "&" : "?"
        let program = try shelf.get("\(target)\(separator)format=json")
        #expect(program.fields("Content-Type") == ["application/json"])
        _ = try program.json()
        #expect(try shelf.get(target, accept: "application/json").body == program.body)
        #expect(try shelf.get(target, accept: "text/html,application/json;q=0.9,*/*").body == page.body)
        #expect(page.fields("Vary").contains("Accept"))
    }

    @Test(arguments: pages + ["/nothing", "/-/jar-1.svg"])
    func `no page may run a script, be framed or send a form elsewhere`(target: String) throws {
        let page = try shelf.get(target)
        let policy = page.fields("Content-Security-Policy").last
        #expect(policy?.hasPrefix("default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'") == true)
        #expect(policy?.contains("frame-ancestors 'none'") == true)
        #expect(!page.body.contains("<script"))
        #expect(!page.body.contains(" style="))
        #expect(page.fields("X-Content-Type-Options") == ["nosniff"])
    }

    @Test func `the style sheet may be kept for ever, under a name that changes with it`() throws {
        let style = try shelf.get(PortalStyle.path)
        #expect(style.fields("Cache-Control") == ["public, max-age=31536000, immutable"])
        #expect(style.body.contains("prefers-color-scheme: dark"))
        #expect(try shelf.get("/").body.contains("href=\"\(PortalStyle.path)\""))
        #expect(try shelf.get("/-/portal-0.css").status == 404)
    }

    @Test(arguments: [
        "/nothing", "/-/sites/", "/-/sites/9", "/-/sites/x", "/-/sites/1/", "/-/sites/1/else", "/-/sites/1/pages/x",
        "/-/page", "/-/page?url=javascript:alert(1)", "/-/page?url=not", "/favicon.ico", "/?", "*",
    ])
    func `what is no page is said to be none`(target: String) throws {
        let page = try shelf.get(target)
        #expect(page.status == (target == "/?" ? 200 : 404))
        #expect(!page.body.contains("href=\"javascript:"))
    }

    @Test(arguments: ["/", "/-/"])
    func `an original address leads to its copy`(home: String) throws {
        let answer = try shelf.get("\(home)https://example.test/jam/pear?a=1&b=2")
        #expect(answer.status == 302)
        #expect(answer.fields("Location") == ["http://example-test.localhost:8080/jam/pear?a=1&b=2"])
    }

    @Test func `a store without a site tells how to fill it`() throws {
        let empty = try PortalShelf()
        #expect(try empty.get("/").body.contains("larder prefetch https://example.com/"))
        #expect(try empty.get("/-/search?q=a").body.contains("Nothing was found."))
        #expect(try empty.get("/-/scripts").body.contains("No script is held."))
    }

    @Test func `the home page says of each site what it has, how old it is and whether it is whole`() throws {
        let page = try shelf.get("/").body
        for words in [
            "Recipes", "Served", "not looked at", "1 minute ago", "<dd>3</dd>", "http://example-test.localhost:8080/",
        ] {
            #expect(page.contains(words), "\(words)")
        }
        try shelf.visit(
            [.init(href: "https://other.test/", title: "Other")], site: "https://other.test/", isComplete: false)
        #expect(try shelf.get("/").body.contains("Not complete"))
        let sites = try #require(try shelf.get("/?format=json").json()["sites"]?.array)
        #expect(sites.count == 2)
        #expect(sites[0]["pages"]?.int == 3)
        #expect(sites[0]["requisites"]?.int == 1)
        #expect(sites[0]["tombstones"]?.int == 1)
        #expect(sites[0]["missing"]?.content == .null)
        #expect(sites[0]["complete"]?.content == .null)
        #expect(sites[1]["complete"]?.bool == false)
    }

    @Test func `a site's page lists its folders, its types and its visits`() throws {
        let page = try shelf.get("/-/sites/1").body
        #expect(page.contains("/-/sites/1/pages?under=https://example.test/jam/"))
        #expect(page.contains("2 addresses"))
        #expect(page.contains("text/javascript"))
        #expect(page.contains("Served"))
        #expect(page.contains("scope=\"col\""))
    }

    @Test func `a folder lists its pages by their titles`() throws {
        let page = try shelf.get("/-/sites/1/pages?under=https://example.test/jam/").body
        #expect(page.contains("Plum jam"))
        #expect(page.contains("/-/page?url=https://example.test/jam/pear%3Fa%3D1%26b%3D2"))
        #expect(!page.contains("Recipes"))
    }

    @Test func `what is missing is listed with who asks for it`() throws {
        let notes = try NoteBook(shelf.folder)
        try notes.note(misses: [
            Miss(
                href: "https://example.test/asked", referrer: "https://example.test/jam/plum", isPage: true, count: 3,
                first: PortalShelf.now - 90, last: PortalShelf.now - 60),
            Miss(href: "https://elsewhere.test/", isPage: true, first: 1, last: 1),
        ])
        let files = try shelf.get("/-/sites/1/missing").body
        for words in ["lost.css", "Needed by", "3 times", "jam/<wbr>plum", "/<wbr>old", "status 410"] {
            #expect(files.contains(words), "\(words)")
        }
        #expect(!files.contains("elsewhere.test"))
        #expect(!files.contains("app.js"))
        let pages = try shelf.get("/-/sites/1/missing?kind=pages&format=json").json()
        #expect(
            pages["unheld"]?.array?.map { $0["url"]?.string } == ["https://example.test/lost", "https://far.test/"])
        #expect(pages["misses"]?.array?.count == 1)
    }

    @Test func `two visits are compared`() throws {
        #expect(try shelf.get("/-/sites/1/changes").body.contains("only one visit"))
        try shelf.visit([
            .init(href: "https://example.test/", title: "Recipes", text: "another start"),
            .init(href: "https://example.test/new", title: "New", text: "new"),
            .init(href: "https://example.test/jam/plum", text: nil, status: 404),
        ])
        let page = try shelf.get("/-/sites/1/changes").body
        for words in ["Added: 1", "Changed: 1", "Gone: 1", "/-/page?url=https://example.test/new"] {
            #expect(page.contains(words), "\(words)")
        }
        let back = try shelf.get("/-/sites/1/changes?from=2&to=1&format=json").json()
        #expect(back["gone"]?.array?.map(\.string) == ["https://example.test/new"])
        #expect(try shelf.get("/-/sites/1/changes?kind=added&page=7").status == 200)
        #expect(try shelf.get("/-/sites/1/changes?kind=added&page=-9223372036854775808").status == 200)
    }

    @Test func `a page's details tell its digests, its headers and its links`() throws {
        let page = try shelf.get("/-/page?url=https://example.test/%23part").body
        for words in [
            // The MD5 of "start".
            "ea2b2676c28c0db26d39331a336c6b92",
            "Server", "jar", "not held", "href=\"https://example.test/\"", "Links to: 3", "Needs: 2",
        ] {
            #expect(page.contains(words), "\(words)")
        }
        let plum = try shelf.get("/-/page?url=https://example.test/jam/plum&format=json").json()
        #expect(plum["linkedFrom"]?.array?.map(\.string) == ["https://example.test/"])
    }

    @Test func `of an address that is not held the details say so, and what there is instead`() throws {
        let page = try shelf.get("/-/page?url=https://example.test/jam/cherry")
        #expect(page.status == 404)
        #expect(page.body.contains("Not held"))
        #expect(page.body.contains("/-/page?url=https://example.test/jam/plum"))
    }

    @Test func `the scripts come with their digests, and with what a check found`() throws {
        let reader = try shelf.reader()
        let page = try shelf.get("/-/scripts") { hrefs in
            hrefs.compactMap { href in
                guard let sha256 = try? reader.response(for: href)?.body?.sha256 else { return nil }
                return BundleVerdict(href: href, sha256: sha256, name: "verified", detail: nil, isGood: true)
            }
        }
        let other = try shelf.get("/-/scripts") { hrefs in
            hrefs.map { BundleVerdict(href: $0, sha256: [], name: "verified", detail: nil, isGood: true) }
        }
        #expect(!other.body.contains("verified"))
        #expect(page.body.contains("app.js"))
        #expect(page.body.contains("verified"))
        let script = try shelf.get("/-/scripts?format=json").json()["scripts"]?.array?.first
        #expect(script?["md5"]?.string?.count == 32)
        #expect(script?["sha256"]?.string?.count == 64)
    }
}

extension String {
    /// How often the words are in it.
    func components(of words: String) -> Int { ranges(of: words).count }
}
