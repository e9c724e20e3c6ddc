import Testing

/// Compares the requests of a browser that loads pages of a real site with the links found in their files:
///
///     LARDER_REAL_SITE=/usr/share/doc/python3.11/html LARDER_REAL_COUNT=10 scripts/test --filter Requested
///
/// `LARDER_REAL_COUNT` pages are chosen evenly from all pages, unless `LARDER_REAL_PAGES` names them.
@Suite(
    .enabled(if: Chromium.isInstalled, "chromium is not installed"),
    .enabled(if: RealSite.folder != nil, "LARDER_REAL_SITE names no folder"))
struct RequestedTests {
    @Test func `every request that a page makes before a script runs is found by the scanner`() throws {
        let folder = try #require(RealSite.folder)
        let site = try RequestedSite(folder)
        let pages = RequestedSite.pages(of: folder)
        var requested = 0
        var missed = 0
        var absent = 0
        var revealed: [String: [String]] = [:]
        for page in pages {
            let comparison = try site.compare(page)
            #expect(comparison.missed.isEmpty, "\(page)")
            requested += comparison.requested.count
            missed += comparison.missed.count
            absent += comparison.absent.count
            for request in comparison.revealed { revealed[request, default: []].append(page) }
        }
        let revealedCount = revealed.values.reduce(0) { $0 + $1.count }
        print(
            "\(folder): \(pages.count) pages, \(requested) requests (\(absent) failed), \(requested - missed - revealedCount) found,",
            "\(missed) missed, \(revealedCount) requested only by scripts that ran:")
        for (request, pages) in revealed.sorted(by: { $0.key < $1.key }) {
            print("    \(request) on \(pages.count) pages, such as \(pages[0])")
        }
    }
}
