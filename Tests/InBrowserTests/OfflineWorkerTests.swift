import LarderKit
import TestOrigin
import Testing
import Web

/// Tests the page that a browser shows in place of the portal while the server does not run.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct OfflineWorkerTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    init() async throws {
        origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><title>Jam</title>stored jam"))
        origin.otherwise { _ in .failure(404) }
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.path)
        _ = try await larder.prefetch([origin.url("/")])
    }

    /// Waits until the page in the tab fulfils a condition. The page may be replaced meanwhile.
    private func waitUntil(_ visit: ChromiumVisit, _ condition: String) throws {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            if (try? visit.evaluate(condition))?.bool == true { return }
        }
        Issue.record("\(condition): \(try visit.text())")
    }

    @Test func `without its server the portal says how to start it, and returns with the server`() throws {
        let port = UInt16(try FreePort.draw())
        let first = try larder.serve(port: port)
        let visit = try Chromium().open(first.address)
        try waitUntil(
            visit, "navigator.serviceWorker.ready.then(() => Boolean(navigator.serviceWorker.controller))")
        // The server redirects from localhost to the portal's origin. Without it, only that origin has a page to show.
        let portal = try visit.address()
        #expect(portal == "http://larder.localhost:\(port)/")
        // This navigation passes through the worker, which records the time.
        try visit.navigate(to: portal + "-/search")
        #expect(try visit.evaluate("document.querySelector('h1').innerText")?.string == "Search")
        try waitUntil(visit, "caches.match('/-/last-opened').then(Boolean)")
        let stored =
            "caches.open('larder').then((cache) => cache.keys()).then((all) => all.map((one) => new URL(one.url).pathname))"
        #expect(try visit.evaluate(stored)?.array?.compactMap(\.string) == ["/-/last-opened"])
        // A URL that was appended to the portal's address still opens the copy, on its own origin without a worker.
        try visit.navigate(to: portal + origin.url("/"))
        #expect(try visit.text().contains("stored jam"))
        #expect(
            try visit.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)")?.int
                == 0)

        first.stop()
        try visit.navigate(to: portal + "-/room")
        try waitUntil(visit, "document.body?.innerText.includes('Last opened: ')")
        let text = try visit.text()
        #expect(text.contains("Larder is not running"))
        #expect(text.contains("larder open"))
        #expect(try visit.evaluate(PortalTests.poorContrast)?.array?.compactMap(\.string) == [])

        let second = try larder.serve(port: port)
        defer { second.stop() }
        try waitUntil(visit, "document.querySelector('h1').innerText === 'Storage'")
    }
}
