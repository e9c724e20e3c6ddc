import Fetch
import TestOrigin
import Testing
import Web

@testable import Crawl

@Suite struct LogoutLinksTests {
    @Test(
        arguments: [
            ("/logout", true), ("/logout/", true), ("/user/log-out?next=/", true),
            ("/wp-login.php?action=logout&_wpnonce=1", true), ("/w/index.php?title=Special:UserLogout", true),
            ("/ucp.php?mode=logout", true), ("/Account/SignOut.aspx", true), ("/?logout", true),
            ("/abmelden", true), ("/d%C3%A9connexion", true), ("/cerrar-sesi%C3%B3n", true),
            ("/%E9%80%80%E5%87%BA", true), ("/%D0%B2%D1%8B%D1%85%D0%BE%D0%B4", true),
            ("/login", false), ("/logout-guide", false), ("/docs/logout/why", false), ("/", false),
            ("/blog?q=how+to+logout+twice", false), ("/signoutside", false),
        ] as [(String, Bool)])
    func `a logout link is recognised by its last path component or a query word`(target: String, isEnd: Bool)
        throws
    {
        #expect(LogoutLinks.contain(try #require(WebURL("https://a.test" + target))) == isEnd, "\(target)")
    }

    @Test(arguments: [true, false])
    func `a crawl with a session skips logout links, and one without a session follows them`(isLoggedIn: Bool)
        throws
    {
        let bench = try CrawlBench()
        bench.origin.on("/", .page("<a href=/logout>bye</a><a href=/two>2</a>"))
        bench.origin.on("/logout", .page("bye"))
        bench.origin.on("/two", .page("two"))
        let report = try bench.crawl { plan in
            if isLoggedIn { try plan.fetch.hostFields.add("Cookie", "session=1", host: "127.0.0.1") }
        }
        #expect(bench.count("/logout") == (isLoggedIn ? 0 : 1))
        #expect(report.skipped.map(\.cause) == (isLoggedIn ? [.sessionEnd] : []))
        #expect(report.pages == (isLoggedIn ? 2 : 3))
    }
}
