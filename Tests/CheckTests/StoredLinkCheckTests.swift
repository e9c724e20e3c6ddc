import Glibc
import Reports
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Check
@testable import LarderKit
@testable import Prefetch

@Suite struct StoredLinkCheckTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: try TestStore.place(home.file("larder")))
        origin.on(
            "/",
            .page(
                """
                <a href=/page#here><a href=/page#there><a href=/page#:~:text=hello><a href=/moved><a href=/moved#there>
                <a href=/away><a href=/away#here><a href=/chain><a href=/later><a href=/loop><a href=/gone><a href=/410>
                <a href=https://elsewhere.test/><img src=/broken.png>
                """))
        origin.on("/page", .page("<p id=here>Hello</p><a href=/gone>x</a>"))
        origin.on("/moved", .redirect(to: "/page", status: 301))
        origin.on("/away", .redirect(to: "/page"))
        // Only the permanent redirects at the beginning say what the link should be.
        origin.on("/chain", .redirect(to: "/away", status: 308))
        origin.on("/later", .redirect(to: "/moved", status: 307))
        origin.on("/loop", .redirect(to: "/pool", status: 301))
        origin.on("/pool", .redirect(to: "/loop", status: 301))
        origin.on("/gone", .failure(404))
        origin.on("/410", .failure(410))
        origin.on("/broken.png", .failure(404))
    }

    private var options: LinkCheckOptions {
        get throws {
            var options = LinkCheckOptions()
            options.checksExternal = false
            options.usesBrowser = false
            options.ignoreFile = try home.write("", to: "rules")
            return options
        }
    }

    /// The verdicts and details by path.
    private func results(_ report: LinkCheckReport) -> [String: String] {
        let results = report.findings.map { finding in
            (
                finding.target.replacing(origin.base, with: ""),
                "\(finding.verdict.rawValue): \(finding.detail)"
            )
        }
        return Dictionary(results) { first, _ in first }
    }

    private var expected: [String: String] {
        [
            "/page#there": "fragment-missing: \(origin.url("/page")) has no element with the id \"there\"",
            "/moved#there": "fragment-missing: \(origin.url("/page")) has no element with the id \"there\"",
            "/moved": "redirected: moved permanently to \(origin.url("/page"))",
            "/chain": "redirected: moved permanently to \(origin.url("/away"))",
            "/loop": "dead: it redirects in a loop",
            "/gone": "dead: the server answered 404", "/410": "dead: the server answered 410",
            "/broken.png": "dead: the server answered 404",
            "https://elsewhere.test/": "not-checked: it is on another site",
        ]
    }

    @Test func `the links of a stored site are checked without requests`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        origin.stop()
        let report = try await larder.checkLinks(.site(origin.url("/")), options: options)
        #expect(results(report) == expected)
        #expect(report.documentCount == 2)
        #expect(try await larder.checkLinks(.site("127.0.0.1"), options: options) == report)
        let gone = try #require(report.findings.first { $0.target == origin.url("/gone") })
        #expect(gone.isInternal)
        #expect(gone.places.map(\.document) == [origin.url("/"), origin.url("/page")])
        #expect(gone.places.map(\.line) == [2, 1])
        #expect(gone.places.map(\.reference) == ["/gone", "/gone"])
        #expect(report.findings.last?.isInternal == false)
    }

    @Test func `a URL of the site that was not fetched is not on another site`() async throws {
        origin.on("/robots.txt", .file("User-agent: *\nDisallow: /private/", type: "text/plain"))
        origin.on("/", .page("<a href=/private/x>x</a>"))
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkLinks(.site(origin.url("/")), options: options)
        let finding = try #require(report.findings.first)
        #expect(report.findings.count == 1)
        #expect(finding.verdict == .notChecked)
        #expect(finding.isInternal)
        #expect(finding.detail != "it is on another site")
    }

    @Test func `a site is fetched into a temporary store`() async throws {
        let report = try await Larder(at: home.file("none")).checkLinks(
            .url(origin.url("/")), options: options)
        #expect(results(report) == expected)
        #expect(home.names() == ["rules"])
    }

    @Test func `the entries of a sitemap are checked`() async throws {
        let entries = ["/page", "/gone"].map { "<url><loc>\(origin.url($0))</loc></url>" }
        let sitemap =
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\(entries.joined())</urlset>"
        origin.on("/sitemap.xml", .file(sitemap, type: "application/xml"))
        let report = try await larder.checkLinks(.url(origin.url("/sitemap.xml")), options: options)
        let gone = try #require(report.findings.first { $0.target == origin.url("/gone") })
        #expect(gone.verdict == .dead)
        #expect(gone.places.map(\.document).contains(origin.url("/sitemap.xml")))
    }

    @Test func `the last check is stored with the site`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        let folder = larder.folder
        func summary() throws -> LinkCheckSummary? {
            let reader = try StoreReader(folder)
            let site = try #require(try reader.sites().first)
            return try reader.lastLinkCheck(of: site)
        }
        #expect(try summary() == nil)
        let report = try await larder.checkLinks(.site(origin.url("/")), options: options)
        let stored = try #require(try summary())
        #expect(stored.linkCount == report.linkCount)
        #expect(stored.documentCount == 2)
        #expect(stored.counts[.dead] == report.count(.dead))
        #expect(stored.counts[.verified] == report.verifiedCount)
        #expect(stored.counts[.timedOut] == nil)
        #expect(stored.brokenCount == report.count(.dead) + report.count(.fragmentMissing))
        let gone = try #require(stored.findings.first { $0.target == origin.url("/gone") })
        #expect((gone.page, gone.line, gone.placeCount) == (origin.url("/"), 2, 2))
        #expect(gone.detail == "the server answered 404")
        #expect(!stored.findings.contains { $0.verdict == .notChecked })
        // A check of the same site from its URL has a temporary store.
        _ = try await larder.checkLinks(.url(origin.url("/page")), options: options)
        #expect(try summary() == stored)
    }

    @Test func `a page that is stored under two URLs is read once`() async throws {
        origin.on("/", .page("<a href=/x/>a</a><a href=/x/index.html>b</a><a href=/x/index.html#y>c</a>"))
        let page = OriginAnswer.page("<p id=y><a href=/gone>x</a>")
        origin.on("/x/", page)
        origin.on("/x/index.html", page)
        _ = try await larder.prefetch([origin.url("/")])
        let report = try await larder.checkLinks(.site(origin.url("/")), options: options)
        #expect(report.documentCount == 2)
        // The page, its fragment, and the missing page.
        #expect(report.linkCount == 3)
        #expect(report.findings.map(\.placeCount) == [1])
    }

    @Test func `accepted statuses of stored responses are no faults`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        var options = try options
        options.acceptedStatuses = try #require(AcceptedStatuses("404"))
        let results = results(try await larder.checkLinks(.site(origin.url("/")), options: options))
        #expect(results["/gone"] == nil)
        #expect(results["/410"] == "dead: the server answered 410")
    }

    @Test func `a limit of pages is noted`() async throws {
        var options = try options
        options.maxPages = 1
        let report = try await larder.checkLinks(.url(origin.url("/")), options: options)
        #expect(report.notes == ["links of further pages were not checked: the limit of 1 page was reached"])
    }

    @Test func `a site that is not stored, or cannot be fetched, is an error`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        let options = try options
        let unknown = await #expect(throws: LarderError.self) {
            try await larder.checkLinks(.site("unknown.test"), options: options)
        }
        #expect(unknown?.kind == .input)
        origin.stop()
        let unreachable = await #expect(throws: LarderError.self) {
            try await larder.checkLinks(.url(origin.url("/")), options: options)
        }
        #expect(unreachable?.kind == .machine)
    }
}
