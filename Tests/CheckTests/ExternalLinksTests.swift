import Fetch
import Reports
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import Check

@Suite struct ExternalLinksTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let store: StoreFolder
    private let clock = TestClock()
    private let interruption = Interruption()

    /// A date that tests set, and the pauses of a check, which take no time.
    private final class TestClock: Sendable {
        private let state = Mutex((date: Int64(1_000_000_000), pauses: [Duration](), count: 0))

        var timing: ExternalLinks.Timing {
            ExternalLinks.Timing(
                pause: { time in
                    self.state.withLock { $0.pauses.append(time) }
                    return .zero
                },
                secondsSinceEpoch: { self.state.withLock { $0.date } })
        }
        var pauses: [Duration] { state.withLock { $0.pauses } }
        func advance(hours: Int64) { state.withLock { $0.date += hours * 3600 } }
        /// The number of progress reports.
        var count: Int { state.withLock { $0.count } }
        func add() { state.withLock { $0.count += 1 } }
    }

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        store = StoreFolder(try TestStore.place(folder.file("larder")))
    }

    private func check(
        _ targets: [String], from zone: NetworkZone = .thisMachine,
        _ change: (inout LinkCheckOptions) -> Void = { _ in }
    ) throws -> [ExternalLinks.Result] {
        var options = LinkCheckOptions()
        let clock = clock
        options.progress = { _ in clock.add() }
        change(&options)
        let urls = try targets.map { target in
            let url = WebURL(target.hasPrefix("/") ? origin.url(target) : target)
            return try #require(url)
        }
        return try ExternalLinks.check(
            urls, options, in: store, from: zone, timing: clock.timing, interruption)
    }

    private func methods(_ target: String) -> [String] { origin.requests(to: target).map(\.method) }

    @Test func `each link gets the result of its target`() throws {
        origin.on("/good", .page("good"))
        origin.on("/gone", .failure(410))
        origin.on("/secret", .failure(403))
        origin.on("/broken", .failure(500))
        origin.on("/moody", .failure(503), .failure(503), .page("good"))
        origin.on("/moved", .redirect(to: "/good", status: 301))
        origin.on("/away", .redirect(to: "/good"))
        origin.on("/loop", .redirect(to: "/pool"))
        origin.on("/pool", .redirect(to: "/loop"))
        origin.on("/noise", .garbage("220 smtp\r\n"))
        let results = try check([
            "/good", "/gone", "/missing", "/secret", "/broken", "/moody", "/moved", "/away", "/loop",
            "/noise",
        ])
        #expect(
            results.map(\.verdict) == [
                .verified, .dead, .dead, .blocked, .failed, .verified, .redirected, .verified, .dead, .failed,
            ])
        #expect(results[1].detail == "the server answered 410")
        #expect(results[4].detail == "the server answered 500")
        #expect(results[6].detail == "moved permanently to \(origin.url("/good"))")
        #expect(results[8].detail == "it redirects in a loop")
        #expect(methods("/gone") == ["HEAD", "GET"])
        #expect(methods("/moody") == ["HEAD", "GET", "GET"])
        #expect(clock.count == 10)
    }

    @Test func `a retry uses a new connection`() throws {
        origin.on("/moody", .failure(500), .failure(500), .page("good"))
        #expect(try check(["/moody"]).map(\.verdict) == [.verified])
        let connections = origin.requests(to: "/moody").map(\.connection)
        #expect(connections.count == 3)
        #expect(connections.first != connections.last)
        #expect(clock.pauses.contains(.seconds(2)))
    }

    @Test func `a server that refuses HEAD is asked with GET`() throws {
        origin.on("/page") { $0.method == "HEAD" ? .failure(405) : .page("good") }
        #expect(try check(["/page"]) == [.init(verdict: .verified, detail: "")])
        #expect(methods("/page") == ["HEAD", "GET"])
    }

    @Test func `a request waits as long as the server asks`() throws {
        origin.on("/busy", .failure(429, fields: [("Retry-After", "30")]), .page("good"))
        origin.on("/busier", .failure(429, fields: [("Retry-After", "3600")]), .page("good"))
        #expect(try check(["/busy", "/busier"]).map(\.verdict) == [.verified, .blocked])
        #expect(clock.pauses == [.seconds(30)])
        #expect(methods("/busier") == ["HEAD"])
    }

    @Test func `a server that refuses connections is dead after a retry`() throws {
        origin.stop()
        let results = try check(["/a", "/b"])
        #expect(
            results
                == Array(
                    repeating: .init(verdict: .dead, detail: "cannot connect (connection refused)"), count: 2)
        )
        #expect(clock.pauses.contains(.seconds(2)))
        #expect(clock.count == 2)
    }

    @Test func `fragments are looked up in one GET`() throws {
        origin.on("/page", .page("<h2 id=here>"))
        origin.on("/app", .page("<script>start()</script>"))
        let results = try check(["/page#here", "/page#there", "/page", "/app#there", "/app#/route"])
        #expect(results.map(\.verdict) == [.verified, .fragmentMissing, .verified, .failed, .verified])
        #expect(results[1].detail == "\(origin.url("/page")) has no element with the id \"there\"")
        #expect(methods("/page") == ["GET"])
        #expect(methods("/app") == ["GET"])
        #expect(clock.count == 2)
    }

    @Test func `only the beginning of a long page is searched`() throws {
        let filler = String(repeating: "<p>text</p>", count: ExternalLinkCheck.maxPageBytes / 11 + 1)
        origin.on("/long", .page("<p id=first>\(filler)<p id=last>"))
        #expect(try check(["/long#first", "/long#last"]).map(\.verdict) == [.verified, .failed])
    }

    @Test func `a bot challenge is not the page`() throws {
        origin.on(
            "/page",
            .page("<title>Just a moment...</title><script>window._cf_chl_opt = {}</script>", status: 403))
        let detail = "could not tell: the server sent a bot challenge (Cloudflare)"
        #expect(try check(["/page"]) == [.init(verdict: .blocked, detail: detail)])
    }

    // MARK: - robots.txt

    @Test func `robots.txt is obeyed`() throws {
        origin.on("/robots.txt", .file("User-agent: *\nDisallow: /private/\n", type: "text/plain"))
        origin.on("/private/a", .page("a"))
        origin.on("/open", .page("b"))
        origin.on("/away", .redirect(to: "/private/a"))
        let targets = ["/private/a", "/open", "/away"]
        let results = try check(targets)
        #expect(results.map(\.verdict) == [.blocked, .verified, .blocked])
        #expect(results[0].detail == "robots.txt does not allow it")
        #expect(origin.requests.first?.target == "/robots.txt")
        #expect(origin.requests(to: "/robots.txt").count == 1)
        #expect(origin.requests(to: "/private/a").isEmpty)
        origin.forgetRequests()
        #expect(
            try check(targets) { $0.obeysRobots = false }.map(\.verdict) == [.verified, .verified, .verified])
        #expect(origin.requests(to: "/robots.txt").isEmpty)
    }

    @Test func `a robots.txt that redirects is followed`() throws {
        origin.on("/robots.txt", .redirect(to: "/rules"))
        origin.on("/rules", .file("User-agent: larder\nDisallow: /\n", type: "text/plain"))
        #expect(try check(["/a"]).map(\.verdict) == [.blocked])
    }

    @Test(arguments: [.failure(500), .hangUp, .garbage("x")] as [OriginAnswer])
    func `a robots.txt that cannot be loaded blocks nothing`(answer: OriginAnswer) throws {
        origin.on("/robots.txt", answer)
        origin.on("/page", .page("good"))
        #expect(try check(["/page"]).map(\.verdict) == [.verified])
        #expect(origin.requests(to: "/robots.txt").count == 1)
    }

    // MARK: - Zones

    @Test func `links of public documents do not reach this machine`() throws {
        origin.on("/page", .page("good"))
        #expect(
            try check(["/page"], from: .publicNetwork) == [
                .init(verdict: .notChecked, detail: "a private address")
            ])
        #expect(origin.connectionCount == 0)
        #expect(try check(["/page"]).map(\.verdict) == [.verified])
    }

    @Test(arguments: [true, false])
    func `links of a stranger's files reach only public addresses, if the user says so`(isPublicOnly: Bool)
        throws
    {
        origin.on("/secret", .page("secret"))
        var options = LinkCheckOptions()
        options.isPublicOnly = isPublicOnly
        options.ignoreFile = try folder.write("", to: "rules")
        var network = NetworkOptions()
        network.mayReachPrivate = true
        options.network = network
        let path = try folder.write("[a](\(origin.url("/secret")))\n", to: "a.md")
        let report = try LinkCheck.report(
            onFiles: [path], root: folder.path, options, in: store, interruption)
        #expect(report.count(.verified) == (isPublicOnly ? 0 : 1))
        #expect(report.findings.map(\.verdict) == (isPublicOnly ? [.notChecked] : []))
        #expect((origin.connectionCount == 0) == isPublicOnly)
    }

    // MARK: - Cache

    @Test func `a lasting result is used again until it is too old`() throws {
        _ = try StoreWriter(store)
        origin.on("/good", .page("<p id=x>"))
        origin.on("/secret", .failure(403))
        let targets = ["/good", "/good#x", "/good#y", "/gone", "/secret"]
        let first = try check(targets)
        #expect(first.map(\.verdict) == [.verified, .verified, .fragmentMissing, .dead, .blocked])
        origin.forgetRequests()
        clock.advance(hours: 23)
        #expect(try check(targets) == first)
        #expect(Set(origin.requests.map(\.target)) == ["/robots.txt", "/secret"])
        origin.forgetRequests()
        clock.advance(hours: 2)
        #expect(try check(["/good"]) == [first[0]])
        #expect(methods("/good") == ["HEAD"])
        origin.forgetRequests()
        #expect(try check(["/good"]) { $0.maxAge = .zero } == [first[0]])
        #expect(methods("/good") == ["HEAD"])
    }

    @Test func `a result without a response is not used again`() throws {
        _ = try StoreWriter(store)
        let other = try TestOrigin()
        other.stop()
        #expect(try check([other.url("/")]).map(\.verdict) == [.dead])
        clock.advance(hours: 1)
        let pauses = clock.pauses.count
        #expect(try check([other.url("/")]).map(\.verdict) == [.dead])
        #expect(clock.pauses.count > pauses)
    }

    @Test func `a check with other options asks again`() throws {
        _ = try StoreWriter(store)
        origin.on("/good", .page("good"))
        #expect(try check(["/good"]).map(\.verdict) == [.verified])
        origin.forgetRequests()
        for change in [
            { $0.isInsecure = true }, { $0.resolve = ["x.test:80:127.0.0.1"] },
            { $0.headers = ["127.0.0.1 X-Key: 1"] },
        ] as [(inout NetworkOptions) -> Void] {
            var network = NetworkOptions()
            change(&network)
            #expect(try check(["/good"]) { $0.network = network }.map(\.verdict) == [.verified])
        }
        #expect(methods("/good") == ["HEAD", "HEAD", "HEAD"])
        #expect(
            try check(["/good"]) { $0.acceptedStatuses = AcceptedStatuses("403") ?? .init() }.map(\.verdict)
                == [.verified])
        #expect(methods("/good").count == 4)
    }

    @Test func `results are kept in a file without a store`() throws {
        origin.on("/good", .page("good"))
        let file = folder.file("links.json")
        let first = try check(["/good", "/gone"]) { $0.cacheFile = file }
        #expect(first.map(\.verdict) == [.verified, .dead])
        origin.forgetRequests()
        #expect(try check(["/good", "/gone"]) { $0.cacheFile = file } == first)
        #expect(origin.requests.isEmpty)
        #expect(!store.exists)
    }

    @Test func `a check without a store creates none`() throws {
        origin.on("/good", .page("good"))
        #expect(try check(["/good"]).map(\.verdict) == [.verified])
        #expect(!store.exists)
    }

    @Test func `results of a month ago are removed`() throws {
        _ = try StoreWriter(store)
        let database = try ActivityDatabase(store)
        let old = LinkResult(href: "http://a.test/", at: 100, verdict: "dead", detail: "old")
        let new = LinkResult(href: "http://b.test/", at: 200, verdict: "verified", detail: "")
        #expect(try database.linkResults(of: [old.href], since: 0) == [:])
        try database.recordLinkResults([new, old], removingOlderThan: 0)
        #expect(
            try database.linkResults(of: [old.href, new.href, "x"], since: 100) == [
                old.href: old, new.href: new,
            ])
        #expect(try database.linkResults(of: [old.href, new.href], since: 101) == [new.href: new])
        let newer = LinkResult(href: new.href, at: 300, verdict: "redirected", detail: "moved")
        try database.recordLinkResults([newer], removingOlderThan: 150)
        #expect(
            try ActivityDatabase(store).linkResults(of: [old.href, new.href], since: 0) == [new.href: newer])
    }

    // MARK: - Interruption

    @Test func `an interruption ends the check`() throws {
        let interruption = interruption
        origin.on("/a") { _ in
            interruption.request()
            return .page("late")
        }
        #expect(throws: LarderError.interrupted) { try check(["/a", "/b"]) }
    }
}
