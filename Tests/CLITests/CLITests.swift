import Glibc
import Store
import TestOrigin
import Testing
import Web

@Suite struct CLITests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<title>Home</title><a href=/two>two</a><img src=/dot.png>"))
        origin.on("/two", .page("<a href=https://elsewhere.test/>elsewhere</a>"))
        origin.on("/dot.png", .file([137, 80, 78, 71], type: "image/png"))
    }

    private func larder(_ arguments: String..., environment: [String: String] = [:]) throws -> Command.Ending
    {
        try Command(arguments, home: home, environment: environment).wait()
    }

    private var store: String { home.file("a store") }

    @Test func `a quiet prefetch says why its status is 1`() throws {
        origin.on("/", .page("<script src=/a.js></script><script src=/b.js></script>"))
        for target in ["/a.js", "/b.js"] { origin.on(target, .failure(403)) }
        for command in ["prefetch", "update"] {
            let ending = try larder(command, origin.url("/"), "--quiet", "--store", store)
            #expect(ending.status == 1)
            #expect(ending.output == "")
            #expect(
                ending.errors
                    == "larder: \(origin.url("/")): 2 URLs failed, the first: \(origin.url("/a.js")) "
                    + "(the server answered 403); "
                    + "see what is missing with: larder check \(origin.url("/"))\n")
        }
    }

    @Test func `a prefetched site is counted, and served after its origin has stopped`() throws {
        let prefetch = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(prefetch.status == 0, "\(prefetch)")
        #expect(prefetch.output.contains("2 pages, 1 asset"))
        #expect(prefetch.output.contains("larder open \(origin.url("/")) --store '\(store)'"))
        #expect(prefetch.errors == "")
        origin.stop()

        let status = try larder("status", "--store", store, "--json")
        let report = try JSONValue.parse(status.output.utf8.span)
        #expect(report["responses"]?.int == 3)
        #expect(report["sites"]?[0]?["name"]?.string == origin.url("/"))
        let row = try larder("status", "--store", store).output.split(separator: "\n").last?.split(
            separator: " ")
        #expect(row?.prefix(2).map(String.init) == [origin.url("/"), "1"])

        let serve = try Command(["serve", "--port", "0", "--store", store], home: home)
        let line = serve.read(until: "\n")
        let port = try #require(Int(line.split(separator: ":")[2].prefix { $0.isNumber }))
        let client = try RawClient(port: port)
        let answer = try client.get("/", host: "port-\(origin.port).127-0-0-1.localhost:\(port)")
        #expect(answer.status == 200)
        #expect(answer.text.contains("<title>Home</title>"))
        serve.signal(SIGINT)
        #expect(serve.wait().status == 0)
    }

    @Test func `missing URLs are reported, and make the exit status 1`() throws {
        origin.on("/two", .page("<img src=/closed.png><img src=/gone.png>"))
        origin.on("/closed.png", .failure(403))
        let ending = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(ending.status == 1)
        #expect(ending.output.contains("1 asset failed:"))
        #expect(ending.output.contains("\(origin.url("/closed.png")): the server answered 403\n"))
        #expect(ending.output.contains("1 URL broken on the live site:"))
        #expect(ending.output.contains("found through \(origin.url("/")) > \(origin.url("/two"))"))
        let json = try larder("prefetch", origin.url("/"), "--store", store, "--json")
        let report = try JSONValue.parse(json.output.utf8.span)
        #expect(report["missing"]?[0]?["chain"]?.array?.count == 2)
        #expect(report["skipped"]?[0]?["url"] == nil)
    }

    @Test func `a file that the site itself lacks makes the status 1 only with --strict`() throws {
        origin.on("/two", .page("<img src=/gone.png>"))
        let ending = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(ending.status == 0)
        #expect(ending.output.contains("\(origin.url("/gone.png")): the server answered 404\n"))
        #expect(try larder("prefetch", origin.url("/"), "--store", store, "--strict").status == 1)
        #expect(try larder("check", origin.url("/"), "--store", store).status == 0)
    }

    @Test
    func
        `a run that ends by a limit says how to go on, without its secrets, and that is what the next one does`()
        throws
    {
        let ending = try larder(
            "prefetch", origin.url("/"), "--store", store, "--max-pages", "1", "--robots", "ignore", "--user",
            "me:secret",
            "--insecure", "--exclude", "*.pdf")
        #expect(ending.status == 0, "\(ending)")
        #expect(
            ending.output.contains(
                "Limited as requested: the limit of 1 page was reached (--max-pages); to continue:"))
        let line =
            "larder prefetch \(origin.url("/")) --store '\(store)' --robots ignore --user NAME:PASSWORD --insecure "
            + "--exclude '*.pdf' --max-pages 2"
        #expect(ending.output.contains(line))
        #expect(!ending.output.contains("secret"))
        #expect(ending.output.contains("ROBOTS IGNORED"))
        #expect(ending.output.contains("INSECURE"))
        origin.forgetRequests()
        let more = try larder(
            "prefetch", origin.url("/"), "--store", store, "--max-pages", "2", "--robots", "ignore")
        #expect(more.output.contains("continued the previous run"))
        #expect(origin.requests(to: "/").isEmpty)
        #expect(origin.requests(to: "/two").count == 1)
        let updated = try larder("update", "--store", store, "--max-pages", "1")
        #expect(updated.output.contains("larder update --store '\(store)' --max-pages 2"))
    }

    @Test func `a check finds one flipped byte in live and in stored bundles`() throws {
        origin.on("/", .page("<script src=/a.js></script><script src=/b.js></script>"))
        origin.on("/a.js", .file(Array("a".utf8), type: "text/javascript"))
        origin.on("/b.js", .file(Array("b".utf8), type: "text/javascript"))
        let manifest = try home.write(
            """
            {"bundles": [{"url": "/a.js", "md5": "0cc175b9c0f1b6a831c399e269772661"},
                         {"url": "/b.js", "md5": "92eb5ffee6ae2fec3ad71c777531578f"}]}
            """, to: "m.json")
        let live = try larder("check", manifest, "--base", origin.url("/"))
        #expect(live.status == 0, "\(live)")
        #expect(live.output.contains("verified \(origin.url("/a.js"))"))
        #expect(try larder("prefetch", origin.url("/"), "--store", store, "--quiet").output == "")

        origin.on("/b.js", .file(Array("c".utf8), type: "text/javascript"))
        let changed = try larder("check", manifest, "--base", origin.url("/"), "--json")
        #expect(changed.status == 1)
        let report = try JSONValue.parse(changed.output.utf8.span)
        #expect(report["bundles"]?[1]?["verdict"]?.string == "mismatch")
        #expect(
            report["bundles"]?[1]?["detail"]?.string?.contains("92eb5ffee6ae2fec3ad71c777531578f") == true)

        origin.stop()
        let held = try larder("check", manifest, "--base", origin.url("/"), "--held", "--store", store)
        #expect(held.status == 0, "\(held)")
        #expect(try larder("check", manifest, "--base", origin.url("/")).status == 1)
    }

    @Test func `an interrupted prefetch keeps its responses and says how to continue`() throws {
        origin.hold("/two")
        let command = try Command(["prefetch", origin.url("/"), "--store", store], home: home)
        #expect(origin.waitForRequests(1, to: "/two"))
        command.signal(SIGINT)
        let ending = command.wait()
        #expect(ending.status == 130, "\(ending)")
        #expect(ending.output.contains("to continue: larder prefetch \(origin.url("/")) --store '\(store)'"))
        origin.release("/two")
        origin.forgetRequests()
        let second = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(second.status == 0)
        #expect(second.output.contains("continued the previous run"))
        #expect(origin.requests(to: "/").isEmpty)
    }

    @Test func `a run that continues an update and finds no change says both, in one headline`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--store", store).status == 0)
        origin.hold("/two")
        origin.forgetRequests()
        let command = try Command(["prefetch", origin.url("/"), "--store", store], home: home)
        #expect(origin.waitForRequests(1, to: "/two"))
        command.signal(SIGINT)
        #expect(command.wait().status == 130)
        origin.release("/two")
        let second = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(second.status == 0, "\(second)")
        let lines = second.output.split(separator: "\n")
        #expect(lines.first?.hasPrefix("\(origin.url("/")): nothing has changed (") == true, "\(second)")
        #expect(lines.count { $0.hasPrefix(origin.url("/")) } == 1, "\(second)")
        #expect(lines.contains("  continued the previous run"), "\(second)")
    }

    @Test func `the number of expired cookies of the site is reported`() throws {
        let file = try home.write(
            """
            # Netscape HTTP Cookie File
            127.0.0.1\tFALSE\t/\tFALSE\t1000\told\t1
            127.0.0.1\tFALSE\t/\tFALSE\t4000000000\tnew\t2

            """, to: "cookies.txt")
        let ending = try larder("prefetch", origin.url("/"), "--store", store, "--cookies", file)
        #expect(
            ending.output.contains(
                "1 of 2 cookies in \(file) is for this site; 1 expired; updates of this site read it too\n"),
            "\(ending)")
    }

    @Test func `the run after a killed one continues from the last commit`() throws {
        origin.hold("/two")
        let command = try Command(["prefetch", origin.url("/"), "--store", store], home: home)
        #expect(origin.waitForRequests(1, to: "/two"))
        command.signal(SIGKILL)
        #expect(command.wait().status == -SIGKILL)
        origin.release("/two")
        let second = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(second.status == 0, "\(second)")
        let status = try JSONValue.parse(larder("status", "--store", store, "--json").output.utf8.span)
        #expect(status["responses"]?.int == 3)
    }

    /// Kills two runs, because a resumed download must be resumable too.
    @Test func `the run after a killed one resumes a large file`() throws {
        let size = 12_000_000
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 251 ^ $0) }
        let whole = OriginAnswer.file(body, type: "application/octet-stream").validated(entityTag: "\"1\"")
        origin.on("/", .page("<img src=/large.bin>"))
        for (more, held) in [(6_000_000, 6_000_000), (3_000_000, 9_000_000)] {
            origin.on("/large.bin", whole.dripping(more, every: .seconds(3600)))
            let command = try Command(["prefetch", origin.url("/"), "--store", store], home: home)
            var status = stat()
            func isThere() -> Bool {
                home.names(in: "a store/incoming").contains {
                    stat(home.file("a store/incoming/" + $0), &status) == 0 && status.st_size >= held
                }
            }
            // The command does not report how much of a file it has written.
            let end = ContinuousClock.now + .seconds(120)
            while !isThere(), ContinuousClock.now < end { usleep(5000) }
            #expect(isThere(), "no file of \(held) bytes came into the store")
            command.signal(SIGKILL)
            #expect(command.wait().status == -SIGKILL)
        }
        origin.on("/large.bin", whole)
        let last = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(last.status == 0, "\(last)")
        let asked = origin.requests(to: "/large.bin").map { $0["Range"] }
        #expect(asked == [nil, "bytes=6000000-", "bytes=9000000-"])
        #expect(origin.requests(to: "/large.bin").last?["If-Range"] == "\"1\"")
        let reader = try StoreReader(StoreFolder(store))
        let held = try #require(try reader.response(for: origin.url("/large.bin"))?.body)
        #expect(try reader.content(of: held)?.load() == body)
        #expect(home.names(in: "a store/incoming").isEmpty && home.names(in: "a store/partial").isEmpty)
    }

    @Test(arguments: [
        ([], 2, ""),
        (["prefetsch"], 2, "larder: unknown command \"prefetsch\"; did you mean larder prefetch?\n"),
        (
            ["prefetch"], 2,
            "larder: larder prefetch needs URL...|MANIFEST, for example: larder prefetch https://example.com/docs/\n"
        ),
        (
            ["prefetch", "http://["], 2,
            "larder: \"http://[\" is not a URL: write it like https://example.com/\n"
        ),
        (
            ["prefetch", "file:///etc/passwd"], 2,
            "larder: file:///etc/passwd cannot be prefetched: only http and https can; name a page such as https://example.com/\n"
        ),
        (
            ["prefetch", "ftp://a.test/"], 2,
            "larder: ftp://a.test/ cannot be prefetched: only http and https can; name a page such as https://example.com/\n"
        ),
        (
            ["prefetch", "http://user:secret@a.test/"], 2,
            "larder: the URL of a.test contains a user name or password: leave them out, they must not be stored\n"
        ),
        (["status", "--jsno"], 2, "larder: larder status has no option --jsno; did you mean --json?\n"),
        (["serve", "--port", "http"], 2, "larder: --port must be a number from 0 to 65535, not \"http\"\n"),
        (["serve", "--port"], 2, "larder: --port needs a value: --port N\n"),
        (
            ["status", "extra"], 2,
            "larder: unexpected argument \"extra\"; see: larder status --help\n"
        ),
        (["status", "--json=1"], 2, "larder: --json takes no value; write only --json\n"),
        (
            ["check", "/no/such.json"], 2,
            "larder: cannot read the manifest /no/such.json: No such file or directory; name an existing file or URL\n"
        ),
        (
            ["check", "/dev/zero"], 2,
            "larder: /dev/zero:1:1: expected at most 33554432 bytes, found 33554433\n"
        ),
        (
            ["help", "nothing"], 2,
            "larder: unknown command \"nothing\"; list all commands with: larder help\n"
        ),
    ])
    func `a wrong command line gets one line that names the next step`(
        arguments: [String], status: Int32, errors: String
    ) throws {
        let ending = try Command(arguments, home: home).wait()
        #expect(ending.status == status)
        #expect(ending.errors == errors)
    }

    @Test func `a failure of the machine or network is named, with exit status 3`() throws {
        let unknown = try larder("prefetch", "http://no-such-host.invalid/", "--store", store)
        #expect(unknown.status == 3)
        #expect(
            unknown.errors.contains("http://no-such-host.invalid/: nothing was prefetched: host not found; "))
        #expect(unknown.errors.utf8.count { $0 == UInt8(ascii: "\n") } == 1)
        // The error line says everything.
        #expect(unknown.output.isEmpty, "\(unknown)")

        try home.write("in the way", to: "file")
        let store = home.file("file/store")
        let unwritable = try larder("prefetch", origin.url("/"), "--store", store)
        #expect(unwritable.status == 3)
        #expect(unwritable.errors.contains(store))
        #expect(unwritable.errors.contains("name another store with --store"))

        #expect(try larder("prefetch", origin.url("/"), "--store", self.store).status == 0)
        let taken = try larder("serve", "--port", "\(origin.port)", "--store", self.store)
        #expect(taken.status == 3)
        #expect(
            taken.errors.hasPrefix(
                "larder: port \(origin.port) is in use by another program; the next free port is "))
        #expect(try larder("status", "--store", home.file("nothing")).status == 3)
    }

    @Test func `the store is in the folder of $LARDER_STORE, else in the home folder`() throws {
        #expect(try larder("prefetch", origin.url("/"), "--quiet").status == 0)
        #expect(home.names(in: ".local/share/larder").contains("larder.db"))
        let data = ["XDG_DATA_HOME": home.file("data")]
        #expect(try larder("prefetch", origin.url("/"), "--quiet", environment: data).status == 0)
        #expect(home.names(in: "data/larder").contains("larder.db"))
        let named = ["XDG_DATA_HOME": home.file("data"), "LARDER_STORE": home.file("named")]
        #expect(try larder("prefetch", origin.url("/"), "--quiet", environment: named).status == 0)
        #expect(home.names(in: "named").contains("larder.db"))
    }

    @Test
    func `without a home folder, the store must be named and is not created in the current folder`()
        throws
    {
        let homeless = ["HOME": "", "XDG_DATA_HOME": "data"]
        for command in [["prefetch", origin.url("/")], ["status"], ["check", "m.json", "--held"]] {
            let ending = try Command(command, home: home, environment: homeless).wait()
            #expect(ending.status == 2)
            #expect(
                ending.errors
                    == "larder: HOME is not set; name the store with --store DIR or $LARDER_STORE\n")
        }
        let manifest = try home.write(
            "{\"bundles\": [{\"url\": \"/two\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "m.json")
        #expect(try larder("check", manifest, "--base", origin.url("/"), environment: homeless).status == 1)
        #expect(try larder("prefetch", origin.url("/"), "--store", store, environment: homeless).status == 0)
    }

    @Test func `a suggested command can be pasted into a shell`() throws {
        let url = origin.url("/?a=1&b=it's")
        let store = home.file("it's a store")
        origin.hold("/two")
        let command = try Command(["prefetch", url, "--store", store], home: home)
        #expect(origin.waitForRequests(1, to: "/two"))
        command.signal(SIGINT)
        let shown = [command.wait().output, try larder("status", "--store", store).output]
        origin.release("/two")
        for text in shown {
            let words = try #require(text.split(separator: "\n").first { $0.contains("to continue: ") })
            let pasted = words.suffix(from: try #require(words.firstRange(of: "larder prefetch")).lowerBound)
            let ending = try Command([], home: home, shell: "larder() { \"$0\" \"$@\"; }; \(pasted)").wait()
            #expect(ending.status == 0, "\(pasted): \(ending)")
            // On the second run nothing has changed.
            #expect(
                ending.output.contains("2 pages") || ending.output.contains("nothing has changed (3 URLs"))
        }
        #expect(home.names() == ["it's a store"])
    }

    @Test func `the help shows the defaults of options`() throws {
        let serve = try larder("help", "serve").output.split { $0 == " " || $0 == "\n" }.joined(
            separator: " ")
        #expect(serve.contains("0 chooses a free one [default: 8080]"))
        #expect(try larder("help", "demo").output.contains("0 chooses a free one [default: 0]"))
        let words = try larder("help", "status").output.split { $0 == " " || $0 == "\n" }.joined(
            separator: " ")
        #expect(words.contains("[default: $LARDER_STORE or ~/.local/share/larder]"))
    }

    @Test func `--version prints the version, and every command has its help`() throws {
        #expect(try larder("--version").output.hasPrefix("larder "))
        let help = try larder("help")
        #expect(help.status == 0)
        let commands = help.output.split(separator: "\n").filter { $0.hasPrefix("  ") }.compactMap {
            $0.split(separator: " ").first.map(String.init)
        }
        for command in ["prefetch", "serve", "status", "check"] {
            #expect(commands.contains(command))
        }
        #expect(try larder("--help").output == help.output)
        for command in commands where command != "help" {
            let one = try larder("help", command)
            #expect(one.output.contains("\nUsage\n  larder \(command)"), "\(command)")
            #expect(try larder(command, "--help").output == one.output)
        }
        #expect(try larder().status == 2)
        #expect(try larder("-h").output == larder().output)
    }
}
