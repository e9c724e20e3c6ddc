import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Updates of a site whose server sends other content in place of its pages. No stored page may be lost.
@Suite struct ReplacementTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    private static let count = 8
    private static let pages = ["/"] + (1...count).map { "/p\($0)" }
    private static let assets = ["/a.png", "/b.png", "/s.css", "/s.js"]

    init() throws {
        bench = try CrawlBench()
        for target in Self.pages { origin.on(target, .page(Self.html(target)).validated(entityTag: "\"1\"")) }
        for target in Self.assets { origin.on(target, Self.asset(target).validated(entityTag: "\"1\"")) }
        let first = try bench.crawl()
        try #require(first.isPublished && first.missing.isEmpty && first.pages == Self.pages.count)
    }

    private static func html(_ target: String, version: Int = 1) -> String {
        let links = pages.map { "<a href=\($0)>\($0)</a>" }.joined()
        let text = (1...20).map { "<p>Paragraph \($0) of \(target), version \(version).</p>" }.joined()
        return "<html><head><title>Page \(target)</title></head><body>\(text)\(links)"
            + "<img src=/a.png><img src=/b.png><link rel=stylesheet href=/s.css><script src=/s.js></script></body></html>"
    }

    private static func asset(_ target: String, version: Int = 1) -> OriginAnswer {
        let bytes = Array("\(target) \(version) ".utf8) + [UInt8](repeating: 0xAA, count: 2000)
        let type =
            target.hasSuffix("png") ? "image/png" : target.hasSuffix("css") ? "text/css" : "text/javascript"
        return .file(bytes, type: type)
    }

    private func isUnchanged(_ target: String) throws -> Bool {
        guard let stored = try bench.stored(target), stored.status == 200 else { return false }
        return try bench.bytes(target)
            == (Self.assets.contains(target) ? Self.asset(target).body : Array(Self.html(target).utf8))
    }

    /// The responses that replace those of the site in an update.
    struct Replacement: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The replaced targets. All others are unchanged.
        let targets: [String]
        let answer: @Sendable (_ target: String) -> OriginAnswer

        init(
            _ description: String, _ targets: [String] = pages + assets,
            _ answer: @escaping @Sendable (String) -> OriginAnswer
        ) {
            testDescription = description
            self.targets = targets
            self.answer = answer
        }
    }

    private static let portal =
        "<title>Hotel WiFi</title><form method=post action=/accept><button>Accept</button></form>"
    private static let inner = Array(pages.dropFirst())
    private static let half = Array(inner.prefix(4))

    private static func newer(_ target: String) -> OriginAnswer {
        (assets.contains(target) ? asset(target, version: 2) : .page(html(target, version: 2)))
            .validated(entityTag: "\"2\"")
    }

    /// The first half of the body, with the length of the half and the entity tag of the newer version.
    private static func halved(_ target: String) -> OriginAnswer {
        var answer = assets.contains(target) ? asset(target) : OriginAnswer.page(html(target))
        answer.body = Array(answer.body.prefix(answer.body.count / 2))
        return answer.adding("ETag", "\"2\"")
    }

    static let wrongResponses: [Replacement] = [
        Replacement("one page for everything") { _ in .page(portal) },
        Replacement("one page for all pages but the start", inner) { _ in .page(portal) },
        Replacement("one page for half of the pages", half) { _ in .page(portal) },
        Replacement("a page that names what was asked for", inner) {
            .page("<title>Hotel WiFi</title><form method=post><input name=to value=\($0)></form>")
        },
        Replacement("nothing, with 200, for everything") { _ in .page("") },
        Replacement("nothing, with 200, for half of the pages", half) { _ in .page("") },
        Replacement("nothing, with 204, for the pages", inner) { _ in OriginAnswer(status: 204) },
        Replacement("nothing, with 200, for assets", assets) { asset($0).with(body: []) },
        Replacement("404 for everything") { _ in .failure(404) },
        Replacement("404 for everything but the start", inner + assets) { _ in .failure(404) },
        Replacement("410 for everything but the start", inner + assets) { _ in .failure(410) },
        Replacement("404 for all pages but the start", inner) { _ in .page("<title>404</title>", status: 404)
        },
        Replacement("501 for everything") { _ in .failure(501) },
        Replacement("403 for everything") { _ in .failure(403) },
        Replacement("401 for everything") { _ in .failure(401) },
        Replacement("a login for all pages", inner) {
            .page("<title>Sign in</title>\($0)<form method=post><input type=password></form>")
        },
        Replacement("a challenge for one page", ["/p1"]) { _ in .page("<title>Just a moment...</title><p>x")
        },
        Replacement("a challenge for all pages", inner) { .page("<title>Just a moment...</title>\($0)") },
        Replacement("redirects to another host", inner) { .redirect(to: "http://localhost:1/login?\($0)") },
        Replacement("redirects to a portal that has no such name", inner) { _ in
            .redirect(to: "http://localhost:1/hotspot")
        },
        Replacement("redirects to a login of its own", inner) { .redirect(to: "/login?to=\($0)") },
        Replacement("redirects without an end", inner) { .redirect(to: $0) },
        Replacement("HTML in place of images", ["/a.png"]) { _ in .page("<p>one") },
        Replacement("HTML in place of all assets", assets) { _ in .page(portal) },
        Replacement("half of each page, with the length of the half", inner) { halved($0) },
        Replacement("half of everything, with the length of the half", inner + assets) { halved($0) },
        Replacement("a length that is too short for each page", inner) { target in
            .page(html(target)).claiming(length: html(target).utf8.count / 2).adding("ETag", "\"2\"")
        },
        Replacement("a length that is too short for newer versions", inner + assets) { target in
            newer(target).claiming(length: newer(target).body.count / 2)
        },
        Replacement("no length, and half of each page", inner) { halved($0).untilClose() },
        Replacement("no length, and half of each newer page", inner + assets) { target in
            let half = newer(target).body.count / 2
            return newer(target).untilClose().truncated(after: half)
        },
        Replacement("a connection that breaks off", ["/p1", "/a.png"]) {
            newer($0).truncated(after: 300).closing()
        },
        Replacement("a coding that breaks off", ["/p1"]) { _ in
            OriginAnswer.file([0x1F, 0x8B, 8, 0, 0, 0, 0, 0], type: "text/html").adding(
                "Content-Encoding", "gzip")
        },
        Replacement("a coding that is none", inner) { newer($0).adding("Content-Encoding", "gzip") },
        Replacement("no HTTP", ["/p1", "/a.png"]) { _ in .garbage("hello\r\n\r\n") },
    ]

    @Test(arguments: wrongResponses)
    func `wrong responses do not replace stored pages, and correct ones do so in the next run`(
        replacement: Replacement
    ) throws {
        for target in replacement.targets { origin.on(target, replacement.answer(target)) }
        let report = try bench.crawl { plan in
            plan.policy = .reload
            plan.minPages = Self.pages.count / 2
            plan.rejectsInterceptionPages = true
        }
        for target in Self.pages + Self.assets {
            #expect(try isUnchanged(target), "\(target): \(report.misses)")
        }
        // The report shows that something is wrong.
        #expect(!report.isPublished || !report.missing.isEmpty || report.isRejected)
        // The next run accepts correct responses at once.
        for target in Self.pages + Self.assets { origin.on(target, Self.newer(target)) }
        let healed = try bench.crawl { $0.sitePlan.doubts = report.doubts }
        #expect(healed.isPublished && healed.missing.isEmpty, "\(healed.misses)")
        for target in Self.pages + Self.assets {
            #expect(try bench.bytes(target) == Self.newer(target).body, "\(target)")
        }
    }

    /// Real changes of the site.
    static let changes: [Replacement] = [
        Replacement("newer versions of everything") { newer($0) },
        Replacement("newer versions without lengths") { newer($0).untilClose() },
        Replacement("newer versions in chunks") { newer($0).chunked(100) },
        Replacement("newer and much shorter pages", inner) { .page("<html>\($0)</html>") },
        Replacement("two pages that are gone", ["/p1", "/p2"]) { _ in .failure(404) },
        Replacement("an asset that is gone", ["/s.js"]) { _ in .failure(410) },
        Replacement("one page that is a login now", ["/p1"]) { _ in
            .page("<title>Log in</title><form><input type=password></form>")
        },
        Replacement("two pages that are the same now", ["/p1", "/p2"]) { _ in
            .page("<p>There is nothing more here.")
        },
        Replacement("pages that moved to one place of the site", half) { _ in
            .redirect(to: "/p8", status: 301)
        },
        Replacement("an empty style sheet", ["/s.css"]) { asset($0).with(body: []) },
        Replacement("an empty line behind each body", inner) { target in
            let body = newer(target).body
            return newer(target).with(body: body + [13, 10]).claiming(length: body.count)
        },
    ]

    @Test(arguments: changes)
    func `a change of a site is published, and nothing is wrongly reported`(change: Replacement) throws {
        for target in change.targets { origin.on(target, change.answer(target)) }
        let report = try bench.crawl { $0.policy = .reload }
        #expect(report.isPublished)
        #expect(report.keptStored == [])
        for target in change.targets {
            let answer = change.answer(target)
            #expect(try bench.stored(target)?.status == answer.status, "\(target)")
            if answer.status == 200 { #expect(try !isUnchanged(target), "\(target): \(report.misses)") }
        }
    }

    @Test func `kept responses are reported with the reason, and the run is incomplete`() throws {
        for target in Self.half { origin.on(target, .page("")) }
        let report = try bench.crawl()
        #expect(report.isPublished)
        #expect(report.keptStored.map(\.reason) == ["empty"])
        #expect(report.keptStored.map(\.count) == [4])
        #expect(report.missing.map(\.address.path) == Self.half)
        #expect(report.missing.allSatisfy { $0.isKeptFromBefore && !$0.isBroken })
    }

    @Test func `with a session, a page that is restored is scanned for its links once`() throws {
        // The portal's page replaces the first two pages, until the third one shows that it is none of the site.
        for target in Self.half { origin.on(target, .page(Self.portal)) }
        let interruption = Interruption()
        let plan = try bench.plan { try $0.fetch.hostFields.add("Cookie", "session=1", host: "127.0.0.1") }
        let crawl = try Crawl(plan, interruption: interruption)
        let maxScans = 200
        let scans = try crawl.countScans(upTo: maxScans)
        #expect(scans < maxScans)
        // A crawl that scans and restores pages without end ends only because of this.
        if scans >= maxScans { interruption.request() }
        let report = try crawl.run()
        #expect(report.keptStored.map(\.reason) == ["identical"])
        #expect(report.keptStored.map(\.count) == [Self.half.count])
        for target in Self.pages { #expect(try isUnchanged(target), "\(target)") }
    }

    @Test func `many gone pages are accepted if a run an hour later finds them gone too`() throws {
        for target in Self.inner + Self.assets { origin.on(target, .failure(404)) }
        let first = try bench.crawl()
        #expect(first.keptStored.map(\.reason) == ["gone"])
        #expect(try bench.stored("/p1")?.status == 200)
        // Moves the time of the first run back by more than an hour.
        let doubts = first.doubts.map { doubt in
            let words = doubt.split(separator: " ")
            return "\(words[0]) \((Int64(words[1]) ?? 0) - 4000) \(words[2])"
        }
        let second = try bench.crawl { $0.sitePlan.doubts = doubts }
        #expect(second.keptStored == [])
        #expect(try bench.stored("/p1")?.status == 404)
    }

    @Test func `a damaged body keeps the stored validators, so that the next run repairs it`()
        throws
    {
        origin.on("/p1") { request in
            request["If-None-Match"] == "\"2\""
                ? OriginAnswer(status: 304)
                : Self.newer("/p1").claiming(length: 400)
        }
        #expect(try bench.crawl().keptStored.map(\.reason) == ["truncated"])
        #expect(try isUnchanged("/p1"))
        origin.on("/p1", Self.newer("/p1"))
        #expect(try bench.crawl().missing.isEmpty)
        #expect(try bench.bytes("/p1") == Self.newer("/p1").body)
    }
}

extension Crawl {
    /// Runs the crawl until nothing is left to fetch or to scan, or until at least `maxScans` scans have ended. Returns
    /// the number of scans. `run()` then ends the crawl.
    fileprivate func countScans(upTo maxScans: Int) throws(CrawlError) -> Int {
        for url in plan.start { try apply(.start(url, nearestZone: plan.nearestStartZone(of: url))) }
        var count = 0
        while count < maxScans {
            try startDue()
            if frontier.isDone, scanning == 0 { break }
            for result in try waitForResults() { try didFetch(result) }
            for result in pool.takeResults() {
                count += 1
                try didScan(result)
            }
        }
        return count
    }
}

extension OriginAnswer {
    fileprivate func with(body: [UInt8]) -> OriginAnswer {
        var answer = self
        answer.body = body
        return answer
    }
}

/// `Retry-After` that asks for more than a run waits.
@Suite struct LongRetryAfterTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws { bench = try CrawlBench() }

    private static let busy = OriginAnswer.failure(503, fields: [("Retry-After", "3600")])

    @Test func `a host that asks to wait an hour gets no more requests, others do`() throws {
        let other = try TestOrigin(.ipv6)
        other.on("/x.png", .file([1, 2, 3], type: "image/png"))
        origin.on(
            "/", .page((1...40).map { "<a href=/p\($0)>p</a>" }.joined() + "<img src=\(other.url("/x.png"))>")
        )
        for number in 1...40 { origin.on("/p\(number)", Self.busy) }
        let report = try bench.crawl()
        #expect(report.elapsed < .seconds(600))
        #expect(other.requests.count == 1)
        #expect(origin.requests.count < 40)
        #expect(report.deferrals.map(\.seconds) == [3600])
        #expect(report.missing.count == 40)
        #expect(report.missing.allSatisfy { $0.reason.contains("503") && $0.reason.contains("3600 s") })
    }

    @Test func `one URL that asks to wait an hour gets no more requests, its host does`() throws {
        origin.on("/", .page("<a href=/p1>1</a><a href=/p2>2</a><a href=/p3>3</a>"))
        origin.on("/p1", Self.busy)
        for number in 2...3 { origin.on("/p\(number)", .page("page \(number)")) }
        let report = try bench.crawl()
        #expect(report.pages == 3)
        #expect(report.misses.count == 1)
        #expect(origin.requests(to: "/p1").count == 1)
    }

    @Test func `a start URL that asks to wait an hour ends the run with that reason`() throws {
        origin.on("/", Self.busy)
        let report = try bench.crawl()
        #expect(!report.isPublished)
        #expect(origin.requests.count == 1)
        #expect(report.misses.first?.contains("asked to wait 3600 s") == true)
    }
}
