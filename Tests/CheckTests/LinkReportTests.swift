import Reports
import Testing
import Web

@testable import Check
@testable import LarderKit

/// The text of each format, for one report and for two.
@Suite struct LinkReportTests {
    private static func place(
        _ document: String, _ line: Int, _ column: Int, _ reference: String, _ kind: String = "page"
    )
        -> LinkCheckReport.Place
    {
        .init(document: document, line: line, column: column, kind: kind, reference: reference)
    }

    private static let report: LinkCheckReport = {
        var report = LinkCheckReport(name: "dist")
        (report.documentCount, report.linkCount, report.verifiedCount) = (3, 1007, 1002)
        report.notes = ["1 link with data-larder-ignore not checked"]
        report.findings = [
            .init(
                target: "/gone.html", .dead, "the file does not exist", isInternal: true,
                places: [
                    place("dist/a.html", 2, 9, "gone.html"), place("dist/b, c.html", 2, 9, "gone.html"),
                    place("dist/d.html", 2, 9, "/gone.html"), place("dist/e.html", 2, 9, "/gone.html"),
                ], placeCount: 25),
            .init(
                target: "/about.html#team", .fragmentMissing,
                "about.html has no element with the id \"team\"",
                isInternal: true, places: [place("dist/a.html", 3, 10, "about.html#team")], placeCount: 1),
            .init(
                target: "https://a.test/a|b?<c>&d", .redirected, "moved permanently to https://a.test/b",
                isInternal: false,
                places: [place("dist/a.html", 4, 1, "https://a.test/a|b?<c>&amp;d", "image")], placeCount: 1),
            .init(
                target: "https://b.test/", .notChecked, "it is on another site", isInternal: false,
                places: [], placeCount: 2),
            .init(target: "/old", .ignored, "archive", isInternal: true, places: [], placeCount: 0),
        ]
        return report
    }()

    private static let clean: LinkCheckReport = {
        var report = LinkCheckReport(name: "README.md")
        (report.documentCount, report.linkCount, report.verifiedCount) = (1, 1, 1)
        return report
    }()

    private static let bundles = CheckReport(
        subject: .manifest("m.json"), places: ["live"],
        items: [
            .init(
                name: "/a.js", line: 1, isRequired: true, chain: [],
                findings: [.init(url: "https://a.test/a.js", verdict: .verified, detail: nil)]),
            .init(
                name: "/b.js", line: 2, isRequired: true, chain: [],
                findings: [
                    .init(url: "https://a.test/b.js", verdict: .missing, detail: "the server answered 404")
                ]),
        ], failsOn: CheckReport.usualFailures)

    private static let summary =
        "1002 verified, 1 ignored, 1 not-checked, 1 redirected, 1 fragment-missing, 1 dead"

    // MARK: - Counts

    @Test func `only the chosen verdicts fail a check`() {
        for (verdicts, isClean) in [
            (LinkCheckReport.usualFailures, false), ([.dead], false), ([.redirected], false),
            ([.blocked, .failed], true),
            ([], true),
        ] {
            var report = Self.report
            report.failsOn = verdicts
            #expect(report.isClean == isClean)
        }
        #expect(Self.clean.isClean)
        #expect(Self.report.findings.map(Self.report.fails) == [true, true, false, false, false])
        #expect(Self.report.count(.verified) == 1002)
        #expect(Self.report.count(.dead) == 1)
        #expect(Self.report.count(.blocked) == 0)
    }

    @Test func `a later verdict is worse`() {
        let worst: [LinkCheckReport.Verdict] = [
            .verified, .redirected, .blocked, .failed, .timedOut, .fragmentMissing, .dead,
        ]
        #expect(worst.map(\.severity) == worst.map(\.severity).sorted())
    }

