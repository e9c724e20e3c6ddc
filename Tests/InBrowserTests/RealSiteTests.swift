import Glibc
import Testing

/// Compares pages of a real site in a folder with their mirror. It runs only if the environment names the folder:
///
///     LARDER_REAL_SITE=/usr/share/doc/python3.11/html LARDER_REAL_PAGES="/ /library/os.html" scripts/test --filter
///     RealSite
enum RealSite {
    static let folder = value("LARDER_REAL_SITE")
    static let pages = (value("LARDER_REAL_PAGES") ?? "/").split(separator: " ").map(String.init)

    private static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

@Suite(
    .enabled(if: Chromium.isInstalled, "chromium is not installed"),
    .enabled(if: RealSite.folder != nil, "LARDER_REAL_SITE names no folder"))
struct RealSiteTests {
    @Test func `pages of a real site look the same after the origin is gone`() async throws {
        try await Look.compare(RealSite.pages, ofSiteIn: try #require(RealSite.folder))
    }
}
