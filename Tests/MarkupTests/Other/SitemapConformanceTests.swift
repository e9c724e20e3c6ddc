import Markup
import TestOrigin
import Testing

/// Sitemaps and feeds as crawler-commons collects them: namespaces that are wrong, missing or renamed, byte order marks,
/// plain lists.
@Suite struct SitemapConformanceTests {
    struct File: Sendable, CustomTestStringConvertible {
        var name: String
        var format: BodyFormat
        /// How many links of each kind.
        var counts: [LinkKind: Int]
        var testDescription: String { name }
    }

    static let files: [File] = [
        File(name: "atom.xml", format: .feed, counts: [.canonical: 1, .feedEntry: 2, .name: 2, .page: 1, .ping: 1]),
        File(name: "feed.rss", format: .feed, counts: [.feedEntry: 3, .name: 1, .page: 1]),
        File(name: "xmlRss_pubDate.xml", format: .feed, counts: [.feedEntry: 7, .page: 1]),
        File(name: "sitemap.badns.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "sitemap.ns.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "sitemap.index.xml", format: .sitemap, counts: [.sitemapEntry: 15]),
        File(name: "sitemap.txt", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "sitemap-with-bom.txt", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(
            name: "extension/hebdenbridgetimes-articles-sitemap.xml", format: .sitemap,
            counts: [.sitemapEntry: 74, .image: 100, .frame: 6]),
        File(name: "extension/pagemaps-sitemap.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(name: "extension/shinpaideshou-news-sitemap.xml", format: .sitemap, counts: [.sitemapEntry: 3]),
        File(name: "extension/sitemap-images.xml", format: .sitemap, counts: [.sitemapEntry: 1, .image: 2, .about: 1]),
        File(name: "extension/sitemap-links.xml", format: .sitemap, counts: [.sitemapEntry: 3, .alternate: 9]),
        File(name: "extension/sitemap-mobile.xml", format: .sitemap, counts: [.sitemapEntry: 3]),
        File(name: "extension/sitemap-news.xml", format: .sitemap, counts: [.sitemapEntry: 2]),
        File(
            name: "extension/sitemap-videos-tvshow.xml", format: .sitemap,
            counts: [.sitemapEntry: 1, .image: 1, .media: 1, .frame: 1]),
        File(
            name: "extension/sitemap-videos.xml", format: .sitemap,
            counts: [.sitemapEntry: 3, .image: 3, .media: 3, .frame: 1]),
    ]

    @Test("Each file's links are found", .enabled(if: ConformanceData.isThere), arguments: files)
    func file(_ file: File) {
        let scan = Scan(ConformanceData.bytes("sitemaps/" + file.name), file.format)
        #expect(Dictionary(grouping: scan.found, by: \.kind).mapValues(\.count) == file.counts)
        #expect(scan.faults == [])
        // All of them are written in full.
        #expect(scan.found.allSatisfy { $0.flags.contains(.namesOrigin) || $0.kind == .name })
    }
}
