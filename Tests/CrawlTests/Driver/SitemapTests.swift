import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Sitemaps that robots.txt or the user names.
@Suite struct SitemapTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws {
        bench = try CrawlBench()
        bench.origin.on("/", .page("start"))
        for page in 1...4 { bench.origin.on("/p\(page)", .page("page \(page)")) }
    }

    private func map(_ targets: String...) -> String {
        let entries = targets.map { "<url><loc>\(origin.url($0))</loc></url>" }.joined()
        return
            "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\(entries)</urlset>"
    }

    /// The text in gzip format, as one stored block without compression.
    private static func gzip(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var crc: UInt32 = .max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        func littleEndian(_ number: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        let count = UInt32(bytes.count)
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1] + littleEndian(count, 2) + littleEndian(~count, 2)
            + bytes
            + littleEndian(~crc, 4) + littleEndian(count, 4)
    }

    @Test func `sitemaps in robots.txt are read: XML, index, gzip and plain text`() throws {
        origin.on(
            "/robots.txt",
            .file("Sitemap: /index.xml\nSitemap: \(origin.url("/lines.txt"))\n", type: "text/plain"))
        let index = ["/one.xml", "/two.xml.gz"].map { "<sitemap><loc>\(origin.url($0))</loc></sitemap>" }
            .joined()
        origin.on(
            "/index.xml",
            .file(
                "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\(index)</sitemapindex>",
                type: "text/xml"))
        origin.on("/one.xml", .file(map("/p1"), type: "application/xml"))
        origin.on("/two.xml.gz", .file(Self.gzip(map("/p2", "/p3")), type: "application/x-gzip"))
        origin.on(
            "/lines.txt",
            .file("\(origin.url("/p4"))\r\n# no link\nhttp://elsewhere.test/x\n", type: "text/plain"))
        let report = try bench.politeCrawl()
        #expect(report.pages == 5)
        #expect(report.misses == [])
        #expect(report.skips == ["/x: on another host"])
        for page in 1...4 { #expect(try bench.text("/p\(page)") == "page \(page)") }
        #expect(try bench.stored("/one.xml")?.role == 2)
    }

    @Test func `sitemaps that the user names are read, and one that does not exist is missing`() throws {
        origin.on("/mine.xml", .file(map("/p1"), type: "text/xml"))
        let report = try bench.crawl { plan in
            plan.sitemaps = try ["/mine.xml", "/gone.xml"].map { try #require(WebURL(origin.url($0))) }
        }
        #expect(report.pages == 2)
        #expect(report.missing.map(\.address.path) == ["/gone.xml"])
    }

    private func index(_ targets: [String]) -> OriginAnswer {
        let entries = targets.map { "<sitemap><loc>\(origin.url($0))</loc></sitemap>" }.joined()
        return .file(
            "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\(entries)</sitemapindex>",
            type: "text/xml")
    }

    @Test func `nested sitemap indexes are read for two levels`() throws {
        origin.on("/robots.txt", .file("Sitemap: /maps/0.xml", type: "text/plain"))
        origin.otherwise { [origin = bench.origin.base] request in
            let depth = Int(request.path.split(separator: "/").last?.split(separator: ".").first ?? "") ?? 0
            let entries = (0..<10).map {
                "<sitemap><loc>\(origin)/maps\(request.path.hashValue & 0xFFFF)-\($0)/\(depth + 1).xml</loc></sitemap>"
            }
            return .file("<sitemapindex>\(entries.joined())</sitemapindex>", type: "text/xml")
        }
        let report = try bench.politeCrawl()
        #expect(report.pages == 1)
        #expect(report.requests <= 2 + 1 + 10 + 100)
        #expect(report.skipped.count { $0.cause == .nestedSitemap } >= 900)
    }

    @Test func `a sitemap index in a sitemap index is read`() throws {
        origin.on("/robots.txt", .file("Sitemap: /top.xml", type: "text/plain"))
        origin.on("/top.xml", index(["/middle.xml"]))
        origin.on("/middle.xml", index(["/one.xml"]))
        origin.on("/one.xml", .file(map("/p1", "/p2"), type: "text/xml"))
        #expect(try bench.politeCrawl().pages == 3)
    }

    @Test func `with depth 0 no sitemap is read`() throws {
        origin.on("/robots.txt", .file("Sitemap: /top.xml", type: "text/plain"))
        origin.on("/top.xml", index((0..<50).map { "/s\($0).xml" }))
        origin.otherwise { [map = map("/p1")] _ in .file(map, type: "text/xml") }
        let limited = try bench.politeCrawl { $0.limits.pages = 1 }
        #expect(limited.requests <= 5)
        let flat = try bench.politeCrawl { $0.sitePlan.scope.depth = 0 }
        #expect(flat.requests <= 5)
    }

    @Test func `a sitemap index lists only sitemaps of its own host`() throws {
        let other = try TestOrigin(.ipv6)
        origin.on("/robots.txt", .file("Sitemap: /top.xml", type: "text/plain"))
        origin.on(
            "/top.xml",
            .file(
                "<sitemapindex><sitemap><loc>\(other.url("/s.xml"))</loc></sitemap></sitemapindex>",
                type: "text/xml"))
        let report = try bench.politeCrawl()
        #expect(other.requests.isEmpty)
        #expect(report.missing.isEmpty)
        #expect(report.skips == ["/s.xml: on another host"])
    }

    @Test func `a second run finds its pages again`() throws {
        origin.on("/robots.txt", .file("Sitemap: /one.xml", type: "text/plain"))
        origin.on("/one.xml", OriginAnswer.file(map("/p1"), type: "text/xml").validated(entityTag: "\"1\""))
        #expect(try bench.politeCrawl().pages == 2)
        #expect(try bench.politeCrawl().pages == 2)
        #expect(bench.origin.requests(to: "/one.xml").count == 2)
    }
}
