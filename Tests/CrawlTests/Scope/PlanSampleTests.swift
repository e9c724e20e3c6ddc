import Testing
import Web

@testable import Crawl

@Suite struct PlanSampleTests {
    private func url(_ path: String) throws -> WebURL { try #require(WebURL("http://a.test" + path)) }

    /// A site: the links, the assets and the size of each path.
    private struct Site {
        var links: (String) -> [String]
        var assets: (String) -> [String] = { _ in [] }
        var size: (String) -> Int = { _ in 1000 }
        var isMissing: (String) -> Bool = { _ in false }
        /// Whether a page is at the depth limit, so that its links are not part of the site.
        var isDeepest: (String) -> Bool = { _ in false }
    }

    /// A sample of the site, taken with at most this number of requests.
    private func sample(_ site: Site, requests: Int = 200, seed: UInt64 = 0) throws -> PlanSample {
        var sample = PlanSample(maxRequests: requests, seed: seed)
        sample.offer(try url("/"))
        var spent = 0
        while let request = sample.next(spent: spent) {
            spent += 1
            switch request {
            case .page(let page):
                if site.isMissing(page.target) {
                    sample.didMiss(page)
                    continue
                }
                let links = try site.links(page.target).map(url)
                sample.didFetch(
                    PlanSample.Page(
                        url: page, byteCount: site.size(page.target), latency: .milliseconds(100),
                        links: links, assets: try site.assets(page.target).map(url)))
                for (link, path) in zip(links, site.links(page.target)) {
                    sample.offer(link, leadsOn: !site.isDeepest(path))
                }
            case .file(let file): sample.didWeigh(request, byteCount: site.size(file.target))
            case .asset(let asset): sample.didWeigh(request, byteCount: site.size(asset.target))
            }
        }
        #expect(spent <= requests)
        return sample
    }

    private func contains(_ bounds: PlanEstimate.Bounds, _ value: Int) -> Bool {
        bounds.low <= value && bounds.high.map { value <= $0 } == true
    }

    private static let rate = PlanSample.RequestRate(connections: 16)

    // MARK: - Sites

    @Test func `a site that the first page links to completely is estimated exactly, with few requests`()
        throws
    {
        let all = (0..<500).map { "/blog/post-\($0)" } + (0..<40).map { "/about/\($0).html" }
        let sample = try sample(Site { _ in all })
        #expect(sample.outcomes.count < 20)
        let estimate = sample.estimate(Self.rate)
        #expect(estimate.pages == PlanEstimate.Bounds(low: 541, high: 541))
        #expect(contains(estimate.byteCount, 541_000))
        #expect(estimate.confidence != .low && estimate.largerSample == nil)
        #expect(estimate.groups.map(\.pages.low).reduce(0, +) == 541)
        #expect(estimate.groups.first?.pattern == "a.test/blog/*")
    }

    @Test func `a site of one page is exactly one page`() throws {
        let estimate = try sample(Site { _ in [] }).estimate(Self.rate)
        #expect(estimate.pages == PlanEstimate.Bounds(low: 1, high: 1))
        #expect(estimate.byteCount == PlanEstimate.Bounds(low: 1000, high: 1000))
    }

    @Test func `a list without an end has no upper bound`() throws {
        let site = Site { path in
            guard path.hasPrefix("/list/"), let page = Int(path.dropFirst(6)) else { return ["/list/0"] }
            return ["/list/\(page + 1)"] + (0..<10).map { "/item/\(page * 10 + $0)" }
        }
        let estimate = try sample(site).estimate(Self.rate)
        #expect(estimate.pages.high == nil)
        #expect(estimate.byteCount.high == nil)
        #expect(estimate.seconds.high == nil)
        #expect(estimate.confidence == .low)
        #expect(estimate.largerSample == nil)
    }

    /// A gallery: the start page links to 180 lists, each list to 16 pages, and each page to a source file. The links
    /// of 200 fetched pages contain only a small part of its 5,941 pages.
    private static var gallery: Site {
        Site(
            links: { path in
                let parts = path.split(separator: "/")
                if parts.isEmpty { return (0..<180).map { "/format\($0)/index.html" } }
                if path.hasSuffix("/index.html") { return (0..<16).map { "/\(parts[0])/language\($0).html" } }
                return path.hasSuffix(".html") ? ["/\(parts[0])/src/\(parts[1].dropLast(5)).java"] : []
            }, size: { $0.hasSuffix(".java") ? 20_000 : 80_000 })
    }

    @Test(arguments: UInt64(0)..<5)
    func `pages that only one page links to are estimated from a few percent of them`(seed: UInt64) throws {
        let estimate = try sample(Self.gallery, seed: seed).estimate(Self.rate)
        #expect(contains(estimate.pages, 5941), "\(estimate.pages)")
        #expect(contains(estimate.byteCount, 180 * 17 * 80_000 + 2880 * 20_000), "\(estimate.byteCount)")
        #expect(estimate.pages.ratio.map { $0 < 4 } == true)
    }

    @Test func `a larger sample narrows the range`() throws {
        let ratios = try [200, 1000, 3000].map {
            try #require(try sample(Self.gallery, requests: $0).estimate(Self.rate).byteCount.ratio)
        }
        #expect(ratios[1] < ratios[0] * 0.9 && ratios[2] < ratios[1], "\(ratios)")
        #expect(try sample(Self.gallery).estimate(Self.rate).largerSample == 1000)
    }

    /// 1,500 pages, each with links to its neighbours and to a few others: all are linked to several times.
    @Test(arguments: UInt64(0)..<5)
    func `pages that many pages link to are not counted several times`(seed: UInt64) throws {
        let site = Site { path in
            let page = Int(path.dropFirst(2).dropLast(5)) ?? 0
            let others = (1...6).map { Int(Mixing.mix("\(page) \($0)".utf8) % 1500) }
            return ([(page + 1) % 1500, (page + 1499) % 1500] + others).map { "/p\($0).html" }
        }
        let pages = try sample(site, seed: seed).estimate(Self.rate).pages
        #expect(contains(pages, 1501), "\(pages)")
        #expect(pages.high.map { $0 < 6000 } == true, "\(pages)")
    }

    @Test func `pages that an index lists are known after a few requests`() throws {
        let site = Site { path in
            path == "/"
                ? (0..<30).map { "/chapter\($0).html" } + ["/genindex.html"]
                : path == "/genindex.html" ? (0..<4000).map { "/api/\($0 % 40)/f\($0).html" } : ["/"]
        }
        let estimate = try sample(site).estimate(Self.rate)
        #expect(contains(estimate.pages, 4032))
        #expect(estimate.pages.ratio.map { $0 < 1.1 } == true, "\(estimate.pages)")
    }

    @Test func `links to missing pages are subtracted`() throws {
        let site = Site(
            links: { path in path == "/" ? (0..<1000).map { "/p\($0).html" } : [] },
            isMissing: { path in path != "/" && (Int(path.dropFirst(2).dropLast(5)) ?? 0) % 4 == 0 })
        let pages = try sample(site).estimate(Self.rate).pages
        #expect(contains(pages, 751), "\(pages)")
        #expect(pages.low < 800, "\(pages)")
    }

    @Test func `large files that few pages link to count with their own size`() throws {
        let site = Site(
            links: { path in
                path == "/" ? (0..<200).map { "/p\($0).html" } + (0..<5).map { "/books/b\($0).pdf" } : []
            }, size: { $0.hasSuffix(".pdf") ? 5_000_000 : 10_000 })
        let bytes = try sample(site).estimate(Self.rate).byteCount
        #expect(contains(bytes, 27_010_000), "\(bytes)")
        #expect(bytes.low > 20_000_000)
    }

    @Test func `assets count once, with sizes by kind`() throws {
        let site = Site(
            links: { path in path == "/" ? (0..<100).map { "/p\($0).html" } : [] },
            assets: { path in ["/style.css", "/img/\(path.dropFirst()).png"] },
            size: { $0.hasSuffix(".png") ? 100_000 : 2000 })
        let bytes = try sample(site, requests: 300).estimate(Self.rate).byteCount
        #expect(contains(bytes, 101 * 102_000 + 2000), "\(bytes)")
    }

    @Test func `links of pages at the depth limit are not estimated`() throws {
        let site = Site(
            links: { path in path == "/" ? (0..<300).map { "/p\($0).html" } : [] }, isDeepest: { $0 != "/" })
        let pages = try sample(site).estimate(Self.rate).pages
        #expect(pages == PlanEstimate.Bounds(low: 301, high: 301))
    }

    // MARK: - Estimates

    @Test func `a delay between requests determines the time`() throws {
        let sample = try sample(Site { _ in (0..<99).map { "/a/\($0)" } })
        #expect(sample.estimate(Self.rate).seconds == PlanEstimate.Bounds(low: 1, high: 3))
        let large = try self.sample(
            Site(links: { _ in (0..<99).map { "/a/\($0)" } }, size: { _ in 1_000_000 }))
        let seconds = large.estimate(Self.rate).seconds
        #expect(
            seconds.low == 1 && (10...16).contains(seconds.high ?? 0),
            "the bodies are also stored and indexed")
        let slow = sample.estimate(PlanSample.RequestRate(connections: 16, distance: .seconds(2)))
        #expect(slow.seconds == PlanEstimate.Bounds(low: 200, high: 200))
    }

