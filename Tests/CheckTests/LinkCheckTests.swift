import Glibc
import Reports
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit
@testable import Prefetch

/// A folder `dist` whose links are checked, with a file of ignore rules that is empty.
struct LinkedFolder {
    let home: TemporaryFolder
    var path: String { home.file("dist") }

    init(_ files: [String: String] = [:]) throws {
        home = try TemporaryFolder()
        mkdir(home.file("dist"), 0o755)
        try home.write("", to: "rules")
        for (name, text) in files { try write(text, to: name) }
    }

    /// Writes a file of the folder, and makes the folders above it.
    func write(_ bytes: [UInt8], to name: String) throws {
        var folder = path
        for part in name.split(separator: "/").dropLast() {
            folder += "/" + part
            mkdir(folder, 0o755)
        }
        try home.write(bytes, to: "dist/" + name)
    }

    func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

    func options(_ change: (inout LinkCheckOptions) -> Void = { _ in }) -> LinkCheckOptions {
        var options = LinkCheckOptions()
        options.checksExternal = false
        options.ignoreFile = home.file("rules")
        change(&options)
        return options
    }

    func check(_ change: (inout LinkCheckOptions) -> Void = { _ in }) throws -> LinkCheckReport {
        try LinkCheck.report(
            onFolder: path, options(change), in: StoreFolder(TestStore.place(home.file("larder"))),
            Interruption())
    }

    /// The result of a single link in the page `sub/page.html`.
    func verdict(on reference: String, _ change: (inout LinkCheckOptions) -> Void = { _ in }) throws -> (
        LinkCheckReport.Verdict, detail: String
    ) {
        try write("<meta charset=utf-8><p id=here><a href=\"\(reference)\">x</a>", to: "sub/page.html")
        let report = try check(change)
        #expect(report.findings.count <= 1, "\(report.findings)")
        return (report.findings.first?.verdict ?? .verified, report.findings.first?.detail ?? "")
    }
}

extension LinkCheckReport {
    /// The verdicts by target.
    var verdicts: [String: Verdict] {
        Dictionary(findings.map { ($0.target, $0.verdict) }) { first, _ in first }
    }

    /// The targets with a verdict, in order.
    func targets(_ verdict: Verdict) -> [String] {
        findings.filter { $0.verdict == verdict }.map(\.target)
    }
}

@Suite struct LinkCheckTests {
    /// A site with pages of all kinds.
    static let site = [
        "index.html": "<p>index</p>", "about.html": "<h2 id=team>Team</h2><a name=old></a>",
        "docs/index.html": "<meta charset=utf-8><h2 id=start>Start</h2><h2 id=größe>Größe</h2>",
        "a b.html": "a", "über.html": "u", "x?y#z.html": "x", "img/a.png": "a", "empty/a.txt": "a",
        "both/a.txt": "a", "both.html": "b",
        "icons.svg": "<svg xmlns='http://www.w3.org/2000/svg'><symbol id='i'/></svg>",
        "notes.md": "# Set up\n", "app.html": "<script src=app.js></script>", "app.js": "start()",
        "code.html": "<script>select()</script><a id=L10></a><a id=L20></a>",
        "moved.html":
            "<meta http-equiv=refresh content='0; url=about.html'><script>go('about.html' + location.hash)</script>",
        "old.html": "<meta http-equiv=refresh content='0; url=about.html'>",
    ]

