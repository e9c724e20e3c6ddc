import Store
import Testing

@testable import Reports

/// The title of a site, and the words for its completeness.
@Suite struct SiteReportTests {
    @Test(
        arguments: [
            ("{}", MissingURLCounts(broken: 2, failed: 0, notFetched: 0), .complete),
            ("{}", MissingURLCounts(broken: 0, failed: 0, notFetched: 1), .withinLimits),
            (
                #"{"exclude":["https://a.test/radar.html"]}"#,
                MissingURLCounts(broken: 0, failed: 0, notFetched: 0), .withinLimits
            ),
            (#"{"exclude":[]}"#, MissingURLCounts(broken: 0, failed: 0, notFetched: 0), .complete),
            (#"{"depth":0}"#, MissingURLCounts(broken: 0, failed: 0, notFetched: 36), .onlyStartPages),
            (#"{"depth":0}"#, MissingURLCounts(broken: 0, failed: 1, notFetched: 36), .incomplete),
            ("{}", MissingURLCounts(broken: 0, failed: 0, notFetched: 0, isCutShort: true), .incomplete),
        ] as [(String, MissingURLCounts, SiteCompleteness)])
    func `completeness names what the settings leave out`(
        settings: String, missing: MissingURLCounts, expected: SiteCompleteness
    ) {
        let site = Site(
            id: 1, name: "https://a.test/", start: ["https://a.test/"], snapshots: [], published: nil,
            settings: settings)
        #expect(SiteCompleteness(of: site, missing: missing) == expected)
    }

    @Test(
        arguments: [
            ("Introduction", false, "Introduction (docs.test)"), ("HOME", false, "HOME (docs.test)"),
            ("首页", false, "首页 (docs.test)"), ("Introduction to SQLite", false, "Introduction to SQLite"),
            ("Introduction", true, "Introduction"), ("", false, "docs.test"),
        ])
    func `a title that many start pages have gets the host of the site`(
        title: String, isOwn: Bool, expected: String
    ) {
        #expect(SiteReport.title(title, isOwn: isOwn, ofSiteAt: "https://docs.test/c/intro.html") == expected)
    }
}
