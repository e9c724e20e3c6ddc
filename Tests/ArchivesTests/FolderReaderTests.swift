import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

@Suite struct FolderReaderTests {
    // MARK: - Names

    @Test(arguments: [
        ("index.html", "/"), ("a/index.html", "/a/"), ("a b.html", "/a%20b.html"),
        ("café.html", "/caf%C3%A9.html"),
        ("i@2x.png", "/i@2x.png"), ("p%41.html", "/p%2541.html"), ("100%", "/100%25"), ("x#y", "/x%23y"),
        ("a\\b", "/a%5Cb"), ("list.php.html", "/list.php"), ("%2e%2e", "/%252e%252e"),
    ])
    func `a file name in a site's own folder becomes the path of its URL`(name: String, target: String) {
        #expect(FileURLMapper(names: ["index.html", "i@2x.png"]).target(of: name) == target)
    }

    @Test(arguments: [
        ("page?q=1&r=2", "/page?q=1&r=2"), ("page?q=1.html", "/page?q=1"), ("s.css?v=1.css", "/s.css?v=1"),
        ("s.css%3Fv=1.css", "/s.css?v=1"), ("go?to=https:%2F%2Fa%2Fb", "/go?to=https://a/b"),
        ("index.html?x=1", "/?x=1"), ("caf%C3%A9.html", "/caf%C3%A9.html"), ("café.html", "/caf%C3%A9.html"),
        ("i@2x.png", "/i@2x.png"), ("m@n=o.html", "/m@n=o.html"), ("p%2Fq.html", "/p%2Fq.html"),
        ("100%.html", "/100%25.html"), ("c#d.html", "/c%23d.html"), ("e f.html", "/e%20f.html"),
        ("g\\h.html", "/g%5Ch.html"), ("i:j.html", "/i:j.html"), ("lt<gt>.html", "/lt%3Cgt%3E.html"),
        ("q?x=%25", "/q?x=%25"), ("q?r=x#y", "/q?r=x%23y"), ("q?z=a+b", "/q?z=a+b"), ("a.php.html", "/a.php"),
        ("sub dir/index.html", "/sub%20dir/"), ("go?to=https%3A%2F%2Fa", "/go?to=https%3A//a"),
    ])
    func `a file name of a wget mirror on Unix contains the query after a question mark`(
        name: String, target: String
    ) {
        #expect(FileURLMapper(names: ["page?q=1"]).target(of: name) == target)
    }

