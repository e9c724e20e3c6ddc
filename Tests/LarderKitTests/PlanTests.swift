import LarderKit
import TestOrigin
import Testing

@Suite struct PlanTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
    }

    @Test func `a plan estimates a site from a few pages and stores nothing`() async throws {
        let links = (0..<300).map { "<a href=/item/\($0)>\($0)</a>" }.joined()
        origin.on("/", .page("<link rel=stylesheet href=/s.css>" + links))
        for number in 0..<300 { origin.on("/item/\(number)", .page("item number \(number) is for sale")) }
        origin.on("/s.css", .file("b {}", type: "text/css"))
        let report = try await Larder(at: scratch.path + "/store").plan([origin.url("/")])
        #expect(report.pages.low == 301)
        #expect(report.pages.high == 301)
        #expect(report.requests < 20)
        #expect(report.groups.contains { $0.pattern.hasSuffix("/item/*") && $0.pages.low == 300 })
        #expect(report.groups.allSatisfy { $0.pattern.hasPrefix("127.0.0.1:") })
        #expect(report.json.contains("\"patterns\""))
        #expect(scratch.names().isEmpty)
    }

    @Test func `a site whose pages are made by scripts is estimated with low confidence`() async throws {
        origin.on("/", .page("<title>App</title><div id=app></div><script src=/app.js></script>"))
        origin.on("/app.js", .file("app.innerHTML = '<a href=/a>a</a>'", type: "text/javascript"))
        let report = try await Larder(at: scratch.path).plan([origin.url("/")])
        #expect(report.confidence == .low)
        #expect(
            report.reasons.last
                == "scripts make the content of 1 sampled page; a plan runs no scripts, so there may be more pages"
        )
    }

    @Test(arguments: ["/login", "/"])
    func `a site behind a login page is estimated with low confidence`(place: String) async throws {
        if place != "/" { origin.on("/", .redirect(to: place)) }
        origin.on(
            place,
            .page(
                "<title>Log in</title><form method=post><input name=user><input type=password name=password></form>"
            ))
        let report = try await Larder(at: scratch.path).plan([origin.url("/")])
        #expect(report.confidence == .low)
        #expect(report.hasLoginPage)
        #expect(
            report.reasons.first
                == "the start URL shows a login page, \(origin.url(place)), instead of the site")
        // The user asked for the login page itself.
        let named = try await Larder(at: scratch.path).plan([origin.url("/login")])
        #expect(!named.hasLoginPage)
    }

    @Test func `a plan obeys robots.txt, and a site that does not exist has an empty plan`() async throws {
        origin.on(
            "/robots.txt", .file("User-agent: larder\nDisallow: /a\nCrawl-delay: 2", type: "text/plain"))
        origin.on("/", .page("<a href=/a>a</a><a href=/b>b</a>"))
        origin.on("/b", .page("b"))
        let report = try await Larder(at: scratch.path).plan([origin.url("/")])
        #expect(report.refusedByRobots == 1)
        #expect(report.crawlDelay == 2)
        #expect(origin.requests(to: "/a").isEmpty)
        let nothing = try await Larder(at: scratch.path).plan([origin.url("/none")])
        #expect(nothing.groups.isEmpty)
    }

    /// The estimate omits pages that a prefetch would skip.
    @Test(arguments: [(Int?.none, 4), (2, 3), (1, 2), (0, 1)])
    func `a page beyond the depth limit is not counted`(depth: Int?, pages: Int) async throws {
        for (page, next) in [("/", "/a"), ("/a", "/b"), ("/b", "/c")] {
            origin.on(page, .page("<a href=\(next)>on</a>"))
        }
        origin.on("/c", .page("the end"))
        var options = PrefetchOptions()
        options.plan.scope.depth = depth
        let report = try await Larder(at: scratch.path).plan([origin.url("/")], options: options)
        #expect(report.pages.low == pages)
        #expect(origin.requests(to: "/c").count == (depth == nil ? 1 : 0))
    }

    @Test(arguments: [404, 405])
    func `a file whose HEAD fails counts if a GET succeeds`(status: Int) async throws {
        origin.on("/", .page((0..<6).map { "<a href=/\($0).pdf>\($0)</a>" }.joined()))
        let size = 4_000_000
        for number in 0..<6 {
            origin.on("/\(number).pdf") { request in
                request.method == "HEAD" || number == 0
                    ? .failure(status) : .file([UInt8](repeating: 1, count: size), type: "application/pdf")
            }
        }
        let report = try await Larder(at: scratch.path).plan([origin.url("/")])
        #expect(report.pages.low == 6)
        #expect(report.pages.high == 6)
        #expect(report.byteCount.low >= 5 * size)
        #expect(report.fetchedByteCount < size)
    }

    @Test func `a start URL that redirects to another host moves the site there`() async throws {
        let there = origin.base.replacing("127.0.0.1", with: "localhost")
        origin.on("/", .redirect(to: there + "/home"))
        origin.on("/home", .page("<a href=/a>a</a><a href=/b>b</a>"))
        for target in ["/a", "/b"] { origin.on(target, .page(target)) }
        let report = try await Larder(at: scratch.path).plan([origin.url("/")])
        #expect(report.pages.low == 3)
    }

    @Test func `nofollow links are not counted, and links that end the session are not followed`()
        async throws
    {
        origin.on("/", .page("<a href=/a>a</a><a href=/b>b</a><a href=/logout>out</a>"))
        origin.on("/a", .page("<meta name=robots content=nofollow><a href=/c>c</a>"))
        for target in ["/b", "/c", "/logout"] { origin.on(target, .page(target)) }
        var options = PrefetchOptions()
        options.plan.nofollow = .pages
        options.network.headers = ["127.0.0.1 Cookie: session=1"]
        let report = try await Larder(at: scratch.path).plan([origin.url("/")], options: options)
        #expect(report.pages.low == 3)
        #expect(origin.requests(to: "/logout").isEmpty)
        #expect(origin.requests(to: "/c").isEmpty)
    }
}