    @Test(
        arguments: [
            // Paths.
            ("../about.html", .verified), ("/about.html", .verified), ("../../../about.html", .verified),
            ("about.html", .dead), ("/gone.html", .dead), ("/about.html/x", .dead), ("page.html", .verified),
            ("/img/a.png", .verified), ("/img/b.png", .dead), ("/", .verified), ("..", .verified),
            ("./", .dead),
            ("/about.html?v=1", .verified), ("?page=2", .verified),
            // A server of static sites adds the extension of pages, and the name of a folder's page.
            ("/about", .verified), ("../about", .verified), ("/docs", .verified), ("/docs/", .verified),
            ("/docs/index", .verified), ("/img/a", .dead), ("/both", .verified), ("/empty", .dead),
            ("/empty/", .dead),
            // Names of files.
            ("/a%20b.html", .verified), ("/a b.html", .verified), ("/a+b.html", .dead),
            ("/%C3%BCber.html", .verified), ("/über.html", .verified), ("/über", .verified),
            ("/uber.html", .dead),
            ("/x%3Fy%23z.html", .verified), ("/x?y#z.html", .dead), ("/ABOUT.html", .dead),
            // Fragments of the same page.
            ("#", .verified), ("#top", .verified), ("#here", .verified), ("#there", .fragmentMissing),
            ("page.html#here", .verified), ("?q#here", .verified),
            // Fragments of other files.
            ("/about.html#team", .verified), ("/about#team", .verified), ("/about#old", .verified),
            ("/about#absent", .fragmentMissing), ("/docs#start", .verified), ("/docs/#start", .verified),
            ("/docs/index.html#gone", .fragmentMissing), ("/docs#größe", .verified),
            ("/docs#gr%C3%B6%C3%9Fe", .verified),
            ("/docs#gr%C3%B6sse", .fragmentMissing), ("/gone.html#team", .dead), ("/img/a.png#x", .verified),
            ("/notes.md#set-up", .verified), ("/notes.md#gone", .fragmentMissing),
            ("/icons.svg#i", .verified), ("/icons.svg#gone", .fragmentMissing),
            // SVG 2, section 16.3.3: a view, not an element.
            ("/icons.svg#svgView(viewBox(0,0,10,10))", .verified),
            // Text fragments.
            ("/about#:~:text=team", .verified), ("/about#:~:text=absent", .fragmentMissing),
            ("/about#team:~:text=absent", .fragmentMissing),
            // Routes that scripts read.
            ("/app.html#/settings", .verified), ("/app#!page", .verified),
            ("/app#settings", .fragmentMissing),
            ("/about#/settings", .fragmentMissing),
            // Ranges of lines that scripts read, and pages that scripts forward with the fragment.
            ("/code#L10-L20", .verified), ("/code#L10-L30", .fragmentMissing),
            ("/moved#team", .verified), ("/moved#absent", .fragmentMissing), ("/old#team", .fragmentMissing),
            // Other schemes and sites.
            ("mailto:info@example.com", .verified), ("mailto:info", .dead), ("tel:+49123", .verified),
            ("https://a.test/", .notChecked), ("//a.test/x", .notChecked),
            // Not URLs.
            ("http://[bad", .dead), ("https://a.test:99999/", .dead), ("https://a b.test/", .dead),
        ] as [(String, LinkCheckReport.Verdict)])
    func `the target of a link is looked up in the folder`(
        reference: String, verdict: LinkCheckReport.Verdict
    ) throws {
        let folder = try LinkedFolder(Self.site)
        let result = try folder.verdict(on: reference)
        #expect(result.0 == verdict, "\(result.detail)")
    }

    @Test(arguments: [
        ("/gone.html", "the file does not exist"),
        ("/empty/", "the folder has no index.html"),
        ("/empty", "the folder has no index.html"),
        ("http://[bad", "\"http://[bad\" is not a valid URL"),
        ("mailto:info", "\"info\" is not an e-mail address"),
        ("https://a.test/", "it is on another site"),
    ])
    func `the detail is the reason`(reference: String, detail: String) throws {
        #expect(try LinkedFolder(Self.site).verdict(on: reference).detail == detail)
    }

    @Test(arguments: [
        ("/about#absent", "about.html has no element with the id \"absent\""),
        ("/docs/#Größe", "docs/index.html has no element with the id \"Größe\""),
        ("/about#:~:text=absent", "about.html does not contain the text"),
        // The element exists.
        ("/about#team:~:text=absent", "about.html does not contain the text"),
    ])
    func `the detail of a missing fragment names the file and the id`(reference: String, detail: String)
        throws
    {
        #expect(try LinkedFolder(Self.site).verdict(on: reference).detail.hasSuffix(detail))
    }

