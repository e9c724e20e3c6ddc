import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// The effect of `nofollow` and `noindex` in links, pages and headers.
@Suite struct DirectivePolicyTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws {
        bench = try CrawlBench()
        origin.on("/", .page("<a href=/open>o</a><a rel='ugc nofollow' href=/ugc>u</a>", tag: "root"))
        origin.on(
            "/open",
            .page(
                """
                <meta name=robots content="nofollow"><a href=/hidden>h</a><a href=http://elsewhere.test/>e</a>
                <img src=/dot.png><iframe src=/frame></iframe>
                """, tag: "open"))
        origin.on("/ugc", .page("ugc"))
        origin.on("/hidden", .page("hidden"))
        origin.on("/frame", .page("frame"))
        origin.on("/dot.png", .file([1], type: "image/png"))
    }

    @Test func `a page is requested with the Accept header of a navigation`() throws {
        let bench = try CrawlBench()
        for target in ["/", "/app/1", "/app/2"] {
            bench.origin.on(target) { request in
                request["Accept"]?.hasPrefix("text/html,") ?? false
                    ? .page("<a href=/app/1>1</a><a href=/app/2>2</a><script src=/a.js></script>")
                    : .failure(404)
            }
        }
        bench.origin.on("/a.js") {
            $0["Accept"] == "*/*" ? .file("1", type: "text/javascript") : .failure(404)
        }
        let report = try bench.crawl()
        #expect(report.missing.isEmpty)
        #expect(try bench.text("/app/2") != nil && bench.text("/a.js") == "1")
        // A header field of the user takes precedence.
        _ = try bench.crawl { try $0.fetch.hostFields.add("Accept", "text/plain") }
        #expect(bench.origin.requests(to: "/").last?["Accept"] == "text/plain")
    }

    private static let nofollow = "its link is marked as nofollow"

    @Test(arguments: [
        (NofollowPolicy.follow, ["/: on another host"], true, true),
        (.pages, ["/: on another host", "/hidden: \(nofollow)"], true, false),
        (.obey, ["/: on another host", "/hidden: \(nofollow)", "/ugc: \(nofollow)"], false, false),
    ])
    func `nofollow applies to links to pages, not to assets`(
        nofollow: NofollowPolicy, skips: [String], isUGCStored: Bool, isHiddenStored: Bool
    ) throws {
        for _ in 1...2 {
            // The second run finds the directives in the stored responses.
            let report = try bench.crawl { $0.sitePlan.nofollow = nofollow }
            #expect(report.skips == skips)
            #expect(report.skipped.allSatisfy { ($0.cause == .nofollow) == ($0.remedy == .nofollow) })
            #expect(report.isPublished)
            #expect(try (bench.text("/ugc") != nil) == isUGCStored)
            #expect(try (bench.text("/hidden") != nil) == isHiddenStored)
            #expect(try bench.text("/frame") == "frame")
            #expect(try bench.bytes("/dot.png") == [1])
        }
    }

    @Test func `X-Robots-Tag applies if it is for all crawlers or for this one`() throws {
        for (value, isFollowed) in [
            ("nofollow", false), ("larder: none", false), ("otherbot: nofollow", true),
        ] {
            let bench = try CrawlBench()
            bench.origin.on(
                "/",
                OriginAnswer(
                    status: 200, fields: [("Content-Type", "text/html"), ("X-Robots-Tag", value)],
                    body: Array("<a href=/a>".utf8)))
            bench.origin.on("/a", .page("a"))
            _ = try bench.politeCrawl { $0.sitePlan.nofollow = .pages }
            #expect(try (bench.text("/a") != nil) == isFollowed, "\(value)")
        }
    }

    @Test func `a link without nofollow is followed, whatever the order of the links`() throws {
        origin.on("/", .page("<a href=/open>o</a><a href=/slow>s</a>"))
        // /slow responds once /open has been scanned, whose image is then requested.
        origin.on("/slow") { [weak origin] _ in
            _ = origin?.waitForRequests(1, to: "/dot.png")
            return .page("<a href=/hidden>h</a>")
        }
        let report = try bench.crawl()
        #expect(report.skips == ["/: on another host"])
        #expect(try bench.text("/hidden") == "hidden")
        #expect(try bench.stored("/hidden")?.href == origin.url("/hidden"))
    }

    @Test func `with noindex obeyed, the links of the page are followed and the page is not stored`() throws {
        origin.on(
            "/open",
            .page("<meta name=robots content=noindex><a href=/hidden>h</a><img src=/dot.png>", tag: "open"))
        #expect(try bench.crawl().pages == 4)
        #expect(try bench.text("/open") != nil)
        let other = try CrawlBench()
        other.origin.on("/", .page("<meta name=robots content=noindex><a href=/open>o</a>"))
        other.origin.on(
            "/open", .page("<meta name=robots content=noindex><a href=/hidden><img src=/dot.png>"))
        other.origin.on("/hidden", .page("hidden"))
        for _ in 1...2 {
            let report = try other.crawl { $0.sitePlan.noindex = .obey }
            #expect(report.pages == 2)
            #expect(report.skips == ["/open: marked as noindex: read for its links, but not stored"])
            #expect(report.misses == [])
            #expect(try other.stored("/open") == nil)
            #expect(try other.text("/hidden") == "hidden")
            #expect(other.count("/dot.png") == 0)
        }
        // The new snapshot does not take over the response that was stored without `noindex`.
        let report = try bench.crawl { $0.sitePlan.noindex = .obey }
        #expect(report.skips == ["/open: marked as noindex: read for its links, but not stored"])
        #expect(try bench.stored("/open")?.snapshot != report.snapshot)
        #expect(report.pages == 3)
    }

    @Test func `a framed page with noindex is stored as an asset`() throws {
        origin.on("/", .page("<a href=/frame>f</a><a href=/slow>s</a>"))
        origin.on("/frame", .page("<meta name=robots content=noindex><a href=/ugc>u</a>frame"))
        // /slow responds once the page that it frames has been scanned, whose link is then requested.
        origin.on("/slow") { [weak origin] _ in
            _ = origin?.waitForRequests(1, to: "/ugc")
            return .page("<iframe src=/frame></iframe>")
        }
        let report = try bench.crawl { $0.sitePlan.noindex = .obey }
        #expect(report.skips == [])
        #expect(try bench.text("/frame")?.hasSuffix("frame") == true)
    }
}

extension OriginAnswer {
    fileprivate static func page(_ text: String, tag: String) -> OriginAnswer {
        OriginAnswer.page(text).validated(entityTag: "\"\(tag)\"")
    }
}
