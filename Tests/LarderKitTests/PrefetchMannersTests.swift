import LarderKit
import TestOrigin
import Testing

/// Tests of nofollow and noindex, of limits across runs, and of their reports.
@Suite struct PrefetchMannersTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.path + "/store")
        origin.on("/", .page("<meta name=robots content=nofollow><a href=/a>a</a><img src=/dot.png>"))
        origin.on("/a", .page("<a rel=nofollow href=/b>b</a>"))
        origin.on("/b", .page("b"))
        origin.on("/dot.png", .file([1], type: "image/png"))
    }

    private func prefetch(_ configure: (inout PrefetchOptions) -> Void = { _ in }) async throws
        -> PrefetchReport
    {
        var options = PrefetchOptions()
        configure(&options)
        return try await larder.prefetch([origin.url("/")], options: options)
    }

    @Test func `links marked as nofollow are followed`() async throws {
        let report = try await prefetch()
        #expect(report.pages == 3)
        #expect(report.isComplete)
    }

    @Test func `a snapshot of one page whose links were skipped is not complete`() async throws {
        let report = try await prefetch { $0.plan.nofollow = .obey }
        #expect(report.reasonForOnePage == "its link is marked as nofollow")
        #expect(!report.isComplete)
        let one = try await larder.prefetch([origin.url("/b")], options: PrefetchOptions())
        #expect(one.pages == 1 && one.reasonForOnePage == nil && one.isComplete)
    }

    @Test func `links that are not followed have their reason in the report and in explain`() async throws {
        let report = try await prefetch { $0.plan.nofollow = .pages }
        #expect(report.pages == 1)
        #expect(report.plan.directivePolicy.nofollow == .pages)
        #expect(report.skipped.map(\.url) == [origin.url("/a")])
        let explained = try await larder.explain(origin.url("/a"))
        #expect(explained.sites[0].asPage == "skipped: \(report.skipped[0].reason)")
        #expect(explained.sites[0].asAsset.hasPrefix("followed"))
        #expect(explained.linkedFrom == [origin.url("/")])
        #expect(try await larder.explain(origin.url("/")).sites[0].isPageFollowed)
    }

    @Test func `explain checks each nofollow link, and an update keeps the settings of the prefetch`()
        async throws
    {
        origin.on("/", .page("<a href=/a>a</a>"))
        let first = try await prefetch { $0.plan.nofollow = .obey }
        #expect(first.skipped.map(\.url) == [origin.url("/b")])
        #expect(try await !larder.explain(origin.url("/b")).sites[0].isPageFollowed)
        #expect(try await larder.explain(origin.url("/a")).sites[0].isPageFollowed)
        let updated = try await larder.update()
        #expect(updated[0].skipped == first.skipped)
        #expect(origin.requests(to: "/b").isEmpty)
    }

    @Test func `an update uses the settings of the prefetch unless options override them`() async throws {
        origin.on("/robots.txt", .file("User-agent: *\nDisallow: /b", type: "text/plain"))
        origin.on("/a", .page("<a href=/b>b</a>"))
        #expect(try await prefetch { $0.plan.nofollow = .follow }.skipped.map(\.url) == [origin.url("/b")])
        var options = PrefetchOptions()
        options.plan.robots = .ignore
        let lax = try await larder.update(options: options)[0]
        #expect(lax.plan.robots == .ignore && lax.plan.directivePolicy.nofollow == .follow)
        #expect(lax.pages == 3)
        options = PrefetchOptions()
        options.plan.nofollow = .pages
        let strict = try await larder.update(options: options)[0]
        #expect(strict.plan.robots == .ignore)
        #expect(strict.skipped.map(\.url) == [origin.url("/a")])
    }

    @Test(arguments: [NofollowPolicy.pages, .obey])
    func `links that were not followed are not missing offline`(nofollow: NofollowPolicy) async throws {
        if nofollow == .obey { origin.on("/", .page("<a href=/a rel=nofollow>a</a><img src=/dot.png>")) }
        #expect(try await prefetch { $0.plan.nofollow = nofollow }.pages == 1)
        #expect(try await larder.checkOffline(origin.url("/")).isClean)
    }

    @Test func `an update keeps the page limit, and a prefetch with a higher limit continues`()
        async throws
    {
        for page in 1...9 { origin.on("/p\(page)", .page("<a href=/p\(page + 1)>next</a>")) }
        origin.on("/", .page("<a href=/p1>1</a>"))
        #expect(try await prefetch { $0.plan.maxPages = 3 }.pages == 3)
        let updated = try await larder.update()
        #expect(updated[0].pages == 3)
        #expect(!updated[0].isContinued)
        origin.forgetRequests()
        let more = try await prefetch { $0.plan.maxPages = 6 }
        #expect(more.pages == 6 && more.isContinued)
        #expect(more.maxPages == 6)
        #expect(origin.requests.map(\.target).filter { $0 != "/robots.txt" } == ["/p3", "/p4", "/p5"])
        let all = try await prefetch()
        #expect(all.isContinued)
        #expect(all.limit == nil)
        #expect(all.pages == 10)
        #expect(try await !prefetch().isContinued)
    }

    @Test func `a run that could not fetch assets of pages is not complete`() async throws {
        origin.on("/", .page("<img src=/dot.png><img src=/large.png><img src=/late.png>"))
        origin.on("/large.png", .file([UInt8](repeating: 1, count: 9000), type: "image/png"))
        origin.on("/late.png", .file([2], type: "image/png"))
        let report = try await prefetch {
            $0.limits.byteCount = 5000
            $0.plan.connectionsPerHost = 1
        }
        #expect(report.isPublished)
        #expect(!report.isComplete)
        #expect(report.skipped.contains { $0.isAsset && $0.isOverLimit && $0.url.hasSuffix("/late.png") })
        let counts = try await larder.checkOffline(report.site).missingURLs
        #expect(counts?.isComplete == false)
        #expect(try await prefetch().isComplete)
        #expect(try await larder.checkOffline(report.site).missingURLs?.isComplete == true)
    }

    @Test func `a page limit defines the site, which is complete within it`() async throws {
        origin.on("/", .page("<a href=/p1>1</a>"))
        origin.on("/p1", .page("<a href=/p2>2</a>"))
        let report = try await prefetch { $0.plan.maxPages = 1 }
        #expect(report.isComplete && !report.isCutShort && report.limit != nil)
        #expect(report.missingURLs.isComplete && report.missingURLs.notFetched == 1)
        #expect(try await larder.checkOffline(report.site).missingURLs?.isComplete == true)
        #expect(try await larder.status().sites[0].figures?.missing?.isComplete == true)
    }
}
