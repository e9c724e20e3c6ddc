import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import Crawl
@testable import Fetch

/// Other users of the store, and a full disk, during a crawl.
@Suite struct ConcurrentUseTests {
    private static func text(_ page: Int, _ word: String = "page") -> String {
        String(repeating: "\(word) \(page) ", count: 300)
    }

    @Test func `a garbage collection during a crawl does not affect the crawl`() throws {
        let bench = try CrawlBench()
        let folder = bench.folder
        let other = try TestOrigin()
        other.on("/", .page((1...20).map { "<a href=/\($0)></a>" }.joined()))
        for page in 1...20 { other.on("/\(page)", .page(Self.text(page, "other"))) }
        let elsewhere = try #require(WebURL(other.url("/")))
        for _ in 0..<2 {
            _ = try bench.crawl { plan in
                plan.site = elsewhere.href
                plan.start = [elsewhere]
            }
        }
        // With an earlier snapshot of the site, half of the responses are confirmed, and the others replace stored ones.
        bench.origin.on("/", .page((1...60).map { "<a href=/p\($0)></a>" }.joined()))
        for page in 1...60 {
            bench.origin.on(
                "/p\(page)", OriginAnswer.page(Self.text(page)).validated(entityTag: "\"\(page)\""))
        }
        _ = try bench.crawl()
        let results = Mutex<[Result<CollectionResult, StoreError>]>([])
        for page in 1...60 {
            let answer = OriginAnswer.page(Self.text(page, page.isMultiple(of: 2) ? "page" : "new"))
                .validated(entityTag: page.isMultiple(of: 2) ? "\"\(page)\"" : "\"new \(page)\"")
            bench.origin.on("/p\(page)") { _ in
                if page == 20 || page == 50 {
                    // The lock admits one collection at a time.
                    results.withLock { results in
                        results.append(
                            Result { () throws(StoreError) in
                                try StoreWriter(folder).collect(
                                    CollectionOptions(
                                        limit: results.isEmpty ? nil : 60_000, allowsIncomplete: true))
                            })
                    }
                }
                return answer.delayed(.milliseconds(5))
            }
        }
        let report = try bench.crawl { $0.sitePlan.connectionsPerHost = 4 }
        let collected = try results.withLock { try $0.map { try $0.get() } }
        #expect(collected.count == 2)
        // A collection keeps all responses of the running crawl, whatever the limit, and evicts others.
        #expect(collected.last?.evictedURLs ?? 0 > 0)
        #expect(report.isPublished && report.missing.isEmpty && report.pages == 61, "\(report.misses)")
        #expect(report.confirmed == 30)
        for page in 1...60 {
            let word = page.isMultiple(of: 2) ? "page" : "new"
            #expect(try bench.text("/p\(page)") == Self.text(page, word))
        }
        #expect(try StoreReader(folder).inspect().isSound)
        // Once the crawl has ended, a collection may remove its leftovers.
        _ = try StoreWriter(folder).collect(CollectionOptions())
        #expect(try StoreReader(folder).inspect().isSound)
        #expect(try bench.crawl().confirmed == 60)
    }

    @Test(.enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"))
    func `endless bodies on a nearly full disk are reported and dropped, and the run continues`()
        throws
    {
        let bench = try CrawlBench()
        let disk = try Tmpfs(byteCount: 12_000_000)
        let folder = StoreFolder(disk.path + "/store")
        let links = (1...3).map { "<img src=/endless\($0)>" } + (1...40).map { "<a href=/p\($0)></a>" }
        bench.origin.on("/", .page(links.joined()))
        for page in 1...40 { bench.origin.on("/p\(page)", .page(Self.text(page))) }
        for stream in 1...3 {
            let piece = String(repeating: "e", count: 100_000 + stream)
            bench.origin.on("/endless\(stream)", OriginAnswer.endless(piece, type: "image/png"))
        }
        let start = try #require(WebURL(bench.origin.url("/")))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        plan.fetch.proxies = ProxyRules()
        let report = try Crawl(plan, interruption: Interruption()).run()
        #expect(report.isPublished && report.pages == 41)
        #expect(report.missing.map(\.address.path).sorted() == ["/endless1", "/endless2", "/endless3"])
        #expect(report.misses.allSatisfy { $0.contains("disk full") }, "\(report.misses)")
        #expect(try StoreReader(folder).inspect().isSound)
    }
}
