import Fetch
import Store
import Synchronization
import TestOrigin
import Testing
import Web

@testable import Crawl

/// A server whose login session ends during the crawl.
@Suite struct SessionLossTests {
    private static let form =
        "<title>Sign in</title><form method=post><input name=u><input type=password></form>"
    private let bench: CrawlBench

    init() throws { bench = try CrawlBench() }

    /// Crawls a site that sends its login page after a delay. If a busy machine sends `maxRequests` requests before the
    /// crawl has scanned the first login pages, the crawl is repeated with an empty store and a longer delay.
    private func withDelayedLogins(
        maxRequests: Int, _ crawl: (SessionLossTests, Duration) throws -> CrawlReport
    ) throws -> (tests: SessionLossTests, report: CrawlReport) {
        try CrawlBench.retrying(from: .milliseconds(20)) { time, _ in
            let tests = try SessionLossTests()
            let report = try crawl(tests, time)
            return tests.memberRequests() >= maxRequests && time < .seconds(2) ? nil : (tests, report)
        }
    }

    /// The server's response to requests for members' pages after the session has ended.
    enum LoginResponse: String, CaseIterable, Sendable {
        case redirectToOne, redirectNamingThePage, byWayOfAnother, inPlace, inPlaceWithoutTitle, otherHost

        func answer(to path: String) -> OriginAnswer {
            switch self {
            case .redirectToOne: .redirect(to: "/login")
            case .redirectNamingThePage: .redirect(to: "/login?next=" + path)
            case .byWayOfAnother: .redirect(to: "/gate?for=" + path)
            case .inPlace: .page(form)
            case .inPlaceWithoutTitle:
                .page(
                    "<title>Club</title><form action=/user_session><input type=password></form><a href=/help>?</a>"
                )
            case .otherHost: .redirect(to: "https://sso.elsewhere.test/login?for=" + path)
            }
        }
    }

    /// Serves a site with members' pages. The first `goodOnes` requests for them succeed; later ones get the login page.
    ///
    /// - Parameter delay: the delay of each login page.
    private func serveMembers(
        _ response: LoginResponse, pages: Int = 60, goodOnes: Int, delay: Duration = .zero
    ) {
        let requestCount = Mutex(0)
        let links = (1...pages).map { "<a href=/members/\($0)>\($0)</a>" }.joined()
        bench.origin.on("/", .page("<a href=/about>about</a><a href=/login>in</a>" + links))
        bench.origin.on("/about", .page("About us"))
        bench.origin.on("/login", .page(Self.form))
        bench.origin.on("/gate") { .redirect(to: "/login?next=" + ($0.query ?? "")) }
        for page in 1...pages {
            bench.origin.on("/members/\(page)") { _ in
                let count = requestCount.withLock { requestCount in
                    requestCount += 1
                    return requestCount
                }
                return count <= goodOnes
                    ? .page("member \(page)")
                    : response.answer(to: "/members/\(page)").delayed(delay)
            }
        }
    }

    private func crawl(hasSession: Bool = true) throws -> CrawlReport {
        try bench.crawl { plan in
            plan.sitePlan.connectionsPerHost = 2
            if hasSession { try plan.fetch.hostFields.add("Cookie", "session=1", host: "127.0.0.1") }
        }
    }

    private func memberRequests() -> Int { bench.origin.requests.count { $0.target.hasPrefix("/members/") } }

    @Test(arguments: LoginResponse.allCases)
    func `after pages turn into a login page, the host gets no more requests, and the report says so`(
        response: LoginResponse
    ) throws {
        let (tests, report) = try withDelayedLogins(maxRequests: 40) { tests, time in
            tests.serveMembers(response, goodOnes: 20, delay: time)
            return try tests.crawl()
        }
        let bench = tests.bench
        #expect(tests.memberRequests() < 40, "\(tests.memberRequests())")
        #expect(report.lostSessions.map(\.origin) == [bench.origin.base])
        #expect(report.missing.count == 40, "\(report.misses)")
        #expect(report.isPublished)
        let stored = try (1...60).filter { try bench.text("/members/\($0)") == "member \($0)" }
        #expect(stored.count == 20)
        #expect(
            try (1...60).allSatisfy { stored.contains($0) == (try bench.stored("/members/\($0)") != nil) })
    }

    @Test(arguments: LoginResponse.allCases)
    func `stored pages stay when the session ends`(response: LoginResponse) throws {
        let (tests, report) = try withDelayedLogins(maxRequests: 20) { tests, time in
            tests.serveMembers(response, goodOnes: 60)
            #expect(try tests.crawl().missing.isEmpty)
            tests.serveMembers(response, goodOnes: 0, delay: time)
            tests.bench.origin.forgetRequests()
            return try tests.crawl()
        }
        let bench = tests.bench
        #expect(tests.memberRequests() < 20, "\(tests.memberRequests())")
        #expect(report.lostSessions.map(\.origin) == [bench.origin.base])
        #expect(report.missing.count == 60 && report.missing.allSatisfy(\.isKeptFromBefore))
        for page in 1...60 { #expect(try bench.text("/members/\(page)") == "member \(page)") }
    }

    @Test func `a part of the site that was never accessible does not end the session`() throws {
        bench.origin.on(
            "/", .page((1...40).map { "<a href=/admin/\($0)></a><a href=/news/\($0)></a>" }.joined()))
        for page in 1...40 {
            bench.origin.on("/admin/\(page)", .redirect(to: "/login?next=\(page)"))
            bench.origin.on("/news/\(page)", .page("news \(page)"))
        }
        bench.origin.on("/login", .page(Self.form))
        let report = try crawl()
        #expect(report.lostSessions.isEmpty)
        #expect(report.pages == 41)
        #expect(report.missing.count == 40, "\(report.misses)")
        #expect(report.missing.allSatisfy { "\($0.failure)".contains("login") })
        #expect(try bench.stored("/admin/7") == nil)
    }

    @Test func `a login that redirects back for a known user does not end the session`() throws {
        serveMembers(.byWayOfAnother, goodOnes: 60)
        bench.origin.on("/members/7", .redirect(to: "/sso/login?next=/members/seven"))
        bench.origin.on("/sso/login", .redirect(to: "/members/seven"))
        bench.origin.on("/members/seven", .page("member seven"))
        let report = try crawl()
        #expect(report.lostSessions.isEmpty && report.missing.isEmpty)
        #expect(try bench.stored("/members/7")?.status == 302)
        #expect(try bench.text("/members/seven") == "member seven")
    }

    @Test func `without a session, login pages are stored like others`() throws {
        serveMembers(.redirectToOne, goodOnes: 20)
        let report = try crawl(hasSession: false)
        #expect(memberRequests() == 60)
        #expect(report.lostSessions.isEmpty && report.missing.isEmpty)
        #expect(try (1...60).count { try bench.stored("/members/\($0)")?.status == 302 } == 40)
    }
}
