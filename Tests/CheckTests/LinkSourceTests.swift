import Reports
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Check

@Suite struct LinkSourceTests {
    @Test func `a page with two names is counted once`() throws {
        let folder = try LinkedFolder(LinkCheckTests.site)
        try folder.write(
            """
            <a href=/docs/#gone><a href=/docs/index.html#gone><a href=/docs#gone><a href=/docs/><a href=/docs/index.html>
            <a href=/about><a href=/about.html><a href=/about?x=1>
            """, to: "page.html")
        let report = try folder.check()
        #expect(report.verdicts == ["/docs#gone": .fragmentMissing])
        #expect(report.findings.first?.placeCount == 3)
        // The fragment, the folder, the page, the page with a query, and the script of another page.
        #expect(report.linkCount == 4 + 1)
        #expect(report.verifiedCount == 3 + 1)
    }

    @Test func `placeholders of templates are not checked`() throws {
        let folder = try LinkedFolder([
            "index.html": "<a href='{{ page.url }}'><a href=\"/{% x %}/\"><a href='<%= y %>'><a href=/gone>"
        ])
        let report = try folder.check()
        #expect(
            report.verdicts == [
                "{{ page.url }}": .notChecked, "/{% x %}/": .notChecked, "<%= y %>": .notChecked,
                "/gone": .dead,
            ])
        #expect(report.findings.last?.detail == "it has a placeholder of a template")
        #expect(report.findings.allSatisfy { $0.isInternal })
    }

    @Test(arguments: [true, false])
    func `Markdown in UTF-16 is read`(isBigEndian: Bool) throws {
        let folder = try LinkedFolder()
        let text = "\u{FEFF}# Größe\n[a](#größe) [b](gone.md) [c](#x)\n"
        let bytes = text.utf16.flatMap { unit -> [UInt8] in
            let pair = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isBigEndian ? pair : pair.reversed()
        }
        try folder.write("", to: ".git/HEAD")
        try folder.write(bytes, to: "a.md")
        let report = try folder.check()
        #expect(report.verdicts == ["/gone.md": .dead, "/a.md#x": .fragmentMissing])
        let place = try #require(report.findings.first?.places.first)
        #expect((place.line, place.column, place.reference) == (2, 17, "gone.md"))
    }

    @Test(arguments: [("mkdocs.yml", LinkCheckReport.Verdict.verified), ("book.toml", .fragmentMissing)])
    func `MkDocs makes one hyphen of several`(name: String, verdict: LinkCheckReport.Verdict) throws {
        let folder = try LinkedFolder(["docs/a.md": "# Text & images\n[a](#text-images) [b](#text--images)\n"]
        )
        try folder.write("", to: ".git/HEAD")
        try folder.write("", to: name)
        let report = try folder.check()
        #expect((report.verdicts["/docs/a.md#text-images"] ?? .verified) == verdict)
        #expect(report.verdicts["/docs/a.md#text--images"] == nil)
    }

    @Test(
        arguments: [
            (["old/*"], ["index.html", "sub/old/b.html"]), (["old"], ["index.html", "sub/old/b.html"]),
            (["old/"], ["index.html", "sub/old/b.html"]), (["*/old"], ["index.html", "old/a.html"]),
            (["*.html"], []), (["a.html"], ["index.html", "old/a.html", "sub/old/b.html"]),
            (["old/a.html", "sub"], ["index.html"]), (["*old*"], ["index.html"]),
        ] as [([String], [String])])
    func `the links of excluded files are not checked, and links to them are`(
        patterns: [String], documents: [String]
    ) throws {
        let folder = try LinkedFolder([
            "index.html": "<a href=old/a.html#x>", "old/a.html": "<p id=x><a href=/gone>",
            "sub/old/b.html": "<a href=/gone>",
        ])
        guard !documents.isEmpty else {
            let error = #expect(throws: LarderError.self) { try folder.check { $0.excludedPaths = patterns } }
            #expect(error?.kind == .input)
            return
        }
        let report = try folder.check { $0.excludedPaths = patterns }
        #expect(report.documentCount == documents.count)
        #expect(report.verdicts["/old/a.html#x"] == nil)
        let places = report.findings.flatMap(\.places).map {
            $0.document.replacing(folder.path + "/", with: "")
        }
        #expect(places == documents.filter { $0 != "index.html" })
    }

    @Test(
        arguments: [
            ("[a](about.html#team) [b](gone.md)\n# C\n[c](#c) [d](#d)", ["#d", "/gone.md"]),
            ("\n <a href=about.html#team><a href=/gone.html><p id=c><a href=#c>", ["/gone.html"]),
            ("", []),
        ] as [(String, [String])])
    func `a text from standard input is Markdown, or HTML if it begins like that`(
        text: String, targets: [String]
    ) throws {
        let folder = try LinkedFolder(LinkCheckTests.site)
        let report = try LinkCheck.report(
            onText: Array(text.utf8), name: "standard input", root: folder.path, folder.options(),
            in: StoreFolder(TestStore.place(folder.home.file("larder"))), Interruption())
        let found = report.findings.map(\.target)
        #expect(found.sorted() == targets)
        #expect(report.findings.flatMap(\.places).allSatisfy { $0.document == "standard input" })
        #expect(report.name == "standard input")
        #expect(report.documentCount == 1)
    }
}
