import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// The requests of a second crawl, by cache policy.
@Suite struct UpdateTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
        origin.on("/", page("<a href=/two>2</a><img src=/dot.gif>", tag: "\"root\""))
        origin.on("/two", page("<a href=/three>3</a>", tag: "\"two\""))
        origin.on("/three", page("three", tag: nil))
        origin.on(
            "/dot.gif", OriginAnswer.file([71, 73, 70], type: "image/gif").validated(entityTag: "\"dot\""))
        let first = try crawl()
        try #require(first.isPublished)
        try #require(first.requests == 4)
    }

    private func page(_ text: String, tag: String?) -> OriginAnswer {
        let page = OriginAnswer.page(text)
        return tag.map { page.validated(entityTag: $0) } ?? page
    }

    private var folder: StoreFolder { StoreFolder(scratch.path) }

    private func crawl(_ policy: CachePolicy = .revalidate) throws -> CrawlReport {
        let start = try #require(WebURL(origin.url("/")))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        plan.policy = policy
        return try Crawl(plan, interruption: Interruption()).run()
    }

    private func text(_ target: String) throws -> String? {
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: origin.url(target))?.body else { return nil }
        return String(decoding: try #require(try reader.content(of: body)).load(), as: UTF8.self)
    }

    @Test func `an ETag that is not UTF-8 is sent back byte by byte`() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\nETag: \"abc"
        origin.on("/three") { request in
            // The test origin decodes a byte that is not UTF-8 as U+FFFD.
            guard request["If-None-Match"] == "\"abc\u{FFFD}\"" else {
                return .raw(Array(head.utf8) + [0xFC] + Array("\"\r\n\r\n3".utf8))
            }
            return OriginAnswer(status: 304)
        }
        #expect(try crawl().confirmed == 3)
        #expect(try crawl().confirmed == 4)
    }

    @Test func `an unchanged response costs a request without a body, and an unchanged site no new snapshot`()
        throws
    {
        let before = origin.requests.count
        let report = try crawl()
        let requests = origin.requests.dropFirst(before)
        #expect(report.confirmed == 3)
        #expect(report.pages == 3)
        #expect(report.assets == 1)
        #expect(requests.map(\.target).sorted() == ["/", "/dot.gif", "/three", "/two"])
        #expect(requests.first { $0.target == "/two" }?["If-None-Match"] == "\"two\"")
        #expect(try StoreReader(folder).response(for: origin.url("/two"), ofSnapshot: report.snapshot) != nil)
        #expect(try StoreReader(folder).sites()[0].snapshots.map(\.responseCount) == [4])
        #expect(try StoreReader(folder).summary().bodies == 4)
        #expect(try text("/two") == "<a href=/three>3</a>")
    }

    /// Each reused page queues the next one. If that were started within the handling of the page before, the stack would
    /// grow with the length of the chain.
    @Test func `a long chain of reused pages is followed to its end`() throws {
        let bench = try CrawlBench()
        let count = 1000
        for page in 0...count {
            let link = page < count ? "<a href=/page\(page + 1)>next</a>" : ""
            // Text that differs from page to page, because alike pages would be a crawler trap.
            let text = (0..<8).map { Self.word(Mixing.mix(UInt64(page) << 8 | UInt64($0))) }
            bench.origin.on(page == 0 ? "/" : "/page\(page)", .page(text.joined(separator: " ") + link))
        }
        #expect(try bench.crawl().pages == count + 1)
        let report = try bench.crawl { $0.policy = .preferCache }
        #expect(report.pages == count + 1)
        #expect(report.requests == 0)
    }

    private static func word(_ hash: UInt64) -> String {
        String(decoding: (0..<8).map { UInt8(ascii: "a") + UInt8(hash >> ($0 * 8) & 15) }, as: UTF8.self)
    }

    @Test("An update keeps pages that differ only in a token and the time of the request")
    func perRequestValues() throws {
        func page(_ token: String, _ seconds: Int64, _ text: String) -> OriginAnswer {
            .page(
                """
                <form><input type=hidden name=csrf value=\(token)></form><p>\(text)</p><a href=/four>4</a>
                <img src="/beacon?id=2&amp;\(seconds)">
                """
            ).adding("Date", HTTPDate(secondsSinceEpoch: seconds).description)
        }
        origin.on("/beacon", OriginAnswer.file([71, 73, 70], type: "image/gif"))
        origin.on("/three", page("Ab12Cd34Ef", 1_732_800_000, "three"))
        let first = try crawl()
        #expect(!first.isUnchanged)

        origin.on("/three", page("Gh56Ij78Kl", 1_732_886_400, "three"))
        let second = try crawl()
        #expect(second.isUnchanged)
        #expect(try text("/three")?.contains("Ab12Cd34Ef") == true)
        #expect(!origin.requests.contains { $0.target.hasSuffix("1732886400") })

        origin.on("/three", page("Mn90Op12Qr", 1_732_972_800, "another three"))
        let third = try crawl()
        #expect(!third.isUnchanged)
        #expect(try text("/three")?.contains("Mn90Op12Qr") == true)
    }

    @Test func `a missing body is requested without conditions`() throws {
        let (middle, large) = (
            String(repeating: "middle ", count: 2000), String(repeating: "large ", count: 300_000)
        )
        origin.on("/two", page(middle + "<a href=/three>3</a>", tag: "\"middle\""))
        origin.on("/three", page(large, tag: "\"large\""))
        _ = try crawl(.reload)
        for lost in ["bodies", "packs"] {
            for name in scratch.names(in: lost) { scratch.remove("\(lost)/\(name)") }
            #expect(try !StoreReader(folder).inspect().isSound)
            _ = try crawl()
            #expect(try StoreReader(folder).inspect().isSound, "\(lost)")
        }
        #expect(try text("/three") == large)
        #expect(try text("/two")?.hasPrefix(middle) == true)
    }

    @Test func `a body scanned by an older version is scanned again although it has not changed`() throws {
        let text = "<script>window.open('/opened')</script><noframes><a href=/framed>f</a></noframes>"
        origin.on("/", page(text, tag: "\"root\""))
        origin.on("/opened", page("opened", tag: "\"opened\""))
        origin.on("/framed", page("framed", tag: "\"framed\""))
        let home = try TemporaryFolder()
        let folder = StoreFolder(home.file("store"))
        let start = origin.url("/")
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: start, start: [start], now: 1)
        // A table of version 1 without a link.
        let body = try NewBody(
            .bytes(Array(text.utf8)), form: "html;utf-8", links: [1, 0, 0, 0, 0], in: folder)
        var stored = NewResponse(
            href: start, referrer: nil, status: 200, role: 0,
            fields: "Content-Type: text/html; charset=utf-8\r\nETag: \"root\"\r\n", fetched: 1,
            body: .new(body))
        stored.flags = .fromThisMachine
        let links = NewLinks(from: NewLinks.Target(href: start, number: 1))
        try writer.add([stored], links: [links], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        func update() throws -> CrawlReport {
            let url = try #require(WebURL(start))
            var plan = CrawlPlan(
                site: start, start: [url], startZone: .thisMachine, folder: folder, userAgent: "larder-test")
            plan.policy = .revalidate
            return try Crawl(plan, interruption: Interruption()).run()
        }
        let report = try update()
        #expect(report.confirmed == 1)
        #expect(report.pages == 3)
        let reader = try StoreReader(folder)
        let found = try #require(try reader.response(for: start))
        let table = try reader.links(of: try #require(found.body))
        #expect(table.count > 5 && table.first != 1)
        #expect(try reader.storedLinks(of: found)?.pages == [origin.url("/opened"), origin.url("/framed")])
        #expect(try update().confirmed == 3)
    }

    @Test func `a changed page is loaded, and its new links are followed`() throws {
        origin.on("/two", page("<a href=/four>4</a>", tag: "\"newer\""))
        origin.on("/four", page("four", tag: nil))
        let report = try crawl()
        #expect(report.confirmed == 2)
        #expect(try text("/two") == "<a href=/four>4</a>")
        #expect(try text("/four") == "four")
    }

    @Test func `a file with an older Last-Modified has changed`() throws {
        let dated = OriginAnswer.page("new").validated(
            entityTag: nil, lastModified: "Fri, 20 Nov 2026 10:00:00 GMT")
        origin.on("/three", dated)
        _ = try crawl()
        origin.on(
            "/three",
            OriginAnswer.page("old").validated(entityTag: nil, lastModified: "Thu, 19 Nov 2026 10:00:00 GMT"))
        _ = try crawl()
        #expect(try text("/three") == "old")
    }

    @Test func `a failure keeps the stored response, and a gone page becomes a tombstone`() throws {
        origin.on("/two", .failure(500))
        origin.on("/dot.gif", .failure(410))
        let report = try crawl()
        #expect(report.isPublished)
        #expect(report.missing.map(\.address.path).sorted() == ["/dot.gif", "/two"])
        #expect(try text("/two") == "<a href=/three>3</a>")
        #expect(try StoreReader(folder).response(for: origin.url("/dot.gif"))?.status == 410)
    }

    @Test(arguments: CodedText.allCases)
    func `a truncated content coding does not replace a stored body`(sample: CodedText) throws {
        func page(_ bytes: [UInt8]) -> OriginAnswer {
            OriginAnswer.file(bytes, type: "text/html").adding("Content-Encoding", sample.coding)
                .validated(entityTag: "\"\(bytes.count)\"")
        }
        origin.on("/three", page(sample.bytes))
        #expect(try crawl().missing.isEmpty)
        origin.on("/three", page(Array(sample.bytes[..<(sample.bytes.count / 2)])))
        let report = try crawl()
        #expect(report.missing.map(\.address.path) == ["/three"])
        #expect(report.missing.allSatisfy { $0.isKeptFromBefore })
        #expect(try text("/three")?.utf8.count == CodedText.byteCount)
    }

    @Test func `a 304 for another version is not accepted`() throws {
        origin.on("/two") { request in
            request["If-None-Match"] == nil
                ? OriginAnswer.page("other").adding("ETag", "\"other\"")
                : OriginAnswer(status: 304, fields: [("ETag", "\"other\"")])
        }
        _ = try crawl()
        #expect(try text("/two") == "other")
    }

    @Test(
        arguments: [
            (.preferCache, 0), (.reload, 4), (.reloadEndToEnd, 4), (.revalidate, 4), (.protocol, 4),
        ] as [(CachePolicy, Int)])
    func `the cache policy decides which URLs are requested`(policy: CachePolicy, requests: Int) throws {
        let before = origin.requests.count
        let report = try crawl(policy)
        #expect(report.requests == requests)
        #expect(report.pages == 3)
        #expect(report.isPublished)
        let requests = origin.requests.dropFirst(before)
        #expect(
            requests.allSatisfy { $0["If-None-Match"] == nil } == ![.revalidate, .protocol].contains(policy))
        if policy == .reloadEndToEnd { #expect(requests.allSatisfy { $0["Cache-Control"] == "no-cache" }) }
    }

    @Test func `policy protocol does not request fresh responses`() throws {
        origin.on("/two", page("<a href=/three>3</a>", tag: "\"2\"").adding("Cache-Control", "max-age=600"))
        _ = try crawl()
        let report = try crawl(.protocol)
        #expect(origin.requests(to: "/two").count == 2)
        #expect(report.pages == 3)
    }

    @Test func `a stored redirect is validated and followed`() throws {
        origin.on("/two", .redirect(to: "/five"))
        origin.on("/five", page("five", tag: "\"five\""))
        _ = try crawl()
        let report = try crawl()
        #expect(report.redirects == 1)
        #expect(try text("/five") == "five")
        #expect(origin.requests(to: "/two").count == 3)
    }

    @Test func `after a 412 the URL is requested without conditions`() throws {
        origin.on("/two") { $0["If-None-Match"] == nil ? .page("plain") : .failure(412) }
        let report = try crawl()
        #expect(report.missing.isEmpty)
        #expect(try text("/two") == "plain")
    }

    @Test func `a partial body of a newer version is resumed`() throws {
        let body = [UInt8](repeating: 7, count: 1_000_000)
        let whole = OriginAnswer.file(body, type: "image/gif").validated(entityTag: "\"newer\"")
        origin.on("/dot.gif", whole.truncated(after: 600_000), whole)
        #expect(try crawl().missing.isEmpty)
        let requests = origin.requests(to: "/dot.gif").suffix(2)
        #expect(requests.first?["If-None-Match"] == "\"dot\"")
        #expect(requests.last?["Range"] == "bytes=600000-")
        #expect(requests.last?["If-Range"] == "\"newer\"")
        #expect(requests.last?["If-None-Match"] == nil)
        let stored = try #require(try StoreReader(folder).response(for: origin.url("/dot.gif"))?.body)
        #expect(stored.byteCount == body.count)
    }
}
