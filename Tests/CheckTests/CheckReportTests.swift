import Testing
import Web

@testable import Check
@testable import LarderKit

/// The exact text of each format, for a report with all characters that must be escaped.
@Suite struct CheckReportTests {
    private static let report = CheckReport(
        subject: .manifest("mani fests/a,b.json"), places: ["live"],
        items: [
            .init(
                name: "/a.js", line: 2, isRequired: true, chain: [],
                findings: [.init(url: "https://a.test/a.js", verdict: .verified, detail: nil)]),
            .init(
                name: "/b.js?x=1&y=<2>#\\", line: 3, isRequired: true, chain: [],
                findings: [
                    .init(
                        url: "https://a.test/b.js?x=1&y=%3C2%3E", verdict: .mismatch,
                        detail: "expected MD5 \"1\",\r\nfound 100% \u{1}")
                ]),
            .init(
                name: "/c.js", line: nil, isRequired: false, chain: [],
                findings: [
                    .init(url: "https://a.test/c.js", verdict: .missing, detail: "the server answered 404")
                ]),
            .init(
                name: "/d.js", line: 5, isRequired: true, chain: [],
                findings: [.init(url: "https://a.test/d.js", verdict: .unverifiable, detail: "no digest")]),
        ], failsOn: [.mismatch, .missing])

    private static let site = CheckReport(
        subject: .site("https://a.test/"), places: ["stored"],
        items: [
            .init(
                name: "https://a.test/", line: nil, isRequired: true, chain: [],
                findings: [.init(url: "https://a.test/", verdict: .verified, detail: nil)]),
            .init(
                name: "https://a.test/b.png", line: nil, isRequired: true,
                chain: ["https://a.test/", "https://a.test/2"],
                findings: [
                    .init(
                        url: "https://a.test/b.png", verdict: .missing, detail: "it is not stored")
                ]
            ),
        ], failsOn: [.mismatch, .missing])

    private static let compared = CheckReport(
        subject: .manifest("m.json"), places: ["https://s.test/", "https://p.test/"],
        items: [
            .init(
                name: "/a.js", line: 1, isRequired: true, chain: [],
                findings: [
                    .init(url: "https://s.test/a.js", verdict: .verified, detail: nil),
                    .init(url: "https://p.test/a.js", verdict: .mismatch, detail: "another"),
                ])
        ], failsOn: [.mismatch, .missing])

    private static let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"

    /// A report on a signed manifest. The second bundle is verified by an MD5 only.
    private static let signed: CheckReport = {
        var items: [CheckReport.Item] = []
        for (name, algorithm) in [("/a.js", "sha256"), ("/b.js", "md5")] {
            var finding = CheckReport.Finding(
                url: "https://a.test\(name)", verdict: .verified, detail: nil, algorithm: algorithm)
            finding.manifestSigner = key
            items.append(.init(name: name, line: 1, isRequired: true, chain: [], findings: [finding]))
        }
        var report = CheckReport(
            subject: .manifest("m.json"), places: ["live"], items: items, failsOn: [.mismatch])
        report.signer = key
        return report
    }()

