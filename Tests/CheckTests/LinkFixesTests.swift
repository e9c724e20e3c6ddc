import Fetch
import Glibc
import Reports
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit

/// Faults that a check of real sites and repositories had.
@Suite struct LinkFixesTests {
    private func externalCheck(
        _ folder: LinkedFolder, _ change: (inout LinkCheckOptions) -> Void = { _ in }
    ) throws -> LinkCheckReport {
        try folder.check {
            $0.checksExternal = true
            change(&$0)
        }
    }

    @Test func `a server that asks to wait again and again is blocked`() throws {
        let origin = try TestOrigin()
        let links = (0..<9).map { path in
            origin.on("/\(path)", .failure(429, fields: [("Retry-After", "0")]))
            return "<a href=\(origin.url("/\(path)"))>x</a>"
        }
        let report = try externalCheck(try LinkedFolder(["index.html": links.joined()]))
        #expect(report.count(.blocked) == 9)
        #expect(
            report.findings.contains {
                $0.detail == "could not tell: the server asks to wait again and again"
            })
    }

    @Test func `links that a rule ignores in all documents are not requested`() throws {
        let origin = try TestOrigin()
        for path in ["/a", "/b", "/c"] { origin.on(path, .failure(404)) }
        let folder = try LinkedFolder([
            "index.html":
                "<a href=\(origin.url("/a"))><a href=\(origin.url("/b"))><a href=\(origin.url("/c"))>",
            "old/index.html": "<a href=\(origin.url("/b"))>",
        ])
        try folder.home.write("*/a # never\n* in */old/* # archive\n", to: "rules")
        let report = try externalCheck(folder)
        #expect(report.verdicts[origin.url("/a")] == .ignored)
        #expect(report.verdicts[origin.url("/b")] == .dead)
        #expect(origin.requests(to: "/a").isEmpty)
        #expect(!origin.requests(to: "/b").isEmpty)
    }

    @Test func `other sites get neither cookies nor headers for all hosts`() throws {
        let origin = try TestOrigin()
        origin.on("/x", .page("x"))
        let folder = try LinkedFolder(["index.html": "<a href=\(origin.url("/x"))>"])
        let cookies = try folder.home.write(
            "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tsession\tmine\n",
            to: "cookies.txt")
        var network = NetworkOptions()
        network.headers = ["X-Secret: 1", "127.0.0.1 X-Own: 2"]
        network.cookies = [cookies]
        _ = try externalCheck(folder) { $0.network = network }
        let requests = origin.requests(to: "/x")
        #expect(!requests.isEmpty)
        #expect(requests.allSatisfy { $0["Cookie"] == nil && $0["X-Secret"] == nil && $0["X-Own"] == "2" })
    }

    @Test func `pages that name their addresses propose a base`() throws {
        let pages = [
            "index.html": "<link rel=canonical href=https://example.com/docs/>",
            "a/index.html": "<link rel=canonical href=https://example.com/docs/a/>",
        ]
        let note =
            "the pages say that they are published at https://example.com/docs/; with this base, links there mean files of the folder"
        #expect(try LinkedFolder(pages).check().notes == [note])
        #expect(try LinkedFolder(pages).check { $0.base = "https://example.com/docs/" }.notes == [])
        var others = pages
        others["b.html"] = "<link rel=canonical href=https://other.test/b>"
        #expect(try LinkedFolder(others).check().notes == [])
    }

    @Test func `links that were mended since the baseline are counted`() throws {
        let folder = try LinkedFolder(["index.html": "<a href=/gone><a href=/away>"])
        _ = try folder.check { $0.newBaseline = folder.home.file("b.json") }
        try folder.write("<a href=/gone>", to: "index.html")
        let report = try folder.check { $0.baseline = folder.home.file("b.json") }
        #expect(report.count(.ignored) == 1)
        #expect(report.notes.contains { $0.hasPrefix("1 link of the baseline had no fault in this check") })
        // Writing the baseline anew removes them.
        let written = try folder.check {
            $0.baseline = folder.home.file("b.json")
            $0.newBaseline = folder.home.file("b.json")
        }
        #expect(!written.notes.contains { $0.contains("not faulty") })
    }

    @Test func `a pipe is not read as a baseline or as rules`() throws {
        let folder = try LinkedFolder(["index.html": "x"])
        mkfifo(folder.home.file("pipe"), 0o600)
        for change in [
            { $0.baseline = folder.home.file("pipe") }, { $0.ignoreFile = folder.home.file("pipe") },
        ] as [(inout LinkCheckOptions) -> Void] {
            let error = #expect(throws: LarderError.self) { try folder.check(change) }
            #expect(error?.description.contains("is a pipe") == true)
        }
    }

    @Test(arguments: [
        ("#set-up", LinkCheckReport.Verdict.verified), ("#Set-Up", .verified),
        ("#user-content-set-up", .verified),
        ("#L3", .verified), ("#L3-L10", .verified), ("#set-up-1", .verified), ("#set-up_1", .verified),
        ("#set-up-2", .fragmentMissing), ("#set", .fragmentMissing), ("#Lx", .fragmentMissing),
    ])
    func `fragments of Markdown are those of GitHub and MkDocs`(
        fragment: String, verdict: LinkCheckReport.Verdict
    ) throws {
        let folder = try LinkedFolder(["a.mdx": "# Set up\n\n# Set up\n\n[x](\(fragment))\n"])
        #expect(try folder.check().findings.first?.verdict ?? .verified == verdict)
    }

    @Test func `a folder of Markdown has the repository as its root`() throws {
        let folder = try LinkedFolder(["docs/a.md": "[a](/README.md) [b](../src/main.c) [c](/gone.md)"])
        try folder.write("", to: ".git/HEAD")
        try folder.write("# Read me", to: "README.md")
        try folder.write("", to: "src/main.c")
        let report = try LinkCheck.report(
            onFolder: folder.path + "/docs", folder.options(),
            in: StoreFolder(TestStore.place(folder.home.file("larder"))), Interruption())
        #expect(report.verdicts == ["/gone.md": .dead])
    }

    @Test func `a Markdown backslash is no slash`() throws {
        let folder = try LinkedFolder(["a.md": "[a](b\\\\c.md)\n", "b/c.md": "x"])
        #expect(try folder.check().findings.map(\.target) == ["/b%5Cc.md"])
    }

    @Test func `a chain of temporary redirects is no fault`() async throws {
        let origin = try TestOrigin()
        let home = try TemporaryFolder()
        let larder = Larder(at: try TestStore.place(home.file("larder")))
        origin.on("/", .page("<a href=/0>x</a>"))
        for step in 0..<9 { origin.on("/\(step)", .redirect(to: "/\(step + 1)")) }
        origin.on("/9", .page("end"))
        _ = try await larder.prefetch([origin.url("/")])
        var options = LinkCheckOptions()
        options.checksExternal = false
        options.ignoreFile = try home.write("", to: "rules")
        let report = try await larder.checkLinks(.site(origin.url("/")), options: options)
        #expect(report.findings == [])
    }

    @Test func `a page that a server sends as HTML is not Markdown`() async throws {
        let origin = try TestOrigin()
        let home = try TemporaryFolder()
        let larder = Larder(at: try TestStore.place(home.file("larder")))
        origin.on("/", .page("<a href=/README.md#x>x</a><a href=/README.md#read-me>y</a>"))
        origin.on("/README.md", .page("<h1 id=x>Read me</h1> [not a link](/gone)"))
        _ = try await larder.prefetch([origin.url("/")])
        var options = LinkCheckOptions()
        options.checksExternal = false
        options.usesBrowser = false
        options.ignoreFile = try home.write("", to: "rules")
        let report = try await larder.checkLinks(.site(origin.url("/")), options: options)
        #expect(report.findings.map(\.target) == [origin.url("/README.md#read-me")])
    }
}
