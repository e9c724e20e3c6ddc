import LarderKit
import TestOrigin
import Testing
import Web

/// The text, appearance and requests of one page in a browser.
struct Look {
    let text: String
    let title: String?
    let picture: [UInt8]
    /// The requested paths.
    let requests: Set<String>
    /// The paths of failed requests. Those that fail at the origin may fail in the mirror too.
    let failures: Set<String>

    init(_ url: String, in browser: Chromium) throws {
        let visit = try browser.open(url)
        #expect(visit.escapes.isEmpty, "\(url): \(visit.escapes)")
        text = try visit.text()
        title = try visit.evaluate("document.title")?.string
        picture = try visit.screenshot()
        // Whether an image that is also the icon is requested a second time depends on Chromium's cache.
        requests = Set(visit.requests.filter { !$0.isIconGuess && !$0.isForShim }.map { Self.path($0.url) })
        failures = Set(visit.failures.map { Self.path($0.url) })
    }

    private static func path(_ url: String) -> String {
        url.split(separator: "/").dropFirst(2).joined(separator: "/")
    }

    /// Opens pages of the site in a folder, prefetches the site, stops its server, and expects the mirror's pages to look
    /// the same.
    static func compare(_ pages: [String], ofSiteIn folder: String) async throws {
        let origin = try TestOrigin()
        origin.serve(folder: folder)
        let store = try TemporaryFolder()
        let larder = Larder(at: store.path)
        let browser = try Chromium()
        let before = try pages.map { try Look(origin.url($0), in: browser) }
        let report = try await larder.prefetch([origin.url("/")])
        #expect(report.isPublished)
        origin.stop()

        let service = try larder.serve(port: 0)
        defer { service.stop() }
        for (page, before) in zip(pages, before) {
            let after = try Look(try #require(service.address(of: origin.url(page))), in: browser)
            #expect(after.text == before.text, "\(page)")
            #expect(after.title == before.title, "\(page)")
            #expect(after.requests == before.requests, "\(page)")
            #expect(after.failures.subtracting(before.failures).isEmpty, "\(page)")
            // Compares first, because a failed expectation would print two whole pictures.
            let isSamePicture = after.picture == before.picture
            #expect(isSamePicture, "\(page)")
        }
    }
}
