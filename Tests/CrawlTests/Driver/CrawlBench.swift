import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// A test origin, and an empty store for crawls of it.
struct CrawlBench {
    let origin: TestOrigin
    let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
    }

    /// Creates a bench with the same origin and an empty store.
    init(emptied other: CrawlBench) throws {
        origin = other.origin
        scratch = try TemporaryFolder()
    }

    /// Calls `attempt` with a time limit, and with five times the limit as long as it returns nil because the busy machine
    /// was too slow for the limit. The last attempt must return a result.
    static func retrying<Result>(
        from first: Duration, _ attempt: (_ time: Duration, _ isLast: Bool) throws -> Result?
    ) throws -> Result {
        var time = first
        while true {
            let isLast = time >= .seconds(60)
            if let result = try attempt(time, isLast) { return result }
            try #require(!isLast)
            time *= 5
        }
    }

    var folder: StoreFolder { StoreFolder(scratch.path) }

    func crawl(
        _ interruption: Interruption = Interruption(),
        _ configure: (inout CrawlPlan) throws -> Void = { _ in }
    ) throws -> CrawlReport {
        try Crawl(try plan(configure), interruption: interruption).run()
    }

    /// Makes the plan for a crawl of the origin.
    func plan(_ configure: (inout CrawlPlan) throws -> Void = { _ in }) throws -> CrawlPlan {
        let start = try #require(WebURL(origin.url("/")))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        plan.fetch.proxies = ProxyRules()
        try configure(&plan)
        return plan
    }

    /// Crawls with a product token, so that robots.txt is requested and obeyed.
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
    /// The path and the reason of each skipped URL, sorted.
    var skips: [String] { skipped.map { "\($0.address.path): \($0.reason)" }.sorted() }

    /// The path and the failure of each missing URL, sorted.
    var misses: [String] { missing.map { "\($0.address.path): \($0.failure)" }.sorted() }
}