    @Test func `every format names the digest that verified a bundle, and the key that signed its manifest`()
        throws
    {
        let fingerprint = "RWQf6LRCGA9i53ml…73Y7GFO3"
        let summary = "sha256 (1), md5 (1), signed by \(fingerprint)"
        #expect(
            Self.signed.text(as: .text) == """
                verified https://a.test/a.js: sha256, signed by \(fingerprint)
                verified https://a.test/b.js: md5, signed by \(fingerprint)
                note: 1 bundle verified by MD5, which detects damage, but not an attack
                the manifest is signed by \(Self.key)
                m.json: 2 verified
                """)
        let json = try JSONValue.parse(Self.signed.text(as: .json).utf8.span)
        #expect(json["signer"]?.string == Self.key)
        #expect(json["bundles"]?[0]?["algorithm"]?.string == "sha256")
        #expect(json["bundles"]?[0]?["signer"]?.string == Self.key)
        #expect(
            Self.signed.text(as: .junit).contains(
                """
                    <testcase name="/a.js" classname="m.json" time="0">
                      <system-out>verified: sha256, signed by \(fingerprint)</system-out>
                    </testcase>

                """))
        #expect(
            Self.signed.text(as: .tap) == """
                TAP version 14
                1..2
                ok 1 - /a.js
                  ---
                  algorithm: "sha256"
                  signer: "\(Self.key)"
                  ...
                ok 2 - /b.js
                  ---
                  algorithm: "md5"
                  signer: "\(Self.key)"
                  ...
                """)
        #expect(
            Self.signed.text(as: .github)
                == "::notice title=larder check::m.json: 2 verified; verified by \(summary)")
        #expect(Self.signed.text(as: .markdown).hasSuffix("\n\n2 verified\n\nVerified by \(summary)"))
        let run = try JSONValue.parse(Self.signed.text(as: .sarif).utf8.span)["runs"]?[0]
        #expect(run?["properties"]?["signer"]?.string == Self.key)
        #expect(run?["properties"]?["verifiedBy"]?["sha256"]?.int == 1)
        #expect(run?["results"]?.array?.isEmpty == true)
    }

    @Test func `several places share a line about what verified their bundles`() {
        let finding = CheckReport.Finding(
            url: "https://a.test/a.js", verdict: .verified, detail: nil, algorithm: "sha384")
        let report = CheckReport(
            subject: .manifest("m.json"), places: ["live", "dist"],
            items: [
                .init(name: "/a.js", line: 1, isRequired: true, chain: [], findings: [finding, finding])
            ],
            failsOn: [.mismatch])
        #expect(
            report.text(as: .text) == """
                bundle  live          dist
                /a.js   verified      verified
                verified by sha384 (1)
                live: 1 verified
                dist: 1 verified
                """)
    }

    @Test func `text has a line for each bundle`() {
        #expect(
            Self.report.text(as: .text) == #"""
                verified https://a.test/a.js
                mismatch https://a.test/b.js?x=1&y=%3C2%3E: expected MD5 "1",\r\nfound 100% \u{1}
                missing (optional) https://a.test/c.js: the server answered 404
                unverifiable https://a.test/d.js: no digest
                mani fests/a,b.json: 1 verified, 1 unverifiable, 1 missing, 1 mismatch
                """#)
    }

    @Test func `text about a site lists only failures, with the path to each`() {
        #expect(
            Self.site.text(as: .text) == """
                missing https://a.test/b.png: it is not stored
                  via https://a.test/ > https://a.test/2
                https://a.test/: 1 verified, 1 missing
                """)
    }

    @Test func `several places are shown in columns`() {
        #expect(
            Self.compared.text(as: .text) == """
                bundle  https://s.test/  https://p.test/
                /a.js   verified         mismatch
                  https://p.test/a.js: another
                https://s.test/: 1 verified
                https://p.test/: 1 mismatch
                """)
    }

    @Test func `JUnit has a case for each bundle, and escapes what XML cannot have`() {
        #expect(
            Self.report.text(as: .junit) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites name="larder check" tests="4" failures="1" errors="0" time="0">
                  <testsuite name="live" tests="4" failures="1" errors="0" time="0" skipped="2">
                    <testcase name="/a.js" classname="mani fests/a,b.json" time="0"/>
                    <testcase name="/b.js?x=1&amp;y=&lt;2&gt;#\\" classname="mani fests/a,b.json" time="0">
                      <failure message="mismatch: expected MD5 &quot;1&quot;,&#13;&#10;found 100% \u{fffd}" \
                type="mismatch">https://a.test/b.js?x=1&amp;y=%3C2%3E&#10;mismatch: expected MD5 &quot;1&quot;,\
                &#13;&#10;found 100% \u{fffd}&#10;mani fests/a,b.json:3</failure>
                    </testcase>
                    <testcase name="/c.js" classname="mani fests/a,b.json" time="0">
                      <skipped message="missing: the server answered 404"/>
                    </testcase>
                    <testcase name="/d.js" classname="mani fests/a,b.json" time="0">
                      <skipped message="unverifiable: no digest"/>
                    </testcase>
                  </testsuite>
                </testsuites>
                """)
    }

    /// The elements of Larder's reports as Jenkins' junit-10.xsd allows them: their attributes (required ones first) and
    /// their children.
    private static let junitRules:
        [String: (required: Set<String>, allowed: Set<String>, children: Set<String>)] = [
            "testsuites": ([], ["name", "time", "tests", "failures", "errors"], ["testsuite"]),
            "testsuite": (
                ["name", "tests", "failures", "errors"],
                ["group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"],
                ["testsuite", "properties", "testcase", "system-out", "system-err"]
            ),
            "testcase": (
                ["name"], ["time", "classname", "group"],
                ["skipped", "error", "failure", "system-out", "system-err"]
            ),
            "failure": ([], ["type", "message"], []),
            "skipped": ([], ["type", "message"], []),
            "system-out": ([], [], []),
        ]

    @Test(arguments: [Self.report, Self.compared, Self.site, Self.signed])
    func `JUnit output follows Jenkins' schema`(report: CheckReport) throws {
        var open: [String] = []
        var rest = Substring(report.text(as: .junit)).drop { $0 != "\n" }
        while let start = rest.firstIndex(of: "<") {
            let end = try #require(rest[start...].firstIndex(of: ">"))
            let tag = rest[rest.index(after: start)..<end]
            let between = rest[..<start]
            rest = rest[rest.index(after: end)...]
            let text = between.drop { $0 == ">" || $0.isWhitespace }
            #expect(text.isEmpty || ["failure", "system-out"].contains(open.last), "\(text)")
            if tag.hasPrefix("/") {
                #expect(open.popLast() == String(tag.dropFirst()))
                continue
            }
            let name = String(tag.prefix { $0 != " " && $0 != "/" })
            let rules = try #require(Self.junitRules[name], "\(name)")
            let parent = open.last.flatMap { Self.junitRules[$0] }
            #expect(parent?.children.contains(name) ?? (name == "testsuites"), "\(name) in \(open)")
            // Attribute values contain no quotation marks, because these are escaped.
            let pieces = tag.dropFirst(name.count).split(separator: "\"", omittingEmptySubsequences: false)
            let attributes = Set(
                stride(from: 0, to: pieces.count - 1, by: 2).map {
                    String(pieces[$0].drop { $0 == " " }.prefix { $0 != "=" })
                })
            #expect(rules.required.isSubset(of: attributes), "\(tag)")
            #expect(attributes.isSubset(of: rules.required.union(rules.allowed)), "\(tag)")
            if !tag.hasSuffix("/") { open.append(name) }
        }
        #expect(open.isEmpty)
    }

    @Test func `GitHub output has one escaped workflow command per line`() {
        #expect(
            Self.report.text(as: .github) == """
                ::error file=mani fests/a%2Cb.json,line=3,title=larder check%3A mismatch::\
                https://a.test/b.js?x=1&y=%253C2%253E: mismatch: expected MD5 "1",%0D%0Afound 100%25 \\u{1}
                ::warning title=larder check%3A missing::https://a.test/c.js: missing: the server answered 404
                ::warning file=mani fests/a%2Cb.json,line=5,title=larder check%3A unverifiable::\
                https://a.test/d.js: unverifiable: no digest
                ::notice title=larder check::mani fests/a,b.json: 1 verified, 1 unverifiable, 1 missing, 1 mismatch
                """)
    }

    @Test func `TAP has a point for each bundle`() {
        #expect(
            Self.report.text(as: .tap) == """
                TAP version 14
                1..4
                ok 1 - /a.js
                not ok 2 - /b.js?x=1&y=<2>\\#\\\\
                  ---
                  verdict: "mismatch"
                  url: "https://a.test/b.js?x=1&y=%3C2%3E"
                  message: "expected MD5 \\"1\\",\\r\\nfound 100% \\u0001"
                  ...
                not ok 3 - /c.js # TODO optional
                  ---
                  verdict: "missing"
                  url: "https://a.test/c.js"
                  message: "the server answered 404"
                  ...
                ok 4 - /d.js # SKIP unverifiable: no digest
                """)
    }

    @Test func `JSON has every finding, also of several places`() throws {
        let report = try JSONValue.parse(Self.compared.text(as: .json).utf8.span)
        #expect(report["clean"]?.bool == false)
        #expect(report["places"]?.array?.compactMap(\.string) == Self.compared.places)
        #expect(report["bundles"]?[0]?["verdict"]?.string == "mismatch")
        #expect(report["bundles"]?[0]?["places"]?[0]?["verdict"]?.string == "verified")
        let site = try JSONValue.parse(Self.site.text(as: .json).utf8.span)
        #expect(site["site"]?.string == "https://a.test/")
        #expect(site["urls"]?[1]?["chain"]?.array?.count == 2)
    }

    @Test(arguments: [report, site, compared, signed])
    func `SARIF has every member that its schema requires`(report: CheckReport) throws {
        let log = try JSONValue.parse(report.text(as: .sarif).utf8.span)
        #expect(log["version"]?.string == "2.1.0")
        #expect(log["$schema"]?.string?.hasSuffix("sarif-2.1.0.json") == true)
        let run = try #require(log["runs"]?[0])
        #expect(log["runs"]?.array?.count == 1)
        #expect(run["tool"]?["driver"]?["name"]?.string == "larder")
        let rules = try #require(run["tool"]?["driver"]?["rules"]?.array)
        for rule in rules {
            #expect(rule["id"]?.string != nil)
            #expect(rule["shortDescription"]?["text"]?.string != nil)
            #expect(["error", "warning", "note"].contains(rule["defaultConfiguration"]?["level"]?.string))
        }
        let results = try #require(run["results"]?.array)
        #expect(results.count == report.items.flatMap(\.findings).count { $0.verdict != .verified })
        for result in results {
            #expect(result["message"]?["text"]?.string?.isEmpty == false)
            #expect(["error", "warning", "note"].contains(result["level"]?.string))
            let index = try #require(result["ruleIndex"]?.int)
            #expect(rules[index]["id"] == result["ruleId"])
            let physical = try #require(result["locations"]?[0]?["physicalLocation"])
            let uri = try #require(physical["artifactLocation"]?["uri"]?.string)
            #expect(uri.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
            if let line = physical["region"]?["startLine"] { #expect((line.int ?? 0) >= 1) }
            #expect(result["partialFingerprints"]?["larderCheck/v1"]?.string != nil)
        }
    }

    @Test func `a path in SARIF is a URI reference`() throws {
        let log = try JSONValue.parse(Self.report.text(as: .sarif).utf8.span)
        let result = log["runs"]?[0]?["results"]?[0]
        let physical = result?["locations"]?[0]?["physicalLocation"]
        #expect(physical?["artifactLocation"]?["uri"]?.string == "mani%20fests/a%2Cb.json")
        #expect(physical?["region"]?["startLine"]?.int == 3)
        #expect(result?["level"]?.string == "error")
    }

    @Test(arguments: ReportFormat.allCases)
    func `a report without items is valid in every format`(format: ReportFormat) {
        let empty = CheckReport(
            subject: .manifest("m.json"), places: ["live"], items: [], failsOn: [.missing])
        #expect(empty.isClean)
        #expect(!empty.text(as: format).isEmpty)
    }

    @Test func `only the chosen verdicts on required items fail a check`() {
        #expect(!Self.report.isClean)
        for (failsOn, isClean) in [
            ([CheckReport.Verdict.missing], true), ([.unverifiable], false), ([], true),
        ] {
            let report = CheckReport(
                subject: Self.report.subject, places: ["live"], items: Self.report.items,
                failsOn: Set(failsOn))
            #expect(report.isClean == isClean)
        }
    }

    @Test(arguments: [
        ("{\"bundles\": [{\"url\": \"/a\"},\n{\"url\": \"/b\"}]}", ["/a", "/b"], [1, 2]),
        ("x/b\n/b\n", ["/b"], [2]),
        ("d41d  a\nd41d *b\n", ["b", "a"], [2, 1]),
        ("nothing", ["/a"], [nil]),
        ("", ["", "/a"], [nil, nil]),
    ])
    func `the line of a bundle in its manifest is found`(source: String, references: [String], lines: [Int?])
    {
        #expect(ManifestLines(Array(source.utf8)).lines(of: references) == lines)
    }
}
