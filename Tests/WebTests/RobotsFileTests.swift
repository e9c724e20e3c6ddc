import Testing

@testable import Web

struct RobotsRulesTests {
    private static func allows(_ robots: String, _ target: String, agent: String = "larder") -> Bool {
        RobotsFile(Array(robots.utf8).span).rules(for: agent).allows(target)
    }

    @Test(
        arguments: [
            ("Disallow: /a", "/a", true), ("User-agent: *\nDisallow: /a", "/a/b", false),
            ("User-agent: *\nDisallow: /a", "/A", true),
            ("User-agent: *\nDisallow:", "/", true), ("User-agent: *\nDisallow: /", "/robots.txt", true),
            ("User-agent: *\nDisallow: /", "", false),
            ("User-agent: *\nDisallow: /\nUser-agent: Larder/2\nAllow: /", "/", true),
            ("User-agent: *\nDisallow: /\nUser-agent: lard\nAllow: /", "/", false),
            ("User-agent: *\nDisallow: /\nUser-agent: larder", "/", true),
            ("User-agent: *\nDisallow: /\nUser-agent: larders\nAllow: /", "/", false),
            (
                "User-agent: larder\nDisallow: /a\n\nUser-agent: x\nUser-agent: LARDER\nDisallow: /b", "/a",
                false
            ),
            (
                "User-agent: larder\nDisallow: /a\n\nUser-agent: x\nUser-agent: LARDER\nDisallow: /b", "/b",
                false
            ),
            ("User-agent: * # all\nDisallow: /a # not this", "/a", false),
            ("User-agent: *bot\nDisallow: /", "/", true),
            ("\u{FEFF}User-agent: *\rDisallow: /a\r\nDisallow: /b", "/b", false),
            ("useragent *\ndissalow /a", "/a", false),
            ("User-agent: *\nDisallow: /a b", "/a%20b", false), ("User-agent: *\nDisallow /a b", "/a", true),
            ("User-agent: *\nDisallow: a", "/a", true), ("User-agent: *\nDisallow: *", "/x", false),
            ("User-agent: *\nDisallow: *x*", "/axb", false),
        ] as [(String, String, Bool)]) func `user agents are matched to groups and records`(
            robots: String, target: String, expected: Bool
        )
    {
        #expect(Self.allows(robots, target) == expected)
    }

    @Test(
        arguments: [
            ("/a*c", "/abc", true), ("/a*c", "/ac", true), ("/a*c", "/ab", false), ("/a*c", "/abcd", true),
            ("/a*c$", "/abcd", false),
            ("/a*c$", "/acc", true), ("/a*b*c", "/axbxcx", true), ("/a*b*c", "/acb", false),
            ("/$", "/", true),
            ("/$", "/a", false), ("/a$b", "/a$b", true),
            ("/a$b", "/a", false), ("/a%24", "/a$", true), ("/a$", "/a$", false), ("/a%2A", "/a*b", true),
            ("/a%2A", "/ab", false), ("*.gif$", "/x/y.gif", true),
            ("*.gif$", "/x/y.gif?z", false), ("*$", "/x", true), ("$", "/", false), ("/**a**", "/xa", true),
            ("/*ab$", "/abab", true), ("/*aab", "/aaab", true),
            ("/ab*bc", "/abc", false), ("/ab*b$", "/ab", false), ("/é", "/%c3%A9x", true),
            ("/%7Ejoe/", "/~joe/", true),
            ("/~joe/", "/%7ejoe/", true),
            ("/a%2fb", "/a/b", false), ("/a%2fb", "/a%2Fb", true), ("/a%3Mb", "/a%3Mb", true),
            ("/a%3Mb", "/a:b", false), ("/a%", "/a%", true), ("/a?b", "/a?b=c", true),
            ("/%62%61%7A", "/baz", true), ("/a\"b'c", "/a%22b%27c", true), ("/*/*/x", "/a/b/c/x", true),
        ] as [(String, String, Bool)]) func `a pattern matches a path`(
            pattern: String, target: String, expected: Bool
        )
    {
        #expect(Self.allows("User-agent: *\nDisallow: \(pattern)", target) == !expected)
    }

    @Test(
        arguments: [
            ("Disallow: /a\nAllow: /a/b", "/a/bc", true), ("Allow: /a\nDisallow: /a/b", "/a/bc", false),
            ("Disallow: /a\nAllow: /a", "/a", true),
            ("Allow: /p\nDisallow: /", "/page", true),
            ("Allow: /folder\nDisallow: /folder", "/folder/x", true),
            ("Allow: /page\nDisallow: /*.htm", "/page.htm", false),
            ("Allow: /page\nDisallow: /*.ph", "/page.php5", true),
            ("Disallow: /\nAllow: /d/index.html", "/d/", true),
            ("Disallow: /\nAllow: /d/index.html", "/d/x", false),
            ("Allow: /\nDisallow: /d/index.html", "/d/", true),
        ] as [(String, String, Bool)]) func `the longest matching pattern decides, and Allow wins a tie`(
            rules: String, target: String, expected: Bool
        )
    {
        #expect(Self.allows("User-agent: *\n\(rules)", target) == expected)
    }

