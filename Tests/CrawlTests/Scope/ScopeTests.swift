import Testing
import Web

@testable import Crawl

@Suite struct ScopeTests {
    private static let suffixes = PublicSuffixes(list: Array("uk\nco.uk\ncom\nhosting.com\n".utf8).span)

    private func url(_ text: String) throws -> WebURL { try #require(WebURL(text)) }

    private func scope(_ start: String..., options: ScopeOptions = ScopeOptions()) throws -> Scope {
        try Scope(start: try start.map(url), options: options, suffixes: Self.suffixes)
    }

    private func verdict(_ scope: Scope, _ page: String, depth: Int = 1) throws -> ScopeVerdict {
        scope.pageVerdict(on: try url(page), depth: depth)
    }

    @Test(arguments: [
        ("http://example.com/x", ScopeVerdict.followed(by: .host("example.com"))),
        ("https://example.com:8443/", .followed(by: .host("example.com"))),
        ("https://www.example.com/", .skipped(.otherHost)),
        ("https://example.com.evil.test/", .skipped(.otherHost)),
        ("ftp://example.com/x", .skipped(.scheme)), ("mailto:a@example.com", .skipped(.scheme)),
    ])
    func `extent host: pages on the start URL's host are followed`(page: String, expected: ScopeVerdict)
        throws
    {
        #expect(try verdict(scope("https://example.com/docs/"), page) == expected)
        #expect(try verdict(Scope(start: [url("https://example.com/docs/")]), page) == expected)
    }

    @Test(arguments: [
        ("https://example.com/docs/a/index.html", "/docs/a/b.html", true),
        ("https://example.com/docs/a/index.html", "/docs/a/", true),
        ("https://example.com/docs/a/index.html", "/docs/a/deep/er?x", true),
        ("https://example.com/docs/a/index.html", "/docs/ab/c", false),
        ("https://example.com/docs/a/index.html", "/docs/", false),
        ("https://example.com/docs/a/", "/docs/a", true),
        ("https://example.com/docs/a/", "/docs/a?x=/docs/b/", true),
        ("https://example.com/docs/a/", "/x?/docs/a/", false),
        ("https://example.com/", "/anything", true),
        ("https://example.com/docs", "/other", true),
    ])
    func `extent path: pages in the start URL's folder are followed`(start: String, page: String, isIn: Bool)
        throws
    {
        let scope = try scope(start, options: ScopeOptions(extent: .path))
        #expect(try verdict(scope, "http://example.com\(page)").isFollowed == isIn)
        #expect(try verdict(scope, "https://other.com\(page)") == .skipped(.otherFolder))
    }

    @Test(arguments: [
        ("https://www.example.co.uk/", "https://example.co.uk/", true),
        ("https://www.example.co.uk/", "https://a.b.example.co.uk/", true),
        ("https://www.example.co.uk/", "https://other.co.uk/", false),
        ("https://www.example.co.uk/", "https://notexample.co.uk/", false),
        ("https://a.hosting.com/", "https://b.hosting.com/", false),
        ("https://a.hosting.com/", "https://x.a.hosting.com/", true),
        ("http://127.0.0.1/", "http://127.0.0.1:8080/", true),
        ("http://127.0.0.1/", "http://1.127.0.0.1.com/", false),
        ("http://localhost/", "http://localhost:1/", true),
        ("http://localhost/", "http://a.localhost/", false),
    ])
    func `extent domain: pages under the registrable domain are followed`(
        start: String, page: String, isIn: Bool
    )
        throws
    {
        let verdict = try verdict(scope(start, options: ScopeOptions(extent: .domain)), page)
        #expect(verdict.isFollowed == isIn)
        if !isIn { #expect(verdict == .skipped(.otherDomain)) }
    }

    @Test(
        arguments: [
            (["/blog/**"], "https://example.com/blog/x", "/blog/**"),
            (["/blog/**"], "https://other.test/blog/x", nil),
            (["*.pdf"], "https://example.com/a/b.pdf", "*.pdf"),
            (["*.pdf"], "https://example.com/c.pdf", "*.pdf"),
            (["*.pdf"], "https://other.test/b.pdf", nil),
            (["*.other.test"], "https://a.other.test/b", "*.other.test"),
            (["other.test/**"], "https://other.test/b", "other.test/**"),
            (["https://other.test/b*"], "https://other.test/bcd", "https://other.test/b*"),
            (["regex:/[0-9]{4}/$"], "https://other.test/2024/", "regex:/[0-9]{4}/$"),
            (["regex:/[0-9]{4}/$"], "https://other.test/24/", nil),
            (["/x", "/blog/**"], "https://example.com/blog/x", "/blog/**"),
        ] as [([String], String, String?)])
    func `include patterns add pages, also on other hosts if they name the host`(
        include: [String], page: String, pattern: String?
    ) throws {
        let options = ScopeOptions(extent: .path, include: include)
        let expected = pattern.map { ScopeVerdict.followed(by: .included($0)) } ?? .skipped(.otherFolder)
        #expect(try verdict(scope("https://example.com/docs/", options: options), page) == expected)
    }

    @Test(arguments: [
        (["*.pdf"], "https://example.com/a.pdf"), (["*.pdf"], "https://example.com/d/a.pdf"),
        (["/private/**"], "https://example.com/private/a"),
        (["regex:[?&]sort="], "https://example.com/a?x=1&sort=up"),
        (["example.com"], "https://example.com/"),
    ])
    func `exclude patterns take precedence, also for assets`(exclude: [String], page: String) throws {
        let options = ScopeOptions(include: ["regex:."], exclude: exclude, depth: 3)
        let scope = try scope("https://example.com/", options: options)
        let expected = ScopeVerdict.skipped(.excluded(exclude[0]))
        #expect(try verdict(scope, page) == expected)
        #expect(scope.assetVerdict(on: try url(page)) == expected)
        #expect(scope.startVerdict(on: try url(page)) == .followed(by: .start))
    }

    @Test func `assets are fetched from any host`() throws {
        let scope = try scope("https://example.com/docs/", options: ScopeOptions(extent: .path, depth: 0))
        #expect(scope.assetVerdict(on: try url("https://cdn.test/a.js")) == .followed(by: .asset))
        #expect(scope.assetVerdict(on: try url("ftp://cdn.test/a.js")) == .skipped(.scheme))
    }

    @Test(arguments: [(0, 0, true), (0, 1, false), (3, 3, true), (3, 4, false)])
    func `pages beyond the depth limit are skipped`(limit: Int, depth: Int, isFollowed: Bool) throws {
        let scope = try scope("https://example.com/", options: ScopeOptions(depth: limit))
        let verdict = try verdict(scope, "https://example.com/x", depth: depth)
        #expect(verdict == (isFollowed ? .followed(by: .host("example.com")) : .skipped(.tooDeep(limit))))
        #expect(try self.verdict(scope, "https://other.test/", depth: 9) == .skipped(.otherHost))
    }

    @Test func `a URL longer than the limit is skipped`() throws {
        let long = try url("https://example.com/" + String(repeating: "a", count: Scope.maxURLBytes))
        #expect(try scope("https://example.com/").pageVerdict(on: long, depth: 1) == .skipped(.longURL))
        #expect(try scope("https://example.com/").assetVerdict(on: long) == .skipped(.longURL))
    }

    @Test func `a redirected start URL extends the scope to its target`() throws {
        var scope = try scope("https://example.com/")
        let (start, moved) = (try url("https://example.com/"), try url("https://www.example.com/en/"))
        let news = [
            scope.addStartRedirect(from: start, to: moved), scope.addStartRedirect(from: start, to: moved),
        ]
        #expect(news == [true, false])
        #expect(try verdict(scope, "https://www.example.com/").isFollowed)
        #expect(try verdict(scope, "https://example.com/").isFollowed)
    }

    @Test func `a start URL that redirects to the same path with a slash is a folder`() throws {
        var scope = try scope("https://example.com/docs", options: ScopeOptions(extent: .path))
        #expect(try verdict(scope, "https://example.com/other").isFollowed)
        let isNews = scope.addStartRedirect(
            from: try url("https://example.com/docs"), to: try url("https://www.example.com/docs/"))
        #expect(isNews)
        #expect(try !verdict(scope, "https://example.com/other").isFollowed)
        #expect(try verdict(scope, "https://example.com/docs/a").isFollowed)
        #expect(try verdict(scope, "https://www.example.com/docs/a").isFollowed)
    }

    @Test(arguments: ["regex:(", "regex:", "", "regex:(a)\\1", "regex:[z-a]"])
    func `an invalid pattern is an error that names the pattern`(pattern: String) throws {
        let start = try url("https://example.com/")
        let error = #expect(throws: PatternMistake.self) {
            try Scope(start: [start], options: ScopeOptions(exclude: [pattern]))
        }
        #expect(error?.description.contains(pattern) == true)
    }

    @Test func `the description of a verdict is one line`() {
        let verdicts: [ScopeVerdict] = [
            .followed(by: .included("/blog/**")), .followed(by: .folder("a.test/docs/")),
            .skipped(.otherHost),
            .skipped(.tooDeep(3)), .skipped(.excluded("*.pdf")), .skipped(.robots("Disallow: /x (line 2)")),
            .skipped(.limit(.pages(100))),
        ]
        #expect(
            verdicts.map(\.description) == [
                "followed: included by /blog/**", "followed: under a.test/docs/", "skipped: on another host",
                "skipped: more than 3 links from the start", "skipped: excluded by *.pdf",
                "skipped: disallowed by robots.txt: Disallow: /x (line 2)",
                "skipped: the limit of 100 pages was reached",
            ])
    }
}
