import TestOrigin
import Testing

@testable import Web

@Suite(.enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"))
struct RobotsConformanceTests {
    /// Lines of robots_test.cc from which Larder deviates on purpose.
    private static let exceptions: [Int: String] = [
        419: "Google leaves it to its caller to escape the URL; RFC 9309, section 2.2.2, escapes both sides",
        430: "as line 419",
        441:
            "RFC 9309, section 2.2.2, decodes escapes of unreserved characters before it compares; Google does not",
    ]

    /// The path and query of a URL in the tables, which may be unescaped.
    private static func target(_ url: String) -> String {
        let bytes = Array(url.utf8)
        var rest = bytes[...]
        if let colon = rest.firstIndex(of: 0x3A), rest[(colon + 1)...].starts(with: [0x2F, 0x2F]) {
            rest = rest[(colon + 3)...].drop { $0 != 0x2F && $0 != 0x3F }
        }
        return String(decoding: rest.prefix { $0 != 0x23 }, as: UTF8.self)
    }

    @Test(arguments: ConformanceData.cases("robots/google-robots-cases.json"))
    func `robots.txt files are interpreted as by Google's parser`(row: JSONValue) throws {
        let line = try #require(row["line"]?.int)
        let expected = row["allowed"]?.bool == true
        let robots = try #require(row["robots"]?.string)
        let agent = try #require(row["user_agent"]?.string)
        let url = try #require(row["url"]?.string)
        let allowed = RobotsFile(Array(robots.utf8).span).rules(for: agent).allows(Self.target(url))
        #expect(allowed == (Self.exceptions[line] == nil ? expected : !expected), "robots_test.cc:\(line)")
    }

    @Test(
        arguments: [
            ("directive-typos-robots.txt", "bot1", "/desallow/", false),
            ("directive-typos-robots.txt", "bot1", "/dissalow/", false),
            ("directive-typos-robots.txt", "bot2", "/useragent/", false),
            ("directive-typos-robots.txt", "bot3", "/useg-agent/", false),
            ("directive-typos-robots.txt", "bot4", "/useragent-no-colon/", false),
            ("directive-typos-robots.txt", "bot4", "/useragent/", true),
            ("format-errors-robots.txt", "bot1", "/whitespace-before-colon/", false),
            ("format-errors-robots.txt", "bot1", "/no-colon/", false),
            ("format-errors-robots.txt", "bot2", "/no-colon-useragent/", false),
            ("format-errors-robots.txt", "bot3", "/whitespace-before-colon", true),
            ("format-errors-robots.txt", "bot3", "/x", false),
            ("extended-standard-robots.txt", "bot1", "/x", true),
            ("extended-standard-robots.txt", "bot3", "/x", true),
            ("extension-robots.txt", "mybot", "/private/", false),
            ("extension-robots.txt", "mybot", "/secret/", true),
            ("extension-robots.txt", "otherbot", "/admin/x", false),
            ("extension-robots.txt", "else", "/admin/x", true),
            ("extensions-group-merging.txt", "mybot", "/private/", false),
            ("extensions-group-merging.txt", "yourbot", "/private/", false),
            ("extensions-group-merging.txt", "mybot", "/login/", false),
            ("extensions-group-merging.txt", "yourbot", "/login/", false),
            ("extensions-group-merging.txt", "else", "/llms.txt", true),
            ("extensions-group-merging.txt", "else", "/x", false),
            ("crawl-delay-group-merging.txt", "mybot", "/private/", false),
            ("crawl-delay-group-merging.txt", "yourbot", "/login/", false),
            ("crawl-delay-group-merging.txt", "mybot", "/login/", true),
            ("crawl-delay-group-merging.txt", "else", "/private/", true),
            ("malformed-path.txt", "larder", "/wiki/Wikipedia_talk:Mediation_Committee/", false),
            ("malformed-path.txt", "larder", "/wiki/Wikipedia_talk%3Mediation_Committee/", false),
            ("malformed-path.txt", "larder", "/wiki/x", true),
            ("many-user-agents.txt", "wget", "/", false), ("many-user-agents.txt", "mj12bot", "/", true),
            ("merge-rules.txt", "wget", "/foo/bar", true), ("merge-rules.txt", "wget", "/tmp/bar", false),
            ("merge-rules.txt", "wget", "/x", true),
            ("merge-rules.txt", "curl", "/x", false), ("merge-rules.txt", "else", "/foo/bar", false),
            ("precedence-of-rules.txt", "wget", "/foo", true),
            ("precedence-of-rules.txt", "wget", "/index.html", true),
            ("precedence-of-rules.txt", "wget", "/x", false),
            ("precedence-of-rules.txt", "testy", "/foo/bar", true),
            ("precedence-of-rules.txt", "testy", "/foo/b", false),
            ("rfc9309-example-longest-match-robots.txt", "foobot", "/example/page/", true),
            ("rfc9309-example-longest-match-robots.txt", "foobot", "/example/page/disallowed.gif", false),
            ("rfc9309-example-rule-group-merging.txt", "ExampleBot", "/baz", false),
            ("rfc9309-example-rule-group-merging.txt", "examplebot", "/foo", false),
            ("rfc9309-example-rule-group-merging.txt", "bazbot", "/foo", true),
            ("rfc9309-example-rule-group-merging.txt", "else", "/baz", true),
            ("rfc9309-example-simple-robots.txt", "else", "/a.gif", false),
            ("rfc9309-example-simple-robots.txt", "else", "/publications/x", true),
            ("rfc9309-example-simple-robots.txt", "foobot", "/example/page.html", true),
            ("rfc9309-example-simple-robots.txt", "foobot", "/x", false),
            ("rfc9309-example-simple-robots.txt", "barbot", "/example/page.html", false),
            ("rfc9309-example-simple-robots.txt", "quxbot", "/example/page.html", true),
            ("robots-with-utf16be-bom.txt", "larder", "/profile", false),
            ("robots-with-utf16le-bom.txt", "larder", "/profile", false),
            ("robots-with-utf8-bom.txt", "larder", "/profile", false),
            ("robots-with-utf8-bom.txt", "larder", "/x/output/print", false),
            ("robots-with-utf16le-bom.txt", "Googlebot", "/login.aspx", false),
            ("robots-with-utf16be-bom.txt", "larder", "/x", true),
            ("twitter.com-robots.txt", "Googlebot", "/x?y", false),
            ("twitter.com-robots.txt", "slurp", "/a/with_friends", false),
            ("twitter.com-robots.txt", "Googlebot", "/x", true),
            ("wildcards.txt", "larder", "/gp/cart/x", false),
            ("wildcards.txt", "larder", "/x", true),
            ("sitemap-robots.txt", "larder", "/", true),
            ("www.flot.com-robots.txt", "larder", "/admin/x", false),
        ] as [(String, String, String, Bool)])
    func `the rules of crawler-commons' test files are interpreted correctly`(
        name: String, agent: String, target: String, expected: Bool
    ) throws {
        let bytes = ConformanceData.bytes("robots/files/\(name)")
        try #require(!bytes.isEmpty)
        #expect(RobotsFile(bytes.span).rules(for: agent).allows(target) == expected)
    }

    @Test(
        arguments: [
            ("astore.amazon.com-robots.txt", "larder", 5), ("dos-line-endings.txt", "larder", 1),
            ("crawl-delay-group-merging.txt", "mybot", 10),
            ("crawl-delay-group-merging.txt", "yourbot", nil), ("crawl-delay-group-merging.txt", "else", 30),
            ("twitter.com-robots.txt", "slurp", 1),
            ("twitter.com-robots.txt", "Googlebot", nil),
        ] as [(String, String, Double?)]) func `the delays of crawler-commons' test files are found`(
            name: String, agent: String, expected: Double?
        )
    {
        let file = RobotsFile(ConformanceData.bytes("robots/files/\(name)").span)
        #expect(file.rules(for: agent).crawlDelay == expected)
    }

    @Test(
        arguments: [
            ("relative-sitemap-robots.txt", ["/sitemap.xml"]), ("extension-robots.txt", ["/sitemap.xml"]),
            ("format-errors-robots.txt", ["/sitemap.xml"]),
            ("sitemap-robots-dedup.txt", ["http://example.org/sitemap.xml"]),
            (
                "sitemap-robots.txt",
                [
                    "http://domain.com/sitemap.xml", "http://domain.com/dir/my-sitemap.xml",
                    "http://domain.com/dir/MixedCased-sitemap.xml",
                ]
            ),
            ("robots-with-utf16be-bom.txt", ["http://www.newsweek.com/sitemap_index.xml"]),
            ("www.flot.com-robots.txt", ["http://flot.com/sitemap_index.xml"]),
        ] as [(String, [String])]) func `the sitemaps of crawler-commons' test files are found`(
            name: String, expected: [String]
        )
    {
        #expect(RobotsFile(ConformanceData.bytes("robots/files/\(name)").span).sitemaps == expected)
    }
}
