import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

@Suite struct FolderTests {
    private static func name(_ address: String, _ type: String? = "text/html", among others: [String] = [])
        throws
        -> String
    {
        var names = FolderNames(start: try #require(WebURL("https://example.com/")))
        for other in others + [address] { names.add(try #require(WebURL(other)), type) }
        return names.name(of: try #require(WebURL(address)), type)
    }

    @Test(arguments: [
        ("https://example.com/", "text/html", "index.html"),
        ("https://example.com/a/", "text/html", "a/index.html"),
        ("https://example.com/a", "text/html", "a.html"),
        ("https://example.com/a.php", "text/html", "a.php.html"),
        ("https://example.com/b.min.js", "text/javascript", "b.min.js"),
        ("https://example.com/x.HTM", "text/html", "x.HTM"),
        ("https://example.com/LICENSE", "text/plain", "LICENSE.txt"),
        ("https://example.com/s.css?v=1", "text/css", "s.css"),
        ("https://example.com/?lang=en", "text/html", "index.html"),
        ("https://example.com/a.c", "text/plain", "a.c"),
        // DASH templates name the segments, so that their names must not change.
        ("https://example.com/a-1.m4s", "video/mp4", "a-1.m4s"),
        ("https://cdn.test/x.css", "text/css", "~web/cdn.test/x.css"),
        ("http://cdn.test:8080/x.css", "text/css", "~web/http_cdn.test_8080/x.css"),
    ])
    func `a plain URL keeps its name and gets the suffix of its media type`(
        address: String, type: String, name: String
    )
        throws
    {
        #expect(try Self.name(address, type) == name)
    }

    @Test(arguments: [
        "https://example.com/nul.txt", "https://example.com/a.",
        "https://example.com/caf%C3%A9",
        "https://example.com/.git/config", "https://example.com/a:b*c",
        "https://example.com/" + String(repeating: "x", count: 300),
        "https://example.com/" + (0..<60).map { "\($0)/" }.joined(), "https://example.com//a",
        "https://example.com/~web/x",
        "https://[2001:db8::1]:8443/a",
    ])
    func `an unusual URL gets a name that is valid on every file system`(address: String) throws {
        let name = try Self.name(address)
        #expect(name.hasSuffix(".html") && name.utf8.count <= 200)
        for segment in name.split(separator: "/", omittingEmptySubsequences: false) {
            #expect(
                !segment.isEmpty && !segment.hasPrefix(".") && !segment.hasSuffix(".")
                    && segment.utf8.count <= 90)
            #expect(segment.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._~".utf8.contains($0) }, "\(name)")
        }
        #expect(try name != Self.name(address + "x"))
    }

    @Test(arguments: [
        ["https://example.com/a", "https://example.com/a.html"],
        ["https://example.com/A", "https://example.com/a"],
        ["https://example.com/a.html", "https://example.com/a.html/b"],
        ["https://example.com/a?x", "https://example.com/a?X"],
        ["https://example.com/a/", "https://example.com/a/index.html"],
    ])
    func `two URLs get different files, also on a file system that ignores case`(
        addresses: [String]
    ) throws {
        let names = try addresses.map { try Self.name($0, among: addresses) }
        #expect(Set(names.map { $0.lowercased() }).count == addresses.count)
        for name in names { #expect(!names.contains { $0.hasPrefix(name + "/") }) }
    }

    @Test(arguments: [
        ("index.html", "a/b.html", "a/b.html"), ("a/b.html", "index.html", "../index.html"),
        ("a/b.html", "a/c.css", "c.css"),
        ("a/b/c.html", "a/d/e.html", "../d/e.html"), ("x.html", "x.html", "x.html"),
    ])
    func `a reference between files is the shortest relative path`(
        from: String, to: String, reference: String
    ) {
        #expect(FolderNames.reference(from: from, to: to) == reference)
    }

    private static let page = """
        <!doctype html><base href="/docs/"><title>ä</title><link rel=stylesheet href="/s.css?v=1" integrity="sha256-V+H6w0iAxnYi4jv7SZ62ZZfxo4AH29UUwrFpcmTyerk=">
        <a href="two#part">2</a> <a href="/old">old</a> <a href="https://elsewhere.test/">x</a> <img src="/gone.png">
        <a href="#top">t</a>
        """

    /// A site with two pages, a style sheet and its image, a redirect and a missing image.
    private static func site() throws -> ArchiveTestSite {
        var old = ArchiveTestSite.Response(path: "/old", status: 301)
        old.fields = [("Location", "/docs/two")]
        return try ArchiveTestSite([
            .page("/", page), .page("/docs/two", "<a href=/>home</a>"),
            .file("/s.css?v=1", "text/css", Array("b{background:url(/i.png)}".utf8)),
            .file("/i.png", "image/png", [1, 2, 3]),
            old, ArchiveTestSite.Response(path: "/gone.png", status: 404),
        ])
    }

    @Test func `links are rewritten to files, and missing assets are listed`() throws {
        let site = try Self.site()
        let report = try site.export("out/", .folder)
        #expect(report.isVerified == true)
        // The missing image is reported once, as broken, and not as a response that the format cannot contain, too.
        #expect(report.responses == 5 && report.leftOutByFormat == 0 && report.leftOutNotFound == 0)
        #expect(report.missing.map(\.url) == ["https://example.com/gone.png"])
        #expect(report.missing.map(\.isBroken) == [true])
        let home = String(
            decoding: try WholeFile.read(site.home.file("out/index.html"), atMost: 9999), as: UTF8.self)
        let style = try #require(site.home.names(in: "out").first { $0.hasSuffix(".css") })
        for part in [
            "href=\"./\"", "href=\"\(style)\"", "data-hash=", "href=\"docs/two.html#part\"",
            "href=\"docs/two.html\"",
            "href=\"https://elsewhere.test/\"", "src=\"https://example.com/gone.png\"",
        ] {
            #expect(home.contains(part), "\(part) in \(home)")
        }
        #expect(home.hasPrefix("\u{FEFF}<!doctype"))
        let sheet = String(
            decoding: try WholeFile.read(site.home.file("out/\(style)"), atMost: 9999), as: UTF8.self)
        #expect(sheet == "b{background:url(i.png)}")
        let two = String(
            decoding: try WholeFile.read(site.home.file("out/docs/two.html"), atMost: 9999), as: UTF8.self)
        #expect(two == "<a href=../index.html>home</a>")
        let old = String(
            decoding: try WholeFile.read(site.home.file("out/old.html"), atMost: 9999), as: UTF8.self)
        #expect(old.contains("url=docs/two.html"))
        let missing = String(
            decoding: try WholeFile.read(site.home.file("out/~missing.txt"), atMost: 9999), as: UTF8.self)
        #expect(missing == "https://example.com/gone.png  needed by https://example.com/\n")
        #expect(throws: ArchiveError.self) { try site.export("out/", .folder) }
    }

    @Test func `a page whose scripts load a 3D model is reported as needing a server`() throws {
        let site = try ArchiveTestSite([
            .page("/", "<model-viewer src=a.glb></model-viewer>"), .file("/a.glb", "model/gltf-binary", [1]),
        ])
        #expect(try site.export("out/", .folder).urlsNeedingServer == ["https://example.com/"])
        let start = try Self.text(site, "out/START-HERE.html")
        #expect(start.contains("<li><a href=\"index.html\">https://example.com/</a></li>"), "\(start)")
        #expect(start.contains("larder serve"))
    }

    /// The worker is started by a script that another script loads. The start page lists the page of these scripts.
    @Test func `START-HERE.html lists the pages whose scripts need a server`() throws {
        let site = try ArchiveTestSite([
            .page("/", "<a href=/map>map</a>"), .page("/map", "<script type=module src=/a.js></script>"),
            .file("/a.js", "text/javascript", Array("import './b.js'".utf8)),
            .file("/b.js", "text/javascript", Array("new Worker(new URL('./w.js', import.meta.url))".utf8)),
            .file("/w.js", "text/javascript", Array("importScripts(name)".utf8)),
        ])
        #expect(try site.export("out/", .folder).urlsNeedingServer == ["https://example.com/b.js"])
        let start = try Self.text(site, "out/START-HERE.html")
        let named = start.split(separator: "\n").filter { $0.hasPrefix("<li>") }
        #expect(
            named == [
                "<li><a href=\"index.html\">https://example.com/</a></li>",
                "<li><a href=\"map.html\">https://example.com/map</a></li>",
            ])
    }

    @Test(arguments: [
        ("postMessage(1)", true), ("fetch(x)", false), ("importScripts('/a.js')", false),
        ("import.meta", false),
    ])
    func `a worker that loads nothing else gets a twin and needs no server`(worker: String, isAlone: Bool)
        throws
    {
        let site = try ArchiveTestSite([
            .page("/", "<!doctype html><script>new Worker('/w.js')</script><script src=/a.js></script>"),
            .page("/m", "<!doctype html><script type=module src=/m.js></script>"),
            .page("/pwa", "<!doctype html><script>navigator.serviceWorker.register('/sw.js')</script>"),
            .file("/a.js", "text/javascript", Array("new Worker('/w.js')".utf8)),
            .file("/m.js", "text/javascript", Array("new Worker(new URL('w.js', import.meta.url))".utf8)),
            .file("/w.js", "text/javascript", Array(worker.utf8)),
            .file("/sw.js", "text/javascript", Array("fetch(x)".utf8)),
        ])
        let wanting = ["https://example.com/", "https://example.com/a.js", "https://example.com/m.js"]
        #expect(try site.export("out/", .folder).urlsNeedingServer == (isAlone ? [] : wanting))
        #expect(WholeFile.exists(site.home.file("out/~modules/w.js.js")) == isAlone)
        guard isAlone else { return }
        #expect(try Self.text(site, "out/index.html").contains("data-modules=\"w.js\""))
        #expect(try Self.text(site, "out/~modules/m.js.js").contains("[],[\"w.js\"]"))
    }

    @Test(arguments: [
        (["https://example.com/", "https://example.com/index.html"], "index.html"),
        (["https://example.com/index.html", "https://example.com/"], "index.html"),
        (["https://example.com/a", "https://example.com/a.html"], "a.html"),
        (["https://example.com/b", "https://example.com/B"], "b.html"),
        (["https://example.com/c?d", "https://example.com/c"], "c.html"),
    ])
    func `the shortest of several colliding URLs gets the name without a digest`(
        addresses: [String], name: String
    ) throws {
        var names = FolderNames(start: try #require(WebURL("https://example.com/")))
        for address in addresses { names.add(try #require(WebURL(address)), "text/html") }
        let plain = try addresses.map { names.name(of: try #require(WebURL($0)), "text/html") }
        #expect(plain.count { $0 == name } == 1 && plain.count { $0.contains("~") } == 1, "\(plain)")
    }

    @Test func `the start page gets the name index.html, and a redirect never does`() throws {
        let start = try #require(WebURL("https://example.com/index"))
        let root = try #require(WebURL("https://example.com/"))
        var names = FolderNames(start: start)
        names.add(root, "text/html")
        names.add(start, "text/html")
        #expect(names.name(of: start, "text/html") == "index.html")
        names = FolderNames(start: root)
        names.add(root, "text/html", isRedirect: true)
        names.add(start, "text/html")
        #expect(names.name(of: start, "text/html") == "index.html")
        #expect(!names.hasPreferredPath(root, "text/html"))
        #expect(
            try Self.name("https://example.com/start-here", "text/html").lowercased() != "start-here.html")
        #expect(
            try Self.name("https://example.com/START-HERE.html/a").lowercased() != "start-here.html/a.html")
    }

    @Test(arguments: [("1", 1), ("fetch('/d.json')", 2)])
    func `two queries with the same body share a file unless scripts can read the query`(
        script: String, count: Int
    ) throws {
        let page = "<!doctype html><a href='/?lang=de'>de</a><script src=/app.js></script>"
        let site = try ArchiveTestSite([
            .page("/", page), .page("/?lang=de", page),
            .file("/app.js", "text/javascript", Array(script.utf8)),
            .file("/d.json", "application/json", Array("{}".utf8)),
        ])
        let report = try site.export("out/", .folder)
        #expect(report.isVerified == true && report.responses == 4, "\(report)")
        #expect(site.home.names(in: "out").count { $0.hasPrefix("index") } == count)
    }

    @Test func `two URLs with the same body share a file and are imported as two responses`() throws {
        let page = "<title>t</title><a href=index.html>i</a>"
        let site = try ArchiveTestSite([
            .page("/", page), .page("/index.html", page), .page("/a/", "1"), .page("/a/index.html", "2"),
            ArchiveTestSite.Response(
                path: "/b", status: 301, fields: [("Location", "/b.html")]), .page("/b.html", "b"),
        ])
        let report = try site.export("out/", .folder)
        #expect(report.isVerified == true && report.responses == 5, "\(report)")
        let names = Set(site.home.names(in: "out"))
        #expect(names == ["START-HERE.html", ".nojekyll", "a", "b.html", "index.html", "~larder.jsonl"])
        #expect(site.home.names(in: "out/a").count == 2)
        let other = try ArchiveTestSite()
        let taken = try other.importFiles([site.home.file("out")])
        #expect(taken.refused.isEmpty && taken.responses == 6 && taken.pages == 5, "\(taken)")
    }

    @Test func `modules get twins for pages opened as files, and an import removes the changes`()
        throws
    {
        let page = """
            <!doctype html><link rel="modulepreload" href="/js/b.js"><script type=importmap>{"imports": {"p": "/js/b.js"}}</script>
            <script type="module" crossorigin src="/js/a.js"></script><script src=/js/old.js></script>
            """
        let main = "import {b} from './b.js'; import('/c.js'); new URL('i.png', import.meta.url); import(b)"
        let site = try ArchiveTestSite([
            .page("/", page), .file("/js/a.js", "text/javascript", Array(main.utf8)),
            .file("/js/b.js", "text/javascript", Array("import './a.js'; export const b = 1".utf8)),
            .file("/c.js", "text/javascript", Array("1".utf8)),
            .file("/js/old.js", "text/javascript", Array("import('./d.js')".utf8)),
            .file("/js/d.js", "text/javascript", Array("1".utf8)),
            .file("/js/i.png", "image/png", [1]),
        ])
        let report = try site.export("out/", .folder)
        #expect(report.urlsNeedingServer.isEmpty && report.isVerified == true, "\(report)")
        let changed = try Self.text(site, "out/index.html")
        for part in [
            "data-modules=\"js/b.js js/a.js js/d.js\" data-map=\"own\"",
            "<link rel=\"larderpreload\" href=\"./js/b.js\">",
            "<script type=lardermap>", "</script><script>larder$map()</script>",
            "src=\"data:text/javascript,import%22~larder/js/a.js%22//js/a.js\"",
        ] {
            #expect(changed.contains(part), "\(part) in \(changed)")
        }
        #expect(
            try Self.text(site, "out/~modules/js~/a.js.js")
                == "larder$module(\"js/a.js\",\"text/javascript\",[\"js/b.js\"],[\"c.js\"],"
                + "\"import {b} from '~larder/js/b.js'; larder$import(\\\"js/a.js\\\",'~larder/c.js'); "
                + "new URL('i.png', larder$meta(\\\"js/a.js\\\")); larder$import(\\\"js/a.js\\\",b)\")\n")
        #expect(
            try Self.text(site, "out/js/a.js")
                == "import {b} from './b.js'; import('../c.js'); new URL('i.png', import.meta.url); import(b)"
        )
        #expect(try Self.text(site, "out/js/old.js") == "larder$import(\"js/old.js\",'./d.js')")
        let other = try ArchiveTestSite()
        let taken = try other.importFiles([site.home.file("out")])
        #expect(taken.refused.isEmpty && taken.responses == 7, "\(taken)")
        try other.export("again.har", .har)
        let again = String(
            decoding: try WholeFile.read(other.home.file("again.har"), atMost: 99_999), as: UTF8.self)
        #expect(again.contains("import('./d.js')") && again.contains("type=importmap"), "\(again)")
        #expect(!again.contains("larder$") && !again.contains("~larder/") && !again.contains("larderpreload"))
    }

    /// Without the dot, a browser takes the specifier for the name of a package.
    @Test func `relative imports of modules keep their leading dot`() throws {
        let main = "import {x} from './m/a.js'; import('/main2.js'); export * from '../b.js'"
        let site = try ArchiveTestSite([
            .page(
                "/",
                "<script type=importmap>{\"imports\": {\"p\": \"./m/a.js\"}}</script><script type=module src=/js/main.js></script>"
            ),
            .file("/js/main.js", "text/javascript", Array(main.utf8)),
            .file("/js/m/a.js", "text/javascript", Array("1".utf8)),
            .file("/m/a.js", "text/javascript", Array("1".utf8)),
            .file("/main2.js", "text/javascript", Array("1".utf8)),
            .file("/b.js", "text/javascript", Array("1".utf8)),
        ])
        // Missing parent folders are created.
        _ = try site.export("far/off/out/", .folder)
        #expect(
            try Self.text(site, "far/off/out/js/main.js")
                == "import {x} from './m/a.js'; import('../main2.js'); export * from '../b.js'")
        #expect(try Self.text(site, "far/off/out/index.html").contains("{\"p\": \"./m/a.js\"}"))
        #expect(try site.export("far/off/again/", .folder).urlsNeedingServer.isEmpty)
    }

    /// The runtime of webpack as in Docusaurus, and a router.
    private static func routed() throws -> ArchiveTestSite {
        let runtime =
            "(()=>{var t={};r.m=t;r.u=e=>\"assets/js/\"+({7:\"page\"}[e]||e)+\".\"+{7:\"abc123\"}[e]+\".js\",r.p=\"/\"})()"
        var old = ArchiveTestSite.Response(path: "/old", status: 301)
        old.fields = [("Location", "/docs/")]
        return try ArchiveTestSite([
            .page("/", "<!doctype html><title>t</title><script src=/assets/js/runtime.js></script>"),
            .page("/docs/", "<!doctype html><base href=/x/><script src=/assets/js/main.js></script>"), old,
            .page("/still", "<p>no script"),
            .file("/assets/js/runtime.js", "text/javascript", Array(runtime.utf8)),
            .file(
                "/assets/js/main.js", "text/javascript",
                Array("history.pushState(0,'',window.location.href);fetch('/d.json?v=1')".utf8)),
            .file("/assets/js/page.abc123.js", "text/javascript", Array("1".utf8)),
            .file("/d.json?v=1", "application/json", Array("{\"a\":\"\u{E4}\"}".utf8)),
        ])
    }

    private static func text(_ site: ArchiveTestSite, _ file: String) throws -> String {
        String(decoding: try WholeFile.read(site.home.file(file), atMost: 99_999), as: UTF8.self)
    }

    @Test func `a site whose scripts load from the root gets the redirecting script and twins of data`()
        throws
    {
        let site = try Self.routed()
        let report = try site.export("out/", .folder)
        #expect(report.urlsNeedingServer.isEmpty && report.isVerified == true)
        let docs = try Self.text(site, "out/docs/index.html")
        #expect(
            docs.hasPrefix(
                "<!doctype html><script data-larder=\"https://example.com/docs/\" "
                    + "data-base=\"https://example.com/x/\" src=\"../~larder.js\" charset=\"utf-8\"></script><base href=./>"
            ),
            "\(docs)")
        #expect(try Self.text(site, "out/still.html") == "<p>no script")
        #expect(
            try Self.text(site, "out/assets/js/main.js").hasPrefix(
                "history.pushState(0,'',window[window.larder$||\"location\"].href)"))
        let script = try Self.text(site, "out/~larder.js")
        for part in [
            "\"origin\":\"https://example.com\"", "\"/old\":\"docs/index.html\"",
            "\"/d.json?v=1\":\"d.json\"",
            "\"pages\":[\"/\",\"/docs/\",\"/still\"]",
        ] {
            #expect(script.contains(part), "\(part)")
        }
        let twin = try #require(site.home.names(in: "out/~data").first)
        #expect(try Self.text(site, "out/~data/\(twin)").contains(",\"application/json\",\"{\\\"a\\\":"))
        let other = try ArchiveTestSite()
        let taken = try other.importFiles([site.home.file("out")])
        #expect(taken.refused.isEmpty && taken.responses == 8, "\(taken)")
        let before = try site.storedResponses().filter { $0.contains("javascript") }
        let after = try other.storedResponses().filter { $0.contains("javascript") }
        #expect(before.map { $0.split(separator: " ")[8] } == after.map { $0.split(separator: " ")[8] })
    }

    @Test
    func `pages whose scripts keep copies of others get the script, which removes the copies of its origin`()
        throws
    {
        let site = try ArchiveTestSite([
            .page("/", "<!DOCTYPE html><script src=a.js></script>"),
            .file("/a.js", "text/javascript", Array("run()".utf8)),
        ])
        try StoreWriter(site.folder).storeSettings(
            #"""
            {"scriptCopies":[{"origin":"https://example.com","keys":["z","a\""]},{"origin":"https://else.test","keys":["x"]}]}
            """#, ofSite: ArchiveTestSite.name)
        let report = try site.export("out/", .folder)
        #expect(report.isVerified == true)
        #expect(try Self.text(site, "out/index.html").contains("~larder.js\" charset"))
        #expect(try Self.text(site, "out/~larder.js").contains(#""copies":["a\"","z"]"#))
    }

    @Test func `files that scripts fetch get twins, also pages and large files`() throws {
        let large = Array("[\"\(String(repeating: "jam ", count: 3 << 20))\"]".utf8)
        let site = try ArchiveTestSite([
            .page("/", "<script src=/a.js></script><a href=/part>part</a>"),
            .page("/part", "<a href=/>home</a>"),
            .file("/menu", "text/html", Array("<p>menu".utf8)),
            .file("/a.js", "text/javascript", Array("fetch('/part');fetch('/all.json')".utf8)),
            .file("/all.json", "application/json", large),
            .file("/film.bin", "application/octet-stream", large),
        ])
        let report = try site.export("out/", .folder)
        #expect(report.urlsNeedingServer.isEmpty && report.isVerified == true, "\(report.urlsNeedingServer)")
        #expect(site.home.names(in: "out/~data").sorted() == ["all.json.js", "menu.html.js", "part.html.js"])
        #expect(
            try Self.text(site, "out/~data/part.html.js")
                == "larder$data(\"part.html\",\"text/html;charset=utf-8\",\"<a href=/>home</a>\",0)\n"
        )
        #expect(
            try Self.text(site, "out/~larder.js").contains(
                "\"data\":[\"all.json\",\"menu.html\",\"part.html\"]"))
    }

    @Test func `a site whose scripts build no URLs gets no redirecting script`() throws {
        let site = try ArchiveTestSite([
            .page("/", "<script src=a.js></script><img src=/i.png>"),
            .file(
                "/a.js", "text/javascript",
                Array("i.src='b.png';x=window.location;history.pushState()".utf8)),
            .file("/i.png", "image/png", [1]), .file("/d.json", "application/json", Array("{}".utf8)),
        ])
        _ = try site.export("out/", .folder)
        #expect(try Self.text(site, "out/index.html") == "<script src=a.js></script><img src=i.png>")
        #expect(
            try Self.text(site, "out/a.js") == "i.src='b.png';x=window.location;history.pushState()")
        #expect(Set(site.home.names(in: "out")).isDisjoint(with: ["~larder.js", "~data"]))
    }

    @Test func `crossorigin attributes of links to files are disabled, and an import restores them`() throws {
        let site = try ArchiveTestSite([
            .page(
                "/",
                "<link rel=stylesheet crossorigin href=/s.css><script crossorigin=anonymous src=//else.test/x.js></script>"
            ),
            .file("/s.css", "text/css", Array("b{}".utf8)),
        ])
        _ = try site.export("out/", .folder)
        #expect(
            try Self.text(site, "out/index.html")
                == "<link rel=stylesheet data-origin href=s.css><script crossorigin=anonymous src=https://else.test/x.js></script>"
        )
        // An import restores the attributes, because the imported site is served again.
        let other = try ArchiveTestSite()
        _ = try other.importFiles([site.home.file("out")])
        _ = try other.export("again.har", .har)
        let again = try WholeFile.read(other.home.file("again.har"), atMost: 99_999)
        #expect(
            String(decoding: again, as: UTF8.self).contains("<link rel=stylesheet crossorigin href=s.css>"))
    }

    @Test(arguments: [
        ("https://example.com/", "index.html"), ("https://example.com/a/", "a/index.html"),
        ("https://example.com/a", "a.html"), ("https://example.com/a.b/c", "a.b/c.html"),
        ("https://example.com/a.min.js", "a.min.js"), ("https://example.com/v1.2", "v1.2"),
        ("https://example.com/a.verylongsuffix", "a.verylongsuffix.html"), ("https://example.com/a?b", nil),
        ("https://example.com/a.", "a..html"),
    ])
    func `the redirecting script derives the files of plain URLs by a rule`(address: String, file: String?)
        throws
    {
        #expect(FolderScript.derivedFile(try #require(WebURL(address))) == file)
    }

    @Test func `a target that is not an empty folder is refused before anything is written`() throws {
        let site = try Self.site()
        try site.home.write("mine", to: "file")
        #expect(mkdir(site.home.file("real"), 0o755) == 0)
        for (target, link) in [("real", "link"), ("none", "broken")] {
            #expect(symlink(site.home.file(target), site.home.file(link)) == 0)
        }
        for (name, reason) in [("file/", "not a folder"), ("broken/", "not a folder")] {
            let interruption = Interruption()
            interruption.request()
            // If the export had begun, it would fail with the interruption.
            let plan = ExportPlan(site: try site.site(), path: site.home.file(name), format: .folder)
            let error = #expect(throws: ArchiveError.self) {
                try Export(plan, StoreReader(site.folder), interruption).run()
            }
            #expect(error?.description.contains("already exists and is \(reason)") == true)
        }
        #expect(try Self.text(site, "file") == "mine")
        #expect(try site.export("link/", .folder).isVerified == true)
        #expect(site.home.names(in: "real").contains("index.html"))
    }

    @Test func `a zip file contains the same files as a folder, in one folder`() throws {
        let site = try Self.site()
        #expect(try site.export("out.zip", .zip).isVerified == true)
        let paths = try ZipFile(site.home.file("out.zip")).entries.map(\.name)
        let names = paths.filter { $0.hasPrefix("example.com/") }.map { String($0.dropFirst(12)) }
        #expect(names.count == paths.count, "\(paths)")
        #expect(
            Set(names).isSuperset(of: [
                "START-HERE.html", "index.html", "docs/two.html", "old.html", "i.png", ".nojekyll",
                "~missing.txt",
            ])
        )
        guard WholeFile.exists("/usr/bin/unzip") else { return }
        let ending = try ChildProcess("/usr/bin/unzip", ["-t", site.home.file("out.zip")], environment: [:])
            .wait()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test(arguments: [
        ("https://example.com/", "example.com"), ("https://example.com/docs/", "example.com-docs"),
        ("http://localhost:8080/a/b.html", "localhost_8080-a-b.html"), ("http://[::1]:81/", "1-_81"),
        ("https://example.com/%2e%2e%2f/ä", "example.com--2e-2e-2f--C3-A4"),
        ("my site", "my-site"),
    ])
    func `the folder in a zip file is named after the site`(site: String, name: String) {
        #expect(FolderNames.enclosingFolder(ofSite: site) == name)
    }

    @Test(arguments: [
        "https://nul/", "https://con.test/", "https://\(String(repeating: "long.", count: 40))test/", "..",
        "",
    ])
    func `the folder in a zip file has a name that every file system accepts`(site: String) {
        let name = FolderNames.enclosingFolder(ofSite: site)
        #expect(name.utf8.count <= 60 && !name.hasPrefix(".") && !name.hasSuffix("."), "\(name)")
        #expect(name.contains("~") && !name.contains("/"), "\(name)")
    }
}

extension UInt8 {
    fileprivate var isASCIIAlphanumeric: Bool {
        (0x30...0x39).contains(self) || (0x61...0x7A).contains(self | 0x20)
    }
}
