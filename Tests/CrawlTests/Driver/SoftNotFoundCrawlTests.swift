import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Soft 404s: pages that say "not found" with a status of success.
@Suite struct SoftNotFoundCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws { bench = try CrawlBench() }

    private static func sixtyWords(_ text: String) -> String {
        (0..<60).map { "\(text)\($0)" }.joined(separator: " ")
    }

    private static func missing(_ target: String) -> OriginAnswer {
        .page("<title>Page not found</title><p>\(sixtyWords("sorry")) nothing at \(target)")
    }

    /// Serves a start page that links to one page and to two URLs that are soft 404s, as are all other URLs.
    private func serveSite() {
        origin.on(
            "/",
            .page("<a href=/good>g</a><a href=/bad>b</a><a href=/worse>w</a><p>\(Self.sixtyWords("welcome"))")
        )
        origin.on("/good", .page("<title>Good</title><p>\(Self.sixtyWords("good"))"))
        origin.otherwise { Self.missing($0.target) }
    }

    @Test func `soft 404s are stored and reported as missing, and the host is probed once`()
        throws
    {
        serveSite()
        let report = try bench.crawl()
        #expect(report.pages == 2)
        #expect(try StoreReader(bench.folder).tally(ofSnapshot: 1, limit: 10).pages == 2)
        #expect(report.missing.map(\.failure) == [.softNotFound, .softNotFound])
        #expect(Set(report.missing.map(\.address.path)) == ["/bad", "/worse"])
        #expect(try bench.text("/bad")?.contains("not found") == true)
        #expect(origin.requests.count == 5)
        #expect(report.isPublished)
    }

    @Test func `an unchanged soft 404 stays one without a new probe`() throws {
        serveSite()
        origin.on("/bad", Self.missing("/bad").validated(entityTag: "\"bad\""))
        origin.on("/worse", Self.missing("/worse").validated(entityTag: "\"worse\""))
        let first = try bench.crawl()
        #expect(first.misses.count == 2)
        origin.forgetRequests()
        let second = try bench.crawl()
        #expect(second.confirmed == 2)
        #expect(second.misses == first.misses)
        #expect(second.pages == 2)
        #expect(origin.requests.count == 4)
        // The third run takes the result from the second snapshot.
        #expect(try bench.crawl().misses == first.misses)
        // A soft 404 that has content now is a page.
        origin.on("/bad", .page("<title>Back</title><p>\(Self.sixtyWords("back"))"))
        #expect(try bench.crawl().missing.map(\.address.path) == ["/worse"])
    }

    @Test func `a host without suspects is not probed`() throws {
        serveSite()
        origin.on("/", .page("<a href=/good>g</a>"))
        #expect(try bench.crawl().pages == 2)
        #expect(origin.requests.count == 2)
    }

    @Test func `a page titled "not found" is a page if the server answers 404 for missing URLs`() throws {
        serveSite()
        origin.on("/bad", .page("<title>How to fix error 404</title><p>\(Self.sixtyWords("advice"))"))
        origin.on("/worse", .page("<title>Not found: a novel</title><p>\(Self.sixtyWords("novel"))"))
        origin.otherwise { _ in .failure(404) }
        let report = try bench.crawl()
        #expect(report.pages == 4)
        #expect(report.misses == [])
        #expect(origin.requests.count == 5)
    }

    @Test func `start URLs and the identical pages of a single-page app are not soft 404s`() throws {
        origin.otherwise { _ in
            .page("<title>404 facts</title><a href=/a>a</a><a href=/b>b</a>\(Self.sixtyWords("app"))")
        }
        let report = try bench.crawl()
        #expect(report.pages == 3)
        #expect(report.misses == [])
    }

    @Test func `soft 404s without such words are recognised by repetition`() throws {
        let links = (0..<40).map { "<a href=/x\($0)>\($0)</a>" }.joined()
        origin.on("/", .page("\(links)<p>\(Self.sixtyWords("welcome"))"))
        origin.otherwise { _ in .page("<title>Shop</title><p>\(Self.sixtyWords("oops"))") }
        // One request at a time: pages that were scanned before the host is suspected are not recognised.
        let report = try bench.crawl { $0.sitePlan.connectionsPerHost = 1 }
        #expect(report.missing.count > 20)
        #expect(report.missing.count + report.pages == 41)
        #expect(report.missing.allSatisfy { $0.failure == .softNotFound })
    }
}

@Suite struct NotFoundWordsTests {
    @Test(arguments: [
        ("Page not found", true), ("404", true), ("Error 404 (Not Found)!!1", true),
        ("Seite nicht gefunden – X", true),
        ("Page introuvable", true), ("HTTP/404", true), ("Peugeot 4040", false), ("Lost and found", false),
        ("", false),
        ("Home", false), ("A404B", false),
    ])
    func `titles say "not found" in several languages`(title: String, expected: Bool) {
        #expect(NotFoundWords.areSaid(in: title) == expected)
    }
}
