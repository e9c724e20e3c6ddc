import LarderKit
import TestOrigin
import Testing
import Web

/// The promise itself: with the origin gone, a real browser shows the same page and asks nothing of the network.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct MirrorTests {
    private static let pages = [
        "/", "/gallery.html", "/recipes/plum-jam.html", "/recipes/country-bread.html", "/jar.html?kind=honey",
    ]

    private static var demoSite: String {
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 } + "/Sources/larder/Demo/Site"
    }

    @Test func `the demonstration's pages look and work as they did, with their origin gone`() async throws {
        try await Look.compare(Self.pages, ofSiteIn: Self.demoSite)
    }

    @Test func `a page of two origins is served from both, and reaches neither`() async throws {
        let cdn = try TestOrigin()
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>Two</title><link rel=stylesheet href="\(cdn.url("/style.css"))">
                <h1>Hello</h1><img src='\(cdn.url("/pixel.png"))' width=50 height=50><a href=/next>next</a>
                <script>document.cookie = "a=b"; new Image().src = "\(cdn.url("/leak.png"))"</script>
                """))
        origin.on("/next", .page("<!DOCTYPE html><title>Next</title>here"))
        cdn.on(
            "/style.css",
            .file("h1 { color: rgb(1, 2, 3); background: url(\(cdn.url("/pixel.png"))) }", type: "text/css"))
        cdn.on("/pixel.png", .file(ChromiumTests.pixel, type: "image/png"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        _ = try await larder.prefetch([origin.url("/")])
        origin.forgetRequests()
        cdn.forgetRequests()

        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(try #require(service.address(of: origin.url("/"))))
        #expect(try visit.evaluate("getComputedStyle(document.querySelector('h1')).color")?.string == "rgb(1, 2, 3)")
        #expect(try visit.evaluate("document.images[0].naturalWidth")?.int == 1)
        _ = try visit.evaluate("document.querySelector('a').click()")
        try visit.settle()
        #expect(try visit.evaluate("document.title")?.string == "Next")
        // Both origins are still up, and a script tried to reach one: the page's policy kept it in.
        #expect(origin.requests.isEmpty)
        #expect(cdn.requests.isEmpty)
    }
}
