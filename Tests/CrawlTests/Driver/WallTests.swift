import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Pages of public servers lead to nothing that only this machine can reach. A proxy stands for the public network: what
/// came through one came from nobody knows where.
@Suite struct WallTests {
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
        var plan = CrawlPlan(site: start.href, start: [start], folder: bench.folder, userAgent: "larder-test")
        plan.fetch.proxies = ProxyRules(http: Proxy("socks5h://127.0.0.1:\(proxy.port)"))
        try configure(&plan)
        return (try Crawl(plan, interruption: Interruption()).run(), proxy)
    }

    @Test func `neither by a link nor by a redirect, and the reason is told`() throws {
        let report = try crawl().report
        #expect(report.pages == 2)
        #expect(secret.requests.isEmpty)
        #expect(report.missing.map(\.url.href) == [secret.url("/dot.gif")])
        #expect(
            report.missing.first?.failure.description
                == "127.0.0.1 is a loopback address, where a public page may not lead")
    }

    @Test func `unless the user allows it`() throws {
        let report = try crawl { $0.mayReachPrivate = true }.report
        #expect(report.misses == [])
        #expect(secret.requests.count == 1)
    }

    @Test func `nor is a robots.txt asked for where no page may be`() throws {
        bench.origin.on("/", .page("<a href=\(secret.url("/page"))>p</a>"))
        let report = try crawl { plan in
            plan.scope.include = ["127.0.0.1:\(secret.port)/**"]
            plan.productToken = "larder"
        }.report
        #expect(secret.requests.isEmpty)
        #expect(report.skipped.count == 1)
        #expect(report.skips.map { $0.contains("may not lead") } == [true], "\(report.skips) \(report.misses)")
    }

    @Test func `a page on this machine leads to it`() throws {
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(secret.requests.count == 1)
    }

    @Test(arguments: [(ResponseFlags(), 0), (.fromThisMachine, 1)])
    func `what is held keeps from where it came`(flags: ResponseFlags, requests: Int) throws {
        let writer = try StoreWriter(bench.folder)
        let start = bench.origin.url("/")
        let visit = try writer.begin(site: start, start: [start], now: 1)
        var page = NewResponse(
            href: start, referrer: nil, status: 200, role: 0, fields: "Content-Type: text/html\r\n", fetched: 1,
            body: .new(
                try NewBody(
                    .bytes(Array("<img src=\(secret.url("/dot.gif"))>".utf8)), form: "html;utf-8", links: [],
                    in: bench.folder)))
        page.number = 0
        page.flags = flags
        var links = NewLinks(from: NewLinks.Target(href: start, number: 0))
        links.requisites = [NewLinks.Target(href: secret.url("/dot.gif"), number: 1)]
        try writer.add([page], links: [links], to: visit)
        try writer.end(visit, .publish(now: 2))
        let report = try bench.crawl { $0.policy = .preferCache }
        #expect(secret.requests.count == requests)
        #expect(report.missing.count == 1 - requests)
    }
}
