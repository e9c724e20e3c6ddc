import Testing
import Web

@testable import Crawl

@Suite struct PlanSampleTests {
    private func url(_ path: String) throws -> WebURL { try #require(WebURL("http://a.test" + path)) }

    /// Samples a site that is given by the links of each path.
    private func sample(
        _ links: (String) -> [String], size: (String) -> Int = { _ in 1000 }, seed: UInt64 = 0
    ) throws -> PlanSample {
        var sample = PlanSample(seed: seed)
        var known: Set<String> = ["/"]
        sample.offer(try url("/"))
        while let page = sample.next() {
            let path = page.target
            let links = links(path)
            let new = try links.filter { known.insert($0).inserted }.map(url)
            for page in new { sample.offer(page) }
            sample.fetched(
                PlanSample.Page(
                    url: page, byteCount: size(path), latency: .milliseconds(100),
                    newAssets: path == "/" ? 10 : 0, newAssetByteCount: path == "/" ? 50_000 : 0,
                    newPages: new, links: try links.map(url)))
        }
        return sample
    }

    private static let manner = PlanSample.Manner(connections: 16)

    @Test func `a site that the first page knows wholly is told exactly, from a few of its pages`() throws {
        let all = (0..<500).map { "/blog/post-\($0)" } + (0..<40).map { "/about/\($0).html" }
        let sample = try sample { _ in all }
        #expect(sample.pages.count < 20)
        let estimate = sample.estimate(Self.manner)
        #expect(estimate.pages == PlanEstimate.Bounds(low: 541, high: 541))
        #expect(
            estimate.groups.map(\.pattern) == ["a.test/blog/post-{n}", "a.test/about/{n}.html", "a.test/"])
        #expect(estimate.groups.map(\.pages.low) == [500, 40, 1])
        #expect(estimate.byteCount == PlanEstimate.Bounds(low: 591_000, high: 591_000))
    }

    @Test func `what lies behind pages at the limit of the depth is not guessed at`() throws {
        var sample = PlanSample()
        sample.offer(try url("/"))
        // Each of a hundred lists names a hundred pages, whose links are further than is wanted.
        while let page = sample.next() {
            let isList = page.path.hasSuffix("/index.html")
            let names = isList ? (0..<100).map { "/\(page.path.dropFirst().prefix(3))/\($0)" } : []
            let new = try (page.path == "/" ? (100..<200).map { "/\($0)/index.html" } : names).map(url)
            for target in new { sample.offer(target, leadsOn: !isList) }
            sample.fetched(PlanSample.Page(url: page, byteCount: 1000, latency: .zero, newPages: new))
        }
        let lists = sample.pages.count { $0.url.path.hasSuffix("/index.html") }
        #expect(lists > 70, "\(lists)")
        let pages = sample.estimate(Self.manner).pages
        #expect(pages.low == 101 + lists * 100)
        #expect(pages.high.map { $0 >= 10_101 } == true, "\(pages)")
    }

    @Test func `a list whose end is not in sight has none`() throws {
        let estimate = try sample { path in
            guard path.hasPrefix("/list/"), let page = Int(path.dropFirst(6)) else { return ["/list/0"] }
            return ["/list/\(page + 1)"] + (0..<10).map { "/item/\(page * 10 + $0)" }
        }.estimate(Self.manner)
        #expect(estimate.pages.high == nil)
        #expect(estimate.byteCount.high == nil)
        #expect(estimate.seconds.high == nil)
        #expect(estimate.groups.first?.pattern == "a.test/item/{n}")
        #expect(estimate.groups.first.map { $0.pages.low >= 50 } == true)
    }

    @Test(arguments: UInt64(0)..<3)
    func `a site of many lists, of which few were seen, has no upper end but a larger sample`(seed: UInt64)
        throws
    {
        // 600 modules with ten pages each, and one of them with 20,000.
        func links(_ path: String) -> [String] {
            if path == "/" { return (0..<600).map { "/m\($0)/index.html" } }
            guard path.hasSuffix("/index.html") else { return ["/"] }
            return (0..<(path == "/m431/index.html" ? 20_000 : 10)).map { "\(path.dropLast(10))f\($0).html" }
        }
        let estimate = try sample(links, seed: seed).estimate(Self.manner)
        #expect(estimate.pages.low <= 27_000)
        #expect(estimate.pages.high == nil && estimate.isSampleTooSmall, "\(estimate.pages)")
    }

