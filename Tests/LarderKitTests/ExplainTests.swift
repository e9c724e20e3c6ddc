import LarderKit
import TestOrigin
import Testing

@Suite struct ExplainTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    init() async throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.path + "/store")
        origin.on("/robots.txt", .file("User-agent: *\nDisallow: /secret", type: "text/plain"))
        origin.on("/", .page("<a href=/a>a</a><a href=/b.pdf>b</a><a href=/secret/x>x</a>"))
        origin.on("/a", .page("<img src=/dot.png><a href=/deep>deep</a>"))
        origin.on("/deep", .page("deep"))
        origin.on("/dot.png", .file([1], type: "image/png"))
        var options = PrefetchOptions()
        options.plan.scope.exclude = ["*.pdf"]
        let report = try await larder.prefetch([origin.url("/")], options: options)
        try #require(report.isPublished)
    }

    @Test func `URLs excluded by robots.txt or patterns are reported with that reason`() async throws {
        let requested = origin.requests.map(\.target)
        #expect(!requested.contains("/secret/x"))
        #expect(!requested.contains("/b.pdf"))
        let secret = try await larder.explain(origin.url("/secret/x"))
        #expect(secret.storedStatus == nil)
        #expect(secret.sites[0].isPageFollowed)
        #expect(secret.sites[0].robots?.contains("/secret") == true)
        let excluded = try await larder.explain(origin.url("/b.pdf"))
        #expect(!excluded.sites[0].isPageFollowed)
        #expect(excluded.sites[0].asPage.contains("*.pdf"))
        #expect(origin.requests.count == requested.count, "it asks nothing of the network")
    }

    @Test func `the report has the pages that link to a URL, and the path from the start`() async throws {
        let dot = try await larder.explain(origin.url("/dot.png"))
        #expect(dot.storedStatus == 200)
        #expect(dot.linkedFrom == [origin.url("/a")])
        #expect(dot.chain == [origin.url("/"), origin.url("/a")])
        #expect(dot.json.contains("\"linkedFrom\""))
    }

    @Test func `explain applies the settings of the site's last prefetch`() async throws {
        origin.on("/", .page("<a href=/new.pdf>b</a><a href=/new>x</a>"))
        origin.on("/new", .page("new"))
        let reports = try await larder.update()
        #expect(reports.count == 1)
        #expect(origin.requests(to: "/new").count == 1)
        #expect(origin.requests(to: "/new.pdf").isEmpty)
        #expect(reports[0].skipped.contains { $0.url.hasSuffix("/new.pdf") && $0.reason.contains("*.pdf") })
    }
}
