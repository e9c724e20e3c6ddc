import TestOrigin
import Testing
import Web

@Suite struct PinCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<a href=/a>a</a><a href=/b>b</a>"))
        origin.on("/a", .page("<link rel=stylesheet href=/a.css>"))
        origin.on("/a.css", .file("a{background:url(/a.png)}", type: "text/css"))
        origin.on("/a.png", .file([UInt8](repeating: 1, count: 300_000), type: "image/png"))
        origin.on("/b", .page("<img src=/b.png>"))
        origin.on("/b.png", .file([UInt8](repeating: 2, count: 3_000_000), type: "image/png"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments, home: home).wait()
    }

    private func json(_ arguments: String...) throws -> JSONValue {
        try JSONValue.parse(Command(arguments + ["--json"], home: home).wait().output.utf8.span)
    }

    @Test func `an operand is a pattern, a site or a URL, and its coverage is printed`() throws {
        let page = try larder("pin", origin.url("/a"))
        #expect(page.output == "The URL \(origin.url("/a")) is pinned: 3 URLs, 300.1 kB\n")
        #expect(try larder("pin", origin.url("/a")).output.contains("is pinned already: 3 URLs"))
        #expect(try larder("pin", "/b*").output == "The pattern /b* is pinned: 2 URLs, 3.0 MB\n")
        let site = try larder("pin", "127.0.0.1")
        #expect(site.output == "The site \(origin.url("/")) is pinned: 6 URLs, 3.3 MB\n")
        let pins = try #require(try json("pins")["pins"]?.array)
        #expect(pins.map { $0["kind"]?.string } == ["pattern", "site", "url"])
        #expect(pins.map { $0["urls"]?.int } == [2, 6, 3])
        #expect(
            try larder("pins").output == """
                pattern /b*: 2 URLs, 3.0 MB
                site    \(origin.url("/")): 6 URLs, 3.3 MB
                URL     \(origin.url("/a")): 3 URLs, 300.1 kB

                """)
        #expect(try larder("unpin", "/b*").output == "The pattern /b* is no longer pinned: 2 URLs, 3.0 MB\n")
        #expect(try json("pins")["pins"]?.array?.count == 2)
    }

    @Test func `a name of both a site and a page pins the site, and the report says how to pin the page`()
        throws
    {
        let site = try larder("pin", origin.url("/"))
        #expect(site.output.contains("The site \(origin.url("/")) is pinned: 6 URLs"))
        #expect(site.output.contains("and then: larder pin --url \(origin.url("/"))\n"))
        let page = try larder("pin", "--url", origin.url("/"))
        #expect(page.output.contains("The URL \(origin.url("/")) is pinned: 1 URL,"))
        let either = try larder("unpin", origin.url("/"))
        #expect(either.status == 2)
        #expect(either.errors.contains("choose one with --site or --url"))
        #expect(try larder("unpin", origin.url("/"), "--site").status == 0)
        #expect(
            try larder("unpin", origin.url("/")).output.contains(
                "The URL \(origin.url("/")) is no longer pinned"))
    }

    @Test(arguments: [
        (["pin", "--site", "https://elsewhere.test/"], "it is not stored; the stored sites are: http"),
        (["pin", "--site", "--url", "x"], "--site and --url exclude each other"),
        (["pin", "--pattern", ""], "\"\" is not a pattern; write it like 'https://example.com/docs/**'"),
        (["pin", "ftp://a.test/"], "only http and https can"),
        (["unpin", "https://elsewhere.test/"], "is not pinned; list pins with: larder pin"),
    ])
    func `an operand that cannot be pinned or unpinned is an error`(arguments: [String], message: String)
        throws
    {
        let ending = try Command(arguments, home: home).wait()
        #expect(ending.status == 2)
        #expect(ending.errors.contains(message), "\(ending)")
    }

    @Test func `a URL that is not stored can be pinned, and a pattern for files gets a hint`() throws {
        #expect(
            try larder("pin", "elsewhere.test/x").output.contains("is pinned: no stored URL matches\n"))
        #expect(try larder("pin", "*.png").output.hasSuffix("for files, use '/**.png'\n"))
        #expect(try larder("pin", "/**.png").output.contains("is pinned: 2 URLs, 3.3 MB"))
        #expect(try larder("pins", "--store", home.file("none")).status == 3)
        #expect(try larder("pin", "x.test", "--store", home.file("none")).status == 3)
        #expect(home.names() == [".local"])
    }

    @Test func `gc gets below its limit and keeps pinned URLs`() throws {
        #expect(try larder("pin", origin.url("/a")).status == 0)
        // Empties the logs of the databases.
        #expect(try larder("gc").status == 0)
        let roomy = try larder("gc", "--max-size", "1GiB")
        #expect(roomy.status == 0)
        #expect(roomy.output.hasPrefix("nothing to remove; the store takes "))

        let report = try json("gc", "--max-size", "1M", "--allow-incomplete")
        #expect(report["withinLimit"]?.bool == true)
        #expect(report["limit"]?.int == 1_000_000)
        #expect(report["bytesAfter"]?.int ?? .max <= 1_000_000)
        #expect(report["evictedURLs"]?.int ?? 0 > 0)
        #expect(report["pinnedURLs"]?.int == 3)
        #expect(try larder("cat", origin.url("/b.png")).status == 1)
        #expect(try larder("cat", origin.url("/a.png"), "--snapshot", "1").status == 0)

        let small = try larder("gc", "--max-size", "100k", "--allow-incomplete")
        #expect(small.status == 1)
        #expect(small.output.contains(" over the limit of 100.0 kB:\n  pins keep 3 URLs, 300.1 kB; "))
        #expect(try larder("unpin", origin.url("/a")).status == 0)
        #expect(try larder("gc", "--max-size", "0", "--allow-incomplete").status == 0)
        #expect(try larder("list").output == "")
        let tight = try larder("gc", "--max-size", "1", "--allow-incomplete")
        #expect(tight.status == 1)
        #expect(tight.output.contains("nothing is stored any more; the empty database takes this space"))
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        #expect(try larder("cat", origin.url("/b.png")).status == 0)
    }

    @Test func `a dry run lists what gc then removes, and removes nothing`() throws {
        #expect(try larder("pin", origin.url("/a")).status == 0)
        // Empties the logs of the databases.
        #expect(try larder("gc").status == 0)
        let before = try larder("list").output
        let nothing = try larder("gc", "--dry-run")
        #expect(nothing.status == 0)
        #expect(nothing.output.contains("no live page and no earlier snapshot would be removed\n"))
        #expect(nothing.output.hasPrefix("nothing to remove; the store takes "))
        #expect(nothing.output.hasSuffix("\nThis was a dry run; to remove the data: larder gc\n"))

        let forecast = try json("gc", "--max-size", "1M", "--allow-incomplete", "--dry-run")
        #expect(forecast["dryRun"]?.bool == true && forecast["withinLimit"]?.bool == true)
        let named = forecast["urls"]?.array?.compactMap(\.string) ?? []
        #expect(!named.isEmpty && named.count >= forecast["evictedURLs"]?.int ?? .max)
        #expect(
            try !larder("gc", "--max-size", "1M", "--allow-incomplete", "--dry-run").output.contains("/b.png")
        )
        let text = try larder("gc", "--max-size", "1M", "--allow-incomplete", "--dry-run", "-v").output
        #expect(text.contains("\n  \(origin.url("/b.png"))\n"))
        #expect(
            text.hasSuffix(
                "This was a dry run; to remove the data: larder gc --max-size 1M --allow-incomplete\n")
        )
        #expect(try larder("list").output == before)

        // The command removes exactly the URLs that the dry run lists.
        let urls = { (list: String) in
            Set(list.split(separator: "\n").compactMap { $0.split(separator: " ").last })
        }
        #expect(
            try json("gc", "--max-size", "1M", "--allow-incomplete")["evictedURLs"]?.int
                == forecast["evictedURLs"]?.int)
        let gone = urls(before).subtracting(urls(try larder("list").output))
        #expect(gone.isSubset(of: Set(named.map { $0[...] })) && !gone.isEmpty)
        for url in named { #expect(try larder("cat", url).status == 1) }
        #expect(try larder("gc", "--max-size", "100k", "--allow-incomplete", "--dry-run").status == 1)
        #expect(try larder("gc", "--dry-run", "--store", home.file("none")).status == 3)
    }

    @Test func `gc without a limit removes no stored URL`() throws {
        #expect(try larder("gc").output.hasPrefix("nothing to remove; the store takes "))
        #expect(
            try larder("gc", "--max-size", "much").errors.contains(
                "--max-size must be a size such as 500M, 2G")
        )
        #expect(try larder("gc", "--store", home.file("none")).status == 3)
        #expect(home.names() == [".local"])
    }

    @Test func `a dropped snapshot is gone, and responses of later ones stay`() throws {
        let site = origin.url("/")
        for text in ["a", "b"] {
            origin.on("/b", .page(text))
            #expect(try larder("prefetch", site, "--quiet").status == 0)
        }
        let served = try larder("drop", site, "1", "3")
        #expect(served.status == 2)
        #expect(served.errors.contains("snapshot 3 is live; make another snapshot live first"))
        #expect(try larder("drop", site, "1", "9").errors.contains("it has no snapshot 9"))
        #expect(try json("snapshots")["sites"]?[0]?["snapshots"]?.array?.count == 3)

        let dropped = try larder("drop", site, "1", "2")
        #expect(dropped.status == 0, "\(dropped)")
        #expect(
            dropped.output.hasPrefix(
                "2 snapshots removed; to free the disk space: larder gc\n\(site)\n  Snapshot "))
        let snapshots = try json("snapshots", site)["sites"]?[0]?["snapshots"]
        #expect(snapshots?.array?.map { $0["number"]?.int } == [3])
        // The later snapshot did not request it again. No page shows it any more.
        #expect(try larder("cat", origin.url("/b.png")).status == 1)
        #expect(try larder("cat", origin.url("/a.png")).status == 0)
        #expect(try larder("cat", origin.url("/b")).output == "b")
    }
}
