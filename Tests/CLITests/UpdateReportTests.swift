import TestOrigin
import Testing

/// Tests the reports of a prefetch and of later updates of the same site.
@Suite struct UpdateReportTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
    }

    private func larder(_ words: String...) throws -> Command.Ending {
        try Command(words, home: home).wait()
    }

    @Test("An update without changes is reported in two lines, the second with what is broken")
    func unchanged() throws {
        origin.on(
            "/",
            .page("<a href=/gone>gone</a><a href=https://elsewhere.test/>elsewhere</a>").validated(
                entityTag: "\"1\""))
        origin.on("/gone", .failure(404))
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        let update = try larder("update")
        let lines = update.output.split(separator: "\n")
        #expect(lines.count == 2, "\(update)")
        #expect(lines.first?.hasPrefix("\(origin.url("/")): nothing has changed (1 URL checked, ") == true)
        #expect(lines.first?.hasSuffix("; snapshot 1 stays live") == true)
        #expect(lines.last == "  1 URL broken on the live site, as before: \(origin.url("/gone"))")
    }

    @Test("An update after a rollback reports what changes for readers")
    func afterRollback() throws {
        let site = origin.url("/")
        origin.on("/", .page("first <a href=/other>other</a>"), .page("second <a href=/other>other</a>"))
        origin.on("/other", .page("other"))
        #expect(try larder("prefetch", site).status == 0)
        let update = try larder("update")
        #expect(
            update.output.contains("  since snapshot 1: 1 changed (list: larder diff \(site))"), "\(update)")
        #expect(update.output.contains("\n    changed \(site)\n"), "\(update)")
        #expect(try larder("rollback", site).status == 0)
        let later = try larder("update")
        #expect(
            later.output.contains("  since snapshot 1: 1 changed (list: larder diff \(site) 1 3)"), "\(later)"
        )
        #expect(try larder("diff", site, "1", "3").output.contains("changed \(site)\n"))
    }

    @Test("A login page in place of the site is one error, which names the command to log in")
    func loginPage() throws {
        origin.on("/", .redirect(to: "/login"))
        origin.on(
            "/login", .page("<title>Log in</title><form method=post><input type=password name=p></form>"))
        let ending = try larder("prefetch", origin.url("/"))
        #expect(ending.status == 1)
        #expect(!ending.output.contains("has a login form"), "\(ending)")
        #expect(
            ending.errors.contains("nothing new is stored: the start URL shows a login page"), "\(ending)")
        #expect(ending.errors.contains("log in with larder login \(origin.url("/")), or"), "\(ending)")
    }

    @Test("An update reads the cookie file of the prefetch again, and says if it is gone")
    func cookieFile() throws {
        origin.on("/") { request in
            .page(request["cookie"] == "session=anna" ? "<a href=/news>news</a> for Anna" : "Who are you?")
        }
        origin.on("/news") { request in
            .page(request["cookie"] == "session=anna" ? "News for Anna" : "Who are you?")
        }
        let file = try home.write("127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tanna\n", to: "cookies.txt")
        #expect(try larder("prefetch", origin.url("/"), "--cookies", file).status == 0)
        let update = try larder("update")
        #expect(update.output.contains("nothing has changed (2 URLs checked"), "\(update)")
        home.remove("cookies.txt")
        let later = try larder("update")
        #expect(
            later.errors.contains(
                "the cookie file \(file) of \(origin.url("/")) is gone; name another one"))
    }

    @Test("A login is not sent to all stored sites")
    func loginForAllSites() throws {
        origin.on("/", .page("text"))
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        origin.forgetRequests()
        for words in [["--user", "anna:secret"], ["--bearer", "token"]] {
            let all = try Command(["update"] + words, home: home).wait()
            #expect(all.status == 2 && all.errors.contains("name the sites that it is for"), "\(all)")
            #expect(!all.errors.contains(words[1]))
        }
        #expect(origin.requests.isEmpty)
        #expect(try larder("update", origin.url("/"), "--user", "anna:secret").status == 0)
        #expect(origin.requests(to: "/").first?["authorization"] == "Basic YW5uYTpzZWNyZXQ=")
    }

    @Test("A cookie file that does not exist is named before anything is fetched")
    func noCookieFile() throws {
        origin.on("/", .page("text"))
        let ending = try larder("prefetch", origin.url("/"), "--cookies", "/no/such/file")
        #expect(ending.status == 2)
        #expect(
            ending.errors
                == "larder: cannot read the cookie file /no/such/file: No such file or directory; name an existing file\n"
        )
        #expect(origin.requests.isEmpty)
    }

    @Test("A start page that asks for a password is reported with advice")
    func password() throws {
        origin.on(
            "/",
            .page(
                "<title>Wiki</title><a href=/help>help</a><form method=post><input type=password name=p></form>"
            ))
        origin.on("/help", .page("Help"))
        let ending = try larder("prefetch", origin.url("/"))
        #expect(
            ending.output.contains(
                "  \(origin.url("/")) has a login form; to store what is behind it: larder login URL, or --cookies FILE\n"
            ))
    }

    @Test("Pages that a limit leaves out are counted by reason in a check")
    func leftOut() throws {
        origin.on("/", .page((0..<9).map { "<a href=/page\($0)>x</a>" }.joined()))
        origin.otherwise { _ in .page("text") }
        #expect(try larder("prefetch", origin.url("/"), "--robots", "ignore", "--max-pages", "3").status == 0)
        let check = try larder("check", origin.url("/"))
        #expect(check.status == 0)
        #expect(check.output.contains("not-fetched 7 URLs, such as \(origin.url("/page"))"), "\(check)")
    }
}
