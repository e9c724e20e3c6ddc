import Fetch
import Markup
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Partial bodies are resumed.
@Suite struct ResumeCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }
    private static let size = 1_000_000
    private static let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 251 ^ $0) }

    init() throws {
        bench = try CrawlBench()
        origin.on("/", .page("<img src=/large.bin>"))
    }

    private static func large(_ tag: String = "\"1\"") -> OriginAnswer {
        OriginAnswer.file(body, type: "application/octet-stream").validated(entityTag: tag)
    }

    private var ranges: [String?] { origin.requests(to: "/large.bin").map { $0["Range"] } }

    @Test func `a partial body is resumed by the next attempt of the same run`() throws {
        origin.on("/large.bin", Self.large().truncated(after: 600_000), Self.large())
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(ranges == [nil, "bytes=600000-"])
        #expect(try bench.bytes("/large.bin") == Self.body)
    }

    @Test func `a partial body is resumed by a later run`() throws {
        let interruption = Interruption()
        origin.on("/large.bin") { _ in
            Self.large().dripping(600_000, every: .seconds(60))
        }
        let start = try #require(WebURL(origin.url("/")))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: bench.folder,
            userAgent: "larder-test")
        plan.progress = { [scratch = bench.scratch] _ in
            // The partial body is in a file in the store's folder `incoming`.
            let parts = scratch.names(in: "incoming").map { scratch.file("incoming/" + $0) }
            if parts.contains(where: { BodyContent.file(path: $0).byteCount ?? 0 >= 600_000 }) {
                interruption.request()
            }
        }
        let first = try Crawl(plan, interruption: interruption).run()
        #expect(first.isInterrupted)
        origin.on("/large.bin", Self.large())
        let second = try bench.crawl()
        #expect(second.isContinued)
        #expect(ranges.count == 2)
        #expect(ranges.last??.hasPrefix("bytes=") == true)
        #expect(origin.requests(to: "/large.bin").last?["If-Range"] == "\"1\"")
        #expect(try bench.bytes("/large.bin") == Self.body)
    }

    @Test func `a 503 in between keeps the partial body`() throws {
        origin.on("/large.bin", Self.large().truncated(after: 600_000), .failure(503), Self.large())
        #expect(try bench.crawl().misses == [])
        #expect(ranges == [nil, "bytes=600000-", "bytes=600000-"])
        #expect(try bench.bytes("/large.bin") == Self.body)
    }

    @Test func `a body of another version is loaded completely`() throws {
        origin.on("/large.bin", Self.large().truncated(after: 600_000), Self.large("\"2\""))
        #expect(try bench.crawl().misses == [])
        #expect(try bench.bytes("/large.bin") == Self.body)
    }

    @Test func `a part that does not fit is discarded, and the whole body is requested`() throws {
        origin.on("/large.bin") { request in
            guard request["Range"] != nil else {
                return Self.large().truncated(after: request["X"] == nil ? 600_000 : 1)
            }
            return OriginAnswer(
                status: 206, fields: [("ETag", "\"1\""), ("Content-Range", "bytes 5-9/1000000")],
                body: [1, 2, 3, 4, 5])
        }
        let report = try bench.crawl()
        #expect(report.missing.map(\.address.path) == ["/large.bin"])
        // After a part that does not fit, the whole body is requested.
        #expect(ranges == [nil, "bytes=600000-", nil, "bytes=600000-"])
        #expect(report.tallies["127.0.0.1"]?.failures == 4)
    }

    @Test func `short parts are followed by further range requests`() throws {
        origin.on("/large.bin") { request in
            guard let range = request["Range"] else { return Self.large().truncated(after: 300_000) }
            let start = Int(range.filter(\.isNumber)) ?? 0
            let end = min(start + 50_000, Self.size)
            return OriginAnswer(
                status: 206,
                fields: [("ETag", "\"1\""), ("Content-Range", "bytes \(start)-\(end - 1)/\(Self.size)")],
                body: Array(Self.body[start..<end]))
        }
        let report = try bench.crawl()
        #expect(report.misses == [])
        #expect(try bench.bytes("/large.bin") == Self.body)
        #expect(ranges.count == 15)
    }

    @Test func `after an unsolicited 304 the whole body is requested`() throws {
        origin.on("/large.bin") { [bench] request in
            if request["Range"] != nil { return OriginAnswer(status: 304, fields: [("ETag", "\"1\"")]) }
            return bench.count("/large.bin") < 2 ? Self.large().truncated(after: 600_000) : Self.large()
        }
        #expect(try bench.crawl().misses == [])
        #expect(ranges == [nil, "bytes=600000-", nil])
        #expect(try bench.bytes("/large.bin") == Self.body)
    }

    @Test func `partial bodies that no run resumes are removed`() throws {
        origin.on("/large.bin", Self.large().truncated(after: 600_000), .failure(404))
        #expect(try bench.crawl().missing.count == 1)
        #expect(bench.scratch.names(in: "incoming").isEmpty)
        #expect(bench.scratch.names(in: "partials").isEmpty)
    }
}

