import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Crawls of pages with videos of which a playlist offers several renditions.
@Suite struct MediaCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    private static let hls = "application/vnd.apple.mpegurl"
    private static let lowFiles: Set = ["/low.m3u8", "/low.key", "/low1.ts", "/low2.ts"]
    private static let highFiles: Set = ["/high.m3u8", "/high-init.mp4", "/high1.m4s"]
    private static let commonFiles: Set = ["/", "/v.m3u8", "/sound.m3u8", "/sound1.aac"]

    init() throws {
        bench = try CrawlBench()
        origin.on("/", .page("<video src=/v.m3u8></video>").validated(entityTag: "\"1\""))
        origin.on(
            "/v.m3u8",
            .file(
                """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="x",DEFAULT=YES,URI="sound.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360,AUDIO="s"
                low.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=2,RESOLUTION=1920x1080,AUDIO="s"
                high.m3u8
                """, type: Self.hls
            ).validated(entityTag: "\"2\""))
        let lists = [
            "/low.m3u8":
                "#EXT-X-KEY:METHOD=AES-128,URI=\"low.key\"\n#EXTINF:2,\nlow1.ts\n#EXTINF:2,\nlow2.ts",
            "/high.m3u8": "#EXT-X-MAP:URI=\"high-init.mp4\"\n#EXT-X-BYTERANGE:5@0\n#EXTINF:2,\nhigh1.m4s",
            "/sound.m3u8": "#EXTINF:2,\nsound1.aac",
        ]
        for (name, list) in lists {
            let text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n\(list)\n#EXT-X-ENDLIST\n"
            origin.on(name, .file(text, type: Self.hls).validated(entityTag: "\"3\""))
        }
        for name in ["/low.key", "/low1.ts", "/low2.ts", "/high-init.mp4", "/high1.m4s", "/sound1.aac"] {
            origin.on(name, .file(name, type: "video/mp2t"))
        }
    }

    private func crawl(_ media: MediaChoice?) throws -> CrawlReport {
        try bench.crawl { $0.sitePlan.media = media }
    }

    private var requested: Set<String> { Set(origin.requests.map(\.target)) }

    private func storedAssets(of target: String) throws -> [String] {
        let reader = try StoreReader(bench.folder)
        let response = try #require(try bench.stored(target))
        return try #require(try reader.storedLinks(of: response)).assets.map {
            String($0.dropFirst(origin.base.count))
        }
    }

    @Test func `only the chosen rendition is fetched, and the other one is reported with the option`() throws
    {
        let report = try crawl(nil)
        #expect(requested == Self.commonFiles.union(Self.lowFiles))
        #expect(report.missing.isEmpty)
        #expect(report.skipped.map(\.url) == [origin.url("/high.m3u8")])
        #expect(report.skipped.first?.cause == .rendition && report.skipped.first?.remedy == .media)
        // The offline check follows these links, and must not need the other renditions.
        #expect(Set(try storedAssets(of: "/v.m3u8")) == ["/low.m3u8", "/sound.m3u8"])
    }

    @Test func `a later run with another choice fetches the other rendition of an unchanged playlist`() throws
    {
        _ = try crawl(nil)
        let report = try crawl(.best)
        #expect(requested == Self.commonFiles.union(Self.lowFiles).union(Self.highFiles))
        #expect(report.skipped.map(\.url) == [origin.url("/low.m3u8")])
        #expect(Set(try storedAssets(of: "/v.m3u8")) == ["/high.m3u8", "/sound.m3u8"])
    }

    @Test func `without media no video is fetched, and a later run with a choice fetches it`() throws {
        let report = try crawl(MediaChoice.none)
        #expect(requested == ["/"])
        #expect(report.skipped.map(\.url) == [origin.url("/v.m3u8")])
        #expect(try storedAssets(of: "/") == [])
        _ = try crawl(nil)
        #expect(requested == Self.commonFiles.union(Self.lowFiles))
    }

    @Test func `a page that names a rendition itself gets it`() throws {
        origin.on("/", .page("<video src=/v.m3u8></video><a href=/b>b</a>"))
        origin.on("/b", .page("<video src=/high.m3u8></video>"))
        _ = try crawl(nil)
        #expect(requested.isSuperset(of: Self.highFiles) && requested.isSuperset(of: Self.lowFiles))
    }

    @Test func `the segments of a live stream are not followed`() throws {
        let live = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nlow1.ts\n"
        origin.on("/low.m3u8", .file(live, type: Self.hls))
        let report = try crawl(nil)
        #expect(!requested.contains("/low1.ts") && requested.contains("/sound1.aac"))
        #expect(report.skipped.contains { $0.cause == .endless("a live stream") })
        #expect(report.missing.isEmpty)
    }

    @Test func `the segments that a DASH template names are fetched`() throws {
        origin.on("/", .page("<video src=/d/m.mpd></video>"))
        let template = "<SegmentTemplate duration='4' media='$RepresentationID$-$Number%03d$.m4s'/>"
        origin.on(
            "/d/m.mpd",
            .file(
                """
                <MPD mediaPresentationDuration='PT6S'><Period><AdaptationSet mimeType='video/mp4'>\(template)
                <Representation id='a' height='2160'/><Representation id='b' height='720'/>
                </AdaptationSet></Period></MPD>
                """, type: "application/dash+xml"))
        for name in ["a-001", "a-002", "b-001", "b-002"] {
            origin.on("/d/\(name).m4s", .file(name, type: "video/mp4"))
        }
        let report = try crawl(nil)
        #expect(requested == ["/", "/d/m.mpd", "/d/b-001.m4s", "/d/b-002.m4s"])
        #expect(report.skipped.count == 2 && report.skipped.allSatisfy { $0.cause == .rendition })
    }
}
