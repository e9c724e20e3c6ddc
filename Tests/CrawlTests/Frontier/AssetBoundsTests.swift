import Testing
import Web

@testable import Crawl

@Suite struct AssetBoundsTests {
    private var frontier: TestFrontier

    init() throws {
        let start = try #require(WebURL("http://a.test/"))
        frontier = TestFrontier(scope: Scope(start: [start]), options: Frontier.Options())
        frontier.start(start)
        _ = frontier.next(now: .zero)
        frontier.succeed(0)
    }

    private func link(_ text: String, _ role: Frontier.Role, isRefresh: Bool = false) throws -> FoundLink {
        FoundLink(isRefresh: isRefresh, url: try #require(WebURL(text)), role: role)
    }

    @Test mutating func `a chain of 100 style sheets that import each other is cut off`() throws {
        var (finder, fetched) = (UInt32(0), 0)
        for sheet in 1...200 {
            finder = frontier.addLink(try link("http://a.test/\(sheet).css", .asset), from: finder)
            guard frontier.next(now: .zero) == .fetch(finder) else { break }
            fetched += 1
            frontier.succeed(finder)
        }
        #expect(fetched == 100)
        #expect(frontier.state(finder) == .skipped(.bound(.chain)))
        // The limit counts the chain of each page separately.
        let page = frontier.addLink(try link("http://a.test/page", .page), from: 0)
        let sheet = frontier.addLink(try link("http://a.test/page.css", .asset), from: page)
        #expect(frontier.state(sheet) == .queued)
    }

    @Test mutating func `assets of one document beyond the maximum are skipped`() throws {
        for image in 0..<200_000 { frontier.addLink(try link("http://a.test/\(image).png", .asset), from: 0) }
        #expect(frontier.entries.count { $0.state == .queued } == AssetBounds.maxAssetsPerDocument)
    }

    @Test mutating func `hosts of one domain beyond 1,000 are skipped`() throws {
        for host in 0..<5000 {
            frontier.addLink(try link("http://h\(host).cdn.test/x.png", .asset), from: 0)
            frontier.addLink(try link("http://h\(host).cdn.test/y.png", .asset), from: 0)
        }
        #expect(frontier.entries.count { $0.state == .queued } == 2 * AssetBounds.maxHostsPerDomain)
        // Hosts of other domains do not count.
        let other = frontier.addLink(try link("http://cdn.other.test/x.png", .asset), from: 0)
        #expect(frontier.state(other) == .queued)
    }

    @Test mutating func `a chain of refreshes ends after 20 pages`() throws {
        var (finder, fetched) = (UInt32(0), 0)
        for page in 1...60 {
            finder = frontier.addLink(
                try link("http://a.test/r\(page)", .page, isRefresh: true), from: finder)
            guard frontier.next(now: .zero) == .fetch(finder) else { break }
            fetched += 1
            frontier.succeed(finder)
        }
        #expect(fetched == 20)
        #expect(frontier.state(finder) == .skipped(.bound(.refreshes)))
    }
}
