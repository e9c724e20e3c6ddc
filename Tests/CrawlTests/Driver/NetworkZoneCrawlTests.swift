import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Public pages cannot make the crawl request private addresses. A proxy stands for the public network, because
/// the zone of a response through a proxy is unknown and counts as public.
@Suite struct NetworkZoneCrawlTests {
    private let bench: CrawlBench
    private let secret: TestOrigin

    init() throws {
        bench = try CrawlBench()
        secret = try TestOrigin()
        secret.on("/dot.gif", .file([71, 73, 70], type: "image/gif"))
        let image = secret.url("/dot.gif")
        bench.origin.on("/", .page("<img src=\(image)><a href=/two>2</a>"))
        bench.origin.on("/two", .page("<img src=/moved>"))
        bench.origin.on("/moved", .redirect(to: image))
    }

    private func crawl(
        _ configure: (inout CrawlPlan) throws -> Void = { _ in }
    ) throws -> (report: CrawlReport, proxy: SocksProxy) {
        let proxy = try SocksProxy(to: bench.origin.port)
        let start = try #require(WebURL("http://public.test/"))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: bench.folder,
            userAgent: "larder-test")
        plan.fetch.proxies = ProxyRules(http: Proxy("socks5h://127.0.0.1:\(proxy.port)"))
        try configure(&plan)
        return (try Crawl(plan, interruption: Interruption()).run(), proxy)
    }

    @Test func `a public page cannot link or redirect to this machine, and the reason is reported`() throws {
        let report = try crawl().report
        #expect(report.pages == 2)
        #expect(secret.requests.isEmpty)
        #expect(report.missing.map(\.url) == [secret.url("/dot.gif")])
        #expect(
            report.missing.first?.failure.description
                == "127.0.0.1 is a loopback address, which a public page may not request")
    }

    @Test func `the user can allow requests to this machine`() throws {
        let report = try crawl { $0.allowedZone = .thisMachine }.report
        #expect(report.misses == [])
        #expect(secret.requests.count == 1)
    }

    @Test func `robots.txt is not requested where pages are blocked`() throws {
        bench.origin.on("/", .page("<a href=\(secret.url("/page"))>p</a>"))
        let report = try crawl { plan in
            plan.sitePlan.scope.include = ["127.0.0.1:\(secret.port)/**"]
            plan.productToken = "larder"
        }.report
        #expect(secret.requests.isEmpty)
        #expect(report.skipped.count == 1)
        #expect(
            report.skips.map { $0.contains("may not request") } == [true], "\(report.skips) \(report.misses)")
    }

    @Test func `a public robots.txt cannot name a sitemap on this machine`() throws {
        secret.on("/map.xml", .file("http://public.test/two", type: "text/plain"))
        bench.origin.on("/robots.txt", .file("Sitemap: \(secret.url("/map.xml"))", type: "text/plain"))
        let report = try crawl { $0.productToken = "larder" }.report
        #expect(secret.requests.isEmpty)
        #expect(try StoreReader(bench.folder).response(for: secret.url("/map.xml")) == nil)
        #expect(report.missing.map(\.url).contains(secret.url("/map.xml")))
    }

    @Test func `a robots.txt on this machine may name a sitemap there, and is stored with its zone`() throws {
        secret.on("/map.xml", .file(bench.origin.url("/two"), type: "text/plain"))
        bench.origin.on("/robots.txt", .file("Sitemap: \(secret.url("/map.xml"))", type: "text/plain"))
        _ = try bench.politeCrawl()
        #expect(secret.requests(to: "/map.xml").count == 1)
        #expect(try bench.stored("/robots.txt")?.flags.zone == .thisMachine)
    }

    @Test func `a page on this machine can link to this machine`() throws {
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(secret.requests.count == 1)
    }

    /// The requester of the miss was a page that Larder served. Its network zone limits the request, although the
    /// crawl of another page fetches the URL.
    @Test(
        arguments: [
            ([], false, "a public page"), (.fromPrivateNetwork, false, "a page of the private network"),
            (.fromThisMachine, true, ""), ([], true, "allowed"),
        ] as [(ResponseFlags, Bool, String)], [true, false])
    func `a miss is requested within the zone of its requester`(
        case: (from: ResponseFlags, isFetched: Bool, who: String), isPage: Bool
    ) throws {
        let url = secret.url("/dot.gif")
        let miss = Miss(href: url, isPage: isPage, from: `case`.from, first: 1, last: 1)
        let report = try bench.crawl { plan in
            bench.origin.on("/", .page("nothing else"))
            plan.recordedMisses = [try #require(CrawlPlan.RecordedMiss(miss))]
            plan.productToken = "larder"
            if `case`.who == "allowed" { plan.allowedZone = .thisMachine }
            plan.sitePlan.scope.include = ["127.0.0.1:\(secret.port)/**"]
        }
        #expect(report.misses == [])
        #expect(report.wrongGuesses == 0)
        #expect(try StoreReader(bench.folder).response(for: url)?.status == (`case`.isFetched ? 200 : nil))
        if `case`.isFetched {
            #expect(report.skips == [])
            #expect(secret.requests(to: "/dot.gif").count == 1)
        } else {
            #expect(secret.requests.isEmpty)
            let reason = "127.0.0.1 is a loopback address, which \(`case`.who) may not request"
            let robots = isPage ? "robots.txt could not be read: " : ""
            #expect(report.skips == ["/dot.gif: \(robots)\(reason)"])
        }
    }

    @Test func `a miss cannot redirect to a nearer zone`() throws {
        bench.origin.on("/missed", .redirect(to: secret.url("/dot.gif")))
        let report = try crawl { plan in
            bench.origin.on("/", .page("nothing else"))
            let miss = Miss(
                href: "http://public.test/missed", isPage: false, from: .fromThisMachine, first: 1, last: 1)
            plan.recordedMisses = [try #require(CrawlPlan.RecordedMiss(miss))]
        }.report
        #expect(secret.requests.isEmpty)
        #expect(report.skips.map { $0.contains("may not request") } == [true])
    }

    /// After a 304, the links are still those of the stored body, and so is the zone that they may request.
    @Test(
        arguments: [(ResponseFlags(), 0), (.fromThisMachine, 1)], [CachePolicy.preferCache, .revalidate])
    func `a stored page keeps its network zone, also when it is confirmed`(
        case: (flags: ResponseFlags, requests: Int), policy: CachePolicy
    ) throws {
        let (flags, requests) = `case`
        bench.origin.on("/") { _ in OriginAnswer(status: 304, fields: [("ETag", "\"1\"")], body: []) }
        let writer = try StoreWriter(bench.folder)
        let start = bench.origin.url("/")
        let snapshot = try writer.begin(site: start, start: [start], now: 1)
        var page = NewResponse(
            href: start, referrer: nil, status: 200, role: 0,
            fields: "Content-Type: text/html\r\nETag: \"1\"\r\n",
            fetched: 1,
            body: .new(
                try NewBody(
                    .bytes(Array("<img src=\(secret.url("/dot.gif"))>".utf8)), form: "html;utf-8", links: [],
                    in: bench.folder)))
        page.number = 0
        page.flags = flags
        var links = NewLinks(from: NewLinks.Target(href: start, number: 0))
        links.assets = [NewLinks.Target(href: secret.url("/dot.gif"), number: 1)]
        try writer.add([page], links: [links], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let report = try bench.crawl { $0.policy = policy }
        #expect(secret.requests.count == requests)
        #expect(report.missing.count == 1 - requests)
    }
}
