import LarderKit
import TestOrigin
import Testing
import Web

/// A mirror between a browser and a site whose server stops.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct PolicyTests {
    @Test(arguments: [true, false])
    func `a site that was only browsed through the mirror is served after its server is gone`(
        isAtRoot: Bool
    ) async throws {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>T</title><link rel=stylesheet href=/style.css><h1>Hello</h1>
                <img src="/pixel.png"><a href=next>next</a>
                """))
        origin.on("/style.css", .file("h1 { color: rgb(1, 2, 3) }", type: "text/css"))
        origin.on("/pixel.png", .file(ChromiumTests.pixel, type: "image/png"))
        origin.on("/next", .page("<!DOCTYPE html><title>Next</title>here"))
        let folder = try TemporaryFolder()
        let larder = Larder(at: folder.path)
        // An origin on this machine may only be loaded if a site of the store has it.
        if !isAtRoot { _ = try await larder.prefetch([origin.url("/next")]) }
        var options = ServeOptions()
        options.root = isAtRoot ? origin.url("/") : nil
        options.policy = .auto
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let address = try #require(service.address(of: origin.url("/")))
        for isThere in [true, false] {
            let visit = try Chromium().open(address)
            #expect(visit.failures.isEmpty, "\(visit.failures)")
            #expect(visit.escapes.isEmpty)
            let color = "getComputedStyle(document.querySelector('h1')).color"
            #expect(try visit.evaluate(color)?.string == "rgb(1, 2, 3)")
            #expect(try visit.evaluate("document.images[0].naturalWidth")?.int == 1)
            if isThere { origin.stop() }
        }
    }
}