    @Test func `traps are passed on, and a sample without a page estimates nothing`() throws {
        let trap = TrapReason(kind: .calendar, pattern: "a.test/{year}/{month}/", pages: 96, alike: 95)
        var sample = PlanSample()
        #expect(sample.estimate(Self.rate, traps: [trap]).traps == [trap])
        #expect(sample.estimate(Self.rate).pages == PlanEstimate.Bounds(low: 0, high: 0))
        sample.offer(try url("/"))
        #expect(sample.next(spent: 0) == .page(try url("/")))
        sample.didMiss(try url("/"))
        #expect(sample.next(spent: 1) == nil)
        #expect(sample.estimate(Self.rate).groups.isEmpty)
    }

    // MARK: - Groups

    @Test(arguments: [
        ("/", "html", true, false, true), ("/a/genindex.html", "html", true, true, true),
        ("/std/struct.Vec.html", "html", false, false, true), ("/a/book.pdf", "pdf", false, false, false),
        ("/index.php?p=1", "html?", true, false, true), ("/wiki/Mr.Spock", "spock", false, false, true),
        ("/src/index.java", "java", false, false, false),
    ])
    func `the name of a page shows its kind`(
        path: String, kind: String, isList: Bool, isFullList: Bool, mayLink: Bool
    ) throws {
        let name = PageName(try url(path))
        #expect(name.kind == kind)
        #expect(name.isList == isList)
        #expect(name.isFullList == isFullList)
        #expect(name.mayLink == mayLink)
    }

