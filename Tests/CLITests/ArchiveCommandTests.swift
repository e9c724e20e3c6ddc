import Database
import Glibc
import System
import TestOrigin
import Testing
import Web

@testable import Store

/// Tests `larder export` and `larder import` as commands.
@Suite struct ArchiveCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<title>Home</title><a href=/b>b</a><img src=/a.png>"))
        origin.on("/b", .page("b"))
        origin.on("/a.png", .file([UInt8](repeating: 1, count: 3000), type: "image/png"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    /// Changes to the home folder, so that relative paths in arguments are below it.
    private static let atHome = "cd && exec \"$0\" \"$@\""

    @Test(arguments: ["warc.gz", "wacz", "har"])
    func `an exported site that is imported again has the same list`(suffix: String) throws {
        let file = home.file("site.\(suffix)")
        let export = try larder("export", origin.url("/"), file, "--verify")
        #expect(export.status == 0, "\(export)")
        #expect(export.output.hasPrefix("\(origin.url("/")): 3 responses (2 pages), 3.1 kB\n  \(file): "))
        #expect(export.output.hasSuffix("Verified: the export matches the store\n"))
        let taken = try larder("import", file, "--store", home.file("other"))
        #expect(taken.status == 0, "\(taken)")
        #expect(taken.output.hasPrefix("\(origin.url("/")), snapshot 1: 3 responses (2 pages), 3.1 kB\n"))
        #expect(try larder("list", "--store", home.file("other")).output == larder("list").output)
        #expect(try larder("check", "--offline", origin.url("/"), "--store", home.file("other")).status == 0)
    }

    /// The file names of the chunks are only in the runtime, which composes them.
    @Test func `a page in one file has the parts that its bundler loads`() throws {
        let runtime = """
            (() => { var r = {}; r.u = e => "" + ({7: "seven"}[e] || e) + "." + {7: "abc123", 8: "def456"}[e] + ".js";
            r.p = "/static/";
            r.l = (u, done) => { var s = document.createElement("script"); s.src = u; s.onload = done; document.head.append(s) };
            r.e = e => new Promise(ok => r.l(r.p + r.u(e), ok));
            Promise.all([r.e(7), r.e(8)]) })();
            """
        origin.on("/app", .page("<div id=app>Loading</div><script src=/static/main.js></script>"))
        origin.on("/static/main.js", .file(runtime, type: "text/javascript"))
        origin.on("/static/seven.abc123.js", .file("self.part = 'plum'", type: "text/javascript"))
        origin.on("/static/8.def456.js", .file("self.part = 'quince'", type: "text/javascript"))
        #expect(try larder("prefetch", origin.url("/app"), "--render", "never", "--quiet").status == 0)
        #expect(try larder("export", origin.url("/app"), home.file("one.html")).status == 0)
        let bytes = try WholeFile.read(home.file("one.html"), atMost: 1 << 20)
        let text = String(decoding: bytes, as: UTF8.self)
        for part in ["seven.abc123.js", "8.def456.js"] {
            #expect(text.contains("/static/\(part)\":\"data:text/javascript"), "\(text)")
        }
    }

    @Test(arguments: ["warc", "warc.gz", "wacz", "har"])
    func `redirects and 404 responses are listed as before after an export and import`(suffix: String) throws
    {
        origin.on("/s/", .page("<title>S</title><a href=old>old</a><a href=gone>gone</a>"))
        origin.on("/s/old", .redirect(to: "/s/new", status: 301))
        origin.on("/s/new", .page("new"))
        let (site, own, other) = (origin.url("/s/"), home.file("own"), home.file("other"))
        #expect(try larder("prefetch", site, "--store", own, "--quiet").status <= 1)
        let file = home.file("s.\(suffix)")
        #expect(try larder("export", site, file, "--store", own).status == 0)
        #expect(try larder("import", file, "--store", other, "--quiet").status == 0)
        // A prefetched response has the time when its run began, and an imported one the time when it was received.
        func listed(in store: String) throws -> String {
            try larder("list", "--json", "--store", store).output.replacing(/"fetched":"[^"]*"/, with: "")
        }
        for status in ["404", "301"] {
            #expect(try larder("list", "--status", status, "--store", own).output.hasPrefix(status))
        }
        #expect(try listed(in: other) == listed(in: own))
    }

    @Test(arguments: ["site.warc.gz", "site.zip", "site/"])
    func `two URLs with the same body are imported with the assets of both`(name: String) throws {
        let page = "<title>Start</title><link rel=stylesheet href=a.css><a href=index.html>index</a>"
        origin.on("/s/", .page(page))
        origin.on("/s/index.html", .page(page))
        origin.on("/s/a.css", .file(Array("p { color: red }".utf8), type: "text/css"))
        let (site, own, other) = (origin.url("/s/"), home.file("own"), home.file("other"))
        #expect(try larder("prefetch", site, "--store", own, "--quiet").status == 0)
        #expect(try larder("export", site, home.file(name), "--store", own, "--verify").status == 0)
        let taken = try larder("import", home.file(name), "--store", other)
        #expect(taken.status == 0, "\(taken)")
        #expect(taken.output.contains("(2 pages)"), "\(taken)")
        let check = try larder("check", "--offline", site, "--store", other)
        #expect(check.status == 0 && !check.output.contains("unverifiable"), "\(check)")
    }

    /// The links in the folder name files; those in the site were relative to its root.
    @Test func `importing an exported folder again changes nothing`() throws {
        origin.on(
            "/deep/page", .page("<title>Deep</title><a href=/b>b</a><a href=../b#x>b</a><img src=/a.png>ä"))
        origin.on(
            "/",
            .page(
                "<title>Home</title><a href=/deep/page>d</a><link rel=stylesheet href=/s.css integrity=sha256-x>"
            ))
        origin.on("/s.css", .file(Array("p { background: url(/a.png) }".utf8), type: "text/css"))
        let site = origin.url("/")
        #expect(try larder("prefetch", site, "--quiet").status <= 1)
        #expect(try larder("export", site, home.file("out/")).status == 0)
        #expect(try larder("import", home.file("out"), "--site", site).status == 0)
        let difference = try larder("diff", site)
        #expect(
            difference.output.contains("no difference"),
            "\(difference)")
        // A changed page is reported as a difference.
        let page = home.file("out/b.html")
        try home.write("<title>b</title>other <a href=index.html>home</a>", to: "out/b.html")
        #expect(access(page, F_OK) == 0)
        #expect(try larder("import", home.file("out"), "--site", site).status == 0)
        #expect(try larder("diff", site).output.contains("/b"))
    }

    @Test func `an archive that expands many times is refused unless --growth allows it`() throws {
        for folder in ["h", "h/example.com"] { mkdir(home.file(folder), 0o755) }
        try home.write("<title>x</title>", to: "h/example.com/index.html")
        try home.write("", to: "h/example.com/sparse.bin")
        #expect(truncate(home.file("h/example.com/sparse.bin"), 3 << 20) == 0)
        let (folder, store) = (home.file("h"), home.file("other"))
        let refused = try larder("import", folder, "--store", store, "--growth", "1M")
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.output.contains("it expands to more than 200 times its size plus 1000000 bytes"))
        #expect(refused.output.contains("to allow it: --growth SIZE"))
        let taken = try larder("import", folder, "--store", store, "--growth", "4M")
        #expect(taken.status == 0 && taken.output.contains("2 responses"), "\(taken)")
        #expect(try larder("import", folder, "--store", store, "--growth", "much").status == 2)
    }

    @Test func `a site whose start URL redirects is imported with the page behind it as its start`() throws {
        origin.on("/", .redirect(to: origin.url("/home")))
        origin.on("/home", .page("<a href=/a>a</a> the beginning"))
        origin.on("/a", .page("comes first by name"))
        #expect(try larder("prefetch", origin.url("/"), "--render", "never").status == 0)
        #expect(try larder("export", origin.url("/"), home.file("site.wacz")).status == 0)
        let copy = try larder("import", home.file("site.wacz"), "--store", home.file("copy"))
        #expect(copy.output.hasPrefix("\(origin.url("/home")), snapshot 1: "), "\(copy)")
    }

    @Test func `an exported folder opens without a server, and patterns select its URLs`() throws {
        let export = try larder("export", origin.url("/"), home.file("out/"), "--exclude", "*.png")
        #expect(export.status == 0, "\(export)")
        #expect(export.output.contains("1 response left out by a pattern"))
        #expect(
            export.output.hasSuffix("To read it, open in a browser: \(home.file("out/START-HERE.html"))\n"),
            "\(export)")
        #expect(
            Set(home.names(in: "out"))
                == ["START-HERE.html", "index.html", "b.html", ".nojekyll", "~larder.jsonl", "~missing.txt"])
    }

    @Test(arguments: ["warc.gz", "wacz", "har", "zip", "tar.zst", "html", "mhtml"])
    func `an existing file is replaced only with force, and paths are shown as they were typed`(
        suffix: String
    ) throws {
        try home.write("mine", to: "site.\(suffix)")
        func export(_ more: String...) throws -> Command.Ending {
            try Command(
                ["export", origin.url("/"), "site.\(suffix)"] + more, home: home, shell: Self.atHome
            ).wait()
        }
        let refused = try export()
        #expect(
            refused.status == 2
                && refused.errors
                    == "larder: site.\(suffix) already exists; name another file, or replace this one with --force\n",
            "\(refused)")
        #expect(try WholeFile.read(home.file("site.\(suffix)"), atMost: 99) == Array("mine".utf8))
        let replaced = try export("--force")
        #expect(replaced.status == 0 && replaced.output.contains("\n  site.\(suffix): "), "\(replaced)")
    }

    @Test func `the parts of a split archive are not replaced either`() throws {
        try home.write("mine", to: "site-00000.warc.gz")
        let refused = try larder("export", origin.url("/"), home.file("site.warc.gz"), "--split", "1M")
        #expect(
            refused.status == 2 && refused.errors.contains("site-00000.warc.gz already exists"), "\(refused)")
    }

    @Test func `the export of one page names the command that saves all pages`() throws {
        let site = try larder("export", origin.url("/"), home.file("one.html"))
        #expect(
            site.output.contains(
                "  This is the start page, without the other 1 page of the site; to save all of them: "
                    + "larder export \(origin.url("/")) FOLDER/\n"), "\(site)")
        let page = try larder("export", origin.url("/b"), home.file("b.html"))
        #expect(page.status == 0 && !page.output.contains("to save all"), "\(page)")
    }

    @Test func `a page at the top says what the copy is`() throws {
        #expect(try larder("export", origin.url("/"), home.file("out/")).status == 0)
        let text = String(
            decoding: try WholeFile.read(home.file("out/START-HERE.html"), atMost: 1 << 20), as: UTF8.self)
        for part in ["A copy of \(origin.url("/"))", "contains 2 pages", "<a href=\"index.html\">Home</a>"] {
            #expect(text.contains(part), "\(text)")
        }
        #expect(!text.contains("larder serve"))
        let taken = try larder("import", home.file("out"), "--store", home.file("other"))
        #expect(taken.status == 0 && taken.output.contains("3 responses (2 pages)"), "\(taken)")
    }

    @Test func `a folder with models names the command that shows its pages`() throws {
        origin.on("/", .page("<model-viewer src=/a.glb></model-viewer>"))
        origin.on("/a.glb", .file([1], type: "model/gltf-binary"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        let export = try larder("export", origin.url("/"), home.file("model/"))
        #expect(
            export.output.contains(
                "  1 file uses 3D models, workers or other content that browsers do not load from a folder: "
                    + "parts of those pages stay empty; START-HERE.html lists them; to see them, run: "
                    + "python3 -m http.server -d \(home.file("model/")) (the first: \(origin.url("/")))\n"),
            "\(export)")
    }

    @Test func `a page is exported as one complete HTML file, or as MHTML that can be imported`() throws {
        let page = home.file("page.html")
        let export = try larder("export", origin.url("/"), page, "--verify")
        #expect(export.status == 0, "\(export)")
        #expect(export.output.hasPrefix("\(origin.url("/")): 2 responses (1 page), 3.1 kB\n"))
        #expect(export.output.contains("\n  \(page): "))
        let text = String(decoding: try WholeFile.read(page, atMost: 1 << 20), as: UTF8.self)
        #expect(text.contains("<a href=\(origin.url("/b"))>") && text.contains("src=data:image/png;base64,"))
        let large = try larder(
            "export", origin.url("/"), home.file("small.html"), "--max-body", "1000", "--no-scripts")
        #expect(
            large.status == 1 && large.output.contains("left out, 3.0 kB (limit: --max-body): "),
            "\(large)")

        let message = home.file("page.mhtml")
        #expect(
            try larder("export", origin.url("/b"), message, "--verify").output.hasPrefix(
                "\(origin.url("/")): 1 response (1 page)"))
        let taken = try larder("import", message, "--store", home.file("other"))
        #expect(
            taken.status == 0
                && taken.output.hasPrefix("\(origin.url("/b")), snapshot 1: 1 response (1 page)"),
            "\(taken)"
        )
        let part = try larder("export", origin.url("/b"), home.file("b.har"), "--json")
        #expect(part.output.contains("\"responses\": 1"), "\(part)")
    }

    @Test func `a format that needs another program names the missing program`() throws {
        let picture = try larder(
            "export", origin.url("/"), home.file("page.png"), "--browser", "/no/chromium")
        #expect(
            picture.status == 2 && picture.errors.contains("is not executable; name a Chromium"), "\(picture)"
        )
        try home.write("ZIM\u{4}", to: "no.zim")
        let zim = try larder("import", home.file("no.zim"))
        #expect(
            zim.status == 2
                && (zim.errors.contains("is not a readable ZIM") || zim.errors.contains("install zim-tools")),
            "\(zim)")
    }

    @Test func `an impossible export names an alternative`() throws {
        let form = try larder("export", origin.url("/"), home.file("site.xyz"))
        #expect(form.status == 2 && form.errors.contains("one of these: warc (.warc.gz), "))
        let stick = home.file("stick")
        let folder = try larder("export", origin.url("/"), stick)
        #expect(
            folder.status == 2
                && folder.errors.hasSuffix("; to write a folder, end its name with a slash: \(stick)/\n"),
            "\(folder)")
        mkdir(stick, 0o755)
        try home.write("mine", to: "stick/file")
        let full = try larder("export", origin.url("/"), stick + "/")
        #expect(
            full.status == 2
                && full.errors.hasSuffix(
                    "is not empty, and folders are never replaced; name a new one, for example \(stick)-2/\n"),
            "\(full)")
        #expect(
            try larder("export", "https://else.test/", home.file("s.har")).errors.contains(
                "it is not stored"))
        let nope = try larder("export", origin.url("/nope"), home.file("s.html"))
        #expect(nope.status == 2 && nope.errors.contains("/nope: it is not stored; list"), "\(nope)")
        #expect(try larder("export", origin.url("/"), home.file("s.har"), "--snapshot", "9").status == 2)
        #expect(
            try larder("export", origin.url("/"), home.file("s.har"), "--split", "1M").errors.contains(
                "only WARC"))
        for option in [["--viewport", "390x844"], ["--dark"], ["--no-scripts"], ["--sign"]] {
            let command = ["export", origin.url("/"), home.file("s.har")] + option
            let ending = try Command(command, home: home).wait()
            #expect(ending.status == 2 && ending.errors.contains("only "), "\(ending)")
        }
        for file in ["s.png", "s.pdf"] {
            let ending = try larder("export", origin.url("/"), home.file(file), "--exclude", "*.png")
            #expect(
                ending.status == 2 && ending.errors.contains("only formats other than PNG and PDF"),
                "\(ending)")
        }
        for file in ["s.html", "s.mhtml"] {
            let ending = try larder("export", origin.url("/"), home.file(file), "--include", "/none/**")
            #expect(ending.status == 2 && ending.errors.contains("the patterns exclude it"), "\(ending)")
        }
        // Settings in the configuration file apply only to the formats that have them.
        try home.write(
            #"{"exclude": ["*.zip"], "export": {"viewport": "390x844", "no-scripts": true}}"#,
            to: ".larder.json")
        let picture = try larder(
            "export", origin.url("/"), home.file("s.png"), "--browser", "/no/chromium")
        #expect(picture.errors.contains("is not executable"), "\(picture)")
        #expect(try larder("export", origin.url("/"), home.file("s.har"), "--quiet").status == 0)
        #expect(
            try larder("import", home.file("s.har")).errors.hasSuffix(
                "with --site \(origin.url("/")); to keep it apart, import it with --site NAME\n"))
        #expect(
            try larder("export", origin.url("/"), home.file("no/s.har")).errors.contains(
                "name a file in a writable folder"))
        #expect(try larder("import", home.file("none.warc")).status == 2)
        try home.write("<html>", to: "page.html")
        let nothing = try larder("import", home.file("page.html"))
        #expect(nothing.status == 2 && nothing.errors.contains("it is not a WARC"), "\(nothing)")
        #expect(try larder("list").output.split(separator: "\n").count == 3)
    }

    @Test(arguments: ["/larder.db", "/x.warc.gz", "/packs/x.warc.gz", "/new/x.warc.gz", "/../store", ""])
    func `an export into the folder of the store is refused`(name: String) throws {
        let store = home.file("store")
        #expect(try larder("prefetch", origin.url("/"), "--store", store, "--quiet").status == 0)
        #expect(symlink(store, home.file("link")) == 0)
        for folder in [store, home.file("link")] {
            let ending = try Command(
                ["export", origin.url("/"), folder + name, "--format", "warc", "--store", store], home: home
            ).wait()
            #expect(ending.status == 2 && ending.errors.contains("is inside the store"), "\(ending)")
        }
        #expect(try larder("list", "--store", store).output.split(separator: "\n").count == 3)
    }

    @Test func `--quiet does not suppress the JSON report`() throws {
        let file = home.file("site.har")
        for words in [
            ["export", origin.url("/"), file, "--force"],
            ["import", file, "--site", origin.url("/"), "--no-index"],
        ] {
            #expect(try Command(words + ["-q"], home: home).wait().output.isEmpty)
            let loud = try Command(words + ["--json"], home: home).wait()
            let quiet = try Command(words + ["-q", "--json"], home: home).wait()
            #expect(quiet.status == 0 && quiet.output.hasPrefix("{\n") && quiet.errors.isEmpty, "\(quiet)")
            #expect(quiet.output.split(separator: "\n").count == loud.output.split(separator: "\n").count)
        }
    }

    @Test func `an import whose indexing is interrupted exits with 130`() throws {
        let archive = home.file("site.har")
        #expect(try larder("export", origin.url("/"), archive, "--quiet").status == 0)
        // Indexing waits until this transaction ends. `init` has created the index.
        let folder = StoreFolder(home.file(".local/share/larder"))
        let index = try Connection(folder.searchIndex, access: .readWrite)
        try index.begin()
        let errors = home.file("errors")
        #expect(mkfifo(errors, 0o600) == 0)
        let reading = open(errors, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reading) }
        let command = try ChildProcess(
            ChildProcess.built("larder"),
            ["import", archive, "--site", origin.url("/"), "--progress", "json"],
            environment: ["HOME": home.path, "PATH": "/usr/bin:/bin"], errors: .file(errors))
        _ = fcntl(reading, F_SETFL, 0)
        #expect(command.read(until: "To read it").contains("To read it"))
        command.signal(SIGINT)
        var (text, byte): ([UInt8], UInt8) = ([], 0)
        while !String(decoding: text, as: UTF8.self).contains("stopping"), read(reading, &byte, 1) == 1 {
            text.append(byte)
        }
        try index.rollBack()
        #expect(command.wait().status == 130)
    }

    @Test func `intact records of a damaged archive are imported, with exit status 1`() throws {
        let file = home.file("site.warc.gz")
        #expect(try larder("export", origin.url("/"), file, "--quiet").status == 0)
        var bytes = try WholeFile.read(file, atMost: 1 << 20)
        bytes.removeLast(bytes.count / 3)
        try home.write(bytes, to: "cut.warc.gz")
        let taken = try larder("import", home.file("cut.warc.gz"), "--store", home.file("other"))
        #expect(taken.status == 1, "\(taken)")
        #expect(taken.output.contains("refused: ") && taken.output.contains("cut.warc.gz, byte "))
    }
}
