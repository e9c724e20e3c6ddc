import TestOrigin
import Testing
import Web

@Suite struct SummaryTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
    }

    @Test func `an update without its server keeps the stored pages, and names only the failed connection`()
        throws
    {
        origin.on("/", .page("<img src=/dot.png><a href=/two>two</a>").validated(entityTag: "\"1\""))
        origin.on("/two", .page("two"))
        origin.on("/dot.png", .file([137, 80, 78, 71], type: "image/png"))
        #expect(try Command.run("prefetch", origin.url("/"), "--robots", "ignore", home: home).status == 0)
        origin.stop()
        let ending = try Command.run("update", "--max-time", "5s", home: home)
        #expect(
            ending.errors.contains(
                "\(origin.url("/")): not updated: cannot connect (connection refused); its stored copy stays; "
            ),
            "\(ending)")
        #expect(!(ending.output + ending.errors).contains("loopback"), "\(ending)")
        let row = try Command.run("status", home: home).output.split(separator: "\n").last?.split(
            separator: " ")
        #expect(row?[1] == "1")
        #expect(try Command.run("check", "--offline", origin.url("/"), home: home).status == 0)
    }

    @Test func `status counts a page that another page frames like the prefetch`() throws {
        origin.on("/", .page("<a href=/framed>framed</a>"))
        // Its response is stored before the page that frames it is known.
        origin.on("/framed", .page("<a href=/outer>outer</a>"))
        origin.on("/outer", .page("<iframe src=/framed></iframe>"))
        let prefetch = try Command.run("prefetch", origin.url("/"), "--render", "never", home: home)
        #expect(prefetch.output.contains(": 3 pages, 0 assets, "), "\(prefetch)")
        let status = try Command.run("status", "--json", home: home)
        #expect(status.output.contains("\"figures\": {\n        \"pages\": 3,"), "\(status)")
    }

    @Test func `a dry run of gc lists the snapshots of each site in one line`() throws {
        let other = try TestOrigin()
        for word in ["first", "second", "third"] {
            for site in [origin, other] {
                site.on("/", .page("the \(word) text"))
                let prefetch = try Command.run("prefetch", site.url("/"), "--render", "never", home: home)
                #expect(prefetch.status == 0, "\(prefetch)")
            }
        }
        let forecast = try Command.run("gc", "--keep-last", "1", "--dry-run", home: home)
        for site in [origin, other] {
            #expect(forecast.output.contains("\n  snapshots 1, 2 of \(site.url("/"))\n"), "\(forecast)")
        }
    }

    @Test func `a plan of a site that cannot be reached prints only the error`() throws {
        origin.stop()
        let plan = try Command.run("plan", origin.url("/"), home: home)
        #expect(plan.status == 3)
        #expect(plan.output == "")
        #expect(
            plan.errors.hasPrefix("larder: no page of \(origin.url("/")) could be fetched: ")
                && plan.errors.hasSuffix("; check the URL and the network, then try again\n"), "\(plan)")
    }

    /// Basic authentication is sent before a server asks for it, and digest is not.
    @Test(arguments: [
        ("anna:secret", true, "the server refused the login of --user; correct it"),
        (
            "digest:anna:secret", false,
            "the server did not ask for the login of --user; --user NAME:PASSWORD sends"
        ),
    ])
    func `the advice after a 403 says whether the server got the login`(
        login: String, isSent: Bool, advice: String
    ) throws {
        origin.otherwise { _ in .failure(403) }
        for command in ["plan", "prefetch"] {
            let ending = try Command.run(command, origin.url("/"), "--user", login, home: home)
            #expect(ending.errors.contains(": the server answered 403; \(advice)"), "\(ending)")
        }
        let requests = origin.requests(to: "/")
        #expect(!requests.isEmpty && requests.allSatisfy { ($0["authorization"] != nil) == isSent })
    }

    @Test(arguments: [
        (401, "log in (larder login URL, --cookies FILE, --user) and run the same command again"),
        (403, "log in (larder login URL, --cookies FILE, --user) and run the same command again"),
        (404, "check the URL"),
    ])
    func `the advice for a site that could not be fetched fits the status`(status: Int, advice: String) throws
    {
        origin.otherwise { _ in .failure(status) }
        for command in ["plan", "prefetch"] {
            let ending = try Command.run(command, origin.url("/"), home: home)
            #expect(ending.status == 3)
            #expect(ending.errors.hasSuffix("the server answered \(status); \(advice)\n"), "\(ending)")
        }
    }

    @Test func `the size in the first line of status is the sum of the sites`() throws {
        for text in ["one", "another"] {
            origin.on("/", .page(text))
            #expect(try Command.run("prefetch", origin.url("/"), "--render", "never", home: home).status == 0)
        }
        let json = try JSONValue.parse(Command.run("status", "--json", home: home).output.utf8.span)
        let size = try #require(json["sites"]?[0]?["figures"]?["bytes"]?.int)
        let status = try Command.run("status", home: home).output
        #expect(status.split(separator: "\n")[0].contains(": 1 site, \(size) B ("), "\(status)")
        #expect(try #require(json["bytes"]?.int) > size)
    }

    @Test func `many broken URLs take one line of a check`() throws {
        origin.on("/", .page((0..<30).map { "<img src=/gone\($0).png>" }.joined()))
        #expect(try Command.run("prefetch", origin.url("/"), "--render", "never", home: home).status == 0)
        let check = try Command.run("check", origin.url("/"), "--require", "read", home: home)
        #expect(check.status == 0)
        let line = "broken 30 URLs, such as \(origin.url("/gone0.png")): the server answered 404\n"
        #expect(check.output.contains(line), "\(check)")
        #expect(!check.output.contains("/gone17.png"))
    }

    @Test func `many missing URLs are grouped by host and reason on one screen`() throws {
        let pictures = (0..<30).map { "<img src=/gone\($0).png>" }.joined()
        let elsewhere = (0..<4).map { "<img src=http://nowhere.invalid/\($0).png>" }.joined()
        let links = (0..<40).map { "<a href=https://elsewhere.test/\($0)>x</a><a href=/dead\($0)>dead</a>" }
            .joined()
        origin.on("/", .page(pictures + elsewhere + links))
        for number in 0..<30 { origin.on("/gone\(number).png", .failure(403)) }
        let ending = try Command.run("prefetch", origin.url("/"), home: home)
        #expect(ending.status == 1)
        // On a loaded machine, indexing is left to the next search, and the summary reports that.
        let lines = ending.output.split(separator: "\n").filter {
            !$0.hasPrefix("1 page not indexed yet")
        }
        #expect(lines.count <= 24, "\(ending.output)")
        // If the resolver does not respond, the 4 URLs of the unknown host count as failed, and otherwise as broken.
        let isUnknown = ending.output.contains("  44 URLs broken on the live site:\n")
        #expect(
            ending.output.contains(
                "  \(isUnknown ? 30 : 34) assets failed:\n    30 at 127.0.0.1:\(origin.port): the server answered 403\n"
            ))
        #expect(
            ending.output.contains(
                "      such as \(origin.url("/gone0.png"))\n      found through \(origin.url("/"))\n"))
        #expect(ending.output.contains("    4 at nowhere.invalid: host not found"))
        #expect(ending.output.contains("  \(isUnknown ? 44 : 40) URLs broken on the live site:\n"))
        #expect(
            lines.suffix(2) == [
                "To repeat failed requests: larder update \(origin.url("/"))",
                "To read it: larder open \(origin.url("/"))",
            ])
    }

    @Test func `a page too large for scanning is reported, and its site is not verified`() throws {
        let text = "<a href=/b>b</a>" + String(repeating: "words and words ", count: (65 << 20) / 16)
        origin.on("/", .page(text))
        let ending = try Command.run("prefetch", origin.url("/"), "--no-index", home: home)
        #expect(ending.status == 1, "\(ending)")
        #expect(
            ending.output.contains(
                "  1 file over 64 MB stored, but not scanned for links, the first:\n    \(origin.url("/"))\n"),
            "\(ending)")
        let check = try Command.run("check", "--offline", origin.url("/"), home: home)
        #expect(check.output.contains("1 unverifiable") && !check.output.contains("everything"), "\(check)")
    }

    @Test func `options for rendering without rendering are an error, or a hint in a configuration file`()
        throws
    {
        origin.on("/", .page("<p>words and words"))
        for option in ["--render-pictures", "--render-deep", "--viewport=390x844"] {
            let ending = try Command.run(
                "prefetch", origin.url("/"), "--render", "never", option, home: home)
            #expect(ending.status == 2)
            #expect(
                ending.errors.contains(
                    "must not be used with --render never; leave out one of them"),
                "\(ending)")
        }
        #expect(origin.requests.isEmpty)
        let config = ["LARDER_CONFIG": try home.write(#"{"render-pictures": true}"#, to: "c.json")]
        let once = try Command.run(
            "prefetch", origin.url("/"), "--render", "never", home: home, environment: config)
        #expect(once.status == 0, "\(once)")
        let plain = try Command.run("prefetch", origin.url("/"), "--render-pictures", home: home)
        #expect(plain.status == 0)
        #expect(plain.output.contains("  no screenshot was taken, because no page was rendered"), "\(plain)")
    }
}
