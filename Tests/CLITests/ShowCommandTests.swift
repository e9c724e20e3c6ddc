import TestOrigin
import Testing
import Web

@Suite struct ShowCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/",
            .page("<title>Home</title><a href=/docs/two>2</a><a href=/docs/old>old</a><img src=/dot.png>"))
        origin.on("/docs/two", .page("<title>Two</title><img src=/dot.png>").adding("X-Shelf", "left"))
        origin.on("/docs/old", .redirect(to: "/docs/two", status: 301))
        origin.on("/dot.png", .file([137, 80, 78, 71, 0, 255, 10], type: "image/png"))
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    private func json(_ arguments: String...) throws -> JSONValue {
        try JSONValue.parse(Command(arguments + ["--json"], home: home).wait().output.utf8.span)
    }

    @Test(arguments: [["show", "http://none.test/"], ["status"], ["config"], ["schedule"]])
    func `a report in JSON is printed even with --quiet`(arguments: [String]) throws {
        try prefetch()
        let ending = try Command(arguments + ["--json", "-q"], home: home).wait()
        #expect(ending.output.hasPrefix("{") || ending.output.hasPrefix("["), "\(ending)")
    }

    private func prefetch() throws {
        let ending = try larder("prefetch", origin.url("/"))
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `an explanation lists sites that decide alike together`() throws {
        try prefetch()
        #expect(try larder("prefetch", origin.url("/docs/two"), "--page").status == 0)
        let text = try larder("explain", origin.url("/docs/other")).output
        #expect(
            text.contains(
                "  in \(origin.url("/"))\n  in \(origin.url("/docs/two"))\n    as a page: followed: on 127.0.0.1\n"
            ),
            "\(text)")
    }

    @Test func `a stored URL is shown with its headers, digests and links`() throws {
        try prefetch()
        let text = try larder("show", origin.url("/dot.png"))
        #expect(text.status == 0, "\(text)")
        #expect(text.output.hasPrefix("\(origin.url("/dot.png"))\nsnapshot 1 of \(origin.url("/")), live\n"))
        #expect(text.output.contains("  200, image/png, 7 B, asset, fetched 20"))
        #expect(text.output.contains("\n  MD5           d964d16a7d0f54a9b17d5ced8e514645\n"))
        #expect(text.output.contains("\n  stored in     larder.db\n"))
        #expect(text.output.contains("\nlinked from 2 URLs\n"))
        let listed = try larder("show", origin.url("/"), "--links").output
        #expect(listed.contains("\n  links to      2 pages, 1 asset\n"))
        #expect(listed.contains("\n    page        \(origin.url("/docs/old"))\n"))
        #expect(listed.contains("\n    asset       \(origin.url("/dot.png"))\n"))

        let row = try #require(try json("show", origin.url("/docs/two"))["rows"]?[0])
        #expect(row["body"]?["title"]?.string == "Two")
        #expect(row["body"]?["sha256"]?.string?.utf8.count == 64)
        #expect(row["referrer"]?.string == origin.url("/"))
        #expect(row["role"]?.string == "page")
        #expect(row["links"]?["assets"]?[0]?.string == origin.url("/dot.png"))
        #expect(row["headers"]?.array?.contains { $0["name"]?.string == "X-Shelf" } == true)
        #expect(try json("show", origin.url("/docs/two"))["linkedFrom"]?[0]?.string == origin.url("/"))
    }

    @Test func `the mirror URL and private responses are shown`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--bearer", "token").status == 0)
        let shown = try larder("show", origin.url("/dot.png")).output
        #expect(shown.contains("\n  state         private: fetched with credentials\n"))
        #expect(shown.contains(".localhost:8080/dot.png\n"))
        let report = try json("show", origin.url("/dot.png"))
        #expect(report["rows"]?[0]?["private"]?.bool == true)
        let address = try #require(report["shownAt"]?.string)
        #expect(shown.contains("\n  served at     \(address)\n"))
        #expect(try larder("prefetch", origin.url("/"), "--policy", "reload").status == 0)
        let rows = try json("show", origin.url("/dot.png"))["rows"]?.array
        #expect(rows?.map { $0["private"]?.bool } == [false, true])
        #expect(try json("show", origin.url("/none"))["shownAt"]?.string == nil)
    }

    @Test func `the mirror URL has the port that larder serve would use`() throws {
        try prefetch()
        let url = origin.url("/dot.png")
        func show(_ environment: [String: String]) throws -> String {
            try Command(["show", url], home: home, environment: environment).wait().output
        }
        #expect(try show(["LARDER_PORT": "9123"]).contains(".localhost:9123/dot.png\n"))
        let file = try home.write(#"{"serve": {"port": 9124}}"#, to: "config.json")
        #expect(try show(["LARDER_CONFIG": file]).contains(".localhost:9124/dot.png\n"))
        let wrong = try Command(["show", url], home: home, environment: ["LARDER_PORT": "x"]).wait()
        #expect(wrong.status == 2 && wrong.errors.contains("$LARDER_PORT must be a number"), "\(wrong)")
    }

    @Test func `every snapshot has its block, and the live one is marked`() throws {
        try prefetch()
        origin.on("/docs/two", .failure(404))
        try prefetch()
        let url = origin.url("/docs/two")
        let rows = try #require(try json("show", url)["rows"]?.array)
        #expect(rows.map { $0["snapshot"]?.int } == [2, 1])
        #expect(rows.map { $0["status"]?.int } == [404, 200])
        #expect(rows.map { $0["shown"]?.bool } == [true, false])
        #expect(try larder("show", url).output.contains("\n  404, no body, page, fetched 20"))
        let image = try larder("show", origin.url("/dot.png")).output
        #expect(image.contains("\n  confirmed     in snapshot 2\n"))
        #expect(try json("show", origin.url("/dot.png"))["rows"]?.array?.map { $0["confirmed"]?.int } == [2])
        #expect(try json("rollback", origin.url("/"))["sites"]?[0]?["live"]?.int == 1)
        #expect(try json("show", url)["rows"]?.array?.map { $0["shown"]?.bool } == [false, true])
    }

    @Test func `a URL that is not stored gets alternatives, and exit status 1`() throws {
        try prefetch()
        let busted = try larder("show", origin.url("/docs/two?_=17"))
        #expect(busted.status == 1)
        let substitute = "larder show \(origin.url("/docs/two"))\n"
        #expect(
            busted.output.contains(
                "one that differs in cache-busting parameters is served instead: \(substitute)"))
        let instead = try json("show", origin.url("/docs/two?_=17"))["instead"]
        #expect(instead?["standIn"]?["differences"]?[0]?.string == "cache-busters")

        let near = try larder("show", origin.url("/docs/tow"))
        #expect(near.status == 1)
        #expect(
            near.output
                == "\(origin.url("/docs/tow")) is not stored\nstored nearby:\n"
                + "  \(origin.url("/docs/old"))\n  \(origin.url("/docs/two"))\n")
        #expect(try larder("show", origin.url("/none/at/all")).output.contains("  \(origin.url("/"))\n"))
        #expect(try larder("show", "elsewhere.test").output.contains("nothing of its host is stored"))
        #expect(try larder("show", "ftp://a.test/").status == 2)
    }

    @Test func `a body is printed byte for byte`() throws {
        let large = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        origin.on("/dot.png", .file(large, type: "image/png"))
        try prefetch()
        let file = try home.write(large, to: "large")
        let same = try Command(
            ["cat", origin.url("/dot.png")], home: home, shell: "\"$0\" \"$@\" | cmp - '\(file)'"
        ).wait()
        #expect(same.status == 0, "\(same)")
        #expect(try larder("cat", origin.url("/")).output.hasPrefix("<title>Home</title>"))

        let head = try Command(
            ["cat", origin.url("/dot.png")], home: home, shell: "\"$0\" \"$@\" | head -c 1"
        ).wait()
        #expect(head.errors == "")
        let full = try Command(["cat", origin.url("/")], home: home, shell: "exec \"$0\" \"$@\" >/dev/full")
            .wait()
        #expect(full.status == 3)
        #expect(full.errors == "larder: cannot write to standard output: No space left on device\n")
    }

    @Test func `a body is printed as a snapshot shows it`() throws {
        try prefetch()
        origin.on("/docs/two", .failure(404))
        origin.on("/", .page("<a href=/docs/two>2</a><a href=/new>new</a>"))
        origin.on("/new", .page("new"))
        try prefetch()
        #expect(
            try larder("cat", origin.url("/docs/two"), "--snapshot", "1").output.contains(
                "<title>Two</title>"))
        let gone = try larder("cat", origin.url("/docs/two"))
        #expect(gone.status == 1)
        #expect(
            gone.errors.hasPrefix(
                "larder: \(origin.url("/docs/two")) has no body: the server answered 404; see: "))
        // The second snapshot still has it, because it did not request it again.
        #expect(try larder("cat", origin.url("/dot.png"), "--snapshot", "2").status == 0)
        let early = try larder("cat", origin.url("/new"), "--snapshot", "1")
        #expect(early.status == 1)
        #expect(
            early.errors.contains(
                "print it from the last one that does with: larder cat \(origin.url("/new")) --snapshot 2"))
        let host = String(origin.base.dropFirst("http://".count))
        for site in [origin.url("/"), host] {
            #expect(try larder("cat", site + "@1").output.contains("<title>Home</title>"))
            #expect(try larder("show", site + "@1").output.hasPrefix("\(origin.url("/"))\nsnapshot "))
        }
        #expect(try larder("cat", origin.url("/new"), "--snapshot", "9").status == 2)
        #expect(try larder("cat", origin.url("/new"), "--snapshot", "0").status == 2)
    }

    @Test func `without a body there is one line that names the next step`() throws {
        try prefetch()
        let url = origin.url("/docs/two")
        for (asked, errors) in [
            (
                "/docs/old",
                "\(origin.url("/docs/old")) is a redirect (301); print its target with: larder cat \(url)"
            ),
            (
                "/docs/two?_=1",
                "\(url)?_=1 is not stored; one that differs in cache-busting parameters is served instead: larder cat \(url)"
            ),
            (
                "/x",
                "\(origin.url("/x")) is not stored; see similar URLs with: larder show \(origin.url("/x"))"
            ),
        ] {
            let ending = try larder("cat", origin.url(asked))
            #expect(ending.status == 1)
            #expect(ending.output == "")
            #expect(ending.errors == "larder: \(errors)\n")
        }
    }

    @Test func `a damaged body makes the exit status 1`() throws {
        origin.on("/dot.png", .file([UInt8](repeating: 7, count: 200_000), type: "image/png"))
        try prefetch()
        let folder = ".local/share/larder/packs/"
        let name = try #require(home.names(in: folder).first)
        try home.write([UInt8](repeating: 8, count: 200_000), to: folder + name)
        let changed = try larder("cat", origin.url("/dot.png"))
        #expect(changed.status == 1)
        #expect(changed.errors.contains("is damaged: its bytes have changed; take it out of service with: "))
        home.remove(folder + name)
        #expect(
            try larder("cat", origin.url("/dot.png")).errors.contains(
                "is damaged: its bytes are gone or cut short"))
        let shown = try larder("show", origin.url("/dot.png"))
        #expect(shown.status == 0)
        #expect(shown.output.contains("\n  damaged       its bytes are gone or cut short\n"))
    }
}
