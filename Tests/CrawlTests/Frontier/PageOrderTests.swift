import TestOrigin
import Testing
import Web

@testable import Crawl
@testable import Fetch

/// Crawls of a generated site with a page limit, each with another order of responses.
@Suite struct PageOrderTests {
    private static let limit = 60

    /// The links of a page of the site, with redirects, broken pages, queries, and frames that link to further pages.
    private static func links(of path: String) throws -> [FoundLink] {
        let seed = path.utf8.reduce(UInt64(7)) { Mixing.mix($0 ^ UInt64($1)) }
        func link(_ path: String, _ role: Frontier.Role) throws -> FoundLink {
            FoundLink(url: try #require(WebURL("http://a.test\(path)")), role: role)
        }
        if path.hasPrefix("/frame") {
            return try (0..<3).map { try link("/framed/\((seed >> ($0 * 8)) % 20)", .page) }
        }
        if path.hasSuffix(".png") { return [] }
        var links = try (0..<5).map { try link("/p\((seed >> ($0 * 8)) % 211)", .page) }
        links.append(try link("/p\(seed % 50)?sort=\(seed % 3)", .page))
        links.append(try link("/calendar/2024/\(seed % 97)", .page))
        links.append(try link("/picture\(seed % 30).png", .asset))
        if seed % 7 == 0 { links.append(try link("/frame\(seed % 5)", .asset)) }
        return links
    }

    /// The pages that a crawl requests, and the largest number of pages that were requested at a time.
    private static func crawl(seed: UInt64) throws -> (pages: Set<String>, maxRunningRequests: Int) {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(
            scope: Scope(start: [start]),
            options: Frontier.Options(
                connectionsPerHost: 16, limits: CrawlLimits(pages: limit), productToken: "larder"))
        frontier.start(start)
        var random = SeededRandom(seed: seed)
        var running: [Frontier.Task] = []
        var (pages, maxRunningRequests) = (Set<String>(), 0)
        while true {
            while let task = frontier.next(now: .zero) {
                running.append(task)
                guard case .fetch(let number) = task, frontier.entry(number).role == .page else { continue }
                pages.insert(frontier.url(number).href)
            }
            maxRunningRequests = max(maxRunningRequests, running.count)
            guard let task = running.indices.randomElement(using: &random).map({ running.remove(at: $0) })
            else {
                guard frontier.waitsToSettle else { break }
                frontier.apply(.settled, now: .zero)
                continue
            }
            switch task {
            case .robots(let host, _, _):
                frontier.apply(
                    .robots(
                        host: host,
                        .answered(
                            status: 200, body: Array("User-agent: *\nDisallow: /p3\n".utf8),
                            from: .publicNetwork)),
                    now: .zero)
            case .fetch(let number): try answer(number, frontier)
            case .probe(let host, _, _): frontier.apply(.probed(host: host, nil), now: .zero)
            case .sessionCheck, .render: break
            }
        }
        #expect(frontier.isDone)
        return (pages, maxRunningRequests)
    }

    private static func answer(_ number: UInt32, _ frontier: TestFrontier) throws {
        let url = frontier.url(number)
        let seed = url.path.utf8.reduce(UInt64(11)) { Mixing.mix($0 ^ UInt64($1)) }
        if url.path.hasPrefix("/p"), seed % 9 == 1 {
            return frontier.fail(number, .status(404), now: .zero)
        }
        if url.path.hasPrefix("/p"), seed % 9 == 2 {
            frontier.apply(
                .redirected(number, .init(target: WebURL("http://a.test/moved/\(seed % 40)"))), now: .zero)
            return
        }
        frontier.succeed(number)
        frontier.apply(
            .scanned(ScanResult(number: number, byteCount: 0, links: try links(of: url.path))), now: .zero)
    }

    @Test func `the order of responses does not change which pages a page limit includes`() throws {
        let first = try Self.crawl(seed: 0)
        #expect(first.pages.count == Self.limit)
        // The limit does not prevent parallel requests.
        #expect(first.maxRunningRequests >= 8)
        for seed in 1...UInt64(40) {
            let next = try Self.crawl(seed: seed)
            #expect(next.pages == first.pages, "seed \(seed)")
        }
    }

    @Test("A page that waits for its next attempt does not delay others")
    func waiting() throws {
        let start = try #require(WebURL("http://a.test/"))
        let frontier = TestFrontier(
            scope: Scope(start: [start]),
            options: Frontier.Options(
                connectionsPerHost: 8, limits: CrawlLimits(pages: Self.limit), productToken: nil))
        frontier.start(start)
        var pages: Set<String> = []
        while case .fetch(let number)? = frontier.next(now: .zero) {
            let url = frontier.url(number)
            pages.insert(url.path)
            if url.path == "/page0" {
                // The next attempt is later than the end of this test.
                frontier.fail(number, .fetch(FetchFailure(.broken, "the connection broke")), now: .zero)
                continue
            }
            let links = try (0..<100).map { page in
                FoundLink(url: try #require(WebURL("http://a.test/page\(page)")), role: .page)
            }
            frontier.succeed(number)
            frontier.apply(.scanned(ScanResult(number: number, byteCount: 0, links: links)), now: .zero)
        }
        #expect(pages.count == Self.limit)
        let waitingPage = try #require(WebURL("http://a.test/page0"))
        let number = try #require(frontier.number(of: waitingPage))
        #expect(frontier.state(number) == .waiting)
    }
}
