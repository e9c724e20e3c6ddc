import Reports
import System
import TestOrigin
import Testing
import Web

@testable import Check

@Suite struct LinkFilterTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    private var rulesFile: String { home.file("rules") }

    private func filter(
        _ rules: String = "", today: String = "2026-11-28",
        _ change: (inout LinkCheckOptions) -> Void = { _ in }
    ) throws -> LinkFilter {
        var options = LinkCheckOptions()
        options.ignoreFile = try home.write(rules, to: "rules")
        change(&options)
        return try LinkFilter(options, today: today)
    }

    private func notes(_ filter: LinkFilter) throws -> [String] {
        try filter.finish()
    }

    // MARK: - Rules

    @Test(
        arguments: [
            ("https://a.test/x", "https://a.test/x", "index.html", true),
            ("https://a.test/x", "https://a.test/x/y", "index.html", false),
            ("https://a.test/*", "https://a.test/x/y?z#w", "index.html", true),
            ("https://a.test/*", "https://b.test/", "index.html", false),
            ("*.pdf", "/files/a.pdf", "index.html", true),
            ("https://*/edit/*", "https://a.test/edit/1", "index.html", true),
            ("  https://a.test/x\t\r", "https://a.test/x", "index.html", true),
            ("https://a.test/x#y", "https://a.test/x#y", "index.html", true),
            ("* in docs/archive/*", "/x", "docs/archive/2019/a.html", true),
            ("* in docs/archive/*", "/x", "docs/a.html", false),
            ("/x in a.html", "/y", "a.html", false),
            ("/x until 2026-11-28", "/x", "a.html", true),
            ("/x until 2026-11-27", "/x", "a.html", false),
            ("/x in a.html until 2027-01-31 # reason", "/x", "a.html", true),
            ("/x until 2027-01-31 in a.html", "/x", "b.html", false),
            ("# /x", "/x", "a.html", false),
            ("#/x", "/x", "a.html", false),
            ("\n\n", "/x", "a.html", false),
        ])
    func `a rule ignores matching links of matching documents until its date`(
        rules: String, target: String, document: String, isIgnored: Bool
    ) throws {
        var filter = try filter(rules)
        #expect((filter.reason(toIgnore: target, .dead, in: document) != nil) == isIgnored)
    }

    /// The help says that an asterisk stands for any characters, and nothing about others.
    @Test(arguments: [
        ("https://a.test/?page=1", "https://a.test/?page=1", true),
        ("https://a.test/?page=1", "https://a.test/xpage=1", false),
        ("http://[::1]/*", "http://[::1]/x", true), ("/a[1].png", "/a[1].png", true),
        ("/a[1].png", "/a1.png", false),
        ("/a\\b*", "/a\\b.png", true),
    ])
    func `only the asterisk is special in a pattern`(pattern: String, target: String, isIgnored: Bool) throws
    {
        var filter = try filter { $0.ignores = [pattern] }
        #expect((filter.reason(toIgnore: target, .dead, in: "a.html") != nil) == isIgnored)
    }

    @Test func `the reason is the comment of the rule, else its place`() throws {
        var filter = try filter("# All of them.\n/a #  not ours \n/b\n") { $0.ignores = ["/c*"] }
        #expect(filter.reason(toIgnore: "/a", .dead, in: "x.html") == "not ours")
        #expect(filter.reason(toIgnore: "/b", .blocked, in: "x.html") == "\(rulesFile):3")
        #expect(filter.reason(toIgnore: "/c1", .dead, in: "x.html") == "it matches \"/c*\"")
        #expect(filter.reason(toIgnore: "/d", .dead, in: "x.html") == nil)
        #expect(try notes(filter) == [])
    }

    @Test(arguments: [
        ("https://a.test/ docs", 1, "docs"), ("/x in", 1, "in"), ("/x until", 1, "until"),
        ("/x before 2027-01-01", 1, "before"),
        ("/x in a until # soon", 1, "until"),
    ])
    func `an invalid rule is an error with its line`(rules: String, line: Int, word: String) throws {
        let error = #expect(throws: LarderError.self) { try filter(rules) }
        #expect(error?.kind == .input)
        let help = "write: PATTERN [in PATTERN] [until 2027-01-31] [# reason]"
        #expect(error?.description == "\(rulesFile):\(line): \"\(word)\" is not understood; \(help)")
    }

    @Test(arguments: [
        ("# c\n\n/x until tomorrow", 3, "tomorrow"), ("/x\n/y until 2026-02-30", 2, "2026-02-30"),
        ("/x until 2026-1-1", 1, "2026-1-1"),
    ])
    func `an invalid date is an error with its line`(rules: String, line: Int, date: String) throws {
        let error = #expect(throws: LarderError.self) { try filter(rules) }
        #expect(
            error?.description == "\(rulesFile):\(line): \"\(date)\" is not a date; write it like 2027-01-31")
    }

    @Test func `rules that have ended and rules without a match are noted`() throws {
        var filter = try filter(
            """
            /used
            /ended until 2026-11-27
            /unused
            /later until 2027-01-31
            """
        ) { $0.ignores = ["/option"] }
        for target in ["/used", "/ended", "/other"] {
            _ = filter.reason(toIgnore: target, .dead, in: "a.html")
        }
        #expect(filter.reason(toIgnore: "/ended", .dead, in: "a.html") == nil)
        #expect(
            try notes(filter) == [
                "\(rulesFile):2: the rule ended on 2026-11-27; its links are reported again",
                "\(rulesFile):3: the rule matches no faulty link in this check",
                "\(rulesFile):4: the rule matches no faulty link in this check",
            ])
    }

    @Test func `the first matching rule of many gives the reason`() throws {
        let many = (0..<50_000).map { "https://host\($0).test/* # \($0)" }
        let endings = (0..<500).map { "*.type\($0) # ending \($0)" }
        var filter = try filter((many + endings + ["*part* # part"]).joined(separator: "\n"))
        for (target, reason) in [
            ("https://host7.test/", "7"), ("https://host49999.test/a", "49999"), ("/a.type499", "ending 499"),
            ("https://host3.test/a.type5", "3"), ("/xpartx", "part"), ("https://host8.test", nil),
            ("/a.type", nil),
        ] as [(String, String?)] {
            #expect(filter.reason(toIgnore: target, .dead, in: "a.html") == reason)
        }
    }

    @Test(arguments: [
        ("* in docs/archive/*", "docs/archive/a.html", true), ("** in docs/*", "docs/a.html", true),
        ("* in *", "a.html", true), ("* in docs/*", "a.html", false), ("*", "a.html", true),
    ])
    func `a rule for all links of some documents is found by the document`(
        rule: String, document: String, isIgnored: Bool
    ) throws {
        var filter = try filter("/other in \(document)\n" + rule)
        #expect((filter.reason(toIgnore: "/x", .dead, in: document) != nil) == isIgnored)
    }

    @Test func `too many rules without a fixed beginning are an error`() throws {
        let rules = (0...2000).map { "*/part\($0)/*" }
        let error = #expect(throws: LarderError.self) { try filter(rules.joined(separator: "\n")) }
        #expect(error?.kind == .input)
        #expect(error?.description.contains("*/part2000/*") == true)
    }

    @Test(arguments: [
        ("a.html", "a.html", true), ("a", "a/b.html", true), ("a/", "a/b.html", true),
        ("a/*", "a/b/c.html", true),
        ("b", "a/b/c.html", false), ("*/b", "a/b/c.html", true), ("*.html", "a/b.html", true),
        ("", "a", false),
        ("a", "ab/c.html", false), ("node_modules", "node_modules/x/y.md", true),
    ])
    func `a pattern of paths matches a file or a folder around it`(
        pattern: String, path: String, matches: Bool
    ) {
        #expect(LinkIgnoreRule.matchesPath(pattern, path) == matches)
    }

    @Test func `a missing ignore file is an error`() throws {
        var options = LinkCheckOptions()
        options.ignoreFile = home.file("none")
        let error = #expect(throws: LarderError.self) { try LinkFilter(options) }
        #expect(error?.kind == .input)
        #expect(error?.description.contains(home.file("none")) == true)
    }

    // MARK: - Baselines

    /// The links of a written baseline.
    private func links(_ name: String) throws -> [[String]] {
        let bytes = try WholeFile.read(home.file(name), atMost: 1 << 20)
        let value = try JSONValue.parse(bytes.span)
        let links = try #require(value["links"]?.array)
        return links.map { link in ["document", "target", "verdict"].compactMap { link[$0]?.string } }
    }

    @Test func `a baseline lists faulty links in order, without those that are ignored or not checked`()
        throws
    {
        var filter = try filter("/ignored") { $0.newBaseline = home.file("b.json") }
        for (target, verdict, document) in [
            ("/z", LinkCheckReport.Verdict.dead, "b.html"), ("/z", .dead, "a.html"),
            ("/a", .redirected, "b.html"),
            ("/ignored", .dead, "a.html"), ("https://a.test/", .notChecked, "a.html"),
            ("/z", .dead, "a.html"),
        ] {
            _ = filter.reason(toIgnore: target, verdict, in: document)
        }
        #expect(try notes(filter) == ["3 links written to the baseline \(home.file("b.json"))"])
        #expect(
            try links("b.json") == [
                ["a.html", "/z", "dead"], ["b.html", "/a", "redirected"], ["b.html", "/z", "dead"],
            ])
    }

    @Test func `links of the baseline are ignored, other pages and other verdicts are not`() throws {
        var first = try filter { $0.newBaseline = home.file("b.json") }
        #expect(first.reason(toIgnore: "/gone", .dead, in: "a.html") == nil)
        #expect(first.reason(toIgnore: "/moved", .redirected, in: "a.html") == nil)
        _ = try notes(first)
        var second = try filter {
            $0.baseline = home.file("b.json")
            $0.newBaseline = home.file("b.json")
        }
        #expect(second.reason(toIgnore: "/gone", .dead, in: "a.html") == "it is in the baseline")
        #expect(second.reason(toIgnore: "/gone", .dead, in: "new.html") == nil)
        #expect(second.reason(toIgnore: "/moved", .dead, in: "a.html") == nil)
        // The new baseline lists the links that are faulty now.
        #expect(try notes(second) == ["3 links written to the baseline \(home.file("b.json"))"])
        #expect(
            try links("b.json") == [
                ["a.html", "/gone", "dead"], ["a.html", "/moved", "dead"], ["new.html", "/gone", "dead"],
            ])
    }

    @Test(arguments: ["", "x", "[]", "{}", "{\"links\": 1}", "{\"bundles\": []}"])
    func `another file is not a baseline`(text: String) throws {
        let path = try home.write(text, to: "b.json")
        let error = #expect(throws: LarderError.self) { try filter { $0.baseline = path } }
        #expect(error?.kind == .input)
        #expect(error?.description == "\(path) is not a baseline; write a new one")
    }

    @Test func `a missing baseline is an error`() throws {
        let error = #expect(throws: LarderError.self) { try filter { $0.baseline = home.file("none") } }
        #expect(error?.kind == .input)
        #expect(error?.description.hasSuffix("; name an existing file") == true)
    }
}
