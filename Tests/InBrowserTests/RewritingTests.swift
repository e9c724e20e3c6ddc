import LarderKit
import TestOrigin
import Testing
import Web

/// Links to another origin in all places where they can be: a browser loads them from the mirror, with both origins gone.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct RewritingTests {
    /// Two origins, which `visit` prefetches and stops.
    struct Pair {
        let origin: TestOrigin
        let cdn: TestOrigin

        init() throws {
            origin = try TestOrigin()
            cdn = try TestOrigin()
            cdn.on("/pixel.png", .file(ChromiumTests.pixel, type: "image/png"))
        }

        /// Prefetches a page as `/`, stops the origins, and opens the mirrored page.
        func visit(
            _ page: String, within limit: Duration = .seconds(120), options: ServeOptions = ServeOptions(),
            _ use: (ChromiumVisit) throws -> Void
        ) async throws {
            origin.on("/", .page(page))
            let folder = try TemporaryFolder()
            let larder = Larder(at: folder.path)
            _ = try await larder.prefetch([origin.url("/")])
            origin.stop()
            cdn.stop()
            let service = try larder.serve(port: 0, options: options)
            defer { service.stop() }
            let visit = try Chromium().open(try #require(service.address(of: origin.url("/"))), within: limit)
            try use(visit)
            #expect(visit.escapes.isEmpty)
        }
    }

    /// Returns the value of an integrity attribute, calculated by the browser.
    private func integrity(of text: String, in visit: ChromiumVisit) throws -> String {
        var writer = JSONWriter(.compact)
        writer.array { $0.value(text) }
        let digest = "crypto.subtle.digest('SHA-256', new TextEncoder().encode(\(writer.text)[0]))"
        let text = "\(digest).then(d => 'sha256-' + btoa(String.fromCharCode(...new Uint8Array(d))))"
        return try #require(try visit.evaluate(text)?.string)
    }

    @Test func `an integrity attribute is removed if the body is rewritten, and enforced otherwise`()
        async throws
    {
        let pair = try Pair()
        let plain = "window.plain = 1"
        let rewritten = "window.rewritten = 1; fetch('\(pair.cdn.url("/pixel.png"))')"
        let style = "h1 { background: url(\(pair.cdn.url("/pixel.png"))) ; color: rgb(1, 2, 3) }"
        pair.cdn.on(
            "/plain.js", .file(plain, type: "text/javascript").adding("Access-Control-Allow-Origin", "*"))
        pair.cdn.on(
            "/wrong.js",
            .file("window.wrong = 1", type: "text/javascript").adding("Access-Control-Allow-Origin", "*"))
        pair.cdn.on(
            "/rewritten.js",
            .file(rewritten, type: "text/javascript").adding("Access-Control-Allow-Origin", "*"))
        pair.cdn.on("/style.css", .file(style, type: "text/css").adding("Access-Control-Allow-Origin", "*"))
        let anywhere = try Chromium().open(pair.cdn.url("/pixel.png"))
        func tag(_ path: String, _ text: String) throws -> String {
            "<script crossorigin integrity='\(try integrity(of: text, in: anywhere))' src='\(pair.cdn.url(path))'></script>"
        }
        let page = """
            <!DOCTYPE html><title>T</title><h1>T</h1>\(try tag("/plain.js", plain))
            \(try tag("/rewritten.js", rewritten))\(try tag("/wrong.js", "another text"))
            <link rel=stylesheet crossorigin href="\(pair.cdn.url("/style.css"))" INTEGRITY=\(try integrity(of: style, in: anywhere))>
            """
        try await pair.visit(page) { (visit: ChromiumVisit) throws -> Void in
            #expect(try visit.evaluate("window.plain")?.int == 1)
            #expect(try visit.evaluate("window.rewritten")?.int == 1)
            #expect(try visit.evaluate("document.querySelectorAll('[integrity]').length")?.int == 2)
            #expect(try visit.evaluate("typeof window.wrong")?.string == "undefined")
            #expect(
                try visit.evaluate("getComputedStyle(document.querySelector('h1')).color")?.string
                    == "rgb(1, 2, 3)")
        }
    }

    @Test func `a Content-Security-Policy in a page does not block its mirrored assets`() async throws {
        let pair = try Pair()
        pair.cdn.on("/a.js", .file("window.hasRun = 1", type: "text/javascript"))
        let page = """
            <!DOCTYPE html><meta http-equiv="content-security-policy" content="default-src 'self' \(pair.cdn.base)">
            <title>T</title><script src="\(pair.cdn.url("/a.js"))"></script><img src='\(pair.cdn.url("/pixel.png"))'>
            """
        try await pair.visit(page) { (visit: ChromiumVisit) throws -> Void in
            #expect(try visit.evaluate("window.hasRun")?.int == 1)
            #expect(visit.failures.isEmpty)
        }
    }

    @Test func `an import map finds mirrored modules by name and by URL`() async throws {
        let pair = try Pair()
        for name in ["one", "two"] {
            pair.cdn.on(
                "/\(name).js",
                .file("export default '\(name)'", type: "text/javascript")
                    .adding("Access-Control-Allow-Origin", "*"))
        }
        let page = """
            <!DOCTYPE html><title>T</title>
            <script type=importmap>{"imports": {"one": "\(pair.cdn.url("/one.js"))"}}</script>
            <script type=module>
            import one from "one"; import two from "\(pair.cdn.url("/two.js"))"; window.words = one + two
            </script>
            """
        try await pair.visit(page) { (visit: ChromiumVisit) throws -> Void in
            #expect(try visit.evaluate("window.words")?.string == "onetwo")
            #expect(visit.failures.isEmpty)
        }
    }

    @Test func `links in an SVG image, a srcdoc document and a web app manifest are rewritten`() async throws
    {
        let pair = try Pair()
        pair.origin.on(
            "/drawing.svg",
            .file(
                """
                <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">
                <image xlink:href="\(pair.cdn.url("/pixel.png"))" width="9" height="9"/></svg>
                """, type: "image/svg+xml"))
        pair.origin.on(
            "/app.webmanifest",
            .file(
                #"{"name": "App", "icons": [{"src": "\#(pair.cdn.url("/pixel.png"))", "sizes": "1x1"}]}"#,
                type: "application/manifest+json"))
        let page = """
            <!DOCTYPE html><title>T</title><link rel=manifest href=app.webmanifest>
            <iframe id=drawing src=drawing.svg></iframe>
            <iframe id=inner srcdoc="<img src='\(pair.cdn.url("/pixel.png?a=1&amp;amp;b"))'>"></iframe>
            """
        try await pair.visit(page) { (visit: ChromiumVisit) throws -> Void in
            let image =
                "document.getElementById('drawing').contentDocument.querySelector('image').href.baseVal"
            #expect(try visit.evaluate(image)?.string?.contains(".localhost:") == true)
            let inner = "document.getElementById('inner').contentDocument.images[0].naturalWidth"
            #expect(try visit.evaluate(inner)?.int == 1)
            let icon = "fetch('app.webmanifest').then(r => r.json()).then(m => m.icons[0].src)"
            #expect(try visit.evaluate(icon)?.string?.contains(".localhost:") == true)
            #expect(visit.failures.isEmpty)
        }
    }

    @Test func `a page with a meta refresh redirects to the mirrored copy`() async throws {
        let pair = try Pair()
        pair.cdn.on("/next", .page("<!DOCTYPE html><title>Next</title>here"))
        pair.origin.on("/next", .page("<!DOCTYPE html><title>Next</title>here"))
        let page =
            "<!DOCTYPE html><title>T</title><meta http-equiv=refresh content=\"0; url=\(pair.origin.url("/next"))\">"
        try await pair.visit(page) { (visit: ChromiumVisit) throws -> Void in
            #expect(try visit.evaluate("document.title")?.string == "Next")
        }
    }
}