    @Test func `a tree that was seen in part lies between what is known and what its leaves may bring`()
        throws
    {
        // 1 + 10 + 100 pages, of which the leaves link to nothing.
        let estimate = try sample { path in
            let depth = path.utf8.count { $0 == UInt8(ascii: "/") }
            if path == "/" { return (0..<10).map { "/s\($0)/" } }
            return depth == 2 && path.hasSuffix("/") ? (0..<10).map { "\(path)p\($0)/x" } : []
        }.estimate(Self.manner)
        #expect(estimate.pages.low <= 111 && estimate.pages.low > 50)
        #expect(estimate.pages.high.map { $0 >= 111 && $0 < 200 } == true)
    }

    @Test(arguments: UInt64(0)..<20)
    func `a site whose pages lead on from one to the next has an end`(seed: UInt64) throws {
        // 500 pages in 20 chapters; each names its neighbours, the start and some others, and chapters name
        // their pages.
        let estimate = try sample(
            { path in
                let front = (0..<5).map { "/c\($0)/index.html" }
                guard let page = Int(path.split(separator: "/").last?.prefix { $0 != "." } ?? "") else {
                    guard let chapter = Int(path.drop { !$0.isNumber }.prefix { $0.isNumber }) else {
                        return front
                    }
                    return front + ["/c\(min(19, chapter + 1))/index.html"]
                        + (0..<10).map { "/c\(chapter)/\($0).html" }
                }
                let folder = path.prefix { $0 != "." }.drop { $0 == "/" }.prefix { $0 != "/" }
                return front + ["/\(folder)/index.html", "/\(folder)/\(min(23, page + 1)).html"]
            }, seed: seed
        ).estimate(Self.manner)
        #expect(estimate.pages.low <= 501)
        #expect(estimate.pages.high.map { $0 < 2000 } == true, "\(estimate.pages)")
    }

    @Test func `thousands of names make a few patterns`() throws {
        let names = (0..<3000).map { number in
            let letters =
                String(UnicodeScalar(UInt8(97 + number % 26)))
                + String(UnicodeScalar(UInt8(97 + number / 26 % 26)))
            return "/std/\(letters)/struct.\(letters)x\(["a", "b", "c", "d", "e"][number / 676]).html"
        }
        let sample = try sample { _ in names }
        #expect(sample.pages.count <= 120)
        let estimate = sample.estimate(Self.manner)
        #expect(estimate.groups.count <= 24)
        #expect(estimate.groups.first?.pattern == "a.test/std/**/*.html")
        #expect(estimate.pages.low == 3001)
    }

    @Test func `sizes that differ make a range`() throws {
        let estimate = try sample(
            { _ in (0..<100).map { "/a/\($0)" } }, size: { path in (path.utf8.last.map(Int.init) ?? 0) * 100 }
        ).estimate(Self.manner)
        let group = try #require(estimate.groups.first)
        #expect(group.byteCount.low < group.byteCount.high ?? 0)
        let truth = (0..<100).map { Int("\($0)".utf8.last ?? 0) * 100 }.reduce(0, +)
        #expect(group.byteCount.low <= truth)
        #expect(group.byteCount.high.map { $0 >= truth } == true)
    }

    @Test func `a distance between requests makes the time`() throws {
        let sample = try sample { _ in (0..<99).map { "/a/\($0)" } }
        // 100 pages and 10 assets, 100 ms each.
        #expect(sample.estimate(Self.manner).seconds == PlanEstimate.Bounds(low: 1, high: 3))
        let slow = sample.estimate(PlanSample.Manner(connections: 16, distance: .seconds(2)))
        #expect(slow.seconds == PlanEstimate.Bounds(low: 220, high: 220))
    }

    @Test func `traps are named, and a sample of nothing says nothing`() {
        let trap = TrapReason(kind: .calendar, pattern: "a.test/{year}/{month}/", pages: 96, alike: 95)
        let estimate = PlanSample().estimate(Self.manner, traps: [trap])
        #expect(estimate.traps == [trap])
        #expect(estimate.pages == PlanEstimate.Bounds(low: 0, high: 0))
        #expect(estimate.groups.isEmpty)
    }
}
