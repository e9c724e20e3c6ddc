import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Servers that send challenges to bots in place of pages.
@Suite struct ChallengeCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws { bench = try CrawlBench() }

    private static let challenge = OriginAnswer(
        status: 403, fields: [("Content-Type", "text/html"), ("cf-mitigated", "challenge")],
        body: Array("<title>Just a moment...</title>".utf8))
    private static let anubis = OriginAnswer.page(
        "<title>Making sure you're not a bot!</title><script id=\"anubis_challenge\">{}</script>")

    @Test(arguments: [challenge, anubis])
    func `a bot challenge at the start URL ends the run, and is not stored`(answer: OriginAnswer) throws {
        origin.otherwise { _ in answer }
        let report = try bench.crawl()
        #expect(origin.requests.map(\.target) == ["/"])
        #expect(!report.isPublished)
        #expect(report.challengedHosts.map(\.count) == [1])
        #expect(try bench.stored("/") == nil)
    }

    @Test(arguments: [challenge, anubis])
    func `after a second challenge the host gets no more requests`(answer: OriginAnswer) throws {
        let links = (1...40).map { "<a href=/\($0)>\($0)</a>" }.joined()
        origin.on("/", .page(links))
        origin.on("/1", .page("one"))
        origin.otherwise { _ in answer }
        let report = try bench.crawl { $0.sitePlan.connectionsPerHost = 1 }
        #expect(report.isPublished)
        #expect(report.pages == 2)
        // A challenge with a status of success is noticed when it is scanned, while other requests are running.
        #expect(origin.requests.count < 12)
        #expect(report.challengedHosts.map(\.count) == [39])
        #expect(report.missing.allSatisfy { $0.reason.contains("sends a bot challenge") })
    }

    @Test func `single pages behind a challenge do not end the run`() throws {
        let links = (1...7).map { "<a href=/\($0)>\($0)</a>" }.joined()
        origin.on("/", .page(links))
        for number in 1...9 { origin.on("/\(number)", .page("page \(number)")) }
        // The second challenge comes after a page that is known to be none: one whose links have been read.
        origin.on("/7", .page("<a href=/8>8</a><a href=/9>9</a>"))
        for target in ["/2", "/8"] { origin.on(target, Self.challenge) }
        let report = try bench.crawl { $0.sitePlan.connectionsPerHost = 1 }
        #expect(report.pages == 8)
        #expect(report.challengedHosts.map(\.count) == [2])
    }

    @Test func `a bot challenge does not replace a stored page`() throws {
        origin.on("/", .page("<a href=/1>1</a><a href=/2>2</a>"))
        for target in ["/1", "/2"] { origin.on(target, .page("first \(target)")) }
        _ = try bench.crawl()
        for target in ["/1", "/2"] { origin.on(target, Self.anubis) }
        let report = try bench.crawl()
        #expect(report.missing.count == 2)
        #expect(report.missing.allSatisfy { $0.isKeptFromBefore })
        #expect(try bench.text("/1") == "first /1")
    }
}
