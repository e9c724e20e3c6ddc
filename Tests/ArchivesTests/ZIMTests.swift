import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

@Suite struct ZIMTests {
    static let isInstalled =
        ExternalProgram.find("zimwriterfs") != nil && ExternalProgram.find("zimcheck") != nil
        && ExternalProgram.find("zimdump") != nil

    @Test(.enabled(if: isInstalled, "zim-tools are not installed"))
    func `an exported ZIM passes zimcheck and can be imported`() throws {
        let site = try ArchiveTestSite([
            .page(
                "/",
                "<html lang='de'><title>Ein Titel, der viel länger als dreißig Zeichen ist</title><img src=/gone.png>"
                    + "<a href='/b?x=1#c'>b</a><a href=https://else.test/>e</a><a href=\"\">own</a><script src=/empty.js></script><iframe src=//else.test/></iframe>"
            ),
            .page(
                "/b?x=1",
                "<meta http-equiv=refresh content='5;url=/nowhere'><p id=c>b</p><link rel=stylesheet href=/s.css>"
            ),
            .page("/self", "<meta http-equiv=refresh content='0;url=/self'>self"),
            .page(
                "/written",
                "<title>w</title><script>document.write('<img src=\"http://else.test/x.png\"><a href=\"/nowhere\">n</a>')</script>"
                    + "<!-- <img src='http://else.test/y.png'> -->w"),
            .file("/empty.js", "text/javascript", []),
            .file("/s.css", "text/css", Array("@import '/none.css'; b { background: url(i.png) }".utf8)),
            .file("/i.png", "image/png", [1, 2]),
        ])
        let report = try site.export("site.zim", .zim)
        #expect(report.isVerified == true && report.leftOutByFormat == 1)
        #expect(
            report.missing.map(\.url) == ["https://else.test/"]
                + ["gone.png", "none.css"].map { "https://example.com/\($0)" })
        let other = try ArchiveTestSite()
        let taken = try other.importFiles([site.home.file("site.zim")])
        #expect(
            taken.refused.isEmpty && taken.site == "http://site.zim.invalid/index.html"
                && taken.responses == 7)
        #expect(site.home.names(in: "").sorted() == ["site.zim", "store"])
        #expect(other.home.names(in: "store/incoming").isEmpty)
    }

    @Test(
        .enabled(if: isInstalled, "zim-tools are not installed"),
        arguments: [
            #"content="0; URL='/b'""#, #"content='0;url="/b"'"#, #"content="0;url=' /b ' ""#,
            #"content="0;url='/b""#,
            "content='0; url=/b'", "content=0;url='/b'",
        ])
    func `a refresh to another page works with any quotes`(content: String) throws {
        let site = try ArchiveTestSite([
            .page("/", "<title>t</title><a href=/m>m</a>"), .page("/b", "<title>b</title>b"),
            .page("/m", "<html><head><title>m</title><meta http-equiv=refresh \(content)></head></html>"),
        ])
        #expect(try site.export("site.zim", .zim).isVerified == true)
    }

    /// With a language that Kiwix does not know, its search finds nothing.
    @Test(
        .enabled(
            if: isInstalled && ExternalProgram.find("kiwix-search") != nil, "kiwix-tools are not installed"),
        arguments: [
            ("<title>Start</title>", ["de", "de", "en"], nil, "deu"),
            ("<html lang=en>", ["de", "de"], nil, "eng"),
            ("<title>Start</title>", ["", ""], nil, "mul"), ("<html lang=en>", ["de"], "fra", "fra"),
        ] as [(String, [String], String?, String)])
    func `a ZIM gets the most frequent language of its pages, and search finds their words`(
        start: String, pages: [String], said: String?, language: String
    ) throws {
        let others = pages.enumerated().map { number, language in
            ArchiveTestSite.Response.page(
                "/\(number)", "<html lang=\(language)><title>Seite</title><p>Kaninchen sitzen")
        }
        let site = try ArchiveTestSite([.page("/", start + "<p>x")] + others)
        _ = try site.export("site.zim", .zim) { $0.language = said }
        // The library file of Kiwix has the metadata of the ZIM.
        let library = site.home.file("library.xml")
        let manage = try #require(ExternalProgram.find("kiwix-manage"))
        _ = try ChildProcess(manage, [library, "add", site.home.file("site.zim")], environment: [:]).wait()
        let text = String(decoding: try WholeFile.read(library, atMost: 99_999), as: UTF8.self)
        #expect(text.contains("language=\"\(language)\""), "\(text)")
        let search = try #require(ExternalProgram.find("kiwix-search"))
        let found = try ChildProcess(search, [site.home.file("site.zim"), "Kaninchen"], environment: [:])
            .wait()
        #expect(found.output.contains("Seite"), "\(found)")
    }

    /// openZIM's indexer does not find the title of a page that has bytes before its first tag.
    @Test(
        .enabled(
            if: isInstalled && ExternalProgram.find("kiwix-search") != nil, "kiwix-tools are not installed"))
    func `pages in any encoding are found by their titles`() throws {
        var (latin, mark) = (
            ArchiveTestSite.Response.page("/l/", ""), ArchiveTestSite.Response.page("/m/", "")
        )
        latin.type = "text/html; charset=iso-8859-1"
        latin.body =
            Array("<!doctype html><title>Latin</title><p>Kaninchen m".utf8) + [0xFC] + Array("de".utf8)
        func latinFile(_ name: String, _ type: String, _ text: String) -> ArchiveTestSite.Response {
            .file("/l/\(name)", "\(type); charset=iso-8859-1", text.unicodeScalars.map { UInt8($0.value) })
        }
        let others = [
            latinFile("s.css", "text/css", "@charset 'x'; p::after { content: 'ü' }"),
            latinFile("s.js", "text/javascript", "name = 'ü'"),
        ]
        mark.body = [0xEF, 0xBB, 0xBF] + Array("<!doctype html><title>Mark</title><p>Kaninchen müde".utf8)
        let site = try ArchiveTestSite(
            [
                .page("/", "<title>Start</title><a href=' l/\n'>l</a><a href=\"m/ \">m</a><a href=u/>u</a>"),
                latin, mark,
                .page("/u/", "<!doctype html><title data-rh=true>Plain</title><p>Kaninchen müde"),
            ] + others)
        #expect(try site.export("site.zim", .zim).isVerified == true)
        let search = try #require(ExternalProgram.find("kiwix-search"))
        let found = try ChildProcess(search, [site.home.file("site.zim"), "Kaninchen"], environment: [:])
            .wait()
        for title in ["Latin", "Mark", "Plain"] { #expect(found.output.contains(title), "\(found)") }
        #expect(!found.output.contains("index"), "\(found)")
        let shown = try ChildProcess(
            try #require(ExternalProgram.find("zimdump")),
            ["show", "--url=u/index.html", site.home.file("site.zim")],
            environment: [:]
        ).wait()
        #expect(
            shown.output.contains(
                "<meta charset=\"utf-8\"><title data-rh=true>Plain</title><p>Kaninchen müde"), "\(shown)"
        )
        // Kiwix reads all text as UTF-8.
        let files = [
            ("l/index.html", "<!doctype html><meta charset=\"utf-8\"><title>Latin</title><p>Kaninchen müde"),
            ("l/s.css", "\u{FEFF}@charset 'x'; p::after { content: 'ü' }"), ("l/s.js", "\u{FEFF}name = 'ü'"),
        ]
        for (file, text) in files {
            let old = try ChildProcess(
                try #require(ExternalProgram.find("zimdump")),
                ["show", "--url=\(file)", site.home.file("site.zim")],
                environment: [:]
            ).wait()
            #expect(old.output == text, "\(old)")
        }
    }

    @Test(arguments: [
        ("de", "deu"), ("ENG", "eng"), ("en-GB,fr", "eng,fra"), ("tlh", "tlh"), ("xx", nil), ("", nil),
        ("de,", nil), ("german", nil), ("und", nil),
    ])
    func `language codes are parsed from user input`(text: String, codes: String?) {
        #expect(ZIMMetadata.languageCodes(text) == codes)
    }

    @Test(.enabled(if: isInstalled, "zim-tools are not installed"))
    func `links with other escapes in a foreign ZIM work by redirects`() throws {
        let home = try TemporaryFolder()
        for folder in ["site", "site/a b", "site/ä"] { mkdir(home.file(folder), 0o755) }
        let links = [
            "a%20b/c%23d.html", "%C3%A4/%C3%B6.html", "x%3Fy=1+2.html", "(p)&amp;'q.html",
            "%28p%29%26%27q.html",
        ]
        try home.write(
            "<title>Home</title>" + links.map { "<a href=\"\($0)\">x</a>" }.joined(), to: "site/index.html")
        for file in ["a b/c#d.html", "ä/ö.html", "x?y=1+2.html", "(p)&'q.html"] {
            try home.write("<title>x</title><p>words</p>", to: "site/\(file)")
        }
        try home.write(ZIMMetadata.drawIcon("x"), to: "site/i.png")
        let words = [
            "--welcome=index.html", "--illustration=i.png", "--language=eng", "--title=t", "--description=d",
            "--creator=c", "--publisher=p", "--name=n", home.file("site"), home.file("odd.zim"),
        ]
        let program = try #require(ExternalProgram.find("zimwriterfs"))
        let ending = try ExternalProgram.run(program, words, in: home.path) { false }
        #expect(ending?.status == 0, "\(String(describing: ending?.errorSummary))")
        let site = try ArchiveTestSite()
        let report = try site.importFiles([home.file("odd.zim")])
        #expect(report.isComplete, "\(report)")
        let reader = try StoreReader(site.folder)
        for link in links {
            let base = try #require(WebURL("http://odd.zim.invalid/index.html"))
            let url = try #require(WebURL(link.replacing("&amp;", with: "&"), base: base))
            #expect(try reader.response(for: url.key.href) != nil, "\(link)")
        }
    }

    @Test(arguments: [
        ("<img src='a'><a href=\"b\">", "<img src='a'><a href=\"b\">"),
        (
            "<script>w('<img src=\"a\">')</script><img src=\"b\">",
            "<script>w('<img\tsrc=\"a\">')</script><img src=\"b\">"
        ),
        ("<SCRIPT>var href = 'x'; a. src  =  \"y\"", "<SCRIPT>var\thref = 'x'; a.\tsrc  =  \"y\""),
        ("<!-- <a href='x'> --><a href='y'>", "<!-- <a\thref='x'> --><a href='y'>"),
        (
            "<script>t.split(/ src='/); t.indexOf(' href=\"')</script>",
            "<script>t.split(/ src='/); t.indexOf(' href=\"')</script>"
        ),
        ("<script>a src= b; c srcset='d'; e href", "<script>a src= b; c srcset='d'; e href"),
        ("<!--", "<!--"), ("<script", "<script"), ("", ""), ("< src='", "< src='"),
    ])
    func `zimcheck does not see links in scripts and comments`(text: String, hidden: String) {
        var bytes = Array(text.utf8)
        ZIMPageFixes.hideLinksInScriptsAndComments(in: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == hidden)
    }

    @Test(.enabled(if: isInstalled, "zim-tools are not installed"))
    func `a folder as the target of a ZIM is refused before anything is packed`() throws {
        let site = try ArchiveTestSite([.page("/", "home")])
        #expect(mkdir(site.home.file("site.zim"), 0o755) == 0)
        let error = #expect(throws: ArchiveError.self) { try site.export("site.zim", .zim) }
        #expect(error?.description.contains("is a folder: name a file") == true)
    }

    @Test func `an interrupted ZIM export leaves nothing behind`() throws {
        let folder = try TemporaryFolder()
        let ending = try ExternalProgram.run("/bin/sleep", ["60"], in: folder.path) { true }
        #expect(ending == nil)
        let said = try ExternalProgram.run(
            "/bin/sh", ["-c", "echo out; echo err >&2; exit 3"], in: folder.path
        ) {
            false
        }
        #expect(said?.status == 3 && said?.output == Array("out\n".utf8) && said?.errorSummary == "err")
        let killed = try ExternalProgram.run("/bin/sh", ["-c", "kill -9 $$"], in: folder.path) { false }
        #expect(killed?.status == -9)
        #expect(throws: SystemError.self) {
            try ExternalProgram.run("/no/such", [], in: folder.path) { false }
        }
    }

    @Test(arguments: [
        (
            "path: a.html\n* title: A\n* mime-type:      text/html\n* item size:      9\npath: b\n* type: redirect\n",
            ["a.html text/html 9", "b  0"]
        ),
        ("path: a\n* item size: 99999999999999999999\n* mime-type: x", ["a x 0"]), ("", []),
        ("path: a..b/c", ["a..b/c  0"]),
    ])
    func `the output of zimdump list is parsed`(list: String, expected: [String]) throws {
        let entries = try #require(ZIMListing(Array(list.utf8))).entries
        #expect(entries.map { "\($0.path) \($0.type) \($0.byteCount)" } == expected)
    }

    @Test(arguments: [
        "path: ../a", "path: a/../../b", "path: /etc/passwd", "path: a\n../../b", "path: ..", "path: a\nx/..",
    ])
    func `a list with a path outside the folder is refused as a whole`(list: String) {
        #expect(ZIMListing(Array(list.utf8)) == nil)
    }

    @Test(arguments: [
        ("<html lang=en-GB>", "eng"), ("<!doctype html><HTML class=x LANG='DE'>", "deu"),
        ("<html lang=\"deu\">", "deu"),
        ("<html><meta http-equiv=content-language content=fr>", "fra"),
        ("<html>", nil), ("", nil), ("<html lang=xx>", nil), ("<p lang=de>", nil), ("<html lang=und>", nil),
    ])
    func `the declared language of a page is found`(page: String, language: String?) {
        #expect(ZIMMetadata.language(of: Array(page.utf8)) == language)
    }
}
