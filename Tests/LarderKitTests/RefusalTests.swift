import Store
import TestOrigin
import Testing

@testable import LarderKit

/// Tests of responses that a server sends in place of others, such as login pages.
@Suite struct RefusalTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        origin.on(
            "/",
            .page(
                "<script src=/lib.js></script><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/api/x>x</a>"
            ))
        origin.on("/lib.js", .file("good", type: "text/javascript"))
        for number in 1...3 { origin.on("/\(number)", .page("page \(number)")) }
        origin.on("/api/x", .page("an answer"))
    }

    /// The stored body of a URL; nil if there is none.
    private func storedText(_ target: String) throws -> String? {
        let reader = try StoreReader(StoreFolder(larder.path))
        let body = try reader.response(for: origin.url(target))?.body
        return try body.flatMap { try reader.content(of: $0) }.map {
            String(decoding: try $0.load(), as: UTF8.self)
        }
    }

    @Test func `a login page in place of a script is rejected, and the stored script stays`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        origin.on("/lib.js", .page("<form>Log in</form>"))
        let report = try await larder.update()[0]
        #expect(report.isPublished && !report.isComplete)
        let missing = try #require(report.missing.first { $0.url == origin.url("/lib.js") })
        #expect(missing.reason.contains("HTML"))
        #expect(try storedText("/lib.js") == "good")
    }

    @Test func `a snapshot with less than half of the pages is rejected, unless shrinking is allowed`()
        async throws
    {
        let first = try await larder.prefetch([origin.url("/")])
        origin.on("/", .page("<form>Log in</form>"))
        let rejected = try await larder.update()[0]
        #expect(rejected.hasShrunk && rejected.isRejected && !rejected.isPublished)
        #expect(try await larder.status().sites[0].live == first.snapshot)
        var options = PrefetchOptions()
        options.allowsShrinking = true
        let allowed = try await larder.update(options: options)[0]
        #expect(allowed.isPublished && !allowed.hasShrunk && allowed.pages == 1)
    }

    private static let login =
        "<title>Sign in</title><form method=post><input name=user><input type=password></form>"
    private static let alike =
        "<title>Wi-Fi</title><form method=post action=/ok><button>I accept</button></form>"

    /// The pages with which a server replaces those of the site.
    struct SampleSite: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let pages: [(path: String, answer: OriginAnswer)]
    }

    static let replacedSites: [SampleSite] = [
        SampleSite(testDescription: "a login in place", pages: [("/", .page(login))]),
        SampleSite(
            testDescription: "a redirect to a login",
            pages: [("/", .redirect(to: "/login?next=/")), ("/login", .page(login + "<a href=/terms>t</a>"))]),
        SampleSite(
            testDescription: "a login by way of another, where the password comes later",
            pages: [
                ("/", .redirect(to: "/start")), ("/start", .redirect(to: "/sso/saml")),
                ("/sso/saml", .page("<title>Example</title><form><input type=email></form>")),
            ]),
        SampleSite(
            testDescription: "a portal at every address",
            pages: [
                ("/", .page(alike + "<a href=/1></a><a href=/2></a><a href=/3></a>")),
                ("/1", .page(alike + "<a href=/1></a><a href=/2></a><a href=/3></a>")),
                ("/2", .page(alike + "<a href=/1></a><a href=/2></a><a href=/3></a>")),
                ("/3", .page(alike + "<a href=/1></a><a href=/2></a><a href=/3></a>")),
            ]),
    ]

    @Test(arguments: replacedSites)
    func `a login page in place of a site is rejected, unless shrinking is allowed`(site: SampleSite)
        async throws
    {
        for (path, answer) in site.pages { origin.on(path, answer) }
        let report = try await larder.prefetch([origin.url("/")])
        #expect(report.loginPage != nil && report.isRejected && !report.isPublished && !report.isComplete)
        #expect(try storedText("/") == nil)
        var options = PrefetchOptions()
        options.allowsShrinking = true
        #expect(try await larder.prefetch([origin.url("/")], options: options).isPublished)
        // The user has accepted this page, so the next update accepts it too.
        #expect(try await larder.update()[0].isPublished)
    }

    /// A server may send its login page in place of robots.txt too, and confirm it when it is requested again.
    @Test(arguments: [false, true])
    func `an update that finds a login page in place of many pages names it`(hidesRobots: Bool) async throws {
        origin.on("/", .page((1...6).map { "<a href=/\($0)></a>" }.joined()))
        for number in 1...6 { origin.on("/\(number)", .page("page \(number)")) }
        #expect(try await larder.prefetch([origin.url("/")]).isPublished)
        origin.on("/", .redirect(to: "/login"))
        origin.on("/login", .page(Self.login).validated(entityTag: "\"login\""))
        if hidesRobots { origin.on("/robots.txt", .redirect(to: "/login")) }
        let report = try await larder.update()[0]
        #expect(report.hasShrunk && report.isRejected && !report.isPublished)
        #expect(report.loginPage?.contains(origin.url("/login")) == true, "\(report.loginPage ?? "none")")
        #expect(try storedText("/1") == "page 1")
    }

    /// Sites with pages that resemble login pages.
    static let sites: [SampleSite] = [
        SampleSite(testDescription: "a single page", pages: [("/", .page("<title>Me</title><p>Hello"))]),
        SampleSite(
            testDescription: "a single page with a form",
            pages: [("/", .page("<title>Me</title><form method=post action=/mail><input name=text></form>"))]),
        SampleSite(
            testDescription: "a small site with a login on each page",
            pages: [
                ("/", .page("<title>Club</title><form><input type=password></form><a href=/1></a>")),
                ("/1", .page("<title>News</title><form><input type=password></form>")),
            ]),
        SampleSite(
            testDescription: "a redirect to a page",
            pages: [
                ("/", .redirect(to: "/en/")), ("/en/", .page("<title>Home</title><input type=password>")),
            ]),
        SampleSite(
            testDescription: "a redirect to a page whose title has such a word",
            pages: [("/", .redirect(to: "/auth/")), ("/auth/", .page("<title>Plant identification</title>"))]),
        SampleSite(
            testDescription: "a page about logins",
            pages: [("/", .page("<title>How to log in with curl</title><p>curl -u user:password</p>"))]),
        SampleSite(
            testDescription: "a login before much that is open",
            pages: [
                ("/", .page(login + (1...7).map { "<a href=/\($0)></a>" }.joined())),
                ("/4", .page("4")), ("/5", .page("5")), ("/6", .page("6")), ("/7", .page("7")),
            ]),
        SampleSite(
            testDescription: "a single-page app at all of its addresses",
            pages: ["/", "/1", "/2", "/3", "/4"].map { path in
                (
                    path,
                    .page(
                        "<title>App</title><form method=post></form><script src=/lib.js></script>"
                            + "<a href=/1></a><a href=/2></a><a href=/3></a><a href=/4></a>")
                )
            }),
        SampleSite(
            testDescription: "generated pages that resemble each other",
            pages: (0...9).map { number in
                (
                    number == 0 ? "/" : "/\(number)",
                    .page(
                        "<title>class C\(number)</title><form method=post></form>C\(number)"
                            + (1...9).map { "<a href=/\($0)>C\($0)</a>" }.joined())
                )
            }),
        SampleSite(
            testDescription: "one page under two names",
            pages: [("/", .page(alike + "<a href=/1></a>")), ("/1", .page(alike + "<a href=/1></a>"))]),
    ]

    @Test(arguments: sites)
    func `a page that only resembles a login page or captive portal is accepted`(site: SampleSite)
        async throws
    {
        for (path, answer) in site.pages { origin.on(path, answer) }
        let report = try await larder.prefetch([origin.url("/")])
        #expect(report.loginPage == nil && report.isPublished, "\(report.loginPage ?? "")")
    }

    @Test func `a login page that is the start page itself is accepted`() async throws {
        origin.on("/login", .page(Self.login))
        #expect(try await larder.prefetch([origin.url("/login")]).isPublished)
    }

    @Test func `stored pages that fail to load are kept and do not count as lost`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        for number in 1...3 { origin.on("/\(number)", .failure(501)) }
        let report = try await larder.update()[0]
        #expect(report.isPublished && !report.hasShrunk)
        #expect(try storedText("/1") == "page 1")
    }

    @Test(arguments: [
        "/api/** refuse type=text/html", "/api/** refuse", "/api/** refuse smaller-than=1k",
        "/api/** refuse larger-than=3",
        "/api/** refuse status=200 text=an%20answer",
    ])
    func `a rule rejects responses by type, size, status and text`(rule: String) async throws {
        var options = PrefetchOptions()
        options.plan.rules = [rule]
        let report = try await larder.prefetch([origin.url("/")], options: options)
        #expect(report.missing.map(\.url) == [origin.url("/api/x")])
        #expect(report.missing.first?.reason.contains(rule) == true)
        #expect(try storedText("/api/x") == nil)
        #expect(try storedText("/1") == "page 1")
    }

    @Test(arguments: [
        "/api/** refuse type=text/css", "/api/** refuse larger-than=1k", "/api/** refuse status=203",
        "/api/** refuse text=elsewhere",
    ])
    func `a rule accepts all other responses`(rule: String) async throws {
        var options = PrefetchOptions()
        options.plan.rules = [rule]
        #expect(try await larder.prefetch([origin.url("/")], options: options).missing.isEmpty)
        #expect(try storedText("/api/x") == "an answer")
    }

    @Test(arguments: [
        ("/api/** not-allowed", 0), ("/api/** memory-only", 0), ("/api/** type=text/html not-allowed", 1),
    ])
    func `a response that may not be stored is not prefetched`(rule: String, requests: Int) async throws {
        var options = PrefetchOptions()
        options.plan.rules = [rule]
        let report = try await larder.prefetch([origin.url("/")], options: options)
        #expect(report.isComplete)
        #expect(report.skipped.contains { $0.url == origin.url("/api/x") && $0.reason.contains(rule) })
        #expect(origin.requests(to: "/api/x").count == requests)
        #expect(try storedText("/api/x") == nil)
    }
}
