import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Crawls with the login of a user in an application in which a GET changes something.
@Suite struct ActionCrawlTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    private static let actions = [
        "/1/delete/", "/flows/disable/3/", "/bulk/page/publish/?id=1", "/y/18", "/1/unpublish/", "/1/copy/",
        "/go/1", "/trash-now/1", "/x/17", "/close-now",
    ]

    init() throws {
        bench = try CrawlBench()
        origin.on(
            "/",
            .page(
                """
                <a href=/1>Delete behaviour of our products, explained at length</a> <a href=/1/edit/>Edit</a>
                <a href=/1/delete/>x</a> <a href=/1/unpublish/>x</a> <a href=/1/copy/>x</a>
                <a href=/toggle/1 data-method=post>toggle</a> <a href=/go/1 data-confirm='Sure?'>go</a>
                <a href=/trash-now/1 onclick="return confirm('Really?')">away</a> <a href=/x/17><b>Löschen</b></a>
                <a href=/flows/disable/3/>x</a> <a href='/bulk/page/publish/?id=1'>x</a> <a href=/y/18>Deaktivieren</a>
                <a href=/docs/disable-logging/>Disable logging</a>
                <form action=/close-now><button>Delete my account</button></form>
                <form action=/1 method=post><button>Delete</button></form>
                """
            ).validated(entityTag: "\"1\""))
        origin.on("/1", .page("one"))
        origin.on("/1/edit/", .page("edit"))
        origin.on("/docs/disable-logging/", .page("How to disable logging"))
        // /toggle/1 is in no list of expected URLs: no crawl follows a link with `data-method=post`, which a script sends
        // as a POST.
        for action in Self.actions + ["/toggle/1"] { origin.on(action, .page("done \(action)")) }
    }

    private func crawl(_ allowed: [String] = [], hasSession: Bool = true) throws -> CrawlReport {
        try bench.crawl { plan in
            if hasSession { try plan.fetch.hostFields.add("Cookie", "session=1", host: "127.0.0.1") }
            plan.sitePlan.scope.allowedActions = allowed
        }
    }

    private var requested: Set<String> { Set(origin.requests.map(\.target)) }

    @Test func `links that may change something are not requested`() throws {
        for _ in 1...2 {
            let report = try crawl()
            #expect(requested == ["/", "/1", "/1/edit/", "/docs/disable-logging/"])
            #expect(report.missing.isEmpty)
            #expect(report.skipped.count == Self.actions.count)
            #expect(report.skipped.allSatisfy { $0.cause == .action })
        }
    }

    @Test func `allowed actions are requested`() throws {
        let report = try crawl(["/1/copy/", "/go/**"])
        #expect(requested == ["/", "/1", "/1/edit/", "/docs/disable-logging/", "/1/copy/", "/go/1"])
        #expect(report.skipped.count == Self.actions.count - 2)
    }

    @Test func `links to delete and to log out are reported as such, and not as forms`() throws {
        origin.on(
            "/",
            .page(
                "<a href='/Roses?action=delete'>Delete this page</a><a href='/Roses?action=edit'>Edit</a><a href=/logout>Log out</a>"
            ))
        let report = try crawl()
        let causes = Dictionary(
            uniqueKeysWithValues: report.skipped.map {
                ($0.url.split(separator: "/").last.map(String.init), $0.cause)
            })
        #expect(
            causes == [
                "Roses?action=delete": .action, "Roses?action=edit": .sidePage(.form), "logout": .sessionEnd,
            ])
    }

    @Test func `without a login, links are followed as usual`() throws {
        _ = try crawl(hasSession: false)
        #expect(requested.isSuperset(of: Self.actions))
        #expect(!requested.contains("/toggle/1"))
    }
}