    @Test(arguments: [
        ("page@q=1&r=2.html", "/page?q=1&r=2"), ("t.html@a.html", "/t.html?a"), ("i@2x.png", "/i@2x.png"),
        ("index.html@x=1.html", "/?x=1"), ("a%3Fb.html", "/a%3Fb.html"), ("i%3Aj.html", "/i:j.html"),
        ("k%2Al.html", "/k*l.html"), ("pipe%7C.html", "/pipe|.html"), ("g%5Ch.html", "/g%5Ch.html"),
        ("lt%3Cgt%3E.html", "/lt%3Cgt%3E.html"), ("p%2Fq.html", "/p%2Fq.html"),
        ("go.php@to=https%3A%2F%2Fa.b%2Fc.html", "/go.php?to=https://a.b/c"), ("q@r=x#y.html", "/q?r=x%23y"),
    ])
    func `a file name of a wget mirror on Windows contains the query after an at sign and has more escapes`(
        name: String, target: String
    ) {
        #expect(
            FileURLMapper(names: ["page@q=1", "a%3Fb.html"], in: "example.com+81").target(of: name)
                == target)
    }

    @Test(arguments: [
        ("page%3Fq=1.html", "/page?q=1"), ("q%3Fn=a%3Ab.html", "/q?n=a:b"), ("q%3Fx=%25.html", "/q?x=%25"),
        ("m@n=o.html", "/m@n=o.html"), ("lat%E9.html", "/lat%E9.html"), ("g%5Ch.html", "/g%5Ch.html"),
        ("go.php%3Fto=%2Fa%2Fb", "/go.php?to=/a/b"),
    ])
    func `a file name of a wget2 mirror on Windows contains an escaped query`(name: String, target: String) {
        #expect(FileURLMapper(names: ["page%3Fq=1"], in: "example.com").target(of: name) == target)
    }

    @Test(
        arguments: [
            ("example.com", "example.com", nil), ("127.0.0.1:8080", "127.0.0.1", 8080),
            ("Example.com+81", "example.com", 81),
            ("127.0.0.1_8931", "127.0.0.1", 8931), ("localhost", "localhost", nil), ("node.js", nil, nil),
            ("docs", nil, nil),
            ("index.html", nil, nil), (".git", nil, nil), ("a.b/c", nil, nil), ("v1.2", nil, nil),
        ] as [(String, String?, Int?)])
    func `a folder name is recognised as a host with its port`(name: String, host: String?, port: Int?) {
        let found = FileURLMapper.host(ofFolder: name)
        #expect(found?.host == host && found?.port == port)
    }

    @Test(
        arguments: [
            ("<!-- saved from url=(0023)https://example.com/a?b -->", "https://example.com/a?b", nil),
            (
                "<!DOCTYPE html> <html><!--\n Page saved with SingleFile \n url: https://example.com/ \n saved date: Sun Nov 22 2026 10:00:00 GMT+0100 (CET)\n-->",
                "https://example.com/", 1_795_338_000
            ),
            (
                "<html>\n<!-- Mirrored from example.com/a/ by HTTrack Website Copier/3.x [XR&CO'2014], Mon, 23 Nov 2026 05:37:23 GMT -->",
                "http://example.com/a/", 1_795_412_243
            ),
            (
                "<!-- saved from url=(0033)https://example.com/a-%2D-b-%2D?c-d -->",
                "https://example.com/a---b--?c-d", nil
            ),
            ("<!-- saved from url=(0014)file:///a.html -->", nil, nil), ("<!-- saved from url=(", nil, nil),
            ("<!--", nil, nil),
            ("<!-- a --><!-- b -->", nil, nil),
        ] as [(String, String?, Int64?)])
    func `a saved page states its original URL and time`(text: String, url: String?, date: Int64?) {
        let page = SavedPage(Array(text.utf8))
        #expect(page?.url == url && page?.date == date)
    }

    // MARK: - Folders

    private let home: TemporaryFolder
    private let site: ArchiveTestSite

    init() throws {
        site = try ArchiveTestSite()
        home = site.home
    }

    /// Writes files below the home folder, and creates their folders.
    private func write(_ files: [String: String]) throws {
        for (name, text) in files {
            var end = name.startIndex
            while let slash = name[end...].firstIndex(of: "/") {
                mkdir(home.file(String(name[..<slash])), 0o755)
                end = name.index(after: slash)
            }
            try home.write(text, to: name)
        }
    }

    /// Imports a file or folder, with a limit for the free space that must remain.
    private func importPath(
        _ file: String, at base: String? = nil, limits: ArchiveLimits = ArchiveLimits(),
        minFreeBytes: Int64 = 0
    ) throws -> ImportReport {
        var plan = ImportPlan(site.folder, paths: [home.file(file)])
        plan.limits = limits
        plan.minFreeBytes = minFreeBytes
        plan.base = base.flatMap { WebURL($0) }
        return try Import(plan, Interruption(), now: ArchiveTestSite.time).run(now: ArchiveTestSite.time)
    }

    /// Returns the bodies of all stored responses by URL, or the status of responses without a body.
    private func storedBodies() throws -> [String: String] {
        let reader = try StoreReader(site.folder)
        var rows: [VisibleResponse] = []
        try reader.eachVisibleResponse(ofSite: try site.site().id, asOf: nil) { row in
            rows.append(row)
            return true
        }
        var storedBodies: [String: String] = [:]
        for row in rows {
            let body = try row.response.body.flatMap { try reader.content(of: $0)?.load() }
            storedBodies[row.response.href] =
                body.map { String(decoding: $0, as: UTF8.self) } ?? "\(row.response.status)"
        }
        return storedBodies
    }

    @Test func `links that wget rewrote to files become links to URLs again`() throws {
        try write([
            "w/example.com/index.html":
                "<link rel=stylesheet href=\"s.css%3Fv=1.css\"><a href=\"a/page%3Fq=1.html#x\">q</a><a href=a/index.html>a</a><a href=https://example.com/gone>g</a>",
            "w/example.com/s.css?v=1.css": "b{background:url(i.png)}",
            "w/example.com/a/page?q=1.html": "<title>Q</title><a href=\"../index.html\">up</a>",
            "w/example.com/a/index.html": "<title>A</title><script src=\"../../cdn.test/x.js\"></script>",
            "w/cdn.test/x.js": "1", "w/example.com/i.png": "i",
        ])
        let report = try importPath("w")
        #expect(report.site == "https://example.com/" && report.refusedCount == 0, "\(report)")
        let storedBodies = try storedBodies()
        #expect(
            storedBodies["https://example.com/"]
                == "<link rel=stylesheet href=\"/s.css?v=1\"><a href=\"/a/page?q=1#x\">q</a><a href=/a/>a</a><a href=https://example.com/gone>g</a>"
        )
        #expect(storedBodies["https://example.com/s.css?v=1"] == "b{background:url(i.png)}")
        #expect(storedBodies["https://example.com/a/page?q=1"] == "<title>Q</title><a href=\"/\">up</a>")
        #expect(
            storedBodies["https://example.com/a/"]
                == "<title>A</title><script src=\"https://cdn.test/x.js\"></script>")
        #expect(storedBodies.count == 6)
    }

    @Test func `original links decide which URL an ambiguous file name stands for`() throws {
        try write([
            "w/example.com/index.html":
                "<a href=\"/index.html?x=1\">x</a><a href='t.html?a'>a</a><a href='t.html?a.html'>b</a><a href=/per%2541>c</a>"
                + "<a href='go?to=https%3A%2F%2Fa'>g</a><a href=/g%5Ch.html>h</a>",
            "w/example.com/index.html?x=1": "<title>1</title><a href='/?y'>y</a>",
            "w/example.com/index.html?y": "<title>2</title>", "w/example.com/t.html?a": "<title>3</title>",
            "w/example.com/t.html?a.html": "<title>4</title>",
            "w/example.com/go?to=https:%2F%2Fa": "<title>5</title>",
            "w/example.com/g\\h.html": "<title>6</title>",
        ])
        let report = try importPath("w")
        #expect(report.refusedCount == 0, "\(report)")
        let storedBodies = try storedBodies().mapValues { $0.prefix(16) }
        #expect(
            storedBodies == [
                "https://example.com/": "<a href=\"/index.",
                "https://example.com/index.html?x=1": "<title>1</title>",
                "https://example.com/?y": "<title>2</title>",
                "https://example.com/t.html?a": "<title>3</title>",
                "https://example.com/t.html?a.html": "<title>4</title>",
                "https://example.com/go?to=https%3A%2F%2Fa": "<title>5</title>",
                "https://example.com/g%5Ch.html": "<title>6</title>",
            ])
    }

    /// wget -k writes the bytes of names into pages of any encoding, and does not escape backslashes.
    @Test func `links that contain the raw bytes of file names resolve to the files`() throws {
        try write([
            "w/example.com/p%2Fq.html": "<title>q</title>", "w/example.com/g\\h.html": "<title>h</title>",
            "w/example.com/café—.html": "<title>c</title>", "w/example.com/pipe|.html": "<title>p</title>",
        ])
        try home.write(
            Array("<a href=p%252Fq.html>q</a><a href='g\\h.html'>h</a><a href='café—.html'>c</a>".utf8)
                + [0xE9] + Array("<a href='pipe|.html'>p</a>".utf8), to: "w/example.com/index.html")
        #expect(try importPath("w").refusedCount == 0)
        let reader = try StoreReader(site.folder)
        let body = try #require(try reader.response(for: "https://example.com/")?.body)
        let page = String(decoding: try #require(try reader.content(of: body)?.load()), as: UTF8.self)
        for link in ["/p%2Fq.html", "/g%5Ch.html", "/caf%C3%A9%E2%80%94.html", "pipe|.html"] {
            #expect(page.contains("href=\(link)") || page.contains("href='\(link)'"), "\(link) in \(page)")
        }
        #expect(try storedBodies().count == 5)
    }

    @Test func `a backup by wget -K is imported under the original file name`() throws {
        try write([
            "w/example.com/index.html": "<a href=page.html>p</a>",
            "w/example.com/index.html.orig": "<a href=/page>p</a>",
            "w/example.com/page.html": "<title>P</title>",
            "w/example.com/page.orig": "<title>P</title><!-- -->",
            "w/example.com/x.css?v.css": "a", "w/example.com/x.css?vorig": "b",
            "w/example.com/real.orig": "r",
        ])
        #expect(try importPath("w").refusedCount == 0)
        let storedBodies = try storedBodies()
        #expect(storedBodies["https://example.com/"] == "<a href=/page>p</a>")
        #expect(storedBodies["https://example.com/page"] == "<title>P</title><!-- -->")
        #expect(
            storedBodies["https://example.com/x.css?v"] == "b"
                && storedBodies["https://example.com/real.orig"] == "r")
        #expect(storedBodies.count == 4)
    }

    @Test func `absolute links in pages show the scheme and port of a host folder`() throws {
        try write([
            "w/example.com/index.html": "<title>x</title>http://example.com:8080/x http://example.com:8080/y"
        ])
        let report = try importPath("w")
        #expect(report.site == "http://example.com:8080/" && report.doubtfulCount == 0)
        try write(["v/other.test/index.html": "<title>x</title>"])
        let other = try importPath("v")
        #expect(
            other.site == "https://other.test/"
                && other.doubtful.first?.reason.contains("https is assumed") == true)
    }

    @Test func `URLs without a file are answered from similar files as by a web server`() throws {
        try write([
            "b/index.html":
                "<title>x</title><a href=docs>d</a><a href=/about>a</a><a href=/docs/index.html>i</a>",
            "b/docs/index.html": "<title>d</title>", "b/about.html": "<title>a</title>", "b/data.json": "{}",
        ])
        let report = try importPath("b", at: "https://example.com/base/")
        #expect(report.site == "https://example.com/base/")
        var storedBodies = try storedBodies()
        #expect(
            storedBodies["https://example.com/base/docs"] == "301"
                && storedBodies["https://example.com/about"] == nil)
        #expect(storedBodies["https://example.com/base/"]?.hasPrefix("<title>x</title><a href=docs>") == true)
        #expect(try importPath("b", at: "https://root.test/").responses == 7)
        storedBodies = try #require(
            try? StoreReader(site.folder).sites().map(\.name).reduce(into: [:]) { $0[$1] = "" })
        #expect(Set(storedBodies.keys) == ["https://example.com/base/", "https://root.test/"])
        #expect(throws: ArchiveError.self) { try importPath("b") }
    }

    @Test func `pages of a site's own folder keep their bytes, also where they link to index.html`() throws {
        let page = "<title>x</title><a href='index.html'>x</a><a href=docs/index.html#a>d</a>"
        let inner = "<title>d</title><a href=../index.html>up</a>"
        try write(["b/index.html": page, "b/docs/index.html": inner])
        #expect(try importPath("b", at: "https://example.com/").isComplete)
        #expect(
            try storedBodies() == [
                "https://example.com/": page, "https://example.com/index.html": page,
                "https://example.com/docs/": inner, "https://example.com/docs/index.html": inner,
            ])
    }

    @Test func `a base URL without a final slash is a folder, and hidden files are left out`() throws {
        try write([
            "b/index.html": "<title>x</title>", "b/.env": "secret", "b/.git/config": "x",
            "b/.well-known/a.txt": "a",
        ])
        let report = try importPath("b", at: "https://example.com/docs")
        #expect(report.site == "https://example.com/docs/" && report.leftOut.count == 2)
        // Hidden files do not belong to the site, so the import is complete without them.
        #expect(report.isComplete && report.refused.isEmpty)
        #expect(
            Set(try storedBodies().keys).isSuperset(of: [
                "https://example.com/docs/", "https://example.com/docs/.well-known/a.txt",
            ]))
        #expect(try storedBodies().keys.allSatisfy { !$0.contains("/.env") && !$0.contains("/.git") })
    }

    /// The file names, the base URL, and the start page.
    @Test(arguments: [
        (["index.html", "about.html"], "http://docs.test/py", "http://docs.test/py/"),
        (["index.html", "about.html"], "http://docs.test/py/index.html", "http://docs.test/py/"),
        (["about.html"], "http://docs.test/py", "http://docs.test/py/about.html"),
        (["_static/a.js", "z/index.html"], "http://docs.test/", "http://docs.test/z/"),
        (
            ["_static/a.js", "a/b/c.html", "z/b.html", "z/index.html"], "http://docs.test/",
            "http://docs.test/z/"
        ),
        (["_static/a.js"], "http://docs.test/", "http://docs.test/_static/a.js"),
    ])
    func `a folder starts at its index page, or else at another page, never at a script`(
        names: [String], base: String, start: String
    ) throws {
        try write(
            Dictionary(names.map { ("b/" + $0, $0 == "_static/a.js" ? "f()" : "<title>x</title>") }) { $1 })
        let report = try importPath("b", at: base)
        #expect(report.site == start && report.isComplete)
    }

    @Test func `a mirror of several hosts starts at a page of the host with the most files`() throws {
        try write([
            "m/a.test/docs/a.js": "f()", "m/a.test/docs/b.html": "<a href=https://a.test/>x</a>",
            "m/b.test/x.html": "<title>x</title>",
        ])
        #expect(try importPath("m").site == "https://a.test/docs/b.html")
    }

    @Test func `saved pages are imported with the asset folders beside them`() throws {
        try write([
            "s/Page.html":
                "<!DOCTYPE html>\n<!-- saved from url=(0029)https://example.com/news/today -->\n<img src=\"./Page_files/a b.png\">",
            "s/Page_files/a b.png": "1", "s/Page_files/index.html": "<title>f</title>",
            "s/alone.html": "<title>?</title>",
        ])
        let report = try importPath("s")
        #expect(
            report.site == "https://example.com/news/today"
                && report.refused.map(\.place) == [home.file("s, alone.html")])
        #expect(
            Set(try storedBodies().keys) == [
                "https://example.com/news/today", "https://example.com/news/Page_files/a%20b.png",
                "https://example.com/news/Page_files/index.html",
            ])
        let single = try importPath("s/Page.html", at: "https://other.test/x")
        #expect(single.site == "https://other.test/x" && single.responses == 3 && single.isComplete)
    }

    /// A page as Firefox 153 saves it: without a comment, with a random part in file names, and with absolute links to
    /// other pages.
    @Test func `a complete page saved by Firefox gets its canonical URL`() throws {
        let page = """
            <!DOCTYPE html>
            <html lang="en"><head>
            <meta http-equiv="content-type" content="text/html; charset=UTF-8"><title>Straße</title>\
            <link rel="stylesheet" href="Stra%C3%9Fe_files/s_O8ZN.css">\
            <link rel="canonical" href="https://example.com/a/page?x=1&amp;y=2"></head>
            <body><img src="Stra%C3%9Fe_files/a_002_O8ZN.png"><a href="https://example.com/other">o</a>
            </body></html>
            """
        try write([
            "saved/Straße.html": page, "saved/Straße_files/s_O8ZN.css": "h1{background:url(a_002_O8ZN.png)}",
            "saved/Straße_files/a_002_O8ZN.png": "\u{1}\u{2}\u{3}", "alone/index.html": page,
        ])
        for path in ["saved/Straße.html", "saved"] {
            let other = try ArchiveTestSite()
            let report = try other.importFiles([site.home.file(path)])
            #expect(report.site == "https://example.com/a/page?x=1&y=2" && report.isComplete, "\(report)")
            #expect(report.responses == 3 && report.doubtful.count == 1, "\(report)")
        }
        // Without a folder of assets, the canonical URL does not show where the page was saved from.
        let other = try ArchiveTestSite()
        #expect(throws: ArchiveError.self) { try other.importFiles([site.home.file("alone/index.html")]) }
    }

    /// A page as Chromium 156 saves it: with the original URL in a comment, saved pages in frames, and names with numbers
    /// where they collided.
    @Test func `a complete page saved by Chromium and its frames get their original URLs`() throws {
        try write([
            "s/Page x.html": """
            <!DOCTYPE html>
            <!-- saved from url=(0036)https://example.com/news/today?a-%2Db -->
            <html><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"><title>Saved page é</title><!--<base href="/news/">--><base href="."><link rel="stylesheet" href="./Page x_files/main.css"><link rel="icon" href="https://example.com/favicon.ico">
            </head><body><a href="https://example.com/news/two.html#x">two</a> <a href="https://example.com/news/#here">h</a>
            <img src="./Page x_files/a b.png" srcset="/img/a%20b.png 1x, /img/a.png 2x"><iframe src="./Page x_files/frame.html"></iframe>
                <img src="./Page x_files/a.png"><img src="./Page x_files/a(1).png">
            </body></html>
            """,
            "s/Page x_files/frame.html": """
            <!DOCTYPE html>
            <!-- saved from url=(0030)https://other.test/frame.html -->
            <html><head><link rel="stylesheet" href="./main.css"></head><body>Frame <img src="./a b.png"></body></html>
            """,
            "s/Page x_files/main.css": "h1{color:red}", "s/Page x_files/a b.png": "1",
            "s/Page x_files/a.png": "2", "s/Page x_files/a(1).png": "3",
        ])
        let report = try importPath("s/Page x.html")
        #expect(report.site == "https://example.com/news/today?a--b" && report.isComplete, "\(report)")
        let storedBodies = try storedBodies()
        let beside = "https://example.com/news/Page%20x_files"
        #expect(
            Set(storedBodies.keys) == [
                report.site, "https://other.test/frame.html", "\(beside)/main.css", "\(beside)/a%20b.png",
                "\(beside)/a.png", "\(beside)/a(1).png", "https://example.com/img/a%20b.png",
            ])
        let page = try #require(storedBodies[report.site])
        #expect(page.contains("<iframe src=\"https://other.test/frame.html\">"), "\(page)")
        #expect(
            page.contains("href=\"./Page x_files/main.css\"")
                && page.contains("src=\"./Page x_files/a b.png\""))
        let frame = try #require(storedBodies["https://other.test/frame.html"])
        #expect(
            frame.contains("href=\"\(beside)/main.css\"") && frame.contains("src=\"\(beside)/a%20b.png\""),
            "\(frame)")
    }

    @Test(arguments: [ArchiveFormat.folder, .zip, .tar])
    func `an exported folder can be imported again`(
        form: ArchiveFormat
    ) throws {
        var old = ArchiveTestSite.Response(path: "/old", status: 301)
        old.fields = [("Location", "/docs/two")]
        let origin = try ArchiveTestSite([
            .page(
                "/",
                "<title>ä</title><link rel=stylesheet href=\"/s.css?v=1\"><a href=\"/docs/two#x\">2</a><a href=/old>o</a>"
            ),
            .page("/docs/two", "<a href=/>home</a>"),
            .file("/s.css?v=1", "text/css", Array("b{background:url(/i.png)}".utf8)),
            .file("/i.png", "image/png", [1, 2, 3]), old,
            ArchiveTestSite.Response(path: "/gone.png", status: 404),
        ])
        try origin.export("out\(form.suffix)", form)
        let report = try site.importFiles([origin.home.file("out\(form.suffix)")])
        #expect(
            report.isComplete && report.site == ArchiveTestSite.name && report.responses == 6, "\(report)")
        let storedBodies = try storedBodies()
        #expect(
            storedBodies["https://example.com/"]
                == "\u{FEFF}<title>ä</title><link rel=stylesheet href=\"/s.css?v=1\"><a href=\"/docs/two#x\">2</a><a href=/docs/two>o</a>"
        )
        #expect(storedBodies["https://example.com/s.css?v=1"] == "b{background:url(i.png)}")
        #expect(
            storedBodies["https://example.com/old"] == "301"
                && storedBodies["https://example.com/gone.png"] == "404")
    }

    @Test(arguments: [ArchiveFormat.folder, .zip, .tar])
    func `an imported folder has the original headers and no additional responses`(form: ArchiveFormat) throws
    {
        var page = ArchiveTestSite.Response.page("/a/", "<a href='?y'>y</a><a href=/b>b</a>")
        page.fields = [("ETag", "\"1\""), ("X-Odd", "caf\u{EFE9}"), ("Set-Cookie", "a=secret")]
        var empty = ArchiveTestSite.Response.file("/none", "text/plain", [])
        empty.status = 204
        var old = ArchiveTestSite.Response(path: "/old", status: 301)
        old.fields = [("Location", "/a/"), ("Cache-Control", "max-age=60")]
        let gone = ArchiveTestSite.Response(path: "/gone", status: 410)
        let origin = try ArchiveTestSite([page, empty, old, gone, .page("/b/", "b")])
        func lines(_ site: ArchiveTestSite) throws -> [String] {
            // Leaves out the referrer and the digest of the body.
            try site.storedResponses().map { line in
                let words = line.split(separator: " ", omittingEmptySubsequences: false)
                return (words[...2] + [words[5]] + words[9...]).joined(separator: " ")
            }
        }
        #expect(try origin.export("out\(form.suffix)", form).leftOutCookies == 0)
        let taken = try site.importFiles([origin.home.file("out\(form.suffix)")], site: ArchiveTestSite.name)
        #expect(taken.isComplete && taken.responses == 5, "\(taken)")
        #expect(try lines(site) == lines(origin))
        // Without private responses, headers that set cookies are left out.
        let report = try origin.export("open\(form.suffix)", form) { $0.hasPrivate = false }
        #expect(report.leftOutCookies == 1)
        _ = try site.importFiles([origin.home.file("open\(form.suffix)")], site: ArchiveTestSite.name)
        #expect(try !lines(site).joined().contains("secret"))
    }

    // MARK: - Hostile archives

    @Test(
        arguments: [
            (nil, nil, 512 << 20), (nil, 1 << 40, 512 << 20), (nil, 400, 100), (7, 4, 7),
            (1 << 40, 4, 1 << 40),
        ] as [(Int64?, Int64?, Int)])
    func `the expansion limit depends on the free disk space or the user's allowance`(
        allowed: Int64?, room: Int64?, allowance: Int
    ) {
        #expect(ArchiveLimits(allowanceBytes: allowed, freeBytes: room).expansionAllowanceBytes == allowance)
    }

    @Test func `an import that would fill the disk fails and leaves nothing behind`() throws {
        try write(["h/example.com/index.html": "<title>x</title>"])
        #expect(throws: ArchiveError.self) { try importPath("h", minFreeBytes: .max) }
        #expect(try !StoreReader(site.folder).hasResponses())
    }

    @Test func `files in a folder whose name is not UTF-8 are read`() throws {
        try write(["h/index.html": "<title>x</title>", "h/sub/a.html": "<title>a</title>"])
        let name = Array(home.file("h/caf").utf8) + [0xE9]
        #expect(rename(home.file("h/sub"), name.map { CChar(bitPattern: $0) } + [0]) == 0)
        let folder = try DiskFolder(home.file("h"), ArchiveLimits())
        #expect(folder.files.map(\.path).sorted() == ["caf%E9/a.html", "index.html"])
        #expect(folder.faults.isEmpty)
        for file in folder.files { #expect(try folder.read(file) { _ in true } == nil) }
    }

    @Test func `a file below a folder that was replaced by a link after the listing is not read`() throws {
        try write(["h/sub/a.html": "inside", "outside/a.html": "secret"])
        let folder = try DiskFolder(home.file("h"), ArchiveLimits())
        #expect(rename(home.file("h/sub"), home.file("h/moved")) == 0)
        #expect(symlink(home.file("outside"), home.file("h/sub")) == 0)
        let file = try #require(folder.files.first)
        var isRead = false
        let reason = try folder.read(file) { _ in
            isRead = true
            return true
        }
        #expect(reason == "it was replaced while the folder was read; import it again")
        #expect(!isRead)
    }

    @Test func `links out of a folder, pipes and sparse files are reported and not imported`() throws {
        try write(["h/example.com/index.html": "<title>x</title>", "secret": "s"])
        #expect(symlink(home.file("secret"), home.file("h/example.com/s.html")) == 0)
        #expect(symlink(".", home.file("h/example.com/loop")) == 0)
        #expect(symlink("nowhere", home.file("h/example.com/n.html")) == 0)
        #expect(symlink("index.html", home.file("h/example.com/same.html")) == 0)
        #expect(mkfifo(home.file("h/example.com/pipe.html"), 0o644) == 0)
        try home.write("", to: "h/example.com/large.bin")
        #expect(truncate(home.file("h/example.com/large.bin"), 1 << 40) == 0)
        try home.write("", to: "h/example.com/sparse.bin")
        #expect(truncate(home.file("h/example.com/sparse.bin"), 1 << 30) == 0)
        var limits = ArchiveLimits()
        limits.expansionAllowanceBytes = 1 << 20
        let report = try importPath("h", limits: limits)
        #expect(report.responses == 2 && report.refusedCount == 6, "\(report)")
        let reasons = Set(report.refused.map(\.reason))
        #expect(
            reasons == [
                "it is a link to outside the folder", "it is a link to a folder",
                "it is a broken link",
                "it is not a regular file", "it is over 8589934592 bytes",
                "it expands to more than 200 times its size plus 1048576 bytes",
            ])
    }

    @Test func `a forged list cannot name files outside the folder or other schemes`() throws {
        try write([
            "l/~larder.jsonl":
                "{\"format\":\"larder-folder-1\",\"site\":\"x\",\"start\":\"https://example.com/\"}\n"
                + "{\"url\":\"https://example.com/\",\"file\":\"../secret\",\"status\":200,\"fetched\":\"2026-11-20T12:00:00Z\"}\n"
                + "{\"url\":\"file:///etc/passwd\",\"file\":\"a.html\",\"status\":200,\"fetched\":\"2026-11-20T12:00:00Z\"}\n"
                + "{\"url\":\"https://example.com/a\\r\\nX: y\",\"file\":\"a.html\",\"status\":200,\"type\":\"text/html\\r\\nSet-Cookie: a=b\","
                + "\"fetched\":\"2026-11-20T12:00:00Z\"}\nnonsense\n",
            "l/a.html": "<title>a</title>", "secret": "s",
        ])
        let report = try importPath("l")
        #expect(report.responses == 1 && report.refusedCount == 3, "\(report)")
        #expect(try storedBodies() == ["https://example.com/aX:%20y": "<title>a</title>"])
    }

    @Test func `a file that a list names for many URLs is read a few times only`() throws {
        let line = "\",\"file\":\"a.html\",\"status\":200,\"fetched\":\"2026-11-20T12:00:00Z\"}\n"
        let lines = (0..<400).map { "{\"url\":\"https://example.com/\($0)" + line }.joined()
        try write([
            "m/~larder.jsonl":
                "{\"format\":\"larder-folder-1\",\"site\":\"x\",\"start\":\"https://example.com/0\"}\n"
                + lines
        ])
        try home.write([UInt8](repeating: 0x61, count: 1 << 20), to: "m/a.html")
        let report = try importPath("m")
        #expect(
            (60...80).contains(report.responses) && report.responses + report.refusedCount == 400,
            "\(report.responses)"
        )
    }

    @Test func `entries of a zip file with paths outside the folder are refused`() throws {
        let origin = try ArchiveTestSite([.page("/", "<title>x</title>")])
        try origin.export("o.zip", .zip)
        var bytes = try WholeFile.read(origin.home.file("o.zip"), atMost: 1 << 20)
        // Replaces the name by one of the same length: index.html becomes ../dex.html.
        for place in bytes.indices
        where bytes[place...].starts(with: "index.html".utf8) && place > 0 && bytes[place - 1] != 0x22 {
            bytes.replaceSubrange(place..<place + 10, with: "../de.html".utf8)
        }
        try home.write(bytes, to: "bad.zip")
        let report = try? importPath("bad.zip")
        #expect(report?.responses ?? 0 == 0)
    }

    @Test func `a large body before the first page of an archive is imported`() throws {
        var random = [UInt8](repeating: 0, count: 3 << 20)
        for place in random.indices { random[place] = UInt8(truncatingIfNeeded: place &* 2_654_435_761 >> 7) }
        try write(["w/example.com/index.html": "<title>x</title>"])
        try home.write(random, to: "w/example.com/a.bin")
        #expect(try importPath("w").isComplete)
        #expect(try storedBodies()["https://example.com/a.bin"]?.isEmpty == false)
    }
}