    @Test func `the deciding rule is reported with its line`() throws {
        let rules = RobotsFile(Array("# x\r\nUser-agent: *\r\nAllow: /\r\nDisallow: /a*é # no".utf8).span)
            .rules(
                for: "larder")
        let rule = try #require(rules.decidingRule(for: "/ab%C3%A9"))
        #expect(rule.description == "Disallow: /a*é (line 4)")
        #expect(rules.decidingRule(for: "/b")?.line == 3)
        let nothing = RobotsFile(Array("User-agent: *\nDisallow: /".utf8).span).rules(for: "larder")
        #expect(nothing.allows("/robots.txt"))
        #expect(!nothing.allows("/x"))
        #expect(RobotsRules.allowsAll.allows("/x"))
    }

    @Test(
        arguments: [
            ("User-agent: larder\nCrawl-delay: 2.5", 2.5), ("User-agent: *\nCrawl-delay: 3s", 3),
            ("Crawl-delay: 3", nil), ("User-agent: *\nCrawl-delay: .5", 0.5),
            ("User-agent: *\nCrawl-delay: -1", nil), ("User-agent: *\nCrawl-delay: x", nil),
            ("User-agent: *\nCrawl-delay: 99999999999999999999", 0x1p31),
            ("User-agent: *\nCrawl-delay: 1\nUser-agent: larder\nAllow: /", 1),
            ("User-agent: *\nCrawl-delay: 1\nDisallow: /\nUser-agent: larder", nil),
            ("User-agent: *\nCrawl-delay: 1\nDisallow: /a\nUser-agent: *\nCrawl-delay: 4\nCrawl-delay: 2", 4),
            ("User-agent: x\nCrawl-delay: 1\nUser-agent: larder\nDisallow: /", nil),
        ] as [(String, Double?)]) func `a crawl delay applies to the agents named above it`(
            robots: String, expected: Double?
        )
    {
        let named = "User-agent: *\nCrawl-delay: 1\nUser-agent: larder\nAllow: /"
        let agent = robots == named ? "other" : "larder"
        #expect(RobotsFile(Array(robots.utf8).span).rules(for: agent).crawlDelay == expected)
    }

    @Test func `many wildcards are matched in linear time`() {
        let stars = "User-agent: *\nDisallow: /" + String(repeating: "*a", count: 8000) + "b$"
        #expect(Self.allows(stars, "/" + String(repeating: "a", count: 60_000)))
        let run = "User-agent: *\nDisallow: /*" + String(repeating: "a", count: 16_000) + "b"
        #expect(Self.allows(run, "/" + String(repeating: "a", count: 60_000)))
    }

    @Test func `many groups are parsed in linear time`() {
        let agents = (0..<15_000).map { "User-agent: a\($0)\n" }.joined()
        let delays = String(repeating: "Crawl-delay: 1\n", count: 10_000)
        let file = RobotsFile(Array((agents + delays + "Disallow: /x").utf8).span)
        #expect(file.rules(for: "a14999").crawlDelay == 1)
        #expect(!file.rules(for: "a0").allows("/x"))
    }

    @Test func `only the complete lines of the first 500 KiB count`() {
        let head = "User-agent: *\nDisallow: /first\n"
        let filler = String(repeating: "#", count: RobotsFile.maxBytes - head.utf8.count - 20) + "\n"
        let file = RobotsFile(
            Array((head + filler + "Disallow: /secret/but/cut\nDisallow: /later").utf8).span)
        #expect(file.isTruncated)
        let rules = file.rules(for: "larder")
        #expect(!rules.allows("/first"))
        #expect(rules.allows("/secret/but/cut"))
        #expect(rules.allows("/later"))
    }

    @Test func `any bytes are read without harm`() {
        let seed = Array(
            "User-agent: *\nDisallow: /a*b%41$\r\nCrawl-delay: 1.5\rSitemap: http://a/s.xml\nAllow: /é\u{0}"
                .utf8)
        var random = TestRandom(seed: 3)
        for round in 0..<3000 {
            var bytes = round % 3 == 0 ? [0xFF, 0xFE] + seed : seed
            for _ in 0..<6 {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0...8, using: &random))
            let rules = RobotsFile(bytes.span).rules(for: "larder")
            let target = String(decoding: bytes.prefix(20), as: UTF8.self)
            #expect(rules.allows(target) == (rules.decidingRule(for: target)?.isAllow ?? true))
        }
    }
}
