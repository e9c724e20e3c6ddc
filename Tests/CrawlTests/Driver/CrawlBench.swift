import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// An origin and an empty store for crawls of it.
struct CrawlBench {
    let origin: TestOrigin
    let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
    }

    var folder: StoreFolder { StoreFolder(scratch.path) }

    func crawl(
        _ interruption: Interruption = Interruption(),
        _ configure: (inout CrawlPlan) throws -> Void = { _ in }
    ) throws -> CrawlReport {
        let start = try #require(WebURL(origin.url("/")))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        plan.fetch.proxies = ProxyRules()
        try configure(&plan)
        return try Crawl(plan, interruption: interruption).run()
    }

    /// With a name for robots.txt to speak to.
    func politeCrawl(_ configure: (inout CrawlPlan) throws -> Void = { _ in }) throws -> CrawlReport {
        try crawl { plan in
            plan.productToken = "larder"
            try configure(&plan)
        }
    }

    func stored(_ target: String) throws -> StoredResponse? {
        try StoreReader(folder).response(for: origin.url(target))
    }

    func bytes(_ target: String) throws -> [UInt8]? {
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: origin.url(target))?.body else { return nil }
        return try #require(try reader.content(of: body)).load()
    }

    func text(_ target: String) throws -> String? {
        try bytes(target).map { String(decoding: $0, as: UTF8.self) }
    }

    func count(_ target: String) -> Int { origin.requests(to: target).count }
}

extension CrawlReport {
    /// Paths of what was skipped, with the reasons.
    var skips: [String] { skipped.map { "\($0.address.path): \($0.reason)" }.sorted() }

    var misses: [String] { missing.map { "\($0.address.path): \($0.failure)" }.sorted() }
}