    @Test func `the report counts documents and different links`() throws {
        let folder = try LinkedFolder([
            "a.html":
                "<a href=b.html>1</a><a href=/b.html>2</a><a href=b.html#x>3</a><a href=gone.html>4</a>",
            "b.html": "<p id=x><a href=gone.html>1</a>", "c.txt": "<a href=no.html>",
            "d.js": "location = 'no.html'",
        ])
        let report = try folder.check()
        #expect(report.name == folder.path)
        #expect(report.documentCount == 2)
        #expect(report.linkCount == 3)
        #expect(report.verifiedCount == 2)
        #expect(report.findings.map(\.target) == ["/gone.html"])
        #expect(report.findings.first?.isInternal == true)
        #expect(report.findings.first?.placeCount == 2)
        #expect(!report.isClean)
        #expect(report.notes == [])
    }

    @Test func `the worst findings are first, then the order is that of targets`() throws {
        let page = "<a href=/z><a href=/a><a href=#y><a href=#b><a href=https://a.test/><a href=/z>"
        let report = try LinkedFolder(["index.html": page]).check()
        #expect(
            report.findings.map(\.target) == [
                "/a", "/z", "/index.html#b", "/index.html#y", "https://a.test/",
            ])
        #expect(
            report.findings.map(\.verdict) == [.dead, .dead, .fragmentMissing, .fragmentMissing, .notChecked])
    }

    @Test func `assets of pages and style sheets are checked`() throws {
        let folder = try LinkedFolder([
            "index.html": """
            <link rel=stylesheet href=css/s.css><link rel=icon href=icon.png><script src=app.js></script>
            <img src=a.png srcset="a.png 1x, b.png 2x"><style>p { background: url(c.png) }</style>
            <p style="background: url('d.png')"></p><svg><use href="icons.svg#gone"/></svg>
            <video poster=e.png><source src=f.mp4></video><object data=g.pdf></object>
            <form method=post action=send></form><script>x = 'guess.json'</script>
            """,
            "css/s.css": "@import \"t.css\"; @font-face { src: url(../h.woff2) } p { filter: url(#x) }",
            "a.png": "a", "icons.svg": Self.site["icons.svg"] ?? "",
        ])
        let report = try folder.check()
        #expect(
            report.targets(.dead) == [
                "/app.js", "/b.png", "/c.png", "/css/t.css", "/d.png", "/e.png", "/f.mp4", "/g.pdf",
                "/h.woff2", "/icon.png",
            ])
        #expect(report.targets(.fragmentMissing) == ["/icons.svg#gone"])
        #expect(report.findings.count == 11)
        let places = report.findings.flatMap(\.places)
        #expect(places.filter { $0.reference == "t.css" }.map(\.document) == [folder.path + "/css/s.css"])
        #expect(places.filter { $0.reference == "b.png" }.map(\.kind) == ["image"])
        #expect(places.filter { $0.reference == "app.js" }.map(\.kind) == ["script"])
    }

    @Test func `a base element changes the targets of a page`() throws {
        let folder = try LinkedFolder(Self.site)
        try folder.write(
            "<base href=/docs/><a href=index.html><a href=gone.html><a href=#start><a href=#here><p id=here>",
            to: "page.html")
        let report = try folder.check()
        #expect(report.verdicts == ["/docs/gone.html": .dead, "/docs/#here": .fragmentMissing])
    }

    @Test func `with a base, absolute URLs below it mean files of the folder`() throws {
        let folder = try LinkedFolder(Self.site)
        try folder.write(
            """
            <a href=https://example.com/app/about.html#team><a href=https://example.com/app/gone.html>
            <a href=/app/about><a href=/app/><a href=../index.html><a href=/other>
            <a href=http://example.com/app/about.html><a href=https://example.com/app>
            """, to: "docs/page.html")
        let report = try folder.check { $0.base = "https://example.com/app/" }
        #expect(
            report.verdicts == [
                "https://example.com/app/gone.html": .dead, "https://example.com/other": .notChecked,
                "https://example.com/app": .notChecked,
            ])
        #expect(report.findings.map(\.isInternal) == [true, false, false])
    }

    @Test func `a base that is not a URL is an error`() throws {
        let folder = try LinkedFolder(Self.site)
        let error = #expect(throws: LarderError.self) { try folder.check { $0.base = "http://" } }
        #expect(error?.kind == .input)
    }

    @Test func `a sitemap and a feed are checked`() throws {
        let folder = try LinkedFolder([
            "index.html": "<p>",
            "sitemap.xml": """
            <?xml version="1.0" encoding="UTF-8"?>
            <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
            <url><loc>https://example.com/</loc></url>
            <url><loc>https://example.com/gone.html</loc></url></urlset>
            """,
            "feed.xml": """
            <rss version="2.0"><channel><title>t</title><link>https://example.com/</link>
            <item><link>https://example.com/old.html</link></item></channel></rss>
            """,
        ])
        let report = try folder.check { $0.base = "https://example.com/" }
        #expect(report.targets(.dead) == ["https://example.com/gone.html", "https://example.com/old.html"])
        #expect(report.documentCount == 3)
        let place = try #require(report.findings.first?.places.first)
        #expect((place.document, place.line, place.column) == (folder.path + "/sitemap.xml", 4, 11))
        #expect(place.kind == "sitemap entry")
    }

    @Test func `symbolic links that lead outside the folder are refused`() throws {
        let folder = try LinkedFolder(Self.site)
        try folder.home.write("<p id=x>", to: "secret.html")
        symlink("../secret.html", folder.home.file("dist/link.html"))
        symlink("..", folder.home.file("dist/up"))
        symlink("about.html", folder.home.file("dist/inside.html"))
        for reference in [
            "/link.html", "/link.html#x", "/up/secret.html", "/up/secret.html#x", "/..%2Fsecret.html",
        ] {
            let result = try folder.verdict(on: reference)
            #expect(result.0 == .failed, "\(reference): \(result.detail)")
            #expect(result.detail.hasSuffix("outside \(folder.path)"))
        }
        #expect(try folder.verdict(on: "/inside.html#team").0 == .verified)
    }

    // MARK: - Mixed content

    /// No request is needed to see that a page loads something by http.
    @Test(arguments: [
        ("https://example.com/", LinkCheckReport.Verdict.mixedContent), ("http://example.com/", .notChecked),
    ])
    func `assets that a page loads by http are mixed content if the base is https`(
        base: String, verdict: LinkCheckReport.Verdict
    ) throws {
        let folder = try LinkedFolder([
            "index.html": "<script src=http://cdn.test/a.js></script><img src=http://cdn.test/a.png>"
                + "<a href=http://cdn.test/>x</a><img src=https://cdn.test/b.png><img src=//cdn.test/c.png>"
        ])
        let report = try folder.check { $0.base = base }
        #expect(report.verdicts["http://cdn.test/a.js"] == verdict)
        #expect(report.verdicts["http://cdn.test/a.png"] == verdict)
        #expect(report.verdicts["http://cdn.test/"] == .notChecked)
        #expect(report.verdicts["https://cdn.test/b.png"] == .notChecked)
        #expect(report.findings.count == 5)
        #expect(report.isClean)
    }

    @Test func `an asset that exists elsewhere is mixed content, and one that does not is dead`() throws {
        let origin = try TestOrigin()
        origin.on("/a.png", .file([1, 2, 3], type: "image/png"))
        origin.on("/b.png", .failure(404))
        origin.on("/page", .page("p"))
        let folder = try LinkedFolder([
            "index.html": "<img src=\(origin.url("/a.png"))><img src=\(origin.url("/b.png"))>"
                + "<a href=\(origin.url("/page"))>x</a>"
        ])
        let report = try folder.check {
            $0.base = "https://example.com/"
            $0.checksExternal = true
        }
        #expect(report.verdicts == [origin.url("/a.png"): .mixedContent, origin.url("/b.png"): .dead])
        #expect(report.findings.map(\.isInternal) == [false, false])
        #expect(report.findings.last?.detail == "a page that is sent by https loads it by http")
        #expect(report.verifiedCount == 1)
    }

    // MARK: - Places

    @Test(
        arguments: [
            ("p.html", "<p>\n  <a href=\"gone\">x</a>", 2, 12, "gone", "page"),
            ("p.html", "<img src='gone'>", 1, 11, "gone", "image"),
            ("p.html", "<a href=gone>", 1, 9, "gone", "page"),
            ("p.html", "<a href=\" gone \">", 1, 11, "gone", "page"),
            ("p.html", "<p>\r\n<p>\r\n<a href=gone>", 3, 9, "gone", "page"),
            ("p.html", "<meta charset=utf-8>äö😀<a href=gone>", 1, 32, "gone", "page"),
            ("p.html", "<img srcset=\"index.html 1x, gone 2x\">", 1, 29, "gone", "image"),
            ("p.html", "<a href=\"gone?a&amp;b\">", 1, 10, "gone?a&amp;b", "page"),
            ("p.html", "<style>\np { background: url( gone ) }</style>", 2, 22, "gone", "image"),
            ("p.html", "<p style=\"background: url('gone')\">", 1, 28, "gone", "image"),
            // The mark at the beginning is not a character of the text.
            ("p.html", "\u{FEFF}<a href=gone>", 1, 9, "gone", "page"),
            // What a user searches for in the file.
            ("p.html", "<a href=\"gone (old).html\">", 1, 10, "gone (old).html", "page"),
            ("p.html", "<a href=\"it's-gone\">", 1, 10, "it's-gone", "page"),
            ("p.css", "p {\n  background: url(gone);\n}", 2, 19, "gone", "image"),
            ("p.md", "# T\n\nSee [x](index.html) and [y](gone).", 3, 29, "gone", "page"),
            ("p.md", "![ä](gone)", 1, 6, "gone", "image"),
            ("p.md", "[x]\n\n[x]: <gone> 't'", 3, 7, "gone", "page"),
        ] as [(String, String, Int, Int, String, String)])
    func `a place has the line, the column, the kind and the reference`(
        name: String, text: String, line: Int, column: Int, reference: String, kind: String
    ) throws {
        let folder = try LinkedFolder(["index.html": "", name: text])
        let report = try folder.check()
        let place = try #require(report.findings.first?.places.first, "\(report)")
        #expect(place.document == folder.path + "/" + name)
        #expect(place.line == line)
        #expect(place.column == column)
        #expect(place.reference == reference)
        #expect(place.kind == kind)
    }

    @Test func `places in a document in UTF-16 count its characters`() throws {
        let folder = try LinkedFolder()
        let text = "<p>ä<a href=x data-larder-ignore>\n<p>ö<a href=\"gone\">x</a>"
        try folder.write(
            [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }, to: "p.html")
        let report = try folder.check()
        #expect(report.findings.map(\.target) == ["/gone"])
        let place = try #require(report.findings.first?.places.first)
        #expect((place.line, place.column) == (2, 14))
        #expect(place.reference == "gone")
    }

    @Test func `further places of a link are only counted`() throws {
        let folder = try LinkedFolder()
        for number in 10..<33 { try folder.write("<a href=/gone><a href=/gone>", to: "\(number).html") }
        let report = try folder.check()
        let finding = try #require(report.findings.first)
        #expect(report.findings.count == 1)
        #expect(finding.placeCount == 46)
        #expect(finding.places.count == LinkCheckReport.Finding.maxPlaces)
        #expect(
            finding.places.prefix(3).map(\.document)
                == ["10", "10", "11"].map { "\(folder.path)/\($0).html" })
        #expect(finding.places.prefix(3).map(\.column) == [9, 23, 9])
        #expect(report.text(as: .text).contains("and 43 other places"))
    }

    // MARK: - Ignored links

    @Test func `tags with data-larder-ignore are only counted`() throws {
        let page =
            "<a href=a data-larder-ignore>1</a><a href=b>2</a><img data-larder-ignore src=c srcset='d 2x'>"
        let report = try LinkedFolder(["index.html": page]).check()
        #expect(report.targets(.dead) == ["/b"])
        #expect(report.linkCount == 1)
        #expect(report.notes == ["3 links with data-larder-ignore not checked"])
    }

    /// Patterns match what the report shows.
    @Test(arguments: ["/gone*", "*gone*", "/gone.html"])
    func `a pattern matches targets as the report shows them`(pattern: String) throws {
        let folder = try LinkedFolder([
            "index.html": "<a href=gone.html><a href=dead.html><a href=https://a.test/gone.html>"
        ])
        let report = try folder.check { $0.ignores = [pattern] }
        #expect(report.verdicts["/gone.html"] == .ignored)
        #expect(report.verdicts["/dead.html"] == .dead)
        let finding = try #require(report.findings.first { $0.target == "/gone.html" })
        #expect(finding.detail == "it matches \"\(pattern)\"")
        #expect(finding.isInternal && finding.places.isEmpty && finding.placeCount == 0)
    }

    @Test func `a rule for documents ignores a link only there`() throws {
        let folder = try LinkedFolder([
            "index.html": "<a href=/gone.html>", "old/a.html": "<a href=/gone.html>",
        ])
        try folder.home.write("* in */old/* # archive\n", to: "rules")
        let finding = try #require(try folder.check().findings.first)
        #expect(finding.verdict == .dead)
        #expect(finding.placeCount == 1)
        #expect(finding.places.map(\.document) == [folder.path + "/index.html"])
        folder.home.remove("dist/index.html")
        let report = try folder.check()
        #expect(report.verdicts == ["/gone.html": .ignored])
        #expect(report.findings.first?.detail == "archive")
        #expect(report.isClean)
    }

    @Test func `only links that the baseline does not list are reported`() throws {
        let folder = try LinkedFolder(["index.html": "<a href=/gone.html><a href=#x>"])
        let baseline = folder.home.file("baseline.json")
        let first = try folder.check { $0.newBaseline = baseline }
        #expect(first.notes == ["2 links written to the baseline \(baseline)"])
        #expect(!first.isClean)
        let second = try folder.check { $0.baseline = baseline }
        #expect(second.isClean)
        #expect(second.verdicts == ["/gone.html": .ignored, "/index.html#x": .ignored])
        let bytes = try WholeFile.read(baseline, atMost: 1 << 20)
        let written = try JSONValue.parse(bytes.span)
        #expect(
            written["links"]?.array?.compactMap { $0["target"]?.string } == ["/gone.html", "/index.html#x"])

        // A new page with an old target, and a fixed link.
        try folder.write("<a href=/gone.html>", to: "new.html")
        try folder.write("<a href=/gone.html>", to: "index.html")
        let third = try folder.check {
            $0.baseline = baseline
            $0.newBaseline = baseline
        }
        #expect(third.verdicts == ["/gone.html": .dead])
        #expect(third.findings.first?.places.map(\.document) == [folder.path + "/new.html"])
        #expect(third.notes == ["2 links written to the baseline \(baseline)"])
        #expect(try folder.check { $0.baseline = baseline }.isClean)
    }

    @Test func `a document in undeclared UTF-8 has its ids and links in UTF-8`() throws {
        let folder = try LinkedFolder([
            "index.html": "<p id=\"é\"><a href=\"#%C3%A9\">x</a><a href=\"ü.html\">y</a>", "ü.html": "u",
        ])
        #expect(try folder.check().verdicts == [:])
    }

    @Test func `a folder without an index is fine for Markdown and dead for HTML, in any order`() throws {
        for names in [("a.md", "b.html"), ("b.md", "a.html")] {
            let folder = try LinkedFolder([names.0: "[f](sub/)", names.1: "<a href=sub/>", "sub/x.txt": "x"])
            let report = try folder.check()
            #expect(report.verdicts == ["/sub/": .dead])
            #expect(report.findings.first?.places.map(\.document) == [folder.path + "/" + names.1])
        }
    }

    @Test func `passwords of URLs get into no report`() throws {
        let folder = try LinkedFolder(["index.html": "<a href=http://anna:secret@a.test/x>x</a>"])
        let report = try folder.check()
        #expect(report.findings.map(\.target) == ["http://a.test/x"])
        for format in ReportFormat.allCases { #expect(!report.text(as: format).contains("secret")) }
    }

    @Test func `a base that is not a location is ignored`() throws {
        for base in ["data:,x", "javascript:1"] {
            let folder = try LinkedFolder(["index.html": "<base href=\"\(base)\"><a href=index.html>x</a>"])
            #expect(try folder.check().isClean)
        }
    }

    @Test func `many text fragments of one page are found`() throws {
        let links = (0..<300).map { "<a href=\"page.html#:~:text=word%20\($0)%20end\">x</a>" }.joined()
        let words = (0..<300).map { "<p>Word \($0)   end</p>" }.joined()
        let folder = try LinkedFolder(["index.html": links, "page.html": words])
        #expect(try folder.check().isClean)
    }

    // MARK: - Folders and files

    @Test func `a folder without pages, and anything else than a folder, is an error`() throws {
        let folder = try LinkedFolder(["a.txt": "a"])
        let error = #expect(throws: LarderError.self) { try folder.check() }
        #expect(error?.kind == .input)
        #expect(
            error?.description
                == "\(folder.path) has no HTML or Markdown files: name the build's output folder")
        for path in [folder.home.file("none"), folder.home.file("dist/a.txt")] {
            let error = #expect(throws: LarderError.self) {
                try LinkCheck.report(onFolder: path, folder.options(), in: StoreFolder(path), Interruption())
            }
            #expect(error?.kind == .input)
        }
    }

    private func checkFiles(_ names: [String], root: String, _ folder: LinkedFolder) throws -> LinkCheckReport
    {
        try LinkCheck.report(
            onFiles: names.map(folder.home.file), root: root, folder.options(),
            in: StoreFolder(folder.home.file("larder")),
            Interruption())
    }

    @Test func `files link to headings, files and folders beside them`() throws {
        let folder = try LinkedFolder([
            "README.md": """
            [a](docs/x.md#set-up) [b](docs/x.md#gone) [c](docs/gone.md) [d](docs/) [e](docs) [f](/docs/x.md)
            [g](#read-me) [h](none/) [i](src/a.swift#L10) [j](.)

            # Read me
            """,
            "docs/x.md": "# Set up\n[a](../README.md) [b](../gone.md)\n", "src/a.swift": "a",
        ])
        let report = try checkFiles(["dist/README.md"], root: folder.path, folder)
        #expect(
            report.verdicts == ["/docs/x.md#gone": .fragmentMissing, "/docs/gone.md": .dead, "/none/": .dead])
        #expect(report.name == folder.path + "/README.md")
        #expect(report.documentCount == 1)
        #expect(report.findings.first?.places.map(\.document) == [folder.path + "/README.md"])
        let both = try checkFiles(["dist/README.md", "dist/docs/x.md"], root: folder.path, folder)
        #expect(both.documentCount == 2)
        #expect(both.targets(.dead) == ["/docs/gone.md", "/gone.md", "/none/"])
    }

    @Test func `the root of files is the folder of links that begin with a slash`() throws {
        let folder = try LinkedFolder(["docs/a.html": "<a href=/b.html>", "b.html": "b"])
        #expect(try checkFiles(["dist/docs/a.html"], root: folder.path, folder).isClean)
        let inner = try checkFiles(["dist/docs/a.html"], root: folder.path + "/docs", folder)
        #expect(inner.targets(.dead) == ["/b.html"])
        #expect(inner.findings.first?.places.first?.document == folder.path + "/docs/a.html")
    }

    @Test(arguments: [
        ("dist/none.md", "cannot read FILE: No such file or directory; make it readable"),
        ("dist/docs", "links are not read from FILE: name HTML, Markdown, CSS, SVG, XML or feed files"),
        ("dist/docs/a.rst", "links are not read from FILE: name HTML, Markdown, CSS, SVG, XML or feed files"),
        ("outside.md", "not all files are below ROOT: name a folder around them"),
    ])
    func `a file that is missing, without links or outside the root is an error`(
        name: String, message: String
    ) throws {
        let folder = try LinkedFolder(["docs/a.md": "a"])
        try folder.home.write("a", to: "outside.md")
        let error = #expect(throws: LarderError.self) { try checkFiles([name], root: folder.path, folder) }
        #expect(error?.kind == .input)
        let expected = message.replacing("FILE", with: folder.home.file(name)).replacing(
            "ROOT", with: folder.path)
        #expect(error?.description == expected)
    }
}