    @Test func `a report without findings has one case that passes`() {
        let junit = Self.clean.text(as: .junit)
        #expect(junit.contains("<testsuite name=\"links\" tests=\"1\" failures=\"0\" errors=\"0\""))
        #expect(
            junit.contains("<testcase name=\"all links of README.md\" classname=\"README.md\" time=\"0\"/>"))
        #expect(Self.clean.text(as: .sarif).contains("\"results\": []"))
        #expect(!Self.clean.text(as: .markdown).contains("| Verdict |"))
        var ignored = Self.clean
        ignored.findings = [.init(target: "/x", .ignored, "old", isInternal: true, places: [], placeCount: 0)]
        #expect(ignored.text(as: .tap).hasSuffix("\nok 1 - all links of README.md"))
    }

    @Test func `equal links of a document have fingerprints of their own, which do not depend on lines`()
        throws
    {
        func fingerprints(_ places: [LinkCheckReport.Place]) throws -> [String] {
            var report = Self.clean
            report.findings = [
                .init(target: "/x", .dead, "gone", isInternal: true, places: places, placeCount: places.count)
            ]
            let value = try JSONValue.parse(report.text(as: .sarif).utf8.span)
            let results = value["runs"]?.array?.first?["results"]?.array ?? []
            return results.compactMap { $0["partialFingerprints"]?["larderLink/v1"]?.string }
        }
        let first = try fingerprints([
            Self.place("a.md", 1, 1, "x"), Self.place("a.md", 2, 1, "x"), Self.place("b.md", 1, 1, "x"),
        ])
        #expect(Set(first).count == 3)
        let later = try fingerprints([
            Self.place("a.md", 7, 1, "x"), Self.place("a.md", 9, 3, "x"), Self.place("b.md", 8, 1, "x"),
        ])
        #expect(first == later)
    }

    // MARK: - Text

    @Test func `text has a group for each verdict, with the worst one at the end`() {
        #expect(
            Self.report.text(as: .text) == """
                Moved permanently; update the links (1)
                  https://a.test/a|b?<c>&d: moved permanently to https://a.test/b
                    dist/a.html:4:1

                The page exists, but the fragment does not (1)
                  /about.html#team: about.html has no element with the id "team"
                    dist/a.html:3:10

                Dead (1)
                  /gone.html: the file does not exist
                    dist/a.html:2:9
                    dist/b, c.html:2:9
                    dist/d.html:2:9
                    and 22 other places

                note: 1 link with data-larder-ignore not checked
                dist: 1,007 links in 3 documents: \(Self.summary)
                """)
        #expect(Self.clean.text(as: .text) == "README.md: 1 link in 1 document: 1 verified")
        #expect(LinkCheckReport(name: "dist").text(as: .text) == "dist: 0 links in 0 documents: no links")
    }

    @Test(arguments: [(LinkCheckReport.Verdict.redirected, true), (.dead, false)])
    func `text lists only some of the links that do not fail the check`(
        verdict: LinkCheckReport.Verdict, isShort: Bool
    ) {
        var report = LinkCheckReport(name: "dist")
        report.findings = (10..<22).map {
            .init(
                target: "/\($0)", verdict, "x", isInternal: true, places: [Self.place("a.html", $0, 1, "")],
                placeCount: 1)
        }
        let text = report.text(as: .text)
        #expect(text.contains("\n  /19: x\n    a.html:19:1\n"))
        #expect(text.contains("\n  and 2 more; the JSON report lists all\n") == isShort)
        #expect(text.contains("\n  /20: x\n") == !isShort)
    }

    @Test func `control characters are escaped in text`() {
        var report = LinkCheckReport(name: "di\u{1b}st")
        report.findings = [
            .init(
                target: "/\u{1b}[31m", .dead, "x\ny", isInternal: true,
                places: [Self.place("a\n::error::.html", 1, 1, "")], placeCount: 1)
        ]
        #expect(
            report.text(as: .text) == #"""
                Dead (1)
                  /\u{1b}[31m: x\ny
                    a\n::error::.html:1:1

                di\u{1b}st: 0 links in 0 documents: 1 dead
                """#)
    }

    // MARK: - Markdown, GitHub, TAP

    @Test func `Markdown has a table with failures first`() {
        #expect(
            Self.report.text(as: .markdown) == #"""
                ### ❌ larder check: dist

                1,007 links: 1002 verified, 1 ignored, 1 not-checked, 1 redirected, 1 fragment-missing, 1 dead

                | Verdict | Item | Reason | Where |
                | --- | --- | --- | --- |
                | **dead** | /gone.html | the file does not exist | dist/a.html:2:9 |
                | **dead** | /gone.html | the file does not exist | dist/b, c.html:2:9 |
                | **dead** | /gone.html | the file does not exist | dist/d.html:2:9 |
                | **dead** | /gone.html | the file does not exist | dist/e.html:2:9 |
                | **fragment-missing** | /about.html#team | about.html has no element with the id "team" | dist/a.html:3:10 |
                | redirected | https://a.test/a\|b?&lt;c&gt;&amp;d | moved permanently to https://a.test/b | dist/a.html:4:1 |
                """#)
        #expect(
            Self.clean.text(as: .markdown) == """
                ### ✅ larder check: README.md

                1 link: 1 verified
                """)
    }

    @Test func `GitHub output has an annotation for each place`() {
        #expect(
            Self.report.text(as: .github) == """
                ::error file=dist/a.html,line=2,col=9,title=larder check%3A dead::/gone.html: dead: the file does not exist
                ::error file=dist/b%2C c.html,line=2,col=9,title=larder check%3A dead::/gone.html: dead: the file does not exist
                ::error file=dist/d.html,line=2,col=9,title=larder check%3A dead::/gone.html: dead: the file does not exist
                ::error file=dist/e.html,line=2,col=9,title=larder check%3A dead::/gone.html: dead: the file does not exist
                ::error file=dist/a.html,line=3,col=10,title=larder check%3A fragment-missing::/about.html#team: \
                fragment-missing: about.html has no element with the id "team"
                ::notice file=dist/a.html,line=4,col=1,title=larder check%3A redirected::https://a.test/a|b?<c>&d: \
                redirected: moved permanently to https://a.test/b
                ::notice title=larder check::dist: 1,007 links: \(Self.summary)
                """)
        #expect(
            Self.clean.text(as: .github) == "::notice title=larder check::README.md: 1 link: 1 verified")
    }

    @Test func `TAP has a point for each place`() {
        let lines = Self.report.text(as: .tap).split(separator: "\n").map(String.init)
        #expect(
            lines.prefix(8) == [
                "TAP version 14", "1..6", "not ok 1 - dist/a.html: /gone.html", "  ---",
                "  verdict: \"dead\"",
                "  url: \"/gone.html\"", "  message: \"the file does not exist\"",
                "  at: \"dist/a.html:2:9\"",
            ])
        #expect(
            lines.filter { $0.hasPrefix("ok") || $0.hasPrefix("not ok") }.suffix(2) == [
                "not ok 5 - dist/a.html: /about.html\\#team",
                "ok 6 - dist/a.html: https://a.test/a|b?<c>&d # SKIP redirected: moved permanently to https://a.test/b",
            ])
        #expect(Self.clean.text(as: .tap) == "TAP version 14\n1..1\nok 1 - all links of README.md")
    }

    // MARK: - JSON

    @Test func `JSON has every finding`() throws {
        #expect(Self.report.text(as: .json) == Self.report.json)
        let json = try JSONValue.parse(Self.report.json.utf8.span)
        #expect(json["target"]?.string == "dist")
        #expect(json["clean"]?.bool == false)
        #expect(json["documents"]?.int == 3)
        #expect(json["links"]?.int == 1007)
        #expect(json["counts"]?["verified"]?.int == 1002)
        #expect(json["counts"]?["fragment-missing"]?.int == 1)
        #expect(json["counts"]?["timed-out"]?.int == 0)
        #expect(json["failOn"]?.array?.compactMap(\.string) == ["fragment-missing", "dead"])
        #expect(json["notes"]?.array?.compactMap(\.string) == Self.report.notes)
        let findings = try #require(json["findings"]?.array)
        #expect(findings.compactMap { $0["url"]?.string } == Self.report.findings.map(\.target))
        #expect(
            findings.compactMap { $0["verdict"]?.string } == [
                "dead", "fragment-missing", "redirected", "not-checked", "ignored",
            ])
        #expect(findings.compactMap { $0["internal"]?.bool } == [true, true, false, false, true])
        #expect(findings.first?["detail"]?.string == "the file does not exist")
        #expect(findings.first?["placeCount"]?.int == 25)
        #expect(findings.first?["places"]?.array?.count == 4)
        let place = try #require(findings[2]["places"]?[0])
        #expect(place["document"]?.string == "dist/a.html")
        #expect(place["line"]?.int == 4)
        #expect(place["column"]?.int == 1)
        #expect(place["kind"]?.string == "image")
        #expect(place["reference"]?.string == "https://a.test/a|b?<c>&amp;d")
        let clean = try JSONValue.parse(Self.clean.json.utf8.span)
        #expect(clean["clean"]?.bool == true)
        #expect(clean["findings"]?.array?.isEmpty == true)
        #expect(clean["notes"] == nil)
    }

    // MARK: - SARIF

    @Test(arguments: [report, clean])
    func `SARIF has every member that its schema requires`(report: LinkCheckReport) throws {
        let log = try JSONValue.parse(report.text(as: .sarif).utf8.span)
        #expect(log["version"]?.string == "2.1.0")
        #expect(log["runs"]?.array?.count == 1)
        let run = try #require(log["runs"]?[0])
        let rules = try #require(run["tool"]?["driver"]?["rules"]?.array)
        #expect(rules.count == LinkCheckReport.Verdict.allCases.count - 1)
        for rule in rules {
            #expect(rule["id"]?.string != nil)
            #expect(rule["shortDescription"]?["text"]?.string?.isEmpty == false)
            let level = try #require(rule["defaultConfiguration"]?["level"]?.string)
            #expect(["error", "warning", "note"].contains(level))
            #expect((level == "error") == ["dead", "fragment-missing"].contains(rule["id"]?.string))
        }
        let results = try #require(run["results"]?.array)
        #expect(results.count == (report.isClean ? 0 : 6))
        for result in results {
            let index = try #require(result["ruleIndex"]?.int)
            #expect(rules[index]["id"] == result["ruleId"])
            #expect(result["partialFingerprints"]?["larderLink/v1"]?.string != nil)
            let uri = try #require(
                result["locations"]?[0]?["physicalLocation"]?["artifactLocation"]?["uri"]?.string)
            #expect(uri.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
        }
    }

    @Test func `SARIF has the place, the level and the reason of a link`() throws {
        let log = try JSONValue.parse(Self.report.text(as: .sarif).utf8.span)
        let results = try #require(log["runs"]?[0]?["results"]?.array)
        let place = try #require(results[1]["locations"]?[0]?["physicalLocation"])
        #expect(place["artifactLocation"]?["uri"]?.string == "dist/b%2C%20c.html")
        #expect(place["region"]?["startLine"]?.int == 2)
        #expect(place["region"]?["startColumn"]?.int == 9)
        #expect(results[1]["message"]?["text"]?.string == "/gone.html: dead: the file does not exist")
        #expect(
            results.compactMap { $0["level"]?.string } == [
                "error", "error", "error", "error", "error", "note",
            ])
        #expect(
            results.compactMap { $0["ruleId"]?.string } == [
                "dead", "dead", "dead", "dead", "fragment-missing", "redirected",
            ])
        // The same link in another document is another result.
        let fingerprints = results.compactMap { $0["partialFingerprints"]?["larderLink/v1"]?.string }
        #expect(Set(fingerprints).count == 6)
    }

    // MARK: - JUnit

    @Test func `JUnit has a case for each place`() {
        var report = Self.report
        report.findings = Array(Self.report.findings[1...2])
        #expect(
            report.text(as: .junit) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites name="larder check" tests="2" failures="1" errors="0" time="0">
                  <testsuite name="links" tests="2" failures="1" errors="0" time="0" skipped="1">
                    <testcase name="dist/a.html: /about.html#team" classname="dist" time="0">
                      <failure message="fragment-missing: about.html has no element with the id &quot;team&quot;" \
                type="fragment-missing">/about.html#team&#10;fragment-missing: about.html has no element with the id \
                &quot;team&quot;&#10;dist/a.html:3:10</failure>
                    </testcase>
                    <testcase name="dist/a.html: https://a.test/a|b?&lt;c&gt;&amp;d" classname="dist" time="0">
                      <skipped message="redirected: moved permanently to https://a.test/b"/>
                    </testcase>
                  </testsuite>
                </testsuites>
                """)
    }

    // MARK: - Two reports

    private static let both = CheckReports([.check(bundles), .links(report)])

    @Test func `reports are clean if each of them is`() {
        #expect(!Self.both.isClean)
        #expect(!CheckReports([.check(Self.bundles), .links(Self.clean)]).isClean)
        #expect(!CheckReports([.links(Self.clean), .links(Self.report)]).isClean)
        #expect(CheckReports([.links(Self.clean)]).isClean)
    }

    @Test(arguments: [ReportFormat.text, .github])
    func `lines of two reports follow each other`(format: ReportFormat) {
        #expect(
            Self.both.text(as: format) == Self.bundles.text(as: format) + "\n" + Self.report.text(as: format))
    }

    @Test func `Markdown of two reports has two sections`() {
        #expect(
            Self.both.text(as: .markdown)
                == Self.bundles.text(as: .markdown) + "\n\n" + Self.report.text(as: .markdown))
    }

    @Test func `JSON of two reports is an object with the list of checks`() throws {
        let json = try JSONValue.parse(Self.both.text(as: .json).utf8.span)
        #expect(json["clean"]?.bool == false)
        let checks = try #require(json["checks"]?.array)
        #expect(checks.count == 2)
        #expect(checks[0]["manifest"]?.string == "m.json")
        #expect(checks[0]["bundles"]?.array?.count == 2)
        #expect(checks[1]["target"]?.string == "dist")
        #expect(checks[1]["findings"]?.array?.count == 5)
        #expect(CheckReports([.links(Self.report)]).text(as: .json) == Self.report.json)
        #expect(CheckReports([.check(Self.bundles)]).text(as: .json) == Self.bundles.json)
    }

    @Test func `JUnit of two reports is one document`() {
        let text = Self.both.text(as: .junit)
        #expect(text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites"))
        #expect(text.components(of: "<?xml") == 1)
        #expect(text.components(of: "<testsuites ") == 1)
        #expect(
            text.contains(
                "<testsuites name=\"larder check\" tests=\"8\" failures=\"6\" errors=\"0\" time=\"0\">"))
        #expect(
            text.contains(
                "<testsuite name=\"live\" tests=\"2\" failures=\"1\" errors=\"0\" time=\"0\" skipped=\"0\">"))
        #expect(
            text.contains(
                "<testsuite name=\"links\" tests=\"6\" failures=\"5\" errors=\"0\" time=\"0\" skipped=\"1\">")
        )
        #expect(text.hasSuffix("</testsuites>"))
    }

    @Test func `TAP of two reports has one plan`() {
        let lines = Self.both.text(as: .tap).split(separator: "\n").map(String.init)
        #expect(lines.prefix(4) == ["TAP version 14", "1..8", "ok 1 - /a.js", "not ok 2 - /b.js"])
        #expect(lines.count { $0.hasPrefix("1..") } == 1)
        let points = lines.filter { $0.hasPrefix("ok ") || $0.hasPrefix("not ok ") }
        #expect(points.count == 8)
        #expect(points[2] == "not ok 3 - dist/a.html: /gone.html")
        #expect(points[7].hasPrefix("ok 8 - "))
    }

    /// GitHub rejects a file in which two runs of one tool have the same category, which is the id of `automationDetails`.
    @Test func `SARIF of two reports has two runs with their own rules and categories`() throws {
        let log = try JSONValue.parse(Self.both.text(as: .sarif).utf8.span)
        let runs = try #require(log["runs"]?.array)
        #expect(runs.count == 2)
        #expect(runs[0]["results"]?.array?.count == 1)
        #expect(runs[0]["results"]?[0]?["ruleId"]?.string == "missing")
        #expect(runs[1]["results"]?.array?.count == 6)
        #expect(runs[1]["results"]?[0]?["ruleId"]?.string == "dead")
        for run in runs {
            let rules = try #require(run["tool"]?["driver"]?["rules"]?.array)
            for result in run["results"]?.array ?? [] {
                let index = try #require(result["ruleIndex"]?.int)
                #expect(rules[index]["id"] == result["ruleId"])
            }
        }
        let categories = runs.compactMap { $0["automationDetails"]?["id"]?.string }
        #expect(Set(categories).count == 2)
    }

    @Test(arguments: ReportFormat.allCases)
    func `no report at all is valid in every format`(format: ReportFormat) throws {
        let empty = CheckReports([])
        #expect(empty.isClean)
        if format == .json || format == .sarif { _ = try JSONValue.parse(empty.text(as: format).utf8.span) }
    }
}

extension String {
    /// The number of times that a text occurs.
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
