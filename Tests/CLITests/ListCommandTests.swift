import Store
import TestOrigin
import Testing
import Web

@Suite struct ListCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                "<a href=/b>b</a><a href=/gone>g</a><img src=/a.png><script src=/m.js></script>"
                    + "<link rel=icon href=/i>"))
        origin.on("/b", .redirect(to: "/c"))
        origin.on("/c", .page("c"))
        origin.on("/a.png", .file([UInt8](repeating: 1, count: 1500), type: "image/png"))
        origin.on("/m.js", .file("1", type: "Application/JavaScript; charset=utf-8"))
        origin.on("/i", .file("<svg/>", type: "image/svg+xml"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    private func urls(_ arguments: String...) throws -> [String] {
        let ending = try Command(["list"] + arguments, home: home).wait()
        #expect(ending.status == 0, "\(ending)")
        return ending.output.split(separator: "\n").compactMap {
            $0.split(separator: " ").last.map(String.init)
        }
    }

    @Test func `the misses that are cleared are counted`() throws {
        let misses = ["/x", "/y"].map { Miss(href: origin.url($0), isPage: false, first: 1, last: 1) }
        try ActivityDatabase(StoreFolder(home.file(".local/share/larder"))).recordMisses(misses)
        #expect(try larder("misses", "--clear").output.hasSuffix(": an asset, once\nCleared 2 misses\n"))
        #expect(try larder("misses", "--clear").output == "no misses are recorded\n")
    }

    @Test func `the stored URLs are listed in their order`() throws {
        let list = try larder("list")
        #expect(list.errors == "")
        #expect(try larder("list", "--status", "404").output.hasSuffix("\(origin.url("/gone"))\n"))
        #expect(
            list.output == """
                200 text/html                 101 B \(origin.url("/"))
                200 image/png                1.5 kB \(origin.url("/a.png"))
                302 -                             - \(origin.url("/b"))
                200 text/html                   1 B \(origin.url("/c"))
                200 image/svg+xml               6 B \(origin.url("/i"))
                200 application/javascript      1 B \(origin.url("/m.js"))

                """)
    }

    @Test(arguments: [
        (["--type", "image"], ["/a.png", "/i"]),
        (["--type", "image/*"], ["/a.png", "/i"]),
        (["--type", "image/svg+xml"], ["/i"]),
        (["--type", "JS"], ["/m.js"]),
        (["--type", "html"], ["/", "/c"]),
        (["--type", "font"], []),
        (["--status", "404"], ["/gone"]),
        (["--status", "200", "--type", "text/html"], ["/", "/c"]),
        (["127.0.0.1", "--status", "302"], ["/b"]),
    ])
    func `a list is narrowed by site, type and status`(options: [String], paths: [String]) throws {
        let ending = try Command(["list"] + options, home: home).wait()
        #expect(ending.status == 0, "\(ending)")
        let urls = ending.output.split(separator: "\n").compactMap {
            $0.split(separator: " ").last.map(String.init)
        }
        #expect(urls == paths.map(origin.url))
        let json = try Command(["list", "--json"] + options, home: home).wait().output
        #expect(try JSONValue.parse(json.utf8.span).array?.map { $0["url"]?.string } == paths.map(origin.url))
    }

    @Test func `the JSON has one URL a line`() throws {
        let lines = try larder("list", "--type", "js", "--json").output.split(separator: "\n")
        #expect(lines.count == 3)
        let url = try JSONValue.parse(lines[1].utf8.span)
        #expect(url["status"]?.int == 200)
        #expect(url["role"]?.string == "asset")
        #expect(url["type"]?.string == "application/javascript")
        #expect(url["bytes"]?.int == 1)
        #expect(url["snapshot"]?.int == 1)
        #expect(url["sha256"]?.string == "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b")
    }

    @Test func `after a rollback the list has the live snapshot`() throws {
        origin.on("/", .page("<a href=/new>new</a>"))
        origin.on("/new", .page("new"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        #expect(try urls("--type", "html") == ["/", "/c", "/new"].map(origin.url))
        #expect(try larder("rollback", origin.url("/")).status == 0)
        #expect(try urls("--type", "html") == ["/", "/c"].map(origin.url))
    }

    @Test func `a wrong filter is rejected with a correction`() throws {
        let type = try larder("list", "--type", "pictures")
        #expect(type.status == 2)
        #expect(
            type.errors.hasPrefix(
                "larder: --type must be a media type such as text/html or image/*, or one of "))
        #expect(
            try larder("list", "--status", "ok").errors.contains("--status must be a number from 100 to 999"))
        #expect(
            try larder("list", "https://elsewhere.test/").errors.contains(
                "the stored sites are: \(origin.url("/"))"))
    }

    @Test func `a reader that closes the pipe causes no error message`() throws {
        let head = try Command(["list"], home: home, shell: "\"$0\" \"$@\" | head -n 1").wait()
        #expect(head.errors == "")
        #expect(head.output.hasSuffix("\(origin.url("/"))\n"))
    }
}