/// Crawls that continue an interrupted snapshot.
@Suite struct ContinuedSnapshotTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }
    private let now = SystemClock.secondsSinceEpoch()

    init() throws {
        bench = try CrawlBench()
        origin.on("/", .page("<a href=/a>a</a><a href=/b>b</a>").validated(entityTag: "\"front\""))
        origin.on("/a", .page("new").validated(entityTag: "\"new\""))
        origin.on("/b", .page("b"))
    }

    /// Stores a snapshot that contains the start URL and an older version of `/a`, both fetched `age` seconds ago.
    private func storeSnapshot(secondsAgo age: Int64, _ ending: SnapshotEnding) throws {
        let writer = try StoreWriter(bench.folder)
        let start = origin.url("/")
        let snapshot = try writer.begin(site: start, start: [start], now: now - age)
        var responses: [NewResponse] = []
        for (target, text, tag) in [("/", "<a href=/a>a</a><a href=/b>b</a>", "front"), ("/a", "old", "old")]
        {
            let bytes = Array("<!DOCTYPE html>\(text)".utf8)
            let table = LinkScanner().table(of: bytes.span, form: "html;utf-8") ?? LinkTable()
            let body = try NewBody(
                .bytes(bytes), form: "html;utf-8", links: table.encoded(), in: bench.folder)
            var response = NewResponse(
                href: origin.url(target), referrer: nil, status: 200, role: 0,
                fields: "Content-Type: text/html\r\nETag: \"\(tag)\"\r\n", fetched: now - age,
                body: .new(body))
            response.number = UInt32(responses.count)
            response.flags = .fromThisMachine
            responses.append(response)
        }
        var links = NewLinks(from: NewLinks.Target(href: start, number: 0))
        links.pages = [("/a", UInt32(1)), ("/b", 2)].map {
            NewLinks.Target(href: origin.url($0), number: $1)
        }
        try writer.add(responses, links: [links], to: snapshot)
        try writer.end(snapshot, ending)
    }

    @Test(arguments: [(Int64(60), 0, "old"), (3600, 1, "new")])
    func `a continued update validates its old responses, and reuses the recent ones`(
        age: Int64, requests: Int, text: String
    ) throws {
        try storeSnapshot(secondsAgo: 7200, .publish(now: now - 7200))
        try storeSnapshot(secondsAgo: age, .keepOpen)
        let report = try bench.crawl()
        #expect(report.isContinued && report.isPublished)
        #expect(bench.count("/a") == requests)
        #expect(try bench.text("/a")?.hasSuffix(text) == true)
        let site = try #require(StoreReader(bench.folder).sites().first)
        #expect(site.snapshots.last?.responseCount == 3)
    }

    @Test func `a continued first snapshot reuses all its responses`() throws {
        try storeSnapshot(secondsAgo: 3600, .keepOpen)
        #expect(try bench.crawl().isPublished)
        #expect(bench.count("/a") == 0)
        #expect(bench.count("/b") == 1)
    }
}