    @Test func `pages are grouped by folder, type and first word`() throws {
        let paths =
            (0..<300).map { "/std/m\($0)/struct.S\($0).html" }
            + (0..<100).map { "/std/m\($0)/fn.f\($0).html" }
            + (0..<100).map { "/book/chapter\($0).html" } + (0..<3).map { "/rare\($0)/x.html" }
            + (0..<20).map { "/book/p\($0).pdf" }
        var groups = PageGroups(try paths.map { PageName(try url($0)) })
        func pattern(_ path: String) throws -> String {
            let number = groups.number(of: PageName(try url(path)))
            return groups.patterns[number]
        }
        #expect(try pattern("/std/m1/struct.A.html") == "a.test/std/m{n}/struct*")
        #expect(try pattern("/std/m1/fn.a.html") == "a.test/std/m{n}/fn*")
        #expect(try pattern("/std/m1/index.html") == "a.test/std/m{n}/* (pages that list others)")
        #expect(try pattern("/book/chapter4.html") == "a.test/book/*")
        #expect(try pattern("/other/x.html") == "a.test/**/*")
        #expect(try pattern("/book/q.pdf") == "**/*.pdf")
        #expect(try pattern("/book/page?print=1") == "**/*?*")
        #expect(try pattern("/book/data.csv?all=1") == "**/*.csv?*")
    }
}
