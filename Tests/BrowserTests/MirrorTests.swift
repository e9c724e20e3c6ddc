import LarderKit
import TestOrigin
import Testing
import Web

/// The promise itself: with the origin gone, a real browser shows the same page and asks nothing of the network.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct MirrorTests {
    /// What a browser makes of one page.
    private struct Look: Equatable {
        let text: String
        let title: String?
        let picture: [UInt8]
        let requestCount: Int
    }

    private static let pages = [
        "/", "/gallery.html", "/recipes/plum-jam.html", "/recipes/country-bread.html", "/jar.html?kind=honey",
    ]

    private static var demoSite: String {
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 } + "/Sources/larder/Demo/Site"
    }

    private func look(_ url: String, _ browser: Chromium) throws -> Look {
        let visit = try browser.open(url)
        #expect(visit.failures.isEmpty, "\(url): \(visit.failures)")
        #expect(visit.escapes.isEmpty, "\(url): \(visit.escapes)")
        #expect(visit.scriptErrors.isEmpty, "\(url): \(visit.scriptErrors)")
        return Look(
            text: try visit.text(), title: try visit.evaluate("document.title")?.string,
            picture: try visit.screenshot(), requestCount: visit.requests.filter { !$0.isIconGuess }.count)
    }

    @Test func `the demonstration's pages look and work as they did, with their origin gone`() async throws {
        let origin = try TestOrigin()
        origin.serve(folder: Self.demoSite)
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        let browser = try Chromium()
        let before = try Self.pages.map { try look(origin.url($0), browser) }
        #expect(before[0].text.contains("Plum jam"))

        let report = try await larder.prefetch([origin.url("/")])
        #expect(report.isComplete, "\(report.missing)")
        origin.stop()

        let service = try larder.serve(port: 0)
        defer { service.stop() }
        for (page, before) in zip(Self.pages, before) {
            let address = try #require(service.address(of: origin.url(page)))
            let after = try look(address, browser)
            #expect(after.text == before.text, "\(page)")
            #expect(after.title == before.title, "\(page)")
            // Only whether: a failure would print two whole pictures.
            let isSamePicture = after.picture == before.picture
            #expect(isSamePicture, "\(page)")
            #expect(after.requestCount == before.requestCount, "\(page)")
        }
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
