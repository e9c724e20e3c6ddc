import LarderKit
import TestOrigin
import Testing

@Suite struct PlanTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
    }

    @Test func `a look at a site estimates it from a few of its pages and keeps nothing`() async throws {
        let links = (0..<300).map { "<a href=/item/\($0)>\($0)</a>" }.joined()
        origin.on("/", .page("<link rel=stylesheet href=/s.css>" + links))
        for number in 0..<300 { origin.on("/item/\(number)", .page("item number \(number) is for sale")) }
        origin.on("/s.css", .file("b {}", type: "text/css"))
        let report = try await Larder(at: scratch.path + "/store").plan([origin.url("/")])
        #expect(report.pages.low == 301)
        #expect(report.pages.high == 301)
        #expect(report.requests < 20)
        #expect(report.groups.contains { $0.pattern.hasSuffix("/item/{n}") && $0.pages.low == 300 })
        #expect(report.json.contains("\"patterns\""))
        #expect(scratch.names().isEmpty)
    }

    @Test func `robots holds the look back too, and a site that is not there gives nothing`() async throws {
        origin.on("/robots.txt", .file("User-agent: larder\nDisallow: /a\nCrawl-delay: 2", type: "text/plain"))
        origin.on("/", .page("<a href=/a>a</a><a href=/b>b</a>"))
        origin.on("/b", .page("b"))
        let report = try await Larder(at: scratch.path).plan([origin.url("/")])
        #expect(report.refusedByRobots == 1)
        #expect(report.crawlDelay == 2)
        #expect(origin.requests(to: "/a").isEmpty)
        let nothing = try await Larder(at: scratch.path).plan([origin.url("/none")])
        #expect(nothing.groups.isEmpty)
    }
}
